"""Pages of `fairaudit show`: the list of checks, and one check with its formula filled in.

A formula with the counts is shown only if its result is the printed value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial

from fairaudit.base import names
from fairaudit.base.errors import UsageError, list_known
from fairaudit.base.frozen import Frozen
from fairaudit.evidence.records import ComparisonPart
from fairaudit.judge import (
    Breach,
    Check,
    EvidenceStatus,
    Finding,
    Limit,
    NotEvaluated,
    ReversalCheck,
    SubgroupCheck,
)
from fairaudit.judge.checks import match_ids
from fairaudit.judge.subgroups import ParentGroup, Subgroup
from fairaudit.metrics import Comparison, Disparity, GroupMetric, find_metric
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION
from fairaudit.metrics.disparities import REMAINDER, PartCombination
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import (
    asked_comparisons,
    checks,
    content,
    explain,
    headlines,
    metric_titles,
    numbers,
    rates,
    reversals,
)
from fairaudit.report.blocks import (
    Block,
    Cell,
    Column,
    Document,
    Entries,
    Facts,
    Heading,
    Paragraph,
    Tone,
    tabulate,
    text_column,
)
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.report.subgroups import whose_rate
from fairaudit.result import AuditResult
from fairaudit.result.rows import GroupRow, RateRow

_OF_SUBGROUP = "|rate of the subgroup - rate of everybody|"
_OF_STRATA = (
    "the rates are averages over strata. The counts of the strata are below if an entry has the "
    "same rate with `given` and without `average`"
)


def listing(result: AuditResult) -> Document:
    """The checks of a result by number and id, the worst first."""
    rows = []
    for index, finding in enumerate(checks.by_urgency(result.findings), 1):
        word = checks.status_cell(finding, index)
        value = headlines.value(finding) or f"{len(finding.reversals)} found"
        text = f"{names.copied(finding.check.id)}: {value} ({headlines.limits(finding)})"
        rows.append((word, text))
    unjudged = asked_comparisons.without_limit(result)
    table = asked_comparisons.overview(unjudged, "entries without a limit", None)
    others = [table] if unjudged else []
    if not rows:
        text = "The spec sets no limits: rates are reported without a verdict."
        return (Heading("Checks"), Paragraph(text), *others)
    usage = (
        "fairaudit show RESULT.json CHECK explains one check. CHECK is its number, its id, or a "
        "part of its id."
    )
    heading = Heading("Checks, worst first")
    return (heading, Entries(rows), Paragraph(usage, Tone.MUTED), *others)


def find(result: AuditResult, text: str) -> Finding:
    """The finding with this number in the listing, or with an id that `match_ids` accepts.

    Raises `UsageError` if no finding or several findings match.
    """
    ranked = checks.by_urgency(result.findings)
    ids = [finding.check.id for finding in ranked]
    if text not in ids and text.isdecimal() and 1 <= int(text) <= len(ranked):
        return ranked[int(text) - 1]
    matches = match_ids(text, ids)
    if len(matches) > 1:
        listed = ", ".join(map(names.copied, matches))
        what = f"{names.quoted(text)} matches {len(matches)} checks: write the id of one"
        raise UsageError(what, list_known(matches, listed))
    return ranked[ids.index(matches[0])]


def document(result: AuditResult, finding: Finding) -> Document:
    """The page of one finding: its part of the full report, its formula, and its groups."""
    diagnostics = diagnose_by_id(result)
    figure = diagnostics[finding.check.id].figure
    blocks = [
        Heading(f"Check: {names.copied(finding.check.id)}"),
        content.state_findings([finding], diagnostics),
        *([] if figure is None else [figure]),
        *_numbers(result, finding),
    ]
    if len(finding.crossed) > 1:
        # List all groups over the limit, not only the worst.
        limit = finding.limit
        assert isinstance(limit, Limit)
        farthest_first = sorted(finding.crossed, key=lambda breach: -limit.excess(breach.value))
        blocks += [Heading("All values over the limit"), tabulate("", _BREACHES, farthest_first)]
    blocks += _groups(result, finding)
    if finding.not_evaluated:
        blocks += [Heading("Not judged"), tabulate("", _NOT_JUDGED, finding.not_evaluated)]
    check = finding.check
    first = check.metric.id if isinstance(check, Check) else check.rate
    ids = {first, *_rates(check)} if isinstance(check, Check) else {first}
    known = [definition for definition in result.definitions if definition.id in ids]
    for definition in sorted(known, key=lambda definition: definition.id != first):
        blocks += [Heading(definition.title), Paragraph(definition.means)]
        blocks.append(Facts(explain.facts(definition)))
    return tuple(blocks)


def _numbers(result: AuditResult, finding: Finding) -> Iterator[Block]:
    """The formula filled in with the counts of both sides; for a scan, its reversals."""
    check = finding.check
    if isinstance(check, ReversalCheck):
        for reversal in finding.reversals:
            yield Entries([reversals.entry(reversal, Tone.WARN, check.inference)])
            yield from reversals.proof(reversal, check.inference)
        return
    yield Heading("The formula with its numbers")
    lines = steps(result, finding)
    if not lines and isinstance(check, SubgroupCheck):
        yield Paragraph(finding.why or numbers.SUPPRESSED)
        return
    formula = _OF_SUBGROUP if isinstance(check, SubgroupCheck) else check.metric.formula
    if not lines:
        yield Paragraph(formula)
        if finding.estimate is not None and finding.estimate.suppressed:
            yield Paragraph("The numbers are suppressed.", Tone.MUTED)
            return
        yield Paragraph(
            "The formula has too many numbers for a line: see the tables below.", Tone.MUTED
        )
        return
    rows = [("formula", formula), *((str(index), line) for index, line in enumerate(lines, 1))]
    if isinstance(check, Check) and check.terms.average is not None:
        rows.append(("strata", _OF_STRATA))
    beyond = headlines.beyond_words(finding) or "within the limit"
    rows.append(("so", f"{headlines.value(finding)}, {beyond}"))
    yield Entries([(Cell(word, Tone.MUTED), text) for word, text in rows])
    if finding.subgroup is not None:
        parts: list[Subgroup | ParentGroup] = [finding.subgroup, *finding.subgroup.parts]
        everybody = finding.subgroup.everybody
        digits = numbers.digits_of_gaps((part.over / part.under, everybody) for part in parts)
        columns: tuple[Column[Subgroup | ParentGroup], ...] = (
            text_column(
                "subgroup, and larger groups that contain it",
                lambda part: names.describe_group(part.group),
            ),
            Column("count", lambda part: f"{numbers.whole(part.over)}/{numbers.whole(part.under)}"),
            Column("rate", lambda part: numbers.percent(part.over / part.under, digits)),
            Column("diff. to everybody", lambda part: numbers.points(part.divergence)),
        )
        yield tabulate("", columns, parts)


_BREACHES: tuple[Column[Breach], ...] = (
    text_column(
        "group",
        lambda row: " / ".join(
            map(names.describe_group, (row.group,) if row.group else row.between)
        ),
    ),
    text_column("stratum", lambda row: numbers.group_in((), row.stratum)),
    Column("value", lambda row: numbers.number(row.signed_value)),
    text_column(
        "evidence",
        lambda row: (
            "" if row.backing is EvidenceStatus.UNASKED else str(row.backing).replace("_", " ")
        ),
    ),
)


def _groups(result: AuditResult, finding: Finding) -> Iterator[Block]:
    """The rate and the counts by outcome of every group, in each stratum if there are strata."""
    check = finding.check
    if not isinstance(check, Check):
        return

    def is_of_check(row: RateRow | GroupRow, given: set[str]) -> bool:
        by = set(row.by) == set(check.by)
        return row.of in {check.of, check.against} and by and given == set(check.given)

    classes = {check.terms.of_class}
    if checks.averages_classes(finding):
        classes = {part.outcome for part in finding.parts}
    of_check = [
        row
        for row in result.rates
        if row.metric in _rates(check)
        and row.parameters.get("class") in classes
        and is_of_check(row, {name for name, _ in row.stratum} or {*row.averaged})
    ]
    counts = [row for row in result.groups if is_of_check(row, {name for name, _ in row.stratum})]
    if not of_check and not counts:
        return
    yield Heading("Every group")
    if of_check:
        yield from rates.tables(of_check, result, None)
        yield rates.legend(result)
    if counts:
        known = list(dict.fromkeys(level for row in counts for level in row.counts))
        columns: tuple[Column[GroupRow], ...] = (
            text_column("of the", lambda row: names.name(row.of)),
            text_column("stratum", lambda row: numbers.group(row.stratum) if row.stratum else ""),
            text_column(numbers.subset(check.by), lambda row: numbers.group(row.group)),
            *(Column(names.name(level), partial(_count, level)) for level in known),
            Column("n", lambda row: numbers.whole(row.n)),
        )
        yield tabulate("people by outcome", columns, counts)


def _count(level: str, row: GroupRow) -> str:
    return numbers.whole(row.counts[level]) if level in row.counts else ""


def _rates(check: Check) -> set[str]:
    if isinstance(check.metric, Disparity):
        return {rate.id for rate, _ in check.metric.parts}
    return {check.metric.id} if isinstance(check.metric, GroupMetric) else set()


_NOT_JUDGED: tuple[Column[NotEvaluated], ...] = (
    text_column("group", lambda row: numbers.group_in(row.group, ())),
    text_column("stratum", lambda row: numbers.group_in((), row.stratum)),
    text_column(
        "why", lambda row: names.line(row.reason) + (f" ({row.detail})" * bool(row.detail))
    ),
    text_column("reason for no verdict", lambda row: "yes" if row.blocks else "no"),
)
_EXACT = 1e-9
_DECIMALS = 1e-6
"""Tolerances for the result of a formula with terms of integers, and with decimal terms."""

_FOLD_WORDS = {
    "mean magnitude": "mean of magnitudes",
    "mean ratio": "mean of ratios or their inverses up to 1",
}
"""The name of a combination of parts in a formula, if it differs from its id."""


class Term(Frozen):
    """A written term and its value; `exact` if it consists of integers."""

    text: str
    value: Fraction | float
    exact: bool = True


class Line(Frozen):
    """A line of a calculation: what it computes, the formula in words, the formula in numbers."""

    what: str
    formula: str
    filled: Term

    def __str__(self) -> str:
        parts = (self.what, self.formula, self.filled.text, self.result)
        return " = ".join(filter(None, parts))

    @property
    def result(self) -> str:
        """The value; empty if the text is already the value."""
        text = numbers.number(float(self.filled.value), 6)
        return "" if text == self.filled.text else text


def rate(estimate: Estimate) -> Term | None:
    """A rate as a fraction of integers, or as a decimal; None if it is suppressed or undefined."""
    if estimate.suppressed or math.isnan(estimate.value):
        return None
    over, under = estimate.numerator, estimate.denominator
    if over is not None and under:
        value = Fraction(over, under)
        if _comes_to(value, estimate.value, _EXACT):
            return Term(f"{over:,}/{under:,}", value)
    if math.isinf(estimate.value):
        return None
    text = f"{estimate.value:.10g}"
    return Term(text if estimate.value >= 0 else f"({text})", float(text), exact=False)


def steps(result: AuditResult, finding: Finding) -> list[str]:
    """The lines that calculate a value, as texts; empty if they cannot be written."""
    check, subgroup = finding.check, finding.subgroup
    if isinstance(check, SubgroupCheck):
        search = whose_rate(result, check)
        if subgroup is None or search is None:
            return []
        text = f"|{subgroup.over:,}/{subgroup.under:,} - {search.over:,}/{search.under:,}|"
        gap = Fraction(subgroup.over, subgroup.under) - Fraction(search.over, search.under)
        return [str(Line(names.describe_group(subgroup.group), "", Term(text, abs(gap))))]
    outcomes = {level for row in result.groups if row.of == check.of for level in row.counts}
    return [*map(str, working(finding, len(outcomes)))]


def working(finding: Finding, outcomes: int = 2) -> tuple[Line, ...]:
    """The lines that calculate a value, the value last; empty if they cannot be written.

    Pseudo-counts are added to each of the `outcomes`. Values of a fit, values of
    the distribution of all people, and means over all groups have no lines.
    """
    check, estimate = finding.check, finding.estimate
    is_known = estimate is not None and not estimate.suppressed and not math.isnan(estimate.value)
    if estimate is None or not is_known or not isinstance(check, Check):
        return ()
    if isinstance(check.metric, GroupMetric) and check.against is None:
        own = rate(estimate)
        return () if own is None else (Line(check.metric.title, check.metric.formula, own),)
    lines = list(_working(finding, check, outcomes))
    if not lines or not _agrees(lines[-1].filled, estimate.value):
        return ()
    return tuple(lines)


def _working(finding: Finding, check: Check, outcomes: int) -> Iterator[Line]:
    """Lines for the sides, for each part, and for all parts together, if they have formulas."""
    written: set[str] = set()
    parts = []
    # If a part has no comparison, its sides are compared by a log-ratio of outcomes.
    comparisons: Sequence[Comparison | None] = (
        [comparison for _, comparison in check.metric.parts]
        * (len(finding.parts) // len(check.metric.parts))
        if isinstance(check.metric, Disparity)
        else [None] * len(finding.parts)
    )
    for part, comparison in zip(finding.parts, comparisons, strict=True):
        for line in _sides(part, check.of) if part.second or not _is_of_rows(comparison) else ():
            if str(line) not in written:
                written.add(str(line))
                yield line
        smoothing = check.terms.parameters
        pseudo = Fraction(smoothing.per_outcome(outcomes) if comparison is None else 0)
        term = _part(part, comparison) if not pseudo else _smoothed(part, pseudo, outcomes)
        if term is None:
            return
        parts.append(term)
        if comparison is None:
            is_metric = find_metric(part.metric) is not None
            what = "ε" if is_metric else f"ε of {names.quoted(part.metric)}"
        elif comparison.sides_of is not None:
            what = comparison.title
        else:
            what = f"{comparison.id.replace('_', ' ')} of {_title(part, check.of)}"
        yield Line(what, "", term)
    metric = check.metric
    if isinstance(metric, Disparity) and metric.per_class is not None and check.against is None:
        size, inner = len(metric.parts), metric.per_class.fold
        if size > 1:
            parts = [_fold_terms(inner, parts[i : i + size]) for i in range(0, len(parts), size)]
    if check.against is not None or metric is BIAS_AMPLIFICATION:
        fold = REMAINDER if len(parts) == 2 else None  # two outcomes with one part each
    else:
        fold = metric.fold if isinstance(metric, Disparity) and len(parts) > 1 else None
    if fold is not None:
        yield Line(metric.title, "", _fold_terms(fold, parts))


def _fold_terms(fold: PartCombination, parts: Sequence[Term]) -> Term:
    """The combination of several parts, filled in; exact if all parts are exact."""
    inside = [part.text for part in parts]
    text = f"{_FOLD_WORDS.get(fold.id, fold.id)}({'; '.join(inside)})"
    if fold is REMAINDER:
        text = f"({inside[0]}) - ({inside[1]})"
    values = [part.value for part in parts]
    value: Fraction | float = math.nan
    if all(map(math.isfinite, values)):
        value = fold.exact([Fraction(value) for value in values])
    elif fold.rank is not None:
        value = float(fold.rank(max(values, key=fold.rank)))
    return Term(text, value, exact=all(part.exact for part in parts))


def _sides(part: ComparisonPart, of: str) -> Iterator[Line]:
    record = find_metric(part.metric)
    what, formula = _title(part, of), ""
    if isinstance(record, GroupMetric):
        formula = record.formula
    elif part.outcome is not None:
        what = f"share of {names.quoted(part.outcome)}"
    for side in (part.first, part.second):
        term = None if side is None else rate(side.estimate)
        if side is not None and term is not None:
            yield Line(f"{what}, {side.crowd or names.describe_group(side.group)}", formula, term)


def _title(part: ComparisonPart, of: str) -> str:
    record = find_metric(part.metric)
    title = part.metric.replace("_", " ").capitalize() if record is None else record.title
    whose = f" of {names.name(part.of)}" if part.of else ""
    whose += "" if part.outcome is None else f" of {names.quoted(part.outcome)}"
    return metric_titles.heading(part.metric, part.of or of, title) + whose


def _part(part: ComparisonPart, comparison: Comparison | None) -> Term | None:
    """A comparison in numbers. For a burden it may compare the shares without the burden."""
    sides = (part.first, part.second)
    first, second = [None if side is None else rate(side.estimate) for side in sides]
    is_of_rows = _is_of_rows(comparison)
    is_one_sided = comparison is not None and (comparison.one_sided or is_of_rows)
    if first is None or (second is None and not is_one_sided):
        return None
    second = second or first
    spared = [Term(f"(1 - {term.text})", 1 - term.value, term.exact) for term in (first, second)]
    for a, b in ((first, second), spared):
        if comparison is None:
            term = _log_ratio(a, b)
        elif not comparison.worked or (comparison.contrast is not None and not is_of_rows):
            return None
        else:
            left, right = (a, b) if comparison.highest_first else (b, a)
            text = comparison.worked.format(a=left.text, b=right.text)
            values = (left.value, right.value)
            try:
                value = comparison.apply(*(values if comparison.rational else map(float, values)))
            except ZeroDivisionError:
                # A positive number over zero is infinite, and zero over zero is undefined.
                value = part.value
                if math.isfinite(value):
                    continue
            term = Term(text, value, a.exact and b.exact)
        if _agrees(term, part.value):
            return term
    return None


def _smoothed(part: ComparisonPart, pseudo: Fraction, outcomes: int) -> Term | None:
    """ε of one outcome in two groups, with pseudo-counts added to all outcomes of both groups."""
    sides = []
    for side in (part.first, part.second):
        if side is None or side.estimate.numerator is None or side.estimate.denominator is None:
            return None
        over, under = side.estimate.numerator, side.estimate.denominator
        value = (over + pseudo) / (under + outcomes * pseudo)
        added, all_added = (f"{float(number):g}" for number in (pseudo, outcomes * pseudo))
        sides.append(Term(f"({over:,} + {added})/({under:,} + {all_added})", value))
    term = _log_ratio(*sides)
    return term if _agrees(term, part.value) else None


def _is_of_rows(comparison: Comparison | None) -> bool:
    return comparison is not None and comparison.sides_of is not None


def _log_ratio(a: Term, b: Term) -> Term:
    """ε of one outcome in two groups."""
    text, exact = f"|ln(({a.text}) / ({b.text}))|", a.exact and b.exact
    if not a.value or not b.value:
        return Term(text, math.nan if a.value == b.value else math.inf, exact)
    return Term(text, abs(math.log(a.value / b.value)), exact)


def _agrees(term: Term, value: float) -> bool:
    return _comes_to(term.value, value, _EXACT if term.exact else _DECIMALS)


def _comes_to(computed: Fraction | float, value: float, within: float) -> bool:
    if not math.isfinite(value) or not math.isfinite(computed):
        return float(computed) == value
    return abs(float(computed) - value) <= within * max(1.0, abs(value))
