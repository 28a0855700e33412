"""Pictures as SVG files, with names, axes and legend."""

from __future__ import annotations

import math

from markupsafe import escape

from fairaudit.base.names import printable, width
from fairaudit.report import numbers
from fairaudit.report.blocks import Figure
from fairaudit.report.html import plots
from fairaudit.report.pictures import Intervals, Lines, Mark

_WIDTH, _TOP, _ROW = 760, 44, 22
_LETTER = 6.7
"""The mean width of a letter at 12 pixels."""
_LONGEST = 40
_LEFT, _ACROSS, _HIGH = 70, 430, 260
"""Of lines: where the axes meet, and their lengths."""
_SERIES = {"strong": "ink"}


def draw(figure: Figure) -> str:
    """A picture as the text of an SVG file."""
    picture = figure.picture
    if isinstance(picture, Lines):
        height, shapes = _lines(picture)
    else:
        height, shapes = _rows(picture)
    title, about = (escape(printable(text)) for text in (figure.title, figure.description))
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" '
        f'width="{_WIDTH}" height="{height:g}" font-family="system-ui,sans-serif" '
        f'font-size="12" fill="{_colour("ink")}">'
    )
    page = f'<rect width="100%" height="100%" fill="{_colour("card")}"/>'
    shown = _text(12, 20, numbers.short(figure.title, 100), "start", bold=True)
    about_it = f"<title>{title}</title><desc>{about}</desc>"
    return "\n".join([head, about_it, page, shown, *shapes, "</svg>\n"])


def _colour(name: str) -> str:
    return plots.COLOURS[name][0]


def _text(
    x: float,
    y: float,
    text: str,
    anchor: str = "middle",
    colour: str = "ink",
    *,
    bold: bool = False,
) -> str:
    style = ' font-weight="bold"' if bold else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_colour(colour)}"{style}>'
        f"{escape(printable(text))}</text>"
    )


def _stroke(
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    wide: float = 1,
    dash: str = "",
) -> str:
    places = " ".join(
        f'{name}="{value:.1f}"'
        for name, value in zip(("x1", "y1", "x2", "y2"), (*start, *end), strict=True)
    )
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    return f'<line {places} stroke="{_colour(colour)}" stroke-width="{wide:g}"{dashes}/>'


def _mark(x: float, y: float, shape: str, colour: str, *, is_hollow: bool = False) -> str:
    fill = "card" if is_hollow else colour
    return (
        f'<path transform="translate({x:.1f} {y:.1f})" d="{shape}" fill="{_colour(fill)}" '
        f'stroke="{_colour(colour)}"/>'
    )


def _rows(picture: Intervals) -> tuple[float, list[str]]:
    """Names, values on an axis with their intervals, and texts; and the height of it all."""
    scale = plots.row_scale(picture)
    names = [numbers.short(row.label, _LONGEST) for row in picture.rows]
    left = 30 + _LETTER * max(map(width, names), default=0)
    right = _WIDTH - 30 - _LETTER * max((width(row.text) for row in picture.rows), default=0)
    shapes: list[str] = []
    y = float(_TOP)

    def at(value: float) -> float:
        return left + (right - left) * scale.at(value) / 100

    for panel in plots.panels(picture):
        for rule in panel.rules:
            if rule.is_limit:
                shapes.append(_text(at(rule.value), y, rule.label, colour="limit"))
                y += 14
        if panel.name:
            shapes.append(_text(left - 10, y, panel.name, "end", bold=True))
        y += 6
        end = y + _ROW * len(panel.rows)
        for x, _ in scale.ticks(5):
            place = left + (right - left) * x / 100
            shapes.append(_stroke((place, y), (place, end), "grid"))
        for rule in panel.rules:
            name, dash = ("limit", "6 3") if rule.is_limit else ("reference", "2 3")
            place = at(rule.value)
            shapes.append(_stroke((place, y), (place, end), name, 1.5, dash))
        for row in panel.rows:
            middle = y + _ROW / 2
            colour = {Mark.GROUP: "accent", Mark.REFERENCE: "reference"}.get(row.mark, "aside")
            label = numbers.short(row.label, _LONGEST)
            shapes.append(_text(left - 10, middle + 4, label, "end", bold=row.strong))
            shapes.append(_text(right + 10, middle + 4, row.text, "start", bold=row.strong))
            if math.isfinite(row.value):
                if row.low is not None and row.high is not None:
                    ends = (at(row.low), middle), (at(row.high), middle)
                    shapes.append(_stroke(*ends, colour, 3 if row.strong else 2))
                shape = plots.SHAPES[3 if row.mark is Mark.REFERENCE else 0]
                is_hollow = row.mark is Mark.ASIDE
                shapes.append(_mark(at(row.value), middle, shape, colour, is_hollow=is_hollow))
            y += _ROW
        y += 16
    for x, text in scale.ticks(5):
        shapes.append(_text(left + (right - left) * x / 100, y, text, colour="muted"))
    shapes.append(_text((left + right) / 2, y + 20, picture.axis, colour="muted"))
    return y + 32, shapes


def _lines(picture: Lines) -> tuple[float, list[str]]:
    """Curves between two axes, their points with intervals, and a legend."""
    flat, upright = plots.flat_scale(picture), plots.line_scale(picture)
    names, top = plots.axis_names(picture), _TOP + 16
    shapes = [_text(12, _TOP, picture.y, "start", "muted")]

    def place(x: float, y: float) -> tuple[float, float]:
        """A point in per cent from the left and from the top."""
        return _LEFT + _ACROSS * x / 100, top + _HIGH * y / 100

    for share, text in upright.ticks(5):
        shapes.append(_stroke(place(0, 100 - share), place(100, 100 - share), "grid"))
        x, y = place(0, 100 - share)
        shapes.append(_text(x - 8, y + 4, text, "end", "muted"))
    if picture.diagonal:
        ends = [place(flat.at(share), 100 - upright.at(share)) for share in (0, 1)]
        shapes.append(_stroke(ends[0], ends[1], "aside"))
    for limit in picture.limits:
        y = 100 - upright.at(limit)
        shapes.append(_stroke(place(0, y), place(100, y), "limit", 1.5, "6 3"))
    for look, line in zip(plots.looks(picture), picture.lines, strict=True):
        colour = _SERIES.get(look, look)
        for stroke in plots.strokes(picture, line):
            points = " ".join("{:.1f},{:.1f}".format(*place(dot.x, dot.y)) for dot in stroke)
            style = f'fill="none" stroke="{_colour(colour)}" stroke-width="2"'
            shapes.append(f'<polyline points="{points}" {style}/>')
            for dot in stroke:
                if dot.whisker is not None:
                    high, low = (place(dot.x, end) for end in dot.whisker)
                    shapes.append(_stroke(high, low, colour, 1))
                shapes.append(_mark(*place(dot.x, dot.y), plots.shape(look), colour))
    below = place(0, 100)[1] + 16
    places = [(flat.at(at), name) for at, name in enumerate(names)] or flat.ticks(5)
    is_slanted = plots.is_slanted(picture)
    for share, text in places:
        x = place(share, 0)[0]
        word = _text(x, below, numbers.short(text, 22), "end" if is_slanted else "middle", "muted")
        turn = f'<text transform="rotate(-40 {x:.1f} {below:.1f})"'
        shapes.append(word.replace("<text", turn, 1) if is_slanted else word)
    below += 100 if is_slanted else 20
    shapes.append(_text(place(50, 0)[0], below, picture.x, colour="muted"))
    y = top + 8.0
    for look, line in plots.legend(picture):
        if line.label:
            x = _LEFT + _ACROSS + 30
            shapes.append(_mark(x, y - 4, plots.shape(look), _SERIES.get(look, look)))
            shapes.append(_text(x + 14, y, f"{numbers.short(line.label, 26)} {line.text}", "start"))
            y += _ROW
    return max(below, y) + 14, shapes
