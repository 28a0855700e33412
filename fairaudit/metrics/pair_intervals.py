"""Chooses the interval of two compared groups; formulas: stats/proportions. Add an interval here.

A difference of two shares has Newcombe's interval (MOVER of Wilson intervals), a difference of two
means has Welch's, and a ratio of shares has Koopman's. All other intervals are made from the
intervals of both sides (MOVER, Zou & Donner 2008). With few hits or misses, all these intervals use
exact intervals.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats
from fairaudit.base.frozen import memoize
from fairaudit.cube.histogram import ranked
from fairaudit.metrics.group_metrics import GroupValues
from fairaudit.metrics.terms import Inference, RatioInterval, TTest
from fairaudit.stats import contingency, distributions, means, proportions, score_statistics, strata
from fairaudit.stats.proportions import (
    GAP_INTERVAL,
    ODDS_RATIO_INTERVAL,
    RATIO_INTERVAL,
    Sample,
)


class Interval(NamedTuple):
    """The lower and upper ends of intervals, two arrays of equal shape; the name of the method."""

    low: Floats
    high: Floats
    method: str

    def turned(self) -> Interval:
        """The interval of the number with the opposite sign."""
        return Interval(-self.high, -self.low, self.method)


class Scale(StrEnum):
    """The scale on which two values are compared, for intervals, clusters and limits in people."""

    DIFFERENCE = "difference"
    RATIO = "ratio"
    ODDS = "odds"
    ARCSINE = "arcsine"


def of_difference(
    first: GroupValues,
    second: GroupValues,
    alpha: Alpha,
    t: TTest = TTest.WELCH,
    r: Floats | None = None,
) -> Interval | None:
    """The interval of the first value minus the second value; for means, `t` is the kind of t test.

    `r` is the correlation of two values with common clusters, also in the functions below.
    """
    if not first.binomial and first.summary and second.summary:
        if t is TTest.STUDENT:
            return Interval(*means.student(first.summary, second.summary).ends(alpha), "Student")
        gap = means.welch(first.summary, second.summary, moderated=True)
        return Interval(*gap.ends(alpha), "Welch")
    if first.ends is None or second.ends is None:
        return None
    if first.binomial and second.binomial:
        ends = proportions.gap_interval(*first.sample, *second.sample, alpha, r)
        return Interval(*ends, GAP_INTERVAL)
    ends = proportions.mover_difference(
        first.value, first.ends(alpha), second.value, second.ends(alpha), r
    )
    return Interval(*proportions.extend_gap(ends, weigh_shares(first, second), alpha), "MOVER")


def weigh_shares(
    first: GroupValues, second: GroupValues, factor: float | Floats = 1.0
) -> list[tuple[Sample, float | Floats]]:
    """The shares that make up a difference, with their weights; empty if a side has no shares."""
    if not first.means or not second.means:
        return []
    sides = (first.means, factor), (second.means, -factor)
    return [(share, weight / len(means)) for means, weight in sides for share in means]


def of_ratio(
    first: GroupValues, second: GroupValues, alpha: Alpha, r: Floats | None = None
) -> Interval | None:
    """The interval of the first value divided by the second value.

    NaN if the interval of a value extends below 0 (except for shares, which cannot be negative).
    """
    is_of_shares = first.binomial and second.binomial
    if is_of_shares and r is None:
        return Interval(*_bound_ratio(first, second, alpha), RATIO_INTERVAL)
    sides = _find_ends(first, second, alpha)
    if sides is None:
        return None
    first_ends, second_ends = sides
    ends = proportions.mover_ratio(first.value, first_ends, second.value, second_ends, r)
    if is_of_shares and r is not None and not r.all():
        # MOVER with the correlation is used only for pairs with common clusters.
        pairs = zip(_bound_ratio(first, second, alpha), ends, strict=True)
        low, high = (np.where(r == 0, *pair) for pair in pairs)
        return Interval(low, high, "MOVER" if r.any() else RATIO_INTERVAL)
    positive = (first_ends[0] >= 0) & (second_ends[0] >= 0)
    low, high = (np.where(positive, end, np.nan) for end in ends)
    return Interval(low, high, "MOVER")


def _find_ends(first: GroupValues, second: GroupValues, alpha: Alpha) -> tuple[Ends, Ends] | None:
    """The intervals of both sides; a mean of few people uses part of the other side's variance."""
    if first.ends is None or second.ends is None:
        return None
    if first.pools_variance is None or first.summary is None or second.summary is None:
        return first.ends(alpha), second.ends(alpha)
    sides = zip(first.summary, second.summary, strict=True)
    mean, deviation, n = (np.stack(side, axis=-1) for side in sides)
    low, high = means.moderated_interval(mean, deviation, n, np.expand_dims(alpha, -1))
    own, other = (first.metric.within((low[..., at], high[..., at])) for at in (0, 1))
    return own, other


@memoize
def _bound_ratio(first: GroupValues, second: GroupValues, alpha: Alpha) -> Ends:
    """The interval of a ratio of shares; the intervals of several measures are made from it."""
    return proportions.ratio_interval(*first.sample, *second.sample, alpha)


def of_ratio_by_logs(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of a ratio by Katz' logarithms, if the spec requests it.

    If fewer than five hits or misses are expected, the logarithm is not normal, and the interval of
    a single person with a hit would have no width. Such pairs have the interval of `of_ratio`.
    """
    interval = of_ratio(first, second, alpha)
    if interval is None or not (first.binomial and second.binomial):
        return interval
    sides = (*first.sample, *second.sample)
    few = contingency.smallest_expected(*sides) < contingency.LEAST_EXPECTED
    ends = zip(interval[:2], proportions.katz(*sides, alpha), strict=True)
    low, high = (np.where(few, usual, log) for usual, log in ends)
    return Interval(low, high, "Katz, Koopman where few are expected" if few.any() else "Katz")


def of_odds_ratio(
    first: GroupValues, second: GroupValues, alpha: Alpha, r: Floats | None = None
) -> Interval | None:
    """The interval of a ratio of odds; None if a value can be outside [0, 1]."""
    within = first.metric.bounds == second.metric.bounds == (0, 1)
    sides = _find_ends(first, second, alpha)
    if sides is None or not within:
        return None
    ends = proportions.mover_odds_ratio(first.sample, sides[0], second.sample, sides[1], r)
    return Interval(*ends, ODDS_RATIO_INTERVAL)


def of_common_odds_ratio(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of the common odds ratio of all strata, by the variance of its logarithm.

    The interval is NaN for an odds ratio of 0 or infinity, whose logarithm has no variance. The
    result is None under unequal weights, because the variance is valid only for people of equal
    weight.
    """
    inner, outer = first.strata, second.strata
    if inner is None or outer is None or not weigh_alike(inner, outer):
        return None
    sample = strata.mantel_haenszel(*inner.trials, *outer.trials, alpha)
    is_known = np.isfinite(np.log(sample.odds_ratio))
    low, high = (
        np.where(is_known, end, np.nan).reshape(1, -1)
        for end in (sample.odds_low, sample.odds_high)
    )
    return Interval(low, high, "Robins–Breslow–Greenland")


def weigh_alike(first: GroupValues, second: GroupValues) -> bool:
    """Whether all people on both sides have the same weight, in all strata."""
    weights = np.concatenate([
        side.weighted_trials[1] / np.where(side.trials[1] > 0, side.trials[1], np.nan)
        for side in (first, second)
    ])  # fmt: skip
    known = weights[~np.isnan(weights)]
    return not known.size or bool(np.isclose(known, known[0], rtol=1e-9).all())


def of_arcsines(
    first: GroupValues, second: GroupValues, alpha: Alpha, r: Floats | None = None
) -> Interval | None:
    """The interval of Cohen's h: a difference on the arcsine scale."""
    sides = _find_ends(first, second, alpha)
    if sides is None:
        return None

    def scaled(share: Floats) -> Floats:
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))))

    first_ends, second_ends = ((scaled(low), scaled(high)) for low, high in sides)
    ends = proportions.mover_difference(
        scaled(first.value), first_ends, scaled(second.value), second_ends, r
    )
    return Interval(*ends, "MOVER")


def of_standardized(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of a standardized difference of shares, from the interval of their correlation.

    None for means, because the variance of a standard deviation needs third and fourth powers.
    """
    interval = of_correlation(first, second, alpha)
    if interval is None:
        return None
    n, m, people = first.weighted_n, second.weighted_n, first.n + second.n
    between = n * m / (n + m) ** 2
    low, high = (
        end * np.sqrt((people - 2) / (people * between * (1 - end**2))) for end in interval[:2]
    )
    return Interval(low, high, interval.method)


def of_normalized(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of Žliobaitė's δ, from two ratios: of the rates, and of their complements.

    δ is the difference divided by the largest possible difference, which is limited by the number
    of people who are selected and by the number of people who are not selected. The smaller limit
    gives the larger δ. With each limit, δ is a monotone function of a ratio, so the ends of the
    ratio are mapped.
    """
    if first.under is None or second.under is None or not (first.binomial and second.binomial):
        return None
    n, m = (np.asarray(side.under, dtype=np.float64) for side in (first, second))
    sizes = first.effective_n, second.effective_n
    of_hits = _bound_ratio(first, second, alpha)
    misses = (1 - second.value, sizes[1], 1 - first.value, sizes[0])
    of_misses = proportions.ratio_interval(*misses, alpha)
    # δ falls if the ratio rises.
    lows, highs = (
        (_departure(of_hits[end], n, m), _departure(of_misses[end], m, n)) for end in (1, 0)
    )
    plus = (first.value * n + second.value * m) / (n + m)
    varies = (plus > 0) & (plus < 1)
    ends = []
    for (first_end, second_end), pick in ((lows, np.minimum), (highs, np.maximum)):
        # The end that is farther from 0; if the signs differ, the lower or the higher end.
        farther = np.where(np.abs(first_end) > np.abs(second_end), first_end, second_end)
        end = np.where(first_end * second_end < 0, pick(first_end, second_end), farther)
        ends.append(np.where(varies, end, np.nan))
    low, high = ends
    return Interval(low, high, f"{RATIO_INTERVAL}, mapped")


def _departure(ratio: Floats, n: Floats, m: Floats) -> Floats:
    """1 - ratio, divided by its largest value for n and m people; falls with the ratio."""
    interval = (1 - ratio) * np.where(ratio <= 1, m, n) / (ratio * n + m)
    return np.asarray(np.where(np.isinf(ratio), -1.0, interval))


def of_correlation(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of the correlation of an outcome with membership; None for means.

    φ rises with the first share and falls with the second. If one share moves to an end of its
    interval and the other share does not change, φ moves by a distance. The distances for both
    shares are combined as the root of the sum of squares.
    """
    if not (first.binomial and second.binomial) or first.ends is None or second.ends is None:
        return None
    p, q, n, m = first.value, second.value, first.weighted_n, second.weighted_n
    a, b = n / (n + m), m / (n + m)

    def correlate(p: Floats, q: Floats) -> Floats:
        plus = a * p + b * q
        return np.asarray((p - q) * np.sqrt(a * b / (plus * (1 - plus))))

    value, (low, high), (other_low, other_high) = (
        correlate(p, q), first.ends(alpha), second.ends(alpha)
    )  # fmt: skip
    below = np.hypot(value - correlate(low, q), value - correlate(p, other_high))
    above = np.hypot(correlate(high, q) - value, correlate(p, other_low) - value)
    own, other = proportions.split_pair(first.sample, second.sample, alpha)
    low = np.fmin.reduce([value - below, *correlate(own[0], other[1])])
    high = np.fmax.reduce([value + above, *correlate(own[1], other[0])])
    low, high = np.maximum(low, -1.0), np.minimum(high, 1.0)
    return Interval(low, high, "MOVER by each share")


def of_ranked_shares(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of ½ + ½ (second - first)."""
    interval = of_difference(second, first, alpha)
    if interval is None:
        return None
    return Interval((1 + interval.low) / 2, (1 + interval.high) / 2, f"{interval.method}, mapped")


def of_itself(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:  # noqa: ARG001  # uses only one side
    """The interval of the first value alone."""
    return None if first.ends is None else Interval(*first.ends(alpha), first.method)


def of_coefficient(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:  # noqa: ARG001  # the fit contains both sides
    """The interval of a coefficient of least squares, by Student's t and the variance HC2."""
    if first.fit is None:
        return None
    reach = distributions.t_critical(first.fit.df, alpha) * first.fit.error
    return Interval(first.fit.value - reach, first.fit.value + reach, "HC2")


def of_ranked_scores(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval | None:
    """The interval of the probability that the second side is higher, by DeLong's variance."""
    if first.scores is None or second.scores is None:
        return None
    value = ranked(second.scores, first.scores)
    ends = score_statistics.delong(value, second.scores, first.scores, alpha, moderated=True)
    return Interval(*ends, "DeLong, moderated")


def of_rest_to_overall(interval: Interval, share: Floats, scale: Scale) -> Interval:
    """The interval against all people, from the interval against the rest.

    All people include the group, whose share of all people is w = `share`. A difference to all
    people is (1 - w) times the difference to the rest. A ratio ρ to the rest is ρ / (wρ + 1 - w) to
    all people.
    """
    if scale is Scale.DIFFERENCE:
        low, high = ((1 - share) * end for end in interval[:2])
    else:
        low, high = (
            np.where(np.isinf(end), 1 / share, end / (share * end + 1 - share))
            for end in interval[:2]
        )
    return Interval(low, high, f"{interval.method}, mapped")


def of_scale(
    scale: Scale,
    first: GroupValues,
    second: GroupValues,
    alpha: Alpha,
    inference: Inference,
    r: Floats | None = None,
) -> Interval | None:
    """The interval of two values on a scale, by the method that the spec requests."""
    match scale:
        case Scale.DIFFERENCE:
            return of_difference(first, second, alpha, inference.t, r)
        case Scale.RATIO if inference.ratio is RatioInterval.KATZ:
            return of_ratio_by_logs(first, second, alpha)
        case Scale.RATIO:
            return of_ratio(first, second, alpha, r)
        case Scale.ODDS:
            return of_odds_ratio(first, second, alpha, r)
        case Scale.ARCSINE:
            return of_arcsines(first, second, alpha, r)
