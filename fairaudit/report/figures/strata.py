"""A rate against a stratum, one line a group: as Figure 1 of Beutel et al. (2019) draws it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from fairaudit.cube import Group
from fairaudit.estimate import Estimate
from fairaudit.metrics import Eligibility
from fairaudit.report import numbers, sentences
from fairaudit.report.blocks import Figure
from fairaudit.report.figures import most
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult, RateRow


def by_stratum(result: AuditResult) -> Iterator[Figure]:
    """A picture for each rate, grouping and conditioning with two strata or more."""
    found: dict[tuple[str, str, tuple[str, ...], tuple[str, ...], str], list[RateRow]] = {}
    for row in result.rates:
        if row.by and row.stratum:
            given = tuple(name for name, _ in row.stratum)
            key = (row.metric, row.of, row.by, given, sentences.said(row.parameters, row.averaged))
            found.setdefault(key, []).append(row)
    several = {key: rows for key, rows in found.items() if len({row.stratum for row in rows}) > 1}
    for (metric, of, by, given, said), rows in list(several.items())[: most.STRATA_PICTURES]:
        strata = list(dict.fromkeys(row.stratum for row in rows))
        known = next(one.title for one in result.definitions if one.id == metric)
        title = sentences.heading_of(metric, of, known)
        named = f"{title} of the {of}{said}, {numbers.subset(by)} by {numbers.subset(given)}"
        yield _figure(named, title, rows, strata)


def _figure(named: str, title: str, rows: Sequence[RateRow], strata: Sequence[Group]) -> Figure:
    people: dict[Group, int] = {}
    for row in rows:
        if row.standing is not Eligibility.UNKNOWN:
            people[row.group] = people.get(row.group, 0) + (row.estimate.n or 0)
    largest = sorted(people, key=lambda group: -people[group])[: most.LINES]
    shown = strata[: most.STRATA]
    cells = {(row.group, row.stratum): row.estimate for row in rows}
    lines = [
        Line(numbers.group(group), [one for s in shown for one in _point(cells.get((group, s)), s)])
        for group in largest
    ]
    missing = [
        f"{numbers.group(row.group)} in {numbers.group(row.stratum)} ({row.estimate.state})"
        for row in rows
        if row.group in largest and not math.isfinite(row.estimate.value)
    ]
    text = " ".join(_words(line) for line in lines)
    if missing:
        text += f" Not shown: {most.listed(missing)}."
    text += most.left_out(len(people) - len(largest), "groups", "the smaller ones")
    text += most.left_out(len(strata) - len(shown), "strata", "the last ones")
    given = numbers.subset(tuple(name for name, _ in strata[0]))
    share = sentences.is_share(rows[0].metric)
    return Figure(
        named,
        text.strip(),
        Lines(given, title, lines, percent=share),
        note="Upright lines: intervals of each group in each stratum by itself."
        + most.left_out(len(people) - len(largest), "groups", "the smaller ones")
        + most.left_out(len(strata) - len(shown), "strata", "the last ones"),
    )


def _point(estimate: Estimate | None, stratum: Group) -> Iterator[Point]:
    """The point of a group in a stratum, where it has a number."""
    if estimate is not None and math.isfinite(estimate.value):
        yield Point(numbers.group(stratum), estimate.value, estimate.low, estimate.high)


def _words(line: Line) -> str:
    if not line.points:
        return f"{line.label}: no number."
    low, high = (f(line.points, key=lambda one: one.y) for f in (min, max))
    ends = [f"{numbers.number(one.y, 3)} ({one.x})" for one in (low, high)]
    return f"{line.label}: from {ends[0]} to {ends[1]}."
