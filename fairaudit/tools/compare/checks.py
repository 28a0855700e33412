"""Changes of checks: which checks are compared, groups that both results judge, worst values.

`measuring.py` decides whether a value is worse or better, and `CheckChange` whether a check is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from fairaudit.base.frozen import Frozen, field_names, replace
from fairaudit.base.names import describe_group
from fairaudit.cube import Group
from fairaudit.evidence.clusters_and_pairs import SIMULTANEOUS
from fairaudit.judge import AnyCheck, Check, Finding, Limit, ReversalCheck, Status, SubgroupCheck
from fairaudit.judge.departures import find_fallen
from fairaudit.metrics import (
    Disparity,
    Eligibility,
    GroupMetric,
    TableMetric,
    find_comparison_id,
)
from fairaudit.metrics.disparities import REMAINDER
from fairaudit.metrics.estimate import Estimate
from fairaudit.result import AuditResult
from fairaudit.result.rows import (
    ComparisonRow,
    GroupKey,
    IndexedRows,
    JudgedValues,
    deciding_key,
    find_entries,
    group_key,
    index_rows,
)
from fairaudit.tools.compare.measuring import (
    ChangeTerms,
    find_middle,
    judge_by_limit,
    measure_change,
)
from fairaudit.tools.compare.rates import explain_unseen, find_change_terms
from fairaudit.tools.compare.records import (
    Change,
    CheckChange,
    DifferentCheck,
    Direction,
    GroupChange,
    RateChange,
    Scale,
)

_Search = (ReversalCheck, SubgroupCheck)
_NO_QUESTION = {"place", "source", "inference"}
"""The fields in which comparable checks may differ."""


class _Side(Frozen):
    """One of the two results: its findings by id, its rows, and its definitions."""

    result: AuditResult
    findings: Mapping[str, Finding]
    rows: IndexedRows
    definitions: Mapping[str, tuple[int, str]]

    @classmethod
    def of(cls, result: AuditResult) -> _Side:
        return cls(
            result,
            {finding.check.id: finding for finding in result.findings},
            index_rows(result.rates, result.comparisons),
            {metric.id: (metric.version, metric.formula) for metric in result.definitions},
        )

    def find_candidates(self, check: AnyCheck) -> Iterable[Sequence[Group]]:
        """For each possible entry of a check, the strata from which its worst value is chosen."""
        if not isinstance(check, Check):
            return ()
        is_rate = isinstance(check.metric, GroupMetric)
        wanted = None if is_rate else find_comparison_id(check.metric) or "", {*check.given}
        strata: dict[str, list[Group]] = {}
        for row in self.rows.get((check.metric.id, check.of, frozenset(check.by)), ()):
            compare = row.compare or "" if isinstance(row, ComparisonRow) else None
            if (compare, {*row.averaged} or {name for name, _ in row.stratum}) == wanted:
                strata.setdefault(repr(row.parameters), []).append(row.stratum)
        return strata.values()


def compare_checks(
    before: AuditResult, after: AuditResult, terms: ChangeTerms, *, renamed: bool
) -> tuple[list[CheckChange], tuple[DifferentCheck, ...]]:
    """The changes of comparable checks with the same id, and the checks that are not comparable.

    Comparable checks have the same metric, outcome, groups, terms and limits. With `renamed`, the
    results have different outcomes, so their columns may differ.
    """
    then, now = _Side.of(before), _Side.of(after)
    compared, otherwise = [], []
    for name in (name for name in now.findings if name in then.findings):
        was, finding = then.findings[name], now.findings[name]
        why = _explain_difference(was, finding, then, now)
        if why:
            old, new = was.check.fail, finding.check.fail
            # Whether all values that fail the old limit fail the new limit, without more evidence.
            covers = isinstance(old, Limit) and isinstance(new, Limit) and new.covers(old)
            with_new = replace(was, check=replace(was.check, fail=new))
            is_stricter = covers and not _explain_difference(with_new, finding, then, now)
            otherwise.append(DifferentCheck(was, finding, why, is_stricter))
            continue
        change = _compare_findings(was, finding, then, now, terms)
        recast = was.definition != finding.definition and not renamed
        compared.append(replace(change, recast=recast))
    return compared, tuple(otherwise)


def _compare_findings(
    was: Finding, finding: Finding, then: _Side, now: _Side, terms: ChangeTerms
) -> CheckChange:
    """The change of a check: of each group that both results judge, and of the worst value."""
    entries = _find_judged_entries(was, then.rows), _find_judged_entries(finding, now.rows)
    common = next((entry for entry in entries[0] if entry in entries[1]), None)
    earlier, later = (side[common] if common else {} for side in entries)
    decided, decides = deciding_key(was), deciding_key(finding)
    groups = []
    for key, (group, stratum, value) in later.items():
        if key in earlier:
            sides = replace(was, estimate=earlier[key][2]), replace(finding, estimate=value)
            of_group = _measure_finding(*sides, _find_check_terms(*sides, terms))
            groups.append(GroupChange(group, stratum, of_group, key == decided, key == decides))
    change = next((group.change for group in groups if group.decided and group.decides), None)
    if change is None:
        # Simultaneous intervals already account for choosing the worst among all groups.
        held = _is_simultaneous(was) and _is_simultaneous(finding)
        candidates = [
            {*strata} if held else strata
            for side in (then, now)
            for strata in side.find_candidates(finding.check)
        ]
        values = max(map(len, candidates), default=1)
        of_check = _find_check_terms(was, finding, terms)
        change = _measure_finding(was, finding, replace(of_check, values=values))
    is_tested = change.significance is not None
    if decided != decides and is_tested:
        change = _without_test(change, "not tested: another group was the worst before")
    lost = tuple(
        group for group in _list_decisive(was) if not _is_judged(group, finding, now.result)
    )
    lost += _list_unsearched(was, then.result, now.result)
    judged = [_find_judged(*side) for side in ((was, then.result), (finding, now.result))]
    fresh = judged[1].keys() - judged[0] if judged[0] else set()
    deciding = {group_key(group, finding.stratum) for group in _list_decisive(finding)}
    if deciding or is_tested:  # an aggregate has no deciding group: all new groups count
        fresh &= deciding
    new = tuple(sorted(judged[1][key] for key in fresh))
    if finding.subgroup is not None:
        levels = [(level,) for level in finding.subgroup.group]
        new = tuple(level for level in levels if not _is_judged(level, was, then.result))
    if lost and change.way is Direction.BETTER:
        verb = "is" if len(lost) == 1 else "are"
        why = f"not tested: {_name(lost)} decided it and {verb} not judged any longer"
        change = _without_test(change, why)
    new = new if change.way is Direction.WORSE else ()
    if new:
        verb = "was" if len(new) == 1 else "were"
        change = _without_test(change, f"not tested: {_name(new)} {verb} not judged before")
    groups = [
        replace(group, change=change) if group.decided and group.decides else group
        for group in groups
    ]
    gone = judged[0].keys() - judged[1] if judged[1] else ()
    unjudged = tuple(sorted(judged[0][key] for key in gone))
    return CheckChange(
        was, finding, change, lost=lost, unjudged=unjudged, groups=tuple(groups), new=new
    )


def list_behind(
    change: CheckChange, rates: Iterable[RateChange], terms: ChangeTerms
) -> tuple[Group, ...]:
    """The groups (with strata) newly or farther over the limit, if the check fails both times.

    Groups that are farther over the limit are included if the people are the same, or if the rate
    of the group changed significantly and is not better. They are also included if the results do
    not list the rate of the group, so that it cannot be tested.
    """
    check, fallen = change.check, find_fallen(change.before, change.after, 0)
    both_fail = change.before.status is change.after.status is Status.FAIL
    if not (fallen and both_fail and isinstance(check, Check)):
        return ()
    averaged = {*check.given} if check.terms.average else set()
    any_rate = isinstance(check.metric, TableMetric)  # the parts of a table metric are not rates
    listed, moved = set[tuple[str, GroupKey]](), set[tuple[str, GroupKey]]()
    for rate in rates:
        if rate.of == check.of and {*rate.averaged} == averaged:
            key = "" if any_rate else rate.metric, group_key(rate.group, rate.stratum)
            listed.add(key)
            if rate.change.significant and rate.change.way is not Direction.BETTER:
                moved.add(key)
    behind = set[Group]()
    for row, value in fallen.items():
        keys = {(part, group_key(row.group, row.stratum)) for part in (row.part, "")}
        if value is None or terms.same_people or keys & moved or not keys & listed:
            behind.add((*sorted(row.group), *sorted(row.stratum)))
    return tuple(sorted(behind))


def _without_test(change: Change, why: str) -> Change:
    return replace(
        change, significance=None, low=None, high=None, method="", certain=False, why=why
    )


def _list_unsearched(was: Finding, then: AuditResult, now: AuditResult) -> tuple[Group, ...]:
    """The groups that a search found beyond a limit and that the later search does not cover."""
    if isinstance(was.check, ReversalCheck):
        unseen = [row for row in was.reversals if explain_unseen(row, then, now)]
        return tuple(
            dict.fromkeys(((row.attribute, level),) for row in unseen for level in row.pair)
        )
    if not isinstance(was.check, SubgroupCheck):
        return ()
    seen = {frozenset(breach.group) for finding in now.findings for breach in finding.crossed}
    searched = () if now.subgroups is None else now.subgroups.rates
    least = 1 if now.subgroups is None else now.subgroups.min_size
    seen |= {frozenset(row.group) for rate in searched for row in rate.listed}
    seen |= {
        frozenset(row.group)
        for row in now.rates
        if row.metric == was.check.rate and (row.estimate.denominator or 0) >= least
    }
    return tuple(breach.group for breach in was.crossed if frozenset(breach.group) not in seen)


def _list_decisive(finding: Finding) -> list[Group]:
    """The groups whose values decide a check that has a value."""
    sides = (finding.first, finding.second) if isinstance(finding.check, Check) else ()
    return [group for group in sides if group]


def _is_judged(group: Group, finding: Finding, result: AuditResult) -> bool:
    """Whether a check judges a group; True if the result lists no groups by these columns."""
    waived = (breach.group for waiver in finding.waived for breach in waiver.crossed)
    not_evaluated = (entry.group for entry in finding.not_evaluated)
    if any(frozenset(other) == frozenset(group) for other in (*waived, *not_evaluated)):
        return False
    columns = {name for name, _ in group}
    rows = [row for row in result.groups if frozenset(row.by) == columns]
    return not rows or any(
        frozenset(row.group) == frozenset(group) and row.standing is Eligibility.ELIGIBLE
        for row in rows
    )


def _find_judged(finding: Finding, result: AuditResult) -> dict[GroupKey, Group]:
    """The groups that a check judges, in each of its strata, including waived groups."""
    check = finding.check
    if not isinstance(check, Check):
        return {}
    given = frozenset(() if check.terms.average else check.given)
    not_evaluated = {group_key(entry.group, entry.stratum) for entry in finding.not_evaluated}
    judged = {
        group_key(row.group, row.stratum): (*row.group, *row.stratum)
        for row in result.groups
        if row.standing is Eligibility.ELIGIBLE
        and (row.of, frozenset(row.by)) == (check.of, frozenset(check.by))
        and frozenset(name for name, _ in row.stratum) == given
    }
    return {key: group for key, group in judged.items() if key not in not_evaluated}


def _name(groups: Sequence[Group]) -> str:
    return " and ".join(describe_group(group) for group in groups)


def _explain_difference(before: Finding, after: Finding, then: _Side, now: _Side) -> str:
    """The reason why two checks are not comparable; empty if they are comparable."""
    was, check = before.check, after.check
    if type(was) is not type(check):
        return "what it looks for"
    if isinstance(was, _Search) and isinstance(check, _Search) and not (was.scope and check.scope):
        # An older report does not contain the scope of a search; its fingerprint shows a change.
        if before.definition != after.definition or not after.definition:
            return "perhaps its scope (missing in one of the reports)"
        was = replace(was, scope=check.scope)
    changed = [
        option
        for name in field_names(was)
        if name not in _NO_QUESTION
        for option in _list_changed(name, getattr(was, name), getattr(check, name))
    ]
    if changed:
        return "its " + ", ".join(_WORDS.get(name, f"`{name}`") for name in changed)
    names = [was.metric.id] if isinstance(was, Check) else [was.rate]
    if isinstance(was, Check) and isinstance(was.metric, Disparity):
        names += [record.id for part in was.metric.parts for record in part]
    known = [name for name in names if name in then.definitions and name in now.definitions]
    redefined = [name for name in known if then.definitions[name] != now.definitions[name]]
    return f"the definition of {', '.join(redefined)}" if redefined else ""


def _list_changed(name: str, was: object, now: object) -> list[str]:
    """The options that differ: parts of the terms, or the evidence that a limit requires."""
    has_same_bounds = isinstance(was, Limit) and isinstance(now, Limit) and was.bounds == now.bounds
    if was != now and (has_same_bounds or name in {"terms", "inference", "parameters"}):
        assert isinstance(was, Frozen)
        inner = ((part, getattr(was, part), getattr(now, part)) for part in field_names(was))
        return [option for one in inner for option in _list_changed(*one)]
    return [] if was == now else [name]


_WORDS = {
    "metric": "measure",
    "by": "groups",
    "given": "strata",
    "minimum": "smallest group",
    "of_class": "class",
    "at": "threshold",
    "undefined": "rule for undefined values",
    "scope": "columns and sizes of the search",
    "warn": "limit that warns",
    "fail": "limit that fails",
}


def _is_simultaneous(finding: Finding) -> bool:
    return finding.estimate is not None and SIMULTANEOUS in finding.estimate.method


def _find_check_terms(was: Finding, finding: Finding, terms: ChangeTerms) -> ChangeTerms:
    """The terms for measuring and testing the value of a check."""
    check = finding.check
    if not isinstance(check, Check):
        barred = terms.barred or "not tested: a search chose the subgroup"
        return replace(terms, barred=barred, mean=False)
    metric = check.metric
    if isinstance(metric, GroupMetric):
        before, after = (side.estimate or Estimate(math.nan) for side in (was, finding))
        terms = find_change_terms(metric, before, after, terms)
        if check.against is not None:
            terms = replace(terms, share=False, scale=Scale.DIFFERENCE)
    else:
        terms = replace(terms, mean=False)
    is_quotient = isinstance(metric, Disparity) and (
        metric.comparison.is_ratio and metric.fold is not REMAINDER
    )
    if is_quotient and check.against is None:
        terms = replace(terms, scale=Scale.RATIO)
    return replace(terms, middle=find_middle(check))


def _measure_finding(was: Finding, finding: Finding, terms: ChangeTerms) -> Change:
    before, after = (
        side.estimate or Estimate(math.nan, reason=side.why) for side in (was, finding)
    )
    if isinstance(finding.check, ReversalCheck):
        why, unknown = "it has no value: see the reversals", Direction.UNKNOWN
        return Change(before, after, Scale.DIFFERENCE, math.nan, unknown, why=why)
    change = measure_change(before, after, terms)
    if _is_simultaneous(finding) and change.significance is not None:
        test = f"{change.significance.test}, simultaneous"
        change = replace(change, significance=replace(change.significance, test=test))
    return replace(change, way=judge_by_limit(change, finding.check, terms))


def find_values(finding: Finding, result: IndexedRows) -> JudgedValues:
    """The values of all groups that a check judges in a result; empty if they are not listed."""
    return next(iter(_find_judged_entries(finding, result).values()), {})


def _find_judged_entries(finding: Finding, result: IndexedRows) -> dict[object, JudgedValues]:
    """The values of each entry of the spec that the check may belong to, without waived groups."""
    waived = (breach for waiver in finding.waived for breach in waiver.crossed)
    unjudged = {group_key(breach.group, breach.stratum) for breach in waived}
    unjudged |= {
        group_key(entry.group, entry.stratum) for entry in finding.not_evaluated if entry.group
    }
    return {
        entry: {key: value for key, value in values.items() if key not in unjudged}
        for entry, values in find_entries(finding, result).items()
        if deciding_key(finding) not in unjudged
    }
