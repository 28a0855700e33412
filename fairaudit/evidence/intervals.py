"""The interval of whatever an audit evaluates, from counts alone; or why there is none.

One value has the interval of its comparison. A maximum over pairs has the largest ends of intervals
that hold together for all pairs, so that equal groups are not told apart by chance. What is made of
several rates has the ends of its parts, which hold together too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairaudit.arrays import Alpha, Ends, Floats, Marks
from fairaudit.evidence import clusters as by_clusters
from fairaudit.evidence.sparse import in_sparse_strata
from fairaudit.metrics import (
    Comparison,
    Disparity,
    Evaluation,
    FirstOf,
    GroupMetric,
    GroupValues,
    Mean,
    Metric,
    Rate,
    ReferencePolicy,
    TableMetric,
)
from fairaudit.metrics.comparisons import DIFFERENCE, ITSELF, RATIO
from fairaudit.metrics.disparities import (
    FARTHEST_FROM_1,
    LARGEST_MAGNITUDE,
    MAX,
    MEAN,
    MEAN_MAGNITUDE,
    MIN,
    REMAINDER,
    ComparisonShape,
)
from fairaudit.metrics.evaluation import compute, counts_for, counts_of_others
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST
from fairaudit.metrics.intervals import (
    Interval,
    of_difference,
    of_difference_by_student,
    of_log_ratio,
    of_ratio,
    of_ratio_by_logs,
    of_rest_to_overall,
    of_shortfall,
)
from fairaudit.metrics.numbers import NumberMean
from fairaudit.metrics.retabulate import PairedCounts, count_pairs
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    INCLUDING_GROUP,
    SINGLE_REFERENCES,
    RatioInterval,
    TTest,
)
from fairaudit.stats import mover, multiplicity, proportions

SIMULTANEOUS = "simultaneous over pairs"
TOO_LITTLE_VARIATION = "none: too little varies to tell"
_REMAINDER = "none: how the strata are filled is estimated too"
_MEAN_OF_GROUPS = "none: biased away from parity by chance"
_TO_EXTREME = {of_ratio, of_difference, of_log_ratio, of_shortfall}


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """The ends of the interval of every value, [Z, W]; NaN, and `why`, where there is none.

    `other` are the ends of a second interval in which the true value may lie as well: where it is
    the larger of two differences, that of the one which is smaller here. NaN where it may not.
    """

    low: Floats
    high: Floats
    method: str
    why: str = ""
    other: tuple[Floats, Floats] | None = None

    def at(self, z: int, w: int) -> tuple[float, float] | None:
        """The interval of one value; None where there is none."""
        low, high = float(self.low[z, w]), float(self.high[z, w])
        return None if np.isnan(low) or np.isnan(high) else (low, high)

    def all_at(self, z: int, w: int) -> list[tuple[float, float]]:
        """Every interval in which a true value may lie; none where there is no interval."""
        first = self.at(z, w)
        if first is None or self.other is None:
            return [] if first is None else [first]
        low, high = (float(end[z, w]) for end in self.other)
        return [first] if np.isnan(low) or np.isnan(high) else [first, (low, high)]


def find_intervals(evaluation: Evaluation, alpha: Alpha | None = None) -> Intervals:
    """The interval of every value of an evaluation, at the confidence it was asked with."""
    alpha = evaluation.terms.inference.alpha if alpha is None else alpha
    lacking = by_clusters.lacks_clusters(evaluation)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = lacking or _interval(evaluation, alpha)
    if isinstance(found, str):
        nothing = np.full_like(evaluation.value, np.nan)
        return Intervals(nothing, nothing, "", found)
    # No value, no interval; and none that the value itself is outside of.
    open_ = np.isnan(evaluation.value) | np.isnan(found.low) | np.isnan(found.high)
    open_ |= by_clusters.few_clusters(evaluation)
    too_little = (
        by_clusters.TOO_FEW if by_clusters.is_clustered(evaluation) else TOO_LITTLE_VARIATION
    )
    low = np.where(open_, np.nan, np.fmin(found.low, evaluation.value))
    high = np.where(open_, np.nan, np.fmax(found.high, evaluation.value))
    why = too_little if open_.all() else ""
    return Intervals(low, high, found.method, why, _other_part(evaluation, alpha))


def explain_no_interval(asked: Metric) -> str | None:
    """Why a measure has no interval, whatever the data; None where it has one."""
    if isinstance(asked, Disparity):
        if asked.mean:
            return _MEAN_OF_GROUPS
        if asked.fold is REMAINDER:
            return _REMAINDER
        if asked.comparison.interval is None:
            return f"none: {asked.comparison.no_interval}"
        if asked.comparison.contrast is not None:
            return None
        return next(filter(None, (explain_no_interval(one) for one, _ in asked.parts)), None)
    return None if _has_interval(asked) else f"none: {asked.no_interval}"


def has_extreme_interval(asked: Disparity) -> bool:
    """Whether its interval allows for an extreme group that is chosen from the same data."""
    return len(asked.parts) == 1 and asked.comparison.interval in _TO_EXTREME


def _has_interval(asked: GroupMetric | TableMetric) -> bool:
    if isinstance(asked, TableMetric):
        return asked.interval is not None
    if isinstance(asked, FirstOf):
        return all(map(_has_interval, asked.options))
    if isinstance(asked, Formula):
        return asked.is_proportion or asked.ends_of is not None or asked.deviation_of is not None
    return isinstance(asked, Rate | Mean | NumberMean)


def _interval(evaluation: Evaluation, alpha: Alpha) -> Interval | str:
    if evaluation.subtracts:
        return _less(evaluation, alpha)
    if evaluation.table_value is not None:
        return _of_whole(evaluation, alpha)
    asked = evaluation.metric
    if isinstance(asked, GroupMetric):
        reading = evaluation.group_values
        if reading is None or reading.ends is None:
            return f"none: {asked.no_interval}"
        return Interval(*reading.ends(alpha), reading.method)
    if not isinstance(asked, Disparity):
        return "none"
    if asked.mean:
        return _MEAN_OF_GROUPS
    if evaluation.parts:
        return _folded(asked, evaluation.parts, alpha)
    return _compared(evaluation, alpha)


def _compared(evaluation: Evaluation, alpha: Alpha, parts: int = 1) -> Interval | str:
    """Of one comparison; with so many `parts` it holds together with that of the others."""
    asked = evaluation.metric
    assert isinstance(asked, Disparity)
    how, reading = asked.comparison, evaluation.group_values
    if how.interval is None or reading is None:
        return f"none: {how.no_interval}"
    if how.shape is ComparisonShape.SPREAD:
        return _over_pairs(evaluation, reading, how, alpha, parts)
    alpha = multiplicity.sidak_level(alpha, parts) if parts > 1 else alpha
    if evaluation.reference_values is None:
        return "none: there is no other side"
    policy = evaluation.terms.policy
    if policy in EXTREME_REFERENCES:
        lowest = policy is ReferencePolicy.LOWEST
        if by_clusters.is_pair(evaluation):
            found = by_clusters.of_pair(how, (reading, evaluation.reference_values), alpha)
            return _within_reach(found, float(how.ideal), lowest=lowest)
        return _to_extreme(evaluation, reading, how, alpha, lowest=lowest)
    if policy in INCLUDING_GROUP and how is not ITSELF:
        return _to_everybody(evaluation, reading, how, alpha)
    return _of_two(evaluation, how, reading, evaluation.reference_values, alpha)


def _of_two(
    evaluation: Evaluation, how: Comparison, one: GroupValues, two: GroupValues, alpha: Alpha
) -> Interval | str:
    assert how.interval is not None
    if by_clusters.is_clustered(evaluation):
        return by_clusters.of_pair(how, (one, two), alpha)
    inference, find = evaluation.terms.inference, how.interval
    if find is of_ratio and inference.ratio is RatioInterval.KATZ:
        find = of_ratio_by_logs
    if find is of_difference and inference.t is TTest.STUDENT:
        find = of_difference_by_student
    if evaluation.averaged is not None:
        sparse = in_sparse_strata(evaluation, how, alpha)
        found = find(one, two, alpha)
        return _nothing(one) if found is None else _where_sparse(sparse, found)
    found = find(one, two, alpha)
    return _nothing(one) if found is None else found


def _where_sparse(sparse: Interval | None, found: Interval) -> Interval:
    """The interval for sparse strata where there is one, and the usual one elsewhere."""
    if sparse is None:
        return found
    few = ~np.isnan(sparse.low)
    low, high = (np.where(few, *pair) for pair in zip(sparse[:2], found[:2], strict=True))
    method = sparse.method if few.all() else f"{found.method}; {sparse.method} where sparse"
    return Interval(low, high, method)


def _to_everybody(
    evaluation: Evaluation, reading: GroupValues, how: Comparison, alpha: Alpha
) -> Interval | str:
    """Against everybody, the group included: that against the rest, mapped."""
    if not how.maps or evaluation.averaged is not None or not _adds_up(reading):
        return "none: the group is part of everybody"
    terms, table = evaluation.terms, evaluation.table
    assert terms.policy is not None
    others = counts_of_others(counts_for(reading.metric, table), terms.policy)
    rest = compute(reading.metric, others, terms.parameters)
    found = _of_two(evaluation, how, reading, rest, alpha)
    if isinstance(found, str):
        return found
    mine, theirs = _weight(reading), _weight(rest)
    return of_rest_to_overall(found, mine / (mine + theirs), quotient=how.quotient)


def _adds_up(reading: GroupValues) -> bool:
    """Whether everybody's value is the mean of the groups', weighed by their people."""
    return reading.binomial or reading.deviation is not None


def _weight(reading: GroupValues) -> Floats:
    found = reading.under if reading.under is not None else reading.weight_sum
    return np.asarray(reading.n if found is None else found, dtype=np.float64)


def _over_pairs(
    evaluation: Evaluation, reading: GroupValues, how: Comparison, alpha: Alpha, parts: int
) -> Interval | str:
    """Of the largest difference, or the smallest ratio, over all pairs that take part."""
    found = _over_every_pair(evaluation, reading, how, alpha, parts)
    alone = by_clusters.of_two_groups(evaluation)
    if isinstance(found, str) or reading.clustered is None:
        return found
    found = found._replace(method=f"{found.method}, {CLUSTER_ROBUST}")
    if not alone.any():
        return found
    pair = by_clusters.pair_of_spread(evaluation, reading)
    each = _for_pairs(evaluation.takes_part, alpha, parts)
    exact = by_clusters.of_pair(how, pair, each[:, None])
    if isinstance(exact, str):
        return exact
    low, high = exact.low[:, :1], exact.high[:, :1]
    ends = (low, np.minimum(high, 1.0)) if how.quotient else (np.maximum(low, 0.0), high)
    low, high = (
        np.where(alone, *sides) for sides in zip(ends, (found.low, found.high), strict=True)
    )
    return Interval(low, high, exact.method if alone.all() else found.method)


def _over_every_pair(
    evaluation: Evaluation, reading: GroupValues, how: Comparison, alpha: Alpha, parts: int
) -> Interval | str:
    """The same of any number of groups: all pairs together."""
    among = evaluation.takes_part
    reading = by_clusters.for_pairs(reading, among)
    if reading.ends is None:
        return _nothing(reading)
    each = _for_pairs(among, alpha, parts)
    if how.quotient and reading.binomial:
        alone = [parts == 1 and one.sum() == 2 for one in among]
        rows = [
            multiplicity.smallest_ratio(
                reading.value[z], reading.effective_n[z], among[z], float(each[z]), alone=alone[z]
            )
            for z in range(len(among))
        ]
        low, high = _columns(rows)
        return Interval(low, np.minimum(high, 1.0), f"Koopman, {SIMULTANEOUS}")
    if how.quotient:
        low, high = _quotients(reading.ends(_for_groups(among, alpha, parts)), among)
        return Interval(low, np.minimum(high, 1.0), f"{reading.method}, {SIMULTANEOUS}")
    ends = _ends_for_pairs(reading, each[:, None], among, parts)
    rows = [
        multiplicity.largest_difference(reading.value[z], (ends[0][z], ends[1][z]), among[z])
        for z in range(len(among))
    ]
    low, high = _columns(rows)
    name = "Newcombe" if reading.binomial else "MOVER"
    return Interval(np.maximum(low, 0.0), np.maximum(high, 0.0), f"{name}, {SIMULTANEOUS}")


def _ends_for_pairs(reading: GroupValues, alpha: Floats, among: Marks, parts: int) -> Ends:
    """The ends of every value, [Z, G], where those of many pairs are to hold together.

    Far out in the tail, shares of few hits or misses have exact ones. One pair alone has no far
    tail.
    """
    assert reading.ends is not None
    found = reading.ends(alpha)
    if not reading.binomial:
        return found
    low, high, _ = proportions.tail_bounds(reading.value, reading.effective_n, alpha)
    alone = (among.sum(axis=1, keepdims=True) <= 2) & (parts == 1)
    return np.where(alone, found[0], low), np.where(alone, found[1], high)


def _for_pairs(among: Marks, alpha: Alpha, parts: int = 1) -> Floats:
    """The α of each pair, [Z], so that all pairs of all parts hold together."""
    count = np.array([max(parts * multiplicity.count_pairs(int(k)), 1) for k in among.sum(axis=1)])
    asked = np.broadcast_to(alpha, (len(among), 1))[:, 0]
    return np.asarray(multiplicity.sidak_level(asked, count.astype(np.float64)))


def _for_groups(among: Marks, alpha: Alpha, parts: int = 1) -> Floats:
    """The α of each group, [Z, 1], so that all groups of all parts hold together."""
    count = np.maximum(parts * among.sum(axis=1, keepdims=True), 1).astype(np.float64)
    return np.asarray(multiplicity.sidak_level(alpha, count))


def _columns(rows: Sequence[tuple[float, float]]) -> Ends:
    found = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return found[:, :1], found[:, 1:]


def _quotients(ends: Ends, among: Marks) -> Ends:
    """The smallest ratio over pairs, [Z, 1], where every value lies between its ends."""
    low, high = ends
    unknown = (among & np.isnan(low)).any(axis=1, keepdims=True)
    smallest = [np.where(among, end, np.inf).min(axis=1, keepdims=True) for end in (low, high)]
    largest = [np.where(among, end, -np.inf).max(axis=1, keepdims=True) for end in (low, high)]
    positive = (smallest[0] >= 0) & ~unknown
    return (
        np.where(positive, smallest[0] / largest[1], np.nan),
        np.where(positive, smallest[1] / largest[0], np.nan),
    )


def _to_extreme(
    evaluation: Evaluation, reading: GroupValues, how: Comparison, alpha: Alpha, *, lowest: bool
) -> Interval | str:
    """To the highest (or lowest) group, which chance picks: to every group, all together."""
    if how.interval is of_log_ratio:
        found = _to_extreme(evaluation, reading, RATIO, alpha, lowest=lowest)
        if isinstance(found, str):
            return found
        return Interval(np.log(found.low), np.log(found.high), found.method)
    if how.interval is of_shortfall:
        found = _to_extreme(evaluation, reading, DIFFERENCE, alpha, lowest=lowest)
        return found if isinstance(found, str) else found.turned()
    if how.interval not in _TO_EXTREME:
        return "none: the extreme group is chosen from the same data"
    reading = by_clusters.for_pairs(reading, evaluation.takes_part)
    if reading.ends is None:
        return _nothing(reading)
    among, each = evaluation.takes_part, _for_pairs(evaluation.takes_part, alpha)
    if how.quotient and reading.binomial:
        find = multiplicity.ratio_to_lowest if lowest else multiplicity.ratio_to_highest
        rows = [
            find(reading.value[z], reading.effective_n[z], among[z], float(each[z]))
            for z in range(len(among))
        ]
        low, high = (np.stack([row[side] for row in rows]) for side in (0, 1))
        low, high = (np.maximum(low, 1.0), high) if lowest else (low, np.minimum(high, 1.0))
        return Interval(low, high, f"Koopman, {SIMULTANEOUS}")
    if how.quotient:
        low, high = reading.ends(_for_groups(among, alpha))
        return _ratio_to_extreme(low, high, among, reading.method, lowest=lowest)
    ends, value = _ends_for_pairs(reading, each[:, None], among, 1), reading.value
    if lowest:
        ends, value = (-ends[1], -ends[0]), -value
    rows = [
        multiplicity.difference_to_highest(value[z], (ends[0][z], ends[1][z]), among[z])
        for z in range(len(among))
    ]
    low, high = (np.stack([row[side] for row in rows]) for side in (0, 1))
    name = "Newcombe" if reading.binomial else "MOVER"
    found = Interval(np.minimum(low, 0.0), np.minimum(high, 0.0), f"{name}, {SIMULTANEOUS}")
    return found.turned() if lowest else found


def _within_reach(found: Interval | str, ideal: float, *, lowest: bool) -> Interval | str:
    """The interval to an extreme group: nobody lies beyond it."""
    if isinstance(found, str):
        return found
    if lowest:
        return found._replace(low=np.maximum(found.low, ideal))
    return found._replace(high=np.minimum(found.high, ideal))


def _ratio_to_extreme(
    low: Floats, high: Floats, among: Marks, method: str, *, lowest: bool
) -> Interval:
    """Each group's ends by those of the extreme one, where every value lies between its ends."""
    fill = np.inf if lowest else -np.inf
    best = [
        (np.min if lowest else np.max)(np.where(among, end, fill), axis=1, keepdims=True)
        for end in (low, high)
    ]
    # Of an end below 0 there is no ratio.
    positive = (low >= 0) & (best[0] >= 0)
    least, most = (np.where(positive, end, np.nan) for end in (low / best[1], high / best[0]))
    found = Interval(least, most, f"{method}, {SIMULTANEOUS}")
    if lowest:
        return found._replace(low=np.maximum(found.low, 1.0))
    return found._replace(high=np.minimum(found.high, 1.0))


def _folded(asked: Disparity, parts: Sequence[Evaluation], alpha: Alpha) -> Interval | str:
    """Of what is made of several rates, by their intervals."""
    fold = asked.fold
    if fold is REMAINDER:
        return _REMAINDER
    # Rates of the same clusters go together: their variances do not add up.
    adds = fold is MEAN and asked.to_reference and not by_clusters.is_clustered(parts[0])
    found = [_compared(part, alpha, 1 if adds else len(parts)) for part in parts]
    for one in found:
        if isinstance(one, str):
            return one
    bands = [one for one in found if not isinstance(one, str)]
    lows, highs = (np.stack([one[side] for one in bands]) for side in (0, 1))
    method = bands[0].method
    if adds:
        # True and false positive rates are of different people, so their variances add up.
        values = np.stack([part.value for part in parts])
        weights = np.full((len(parts), 1, 1), 1 / len(parts))
        _, low, high = mover.total(values, (lows, highs), weights)
        return Interval(low, high, "MOVER")
    if fold is MEAN:
        return Interval(lows.mean(axis=0), highs.mean(axis=0), method)
    if fold is MEAN_MAGNITUDE:
        sizes = np.abs(np.stack([lows, highs]))
        across = (lows <= 0) & (highs >= 0)
        least = np.where(across, 0.0, sizes.min(axis=0))
        return Interval(least.mean(axis=0), sizes.max(axis=0).mean(axis=0), f"{method}, together")
    if fold is MAX:
        return Interval(lows.max(axis=0), highs.max(axis=0), method)
    if fold is MIN:
        return Interval(lows.min(axis=0), highs.min(axis=0), method)
    # The larger of two may be either: told is the one that decides, whose interval holds together
    # with that of the other.
    values = np.stack([part.value for part in parts])
    assert fold.rank is not None
    at = np.argmax(np.where(np.isnan(values), -np.inf, fold.rank(values)), axis=0)[None]
    low, high = (np.take_along_axis(ends, at, axis=0)[0] for ends in (lows, highs))
    return Interval(low, high, f"{method}, both rates together")


def _other_part(evaluation: Evaluation, alpha: Alpha) -> tuple[Floats, Floats] | None:
    """The interval of the part that does not decide, where it may be the larger one."""
    asked = evaluation.metric
    if not isinstance(asked, Disparity) or asked.fold not in {LARGEST_MAGNITUDE, FARTHEST_FROM_1}:
        return None
    if len(evaluation.parts) != 2 or evaluation.subtracts or evaluation.attained is None:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        both = [_compared(part, alpha, 2) for part in evaluation.parts]
        if any(isinstance(one, str) for one in both):
            return None
        ends = [np.stack([one[side] for one in both]) for side in (0, 1)]
        at = evaluation.attained[None]
        first, other = (
            [np.take_along_axis(end, index, axis=0)[0] for end in ends] for index in (at, 1 - at)
        )
        center = float(asked.ideal)
        nearest = np.where(
            (first[0] <= center) & (center <= first[1]),
            0.0,
            np.fmin(abs(first[0] - center), abs(first[1] - center)),
        )
        farthest = np.fmax(abs(other[0] - center), abs(other[1] - center))
    may = farthest >= nearest
    return np.where(may, other[0], np.nan), np.where(may, other[1], np.nan)


def _of_whole(evaluation: Evaluation, alpha: Alpha) -> Interval | str:
    asked, terms = evaluation.metric, evaluation.terms
    assert isinstance(asked, TableMetric)
    if asked.interval is None:
        return f"none: {asked.no_interval}"
    low, high = asked.interval(evaluation.table, terms.minimum, terms.parameters, alpha)
    method = asked.method
    found = Interval(low[:, None], high[:, None], method)
    return _of_clusters(found, evaluation, alpha) if by_clusters.is_clustered(evaluation) else found


def _of_clusters(found: Interval, evaluation: Evaluation, alpha: Alpha) -> Interval:
    """The interval of ε where rows come in clusters: of two groups with what they share."""
    alone = by_clusters.of_two_groups(evaluation)
    gap = by_clusters.rate_gap(evaluation) if alone.any() else None
    pair = None if gap is None else by_clusters.of_epsilon(gap, alpha)
    if pair is None:
        return found._replace(method=f"{found.method}, {CLUSTER_ROBUST}")
    low, high = (np.where(alone, *ends) for ends in zip(pair[:2], found[:2], strict=True))
    name = pair.method if alone.all() else f"{found.method}, {CLUSTER_ROBUST}"
    return Interval(low, high, name)


def _less(evaluation: Evaluation, alpha: Alpha) -> Interval | str:
    """Of one outcome's value less another's: by who changes, where the same people are counted.

    Elsewhere both intervals hold together, however they depend.
    """
    by_pairs = _of_pairs(evaluation, alpha)
    if by_pairs is not None:
        return by_pairs
    first, second = (_interval(part, alpha / 2) for part in evaluation.parts)
    for one in (first, second):
        if isinstance(one, str):
            return one
    assert not isinstance(first, str)
    assert not isinstance(second, str)
    return Interval(
        first.low - second.high, first.high - second.low, f"{first.method}, both together"
    )


def _of_pairs(evaluation: Evaluation, alpha: Alpha) -> Interval | None:
    """Of a rate, or of its difference between two groups, by two outcomes of the same people."""
    asked, part = evaluation.metric, evaluation.parts[0]
    groups = pairs_of(evaluation)
    if groups is None:
        return None
    if isinstance(asked, GroupMetric):
        return Interval(*groups.ends(alpha), "Newcombe, paired")
    if not isinstance(asked, Disparity) or asked.comparison.interval is not of_difference:
        return None
    others = _beside_pairs(groups, part)
    if others is None or asked.comparison.shape is ComparisonShape.SPREAD:
        return None
    ends = mover.difference(
        groups.difference, groups.ends(alpha), others.difference, others.ends(alpha)
    )
    return Interval(*ends, "Newcombe, paired, MOVER")


def pairs_of(evaluation: Evaluation) -> PairedCounts | None:
    """The people of a rate by both outcomes that are subtracted; None where they cannot be told."""
    asked, terms = evaluation.metric, evaluation.terms
    is_plain = evaluation.averaged is None and terms.at is None and terms.of_class is None
    if not evaluation.subtracts or not is_plain:
        return None
    if isinstance(asked, GroupMetric):
        return count_pairs(asked, evaluation.table)
    if not isinstance(asked, Disparity) or len(asked.parts) > 1 or asked.mean:
        return None
    return count_pairs(asked.parts[0][0], evaluation.table)


def _beside_pairs(groups: PairedCounts, part: Evaluation) -> PairedCounts | None:
    """The same of whom each group is compared with: a group, or all others."""
    policy = part.terms.policy
    if policy is ReferencePolicy.REST:
        return groups.map(None)
    if policy not in SINGLE_REFERENCES:
        return None
    return groups.map(np.maximum(part.second.max(axis=1, keepdims=True), 0))


def _nothing(reading: GroupValues) -> str:
    return f"none: {reading.metric.no_interval}"
