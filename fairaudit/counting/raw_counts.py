"""`RawKey`, `RawTable`, `RawScores`: counts by raw levels, and how those of two parts add up."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import TypeAlias

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.plan import Key
from fairaudit.cube import add_up, distinct_rows
from fairaudit.cube.histogram import Bins, quantile

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


MOST_ENTRIES = 64 * 2**20 // 8
"""64 MB of counts, for all scores and groupings together, choose the bins of the result."""


class RawHistogram(Frozen, eq=False):
    """A score by some keys, as they were counted: [E] entries of codes [E, K], a bin and people.

    `cells` are codes [C, K], each with its extreme scores `low` and `high`, and with what
    `histogram.Moments` holds as `sums`; None where a score is too large for the fixed point.
    """

    keys: tuple[int, ...]
    codes: Ints
    bins: Ints
    people: Ints
    cells: Ints
    low: Floats
    high: Floats
    sums: tuple[list[int], ...] | None

    def compact(self) -> RawHistogram:
        """The same people, an entry for each combination of codes and bin."""
        entries, index = distinct_rows(np.column_stack([self.codes, self.bins]))
        cells, cell = distinct_rows(self.cells)
        low, high = np.full(len(cells), np.inf), np.full(len(cells), -np.inf)
        np.minimum.at(low, cell, self.low)
        np.maximum.at(high, cell, self.high)
        return replace(
            self,
            codes=entries[:, :-1],
            bins=entries[:, -1],
            people=add_up(self.people, index, len(entries)),
            cells=cells,
            low=low,
            high=high,
            sums=self.sums and tuple(gather(part, cell, len(cells)) for part in self.sums),
        )

    @classmethod
    def empty(cls, keys: tuple[int, ...]) -> RawHistogram:
        """The histogram of a score without values."""
        codes, none = np.zeros((0, len(keys)), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return cls(keys, codes, none, none, codes, np.zeros(0), np.zeros(0), ([], [], [], []))


class RawScores(Frozen, eq=False):
    """The histograms of a score, one for each grouping that the plan asks, and their bins.

    `shift` is by how many bits the finest bins were joined.
    """

    histograms: tuple[RawHistogram, ...]
    bins: Bins
    shift: int = 0

    def compact(self) -> RawScores:
        """The same histograms, an entry for each combination of codes and bin."""
        compacted = tuple(histogram.compact() for histogram in self.histograms)
        return replace(self, histograms=compacted)

    @property
    def median_range(self) -> tuple[float, float] | None:
        """Between which scores everybody's median lies; None without people."""
        if not self.histograms:
            return None
        histogram = self.histograms[0]
        people = add_up(histogram.people, histogram.bins, len(self.bins.codes))
        return quantile(people, self.bins, Fraction(1, 2))


def add_scores(
    parts: tuple[RawScores, RawScores],
    keys: tuple[Sequence[RawKey], Sequence[RawKey]],
    united: Sequence[RawKey],
    most: int,
) -> RawScores:
    """The histograms of a score in both, in bins that the room for both chooses."""
    groupings = [histogram.keys for histogram in parts[0].histograms]
    shift, bins = join_bins([(part.bins, part.shift) for part in parts], groupings, united, most)
    histograms = []
    for pair in zip(*(part.histograms for part in parts), strict=True):
        # The codes of intervals stay what they are.
        lookups = [
            [
                None if own[n].key.is_cut else places(own[n].levels, united[n].levels)
                for n in pair[0].keys
            ]
            for own in keys
        ]
        bins_of_pair = [
            np.searchsorted(bins.codes, own.bins.codes >> (shift - own.shift))[part.bins]
            for own, part in zip(parts, pair, strict=True)
        ]
        histograms.append(join_histograms(pair[0].keys, pair, lookups, bins_of_pair))
    return RawScores(tuple(histograms), bins, shift)


def join_histograms(
    keys: tuple[int, ...],
    parts: Sequence[RawHistogram],
    lookups: Sequence[Sequence[Ints | None]],
    bins: Sequence[Ints],
) -> RawHistogram:
    """Histograms of a score as one: `lookups` unite their codes, `bins` are those of the whole."""
    sums = None
    if all(part.sums is not None for part in parts):
        sums_of_parts = zip(*(part.sums or () for part in parts), strict=True)
        sums = tuple([*chain(*several)] for several in sums_of_parts)
    return RawHistogram(
        keys=keys,
        codes=recode([part.codes for part in parts], lookups),
        bins=np.concatenate(bins),
        people=np.concatenate([part.people for part in parts]),
        cells=recode([part.cells for part in parts], lookups),
        low=np.concatenate([part.low for part in parts]),
        high=np.concatenate([part.high for part in parts]),
        sums=sums,
    )


def join_bins(
    parts: Sequence[tuple[Bins, int]],
    groupings: Sequence[Sequence[int]],
    keys: Sequence[RawKey],
    most: int,
) -> tuple[int, Bins]:
    """By how many bits the finest bins of a score are joined, and the bins of all parts as one.

    Each part are bins, and by how many bits they were joined before. The width is equal however the
    rows were split: a dense histogram has at most `most` entries.
    """
    ends = [
        int(code) << shift
        for bins, shift in parts
        if len(bins.codes)
        for code in bins.codes[[0, -1]]
    ]
    joined = max((shift for _, shift in parts), default=0)
    cells = sum(math.prod(keys[place].size for place in grouping) for grouping in groupings)
    # No part needs coarser bins than the whole.
    low, high = min(ends, default=0), max(ends, default=0)
    while ends and cells * ((high >> joined) - (low >> joined) + 1) > most:
        joined += 1
    return joined, Bins.gather(
        np.concatenate([bins.codes >> (joined - shift) for bins, shift in parts]),
        np.concatenate([bins.low for bins, _ in parts]),
        np.concatenate([bins.high for bins, _ in parts]),
    )
