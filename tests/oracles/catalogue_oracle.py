"""The oracle of the rest of the catalogue: scores, inequality, association, strata, classes.

As in `oracle.py`, nothing here knows the counting, the arrays or the catalogue of the package:
every function loops over rows, each of which stands for `people` persons. Undefined is `None`,
infinite is `math.inf`, and all that is rational is a `Fraction`. Ids, formulas, signs and edge
cases are those of metrics.md, whose sections are named; the seeds are the papers behind it:
000 Foulds & Pan, 001 Beutel et al., 003 fairMLHealth, 004 Zliobaite.

Rows lacking what a measure needs are left out of that measure alone. A measure over all groups
is undefined with fewer than two groups, and when one of them has nobody whom it could count
(metrics.md 0.4 and 0.5, with `min_size` unset).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations
from typing import NamedTuple

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


def _subtract(left: Number, right: Number) -> Number:
    """Return left - right, where infinite - infinite is undefined."""
    if left is None or right is None or (math.isinf(left) and math.isinf(right)):
        return None
    return left - right


def _divide(over: Number, under: Number) -> Number:
    """Return over / under of values from zero up: positive/0 is infinite, 0/0 is undefined."""
    if over is None or under is None or (math.isinf(over) and math.isinf(under)):
        return None
    if math.isinf(under):
        return Fraction(0)
    if under == 0:
        return None if over == 0 else math.inf
    return math.inf if math.isinf(over) else Fraction(over) / Fraction(under)


def _magnitude(value: Number) -> Number:
    """Return a value without its sign."""
    if value is None:
        return None
    return -value if value < 0 else value


def _log(value: Number) -> float | None:
    """Return the natural logarithm of a value from zero up; that of 0 is negative infinite."""
    if value is None:
        return None
    return -math.inf if value == 0 else math.log(value)


def _signed_root(sign: Fraction, square: Fraction) -> float:
    """Return the root of a square, with the sign of a number."""
    root = math.sqrt(square)
    return -root if sign < 0 else root


def _all_defined(values: Iterable[Number]) -> list[Defined] | None:
    """Return the values, or nothing if one of them is undefined."""
    listed = list(values)
    defined = [value for value in listed if value is not None]
    return defined if len(defined) == len(listed) else None


def _largest(values: Iterable[Number]) -> Number:
    """Return the largest value, undefined if one of them is, or if there is none."""
    defined = _all_defined(values)
    return max(defined) if defined else None


def _gap(values: Iterable[Number]) -> Number:
    """Return the largest value minus the smallest, undefined if one is or with fewer than two."""
    defined = _all_defined(values)
    if defined is None or len(defined) < 2:
        return None
    return _subtract(max(defined), min(defined))


# --- Sums over people --------------------------------------------------------------------------


def _people(values: Weighted) -> int:
    """Return how many people have the values."""
    return sum(people for _, people in values)


def _total(values: Weighted) -> Fraction:
    """Return the sum of the values over people."""
    return sum((value * people for value, people in values), Fraction(0))


def _mean(values: Weighted) -> Fraction | None:
    """Return the mean over people, undefined for nobody."""
    return None if _people(values) == 0 else _total(values) / _people(values)


def _sum_of_squares(values: Weighted) -> Fraction:
    """Return the sum over people of the squared departures from their mean."""
    mean = _mean(values)
    if mean is None:
        return Fraction(0)
    return _total([((value - mean) ** 2, people) for value, people in values])


def _indicator(condition: bool) -> Fraction:
    """Return 1 for true and 0 for false."""
    return Fraction(1) if condition else Fraction(0)


# --- What is known about a row -----------------------------------------------------------------


def _alive(rows: Rows) -> list[Person]:
    """Return the rows that stand for someone."""
    return [row for row in rows if row.people > 0]


def _decisions(rows: Rows) -> Weighted:
    """Return 1 for the selected and 0 for the rejected."""
    return [
        (_indicator(row.prediction), row.people)
        for row in _alive(rows)
        if row.prediction is not None
    ]


def _scores(rows: Rows) -> Weighted:
    """Return the scores that are known."""
    return [(row.score, row.people) for row in _alive(rows) if row.score is not None]


def _scores_of_class(rows: Rows, *, positive: bool) -> Weighted:
    """Return the scores of those whose label is known to be positive, or negative."""
    return _scores([row for row in rows if row.label is positive])


def _judged_scores(rows: Rows) -> list[tuple[Fraction, Fraction, int]]:
    """Return score, label as 0 or 1, and people, where both are known."""
    return [
        (row.score, _indicator(row.label), row.people)
        for row in _alive(rows)
        if row.score is not None and row.label is not None
    ]


def _numbers(rows: Rows) -> list[tuple[Fraction, Fraction, int]]:
    """Return the numeric label, the numeric prediction and people, where both are known."""
    return [
        (row.y, row.predicted, row.people)
        for row in _alive(rows)
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
    for row in _alive(rows):
        groups.setdefault(row.group, []).append(row)
    return groups


def _outcomes(rows: Rows) -> dict[str, int]:
    """Return how many people have each outcome."""
    counted: dict[str, int] = {}
    for row in _alive(rows):
        outcome = outcome_of(row)
        if outcome is not None:
            counted[outcome] = counted.get(outcome, 0) + row.people
    return counted


def _distribution(rows: Rows) -> dict[str, Fraction] | None:
    """Return P(y|g) of every outcome that occurs in the rows, undefined for nobody."""
    counted = _outcomes(rows)
    people = sum(counted.values())
    return {y: Fraction(n, people) for y, n in counted.items()} if counted else None


def _joint(rows: Rows) -> Counts | None:
    """Return the people by group and outcome, unless fewer than two groups can be counted."""
    counted = {group: _outcomes(members) for group, members in by_group(rows).items()}
    return counted if len(counted) >= 2 and all(counted.values()) else None


def _margin(joint: Counts) -> dict[str, int]:
    """Return the people by outcome, whatever their group."""
    total: dict[str, int] = {}
    for counted in joint.values():
        for outcome, people in counted.items():
            total[outcome] = total.get(outcome, 0) + people
    return total


# --- Rates -------------------------------------------------------------------------------------

CELLS = ("tp", "fp", "fn", "tn", "selected", "rejected", "positives", "negatives")

# The numerator and the denominator of every rate that is a share of people (metrics.md 1).
SHARES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "base_rate": (("positives",), ("positives", "negatives")),
    "selection_rate": (("selected",), ("selected", "rejected")),
    "true_positive_rate": (("tp",), ("tp", "fn")),
    "false_negative_rate": (("fn",), ("tp", "fn")),
    "false_positive_rate": (("fp",), ("fp", "tn")),
    "true_negative_rate": (("tn",), ("fp", "tn")),
    "positive_predictive_value": (("tp",), ("tp", "fp")),
    "false_discovery_rate": (("fp",), ("tp", "fp")),
    "negative_predictive_value": (("tn",), ("tn", "fn")),
    "false_omission_rate": (("fn",), ("tn", "fn")),
    "accuracy": (("tp", "tn"), ("tp", "fp", "fn", "tn")),
    "error_rate": (("fp", "fn"), ("tp", "fp", "fn", "tn")),
}


def _cells_of(row: Person) -> list[str]:
    """Return the names of the cells and margins in which a row counts."""
    names = []
    if row.label is not None:
        names.append("positives" if row.label else "negatives")
    if row.prediction is not None:
        names.append("selected" if row.prediction else "rejected")
    if row.label is not None and row.prediction is not None:
        if row.label:
            names.append("tp" if row.prediction else "fn")
        else:
            names.append("fp" if row.prediction else "tn")
    return names


def cells(rows: Rows) -> dict[str, int]:
    """Return the four cells and the four margins, each margin counted on its own."""
    counted = dict.fromkeys(CELLS, 0)
    for row in rows:
        for name in _cells_of(row):
            counted[name] += row.people
    return counted


def share(name: str, rows: Rows) -> tuple[int, int]:
    """Return the numerator and the denominator of a rate that is a share of people."""
    over, under = SHARES[name]
    counted = cells(rows)
    return sum(counted[cell] for cell in over), sum(counted[cell] for cell in under)


def rate(name: str, rows: Rows) -> Fraction | None:
    """Return a rate of the people in the rows: a share of them, or `f1`."""
    if name == "f1":
        counted = cells(rows)
        doubled = 2 * counted["tp"]
        over, under = doubled, doubled + counted["fp"] + counted["fn"]
    else:
        over, under = share(name, rows)
    return None if under == 0 else Fraction(over, under)


# --- One group: inequality of benefits (metrics.md 10) -----------------------------------------


def benefits(rows: Rows, *, burden: bool = False) -> Weighted:
    """Return b = prediction - label + 1, or label - prediction + 1 if + is a burden."""
    found = []
    for row in _alive(rows):
        if row.label is not None and row.prediction is not None:
            surplus = _indicator(row.prediction) - _indicator(row.label)
            found.append(((-surplus if burden else surplus) + 1, row.people))
    return found


def entropy_of(values: Weighted, alpha: Fraction | float) -> Number:
    """Return GE(alpha) of values from zero up, exactly for whole alpha other than 0 and 1."""
    mean = _mean(values)
    if mean is None or mean == 0:
        return None
    people = _people(values)
    shares = [(value / mean, number) for value, number in values]
    if alpha <= 0 and any(x == 0 for x, _ in shares):
        return math.inf
    if alpha == 1:
        return math.fsum(n * x * math.log(x) for x, n in shares if x > 0) / people
    if alpha == 0:
        return -math.fsum(n * math.log(x) for x, n in shares) / people
    if alpha == int(alpha):
        power = int(alpha)
        total = sum((n * (x**power - 1) for x, n in shares), Fraction(0))
        return total / (people * power * (power - 1))
    exponent = float(alpha)
    powers = math.fsum(n * (float(x) ** exponent - 1) for x, n in shares)
    return powers / (people * exponent * (exponent - 1))


def generalized_entropy(
    rows: Rows,
    _everybody: Rows = (),
    *,
    alpha: Fraction | float = 2,
    burden: bool = False,
) -> Number:
    """Return GE(alpha) of the benefits of those with label and prediction."""
    return entropy_of(benefits(rows, burden=burden), alpha)


def theil(rows: Rows, _everybody: Rows = (), *, burden: bool = False) -> Number:
    """Return GE(1)."""
    return generalized_entropy(rows, alpha=1, burden=burden)


def coefficient_of_variation(rows: Rows, _everybody: Rows = (), *, burden: bool = False) -> Number:
    """Return the root of 2 GE(2); seed 003 prints twice the root of GE(2)."""
    entropy = generalized_entropy(rows, alpha=2, burden=burden)
    return None if entropy is None else math.sqrt(2 * entropy)


def atkinson(rows: Rows, _everybody: Rows = (), *, burden: bool = False) -> Number:
    """Return 1 - exp(-GE(0)), which is 1 if someone has no benefit at all."""
    entropy = generalized_entropy(rows, alpha=0, burden=burden)
    return None if entropy is None else 1 - math.exp(-entropy)


def expected_utility(
    rows: Rows,
    _everybody: Rows = (),
    *,
    tp: Fraction | int,
    fp: Fraction | int,
    fn: Fraction | int,
    tn: Fraction | int,
) -> Number:
    """Return the mean utility of those with label and prediction, from that of every cell."""
    counted = cells(rows)
    utilities = {"tp": tp, "fp": fp, "fn": fn, "tn": tn}
    return _mean([(Fraction(utility), counted[cell]) for cell, utility in utilities.items()])


def demographic_disparity(rows: Rows, everybody: Rows) -> Number:
    """Return the group's share among the rejected minus its share among the selected.

    metrics.md 8: `conditional_demographic_disparity` without strata. Who is alone has nobody to
    differ from.
    """
    own, total = cells(rows), cells(everybody)
    if total["rejected"] == 0 or total["selected"] == 0:
        return None
    if (own["rejected"], own["selected"]) == (total["rejected"], total["selected"]):
        return None
    among_rejected = Fraction(own["rejected"], total["rejected"])
    return among_rejected - Fraction(own["selected"], total["selected"])


# --- One group: scores (metrics.md 2) ----------------------------------------------------------


def mean_score(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean score."""
    return _mean(_scores(rows))


def mean_score_positives(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean score of those labelled positive."""
    return _mean(_scores_of_class(rows, positive=True))


def mean_score_negatives(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean score of those labelled negative."""
    return _mean(_scores_of_class(rows, positive=False))


def _probability_above(left: Weighted, right: Weighted) -> Fraction | None:
    """Return P(left > right) + P(left = right)/2 over all pairs of people."""
    pairs = _people(left) * _people(right)
    if pairs == 0:
        return None
    above = Fraction(0)
    for value, people in left:
        for other, others in right:
            if value > other:
                above += people * others
            elif value == other:
                above += HALF * people * others
    return above / pairs


def auc(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return how often a positive of the group scores above a negative of it, ties by half."""
    positives = _scores_of_class(rows, positive=True)
    return _probability_above(positives, _scores_of_class(rows, positive=False))


def average_precision(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean over positives of the share of positives among all who score as high."""
    judged = _judged_scores(rows)
    precisions = []
    for threshold, label, people in judged:
        if label == 1:
            hits = sum(n for score, y, n in judged if score >= threshold and y == 1)
            selected = sum(n for score, _, n in judged if score >= threshold)
            precisions.append((Fraction(hits, selected), people))
    return _mean(precisions)


def _is_probability(everybody: Rows) -> bool:
    """Return whether every score lies in [0, 1]."""
    return all(0 <= score <= 1 for score, _ in _scores(everybody))


def brier(rows: Rows, everybody: Rows) -> Number:
    """Return the mean of (score - label)^2, undefined if any score lies outside [0, 1]."""
    if not _is_probability(everybody):
        return None
    return _mean([((score - label) ** 2, people) for score, label, people in _judged_scores(rows)])


def _bins(everybody: Rows) -> dict[Fraction, int] | None:
    """Return the bin of every score: its own if there are few, else one of ten of [0, 1].

    With more than twenty distinct scores some of which lie outside [0, 1], there are no bins.
    """
    distinct = sorted({score for score, _ in _scores(everybody)})
    if len(distinct) <= MOST_DISTINCT:
        return {score: place for place, score in enumerate(distinct)}
    if not _is_probability(everybody):
        return None
    return {score: min(math.floor(score * EQUAL_BINS), EQUAL_BINS - 1) for score in distinct}


def calibration_error(rows: Rows, everybody: Rows) -> Number:
    """Return the mean over people of |mean label - mean score| within the bins of the scores."""
    judged = _judged_scores(rows)
    bins = _bins(everybody)
    if bins is None or not judged or not _is_probability(everybody):
        return None
    total = Fraction(0)
    for place in set(bins.values()):
        residuals = [(label - score, n) for score, label, n in judged if bins[score] == place]
        total += abs(_total(residuals))
    return total / sum(people for _, _, people in judged)


def calibration_in_the_large(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean label minus the mean score of those who have both."""
    return _mean([(label - score, people) for score, label, people in _judged_scores(rows)])


def _inner_scores(rows: Rows) -> list[tuple[float, Fraction, int]] | None:
    """Return logit, label and people of those who are judged; None if a score is 0, 1 or beyond."""
    judged = _judged_scores(rows)
    if any(not 0 < score < 1 for score, _, _ in judged):
        return None
    return [(math.log(score / (1 - score)), label, people) for score, label, people in judged]


def _labels_of(
    judged: Sequence[tuple[float, Fraction, int]],
) -> tuple[list[float], list[float]]:
    """Return the logits of the positives, and of the negatives."""
    return [x for x, y, _ in judged if y == 1], [x for x, y, _ in judged if y == 0]


def calibration_intercept(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return a of logit P(y = 1) = a + logit(s), where the expected positives are the observed."""
    judged = _inner_scores(rows)
    if not judged or not all(_labels_of(judged)):
        return None
    low, high = -100.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        expected = sum(people / (1 + math.exp(-middle - x)) for x, _, people in judged)
        low, high = (middle, high) if expected < sum(y * n for _, y, n in judged) else (low, middle)
    return (low + high) / 2


def calibration_slope(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return b of logit P(y = 1) = a + b logit(s), by maximum likelihood over the rows."""
    judged = _inner_scores(rows)
    if not judged:
        return None
    plus, minus = _labels_of(judged)
    if not plus or not minus or min(plus) >= max(minus) or min(minus) >= max(plus):
        return None

    def loss(a: float, b: float) -> float:
        signs = ((a + b * x) * (1 - 2 * float(y)) for x, y, _ in judged)
        return sum(
            n * (max(eta, 0) + math.log1p(math.exp(-abs(eta))))
            for eta, (_, _, n) in zip(signs, judged, strict=True)
        )

    a, b = 0.0, 1.0
    for _ in range(500):
        g0 = g1 = h00 = h01 = h11 = 0.0
        for x, y, n in judged:
            p = 1 / (1 + math.exp(-a - b * x))
            residual, weight = n * (float(y) - p), n * p * (1 - p)
            g0, g1 = g0 + residual, g1 + x * residual
            h00, h01, h11 = h00 + weight, h01 + weight * x, h11 + weight * x * x
        det = h00 * h11 - h01 * h01
        da, db = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        step = 1.0
        while loss(a + step * da, b + step * db) > loss(a, b) and step > 1e-9:
            step /= 2
        a, b = a + step * da, b + step * db
        if abs(da) + abs(db) < 1e-13:
            break
    return b


def hosmer_lemeshow(rows: Rows, everybody: Rows) -> Number:
    """Return Σ (O - E)² / (E (1 - E/n)) over tenths of the rows by score, sparse ones joined."""
    judged = sorted(_judged_scores(rows))
    total = sum(people for _, _, people in judged)
    if not judged or not _is_probability(everybody):
        return None
    tenths: dict[int, list[tuple[Fraction, Fraction, int]]] = {}
    for score, label, people in judged:
        before = sum(n for other, _, n in judged if other < score)
        tenths.setdefault(10 * before // total, []).append((score, label, people))
    parts = [tenths[place] for place in sorted(tenths)]
    at = 0
    while len(parts) > 1 and at < len(parts):
        if not _expects_few(parts[at]):
            at += 1
            continue
        other = at + 1 if at + 1 < len(parts) else at - 1
        first = min(at, other)
        parts[first : first + 2] = [parts[first] + parts[first + 1]]
        at = first
    if len(parts) < 2:
        return None
    value = Fraction(0)
    for part in parts:
        n = sum(people for _, _, people in part)
        observed = _total([(label, people) for _, label, people in part])
        expected = _total([(score, people) for score, _, people in part])
        value += (observed - expected) ** 2 / (expected * (1 - expected / n))
    return value


def _expects_few(part: Sequence[tuple[Fraction, Fraction, int]]) -> bool:
    expected = sum(score * people for score, _, people in part)
    return min(expected, sum(people for _, _, people in part) - expected) < 5


def median_score(everybody: Rows) -> Fraction | None:
    """Return the smallest score up to which at least half of the people with a score lie."""
    scores = sorted(_scores(everybody))
    reached = 0
    for score, people in scores:
        reached += people
        if 2 * reached >= _people(scores):
            return score
    return None


def scoring_rate(rows: Rows, everybody: Rows) -> Number:
    """Return the share of the group's scores strictly above the median of everybody's."""
    median = median_score(everybody)
    if median is None:
        return None
    return _mean([(_indicator(score > median), people) for score, people in _scores(rows)])


# --- One group: numeric labels and predictions (metrics.md 2) ----------------------------------


def mean_prediction(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean of the numeric predictions."""
    found = [(row.predicted, row.people) for row in _alive(rows) if row.predicted is not None]
    return _mean(found)


def mean_label(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean of the numeric labels."""
    return _mean([(row.y, row.people) for row in _alive(rows) if row.y is not None])


def mean_residual(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean of label - prediction of those who have both."""
    return _mean([(y - predicted, people) for y, predicted, people in _numbers(rows)])


def mae(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean absolute residual."""
    return _mean([(abs(y - predicted), people) for y, predicted, people in _numbers(rows)])


def rmse(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the root of the mean squared residual."""
    mean = _mean([((y - predicted) ** 2, people) for y, predicted, people in _numbers(rows)])
    return None if mean is None else math.sqrt(mean)


def r2(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return 1 - squared residuals / squared departures from the group's own mean label."""
    numbers = _numbers(rows)
    around_mean = _sum_of_squares([(y, people) for y, _, people in numbers])
    if around_mean == 0:
        return None
    return 1 - _total([((y - predicted) ** 2, n) for y, predicted, n in numbers]) / around_mean


def _people_in(cell: str) -> Callable[[Rows, Rows], Number]:
    """Return what counts the people of a cell, or all people."""

    def count(rows: Rows, _everybody: Rows = ()) -> Number:
        own = [row for row in rows if not cell or cell in _cells_of(row)]
        return Fraction(sum(row.people for row in own))

    return count


GROUP: dict[str, Callable[[Rows, Rows], Number]] = {
    "group_size": _people_in(""),
    "true_positives": _people_in("tp"),
    "false_positives": _people_in("fp"),
    "false_negatives": _people_in("fn"),
    "true_negatives": _people_in("tn"),
    "demographic_disparity": demographic_disparity,
    "generalized_entropy": generalized_entropy,
    "theil": theil,
    "coefficient_of_variation": coefficient_of_variation,
    "atkinson": atkinson,
    "mean_score": mean_score,
    "mean_score_positives": mean_score_positives,
    "mean_score_negatives": mean_score_negatives,
    "auc": auc,
    "average_precision": average_precision,
    "brier": brier,
    "calibration_error": calibration_error,
    "calibration_in_the_large": calibration_in_the_large,
    "calibration_slope": calibration_slope,
    "calibration_intercept": calibration_intercept,
    "hosmer_lemeshow": hosmer_lemeshow,
    "mean_prediction": mean_prediction,
    "mean_label": mean_label,
    "mean_residual": mean_residual,
    "mae": mae,
    "rmse": rmse,
    "r2": r2,
    "scoring_rate": scoring_rate,
}


# --- A group and its reference (metrics.md 3 and 6) --------------------------------------------


def mean_difference(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return p(+|reference) - p(+|group), the sign of seed 004."""
    return _subtract(rate("selection_rate", reference), rate("selection_rate", rows))


def normalized_difference(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return d / d_max, every probability being one within the two groups together."""
    d = mean_difference(rows, reference)
    both = [*rows, *reference]
    selected = rate("selection_rate", both)
    if d is None or selected is None or selected in (0, 1):
        return None
    people = _people(_decisions(both))
    of_group = Fraction(_people(_decisions(rows)), people)
    of_reference = Fraction(_people(_decisions(reference)), people)
    if d < 0:
        of_group, of_reference = of_reference, of_group
    return d / min(selected / of_reference, (1 - selected) / of_group)


def selection_odds_ratio(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the odds of selection, group over reference; seed 004 prints its inverse."""
    own, other = cells(rows), cells(reference)
    return _divide(
        Fraction(own["selected"] * other["rejected"]),
        Fraction(own["rejected"] * other["selected"]),
    )


def selection_log_ratio(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the logarithm of the selection rate of the group over that of the reference."""
    return _log(_divide(rate("selection_rate", rows), rate("selection_rate", reference)))


def cohens_h(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return 2 asin of the root of the group's selection rate minus that of the reference."""
    own, other = rate("selection_rate", rows), rate("selection_rate", reference)
    if own is None or other is None:
        return None
    return 2 * math.asin(math.sqrt(own)) - 2 * math.asin(math.sqrt(other))


def _standardized_difference(own: Weighted, other: Weighted) -> Number:
    """Return the difference of the means over the pooled sample standard deviation.

    (n-1)s^2 is the sum of squares about the mean, which is 0 for one person. A difference over
    no deviation at all is infinite with its sign.
    """
    mean, other_mean = _mean(own), _mean(other)
    freedom = _people(own) + _people(other) - 2
    if mean is None or other_mean is None or freedom <= 0:
        return None
    difference = mean - other_mean
    variance = (_sum_of_squares(own) + _sum_of_squares(other)) / freedom
    if variance == 0:
        if difference == 0:
            return None
        return math.inf if difference > 0 else -math.inf
    return _signed_root(difference, difference**2 / variance)


def standardized_difference_selection(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the standardised difference of the selection, group minus reference."""
    return _standardized_difference(_decisions(rows), _decisions(reference))


def standardized_difference_score(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the standardised difference of the score, group minus reference."""
    return _standardized_difference(_scores(rows), _scores(reference))


def between_group_auc(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return how often the reference is decided above the group, ties by half."""
    return _probability_above(_decisions(reference), _decisions(rows))


def between_group_auc_score(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return how often the reference scores above the group, ties by half."""
    return _probability_above(_scores(reference), _scores(rows))


def between_group_auc_ordinal(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return P(class of the reference > class of the group) + P(=)/2, classes by their letters."""
    own, other = (
        [(Fraction(ord(row.predicted_class)), row.people) for row in side if row.predicted_class]
        for side in (rows, reference)
    )
    return _probability_above(other, own)


def _residuals(rows: Rows, everybody: Rows) -> Weighted:
    """Return label - prediction: of numbers, else of 0/1 label and score, else of 0/1 and 0/1.

    Which of these it is follows from what anybody has, not from what a single row has.
    """
    if any(row.y is not None for row in everybody):
        return [(y - predicted, people) for y, predicted, people in _numbers(rows)]
    if any(row.score is not None for row in everybody):
        return [(label - score, people) for score, label, people in _judged_scores(rows)]
    return [(1 - benefit, people) for benefit, people in benefits(rows)]


def balanced_residuals(rows: Rows, reference: Rows, everybody: Rows) -> Number:
    """Return the mean residual of the group minus that of the reference (seed 004 3.2.8)."""
    own, other = _residuals(rows, everybody), _residuals(reference, everybody)
    return _subtract(_mean(own), _mean(other))


def total_variation_between(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return half the sum over outcomes of |P(y|group) - P(y|reference)|."""
    own, other = _distribution(rows), _distribution(reference)
    if own is None or other is None:
        return None
    zero = Fraction(0)
    apart = (abs(own.get(y, zero) - other.get(y, zero)) for y in own.keys() | other.keys())
    return sum(apart, zero) / 2


def kl_divergence(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return KL(group || reference) in nats, infinite for an outcome the reference never has."""
    own, other = _distribution(rows), _distribution(reference)
    if own is None or other is None:
        return None
    if any(y not in other for y in own):
        return math.inf
    return math.fsum(float(p) * math.log(p / other[y]) for y, p in own.items())


TO_REFERENCE: dict[str, Callable[[Rows, Rows, Rows], Number]] = {
    "mean_difference": mean_difference,
    "normalized_difference": normalized_difference,
    "selection_odds_ratio": selection_odds_ratio,
    "selection_log_ratio": selection_log_ratio,
    "cohens_h": cohens_h,
    "standardized_difference_selection": standardized_difference_selection,
    "standardized_difference_score": standardized_difference_score,
    "between_group_auc": between_group_auc,
    "between_group_auc_score": between_group_auc_score,
    "between_group_auc_ordinal": between_group_auc_ordinal,
    "balanced_residuals": balanced_residuals,
    "total_variation": total_variation_between,
    "kl_divergence": kl_divergence,
}


# --- A group and the rest (metrics.md 6) -------------------------------------------------------

Points = list[tuple[Fraction, Fraction, int]]


def _sums(points: Points) -> tuple[Fraction, Fraction, Fraction]:
    """Return the sums of squares of x and of y and that of their products, about the means."""
    mean_x = _mean([(x, people) for x, _, people in points])
    mean_y = _mean([(y, people) for _, y, people in points])
    if mean_x is None or mean_y is None:
        return Fraction(0), Fraction(0), Fraction(0)
    return (
        _total([((x - mean_x) ** 2, people) for x, _, people in points]),
        _total([((y - mean_y) ** 2, people) for _, y, people in points]),
        _total([((x - mean_x) * (y - mean_y), people) for x, y, people in points]),
    )


def _pearson(points: Points) -> float | None:
    """Return Pearson's correlation, undefined if either side does not vary."""
    xx, yy, xy = _sums(points)
    return None if xx * yy == 0 else _signed_root(xy, xy**2 / (xx * yy))


def _with_membership(own: Weighted, rest: Weighted) -> Points:
    """Return the values beside 1 for members of the group and 0 for the rest."""
    members = [(Fraction(1), value, people) for value, people in own]
    return members + [(Fraction(0), value, people) for value, people in rest]


def elift(rows: Rows, rest: Rows) -> Number:
    """Return p(+|group) / p(+), of everybody; one group alone is compared with nothing."""
    if not _alive(rest):
        return None
    return _divide(rate("selection_rate", rows), rate("selection_rate", [*rows, *rest]))


def correlation(rows: Rows, rest: Rows) -> Number:
    """Return Pearson's correlation of the 0/1 prediction with membership of the group."""
    return _pearson(_with_membership(_decisions(rows), _decisions(rest)))


def correlation_score(rows: Rows, rest: Rows) -> Number:
    """Return Pearson's correlation of the score with membership of the group."""
    return _pearson(_with_membership(_scores(rows), _scores(rest)))


def _negatives(rows: Rows) -> list[Person]:
    """Return those whose label is known to be negative."""
    return [row for row in rows if row.label is False]


def correlation_negatives(rows: Rows, rest: Rows) -> Number:
    """Return `correlation` among those labelled negative: Corr of seed 001."""
    return correlation(_negatives(rows), _negatives(rest))


def correlation_score_negatives(rows: Rows, rest: Rows) -> Number:
    """Return `correlation_score` among those labelled negative: Corr of a scored seed 001."""
    return correlation_score(_negatives(rows), _negatives(rest))


TO_REST: dict[str, Callable[[Rows, Rows], Number]] = {
    "elift": elift,
    "correlation": correlation,
    "correlation_score": correlation_score,
    "correlation_negatives": correlation_negatives,
    "correlation_score_negatives": correlation_score_negatives,
}


# --- All groups at once: association (metrics.md 1 and 6) --------------------------------------


def eta_neutrality(rows: Rows) -> Number:
    """Return the largest p(y,g) / (p(y) p(g)) - 1."""
    joint = _joint(rows)
    if joint is None:
        return None
    margin = _margin(joint)
    people = sum(margin.values())
    lifts = [
        Fraction(counted.get(y, 0) * people, total * sum(counted.values()))
        for counted in joint.values()
        for y, total in margin.items()
    ]
    return max(lifts) - 1


def _entropy_in_bits(counted: Iterable[int]) -> float:
    """Return the entropy of counts."""
    numbers = [number for number in counted if number > 0]
    people = sum(numbers)
    return math.fsum(number / people * math.log2(people / number) for number in numbers)


def _scores_in_bins(rows: Rows) -> Counts | None:
    """Return the people by group and bin of the score: its own if there are few, else a tenth.

    The tenth of a score is that of the share of people below it.
    """
    people = sum(n for _, n in _scores(rows))
    distinct = sorted({score for score, _ in _scores(rows)})
    bins = {score: str(place) for place, score in enumerate(distinct)}
    if len(distinct) > MOST_DISTINCT:
        below = {score: sum(n for other, n in _scores(rows) if other < score) for score in distinct}
        bins = {score: str(10 * n // people) for score, n in below.items()}
    joint: Counts = {}
    for group, members in by_group(rows).items():
        counted = joint.setdefault(group, {})
        for score, n in _scores(members):
            counted[bins[score]] = counted.get(bins[score], 0) + n
    return joint if len(joint) >= 2 and all(joint.values()) else None


def score_mutual_information(rows: Rows) -> Number:
    """Return the mutual information of the binned score and group in bits."""
    return _information(_scores_in_bins(rows))


def normalized_score_mutual_information(rows: Rows) -> Number:
    """Return I / root of H(b) H(s), undefined if either does not vary."""
    return _normalized_information(_scores_in_bins(rows))


def mutual_information(rows: Rows) -> Number:
    """Return the mutual information of outcome and group in bits."""
    return _information(_joint(rows))


def normalized_mutual_information(rows: Rows) -> Number:
    """Return I / root of H(y) H(s), undefined if either does not vary."""
    return _normalized_information(_joint(rows))


def _information(joint: Counts | None) -> float | None:
    """Return the mutual information of a table in bits."""
    if joint is None:
        return None
    margin = _margin(joint)
    people = sum(margin.values())
    return math.fsum(
        number / people * math.log2(number * people / (sum(counted.values()) * margin[y]))
        for counted in joint.values()
        for y, number in counted.items()
    )


def _normalized_information(joint: Counts | None) -> Number:
    """Return I / root of H(y) H(s) of a table, undefined if either does not vary."""
    information = _information(joint)
    if joint is None or information is None:
        return None
    of_outcome = _entropy_in_bits(_margin(joint).values())
    of_group = _entropy_in_bits(sum(counted.values()) for counted in joint.values())
    product = of_outcome * of_group
    return None if product == 0 else information / math.sqrt(product)


def predictability(rows: Rows) -> Number:
    """Return how often everybody's outcome is the most frequent one of the group."""
    joint = _joint(rows)
    if joint is None:
        return None
    right = sum(max(counted.values()) for counted in joint.values())
    return Fraction(right, sum(_margin(joint).values()))


def majority_baseline(rows: Rows) -> Number:
    """Return how often everybody's outcome is the most frequent one of all; needs no groups."""
    counted = _outcomes(rows)
    return Fraction(max(counted.values()), sum(counted.values())) if counted else None


def goodman_kruskal_lambda(rows: Rows) -> Number:
    """Return the share of the errors of the baseline that knowing the group avoids."""
    known, baseline = predictability(rows), majority_baseline(rows)
    if known is None or baseline is None or baseline == 1:
        return None
    return (known - baseline) / (1 - baseline)


def cramers_v(rows: Rows) -> Number:
    """Return the root of chi-squared / (n (min(k, |Y|) - 1)), without continuity or bias."""
    joint = _joint(rows)
    if joint is None or len(_margin(joint)) < 2:
        return None
    margin = _margin(joint)
    people = sum(margin.values())
    chi_squared = Fraction(0)
    for counted in joint.values():
        for y, total in margin.items():
            expected = Fraction(sum(counted.values()) * total, people)
            chi_squared += (counted.get(y, 0) - expected) ** 2 / expected
    return math.sqrt(chi_squared / (people * (min(len(joint), len(margin)) - 1)))


def total_variation(rows: Rows) -> Number:
    """Return the largest `total_variation_between` two groups."""
    pairs = combinations(by_group(rows).values(), 2)
    return _largest(total_variation_between(own, other) for own, other in pairs)


def between_group_generalized_entropy(
    rows: Rows, *, alpha: Fraction | float = 2, burden: bool = False
) -> Number:
    """Return GE(alpha) of everybody with the mean benefit of the group in place of one's own."""
    groups = [benefits(members, burden=burden) for members in by_group(rows).values()]
    means: Weighted = []
    for own in groups:
        mean = _mean(own)
        if mean is None:
            return None
        means.append((mean, _people(own)))
    return entropy_of(means, alpha) if len(means) >= 2 else None


# --- All groups at once: scores (metrics.md 4) -------------------------------------------------


def _share_from(threshold: Fraction, scores: Weighted) -> Fraction | None:
    """Return the share of people who score at least so much."""
    return _mean([(_indicator(score >= threshold), people) for score, people in scores])


def score_parity(rows: Rows) -> Number:
    """Return the largest |P(s>=t|g) - P(s>=t)| over groups and thresholds."""
    groups = [_scores(members) for members in by_group(rows).values()]
    if len(groups) < 2:
        return None
    everybody = _scores(rows)
    apart = [
        _subtract(_share_from(threshold, scores), _share_from(threshold, everybody))
        for scores in groups
        for threshold, _ in everybody
    ]
    return _largest(_magnitude(value) for value in apart)


def score_parity_gap(rows: Rows) -> Number:
    """Return the largest gap between groups of P(s>=t|g) over thresholds."""
    groups = [_scores(members) for members in by_group(rows).values()]
    thresholds = {threshold for threshold, _ in _scores(rows)}
    return _largest(_gap(_share_from(t, scores) for scores in groups) for t in thresholds)


def equal_rates_at_scores(rows: Rows) -> Number:
    """Return `test_fairness`, a name pytest would collect: the largest gap of P(y=1|bin,g).

    A bin compares the groups that have someone in it, and needs two of them.
    """
    bins = _bins(rows)
    groups = [_judged_scores(members) for members in by_group(rows).values()]
    if bins is None or len(groups) < 2 or not all(groups):
        return None
    gaps = []
    for place in set(bins.values()):
        rates = [_mean([(y, n) for s, y, n in own if bins[s] == place]) for own in groups]
        gap = _gap(rate for rate in rates if rate is not None)
        if gap is not None:
            gaps.append(gap)
    return max(gaps) if gaps else None


def balance_positive_class(rows: Rows) -> Number:
    """Return the gap of the mean score of those labelled positive."""
    return _gap(mean_score_positives(members) for members in by_group(rows).values())


def balance_negative_class(rows: Rows) -> Number:
    """Return the gap of the mean score of those labelled negative."""
    return _gap(mean_score_negatives(members) for members in by_group(rows).values())


def well_calibration(rows: Rows) -> Number:
    """Return the largest calibration error of a group."""
    groups = by_group(rows).values()
    return _largest(calibration_error(own, rows) for own in groups) if len(groups) >= 2 else None


def multicalibration(rows: Rows) -> Number:
    """Return the largest |mean label - mean score| over the groups and the bins of the scores."""
    bins = _bins(rows)
    groups = [_judged_scores(members) for members in by_group(rows).values()]
    if bins is None or len(groups) < 2 or not all(groups) or not _is_probability(rows):
        return None
    found = [
        _mean([(label - score, n) for score, label, n in own if bins[score] == place])
        for own in groups
        for place in set(bins.values())
    ]
    return _largest(abs(value) for value in found if value is not None)


# --- All groups at once: differential fairness (metrics.md 5) ----------------------------------


def _epsilon(rows: Rows, groups: Iterable[str]) -> Number:
    """Return the largest log-ratio of P(y|g) over outcomes and pairs of the groups.

    An outcome that neither group has is 0/0, and adds nothing.
    """
    members = by_group(rows)
    shares = {group: _distribution(members.get(group, ())) for group in groups}
    found = [own for own in shares.values() if own is not None]
    if len(found) < 2 or len(found) < len(shares):
        return None
    zero = Fraction(0)
    ratios: list[Defined] = [Fraction(1)]
    for own, other in permutations(found, 2):
        for y in own:
            ratio = _divide(own[y], other.get(y, zero))
            if ratio is not None:
                ratios.append(ratio)
    return _log(max(ratios))


def _label_classes(rows: Rows) -> set[str]:
    """Return the classes of the label, both of a boolean one even if only one occurs."""
    if any(row.label_class is not None for row in _alive(rows)):
        return {name for row in _alive(rows) if (name := label_of(row)) is not None}
    return {"positive", "negative"}


def _epsilon_within(rows: Rows, label: str) -> Number:
    """Return the differential fairness of the outcome among those with a label."""
    return _epsilon([row for row in rows if label_of(row) == label], by_group(rows))


def differential_equalized_odds(rows: Rows) -> Number:
    """Return the largest epsilon within a class of the label."""
    return _largest(_epsilon_within(rows, label) for label in _label_classes(rows))


def differential_equal_opportunity(rows: Rows) -> Number:
    """Return epsilon among those labelled positive."""
    positives = [row for row in rows if row.label is True]
    return _epsilon(positives, by_group(rows))


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(100_000):
        m = step // 2
        if step == 0:
            coefficient = 1.0
        elif step % 2 == 0:
            coefficient = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            coefficient = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        lower = 1 / ((1 + coefficient * lower) or tiny)
        upper = (1 + coefficient / upper) or tiny
        value *= upper * lower
        if step > 0 and abs(upper * lower - 1) < 1e-15:
            break
    return value - 1


def _lower_beta(x: float, a: float, b: float) -> float:
    """Return I_x(a, b) of an x in (0, 1) below the mean of the distribution, or near it."""
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    logarithm += a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) * _continued_fraction(x, a, b) / a


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _lower_beta(1 - x, b, a)
    return _lower_beta(x, a, b)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the x at which I_x(a, b) reaches a probability, by halving until floats end."""
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle


def differential_fairness_credible(
    rows: Rows, *, confidence: float = 0.95, prior: Fraction = HALF
) -> Number:
    """Return epsilon over a credible region: the largest ln U(y,g) - ln L(y,h), g other than h.

    U and L bound P(y|g) by equal tails of Beta(n_y + prior, n - n_y + (|Y|-1) prior). The k groups'
    posteriors are independent: each may miss with 1 - confidence^(1/k). Of two outcomes one says
    it all; of more each may miss with 1/|Y| of that, for they depend on each other (Bonferroni).
    """
    joint = _joint(rows)
    if joint is None or len(_margin(joint)) < 2:
        return None
    classes = _margin(joint)
    others = len(classes) - 1
    miss = 1 - confidence ** (1 / len(joint))
    tail = (miss if others == 1 else miss / len(classes)) / 2
    ratios = []
    for y in classes:
        bounds = []
        for counted in joint.values():
            mine = counted.get(y, 0)
            a = float(mine + prior)
            b = float(sum(counted.values()) - mine + others * prior)
            bounds.append((beta_quantile(tail, a, b), beta_quantile(1 - tail, a, b)))
        ratios += [
            math.log(upper) - math.log(lower) for (_, upper), (lower, _) in permutations(bounds, 2)
        ]
    return max(ratios)


# --- A numeric protected attribute (metrics.md 6) ----------------------------------------------


def _decisions_by_number(rows: Rows) -> Points:
    """Return the number, the 0/1 prediction and people, where both are known."""
    return [
        (row.number, _indicator(row.prediction), row.people)
        for row in _alive(rows)
        if row.number is not None and row.prediction is not None
    ]


def slope(rows: Rows) -> Number:
    """Return the least-squares slope of the 0/1 prediction on the number."""
    xx, _, xy = _sums(_decisions_by_number(rows))
    return None if xx == 0 else xy / xx


def pearson(rows: Rows) -> Number:
    """Return Pearson's correlation of the 0/1 prediction with the number."""
    return _pearson(_decisions_by_number(rows))


def trend(rows: Rows) -> Number:
    """Return the z of Cochran and Armitage with the numbers as scores, > 0 for a rising rate.

    The variance is p(1-p)(sum n x^2 - (sum n x)^2 / n), with no n - 1: z is root n times r.
    """
    points = _decisions_by_number(rows)
    overall = _mean([(y, people) for _, y, people in points])
    if overall is None:
        return None
    people = sum(n for _, _, n in points)
    statistic = sum((x * n * (y - overall) for x, y, n in points), Fraction(0))
    squares = sum((n * x**2 for x, _, n in points), Fraction(0))
    linear = sum((n * x for x, _, n in points), Fraction(0))
    variance = overall * (1 - overall) * (squares - linear**2 / people)
    return None if variance == 0 else _signed_root(statistic, statistic**2 / variance)


TABLE: dict[str, Callable[[Rows], Number]] = {
    "eta_neutrality": eta_neutrality,
    "mutual_information": mutual_information,
    "normalized_mutual_information": normalized_mutual_information,
    "score_mutual_information": score_mutual_information,
    "normalized_score_mutual_information": normalized_score_mutual_information,
    "predictability": predictability,
    "majority_baseline": majority_baseline,
    "goodman_kruskal_lambda": goodman_kruskal_lambda,
    "cramers_v": cramers_v,
    "total_variation": total_variation,
    "between_group_generalized_entropy": between_group_generalized_entropy,
    "score_parity": score_parity,
    "score_parity_gap": score_parity_gap,
    "test_fairness": equal_rates_at_scores,
    "balance_positive_class": balance_positive_class,
    "balance_negative_class": balance_negative_class,
    "well_calibration": well_calibration,
    "multicalibration": multicalibration,
    "differential_equalized_odds": differential_equalized_odds,
    "differential_equal_opportunity": differential_equal_opportunity,
    "differential_fairness_credible": differential_fairness_credible,
    "slope": slope,
    "pearson": pearson,
    "trend": trend,
}


# --- Conditional measures (metrics.md 8) -------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Standardized:
    """A rate of two groups averaged over strata with the same weights."""

    group: Fraction | None
    reference: Fraction | None
    difference: Number
    ratio: Number
    weights: Mapping[str, Fraction]
    not_estimable: tuple[str, ...]


def by_stratum(rows: Rows) -> dict[str, list[Person]]:
    """Return the rows of every stratum that has people; those without one are left out."""
    strata: dict[str, list[Person]] = {}
    for row in _alive(rows):
        if row.stratum is not None:
            strata.setdefault(row.stratum, []).append(row)
    return strata


def _denominators(name: str, rows: Rows) -> dict[str, int]:
    """Return the people in the rate's own denominator, in every stratum that has any."""
    counted = {z: share(name, members)[1] for z, members in by_stratum(rows).items()}
    return {z: people for z, people in counted.items() if people > 0}


def _raw_weights(
    weights: str | Mapping[str, Fraction],
    own: Mapping[str, int],
    other: Mapping[str, int],
    strata: Sequence[str],
) -> dict[str, Fraction]:
    """Return the weights of the strata where both have someone, before they sum to 1."""
    if not isinstance(weights, str):
        return {z: Fraction(weights[z]) for z in strata}
    if weights == "overlap":
        return {z: Fraction(own[z] * other[z], own[z] + other[z]) for z in strata}
    if weights == "uniform":
        return dict.fromkeys(strata, Fraction(1))
    if weights == "pooled":
        return {z: Fraction(own[z] + other[z]) for z in strata}
    if weights == "group":
        return {z: Fraction(own[z]) for z in strata}
    if weights == "reference":
        return {z: Fraction(other[z]) for z in strata}
    if weights == "average":
        n_own, n_other = sum(own[z] for z in strata), sum(other[z] for z in strata)
        return {z: Fraction(own[z], n_own) + Fraction(other[z], n_other) for z in strata}
    message = f"no weights are called {weights}"
    raise ValueError(message)


def standardized_rate(
    name: str, rows: Rows, reference: Rows, weights: str | Mapping[str, Fraction]
) -> Standardized:
    """Return a rate of both groups, averaged over the strata where both have a denominator.

    `weights` is `pooled`, `uniform`, `reference`, `group`, `average` (half of P(z|reference)
    and half of P(z|group)), `overlap` (n m / (n + m)), `reference_people` or
    `group_people` (all of that side, whatever their label), or a mapping with a weight for every
    such stratum.
    """
    own, other = _denominators(name, rows), _denominators(name, reference)
    strata = sorted(own.keys() & other.keys())
    aside = tuple(sorted(own.keys() ^ other.keys()))
    if isinstance(weights, str) and weights.endswith("_people"):
        everyone = by_stratum(rows if weights == "group_people" else reference)
        raw = {z: Fraction(sum(person.people for person in everyone[z])) for z in strata}
    else:
        raw = _raw_weights(weights, own, other, strata)
    total = sum(raw.values(), Fraction(0))
    if total == 0:
        return Standardized(None, None, None, None, {}, aside)
    shares = {z: weight / total for z, weight in raw.items()}
    averages = []
    for side in (rows, reference):
        members = by_stratum(side)
        rates = {z: Fraction(*share(name, members[z])) for z in strata}
        averages.append(sum((shares[z] * rates[z] for z in strata), Fraction(0)))
    group, against = averages
    difference, ratio = _subtract(group, against), _divide(group, against)
    return Standardized(group, against, difference, ratio, shares, aside)


def conditional_equal_opportunity_gap(
    rows: Rows,
    reference: Rows,
    _everybody: Rows = (),
    *,
    weights: str | Mapping[str, Fraction] = "uniform",
) -> Number:
    """Return the weighted differences of the false positive rate (seed 001 eq. 6)."""
    return standardized_rate("false_positive_rate", rows, reference, weights).difference


def conditional_equal_opportunity_ratio(
    rows: Rows,
    reference: Rows,
    _everybody: Rows = (),
    *,
    weights: str | Mapping[str, Fraction] = "uniform",
) -> Number:
    """Return the ratio of the weighted averages of the false positive rate (its footnote 2)."""
    return standardized_rate("false_positive_rate", rows, reference, weights).ratio


class Unexplained(NamedTuple):
    """The mean difference on common support, its explained part and what remains."""

    d: Fraction | None
    d_e: Fraction | None
    d_u: Fraction | None


def unexplained_difference(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Unexplained:
    """Return d = d_e + d_u of the selection rate on the strata where both groups occur.

    The sign is that of seed 004 3.3.1: d = p(+|reference) - p(+|group), and so
    d_e = sum p*(+|z) (p(z|reference) - p(z|group)), p* the plain mean of both groups' rates.
    """
    own, other = _denominators("selection_rate", rows), _denominators("selection_rate", reference)
    strata = own.keys() & other.keys()
    if not strata:
        return Unexplained(None, None, None)
    n_own, n_other = sum(own[z] for z in strata), sum(other[z] for z in strata)
    d = explained = Fraction(0)
    for z in strata:
        rate_own = Fraction(*share("selection_rate", by_stratum(rows)[z]))
        rate_other = Fraction(*share("selection_rate", by_stratum(reference)[z]))
        p_own, p_other = Fraction(own[z], n_own), Fraction(other[z], n_other)
        d += p_other * rate_other - p_own * rate_own
        explained += (rate_own + rate_other) / 2 * (p_other - p_own)
    return Unexplained(d, explained, d - explained)


def conditional_demographic_disparity(rows: Rows, everybody: Rows) -> Number:
    """Return the mean over people of the strata's `demographic_disparity`.

    Strata where nobody is rejected or nobody is selected are not estimable, and the rest weighs up
    to 1. A stratum where the group has nobody, or is alone, has disparity 0; where all strata are
    of one group, nobody is compared.
    """
    members = by_stratum(rows)
    if not any(
        len(by_group(there)) >= 2 and {True, False} <= {row.prediction for row in there}
        for there in by_stratum(everybody).values()
    ):
        return None
    found: Weighted = []
    for z, all_of_it in by_stratum(everybody).items():
        disparity = demographic_disparity(members.get(z, ()), all_of_it)
        own, total = (cells(one) for one in (members.get(z, ()), all_of_it))
        sides = ("rejected", "selected")
        if all(own[side] == total[side] > 0 for side in sides):
            disparity = Fraction(0)
        if disparity is not None:
            found.append((Fraction(disparity), _people(_decisions(all_of_it))))
    return _mean(found)


def mantel_haenszel_odds_ratio(rows: Rows, reference: Rows, _everybody: Rows = ()) -> Number:
    """Return the sum over strata of a d / N, divided by that of b c / N (Mantel & Haenszel 1959).

    a are the selected of the group and b its rejected, c and d those of the reference, N all four;
    strata where a side has nobody add nothing.
    """
    own, other = by_stratum(rows), by_stratum(reference)
    over = under = Fraction(0)
    for z in own.keys() & other.keys():
        a, n = share("selection_rate", own[z])
        c, m = share("selection_rate", other[z])
        if n and m:
            over += Fraction(a * (m - c), n + m)
            under += Fraction((n - a) * c, n + m)
    return _divide(over, under)


def belift(everybody: Rows, group: str, stratum: str) -> Number:
    """Return p(+|g,z) / p(+|z)."""
    members = [row for row in everybody if row.stratum == stratum]
    own = [row for row in members if row.group == group]
    return _divide(rate("selection_rate", own), rate("selection_rate", members))


def belift_overall(everybody: Rows, group: str, stratum: str) -> Number:
    """Return p(+|g,z) / p(+) of everybody who has a stratum (seed 004 3.3.3, simplified)."""
    known = [row for row in everybody if row.stratum is not None]
    own = [row for row in known if row.group == group and row.stratum == stratum]
    return _divide(rate("selection_rate", own), rate("selection_rate", known))


def stratum_share(name: str, rows: Rows, stratum: str) -> Number:
    """Return P(z|g) among the people in the rate's own denominator who have a stratum."""
    own = _denominators(name, rows)
    people = sum(own.values())
    return None if people == 0 else Fraction(own.get(stratum, 0), people)


CONDITIONAL: dict[str, Callable[[Rows, Rows, Rows], Number]] = {
    "conditional_equal_opportunity_gap": conditional_equal_opportunity_gap,
    "conditional_equal_opportunity_ratio": conditional_equal_opportunity_ratio,
    "unexplained_difference": lambda own, other, _: unexplained_difference(own, other).d_u,
    "explained_difference": lambda own, other, _: unexplained_difference(own, other).d_e,
    "mantel_haenszel_odds_ratio": mantel_haenszel_odds_ratio,
    "conditional_demographic_disparity": lambda own, _, everybody: (
        conditional_demographic_disparity(own, everybody)
    ),
    "standardized_selection_rate": lambda own, other, _: (
        standardized_rate("selection_rate", own, other, "pooled").group
    ),
}


# --- Labels of several classes (metrics.md 1) --------------------------------------------------

CLASS_RATES = (
    "true_positive_rate",
    "selection_rate",
    "positive_predictive_value",
    "false_positive_rate",
    "f1",
)


def classes_of(everybody: Rows) -> list[str]:
    """Return the classes that occur, as a label or as a prediction."""
    alive = _alive(everybody)
    named = {row.label_class for row in alive} | {row.predicted_class for row in alive}
    return sorted(name for name in named if name is not None)


def one_against_rest(rows: Rows, name: str) -> list[Person]:
    """Return the rows with one class as positive and all others as negative."""
    return [
        replace(
            row,
            label=None if row.label_class is None else row.label_class == name,
            prediction=None if row.predicted_class is None else row.predicted_class == name,
        )
        for row in rows
    ]


def class_rate(rate_name: str, rows: Rows, name: str) -> Fraction | None:
    """Return a rate of one class against the rest."""
    return rate(rate_name, one_against_rest(rows, name))


def macro_rate(rate_name: str, rows: Rows, everybody: Rows) -> Number:
    """Return the plain mean of a rate over everybody's classes, undefined if one of them is."""
    rates = [class_rate(rate_name, rows, name) for name in classes_of(everybody)]
    defined = [value for value in rates if value is not None]
    if not defined or len(defined) < len(rates):
        return None
    return sum(defined, Fraction(0)) / len(defined)


MACRO: dict[str, Callable[[Rows, Rows], Number]] = {
    f"macro_{name}": partial(macro_rate, name) for name in CLASS_RATES
}


# --- Data of the known answers, as counts ------------------------------------------------------


def _berkeley() -> list[Person]:
    """Return facts.md 2: admissions of 1973 by sex and department."""
    table = {
        "A": (512, 313, 89, 19),
        "B": (353, 207, 17, 8),
        "C": (120, 205, 202, 391),
        "D": (138, 279, 131, 244),
        "E": (53, 138, 94, 299),
        "F": (22, 351, 24, 317),
    }
    cases = (("men", True), ("men", False), ("women", True), ("women", False))
    return [
        Person(group=group, prediction=admitted, stratum=department, people=people)
        for department, counts in table.items()
        for (group, admitted), people in zip(cases, counts, strict=True)
    ]


def _kidney(*, intersected: bool) -> list[Person]:
    """Return facts.md 1 by gender within race, or by both together."""
    table = {
        ("A", "1"): (81, 6),
        ("A", "2"): (192, 71),
        ("B", "1"): (234, 36),
        ("B", "2"): (55, 25),
    }
    return [
        Person(
            group=gender + race if intersected else gender,
            prediction=admitted,
            stratum=race,
            people=people,
        )
        for (gender, race), counts in table.items()
        for admitted, people in zip((True, False), counts, strict=True)
    ]


def _compas() -> list[Person]:
    """Return tp, fp, fn, tn of the COMPAS file by race, the smaller races together."""
    table = {
        "African-American": (1369, 805, 532, 990),
        "Caucasian": (505, 349, 461, 1139),
        "others": (161, 128, 223, 552),
    }
    cases = ((True, True), (False, True), (True, False), (False, False))
    return [
        Person(group=race, label=label, prediction=prediction, people=people)
        for race, counts in table.items()
        for (label, prediction), people in zip(cases, counts, strict=True)
    ]


def _adult() -> list[Person]:
    """Return facts.md 5: income by race, gender and nationality, at most and above 50K."""
    table = {
        "Asian-Pac-Islander Female US": (106, 9),
        "Asian-Pac-Islander Female other": (197, 34),
        "Asian-Pac-Islander Male US": (118, 59),
        "Asian-Pac-Islander Male other": (342, 174),
        "Black Female US": (1344, 85),
        "Black Female other": (121, 5),
        "Black Male US": (1137, 266),
        "Black Male other": (135, 31),
        "Other Female US": (156, 14),
        "Other Female other": (54, 4),
        "Other Male US": (221, 34),
        "Other Male other": (90, 9),
        "White Female US": (7004, 964),
        "White Female other": (610, 64),
        "White Male US": (11913, 5740),
        "White Male other": (1172, 349),
    }
    return [
        Person(group=group, prediction=above, people=people)
        for group, counts in table.items()
        for above, people in zip((False, True), counts, strict=True)
    ]


def _scored(distinct: int, step: Fraction) -> list[Person]:
    """Return 60 rows of 150 people in two groups with so many distinct scores from 0.01 or 0 up."""
    first = Fraction(1, 100) if distinct > MOST_DISTINCT else Fraction(0)
    return [
        Person(
            group="a" if place % 5 < 3 else "b",
            label=place * place % 7 + place * 17 % distinct * 6 // distinct > 4,
            prediction=first + place * 17 % distinct * step >= HALF,
            stratum="uvw"[place // 2 % 3],
            score=first + place * 17 % distinct * step,
            people=1 + place % 4,
        )
        for place in range(60)
    ]


def _measured() -> list[Person]:
    """Return numeric labels and predictions of two groups."""
    table = {
        "a": ((3, 4, 2), (7, 6, 1), (10, 8, 3), (12, 15, 1), (20, 17, 2)),
        "b": ((2, 2, 1), (5, 9, 2), (9, 8, 2), (14, 11, 1), (17, 21, 3)),
    }
    return [
        Person(group=group, y=Fraction(y), predicted=Fraction(predicted), people=people)
        for group, numbers in table.items()
        for y, predicted, people in numbers
    ]


def _smokers() -> list[Person]:
    """Return the smokers and others among the patients of R's `prop.trend.test`."""
    smokers, patients = (83, 90, 129, 70), (86, 93, 136, 82)
    return [
        Person(group="all", number=Fraction(place), prediction=smokes, people=people)
        for place, (some, everyone) in enumerate(zip(smokers, patients, strict=True), start=1)
        for smokes, people in ((True, some), (False, everyone - some))
    ]


def _classes() -> list[Person]:
    """Return labels (down) and predictions (across) of three classes in two groups."""
    tables = {
        "a": ((30, 6, 4), (5, 22, 3), (2, 8, 20)),
        "b": ((12, 9, 4), (7, 15, 8), (6, 1, 18)),
    }
    return [
        Person(group=group, label_class=label, predicted_class=predicted, people=people)
        for group, table in tables.items()
        for label, counts in zip("xyz", table, strict=True)
        for predicted, people in zip("xyz", counts, strict=True)
    ]


DATA: dict[str, list[Person]] = {
    "berkeley": _berkeley(),
    "kidney": _kidney(intersected=False),
    "kidney cells": _kidney(intersected=True),
    "compas": _compas(),
    "adult": _adult(),
    "fine scores": _scored(50, Fraction(1, 50)),
    "coarse scores": _scored(11, Fraction(1, 10)),
    "measured": _measured(),
    "smokers": _smokers(),
    "classes": _classes(),
}


# --- Known answers -----------------------------------------------------------------------------


class Published(NamedTuple):
    """A value from outside, as printed; no `group` means everybody or all groups."""

    name: str
    data: str
    value: str
    group: str
    reference: str
    source: str

    def agrees(self, value: Number) -> bool:
        """Return whether a value is the published one, up to the rounding of its last place."""
        places = len(self.value.partition(".")[2])
        return value is not None and abs(value - float(self.value)) <= 0.5001 * 10**-places


def _known(source: str, *checks: tuple[str, ...]) -> list[Published]:
    """Return known answers of one source: id, data, value, group if any, reference if any."""
    found = []
    for check in checks:
        name, data, value, group, reference = (*check, "", "")[:5]
        found.append(Published(name, data, value, group, reference, source))
    return found


def published_value(check: Published) -> Number:
    """Return what this oracle gives for the measure and the data of a known answer."""
    everybody = DATA[check.data]
    groups = by_group(everybody)
    own = groups[check.group] if check.group else everybody
    if check.reference:
        measures = TO_REFERENCE | CONDITIONAL
        return measures[check.name](own, groups[check.reference], everybody)
    if check.name in TO_REST:
        return TO_REST[check.name](own, [row for row in everybody if row.group != check.group])
    if check.name in CONDITIONAL:
        return CONDITIONAL[check.name](own, (), everybody)
    if check.name in TABLE:
        return TABLE[check.name](everybody)
    return (GROUP | MACRO)[check.name](own, everybody)


# Each comes from its source, not from this file: printed there, or computed by that library.
PUBLISHED: tuple[Published, ...] = (
    *_known(
        "metrics.md 6, Berkeley",
        ("mean_difference", "berkeley", "0.141645", "women", "men"),
        ("normalized_difference", "berkeley", "0.217190", "women", "men"),
        ("elift", "berkeley", "0.782810", "women"),
        ("correlation", "berkeley", "-0.142732", "women"),
        ("mutual_information", "berkeley", "0.0148938"),
        ("normalized_mutual_information", "berkeley", "0.0153755"),
        ("eta_neutrality", "berkeley", "0.148102"),
        ("cramers_v", "berkeley", "0.142732"),
    ),
    *_known(
        "metrics.md 8, Berkeley",
        ("explained_difference", "berkeley", "0.177674", "women", "men"),
        ("unexplained_difference", "berkeley", "-0.036028", "women", "men"),
        ("demographic_disparity", "berkeley", "0.143826", "women"),
        ("conditional_demographic_disparity", "berkeley", "-0.019283", "women"),
    ),
    *_known(
        "metrics.md 8, Kidney",
        ("explained_difference", "kidney", "0.099386", "A", "B"),
        ("unexplained_difference", "kidney", "-0.053671", "A", "B"),
    ),
    *_known(
        "metrics.md 9, Berkeley",
        ("standardized_selection_rate", "berkeley", "0.429955", "women", "men"),
        ("standardized_selection_rate", "berkeley", "0.387319", "men", "women"),
    ),
    *_known(
        "metrics.md 9, kidney",
        ("standardized_selection_rate", "kidney", "0.83255", "A", "B"),
        ("standardized_selection_rate", "kidney", "0.77888", "B", "A"),
    ),
    *_known(
        "R 4.5, mantelhaen.test(UCBAdmissions), and its reciprocal",
        ("mantel_haenszel_odds_ratio", "berkeley", "1.105343", "women", "men"),
        ("mantel_haenszel_odds_ratio", "berkeley", "0.9046968", "men", "women"),
    ),
    *_known(
        "metrics.md 9, kidney",
        ("mantel_haenszel_odds_ratio", "kidney", "1.446847", "A", "B"),
    ),
    *_known(
        "metrics.md 5, kidney, prior 1/2",
        ("differential_fairness_credible", "kidney cells", "3.01738"),
    ),
    *_known(
        "metrics.md 10, COMPAS; AIF360 0.6.1: ClassificationMetric",
        ("generalized_entropy", "compas", "0.169969"),
        ("theil", "compas", "0.235018"),
        ("coefficient_of_variation", "compas", "0.583043"),
    ),
    *_known(
        "AIF360 0.6.1: between_all_groups_generalized_entropy_index()",
        ("between_group_generalized_entropy", "compas", "0.0022564674"),
    ),
    *_known(
        "R's prop.trend.test(smokers, patients): X-squared = 8.2249, falling",
        ("trend", "smokers", "-2.8679"),
    ),
    *_known(
        "fairlearn 0.15.0: MetricFrame of both rates, log-ratios of them and of 1 - them",
        ("differential_equal_opportunity", "coarse scores", "0.4834266496"),
        ("differential_equalized_odds", "coarse scores", "0.4834266496"),
    ),
    *_known(
        "numpy 2.4.6: quantile(score, 0.5, method='inverted_cdf')",
        ("scoring_rate", "fine scores", "0.5111111111", "a"),
        ("scoring_rate", "fine scores", "0.4500000000", "b"),
        ("scoring_rate", "coarse scores", "0.4111111111", "a"),
        ("scoring_rate", "coarse scores", "0.5166666667", "b"),
    ),
    *_known(
        "numpy 2.4.6: sums of label - score by numpy.unique(score)",
        ("calibration_error", "coarse scores", "0.1844444444", "a"),
        ("calibration_error", "coarse scores", "0.1200000000", "b"),
    ),
    *_known(
        "numpy 2.4.6: table / outer(margins)",
        ("eta_neutrality", "adult", "0.4003152778"),
        ("eta_neutrality", "classes", "0.1842105263"),
    ),
    *_known(
        "numpy 2.4.6: table.max(axis=1).sum() / table.sum()",
        ("predictability", "adult", "0.7591904426"),
        ("predictability", "classes", "0.3722222222"),
    ),
    *_known(
        "numpy 2.4.6: table.sum(axis=0).max() / table.sum()",
        ("majority_baseline", "adult", "0.7591904426"),
        ("majority_baseline", "classes", "0.3444444444"),
    ),
    *_known(
        "numpy 2.4.6: the two above, over the errors of the second",
        ("goodman_kruskal_lambda", "adult", "0.0000000000"),
        ("goodman_kruskal_lambda", "classes", "0.0423728814"),
    ),
    *_known(
        "numpy 2.4.6: abs(a - b).sum() / 2",
        ("total_variation", "classes", "0.1050000000"),
        ("total_variation", "classes", "0.1050000000", "a", "b"),
    ),
    *_known(
        "numpy 2.4.6: means of y, predicted and y - predicted",
        ("mean_residual", "measured", "0.8888888889", "a"),
        ("mean_residual", "measured", "-1.6666666667", "b"),
        ("balanced_residuals", "measured", "2.5555555556", "a", "b"),
        ("mean_prediction", "measured", "9.6666666667", "a"),
        ("mean_label", "measured", "10.5555555556", "a"),
    ),
    *_known(
        "numpy 2.4.6: means of score and label",
        ("mean_score", "fine scores", "0.4900000000", "a"),
        ("mean_score_positives", "fine scores", "0.6821568627", "a"),
        ("mean_score_negatives", "fine scores", "0.2387179487", "a"),
        ("calibration_in_the_large", "fine scores", "0.0766666667", "a"),
        ("balance_positive_class", "fine scores", "0.0217220801"),
        ("balance_negative_class", "fine scores", "0.0912820513"),
        ("mean_score", "coarse scores", "0.4555555556", "a"),
        ("mean_score_positives", "coarse scores", "0.7108108108", "a"),
        ("mean_score_negatives", "coarse scores", "0.2773584906", "a"),
        ("calibration_in_the_large", "coarse scores", "-0.0444444444", "a"),
        ("balance_positive_class", "coarse scores", "0.0008108108"),
        ("balance_negative_class", "coarse scores", "0.0859748428"),
    ),
    *_known(
        "numpy 2.4.6: means of the label by bin and group",
        ("test_fairness", "fine scores", "1.0000000000"),
        ("test_fairness", "coarse scores", "0.5555555556"),
    ),
    *_known(
        "numpy 2.4.6: means by group and stratum, then over strata",
        ("conditional_equal_opportunity_gap", "fine scores", "-0.3519813520", "a", "b"),
        ("conditional_equal_opportunity_ratio", "fine scores", "0.0000000000", "a", "b"),
        ("conditional_equal_opportunity_gap", "coarse scores", "-0.1176767677", "a", "b"),
        ("conditional_equal_opportunity_ratio", "coarse scores", "0.7072864322", "a", "b"),
    ),
    *_known(
        "numpy 2.4.6: mean over classes of their shares, which is 1/3",
        ("macro_selection_rate", "classes", "0.3333333333", "a"),
        ("macro_selection_rate", "classes", "0.3333333333", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: roc_auc_score(label, score)",
        ("auc", "fine scores", "0.9421820010", "a"),
        ("auc", "fine scores", "0.8207990599", "b"),
        ("auc", "coarse scores", "0.8643549210", "a"),
        ("auc", "coarse scores", "0.8516666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: brier_score_loss(label, score)",
        ("brier", "fine scores", "0.1170777778", "a"),
        ("brier", "fine scores", "0.1749666667", "b"),
        ("brier", "coarse scores", "0.1491111111", "a"),
        ("brier", "coarse scores", "0.1556666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: calibration_curve(..., n_bins=10), weighted by numpy.histogram",
        ("calibration_error", "fine scores", "0.1886666667", "a"),
        ("calibration_error", "fine scores", "0.2096666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: mutual_info_score(group, outcome) / log(2)",
        ("mutual_information", "adult", "0.0443956748"),
        ("mutual_information", "classes", "0.0090687535"),
    ),
    *_known(
        "scikit-learn 1.9.1: normalized_mutual_info_score(..., average_method='geometric')",
        ("normalized_mutual_information", "adult", "0.0342282412"),
        ("normalized_mutual_information", "classes", "0.0072379189"),
    ),
    *_known(
        "scikit-learn 1.9.1: root_mean_squared_error(y, predicted)",
        ("rmse", "measured", "2.1602468995", "a"),
        ("rmse", "measured", "3.1797973381", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: mean_absolute_error(y, predicted)",
        ("mae", "measured", "2.0000000000", "a"),
        ("mae", "measured", "2.7777777778", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: r2_score(y, predicted)",
        ("r2", "measured", "0.8637346792", "a"),
        ("r2", "measured", "0.6705551086", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: recall_score(..., average='macro')",
        ("macro_true_positive_rate", "classes", "0.7166666667", "a"),
        ("macro_true_positive_rate", "classes", "0.5666666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: precision_score(..., average='macro')",
        ("macro_positive_predictive_value", "classes", "0.7208875542", "a"),
        ("macro_positive_predictive_value", "classes", "0.5600000000", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: f1_score(..., average='macro')",
        ("macro_f1", "classes", "0.7158806106", "a"),
        ("macro_f1", "classes", "0.5600000000", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: multilabel_confusion_matrix(label, predicted)",
        ("macro_false_positive_rate", "classes", "0.1388888889", "a"),
        ("macro_false_positive_rate", "classes", "0.2181818182", "b"),
    ),
    *_known(
        "scipy 1.17.1: mannwhitneyu(b, a) / (n m)",
        ("between_group_auc_score", "fine scores", "0.4690740741", "a", "b"),
        ("between_group_auc", "fine scores", "0.4861111111", "a", "b"),
        ("between_group_auc_score", "coarse scores", "0.5729629630", "a", "b"),
        ("between_group_auc", "coarse scores", "0.5777777778", "a", "b"),
    ),
    *_known(
        "scipy 1.17.1: ttest_ind(a, b) root(1/n + 1/m)",
        ("standardized_difference_score", "fine scores", "0.1130222882", "a", "b"),
        ("standardized_difference_selection", "fine scores", "0.0553275706", "a", "b"),
        ("standardized_difference_score", "coarse scores", "-0.2547669343", "a", "b"),
        ("standardized_difference_selection", "coarse scores", "-0.3137126176", "a", "b"),
    ),
    *_known(
        "scipy 1.17.1: ks_2samp(a, b)",
        ("score_parity_gap", "fine scores", "0.1111111111"),
        ("score_parity_gap", "coarse scores", "0.1722222222"),
    ),
    *_known(
        "scipy 1.17.1: the larger ks_2samp(group, everybody)",
        ("score_parity", "fine scores", "0.0666666667"),
        ("score_parity", "coarse scores", "0.1033333333"),
    ),
    *_known(
        "scipy 1.17.1: pearsonr(member, score), pearsonr(member, prediction)",
        ("correlation_score", "fine scores", "0.0556558494", "a"),
        ("correlation_negatives", "fine scores", "-0.4663724022", "a"),
        ("correlation_score", "coarse scores", "-0.1246699876", "a"),
        ("correlation_negatives", "coarse scores", "-0.1407119842", "a"),
        ("correlation_score_negatives", "coarse scores", "-0.1589564328", "a"),
    ),
    *_known(
        "scipy 1.17.1: contingency.odds_ratio(table, kind='sample')",
        ("selection_odds_ratio", "berkeley", "0.5431594389", "women", "men"),
        ("selection_odds_ratio", "kidney", "0.7483485373", "A", "B"),
    ),
    *_known(
        "scipy 1.17.1: log of contingency.relative_risk",
        ("selection_log_ratio", "berkeley", "-0.3829751485", "women", "men"),
        ("selection_log_ratio", "kidney", "-0.0569548929", "A", "B"),
    ),
    *_known(
        "scipy 1.17.1: entropy(group, reference)",
        ("kl_divergence", "berkeley", "0.0421095037", "women", "men"),
        ("kl_divergence", "kidney", "0.0068201262", "A", "B"),
        ("kl_divergence", "classes", "0.0247362028", "a", "b"),
    ),
    *_known(
        "scipy 1.17.1: contingency.association(table, method='cramer')",
        ("cramers_v", "adult", "0.2366246868"),
        ("cramers_v", "classes", "0.1122963085"),
    ),
    *_known(
        "scipy 1.17.1: beta.ppf of both tails in every group",
        ("differential_fairness_credible", "adult", "3.992809759"),
    ),
    *_known(
        "scipy 1.17.1: pearsonr(number, smokes)",
        ("pearson", "smokers", "-0.1439364039"),
    ),
    *_known(
        "scipy 1.17.1: 1 - gmean(b) / mean(b), where some b are 0",
        ("atkinson", "compas", "1.0"),
    ),
    *_known(
        "statsmodels 0.15.0: proportion_effectsize(group, reference)",
        ("cohens_h", "berkeley", "-0.2939545341", "women", "men"),
        ("cohens_h", "kidney", "-0.1150800136", "A", "B"),
    ),
    *_known(
        "statsmodels 0.15.0: OLS(smokes, number).params; scipy: linregress",
        ("slope", "smokers", "-0.0334156264"),
    ),
    *_known(
        "statsmodels 0.15.0: Table.test_ordinal_association().zscore root(n / (n - 1))",
        ("trend", "smokers", "-2.8679125310"),
    ),
    *_known(
        "the larger calibration error of those here",
        ("well_calibration", "fine scores", "0.2096666667"),
        ("well_calibration", "coarse scores", "0.1844444444"),
    ),
)
