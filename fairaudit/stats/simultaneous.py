"""Intervals of a maximum over pairs of groups, without looking at every pair.

With m comparisons each at 1 - (1 - α)^(1/m) all their intervals hold together with probability
1 - α (Šidák 1967, doi:10.1080/01621459.1967.10482935), so the largest lower end and the largest
upper end bound the largest true value: for two groups it is the usual interval, and for any number
of equal ones it contains parity. Each interval then looks far out in its tail, where score bounds
are too close if hits or misses are few: those groups have exact ones. Of k² pairs only those can
have the largest end whose sides no other group beats in both value and reach, and these are few.
"""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Ends, Floats, Ints, Marks
from fairaudit.stats import mover, proportions


def pairs(groups: int) -> int:
    """How many pairs so many groups make."""
    return groups * (groups - 1) // 2


def largest_difference(value: Floats, ends: Ends, among: Marks) -> tuple[float, float]:
    """The largest lower and upper end of `value[i] - value[j]` over ordered pairs of [G] groups.

    By MOVER, from the `ends` of each value; NaN where one that counts is not known.
    """
    at = np.flatnonzero(among)
    p, low, high = value[at], ends[0][at], ends[1][at]
    if len(at) < 2 or np.isnan(low).any() or np.isnan(high).any():
        return np.nan, np.nan
    down, up = p - low, high - p
    i, j = _crossed(unbeaten(p, -down), unbeaten(-p, -up))
    lowest = p[i] - p[j] - np.hypot(down[i], up[j])
    k, m = _crossed(unbeaten(p, up), unbeaten(-p, down))
    highest = p[k] - p[m] + np.hypot(up[k], down[m])
    return float(lowest.max()), float(highest.max())


def smallest_ratio(
    share: Floats, size: Floats, among: Marks, alpha: float, *, alone: bool = False
) -> tuple[float, float]:
    """The smallest lower and upper end of `share[i] / share[j]` over ordered pairs of [G] groups.

    Each at `alpha`, by Koopman's interval; where hits or misses are few, by MOVER of exact ones,
    unless the pair stands `alone`. NaN where a share that counts is not known.
    """
    at = np.flatnonzero(among)
    p, n = share[at], size[at]
    if len(at) < 2 or np.isnan(p).any():
        return np.nan, np.nan
    low, high, few = proportions.far_out(p, n, alpha)
    if alone or not few.any():
        i, j = _crossed(unbeaten(-p, -n), unbeaten(p, -n))
        ends, _ = proportions.koopman(p[i], n[i], p[j], n[j], alpha)
        k, m = _crossed(unbeaten(-p, n), unbeaten(p, n))
        _, tops = proportions.koopman(p[k], n[k], p[m], n[m], alpha)
        return float(ends.min()), float(tops.min())
    return _smallest_by_ends(p, low, high)


def smallest_smoothed_ratio(
    share: Floats, size: Floats, among: Marks, alpha: float, drawn_in: tuple[Floats, Floats]
) -> tuple[float, float]:
    """The same of shares that pseudo-counts draw in, by MOVER: `drawn_in` adds, and multiplies."""
    at = np.flatnonzero(among)
    if len(at) < 2 or np.isnan(share[at]).any():
        return np.nan, np.nan
    plus, times = (one[at] for one in drawn_in)
    low, high, _ = proportions.far_out(share[at], size[at], alpha)
    return _smallest_by_ends(*(plus + times * one for one in (share[at], low, high)))


def _smallest_by_ends(p: Floats, low: Floats, high: Floats) -> tuple[float, float]:
    """The smallest ends of a ratio over ordered pairs, from the ends of each share."""
    down, up = p - low, high - p
    i, j = _crossed(unbeaten(-p, down), unbeaten(p, up))
    ends, _ = mover.ratio(p[i], (low[i], high[i]), p[j], (low[j], high[j]))
    k, m = _crossed(unbeaten(-p, -up), unbeaten(p, -down))
    _, tops = mover.ratio(p[k], (low[k], high[k]), p[m], (low[m], high[m]))
    return float(ends.min()), float(tops.min())


def difference_to_highest(value: Floats, ends: Ends, among: Marks) -> Ends:
    """The smallest lower and upper end of each value less any other group's, [G].

    They bound the difference to the highest of all, whichever that is.
    """
    at, (low, high) = np.flatnonzero(among), ends
    found = np.full((2, len(value)), np.nan)
    if len(at) < 2:
        return found[0], found[1]
    p, down, up = value[at], value[at] - low[at], high[at] - value[at]
    for side, theirs, sign, ours in ((0, up, -1, down), (1, down, 1, up)):
        rivals = unbeaten(p, theirs if side == 0 else -theirs)
        reach = np.hypot(ours[:, None], theirs[None, rivals])
        apart = p[:, None] - p[None, rivals] + sign * reach
        apart[np.arange(len(at))[:, None] == rivals[None, :]] = np.inf
        found[side, at] = apart.min(axis=1)
    return found[0], found[1]


def ratio_to_highest(share: Floats, size: Floats, among: Marks, alpha: float) -> Ends:
    """The smallest lower and upper end of each share divided by any other group's, [G]."""
    return _ratio_to_others(share, size, among, alpha, 1)


def ratio_to_lowest(share: Floats, size: Floats, among: Marks, alpha: float) -> Ends:
    """The largest lower and upper end of each share divided by any other group's, [G]."""
    return _ratio_to_others(share, size, among, alpha, -1)


def _ratio_to_others(share: Floats, size: Floats, among: Marks, alpha: float, way: int) -> Ends:
    """The smallest ends where the way is 1, the largest where it is -1; as in `smallest_ratio`."""
    at = np.flatnonzero(among)
    found = np.full((2, len(share)), np.nan)
    if len(at) < 2:
        return found[0], found[1]
    p, n = share[at], size[at]
    low, high, few = proportions.far_out(p, n, alpha)
    exactly = len(at) > 2 and bool(few.any())
    widths = ((0, high - p), (1, low - p)) if exactly else ((0, -n), (1, n))
    for side, theirs in widths:
        rivals = unbeaten(way * p, way * theirs)
        one, two = p[:, None], p[None, rivals]
        if exactly:
            mine = low[:, None], high[:, None]
            ends = mover.ratio(one, mine, two, (low[None, rivals], high[None, rivals]))
        else:
            ends = proportions.koopman(one, n[:, None], two, n[None, rivals], alpha)
        apart = way * np.asarray(ends[side])
        apart[np.arange(len(at))[:, None] == rivals[None, :]] = np.inf
        found[side, at] = way * apart.min(axis=1)
    return found[0], found[1]


def unbeaten(first: Floats, second: Floats) -> Ints:
    """Who is not beaten in both numbers by two others: the first two Pareto fronts.

    Two, since the one who beats a group may stand on the other side of its pair.
    """
    order = np.lexsort((-second, -first))
    found = []
    for _ in range(2):
        if not len(order):
            break
        best = np.maximum.accumulate(second[order])
        ahead = np.concatenate([[True], second[order][1:] > best[:-1]])
        found.append(order[ahead])
        order = order[~ahead]
    return np.concatenate(found)


def _crossed(one: Ints, two: Ints) -> tuple[Ints, Ints]:
    """Every ordered pair of two different groups."""
    i, j = (grid.ravel() for grid in np.meshgrid(one, two, indexing="ij"))
    apart = i != j
    return i[apart], j[apart]
