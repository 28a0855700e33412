"""Suppression of scores: pieces of scores by group, label and class; their rows and curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks, has_small
from fairaudit.cube import NO_LEVEL, add_up, distinct_rows
from fairaudit.cube.histogram import median_bin
from fairaudit.metrics import Requirement, list_quantities
from fairaudit.metrics.confusion_counts import ScoreCounts
from fairaudit.metrics.scores import SCORING_RATE, calibration_bins
from fairaudit.pipeline.plan_builder import edges_of, is_positive
from fairaudit.pipeline.recode.scores import Distribution, ScoreCells, find_labels
from fairaudit.pipeline.suppress.cell_sets import CellSets, NumberedSets
from fairaudit.pipeline.suppress.protection import Pieces
from fairaudit.result import Curve
from fairaudit.spec import Outcome, Spec


class ScoreSource:
    """A score of a result: its histograms, their finest cells, and the `points` that cut it.

    The points are by `at`, by thresholds of predictions, and at the median; each belongs to the
    part above. `cut` are the histograms of the people whom such numbers count, `by_label` whether
    by label. `outcomes` have this score. `sides` mark the positive bins, for each outcome that is a
    cut on the score. `steps` are the thresholds of its curves.
    """

    def __init__(self, score: Distribution, spec: Spec, curves: Iterable[Curve]) -> None:
        self.histograms = tuple(score.summaries())
        self.cells = tuple(score.cells())
        self.has_label = score.label is not None
        self.outcomes = tuple(
            o.name for o in spec.outcomes if o.score and o.score.value == score.column
        )
        cuts = [o for o in spec.outcomes if o.threshold and o.column.value == score.column]
        self.sides = {o.name: _find_side(o, score.raw.bins.low) for o in cuts}
        self.steps = {
            p.at for curve in curves if curve.column == score.column for p in curve.thresholds
        }
        requests = [one for one in spec.requests if {one.of, one.against} & {*self.outcomes}]
        above_median = [one for one in requests if SCORING_RATE in list_quantities(one.metric)]
        cutting = [one for one in requests if one.terms.at is not None] + above_median
        points = {float(one.terms.at) for one in cutting if one.terms.at is not None}
        for edge in (edge for o in cuts if o.threshold for edge in edges_of(o.threshold)):
            value = float(edge.value)
            points.add(math.nextafter(value, math.inf) if edge.beyond else value)
        if above_median:
            everybody = self.histograms[0]
            middle = everybody.bins.high[median_bin(everybody.everybody)]
            points.add(math.nextafter(float(middle), math.inf))
        self.points = np.array(sorted(points))
        tables = dict.fromkeys(
            (by, given) for one in cutting for by in ((), *one.by) for given in one.given
        )
        self.cut = [score.histogram(*table) for table in tables if score.covers(*table)]
        self.by_label = any(Requirement.LABEL in one.metric.requirements for one in cutting)

    def cuts_few(self, threshold: int) -> bool:
        """Whether a group has few people between two points: a difference would reveal them."""
        for histogram in self.cut:
            people = histogram.people if self.by_label else histogram.people.sum(axis=1)
            piece = np.searchsorted(self.points, histogram.bins.low, side="right")
            counts = np.zeros((len(self.points) + 1, *people.shape[:-1]), dtype=np.int64)
            np.add.at(counts, piece, np.moveaxis(people, -1, 0))
            if has_small(counts, threshold):
                return True
        return False

    def pieces(self, *, with_steps: bool) -> Ints:
        """The piece of the score of each bin: a value, or a tenth between two cuts.

        A score of at most twenty values has a piece for each value.
        """
        first = self.histograms[0]
        bins = first.bins
        tenths = calibration_bins(
            ScoreCounts(first.people, bins.low, bins.high, first.everybody)
        ).astype(np.int64)
        if (tenths < 0).any():  # beyond [0, 1] the tenths are of the range
            reach = max(float(bins.high[-1] - bins.low[0]), math.ulp(1.0))
            tenths = np.minimum((bins.low - bins.low[0]) / reach * 10, 9).astype(np.int64)
        points = np.union1d(self.points, [*self.steps] if with_steps else [])
        above = np.searchsorted(points, bins.low, side="right")
        return np.unique(np.stack([tenths, above]), axis=1, return_inverse=True)[1].reshape(-1)


def _find_side(outcome: Outcome, scores: Floats) -> Marks:
    """Marks of the scores that are positive for an outcome that is a cut on the score."""
    edges = edges_of(outcome.threshold) if outcome.threshold else ()
    passed = [
        scores > float(edge.value) if edge.beyond else scores >= float(edge.value) for edge in edges
    ]
    return np.array(
        [
            is_positive(outcome, (edge for edge, has in zip(edges, row, strict=True) if has))
            for row in np.transpose(passed).tolist()
        ],
        dtype=np.bool_,
    )


class ScorePieces(NumberedSets):
    """Cells of people by the columns of a histogram, the label and the piece of the score.

    A number computed from the scores of a group may show how many people of each label are in each
    piece, so all these counts support it.
    """

    def __init__(self, cells: CellSets, source: ScoreSource, table: ScoreCells) -> None:
        coarse, pieces = (source.pieces(with_steps=with_steps) for with_steps in (False, True))
        side_of_piece = {  # a piece is on one side of each cut
            name: np.bincount(pieces, side, minlength=1) > 0 for name, side in source.sides.items()
        }
        names = [name for name in side_of_piece if cells.has(name)]
        # The pieces of a curve are parts of the other pieces: both are in one system.
        pieces_of_row = [pieces[table.bins], coarse[table.bins]]
        rows = np.column_stack([table.codes, table.labels, *pieces_of_row])
        rows, index = distinct_rows(rows)
        super().__init__(add_up(table.people, index, len(rows)))
        piece = rows[:, -2]
        self._parts = [
            np.unique(rows[:, [-3, place]], axis=0, return_inverse=True)[1].reshape(-1)
            for place in (-1, -2)
        ]
        own = [*rows[:, :-2].T, *(side_of_piece[name][piece] for name in names)]
        key = cells.cube.outcome("label") if source.has_label else None
        labels = cells.all_cells + 1 if key is None else find_labels(key, cells.column("label"))
        theirs = [*map(cells.column, table.names), labels]
        for name in names:
            plus, minus = cells.sides(name, None)
            theirs.append(np.where(plus, 1, np.where(minus, 0, NO_LEVEL)))
        both = np.concatenate([np.column_stack(theirs), np.column_stack(own)])
        _, stems = np.unique(both, axis=0, return_inverse=True)
        self._of_cells, self._of_pieces = np.split(stems.reshape(-1), [len(cells.people)])
        self._sizes = np.bincount(self._of_cells, minlength=int(stems.max(initial=0)) + 1)
        self._registered: dict[tuple[bytes, bool], frozenset[int] | None] = {}

    def _image(self, marks: Marks) -> Marks | None:
        """The rows of a set of cells; None if these columns do not determine the set."""
        inside = np.bincount(self._of_cells, marks, minlength=len(self._sizes))
        if ((inside > 0) & (inside < self._sizes)).any():
            return None
        return np.asarray(inside[self._of_pieces] > 0)

    def register_whole(self, cells: Ints) -> frozenset[int]:
        """The number of the count of a set of cells; empty if the columns do not determine it."""
        marks = np.zeros(len(self._of_cells), dtype=np.bool_)
        marks[cells] = True
        image = self._image(marks)
        return frozenset() if image is None else self.register_all([image])

    def register_parts(self, marks: Marks, *, with_steps: bool) -> frozenset[int] | None:
        """The numbers of the counts of a set of cells by label and piece of the score.

        None if these columns do not determine the set.
        """
        key = marks.tobytes(), with_steps
        if key not in self._registered:
            image, parts = self._image(marks), self._parts[with_steps]
            self._registered[key] = (
                None
                if image is None
                else self.register_all(
                    image & (parts == part) for part in np.unique(parts[image]).tolist()
                )
            )
        return self._registered[key]


class ScoreSets:
    """The counts and pieces that support the numbers of each score."""

    def __init__(self, cells: CellSets, sources: Mapping[str, ScoreSource], threshold: int) -> None:
        self.cells = cells
        self.sources = sources
        self.threshold = threshold
        self._whole: dict[str, bool] = {}
        self.pieces: list[ScorePieces] = []
        self._of_column: dict[str, range] = {}
        for column, source in sources.items():
            first = len(self.pieces)
            self.pieces += [ScorePieces(cells, source, table) for table in source.cells]
            self._of_column[column] = range(first, len(self.pieces))

    def is_whole(self, column: str) -> bool:
        """Whether the people who have the score reveal nothing about the people who lack it."""
        if column not in self._whole:
            self._whole[column] = True
            for histogram in self.sources[column].histograms:
                scored = histogram.people[0].sum(axis=(0, 2))
                cells = self.cells.group_cells(histogram.by)
                everybody = [self.cells.total(cells.within(group)) for group in histogram.groups]
                # Negative if rows are dropped because another column is missing.
                missing = np.abs(np.array(everybody, dtype=np.int64) - scored)
                counts = (scored, missing, self.cells.people)
                if missing.any() and any(has_small(count, self.threshold) for count in counts):
                    self._whole[column] = False
        return self._whole[column]

    def column_of(self, outcome: str | None) -> str | None:
        """The column of the score of an outcome that has one."""
        return next((name for name, one in self.sources.items() if outcome in one.outcomes), None)

    def counts_of(self, column: str, marks: Marks) -> frozenset[int]:
        """The counts of a set of cells by label and by class, since a prediction may be a cut."""
        cells = self.cells
        labels = cells.classes("label") if cells.has("label") else []
        classes = [marks for name in self.sources[column].outcomes for marks in cells.classes(name)]
        sides = (cells.all_cells, *labels)
        kinds = (cells.all_cells, *classes)
        return cells.register_all(marks & side & kind for side in sides for kind in kinds)

    def pieces_of(self, column: str, marks: Marks, *, with_steps: bool = False) -> Pieces | None:
        """The pieces of a set of cells; None if no histogram determines the set."""
        found: set[tuple[int, int]] = set()
        is_known = False
        for place in self._of_column[column]:
            parts = self.pieces[place].register_parts(marks, with_steps=with_steps)
            if parts is not None:
                is_known = True
                found |= {(place, part) for part in parts}
        return frozenset(found) if is_known else None
