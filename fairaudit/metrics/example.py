"""The worked example of a metric in `explain`: a few people in two groups and two strata."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import cache

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Amount, GroupTable, Ints, RowTable, Sum
from fairaudit.cube.histogram import Bins, Histogram
from fairaudit.cube.rows import Features
from fairaudit.metrics import build_disparity
from fairaudit.metrics.confusion_counts import collapse_strata
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.disparities import Comparison, Disparity
from fairaudit.metrics.evaluate import evaluate
from fairaudit.metrics.evaluation_record import Evaluation, Metric
from fairaudit.metrics.individual import BALANCED_ERROR_RATE
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.metrics.terms import MetricOptions, Parameters, Reference, ReferencePolicy

_GROUPS = ("women", "men")
_STRATA = ("day", "night")
_CELLS = {
    # tp, fp, fn, tn of women and of men
    "day": ((10, 5, 5, 20), (30, 15, 5, 10)),
    "night": ((10, 5, 5, 40), (10, 5, 5, 20)),
}
_PLACES = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}
"""The label and the prediction of each cell."""
_SCORES = {"tp": 0.8, "fp": 0.6, "fn": 0.4, "tn": 0.2}
_YEARS = {"tp": 50, "fp": 40, "fn": 35, "tn": 30}
_UTILITIES = tuple(
    (cell, Decimal(value)) for cell, value in (("tp", 1), ("fp", -1), ("fn", 0), ("tn", 0))
)
PEOPLE = (
    "Women: 20 true positives (tp), 10 false positives (fp), 10 false negatives (fn), 60 true "
    "negatives (tn). Men: 40 tp, 20 fp, 10 fn, 30 tn."
)
IN_STRATA = (
    "Women by day: 10 true positives (tp), 5 false positives (fp), 5 false negatives (fn), 20 true "
    "negatives (tn). Men by day: 30 tp, 15 fp, 5 fn, 10 tn. Women at night: 10 tp, 5 fp, 5 fn, 40 "
    "tn. Men at night: 10 tp, 5 fp, 5 fn, 20 tn."
)
SCORED = " Scores: .8 for tp, .6 for fp, .4 for fn, .2 for tn."
NUMBERED = " Predictions: 8 for tp, 6 for fp, 4 for fn, 2 for tn. Labels: 10 for tp and fn, else 0."
FEATURED = " The label is the only feature."
AGED = " Age: 50 for tp, 40 for fp, 35 for fn, 30 for tn."


def describe_example(record: Metric | Comparison) -> str:
    """The people of the example, and the values of a metric for them, in words.

    A comparison is described by its values for selection rates.
    """
    metric: Metric
    if isinstance(record, Comparison):
        metric, what = build_disparity(SELECTION_RATE, record), " for the selection rates"
    else:
        metric, what = record, ""
    people, needs = IN_STRATA if metric.conditional else PEOPLE, metric.requirements
    texts = {
        FEATURED: _is_of_rows(metric),
        SCORED: Requirement.SCORE in needs,
        NUMBERED: bool(needs & {Requirement.NUMBER, Requirement.NUMERIC_LABEL}),
        AGED: Requirement.NUMERIC_ATTRIBUTE in needs,
    }
    more = "".join(text for text, is_needed in texts.items() if is_needed)
    evaluation, values = evaluate_example(metric), []
    for z, stratum in enumerate(evaluation.table.strata):
        where = f" {stratum[0][1]}" if stratum else ""
        if evaluation.spread:
            values.append(f"{_number(float(evaluation.value[z, 0]))}{where}")
            continue
        values += [
            f"{evaluation.table.groups[w][0][1]}{where} {_number(float(evaluation.value[z, w]))}"
            for w in np.flatnonzero(evaluation.judged[z]).tolist()
        ]
    return f"{people}{more} Result{what}: {', '.join(values)}"


def evaluate_example(metric: Metric, *, scored: bool = True) -> Evaluation:
    """Evaluates a metric on the people of the example; without `scored`, they have no scores."""
    numeric = bool(metric.requirements & {Requirement.NUMBER, Requirement.NUMERIC_LABEL})
    table = _table(numeric=numeric)
    table = table if scored else replace(table, amounts={}, histogram=None)
    reference = None
    if isinstance(metric, Disparity) and metric.to_reference:
        reference = Reference(ReferencePolicy.LEVEL, (("group", "men"),))
    terms = MetricOptions(reference, parameters=Parameters(utilities=_UTILITIES))
    table = table if metric.conditional else collapse_strata(table)
    if _is_of_rows(metric):
        # One row for each person, with the label as the only feature.
        z, y, p, g = np.nonzero(table.people)
        n = table.people[z, y, p, g]
        stratum, label, outcome, group = (np.repeat(axis, n) for axis in (z, y, p, g))
        known, no_classes = label[:, None].astype(np.float64), np.zeros((len(label), 0), np.int64)
        features = Features(("label",), known, (), no_classes, ())
        numbers = np.arange(1, len(label) + 1)
        people, decision = np.ones_like(numbers), outcome.astype(np.float64)
        shape = (len(table.strata), len(table.groups))
        rows = RowTable(features, numbers, people, stratum, group, decision, None, shape)
        table = replace(table, rows=rows)
    return evaluate(metric, table, terms)


def _is_of_rows(metric: Metric) -> bool:
    """Whether the metric compares individual people and does not need scikit-learn."""
    return metric.family == "individual" and metric is not BALANCED_ERROR_RATE


def _number(value: float) -> str:
    if math.isnan(value):
        return "undefined"
    return f"{value:.4f}".rstrip("0").rstrip(".") if math.isfinite(value) else f"{value}"


@cache
def _table(*, numeric: bool) -> GroupTable:
    joint = np.zeros((2, 3, 3, 2), dtype=np.int64)
    tenths, years = (np.zeros((3, 3, 1), dtype=np.int64) for _ in range(2))
    bins = sorted(_SCORES.values())
    histogram = np.zeros((2, 3, 2, 4), dtype=np.int64)
    for number, (name, (y, p)) in enumerate(_PLACES.items()):
        joint[:, y, p] = [[cells[number] for cells in _CELLS[stratum]] for stratum in _STRATA]
        tenths[y, p], years[y, p] = round(10 * _SCORES[name]), _YEARS[name]
        histogram[:, y, :, bins.index(_SCORES[name])] = joint[:, y, p]

    def summed(values: Ints | int) -> Ints:
        """The sums of a number over people; numeric predictions have no classes."""
        sums = joint * values
        return np.asarray(sums.sum(axis=2, keepdims=True) if numeric else sums)

    def add_up(values: Ints, scale: int = 1) -> Amount:
        squares, sizes = Sum(summed(values**2), scale**2), Sum(summed(np.abs(values)), scale)
        return Amount(people, Sum(summed(values), scale), squares, sizes)

    people, label = summed(1), 10 * np.array([0, 1, 0])[:, None, None]
    amounts = {"score": add_up(tenths, 10), "attribute:group": add_up(years)}
    if numeric:
        residual = label - tenths
        amounts = {"value": add_up(tenths), "label": add_up(label), "residual": add_up(residual)}
    no_extremes = np.zeros((2, 2))
    return GroupTable(
        by=("group",),
        given=("shift",),
        of="prediction",
        groups=tuple((("group", name),) for name in _GROUPS),
        strata=tuple((("shift", name),) for name in _STRATA),
        labels=("no", "yes"),
        classes=() if numeric else ("reject", "accept"),
        positive_label=np.array([False, True, False]),
        positive=None if numeric else np.array([False, True, False]),
        favourable=True,
        people=people,
        mass=people,
        scale=1,
        squares=None,
        known=np.ones(2, dtype=np.bool_),
        known_strata=np.ones(2, dtype=np.bool_),
        amounts=amounts,
        histogram=Histogram(
            by=("group",),
            given=("shift",),
            groups=(),
            strata=(),
            known=np.ones(2, dtype=np.bool_),
            people=histogram,
            everybody=histogram.sum(axis=(0, 1, 2)),
            bins=Bins(np.arange(len(bins)), np.array(bins), np.array(bins)),
            low=no_extremes,
            high=no_extremes,
            moments=None,
        ),
    )
