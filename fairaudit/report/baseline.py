"""A check's baseline and waivers in words: `worse than before`, age, until when, approved by."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairaudit.base import names
from fairaudit.judge import Before, Breach, Earlier, Finding, Status, Waived
from fairaudit.judge.waivers import Waiver
from fairaudit.report import numbers, reversal_sentences

_NO_FAILURE = {Status.PASS, Status.SKIPPED, Status.INCONCLUSIVE, Status.WAIVED}


def waiver(waived: Waived, finding: Finding) -> str:
    """Who waives what of a check, until when and why; the value, where the sentence has another."""
    groups = names.describe_group(waived.group) if waived.group else "the whole check"
    hidden = [breach for breach in waived.crossed if breach not in finding.crossed]
    is_named = [(breach.group, breach.stratum) for breach in hidden] == [(waived.group, ())]
    values = _value(hidden[0]) if is_named else breaches(hidden)
    return f"{groups}{f' ({values})' if values else ''} {terms(waived)}"


def terms(waiver: Waived | Waiver) -> str:
    """Until when something is waived, who approved it, and why."""
    by = names.line(waiver.approved_by)
    return f"until {waiver.expires}, approved by {by}: {names.line(waiver.reason)}"


def sentence(finding: Finding, before: Before) -> str:
    """How a check beyond its limit compares with the baseline; empty where it is not beyond."""
    if before.worse or before.reversals:
        only_warned = before.status == Status.WARN and not (before.worse_by or 0) > 0
        if only_warned or before.status in _NO_FAILURE:
            return f"before: {before.status}, {created(before.earlier)}"
        earlier = [
            "no value before" if value is None else f"{numbers.number(value)} before"
            for value in before.own_worse
        ]
        pairs = zip(before.worse, earlier, strict=True)
        values = [f"{breach_words(breach)} ({then})" for breach, then in pairs]
        values += map(reversal_sentences.pair, before.reversals)
        worst = _earlier_worst(finding, before)
        return f"worse than before: {numbers.first_few(values)}{worst}, {_when(before)}"
    is_beyond = bool(finding.crossed or finding.reversals)
    # The limit that decided is the one that fails, not the one that warns.
    fails = finding.check.fail is not None and finding.limit == finding.check.fail
    if not is_beyond or finding.status is Status.WAIVED or not fails:
        return ""
    groups = " against ".join(map(names.describe_group, before.between))
    moved = f"; previously between other groups: {groups}" if groups else ""
    return f"as before: {_both_values(finding, before)}{moved}"


def _earlier_worst(finding: Finding, before: Before) -> str:
    """Who decided the check in the baseline, where that was somebody else."""
    if before.value is None or not before.decided_by or before.is_decided_alike(finding):
        return ""
    if finding.spread and frozenset(before.stratum) == frozenset(finding.stratum):
        return f"; then {deciding_groups(before)}"  # the value is that of the same spread
    return f"; the worst before: {deciding_groups(before)} {numbers.number(before.value)}"


def deciding_groups(before: Before) -> str:
    """The groups that decided a check in the baseline, and their stratum."""
    groups = " against ".join(map(names.describe_group, before.decided_by))
    return f"{groups}{numbers.in_stratum(before.stratum)}"


def _both_values(finding: Finding, before: Before) -> str:
    if finding.reversals:
        return _when(before)
    now = math.nan if finding.estimate is None else finding.estimate.value
    then = math.nan if before.own is None else before.own
    worst = "" if before.between else _earlier_worst(finding, before)
    return f"{numbers.number(now)} against {numbers.number(then)} {_when(before)}{worst}"


def _when(before: Before) -> str:
    return f"{created(before.earlier)}, tolerance {before.earlier.tolerance}"


def origin(earlier: Earlier, day: str) -> str:
    """Where a baseline is from, and how much worse than it is tolerated."""
    path = names.copied(earlier.path) if earlier.path else "a document"
    return f"{path}, created {day} ({age(earlier)}), tolerance {earlier.tolerance}"


def created(earlier: Earlier) -> str:
    """When a baseline was made: `on 2026-05-01 (12 days ago)`."""
    return f"on {earlier.created[:10]} ({age(earlier)})"


def age(earlier: Earlier) -> str:
    """How old a baseline is: `today`, `12 days ago`."""
    if not earlier.days:
        return "today"
    days = numbers.counted(abs(earlier.days), "day")
    return f"{days} ago" if earlier.days > 0 else f"{days} after this run"


def breaches(crossed: Sequence[Breach]) -> str:
    """Who is beyond a limit, with their values: the first few, and how many more."""
    return numbers.first_few([breach_words(breach) for breach in crossed])


def breach_words(breach: Breach) -> str:
    """Who is beyond a limit, with the value: `race=A in department=y 4.7800`."""
    return f"{numbers.group_in(breach.group, breach.stratum)} {_value(breach)}".strip()


def _value(breach: Breach) -> str:
    return numbers.number(breach.signed_value)
