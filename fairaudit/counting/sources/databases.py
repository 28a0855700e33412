"""Database tables: types of columns, the SQL query for a plan, reading of its result, errors.

A database only groups rows: it returns each combination of values with its number of rows. All
other work (missing values, cuts, weights) is done here, so a table and a file with the same rows
have the same counts. If a column of numbers is only cut into intervals, the database returns the
smallest number of each interval.

A client may change values: for example, it may convert the type money of PostgreSQL to cents. So
fairaudit uses the types that the server names. Values that a client may change are sent as texts,
which are parsed here. Columns of unknown types are refused.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl

from fairaudit.base import names
from fairaudit.base.errors import DataError, FairauditError, UsageError, did_you_mean
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.masking import mask
from fairaudit.base.processes import SILENT, Progress
from fairaudit.counting.plan import Key, Plan
from fairaudit.counting.sources.batches import Batch, own
from fairaudit.counting.sources.column_checks import columns_read, filter_columns
from fairaudit.counting.sources.dialects import Database, Dialect, OnProgress, dialect_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_GROUPS = 5_000_000
"""Maximum number of combinations of values to read from a database."""

_TIMES = "fairaudit_rows"
_FAULT = re.compile(
    r"connection refused|could not translate host name|name or service not known|timed out"
    r"|timeout expired|(?:password )?authentication failed|no password supplied|does not exist"
    r"|(?:access|permission|command) denied|not enough privileges|unknown database|invalid utf8",
    re.IGNORECASE,
)

_LOG = logging.getLogger("fairaudit.statements")
"""Logs each query before a database runs it."""


def _parse_whole(text: pl.Series) -> pl.Series:
    """Texts as whole numbers, in the smallest type in which all of them fit."""
    for dtype in (pl.Int64, pl.UInt64, pl.Int128):
        numbers = text.cast(dtype, strict=False)
        if numbers.null_count() == text.null_count():
            break
    return numbers


def _parse_decimal(text: pl.Series) -> pl.Series:
    """Texts as decimals, with the number of places of the longest text."""
    places = text.str.extract(r"^-?\d+\.(\d+)$").str.len_chars().max()
    plain = pl.when(text.str.contains(r"^-?\d+(\.\d+)?$")).then(text)
    scale = places if isinstance(places, int) else 0
    decimal = plain.cast(pl.Decimal(38, scale), strict=False)
    return pl.select(decimal).to_series()


BOOLEAN, WHOLE, DECIMAL, TEXT = pl.Boolean(), pl.Int64(), pl.Decimal(38, 0), pl.String()
DOUBLE, SINGLE = pl.Float64(), pl.Float32()
DATE, MOMENT, TIME = pl.Date(), pl.Datetime("us"), pl.Time()
UNREAD = pl.Unknown()
_PARSERS: dict[pl.DataType, Callable[[pl.Series], pl.Series]] = {
    WHOLE: _parse_whole,
    DECIMAL: _parse_decimal,
    DOUBLE: lambda text: text.cast(pl.Float64, strict=False),
    SINGLE: lambda text: text.cast(pl.Float64, strict=False),  # `_read_groups` makes it Float32
    DATE: lambda text: text.str.to_date("%Y-%m-%d", strict=False),
    MOMENT: lambda text: text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False),
    TIME: lambda text: text.str.to_time("%H:%M:%S%.f", strict=False),
}
"""The parser of values that the server sends as texts, by their type in Polars."""


class Reading(Frozen):
    """How columns of some database types are read; `types` names the types ("": all other types).

    The query asks for `value`, such as a cast of the column; with `by_text`, it asks for the text
    of the value. `dtype` is the type in Polars. `name` is the server's name of a column's type.
    """

    types: str
    dtype: pl.DataType
    by_text: bool = False
    value: str = "{}"
    name: str = ""

    def parse(self, column: str, values: pl.Series) -> pl.Series:
        """The values of a column in their type; raises `DataError` for values that do not fit."""
        if isinstance(values.dtype, pl.Datetime) and values.dtype.time_zone is not None:
            return values.dt.convert_time_zone("UTC")  # independent of the zone of this machine
        if self.dtype not in _PARSERS or values.dtype != pl.String:
            return values
        parsed = _PARSERS[self.dtype](values)
        if parsed.null_count() > values.null_count():
            what = (
                f"the column {names.quoted(column)} ({self.name}) holds a value that cannot be read"
            )
            hint = "such as a date 0000-00-00, infinity or too many digits: correct or cast it"
            raise DataError(what, hint)
        return parsed


_DUCKDB = (
    Reading("BOOLEAN", BOOLEAN), Reading("FLOAT", SINGLE), Reading("DOUBLE", DOUBLE),
    Reading("TINYINT, SMALLINT, INTEGER, BIGINT", WHOLE),
    Reading("UTINYINT, USMALLINT, UINTEGER, UBIGINT", WHOLE),
    Reading("HUGEINT, UHUGEINT, BIGNUM", WHOLE, by_text=True), Reading("DECIMAL", DECIMAL),
    Reading("DATE", DATE), Reading("TIME, TIME_NS", TIME),
    Reading("TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP WITH TIME ZONE", MOMENT),
    Reading("BLOB", UNREAD), Reading("", TEXT, by_text=True),
)  # fmt: skip
_POSTGRES = (
    Reading("boolean", BOOLEAN), Reading("smallint, integer, bigint", WHOLE),
    Reading("real", SINGLE), Reading("double precision", DOUBLE),
    Reading("numeric", DECIMAL, by_text=True),
    Reading("money", DECIMAL, by_text=True, value="CAST({} AS numeric)"),
    Reading("date", DATE, by_text=True), Reading("time without time zone", TIME, by_text=True),
    Reading("timestamp without time zone", MOMENT, by_text=True),
    Reading("timestamp with time zone", MOMENT, by_text=True, value="({} AT TIME ZONE 'UTC')"),
    Reading("bytea", UNREAD), Reading("", TEXT, by_text=True),
)  # fmt: skip
_MYSQL = (
    Reading("TINYINT, SMALLINT, MEDIUMINT, INT, BIGINT, YEAR", WHOLE, by_text=True),
    Reading("BIT", WHOLE, by_text=True, value="CAST({} AS UNSIGNED)"),
    Reading("FLOAT", SINGLE, by_text=True, value="CAST({} AS DOUBLE)"),
    Reading("DOUBLE", DOUBLE, by_text=True), Reading("DECIMAL", DECIMAL, by_text=True),
    Reading("DATE", DATE, by_text=True), Reading("TIME", TIME, by_text=True),
    Reading("DATETIME, TIMESTAMP", MOMENT, by_text=True),
    Reading("BINARY, VARBINARY, BLOB, GEOMETRY", UNREAD), Reading("", TEXT, by_text=True),
)  # fmt: skip
_CLICKHOUSE = (
    Reading("Bool", BOOLEAN), Reading("Float32", SINGLE), Reading("Float64", DOUBLE),
    Reading("BFloat16", SINGLE, value="toFloat32({})"),
    Reading("Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64", WHOLE),
    Reading("Int128, Int256, UInt128, UInt256", WHOLE, by_text=True),
    Reading("Decimal", DECIMAL), Reading("Decimal256", DECIMAL, by_text=True),
    Reading("Date, Date32", DATE), Reading("Time, Time64", TIME, by_text=True),
    Reading("DateTime", MOMENT, value="toDateTime64({}, 0, 'UTC')"),
    Reading("DateTime64", MOMENT, value="toTimeZone({}, 'UTC')"),
    Reading("FixedString", TEXT, value="toStringCutToZero({})"),
    Reading("AggregateFunction", UNREAD), Reading("", TEXT, by_text=True),
)  # fmt: skip
_SPARK = (
    Reading("boolean", BOOLEAN), Reading("tinyint, smallint, int, bigint", WHOLE),
    Reading("float", SINGLE), Reading("double", DOUBLE), Reading("decimal", DECIMAL),
    Reading("date", DATE), Reading("timestamp, timestamp_ntz", MOMENT),
    Reading("string, varchar, char", TEXT), Reading("binary", UNREAD),
    Reading("", TEXT, by_text=True),
)  # fmt: skip
_SQLITE = (
    Reading("integer", WHOLE), Reading("real, integer and real", DOUBLE),
    Reading("text, null", TEXT), Reading("blob", UNREAD), Reading("", UNREAD),
)  # fmt: skip
READINGS = {
    "DuckDB": _DUCKDB,
    "PostgreSQL": _POSTGRES,
    "MySQL": _MYSQL,
    "ClickHouse": _CLICKHOUSE,
    "Spark": _SPARK,
    "SQLite": _SQLITE,
}
"""The readings for each database. The types of SQLite are the types of the values in a column."""


def read_type(name: str, engine: str) -> Reading:
    """How a column is read, by the server's name of its type."""
    bare = re.sub(r"^(Nullable|LowCardinality)\((.*)\)$", r"\2", name)
    bare = re.sub(r"^(Nullable)\((.*)\)$", r"\2", bare)
    bare = re.sub(r"^Decimal\((39|[4-7]\d),.*", "Decimal256", bare)
    bare = re.sub(r"\(.*\)", "", bare)
    known = READINGS[engine]
    return replace(next(x for x in known if bare in x.types.split(", ") or not x.types), name=name)


Query = Callable[[str, OnProgress | None], pl.DataFrame]
"""A function that runs a query in the transaction; its second argument is called on progress."""


class Table(Frozen):
    """An open table: its columns (`schema`), its number of rows, its `source` (text after FROM)."""

    data: Database
    source: str
    schema: Mapping[str, Reading]
    rows: int
    query: Query
    dialect: Dialect
    snapshot: str | None = None

    @property
    def route(self) -> str:
        """The route of the counts in words, with the state of the database if it has a number."""
        state = f" (snapshot {self.snapshot})" if self.snapshot else ""
        return f"grouped by {self.dialect.title}{state}, Polars over the groups"

    def group(self, plan: Plan, progress: Progress = SILENT) -> Batch:
        """The combinations of values in the columns that a plan reads, with their numbers of rows.

        Raises `DataError` if there are more than `MOST_GROUPS` combinations.
        """
        # If a plan only needs the interval of a number, the database groups by the interval.
        cut: dict[str, Key] = {}
        for key in plan.every_key:
            if key.edges is not None:
                edges = {*key.edges, *(cut[key.column].edges or () if key.column in cut else ())}
                cut[key.column] = Key(key.column, tuple(sorted(edges)))
        others = {key.column for key in plan.every_key if key.edges is None}
        others |= {*plan.scores, *plan.adding.columns, plan.count or "", plan.weight or ""}
        others |= filter_columns(plan)
        derivations = [*plan.derived, *([plan.counts] if plan.counts is not None else [])]
        others |= {name for derivation in derivations for name in derivation.columns}
        alone = {name: key for name, key in cut.items() if name not in others}
        progress.start(f"grouping {self.data.name}", self.rows, "rows")
        done = 0

        def report(share: float) -> None:
            """Reports the rows done; progress does not go back if the database reports less."""
            nonlocal done
            now = int(min(share, 1.0) * self.rows)
            progress.advance(max(now - done, 0), "rows")
            done = max(now, done)

        on_progress = None if progress.silent else report
        return self._read_groups(plan, columns_read([plan]), alone, on_progress)

    def values(self, plan: Plan, column: str) -> Batch:
        """The values of a column and of the columns that the filter and the counts need."""
        columns = {column, *filter_columns(plan), *([plan.count] if plan.count else [])}
        return self._read_groups(plan, columns_read([plan]) if plan.is_derived else columns, {})

    def _read_groups(
        self,
        plan: Plan,
        columns: AbstractSet[str],
        cut: Mapping[str, Key],
        on_progress: OnProgress | None = None,
    ) -> Batch:
        needed = [name for name in self.schema if name in columns]
        types = {name: self.schema[name].dtype for name in needed}
        for name in needed:
            if types[name] == UNREAD:
                what = f"the column {names.quoted(name)} has the type {self.schema[name].name}"
                hint = "cast it in a query, ?query=SELECT …, or leave it out"
                raise DataError(f"{self.data.name}: {what}, which fairaudit cannot read", hint)
        frame = self.query(self._write(plan, needed, cut), on_progress)
        if frame.height > MOST_GROUPS:
            what = (
                f"{self.data.name}: {', '.join(map(names.quoted, needed))} have more than "
                f"{MOST_GROUPS:,} combinations of values, too many to read from a database"
            )
            hint = "audit an export as Parquet, or give scores and weights fewer decimals in a view"
            raise DataError(what, hint)
        greatest = {}
        if self.dialect.is_nan is not None:
            greatest = {n: own(n) for n in needed if n in cut and types[n].is_float()}
        frame.columns = [*needed, *greatest.values(), own(_TIMES)]
        read = {name: name for name in needed} | {other: name for name, other in greatest.items()}
        frame = frame.with_columns(
            *(self.schema[name].parse(name, frame[place]) for place, name in read.items()),
            pl.col(own(_TIMES)).cast(pl.Int64),
        )
        for name, other in greatest.items():
            if not frame[name].is_nan().equals(frame[other].is_nan()):
                what = f"{self.data.name}: the database counts NaN as a number in {name!r}"
                raise DataError(what, "update the database, or audit an export as Parquet")
        frame = frame.drop(greatest.values())
        frame = frame.cast({n: pl.Float32 for n in needed if types[n] == pl.Float32})
        return Batch(frame.lazy(), dict(frame.schema), (self.data.name,), times=own(_TIMES))

    def _write(self, plan: Plan, needed: Sequence[str], cut: Mapping[str, Key]) -> str:
        """The query that groups by the `needed` columns; columns in `cut` are grouped by interval.

        For a cut column, the query returns the smallest number of each group. For floats, the query
        also returns the largest number, after all other columns: NaN may be the smallest or the
        largest number.
        """
        shown, grouped, greatest = [], [], []
        for name in needed:
            column, dtype = self.schema[name], self.schema[name].dtype
            value = column.value.format(self.dialect.quoted(name))
            if name in cut and dtype.is_numeric() and self.dialect.is_nan is not None:
                grouped.append(self._interval(cut[name], plan))
                greatest += [self._leave(column, f"MAX({value})")] if dtype.is_float() else []
                shown.append(self._leave(column, f"MIN({value})"))
                continue
            shown.append(self._leave(column, value))
            grouped.append(shown[-1])
            if dtype == pl.String and self.dialect.letters is not None:
                grouped.append(self.dialect.letters.format(value))
        # With the names of columns, some dialects would group by the values that are shown.
        shown = [f"{value} AS fairaudit_{n}" for n, value in enumerate([*shown, *greatest])]
        shown.append(f"COUNT(*) AS {_TIMES}")
        by = f" GROUP BY {', '.join(grouped)}" if grouped else ""
        limit = f" LIMIT {MOST_GROUPS + 1}"
        return f"SELECT {', '.join(shown)} FROM {self.source}{by}{limit}"

    def _leave(self, column: Reading, value: str) -> str:
        """The SQL expression with which the query returns the `value` of a column."""
        value = self.dialect.as_text.format(value) if column.by_text else value
        return self.dialect.exact_text.format(value) if column.dtype == pl.String else value

    def _interval(self, key: Key, plan: Plan) -> str:
        """The SQL for the code of a number's interval; codes below 0 mean null, NaN or missing."""
        dtype = self.schema[key.column].dtype
        column = self.schema[key.column].value.format(self.dialect.quoted(key.column))
        kind = self.dialect.single if dtype == pl.Float32 else self.dialect.double
        number = f"CAST({column} AS {kind})"
        words = plan.missing_numbers(key.column)
        apart = [f"{number} = {_literal(word, kind)}" for word in words]
        # Decimals of PostgreSQL may also be NaN; `Reading.parse` refuses them.
        if not dtype.is_integer() and self.dialect.is_nan is not None:
            apart.append(self.dialect.is_nan.format(number))
        passed = [
            f"{number} {'>' if edge.beyond else '>='} {_literal(edge.value, kind)}"
            for edge in key.edges or ()
        ]
        cases = [f"WHEN {column} IS NULL THEN -1"]
        cases += [f"WHEN {test} THEN {-2 - place}" for place, test in enumerate(apart)]
        return f"CASE {' '.join(cases)} ELSE {_count_passed(passed, 0)} END"


def _count_passed(tests: Sequence[str], before: int) -> str:
    """The SQL for the number of ascending `tests` that are true, nested as little as possible."""
    if not tests:
        return str(before)
    half = len(tests) // 2
    above = _count_passed(tests[half + 1 :], before + half + 1)
    return f"CASE WHEN {tests[half]} THEN {above} ELSE {_count_passed(tests[:half], before)} END"


@contextmanager
def open_table(data: Database) -> Iterator[Table]:
    """A table of a database, open in one transaction for reading.

    Raises `UsageError` if the address names no table or query, or if a package is missing, and
    `DataError` if the table cannot be read.
    """
    dialect = dialect_of(data)
    if data.table is not None:
        source = ".".join(map(dialect.quoted, data.table.split(".")))
    elif data.query and re.match(r"\s*(select|with|from)\b", data.query, re.IGNORECASE):
        source = f"({data.query.rstrip().rstrip(';')}) AS t"
    else:
        what = f"{data.name}: the address names no table"
        raise UsageError(what, "end it with ?table=NAME, or ?query=SELECT …")
    end = None if data.timeout is None else time.monotonic() + data.timeout
    with ExitStack() as stack:
        with _explain_errors(data, "connected to", end):
            link = stack.enter_context(dialect.connect(data))

        def ask(text: str, on_progress: OnProgress | None = None) -> pa.Table:
            _LOG.info("%s", mask(text))
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise _too_late(data)
            with _explain_errors(data, "read", end):
                table = link.ask(text, left, on_progress)
                table.validate(full=True)  # a text in ClickHouse may have any bytes
                return table

        def query(text: str, on_progress: OnProgress | None) -> pl.DataFrame:
            return _read(ask(text, on_progress))

        try:
            with _explain_errors(data, "read", end):
                types = link.name_types(source, ask)
        except DataError as error:
            is_denied = "denied" in str(error) or "privileges" in str(error)
            missing = None if is_denied else _name_missing(data, dialect, query)
            raise missing or error from error
        schema = {name: read_type(kind, dialect.title) for name, kind in types}
        rows = query(f"SELECT COUNT(*) AS n FROM {source}", None).item()
        snapshot = None
        if dialect.snapshot is not None:
            snapshot = query(f"SELECT {dialect.snapshot} AS state", None).item()
        yield Table(data, source, schema, int(rows), query, dialect, snapshot)


def _read(table: pa.Table) -> pl.DataFrame:
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.cast({pl.Null: pl.String})  # a column without values has the type Null


def _literal(number: float | Decimal, kind: str) -> str:
    return f"CAST('{float(number)!r}' AS {kind})"


def _name_missing(data: Database, dialect: Dialect, query: Query) -> DataError | None:
    """The error of a missing table, with the most similar name; None if the table exists."""
    if data.table is None or dialect.tables is None:
        return None
    schema = data.table.rpartition(".")[0]
    within = f" IN {'.'.join(map(dialect.quoted, schema.split('.')))}" if schema else ""
    try:
        listed = query(dialect.tables.format(within=within), None).rows()
    except DataError:
        return None
    whole = [f"{row[0]}.{row[1]}" for row in listed]
    if data.table in whole:
        return None
    elsewhere = next((name for name in whole if name.endswith(f".{data.table}")), "")
    near = did_you_mean(data.table, [*(row[1] for row in listed), *whole])
    near = f"; did you mean {elsewhere!r}?" if elsewhere else near
    what = f"{data.name}: no table {names.quoted(data.table)}{near}"
    return DataError(what, "see the tables of the database")


@contextmanager
def _explain_errors(data: Database, what: str, end: float | None) -> Iterator[None]:
    """Raises `DataError` for an error of a database, without its text, which may quote a row.

    An error after the `end` of the time limit (monotonic clock) is reported as a timeout.
    """
    try:
        yield
    except FairauditError:
        raise
    except Exception as error:
        if end is not None and time.monotonic() >= end:
            raise _too_late(data) from error
        # The class and the code of the error.
        state = getattr(error, "sqlstate", None)
        code = getattr(error, "code", None) or next(iter(error.args), None)
        kinds = [type(error).__name__]
        if isinstance(state, str):
            kinds.append(f"SQLSTATE {state}")
        elif isinstance(code, int):
            kinds.append(f"code {code}")
        # Known phrases in the text of the error, which contain no values or names.
        kinds += dict.fromkeys(map(str.lower, _FAULT.findall(str(error))))
        raise DataError(
            f"{data.name}: cannot be {what} ({', '.join(kinds)})",
            "check the address and the permissions, and that it exists",
        ) from error


def _too_late(data: Database) -> DataError:
    what = f"{data.name}: did not answer within {data.timeout:g} s"
    return DataError(what, "allow more time with --timeout, or audit an export as Parquet")
