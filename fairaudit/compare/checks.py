"""How the checks of two results changed: towards their limits or away from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import NamedTuple

from fairaudit.compare.groups import IndexedRows, find_deciding_group, index_rows, pair_values
from fairaudit.compare.rates import find_change_terms
from fairaudit.compare.records import (
    Change,
    CheckChange,
    DifferentCheck,
    Direction,
    GroupChange,
    Scale,
)
from fairaudit.compare.testing import ChangeTerms, measure_change
from fairaudit.cube import Group
from fairaudit.estimate import Estimate
from fairaudit.evidence.simultaneous import SIMULTANEOUS
from fairaudit.metrics import Disparity, Eligibility, GroupMetric, describe_group
from fairaudit.metrics.disparities import REMAINDER
from fairaudit.metrics.terms import Inference
from fairaudit.result import AuditResult
from fairaudit.verdict import AnyCheck, Check, Finding, Limit, ReversalCheck

_SEARCHED = "not tested: a search picks the subgroup"
_OTHER_WORST = "not tested: another group was the worst before"
_NO_NUMBER = "it has no value of its own: see the reversals"
_NOT_ASKED = {"place", "inference"}
"""Fields of a check that are no part of what it asks."""


class _Picked(NamedTuple):
    """What a worst value is picked from: a measure (None compares: a bare rate), and of whom."""

    metric: str
    compare: str | None
    of: str
    by: frozenset[str]
    given: frozenset[str]


class _Many(NamedTuple):
    """How many values there are to pick from, and how many strata they are of."""

    values: int
    strata: int


_ALONE = _Many(1, 1)


class ComparedChecks(NamedTuple):
    """The checks of two results: those of both, those that ask otherwise, those of one alone."""

    both: tuple[CheckChange, ...]
    otherwise: tuple[DifferentCheck, ...]
    only_before: tuple[Finding, ...]
    only_after: tuple[Finding, ...]


def compare_checks(
    before: AuditResult,
    after: AuditResult,
    inference: Inference,
    *,
    barred: str = "",
    weighted: bool = False,
    renamed: bool = False,
) -> ComparedChecks:
    """The checks by what they ask: id, measure, outcome, groups, terms and limits.

    With `renamed` two outcomes are compared, whose columns are none of each other's.
    """
    then = {one.check.id: one for one in before.findings}
    now = {one.check.id: one for one in after.findings}
    versions = _versions(before), _versions(after)
    many = _values(before), _values(after)
    rows = index_rows(before), index_rows(after)
    both, otherwise = [], []
    for name, one in now.items():
        was = then.get(name)
        if was is None:
            continue
        why = _differs(was.check, one.check, *versions)
        if why:
            otherwise.append(DifferentCheck(was, one, why))
            continue
        kind = _kind(was, one, barred=barred, weighted=weighted)
        picked = [_many(one.check, each) for each in many]
        # Intervals that hold for all groups together allow for who is picked among them.
        held = _is_simultaneous(was) and _is_simultaneous(one)
        values = max(each.strata if held else each.values for each in picked)
        groups = tuple(_group_changes(was, one, rows, barred, weighted, inference))
        alone = next((each.change for each in groups if each.decided and each.decides), None)
        change = alone or _change(was, one, replace(kind, values=values), inference)
        if find_deciding_group(was) != find_deciding_group(one) and change.significance is not None:
            change = _untested(change, _OTHER_WORST)
        recast = was.definition != one.definition and not renamed
        lost = tuple(each for each in _decisive(was) if not _is_judged(each, one, after))
        new = tuple(each for each in _decisive(one) if not _is_judged(each, was, before))
        if lost and change.way is Direction.BETTER:
            change = _untested(change, _lost(lost))
        if new and change.way is Direction.WORSE:
            change = _untested(change, _new(new))
        groups = tuple(
            replace(each, change=change) if each.decided and each.decides else each
            for each in groups
        )
        both.append(CheckChange(was, one, change, recast=recast, lost=lost, groups=groups))
    return ComparedChecks(
        tuple(both),
        tuple(otherwise),
        tuple(one for name, one in then.items() if name not in now),
        tuple(one for name, one in now.items() if name not in then),
    )


def _group_changes(
    was: Finding,
    one: Finding,
    results: tuple[IndexedRows, IndexedRows],
    barred: str,
    weighted: bool,  # noqa: FBT001  # as the results say
    inference: Inference,
) -> Iterator[GroupChange]:
    """How the value of each group changed that the check judged in both results."""
    both = pair_values(was, one, results)
    if both is None:
        return
    then, now = both
    decided, decides = find_deciding_group(was), find_deciding_group(one)
    for who, (group, stratum, value) in now.items():
        if who in then:
            sides = replace(was, estimate=then[who][2]), replace(one, estimate=value)
            kind = _kind(*sides, barred=barred, weighted=weighted)
            change = _change(*sides, kind, inference)
            yield GroupChange(group, stratum, change, who == decided, who == decides)


def _untested(change: Change, why: str) -> Change:
    return replace(change, significance=None, low=None, high=None, method="", why=why)


def _decisive(one: Finding) -> list[Group]:
    """The groups whose values decide a check with a number."""
    return [group for group in (one.first, one.second) if group and isinstance(one.check, Check)]


def _is_judged(group: Group, finding: Finding, result: AuditResult) -> bool:
    """Whether a check judges a group; it does where the result lists no groups of its columns."""
    who = frozenset(group)
    waived = (each.group for one in finding.waived for each in one.crossed)
    aside = (one.group for one in finding.not_evaluated)
    if any(frozenset(one) == who for one in (*waived, *aside)):
        return False
    rows = [one for one in result.groups if frozenset(one.by) == {name for name, _ in group}]
    return not rows or any(
        frozenset(one.group) == who and one.standing is Eligibility.ELIGIBLE for one in rows
    )


def _lost(groups: Sequence[Group]) -> str:
    named = " and ".join(describe_group(group) for group in groups)
    verb = "is" if len(groups) == 1 else "are"
    return f"not tested: {named} decided it and {verb} not judged any longer"


def _new(groups: Sequence[Group]) -> str:
    named = " and ".join(describe_group(group) for group in groups)
    verb = "was" if len(groups) == 1 else "were"
    return f"not tested: {named} {verb} not judged before"


def _differs(
    one: AnyCheck,
    two: AnyCheck,
    then: Mapping[str, tuple[int, str]],
    now: Mapping[str, tuple[int, str]],
) -> str:
    """What two checks do not ask alike; empty where they ask the same."""
    if type(one) is not type(two):
        return "it looks for something else"
    changed = [
        name
        for name in (each.name for each in fields(one))
        if name not in _NOT_ASKED and getattr(one, name) != getattr(two, name)
    ]
    if changed:
        return "its " + ", ".join(_WORDS.get(name, name.replace("_", " ")) for name in changed)
    redefined = [
        name for name in _records(one) if name in then and name in now and then[name] != now[name]
    ]
    return f"the definition of {', '.join(redefined)}" if redefined else ""


_WORDS = {
    "asked": "measure",
    "by": "groups",
    "given": "strata",
    "minimum": "smallest group",
    "of_class": "class",
    "at": "threshold",
    "undefined": "way with undefined values",
    "warn": "limit that warns",
    "fail": "limit that fails",
}


def _records(check: AnyCheck) -> list[str]:
    """The ids of the records that a check is made of."""
    if not isinstance(check, Check):
        return [check.rate]
    names = [check.asked.id]
    if isinstance(check.asked, Disparity):
        names += [record.id for part in check.asked.parts for record in part]
    return names


def _versions(result: AuditResult) -> dict[str, tuple[int, str]]:
    """How each metric is defined in a result: its version, and its formula."""
    return {one.id: (one.version, one.formula) for one in result.definitions}


def _values(result: AuditResult) -> dict[_Picked, _Many]:
    """From how many values the worst was picked, by measure, outcome, groups and strata.

    An entry of other parameters has as many; the most there are count.
    """
    found: dict[tuple[_Picked, str], list[Group]] = {}
    for row in result.comparisons:
        given = frozenset(row.averaged) or frozenset(name for name, _ in row.stratum)
        picked = _Picked(row.metric, row.compare or "", row.of, frozenset(row.by), given)
        found.setdefault((picked, repr(row.parameters)), []).append(row.stratum)
    for rate in result.rates:
        if rate.standing is Eligibility.ELIGIBLE:
            given = frozenset(rate.averaged) or frozenset(name for name, _ in rate.stratum)
            picked = _Picked(rate.metric, None, rate.of, frozenset(rate.by), given)
            found.setdefault((picked, repr(rate.parameters)), []).append(rate.stratum)
    most: dict[_Picked, _Many] = {}
    for (picked, _), strata in found.items():
        known = most.get(picked, _ALONE)
        most[picked] = _Many(max(known.values, len(strata)), max(known.strata, len({*strata})))
    return most


def _many(check: AnyCheck, values: dict[_Picked, _Many]) -> _Many:
    """From how many values the worst of a check was picked."""
    if not isinstance(check, Check):
        return _ALONE
    compare: str | None = ""
    if isinstance(check.asked, GroupMetric):
        compare = None
    elif isinstance(check.asked, Disparity) and check.asked.id == check.asked.parts[0][0].id:
        compare = check.asked.comparison.id
    whom = check.of, frozenset(check.by), frozenset(check.given)
    return values.get(_Picked(check.asked.id, compare, *whom), _ALONE)


def _is_simultaneous(one: Finding) -> bool:
    return one.estimate is not None and SIMULTANEOUS in one.estimate.method


def _kind(was: Finding, one: Finding, *, barred: str = "", weighted: bool = False) -> ChangeTerms:
    """How the value of a check is told and tested."""
    check = one.check
    if not isinstance(check, Check):
        return ChangeTerms(barred=barred or _SEARCHED)
    asked = check.asked
    if isinstance(asked, GroupMetric):
        sides = (side.estimate or Estimate(math.nan) for side in (was, one))
        kind = find_change_terms(asked, *sides, barred=barred, weighted=weighted)
        if check.against is not None:
            kind = replace(kind, share=False, scale=Scale.DIFFERENCE)
    else:
        kind = ChangeTerms(barred=barred)
    if isinstance(asked, Disparity) and _is_quotient(asked) and check.against is None:
        kind = replace(kind, scale=Scale.RATIO)
    return replace(kind, middle=_middle(check, kind.scale))


def _is_quotient(asked: Disparity) -> bool:
    return asked.comparison.quotient and asked.fold is not REMAINDER


def _middle(check: Check, scale: Scale) -> float | None:
    """What lies as far from both bounds, where a limit has two."""
    limit = check.fail or check.warn
    if limit is None or limit.below is None or limit.above is None:
        return None
    low, high = float(limit.below), float(limit.above)
    if scale is Scale.RATIO:
        return math.sqrt(low * high) if low > 0 else None
    return (low + high) / 2


def _change(was: Finding, one: Finding, kind: ChangeTerms, inference: Inference) -> Change:
    before, after = (side.estimate or Estimate(math.nan, reason=side.why) for side in (was, one))
    if isinstance(one.check, ReversalCheck):
        return Change(before, after, Scale.DIFFERENCE, math.nan, Direction.UNKNOWN, why=_NO_NUMBER)
    found = measure_change(before, after, kind, inference)
    if _is_simultaneous(one) and found.significance is not None:
        test = f"{found.significance.test}, simultaneous"
        found = replace(found, significance=replace(found.significance, test=test))
    return replace(found, way=_way(found, one, kind))


def _towards(value: float, check: AnyCheck, limit: Limit) -> float:
    """A value, or parity where it lies beyond parity and the limit on the other side.

    A group that is ahead of its reference is no worse off when it is less so.
    """
    if not isinstance(check, Check) or check.against is not None:
        return value
    if not isinstance(check.asked, Disparity):
        return value
    ideal = float(check.asked.ideal)
    if limit.below is not None and limit.above is None and float(limit.below) <= ideal:
        return min(value, ideal)
    if limit.above is not None and limit.below is None and float(limit.above) >= ideal:
        return max(value, ideal)
    return value


def _way(change: Change, one: Finding, kind: ChangeTerms) -> Direction:
    """Worse is farther beyond the limit, or nearer to it."""
    limit = one.check.fail or one.check.warn
    if change.way is Direction.SAME or math.isnan(change.value) or not isinstance(limit, Limit):
        return change.way
    if kind.middle is None:
        sides = [_towards(side.value, one.check, limit) for side in (change.before, change.after)]
        then, now = map(limit.excess, sides)
        if then == now:  # on the side of parity where the limit does not look
            rises = change.after.value > change.before.value
            return Direction.HIGHER if rises else Direction.LOWER
        farther = now > then
    else:
        # Both numbers lie on the side of the later one, or of a ratio of 0, which has no mirror.
        of_nothing = kind.scale is Scale.RATIO and change.before.value == 0
        side = change.before if of_nothing else change.after
        rises = change.value > (1 if change.scale is Scale.RATIO else 0)
        farther = rises is (side.value > kind.middle)
    return Direction.WORSE if farther else Direction.BETTER
