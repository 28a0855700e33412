"""What every report tells of an audit first: its headline, and a diagnostic for each check."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from fairaudit import names
from fairaudit.errors import Place, Quote
from fairaudit.metrics import Eligibility
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.report import (
    baseline,
    checks,
    evidence,
    headlines,
    metric_titles,
    numbers,
    reversal_sentences,
)
from fairaudit.report.blocks import Cell, Figure, Tone
from fairaudit.report.pictures import Interval, Intervals, Mark
from fairaudit.report.rate_figures import limit_rules, rate_interval
from fairaudit.result import AuditResult, RateRow, Verdict
from fairaudit.simpson import Reversal
from fairaudit.subgroups import Subgroup
from fairaudit.verdict import Check, Finding, Limit, Status

_MOST_BREACHES = 3


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


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The line of a spec that sets a limit, cut where the limit begins and where it ends."""

    number: int
    before: str
    limit: str
    after: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What a report tells of one check: a sentence, where it is asked, and short labelled lines.

    `code` is the metric, `place` the file, line and column of the limit; `value`, `interval` and
    `limit` are short texts for a row of a table. A line without a label goes on with the one above.
    """

    finding: Finding
    level: Level
    code: str
    headline: str
    place: str
    source: SourceLine | None
    value: str
    interval: str
    limit: str
    lines: tuple[tuple[str, str], ...]
    picture: Intervals | None = None

    @property
    def figure(self) -> Figure | None:
        """Its picture with the headline as title, and all that it shows in words."""
        if self.picture is None:
            return None
        values = [f"{row.label} {row.text}" for row in self.picture.rows]
        rules = [rule.label for rule in self.picture.rules if rule.label]
        return Figure(self.headline, f"{', '.join([*values, *rules])}.", self.picture)


@dataclass(frozen=True, slots=True)
class AuditHeadline:
    """The first lines of a report: the verdict on what, how many checks came out how, of whom."""

    verdict: Cell
    title: str
    counts: str
    rows: str


def audit_headline(result: AuditResult, data: str | None = None) -> AuditHeadline:
    """The verdict, title and counts of an audit; `data` is audited in place of the spec's own."""
    origin, verdict = result.provenance, result.verdict
    title = names.line(origin.title) or names.copied(origin.spec_path)
    title += "" if data is None else f", {names.copied(Path(data).name)}"
    counts = checks.outcome(result) if result.findings else "nothing was judged: no limit is set"
    if verdict is Verdict.PASS and any(finding.waived for finding in result.findings):
        counts = f"passed with waivers: {counts}"
    return AuditHeadline(
        Cell(verdict.upper(), checks.VERDICT_TONES[verdict]), title, counts, _rows(result)
    )


def _rows(result: AuditResult) -> str:
    """How many rows were counted of those read, and of how many people."""
    counted = result.ledger.counted
    text = f"{numbers.whole(counted)} rows"
    if result.provenance.rows is not None:
        text = f"{numbers.whole(counted)} of {numbers.counted(result.provenance.rows, 'row')}"
    if result.ledger.people != counted:
        text += f", {numbers.whole(result.ledger.people)} people"
    return text


def diagnose(result: AuditResult) -> tuple[Diagnostic, ...]:
    """A diagnostic for each check, the most urgent first."""
    shared = _shared_levels(result)
    diagnostics = [
        _diagnostic(result, finding, shared) for finding in checks.by_urgency(result.findings)
    ]
    return tuple(sorted(diagnostics, key=lambda diagnostic: [*Level].index(diagnostic.level)))


def headlines_of(result: AuditResult) -> dict[str, str]:
    """The headline of each check, by its id."""
    shared = _shared_levels(result)
    return {finding.check.id: _headline(finding, shared) for finding in result.findings}


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
    quote = limit_quote(finding)
    return Diagnostic(
        finding=finding,
        level=_level(finding),
        code=names.copied(finding.check.metric_id),
        headline=_headline(finding, shared),
        place=_place(finding),
        source=None if quote is None else _source(quote),
        value=headlines.value(finding),
        interval=_interval(finding),
        limit=headlines.limits(finding),
        lines=tuple(_lines(result, finding)),
        picture=_picture(result, finding),
    )


def _level(finding: Finding) -> Level:
    """How urgent a finding is: a pass that is no all-clear is a note."""
    level = _LEVELS[finding.status]
    turns = finding.missing is not None and finding.missing.turns
    is_open = finding.not_cleared or turns
    return Level.NOTE if level is Level.PASS and is_open else level


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


def _place(finding: Finding) -> str:
    place = limit_place(finding)
    return "" if place is None else f"{names.copied(place.file)}:{place.line}:{place.column}"


def _source(quote: Quote) -> SourceLine:
    start, end = quote.column - 1, quote.end - 1
    parts = (quote.text[:start], quote.text[start:end], quote.text[end:])
    return SourceLine(quote.line, *map(names.printable, parts))


def _interval(finding: Finding) -> str:
    estimate = finding.estimate
    if estimate is None or estimate.suppressed or estimate.low is None or estimate.high is None:
        return ""
    by_limits = headlines.bounds(finding)
    low, high = (
        numbers.number_beside(end, by_limits, digits=3) for end in (estimate.low, estimate.high)
    )
    return f"{low} to {high}"


def _lines(result: AuditResult, finding: Finding) -> Iterator[tuple[str, str]]:
    """Who, how sure, how many people, what else is to be known, each in a short line."""
    estimate = finding.estimate
    if estimate is not None and not estimate.suppressed:
        yield from _labelled("who", _who(result, finding))
        yield from _labelled("sure", _sure(finding))
        yield from _labelled("people", _people(finding))
        yield from _labelled("also", _also(finding))
        yield from _labelled("note", _notes(result, finding))
    for reversal in finding.reversals[:1]:
        yield from _labelled("who", _reversed_pair(reversal))
        yield from _labelled("sure", _reversal_evidence(reversal, finding))
    if finding.before is not None and (text := baseline.sentence(finding, finding.before)):
        yield "baseline", text
    yield from _labelled("waived", [baseline.waiver(w, finding) for w in finding.waived])
    yield from about(finding)


def about(finding: Finding) -> Iterator[tuple[str, str]]:
    """Why the spec asks for a check, and who answers for it."""
    yield from _labelled("why", [names.line(finding.check.about.why)])
    yield from _labelled("owner", [names.line(finding.check.about.owner)])


def _labelled(label: str, texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(filter(None, texts)):
        yield ("" if number else label), text


def _who(result: AuditResult, finding: Finding) -> list[str]:
    """Both sides with rate and counts, below each other."""
    if finding.subgroup is not None:
        return _subgroup(finding.subgroup)
    sides = [
        (side, part.metric)
        for part in checks.deciding_parts(finding)
        for side in (part.first, part.second)
        if side is not None
    ]
    if not sides:
        return []
    rows = []
    for side, metric in sides:
        rate = numbers.rate(side.estimate, share=metric_titles.is_share(metric))
        value, _, counts = rate.partition(" (")
        rows.append((headlines.side(side), value, counts.removesuffix(")")))
    widths = [max(map(names.width, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join((_padded(name, widths[0]), value.rjust(widths[1]), counts.rjust(widths[2])))
        for name, value, counts in rows
    ]
    if len(lines) > 1:
        lines[-1] += _reference(result, finding)
    return [line.rstrip() for line in lines]


def _subgroup(subgroup: Subgroup) -> list[str]:
    counts = f"{numbers.whole(subgroup.over)}/{numbers.whole(subgroup.under)}"
    name = numbers.people(subgroup.group)
    room = max(names.width(name), len("everybody"))
    everybody = f"{_padded('everybody', room)}  {numbers.percent(subgroup.everybody)}"
    return [f"{_padded(name, room)}  {numbers.percent(subgroup.value)}  {counts}", everybody]


def _reversed_pair(reversal: Reversal) -> list[str]:
    """Both groups, overall and at the same mix of strata."""
    given = reversal_sentences.name_given(reversal)
    rows = [
        (names.name(name), share, numbers.percent(adjusted))
        for name, share, adjusted in zip(
            reversal.pair,
            map(reversal_sentences.share, reversal.crude_pair),
            reversal.standardized_pair,
            strict=True,
        )
    ]
    widths = [max(names.width(row[column]) for row in rows) for column in (0, 1)]
    lines = [
        f"{_padded(name, widths[0])}  {_padded(share, widths[1])}  {adjusted}"
        for name, share, adjusted in rows
    ]
    lines[0] += f" at the same mix of {given}"
    return lines


def _reversal_evidence(reversal: Reversal, finding: Finding) -> list[str]:
    """In how many strata the gap points the other way, and its test among all comparisons."""
    text = f"the other way in {reversal.reversed_strata} of {reversal.estimable_strata} strata"
    test, alpha = reversal.significance, finding.check.inference.alpha
    if test is not None and not reversal.hangs_on_weights:
        p = numbers.probability(test.adjusted, alpha)
        text += f"; p {p}"
        if test.family > 1:
            text += f" ({test.correction}, {numbers.whole(test.family)} comparisons)"
    return [text]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - names.width(text))


def _reference(result: AuditResult, finding: Finding) -> str:
    """What the second side is: the highest of so many groups, the declared reference."""
    check = finding.check
    if not isinstance(check, Check) or not finding.second or finding.spread:
        return ""
    policy = getattr(check.asked, "reference", None)
    if check.terms.reference is not None:
        policy = check.terms.reference.policy
    compared = {
        row.takes_part
        for row in result.comparisons
        if (row.metric, row.of, row.by, row.stratum, row.group)
        == (check.metric_id, check.of, check.by, finding.stratum, finding.first)
    }
    number = compared.pop() if len(compared) == 1 else None
    if policy not in {"highest", "lowest", "largest"}:
        return "  the reference"
    groups = "" if number is None else f" of {numbers.counted(number, 'group')}"
    return f"  {policy}{groups}"


def _sure(finding: Finding) -> list[str]:
    """The interval with the test, and what people of unknown group or outcome could change."""
    estimate, inference = finding.estimate, finding.check.inference
    assert estimate is not None
    parts = []
    if interval := _interval(finding):
        parts.append(f"{numbers.confidence(inference)} {interval}")
    test = estimate.significance
    if test is not None:
        p = numbers.probability(test.adjusted, inference.alpha)
        family = f"{test.correction}, {numbers.counted(test.family, 'test')}"
        parts.append(f"p {p} ({family if test.family > 1 else test.test})")
    return ["; ".join(parts), _missing(finding)]


def _missing(finding: Finding) -> str:
    """What missing values could make of the number, and whether the verdict could turn."""
    bounds = finding.missing
    if bounds is None:
        return ""
    lacking = ((bounds.missing_group, "group"), (bounds.missing_outcome, "outcome"))
    who = " and ".join(f"{numbers.whole(n)} of unknown {what}" for n, what in lacking if n)
    if not who:
        return ""
    if bounds.low is None or bounds.high is None:
        return f"{who}: no bounds"
    by_limits = headlines.bounds(finding)
    low, high = (
        numbers.number_beside(end, by_limits, digits=3) for end in (bounds.low, bounds.high)
    )
    turn = "the verdict could turn" if bounds.turns else "the verdict cannot turn"
    return f"{who}: {low} to {high}, {turn}"


def _people(finding: Finding) -> list[str]:
    """How many people it takes to reach the limit, and the other side's rate."""
    affected = finding.practice
    if affected is None or not (finding.not_cleared or finding.status is not Status.PASS):
        return []
    way = "fewer" if affected.burden else "more"
    texts = []
    if affected.to_limit:
        texts.append(f"{numbers.whole(affected.to_limit)} {way} would reach the limit")
    if affected.to_parity:
        texts.append(f"{numbers.whole(affected.to_parity)} {way} the other side's rate")
    if affected.flips:
        texts.append("one person the other way reverses the gap")
    if not texts:
        return []
    return [f"{headlines.side(evidence.worse_side(finding))}: {', '.join(texts)}"]


def _also(finding: Finding) -> list[str]:
    """Who else is beyond the limit."""
    others = headlines.other_breaches(finding)
    texts = [
        " in ".join(numbers.people(part) for part in (breach.group, breach.stratum) if part)
        + f" {numbers.number(-breach.value if breach.lower else breach.value, 3)}"
        for breach in others[:_MOST_BREACHES]
    ]
    more = len(others) - len(texts)
    texts += [f"{numbers.whole(more)} more"] if more else []
    return [f"beyond the limit: {', '.join(text.strip() for text in texts)}"] if texts else []


def _notes(result: AuditResult, finding: Finding) -> list[str]:
    """What the evidence says beside the limit, where the gap first appears, what a pass misses."""
    texts = [evidence.backing(finding), finding.why, _unseen(result, finding)]
    if finding.status is Status.PASS:
        texts.append(evidence.few_people(finding))
    return texts


def _unseen(result: AuditResult, finding: Finding) -> str:
    """The subsets of a check's attributes that do not show what it found."""
    check = finding.check
    if not isinstance(check, Check) or len(check.by) < 2 or finding.stratum or not finding.crossed:
        return ""
    assert isinstance(finding.limit, Limit)
    title = _title_in_lattice(result, finding, check)
    values = [
        (row.by, entry.estimate)
        for row in result.lattice
        for entry in row.entries
        if set(row.by) < set(check.by) and (entry.title, entry.of) == (title, check.of)
    ]
    seen = [
        (by, estimate)
        for by, estimate in values
        if estimate.suppressed
        or not math.isfinite(estimate.value)
        or finding.limit.is_crossed(estimate.value, estimate.exact)
    ]
    if not values or seen:
        return ""
    by_limits = headlines.bounds(finding)
    told = [
        f"{numbers.subset(by)} "
        f"({numbers.number_beside(estimate.value, by_limits, estimate.exact, digits=3)})"
        for by, estimate in values
    ]
    first = any(
        appearance.group in {finding.first, finding.second}
        for row in result.lattice
        for appearance in row.appears
    )
    text = f"not seen by {' or '.join(told)}"
    return f"{text}: first appears here" if first else text


def _title_in_lattice(result: AuditResult, finding: Finding, check: Check) -> str:
    """What the lattice calls the measure of a check; empty where it does not have it."""
    value = math.nan if finding.estimate is None else finding.estimate.value
    titles = [
        entry.title
        for row in result.lattice
        for entry in row.entries
        if row.by == check.by
        and (entry.metric, entry.of) == (check.metric_id, check.of)
        and entry.estimate.value == value
    ]
    return titles[0] if titles else ""


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
    return Intervals(
        metric_titles.title(metric, check.of),
        [_drawn(row, strong=row.group in sides) for row in sorted(rows, key=_by_value)],
        [*limit_rules(finding, metric)] if parts[0].outcome is None else [],
        percent=metric_titles.is_share(metric),
    )


def _by_value(row: RateRow) -> tuple[bool, bool, float]:
    value = row.estimate.value
    return row.standing is not Eligibility.ELIGIBLE, not math.isfinite(value), value


def _drawn(row: RateRow, *, strong: bool) -> Interval:
    drawn = rate_interval(row)
    return replace(
        drawn,
        label=numbers.people(row.group),
        panel="",
        mark=Mark.GROUP if row.standing is Eligibility.ELIGIBLE else Mark.ASIDE,
        text=drawn.text.removesuffix(" reference"),
        strong=strong,
    )
