"""Suppression: each count as a set of the finest cells; zeros are never hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, reduce
from operator import or_

import numpy as np

from fairaudit.base.frozen import Frozen
from fairaudit.cube import (
    NO_LEVEL,
    UNKNOWN,
    Cube,
    Group,
    Grouping,
    Ints,
    Marks,
    Role,
    distinct_rows,
    known_groups,
    name_groups,
)
from fairaudit.metrics import (
    FirstOf,
    Formula,
    GroupMetric,
    Mean,
    PeopleCount,
    Rate,
    Requirement,
    TableMetric,
)
from fairaudit.metrics.formulas import Macro


class GroupCells(Frozen, dict=True):
    """The groups of some columns: the number of the group of each cell, or -1 without a group."""

    groups: tuple[Group, ...]
    of_cell: Ints
    known: Marks

    def within(self, group: Group) -> Marks:
        """The cells of a group; empty if it does not occur."""
        number = self._numbers.get(frozenset(group), len(self.groups))
        return np.asarray(self.of_cell == number)

    def each(self, *, with_unknown: bool = False) -> list[Marks]:
        """The cells of each known group, or of every group."""
        return [
            np.asarray(self.of_cell == number)
            for number, known in enumerate(self.known.tolist())
            if known or with_unknown
        ]

    @cached_property
    def of_known(self) -> Marks:
        """The cells of all groups that are known."""
        return np.isin(self.of_cell, np.flatnonzero(self.known))

    @cached_property
    def _numbers(self) -> dict[frozenset[tuple[str, str]], int]:
        return {frozenset(group): number for number, group in enumerate(self.groups)}


class MetricCells(Frozen):
    """The sets of cells that a metric of a group counts, in the group and in everybody.

    `small` marks the cells that `min_size` counts; it does not apply if `has_all_groups`.
    """

    own: tuple[Marks, ...]
    everybody: tuple[Marks, ...] = ()
    small: Marks | None = None
    has_all_groups: bool = False


class NumberedSets:
    """Cells of `people`, and a number for each set of cells."""

    def __init__(self, people: Ints) -> None:
        self.people = people
        self.sets: list[Ints] = []
        self._numbers: dict[bytes, int] = {}

    def register_all(self, sets: Iterable[Marks]) -> frozenset[int]:
        """The numbers of the sets of cells; the empty set has none, since zeros are published."""
        numbers = set()
        for cells in filter(len, map(np.flatnonzero, sets)):
            key = cells.tobytes()
            if key not in self._numbers:
                self._numbers[key] = len(self.sets)
                self.sets.append(cells)
            numbers.add(self._numbers[key])
        return frozenset(numbers)


class CellSets(NumberedSets):
    """The finest cells of a cube that have people, and a number for each set of cells."""

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
        """Notes that readers know how many people these cells hold at most."""
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
        """The groups of some columns."""
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
        """The cells that have a level in all columns of these groupings."""
        marks = self.all_cells
        for names in groupings:
            marks = marks & (self.group_cells(names).of_cell >= 0)
        return marks

    def known_outcome(self, of: str) -> Marks:
        """The cells whose outcome is known; all cells if it has no classes."""
        return self.all_cells if self.cube.outcome(of) is None else self.column(of) != NO_LEVEL

    def missing(self, name: str) -> Marks:
        """The cells whose level in a column is unknown, whether that is a group or not."""
        key, codes = self.cube.key(name), self.column(name)
        is_group = key.role in {Role.PROTECTED, Role.STRATUM}
        unknown_codes = [key.levels.index(UNKNOWN)] if is_group and UNKNOWN in key.levels else []
        return np.isin(codes, [NO_LEVEL, *unknown_codes])

    def has(self, name: str) -> bool:
        """Whether a column is a key of the cube."""
        return name in self._names

    def classes(self, of: str) -> list[Marks]:
        """The known classes of an outcome; all cells if it has no classes."""
        if self.cube.outcome(of) is None:
            return [self.all_cells]
        codes = self.column(of)
        return [codes == code for code in np.unique(codes).tolist() if code != NO_LEVEL]

    def of_class(self, of: str, name: str) -> Marks:
        """The cells of one class of an outcome."""
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
        """The positive and the negative cells, among those with a known outcome."""
        key = self.cube.outcome(of)
        if key is None:
            return ~self.all_cells, ~self.all_cells
        codes, positive_codes = self.column(of), key.positive or frozenset()
        if of_class is not None:
            positive_codes = frozenset(
                code for code, level in enumerate(key.levels) if level == of_class
            )
        plus = np.isin(codes, list(positive_codes))
        return plus, ~plus & (codes != NO_LEVEL)

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
            classes = {**dict.fromkeys(self._levels(of)), **dict.fromkeys(self._levels("label"))}
            return _join(self._cells_of_metric(metric.base, of, name) for name in classes)
        block = tuple(self._block(metric, of))
        return MetricCells(
            block, block if isinstance(metric, Formula) and metric.uses_everybody else ()
        )

    def _levels(self, of: str) -> tuple[str, ...]:
        key = self.cube.outcome(of)
        return () if key is None else key.levels

    def _block(self, metric: GroupMetric | TableMetric, of: str) -> Iterator[Marks]:
        """All sets that a formula may count: people, labels, classes, and labels by classes."""
        by_label = bool(metric.requirements & {Requirement.LABEL, Requirement.NUMERIC_LABEL})
        by_class = bool(metric.requirements & {Requirement.PREDICTION, Requirement.CLASSES})
        subtracts = isinstance(metric, TableMetric) and metric.subtracts_label
        crosses = by_label == by_class or subtracts
        labels = self.classes("label") if crosses or by_label else []
        classes = self.classes(of) if crosses or by_class else []
        if subtracts:
            both_known = self.known_outcome(of) & self.known_outcome("label")
            yield from (both_known & marks for marks in (self.all_cells, *labels, *classes))
            return
        yield self.all_cells
        yield from (*labels, *classes)
        yield from (label & class_ for label in labels for class_ in classes)

    def _of_rate(self, rate: Rate, of: str, of_class: str | None) -> MetricCells:
        """The numerator and the denominator; each cell alone if a sum contains it twice."""
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
