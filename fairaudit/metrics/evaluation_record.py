"""`Evaluation` of a metric on a table; counts of the reference, comparisons, errors from bins."""

from __future__ import annotations

import math
from abc import ABC
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fairaudit.base.frozen import Frozen, memoize, replace
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.average_arrays import StratifiedAverages
from fairaudit.metrics.confusion_counts import GroupCounts, count_groups, one_against_rest
from fairaudit.metrics.disparities import Comparison, Disparity
from fairaudit.metrics.estimate import Unsmoothed
from fairaudit.metrics.formulas import Macro, Mean, Rate
from fairaudit.metrics.group_metrics import (
    CLUSTER_ROBUST,
    GroupMetric,
    GroupValues,
    TableMetric,
    TableValue,
)
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.share_models import POOLED_SELECTION_RATE, pooled_counts
from fairaudit.metrics.terms import (
    NO_GROUP,
    NO_PARAMETERS,
    MetricOptions,
    Parameters,
    ReferencePolicy,
)

Metric: TypeAlias = GroupMetric | Disparity | TableMetric

if TYPE_CHECKING:
    MetricRecord: TypeAlias = Metric
    """The type of a field that contains a metric: documents store its name, not its functions."""
else:

    class MetricRecord(ABC):  # noqa: B024  # stands for three classes
        """A metric as the type of a field: documents hold its name, not its functions."""

    for _record in (GroupMetric, Disparity, TableMetric):
        MetricRecord.register(_record)

ExactAt: TypeAlias = Callable[[int, int], Fraction | None]
"""Returns the value of a stratum and a group as a fraction; None if it is not rational."""


class Evaluation(Frozen, eq=False):
    """The values of one metric on one table.

    - `value` is [Z, W], where W = G if each group has a value and W = 1 for a spread. `first` and
      `second` are the indices of the compared groups (group and reference, or highest and lowest).
      The index of pooled groups is `NO_GROUP`.
    - `takes_part` [Z, G] marks the groups that are compared. `judged` marks the values of groups
      that take part and are not the reference.
    - `attained` is the index in `names` of the part (or of the outcome) that determines the value.
    - `error` [Z, W] is a bound of the error from the bins of a score.
    - For an average over strata, `table` has no strata, `strata` is the table with strata, and
      `averaged` contains the weights.
    - For a number over all groups, `by_group` is the evaluation of the separate groups.
    """

    metric: Metric
    table: GroupTable
    terms: MetricOptions
    value: Floats
    first: Ints
    second: Ints
    judged: Marks
    takes_part: Marks
    names: tuple[str, ...] = ()
    attained: Ints | None = None
    parts: tuple[Evaluation, ...] = ()
    group_values: GroupValues | None = None
    reference_values: GroupValues | None = None
    error: Floats | None = None
    exact_at: ExactAt | None = None
    table_value: TableValue | None = None
    strata: GroupTable | None = None
    averaged: StratifiedAverages | None = None
    by_group: Evaluation | None = None

    @property
    def leaves(self) -> tuple[Evaluation, ...]:
        """The evaluations of single group metrics that this evaluation consists of."""
        inner = self.parts or (self.by_group.parts if self.by_group else ())
        return tuple(leaf for part in inner for leaf in part.leaves) if inner else (self,)

    @property
    def favourable(self) -> bool | None:
        """Whether the outcome is a benefit; None (unknown) for a single class of several."""
        of_classes = isinstance(self.metric, Disparity) and self.metric.per_class is not None
        of_classes = of_classes or self.terms.of_class is not None
        return None if of_classes else self.table.favourable

    @property
    def spread(self) -> bool:
        """Whether there is one value for each stratum, not one for each group."""
        return isinstance(self.metric, TableMetric) or (
            isinstance(self.metric, Disparity)
            and (self.metric.over_groups is not None or not self.metric.to_reference)
        )

    @property
    def subtracts(self) -> bool:
        """Whether the value is a difference between two outcomes, which are the parts."""
        return bool(self.parts) and self.parts[0].metric is self.metric

    def decided_by(self, z: int, w: int) -> str | None:
        """The name of the rate or outcome (a part) that decides a value; None if all parts do."""
        if self.attained is None or not self.names:
            return None
        index = int(self.attained[z, w])
        return None if index == NO_GROUP else self.names[index]

    def exact(self, z: int, w: int) -> Fraction | None:
        """The value as a fraction; None if the value is not rational."""
        if not isinstance(self.metric, GroupMetric) and not math.isfinite(self.value[z, w]):
            return None
        if self.exact_at is not None:
            return self.exact_at(z, w)
        if not self.parts or not isinstance(self.metric, Disparity):
            return None
        parts = [part.exact(z, w) for part in self.parts]
        known = [part for part in parts if part is not None]
        return self.metric.fold.exact(known) if len(known) == len(parts) else None


def write_unsmoothed(evaluation: Evaluation, z: int) -> Unsmoothed | None:
    """The value of a stratum without pseudo-counts; None if the value uses no pseudo-counts."""
    sides = evaluation.parts if evaluation.subtracts else (evaluation,)
    values = [None if (table := side.table_value) is None else table.unsmoothed for side in sides]
    raw = [float(value[z]) for value in values if value is not None]
    return Unsmoothed(raw[0] - sum(raw[1:])) if raw else None


def find_policy(evaluation: Evaluation) -> ReferencePolicy | None:
    """The reference policy of groups; None without a reference."""
    if not isinstance(evaluation.metric, Disparity) or not evaluation.metric.to_reference:
        return None
    return (evaluation.parts or (evaluation,))[0].terms.policy


def number_groups(value: Floats) -> Ints:
    """The index of the group of each value: an array with the shape [Z, G] of the values."""
    numbers = np.empty(value.shape, dtype=np.int64)
    numbers[:] = np.arange(value.shape[1])
    return numbers


def evaluate_to_reference(
    disparity: Disparity,
    table: GroupTable,
    terms: MetricOptions,
    both_values: tuple[GroupValues, GroupValues],
    value: Floats,
    takes_part: Marks,
    place: tuple[Ints | None, Marks],
    exact: ExactAt,
) -> Evaluation:
    """The comparison of each group with its reference.

    `place` contains the index of the reference, and marks where the reference can be used.
    """
    index, usable = place
    values, against = both_values
    index = np.full((len(usable), 1), NO_GROUP) if index is None else index
    own = number_groups(value)
    # Without a usable reference, the values of all groups are undefined.
    second = np.where(usable, index, np.full_like(own, NO_GROUP))
    usable = usable & (takes_part.sum(axis=1, keepdims=True) >= 2)
    comparison, error = disparity.comparison, None
    if values.error is not None and against.error is not None:
        # The errors from the bins of a score add up over both sides.
        error = np.asarray(values.error + against.error)
        if comparison.scale not in (None, Scale.DIFFERENCE):
            # The comparison is monotone in both values, so its error is largest if the errors of
            # the values have opposite directions.
            most = 1.0 if comparison.scale in (Scale.ODDS, Scale.ARCSINE) else np.inf
            pairs = ((values.value, values.error), (against.value, against.error))
            low, least = (np.clip(side - error, 0.0, most) for side, error in pairs)
            high, largest = (np.clip(side + error, 0.0, most) for side, error in pairs)
            plain = comparison.apply(values.value, against.value)
            ends = (comparison.apply(high, least), comparison.apply(low, largest))
            error = np.asarray(np.maximum(*(np.abs(end - plain) for end in ends)))
    return Evaluation(
        metric=disparity,
        table=table,
        terms=terms,
        value=np.where(usable & takes_part, value, np.nan),
        first=own,
        second=second,
        judged=takes_part & (own != second),
        takes_part=takes_part,
        group_values=values,
        reference_values=against,
        error=error,
        exact_at=exact,
    )


def error_of_spread(
    comparison: Comparison, values: GroupValues, takes_part: Marks, pair: tuple[Ints, Ints]
) -> Floats | None:
    """A bound of the error of a spread: each end has at most the error of the worst group."""
    if values.error is None:
        return None
    worst = np.where(takes_part, values.error, 0.0).max(axis=1, initial=0.0)
    if not comparison.is_ratio:
        return np.asarray(2 * worst)[:, None]
    positions = np.arange(len(worst))
    high, low = (values.value[positions, end] for end in pair)
    return np.asarray(np.minimum((low + worst) / (high - worst) - low / high, 1.0))[:, None]


@memoize
def _each_class(table: GroupTable, *, for_average: bool) -> GroupCounts:
    return replace(
        count_groups(table, for_average=for_average),
        by_class=tuple(
            count_groups(class_table, for_average=for_average)
            for class_table in one_against_rest(table).values()
        ),
    )


def compute(
    metric: GroupMetric, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS
) -> GroupValues:
    """A group metric in every stratum and group, computed once for each table."""
    return _compute(counts, metric, parameters if metric.parameters else NO_PARAMETERS)


@memoize
def _compute(counts: GroupCounts, metric: GroupMetric, parameters: Parameters) -> GroupValues:
    values = metric.compute(counts, parameters)
    clustered = counts.clusters is not None or counts.unknown_clusters
    if clustered and not isinstance(metric, Rate | Mean):
        # The intervals of metrics other than rates and means assume that rows are independent.
        return replace(values, ends=None, own_test=None, method=CLUSTER_ROBUST)
    return values


def counts_for(metric: GroupMetric, table: GroupTable, *, for_average: bool = False) -> GroupCounts:
    """The counts of a table that a metric needs; some metrics need each class against the rest."""
    if metric is POOLED_SELECTION_RATE:
        return pooled_counts(table)
    count = _each_class if isinstance(metric, Macro) else count_groups
    return count(table, for_average=for_average)


def reference_counts(
    counts: GroupCounts, policy: ReferencePolicy, index: Ints | None
) -> GroupCounts:
    """The counts of the reference of each group; `index` is None for a pooled reference."""
    if index is not None:
        return counts.of_reference(tuple(np.maximum(index[:, 0], 0).tolist()))
    everywhere, others = policy is ReferencePolicy.EVERYBODY, policy is ReferencePolicy.REST
    return counts.together(everywhere=everywhere, others=others)


def counts_of_others(counts: GroupCounts, policy: ReferencePolicy) -> GroupCounts:
    """The counts of a pooled reference without the group itself."""
    return counts.together(everywhere=policy is ReferencePolicy.EVERYBODY, others=True)


def compare_values(
    metric: GroupMetric, comparison: Comparison, first: Floats, second: Floats
) -> Floats:
    """Compares the values of a metric on two sides.

    If a metric can be negative, a ratio is undefined unless both values are positive. Odds are
    undefined for numbers below 0 or above 1.
    """
    value = np.asarray(comparison.apply(first, second))
    if comparison.scale is Scale.ODDS and metric.bounds != (0, 1):
        are_shares = (first >= 0) & (first <= 1) & (second >= 0) & (second <= 1)
        return np.where(are_shares, value, np.nan)
    if (comparison.is_ratio or comparison.of_positives) and metric.bounds[0] != 0:
        return np.where((first > 0) & (second > 0), value, np.nan)
    return value


def compare_exactly(comparison: Comparison, *values: Fraction | None) -> Fraction | None:
    """Compares two fractions; None if the result is not rational or not defined."""
    first, second = values
    if first is None or second is None or not comparison.rational:
        return None
    try:
        return Fraction(comparison.apply(first, second))
    except ZeroDivisionError:
        return None


def exact_values(metric: GroupMetric, counts: GroupCounts, parameters: Parameters) -> ExactAt:
    """A function that returns the value of one group as a fraction; each value is computed once."""
    taken = parameters if metric.parameters else NO_PARAMETERS
    return lambda z, g: _find_exactly(counts, metric, taken, z, g)


@memoize
def _find_exactly(
    counts: GroupCounts, metric: GroupMetric, parameters: Parameters, z: int, g: int
) -> Fraction | None:
    return metric.exact(counts, z, g, parameters)
