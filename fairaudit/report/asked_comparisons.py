"""Prose report: tables of comparisons that a spec asks for; models side by side; fair ranges."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.frozen import replace
from fairaudit.cube import Group
from fairaudit.evidence.records import Side
from fairaudit.judge import Check, Finding, Limit
from fairaudit.metrics import Disparity, Eligibility, find_comparison_id, find_metric
from fairaudit.metrics.other_names import find_ranges
from fairaudit.metrics.rates import NOT_SELECTED_RATE, SELECTION_RATE
from fairaudit.metrics.reasons import describe_people
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.report import checks, headlines, metric_titles, numbers
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Table,
    Tone,
    cross_table,
    tabulate,
    text_column,
)
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, LatticeEntry, RateRow

Compared: TypeAlias = Mapping[tuple[object, ...], Sequence[ComparisonRow]]
"""Comparisons by the rate that they compare; see `compared_groups`."""

STANDINGS = {
    Eligibility.SMALL: "small",
    Eligibility.FEW_EVENTS: "few events",
    Eligibility.EXCLUDED: "excluded",
    Eligibility.EMPTY: "nobody",
}
"""A word for the reason why a group is not compared."""

_CUT_BY = ("at", "class")
_OPTIONS = (*_CUT_BY, "against", "aggregate")
"""Options that change which people are positive; rates with such options have separate tables."""

_NAMED = {"declared", "level"}
"""The references that name a group."""


def tables(
    rates: Sequence[RateRow], compared: Compared, result: AuditResult, most: int | None
) -> Iterator[Table]:
    """A table for each comparison of the rates: both rates, the value and its interval."""
    order = [row.group for row in rates]
    # The groups that are not compared, and the people of unknown group.
    sizes = [(row, row.estimate.n or 0) for row in rates]
    texts = [
        f"{numbers.group(row.group)} ({STANDINGS[row.standing]}, n = {numbers.whole(n)})"
        for row, n in sizes
        if row.standing in STANDINGS
    ]
    unknown = sum(n for row, n in sizes if row.standing is Eligibility.UNKNOWN)
    left_out = [numbers.first_few(texts)] if texts else []
    left_out += [f"{describe_people(unknown)} with unknown group"] if unknown else []
    left_out = [] if result.provenance.suppress_below is not None else left_out
    for _, run in groupby(
        comparisons_of(rates[0], compared),
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
        title += f", relative to {_reference(first)}" if first.reference else ""
        if first.reference == "declared" and first.second:
            title += ", the declared reference"
        title += numbers.in_stratum(first.stratum, ", ")
        # The checks that one of these values decides.
        asked = (first.metric, first.of, first.by, first.stratum)
        findings = [
            finding
            for finding in result.findings
            if (finding.check.metric_id, finding.check.of, finding.check.by, finding.stratum)
            == asked
            and finding.estimate is not None
            and any(
                row.group == finding.first and row.estimate.value == finding.estimate.value
                for row in rows
            )
        ]
        limits = "; ".join(headlines.limits(one, as_written=True) for one in findings)
        level = result.provenance.inference.percent
        table = _table(f"{title}{f': {limits}' if limits else ''}", rows, findings, level, most)
        notes = [f"not compared: {' and '.join(left_out)}"] if left_out else []
        yield replace(table, more="; ".join(filter(None, [*notes, table.more])))


def _table(
    caption: str,
    rows: Sequence[ComparisonRow],
    findings: Sequence[Finding],
    level: str,
    most: int | None,
) -> Table:
    """The table of one comparison; a rate with which all groups are compared has its own row."""
    first = rows[0]
    seconds = [row.parts[0].second for row in rows]
    one = seconds[0] if all(side == seconds[0] for side in seconds) else None
    has_row = one is not None and one.crowd is None and one.group not in {r.group for r in rows}
    has_column = not has_row and any(seconds)
    estimates = [[side.estimate for side in row.parts[0].sides] for row in rows]
    metric = first.parts[0].metric
    digits = metric_titles.digits_of_rates(metric, estimates)
    bounds = [bound for finding in findings for bound in headlines.bounds(finding)]
    value_digits = numbers.digits_of_values([row.estimate for row in rows], bounds)

    def value(row: ComparisonRow) -> str:
        return numbers.estimate_beside(row.estimate, bounds, value_digits)

    rate = partial(_rate, metric, digits_of_rates(metric, rows, value, digits))

    def mark(row: ComparisonRow) -> str:
        """The status of the check whose limit this value crosses; empty if it crosses no limit."""
        for finding in findings:
            for breach in finding.crossed if isinstance(finding.limit, Limit) else ():
                if (breach.group, breach.stratum) == (row.group, row.stratum):
                    return finding.status.upper()
        return ""

    def tone(row: ComparisonRow) -> Tone:
        return {"": Tone.PLAIN, "FAIL": Tone.BAD}.get(mark(row), Tone.WARN)

    def interval(row: ComparisonRow) -> Cell:
        return Cell(numbers.interval(row.estimate, share=False, digits=value_digits))

    head = (
        metric_titles.in_text(first.title)
        if first.compare is None
        else first.compare.replace("_", " ")
    )
    beside = Column[ComparisonRow](
        f"rate of {_reference(first)}", lambda row: rate(row.parts[0].second)
    )
    columns: tuple[Column[ComparisonRow], ...] = (
        text_column(numbers.subset(first.by), lambda row: numbers.group(row.group or ())),
        Column("count", lambda row: _count(row.parts[0].first)),
        Column("rate", lambda row: rate(row.parts[0].first)),
        *([beside] if has_column else []),
        Column(head, value),
        Column(
            numbers.interval_heading(f"{level} interval", [row.estimate for row in rows]), interval
        ),
        *([Column("", mark)] if any(map(mark, rows)) else []),
    )
    notes = [_formula(head, first)]
    if metric == NOT_SELECTED_RATE.id:
        notes.append("count and rate: people who are not selected; the positive is a burden")
    table = tabulate(caption, columns, rows, tone=tone, most=most, notes=notes)
    if not has_row or one is None:
        return table
    is_one = first.reference in EXTREME_REFERENCES and is_ratio(first)
    ratio = numbers.number(1, value_digits) if is_one and one.estimate.value > 0 else ""
    name = Cell(numbers.group(one.group))
    last = [name, _count(one), rate(one), Cell(ratio), Cell("reference")]
    last += [Cell("")] * (len(columns) - len(last))
    return replace(table, rows=[*table.rows, last])


def digits_of_rates(
    metric: str, rows: Iterable[ComparisonRow], write: Callable[[ComparisonRow], str], least: int
) -> int:
    """The number of decimals with which printed rates give the printed differences and ratios."""
    results = []
    for row in filter(is_of_both, rows):
        first, second = (side.estimate.value for side in row.parts[0].sides)
        results.append((first, second, write(row), is_ratio(row)))
    return metric_titles.digits_that_give(metric, results, least)


def is_of_both(row: ComparisonRow) -> bool:
    """Whether a value is the difference or the ratio of the two rates printed with it."""
    comparison, value = checks.comparison_of(row), row.estimate.value
    rates = [side.estimate.value for side in row.parts[0].sides] if len(row.parts) == 1 else []
    is_known = len(rates) == 2 and math.isfinite(value) and not row.estimate.suppressed
    if comparison is None or not comparison.is_plain or not is_known or row.estimate.unsmoothed:
        return False
    if is_ratio(row):
        return bool(rates[1]) and math.isclose(rates[0] / rates[1], value)
    return math.isclose(rates[0] - rates[1], value)


def _rate(metric: str, digits: int, side: Side | None) -> Cell:
    return Cell("" if side is None else metric_titles.rate_alone(metric, side.estimate, digits))


def _count(side: Side | None) -> Cell:
    return Cell("" if side is None else numbers.counts(side.estimate))


def overview(rows: Sequence[ComparisonRow], caption: str, most: int | None) -> Table:
    """A row for each value of the comparisons: measure, groups, stratum, value and interval."""
    return tabulate(caption, _OVERVIEW, rows, most=most)


def by_stratum(rows: Sequence[ComparisonRow], result: AuditResult, most: int | None) -> Table:
    """A row for each value of one comparison within strata, the worst first."""
    first, inference = rows[0], result.provenance.inference
    rows = sorted(rows, key=lambda row: -_departure(row))
    estimates = [[side.estimate] for row in rows for part in row.parts for side in part.sides]
    metric = first.parts[0].metric if first.parts else first.metric
    digits = metric_titles.digits_of_rates(metric, estimates)
    value_digits = numbers.digits_of_values([row.estimate for row in rows])

    def value(row: ComparisonRow) -> str:
        return numbers.estimate_beside(row.estimate, [], value_digits)

    rate = partial(_rate, metric, digits_of_rates(metric, rows, value, digits))
    is_plain = all(len(row.parts) == 1 for row in rows)
    sides_of: tuple[Column[ComparisonRow], ...] = (
        Column("count", lambda row: _count(row.parts[0].first)),
        Column("rate", lambda row: rate(row.parts[0].first)),
        text_column(
            "to",
            lambda row: "" if row.parts[0].second is None else headlines.side(row.parts[0].second),
        ),
        Column("count", lambda row: _count(row.parts[0].second)),
        Column("rate", lambda row: rate(row.parts[0].second)),
    )
    columns: tuple[Column[ComparisonRow], ...] = (
        text_column("stratum", lambda row: numbers.group(row.stratum)),
        text_column(numbers.subset(first.by), _who),
        *(sides_of if is_plain else ()),
        Column("value", value),
        Column(
            numbers.interval_heading(inference.percent, [row.estimate for row in rows]),
            lambda row: numbers.interval(row.estimate, share=False, digits=value_digits),
        ),
        Column("p", lambda row: numbers.starred_p(row.estimate.significance, inference.alpha)),
    )
    title = f"{first.title}{metric_titles.options(first.parameters)}"
    title += metric_titles.of_outcome(first.metric, first.of)
    title += f" by {numbers.subset(first.by)} in strata, worst first"
    about = f"{inference.percent} and p: of each stratum separately, not corrected over the strata"
    return tabulate(title, columns, rows, most=most, notes=(about, _formula("value", first)))


def _formula(head: str, row: ComparisonRow) -> str:
    """How the column `head` is computed, if it is not a plain ratio or difference."""
    comparison = checks.comparison_of(row)
    if comparison is None or comparison.is_plain:
        return ""
    return f"{head}: {comparison.formula}"


def _departure(row: ComparisonRow) -> float:
    """How far a value is from parity, on the log scale for a ratio; below 0 without a value."""
    value = row.estimate.value
    if math.isnan(value):
        return -1.0
    if is_ratio(row):
        return math.inf if value <= 0 else abs(math.log(value))
    record = find_metric(row.metric)
    return abs(value - float(record.ideal if isinstance(record, Disparity) else 0))


def _who(row: ComparisonRow) -> str:
    pair = checks.worst_pair(row)
    return (pair if row.group is None else numbers.group(row.group)) or "all groups"


def _digits(row: ComparisonRow) -> int:
    return numbers.digits_of_values([row.estimate], least=4)


_OVERVIEW: tuple[Column[ComparisonRow], ...] = (
    text_column(
        "measure",
        lambda row: (
            f"{row.title}{metric_titles.options(row.parameters)}"
            f"{metric_titles.of_outcome(row.metric, row.of)}"
        ),
    ),
    text_column("who", _who),
    text_column(
        "where",
        lambda row: (
            f"by {numbers.subset(row.by)}"
            + (f", over {numbers.subset(row.averaged)}" if row.averaged else "")
            + (f", {numbers.group(row.stratum)}" if row.stratum else "")
        ),
    ),
    Column("value", lambda row: numbers.estimate_beside(row.estimate, [], _digits(row))),
    Column(
        "interval", lambda row: numbers.interval(row.estimate, share=False, digits=_digits(row))
    ),
)


def without_limit(result: AuditResult) -> list[ComparisonRow]:
    """The values that the spec asks for and no check judges."""
    judged = set()
    for finding in result.findings:
        if isinstance(check := finding.check, Check):
            at, aggregate = check.terms.at, getattr(check.metric, "over_groups", None)
            judged.add(
                (
                    *(check.metric_id, find_comparison_id(check.metric)),
                    *(check.of, check.by, check.given),
                    *(None if at is None else float(at), check.terms.of_class, check.against),
                    aggregate and str(aggregate),
                )
            )
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


def compared_groups(result: AuditResult) -> Compared:
    """The comparisons of single groups in the spec, under the key of the compared rate."""
    compared = defaultdict(list)
    for row in result.comparisons:
        if row.group is not None and len(row.parts) == 1:
            # For a burden, the four-fifths rule compares the shares of people without the burden.
            rate = row.parts[0].metric
            rate = SELECTION_RATE.id if rate == NOT_SELECTED_RATE.id else rate
            compared[_rate_of(rate, row)].append(row)
    return compared


def _rate_of(metric: str, row: RateRow | ComparisonRow) -> tuple[object, ...]:
    """A key that the rows of a rate share with the comparisons of this rate."""
    return (metric, row.of, row.by, row.stratum, row.averaged, *map(row.parameters.get, _CUT_BY))


def comparisons_of(rate: RateRow, compared: Compared) -> list[ComparisonRow]:
    """The comparisons of one rate and grouping that the spec asks for, one per group."""
    average = rate.parameters.get("average")
    return [
        row
        for row in compared.get(_rate_of(rate.metric, rate), ())
        if row.parameters.get("average", average) == average
    ]


def is_ratio(row: ComparisonRow) -> bool:
    """Whether equal groups have the value 1."""
    comparison = checks.comparison_of(row)
    return comparison is not None and comparison.is_ratio


def _reference(row: ComparisonRow) -> str:
    if row.reference in _NAMED and row.second:
        return names.people(row.second)
    words = {**checks.POOLED_GROUPS, "declared": "the declared reference"}
    return words.get(str(row.reference), f"the {row.reference} group")


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table of models if there are several, and tables of fair ranges if the spec has some."""
    yield from models(result, most)
    ranges = find_ranges(result.provenance.flags)
    rows = [row for row in result.comparisons if not row.parameters and not row.averaged]
    if ranges is None or not rows:
        return
    yield Heading("Groups and fair ranges")
    # A table of groups by measures for each outcome and subset; values out of range are marked.
    for (of, by, stratum), run in groupby(
        sorted(rows, key=lambda row: (row.of, len(row.by), row.by, row.stratum)),
        key=lambda row: (row.of, row.by, row.stratum),
    ):
        cells = {
            (row.group, (row.metric, row.compare)): numbers.value_of(row.estimate)
            if row.flag is None
            else Cell(f"{numbers.value_of(row.estimate)} !", Tone.WARN)
            for row in run
        }
        titles = {
            (name, how): f"{metric_titles.short_name(name)} {how or ''}".strip()
            for _, (name, how) in cells
        }
        who: Column[Group | None] = text_column(
            "", lambda group: "all groups" if group is None else numbers.group(group)
        )
        caption = f"{names.name(of)} by {numbers.subset(by)}{numbers.in_stratum(stratum, ', ')}"
        yield from cross_table(caption, who, titles, cells, most)
    low, high = ranges.ratio
    yield Paragraph(
        f"!: outside the range that {ranges.source.authors} ({ranges.source.year}) call fair: "
        f"ratios from {low} to {high}, differences of up to {ranges.part} of their possible "
        "range. A mark is not a limit and does not change the verdict. A ratio of small rates "
        "leaves the range at a few points of difference: read both. Differences of unbounded "
        "numbers are not marked.",
        Tone.MUTED,
    )


def models(result: AuditResult, most: int | None) -> Iterator[Block]:
    """For each subset, a table of the worst value of each measure by model.

    Stages are not models: they are parts of one process.
    """
    if result.stages:
        return
    shown = result.lattice if most is None else [row for row in result.lattice if len(row.by) == 1]
    tables: list[Table] = []
    for row in shown:
        # The measures that several outcomes have.
        measures: dict[str, dict[str, LatticeEntry]] = {}
        of_models = [entry for entry in row.entries if entry.of != "label"]
        if any(entry.of in metric_titles.UNNAMED for entry in of_models):
            continue
        for entry in of_models:
            title = "".join(entry.title.rsplit(f" of {entry.of}", 1))
            measures.setdefault(title, {})[entry.of] = entry
        cells = {}
        for title, values in measures.items():
            departures = {one.departure for one in values.values() if not math.isnan(one.departure)}
            for of, entry in values.items() if len(values) > 1 else ():
                is_nearest = len(departures) > 1 and entry.departure == min(departures)
                cells[title, of] = numbers.value_of(entry.estimate) + " ‹" * is_nearest
        titles = {of: names.name(of) for _, of in cells}
        measure: Column[str] = text_column("measure", lambda title: title)
        tables += cross_table(f"By {numbers.subset(row.by)}", measure, titles, cells)
    if tables:
        yield Heading("Comparison of the models")
        yield from tables
        text = (
            "Each number is the value for the worst pair of groups, or the value for all groups; "
            "‹: the model closest to parity (for Δε, the lowest). This table tests no "
            "differences between models: `fairaudit compare REPORT --models FIRST SECOND` tests "
            "them on the same people."
        )
        yield Paragraph(text, Tone.MUTED)
