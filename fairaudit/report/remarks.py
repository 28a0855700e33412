"""Remarks beside checks: how close a pass came, what no limit covers, reversals of no check."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from fairaudit.judge import Finding, Limit, Status
from fairaudit.metrics import Disparity
from fairaudit.report import finding_facts, headlines, metric_titles, numbers
from fairaudit.report.diagnostics import Diagnostic, Level
from fairaudit.report.text_layout import Line, line
from fairaudit.result import AuditResult, LatticeEntry, LatticeRow


def distance(diagnostic: Diagnostic) -> float:
    """How much of the way from parity to its limit a value has left; 1 at parity, ∞ unknown."""
    finding = diagnostic.finding
    metric = getattr(finding.check, "metric", None)
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit) or not math.isfinite(estimate.value):
        return math.inf
    ideal = float(metric.ideal) if isinstance(metric, Disparity) else 0.0
    allowed = [abs(float(bound) - ideal) for bound in limit.bounds if float(bound) != ideal]
    return -limit.excess(estimate.value) / min(allowed) if allowed else math.inf


def count_passes(every: Sequence[Diagnostic]) -> str:
    """How many checks passed, and how many of these without doubt."""
    passed = [diagnostic for diagnostic in every if diagnostic.finding.status is Status.PASS]
    clear = sum(diagnostic.level is Level.PASS for diagnostic in passed)
    if clear == len(passed):
        return f"{numbers.counted(clear, 'check')} passed"
    return f"{numbers.counted(len(passed), 'check')} passed, {numbers.whole(clear)} without doubt"


def beside_checks(result: AuditResult, every: Sequence[Diagnostic]) -> Iterator[Line]:
    """What is to be said besides single checks, in the order of a page."""
    yield from passes(every)
    yield from uncovered(result)
    yield from ungated_reversals(result)


def passes(every: Sequence[Diagnostic]) -> Iterator[Line]:
    """How many passed, and how close; of an audit that passes what it may have missed."""
    passed = [diagnostic for diagnostic in every if diagnostic.level is Level.PASS]
    if passed and len(passed) < len(every):
        closest = min(passed, key=distance)
        is_told = math.isfinite(distance(closest))
        value = headlines.value(closest.finding)
        beside = "" if value in closest.headline else f"{value}; "
        text = f"; the closest: {closest.headline} ({beside}{closest.limit})" if is_told else ""
        yield line(f"{count_passes(every)}{text}")
        return
    findings = (diagnostic.finding for diagnostic in passed)
    gaps = [finding for finding in findings if finding_facts.few_people(finding)]
    if gaps:
        # Of the check that could miss most.
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        yield line(f"few people: {finding_facts.few_people(max(gaps, key=_detectable))}{more}")


def _detectable(finding: Finding) -> float:
    gap = finding.detectable
    sides = [] if gap is None else [abs(side) for side in (gap.down, gap.up)]
    return max((side for side in sides if not math.isnan(side)), default=math.inf)


def uncovered(result: AuditResult) -> Iterator[Line]:
    """How much no limit looks at, and how far the worst of it goes."""
    if not result.findings:
        return
    limited = [(row, entry) for row in result.lattice for entry in row.entries if entry.limited]
    open_ = [(row, entry) for row, entry in limited if not entry.judged]
    if not open_:
        return
    text = f"{len(open_)} of {len(limited)} combinations of a measure and a grouping have no limit"
    urgent = [finding.check.metric_id for finding in result.findings if finding.crossed]
    known = [pair for pair in open_ if not math.isnan(pair[1].departure)]
    of_urgent = [pair for pair in known if pair[1].metric in urgent]
    if known:
        row, worst = max(of_urgent or known, key=lambda pair: pair[1].departure)
        is_hidden = any(entry.estimate.suppressed for _, entry in open_)
        word = "the worst published value" if is_hidden else "the worst"
        pair = metric_titles.worst_pair(worst.first, worst.second, worst.decided_by)
        text += f"; {word} {worst.title} among them is {numbers.number(worst.estimate.value, 3)}"
        text += f"{f' ({pair})' if pair else ''} by {numbers.subset(row.by)}"
        text += describe_set_aside(open_)
    yield line(text)


def describe_set_aside(entries: Iterable[tuple[LatticeRow, LatticeEntry]]) -> str:
    """How many groups of some subsets are in no comparison, since they are too small."""
    in_order = sorted(entries, key=lambda pair: pair[1].set_aside or 0)
    most = {row.by: entry.set_aside for row, entry in in_order}
    if None in most.values():
        return " (groups may be set aside)"
    total = sum(filter(None, most.values()))
    return f" (groups set aside: {numbers.whole(total)})" if total else ""


def ungated_reversals(result: AuditResult) -> Iterator[Line]:
    """The widest reversal that a test establishes and no check names, and how many more."""
    alpha = result.provenance.inference.alpha
    named = [reversal for finding in result.findings for reversal in finding.reversals]
    evident = [
        reversal
        for reversal in result.reversals
        if reversal.kind.has_both_directions
        and reversal.is_significant(alpha)
        and reversal not in named
    ]
    if result.compared is None or not evident:
        return
    widest = max(evident, key=lambda reversal: reversal.swing)
    title = metric_titles.title(widest.rate, widest.of)
    word = "a reversal" if widest.kind.reverses else "opposite gaps"
    text = f"{word} beside the checks: {headlines.reversal_headline(widest, title)}"
    test = widest.significance
    if test is not None:
        text += f" (p {numbers.probability(test.adjusted, alpha)}"
        text += f", {test.correction}, {numbers.counted(test.family, 'comparison')})"
    more = len(evident) - 1
    yield line(text + (f"; {numbers.whole(more)} more like it" if more else ""))
