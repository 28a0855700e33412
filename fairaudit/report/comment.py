"""The top of Markdown: verdict, a row for each check that does not pass, lines of the worst.

The full report is folded below it (`markdown.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.frozen import Frozen
from fairaudit.metrics import find_metric
from fairaudit.report import (
    asked_comparisons,
    checks,
    first_screen,
    numbers,
    remarks,
    text_pictures,
    widest_gaps,
)
from fairaudit.report.blocks import Block, Cell, Entries, Heading, Paragraph, Table, Tone
from fairaudit.report.diagnostics import (
    TONES,
    Diagnostic,
    Level,
    diagnose,
    limit_place,
)
from fairaudit.report.provenance import name_spec
from fairaudit.report.repository import link_to_line, link_to_metric
from fairaudit.result import AuditResult

_WIDTH = 80
_LABEL = 10
_MOST_TABLES = 6
"""Of comparisons, where the spec sets no limit: the report below has them all."""


class Code(Frozen):
    """Lines whose signs stand below each other: all of one width."""

    text: str


CommentBlock: TypeAlias = Block | Code


def head(result: AuditResult, data: str | None = None) -> tuple[CommentBlock, ...]:
    """The verdict, a row for each check that is not passed, and the numbers of the worst."""
    headline = checks.audit_headline(result, data)
    every = diagnose(result)
    rows = [row for row in every if row.level is not Level.PASS]
    table = [_table(rows)] if rows else []
    worst = [_worst(result, row) for row in rows[:1]]
    unjudged = [] if every else [*_requested_comparisons(result), *_widest(result)]
    return (
        Heading(headline.title),
        Entries([(headline.verdict, f"{headline.counts}. {headline.rows}.")]),
        *table,
        *worst,
        *unjudged,
        *_remarks(result, every),
    )


def _requested_comparisons(result: AuditResult) -> Iterator[Table | Paragraph]:
    """The first comparisons that a spec without limits asks for."""
    tables = [*asked_comparisons.of_everybody(result, first_screen.MOST_ROWS)]
    yield from tables[:_MOST_TABLES]
    if (more := len(tables) - _MOST_TABLES) > 0:
        yield Paragraph(f"{numbers.counted(more, 'more table')} of comparisons below.")


def _widest(result: AuditResult) -> Iterator[Table]:
    """The widest gaps of a spec that sets no limit."""
    gaps = widest_gaps.widest(result)
    if gaps:
        rows = [[Cell(gap.headline), Cell(gap.sure)] for gap in gaps]
        yield Table(
            "", (f"{widest_gaps.WIDEST}, significant ones first", "how sure"), rows, (False,) * 2
        )


def _remarks(result: AuditResult, every: Sequence[Diagnostic]) -> Iterator[Paragraph]:
    """How close the passes came, what they may have missed, what no limit looks at."""
    if every and all(row.level is Level.PASS for row in every):
        closest = min(every, key=remarks.distance)
        if math.isfinite(remarks.distance(closest)):
            yield Paragraph(f"The closest to its limit: {closest.headline} ({closest.limit}).")
    for line in (
        *remarks.passes(every),
        *remarks.uncovered(result),
        *remarks.ungated_reversals(result),
    ):
        text = "".join(cell.text for cell in line.cells)
        yield Paragraph(f"{text[:1].upper()}{text[1:]}.")


def _table(rows: Sequence[Diagnostic]) -> Table:
    has_owners = any(row.finding.check.about.owner for row in rows)
    heads = ("status", "check", "by", "value", "limit", "spec", *(["owner"] if has_owners else []))
    cells = [[*_cells(row, has_owners=has_owners)] for row in rows]
    return Table("", heads, cells, (False, False, False, True, *(False for _ in heads[4:])))


def _cells(row: Diagnostic, *, has_owners: bool) -> Iterator[Cell]:
    check = row.finding.check
    given = f" given {numbers.subset(check.given)}" if check.given else ""
    yield Cell(row.finding.status.upper(), TONES[row.level])
    yield Cell(f"{row.code}\n{row.headline}", href=link_to_metric(row.code) or None)
    yield Cell(f"{numbers.subset(check.by)}{given}" if check.by else "")
    yield Cell(f"{row.value}\n({row.interval})" if row.interval else row.value, Tone.STRONG)
    yield Cell(row.limit)
    place = limit_place(row.finding)
    if place is None:
        yield Cell("")
    else:
        file = names.copied(PurePath(place.file).name)
        yield Cell(f"{file}:{place.line}", href=link_to_line(place) or None)
    if has_owners:
        yield Cell(names.line(check.about.owner))


def _worst(result: AuditResult, row: Diagnostic) -> Code:
    """The first diagnostic as a terminal prints it, with the commands that show more."""
    spec = name_spec(result.provenance)
    commands = [f"fairaudit run {spec} -o r.json", "fairaudit show r.json 1  # with its formula"]
    if find_metric(row.code) is not None:
        commands.append(f"fairaudit explain {row.code}  # what it measures")
    more = [("" if number else "next", command) for number, command in enumerate(commands)]
    head = f"{row.level}[{row.code}]: {row.headline}"
    return Code("\n".join([head, *_labelled(row.lines), *_drawn(row), "", *_labelled(more)]))


def _labelled(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    for label, text in pairs:
        yield f"{f'{label}:' if label else '':{_LABEL}}{text}".rstrip()


def _drawn(row: Diagnostic) -> Iterator[str]:
    """The picture of a diagnostic, if it has one."""
    if row.picture is not None:
        yield ""
        for line in text_pictures.draw(row.picture, _WIDTH):
            yield "".join(cell.text for cell in line.cells).rstrip()
