"""Waivers: who accepts that a check is beyond its limit for a group, why, and until when.

A waiver takes its group out of the question, and the check is judged on what is left. What cannot
be evaluated is never waived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from enum import StrEnum

import numpy as np

from fairaudit.cube import Group, GroupTable
from fairaudit.disclosure import Notice, Whose, discloses
from fairaudit.errors import Place, did_you_mean
from fairaudit.metrics import Evaluation
from fairaudit.verdict import (
    Check,
    Crossing,
    Finding,
    NotEvaluated,
    OnUndefined,
    Status,
    Waived,
)


class State(StrEnum):
    """What became of a waiver."""

    APPLIED = "applied"
    UNUSED = "unused"
    EXPIRED = "expired"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class Waiver:
    """One entry of a file of waivers; without a group (()) it is about the whole check.

    It holds through the day on which it expires, in UTC.
    """

    check: str
    group: Group
    reason: str
    approved_by: str
    expires: date
    place: Place | None = None

    def holds(self, today: date) -> bool:
        """Whether it has not expired."""
        return today <= self.expires

    def is_of(self, crossing: Crossing) -> bool:
        """Whether a value is of its group, or made by a pair that its group is one of.

        A subgroup within its group is of it, too.
        """
        mine = set(self.group)
        return bool(mine) and any(mine <= set(group) for group in crossing.between)

    def waived(self, crossed: Sequence[Crossing]) -> Waived:
        """What it says, of the values that it waives."""
        return Waived(self.group, self.reason, self.approved_by, self.expires, tuple(crossed))


@discloses(nobody="waiver state", each="why", hidden={"why": ""})
@dataclass(frozen=True, slots=True)
class Told:
    """A waiver with what became of it, and why it is not applied."""

    waiver: Waiver
    state: State
    why: str


@dataclass(frozen=True, slots=True)
class Aside:
    """What waivers take out of a check: groups of a spread, or single values of other measures."""

    groups: tuple[Group, ...] = ()
    values: tuple[Crossing, ...] = ()


NOTHING = Aside()

_NOBODY_LEFT = "fewer than two groups are left to compare once the waived groups are set aside"

Again = Callable[[Aside], Finding | None]
"""Judges a check once more without what is set aside; None where nothing is left to judge."""


def waive(finding: Finding, waivers: Sequence[Waiver], again: Again) -> Finding:
    """The finding under the waivers of its check, none of them expired.

    It is `waived` where nothing beyond a limit is left, else it is that of what is left. A spread
    is looked at again without the waived group: the next worst pair may be beyond the limit too.
    Where no two groups are left to compare, nobody knows of the last one: that is inconclusive.
    """
    taken: dict[Waiver, list[Crossing]] = {}
    left: Finding | None = finding
    aside = NOTHING
    while left is not None and _is_beyond(left):
        hits = [(one, each) for each in left.crossed for one in waivers if one.is_of(each)]
        # What is set aside and still there would be found for ever.
        hits = [
            (one, each)
            for one, each in hits
            if (one not in taken if left.spread else each not in aside.values)
        ]
        if not hits:
            break
        for one, crossing in hits:
            taken.setdefault(one, []).append(crossing)
        if left.spread:
            aside = replace(aside, groups=tuple(one.group for one in taken))
        else:
            aside = replace(aside, values=(*aside.values, *(crossing for _, crossing in hits)))
        left = again(aside)
    whole = next((one for one in waivers if not one.group), None)
    if whole is not None and left is not None and _is_beyond(left):
        taken[whole] = [*left.crossed]
        left = None
    if not taken:
        return finding
    return _settled(finding, left, tuple(one.waived(each) for one, each in taken.items()))


def without(table: GroupTable, aside: Aside) -> GroupTable:
    """The table, in which the groups that are set aside take no part in comparisons."""
    if not aside.groups:
        return table
    marks = [any(_same(group, one) for one in aside.groups) for group in table.groups]
    return replace(table, known=table.known & ~np.array(marks, dtype=np.bool_))


def unjudged(evaluation: Evaluation, aside: Aside) -> Evaluation | None:
    """The evaluation, in which what is set aside is not judged; None where nothing else is."""
    if aside == NOTHING:
        return evaluation
    table, judged = evaluation.table, evaluation.judged.copy()
    if evaluation.spread:
        judged[evaluation.takes_part.sum(axis=1) < 2] = False
    for one in aside.values:
        judged[table.strata.index(one.stratum), table.groups.index(one.group)] = False
    return replace(evaluation, judged=judged) if judged[table.known_strata].any() else None


def left_open(finding: Finding) -> Status:
    """What those who could not be evaluated make of a check, whatever else it says."""
    check = finding.check
    if not isinstance(check, Check) or not any(one.blocks for one in finding.not_evaluated):
        return Status.PASS
    outcomes = {OnUndefined.FAIL: Status.INCONCLUSIVE, OnUndefined.WARN: Status.WARN}
    return outcomes.get(check.undefined, Status.PASS)


def worst(*statuses: Status) -> Status:
    """The worst of several statuses."""
    return max(statuses, key=list(Status).index)


def told(
    waivers: Sequence[Waiver], findings: Sequence[Finding], checks: Sequence[str], today: date
) -> tuple[Told, ...]:
    """What became of each waiver; `checks` are the ids of the spec, `findings` those judged."""
    by_check = {one.check.id: one for one in findings}
    return tuple(_told(one, by_check.get(one.check), checks, today) for one in waivers)


def notices(found: Sequence[Told]) -> Iterator[Notice]:
    """Notices on the waivers that have expired, and on those that nothing needs."""
    for one in found:
        if one.state in {State.EXPIRED, State.UNUSED}:
            place = one.waiver.place
            where = f" ({place.file}:{place.line})" if place else ""
            whose = Whose.NOBODY if one.state is State.EXPIRED else Whose.ANYBODY
            yield Notice(f"waiver of {one.waiver.check}{where}: {one.state}: {one.why}", whose)


def _is_beyond(finding: Finding) -> bool:
    """Whether a limit is crossed, by values or by reversals."""
    crossed = finding.crossed or finding.reversals
    return finding.status in {Status.FAIL, Status.WARN} and bool(crossed)


def _settled(finding: Finding, left: Finding | None, waived: tuple[Waived, ...]) -> Finding:
    """The finding once `waived` is taken out and `left` is judged."""
    lost = [*_lost(finding, left, waived)]
    why = "; ".join(dict.fromkeys(filter(None, (finding.why, *(one.reason for one in lost)))))
    finding = replace(finding, not_evaluated=(*finding.not_evaluated, *lost), why=why)
    least = left_open(finding)
    if left is None or left.status in {Status.PASS, Status.SKIPPED}:
        return replace(finding, status=worst(Status.WAIVED, least), waived=waived)
    missing = (*finding.not_evaluated, *(one for one in left.not_evaluated if one.blocks))
    return replace(
        left,
        status=worst(left.status, least),
        waived=waived,
        not_evaluated=tuple(dict.fromkeys(missing)),
    )


def _lost(
    finding: Finding, left: Finding | None, waived: Sequence[Waived]
) -> Iterator[NotEvaluated]:
    """Where waivers of single groups leave no two to compare, and what that says of the last one.

    The value of a single group that is waived leaves nobody behind it.
    """
    if not finding.spread or not all(one.group for one in waived):
        return
    if left is None:
        yield NotEvaluated((), (), _NOBODY_LEFT, blocks=True)
        return
    before = {one.stratum for one in finding.not_evaluated if not one.group}
    for one in left.not_evaluated:
        if one.stratum and not one.group and one.stratum not in before:
            yield NotEvaluated((), one.stratum, _NOBODY_LEFT, blocks=True)


def _told(waiver: Waiver, finding: Finding | None, checks: Sequence[str], today: date) -> Told:
    if not waiver.holds(today):
        return Told(waiver, State.EXPIRED, f"it held until {waiver.expires}")
    if waiver.check not in checks:
        hint = did_you_mean(waiver.check, checks)
        return Told(waiver, State.UNUSED, f"there is no such check{hint}")
    if finding is None:
        return Told(waiver, State.NOT_JUDGED, "the check was not judged")
    if any(_same(one.group, waiver.group) for one in finding.waived):
        return Told(waiver, State.APPLIED, "")
    return Told(waiver, State.UNUSED, _why_unused(waiver, finding))


def _why_unused(waiver: Waiver, finding: Finding) -> str:
    if finding.status is Status.PASS:
        return "the check passes without it"
    nothing = not finding.crossed and not finding.reversals
    if nothing or finding.status in {Status.INCONCLUSIVE, Status.SKIPPED}:
        return "the check could not be evaluated, and that cannot be waived"
    if not waiver.group:
        return "waivers of single groups cover all of it"
    levels = [level for one in finding.crossed for group in one.between for _, level in group]
    hints = [did_you_mean(level, levels) for _, level in waiver.group if level not in levels]
    return "nothing beyond the limit is of this group" + next(filter(None, hints), "")


def _same(one: Group, other: Group) -> bool:
    """Whether two groups are the same, in whatever order their columns are named."""
    return dict(one) == dict(other)
