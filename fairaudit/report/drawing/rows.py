"""Rows below each other under the headings of panels: values with intervals, or bars."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import altair as alt

from fairaudit.report.drawing.frame import (
    Align,
    Layers,
    across,
    axis,
    chart,
    columns,
    encoded,
    nice,
    pixels_down,
    shortened,
    text,
)
from fairaudit.report.palette import light
from fairaudit.report.pictures import Bars, Interval, Intervals, Mark, Rule

_WIDTH = 500
_PER_COLUMN = 6.9
"""About how wide a sign is: no text is measured."""
_NAMES, _VALUES = (80, 235), (70, 130)
"""The least and the most room for the names on the left, and for the values on the right."""
_ROW, _HEAD = 22, 32
_MARGIN = 0.2
"""In so much of the axis at either end the words at a limit stand inwards."""
_COLOURS = {Mark.ASIDE: "aside", Mark.GROUP: "accent", Mark.REFERENCE: "beside"}


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Rows in their places (pixels from the top), panels from head to end, and the scales."""

    rows: Sequence[tuple[float, Interval]]
    panels: Mapping[str, tuple[float, float]]
    x: alt.X
    y: alt.Y
    height: float
    left: float
    plot: float
    right: float


def layers(picture: Intervals | Bars) -> Layers:
    """The layers of rows, the first at the top."""
    domain = (0.0, _highest(picture.rows)) if isinstance(picture, Bars) else _domain(picture)
    sheet = _sheet(picture, domain)
    corner = chart([{"x": domain[0], "y": 0}]).mark_point(color=light("grid"), opacity=0)
    drawn = [encoded(corner, sheet.x, sheet.y)]  # the axis, where no row has a number, too
    if isinstance(picture, Intervals):
        drawn += [*_rules(picture.rules, sheet), *_limits(picture.rules, sheet, domain)]
        drawn += _intervals(sheet, domain)
    else:
        drawn += _bars(sheet)
    drawn += _texts(sheet)
    return Layers(drawn, sheet.plot, sheet.height, sheet.left, sheet.right)


def _sheet(picture: Intervals | Bars, domain: tuple[float, float]) -> _Sheet:
    placed: list[tuple[float, Interval]] = []
    panels: dict[str, tuple[float, float]] = {}
    top = 0.0
    for panel, run in groupby(picture.rows, key=lambda row: row.panel):
        start = top
        top += _HEAD if panel else 0
        for row in run:
            placed.append((top + _ROW / 2, row))
            top += _ROW
        panels[panel] = (start, top)
    left = _room([*panels, *(row.label for row in picture.rows)], _NAMES)
    right = _room([row.text for row in picture.rows], _VALUES)
    marks = axis(picture.axis, percent=picture.percent, ticks=4)
    return _Sheet(
        rows=placed,
        panels=panels,
        x=alt.X(
            "x",
            type="quantitative",
            scale=alt.Scale(domain=list(domain), nice=False, zero=False),
            axis=marks,
        ),
        y=alt.Y("y", type="quantitative", scale=pixels_down(top), axis=None),
        height=top,
        left=left,
        plot=_WIDTH - left - right,
        right=right,
    )


def _room(words: Sequence[str], ends: tuple[float, float]) -> float:
    """The pixels for the longest of some words, within both ends."""
    longest = max((columns(word) for word in words), default=0)
    return min(max(longest * _PER_COLUMN + 20, ends[0]), ends[1])


def _highest(rows: Sequence[Interval]) -> float:
    return max((row.value for row in rows if math.isfinite(row.value)), default=1) or 1


def _domain(picture: Intervals) -> tuple[float, float]:
    if picture.domain is not None:
        return picture.domain
    ends = [
        end
        for row in picture.rows
        for end in (row.value, row.low, row.high)
        if end is not None and math.isfinite(end)
    ]
    ends += [rule.value for rule in picture.rules]
    return nice(min(ends, default=0), max(ends, default=1))


def _rules(rules: Sequence[Rule], sheet: _Sheet) -> Iterator[alt.Chart]:
    """The lines across a panel: dotted ones at references, dashed ones at limits."""
    for is_limit, colour, dash in ((False, "beside", [2, 3]), (True, "limit", [6, 3])):
        rows = []
        for rule in rules:
            if rule.is_limit is is_limit and rule.panel in sheet.panels:
                start, end = sheet.panels[rule.panel]
                head = _HEAD - 6 if rule.panel else 0
                rows.append({"x": rule.value, "y": start + head, "y2": end})
        if rows:
            marks = chart(rows).mark_rule(color=light(colour), strokeDash=dash, strokeWidth=1.5)
            yield encoded(marks, sheet.x, sheet.y, alt.Y2("y2"))


def _limits(
    rules: Sequence[Rule], sheet: _Sheet, domain: tuple[float, float]
) -> Iterator[alt.Chart]:
    """The words at the head of each limit: those of neighbours stand on either side."""
    low, high = domain
    sides: dict[Align, list[dict[str, Any]]] = {"left": [], "right": [], "center": []}
    for panel, (start, _) in sheet.panels.items():
        limits = [rule for rule in rules if rule.is_limit and rule.panel == panel]
        for index, rule in enumerate(sorted(limits, key=lambda rule: rule.value)):
            is_last, place = index == len(limits) - 1, (rule.value - low) / (high - low)
            # Words that end at a line near the start of the axis would begin among the names.
            is_near = index == 0 and place * sheet.plot < columns(rule.label) * _PER_COLUMN
            side: Align = "left" if is_last or is_near else "right"
            if len(limits) == 1 and _MARGIN < place < 1 - _MARGIN:
                side = "center"
            elif place > 1 - _MARGIN:
                side = "right"
            sides[side].append({"x": rule.value, "y": start + _HEAD / 2, "t": rule.label})
    for align, rows in sides.items():
        if rows:
            yield text(rows, sheet.x, sheet.y, align=align, colour="limit", limit=130)


def _intervals(sheet: _Sheet, domain: tuple[float, float]) -> Iterator[alt.Chart]:
    low, high = domain
    for mark, colour in _COLOURS.items():
        shown = [(y, row) for y, row in sheet.rows if row.mark is mark and math.isfinite(row.value)]
        whiskers = [
            {"x": max(row.low, low), "x2": min(row.high, high), "y": y}
            for y, row in shown
            if row.low is not None and row.high is not None
        ]
        if whiskers:
            lines = chart(whiskers).mark_rule(color=light(colour), strokeWidth=2, opacity=0.55)
            yield encoded(lines, sheet.x, sheet.y, alt.X2("x2"))
        points = chart([{"x": row.value, "y": y} for y, row in shown]).mark_point(
            shape="diamond" if mark is Mark.REFERENCE else "circle",
            size=80 if mark is Mark.REFERENCE else 60,
            fill=light("card") if mark is Mark.ASIDE else light(colour),
            stroke=light(colour),
            strokeWidth=1.5,
            opacity=1,
        )
        if shown:
            yield encoded(points, sheet.x, sheet.y)


def _bars(sheet: _Sheet) -> Iterator[alt.Chart]:
    for mark, colour in _COLOURS.items():
        rows = [
            {"x": 0, "x2": row.value, "y": y - _ROW / 4, "y2": y + _ROW / 4}
            for y, row in sheet.rows
            if row.mark is mark and math.isfinite(row.value)
        ]
        if rows:
            marks = chart(rows).mark_rect(color=light(colour), opacity=1)
            yield encoded(marks, sheet.x, sheet.y, alt.X2("x2"), alt.Y2("y2"))


def _texts(sheet: _Sheet) -> Iterator[alt.Chart]:
    """The names on the left, what is written of each on the right, the panels above."""
    left, right = across(-10), across(sheet.plot + 10)
    most = int((sheet.left - 14) / _PER_COLUMN)
    for is_aside, colour in ((False, "ink"), (True, "muted")):
        shown = [(y, row) for y, row in sheet.rows if (row.mark is Mark.ASIDE) is is_aside]
        names = [{"y": y, "t": shortened(row.label, most)} for y, row in shown]
        values = [{"y": y, "t": shortened(row.text, 24)} for y, row in shown if row.text]
        if names:
            room = sheet.left - 12
            yield text(names, left, sheet.y, align="right", colour=colour, limit=room)
        if values:
            yield text(values, right, sheet.y, colour=colour, limit=sheet.right - 10)
    heads = [
        {"y": start + _HEAD / 2, "t": shortened(panel, most)}
        for panel, (start, _) in sheet.panels.items()
        if panel
    ]
    if heads:
        yield text(heads, left, sheet.y, align="right", bold=True, limit=sheet.left - 12)
