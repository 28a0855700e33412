"""Pairs the groups of checks that both results judge; new or gone ones, and rates: rates.py.

The worst value of one result beside the worst of another may be of different people: its change is
nobody's. Of a spread (one value for all groups) each stratum would be compared with itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from fairaudit.cube import Group
from fairaudit.judge import Check, Finding
from fairaudit.metrics import Eligibility, GroupMetric, ReferencePolicy, find_comparison_id
from fairaudit.metrics.estimate import Estimate
from fairaudit.result import AuditResult, ComparisonRow, RateRow

GroupKey: TypeAlias = tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]
"""A group (of a spread: none) in a stratum, whatever the order of columns."""
JudgedValues: TypeAlias = Mapping[GroupKey, tuple[Group, Group, Estimate]]
"""By group and stratum: both as they are written, and the value."""
_RowsKey: TypeAlias = tuple[str, str, frozenset[str]]
IndexedRows: TypeAlias = Mapping[_RowsKey, Sequence[RateRow | ComparisonRow]]
"""The rows of a result by their measure, outcome and groups."""
_Entry: TypeAlias = tuple[str, str, frozenset[tuple[str, str]], str, frozenset[str]]


def index_rows(result: AuditResult) -> IndexedRows:
    """The rates of groups that are judged, and the comparisons, by measure, outcome and groups."""
    rows: dict[_RowsKey, list[RateRow | ComparisonRow]] = {}
    for rate in result.rates:
        if rate.standing is Eligibility.ELIGIBLE and rate.by:
            rows.setdefault((rate.metric, rate.of, frozenset(rate.by)), []).append(rate)
    for row in result.comparisons:
        rows.setdefault((row.metric, row.of, frozenset(row.by)), []).append(row)
    return rows


def group_key(group: Group, stratum: Group) -> GroupKey:
    """A group in a stratum, as a key."""
    return frozenset(group), frozenset(stratum)


def find_deciding_group(finding: Finding) -> GroupKey:
    """Whose value decides a check."""
    return group_key(() if finding.spread else finding.first, finding.stratum)


def pair_values(
    before: Finding, after: Finding, results: tuple[IndexedRows, IndexedRows]
) -> tuple[JudgedValues, JudgedValues] | None:
    """The values of all groups that a check judged in both results.

    They are in the rows of the entry that the check belongs to: the one whose row for the deciding
    group has the check's value. None where a result does not list them.
    """
    sides = [
        _find_entries(finding, result)
        for finding, result in zip((before, after), results, strict=True)
    ]
    common = [entry for entry in sides[0] if entry in sides[1]]
    if not common:
        return None
    then, now = (side[common[0]] for side in sides)
    return then, now


def find_values(finding: Finding, result: IndexedRows) -> JudgedValues:
    """The values of all groups that a check judges in one result; empty where it lists none."""
    return next(iter(_find_entries(finding, result).values()), {})


def _find_entries(finding: Finding, result: IndexedRows) -> dict[_Entry, JudgedValues]:
    """The values of each entry of the spec that the check may belong to."""
    check, estimate = finding.check, finding.estimate
    if not isinstance(check, Check) or estimate is None:
        return {}
    waived = (breach for waiver in finding.waived for breach in waiver.crossed)
    unjudged = {group_key(breach.group, breach.stratum) for breach in waived}
    unjudged |= {
        group_key(entry.group, entry.stratum) for entry in finding.not_evaluated if entry.group
    }
    entries: dict[_Entry, dict[GroupKey, tuple[Group, Group, Estimate]]] = {}
    for entry, group, stratum, value in _list_rows(check, result):
        key = group_key(group, stratum)
        if key not in unjudged:
            entries.setdefault(entry, {})[key] = group, stratum, value
    decides = find_deciding_group(finding)
    fitting: dict[_Entry, JudgedValues] = {}
    for entry, values in entries.items():
        row = values.get(decides)
        if row is not None and row[2].value == estimate.value:
            # The check's own estimate also holds its fraction.
            fitting[entry] = {**values, decides: (row[0], row[1], estimate)}
    return fitting


def _list_rows(
    check: Check, result: IndexedRows
) -> Iterator[tuple[_Entry, Group, Group, Estimate]]:
    """The rows that a check may have judged: their entry, group, stratum and value."""
    compare, is_rate = find_comparison_id(check.metric), isinstance(check.metric, GroupMetric)
    for row in result.get((check.metric.id, check.of, frozenset(check.by)), ()):
        given = {name for name, _ in row.stratum}
        if isinstance(row, ComparisonRow):
            given |= {*row.averaged}
            if is_rate or row.compare != compare:
                continue
        elif not is_rate:
            continue
        if given == {*check.given}:
            yield _identify_entry(row), row.group or (), row.stratum, row.estimate


def _identify_entry(row: RateRow | ComparisonRow) -> _Entry:
    """What tells the rows of one entry of a spec from those of another."""
    parameters = repr(sorted(row.parameters.items(), key=str))
    if isinstance(row, RateRow):
        return "", "", frozenset(), parameters, frozenset()
    # Two entries may name two references; another policy may choose another group next time.
    level = frozenset(row.second if row.reference == ReferencePolicy.LEVEL else ())
    return row.compare or "", row.reference or "", level, parameters, frozenset(row.averaged)
