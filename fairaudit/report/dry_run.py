"""The reports of `fairaudit check` (columns, groups, checks, cost) and of `verify` (faults)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit.base import names
from fairaudit.report import checks, numbers, provenance
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.result import CheckPreview, ColumnPreview, DryRun, GroupingPreview, Verification
from fairaudit.stats.sample_sizes import POWER_IN_WORDS

_MOST_LEVELS = 12
_MOST_SOURCES = 4
_NO_VALUE = "a missing value"

_COLUMNS: tuple[Column[ColumnPreview], ...] = (
    text_column("name", lambda row: names.name(row.name)),
    text_column("role", lambda row: row.role),
    text_column("column", lambda row: ", ".join(map(names.name, row.columns))),
    text_column("as", lambda row: row.reading),
)
_GROUPINGS: tuple[Column[GroupingPreview], ...] = (
    text_column("grouping", lambda row: numbers.subset(row.by)),
    Column("groups", lambda row: numbers.whole(row.groups)),
    Column("empty", lambda row: numbers.whole(row.empty)),
    Column("compared", lambda row: numbers.whole(row.compared)),
    Column("smallest", lambda row: numbers.whole(row.n)),
    text_column("which is", lambda row: numbers.group(row.smallest) if row.smallest else ""),
)


def document(dry_run: DryRun, *, all_rows: bool = False) -> Document:
    """The whole dry run; long lists of levels are cut unless `all_rows`."""
    blocks: list[Block] = [
        Heading(names.line(dry_run.title)),
        Facts([*_facts(dry_run)]),
        Heading("Columns"),
        tabulate("Columns that are read", _COLUMNS, dry_run.columns),
    ]
    if dry_run.readings:
        caption = "Their content, in the first file"
        blocks.append(tabulate(caption, provenance.READINGS, dry_run.readings))
    if any(column.levels for column in dry_run.columns):
        blocks.append(_levels(dry_run, all_rows=all_rows))
    if dry_run.groupings:
        caption = f"People of a known {names.name(dry_run.groupings[0].of)}, by group"
        blocks += [Heading("Groups"), tabulate(caption, _GROUPINGS, dry_run.groupings)]
    blocks.append(Heading("Checks"))
    checks = dry_run.checks
    # Each check with its smallest detectable gap, then the reasons why some cannot be evaluated.
    if not checks:
        text = "The spec sets no limits: rates are reported without a verdict."
        blocks.append(Paragraph(text))
    elif checks[0].is_evaluable is None:
        blocks.append(tabulate("Checks to judge", _CHECKS, checks))
    else:
        caption = f"Gap that a test finds in {POWER_IN_WORDS} such samples, for the smallest group"
        blocks.append(tabulate(caption, (text_column("", _word), *_CHECKS, *_GAPS), checks))
        remarks = [(_word(check), remark) for check in checks for remark in _remarks(check)]
        if remarks:
            blocks.append(Entries(remarks, is_titled=True))
    if checks and dry_run.cost is not None and dry_run.cost.cells is None:
        text = (
            "The smallest gap is not shown: it would reveal sizes and rates that "
            "`suppress_below` hides."
        )
        blocks.append(Paragraph(text))
    if dry_run.notices:
        notices = [(Cell("note", Tone.WARN), str(notice)) for notice in dry_run.notices]
        blocks += [Heading("Notices"), Entries(notices)]
    return tuple(blocks)


def line(dry_run: DryRun) -> str:
    """The last line of the command: how many checks can be evaluated."""
    count = numbers.counted(len(dry_run.checks), "check")
    if not dry_run.checks:
        return "no checks"
    if dry_run.cost is None:
        return f"{count}, no data read"
    closed = len(dry_run.checks) - dry_run.evaluable
    return f"{count}: {dry_run.evaluable} can be evaluated, {closed} cannot"


def _facts(dry_run: DryRun) -> Iterator[tuple[str, str]]:
    yield "spec", names.copied(dry_run.spec)
    yield "data", numbers.first_few([*map(names.copied, dry_run.data)]) or "none named"
    cost = dry_run.cost
    if cost is None:
        yield "run costs", "not known: no data was read"
        return
    if dry_run.notation:
        yield "written", names.line(dry_run.notation)
    size = numbers.SUPPRESSED if cost.bytes is None else f"{cost.bytes / 1e3:,.1f} kB"
    yield "rows", f"{numbers.whole(cost.rows)} ({size})"
    counting = f" that counts {numbers.counted(cost.cells, 'cell')}" if cost.cells else ""
    hidden = "; how many cells it counts is suppressed" if cost.cells is None else ""
    further = "".join(f"; a further pass: {names.line(purpose)}" for purpose in cost.further_passes)
    yield "run costs", f"one pass{counting}, by {cost.route}{hidden}{further}"


def _levels(dry_run: DryRun, *, all_rows: bool) -> Table:
    """The levels of all columns, with the values in the data that they stand for."""
    rows = []
    for column in dry_run.columns:
        shown = column.levels if all_rows else column.levels[:_MOST_LEVELS]
        first, rest = names.name(column.name), len(column.levels) - len(shown)
        for level in shown:
            sources = [
                _NO_VALUE if text is None else names.quoted(text, names.MOST_COPIED)
                for text in level.sources
            ]
            is_same = level.sources == (level.level,)
            rows.append(
                [
                    Cell(first),
                    Cell(names.name(level.level, names.MOST_COPIED) if level.level else "no level"),
                    Cell(numbers.whole(level.n)),
                    Cell("" if is_same else numbers.first_few(sources, _MOST_SOURCES)),
                    Cell("rare", Tone.WARN) if level.is_rare else Cell(level.role),
                ]
            )
            first = ""
        if rest:
            rows.append([*map(Cell, ("", f"{numbers.counted(rest, 'more level')}", "", "", ""))])
    return Table(
        "Levels, as they are audited",
        ("name", "level", "people", "in the data", ""),
        rows,
        (False, False, True, False, False),
    )


def _word(check: CheckPreview) -> Cell:
    return Cell("ready", Tone.GOOD) if check.is_evaluable else Cell("open", Tone.WARN)


def _smallest_gap(check: CheckPreview) -> str:
    gap = check.detectable
    if gap is None:
        return ""
    sides = [distance for distance in (gap.down, gap.up) if not math.isnan(distance)]
    points = " or ".join(dict.fromkeys(map(numbers.points, sides)))
    return f"{points} points" if points else "none at all"


_CHECKS: tuple[Column[CheckPreview], ...] = (
    text_column("check", lambda row: names.copied(row.check.id)),
    text_column("limit", lambda row: row.limit),
)
_GAPS: tuple[Column[CheckPreview], ...] = (
    Column("smallest gap", _smallest_gap),
    text_column(
        "of",
        lambda row: (
            ""
            if (gap := row.detectable) is None
            else f"{numbers.group_in(gap.group, gap.stratum)}, "
            f"{numbers.whole(gap.n)} against {numbers.whole(gap.m)}"
        ),
    ),
)


def _remarks(check: CheckPreview) -> Iterator[str]:
    """Why a check cannot be evaluated, which people it leaves out, and which gaps it may miss."""
    name = names.copied(check.check.id)
    if check.why:
        yield f"{name}: {check.why}"
    groups_by: dict[str, list[str]] = {}
    for item in check.not_judged:
        groups_by.setdefault(item.reason, []).append(numbers.group_in(item.group, item.stratum))
    for reason, groups in groups_by.items():
        listed = numbers.first_few([*filter(None, groups)])
        yield f"{name}: not evaluated: {listed + ': ' if listed else ''}{reason}"
    if check.finds_limit is False:
        yield f"{name}: these groups are small: a gap over the limit may not be significant"


_NOT_FOUND = (
    "No contradictions found. The table alone cannot show whether its numbers match the data."
)

_FEW = 3
_MANY = 20
"""Maximum number of texts of cells without a number that are shown."""


def verification_document(verification: Verification) -> Document:
    """Each fault with its place and its group; without faults, a text on what was not verified."""
    heading = Heading(f"Published tables: {', '.join(map(names.copied, verification.tables))}")
    unread = [Paragraph(_unread(verification, _MANY), Tone.MUTED)] if verification.unread else []
    if not verification.faults:
        return (heading, Paragraph(_NOT_FOUND), *unread)
    rows = [
        (
            Cell(fault.rule, Tone.BAD),
            f"{checks.place(fault.place)} {names.describe_group(fault.group)}: {fault.message}",
        )
        for fault in verification.faults
    ]
    return (heading, Entries(rows), *unread)


def verification_line(verification: Verification) -> str:
    """The last line of the command: how many faults were found."""
    faults = numbers.counted(len(verification.faults), "fault")
    unread = f"; {_unread(verification, _FEW)}" if verification.unread else ""
    return f"{faults} in {numbers.counted(verification.rows, 'row')}{unread}"


def _unread(verification: Verification, most: int) -> str:
    """The number of cells that could not be compared, and the texts of the first few cells."""
    texts = [*dict.fromkeys(names.quoted(cell.text) for cell in verification.unread)]
    more = ", …" if len(texts) > most else ""
    cells = numbers.counted(len(verification.unread), "cell")
    return f"{cells} without a number, not verified: {', '.join(texts[:most])}{more}"
