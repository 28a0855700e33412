"""Route 2, Parquet route: counts rows by their dictionary codes, in Arrow and NumPy.

A batch at a time, row groups in several threads: the codes of the columns become one number by
mixed radix, and what is counted is added up in a dense table that each thread keeps for a file. It
serves where keys are texts, booleans, small integers or numbers cut at edges, and no filter is
asked; any other file is left to the Polars route, with equal counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.progress import Progress
from fairaudit.counting.partial_counts import (
    Codes,
    Column,
    Level,
    NotServed,
    PartialCounts,
    places,
    raw_key,
)
from fairaudit.counting.plan import Key, Plan
from fairaudit.counting.routes.candidate_tables import CandidateTables
from fairaudit.counting.routes.cross_tables import TableCounter
from fairaudit.counting.routes.dictionary_codes import KeyCoder, make_coder, scores
from fairaudit.counting.routes.scores import ScoreCounter
from fairaudit.counting.routes.sums import sums_of
from fairaudit.counting.sources.parquet import DELTA_TEXTS, TEXT, Layout, RowGroup
from fairaudit.counting.sources.sources import SharedWork, SourceFile

_BATCH = 2**17
"""Rows at a time: their codes stay in the cache of a core."""

_MOST_CELLS = 2**20


class _File(NamedTuple):
    """A Parquet file: where it is, what it is called, its layout, and its footer to Arrow."""

    path: Path
    name: str
    layout: Layout
    meta: pq.FileMetaData


class _Task(NamedTuple):
    """A row group to count."""

    file: _File
    group: int


def count(
    files: Mapping[str, SourceFile], plan: Plan, progress: Progress
) -> dict[str, list[PartialCounts]]:
    """The counts of those Parquet files that this route serves, by name."""
    if (
        plan.filter
        or plan.adding.columns
        or (plan.count and plan.weight)
        or plan.measures_may_be_missing
        or plan.cluster
        or plan.models
        or plan.is_derived
    ):
        return {}
    tasks = [task for name, source in files.items() for task in _tasks(source, name, plan)]
    if not tasks:
        return {}
    work = _Work(tasks, plan, progress)
    work.run()
    return {name: parts for name, parts in work.found.items() if name not in work.refused}


def _tasks(source: SourceFile, name: str, plan: Plan) -> list[_Task]:
    """The row groups of a file; none where the file is not served."""
    layout = source.layout
    if layout is None:
        return []
    try:
        with pq.ParquetFile(source.path) as opened:
            file = _File(source.path, name, layout, opened.metadata)
            schema = opened.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise DataError.unreadable(name, "damaged, truncated or gone") from error
    names = _columns(plan)
    if any(schema.names.count(name) != 1 for name in names):
        return []
    if any(pa.types.is_nested(schema.field(name).type) for name in names):
        return []
    try:
        _make_coders(schema, plan, [*plan.every_key, *_candidates(plan)])
    except NotServed:
        return []
    if not layout.rows or not all(_is_coded(group, {*names}) for group in layout.groups):
        return []
    return [_Task(file, group) for group in range(len(layout.groups))]


def _is_coded(group: RowGroup, names: set[str]) -> bool:
    """Whether pyarrow reads its texts as dictionary codes; of the delta encodings it does not."""
    return not any(
        chunk.encodings & DELTA_TEXTS for chunk in group.of(names) if chunk.leaf.kind == TEXT
    )


def _make_coders(schema: pa.Schema, plan: Plan, keys: Iterable[Key]) -> list[tuple[Key, KeyCoder]]:
    return [(key, make_coder(key, schema.field(key.column).type, plan)) for key in keys]


def _candidates(plan: Plan) -> list[Key]:
    return [Key(name) for name in plan.candidates]


def _columns(plan: Plan) -> list[str]:
    """Every column to read, each once."""
    measured = [name for name in (plan.count, plan.weight) if name is not None]
    keys = (key.column for key in plan.every_key)
    return list(dict.fromkeys([*keys, *measured, *plan.candidates]))


class _Work(SharedWork[_Task]):
    """Row groups that several threads share; what each thread counted in each file."""

    def __init__(self, tasks: Sequence[_Task], plan: Plan, progress: Progress) -> None:
        super().__init__(tasks, progress)
        self.found: dict[str, list[PartialCounts]] = {}
        self._plan = plan

    def run_thread(self) -> None:
        """Counts one row group after the other; each thread reads by a handle of its own."""
        counter: _Counter | None = None
        while (task := self.next_job()) is not None:
            if task.file.name in self.refused:
                continue
            try:
                if counter is None or counter.file is not task.file:
                    self._keep(counter)
                    counter = _Counter(task.file, self._plan)
                for batch in counter.batches(task.group):
                    if self.stopped:
                        return
                    counter.add(batch)
                self.progress.advance(task.file.layout.groups[task.group].rows, "rows")
            except NotServed:
                self.refused.add(task.file.name)
                counter = None
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                # The other threads need not count what nobody will see.
                self.stopped = True
                why = "damaged, truncated or gone"
                raise DataError.unreadable(task.file.name, why) from error
        self._keep(counter)

    def _keep(self, counter: _Counter | None) -> None:
        if counter is not None:
            with self.lock:
                self.found.setdefault(counter.file.name, []).extend(counter.counted())


class _Counter:
    """Counts batches of one file in a dense table, which is closed where its room is spent."""

    def __init__(self, file: _File, plan: Plan) -> None:
        self.file = file
        names = _columns(plan)
        self._reader = pq.ParquetFile(
            file.path, metadata=file.meta, read_dictionary=names, pre_buffer=False
        )
        self._names = [name for name in names if name not in plan.candidates]
        all_coders = _make_coders(self._reader.schema_arrow, plan, plan.every_key)
        self._coders, self._table_coders = (
            all_coders[: len(plan.keys)],
            all_coders[len(plan.keys) :],
        )
        self._search = _Search(self._reader.schema_arrow, plan) if plan.search else None
        self._sums = sums_of(plan, _BATCH)
        self._scores = {column: ScoreCounter(plan, column) for column in plan.scores}
        self._tables = TableCounter(plan) if plan.tables else None
        self._levels: tuple[tuple[Level, ...], ...] = ()
        self._closed: list[PartialCounts] = []
        # Half as wide while it is worked out, whole where it points.
        self._cell = np.empty(_BATCH, dtype=np.int32)
        self._index = np.empty(_BATCH, dtype=np.intp)

    def batches(self, group: int) -> Iterator[pa.RecordBatch]:
        """The rows of a row group, a batch at a time."""
        if self._search is not None:
            self._search.begin(self._reader, group)
        yield from _batches(self._reader, group, self._names)

    def add(self, batch: pa.RecordBatch) -> None:
        """Counts the rows of a batch."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        codes = [coder.codes(columns[key.column]) for key, coder in self._coders]
        while not self._sums.take(columns):
            self._close()
            self._sums = self._sums.finer()
        levels = tuple(coder.levels for _, coder in self._coders)
        if not self._sums.has_room:
            self._close()
        if not self._levels:
            self._open(levels)
            if not self._sums.has_room:
                raise NotServed
        elif levels != self._levels:
            self._rearrange(levels)
        cell = self._cell[: batch.num_rows]
        cell[:] = codes[0]
        for key_codes, known in zip(codes[1:], levels[1:], strict=True):
            cell *= len(known)
            cell += key_codes
        index = self._index[: batch.num_rows]
        index[:] = cell
        self._sums.add(index)
        if self._scores or self._tables:
            read = zip(self._coders, codes, levels, strict=True)
            keys = {key: (key_codes, key_levels) for (key, _), key_codes, key_levels in read}
            for column, counted in self._scores.items():
                counted.add(keys, scores(columns[column]), self._sums.people)
            self._add_tables(keys, columns)
        if self._search is not None:
            self._search.add(codes, levels, columns)

    def _add_tables(self, keys: Mapping[Key, Column], columns: Mapping[str, pa.Array]) -> None:
        """Counts the tables beside; where their dictionaries are too wide, the other route does."""
        if self._tables is None:
            return
        others = {
            key: (coder.codes(columns[key.column]), coder) for key, coder in self._table_coders
        }
        read = {key: (codes, coder.levels) for key, (codes, coder) in others.items()}
        self._tables.add({**keys, **read}, self._sums.people)
        if self._tables.too_wide is not None:
            raise NotServed

    def counted(self) -> list[PartialCounts]:
        """What was counted."""
        self._close()
        if self._scores and self._closed:
            parts = {
                column: score_counter.closed() for column, score_counter in self._scores.items()
            }
            self._closed[0] = replace(self._closed[0], scores=parts)
        if self._tables and self._closed:
            self._closed[0] = replace(self._closed[0], tables=self._tables.closed())
        if self._search is not None and self._closed:
            # Once, for the parts of a file are added up.
            self._closed[0] = replace(self._closed[0], candidate_tables=self._search.counted())
        return self._closed

    def _open(self, levels: tuple[tuple[Level, ...], ...]) -> None:
        self._sums.open(self._size(levels))
        self._levels = levels

    def _rearrange(self, levels: tuple[tuple[Level, ...], ...]) -> None:
        """Brings the table into line with levels that grew, or stand in another order."""
        self._size(levels)
        old, new = (tuple(map(len, named)) for named in (self._levels, levels))
        self._sums.rearrange(old, [*map(places, self._levels, levels)], new)
        self._levels = levels

    def _size(self, levels: tuple[tuple[Level, ...], ...]) -> int:
        size = math.prod(map(len, levels))
        if size * self._sums.tables > _MOST_CELLS:
            raise NotServed
        return size

    def _close(self) -> None:
        """The cells that occur, in the form that every route gives."""
        if not self._levels:
            return
        cells, measures = self._sums.close()
        codes = np.unravel_index(cells, tuple(map(len, self._levels)))
        keys = (
            raw_key(key, levels, key_codes)
            for (key, _), levels, key_codes in zip(self._coders, self._levels, codes, strict=True)
        )
        kept = np.ones(len(cells), dtype=np.int64)
        self._closed.append(PartialCounts(tuple(keys), kept, measures))
        self._levels = ()


def _batches(reader: pq.ParquetFile, group: int, names: list[str]) -> Iterator[pa.RecordBatch]:
    """Columns of a row group, a batch of rows at a time."""
    for batch in reader.iter_batches(_BATCH, [group], names, use_threads=False):
        if batch.num_rows:
            yield batch


class _Search:
    """The tables of a search, from the codes that the counter has already and the candidates'."""

    def __init__(self, schema: pa.Schema, plan: Plan) -> None:
        assert plan.search is not None
        coders = _make_coders(schema, plan, _candidates(plan))
        self._coders = {key.column: coder for key, coder in coders}
        self._shared = [plan.keys.index(key) for key in plan.search.keys]
        self._crossing = CandidateTables(plan, plan.search, _BATCH)
        self._read: dict[str, Iterator[pa.RecordBatch]] = {}

    def begin(self, reader: pq.ParquetFile, group: int) -> None:
        """Begins a row group. Each candidate is read by itself: what is read is counted at once."""
        self._read = {name: _batches(reader, group, [name]) for name in self._coders}

    def add(
        self,
        codes: Sequence[Codes],
        levels: Sequence[tuple[Level, ...]],
        measured: Mapping[str, pa.Array],
    ) -> None:
        """Counts the rows of a batch, and reads the candidates' on the way."""
        rows = len(codes[0])

        def candidate(name: str) -> tuple[Codes, tuple[Level, ...]]:
            batch = next(self._read[name], None)
            if batch is None or batch.num_rows != rows:
                raise NotServed
            coder = self._coders[name]
            return coder.codes(batch.column(0)), coder.levels

        kept = np.zeros(rows, dtype=np.intp), (1,)
        shared = [kept, *((codes[number], levels[number]) for number in self._shared)]
        self._crossing.add(shared, candidate, measured)

    def counted(self) -> dict[str, list[PartialCounts] | None]:
        """What was counted of each candidate; None where it has too many levels."""
        return self._crossing.counted()
