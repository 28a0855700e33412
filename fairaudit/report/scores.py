"""The section on the score: its distribution in each group."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from fairaudit import names
from fairaudit.report import figures, numbers
from fairaudit.report.blocks import Block, Cell, Heading, Paragraph, Table, Tone
from fairaudit.result import AuditResult, ScoreRow

_HEADER = ("people", "mean", "s. d.", "lowest", "median", "highest", "AUC")


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for everybody and for each attribute."""
    for column, run in groupby(result.scores, key=lambda row: row.column):
        name = names.name(column)
        yield Heading("Score" if name.lower() == "score" else f"Score: {name}")
        yield from figures.curves(result, column)
        yield from _of_column(list(run), most)


def _of_column(scores: list[ScoreRow], most: int | None) -> Iterator[Block]:
    for by, run in groupby(scores, key=lambda row: row.by):
        rows = list(run)
        shown = rows if most is None else rows[:most]
        caption = f"By {numbers.subset(by)}" if by else "Everybody who has one"
        more = len(rows) - len(shown)
        yield Table(
            caption,
            ("", *_HEADER),
            [_cells(row) for row in shown],
            (False, *(True for _ in _HEADER)),
            more=f"{more} more rows: --verbose shows them" if more else "",
        )
    yield Paragraph(
        "AUC: how often a positive label has the higher score of the two, ties counting one half, "
        "within the group; ± says by how much the bins may have moved it. A median of two numbers "
        "lies between them.",
        Tone.MUTED,
    )


def _cells(row: ScoreRow) -> list[Cell]:
    name = numbers.named_group(row.group) if row.by else "everybody"
    if row.suppressed:
        blank = ["" for _ in _HEADER[1:]]
        return [Cell(name, Tone.MUTED), Cell(numbers.SUPPRESSED), *map(Cell, blank)]
    texts = [numbers.whole(row.n), *(_number(one) for one in (row.mean, row.deviation))]
    lowest, highest = (_extreme(one) for one in (row.lowest, row.highest))
    texts += [lowest, _range(row.median), highest, _auc(row)]
    return [Cell(name, Tone.PLAIN if row.known else Tone.MUTED), *map(Cell, texts)]


def _number(value: float | None) -> str:
    return "" if value is None else numbers.number(value)


def _extreme(value: float | None) -> str:
    return numbers.SUPPRESSED if value is None else numbers.number(value)


def _range(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    low, high = map(numbers.number, ends)
    return low if low == high else f"{low} to {high}"


def _auc(row: ScoreRow) -> str:
    if row.auc is None:
        return "undefined"
    error = f" ± {row.auc_error:.1g}" if row.auc_error else ""
    return f"{numbers.number(row.auc)}{error}"
