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
    reading: GroupValues,
    table: GroupTable,
    terms: Terms,
    how: Average,
    fraction: Callable[[int, int], Fraction | None],
    among: Marks | None = None,
) -> Evaluation:
    """The rate of each group, averaged over the strata where it has somebody.

    `among` [G] are the groups that make up everybody, all known ones unless said otherwise.
    """
    among = table.known if among is None else among
    everybody = np.where(among, reading.weighted_n, 0).sum(axis=1, keepdims=True)
    both = np.broadcast_to(everybody, reading.value.shape)
    # Whatever the rule, the weights are those of all groups together: a group has no other side.
    how = Average(Weights.REFERENCE) if how.weights is Weights.POOLED else how
    found = average_strata(
        how,
        table.strata,
        (reading.value, reading.value),
        (reading.weighted_n, both),
        table.known_strata,
        table.known_strata,
    )
    whole = collapse_strata(table)
    n = np.asarray((reading.n * found.support).sum(axis=0, keepdims=True))
    takes_part = find_participants_overall(table, n, reading, terms.minimum) & among
    own = np.arange(len(table.groups))[None]

    def exact(_: int, g: int) -> Fraction | None:
        values = [fraction(z, g) for z in range(len(table.strata))]
        pairs = [(int(reading.n[z, g]), int(everybody[z, 0])) for z in range(len(table.strata))]
        if reading.weight_sum is not None:
            return None
        pair = average_exactly(
            how, table.strata, [(v, v) for v in values], pairs, table.known_strata.tolist()
        )
        return pair and pair[0]

    return Evaluation(
        metric=reading.metric,
        table=whole,
        terms=terms,
        value=found.first,
        first=own,
        second=np.full_like(own, NO_GROUP),
        judged=takes_part,
        takes_part=takes_part,
        group_values=_reading_of_average(
            reading, found.first, found.first_weights, n, found.support
        ),
        fraction=exact,
        strata=table,
        averaged=found,
    )


def common_average(
    reading: GroupValues,
    table: GroupTable,
    terms: Terms,
    how: Average,
    fraction: Callable[[int, int], Fraction | None],
) -> Evaluation:
    """The rate of each group, averaged over the strata where every group has somebody."""
    weight = reading.weighted_n
    n = reading.n[table.known_strata].sum(axis=0, keepdims=True)
    part = find_participants_overall(table, n, reading, terms.minimum)
    occurs = ((weight > 0) & ~np.isnan(reading.value)) | ~part
    common = occurs.all(axis=1, keepdims=True)
    everybody = np.where(part, weight, 0).sum(axis=1, keepdims=True)
    one = replace(
        reading,
        value=np.where(common, reading.value, np.nan),
        n=np.asarray(reading.n * common),
    )
    found = bare_average(one, table, terms, how, fraction, among=part[0])
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
    measure: Disparity, table: GroupTable, terms: Terms, tally: GroupCounts
) -> Evaluation:
    """Both sides averaged over the strata with the same weights, then compared."""
    (quantity, comparison), reference, how = measure.parts[0], terms.reference, terms.average
    assert reference is not None
    assert how is not None
    if reference.policy in EXTREME_REFERENCES:
        return _average_to_extreme(measure, table, terms, tally, how)
    whole = collapse_strata(table)
    crude = compute(quantity, counts_for(quantity, whole), terms.parameters)
    own = compute(quantity, tally, terms.parameters)
    takes_part = find_participants_overall(table, crude.n, own, terms.minimum)
    index, usable = reference_index(reference, whole, crude.value, crude.n, takes_part)
    in_strata = None if index is None else np.broadcast_to(index, (len(table.strata), 1))
    others = reference_counts(tally, reference.policy, in_strata)
    if comparison is ITSELF:
        # The value is a comparison already, and has no other side.
        others = tally
    reading, against = own, compute(quantity, others, terms.parameters)
    if how.weights is Weights.POOLED and reference.policy is ReferencePolicy.OVERALL:
        # The group is among everybody already.
        how = Average(Weights.REFERENCE)
    compared, settled = comparable_strata(table), None
    if comparison is ITSELF:
        compared, settled = table.known_strata, _settled(tally)
        reading = against = _in_strata(own, settled)
    sides, people = (reading.value, against.value), (reading.weighted_n, against.weighted_n)
    found = average_strata(how, table.strata, sides, people, table.known_strata, compared)
    if settled is not None:
        found = _with_lone_strata(found, table, people[0])

    def exact(_: int, g: int) -> Fraction | None:
        if comparison.exact_in_strata is not None:
            return comparison.exact_in_strata(_pairs_of(readings, g))

        def of(side: GroupCounts, z: int) -> Fraction | None:
            if settled is not None and settled[z, g]:
                return Fraction(0)
            return exact_value(quantity, side, terms.parameters, z, g)

        strata = range(len(table.strata))
        values = [(of(tally, z), of(others, z)) for z in strata]
        first, second = reading.scaled_n, against.scaled_n
        people = [(int(first[z, g]), int(second[z, g])) for z in strata]
        pair = average_exactly(how, table.strata, values, people, compared.tolist())
        return pair and compare_exactly(comparison, *pair)

    n, m = (
        np.asarray((one.n * found.support).sum(axis=0, keepdims=True)) for one in (reading, against)
    )
    readings = (
        _reading_of_average(reading, found.first, found.first_weights, n, found.support),
        _reading_of_average(against, found.second, found.second_weights, m, found.support),
    )
    readings = _by_clusters(readings, (tally, others), (reading, against), found)
    # Who is large enough, is so in the strata that are compared, and whom it is compared with too.
    takes_part = find_participants_overall(table, np.minimum(n, m), reading, terms.minimum)
    place, value = (index, usable), _values_of(quantity, comparison, readings)
    evaluation = evaluate_to_reference(
        measure, whole, terms, readings, value, takes_part, place, exact
    )
    return replace(evaluation, strata=table, averaged=found)


def _settled(tally: GroupCounts) -> Marks:
    """Where a group's disparity is 0 whatever is decided, [Z, G]: it is there alone, or not at all.

    Whoever makes up all of the rejected and all of the selected has 1 - 1, whoever is not there
    0 - 0. Where nobody is rejected, or nobody selected, there is no share of them.
    """
    mass = tally.weighted
    both = (mass.all_rejected > 0) & (mass.all_selected > 0)
    alone = (mass.rejected == mass.all_rejected) & (mass.selected == mass.all_selected)
    return np.asarray(both & (alone | (mass.rejected + mass.selected == 0)))


def _in_strata(reading: GroupValues, settled: Marks) -> GroupValues:
    """The disparities of strata as an average takes them: where they are settled, 0 of no width."""
    in_strata = reading.ends

    def ends(alpha: Alpha) -> Ends:
        assert in_strata is not None
        low, high = in_strata(alpha)
        return np.where(settled, 0.0, low), np.where(settled, 0.0, high)

    value = np.where(settled, 0.0, reading.value)
    return replace(
        reading,
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
    measure: Disparity, table: GroupTable, terms: Terms, tally: GroupCounts, how: Average
) -> Evaluation:
    """Each group's average beside the highest or lowest, over strata where all of them occur."""
    (quantity, comparison), reference = measure.parts[0], terms.reference
    assert reference is not None

    def fraction(z: int, g: int) -> Fraction | None:
        return exact_value(quantity, tally, terms.parameters, z, g)

    how = how if how.weights in {Weights.UNIFORM, Weights.LEVELS} else POOLED
    reading = compute(quantity, tally, terms.parameters)
    one = common_average(reading, table, terms, how, fraction)
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
        quantity,
        beside_all(ours.value),
        beside_all(ours.n),
        beside_all(ours.effective_n),
        strata=ours.strata and _of_column(ours.strata, best),
        ends=None if in_all is None else ends,
        method=ours.method,
    )
    readings = (ours, against)
    value = _values_of(quantity, comparison, readings)

    def exact(z: int, g: int) -> Fraction | None:
        if comparison.exact_in_strata is not None:
            return comparison.exact_in_strata(_pairs_of(readings, g))
        return compare_exactly(comparison, one.exact(z, g), one.exact(z, int(best)))

    place = (index, usable)
    evaluation = evaluate_to_reference(
        measure, one.table, terms, readings, value, one.takes_part, place, exact
    )
    return replace(evaluation, strata=table, averaged=one.averaged)


def _of_column(reading: GroupValues, g: int) -> GroupValues:
    """What is known of a share in the strata of one group, beside every group."""

    def beside_all(values: Any) -> Any:  # noqa: ANN401  # arrays of any numbers
        return None if values is None else np.broadcast_to(values[:, g : g + 1], values.shape)

    return replace(
        reading,
        value=beside_all(reading.value),
        n=beside_all(reading.n),
        effective_n=beside_all(reading.effective_n),
        over=beside_all(reading.over),
        under=beside_all(reading.under),
        weight_sum=beside_all(reading.weight_sum),
        deviation=None,
        ends=None,
    )


def _values_of(
    quantity: GroupMetric, comparison: Comparison, readings: tuple[GroupValues, GroupValues]
) -> Floats:
    """Both averages compared, or what their strata have in common."""
    one, two = readings
    with np.errstate(divide="ignore", invalid="ignore"):
        if comparison.exact_in_strata is not None and comparison.contrast is not None:
            return comparison.contrast(Sides(one, two, one))
        return compare_values(quantity, comparison, one.value, two.value)


def _pairs_of(readings: tuple[GroupValues, GroupValues], g: int) -> list[Pair]:
    """Numerators and denominators of a group and its reference, of every stratum that has both."""
    one, two = (reading.strata for reading in readings)
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
