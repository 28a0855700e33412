"""Parquet files by the native kernel: rows are counted by the codes of their dictionaries.

Each key column adds a term to the number of a row's cell, by a look-up that is made of the
dictionaries of all row groups before anything is counted. So the cells are known from the start,
and threads count row groups into tables of their own, which add up. It serves texts, booleans and
small integers, without filter, weights and scores; any other file is left to the other routes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import NamedTuple

import numpy as np

from fairaudit.arrays import Ints
from fairaudit.counts import RawKey
from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.dictionary_route import thread_count
from fairaudit.engine.key_levels import KeyLevels, Terms, key_levels
from fairaudit.engine.parquet import RowGroup
from fairaudit.engine.parquet_pages import (
    MOST_BYTES,
    DamagedPage,
    Header,
    opened,
    read_bytes,
    value_pages,
)
from fairaudit.engine.partial_counts import Measures, PartialCounts
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError
from fairaudit.plan import Plan
from fairaudit.progress import Progress

_MOST_CELLS = 2**20
_ROWS_OF_JOB = 2**21
_MOST_ROWS = 2**24
"""More rows in one row group would take too much memory at once, and too long to interrupt."""


class _File(NamedTuple):
    """A file that is served: the levels of its keys, the cells that they make, and their rows."""

    source: SourceFile
    name: str
    groups: Sequence[RowGroup]
    keys: Sequence[KeyLevels]
    strides: Sequence[int]
    rows: Ints

    def counted(self, plan: Plan) -> PartialCounts:
        """The cells that occur."""
        cells = np.flatnonzero(self.rows)
        codes = np.unravel_index(cells, tuple(len(key.levels) for key in self.keys))
        keys = []
        for key, known, key_codes in zip(plan.keys, self.keys, codes, strict=True):
            # A dictionary may hold levels that no row has; they are none of the data's.
            used, places = np.unique(key_codes, return_inverse=True)
            levels = [*known.levels]
            keys.append(RawKey(key, places, tuple(levels[place] for place in used.tolist())))
        rows = self.rows[cells]
        return PartialCounts(tuple(keys), np.ones(len(cells), np.int64), Measures(rows, rows))


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
    work = _Work(kernel, jobs, progress)
    threads = min(thread_count(), len(jobs))
    pool = ThreadPoolExecutor(threads)
    try:
        for done in [pool.submit(work.run) for _ in range(threads)]:
            done.result()
    finally:
        # After an interruption, or a fault, nobody waits for the row groups that are left.
        work.stopped = True
        pool.shutdown(wait=False, cancel_futures=True)
    return {file.name: [file.counted(plan)] for file in served if file.name not in work.refused}


def _serves(plan: Plan) -> bool:
    """Whether rows are counted by levels as they are stored, and nothing else is asked of them."""
    measured = plan.count or plan.weight or plan.scores or plan.adding.columns or plan.cluster
    others = plan.filter or plan.tables or plan.search or plan.models or plan.is_derived
    return not (measured or others or any(key.is_cut for key in plan.keys))


def _open_file(kernel: ModuleType, source: SourceFile, name: str, plan: Plan) -> _File:
    """The file with the levels of its keys; raises `NotServed` where it is for another route."""
    assert source.layout is not None
    groups = [group for group in source.layout.groups if group.rows]
    if not groups or any(group.rows > _MOST_ROWS for group in groups):
        raise NotServed
    with opened(source.path) as file:
        keys = [key_levels(kernel, file, source, key.column, groups) for key in plan.keys]
    unpacked = max(sum(group.chunks[key.number].unpacked for key in keys) for group in groups)
    if unpacked > MOST_BYTES:
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
    return _File(source, name, groups, keys, strides, np.zeros(size, dtype=np.int64))


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

    def __init__(self, kernel: ModuleType, jobs: Sequence[_Job], progress: Progress) -> None:
        self.refused: set[str] = set()
        self.stopped = False
        self._kernel = kernel
        self._jobs = iter(jobs)
        self._progress = progress
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
        rows = np.zeros_like(job.file.rows)
        with opened(job.file.source.path) as descriptor:
            for number in job.groups:
                if self.stopped or job.file.name in self.refused:
                    return
                group = job.file.groups[number]
                columns = [
                    _column(self._kernel, descriptor, group, key.terms(number, stride), key.number)
                    for key, stride in zip(job.file.keys, job.file.strides, strict=True)
                ]
                if not self._kernel.count_parquet(columns, group.rows, rows):
                    raise NotServed
                self._progress.advance(group.rows, "rows")
        with self._lock:
            np.add(job.file.rows, rows, out=job.file.rows)

    def _next(self) -> _Job | None:
        with self._lock:
            return None if self.stopped else next(self._jobs, None)


def _column(
    kernel: ModuleType, file: int, group: RowGroup, terms: Terms, number: int
) -> tuple[object, ...]:
    """A column of a row group as the kernel takes it: its pages, whether it may be null, terms."""
    chunk = group.chunks[number]
    content = read_bytes(file, chunk.start, chunk.stop)
    headers = [Header(*header) for header in kernel.page_headers(content)]
    return [*value_pages(content, headers, chunk)], chunk.leaf.is_optional, *terms
