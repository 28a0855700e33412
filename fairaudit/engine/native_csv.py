"""CSV by the native kernel: checked and counted in one reading, in blocks of whole lines.

It checks each plain file, quoted or not, and counts those whose keys, and the columns of a filter,
have a few thousand texts; weights, or counts of people, may be any. Whatever else a file or a plan
has, and any fault, is left to the other readers: they tell a fault with its line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from fairaudit.arrays import Ints
from fairaudit.counts import TINY
from fairaudit.cube import distinct_rows
from fairaudit.engine import kernel
from fairaudit.engine.native_cells import CellTable
from fairaudit.engine.opening import thread_count
from fairaudit.engine.partial_counts import PartialCounts
from fairaudit.engine.plain_csv import line_blocks, parts
from fairaudit.engine.sources import SourceFile, open_bytes
from fairaudit.errors import DataError
from fairaudit.plan import Key, Plan, is_finite_number, united
from fairaudit.progress import Progress
from fairaudit.raw_keys import RawKey, unite_keys

if TYPE_CHECKING:
    from fairaudit.engine.filter import Filter

_BLOCK = 2**18
"""Bytes at a time: what is read stays in the cache of a core until it is counted."""

_PADDING = 64
"""Bytes behind a block that the kernel may read."""

_MOST_THREADS = 16


_Number: TypeAlias = tuple[int, int, bool] | tuple[()]
"""The column of weights or people, the sign of its decimals, and whether it is of weights."""

_TEXTS = Key("")
"""What stands for the key of a column while its texts are united."""


class CheckedLines(NamedTuple):
    """How many lines stand below the header, each a record, and their counts by a plan, if any."""

    lines: int
    counts: tuple[Plan, PartialCounts] | None = None


def check(file: SourceFile, plans: Sequence[Plan], progress: Progress) -> CheckedLines | None:
    """The lines of a file, packed or not, counted for all of the plans where that is served.

    None where the file needs a closer look, or there is no kernel.
    """
    form, native, size = plans[0].format, kernel.load(), file.unpacked_size
    if native is None or form.multiline or not form.separator.isascii():
        return None
    try:
        before = _state(file.path)
        work = _Work(native, file, form.separator, progress)
        plan = plans[0] if len(plans) == 1 else united(plans)
        checked = None
        if plan is not None and _serves(plan, file):
            progress.start(f"counting {file.file.path}", size, "bytes")
            checked = work.count(plan)
        if checked is None:
            progress.start(f"checking {file.file.path}", size, "bytes")
            checked = work.check()
        if _state(file.path) != before:
            what = f"{file.file.path}: the file changed while it was read"
            raise DataError(what, "run again")
    except OSError as error:
        if size is None:  # how it is damaged is told by the reader that unpacks it next
            return None
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return checked


def _state(path: Path) -> tuple[int, int]:
    """The bytes of a file, and when it last changed: what tells that it was written to."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _serves(plan: Plan, file: SourceFile) -> bool:
    """Whether rows are counted by texts and numbers, and nothing else is asked of them."""
    measured = plan.scores or plan.adding.columns or plan.cluster or (plan.count and plan.weight)
    others = plan.tables or plan.search or plan.models or plan.is_derived
    has_names = len({*file.header}) == len(file.header)
    # A word for what is missing may look like a number: weights and counts are read in C.
    number = plan.weight or plan.count
    words = [*plan.tokens, *plan.unknown.get(number, ())] if number else []
    is_clear = not any(map(is_finite_number, words))
    return bool(plan.keys) and has_names and is_clear and not (measured or others)


class _Table(NamedTuple):
    """What a thread counted: its lines, the texts of each column, and its cells.

    Those have codes, rows, and four words of sums each; `largest` and `error` are of all weights.
    """

    lines: int
    texts: Sequence[Sequence[bytes | None]]
    codes: bytes
    rows: bytes
    sums: bytes
    largest: float
    error: float


_Blocks: TypeAlias = Callable[[bytearray], Iterator[int]]
"""Reads whole lines into a buffer, and gives where they end: 0 where a line is too long."""


class _PackedLines:
    """The lines of a packed file below its header: threads take block by block, each the next."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._rest = b""

    def blocks(self, buffer: bytearray) -> Iterator[int]:
        """What `_Blocks` asks, until nothing is left."""
        while (end := self._read(buffer)) is not None:
            yield end

    def _read(self, buffer: bytearray) -> int | None:
        with self._lock:
            text = self._rest + self._stream.read(_BLOCK - len(self._rest))
            if not text:
                return None
            if len(text) < _BLOCK and not text.endswith(b"\n"):
                text += b"\n"  # the last line need not have an end
            end = text.rfind(b"\n") + 1
            self._rest = text[end:]
        buffer[:end] = text[:end]
        return end


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
        tables = self._run((), ())
        return None if tables is None else CheckedLines(sum(table.lines for table in tables))

    def count(self, plan: Plan) -> CheckedLines | None:
        """The same, and their counts; None where a line is not plain, or they are not served."""
        rule = _rule_of(plan)
        columns = [*dict.fromkeys([*(key.column for key in plan.keys), *sorted(_named_by(rule))])]
        place_of = {name: number for number, name in enumerate(self._file.header)}
        number: _Number = ()
        if measured := plan.weight or plan.count:
            number = place_of[measured], ord(plan.format.decimal), plan.weight is not None
        tables = self._run(tuple(place_of[name] for name in columns), number)
        if tables is None:
            return None
        lines = sum(table.lines for table in tables)
        counts = _join(plan, rule, columns, tables) if lines else None
        return None if counts is None else CheckedLines(lines, (plan, counts))

    @contextmanager
    def _open(self) -> Iterator[Sequence[_Blocks]]:
        """Who reads the lines, for each thread; nobody where a line is longer than a block."""
        path, (size, _) = self._file.path, _state(self._file.path)
        threads = min(thread_count(), _MOST_THREADS, 1 + size // _BLOCK)
        if self._file.unpacked_size is None:
            with open_bytes(path) as stream:
                stream.readline(_BLOCK)
                yield [_PackedLines(stream).blocks] * threads
            return
        ranges = parts(path, size, threads) or []
        yield [partial(_plain_blocks, path, *ends) for ends in ranges]

    def _run(self, columns: tuple[int, ...], number: _Number) -> list[_Table] | None:
        """What each thread counted by these columns; None where a line is not served."""
        stopped = threading.Event()

        def count(blocks: _Blocks) -> _Table | None:
            separator, fields = self._separator, len(self._file.header)
            table = self._native.csv_table(separator, fields, columns, number, 0)
            return self._count(table, blocks, stopped)

        with self._open() as readers:
            if len(readers) <= 1:  # a thread takes longer to begin than a block to be counted
                tables = [*map(count, readers)]
            else:
                with ThreadPoolExecutor(len(readers)) as pool:
                    try:
                        tables = [*pool.map(count, readers)]
                    finally:
                        # After an interruption, or a fault, nobody waits for what is left.
                        stopped.set()
        whole = [table for table in tables if table is not None]
        return whole if whole and len(whole) == len(tables) else None

    def _count(self, table: object, blocks: _Blocks, stopped: threading.Event) -> _Table | None:
        """Counts lines; None where one is not plain, or not served."""
        buffer = bytearray(_BLOCK + 1 + _PADDING)
        total = 0
        for end in blocks(buffer):
            is_done = stopped.is_set() or not end
            lines = None if is_done else self._native.count_csv(table, buffer, end)
            if lines is None:
                stopped.set()
                return None
            total += lines
            self._progress.advance(end, "bytes")
        return _Table(total, *self._native.csv_counts(table))


def _plain_blocks(path: Path, start: int, stop: int, buffer: bytearray) -> Iterator[int]:
    """A part of a file that begins with a line, as `_Blocks` asks."""
    return line_blocks(path, start, stop, buffer, _BLOCK)


def _rule_of(plan: Plan) -> Filter | None:
    """The filter of a plan, parsed; it is held against the columns where rows are counted."""
    if plan.filter is None:
        return None
    from fairaudit.engine import filter as filters

    return filters.parse(plan.filter)


def _named_by(rule: Filter | None) -> frozenset[str]:
    """The columns that a filter looks at."""
    return frozenset() if rule is None else rule.columns


def _join(
    plan: Plan, rule: Filter | None, columns: Sequence[str], tables: Sequence[_Table]
) -> PartialCounts | None:
    """The cells of all threads as one; None where a text is no number, and has to be one."""
    largest = max(table.largest for table in tables)
    if plan.weight and largest < TINY:  # they are added up in a finer fixed point
        return None
    texts = {name: _column(tables, place, len(columns)) for place, name in enumerate(columns)}
    keys = []
    for key in plan.keys:
        column = texts[key.column]
        raw = _cut(key, column, plan) if key.is_cut else RawKey(key, column.codes, column.levels)
        if raw is None:
            return None
        keys.append(raw)
    kept = _kept(plan, rule, texts)
    if kept is None:
        return None
    codes = np.stack([*(key.codes for key in keys), kept], axis=1).astype(np.int32)
    cells, cell_of = distinct_rows(codes)
    joined = CellTable(len(cells), has_sums=True)
    joined.largest, joined.error = largest, max(table.error for table in tables)
    rows = np.concatenate([np.frombuffer(table.rows, np.int64) for table in tables])
    sums = np.concatenate([np.frombuffer(table.sums, np.uint64) for table in tables])
    joined.add_cells(cell_of, rows, sums.reshape(-1, 2, 2))
    *of_keys, kept = cells.T.astype(np.int64)
    raw_keys = (
        RawKey(key.key, column, key.levels) for key, column in zip(keys, of_keys, strict=True)
    )
    return PartialCounts((*raw_keys,), kept, joined.measures(plan, np.arange(len(cells))))


def _column(tables: Sequence[_Table], place: int, column_count: int) -> RawKey:
    """The texts of a column in the cells of all threads, those alone that some row has."""
    parts = []
    for table in tables:
        codes = np.frombuffer(table.codes, dtype=np.uint16).reshape(-1, column_count)[:, place]
        used, places = np.unique(codes, return_inverse=True)
        known = [table.texts[place][code] for code in used.tolist()]
        texts = tuple(None if text is None else text.decode() for text in known)
        parts.append(RawKey(_TEXTS, places, texts))
    return unite_keys(parts)


def _cut(key: Key, texts: RawKey, plan: Plan) -> RawKey | None:
    """A column as the intervals of its numbers; None where a text is none."""
    from fairaudit.engine.polars_route import intervals_of_texts

    intervals = intervals_of_texts(key, texts.levels, plan)
    return None if intervals is None else RawKey(key, intervals[texts.codes])


def _kept(plan: Plan, rule: Filter | None, texts: Mapping[str, RawKey]) -> Ints | None:
    """Which cells the filter keeps: 1, 0, or -1 where it cannot tell; None where it is at fault."""
    if rule is None:
        return np.ones(len(next(iter(texts.values())).codes), np.int64)
    from fairaudit.engine.polars_route import kept_by

    levels = {name: texts[name].levels for name in rule.columns}
    return kept_by(rule, levels, {name: texts[name].codes for name in rule.columns}, plan)
