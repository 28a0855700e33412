"""The tables of `fairaudit publish`: people, rate and impact ratio of each group.

The summary of a bias audit contains these tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from fairaudit.base import names
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Group, Grouping
from fairaudit.metrics import Eligibility, GroupMetric, find_metric
from fairaudit.metrics.estimate import State
from fairaudit.metrics.rates import NOT_SELECTED_RATE, SELECTION_RATE
from fairaudit.metrics.reasons import describe_rule
from fairaudit.report import Format, metric_titles, numbers
from fairaudit.report.asked_comparisons import digits_of_rates, is_ratio
from fairaudit.report.blocks import Block, Cell, Document, Facts, Heading, Paragraph, Table, Tone
from fairaudit.report.export import Export
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, RateRow

_HIGHEST = "highest"
_STANDINGS = {
    Eligibility.SMALL: "too few people",
    Eligibility.FEW_EVENTS: "too few events",
    Eligibility.EXCLUDED: "excluded",
    Eligibility.UNKNOWN: "unknown",
    Eligibility.EMPTY: "nobody",
    Eligibility.SUPPRESSED: numbers.SUPPRESSED,
}
"""The text instead of the ratio of a group that is not compared."""


class _Published(Frozen):
    """A table: the metric of the rate, the title of the ratio, the outcome, columns and rows."""

    metric: str
    ratio: str
    of: str
    by: Grouping
    rows: Sequence[tuple[RateRow, tuple[str, str, str, str]]]

    @property
    def rate(self) -> str:
        """The title of the rate, which heads its column."""
        return metric_titles.title(self.metric, self.of)

    @property
    def header(self) -> tuple[str, ...]:
        """Titles of the columns after the group columns; the second says whom the rate counts."""
        is_rest = self.metric == NOT_SELECTED_RATE.id and self.of != "label"
        word = "not selected" if is_rest else metric_titles.participle(self.metric, self.of)
        counted = word or "numerator"
        return "n", counted, self.rate, self.ratio


def document(result: AuditResult) -> Document:
    """Facts on the audit, and a table for each rate and grouping with a ratio to the highest rate.

    Raises `UsageError` for a result without such ratios.
    """
    tables, origin = _tables_of(result), result.provenance
    # The date, the rule, the description of the data in the spec, and the people left out.
    facts = [("date of the audit", origin.created[:10])]
    for profile in origin.profiles:
        facts += [
            (names.name(profile.name), names.line(f"{profile.title} ({profile.date})")),
            ("source", names.line(profile.source)),
            ("caution", names.line(profile.caution)),
        ]
    facts += [(names.name(name), names.line(text)) for name, text in origin.context.items()]
    if files := numbers.first_few([names.copied(Path(file.path).name) for file in origin.files]):
        facts.append(("data", f"{files}; {numbers.whole(origin.rows)} rows"))
    if origin.minimum.size:
        facts.append(("compared", f"groups of {origin.minimum.size} people or more"))
    if origin.exclude_below is not None:
        facts.append(("excluded", names.line(describe_rule(origin.exclude_below))))
    blocks: list[Block] = [Heading(names.line(origin.title) or "Summary of an audit"), Facts(facts)]
    for table in tables:
        of = metric_titles.of_outcome("selection_rate", table.of)
        caption = f"{table.rate.capitalize()} and {table.ratio}{of} by {numbers.subset(table.by)}"
        rows = []
        for rate, values in table.rows:
            is_known = rate.standing is Eligibility.ELIGIBLE and not rate.estimate.suppressed
            texts = (*(names.name(level) for _, level in rate.group), *values)
            rows.append([Cell(text, Tone.PLAIN if is_known else Tone.MUTED) for text in texts])
        header = (*map(names.name, table.by), *table.header)
        numeric = [index >= len(table.by) for index in range(len(header))]
        blocks.append(Table(caption, header, rows, numeric))
    text = (
        "Each ratio is a group's rate divided by the highest rate of the compared groups in "
        "its table. Unknown and excluded groups have no ratio."
    )
    return (*blocks, Paragraph(text))


def render(result: AuditResult, form: Format) -> str:
    """The tables as CSV, or on a page in a format of prose."""
    return render_csv(result) if form.page is None else form.page(document(result))


def render_csv(result: AuditResult) -> str:
    """One table in the form for `fairaudit verify`: an empty cell means all levels of its column.

    Raises `UsageError` without a table, and if there are tables of several rates.
    """
    tables = _tables_of(result)
    if len({(table.rate, table.ratio, table.of) for table in tables}) > 1:
        rates = " and ".join(dict.fromkeys(f"{table.rate} of {table.of}" for table in tables))
        what = f"one CSV table cannot contain {rates}"
        raise UsageError(what, "write a page (.html, .md), or use one spec for each")
    by = [*dict.fromkeys(column for table in tables for column in table.by)]
    rows = [
        [
            *(dict(rate.group).get(column, "") for column in by),
            *(text.replace(",", "") for text in values),
        ]
        for table in tables
        for rate, values in table.rows
    ]
    return Export((*by, *tables[0].header), rows).csv()


def _tables_of(result: AuditResult) -> list[_Published]:
    """A table for each rate and grouping with a ratio or with a hidden number."""
    titles: dict[tuple[str, str], str] = {}
    ratios: dict[tuple[str, str, Grouping], dict[Group, ComparisonRow]] = {}
    for row in result.comparisons:
        is_whole = not row.stratum and not row.averaged and len(row.parts) == 1
        if is_whole and row.group and row.reference == _HIGHEST and is_ratio(row):
            of_rate = (row.parts[0].metric, row.of)
            titles.setdefault(of_rate, metric_titles.in_text(row.title))
            ratios.setdefault((*of_rate, row.by), {}).setdefault(row.group, row)
    tables = []
    of_ratio = []
    for rate in result.rates:
        estimate, metric = rate.estimate, rate.metric
        if metric == SELECTION_RATE.id and (NOT_SELECTED_RATE.id, rate.of) in titles:
            # If the positive is a burden, the ratio compares the people who are not selected.
            metric = NOT_SELECTED_RATE.id
            if estimate.numerator is not None and estimate.denominator is not None:
                rest = estimate.denominator - estimate.numerator
                estimate = replace(estimate, value=1 - estimate.value, numerator=rest)
        if rate.group and not rate.stratum and not rate.averaged:
            of_ratio.append(replace(rate, metric=metric, estimate=estimate))
    for (metric, of, by), run in groupby(of_ratio, lambda row: (row.metric, row.of, row.by)):
        rates = [*run]
        compared = ratios.get((metric, of, by), {})
        is_hidden = any(rate.estimate.suppressed for rate in rates)
        record = NOT_SELECTED_RATE if metric == NOT_SELECTED_RATE.id else find_metric(metric)
        is_share = isinstance(record, GroupMetric) and record.is_proportion
        if is_share and (metric, of) in titles and (compared or is_hidden):
            ratios_of = compared.values()
            digits = digits_of_rates(
                SELECTION_RATE.id, ratios_of, lambda row: numbers.value_of(row.estimate, 3), 1
            )
            rows = [(rate, _values(rate, compared, digits)) for rate in rates]
            tables.append(_Published(metric, titles[metric, of], of, by, rows))
    if not tables:
        what = "the result has no ratios to the highest rate"
        hint = "add `impact_ratio` to the spec (or `profile: nyc-ll144`)"
        if any(row.estimate.suppressed for row in result.rates):
            hint += "; if the spec has it already, all its ratios are suppressed"
        raise UsageError(what, hint)
    return tables


def _values(
    rate: RateRow, ratios: Mapping[Group, ComparisonRow], digits: int
) -> tuple[str, str, str, str]:
    """The number of people of a group, of selected people, the rate and the ratio."""
    estimate = rate.estimate
    if estimate.suppressed:
        return (numbers.SUPPRESSED,) * 4
    parts = (estimate.denominator, estimate.numerator)
    scale = estimate.scale  # with survey weights, the sum of weights replaces the people
    n, selected = (
        "" if part is None else f"{part:,}" if scale == 1 else f"{part / scale:,.1f}"
        for part in parts
    )
    ratio: str = State.UNDEFINED
    if rate.standing is not Eligibility.ELIGIBLE:
        ratio = _STANDINGS[rate.standing]
    elif not ratios:  # the ratio of one group would reveal the ratio of another
        ratio = numbers.SUPPRESSED
    elif rate.group in ratios:
        ratio = numbers.value_of(ratios[rate.group].estimate, 3)
    elif estimate.value > 0 and any(row.second == rate.group for row in ratios.values()):
        ratio = numbers.number(1, 3)  # the reference of the other groups
    return n, selected, numbers.percent(estimate.value, digits), ratio
