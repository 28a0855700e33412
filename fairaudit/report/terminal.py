"""Format `terminal`: page widths, tables on narrow pages, colours; the first screen.

The first screen has at most 54 lines. Each check over its limit has a diagnostic, like an error
of a compiler. The most urgent one is complete; the others are shorter if there is not enough room.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import IO

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from fairaudit.base import names
from fairaudit.metrics import find_metric
from fairaudit.report import (
    checks,
    diagnostics,
    finding_facts,
    headlines,
    numbers,
    rates,
    remarks,
    summary,
    text_layout,
)
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.diagnostics import Diagnostic, Level
from fairaudit.report.provenance import name_spec
from fairaudit.report.text_layout import (
    BLANK,
    GLUE,
    Line,
    glued,
    line,
    padded,
    side_by_side,
    spelled,
    wrapped,
)
from fairaudit.result import Answer, AuditResult

_STYLES = {
    Tone.PLAIN: "",
    Tone.GOOD: "bold green",
    Tone.WARN: "bold yellow",
    Tone.BAD: "bold red",
    Tone.MUTED: "dim",
    Tone.STRONG: "bold",
}
_TEXT_WIDTH = 100
_NARROWEST = 20
_WORD = 10
"""Words longer than this may be cut on narrow pages."""
_BETWEEN = 2
"""The number of blanks between two columns of a table."""
_UNBOUND = 200
"""The width of a page in a file or a pipe, so that tables are not cropped to 80 columns."""


def print_answers(answers: Sequence[Answer], stream: IO[str], *, color: bool | None = None) -> None:
    """Prints the first screen of one answer, or the summary of several answers."""
    result = answers[0].result
    if len(answers) > 1 or not isinstance(result, AuditResult):
        print_document(summary.report(answers), stream, color=color)
        return
    console = _console(stream, color)
    _write(draw(result, console.width, answers[0].data), console, stream)


def print_document(document: Document, stream: IO[str], *, color: bool | None = None) -> None:
    """Prints a document in the width of the stream; by default in colours if it supports them."""
    _write(document, _console(stream, color), stream)


def _console(stream: IO[str], color: bool | None) -> Console:  # noqa: FBT001  # as of the command
    make_console = partial(
        Console,
        file=stream,
        highlight=False,
        force_terminal=color or None,
        no_color=None if color is None else not color,
        color_system={None: "auto", True: "standard", False: None}[color],
    )
    console = make_console()
    columns = os.environ.get("COLUMNS", "")
    if console.width < _NARROWEST or not (stream.isatty() or columns.isdigit()):
        return make_console(width=_UNBOUND)
    return console


def _write(content: Document | Sequence[Line], console: Console, stream: IO[str]) -> None:
    """Writes content to a stream: with the console, or as plain text without colours."""
    if console.is_terminal:
        with console.capture() as captured:
            _print(content, console, console.encoding)
        stream.write(captured.get().replace(GLUE, " "))
    else:
        stream.write(_as_text(content, console.width, console.encoding))


def render_answers(answers: Sequence[Answer], *, all_rows: bool = False) -> str:
    """The report of answers as plain text, as it is written to a file."""
    return render(summary.report(answers, all_rows=all_rows))


def render(document: Document) -> str:
    """The document as plain text, as it is written to a file."""
    return _as_text(document, _UNBOUND, "utf-8")


def _as_text(content: Document | Sequence[Line], width: int, encoding: str) -> str:
    """The printed content as plain text, without blanks at the ends of lines."""
    page = io.StringIO()
    console = Console(file=page, highlight=False, width=width, color_system=None)
    _print(content, console, encoding)
    text = page.getvalue().replace(GLUE, " ")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _print(content: Document | Sequence[Line], console: Console, encoding: str) -> None:
    """Prints blocks in the width of the page, and lines in their own width."""
    plain = not encoding.lower().startswith("utf")
    before: Block | None = None
    for block in content:
        if isinstance(block, Line):
            text = Text()
            for cell in block.cells:
                text.append(spelled(cell.text) if plain else cell.text, style=_STYLES[cell.tone])
            console.print(text, soft_wrap=True)
        elif not isinstance(block, Figure):
            is_framed = isinstance(block, Table) and not isinstance(before, Heading | None)
            if isinstance(block, Heading) or isinstance(before, Table) or is_framed:
                console.print()  # an empty line before a heading, and around a table
            console.print(_rendered(block, console.width, plain=plain))
            before = block


def _rendered(
    block: Heading | Paragraph | Facts | Entries | Table, page: int, *, plain: bool
) -> RenderableType:
    width = min(page, _TEXT_WIDTH)

    def text(words: str, tone: Tone = Tone.PLAIN) -> Text:
        words = glued(words)
        return Text(spelled(words) if plain else words, style=_STYLES[tone])

    match block:
        case Heading():
            return text(block.text, Tone.STRONG)
        case Paragraph():
            wrapped = RichTable.grid()
            wrapped.add_column(max_width=width)
            wrapped.add_row(text(block.text, block.tone))
            return wrapped
        case Facts():
            return _grid(
                [(text(name), text(words)) for name, words in block.pairs], width, width // 4
            )
        case Entries():
            entries = [(text(cell.text, cell.tone), text(words)) for cell, words in block.rows]
            return _grid(entries, width, width // 5)
        case Table():
            rows = _table(block, text, page, plain=plain)
            # The title is a separate text, because rich breaks titles at the width of the table.
            above, below = ([text(words)] if words else [] for words in (block.caption, block.more))
            return Group(*above, *rows, *below)


def _grid(rows: list[tuple[Text, Text]], width: int, most: int) -> RenderableType:
    """Labels and texts in two columns; labels have at most `most` characters per line."""
    grid = RichTable.grid(padding=(0, 2))
    first = min(max((row[0].cell_len for row in rows), default=0), most)
    grid.add_column(width=first, overflow="fold")
    grid.add_column(max_width=width - first - 2, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _table(
    block: Table, text: Callable[..., Text], page: int, *, plain: bool
) -> list[RenderableType]:
    """The table; if the page is too narrow for it, each row is a sentence."""
    if _least(block) > page:
        sentences: list[RenderableType] = []
        for who, *values in block.rows:
            fields = [
                f"{head}{GLUE}{cell.text}".strip(GLUE)
                for head, cell in zip(block.header[1:], values, strict=True)
                if cell.text
            ]
            sentence = f"{' '.join(who.text.split())}: {'; '.join(fields)}".removeprefix(": ")
            sentences.append(text(sentence, who.tone))
        return sentences
    table = RichTable(
        box=box.ASCII if plain else box.SIMPLE_HEAD,
        show_edge=plain,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    # The first column has the width that the columns of numbers leave free.
    room = page // 5 if block.slim else page
    if not block.slim and all(block.numeric[1:]):
        others = [max(map(cell_len, column)) for column in zip(*_texts(block, 1), strict=True)]
        room = max(page - sum(others) - _BETWEEN * len(others), _NARROWEST // 2)
    for index, (name, numeric) in enumerate(zip(block.header, block.numeric, strict=True)):
        justify = "right" if numeric else "left"
        most = page // 5 if block.slim and not index else None
        # Numbers are never broken over lines, so columns of names become narrower.
        table.add_column(
            text(name),
            justify=justify,  # type: ignore[arg-type]
            overflow="fold",
            no_wrap=numeric,
            max_width=most,
        )
    for row in block.rows:
        cells = [text(cell.text, cell.tone) for cell in row]
        if cells and cells[0].cell_len > room:
            # The name of a group may take several lines; it breaks between levels if possible.
            lines: list[str] = []
            for level in re.split(r"(?<=×) ", row[0].text):
                if lines and cell_len(f"{lines[-1]} {level}") <= room:
                    lines[-1] += f" {level}"
                else:
                    lines.append(level)
            cells[0] = text("\n".join(lines), row[0].tone)
        table.add_row(*cells)
    return [table]


def _least(block: Table) -> int:
    """The smallest width of a table in which no number and no short word is cut."""
    width = 0
    for column, is_numeric in zip(zip(*_texts(block), strict=True), block.numeric, strict=True):
        if is_numeric:
            width += max(map(cell_len, column))
        else:
            words = (word for text in column for word in text.split())
            width += min(max(map(cell_len, words), default=0), _WORD)
    return width + _BETWEEN * (len(block.header) - 1)


def _texts(block: Table, start: int = 0) -> list[Sequence[str]]:
    """The header and the rows of a table as texts, from the column `start` on."""
    return [block.header[start:], *([cell.text for cell in row[start:]] for row in block.rows)]


MOST_LINES = 54
_WIDEST = 100
_LABEL = 7
MOST_HEADLINES = 12


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
    least = remarks.count_first_notices(result)
    steps = [*remarks.steps(result, every)]
    tail = list(_tail(result, every, page, steps, least))
    room = MOST_LINES - len(head) - len(tail)
    middle = list(_diagnostics(every, room, page) if every else _unjudged(result, room, page))
    while middle and not middle[-1].cells:
        middle.pop()
    room = MOST_LINES - len(head) - len(middle) - 1
    # The remaining lines are for notices, because every notice may limit the verdict.
    for most in range(least + 1, len(result.notices) + 1):
        longer = list(_tail(result, every, page, steps, most))
        if len(longer) > room:
            break
        tail = longer
    return [*head, *middle, BLANK, *tail]


def _diagnostics(every: Sequence[Diagnostic], room: int, page: int) -> Iterator[Line]:
    """As many diagnostics as fit; the most urgent one is complete."""
    shown = [diagnostic for diagnostic in every if diagnostic.level is not Level.PASS]
    if not shown:
        shown = sorted(every, key=remarks.distance)
        if len(shown) > 1:
            yield line(Cell("checks, the closest to its limit first", Tone.MUTED))
            room -= 1
    listed = shown[:MOST_HEADLINES]
    # The parts of a diagnostic: its headline, its place, each label, a picture. Only the first
    # diagnostic has the line of the spec and the picture.
    every_part = []
    for index, diagnostic in enumerate(listed):
        is_first = not index and diagnostic.level is not Level.PASS
        code = Cell(f"{diagnostic.level}[{diagnostic.code}]", diagnostics.TONES[diagnostic.level])
        parts = [
            [line(code, Cell(f": {diagnostic.headline}", Tone.STRONG), indent=4)],
            [*_place(diagnostic, page, with_source=is_first)],
        ]
        labelled = diagnostics.by_label(diagnostic.lines)
        # After the first diagnostic, the meaning of the measure comes last.
        labelled.sort(key=lambda part: part[0] == "means" and not is_first)
        for label, texts in labelled:
            # The formula of the value is only printed together with its two rates.
            own = [*_labelled((label, texts))]
            parts = [*parts[:-1], [*parts[-1], *own]] if label == "value" else [*parts, own]
        if is_first and diagnostic.picture is not None:
            picture = text_layout.draw(diagnostic.picture, page)
            parts.append([BLANK, *picture] if picture else [])
        every_part.append([wrapped(part, page) for part in parts])
    left = room - 1 - sum(len(head) for head, *_ in every_part) - bool(shown[len(listed) :])
    printed = 0
    for head, *parts in every_part:
        yield from head
        printed = 0
        for part in parts:
            if printed + len(part) >= left:
                break
            yield from part
            printed += len(part)
        if printed:  # a headline without other lines needs no room
            yield BLANK
            left -= printed + 1
    if left_out := shown[len(listed) :]:
        yield line(Cell(f"and {numbers.counted(len(left_out), 'more check')}: --full", Tone.MUTED))
    if not printed:
        yield BLANK


def _place(diagnostic: Diagnostic, page: int, *, with_source: bool = True) -> Iterator[Line]:
    """The place of the limit and the value: below the line of the spec, or next to the limit."""
    if not diagnostic.place:
        return
    source = diagnostic.source if with_source else None
    gutter = "  " if source is None else " " * len(str(source.number))
    value = f" {diagnostic.value}" if diagnostic.value else ""
    beside = f" {value} ({diagnostic.limit})" if value and source is None else ""
    told = headlines.limit_words(diagnostic.finding, diagnostic.finding.limit)
    if source is not None and told != str(diagnostic.finding.limit):
        beside = f"  limit: {told.partition(', if ')[0]}"  # without the explanation after `, if `
    yield line(
        Cell(f"{gutter}--> ", Tone.MUTED), diagnostic.place, Cell(beside, Tone.MUTED), indent=6
    )
    if source is None:
        return
    room = page - len(gutter) - 3
    before, after = source.before, source.after
    limit = source.limit[: max(room - len(value) - 8, 8)]
    words = min(names.width(after.partition("}")[0]) + 3, room - names.width(limit) - 20)
    most = room - names.width(limit) - max(names.width(value), words)
    if names.width(before) > most:
        before = "… " + before[len(before) - max(most - 2, 0) :].lstrip()
    left = room - names.width(before) - names.width(limit)
    if names.width(after) > left:
        after = after[: max(left - 2, 0)] + " …"
    yield line(Cell(f"{source.number} | ", Tone.MUTED), before, Cell(limit, Tone.STRONG), after)
    carets = "^" * names.width(limit)
    tone = diagnostics.TONES[diagnostic.level]
    blanks = " " * names.width(before)
    yield line(Cell(f"{gutter} | ", Tone.MUTED), blanks, Cell(f"{carets}{value}", tone))


def _labelled(labelled: tuple[str, str]) -> list[Line]:
    """The lines of a label; only the first line has the label."""
    label, texts = labelled
    signs = [f"   = {label}:", *[""] * texts.count("\n")]
    return [
        line(Cell(f"{sign} ".ljust(_LABEL + 7), Tone.MUTED), text, indent=_LABEL + 7)
        for sign, text in zip(signs, texts.split("\n"), strict=True)
    ]


def _unjudged(result: AuditResult, room: int, page: int) -> Iterator[Line]:
    """For a spec without limits: the tables of its entries, then the widest gaps."""
    gaps = remarks.widest(result)
    tables = []
    for table in rates.answers(result, FEW_ROWS):
        lines = [line(Cell(table.caption, Tone.STRONG), indent=2)]
        rows = [[Cell(text, Tone.MUTED) for text in table.header], *table.rows]
        sides = side_by_side([[cell.text for cell in row[1:]] for row in rows])
        first = max(names.width(row[0].text) for row in rows)
        # Long names are printed on a line above their numbers.
        is_apart = first + 2 + max(map(names.width, sides)) > page
        for (name, *_), side in zip(rows, sides, strict=True):
            lines += [line(name)] if is_apart else []
            beside = "" if is_apart else padded(name.text, first)
            lines.append(line(Cell(f"{beside}  {side.rstrip()}", name.tone)))
        lines += [line(Cell(table.more, Tone.MUTED))] if table.more else []
        tables.append(wrapped([*lines, BLANK], page))
    if not tables:
        yield from wrapped(_notes(gaps, result), page)
        return
    # Some lines are reserved for the widest gap, unless no table would fit then.
    kept, ends = len(wrapped(_notes(gaps[:1], result), page)), [*accumulate(map(len, tables))]
    shown = sum(end + 2 + kept <= room for end in ends) or int(ends[0] + 2 <= room)
    left = room
    for lines in tables[:shown]:
        yield from lines
        left -= len(lines)
    if more := len(tables) - shown:
        text = f"{numbers.counted(more, 'more table')} with --full"
        yield from (line(Cell(text, Tone.MUTED)), BLANK)
        left -= 2
    versions = (wrapped(_notes(gaps[:most], result), page) for most in range(len(gaps), 0, -1))
    yield from next((lines for lines in versions if len(lines) <= left), [])


def _notes(notes: Sequence[remarks.WidestGap], result: AuditResult) -> Iterator[Line]:
    """The widest gaps, for a spec without limits."""
    words = f"{remarks.WIDEST}; gaps with evidence first" if notes else "no groups were compared"
    if notes and all(note.is_significant is False for note in notes):
        alpha = result.provenance.inference.alpha
        words = f"{remarks.WIDEST}; no gap with evidence (p < {alpha:g})"
    yield line(Cell(words, Tone.MUTED))
    for note in notes:
        yield line(Cell("note", Tone.MUTED), Cell(f": {note.headline}", Tone.STRONG), indent=4)
        yield from _labelled(("sure", note.sure))


def _tail(
    result: AuditResult, every: Sequence[Diagnostic], page: int, steps: Sequence[str], most: int
) -> Iterator[Line]:
    """Passed checks in a line, values without a limit, first notices, and further commands."""
    about = [*map(line, remarks.beside_checks(result, every))]
    for notice in result.notices[:most]:
        text = line(Cell("notice", Tone.WARN), f": {names.line(notice)}", indent=4)
        first, *others = wrapped([text], page)
        about.append(first)
        if len(others) > 1:  # a bullet if there are more than two lines
            second = "".join(cell.text for cell in others[0].cells).rstrip()
            # Cut the line after a part of a sentence, or else between words.
            end = max(second.rfind(sign, 10, page - 10) for sign in (", ", "; ", ". "))
            end = end if end > 0 else second.rfind(" ", 0, page - 10)
            others = [line(f"{second[:end]} … (--full)")]
        about += others
    if (more := len(result.notices) - most) > 0:
        about.append(line(Cell(f"{numbers.counted(more, 'more notice')}: --full", Tone.MUTED)))
    about += [line(Cell("to do", Tone.STRONG), f": {names.line(step)}", indent=4) for step in steps]
    if about:
        yield from wrapped(about, page)
        yield BLANK
    spec = name_spec(result.provenance)
    commands = [f"fairaudit run {spec} --full"]
    if every:
        commands = [f"{commands[0]} -o r.json", "fairaudit show r.json 1"]
    known = next((item.code for item in every if find_metric(item.code) is not None), None)
    commands += [f"fairaudit explain {known}"] if known else []
    for command, label in zip(commands, ("next: ", *[" " * 6] * 2), strict=False):
        yield from wrapped([line(Cell(label, Tone.MUTED), command, indent=6)], page)
