"""CSV by the native kernel: checked and counted in one reading, in blocks of whole lines.

It serves plain files, quoted or not, whose keys are texts of a few thousand levels, where each row
is one person. Whatever else a file or a plan has, and any fault, is left to the other readers: they
tell a fault with its line. It runs where `FAIRAUDIT_ROUTE` asks for it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import NamedTuple

import numpy as np

from fairaudit.counts import RawKey
from fairaudit.engine import kernel
from fairaudit.engine.partial_counts import Measures, PartialCounts
from fairaudit.engine.plain_csv import line_blocks, parts
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError
from fairaudit.plan import Plan, united
from fairaudit.progress import Progress

_BLOCK = 2**18
"""Bytes at a time: what is read stays in the cache of a core until it is counted."""

_PADDING = 64
"""Bytes behind a block that the kernel may read."""


class CountedCsv(NamedTuple):
    """What a file holds by a plan, a part for each thread, and its lines below the header."""

    plan: Plan
    parts: Sequence[PartialCounts]
    lines: int


def count(file: SourceFile, plans: Sequence[Plan], progress: Progress) -> CountedCsv | None:
    """The counts of a file for all of the plans; None where it, or what they ask, is not served."""
    if not kernel.is_forced():
        return None  # until its fuzzing is done, it counts for those who ask for it
    plan = plans[0] if len(plans) == 1 else united(plans)
    size = file.unpacked_size
    if plan is None or size is None or not _serves(plan, file):
        return None
    native = kernel.load()
    if native is None:
        return None
    progress.start(f"counting {file.file.path}", size, "bytes")
    try:
        ranges = parts(file.path, size)
        counted = None if ranges is None else _Work(native, file, plan, progress).run(ranges)
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    if counted is None or not any(counted.lines):
        return None
    return CountedCsv(plan, [*counted.parts(plan)], sum(counted.lines))


def _serves(plan: Plan, file: SourceFile) -> bool:
    """Whether rows are counted by their texts, and nothing else is asked of them."""
    form = plan.format
    measured = plan.scores or plan.adding.columns or plan.cluster or plan.count or plan.weight
    others = plan.filter or plan.tables or plan.search or plan.models or plan.is_derived
    is_plain = not form.multiline and len(form.separator) == 1 and form.separator.isascii()
    has_names = len({*file.header}) == len(file.header)
    is_text = not any(key.is_cut for key in plan.keys)
    return is_plain and has_names and is_text and not (measured or others)


class _Counted(NamedTuple):
    """What threads counted: the lines of each, and the kernel's levels, codes and rows."""

    lines: Sequence[int]
    tables: Sequence[tuple[Sequence[Sequence[bytes | None]], bytes, bytes]]

    def parts(self, plan: Plan) -> Iterator[PartialCounts]:
        """The cells of each thread that has any."""
        for texts, codes, rows_of_cells in self.tables:
            rows = np.frombuffer(rows_of_cells, dtype=np.int64)
            if not len(rows):
                continue
            columns = np.frombuffer(codes, dtype=np.uint16).reshape(len(rows), -1).T
            keys = []
            for key, known, column in zip(plan.keys, texts, columns, strict=True):
                used, places = np.unique(column, return_inverse=True)
                named = (known[code] for code in used.tolist())
                levels = tuple(None if text is None else text.decode() for text in named)
                keys.append(RawKey(key, places, levels))
            yield PartialCounts(tuple(keys), np.ones(len(rows), np.int64), Measures(rows, rows))


class _Work:
    """A file that several threads share, a part each."""

    def __init__(
        self, native: ModuleType, file: SourceFile, plan: Plan, progress: Progress
    ) -> None:
        places = {name: number for number, name in enumerate(file.header)}
        self._columns = tuple(places[key.column] for key in plan.keys)
        self._separator = plan.format.separator.encode()[0]
        self._native = native
        self._file = file
        self._progress = progress
        self._stopped = threading.Event()

    def run(self, ranges: Sequence[tuple[int, int]]) -> _Counted | None:
        """The counts of all parts; None where a line of one is not plain."""
        tables = [self._new_table() for _ in ranges]
        with ThreadPoolExecutor(len(ranges)) as pool:
            # A thread takes longer to begin than a block to be counted.
            apply = map if ranges[-1][1] < _BLOCK else pool.map
            try:
                lines = [*apply(self._count, tables, ranges)]
            finally:
                # After an interruption, or a fault, nobody waits for the blocks that are left.
                self._stopped.set()
        whole = [part for part in lines if part is not None]
        if len(whole) < len(lines):
            return None
        return _Counted(whole, [self._native.csv_counts(table) for table in tables])

    def _new_table(self) -> object:
        fields = len(self._file.header)
        return self._native.csv_table(self._separator, fields, self._columns, 0)

    def _count(self, table: object, ends: tuple[int, int]) -> int | None:
        """Counts a part that begins with a line: how many; None where one is not plain."""
        buffer = bytearray(_BLOCK + 1 + _PADDING)
        total = 0
        for end in line_blocks(self._file.path, *ends, buffer, _BLOCK):
            is_done = self._stopped.is_set() or not end
            lines = None if is_done else self._native.count_csv(table, buffer, end)
            if lines is None:
                self._stopped.set()
                return None
            total += lines
            self._progress.advance(end, "bytes")
        return total
