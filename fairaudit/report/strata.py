"""Prose report: the section on strata (conditional measures), and weights of averages."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby, islice

from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Group, Grouping
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.judge import Check
from fairaudit.judge.simpson import GroupRate
from fairaudit.metrics import Eligibility
from fairaudit.metrics.terms import Weights
from fairaudit.report import asked_comparisons, metric_titles, numbers, pictures
from fairaudit.report.blocks import Block, Figure, Heading, Paragraph, Tone
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import AuditResult, ComparisonRow, RateRow

_NEAR = 1e-9


_ALIKE = "People alike in a declared factor"
_DECLARED = (
    "A factor is declared by the spec; whether it is legitimate is your judgement. One that is "
    "itself shaped by the disparity hides it."
)


def section(result: AuditResult, most: int | None) -> Iterator[Block]:
    """What is compared among people alike in a factor: in its strata, or averaged over them."""
    comparisons = [row for row in result.comparisons if row.stratum or row.averaged]
    if not comparisons:
        return
    rows: list[ComparisonRow] = []
    for _, run in groupby(
        comparisons, key=lambda row: (row.title, row.of, row.by, str(row.parameters))
    ):
        rows += [*run][:most]
    yield Heading(_ALIKE)
    yield Paragraph(_DECLARED, Tone.MUTED)
    yield from _by_stratum(result)
    caption = (
        "comparisons within strata, or averaged over strata with the same weights for both groups"
    )
    table = asked_comparisons.overview(rows, caption, None)
    yield replace(table, more=numbers.more_groups(len(comparisons) - len(rows)))


class WeighedStratum(Frozen):
    """A stratum where both sides have somebody: their counts, and the weight of the stratum."""

    stratum: Group
    first: GroupRate
    second: GroupRate
    weight: Fraction


def weighed(check: Check, part: ComparisonPart, result: AuditResult) -> tuple[WeighedStratum, ...]:
    """The strata behind a part whose rates are averaged; none where they do not lead to it.

    Weights add up to 1. What the sides come to must be the values that the finding has.
    """
    if check.terms.average is None or part.first is None or part.second is None:
        return ()
    rows = [
        row
        for row in result.rates
        if (row.metric, row.of, set(row.by)) == (part.metric, check.of, set(check.by))
        and {*_stratum_columns(row.stratum)} == {*check.given}
        and not {"class", "at"} & set(row.parameters)
    ]
    strata = []
    for stratum in dict.fromkeys(row.stratum for row in rows):
        groups = {
            row.group: _share(row)
            for row in rows
            if row.stratum == stratum and row.standing is not Eligibility.UNKNOWN
        }
        pair = [_of_side(side, part.first.group, groups) for side in (part.first, part.second)]
        if pair[0] is None or pair[1] is None:
            continue
        weight = _weight(check, stratum, (pair[0], pair[1]))
        if weight is not None and pair[0].under and pair[1].under:
            strata.append(WeighedStratum(stratum, pair[0], pair[1], weight))
    total = sum(stratum.weight for stratum in strata)
    if not total:
        return ()
    scaled = tuple(replace(stratum, weight=stratum.weight / total) for stratum in strata)
    values = (part.first.estimate.value, part.second.estimate.value)
    sums = (average_of(scaled, first=True), average_of(scaled, first=False))
    fits = all(abs(average - value) <= _NEAR for average, value in zip(sums, values, strict=True))
    return scaled if fits else ()


def _share(row: RateRow) -> GroupRate | None:
    estimate = row.estimate
    if estimate.numerator is None or estimate.denominator is None or estimate.n is None:
        return None
    return GroupRate(estimate.numerator, estimate.denominator, estimate.n, estimate.scale)


def _of_side(side: Side, group: Group, groups: dict[Group, GroupRate | None]) -> GroupRate | None:
    """The counts of a side in one stratum: of a group, of everybody, or of all but the group."""
    if side.crowd is None:
        return groups.get(side.group)
    others = [share for other, share in groups.items() if side.crowd != "rest" or other != group]
    known = [share for share in others if share is not None]
    if side.crowd not in {"rest", "overall"} or len(known) != len(others):
        return None
    counts = [(rate.over, rate.under, rate.n) for rate in known]
    over, under, n = map(sum, zip(*counts, strict=True)) if counts else (0, 0, 0)
    return GroupRate(over, under, n)


def _weight(check: Check, stratum: Group, pair: tuple[GroupRate, GroupRate]) -> Fraction | None:
    """What a stratum weighs, before weights are scaled; None where that is not so simple."""
    assert check.terms.average is not None
    first, second = pair
    match check.terms.average.weights:
        case Weights.POOLED:
            return Fraction(first.under + second.under)
        case Weights.UNIFORM:
            return Fraction(1)
        case Weights.REFERENCE:
            return Fraction(second.under)
        case Weights.GROUP:
            return Fraction(first.under)
        case Weights.OVERLAP:
            return Fraction(first.under * second.under, first.under + second.under)
        case Weights.LEVELS:
            return check.terms.average.of_strata([stratum])[0]
        case _:
            return None


def average_of(strata: Sequence[WeighedStratum], *, first: bool) -> Fraction:
    """The average of one side over its strata."""
    sides = ((stratum.weight, stratum.first if first else stratum.second) for stratum in strata)
    return sum((weight * Fraction(rate.over, rate.under) for weight, rate in sides), Fraction(0))


def _by_stratum(result: AuditResult) -> Iterator[Figure]:
    """A picture for each rate, grouping and conditioning with two strata or more."""
    by_conditioning: dict[tuple[object, ...], list[RateRow]] = {}
    for row in result.rates:
        if row.by and row.stratum:
            options = metric_titles.options(row.parameters, row.averaged)
            key = (row.metric, row.of, row.by, _stratum_columns(row.stratum), options)
            by_conditioning.setdefault(key, []).append(row)
    several = (rows for rows in by_conditioning.values() if len({row.stratum for row in rows}) > 1)
    for rows in islice(several, pictures.MOST_STRATUM_PICTURES):
        yield _figure(result, rows)


def _stratum_columns(stratum: Group) -> Grouping:
    return tuple(name for name, _ in stratum)


def _figure(result: AuditResult, rows: Sequence[RateRow]) -> Figure:
    first, strata = rows[0], list(dict.fromkeys(row.stratum for row in rows))
    title = metric_titles.defined_heading(result, first.metric, first.of)
    options = metric_titles.options(first.parameters, first.averaged)
    whose = f"{title}{metric_titles.of_outcome(first.metric, first.of)}{options}"
    given = numbers.subset(_stratum_columns(strata[0]))
    people: dict[Group, int] = {}
    for row in rows:
        if row.standing is not Eligibility.UNKNOWN:
            people[row.group] = people.get(row.group, 0) + (row.estimate.n or 0)
    largest = sorted(people, key=lambda group: -people[group])[: pictures.MOST_LINES]
    shown = strata[: pictures.MOST_STRATA]
    cells = {(row.group, row.stratum): row.estimate for row in rows}
    lines = [
        Line(
            numbers.group(group),
            [
                Point(numbers.group(stratum), estimate.value, estimate.low, estimate.high)
                for stratum in shown
                if (estimate := cells.get((group, stratum))) and math.isfinite(estimate.value)
            ],
        )
        for group in largest
    ]
    missing = [
        f"{numbers.group(row.group)} in {numbers.group(row.stratum)} ({row.estimate.state})"
        for row in rows
        if row.group in largest and not math.isfinite(row.estimate.value)
    ]
    text = " ".join(_words(line) for line in lines)
    if missing:
        text += f" Not shown: {numbers.first_few(missing)}."
    omitted = pictures.not_shown(len(people) - len(largest), "groups", "the smaller ones")
    omitted += pictures.not_shown(len(strata) - len(shown), "strata", "the last ones")
    return Figure(
        f"{whose}, {numbers.subset(first.by)} by {given}",
        f"{text}{omitted}".strip(),
        Lines(given, title, lines, percent=metric_titles.is_share(first.metric)),
        note=f"Upright lines: intervals of each group in each stratum by itself.{omitted}",
    )


def _words(line: Line) -> str:
    if not line.points:
        return f"{line.label}: no number."
    low, high = (f(line.points, key=lambda point: point.y) for f in (min, max))
    ends = [f"{numbers.number(point.y, 3)} ({point.x})" for point in (low, high)]
    return f"{line.label}: from {ends[0]} to {ends[1]}."
