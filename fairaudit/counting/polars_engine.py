"""The default engine: counts data for plans, finds quantiles, and finds the rows of errors.

A pass is one reading of the data. The native kernel checks and counts each file that it supports;
Polars counts all other files. To add a route (another way to count), write a module next to
`polars_route`, and call this module in `count_by_route`.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.base.arrays import MOST_PEOPLE
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, FairauditError, SpecError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import CSV
from fairaudit.base.ledger import DataFile
from fairaudit.base.names import quoted
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting import load_kernel, refuse_other_routes
from fairaudit.counting.columns import Cut, Quantile
from fairaudit.counting.contract import CountsOrError, Data
from fairaudit.counting.counts import (
    CountedFile,
    Counts,
    PartialCounts,
    add_notices,
    check_people,
)
from fairaudit.counting.plan import MOST_CELLS, Plan, merge_plans
from fairaudit.counting.raw_counts import unite_keys
from fairaudit.counting.sources import (
    FRAME_NAME,
    Copies,
    Frame,
    SourceFile,
    begin_pass,
    open_file,
    reader_of,
)
from fairaudit.counting.sources.column_checks import (
    check_columns,
    check_repeated,
    find_unused,
    may_repeat,
)
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.equal_files import compare_files
from fairaudit.counting.sources.files import Files, find_files

if TYPE_CHECKING:
    from fairaudit.counting.routes.polars_route import FoundRow
    from fairaudit.counting.sources.batches import Batch
    from fairaudit.counting.sources.databases import Table


def count(plans: Sequence[Plan], data: Data, progress: Progress = SILENT) -> list[CountsOrError]:
    """The counts for several plans of the same data and format, in as few passes as possible."""
    if isinstance(data, Frame):
        return [_count_frame(plan, data, plans) for plan in plans]
    if isinstance(data, Database):
        return [_count_table(plan, data, progress) for plan in plans]
    paths, left_out = find_files(data.entries, data.base)
    outcomes: dict[int, CountsOrError] = {}
    notices: dict[int, list[Notice]] = {}
    with begin_pass(paths) as copies:
        files = [open_file(path, plans[0].format, copies) for path in paths]
        for number, plan in enumerate(plans):
            try:
                notices[number] = check_columns(plan, files)
            except SpecError as error:
                outcomes[number] = error
        sound = {number: plans[number] for number in notices}
        if len(sound) == 1:
            files = [leave_unproven(file, *sound.values()) for file in files]
        if sound:
            checked = [check_file(file, [*sound.values()], copies, progress) for file in files]
            left_out += compare_files(
                files, checked, plans[0].format.separator, may_repeat=data.may_repeat
            )
            for number, plan in [*sound.items()]:
                try:
                    for file, ready in zip(files, checked, strict=True):
                        check_repeated(plan, file, ready)
                except FairauditError as error:
                    del sound[number]
                    outcomes[number] = error
            for number, plan in sound.items():
                notices[number] += _tell_unused(plan, checked)
            for plan, numbers in _group_plans(sound, checked, notices):
                members = {number: sound[number] for number in numbers}
                outcomes |= _count_in_one_pass(plan, members, checked, progress)
    return [
        add_notices(outcomes[number], (*left_out, *notices.get(number, ())))
        for number in range(len(plans))
    ]


def _group_plans(
    plans: Mapping[int, Plan], ready: Sequence[SourceFile], notices: Mapping[int, list[Notice]]
) -> list[tuple[Plan, list[int]]]:
    """Joint plans of at most `MOST_CELLS` cells, and the numbers of the plans that each joins."""
    groups: list[tuple[Plan, list[int]]] = []
    for number, plan in plans.items():
        for place, (old, members) in enumerate(groups):
            joint = merge_plans([old, plan])
            if joint is None:
                continue
            cells = 0.0
            if joint != old:
                from fairaudit.counting.routes import polars_route

                cells = math.inf
                with contextlib.suppress(FairauditError):  # the pass of each plan reports the error
                    cells = polars_route.estimated_cells(ready[0], joint)
            if cells <= MOST_CELLS:
                groups[place] = joint, [*members, number]
                break
            what = (
                "counted in a separate pass: together with other specs it would have over "
                f"{MOST_CELLS:,} combinations of levels"
            )
            notices[number].append(Notice(what, Subjects.NOBODY))
        else:
            groups.append((plan, [number]))
    return groups


def _count_in_one_pass(
    plan: Plan, members: Mapping[int, Plan], ready: Sequence[SourceFile], progress: Progress
) -> dict[int, CountsOrError]:
    """The counts for each plan of a pass; if the pass fails, each plan gets its own pass."""
    try:
        ready = _leave_out_repeats(plan, ready)
        parts, route = count_by_route(plan, ready, progress)
        counts = _merge(plan, parts, ready, route, progress)
    except FairauditError as error:
        if len(members) == 1:
            return dict.fromkeys(members, error)
        outcomes: dict[int, CountsOrError] = {}
        for number, member in members.items():
            outcomes |= _count_in_one_pass(member, {number: member}, ready, progress)
        return outcomes
    return dict.fromkeys(members, counts)


def _leave_out_repeats(plan: Plan, ready: Sequence[SourceFile]) -> Sequence[SourceFile]:
    if plan.repeats is None:
        return ready
    from fairaudit.counting.routes import repeats

    return repeats.leave_out(ready, plan, plan.repeats)


def _tell_unused(plan: Plan, ready: Sequence[SourceFile]) -> list[Notice]:
    """Notices on people who may count several times, from columns that the plan does not use."""
    unused = [find_unused(plan, checked.header) for checked in ready]
    rows = sum(checked.records for checked in ready)
    if not unused[0] or len({*unused}) > 1 or not rows:
        return []
    of_rows = plan.repeats is None and not plan.is_table and all(file.form for file in ready)
    if of_rows and not may_repeat(ready, unused[0], plan.format.separator):
        return []  # without Polars: its import takes longer than a small audit
    from fairaudit.counting.routes import repeats
    from fairaudit.counting.sources.batches import batches

    with contextlib.suppress(DataError):  # columns that the audit does not need may be unreadable
        read = batches(ready, plan.format.separator)
        return [*repeats.tell_unused(read, unused[0], plan)]
    return []


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress = SILENT
) -> SourceFile:
    """The file after it was checked for these plans.

    The kernel checks CSV files, and counts them at the same time if it can. The reader of the
    format checks all other files.
    """
    if file.form == CSV:
        from fairaudit.counting.native import native_csv

        if (native := native_csv.check(file, plans, progress)) is not None:
            return native
    return reader_of(file.form).check_file(file, plans, copies, progress)


def count_by_route(
    plan: Plan, ready: Sequence[SourceFile], progress: Progress
) -> tuple[list[PartialCounts], str]:
    """Counts each file by the fastest possible route; returns counts, and the routes in words."""
    files = {checked.file.path: checked for checked in ready}
    progress.start("counting", sum(checked.records for checked in ready), "rows")
    tables = {name: file for name, file in files.items() if file.layout is not None}
    parts: dict[str, PartialCounts] = {}
    routes: list[str] = []
    native = load_kernel() if tables else None
    if native is not None:
        from fairaudit.counting.native import native_parquet

        parts |= native_parquet.count(native, tables, plan, progress)
        routes += ["the native kernel over parquet"] if parts else []
        declined = (name for name in tables if name not in parts)
        files |= {name: native_parquet.prove(files[name]) for name in declined}
    by_kernel = {
        checked.file.path: checked.counts[1]
        for checked in ready
        if checked.counts is not None and checked.counts[0] == plan
    }
    if by_kernel:
        routes.append("the native kernel over csv")
        parts |= by_kernel
        rows = sum(checked.records for checked in ready if checked.file.path in by_kernel)
        progress.advance(rows, "rows")
    rest = [file for name, file in files.items() if name not in parts]
    if rest:
        refuse_other_routes([file.file.path for file in rest])
        from fairaudit.counting.routes import polars_route

        routes.append(f"Polars streaming over {' and '.join(sorted({file.kind for file in rest}))}")
        return [*parts.values(), *polars_route.count_files(rest, plan, progress)], "; ".join(routes)
    return [*parts.values()], "; ".join(routes)


def leave_unproven(file: SourceFile, plan: Plan) -> SourceFile:
    """The file with its `unproven` columns, which the native route checks while it counts.

    Use this only for a single plan. Several plans may need a second pass, in which another reader
    needs checked columns.
    """
    if file.layout is None or load_kernel() is None:
        return file
    from fairaudit.counting.native import native_parquet

    return replace(file, unproven=native_parquet.columns_checked(file, plan))


def _merge(
    plan: Plan,
    parts: Sequence[PartialCounts],
    ready: Sequence[SourceFile],
    route: str,
    progress: Progress,
    batch: Batch | None = None,
) -> Counts:
    """The joint counts of all parts. Further passes add medians, and the people one by one."""
    data = [*ready] if batch is None else batch
    counts = _join_parts(plan, parts, ready, route)
    medians = {}
    for column in plan.medians:
        scores = counts.scores.get(column)
        between = None if scores is None else scores.median_range
        if between is not None and between[0] < between[1]:
            # The bin of the median has several values, so another pass is needed.
            from fairaudit.counting.routes import quantiles

            medians[column] = quantiles.median(data, plan, column, between)
    counts = replace(counts, medians=medians)
    if plan.rows is None or not counts.rows.any():
        return counts  # recoding reports that no rows are left
    from fairaudit.counting.routes import rows
    from fairaudit.counting.sources.batches import batches

    read_from = batches(data, plan.format.separator) if isinstance(data, list) else [data]
    read = rows.read_rows(read_from, counts, plan.rows, progress)
    return replace(counts, rows_read=read, route=f"{counts.route}; people one by one, once more")


def _count_frame(plan: Plan, data: Frame, plans: Sequence[Plan]) -> CountsOrError:
    """The counts of a data frame for a plan; `plans` are all plans for this frame."""
    from fairaudit.counting.routes import polars_route
    from fairaudit.counting.sources import frames

    try:
        batch, rows, header = frames.read_frame(data, plans)
        file = _describe(FRAME_NAME, header)
        notices = check_columns(plan, [file])
        unused = find_unused(plan, header)
        if unused and {*header} <= {*batch.schema} and rows:
            from fairaudit.counting.routes import repeats

            with contextlib.suppress(DataError):
                notices += repeats.tell_unused([batch], unused, plan)
        file, batch = _leave_out_of_frame(plan, file, batch)
        with _locating_errors(batch, plan, "row "):
            part = polars_route.count_batch(batch, plan)
        route = "Polars streaming over a frame"
        counts = _merge(plan, [part], [replace(file, records=rows)], route, SILENT, batch)
    except FairauditError as error:
        return error
    return add_notices(counts, notices)


def _leave_out_of_frame(plan: Plan, file: SourceFile, batch: Batch) -> tuple[SourceFile, Batch]:
    """A data frame without the rows that repeat a person; `file` represents the frame."""
    if plan.repeats is None:
        return file, batch
    from fairaudit.counting.routes import repeats
    from fairaudit.counting.sources.batches import leave_out_rows

    with _locating_errors(batch, plan, "row "):
        (rows,), notices = repeats.find_repeats([batch], plan, plan.repeats)
    batch = replace(batch, frame=leave_out_rows(batch.frame, rows))
    return replace(file, repeated=rows, notices=notices), batch


@contextmanager
def _locating_errors(batch: Batch, plan: Plan, row_name: str | None = None) -> Iterator[None]:
    """Adds the place and the text of the first faulty row to a `DataError`.

    The place is `row_name` and the number of the row. Without `row_name`, the place is the name of
    the batch.
    """
    try:
        yield
    except DataError as error:
        from fairaudit.counting.routes import polars_route

        found = None if error.seek is None else polars_route.first_row(batch, plan, error.seek)
        if found is None:
            raise
        spot = batch.names[0] if row_name is None else f"{row_name}{found.number:,}"
        raise _locate(error, spot, found, plan) from error


def _count_table(plan: Plan, data: Database, progress: Progress) -> CountsOrError:
    """The counts of a database table; the database groups the rows."""
    from fairaudit.counting.routes import polars_route

    try:
        if plan.rows is not None:
            what = (
                f"{data.name}: measures of individuals (such as `consistency`) compare people one "
                "by one, which fairaudit cannot do in a database"
            )
            return UsageError(what, "audit an export as Parquet, or remove these measures")
        if plan.repeats is not None:
            what = (
                f"{data.name}: the data is in a database, where fairaudit cannot leave out "
                "repeated rows of a person"
            )
            hint = "remove `columns.id`, and choose one row of each person in `?query=SELECT …`"
            return UsageError(what, hint)
        with _open_table(data) as table:
            file = _describe(data.name, tuple(table.schema))
            notices = check_columns(plan, [file])
            batch = table.group(plan, progress)
            ready = [replace(file, records=table.rows)]
            with _locating_errors(batch, plan):
                part = polars_route.count_batch(batch, plan)
            counts = _merge(plan, [part], ready, table.route, progress, batch)
    except FairauditError as error:
        return error
    return add_notices(counts, notices)


@contextmanager
def open(data: Database) -> Iterator[Database]:  # noqa: A001  # a method of the contract
    """The database in one open transaction, for several passes."""
    with _open_table(data) as table:
        yield replace(data, opened=table)


@contextmanager
def _open_table(data: Database) -> Iterator[Table]:
    """The table of a database; if the table is not open yet, it is opened for this pass."""
    if data.opened is not None:
        yield data.opened
        return
    from fairaudit.counting.sources import databases

    with begin_pass(data.files), databases.open_table(data) as table:
        yield table


def _describe(name: str, header: tuple[str, ...]) -> SourceFile:
    """The `SourceFile` that represents a data frame or a database table."""
    return SourceFile(DataFile(name, 0, None), Path(), None, header)


def locate_error(error: DataError, plan: Plan, data: Data) -> DataError:
    """The error with the place of the first faulty row, if that row can be found.

    The place is `file:line`, or the number of the row if the format has no lines.
    """
    if error.seek is None or not isinstance(data, Files):
        return error
    from fairaudit.counting.routes import polars_route

    with contextlib.suppress(FairauditError):  # the first error is reported
        for path in find_files(data.entries, data.base)[0]:
            with begin_pass([path]) as copies:
                file = open_file(path, plan.format, copies)
                ready = check_file(file, [plan], copies)
                found = polars_route.first_row(ready, plan, error.seek)
                if found is not None:
                    line = reader_of(file.form).find_line(file, plan.format, found.number)
                    spot = f", row {found.number}" if line is None else f":{line}"
                    return _locate(error, f"{file.file.path}{spot}", found, plan)
    return error


def _locate(error: DataError, spot: str, found: FoundRow, plan: Plan) -> DataError:
    """The error with the place of the faulty row and a remedy.

    The error quotes the faulty text only if the text is a count or the filter compares the text,
    because other texts may be personal data.
    """
    seek = error.seek
    if found.texts and seek is not None and (seek.in_filter or seek.column == plan.count):
        spot = f"{spot} holds {' and '.join(map(quoted, found.texts))}"
    return error.located(spot, found.remedy)


def find_cuts(
    plan: Plan, quantiles: Sequence[Quantile], data: Data, progress: Progress = SILENT
) -> dict[Quantile, Cut]:
    """The value of each quantile of a column, over the rows that the plan's filter keeps."""
    if isinstance(data, Database):
        with _open_table(data) as table:
            check_columns(plan, [_describe(data.name, tuple(table.schema))])
            return _find_cuts(lambda column: table.values(plan, column), plan, quantiles)
    if isinstance(data, Frame):
        from fairaudit.counting.sources import frames

        batch, _, header = frames.read_frame(data, [plan])
        file = _describe(FRAME_NAME, header)
        check_columns(plan, [file])
        _, batch = _leave_out_of_frame(plan, file, batch)
        return _find_cuts(lambda _: batch, plan, quantiles)
    paths, _ = find_files(data.entries, data.base)
    with begin_pass(paths) as copies:
        opened = [open_file(path, plan.format, copies) for path in paths]
        check_columns(plan, opened)
        ready = [check_file(file, [plan], copies, progress) for file in opened]
        compare_files(opened, ready, plan.format.separator, may_repeat=data.may_repeat)
        sources = _leave_out_repeats(plan, ready)
        return _find_cuts(lambda _: sources, plan, quantiles)


def _find_cuts(
    data_of: Callable[[str], Sequence[SourceFile] | Batch], plan: Plan, wanted: Sequence[Quantile]
) -> dict[Quantile, Cut]:
    """The values of quantiles; `data_of` returns the data in which to read a column."""
    from fairaudit.counting.routes import quantiles

    cuts_found: dict[Quantile, Cut] = {}
    for column in dict.fromkeys(column for column, _ in wanted):
        shares = [share for name, share in wanted if name == column]
        cuts = quantiles.cuts(data_of(column), plan, column, shares)
        cuts_found |= {(column, share): cut for share, cut in zip(shares, cuts, strict=True)}
    return cuts_found


def _join_parts(
    plan: Plan, parts: Sequence[PartialCounts], ready: Sequence[SourceFile], route: str
) -> Counts:
    """The counts of all files as one `Counts`; equal texts in two files are one level.

    Raises `DataError` if the number of rows differs from the number of records that the checks
    counted, or if there are too many cells.
    """
    rows = sum(int(part.rows.sum()) for part in parts)
    read = sum(file.records for file in ready) * plan.counts_per_row
    repeated = sum(len(file.repeated or ()) for file in ready)
    if rows != read - repeated:
        raise DataError(
            f"the pass counted {rows:,} rows, the control total is {read - repeated:,}",
            "the data changed while it was read, or is damaged: run again",
            uncounted="the pass did not count as many rows as the control total",
        )
    check_people(sum(int(part.people.sum()) for part in parts))
    cells = sum(len(part.rows) for part in parts)
    if cells > MOST_CELLS and plan.cluster is not None:
        raise DataError(
            f"there are {cells:,} combinations of levels and clusters, at most {MOST_CELLS:,} are "
            "allowed",
            "audit fewer columns at a time, or remove `cluster`",
        )
    if cells > MOST_CELLS:
        keys = map(unite_keys, zip(*(part.keys for part in parts), strict=True))
        widest = max(keys, key=lambda key: len(key.levels))
        raise DataError(
            f"there are {cells:,} combinations of levels, at most {MOST_CELLS:,} are allowed: the "
            f"column {quoted(widest.key.column)} alone has {len(widest.levels):,} levels",
            "if the column is an id, remove it; otherwise bin or merge its levels",
        )
    counts = Counts(
        **PartialCounts.join(plan, parts),
        plan=plan,
        read=read,
        repeated=repeated,
        notices=tuple(notice for file in ready for notice in file.notices),
        sources=tuple(CountedFile(one.file, one.records, one.blank) for one in ready),
        route=route,
    )
    weight = None if counts.weights is None else counts.weights.total
    if weight is not None and sum(weight.values.tolist()) // weight.scale >= MOST_PEOPLE:
        what = "the sum of the weights does not fit into 64 bits"
        hint = "check the weight column, or divide all weights by the same number"
        raise DataError(what, hint)
    return counts
