"""The subgroups that a search lists, beside everybody's rate."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit.report import numbers, sentences
from fairaudit.report.blocks import Figure
from fairaudit.report.figures import most
from fairaudit.report.pictures import Interval, Intervals, Mark, Rule
from fairaudit.subgroups import SearchedRate


def subgroups(one: SearchedRate) -> Iterator[Figure]:
    """A picture of those listed, whoever stands out most first."""
    if not one.listed:
        return
    rows = [
        Interval(
            numbers.group(each.group),
            each.value,
            one.value + each.low,
            one.value + each.high,
            text=f"{numbers.percent(each.value)} ({numbers.points(each.divergence)})",
        )
        for each in one.listed
    ]
    everybody = Interval(
        "everybody", one.value, mark=Mark.REFERENCE, text=numbers.percent(one.value)
    )
    first = one.listed[0]
    title = sentences.title_of(one.rate, one.of)
    rules = [Rule(one.value)] if math.isfinite(one.value) else []
    yield Figure(
        f"{title.capitalize()} of the {one.of}: the subgroups that stand out",
        f"{numbers.whole(len(rows))} subgroups beside everybody's {numbers.percent(one.value)}; "
        f"first {numbers.group(first.group)} with {numbers.percent(first.value)}.",
        Intervals(title, [everybody, *most.cut(rows, most.ROWS - 1)], rules, percent=True),
        note="Diamond and dotted line: everybody. In brackets: points from everybody's rate; "
        "lines: the intervals of these.",
    )
