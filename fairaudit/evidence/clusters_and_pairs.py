"""Intervals and tests of shares in clusters (`cluster:`); simultaneous intervals over all pairs.

The largest gap over pairs is chosen from the data, and so is the highest or lowest group. So the
intervals of such gaps are made from simultaneous intervals of all pairs; otherwise chance alone
would often separate equal groups.

With clusters, as with survey weights, a share has an effective sample size. The shares of two
groups in the same clusters are correlated. The interval and test of a single pair use this
correlation. For several pairs, only negative correlations are used: they make differences less
certain.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks
from fairaudit.base.frozen import memoize, replace
from fairaudit.evidence.records import EXTREME_IS_CHOSEN, NO_CLUSTER_VARIANCE, NoInterval
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    Mean,
    Rate,
    build_disparity,
    evaluate,
)
from fairaudit.metrics.comparisons import GAP
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.pair_intervals import Interval, Scale, of_scale
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.terms import DEFAULT_INFERENCE, NO_PARAMETERS
from fairaudit.stats import contingency, distributions, multiplicity, proportions
from fairaudit.stats.proportions import GAP_INTERVAL, RATIO_INTERVAL

Pair: TypeAlias = tuple[GroupValues, GroupValues]


def is_clustered(evaluation: Evaluation) -> bool:
    """Whether the rows of an evaluation are in clusters."""
    return any(
        table is not None and table.clusters is not None
        for table in (evaluation.table, evaluation.strata)
    )


def is_clustered_pair(evaluation: Evaluation) -> bool:
    """Whether rows are in clusters, and only two groups are compared."""
    return is_clustered(evaluation) and bool((evaluation.takes_part.sum(axis=1) == 2).all())


def explain_unknown_variance(evaluation: Evaluation) -> str | None:
    """The reason why the variance between clusters is unknown for a metric; None if it is known."""
    if not is_clustered(evaluation):
        return None
    metric = evaluation.metric
    has_variances = evaluation.averaged is None or all(
        values is not None and values.by_clusters is not None
        for values in (evaluation.group_values, evaluation.reference_values)
    )
    if evaluation.subtracts or not has_variances:
        return NO_CLUSTER_VARIANCE
    if isinstance(metric, GroupMetric):
        return None if isinstance(metric, Rate | Mean) else NO_CLUSTER_VARIANCE
    if not isinstance(metric, Disparity):
        return None if metric.varies_by_cluster else NO_CLUSTER_VARIANCE
    known = all(
        isinstance(quantity, Rate) and comparison.scale is not None
        for quantity, comparison in metric.parts
    )
    return (
        None if known and metric.over_groups is None and not metric.fitted else NO_CLUSTER_VARIANCE
    )


def has_few_clusters(evaluation: Evaluation) -> Marks:
    """Marks the strata where a group of a spread has too few clusters, as an array [Z, 1].

    Other values need no mark: shares from too few clusters have no effective size.
    """
    few = np.zeros((len(evaluation.value), 1), dtype=np.bool_)
    for leaf in evaluation.leaves:
        if leaf.spread and (values := leaf.group_values) is not None:
            lacking = leaf.takes_part & np.isnan(values.effective_n) & (values.n > 0)
            few |= lacking.any(axis=1, keepdims=True)
    return few


def find_pair_interval(comparison: Comparison, pair: Pair, alpha: Alpha, judged: Marks) -> Interval:
    """The interval of a comparison of two shares, with the correlation of `judged` pairs."""
    r, scale, interval = _find_correlation(*pair), comparison.scale, None
    has_odds = all(values.binomial for values in pair)
    if r is not None and scale is not None and (scale is not Scale.ODDS or has_odds):
        interval = of_scale(scale, *pair, alpha, DEFAULT_INFERENCE, r * judged)
    if interval is None:
        raise NoInterval(NO_CLUSTER_VARIANCE)
    return comparison.rescale(_name_clusters(interval))


def _name_clusters(interval: Interval) -> Interval:
    return interval._replace(method=f"{interval.method}, {CLUSTER_ROBUST}")


def _find_correlation(first: GroupValues, second: GroupValues) -> Floats | None:
    """The correlation of two shares, or of two averages, over clusters; None if it is unknown."""
    if first.by_clusters is not None and second.by_clusters is not None:
        return first.by_clusters.with_other
    if first.clustered is not None and second.clustered is not None:
        return first.clustered.correlation(second.clustered)
    return None


def run_pair_z_test(first: GroupValues, second: GroupValues) -> Floats:
    """The p-values of z tests of equal shares, with effective sizes and correlated shares."""
    r = _find_correlation(first, second)
    if r is None:
        return np.full_like(first.value, np.nan)
    shares = (first.value, first.effective_n, second.value, second.effective_n)
    return distributions.normal_two_sided(contingency.find_z(*shares, r=r))


def adjust_for_pairs(values: GroupValues, among: Marks) -> GroupValues:
    """The values with smaller effective sizes, so that all pairs can be treated as independent.

    For a correlation r below 0, var(p - q) is at most 1 - r times its value for independent shares.
    """
    if values.clustered is None:
        return values
    size = values.effective_n / (1 - values.clustered.least_correlation(among))
    return _with_size(values, values.value, size)


def _with_size(values: GroupValues, value: Floats, size: Floats) -> GroupValues:
    """Shares with another effective size, and with the intervals of this size."""
    return replace(
        values,
        value=value,
        effective_n=size,
        ends=lambda alpha: proportions.share_interval(value, size, alpha),
    )


def find_spread_pair(evaluation: Evaluation, values: GroupValues) -> Pair:
    """Both groups of a spread of two groups, in the order that the comparison uses."""
    assert values.clustered is not None
    sides = []
    for place in (evaluation.first, evaluation.second):
        index = np.maximum(place, 0)
        share, size = values.clustered.at(index), values.effective_n
        size = np.broadcast_to(np.take_along_axis(size, index, axis=1), size.shape)
        sides.append(replace(_with_size(values, share.value, size), clustered=share))
    high, low = sides
    measure = evaluation.metric
    is_ratio = isinstance(measure, Disparity) and measure.comparison.scale is Scale.RATIO
    return (low, high) if is_ratio else (high, low)


def evaluate_rate_gap(evaluation: Evaluation) -> Evaluation | None:
    """The gap of selection rates that replaces ε or total variation: all are 0 for equal groups.

    Returns None if there are more than two classes, or no positive class.
    """
    table = evaluation.table
    if table.positive is None or len(table.classes) != 2 or int(table.positive.sum()) != 1:
        return None
    terms = replace(evaluation.terms, at=None, reference=None, parameters=NO_PARAMETERS)
    gap = evaluate(build_disparity(SELECTION_RATE, GAP), table, terms)
    values = gap.group_values
    same = values is not None and (table.clusters is None or values.clustered is not None)
    return gap if same and (gap.takes_part == evaluation.takes_part).all() else None


def find_epsilon_interval(gap: Evaluation, alpha: Alpha) -> Interval | None:
    """The interval [Z, 1] of ε of two classes in two groups, which allows for shared clusters."""
    assert gap.group_values is not None
    first, second = find_spread_pair(gap, gap.group_values)
    if first.clustered is None or second.clustered is None:
        return None
    r = first.clustered.correlation(second.clustered)
    level = np.broadcast_to(multiplicity.sidak_level(alpha, np.array(2.0)), (len(r),))[:, None]
    assert first.ends is not None
    assert second.ends is not None
    highs, lows = first.ends(level), second.ends(level)
    of_hits = proportions.mover_ratio(first.value, highs, second.value, lows, r)
    spared = [(1 - values.value, (1 - high, 1 - low)) for values, (low, high) in
              ((second, lows), (first, highs))]  # fmt: skip
    of_misses = proportions.mover_ratio(*spared[0], *spared[1], r)
    low, high = (
        np.log(np.maximum(end_of_hits, end_of_misses)[:, :1])
        for end_of_hits, end_of_misses in zip(of_hits, of_misses, strict=True)
    )
    return Interval(np.maximum(low, 0.0), high, f"MOVER, {CLUSTER_ROBUST}")


def has_two_groups(evaluation: Evaluation) -> Marks:
    """Marks the strata where a spread has only two groups, as an array [Z, 1]."""
    return np.asarray(evaluation.takes_part.sum(axis=1, keepdims=True) == 2)


SIMULTANEOUS = "simultaneous over pairs"
_OF_PAIRS = {Scale.DIFFERENCE, Scale.RATIO}
"""The scales that have simultaneous intervals over all pairs of groups."""


def has_extreme_interval(disparity: Disparity) -> bool:
    """Whether the interval allows for an extreme group that is chosen from the same data."""
    return len(disparity.parts) == 1 and disparity.comparison.scale in _OF_PAIRS


def find_spread_interval(
    evaluation: Evaluation, values: GroupValues, comparison: Comparison, alpha: Alpha, parts: int
) -> Interval:
    """The interval of the largest difference, or the smallest ratio, over all pairs of groups.

    `parts` is the number of comparisons whose intervals hold simultaneously.
    """
    if comparison.scale not in _OF_PAIRS:
        raise NoInterval(EXTREME_IS_CHOSEN)
    among = evaluation.takes_part
    adjusted = adjust_for_pairs(values, among)
    if adjusted.ends is None:
        raise NoInterval(adjusted.metric.no_interval)
    is_ratio = comparison.scale is Scale.RATIO
    interval = _find_among(adjusted, among.tobytes(), alpha, parts, is_ratio=is_ratio)
    if values.clustered is None:
        return comparison.rescale(interval)
    interval, is_pair = _name_clusters(interval), has_two_groups(evaluation)
    if not is_pair.any():
        return comparison.rescale(interval)
    pair = find_spread_pair(evaluation, values)
    level = _per_pair(among, alpha, parts)[:, None]
    of_pair = find_pair_interval(comparison, pair, level, evaluation.judged)
    low, high = (end[:, :1] for end in comparison.unscale_interval(of_pair)[:2])
    ends = (low, np.minimum(high, 1.0)) if is_ratio else (np.maximum(low, 0.0), high)
    low, high = (
        np.where(is_pair, *sides) for sides in zip(ends, (interval.low, interval.high), strict=True)
    )
    method = of_pair.method if is_pair.all() else interval.method
    return comparison.rescale(Interval(low, high, method))


@memoize  # several metrics use the same rates
def _find_among(
    values: GroupValues, takes_part: bytes, alpha: Alpha, parts: int, *, is_ratio: bool
) -> Interval:
    among = np.frombuffer(takes_part, dtype=np.bool_).reshape(values.value.shape)
    assert values.ends is not None
    level = _per_pair(among, alpha, parts)
    if is_ratio and values.binomial:
        strata = zip(*values.sample, among, level.tolist(), strict=True)
        low, high = _columns([multiplicity.smallest_ratio(*stratum) for stratum in strata])
        return Interval(low, np.minimum(high, 1.0), f"{RATIO_INTERVAL}, {SIMULTANEOUS}")
    ends = _find_group_ends(values, level[:, None])
    if is_ratio:
        low, high = _columns([
            multiplicity.smallest_mover_ratio(value[members], (low[members], high[members]))
            for value, low, high, members in zip(values.value, *ends, among, strict=True)
        ])  # fmt: skip
        return Interval(low, np.minimum(high, 1.0), f"MOVER, {SIMULTANEOUS}")
    sizes = values.effective_n if values.binomial else repeat(None)
    strata = zip(values.value, *ends, among, sizes, level.tolist(), strict=False)
    low, high = _columns([
        multiplicity.largest_difference(value, (low, high), *stratum)
        for value, low, high, *stratum in strata
    ])  # fmt: skip
    return Interval(np.maximum(low, 0.0), np.maximum(high, 0.0), _name_difference(values))


def _find_group_ends(values: GroupValues, alpha: Floats) -> Ends:
    """The bounds [Z, G] of each value, for intervals that hold simultaneously for many pairs."""
    assert values.ends is not None
    if not values.binomial:
        return values.ends(alpha)
    return proportions.share_interval(*values.sample, alpha, over_pairs=True)


def _name_difference(values: GroupValues) -> str:
    return f"{GAP_INTERVAL if values.binomial else 'MOVER'}, {SIMULTANEOUS}"


def _per_pair(among: Marks, alpha: Alpha, parts: int = 1) -> Floats:
    """The α [Z] for each pair, at which the intervals of all pairs and parts hold together."""
    groups = among.sum(axis=1)
    count = np.maximum(parts * groups * (groups - 1) / 2, 1.0)
    of_stratum = np.broadcast_to(alpha, (len(among), 1))[:, 0]
    return np.asarray(multiplicity.sidak_level(of_stratum, count))


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
    """The interval of each group's gap to the highest or lowest group, valid for all gaps."""
    if comparison.scale not in _OF_PAIRS:
        raise NoInterval(EXTREME_IS_CHOSEN)
    among = evaluation.takes_part
    values = adjust_for_pairs(values, among)
    if values.ends is None:
        raise NoInterval(values.metric.no_interval)
    level = _per_pair(among, alpha)
    if comparison.scale is Scale.DIFFERENCE:
        ends, value = _find_group_ends(values, level[:, None]), values.value
        if lowest:
            # The lowest group has the highest share of the other outcome.
            whole = 1.0 if values.binomial else 0.0
            ends, value = (whole - ends[1], whole - ends[0]), whole - value
        sizes = values.effective_n if values.binomial else repeat(None)
        strata = zip(value, *ends, among, sizes, level.tolist(), strict=False)
        rows = [
            multiplicity.difference_to_highest(row, (low, high), *stratum)
            for row, low, high, *stratum in strata
        ]
        low, high = (np.minimum(np.stack(end), 0.0) for end in zip(*rows, strict=True))
        interval = Interval(low, high, _name_difference(values))
        interval = interval.turned() if lowest else interval
    else:
        sizes = np.broadcast_to(values.effective_n, values.value.shape)
        bounds = None if values.binomial else _find_group_ends(values, level[:, None])
        rows = [
            multiplicity.ratio_to_extreme(
                *stratum, bounds and (bounds[0][z], bounds[1][z]), lowest=lowest
            )
            for z, stratum in enumerate(
                zip(values.value, sizes, among, level.tolist(), strict=True)
            )
        ]
        low, high = map(np.stack, zip(*rows, strict=True))
        method = RATIO_INTERVAL if values.binomial else "MOVER"
        interval = keep_within_reach(
            Interval(low, high, f"{method}, {SIMULTANEOUS}"), 1.0, lowest=lowest
        )
    return comparison.rescale(interval if values.clustered is None else _name_clusters(interval))


def keep_within_reach(interval: Interval, ideal: float, *, lowest: bool) -> Interval:
    """The interval of a gap to an extreme group, cut at parity: no group is more extreme.

    For the extreme group itself, both ends may be beyond parity, so both ends are cut.
    """
    cut = np.maximum if lowest else np.minimum
    return interval._replace(low=cut(interval.low, ideal), high=cut(interval.high, ideal))
