"""Selects and computes the interval of each value, or the reason why a value has no interval.

A comparison of two groups has its own interval. A maximum over pairs has an interval that holds
simultaneously for all pairs. The interval of a value that combines several rates is made from
simultaneous intervals of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairaudit.base.arrays import Alpha, Floats, Marks
from fairaudit.base.frozen import Frozen, memoize, replace
from fairaudit.evidence import clusters_and_pairs as clusters
from fairaudit.evidence.clusters_and_pairs import (
    SIMULTANEOUS,
    find_extreme_interval,
    find_spread_interval,
    keep_within_reach,
)
from fairaudit.evidence.joint_tests import find_sparse_interval
from fairaudit.evidence.metric_bounds import bound_fold
from fairaudit.evidence.missing_bounds import mark_masked
from fairaudit.evidence.records import (
    FEW_CLUSTERS,
    MASKED_COUNTS,
    MEAN_IS_BIASED,
    NO_WEIGHTED_VARIANCE,
    STRATA_ARE_ESTIMATED,
    TOO_LITTLE_VARIATION,
    UNKNOWN_WEIGHT,
    NoInterval,
)
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    TableMetric,
)
from fairaudit.metrics.association import TOTAL_VARIATION
from fairaudit.metrics.disparities import (
    FARTHEST_FROM_1,
    LARGEST_MAGNITUDE,
    MAX,
    MEAN,
    MEAN_MAGNITUDE,
    MEAN_RATIO,
    MIN,
    REMAINDER,
)
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.evaluation_record import compute, counts_for, counts_of_others
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.pair_intervals import Interval, Scale, of_rest_to_overall, weigh_shares
from fairaudit.metrics.paired_counts import (
    correlate_values,
    find_largest_change,
    list_paired_rates,
    turn_ratio,
)
from fairaudit.metrics.terms import EXTREME_REFERENCES, INCLUDING_GROUP, ReferencePolicy
from fairaudit.stats import multiplicity, proportions
from fairaudit.stats.proportions import GAP_INTERVAL, SHARE_INTERVAL

UNPAIRED = "unpaired, conservative"
"""The end of the name of an interval for two outcomes whose correlation is unknown."""
SIDAK = "Šidák over"
"""The end of the name of an interval that holds together with others; their number follows."""


class Intervals(Frozen, eq=False):
    """The interval of each value, as arrays [Z, W].

    Without an interval, the bounds are NaN, and `why` is the reason. If the value is the larger of
    two differences, `other` is the interval of the smaller difference, or NaN if this difference
    cannot be the larger. `few` marks values that have no interval for the reason `why_few`: they
    have too few people, or masked counts could change them.
    """

    low: Floats
    high: Floats
    method: str
    why: str = ""
    other: tuple[Floats, Floats] | None = None
    few: Marks | None = None
    why_few: str = ""

    @classmethod
    def none(cls, evaluation: Evaluation, why: str) -> Intervals:
        """The record of an evaluation without intervals, for the reason `why`."""
        nothing = np.full_like(evaluation.value, np.nan)
        return cls(nothing, nothing, "", f"none: {why}")

    def at(self, z: int, w: int) -> tuple[float, float] | None:
        """The interval of one value; None without an interval."""
        low, high = float(self.low[z, w]), float(self.high[z, w])
        return None if math.isnan(low) or math.isnan(high) else (low, high)

    def explain(self, z: int, w: int) -> str:
        """Why one value has no interval."""
        if self.few is not None and self.few[z, w]:
            return self.why_few
        return self.why or TOO_LITTLE_VARIATION

    def estimate(self, value: float, z: int, w: int) -> Estimate:
        """A value with its interval or a reason; undefined values have no reason."""
        ends = self.at(z, w)
        if ends is None:
            why = "" if math.isnan(value) else self.explain(z, w)
            return Estimate(value, no_interval=why)
        return Estimate(value, low=ends[0], high=ends[1], method=self.method)

    def all_at(self, z: int, w: int) -> list[tuple[float, float]]:
        """All intervals that may contain the true value; empty without an interval."""
        first = self.at(z, w)
        if first is None or self.other is None:
            return [] if first is None else [first]
        low, high = (float(end[z, w]) for end in self.other)
        return [first] if math.isnan(low) or math.isnan(high) else [first, (low, high)]


@memoize
@np.errstate(all="ignore")  # undefined is NaN
def find_intervals(evaluation: Evaluation, alpha: Alpha | None = None) -> Intervals:
    """The interval of each value of an evaluation, by default at the confidence of the spec.

    Results are cached, because checks, comparisons and the lattice use the same intervals.
    """
    alpha = evaluation.terms.inference.alpha if alpha is None else alpha
    unknown = clusters.explain_unknown_variance(evaluation)
    if unknown is not None:
        return Intervals.none(evaluation, unknown)
    try:
        interval = _find_interval(evaluation, alpha)
    except NoInterval as error:
        return Intervals.none(evaluation, str(error))
    # An interval needs a value and both bounds.
    lacking = np.isnan(evaluation.value) | np.isnan(interval.low) | np.isnan(interval.high)
    few, why_few = _mark_few_people(evaluation)
    found = [leaf.group_values for leaf in evaluation.leaves]
    alike = [(values.mark_one_outcome(), UNKNOWN_WEIGHT) for values in found if values is not None]
    for marks, reason in [(mark_masked(evaluation), MASKED_COUNTS), *alike]:
        if marks.any():
            few, why_few = few | marks, f"none: {reason}"
    lacking |= clusters.has_few_clusters(evaluation) | few
    why = f"none: {FEW_CLUSTERS}" if clusters.is_clustered(evaluation) else TOO_LITTLE_VARIATION
    low = np.where(lacking, np.nan, np.fmin(interval.low, evaluation.value))
    high = np.where(lacking, np.nan, np.fmax(interval.high, evaluation.value))
    other = _find_other_interval(evaluation, alpha)
    return Intervals(low, high, interval.method, why if lacking.all() else "", other, few, why_few)


def find_check_intervals(evaluation: Evaluation) -> Intervals:
    """The intervals of a check. They hold simultaneously, because a check reports the worst value.

    They use Šidák's level for the number of values. Intervals of spreads and of gaps to an extreme
    group already hold for all groups. Two groups, each compared with the rest, are one comparison.
    """
    judged = evaluation.judged & ~np.isnan(evaluation.value)
    count = judged[evaluation.table.known_strata].sum(axis=1)
    if evaluation.terms.policy in EXTREME_REFERENCES:
        count = np.minimum(count, 1)
    elif evaluation.terms.policy in {ReferencePolicy.REST, ReferencePolicy.OVERALL}:
        count = np.where(count == 2, 1, count)
    total = int(count.sum())
    if total < 2:
        return find_intervals(evaluation)
    alpha = float(multiplicity.sidak_level(evaluation.terms.inference.alpha, total))
    intervals = find_intervals(evaluation, alpha)
    return replace(intervals, method=f"{intervals.method}, {SIDAK} {total}")


def _mark_few_people(evaluation: Evaluation) -> tuple[Marks, str]:
    """Marks [Z, W] of the values with fewer people than an interval needs, and the reason."""
    metric, few = evaluation.metric, np.zeros(evaluation.value.shape, dtype=np.bool_)
    values, others = evaluation.group_values, evaluation.reference_values
    averaged = evaluation.averaged
    if averaged is not None:
        # Mark averages of other values than shares and means, if most weight is in small strata.
        sparse = np.zeros(averaged.first.shape, dtype=np.bool_)
        sides = (values, averaged.first_weights), (others, averaged.second_weights)
        for side, weights in sides:
            strata = None if side is None else side.strata
            if strata is None or strata.binomial or strata.deviation is not None:
                continue
            if np.isfinite(strata.metric.bias):
                sparse |= np.where(strata.n < _LARGE_STRATUM, weights, 0.0).sum(axis=0) > 1 / 2
        among = sparse & evaluation.takes_part
        few |= among.any(axis=1, keepdims=True) if evaluation.spread else sparse
        return few, f"none: most of the weight is in strata of fewer than {_LARGE_STRATUM} people"
    if isinstance(metric, GroupMetric) and metric.min_people and values is not None:
        few |= values.n < metric.min_people
        return few, f"none: fewer than {metric.min_people} people"
    comparison = metric.comparison if isinstance(metric, Disparity) else None
    if comparison is None or values is None or others is None:
        return few, ""
    if comparison.sides_of is None:
        if comparison.scale in {None, Scale.ARCSINE} and values.binomial and not values.fit:
            few |= (np.minimum(values.n, others.n) < 2) | (values.n + others.n < _FEWEST_OF_TWO)
        return few, f"none: a group of one person, or fewer than {_FEWEST_OF_TWO} in both groups"
    for z, w in np.argwhere(~np.isnan(evaluation.value)).tolist():
        both = comparison.sides_of(values, others, z, w)
        few[z, w] = min(side.n or 0 for side in both if side is not None) < comparison.min_people
    return few, f"none: fewer than {comparison.min_people} people"


_FEWEST_OF_TWO = 9
"""With fewer people than this in both groups, the interval of a correlation is unreliable."""
_LARGE_STRATUM = 20
"""With fewer people than this in strata, the interval of their average is unreliable."""


def _find_interval(evaluation: Evaluation, alpha: Alpha) -> Interval:
    metric = evaluation.metric
    if evaluation.subtracts:
        first, second = evaluation.parts
        paired = _subtract_paired(first, second, alpha)
        if paired is not None:
            return paired
        # The correlation of both values is not in the counts. With half of α for each, both
        # intervals hold simultaneously for any correlation.
        own, other = (_find_interval(part, alpha / 2) for part in evaluation.parts)
        return Interval(own.low - other.high, own.high - other.low, f"{own.method}, {UNPAIRED}")
    if evaluation.table_value is not None:
        return _find_table_interval(evaluation, alpha)
    if isinstance(metric, GroupMetric):
        values = evaluation.group_values
        if values is None or values.ends is None:
            raise NoInterval(metric.no_interval)
        return Interval(*values.ends(alpha), values.method)
    if not isinstance(metric, Disparity) or metric.over_groups is not None:
        raise NoInterval(MEAN_IS_BIASED)
    if evaluation.parts:
        return _fold_parts(metric, evaluation.parts, alpha)
    return _find_comparison_interval(evaluation, alpha)


def _find_comparison_interval(evaluation: Evaluation, alpha: Alpha, parts: int = 1) -> Interval:
    """The interval of one comparison; the intervals of `parts` comparisons hold simultaneously."""
    disparity, values = evaluation.metric, evaluation.group_values
    assert isinstance(disparity, Disparity)
    comparison, reference = disparity.comparison, evaluation.reference_values
    if not comparison.has_interval or values is None:
        raise NoInterval(comparison.no_interval)
    if comparison.is_max_min:
        return find_spread_interval(evaluation, values, comparison, alpha, parts)
    if parts > 1:
        level = multiplicity.sidak_level(alpha, parts)
        # Results are cached if the level is a float.
        alpha = float(level) if level.ndim == 0 else level
    if reference is None:
        raise NoInterval("no group to compare with")
    policy = evaluation.terms.policy
    if policy in EXTREME_REFERENCES:
        lowest = policy is ReferencePolicy.LOWEST
        if clusters.is_clustered_pair(evaluation):
            sides = values, reference
            interval = clusters.find_pair_interval(comparison, sides, alpha, evaluation.judged)
            # The highest group has the lowest value if values fall when the rate rises.
            lowest = lowest == comparison.rises_with_rate
            return keep_within_reach(interval, float(comparison.ideal), lowest=lowest)
        return find_extreme_interval(evaluation, values, comparison, alpha, lowest=lowest)
    if policy in INCLUDING_GROUP and not comparison.one_sided:
        # The value of everybody is an average of the group and the rest. So the interval of a
        # comparison with everybody follows from the interval of a comparison with the rest.
        adds_up = values.binomial or values.deviation is not None
        scale = comparison.scale
        if scale not in {Scale.DIFFERENCE, Scale.RATIO} or evaluation.averaged or not adds_up:
            raise NoInterval("the group is part of everybody")
        rest, share = _find_rest(evaluation, values)
        of_rest = _compare_two_sides(evaluation, comparison, values, rest, alpha)
        interval = comparison.unscale_interval(of_rest)
        return comparison.rescale(of_rest_to_overall(interval, share, scale))
    return _compare_two_sides(evaluation, comparison, values, reference, alpha)


def _compare_two_sides(
    evaluation: Evaluation,
    comparison: Comparison,
    first: GroupValues,
    second: GroupValues,
    alpha: Alpha,
) -> Interval:
    if clusters.is_clustered(evaluation):
        return clusters.find_pair_interval(comparison, (first, second), alpha, evaluation.judged)
    interval = comparison.find_interval(first, second, alpha, evaluation.terms.inference)
    if interval is None:
        if comparison.exact_in_strata is not None:
            raise NoInterval(NO_WEIGHTED_VARIANCE)
        # If the side has an interval, the comparison knows why the interval is missing.
        raise NoInterval((first.metric if first.ends is None else comparison).no_interval)
    sparse = find_sparse_interval(evaluation, comparison, alpha)
    if sparse is None:
        return interval
    few = ~np.isnan(sparse.low)
    low, high = (np.where(few, *pair) for pair in zip(sparse[:2], interval[:2], strict=True))
    method = sparse.method if few.all() else f"{interval.method}; {sparse.method} where sparse"
    return Interval(low, high, method)


def _find_rest(evaluation: Evaluation, values: GroupValues) -> tuple[GroupValues, Floats]:
    """The values of the rest for each group, and the share of the group in everybody."""
    assert evaluation.terms.policy is not None
    others = counts_of_others(counts_for(values.metric, evaluation.table), evaluation.terms.policy)
    rest = compute(values.metric, others, evaluation.terms.parameters)
    return rest, _weigh(values) / (_weigh(values) + _weigh(rest))


def _weigh(values: GroupValues) -> Floats:
    weight = values.under if values.under is not None else values.weight_sum
    return np.asarray(values.n if weight is None else weight, dtype=np.float64)


def _fold_parts(disparity: Disparity, parts: Sequence[Evaluation], alpha: Alpha) -> Interval:
    """The interval of a combination of several rates, from the intervals of these rates."""
    fold = disparity.fold
    if fold is REMAINDER:
        raise NoInterval(STRATA_ARE_ESTIMATED)
    # Variances of different people add up, but not with shared clusters, nor if ends are cut at
    # parity.
    policy = parts[0].terms.policy
    adds = fold is MEAN and disparity.to_reference and policy not in EXTREME_REFERENCES
    adds = adds and not clusters.is_clustered(parts[0])
    count = 1 if adds else len(parts)
    intervals = [
        _find_interval(part, multiplicity.sidak_level(alpha, count))
        if part.parts
        else _find_comparison_interval(part, alpha, count)
        for part in parts
    ]
    lows, highs = (np.stack([interval[side] for interval in intervals]) for side in (0, 1))
    values, method = np.stack([part.value for part in parts]), intervals[0].method
    if adds:
        # True and false positive rates have different people.
        average = _average_parts([*values], intervals)
        shares: list[tuple[proportions.Sample, float | Floats]] = []
        for part in parts:
            own, other, factor = part.group_values, part.reference_values, np.array(1.0)
            if own is None or other is None:
                return average
            if policy in INCLUDING_GROUP:
                other, share = _find_rest(part, own)
                factor = 1 - share
            shares += weigh_shares(own, other, factor / len(parts))
        low, high = proportions.extend_gap(average[:2], shares, alpha)
        return average._replace(low=low, high=high)
    if fold.rank is None or fold in {MAX, MIN}:
        together = "both rates" if disparity.per_class is None else "all classes"
        is_mean = fold in {MEAN, MEAN_MAGNITUDE, MEAN_RATIO}
        return Interval(*bound_fold(fold, lows, highs), method + f", {together} together" * is_mean)
    # Each part may be the larger part. The result has the interval of the deciding part, which
    # holds simultaneously with the interval of the other part.
    decides = np.argmax(np.where(np.isnan(values), -np.inf, fold.rank(values)), axis=0)[None]
    low, high = (np.take_along_axis(ends, decides, axis=0)[0] for ends in (lows, highs))
    return Interval(low, high, f"{method}, both rates together")


def _find_other_interval(evaluation: Evaluation, alpha: Alpha) -> tuple[Floats, Floats] | None:
    """The interval of the part that does not decide the value; NaN if it cannot be the larger."""
    disparity = evaluation.metric
    if not isinstance(disparity, Disparity):
        return None
    if disparity.fold not in {LARGEST_MAGNITUDE, FARTHEST_FROM_1}:
        return None
    if len(evaluation.parts) != 2 or evaluation.subtracts or evaluation.attained is None:
        return None
    both = [_find_comparison_interval(part, alpha, 2) for part in evaluation.parts]
    ends = [np.stack([interval[side] for interval in both]) for side in (0, 1)]
    decides, center = evaluation.attained[None], float(disparity.ideal)
    first, other = (
        [np.take_along_axis(end, index, axis=0)[0] for end in ends]
        for index in (decides, 1 - decides)
    )
    nearest = np.where(
        (first[0] <= center) & (center <= first[1]),
        0.0,
        np.fmin(abs(first[0] - center), abs(first[1] - center)),
    )
    farthest = np.fmax(abs(other[0] - center), abs(other[1] - center))
    may_decide = farthest >= nearest
    return np.where(may_decide, other[0], np.nan), np.where(may_decide, other[1], np.nan)


def _find_table_interval(evaluation: Evaluation, alpha: Alpha) -> Interval:
    """The interval of a metric of a table; for ε of two groups, it uses their shared clusters."""
    metric = evaluation.metric
    assert isinstance(metric, TableMetric)
    if metric.interval is None:
        gap = clusters.evaluate_rate_gap(evaluation) if metric is TOTAL_VARIATION else None
        if gap is None:
            raise NoInterval(metric.no_interval)
        return _find_interval(gap, alpha)
    low, high = metric.interval(evaluation.table, evaluation.terms, alpha)
    interval = Interval(low[:, None], high[:, None], metric.method)
    if not clusters.is_clustered(evaluation):
        return interval
    robust = interval._replace(method=f"{interval.method}, {CLUSTER_ROBUST}")
    is_pair = clusters.has_two_groups(evaluation)
    gap = clusters.evaluate_rate_gap(evaluation) if is_pair.any() else None
    of_pair = None if gap is None else clusters.find_epsilon_interval(gap, alpha)
    if of_pair is None:
        return robust
    low, high = (np.where(is_pair, *ends) for ends in zip(of_pair[:2], robust[:2], strict=True))
    return Interval(low, high, of_pair.method if is_pair.all() else robust.method)


def _subtract_paired(first: Evaluation, second: Evaluation, alpha: Alpha) -> Interval | None:
    """The interval of a difference of two values of the same people; None if it is not paired."""
    metric = first.metric
    if first.spread:
        # Changes in each pair of groups give the change of the largest gap or smallest ratio.
        (rates, of_ratio), among = list_paired_rates(first), first.takes_part
        if not rates or any((part.takes_part != among).any() for part in first.parts):
            return None
        change = find_largest_change(rates, (first.table, second.table), among, of_ratio, alpha)
        interval = change and Interval(*change, f"MOVER, paired, {SIMULTANEOUS}")
        return interval.turned() if interval and of_ratio is turn_ratio else interval
    if isinstance(metric, Disparity) and first.parts and metric.fold is MEAN:
        pairs = [*zip(first.parts, second.parts, strict=True)]
        found = [_subtract_paired(*pair, alpha) for pair in pairs]
        intervals = [interval for interval in found if interval is not None]
        values = [part.value - other.value for part, other in pairs]
        return _average_parts(values, intervals) if len(intervals) == len(pairs) else None
    r = correlate_values(first, second)
    if r is None:
        return None
    sides = [_find_interval(part, alpha) for part in (first, second)]
    ends = proportions.mover_difference(first.value, sides[0][:2], second.value, sides[1][:2], r)
    is_plain = sides[0].method in {GAP_INTERVAL, SHARE_INTERVAL}
    return Interval(*ends, "Newcombe, paired" if is_plain else "MOVER, paired")


def _average_parts(values: Sequence[Floats], intervals: Sequence[Interval]) -> Interval:
    """The interval of a mean of values from different people, whose variances add up."""
    lows, highs = (np.stack([interval[side] for interval in intervals]) for side in (0, 1))
    weights = np.full((len(values), 1, 1), 1 / len(values))
    _, low, high = proportions.mover_total(np.stack(values), (lows, highs), weights)
    is_paired = intervals[0].method.endswith("paired")
    return Interval(low, high, "MOVER, paired" if is_paired else "MOVER")
