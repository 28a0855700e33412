"""Sums of cells (rows, people, weights, numbers) in 64 bits that never overflow.

Every kind has one life: it takes a batch, and adds it if there is room, else its table is closed
and a new one opened first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.base.fixed_point import LARGE, LARGEST_COUNT, SQUARE_ROOTS, TINY, WEIGHT_SCALES
from fairaudit.counting.counts import RawWeights
from fairaudit.counting.partial_counts import Measures, NotServed
from fairaudit.counting.plan import Plan
from fairaudit.counting.routes.dictionary_codes import floats
from fairaudit.cube import Ints

_MOST = 2**62


class Sums(ABC):
    """A measure of the rows of each cell; `tables` says how many arrays it keeps."""

    tables = 1
    dtype: type = np.int64

    def __init__(self) -> None:
        self._arrays = np.empty((0, 0), dtype=np.int64)
        self._room = 0
        self._load = 0

    @property
    def people(self) -> Ints | None:
        """The people of each row of the batch that was taken; None where a row is one."""
        return None

    @property
    def has_room(self) -> bool:
        """Whether the batch that was taken fits the open table."""
        return self._load <= self._room

    def open(self, size: int) -> None:
        """Begins a table of so many cells."""
        self._arrays = np.zeros((self.tables, size), dtype=self.dtype)
        self._room = _MOST

    def rearrange(
        self, shape: Sequence[int], places: Sequence[Ints], wanted: Sequence[int]
    ) -> None:
        """Brings the open table of a shape into another, where each code has a new place."""
        arrays: Ints = np.zeros((self.tables, *wanted), dtype=self.dtype)
        arrays[np.ix_(np.arange(self.tables), *places)] = self._arrays.reshape(self.tables, *shape)
        self._arrays = arrays.reshape(self.tables, -1)

    @abstractmethod
    def take(self, columns: Mapping[str, pa.Array]) -> bool:
        """Makes the next batch ready; False where this kind cannot hold it."""

    @abstractmethod
    def add(self, index: NDArray[np.intp]) -> None:
        """Adds the batch that was taken to the cells of its rows."""

    def beside(self, index: NDArray[np.intp]) -> None:
        """Adds the batch once more, to cells that no other index of it reaches."""
        self._room += self._load
        self.add(index)

    @abstractmethod
    def close(self) -> tuple[Ints, Measures]:
        """The cells that occur, and what they add up to."""

    def finer(self) -> Sums:
        """The kind that may hold what this one cannot."""
        raise NotServed

    def _add(self, index: NDArray[np.intp], *values: Ints | int) -> None:
        self._room -= self._load
        for total, value in zip(self._arrays, values, strict=True):
            np.add.at(total, index, value)


def sums_of(plan: Plan, most: int) -> Sums:
    """The kind that a plan asks for, for batches of at most so many rows."""
    if plan.count and plan.weight:
        return Exact(plan)
    if plan.weight:
        return _Decimals(plan.weight, most, 2)
    return _People(plan.count) if plan.count else Rows()


class Rows(Sums):
    """Rows alone."""

    def take(self, columns: Mapping[str, pa.Array]) -> bool:
        """Any batch: a row is one."""
        self._load = len(next(iter(columns.values())))
        return True

    def add(self, index: NDArray[np.intp]) -> None:
        """Adds each row to its cell."""
        self._add(index, 1)

    def add_counted(self, cells: NDArray[np.intp], rows: Ints) -> None:
        """Adds so many rows to each of the cells, which may repeat."""
        np.add.at(self._arrays[0], cells, rows)

    def close(self) -> tuple[Ints, Measures]:
        """The cells that occur, and their rows."""
        (rows,) = self._arrays
        cells = np.flatnonzero(rows)
        return cells, Measures(rows[cells], rows[cells])


class _People(Sums):
    """Rows that stand for people."""

    tables = 2

    def __init__(self, column: str) -> None:
        super().__init__()
        self._column = column
        self._people = np.empty(0, dtype=np.int64)

    def take(self, columns: Mapping[str, pa.Array]) -> bool:
        people = floats(columns[self._column])
        # `not` also holds for NaN.
        if not (people.min() >= 0 and people.max() <= LARGEST_COUNT):
            return False
        self._people = people.astype(np.int64)
        self._load = len(people) * int(self._people.max())
        return np.array_equal(self._people, people)

    @property
    def people(self) -> Ints:
        return self._people

    def add(self, index: NDArray[np.intp]) -> None:
        self._add(index, 1, self._people)

    def close(self) -> tuple[Ints, Measures]:
        rows, people = self._arrays
        cells = np.flatnonzero(rows)
        return cells, Measures(rows[cells], people[cells])


class _Weighted(Sums):
    """Weights at the coarser scale, worked out in buffers that serve every batch."""

    def __init__(self, column: str, most: int) -> None:
        super().__init__()
        self._column = column
        self._most = most
        self._scaled, self._nearest = np.empty((2, most))
        self._whole = np.empty((3, most), dtype=np.int64)
        self._largest = 0.0
        self._error = 0.0

    def take(self, columns: Mapping[str, pa.Array]) -> bool:
        weights = floats(columns[self._column])
        largest = float(weights.max())
        # `not` also holds for NaN. Below the bound the square of a weight fits 64 bits.
        if not (float(weights.min()) >= 0 and TINY <= largest < 2**31 / SQUARE_ROOTS[0]):
            return False
        scaled, nearest = self._scaled[: len(weights)], self._nearest[: len(weights)]
        np.multiply(weights, WEIGHT_SCALES[0], out=scaled)
        np.rint(scaled, out=nearest)
        scaled -= nearest
        error = max(float(scaled.max()), -float(scaled.min()))
        if not self._hold(weights, nearest, scaled):
            return False
        self._largest = max(self._largest, largest)
        self._error = max(self._error, error)
        return True

    @abstractmethod
    def _hold(
        self, weights: NDArray[np.float64], fixed: NDArray[np.float64], spare: NDArray[np.float64]
    ) -> bool:
        """Keeps the terms of a batch; False where this kind cannot. `fixed` is Σ's term."""

    def _measures(self, rows: Ints, weights: list[int], squares: list[int]) -> Measures:
        nothing = [0] * len(weights)
        error = self._error / WEIGHT_SCALES[0]
        sums = (weights, nothing), (squares, nothing)
        return Measures(rows, rows, RawWeights(*sums, self._largest, (error, 0.0)))


class _Decimals(_Weighted):
    """Weights of few decimals, as weights are: rows and weights share an array.

    In the integer of a cell the lower bits count rows, the upper ones add up weights in units of
    their last decimal.
    """

    tables = 2
    _ROWS = 27
    _LARGEST = 2**17
    _SMALL = 2**9

    def __init__(self, column: str, most: int, digits: int) -> None:
        super().__init__(column, most)
        self._digits = digits

    def open(self, size: int) -> None:
        super().open(size)
        self._room = 2 ** (63 - self._ROWS) - 1

    def finer(self) -> Sums:
        if self._digits < 4:  # prices and shares have two, finer weights often four
            return _Decimals(self._column, self._most, 4)
        return _Weights(self._column, self._most)

    def _hold(
        self, weights: NDArray[np.float64], fixed: NDArray[np.float64], spare: NDArray[np.float64]
    ) -> bool:
        np.multiply(weights, 10**self._digits, out=spare)
        np.rint(spare, out=spare)
        largest = int(spare.max())
        if largest >= self._LARGEST:
            return False
        # A load that is never smaller than that bounds the rows, too, by their bits.
        self._load = len(weights) * max(largest, self._SMALL)
        packed, squares, _ = self._whole[:, : len(weights)]
        packed[:] = spare
        np.multiply(packed, packed, out=squares)
        packed <<= self._ROWS
        packed |= 1
        spare *= WEIGHT_SCALES[0] // 10**self._digits
        return np.array_equal(spare, fixed)

    def add(self, index: NDArray[np.intp]) -> None:
        packed, squares, _ = self._whole[:, : len(index)]
        self._add(index, packed, squares)

    def close(self) -> tuple[Ints, Measures]:
        packed, squares = self._arrays
        cells = np.flatnonzero(packed)
        unit = WEIGHT_SCALES[0] // 10**self._digits
        square = (SQUARE_ROOTS[0] // 10**self._digits) ** 2
        return cells, self._measures(
            packed[cells] & (2**self._ROWS - 1),
            [unit * total for total in (packed[cells] >> self._ROWS).tolist()],
            [square * total for total in squares[cells].tolist()],
        )


class _Weights(_Weighted):
    """Any weights; a square is added up in two halves."""

    tables = 4
    _HALF = 31

    def _hold(
        self, weights: NDArray[np.float64], fixed: NDArray[np.float64], spare: NDArray[np.float64]
    ) -> bool:
        terms, high, low = self._whole[:, : len(weights)]
        terms[:] = fixed
        np.multiply(weights, SQUARE_ROOTS[0], out=spare)
        np.rint(spare, out=spare)
        high[:] = spare
        high *= high
        np.bitwise_and(high, 2**self._HALF - 1, out=low)
        high >>= self._HALF
        self._load = len(weights) * max(int(terms.max()), 2**self._HALF)
        return True

    def add(self, index: NDArray[np.intp]) -> None:
        terms, high, low = self._whole[:, : len(index)]
        self._add(index, 1, terms, high, low)

    def close(self) -> tuple[Ints, Measures]:
        rows, weights, high, low = self._arrays
        cells = np.flatnonzero(rows)
        halves = zip(high[cells].tolist(), low[cells].tolist(), strict=True)
        squares = [(high << self._HALF) + low for high, low in halves]
        return cells, self._measures(rows[cells], weights[cells].tolist(), squares)


class Exact(Sums):
    """Any counts and any weights at both scales, as Python's integers: slow, and for the rest."""

    tables = 6
    dtype = object

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._plan = plan
        self._terms: tuple[Any, ...] = ()
        self._largest = 0.0
        self._errors = [0.0, 0.0]

    def take(self, columns: Mapping[str, pa.Array]) -> bool:
        """Makes the next batch ready."""
        size = len(next(iter(columns.values())))
        people = np.ones(size, dtype=object)
        if self._plan.count:
            people = floats(columns[self._plan.count]).astype(np.int64).astype(object)
        weights = [np.zeros(size, dtype=object)] * 4
        if self._plan.weight:
            weights = self._weights(floats(columns[self._plan.weight]))
        self._terms = (people, *(people * weights for weights in weights))
        return True

    def add(self, index: NDArray[np.intp]) -> None:
        """Adds the batch that was taken to the cells of its rows."""
        self._add(index, 1, *self._terms)

    def close(self) -> tuple[Ints, Measures]:
        """The cells that occur, and what they add up to."""
        cells = np.flatnonzero(self._arrays[0])
        rows, people, *sums = (array[cells] for array in self._arrays)
        weights = None
        if self._plan.weight:
            coarse, fine, coarse_squares, fine_squares = (array.tolist() for array in sums)
            errors = self._errors[0] / WEIGHT_SCALES[0], self._errors[1] / WEIGHT_SCALES[1]
            weights = RawWeights(
                (coarse, fine), (coarse_squares, fine_squares), self._largest, errors
            )
        return cells, Measures(rows.astype(np.int64), people.astype(np.int64), weights)

    def _weights(self, weights: NDArray[np.float64]) -> list[NDArray[np.object_]]:
        """Weights and their squares at both scales, as the Polars route takes them."""
        tiny = np.where(weights < TINY, weights, 0.0)
        coarse, fine = WEIGHT_SCALES
        nearest = np.rint(np.where(weights < LARGE, weights, 0.0) * coarse).astype(np.int64)
        large = np.rint(weights * 10**6).astype(np.int64) * (coarse // 10**6)
        fixed = np.where(weights < LARGE, nearest, large)
        exact = fixed, np.rint(tiny * fine).astype(np.int64)
        for number, (part, whole, scale) in enumerate(
            zip((weights, tiny), exact, WEIGHT_SCALES, strict=True)
        ):
            error = float(np.abs(part * scale - whole).max())
            self._errors[number] = max(self._errors[number], error)
        self._largest = max(self._largest, float(weights.max()))
        roots = (
            np.rint(part * scale).astype(np.int64).astype(object)
            for part, scale in zip((weights, tiny), SQUARE_ROOTS, strict=True)
        )
        return [*(part.astype(object) for part in exact), *(root * root for root in roots)]
