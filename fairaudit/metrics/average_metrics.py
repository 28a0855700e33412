"""`average:` of a rate or comparison over strata: who takes part, the reference, exact values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Floats, GroupTable, Marks
from fairaudit.metrics.average_arrays import (
    StratifiedAverages,
    average_exactly,
    average_strata,
    exclude_lone_strata,
    settled_strata,
    values_of_average,
    vary_with_clusters,
)
from fairaudit.metrics.comparisons import ITSELF
from fairaudit.metrics.confusion_counts import GroupCounts, collapse_strata
from fairaudit.metrics.disparities import Comparison, Disparity, Pair, Sides
from fairaudit.metrics.eligibility import (
    find_participants_overall,
    find_reference,
    mark_comparable_strata,
)
from fairaudit.metrics.evaluation_record import (
    Evaluation,
    ExactAt,
    compare_exactly,
    compare_values,
    compute,
    counts_for,
    evaluate_to_reference,
    exact_values,
    reference_counts,
)
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    NO_GROUP,
    POOLED,
    Average,
    MetricOptions,
    ReferencePolicy,
    Weights,
)


def bare_average(
    values: GroupValues,
    table: GroupTable,
    terms: MetricOptions,
    average: Average,
    exact_at: ExactAt,
    among: Marks | None = None,
) -> Evaluation:
    """The rate of each group, averaged over the strata in which the group has people.

    The weights count the people of the groups that `among` [G] marks. If `among` is None, they
    count the people of all known groups.
    """
    among = table.known if among is None else among
    everybody = np.where(among, values.weighted_n, 0).sum(axis=1, keepdims=True)
    everybody_each = np.broadcast_to(everybody, values.value.shape)
    # A single group has no other side to pool with, so the weights are the people of all groups.
    average = Average(Weights.REFERENCE) if average.weights is Weights.POOLED else average
    averages = average_strata(
        average,
        table,
        (values.value, values.value),
        (values.weighted_n, everybody_each),
        table.known_strata,
    )
    averaged = values_of_average(values, averages)
    takes_part = find_participants_overall(table, averaged.n, values, terms.minimum) & among
    own, strata = np.arange(len(table.groups))[None], range(len(table.strata))

    def exact(_: int, g: int) -> Fraction | None:
        if values.weight_sum is not None:
            return None
        own_values = [(value, value) for value in (exact_at(z, g) for z in strata)]
        people = [(int(values.n[z, g]), int(everybody[z, 0])) for z in strata]
        known = table.known_strata.tolist()
        pair = average_exactly(average, table.strata, own_values, people, known)
        return pair and pair[0]

    return Evaluation(
        metric=values.metric,
        table=collapse_strata(table),
        terms=terms,
        value=averages.first,
        first=own,
        second=np.full_like(own, NO_GROUP),
        judged=takes_part,
        takes_part=takes_part,
        group_values=averaged,
        exact_at=exact,
        strata=table,
        averaged=averages,
    )


def common_average(
    values: GroupValues,
    table: GroupTable,
    terms: MetricOptions,
    average: Average,
    exact_at: ExactAt,
) -> Evaluation:
    """The rate of each group, averaged over the strata in which every group has people."""
    weight = values.weighted_n
    n = values.n[table.known_strata].sum(axis=0, keepdims=True)
    part = find_participants_overall(table, n, values, terms.minimum)
    occurs = ((weight > 0) & ~np.isnan(values.value)) | ~part
    common = occurs.all(axis=1, keepdims=True)
    everybody = np.where(part, weight, 0).sum(axis=1, keepdims=True)
    common_values = replace(
        values, value=np.where(common, values.value, np.nan), n=np.asarray(values.n * common)
    )
    evaluation = bare_average(common_values, table, terms, average, exact_at, among=part[0])
    assert evaluation.averaged is not None
    # Strata in which a group is missing are left out. Each has this share of the total weight.
    known_strata = table.known_strata[:, None]
    total = max(float((everybody * known_strata).sum()), 1.0)
    left_out = np.where(common, 0.0, everybody * known_strata / total)
    averages = replace(
        evaluation.averaged,
        left_out=np.broadcast_to(left_out, weight.shape),
        off_support=np.full((1, weight.shape[1]), left_out.sum()),
    )

    return replace(evaluation, averaged=averages)


def average_to_reference(
    disparity: Disparity, table: GroupTable, terms: MetricOptions, counts: GroupCounts
) -> Evaluation:
    """The comparison of a group and its reference, both averaged over the strata."""
    (metric, comparison), reference, average = disparity.parts[0], terms.reference, terms.average
    assert reference is not None
    assert average is not None
    if reference.policy in EXTREME_REFERENCES:
        return _average_to_extreme(disparity, table, terms, counts, average)
    if average.weights is Weights.POOLED and reference.policy is ReferencePolicy.OVERALL:
        # The reference, all people, already includes the group.
        average = Average(Weights.REFERENCE)
    collapsed = collapse_strata(table)
    crude = compute(metric, counts_for(metric, collapsed), terms.parameters)
    own = compute(metric, counts, terms.parameters)
    takes_part = find_participants_overall(table, crude.n, own, terms.minimum)
    index, usable = find_reference(reference, collapsed, crude.value, crude.n, takes_part)
    in_strata = None if index is None else np.broadcast_to(index, (len(table.strata), 1))
    others = reference_counts(counts, reference.policy, in_strata)
    sides = _SidesInStrata.of(disparity, table, terms, (counts, others))
    averages = sides.average(average, table)

    def exact(_: int, g: int) -> Fraction | None:
        if comparison.exact_in_strata is not None:
            return comparison.exact_in_strata(_pairs_of(both_values, g))
        pair = sides.average_exactly(average, table, terms, g)
        return pair and compare_exactly(comparison, *pair)

    first, second = sides.values
    both_values = (
        values_of_average(first, averages),
        values_of_average(second, averages, second=True),
    )
    both_values = vary_with_clusters(both_values, sides.counts, sides.values, averages)
    # Both a group and its reference must be large enough within the compared strata.
    n = np.minimum(both_values[0].n, both_values[1].n)
    takes_part = find_participants_overall(table, n, first, terms.minimum)
    place, value = (index, usable), _values_of(metric, comparison, both_values)
    evaluation = evaluate_to_reference(
        disparity, collapsed, terms, both_values, value, takes_part, place, exact
    )
    return replace(evaluation, strata=table, averaged=averages)


class _SidesInStrata(Frozen, eq=False):
    """A group and its reference in every stratum.

    `compared` [Z] marks the strata that the average may use. `settled` [Z, G] marks strata in which
    the value is 0 for every possible decision. None if the metric is not itself a comparison.
    """

    counts: tuple[GroupCounts, GroupCounts]
    values: tuple[GroupValues, GroupValues]
    compared: Marks
    settled: Marks | None

    @classmethod
    def of(
        cls,
        disparity: Disparity,
        table: GroupTable,
        terms: MetricOptions,
        counts: tuple[GroupCounts, GroupCounts],
    ) -> _SidesInStrata:
        """Computes the metric for both sides; if it is itself a comparison, the sides are equal."""
        metric, comparison = disparity.parts[0]
        own = compute(metric, counts[0], terms.parameters)
        if comparison is not ITSELF:
            against = compute(metric, counts[1], terms.parameters)
            return cls(counts, (own, against), mark_comparable_strata(table), None)
        settled = settled_strata(counts[0])
        # In settled strata, the value and the ends of its interval are exactly 0.
        ends = own.map_ends(
            lambda low, high: (np.where(settled, 0.0, low), np.where(settled, 0.0, high))
        )
        own = replace(own, value=np.where(settled, 0.0, own.value), ends=ends)
        return cls((counts[0], counts[0]), (own, own), table.known_strata, settled)

    def average(self, average: Average, table: GroupTable) -> StratifiedAverages:
        first, second = self.values
        values, people = (first.value, second.value), (first.weighted_n, second.weighted_n)
        everyone = (self.counts[0].everyone / table.scale, self.counts[1].everyone / table.scale)
        averages = average_strata(average, table, values, people, self.compared, everyone)
        if self.settled is None:
            return averages
        return exclude_lone_strata(averages, table, first.weighted_n)

    def average_exactly(
        self, average: Average, table: GroupTable, terms: MetricOptions, g: int
    ) -> tuple[Fraction, Fraction] | None:
        first, second = self.values
        own, other = (
            exact_values(first.metric, counts, terms.parameters) for counts in self.counts
        )
        strata = range(len(table.strata))
        values = [
            (Fraction(0), Fraction(0))
            if self.settled is not None and self.settled[z, g]
            else (own(z, g), other(z, g))
            for z in strata
        ]
        people = [(int(first.scaled_n[z, g]), int(second.scaled_n[z, g])) for z in strata]
        sides = (counts.everyone for counts in self.counts)
        everyone = list(zip(*(side[:, g].tolist() for side in sides), strict=True))
        compared = self.compared.tolist()
        return average_exactly(average, table.strata, values, people, compared, everyone)


def _average_to_extreme(
    disparity: Disparity,
    table: GroupTable,
    terms: MetricOptions,
    counts: GroupCounts,
    average: Average,
) -> Evaluation:
    """Compares the averages of each group and of the extreme group, over strata with all groups."""
    (metric, comparison), reference = disparity.parts[0], terms.reference
    assert reference is not None
    exact_at = exact_values(metric, counts, terms.parameters)
    average = average if average.weights in {Weights.UNIFORM, Weights.LEVELS} else POOLED
    group_values = compute(metric, counts, terms.parameters)
    common = common_average(group_values, table, terms, average, exact_at)
    assert common.group_values is not None
    n, takes_part = common.group_values.n, common.takes_part
    index, usable = find_reference(reference, common.table, common.value, n, takes_part)
    assert index is not None
    best = int(np.maximum(index, 0)[0, 0])
    both_values = (common.group_values, _repeat_group(common.group_values, best))
    value = _values_of(metric, comparison, both_values)

    def exact(z: int, g: int) -> Fraction | None:
        if comparison.exact_in_strata is not None:
            return comparison.exact_in_strata(_pairs_of(both_values, g))
        return compare_exactly(comparison, common.exact(z, g), common.exact(z, int(best)))

    place = (index, usable)
    evaluation = evaluate_to_reference(
        disparity, common.table, terms, both_values, value, common.takes_part, place, exact
    )
    return replace(evaluation, strata=table, averaged=common.averaged)


def _repeat_group(values: GroupValues, g: int) -> GroupValues:

    def of_group(array: Any) -> Any:  # noqa: ANN401  # arrays of any numbers
        return None if array is None else np.broadcast_to(array[:, g : g + 1], array.shape)

    return replace(
        values,
        **{name: of_group(getattr(values, name)) for name in _OF_EACH_GROUP},
        strata=values.strata and _repeat_group(values.strata, g),
        deviation=None,
        ends=values.map_ends(lambda low, high: (of_group(low), of_group(high))),
    )


_OF_EACH_GROUP = ("value", "n", "effective_n", "over", "under", "weight_sum")


def _values_of(
    metric: GroupMetric, comparison: Comparison, both_values: tuple[GroupValues, GroupValues]
) -> Floats:
    """Compares both averages, or estimates the value that all strata have in common."""
    first, second = both_values
    if comparison.exact_in_strata is not None and comparison.contrast is not None:
        return comparison.contrast(Sides(first, second, first))
    return compare_values(metric, comparison, first.value, second.value)


def _pairs_of(both_values: tuple[GroupValues, GroupValues], g: int) -> list[Pair]:
    """The numerators and denominators of a group and its reference in each stratum with both."""
    first, second = (values.strata for values in both_values)
    if first is None or second is None:
        return []
    strata = np.flatnonzero(~np.isnan(first.value[:, g])).tolist()
    pairs = [(first.ratio_at(z, g), second.ratio_at(z, g)) for z in strata]
    return [(own, other) for own, other in pairs if own and other]
