"""Histograms of scores as a pass counts them: adding two up, the memory that sets their bins."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.raw_keys import RawKey, gather, places, recode
from fairaudit.cube import add_up, distinct_rows
from fairaudit.cube.histogram import Bins, quantile

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
