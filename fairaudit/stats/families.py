"""Families: p-values and levels where many comparisons are made at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from fairaudit.arrays import Floats, Ints

_FAR = 1e-6
"""Below it Bonferroni's bound is as good as the distribution itself."""


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Nodes and weights over the standard normal distribution."""
    x, w = np.polynomial.legendre.leggauss(200)
    return 9 * x, 9 * w * np.exp(-np.square(9 * x) / 2) / np.sqrt(2 * np.pi)


def holm(p: Sequence[float] | Floats) -> Floats:
    """The p-values of one family, adjusted so that the chance of any false finding stays below.

    Step-down from the smallest. NaN stays NaN and does not count. Holm (1979), A simple
    sequentially rejective multiple test procedure, Scand J Stat 6:65.

    >>> [round(one, 6) for one in holm([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    order = _ascending(p)
    left = np.arange(order.size, 0, -1)
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * left), 1.0)
    return adjusted


def benjamini_hochberg(p: Sequence[float] | Floats) -> Floats:
    """The p-values of one family, adjusted for the expected share of false ones among the found.

    Step-up from the largest. NaN stays NaN and does not count. Benjamini & Hochberg (1995),
    Controlling the false discovery rate, JRSS B 57:289.

    >>> [round(one, 6) for one in benjamini_hochberg([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p, dtype=np.float64)
    order = _ascending(p)[::-1]
    scaled = p[order] * (order.size / np.arange(order.size, 0, -1))
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def _ascending(p: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Where the defined p-values stand, the smallest first."""
    order = np.argsort(p, kind="stable")
    return order[: int(np.count_nonzero(~np.isnan(p)))]


def sidak(p: float | Floats, m: float | Floats) -> Floats:
    """The chance 1 - (1 - p)^m that the smallest of `m` independent p-values is below `p`.

    Accurate for small p. Šidák (1967), Rectangular confidence regions for the means of multivariate
    normal distributions, JASA 62:626.

    >>> float(sidak(0.01, 3)).__round__(6), float(sidak(1e-20, 3)).__round__(25)
    (0.029701, 3e-20)
    """
    with np.errstate(all="ignore"):
        return np.asarray(-np.expm1(np.multiply(m, np.log1p(np.negative(p)))), dtype=np.float64)


def over_pairs(p: float | Floats, groups: int | Ints) -> Floats:
    """The chance that the smallest two-sided p-value over all pairs of `groups` is below `p`.

    By the distribution of the studentized range: all pairs of normal means of equal variance, which
    bounds it where sizes differ. Never above Bonferroni's, which takes its place far out. Tukey
    (1953), The problem of multiple comparisons; Kramer (1956), Biometrics 12:307; Hayter (1984),
    Ann Stat 12:61.

    >>> [round(float(over_pairs(p, 3)), 4) for p in (0.0192, 1e-20)]
    [0.0503, 0.0]
    """
    from scipy.special import ndtr, ndtri

    p, k = np.broadcast_arrays(np.minimum(np.asarray(p, dtype=np.float64), 1.0), groups)
    pairs = k * (k - 1) / 2
    with np.errstate(all="ignore"):
        found = np.array(np.minimum(p * np.maximum(pairs, 1), 1.0))
        near = (found > _FAR) & (pairs > 1)
        if near.any():
            width = -np.sqrt(2) * ndtri(p[near] / 2)[:, None]
            nodes, weights = _quadrature()
            inside = np.maximum(ndtr(nodes) - ndtr(nodes - width), 0.0)
            within = (weights * inside ** (k[near] - 1)[:, None]).sum(axis=1) * k[near]
            found[near] = np.minimum(found[near], np.clip(1 - within, 0.0, 1.0))
    return np.asarray(found)


def per_comparison(alpha: float | Floats, m: float | Floats) -> Floats:
    """The level 1 - (1 - alpha)^(1/m) of each of `m` comparisons that together err by `alpha`.

    Accurate for large m; NaN where m is 0. Šidák (1967), as above.

    >>> float(per_comparison(0.05, 1)).__round__(6), float(per_comparison(0.05, 1e9)).__round__(15)
    (0.05, 5.1293e-11)
    """
    with np.errstate(all="ignore"):
        share = np.where(np.greater(m, 0), np.divide(1, m), np.nan)
        return np.asarray(-np.expm1(share * np.log1p(np.negative(alpha))), dtype=np.float64)
