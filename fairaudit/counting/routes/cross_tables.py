"""Polars route: tables of two or three columns beside the cells; `subgroups` of too many cells.

Every table is the mixed radix of small codes and one `bincount` a batch, so that a hundred tables
of a thousand cells cost less than one of all their columns, and no more memory than themselves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Ints
from fairaudit.base.errors import DataError
from fairaudit.base.names import quoted
from fairaudit.counting.partial_counts import Column, Level, TableCounts
from fairaudit.counting.plan import MOST_TABLED, Key, Plan

_EXACT = 2**53
"""Up to here floats add up people exactly, which is how `bincount` takes weights."""

_Shape = tuple[int, ...]


class TableCounter:
    """Counts batches by the tables of a plan.

    `too_wide` says why it gave up: the tables would have more than `MOST_TABLED` cells.
    """

    def __init__(self, plan: Plan) -> None:
        self._tables = plan.tables
        self._levels: dict[Key, dict[Level, int]] = {key: {} for key in plan.table_keys}
        self._people: list[Ints] = []
        self.too_wide: DataError | None = None
        # The keys that all tables end with, such as those of the outcome, are joined once a batch.
        self._tail = _common_tail(self._tables)

    def add(self, columns: Mapping[Key, Column], people: Ints | None) -> None:
        """Counts a batch: the codes of each key, and the people of each row (None: one each)."""
        codes = self._codes(columns)
        if self.too_wide is not None:
            return
        weights = None
        if people is not None and int(people.max(initial=0)) * len(people) < _EXACT:
            weights = people.astype(np.float64)
        tail = self._flat([codes[key] for key in self._tail], self._tail)
        width = math.prod(len(self._levels[key]) for key in self._tail)
        last: dict[Key, Ints] = {}
        head: tuple[tuple[Key, ...], Ints] | None = None
        for number, keys in enumerate(self._tables):
            own = keys[: len(keys) - len(self._tail)]
            if head is None or head[0] != own[:-1]:
                head = own[:-1], self._flat([codes[key] for key in own[:-1]], own[:-1])
            end, size = tail, width
            if own:
                if own[-1] not in last:
                    last[own[-1]] = codes[own[-1]] * width + tail
                end, size = last[own[-1]], width * len(self._levels[own[-1]])
            self._count(number, head[1] * size + end, people, weights)

    def closed(self) -> TableCounts:
        """All that was counted; raises `too_wide` where there is no room for it."""
        if self.too_wide is not None:
            raise self.too_wide
        cells = tuple(np.flatnonzero(table) for table in self._people)
        people = tuple(table[used] for table, used in zip(self._people, cells, strict=True))
        return TableCounts(
            {key: tuple(table) for key, table in self._levels.items()}, cells, people
        )

    def _count(
        self, number: int, cell: Ints, people: Ints | None, weights: NDArray[np.float64] | None
    ) -> None:
        total = self._people[number]
        if people is not None and weights is None:
            np.add.at(total, cell, people)
        else:
            total += np.bincount(cell, weights, minlength=len(total)).astype(np.int64, copy=False)

    def _flat(self, codes: Sequence[Ints], keys: Sequence[Key]) -> Ints:
        """One number for the codes of several keys; 0 for those of none."""
        flat = np.zeros(1, dtype=np.int64)
        for code, key in zip(codes, keys, strict=True):
            flat = flat * len(self._levels[key]) + code
        return flat

    def _codes(self, columns: Mapping[Key, Column]) -> dict[Key, Ints]:
        """The codes of a batch by our own order of levels, in which new ones come last."""
        old = self._sizes()
        own_codes = {}
        for key, known in self._levels.items():
            codes, levels = columns[key]
            places = np.array([known.setdefault(level, len(known)) for level in levels])
            own_codes[key] = places[codes]
        if not self._people or old != self._sizes():
            self._grow(old)
        return own_codes

    def _sizes(self) -> dict[Key, int]:
        return {key: len(levels) for key, levels in self._levels.items()}

    def _grow(self, old: Mapping[Key, int]) -> None:
        """Makes room for levels that are new."""
        new = self._sizes()
        shapes = [tuple(new[key] for key in keys) for keys in self._tables]
        size = sum(map(math.prod, shapes))
        if size > MOST_TABLED:
            # Raised after the pass: within it Polars would tell it as a fault of the file.
            self.too_wide = _too_wide(self._tables, new, size)
            return
        before = self._people or [np.zeros(0, dtype=np.int64)] * len(shapes)
        self._people = [
            _widened(people, tuple(old[key] for key in keys), shape)
            for people, keys, shape in zip(before, self._tables, shapes, strict=True)
        ]


def _common_tail(tables: Sequence[tuple[Key, ...]]) -> tuple[Key, ...]:
    tail = tables[0] if tables else ()
    for keys in tables[1:]:
        while tail and keys[-len(tail) :] != tail:
            tail = tail[1:]
    return tail


def _widened(people: Ints, old: _Shape, new: _Shape) -> Ints:
    wider = np.zeros(new, dtype=np.int64)
    if people.size:
        wider[tuple(map(slice, old))] = people.reshape(old)
    return wider.reshape(-1)


def _too_wide(tables: Sequence[tuple[Key, ...]], sizes: Mapping[Key, int], cells: int) -> DataError:
    widest = max(sizes, key=lambda key: sizes[key])
    return DataError(
        f"the subgroups of {len(tables):,} combinations of columns would have {cells:,} cells, the "
        f"budget is {MOST_TABLED:,}: the column {quoted(widest.column)} alone has "
        f"{sizes[widest]:,} levels",
        "name fewer columns in `over`, lower `depth`, or bin or merge levels",
    )
