"""Metrics in words: titles, options, verbs, and rates and gaps with their units."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from fairaudit.base import names
from fairaudit.judge import Check, Finding
from fairaudit.metrics import GroupMetric, Mean, PeopleCount, Rate, Requirement, find_metric
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.means_and_errors import ADJUSTED_MEAN
from fairaudit.metrics.rates import BASE_RATE, NOT_SELECTED_RATE, SELECTION_RATE
from fairaudit.report import numbers
from fairaudit.result import AuditResult
from fairaudit.result.rows import LatticeEntry

_LABEL = "label"
UNNAMED = frozenset({_LABEL, "prediction", "decision", "score"})
"""The outcomes that are named by their role; others are models or stages with names of the spec."""
_OF_LABELS = {SELECTION_RATE.id: BASE_RATE.title, NOT_SELECTED_RATE.id: "Rate of negative labels"}
_SCORED = frozenset({"decision", "prediction"})
_PEOPLE = (
    *("Atkinson", "Brier", "Cochran", "Cohen", "Cramér", "Goodman", "Hosmer", "Kullback"),
    *("Lipschitz", "Mantel", "Theil"),
)
"""Names at the beginning of titles, which keep their capital letter."""
_OPTION_WORDS = {"at": "at a score of", "class": "of class", "average": "averaged,"}


def title(metric: str, of: str = "") -> str:
    """The title of a metric in running text: `selection rate`; for a label, `base rate`."""
    record = NOT_SELECTED_RATE if metric == NOT_SELECTED_RATE.id else find_metric(metric)
    name = metric.replace("_", " ") if record is None else record.title
    return in_text(heading(metric, of, name))


def entry(worst: LatticeEntry) -> str:
    """The title of an entry of the lattice in running text, with the full name of the measure."""
    record = find_metric(worst.metric)
    if record is None or isinstance(record, GroupMetric):
        return worst.title
    return in_text(record.title) + worst.title.removeprefix(record.short or record.id)


def in_text(title: str) -> str:
    """A title in running text, with a small first letter except in a name or symbol."""
    if title.startswith(_PEOPLE) or not title[1:2].islower():
        return title
    return title[:1].lower() + title[1:]


def heading(metric: str, of: str, title: str) -> str:
    """The title of a rate for an outcome; for a label, it does not mention selection."""
    return _OF_LABELS.get(metric, title) if of == _LABEL else title


def of_outcome(metric: str, of: str) -> str:
    """The words after the name of a metric, such as ` of the label`; empty without an outcome.

    A metric of a score gets ` of the score`, unless the outcome is a model with a name.
    """
    record = find_metric(metric)
    if record is None:
        return whose(of)
    if Requirement.SCORE in record.requirements and of in _SCORED:
        return " of the score"
    return whose(of) if record.has_outcome else ""


def whose(of: str) -> str:
    """The outcome after a name: ` of the label`, or ` of recidivism` if the spec names it."""
    return f" of {'the ' * (of in UNNAMED)}{names.name(of)}"


def defined_heading(result: AuditResult, metric: str, of: str) -> str:
    """The heading of a rate, with its title from the definitions of a result."""
    defined = next(record.title for record in result.definitions if record.id == metric)
    return heading(metric, of, defined)


def is_share(metric: str) -> bool:
    """Whether a rate is a share, which is written in per cent; a ratio of two counts is not."""
    record = find_metric(metric)
    if not isinstance(record, GroupMetric):
        return metric != ADJUSTED_MEAN.id
    return isinstance(record, Rate | Mean) and record.bounds == (0, 1)


def participle(metric: str, of: str) -> str:
    """The participle for the people that a rate counts: `selected`; empty without a decision."""
    record = find_metric(metric)
    return record.participle if isinstance(record, GroupMetric) and of != _LABEL else ""


def happens(metric: str, of: str, *, burden: bool, plural: bool = False) -> str:
    """The verb for people that a rate counts: `is selected`; for a burden, `has the outcome`."""
    word = participle(metric, of)
    if word and burden:
        return "have the outcome" if plural else "has the outcome"
    return word and f"{'are' if plural else 'is'} {word}"


def gap(
    metric: str, value: float, bounds: Sequence[Decimal | int], exact: Fraction | None = None
) -> tuple[str, str]:
    """Two texts on the distance of a rate from another one, about rates and about people.

    `2.5 points above` and `2.5 points more often than`, with enough digits to compare with each
    bound. The second text is empty for rates that are not shares.
    """
    way, often = ("above", "more") if value > 0 else ("below", "less")
    if not is_share(metric):
        size = numbers.number_beside(abs(value), bounds, exact, digits=decimals(metric, 3))
        return f"{size} {way}", ""
    size = numbers.number_beside(abs(value), bounds, exact, digits=1, scale=100)
    return f"{size} points {way}", f"{size} points {often} often than"


def decimals(metric: str, digits: int) -> int:
    """The number of decimals `digits`; 0 for a count of people."""
    return 0 if isinstance(find_metric(metric), PeopleCount) else digits


def decimals_of(finding: Finding, digits: int) -> int:
    """The number of decimals for the number that a check judges; 0 for a count of people."""
    check = finding.check
    return 0 if isinstance(check, Check) and isinstance(check.metric, PeopleCount) else digits


def digits_of_rates(metric: str, rows: Iterable[Sequence[Estimate]], least: int = 4) -> int:
    """The number of decimals with which rates of a row differ, and each differs from its interval.

    `least` applies to numbers that are not shares.
    """
    values: list[list[float | None]] = []
    for row in rows:
        known = [rate for rate in row if not rate.suppressed]
        values.append([rate.value for rate in known])
        values += map(numbers.told_apart, known)
    if is_share(metric):
        return numbers.digits_of_shares(values)
    return numbers.digits_apart(values, decimals(metric, least))


def digits_that_give(metric: str, results: Iterable[numbers.Result], least: int) -> int:
    """The number of decimals, at least `least`, with which printed rates give printed results."""
    return numbers.digits_that_give(results, least, scale=100 if is_share(metric) else 1)


def rate_alone(metric: str, estimate: Estimate, digits: int) -> str:
    """A rate of one group: a share in per cent with these decimals, a count without decimals."""
    if estimate.suppressed:
        return numbers.SUPPRESSED
    if is_share(metric):
        return numbers.percent(estimate.value, digits)
    return numbers.number(estimate.value, decimals(metric, digits))


def rate(metric: str, estimate: Estimate, digits: int) -> str:
    """A rate of one group with its counts: `74.3 % (52/70)`; a count is printed alone."""
    value, behind = rate_alone(metric, estimate, digits), numbers.counts(estimate)
    is_count = decimals(metric, 1) == 0
    return value if is_count or not behind else f"{value} ({behind})"


def options(parameters: Mapping[str, object], averaged: Sequence[str] = ()) -> str:
    """The options of a metric in brackets, ` (class b)`; empty if it has none.

    `averaged` are the columns over whose strata a rate was averaged.
    """
    words = []
    for key, value in parameters.items():
        match value:
            case Mapping():
                text = ", ".join(f"{names.name(name)} {number:g}" for name, number in value.items())
            case list():
                text = ", ".join(names.name(str(level)) for level in value)
            case float():
                text = f"{value:g}"
            case _:
                text = names.line(str(value))
        if key != "aggregate":  # the title has it
            words.append(f"{_OPTION_WORDS.get(key, key)} {text}")
    if averaged:
        words.append(f"over {numbers.subset(tuple(averaged))}")
    return f" ({'; '.join(words)})" if words else ""


def short_name(name: str) -> str:
    """The short name of a rate (`TPR`), or the name of an outcome."""
    record = find_metric(name)
    return record.short if record is not None and record.short else names.name(name)
