"""`evaluate`: the values of a metric on a group table.

A metric has a value for each group, or a single value: a spread over the groups. Arrays are [Z, G]
(strata, groups) or [Z, W], where W is G if each group has a value and 1 for a spread. `z`, `g` and
`w` are the indices. `Evaluation` describes each array.
"""

from __future__ import annotations

from fractions import Fraction
from operator import mul

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import GroupTable, Ints, Marks
from fairaudit.metrics.average_metrics import average_to_reference, bare_average, common_average
from fairaudit.metrics.confusion_counts import GroupCounts, cut_at, one_against_rest
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.disparities import Comparison, Disparity, OverGroups, Sides
from fairaudit.metrics.eligibility import find_extremes, find_participants, find_reference
from fairaudit.metrics.evaluation_record import (
    Evaluation,
    ExactAt,
    Metric,
    compare_exactly,
    compare_values,
    compute,
    counts_for,
    error_of_spread,
    evaluate_to_reference,
    exact_values,
    number_groups,
    reference_counts,
)
from fairaudit.metrics.group_metrics import GroupMetric, TableMetric
from fairaudit.metrics.rates import NOT_SELECTED_RATE, PeopleCount
from fairaudit.metrics.regression import regress_on_reference
from fairaudit.metrics.terms import NO_GROUP, MetricOptions, Minimum, Reference, ReferencePolicy


def aggregate_groups(metric: Disparity, over: OverGroups, by_group: Evaluation) -> Evaluation:
    """Combines the departures from parity [Z, G] into one number for each stratum.

    Only judged groups with people count. The departures of ratios are taken on the log scale, so
    that a ratio and its inverse have the same departure.
    """
    values, judged = by_group.value, by_group.judged
    part_values = [part.group_values for part in by_group.parts or (by_group,)]
    weights = [values.scaled_n for values in part_values if values is not None]
    n = np.where(judged, np.min(weights, axis=0), 0)
    is_ratio = metric.comparison.is_ratio
    apart = np.abs(np.log(values) if is_ratio else values - float(metric.ideal))
    there = n > 0
    match over:
        case OverGroups.MEAN:
            value = np.where(there, n * apart, 0.0).sum(axis=1) / n.sum(axis=1)
        case OverGroups.SUM:
            value = np.where(there, apart, 0.0).sum(axis=1)
        case OverGroups.MIN if not is_ratio:
            value = apart.min(axis=1, where=there, initial=np.inf)
        case _:
            most = apart.max(axis=1, where=there, initial=-np.inf)
            value = -most if over is OverGroups.MIN else most
    value = np.exp(value) if is_ratio else value
    undefined = (judged & np.isnan(values)).any(axis=1) | ~there.any(axis=1)
    value = np.where(undefined, np.nan, value)[:, None]

    def exact_at(z: int, _: int) -> Fraction | None:
        pairs = [(int(n[z, g]), by_group.exact(z, g)) for g in np.flatnonzero(judged[z]).tolist()]
        exact = [(people, value) for people, value in pairs if value is not None]
        if len(exact) < len(pairs) or not sum(people for people, _ in pairs):
            return None
        if is_ratio:
            if over in {OverGroups.MEAN, OverGroups.SUM} or any(value <= 0 for _, value in exact):
                return None  # logarithms are not rational
            farthest = max(max(value, 1 / value) for _, value in exact if value)
            return farthest if over is OverGroups.MAX else 1 / farthest
        apart = [abs(value - Fraction(metric.ideal)) for _, value in exact]
        if over is OverGroups.MEAN:
            people = [n for n, _ in exact]
            return sum(map(mul, people, apart), Fraction(0)) / sum(people)
        if over is OverGroups.SUM:
            return sum(apart, Fraction(0))
        return max(apart) if over is OverGroups.MAX else min(apart)

    nobody = np.full(value.shape, NO_GROUP)
    return replace(
        by_group,
        metric=metric,
        value=value,
        first=nobody,
        second=nobody,
        judged=np.ones(value.shape, dtype=np.bool_),
        parts=(),
        by_group=by_group,
        names=(),
        attained=None,
        error=None,
        exact_at=exact_at,
    )


@np.errstate(all="ignore")  # undefined is NaN, wherever it is computed
def evaluate(metric: Metric, table: GroupTable, terms: MetricOptions) -> Evaluation:
    """The values of a metric on a table, with the options of a spec (`terms`)."""
    if terms.at is not None:
        above, below = cut_at(table, terms.at)
        uncut = replace(terms, at=None)
        # The result keeps the threshold, because tests at different thresholds are different tests.
        at_threshold = replace(evaluate(metric, above, uncut), terms=terms)
        if above is below:
            return at_threshold
        # A bin with values on both sides of the threshold may change the value by this error.
        value, other = at_threshold.value, evaluate(metric, below, uncut).value
        error = np.where(value == other, 0.0, np.abs(value - other))
        # If the value exists only on one side of the bin, the error is unbounded.
        error = np.where(np.isnan(value), 0.0, np.where(np.isnan(error), np.inf, error))
        return replace(at_threshold, error=error)
    if terms.of_class is not None:
        table = one_against_rest(table)[terms.of_class]
    if isinstance(metric, TableMetric):
        values = metric.compute(table, terms)
        return Evaluation(
            metric=metric,
            table=table,
            terms=terms,
            value=values.value[:, None],
            first=values.highest_group[:, None],
            second=values.lowest_group[:, None],
            judged=np.ones((len(values.value), 1), dtype=np.bool_),
            takes_part=values.takes_part,
            names=values.outcomes,
            attained=values.outcome[:, None],
            error=None if values.error is None else values.error[:, None],
            table_value=values,
        )
    if isinstance(metric, GroupMetric):
        return _evaluate_group_metric(metric, table, terms)
    if metric.over_groups is not None:
        by_group = evaluate(replace(metric, over_groups=None), table, terms)
        return aggregate_groups(metric, metric.over_groups, by_group)
    if metric.per_class is not None:
        # As in Žliobaitė (2015) §3.2, groups are compared first, and classes are averaged last.
        names = tuple(one_against_rest(table))
        parts = [evaluate(metric.per_class, table, replace(terms, of_class=name)) for name in names]
        values_of_classes = np.stack([part.value for part in parts])
        departure = np.abs(metric.fold.size(values_of_classes) - float(metric.ideal))
        # `attained` is the class that is farthest from parity.
        worst = np.where(np.isnan(departure), -np.inf, departure).argmax(axis=0)
        average = _fold_parts(metric, parts, worst)
        return replace(average, terms=replace(parts[0].terms, of_class=None), names=names)
    part_terms = [terms] * len(metric.parts)
    if metric.averages and (terms.average is None or len(metric.averages) > 1):
        # The spec can replace the average of a definition, but not several averages.
        part_terms = [replace(terms, average=average) for average in metric.averages]
    parts = [
        _compare_groups(metric, part, table, of_part)
        for part, of_part in zip(metric.parts, part_terms, strict=True)
    ]
    return parts[0] if len(parts) == 1 else _fold_parts(metric, parts)


def evaluate_against(
    metric: Metric, table: GroupTable, terms: MetricOptions, against: GroupTable | None = None
) -> Evaluation:
    """The values of a metric; with `against`, minus its values for the table `against`.

    Both tables contain the same groups with different outcomes.
    """
    evaluation = evaluate(metric, table, terms)
    if against is None:
        return evaluation
    other = evaluate(metric, against, terms)

    def exact_at(z: int, w: int) -> Fraction | None:
        first, second = evaluation.exact(z, w), other.exact(z, w)
        return None if first is None or second is None else first - second

    with np.errstate(invalid="ignore"):
        # A difference from infinity is unknown.
        value = np.where(np.isinf(other.value), np.nan, evaluation.value - other.value)
    own, others = evaluation.group_values, other.group_values
    in_sums = {Requirement.NUMBER, Requirement.SCORE}
    if own is not None and others is not None and own.metric.requirements & in_sums:
        # Classes are counted among people with both outcomes, but sums include people with one
        # outcome.
        same = ((own.n == others.n) | ~evaluation.takes_part).all(axis=1, keepdims=True)
        value = np.where(same, value, np.nan)
    if evaluation.spread:
        # Gaps over different groups are not comparable.
        same = (evaluation.takes_part == other.takes_part).all(axis=1, keepdims=True)
        value = np.where(same, value, np.nan)
    errors = [side.error for side in (evaluation, other) if side.error is not None]
    # The group with the highest rate by one outcome is the reference, but may not have the highest
    # rate by the other outcome. So a group is judged if it is judged by either outcome.
    takes_part = evaluation.spread or (evaluation.takes_part & other.takes_part)
    return replace(
        evaluation,
        value=value,
        judged=(evaluation.judged | other.judged) & takes_part,
        error=np.sum(errors, axis=0) if errors else None,
        exact_at=exact_at,
        parts=(evaluation, other),
        by_group=None,
        names=(),
        attained=None,
        group_values=None,
        reference_values=None,
    )


def evaluate_again(
    evaluation: Evaluation, size: int, events: int | None = None, admitted: Marks | None = None
) -> Evaluation:
    """The same evaluation with another minimum size.

    The groups that `admitted` [G] marks are compared even if a rule of the spec excludes groups
    with a small share of the people.
    """
    # The tables are already cut at the threshold.
    terms = replace(evaluation.terms, at=None, minimum=Minimum(size, events))
    tables = [part.table for part in evaluation.parts if evaluation.subtracts] or [evaluation.table]
    if admitted is not None:
        tables = [table.admit(admitted) for table in tables]
    return evaluate_against(evaluation.metric, tables[0], terms, *tables[1:])


def _evaluate_group_metric(
    metric: GroupMetric, table: GroupTable, terms: MetricOptions
) -> Evaluation:
    """The value of every group, averaged over the strata if the terms have an average."""
    counts = counts_for(metric, table, for_average=terms.average is not None)
    values = compute(metric, counts, terms.parameters)
    takes_part = find_participants(table, values, terms.minimum)
    if isinstance(metric, PeopleCount):
        # A group without people has a count of 0 if the spec declares the group.
        takes_part |= table.eligible & (table.n.sum(axis=0) == 0)
    exact_at = exact_values(values.metric, counts, terms.parameters)
    if terms.average is not None:
        return bare_average(values, table, terms, terms.average, exact_at)
    own = number_groups(values.value)
    return Evaluation(
        metric=metric,
        table=table,
        terms=terms,
        value=values.value,
        first=own,
        second=np.full_like(own, NO_GROUP),
        judged=takes_part,
        takes_part=takes_part,
        group_values=values,
        error=values.error,
        exact_at=exact_at,
    )


def _compare_groups(
    disparity: Disparity,
    part: tuple[GroupMetric, Comparison],
    table: GroupTable,
    terms: MetricOptions,
) -> Evaluation:
    """One comparison of one group metric: by a regression, as a spread, or with a reference."""
    metric, comparison = part
    if disparity.four_fifths and not table.favourable:
        metric = NOT_SELECTED_RATE
    single = disparity
    if disparity.parts != (part,) or metric is not part[0]:
        single = replace(disparity, parts=((metric, comparison),))
    counts = counts_for(metric, table, for_average=terms.average is not None)
    if disparity.fitted:
        return regress_on_reference(single, table, terms, counts)
    if comparison.is_max_min:
        return _spread(single, table, terms, counts)
    return _to_reference(single, table, terms, counts)


def _spread(
    disparity: Disparity, table: GroupTable, terms: MetricOptions, counts: GroupCounts
) -> Evaluation:
    """The comparison of the groups with the highest and the lowest value in each stratum."""
    (metric, comparison) = disparity.parts[0]
    stratified_table = weights = None
    values = compute(metric, counts, terms.parameters)
    exact_at: ExactAt = exact_values(metric, counts, terms.parameters)
    takes_part = find_participants(table, values, terms.minimum)
    if terms.average is not None:
        average = common_average(values, table, terms, terms.average, exact_at)
        stratified_table, table = table, average.table
        assert average.group_values is not None
        values, weights = average.group_values, average.averaged
        takes_part, exact_at = average.takes_part, average.exact
    high, low = find_extremes(values.value, takes_part, values.n)
    strata_index = np.arange(len(high))
    ends = (high, low) if comparison.highest_first else (low, high)
    pair = [values.value[strata_index, end] for end in ends]
    value = compare_values(metric, comparison, *pair)
    answered = (takes_part.sum(axis=1) >= 2) & ~(takes_part & np.isnan(values.value)).any(axis=1)
    value = np.where(answered, value, np.nan)
    known = ~np.isnan(value)

    def exact(z: int, _: int) -> Fraction | None:
        return compare_exactly(comparison, *(exact_at(z, int(end[z])) for end in ends))

    return Evaluation(
        metric=disparity,
        table=table,
        terms=terms,
        value=value[:, None],
        first=np.where(known, high, NO_GROUP)[:, None],
        second=np.where(known & (not comparison.one_sided), low, NO_GROUP)[:, None],
        judged=np.ones((len(value), 1), dtype=np.bool_),
        takes_part=takes_part,
        group_values=values,
        error=error_of_spread(comparison, values, takes_part, (high, low)),
        exact_at=exact,
        strata=stratified_table,
        averaged=weights,
    )


def _to_reference(
    disparity: Disparity, table: GroupTable, terms: MetricOptions, counts: GroupCounts
) -> Evaluation:
    (metric, comparison) = disparity.parts[0]
    reference = terms.reference
    if disparity.reference is not None:
        reference = Reference(disparity.reference)
    if reference is None:
        raise ValueError(f"{disparity.id} needs a reference")
    if reference is not terms.reference:
        terms = replace(terms, reference=reference)
    if terms.average is not None:
        return average_to_reference(disparity, table, terms, counts)
    values = compute(metric, counts, terms.parameters)
    takes_part, error = find_participants(table, values, terms.minimum), None
    index, usable = find_reference(reference, table, values.value, values.n, takes_part)
    others = reference_counts(counts, reference.policy, index)
    against = compute(metric, others, terms.parameters)
    if comparison.contrast is None:
        value = compare_values(metric, comparison, values.value, against.value)
    else:
        overall = reference_counts(counts, ReferencePolicy.OVERALL, None)
        sides = Sides(values, against, compute(metric, overall, terms.parameters))
        value = comparison.contrast(sides)
        error = None if comparison.error_of is None else comparison.error_of(sides)
    own_exactly = exact_values(values.metric, counts, terms.parameters)
    others_exactly = exact_values(against.metric, others, terms.parameters)

    def exact(z: int, g: int) -> Fraction | None:
        if comparison.exact_of is not None:
            own, other = values.ratio_at(z, g), against.ratio_at(z, g)
            return own and other and comparison.exact_of(own, other)
        return compare_exactly(comparison, own_exactly(z, g), others_exactly(z, g))

    both_sides, place = (values, against), (index, usable)
    evaluation = evaluate_to_reference(
        disparity, table, terms, both_sides, value, takes_part, place, exact
    )
    return evaluation if error is None else replace(evaluation, error=error)


def _fold_parts(
    disparity: Disparity, parts: list[Evaluation], attained: Ints | None = None
) -> Evaluation:
    """Combines several comparisons to one number: the value of one part, or a result of all parts.

    For a result of all parts, `attained` is the index of the part whose groups are reported; None
    means the first part.
    """
    fold = disparity.fold
    values = np.stack([part.value for part in parts])
    undefined = np.isnan(values).any(axis=0)
    if fold.rank is not None:
        ranks = np.where(np.isnan(values), -np.inf, fold.rank(values))
        attained = np.argmax(ranks, axis=0)
        value = np.take_along_axis(values, attained[None], axis=0)[0]
    elif fold.combine is not None:
        value = fold.combine(list(values))
    value = np.where(undefined, np.nan, value)
    takes_part = np.logical_and.reduce([part.takes_part for part in parts])

    def decided(arrays: list[Ints]) -> Ints:
        stacked = np.stack(arrays)
        picked = np.zeros_like(stacked[0]) if attained is None else attained
        return np.asarray(np.take_along_axis(stacked, picked[None], axis=0)[0])

    return replace(
        parts[0],
        metric=disparity,
        value=value,
        first=decided([part.first for part in parts]),
        second=decided([part.second for part in parts]),
        judged=takes_part & np.logical_or.reduce([part.judged for part in parts])
        if disparity.to_reference
        else parts[0].judged,
        takes_part=takes_part,
        names=tuple(part.group_values.metric.id for part in parts if part.group_values),
        attained=attained,
        parts=tuple(parts),
        group_values=None,
        reference_values=None,
        exact_at=None,
    )
