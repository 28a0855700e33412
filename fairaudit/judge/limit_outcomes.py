"""Outcome of limits, also `significant`, `conclusive` ones: status, breaches, deciding value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairaudit.base.frozen import Frozen
from fairaudit.evidence import Evidence
from fairaudit.judge.checks import Status
from fairaudit.judge.entries import Entry
from fairaudit.judge.findings import NotEvaluated
from fairaudit.judge.limits import Backing, Limit
from fairaudit.metrics import Evaluation


class LimitOutcome(Frozen):
    """What the limits of a check make of its values, and of the evidence for them.

    `breaches` are all values beyond the `limit` (None: none is), `deciding` those that the status
    rests on, `untested` those beyond it that no test can be made of; `backings` are what the
    evidence says of each breach.
    """

    status: Status = Status.PASS
    limit: Limit | None = None
    breaches: Sequence[Entry] = ()
    deciding: Sequence[Entry] = ()
    untested: Sequence[Entry] = ()
    backing: Backing = Backing.UNASKED
    backings: Sequence[Backing] = ()


def apply_limits(
    fail: Limit | None, warn: Limit | None, entries: Sequence[Entry], evidence: Evidence
) -> LimitOutcome:
    """The worst that holds: a limit crossed with its evidence, one crossed without, or none."""
    unproven_outcome = LimitOutcome()
    for status, limit in ((Status.FAIL, fail), (Status.WARN, warn)):
        if limit is None:
            continue
        beyond = _list_beyond(limit, entries)
        backings = _find_backings(beyond, limit, evidence)
        pairs = list(zip(beyond, backings, strict=True))
        supported = [entry for entry, kind in pairs if kind in {Backing.SUPPORTED, Backing.UNASKED}]
        if supported:
            backing = Backing.SUPPORTED if limit.asks else Backing.UNASKED
            untested = [entry for entry, kind in pairs if kind is Backing.UNTESTED]
            return LimitOutcome(status, limit, beyond, supported, untested, backing, backings)
        outcome = _apply_in_doubt(status, limit, entries, pairs, evidence)
        if any(kind is Backing.ONLY_TOGETHER for _, kind in pairs):
            return outcome
        if unproven_outcome.backing in {Backing.UNASKED, Backing.SUPPORTED}:
            unproven_outcome = outcome
    return unproven_outcome


def _list_beyond(limit: Limit, entries: Sequence[Entry]) -> list[Entry]:
    """The values beyond a limit; near it fractions tell."""
    excess = limit.find_excess(np.array([entry.value for entry in entries])).tolist()
    return [
        entry
        for entry, far in zip(entries, excess, strict=True)
        if (far > 0 if entry.exact is None else limit.is_crossed(entry.value, entry.exact))
    ]


def _apply_in_doubt(
    status: Status,
    limit: Limit,
    entries: Sequence[Entry],
    beyond: Sequence[tuple[Entry, Backing]],
    evidence: Evidence,
) -> LimitOutcome:
    """What a limit makes of values none of which is proven to lie beyond it."""
    if beyond:
        untested = [entry for entry, kind in beyond if kind is Backing.UNTESTED]
        only = [entry for entry, kind in beyond if kind is Backing.ONLY_TOGETHER]
        deciding = untested or only or [entry for entry, _ in beyond]
        decider = farthest(deciding, limit) or deciding[0]
        backing = next(kind for entry, kind in beyond if entry is decider)
        listed = beyond if status.in_doubt is Status.WARN else []
        breaches, backings = [entry for entry, _ in listed], [kind for _, kind in listed]
        return LimitOutcome(
            status.in_doubt, limit, breaches, deciding, [*untested, *only], backing, backings
        )
    if limit.conclusive:
        unbounded = [entry for entry in entries if not evidence.intervals.all_at(entry.z, entry.w)]
        if unbounded:
            return LimitOutcome(status.in_doubt, limit, (), unbounded, unbounded, Backing.UNTESTED)
        unproven = [entry for entry in entries if not _lies_within(entry, limit, evidence)]
        if unproven:
            return LimitOutcome(status.in_doubt, limit, (), unproven, (), Backing.NOT_CONCLUSIVE)
    significant = [
        entry
        for entry in entries
        if limit.significant and evidence.is_significant(entry.z, entry.w)
    ]
    if significant:
        return LimitOutcome(status.in_doubt, limit, (), significant, (), Backing.SIGNIFICANT_WITHIN)
    return LimitOutcome(backing=Backing.SUPPORTED if limit.asks and entries else Backing.UNASKED)


def _lies_within(entry: Entry, limit: Limit, evidence: Evidence) -> bool:
    ends = evidence.intervals.all_at(entry.z, entry.w)
    return bool(ends) and all(limit.includes(*pair) for pair in ends)


def _find_backings(entries: Sequence[Entry], limit: Limit, evidence: Evidence) -> list[Backing]:
    """What the evidence says of the values beyond a limit."""
    if not limit.asks or not entries:
        return [Backing.UNASKED] * len(entries)
    places = tuple(np.array([(entry.z, entry.w) for entry in entries]).T)
    tested = significant = np.ones(len(entries), dtype=np.bool_)
    if limit.significant:
        tested = ~np.isnan(evidence.adjusted[places])
        significant = evidence.mark_significant_beyond(limit.mark_reached)[places]
    marks = zip(tested.tolist(), significant.tolist(), strict=True)
    return [
        _find_backing(entry, limit, evidence, is_tested=is_tested, is_significant=is_significant)
        for entry, (is_tested, is_significant) in zip(entries, marks, strict=True)
    ]


def _find_backing(
    entry: Entry, limit: Limit, evidence: Evidence, *, is_tested: bool, is_significant: bool
) -> Backing:
    """What the evidence says of one value beyond a limit."""
    ends = evidence.intervals.all_at(entry.z, entry.w) if limit.conclusive else []
    if not is_tested or (limit.conclusive and not ends):
        return Backing.UNTESTED
    if not is_significant:
        return (
            Backing.ONLY_TOGETHER
            if evidence.side_test_leaves_open(entry.z, entry.w)
            else Backing.NOT_SIGNIFICANT
        )
    if limit.conclusive and not all(limit.excludes(*pair) for pair in ends):
        return Backing.NOT_CONCLUSIVE
    return Backing.SUPPORTED


def explain_untested(
    evaluation: Evaluation, entry: Entry, limit: Limit | None, evidence: Evidence
) -> NotEvaluated:
    """A value that is not judged: the evidence that its side of the limit requires is missing."""
    group = () if evaluation.spread else evaluation.table.groups[entry.w]
    if evidence.side_test_leaves_open(entry.z, entry.w) and not math.isnan(
        evidence.adjusted[entry.z, entry.w]
    ):
        assert evidence.tests.side_test is not None
        reason = (
            f"beyond the limit, and not significant, although groups are not "
            f"{evidence.tests.side_test.hypothesis} ({evidence.tests.side_test.name}): "
            "too few people decide the printed number"
        )
        return NotEvaluated(group, evaluation.table.strata[entry.z], reason, blocks=True)
    within = limit is not None and not limit.is_crossed(entry.value, entry.exact)
    # A missing test is the reason only where a test is asked for: of values beyond the limit.
    is_tested = not within and (limit is None or limit.significant)
    why = (evidence.tests.why if is_tested else "") or evidence.intervals.explain(entry.z, entry.w)
    side = "beyond the limit, but the required evidence"
    if within:
        side = "within the limit, but the interval that a pass requires"
    reason = f"{side} is unavailable: {why.removeprefix('none: ')}"
    return NotEvaluated(group, evaluation.table.strata[entry.z], reason, blocks=True)


def farthest(entries: Sequence[Entry], limit: Limit) -> Entry | None:
    """The value that decides: the farthest beyond the limit; ties: larger n, then the first."""
    if not entries:
        return None
    excess = limit.find_excess(np.array([entry.value for entry in entries]))
    most = [entries[index] for index in np.flatnonzero(excess == excess.max()).tolist()]
    return max(most, key=lambda entry: (entry.n, -entry.z, -entry.w))
