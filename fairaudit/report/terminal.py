"""Format `terminal` (entry point): page widths, tables on narrow pages, colours of statuses."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import IO, Protocol, TypeAlias

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as RichTable
from rich.text import Text

from fairaudit.report import first_screen, summary
from fairaudit.report.blocks import (
    Block,
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)
from fairaudit.report.text_layout import GLUE, Line, glued, side_by_side, spelled
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
"""Longer words than this may be cut, where the page is narrow."""
_BETWEEN = 2
"""The number of blanks between two columns of a table."""
_UNBOUND = 200
"""The width where no terminal sets one: nothing is cropped to 80 columns in a file or a pipe."""


_Content: TypeAlias = Document | Sequence[Line]


class _Writes(Protocol):
    """Makes a text of words, in characters that the stream has."""

    def __call__(self, words: str, tone: Tone = Tone.PLAIN) -> Text:
        """The text."""


def print_answers(answers: Sequence[Answer], stream: IO[str], *, color: bool | None = None) -> None:
    """Prints the first screen of an answer, of several their summary."""
    result = answers[0].result
    if len(answers) > 1 or not isinstance(result, AuditResult):
        print_document(summary.report(answers), stream, color=color)
        return
    console = _console(stream, color)
    _write(first_screen.draw(result, console.width, answers[0].data), console, stream)


def print_document(document: Document, stream: IO[str], *, color: bool | None = None) -> None:
    """Prints a document to a stream, as wide as the stream, and in colours if it supports them.

    `color` forces colours on or off.
    """
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


def _write(content: _Content, console: Console, stream: IO[str]) -> None:
    """Writes what is printed to a console, of one without colours as plain text."""
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


def _as_text(content: _Content, width: int, encoding: str) -> str:
    """The printed content as plain text, without blanks at the ends of lines."""
    page = io.StringIO()
    console = Console(file=page, highlight=False, width=width, color_system=None)
    _print(content, console, encoding)
    text = page.getvalue().replace(GLUE, " ")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def _print(content: _Content, console: Console, encoding: str) -> None:
    """Blocks as wide as the page, and lines that are as wide as they shall be."""
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
                console.print()  # before a heading, and around a table
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
            if _least(block) > page:
                rows = _stacked(block, text)
            elif _breaks_names(block, page):
                rows = _apart(block, text, plain=plain)
            else:
                rows = [_table(block, text, page, plain=plain)]
            # As wide as the page: a table's own title is as narrow as the table.
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


def _table(block: Table, text: _Writes, page: int, *, plain: bool) -> RenderableType:
    table = RichTable(
        box=box.ASCII if plain else box.SIMPLE_HEAD,
        show_edge=plain,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    room = _room(block, page)
    for index, (name, numeric) in enumerate(zip(block.header, block.numeric, strict=True)):
        justify = "right" if numeric else "left"
        most = page // 5 if block.slim and not index else None
        # A number is never broken: names give way.
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
            # A group over several lines, broken between its levels where that is possible.
            lines: list[str] = []
            for level in re.split(r"(?<=×) ", row[0].text):
                if lines and cell_len(f"{lines[-1]} {level}") <= room:
                    lines[-1] += f" {level}"
                else:
                    lines.append(level)
            cells[0] = text("\n".join(lines), row[0].tone)
        table.add_row(*cells)
    return table


def _least(block: Table) -> int:
    """How narrow a table may become before a number or a short word is cut."""
    width = 0
    for column, is_numeric in zip(zip(*_texts(block), strict=True), block.numeric, strict=True):
        if is_numeric:
            width += max(map(cell_len, column))
        else:
            words = (word for text in column for word in text.split())
            width += min(max(map(cell_len, words), default=0), _WORD)
    return width + _BETWEEN * (len(block.header) - 1)


def _stacked(block: Table, text: _Writes) -> list[RenderableType]:
    """A table on a page that is too narrow for it: each row becomes a sentence."""
    lines: list[RenderableType] = []
    for name, *values in block.rows:
        fields = [
            f"{head}{GLUE}{cell.text}".strip(GLUE)
            for head, cell in zip(block.header[1:], values, strict=True)
            if cell.text
        ]
        sentence = f"{' '.join(name.text.split())}: {'; '.join(fields)}".removeprefix(": ")
        lines.append(text(sentence, name.tone))
    return lines


def _breaks_names(block: Table, page: int) -> bool:
    """Whether the numbers leave so little room that a name would take more than two lines."""
    names = [cell_len(row[0].text) for row in block.rows]
    return (
        not block.slim and all(block.numeric[1:]) and max(names, default=0) > 2 * _room(block, page)
    )


def _apart(block: Table, text: _Writes, *, plain: bool) -> list[RenderableType]:
    """A table whose names are on separate lines, above their numbers."""
    header, *sides = (side.replace(" ", GLUE) for side in side_by_side(_texts(block, 1)))
    rule = ("-" if plain else "─") * len(header)
    lines: list[RenderableType] = [text(block.header[0]), text(header), text(rule)]
    for (name, *_), side in zip(block.rows, sides, strict=True):
        lines += [text(name.text, name.tone), text(side, name.tone)]
    return lines


def _texts(block: Table, start: int = 0) -> list[Sequence[str]]:
    """The header of a table and its rows as texts, from a column on."""
    return [block.header[start:], *([cell.text for cell in row[start:]] for row in block.rows)]


def _room(block: Table, page: int) -> int:
    """The width of the first column: the space that the numbers leave."""
    if block.slim:
        return page // 5
    if not all(block.numeric[1:]):
        return page
    others = [max(map(cell_len, column)) for column in zip(*_texts(block, 1), strict=True)]
    return max(page - sum(others) - _BETWEEN * len(others), _NARROWEST // 2)
