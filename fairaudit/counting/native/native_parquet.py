"""Native route for Parquet: the kernel counts rows by their dictionary codes.

The dictionaries of all row groups are read before the rows, so all possible cells are known. Each
row has a term for each key column, and the number of its cell is the sum of its terms. A table
gives the term of each dictionary code. Each thread counts row groups in separate tables, which are
added up at the end.

The kernel counts by booleans, by texts and integers that are stored by dictionary, and by numbers
cut into intervals, with a weight or a count, and extra tables. Polars counts files with other
columns, and plans with a filter or scores.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from operator import itemgetter
from types import ModuleType
from typing import NamedTuple, TypeAlias

import numpy as np

from fairaudit.base.arrays import TINY
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.frozen import replace
from fairaudit.base.processes import Progress
from fairaudit.counting.counts import PartialCounts
from fairaudit.counting.native import Cells, NotServed, Words
from fairaudit.counting.native.native_levels import (
    MOST_BYTES,
    Buffer,
    DamagedPage,
    KeyLevels,
    Numbers,
    Reading,
    key_levels,
    numbers,
    opened,
    read_bytes,
    value_pages,
)
from fairaudit.counting.plan import Plan
from fairaudit.counting.raw_counts import RawTable, raw_key
from fairaudit.counting.sources import SourceFile, run_in_threads, thread_count
from fairaudit.counting.sources.parquet import RowGroup, are_sound, check_pages

_MOST_CELLS = 2**20
_MOST_TABLED = 2**22
_MOST_ROWS = 2**24
"""Maximum rows of a row group; with more, a row group would need too much memory and time."""

_MOST_ADDED = 2**26
"""Number of rows after which a thread adds up its tables, so that their sums never overflow."""


class _File(NamedTuple):
    """A file that the kernel can count: the levels of its keys, and the tables of counts.

    `numbers` is the column of weights or counts, which `cells` adds up; None without the column.
    """

    source: SourceFile
    name: str
    groups: Sequence[RowGroup]
    keys: Sequence[KeyLevels]
    numbers: Numbers | None
    cells: Cells
    tables: Sequence[Cells]

    @classmethod
    def open(cls, kernel: ModuleType, source: SourceFile, name: str, plan: Plan) -> _File:
        """The file with the levels of its keys; `NotServed` if the kernel cannot count the file."""
        assert source.layout is not None
        groups = [group for group in source.layout.groups if group.rows]
        if not groups or any(group.rows > _MOST_ROWS for group in groups):
            raise NotServed
        with opened(source.path) as file:
            reading = Reading(kernel, file, source, groups)
            keys = [key_levels(reading, key, plan) for key in plan.every_key]
            measured = plan.weight or plan.count
            measure = numbers(reading, measured) if measured else None
        columns = {column.number for column in (*keys, measure) if column is not None}
        unpacked = (sum(group.chunks[number].unpacked for number in columns) for group in groups)
        if max(unpacked) > MOST_BYTES:
            raise NotServed
        lengths = [len(own.levels) for own in keys]
        cells = Cells.empty(
            range(len(plan.keys)), lengths, _MOST_CELLS, has_sums=measure is not None
        )
        number_of = {key: number for number, key in enumerate(plan.every_key)}
        tables = [
            Cells.empty([number_of[key] for key in table], lengths, _MOST_CELLS, has_sums=False)
            for table in plan.tables
        ]
        if sum(len(table.table.rows) for table in tables) > _MOST_TABLED:
            raise NotServed
        return cls(source, name, groups, keys, measure, cells, tables)

    @property
    def every_table(self) -> list[Cells]:
        return [self.cells, *self.tables]

    def counted(self, plan: Plan) -> PartialCounts:
        levels = {key: own.levels for key, own in zip(plan.every_key, self.keys, strict=False)}
        cells, codes = self.cells.occurring()
        known = [tuple(self.keys[number].levels) for number in self.cells.keys]
        return PartialCounts(
            tuple(map(raw_key, plan.keys, known, codes)),
            np.ones(len(cells), np.int64),
            *self.cells.table.measures(plan, cells),
            tables=tuple(
                RawTable.of(keys, levels, table.table.rows)
                for keys, table in zip(plan.tables, self.tables, strict=True)
            ),
        )

    def count_group(
        self,
        kernel: ModuleType,
        number: int,
        descriptor: int,
        own: Sequence[Words],
        is_weighted: bool,  # noqa: FBT001  # an argument of the kernel
    ) -> list[tuple[float, float]]:
        """Adds a row group to `own`, the counts of a thread; each page is read once.

        Returns the largest weight and the largest rounding error for each table. Raises `NotServed`
        if the kernel cannot count the row group.
        """
        group = self.groups[number]

        def read(column: KeyLevels | Numbers) -> tuple[bytes, bytes, Buffer, bool]:
            chunk = group.chunks[column.number]
            content = read_bytes(descriptor, chunk.start, chunk.stop)
            if self.source.unproven and not are_sound(kernel, content, chunk):
                prove(self.source)  # raises an error, or finds no fault
            return *value_pages(kernel, content, chunk), chunk.leaf.is_optional

        pages = [read(key) for key in self.keys]
        measure = None
        if (numbers := self.numbers) is not None:
            column = *read(numbers), *numbers.terms(number)
            measure = column, numbers.dictionaries[number], is_weighted
        counted = []
        for cells, words in zip(self.every_table, own, strict=True):
            columns = [
                (*pages[key], *self.keys[key].terms(number, stride))
                for key, stride in zip(cells.keys, cells.strides, strict=True)
            ]
            sums = measure if len(cells.table.sums) else None
            counted.append(kernel.count_parquet(columns, sums, group.rows, words))
            if counted[-1] is None:
                raise NotServed
        return counted


_Job: TypeAlias = tuple[_File, int]
"""A file and the number of a row group in it."""


def count(
    kernel: ModuleType, files: Mapping[str, SourceFile], plan: Plan, progress: Progress
) -> dict[str, PartialCounts]:
    """The counts of the Parquet files that the kernel can count, by name."""
    if not _serves(plan):
        return {}
    served = []
    for name, source in files.items():
        try:
            served.append(_File.open(kernel, source, name, plan))
        except NotServed:
            continue
        except (DamagedPage, OSError, UnicodeDecodeError) as error:
            raise _unreadable(source, name) from error
    jobs = [(file, number) for file in served for number in range(len(file.groups))]
    if not jobs:
        return {}
    refused = _count_groups(kernel, jobs, progress, is_weighted=plan.weight is not None)
    return {
        file.name: file.counted(plan)
        for file in served
        # If all weights are tiny, Polars adds them up with more decimals.
        if file.name not in refused and not (plan.weight and file.cells.table.largest < TINY)
    }


def _serves(plan: Plan) -> bool:
    """Whether the plan needs only stored levels, a weight or count, and extra tables."""
    people_twice = plan.count and (plan.weight or plan.tables)
    measured = plan.scores or plan.adding.columns or plan.cluster
    if people_twice or measured or plan.measures_may_be_missing or not all(plan.tables):
        return False
    return not (plan.filter or plan.models or plan.is_derived or plan.repeats)


def columns_checked(source: SourceFile, plan: Plan) -> frozenset[str]:
    """The columns whose pages this route checks; empty if another reader needs the columns too."""
    assert source.layout is not None
    is_read_again = plan.rows is not None or len({*source.header}) < len(source.header)
    is_whole = all(group.rows for group in source.layout.groups) and not source.partitions
    if not _serves(plan) or is_read_again or not is_whole:
        return frozenset()
    columns = (*(key.column for key in plan.every_key), plan.weight, plan.count)
    return frozenset(column for column in columns if column)


def prove(file: SourceFile) -> SourceFile:
    """The file after a check of `unproven` columns; raises `DataError` if a column is damaged."""
    assert file.layout is not None
    check_pages(file.path, file.file.path, file.layout, file.unproven)
    return replace(file, unproven=frozenset())


def _unreadable(source: SourceFile, name: str) -> FairauditError:
    """The error of a damaged file. If the check of its pages finds a fault, raises that error."""
    with suppress(OSError):
        prove(source)
    return DataError.unreadable(name, "damaged, truncated or gone")


def _count_groups(
    kernel: ModuleType, jobs: Sequence[_Job], progress: Progress, *, is_weighted: bool
) -> set[str]:
    """Counts row groups in threads; returns the names of the files that the kernel cannot count.

    Each thread counts in its own tables, and then adds them to the tables of the file.
    """
    refused, queue, lock, stopped = set[str](), iter(jobs), threading.Lock(), threading.Event()

    def take_job() -> _Job | None:
        with lock:
            return None if stopped.is_set() else next(queue, None)

    def add(file: _File, own: Sequence[Words]) -> None:
        with lock:
            for cells, words in zip(file.every_table, own, strict=True):
                cells.table.add_words(words)

    def run_thread() -> None:
        for file, jobs_of_file in itertools.groupby(iter(take_job, None), itemgetter(0)):
            rows, own = 0, [cells.table.empty_words() for cells in file.every_table]
            try:
                with opened(file.source.path) as descriptor:
                    for _, number in jobs_of_file:
                        if file.name in refused:
                            break
                        counted = file.count_group(kernel, number, descriptor, own, is_weighted)
                        with lock:
                            for cells, found in zip(file.every_table, counted, strict=True):
                                most = cells.table.largest, cells.table.error
                                cells.table.largest, cells.table.error = map(max, most, found)
                        progress.advance(file.groups[number].rows, "rows")
                        rows += file.groups[number].rows
                        if rows > _MOST_ADDED:
                            add(file, own)
                            rows, own = 0, [cells.table.empty_words() for cells in file.every_table]
                add(file, own)
            except NotServed:
                refused.add(file.name)
            except (DamagedPage, ValueError, OSError) as error:
                stopped.set()  # the other threads need not finish: their counts are not reported
                raise _unreadable(file.source, file.name) from error

    run_in_threads(min(thread_count(), len(jobs)), run_thread, stopped.set)
    return refused
