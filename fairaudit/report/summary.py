"""The summary of several audits, the worst first, and the values of each check by data file."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

from fairaudit.base import names
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.judge import Check, Finding, Status
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import checks, content, diagnostics, headlines, numbers, pictures
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Figure,
    Heading,
    Paragraph,
    Table,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.pictures import Line, Lines, Point, Rule
from fairaudit.result import Answer, AuditResult, Verdict, list_notices
from fairaudit.result.rows import JudgedValues, deciding_key, index_rows

_MOST_NOTICES = 8
_MANY = 24
"""Maximum number of audits that are listed by default."""

_WORST = (
    "error",
    *map(str, (Verdict.FAIL, Verdict.INCONCLUSIVE)),
    "nothing",
    *map(str, (Verdict.NONE, Verdict.PASS)),
)
"""The verdicts in words, the worst first."""


def report(answers: Sequence[Answer], *, all_rows: bool = False) -> Document:
    """The report of one answer, or the summary of several (`all_rows`: followed by all reports)."""
    if len(answers) > 1:
        with_result = (answer for answer in answers if isinstance(answer.result, AuditResult))
        reports = (_report(answer, all_rows=True) for answer in with_result if all_rows)
        summary = document(answers, all_rows=all_rows)
        return (*(block for report in reports for block in report), *summary)
    return _report(answers[0], all_rows=all_rows)


def document(
    answers: Sequence[Answer],
    *,
    all_rows: bool = False,
    links: Sequence[str] | None = None,
    has_headlines: bool = False,
) -> Document:
    """The summary: a row for each answer, the errors in full, then each check in all files.

    `links` are the addresses of the single reports, in the order of the answers. With
    `has_headlines`, a row also has the headline of its worst check.
    """
    called = labels(answers)
    addresses: Sequence[str | None] = links or [None] * len(answers)
    ranked = sorted(map(_Audit, called, answers, addresses), key=_Audit.rank)
    shown = ranked if all_rows else ranked[:_MANY]
    verdict_counts = f"{numbers.counted(len(answers), 'audit')}: {verdicts(answers)}, worst first"
    total = sum((_tally(answer) for answer in answers), Counter[Status]())
    is_open = any(
        answer.result.not_enough_evidence
        for answer in answers
        if isinstance(answer.result, AuditResult)
    )
    statuses = [status for status in WORDS if total[status]]
    doubtful = Column[_Audit](
        "not enough evidence", lambda row: row.number(lambda result: result.not_enough_evidence)
    )
    columns: tuple[Column[_Audit], ...] = (
        text_column("audit", lambda row: Cell(numbers.short(row.name), href=row.link)),
        text_column("verdict", lambda row: _verdict_cell(row.answer)),
        *([text_column("what is worst", _Audit.worst)] if has_headlines else []),
        *(Column(WORDS[status], partial(_Audit.count, status=status)) for status in statuses),
        *([doubtful] if is_open else []),
        Column("rows", lambda row: row.number(lambda result: result.provenance.rows)),
    )
    more = ""
    if omitted := ranked[len(shown) :]:
        omitted_counts = verdicts([audit.answer for audit in omitted])
        more = f"and {numbers.whole(len(omitted))} more ({omitted_counts})"
        more += ": --verbose or -o FOLDER/ lists them"
    blocks: list[Block] = [
        Heading("Summary"),
        Entries([(_verdict_cell(ranked[0].answer), verdict_counts)]),
        tabulate("", columns, shown, notes=[more]),
    ]
    several = len({answer.spec for answer in answers}) > 1
    errors = [
        _error(audit.answer.result, _whose(audit.answer, several=several))
        for audit in ranked
        if isinstance(audit.answer.result, FairauditError)
    ]
    if errors:
        blocks.append(Entries(errors))
    if notices := [*_list_notices(answers)]:
        blocks.append(Entries([(Cell("notice", Tone.WARN), text) for text in notices]))
    trends = sorted(_trends(answers, called), key=lambda trend: trend.rank)
    changes = [*_changes(trends)]
    if changes:
        blocks[2:2] = [Heading("What changed last"), *changes, Heading("All audits")]
    return (*blocks, *_trends_section(trends, all_rows=all_rows))


def _list_notices(answers: Sequence[Answer]) -> Iterator[str]:
    """The notices on the data of all audits; then the most frequent ones of audits that pass."""
    yield from map(names.line, list_notices(answers))
    results = (answer.result for answer in answers)
    passed = [
        one for one in results if isinstance(one, AuditResult) and one.verdict is Verdict.PASS
    ]
    among = numbers.counted(len(passed), "passed audit")
    for describe in (headlines.turning, headlines.most_left_out):
        if doubtful := [result for result in passed if describe(result.findings)]:
            text = describe(chain(*(result.findings for result in doubtful)))
            yield f"{text} (in {numbers.whole(len(doubtful))} of {among})"
    times = Counter(str(notice) for result in passed for notice in result.notices)
    for text, count in times.most_common(_MOST_NOTICES):
        yield f"{names.line(text)} (in {numbers.whole(count)} of {among})"
    if (more := len(times) - _MOST_NOTICES) > 0:
        yield f"{numbers.counted(more, 'more notice')}: --verbose or -o FOLDER/ lists them"


def labels(answers: Sequence[Answer]) -> list[str]:
    """A name for each audit: the spec, the data or both, without the common folder."""
    specs, data = (
        told_apart([answer.spec for answer in answers]),
        [answer.data for answer in answers],
    )
    if len({*data}) == 1:
        return specs
    files = told_apart([name or "" for name in data])
    if len({*specs}) == 1:
        return files
    return [f"{spec} {name}".strip() for spec, name in zip(specs, files, strict=True)]


def told_apart(paths: Sequence[str]) -> list[str]:
    """The paths without the leading folders that all paths have in common."""
    try:
        shared = os.path.commonpath([Path(path).parent for path in paths])
    except ValueError:
        # Relative and absolute paths have no folder in common.
        return [*paths]
    return [os.path.relpath(path, shared) if path else path for path in paths]


def _verdict_cell(answer: Answer) -> Cell:
    if isinstance(answer.result, AuditResult):
        return checks.verdict_cell(answer.result)
    return Cell(str(answer.result.verdict).upper(), Tone.BAD)


def worst_verdict(answers: Sequence[Answer]) -> str:
    """The worst verdict of several answers, in a word."""
    return min((str(answer.result.verdict) for answer in answers), key=_WORST.index)


def verdicts(answers: Sequence[Answer]) -> str:
    """The number of answers with each verdict: `3 error, 4 fail, 193 pass`."""
    counted = Counter(str(answer.result.verdict) for answer in answers)
    return ", ".join(f"{numbers.whole(counted[word])} {word}" for word in _WORST if counted[word])


class _Audit(Frozen):
    """An answer with its name in the summary, and the address of its report."""

    name: str
    answer: Answer
    link: str | None

    def rank(self) -> tuple[int, tuple[int, ...], object]:
        """A key that sorts the worst first."""
        tally = _tally(self.answer)
        counts = tuple(-tally[status] for status in checks.WORST_FIRST if status is not Status.PASS)
        verdict = _WORST.index(str(self.answer.result.verdict))
        return verdict, counts, (numbers.natural(self.name), self.name)

    def worst(self) -> str:
        """The headline of the worst check, or the message of the error."""
        result = self.answer.result
        if isinstance(result, FairauditError):
            return names.line(result.message)
        return headline(result)

    def number(self, count: Callable[[AuditResult], int | None]) -> str:
        """A number from the result as text; empty for an error."""
        result = self.answer.result
        return numbers.whole(count(result)) if isinstance(result, AuditResult) else ""

    def count(self, status: Status) -> str:
        return self.number(lambda result: result.tally[status])


def headline(result: AuditResult) -> str:
    """The headline of the worst check of an audit; empty if every check passed."""
    first = next(iter(diagnostics.diagnose(result)), None)
    return "" if first is None or first.level is diagnostics.Level.PASS else first.headline


def _tally(answer: Answer) -> Counter[Status]:
    return Counter(answer.result.tally if isinstance(answer.result, AuditResult) else ())


def _report(answer: Answer, *, all_rows: bool) -> Document:
    if isinstance(answer.result, FairauditError):
        return (Heading(f"Audit: {_title(answer)}"), Entries([_error(answer.result, "")]))
    return content.document(answer.result, all_rows=all_rows, data=answer.data)


def _title(answer: Answer) -> str:
    """The spec and the data of an answer, as printable names."""
    question = (answer.spec, answer.data)
    return " ".join(names.copied(part) for part in question if part is not None)


def _whose(answer: Answer, *, several: bool) -> str:
    """The spec or data of an error, as a prefix of its text; empty if the text already has it."""
    if several or answer.data is None:
        return f"{_title(answer)}: "
    data = names.copied(answer.data)
    return "" if str(answer.result).startswith((answer.data, data)) else f"{data}: "


def _error(error: FairauditError, source: str) -> tuple[Cell, str]:
    return Cell(error.verdict, Tone.BAD), f"{source}{error}"


WORDS = {**checks.STATUS_WORDS, Status.INCONCLUSIVE: "inconcl."}
"""The statuses as headings of columns, the worst first."""

_FEW = 12
_MOST_DRAWN = 6
_MOST_NAMED = 14
"""Maximum number of names that fit below an axis."""
_MONTH = re.compile(r"(.*?)(\d{4})-(\d{2})(?!\d)(.*)", re.DOTALL)


class _Trend(Frozen):
    """A check of one spec over its data files, which are in natural order.

    `axis` contains all files of the spec, and the months without a file. `values` has the value of
    each judged group in each file.
    """

    spec: str
    findings: Mapping[str, Finding]
    values: Mapping[str, JudgedValues]
    axis: Sequence[str]

    @property
    def first(self) -> Finding:
        """The finding of the check in the first file that has this check."""
        return next(iter(self.findings.values()))

    @property
    def counted(self) -> Counter[Status]:
        return Counter(finding.status for finding in self.findings.values())

    def count(self, status: Status) -> Cell:
        times = self.counted[status]
        is_bad = times and status in {Status.FAIL, Status.INCONCLUSIVE}
        return Cell(numbers.whole(times), Tone.BAD if is_bad else Tone.PLAIN)

    def draw(self) -> Lines | None:
        """A line for each group over the files; None if no line has two values.

        If there are many groups, only groups that decided the check have lines. The axis shows
        names for few files, and numbers for many; a file without a value leaves a gap.
        """
        check = self.first.check
        if not isinstance(check, Check):
            return None
        is_named = len(self.axis) <= _MOST_NAMED
        names = [numbers.short(name) for name in self.axis]
        places: Sequence[str | int] = names if is_named else range(1, len(names) + 1)
        called = {
            who: numbers.group((*group, *stratum))
            for values in self.values.values()
            for who, (group, stratum, _) in values.items()
        }
        decided = Counter(map(deciding_key, self.findings.values()))
        lines = [
            Line(
                called[who],
                [
                    _point(place, judged[who][2] if who in judged else None)
                    for place, judged in (
                        (place, self.values.get(name, {}))
                        for place, name in zip(places, self.axis, strict=True)
                    )
                ],
            )
            for who in sorted(called, key=lambda who: -decided[who])
        ]
        if len(lines) < 2:
            found = [self.findings.get(name) for name in self.axis]
            values = [None if finding is None else finding.estimate for finding in found]
            lines = [Line("", [*map(_point, places, values)])]
        drawn = [line for line in lines if sum(math.isfinite(point.y) for point in line.points) > 1]
        if not drawn:
            return None
        first, last = (numbers.short(self.axis[index], 16) for index in (0, -1))
        rules = [
            Rule(float(bound), label=f"{word} {side} {bound}", limit=word)
            for word, limit in (("fail", check.fail), ("warn", check.warn))
            if limit is not None
            for side, bound in (("below", limit.below), ("above", limit.above))
            if bound is not None
        ]
        return Lines(
            "file" if is_named else f"file, from {first} to {last}",
            check.metric.short or check.metric.title,
            drawn[: pictures.MOST_LINES],
            limits=rules,
        )

    @property
    def rank(self) -> tuple[int, ...]:
        """A key that sorts the check that fails most often first."""
        return tuple(-self.counted[status] for status in checks.WORST_FIRST)


def _trends_section(trends: Sequence[_Trend], *, all_rows: bool) -> Iterator[Block]:
    """The checks of a spec over several files; the check that fails most often comes first."""
    if not trends:
        return
    yield Heading("Checks over the files")
    # The number of files with each status; statuses that never occur have no column.
    total = sum((trend.counted for trend in trends), Counter[Status]())
    statuses = [status for status in WORDS if total[status]]
    several = len({trend.spec for trend in trends}) > 1
    columns: tuple[Column[_Trend], ...] = (
        text_column(
            "check",
            lambda trend: (
                (f"{numbers.short(trend.spec)} " if several else "") + trend.first.check.id
            ),
        ),
        *(Column(WORDS[status], partial(_Trend.count, status=status)) for status in statuses),
        Column("files", lambda trend: numbers.whole(len(trend.findings))),
    )
    yield tabulate(
        "how often each check failed, warned or passed; most failures first",
        columns,
        trends,
        most=None if all_rows else _FEW,
        more=lambda n: f"and {numbers.whole(n)} more: --verbose lists them all" if n else "",
    )
    drawn = [(trend, lines) for trend in trends if (lines := trend.draw()) is not None]
    for trend, lines in drawn[:_MOST_DRAWN]:
        yield Figure(checks.title(trend.first), lines)
    if more := len(trends) - min(len(drawn), _MOST_DRAWN):
        text = "those that fail most often come first"
        yield Paragraph(pictures.not_shown(more, "checks as pictures", text).strip(), Tone.MUTED)


def _trends(answers: Sequence[Answer], names: Sequence[str]) -> Iterator[_Trend]:
    """A trend for each check of a spec, for every spec with several results."""
    from fairaudit.tools.compare.checks import find_values

    ordered = sorted(zip(names, answers, strict=True), key=lambda pair: numbers.natural(pair[0]))
    for spec in dict.fromkeys(answer.spec for _, answer in ordered):
        outcomes = [(name, answer.result) for name, answer in ordered if answer.spec == spec]
        results = [(name, result) for name, result in outcomes if isinstance(result, AuditResult)]
        axis = [name for name, _ in outcomes]
        # If the files are monthly, the axis also has the months in between without a file.
        parts = [match.groups() for name in axis if (match := _MONTH.fullmatch(name))]
        months = [12 * int(year) + int(month) - 1 for _, year, month, _ in parts]
        is_series = len({(before, after) for before, _, _, after in parts}) == 1
        if is_series and len({*months}) == len(axis):
            every = range(min(months), max(months) + 1)
            before, *_, after = parts[0]
            if len(every) <= _MANY * len(months) + 1:
                axis = [f"{before}{month // 12}-{month % 12 + 1:02}{after}" for month in every]
        found: dict[str, dict[str, Finding]] = {}
        judged: dict[str, dict[str, JudgedValues]] = {}
        for name, result in results if len(results) > 1 else ():
            rows = index_rows(result.rates, result.comparisons)
            for finding in result.findings:
                found.setdefault(finding.check.id, {})[name] = finding
                judged.setdefault(finding.check.id, {})[name] = find_values(finding, rows)
        for name, findings in found.items():
            yield _Trend(spec, findings, judged[name], axis)


def _changes(trends: Sequence[_Trend]) -> Iterator[Table]:
    """What changed between the last two files of a series.

    Files are a series if their names differ only in numbers, such as a date.
    """
    for spec in dict.fromkeys(trend.spec for trend in trends):
        series = [trend for trend in trends if trend.spec == spec]
        axis = series[0].axis
        if len({re.sub(r"\d+", "", name) for name in axis}) > 1 or len({*axis}) < 2:
            continue
        *_, then, now = dict.fromkeys(
            name for name in axis if any(name in trend.findings for trend in series)
        )
        both = [t.findings for t in series if {then, now} <= t.findings.keys()]
        rows = [(found[then], found[now]) for found in both]
        rows.sort(
            key=lambda pair: (
                pair[0].status is pair[1].status,
                checks.WORST_FIRST.index(pair[1].status),
            )
        )
        columns: tuple[Column[tuple[Finding, Finding]], ...] = (
            text_column("check", lambda pair: checks.title(pair[1])),
            text_column(numbers.short(then), lambda pair: _state(pair[0])),
            text_column(numbers.short(now), lambda pair: _state(pair[1])),
        )
        caption = f"from {then} to {now}; `fairaudit compare` tests the changes"
        yield tabulate(
            caption,
            columns,
            rows,
            most=_FEW,
            more=lambda n: f"and {numbers.counted(n, 'more check')} below" if n else "",
        )


def _state(finding: Finding) -> Cell:
    cell = checks.status_cell(finding)
    value = "" if finding.estimate is None else numbers.value_of(finding.estimate)
    return replace(cell, text=f"{cell.text} {value}".rstrip())


def _point(place: str | int, estimate: Estimate | None) -> Point:
    """The value in a file as a point; a missing value becomes a gap in the line."""
    if estimate is None or estimate.suppressed or not math.isfinite(estimate.value):
        return Point(place, math.nan)
    ends = (estimate.low, estimate.high)
    is_known = all(end is not None and math.isfinite(end) for end in ends)
    return Point(place, estimate.value, *(ends if is_known else ()))
