"""Why a value does not exist, in words that name the groups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairaudit.cube import Group, Marks
from fairaudit.metrics.evaluation import Evaluation
from fairaudit.metrics.measures import Whole, WholeReading
from fairaudit.metrics.quantities import Formula, Reading
from fairaudit.metrics.reference import NOBODY, Policy, find_group


def reason_of(evaluation: Evaluation, z: int, w: int) -> str:
    """Why there is no value, naming the groups."""
    for part in evaluation.parts:
        if np.isnan(part.value[z, w]):
            return reason_of(part, z, w)
    if (
        evaluation.whole is not None
        and evaluation.whole.parts
        and np.isnan(evaluation.whole.value[z])
    ):
        return _reason_of_difference(evaluation.whole, z)
    if evaluation.averaged is not None and not evaluation.averaged.support[:, w].any():
        sides = "it occurs" if evaluation.against is None else "both sides occur"
        return f"{_what(evaluation)}: no stratum where {sides}"
    if evaluation.spread or evaluation.against is None:
        return _reason_of_group_or_spread(evaluation, z, w)
    return _reason_to_reference(evaluation, z, w)


def _reason_of_group_or_spread(evaluation: Evaluation, z: int, w: int) -> str:
    missing, what = _without_value(evaluation, z, w), _what(evaluation)
    if missing:
        return f"{what}: {why_undefined(evaluation.reading)} in {describe_all(missing)}"
    if evaluation.takes_part[z].sum() < 2:
        return _too_few(evaluation.takes_part[z], evaluation.table.groups)
    if evaluation.fraction is not None and len(evaluation.parts) == 2:
        return f"{what}: not the same people, or infinite on both sides"
    if isinstance(evaluation.asked, Whole):
        return f"{what}: {evaluation.asked.undefined}"
    return f"{what}: 0 against 0"


def _reason_to_reference(evaluation: Evaluation, z: int, w: int) -> str:
    reference = evaluation.terms.reference
    name = reference.policy if reference else ""
    if reference and reference.policy in {Policy.DECLARED, Policy.LEVEL}:
        at = find_group(evaluation.table.groups, reference.group)
        if at == NOBODY or not evaluation.table.n[z, at]:
            return f"the reference {describe(reference.group)} is not in the data"
        if not evaluation.takes_part[z, at]:
            return f"the reference {describe(reference.group)} does not take part"
        name = describe(reference.group)
    if evaluation.takes_part[z].sum() < 2:
        return _too_few(evaluation.takes_part[z], evaluation.table.groups)
    if evaluation.reading is not None and np.isnan(evaluation.reading.value[z, w]):
        why = why_undefined(evaluation.reading)
        return f"{_what(evaluation)}: {why} in {describe(evaluation.table.groups[w])}"
    if evaluation.against is not None and np.isnan(evaluation.against.value[z, w]):
        return f"{_what(evaluation)}: nobody to count in the reference ({name})"
    signed = evaluation.reading is not None and evaluation.reading.quantity.bounds[0] != 0
    why = "no ratio of numbers that are not positive" if signed else "0 against 0, or no spread"
    return f"{_what(evaluation)}: {why}, for {describe(evaluation.table.groups[w])}"


def why_undefined(reading: Reading | None) -> str:
    """Why a quantity may have no value in a group."""
    quantity = None if reading is None else reading.quantity
    return quantity.undefined if isinstance(quantity, Formula) else "nobody to count"


def _what(evaluation: Evaluation) -> str:
    return evaluation.reading.quantity.id if evaluation.reading else evaluation.asked.id


def _without_value(evaluation: Evaluation, z: int, w: int) -> list[Group]:
    if evaluation.whole is not None:
        empty = evaluation.takes_part[z] & (evaluation.whole.counts[z].sum(axis=0) == 0)
    elif evaluation.reading is not None:
        empty = evaluation.takes_part[z] & np.isnan(evaluation.reading.value[z])
    else:
        return []
    if not evaluation.spread:
        empty = empty & (np.arange(len(empty)) == w)
    return [evaluation.table.groups[g] for g in np.flatnonzero(empty)]


def describe(group: Group) -> str:
    """A group in words: `sex=F, race=Black`; everybody, for the empty one."""
    return ", ".join(f"{name}={level}" for name, level in group) or "everybody"


def describe_all(groups: Sequence[Group], most: int = 5) -> str:
    """Some groups in words, at most five of them by name."""
    shown = "; ".join(describe(group) for group in groups[:most])
    more = len(groups) - most
    return f"{shown}; and {more} more" if more > 0 else shown


def _too_few(takes_part: Marks, groups: Sequence[Group]) -> str:
    left = [groups[g] for g in np.flatnonzero(takes_part).tolist()]
    if left:
        return f"only one group takes part ({describe(left[0])}); there is nobody to compare with"
    return "no group takes part"


def _reason_of_difference(whole: WholeReading, z: int) -> str:
    values = {name: reading.value[z] for name, reading in whole.parts}
    if all(np.isinf(value) for value in values.values()):
        return f"ε is infinite for {' and '.join(values)} alike"
    missing = [name for name, value in values.items() if np.isnan(value)]
    return f"ε is undefined for {' and '.join(missing)}: too few groups with known outcomes"
