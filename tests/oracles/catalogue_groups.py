"""The oracle of one group: rates, of two classes and of several, inequality, scores, numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

from catalogue_people import (
    EQUAL_BINS,
    HALF,
    MOST_DISTINCT,
    Number,
    Person,
    Rows,
    Weighted,
    alive_of,
    indicator,
    judged_scores,
    mean_of,
    numbers_of,
    people_of,
    scores_of,
    scores_of_class,
    sum_of_squares,
    total_of,
)

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
    for row in alive_of(rows):
        if row.label is not None and row.prediction is not None:
            surplus = indicator(row.prediction) - indicator(row.label)
            found.append(((-surplus if burden else surplus) + 1, row.people))
    return found


def entropy_of(values: Weighted, alpha: Fraction | float) -> Number:
    """Return GE(alpha) of values from zero up, exactly for whole alpha other than 0 and 1."""
    mean = mean_of(values)
    if mean is None or mean == 0:
        return None
    people = people_of(values)
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
    return mean_of([(Fraction(utility), counted[cell]) for cell, utility in utilities.items()])


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
    return mean_of(scores_of(rows))


def mean_score_positives(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean score of those labelled positive."""
    return mean_of(scores_of_class(rows, positive=True))


def mean_score_negatives(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean score of those labelled negative."""
    return mean_of(scores_of_class(rows, positive=False))


def probability_above(left: Weighted, right: Weighted) -> Fraction | None:
    """Return P(left > right) + P(left = right)/2 over all pairs of people."""
    pairs = people_of(left) * people_of(right)
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
    positives = scores_of_class(rows, positive=True)
    return probability_above(positives, scores_of_class(rows, positive=False))


def average_precision(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean over positives of the share of positives among all who score as high."""
    judged = judged_scores(rows)
    precisions = []
    for threshold, label, people in judged:
        if label == 1:
            hits = sum(n for score, y, n in judged if score >= threshold and y == 1)
            selected = sum(n for score, _, n in judged if score >= threshold)
            precisions.append((Fraction(hits, selected), people))
    return mean_of(precisions)


def is_probability(everybody: Rows) -> bool:
    """Return whether every score lies in [0, 1]."""
    return all(0 <= score <= 1 for score, _ in scores_of(everybody))


def brier(rows: Rows, everybody: Rows) -> Number:
    """Return the mean of (score - label)^2, undefined if any score lies outside [0, 1]."""
    if not is_probability(everybody):
        return None
    return mean_of([((score - label) ** 2, people) for score, label, people in judged_scores(rows)])


def bins_of(everybody: Rows) -> dict[Fraction, int] | None:
    """Return the bin of every score: its own if there are few, else one of ten of [0, 1].

    With more than twenty distinct scores some of which lie outside [0, 1], there are no bins.
    """
    distinct = sorted({score for score, _ in scores_of(everybody)})
    if len(distinct) <= MOST_DISTINCT:
        return {score: place for place, score in enumerate(distinct)}
    if not is_probability(everybody):
        return None
    return {score: min(math.floor(score * EQUAL_BINS), EQUAL_BINS - 1) for score in distinct}


def calibration_error(rows: Rows, everybody: Rows) -> Number:
    """Return the mean over people of |mean label - mean score| within the bins of the scores."""
    judged = judged_scores(rows)
    bins = bins_of(everybody)
    if bins is None or not judged or not is_probability(everybody):
        return None
    total = Fraction(0)
    for place in set(bins.values()):
        residuals = [(label - score, n) for score, label, n in judged if bins[score] == place]
        total += abs(total_of(residuals))
    return total / sum(people for _, _, people in judged)


def calibration_in_the_large(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean label minus the mean score of those who have both."""
    return mean_of([(label - score, people) for score, label, people in judged_scores(rows)])


def _inner_scores(rows: Rows) -> list[tuple[float, Fraction, int]] | None:
    """Return logit, label and people of those who are judged; None if a score is 0, 1 or beyond."""
    judged = judged_scores(rows)
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
    judged = sorted(judged_scores(rows))
    total = sum(people for _, _, people in judged)
    if not judged or not is_probability(everybody):
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
        observed = total_of([(label, people) for _, label, people in part])
        expected = total_of([(score, people) for score, _, people in part])
        value += (observed - expected) ** 2 / (expected * (1 - expected / n))
    return value


def _expects_few(part: Sequence[tuple[Fraction, Fraction, int]]) -> bool:
    expected = sum(score * people for score, _, people in part)
    return min(expected, sum(people for _, _, people in part) - expected) < 5


def median_score(everybody: Rows) -> Fraction | None:
    """Return the smallest score up to which at least half of the people with a score lie."""
    scores = sorted(scores_of(everybody))
    reached = 0
    for score, people in scores:
        reached += people
        if 2 * reached >= people_of(scores):
            return score
    return None


def scoring_rate(rows: Rows, everybody: Rows) -> Number:
    """Return the share of the group's scores strictly above the median of everybody's."""
    median = median_score(everybody)
    if median is None:
        return None
    return mean_of([(indicator(score > median), people) for score, people in scores_of(rows)])


# --- One group: numeric labels and predictions (metrics.md 2) ----------------------------------


def mean_prediction(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean of the numeric predictions."""
    found = [(row.predicted, row.people) for row in alive_of(rows) if row.predicted is not None]
    return mean_of(found)


def mean_label(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean of the numeric labels."""
    return mean_of([(row.y, row.people) for row in alive_of(rows) if row.y is not None])


def mean_residual(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean of label - prediction of those who have both."""
    return mean_of([(y - predicted, people) for y, predicted, people in numbers_of(rows)])


def mae(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the mean absolute residual."""
    return mean_of([(abs(y - predicted), people) for y, predicted, people in numbers_of(rows)])


def rmse(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return the root of the mean squared residual."""
    mean = mean_of([((y - predicted) ** 2, people) for y, predicted, people in numbers_of(rows)])
    return None if mean is None else math.sqrt(mean)


def r2(rows: Rows, _everybody: Rows = ()) -> Number:
    """Return 1 - squared residuals / squared departures from the group's own mean label."""
    numbers = numbers_of(rows)
    around_mean = sum_of_squares([(y, people) for y, _, people in numbers])
    if around_mean == 0:
        return None
    return 1 - total_of([((y - predicted) ** 2, n) for y, predicted, n in numbers]) / around_mean


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
    alive = alive_of(everybody)
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
