"""Chooses the route that checks and counts each file: native, then Parquet, then Polars.

To add a route, write a module beside `polars_route`, and name it in `count_by_route`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.input_formats import CSV
from fairaudit.base.progress import SILENT, Progress
from fairaudit.counting import kernel
from fairaudit.counting.partial_counts import PartialCounts
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.readers import reader_of
from fairaudit.counting.sources.sources import CheckedFile, Copies, SourceFile

_ParquetRoute: TypeAlias = Callable[
    [Mapping[str, SourceFile], Plan, Progress], Mapping[str, Sequence[PartialCounts]]
]


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress = SILENT
) -> CheckedFile:
    """A file once all is proven that the passes of these plans rely on.

    The kernel checks CSV, and counts it in the same reading; what it does not serve, the reader of
    the format checks.
    """
    if file.form == CSV:
        from fairaudit.counting.native import native_csv

        if (native := native_csv.check(file, plans, progress)) is not None:
            read = file.with_lines(native.lines + plans[0].format.first_row - 1)
            return CheckedFile(read, native.lines, counts=native.counts)
    return reader_of(file.form).check_file(file, plans, copies, progress)


def count_by_route(
    plan: Plan, ready: Sequence[CheckedFile], progress: Progress, *, apart: bool
) -> tuple[dict[str, list[PartialCounts | DataError]], str]:
    """The counts of the files by name, each by the fastest route that serves it; which routes."""
    files = {checked.source.file.path: checked.source for checked in ready}
    searched = _count_searches(plan, ready, progress) if plan.search else {}
    progress.start("counting", sum(checked.records for checked in ready), "rows")
    tables = {name for name, file in files.items() if file.layout is not None}
    parts_of: dict[str, list[PartialCounts | DataError]] = {}
    routes: list[str] = []
    for route, count_tables in _parquet_routes() if tables else ():
        left = {name: files[name] for name in files if name in tables and name not in parts_of}
        if parts_by_name := count_tables(left, plan, progress):
            routes.append(route)
            parts_of |= {name: [*parts] for name, parts in parts_by_name.items()}
        files |= {name: _prove(file) for name, file in left.items() if name not in parts_of}
        if tables <= parts_of.keys():
            break  # before the next route is loaded
    by_kernel: dict[str, list[PartialCounts | DataError]] = {
        checked.source.file.path: [checked.counts[1]]
        for checked in ready
        if checked.counts is not None and checked.counts[0] == plan
    }
    by_kernel |= searched
    if by_kernel:
        routes.append("the native kernel over csv")
        parts_of |= by_kernel
        counted = (checked for checked in ready if checked.source.file.path in by_kernel)
        progress.advance(sum(checked.records for checked in counted), "rows")
    rest = [file for name, file in files.items() if name not in parts_of]
    if rest:
        kernel.refuse_others([file.file.path for file in rest])
        from fairaudit.counting.routes import scan

        routes.append(f"Polars streaming over {' and '.join(sorted({file.kind for file in rest}))}")
        for name, part in scan.count(rest, plan, progress, apart=apart).items():
            parts_of[name] = [part]
    return parts_of, "; ".join(routes)


def leave_unproven(file: SourceFile, plan: Plan) -> SourceFile:
    """The file with those columns unproven that the native route checks while it counts them.

    For a pass of this plan alone: any other reader needs them proven.
    """
    if file.layout is None or kernel.load() is None:
        return file
    from fairaudit.counting.native import native_parquet

    return replace(file, unproven=native_parquet.columns_checked(file, plan))


def _prove(file: SourceFile) -> SourceFile:
    """The file once the pages of all columns that are read fit its footer."""
    assert file.layout is not None
    if file.unproven:
        from fairaudit.counting.sources.parquet import check_pages

        check_pages(file.path, file.file.path, file.layout, file.unproven)
    return replace(file, unproven=frozenset())


def _parquet_routes() -> Iterator[tuple[str, _ParquetRoute]]:
    """The routes for Parquet alone, the fastest first; each serves some files, or none."""
    native = kernel.load()
    if native is not None:
        from fairaudit.counting.native import native_parquet

        yield "the native kernel over parquet", partial(native_parquet.count, native)
    if not kernel.is_forced():
        from fairaudit.counting.routes import dictionary_route

        yield "dictionary codes of Parquet", dictionary_route.count


def _count_searches(
    plan: Plan, ready: Sequence[CheckedFile], progress: Progress
) -> dict[str, list[PartialCounts | DataError]]:
    """The counts of the CSV files of a search, whose columns were not known at their check."""
    from fairaudit.counting.native import native_csv

    counted = {
        source.file.path: native_csv.count(source, plan, progress)
        for source in (checked.source for checked in ready)
        if source.form == CSV
    }
    return {name: [counts] for name, counts in counted.items() if counts is not None}
