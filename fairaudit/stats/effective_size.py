"""Effective sample sizes: how many unweighted, independent rows give an estimate the same variance.

Kish (1965), Survey Sampling: (Σw)² / Σw², for weights that are unrelated to the estimate. If they
are related, the linearised variance of a weighted mean holds (Särndal, Swensson &
Wretman 1992, Model Assisted Survey Sampling, section 5.7). Its degrees of freedom are those of
Satterthwaite (1946, Biometrics Bulletin 2:110), with one component for each value that rows have.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.stats import distributions

_ALPHA = 0.05
_FEWEST = 5
"""Fewest degrees of freedom with which the weight of the rarer rows is known."""
_MANY = 1e9
_UNEQUAL = 3.0
"""Weights of one value that leave two thirds of their people by Kish count as fully unequal."""


def kish(mass: Floats, squares: Floats, n: Floats | Ints) -> Floats:
    """(Σ w)² / Σ w², [...]; at most n (Cauchy-Schwarz), in spite of rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmin(mass**2 / squares, n)


def linearised(
    mass: Floats, squares: Floats, values: Floats, n: Floats | Ints, heaviest: Floats | float = 0.0
) -> Floats:
    """The effective size of a weighted mean of people who have few different values, [...].

    `mass` is Σ w, `squares` Σ w² and `n` the number of the people with each of the `values`, all
    [values, ...]. The size is below Kish's if people far from the mean have larger weights, and
    above it if they have smaller weights. If all people have one value, or few have another, the
    weights of the few are hardly known: then the size is at most Kish's, and at most Σ w divided by
    `heaviest`, the mean weight of the outcome with the largest weights.
    """
    total = mass.sum(axis=0)
    plain = kish(total, squares.sum(axis=0), n.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (values - (mass * values).sum(axis=0) / total) ** 2
        parts = squares * far
        variance = parts.sum(axis=0)
        size = (mass * far).sum(axis=0) * total / variance
        own_size = np.where(parts > 0, kish(mass, squares, n), np.inf)
        few = variance**2 / (parts**2 / own_size).sum(axis=0) < _FEWEST
        # No variance exceeds that of people who are all as heavy as the heaviest.
        plain = np.fmin(plain, np.where(heaviest > 0, total / heaviest, np.inf))
        few &= plain < n.sum(axis=0)
        # Rows with one value and one weight vary like a count: degrees of freedom do not matter.
        unequal = np.minimum(1.0, _UNEQUAL * (1 - own_size / n))
        unequal = np.where(parts > 0, np.where(few, 1.0, unequal), 0.0)
        df = variance**2 / (parts**2 * unequal / own_size).sum(axis=0)
        size = size * small_sample_factor(df)
    return np.where(variance > 0, np.where(few, np.fmin(size, plain), size), plain)


def linearised_share(
    hits: tuple[Floats, Floats, Floats],
    people: tuple[Floats, Floats, Floats],
    heaviest: Floats | float = 0.0,
) -> Floats:
    """The effective size of a weighted share, by (Σ w, Σ w², number) of the hits and of all people.

    By the variance [(1 - p)² Σ₊ w² + p² Σ₋ w²] / (Σ w)².
    """
    mass, squares, n = (
        np.stack(np.broadcast_arrays(whole - part, part))
        for part, whole in zip(hits, people, strict=True)
    )
    values = np.arange(2.0).reshape(2, *[1] * (mass.ndim - 1))
    return linearised(mass, np.maximum(squares, 0.0), values, n, heaviest)


def linearised_classes(
    mass: Floats, squares: Floats, n: Floats, heaviest: Floats | float = 0.0
) -> Floats:
    """The effective size of the weighted shares of classes, [Z, K, G]: of the least certain one."""
    people = mass.sum(axis=1), squares.sum(axis=1), n.sum(axis=1)
    of_class = (
        linearised_share((mass[:, k], squares[:, k], n[:, k]), people, heaviest)
        for k in range(mass.shape[1])
    )
    return np.asarray(np.minimum.reduce(list(of_class)))


def small_sample_factor(df: Floats) -> Floats:
    """The factor (z / t)² at 95 %, which reduces a size with few degrees of freedom."""
    return np.asarray(
        (
            distributions.normal_critical(_ALPHA)
            / distributions.t_critical(np.clip(df, 1.0, _MANY), _ALPHA)
        )
        ** 2
    )
