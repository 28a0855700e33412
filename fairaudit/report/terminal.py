"""The report in a terminal: rich prints the blocks; words carry what colours only repeat."""

from __future__ import annotations

import io
import os
from typing import IO

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from fairaudit.report.blocks import (
    Document,
    Entries,
    Facts,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
)

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
_UNBOUND = 200
"""The width where no terminal sets one: nothing is cropped to 80 columns in a file or a pipe."""

_ASCII = str.maketrans(
    {"×": "x", "ε": "eps", "∞": "inf", "–": "-", "·": "*", "Δ": "delta ", "|": "|", "−": "-"}
)  # fmt: skip


def print_document(document: Document, stream: IO[str]) -> None:
    """Prints a document to a stream, as wide and as colourful as the stream allows."""
    console = Console(file=stream, highlight=False)
    columns = os.environ.get("COLUMNS", "")
    if console.width < _NARROWEST or not (console.is_terminal or columns.isdigit()):
        console = Console(file=stream, highlight=False, width=_UNBOUND)
    if console.is_terminal:
        _print(document, console)
    else:
        stream.write(_as_text(document, console.width, console.encoding))


def render(document: Document) -> str:
    """The document as plain text, as it is written to a file."""
    return _as_text(document, _UNBOUND, "utf-8")


def _as_text(document: Document, width: int, encoding: str) -> str:
    """The document without colours, and without blanks at the ends of lines."""
    page = io.StringIO()
    _print(document, Console(file=page, highlight=False, width=width, color_system=None), encoding)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"


def _print(document: Document, console: Console, encoding: str | None = None) -> None:
    plain = not (encoding or console.encoding or "").lower().startswith("utf")
    for block in document:
        if not isinstance(block, Figure):
            console.print(_rendered(block, console.width, plain=plain))


def _rendered(
    block: Heading | Paragraph | Facts | Entries | Table, page: int, *, plain: bool
) -> RenderableType:
    width = min(page, _TEXT_WIDTH)

    def text(words: str, tone: Tone = Tone.PLAIN) -> Text:
        words = _printable(words)
        return Text(_spelled(words) if plain else words, style=_STYLES[tone])

    match block:
        case Heading():
            return Padding(text(block.text, Tone.STRONG), (1, 0, 0, 0))
        case Paragraph():
            wrapped = RichTable.grid()
            wrapped.add_column(max_width=width)
            wrapped.add_row(text(block.text, block.tone))
            return wrapped
        case Facts():
            return _grid([(text(name), text(words)) for name, words in block.pairs], width)
        case Entries():
            return _grid([(text(c.text, c.tone), text(words)) for c, words in block.rows], width)
        case Table():
            return _table(block, text, page, plain=plain)


def _grid(rows: list[tuple[Text, Text]], width: int) -> RenderableType:
    grid = RichTable.grid(padding=(0, 2))
    first = min(max((row[0].cell_len for row in rows), default=0), width // 3)
    grid.add_column(width=first, overflow="fold")
    grid.add_column(max_width=width - first - 2, overflow="fold")
    for row in rows:
        grid.add_row(*row)
    return grid


def _table(block: Table, text: object, page: int, *, plain: bool) -> RenderableType:
    assert callable(text)
    table = RichTable(
        title=text(block.caption) if block.caption else None,
        title_justify="left",
        caption=text(block.more) if block.more else None,
        caption_justify="left",
        box=box.ASCII if plain else box.SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    for at, (name, numeric) in enumerate(zip(block.header, block.numeric, strict=True)):
        justify = "right" if numeric else "left"
        most = page // 5 if block.slim and not at else None
        # A number is never broken: names give way.
        table.add_column(
            text(name),
            justify=justify,  # type: ignore[arg-type]
            overflow="fold",
            no_wrap=numeric,
            max_width=most,
        )
    for row in block.rows:
        table.add_row(*(text(cell.text, cell.tone) for cell in row))
    return Padding(table, (1, 0, 0, 0))


def _printable(words: str) -> str:
    """The words with control characters spelled out: a level's name must not steer a terminal."""
    return "".join(
        sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1] for sign in words
    )


def _spelled(words: str) -> str:
    """The words without signs that the stream cannot draw."""
    return words.translate(_ASCII).encode("ascii", "replace").decode()
