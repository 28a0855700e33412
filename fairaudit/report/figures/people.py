"""How people spread over the groups."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit.metrics import Eligibility
from fairaudit.report import numbers
from fairaudit.report.blocks import Figure
from fairaudit.report.figures import most
from fairaudit.report.pictures import Bars, Interval, Mark
from fairaudit.result import AuditResult, GroupRow


def people(result: AuditResult) -> Iterator[Figure]:
    """The groups of every attribute, and of the full intersection, by their people."""
    first: dict[tuple[str, ...], list[GroupRow]] = {}
    for row in result.groups:
        if row.by and not row.stratum:
            mine = first.setdefault(row.by, [])
            if not mine or mine[0].of == row.of:
                mine.append(row)
    alone = [rows for by, rows in first.items() if len(by) == 1]
    if alone:
        yield _figure("People by attribute", alone)
    whole = max(first, key=len, default=())
    if len(whole) > 1:
        yield _figure(f"People by {numbers.subset(whole)}", [first[whole]])


def _figure(title: str, panels: Sequence[Sequence[GroupRow]]) -> Figure:
    rows = [
        row
        for each in panels
        for row in most.cut(
            [_row(one, several=len(panels) > 1) for one in _largest_first(each)],
            most.room(len(panels)),
        )
    ]
    return Figure(
        title,
        " ".join(_words(each) for each in panels),
        Bars("people", rows),
        note="Per cent of the people whose group is known. Grey: a group that is not known, or too "
        "small to be compared.",
    )


def _largest_first(rows: Sequence[GroupRow]) -> list[GroupRow]:
    return sorted(rows, key=lambda row: (row.standing is Eligibility.UNKNOWN, -(row.n or 0)))


def _row(one: GroupRow, *, several: bool) -> Interval:
    share = "" if one.share is None else f" ({numbers.percent(one.share)})"
    return Interval(
        label=numbers.group(one.group),
        value=math.nan if one.n is None else one.n,
        panel=numbers.subset(one.by) if several else "",
        mark=Mark.GROUP if one.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
        text=f"{numbers.whole(one.n)}{share}",
    )


def _words(rows: Sequence[GroupRow]) -> str:
    """The largest and the smallest group, and of how many no number is told."""
    by = numbers.subset(rows[0].by)
    known = [one for one in rows if one.n is not None and one.standing is not Eligibility.UNKNOWN]
    hidden = sum(one.n is None for one in rows)
    text = f"By {by}: {numbers.whole(len(rows))} groups"
    if known:
        largest, smallest = (f(known, key=lambda one: one.n or 0) for f in (max, min))
        text += (
            f", the largest {numbers.group(largest.group)} with {numbers.whole(largest.n)} people, "
            f"the smallest {numbers.group(smallest.group)} with {numbers.whole(smallest.n)}"
        )
    return text + (f"; {hidden} suppressed." if hidden else ".")
