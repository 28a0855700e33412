"""MySQL: the report of the same rows in a file."""

from __future__ import annotations

import copy
from contextlib import closing
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


@settings(deadline=None, max_examples=15)
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


def test_a_timestamp_is_read_in_utc_whatever_the_zone_of_the_server(mysql: str) -> None:
    with closing(servers.connect_mysql(mysql)) as link, link.cursor() as cursor:
        cursor.execute("SET GLOBAL time_zone = '+09:00'")
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute("CREATE OR REPLACE TABLE moments (sex TIMESTAMP, age INT, y INT)")
        cursor.execute("INSERT INTO moments VALUES ('2000-02-29 12:00:01', 1, 1)")
        spec, address = copy.deepcopy(AGES), f"{mysql}?table=moments"
        spec["columns"]["decision"] = {"column": "y", "positive": 1}
        groups = {row.group for row in fairaudit.audit(spec, address).rates}
        cursor.execute("SET GLOBAL time_zone = SYSTEM")
    assert (("sex", "2000-02-29 12:00:01.000000"),) in groups


@pytest.mark.parametrize("scheme", ["mysql", "clickhouse"])
def test_a_database_that_takes_no_time_limit_is_not_asked_with_one(scheme: str) -> None:
    with pytest.raises(UsageError, match="--timeout cannot end a query") as raised:
        fairaudit.audit(AGES, f"{scheme}://me@host/lake?table=people", timeout=5)
    assert "timeout 600" in str(raised.value.hint)
