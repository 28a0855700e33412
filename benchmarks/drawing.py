"""Figures of the survey as SVG: a panel for each setting, a line for each measure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from curves import LEVELS, SHARES, Figure, Means, Measure

SIZE = 96
"""Of a panel, in pixels."""
GAP, EDGE = 30, 56
COLOURS = ("#d95f02", "#1b7db5", "#7a7a7a")


def svg(figure: Figure, means: Means) -> str:
    """The text of an SVG file."""
    side = EDGE + len(SHARES) * (SIZE + GAP)
    size = f'width="{side}" height="{side + 26}" font-family="sans-serif" font-size="10"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>',
        f"<title>{figure.title}</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        *_legend(figure.measures, side),
    ]
    for i, protected in enumerate(SHARES):
        for j, positive in enumerate(SHARES):
            left, top = EDGE + j * (SIZE + GAP), EDGE - 20 + i * (SIZE + GAP)
            parts.append(f'<g transform="translate({left} {top})">')
            parts += _frame(figure.limits)
            if i == 0:
                parts.append(_text(SIZE / 2, -12, f"p(y+) = {positive:.0%}"))
            if j == 0:
                parts.append(_text(-SIZE / 2, -28, f"p(s1) = {protected:.0%}", turned=True))
            for measure, colour in zip(figure.measures, COLOURS, strict=True):
                points = _points(means[measure][i, j], figure.limits)
                parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}"/>')
            parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _legend(measures: Sequence[Measure], side: int) -> Iterator[str]:
    for at, (measure, colour) in enumerate(zip(measures, COLOURS, strict=True)):
        left = EDGE + at * 150
        yield f'<path d="M{left} {side + 8}h20" stroke="{colour}"/>'
        yield f'<text x="{left + 25}" y="{side + 12}">{measure.title}</text>'


def _frame(limits: tuple[int, int]) -> Iterator[str]:
    """The box of a panel, its numbers, and the diagonal if it has one."""
    yield f'<rect width="{SIZE}" height="{SIZE}" fill="none" stroke="#bbb"/>'
    if limits[0] < 0:
        yield f'<path d="M0 {SIZE}L{SIZE} 0" stroke="#ddd" stroke-width="4"/>'
    for level in (-1, 0, 1):
        yield _text(_across(level), SIZE + 11, str(level))
    for value in range(limits[0], limits[1] + 1):
        yield _text(-8, _down(value, limits) + 3, str(value))


def _text(x: float, y: float, words: str, *, turned: bool = False) -> str:
    turn = ' transform="rotate(-90)"' if turned else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="middle"{turn}>{words}</text>'


def _points(values: Sequence[float], limits: tuple[int, int]) -> str:
    """The points of a line; what is off the panel lies on its edge."""
    return " ".join(
        f"{_across(level):.1f},{_down(min(max(value, limits[0]), limits[1]), limits):.1f}"
        for level, value in zip(LEVELS, values, strict=True)
        if not math.isnan(value)
    )


def _across(level: float) -> float:
    return (level + 1) / 2 * SIZE


def _down(value: float, limits: tuple[int, int]) -> float:
    low, high = limits
    return (high - value) / (high - low) * SIZE
