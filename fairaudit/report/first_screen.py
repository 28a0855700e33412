"""The first screen of the terminal report: verdict, diagnostics, where to look next.

A page of at most fifty lines: a diagnostic for each check beyond its limit, as compilers print
them, the most urgent in full and the others as far as there is room.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.metrics import find_metric
from fairaudit.report import (
    checks,
    diagnostics,
    finding_facts,
    numbers,
    rates,
    remarks,
    text_layout,
)
from fairaudit.report.blocks import Cell, Table, Tone
from fairaudit.report.diagnostics import Diagnostic, Level
from fairaudit.report.finding_facts import labelled
from fairaudit.report.provenance import name_spec
from fairaudit.report.text_layout import BLANK, Line, line, padded, side_by_side, wrapped
from fairaudit.result import AuditResult

MOST_LINES = 50
_WIDEST = 100
_LABEL = 7
MOST_HEADLINES = 12
MOST_ROWS = 12
"""Of a table of groups where the spec sets no limit."""
_MOST_NOTICES = 2
_Versions: TypeAlias = tuple[Sequence[Line], Sequence[Line], Sequence[Line]]
"""What can be printed of one diagnostic: its headline, in short, the whole."""
_HEADLINE = 2
"""No more lines than a headline alone has: it needs no blank line."""


def draw(result: AuditResult, page: int, data: str | None = None) -> list[Line]:
    """The first screen of a result, on a page with `page` columns."""
    page = min(page, _WIDEST)
    every = diagnostics.diagnose(result)
    headline = checks.audit_headline(result, data)
    verdict, indent = ((), 0) if headline.verdict is None else ((headline.verdict, "  "), 6)
    about = [
        line(*verdict, Cell(headline.title, Tone.STRONG), indent=indent),
        line(" " * indent, f"{headline.counts}; {headline.rows}", indent=indent),
    ]
    if result.earlier is not None:
        origin = finding_facts.baseline_origin(result.earlier, result.earlier.created[:10])
        about.append(line(Cell(f"{' ' * indent}baseline {origin}", Tone.MUTED), indent=indent))
    head = wrapped([*about, BLANK], page)
    tail = list(_tail(result, every, page))
    room = MOST_LINES - len(head) - len(tail)
    middle = list(_diagnostics(every, room, page) if every else _unjudged(result, room, page))
    while middle and not middle[-1].cells:
        middle.pop()
    return [*head, *middle, BLANK, *tail]


def _diagnostics(every: Sequence[Diagnostic], room: int, page: int) -> Iterator[Line]:
    """As many diagnostics as there is room for, the most urgent in full."""
    shown = [diagnostic for diagnostic in every if diagnostic.level is not Level.PASS]
    if not shown:
        shown = sorted(every, key=remarks.distance)
        yield line(Cell("the closest to its limit first", Tone.MUTED))
    listed = shown[:MOST_HEADLINES]
    versions = [
        _versions(diagnostic, page, has_picture=not index and diagnostic.level is not Level.PASS)
        for index, diagnostic in enumerate(listed)
    ]
    chosen = _fit(versions, listed, room - 4)
    for lines in chosen:
        yield from lines
        if len(lines) > 2:  # a headline alone needs no room
            yield BLANK
    if left_out := shown[len(listed) :]:
        yield line(Cell(f"and {numbers.counted(len(left_out), 'more check')}: --full", Tone.MUTED))
    if chosen and len(chosen[-1]) <= 2:
        yield BLANK


def _fit(
    versions: Sequence[_Versions], listed: Sequence[Diagnostic], room: int
) -> list[Sequence[Line]]:
    """For each diagnostic the longest version that leaves room for the headlines of the others."""
    chosen: list[Sequence[Line]] = [headline for headline, _, _ in versions]
    left = room - sum(map(len, chosen))
    urgent = [
        not index or diagnostic.level in {Level.ERROR, Level.INCONCLUSIVE}
        for index, diagnostic in enumerate(listed)
    ]
    for is_first_round in (True, False):  # the others in short before any of them in full
        for index, (_, short, full) in enumerate(versions):
            is_full = urgent[index] or not is_first_round
            for longer in (full, short) if is_full else (short,):
                more = len(longer) + (len(chosen[index]) <= _HEADLINE) - len(chosen[index])
                if 0 < more <= left:
                    chosen[index] = longer
                    left -= more
                    break
    return chosen


def _versions(diagnostic: Diagnostic, page: int, *, has_picture: bool) -> _Versions:
    code = Cell(f"{diagnostic.level}[{diagnostic.code}]", diagnostics.TONES[diagnostic.level])
    head = [line(code, Cell(f": {diagnostic.headline}", Tone.STRONG), indent=4)]
    place = list(_place(diagnostic, page))
    lines = list(_labelled(diagnostic.lines))
    # Who is compared, how sure it is, and what the evidence makes of the verdict.
    label, kept = "", []
    for name, text in diagnostic.lines:
        label = name or label
        if label in {"who", "value", "sure"}:
            kept.append((name, text))
    kept += labelled("note", [finding_facts.backing(diagnostic.finding)])
    first = list(_labelled(kept))
    picture = []
    if has_picture and diagnostic.picture is not None:
        picture = text_layout.draw(diagnostic.picture, page)
    full = [*head, *place, *lines, *([BLANK, *picture] if picture else [])]
    short = [*head, *place[:1], *first]
    return wrapped(head, page), wrapped(short, page), wrapped(full, page)


def _place(diagnostic: Diagnostic, page: int) -> Iterator[Line]:
    """Where the limit is set, and the line of the spec with the limit underlined."""
    if not diagnostic.place:
        return
    source = diagnostic.source
    gutter = "  " if source is None else " " * len(str(source.number))
    yield line(Cell(f"{gutter}--> ", Tone.MUTED), diagnostic.place)
    if source is None:
        return
    value = f" {diagnostic.value}" if diagnostic.value else ""
    room = page - len(gutter) - 3
    before, after = source.before, source.after
    limit = source.limit[: max(room - len(value) - 8, 8)]
    most = room - names.width(limit) - max(names.width(value), 6)
    if names.width(before) > most:
        indent = len(before) - len(before.lstrip())
        keep = max(most - indent - 2, 0)
        before = before[:indent] + "… " + before[len(before) - keep :].lstrip()
    left = room - names.width(before) - names.width(limit)
    if names.width(after) > left:
        after = after[: max(left - 2, 0)] + " …"
    yield line(Cell(f"{source.number} | ", Tone.MUTED), before, Cell(limit, Tone.STRONG), after)
    carets = "^" * names.width(limit)
    tone = diagnostics.TONES[diagnostic.level]
    blanks = " " * names.width(before)
    yield line(Cell(f"{gutter} | ", Tone.MUTED), blanks, Cell(f"{carets}{value}", tone))


def _labelled(lines: Sequence[tuple[str, str]]) -> Iterator[Line]:
    for label, text in lines:
        sign = f"   = {label}:" if label else ""
        yield line(Cell(f"{sign} ".ljust(_LABEL + 7), Tone.MUTED), text, indent=_LABEL + 7)


def _unjudged(result: AuditResult, room: int, page: int) -> Iterator[Line]:
    """Of a spec without limits the tables that it asks for, then the widest gaps."""
    gaps = remarks.widest(result)
    tables = [
        wrapped([*_table(table, page), BLANK], page) for table in rates.answers(result, MOST_ROWS)
    ]
    if not tables:
        yield from wrapped([*_notes(gaps, result)], page)
        return
    shown = sum(end + 2 <= room for end in accumulate(map(len, tables)))
    left = room
    for lines in tables[:shown]:
        yield from lines
        left -= len(lines)
    if more := len(tables) - shown:
        text = f"{numbers.counted(more, 'more table')}: --full"
        yield from (line(Cell(text, Tone.MUTED)), BLANK)
        left -= 2
    versions = (wrapped([*_notes(gaps[:most], result)], page) for most in range(len(gaps), 0, -1))
    yield from next((lines for lines in versions if len(lines) <= left), [])


def _table(table: Table, page: int) -> Iterator[Line]:
    """A table of groups; long names are printed above their numbers."""
    yield line(Cell(table.caption, Tone.STRONG), indent=2)
    rows = [[Cell(text, Tone.MUTED) for text in table.header], *table.rows]
    sides = side_by_side([[cell.text for cell in row[1:]] for row in rows])
    room = max(names.width(row[0].text) for row in rows)
    is_apart = room + 2 + max(map(names.width, sides)) > page
    for (name, *_), side in zip(rows, sides, strict=True):
        if is_apart:
            yield line(name)
        beside = "" if is_apart else padded(name.text, room)
        yield line(Cell(f"{beside}  {side.rstrip()}", name.tone))
    if table.more:
        yield line(Cell(table.more, Tone.MUTED))


def _notes(notes: Sequence[remarks.WidestGap], result: AuditResult) -> Iterator[Line]:
    """The widest gaps of a spec that sets no limit."""
    words = f"{remarks.WIDEST}, those with evidence first" if notes else "no groups were compared"
    if notes and all(note.is_significant is False for note in notes):
        alpha = result.provenance.inference.alpha
        words = f"{remarks.WIDEST}, none with evidence (p < {alpha:g})"
    yield line(Cell(words, Tone.MUTED))
    for note in notes:
        yield line(Cell("note", Tone.MUTED), Cell(f": {note.headline}", Tone.STRONG), indent=4)
        yield from _labelled([("sure", note.sure)])


def _tail(result: AuditResult, every: Sequence[Diagnostic], page: int) -> Iterator[Line]:
    """The passes in a line, what no limit looks at, notices, and where to look next."""
    about = [*map(line, remarks.beside_checks(result, every))]
    for notice in result.notices[:_MOST_NOTICES]:
        text = line(Cell("notice", Tone.WARN), f": {names.line(notice)}", indent=4)
        first, *others = wrapped([text], page)
        about.append(first)
        if len(others) > 1:  # a sign where there are more than two lines
            second = "".join(cell.text for cell in others[0].cells)
            others = [line(f"{second[: second.rstrip().rfind(' ')]} …")]
        about += others
    if (more := len(result.notices) - _MOST_NOTICES) > 0:
        about.append(line(Cell(f"{numbers.counted(more, 'more notice')}: --full", Tone.MUTED)))
    if about:
        yield from wrapped(about, page)
        yield BLANK
    yield from wrapped(list(_next(result, every, page)), page)


def _next(result: AuditResult, every: Sequence[Diagnostic], page: int) -> Iterator[Line]:
    """Commands that show more."""
    spec = name_spec(result.provenance)
    commands = [(f"fairaudit run {spec} --full", "the whole report")]
    if every:
        commands[0] = (f"{commands[0][0]} -o r.json", "the whole report")
        commands.append(("fairaudit show r.json 1", "the first check, with its formula"))
    known = next((item.code for item in every if find_metric(item.code) is not None), None)
    if known:
        commands.append((f"fairaudit explain {known}", "what it measures"))
    room = max(names.width(command) for command, _ in commands) + 2
    fits = 6 + room + max(names.width(words) for _, words in commands) <= page
    for index, (command, words) in enumerate(commands):
        label = "next: " if not index else "      "
        blanks = " " * (room - names.width(command))
        about = [Cell(blanks + words, Tone.MUTED)] if fits else []
        yield line(Cell(label, Tone.MUTED), command, *about, indent=6)
