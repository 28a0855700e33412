"""Lines over a common axis, each named at its end, and slopes between two sides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import altair as alt

from fairaudit.report.drawing.frame import (
    Align,
    Layers,
    across,
    axis,
    chart,
    columns,
    down,
    encoded,
    nice,
    shortened,
    spread,
    text,
)
from fairaudit.report.palette import SERIES, light
from fairaudit.report.pictures import Line, Lines, Point, Slope, Slopes

_LEFT, _PLOT, _RIGHT, _HEIGHT = 64, 276, 160, 240
_SLOPE_LEFT, _SLOPE_PLOT, _SLOPE_RIGHT, _SLOPE_HEIGHT = 92, 190, 218, 260
_GAP = 18
_UPRIGHT = 34
"""So many signs of a title fit along the upright axis."""
_UNNAMED = 24
"""The room on the right where no line has a name."""
_BESIDE = 34
"""So many columns of names fit below the axis beside each other."""
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [10, 3], [1, 3], [6, 2, 2, 2])
_SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
    "triangle-left",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """By what a line is told from others: colour, dashes, and the shape of its points."""

    colour: str
    dash: Sequence[int]
    shape: str


def looks(number: int) -> list[Look]:
    """The looks of so many lines."""
    return [
        Look(light(f"series-{index % SERIES}"), _DASHES[index % SERIES], _SHAPES[index % SERIES])
        for index in range(number)
    ]


def dots(rows: Sequence[dict[str, Any]], look: Look, size: float = 32) -> alt.Chart:
    """The points of a line."""
    marks = chart(rows).mark_point(
        fill=look.colour, stroke=look.colour, shape=look.shape, size=size, opacity=1
    )
    return cast("alt.Chart", marks)


def quantitative(
    name: str, domain: tuple[float, float], marks: alt.Axis | None
) -> dict[str, object]:
    """What an axis of numbers is made of."""
    scale = alt.Scale(domain=list(domain), nice=False, zero=False)
    return {"shorthand": name, "type": "quantitative", "scale": scale, "axis": marks}


def layers(picture: Lines) -> Layers:
    """The layers: equality and limits below, then a line, its intervals and points each."""
    names = list(
        dict.fromkeys(
            point.x for line in picture.lines for point in line.points if isinstance(point.x, str)
        )
    )
    points = [
        [_placed(names, point) for point in line.points if _is_shown(point)]
        for line in picture.lines
    ]
    flat, upright = _domains(picture, names, points)
    under = None if names else axis(picture.x, percent=picture.percent_across)
    beside = axis(picture.y, percent=picture.percent, room=_UPRIGHT)
    x = alt.X(**quantitative("x", flat, under))  # type: ignore[arg-type]
    y = alt.Y(**quantitative("y", upright, beside))  # type: ignore[arg-type]
    corner = chart([{"x": flat[0], "y": upright[0]}]).mark_point(color=light("grid"), opacity=0)
    drawn = [encoded(corner, x, y)]
    if picture.diagonal:
        equal = chart([{"x": end, "y": end} for end in (0, 1)])
        drawn.append(encoded(equal.mark_line(color=light("aside"), strokeWidth=1), x, y))
    if picture.limits:
        limits = chart([{"y": limit} for limit in picture.limits])
        drawn.append(encoded(limits.mark_rule(color=light("limit"), strokeDash=[6, 3]), y))
    for point, look in zip(points, looks(len(points)), strict=True):
        drawn += _line(point, look, x, y)
    right = _UNNAMED
    if any(line.label for line in picture.lines):
        right = _RIGHT
        drawn += _labels(picture.lines, points, upright, y)
    plot = _PLOT + _RIGHT - right
    if not names:
        return Layers(drawn, plot, _HEIGHT, _LEFT, right, top=12)
    is_slanted = sum(columns(name) + 2 for name in names) > _BESIDE
    drawn += _under(names, picture.x, x, plot / 2, is_slanted=is_slanted)
    return Layers(drawn, plot, _HEIGHT, _LEFT, right, top=12, bottom=116 if is_slanted else 50)


@dataclass(frozen=True, slots=True)
class _Place:
    """A point as numbers: a name is its index."""

    x: float
    y: float
    low: float
    high: float


def _placed(names: Sequence[str], point: Point) -> _Place:
    x = float(names.index(point.x)) if isinstance(point.x, str) else point.x
    low, high = (point.y if end is None else end for end in (point.low, point.high))
    return _Place(x, point.y, low, high)


def _is_shown(point: Point) -> bool:
    return math.isfinite(point.y) and (isinstance(point.x, str) or math.isfinite(point.x))


def _domains(
    picture: Lines, names: Sequence[str], points: Sequence[Sequence[_Place]]
) -> tuple[tuple[float, float], tuple[float, float]]:
    """What is shown of either axis."""
    if picture.diagonal:
        return (-0.02, 1.02), (-0.02, 1.02)
    known = [place for point in points for place in point]
    flat = [place.x for place in known]
    upright = [end for place in known for end in (place.low, place.y, place.high)] + [
        *picture.limits
    ]
    return (
        (-0.5, len(names) - 0.5) if names else _over(flat),
        picture.domain or _over(upright),
    )


def _over(ends: Sequence[float]) -> tuple[float, float]:
    return nice(min(ends, default=0.0), max(ends, default=1.0))


def _line(places: Sequence[_Place], look: Look, x: alt.X, y: alt.Y) -> Iterator[alt.Chart]:
    rows = [{"i": index, "x": place.x, "y": place.y} for index, place in enumerate(places)]
    if not rows:
        return
    whiskers = [
        {"x": place.x, "y": place.low, "y2": place.high}
        for place in places
        if place.low < place.high
    ]
    if whiskers:
        rules = chart(whiskers).mark_rule(color=look.colour, opacity=0.4, strokeWidth=1.5)
        yield encoded(rules, x, y, alt.Y2("y2"))
    line = chart(rows).mark_line(color=look.colour, strokeDash=list(look.dash), strokeWidth=2)
    yield encoded(line, x, y, alt.Order("i", type="quantitative"))
    yield encoded(dots(rows, look), x, y)


def _labels(
    lines: Sequence[Line],
    points: Sequence[Sequence[_Place]],
    domain: tuple[float, float],
    y: alt.Y,
) -> Iterator[alt.Chart]:
    """The name of each line at its right end, moved apart where they would meet."""
    low, high = domain
    per_pixel = (high - low) / _HEIGHT
    ends = [(high - point[-1].y) / per_pixel if point else _HEIGHT for point in points]
    places = [high - place * per_pixel for place in spread(ends, _GAP, _HEIGHT)]
    for place, look in zip(places, looks(len(lines)), strict=True):
        yield encoded(dots([{"y": place}], look, 50), across(_PLOT + 14), y)
    rows = [
        {"y": place, "t": shortened(line.label, 19)}
        for place, line in zip(places, lines, strict=True)
    ]
    yield text(rows, across(_PLOT + 25), y, limit=_RIGHT - 27)


def _under(
    names: Sequence[str], title: str, x: alt.X, middle: float, *, is_slanted: bool
) -> Iterator[alt.Chart]:
    """The names below the axis, slanted where they would meet, and what they are."""
    rows = [{"x": index, "t": shortened(name, 14)} for index, name in enumerate(names)]
    below = down(_HEIGHT + 14)
    if is_slanted:
        yield text(rows, x, below, align="right", colour="muted", limit=100, angle=315)
    else:
        yield text(rows, x, below, align="center", colour="muted", limit=100)
    if not title:
        return
    heading = [{"t": shortened(title, 40)}]
    place = down(_HEIGHT + (104 if is_slanted else 38))
    yield text(heading, across(middle), place, align="center", colour="muted")


def slope_layers(picture: Slopes) -> Layers:
    """The layers: each slope with its points, values on the left, names and values on the right."""
    slopes = [slope for slope in picture.slopes if math.isfinite(slope.first + slope.second)]
    ends = [end for slope in slopes for end in (slope.first, slope.second)]
    low, high = nice(min(ends, default=0), max(ends, default=1))
    x = alt.X(**quantitative("x", (0, 1), None))  # type: ignore[arg-type]
    y = alt.Y(**quantitative("y", (low, high), None))  # type: ignore[arg-type]
    sides = [{"x": side, "y": low, "y2": high} for side in (0, 1)]
    rules = chart(sides).mark_rule(color=light("line"))
    drawn = [encoded(rules, x, y, alt.Y2("y2"))]
    usual = iter(looks(len(slopes)))
    for slope in slopes:
        look = Look(light("ink"), (1, 0), "circle") if slope.strong else next(usual)
        rows = [{"x": 0, "y": slope.first}, {"x": 1, "y": slope.second}]
        line = chart(rows).mark_line(
            color=look.colour, strokeDash=list(look.dash), strokeWidth=3.5 if slope.strong else 2
        )
        drawn += [encoded(line, x, y), encoded(dots(rows, look, 90 if slope.strong else 45), x, y)]
    for side in (0, 1):
        drawn += _values(slopes, side, (low, high), y)
    names = [{"x": index, "t": shortened(name, 24)} for index, name in enumerate(picture.sides)]
    drawn.append(text(names, x, down(_SLOPE_HEIGHT + 18), align="center", bold=True, limit=170))
    title = [{"t": shortened(picture.y, 60)}]
    middle, below = across(_SLOPE_PLOT / 2), down(_SLOPE_HEIGHT + 40)
    drawn.append(text(title, middle, below, align="center", colour="muted"))
    return Layers(drawn, _SLOPE_PLOT, _SLOPE_HEIGHT, _SLOPE_LEFT, _SLOPE_RIGHT, top=12, bottom=52)


def _values(
    slopes: Sequence[Slope], side: int, domain: tuple[float, float], y: alt.Y
) -> Iterator[alt.Chart]:
    """The values on one side, moved apart where they would meet; on the right with their names."""
    low, high = domain
    per_pixel = (high - low) / _SLOPE_HEIGHT
    values = [slope.second if side else slope.first for slope in slopes]
    places = spread([(high - value) / per_pixel for value in values], _GAP, _SLOPE_HEIGHT)
    align: Align = "left" if side else "right"
    x = across(_SLOPE_PLOT + 12 if side else -12)
    for strong in (True, False):
        rows = []
        for place, value, slope in zip(places, values, slopes, strict=True):
            if slope.strong is strong:
                name = f"  {shortened(slope.label, 20)}" if side else ""
                rows.append({"y": high - place * per_pixel, "t": f"{100 * value:.1f} %{name}"})
        if rows:
            yield text(
                rows,
                x,
                y,
                align=align,
                bold=strong,
                limit=(_SLOPE_RIGHT if side else _SLOPE_LEFT) - 14,
            )
