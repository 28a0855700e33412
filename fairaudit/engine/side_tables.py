"""What is counted beside the cube in the Polars route: the rows of a chunk as codes, in threads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

import polars as pl
import pyarrow as pa

from fairaudit.engine.candidate_tables import CandidateTables
from fairaudit.engine.candidates import MOST_LEVELS
from fairaudit.engine.dictionary_codes import DictionaryTexts
from fairaudit.engine.partial_counts import Codes, Column, PartialCounts
from fairaudit.engine.polars_numbers import own, texts_of
from fairaudit.engine.text_codes import TextCoder
from fairaudit.plan import MISSING, Key, Plan, Search

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
        return {key: _coded(rows[self._names[key]]) for key in self._axes}

    def columns(self, rows: pl.DataFrame, coded: Mapping[Key, pa.Array]) -> dict[Key, Column]:
        """The codes and levels of each key for the rows of a chunk, one thread at a time."""
        return {key: self._column(key, rows, coded) for key in self._names}

    def _column(self, key: Key, rows: pl.DataFrame, coded: Mapping[Key, pa.Array]) -> Column:
        if key.edges is not None:
            levels = (*range(len(key.edges) + 1), MISSING)
            codes: Codes = rows[self._names[key]].fill_null(len(key.edges) + 1).to_numpy()
            return codes, levels
        return self._axes[key].codes(coded[key]), self._axes[key].levels


def _coded(column: pl.Series) -> pa.Array:
    """A column of levels as the dictionary of their texts."""
    return texts_of(column).alias("").cast(pl.Categorical).to_arrow()


class CandidateCounter:
    """Counts the tables of a search in chunks that several threads pass on."""

    def __init__(self, plan: Plan, search: Search) -> None:
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

    def __init__(self, plan: Plan, search: Search) -> None:
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
