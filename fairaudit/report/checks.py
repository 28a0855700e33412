"""A check in words: its title, its finding in one sentence, and how many came out how."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from fairaudit import names
from fairaudit.errors import Place
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.metrics import Disparity, GroupMetric, find_metric
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION
from fairaudit.metrics.effect_sizes import DISTRIBUTIONS
from fairaudit.metrics.pooling import DIFFERENTIAL_FAIRNESS_POOLED
from fairaudit.report import (
    baseline,
    evidence,
    metric_titles,
    numbers,
    subgroups,
)
from fairaudit.report.blocks import Cell, Tone
from fairaudit.report.reversal_sentences import KIND_WORDS, pair
from fairaudit.result import AuditResult, Verdict
from fairaudit.simpson import Reversal
from fairaudit.verdict import (
    Breach,
    Check,
    Finding,
    Limit,
    ReversalCheck,
    ReversalLimit,
    Status,
    SubgroupCheck,
)

_TONES = {
    Status.PASS: Tone.GOOD,
    Status.WARN: Tone.WARN,
    Status.FAIL: Tone.BAD,
    Status.INCONCLUSIVE: Tone.BAD,
    Status.SKIPPED: Tone.MUTED,
    Status.WAIVED: Tone.WARN,
}
_VERDICT_TONES = {
    Verdict.PASS: Tone.GOOD,
    Verdict.FAIL: Tone.BAD,
    Verdict.INCONCLUSIVE: Tone.BAD,
    Verdict.NONE: Tone.MUTED,
}
WORST_FIRST = tuple(reversed(Status))
_STATUS_COUNTS = {
    Status.FAIL: "failed",
    Status.INCONCLUSIVE: "inconclusive",
    Status.WARN: "warned",
    Status.WAIVED: "waived",
    Status.SKIPPED: "skipped",
    Status.PASS: "passed",
}
_DISTRIBUTIONS = frozenset(metric.id for metric in DISTRIBUTIONS)
_TALLY = (Status.PASS, Status.WARN, Status.FAIL, Status.INCONCLUSIVE, Status.WAIVED)
MISLEADING_RATE = 0.1
"""Below this reference rate a ratio is shown with the difference beside it."""


_LARGEST_LOG = 700.0
"""Of larger ones the factor is beyond a double."""


def by_urgency(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, the worst status first, as they stand in the spec otherwise."""
    return sorted(findings, key=lambda finding: WORST_FIRST.index(finding.status))


def verdict_cell(result: AuditResult) -> Cell:
    """The verdict of an audit; a pass with warnings is no plain pass."""
    tone = _VERDICT_TONES[result.verdict]
    if result.verdict is Verdict.PASS and (result.tally[Status.WARN] or result.not_cleared):
        tone = Tone.WARN  # it ends with 0, and something is to be looked at
    return Cell(result.verdict.upper(), tone)


def status_cell(finding: Finding, number: int | None = None) -> Cell:
    """The status of a finding in its tone, behind its number in a list if it has one."""
    status = finding.status.upper()
    return Cell(status if number is None else f"{number} {status}", _TONES[finding.status])


def title(finding: Finding) -> str:
    """What a check is about: the metric, its reference, the groups and the strata."""
    check = finding.check
    if isinstance(check, ReversalCheck):
        return f"Simpson's reversals of {metric_titles.title(check.rate, check.of)}"
    if isinstance(check, SubgroupCheck):
        rate = metric_titles.title(check.rate, check.of)
        return f"Subgroups, divergence in {rate} of the {names.name(check.of)}"
    metric = check.asked
    words = [*_metric_words(check)]
    if isinstance(metric, Disparity) and metric.over_groups is not None:
        words.append(f"{metric.over_groups} over groups")
    words += [f"{name} {value}" for name, value in check.terms.parameters.as_texts().items()]
    if check.terms.of_class is not None:
        words.append(f"class {names.name(check.terms.of_class)}")
    if check.terms.at is not None:
        words.append(f"at a score of {check.terms.at}")
    if check.against is not None:
        words.append(f"less that of {names.name(check.against)}")
    words.append(f"by {numbers.subset(check.by)}")
    if check.given:
        averaged = (
            f" (averaged, {names.line(str(check.terms.average))})" if check.terms.average else ""
        )
        words.append(f"given {numbers.subset(check.given)}{averaged}")
    return ", ".join(words)


def _metric_words(check: Check) -> Iterable[str]:
    """The metric with its outcome, and how it compares groups with which reference."""
    metric, reference = check.asked, ""
    if check.terms.reference is not None:
        group = (
            numbers.named_group(check.terms.reference.group) if check.terms.reference.group else ""
        )
        reference = f"to {group or check.terms.reference.policy}"
    elif isinstance(metric, Disparity) and metric.reference and metric.has_other_side:
        reference = f"to the {metric.reference} group"
    title = metric.title
    if isinstance(metric, Disparity) and metric.id == metric.parts[0][0].id:
        # A rate that the spec compares: the rate is the name, the comparison what is done to it.
        title = metric.parts[0][0].title
        reference = f"{metric.comparison.id.replace('_', ' ')} {reference}".rstrip()
    heading = metric_titles.heading(metric.id, check.of, title)
    return filter(None, (heading + metric_titles.of_outcome(metric.id, check.of), reference))


def id_of(finding: Finding) -> str:
    """The id of a check in a sentence: exact, but for signs that do not print."""
    return names.copied(finding.check.id)


def place(place: Place) -> str:
    """The line of the spec that sets a limit: `loans.yaml:27`."""
    return f"{names.copied(place.file)}:{place.line}"


def sentence(finding: Finding) -> str:
    """The finding in one sentence: its value, its waivers, and how it was in the baseline."""
    parts = [_own_sentence(finding)]
    parts += [baseline.waiver(waived, finding) for waived in finding.waived]
    if finding.before is not None:
        parts.append(baseline.sentence(finding, finding.before))
    return "; ".join(filter(None, parts))


def _own_sentence(finding: Finding) -> str:
    if isinstance(finding.check, ReversalCheck):
        return _reversals(finding)
    if finding.estimate is None or not isinstance(finding.limit, Limit):
        return f"not evaluated: {reasons(finding)}"
    if finding.estimate.suppressed:
        return finding.why or numbers.SUPPRESSED
    parts = [
        _value(finding),
        evidence.backing(finding),
        _other_breaches(finding),
        _open_strata(finding),
        finding.why,
    ]
    return "; ".join(filter(None, parts)) + evidence.missing(finding)


def _value(finding: Finding) -> str:
    """Who is compared with whom, the value, its interval, its limit and its test."""
    signed = _signed(finding)
    assert signed.estimate is not None
    assert isinstance(signed.limit, Limit)
    value = numbers.against(
        signed.estimate.value,
        signed.limit,
        signed.estimate.exact,
        digits=metric_titles.decimals_of(finding, 4),
    )
    sides = f"{_sides(finding)}{numbers.in_stratum(finding.stratum)}".strip()
    if sides and (derivation := _derivation(finding)):
        sides += f" ({derivation})"
    text = f"{sides}: {value}" if sides else value
    return (
        f"{text}{_interval(signed)} {relation(signed)}{evidence.test(finding)}"
        f"{_difference(finding)}"
    )


def _other_breaches(finding: Finding) -> str:
    """The other groups and strata that are beyond a limit."""
    others = [breach for breach in finding.crossed if not decides(breach, finding)]
    return f"also beyond a limit: {baseline.breaches(others)}" if others else ""


def _open_strata(finding: Finding) -> str:
    count = sum(bool(row.stratum and not row.group) for row in finding.not_evaluated)
    if not count:
        return ""
    return f"{count} {'stratum is' if count == 1 else 'strata are'} not judged"


def _derivation(finding: Finding) -> str:
    """How the value is derived from the rates before it, where it is not their plain comparison."""
    check = finding.check
    if not isinstance(check, Check):
        return ""
    if check.terms.parameters.as_texts().get("smoothing"):
        return "before smoothing"
    if check.asked is DIFFERENTIAL_FAIRNESS_POOLED:
        return "before pooling"
    comparison = check.asked.comparison if isinstance(check.asked, Disparity) else None
    if comparison is None:
        return ""
    if comparison.scale is not None and not comparison.rises_with_rate:
        return comparison.formula
    return "the odds are pooled over strata" if comparison.exact_in_strata is not None else ""


def _signed(finding: Finding) -> Finding:
    """The finding of a subgroup below everybody with its sign; its value is a size."""
    check, estimate, limit = finding.check, finding.estimate, finding.limit
    subgroup = finding.subgroup
    if not isinstance(check, SubgroupCheck) or subgroup is None or subgroup.divergence >= 0:
        return finding
    assert estimate is not None
    assert isinstance(limit, Limit)
    negated = replace(
        estimate,
        value=-estimate.value,
        exact=None if estimate.exact is None else -estimate.exact,
        low=None if estimate.high is None else -estimate.high,
        high=None if estimate.low is None else -estimate.low,
    )
    check = replace(check, fail=check.fail and _negated_limit(check.fail))
    return replace(finding, check=check, estimate=negated, limit=_negated_limit(limit))


def _negated_limit(limit: Limit) -> Limit:
    """A limit above, for values of the other sign."""
    return replace(limit, below=None if limit.above is None else -limit.above, above=None)


def decides(breach: Breach, finding: Finding) -> bool:
    """Whether a breach is the one that the sentence is about."""
    return breach.stratum == finding.stratum and breach.group in {(), finding.first}


def _sides(finding: Finding) -> str:
    """Who is compared with whom, with both rates."""
    check = finding.check
    if isinstance(check, SubgroupCheck) and finding.subgroup is not None:
        subgroup = finding.subgroup
        rate = metric_titles.title(check.rate, check.of)
        return (
            f"{numbers.named_group(subgroup.group)} {rate} {subgroups.rate(subgroup)} against "
            f"everybody {numbers.percent(subgroup.everybody)}"
        )
    if isinstance(check, Check) and isinstance(check.asked, GroupMetric) and finding.estimate:
        counts = numbers.counts(finding.estimate)
        return numbers.named_group(finding.first) + (f" ({counts})" if counts else "")
    if (
        isinstance(check, Check)
        and isinstance(check.asked, Disparity)
        and check.asked.over_groups is not None
    ):
        return check.asked.aggregate
    parts = [_part(part, check.of) for part in deciding_parts(finding)]
    return "; ".join(parts) or metric_titles.worst_pair(finding.first, finding.second, None)


def _numerator_first(part: ComparisonPart, finding: Finding) -> ComparisonPart:
    """The part with the side first that stands on top of a quotient: the lower, of the least."""
    comparison = getattr(getattr(finding.check, "asked", None), "comparison", None)
    first, second = part.first, part.second
    if comparison is None or comparison.highest_first or first is None or second is None:
        return part
    is_swapped = first.estimate.value > second.estimate.value
    return replace(part, first=second, second=first) if is_swapped else part


def deciding_parts(finding: Finding) -> tuple[ComparisonPart, ...]:
    """The parts to write: the one that attains the value, or all of them where all count.

    The side that stands on top of a quotient is the first.
    """
    return tuple(_numerator_first(part, finding) for part in _attaining(finding))


def _attaining(finding: Finding) -> tuple[ComparisonPart, ...]:
    if finding.estimate is None or len(finding.parts) < 2:  # one part is written
        return finding.parts
    attaining = [
        part
        for part in finding.parts
        if part.value == finding.estimate.value and part.first and part.second
    ]
    return tuple(attaining[:1]) or finding.parts


def _part(part: ComparisonPart, of: str) -> str:
    is_known = find_metric(part.metric) is not None or part.metric in _DISTRIBUTIONS
    metric = "" if is_known else f"{part.metric}: "
    head = f"{metric}share of {numbers.outcome(part.outcome)}: " if part.outcome else ""
    if part.first is not None and part.second is None:
        return f"{metric_titles.title(part.metric)} {_side(part.first, part.metric)}"
    if part.first is None or part.second is None:
        return f"{metric_titles.title(part.metric, of)} {numbers.number(part.value)}"
    named = part.outcome or part.metric in _DISTRIBUTIONS
    name = "" if named else f"{metric_titles.title(part.metric, of)} "
    return f"{head}{name}{_side(part.first, part.metric)} against {_side(part.second, part.metric)}"


def _side(side: Side, metric: str) -> str:
    group = side.crowd or numbers.named_group(side.group)
    if metric in _DISTRIBUTIONS:
        counts = numbers.counts(side.estimate)
        return f"{group} ({counts})" if counts else group
    return f"{group} {metric_titles.rate(metric, side.estimate)}"


def _interval(finding: Finding) -> str:
    estimate = finding.estimate
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    assert isinstance(finding.limit, Limit)
    limit = finding.limit
    return (
        f" {numbers.bounds(estimate.low, estimate.high, lambda end: numbers.against(end, limit))}"
    )


def relation(finding: Finding) -> str:
    """`< 0.8` where the limit is crossed, `(fails below 0.8)` where it is not."""
    limit, estimate = finding.limit, finding.estimate
    assert isinstance(limit, Limit)
    assert estimate is not None
    if not finding.crossed and not limit.is_crossed(estimate.value, estimate.exact):
        word = "fails" if baseline.limit_fails(finding) else "warns"
        return f"({word} {limit})"
    is_low = limit.below is not None and estimate.value < float(limit.below) + 1e-9
    if is_low and (limit.above is None or estimate.value <= float(limit.above)):
        return f"< {limit.below}"
    return f"> {limit.above}"


def _difference(finding: Finding) -> str:
    """The difference beside a ratio of no shares, or of small ones, which ratios exaggerate."""
    check, parts = finding.check, _attaining(finding)
    if not isinstance(check, Check) or isinstance(check.asked, GroupMetric) or not parts:
        return ""
    if check.asked is BIAS_AMPLIFICATION and finding.estimate is not None:
        change = finding.estimate.value
        is_known = math.isfinite(change) and change < _LARGEST_LOG
        return f" (a factor e^Δε of {numbers.number(math.exp(change), 2)})" if is_known else ""
    comparison = getattr(check.asked, "comparison", None)
    first, second = parts[0].first, parts[0].second
    if comparison is None or not comparison.quotient or first is None or second is None:
        return ""
    base = max(first.estimate.value, second.estimate.value) if finding.spread else (
        second.estimate.value
    )  # fmt: skip
    gap = first.estimate.value - second.estimate.value
    if not metric_titles.is_share(parts[0].metric):
        return f" (difference {numbers.number(gap, 2)})"
    if math.isnan(base) or base >= MISLEADING_RATE:
        return ""
    return f" (at rates this small consider the difference: {numbers.points(gap)} points)"


def reasons(finding: Finding) -> str:
    """Why a check has no value."""
    reasons = dict.fromkeys(row.reason for row in finding.not_evaluated if row.blocks)
    return "; ".join(reasons) or finding.why or "there is nothing to evaluate"


def _reversals(finding: Finding) -> str:
    """The finding of a check on reversals."""
    if not finding.reversals and finding.status not in {Status.PASS, Status.INCONCLUSIVE}:
        return numbers.SUPPRESSED
    if finding.status is Status.INCONCLUSIVE and not finding.reversals:
        return finding.why
    limit = finding.limit
    assert isinstance(limit, ReversalLimit)
    if not finding.reversals:
        return f"no reversal of kind {limit.kind} or stronger"
    sentences = [_reversal(reversal, finding) for reversal in finding.reversals]
    text = numbers.first_few(sentences, separator="; ")
    if finding.not_cleared:
        text += f"; {evidence.backing(finding)}"
    return text


def _reversal(reversal: Reversal, finding: Finding) -> str:
    """A reversal in a few words, with its p-value, or why it has none."""
    given = " and ".join(map(names.name, reversal.given))
    text = f"{pair(reversal)}, given {given}, {KIND_WORDS[reversal.kind]}"
    if reversal.significance is None:
        return text
    if reversal.hangs_on_weights:
        return f"{text} (not established: the sign of the adjusted gap depends on the weights)"
    alpha = finding.check.inference.alpha
    p = f"adjusted p {numbers.probability(reversal.significance.adjusted, alpha)}"
    return f"{text} ({p}{'' if reversal.is_significant(alpha) else ', not established'})"


def outcome(result: AuditResult) -> str:
    """How many checks came out how, the worst first; a status that none has is left out."""
    counts = _counts(result)
    words = [
        f"{counts[status]} {word}" for status, word in _STATUS_COUNTS.items() if counts[status]
    ]
    return _summary(result, words)


def tally(result: AuditResult) -> str:
    """How many checks came out how, always in the same words."""
    counts = _counts(result)
    statuses = [*_TALLY, *([Status.SKIPPED] if counts[Status.SKIPPED] else [])]
    return _summary(result, [f"{counts[status]} {_STATUS_COUNTS[status]}" for status in statuses])


def _counts(result: AuditResult) -> dict[Status, int]:
    return {**result.tally, Status.WAIVED: result.waived}


def _summary(result: AuditResult, words: list[str]) -> str:
    checks = numbers.counted(len(result.findings), "check")
    # Beyond a limit without the evidence that the limit asks for.
    not_cleared = f"; {result.not_cleared} not cleared" if result.not_cleared else ""
    return f"{checks}: {', '.join(words)}{not_cleared}"
