"""Chooses the route that checks and counts each file: the native kernel, or else Polars.

To add a route, write a module beside `polars_route`, and name it in `count_by_route`.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.input_formats import CSV
from fairaudit.base.progress import SILENT, Progress
from fairaudit.counting import kernel
from fairaudit.counting.partial_counts import PartialCounts
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.readers import reader_of
from fairaudit.counting.sources.sources import CheckedFile, Copies, SourceFile


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
            return native
    return reader_of(file.form).check_file(file, plans, copies, progress)


def count_by_route(
    plan: Plan, ready: Sequence[CheckedFile], progress: Progress, *, apart: bool
) -> tuple[dict[str, list[PartialCounts | DataError]], str]:
    """The counts of the files by name, each by the fastest route that serves it; which routes."""
    files = {checked.source.file.path: checked.source for checked in ready}
    searched = _count_searches(plan, ready, progress) if plan.search else {}
    progress.start("counting", sum(checked.records for checked in ready), "rows")
    tables = {name: file for name, file in files.items() if file.layout is not None}
    parts_of: dict[str, list[PartialCounts | DataError]] = {}
    routes: list[str] = []
    native = kernel.load() if tables else None
    if native is not None:
        from fairaudit.counting.native import native_parquet

        counted = native_parquet.count(native, tables, plan, progress)
        routes += ["the native kernel over parquet"] if counted else []
        parts_of |= {name: [*parts] for name, parts in counted.items()}
        declined = (name for name in tables if name not in parts_of)
        files |= {name: native_parquet.prove(files[name]) for name in declined}
    by_kernel: dict[str, list[PartialCounts | DataError]] = {
        checked.source.file.path: [checked.counts[1]]
        for checked in ready
        if checked.counts is not None and checked.counts[0] == plan
    }
    by_kernel |= searched
    if by_kernel:
        routes.append("the native kernel over csv")
        parts_of |= by_kernel
        rows = sum(checked.records for checked in ready if checked.source.file.path in by_kernel)
        progress.advance(rows, "rows")
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
