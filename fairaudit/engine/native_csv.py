"""CSV by the native kernel: checked and counted in one reading, in blocks of whole lines.

It checks each plain file, quoted or not, and counts those whose keys have a few thousand texts and
whose rows are one person each. Whatever else a file or a plan has, and any fault, is left to the
other readers: they tell a fault with its line.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from fairaudit.cube import add_up, distinct_rows
from fairaudit.engine import kernel
from fairaudit.engine.opening import thread_count
from fairaudit.engine.partial_counts import Measures, PartialCounts
from fairaudit.engine.plain_csv import line_blocks, parts
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError
from fairaudit.plan import Key, Plan, united
from fairaudit.progress import Progress
from fairaudit.raw_keys import RawKey, unite_keys

_BLOCK = 2**18
"""Bytes at a time: what is read stays in the cache of a core until it is counted."""

_PADDING = 64
"""Bytes behind a block that the kernel may read."""

_MOST_THREADS = 16


_TEXTS = Key("")
"""What stands for the key of a column while its texts are united."""


class CheckedLines(NamedTuple):
    """How many lines stand below the header, each a record, and their counts by a plan, if any."""

    lines: int
    counts: tuple[Plan, PartialCounts] | None = None


def check(file: SourceFile, plans: Sequence[Plan], progress: Progress) -> CheckedLines | None:
    """The lines of a plain file, counted for all of the plans where that is served.

    None where the file needs a closer look, or there is no kernel.
    """
    form, native, is_packed = plans[0].format, kernel.load(), file.unpacked_size is None
    if native is None or is_packed or form.multiline or not form.separator.isascii():
        return None
    try:
        before = size, _ = _state(file.path)
        ranges = parts(file.path, size, min(thread_count(), _MOST_THREADS, 1 + size // _BLOCK))
        if ranges is None:
            return None
        work = _Work(native, file, form.separator, progress)
        plan = plans[0] if len(plans) == 1 else united(plans)
        checked = None
        if plan is not None and _serves(plan, file):
            progress.start(f"counting {file.file.path}", size, "bytes")
            checked = work.count(plan, ranges)
        if checked is None:
            progress.start(f"checking {file.file.path}", size, "bytes")
            checked = work.check(ranges)
        if _state(file.path) != before:
            what = f"{file.file.path}: the file changed while it was read"
            raise DataError(what, "run again")
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return checked


def _state(path: Path) -> tuple[int, int]:
    """The bytes of a file, and when it last changed: what tells that it was written to."""
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns


def _serves(plan: Plan, file: SourceFile) -> bool:
    """Whether rows are counted by texts and numbers, and nothing else is asked of them."""
    measured = plan.scores or plan.adding.columns or plan.cluster or plan.count or plan.weight
    others = plan.filter or plan.tables or plan.search or plan.models or plan.is_derived
    has_names = len({*file.header}) == len(file.header)
    return bool(plan.keys) and has_names and not (measured or others)


class _Table(NamedTuple):
    """What a thread counted: its lines, the texts of each key, the codes of cells, their rows."""

    lines: int
    texts: Sequence[Sequence[bytes | None]]
    codes: bytes
    rows: bytes


class _Work:
    """A file that several threads share, a part each."""

    def __init__(
        self, native: ModuleType, file: SourceFile, separator: str, progress: Progress
    ) -> None:
        self._native = native
        self._file = file
        self._separator = separator.encode()[0]
        self._progress = progress

    def check(self, ranges: Sequence[tuple[int, int]]) -> CheckedLines | None:
        """The lines of all parts; None where one is not plain."""
        tables = self._run((), ranges)
        return None if tables is None else CheckedLines(sum(table.lines for table in tables))

    def count(self, plan: Plan, ranges: Sequence[tuple[int, int]]) -> CheckedLines | None:
        """The same, and their counts; None where a line is not plain, or they are not served."""
        places = {name: number for number, name in enumerate(self._file.header)}
        tables = self._run(tuple(places[key.column] for key in plan.keys), ranges)
        if tables is None:
            return None
        lines = sum(table.lines for table in tables)
        counts = _join(plan, tables) if lines else None
        return None if counts is None else CheckedLines(lines, (plan, counts))

    def _run(
        self, columns: tuple[int, ...], ranges: Sequence[tuple[int, int]]
    ) -> list[_Table] | None:
        """What each thread counted by these columns; None where a part is not served."""
        stopped = threading.Event()

        def count(ends: tuple[int, int]) -> _Table | None:
            return self._count(columns, ends, stopped)

        if len(ranges) == 1:
            tables = [count(ranges[0])]  # a thread takes longer to begin than a block to be counted
        else:
            with ThreadPoolExecutor(len(ranges)) as pool:
                try:
                    tables = [*pool.map(count, ranges)]
                finally:
                    # After an interruption, or a fault, nobody waits for the blocks that are left.
                    stopped.set()
        whole = [table for table in tables if table is not None]
        return whole if len(whole) == len(tables) else None

    def _count(
        self, columns: tuple[int, ...], ends: tuple[int, int], stopped: threading.Event
    ) -> _Table | None:
        """Counts a part that begins with a line; None where one is not plain, or not served."""
        table = self._native.csv_table(self._separator, len(self._file.header), columns, 0)
        buffer = bytearray(_BLOCK + 1 + _PADDING)
        total = 0
        for end in line_blocks(self._file.path, *ends, buffer, _BLOCK):
            is_done = stopped.is_set() or not end
            lines = None if is_done else self._native.count_csv(table, buffer, end)
            if lines is None:
                stopped.set()
                return None
            total += lines
            self._progress.advance(end, "bytes")
        return _Table(total, *self._native.csv_counts(table))


def _join(plan: Plan, tables: Sequence[_Table]) -> PartialCounts | None:
    """The cells of all threads as one; None where a text is no number, and has to be one."""
    keys = []
    for number, key in enumerate(plan.keys):
        texts = unite_keys([_column(table, number, len(plan.keys)) for table in tables])
        raw = _cut(key, texts, plan) if key.is_cut else RawKey(key, texts.codes, texts.levels)
        if raw is None:
            return None
        keys.append(raw)
    codes = np.stack([key.codes for key in keys], axis=1).astype(np.int32)
    cells, cell_of = distinct_rows(codes)
    rows = np.concatenate([np.frombuffer(table.rows, dtype=np.int64) for table in tables])
    sums = add_up(rows, cell_of, len(cells))
    joined = tuple(
        RawKey(key.key, column, key.levels)
        for key, column in zip(keys, cells.T.astype(np.int64), strict=True)
    )
    return PartialCounts(joined, np.ones(len(cells), np.int64), Measures(sums, sums))


def _column(table: _Table, number: int, key_count: int) -> RawKey:
    """The texts of a column in the cells of a thread, those alone that some row has."""
    codes = np.frombuffer(table.codes, dtype=np.uint16).reshape(-1, key_count)[:, number]
    used, places = np.unique(codes, return_inverse=True)
    known = [table.texts[number][code] for code in used.tolist()]
    return RawKey(_TEXTS, places, tuple(None if text is None else text.decode() for text in known))


def _cut(key: Key, texts: RawKey, plan: Plan) -> RawKey | None:
    """A column as the intervals of its numbers; None where a text is none."""
    from fairaudit.engine.polars_route import intervals_of_texts

    intervals = intervals_of_texts(key, texts.levels, plan)
    return None if intervals is None else RawKey(key, intervals[texts.codes])
