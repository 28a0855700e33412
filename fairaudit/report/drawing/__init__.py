"""Pictures drawn by Altair as SVG: the one place that loads it, at the first picture.

Sizes are fixed and no text is measured to lay a picture out, so that equal pictures are equal bytes
on every machine, whichever fonts it has.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import vl_convert
from altair.utils.schemapi import debug_mode

from fairaudit import memory
from fairaudit.errors import OutOfMemory
from fairaudit.report.drawing import lattice, lines, rows
from fairaudit.report.drawing.frame import FONT, Layers
from fairaudit.report.pictures import Bars, Intervals, Lattice, Lines, Picture, Slopes


def spec(picture: Picture) -> dict[str, Any]:
    """The picture in Vega-Lite, its data in it."""
    # Whether Vega-Lite knows all of it, the tests ask: that takes longer than the drawing.
    with debug_mode(False):  # noqa: FBT003  # theirs
        drawn = _layers(picture)
        chart = alt.layer(
            *drawn.layers,
            width=drawn.width,
            height=drawn.height,
            padding=drawn.padding,
            autosize=alt.AutoSizeParams(type="none"),
            config=alt.Config(
                aria=False,  # a picture has one title and one description: those of its figure
                background="transparent",
                font=FONT,
                view=alt.ViewConfig(stroke=None),
            ),
        )
        spec = chart.to_dict(validate=False)
    spec["datasets"] = {name: list(rows) for name, rows in spec["datasets"].items()}
    return spec


def svg(picture: Picture) -> str:
    """The picture as an SVG element."""
    if not memory.has_room_for_pictures():
        room = f"{memory.PICTURES / 1e9:.0f} GB of address space"
        raise OutOfMemory(f"out of memory: what draws the pictures of a page reserves {room}")
    version = alt.SCHEMA_VERSION.removeprefix("v").rsplit(".", 1)[0]
    return vl_convert.vegalite_to_svg(spec(picture), vl_version=version)


def _layers(picture: Picture) -> Layers:
    match picture:
        case Intervals() | Bars():
            return rows.layers(picture)
        case Lines():
            return lines.layers(picture)
        case Slopes():
            return lines.slope_layers(picture)
        case Lattice():
            return lattice.layers(picture)
