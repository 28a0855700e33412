"""Permutation: tests by dealing people out to the groups again, both margins of a table fixed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fairaudit.arrays import Floats, Ints

DRAWS = 9999
"""So many tables are drawn; no p-value is below 1 / (DRAWS + 1)."""

_CELLS = 2**20
"""So many counts are drawn at once: 8 MB, and as much for each array a statistic makes of them."""

_ROUNDING = 1e-12
"""A drawn statistic so little below the observed one is equal to it."""


def permuted(
    counts: Ints, statistic: Callable[[Floats], Floats], draws: int = DRAWS, seed: int = 0
) -> float:
    """The p-value of a statistic of a table [K, G] of people by class and group, if all are alike.

    The statistic takes tables [D, K, G] and gives a number for each, larger where groups differ
    more. Each draw deals all people of all classes to the groups again, as many to each as there
    are. The p-value is (b + 1) / (draws + 1), b the draws not below the observed statistic, so it
    is never 0. NaN where the observed statistic is. Tables of 10⁹ people or more are not dealt:
    ValueError, or a wait without end. Phipson & Smyth (2010), Permutation p-values should never be
    zero, doi:10.2202/1544-6115.1585.

    >>> def gap(tables):
    ...     shares = tables[:, 0] / tables.sum(axis=1)
    ...     return shares.max(axis=1) - shares.min(axis=1)
    >>> permuted(np.array([[12, 48], [28, 32]]), gap) < 0.01
    True
    """
    counts = np.asarray(counts, dtype=np.int64)
    with np.errstate(all="ignore"):
        observed = float(statistic(counts[None].astype(np.float64))[0])
        if np.isnan(observed):
            return float("nan")
        least = observed - _ROUNDING * max(abs(observed), 1)
        # A draw without an answer counts against the finding.
        reached = sum(
            int((~(statistic(tables.astype(np.float64)) < least)).sum())
            for tables in _dealt(counts, draws, seed)
        )
    return (reached + 1) / (draws + 1)


def _dealt(counts: Ints, draws: int, seed: int) -> Iterator[Ints]:
    """Tables [D, K, G] with the margins of `counts`, in blocks: so many draws in all."""
    of_class, of_group = counts.sum(axis=1), counts.sum(axis=0)
    generator = np.random.default_rng(seed)
    block = max(_CELLS // max(counts.size, 1), 1)
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    if len(of_class) == 2:
        for size in sizes:
            drawn = generator.multivariate_hypergeometric(
                of_group, int(of_class[0]), size=size, method="marginals"
            )
            yield np.stack([drawn, of_group - drawn], axis=1)
        return
    from scipy.stats import random_table  # slow to import, and two classes do without it

    tables = random_table(of_class, of_group)
    for size in sizes:
        yield tables.rvs(size, random_state=generator)


def by_moments(counts: Ints) -> float:
    """The p-value of chi-square on a sparse table [K, G], from its moments over all such tables.

    Mean and variance are those over every table with the same margins; a scaled chi-square has
    both. That serves where many groups add up: with few of them, and a rare class, χ² has but a few
    values. Never below what as many draws as `DRAWS` can tell, for so far out two moments say
    little. Haldane (1940), Biometrika 31:346; Dawson (1954), A simplified expression for the
    variance of the χ²-function on a contingency table, Biometrika 41:280. Rows and columns without
    people do not count; 1 where nothing can vary.
    """
    from scipy.special import gammaincc

    whole = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0].astype(np.float64)
    n, (rows, columns) = whole.sum(), whole.shape
    if min(rows, columns) < 2 or n < 4:
        return 1.0
    of_row, of_column = whole.sum(axis=1), whole.sum(axis=0)
    expected = np.outer(of_row, of_column) / n
    observed = (np.square(whole - expected) / expected).sum()

    def terms(margin: Floats) -> tuple[float, float]:
        k = len(margin)
        spread = ((n / margin).sum() - k * k) / (n - 2)
        return (k - 1) * (n - k) / (n - 1), float(spread)

    (one, uneven), (two, other) = terms(of_row), terms(of_column)
    mean = n / (n - 1) * (rows - 1) * (columns - 1)
    variance = 2 * n / (n - 3) * (one - uneven) * (two - other) + n * n / (n - 1) * uneven * other
    if variance <= 0:
        return 1.0
    scale = variance / (2 * mean)
    return max(float(gammaincc(mean / scale / 2, observed / scale / 2)), 1 / (DRAWS + 1))
