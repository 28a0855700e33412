"""Types of the columns of databases: what each engine's types are read as, and which are refused.

A client may change values on their way: MySQL's numbers that may be null become floats, money of
PostgreSQL becomes cents. So the types are those that the server names, and a value that a client
may change leaves the server as a text, which is read here. What has no type here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.names import quoted


def _parse_whole(text: pl.Series) -> pl.Series:
    """Whole numbers, in the first type that holds all of them."""
    for dtype in (pl.Int64, pl.UInt64, pl.Int128):
        numbers = text.cast(dtype, strict=False)
        if numbers.null_count() == text.null_count():
            break
    return numbers


def _parse_decimal(text: pl.Series) -> pl.Series:
    """Decimals, with as many places as the longest of them has."""
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
    SINGLE: lambda text: text.cast(pl.Float64, strict=False),  # a double until it is compared
    DATE: lambda text: text.str.to_date("%Y-%m-%d", strict=False),
    MOMENT: lambda text: text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False),
    TIME: lambda text: text.str.to_time("%H:%M:%S%.f", strict=False),
}
"""How a value that left as a text is read, by its type here."""


class Reading(Frozen):
    """How columns of some types of an engine are read; without types: of all others.

    `value` is what the query asks for, such as a cast; with `by_text` the text of that leaves the
    server. `dtype` is the type here. `name` is the type of one column.
    """

    types: str
    dtype: pl.DataType
    by_text: bool = False
    value: str = "{}"
    name: str = ""

    def parse(self, column: str, values: pl.Series) -> pl.Series:
        """The values of a column as they are read; `DataError` for such as no file can hold."""
        if isinstance(values.dtype, pl.Datetime) and values.dtype.time_zone is not None:
            return values.dt.convert_time_zone("UTC")  # independent of the zone of this machine
        if self.dtype not in _PARSERS or values.dtype != pl.String:
            return values
        parsed = _PARSERS[self.dtype](values)
        if parsed.null_count() > values.null_count():
            what = f"the column {quoted(column)} ({self.name}) holds a value that cannot be read"
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
"""The types of each engine, as it names them; of SQLite those of the values in a column."""


def read_type(name: str, engine: str) -> Reading:
    """How a column is read, by the name that its type has on the server of an engine."""
    bare = re.sub(r"^(Nullable|LowCardinality)\((.*)\)$", r"\2", name)
    bare = re.sub(r"^(Nullable)\((.*)\)$", r"\2", bare)
    bare = re.sub(r"^Decimal\((39|[4-7]\d),.*", "Decimal256", bare)
    bare = re.sub(r"\(.*\)", "", bare)
    known = READINGS[engine]
    return replace(next(x for x in known if bare in x.types.split(", ") or not x.types), name=name)
