"""Prose report: tables of the comparisons that a spec asks for, a value for each group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fairaudit.evidence import Side
from fairaudit.judge import AnyCheck, Check, Finding, Limit
from fairaudit.metrics import Disparity, find_comparison, find_comparison_id, find_metric
from fairaudit.metrics.disparities import Comparison
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.report import checks, headlines, metric_titles, numbers
from fairaudit.report.blocks import Cell, Table, Tone
from fairaudit.result import AuditResult, ComparisonRow, RateRow

_CUT_BY = ("at", "class")
_OPTIONS = (*_CUT_BY, "against", "aggregate")
"""The options by which a rate is of other positives: its tables stand apart."""

_NAMED = {"declared", "level"}
"""The references that name a group."""


def tables(rates: Sequence[RateRow], result: AuditResult, most: int | None) -> Iterator[Table]:
    """A table for each comparison of these rates: both rates, the value and its interval."""
    order = [row.group for row in rates]
    for _, run in groupby(
        comparisons_of(rates[0], result),
        key=lambda row: (row.metric, row.title, row.compare, row.reference, repr(row.parameters)),
    ):
        rows = sorted(run, key=lambda row: order.index(row.group) if row.group in order else 0)
        first = rows[0]
        title = first.title
        if first.compare is not None:
            rate = metric_titles.defined_heading(result, rates[0].metric, first.of)
            title = f"{rate}, {first.compare.replace('_', ' ')}"
        title += metric_titles.options(first.parameters)
        title += metric_titles.of_outcome(first.metric, first.of)
        title += f" by {numbers.subset(first.by)}"
        title += f", to {_reference(first)}" if first.reference else ""
        if first.reference == "declared" and first.second:
            title += ", the declared reference"
        title += numbers.in_stratum(first.stratum, ", ")
        findings = [finding for finding in result.findings if _is_about(finding, rows)]
        limits = "; ".join(map(headlines.limits, findings))
        level = numbers.confidence(result.provenance.inference)
        yield _table(f"{title}{f': {limits}' if limits else ''}", rows, findings, level, most)


def _table(
    caption: str,
    rows: Sequence[ComparisonRow],
    findings: Sequence[Finding],
    level: str,
    most: int | None,
) -> Table:
    """The rows of one comparison; where all are compared with one rate, this stands in a row."""
    first, shown = rows[0], rows[:most]
    seconds = [row.parts[0].second for row in rows]
    one = seconds[0] if all(side == seconds[0] for side in seconds) else None
    has_row = one is not None and one.crowd is None and one.group not in {r.group for r in rows}
    has_column = not has_row and any(seconds)
    estimates = [
        [side.estimate for side in (row.parts[0].first, row.parts[0].second) if side is not None]
        for row in rows
    ]
    metric = first.parts[0].metric
    digits = metric_titles.digits_of_rates(metric, estimates)
    bounds = [bound for finding in findings for bound in headlines.bounds(finding)]
    value_digits = numbers.digits_of_values([row.estimate for row in rows], bounds)

    def write(side: Side | None) -> tuple[str, str]:
        if side is None:
            return "", ""
        value = metric_titles.rate_alone(metric, side.estimate, digits)
        return numbers.counts(side.estimate), value

    cells = []
    for row in shown:
        mark = next(filter(None, (_mark(row, finding) for finding in findings)), "")
        tone = Tone.BAD if mark == "FAIL" else Tone.WARN if mark else Tone.PLAIN
        texts = write(row.parts[0].first)
        other = [write(row.parts[0].second)[1]] if has_column else []
        value = numbers.estimate_beside(row.estimate, bounds, value_digits)
        interval = numbers.interval(row.estimate, share=False, digits=value_digits)
        name = Cell(numbers.group(row.group or ()), tone)
        values = (Cell(value, tone), Cell(interval), Cell(mark, tone))
        cells.append([name, *map(Cell, (*texts, *other)), *values])
    if has_row:
        assert one is not None
        is_one = first.reference in EXTREME_REFERENCES and is_ratio(first)
        ratio = numbers.number(1, value_digits) if is_one and one.estimate.value > 0 else ""
        name = Cell(numbers.group(one.group))
        cells.append([name, *map(Cell, (*write(one), ratio, "", "reference"))])
    beside = [f"rate of {_reference(first)}"] if has_column else []
    head = first.title.lower() if first.compare is None else first.compare.replace("_", " ")
    header = (numbers.subset(first.by), "count", "rate", *beside, head, level, "")
    numeric = (False, *(True for _ in header[1:]))
    comparison = _comparison_of(first)
    about = f"{head}: {comparison.formula}" if comparison and not comparison.is_plain else ""
    more = filter(None, (numbers.more_groups(len(rows) - len(shown)), about))
    return Table(caption, header, cells, numeric, more="\n".join(more))


def overview(rows: Sequence[ComparisonRow], caption: str, most: int | None) -> Table:
    """A line for each value of any comparison: the measure, who, where, the value, its interval."""
    shown = rows[:most]
    return Table(
        caption,
        ("measure", "who", "where", "value", "interval"),
        [_overview_cells(row) for row in shown],
        (False, False, False, True, True),
        more=numbers.more_groups(len(rows) - len(shown)),
    )


def _overview_cells(row: ComparisonRow) -> list[Cell]:
    pair = metric_titles.worst_pair(row.first, row.second, row.decided_by)
    who = pair if row.group is None else numbers.group(row.group)
    where = f"by {numbers.subset(row.by)}"
    where += f", over {numbers.subset(row.averaged)}" if row.averaged else ""
    where += f", {numbers.group(row.stratum)}" if row.stratum else ""
    measure = f"{row.title}{metric_titles.options(row.parameters)}"
    measure += metric_titles.of_outcome(row.metric, row.of)
    digits = numbers.digits_of_values([row.estimate], least=4)
    value = numbers.estimate_beside(row.estimate, [], digits)
    interval = numbers.interval(row.estimate, share=False, digits=digits)
    return [*map(Cell, (measure, who or "all groups", where, value, interval))]


def without_limit(result: AuditResult) -> list[ComparisonRow]:
    """The values of the entries that no check judges."""
    judged = {_question_of(finding.check) for finding in result.findings}
    return [
        row
        for row in result.comparisons
        if (
            *(row.metric, row.compare, row.of, row.by),
            tuple(name for name, _ in row.stratum) or row.averaged,
            *map(row.parameters.get, _OPTIONS),
        )
        not in judged
    ]


def _question_of(check: AnyCheck) -> tuple[object, ...]:
    """What a check asks, as the rows of its comparisons tell it."""
    if not isinstance(check, Check):
        return ()
    at, aggregate = check.terms.at, getattr(check.metric, "over_groups", None)
    return (
        *(check.metric_id, find_comparison_id(check.metric), check.of, check.by, check.given),
        *(None if at is None else float(at), check.terms.of_class, check.against),
        aggregate and str(aggregate),
    )


def of_everybody(result: AuditResult, most: int) -> Iterator[Table]:
    """The tables of all comparisons that are not within strata: what a spec without limits asks.

    Where it compares no group with another, they are the values of all groups together.
    """
    of_all = [row for row in result.comparisons if row.spread and not row.stratum]
    if of_all and not any(row.by for row in result.rates):
        yield overview(of_all, "One value for all groups", most)
    rows = [row for row in result.rates if row.by and not row.stratum]
    for _, run in groupby(
        rows, key=lambda row: (row.metric, row.of, row.by, row.parameters, row.averaged)
    ):
        yield from tables([*run], result, most)


def comparisons_of(rate: RateRow, result: AuditResult) -> list[ComparisonRow]:
    """What the spec compares of one rate and grouping, a value a group."""
    average = rate.parameters.get("average")
    return [
        row
        for row in result.comparisons
        if (row.of, row.by, row.stratum, row.averaged)
        == (rate.of, rate.by, rate.stratum, rate.averaged)
        and [*map(row.parameters.get, _CUT_BY)] == [*map(rate.parameters.get, _CUT_BY)]
        and row.parameters.get("average", average) == average
        and row.group is not None
        and [part.metric for part in row.parts] == [rate.metric]
    ]


def is_ratio(row: ComparisonRow) -> bool:
    """Whether groups that are equal have the value 1."""
    comparison = _comparison_of(row)
    return comparison is not None and comparison.quotient


def _comparison_of(row: ComparisonRow) -> Comparison | None:
    """How a row compares groups; None where it compares none."""
    record = find_metric(row.metric)
    own = record.comparison if isinstance(record, Disparity) else None
    return own if row.compare is None else find_comparison(row.compare)


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
    average = check.terms.average if isinstance(check, Check) else None
    if rate.averaged and average is not None and str(average) != rate.parameters.get("average"):
        return False
    if rate.stratum or check.given == rate.averaged:
        return True
    place = (rate.metric, rate.of, rate.by, check.given)
    tables = ((row.metric, row.of, row.by, row.averaged) for row in result.rates)
    return not rate.averaged and place not in tables


def _reference(row: ComparisonRow) -> str:
    if row.reference in _NAMED and row.second:
        return numbers.people(row.second)
    words = {"rest": "everybody else", "overall": "everybody", "declared": "the declared reference"}
    return words.get(str(row.reference), f"the {row.reference} group")


def _is_about(finding: Finding, rows: Sequence[ComparisonRow]) -> bool:
    """Whether a finding decides by one of these values."""
    check, first = finding.check, rows[0]
    same = (check.metric_id, check.of, check.by, finding.stratum)
    if same != (first.metric, first.of, first.by, first.stratum) or finding.estimate is None:
        return False
    return any(
        row.group == finding.first and row.estimate.value == finding.estimate.value for row in rows
    )


def _mark(row: ComparisonRow, finding: Finding) -> str:
    """The status of a check at each value that is beyond its limit."""
    is_beyond = any(
        (breach.group, breach.stratum) == (row.group, row.stratum) for breach in finding.crossed
    )
    return finding.status.upper() if is_beyond and isinstance(finding.limit, Limit) else ""
