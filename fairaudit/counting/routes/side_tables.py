"""Polars route: counts the tables beside the cube, with texts as short codes."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.counting.partial_counts import Codes, Column, Level, PartialCounts
from fairaudit.counting.plan import MISSING, CandidateSearch, Key, Plan
from fairaudit.counting.routes.candidate_tables import CandidateTables
from fairaudit.counting.routes.candidates import MOST_LEVELS
from fairaudit.counting.routes.dictionary_codes import DictionaryTexts
from fairaudit.counting.routes.polars_numbers import texts_of
from fairaudit.counting.sources.batches import own

Words = NDArray[np.uint64]

_BITS = 12
_SHIFT = np.uint64(64 - _BITS)

_NOBODY = np.uint64(2**64 - 1)
"""The word of no text: such bytes are no UTF-8, such a length is none."""

_FACTORS = [np.uint64(pow(0x9E3779B97F4A7C15, power, 2**64) | 1) for power in range(1, 65)]
"""Multipliers to try in turn: always the same, so that equal data take an equal way."""

_SECOND = np.uint64(0xC2B2AE3D27D4EB4F)
"""What the second word of a text is multiplied with before it is joined with the first."""

_INLINE = 12
_LENGTH = np.uint64(2**32 - 1)


class TextCoder:
    """The texts of one column as codes, while it is read; 0 is null.

    A text of up to twelve bytes lies in Arrow's view of it: its length and its bytes. Such views
    are told apart by a multiplication that sends the levels seen so far to different places, and
    each is held against the level found there, so a new one is never taken for another. The
    multiplication takes the upper bits of a product with an odd number, as in Dietzfelbinger et al.
    (1997), A reliable randomized algorithm for the closest-pair problem, J. of Algorithms 25:19.
    """

    def __init__(self, most: int) -> None:
        self.levels: tuple[Level, ...] = (None,)
        self._most = most
        self._short = True
        self._known: dict[str, int] = {}
        self._first = np.full(1, _NOBODY)
        self._second = np.full(1, _NOBODY)
        self._factor = _FACTORS[0]
        self._places = np.zeros(2**_BITS, dtype=np.intp)

    def codes(self, column: pl.Series) -> Codes | None:
        """The codes of a chunk by `levels` as they are then; None where there are too many."""
        while True:
            codes, unseen = self._by_words(column) if self._short else self._by_hash(column)
            if unseen is None:
                return codes
            for text in unseen.unique().sort().to_list():
                self._known.setdefault(text, len(self._known) + 1)
            if len(self._known) > self._most:
                return None
            self.levels = (None, *self._known)
            self._short = self._short and self._learnt()

    def _by_words(self, column: pl.Series) -> tuple[Codes, pl.Series | None]:
        """The codes, or some texts that have none yet; those of a long text are had by hashing."""
        array = column.alias("").rechunk().to_arrow(compat_level=pl.CompatLevel.newest())
        first, second = _views(array)
        valid = None
        if array.null_count:
            valid = column.is_not_null().to_numpy()
            first, second = np.where(valid, first, 0), np.where(valid, second, 0)
        if int((first & _LENGTH).max()) > _INLINE:
            self._short = False
            return self._by_hash(column)
        codes = np.take(self._places, self._hashed(first, second))
        same = np.take(self._first, codes) == first
        if second.any():
            same &= np.take(self._second, codes) == second
        else:
            same &= np.take(self._second == 0, codes)
        if valid is not None:
            same |= ~valid
            codes[~valid] = 0
        return codes, None if same.all() else column.filter(pl.Series(~same))

    def _by_hash(self, column: pl.Series) -> tuple[Codes, pl.Series | None]:
        """The codes of texts of any length, by their hashes, or some texts that have none yet."""
        codes = column.replace_strict(
            list(self._known), range(1, len(self._known) + 1), default=-1, return_dtype=pl.Int64
        )
        unseen = column.filter((codes == -1) & column.is_not_null())
        numbers = codes.set(column.is_null(), 0).to_numpy()
        return numbers, unseen if len(unseen) else None

    def _learnt(self) -> bool:
        """Whether there is a multiplier that sends all known texts to places of their own."""
        known = pl.Series(list(self._known), dtype=pl.String)
        if (known.str.len_bytes() > _INLINE).any():
            return False
        first, second = _views(known.rechunk().to_arrow(compat_level=pl.CompatLevel.newest()))
        for factor in _FACTORS:
            self._factor = factor
            places = self._hashed(first, second)
            if len(np.unique(places)) == len(places):
                self._places = np.zeros(2**_BITS, dtype=np.intp)
                self._places[places] = np.arange(1, len(places) + 1)
                self._first = np.concatenate([[_NOBODY], first])
                self._second = np.concatenate([[_NOBODY], second])
                return True
        return False

    def _hashed(self, first: Words, second: Words) -> NDArray[np.intp]:
        mixed = first ^ second * _SECOND
        mixed *= self._factor
        mixed >>= _SHIFT
        return mixed.view(np.intp)


def _views(array: Any) -> tuple[Words, Words]:  # noqa: ANN401  # an Arrow array of string views
    """Both words of the view of each text."""
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64).reshape(-1, 2)
    views = words[array.offset : array.offset + len(array)]
    return views[:, 0], views[:, 1]


_BATCH = 2**16
"""Rows at a time: what is worked out of them stays in the cache of a core."""

_KEPT = (0, 1, -1)
"""What the filter says of a row: no, yes, and null where it cannot decide."""


class KeyCodes:
    """Some keys of a plan as codes, by levels that grow."""

    def __init__(self, plan: Plan, wanted: Iterable[Key]) -> None:
        keys = {*wanted}
        self._names = {
            key: own(f"key{number}") for number, key in enumerate(plan.every_key) if key in keys
        }
        self._axes = {key: DictionaryTexts() for key in self._names if key.edges is None}

    def coded(self, rows: pl.DataFrame) -> dict[Key, pa.Array]:
        """The texts of a chunk as dictionaries: threads may look them up side by side."""
        return {key: _coded(rows[self._names[key]], key.column) for key in self._axes}

    def columns(self, rows: pl.DataFrame, coded: Mapping[Key, pa.Array]) -> dict[Key, Column]:
        """The codes and levels of each key for the rows of a chunk, one thread at a time."""
        return {key: self._column(key, rows, coded) for key in self._names}

    def _column(self, key: Key, rows: pl.DataFrame, coded: Mapping[Key, pa.Array]) -> Column:
        if key.edges is not None:
            levels = (*range(len(key.edges) + 1), MISSING)
            codes: Codes = rows[self._names[key]].fill_null(len(key.edges) + 1).to_numpy()
            return codes, levels
        return self._axes[key].codes(coded[key]), self._axes[key].levels


def _coded(column: pl.Series, name: str) -> pa.Array:
    """A column of levels as the dictionary of their texts."""
    return texts_of(column, name).alias("").cast(pl.Categorical).to_arrow()


class CandidateCounter:
    """Counts the tables of a search in chunks that several threads pass on."""

    def __init__(self, plan: Plan, search: CandidateSearch) -> None:
        self._plan = plan
        self._search = search
        self._idle: list[_Thread] = []
        self._all: list[_Thread] = []
        self._lock = threading.Lock()

    def pass_on(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Passes rows on, and counts them."""
        if not rows.height:
            return rows
        with self._lock:
            if not self._idle:
                self._idle.append(_Thread(self._plan, self._search))
                self._all.append(self._idle[-1])
            thread = self._idle.pop()
        thread.take(rows)
        with self._lock:
            self._idle.append(thread)
        return rows

    def counted(self) -> dict[str, list[PartialCounts] | None]:
        """What all threads counted of each candidate; None where one met too many levels."""
        counts: dict[str, list[PartialCounts] | None] = {
            name: [] for name in self._search.candidates
        }
        for thread in self._all:
            thread.finish()
            for name, parts in thread.crossing.counted().items():
                before = counts[name]
                counts[name] = None if before is None or parts is None else [*before, *parts]
        return counts


class _Thread:
    """What one thread counts."""

    def __init__(self, plan: Plan, search: CandidateSearch) -> None:
        self.crossing = CandidateTables(plan, search, _BATCH)
        self._plan = plan
        self._search = search
        self._keys = KeyCodes(plan, search.keys)
        self._waiting: list[pl.DataFrame] = []
        keys = [f"key{plan.keys.index(key)}" for key in search.keys]
        beside = [f"candidate {name}" for name in search.candidates]
        self._needed = [own(name) for name in (*keys, *beside, "kept", "rows", "people")]
        self._needed += [own("weight")] if plan.weight else []
        most = MOST_LEVELS + len(plan.tokens) + 1
        self._texts = {name: TextCoder(most) for name in search.candidates}

    def take(self, rows: pl.DataFrame) -> None:
        """Counts the rows of a chunk, once there are enough: few rows would wait for the lock."""
        self._waiting.append(rows.select(self._needed))
        if sum(rows_waiting.height for rows_waiting in self._waiting) >= _BATCH:
            self.finish()

    def finish(self) -> None:
        """Counts the rows that wait."""
        if self._waiting:
            rows = pl.concat(self._waiting, rechunk=True)
            self._waiting = []
            for chunk in rows.iter_slices(_BATCH):
                self._add(chunk)

    def _add(self, rows: pl.DataFrame) -> None:
        columns = self._keys.columns(rows, self._keys.coded(rows))
        kept = rows[own("kept")].fill_null(len(_KEPT) - 1).to_numpy(), _KEPT
        shared = [kept, *(columns[key] for key in self._search.keys)]

        def candidate(name: str) -> Column | None:
            coder = self._texts[name]
            codes = coder.codes(rows[own(f"candidate {name}")])
            return None if codes is None else (codes, coder.levels)

        self.crossing.add(shared, candidate, _measured(rows, self._plan))


def _measured(rows: pl.DataFrame, plan: Plan) -> dict[str, pa.Array]:
    """People and weights, by the names of their columns."""
    named = {plan.count: "people", plan.weight: "weight"}
    columns = {own("rows"): "rows", **{name: column for name, column in named.items() if name}}
    return {
        name: rows[own(column)].alias("").rechunk().to_arrow() for name, column in columns.items()
    }
