"""Rows of groups, rates and comparisons, and rows that compare two models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.base.names import describe_group
from fairaudit.cube import Group, Grouping, GroupTable, Marks
from fairaudit.evidence import find_significances
from fairaudit.evidence.missing_bounds import find_possible_ends
from fairaudit.evidence.records import estimate_group, find_parts, group_at
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.evidence.value_tests import run_mcnemar
from fairaudit.judge import Limit
from fairaudit.metrics import (
    Better,
    Disparity,
    Eligibility,
    Evaluation,
    GroupMetric,
    GroupValues,
    PeopleCount,
    build_disparity,
    evaluate,
    find_comparison_id,
    is_over_classes,
)
from fairaudit.metrics.comparisons import DIFFERENCE, RATIO
from fairaudit.metrics.confusion_counts import one_against_rest
from fairaudit.metrics.eligibility import find_eligibility, find_group, find_participants
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.evaluation_record import compute, counts_for
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.other_names import FairRanges
from fairaudit.metrics.paired_counts import correlate_outcomes, count_pairs
from fairaudit.metrics.reasons import undefined_reason
from fairaudit.metrics.terms import NO_GROUP, NO_MINIMUM, Reference, ReferencePolicy
from fairaudit.pipeline.tables.audit import Tables, list_places, list_rates, write_estimate
from fairaudit.result.rows import ComparisonRow, GroupRow, ModelChange, RateRow
from fairaudit.spec import MetricRequest

_SAME = 1e-12
"""Values that differ by at most this are the same."""


def groups(tables: Tables, requests: tuple[MetricRequest, ...]) -> Iterator[GroupRow]:
    """A row for all people and for each group: number of people, share, and counts of outcomes."""
    places = dict.fromkeys(
        (request.of, by, given) for request, by, given in list_places(requests, everybody=True)
    )
    minima = (request.terms.minimum for request in requests)
    minimum = next((minimum for minimum in minima if minimum != NO_MINIMUM), NO_MINIMUM)
    for of, by, given in places:
        table = tables.table(by, given, of)
        by_class = table.people.sum(axis=1)
        for z, stratum in enumerate(table.strata):
            known = int(table.n[z][table.known].sum())
            for g, group in enumerate(table.groups):
                n = int(table.n[z, g])
                if n:
                    counts = [int(by_class[z, p, g]) for p in range(len(table.classes))]
                    yield GroupRow(
                        of=of,
                        by=by,
                        stratum=stratum,
                        group=group,
                        n=n,
                        share=n / known if table.known[g] else None,
                        counts=dict(zip(table.classes, counts, strict=True)),
                        standing=find_eligibility(table, g, n, minimum),
                    )
        for group in tables.list_empty(by, given, of):
            nobody = dict.fromkeys(table.classes, 0)
            yield GroupRow(of, by, (), group, 0, 0.0, nobody, Eligibility.EMPTY)


def rates(tables: Tables, requests: tuple[MetricRequest, ...]) -> Iterator[RateRow]:
    """A row for all people and for each group, for each different rate of the spec."""
    seen: set[tuple[object, ...]] = set()
    # If all comparisons of a rate name the same reference group, the rows show this group.
    references: dict[tuple[str, str, Grouping], dict[Group, Reference]] = {}
    for request in requests:
        for by, reference in request.references.items():
            for rate in list_rates(request.metric) if reference.group else ():
                of_rate = references.setdefault((rate.id, request.of, by), {})
                of_rate[reference.group] = reference
    named = {key: next(iter(of.values())) for key, of in references.items() if len(of) == 1}
    asked: list[MetricRequest] = []
    for request in requests:
        if isinstance(request.metric, Disparity) and is_over_classes(request.metric):
            # The rows show the comparison of each class, not the mean over classes.
            classes = one_against_rest(tables.table((), (), request.of))
            asked += map(request.in_class, classes)
        else:
            asked.append(request)
    for request, by, given in list_places(asked, everybody=True):
        for rate in list_rates(request.metric):
            if not by and isinstance(rate, Formula) and rate.compares:
                continue  # everybody cannot be compared with others
            key = (rate.id, request.of, by, given, repr(request.options_of(rate)))
            if key not in seen:
                seen.add(key)
                table = tables.table(by, given, request.of)
                reference = _find_reference(request, named.get((rate.id, request.of, by)), table)
                rows = _rate_rows(rate, request, table, reference)
                yield from rows
                # Add declared groups without people.
                for group in tables.list_empty(by, given, request.of) if rows else ():
                    reason = f"{rate.id}: no people in {describe_group(group)}"
                    estimate = Estimate(math.nan, n=0, reason=reason)
                    if isinstance(rate, PeopleCount) and not rate.cell:
                        why = f"none: {rate.no_interval}"
                        estimate = Estimate(0.0, n=0, exact=Fraction(0), no_interval=why)
                    yield replace(
                        rows[0],
                        group=group,
                        estimate=estimate,
                        standing=Eligibility.EMPTY,
                        difference=math.nan,
                        ratio=math.nan,
                    )


def _rate_rows(
    rate: GroupMetric, request: MetricRequest, table: GroupTable, reference: Reference
) -> list[RateRow]:
    """The rows of a rate in each stratum, the worst value first; small and unknown groups last.

    If neither direction is better, the lowest value comes first.
    """
    terms = replace(request.terms_for(table.by), reference=None)
    evaluation = evaluate(rate, table, terms)
    reading = evaluation.group_values
    assert reading is not None
    compared_terms = replace(terms, reference=reference)
    difference, ratio = (
        evaluate(build_disparity(rate, comparison), table, compared_terms)
        for comparison in (DIFFERENCE, RATIO)
    )
    strata = None if evaluation.averaged is None else evaluation.strata
    averaged = () if strata is None else strata.given
    table, significance_at = evaluation.table, find_significances(difference)
    rows, options = [], request.options_of(rate)
    people, sizes = table.n.tolist(), reading.n.tolist()
    differences, ratios = difference.value.tolist(), ratio.value.tolist()
    references = difference.second.tolist()
    has_reference = _mark_printed_sides(reading, difference).tolist()
    takes_part = evaluation.takes_part.tolist()
    both = (("difference", difference), ("ratio", ratio)) if table.masked else ()
    ranges = [(name, find_possible_ends(one)) for name, one in both]
    for z, stratum in enumerate(table.strata):
        for g, group in enumerate(table.groups):
            if not people[z][g]:
                continue
            estimate = _estimate_rate(evaluation, reading, z, g)
            if has_reference[z][g] and (significance := significance_at(z, g)) is not None:
                estimate = replace(estimate, significance=significance)
            rows.append(
                RateRow(
                    metric=rate.id,
                    of=request.of,
                    by=table.by,
                    stratum=stratum,
                    group=group,
                    estimate=estimate,
                    standing=find_eligibility(
                        table, g, sizes[z][g], request.terms.minimum, takes_part=takes_part[z][g]
                    ),
                    reference=group_at(table, references[z][g]) if has_reference[z][g] else (),
                    difference=differences[z][g] if has_reference[z][g] else math.nan,
                    ratio=ratios[z][g] if has_reference[z][g] else math.nan,
                    parameters=options,
                    alpha=request.terms.inference.alpha,
                    averaged=averaged,
                    **{
                        f"{name}_{end}": float(of_end[z, g])
                        for name, ends in ranges
                        for end, of_end in zip(("low", "high"), ends or (), strict=False)
                        if references[z][g] not in {g, NO_GROUP}
                    },
                )
            )
    return _sort_worst_first(rows, rate, evaluation)


def _mark_printed_sides(values: GroupValues, difference: Evaluation) -> Marks:
    """Marks [Z, G] the groups whose difference is the difference of two rates in the table.

    A comparison averages over the strata that both groups have, but a printed rate averages over
    all strata of its group.
    """
    if difference.averaged is None:
        return np.ones(difference.value.shape, dtype=np.bool_)
    assert difference.group_values is not None
    assert difference.reference_values is not None
    own, second = np.arange(values.value.shape[1]), difference.second
    sides = (
        (values.value, difference.group_values.value),
        (np.take_along_axis(values.value, second, axis=1), difference.reference_values.value),
    )
    is_same = np.all([np.isclose(*side, rtol=0, atol=_SAME) for side in sides], axis=0)
    is_same &= second != NO_GROUP
    reference_of_others = [(is_same & (second == g) & (own != g)).any() for g in own]
    return np.where(second == own, reference_of_others, is_same)


def _estimate_rate(evaluation: Evaluation, values: GroupValues, z: int, g: int) -> Estimate:
    """The rate of one group, or the reason why it is undefined."""
    estimate = estimate_group(evaluation, values, z, g)
    if evaluation.error is not None:
        estimate = replace(estimate, error=float(evaluation.error[z, g]))
    if math.isnan(estimate.value):
        group = describe_group(evaluation.table.groups[g])
        reason = f"{evaluation.metric.id}: {undefined_reason(values)} in {group}"
        estimate = replace(estimate, reason=reason)
    return estimate


def _sort_worst_first(
    rows: list[RateRow], rate: GroupMetric, evaluation: Evaluation
) -> list[RateRow]:
    table = evaluation.table
    low_is_worse = rate.better.given(favourable=evaluation.favourable) is not Better.LOWER
    order = list(Eligibility)
    places = {stratum: z for z, stratum in enumerate(table.strata)}

    def worst_first(row: RateRow) -> tuple[int, int, float]:
        value = row.estimate.value
        if rate.best_inside is not None:
            value = -abs(value - rate.best_inside)
        elif not low_is_worse:
            value = -value
        rank = math.inf if math.isnan(value) else value
        return places[row.stratum], order.index(row.standing), rank

    return sorted(rows, key=worst_first)


def _find_reference(
    request: MetricRequest, named: Reference | None, table: GroupTable
) -> Reference:
    """The reference of a table of rates: the named group, the declared group, or the largest.

    If only some attributes declare a level, the largest group with these levels is used.
    """
    for reference in (named, request.declared.get(table.by)):
        if reference is not None and find_group(table.groups, reference.group) != NO_GROUP:
            return reference
    levels = {
        pair for one in request.declared.values() if len(one.group) == 1 for pair in one.group
    }
    wanted = {pair for pair in levels if pair[0] in table.by}
    people = table.n[table.known_strata].sum(axis=0)
    having = [
        g for g, group in enumerate(table.groups) if table.eligible[g] and wanted <= set(group)
    ]
    if not wanted or not having:
        return Reference(ReferencePolicy.LARGEST)
    largest = max(having, key=lambda g: int(people[g]))
    return Reference(ReferencePolicy.DECLARED, table.groups[largest])


def comparisons(
    tables: Tables, requests: tuple[MetricRequest, ...], ranges: FairRanges | None = None
) -> Iterator[ComparisonRow]:
    """A row for each comparison over all groups, and for each group compared with a reference.

    There are rows only for judged values in known strata. Values outside fair `ranges` are flagged.
    """
    for request, by, given in list_places(requests):
        if isinstance(request.metric, GroupMetric):
            continue
        evaluation = tables.evaluate_request(request, by, given)
        if evaluation is None:
            continue
        table, policy, spread = evaluation.table, evaluation.terms.policy, evaluation.spread
        compare, parameters = find_comparison_id(request.metric), request.options
        aggregate, limits, is_one_sided = None, list[Limit](), False
        if isinstance(request.metric, Disparity):
            aggregate = request.metric.over_groups
            is_one_sided = request.metric.comparison.one_sided
        if ranges is not None and isinstance(evaluation.metric, Disparity):
            fair = ranges.range_of(evaluation.metric)
            limits = [] if fair is None else [Limit(below=fair[0]), Limit(above=fair[1])]
        alone = (spread and aggregate is None) or is_one_sided
        title = request.metric.title + (f", {aggregate} over groups" if aggregate else "")
        over = None if evaluation.averaged is None else evaluation.strata
        averaged = () if over is None else over.given
        intervals, significance_at = find_intervals(evaluation), find_significances(evaluation)
        firsts, seconds = evaluation.first.tolist(), evaluation.second.tolist()
        for z, stratum in enumerate(table.strata):
            if not table.known_strata[z]:
                continue
            takes_part = int(evaluation.takes_part[z].sum())
            for w in np.flatnonzero(evaluation.judged[z]).tolist():
                estimate = write_estimate(evaluation, z, w, intervals, significance_at(z, w))
                value = float(evaluation.value[z, w])
                flags = (
                    str(limit)
                    for limit in limits
                    if not math.isnan(value) and limit.is_crossed(value, evaluation.exact(z, w))
                )
                yield ComparisonRow(
                    metric=evaluation.metric.id,
                    title=title,
                    compare=compare,
                    of=table.of,
                    by=table.by,
                    stratum=stratum,
                    group=None if spread else table.groups[w],
                    reference=str(policy) if policy and not alone else None,
                    parameters=parameters,
                    estimate=estimate,
                    parts=find_parts(evaluation, z, w),
                    decided_by=evaluation.decided_by(z, w),
                    first=group_at(table, firsts[z][w]),
                    second=group_at(table, seconds[z][w]),
                    takes_part=takes_part,
                    averaged=averaged,
                    flag=next(flags, None),
                )


def model_changes(
    tables: Tables, requests: Sequence[MetricRequest], models: Sequence[str]
) -> Iterator[ModelChange]:
    """A row for each rate of two models of the same people, for all people and for each group.

    The spec names each rate for at least one model. Rates by a threshold, of one class, or averaged
    are left out, because they do not count each person either as a hit or as no hit.
    """
    plain = [
        request
        for request in requests
        if request.terms.at is None
        and request.terms.of_class is None
        and request.terms.average is None
        and not is_over_classes(request.metric)
    ]
    for first, second in combinations(models, 2):
        seen: set[tuple[object, ...]] = set()
        of_pair = [request for request in plain if request.of in {first, second}]
        for request, by, given in list_places(of_pair, everybody=True):
            for quantity in list_rates(request.metric):
                if (quantity.id, by, given) not in seen:
                    seen.add((quantity.id, by, given))
                    yield from _change_rows(
                        quantity, request, tables.table(by, given, first, second), second
                    )


def _change_rows(
    quantity: GroupMetric, request: MetricRequest, table: GroupTable, second: str
) -> Iterator[ModelChange]:
    """The rows of one rate, with p-values corrected for the groups of each stratum."""
    pairs, correlation = count_pairs(quantity, table), correlate_outcomes(quantity, table)
    if pairs is None or correlation is None:
        return
    reading = compute(quantity, counts_for(quantity, table))
    takes_part = find_participants(table, reading, request.terms.minimum)
    tests = run_mcnemar(pairs, (quantity.id, "paired"))
    ends = [end.tolist() for end in pairs.ends(correlation, request.terms.inference.alpha)]
    cells = np.stack([pairs.both, pairs.first, pairs.second, pairs.neither])
    counts = np.moveaxis(cells, 0, -1).tolist()
    people, compared = reading.n.tolist(), takes_part.tolist()
    values = pairs.difference.tolist()
    significance_at = tests.correct_strata(
        takes_part & (cells.sum(axis=0) > 0), request.terms.inference.correction
    )
    for z, stratum in enumerate(table.strata):
        for g, group in enumerate(table.groups):
            both, first_only, second_only, neither = counts[z][g]
            # With survey weights, these numbers are not counts of people.
            whole = [None if pairs.weighted else round(cell) for cell in counts[z][g]]
            total = both + first_only + second_only + neither
            if not total > 0:
                continue
            yield ModelChange(
                metric=quantity.id,
                first=table.of,
                second=second,
                by=table.by,
                stratum=stratum,
                group=group,
                standing=find_eligibility(
                    table, g, people[z][g], request.terms.minimum, takes_part=compared[z][g]
                ),
                n=people[z][g],
                both=whole[0],
                first_only=whole[1],
                second_only=whole[2],
                neither=whole[3],
                first_value=(both + first_only) / total,
                second_value=(both + second_only) / total,
                difference=0.0 - values[z][g],
                low=0.0 - ends[1][z][g],
                high=0.0 - ends[0][z][g],
                significance=significance_at(z, g),
            )
