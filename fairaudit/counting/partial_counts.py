"""`PartialCounts`: what each route gives of some files; refuses more people than 64 bits hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.errors import DataError
from fairaudit.base.fixed_point import MOST_PEOPLE
from fairaudit.base.frozen import Frozen, field
from fairaudit.counting.counts import RawWeights
from fairaudit.counting.plan import Key, SumName
from fairaudit.counting.raw_keys import RawKey
from fairaudit.cube.histogram import Bins

Level = str | int | None
"""A text level (None: null), or the code of an interval of a cut number."""

Codes = NDArray[np.integer]
"""A place among levels for each row."""

Column = tuple[Codes, tuple[Level, ...]]
"""The codes of a batch, and the level that each stands for."""


class NotServed(Exception):
    """This file is for another route."""


def check_people(people: int) -> None:
    """Raises `DataError` where counts add up to more than 64 bits hold."""
    if people >= MOST_PEOPLE:
        raise DataError("the counts add up to more than 64 bits hold", "check the count column")


def check_weights(weights: RawWeights) -> None:
    """Raises `DataError` where weights add up to more than 64 bits hold."""
    if sum(weights.weight.values.tolist()) // weights.weight.scale >= MOST_PEOPLE:
        what = "the weights add up to more than 64 bits hold"
        raise DataError(what, "check the weight column, or divide all weights by the same number")


class Measures(Frozen):
    """What the cells of some files add up to, [C]; weights where the plan has any."""

    rows: Ints
    people: Ints
    weights: RawWeights | None = None

    def take(self, cells: Ints) -> Measures:
        """Those of some of the cells."""
        weights = None if self.weights is None else self.weights.take(cells)
        return Measures(self.rows[cells], self.people[cells], weights)


class HistogramPart(Frozen, eq=False):
    """What was counted of one grouping while its levels stayed: [E] entries, [C] cells.

    Bins are those of `bins_of`, joined by `shift` bits. `used` are the cells with people, `low` and
    `high` their extreme scores, `sums` what `Moments` holds of them; None where a score is too
    large for the fixed point.
    """

    grouping: int
    keys: tuple[tuple[Level, ...], ...]
    cells: Ints
    bins: Ints
    people: Ints
    shift: int
    used: Ints
    low: Floats
    high: Floats
    sums: tuple[list[int], ...] | None


class ScoreHistograms(Frozen, eq=False):
    """All that one thread counted: pieces, and the range of each bin, joined by `shift` bits."""

    pieces: list[HistogramPart]
    bins: Bins
    shift: int


class TableCounts(Frozen, eq=False):
    """What one thread counted: the levels of each key, and the people of each table, [C] cells.

    `cells` are places in the table of all levels of its keys, in their order.
    """

    levels: Mapping[Key, tuple[Level, ...]]
    cells: tuple[Ints, ...]
    people: tuple[Ints, ...]

    def codes(self, number: int, keys: Sequence[Key]) -> tuple[Ints, ...]:
        """The places of the levels of each key in the cells of a table."""
        return np.unravel_index(self.cells[number], tuple(len(self.levels[key]) for key in keys))

    def used_levels(self, key: Key, tables: Sequence[tuple[Key, ...]]) -> set[Level]:
        """The levels of a key that somebody has: a dictionary may hold more."""
        used = (
            self.codes(number, keys)[keys.index(key)]
            for number, keys in enumerate(tables)
            if key in keys
        )
        return {self.levels[key][place] for places in used for place in np.unique(places).tolist()}


class PartialCounts(Frozen):
    """The counts of some files: a cell for each combination of raw levels that occurs.

    `candidate_tables` holds those of the table of each candidate of a search; None where it has too
    many levels.
    """

    keys: tuple[RawKey, ...]
    kept: Ints
    measures: Measures
    scores: Mapping[str, ScoreHistograms] = field(default_factory=dict)
    amounts: Mapping[SumName, Sequence[int]] = field(default_factory=dict)
    tables: TableCounts | None = None
    candidate_tables: Mapping[str, Sequence[PartialCounts] | None] = field(default_factory=dict)


def raw_key(key: Key, levels: Sequence[Level], codes: NDArray[np.intp]) -> RawKey:
    """A key by the levels that some row has: a dictionary may hold more."""
    if key.edges is not None:
        return RawKey(key, np.array(levels, dtype=np.int64)[codes])
    # Codes are places: counting them takes a twentieth of the time of sorting them.
    used = np.flatnonzero(np.bincount(codes, minlength=len(levels)))
    place_of = np.zeros(len(levels), dtype=np.int64)
    place_of[used] = np.arange(len(used))
    texts = cast("Sequence[str | None]", levels)
    return RawKey(key, place_of[codes], tuple(texts[place] for place in used.tolist()))


def places(old: tuple[Level, ...], new: tuple[Level, ...]) -> NDArray[np.int64]:
    """Where each of the old levels stands among the new ones, which hold them all."""
    place_of = {level: place for place, level in enumerate(new)}
    return np.array([place_of[level] for level in old], dtype=np.int64)
