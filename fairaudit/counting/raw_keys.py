"""`RawKey`, `RawTable`: keys of counts by raw levels; how the levels of two parts unite."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.plan import Key
from fairaudit.cube import add_up, distinct_rows

Level: TypeAlias = str | int | None
"""A text level (None: null), or the code of an interval of a cut number."""


class RawKey(Frozen):
    """A key as it was counted: text levels (None: null) with codes, or codes of intervals."""

    key: Key
    codes: Ints
    levels: tuple[str | None, ...] = ()

    @property
    def size(self) -> int:
        """How many codes it may have; a number's are of intervals, and of what is missing."""
        return len(self.levels) if self.key.edges is None else len(self.key.edges) + 2


class RawTable(Frozen, eq=False):
    """The people that the filter keeps by some keys: [E] entries of codes [E, K].

    A code is a place in `Counts.table_levels`, or an interval; an entry may occur several times.
    """

    keys: tuple[Key, ...]
    codes: Ints
    people: Ints

    def compact(self) -> RawTable:
        """The same people, an entry for each combination."""
        codes, index = distinct_rows(self.codes)
        return replace(self, codes=codes, people=add_up(self.people, index, len(codes)))


def find_starts(key: Key, *, single: bool) -> Floats:
    """The least number of each interval of a key but the first, for `np.searchsorted` (right).

    A `single` column (Float32) is cut at the nearest Float32: 0.7 as it is stored is not below 0.7.
    """
    edges = key.edges or ()
    cuts = np.array([float(edge.value) for edge in edges], np.float32 if single else np.float64)
    cuts = cuts.astype(np.float64)
    beyond = np.array([edge.beyond for edge in edges], dtype=np.bool_)
    return np.where(beyond, np.nextafter(cuts, np.inf), cuts)


def unite_levels(texts: Iterable[Iterable[str | None]]) -> tuple[str | None, ...]:
    """The levels that occur in any of several lists, in order; a missing one last."""
    levels = set(chain.from_iterable(texts))
    return tuple(sorted(levels, key=lambda level: (level is None, level)))


def places(levels: Sequence[Level], united: Sequence[Level]) -> Ints:
    """The code of each level among the united levels; -2 for a level that is not among them."""
    place = {level: code for code, level in enumerate(united)}
    return np.array([place.get(level, -2) for level in levels], dtype=np.int64)


def unite_keys(keys: Sequence[RawKey]) -> RawKey:
    """The codes of one key in several parts, one after the other; levels are united by text."""
    key = keys[0].key
    if key.edges is not None:
        return RawKey(key, np.concatenate([part.codes for part in keys]))
    levels = unite_levels(part.levels for part in keys)
    codes = [places(part.levels, levels)[part.codes] for part in keys]
    return RawKey(key, np.concatenate(codes), levels)


def recode(parts: Sequence[Ints], lookups: Sequence[Sequence[Ints | None]]) -> Ints:
    """Codes [E, K] of several parts by united levels; a code below 0 stays what it is."""
    recoded = []
    for codes, columns in zip(parts, lookups, strict=True):
        own = codes.copy()
        for column, lookup in enumerate(columns):
            if lookup is not None and len(lookup):
                old = codes[:, column]
                own[:, column] = np.where(old < 0, old, lookup[np.maximum(old, 0)])
        recoded.append(own)
    return np.concatenate(recoded)


def add_tables(
    pair: tuple[RawTable, RawTable],
    levels: tuple[Mapping[Key, Sequence[str | None]], Mapping[Key, Sequence[str | None]]],
    united: Mapping[Key, Sequence[str | None]],
) -> RawTable:
    """The people of both tables, by the united levels of each key."""
    keys = pair[0].keys
    lookups = [
        [places(own[key], united[key]) if key in own else None for key in keys] for own in levels
    ]
    codes = recode([part.codes for part in pair], lookups)
    return RawTable(keys, codes, np.concatenate([part.people for part in pair]))


def gather(values: Sequence[int], index: Ints, size: int) -> list[int]:
    """Exact sums by index; none of nothing."""
    total = [0] * (size if values else 0)
    for value, place in zip(values, index.tolist() if values else (), strict=True):
        total[place] += value
    return total
