"""Types of pictures, their maximum numbers of rows and lines, and the choice of rows to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby
from typing import TypeAlias

from fairaudit.base.frozen import Frozen
from fairaudit.report import numbers


class Mark(StrEnum):
    """The role of a line: a compared group, the reference, or a group set aside."""

    GROUP = "group"
    REFERENCE = "reference"
    ASIDE = "aside"


class Interval(Frozen):
    """A value as a row of a picture; `panel` is the heading above it, `mark` its role.

    `text` is written next to the row. If the value is not finite, the row has only the text. A
    `strong` row is the subject of a check.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    panel: str = ""
    mark: Mark = Mark.GROUP
    text: str = ""
    strong: bool = False


class Rule(Frozen):
    """A line across the rows of a panel, at the value of the reference or at a limit.

    `limit` is the status of the check beyond this line: `fail` or `warn`. `bounds` is the limit as
    a product with the rate of another group (`0.8 × 60.4 %`), or as the spec writes it.
    """

    value: float
    panel: str = ""
    label: str = ""
    limit: str = ""
    bounds: str = ""


class Intervals(Frozen):
    """Values in rows with their intervals, references and limits.

    If `percent` is set, the axis is in per cent.
    """

    axis: str
    rows: Sequence[Interval]
    rules: Sequence[Rule] = ()
    percent: bool = False


class Point(Frozen):
    """A point of a line; `x` is a number, or a name if the axis has names."""

    x: float | str
    y: float
    low: float | None = None
    high: float | None = None


class Line(Frozen):
    """Points in order.

    `text` is written next to the name of the line. Other lines are compared with a `strong` line.
    """

    label: str
    points: Sequence[Point]
    text: str = ""
    strong: bool = False


class Lines(Frozen):
    """Lines over a common axis; `diagonal` draws the line where both shares are equal.

    If `percent` is set, the vertical axis is in per cent. If `percent_across` is set, the
    horizontal axis is in per cent. An axis of names begins with the names of the first line. A
    point without a number breaks its line.
    """

    x: str
    y: str
    lines: Sequence[Line]
    diagonal: bool = False
    limits: Sequence[Rule] = ()
    percent: bool = False
    percent_across: bool = False
    domain: tuple[float, float] | None = None


class Node(Frozen):
    """A subset of attributes; `text` is its value, `shade` is from 0 to 1, or None."""

    label: str
    text: str
    shade: float | None


Picture: TypeAlias = Intervals | Lines

MOST_ROWS = 40
"""Maximum number of rows in a picture."""
MOST_CHECKED = 24
"""Maximum number of groups in the picture of a check on a page."""
MOST_LINES = 8
"""Maximum number of lines in a picture."""
MOST_STRATA = 24
"""Maximum number of names on an axis."""
MOST_RATE_PICTURES = 24
"""Maximum number of pictures of rates in a report."""
MOST_STRATUM_PICTURES = 12
"""Maximum number of pictures of rates by stratum; few attributes come first."""


def describe(picture: Picture) -> str:
    """The values of a picture in words; for lines, the lowest and the highest point of each."""
    if isinstance(picture, Lines):
        write = numbers.percent if picture.percent else numbers.number
        texts = []
        for line in picture.lines:
            known = [point for point in line.points if math.isfinite(point.y)]
            ends = [f(known, key=lambda point: point.y) for f in (min, max)] if known else []
            places = (
                numbers.number(end.x, 3) if isinstance(end.x, float) else end.x for end in ends
            )
            words = [f"{write(end.y)} ({place})" for end, place in zip(ends, places, strict=True)]
            text = line.text or (f"from {' to '.join(words)}" if words else "no number")
            texts.append(f"{line.label}: {text}" if line.label else text)
    else:
        texts = []
        for panel, rows in groupby(picture.rows, key=lambda row: row.panel):
            values = ", ".join(f"{row.label} {row.text}".rstrip() for row in rows)
            texts.append(f"{panel}: {values}" if panel else values)
    rules = picture.limits if isinstance(picture, Lines) else picture.rules
    return f"{'; '.join([*texts, *(rule.label for rule in rules if rule.label)])}."


def explain(picture: Intervals, lines: str) -> str:
    """How to read the marks that a picture has; `lines` is the meaning of its lines."""
    marks = {row.mark for row in picture.rows if math.isfinite(row.value)}
    limits = {rule.limit: f" ({rule.bounds})" * bool(rule.bounds) for rule in picture.rules}
    texts = {
        f"Blue: a group and its {lines}": Mark.GROUP in marks,
        "Bold: the groups that are compared": any(row.strong for row in picture.rows),
        "Diamond and dotted line: the reference": Mark.REFERENCE in marks,
        "Grey and hollow: not compared": Mark.ASIDE in marks,
        f"Dashed red line: beyond it the check fails{limits.get('fail')}": "fail" in limits,
        f"Amber line of dashes and dots: beyond it the check warns{limits.get('warn')}": "warn"
        in limits,
    }
    return " ".join(f"{text}." for text, is_drawn in texts.items() if is_drawn)


def both_ends(rows: Sequence[Interval], most: int) -> list[int]:
    """The indexes of deciding rows and of rows from both ends; all if only one row is too many."""
    if len(rows) <= most + 1:
        return [*range(len(rows))]
    kept = (row.strong or row.mark is Mark.REFERENCE for row in rows)
    chosen = {place for place, is_kept in enumerate(kept) if is_kept}
    low, high = 0, len(rows) - 1
    while len(chosen) < most and low <= high:
        chosen.add(low)
        if len(chosen) < most:
            chosen.add(high)
        low, high = low + 1, high - 1
    return sorted(chosen)


def without_middle(rows: Sequence[Interval], most: int) -> list[Interval]:
    """The rows of `both_ends` except rows set aside; an added row counts the omitted rows."""
    if len(rows) <= most + 1:
        return list(rows)
    known = [row for row in rows if row.mark is not Mark.ASIDE] or rows
    places = both_ends(known, most)
    kept = [known[place] for place in places]
    gap = next(index for index, place in enumerate([*places, -1]) if place != index)
    words = numbers.counted(len(rows) - len(kept), "more group")
    kept.insert(gap, Interval(words, math.nan, panel=rows[0].panel, mark=Mark.ASIDE))
    return kept


def not_shown(count: int, what: str, why: str) -> str:
    """A sentence on what is not shown; empty if everything is shown."""
    return f" Not shown: {numbers.whole(count)} {what}, {why}." if count > 0 else ""
