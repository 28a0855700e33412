"""Simultaneous intervals over all pairs: of spreads, and of comparisons with an extreme group.

A maximum over pairs has the largest bounds of the intervals of all pairs, so that chance alone does
not separate equal groups; so has a comparison with the highest or lowest group, chosen by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks
from fairaudit.base.frozen import memoize
from fairaudit.evidence import clustered_inference as clusters
from fairaudit.evidence.records import EXTREME_IS_CHOSEN, NoInterval
from fairaudit.metrics import Comparison, Disparity, Evaluation, GroupValues
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.pair_intervals import Interval, Scale
from fairaudit.stats import multiplicity, proportions

SIMULTANEOUS = "simultaneous over pairs"
_OF_PAIRS = {Scale.DIFFERENCE, Scale.RATIO}
"""The scales on which all pairs of groups have simultaneous intervals."""


def has_extreme_interval(disparity: Disparity) -> bool:
    """Whether its interval accounts for an extreme group that is chosen from the same data."""
    return len(disparity.parts) == 1 and disparity.comparison.scale in _OF_PAIRS


def find_spread_interval(
    evaluation: Evaluation, values: GroupValues, comparison: Comparison, alpha: Alpha, parts: int
) -> Interval:
    """The interval of the largest difference, or the smallest ratio, over all pairs of groups.

    With several `parts`, the intervals of all parts hold simultaneously.
    """
    if comparison.scale not in _OF_PAIRS:
        raise NoInterval(EXTREME_IS_CHOSEN)
    among = evaluation.takes_part
    adjusted = clusters.adjust_for_pairs(values, among)
    if adjusted.ends is None:
        raise NoInterval(adjusted.metric.no_interval)
    is_ratio = comparison.scale is Scale.RATIO
    if isinstance(alpha, float):
        interval = _find_once(adjusted, among.tobytes(), alpha, parts, is_ratio=is_ratio)
    else:
        interval = _find_among(adjusted, among, alpha, parts, is_ratio=is_ratio)
    interval = _name_clusters(interval, values)
    is_pair = clusters.has_two_groups(evaluation)
    if values.clustered is None or not is_pair.any():
        return comparison.rescale(interval)
    pair = clusters.find_spread_pair(evaluation, values)
    level = _per_pair(among, alpha, parts)[:, None]
    of_pair = comparison.unscale_interval(clusters.find_pair_interval(comparison, pair, level))
    low, high = of_pair.low[:, :1], of_pair.high[:, :1]
    ends = (low, np.minimum(high, 1.0)) if is_ratio else (np.maximum(low, 0.0), high)
    low, high = (
        np.where(is_pair, *sides) for sides in zip(ends, (interval.low, interval.high), strict=True)
    )
    method = of_pair.method if is_pair.all() else interval.method
    return comparison.rescale(Interval(low, high, method))


@memoize
def _find_once(
    values: GroupValues, among: bytes, alpha: float, parts: int, *, is_ratio: bool
) -> Interval:
    """Cached, because several metrics use the same rates."""
    marks = np.frombuffer(among, dtype=np.bool_).reshape(values.value.shape)
    return _find_among(values, marks, alpha, parts, is_ratio=is_ratio)


def _find_among(
    values: GroupValues, among: Marks, alpha: Alpha, parts: int, *, is_ratio: bool
) -> Interval:
    assert values.ends is not None
    level = _per_pair(among, alpha, parts)
    if is_ratio and values.binomial:
        alone = (among.sum(axis=1) == 2) & (parts == 1)
        low_bounds, high_bounds, few = _find_tail_bounds(values, *level.tolist())
        low, high = _columns([
            multiplicity.smallest_ratios(
                values.value[z, None], values.effective_n[z], among[z], float(level[z]),
                (low_bounds[z, None], high_bounds[z, None], few[z, None]), alone=bool(alone[z]),
            )[0]
            for z in range(len(among))
        ])  # fmt: skip
        return Interval(low, np.minimum(high, 1.0), f"Koopman, {SIMULTANEOUS}")
    if is_ratio:
        # Each value is between its bounds.
        ends = values.ends(_per_group(among, alpha, parts))
        unknown = (among & np.isnan(ends[0])).any(axis=1, keepdims=True)
        smallest = [np.where(among, end, np.inf).min(axis=1, keepdims=True) for end in ends]
        largest = [np.where(among, end, -np.inf).max(axis=1, keepdims=True) for end in ends]
        positive = (smallest[0] >= 0) & ~unknown
        low = np.where(positive, smallest[0] / largest[1], np.nan)
        high = np.where(positive, smallest[1] / largest[0], np.nan)
        return Interval(low, np.minimum(high, 1.0), f"{values.method}, {SIMULTANEOUS}")
    ends = _find_group_ends(values, level[:, None], among, parts)
    low, high = _columns([
        multiplicity.largest_difference(value, (low, high), groups)
        for value, low, high, groups in zip(values.value, *ends, among, strict=True)
    ])  # fmt: skip
    return Interval(np.maximum(low, 0.0), np.maximum(high, 0.0), _name_difference(values))


def _find_group_ends(values: GroupValues, alpha: Floats, among: Marks, parts: int) -> Ends:
    """The bounds of each value, [Z, G], such that those of many pairs hold simultaneously.

    Far in the tail, shares of few hits or misses have exact bounds; a single pair is not in the
    tail.
    """
    assert values.ends is not None
    if not values.binomial:
        return values.ends(alpha)
    low, high, _ = _find_tail_bounds(values, *alpha[:, 0].tolist())
    alone = (among.sum(axis=1, keepdims=True) <= 2) & (parts == 1)
    if not alone.any():
        return low, high
    ends = values.ends(alpha)
    return np.where(alone, ends[0], low), np.where(alone, ends[1], high)


@memoize
def _find_tail_bounds(values: GroupValues, *levels: float) -> tuple[Floats, Floats, Marks]:
    """The bounds of each share, at the level of its stratum: for differences, and for ratios."""
    return proportions.tail_bounds(values.value, values.effective_n, np.array(levels)[:, None])


def _name_difference(values: GroupValues) -> str:
    return f"{'Newcombe' if values.binomial else 'MOVER'}, {SIMULTANEOUS}"


def _per_pair(among: Marks, alpha: Alpha, parts: int = 1) -> Floats:
    """The α of each pair, [Z], so that all pairs of all parts hold simultaneously."""
    count = np.array([max(parts * multiplicity.count_pairs(int(k)), 1) for k in among.sum(axis=1)])
    of_stratum = np.broadcast_to(alpha, (len(among), 1))[:, 0]
    return np.asarray(multiplicity.sidak_level(of_stratum, count.astype(np.float64)))


def _per_group(among: Marks, alpha: Alpha, parts: int = 1) -> Floats:
    """The α of each group, [Z, 1], so that all groups of all parts hold simultaneously."""
    count = np.maximum(parts * among.sum(axis=1, keepdims=True), 1).astype(np.float64)
    return np.asarray(multiplicity.sidak_level(alpha, count))


def _columns(rows: Sequence[tuple[float, float]]) -> Ends:
    ends = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return ends[:, :1], ends[:, 1:]


def find_extreme_interval(
    evaluation: Evaluation,
    values: GroupValues,
    comparison: Comparison,
    alpha: Alpha,
    *,
    lowest: bool,
) -> Interval:
    """The interval to the highest (or lowest) group, simultaneous for all groups."""
    if comparison.scale not in _OF_PAIRS:
        raise NoInterval(EXTREME_IS_CHOSEN)
    among = evaluation.takes_part
    values = clusters.adjust_for_pairs(values, among)
    if values.ends is None:
        raise NoInterval(values.metric.no_interval)
    is_ratio = comparison.scale is Scale.RATIO
    find = _find_ratio_to_extreme if is_ratio else _find_difference_to_extreme
    interval = find(values, among, alpha, lowest=lowest)
    return comparison.rescale(_name_clusters(interval, values))


def _name_clusters(interval: Interval, values: GroupValues) -> Interval:
    """The interval, with a name that shows whether its variance is that of clusters."""
    if values.clustered is None:
        return interval
    return interval._replace(method=f"{interval.method}, {CLUSTER_ROBUST}")


def _find_ratio_to_extreme(
    values: GroupValues, among: Marks, alpha: Alpha, *, lowest: bool
) -> Interval:
    level = _per_pair(among, alpha)
    if values.binomial:
        strata = zip(values.value, values.effective_n, among, level.tolist(), strict=True)
        ends = [multiplicity.ratio_to_extreme(*stratum, lowest=lowest) for stratum in strata]
        low, high = map(np.stack, zip(*ends, strict=True))
        interval = Interval(low, high, f"Koopman, {SIMULTANEOUS}")
        return keep_within_reach(interval, 1.0, lowest=lowest)
    assert values.ends is not None
    low, high = values.ends(_per_group(among, alpha))
    # Each value is between its bounds.
    fill, pick = (np.inf, np.min) if lowest else (-np.inf, np.max)
    extreme = [pick(np.where(among, end, fill), axis=1, keepdims=True) for end in (low, high)]
    # Negative bounds have no ratio.
    positive = (low >= 0) & (extreme[0] >= 0)
    low, high = (np.where(positive, end, np.nan) for end in (low / extreme[1], high / extreme[0]))
    interval = Interval(low, high, f"{values.method}, {SIMULTANEOUS}")
    return keep_within_reach(interval, 1.0, lowest=lowest)


def _find_difference_to_extreme(
    values: GroupValues, among: Marks, alpha: Alpha, *, lowest: bool
) -> Interval:
    level = _per_pair(among, alpha)
    ends, value = _find_group_ends(values, level[:, None], among, 1), values.value
    if lowest:
        ends, value = (-ends[1], -ends[0]), -value
    rows = [
        multiplicity.difference_to_highest(row, (low, high), groups)
        for row, low, high, groups in zip(value, *ends, among, strict=True)
    ]
    low, high = (np.minimum(np.stack(end), 0.0) for end in zip(*rows, strict=True))
    interval = Interval(low, high, _name_difference(values))
    return interval.turned() if lowest else interval


def keep_within_reach(interval: Interval, ideal: float, *, lowest: bool) -> Interval:
    """The interval to an extreme group, cut at the extreme: no group is beyond it."""
    if lowest:
        return interval._replace(low=np.maximum(interval.low, ideal))
    return interval._replace(high=np.minimum(interval.high, ideal))
