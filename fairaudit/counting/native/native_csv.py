"""Native route for CSV: the kernel checks and counts a file in one pass.

The kernel counts a file if each key column, and each column of the filter, has at most a few
thousand different texts. Columns of weights and counts may have any number of values. The columns
of the filter are columns of the cells as well, so the filter is applied to cells, not to rows. For
scores, sums and derived columns, the kernel counts groups of equal rows, if there are few, and
Polars evaluates each group once.

Other readers read the files that the kernel cannot count. If a file has a fault, they read the file
again, to report the line of the fault.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from fairaudit.base.arrays import TINY, Ints
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.frozen import replace
from fairaudit.base.processes import Progress
from fairaudit.counting import load_kernel
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.counts import PartialCounts
from fairaudit.counting.native import CellTable
from fairaudit.counting.plan import Key, Plan, merge_plans
from fairaudit.counting.raw_counts import RawKey, unite_keys
from fairaudit.counting.sources import SourceFile, open_bytes, run_in_threads, thread_count
from fairaudit.counting.sources.column_checks import columns_read, parse_filter
from fairaudit.cube import distinct_rows

if TYPE_CHECKING:
    from fairaudit.counting.filter import Filter

_TEXTS = Key("")
"""A placeholder, for a `RawKey` that only joins texts."""


class Table(NamedTuple):
    """The counts of a thread: the number of its lines, the texts of each column, and its cells.

    Each cell has `codes` (of its texts), a number of `rows`, and `sums` (four words). `largest` is
    the largest weight, and `error` is the largest rounding error of a weight.
    """

    lines: int
    texts: Sequence[Sequence[bytes | None]]
    codes: bytes
    rows: bytes
    sums: bytes
    largest: float
    error: float


def count_groups(
    plan: Plan, name: str, columns: Sequence[str], tables: Sequence[Table]
) -> PartialCounts | None:
    """The counts for a plan from groups of equal rows, which Polars evaluates.

    `columns` are all columns that the plan reads. Returns None if the data has a fault: the
    next route finds the fault again, and reports the row of the fault.
    """
    import polars as pl

    from fairaudit.counting.routes import polars_route
    from fairaudit.counting.sources.batches import Batch, own

    texts = {name: _column(tables, place, len(columns)) for place, name in enumerate(columns)}
    series = {
        name: pl.Series(text.levels, dtype=pl.String)[text.codes] for name, text in texts.items()
    }
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    frame = pl.DataFrame({**series, own("times"): rows})
    batch = Batch(frame.lazy(), frame.schema, (name,), times=own("times"))
    try:
        return polars_route.count_batch(batch, plan)
    except FairauditError:
        return None


def join(
    plan: Plan, rule: Filter | None, columns: Sequence[str], tables: Sequence[Table]
) -> PartialCounts | None:
    """The cells of all threads together; None if another route must read the file.

    Another route adds up tiny weights. It also reports texts in a column of numbers, and a filter
    that cannot be applied.
    """
    largest = max(table.largest for table in tables)
    if plan.weight and largest < TINY:  # Polars adds up tiny weights with more decimals
        return None
    texts = {name: _column(tables, place, len(columns)) for place, name in enumerate(columns)}
    keys = []
    for key in plan.keys:
        column = texts[key.column]
        if not key.is_cut:
            keys.append(RawKey(key, column.codes, column.levels))
            continue
        from fairaudit.counting.routes.polars_route import intervals_of_texts

        intervals = intervals_of_texts(key, column.levels, plan)
        if intervals is None:
            return None
        keys.append(RawKey(key, intervals[column.codes]))
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    kept: Ints | None = np.ones(len(rows), np.int64)
    if rule is not None:
        from fairaudit.counting.routes.polars_numbers import kept_by

        levels = {name: texts[name].levels for name in rule.columns}
        kept = kept_by(levels, {name: texts[name].codes for name in rule.columns}, plan)
    if kept is None:
        return None
    codes = np.stack([*(key.codes for key in keys), kept], axis=1).astype(np.int32)
    cells, cell_of = distinct_rows(codes)
    has_sums = bool(plan.weight or plan.count)
    joined = CellTable(len(cells), has_sums=has_sums)
    joined.largest, joined.error = largest, max(table.error for table in tables)
    np.add.at(joined.rows, cell_of, rows)
    if has_sums:
        # Each sum has two words of 64 bits.
        words = np.concatenate([np.frombuffer(table.sums, np.uint64) for table in tables])
        low, high = np.moveaxis(words.reshape(-1, 2, 2), -1, 0)
        np.add.at(joined.sums, cell_of, low + (high.astype(object) << 64))
    *of_keys, kept = cells.T.astype(np.int64)
    raw_keys = (
        RawKey(key.key, column, key.levels) for key, column in zip(keys, of_keys, strict=True)
    )
    return PartialCounts((*raw_keys,), kept, *joined.measures(plan, np.arange(len(cells))))


def _column(tables: Sequence[Table], place: int, column_count: int) -> RawKey:
    """A column of the cells of all threads, with only the texts that occur in a cell."""
    parts = []
    for table in tables:
        codes = np.frombuffer(table.codes, dtype=np.uint16).reshape(-1, column_count)[:, place]
        used, places = np.unique(codes, return_inverse=True)
        known = [table.texts[place][code] for code in used.tolist()]
        texts = tuple(None if text is None else text.decode() for text in known)
        parts.append(RawKey(_TEXTS, places, texts))
    return unite_keys(parts)


_BLOCK = 2**19
"""Bytes of a block, which fits into the cache of a processor core."""

_PADDING = 64
"""Bytes after a block that the kernel may read, and ignores."""

_MOST_THREADS = 16


def check(file: SourceFile, plans: Sequence[Plan], progress: Progress) -> SourceFile | None:
    """The checked file, with joint counts for all plans if the kernel can count them.

    Returns None without the kernel, or if the file needs another reader. Raises `DataError`
    if the file changes while it is read, or cannot be read.
    """
    form = plans[0].format
    is_read = form.separator.isascii() and not form.multiline
    native = load_kernel() if is_read else None
    if native is None:
        return None
    plan = plans[0] if len(plans) == 1 else merge_plans(plans)
    # Columns of the same name are ambiguous.
    is_served = plan is not None and plan.keys and len({*file.header}) == len(file.header)
    tables, counts = None, None
    try:
        before = _state(file.path)
        if plan is not None and is_served and not (plan.models or plan.cluster or plan.repeats):
            progress.start(f"counting {file.file.path}", file.unpacked_size, "bytes")
            tables, counts = _count(native, file, plan, progress)
        if counts is None:
            progress.start(f"checking {file.file.path}", file.unpacked_size, "bytes")
            tables = _read_tables(native, file, form, (), (), progress)
        if _state(file.path) != before:
            what = f"{file.file.path}: the file changed while it was read"
            raise DataError(what, "run again")
    except OSError as error:
        if file.unpacked_size is None:
            return None  # the next reader decompresses the file, and reports the damage
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    if tables is None:
        return None
    lines = sum(table.lines for table in tables)  # each line is a record
    counted = None if plan is None or counts is None else (plan, counts)
    return replace(file.with_lines(lines + form.other_lines), records=lines, counts=counted)


def _count(
    native: ModuleType, file: SourceFile, plan: Plan, progress: Progress
) -> tuple[list[Table], PartialCounts | None]:
    """The tables of the threads, and the counts for a plan.

    The list of tables is empty if the kernel cannot read the file. The counts are None if another
    route must count the file.
    """
    header, measure, rule = file.header, plan.weight or plan.count, parse_filter(plan)
    measured = plan.scores or plan.adding.columns or (plan.count and plan.weight)
    # C reads weights and counts, but not numbers that mean missing, such as -999.
    by_groups = measured or plan.tables or plan.is_derived or plan.measures_may_be_missing
    number: _Number = ()
    if by_groups:
        needed = columns_read([plan])
        columns = [name for name in header if name in needed]
    else:
        names = [*(sorted(rule.columns) if rule else ()), *(key.column for key in plan.keys)]
        columns = [*dict.fromkeys(names)]
        if measure is not None:
            decimal = ord(plan.format.decimal)
            number = header.index(measure), decimal, plan.weight is not None
    read = _read_tables(native, file, plan.format, columns, number, progress)
    tables = [table for table in read or () if table.lines]
    if not tables:
        return [], None
    if by_groups:
        return tables, count_groups(plan, file.file.path, columns, tables)
    return tables, join(plan, rule, columns, tables)


def _state(path: Path) -> tuple[int, int]:
    """The size of a file and the time of its last change, which show whether it changed."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


_Number: TypeAlias = tuple[int, int, bool] | tuple[()]
"""The index of the column of weights or counts, the decimal sign, and whether it has weights."""


class LineBlocks:
    """The lines of a file after its header, in blocks; each thread takes the next block."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._rest = b""

    def read(self, buffer: bytearray) -> Iterator[int]:
        """Reads blocks of whole lines. Yields the size of a block, or 0 if a line is too long."""
        while True:
            with self._lock:
                end = len(self._rest)
                buffer[:end] = self._rest
                end += self._stream.readinto(memoryview(buffer)[end:_BLOCK])
                if not end:
                    return
                if end < _BLOCK and not buffer.endswith(b"\n", 0, end):
                    buffer[end : end + 1] = b"\n"  # the last line may have no line end
                    end += 1
                lines = buffer.rfind(b"\n", 0, end) + 1
                self._rest = bytes(buffer[lines:end])
            yield lines


def _read_tables(
    native: ModuleType,
    file: SourceFile,
    form: CsvFormat,
    columns: Sequence[str],
    number: _Number,
    progress: Progress,
) -> list[Table] | None:
    """The table of each thread, by `columns`; None if the kernel cannot read or count a line."""
    stopped = threading.Event()
    size, _ = _state(file.path)
    places = tuple(map(file.header.index, columns))
    with open_bytes(file.path) as stream:
        if not stream.readline(_BLOCK).endswith(b"\n"):
            return None
        blocks = LineBlocks(stream)

        def count() -> Table | None:
            separator, fields = ord(form.separator), len(file.header)
            table = native.csv_table(separator, fields, places, number, 0)
            buffer, total = bytearray(_BLOCK + 1 + _PADDING), 0
            for end in blocks.read(buffer):
                is_done = stopped.is_set() or not end
                lines = None if is_done else native.count_csv(table, buffer, end)
                if lines is None:
                    stopped.set()
                    return None
                total += lines
                progress.advance(end, "bytes")
            return Table(total, *native.csv_counts(table))

        threads = min(thread_count(), _MOST_THREADS, 1 + size // _BLOCK)
        tables = run_in_threads(threads, count, stopped.set)
    sound = [table for table in tables if table is not None]
    return sound if len(sound) == len(tables) else None
