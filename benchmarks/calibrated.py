"""Calibration of scores: how often perfect scores are refuted, and how often wrong ones are.

The repetitions are the strata of one table, as in samples.py. Labels are drawn by the scores, or by
probabilities that differ from them on the scale of log odds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from samples import Floats, intervals, names, table_of
from scipy.stats import beta

from fairaudit.cube import GroupTable
from fairaudit.cube.histogram import Bins, Histogram
from fairaudit.evidence.value_tests import run_tests
from fairaudit.metrics import evaluate, find_metric
from fairaudit.metrics.terms import MetricOptions

SIZES = ((50, 50), (200, 200), (1000, 1000), (1000, 100))
"""The people of both groups."""
SHAPES = {"spread over all scores": (1.0, 1.0), "mostly low": (1.0, 6.0)}
"""The beta distributions of the scores."""
ERRORS = {"none": (1.0, 0.0), "slope 0.7": (0.7, 0.0), "half a logit too low": (1.0, 0.5)}
"""Slope and intercept of the true log odds on those of the score."""
METRICS = (
    "calibration_slope", "calibration_intercept", "hosmer_lemeshow", "calibration_error",
    "multicalibration", "test_fairness",
)  # fmt: skip
_VALUES = 99
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Refuted:
    """How often a test refutes scores, and how often the interval has the true value."""

    metric: str
    setting: str
    error: str
    refuted: float
    covered: float


def labelled(
    random: Generator, sizes: Sequence[int], shape: tuple[float, float], runs: int,
    errors: Sequence[tuple[float, float]],
) -> tuple[GroupTable, Floats]:  # fmt: skip
    """People with scores of two decimals and labels; the true chances of each score, [S, G]."""
    values = np.arange(1, _VALUES + 1) / (_VALUES + 1)
    logit = np.log(values / (1 - values))
    truth = np.stack([1 / (1 + np.exp(-(b + a * logit))) for a, b in errors], axis=1)
    people = np.zeros((runs, 3, len(sizes), _VALUES), dtype=np.int64)
    # The chance that a beta-distributed score is rounded to each value, the ends included.
    edges = beta.cdf(np.arange(1, _VALUES) / 100 + 0.005, *shape)
    chances = np.diff(np.concatenate([[0.0], edges, [1.0]]))
    for g, n in enumerate(sizes):
        counts = random.multinomial(n, chances, runs)
        people[:, 1, g] = random.binomial(counts, truth[:, g])
        people[:, 0, g] = counts - people[:, 1, g]
    joint = people.sum(axis=3)[:, :2, None]
    nothing = np.zeros((runs, len(sizes)))
    histogram = Histogram(
        by=("group",), given=("run",), groups=names("group", len(sizes)),
        strata=names("run", runs), known=np.ones(len(sizes), dtype=np.bool_), people=people,
        everybody=people.sum(axis=(0, 1, 2)), bins=Bins(np.arange(_VALUES), values, values),
        low=nothing, high=nothing, moments=None,
    )  # fmt: skip
    return table_of(joint, None, histogram), truth


def true_values(table: GroupTable, truth: Floats, metric: str) -> Floats:
    """The values that the shares of positives in bins have in truth, [runs, groups or 1]."""
    assert table.histogram is not None
    people = table.histogram.people.sum(axis=1).swapaxes(1, 2)
    scores = table.histogram.bins.low
    tenth = np.minimum(np.floor(scores * 10), 9).astype(int)
    n, plus, expected = (
        np.stack([amount[:, tenth == at].sum(axis=1) for at in range(10)], axis=1)
        for amount in (people, people * truth, people * scores[:, None])
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        if metric == "test_fairness":
            return np.asarray(np.nan_to_num(np.ptp(plus / n, axis=2)).max(axis=1)[:, None])
        apart = np.abs(plus - expected)
        if metric == "calibration_error":
            return np.asarray(apart.sum(axis=1) / n.sum(axis=1))
        return np.asarray(np.nan_to_num(apart / n).max(axis=(1, 2))[:, None])


def refuted(random: Generator, runs: int) -> Iterator[Refuted]:
    """All tests on all designs; a group is wrong in one of them, and right in the other."""
    for sizes, (shape, parameters) in product(SIZES, SHAPES.items()):
        # The power is that of scores spread over all values, in groups of equal size.
        is_plain = shape == next(iter(SHAPES)) and sizes[0] == sizes[1]
        for error, wrong in ERRORS.items() if is_plain else [("none", (1.0, 0.0))]:
            table, truth = labelled(random, sizes, parameters, runs, ((1.0, 0.0), wrong))
            where = f"{sizes[0]:,} and {sizes[1]:,} people, {shape}"
            for name in METRICS:
                yield refuted_by(name, table, truth, where, error)


def refuted_by(name: str, table: GroupTable, truth: Floats, where: str, error: str) -> Refuted:
    """How often the test of a metric refutes the last group, and its interval has the truth."""
    metric = find_metric(name)
    assert metric is not None
    evaluation = evaluate(metric, table, MetricOptions())
    p = run_tests(evaluation).p[:, -1]  # of several groups that which may be wrong
    found, covered = intervals(metric, table), np.nan
    if name in {"calibration_error", "multicalibration", "test_fairness"}:
        actual = true_values(table, truth, name)
        there = ~np.isnan(found.low) & ~np.isnan(actual)
        inside = (found.low <= actual + 1e-9) & (found.high >= actual - 1e-9)
        covered = float(inside[there].mean())
    return Refuted(name, where, error, float(np.nanmean(p < _ALPHA)), covered)
