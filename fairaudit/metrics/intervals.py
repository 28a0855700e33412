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
from fairaudit.metrics.quantities import Reading
from fairaudit.stats import means, mover, normal, proportions, ranks


class Interval(NamedTuple):
    """The ends of each interval, arrays of one shape, and the way they were found."""

    low: Floats
    high: Floats
    method: str

    def turned(self) -> Interval:
        """The interval of the opposite number."""
        return Interval(-self.high, -self.low, self.method)


def of_difference(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the first value minus the second."""
    if one.deviation is not None and two.deviation is not None and not one.binomial:
        sides = (one.value, one.deviation, one.size, two.value, two.deviation, two.size)
        return Interval(*means.welch(*sides, alpha), "Welch")
    if one.ends is None or two.ends is None:
        return None
    ends = mover.difference(one.value, one.ends(alpha), two.value, two.ends(alpha))
    return Interval(*ends, "Newcombe" if one.binomial and two.binomial else "MOVER")


def of_shortfall(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the second value minus the first."""
    found = of_difference(one, two, alpha)
    return None if found is None else found.turned()


def of_ratio(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the first value divided by the second; none where a side may be negative."""
    if one.binomial and two.binomial:
        ends = proportions.koopman(one.value, one.size, two.value, two.size, alpha)
        return Interval(*ends, "Koopman")
    if one.odds is not None and two.odds is not None:
        ends = proportions.woolf(one.odds, one.size, two.odds, two.size, alpha)
        return Interval(*ends, "Woolf, Gart's ½")
    if one.ends is None or two.ends is None:
        return None
    ours, theirs = one.ends(alpha), two.ends(alpha)
    ends = mover.ratio(one.value, ours, two.value, theirs)
    positive = (ours[0] >= 0) & (theirs[0] >= 0)
    low, high = (np.where(positive, end, np.nan) for end in ends)
    return Interval(low, high, "MOVER")


def of_ratio_by_logs(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """The same by Katz' logarithms, for those who ask."""
    if one.binomial and two.binomial:
        ends = proportions.katz(one.value, one.size, two.value, two.size, alpha)
        return Interval(*ends, "Katz")
    return of_ratio(one, two, alpha)


def of_log_ratio(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the logarithm of the ratio."""
    found = of_ratio(one, two, alpha)
    if found is None:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        return Interval(np.log(found.low), np.log(found.high), found.method)


def of_odds_ratio(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the ratio of the odds."""
    if not (one.binomial and two.binomial):
        return None
    ends = proportions.woolf(one.value, one.size, two.value, two.size, alpha)
    return Interval(*ends, "Woolf, Gart's ½")


def of_arcsines(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of Cohen's h: a difference on the arcsine scale."""
    if one.ends is None or two.ends is None:
        return None

    def scaled(share: Floats) -> Floats:
        return np.asarray(2 * np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))))

    ours, theirs = ((scaled(low), scaled(high)) for low, high in (one.ends(alpha), two.ends(alpha)))
    ends = mover.difference(scaled(one.value), ours, scaled(two.value), theirs)
    return Interval(*ends, "MOVER")


def of_standardized(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of a difference in pooled deviations: the large-sample variance of Hedges & Olkin (1985)."""
    if one.deviation is None or two.deviation is None:
        return None
    n, m = one.size, two.size
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = np.sqrt((one.deviation + two.deviation) / (n + m - 2))
        value = (one.value - two.value) / pooled
        reach = normal.critical(alpha) * np.sqrt((n + m) / (n * m) + value**2 / (2 * (n + m)))
        low, high = (np.where(np.isfinite(value), value + side, np.nan) for side in (-reach, reach))
    return Interval(low, high, "Hedges–Olkin")


def of_normalized(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of Žliobaitė's δ: the ends of the difference, by the largest that these margins allow."""
    found = of_shortfall(one, two, alpha)
    if found is None or one.under is None or two.under is None:
        return None
    n, m = one.under, two.under
    with np.errstate(divide="ignore", invalid="ignore"):
        plus, share = (one.value * n + two.value * m) / (n + m), m / (n + m)
        up = np.minimum(plus / share, (1 - plus) / (1 - share))
        down = np.minimum(plus / (1 - share), (1 - plus) / share)

        def normalized(difference: Floats) -> Floats:
            of_most = difference / np.where(difference > 0, up, down)
            return np.where(difference == 0, 0.0, np.clip(of_most, -1.0, 1.0))

        varies = (plus > 0) & (plus < 1)
        low, high = (np.where(varies, normalized(end), np.nan) for end in found[:2])
    return Interval(low, high, f"{found.method}, mapped")


def of_correlation(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the correlation with membership: the ends of the difference, with what varies within."""
    found = of_difference(one, two, alpha)
    if found is None or one.deviation is None or two.deviation is None:
        return None
    between = one.size * two.size / (one.size + two.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        if one.binomial:
            # The total of a share is that of its margin, however the groups differ.
            total = one.deviation + two.deviation + (one.value - two.value) ** 2 * between
            low, high = (np.clip(end * np.sqrt(between / total), -1, 1) for end in found[:2])
        else:
            within = one.deviation + two.deviation
            low, high = (end * np.sqrt(between / (within + end**2 * between)) for end in found[:2])
    return Interval(low, high, f"{found.method}, mapped")


def of_ranked_shares(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of ½ + ½ (second - first)."""
    found = of_shortfall(one, two, alpha)
    if found is None:
        return None
    return Interval((1 + found.low) / 2, (1 + found.high) / 2, f"{found.method}, mapped")


def of_itself(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:  # noqa: ARG001  # one side is the answer
    """Of the first value alone."""
    return None if one.ends is None else Interval(*one.ends(alpha), one.method)


def of_coefficient(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:  # noqa: ARG001  # the fit holds both sides
    """Of a coefficient of least squares, by Student's t."""
    if one.fit is None:
        return None
    reach = means.critical(np.asarray(one.fit.df), alpha) * one.fit.error
    return Interval(one.fit.value - reach, one.fit.value + reach, "Student")


def of_ranked_scores(one: Reading, two: Reading, alpha: Alpha) -> Interval | None:
    """Of the chance that the second side is ranked higher, by DeLong's variance."""
    if one.scores is None or two.scores is None:
        return None
    value = ranked(two.scores, one.scores)
    theirs, ours = (side.astype(np.float64) for side in (two.scores, one.scores))
    variance = ranks.delong_variance(theirs, ours)
    with np.errstate(invalid="ignore"):
        reach = normal.critical(alpha) * np.sqrt(np.where(variance > 0, variance, np.nan))
        return Interval(np.maximum(value - reach, 0), np.minimum(value + reach, 1), "DeLong")


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
