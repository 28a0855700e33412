"""Parquet files by the native kernel: rows are counted by the codes of their dictionaries.

Each key column adds a term to the number of a row's cell, by a look-up that is made of the
dictionaries of all row groups before anything is counted. So the cells are known from the start,
and threads count row groups into tables of their own, which add up. It serves texts, booleans and
small integers, numbers cut at edges, a weight or a count, without filter and scores; any other file
is left to the other routes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairaudit.arrays import Ints
from fairaudit.counts import TINY, WEIGHT_SCALES, RawKey
from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.dictionary_route import thread_count
from fairaudit.engine.key_levels import KeyLevels, Numbers, Reading, Terms, key_levels, numbers
from fairaudit.engine.parquet import Chunk, Header, RowGroup
from fairaudit.engine.parquet_pages import (
    MOST_BYTES,
    DamagedPage,
    opened,
    read_bytes,
    value_pages,
)
from fairaudit.engine.partial_counts import Measures, PartialCounts, check_people
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError
from fairaudit.plan import Key, Plan
from fairaudit.progress import Progress

_MOST_CELLS = 2**20
_ROWS_OF_JOB = 2**21
_MOST_ROWS = 2**24
"""More rows in one row group would take too much memory at once, and too long to interrupt."""


class _Table:
    """What the rows of each cell add up to: how many, and sums of 128 bits in two halves each."""

    def __init__(self, size: int, *, has_sums: bool) -> None:
        self.rows = np.zeros(size, dtype=np.int64)
        self.sums = np.zeros((size if has_sums else 0, 2, 2), dtype=np.uint64)
        self.largest = self.error = 0.0

    def add(self, other: _Table) -> None:
        """Adds what another table of the same cells holds."""
        self.rows += other.rows
        low = self.sums[:, :, 0]
        low += other.sums[:, :, 0]
        self.sums[:, :, 1] += other.sums[:, :, 1] + (low < other.sums[:, :, 0])
        self.largest = max(self.largest, other.largest)
        self.error = max(self.error, other.error)

    def exact_sums(self, cells: Ints, number: int) -> list[int]:
        """One of the sums of cells, as Python's integers."""
        low, high = self.sums[cells, number].T.tolist()
        return [(upper << 64) + lower for lower, upper in zip(low, high, strict=True)]


class _File(NamedTuple):
    """A file that is served: the levels of its keys, the cells that they make, and their sums.

    `numbers` is the column of weights, or of people, where there is one.
    """

    source: SourceFile
    name: str
    groups: Sequence[RowGroup]
    keys: Sequence[KeyLevels]
    strides: Sequence[int]
    numbers: Numbers | None
    table: _Table

    def counted(self, plan: Plan) -> PartialCounts:
        """The cells that occur."""
        cells = np.flatnonzero(self.table.rows)
        codes = np.unravel_index(cells, tuple(len(key.levels) for key in self.keys))
        keys = tuple(map(_raw_key, plan.keys, self.keys, codes))
        return PartialCounts(keys, np.ones(len(cells), np.int64), self._measures(plan, cells))

    def _measures(self, plan: Plan, cells: Ints) -> Measures:
        rows = self.table.rows[cells]
        if plan.count:
            people = self.table.exact_sums(cells, 0)
            check_people(sum(people))
            return Measures(rows, np.array(people, dtype=np.int64))
        if not plan.weight:
            return Measures(rows, rows)
        nothing = [0] * len(cells)
        weights, squares = (self.table.exact_sums(cells, number) for number in (0, 1))
        errors = self.table.error / WEIGHT_SCALES[0], 0.0
        sums = (weights, nothing), (squares, nothing)
        return Measures(rows, rows, *sums, self.table.largest, errors)


def _raw_key(key: Key, known: KeyLevels, codes: NDArray[np.intp]) -> RawKey:
    """A key by the levels that some row has: a dictionary may hold more."""
    levels = [*known.levels]
    if key.edges is not None:
        return RawKey(key, np.array(levels, dtype=np.int64)[codes])
    used, places = np.unique(codes, return_inverse=True)
    return RawKey(key, places, tuple(levels[place] for place in used.tolist()))


class _Job(NamedTuple):
    """Row groups of a file that one thread counts."""

    file: _File
    groups: Sequence[int]


def count(
    kernel: ModuleType, files: Mapping[str, SourceFile], plan: Plan, progress: Progress
) -> dict[str, list[PartialCounts]]:
    """The counts of those Parquet files that the kernel serves, by name."""
    if not _serves(plan):
        return {}
    served = []
    for name, source in files.items():
        try:
            served.append(_open_file(kernel, source, name, plan))
        except NotServed:
            continue
        except (DamagedPage, OSError, UnicodeDecodeError) as error:
            raise DataError.unreadable(name, "damaged, truncated or gone") from error
    jobs = [job for file in served for job in _jobs(file)]
    if not jobs:
        return {}
    work = _Work(kernel, jobs, progress, is_weighted=plan.weight is not None)
    threads = min(thread_count(), len(jobs))
    pool = ThreadPoolExecutor(threads)
    try:
        for done in [pool.submit(work.run) for _ in range(threads)]:
            done.result()
    finally:
        # After an interruption, or a fault, nobody waits for the row groups that are left.
        work.stopped = True
        pool.shutdown(wait=False, cancel_futures=True)
    return {
        file.name: [file.counted(plan)]
        for file in served
        # Weights that are all tiny are added up in a finer fixed point.
        if file.name not in work.refused and not (plan.weight and file.table.largest < TINY)
    }


def _serves(plan: Plan) -> bool:
    """Whether rows are counted by levels as they are stored, and nothing else is asked of them."""
    measured = plan.scores or plan.adding.columns or plan.cluster or (plan.count and plan.weight)
    others = plan.filter or plan.tables or plan.search or plan.models or plan.is_derived
    return not (measured or others)


def _open_file(kernel: ModuleType, source: SourceFile, name: str, plan: Plan) -> _File:
    """The file with the levels of its keys; raises `NotServed` where it is for another route."""
    assert source.layout is not None
    groups = [group for group in source.layout.groups if group.rows]
    if not groups or any(group.rows > _MOST_ROWS for group in groups):
        raise NotServed
    with opened(source.path) as file:
        reading = Reading(kernel, file, source, groups)
        keys = [key_levels(reading, key, plan) for key in plan.keys]
        measured = plan.weight or plan.count
        measure = numbers(reading, measured) if measured else None
    columns = {column.number for column in (*keys, measure) if column is not None}
    unpacked = (sum(group.chunks[number].unpacked for number in columns) for group in groups)
    if max(unpacked) > MOST_BYTES:
        raise NotServed
    strides, size = [], 1
    for key in keys:
        strides.append(size)
        size *= len(key.levels)
    if size > _MOST_CELLS:
        raise NotServed
    # As `unravel_index` has it, the last key changes fastest.
    strides = [
        size // (stride * len(key.levels)) for stride, key in zip(strides, keys, strict=True)
    ]
    table = _Table(size, has_sums=measure is not None)
    return _File(source, name, groups, keys, strides, measure, table)


def _jobs(file: _File) -> Iterator[_Job]:
    """Row groups of some million rows at a time: less, and adding up tables would take longer."""
    groups: list[int] = []
    rows = 0
    for number, group in enumerate(file.groups):
        groups.append(number)
        rows += group.rows
        if rows >= _ROWS_OF_JOB or number == len(file.groups) - 1:
            yield _Job(file, groups)
            groups, rows = [], 0


class _Work:
    """Jobs that several threads share."""

    def __init__(
        self, kernel: ModuleType, jobs: Sequence[_Job], progress: Progress, *, is_weighted: bool
    ) -> None:
        self.refused: set[str] = set()
        self.stopped = False
        self._kernel = kernel
        self._jobs = iter(jobs)
        self._progress = progress
        self._is_weighted = is_weighted
        self._lock = threading.Lock()

    def run(self) -> None:
        """Does one job after the other."""
        while (job := self._next()) is not None:
            try:
                self._count(job)
            except NotServed:
                self.refused.add(job.file.name)
            except (DamagedPage, ValueError, OSError) as error:
                # The other threads need not count what nobody will see.
                self.stopped = True
                why = "damaged, truncated or gone"
                raise DataError.unreadable(job.file.name, why) from error

    def _count(self, job: _Job) -> None:
        """Counts row groups in a table of their own, and adds it to that of the file."""
        file = job.file
        table = _Table(len(file.table.rows), has_sums=file.numbers is not None)
        with opened(file.source.path) as descriptor:
            for number in job.groups:
                if self.stopped or file.name in self.refused:
                    return
                self._count_group(file, number, descriptor, table)
                self._progress.advance(file.groups[number].rows, "rows")
        with self._lock:
            file.table.add(table)

    def _count_group(self, file: _File, number: int, descriptor: int, table: _Table) -> None:
        """Counts a row group."""
        group = file.groups[number]
        columns = [
            _column(self._kernel, descriptor, group.chunks[key.number], key.terms(number, stride))
            for key, stride in zip(file.keys, file.strides, strict=True)
        ]
        measure = None
        if (numbers := file.numbers) is not None:
            chunk, terms = group.chunks[numbers.number], numbers.terms(number)
            column = _column(self._kernel, descriptor, chunk, terms)
            measure = column, numbers.dictionaries[number], self._is_weighted, table.sums
        counted = self._kernel.count_parquet(columns, measure, group.rows, table.rows)
        if counted is None:
            raise NotServed
        table.largest, table.error = map(max, (table.largest, table.error), counted)

    def _next(self) -> _Job | None:
        with self._lock:
            return None if self.stopped else next(self._jobs, None)


def _column(kernel: ModuleType, descriptor: int, chunk: Chunk, terms: Terms) -> tuple[object, ...]:
    """A column of a row group as the kernel takes it: its pages, whether it may be null, terms."""
    content = read_bytes(descriptor, chunk.start, chunk.stop)
    headers = [Header(*header) for header in kernel.page_headers(content)]
    return [*value_pages(content, headers, chunk)], chunk.leaf.is_optional, *terms
