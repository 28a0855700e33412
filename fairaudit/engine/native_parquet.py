"""Route 1 of Parquet: the native kernel counts rows by their dictionary codes.

Each key column adds a term to the number of a row's cell, by a look-up that is made of the
dictionaries of all row groups before anything is counted. So the cells are known from the start,
and threads count row groups into tables of their own, which add up. It serves texts, booleans and
small integers, numbers cut at edges, a weight or a count, and tables beside the cells; a filter,
scores, searches and any other file are left to the other routes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from fairaudit.engine.native_cells import Cells, CellTable, side_tables
from fairaudit.engine.native_levels import KeyLevels, Numbers, Reading, key_levels, numbers
from fairaudit.engine.native_pages import (
    MOST_BYTES,
    DamagedPage,
    Page,
    opened,
    read_bytes,
    value_pages,
)
from fairaudit.engine.parquet import Header, RowGroup
from fairaudit.engine.partial_counts import NotServed, PartialCounts, raw_key
from fairaudit.engine.sources import SharedWork, SourceFile
from fairaudit.errors import DataError
from fairaudit.fixed_point import TINY
from fairaudit.plan import Plan
from fairaudit.progress import Progress

_MOST_CELLS = 2**20
_MOST_TABLED = 2**22
_ROWS_OF_JOB = 2**21
_MOST_ROWS = 2**24
"""More rows in one row group would take too much memory at once, and too long to interrupt."""


class _File(NamedTuple):
    """A file that is served: the levels of its keys, and the tables that they are counted in.

    `numbers` is the column of weights, or of people, where there is one; it belongs to `cells`.
    """

    source: SourceFile
    name: str
    groups: Sequence[RowGroup]
    keys: Sequence[KeyLevels]
    numbers: Numbers | None
    cells: Cells
    tables: Sequence[Cells]

    def counted(self, plan: Plan) -> PartialCounts:
        """The cells that occur."""
        cells, codes = self.cells.occurring()
        levels = (tuple(key.levels) for key in self.keys)
        keys = tuple(map(raw_key, plan.keys, levels, codes))
        measures = self.cells.table.measures(plan, cells)
        tables = side_tables(self.tables, plan, self.keys)
        return PartialCounts(keys, np.ones(len(cells), np.int64), measures, tables=tables)


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
    work.run()
    return {
        file.name: [file.counted(plan)]
        for file in served
        # Weights that are all tiny are added up in a finer fixed point.
        if file.name not in work.refused and not (plan.weight and file.cells.table.largest < TINY)
    }


def _serves(plan: Plan) -> bool:
    """Whether rows are counted by levels as they are stored, and nothing else is asked of them."""
    people_twice = plan.count and (plan.weight or plan.tables)
    measured = plan.scores or plan.adding.columns or plan.cluster
    if people_twice or measured or plan.measures_may_be_missing or not all(plan.tables):
        return False
    return not (plan.filter or plan.search or plan.models or plan.is_derived)


def _open_file(kernel: ModuleType, source: SourceFile, name: str, plan: Plan) -> _File:
    """The file with the levels of its keys; raises `NotServed` where it is for another route."""
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
    cells = Cells.empty(range(len(plan.keys)), keys, _MOST_CELLS, has_sums=measure is not None)
    number_of = {key: number for number, key in enumerate(plan.every_key)}
    tables = [
        Cells.empty([number_of[key] for key in table], keys, _MOST_CELLS, has_sums=False)
        for table in plan.tables
    ]
    if sum(len(table.table.rows) for table in tables) > _MOST_TABLED:
        raise NotServed
    return _File(source, name, groups, keys, measure, cells, tables)


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


class _Work(SharedWork[_Job]):
    """Jobs that several threads share."""

    def __init__(
        self, kernel: ModuleType, jobs: Sequence[_Job], progress: Progress, *, is_weighted: bool
    ) -> None:
        super().__init__(jobs, progress)
        self._kernel = kernel
        self._is_weighted = is_weighted

    def run_thread(self) -> None:
        """Does one job after the other."""
        while (job := self.next_job()) is not None:
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
        """Counts row groups in tables of their own, and adds them to those of the file."""
        file = job.file
        own = [cells.table.another() for cells in (file.cells, *file.tables)]
        with opened(file.source.path) as descriptor:
            for number in job.groups:
                if self.stopped or file.name in self.refused:
                    return
                self._count_group(file, number, descriptor, own)
                self.progress.advance(file.groups[number].rows, "rows")
        with self.lock:
            for cells, table in zip((file.cells, *file.tables), own, strict=True):
                cells.table.add(table)

    def _count_group(
        self, file: _File, number: int, descriptor: int, own: Sequence[CellTable]
    ) -> None:
        """Counts a row group in all tables, by pages that are read once."""
        group = file.groups[number]

        def read(column: KeyLevels | Numbers) -> tuple[list[Page], bool]:
            chunk = group.chunks[column.number]
            content = read_bytes(descriptor, chunk.start, chunk.stop)
            headers = [Header(*header) for header in self._kernel.page_headers(content)]
            return value_pages(content, headers, chunk), chunk.leaf.is_optional

        pages = [read(key) for key in file.keys]
        measure = None
        if (numbers := file.numbers) is not None:
            column = *read(numbers), *numbers.terms(number)
            measure = column, numbers.dictionaries[number], self._is_weighted, own[0].sums
        for cells, table in zip((file.cells, *file.tables), own, strict=True):
            columns = [
                (*pages[key], *file.keys[key].terms(number, stride))
                for key, stride in zip(cells.keys, cells.strides, strict=True)
            ]
            counted = self._kernel.count_parquet(columns, measure, group.rows, table.rows)
            if counted is None:
                raise NotServed
            table.largest, table.error = map(max, (table.largest, table.error), counted)
            measure = None  # it is of the cells alone
