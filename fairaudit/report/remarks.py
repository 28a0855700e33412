"""Remarks on a whole report: how close a pass came, what no limit covers, the widest gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from fairaudit.base import names
from fairaudit.base.frozen import Frozen
from fairaudit.evidence.records import Side
from fairaudit.judge import Finding, Limit, Status
from fairaudit.judge.simpson import ReversalKind
from fairaudit.metrics import Disparity, Eligibility
from fairaudit.report import (
    asked_comparisons,
    checks,
    finding_facts,
    headlines,
    metric_titles,
    numbers,
    reversals,
)
from fairaudit.report.diagnostics import Diagnostic, Level, diagnose
from fairaudit.report.provenance import name_spec
from fairaudit.result import AuditResult, Verdict
from fairaudit.result.rows import ComparisonRow, LatticeEntry, LatticeRow, RateRow


def distance(diagnostic: Diagnostic) -> float:
    """The distance of a value from its limit: 1 at parity, 0 at the limit, ∞ if it is unknown."""
    finding = diagnostic.finding
    metric = getattr(finding.check, "metric", None)
    estimate, limit = finding.estimate, finding.limit
    if estimate is None or not isinstance(limit, Limit) or not math.isfinite(estimate.value):
        return math.inf
    ideal = float(metric.ideal) if isinstance(metric, Disparity) else 0.0
    allowed = [abs(float(bound) - ideal) for bound in limit.bounds if float(bound) != ideal]
    return -limit.excess(estimate.value) / min(allowed) if allowed else math.inf


def count_passes(every: Sequence[Diagnostic]) -> str:
    """The number of checks that passed, and the number of passes without doubt."""
    passed = [diagnostic for diagnostic in every if diagnostic.finding.status is Status.PASS]
    clear = sum(diagnostic.level is Level.PASS for diagnostic in passed)
    if clear == len(passed):
        return f"{numbers.counted(clear, 'check')} passed"
    return f"{numbers.counted(len(passed), 'check')} passed, {numbers.whole(clear)} without doubt"


def beside_checks(result: AuditResult, every: Sequence[Diagnostic]) -> Iterator[str]:
    """The remarks that belong to no single check, in the order of a page."""
    yield from passes(every)
    yield from uncovered(result)
    yield from ungated_reversals(result)


def count_first_notices(result: AuditResult) -> int:
    """The number of notices at the beginning of a report; a pass has room for more notices."""
    return min(len(result.notices), 8 if result.verdict is Verdict.PASS else 2)


def first_notices(result: AuditResult) -> Iterator[str]:
    """The notices at the beginning of a report, and how many are below."""
    count = count_first_notices(result)
    yield from map(names.line, result.notices[:count])
    if more := len(result.notices) - count:
        yield f"{numbers.counted(more, 'more notice')} below"


def steps(result: AuditResult, every: Sequence[Diagnostic]) -> Iterator[str]:
    """What to do next, each in a sentence, the most urgent first."""
    spec = name_spec(result.provenance)
    if not every:
        if gap := next((gap for gap in widest(result) if gap.is_significant), None):
            yield f"Find the cause of the widest gap first: {gap.headline}."
        yield (
            f"{spec} sets no limits, so the result has no verdict, and the exit code is 0 for any "
            "gap. Decide which gap is too wide, and set it as a limit, for example "
            "`fail: {below: 0.8}` for a ratio."
        )
        return
    opened = [row for row in every if row.level is not Level.PASS]
    evident = [row for row in opened if not row.finding.not_enough_evidence]
    reviewed = [row for row in evident if row.finding.status not in {Status.PASS, Status.WAIVED}]
    disparities = [row for row in reviewed if row.finding.worse_off or row.finding.second]
    adjusted = [one for row in disparities if (one := reversals.find_adjusted(result, row.finding))]
    found = [*adjusted, *(one for row in evident for one in row.finding.reversals)]
    over = numbers.counted(len(disparities), "check")
    texts = [f"Find the cause of each gap over a limit ({over})."] if disparities else []
    if found:
        by = dict.fromkeys(names.name(one.attribute) for one in found)
        strata = dict.fromkeys(names.name(name) for one in found for name in one.given)
        turned = all(one.kind is ReversalKind.EVERY_STRATUM for one in found)
        gaps, which = "gaps", "the gaps have" if turned else "some gaps are unclear or have"
        if len(found) == 1:
            gaps, which = "the gap", "the gap has" if turned else "the gap is unclear or has"
        compare = f"Before you act on {gaps} by {' or '.join(by)}, compare people with the same "
        compare += f"{' and '.join(strata)}: among them, {which} the opposite direction."
        alpha = result.provenance.inference.alpha
        is_sure = any(one.is_significant(alpha) for one in found)
        compare += "" if is_sure else f" The opposite direction {reversals.MAY_BE_CHANCE}."
        texts.insert(0 if adjusted else len(texts), compare)
        if not (is_sure or disparities):
            texts.append("Collect more data. If chance should not fail, set `significant: true`.")
    if reviewed:
        texts.append("Correct the cause, or record the reason as a waiver; then audit again.")
        if result.exit_code == 1:
            texts[-1] += " Until then, this audit stops each release that runs it (exit code 1)."
    if turning := sum(bool(row.finding.missing and row.finding.missing.may_turn) for row in every):
        # This step comes first, because it could change which checks need a review.
        noun = numbers.counted(turning, "check")
        text = f"Complete the missing groups and outcomes: they could change the verdict of {noun}."
        texts.insert(0, text)
    yield from texts
    if unsure := sum(row.finding.not_enough_evidence for row in opened):
        noun = numbers.counted(unsure, "check")
        yield f"Collect more data: for {noun} the evidence is not enough."
    doubts = [row.finding for row in opened if row.finding.status is Status.INCONCLUSIVE]
    if doubtful := sum(not finding.not_enough_evidence for finding in doubts):
        noun = numbers.counted(doubtful, "check")
        yield f"Read why {noun} could not be evaluated: more data of the same kind may not help."


def explain_evidence(every: Iterable[Diagnostic]) -> Iterator[str]:
    """Sentences on the evidence that the limits of these checks require."""
    findings = [row.finding for row in every if isinstance(row.finding.limit, Limit)]
    if asked := [one for one in findings if getattr(one.limit, "significant", False)]:
        alpha = asked[0].check.inference.alpha
        yield f"significant: the gap is more than chance (p below {alpha})"
    if any(getattr(one.limit, "conclusive", False) for one in findings):
        yield "conclusive: the whole interval is over the limit"


def passes(every: Sequence[Diagnostic]) -> Iterator[str]:
    """How many checks passed and how close they are; what a passing audit may have missed."""
    passed = [row for row in every if row.finding.status is Status.PASS]
    if passed and len(passed) < len(every):
        closest = min(passed, key=distance)
        is_told = math.isfinite(distance(closest))
        value = headlines.value(closest.finding)
        beside = "" if value.partition(" (")[0] in closest.headline else f"{value}; "
        found = [one for row in every for one in row.finding.reversals]
        is_reversed = any(reversals.is_of_gap(one, closest.finding) for one in found)
        other = "; the check of Simpson's reversals looks at this gap within strata" * is_reversed
        text = f"{closest.headline} ({beside}{closest.limit}{other})"
        text = f". The check closest to its limit: {text}" if is_told else ""
        yield f"{count_passes(every)}{text}"
    elif gaps := [row.finding for row in passed if finding_facts.few_people(row.finding)]:
        widest = max(gaps, key=_detectable)
        more = f" (and {len(gaps) - 1} more)" if len(gaps) > 1 else ""
        yield f"few people: {finding_facts.few_people(widest)}{more}"


def _detectable(finding: Finding) -> float:
    gap = finding.detectable
    sides = [] if gap is None else [abs(side) for side in (gap.down, gap.up)]
    return max((side for side in sides if not math.isnan(side)), default=math.inf)


def uncovered(result: AuditResult) -> Iterator[str]:
    """How many of the results have a limit, and the worst value without a limit."""
    if not result.findings:
        return
    limited = [(row, entry) for row in result.lattice for entry in row.entries if entry.limited]
    open_ = [(row, entry) for row, entry in limited if not entry.judged]
    if not open_:
        return
    text = f"{len(limited) - len(open_)} of {len(limited)} results have a limit (a result: one "
    text += "measure by one combination of columns)"
    urgent = [finding.check.metric_id for finding in result.findings if finding.crossed]
    known = [pair for pair in open_ if not math.isnan(pair[1].departure)]
    of_urgent = [pair for pair in known if pair[1].metric in urgent]
    if worst := describe_worst(of_urgent or known, open_, "{} without a limit", 3):
        text += f". T{worst.removeprefix('t')}"
    yield text


def describe_worst(
    known: Sequence[tuple[LatticeRow, LatticeEntry]],
    every: Sequence[tuple[LatticeRow, LatticeEntry]],
    what: str,
    digits: int = 4,
) -> str:
    """The known value farthest from parity with its subset; empty if no value is known."""
    if not known:
        return ""
    row, worst = max(known, key=lambda pair: pair[1].departure)
    published = "published " * any(entry.estimate.suppressed for _, entry in every)
    value, pair = worst.estimate.value, checks.worst_pair(worst, in_text=True)
    text = f"the worst {published}{what.format(metric_titles.entry(worst))} is "
    text += f"{numbers.number(value, digits)}, by {numbers.subset(row.by)}"
    return text + (f": {pair}" if pair else "") + describe_set_aside(every)


def describe_set_aside(entries: Iterable[tuple[LatticeRow, LatticeEntry]]) -> str:
    """The number of groups in some subsets that are too small for any comparison."""
    in_order = sorted(entries, key=lambda pair: pair[1].set_aside or 0)
    most = {row.by: entry.set_aside for row, entry in in_order}
    if None in most.values():
        return " (groups may be set aside)"
    total = sum(filter(None, most.values()))
    return f" (groups set aside: {numbers.whole(total)})" if total else ""


def ungated_reversals(result: AuditResult) -> Iterator[str]:
    """The widest significant reversal that no check covers, and the number of others."""
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
    text = f"No check covers this: {headlines.reversal_headline(widest, title)}"
    if widest.significance is not None:
        p = numbers.adjusted_p(widest.significance, alpha, "comparison")
        text += f". The opposite directions are more than chance: {p}"
    yield text + (f". Similar findings: {len(evident) - 1:,}" if len(evident) > 1 else "")


_MOST = 6
WIDEST = "the widest gap by each combination of columns"
"""The title of the widest gaps, each to the reference group of the spec."""


class WidestGap(Frozen):
    """A gap between a group and its reference by one rate: a sentence, and its evidence.

    `is_significant` is None if no test or interval is published.
    """

    headline: str
    sure: str
    is_significant: bool | None

    @classmethod
    def of(
        cls, row: RateRow, other: RateRow, ratio: ComparisonRow | None, result: AuditResult
    ) -> WidestGap:
        """The gap of a group to its reference; a ratio if the spec asks for ratios."""
        about: RateRow | ComparisonRow = ratio or row
        if ratio is not None:
            estimate, part = ratio.estimate, ratio.parts[0]
            metric, sides = part.metric, part.sides
            apart, between = headlines.times(estimate), numbers.interval(estimate, share=False)
            level = result.provenance.inference.percent
            kind = numbers.interval_heading(f"{level} interval", [estimate])
            is_known = estimate.low is not None and estimate.high is not None
            is_significant = _is_apart(ratio) if is_known else None
            where = f", {'excludes' if is_significant else 'includes'} 1" if is_known else ""
            sure = f"{kind} {between}{where}" if between else "no interval"
        else:
            assert row.difference is not None
            metric, sides = row.metric, [Side(rate.group, rate.estimate) for rate in (row, other)]
            apart = metric_titles.gap(metric, row.difference, [0]) if row.difference else ("", "")
            test = row.estimate.significance
            sure = "not tested" if test is None else numbers.adjusted_p(test, row.alpha)
            is_significant = None if test is None else test.adjusted < row.alpha
        text = headlines.contrast(metric, row.of, sides, apart, burden=row.of in result.burdens)
        text += numbers.in_stratum(row.stratum)
        text += metric_titles.options(about.parameters, about.averaged)
        # The name of a model or a stage.
        text += "" if row.of in metric_titles.UNNAMED else f" ({names.name(row.of)})"
        rates = [side.estimate for side in sides]
        digits = metric_titles.digits_of_rates(metric, [rates])
        first, second = (rate.value for rate in rates)
        results = [(first, second, apart[0], ratio is not None)] if apart[0] else []
        digits = metric_titles.digits_that_give(metric, results, digits)
        counts = " against ".join(metric_titles.rate(metric, rate, digits) for rate in rates)
        by = f"by {numbers.subset(row.by)}: " if len(row.by) > 1 else ""
        if is_significant is not None:
            sure = f"{'clear' if is_significant else 'no clear'} gap: {sure}"
        return cls(text, f"{by}{counts}; {sure}", is_significant)


def widest(result: AuditResult) -> list[WidestGap]:
    """For each rate and grouping, the group farthest from its reference; significant gaps first."""
    compared = [
        row
        for row in result.rates
        if row.by and row.standing is Eligibility.ELIGIBLE and row.group != row.reference
        if row.difference is not None and math.isfinite(row.difference)
    ]
    best: dict[tuple[object, ...], RateRow] = {}
    for row in sorted(compared, key=_rank):
        best.setdefault(_table_of(row), row)
    rows = {(_table_of(row), row.group): row for row in reversed(result.rates)}
    asked = asked_comparisons.compared_groups(result)
    gaps = []
    for row in [*best.values()][:_MOST]:
        ratios = []
        for one in asked_comparisons.comparisons_of(row, asked):
            is_quotient = asked_comparisons.is_ratio(one) and asked_comparisons.is_of_both(one)
            if is_quotient and one.estimate.value > 0:
                ratios.append(one)
        found = [(_is_apart(one), abs(math.log(one.estimate.value))) for one in ratios]
        ratio = ratios[found.index(max(found))] if ratios else None
        gaps.append(WidestGap.of(row, rows[_table_of(row), row.reference], ratio, result))
    return gaps


def _is_apart(row: ComparisonRow) -> bool:
    """Whether the interval of a ratio does not include parity."""
    low, high = row.estimate.low, row.estimate.high
    return low is not None and high is not None and not low <= 1 <= high


def _table_of(row: RateRow) -> tuple[object, ...]:
    """The fields that are equal in all rows of a table of rates."""
    return row.metric, row.of, row.by, row.stratum, str(row.parameters), row.averaged


def _rank(row: RateRow) -> tuple[bool, float, float]:
    """A key that sorts significant gaps first, then gaps of shares, then the widest gaps."""
    test = row.estimate.significance
    adjusted = 1.0 if test is None else test.adjusted
    assert row.difference is not None
    return adjusted >= row.alpha, not metric_titles.is_share(row.metric), -abs(row.difference)


_MOST_FAILED = 5
"""Maximum number of checks that an assertion error lists."""


def describe_failure(result: AuditResult) -> str:
    """The verdict, and two lines for each check that did not pass, the most urgent first."""
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
