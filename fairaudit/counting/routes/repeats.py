"""Rows that repeat a person: one pass over the ids finds them, and all other passes ignore them.

If the spec names no column of ids, a notice reports a column that looks like repeated ids.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, Seek
from fairaudit.base.frozen import replace
from fairaudit.base.names import is_like_total, listing, quoted
from fairaudit.counting.columns import CsvFormat, Repeats
from fairaudit.counting.plan import Plan
from fairaudit.counting.routes.derived_columns import prepare
from fairaudit.counting.routes.polars_numbers import as_text
from fairaudit.counting.sources import SourceFile
from fairaudit.counting.sources.batches import ROW, Batch, batches, collect, hint_dates, own
from fairaudit.counting.sources.column_checks import FIRST_ROWS

_ID, _PLACE, _KEPT = own("id"), own("place"), own("kept")
_MOST_LEVELS = 5
_MOMENT = r"^\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$"
_LONGEST = len("2024-12-31 23:59:59.999999999")


def leave_out(ready: Sequence[SourceFile], plan: Plan, repeats: Repeats) -> list[SourceFile]:
    """The files, each with the numbers of its rows that repeat a person of this or another file.

    Raises `DataError` for rows without an id, and for repeated rows if the spec does not allow
    them.
    """
    if any(file.repeated is not None for file in ready):
        return [*ready]
    separator = plan.format.separator
    of_files = [batches([file], separator)[0] for file in ready]
    repeated, notices = find_repeats(of_files, plan, repeats)
    files = [replace(file, repeated=rows) for file, rows in zip(ready, repeated, strict=True)]
    return [replace(files[0], notices=notices), *files[1:]] if files else files


def find_repeats(
    data: Sequence[Batch], plan: Plan, repeats: Repeats
) -> tuple[list[tuple[int, ...]], tuple[Notice, ...]]:
    """The numbers (from 0) of the rows in each batch that repeat a person, and notices on the rows.

    Rows that the filter drops are ignored.
    """
    # The id of each row that the filter keeps, and the values that order the rows of a person.
    read = []
    for place, batch in enumerate(data):
        numbers = prepare(replace(batch, frame=batch.frame.with_row_index(ROW)), plan)
        text = _write_id(as_text(pl.col(repeats.id), batch.schema[repeats.id]))
        columns = {_ID: pl.when(~text.is_in(["", *plan.tokens])).then(text), _PLACE: pl.lit(place)}
        for name in repeats.latest:
            columns[own(f"date {name}")] = numbers.moment(name, _LONGEST).cast(pl.String)
            number = pl.lit(None) if batch.schema[name].is_temporal() else numbers.value(name)
            columns[own(f"number {name}")] = number.cast(pl.Float64)
        for name in plan.groups:
            level = as_text(pl.col(name), batch.schema[name]).str.strip_chars()
            columns[own(f"group {name}")] = pl.when(~level.is_in(["", *plan.tokens])).then(level)
        named = [value.alias(name) for name, value in columns.items()]
        frame = numbers.batch.frame.select(ROW, *named, *numbers.filtered)
        read.append(collect(frame.filter(numbers.kept).select(ROW, *columns), batch))
    rows = pl.concat(read)
    lacking = rows[_ID].null_count()
    if lacking:
        what = (
            f"{'row has' if lacking == 1 else 'rows have'} no value in the id column {repeats.id!r}"
        )
        raise DataError(
            f"{lacking:,} {what}",
            "complete the ids, or remove these rows with a filter",
            seek=Seek(repeats.id, (None, "", *plan.tokens)),
            uncounted=f"rows have no value in the id column {quoted(repeats.id)}",
        )
    kept = len(rows)
    rows = rows.filter(pl.col(_ID).is_duplicated()).sort(_PLACE, ROW)
    if repeats.keep == "error" and not repeats.latest and len(rows):
        again = rows.filter(~pl.col(_ID).is_first_distinct())
        what = f"a person by the id {quoted(repeats.id)}"
        raise DataError(
            f"{len(again):,} {'row repeats' if len(again) == 1 else 'rows repeat'} {what}",
            "choose which row of a person counts: `repeats: first`, `repeats: last` or `repeats: "
            "{latest: COLUMN}`",
            seek=Seek(repeats.id, (again[_ID][0],)),
            uncounted=f"rows repeat {what}",
        )
    orders = [_find_order(rows, column, plan.format) for column in repeats.latest]
    rows = rows.sort(orders, maintain_order=True) if orders else rows
    is_first = repeats.keep == "first" and not repeats.latest
    keep = pl.col(_ID).is_first_distinct() if is_first else pl.col(_ID).is_last_distinct()
    rows = rows.with_columns(keep.alias(_KEPT))
    left_out = rows.filter(~pl.col(_KEPT))
    numbers_of = [
        tuple(left_out.filter(pl.col(_PLACE) == place)[ROW].sort().to_list())
        for place in range(len(data))
    ]
    return numbers_of, tuple(_tell_left_out(rows, kept, plan, quoted(repeats.id)))


def _tell_left_out(rows: pl.DataFrame, kept: int, plan: Plan, of: str) -> Iterator[Notice]:
    """Notices on the rows that each group loses, and on people with rows in several groups."""
    left_out, groups, several = rows.filter(~pl.col(_KEPT)), "", list[str]()
    for name, column in ((name, own(f"group {name}")) for name in plan.groups):
        counted = left_out.drop_nulls(column).group_by(column).len(_PLACE)
        most = counted.sort(_PLACE, column, descending=[True, False]).head(_MOST_LEVELS).rows()
        groups += f"; {name}: {', '.join(f'{quoted(one)} {n:,}' for one, n in most)}"
        levels = rows.drop_nulls(column).group_by(_ID).agg(pl.col(column).unique().sort())[column]
        mixed = levels.filter(levels.list.len() > 1).sort()
        if len(mixed):
            what = f"{name}: {len(mixed):,} of the ids in {of} have rows in several groups, such "
            what += f"as {listing(mixed[0].to_list(), 3)}: the row that counts decides the group"
            several.append(what)
    if len(left_out):
        what = f"{len(left_out):,} of {kept:,} rows are left out, which repeat a person by the id "
        yield from (Notice(text, Subjects.NEVER) for text in (what + of + groups, *several))


def _write_id(text: pl.Expr) -> pl.Expr:
    """An id without spaces around it and without `.0`, which some programs add (`7.0` is 7)."""
    return text.str.strip_chars().str.replace(r"^(\d+)\.0+$", "${1}")


def _find_order(rows: pl.DataFrame, column: str, form: CsvFormat) -> str:
    """The name of the column that orders the rows by the numbers, or by the dates, in `column`."""
    date, number = own(f"date {column}"), own(f"number {column}")
    if rows[number].null_count() == 0:
        return number
    unread = int((~rows[date].str.contains(_MOMENT).fill_null(value=False)).sum())
    if unread:
        what = f"neither a date nor a number in {quoted(column)}, so it is unclear which is latest"
        rows_hold = "row of a person with several rows holds"
        if unread > 1:
            rows_hold = "rows of people with several rows hold"
        raise DataError(
            f"{unread:,} {rows_hold} {what}",
            hint_dates(form, column),
            uncounted=f"rows of people with several rows hold {what}",
        )
    return date


def tell_unused(data: Sequence[Batch], names: Sequence[str], plan: Plan) -> Iterator[Notice]:
    """Notices on people who may count several times: rows of totals, or repeated ids.

    Only the first rows are read, which takes little time compared with the counting.
    """
    if plan.repeats is None and not plan.is_table:
        yield from _tell_repeats(data, names)
        return
    if plan.repeats is None:
        # Columns of a table of counts with a level such as `total`.
        rows = _read_first(data, pl.col(*names).cast(pl.String))
        for name in names:
            levels = collect(rows.select(pl.col(name).drop_nulls().unique()), data[0])
            totals = sorted(filter(is_like_total, levels.to_series()))
            if totals:
                column = name if name.isidentifier() else f'"{name}"'
                yield Notice(
                    f"{quoted(name)}, which the spec does not use, has the level "
                    f"{quoted(totals[0])}: if its rows are totals, people count several times; "
                    f"leave them out by `filter: {column} <> '{totals[0]}'`",
                    Subjects.NEVER,
                )
        return
    # Ids that differ only in their notation, so that a person counts several times.
    ids = _read_first(data, _write_id(pl.col(plan.repeats.id).cast(pl.String)).alias(_ID))
    spelled = pl.col(_ID).str.to_lowercase().str.replace_all(r"\s", "")
    alike = spelled.str.replace(r"^(\D*)0+(\d)", "${1}${2}").alias(_PLACE)
    rows_of_ids = collect(ids.select(_ID, alike).unique(), data[0])
    again = len(rows_of_ids) - rows_of_ids[_PLACE].n_unique()
    if again:
        differs = "id differs" if again == 1 else "ids differ"
        yield Notice(
            f"{quoted(plan.repeats.id)}: {again:,} {differs} from another only in case, blanks or "
            "zeros at the start, and each counts as another person: write an id in one way",
            Subjects.NEVER,
        )


def _read_first(data: Sequence[Batch], columns: pl.Expr) -> pl.LazyFrame:
    return pl.concat([batch.frame.select(columns) for batch in data]).head(FIRST_ROWS)


def _tell_repeats(data: Sequence[Batch], ids: Sequence[str]) -> Iterator[Notice]:
    """A notice on the first column of `ids` in which less than half of the rows repeat a value."""
    rows = _read_first(data, pl.col(*ids).cast(pl.String))
    lacking = (pl.col(name).null_count().alias(own(name)) for name in ids)
    query = rows.select(pl.len().alias(_PLACE), pl.col(*ids).n_unique(), *lacking)
    counted = collect(query, data[0]).row(0, named=True)
    people = counted[_PLACE]
    for name in ids:
        again = people - counted[name]
        if counted[own(name)] or not 0 < again < people / 2:
            continue
        # All columns are read only if an id repeats.
        whole = _read_first(data, pl.struct(pl.all()).hash())
        equal = people - collect(whole.select(pl.all().n_unique()), data[0]).item()
        repeat = "repeats" if again == 1 else "repeat"
        first = "the first " if people == FIRST_ROWS else ""
        yield Notice(
            f"{again:,} of {first}{people:,} rows {repeat} a value of {quoted(name)}"
            f"{f', {equal:,} of them in all columns' if equal else ''}: if it names people, they "
            f"count several times; declare `columns: {{id: {name}}}`",
            Subjects.NEVER,
        )
        return
