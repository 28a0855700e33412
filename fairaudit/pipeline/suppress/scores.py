"""Suppression: rows and curves of scores; where `at` and thresholds cut between few people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from fairaudit.base.arrays import Group, Grouping, Ints, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.small_counts import has_small
from fairaudit.cube.histogram import Histogram, median_bin
from fairaudit.metrics import Disparity, Metric, Requirement
from fairaudit.metrics.confusion_counts import ScoreCounts
from fairaudit.metrics.scores import SCORING_RATE, calibration_bins
from fairaudit.pipeline.recode.scores import Distribution
from fairaudit.pipeline.suppress.cell_sets import CellSets
from fairaudit.pipeline.suppress.protection import MayPrint
from fairaudit.result import Curve, ScoreRow
from fairaudit.spec import Spec


class Cuts(Frozen, eq=False):
    """Where numbers of a report cut a score: `points`, those from each up standing above it.

    `histograms` are of the people counted, and `by_label` says whether they are so by the label.
    """

    points: tuple[float, ...]
    histograms: tuple[Histogram, ...] = ()
    by_label: bool = False

    def are_of_few(self, threshold: int) -> bool:
        """Whether few people of some group lie between two of them, who are a difference of two."""
        return any(has_small(self._between(histogram), threshold) for histogram in self.histograms)

    def _between(self, histogram: Histogram) -> Ints:
        people = histogram.people if self.by_label else histogram.people.sum(axis=1)
        piece = np.searchsorted(np.array(sorted(self.points)), histogram.bins.low, side="right")
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


class ScoreRedaction:
    """Says which rows and curves may be printed, from the histograms they were made of."""

    def __init__(
        self,
        cells: CellSets,
        threshold: int,
        histograms: Mapping[str, tuple[Histogram, ...]],
        cuts: Mapping[str, Cuts],
        may_print: MayPrint,
    ) -> None:
        self.cells = cells
        self.cuts = cuts
        self.threshold = threshold
        self.histograms = histograms
        self.may_print = may_print
        self.is_small = has_small(cells.people, threshold)

    def redact_row(self, row: ScoreRow) -> ScoreRow:
        """The row of a group; its extremes and its median are told where many people share them."""
        if not self._is_whole(row.column) or not self._may_print_group(row.by, row.group):
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
        histogram = self._histogram(row.column, row.by)
        people = histogram.people[0, :, histogram.groups.index(row.group)].sum(axis=0)
        used = np.flatnonzero(people)
        is_many = people >= self.threshold
        shared = histogram.bins.single & is_many
        return replace(
            row,
            lowest=row.lowest if shared[used[0]] else None,
            highest=row.highest if shared[used[-1]] else None,
            median=row.median if is_many[median_bin(people)] else None,
        )

    def redact_curves(self, curves: Iterable[Curve]) -> Iterator[Curve]:
        """The curves; those of a grouping are told together, or none of them."""
        curves = tuple(curves)
        places = {(curve.column, curve.by): self._may_print(curve, curves) for curve in curves}
        for curve in curves:
            if places[curve.column, curve.by]:
                yield curve
            else:
                yield replace(curve, calibration=(), thresholds=(), suppressed=True)

    def _may_print(self, curve: Curve, curves: tuple[Curve, ...]) -> bool:
        """Whether all points of the curves of a grouping are made of enough people."""
        same = [other for other in curves if (other.column, other.by) == (curve.column, curve.by)]
        histogram = self._histogram(curve.column, curve.by)
        points = sorted(
            {point.at for other in same for point in other.thresholds}
            | {*(self.cuts[curve.column].points if curve.column in self.cuts else ())}
        )
        number = calibration_bins(
            ScoreCounts(
                histogram.people, histogram.bins.low, histogram.bins.high, histogram.everybody
            )
        ).astype(np.int64)
        above = np.searchsorted(np.array(points), histogram.bins.low, side="right")
        _, piece = np.unique(np.stack([number, above]), axis=1, return_inverse=True)
        counts = np.zeros((int(piece.max(initial=0)) + 1, *histogram.people[0, :2, :, 0].shape))
        np.add.at(counts, piece.reshape(-1), np.moveaxis(histogram.people[0, :2], -1, 0))
        are_many = not has_small(counts.astype(np.int64), self.threshold)
        are_shown = [self._may_print_group(curve.by, curve_of.group) for curve_of in same]
        return are_many and self._is_whole(curve.column) and all(are_shown)

    def _histogram(self, column: str, by: Grouping) -> Histogram:
        return next(histogram for histogram in self.histograms[column] if histogram.by == by)

    def _cells_of(self, by: Grouping, group: Group) -> Marks:
        return self.cells.group_cells(by).within(group)

    def _may_print_group(self, by: Grouping, group: Group) -> bool:
        """Whether the people of a group may be told, and how many have either label."""
        cells = self._cells_of(by, group)
        sides = self.cells.sides("label", None)
        counts = self.cells.register_all([cells, *(cells & side for side in sides)])
        return self.may_print(counts, len(by))

    def _is_whole(self, column: str) -> bool:
        """Whether those who have the score are those who are counted, or tell nothing of them."""
        for histogram in self.histograms[column]:
            scored = histogram.people[0].sum(axis=(0, 2))
            everybody = [
                self.cells.total(self._cells_of(histogram.by, group)) for group in histogram.groups
            ]
            missing = np.array(everybody, dtype=np.int64) - scored
            few = has_small(scored, self.threshold) or has_small(missing, self.threshold)
            if (few and missing.any()) or (self.is_small and missing.any()):
                return False
        return True
