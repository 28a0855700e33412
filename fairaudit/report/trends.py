"""A check over many files: how often each status, values in order; its own most lines, pictures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, TypeGuard

from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import describe_group
from fairaudit.judge import Check, Finding, Status
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import checks, numbers
from fairaudit.report.blocks import Block, Cell, Column, Figure, Heading, Table, Tone, tabulate
from fairaudit.report.pictures import Line, Lines, Point
from fairaudit.result import Answer, AuditResult

if TYPE_CHECKING:
    from fairaudit.tools.compare import GroupKey, JudgedValues

WORDS = {**checks.STATUS_WORDS, Status.INCONCLUSIVE: "inconcl."}
"""The statuses as headings of columns, the worst first."""

_FEW = 12
_MOST_DRAWN = 6
_MOST_NAMED = 14
"""So many names have room below an axis."""
_MOST_OF_A_NAME = 16
_MOST_LINES = 6
"""More lines are not told apart."""
_NAMED = 3
_MOST_INTERVALS = 60


class _Trend(Frozen):
    """A check of one spec in its files, in their natural order; `failed` have no result at all.

    `values` are those of every group that it judges, file by file: each group is followed by
    itself. They are empty where one value is of all groups.
    """

    spec: str
    findings: Sequence[tuple[str, Finding]]
    failed: Sequence[str] = ()
    values: Sequence[JudgedValues] = ()

    @property
    def id(self) -> str:
        """The id of the check."""
        return self.findings[0][1].check.id

    @property
    def counted(self) -> Counter[Status]:
        """How many files came out how."""
        return Counter(finding.status for _, finding in self.findings)

    @property
    def worst_first(self) -> tuple[int, ...]:
        """A key that sorts the check that fails most often first."""
        return tuple(-self.counted[status] for status in checks.WORST_FIRST)


def section(answers: Sequence[Answer], names: Sequence[str], *, all_rows: bool) -> Iterator[Block]:
    """What the checks of a spec say over several files, the one that fails most often first."""
    trends = sorted(_trends(answers, names), key=lambda trend: trend.worst_first)
    if not trends:
        return
    yield Heading("Checks over the files")
    yield _table(trends, None if all_rows else _FEW)
    drawn = [(trend, lines) for trend in trends if (lines := _lines(trend)) is not None]
    more = len(trends) - min(len(drawn), _MOST_DRAWN)
    for index, (trend, lines) in enumerate(islice(drawn, _MOST_DRAWN)):
        note = "" if _has_room(lines.lines) else "Too many intervals to draw. "
        omitted = len({who for values in trend.values for who in values}) - len(lines.lines)
        if trend.values and omitted > 0:
            note += f"{omitted} more {'group is' if omitted == 1 else 'groups are'} not drawn. "
        if trend.failed:
            failed = [numbers.short(name, _MOST_OF_A_NAME) for name in trend.failed]
            note += f"No result of {numbers.first_few(failed, _NAMED)}. "
        if more and index == min(len(drawn), _MOST_DRAWN) - 1:
            word = "check is" if more == 1 else "checks are"
            note += f"{more} more {word} not drawn: those that fail most often come first."
        yield Figure(
            checks.title(trend.findings[0][1]), _in_words(trend, lines), lines, note.strip()
        )


def _trends(answers: Sequence[Answer], names: Sequence[str]) -> Iterator[_Trend]:
    """Each check of each spec that has several results."""
    from fairaudit.tools.compare import find_values, index_rows

    ordered = sorted(zip(names, answers, strict=True), key=lambda pair: numbers.natural(pair[0]))
    for spec in dict.fromkeys(answer.spec for _, answer in ordered):
        outcomes = [(name, answer.result) for name, answer in ordered if answer.spec == spec]
        results = [(name, result) for name, result in outcomes if isinstance(result, AuditResult)]
        failed = [name for name, result in outcomes if not isinstance(result, AuditResult)]
        checks_of: dict[str, list[tuple[str, Finding, JudgedValues]]] = {}
        for name, result in results if len(results) > 1 else ():
            rows = index_rows(result)
            for finding in result.findings:
                row = (name, finding, find_values(finding, rows))
                checks_of.setdefault(finding.check.id, []).append(row)
        for several in checks_of.values():
            findings = [(name, finding) for name, finding, _ in several]
            groups = {who for *_, values in several for who in values}
            values = [values for *_, values in several] if len(groups) > 1 else ()
            yield _Trend(spec, findings, failed, values)


def _table(trends: Sequence[_Trend], most: int | None) -> Table:
    """How often each check came out how; statuses that never occur have no column."""
    total = sum((trend.counted for trend in trends), Counter[Status]())
    statuses = [status for status in WORDS if total[status]]
    several = len({trend.spec for trend in trends}) > 1
    columns: tuple[Column[_Trend], ...] = (
        Column(
            "check",
            lambda trend: f"{numbers.short(trend.spec)} {trend.id}" if several else trend.id,
            numeric=False,
        ),
        *(Column(WORDS[status], partial(_times, status)) for status in statuses),
        Column("files", lambda trend: numbers.whole(len(trend.findings))),
    )
    caption = "how often each check failed, warned or passed; most failures first"
    return tabulate(caption, columns, trends, most=most, more=_more)


def _more(count: int) -> str:
    return f"and {numbers.whole(count)} more: --verbose lists them all" if count else ""


def _times(status: Status, trend: _Trend) -> Cell:
    times = trend.counted[status]
    is_bad = times and status in {Status.FAIL, Status.INCONCLUSIVE}
    return Cell(numbers.whole(times), Tone.BAD if is_bad else Tone.PLAIN)


def _lines(trend: _Trend) -> Lines | None:
    """The values of a check from file to file, None where fewer than two are numbers.

    Few files stand by their names, many by their numbers, where those without a value leave a gap.
    """
    check = trend.findings[0][1].check
    is_named = len(trend.findings) <= _MOST_NAMED
    names = [numbers.short(name) for name, _ in trend.findings]
    places: Sequence[str | int] = names if is_named else range(1, len(names) + 1)
    points = [
        _point(place, finding.estimate)
        for place, (_, finding) in zip(places, trend.findings, strict=True)
    ]
    if sum(math.isfinite(point.y) for point in points) < 2 or not isinstance(check, Check):
        return None
    first, last = (numbers.short(trend.findings[index][0], _MOST_OF_A_NAME) for index in (0, -1))
    below = "file" if is_named else f"file, from {first} to {last}"
    lines = _lines_of_groups(trend, places) or [Line("", points)]
    if not _has_room(lines):
        lines = [
            replace(line, points=[Point(point.x, point.y) for point in line.points])
            for line in lines
        ]
    bounds = [bound for limit in (check.warn, check.fail) if limit for bound in limit.bounds]
    return Lines(
        below,
        check.metric.short or check.metric.title,
        lines,
        limits=tuple(dict.fromkeys(map(float, bounds))),
    )


def _lines_of_groups(trend: _Trend, places: Sequence[str | int]) -> list[Line]:
    """A line for each group, or stratum; of many those that were the worst most often.

    Each has a point for every file, so that all share one axis and a file without a value is a gap.
    """
    numeric: Counter[GroupKey] = Counter()
    called: dict[GroupKey, str] = {}
    for values in trend.values:
        for who, (group, stratum, estimate) in values.items():
            if _is_number(estimate):
                numeric[who] += 1
                called[who] = numbers.group((*group, *stratum))
    worst = _worst_times(trend)
    several = [who for who in called if numeric[who] > 1]
    several.sort(key=lambda who: -worst[who])
    return [
        Line(
            called[who],
            [
                _point(place, values[who][2] if who in values else None)
                for place, values in zip(places, trend.values, strict=False)
            ],
        )
        for who in sorted(several[:_MOST_LINES], key=lambda who: -numeric[who])
    ]


def _worst_times(trend: _Trend) -> Counter[GroupKey]:
    """In how many files each group was the worst."""
    from fairaudit.tools.compare import find_deciding_group

    return Counter(
        find_deciding_group(finding)
        for _, finding in trend.findings
        if _is_number(finding.estimate)
    )


def _has_room(lines: Sequence[Line]) -> bool:
    """Whether intervals may stand beside each other and still be told apart."""
    return sum(len(line.points) for line in lines) <= _MOST_INTERVALS


def _worst_groups(trend: _Trend) -> str:
    """Whose the worst values are: where they are of several groups, no line joins them."""
    called = {
        who: (group, stratum)
        for values in trend.values
        for who, (group, stratum, _) in values.items()
    }
    groups = []
    for who, times in _worst_times(trend).most_common(_NAMED):
        group, stratum = called.get(who, ((), ()))
        name = describe_group((*group, *stratum)) if group or stratum else "others"
        groups.append(f"{name} in {numbers.whole(times)}")
    more = len(_worst_times(trend)) - len(groups)
    return f"of {', '.join(groups)}" + (f" and {more} more" if more > 0 else "")


def _is_number(estimate: Estimate | None) -> TypeGuard[Estimate]:
    return estimate is not None and not estimate.suppressed and math.isfinite(estimate.value)


def _point(place: str | int, estimate: Estimate | None) -> Point:
    """The value of a file; without a number it is a gap."""
    if not _is_number(estimate):
        return Point(place, math.nan)
    low, high = estimate.low, estimate.high
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        return Point(place, estimate.value)
    return Point(place, estimate.value, low, high)


def _in_words(trend: _Trend, lines: Lines) -> str:
    """The picture in a sentence: between which values, how often beyond a limit, how many lack."""
    points = [
        (finding.estimate.value, numbers.short(name))
        for name, finding in trend.findings
        if _is_number(finding.estimate)
    ]
    (least, where), (most, there) = (
        extreme(points, key=lambda pair: pair[0]) for extreme in (min, max)
    )
    count = len(trend.findings)
    text = f"{trend.id} in {numbers.whole(count)} files: "
    worst = "the worst value " if trend.values else ""
    text += f"{worst}from {numbers.number(least)} ({where}) to {numbers.number(most)} ({there})"
    if trend.values:
        text += f", {_worst_groups(trend)}"
    if lines.limits:
        text += f"; limit {' and '.join(f'{limit:g}' for limit in lines.limits)}"
    counts = [
        f"{word} {trend.counted[status]}" for status, word in WORDS.items() if trend.counted[status]
    ]
    text += f"; {', '.join(counts)}"
    missing = count - len(points)
    return text + (f"; no number in {numbers.whole(missing)}" if missing else "") + "."
