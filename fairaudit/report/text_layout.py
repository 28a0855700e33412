"""Terminal text: line breaks, padding, columns side by side, ASCII in place of signs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from fairaudit.base.frozen import Frozen
from fairaudit.base.names import printable, width
from fairaudit.report.blocks import Cell

GLUE = "\ue000"
"""A blank at which no line breaks; it becomes one when the lines are there."""
_TOGETHER = re.compile(
    r" (?=%|×|/ )|(?<=%) (?=\(\d)|(?<=\bp) (?=[=<>])|(?<=\bn) (?==)|(?<=[=<>±]) (?=[-+.\d∞])"
    r"|(?<=\[)(?:[-+]?[\d.e∞-]+), (?=[-+]?[\d.e∞-]+\])"
)
"""What a reader takes in at once: `37.2 % (497/1,337)`, `p < .0001`, `[0.54, 0.70]`."""
_ASCII = str.maketrans(
    {"×": "x", "ε": "eps", "∞": "inf", "–": "-", "·": "*", "Δ": "delta ", "−": "-", "…": "...",
     "‹": "<", "●": "O", "○": "o", "─": "-", "┊": ":"}
)  # fmt: skip


class Line(Frozen):
    """A line of cells side by side; what does not fit goes on below, `indent` columns in."""

    cells: Sequence[Cell]
    indent: int = 0


BLANK = Line(())


def line(*cells: Cell | str, indent: int = 0) -> Line:
    """A line of texts, each in its tone."""
    return Line(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells), indent)


def glued(words: str) -> str:
    """A text whose numbers hold together where a line breaks."""
    words = printable(words, but=f"\n{GLUE}")
    return _TOGETHER.sub(lambda match: match[0].replace(" ", GLUE), words)


def spelled(words: str) -> str:
    """The words without signs that a stream of ASCII cannot draw."""
    parts = words.translate(_ASCII).split(GLUE)
    return GLUE.join(part.encode("ascii", "replace").decode() for part in parts)


def padded(text: str, room: int) -> str:
    """A text with blanks up to so many columns."""
    return text + " " * (room - width(text))


def side_by_side(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row of texts, in columns aligned to the right and two blanks apart."""
    rooms = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(" " * (room - width(text)) + text for text, room in zip(row, rooms, strict=True))
        for row in rows
    ]


def wrapped(lines: Sequence[Line], page: int) -> list[Line]:
    """The lines, broken between words where they are wider than the page."""
    return [part for line in lines for part in _wrapped(line, page)]


def _wrapped(one: Line, page: int) -> Iterator[Line]:
    """One line, or as many as it takes; a word that is wider than the page is broken."""
    current: list[Cell] = []
    column = 0
    for cell in one.cells:
        for word in re.findall(r" *[^ ]+| +$", glued(cell.text)):
            rest = word
            while column + width(rest.rstrip()) > page:
                if column > one.indent:
                    rest = rest.lstrip()
                else:
                    room = max(page - column, 1)
                    current.append(Cell(rest[:room], cell.tone))
                    rest = rest[room:]
                yield _unglued(current, one.indent)
                current, column = [Cell(" " * one.indent)], one.indent
            current.append(Cell(rest, cell.tone))
            column += width(rest)
    yield _unglued(current, one.indent)


def _unglued(cells: Sequence[Cell], indent: int) -> Line:
    """The cells of one tone as one, with common blanks."""
    merged: list[Cell] = []
    for cell in cells:
        text = cell.text.replace(GLUE, " ")
        if merged and merged[-1].tone is cell.tone:
            merged[-1] = Cell(merged[-1].text + text, cell.tone)
        else:
            merged.append(Cell(text, cell.tone))
    return Line(tuple(merged), indent)
