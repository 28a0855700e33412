"""Counters of extra tables and of scores, for chunks of rows in the pass that counts the cells.

The number of a cell is computed from the codes of its levels, so one `np.bincount` adds a chunk to
a table. A hundred tables of a thousand cells take less time than one table of all columns.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import SCORE_ROOT_SCALE, SCORE_SCALE, Floats, Ints
from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.names import quoted
from fairaudit.counting.plan import MOST_TABLED, Key, Plan
from fairaudit.counting.raw_counts import (
    MOST_ENTRIES,
    Level,
    RawHistogram,
    RawKey,
    RawScores,
    RawTable,
    places,
)
from fairaudit.cube.histogram import Bins, bins_of

Column = tuple[NDArray[np.integer], tuple[Level, ...]]
"""A column of a chunk of rows: the code of each row's level, and the levels in order of codes."""

_EXACT = 2**53
"""The largest sum that `np.bincount` computes exactly: it adds weights as floats."""


class TableCounter:
    """Counts chunks of rows by the extra tables of a plan.

    `too_wide` is the error if the tables would have more than `MOST_TABLED` cells.
    """

    def __init__(self, plan: Plan) -> None:
        self._tables = plan.tables
        self._levels: dict[Key, dict[Level, int]] = {key: {} for key in plan.table_keys}
        self._people: list[Ints] = []
        self.too_wide: DataError | None = None
        # All tables may end with the same keys, such as the outcome; join these keys only once.
        tail = self._tables[0] if self._tables else ()
        for keys in self._tables[1:]:
            while tail and keys[-len(tail) :] != tail:
                tail = tail[1:]
        self._tail = tail

    def add(self, columns: Mapping[Key, Column], people: Ints | None) -> None:
        """Counts a chunk; each row represents `people` people (None: one person)."""
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
            cell = head[1] * size + end
            total = self._people[number]
            if people is not None and weights is None:
                np.add.at(total, cell, people)
            else:
                total += np.bincount(cell, weights, minlength=len(total)).astype(
                    np.int64, copy=False
                )

    def closed(self) -> tuple[RawTable, ...]:
        """The counts of all tables; raises `too_wide` if they would have too many cells."""
        if self.too_wide is not None:
            raise self.too_wide
        nobody = np.zeros(0, dtype=np.int64)
        people_of = self._people or [nobody] * len(self._tables)
        return tuple(
            RawTable.of(keys, self._levels, people)
            for keys, people in zip(self._tables, people_of, strict=True)
        )

    def _flat(self, codes: Sequence[Ints], keys: Sequence[Key]) -> Ints:
        """The number of the cell of each row by these keys; without keys, a single 0."""
        flat = np.zeros(1, dtype=np.int64)
        for code, key in zip(codes, keys, strict=True):
            flat = flat * len(self._levels[key]) + code
        return flat

    def _codes(self, columns: Mapping[Key, Column]) -> dict[Key, Ints]:
        """The codes of a chunk by the levels of all chunks; enlarges the tables for new levels."""
        old = {key: len(levels) for key, levels in self._levels.items()}
        own_codes = {}
        for key, known in self._levels.items():
            codes, levels = columns[key]
            places = np.array([known.setdefault(level, len(known)) for level in levels])
            own_codes[key] = places[codes]
        new = {key: len(levels) for key, levels in self._levels.items()}
        if self._people and old == new:
            return own_codes
        shapes = [tuple(new[key] for key in keys) for keys in self._tables]
        size = sum(map(math.prod, shapes))
        if size > MOST_TABLED:
            # `closed` raises the error: during the pass, Polars would report it as a damaged file.
            widest = max(new, key=lambda key: new[key])
            self.too_wide = DataError(
                f"the subgroups of {len(self._tables):,} combinations of columns would have "
                f"{size:,} cells, at most {MOST_TABLED:,} are allowed: the column "
                f"{quoted(widest.column)} alone has {new[widest]:,} levels",
                "name fewer columns in `over`, lower `depth`, or bin or merge some levels",
            )
            return own_codes
        before = self._people or [np.zeros(0, dtype=np.int64)] * len(shapes)
        self._people = []
        for people, keys, shape in zip(before, self._tables, shapes, strict=True):
            wider = np.zeros(shape, dtype=np.int64)
            if people.size:
                narrow = [old[key] for key in keys]
                wider[tuple(map(slice, narrow))] = people.reshape(narrow)
            self._people.append(wider.reshape(-1))
        return own_codes


_MOST_HERE = 4 * MOST_ENTRIES
"""Maximum number of counts of all scores during the pass (256 MB).

This maximum is larger than the maximum for the result, whose bins are widened at the end. So the
bins of the result do not depend on the chunks of rows.
"""

_HALF = 31
_MOST = 2**62
_SLACK = 1024


class _Piece(NamedTuple):
    """Finished counts by keys with these levels; each bin is made of 2^`shift` finest bins."""

    levels: tuple[tuple[Level, ...], ...]
    shift: int
    histogram: RawHistogram


class ScoreCounter:
    """Counts a score by several groups of keys (groupings)."""

    def __init__(self, plan: Plan, column: str) -> None:
        self._groupings = plan.scores[column]
        self._pieces: list[list[_Piece]] = [[] for _ in self._groupings]
        self._most = _MOST_HERE // len(plan.scores)
        self._dense: list[_Dense | None] = [None] * len(self._groupings)
        self._shift = 0
        self._base = 0
        self._low = np.empty(0)
        self._high = np.empty(0)
        self._sums_fit = True

    def add(self, columns: Mapping[Key, Column], scores: Floats, people: Ints | None) -> None:
        """Counts a chunk of rows; rows with the score NaN or with 0 people are ignored."""
        known = ~np.isnan(scores)
        if people is not None:
            known &= people > 0
        if not known.all():
            columns = {key: (codes[known], levels) for key, (codes, levels) in columns.items()}
            scores = scores[known]
            people = None if people is None else people[known]
        if not len(scores):
            return
        scores = scores + 0.0  # -0.0 is 0.0
        finest = bins_of(scores)
        # `terms` are added to the sums; `load` is the most that they can add, to avoid overflow.
        largest, times = float(np.abs(scores).max()), 1 if people is None else people
        largest_count = 1 if people is None else int(people.max())
        load = max(largest * SCORE_SCALE, 2.0**_HALF) * largest_count * len(scores)
        self._sums_fit = self._sums_fit and largest * SCORE_ROOT_SCALE < 2**_HALF and load < _MOST
        terms: tuple[Ints, ...] = ()
        if self._sums_fit:
            roots = np.rint(scores * SCORE_ROOT_SCALE).astype(np.int64)
            squares = roots * roots
            total = np.rint(scores * SCORE_SCALE).astype(np.int64)
            # The upper and the lower bits of squares have separate sums.
            parts = (total, roots, squares >> _HALF, squares & (2**_HALF - 1))
            terms = tuple(part * times for part in parts)
        load = load if self._sums_fit else 0.0
        for number, keys in enumerate(self._groupings):
            of_keys = tuple(columns[key][1] for key in keys)
            table = self._dense[number]
            if table is None or table.load + load >= _MOST or not table.match_levels(of_keys):
                self._close(number)
                table = self._dense[number] = _Dense(of_keys, len(self._low))
            table.load += load
        self._make_room(int(finest.min()), int(finest.max()))
        place = (finest >> self._shift) - self._base
        np.minimum.at(self._low, place, scores)
        np.maximum.at(self._high, place, scores)
        for keys, dense in zip(self._groupings, self._dense, strict=True):
            assert dense is not None
            cell = np.zeros(len(scores), dtype=np.int64)
            for key in keys:
                codes, levels = columns[key]
                cell *= len(levels)
                cell += codes
            cell = np.take(dense.places, cell)
            dense.add(cell, place, scores, times, terms)

    def closed(self, keys: Sequence[RawKey]) -> RawScores:
        """All counts; the codes are indexes in the levels of `keys`."""
        seen = np.flatnonzero(self._low <= self._high)
        bins = Bins(seen + self._base, self._low[seen], self._high[seen])
        place = {key.key: number for number, key in enumerate(keys)}
        histograms = []
        for number, grouping in enumerate(self._groupings):
            self._close(number)
            pieces, numbers = self._pieces[number], tuple(place[key] for key in grouping)
            lookups = [
                [
                    np.array(levels) if keys[n].key.is_cut else places(levels, keys[n].levels)
                    for n, levels in zip(numbers, piece.levels, strict=True)
                ]
                for piece in pieces
            ]
            of_pieces = [
                np.searchsorted(bins.codes, piece.histogram.bins >> (self._shift - piece.shift))
                for piece in pieces
            ]
            parts = [piece.histogram for piece in pieces]
            histogram = RawHistogram.join(numbers, parts, lookups, of_pieces)
            histograms.append(histogram if self._sums_fit else replace(histogram, sums=None))
        return RawScores(tuple(histograms), bins, self._shift)

    def _close(self, number: int) -> None:
        dense = self._dense[number]
        if dense is not None:
            histogram = dense.histogram(self._base)
            self._pieces[number].append(_Piece(dense.levels, self._shift, histogram))
            self._dense[number] = None

    def _make_room(self, low: int, high: int) -> None:
        """Adds the bins from `low` to `high`; joins all bins in pairs if there are too many."""
        width = len(self._low)
        first, last = low >> self._shift, high >> self._shift
        if width and self._base <= first and last < self._base + width:
            return
        begin = min(first, self._base) if width else first
        end = max(last + 1, self._base + width) if width else last + 1
        cells = sum(dense.size for dense in self._dense if dense is not None)
        if cells > self._most:
            raise DataError(
                f"the histograms of a score by these columns would have {cells:,} combinations "
                "of levels",
                "use fewer columns in `by` and `given`, or bin or merge their levels",
            )
        if cells * (end - begin) > self._most and end - begin > 1:
            if self._base % 2:
                self._resize(self._base - 1, self._base + len(self._low))
            if len(self._low) % 2:
                self._resize(self._base, self._base + len(self._low) + 1)
            for dense in filter(None, self._dense):
                dense.halve()
            self._low = self._low.reshape(-1, 2).min(axis=1, initial=np.inf)
            self._high = self._high.reshape(-1, 2).max(axis=1, initial=-np.inf)
            self._base >>= 1
            self._shift += 1
            self._make_room(low, high)
            return
        spare = max(0, min(_SLACK, self._most // max(cells, 1) - (end - begin)))
        self._resize(begin, end + spare)

    def _resize(self, begin: int, end: int) -> None:
        width, offset = len(self._low), self._base - begin
        low, high = np.full(end - begin, np.inf), np.full(end - begin, -np.inf)
        if width:
            low[offset : offset + width] = self._low
            high[offset : offset + width] = self._high
        for dense in self._dense:
            if dense is not None:
                dense.resize(end - begin, offset if width else 0)
        self._base, self._low, self._high = begin, low, high


class _Dense:
    """The counts by some keys as a full array [cells, bins], and the sums of each cell."""

    def __init__(self, levels: tuple[tuple[Level, ...], ...], width: int) -> None:
        self.levels = levels
        self.size = math.prod(map(len, levels))
        self.load = 0.0
        self.places = np.arange(self.size)
        self._matched = levels
        self._counts = np.zeros((self.size, width), dtype=np.int64)
        self._sums = np.zeros((5, self.size), dtype=np.int64)
        self._low = np.full(self.size, np.inf)
        self._high = np.full(self.size, -np.inf)

    def add(
        self,
        cell: NDArray[np.int64],
        place: Ints,
        scores: Floats,
        people: Ints | int,
        terms: tuple[Ints, ...],
    ) -> None:
        """Adds a chunk of rows, each with its cell, bin (`place`), score, people and terms."""
        np.add.at(self._counts.reshape(-1), cell * self._counts.shape[1] + place, people)
        np.minimum.at(self._low, cell, scores)
        np.maximum.at(self._high, cell, scores)
        np.add.at(self._sums[0], cell, people)
        for total, term in zip(self._sums[1:], terms, strict=False):
            np.add.at(total, cell, term)

    def match_levels(self, levels: tuple[tuple[Level, ...], ...]) -> bool:
        """Sets `places` for these levels; False if `self.levels` lacks a level."""
        if levels == self._matched:
            return True
        if any(not set(new) <= set(own) for new, own in zip(levels, self.levels, strict=True)):
            return False
        cells = np.ix_(*(places(new, own) for new, own in zip(levels, self.levels, strict=True)))
        self.places = np.arange(self.size).reshape([*map(len, self.levels)])[cells].reshape(-1)
        self._matched = levels
        return True

    def resize(self, width: int, offset: int) -> None:
        """Changes the number of bins to `width`; the existing bins begin at `offset`."""
        counts = np.zeros((self.size, width), dtype=np.int64)
        counts[:, offset : offset + self._counts.shape[1]] = self._counts
        self._counts = counts

    def halve(self) -> None:
        """Joins bins in pairs."""
        self._counts = self._counts.reshape(self.size, -1, 2).sum(axis=2)

    def histogram(self, base: int) -> RawHistogram:
        """The counts without empty cells and bins; codes are indexes in `levels`."""
        cells, bins = np.nonzero(self._counts)
        used = np.flatnonzero(self._sums[0])
        n, total, roots, high, low = (sums[used].tolist() for sums in self._sums)
        squares = [(half << _HALF) + rest for half, rest in zip(high, low, strict=True)]
        shape = tuple(map(len, self.levels))
        return RawHistogram(
            keys=(),
            codes=np.stack(np.unravel_index(cells, shape), axis=1),
            bins=bins + base,
            people=self._counts[cells, bins],
            cells=np.stack(np.unravel_index(used, shape), axis=1),
            low=self._low[used],
            high=self._high[used],
            sums=(n, total, roots, squares),
        )
