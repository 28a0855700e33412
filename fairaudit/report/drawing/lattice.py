"""The lattice of subsets: a box each, coloured by its value, joined to those that contain it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt

from fairaudit.report.drawing.frame import (
    Layers,
    chart,
    encoded,
    in_pixels,
    pixels_down,
    shortened,
    text,
)
from fairaudit.report.palette import SHADES, light
from fairaudit.report.pictures import Lattice, Node

_BOX, _BESIDE = 146, 26
_TALL, _ROW = 44, 58
_LETTERS = 20
"""So many fit a box; more would stand over its edge, in the colour of what is inside."""


def layers(picture: Lattice) -> Layers:
    """The layers: lines behind, boxes in front, names and values in them."""
    columns = max(node.level for node in picture.nodes) + 1
    by_level = [[node for node in picture.nodes if node.level == level] for level in range(columns)]
    tall = max(map(len, by_level)) * _ROW
    width, height = columns * (_BOX + _BESIDE) - _BESIDE, tall
    centres: list[tuple[float, float]] = []
    for node in picture.nodes:
        column = by_level[node.level]
        start = (tall - len(column) * _ROW) / 2
        row = next(index for index, other in enumerate(column) if other is node)
        centres.append((node.level * (_BOX + _BESIDE), start + (row + 0.5) * _ROW))
    x = alt.X("x", type="quantitative", scale=in_pixels(width), axis=None)
    y = alt.Y("y", type="quantitative", scale=pixels_down(height), axis=None)
    joined = [
        {
            "x": centres[part][0] + _BOX,
            "y": centres[part][1],
            "x2": centres[whole][0],
            "y2": centres[whole][1],
        }
        for part, whole in picture.edges
    ]
    drawn = []
    if joined:
        lines = chart(joined).mark_rule(color=light("line"), strokeWidth=1.5)
        drawn.append(encoded(lines, x, y, alt.X2("x2"), alt.Y2("y2")))
    drawn += _boxes(picture.nodes, centres, x, y)
    return Layers(drawn, width, height, left=6, right=6, top=4, bottom=4)


def shade(value: float | None) -> str:
    """The name of the colour for a share of the scale."""
    return "none" if value is None else str(min(int(value * SHADES), SHADES - 1))


def _boxes(
    nodes: Sequence[Node], centres: Sequence[tuple[float, float]], x: alt.X, y: alt.Y
) -> Iterator[alt.Chart]:
    for name in dict.fromkeys(shade(node.shade) for node in nodes):
        shaded = [
            (centre, node)
            for centre, node in zip(centres, nodes, strict=True)
            if shade(node.shade) == name
        ]
        boxes = [
            {"x": left, "x2": left + _BOX, "y": middle - _TALL / 2, "y2": middle + _TALL / 2}
            for (left, middle), _ in shaded
        ]
        marks = chart(boxes).mark_rect(
            fill=light(f"shade-{name}"), stroke=light("line"), cornerRadius=6, opacity=1
        )
        yield encoded(marks, x, y, alt.X2("x2"), alt.Y2("y2"))
        for above, bold in ((9, False), (-9, True)):
            texts = [
                {
                    "x": left + _BOX / 2,
                    "y": middle - above,
                    "t": shortened(box.text if bold else box.label, _LETTERS),
                }
                for (left, middle), box in shaded
            ]
            colour = f"on-shade-{name}"
            yield text(texts, x, y, align="center", colour=colour, bold=bold, limit=_BOX - 10)
