"""Suppression: the sets of cells that counts add up, and the pieces of scores in these cells.

A cell is a combination of levels. Empty cells are never hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property, reduce
from itertools import compress
from operator import or_

import numpy as np

from fairaudit.base.arrays import has_small
from fairaudit.base.frozen import Frozen
from fairaudit.counting.raw_counts import RawHistogram
from fairaudit.cube import (
    NO_LEVEL,
    OUTSIDE,
    UNKNOWN,
    Cube,
    Group,
    Grouping,
    Ints,
    Marks,
    Role,
    add_up,
    distinct_rows,
    known_groups,
    name_groups,
)
from fairaudit.cube.histogram import median_bin
from fairaudit.metrics import (
    GroupMetric,
    Mean,
    PeopleCount,
    Rate,
    Requirement,
    TableMetric,
    list_quantities,
)
from fairaudit.metrics.confusion_counts import ScoreCounts
from fairaudit.metrics.formulas import Formula, Macro
from fairaudit.metrics.means_and_errors import FirstOf
from fairaudit.metrics.scores import SCORING_RATE, calibration_bins
from fairaudit.pipeline.plan_builder import edges_of, is_positive
from fairaudit.pipeline.recode.scores import Distribution, find_labels
from fairaudit.pipeline.suppress.protection import Pieces
from fairaudit.result.rows import Curve
from fairaudit.spec import Spec


class GroupCells(Frozen, dict=True):
    """The groups by some columns; `of_cell` is the number of the group of each cell, or -1."""

    groups: tuple[Group, ...]
    of_cell: Ints
    known: Marks

    def within(self, group: Group) -> Marks:
        """Marks the cells of a group; no cell if the group does not occur."""
        number = self._numbers.get(frozenset(group), len(self.groups))
        return np.asarray(self.of_cell == number)

    def each(self, *, with_unknown: bool = False) -> list[Marks]:
        """Marks of the cells of each known group; with `with_unknown`, of every group."""
        return [
            np.asarray(self.of_cell == number)
            for number, known in enumerate(self.known.tolist())
            if known or with_unknown
        ]

    @cached_property
    def of_known(self) -> Marks:
        """Marks the cells of all known groups."""
        return np.isin(self.of_cell, np.flatnonzero(self.known))

    @cached_property
    def _numbers(self) -> dict[frozenset[tuple[str, str]], int]:
        return {frozenset(group): number for number, group in enumerate(self.groups)}


class MetricCells(Frozen):
    """The sets of cells that a metric counts in a group (`own`) and in all people (`everybody`).

    `min_size` applies to the people of the `small` cells; None means all cells of the group. If
    `has_all_groups` is set, no group is too small.
    """

    own: tuple[Marks, ...]
    everybody: tuple[Marks, ...] = ()
    small: Marks | None = None
    has_all_groups: bool = False


class NumberedSets:
    """Cells with their `people`, and a number for each registered set of cells."""

    def __init__(self, people: Ints) -> None:
        self.people = people
        self.sets: list[Ints] = []
        self._numbers: dict[bytes, int] = {}

    def register_all(self, sets: Iterable[Marks]) -> frozenset[int]:
        """The numbers of sets of cells; empty sets have no number, because zeros are published."""
        numbers = set()
        for cells in filter(len, map(np.flatnonzero, sets)):
            key = cells.tobytes()
            if key not in self._numbers:
                self._numbers[key] = len(self.sets)
                self.sets.append(cells)
            numbers.add(self._numbers[key])
        return frozenset(numbers)


class CellSets(NumberedSets):
    """The cells of a cube that have people, and a number for each registered set of cells."""

    def __init__(self, cube: Cube) -> None:
        occupied = cube.people > 0
        super().__init__(cube.people[occupied])
        self.cube = cube
        self.bounds: dict[bytes, tuple[Ints, int]] = {}
        self._codes = cube.codes[occupied]
        self._names = {key.name: place for place, key in enumerate(cube.keys)}
        self._group_cells: dict[Grouping, GroupCells] = {}
        self._metric_cells: dict[tuple[str, str, str | None], MetricCells] = {}
        self.all_cells: Marks = np.ones(len(self.people), dtype=np.bool_)
        self.lacking = [
            (of, cube.people[occupied] - amount.n[occupied])
            for (of, _), amount in cube.amounts.items()
            if not np.array_equal(amount.n, cube.people)
        ]

    def bound(self, marks: Marks, most: int) -> None:
        """Records that readers know that these cells have at most `most` people."""
        self.bounds[np.flatnonzero(marks).tobytes()] = np.flatnonzero(marks), most

    def register_each(self, marks: Marks) -> frozenset[int]:
        """The numbers of the single cells of a set."""
        return self.register_all(
            np.arange(len(marks)) == cell for cell in np.flatnonzero(marks).tolist()
        )

    def total(self, marks: Marks) -> int:
        """The people in a set of cells."""
        return int(self.people[marks].sum())

    def group_cells(self, names: Grouping) -> GroupCells:
        """The groups by some columns, and the cells of each group."""
        if names not in self._group_cells:
            codes = self._codes[:, [self._names[name] for name in names]]
            inside = (codes != NO_LEVEL).all(axis=1)
            rows, numbers = distinct_rows(codes[inside])
            rows = rows if inside.any() else rows[:0]
            of_cell = np.full(len(codes), -1, dtype=np.int64)
            of_cell[inside] = numbers
            keys = [self.cube.key(name) for name in names]
            self._group_cells[names] = GroupCells(
                name_groups(keys, rows), of_cell, known_groups(keys, rows)
            )
        return self._group_cells[names]

    def taking_part(self, *groupings: Grouping) -> Marks:
        """Marks the cells that have a level in all columns of these groupings."""
        marks = self.all_cells
        for names in groupings:
            marks = marks & (self.group_cells(names).of_cell >= 0)
        return marks

    def known_outcome(self, of: str) -> Marks:
        """Marks the cells whose outcome is known; all cells if the outcome has no classes."""
        return self.all_cells if self.cube.outcome(of) is None else self.column(of) >= 0

    def applicable(self, of: str) -> Marks:
        """Marks the cells of people to whom an outcome applies."""
        return self.all_cells if self.cube.outcome(of) is None else self.column(of) != OUTSIDE

    def missing(self, name: str) -> Marks:
        """Marks the cells with an unknown level in a column, even if unknown is a group."""
        key, codes = self.cube.key(name), self.column(name)
        is_group = key.role in {Role.PROTECTED, Role.STRATUM}
        unknown_codes = [key.levels.index(UNKNOWN)] if is_group and UNKNOWN in key.levels else []
        return np.isin(codes, [NO_LEVEL, *unknown_codes])

    def has(self, name: str) -> bool:
        """Whether a column is a key of the cube."""
        return name in self._names

    def classes(self, of: str) -> list[Marks]:
        """Marks of the cells of each known class; all cells if the outcome has no classes."""
        if self.cube.outcome(of) is None:
            return [self.all_cells]
        codes = self.column(of)
        return [codes == code for code in np.unique(codes).tolist() if code >= 0]

    def of_class(self, of: str, name: str) -> Marks:
        """Marks the cells of one class of an outcome."""
        key = self.cube.outcome(of)
        if key is None or name not in key.levels:
            return ~self.all_cells
        return np.asarray(self.column(of) == key.levels.index(name))

    def metric_cells(
        self, metric: GroupMetric | TableMetric, of: str, of_class: str | None
    ) -> MetricCells:
        """The sets of cells that a metric of one group counts."""
        key = metric.id, of, of_class
        if key not in self._metric_cells:
            self._metric_cells[key] = self._cells_of_metric(metric, of, of_class)
        return self._metric_cells[key]

    @property
    def is_weighted(self) -> bool:
        """Whether people carry survey weights."""
        return self.cube.weight is not None

    def sides(self, of: str, of_class: str | None) -> tuple[Marks, Marks]:
        """Marks of the cells with a positive outcome, and of the cells with a negative outcome."""
        key = self.cube.outcome(of)
        if key is None:
            return ~self.all_cells, ~self.all_cells
        codes, positive_codes = self.column(of), key.positive or frozenset()
        if of_class is not None:
            positive_codes = frozenset(
                code for code, level in enumerate(key.levels) if level == of_class
            )
        plus = np.isin(codes, list(positive_codes))
        return plus, ~plus & (codes >= 0)

    def column(self, name: str) -> Ints:
        """The code of each cell in a column."""
        return np.asarray(self._codes[:, self._names[name]])

    def _cells_of_metric(
        self, metric: GroupMetric | TableMetric, of: str, of_class: str | None
    ) -> MetricCells:
        if isinstance(metric, Rate):
            return self._of_rate(metric, of, of_class)
        if isinstance(metric, PeopleCount):
            if not metric.cell:
                return MetricCells((self.all_cells,), has_all_groups=True)
            cell = self._cells_of_rates(of, of_class)
            everybody = reduce(or_, map(cell, ("tp", "fp", "fn", "tn")))
            return MetricCells((cell(metric.cell), everybody), has_all_groups=True)
        if isinstance(metric, Mean):
            return _join(self._of_rate(part, of, of_class) for part in metric.parts)
        if isinstance(metric, FirstOf):
            return _join(self._cells_of_metric(option, of, of_class) for option in metric.options)
        if isinstance(metric, Macro):
            names = dict.fromkeys([*self._levels(of), *self._levels("label")])
            return _join(self._cells_of_metric(metric.base, of, name) for name in names)
        # A formula may count people, labels, classes, and labels by classes.
        by_label = bool(metric.requirements & {Requirement.LABEL, Requirement.NUMERIC_LABEL})
        by_class = bool(metric.requirements & {Requirement.PREDICTION, Requirement.CLASSES})
        subtracts = isinstance(metric, TableMetric) and metric.subtracts_label
        crosses = by_label == by_class or subtracts
        labels = self.classes("label") if crosses or by_label else []
        classes = self.classes(of) if crosses or by_class else []
        block: list[Marks] = [self.all_cells, *labels, *classes]
        if subtracts:
            both_known = self.known_outcome(of) & self.known_outcome("label")
            block = [both_known & marks for marks in block]
        else:
            block += [label & class_ for label in labels for class_ in classes]
        uses_everybody = isinstance(metric, Formula) and metric.uses_everybody
        return MetricCells(tuple(block), tuple(block) if uses_everybody else ())

    def _levels(self, of: str) -> tuple[str, ...]:
        key = self.cube.outcome(of)
        return () if key is None else key.levels

    def _of_rate(self, rate: Rate, of: str, of_class: str | None) -> MetricCells:
        """The cells of numerator and denominator; of each count if a sum adds a count twice."""
        cell = self._cells_of_rates(of, of_class)
        everybody = [name for name in (*rate.over, *rate.under) if name.startswith("all_")]
        sides = (rate.over, rate.under)
        twice = any(len(set(side)) < len(side) for side in sides)
        apart = twice or not rate.is_proportion
        own = [name for name in (*rate.over, *rate.under) if name not in everybody]
        parts = [tuple(n for n in side if n not in everybody) for side in sides]
        marks = [cell(name) for name in dict.fromkeys(own)] if apart else [
            reduce(or_, map(cell, side)) for side in parts if side
        ]  # fmt: skip
        under = parts[1] if rate.is_proportion else tuple(own)
        return MetricCells(
            tuple(marks),
            tuple(cell(name.removeprefix("all_")) for name in dict.fromkeys(everybody)),
            reduce(or_, map(cell, under)) if under else None,
        )

    def _cells_of_rates(self, of: str, of_class: str | None) -> Callable[[str], Marks]:
        """A function from a name such as `tp` or `selected` to its cells."""
        plus, minus = self.sides(of, of_class)
        positive, negative = self.sides("label", of_class)
        cells_of = {
            "tp": positive & plus,
            "fp": negative & plus,
            "fn": positive & minus,
            "tn": negative & minus,
            "selected": plus,
            "rejected": minus,
            "positives": positive,
            "negatives": negative,
        }
        return lambda name: cells_of[name.removeprefix("all_")]


def _join(parts: Iterable[MetricCells]) -> MetricCells:
    parts = list(parts)
    return MetricCells(
        tuple(marks for part in parts for marks in part.own),
        tuple(marks for part in parts for marks in part.everybody),
    )


class ScoreSource:
    """A score of a result: its histograms, the `points` that cut it, and its pieces in the cells.

    The points are the thresholds `at`, the thresholds of predictions, and the median. A score equal
    to a point is above the cut. `cut` are the histograms by the groups and strata of metrics that
    depend on a point. `by_label` is set if such a metric counts people by label. `outcomes` are the
    names of the outcomes with this score. `sides` maps each outcome that is a cut of the score to
    marks of its positive bins. `steps` are the thresholds of curves. The `pieces` of histograms are
    numbered over all scores, starting with `first`.
    """

    def __init__(
        self,
        score: Distribution,
        cells: CellSets,
        spec: Spec,
        curves: Iterable[Curve],
        threshold: int,
        first: int,
    ) -> None:
        self.score = score
        self.cells = cells
        self.threshold = threshold
        self.histograms = tuple(score.summaries())
        self.outcomes = tuple(
            o.name for o in spec.outcomes if o.score and o.score.value == score.column
        )
        cuts = [o for o in spec.outcomes if o.threshold and o.column.value == score.column]
        self.steps = {
            p.at for curve in curves if curve.column == score.column for p in curve.thresholds
        }
        requests = [one for one in spec.requests if {one.of, one.against} & {*self.outcomes}]
        above_median = [one for one in requests if SCORING_RATE in list_quantities(one.metric)]
        cutting = [one for one in requests if one.terms.at is not None] + above_median
        points = {float(one.terms.at) for one in cutting if one.terms.at is not None}
        low, self.sides = score.raw.bins.low, dict[str, Marks]()
        for outcome in cuts:
            edges = edges_of(outcome.threshold) if outcome.threshold else ()
            values = [float(edge.value) for edge in edges]
            passed = [
                low > value if edge.beyond else low >= value
                for edge, value in zip(edges, values, strict=True)
            ]
            self.sides[outcome.name] = np.array(
                [
                    is_positive(outcome, compress(edges, row))
                    for row in np.transpose(passed).tolist()
                ],
                dtype=np.bool_,
            )
            points |= {
                math.nextafter(value, math.inf) if edge.beyond else value
                for edge, value in zip(edges, values, strict=True)
            }
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
        self.pieces = {
            number: ScorePieces(cells, self, raw)
            for number, raw in enumerate(score.raw.histograms, first)
        }

    def cuts_few(self) -> bool:
        """Whether a group has few people between two points; differences of counts reveal them."""
        for histogram in self.cut:
            people = histogram.people if self.by_label else histogram.people.sum(axis=1)
            piece = np.searchsorted(self.points, histogram.bins.low, side="right")
            counts = np.zeros((len(self.points) + 1, *people.shape[:-1]), dtype=np.int64)
            np.add.at(counts, piece, np.moveaxis(people, -1, 0))
            if has_small(counts, self.threshold):
                return True
        return False

    def number_pieces(self, *, with_steps: bool) -> Ints:
        """The number of the piece of the score that contains each bin.

        A tenth of the range is a piece, and the points divide it into more pieces. If a score has
        at most twenty values, each value is a piece.
        """
        first = self.histograms[0]
        bins = first.bins
        tenths = calibration_bins(
            ScoreCounts(first.people, bins.low, bins.high, first.everybody)
        ).astype(np.int64)
        if (tenths < 0).any():  # some scores are not in [0, 1]: use tenths of their range
            reach = max(float(bins.high[-1] - bins.low[0]), math.ulp(1.0))
            tenths = np.minimum((bins.low - bins.low[0]) / reach * 10, 9).astype(np.int64)
        points = np.union1d(self.points, [*self.steps] if with_steps else [])
        above = np.searchsorted(points, bins.low, side="right")
        return np.unique(np.stack([tenths, above]), axis=1, return_inverse=True)[1].reshape(-1)

    @cached_property
    def is_whole(self) -> bool:
        """Whether the people with a score reveal nothing about the people without a score."""
        for histogram in self.histograms:
            scored = histogram.people[0].sum(axis=(0, 2))
            cells = self.cells.group_cells(histogram.by)
            everybody = [self.cells.total(cells.within(group)) for group in histogram.groups]
            # The difference is negative if rows are dropped because another column is missing.
            missing = np.abs(np.array(everybody, dtype=np.int64) - scored)
            counts = (scored, missing, self.cells.people)
            if missing.any() and any(has_small(count, self.threshold) for count in counts):
                return False
        return True

    def counts_of(self, marks: Marks) -> frozenset[int]:
        """The numbers of the parts of a set of cells, by label and by class of the outcomes."""
        cells = self.cells
        labels = cells.classes("label") if cells.has("label") else []
        classes = [marks for name in self.outcomes for marks in cells.classes(name)]
        sides = (cells.all_cells, *labels)
        kinds = (cells.all_cells, *classes)
        return cells.register_all(marks & side & kind for side in sides for kind in kinds)

    def pieces_of(self, marks: Marks, *, with_steps: bool = False) -> Pieces | None:
        """The pieces of a set of cells; None if no histogram determines the set."""
        found = {
            number: pieces.register_parts(marks, with_steps=with_steps)
            for number, pieces in self.pieces.items()
        }
        known = {number: parts for number, parts in found.items() if parts is not None}
        pairs = ((number, part) for number, parts in known.items() for part in parts)
        return frozenset(pairs) if known else None


class ScorePieces(NumberedSets):
    """Cells by the columns of a histogram, the label and the piece of the score.

    A number computed from the scores of a group may show the number of people of each label in each
    piece. So all these counts must be safe to print.
    """

    def __init__(self, cells: CellSets, source: ScoreSource, raw: RawHistogram) -> None:
        score = source.score
        columns = {name: one for name, one in score.columns.items() if one.raw in raw.keys}
        labels = score.labels(raw, raw.codes)
        stays = (labels >= 0) & (raw.people > 0)
        codes = [np.maximum(one.codes(raw, raw.codes), NO_LEVEL) for one in columns.values()]
        coarse, pieces = (source.number_pieces(with_steps=steps) for steps in (False, True))
        side_of_piece = {  # a piece is on one side of each cut
            name: np.bincount(pieces, side, minlength=1) > 0 for name, side in source.sides.items()
        }
        names = [name for name in side_of_piece if cells.has(name)]
        # The pieces of a curve are parts of the other pieces, so one system has both.
        rows = np.column_stack([*codes, labels, pieces[raw.bins], coarse[raw.bins]])
        rows, index = distinct_rows(rows[stays])
        super().__init__(add_up(raw.people[stays], index, len(rows)))
        piece = rows[:, -2]
        self._parts = [
            np.unique(rows[:, [-3, place]], axis=0, return_inverse=True)[1].reshape(-1)
            for place in (-1, -2)
        ]
        own = [*rows[:, :-2].T, *(side_of_piece[name][piece] for name in names)]
        key = None if score.label is None else cells.cube.outcome("label")
        labels = cells.all_cells + 1 if key is None else find_labels(key, cells.column("label"))
        theirs = [*map(cells.column, columns), labels]
        for name in names:
            plus, minus = cells.sides(name, None)
            theirs.append(np.where(plus, 1, np.where(minus, 0, NO_LEVEL)))
        both = np.concatenate([np.column_stack(theirs), np.column_stack(own)])
        _, stems = np.unique(both, axis=0, return_inverse=True)
        self._of_cells, self._of_pieces = np.split(stems.reshape(-1), [len(cells.people)])
        self._sizes = np.bincount(self._of_cells, minlength=int(stems.max(initial=0)) + 1)
        self._registered: dict[tuple[bytes, bool], frozenset[int] | None] = {}

    def _image(self, marks: Marks) -> Marks | None:
        """Marks the rows of a set of cells; None if these columns do not determine the set."""
        inside = np.bincount(self._of_cells, marks, minlength=len(self._sizes))
        if ((inside > 0) & (inside < self._sizes)).any():
            return None
        return np.asarray(inside[self._of_pieces] > 0)

    def register_whole(self, cells: Ints) -> frozenset[int]:
        """The number of the image of a set of cells; empty if these columns do not determine it."""
        marks = np.zeros(len(self._of_cells), dtype=np.bool_)
        marks[cells] = True
        image = self._image(marks)
        return frozenset() if image is None else self.register_all([image])

    def register_parts(self, marks: Marks, *, with_steps: bool) -> frozenset[int] | None:
        """The numbers of the parts of a set of cells by label and piece of the score.

        Returns None if these columns do not determine the set.
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
