"""`CellTable`, `Cells`: tables of counts that the C kernel fills from CSV and Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import WEIGHT_SCALES, Ints
from fairaudit.counting.counts import RawWeights, check_people
from fairaudit.counting.plan import Plan

Words: TypeAlias = NDArray[np.uint64]
"""The counts of a thread in the form of the kernel: 64-bit words for each cell."""

_ROW_BIT = np.uint64(36)
"""The first bit of the number of rows in the second word of a cell."""


class NotServed(Exception):
    """The kernel cannot count this file; another route must count it."""


class CellTable:
    """The number of rows in each cell, and two sums of each cell as Python integers.

    With weights, the sums are the sum of weights and the sum of squared weights. With counts of
    people, they are the sum of the lower 32 bits of the counts, and the sum of the upper 32 bits.
    """

    def __init__(self, size: int, *, has_sums: bool) -> None:
        self.rows = np.zeros(size, dtype=np.int64)
        self.sums = np.zeros((size if has_sums else 0, 2), dtype=object)
        self.largest = self.error = 0.0

    def empty_words(self) -> Words:
        """An empty array for the kernel: one word (rows) for each cell, or four with sums."""
        return np.zeros((len(self.rows), 4 if len(self.sums) else 1), dtype=np.uint64)

    def add_words(self, words: Words) -> None:
        """Adds the counts of at most 2^27 rows.

        A sum has two words: its lower bits, and its bits from the 32nd on. With sums, the second
        word also has the number of rows.
        """
        if not len(self.sums):
            self.rows += words[:, 0].astype(np.int64)
            return
        cells = np.flatnonzero(words[:, 1])
        words = words[cells]
        self.rows[cells] += (words[:, 1] >> _ROW_BIT).astype(np.int64)
        words[:, 1] &= (np.uint64(1) << _ROW_BIT) - np.uint64(1)
        self.sums[cells] += words[:, ::2] + (words[:, 1::2].astype(object) << 32)

    def measures(self, plan: Plan, cells: Ints) -> tuple[Ints, Ints, RawWeights | None]:
        """The rows and people of cells, and their weights if the plan has a weight."""
        rows = self.rows[cells]
        if plan.count:
            people = [low + (high << 32) for low, high in self.sums[cells].tolist()]
            check_people(sum(people))
            return rows, np.array(people, dtype=np.int64), None
        if not plan.weight:
            return rows, rows, None
        nothing = [0] * len(cells)
        weights, squares = self.sums[cells].T.tolist()
        errors = self.error / WEIGHT_SCALES[0], 0.0
        sums = weights, nothing, squares, nothing
        return rows, rows, RawWeights(sums, self.largest, errors)


class Cells(NamedTuple):
    """A table by some keys; `strides` are the distances between the cells of successive levels."""

    keys: Sequence[int]
    sizes: Sequence[int]
    strides: Sequence[int]
    table: CellTable

    @classmethod
    def empty(
        cls, keys: Sequence[int], lengths: Sequence[int], most: int, *, has_sums: bool
    ) -> Cells:
        """An empty table; `lengths` are the numbers of levels of all keys.

        Raises `NotServed` if the table would have more than `most` cells, or 0 cells.
        """
        sizes = [lengths[number] for number in keys]
        # As in `np.unravel_index`, the last key varies fastest.
        strides = [prod(sizes[place + 1 :]) for place in range(len(sizes))]
        size = prod(sizes)
        if not 0 < size <= most:
            raise NotServed
        return cls(keys, sizes, strides, CellTable(size, has_sums=has_sums))

    def occurring(self) -> tuple[Ints, tuple[NDArray[np.intp], ...]]:
        """The cells that have rows, and the indexes of their levels for each key."""
        cells = np.flatnonzero(self.table.rows)
        return cells, np.unravel_index(cells, tuple(self.sizes))
