"""The CSV route of a search: plain records are counted by the codes of their fields.

A reader makes a text of each field, which for forty columns takes three times as long as all else.
Here fields are told apart as they lie in the file. It serves plain files without quotes whose keys
have few different texts, where each row is one person; any other is left to the Polars route, with
equal counts.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.candidate_tables import CandidateTables, Column, KeyCombinations
from fairaudit.engine.csv_fields import PADDING, FieldCoder
from fairaudit.engine.partial_counts import Level, Measures, PartialCounts
from fairaudit.engine.plain_csv import THREADS, line_blocks, parts
from fairaudit.engine.polars_route import intervals_of_texts
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError
from fairaudit.plan import MISSING, Key, Plan, Search
from fairaudit.progress import Progress

_BLOCK = 2**18
"""Bytes at a time: what is worked out of them stays in the cache of a core."""

_BATCH = 2**17
"""Rows that are counted at a time."""


def count(file: SourceFile, plan: Plan, progress: Progress) -> list[PartialCounts] | None:
    """The counts of a file whose lines are proven to be plain; None where it is not served."""
    if plan.search is None or not plan.search.candidates or not _is_served(plan):
        return None
    ranges = parts(file.path, file.unpacked_size or 0, THREADS)
    if ranges is None:
        return None
    work = _Work(file, plan, plan.search, progress)
    with ThreadPoolExecutor(len(ranges)) as pool:
        try:
            counted = pool.map(lambda ends: work.count(*ends), ranges)
            # A part, or the whole file, may have no row.
            return [part for part in counted if part is not None] or None
        except NotServed:
            return None
        except OSError as error:
            why = "damaged, truncated or gone"
            raise DataError.unreadable(file.file.path, why) from error
        finally:
            # After an interruption, or a fault, nobody waits for the blocks that are left.
            work.stopped.set()


def _is_served(plan: Plan) -> bool:
    more = (plan.filter, plan.count, plan.weight, plan.scores, plan.adding.columns, plan.tables)
    return not any(more)


class _Work:
    """A file that several threads share, and what each needs to know of it."""

    def __init__(self, file: SourceFile, plan: Plan, search: Search, progress: Progress) -> None:
        self.stopped = threading.Event()
        self._path = file.path
        self._plan = plan
        self._search = search
        self._progress = progress
        self._fields = len(file.header)
        places = {name: number for number, name in enumerate(file.header)}
        self._keys = [places[key.column] for key in plan.keys]
        self._columns = [*self._keys, *(places[name] for name in search.candidates)]

    def count(self, start: int, stop: int) -> PartialCounts | None:
        """The counts of a part of the file that begins with a line; None where it has no row."""
        separator = self._plan.format.separator
        fields = FieldCoder(separator, self._fields, self._columns, self._keys)
        counter = _Counter(self._plan, self._search)
        waiting: list[NDArray[np.int16]] = []
        buffer = bytearray(_BLOCK + PADDING)
        for end in line_blocks(self._path, start, stop, buffer, _BLOCK):
            if self.stopped.is_set() or not end:
                raise NotServed
            waiting.append(fields.codes(buffer, end))
            if sum(codes.shape[1] for codes in waiting) >= _BATCH:
                counter.add(np.concatenate(waiting, axis=1), fields)
                self._progress.advance(sum(codes.shape[1] for codes in waiting), "rows")
                waiting = []
        if waiting:
            counter.add(np.concatenate(waiting, axis=1), fields)
        return counter.counted()


class _Counter:
    """Counts batches of codes: the cube's keys, and the tables beside it."""

    def __init__(self, plan: Plan, search: Search) -> None:
        self._plan = plan
        self._crossing = CandidateTables(plan, search, 2 * _BATCH)
        self._shared = [plan.keys.index(key) for key in search.keys]
        self._places = {
            name: number for number, name in enumerate(search.candidates, start=len(plan.keys))
        }
        self._cuts = {
            number: CutCoder(key, plan)
            for number, key in enumerate(plan.keys)
            if key.edges is not None
        }
        self._groups = KeyCombinations()
        self._rows = np.zeros(0, dtype=np.int64)

    def add(self, codes: NDArray[np.int16], fields: FieldCoder) -> None:
        """Counts the rows of a batch, [columns, rows]."""

        def column(number: int) -> Column | None:
            levels = fields.levels[number]
            if levels is None:
                return None
            cut = self._cuts.get(number)
            return (codes[number], levels) if cut is None else cut.column(codes[number], levels)

        kept = np.zeros(codes.shape[1], dtype=np.int16), (1,)
        keys = [
            key for number in range(len(self._plan.keys)) if (key := column(number)) is not None
        ]
        numbers = self._groups.numbers([kept, *keys])
        rows = np.bincount(numbers, minlength=len(self._rows))
        rows[: len(self._rows)] += self._rows
        self._rows = rows
        shared = [kept, *(keys[number] for number in self._shared)]
        measured: Mapping[str, pa.Array] = {"": codes[0]}
        self._crossing.add(shared, lambda name: column(self._places[name]), measured)

    def counted(self) -> PartialCounts | None:
        """What was counted; None where nothing was."""
        if not len(self._rows):
            return None
        numbers = np.flatnonzero(self._rows)
        kept, keys = self._groups.keys(self._plan.keys)(numbers)
        rows = self._rows[numbers]
        beside: Mapping[str, Sequence[PartialCounts] | None] = self._crossing.counted()
        return PartialCounts(tuple(keys), kept, Measures(rows, rows), candidate_tables=beside)


class CutCoder:
    """The intervals of one key, by the texts of its column as they are seen."""

    def __init__(self, key: Key, plan: Plan) -> None:
        self._key = key
        self._plan = plan
        self._of: Sequence[Level] = ()
        self._codes = np.empty(0, dtype=np.int16)
        self._last = len(key.edges or ()) + 1

    def column(self, codes: NDArray[np.int16], levels: tuple[Level, ...]) -> Column:
        """The intervals of rows that hold these texts; raises `NotServed` for what is no number."""
        if levels is not self._of:
            self._parse(levels)
        return np.take(self._codes, codes), (*range(self._last), MISSING)

    def _parse(self, levels: tuple[Level, ...]) -> None:
        codes = intervals_of_texts(self._key, levels, self._plan)
        if codes is None:
            raise NotServed  # the other route tells which row it is
        self._codes = np.where(codes == MISSING, self._last, codes).astype(np.int16)
        self._of = levels
