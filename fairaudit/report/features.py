"""The section on features: what people of each group have, and how many lack it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from fairaudit import names
from fairaudit.report import numbers
from fairaudit.report.blocks import Block, Cell, Heading, Paragraph, Table, Tone
from fairaudit.result import AuditResult, FeatureRow

_NUMBERS = ("people", "missing", "mean", "median", "s. d.", "lowest", "highest")
_LEVELS = ("people", "missing", "levels", "commonest", "entropy")


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """A table for each feature: everybody, and each group of each attribute."""
    if not result.features:
        return
    yield Heading("Features by group")
    for feature, run in groupby(result.features, key=lambda row: row.feature):
        yield _table(feature, list(run), most)
    yield Paragraph(
        "missing: people without the feature, and their share; a median given as two numbers lies "
        "between them; entropy: in bits, 0 where all have one level. Who leaves the audit for "
        "another column is counted here.",
        Tone.MUTED,
    )


def _table(feature: str, rows: Sequence[FeatureRow], most: int | None) -> Table:
    is_number = all(row.levels is None for row in rows)
    heads = _NUMBERS if is_number else _LEVELS
    shown = rows if most is None else rows[:most]
    return Table(
        names.name(feature),
        ("", *heads),
        [_cells(row, is_number=is_number) for row in shown],
        (False, *(head != "commonest" for head in heads)),
        more=numbers.more_groups(len(rows) - len(shown)),
    )


def _cells(row: FeatureRow, *, is_number: bool) -> list[Cell]:
    name = numbers.named_group(row.group) if row.by else "everybody"
    share = numbers.percent(row.missing / (row.n + row.missing))
    missing = f"{numbers.whole(row.missing)} ({share})" if row.missing else "0"
    if is_number:
        low, high = row.median or (None, None)
        median = _number(low) if low == high else f"{_number(low)} to {_number(high)}"
        texts = [_number(row.mean), median, *map(_number, (row.deviation, row.lowest, row.highest))]
    else:
        commonest = "" if row.commonest is None else names.name(row.commonest)
        texts = [numbers.whole(row.levels), commonest, _number(row.entropy)]
    tone = Tone.PLAIN if row.known else Tone.MUTED
    return [Cell(name, tone), *map(Cell, (numbers.whole(row.n), missing, *texts))]


def _number(value: float | None) -> str:
    return "" if value is None else numbers.number(value)
