"""What the native kernel counts: tables of cells, each by the mixed radix of some keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Ints
from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.cell_table import CellTable
from fairaudit.engine.key_levels import KeyLevels
from fairaudit.engine.partial_counts import Level, TableCounts
from fairaudit.plan import Key, Plan
from fairaudit.raw_keys import RawKey


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


def raw_key(key: Key, known: KeyLevels, codes: NDArray[np.intp]) -> RawKey:
    """A key by the levels that some row has: a dictionary may hold more."""
    levels = [*known.levels]
    if key.edges is not None:
        return RawKey(key, np.array(levels, dtype=np.int64)[codes])
    used, places = np.unique(codes, return_inverse=True)
    return RawKey(key, places, tuple(levels[place] for place in used.tolist()))


def side_tables(
    tables: Sequence[Cells], plan: Plan, levels: Sequence[KeyLevels]
) -> TableCounts | None:
    """The tables beside the cells, by the levels that some row has; None where there are none."""
    if not tables:
        return None
    counted = [table.occurring() for table in tables]
    used: dict[int, set[int]] = {}
    for table, (_, places) in zip(tables, counted, strict=True):
        for number, key_places in zip(table.keys, places, strict=True):
            used.setdefault(number, set()).update(np.unique(key_places).tolist())
    kept = {number: sorted(places) for number, places in used.items()}
    names: dict[Key, tuple[Level, ...]] = {}
    for number, kept_places in kept.items():
        known = [*levels[number].levels]
        names[plan.every_key[number]] = tuple(known[place] for place in kept_places)
    cells = tuple(
        np.ravel_multi_index(
            [
                np.searchsorted(kept[number], key_places)
                for number, key_places in zip(table.keys, places, strict=True)
            ],
            tuple(len(kept[number]) for number in table.keys),
        )
        for table, (_, places) in zip(tables, counted, strict=True)
    )
    people = tuple(
        table.table.rows[found] for table, (found, _) in zip(tables, counted, strict=True)
    )
    return TableCounts(names, cells, people)
