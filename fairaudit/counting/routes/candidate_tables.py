"""Polars and Parquet routes: tables of candidate columns, for the reversal search.

Each combination of the keys that all tables share is worked out once a row and gets a number, each
level of each candidate a row of one dense table, so that a candidate costs a look-up, an addition
and a count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.base.errors import DataError
from fairaudit.counting.partial_counts import Codes, Column, Level, NotServed, PartialCounts
from fairaudit.counting.plan import CandidateSearch, Key, Plan
from fairaudit.counting.raw_keys import RawKey
from fairaudit.counting.routes.candidates import MOST_LEVELS
from fairaudit.counting.routes.sums import Exact, Rows, Sums, sums_of
from fairaudit.cube import Ints

MOST_CELLS = 2**24
"""The room for the tables of one thread."""

_UNSEEN = -(2**40)
"""Stands for a level without a number: it stays below 0 whatever is added."""

_FIRST_ROOM = 64

_TOGETHER = 2**17
"""Candidates whose table has no more cells are counted at once, and then each by itself."""

_MOST_LOOKED_UP = 2**22
"""So many combinations have a look-up table; of more, those of a batch are sorted."""


class CandidateTables:
    """Counts the rows of batches by the shared keys and the levels of each candidate.

    The first of the shared keys is whether the filter keeps a row: 1, 0, or -1.
    """

    def __init__(self, plan: Plan, search: CandidateSearch, most: int) -> None:
        self._plan = plan
        self._search = search
        self._names = search.candidates
        self._groups = KeyCombinations()
        self._rows: dict[tuple[int, str | None], int] = {}
        self._lookups: list[_Lookup | None] = [_Lookup() for _ in self._names]
        self._missing = {"", *plan.tokens}
        self._order = [*range(len(self._names))]
        self._widths = [0] * len(self._names)
        self._sums = sums_of(plan, most)
        self._shape = (0, 0)
        # Half as wide while it is worked out, whole where it points.
        self._cell = np.empty(most, dtype=np.int32)
        self._index = np.empty(most, dtype=np.intp)
        self._closed: dict[str, list[PartialCounts]] = {name: [] for name in self._names}

    def add(
        self,
        shared: Sequence[Column],
        candidate: Callable[[str], Column | None],
        measured: Mapping[str, pa.Array],
    ) -> None:
        """Counts a batch: the shared keys, each candidate by its name, count and weight by theirs.

        A `candidate` is None where it has too many levels.
        """
        groups = self._groups.numbers(shared)
        self._make_ready(measured)
        self._make_room(len(self._rows), len(self._groups))
        if len(self._index) < len(groups):
            self._cell = np.empty(len(groups), dtype=np.int32)
            self._index = np.empty(len(groups), dtype=np.intp)
        add = self._sums.add
        together = _Together(len(self._groups))
        for number in self._order:
            column = candidate(self._names[number]) if self._lookups[number] is not None else None
            if column is None:
                self._lookups[number] = None
                continue
            self._widths[number] = len(column[1])
            if isinstance(self._sums, Rows) and together.holds(column):
                if not together.has_room(column):
                    self._add_together(together.taken(), groups)
                together.columns[number] = column
                continue
            index = self._index[: len(groups)]
            if self._place(number, *column, index):
                index += groups
                add(index)
                add = self._sums.beside
        if together.columns:
            self._add_together(together.taken(), groups)
        # Those of few levels first: more of them fit together.
        self._order.sort(key=self._widths.__getitem__)

    def counted(self) -> dict[str, list[PartialCounts] | None]:
        """What was counted of each candidate; None where it has too many levels."""
        self._close()
        return {
            name: None if lookup is None else self._closed[name]
            for name, lookup in zip(self._names, self._lookups, strict=True)
        }

    def _add_together(self, several: Mapping[int, Column], groups: NDArray[np.intp]) -> None:
        """Counts the rows of a batch by several candidates at once, then by each."""
        assert isinstance(self._sums, Rows)
        cell, wide = self._cell[: len(groups)], len(self._groups)
        cell[:] = 0
        for codes, levels in several.values():
            cell *= len(levels)
            np.add(cell, codes, out=cell, casting="same_kind")
        index = self._index[: len(groups)]
        np.multiply(cell, wide, out=index)
        index += groups
        shape = (*(len(levels) for _, levels in several.values()), wide)
        counted = np.bincount(index, minlength=math.prod(shape)).reshape(shape)
        for axis, (number, (_, levels)) in enumerate(several.items()):
            others = tuple(other for other in range(len(several)) if other != axis)
            rows = counted.sum(axis=others)
            seen = np.flatnonzero(rows.any(axis=1))
            begins = self._begins(number, levels)[seen]
            if int(begins.min()) < 0:
                if not self._name(number, levels, seen[begins < 0]):
                    continue
                begins = self._begins(number, levels)[seen]
            cells = begins[:, None] + np.arange(wide)
            self._sums.add_counted(cells.reshape(-1), rows[seen].reshape(-1))

    def _place(self, number: int, codes: Codes, levels: tuple[Level, ...], out: Ints) -> bool:
        """Where in the table the level of each row begins; False where there are too many."""
        np.take(self._begins(number, levels), codes, out=out, mode="clip")
        if int(out.min()) >= 0:
            return True
        return self._name(number, levels, np.unique(codes[out < 0])) and self._place(
            number, codes, levels, out
        )

    def _begins(self, number: int, levels: tuple[Level, ...]) -> NDArray[np.intp]:
        """Where in the table each level begins; negative where it has no row yet."""
        lookup = self._lookups[number]
        assert lookup is not None
        if not lookup.is_of(levels, self._shape[1]):
            known = [self._rows.get((number, self._level(level)), -1) for level in levels]
            lookup.follow(levels, known, self._shape[1])
        return lookup.begins

    def _name(self, number: int, levels: tuple[Level, ...], codes: Codes) -> bool:
        """Gives levels their rows; False where the candidate has too many."""
        lookup = self._lookups[number]
        assert lookup is not None
        for code in codes.tolist():
            level = self._level(levels[code])
            if (number, level) not in self._rows:
                lookup.size += level is not None
                self._rows[number, level] = len(self._rows)
        if lookup.size > MOST_LEVELS:
            self._lookups[number] = None
            return False
        self._make_room(len(self._rows), len(self._groups))
        lookup.forget()
        return True

    def _level(self, level: Level) -> str | None:
        return None if level is None or level in self._missing else str(level)

    def _make_ready(self, measured: Mapping[str, pa.Array]) -> None:
        """Takes what is measured of a batch, by the first kind that holds it."""
        while not _taken(self._sums, measured):
            self._close()
            self._sums = _finer(self._sums, self._plan)
        if not self._sums.has_room:
            self._close()

    def _make_room(self, rows: int, groups: int) -> None:
        """Opens the table, or widens it to hold so many levels and combinations of keys."""
        if rows <= self._shape[0] and groups <= self._shape[1]:
            return
        shape = _room(rows, self._shape[0]), _room(groups, self._shape[1])
        if shape[0] * shape[1] * self._sums.tables > MOST_CELLS:
            shape = max(rows, self._shape[0]), max(groups, self._shape[1])
        if shape[0] * shape[1] * self._sums.tables > MOST_CELLS:
            raise DataError(
                f"the search would count {groups:,} combinations of groups and outcomes by "
                f"{rows:,} levels of {len(self._names):,} columns, which is too many",
                "name fewer attributes in `by` of `simpson`, bin or merge their levels, or name "
                "the columns to condition on as `strata`",
            )
        if 0 in self._shape:
            self._sums.open(shape[0] * shape[1])
        else:
            places = [np.arange(size) for size in self._shape]
            self._sums.rearrange(self._shape, places, shape)
        self._shape = shape

    def _close(self) -> None:
        """Takes over what the table holds, and leaves it to be opened again."""
        if 0 in self._shape:
            return
        cells, measures = self._sums.close()
        row, group = np.divmod(cells, self._shape[1])
        self._shape = (0, 0)
        names = list(self._rows)
        owner = np.array([candidate for candidate, _ in names], dtype=np.int64)
        shared = self._groups.keys(self._search.keys)
        for number, name in enumerate(self._names):
            own = np.flatnonzero(owner[row] == number)
            if not len(own) or self._lookups[number] is None:
                continue
            kept, keys = shared(group[own])
            levels = tuple(level for owned, level in names if owned == number)
            places = np.cumsum(owner == number) - 1
            raw = RawKey(self._plan.beside(name).keys[-1], places[row[own]], levels)
            part = PartialCounts((*keys, raw), kept, measures.take(own))
            self._closed[name].append(part)


class _Together:
    """Candidates that are counted at once, while few combinations of their levels are possible."""

    def __init__(self, groups: int) -> None:
        self.columns: dict[int, Column] = {}
        self._groups = groups

    def holds(self, column: Column) -> bool:
        """Whether a candidate is small enough, be it alone."""
        return self._groups * len(column[1]) <= _TOGETHER

    def has_room(self, column: Column) -> bool:
        """Whether one more candidate fits."""
        sizes = [len(levels) for _, levels in (*self.columns.values(), column)]
        return self._groups * math.prod(sizes) <= _TOGETHER

    def taken(self) -> dict[int, Column]:
        """Those that there are; none stay."""
        columns, self.columns = self.columns, {}
        return columns


class _Lookup:
    """Where the levels of a candidate begin in the table, by the codes of a batch."""

    def __init__(self) -> None:
        self.size = 0
        self.begins = np.empty(0, dtype=np.intp)
        self._of: tuple[tuple[Level, ...], int] | None = None

    def is_of(self, levels: tuple[Level, ...], width: int) -> bool:
        """Whether it is that of these levels, in a table so wide."""
        return self._of is not None and self._of[0] is levels and self._of[1] == width

    def follow(self, levels: tuple[Level, ...], rows: Sequence[int], width: int) -> None:
        """Takes the row of each level; -1 where it has none yet."""
        places = np.array(rows, dtype=np.intp)
        self.begins = np.where(places < 0, _UNSEEN, places * width)
        self._of = (levels, width)

    def forget(self) -> None:
        """Rows were added."""
        self._of = None


class KeyCombinations:
    """Numbers for the combinations of the shared keys, in the order in which they are seen."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Level, ...], int] = {}
        self._levels: tuple[tuple[Level, ...], ...] = ()
        self._lookup = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, shared: Sequence[Column]) -> NDArray[np.intp]:
        """The number of each row's combination."""
        levels = tuple(known for _, known in shared)
        shape = tuple(map(len, levels))
        place = np.zeros(len(shared[0][0]), dtype=np.intp)
        for codes, named in shared:
            place *= len(named)
            place += codes
        if math.prod(shape) > _MOST_LOOKED_UP:
            different, place_of_row = np.unique(place, return_inverse=True)
            return self._numbers_of_places(different, levels)[place_of_row]
        if levels != self._levels:
            self._levels = levels
            self._lookup = np.full(math.prod(shape), -1, dtype=np.intp)
        numbers = np.take(self._lookup, place)
        if len(numbers) and int(numbers.min()) < 0:
            unseen = np.unique(place[numbers < 0])
            self._lookup[unseen] = self._numbers_of_places(unseen, levels)
            numbers = np.take(self._lookup, place)
        return numbers

    def _numbers_of_places(
        self, places: Ints, levels: tuple[tuple[Level, ...], ...]
    ) -> NDArray[np.intp]:
        """The numbers of combinations by their places in mixed radix; a new one gets the next."""
        combinations = np.stack(np.unravel_index(places, tuple(map(len, levels))), axis=1).tolist()
        names = (
            tuple(named[code] for named, code in zip(levels, codes, strict=True))
            for codes in combinations
        )
        numbers = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        return np.array(numbers, dtype=np.intp)

    def keys(self, wanted: Sequence[Key]) -> Callable[[Ints], tuple[Ints, Iterator[RawKey]]]:
        """What turns numbers of combinations into what the filter says and the raw keys."""
        columns = list(zip(*self._numbers, strict=True))
        kept = np.array(columns[0], dtype=np.int64)
        coded = [_coded(column, is_text=key.edges is None)
                 for key, column in zip(wanted, columns[1:], strict=True)]  # fmt: skip

        def keys(numbers: Ints) -> Iterator[RawKey]:
            for key, (codes, levels) in zip(wanted, coded, strict=True):
                yield RawKey(key, codes[numbers], levels)

        return lambda numbers: (kept[numbers], keys(numbers))


def _coded(column: Sequence[Level], *, is_text: bool) -> tuple[Ints, tuple[str | None, ...]]:
    """A column of levels as codes, and the texts they stand for; intervals are codes already."""
    if not is_text:
        return np.array(column, dtype=np.int64), ()
    levels = list(dict.fromkeys(None if level is None else str(level) for level in column))
    place = {level: number for number, level in enumerate(levels)}
    codes = [place[None if level is None else str(level)] for level in column]
    return np.array(codes, dtype=np.int64), tuple(levels)


def _room(wanted: int, there: int) -> int:
    """How much room there is to be: as much as there is, or doubled until it is enough."""
    room = max(there, _FIRST_ROOM)
    while room < wanted:
        room *= 2
    return room


def _taken(sums: Sums, measured: Mapping[str, pa.Array]) -> bool:
    try:
        return sums.take(measured)
    except NotServed:
        return False


def _finer(sums: Sums, plan: Plan) -> Sums:
    try:
        return sums.finer()
    except NotServed:
        return Exact(plan)
