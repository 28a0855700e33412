"""The interval of each comparison of two sides, by what is known of both.

A difference of two shares gets Newcombe's interval, which is MOVER of Wilson's; a difference of two
means Welch's; a ratio of shares Koopman's; everything else recovers its variance from the intervals
of both sides (MOVER, Zou & Donner 2008).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.arrays import Alpha, Floats
from fairaudit.histogram import ranked
from fairaudit.metrics.group_metrics import GroupValues
from fairaudit.stats import contingency, distributions, means, mover, proportions, ranks, strata


class Interval(NamedTuple):
    """The ends of each interval, arrays of one shape, and the way they were found."""

    low: Floats
    high: Floats
    method: str

    def turned(self) -> Interval:
        """The interval of the opposite number."""
        return Interval(-self.high, -self.low, self.method)


def of_difference(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the first value minus the second."""
    if one.deviation is not None and two.deviation is not None and not one.binomial:
        sides = (
            one.value,
            one.deviation,
            one.effective_n,
            two.value,
            two.deviation,
            two.effective_n,
        )
        return Interval(*means.welch(*sides, alpha, moderated=True), "Welch")
    if one.ends is None or two.ends is None:
        return None
    ends = mover.difference(one.value, one.ends(alpha), two.value, two.ends(alpha))
    return Interval(*ends, "Newcombe" if one.binomial and two.binomial else "MOVER")


def of_difference_by_student(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """The same of two means whose variances are taken to be equal, for those who ask."""
    if one.deviation is not None and two.deviation is not None and not one.binomial:
        sides = (
            one.value,
            one.deviation,
            one.effective_n,
            two.value,
            two.deviation,
            two.effective_n,
        )
        return Interval(*means.student(*sides, alpha), "Student")
    return of_difference(one, two, alpha)


def of_shortfall(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the second value minus the first."""
    found = of_difference(one, two, alpha)
    return None if found is None else found.turned()


def of_ratio(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the first value divided by the second; none where a side may be negative."""
    if one.binomial and two.binomial:
        ends = proportions.koopman(one.value, one.effective_n, two.value, two.effective_n, alpha)
        return Interval(*ends, "Koopman")
    if one.odds is not None and two.odds is not None:
        ends = proportions.woolf(one.odds, one.effective_n, two.odds, two.effective_n, alpha)
        return Interval(*ends, "Woolf, Gart's ½")
    if one.ends is None or two.ends is None:
        return None
    ours, theirs = one.ends(alpha), two.ends(alpha)
    ends = mover.ratio(one.value, ours, two.value, theirs)
    positive = (ours[0] >= 0) & (theirs[0] >= 0)
    low, high = (np.where(positive, end, np.nan) for end in ends)
    return Interval(low, high, "MOVER")


def of_ratio_by_logs(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """The same by Katz' logarithms, for those who ask.

    Where fewer than five hits or misses are expected the logarithm is not normal, and of one person
    who is a hit it would leave no width at all: there it stays Koopman's.
    """
    found = of_ratio(one, two, alpha)
    if found is None or not (one.binomial and two.binomial):
        return found
    sides = (one.value, one.effective_n, two.value, two.effective_n)
    few = contingency.smallest_expected(*sides) < contingency.EXPECTED
    ends = zip(found[:2], proportions.katz(*sides, alpha), strict=True)
    low, high = (np.where(few, score, log) for score, log in ends)
    return Interval(low, high, "Katz, Koopman where few are expected" if few.any() else "Katz")


def of_log_ratio(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the logarithm of the ratio."""
    found = of_ratio(one, two, alpha)
    if found is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return Interval(np.log(found.low), np.log(found.high), found.method)


def of_odds_ratio(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the ratio of the odds; none where a side may leave 0 to 1."""
    if one.binomial and two.binomial:
        ends = proportions.woolf(one.value, one.effective_n, two.value, two.effective_n, alpha)
        return Interval(*ends, "Woolf, Gart's ½")
    within = one.metric.bounds == two.metric.bounds == (0, 1)
    if one.ends is None or two.ends is None or not within:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        (value, ours), (base, theirs) = (
            (share / (1 - share), (low / (1 - low), high / (1 - high)))
            for share, (low, high) in ((one.value, one.ends(alpha)), (two.value, two.ends(alpha)))
        )
        low, high = mover.ratio(value, ours, base, theirs)
        # Where odds, or their upper bound, are infinite, the ratio is that of the farthest ends.
        open_ = np.isinf(value) | np.isinf(base)
        low = np.where(open_ | np.isinf(theirs[1]), ours[0] / theirs[1], low)
        high = np.where(open_ | np.isinf(ours[1]), ours[1] / theirs[0], high)
    unknown = np.isnan(one.value) | np.isnan(two.value)
    return Interval(
        np.where(unknown, np.nan, low), np.where(unknown, np.nan, high), "MOVER of the odds"
    )


def of_common_odds_ratio(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the odds ratio that strata have in common, by the variance of its logarithm.

    None where it is 0 or infinite: such a logarithm has no variance.
    """
    if one.strata is None or two.strata is None:
        return None
    inner, outer = one.strata, two.strata
    sample = strata.mantel_haenszel(*inner.trials, *outer.trials, alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(
            strata.mantel_haenszel(*inner.weighted_trials, *outer.weighted_trials).odds_ratio
        )
        reach = np.log(sample.odds_high) - np.log(sample.odds_ratio)
        ends = (np.where(np.isfinite(log), np.exp(log + far), np.nan) for far in (-reach, reach))
        low, high = (np.reshape(end, (1, -1)) for end in ends)
    return Interval(low, high, "Robins–Breslow–Greenland")


def of_arcsines(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of Cohen's h: a difference on the arcsine scale."""
    if one.ends is None or two.ends is None:
        return None

    def scaled(share: Floats) -> Floats:
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))))

    ours, theirs = ((scaled(low), scaled(high)) for low, high in (one.ends(alpha), two.ends(alpha)))
    ends = mover.difference(scaled(one.value), ours, scaled(two.value), theirs)
    return Interval(*ends, "MOVER")


def of_standardized(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of a difference in pooled deviations, whose spreads may differ (Bonett 2008).

    Confidence intervals for standardized linear contrasts of means, Psychol Methods 13:99. The
    variance of the deviation is that of normal values.
    """
    if one.deviation is None or two.deviation is None:
        return None
    n, m = one.effective_n, two.effective_n
    with np.errstate(divide="ignore", invalid="ignore"):
        sides = (one.deviation, n), (two.deviation, m)
        first, _ = means.moderated_variance(*sides[0], *sides[1])
        second, _ = means.moderated_variance(*sides[1], *sides[0])
        pooled = (one.deviation + two.deviation) / (n + m - 2)
        value = (one.value - two.value) / np.sqrt(pooled)
        of_mean = (first / n + second / m) / pooled
        of_spread = ((n - 1) * first**2 + (m - 1) * second**2) / (pooled * (n + m - 2)) ** 2
        reach = distributions.normal_critical(alpha) * np.sqrt(of_mean + value**2 * of_spread / 2)
        low, high = (np.where(np.isfinite(value), value + side, np.nan) for side in (-reach, reach))
    return Interval(low, high, "Bonett")


def of_normalized(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of Žliobaitė's δ: the larger of two maps, of the ratio of rates and of that of complements.

    δ is the difference by the largest that the margins allow, by those selected or by those not:
    the smaller of both bounds is the larger δ. Either is monotone in its ratio, so Koopman's ends
    are mapped.
    """
    if one.under is None or two.under is None or not (one.binomial and two.binomial):
        return None
    n, m = (np.asarray(side.under, dtype=np.float64) for side in (one, two))
    sizes = one.effective_n, two.effective_n
    of_hits = proportions.koopman(one.value, sizes[0], two.value, sizes[1], alpha)
    of_misses = proportions.koopman(1 - two.value, sizes[1], 1 - one.value, sizes[0], alpha)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The higher the ratio, the lower δ.
        lows, highs = (
            (_departure(of_hits[end], n, m), _departure(of_misses[end], m, n)) for end in (1, 0)
        )
        plus = (one.value * n + two.value * m) / (n + m)
        varies = (plus > 0) & (plus < 1)
        low, high = (_farther(*ends, least=least) for ends, least in ((lows, True), (highs, False)))
    return Interval(
        np.where(varies, low, np.nan), np.where(varies, high, np.nan), "Koopman, mapped"
    )


def _departure(ratio: Floats, n: Floats, m: Floats) -> Floats:
    """(1 - ratio) of what it can be at most, of n beside m people; it falls with the ratio."""
    found = (1 - ratio) * np.where(ratio <= 1, m, n) / (ratio * n + m)
    return np.asarray(np.where(np.isinf(ratio), -1.0, found))


def _farther(one: Floats, two: Floats, *, least: bool) -> Floats:
    """The one farther from 0; of different signs the smaller, or the larger."""
    pick = np.minimum(one, two) if least else np.maximum(one, two)
    return np.asarray(np.where(one * two < 0, pick, np.where(np.abs(one) > np.abs(two), one, two)))


def of_correlation(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the correlation with membership: that of Cohen's d, mapped; of two shares by gradients."""
    if one.binomial and two.binomial:
        return _of_phi(one, two, alpha)
    found = of_standardized(one, two, alpha)
    if found is None:
        return None
    n, m = one.effective_n, two.effective_n
    between = n * m / (n + m)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (
            end * np.sqrt(between) / np.sqrt(n + m - 2 + end**2 * between) for end in found[:2]
        )
    return Interval(low, high, "Bonett, mapped")


def _of_phi(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """φ of two shares: Wilson's distances, each by how steeply φ depends on that share."""
    if one.ends is None or two.ends is None:
        return None
    p, q, n, m = one.value, two.value, one.effective_n, two.effective_n
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = n / (n + m), m / (n + m)
        plus = a * p + b * q
        varies = plus * (1 - plus)
        root, tilt = np.sqrt(a * b / varies), (p - q) * (1 - 2 * plus) / (2 * varies)
        value, slopes = root * (p - q), (root * (1 - tilt * a), root * (-1 - tilt * b))
        below = above = np.zeros_like(value)
        for slope, side in zip(slopes, (one, two), strict=True):
            assert side.ends is not None
            low, high = side.ends(alpha)
            down, up = side.value - low, high - side.value
            below = below + (slope * np.where(slope > 0, down, up)) ** 2
            above = above + (slope * np.where(slope > 0, up, down)) ** 2
        low, high = value - np.sqrt(below), value + np.sqrt(above)
    return Interval(np.maximum(low, -1.0), np.minimum(high, 1.0), "MOVER by gradients")


def of_ranked_shares(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of ½ + ½ (second - first)."""
    found = of_shortfall(one, two, alpha)
    if found is None:
        return None
    return Interval((1 + found.low) / 2, (1 + found.high) / 2, f"{found.method}, mapped")


def of_itself(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:  # noqa: ARG001  # one side is the answer
    """Of the first value alone."""
    return None if one.ends is None else Interval(*one.ends(alpha), one.method)


def of_coefficient(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:  # noqa: ARG001  # the fit holds both sides
    """Of a coefficient of least squares, by Student's t."""
    if one.fit is None:
        return None
    reach = distributions.t_critical(np.asarray(one.fit.df), alpha) * one.fit.error
    return Interval(one.fit.value - reach, one.fit.value + reach, "Student")


def of_ranked_scores(one: GroupValues, two: GroupValues, alpha: Alpha) -> Interval | None:
    """Of the chance that the second side is ranked higher, by DeLong's variance."""
    if one.scores is None or two.scores is None:
        return None
    value = ranked(two.scores, one.scores)
    theirs, ours = (side.astype(np.float64) for side in (two.scores, one.scores))
    return Interval(*ranks.delong(value, theirs, ours, alpha, moderated=True), "DeLong")


def of_rest_to_overall(found: Interval, share: Floats, *, quotient: bool) -> Interval:
    """The interval against everybody, from that against the rest, by the group's share of both.

    Everybody contains the group: with w its share, a difference to everybody is (1 - w) times that
    to the rest, and a ratio ρ to the rest is ρ / (wρ + 1 - w) to everybody.
    """
    if not quotient:
        low, high = ((1 - share) * end for end in found[:2])
    else:
        with np.errstate(invalid="ignore"):
            low, high = (
                np.where(np.isinf(end), 1 / share, end / (share * end + 1 - share))
                for end in found[:2]
            )
    return Interval(low, high, f"{found.method}, mapped")
