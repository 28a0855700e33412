"""Permutation: tests by drawing again who is selected, both margins of the table fixed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.arrays import Floats, Ints

_CELLS = 2**20
"""So many counts are drawn at once: 8 MB, and as much for each array a statistic makes of them."""

_ROUNDING = 1e-12
"""A drawn statistic so little below the observed one is equal to it."""


def permuted(
    selected: Ints,
    sizes: Ints,
    statistic: Callable[[Floats], Floats],
    draws: int = 9999,
    seed: int = 0,
) -> float:
    """The p-value of a statistic of the shares `selected / sizes` of G groups, if all are alike.

    The statistic takes shares [D, G] and gives a number for each of the D draws, larger where the
    shares differ more. Each draw deals all who are selected to the groups again, as many people in
    each as there are: multivariate hypergeometric. The p-value is (b + 1) / (draws + 1), b the
    draws not below the observed statistic, so it is never 0. NaN where the observed statistic is.
    ValueError where the groups have 10⁹ people or more together. Phipson & Smyth (2010),
    Permutation p-values should never be zero, doi:10.2202/1544-6115.1585.

    >>> gap = lambda shares: shares.max(axis=1) - shares.min(axis=1)
    >>> permuted(np.array([12, 48]), np.array([40, 80]), gap) < 0.01
    True
    """
    selected, sizes = np.asarray(selected, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    with np.errstate(all="ignore"):
        observed = float(statistic((selected / sizes)[None, :])[0])
        if np.isnan(observed):
            return float("nan")
        generator = np.random.default_rng(seed)
        block = max(_CELLS // max(sizes.size, 1), 1)
        reached = 0
        for start in range(0, draws, block):
            drawn = generator.multivariate_hypergeometric(
                sizes, int(selected.sum()), size=min(block, draws - start), method="marginals"
            )
            # A draw without an answer counts against the finding.
            reached += int((~(statistic(drawn / sizes) < observed - _ROUNDING)).sum())
    return (reached + 1) / (draws + 1)
