"""The formula of a finding with its numbers: `(497/1,337) / (1,115/1,847) = 0.6158`.

A formula is filled in only where what it says comes to the value that is printed behind it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from fairaudit.base import names
from fairaudit.base.frozen import Frozen
from fairaudit.evidence import ComparisonPart, Side
from fairaudit.judge import Check, Finding, SubgroupCheck
from fairaudit.metrics import Comparison, Disparity, GroupMetric, find_metric
from fairaudit.metrics.differential_fairness import BIAS_AMPLIFICATION
from fairaudit.metrics.disparities import REMAINDER, PartCombination
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import metric_titles, numbers
from fairaudit.report.subgroups import whose_rate
from fairaudit.result import AuditResult

_EXACT = 1e-9
_DECIMALS = 1e-6
"""How far a formula may be off whose terms are integers, and whose terms are decimals."""

_FOLD_WORDS = {
    "mean magnitude": "mean of magnitudes",
    "mean ratio": "mean of ratios or their inverses up to 1",
}
"""The name of a fold in a formula, if it differs from its id."""


class Term(Frozen):
    """A written term and its value; `exact` if it consists of integers."""

    text: str
    value: Fraction | float
    exact: bool = True


class Line(Frozen):
    """One line of the working: of what, its formula in words, and the filled-in one."""

    what: str
    formula: str
    filled: Term

    def __str__(self) -> str:
        parts = (self.what, self.formula, self.filled.text, self.result)
        return " = ".join(filter(None, parts))

    @property
    def result(self) -> str:
        """The value, unless the text already is the value."""
        text = numbers.number(float(self.filled.value), 6)
        return "" if text == self.filled.text else text


def rate(estimate: Estimate) -> Term | None:
    """A rate by its integers, or else as a decimal; None if it is hidden or missing."""
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
    """The lines that lead to the value, filled in; none where no line holds what it is made of."""
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


def _who(side: Side) -> str:
    return side.crowd or names.describe_group(side.group)


def working(finding: Finding, outcomes: int = 2) -> tuple[Line, ...]:
    """The lines that lead to the value, the last being its own; empty if they do not.

    Pseudo-counts are added to each of the `outcomes`. Values of everybody's distribution, of a fit,
    or of a mean over all groups have no lines.
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
    """The sides, each part, and how the parts become one number; stops where one has no formula."""
    written: set[str] = set()
    parts = []
    # The sides of a part without a comparison are compared by a log-ratio of outcomes.
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
        fold = REMAINDER if len(parts) == 2 else None  # of two outcomes, each with one part
    else:
        fold = metric.fold if isinstance(metric, Disparity) and len(parts) > 1 else None
    if fold is not None:
        yield Line(metric.title, "", _fold_terms(fold, parts))


def _fold_terms(fold: PartCombination, parts: Sequence[Term]) -> Term:
    """Several parts as one number, filled in; exact where none is infinite."""
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
            yield Line(f"{what}, {_who(side)}", formula, term)


def _title(part: ComparisonPart, of: str) -> str:
    record = find_metric(part.metric)
    title = part.metric.replace("_", " ").capitalize() if record is None else record.title
    whose = f" of {names.name(part.of)}" if part.of else ""
    whose += "" if part.outcome is None else f" of {names.quoted(part.outcome)}"
    return metric_titles.heading(part.metric, part.of or of, title) + whose


def _part(part: ComparisonPart, comparison: Comparison | None) -> Term | None:
    """A comparison filled in; of a burden by the shares that are spared, as it is defined then."""
    sides = (part.first, part.second)
    first, second = [None if side is None else rate(side.estimate) for side in sides]
    is_one_sided = comparison is not None and (comparison.one_sided or _is_of_rows(comparison))
    if first is None or (second is None and not is_one_sided):
        return None
    second = second or first
    spared = [Term(f"(1 - {term.text})", 1 - term.value, term.exact) for term in (first, second)]
    for a, b in ((first, second), spared):
        term = _log_ratio(a, b) if comparison is None else _compared(comparison, a, b, part.value)
        if term is not None and _agrees(term, part.value):
            return term
    return None


def _smoothed(part: ComparisonPart, pseudo: Fraction, outcomes: int) -> Term | None:
    """ε of one outcome in two groups, with pseudo-counts added to all outcomes of each."""
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


def _compared(comparison: Comparison, a: Term, b: Term, value: float) -> Term | None:
    if not comparison.worked or (comparison.contrast is not None and not _is_of_rows(comparison)):
        return None
    first, second = (a, b) if comparison.highest_first else (b, a)
    text = comparison.worked.format(a=first.text, b=second.text)
    exact = a.exact and b.exact
    try:
        left, right = first.value, second.value
        if not comparison.rational:
            left, right = float(left), float(right)
        return Term(text, comparison.apply(left, right), exact)
    except ZeroDivisionError:
        # A positive number over zero is infinite, and zero over zero no number.
        return Term(text, value, exact) if not math.isfinite(value) else None


def _agrees(term: Term, value: float) -> bool:
    return _comes_to(term.value, value, _EXACT if term.exact else _DECIMALS)


def _comes_to(computed: Fraction | float, value: float, within: float) -> bool:
    if not math.isfinite(value) or not math.isfinite(computed):
        return float(computed) == value
    return abs(float(computed) - value) <= within * max(1.0, abs(value))
