"""Cuts the group table of a grouping, with its strata, from the cells of a cube."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Grouping, Ints, Marks
from fairaudit.cube.amounts import Sum, add_up
from fairaudit.cube.group_table import ClusteredTable, GroupTable, Pairs, Ungrouped
from fairaudit.cube.keys import NO_LEVEL, KeyColumn, distinct_rows, known_groups, name_groups
from fairaudit.cube.rows import NOWHERE, Rows, RowTable
from fairaudit.frozen import Frozen

if TYPE_CHECKING:
    from fairaudit.cube.cells import Cube


def cut_table(
    cube: Cube, by: Grouping, given: Grouping, of: str, beside: str | None = None
) -> GroupTable:
    """The counts of one grouping in the strata of `given`, for the outcome `of`.

    With a second outcome `beside`, only those count who have both.
    """
    cut = _Cut.begin(cube, by, given, of, beside)
    label, audited = cube.outcome("label"), cube.outcome(of)
    inside = cut.inside
    people = inside.add(cube.people)
    squares = cube.squares and inside.add_sum(cube.squares)
    return GroupTable(
        by=by,
        given=given,
        of=of,
        groups=name_groups(cut.group_keys, cut.groups),
        strata=name_groups(cut.stratum_keys, cut.strata),
        labels=label.levels if label else (),
        classes=audited.levels if audited else (),
        positive_label=label.positive_classes(inside.shape[1]) if label else None,
        positive=audited.positive_classes(inside.shape[2]) if audited else None,
        favourable=audited.favourable if audited else True,
        people=people,
        mass=inside.add(cube.weight.values) if cube.weight else people,
        scale=cube.weight.scale if cube.weight else 1,
        squares=squares.plain() / squares.scale if squares else None,
        known=known_groups(cut.group_keys, cut.groups),
        known_strata=known_groups(cut.stratum_keys, cut.strata),
        amounts={
            name: amount.transform(inside.add, inside.add_sum)
            for (outcome, name), amount in cube.amounts.items()
            if outcome == of
        },
        ungrouped=cut.find_ungrouped(),
        pairs=cut.count_pairs(beside),
        clusters=cut.place_clusters(),
    )


def place_rows(cube: Cube, table: GroupTable, rows: Rows, score: str | None) -> RowTable:
    """The people one by one at their places in a table of the cube; `score` is their column."""
    cut = _Cut.begin(cube, table.by, table.given, table.of, None)
    group = np.full(len(cube.codes), NOWHERE, dtype=np.int64)
    group[cut.inside.marks] = cut.inside.place % max(len(cut.groups), 1)
    stratum = np.full(len(cube.codes), NOWHERE, dtype=np.int64)
    if len(cut.strata):
        stratum = cut.find_strata(cube.codes[:, cut.columns[1]])
    outcome, key = np.full(len(cube.codes), np.nan), cube.outcome(table.of)
    if key is not None and key.positive is not None:
        codes = cube.codes[:, cube.places([table.of])[0]]
        outcome = np.where(codes == NO_LEVEL, np.nan, np.isin(codes, list(key.positive)))
    return RowTable(
        rows.features,
        rows.numbers,
        rows.n,
        stratum[rows.cells],
        group[rows.cells],
        outcome[rows.cells],
        None if score is None else rows.scores.get(score),
        (len(cut.strata), len(cut.groups)),
        rows,
    )


class _Selection(Frozen, eq=False):
    """Some cells of a cube, and the place of each in a table of the shape [Z, Y, P, G]."""

    marks: Marks
    place: Ints
    shape: tuple[int, int, int, int]

    @classmethod
    def by_axes(cls, marks: Marks, axes: tuple[Ints, ...], shape: tuple[int, ...]) -> _Selection:
        """The selection by the codes of its cells on the axes of the table."""
        z, y, p, g = shape
        empty = np.zeros(0, dtype=np.int64)
        place = np.ravel_multi_index(axes, shape) if marks.any() else empty
        return cls(marks, place, (z, y, p, g))

    def add(self, values: Ints) -> Ints:
        """The table of what the cells add up to."""
        return add_up(values[self.marks], self.place, int(np.prod(self.shape))).reshape(self.shape)

    def add_sum(self, total: Sum) -> Sum:
        """The table of what a sum of the cells adds up to."""
        return Sum(self.add(total.values), total.scale)


class _Cut(Frozen, eq=False):
    """The groups and strata of a table, and the cells of the cube that it counts."""

    cube: Cube
    columns: tuple[list[int], list[int]]
    of: str
    known_outcomes: list[int]
    groups: NDArray[np.int32]
    strata: NDArray[np.int32]
    inside: _Selection

    @classmethod
    def begin(cls, cube: Cube, by: Grouping, given: Grouping, of: str, beside: str | None) -> _Cut:
        """The cells of a grouping: people whose group, stratum and paired outcomes are known."""
        columns, conditions = cube.places(by), cube.places(given)
        outcomes = (of, beside) if beside is not None else ()
        known = cube.places([name for name in outcomes if cube.outcome(name) is not None])
        needed = cube.codes[:, [*columns, *conditions, *known]]
        marks = np.all(needed != NO_LEVEL, axis=1) & (cube.people > 0)
        codes = cube.codes[marks]
        groups, g = distinct_rows(codes[:, columns])
        strata, z = distinct_rows(codes[:, conditions])
        # Where nobody is known in these columns there is no stratum either.
        strata = strata[: len(codes)]
        y, labels = _slots(cube, "label", codes)
        p, classes = _slots(cube, of, codes)
        shape = (len(strata), labels, classes, len(groups))
        inside = _Selection.by_axes(marks, (z, y, p, g), shape)
        return cls(cube, (columns, conditions), of, known, groups, strata, inside)

    @property
    def group_keys(self) -> list[KeyColumn]:
        """The columns that name the groups."""
        return [self.cube.keys[column] for column in self.columns[0]]

    @property
    def stratum_keys(self) -> list[KeyColumn]:
        """The columns that name the strata."""
        return [self.cube.keys[column] for column in self.columns[1]]

    def find_ungrouped(self) -> Ungrouped | None:
        """Those of the strata who lack a level that would name their group."""
        cube, (columns, conditions) = self.cube, self.columns
        lacking = np.any(cube.codes[:, columns] == NO_LEVEL, axis=1) & (cube.people > 0)
        needed = cube.codes[:, [*conditions, *self.known_outcomes]]
        lacking &= np.all(needed != NO_LEVEL, axis=1)
        if not lacking.any() or not len(self.strata):
            return None
        z = self.find_strata(cube.codes[lacking][:, conditions])
        # A stratum where no group is known is none of this table's.
        lacking[lacking] = z != NO_LEVEL
        codes = cube.codes[lacking]
        groups, u = distinct_rows(codes[:, columns])
        if not len(groups):
            return None
        y, labels = _slots(cube, "label", codes)
        p, classes = _slots(cube, self.of, codes)
        shape = (len(self.strata), labels, classes, len(groups))
        ungrouped = _Selection.by_axes(lacking, (z[z != NO_LEVEL], y, p, u), shape)
        people = ungrouped.add(cube.people)
        mass = ungrouped.add(cube.weight.values) if cube.weight else people
        return Ungrouped(name_groups(self.group_keys, groups), people, mass)

    def find_strata(self, codes: NDArray[np.int32]) -> Ints:
        """The number of the stratum of each row, `NO_LEVEL` where the table has none for it."""
        _, index = distinct_rows(np.concatenate([self.strata, codes]))
        numbers = np.full(index.max() + 1, NO_LEVEL)
        numbers[index[: len(self.strata)]] = np.arange(len(self.strata))
        return np.asarray(numbers[index[len(self.strata) :]])

    def count_pairs(self, beside: str | None) -> Pairs | None:
        """The cells by the classes of a second outcome, too, where that has positive ones."""
        other = None if beside is None else self.cube.outcome(beside)
        positive = None if other is None else other.positive_classes(len(other.levels))
        marks = self.inside.marks
        if other is None or positive is None or not marks.any():
            return None
        (column,), classes = self.cube.places([other.name]), len(other.levels)
        q = self.cube.codes[marks, column].astype(np.int64)
        mass = (self.cube.weight.values if self.cube.weight else self.cube.people)[marks]
        size = int(np.prod(self.inside.shape)) * classes
        counts = add_up(mass, self.inside.place * classes + q, size)
        return Pairs(np.moveaxis(counts.reshape(*self.inside.shape, classes), -1, 3), positive)

    def place_clusters(self) -> ClusteredTable | None:
        """The clusters, with the place in the table of each cell that is in it."""
        if self.cube.clusters is None:
            return None
        place = np.full(len(self.cube.codes), -1, dtype=np.int64)
        place[self.inside.marks] = self.inside.place
        return ClusteredTable(self.cube.clusters, place, self.inside.shape)


def _slots(cube: Cube, outcome: str, codes: NDArray[np.int32]) -> tuple[Ints, int]:
    """The class of each row for an outcome, the unknown ones last, and how many classes it has."""
    key = cube.outcome(outcome)
    if key is None:
        return np.zeros(len(codes), dtype=np.int64), 1
    (column,) = cube.places([outcome])
    return key.slots(codes[:, column]), len(key.levels) + 1
