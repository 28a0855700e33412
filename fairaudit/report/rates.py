"""Prose report: the sections on rates and strata, with tables, captions and the legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.cube import Group, Grouping
from fairaudit.evidence.pair_tests import FEW_EXPECTED
from fairaudit.judge import Check
from fairaudit.metrics import Better, Eligibility, GroupMetric, find_metric
from fairaudit.metrics.estimate import MASKED_RANGE
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.reasons import describe_rule
from fairaudit.report import asked_comparisons, metric_titles, numbers, pictures, rate_figures
from fairaudit.report.blocks import (
    Block,
    Column,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
    cross_table,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult
from fairaudit.result.rows import RateRow

_Shares: TypeAlias = Mapping[tuple[str, Grouping, Group, Group], float | None]
_MOST_STAGES = 3
"""Maximum number of stages in a table, so that it fits into 80 characters."""
_WORST, _LOWEST = "worst first", "lowest first"
_ONE_IN_THOUSAND = 0.001
"""A smaller share of the people is printed with two digits."""
_MOST_SUBSETS = 12
"""If there are more subsets, a short report has only tables of attributes and judged subsets."""


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for each rate and grouping, the worst group first."""
    if not result.rates:
        return
    if result.stages:
        yield Heading("Stages")
        yield from stages(result, most)
    is_ranked = any(_order(row, result) == _WORST for row in result.rates)
    yield Heading("Rates, worst first" if is_ranked else "Rates, lowest first")
    yield from rate_figures.rates(result)
    if everybody := [row for row in result.rates if not row.by and not row.stratum]:
        columns: tuple[Column[RateRow], ...] = (
            text_column(
                "",
                lambda row: (
                    metric_titles.defined_heading(result, row.metric, row.of)
                    + metric_titles.options(row.parameters, row.averaged)
                ),
            ),
            text_column(
                "outcome",
                lambda row: metric_titles.of_outcome(row.metric, row.of)[4:].removeprefix("the "),
            ),
            Column("count", lambda row: numbers.counts(row.estimate)),
            Column("rate", lambda row: _value(row, rate_figures.digits_of([row]))),
            text_column(
                numbers.interval_heading(
                    result.provenance.inference.percent, [row.estimate for row in everybody]
                ),
                lambda row: _interval(row, rate_figures.digits_of([row])),
            ),
        )
        yield tabulate("All people, including people with an unknown group", columns, everybody)
    rows = [row for row in result.rates if row.by]
    shown = rows
    if most is not None:
        # Single attributes and judged subsets first, then other subsets up to the maximum.
        judged = {found.check.by for found in result.findings if isinstance(found.check, Check)}
        every = dict.fromkeys(row.by for row in rows)
        first = [by for by in every if len(by) == 1 or by in judged]
        more = [by for by in every if by not in first]
        chosen = {*first, *more[: max(_MOST_SUBSETS - len(first), 0)]}
        shown = [row for row in rows if row.by in chosen]
    yield from tables(shown, result, most)
    if omitted := len({row.by for row in rows}) - len({row.by for row in shown}):
        subsets = numbers.counted(omitted, "more subset")
        text = f"and the tables of {subsets}: --verbose or -o report.json has them"
        yield Paragraph(text, Tone.MUTED)
    yield legend(result)
    yield from rate_figures.local_rates(result)


def tables(rates: Sequence[RateRow], result: AuditResult, most: int | None) -> Iterator[Table]:
    """A table for each rate, outcome, grouping and stratum, in the order of the rows."""
    shares = {(row.of, row.by, row.stratum, row.group): row.share for row in result.groups}
    compared = asked_comparisons.compared_groups(result)
    for rows in _runs(rates):
        yield _table(rows, result, most, shares, compared)
        yield from asked_comparisons.tables(rows, compared, result, most)


def answers(result: AuditResult, most: int) -> Iterator[Table]:
    """The tables for a spec without limits: the comparisons of each rate, or the rate itself.

    Strata have no tables. If the spec does not compare single groups, the table has the
    values of all groups together.
    """
    yield from (block for block in stages(result, most) if isinstance(block, Table))
    of_all = [row for row in result.comparisons if row.spread and not row.stratum]
    if of_all and not any(row.by for row in result.rates):
        yield asked_comparisons.overview(of_all, "One value for all groups", most)
    compared = asked_comparisons.compared_groups(result)
    for rows in _runs(row for row in result.rates if row.by and not row.stratum):
        asked = [*asked_comparisons.tables(rows, compared, result, most)]
        yield from asked or [_table(rows, result, most, {}, compared)]


def stages(result: AuditResult, most: int | None) -> Iterator[Block]:
    """How many people of each group reach each stage of a process: tables and pictures."""
    rows = [
        row
        for row in result.rates
        if (row.of in result.stages and row.metric == SELECTION_RATE.id and row.by)
        and not (row.stratum or row.parameters)
    ]
    subsets = [*dict.fromkeys(row.by for row in rows)]
    alone = [by for by in subsets if len(by) == 1]
    for by in subsets if most is None else alone or subsets:
        own = [row for row in rows if row.by == by]
        digits = rate_figures.digits_of(own)
        cells = {
            (row.group, row.of): metric_titles.rate(row.metric, row.estimate, digits) for row in own
        }
        titles = {stage: names.name(stage) for _, stage in cells}
        who: Column[Group] = text_column(numbers.subset(by), numbers.group)
        title = f"People who reach each stage, by {numbers.subset(by)}"
        yield from cross_table(title, who, titles, cells, most, _MOST_STAGES)
        placed = [(names.name(row.of), row) for row in own]
        yield _draw_lines(title, ("stage", "share of all people"), placed, ("stage", "stages"))


def _runs(rates: Iterable[RateRow]) -> Iterator[list[RateRow]]:
    """The rates of each table."""
    for _, run in groupby(
        rates,
        key=lambda row: (
            *(row.metric, row.of, row.by, row.stratum),
            metric_titles.options(row.parameters, row.averaged),
        ),
    ):
        yield [*run]


def _table(
    rows: Sequence[RateRow],
    result: AuditResult,
    most: int | None,
    shares: _Shares,
    compared: asked_comparisons.Compared,
) -> Table:
    """The table of one rate; if `shares` is empty, it has no column for the sizes of groups."""
    first, level = rows[0], result.provenance.inference.percent
    caption = metric_titles.defined_heading(result, first.metric, first.of)
    caption += metric_titles.options(first.parameters, first.averaged)
    caption += metric_titles.of_outcome(first.metric, first.of)
    caption += f" by {numbers.subset(first.by)}{numbers.in_stratum(first.stratum, ', ')}"
    order = _order(first, result)
    caption += "" if order == _WORST else f", {order}"
    asked = asked_comparisons.comparisons_of(first, compared)
    kinds = {asked_comparisons.is_ratio(row) for row in asked}
    notes = []
    shown = [
        (test, _p_value(row))
        for row in rows[:most]
        if (test := row.estimate.significance) and _is_compared(row)
    ]
    tests = [test for test, p in shown if "*" in p]
    if tests:
        # The number of tests for which a star is corrected, and the correction.
        is_raw = tests[0].correction == "none"
        how = "without correction" if is_raw else f"after correction ({tests[0].correction})"
        family = f"{how} for the {numbers.whole(tests[0].family)} tests of this table"
        family = family if tests[0].family > 1 else "in the only test of this table"
        notes.append(f"*: p is below {first.alpha:g} {family}")
    if not shares and any(" F" in p for _, p in shown):
        notes.append("F: by Fisher's exact test")  # other reports have a legend
    eligible = [row for row in rows if row.standing is Eligibility.ELIGIBLE]
    is_compared = bool(kinds) or any(row.reference for row in eligible)
    if first.averaged and len(eligible) > 1 and not is_compared:
        # The averages of two groups are compared over the strata that both groups have.
        notes.append(
            "these averages use different strata or weights; for the same strata and weights, use "
            "`compare: difference` or `ratio`"
        )
    return tabulate(
        caption,
        [*_columns(rows, shares, level, kinds)],
        rows,
        tone=lambda row: Tone.PLAIN if row.standing is Eligibility.ELIGIBLE else Tone.MUTED,
        most=most,
        notes=notes,
    )


def _order(row: RateRow, result: AuditResult) -> str:
    """The order of a table: the worst group first; if no direction is better, the lowest rate."""
    record = find_metric(row.metric)
    if not isinstance(record, GroupMetric) or record.best_inside is not None:
        return _WORST
    favourable = row.is_favourable(result.burdens)
    is_ranked = record.better.given(favourable=favourable) is not Better.NEITHER
    return _WORST if is_ranked else _LOWEST


def _is_compared(row: RateRow) -> bool:
    """Whether a row is compared with a reference other than itself."""
    is_averaged_apart = row.averaged and not row.reference
    is_other = row.group != row.reference and not is_averaged_apart
    return is_other and row.standing is Eligibility.ELIGIBLE


def legend(result: AuditResult) -> Paragraph:
    """The meaning of the columns of a table of rates."""
    level = result.provenance.inference.percent
    correction = numbers.corrected(result.provenance.inference).removeprefix("corrected by ")
    provenance, set_aside = result.provenance, ""
    if provenance.minimum.events is not None:
        set_aside = (
            f"; few events: fewer than {provenance.minimum.events} people with some outcome "
            "expected at the overall rate, not compared"
        )
    if provenance.exclude_below is not None:
        set_aside += f"; excluded: {names.line(describe_rule(provenance.exclude_below))}"
    if any(row.estimate.method == MASKED_RANGE for row in result.rates):
        set_aside += (
            "; range: the least and the greatest rate over all values that masked counts may have; "
            "count, diff. and ratio are then ranges, too, and the rate is that of the other counts"
        )
    return Paragraph(
        "of known: the group's share of the people with a known group; count: numerator and "
        "denominator of the rate; diff. (points) and ratio: compared with the reference group "
        "(the spec declares it; if the spec declares none, it is the largest group; if the spec "
        "declares levels of only some columns, it is the largest group with these levels); "
        f"{level}: the interval (Wilson's for a share) of each group separately; p: z tests "
        f"whether the group differs from the reference; Fisher's test (F) replaces z "
        f"{FEW_EXPECTED}; *: p is below "
        f"{provenance.inference.alpha:g} after correction ({correction}) for all tests of the same "
        "table; the p-value of a check is corrected for "
        f"{provenance.inference.family.words}; small: fewer than `min_size` people "
        f"in the denominator, not compared{set_aside}.",
        Tone.MUTED,
    )


def _value(row: RateRow, digits: int) -> str:
    value = row.estimate.value
    if row.estimate.error and not row.estimate.suppressed:
        error = row.estimate.error
        doubt = numbers.doubt(error) if math.isfinite(error) else "or undefined"
        return f"{numbers.number(value, 3)} {doubt}"
    return metric_titles.rate_alone(row.metric, row.estimate, digits)


def _interval(row: RateRow, digits: int) -> str:
    """The interval of a rate; in per cent if it is a share that is not read from bins."""
    share = metric_titles.is_share(row.metric) and not row.estimate.error
    return numbers.interval(row.estimate, share=share, digits=digits)


def _columns(
    rows: Sequence[RateRow], shares: _Shares, level: str, kinds: Collection[bool]
) -> Iterator[Column[RateRow]]:
    """The columns of a table of rates.

    `kinds` are the kinds of comparisons in the spec, ratios or differences; the table leaves out
    other kinds.
    """
    digits, in_points = rate_figures.digits_of(rows), metric_titles.is_share(rows[0].metric)
    by = numbers.subset(rows[0].by)

    def difference(value: float) -> str:
        return numbers.points(value, digits) if in_points else numbers.fixed(value, digits)

    def ratio(value: float) -> str:
        return numbers.fixed(value, 3)

    rate_of = {row.group: row.estimate.value for row in rows}
    results = [
        (row.estimate.value, rate_of.get(row.reference, math.nan), write(value) + unit, is_ratio)
        for row in rows
        for value, write, unit, is_ratio in (
            (row.difference, difference, " points" * in_points, False),
            (row.ratio, ratio, "", True),
        )
        if is_ratio not in kinds and _is_compared(row)
        if value is not None and math.isfinite(value)
    ]
    of_rates = metric_titles.digits_that_give(rows[0].metric, results, digits)
    yield text_column(by, lambda row: numbers.group(row.group))
    if shares:
        yield Column(
            "of known",
            lambda row: (
                ""
                if (share := shares.get((row.of, row.by, row.stratum, row.group))) is None
                else numbers.percent(share, 1 if share > _ONE_IN_THOUSAND else None)
            ),
        )
    yield Column("count", lambda row: numbers.counts(row.estimate))
    yield Column("rate", lambda row: _value(row, of_rates))
    heading = numbers.interval_heading(level, [row.estimate for row in rows])
    yield Column(heading, lambda row: _interval(row, digits))
    if False not in kinds:
        yield Column("diff.", lambda row: _compared(row, "difference", difference))
    if True not in kinds:
        yield Column("ratio", lambda row: _compared(row, "ratio", ratio))
    yield Column(
        "p",
        lambda row: _p_value(row) if _is_compared(row) else rate_figures.standing(row, "not known"),
    )


def _p_value(row: RateRow) -> str:
    """The p-value of a row, with a mark for Fisher's test and one for significance."""
    test = row.estimate.significance
    is_fisher = test is not None and test.test.startswith("Fisher")
    return numbers.starred_p(test, row.alpha, " F" if is_fisher else "")


def _compared(row: RateRow, name: str, write: Callable[[float], str]) -> str:
    """A difference or a ratio to the reference, or its range over masked counts."""
    value, *ends = (getattr(row, f"{name}{end}") for end in ("", "_low", "_high"))
    if not _is_compared(row):
        return ""
    if value is None:
        return numbers.SUPPRESSED
    return write(value) if None in ends else " to ".join(dict.fromkeys(map(write, ends)))


_ALIKE = "People with the same value of a declared factor"
_DECLARED = (
    "The spec declares the factor; you decide whether it is legitimate. A factor that results "
    "from the disparity hides the disparity."
)


def strata(result: AuditResult, most: int | None) -> Iterator[Block]:
    """Comparisons of people in the same stratum: for each stratum, or averaged over the strata."""
    comparisons = [row for row in result.comparisons if row.stratum or row.averaged]
    if not comparisons:
        return
    yield Heading(_ALIKE)
    yield Paragraph(_DECLARED, Tone.MUTED)
    # A picture for each rate, grouping and columns of strata with at least two strata.
    by_conditioning: dict[tuple[object, ...], list[RateRow]] = {}
    for row in result.rates:
        if row.by and row.stratum:
            options = metric_titles.options(row.parameters, row.averaged)
            key = (row.metric, row.of, row.by, _stratum_columns(row.stratum), options)
            by_conditioning.setdefault(key, []).append(row)
    several = (run for run in by_conditioning.values() if len({row.stratum for row in run}) > 1)
    for rows in islice(several, pictures.MOST_STRATUM_PICTURES):
        first = rows[0]
        title = metric_titles.defined_heading(result, first.metric, first.of)
        options = metric_titles.options(first.parameters, first.averaged)
        whose = f"{title}{metric_titles.of_outcome(first.metric, first.of)}{options}"
        given = numbers.subset(_stratum_columns(first.stratum))
        placed = [(numbers.group(row.stratum), row) for row in rows]
        caption = f"{whose}, {numbers.subset(first.by)} by {given}"
        yield _draw_lines(caption, (given, title), placed, ("stratum", "strata"))
    for _, run in groupby(
        [row for row in comparisons if row.stratum],
        key=lambda row: (
            row.title,
            row.of,
            row.by,
            _stratum_columns(row.stratum),
            str(row.parameters),
        ),
    ):
        yield asked_comparisons.by_stratum([*run], result, most)
    averaged = [row for row in comparisons if row.averaged]
    if averaged:
        caption = "averages over strata, with the same weights for both groups"
        yield asked_comparisons.overview(averaged, caption, most)


def _stratum_columns(stratum: Group) -> Grouping:
    return tuple(name for name, _ in stratum)


def _draw_lines(
    title: str, axes: tuple[str, str], rows: Sequence[tuple[str, RateRow]], place: tuple[str, str]
) -> Figure:
    """A picture with a line for each of the largest groups, over places such as strata or stages.

    `place` has the singular and the plural of the word for a place.
    """
    places = [*dict.fromkeys(name for name, _ in rows)]
    people: dict[Group, int] = {}
    for _, row in rows:
        if row.standing is not Eligibility.UNKNOWN:
            people[row.group] = people.get(row.group, 0) + (row.estimate.n or 0)
    largest = sorted(people, key=lambda group: -people[group])[: pictures.MOST_LINES]
    shown = places[: pictures.MOST_STRATA]
    cells = {(row.group, name): row.estimate for name, row in rows}
    lines = [
        Line(
            numbers.group(group),
            [
                Point(name, estimate.value, estimate.low, estimate.high)
                for name in shown
                if (estimate := cells.get((group, name))) and math.isfinite(estimate.value)
            ],
        )
        for group in largest
    ]
    missing = [
        f"{numbers.group(row.group)} in {name} ({row.estimate.state})"
        for name, row in rows
        if row.group in largest and not math.isfinite(row.estimate.value)
    ]
    omitted = f" Not shown: {numbers.first_few(missing)}." if missing else ""
    omitted += pictures.not_shown(len(people) - len(largest), "groups", "the smaller ones")
    omitted += pictures.not_shown(len(places) - len(shown), place[1], "the last ones")
    return Figure(
        title,
        Lines(*axes, lines, percent=metric_titles.is_share(rows[0][1].metric)),
        note=f"Vertical lines: separate intervals of each group in each {place[0]}.{omitted}",
    )
