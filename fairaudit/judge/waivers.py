"""Waivers: their application to findings, their expiry, and notices on them.

A waiver excludes its group from a check, and the check is judged again without this group. A check
that cannot be evaluated cannot be waived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from enum import StrEnum

import numpy as np

from fairaudit.base.disclosure_marks import Notice, Subjects, declare_subjects
from fairaudit.base.errors import Place, did_you_mean
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.cube import Group, GroupTable
from fairaudit.evidence.missing_bounds import MissingBounds, UncertainValue
from fairaudit.judge import Breach, Finding, Limit, NotEvaluated, Status
from fairaudit.judge.findings import Waived
from fairaudit.judge.judging import status_of_unevaluated, worst_status
from fairaudit.metrics import Evaluation

_SOON = 14
"""A notice announces that a waiver expires if it expires in at most this number of days."""


class WaiverState(StrEnum):
    """The state of a waiver after an audit."""

    APPLIED = "applied"
    UNUSED = "unused"
    EXPIRED = "expired"
    NOT_JUDGED = "not_judged"


class Waiver(Frozen):
    """One entry of a file of waivers. It is valid until the end of the day `expires`, in UTC.

    If `group` is empty (()), the waiver applies to the whole check.
    """

    check: str
    group: Group
    reason: str
    approved_by: str
    expires: date
    place: Place | None = None

    def holds(self, today: date) -> bool:
        """Whether the waiver has not expired."""
        return today <= self.expires

    def covers(self, breach: Breach) -> bool:
        """Whether a value is about the group, its subgroup, or a pair that contains either."""
        levels = set(self.group)
        return bool(levels) and any(levels <= set(group) for group in breach.between)


@declare_subjects(nobody="waiver state", nested="why", hidden={"why": ""})
class WaiverOutcome(Frozen):
    """A waiver with its state, and the reason if it is not applied."""

    waiver: Waiver = field(name="*waiver")
    state: WaiverState
    why: str


class Exclusion(Frozen):
    """The waived parts of a check: groups of a spread, or single values."""

    groups: tuple[Group, ...] = ()
    values: tuple[Breach, ...] = ()


NO_EXCLUSION = Exclusion()

_OPEN = {Status.INCONCLUSIVE, Status.SKIPPED}
_NOBODY_LEFT = "fewer than two groups are left to compare once the waived groups are set aside"

Rejudge = Callable[[Exclusion], Finding | None]
"""Judges a check again without the excluded parts; None if nothing is left to judge."""


def waive(finding: Finding, waivers: Sequence[Waiver], rejudge: Rejudge) -> Finding:
    """Applies the waivers of a check to its finding. The caller removes expired waivers.

    The status is `waived` if no other value is beyond a limit; otherwise, other values decide it.
    A spread is judged again without the waived group, because the next pair may be over the limit.
    The check is inconclusive if fewer than two groups are left.
    """
    waived: dict[Waiver, list[Breach]] = {}
    remaining: Finding | None = finding
    exclusion = NO_EXCLUSION
    while remaining is not None and _is_beyond_limit(remaining):
        covered = [
            (waiver, breach)
            for breach in remaining.crossed
            for waiver in waivers
            if waiver.covers(breach)
            # Without this condition the loop would not end if an excluded value is still listed.
            and (waiver not in waived if remaining.spread else breach not in exclusion.values)
        ]
        if not covered:
            break
        for waiver, breach in covered:
            waived.setdefault(waiver, []).append(breach)
        if remaining.spread:
            exclusion = replace(exclusion, groups=tuple(waiver.group for waiver in waived))
        else:
            values = (*exclusion.values, *(breach for _, breach in covered))
            exclusion = replace(exclusion, values=values)
        remaining = rejudge(exclusion)
    of_whole_check = next((waiver for waiver in waivers if not waiver.group), None)
    if of_whole_check is not None and remaining is not None and _is_beyond_limit(remaining):
        waived[of_whole_check] = [*remaining.crossed]
        remaining = None
    if not waived:
        return finding
    accepted = tuple(
        Waived(one.group, one.reason, one.approved_by, one.expires, tuple(breaches))
        for one, breaches in waived.items()
    )
    return _combine(finding, remaining, accepted)


def exclude_groups(table: GroupTable, exclusion: Exclusion) -> GroupTable:
    """The table, changed so that excluded groups do not take part in comparisons."""
    if not exclusion.groups:
        return table
    waived = [dict(group) for group in exclusion.groups]  # the order of columns does not matter
    excluded = [dict(group) in waived for group in table.groups]
    return replace(table, known=table.known & ~np.array(excluded, dtype=np.bool_))


def exclude_values(evaluation: Evaluation, exclusion: Exclusion) -> Evaluation | None:
    """The evaluation, changed so that excluded values are not judged; None if no value is left."""
    if exclusion == NO_EXCLUSION:
        return evaluation
    table, judged = evaluation.table, evaluation.judged.copy()
    if evaluation.spread:
        judged[evaluation.takes_part.sum(axis=1) < 2] = False
    for value in exclusion.values:
        place = 0 if evaluation.spread else table.groups.index(value.group)
        judged[table.strata.index(value.stratum), place] = False
    return replace(evaluation, judged=judged) if judged[table.known_strata].any() else None


def report_waivers(
    waivers: Sequence[Waiver], findings: Sequence[Finding], checks: Sequence[str], today: date
) -> tuple[WaiverOutcome, ...]:
    """The state of each waiver. `checks` are the ids of all checks of the spec."""
    by_check = {finding.check.id: finding for finding in findings}
    outcomes = []
    for waiver in waivers:
        finding, state, why = by_check.get(waiver.check), WaiverState.UNUSED, ""
        if not waiver.holds(today):
            state, why = WaiverState.EXPIRED, f"it held until {waiver.expires}"
        elif waiver.check not in checks:
            why = f"the spec has no such check{did_you_mean(waiver.check, checks)}"
        elif finding is None:
            state, why = WaiverState.NOT_JUDGED, "the check was not judged"
        elif any(dict(waived.group) == dict(waiver.group) for waived in finding.waived):
            state = WaiverState.APPLIED
        elif finding.status is Status.PASS:
            why = "the check passes without it"
        elif not (finding.crossed or finding.reversals) or finding.status in _OPEN:
            why = "the check could not be evaluated, and that cannot be waived"
        elif not waiver.group:
            why = "waivers of single groups cover all of it"
        else:
            over = (group for breach in finding.crossed for group in breach.between)
            levels = [level for group in over for _, level in group]
            hints = (did_you_mean(name, levels) for _, name in waiver.group if name not in levels)
            why = "no value of this group is over the limit" + next(filter(None, hints), "")
        outcomes.append(WaiverOutcome(waiver, state, why))
    return tuple(outcomes)


def write_notices(outcomes: Sequence[WaiverOutcome], created: date) -> Iterator[Notice]:
    """Notices on waivers that are unused, have expired, or expire soon after the day `created`."""
    for outcome in outcomes:
        waiver, state = outcome.waiver, outcome.state
        place = f" ({waiver.place.file}:{waiver.place.line})" if waiver.place else ""
        days = (waiver.expires - created).days
        if state is WaiverState.APPLIED and days <= _SOON:
            left = f"in {days} day{'' if days == 1 else 's'}" if days > 0 else "today"
            what = f"waiver of {waiver.check}{place}: expires {left}, on {waiver.expires}"
            yield Notice(what, Subjects.NOBODY)
        elif state in {WaiverState.EXPIRED, WaiverState.UNUSED}:
            is_expired = state is WaiverState.EXPIRED
            subjects = Subjects.NOBODY if is_expired else Subjects.ANYBODY
            yield Notice(f"waiver of {waiver.check}{place}: {state}: {outcome.why}", subjects)


def _is_beyond_limit(finding: Finding) -> bool:
    crossed = finding.crossed or finding.reversals
    return finding.status in {Status.FAIL, Status.WARN} and bool(crossed)


def _combine(finding: Finding, remaining: Finding | None, waived: tuple[Waived, ...]) -> Finding:
    """The finding for the values without a waiver, with the reasons of both findings."""
    # The strata where a spread has only one group left after waivers.
    alone: list[Group] = []
    if finding.spread and all(waiver.group for waiver in waived):
        if remaining is None:
            alone.append(())
        else:
            before, now = (
                [part.stratum for part in side.not_evaluated if not part.group]
                for side in (finding, remaining)
            )
            alone += [stratum for stratum in now if stratum and stratum not in before]
    lost = [NotEvaluated((), stratum, _NOBODY_LEFT, blocks=True) for stratum in alone]
    reasons = (finding.why, *(part.reason for part in lost))
    why = "; ".join(dict.fromkeys(filter(None, reasons)))
    finding = replace(finding, not_evaluated=(*finding.not_evaluated, *lost), why=why)
    least = status_of_unevaluated(finding)
    if remaining is None or remaining.status in {Status.PASS, Status.SKIPPED}:
        missing = finding.missing
        if missing is None and remaining is not None and remaining.missing is not None:
            # The waived value has no missing people, but other values do.
            value = None if finding.estimate is None else finding.estimate.value
            nobody = MissingBounds(0, 0, value, value, value, value, value, value)
            missing = nobody if remaining.missing.may_turn else None
        missing = bound_others(missing, remaining)
        status = worst_status(Status.WAIVED, least)
        return replace(finding, status=status, waived=waived, missing=missing)
    blocking = (part for part in remaining.not_evaluated if part.blocks)
    return replace(
        remaining,
        status=worst_status(remaining.status, least),
        waived=waived,
        not_evaluated=tuple(dict.fromkeys((*finding.not_evaluated, *blocking))),
    )


def bound_others(bounds: MissingBounds | None, remaining: Finding | None) -> MissingBounds | None:
    """Adds to the bounds of a waived value the other values that could cross a limit."""
    if bounds is None or remaining is None:
        return bounds
    missing, check = remaining.missing, remaining.check
    turns, others = False, list[UncertainValue]()
    if missing is not None:
        turns, others = missing.turns, [*missing.others]
    if missing is not None and missing.low is not None and missing.high is not None:
        limits = [limit for limit in (check.fail, check.warn) if isinstance(limit, Limit)]
        ends = missing.low, missing.high
        if any(limit.is_crossed(end, None) for limit in limits for end in ends):
            group = () if remaining.spread else remaining.first
            others.insert(0, UncertainValue(group, remaining.stratum, *ends))
    return replace(bounds, turns=turns, others=tuple(others))
