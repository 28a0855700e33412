"""Checks of the columns of data: missing columns, repeated names, types that differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import DataError, PlanError, PlanFault, suggest_known
from fairaudit.base.inputs import CSV
from fairaudit.base.names import listing, quoted
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import SourceFile, reader_of

if TYPE_CHECKING:
    import polars as pl

    from fairaudit.counting.filter import Filter

READABLE = "cast it before the audit, for example to decimal128, double or string"
"""The hint in errors for a column whose type cannot be read."""

FIRST_ROWS = 100_000
"""The number of rows that are searched for people who count several times."""

_WORD = re.compile(r"[a-z]+|[0-9]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ID = frozenset({"id", "ids", "identifier", "key", "uuid", "guid", "ssn"})
_UNREAD = ("decimal256", "list_view")


def check_columns(plan: Plan, sources: Sequence[SourceFile]) -> list[Notice]:
    """Raises `PlanError` for needed columns that are missing, repeated or unreadable.

    Returns notices on other repeated names, and on columns with different types in different
    files. Repeated columns of CSV files and data frames are compared when their rows are read.
    """
    faults: list[PlanFault] = []
    notices: list[Notice] = []
    in_filter = filter_columns(plan)
    needed = dict.fromkeys([*plan.columns, *in_filter])
    for file in sources:
        repeated = {name: times for name, times in Counter(file.header).items() if times > 1}
        where = f" in {file.file.path}" if len(sources) > 1 else ""
        if file.form != CSV and plan.format.other_lines > 1:
            what = f"only CSV and Excel files have lines to skip, and {file.file.path} is neither"
            faults.append(PlanFault(f"{what}: remove `skip_rows` and `skip_footer`"))
        for name in needed:
            if name not in file.header:
                hint = suggest_known(name, file.header, listing(file.header, 12))
                absent = f"no column {quoted(name)}{where}{hint}"
                if name in plan.columns:
                    faults.append(PlanFault(absent, name))
                if name in in_filter:
                    faults.append(PlanFault(f"{absent}; write texts in single quotes: '…'"))
            elif name in repeated:
                what = f"{repeated[name]} columns are named {quoted(name)}"
                if file.form not in {CSV, None}:
                    faults.append(
                        PlanFault(f"{what}{where}", name if name in plan.columns else None)
                    )
                else:
                    what = f"{what} in {file.file.path}: equal in every row, and read as one"
                    notices.append(Notice(what, Subjects.NOBODY))
        faults += _unread_columns(plan, file, where)
        unneeded = sorted(repeated.keys() - needed)
        if unneeded:
            names = ", ".join(quoted(name) for name in unneeded)
            what = f"{file.file.path} repeats column names that are not audited: {names}"
            notices.append(Notice(what, Subjects.NOBODY))
    if faults:
        raise PlanError(faults)
    levels = {key.column for key in plan.every_key if key.edges is None}
    return [*dict.fromkeys(notices), *_types_that_differ(sources, levels)]


def _unread_columns(plan: Plan, file: SourceFile, where: str) -> Iterator[PlanFault]:
    """Faults of needed columns with a name or type that cannot be read."""
    for name in sorted(columns_read([plan]) & {*file.header}):
        place = name if name in plan.columns else None
        if is_pattern(name):
            what = (
                f"fairaudit cannot read a column with the name {quoted(name)}: `*`, and names from "
                "`^` to `$`, stand for other columns"
            )
            yield PlanFault(f"{what}{where}; rename it in the data", place)
        unread = describe_unread(name, file.types.get(name, ""))
        if unread is not None:
            yield PlanFault(f"{unread}{where}; {READABLE}", place)


def is_pattern(name: str) -> bool:
    """Whether Polars would read the name of a column as a pattern for several columns."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def is_like_id(name: str) -> bool:
    """Whether the name of a column looks like an id of people or rows.

    >>> [name for name in ("candidate_id", "PersonID", "paid", "uuid") if is_like_id(name)]
    ['candidate_id', 'PersonID', 'uuid']
    """
    return not _ID.isdisjoint(split_words(name))


def split_words(name: str) -> list[str]:
    """The words of a name in lower case: `PersonID` and `person_id` have two words."""
    return _WORD.findall(_CAMEL.sub(" ", name).lower())


def find_unused(plan: Plan, header: Sequence[str]) -> tuple[str, ...]:
    """Columns that may show that people count several times.

    If the plan names a column of ids, the result is this column. For a table of counts, the result
    is all unused columns, because an unused column may mark rows of totals. For other data, the
    result is the unused columns whose names look like ids.
    """
    if plan.repeats is not None:
        return (plan.repeats.id,)
    unused = [name for name in header if name not in columns_read([plan])]
    if plan.is_table:
        return tuple(unused)
    return () if plan.cluster is not None else tuple(filter(is_like_id, unused))


def may_repeat(files: Sequence[SourceFile], names: Sequence[str], separator: str) -> bool:
    """Whether a value may occur twice in one of these columns, in the first `FIRST_ROWS` rows."""
    rows_left, seen = FIRST_ROWS, [set[Hashable]() for _ in names]
    for file in files:
        if rows_left <= 0:
            break
        columns = reader_of(file.form).read_first(file, names, separator, rows_left)
        if columns is None:
            return True
        rows_left -= len(columns[0])
        for values, known in zip(columns, seen, strict=True):
            count = len(known) + len(values)
            known.update(values)
            if len(known) < count:
                return True
    return False


def describe_unread(name: str, kind: str) -> str | None:
    """The fault of a column with an Arrow type that Polars cannot read; None for other types."""
    if not any(word in kind for word in _UNREAD):
        return None
    return f"the column {quoted(name)} has the type {kind}, which fairaudit cannot read"


def columns_read(plans: Sequence[Plan]) -> set[str]:
    """The columns of the data that at least one of these plans reads."""
    return {name for plan in plans for name in (*plan.columns, *filter_columns(plan))}


def _types_that_differ(sources: Sequence[SourceFile], columns: Iterable[str]) -> Iterator[Notice]:
    """Notices on columns with different types in different Parquet files."""
    for name in sorted(columns):
        first: dict[str, str] = {}
        for file in sources:
            if name in file.types:
                first.setdefault(file.types[name].removeprefix("large_"), file.file.path)
        if len(first) > 1:
            where = ", ".join(f"{kind} in {path}" for kind, path in first.items())
            what = f"{quoted(name)} differs in type from file to file: {where}"
            yield Notice(what, Subjects.NOBODY)


def parse_filter(plan: Plan) -> Filter | None:
    """The parsed filter of a plan, or None. The data may still lack what the filter needs."""
    if plan.filter is None:
        return None
    from fairaudit.counting import filter as filters

    return filters.parse(plan.filter, plan.format.dates)


def filter_columns(plan: Plan) -> frozenset[str]:
    """The columns in the filter of a plan."""
    rule = parse_filter(plan)
    return frozenset() if rule is None else rule.columns


def find_repeated(header: Sequence[str], needed: Iterable[str]) -> Mapping[str, list[int]]:
    """For each needed name that the header repeats, the indexes of the columns with the name."""
    times = Counter(header)
    return {
        name: [place for place, other in enumerate(header) if other == name]
        for name in sorted({*needed})
        if times[name] > 1
    }


def check_repeated(plan: Plan, file: SourceFile, checked: SourceFile) -> None:
    """Raises `DataError` if columns with the same name in a CSV file (or its copy) differ."""
    if file.form != CSV or len({*file.header}) == len(file.header):
        return
    repeated = find_repeated(file.header, columns_read([plan]))
    import polars as pl

    names = [str(place) for place in range(len(file.header))]
    frame = pl.scan_csv(
        checked.path.absolute(),
        separator=plan.format.separator,
        infer_schema=False,
        glob=False,
        with_column_names=lambda _: names,
    )
    for name, places in repeated.items():
        row = find_difference(frame.select(str(place) for place in places).fill_null(""))
        if row is not None:
            line = reader_of(file.form).find_line(file, plan.format, row)
            raise refuse_different(name, file.file.path, f":{line}")


def find_difference(frame: pl.LazyFrame) -> int | None:
    """The first row (from 1) in which not all values are equal; None without such a row."""
    import polars as pl

    first, *others = frame.collect_schema().names()
    is_unequal = pl.any_horizontal(pl.col(first).ne_missing(pl.col(name)) for name in others)
    rows = frame.with_row_index("row", offset=1).filter(is_unequal).select("row").head(1)
    row = rows.collect()
    return int(row.item()) if row.height else None


def refuse_different(name: str, path: str, spot: str) -> DataError:
    """The error for columns with the same name that differ, without the values of the columns."""
    what = f"several columns are named {quoted(name)}, and differ"
    return DataError(
        f"{path}{spot}: {what} in this row first",
        "rename one of them in the data",
        uncounted=f"{path}: {what}",
    )
