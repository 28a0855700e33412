"""Statistics of scores: calibration (Cox, Hosmer-Lemeshow), ranks (DeLong, Mann-Whitney).

D. R. Cox, Two further applications of a model for binary regression, Biometrika 45 (1958) 562-565;
D. W. Hosmer & S. Lemeshow, Goodness of fit tests for the multiple logistic regression model,
Communications in Statistics A9 (1980) 1043-1069.

Scores are grouped into bins; the lowest and the highest score of each bin are known. Because the
scores within a bin are unknown, each statistic comes with a bound of its error.

Histograms are [Z strata, B bins, G groups] with ascending bins; people in the same bin are tied. If
one of two compared sides has no people, the result is NaN.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Ints, Marks, map_blocks
from fairaudit.base.frozen import Frozen
from fairaudit.stats import proportions
from fairaudit.stats.contingency import DRAWS, LEAST_P
from fairaudit.stats.distributions import expit, normal_critical, normal_two_sided
from fairaudit.stats.means import find_pooled_share

_STEPS = 100
_CLOSE = 1e-11
_DECILES = 10
_FEWEST_EXPECTED = 5
_ROUNDING = 1e-9
_RARE = 10


class ScoreBins(Frozen, eq=False):
    """The people of one group in ascending bins of a score, with the range of each bin."""

    positive: Floats
    negative: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, positive: Ints, negative: Ints, low: Floats, high: Floats) -> ScoreBins:
        """The bins in which the group has people with a known label."""
        there = (positive + negative) > 0
        sides = (positive[there].astype(np.float64), negative[there].astype(np.float64))
        return cls(*sides, low[there], high[there])

    @property
    def people(self) -> Floats:
        """The number of people in each bin."""
        return self.positive + self.negative

    @property
    def has_logits(self) -> bool:
        """Whether all scores are above 0 and below 1."""
        return bool(len(self.low)) and bool(self.low[0] > 0 and self.high[-1] < 1)

    @property
    def middle(self) -> Floats:
        """The middle of each bin; for a bin with a single value, that value."""
        return (self.low + self.high) / 2


class Fitted(NamedTuple):
    """A fitted number, its spread, and a bound of the error that results from the bins.

    The spread of a coefficient is its standard error; the spread of a χ² is its degrees of freedom.
    """

    value: float
    spread: float
    doubt: float


NOT_FITTED = Fitted(math.nan, math.nan, 0.0)


def recalibration_slope(bins: ScoreBins) -> Fitted:
    """The slope b in logit P(y = 1) = a + b · logit(s), by maximum likelihood.

    The slope is 1 for a calibrated score. It is NaN if all labels are equal, or if a threshold of
    the score separates the labels.
    """
    plus, minus = np.flatnonzero(bins.positive > 0), np.flatnonzero(bins.negative > 0)
    if not bins.has_logits or not len(plus) or not len(minus):
        return NOT_FITTED
    if plus[0] >= minus[-1] or minus[0] >= plus[-1]:
        return NOT_FITTED
    return _fit(bins, with_slope=True)


def recalibration_intercept(bins: ScoreBins) -> Fitted:
    """The intercept a in logit P(y = 1) = a + logit(s); 0 if the scores are right on average."""
    if not bins.has_logits or not bins.positive.sum() or not bins.negative.sum():
        return NOT_FITTED
    return _fit(bins, with_slope=False)


def _fit(bins: ScoreBins, *, with_slope: bool) -> Fitted:
    """The last coefficient of a logistic regression on the logit of the score, by Newton's method.

    The coefficient is NaN if the scores are so close to 0 and 1 that the labels contain no
    information.
    """
    x, n = _logit(bins.middle), bins.people
    # The scores are centred, so that the coefficients hardly depend on each other.
    center = float((n * x).sum() / n.sum()) if with_slope else 0.0
    design = np.stack([np.ones_like(x), x - center]) if with_slope else np.ones((1, len(x)))
    offset = np.zeros_like(x) if with_slope else x
    theta = np.array([center, 1.0]) if with_slope else np.zeros(1)
    likelihood = _log_likelihood(bins, theta @ design + offset)
    try:
        for _ in range(_STEPS):
            share = expit(theta @ design + offset)
            gradient = design @ (bins.positive - n * share)
            information = (design * (n * share * (1 - share))) @ design.T
            step = np.linalg.solve(information, gradient)
            while (longer := _log_likelihood(bins, (theta + step) @ design + offset)) < likelihood:
                step = step / 2
                if np.abs(step).max() < _CLOSE:
                    break
            theta, likelihood = theta + step, longer
            if np.abs(step).max() < _CLOSE:
                break
        share = expit(theta @ design + offset)
        information = (design * (n * share * (1 - share))) @ design.T
        error = math.sqrt(float(np.linalg.inv(information)[-1, -1]))
        slope = float(theta[-1]) if with_slope else 1.0
        doubt = _bound_doubt(bins, design, share, information, slope)
    except np.linalg.LinAlgError:
        return NOT_FITTED
    return Fitted(float(theta[-1]), error, doubt)


def _bound_doubt(
    bins: ScoreBins, design: Floats, share: Floats, information: Floats, slope: float
) -> float:
    """A bound of the error that bins cause in the last coefficient; infinite if no bound is found.

    The logistic function f has |f''| <= f', so over a distance d its slope changes at most by the
    factor e^d. At our estimate, the gradient of the exact likelihood is at most `moved`, and the
    exact information is at least (1 - `turned`) times ours. At a distance r from our estimate, the
    information is at least e^-(reach·r) times as large.
    """
    low, middle, high = map(_logit, (bins.low, bins.middle, bins.high))
    half = np.maximum(high - middle, middle - low)
    if not half.any():
        return 0.0
    n, sizes = bins.people, np.abs(design)
    grown = np.expm1(np.abs(slope) * half)
    weight = n * share * (1 - share)
    further = np.zeros_like(design)
    if len(design) == 2:
        further[1] = half
    moved = ((sizes + further) * weight * grown).sum(axis=1)
    moved += (further * (bins.positive * (1 - share) + bins.negative * share)).sum(axis=1)
    whiten = np.linalg.inv(np.linalg.cholesky(information))
    distance = float(np.linalg.norm(np.abs(whiten) @ moved))
    farther = sizes + further
    near, far = (sizes[:, None] * sizes[None]), (farther[:, None] * farther[None])
    changed = ((far * (1 + grown) - near) * weight).sum(axis=-1)
    turned = float(np.linalg.norm(np.abs(whiten) @ changed @ np.abs(whiten).T))
    reach = float(np.linalg.norm(np.abs(whiten) @ farther, axis=0).max())
    crossed = reach * distance / (1 - turned) if turned < 1 else 1.0
    if crossed >= 1:
        return math.inf
    radius = -math.log1p(-crossed) / reach
    return radius * float(np.linalg.norm(whiten[:, -1]))


def hosmer_lemeshow(bins: ScoreBins) -> Fitted:
    """The Hosmer-Lemeshow statistic: Σ (O - E)² / (E (1 - E/n)) over tenths of the people by score.

    A tenth has n people and O positives, and E is the sum of its scores. People with equal scores
    stay together. Neighbouring tenths are joined until each tenth has at least five expected
    positives and five expected negatives. If the scores were not fitted to these people, the
    degrees of freedom are the number of tenths that remain. With fewer than two tenths, the result
    is NaN.
    """
    if not len(bins.low) or bins.low[0] < 0 or bins.high[-1] > 1:
        return NOT_FITTED
    n = bins.people
    before = np.cumsum(n) - n
    tenth = np.floor(_DECILES * before / n.sum()).astype(np.int64)
    half = (bins.high - bins.low) / 2
    amounts = (n, bins.positive, n * bins.middle, n * half)
    parts = [np.bincount(tenth, amount, _DECILES) for amount in amounts]

    def expects_few(row: Floats) -> bool:
        return bool(min(row[2], row[0] - row[2]) < _FEWEST_EXPECTED)

    rows: list[Floats] = []
    for row in np.stack(parts, axis=1):
        if rows and expects_few(rows[-1]):
            rows[-1] = rows[-1] + row
        else:
            rows.append(row)
    while len(rows) > 1 and expects_few(rows[-1]):
        rows[-2:] = [rows[-2] + rows[-1]]
    if len(rows) < 2:
        return NOT_FITTED
    people, observed, expected, hidden = np.array(rows).T
    value = _pearson(people, observed, expected)
    low, high = np.maximum(expected - hidden, 0), np.minimum(expected + hidden, people)
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.stack([_pearson(people, observed, end) for end in (low, high)])
    least = np.where((low <= observed) & (observed <= high), 0.0, ends.min(axis=0))
    doubt = np.maximum(ends.max(axis=0) - value, value - least)
    doubts = float(np.where(hidden > 0, doubt, 0.0).sum())
    return Fitted(float(value.sum()), float(len(rows)), doubts)


def resample_calibration_error(people: Ints, expected: Floats, least: float) -> float:
    """The p-value of the calibration error `least` of one group if its scores are perfect.

    `people` and `expected` [K bins] are the people and the expected positives. Each draw gives
    every bin a random number of positives, with the mean score of the bin as their probability
    (consistency resampling: Bröcker & Smith 2007, Increasing the reliability of reliability
    diagrams, Weather and Forecasting 22:651). p is (b + 1) / (draws + 1), where b is the number of
    draws with an error of at least `least`: a valid p-value for any number of people. The seed is
    fixed, so equal counts have equal p-values. If no draw has such an error, p is also limited by a
    bound.

    >>> resample_calibration_error(np.array([50, 50]), np.array([10.0, 30.0]), 0.2) < 0.001
    True
    """
    people, expected = people[people > 0], expected[people > 0]
    share = np.clip(expected / people, 0.0, 1.0)
    drawn = np.random.default_rng(0).binomial(people, share, size=(DRAWS, len(people)))
    error = np.abs(drawn - expected).sum(axis=1) / people.sum()
    reached = np.count_nonzero(error >= least - _ROUNDING)
    p = float((reached + 1) / (DRAWS + 1))
    if reached:
        return p
    # Chernoff's bound of the probability that the sum of |Y| = |positives - expected| is so large:
    # E exp(s |Y|) = E exp(s Y) + E exp(-s Y) - E exp(-s |Y|), where the last term is at least
    # exp(-s · sd of Y).
    slope = np.geomspace(1e-8, 100, 500)[:, None]
    with np.errstate(divide="ignore"):
        hit, miss = np.log(share), np.log1p(-share)
    up = people * (np.logaddexp(miss, hit + slope) - slope * share)
    down = people * (np.logaddexp(miss, hit - slope) + slope * share)
    both = np.logaddexp(up, down)
    near = np.exp(-slope * np.sqrt(people * share * (1 - share)) - both)
    exponents = (both + np.log1p(-near)).sum(axis=1)
    exponents -= slope[:, 0] * (least - _ROUNDING) * people.sum()
    return min(p, max(math.exp(min(float(exponents.min()), 0.0)), LEAST_P))


def find_p_of_largest(people: Ints, expected: Floats, largest: Floats) -> Floats:
    """The p-value of the `largest` |positives - expected| / people [Z] among bins [Z, K].

    Bins are independent, so the probability that any bin has such a departure is exact: 1 minus the
    product of the binomial probabilities that the departure of each bin is smaller. Šidák (1967),
    JASA 62:626.

    >>> round(float(find_p_of_largest(np.array([[4]]), np.array([[2.0]]), np.array([0.5]))[0]), 3)
    0.125
    """
    from scipy.special import betainc

    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip(expected / people, 0.0, 1.0)
        reach = largest[:, None] * people
        least = np.ceil(expected + reach - _ROUNDING * people)
        most = np.floor(expected - reach + _ROUNDING * people)
        above = np.where(
            least > people, 0.0, betainc(np.maximum(least, 1), people - least + 1, share)
        )
        below = np.where(most < 0, 0.0, betainc(people - most, most + 1, 1 - share))
        chance = np.where(least <= most + 1, 1.0, np.minimum(above + below, 1.0))
        p = -np.expm1(np.log1p(-np.where(people > 0, chance, 0.0)).sum(axis=1))
        return np.asarray(np.maximum(p, LEAST_P))


def calibration_error_reach(people: Ints, positives: Ints, alpha: Alpha = 0.05) -> Floats:
    """The largest distance [Z, G] of a calibration error from the true error.

    The inputs are arrays [Z, K, G]. The distance is at most Σ w |p̂ - p| over bins of weight w.
    This sum is a convex function of independent normal errors, so it exceeds its mean by z times
    √Σ(w σ)² at most as often as a normal number does (Borell 1975, The Brunn-Minkowski inequality
    in Gauss space, Inventiones 30:207). The bound is wider than needed if there are many bins, but
    never too narrow.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (positives + 2) / (people + 4)
        weight = people / people.sum(axis=1, keepdims=True)
        spread = np.where(people > 0, weight * np.sqrt(share * (1 - share) / people), 0.0)
    z = normal_critical(np.minimum(2 * np.asarray(alpha), 1.0))
    mean = math.sqrt(2 / math.pi) * spread.sum(axis=1)
    return np.asarray(mean + z * np.sqrt(np.square(spread).sum(axis=1)))


def _pearson(people: Floats, observed: Floats, expected: Floats) -> Floats:
    return np.asarray((observed - expected) ** 2 * people / (expected * (people - expected)))


def _logit(score: Floats) -> Floats:
    return np.log(score) - np.log1p(-score)


def _log_likelihood(bins: ScoreBins, eta: Floats) -> float:
    losses = bins.positive * np.logaddexp(0, -eta) + bins.negative * np.logaddexp(0, eta)
    return -float(losses.sum())


_FEWEST_POSITIVES = 10
"""The fewest positives for the interval of an average precision."""

_FEWEST = 2
"""The fewest people on each side for a test."""

_MOST_SUMS = 5_000_000
"""Maximum number of additions for the exact distribution of a rank sum."""


def delong_variance(
    upper: Floats | Ints, lower: Floats | Ints, *, moderated: bool = False
) -> Floats:
    """The variance of P(upper > lower) + ½P(upper = lower), as an array [Z, G].

    It is NaN if a side has fewer than two people. If `moderated` (as in `means`), the variance of
    the smaller side is at least a share of the variance that Hanley & McNeil (1982), Radiology
    143:29, expect at this area. DeLong, DeLong & Clarke-Pearson (1988), Comparing the areas under
    two or more correlated receiver operating characteristic curves, Biometrics 44:837.

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
        least_upper = find_pooled_share(n, m) * above / n
        least_lower = find_pooled_share(m, n) * below / m
        return np.asarray(np.maximum(of_upper, least_upper) + np.maximum(of_lower, least_lower))

    with np.errstate(all="ignore"):
        return map_blocks(find, upper, lower)


def delong(
    area: Floats,
    upper: Floats | Ints,
    lower: Floats | Ints,
    alpha: Alpha = 0.05,
    *,
    moderated: bool = False,
) -> Ends:
    """The bounds, from 0 to 1, of the `area` P(upper > lower) + ½P(upper = lower) [Z, G].

    They are the bounds of a share (`proportions.share_interval`) with the effective size that gives
    the variance `delong_variance`. If fewer than `_RARE` people of the smaller side are ranked
    wrongly, the effective size is at most the size for two equal sides, whose variance is (1/n +
    1/m) / 12. If the variance is 0, the effective size is the size of the smaller side, because no
    variance is above area · (1 - area) divided by that size (Birnbaum & Klose 1957, Ann Math Stat
    28:933).

    >>> upper, lower = np.array([[[1], [0], [2]]]), np.array([[[2], [1], [0]]])
    >>> [round(float(end[0, 0]), 6) for end in delong(np.array([[7 / 9]]), upper, lower)]
    [0.166912, 0.998324]
    """
    variance = delong_variance(upper, lower, moderated=moderated)
    n, m = (np.sum(side, axis=1) for side in (upper, lower))
    with np.errstate(divide="ignore", invalid="ignore"):
        size = area * (1 - area) / np.where(variance > 0, variance, np.nan)
        is_rare = np.minimum(n, m) * np.minimum(area, 1 - area) < _RARE
        size = np.where(is_rare, np.minimum(size, 3 * n * m / (n + m)), size)
        size = np.where(variance == 0, np.minimum(n, m), size)
    return proportions.share_interval(area, size, alpha)


def _below(counts: Floats) -> Floats:
    """The share of the people who are below each bin; ties count half."""
    reached = np.cumsum(counts, axis=1)
    return np.asarray((reached - counts / 2) / reached[:, -1:])


def _variance(counts: Floats, place: Floats) -> tuple[Floats, Floats]:
    """The mean of `place` over the people in the bins, and the variance of this mean."""
    n = counts.sum(axis=1)
    middle = (counts * place).sum(axis=1) / n
    squares = (counts * np.square(place - middle[:, None])).sum(axis=1)
    return middle, squares / np.where(n > 1, n - 1, np.nan) / n


def mann_whitney(first: Floats | Ints, second: Floats | Ints) -> tuple[Floats, Floats, Floats]:
    """P(first > second) + ½P(first = second), its z, and its two-sided p-value, each [Z, G].

    z is the normal approximation, corrected for ties, without continuity correction. If there are
    few permutations of people, p is exact. If all people are tied, z is 0 and p is 1. A side with a
    single person cannot be tested: p is NaN. Mann & Whitney (1947), On a test of whether one of two
    random variables is stochastically larger than the other, Ann Math Stat 18:50.

    >>> result = mann_whitney(np.array([[[1], [0], [2]]]), np.array([[[2], [1], [0]]]))
    >>> [round(float(part[0, 0]), 6) for part in result]
    [0.777778, 1.178511, 0.4]
    """

    def find(first: Floats, second: Floats) -> tuple[Floats, Floats]:
        first, second = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        n, m = first.sum(axis=1), second.sum(axis=1)
        share = (first * _below(second)).sum(axis=1) / n
        tied, whole = first + second, n + m
        # N³ - N - Σ(t³ - t), in a form without cancellation if almost all people are tied.
        untied = (tied * (whole[:, None] - tied) * (whole[:, None] + tied)).sum(axis=1)
        variance = untied / (12 * n * m * whole * (whole - 1))
        z = np.where((untied == 0) & (n * m > 0), 0.0, (share - 0.5) / np.sqrt(variance))
        return share, z

    with np.errstate(all="ignore"):
        share, z = map_blocks(find, first, second)
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
    """The share of permutations with a rank sum at least as far from the mean; None if too slow.

    The function puts each person on the smaller side by chance. Bin by bin, it computes the joint
    probability of the number of people on this side and of the sum of their ranks. Given the number
    of people on this side, all permutations are equally likely.
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
    # The distance of each possible rank sum from the mean, times the number of people: whole
    # numbers.
    apart = np.abs(np.arange(width) * whole - n * int((ranks * tied).sum()))
    is_as_far = apart >= apart[int((ranks * smaller).sum())]
    return float(chances[n, is_as_far].sum() / chances[n].sum())


def average_precision(positive: Floats | Ints, negative: Floats | Ints) -> Floats:
    """The mean precision [Z, G] at the scores of the positives; NaN without positives.

    The result is the area under the stepwise precision-recall curve, with each distinct score as a
    threshold.

    >>> average_precision(np.array([[[1.0], [0], [2]]]), np.array([[[2.0], [1], [0]]])).round(6)
    array([[0.833333]])
    """
    hits, misses = _from_the_top(positive), _from_the_top(negative)
    with np.errstate(invalid="ignore"):
        precision = np.nan_to_num(hits / (hits + misses))
        return np.asarray((positive * precision).sum(axis=1) / positive.sum(axis=1))


def average_precision_error(
    positive: Floats | Ints, negative: Floats | Ints, several: Marks
) -> Floats:
    """The largest error of the average precision from the unknown order within bins, [Z, G].

    `several` marks the bins with several values. At best, all positives of such a bin are above its
    negatives, at one score; at worst, they are below all negatives, at different scores.
    """
    from scipy.special import digamma

    hits, misses = (_from_the_top(side)[:, several] for side in (positive, negative))
    total, positive, negative = positive.sum(axis=1), positive[:, several], negative[:, several]
    above, beside = hits - positive, misses - negative
    with np.errstate(all="ignore"):
        tied = positive * hits / (hits + misses)
        best = positive * hits / (hits + beside)
        # Σ (above + i) / (above + misses + i) over i from 1 to the positives of the bin.
        start = above + misses + 1
        worst = positive - misses * (digamma(start + positive) - digamma(start))
        parts = np.maximum(best - tied, tied - worst)
        return np.asarray(np.nan_to_num(parts).sum(axis=1) / total)


def average_precision_interval(
    area: Floats, positive: Floats | Ints, negative: Floats | Ints, alpha: Alpha = 0.05
) -> Ends:
    """The bounds of an average precision: Wilson's, for an effective number of positives.

    The variance is from the infinitesimal jackknife over people (positives and negatives both
    vary). It is at least the variance of a share of the positives (Boyd, Eng & Page 2013, Area
    under the precision-recall curve), so that a perfect ranking of a few people has an interval.
    The bounds are NaN with fewer than ten positives, because the average is then biased upwards too
    much.
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
        worth = np.where(n >= _FEWEST_POSITIVES, share * (1 - share) / variance, np.nan)
        return proportions.wilson(area, worth, alpha)


def _from_the_top(counts: Floats | Ints) -> Floats:
    return np.asarray(counts[:, ::-1].cumsum(axis=1, dtype=np.float64)[:, ::-1])
