"""Prose report: tables of the comparisons that a spec asks for, a value for each group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from fairaudit.cube import Group
from fairaudit.judge import AnyCheck, Check, Finding, Limit
from fairaudit.metrics import Disparity, find_comparison, find_metric
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.report import checks, headlines, metric_titles, numbers
from fairaudit.report.blocks import Cell, Table, Tone
from fairaudit.result import AuditResult, ComparisonRow, RateRow

_CUT_BY = ("at", "class")
"""The options by which a rate is of other positives: its tables stand apart."""


def tables(rates: Sequence[RateRow], result: AuditResult, most: int | None) -> Iterator[Table]:
    """A table for each comparison of these rates: people, selected, rate, value, interval."""
    by_group = {row.group: row for row in rates}
    order = [*by_group]
    for _, run in groupby(comparisons_of(rates[0], result), key=_name):
        rows = sorted(run, key=lambda row: order.index(row.group) if row.group in order else 0)
        shown = rows[:most]
        first = rows[0]
        title = first.title
        if first.compare is not None:
            rate = metric_titles.defined_heading(result, rates[0].metric, first.of)
            title = f"{rate}, {first.compare.replace('_', ' ')}"
        options = metric_titles.options(first.parameters)
        reference = f", to {_reference(first)}" if first.reference else ""
        where = numbers.in_stratum(first.stratum, ", ")
        level = numbers.confidence(result.provenance.inference)
        findings = [finding for finding in result.findings if _is_about(finding, rows)]
        limits = "; ".join(map(headlines.limits, findings))
        cells = [list(_cells(row, by_group, findings)) for row in shown]
        cells += [
            _reference_cells(by_group[group], first) for group in _references(rows) & {*by_group}
        ]
        outcome = metric_titles.of_outcome(first.metric, first.of)
        yield Table(
            f"{title}{options}{outcome} by {numbers.subset(first.by)}"
            f"{reference}{where}{f': {limits}' if limits else ''}",
            (numbers.subset(first.by), "count", "rate", _head(first), level, ""),
            cells,
            (False, True, True, True, True, True),
            more=numbers.more_groups(len(rows) - len(shown)),
        )


def of_everybody(result: AuditResult, most: int) -> Iterator[Table]:
    """The tables of all comparisons that are not within strata: what a spec without limits asks."""
    rows = [row for row in result.rates if row.by and not row.stratum]
    for _, run in groupby(
        rows, key=lambda row: (row.metric, row.of, row.by, row.parameters, row.averaged)
    ):
        yield from tables([*run], result, most)


def comparisons_of(rate: RateRow, result: AuditResult) -> list[ComparisonRow]:
    """What the spec compares of one rate and grouping, a value a group."""
    return [
        row
        for row in result.comparisons
        if (row.of, row.by, row.stratum, row.averaged)
        == (rate.of, rate.by, rate.stratum, rate.averaged)
        and [*map(row.parameters.get, _CUT_BY)] == [*map(rate.parameters.get, _CUT_BY)]
        and row.group is not None
        and [part.metric for part in row.parts] == [rate.metric]
    ]


def is_ratio(row: ComparisonRow) -> bool:
    """Whether groups that are equal have the value 1."""
    record = find_metric(row.metric)
    comparison = None if row.compare is None else find_comparison(row.compare)
    if comparison is None and isinstance(record, Disparity):
        comparison = record.comparison
    return comparison is not None and comparison.quotient


def verdicts(rate: RateRow, result: AuditResult) -> Iterator[str]:
    """What each check on one rate and grouping found, in its headline."""
    for finding in result.findings:
        check = finding.check
        at = check.terms.at if isinstance(check, Check) else None
        of_class = check.terms.of_class if isinstance(check, Check) else None
        asked = (check.of, check.by, finding.stratum, None if at is None else float(at), of_class)
        shown = (rate.of, rate.by, rate.stratum, *map(rate.parameters.get, _CUT_BY))
        if asked != shown or not _is_of_strata(check, rate, result):
            continue
        if {part.metric for part in checks.deciding_parts(finding)} == {rate.metric}:
            yield f"{finding.status.upper()} {check.metric_id}: {headlines.headline(finding)}"


def _is_of_strata(check: AnyCheck, rate: RateRow, result: AuditResult) -> bool:
    """Whether a check is of rates averaged as this one is; of rates without a table, of the plain.

    Whatever is judged in a stratum of its own is of no average.
    """
    if rate.stratum or check.given == rate.averaged:
        return True
    place = (rate.metric, rate.of, rate.by, check.given)
    tables = ((row.metric, row.of, row.by, row.averaged) for row in result.rates)
    return not rate.averaged and place not in tables


def _name(row: ComparisonRow) -> tuple[str, ...]:
    return (row.metric, row.title, str(row.compare), str(row.reference), repr(row.parameters))


def _reference(row: ComparisonRow) -> str:
    words = {"rest": "everybody else", "overall": "everybody", "declared": "the declared reference"}
    return words.get(str(row.reference), f"the {row.reference} group")


def _head(row: ComparisonRow) -> str:
    """What the column of values is called."""
    return row.compare.replace("_", " ") if row.compare is not None else row.title.lower()


def _is_about(finding: Finding, rows: Sequence[ComparisonRow]) -> bool:
    """Whether a finding decides by one of these values."""
    check, first = finding.check, rows[0]
    same = (check.metric_id, check.of, check.by, finding.stratum)
    if same != (first.metric, first.of, first.by, first.stratum) or finding.estimate is None:
        return False
    return any(
        row.group == finding.first and row.estimate.value == finding.estimate.value for row in rows
    )


def _references(rows: Sequence[ComparisonRow]) -> set[Group]:
    """The one group that all others are compared with, where it has no value of its own."""
    others = {row.second for row in rows if row.second}
    return others - {row.group for row in rows} if len(others) == 1 else set()


def _reference_cells(rate: RateRow, row: ComparisonRow) -> list[Cell]:
    """The group that others are compared with; one that is found as an extreme has the ratio 1."""
    is_extreme = row.reference in EXTREME_REFERENCES and is_ratio(row)
    has_ratio = is_extreme and not rate.estimate.suppressed and rate.estimate.value > 0
    ratio = numbers.number(1, 3) if has_ratio else ""
    return [*_rate_cells(rate.group, rate), Cell(ratio), Cell(""), Cell("reference")]


def _rate_cells(group: Group, rate: RateRow | None) -> list[Cell]:
    """A group with its counts and its rate, as far as these are listed."""
    if rate is None:
        return [Cell(numbers.group(group)), Cell(""), Cell("")]
    value = numbers.value_of(rate.estimate, metric_titles.decimals(rate.metric, 4))
    if metric_titles.is_share(rate.metric) and not rate.estimate.suppressed:
        value = numbers.percent(rate.estimate.value)
    return [Cell(numbers.group(group)), Cell(numbers.counts(rate.estimate)), Cell(value)]


def _cells(
    row: ComparisonRow, rates: Mapping[Group, RateRow], findings: Sequence[Finding]
) -> Iterator[Cell]:
    assert row.group is not None
    mark = next(filter(None, (_mark(row, finding) for finding in findings)), "")
    tone = Tone.BAD if mark == "FAIL" else Tone.WARN if mark else Tone.PLAIN
    name, *numbers_of_rate = _rate_cells(row.group, rates.get(row.group))
    yield Cell(name.text, tone)
    yield from numbers_of_rate
    yield Cell(_value(row, findings), tone)
    yield Cell(numbers.interval(row.estimate, share=False))
    yield Cell(mark, tone)


def _value(row: ComparisonRow, findings: Sequence[Finding]) -> str:
    if row.estimate.suppressed:
        return numbers.SUPPRESSED
    by_limits = [bound for finding in findings for bound in headlines.bounds(finding)]
    return numbers.number_beside(row.estimate.value, by_limits, row.estimate.exact, digits=3)


def _mark(row: ComparisonRow, finding: Finding) -> str:
    """The status of a check at each value that is beyond its limit."""
    is_beyond = any(
        (breach.group, breach.stratum) == (row.group, row.stratum) for breach in finding.crossed
    )
    return finding.status.upper() if is_beyond and isinstance(finding.limit, Limit) else ""
