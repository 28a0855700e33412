"""`RawKey`, `RawTable`, `RawScores`: counts by the original levels of the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.plan import Key
from fairaudit.cube import add_up, distinct_rows
from fairaudit.cube.histogram import Bins, quantile

Level: TypeAlias = str | int | None
"""A text (None if missing), or the code of an interval of numbers."""


class RawKey(Frozen):
    """A key with its code in each entry.

    A code is an index in `levels` (the level None means missing), or the number of an interval.
    """

    key: Key
    codes: Ints
    levels: tuple[str | None, ...] = ()

    @property
    def size(self) -> int:
        """The number of possible codes: of levels, or of intervals and one code for missing."""
        return len(self.levels) if self.key.edges is None else len(self.key.edges) + 2


class RawTable(Frozen, eq=False):
    """The number of people by some keys, in E entries, without people whom the filter drops.

    Several entries may have the same codes. A key that is also in `PartialCounts.keys` has the same
    levels there.
    """

    keys: tuple[RawKey, ...]
    people: Ints

    @classmethod
    def of(
        cls, keys: Sequence[Key], levels: Mapping[Key, Iterable[Level]], people: Ints
    ) -> RawTable:
        """The table of the `people` in all combinations of levels; the last key varies fastest."""
        known = [tuple(levels[key]) for key in keys]
        cells = np.flatnonzero(people)
        codes = np.unravel_index(cells, tuple(map(len, known)))
        return cls(tuple(map(raw_key, keys, known, codes)), people[cells])

    def codes_of(self, key: Key) -> Ints:
        """The codes of a key of the table."""
        return next(own.codes for own in self.keys if own.key == key)

    def compact(self) -> RawTable:
        """The same table, with one entry for each combination of codes."""
        codes, index = distinct_rows(np.stack([key.codes for key in self.keys], axis=1))
        keys = (replace(key, codes=own) for key, own in zip(self.keys, codes.T, strict=True))
        return RawTable(tuple(keys), add_up(self.people, index, len(codes)))


def raw_key(key: Key, levels: Sequence[Level], codes: NDArray[np.intp]) -> RawKey:
    """A key with only the levels that occur in `codes`; `levels` may have more."""
    if key.edges is not None:
        return RawKey(key, np.array(levels, dtype=np.int64)[codes])
    # Codes are indexes, so `np.bincount` finds the used ones, twenty times as fast as sorting.
    used = np.flatnonzero(np.bincount(codes, minlength=len(levels)))
    place_of = np.zeros(len(levels), dtype=np.int64)
    place_of[used] = np.arange(len(used))
    texts = cast("Sequence[str | None]", levels)
    return RawKey(key, place_of[codes], tuple(texts[place] for place in used.tolist()))


def find_starts(key: Key, *, single: bool) -> Floats:
    """The smallest number of each interval but the first, for `np.searchsorted(side="right")`.

    Edges of a `single` column (Float32) are rounded to Float32, so that 0.7 in such a column is not
    below an edge at 0.7.
    """
    edges = key.edges or ()
    cuts = np.array([float(edge.value) for edge in edges], np.float32 if single else np.float64)
    cuts = cuts.astype(np.float64)
    beyond = np.array([edge.beyond for edge in edges], dtype=np.bool_)
    return np.where(beyond, np.nextafter(cuts, np.inf), cuts)


def unite_levels(texts: Iterable[Iterable[str | None]]) -> tuple[str | None, ...]:
    """The levels of several lists together, ascending; the missing level (None) is the last."""
    levels = set(chain.from_iterable(texts))
    return tuple(sorted(levels, key=lambda level: (level is None, level)))


def places(levels: Sequence[Level], united: Sequence[Level]) -> Ints:
    """The code of each level among the `united` levels; -2 for a level that is not among them."""
    place = {level: code for code, level in enumerate(united)}
    return np.array([place.get(level, -2) for level in levels], dtype=np.int64)


def unite_keys(keys: Sequence[RawKey], levels: Sequence[str | None] | None = None) -> RawKey:
    """One key for the entries of all parts, with `levels`; None: the levels of all parts."""
    key = keys[0].key
    if key.edges is not None:
        return RawKey(key, np.concatenate([part.codes for part in keys]))
    levels = tuple(unite_levels(part.levels for part in keys) if levels is None else levels)
    codes = [places(part.levels, levels)[part.codes] for part in keys]
    return RawKey(key, np.concatenate(codes), levels)


def recode(parts: Sequence[Ints], lookups: Sequence[Sequence[Ints | None]]) -> Ints:
    """The codes [E, K] of all parts, converted by `lookups`; None keeps the codes of a column."""
    recoded = []
    for codes, columns in zip(parts, lookups, strict=True):
        own = codes.copy()
        for column, lookup in enumerate(columns):
            if lookup is not None:
                own[:, column] = lookup[codes[:, column]]
        recoded.append(own)
    return np.concatenate(recoded)


def gather(values: Sequence[int], index: Ints, size: int) -> list[int]:
    """The exact sum of the values for each index, as a list; an empty list without values."""
    total = [0] * (size if values else 0)
    for value, place in zip(values, index.tolist() if values else (), strict=True):
        total[place] += value
    return total


MOST_ENTRIES = 64 * 2**20 // 8
"""Maximum number of counts in all histograms together (64 MB); with more, bins are widened."""


class RawHistogram(Frozen, eq=False):
    """The histogram of a score by K keys, with E entries.

    Each entry has `codes` [E, K], the index of a bin (`bins`), and a number of `people`. `keys` are
    indexes in the list of all keys. `cells` [C, K] are the codes of each combination of levels.
    `low` and `high` [C] are the smallest and the largest score in each combination. `sums` are four
    lists [C], one for each field of `histogram.Moments`; None if a score is too large for
    fixed-point sums.
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
        """The same histogram, with one entry for each combination of codes and bin."""
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
    def join(
        cls,
        keys: tuple[int, ...],
        parts: Sequence[RawHistogram],
        lookups: Sequence[Sequence[Ints | None]],
        bins: Sequence[Ints],
    ) -> RawHistogram:
        """The histograms of all parts as one histogram, which is empty without parts.

        `lookups` convert the codes of each part (see `recode`). `bins` has, for each part, the
        index of the joint bin of each entry.
        """
        if not parts:
            codes, empty = np.zeros((0, len(keys)), dtype=np.int64), np.zeros(0, dtype=np.int64)
            return cls(keys, codes, empty, empty, codes, np.zeros(0), np.zeros(0), ([], [], [], []))
        sums = None
        if all(part.sums is not None for part in parts):
            sums_of_parts = zip(*(part.sums or () for part in parts), strict=True)
            sums = tuple([*chain(*several)] for several in sums_of_parts)
        return cls(
            keys=keys,
            codes=recode([part.codes for part in parts], lookups),
            bins=np.concatenate(bins),
            people=np.concatenate([part.people for part in parts]),
            cells=recode([part.cells for part in parts], lookups),
            low=np.concatenate([part.low for part in parts]),
            high=np.concatenate([part.high for part in parts]),
            sums=sums,
        )


class RawScores(Frozen, eq=False):
    """The histograms of a score, one for each group of keys in the plan, and their joint bins.

    Each bin is made of 2^`shift` finest bins.
    """

    histograms: tuple[RawHistogram, ...]
    bins: Bins
    shift: int = 0

    @classmethod
    def join(
        cls,
        parts: Sequence[RawScores],
        keys: Sequence[Sequence[RawKey]],
        united: Sequence[RawKey],
        most: int,
    ) -> RawScores:
        """The histograms of all parts together; `keys` are the keys of each part.

        Full histograms (all cells by all bins) must have at most `most` entries. The bins are as
        narrow as this limit allows. So the split of the rows into parts does not change the bins.
        """
        groupings = [histogram.keys for histogram in parts[0].histograms]
        filled = [part for part in parts if len(part.bins.codes)]
        ends = [int(code) << part.shift for part in filled for code in part.bins.codes[[0, -1]]]
        shift = max(part.shift for part in parts)
        cells = sum(math.prod(united[n].size for n in grouping) for grouping in groupings)
        # No part has wider bins than all parts together.
        low, high = min(ends, default=0), max(ends, default=0)
        # At least two bins remain: negative and positive numbers never share a bin.
        while (apart := (high >> shift) - (low >> shift)) > 1 and cells * (apart + 1) > most:
            shift += 1
        codes = [part.bins.codes >> (shift - part.shift) for part in parts]
        bins = Bins.gather(
            np.concatenate(codes),
            np.concatenate([part.bins.low for part in parts]),
            np.concatenate([part.bins.high for part in parts]),
        )
        bins_of_parts = [np.searchsorted(bins.codes, own) for own in codes]
        histograms = []
        for number, grouping in enumerate(groupings):
            pieces = [part.histograms[number] for part in parts]
            # The codes of intervals are the same in all parts.
            lookups = [
                [
                    None if own[n].key.is_cut else places(own[n].levels, united[n].levels)
                    for n in grouping
                ]
                for own in keys
            ]
            own_bins = [
                of_part[piece.bins] for of_part, piece in zip(bins_of_parts, pieces, strict=True)
            ]
            histograms.append(RawHistogram.join(grouping, pieces, lookups, own_bins))
        return cls(tuple(histograms), bins, shift)

    def compact(self) -> RawScores:
        """The same histograms, with one entry for each combination of codes and bin."""
        return replace(self, histograms=tuple(one.compact() for one in self.histograms))

    @property
    def median_range(self) -> tuple[float, float] | None:
        """The smallest and the largest score in the bin of the median; None without people."""
        if not self.histograms:
            return None
        histogram = self.histograms[0]
        people = add_up(histogram.people, histogram.bins, len(self.bins.codes))
        return quantile(people, self.bins, Fraction(1, 2))
