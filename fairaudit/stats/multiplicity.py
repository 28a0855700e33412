"""Corrections for many tests (Holm, Šidák, Tukey); intervals of the largest of many comparisons.

m intervals at the level 1 - (1 - α)^(1/m) hold at the same time with probability 1 - α (Šidák 1967,
doi:10.1080/01621459.1967.10482935). So the largest lower end and the largest upper end are the ends
of an interval of the largest true value. For two groups, this is the usual interval. At such small
levels, score intervals are too narrow for groups with few hits or few misses. These groups have
exact intervals.

k groups have about k² ordered pairs. A group can be in the pair with the largest end only if at
most one other group beats it in both its value and its error (`undominated`). Only the few groups
that meet this condition are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Ints, Marks, map_blocks
from fairaudit.stats import proportions
from fairaudit.stats.distributions import normal_below, normal_critical

_ROUNDED_AWAY = -39.0
"""If the logarithm of a probability is below this, 1 plus the probability is rounded to 1."""

_FEW, _SOME = 1000, 500
"""With more than `_FEW` groups, a sample of `_SOME` groups filters all others before they are
sorted.
"""

_FAR = 1e-6
"""Below this p-value, Bonferroni's bound is as good as the exact distribution."""

_STEP = 0.1
_NODES = np.arange(-50, 111, dtype=np.float64) * _STEP
"""The points of a sum over the normal density. The curve is smooth, so the sum has full precision.
"""


def holm(p: Sequence[float] | Floats) -> Floats:
    """Holm's adjusted p-values: the probability of any false alarm is at most alpha.

    A false alarm is an adjusted p-value below alpha for a true null hypothesis. The procedure steps
    down from the smallest p-value. NaN stays NaN and is not counted as a test. Holm (1979), A
    simple sequentially rejective multiple test procedure, Scand J Stat 6:65.

    >>> [round(number, 6) for number in holm([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p, dtype=np.float64)
    order = _ascending(p)
    remaining = np.arange(order.size, 0, -1)
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * remaining), 1.0)
    return adjusted


def benjamini_hochberg(p: Sequence[float] | Floats) -> Floats:
    """Benjamini & Hochberg's adjusted p-values: the mean share of false alarms is at most alpha.

    False alarms are counted as a share of all adjusted p-values below alpha. The procedure steps up
    from the largest p-value. NaN stays NaN and is not counted as a test. Benjamini & Hochberg
    (1995), Controlling the false discovery rate, JRSS B 57:289.

    >>> [round(number, 6) for number in benjamini_hochberg([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.04, 0.04]
    """
    p = np.asarray(p, dtype=np.float64)
    order = _ascending(p)[::-1]
    scaled = p[order] * (order.size / np.arange(order.size, 0, -1))
    adjusted = np.full_like(p, np.nan)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def _ascending(p: Floats) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    order = np.argsort(p, kind="stable")
    return order[: int(np.count_nonzero(~np.isnan(p)))]


def sidak(p: Alpha, m: float | Floats) -> Floats:
    """The probability 1 - (1 - p)^m that the smallest of `m` independent p-values is below `p`.

    The result is accurate for small p. Šidák (1967), Rectangular confidence regions for the means
    of multivariate normal distributions, JASA 62:626.

    >>> float(sidak(0.01, 3)).__round__(6), float(sidak(1e-20, 3)).__round__(25)
    (0.029701, 3e-20)
    """
    with np.errstate(all="ignore"):
        return np.asarray(-np.expm1(np.multiply(m, np.log1p(np.negative(p)))), dtype=np.float64)


def tukey_kramer(p: float | Floats, groups: int | Ints) -> Floats:
    """The probability that the smallest two-sided p-value over all pairs of `groups` is below `p`.

    The probability is computed from the studentized range. It is exact for normal means of equal
    variance, and an upper bound for groups of different sizes. Bonferroni's p-value is used instead
    if it is smaller, or if it is tiny. Tukey (1953), The problem of multiple comparisons; Kramer
    (1956), Biometrics 12:307; Hayter (1984), Ann Stat 12:61.

    >>> [round(float(tukey_kramer(p, 3)), 4) for p in (0.0192, 1e-20)]
    [0.0503, 0.0]
    """
    p, k = np.broadcast_arrays(np.minimum(np.asarray(p, dtype=np.float64), 1.0), groups)
    pairs = k * (k - 1) / 2
    with np.errstate(all="ignore"):
        result = np.array(np.minimum(p * np.maximum(pairs, 1), 1.0))
        near = np.array((result > _FAR) & (pairs > 1))
        if near.any():
            z, m = np.asarray(normal_critical(p[near])), k[near]
            # For all other p, both this probability and Bonferroni's p-value are rounded to 1.
            most = np.log(m) + (m - 1) * np.log1p(-2 * normal_below(-z / np.sqrt(2)))
            near[near], z = most > _ROUNDED_AWAY, z[most > _ROUNDED_AWAY]
            # The probability that the range of the values is above a width is a sum over positions
            # of the highest value: the density at the position, times the probability that not all
            # other values are within the width. All terms are positive, so a small probability
            # keeps all digits.
            width, others = np.sqrt(2) * z[:, None], k[near].astype(np.float64)[:, None] - 1
            density = np.exp(-np.square(_NODES) / 2) / np.sqrt(2 * np.pi) * _STEP
            below = normal_below(_NODES)
            beyond = normal_below(_NODES - width) / below
            terms = density * below**others * -np.expm1(others * np.log1p(-beyond))
            result[near] = np.minimum(result[near], k[near] * terms.sum(axis=1))
    return np.asarray(result)


def sidak_level(alpha: Alpha, m: float | Floats) -> Floats:
    """The level 1 - (1 - alpha)^(1/m) for `m` comparisons with the joint error rate `alpha`.

    The result is accurate for large m, and NaN if m is 0. Šidák (1967), as in `sidak`.

    >>> float(sidak_level(0.05, 1)).__round__(6), float(sidak_level(0.05, 1e9)).__round__(15)
    (0.05, 5.1293e-11)
    """
    with np.errstate(all="ignore"):
        return sidak(alpha, np.where(np.greater(m, 0), np.divide(1, m), np.nan))


def largest_difference(
    value: Floats, ends: Ends, among: Marks, size: Floats | None = None, alpha: float = 0.05
) -> tuple[float, float]:
    """The interval of the largest `value[i] - value[j]` over ordered pairs of the groups [G].

    `among` marks the compared groups. MOVER computes the interval from the `ends` of each value;
    the result is NaN if an end of a marked group is unknown. If `size` is given, the values are
    shares, and the upper end is at least the bound of `_split_gap`.
    """
    members = np.flatnonzero(among)
    p, low, high = value[members], ends[0][members], ends[1][members]
    if len(members) < 2 or np.isnan(low).any() or np.isnan(high).any():
        return np.nan, np.nan
    down, up = p - low, high - p
    i, j = _crossed(undominated(p, -down), undominated(-p, -up))
    lowest = p[i] - p[j] - np.hypot(down[i], up[j])
    k, m = _crossed(undominated(p, up), undominated(-p, down))
    highest = p[k] - p[m] + np.hypot(up[k], down[m])
    if size is not None:
        n = size[members]
        k, m = _crossed(undominated(p, -n), undominated(-p, -n))
        highest = np.append(highest, _split_gap((p[k], n[k]), (p[m], n[m]), alpha))
    return float(lowest.max()), float(highest.max())


def _split_gap(top: proportions.Sample, bottom: proportions.Sample, alpha: float) -> Floats:
    """The upper bounds of `top - bottom` by `split_tails`; -∞ unless one side has few errors.

    Errors are the misses of the top group and the hits of the bottom group.
    """
    limit, (p, n), (q, m) = proportions.far_hits(alpha, over_pairs=True), top, bottom
    few = ((1 - p) * n < limit) | (q * m < limit)
    if not few.any():
        return np.array(-np.inf)
    own, other = proportions.split_pair(top, bottom, alpha)
    return np.where(few, (own[1] - other[0]).max(axis=0), -np.inf)


def smallest_ratio(
    share: Floats,
    size: Floats,
    among: Marks,
    alpha: float,
    drawn_in: tuple[Floats, Floats] | None = None,
) -> tuple[float, float]:
    """The interval of the smallest `share[i] / share[j]` over ordered pairs of the groups [G].

    Each pair has Koopman's interval at the level `alpha`. If any group has few hits or misses, or
    if shares are smoothed, all pairs have MOVER's interval instead. `drawn_in` contains an offset
    and a factor: a smoothed share is offset + factor * share. None if shares are not
    smoothed. The result is NaN if the share of a group that `among` marks is unknown.
    """
    members = np.flatnonzero(among)
    p, n = share[members], size[members]
    if len(members) < 2 or np.isnan(p).any():
        return np.nan, np.nan
    if drawn_in is None and not proportions.mark_few(p, n, alpha, over_pairs=True).any():
        i, j = _crossed(undominated(-p, -n), undominated(p, -n))
        k, m = _crossed(undominated(-p, n), undominated(p, n))
        # One call for both ends takes less time than two calls.
        first, second = np.concatenate([j, k]), np.concatenate([i, m])
        highs = proportions.koopman_high(p[first], n[first], p[second], n[second], alpha)
        return 1 / float(highs[: len(i)].max()), float(highs[len(i) :].min())
    ends = proportions.share_interval(p, n, alpha, over_pairs=True)
    plus, times = (0.0, 1.0) if drawn_in is None else (array[members] for array in drawn_in)
    p, low, high = (plus + times * array for array in (p, *ends))
    return smallest_mover_ratio(p, (low, high))


def smallest_mover_ratio(value: Floats, ends: Ends) -> tuple[float, float]:
    """The interval of the smallest `value[i] / value[j]` over ordered pairs of the groups [G].

    MOVER computes the interval from the `ends` of each value: NaN if an end is unknown or negative.
    """
    low, high = ends
    if len(value) < 2 or not (low >= 0).all() or np.isnan(high).any():
        return np.nan, np.nan
    down, up = value - low, high - value
    i, j = _crossed(undominated(-value, down), undominated(value, up))
    lows = proportions.mover_lower_ratio(value[i], low[i], value[j], high[j])
    i, j = _crossed(undominated(-value, -up), undominated(value, -down))
    highs = proportions.mover_upper_ratio(value[i], high[i], value[j], low[j])
    return float(lows.min()), float(highs.min())


def difference_to_highest(
    value: Floats, ends: Ends, among: Marks, size: Floats | None = None, alpha: float = 0.05
) -> Ends:
    """The interval of each value [G] minus the highest value of all other groups.

    Because it is unknown which group is truly the highest, each end is the smallest end of the
    differences to all other groups. `size` has the same meaning as in `largest_difference`.
    """
    members, (low, high) = np.flatnonzero(among), ends
    result = np.full((2, len(value)), np.nan)
    if len(members) < 2:
        return result[0], result[1]
    p, down, up = value[members], value[members] - low[members], high[members] - value[members]
    for side, other_reach, sign, own_reach in ((0, up, -1, down), (1, down, 1, up)):
        rivals = undominated(p, other_reach if side == 0 else -other_reach)
        reach = np.hypot(own_reach[:, None], other_reach[None, rivals])
        apart = p[:, None] - p[None, rivals] + sign * reach
        apart[np.arange(len(members))[:, None] == rivals[None, :]] = np.inf
        result[side, members] = apart.min(axis=1)
    if size is not None:
        n = size[members]
        rivals = undominated(p, -n)
        far = _split_gap((p[None, rivals], n[None, rivals]), (p[:, None], n[:, None]), alpha)
        far = np.where(np.arange(len(p))[:, None] == rivals, np.inf, -far)
        result[0, members] = np.minimum(result[0, members], far.min(axis=1))
    return result[0], result[1]


def ratio_to_extreme(
    value: Floats,
    size: Floats,
    among: Marks,
    alpha: float,
    ends: Ends | None = None,
    *,
    lowest: bool,
) -> Ends:
    """The interval of each value [G] divided by the value of the highest or `lowest` group.

    Each end is the smallest end (for the lowest group: the largest) of the ratios to all other
    groups. The methods are the same as in `smallest_ratio`, or as in `smallest_mover_ratio` if the
    `ends` of the values are given.
    """
    way = -1 if lowest else 1
    members = np.flatnonzero(among)
    result = np.full((2, len(value)), np.nan)
    if len(members) < 2:
        return result[0], result[1]
    p, n = value[members], size[members]
    if ends is None:
        low, high = proportions.share_interval(p, n, alpha, over_pairs=True)
        by_mover = bool(proportions.mark_few(p, n, alpha, over_pairs=True).any())
    else:
        low, high = (end[members] for end in ends)
        by_mover = True
        if not (low >= 0).all() or np.isnan(high).any():
            return result[0], result[1]
    widths = ((0, high - p), (1, low - p)) if by_mover else ((0, -n), (1, n))
    mover = (proportions.mover_lower_ratio, low, high), (proportions.mover_upper_ratio, high, low)
    approximate = proportions.koopman_low, proportions.koopman_high

    def find_extreme(own: Ints, rivals: Ints, side: int) -> Floats:
        other = rivals[:, None]
        if by_mover:
            find, end, other_end = mover[side]
            found = find(p[own], end[own], p[other], other_end[other])
        else:
            found = approximate[side](p[own], n[own], p[other], n[other], alpha)
        return np.asarray(np.where(own == other, np.inf, way * found).min(axis=0))

    for side, rival_reach in widths:
        first, second = _find_fronts(way * p, way * rival_reach)
        extreme = partial(find_extreme, rivals=first, side=side)
        apart = np.array(map_blocks(extreme, np.arange(len(p)), width=len(first)))
        # A group is not compared with itself, so its rival may be in the second front.
        apart[first] = find_extreme(first, np.concatenate([first, second]), side)
        result[side, members] = way * apart
    return result[0], result[1]


def undominated(first: Floats, second: Floats) -> Ints:
    """The indices of the groups in the first two Pareto fronts.

    A group beats another group if it is higher in both `first` and `second`. The first front
    contains the groups that no group beats. The second front contains the groups that are beaten
    only by groups of the first front. The second front is needed because the pair with the largest
    end may consist of a group and the only group that beats it.
    """
    return np.concatenate(_find_fronts(first, second))


def _find_fronts(first: Floats, second: Floats) -> tuple[Ints, Ints]:
    if len(first) <= _FEW:
        return _sort_fronts(first, second)
    some = np.arange(0, len(first), len(first) // _SOME)
    # Groups in `beaten` are beaten, so a group that one of them beats is in neither front.
    beaten = some[_sort_fronts(first[some], second[some])[1]]
    last = np.searchsorted(-first[beaten], -first, side="right") - 1
    reached = np.append(second[beaten], -np.inf)[last]
    marks = second >= reached
    # Only the first two of several equal groups are in the fronts.
    tied = np.flatnonzero(second == reached)
    rival = beaten[last[tied]]
    marks[tied[(first[tied] < first[rival]) | (tied > rival)]] = False
    kept = np.flatnonzero(marks)
    fronts = _sort_fronts(first[kept], second[kept])
    return kept[fronts[0]], kept[fronts[1]]


def _sort_fronts(first: Floats, second: Floats) -> tuple[Ints, Ints]:
    order = np.lexsort((-second, -first))
    fronts = []
    for _ in range(2):
        best = np.maximum.accumulate(second[order])
        ahead = np.concatenate([[True], best[1:] > best[:-1]])[: len(order)]
        fronts.append(order[ahead])
        order = order[~ahead]
    return fronts[0], fronts[1]


def _crossed(first: Ints, second: Ints) -> tuple[Ints, Ints]:
    """All ordered pairs of a group in `first` and a different group in `second`."""
    i, j = np.repeat(first, len(second)), np.tile(second, len(first))
    apart = i != j
    return i[apart], j[apart]
