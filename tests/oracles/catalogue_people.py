"""The oracle of the rest of the catalogue: people, sums over them, and undefined values.

As in `oracle.py`, nothing here and in the other modules `catalogue_*` knows the counting, the
arrays or the catalogue of the package: every function loops over rows, each of which stands for
`people` persons. Undefined is `None`, infinite is `math.inf`, and all that is rational is a
`Fraction`. Ids, formulas, signs and edge cases are those of metrics.md, whose sections are named;
the seeds are the papers behind it: 000 Foulds & Pan, 001 Beutel et al., 003 fairMLHealth,
004 Zliobaite.

Rows lacking what a measure needs are left out of that measure alone. A measure over all groups
is undefined with fewer than two groups, and when one of them has nobody whom it could count
(metrics.md 0.4 and 0.5, with `min_size` unset).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

Defined = Fraction | float
Number = Fraction | float | None

HALF = Fraction(1, 2)
MOST_DISTINCT = 20
EQUAL_BINS = 10


@dataclass(frozen=True, slots=True)
class Person:
    """One line of data: `people` persons who share everything that is known about them."""

    group: str
    label: bool | None = None
    prediction: bool | None = None
    stratum: str | None = None
    score: Fraction | None = None
    y: Fraction | None = None
    predicted: Fraction | None = None
    label_class: str | None = None
    predicted_class: str | None = None
    number: Fraction | None = None
    people: int = 1


Rows = Sequence[Person]
Weighted = list[tuple[Fraction, int]]
Counts = dict[str, dict[str, int]]


# --- Arithmetic with undefined and infinite values ---------------------------------------------


def subtract(left: Number, right: Number) -> Number:
    """Return left - right, where infinite - infinite is undefined."""
    if left is None or right is None or (math.isinf(left) and math.isinf(right)):
        return None
    return left - right


def divide(over: Number, under: Number) -> Number:
    """Return over / under of values from zero up: positive/0 is infinite, 0/0 is undefined."""
    if over is None or under is None or (math.isinf(over) and math.isinf(under)):
        return None
    if math.isinf(under):
        return Fraction(0)
    if under == 0:
        return None if over == 0 else math.inf
    return math.inf if math.isinf(over) else Fraction(over) / Fraction(under)


def magnitude(value: Number) -> Number:
    """Return a value without its sign."""
    if value is None:
        return None
    return -value if value < 0 else value


def log(value: Number) -> float | None:
    """Return the natural logarithm of a value from zero up; that of 0 is negative infinite."""
    if value is None:
        return None
    return -math.inf if value == 0 else math.log(value)


def signed_root(sign: Fraction, square: Fraction) -> float:
    """Return the root of a square, with the sign of a number."""
    root = math.sqrt(square)
    return -root if sign < 0 else root


def _all_defined(values: Iterable[Number]) -> list[Defined] | None:
    """Return the values, or nothing if one of them is undefined."""
    listed = list(values)
    defined = [value for value in listed if value is not None]
    return defined if len(defined) == len(listed) else None


def largest(values: Iterable[Number]) -> Number:
    """Return the largest value, undefined if one of them is, or if there is none."""
    defined = _all_defined(values)
    return max(defined) if defined else None


def gap_of(values: Iterable[Number]) -> Number:
    """Return the largest value minus the smallest, undefined if one is or with fewer than two."""
    defined = _all_defined(values)
    if defined is None or len(defined) < 2:
        return None
    return subtract(max(defined), min(defined))


# --- Sums over people --------------------------------------------------------------------------


def people_of(values: Weighted) -> int:
    """Return how many people have the values."""
    return sum(people for _, people in values)


def total_of(values: Weighted) -> Fraction:
    """Return the sum of the values over people."""
    return sum((value * people for value, people in values), Fraction(0))


def mean_of(values: Weighted) -> Fraction | None:
    """Return the mean over people, undefined for nobody."""
    return None if people_of(values) == 0 else total_of(values) / people_of(values)


def sum_of_squares(values: Weighted) -> Fraction:
    """Return the sum over people of the squared departures from their mean."""
    mean = mean_of(values)
    if mean is None:
        return Fraction(0)
    return total_of([((value - mean) ** 2, people) for value, people in values])


def indicator(condition: bool) -> Fraction:
    """Return 1 for true and 0 for false."""
    return Fraction(1) if condition else Fraction(0)


# --- What is known about a row -----------------------------------------------------------------


def alive_of(rows: Rows) -> list[Person]:
    """Return the rows that stand for someone."""
    return [row for row in rows if row.people > 0]


def decisions(rows: Rows) -> Weighted:
    """Return 1 for the selected and 0 for the rejected."""
    return [
        (indicator(row.prediction), row.people)
        for row in alive_of(rows)
        if row.prediction is not None
    ]


def scores_of(rows: Rows) -> Weighted:
    """Return the scores that are known."""
    return [(row.score, row.people) for row in alive_of(rows) if row.score is not None]


def scores_of_class(rows: Rows, *, positive: bool) -> Weighted:
    """Return the scores of those whose label is known to be positive, or negative."""
    return scores_of([row for row in rows if row.label is positive])


def judged_scores(rows: Rows) -> list[tuple[Fraction, Fraction, int]]:
    """Return score, label as 0 or 1, and people, where both are known."""
    return [
        (row.score, indicator(row.label), row.people)
        for row in alive_of(rows)
        if row.score is not None and row.label is not None
    ]


def numbers_of(rows: Rows) -> list[tuple[Fraction, Fraction, int]]:
    """Return the numeric label, the numeric prediction and people, where both are known."""
    return [
        (row.y, row.predicted, row.people)
        for row in alive_of(rows)
        if row.y is not None and row.predicted is not None
    ]


def _binary(value: bool | None) -> str | None:
    """Return the name of a boolean class."""
    return None if value is None else ("positive" if value else "negative")


def outcome_of(row: Person) -> str | None:
    """Return the predicted class, for want of one that of the boolean prediction."""
    return row.predicted_class if row.predicted_class is not None else _binary(row.prediction)


def label_of(row: Person) -> str | None:
    """Return the class of the label, for want of one that of the boolean label."""
    return row.label_class if row.label_class is not None else _binary(row.label)


def by_group(rows: Rows) -> dict[str, list[Person]]:
    """Return the rows of every group that has people."""
    groups: dict[str, list[Person]] = {}
    for row in alive_of(rows):
        groups.setdefault(row.group, []).append(row)
    return groups


def outcomes(rows: Rows) -> dict[str, int]:
    """Return how many people have each outcome."""
    counted: dict[str, int] = {}
    for row in alive_of(rows):
        outcome = outcome_of(row)
        if outcome is not None:
            counted[outcome] = counted.get(outcome, 0) + row.people
    return counted


def distribution(rows: Rows) -> dict[str, Fraction] | None:
    """Return P(y|g) of every outcome that occurs in the rows, undefined for nobody."""
    counted = outcomes(rows)
    people = sum(counted.values())
    return {y: Fraction(n, people) for y, n in counted.items()} if counted else None


def joint_of(rows: Rows) -> Counts | None:
    """Return the people by group and outcome, unless fewer than two groups can be counted."""
    counted = {group: outcomes(members) for group, members in by_group(rows).items()}
    return counted if len(counted) >= 2 and all(counted.values()) else None


def margin_of(joint: Counts) -> dict[str, int]:
    """Return the people by outcome, whatever their group."""
    total: dict[str, int] = {}
    for counted in joint.values():
        for outcome, people in counted.items():
            total[outcome] = total.get(outcome, 0) + people
    return total
