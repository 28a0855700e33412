"""Counting CSV and Parquet with the C kernel: tables of cells that it fills, with exact sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import WEIGHT_SCALES, Ints
from fairaudit.counting.counts import RawWeights, check_people
from fairaudit.counting.plan import Plan

Words: TypeAlias = NDArray[np.uint64]
"""The counts of a thread, as the kernel keeps them."""

_HALF = np.uint64(32)
_ROW_BIT = np.uint64(36)
"""The place of the rows of a cell in its second word."""


class NotServed(Exception):
    """This file is for another route."""


class CellTable:
    """The number of rows in each cell, and sums of 128 bits in two halves each.

    They are sums of weights and of their squares, or of people, by lower and upper 32 bits.
    """

    def __init__(self, size: int, *, has_sums: bool) -> None:
        self.rows = np.zeros(size, dtype=np.int64)
        self.sums = np.zeros((size if has_sums else 0, 2, 2), dtype=np.uint64)
        self.largest = self.error = 0.0

    def empty_words(self) -> Words:
        """The array to which the kernel adds: for each cell its rows, or four words with sums."""
        return np.zeros((len(self.rows), 4 if len(self.sums) else 1), dtype=np.uint64)

    def add_words(self, words: Words) -> None:
        """Adds up to 2^27 rows that the kernel added to words.

        With sums, the second word has the rows above the upper half of the first sum.
        """
        if not len(self.sums):
            self.rows += words[:, 0].astype(np.int64)
            return
        cells = np.flatnonzero(words[:, 1])
        words = words[cells]
        self.rows[cells] += (words[:, 1] >> _ROW_BIT).astype(np.int64)
        words[:, 1] &= (np.uint64(1) << _ROW_BIT) - np.uint64(1)
        sums, lower, upper = self.sums[cells], words[:, ::2], words[:, 1::2]
        # What does not fit the lower 64 bits is carried, from either of two additions.
        low = lower + (upper << _HALF)
        total = sums[:, :, 0] + low
        carries = (low < lower).astype(np.uint64) + (total < low)
        sums[:, :, 1] += (upper >> _HALF) + carries
        sums[:, :, 0] = total
        self.sums[cells] = sums

    def add_cells(self, index: Ints, rows: Ints, sums: NDArray[np.uint64]) -> None:
        """Adds up to 2^30 cells with their sums, each to the cell of this table at its index."""
        np.add.at(self.rows, index, rows)
        if not len(self.sums):
            return
        half, mask = _HALF, np.uint64(2**32 - 1)
        # By halves no sum passes its 64 bits; what is above a half is carried.
        halves = np.stack([self.sums & mask, self.sums >> half], axis=-1)
        np.add.at(halves, index, np.stack([sums & mask, sums >> half], axis=-1))
        halves = halves.reshape(-1, 2, 4)
        for place in range(3):
            halves[:, :, place + 1] += halves[:, :, place] >> half
        self.sums = (halves[:, :, ::2] & mask) | (halves[:, :, 1::2] << half)

    def exact_sums(self, cells: Ints, number: int) -> list[int]:
        """One of the sums of cells, as Python's integers."""
        low, high = self.sums[cells, number].T
        if not high.any():
            return cast("list[int]", low.tolist())
        return [
            (upper << 64) + lower for lower, upper in zip(low.tolist(), high.tolist(), strict=True)
        ]

    def measures(self, plan: Plan, cells: Ints) -> tuple[Ints, Ints, RawWeights | None]:
        """The rows and people of cells, and their weights if the plan has a weight."""
        rows = self.rows[cells]
        if plan.count:
            halves = (self.exact_sums(cells, number) for number in (0, 1))
            people = [low + (high << 32) for low, high in zip(*halves, strict=True)]
            check_people(sum(people))
            return rows, np.array(people, dtype=np.int64), None
        if not plan.weight:
            return rows, rows, None
        nothing = [0] * len(cells)
        weights, squares = (self.exact_sums(cells, number) for number in (0, 1))
        errors = self.error / WEIGHT_SCALES[0], 0.0
        sums = weights, nothing, squares, nothing
        return rows, rows, RawWeights(sums, self.largest, errors)


class Cells(NamedTuple):
    """A table by the keys of those numbers: how far apart the cells of two levels are, and sums."""

    keys: Sequence[int]
    sizes: Sequence[int]
    strides: Sequence[int]
    table: CellTable

    @classmethod
    def empty(
        cls, keys: Sequence[int], lengths: Sequence[int], most: int, *, has_sums: bool
    ) -> Cells:
        """No rows yet, by the number of levels of each key.

        Raises `NotServed` for more cells than `most`, or for none.
        """
        sizes = [lengths[number] for number in keys]
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
