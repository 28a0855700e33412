"""The Parquet route: columns are counted by their dictionary codes and never turned into texts.

A batch at a time, row groups in several threads: the codes of the columns become one number by
mixed radix, and a dense count of that number is the table. It serves where keys are texts,
booleans, small integers or numbers cut at edges, and no filter is asked; any other file is left to
the Polars route, with equal counts.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from fairaudit.cube import Ints
from fairaudit.engine.codes import Axis, Level, NotServed, floats
from fairaudit.engine.counted import LARGEST_COUNT, Counted, fixed
from fairaudit.errors import DataError
from fairaudit.plan import Plan, RawKey
from fairaudit.progress import Progress

_BATCH = 2**17
"""Rows at a time: their codes stay in the cache of a core."""

_MOST_CELLS = 2**20
_NOT_CODED = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}
_MOST = 2**62
_HALF = 31
"""A square is added up in two halves: so many bits, and the rest."""

Levels = tuple[tuple[Level, ...], ...]
"""The levels of each key."""


class _Table(NamedTuple):
    """Counts by the levels of each key: an array for each measure, with an axis for each key."""

    levels: Levels
    measures: tuple[Ints, ...]
    largest_weight: float
    weight_error: float


class _Counter:
    """Counts the batches of one row group; a table is closed where the levels change."""

    def __init__(self, schema: pa.Schema, plan: Plan) -> None:
        self._plan = plan
        self._keys = [
            (key.column, Axis(key, schema.field(key.column).type, plan)) for key in plan.keys
        ]
        self._levels: Levels = ()
        self._measures: list[Ints] = []
        self._room = 0
        self._largest = 0.0
        self._error = 0.0
        self._closed: list[_Table] = []
        # Half as wide while it is worked out, whole where it points.
        self._cell = np.empty(_BATCH, dtype=np.int32)
        self._index = np.empty(_BATCH, dtype=np.intp)

    def add(self, batch: pa.RecordBatch) -> None:
        """Counts the rows of a batch."""
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        codes = [axis.codes(columns[name]) for name, axis in self._keys]
        levels = tuple(axis.levels for _, axis in self._keys)
        measured, most = self._measured(columns)
        if levels != self._levels or most > self._room:
            self._close()
            self._open(levels, 1 + len(measured))
        self._room -= most
        cell = self._cell[: batch.num_rows]
        cell[:] = codes[0]
        for one, named in zip(codes[1:], levels[1:], strict=True):
            cell *= len(named)
            cell += one
        index = self._index[: batch.num_rows]
        index[:] = cell
        np.add.at(self._measures[0], index, 1)
        for total, values in zip(self._measures[1:], measured, strict=True):
            np.add.at(total, index, values)

    def tables(self) -> list[_Table]:
        """What was counted, levels in ascending order."""
        self._close()
        return self._closed

    def _measured(self, columns: Mapping[str, pa.Array]) -> tuple[list[Ints], int]:
        """What is added up beside the rows, and the most that it adds to any sum."""
        if self._plan.weight:
            weights = fixed(floats(columns[self._plan.weight]))
            if weights is None or int(weights.roots.max()) >= 2**_HALF:
                raise NotServed
            self._largest = max(self._largest, weights.largest)
            self._error = max(self._error, weights.error)
            squares = weights.roots * weights.roots
            halves = [squares >> _HALF, squares & (2**_HALF - 1)]
            return [weights.weights, *halves], len(squares) * int(weights.weights.max())
        if self._plan.count:
            people = floats(columns[self._plan.count])
            # `not` also holds for NaN.
            if not (people.min() >= 0 and people.max() <= LARGEST_COUNT):
                raise NotServed
            whole = people.astype(np.int64)
            if not np.array_equal(whole, people):
                raise NotServed
            return [whole], len(whole) * int(whole.max())
        return [], len(next(iter(columns.values())))

    def _open(self, levels: Levels, measures: int) -> None:
        size = math.prod(map(len, levels))
        if size * measures > _MOST_CELLS:
            raise NotServed
        self._levels, self._room = levels, _MOST
        self._measures = [np.zeros(size, dtype=np.int64) for _ in range(measures)]

    def _close(self) -> None:
        if not self._measures:
            return
        orders = [sorted(range(len(named)), key=_rank(named)) for named in self._levels]
        levels = tuple(
            tuple(named[at] for at in order)
            for named, order in zip(self._levels, orders, strict=True)
        )
        shape = tuple(map(len, levels))
        measures = tuple(one.reshape(shape)[np.ix_(*orders)] for one in self._measures)
        self._closed.append(_Table(levels, measures, self._largest, self._error))
        self._measures = []


def count(
    files: Sequence[tuple[Path, str]], plan: Plan, progress: Progress
) -> dict[str, list[Counted]]:
    """The counts of those Parquet files (path, name) that this route serves, by name."""
    if plan.filter or (plan.count and plan.weight):
        return {}
    tasks: list[_Task] = []
    for path, name in files:
        tasks += _tasks(path, name, plan)
    tables: dict[str, list[_Table]] = {task.name: [] for task in tasks}
    for task, found in zip(tasks, _run(tasks, plan, progress), strict=True):
        if found is None:
            tables.pop(task.name, None)
        elif task.name in tables:
            for table in found:
                _join(tables[task.name], table)
    return {name: [_counted(one, plan) for one in found] for name, found in tables.items()}


def _join(tables: list[_Table], new: _Table) -> None:
    """Adds a table to the one of the same levels, if there is one and no sum would overflow."""
    for at, old in enumerate(tables):
        if old.levels == new.levels:
            pairs = list(zip(old.measures, new.measures, strict=True))
            if all(int(one.max()) + int(two.max()) < _MOST for one, two in pairs):
                largest = max(old.largest_weight, new.largest_weight)
                error = max(old.weight_error, new.weight_error)
                total = tuple(one + two for one, two in pairs)
                tables[at] = _Table(new.levels, total, largest, error)
                return
    tables.append(new)


class _Task(NamedTuple):
    """A row group to count."""

    path: Path
    name: str
    group: int
    columns: tuple[str, ...]
    meta: pq.FileMetaData


def _tasks(path: Path, name: str, plan: Plan) -> list[_Task]:
    """The row groups of a file; none where the file is not served."""
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError.unreadable(name, "damaged, truncated or gone") from error
    with file:
        schema, columns = file.schema_arrow, _columns(plan)
        if any(schema.names.count(column) != 1 for column in columns):
            return []
        try:
            for key in plan.keys:
                Axis(key, schema.field(key.column).type, plan)
        except NotServed:
            return []
        groups = range(file.metadata.num_row_groups if file.metadata.num_rows else 0)
        if any(not _is_coded(file.metadata.row_group(group)) for group in groups):
            return []
        return [_Task(path, name, group, tuple(columns), file.metadata) for group in groups]


def _is_coded(group: pq.RowGroupMetaData) -> bool:
    """Whether pyarrow reads its texts as dictionary codes; of the delta encodings it does not."""
    chunks = (group.column(at) for at in range(group.num_columns))
    return not any(
        set(chunk.encodings) & _NOT_CODED for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"
    )


def _run(tasks: Sequence[_Task], plan: Plan, progress: Progress) -> Iterator[list[_Table] | None]:
    """The tables of each row group, in order; every thread reads by a handle of its own."""
    own = threading.local()
    refused: set[str] = set()

    def tables(task: _Task) -> list[_Table] | None:
        if task.name in refused:
            return None
        try:
            if getattr(own, "path", None) != task.path:
                own.path = task.path
                own.file = pq.ParquetFile(
                    task.path, metadata=task.meta, read_dictionary=list(task.columns)
                )
            counter = _Counter(own.file.schema_arrow, plan)
            for batch in own.file.iter_batches(
                _BATCH, [task.group], list(task.columns), use_threads=False
            ):
                if batch.num_rows:
                    counter.add(batch)
            progress.advance(task.meta.row_group(task.group).num_rows)
            return counter.tables()
        except NotServed:
            refused.add(task.name)
            return None
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise DataError.unreadable(task.name, "damaged, truncated or gone") from error

    pool = ThreadPoolExecutor(_thread_count())
    try:
        yield from pool.map(tables, tasks)
    finally:
        # After an interruption nobody waits for the row groups that are left.
        pool.shutdown(wait=False, cancel_futures=True)


def _thread_count() -> int:
    """As many threads as Polars takes: the machine's, or as its variable says."""
    asked = os.environ.get("POLARS_MAX_THREADS", "")
    return int(asked) if asked.isdecimal() and int(asked) else os.cpu_count() or 1


def _rank(levels: tuple[Level, ...]) -> Callable[[int], tuple[bool, str | int]]:
    """Orders the places of levels: ascending, null last."""

    def rank(at: int) -> tuple[bool, str | int]:
        level = levels[at]
        return (True, 0) if level is None else (False, level)

    return rank


def _counted(table: _Table, plan: Plan) -> Counted:
    """The cells that occur, in the form that every route gives."""
    cells = np.nonzero(table.measures[0])
    rows, *measured = (one[cells] for one in table.measures)
    keys = []
    for at, key in enumerate(plan.keys):
        # A dictionary may hold levels that no row has; they are none of the data's.
        used, codes = np.unique(cells[at], return_inverse=True)
        levels = [table.levels[at][one] for one in used.tolist()]
        if key.edges is None:
            keys.append(RawKey(key, codes, tuple(levels)))
        else:
            keys.append(RawKey(key, np.array(levels, dtype=np.int64)[codes]))
    counted = Counted(tuple(keys), np.ones(len(rows), dtype=np.int64), rows, rows)
    if plan.count:
        return replace(counted, people=measured[0])
    if not plan.weight:
        return counted
    weights, high, low = (one.tolist() for one in measured)
    squares = [(one << _HALF) + other for one, other in zip(high, low, strict=True)]
    nothing = [0] * len(weights)
    return replace(
        counted,
        weights=(weights, nothing),
        squares=(squares, nothing),
        largest_weight=table.largest_weight,
        weight_errors=(table.weight_error, 0.0),
    )


def _columns(plan: Plan) -> list[str]:
    """Every column to read, each once."""
    measured = [name for name in (plan.count, plan.weight) if name is not None]
    return list(dict.fromkeys([*(key.column for key in plan.keys), *measured]))
