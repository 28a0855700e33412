"""A slope for everybody and one for each stratum, between two groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import altair as alt

from fairaudit.report.drawing.frame import (
    Align,
    Layers,
    across,
    chart,
    down,
    encoded,
    nice,
    shortened,
    spread,
    text,
)
from fairaudit.report.drawing.lines import Look, dots, looks, quantitative
from fairaudit.report.palette import light
from fairaudit.report.pictures import Slope, Slopes

_LEFT, _PLOT, _RIGHT, _HEIGHT = 92, 190, 218, 260
_GAP = 18


def layers(picture: Slopes) -> Layers:
    """The layers: each slope with its points, values on the left, names and values on the right."""
    slopes = [one for one in picture.slopes if math.isfinite(one.first + one.second)]
    ends = [end for one in slopes for end in (one.first, one.second)]
    low, high = nice(min(ends, default=0), max(ends, default=1))
    x = alt.X(**quantitative("x", (0, 1), None))  # type: ignore[arg-type]
    y = alt.Y(**quantitative("y", (low, high), None))  # type: ignore[arg-type]
    sides = [{"x": at, "y": low, "y2": high} for at in (0, 1)]
    rules = chart(sides).mark_rule(color=light("line"))
    drawn = [encoded(rules, x, y, alt.Y2("y2"))]
    usual = iter(looks(len(slopes)))
    for one in slopes:
        look = Look(light("ink"), (1, 0), "circle") if one.strong else next(usual)
        rows = [{"x": 0, "y": one.first}, {"x": 1, "y": one.second}]
        line = chart(rows).mark_line(
            color=look.colour, strokeDash=list(look.dash), strokeWidth=3.5 if one.strong else 2
        )
        drawn += [encoded(line, x, y), encoded(dots(rows, look, 90 if one.strong else 45), x, y)]
    for at in (0, 1):
        drawn += _values(slopes, at, (low, high), y)
    names = [{"x": at, "t": shortened(name, 24)} for at, name in enumerate(picture.sides)]
    drawn.append(text(names, x, down(_HEIGHT + 18), align="center", bold=True, limit=170))
    title = [{"t": shortened(picture.y, 60)}]
    middle, below = across(_PLOT / 2), down(_HEIGHT + 40)
    drawn.append(text(title, middle, below, align="center", colour="muted"))
    return Layers(drawn, _PLOT, _HEIGHT, _LEFT, _RIGHT, top=12, bottom=52)


def _values(
    slopes: Sequence[Slope], at: int, domain: tuple[float, float], y: alt.Y
) -> Iterator[alt.Chart]:
    """The values on one side, moved apart where they would meet; on the right with their names."""
    low, high = domain
    per_pixel = (high - low) / _HEIGHT
    values = [one.second if at else one.first for one in slopes]
    places = spread([(high - value) / per_pixel for value in values], _GAP, _HEIGHT)
    align: Align = "left" if at else "right"
    x = across(_PLOT + 12 if at else -12)
    for strong in (True, False):
        rows = []
        for place, value, one in zip(places, values, slopes, strict=True):
            if one.strong is strong:
                name = f"  {shortened(one.label, 20)}" if at else ""
                rows.append({"y": high - place * per_pixel, "t": f"{100 * value:.1f} %{name}"})
        if rows:
            yield text(rows, x, y, align=align, bold=strong, limit=(_RIGHT if at else _LEFT) - 14)
