"""Notices on row metrics: who was sampled, who had no neighbours, what was found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.notice import Notice
from fairaudit.counting.raw_rows import BUDGET
from fairaudit.cube import Group, Rows, RowTable
from fairaudit.metrics import Evaluation, Metric, Requirement, describe_group
from fairaudit.metrics.individual import (
    CAUSAL_DISCRIMINATION,
    CONSISTENCY,
    LIPSCHITZ_VIOLATIONS,
    NEIGHBOURS,
    UNAWARENESS_VIOLATIONS,
    choose_asked,
    score_of,
)
from fairaudit.metrics.redlining import BALANCED_ERROR_RATE, MOST_TOLD_APART
from fairaudit.metrics.situation import DISPARITIES, TWIN_TEST, find_gaps
from fairaudit.pipeline.tables.evaluation_cache import Tables, list_places
from fairaudit.rows.neighbours import find_neighbours
from fairaudit.rows.pairs import choose_people, find_steepest_pair
from fairaudit.rows.situation import find_twins
from fairaudit.rows.space import locate
from fairaudit.spec import MetricRequest, Spec

_OF_EQUALS = (UNAWARENESS_VIOLATIONS, CAUSAL_DISCRIMINATION, TWIN_TEST)
"""What is counted by features and needs nobody one by one."""

_BUDGET = f"the {BUDGET >> 30} GiB that an audit of people may take"

_MOST_GROUPS = 10
"""Of so many groups the gaps or twins are told."""


def write_row_notices(spec: Spec, rows: Rows | None, tables: Tables) -> Iterator[Notice]:
    """Notices on people who lack a feature, on samples, and on what the numbers are made of."""
    if rows is None:
        return
    requests = [request for request in spec.requests if request.uses(Requirement.FEATURES)]
    names = ", ".join(dict.fromkeys(request.metric.id for request in requests))
    yield _row_notice(f"{names}: {_describe_reading(rows)}")
    yield from _describe_samples(rows, requests)
    constant = rows.features.constant
    if constant and rows.complete:
        verb = "does not vary, and so tells" if len(constant) == 1 else "do not vary, and so tell"
        yield _row_notice(f"{names}: {' and '.join(constant)} {verb} nobody apart")
    yield from _warn_of_protected(spec, names)
    for request in requests:
        table = tables.table((), (), request.of).rows
        if table is None or request.metric in _OF_EQUALS:
            continue
        table = table.people
        if request.metric is BALANCED_ERROR_RATE and len(table.n) > MOST_TOLD_APART:
            yield _row_notice(
                f"{request.metric.id}: the model is of at most {MOST_TOLD_APART:,} people of each "
                "side, a sample by a hash of their values"
            )
        if request.metric is CONSISTENCY:
            yield from _describe_neighbours(request, table)
        if request.metric is LIPSCHITZ_VIOLATIONS:
            yield from _describe_steepest(request, table)
    yield from _describe_sides(requests, tables)


def _row_notice(text: str) -> Notice:
    return Notice(text, Subjects.NEVER)


def _describe_reading(rows: Rows) -> str:
    read = f"{rows.complete:,} of {rows.audited:,} people were read one by one"
    if rows.missing:
        lacking = ", ".join(f"{name} {n:,}" for name, n in rows.missing.items())
        read += f"; the others lack a feature ({lacking}) and are left out"
    return read


def _describe_samples(rows: Rows, requests: list[MetricRequest]) -> Iterator[Notice]:
    """What did not fit into the budget: profiles, or people one by one."""
    of_equals = [request for request in requests if request.metric in _OF_EQUALS]
    if of_equals and rows.share < 1:
        names = ", ".join(dict.fromkeys(request.metric.id for request in of_equals))
        yield _row_notice(
            f"{names}: {int(rows.n.sum()):,} of these people, all who have one of the features' "
            f"combinations that a hash of them chose (1 in {round(1 / rows.share):,}), fit into "
            f"{_BUDGET}; intervals allow for it"
        )
    one_by_one = [request for request in requests if request.metric not in _OF_EQUALS]
    if one_by_one and rows.is_sample:
        names = ", ".join(dict.fromkeys(request.metric.id for request in one_by_one))
        yield _row_notice(
            f"{names}: {len(rows.people.entries):,} of these people, a sample by a hash of their "
            f"values, fit into {_BUDGET}; neighbours are farther apart in it than in the whole data"
        )


def _warn_of_protected(spec: Spec, names: str) -> Iterator[Notice]:
    """A notice where what people are alike in holds the protected attribute itself."""
    features = {*spec.similarity.columns}
    inside = [attribute.name for attribute in spec.protected if attribute.column.value in features]
    if inside:
        listed = " and ".join(inside)
        yield _row_notice(
            f"{names}: {listed} is protected and among the features: people who differ in it are "
            "not alike, so what it decides counts as explained"
        )
    audited = {
        text.value for outcome in spec.outcomes for text in (outcome.column, outcome.score) if text
    }
    outcomes = [name for name in sorted(features) if name in audited]
    if outcomes:
        listed = " and ".join(outcomes)
        yield _row_notice(
            f"{names}: {listed} is an outcome and among the features: people who fare differently "
            "are not alike, so differences are explained away"
        )


def _describe_neighbours(request: MetricRequest, table: RowTable) -> Iterator[Notice]:
    """How many neighbours people have for ties, and of whom they were looked up."""
    k, people = request.terms.parameters.k or NEIGHBOURS, table.in_stratum(0)
    neighbours = find_neighbours(table.features, people, k, without_self=True)
    if not neighbours.is_enough:
        return
    sample = neighbours.ask(choose_asked(table, 0, people))
    sizes = neighbours.sizes[neighbours.row[locate(table.features).profile[sample]]]
    tied = int((sizes > k).sum())
    name = f"{request.metric.id} of the {request.of}, k {k}"
    if tied:
        yield _row_notice(
            f"{name}: for {tied:,} of {len(sample):,} people more than {k} neighbours tie, "
            f"{int(sizes.max()):,} at most, and all are taken"
        )
    if len(sample) < len(people):
        yield _row_notice(
            f"{name}: neighbours were looked up for {len(sample):,} of {len(people):,} people, a "
            "sample by a hash of their values, and among all of them"
        )


def _describe_steepest(request: MetricRequest, table: RowTable) -> Iterator[Notice]:
    """The pair whose scores differ most for their distance, by the numbers of their rows."""
    score, people = score_of(table), table.in_stratum(0)
    people = choose_people(table.places, people)
    pair = find_steepest_pair(table.features, score, people[~np.isnan(score[people])])
    if pair is None:
        return
    first, second = (int(table.numbers[index]) for index in (pair.first, pair.second))
    ratio = f"{pair.ratio:.4g} times their distance"
    if np.isinf(pair.ratio):
        ratio = "though they are equal in every feature"
    yield _row_notice(
        f"{request.metric.id} of the {request.of}: the steepest pair that was looked at are the "
        f"rows {first:,} and {second:,}, whose scores differ by {pair.gap:.4g}, {ratio}"
    )


def _describe_sides(requests: list[MetricRequest], tables: Tables) -> Iterator[Notice]:
    """How gaps are distributed over a group's people, and how many of them have a twin."""
    described = set[str]()
    for request, by, given in list_places(requests):
        evaluation = None
        if request.metric in DISPARITIES and not given:
            evaluation = tables.evaluate_request(request, by, given)
        if evaluation is None:
            continue
        for g in np.flatnonzero(evaluation.judged[0])[:_MOST_GROUPS].tolist():
            text = _describe_side(request.metric, evaluation, g)
            if text and text not in described:
                described.add(text)
                yield _row_notice(text)


def _describe_side(metric: Metric, evaluation: Evaluation, g: int) -> str:
    values, others = evaluation.group_values, evaluation.reference_values
    if values is None or others is None or values.rows is None or others.rows is None:
        return ""
    table, group = values.rows.table, evaluation.table.groups[g]
    members, reference = values.rows.members(0, g), others.rows.members(0, g)
    if not len(members) or not len(reference):
        return ""
    against = _name_reference(evaluation, g)
    if metric is TWIN_TEST:
        twins = find_twins(table.features, members, reference)
        sides = (twins.members, members, twins.others, reference)
        having, people, being, referred = (int(table.n[side].sum()) for side in sides)
        return (
            f"twin_test of the {evaluation.table.of}: {having:,} of {people:,} people of "
            f"{describe_group(group)} have a twin in {against}, where {being:,} of "
            f"{referred:,} people are one"
        )
    gaps = find_gaps(values.rows, others.rows, 0, g, values.parameters)
    if not len(gaps):
        return ""
    low, first, middle, third, high = np.quantile(gaps, [0, 0.25, 0.5, 0.75, 1]).tolist()
    return (
        f"situation testing of the {evaluation.table.of}, k "
        f"{values.parameters.k or NEIGHBOURS}: the gaps of {len(gaps):,} people of "
        f"{describe_group(group)} to {against} go from {low:.2f} to {high:.2f}, with quartiles "
        f"{first:.2f}, {middle:.2f} and {third:.2f}"
    )


def _name_reference(evaluation: Evaluation, g: int) -> str:
    second = int(evaluation.second[0, g])
    group: Group | None = evaluation.table.groups[second] if second >= 0 else None
    return "all others" if group is None else describe_group(group)
