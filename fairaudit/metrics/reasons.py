"""Reasons why a value is undefined, or why a group is not compared, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairaudit.base.frozen import memoize
from fairaudit.base.names import describe_group
from fairaudit.cube import NO_COUNTERPART, ExcludeBelow, Group, GroupTable
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.eligibility import Eligibility, find_eligibility, find_group, pool_outcomes
from fairaudit.metrics.evaluation_record import Evaluation, compute, counts_for
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import GroupValues, TableMetric
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES, NO_GROUP, ReferencePolicy


class Ineligibility(NamedTuple):
    """The rule that excludes a group from comparisons, in words, and the numbers of the group."""

    eligibility: Eligibility
    why: str
    detail: str = ""


def explain_undefined(evaluation: Evaluation, z: int, w: int) -> str:
    """The reason for an undefined value, with the names of groups."""
    for part in evaluation.parts:
        if np.isnan(part.value[z, w]):
            return explain_undefined(part, z, w)
    whole = evaluation.table_value
    if whole is not None and whole.parts and np.isnan(whole.value[z]):
        values = {name: group_values.value[z] for name, group_values in whole.parts}
        if all(np.isinf(value) for value in values.values()):
            return f"ε is infinite for {' and '.join(values)}"
        infinite = [name for name, value in values.items() if np.isinf(value)]
        if infinite:
            return f"ε of {infinite[0]} is infinite: a difference to it does not exist"
        missing = [name for name, value in values.items() if np.isnan(value)]
        return f"ε is undefined for {' and '.join(missing)}: too few groups with known outcomes"
    if evaluation.averaged is not None and not evaluation.averaged.support[:, w].any():
        sides = "it occurs" if evaluation.reference_values is None else "both sides occur"
        return f"{_what(evaluation)}: no stratum where {sides}"
    if evaluation.spread or evaluation.reference_values is None:
        return _reason_of_group_or_spread(evaluation, z, w)
    return _reason_to_reference(evaluation, z, w)


def _reason_of_group_or_spread(evaluation: Evaluation, z: int, w: int) -> str:
    what, empty = _what(evaluation), np.zeros(len(evaluation.table.groups), dtype=np.bool_)
    if evaluation.table_value is not None:
        empty = evaluation.takes_part[z] & (evaluation.table_value.counts[z].sum(axis=0) == 0)
    elif evaluation.group_values is not None:
        empty = evaluation.takes_part[z] & np.isnan(evaluation.group_values.value[z])
    if not evaluation.spread:
        empty = empty & (np.arange(len(empty)) == w)
    missing = [evaluation.table.groups[g] for g in np.flatnonzero(empty)]
    if missing:
        return f"{what}: {undefined_reason(evaluation.group_values)} in {describe_groups(missing)}"
    if _count_participants(evaluation)[z] < 2:
        return _too_few(evaluation, z)
    if evaluation.exact_at is not None and len(evaluation.parts) == 2:
        first, second = (part.takes_part[z] for part in evaluation.parts)
        if (first != second).any():
            return f"{what}: different groups take part on the two sides"
        return f"{what}: the two sides have different people, or the subtracted value is infinite"
    if isinstance(evaluation.metric, TableMetric):
        return f"{what}: {evaluation.metric.undefined}"
    return f"{what}: 0 against 0"


def _reason_to_reference(evaluation: Evaluation, z: int, w: int) -> str:
    reference, name = evaluation.terms.reference, str(evaluation.terms.policy or "")
    if reference and reference.policy in {ReferencePolicy.DECLARED, ReferencePolicy.LEVEL}:
        index = find_group(evaluation.table.groups, reference.group)
        if index == NO_GROUP or not evaluation.table.n[z, index]:
            return f"the reference {describe_group(reference.group)} is not in the data"
        if not evaluation.takes_part[z, index]:
            why = explain_ineligibility(evaluation, z, index).why
            return f"the reference {describe_group(reference.group)} does not take part: {why}"
        name = describe_group(reference.group)
    if _count_participants(evaluation)[z] < 2:
        return _too_few(evaluation, z)
    fit = None if evaluation.group_values is None else evaluation.group_values.fit
    if fit is not None and w in fit.why:
        return f"{evaluation.metric.id}: {fit.why[w]}"
    if evaluation.group_values is not None and np.isnan(evaluation.group_values.value[z, w]):
        why = undefined_reason(evaluation.group_values)
        return f"{_what(evaluation)}: {why} in {describe_group(evaluation.table.groups[w])}"
    if evaluation.terms.policy in EXTREME_REFERENCES and (why := _why_unknown(evaluation)[z]):
        return f"{_what(evaluation)}: the {name} is unknown ({why})"
    reference_values = evaluation.reference_values
    if reference_values is not None and np.isnan(reference_values.value[z, w]):
        return f"{_what(evaluation)}: no people in the reference ({name})"
    signed = evaluation.group_values is not None and evaluation.group_values.metric.bounds[0] != 0
    why = "no ratio of numbers that are not positive" if signed else "0 against 0, or no spread"
    if isinstance(evaluation.metric, Disparity):
        comparison = evaluation.metric.comparison
        sides = (evaluation.group_values, reference_values)
        values = [side.value[z, w] for side in sides if side is not None]
        if comparison.scale is Scale.ODDS and not all(0 <= value <= 1 for value in values):
            why = "odds need a share, and the value of a side is below 0 or above 1"
        elif comparison.undefined:
            why = comparison.undefined
    return f"{_what(evaluation)}: {why}, for {describe_group(evaluation.table.groups[w])}"


@memoize
def _count_participants(evaluation: Evaluation) -> list[int]:
    counts: list[int] = evaluation.takes_part.sum(axis=1).tolist()
    return counts


@memoize
def _why_unknown(evaluation: Evaluation) -> list[str]:
    """For each stratum: why groups that take part have no value; empty if all have a value."""
    values = evaluation.group_values
    if values is None:
        return [""] * len(evaluation.takes_part)
    lacking = evaluation.takes_part & np.isnan(values.value)
    groups = [[evaluation.table.groups[g] for g in np.flatnonzero(row)] for row in lacking]
    why = undefined_reason(values)
    return [f"{why} in {describe_groups(missing)}" if missing else "" for missing in groups]


def explain_unknown(group: Group) -> str:
    """Why people with a propensity are not in a stratum; empty if a level of `group` is unknown."""
    return "no counterpart" if NO_COUNTERPART in {level for _, level in group} else ""


def explain_ineligibility(evaluation: Evaluation, z: int, g: int) -> Ineligibility:
    """The rule that excludes a group from comparisons; an eligible group has an empty denominator.

    `evaluation` is the evaluation of a single metric, in which the group does not take part.
    """
    table, minimum = evaluation.table, evaluation.terms.minimum
    if evaluation.table_value is not None:
        n = int(evaluation.table_value.n[z, g])
    else:
        # For an average, both sides need enough people.
        others = evaluation.reference_values if evaluation.averaged else None
        sides = (evaluation.group_values, others)
        n = min(int(side.n[z, g]) for side in sides if side is not None)
    eligibility = find_eligibility(table, g, n, minimum, takes_part=False)
    match eligibility:
        case Eligibility.UNKNOWN:
            return Ineligibility(eligibility, explain_unknown(table.groups[g]) or "it is not known")
        case Eligibility.EXCLUDED:
            return explain_exclusion(table, g)
        case Eligibility.SMALL:
            why = f"fewer than {minimum.size} people in the denominator"
            return Ineligibility(eligibility, why, describe_people(n))
        case Eligibility.FEW_EVENTS:
            rule = f"fewer than {minimum.events} people with some outcome expected"
            why, everybody = f"{rule} at the overall rate", None
            if evaluation.table_value is not None:
                everybody = evaluation.table_value.everybody
            elif evaluation.group_values is not None:
                # An average has no counts, so the minimum applies to the rate without strata.
                metric = evaluation.group_values.metric
                crude = compute(metric, counts_for(metric, table), evaluation.terms.parameters)
                everybody = pool_outcomes(table, crude)
            people = describe_people(n)
            if everybody is None or not everybody[z].sum():
                return Ineligibility(eligibility, why, people)
            rarest = Fraction(n * int(everybody[z].min()), int(everybody[z].sum()))
            # Rounded down, so that the printed number is also below the minimum.
            expected = f"{math.floor(100 * rarest) / 100:g} expected of {people}"
            return Ineligibility(eligibility, why, expected)
        case _:
            return Ineligibility(eligibility, "the denominator is 0")


def explain_exclusion(table: GroupTable, g: int) -> Ineligibility:
    """The rule that excludes a group from the whole grouping."""
    assert table.excluded is not None
    rule, of = table.excluded.rule, table.excluded.everybody
    n = table.excluded.people[table.groups[g]]
    why = f"excluded, {describe_rule(rule)}"
    return Ineligibility(Eligibility.EXCLUDED, why, f"{n:,} of {describe_people(of)}")


def describe_rule(rule: ExcludeBelow) -> str:
    """A rule that excludes groups, with its reason."""
    return f"below {float(100 * rule.share):g} % of {rule.of.words}: {rule.reason}"


def describe_people(n: int) -> str:
    """A number of people in words."""
    return f"{n:,} {'person' if n == 1 else 'people'}"


def undefined_reason(values: GroupValues | None) -> str:
    """The reason why a metric may have no value in a group."""
    metric = None if values is None else values.metric
    return metric.undefined if isinstance(metric, Formula) else "no people to count"


def _what(evaluation: Evaluation) -> str:
    return evaluation.group_values.metric.id if evaluation.group_values else evaluation.metric.id


_MOST_NAMED = 5


def describe_groups(groups: Sequence[Group]) -> str:
    """The names of groups; after the first five, only the number of others."""
    text = "; ".join(map(describe_group, groups[:_MOST_NAMED]))
    more = len(groups) - _MOST_NAMED
    return f"{text}; and {more} more" if more > 0 else text


def _too_few(evaluation: Evaluation, z: int) -> str:
    present = [evaluation.table.groups[g] for g in np.flatnonzero(evaluation.takes_part[z])]
    if present:
        group = describe_group(present[0])
        return f"only one group takes part ({group}), without a group to compare with"
    size = evaluation.terms.minimum.size
    return "no group takes part" + (f", and `min_size` is {size:,}" if size else "")
