"""Terminal text: line breaks, padding, columns, ASCII instead of signs; pictures in characters."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from fairaudit.base.frozen import Frozen
from fairaudit.base.names import printable, width
from fairaudit.report import numbers
from fairaudit.report.blocks import Cell, Tone
from fairaudit.report.pictures import Interval, Intervals, Mark, both_ends

GLUE = "\ue000"
"""Stands for a blank at which no line breaks; it becomes a blank after lines are broken."""
_TOGETHER = re.compile(
    r" (?=%|×|/ )|(?<=%) (?=\(\d)|(?<=\bp) (?=[=<>])|(?<=\bn) (?==)|(?<=[=<>±]) (?=[-+.\d∞])"
    r"|(?<=\[)(?:[-+]?[\d.e∞-]+), (?=[-+]?[\d.e∞-]+\])"
)
"""Blanks in phrases that stay on one line: `37.2 % (497/1,337)`, `p < .0001`, `[0.54, 0.70]`."""
_ASCII = str.maketrans(
    {"×": "x", "ε": "eps", "∞": "inf", "–": "-", "·": "*", "Δ": "delta ", "−": "-", "…": "...",
     "‹": "<", "●": "O", "○": "o", "─": "-", "│": "|", "┊": ":", "┼": "+"}
)  # fmt: skip


class Line(Frozen):
    """A line of cells side by side; if it is too long, it continues below with an `indent`."""

    cells: Sequence[Cell]
    indent: int = 0


BLANK = Line(())


def line(*cells: Cell | str, indent: int = 0) -> Line:
    """A line of texts, each in its tone."""
    return Line(tuple(Cell(cell) if isinstance(cell, str) else cell for cell in cells), indent)


def glued(words: str) -> str:
    """A text with `GLUE` in its numbers, so that no line breaks within them."""
    words = printable(words, but=f"\n{GLUE}")
    return _TOGETHER.sub(lambda match: match[0].replace(" ", GLUE), words)


def spelled(words: str) -> str:
    """The words with ASCII in place of characters that an ASCII stream cannot print."""
    parts = words.translate(_ASCII).split(GLUE)
    return GLUE.join(part.encode("ascii", "replace").decode() for part in parts)


def padded(text: str, room: int) -> str:
    """A text padded with blanks to this number of columns."""
    return text + " " * (room - width(text))


def side_by_side(rows: Sequence[Sequence[str]]) -> list[str]:
    """A line for each row of texts, in columns aligned to the right and two blanks apart."""
    rooms = [max(map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(" " * (room - width(text)) + text for text, room in zip(row, rooms, strict=True))
        for row in rows
    ]


def wrapped(lines: Iterable[Line], page: int) -> list[Line]:
    """The lines; lines wider than the page are broken between words, or within a wide word."""
    broken = []
    for one in lines:
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
                    broken.append(_unglued(current, one.indent))
                    current, column = [Cell(" " * one.indent)], one.indent
                current.append(Cell(rest, cell.tone))
                column += width(rest)
        broken.append(_unglued(current, one.indent))
    return broken


def _unglued(cells: Sequence[Cell], indent: int) -> Line:
    """A line in which adjacent cells of one tone are one cell, with blanks instead of `GLUE`."""
    merged: list[Cell] = []
    for cell in cells:
        text = cell.text.replace(GLUE, " ")
        if merged and merged[-1].tone is cell.tone:
            merged[-1] = Cell(merged[-1].text + text, cell.tone)
        else:
            merged.append(Cell(text, cell.tone))
    return Line(tuple(merged), indent)


MOST_ROWS = 5
"""Maximum number of drawn groups; if there are more, the deciding pair and both ends are drawn."""
_WIDEST_LABEL = 34
"""A longer name is printed on a separate line, above its interval."""
_LEAST_STRIP = 20
_RULES = {"fail": ("│", "fails"), "warn": ("┊", "warns"), "": ("·", "reference")}
"""The characters of lines across rows, and their names."""


def draw(picture: Intervals, page: int, most: int = MOST_ROWS) -> list[Line]:
    """The picture on a page with `page` columns; empty if no value can be drawn."""
    known = [row for row in picture.rows if row.mark is not Mark.ASIDE and _ends(row)]
    if not known:
        return []
    rows = [known[place] for place in both_ends(known, most)]
    labels = [row.label for row in rows]
    is_stacked = max(map(width, labels)) > _WIDEST_LABEL
    label_room = 2 if is_stacked else max(map(width, labels))
    value_room = max(len(row.text) for row in rows)
    strip = min(page - label_room - value_room - 8, 60)
    if strip < _LEAST_STRIP:
        return []
    rules = [rule for rule in picture.rules if math.isfinite(rule.value)]
    ends = [end for row in rows for end in _ends(row)] + [rule.value for rule in rules]
    low, high = min(ends), max(ends)
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)

    def column(value: float) -> int:
        return round((value - low) / (high - low) * (strip - 1))

    head = 3 + label_room + 2 + value_room + 2
    places = {rule.label: head + column(rule.value) for rule in rules}
    lines = [_head(picture.axis, places, head + strip)]
    for row, label in zip(rows, labels, strict=True):
        tone = Tone.STRONG if row.strong else Tone.PLAIN
        if is_stacked:
            lines.append(line("   ", Cell(label, tone)))
            label = ""  # noqa: PLW2901  # it is printed above
        value = row.text.rjust(value_room)
        text = f"   {padded(label, label_room)}  {value}  "
        # An interval with its value, and the limits.
        drawn = [" "] * strip
        for rule in rules:
            drawn[column(rule.value)] = _RULES[rule.limit][0]
        own = _ends(row)
        for place in range(column(min(own)), column(max(own)) + 1):
            drawn[place] = "─" if drawn[place] == " " else "┼"
        drawn[column(row.value)] = "●" if row.strong else "○"
        lines.append(line(Cell(text, tone), Cell("".join(drawn).rstrip(), tone)))
    omitted = len(known) - len(rows)
    texts = [f"{numbers.counted(omitted, 'more group')} not drawn"] if omitted else []
    # The legend of the picture.
    strong = [row.strong for row in rows]
    signs = (
        ("● compared", any(strong)),
        ("○ others" if any(strong) else "○ value", not all(strong)),
        ("─ interval", any(len(_ends(row)) > 1 for row in rows)),
        *(
            (" ".join(sign) + (f" ({' or '.join(bounds)})" if bounds[0] else ""), True)
            for limit, sign in _RULES.items()
            if (bounds := [rule.bounds for rule in rules if rule.limit == limit])
        ),
    )
    texts.append(", ".join(dict.fromkeys(text for text, is_drawn in signs if is_drawn)))
    lines.append(line(Cell(f"   {'; '.join(texts)}", Tone.MUTED), indent=3))
    return lines


def _ends(row: Interval) -> list[float]:
    """The finite value of a row and its finite interval ends; empty without a finite value."""
    if not math.isfinite(row.value):
        return []
    return [end for end in (row.low, row.value, row.high) if end is not None and math.isfinite(end)]


def _head(title: str, places: Mapping[str, int], page: int) -> Line:
    """The name of the rate, and each limit above its line."""
    text = f"   {title}"
    canvas = list(text + " " * (page - width(text)))
    taken = [(0, len(text))]
    for label in sorted(places):  # `fail` before `warn`
        room = len(label) // 2
        for shift in sorted(range(-room, room + 1), key=abs):  # so the label stays above its line
            at = places[label] - room + shift
            end = at + len(label)
            if all(end < left or at > right for left, right in taken) and end <= len(canvas):
                canvas[at:end] = label
                taken.append((at, end))
                break
    return line(Cell("".join(canvas).rstrip(), Tone.MUTED))
