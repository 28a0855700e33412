"""What all pictures are made of: data under fixed names, texts, axes, and their sizes."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import altair as alt

from fairaudit.names import printable
from fairaudit.report.palette import light

FONT = "Liberation Sans"
"""A font that comes with vl-convert; a page shows its own in its place."""
SIZE = 13
"""Of all texts, in pixels."""
_PER_CENT = "format(100 * datum.value, ',.4~g') + ' %'"
_PLAIN = "abs(datum.value) < 1e3 ? format(datum.value, '.4~g') : format(datum.value, ',.0f')"

Rows = Sequence[Mapping[str, Any]]
Align = Literal["left", "center", "right"]
Across: TypeAlias = alt.X | alt.XValue
Down: TypeAlias = alt.Y | alt.YValue


@dataclass(frozen=True, slots=True)
class Layers:
    """What is drawn over each other, the size of the inner part, and the room around it."""

    layers: Sequence[alt.Chart]
    width: float
    height: float
    left: float
    right: float
    top: float = 8
    bottom: float = 44

    @property
    def padding(self) -> dict[str, float]:
        """The room around, as Vega-Lite names it."""
        return {"left": self.left, "right": self.right, "top": self.top, "bottom": self.bottom}


def chart(rows: Rows) -> alt.Chart:
    """A layer of its own data."""
    # A tuple: Altair copies lists, rows and all, at every step of a chart.
    return alt.Chart(alt.InlineData(values=tuple(dict(row) for row in rows)))


def text(
    rows: Rows,
    x: Across,
    y: Down,
    *,
    align: Align = "left",
    colour: str = "ink",
    bold: bool = False,
    limit: float = 400,
    angle: float = 0,
) -> alt.Chart:
    """The texts `t` of rows, each at its place."""
    weight: Literal["bold", "normal"] = "bold" if bold else "normal"
    marks = chart(rows).mark_text(
        align=align,
        baseline="middle",
        fontSize=SIZE,
        fontWeight=weight,
        color=light(colour),
        limit=limit,
        angle=angle,
    )
    return encoded(marks, x, y, alt.Text("t", type="nominal"))


def across(pixels: float) -> alt.XValue:
    """A place so many pixels from the left."""
    return alt.XValue(pixels)  # type: ignore[no-untyped-call]


def down(pixels: float) -> alt.YValue:
    """A place so many pixels from the top."""
    return alt.YValue(pixels)  # type: ignore[no-untyped-call]


def encoded(marks: alt.Chart, *channels: alt.SchemaBase) -> alt.Chart:
    """The marks with what they show."""
    return marks.encode(*channels)


def axis(
    title: str, *, percent: bool, ticks: int = 5, grid: bool = True, room: int = 60
) -> alt.Axis:
    """An axis of numbers, in per cent or plain, with a title of so many signs at most."""
    return alt.Axis(
        title=shortened(title, room),
        titleFontSize=SIZE,
        titleFontWeight="normal",
        titleColor=light("muted"),
        labelExpr=_PER_CENT if percent else _PLAIN,
        labelFontSize=SIZE,
        labelColor=light("muted"),
        labelBound=False,
        labelFlush=False,
        labelOverlap="greedy",
        labelSeparation=6,
        tickCount=ticks,
        ticks=False,
        labelPadding=6,
        titlePadding=6,
        grid=grid,
        gridColor=light("grid"),
        domain=False,
        translate=0,
    )


def in_pixels(size: float) -> alt.Scale:
    """A scale whose numbers are pixels from the left, or from the top."""
    return alt.Scale(domain=[0, size], nice=False, zero=False)


def pixels_down(size: float) -> alt.Scale:
    """The same from the top."""
    return alt.Scale(domain=[0, size], nice=False, zero=False, reverse=True)


def shortened(words: str, most: int) -> str:
    """The words with at most so many columns; what is left out is an ellipsis, the end stays."""
    words = printable(" ".join(words.split()) or repr(words))
    if columns(words) <= most:
        return words
    end = words[-(most // 4) :]
    kept, room = "", most - 1 - columns(end)
    for sign in words:
        room -= columns(sign)
        if room < 0:
            break
        kept += sign
    return f"{kept}…{end}"


def columns(words: str) -> int:
    """How many columns words take: some signs take two."""
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in words)


def spread(places: Sequence[float], gap: float, end: float) -> list[float]:
    """Places from 0 to `end` moved apart as little as it takes to leave a gap between any two."""
    order = sorted(range(len(places)), key=lambda index: (places[index], index))
    moved = list(places)
    lowest = 0.0
    for index in order:
        moved[index] = max(moved[index], lowest)
        lowest = moved[index] + gap
    highest = max(end, gap * (len(places) - 1))
    for index in reversed(order):
        moved[index] = min(moved[index], highest)
        highest = moved[index] - gap
    return moved


def nice(low: float, high: float) -> tuple[float, float]:
    """A part of an axis that holds both ends with some room."""
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return low - room, high + room
