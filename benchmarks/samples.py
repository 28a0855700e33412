"""Tables drawn by chance from known rates: the repetitions of a study are the strata of one table.

So what is studied is what an audit does: a measure is evaluated in every stratum at once, and has
an interval in each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from fairaudit.cube import Amount, GroupTable, Sum
from fairaudit.cube.histogram import Bins, Histogram
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.metrics import Metric, evaluate
from fairaudit.metrics.terms import MetricOptions, Reference, ReferencePolicy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

TO_FIRST = Reference(ReferencePolicy.LEVEL, (("group", "000"),))
"""The first group as the reference."""
_CLOSE = 1e-9
"""A bound within this distance of the truth is not beyond it."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """The intervals of one measure: arrays [runs, values]; NaN without an interval."""

    value: Floats
    low: Floats
    high: Floats

    def covered(self, truth: float | Floats) -> float:
        """The share of repetitions in which every interval there is contains the truth."""
        return float(self.hits(truth).mean())

    def hits(self, truth: float | Floats) -> NDArray[np.bool_]:
        """Which repetitions, of those with an interval, have the truth in all of them, [runs]."""
        there = ~np.isnan(self.low)
        missed = (self.low > np.asarray(truth) + _CLOSE) | (self.high < np.asarray(truth) - _CLOSE)
        return ~(missed & there).any(axis=1)[there.any(axis=1)]

    @property
    def width(self) -> float:
        """The mean width of those that are finite."""
        found = self.high - self.low
        return float(found[np.isfinite(found)].mean()) if np.isfinite(found).any() else np.nan

    @property
    def without(self) -> float:
        """The share of repetitions without any interval."""
        return float(np.isnan(self.low).all(axis=1).mean())


def intervals(asked: Metric, table: GroupTable, reference: Reference | None = None) -> Intervals:
    """The intervals of a measure in every repetition, as an audit finds them."""
    evaluation = evaluate(asked, table, MetricOptions(reference))
    found = find_intervals(evaluation)
    low, high = (np.where(evaluation.judged, end, np.nan) for end in (found.low, found.high))
    return Intervals(evaluation.value, low, high)


def shares(random: Generator, rates: Sequence[float] | Floats, sizes: Sequence[int], runs: int,
           ) -> GroupTable:  # fmt: skip
    """People of each group who are selected at its rate or not; no labels."""
    hits = random.binomial(sizes, rates, size=(runs, len(sizes)))
    return table_of(np.stack([np.asarray(sizes) - hits, hits], axis=1)[:, None])


def classes(random: Generator, chances: Floats, sizes: Sequence[int], runs: int) -> GroupTable:
    """People of each group in one of several classes, by the `chances` [classes, groups]."""
    drawn = [random.multinomial(n, chances[:, g], runs) for g, n in enumerate(sizes)]
    return table_of(np.stack(drawn, axis=-1)[:, None])


def cells(random: Generator, chances: Floats, sizes: Sequence[int], runs: int) -> GroupTable:
    """People of each group by label and prediction: `chances` of tp, fp, fn, tn, [4, groups]."""
    drawn = [random.multinomial(n, chances[:, g], runs) for g, n in enumerate(sizes)]
    tp, fp, fn, tn = np.moveaxis(np.stack(drawn, axis=-1), 1, 0)
    return table_of(np.stack([np.stack([tn, fp], axis=1), np.stack([fn, tp], axis=1)], axis=1))


def from_rates(base: Sequence[float], tpr: Sequence[float], fpr: Sequence[float]) -> Floats:
    """The chances of tp, fp, fn, tn, [4, groups], by base rate and both error rates."""
    one, two, three = (np.asarray(rate, dtype=np.float64) for rate in (base, tpr, fpr))
    return np.stack([one * two, (1 - one) * three, one * (1 - two), (1 - one) * (1 - three)])


def table_of(joint: Ints, amounts: Mapping[str, Amount] | None = None,
             histogram: Histogram | None = None) -> GroupTable:  # fmt: skip
    """The table of counts [runs, labels, classes, groups]; one label means no label."""
    runs, labels, outcomes, groups = joint.shape
    known = (labels > 1, True)
    padded = np.pad(joint, ((0, 0), (0, known[0]), (0, 1), (0, 0))).astype(np.int64)
    positive = [np.arange(size + 1) == size - 1 for size in (labels, outcomes)]
    return GroupTable(
        by=("group",),
        given=("run",),
        of="prediction",
        groups=names("group", groups),
        strata=names("run", runs),
        labels=tuple(f"y{at}" for at in range(labels)) if known[0] else (),
        classes=tuple(f"c{at}" for at in range(outcomes)),
        positive_label=positive[0] if known[0] else None,
        positive=positive[1],
        favourable=True,
        people=padded,
        mass=padded,
        scale=1,
        squares=None,
        known=np.ones(groups, dtype=np.bool_),
        known_strata=np.ones(runs, dtype=np.bool_),
        amounts=amounts or {},
        histogram=histogram,
    )


def names(column: str, count: int) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The groups of one column."""
    return tuple(((column, f"{at:03}"),) for at in range(count))


def scored(draws: Sequence[Floats]) -> GroupTable:
    """People with scores, an array [runs, people] for each group, kept to three decimals."""
    rounded = [np.rint(one * 1000).astype(np.int64) for one in draws]
    n = np.array([[one.shape[1] for one in rounded]] * len(rounded[0]))
    total, squares = (
        np.stack([(one**power).sum(axis=1) for one in rounded], axis=1) for power in (1, 2)
    )

    def shaped(values: Ints) -> Ints:
        # Everybody's prediction is the first class, without a label.
        return np.pad(values[:, None, None], ((0, 0), (0, 0), (0, 2), (0, 0)))

    score = Amount(
        shaped(n), Sum(shaped(total), 1000), Sum(shaped(squares), 1000**2)
    )  # fmt: skip
    return table_of(np.stack([n, np.zeros_like(n)], axis=1)[:, None], {"score": score})


def binned(random: Generator, chances: Floats, sizes: Sequence[int], runs: int) -> GroupTable:
    """People with scores of a few values, by the `chances` [values, groups]."""
    drawn = [random.multinomial(n, chances[:, g], runs) for g, n in enumerate(sizes)]
    people = np.stack(drawn, axis=1)
    count = people.shape[-1]
    values = np.arange(count) / count
    by_label = np.stack([np.zeros_like(people), np.zeros_like(people), people], axis=1)
    n = people.sum(axis=-1)
    nothing = np.zeros((runs, len(sizes)))
    histogram = Histogram(
        by=("group",), given=("run",), groups=names("group", len(sizes)),
        strata=names("run", runs), known=np.ones(len(sizes), dtype=np.bool_), people=by_label,
        everybody=people.sum(axis=(0, 1)), bins=Bins(np.arange(count), values, values),
        low=nothing, high=nothing, moments=None,
    )  # fmt: skip
    return table_of(np.stack([n, np.zeros_like(n)], axis=1)[:, None], None, histogram)
