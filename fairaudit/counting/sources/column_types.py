"""Types of the columns of databases: what each engine's types are read as, and which are refused.

A client may change values on their way: MySQL's numbers that may be null become floats, money of
PostgreSQL becomes cents. So the types are those that the server names, and a value that a client
may change leaves the server as a text, which is read here. What has no type here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import polars as pl

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen
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


class Kind(Frozen):
    """What values are read as: how docs call it, the type here, and how it is read from a text."""

    title: str
    dtype: pl.DataType
    parse: Callable[[pl.Series], pl.Series]


BOOLEAN = Kind("true or false", pl.Boolean(), lambda text: text)
WHOLE = Kind("whole number", pl.Int64(), _parse_whole)
DECIMAL = Kind("decimal", pl.Decimal(38, 0), _parse_decimal)
DOUBLE = Kind("number", pl.Float64(), lambda text: text.cast(pl.Float64, strict=False))
SINGLE = Kind("number, single precision", pl.Float32(), DOUBLE.parse)
DATE = Kind("date", pl.Date(), lambda text: text.str.to_date("%Y-%m-%d", strict=False))
MOMENT = Kind(
    "date and time", pl.Datetime("us"),
    lambda text: text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False),
)  # fmt: skip
TIME = Kind("time", pl.Time(), lambda text: text.str.to_time("%H:%M:%S%.f", strict=False))
TEXT = Kind("text", pl.String(), lambda text: text)


class Reading(Frozen):
    """How columns of some types of an engine are read; without types: of all others.

    `value` is what the query asks for, such as a cast; with `by_text` the text of that leaves the
    server. Without a kind the types are refused.
    """

    types: tuple[str, ...]
    kind: Kind | None
    by_text: bool = False
    value: str = "{}"


def _list_readings(*readings: tuple[str, Kind | None, *tuple[object, ...]]) -> tuple[Reading, ...]:
    return tuple(
        Reading(tuple(filter(None, types.split(", "))), *more)  # type: ignore[arg-type]
        for types, *more in readings
    )


DUCKDB = _list_readings(
    ("BOOLEAN", BOOLEAN),
    ("TINYINT, SMALLINT, INTEGER, BIGINT, UTINYINT, USMALLINT, UINTEGER, UBIGINT", WHOLE),
    ("HUGEINT, UHUGEINT, BIGNUM", WHOLE, True),
    ("FLOAT", SINGLE),
    ("DOUBLE", DOUBLE),
    ("DECIMAL", DECIMAL),
    ("DATE", DATE),
    ("TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP WITH TIME ZONE", MOMENT),
    ("TIME, TIME_NS", TIME),
    ("BLOB", None),
    ("", TEXT, True),
)
POSTGRES = _list_readings(
    ("boolean", BOOLEAN),
    ("smallint, integer, bigint", WHOLE),
    ("real", SINGLE),
    ("double precision", DOUBLE),
    ("numeric", DECIMAL, True),
    ("money", DECIMAL, True, "CAST({} AS numeric)"),
    ("date", DATE, True),
    ("timestamp without time zone", MOMENT, True),
    ("timestamp with time zone", MOMENT, True, "({} AT TIME ZONE 'UTC')"),
    ("time without time zone", TIME, True),
    ("bytea", None),
    ("", TEXT, True),
)
MYSQL = _list_readings(
    ("TINYINT, SMALLINT, MEDIUMINT, INT, BIGINT, YEAR", WHOLE, True),
    ("BIT", WHOLE, True, "CAST({} AS UNSIGNED)"),
    ("FLOAT", SINGLE, True, "CAST({} AS DOUBLE)"),
    ("DOUBLE", DOUBLE, True),
    ("DECIMAL", DECIMAL, True),
    ("DATE", DATE, True),
    ("DATETIME, TIMESTAMP", MOMENT, True),
    ("TIME", TIME, True),
    ("BINARY, VARBINARY, BLOB, GEOMETRY", None),
    ("", TEXT, True),
)
CLICKHOUSE = _list_readings(
    ("Bool", BOOLEAN),
    ("Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64", WHOLE),
    ("Int128, Int256, UInt128, UInt256", WHOLE, True),
    ("Float32", SINGLE),
    ("BFloat16", SINGLE, False, "toFloat32({})"),
    ("Float64", DOUBLE),
    ("Decimal", DECIMAL),
    ("Decimal256", DECIMAL, True),
    ("Date, Date32", DATE),
    ("DateTime", MOMENT, False, "toDateTime64({}, 0, 'UTC')"),
    ("DateTime64", MOMENT, False, "toTimeZone({}, 'UTC')"),
    ("Time, Time64", TIME, True),
    ("FixedString", TEXT, False, "toStringCutToZero({})"),
    ("AggregateFunction", None),
    ("", TEXT, True),
)
SPARK = _list_readings(
    ("boolean", BOOLEAN),
    ("tinyint, smallint, int, bigint", WHOLE),
    ("float", SINGLE),
    ("double", DOUBLE),
    ("decimal", DECIMAL),
    ("date", DATE),
    ("timestamp, timestamp_ntz", MOMENT),
    ("string, varchar, char", TEXT),
    ("binary", None),
    ("", TEXT, True),
)
IBIS = _list_readings(
    ("boolean", BOOLEAN),
    ("int8, int16, int32, int64, uint8, uint16, uint32, uint64", WHOLE, True),
    ("float32", SINGLE),
    ("float64", DOUBLE),
    ("decimal", DECIMAL, True),
    ("date", DATE),
    ("timestamp", MOMENT),
    ("time", TIME),
    ("string", TEXT),
    ("binary", None),
    ("", TEXT, True),
)
READINGS = {
    "DuckDB": DUCKDB,
    "PostgreSQL": POSTGRES,
    "MySQL": MYSQL,
    "ClickHouse": CLICKHOUSE,
    "Spark": SPARK,
}
"""The types of each engine; those of the others are what Ibis calls them."""


class Column(Frozen):
    """A column of a table: its type as the server names it, and how it is read."""

    type: str
    reading: Reading

    @property
    def dtype(self) -> pl.DataType:
        """What its values are here."""
        return TEXT.dtype if self.reading.kind is None else self.reading.kind.dtype

    def parse(self, name: str, values: pl.Series) -> pl.Series:
        """The values as they are read; raises `DataError` for such as no file can hold."""
        kind = self.reading.kind
        if kind is None or kind == TEXT or values.dtype != pl.String:
            return values
        parsed = kind.parse(values)
        if parsed.null_count() > values.null_count():
            what = f"the column {quoted(name)} ({self.type}) holds a value that is no {kind.title}"
            hint = "such as a date 0000-00-00, infinity or too many digits: correct or cast it"
            raise DataError(f"{what} in a report", hint)
        return parsed


def name_column(kind: str, readings: Sequence[Reading]) -> Column:
    """A column by the name that its type has on the server, and by what its engine reads."""
    name = kind.removeprefix("!")
    while wrapped := re.fullmatch(r"(?:Nullable|LowCardinality)\((.*)\)", name):
        name = wrapped[1]
    name = re.sub(r"^Decimal\((39|[4-7]\d),.*", "Decimal256", name)
    base = re.sub(r"\(.*\)", "", name)
    return Column(kind, next(way for way in readings if base in way.types or not way.types))
