"""MySQL, and databases that Ibis connects to: the report of the same rows in a file."""

from __future__ import annotations

import copy
import sqlite3
from contextlib import closing
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import servers
from hypothesis import given, settings
from hypothesis import strategies as st
from test_databases import AGES, CUT, MANY, PEOPLE, ROWS, SCORED, SPEC, TYPES, said

import fairaudit
from fairaudit.base.errors import DataError, UsageError

pytestmark = pytest.mark.filterwarnings("ignore")  # of Ibis and of its drivers
MYSQL_TYPES = {
    "sex": "varchar(20) CHARACTER SET utf8mb4",
    "age": "double",
    "born": "date",
    "y": "boolean",
    "s": "float",
    "w": "double",
    "n": "int",
    "amount": "decimal(6, 2)",
}


def fill(address: str, frame: pl.DataFrame) -> str:
    """The same rows in a table of the server; its address."""
    columns = ", ".join(f"`{name}` {MYSQL_TYPES[name]}" for name in frame.columns)
    marks = ", ".join(["%s"] * frame.width)
    with closing(servers.connect_mysql(address)) as link, link.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS people")
        cursor.execute(f"CREATE TABLE people ({columns})")
        cursor.executemany(f"INSERT INTO people VALUES ({marks})", frame.rows())
    return f"{address}?table=people"


def adapted(spec: dict[str, Any], rows: list[dict[str, Any]]) -> tuple[Any, pl.DataFrame]:
    """A spec and rows as MySQL may have them: its booleans are numbers, and it has no NaN."""
    spec = copy.deepcopy(spec)
    for role in ("label", "decision"):
        if spec["columns"].get(role, {}).get("positive") is True:
            spec["columns"][role]["positive"] = 1
    frame = pl.DataFrame(rows, schema=TYPES).with_columns(pl.col("age").fill_nan(None))
    return spec, frame.cast({"y": pl.Int8, "s": pl.Float32})


@settings(deadline=None, max_examples=40)
@given(rows=ROWS, spec=st.sampled_from([SPEC, SCORED, PEOPLE, CUT]))
def test_a_table_of_mysql_has_the_report_of_the_same_rows(
    mysql: str, rows: list[dict[str, Any]], spec: Any
) -> None:
    spec, frame = adapted(spec, rows)
    here, there = said(spec, frame), said(spec, fill(mysql, frame))
    if isinstance(here, tuple):
        assert there[0] is here[0]
    else:
        assert there == here


@pytest.mark.parametrize("spec", [SPEC, SCORED, PEOPLE, CUT])
def test_many_rows_of_mysql_have_a_report(mysql: str, spec: Any) -> None:
    spec, frame = adapted(spec, [{**row, "s": (row["s"] or 0) / 3} for row in MANY])
    tree = said(spec, fill(mysql, frame))
    assert isinstance(tree, dict)
    assert tree == said(spec, frame)


def test_texts_that_mysql_takes_for_equal_are_different_groups(mysql: str) -> None:
    texts = ["f", "F", "f ", "é", "e", "☃", "😀", "\\", '"', "`", "%s"]
    frame = pl.DataFrame(
        {"sex": texts * 3, "age": [20.0] * 33, "y": ([1, 0, 1] * 11)},
        schema_overrides={"y": pl.Int8},
    )
    spec, address = {**AGES, "columns": {**AGES["columns"]}}, fill(mysql, frame)
    spec["columns"]["decision"] = {"column": "y", "positive": 1}
    assert said(spec, address) == said(spec, frame)
    rates = fairaudit.audit(spec, address).rates
    assert len({row.group for row in rates if row.by == ("sex",)}) == len(texts)


def test_what_mysql_refuses_is_told_without_its_password(
    mysql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(mysql, adapted(SPEC, MANY)[1])
    with pytest.raises(DataError, match="no table 'peple'; did you mean 'people'"):
        fairaudit.audit(AGES, f"{mysql}?table=peple")
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    fault = r"cannot be connected to \(OperationalError, SQLSTATE 28000, access denied\)"
    with pytest.raises(DataError, match=fault) as raised:
        fairaudit.audit(AGES, f"{mysql}?table=people")
    assert "wrong" not in str(raised.value)
    assert "me@" not in str(raised.value)


@pytest.mark.parametrize("scheme", ["mysql", "snowflake", "bigquery", "clickhouse", "trino"])
def test_a_database_that_takes_no_time_limit_is_not_asked_with_one(scheme: str) -> None:
    with pytest.raises(UsageError, match="--timeout cannot end a query") as raised:
        fairaudit.audit(AGES, f"{scheme}://me@host/lake?table=people", timeout=5)
    assert "timeout 600" in str(raised.value.hint)


@pytest.fixture
def warehouse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """Ibis connects to a file of SQLite, whatever the address; with what it was asked to."""
    if find_spec("ibis") is None:
        pytest.skip("Ibis is not installed")
    ibis = import_module("ibis")
    asked: list[dict[str, Any]] = []
    with closing(sqlite3.connect(tmp_path / "lake.db")) as link:
        link.execute("CREATE TABLE people (sex TEXT, age REAL, y INTEGER)")
        link.executemany("INSERT INTO people VALUES (?, ?, ?)", PEOPLE_ROWS)
        link.commit()

    def connect(_: str, **options: Any) -> Any:
        asked.append(options)
        link = ibis.sqlite.connect(tmp_path / "lake.db")
        link.raw_sql("ATTACH ':memory:' AS information_schema")
        link.raw_sql(
            "CREATE TABLE information_schema.tables AS "
            "SELECT 'main' AS table_schema, 'people' AS table_name"
        )
        return link

    monkeypatch.setattr(ibis, "connect", connect)
    return asked


PEOPLE_ROWS = [(["f", "m", None][at % 3], 20 + at * 7 % 50 + 0.25, at % 5 % 2) for at in range(300)]


@pytest.mark.parametrize("scheme", ["snowflake", "bigquery", "trino"])
def test_a_warehouse_is_asked_in_its_own_words(
    warehouse: list[dict[str, Any]], scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SNOWFLAKE", "TRINO"):
        monkeypatch.setenv(f"{name}_PASSWORD", f"hush of {name.lower()}")
    frame = pl.DataFrame(PEOPLE_ROWS, schema=["sex", "age", "y"], orient="row")
    spec = {**AGES, "columns": {**AGES["columns"], "decision": {"column": "y", "positive": 1}}}
    spec["missing"] = {"protected": "group"}
    tree = said(spec, f"{scheme}://me@host/lake?table=people")
    assert isinstance(tree, dict)
    assert tree == said(spec, frame)
    assert "hush" not in str(tree)
    secret = f"hush of {scheme}"
    assert warehouse == [
        {
            "snowflake": {"password": secret, "create_object_udfs": False},
            "bigquery": {},
            "trino": {"auth": secret},
        }[scheme]
    ]


def test_a_missing_driver_is_told_with_its_install_line(
    warehouse: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not warehouse

    def fail(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("No module named 'packaging'", name="packaging")

    monkeypatch.setattr(import_module("ibis"), "connect", fail)
    with pytest.raises(UsageError, match="reading Trino needs the module packaging") as raised:
        fairaudit.audit(AGES, "trino://host/db?table=people")
    assert raised.value.hint == "pip install 'ibis-framework[trino]' packaging"
