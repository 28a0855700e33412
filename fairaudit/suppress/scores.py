"""The rows and curves of a score in a published report."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fairaudit.arrays import Group, Grouping, Ints, Marks
from fairaudit.histogram import Histogram, median_bin
from fairaudit.metrics import Disparity, Metric, Requirement
from fairaudit.metrics.counts import ScoreCounts
from fairaudit.metrics.scores import SCORING_RATE, calibration_bins
from fairaudit.recode.scores import Distribution
from fairaudit.result import Curve, ScoreRow
from fairaudit.spec import Spec
from fairaudit.suppress.cells import Cells, has_few
from fairaudit.suppress.ledger import May


@dataclass(frozen=True, slots=True, eq=False)
class Cuts:
    """Where numbers of a report cut a score: `points`, those from each up standing above it.

    `apart` are the histograms of whom they count, and `by_label` whether they do so by the label.
    """

    points: tuple[float, ...]
    apart: tuple[Histogram, ...] = ()
    by_label: bool = False

    def are_of_few(self, threshold: int) -> bool:
        """Whether few people of some group lie between two of them, who are a difference of two."""
        return any(has_few(self._between(one), threshold) for one in self.apart)

    def _between(self, one: Histogram) -> Ints:
        people = one.people if self.by_label else one.people.sum(axis=1)
        piece = np.searchsorted(np.array(sorted(self.points)), one.bins.low, side="right")
        counts = np.zeros((len(self.points) + 1, *people.shape[:-1]), dtype=np.int64)
        np.add.at(counts, piece, np.moveaxis(people, -1, 0))
        return counts


def find_cuts(score: Distribution, spec: Spec) -> Cuts:
    """Where the numbers of a spec cut a score.

    By `at`, at the median for a scoring rate, and where a prediction is such a cut itself.
    """
    scored = {
        outcome.name
        for outcome in spec.outcomes
        if outcome.score and outcome.score.value == score.column
    }
    requests = [request for request in spec.requests if {request.of, request.against} & scored]
    above_median = [request for request in requests if _is_above_median(request.metric)]
    cutting = [request for request in requests if request.terms.at is not None] + above_median
    points = {float(request.terms.at) for request in cutting if request.terms.at is not None}
    for outcome in spec.outcomes:
        if outcome.threshold and outcome.column.value == score.column:
            points |= {*outcome.threshold.edges()}
    if above_median:
        everybody = score.histogram((), ())
        middle = everybody.bins.high[median_bin(everybody.everybody)]
        points.add(math.nextafter(float(middle), math.inf))
    tables = dict.fromkeys(
        (by, given) for request in cutting for by in ((), *request.by) for given in request.given
    )
    return Cuts(
        tuple(points),
        tuple(score.histogram(*table) for table in tables if score.covers(*table)),
        by_label=any(Requirement.LABEL in request.metric.requirements for request in cutting),
    )


def _is_above_median(metric: Metric) -> bool:
    """Whether a metric is made of the share of people above the median score."""
    parts = [rate for rate, _ in metric.parts] if isinstance(metric, Disparity) else [metric]
    return SCORING_RATE in parts


class Scored:
    """Says which rows and curves may be printed, from the histograms they were made of."""

    def __init__(
        self,
        cells: Cells,
        threshold: int,
        histograms: Mapping[str, tuple[Histogram, ...]],
        cuts: Mapping[str, Cuts],
        may: May,
    ) -> None:
        self.cells = cells
        self.cuts = cuts
        self.threshold = threshold
        self.histograms = histograms
        self.may = may
        self.is_small = bool((cells.people < threshold).any())

    def row(self, row: ScoreRow) -> ScoreRow:
        """The row of a group; its extremes and its median are told where many people share them."""
        if not self._is_whole(row.column) or not self._may(row.by, row.group):
            return replace(
                row,
                n=None,
                mean=None,
                deviation=None,
                lowest=None,
                highest=None,
                median=None,
                auc=None,
                auc_error=None,
                suppressed=True,
            )
        one = self._histogram(row.column, row.by)
        people = one.people[0, :, one.groups.index(row.group)].sum(axis=0)
        used = np.flatnonzero(people)
        many = people >= self.threshold
        shared = one.bins.single & many
        return replace(
            row,
            lowest=row.lowest if shared[used[0]] else None,
            highest=row.highest if shared[used[-1]] else None,
            median=row.median if many[median_bin(people)] else None,
        )

    def curves(self, curves: Iterable[Curve]) -> Iterator[Curve]:
        """The curves; those of a grouping are told together, or none of them."""
        curves = tuple(curves)
        places = {(one.column, one.by): self._are_told(one, curves) for one in curves}
        for one in curves:
            if places[one.column, one.by]:
                yield one
            else:
                yield replace(one, calibration=(), thresholds=(), suppressed=True)

    def _are_told(self, curve: Curve, curves: tuple[Curve, ...]) -> bool:
        """Whether all points of the curves of a grouping are made of enough people."""
        same = [one for one in curves if (one.column, one.by) == (curve.column, curve.by)]
        one = self._histogram(curve.column, curve.by)
        points = sorted(
            {point.at for each in same for point in each.thresholds}
            | {*(self.cuts[curve.column].points if curve.column in self.cuts else ())}
        )
        number = calibration_bins(
            ScoreCounts(one.people, one.bins.low, one.bins.high, one.everybody)
        ).astype(np.int64)
        above = np.searchsorted(np.array(points), one.bins.low, side="right")
        _, piece = np.unique(np.stack([number, above]), axis=1, return_inverse=True)
        counts = np.zeros((int(piece.max(initial=0)) + 1, *one.people[0, :2, :, 0].shape))
        np.add.at(counts, piece.reshape(-1), np.moveaxis(one.people[0, :2], -1, 0))
        many = not has_few(counts.astype(np.int64), self.threshold)
        each = [self._may(curve.by, curve_of.group) for curve_of in same]
        return many and self._is_whole(curve.column) and all(each)

    def _histogram(self, column: str, by: Grouping) -> Histogram:
        return next(one for one in self.histograms[column] if one.by == by)

    def _mine(self, by: Grouping, group: Group) -> Marks:
        return self.cells.crowds(by).within(group)

    def _may(self, by: Grouping, group: Group) -> bool:
        """Whether the people of a group may be told, and how many have either label."""
        mine = self._mine(by, group)
        sides = self.cells.sides("label", None)
        counts = map(self.cells.count, (mine, *(mine & side for side in sides)))
        return self.may(frozenset(one for one in counts if one is not None), len(by))

    def _is_whole(self, column: str) -> bool:
        """Whether those who have the score are those who are counted, or tell nothing of them."""
        for one in self.histograms[column]:
            scored = one.people[0].sum(axis=(0, 2))
            everybody = [self.cells.total(self._mine(one.by, group)) for group in one.groups]
            missing = np.array(everybody, dtype=np.int64) - scored
            few = has_few(scored, self.threshold) or has_few(missing, self.threshold)
            if (few and missing.any()) or (self.is_small and missing.any()):
                return False
        return True
