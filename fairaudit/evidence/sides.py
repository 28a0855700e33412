"""Estimates of a group's rate, and the two sides of a comparison in a finding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain
from typing import Annotated

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import FLAT, RARE, STATED, Frozen, replace
from fairaudit.cube import Group, GroupTable
from fairaudit.evidence.records import explain_group_without_interval
from fairaudit.metrics import (
    NO_GROUP,
    Disparity,
    Evaluation,
    GroupMetric,
    GroupValues,
    is_over_classes,
)
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.table_metrics import TableValue


@declare_subjects(row="group estimate crowd")
class Side(Frozen):
    """A group, or pooled people (`rest`, `overall`), with its value."""

    group: Group
    estimate: Annotated[Estimate, FLAT]
    crowd: str | None = None


@declare_subjects(row="metric value first second outcome", nobody="of")
class ComparisonPart(Frozen):
    """One comparison behind a value: its rate or outcome, its value, and both sides.

    `of` is the model of the comparison, if two models are compared.
    """

    metric: str
    value: Annotated[float, STATED]
    first: Side | None = None
    second: Side | None = None
    outcome: str | None = None
    of: Annotated[str | None, RARE] = None


def build_estimate(values: GroupValues, z: int, g: int, alpha: float) -> Estimate:
    """One value of a reading with its counts and interval."""
    known, key, place = values.estimates, (z, g, alpha), (z, g)
    if key in known:
        return known[key]
    low, high = (float(end[place]) for end in values.interval(alpha))
    value, why = float(values.value[place]), ""
    if math.isnan(low) and not math.isnan(value):
        why = explain_group_without_interval(values, place)
    known[key] = Estimate(
        value=value,
        n=int(values.n[place]),
        numerator=None if values.over is None else int(values.over[place]),
        denominator=None if values.under is None else int(values.under[place]),
        scale=values.scale,
        method="" if why else values.method,
        no_interval=why,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        error=0.0 if values.error is None else float(values.error[place]),
        borrows=values.pools_variance is not None and bool(values.pools_variance[place]),
    )
    return known[key]


def find_parts(evaluation: Evaluation, z: int, w: int) -> tuple[ComparisonPart, ...]:
    """The comparisons behind one value, both sides of each."""
    if evaluation.parts:
        parts: list[Sequence[ComparisonPart]] = [
            find_parts(part, z, w) for part in evaluation.parts
        ]
        if evaluation.subtracts:
            if isinstance(evaluation.metric, GroupMetric):
                parts = [
                    [ComparisonPart(part.metric.id, value, _make_side(part, values, z, w))]
                    for part in evaluation.parts
                    if (values := part.group_values) and not math.isnan(value := part.value[z, w])
                ]
            sides = zip(evaluation.parts, parts, strict=True)
            parts = [[replace(part, of=inner.table.of) for part in own] for inner, own in sides]
        elif is_over_classes(evaluation.metric):
            named = zip(evaluation.names, parts, strict=True)
            parts = [[replace(part, outcome=name) for part in own] for name, own in named]
        return tuple(chain.from_iterable(parts))
    if evaluation.table_value is not None:
        return _find_outcome_parts(evaluation, z)
    values = evaluation.group_values
    if values is None or not isinstance(evaluation.metric, Disparity):
        return ()
    first, second = int(evaluation.first[z, w]), int(evaluation.second[z, w])
    if evaluation.metric.comparison.sides_of is not None and first != NO_GROUP:
        return (_find_row_part(evaluation, evaluation.metric, (z, w)),)
    # The metric of the catalogue, not its option for these data.
    listed = evaluation.metric.parts[0][0]
    return (
        ComparisonPart(
            listed.id if listed.shown else values.metric.id,
            float(evaluation.value[z, w]),
            None if first == NO_GROUP else _make_side(evaluation, values, z, first),
            _find_reference_side(evaluation, z, w, second),
        ),
    )


def _find_row_part(
    evaluation: Evaluation, disparity: Disparity, place: tuple[int, int]
) -> ComparisonPart:
    """A comparison of single people: the two sides are the compared groups of people."""
    values, reference = evaluation.group_values, evaluation.reference_values
    value, second = float(evaluation.value[place]), int(evaluation.second[place])
    if values is None or reference is None or math.isnan(value):
        return ComparisonPart(disparity.id, value)
    assert disparity.comparison.sides_of is not None
    own, other = disparity.comparison.sides_of(values, reference, *place)
    side = Side(evaluation.table.groups[int(evaluation.first[place])], own)
    if other is None:
        return ComparisonPart(disparity.id, value, side)
    crowd = str(evaluation.terms.policy) if second == NO_GROUP else None
    beside = Side(group_at(evaluation.table, second), other, crowd)
    return ComparisonPart(disparity.parts[0][0].id, value, side, beside)


def group_at(table: GroupTable, index: int) -> Group:
    """The group of an index; empty for pooled people."""
    return table.groups[int(index)] if index >= 0 else ()


def _find_reference_side(evaluation: Evaluation, z: int, w: int, second: int) -> Side | None:
    metric, values = evaluation.metric, evaluation.reference_values
    if isinstance(metric, Disparity) and not metric.has_other_side:
        return None
    # An average is over the strata that both sides have, so it differs for each group.
    beside_each = values is not None and evaluation.averaged is not None
    if second != NO_GROUP and evaluation.group_values is not None and not beside_each:
        return _make_side(evaluation, evaluation.group_values, z, second)
    if values is None or (second == NO_GROUP and evaluation.terms.reference is None):
        return None
    estimate = build_estimate(values, z, w, evaluation.terms.inference.alpha)
    if second != NO_GROUP:
        return Side(evaluation.table.groups[second], estimate)
    return Side((), estimate, crowd=str(evaluation.terms.policy))


def _make_side(evaluation: Evaluation, values: GroupValues, z: int, g: int) -> Side:
    alpha = evaluation.terms.inference.alpha
    return Side(evaluation.table.groups[g], build_estimate(values, z, g, alpha))


def _find_outcome_parts(evaluation: Evaluation, z: int) -> tuple[ComparisonPart, ...]:
    """The pair and outcome that attain ε; for a difference of two ε, those of both."""
    whole = evaluation.table_value
    assert whole is not None
    parts = []
    for name, table_value in whole.parts or ((evaluation.metric.id, whole),):
        y = int(table_value.outcome[z])
        if y == NO_GROUP:
            if whole.parts:
                parts.append(ComparisonPart(name, float(table_value.value[z])))
            continue
        high, low = (
            Side(evaluation.table.groups[g], _estimate_outcome(evaluation, table_value, (z, y, g)))
            for g in (int(table_value.highest_group[z]), int(table_value.lowest_group[z]))
        )
        value, outcome = float(table_value.value[z]), table_value.outcomes[y]
        parts.append(ComparisonPart(name, value, high, low, outcome))
    return tuple(parts)


def _estimate_outcome(
    evaluation: Evaluation, table_value: TableValue, place: tuple[int, int, int]
) -> Estimate:
    """The share of one outcome in one group, with its counts of whole people."""
    z, y, g = place
    count, total = float(table_value.counts[z, y, g]), float(table_value.counts[z, :, g].sum())
    is_counted = evaluation.table.squares is None
    return Estimate(
        value=count / total if total else math.nan,
        n=int(table_value.n[z, g]),
        numerator=round(count) if is_counted else None,
        denominator=round(total) if is_counted else None,
    )
