"""Route 1 of CSV: the native kernel checks (check 1) and counts in one reading.

It checks each file, quoted and packed or not, and counts those whose keys, and the columns of a
filter, have a few thousand texts; weights, or counts of people, may be any. Scores, numbers and
columns made of others are worked out for each group of equal rows, where those are few. Whatever
else a file or a plan has, and any fault, is left to the other readers: they tell a fault with its
line. A search is counted in a reading of its own, as the first rows of checked files tell which
columns it has.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from io import BufferedReader
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeAlias

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.progress import Progress
from fairaudit.counting import kernel
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.native.native_csv_cells import (
    CountedColumns,
    Table,
    count_groups,
    join,
    whole,
)
from fairaudit.counting.partial_counts import PartialCounts
from fairaudit.counting.plan import Plan, united
from fairaudit.counting.sources.column_checks import columns_read, parse_filter
from fairaudit.counting.sources.sources import SourceFile, open_bytes, thread_count

_BLOCK = 2**19
"""Bytes at a time: what is read stays in the cache of a core until it is counted."""

_PADDING = 64
"""Bytes behind a block that the kernel may read."""

_MOST_THREADS = 16
_MOST_CANDIDATES = 250


class CheckedLines(NamedTuple):
    """How many lines stand below the header, each a record, and their counts by a plan, if any."""

    lines: int
    counts: tuple[Plan, PartialCounts] | None = None


def check(file: SourceFile, plans: Sequence[Plan], progress: Progress) -> CheckedLines | None:
    """The lines of a file, counted for all of the plans where that is served.

    None where the file needs a closer look, or there is no kernel.
    """
    native = _kernel_for(plans[0].format)
    if native is None:
        return None
    work = _Work(native, file, plans[0].format.separator, progress)
    plan = plans[0] if len(plans) == 1 else united(plans)

    def read() -> CheckedLines | None:
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
    work = _Work(native, file, plan.format.separator, progress)
    counted = _read_unchanged(file, lambda: work.count(plan))
    return None if counted is None or counted.counts is None else counted.counts[1]


def _kernel_for(form: CsvFormat) -> ModuleType | None:
    """The kernel, where it reads such lines."""
    is_read = form.separator.isascii() and not form.multiline
    return kernel.load() if is_read else None


def _read_unchanged(
    file: SourceFile, read: Callable[[], CheckedLines | None]
) -> CheckedLines | None:
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

_Blocks: TypeAlias = Callable[[bytearray], Iterator[int]]
"""Reads whole lines into a buffer, and gives where they end: 0 where a line is too long."""


class _PackedLines:
    """The lines of a packed file below its header: threads take block by block, each the next."""

    def __init__(self, stream: BufferedReader) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._rest = b""

    def blocks(self, buffer: bytearray) -> Iterator[int]:
        """What `_Blocks` asks, until nothing is left."""
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
        self, native: ModuleType, file: SourceFile, separator: str, progress: Progress
    ) -> None:
        self._native = native
        self._file = file
        self._separator = separator.encode()[0]
        self._progress = progress

    def check(self) -> CheckedLines | None:
        """All lines; None where one is not plain."""
        parts = self._run([((), (), 1)])
        return None if parts is None else CheckedLines(sum(part.lines for part in parts))

    def count(self, plan: Plan) -> CheckedLines | None:
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
        return CheckedLines(sum(part.lines for part in parts), (plan, counts))

    def _count_groups(self, plan: Plan) -> CheckedLines | None:
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
        lines = sum(part.lines for part in parts)
        return None if counts is None else CheckedLines(lines, (plan, counts))

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

    @contextmanager
    def _open(self) -> Iterator[Sequence[_Blocks]]:
        """Who reads the lines, for each thread; nobody where a line is longer than a block."""
        path, (size, _) = self._file.path, _state(self._file.path)
        threads = min(thread_count(), _MOST_THREADS, 1 + size // _BLOCK)
        if self._file.unpacked_size is None:
            with open_bytes(path) as stream:
                has_whole_header = stream.readline(_BLOCK).endswith(b"\n")
                yield [_PackedLines(stream).blocks] * (threads if has_whole_header else 0)
            return
        ranges = _find_parts(path, size, threads) or []
        yield [partial(line_blocks, path, *ends) for ends in ranges]

    def _run(self, terms: Sequence[_Terms]) -> list[_Part] | None:
        """What each thread counted in tables of these terms; None where a line is not served."""
        stopped = threading.Event()

        def count(blocks: _Blocks) -> _Part | None:
            separator, fields = self._separator, len(self._file.header)
            tables = tuple(self._native.csv_table(separator, fields, *own, 0) for own in terms)
            return self._count(tables, blocks, stopped)

        with self._open() as readers:
            if len(readers) <= 1:  # a thread takes longer to begin than a block to be counted
                parts = [*map(count, readers)]
            else:
                from concurrent.futures import ThreadPoolExecutor

                with ThreadPoolExecutor(len(readers)) as pool:
                    try:
                        parts = [*pool.map(count, readers)]
                    finally:
                        # After an interruption, or a fault, nobody waits for what is left.
                        stopped.set()
        whole = [part for part in parts if part is not None]
        return whole if whole and len(whole) == len(parts) else None

    def _count(
        self, tables: tuple[object, ...], blocks: _Blocks, stopped: threading.Event
    ) -> _Part | None:
        """Counts lines; None where one is not plain, or not served."""
        buffer = bytearray(_BLOCK + 1 + _PADDING)
        total = 0
        for end in blocks(buffer):
            is_done = stopped.is_set() or not end
            lines = None if is_done else self._native.count_csv(tables, buffer, end)
            if lines is None:
                stopped.set()
                return None
            total += lines
            self._progress.advance(end, "bytes")
        counts = map(self._native.csv_counts, tables)
        return _Part(total, [None if table is None else Table(*table) for table in counts])


def _find_parts(path: Path, size: int, count: int) -> list[tuple[int, int]] | None:
    """Where so many parts of a file below its header begin and end; some may be empty.

    None where a line is longer than a block.
    """
    bounds = [_find_line(path, size * number // count, size) for number in range(count)]
    starts = [start for start in bounds if start is not None]
    if len(starts) < len(bounds):
        return None
    return list(zip(starts, [*starts[1:], size], strict=True))


def _find_line(path: Path, start: int, size: int) -> int | None:
    """Where the next line begins, if only at the end of all; None where none does for a block."""
    with path.open("rb", buffering=0) as stream:
        stream.seek(start)
        read = stream.read(_BLOCK)
    end = read.find(b"\n")
    if end < 0:
        return size if start + len(read) >= size else None
    return start + end + 1


def line_blocks(path: Path, start: int, stop: int, buffer: bytearray) -> Iterator[int]:
    """Reads a part of a file that begins with a line into the buffer, whole lines at a time.

    Each time it gives where the last line ends: 0 where one is longer, or the file has shrunk.
    """
    with path.open("rb", buffering=0) as stream:
        while start < stop:
            stream.seek(start)
            read = stream.readinto(memoryview(buffer)[: min(_BLOCK, stop - start)]) or 0
            end = buffer.rfind(b"\n", 0, read) + 1
            if read and start + read == stop and end < read:
                # The last line need not have an end.
                buffer[read : read + 1] = b"\n"
                end = read + 1
            yield end
            if not end:
                return
            start += end
