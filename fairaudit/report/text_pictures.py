"""Terminal text: pictures in characters: most groups drawn, intervals beside limits, legend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit.base.names import width
from fairaudit.report import numbers
from fairaudit.report.blocks import Cell, Tone
from fairaudit.report.pictures import Interval, Intervals, Mark, Rule, both_ends
from fairaudit.report.text_layout import Line, line, padded

MOST_ROWS = 5
"""So many groups are drawn; of more the pair that decides, and those at both ends."""
_WIDEST_LABEL = 34
"""A longer name stands on a line of its own, above its interval."""
_LEAST_STRIP = 20


def draw(picture: Intervals, page: int) -> list[Line]:
    """The picture on a page of so many columns; nothing where no value can be drawn."""
    known = [row for row in picture.rows if row.mark is not Mark.ASIDE and _ends(row)]
    if not known:
        return []
    rows = [known[place] for place in both_ends(known, MOST_ROWS)]
    labels, shared = _labels([row.label for row in rows])
    is_stacked = max(map(width, labels)) > _WIDEST_LABEL
    label_room = 2 if is_stacked else max(map(width, labels))
    value_room = max(len(row.text) for row in rows)
    strip = min(page - label_room - value_room - 8, 60)
    if strip < _LEAST_STRIP:
        return []
    rules = [rule for rule in picture.rules if math.isfinite(rule.value)]
    axis = _Axis(_domain(rows, rules), strip)
    head = 3 + label_room + 2 + value_room + 2
    lines = [*_head(picture, rules, axis, head, shared)]
    for row, label in zip(rows, labels, strict=True):
        tone = Tone.STRONG if row.strong else Tone.PLAIN
        if is_stacked:
            lines.append(line("   ", Cell(label, tone)))
            label = ""  # noqa: PLW2901  # it stands above
        value = row.text.rjust(value_room)
        text = f"   {padded(label, label_room)}  {value}  "
        lines.append(line(Cell(text, tone), Cell(_strip(row, rules, axis), tone)))
    omitted = len(known) - len(rows)
    texts = [f"{numbers.counted(omitted, 'more group')} not drawn"] if omitted else []
    texts.append(_legend(rows, rules))
    lines.append(line(Cell(f"   {'; '.join(texts)}", Tone.MUTED)))
    return lines


def _legend(rows: Sequence[Interval], rules: Sequence[Rule]) -> str:
    """What the signs of a picture are."""
    strong = [row.strong for row in rows]
    signs = (
        ("● who is compared", any(strong)),
        ("○ others" if any(strong) else "○ value", not all(strong)),
        ("─ interval", any(len(_ends(row)) > 1 for row in rows)),
        ("┊ limit", bool(rules)),
    )
    return ", ".join(text for text, is_drawn in signs if is_drawn)


class _Axis:
    """Which column a value has."""

    def __init__(self, ends: tuple[float, float], columns: int) -> None:
        self.low, self.high = ends
        self.columns = columns

    def column(self, value: float) -> int:
        """The column of a value."""
        share = (value - self.low) / (self.high - self.low)
        return min(max(round(share * (self.columns - 1)), 0), self.columns - 1)


def _ends(row: Interval) -> list[float]:
    """The numbers of a row that can be drawn; none without a value."""
    if not math.isfinite(row.value):
        return []
    return [end for end in (row.low, row.value, row.high) if end is not None and math.isfinite(end)]


def _labels(names: Sequence[str]) -> tuple[list[str], str]:
    """The names without the levels that all of them have, and these."""
    levels = [name.split(" × ") for name in names]
    if len({len(parts) for parts in levels}) > 1 or len(levels) < 2:  # two to share
        return list(names), ""
    columns = list(zip(*levels, strict=True))
    common = [column[0] for column in columns if len(set(column)) == 1]
    own = [
        " × ".join(
            part for part, column in zip(parts, columns, strict=True) if len(set(column)) > 1
        )
        for parts in levels
    ]
    return (own, " × ".join(common)) if common and all(own) else (list(names), "")


def _domain(rows: Sequence[Interval], rules: Sequence[Rule]) -> tuple[float, float]:
    ends = [end for row in rows for end in _ends(row)] + [rule.value for rule in rules]
    low, high = min(ends), max(ends)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _head(
    picture: Intervals, rules: Sequence[Rule], axis: _Axis, head: int, shared: str
) -> Iterator[Line]:
    """The name of the rate, and each limit above its line."""
    title = picture.axis + (f", {shared}" if shared else "")
    if not rules:
        yield line("   ", Cell(title, Tone.MUTED))
        return
    text = f"   {title}"
    canvas = list(text + " " * (head + axis.columns - width(text)))
    taken = [(0, len(text))]
    for rule in sorted(rules, key=lambda rule: rule.label):  # `fail` before `warn`
        start = head + axis.column(rule.value) - len(rule.label) // 2
        room = len(rule.label) // 2
        for shift in sorted(range(-room, room + 1), key=abs):  # its line stays below it
            at = start + shift
            end = at + len(rule.label)
            if all(end < left or at > right for left, right in taken) and end <= len(canvas):
                canvas[at:end] = rule.label
                taken.append((at, end))
                break
    yield line(Cell("".join(canvas).rstrip(), Tone.MUTED))


def _strip(row: Interval, rules: Sequence[Rule], axis: _Axis) -> str:
    """An interval with its value, and where the limits are."""
    signs = [" "] * axis.columns
    for rule in rules:
        signs[axis.column(rule.value)] = "┊"
    ends = _ends(row)
    for column in range(axis.column(min(ends)), axis.column(max(ends)) + 1):
        signs[column] = "─"
    signs[axis.column(row.value)] = "●" if row.strong else "○"
    return "".join(signs).rstrip()
