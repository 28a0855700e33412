"""Prose report: models side by side, and groups flagged by a preset's fair ranges."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.frozen import replace
from fairaudit.cube import Group, Grouping
from fairaudit.metrics import find_ranges
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Heading,
    Paragraph,
    Table,
    Tone,
    side_by_side,
    tabulate,
)
from fairaudit.result import AuditResult, ComparisonRow, LatticeEntry

_LABEL, _ALONE = "label", frozenset({"prediction", "decision", "score"})
"""No models: the label, and what a spec without `models` calls its one prediction."""

_Measure: TypeAlias = tuple[str, dict[str, LatticeEntry]]
_BESIDE = 4
"""So many measures, or models, beside each other leave room for names in 80 columns."""


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """The grid of models, where there are several, and the table of flags, where it is asked."""
    yield from models(result, most)
    flags = list(_flags(result, most))
    if flags:
        yield Heading("Groups and fair ranges")
        yield from flags


def models(result: AuditResult, most: int | None) -> Iterator[Block]:
    """For each subset a table of measures by models, of their worst values."""
    shown = result.lattice if most is None else [row for row in result.lattice if len(row.by) == 1]
    tables = [table for row in shown for table in _grids(row.by, row.entries)]
    if tables:
        yield Heading("Models beside each other")
        yield from tables
        text = (
            "Each number is that of the worst pair of groups, or the one of all groups; ‹: the "
            "model nearest to parity (of Δε, the lowest), where they differ. No difference of "
            "models is tested here: `fairaudit compare REPORT --models FIRST SECOND` tests them on "
            "the same people."
        )
        yield Paragraph(text, Tone.MUTED)


def _grids(by: Grouping, entries: Sequence[LatticeEntry]) -> Iterator[Table]:
    """The measures of a subset that several outcomes have, so many models a table as fit."""
    measures: dict[str, dict[str, LatticeEntry]] = {}
    of_models = [entry for entry in entries if entry.of != _LABEL]
    if any(entry.of in _ALONE for entry in of_models):
        return
    for entry in of_models:
        title = "".join(entry.title.rsplit(f" of {entry.of}", 1))
        measures.setdefault(title, {})[entry.of] = entry
    shared = {title: values for title, values in measures.items() if len(values) > 1}
    outcomes = [*dict.fromkeys(of for values in shared.values() for of in values)]
    columns = [Column[_Measure](names.name(of), partial(_value, of)) for of in outcomes]
    measure = Column[_Measure]("measure", lambda pair: pair[0], numeric=False)
    for few in side_by_side(columns, _BESIDE):
        yield tabulate(f"By {numbers.subset(by)}", (measure, *few), [*shared.items()])


def _value(of: str, measure: _Measure) -> str:
    """The value of one model, marked where it is the nearest to parity."""
    _, values = measure
    entry = values.get(of)
    if entry is None:
        return ""
    departures = {value.departure for value in values.values() if not math.isnan(value.departure)}
    is_nearest = len(departures) > 1 and entry.departure == min(departures)
    return numbers.value_of(entry.estimate) + (" ‹" if is_nearest else "")


def _flags(result: AuditResult, most: int | None) -> Iterator[Block]:
    """For each subset and outcome a table of groups by measures, those out of range marked."""
    ranges = find_ranges(result.provenance.flags)
    if ranges is None:
        return
    rows = [row for row in result.comparisons if not row.parameters and not row.averaged]
    if not rows:
        return
    for (of, by, stratum), run in groupby(
        sorted(rows, key=lambda row: (row.of, len(row.by), row.by, row.stratum)),
        key=lambda row: (row.of, row.by, row.stratum),
    ):
        where = numbers.in_stratum(stratum, ", ")
        yield from _of_groups(f"{names.name(of)} by {numbers.subset(by)}{where}", [*run], most)
    low, high = ranges.ratio
    yield Paragraph(
        f"!: outside what {ranges.source.authors} ({ranges.source.year}) call fair: ratios from "
        f"{low} to {high}, differences of up to {ranges.part} of what they can be. A mark is no "
        "limit and changes no verdict. A ratio of small rates is out of range at a few points of "
        "difference: read both. Of numbers without bounds no difference is marked.",
        Tone.MUTED,
    )


def _of_groups(caption: str, rows: Sequence[ComparisonRow], most: int | None) -> Iterator[Table]:
    """The tables of one subset: a row a group, so many measures a table as fit."""
    measures = [*dict.fromkeys((row.metric, row.compare) for row in rows)]
    groups = [*dict.fromkeys(row.group for row in rows)]
    row_of = {(row.group, (row.metric, row.compare)): row for row in rows}
    shown = groups[:most]
    who = Column[Group | None](
        "",
        lambda group: "all groups" if group is None else numbers.group(group),
        numeric=False,
    )

    def flagged(measure: tuple[str, str | None], group: Group | None) -> Cell:
        row = row_of.get((group, measure))
        if row is None:
            return Cell("")
        text = numbers.value_of(row.estimate)
        return Cell(text) if row.flag is None else Cell(f"{text} !", Tone.WARN)

    for few in side_by_side(measures, _BESIDE):
        columns = [
            Column[Group | None](
                f"{metric_titles.short_name(name)} {how or ''}".strip(),
                partial(flagged, (name, how)),
            )
            for name, how in few
        ]
        listed = [group for group in shown if any((group, measure) in row_of for measure in few)]
        table = tabulate(caption, (who, *columns), listed)
        yield replace(table, more=numbers.more_groups(len(groups) - len(shown)))
