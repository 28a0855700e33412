"""The counts that a pass over the data brings, by raw levels: the one thing later stages read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.cube import Sum, add_up
from fairaudit.disclosure import Notice, Subjects
from fairaudit.histogram import Bins, coarsest, quantile
from fairaudit.plan import Key, Plan
from fairaudit.raw_rows import RawRows
from fairaudit.result import DataFile

WEIGHT_SCALES = (10**9, 10**18)
"""The fixed point of weights: as a rule, and where all weights are tiny."""

SQUARE_SCALES = (10**12, 10**30)
"""The fixed point of their squares."""

TINY = 1e-3
"""Weights such as those that add up to 1 need the finer fixed point."""

MOST_ENTRIES = 64 * 2**20 // 8
"""64 MB of counts, for all scores and groupings together, choose the bins of the result."""


@dataclass(frozen=True, slots=True)
class CountedFile:
    """A file that was counted: its records, and blank lines, which are none.

    `sha256` is there where the counts were stored: so nobody counts a file twice. `records` are
    None where a site does not tell them.
    """

    file: DataFile
    records: int | None
    blank: int = 0
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class HiddenCells:
    """How many rows and people sites took out of counts: in cells of fewer than `below`, mostly."""

    below: int
    rows: int
    people: int


@dataclass(frozen=True, slots=True)
class RawKey:
    """A key as it was counted: text levels (None: null) with codes, or codes of intervals."""

    key: Key
    codes: Ints
    levels: tuple[str | None, ...] = ()

    @property
    def size(self) -> int:
        """How many codes it may have; a number's are of intervals, and of what is missing."""
        return len(self.levels) if self.key.edges is None else len(self.key.edges) + 2


@dataclass(frozen=True, slots=True, eq=False)
class RawHistogram:
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
        entries, index = _distinct(np.column_stack([self.codes, self.bins]))
        cells, cell = _distinct(self.cells)
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
            sums=self.sums and tuple(_gather(part, cell, len(cells)) for part in self.sums),
        )

    @classmethod
    def empty(cls, keys: tuple[int, ...]) -> RawHistogram:
        """The histogram of a score that nobody has."""
        codes, none = np.zeros((0, len(keys)), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return cls(keys, codes, none, none, codes, np.zeros(0), np.zeros(0), ([], [], [], []))


@dataclass(frozen=True, slots=True, eq=False)
class RawScores:
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


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """The people that the filter keeps by some keys: [E] entries of codes [E, K].

    A code is a place in `Counts.table_levels`, or an interval; an entry may stand several times.
    """

    keys: tuple[Key, ...]
    codes: Ints
    people: Ints

    def compact(self) -> RawTable:
        """The same people, an entry for each combination."""
        codes, index = _distinct(self.codes)
        return replace(self, codes=codes, people=add_up(self.people, index, len(codes)))


@dataclass(frozen=True, slots=True, eq=False)
class RawAmounts:
    """What was added up in each of [C] cells, as Python's integers; what is missing adds nothing.

    Numbers and distances are at the fixed point `ADDED_SCALE`, products at its square.
    """

    columns: Mapping[str, Sequence[int]]
    products: Mapping[tuple[str, str], Sequence[int]]
    distances: Mapping[tuple[str, str], Sequence[int]]

    def gather(self, index: Ints, size: int) -> RawAmounts:
        """Those of joined cells; `index` is the new cell of each."""
        return RawAmounts(
            {name: _gather(sums, index, size) for name, sums in self.columns.items()},
            {pair: _gather(sums, index, size) for pair, sums in self.products.items()},
            {pair: _gather(sums, index, size) for pair, sums in self.distances.items()},
        )


@dataclass(frozen=True, slots=True, eq=False)
class RawWeights:
    """The weights of [C] cells and their squares, exactly, at both fixed points.

    The finer ones are of the tiny weights alone, and are used where the `largest` weight is one.
    `errors` are the most that rounding a weight to a fixed point took away.
    """

    weights: tuple[Sequence[int], Sequence[int]]
    squares: tuple[Sequence[int], Sequence[int]]
    largest: float
    errors: tuple[float, float]

    @property
    def _fine(self) -> int:
        return int(0 < self.largest < TINY)

    @property
    def weight(self) -> Sum:
        """The weights of each cell."""
        return Sum.exact(self.weights[self._fine], WEIGHT_SCALES[self._fine])

    @property
    def square(self) -> Sum:
        """The squares of the weights of each cell."""
        return Sum.exact(self.squares[self._fine], SQUARE_SCALES[self._fine])

    @property
    def error(self) -> float:
        """The most that rounding took away from a weight."""
        return self.errors[self._fine]

    def gather(self, index: Ints, size: int) -> RawWeights:
        """Those of joined cells; `index` is the new cell of each."""
        return replace(
            self,
            weights=_gather_pair(self.weights, index, size),
            squares=_gather_pair(self.squares, index, size),
        )

    @classmethod
    def join(cls, parts: Sequence[RawWeights]) -> RawWeights:
        """Those of several files or threads, one after the other."""
        return cls(
            _chain_pairs([part.weights for part in parts]),
            _chain_pairs([part.squares for part in parts]),
            max(part.largest for part in parts),
            (max(part.errors[0] for part in parts), max(part.errors[1] for part in parts)),
        )


def _gather(values: Sequence[int], index: Ints, size: int) -> list[int]:
    """Exact sums by index; none of nothing."""
    total = [0] * (size if values else 0)
    for value, place in zip(values, index.tolist() if values else (), strict=True):
        total[place] += value
    return total


def _gather_pair(
    pair: tuple[Sequence[int], Sequence[int]], index: Ints, size: int
) -> tuple[list[int], list[int]]:
    return _gather(pair[0], index, size), _gather(pair[1], index, size)


def _distinct(codes: Ints) -> tuple[Ints, Ints]:
    """The distinct rows of codes [E, K], and the number of each row among them."""
    cells, index = np.unique(codes, axis=0, return_inverse=True)
    return cells, index.reshape(-1)


def _chain_pairs(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
) -> tuple[list[int], list[int]]:
    coarse, fine = ([*chain.from_iterable(parts)] for parts in zip(*pairs, strict=True))
    return coarse, fine


@dataclass(frozen=True, slots=True)
class Median:
    """The exact median of a score, and the people it is the median of."""

    value: float
    people: int


@dataclass(frozen=True, slots=True)
class RawSearch:
    """The table of each candidate that stayed one, and why other columns were left out."""

    tables: Mapping[str, Counts]
    left_out: Mapping[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Everything that the passes for a plan bring: counts by raw levels, an entry or several each.

    No later stage looks at the data again. `kept` is 1 where the filter holds, 0 where it does not,
    -1 where it cannot decide. `read` is the control total: the records of the files, counted apart
    from the pass. `medians` are those of the scores whose bins do not tell them. `rows_read` are
    people one by one, where the plan asks for them. `hidden` are of no cell any more.
    """

    plan: Plan
    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    read: int
    sources: tuple[CountedFile, ...]
    route: str
    weights: RawWeights | None = None
    scores: Mapping[str, RawScores] = field(default_factory=dict)
    medians: Mapping[str, Median] = field(default_factory=dict)
    amounts: RawAmounts | None = None
    searched: RawSearch | None = None
    notices: tuple[Notice, ...] = ()
    tables: tuple[RawTable, ...] = ()
    table_levels: Mapping[Key, tuple[str | None, ...]] = field(default_factory=dict)
    rows_read: RawRows | None = None
    hidden: tuple[HiddenCells, ...] = ()

    @property
    def files(self) -> tuple[DataFile, ...]:
        """The files that were counted."""
        return tuple(source.file for source in self.sources)

    @property
    def weight(self) -> Sum | None:
        """The weights of each cell, where the plan has any."""
        return None if self.weights is None else self.weights.weight

    @property
    def squares(self) -> Sum | None:
        """The squares of the weights of each cell."""
        return None if self.weights is None else self.weights.square

    @property
    def weight_error(self) -> float:
        """The most that rounding took away from a weight."""
        return 0.0 if self.weights is None else self.weights.error

    def describe_files(self) -> Iterator[Notice]:
        """Notices on blank lines, and on files without a row."""
        blank = sum(source.blank for source in self.sources)
        if blank:
            lines = (
                "1 blank line is no record"
                if blank == 1
                else f"{blank:,} blank lines are no records"
            )
            yield Notice(f"{lines} and not counted", Subjects.NOBODY)
        for source in self.sources:
            if source.records == 0 and len(self.sources) > 1:
                yield Notice(f"{source.file.path} holds no row", Subjects.NEVER)

    def text_key(self, column: str) -> RawKey:
        """The levels of a column that is counted as text."""
        return self.keys[self.plan.find_key(column, is_cut=False)]

    def cut_key(self, column: str) -> RawKey:
        """The intervals of a column that is counted as a number."""
        return self.keys[self.plan.find_key(column, is_cut=True)]

    def compact(self) -> Counts:
        """The same counts, an entry for each combination of levels that occurs."""
        codes = np.stack([*(key.codes for key in self.keys), self.kept], axis=1)
        cells, index = _distinct(codes)
        size = len(cells)
        return replace(
            self,
            keys=tuple(
                replace(key, codes=cells[:, number]) for number, key in enumerate(self.keys)
            ),
            kept=cells[:, -1],
            rows=add_up(self.rows, index, size),
            people=add_up(self.people, index, size),
            weights=self.weights and self.weights.gather(index, size),
            scores={column: scores.compact() for column, scores in self.scores.items()},
            amounts=self.amounts and self.amounts.gather(index, size),
            searched=self.searched
            and replace(
                self.searched,
                tables={name: table.compact() for name, table in self.searched.tables.items()},
            ),
            tables=tuple(table.compact() for table in self.tables),
        )

    def __add__(self, other: Counts) -> Counts:
        """The counts of both; the plan must be the same.

        Medians do not add up: only those stay that are of everybody, and that both know.
        """
        if not self.plan.counts_like(other.plan):
            raise ValueError("counts of different plans do not add up")
        keys = tuple(map(unite_keys, zip(self.keys, other.keys, strict=True)))
        levels = {
            key: unite_levels((texts, other.table_levels[key]))
            for key, texts in self.table_levels.items()
        }
        routes = (*self.route.split("; "), *other.route.split("; "))
        return replace(
            self,
            keys=keys,
            kept=np.concatenate([self.kept, other.kept]),
            rows=np.concatenate([self.rows, other.rows]),
            people=np.concatenate([self.people, other.people]),
            read=self.read + other.read,
            sources=(*self.sources, *other.sources),
            route="; ".join(dict.fromkeys(routes)),
            weights=self.weights
            and other.weights
            and RawWeights.join([self.weights, other.weights]),
            scores={
                column: _add_scores(
                    (scores, other.scores[column]),
                    (self.keys, other.keys),
                    keys,
                    MOST_ENTRIES // len(self.scores),
                )
                for column, scores in self.scores.items()
            },
            medians={
                column: median
                for column, median in self.medians.items()
                if other.medians.get(column) == median
            },
            amounts=_add_amounts(self.amounts, other.amounts),
            searched=_add_searches(self, other),
            rows_read=_add_rows(self, other),
            hidden=_add_hidden(self.hidden, other.hidden),
            notices=tuple(dict.fromkeys((*self.notices, *other.notices))),
            tables=tuple(
                _add_tables(pair, (self.table_levels, other.table_levels), levels)
                for pair in zip(self.tables, other.tables, strict=True)
            ),
            table_levels=levels,
        )


def unite_levels(texts: Iterable[Iterable[str | None]]) -> tuple[str | None, ...]:
    """The levels that occur in any of several lists, in order; a missing one last."""
    levels = set(chain.from_iterable(texts))
    return tuple(sorted(levels, key=lambda level: (level is None, level)))


def _places(levels: Sequence[str | None], united: Sequence[str | None]) -> Ints:
    """The code of each level among the united ones; -2 for a level that is none of them."""
    place = {level: code for code, level in enumerate(united)}
    return np.array([place.get(level, -2) for level in levels], dtype=np.int64)


def unite_keys(keys: Sequence[RawKey]) -> RawKey:
    """The codes of one key in several parts, one after the other; levels are united by text."""
    key = keys[0].key
    if key.edges is not None:
        return RawKey(key, np.concatenate([part.codes for part in keys]))
    levels = unite_levels(part.levels for part in keys)
    codes = [_places(part.levels, levels)[part.codes] for part in keys]
    return RawKey(key, np.concatenate(codes), levels)


def _add_rows(first: Counts, second: Counts) -> RawRows | None:
    rows, others = first.rows_read, second.rows_read
    rows = rows and rows.placed(0, len(second.rows), 0)
    others = others and others.placed(len(first.rows), 0, first.read)
    return rows + others if rows and others else rows or others


def _add_hidden(
    first: Sequence[HiddenCells], second: Sequence[HiddenCells]
) -> tuple[HiddenCells, ...]:
    """Those of one threshold together, in ascending order."""
    total: dict[int, HiddenCells] = {}
    for cells in (*first, *second):
        own = total.get(cells.below, HiddenCells(cells.below, 0, 0))
        total[cells.below] = HiddenCells(
            cells.below, own.rows + cells.rows, own.people + cells.people
        )
    return tuple(total[below] for below in sorted(total))


def _add_scores(
    parts: tuple[RawScores, RawScores],
    keys: tuple[Sequence[RawKey], Sequence[RawKey]],
    united: Sequence[RawKey],
    most: int,
) -> RawScores:
    """The histograms of a score in both, in bins that the room for both chooses."""
    groupings = [histogram.keys for histogram in parts[0].histograms]
    shift = choose_shift([(part.shift, part.bins) for part in parts], groupings, united, most)
    codes = [part.bins.codes >> (shift - part.shift) for part in parts]
    bins = Bins.gather(
        np.concatenate(codes),
        np.concatenate([part.bins.low for part in parts]),
        np.concatenate([part.bins.high for part in parts]),
    )
    histograms = []
    for pair in zip(*(part.histograms for part in parts), strict=True):
        lookups = [
            [_lookup(own[number], united[number]) for number in pair[0].keys] for own in keys
        ]
        sums = None
        if pair[0].sums is not None and pair[1].sums is not None:
            sums = tuple([*a, *b] for a, b in zip(pair[0].sums, pair[1].sums, strict=True))
        places = [np.searchsorted(bins.codes, own) for own in codes]
        histograms.append(
            RawHistogram(
                keys=pair[0].keys,
                codes=_recode([part.codes for part in pair], lookups),
                bins=np.concatenate(
                    [place[part.bins] for place, part in zip(places, pair, strict=True)]
                ),
                people=np.concatenate([part.people for part in pair]),
                cells=_recode([part.cells for part in pair], lookups),
                low=np.concatenate([part.low for part in pair]),
                high=np.concatenate([part.high for part in pair]),
                sums=sums,
            )
        )
    return RawScores(tuple(histograms), bins, shift)


def choose_shift(
    parts: Sequence[tuple[int, Bins]],
    groupings: Sequence[Sequence[int]],
    keys: Sequence[RawKey],
    most: int,
) -> int:
    """By how many bits the finest bins of a score are joined; equal however the rows were split.

    Each part are bins, and by how many bits they were joined before.
    """
    ends = [
        int(code) << shift
        for shift, bins in parts
        if len(bins.codes)
        for code in bins.codes[[0, -1]]
    ]
    if not ends:
        return 0
    cells = sum(math.prod(keys[place].size for place in grouping) for grouping in groupings)
    return coarsest([shift for shift, _ in parts], cells, min(ends), max(ends), most)


def _lookup(key: RawKey, united: RawKey) -> Ints | None:
    """The united code of each code of a key; None where codes are of intervals, which stay."""
    return None if key.key.edges is not None else _places(key.levels, united.levels)


def _recode(parts: Sequence[Ints], lookups: Sequence[Sequence[Ints | None]]) -> Ints:
    """Codes [E, K] of both parts by united levels; a code below 0 stays what it is."""
    recoded = []
    for codes, columns in zip(parts, lookups, strict=True):
        own = codes.copy()
        for column, lookup in enumerate(columns):
            if lookup is not None and len(lookup):
                old = codes[:, column]
                own[:, column] = np.where(old < 0, old, lookup[np.maximum(old, 0)])
        recoded.append(own)
    return np.concatenate(recoded)


def _add_amounts(first: RawAmounts | None, second: RawAmounts | None) -> RawAmounts | None:
    if first is None or second is None:
        return None
    return RawAmounts(
        {name: [*own, *second.columns[name]] for name, own in first.columns.items()},
        {pair: [*own, *second.products[pair]] for pair, own in first.products.items()},
        {pair: [*own, *second.distances[pair]] for pair, own in first.distances.items()},
    )


def _add_searches(one: Counts, other: Counts) -> RawSearch | None:
    """The tables of the candidates that both have; another column was not counted in both.

    Where no row was read no column is a candidate, and none is ruled out.
    """
    first, second = one.searched, other.searched
    if first is None or second is None:
        return None
    if not one.read or not other.read:
        return first if one.read else second
    shared = {name: own + second.tables[name] for name, own in first.tables.items()
              if name in second.tables}  # fmt: skip
    lacking = dict.fromkeys({*first.tables, *second.tables} - {*shared}, "not counted in all files")
    return RawSearch(shared, {**lacking, **second.left_out, **first.left_out})


def _add_tables(
    pair: tuple[RawTable, RawTable],
    levels: tuple[Mapping[Key, Sequence[str | None]], Mapping[Key, Sequence[str | None]]],
    united: Mapping[Key, Sequence[str | None]],
) -> RawTable:
    keys = pair[0].keys
    lookups = [
        [_places(own[key], united[key]) if key in own else None for key in keys] for own in levels
    ]
    codes = _recode([part.codes for part in pair], lookups)
    return RawTable(keys, codes, np.concatenate([part.people for part in pair]))
