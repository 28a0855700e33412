"""Route 1 of CSV: the native kernel checks (check 1) and counts in one reading.

It checks each file, quoted and packed or not, and counts those whose keys, and the columns of a
filter, have a few thousand texts; weights, or counts of people, may be any. Scores, numbers and
columns made of others are worked out for each group of equal rows, where those are few. The filter
looks at cells, not at rows: each has one text of every column that it names. Whatever else a file
or a plan has, and any fault, is left to the other readers: they tell a fault with its line. A
search is counted in a reading of its own, as the first rows of checked files tell which columns it
has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from io import BufferedReader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from fairaudit.base.arrays import Ints
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.fixed_point import TINY
from fairaudit.base.frozen import replace
from fairaudit.base.progress import Progress
from fairaudit.counting import kernel
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.native.native_cells import CellTable
from fairaudit.counting.partial_counts import PartialCounts
from fairaudit.counting.plan import Key, Plan, united
from fairaudit.counting.raw_keys import RawKey, unite_keys
from fairaudit.counting.routes.candidates import MOST_LEVELS
from fairaudit.counting.sources.column_checks import columns_read, parse_filter
from fairaudit.counting.sources.sources import (
    CheckedFile,
    SourceFile,
    open_bytes,
    run_in_threads,
    thread_count,
)
from fairaudit.cube import distinct_rows

if TYPE_CHECKING:
    from fairaudit.counting.filter import Filter

_TEXTS = Key("")
"""What stands for the key of a column while its texts are united."""

_ANY = 2**16
"""More texts than the kernel takes of a column."""


class CountedColumns(NamedTuple):
    """The columns that a plan counts by; the last may be one that is searched.

    What means missing is no level of that, and with too many levels its table is given up.
    """

    plan: Plan
    columns: Sequence[str]
    is_searched: bool = False

    @classmethod
    def of(cls, plan: Plan, rule: Filter | None) -> CountedColumns:
        """Those of a filter, and then those of the keys."""
        names = [*(sorted(rule.columns) if rule else ()), *(key.column for key in plan.keys)]
        return cls(plan, [*dict.fromkeys(names)])

    def beside(self, candidate: str) -> CountedColumns:
        """The same columns, and one that is searched."""
        return CountedColumns(
            self.plan.beside(candidate), [*self.columns, candidate], is_searched=True
        )

    @property
    def most(self) -> int:
        """How many texts the last column may have: the kernel has a limit for all."""
        return MOST_LEVELS + len(self.plan.tokens) + 1 if self.is_searched else _ANY


class Table(NamedTuple):
    """What a thread counted by some columns: the texts of each, and its cells.

    Those have codes, rows, and four words of sums each; `largest` and `error` are of all weights.
    """

    texts: Sequence[Sequence[bytes | None]]
    codes: bytes
    rows: bytes
    sums: bytes
    largest: float
    error: float


def whole(tables: Sequence[Table | None]) -> Iterator[Table | None]:
    """The tables of a thread by all their columns: the kernel counts those behind by its cells."""
    first = tables[0]
    yield first
    for table in tables[1:]:
        if table is None or first is None:
            yield None
            continue
        codes = np.frombuffer(table.codes, np.uint16).reshape(-1, 3)
        cells = codes[:, 0].astype(np.int64) | codes[:, 1].astype(np.int64) << 16
        shared = np.frombuffer(first.codes, np.uint16).reshape(-1, len(first.texts))[cells]
        every = np.hstack([shared, codes[:, 2:]])
        yield table._replace(texts=[*first.texts, table.texts[-1]], codes=every.tobytes())


def count_groups(
    plan: Plan, name: str, grouping: CountedColumns, tables: Sequence[Table]
) -> PartialCounts | None:
    """The counts of whatever a plan asks of its rows, each group of equal ones looked at once.

    `grouping` has all columns that the plan reads. None where something is at fault: by the rows
    that is told as it always is.
    """
    import polars as pl

    from fairaudit.counting.routes import scan
    from fairaudit.counting.sources.batches import Batch, own

    texts = {
        name: _column(tables, place, len(grouping.columns))
        for place, name in enumerate(grouping.columns)
    }
    columns = {
        name: pl.Series(text.levels, dtype=pl.String)[text.codes] for name, text in texts.items()
    }
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    frame = pl.DataFrame({**columns, own("times"): rows})
    batch = Batch(frame.lazy(), frame.schema, (name,), times=own("times"))
    try:
        (counts,) = scan.count_batch(batch, plan).values()
    except FairauditError:
        return None
    return counts if isinstance(counts, PartialCounts) else None


def join(
    rule: Filter | None, grouping: CountedColumns, given: Sequence[Table | None]
) -> PartialCounts | None:
    """The cells of all threads as one; None where a thread gave up, or they are for another route.

    That is so where a text is no number, and has to be one, and where the filter is at fault.
    """
    plan, columns = grouping.plan, grouping.columns
    tables = [table for table in given if table is not None]
    if len(tables) < len(given):
        return None
    largest = max(table.largest for table in tables)
    if plan.weight and largest < TINY:  # they are added up in a finer fixed point
        return None
    texts = {name: _column(tables, place, len(columns)) for place, name in enumerate(columns)}
    if grouping.is_searched:
        searched, missing = texts[columns[-1]], {"", *plan.tokens}
        levels = tuple(None if level in missing else level for level in searched.levels)
        texts[columns[-1]] = unite_keys([replace(searched, levels=levels)])
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
    kept = _apply_filter(plan, rule, texts)
    if kept is None:
        return None
    codes = np.stack([*(key.codes for key in keys), kept], axis=1).astype(np.int32)
    cells, cell_of = distinct_rows(codes)
    has_sums = bool(plan.weight or plan.count)
    joined = CellTable(len(cells), has_sums=has_sums)
    joined.largest, joined.error = largest, max(table.error for table in tables)
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    sums = [np.frombuffer(table.sums if has_sums else b"", np.uint64) for table in tables]
    joined.add_cells(cell_of, rows, np.concatenate(sums).reshape(-1, 2, 2))
    *of_keys, kept = cells.T.astype(np.int64)
    raw_keys = (
        RawKey(key.key, column, key.levels) for key, column in zip(keys, of_keys, strict=True)
    )
    return PartialCounts((*raw_keys,), kept, joined.measures(plan, np.arange(len(cells))))


def _column(tables: Sequence[Table], place: int, column_count: int) -> RawKey:
    """The texts of a column in the cells of all threads, those alone that some row has."""
    parts = []
    for table in tables:
        codes = np.frombuffer(table.codes, dtype=np.uint16).reshape(-1, column_count)[:, place]
        used, places = np.unique(codes, return_inverse=True)
        known = [table.texts[place][code] for code in used.tolist()]
        texts = tuple(None if text is None else text.decode() for text in known)
        parts.append(RawKey(_TEXTS, places, texts))
    return unite_keys(parts)


def _apply_filter(plan: Plan, rule: Filter | None, texts: Mapping[str, RawKey]) -> Ints | None:
    """Which cells the filter keeps: 1, 0, or -1 where it cannot tell; None where it is at fault."""
    if rule is None:
        return np.ones(len(next(iter(texts.values())).codes), np.int64)
    from fairaudit.counting.routes.polars_numbers import kept_by

    levels = {name: texts[name].levels for name in rule.columns}
    return kept_by(rule, levels, {name: texts[name].codes for name in rule.columns}, plan)


_BLOCK = 2**19
"""Bytes at a time: what is read stays in the cache of a core until it is counted."""

_PADDING = 64
"""Bytes behind a block that the kernel may read."""

_MOST_THREADS = 16
_MOST_CANDIDATES = 250


def check(file: SourceFile, plans: Sequence[Plan], progress: Progress) -> CheckedFile | None:
    """The file, counted for all of the plans where that is served.

    None where the file needs a closer look, or there is no kernel.
    """
    native = _kernel_for(plans[0].format)
    if native is None:
        return None
    work = _Work(native, file, plans[0].format, progress)
    plan = plans[0] if len(plans) == 1 else united(plans)

    def read() -> CheckedFile | None:
        checked = None
        if plan is not None and plan.search is None and _serves(plan, file):
            progress.start(f"counting {file.file.path}", file.unpacked_size, "bytes")
            checked = work.count(plan)
        if checked is None:
            progress.start(f"checking {file.file.path}", file.unpacked_size, "bytes")
            checked = work.check()
        return checked

    return _read_unchanged(file, read)


def count(file: SourceFile, plan: Plan, progress: Progress) -> PartialCounts | None:
    """The counts of a file that was checked, and of a search in it; None where it is not served."""
    native = _kernel_for(plan.format)
    if native is None or not _serves(plan, file):
        return None
    progress.start(f"counting {file.file.path}", file.unpacked_size, "bytes")
    work = _Work(native, file, plan.format, progress)
    counted = _read_unchanged(file, lambda: work.count(plan))
    return None if counted is None or counted.counts is None else counted.counts[1]


def _kernel_for(form: CsvFormat) -> ModuleType | None:
    """The kernel, where it reads such lines."""
    is_read = form.separator.isascii() and not form.multiline
    return kernel.load() if is_read else None


def _read_unchanged(file: SourceFile, read: Callable[[], CheckedFile | None]) -> CheckedFile | None:
    """What is read of a file; raises `DataError` where it changes meanwhile, or cannot be read.

    How a packed one is damaged is told by the reader that unpacks it next.
    """
    try:
        before = _state(file.path)
        found = read()
        if _state(file.path) != before:
            what = f"{file.file.path}: the file changed while it was read"
            raise DataError(what, "run again")
    except OSError as error:
        if file.unpacked_size is None:
            return None
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return found


def _state(path: Path) -> tuple[int, int]:
    """The bytes of a file, and when it last changed: what tells that it was written to."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _serves(plan: Plan, file: SourceFile) -> bool:
    """Whether the columns that it reads can be told apart, and the kernel may look at them."""
    is_small = len(plan.candidates) <= _MOST_CANDIDATES
    has_names = len({*file.header}) == len(file.header)
    return bool(plan.keys) and has_names and is_small and not (plan.models or plan.cluster)


def _is_added_up(plan: Plan) -> bool:
    """Whether the kernel adds up all that a plan asks of its cells."""
    measured = plan.scores or plan.adding.columns or (plan.count and plan.weight)
    # Weights and counts are read in C, which knows no number that means missing.
    return not (measured or plan.tables or plan.is_derived or plan.measures_may_be_missing)


class _Part(NamedTuple):
    """What a thread counted: its lines, and the tables; None is one that was given up."""

    lines: int
    tables: Sequence[Table | None]


_Terms: TypeAlias = tuple[tuple[int, ...], tuple[int, int, bool] | tuple[()], int]
"""What a table counts: columns, the weights or people (column, sign of decimals, whether weights),
and how many texts the last column may have.
"""


class LineBlocks:
    """The lines of a file below its header: threads take block by block, each the next."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._rest = b""

    def read(self, buffer: bytearray) -> Iterator[int]:
        """Reads whole lines into a buffer, and gives where they end: 0 where a line is too long."""
        while (end := self._read(buffer)) is not None:
            yield end

    def _read(self, buffer: bytearray) -> int | None:
        with self._lock:
            end = len(self._rest)
            buffer[:end] = self._rest
            end += self._stream.readinto(memoryview(buffer)[end:_BLOCK])
            if not end:
                return None
            if end < _BLOCK and not buffer.endswith(b"\n", 0, end):
                buffer[end : end + 1] = b"\n"  # the last line need not have an end
                end += 1
            lines = buffer.rfind(b"\n", 0, end) + 1
            self._rest = bytes(buffer[lines:end])
        return lines


class _Work:
    """A file that several threads share."""

    def __init__(
        self, native: ModuleType, file: SourceFile, form: CsvFormat, progress: Progress
    ) -> None:
        self._native = native
        self._file = file
        self._form = form
        self._progress = progress

    def check(self) -> CheckedFile | None:
        """All lines; None where one is not plain."""
        parts = self._run([((), (), 1)])
        return None if parts is None else self._checked(parts)

    def count(self, plan: Plan) -> CheckedFile | None:
        """All lines with their counts; None where a line is not plain, or they are not served."""
        if not _is_added_up(plan):
            return self._count_groups(plan)
        rule, names = parse_filter(plan), plan.candidates
        cells = CountedColumns.of(plan, rule)
        groupings = [cells, *(cells.beside(name) for name in names)]
        run = self._run([self._terms(grouping) for grouping in groupings])
        parts = [part for part in run or () if part.lines]
        if not parts:
            return None
        tables_by_grouping = zip(*(whole(part.tables) for part in parts), strict=True)
        counts, *beside = map(partial(join, rule), groupings, tables_by_grouping)
        if counts is None:
            return None
        # What the cells are not refused for, no table beside them is: it is None where it gave up.
        tables = {
            name: None if table is None else [table]
            for name, table in zip(names, beside, strict=True)
        }
        counts = replace(counts, candidate_tables=tables)
        return self._checked(parts, (plan, counts))

    def _count_groups(self, plan: Plan) -> CheckedFile | None:
        """All lines, counted by groups of rows that are equal in all columns of the plan."""
        if plan.search is not None:
            return None
        header = self._file.header
        needed = columns_read([plan], header)
        grouping = CountedColumns(plan, [name for name in header if name in needed])
        columns = tuple(map(header.index, grouping.columns))
        parts = [part for part in self._run([(columns, (), grouping.most)]) or () if part.lines]
        given = [table for part in parts for table in part.tables]
        tables = [table for table in given if table is not None]
        if not tables or len(tables) < len(given):  # what a thread gave up is not left out
            return None
        counts = count_groups(plan, self._file.file.path, grouping, tables)
        return None if counts is None else self._checked(parts, (plan, counts))

    def _checked(
        self, parts: Sequence[_Part], counts: tuple[Plan, PartialCounts] | None = None
    ) -> CheckedFile:
        """The file, of which each line below the header is a record, and its counts by a plan."""
        lines = sum(part.lines for part in parts)
        file = self._file.with_lines(lines + self._form.first_row - 1)
        return CheckedFile(file, lines, counts=counts)

    def _terms(self, grouping: CountedColumns) -> _Terms:
        """A grouping by the places of its columns."""
        plan, place_of = grouping.plan, self._file.header.index
        columns = tuple(map(place_of, grouping.columns))
        if grouping.is_searched:
            columns = columns[-1:] * 3  # in the place of the first two the kernel has the cell
        measured = plan.weight or plan.count
        if measured is None:
            return columns, (), grouping.most
        number = place_of(measured), ord(plan.format.decimal), plan.weight is not None
        return columns, number, grouping.most

    def _run(self, terms: Sequence[_Terms]) -> list[_Part] | None:
        """What each thread counted in tables of these terms; None where a line is not served."""
        stopped = threading.Event()
        path, (size, _) = self._file.path, _state(self._file.path)
        with open_bytes(path) as stream:
            if not stream.readline(_BLOCK).endswith(b"\n"):
                return None
            blocks = LineBlocks(stream)

            def count() -> _Part | None:
                separator, fields = ord(self._form.separator), len(self._file.header)
                tables = tuple(self._native.csv_table(separator, fields, *own, 0) for own in terms)
                return self._count(tables, blocks, stopped)

            threads = min(thread_count(), _MOST_THREADS, 1 + size // _BLOCK)
            parts = run_in_threads(threads, count, stopped.set)
        sound = [part for part in parts if part is not None]
        return sound if len(sound) == len(parts) else None

    def _count(
        self, tables: tuple[object, ...], blocks: LineBlocks, stopped: threading.Event
    ) -> _Part | None:
        """Counts lines; None where one is not plain, or not served."""
        buffer = bytearray(_BLOCK + 1 + _PADDING)
        total = 0
        for end in blocks.read(buffer):
            is_done = stopped.is_set() or not end
            lines = None if is_done else self._native.count_csv(tables, buffer, end)
            if lines is None:
                stopped.set()
                return None
            total += lines
            self._progress.advance(end, "bytes")
        counts = map(self._native.csv_counts, tables)
        return _Part(total, [None if table is None else Table(*table) for table in counts])
