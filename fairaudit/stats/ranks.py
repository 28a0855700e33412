"""Rank statistics of histograms: DeLong, least variance; Mann-Whitney; average precision.

Histograms are [Z strata, B bins, G groups], the bins ascending; people in one bin are tied. An
empty side makes the result NaN.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Ints, Marks, map_blocks
from fairaudit.stats import proportions
from fairaudit.stats.distributions import normal_critical, normal_two_sided

_TRUSTED = 10
"""Number of people above which a small variance counts fully against the expected one."""

_FEWEST = 2
"""Fewest people of a side for a test."""

_MOST_SUMS = 5_000_000
"""Most additions for the exact distribution of a rank sum."""


def delong_variance(
    upper: Floats | Ints, lower: Floats | Ints, *, moderated: bool = False
) -> Floats:
    """The variance of P(upper > lower) + ½P(upper = lower), [Z, G].

    NaN if a side has fewer than two people. DeLong, DeLong & Clarke-Pearson (1988), Comparing the
    areas under two or more correlated receiver operating characteristic curves, Biometrics 44:837.
    With `moderated`, the variance of the smaller side is at least a part of the variance that
    Hanley & McNeil (1982), Radiology 143:29, expect at this area, as in `means`.

    >>> upper, lower = np.array([[[1], [0], [2]]]), np.array([[[2], [1], [0]]])
    >>> delong_variance(upper, lower).round(6).tolist()
    [[0.052469]]
    """

    def find(upper: Floats, lower: Floats) -> Floats:
        upper, lower = np.asarray(upper, dtype=np.float64), np.asarray(lower, dtype=np.float64)
        area, of_upper = _variance(upper, _below(lower))
        _, of_lower = _variance(lower, _below(upper))
        if not moderated:
            return of_upper + of_lower
        n, m = upper.sum(axis=1), lower.sum(axis=1)
        above, below = 2 * area**2 / (1 + area) - area**2, area / (2 - area) - area**2
        return _at_least(of_upper, above, n, m) + _at_least(of_lower, below, m, n)

    with np.errstate(all="ignore"):
        return map_blocks(find, upper, lower)


def _at_least(variance: Floats, expected: Floats, n: Floats, m: Floats) -> Floats:
    """The variance of a side, at least a part of the expected variance if it has few people."""
    part = np.minimum(_TRUSTED / n, 1.0) * np.maximum(1 - n / m, 0.0)
    return np.asarray(np.maximum(variance, part * expected / n))


def delong(
    area: Floats,
    upper: Floats | Ints,
    lower: Floats | Ints,
    alpha: Alpha = 0.05,
    *,
    moderated: bool = False,
) -> Ends:
    """The bounds of the `area` P(upper > lower) + ½P(upper = lower), [Z, G], within [0, 1].

    DeLong's variance and the normal distribution, as in `delong_variance`. NaN also if all pairs
    have the same order: then the variance is 0.

    >>> upper, lower = np.array([[[1], [0], [2]]]), np.array([[[2], [1], [0]]])
    >>> [round(float(end[0, 0]), 6) for end in delong(np.array([[7 / 9]]), upper, lower)]
    [0.328826, 1.0]
    """
    variance = delong_variance(upper, lower, moderated=moderated)
    with np.errstate(invalid="ignore"):
        reach = normal_critical(alpha) * np.sqrt(np.where(variance > 0, variance, np.nan))
        return np.maximum(area - reach, 0.0), np.minimum(area + reach, 1.0)


def _below(counts: Floats) -> Floats:
    """The share of a side that is below each bin; ties count half."""
    reached = np.cumsum(counts, axis=1)
    return np.asarray((reached - counts / 2) / reached[:, -1:])


def _variance(counts: Floats, place: Floats) -> tuple[Floats, Floats]:
    """The mean of `place` over people by bin, and its variance."""
    n = counts.sum(axis=1)
    middle = (counts * place).sum(axis=1) / n
    squares = (counts * np.square(place - middle[:, None])).sum(axis=1)
    return middle, squares / np.where(n > 1, n - 1, np.nan) / n


def mann_whitney(first: Floats | Ints, second: Floats | Ints) -> tuple[Floats, Floats, Floats]:
    """The share P(one > two) + ½P(one = two), its z, and its two-sided p-value, each [Z, G].

    The normal approximation, corrected for ties, without continuity correction; p is that of all
    permutations where these are few enough to add up. All tied: z 0, p 1. A side of one person has
    no test: p is NaN. Mann & Whitney (1947), On a test of whether one of two random variables is
    stochastically larger than the other, Ann Math Stat 18:50.

    >>> result = mann_whitney(np.array([[[1], [0], [2]]]), np.array([[[2], [1], [0]]]))
    >>> [round(float(part[0, 0]), 6) for part in result]
    [0.777778, 1.178511, 0.4]
    """
    with np.errstate(all="ignore"):
        share, z = map_blocks(_rank_z, first, second)
    p = np.array(normal_two_sided(z))
    for at in np.argwhere(~np.isnan(p)).tolist():
        sides = [np.asarray(side, dtype=np.float64)[at[0], :, at[1]] for side in (first, second)]
        if min(map(np.sum, sides)) < _FEWEST:
            p[tuple(at)] = np.nan
            continue
        exact = _permute_ranks(*sides)
        p[tuple(at)] = p[tuple(at)] if exact is None else exact
    return share, z, p


def _permute_ranks(first: Floats, second: Floats) -> float | None:
    """The share of permutations whose rank sum is as far from its mean; None of too many sums.

    Bin by bin the probability of each number of people of the smaller side and of each sum of
    their ranks, as if every person were of that side by chance; given its size all are as likely.
    """
    from scipy.stats import binom

    if not all(np.all(side == np.rint(side)) for side in (first, second)):
        return None
    tied = (first + second).astype(np.int64)
    smaller = min((first, second), key=np.sum).astype(np.int64)[tied > 0]
    tied = tied[tied > 0]
    n, whole = int(smaller.sum()), int(tied.sum())
    ranks = 2 * np.cumsum(tied) - tied
    ranks = (ranks - ranks[0]) // max(int(np.gcd.reduce(ranks - ranks[0])), 1)
    width = n * int(ranks[-1]) + 1
    if int(np.minimum(tied, n).sum()) * (n + 1) * width > _MOST_SUMS:
        return None
    chances = np.zeros((n + 1, width))
    chances[0, 0] = 1.0
    for rank, people in zip(ranks.tolist(), tied.tolist(), strict=True):
        most = min(people, n)
        weights = binom.pmf(np.arange(most + 1), people, n / whole)
        after = chances * weights[0]
        for taken in range(1, most + 1):
            far = rank * taken
            after[taken:, far:] += weights[taken] * chances[: n + 1 - taken, : width - far]
        chances = after
    # Whole numbers: the sum of ranks of all permutations, times the people, less its mean.
    apart = np.abs(np.arange(width) * whole - n * int((ranks * tied).sum()))
    is_as_far = apart >= apart[int((ranks * smaller).sum())]
    return float(chances[n, is_as_far].sum() / chances[n].sum())


def _rank_z(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """The share of `mann_whitney`, and its z."""
    first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    n, m = first.sum(axis=1), second.sum(axis=1)
    share = (first * _below(second)).sum(axis=1) / n
    tied, whole = first + second, n + m
    # N³ - N - Σ(t³ - t), written so that nothing cancels where almost all are tied.
    untied = (tied * (whole[:, None] - tied) * (whole[:, None] + tied)).sum(axis=1)
    variance = untied / (12 * n * m * whole * (whole - 1))
    return share, np.where((untied == 0) & (n * m > 0), 0.0, (share - 0.5) / np.sqrt(variance))


def average_precision(positive: Floats, negative: Floats) -> Floats:
    """The mean, over positives, of the precision at their score, [Z, G]; NaN without any.

    The area under the precision-recall curve by steps, each distinct score a threshold.

    >>> average_precision(np.array([[[1.0], [0], [2]]]), np.array([[[2.0], [1], [0]]])).round(6)
    array([[0.833333]])
    """
    hits, misses = _from_the_top(positive), _from_the_top(negative)
    with np.errstate(invalid="ignore"):
        precision = np.nan_to_num(hits / (hits + misses))
        return np.asarray((positive * precision).sum(axis=1) / positive.sum(axis=1))


def average_precision_error(positive: Floats, negative: Floats, several: Marks) -> Floats:
    """By how much the order within bins of `several` values may move that, [Z, G].

    At best all positives of such a bin are above its negatives, at one score; at worst below all of
    them, at different scores.
    """
    from scipy.special import digamma

    hits, misses = (_from_the_top(side)[:, several] for side in (positive, negative))
    total, positive, negative = positive.sum(axis=1), positive[:, several], negative[:, several]
    above, beside = hits - positive, misses - negative
    with np.errstate(all="ignore"):
        tied = positive * hits / (hits + misses)
        best = positive * hits / (hits + beside)
        # Σ over i of (above + i) / (above + misses + i), i from 1 to the positives of the bin.
        start = above + misses + 1
        worst = positive - misses * (digamma(start + positive) - digamma(start))
        parts = np.maximum(best - tied, tied - worst)
        return np.asarray(np.nan_to_num(parts).sum(axis=1) / total)


def average_precision_interval(
    area: Floats, positive: Floats, negative: Floats, alpha: Alpha = 0.05
) -> Ends:
    """The bounds of an average precision: Wilson's, for an effective number of positives.

    The variance is the infinitesimal jackknife's over people (positives and negatives both vary),
    and at least that of a share of the positives (Boyd, Eng & Page 2013, Area under the
    precision-recall curve), so that a perfect ranking of a few people has an interval. NaN with
    fewer than ten positives, whose average is biased upwards too much.
    """
    hits, misses = _from_the_top(positive), _from_the_top(negative)
    with np.errstate(all="ignore"):
        n, counted = positive.sum(axis=1), hits + misses
        precision = np.nan_to_num(hits / counted)
        gained, lost = (
            np.cumsum(np.nan_to_num(positive * side / counted**2), axis=1)
            for side in (misses, hits)
        )
        of_positives = precision - area[:, None] + gained
        spread = (positive * of_positives**2 + negative * lost**2).sum(axis=1)
        share = (n * area + 2) / (n + 4)
        variance = np.maximum(spread / n**2, share * (1 - share) / n)
        worth = np.where(n >= _TRUSTED, share * (1 - share) / variance, np.nan)
        return proportions.share_interval(area, worth, alpha)


def _from_the_top(counts: Floats) -> Floats:
    """The number of people in each bin or above it."""
    return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1])
