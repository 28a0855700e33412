"""Why a value does not exist, in words that name the groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairaudit.cube import ExcludeBelow, Group, GroupTable, Marks
from fairaudit.metrics.evaluation import Evaluation
from fairaudit.metrics.measures import Whole, WholeReading
from fairaudit.metrics.quantities import Formula, Reading
from fairaudit.metrics.reading import everybodys_outcomes, read, tally_for
from fairaudit.metrics.reference import NOBODY, Policy, find_group
from fairaudit.metrics.standing import Standing, standing_of
from fairaudit.names import group as in_words


class Aside(NamedTuple):
    """The rule that sets a group aside, in words, and the group's own numbers."""

    standing: Standing
    why: str
    detail: str = ""


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
    if np.count_nonzero(evaluation.takes_part[z]) < 2:
        return _too_few(evaluation.takes_part[z], evaluation.table.groups)
    if evaluation.fraction is not None and len(evaluation.parts) == 2:
        one, two = (part.takes_part[z] for part in evaluation.parts)
        if (one != two).any():
            return f"{what}: not the same groups take part on both sides"
        return f"{what}: not the same people, or what is subtracted is infinite"
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
            why = set_aside(evaluation, z, at).why
            return f"the reference {describe(reference.group)} does not take part: {why}"
        name = describe(reference.group)
    if np.count_nonzero(evaluation.takes_part[z]) < 2:
        return _too_few(evaluation.takes_part[z], evaluation.table.groups)
    fit = None if evaluation.reading is None else evaluation.reading.fit
    if fit is not None and w in fit.why:
        return f"{evaluation.asked.id}: {fit.why[w]}"
    if evaluation.reading is not None and np.isnan(evaluation.reading.value[z, w]):
        why = why_undefined(evaluation.reading)
        return f"{_what(evaluation)}: {why} in {describe(evaluation.table.groups[w])}"
    if evaluation.against is not None and np.isnan(evaluation.against.value[z, w]):
        return f"{_what(evaluation)}: nobody to count in the reference ({name})"
    signed = evaluation.reading is not None and evaluation.reading.quantity.bounds[0] != 0
    why = "no ratio of numbers that are not positive" if signed else "0 against 0, or no spread"
    return f"{_what(evaluation)}: {why}, for {describe(evaluation.table.groups[w])}"


def set_aside(evaluation: Evaluation, z: int, g: int) -> Aside:
    """Which rule sets a group aside; one without anybody is eligible, and there is nobody.

    `evaluation` is one of a single quantity, in which the group does not take part.
    """
    table, minimum, n = evaluation.table, evaluation.terms.minimum, _counted(evaluation, z, g)
    standing = standing_of(table, g, n, minimum, takes_part=False)
    match standing:
        case Standing.UNKNOWN:
            return Aside(standing, "it is not known")
        case Standing.EXCLUDED:
            return why_excluded(table, g)
        case Standing.SMALL:
            why = f"fewer than {minimum.size} people in the denominator"
            return Aside(standing, why, _people(n))
        case Standing.FEW_EVENTS:
            rule = f"fewer than {minimum.events} people of some outcome expected"
            return Aside(standing, f"{rule} at everybody's rate", _expected(evaluation, z, n))
        case _:
            return Aside(standing, "nobody in the denominator")


def _expected(evaluation: Evaluation, z: int, n: int) -> str:
    """How many of `n` people are expected to have the rarest outcome, where one table tells."""
    everybody = None
    if evaluation.whole is not None:
        everybody = evaluation.whole.everybody
    elif evaluation.reading is not None:
        # An average has no cells of its own: the crude rate is what its groups are held to.
        table, quantity = evaluation.table, evaluation.reading.quantity
        crude = read(quantity, tally_for(quantity, table), evaluation.terms.parameters)
        everybody = everybodys_outcomes(table, crude)
    if everybody is None or not everybody[z].sum():
        return _people(n)
    rarest = Fraction(n * int(everybody[z].min()), int(everybody[z].sum()))
    # Rounded down, so that what is printed is below the rule's number too.
    return f"{math.floor(100 * rarest) / 100:g} expected of {_people(n)}"


def why_excluded(table: GroupTable, g: int) -> Aside:
    """The rule that excludes a group from the whole grouping."""
    assert table.excluded is not None
    rule, of = table.excluded.rule, table.excluded.everybody
    n = table.excluded.people[table.groups[g]]
    why = f"excluded, {exclusion(rule)}"
    return Aside(Standing.EXCLUDED, why, f"{n:,} of {_people(of)}")


def exclusion(rule: ExcludeBelow) -> str:
    """A rule that excludes groups, with its reason."""
    return f"below {float(100 * rule.share):g} % of {rule.of.words}: {rule.reason}"


def _people(n: int) -> str:
    """A number of people in words."""
    return f"{n:,} {'person' if n == 1 else 'people'}"


def _counted(evaluation: Evaluation, z: int, g: int) -> int:
    """The people who decide whether a group is large enough; where averaged, on both sides."""
    if evaluation.whole is not None:
        return int(evaluation.whole.n[z, g])
    sides = (evaluation.reading, evaluation.against if evaluation.averaged else None)
    return min(int(one.n[z, g]) for one in sides if one is not None)


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
    return in_words(group)


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
    infinite = [name for name, value in values.items() if np.isinf(value)]
    if infinite:
        return f"ε of {infinite[0]} is infinite: there is no difference to it"
    missing = [name for name, value in values.items() if np.isnan(value)]
    return f"ε is undefined for {' and '.join(missing)}: too few groups with known outcomes"
