"""`Diagnostic`: a check's words, level (`error`, `note`; not SARIF's), picture; `AuditFailed`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import StrEnum

from fairaudit.base import names
from fairaudit.base.errors import Place, Quote
from fairaudit.base.frozen import Frozen, replace
from fairaudit.judge import Check, Finding, Status
from fairaudit.metrics import Eligibility
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.report import (
    checks,
    diagnostic_lines,
    finding_facts,
    headlines,
    metric_titles,
    numbers,
)
from fairaudit.report.blocks import Figure, Tone
from fairaudit.report.pictures import MOST_CHECKED, Interval, Intervals, Mark, without_middle
from fairaudit.report.rate_figures import digits_of, limit_rules, rate_interval
from fairaudit.result import AuditResult, FailOn, RateRow


class Level(StrEnum):
    """How urgent a diagnostic is, in the words of compilers; the worst first."""

    ERROR = "error"
    INCONCLUSIVE = "inconclusive"
    WARN = "warn"
    NOTE = "note"
    PASS = "pass"


_LEVELS = {
    Status.FAIL: Level.ERROR,
    Status.INCONCLUSIVE: Level.INCONCLUSIVE,
    Status.WARN: Level.WARN,
    Status.WAIVED: Level.NOTE,
    Status.SKIPPED: Level.NOTE,
    Status.PASS: Level.PASS,
}
TONES = {
    Level.ERROR: Tone.BAD,
    Level.INCONCLUSIVE: Tone.BAD,
    Level.WARN: Tone.WARN,
    Level.NOTE: Tone.MUTED,
    Level.PASS: Tone.GOOD,
}

_MOST_FAILED = 5
"""So many checks an assertion tells."""


class SourceLine(Frozen):
    """The line of a spec that sets a limit, cut where the limit begins and where it ends."""

    number: int
    before: str
    limit: str
    after: str


class Explanation(Frozen):
    """All that is said of a check: a sentence, and labelled lines with everything else.

    A line without a label goes on with the one above.
    """

    headline: str
    facts: tuple[tuple[str, str], ...]

    @property
    def sentence(self) -> str:
        """The headline and each fact behind its label, in one line with single blanks."""
        return "; ".join([self.headline, *(" ".join(line.split()) for line in self.lines(", "))])

    def lines(self, separator: str = "\n  ") -> list[str]:
        """Each label once, before all that is told under it."""
        return [f"{label}: {text}" for label, text in by_label(self.facts, separator)]


class Diagnostic(Frozen):
    """What a report tells of one check: a sentence, where it is asked, and short labelled lines.

    `code` is the metric, `place` the file, line and column of the limit; `value`, `interval` and
    `limit` are short texts for a row of a table. `lines` stand on the first screen, all of them in
    the `explanation`.
    """

    finding: Finding
    level: Level
    code: str
    explanation: Explanation
    place: str
    source: SourceLine | None
    value: str
    interval: str
    limit: str
    lines: tuple[tuple[str, str], ...]
    picture: Intervals | None = None

    @property
    def headline(self) -> str:
        """Who is how far from whom, in one sentence."""
        return self.explanation.headline

    @property
    def figure(self) -> Figure | None:
        """Its picture with the headline as title, and all that it shows in words."""
        if self.picture is None:
            return None
        picture = replace(self.picture, rows=without_middle(self.picture.rows, MOST_CHECKED))
        values = [f"{row.label} {row.text}".rstrip() for row in picture.rows]
        rules = [rule.label for rule in picture.rules if rule.label]
        return Figure(self.headline, f"{', '.join([*values, *rules])}.", picture)


def diagnose(result: AuditResult) -> tuple[Diagnostic, ...]:
    """A diagnostic for each check, the most urgent first."""
    shared = _shared_levels(result)
    diagnostics = [
        _diagnostic(result, finding, shared) for finding in checks.by_urgency(result.findings)
    ]
    return tuple(sorted(diagnostics, key=lambda diagnostic: [*Level].index(diagnostic.level)))


def explanations_of(result: AuditResult) -> dict[str, Explanation]:
    """All that is told of each check in words, by its id."""
    shared = _shared_levels(result)
    return {finding.check.id: _explain(result, finding, shared) for finding in result.findings}


def _explain(result: AuditResult, finding: Finding, shared: frozenset[str]) -> Explanation:
    facts = (
        *finding_facts.value_lines(finding),
        *diagnostic_lines.lines(result, finding),
        *finding_facts.facts(finding),
    )
    return Explanation(_headline(finding, shared), facts)


def by_label(lines: Iterable[tuple[str, str]], separator: str = "\n") -> list[tuple[str, str]]:
    """Each label once, with all its lines."""
    texts: dict[str, list[str]] = {}
    label = ""
    for name, text in lines:
        label = name or label
        texts.setdefault(label, []).append(text)
    return [(label, separator.join(several)) for label, several in texts.items()]


def _headline(finding: Finding, shared: frozenset[str]) -> str:
    """The headline, with the attributes where a level of theirs does not tell them."""
    groups = (finding.first, finding.second)
    is_unclear = any(level in shared for group in groups for _, level in group)
    headline, by = headlines.headline(finding), f"by {numbers.subset(finding.check.by)}"
    return f"{headline}, {by}" if is_unclear and by not in headline else headline


def _shared_levels(result: AuditResult) -> frozenset[str]:
    """The levels that more than one attribute has: nobody knows whose they are."""
    columns: dict[str, set[str]] = {}
    for row in result.groups:
        for column, level in row.group:
            columns.setdefault(level, set()).add(column)
    return frozenset(level for level, having in columns.items() if len(having) > 1)


def _diagnostic(result: AuditResult, finding: Finding, shared: frozenset[str]) -> Diagnostic:
    place, quote = limit_place(finding), limit_quote(finding)
    return Diagnostic(
        finding=finding,
        level=_level(finding),
        code=names.copied(finding.check.metric_id),
        explanation=_explain(result, finding, shared),
        place="" if place is None else f"{checks.place(place)}:{place.column}",
        source=None if quote is None else _source(quote),
        value=headlines.value(finding),
        interval=diagnostic_lines.interval(finding),
        limit=headlines.limits(finding),
        lines=tuple(diagnostic_lines.lines(result, finding)),
        picture=_picture(result, finding),
    )


def _level(finding: Finding) -> Level:
    """How urgent a finding is: a pass that is no all-clear is a note."""
    level = _LEVELS[finding.status]
    return Level.NOTE if level is Level.PASS and finding.is_in_doubt else level


def limit_quote(finding: Finding) -> Quote | None:
    """The line of the limit that decides, or else of the one there is."""
    source = finding.check.source
    if finding.limit is not None and finding.limit == finding.check.warn != finding.check.fail:
        return source.warn or source.fail
    return source.fail or source.warn


def limit_place(finding: Finding) -> Place | None:
    """Where the limit stands that decides: the file, the line and the column."""
    place, quote = finding.check.place, limit_quote(finding)
    if place is None or quote is None:
        return place
    return Place(place.file, quote.line, quote.column)


def _source(quote: Quote) -> SourceLine:
    start, end = quote.column - 1, quote.end - 1
    parts = (quote.text[:start], quote.text[start:end], quote.text[end:])
    return SourceLine(quote.line, *map(names.printable, parts))


def _picture(result: AuditResult, finding: Finding) -> Intervals | None:
    """The rates that a check compares, the lowest first, beside its limit; None without them."""
    check, parts = finding.check, checks.deciding_parts(finding)
    if not isinstance(check, Check) or len(parts) != 1 or check.against is not None:
        return None
    sides = {side.group: side for side in (parts[0].first, parts[0].second) if side is not None}
    metric = parts[0].metric if parts[0].outcome is None else SELECTION_RATE.id
    rows = [
        row
        for row in result.rates
        if (row.metric, row.of, row.by, row.stratum)
        == (metric, check.of, check.by, finding.stratum)
        and not (row.parameters or row.averaged)
    ]
    values = {row.group: row.estimate.value for row in rows}
    if not rows or any(
        values.get(group) != side.estimate.value
        for group, side in sides.items()
        if side.crowd is None
    ):
        return None
    rules = [*limit_rules(finding, metric)] if parts[0].outcome is None else []
    digits = digits_of(rows, rules)
    rules = [*limit_rules(finding, metric, digits)] if rules else []
    return Intervals(
        metric_titles.title(metric, check.of),
        [_drawn(row, digits, strong=row.group in sides) for row in sorted(rows, key=_by_value)],
        rules,
        percent=metric_titles.is_share(metric),
    )


def _by_value(row: RateRow) -> tuple[bool, bool, float]:
    value = row.estimate.value
    return row.standing is not Eligibility.ELIGIBLE, not math.isfinite(value), value


def _drawn(row: RateRow, digits: int, *, strong: bool) -> Interval:
    drawn = rate_interval(row, digits)
    return replace(
        drawn,
        label=numbers.people(row.group),
        panel="",
        mark=Mark.GROUP if row.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
        text=drawn.text.removesuffix(" reference"),
        strong=strong,
    )


def describe_failure(result: AuditResult) -> str:
    """The verdict, and two lines for each check that did not pass: as a test runner shows it.

    The most urgent stand first.
    """
    passed = {Status.PASS, Status.WAIVED}
    passed |= {Status.WARN} if result.fail_on is not FailOn.WARN else set()
    failed = [case for case in diagnose(result) if case.finding.status not in passed]
    counted = f"{len(failed)} of {len(result.findings)} checks did not pass"
    lines = [line for case in failed[:_MOST_FAILED] for line in _failed_lines(case)]
    lines += [f"and {len(failed) - _MOST_FAILED} more"] if len(failed) > _MOST_FAILED else []
    return "\n  ".join([f"the verdict is {result.verdict}: {counted}", *lines])


def _failed_lines(case: Diagnostic) -> list[str]:
    interval = f" ({case.interval})" if case.interval else ""
    facts = [f"{case.value}{interval}" if case.value else "", case.limit, case.place]
    finding = case.finding
    return [
        f"{finding.status}: {finding.check.id}: {case.headline}",
        f"  {'; '.join(filter(None, facts))}",
    ]
