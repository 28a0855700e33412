"""Checks and audits in words: verdicts, titles, statuses, groups, tallies, order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from fairaudit.base import names
from fairaudit.base.errors import FailOn, Place
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Group
from fairaudit.evidence.records import ComparisonPart
from fairaudit.judge import Check, Finding, ReversalCheck, Status, SubgroupCheck
from fairaudit.metrics import Comparison, Disparity, find_comparison, find_metric, is_over_classes
from fairaudit.report import metric_titles, numbers
from fairaudit.report.blocks import Cell, Entries, Paragraph, Tone
from fairaudit.result import AuditResult, Verdict
from fairaudit.result.rows import ComparisonRow, LatticeEntry

_TONES = {
    Status.PASS: Tone.GOOD,
    Status.WARN: Tone.WARN,
    Status.FAIL: Tone.BAD,
    Status.INCONCLUSIVE: Tone.WARN,
    Status.SKIPPED: Tone.MUTED,
    Status.WAIVED: Tone.WARN,
}
_VERDICT_TONES = {
    Verdict.PASS: Tone.GOOD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.WARN,
    Verdict.NONE: Tone.MUTED,
}
ComparedValue: TypeAlias = Finding | ComparisonRow | LatticeEntry
WORST_FIRST = tuple(reversed(Status))
STATUS_WORDS = {
    Status.FAIL: "failed",
    Status.INCONCLUSIVE: "inconclusive",
    Status.WARN: "warned",
    Status.WAIVED: "waived",
    Status.SKIPPED: "skipped",
    Status.PASS: "passed",
}
"""The words for the number of checks with a status, the worst first: `2 failed`."""
POOLED_GROUPS = {"rest": "everybody else", "overall": "everybody"}
_TALLY = (Status.PASS, Status.WARN, Status.FAIL, Status.INCONCLUSIVE, Status.WAIVED)


def by_urgency(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, the worst status first, otherwise in the order of the spec."""
    return sorted(findings, key=lambda finding: WORST_FIRST.index(finding.status))


def gated(finding: Finding, result: AuditResult) -> Status:
    """The status for the exit code: with `fail_on: warn`, a warning counts as a failure."""
    is_failure = finding.status is Status.WARN and result.fail_on is FailOn.WARN
    return Status.FAIL if is_failure else finding.status


def verdict_word(verdict: Verdict) -> str:
    """The verdict in capitals; if the spec sets no limits, a text that says this."""
    return "NO LIMITS" if verdict is Verdict.NONE else verdict.upper()


def verdict_cell(result: AuditResult) -> Cell:
    """The verdict of an audit; a pass with warnings says so."""
    warned = result.tally[Status.WARN]
    if result.verdict is not Verdict.PASS or not (warned or result.not_enough_evidence):
        return Cell(verdict_word(result.verdict), _VERDICT_TONES[result.verdict])
    remark = numbers.counted(warned, "warning") if warned else "not enough evidence"
    return Cell(f"{result.verdict.upper()}, {remark}", Tone.WARN)


class AuditHeadline(Frozen):
    """The first lines of a report: verdict, title, number of checks by status, number of rows.

    Without limits there is no verdict. `context` are the texts of the spec about the audit.
    """

    verdict: Cell | None
    title: str
    counts: str
    rows: str
    context: str

    @property
    def block(self) -> Entries | Paragraph:
        """The verdict and the numbers, as a block."""
        about = f"{self.counts}. {self.rows}."
        return Paragraph(about) if self.verdict is None else Entries([(self.verdict, about)])


def audit_headline(result: AuditResult, data: str | None = None) -> AuditHeadline:
    """The verdict, title and counts of an audit; `data` is audited instead of the spec's data."""
    origin = result.provenance
    title = names.line(origin.title) or names.copied(origin.spec_path)
    named = "" if data is None else names.copied(Path(data).name)
    title += "" if named in title else f", {named}"
    counts = outcome(result) if result.findings else "No limits are set"
    if result.verdict is Verdict.PASS and any(finding.waived for finding in result.findings):
        counts = f"passed with waivers; {counts}"
    counted = result.ledger.counted
    rows = f"{numbers.whole(counted)} rows"
    if origin.rows is not None:
        rows = f"{numbers.whole(counted)} of {numbers.counted(origin.rows, 'row')}"
    if result.ledger.people != counted:
        rows += f" that count {numbers.whole(result.ledger.people)} people"
    if origin.weight is not None:
        rows += f", weighted by {names.name(origin.weight)}"
    for word, is_bad in (("good", False), ("bad", True)):
        found = [one for one in result.positives.items() if (one[0] in result.burdens) == is_bad]
        selected = [text for of, text in found if of != "label" and text != "selected"]
        rows += f"; selected: {numbers.first_few(selected)} ({word} for people)" * bool(selected)
    verdict = verdict_cell(result) if result.findings else None
    entries = (f"{names.name(key)}: {names.line(text)}" for key, text in origin.context.items())
    return AuditHeadline(verdict, title, counts, rows, "; ".join(entries))


def status_cell(finding: Finding, number: int | None = None) -> Cell:
    """The status of a finding in its tone; in a list, its number precedes it."""
    status = finding.status.upper()
    return Cell(status if number is None else f"{number} {status}", _TONES[finding.status])


def title(finding: Finding) -> str:
    """The subject of a check: the metric, its reference, the groups and the strata."""
    check = finding.check
    if isinstance(check, ReversalCheck):
        return f"Simpson's reversals of {metric_titles.title(check.rate, check.of)}"
    if isinstance(check, SubgroupCheck):
        rate = metric_titles.title(check.rate, check.of)
        return f"Subgroups, divergence in {rate}{metric_titles.whose(check.of)}"
    metric, reference = check.metric, ""
    if (declared := check.terms.reference) is not None:
        policy = POOLED_GROUPS.get(str(declared.policy), declared.policy)
        group = names.describe_group(declared.group) if declared.group else policy
        reference = f"to {group}"
    elif isinstance(metric, Disparity) and metric.reference and not metric.comparison.one_sided:
        reference = f"to the {metric.reference} group"
    heading, how = heading_of(check)
    reference = f"{how} {reference}".strip()
    outcome = metric_titles.of_outcome(metric.id, check.of)
    words = [*filter(None, (heading + outcome, reference))]
    if check.over_groups is not None:
        words.append(f"{check.over_groups} over groups")
    words += [*details(check), f"by {numbers.subset(check.by)}"]
    if check.given:
        words.append(check.describe_given())
    return ", ".join(words)


def heading_of(check: Check) -> tuple[str, str]:
    """The title of the metric; for a rate with `compare`, its title and the comparison."""
    metric, how, title = check.metric, "", check.metric.title
    if isinstance(metric, Disparity) and metric.id == metric.parts[0][0].id:
        title, how = metric.parts[0][0].title, metric.comparison.id.replace("_", " ")
    return metric_titles.heading(metric.id, check.of, title), how


def details(check: Check) -> Iterator[str]:
    """The options of a check besides metric and groups: parameters, class, threshold, model."""
    for name, text in check.terms.parameters.as_texts().items():
        yield f"{name} {text}"
    if isinstance(check.metric, Disparity) and is_over_classes(check.metric):
        yield "mean over classes"
    if check.terms.of_class is not None:
        yield f"class {names.name(check.terms.of_class)}"
    if check.terms.at is not None:
        yield f"at a score of {check.terms.at}"
    if check.against is not None:
        yield f"minus that of {names.name(check.against)}"


def place(place: Place) -> str:
    """The line of the spec that sets a limit: `loans.yaml:27`."""
    return f"{names.copied(place.file)}:{place.line}"


def comparison_of(value: ComparedValue) -> Comparison | None:
    """How a check or a row compares groups; None if it compares no groups."""
    if isinstance(value, Finding):
        metric = value.check.metric if isinstance(value.check, Check) else None
    elif value.compare is not None:
        return find_comparison(value.compare)
    else:
        metric = find_metric(value.metric)
    return metric.comparison if isinstance(metric, Disparity) else None


def named_pair(value: ComparedValue) -> tuple[Group, Group]:
    """Both groups of a value; without a deciding part, a side that differs by part is empty."""
    first, second = value.first, value.second
    for part in value.parts if value.decided_by is None else ():
        first = first if part.first is None or part.first.group == first else ()
        second = second if part.second is None or part.second.group == second else ()
    return first, second


def pair_of(value: ComparedValue) -> tuple[Group, Group]:
    """Both groups of a value; the numerator of a ratio is first (`min_ratio`: the lowest group)."""
    comparison, (first, second) = comparison_of(value), named_pair(value)
    is_turned = value.spread and comparison is not None and not comparison.highest_first
    return (second, first) if is_turned else (first, second)


def worst_pair(value: ComparedValue, *, in_text: bool = False) -> str:
    """Both groups of a value in short, with the deciding rate if any: `F / M (TPR)`."""
    write, between = (names.people, " compared with ") if in_text else (numbers.group, " / ")
    text = between.join(write(group) for group in pair_of(value) if group)
    by = metric_titles.short_name(value.decided_by) if text and value.decided_by else ""
    return f"{text} ({by})" if by else text


def averages_classes(finding: Finding) -> bool:
    """Whether a check judges a mean over classes, each of which is compared."""
    metric = finding.check.metric if isinstance(finding.check, Check) else None
    return isinstance(metric, Disparity) and is_over_classes(metric)


def deciding_parts(finding: Finding) -> tuple[ComparisonPart, ...]:
    """`attaining_parts`; for a ratio, the numerator is first (`min_ratio`: the lower side)."""
    parts, comparison = attaining_parts(finding), comparison_of(finding)
    if comparison is None or comparison.highest_first:
        return parts
    return tuple(
        replace(part, first=part.second, second=part.first)
        if part.first and part.second and part.first.estimate.value > part.second.estimate.value
        else part
        for part in parts
    )


def attaining_parts(finding: Finding) -> tuple[ComparisonPart, ...]:
    """The part whose value is the value of the check; all parts if no part has this value.

    For a mean over classes, only the parts of the deciding class count.
    """
    parts = finding.parts
    if averages_classes(finding):
        parts = tuple(part for part in parts if part.outcome == finding.decided_by) or parts
    if finding.estimate is None or len(parts) < 2 or parts[0].of:  # `of` is set for two models
        return parts
    attaining = [
        part
        for part in parts
        if part.value == finding.estimate.value and part.first and part.second
    ]
    return tuple(attaining[:1]) or parts


def reasons(finding: Finding) -> str:
    """Why a check has no value; a reason is left out if another reason contains it."""
    reasons = [*dict.fromkeys(row.reason for row in finding.not_evaluated if row.blocks)]
    kept = [
        reason
        for reason in reasons
        if not any(reason.rpartition(": ")[2] in other for other in reasons if other != reason)
    ]
    return "; ".join(kept) or finding.why or "nothing to evaluate"


def outcome(result: AuditResult) -> str:
    """The number of checks with each status that occurs, the worst first."""
    counts = result.tally
    words = [f"{counts[status]} {word}" for status, word in STATUS_WORDS.items() if counts[status]]
    return _summary(result, words)


def tally(result: AuditResult) -> str:
    """The number of checks with each status in fixed words; without limits, a text says this."""
    if not result.findings and not result.provenance.not_run:
        return "no limits are set"
    counts = result.tally
    statuses = [*_TALLY, *([Status.SKIPPED] if counts[Status.SKIPPED] else [])]
    return _summary(result, [f"{counts[status]} {STATUS_WORDS[status]}" for status in statuses])


def _summary(result: AuditResult, words: list[str]) -> str:
    run, not_run = len(result.findings), len(result.provenance.not_run)
    checks = numbers.counted(run + not_run, "check")
    checks = f"{numbers.whole(run)} of {checks} (--only)" if not_run else checks
    not_enough_evidence = ""
    if result.not_enough_evidence:
        not_enough_evidence = f"; {result.not_enough_evidence} over a limit without enough evidence"
    # If a waiver covers only a part of a check, the check has the status of the other part.
    used = numbers.counted(result.waived, "check")
    waived = f"; a waiver applies to {used}" if result.waived > result.tally[Status.WAIVED] else ""
    changed = "; the spec is changed by --set" if result.provenance.settings else ""
    return f"{checks}: {', '.join(words)}{not_enough_evidence}{waived}{changed}"
