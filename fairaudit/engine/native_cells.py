"""Native route: tables of cells that the kernel fills, with exact sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Ints
from fairaudit.counts import RawWeights
from fairaudit.engine.partial_counts import Measures, NotServed, TableCounts, check_people
from fairaudit.fixed_point import WEIGHT_SCALES
from fairaudit.plan import Plan

if TYPE_CHECKING:
    from fairaudit.engine.native_levels import KeyLevels


class CellTable:
    """What the rows of each cell add up to: how many, and sums of 128 bits in two halves each."""

    def __init__(self, size: int, *, has_sums: bool) -> None:
        self.rows = np.zeros(size, dtype=np.int64)
        self.sums = np.zeros((size if has_sums else 0, 2, 2), dtype=np.uint64)
        self.largest = self.error = 0.0

    def another(self) -> CellTable:
        """An empty table of the same cells."""
        return CellTable(len(self.rows), has_sums=bool(len(self.sums)))

    def add(self, other: CellTable) -> None:
        """Adds what another table of the same cells holds."""
        self.rows += other.rows
        low = self.sums[:, :, 0]
        low += other.sums[:, :, 0]
        self.sums[:, :, 1] += other.sums[:, :, 1] + (low < other.sums[:, :, 0])
        self.largest = max(self.largest, other.largest)
        self.error = max(self.error, other.error)

    def add_cells(self, index: Ints, rows: Ints, sums: NDArray[np.uint64]) -> None:
        """Adds up to 2^30 cells with their sums, each to the cell of this table at its index."""
        np.add.at(self.rows, index, rows)
        if not len(self.sums):
            return
        half, mask = np.uint64(32), np.uint64(2**32 - 1)
        # By halves no sum passes its 64 bits; what is above a half is carried.
        halves = np.stack([self.sums & mask, self.sums >> half], axis=-1)
        np.add.at(halves, index, np.stack([sums & mask, sums >> half], axis=-1))
        halves = halves.reshape(-1, 2, 4)
        for place in range(3):
            halves[:, :, place + 1] += halves[:, :, place] >> half
        self.sums = (halves[:, :, ::2] & mask) | (halves[:, :, 1::2] << half)

    def exact_sums(self, cells: Ints, number: int) -> list[int]:
        """One of the sums of cells, as Python's integers."""
        low, high = self.sums[cells, number].T.tolist()
        return [(upper << 64) + lower for lower, upper in zip(low, high, strict=True)]

    def measures(self, plan: Plan, cells: Ints) -> Measures:
        """What cells add up to, in the form that every route gives."""
        rows = self.rows[cells]
        if plan.count:
            people = self.exact_sums(cells, 0)
            check_people(sum(people))
            return Measures(rows, np.array(people, dtype=np.int64))
        if not plan.weight:
            return Measures(rows, rows)
        nothing = [0] * len(cells)
        weights, squares = (self.exact_sums(cells, number) for number in (0, 1))
        errors = self.error / WEIGHT_SCALES[0], 0.0
        sums = (weights, nothing), (squares, nothing)
        return Measures(rows, rows, RawWeights(*sums, self.largest, errors))


class Cells(NamedTuple):
    """A table by the keys of those numbers: how far apart the cells of two levels are, and sums."""

    keys: Sequence[int]
    sizes: Sequence[int]
    strides: Sequence[int]
    table: CellTable

    @classmethod
    def empty(
        cls, keys: Sequence[int], levels: Sequence[KeyLevels], most: int, *, has_sums: bool
    ) -> Cells:
        """No rows yet; raises `NotServed` for more cells than `most`, or for none."""
        sizes = [len(levels[number].levels) for number in keys]
        strides: list[int] = []
        size = 1
        # As `unravel_index` has it, the last key changes fastest.
        for number in reversed(sizes):
            strides.insert(0, size)
            size *= number
        if not 0 < size <= most:
            raise NotServed
        return cls(keys, sizes, strides, CellTable(size, has_sums=has_sums))

    def occurring(self) -> tuple[Ints, tuple[NDArray[np.intp], ...]]:
        """The cells that some row is in, and the places of their levels by key."""
        cells = np.flatnonzero(self.table.rows)
        return cells, np.unravel_index(cells, tuple(self.sizes))


def side_tables(
    tables: Sequence[Cells], plan: Plan, levels: Sequence[KeyLevels]
) -> TableCounts | None:
    """The tables beside the cells; None where there are none."""
    if not tables:
        return None
    names = {key: tuple(known.levels) for key, known in zip(plan.every_key, levels, strict=True)}
    cells = tuple(table.occurring()[0] for table in tables)
    people = tuple(table.table.rows[used] for table, used in zip(tables, cells, strict=True))
    return TableCounts(names, cells, people)
