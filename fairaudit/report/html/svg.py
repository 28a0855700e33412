"""Pictures as SVG files, with names, axes and legend."""

from __future__ import annotations

from fairaudit.base.names import width
from fairaudit.report import numbers
from fairaudit.report.blocks import Figure
from fairaudit.report.html import environment, plots
from fairaudit.report.pictures import Intervals

_WIDTH, _TOP, _ROW = 760, 44, 22
_LETTER = 6.7
"""The mean width of a letter at 12 pixels."""


def draw(figure: Figure) -> str:
    """A picture as the text of an SVG file."""
    rows = figure.picture.rows if isinstance(figure.picture, Intervals) else ()
    names = max((width(numbers.short(row.label, 40)) for row in rows), default=0)
    texts = max((width(row.text) for row in rows), default=0)
    return (
        environment()
        .get_template("svg.jinja")
        .render(
            figure=figure,
            colours={name: light for name, (light, _) in plots.COLOURS.items()},
            # Rows have names on the left and texts on the right; lines have neither.
            left=30 + _LETTER * names if isinstance(figure.picture, Intervals) else 0,
            right=_WIDTH - 30 - _LETTER * texts,
            wide=_WIDTH,
            top=_TOP,
            row=_ROW,
        )
    )
