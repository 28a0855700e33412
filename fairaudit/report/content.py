"""Prose report (entry point): order; checks, what is not covered, waivers, definitions, closing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from fairaudit.base import names
from fairaudit.judge import Finding, Status
from fairaudit.judge.waivers import WaiverState
from fairaudit.metrics.estimate import State
from fairaudit.report import (
    baseline,
    caveats,
    checks,
    distributions,
    lattice,
    metric_titles,
    model_comparison,
    numbers,
    provenance,
    rates,
    reversals,
    strata,
    subgroups,
)
from fairaudit.report.blocks import (
    FEW_ROWS,
    Block,
    Cell,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Tone,
    inert,
)
from fairaudit.report.diagnostics import Diagnostic, diagnose_by_id
from fairaudit.result import AuditResult, Definition, LatticeEntry

_LIMITS_OF_A_PASS = (
    "A pass says that these numbers, on these people, did not cross these limits. It does not say "
    "that a decision is fair or lawful: other groups, other measures, people who never applied "
    "and the way labels came about are not in it. A limit such as 0.8 is a convention of US "
    "employment guidance, not a law of nature."
)


def document(result: AuditResult, *, all_rows: bool = False, data: str | None = None) -> Document:
    """The report of a result; tables longer than a dozen rows are cut unless `all_rows`.

    `data` is what was audited in place of the spec's own: the title says so.
    """
    most = None if all_rows else FEW_ROWS
    diagnostics = diagnose_by_id(result)
    sections = (
        _verdict(result, diagnostics, most, data),
        _checks(result, diagnostics),
        _waivers(result),
        lattice.section(result, most),
        model_comparison.section(result, most),
        rates.section(result, most),
        strata.section(result, most),
        distributions.scores(result, most),
        subgroups.section(result),
        reversals.section(result, is_short=not all_rows),
        provenance.ledger(result),
        distributions.features(result, most),
        _undefined(result, most),
        _definitions(result.definitions),
        caveats.section(result),
        (Heading("What a pass does not mean"), Paragraph(_LIMITS_OF_A_PASS)),
        provenance.profiles(result),
        provenance.provenance(result),
    )
    return inert(tuple(block for section in sections for block in section))


def _verdict(
    result: AuditResult, diagnostics: Mapping[str, Diagnostic], most: int | None, data: str | None
) -> Iterator[Block]:
    headline = checks.audit_headline(result, data)
    yield Heading(f"Audit: {headline.title}")
    yield Entries([(headline.verdict, f"{headline.counts}. {headline.rows}.")])
    open_ones = [finding for finding in checks.by_urgency(result.findings) if _is_open(finding)]
    if open_ones:
        yield _findings(open_ones, diagnostics)
    if result.earlier is not None:
        text = baseline.origin(result.earlier, result.earlier.created)
        yield Entries([(Cell("baseline", Tone.MUTED), text)])
    yield from _unlooked(result, most)
    if result.notices:
        yield Entries(
            [(Cell("notice", Tone.WARN), text) for text in map(names.line, result.notices)]
        )
    if result.provenance.context:
        context = result.provenance.context.items()
        yield Facts([(names.name(key), names.line(text)) for key, text in context])


def _is_open(finding: Finding) -> bool:
    """Whether a finding is told on the first page: no plain pass."""
    return finding.is_in_doubt or finding.status not in {Status.PASS, Status.SKIPPED}


def _unlooked(result: AuditResult, most: int | None) -> Iterator[Block]:
    """The subsets that no limit looked at, and the worst value among them."""
    if not result.findings:
        return
    entries = [(row, entry) for row in result.lattice for entry in row.entries if entry.limited]
    unjudged = [(row, entry) for row, entry in entries if not entry.judged]
    if not unjudged:
        return
    rows = []
    by_title: dict[str, list[tuple[str, LatticeEntry]]] = {}
    for row, entry in unjudged:
        by_title.setdefault(entry.title, []).append((numbers.subset(row.by), entry))
    for title, entries_of_subsets in by_title.items():
        subsets = "; ".join(name for name, _ in entries_of_subsets[:most])
        if most is not None and len(entries_of_subsets) > most:
            subsets += f"; and {numbers.whole(len(entries_of_subsets) - most)} more"
        text = f"no limit on {title} covers {subsets}"
        known = [
            (name, entry) for name, entry in entries_of_subsets if not math.isnan(entry.departure)
        ]
        if known:
            name, worst = max(known, key=lambda pair: pair[1].departure)
            pair = metric_titles.worst_pair(worst.first, worst.second, worst.decided_by)
            hidden = any(entry.estimate.suppressed for _, entry in entries_of_subsets)
            there = "the worst published value is" if hidden else "the worst value is"
            text += f"; {there} {numbers.number(worst.estimate.value)} by {name}: {pair}"
        rows.append((Cell("not covered", Tone.MUTED), text))
    yield Entries(rows)


def _checks(result: AuditResult, diagnostics: Mapping[str, Diagnostic]) -> Iterator[Block]:
    yield Heading("Checks")
    if not result.findings:
        yield Paragraph("The spec sets no limit: nothing was judged.")
        return
    if passed := [finding for finding in result.findings if not _is_open(finding)]:
        yield _findings(passed, diagnostics)
    else:
        doubt = " without doubt" if result.tally[Status.PASS] else ""
        yield Paragraph(f"No check passed{doubt}: see the top of this report.", Tone.MUTED)


def _findings(findings: Sequence[Finding], diagnostics: Mapping[str, Diagnostic]) -> Entries:
    """A statement for each: its headline, and below it the labelled lines."""
    rows = []
    for finding in findings:
        place = f", {checks.place(finding.check.place)}" if finding.check.place else ""
        diagnostic = diagnostics[finding.check.id]
        about = f"check: {checks.id_of(finding)}{place}"
        lines = [f"{checks.title(finding)}: {diagnostic.headline}", *diagnostic.labelled()]
        rows.append((checks.status_cell(finding), "\n".join([*lines, about])))
    return Entries(rows, is_titled=True)


def _waivers(result: AuditResult) -> Iterator[Block]:
    """Every waiver with its state: one that is applied, one that nothing needs, one too old."""
    if not result.waivers:
        return
    yield Heading("Waivers")
    tones = {WaiverState.APPLIED: Tone.WARN, WaiverState.EXPIRED: Tone.BAD}
    rows = []
    for outcome in result.waivers:
        waiver = outcome.waiver
        group = names.describe_group(waiver.group) if waiver.group else "the whole check"
        place = f" ({checks.place(waiver.place)})" if waiver.place else ""
        text = f"{names.copied(waiver.check)} for {group} {baseline.terms(waiver)}"
        text += f"; {outcome.why}" if outcome.why else ""
        word = str(outcome.state).replace("_", " ")
        rows.append((Cell(word, tones.get(outcome.state, Tone.MUTED)), f"{text}{place}"))
    yield Entries(rows)


def _undefined(result: AuditResult, most: int | None) -> Iterator[Block]:
    reasons = [
        f"{row.estimate.reason}{numbers.in_stratum(row.stratum)}"
        for row in result.rates
        if row.estimate.state is State.UNDEFINED and row.estimate.reason
    ]
    named = [
        (f"{row.title} by {numbers.subset(row.by)}{numbers.in_stratum(row.stratum)}", row)
        for row in result.comparisons
    ]
    reasons += [
        f"{name}: {row.estimate.reason}"
        for name, row in named
        if row.estimate.state is State.UNDEFINED
    ]
    infinite = [
        f"{name}: {metric_titles.worst_pair(row.first, row.second, row.decided_by)}"
        for name, row in named
        if math.isinf(row.estimate.value)
    ]
    reasons, infinite = list(dict.fromkeys(reasons)), list(dict.fromkeys(infinite))
    if not reasons and not infinite:
        return
    yield Heading("Undefined and infinite")
    rows = [(Cell("undefined", Tone.MUTED), text) for text in reasons]
    rows += [(Cell("infinite", Tone.WARN), text) for text in infinite]
    shown = rows[:most]
    yield Entries(shown)
    if len(rows) > len(shown):
        yield Paragraph(f"and {len(rows) - len(shown)} more (--verbose)", Tone.MUTED)


def _definitions(definitions: Sequence[Definition]) -> Iterator[Block]:
    if not definitions:
        return
    yield Heading("Definitions")
    yield Facts(
        [
            (row.title, f"{row.means} {row.formula}. {row.caution} Source: {row.source}.")
            for row in definitions
        ]
    )
