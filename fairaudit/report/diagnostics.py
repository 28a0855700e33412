"""`Diagnostic`: a check's words, level (`error`, `note`; not SARIF's), picture; `AuditFailed`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum

from fairaudit.base import names
from fairaudit.base.errors import FairauditError, Place, SpecError
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
from fairaudit.report.pictures import MOST_CHECKED, Intervals, Mark, without_middle
from fairaudit.report.rate_figures import digits_of, limit_rules, rate_interval
from fairaudit.result import AuditResult, RateRow


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
"""The number of checks that an assertion lists."""


class SourceLine(Frozen):
    """The line of a spec that sets a limit, cut where the limit begins and where it ends."""

    number: int
    before: str
    limit: str
    after: str


class Diagnostic(Frozen):
    """All texts about one check: a sentence, the place of its limit, and labelled lines.

    `code` is the metric, `at` and `place` the file, line and column of the limit, which goes up to
    the column `end`; `value`, `interval` and `limit` are short texts for a row of a table. `lines`
    are for the first screen, `facts` are all texts. A line without a label continues the one above.
    """

    result: AuditResult
    finding: Finding
    level: Level
    code: str
    headline: str
    at: Place | None
    end: int | None
    place: str
    source: SourceLine | None
    value: str
    interval: str
    limit: str
    lines: tuple[tuple[str, str], ...]
    facts: tuple[tuple[str, str], ...]

    @property
    def severity(self) -> Level | None:
        """How a build server is to take it; None where it is to say nothing.

        A warning is an error where the audit is to fail on warnings.
        """
        status = checks.gated(self.finding, self.result)
        is_silent = status in {Status.SKIPPED, Status.PASS} and not self.finding.not_enough_evidence
        return Level.ERROR if status is Status.FAIL else None if is_silent else self.level

    @property
    def sentence(self) -> str:
        """The headline and each fact behind its label, in one line with single blanks."""
        facts = (" ".join(text.split()) for text in self.labelled(", "))
        return "; ".join([self.headline, *facts])

    def labelled(self, separator: str = "\n  ") -> list[str]:
        """Each label once, followed by all its facts."""
        return [f"{label}: {text}" for label, text in by_label(self.facts, separator)]

    @property
    def picture(self) -> Intervals | None:
        """The compared rates, the lowest first, with the limit; None without rates."""
        result, finding = self.result, self.finding
        check, parts = finding.check, checks.deciding_parts(finding)
        if not isinstance(check, Check) or len(parts) != 1 or check.against is not None:
            return None
        sides = {side.group: side for side in (parts[0].first, parts[0].second) if side is not None}
        metric = parts[0].metric if parts[0].outcome is None else SELECTION_RATE.id
        of_check = (metric, check.of, check.by, finding.stratum)
        rows = [
            row
            for row in result.rates
            if (row.metric, row.of, row.by, row.stratum) == of_check
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

        def place(row: RateRow) -> tuple[bool, bool, float]:
            value = row.estimate.value
            return row.standing is not Eligibility.ELIGIBLE, not math.isfinite(value), value

        drawn = [(row, rate_interval(row, digits)) for row in sorted(rows, key=place)]
        return Intervals(
            metric_titles.title(metric, check.of),
            [
                replace(
                    interval,
                    label=numbers.people(row.group),
                    panel="",
                    mark=Mark.GROUP if row.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
                    text=interval.text.removesuffix(" reference"),
                    strong=row.group in sides,
                )
                for row, interval in drawn
            ],
            rules,
            percent=metric_titles.is_share(metric),
        )

    @property
    def figure(self) -> Figure | None:
        """Its picture with the headline as title."""
        picture = self.picture
        if picture is None:
            return None
        picture = replace(picture, rows=without_middle(picture.rows, MOST_CHECKED))
        return Figure(self.headline, picture)


def diagnose(result: AuditResult) -> tuple[Diagnostic, ...]:
    """A diagnostic for each check, the most urgent first."""
    diagnostics = diagnose_by_id(result)
    ranked = [diagnostics[finding.check.id] for finding in checks.by_urgency(result.findings)]
    return tuple(sorted(ranked, key=lambda diagnostic: [*Level].index(diagnostic.level)))


def diagnose_by_id(result: AuditResult) -> dict[str, Diagnostic]:
    """The diagnostic of each check by its id, in their order."""
    # A level that several attributes have is ambiguous without its column.
    columns: dict[str, set[str]] = {}
    for row in result.groups:
        for column, level in row.group:
            columns.setdefault(level, set()).add(column)
    shared = frozenset(level for level, having in columns.items() if len(having) > 1)
    return {finding.check.id: _diagnostic(result, finding, shared) for finding in result.findings}


def by_label(lines: Iterable[tuple[str, str]], separator: str = "\n") -> list[tuple[str, str]]:
    """Each label once, with all its lines."""
    texts: dict[str, list[str]] = {}
    label = ""
    for name, text in lines:
        label = name or label
        texts.setdefault(label, []).append(text)
    return [(label, separator.join(several)) for label, several in texts.items()]


def _diagnostic(result: AuditResult, finding: Finding, shared: frozenset[str]) -> Diagnostic:
    """The diagnostic of a check; levels that several attributes share have their column added."""
    headline, by = headlines.headline(finding), f"by {numbers.subset(finding.check.by)}"
    levels = {level for group in (finding.first, finding.second) for _, level in group}
    headline += f", {by}" if levels & shared and by not in headline else ""
    level = _LEVELS[finding.status]
    at, source = finding.check.place, None
    quote = finding.check.source.fail or finding.check.source.warn
    if finding.limit is not None and finding.limit == finding.check.warn != finding.check.fail:
        quote = finding.check.source.warn or quote
    if quote is not None:
        at = None if at is None else Place(at.file, quote.line, quote.column)
        start, end = quote.column - 1, quote.end - 1
        parts = (quote.text[:start], quote.text[start:end], quote.text[end:])
        source = SourceLine(quote.line, *map(names.printable, parts))
    lines = tuple(diagnostic_lines.lines(result, finding))
    return Diagnostic(
        result=result,
        finding=finding,
        # A pass in doubt is a note.
        level=Level.NOTE if level is Level.PASS and finding.is_in_doubt else level,
        code=names.copied(finding.check.metric_id),
        headline=headline,
        at=at,
        end=None if quote is None else quote.end,
        place="" if at is None else f"{checks.place(at)}:{at.column}",
        source=source,
        value=headlines.value(finding),
        interval=diagnostic_lines.interval(finding),
        limit=headlines.limits(finding),
        lines=lines,
        facts=(*finding_facts.value_lines(finding), *lines, *finding_facts.facts(finding)),
    )


def describe_failure(result: AuditResult) -> str:
    """The verdict, and two lines for each check that did not pass, as a test runner shows it.

    The most urgent check comes first.
    """
    passed = {Status.PASS, Status.WARN, Status.WAIVED}
    failed = [row for row in diagnose(result) if checks.gated(row.finding, result) not in passed]
    lines = [f"{len(failed)} of {len(result.findings)} checks did not pass"]
    for row in failed[:_MOST_FAILED]:
        interval = f" ({row.interval})" if row.interval else ""
        facts = [f"{row.value}{interval}" if row.value else "", row.limit, row.place]
        lines.append(f"{row.finding.status}: {row.finding.check.id}: {row.headline}")
        lines.append(f"  {'; '.join(filter(None, facts))}")
    lines += [f"and {len(failed) - _MOST_FAILED} more"] if len(failed) > _MOST_FAILED else []
    return f"the verdict is {result.verdict}: " + "\n  ".join(lines)


def list_faults(error: FairauditError) -> Iterator[tuple[str, Place | None]]:
    """The faults without a verdict: each fault of a spec with its place, or the error."""
    if not isinstance(error, SpecError):
        yield str(error), None
        return
    for fault in error.faults:
        yield ": ".join(filter(None, (fault.path, fault.message))), fault.place
