"""`PartialCounts`: what each route gives of some files; refuses more people than 64 bits hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import MOST_PEOPLE, Ints
from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen, field
from fairaudit.counting.counts import RawWeights
from fairaudit.counting.plan import Key, SumName
from fairaudit.counting.raw_counts import Level, RawHistogram, RawKey
from fairaudit.cube.histogram import Bins

Column = tuple[NDArray[np.integer], tuple[Level, ...]]
"""The codes of a batch, a place among levels for each row, and the level that each stands for."""


class NotServed(Exception):
    """This file is for another route."""


def check_people(people: int) -> None:
    """Raises `DataError` where counts add up to more than 64 bits hold."""
    if people >= MOST_PEOPLE:
        raise DataError("the sum of the counts does not fit into 64 bits", "check the count column")


class HistogramPart(Frozen, eq=False):
    """Counts of one grouping while its levels stayed the same: codes are places among `levels`.

    Bins are those of `bins_of`, joined by `shift` bits.
    """

    grouping: int
    levels: tuple[tuple[Level, ...], ...]
    shift: int
    histogram: RawHistogram


class ScoreHistograms(Frozen, eq=False):
    """All that one thread counted: pieces, and the range of each bin, joined by `shift` bits."""

    pieces: list[HistogramPart]
    bins: Bins
    shift: int


class TableCounts(NamedTuple):
    """The people of an extra table, [C] by the levels of its keys that occur."""

    keys: tuple[RawKey, ...]
    people: Ints

    @classmethod
    def of(
        cls, keys: Sequence[Key], levels: Mapping[Key, Iterable[Level]], people: Ints
    ) -> TableCounts:
        """The table from the people of all combinations of levels, the last key changing first."""
        known = [tuple(levels[key]) for key in keys]
        cells = np.flatnonzero(people)
        codes = np.unravel_index(cells, tuple(map(len, known)))
        return cls(tuple(map(raw_key, keys, known, codes)), people[cells])


class PartialCounts(Frozen):
    """The counts of some files: a cell for each combination of raw levels that occurs."""

    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    weights: RawWeights | None = None
    scores: Mapping[str, ScoreHistograms] = field(default_factory=dict)
    amounts: Mapping[SumName, Sequence[int]] = field(default_factory=dict)
    tables: Sequence[TableCounts] = ()


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
