"""Page: coordinates of pictures for the templates (axes, ticks, dots, boxes), and colours.

Every coordinate is a percentage of the picture. The browser lays out the texts, so no function
here needs pixels or the width of a text.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from fairaudit.base.frozen import Frozen
from fairaudit.report.pictures import Interval, Intervals, Line, Lines, Rule

COLOURS = {
    "ink": ("#1b1f24", "#e8eaed"),
    "muted": ("#57606a", "#a3acb8"),
    "page": ("#f6f7f9", "#101418"),
    "card": ("#ffffff", "#181d23"),
    "line": ("#d8dde3", "#343c46"),
    "grid": ("#e7eaee", "#29303a"),
    "accent": ("#0a62a9", "#6cb6f5"),
    "aside": ("#7b8591", "#8b96a3"),
    "reference": ("#3f4750", "#c4ccd5"),
    "good": ("#1a6b35", "#7bd396"),
    "good-back": ("#e3f4e8", "#12301d"),
    "warn": ("#8a4b00", "#f2b65c"),
    "warn-back": ("#fdf0dc", "#362509"),
    "bad": ("#b3261e", "#ff8f85"),
    "bad-back": ("#fde8e6", "#3d1512"),
    # The colours of Okabe & Ito; those that would be pale on white are darker.
    "series-0": ("#0072b2", "#56b4e9"),
    "series-1": ("#d55e00", "#ff8f3c"),
    "series-2": ("#008a66", "#2fd0a0"),
    "series-3": ("#b85f93", "#e79fc6"),
    "series-4": ("#9a6c00", "#f0c000"),
    "series-5": ("#3b3f46", "#d5d9de"),
    "series-6": ("#5a4fcf", "#aaa2ff"),
    "series-7": ("#7a4a21", "#d2a679"),
    "shade-0": ("#eef4fb", "#1b2836"),
    "shade-1": ("#c9dff2", "#1f4264"),
    "shade-2": ("#92c0e4", "#2a6399"),
    "shade-3": ("#3f87c4", "#5fa4da"),
    "shade-4": ("#0b4a80", "#bfe0fb"),
    "shade-none": ("#f3f3f4", "#23272d"),
    "on-shade-0": ("#1b1f25", "#e8eaee"),
    "on-shade-1": ("#1b1f26", "#e8eaef"),
    "on-shade-2": ("#1b1f27", "#f4f6f8"),
    "on-shade-3": ("#0b0d10", "#0b0d11"),
    "on-shade-4": ("#fefefe", "#0b0d12"),
    "on-shade-none": ("#1b1f28", "#e8eaec"),
}
"""Colours of pages and pictures, each in a light and a dark scheme.

Pictures are drawn in the light colours. A page replaces each light colour by a variable with its
name, which follows the scheme of the reader. So two names must not have the same light colour.
"""

SERIES = 8
"""The number of lines that colour, dashes and shape can distinguish."""
SHADES = 5

_STEPS = (1, 2, 2.5, 5, 10)
_LARGE = 1000
"""Ticks from this number on are whole numbers."""
_BESIDE = 34
"""The number of letters that fit below an axis, for all names together."""
SHAPES = (
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z", "M-3.5-3.5h7v7h-7Z", "M0-4.5L4.5 3.5H-4.5Z",
    "M0-5.5L5 0 0 5.5-5 0Z", "M-1.5-4.5h3v3h3v3h-3v3h-3v-3h-3v-3h3Z", "M0 4.5L4.5-3.5H-4.5Z",
    "M4.5 0L-3.5 4.5V-4.5Z", "M-4.5 0L3.5 4.5V-4.5Z",
)  # fmt: skip
"""The shapes that mark points, one for each series; the reference has the fourth."""
RULES = {"fail": ("bad", "7 3"), "warn": ("warn", "8 3 2 3"), "": ("reference", "2 3")}
"""Colour and dashes of a line across rows, by the effect of its limit."""


class Scale(Frozen):
    """An axis from `low` to `high`, which gives the place of values in per cent."""

    low: float
    high: float
    percent: bool = False

    def at(self, value: float) -> float:
        """The distance of a value from the low end; values outside are at the nearer end."""
        share = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(share, 0.0), 1.0), 2)

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most this many round values within the axis, each with its position and its text."""
        rough = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next((step * power for step in _STEPS if step * power >= rough), 10 * power)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        ticks = []
        for value in (index * step for index in range(first, last + 1)):
            text = f"{value:,.0f}" if abs(value) >= _LARGE else f"{value:.4g}"
            ticks.append((self.at(value), f"{100 * value:,.4g} %" if self.percent else text))
        return ticks


class Panel(Frozen):
    """Rows under one heading, and the lines across them: references first, then limits."""

    name: str
    rows: Sequence[Interval]
    rules: Sequence[Rule]


def panels(picture: Intervals) -> list[Panel]:
    """The rows of a picture by their headings."""
    ordered = sorted(picture.rules, key=lambda rule: (rule.limit != "", rule.value))
    return [
        Panel(name, list(rows), [rule for rule in ordered if rule.panel == name])
        for name, rows in groupby(picture.rows, key=lambda row: row.panel)
    ]


def row_scale(picture: Intervals) -> Scale:
    """The axis of rows."""
    ends = [end for row in picture.rows for end in (row.value, row.low, row.high)]
    return _around([*ends, *(rule.value for rule in picture.rules)], percent=picture.percent)


def line_scale(picture: Lines) -> Scale:
    """The upright axis of lines."""
    if picture.domain or picture.diagonal:
        return Scale(*(picture.domain or (-0.02, 1.02)), picture.percent)
    points = [point for line in picture.lines for point in line.points]
    ends = [end for point in points for end in (point.low, point.y, point.high)]
    return _around([*ends, *(rule.value for rule in picture.limits)], percent=picture.percent)


def flat_scale(picture: Lines) -> Scale:
    """The axis below lines, with names at whole numbers."""
    if picture.diagonal:
        return Scale(-0.02, 1.02, picture.percent_across)
    if names := axis_names(picture):
        return Scale(-0.5, len(names) - 0.5)
    places = [point.x for line in picture.lines for point in line.points]
    known = [place for place in places if not isinstance(place, str)]
    return _around(known, percent=picture.percent_across)


def axis_names(picture: Lines) -> list[str]:
    """The names on the axis below lines; empty if the axis has numbers."""
    points = [point for line in picture.lines for point in line.points]
    return list(dict.fromkeys(point.x for point in points if isinstance(point.x, str)))


def is_slanted(picture: Lines) -> bool:
    """Whether names side by side would overlap."""
    return sum(len(name) + 2 for name in axis_names(picture)) > _BESIDE


class Dot(Frozen):
    """A point in per cent from the left and the top; its interval begins at its high end."""

    x: float
    y: float
    whisker: tuple[float, float] | None


def dots(picture: Lines, line: Line) -> list[Dot]:
    """The points of a line whose values are numbers."""
    return [dot for stroke in strokes(picture, line) for dot in stroke]


def strokes(picture: Lines, line: Line) -> list[list[Dot]]:
    """The points of each unbroken part of a line; a point without a number breaks the line."""
    flat, upright, names = flat_scale(picture), line_scale(picture), axis_names(picture)
    drawn: list[list[Dot]] = [[]]
    for point in line.points:
        x = float(names.index(point.x)) if isinstance(point.x, str) else point.x
        if not (math.isfinite(x) and math.isfinite(point.y)):
            drawn.append([])
            continue
        whisker = None
        if point.low is not None and point.high is not None and point.low < point.high:
            whisker = (100 - upright.at(point.high), 100 - upright.at(point.low))
        drawn[-1].append(Dot(flat.at(x), round(100 - upright.at(point.y), 2), whisker))
    return [stroke for stroke in drawn if stroke]


def shape(look: str) -> str:
    """The mark of a style of lines."""
    return SHAPES[int(look.rpartition("-")[2]) if "-" in look else 0]


def legend(picture: Lines) -> list[tuple[str, Line]]:
    """The lines with their looks, the line with the highest end first."""

    def end(look_and_line: tuple[str, Line]) -> float:
        points = reversed(look_and_line[1].points)
        return next(filter(math.isfinite, (point.y for point in points)), -math.inf)

    return sorted(zip(looks(picture), picture.lines, strict=True), key=end, reverse=True)


def looks(picture: Lines) -> Iterator[str]:
    """The style of each line: by its number, or `strong`."""
    series = (f"series-{index % SERIES}" for index in range(len(picture.lines)))
    yield from ("strong" if line.strong else next(series) for line in picture.lines)


def shade(value: float | None) -> str:
    """The name of the colour for a value from 0 to 1."""
    return "none" if value is None else str(min(int(value * SHADES), SHADES - 1))


def _around(ends: Sequence[float | None], *, percent: bool) -> Scale:
    """An axis that contains all of the values, with a little room at its ends."""
    known = [end for end in ends if end is not None and math.isfinite(end)] or [0.0, 1.0]
    low, high = min(known), max(known)
    room = (high - low) * 0.06 or abs(high) * 0.1 or 1.0
    return Scale(low - room, high + room, percent)
