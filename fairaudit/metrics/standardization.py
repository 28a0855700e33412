"""Measures of rates that are averaged over strata first, with equal weights for both sides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable, Marks
from fairaudit.metrics.average import (
    StratifiedAverages,
    _by_clusters,
    _reading_of_average,
    average_exactly,
    average_strata,
)
from fairaudit.metrics.comparisons import ITSELF
from fairaudit.metrics.counts import GroupCounts
from fairaudit.metrics.disparities import Comparison, Disparity, Pair, Sides
from fairaudit.metrics.eligibility import (
    comparable_strata,
    find_participants_overall,
    reference_index,
)
from fairaudit.metrics.evaluation import (
    Evaluation,
    compare_exactly,
    compare_values,
    compute,
    counts_for,
    evaluate_to_reference,
    exact_value,
    reference_counts,
)
from fairaudit.metrics.group_metrics import (
    GroupMetric,
    GroupValues,
)
from fairaudit.metrics.retabulate import collapse_strata
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    NO_GROUP,
    POOLED,
    Average,
    ReferencePolicy,
    Terms,
    Weights,
)


def bare_average(
    group_values: GroupValues,
    table: GroupTable,
    terms: Terms,
    average: Average,
    fraction: Callable[[int, int], Fraction | None],
    among: Marks | None = None,
) -> Evaluation:
    """The rate of each group, averaged over the strata where it has somebody.

    `among` [G] are the groups that make up everybody, all known ones unless said otherwise.
    """
    among = table.known if among is None else among
    everybody = np.where(among, group_values.weighted_n, 0).sum(axis=1, keepdims=True)
    both = np.broadcast_to(everybody, group_values.value.shape)
    # Whatever the rule, the weights are those of all groups together: a group has no other side.
    average = Average(Weights.REFERENCE) if average.weights is Weights.POOLED else average
    found = average_strata(
        average,
        table.strata,
        (group_values.value, group_values.value),
        (group_values.weighted_n, both),
        table.known_strata,
        table.known_strata,
    )
    collapsed = collapse_strata(table)
    n = np.asarray((group_values.n * found.support).sum(axis=0, keepdims=True))
    takes_part = find_participants_overall(table, n, group_values, terms.minimum) & among
    own = np.arange(len(table.groups))[None]

    def exact(_: int, g: int) -> Fraction | None:
        values = [fraction(z, g) for z in range(len(table.strata))]
        pairs = [
            (int(group_values.n[z, g]), int(everybody[z, 0])) for z in range(len(table.strata))
        ]
        if group_values.weight_sum is not None:
            return None
        pair = average_exactly(
            average, table.strata, [(v, v) for v in values], pairs, table.known_strata.tolist()
        )
        return pair and pair[0]

    return Evaluation(
        metric=group_values.metric,
        table=collapsed,
        terms=terms,
        value=found.first,
        first=own,
        second=np.full_like(own, NO_GROUP),
        judged=takes_part,
        takes_part=takes_part,
        group_values=_reading_of_average(
            group_values, found.first, found.first_weights, n, found.support
        ),
        fraction=exact,
        strata=table,
        averaged=found,
    )


def common_average(
    values: GroupValues,
    table: GroupTable,
    terms: Terms,
    average: Average,
    fraction: Callable[[int, int], Fraction | None],
) -> Evaluation:
    """The rate of each group, averaged over the strata where every group has somebody."""
    weight = values.weighted_n
    n = values.n[table.known_strata].sum(axis=0, keepdims=True)
    part = find_participants_overall(table, n, values, terms.minimum)
    occurs = ((weight > 0) & ~np.isnan(values.value)) | ~part
    common = occurs.all(axis=1, keepdims=True)
    everybody = np.where(part, weight, 0).sum(axis=1, keepdims=True)
    one = replace(
        values,
        value=np.where(common, values.value, np.nan),
        n=np.asarray(values.n * common),
    )
    found = bare_average(one, table, terms, average, fraction, among=part[0])
    assert found.averaged is not None
    # Of the weight of all groups, what stood in strata where one of them is missing.
    known_strata = table.known_strata[:, None]
    total = max(float((everybody * known_strata).sum()), 1.0)
    left_out = np.where(common, 0.0, everybody * known_strata / total)
    shown = replace(
        found.averaged,
        left_out=np.broadcast_to(left_out, weight.shape),
        off_support=np.full((1, weight.shape[1]), left_out.sum()),
    )

    def exact(z: int, g: int) -> Fraction | None:
        return None if found.fraction is None else found.fraction(z, g)

    return replace(found, averaged=shown, fraction=exact)


def average_to_reference(
    disparity: Disparity, table: GroupTable, terms: Terms, counts: GroupCounts
) -> Evaluation:
    """Both sides averaged over the strata with the same weights, then compared."""
    (metric, comparison), reference, average = disparity.parts[0], terms.reference, terms.average
    assert reference is not None
    assert average is not None
    if reference.policy in EXTREME_REFERENCES:
        return _average_to_extreme(disparity, table, terms, counts, average)
    collapsed = collapse_strata(table)
    crude = compute(metric, counts_for(metric, collapsed), terms.parameters)
    own = compute(metric, counts, terms.parameters)
    takes_part = find_participants_overall(table, crude.n, own, terms.minimum)
    index, usable = reference_index(reference, collapsed, crude.value, crude.n, takes_part)
    in_strata = None if index is None else np.broadcast_to(index, (len(table.strata), 1))
    others = reference_counts(counts, reference.policy, in_strata)
    if comparison is ITSELF:
        # The value is a comparison already, and has no other side.
        others = counts
    group_values, against = own, compute(metric, others, terms.parameters)
    if average.weights is Weights.POOLED and reference.policy is ReferencePolicy.OVERALL:
        # The group is among everybody already.
        average = Average(Weights.REFERENCE)
    compared, settled = comparable_strata(table), None
    if comparison is ITSELF:
        compared, settled = table.known_strata, _settled(counts)
        group_values = against = _in_strata(own, settled)
    sides, people = (
        (group_values.value, against.value),
        (group_values.weighted_n, against.weighted_n),
    )
    found = average_strata(average, table.strata, sides, people, table.known_strata, compared)
    if settled is not None:
        found = _with_lone_strata(found, table, people[0])

    def exact(_: int, g: int) -> Fraction | None:
        if comparison.exact_in_strata is not None:
            return comparison.exact_in_strata(_pairs_of(both_values, g))

        def of(side: GroupCounts, z: int) -> Fraction | None:
            if settled is not None and settled[z, g]:
                return Fraction(0)
            return exact_value(metric, side, terms.parameters, z, g)

        strata = range(len(table.strata))
        values = [(of(counts, z), of(others, z)) for z in strata]
        first, second = group_values.scaled_n, against.scaled_n
        people = [(int(first[z, g]), int(second[z, g])) for z in strata]
        pair = average_exactly(average, table.strata, values, people, compared.tolist())
        return pair and compare_exactly(comparison, *pair)

    n, m = (
        np.asarray((one.n * found.support).sum(axis=0, keepdims=True))
        for one in (group_values, against)
    )
    both_values = (
        _reading_of_average(group_values, found.first, found.first_weights, n, found.support),
        _reading_of_average(against, found.second, found.second_weights, m, found.support),
    )
    both_values = _by_clusters(both_values, (counts, others), (group_values, against), found)
    # Who is large enough, is so in the strata that are compared, and whom it is compared with too.
    takes_part = find_participants_overall(table, np.minimum(n, m), group_values, terms.minimum)
    place, value = (index, usable), _values_of(metric, comparison, both_values)
    evaluation = evaluate_to_reference(
        disparity, collapsed, terms, both_values, value, takes_part, place, exact
    )
    return replace(evaluation, strata=table, averaged=found)


def _settled(counts: GroupCounts) -> Marks:
    """Where a group's disparity is 0 whatever is decided, [Z, G]: it is there alone, or not at all.

    Whoever makes up all of the rejected and all of the selected has 1 - 1, whoever is not there
    0 - 0. Where nobody is rejected, or nobody selected, there is no share of them.
    """
    mass = counts.weighted
    both = (mass.all_rejected > 0) & (mass.all_selected > 0)
    alone = (mass.rejected == mass.all_rejected) & (mass.selected == mass.all_selected)
    return np.asarray(both & (alone | (mass.rejected + mass.selected == 0)))


def _in_strata(values: GroupValues, settled: Marks) -> GroupValues:
    """The disparities of strata as an average takes them: where they are settled, 0 of no width."""
    in_strata = values.ends

    def ends(alpha: Alpha) -> Ends:
        assert in_strata is not None
        low, high = in_strata(alpha)
        return np.where(settled, 0.0, low), np.where(settled, 0.0, high)

    value = np.where(settled, 0.0, values.value)
    return replace(
        values,
        value=value,
        ends=None if in_strata is None else ends,
        estimates={},
        intervals={},
    )


def _with_lone_strata(
    found: StratifiedAverages, table: GroupTable, people: Floats
) -> StratifiedAverages:
    """An average with the people of strata of one group told as off support.

    They weigh, but nobody there can differ: where all strata are such, there is no value, as a
    pass would say of groups that were never compared.
    """
    known, two = table.known_strata[:, None], comparable_strata(table)[:, None]
    there = people * known
    with np.errstate(divide="ignore", invalid="ignore"):
        off = (there * ~(found.support & two)).sum(axis=0, keepdims=True) / there.sum(axis=0)
    none = ~(found.support & two).any(axis=0, keepdims=True)
    return replace(
        found,
        first=np.where(none, np.nan, found.first),
        second=np.where(none, np.nan, found.second),
        support=found.support & ~none,
        off_support=np.nan_to_num(off),
    )


def _average_to_extreme(
    disparity: Disparity, table: GroupTable, terms: Terms, counts: GroupCounts, average: Average
) -> Evaluation:
    """Each group's average beside the highest or lowest, over strata where all of them occur."""
    (metric, comparison), reference = disparity.parts[0], terms.reference
    assert reference is not None

    def fraction(z: int, g: int) -> Fraction | None:
        return exact_value(metric, counts, terms.parameters, z, g)

    average = average if average.weights in {Weights.UNIFORM, Weights.LEVELS} else POOLED
    group_values = compute(metric, counts, terms.parameters)
    one = common_average(group_values, table, terms, average, fraction)
    assert one.group_values is not None
    index, usable = reference_index(
        reference, one.table, one.value, one.group_values.n, one.takes_part
    )
    assert index is not None
    best = np.maximum(index, 0)[0, 0]

    def beside_all(values: Any) -> Any:  # noqa: ANN401  # arrays of any numbers
        return np.broadcast_to(values[:, best : best + 1], one.value.shape)

    ours, in_all = one.group_values, one.group_values.ends

    def ends(alpha: Alpha) -> Ends:
        assert in_all is not None
        low, high = in_all(alpha)
        return beside_all(low), beside_all(high)

    against = GroupValues(
        metric,
        beside_all(ours.value),
        beside_all(ours.n),
        beside_all(ours.effective_n),
        strata=ours.strata and _of_column(ours.strata, best),
        ends=None if in_all is None else ends,
        method=ours.method,
    )
    both_values = (ours, against)
    value = _values_of(metric, comparison, both_values)

    def exact(z: int, g: int) -> Fraction | None:
        if comparison.exact_in_strata is not None:
            return comparison.exact_in_strata(_pairs_of(both_values, g))
        return compare_exactly(comparison, one.exact(z, g), one.exact(z, int(best)))

    place = (index, usable)
    evaluation = evaluate_to_reference(
        disparity, one.table, terms, both_values, value, one.takes_part, place, exact
    )
    return replace(evaluation, strata=table, averaged=one.averaged)


def _of_column(group_values: GroupValues, g: int) -> GroupValues:
    """What is known of a share in the strata of one group, beside every group."""

    def beside_all(values: Any) -> Any:  # noqa: ANN401  # arrays of any numbers
        return None if values is None else np.broadcast_to(values[:, g : g + 1], values.shape)

    return replace(
        group_values,
        value=beside_all(group_values.value),
        n=beside_all(group_values.n),
        effective_n=beside_all(group_values.effective_n),
        over=beside_all(group_values.over),
        under=beside_all(group_values.under),
        weight_sum=beside_all(group_values.weight_sum),
        deviation=None,
        ends=None,
    )


def _values_of(
    metric: GroupMetric, comparison: Comparison, both_values: tuple[GroupValues, GroupValues]
) -> Floats:
    """Both averages compared, or what their strata have in common."""
    one, two = both_values
    with np.errstate(divide="ignore", invalid="ignore"):
        if comparison.exact_in_strata is not None and comparison.contrast is not None:
            return comparison.contrast(Sides(one, two, one))
        return compare_values(metric, comparison, one.value, two.value)


def _pairs_of(both_values: tuple[GroupValues, GroupValues], g: int) -> list[Pair]:
    """Numerators and denominators of a group and its reference, of every stratum that has both."""
    one, two = (values.strata for values in both_values)
    if one is None or two is None or one.over is None or two.over is None:
        return []
    assert one.under is not None
    assert two.under is not None
    strata = np.flatnonzero(~np.isnan(one.value[:, g])).tolist()
    return [
        (
            (int(one.over[z, g]), int(one.under[z, g])),
            (int(two.over[z, g]), int(two.under[z, g])),
        )
        for z in strata
    ]
