"""Asking one measure of one table: its values, who was compared with whom, what is missing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.counts import GroupCounts
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.disparities import Comparison, ComparisonShape, Disparity, Sides, TableMetric
from fairaudit.metrics.eligibility import find_extremes, find_participants, reference_index
from fairaudit.metrics.evaluation import (
    Evaluation,
    Metric,
    compare_exactly,
    compare_values,
    compute,
    counts_for,
    evaluate_to_reference,
    exact_value,
    reference_counts,
)
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.regression import regress_on_reference
from fairaudit.metrics.retabulate import cut_at, one_against_rest
from fairaudit.metrics.standardization import average_to_reference, bare_average, common_average
from fairaudit.metrics.terms import NO_GROUP, Reference, ReferencePolicy, Terms

_COMPLEMENT = replace(
    SELECTION_RATE,
    id="rate_of_not_being_selected",
    over=("rejected",),
    title="Rate of not being selected",
    short="not selected",
    means="The share of the group that is spared: the positive is a burden.",
)


def evaluate(asked: Metric, table: GroupTable, terms: Terms) -> Evaluation:
    """The values of a measure on a table, on the given terms."""
    if terms.at is not None:
        return _at_threshold(asked, table, terms, terms.at)
    if terms.of_class is not None:
        table = one_against_rest(table)[terms.of_class]
    if isinstance(asked, TableMetric):
        return _whole(asked, table, terms)
    if isinstance(asked, GroupMetric):
        return _bare(asked, table, terms)
    if asked.mean:
        return _mean(asked, evaluate(replace(asked, mean=False), table, terms))
    parts = [
        _compared(asked, part, table, _on_average(asked, at, terms))
        for at, part in enumerate(asked.parts)
    ]
    return parts[0] if len(parts) == 1 else _folded(asked, parts)


def evaluate_against(
    asked: Metric, table: GroupTable, terms: Terms, against: GroupTable | None = None
) -> Evaluation:
    """The values of a measure, less those of another outcome where one is given."""
    evaluation = evaluate(asked, table, terms)
    return evaluation if against is None else _less(evaluation, evaluate(asked, against, terms))


def _less(evaluation: Evaluation, other: Evaluation) -> Evaluation:
    """The values of one outcome minus those of another, on tables of the same groups."""

    def fraction(z: int, w: int) -> Fraction | None:
        one, two = evaluation.exact(z, w), other.exact(z, w)
        return None if one is None or two is None else one - two

    with np.errstate(invalid="ignore"):
        # Less than an infinite one is no improvement that could be told: it is not known.
        value = np.where(np.isinf(other.value), np.nan, evaluation.value - other.value)
    value = np.where(_same_people(evaluation, other), value, np.nan)
    if evaluation.spread:
        # A gap over other groups is another gap.
        same = (evaluation.takes_part == other.takes_part).all(axis=1, keepdims=True)
        value = np.where(same, value, np.nan)
    errors = [one.error for one in (evaluation, other) if one.error is not None]
    error = np.sum(errors, axis=0) if errors else None
    return replace(
        evaluation,
        value=value,
        judged=evaluation.judged & other.judged,
        error=error,
        fraction=fraction,
        parts=(evaluation, other),
        names=(),
        attained=None,
        group_values=None,
        reference_values=None,
    )


def _same_people(evaluation: Evaluation, other: Evaluation) -> Marks:
    """Whether a difference of numbers is one of the same people, [Z, W].

    Classes are counted among those who have both; whoever lacks one of two numbers cannot be told
    apart in the sums.
    """
    one, two = evaluation.group_values, other.group_values
    same = np.ones(evaluation.value.shape, dtype=np.bool_)
    if (
        one is None
        or two is None
        or not one.metric.requirements & {Requirement.NUMBER, Requirement.SCORE}
    ):
        return same
    equal = (one.n == two.n) | ~evaluation.takes_part
    return np.asarray(same & equal.all(axis=1, keepdims=True))


def _at_threshold(asked: Metric, table: GroupTable, terms: Terms, at: Decimal) -> Evaluation:
    """The values at a threshold of the score, and by how much a bin across it may change them."""
    above, below = cut_at(table, at)
    cut = replace(terms, at=None)
    # What is found keeps its threshold: at another one it is another test, of other people.
    found = replace(evaluate(asked, above, cut), terms=terms)
    if above is below:
        return found
    other = evaluate(asked, below, cut)
    with np.errstate(invalid="ignore"):
        error = np.where(found.value == other.value, 0.0, np.abs(found.value - other.value))
    # With the bin on one side alone there is a value: nothing is known of it.
    error = np.where(np.isnan(found.value), 0.0, np.where(np.isnan(error), np.inf, error))
    return replace(found, error=error)


def _mean(asked: Disparity, each: Evaluation) -> Evaluation:
    """The mean departure from parity over the groups that are judged, weighed by people.

    Ratios are averaged on the log scale, either side alike: 1 at parity, never below.
    """
    values, judged, n = each.value, each.judged, np.where(each.judged, _people(each), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.abs(np.log(values) if asked.comparison.quotient else values - float(asked.ideal))
        weighed = np.where(n > 0, n * apart, 0.0).sum(axis=1) / n.sum(axis=1)
        value = np.exp(weighed) if asked.comparison.quotient else weighed
    undefined = (judged & np.isnan(values)).any(axis=1)
    value = np.where(undefined, np.nan, value)[:, None]

    def fraction(z: int, _: int) -> Fraction | None:
        found = [(int(n[z, g]), each.exact(z, g)) for g in np.flatnonzero(judged[z]).tolist()]
        total = sum(people for people, _ in found)
        if asked.comparison.quotient or not total:
            return None
        ideal, parts = Fraction(asked.ideal), [(m, v) for m, v in found if v is not None]
        if len(parts) < len(found):
            return None
        return sum((m * abs(v - ideal) for m, v in parts), Fraction(0)) / total

    nobody = np.full(value.shape, NO_GROUP)
    return replace(
        each,
        metric=asked,
        value=value,
        first=nobody,
        second=nobody,
        judged=np.ones(value.shape, dtype=np.bool_),
        parts=(),
        averaged_parts=each.parts,
        names=(),
        attained=None,
        error=None,
        fraction=fraction,
    )


def _people(each: Evaluation) -> Ints:
    """People in the denominators behind each value; of several parts the fewest."""
    readings = [one.group_values for one in each.parts or (each,)]
    return np.asarray(np.min([one.n for one in readings if one is not None], axis=0))


def _on_average(measure: Disparity, at: int, terms: Terms) -> Terms:
    """The terms of a part: what the definition says of averaging holds where the spec is silent."""
    if not measure.averages or (terms.average is not None and len(measure.averages) == 1):
        return terms
    return replace(terms, average=measure.averages[at])


def _bare(quantity: GroupMetric, table: GroupTable, terms: Terms) -> Evaluation:
    tally = counts_for(quantity, table)
    reading = compute(quantity, tally, terms.parameters)
    takes_part = find_participants(table, reading, terms.minimum)

    def fraction(z: int, g: int) -> Fraction | None:
        return exact_value(reading.metric, tally, terms.parameters, z, g)

    if terms.average is not None:
        return bare_average(reading, table, terms, terms.average, fraction)
    own = np.broadcast_to(np.arange(len(table.groups)), reading.value.shape)
    return Evaluation(
        metric=quantity,
        table=table,
        terms=terms,
        value=reading.value,
        first=own,
        second=np.full_like(own, NO_GROUP),
        judged=takes_part,
        takes_part=takes_part,
        group_values=reading,
        error=reading.error,
        fraction=fraction,
    )


def _compared(
    measure: Disparity, part: tuple[GroupMetric, Comparison], table: GroupTable, terms: Terms
) -> Evaluation:
    quantity, comparison = part
    if measure.four_fifths and not table.favourable:
        quantity = _COMPLEMENT
    single = measure
    if measure.parts != (part,) or quantity is not part[0]:
        single = replace(measure, parts=((quantity, comparison),))
    tally = counts_for(quantity, table)
    if measure.fitted:
        return regress_on_reference(single, table, terms, tally)
    if comparison.shape is ComparisonShape.SPREAD:
        return _spread(single, table, terms, tally)
    return _to_reference(single, table, terms, tally)


def _spread(measure: Disparity, table: GroupTable, terms: Terms, tally: GroupCounts) -> Evaluation:
    (quantity, comparison) = measure.parts[0]
    strata = weights = None

    reading = compute(quantity, tally, terms.parameters)

    def of_group(z: int, g: int) -> Fraction | None:
        return exact_value(quantity, tally, terms.parameters, z, g)

    fraction: Callable[[int, int], Fraction | None] = of_group
    takes_part = find_participants(table, reading, terms.minimum)
    if terms.average is not None:
        one = common_average(reading, table, terms, terms.average, fraction)
        table, reading, weights, strata = one.table, _reading_of(one), one.averaged, table
        takes_part, fraction = one.takes_part, one.exact
    high, low = find_extremes(reading.value, takes_part, reading.n)
    at = np.arange(len(high))
    ends = (high, low) if comparison.highest_first else (low, high)
    pair = [reading.value[at, end] for end in ends]
    with np.errstate(divide="ignore", invalid="ignore"):
        value = compare_values(quantity, comparison, *pair)
    answered = (takes_part.sum(axis=1) >= 2) & ~(takes_part & np.isnan(reading.value)).any(axis=1)
    value = np.where(answered, value, np.nan)
    known = ~np.isnan(value)

    def exact(z: int, _: int) -> Fraction | None:
        return compare_exactly(comparison, *(fraction(z, int(end[z])) for end in ends))

    return Evaluation(
        metric=measure,
        table=table,
        terms=terms,
        value=value[:, None],
        first=np.where(known, high, NO_GROUP)[:, None],
        second=np.where(known, low, NO_GROUP)[:, None],
        judged=np.ones((len(value), 1), dtype=np.bool_),
        takes_part=takes_part,
        group_values=reading,
        error=_error_of_spread(comparison, reading, takes_part, (high, low)),
        fraction=exact,
        strata=strata,
        averaged=weights,
    )


def _error_of_spread(
    comparison: Comparison, reading: GroupValues, takes_part: Marks, pair: tuple[Ints, Ints]
) -> Floats | None:
    """How far a spread may be off: each end by no more than the worst group."""
    if reading.error is None:
        return None
    worst = np.where(takes_part, reading.error, 0.0).max(axis=1, initial=0.0)
    if not comparison.quotient:
        return np.asarray(2 * worst)[:, None]
    at = np.arange(len(worst))
    high, low = (reading.value[at, end] for end in pair)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.minimum((low + worst) / (high - worst) - low / high, 1.0))[:, None]


def _to_reference(
    measure: Disparity, table: GroupTable, terms: Terms, tally: GroupCounts
) -> Evaluation:
    (quantity, comparison) = measure.parts[0]
    reference = terms.reference
    if measure.reference is not None:
        reference = Reference(measure.reference)
    if reference is None:
        raise ValueError(f"{measure.id} needs a reference")
    if reference is not terms.reference:
        terms = replace(terms, reference=reference)
    if terms.average is not None:
        return average_to_reference(measure, table, terms, tally)
    reading = compute(quantity, tally, terms.parameters)
    takes_part, error = find_participants(table, reading, terms.minimum), None
    index, usable = reference_index(reference, table, reading.value, reading.n, takes_part)
    others = reference_counts(tally, reference.policy, index)
    against = compute(quantity, others, terms.parameters)
    with np.errstate(divide="ignore", invalid="ignore"):
        if comparison.contrast is None:
            value = compare_values(quantity, comparison, reading.value, against.value)
        else:
            everybody = compute(
                quantity, reference_counts(tally, ReferencePolicy.OVERALL, None), terms.parameters
            )
            sides = Sides(reading, against, everybody)
            value = comparison.contrast(sides)
            error = None if comparison.error_of is None else comparison.error_of(sides)

    def exact(z: int, g: int) -> Fraction | None:
        if comparison.exact_of is not None:
            pairs = [(one.over, one.under) for one in (reading, against)]
            ints = [
                (int(over[z, g]), int(under[z, g]))
                for over, under in pairs
                if over is not None and under is not None
            ]
            return comparison.exact_of(ints[0], ints[1]) if len(ints) == 2 else None
        return compare_exactly(
            comparison,
            exact_value(reading.metric, tally, terms.parameters, z, g),
            exact_value(against.metric, others, terms.parameters, z, g),
        )

    place, readings = (index, usable), (reading, against)
    found = evaluate_to_reference(measure, table, terms, readings, value, takes_part, place, exact)
    return found if error is None else replace(found, error=error)


def _folded(measure: Disparity, parts: list[Evaluation]) -> Evaluation:
    fold = measure.fold
    values = np.stack([part.value for part in parts])
    undefined = np.isnan(values).any(axis=0)
    with np.errstate(invalid="ignore"):
        if fold.rank is not None:
            ranks = np.where(np.isnan(values), -np.inf, fold.rank(values))
            attained = np.argmax(ranks, axis=0)
            value = np.take_along_axis(values, attained[None], axis=0)[0]
        elif fold.combine is not None:
            attained, value = None, fold.combine(list(values))
    value = np.where(undefined, np.nan, value)
    takes_part = np.logical_and.reduce([part.takes_part for part in parts])

    def decided(arrays: list[Ints]) -> Ints:
        stacked = np.stack(arrays)
        picked = np.zeros_like(stacked[0]) if attained is None else attained
        return np.asarray(np.take_along_axis(stacked, picked[None], axis=0)[0])

    return replace(
        parts[0],
        metric=measure,
        value=value,
        first=decided([part.first for part in parts]),
        second=decided([part.second for part in parts]),
        judged=takes_part & np.logical_or.reduce([part.judged for part in parts])
        if measure.to_reference
        else parts[0].judged,
        takes_part=takes_part,
        names=tuple(part.group_values.metric.id for part in parts if part.group_values),
        attained=attained,
        parts=tuple(parts),
        group_values=None,
        reference_values=None,
        fraction=None,
    )


def _whole(asked: TableMetric, table: GroupTable, terms: Terms) -> Evaluation:
    reading = asked.compute(table, terms.minimum, terms.parameters, terms.inference.alpha)
    return Evaluation(
        metric=asked,
        table=table,
        terms=terms,
        value=reading.value[:, None],
        first=reading.high[:, None],
        second=reading.low[:, None],
        judged=np.ones((len(reading.value), 1), dtype=np.bool_),
        takes_part=reading.takes_part,
        names=reading.outcomes,
        attained=reading.outcome[:, None],
        error=None if reading.error is None else reading.error[:, None],
        table_value=reading,
    )


def _reading_of(evaluation: Evaluation) -> GroupValues:
    assert evaluation.group_values is not None
    return evaluation.group_values
