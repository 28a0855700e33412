"""The Parquet route: columns are counted by their dictionary codes and never turned into texts.

A row group at a time, in two threads: the codes of the columns become one number by mixed radix,
and a dense count of that number is the table. It serves where every key is a text, a boolean or a
small integer and nothing else is asked; any other file is left to the Polars route, with equal
counts.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from fairaudit.cube import Ints
from fairaudit.engine.polars import Counted
from fairaudit.errors import DataError
from fairaudit.plan import Plan, RawKey

_THREADS = 2
_MOST_CELLS = 2**22
_MOST_LEVELS = 2**16
_LARGEST_ROW_GROUP = 2**24


class _Column(NamedTuple):
    """A column of one row group: a code for each row, and the level of each code (None: null)."""

    codes: NDArray[np.integer]
    levels: tuple[str | None, ...]


class _Table(NamedTuple):
    """The counts of one row group, an axis for each column, levels in ascending order."""

    levels: tuple[tuple[str | None, ...], ...]
    counts: Ints


class _NotServed(Exception):
    """This file is for the other route."""


def count(path: Path, name: str, plan: Plan) -> list[Counted] | None:
    """The counts of a Parquet file; None where this route does not serve."""
    if plan.count or plan.weight or plan.filter or any(key.edges is not None for key in plan.keys):
        return None
    columns = list(dict.fromkeys(key.column for key in plan.keys))
    try:
        file = pq.ParquetFile(path)
        if not _serves(file, columns):
            return None
        tables = _tables(path, file.metadata.num_row_groups, columns)
        return [_counted(table, plan, columns) for table in _joined(tables)]
    except _NotServed:
        return None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError.unreadable(name, "damaged, truncated or gone") from error


def _serves(file: pq.ParquetFile, columns: Sequence[str]) -> bool:
    schema, meta = file.schema_arrow, file.metadata
    if any(schema.names.count(name) != 1 for name in columns):
        return False
    types = [schema.field(name).type for name in columns]
    groups = range(meta.num_row_groups)
    largest = max((meta.row_group(at).num_rows for at in groups), default=0)
    return all(map(_is_served, types)) and 0 < largest <= _LARGEST_ROW_GROUP


def _is_served(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def _tables(path: Path, groups: int, columns: Sequence[str]) -> Iterator[_Table]:
    """The table of each row group, in order; every thread reads by a handle of its own."""
    own = threading.local()

    def table(group: int) -> _Table:
        if not hasattr(own, "file"):
            own.file = pq.ParquetFile(path, read_dictionary=list(columns))
        rows = own.file.read_row_group(group, columns=list(columns), use_threads=False)
        return _table([_column(rows.column(name)) for name in columns])

    pool = ThreadPoolExecutor(_THREADS)
    try:
        yield from pool.map(table, range(groups))
    finally:
        # After an interruption nobody waits for the row groups that are left.
        pool.shutdown(wait=False, cancel_futures=True)


def _column(column: pa.ChunkedArray) -> _Column:
    if pa.types.is_dictionary(column.type):
        whole = column.unify_dictionaries().combine_chunks()
        array = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
        levels = array.dictionary.to_pylist()
        codes = _numbers(array.indices)
    else:
        whole = column.combine_chunks()
        array = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
        levels, codes = _small_numbers(array)
    if array.null_count:
        codes = np.where(_valid(array), codes, len(levels))
        levels = [*levels, None]
    if codes.size and not 0 <= codes.min() <= codes.max() < len(levels):
        raise pa.ArrowInvalid("a code without a level")
    if None in levels[:-1] or len(set(levels)) < len(levels) or len(levels) > _MOST_LEVELS:
        raise _NotServed
    return _Column(codes, tuple(levels))


def _small_numbers(array: pa.Array) -> tuple[list[str | None], NDArray[np.integer]]:
    """Booleans and integers as codes from 0; their levels as Polars writes them."""
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(array.buffers()[1], dtype=np.uint8)
        values = np.unpackbits(bits, bitorder="little")[array.offset : array.offset + len(array)]
        return ["false", "true"], values
    numbers = _numbers(array)
    valid = numbers[_valid(array)] if array.null_count else numbers
    if not len(valid):
        return [], np.zeros(len(array), dtype=np.int64)
    low, high = int(valid.min()), int(valid.max())
    if high - low >= _MOST_LEVELS:
        raise _NotServed
    codes = np.where(_valid(array), numbers, low) if array.null_count else numbers
    return [str(number) for number in range(low, high + 1)], codes.astype(np.int64) - low


def _numbers(array: pa.Array) -> NDArray[np.integer]:
    """The numbers of an array without copying; what lies under nulls is arbitrary."""
    dtype = np.dtype(array.type.to_pandas_dtype())
    found = np.frombuffer(array.buffers()[1], dtype=dtype)
    return found[array.offset : array.offset + len(array)]


def _valid(array: pa.Array) -> NDArray[np.bool_]:
    """Which entries are no nulls."""
    bitmap = (array.indices if pa.types.is_dictionary(array.type) else array).buffers()[0]
    bits = np.unpackbits(np.frombuffer(bitmap, dtype=np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)


def _table(columns: Sequence[_Column]) -> _Table:
    shape = [len(column.levels) for column in columns]
    if math.prod(shape) > _MOST_CELLS:
        raise _NotServed
    cell = np.zeros(len(columns[0].codes), dtype=np.int64)
    for column, size in zip(columns, shape, strict=True):
        cell *= size
        cell += column.codes
    counts = np.bincount(cell, minlength=math.prod(shape)).reshape(shape)
    for axis, column in enumerate(columns):
        order = sorted(range(shape[axis]), key=lambda at: _order(column.levels[at]))
        counts = np.take(counts, order, axis=axis)
    levels = tuple(tuple(sorted(column.levels, key=_order)) for column in columns)
    return _Table(levels, counts.astype(np.int64))


def _order(level: str | None) -> tuple[bool, str]:
    return level is None, level or ""


def _joined(tables: Iterator[_Table]) -> list[_Table]:
    """Tables of the same levels added up: as a rule one is left."""
    found: dict[tuple[tuple[str | None, ...], ...], Ints] = {}
    for table in tables:
        if table.levels in found:
            found[table.levels] += table.counts
        else:
            found[table.levels] = table.counts
    return [_Table(levels, counts) for levels, counts in found.items()]


def _counted(table: _Table, plan: Plan, columns: Sequence[str]) -> Counted:
    """The cells that occur, in the form that every route gives."""
    cells = np.nonzero(table.counts)
    rows = table.counts[cells]
    keys = []
    for key in plan.keys:
        axis = columns.index(key.column)
        # A dictionary may hold levels that no row has; they are none of the data's.
        used, codes = np.unique(cells[axis], return_inverse=True)
        keys.append(RawKey(key, codes, tuple(table.levels[axis][at] for at in used.tolist())))
    return Counted(
        keys=tuple(keys),
        kept=np.ones(len(rows), dtype=np.int64),
        rows=rows,
        people=rows,
        weights=([], []),
        squares=([], []),
        largest_weight=0.0,
        weight_errors=(0.0, 0.0),
    )
