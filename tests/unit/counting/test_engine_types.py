"""Each type of each engine: read like the same values in a file, or refused by its name."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import quote

import duckdb
import polars as pl
import pytest
import servers
from conftest import ROOT
from test_databases import said

import fairaudit
from fairaudit.base.errors import DataError
from fairaudit.counting.sources import databases
from fairaudit.counting.sources.databases import READINGS

pytestmark = pytest.mark.filterwarnings("ignore")  # of drivers


class Case(NamedTuple):
    """A type as a table declares it, values as SQL writes them, and the same values in a file."""

    type: str
    literals: tuple[str, ...]
    values: list[Any] | None
    dtype: Any = pl.String


def texts(kind: str, *values: str) -> Case:
    """A type whose values are read as the texts by which they are written."""
    return Case(kind, tuple(f"'{value}'" for value in values), [*values])


def whole(kind: str, low: int, high: int, dtype: Any = pl.Int64) -> Case:
    """A type of whole numbers, with the least and the greatest."""
    return Case(kind, (str(low), str(high)), [low, high], dtype)


def refused(kind: str, *literals: str) -> Case:
    """A type that is not read."""
    return Case(kind, literals, None)


DAY, DAYS = ("'1969-12-31'", "'2000-02-29'"), [date(1969, 12, 31), date(2000, 2, 29)]
NOON = datetime(2000, 2, 29, 12, 0, 1, 500_000)  # noqa: DTZ001  # a time without a zone
NOON_UTC = NOON.replace(tzinfo=UTC)
PENNIES = [Decimal("-1234.50"), Decimal("0.01")]
TRUTH = Case("BOOLEAN", ("true", "false"), [True, False], pl.Boolean)
SINGLE, DOUBLE = [0.1, -2.5e30], [0.1, 2.0**60 + 256]
LARGE = 9_007_199_254_740_993
"""One more than the greatest whole number to which floats are exact."""
IN_UTC = pl.Datetime("ms", "UTC")
UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


def floats(kind: str, values: Sequence[float], dtype: Any) -> Case:
    """A type of floating-point numbers."""
    return Case(kind, tuple(map(repr, values)), [*values], dtype)


def decimals(kind: str, *values: str, scale: int) -> Case:
    """A type of decimals."""
    numbers = [Decimal(value) for value in values]
    return Case(kind, tuple(f"'{value}'" for value in values), numbers, pl.Decimal(38, scale))


DUCKDB = [
    TRUTH,
    whole("TINYINT", -128, 127, pl.Int8),
    whole("SMALLINT", -32768, 32767, pl.Int16),
    whole("INTEGER", -(2**31), 2**31 - 1, pl.Int32),
    whole("BIGINT", LARGE, LARGE - 1),
    whole("UTINYINT", 0, 255, pl.UInt8),
    whole("USMALLINT", 0, 65535, pl.UInt16),
    whole("UINTEGER", 0, 2**32 - 1, pl.UInt32),
    whole("UBIGINT", 0, 2**64 - 1, pl.UInt64),
    Case("HUGEINT", (str(2**127 - 1), "0"), [str(2**127 - 1), "0"]),
    Case("UHUGEINT", (str(2**90), "0"), [str(2**90), "0"]),
    Case("BIGNUM", (str(2**100), "0"), [str(2**100), "0"]),
    floats("FLOAT", SINGLE, pl.Float32),
    floats("DOUBLE", DOUBLE, pl.Float64),
    Case("DECIMAL(6, 2)", ("-1234.50", "0.01"), PENNIES, pl.Decimal(6, 2)),
    decimals("DECIMAL(30, 10)", "12345678901234567890.0123456789", "0.5000000000", scale=10),
    Case("DATE", DAY, DAYS, pl.Date),
    Case("TIMESTAMP", (f"'{NOON}'", DAY[0]), [NOON, datetime(1969, 12, 31)], pl.Datetime("us")),  # noqa: DTZ001
    Case(
        "TIMESTAMP_S", ("'2000-02-29 12:00:01'",), [NOON.replace(microsecond=0)], pl.Datetime("ms")
    ),
    Case("TIMESTAMP_MS", (f"'{NOON}'",), [NOON], pl.Datetime("ms")),
    Case("TIMESTAMP_NS", (f"'{NOON}'",), [NOON], pl.Datetime("ns")),
    Case("TIMESTAMP WITH TIME ZONE", (f"'{NOON}+00'",), [NOON_UTC], pl.Datetime("us", "UTC")),
    Case("TIME", ("'10:00:00'", "'23:59:59.5'"), [time(10), time(23, 59, 59, 500_000)], pl.Time),
    Case("TIME_NS", ("'10:00:00'",), [time(10)], pl.Time),
    texts("VARCHAR", "f", "F", "é☃"),
    texts("UUID", UUID),
    texts("ENUM('a', 'b')", "b", "a"),
    texts("BIT", "101"),
    texts("JSON", "{}"),
    texts("TIME WITH TIME ZONE", "10:00:00+01"),
    texts("INTERVAL", "1 day"),
    Case("INTEGER[]", ("[1, 2]",), ["[1, 2]"]),
    Case("STRUCT(a INTEGER)", ("{'a': 1}",), ["{'a': 1}"]),
    Case("MAP(INTEGER, INTEGER)", ("MAP {1: 2}",), ["{1=2}"]),
    refused("BLOB", "'a'"),
]
POSTGRES = [
    TRUTH,
    whole("smallint", -32768, 32767, pl.Int16),
    whole("integer", -(2**31), 2**31 - 1, pl.Int32),
    whole("bigint", LARGE, LARGE - 1),
    floats("real", SINGLE, pl.Float32),
    floats("double precision", DOUBLE, pl.Float64),
    decimals("numeric(6, 2)", "-1234.50", "0.01", scale=2),
    decimals("numeric(30, 10)", "12345678901234567890.0123456789", "0.5000000000", scale=10),
    Case("numeric", ("1.5", "1.50", "2"), [Decimal("1.50")] * 2 + [Decimal(2)], pl.Decimal(38, 2)),
    decimals("money", "-1234.50", "0.01", scale=2),
    Case("date", DAY, DAYS, pl.Date),
    Case("timestamp", (f"'{NOON}'", DAY[0]), [NOON, datetime(1969, 12, 31)], pl.Datetime("us")),  # noqa: DTZ001
    Case("timestamptz", ("'2000-02-29 13:00:01.5+01'",), [NOON], pl.Datetime("us")),
    Case("time", ("'10:00:00'", "'23:59:59.5'"), [time(10), time(23, 59, 59, 500_000)], pl.Time),
    texts("text", "f", "F", "é☃"),
    texts("character varying(5)", "f"),
    texts("character(1)", "f"),
    texts('"char"', "f"),
    texts("name", "f"),
    texts("citext", "f", "F"),
    texts("uuid", UUID),
    texts("mood", "sad"),
    texts("zip", "00501"),
    texts("oid", "4294967295"),
    texts("json", "{}"),
    texts("jsonb", "{}"),
    texts("xml", "<a/>"),
    texts("inet", "10.0.0.1/8"),
    texts("cidr", "10.0.0.0/8"),
    texts("macaddr", "08:00:2b:01:02:03"),
    Case("bit(3)", ("B'101'",), ["101"]),
    texts("time with time zone", "10:00:00+01"),
    texts("interval", "1 day"),
    texts("integer[]", "{1,2}"),
    texts("int4range", "[1,2)"),
    texts("point", "(1,2)"),
    Case("tsvector", ("'a b'",), ["'a' 'b'"]),
    refused("bytea", "'a'"),
]
MYSQL = [
    Case("BOOLEAN", ("true", "false"), [1, 0], pl.Int8),
    whole("TINYINT UNSIGNED", 0, 255, pl.UInt8),
    whole("SMALLINT", -32768, 32767, pl.Int16),
    whole("MEDIUMINT", -(2**23), 2**23 - 1, pl.Int32),
    whole("INT", -(2**31), 2**31 - 1, pl.Int32),
    whole("INT ZEROFILL", 12, 2**32 - 1, pl.Int64),
    whole("BIGINT", LARGE, LARGE - 1),
    whole("BIGINT UNSIGNED", 0, 2**64 - 1, pl.UInt64),
    whole("YEAR", 2000, 2155, pl.Int32),
    Case("BIT(1)", ("b'1'", "b'0'"), [1, 0], pl.Int64),
    Case("BIT(64)", (str(2**64 - 1), "0"), [2**64 - 1, 0], pl.UInt64),
    floats("FLOAT", SINGLE, pl.Float32),
    floats("DOUBLE", DOUBLE, pl.Float64),
    decimals("DECIMAL(6, 2)", "-1234.50", "0.01", scale=2),
    decimals("DECIMAL(30, 10)", "12345678901234567890.0123456789", "0.5000000000", scale=10),
    Case("DATE", DAY, DAYS, pl.Date),
    Case("DATETIME", ("'2000-02-29 12:00:01'",), [NOON.replace(microsecond=0)], pl.Datetime("us")),
    Case("DATETIME(6)", (f"'{NOON}'",), [NOON], pl.Datetime("us")),
    Case("TIMESTAMP(6) NULL", (f"'{NOON}'",), [NOON], pl.Datetime("us")),
    Case("TIME", ("'10:00:00'",), [time(10)], pl.Time),
    Case("TIME(6)", ("'23:59:59.5'",), [time(23, 59, 59, 500_000)], pl.Time),
    texts("CHAR(5)", "f", "F"),
    texts("VARCHAR(20)", "f", "é☃", "😀"),
    texts("VARCHAR(20) COLLATE utf8mb4_bin", "f", "F"),
    texts("TEXT", "f"),
    texts("ENUM('a', 'b')", "b"),
    texts("SET('a', 'b')", "a,b"),
    texts("JSON", "{}"),
    texts("UUID", UUID),
    texts("INET6", "::1"),
    refused("BINARY(3)", "'abc'"),
    refused("VARBINARY(3)", "'a'"),
    refused("BLOB", "'a'"),
    refused("GEOMETRY", "ST_GeomFromText('POINT(1 2)')"),
]
WIDE = ("UInt128", "Int256", "UInt256")
CLICKHOUSE = [
    Case("Bool", ("true", "false"), [True, False], pl.Boolean),
    *(whole(f"Int{n}", -(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32)),
    *(whole(f"UInt{n}", 0, 2**n - 1) for n in (8, 16, 32)),
    whole("Int64", LARGE, LARGE - 1),
    whole("UInt64", 0, 2**64 - 1, pl.UInt64),
    Case("Int128", (f"'{-(2**127)}'", "0"), [str(-(2**127)), "0"]),
    *(Case(kind, (f"'{2**99}'", "0"), [str(2**99), "0"]) for kind in WIDE),
    floats("Float32", SINGLE, pl.Float32),
    floats("BFloat16", [0.5, 3.0], pl.Float32),
    floats("Float64", DOUBLE, pl.Float64),
    decimals("Decimal(6, 2)", "-1234.50", "0.01", scale=2),
    decimals("Decimal(30, 10)", "12345678901234567890.0123456789", "0.5", scale=10),
    decimals("Decimal(60, 10)", "12345678901234567890.0123456789", "0.5", scale=10),
    Case("Date", ("'1970-01-01'", DAY[1]), [date(1970, 1, 1), DAYS[1]], pl.Date),
    Case("Date32", DAY, DAYS, pl.Date),
    Case("DateTime", ("'2000-02-29 12:00:01'",), [NOON_UTC.replace(microsecond=0)], IN_UTC),
    Case("DateTime64(3, 'Europe/Berlin')", ("'2000-02-29 13:00:01.500'",), [NOON_UTC], IN_UTC),
    Case("DateTime64(6, 'UTC')", (f"'{NOON}'",), [NOON_UTC], pl.Datetime("us", "UTC")),
    Case("Time", ("'10:00:00'",), [time(10)], pl.Time),
    Case("Time64(3)", ("'10:00:00.5'",), [time(10, 0, 0, 500_000)], pl.Time),
    texts("String", "f", "F", "é☃"),
    texts("LowCardinality(String)", "f"),
    texts("FixedString(3)", "f", "abc"),
    texts("UUID", UUID),
    texts("IPv4", "10.0.0.1"),
    texts("IPv6", "::1"),
    texts("Enum8('a' = 1, 'b' = 2)", "b", "a"),
    Case("Array(Int8)", ("[1, 2]",), ["[1,2]"]),
    Case("Map(String, Int8)", ("map('a', 1)",), ["{'a':1}"]),
    Case("Tuple(Int8, String)", ("(1, 'a')",), ["(1,'a')"]),
    Case("IntervalDay", ("INTERVAL 1 DAY",), ["1"]),
    refused("AggregateFunction(sum, Int64)", "(SELECT sumState(toInt64(1)))"),
]  # fmt: skip
SPARK = [
    TRUTH,
    whole("TINYINT", -128, 127, pl.Int8),
    whole("SMALLINT", -32768, 32767, pl.Int16),
    whole("INT", -(2**31), 2**31 - 1, pl.Int32),
    whole("BIGINT", LARGE, LARGE - 1),
    floats("FLOAT", SINGLE, pl.Float32),
    floats("DOUBLE", DOUBLE, pl.Float64),
    Case("DECIMAL(6, 2)", ("-1234.50", "0.01"), PENNIES, pl.Decimal(6, 2)),
    decimals("DECIMAL(30, 10)", "12345678901234567890.0123456789", "0.5000000000", scale=10),
    Case("DATE", DAY, DAYS, pl.Date),
    Case("TIMESTAMP_NTZ", (f"'{NOON}'",), [NOON], pl.Datetime("us")),
    Case("TIMESTAMP", (f"'{NOON}+00:00'",), [NOON_UTC], pl.Datetime("us", "UTC")),
    texts("STRING", "f", "F", "é☃"),
    texts("VARCHAR(5)", "f"),
    texts("CHAR(1)", "f"),
    refused("BINARY", "'a'"),
]
SQLITE = [
    whole("INTEGER", LARGE, LARGE - 1),
    Case("BOOLEAN", ("true", "false"), [1, 0], pl.Int64),
    floats("REAL", DOUBLE, pl.Float64),
    Case('"integer and real"', ("0.1", str(2**53)), [0.1, 2.0**53], pl.Float64),
    Case("DECIMAL(6, 2)", ("-1234.50", "'2'"), [-1234.5, 2.0], pl.Float64),
    texts("TEXT", "f", "F", "é☃"),
    texts("VARCHAR(9) COLLATE NOCASE", "f", "F"),
    texts("DATE", "1969-12-31", "2000-02-29"),
    Case('"null"', ("NULL",), [None]),
    refused("BLOB", "x'61'"),
    refused("INTEGER DEFAULT 1", "1", "'x'"),
    refused("NUMERIC", "0.5", str(LARGE)),
]
EVERY = {
    "DuckDB": DUCKDB,
    "SQLite": SQLITE,
    "PostgreSQL": POSTGRES,
    "MySQL": MYSQL,
    "ClickHouse": CLICKHOUSE,
    "Spark": SPARK,
}


def may_lack(kind: str) -> bool:
    """Whether a column of that type may be missing: some of ClickHouse may not."""
    return not kind.startswith(("LowCardinality", "Array", "Map", "Tuple", "Aggregate"))


Fill = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
"""Makes a table of columns `c0` … and `y`, by their types and rows of literals; its address."""


def written(columns: Sequence[str], rows: Sequence[Sequence[str]], sign: str) -> tuple[str, str]:
    """The columns of a new table, and its rows, as SQL writes them."""
    names = [f"c{place}" for place in range(len(columns) - 1)] + ["y"]
    declared = ", ".join(
        f"{sign}{name}{sign} {kind}" for name, kind in zip(names, columns, strict=True)
    )
    return declared, ", ".join(f"({', '.join(row)})" for row in rows)


@pytest.fixture
def fill(request: pytest.FixtureRequest) -> Iterator[Fill]:
    """What fills a table of the engine that a test names."""
    engine = request.param
    if engine in {"DuckDB", "SQLite"}:
        fill_file = fill_duckdb if engine == "DuckDB" else fill_sqlite
        with tempfile.TemporaryDirectory() as folder:
            yield lambda columns, rows: fill_file(Path(folder) / "lake.db", columns, rows)
        return
    fixture = {
        "PostgreSQL": "postgres",
        "MySQL": "mysql",
        "ClickHouse": "clickhouse",
        "Spark": "spark",
    }
    address = request.getfixturevalue(fixture[engine])
    fills = {
        "postgres": fill_postgres,
        "mysql": fill_mysql,
        "clickhouse": fill_clickhouse,
        "spark": fill_spark,
    }
    yield lambda columns, rows: fills[fixture[engine]](address, columns, rows)


def fill_duckdb(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of DuckDB."""
    declared, values = written(columns, rows, '"')
    with duckdb.connect(file) as link:
        link.execute(f"CREATE OR REPLACE TABLE types ({declared})")
        link.execute(f"INSERT INTO types VALUES {values}")
    return f"duckdb:///{file}?table=types"


def fill_sqlite(file: Path, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of SQLite."""
    declared, values = written(columns, rows, '"')
    with closing(sqlite3.connect(file)) as link:
        link.execute("DROP TABLE IF EXISTS types")
        link.execute(f"CREATE TABLE types ({declared})")
        link.execute(f"INSERT INTO types VALUES {values}")
        link.commit()
    return f"sqlite:///{file}?table=types"


def fill_postgres(address: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of PostgreSQL, with an enumeration and a domain."""
    declared, values = written(columns, rows, '"')
    dbapi = import_module("adbc_driver_postgresql.dbapi")
    with dbapi.connect(address) as link, link.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS citext")
        cursor.execute("DROP TABLE IF EXISTS types CASCADE")
        for kind in ("TYPE mood AS ENUM ('sad')", "DOMAIN zip AS text"):
            cursor.execute(f"DROP {' '.join(kind.split()[:1])} IF EXISTS {kind.split()[1]}")
            cursor.execute(f"CREATE {kind}")
        cursor.execute(f"CREATE TABLE types ({declared})")
        cursor.execute(f"INSERT INTO types VALUES {values}")
        link.commit()
    return f"{address}?table=types"


def fill_mysql(address: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of MariaDB."""
    declared, values = written(columns, rows, "`")
    with closing(servers.connect_mysql(address)) as link, link.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS types")
        cursor.execute(f"CREATE TABLE types ({declared})")
        cursor.execute(f"INSERT INTO types VALUES {values}")
    return f"{address}?table=types"


def fill_clickhouse(address: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of ClickHouse, whose columns may be missing where their types allow it."""
    nullable = [f"Nullable({kind})" if may_lack(kind) else kind for kind in columns]
    declared, _ = written(nullable, rows, '"')
    with closing(servers.connect_clickhouse(address)) as link:
        link.command("DROP TABLE IF EXISTS types")
        link.command(f"CREATE TABLE types ({declared}) ENGINE = Memory")
        for row in rows:
            link.command(f"INSERT INTO types SELECT {', '.join(row)}")
    return f"{address}?table=types"


def fill_spark(address: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A query of Spark."""
    selected = []
    for row in rows:
        cast = [f"CAST({value} AS {kind})" for value, kind in zip(row, columns, strict=True)]
        named = [f"{value} AS c{place}" for place, value in enumerate(cast[:-1])]
        selected.append(f"SELECT {', '.join([*named, f'{cast[-1]} AS y'])}")
    return f"{address}?query={quote(' UNION ALL '.join(selected))}"


def spec_of(column: str) -> dict[str, Any]:
    """A spec that audits by one column."""
    return {
        "columns": {
            "protected": {column: {}},
            "decision": {"column": "y", "positive": 1},
        },
        "missing": {"protected": "group"},
        "metrics": ["selection_rate"],
    }


@pytest.mark.long
@pytest.mark.parametrize(
    ("fill", "engine"), [(engine, engine) for engine in EVERY], indirect=["fill"], ids=str
)
def test_each_type_is_read_like_a_file_or_refused_by_name(
    fill: Fill, engine: str, tmp_path: Path
) -> None:
    cases = EVERY[engine]
    longest = max(len(case.literals) for case in cases)
    # In the last row each column is missing that may be.
    rows = [
        [*(case.literals[place % len(case.literals)] for case in cases), str(place % 2)]
        for place in range(2 * longest)
    ]
    rows.append([*("NULL" if may_lack(case.type) else case.literals[0] for case in cases), "1"])
    number = "Int32" if engine == "ClickHouse" else "INT"
    address = fill([*(case.type for case in cases), number], rows)
    for place, case in enumerate(cases):
        name = f"c{place}"
        if case.values is None:
            with pytest.raises(DataError, match=f"'{name}' has the type .*which fairaudit"):
                fairaudit.audit(spec_of(name), address)
            continue
        values = [case.values[row % len(case.values)] for row in range(2 * longest)]
        values.append(None if may_lack(case.type) else case.values[0])
        decided = [*(row % 2 for row in range(2 * longest)), 1]
        frame = pl.DataFrame({name: pl.Series(values, dtype=case.dtype), "y": decided})
        frame.write_parquet(tmp_path / "types.parquet")
        here, there = said(spec_of(name), tmp_path / "types.parquet"), said(spec_of(name), address)
        assert isinstance(here, dict), (case.type, here)
        assert there == here, case.type


def base(kind: str) -> str:
    """The name of a type, without what stands in parentheses."""
    return kind.partition("(")[0].strip('"').lower()


@pytest.mark.long
def test_the_time_zone_of_the_machine_changes_no_report(tmp_path: Path) -> None:
    query = "SELECT '2000-02-29 12:00:01+00'::timestamptz AS c0, 1 AS y"
    told = []
    for zone in ("UTC", "Asia/Tokyo"):
        line = [sys.executable, "-m", "fairaudit", "run", "spec.json", "--format", "json"]
        (tmp_path / "spec.json").write_text(json.dumps({"version": 1, **spec_of("c0")}))
        place = {**os.environ, "TZ": zone, "SOURCE_DATE_EPOCH": "0"}
        line += ["--data", f"duckdb://?query={quote(query)}"]
        told.append(subprocess.check_output(line, cwd=tmp_path, env=place, text=True))
    assert "2000-02-29 12:00:01" in told[0]
    assert told[0] == told[1]


def test_a_text_of_clickhouse_that_is_none_is_refused(clickhouse: str) -> None:
    query = quote("SELECT unhex('ff41') AS c0, 1 AS y")
    with pytest.raises(DataError, match=r"cannot be read \(ArrowInvalid, invalid utf8\)"):
        fairaudit.audit(spec_of("c0"), f"{clickhouse}?query={query}")


@pytest.mark.parametrize("engine", EVERY)
def test_each_type_that_docs_list_is_tried_on_its_engine(engine: str) -> None:
    """Types with another name in a declaration are the same: `timestamptz`."""
    same = {
        "timestamp without time zone": "timestamp",
        "timestamp with time zone": {"PostgreSQL": "timestamptz"}.get(
            engine, "timestamp with time zone"
        ),
        "time without time zone": "time",
        "decimal256": "decimal",
    }
    tried = {base(case.type).partition(" unsigned")[0] for case in EVERY[engine]}
    unread = {base(case.type) for case in EVERY[engine] if case.values is None}
    for reading in READINGS[engine]:
        listed = {same.get(base(kind), base(kind)) for kind in reading.types.split(", ") if kind}
        assert listed <= {*tried, "bit"}, engine
        assert not listed or (reading.dtype == databases.UNREAD) == bool(listed & unread), engine


TITLES = {
    databases.BOOLEAN: "true or false",
    databases.WHOLE: "whole number",
    databases.DECIMAL: "decimal",
    databases.SINGLE: "number, single precision",
    databases.DOUBLE: "number",
    databases.DATE: "date",
    databases.MOMENT: "date and time",
    databases.TIME: "time",
    databases.TEXT: "text",
    databases.UNREAD: "refused by name",
}


def test_docs_have_the_types_of_each_engine(request: pytest.FixtureRequest) -> None:
    """With `--rewrite-goldens` they are written anew."""
    lines = ["| engine | types | read as |", "|---|---|---|"]
    for engine in EVERY:
        for reading in READINGS[engine]:
            types = ", ".join(f"`{kind}`" for kind in reading.types.split(", "))
            types = types if reading.types else "all others"
            said = TITLES[reading.dtype]
            if reading.value != "{}":
                said += f", by `{reading.value.format('…')}`"
            lines.append(f"| {engine} | {types} | {said} |")
    page = ROOT / "docs" / "engines.md"
    text = page.read_text("utf-8")
    head, rest = text.split("<!-- types -->\n")
    _, tail = rest.split("<!-- end of types -->")
    printed = "\n".join([f"{head}<!-- types -->", *lines, f"<!-- end of types -->{tail}"])
    if request.config.getoption("--rewrite-goldens"):
        page.write_text(printed, "utf-8")
    assert printed == page.read_text("utf-8"), "pytest --rewrite-goldens writes docs/engines.md"


UNFIT = {
    "DuckDB": [("DATE", "'infinity'")],
    "PostgreSQL": [
        ("date", "'infinity'"),
        ("timestamp", "'-infinity'"),
        ("time", "'24:00'"),
        ("numeric", "'NaN'"),
        ("numeric", "1e38"),
    ],
    "MySQL": [
        ("DATE", "'0000-00-00'"),
        ("DATETIME", "'0000-00-00'"),
        ("TIME", "'-01:00:00'"),
        ("DECIMAL(65, 0)", str(10**60)),
    ],
    "ClickHouse": [("UInt256", f"'{2**200}'"), ("Decimal(60, 0)", f"'{10**50}'")],
}


@pytest.mark.parametrize(
    ("fill", "engine"), [(engine, engine) for engine in UNFIT], indirect=["fill"], ids=str
)
def test_a_value_that_no_report_can_hold_is_refused(fill: Fill, engine: str) -> None:
    number = "Int32" if engine == "ClickHouse" else "INT"
    for kind, literal in UNFIT[engine]:
        address = fill([kind, number], [[literal, "1"], ["NULL", "0"]])
        with pytest.raises(
            DataError, match=r"'c0'.* holds a (value that cannot be read|date over)"
        ):
            fairaudit.audit(spec_of("c0"), address)


def test_postgresql_needs_no_more_than_the_right_to_select(postgres: str) -> None:
    address = fill_postgres(postgres, ["text", "int"], [["'f'", "1"], ["'m'", "0"]])
    dbapi = import_module("adbc_driver_postgresql.dbapi")
    with dbapi.connect(postgres) as link, link.cursor() as cursor:
        cursor.execute("CREATE SCHEMA walled")
        cursor.execute("CREATE MATERIALIZED VIEW walled.types AS SELECT * FROM public.types")
        cursor.execute("CREATE ROLE reader LOGIN")
        link.commit()
        with pytest.raises(DataError, match="SQLSTATE 42501, permission denied"):
            fairaudit.audit(spec_of("c0"), address.replace("me@", "reader@"))
        mine = address.replace("me@", "reader@").replace("=types", "=walled.types")
        for grant in (None, "USAGE ON SCHEMA walled", "SELECT ON walled.types"):
            if grant is not None:
                with pytest.raises(DataError, match="SQLSTATE 42501, permission denied"):
                    fairaudit.audit(spec_of("c0"), mine)
                cursor.execute(f"GRANT {grant} TO reader")
                link.commit()
    assert said(spec_of("c0"), mine) == said(spec_of("c0"), address)
    with pytest.raises(DataError, match=r"no table 'walled.type'; did you mean 'walled.types'"):
        fairaudit.audit(spec_of("c0"), f"{postgres}?table=walled.type")


def test_mysql_needs_no_more_than_the_right_to_select(
    mysql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = fill_mysql(mysql, ["TEXT", "INT"], [["'f'", "1"], ["'m'", "0"]])
    mine = address.replace("me@", "reader@").replace("mysql://", "mariadb+pymysql://")
    with closing(servers.connect_mysql(mysql)) as link, link.cursor() as cursor:
        cursor.execute("CREATE OR REPLACE USER reader@'127.0.0.1' IDENTIFIED BY 'pass@%41'")
        monkeypatch.setenv("MYSQL_PWD", "pass@%41")
        with pytest.raises(DataError, match="access denied"):
            fairaudit.audit(spec_of("c0"), mine)
        cursor.execute("GRANT SELECT ON lake.types TO reader@'127.0.0.1'")
    there = said(spec_of("c0"), mine)
    monkeypatch.setenv("MYSQL_PWD", "hush")
    assert there == said(spec_of("c0"), address)


def test_clickhouse_reads_in_a_session_that_may_not_write() -> None:
    with servers.start_clickhouse() as (server, log):
        address = fill_clickhouse(server, ["String", "Int32"], [["'f'", "1"], ["'m'", "0"]])
        with closing(servers.connect_clickhouse(server)) as link:
            link.command("SET readonly = 1")
            with pytest.raises(import_module("clickhouse_connect").driver.exceptions.DatabaseError):
                link.command("CREATE VIEW seen AS SELECT 1")
        began = len(log.read_text("utf-8").splitlines())
        tree = said(spec_of("c0"), address)
        asked = log.read_text("utf-8").splitlines()[began:]
    assert tree == said(spec_of("c0"), pl.DataFrame({"c0": ["f", "m"], "y": [1, 0]}))
    assert {line.split()[0] for line in asked} == {"SELECT", "DESCRIBE"}


def test_a_query_of_sqlite_ends_with_the_time_limit_and_writes_nothing(tmp_path: Path) -> None:
    fill_sqlite(tmp_path / "lake.db", ["TEXT", "INTEGER"], [["'f'", "1"]])
    before = (tmp_path / "lake.db").read_bytes()
    endless = "WITH c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS c0, 1 AS y FROM c"
    address = f"sqlite:///{tmp_path}/lake.db?query={quote(endless)}"
    with pytest.raises(DataError, match=r"did not answer within 0\.5 s"):
        fairaudit.audit(spec_of("c0"), address, timeout=0.5)
    assert (tmp_path / "lake.db").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["lake.db"]
    with pytest.raises(DataError, match=r"cannot be connected to \(OperationalError"):
        fairaudit.audit(spec_of("c0"), "sqlite://?query=SELECT 1 AS c0, 1 AS y")


def test_a_table_of_ibis_is_a_frame(tmp_path: Path) -> None:
    servers.need_package("ibis")
    columns, rows = ["TEXT", "INTEGER"], [["'f'", "1"], ["'m'", "0"]]
    address = fill_sqlite(tmp_path / "lake.db", columns, rows)
    link = import_module("ibis").sqlite.connect(tmp_path / "lake.db")
    assert said(spec_of("c0"), link.table("types")) == said(spec_of("c0"), address)
    link.disconnect()


TEXTS = ["f", "F", "f ", " f", "é", "e", "☃", "😀", "", "-1", "1", "01", "1.0", "nan", "NULL", "%s"]
NUMBERS = (pl.Float32, pl.Float64)


def draw_value(case: Case, random: Random) -> tuple[str, Any]:
    """A value of the type of a case: as SQL writes it, and as a file has it."""
    dtype, values = case.dtype, case.values or []
    if isinstance(dtype, pl.Decimal):
        number = Decimal(random.randrange(-999_999, 999_999)).scaleb(-dtype.scale)
        return f"'{number:f}'", number
    if dtype == pl.Date:
        day = date(1970, 1, 1) + timedelta(random.randrange(40_000))
        return f"'{day}'", day
    if dtype in NUMBERS and case.type != "BFloat16":
        float_ = random.choice([0.1, 1 / 3, 1e-7, 29.9, 30.0, 2.0**53, random.random() * 100])
        return f"{float_:.17e}", float_  # a literal without an exponent is a decimal
    if dtype.is_integer() and isinstance(values[1], int) and values[1] > values[0] >= 0:
        whole_ = random.choice([*values, random.randrange(values[0], values[1])])
        return str(whole_), whole_
    if case.type.lower() in {"text", "varchar", "string"}:
        text = random.choice(TEXTS)
        return f"'{text}'", text
    place = random.randrange(len(values))
    return case.literals[place], values[place]


def is_number(case: Case) -> bool:
    """Whether the values of a type are numbers."""
    return pl.Series([], dtype=case.dtype).dtype.is_numeric()


def draw_spec(cases: Sequence[Case], random: Random) -> dict[str, Any]:
    """A spec over columns of these types: levels, intervals, a score, a filter."""
    protected: dict[str, Any] = {}
    for place, case in enumerate(cases):
        is_cut = is_number(case) and random.random() < 0.6
        edges = sorted(random.sample([-5, 0, 0.1, 1, 7, 29.9, 30, 1000.5], 2))
        protected[f"c{place}"] = {"bins": edges} if is_cut else {}
        if is_cut and random.random() < 0.3:
            protected[f"c{place}"]["unknown"] = ["0"]
    spec = {
        "columns": {"protected": protected, "decision": {"column": "y", "positive": 1}},
        "missing": {"protected": "group", "tokens": random.choice([[], ["-1", "nan"]])},
        "metrics": ["selection_rate", {"metric": "impact_ratio", "fail": "< 0.8"}],
    }
    if random.random() < 0.4:
        first = cases[0].dtype
        is_date = first == pl.Date or isinstance(first, pl.Datetime)
        condition = "c0 >= '2000-01-01'" if is_date else "c0 is not null"
        spec["filter"] = f"y >= 0 and {'c0 > 1' if is_number(cases[0]) else condition}"
    return spec


@pytest.mark.long
@pytest.mark.parametrize(
    ("fill", "engine"), [(engine, engine) for engine in EVERY], indirect=["fill"], ids=str
)
def test_random_tables_have_the_report_of_a_file(
    fill: Fill, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    # SQLite takes the type of such a column from its values, which are drawn here.
    open_types = {'"integer and real"', "DECIMAL(6, 2)"} if engine == "SQLite" else {}
    readable = [
        case for case in EVERY[engine] if case.values is not None and case.type not in open_types
    ]
    number = "Int32" if engine == "ClickHouse" else "INT"
    audited = 0
    for seed in range(500 if request.config.getoption("--all") else 10):
        random = Random(seed)
        cases = random.sample(readable, 2)
        rows, values = [], []
        for _ in range(random.randrange(1, 40)):
            drawn = [
                ("NULL", None)
                if may_lack(case.type) and random.random() < 0.15
                else draw_value(case, random)
                for case in cases
            ]
            drawn.append((y := str(random.randrange(2)), int(y)))
            rows.append([literal for literal, _ in drawn])
            values.append([value for _, value in drawn])
        names = [f"c{place}" for place in range(len(cases))]
        schema = {**dict(zip(names, (case.dtype for case in cases), strict=True)), "y": pl.Int32}
        pl.DataFrame(values, schema=schema, orient="row").write_parquet(tmp_path / "rows.parquet")
        spec = draw_spec(cases, random)
        here = said(spec, tmp_path / "rows.parquet")
        there = said(spec, fill([*(case.type for case in cases), number], rows))
        kinds = (seed, [case.type for case in cases], spec)
        if isinstance(here, tuple):
            assert there[0] is here[0], (kinds, here, there)
        else:
            audited += 1
            assert there == here, kinds
    assert audited > seed // 3
