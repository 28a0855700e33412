"""Columns of types and dates that no reader has room for are refused by name, by every route."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from commands import run
from conftest import about

import fairaudit
from fairaudit.base.errors import FairauditError

DECISION = {"column": "d", "positive": "1"}
SPECS: dict[str, dict[str, Any]] = {
    "protected": {"columns": {"protected": ["x"], "decision": DECISION}},
    "decision": {
        "columns": {"protected": ["g"], "decision": {"column": "x", "positive": "1"}},
    },
    "strata": {"columns": {"protected": ["g"], "strata": ["x"], "decision": DECISION}},
    "cluster": {"columns": {"protected": ["g"], "cluster": "x", "decision": DECISION}},
    "weight": {"columns": {"protected": ["g"], "weight": "x", "decision": DECISION}},
    "combine": {
        "columns": {"protected": {"a": {"combine": ["x", "g"]}}, "decision": DECISION},
    },
    "age": {
        "columns": {
            "protected": {"age": {"from": "x", "at": "2020-01-01", "bins": [30]}},
            "decision": DECISION,
        }
    },
}
"""A column `x` in several roles."""
ROUTES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "table": lambda table, _: table,
    "stream": lambda table, _: table.to_reader(),
    "dataset": lambda table, _: ds.dataset(table),
    "columns": lambda table, _: {name: table[name] for name in table.column_names},
    "file": lambda _, path: path,
}
UNREAD: dict[str, pa.Array] = {
    "decimal256(70, 3)": pa.array([Decimal("1" * 60), Decimal(2)] * 30, pa.decimal256(70, 3)),
    "decimal256(20, 1)": pa.array([Decimal("1.5"), Decimal(2)] * 30, pa.decimal256(20, 1)),
    "list_view": pa.array([[1], [2]] * 30, pa.list_view(pa.int32())),
    "large_list_view": pa.array([[1], [2]] * 30, pa.large_list_view(pa.int32())),
}
DAYS, TICKS = [2**31 - 1, -(2**31)], [2**63 - 1, 1 - 2**63]
DATES: dict[str, pa.Array] = {
    "date32": pa.array(DAYS * 30, pa.int32()).cast(pa.date32()),
    "ms": pa.array(TICKS * 30, pa.int64()).view(pa.timestamp("ms")),
    "us": pa.array(TICKS * 30, pa.int64()).view(pa.timestamp("us")),
    "utc": pa.array(TICKS * 30, pa.int64()).view(pa.timestamp("us", "UTC")),
    "zone": pa.array(TICKS * 30, pa.int64()).view(pa.timestamp("us", "Asia/Tokyo")),
}


def make_table(values: pa.Array) -> pa.Table:
    decisions = [str(row // 2 % 2) for row in range(60)]
    return pa.table({"g": ["a", "b", "b"] * 20, "d": decisions, "x": values})


def audit(role: str, route: str, values: pa.Array, folder: Path) -> fairaudit.AuditResult:
    table, path = make_table(values), folder / "data.parquet"
    pq.write_table(table, path)
    return fairaudit.audit(
        {**SPECS[role], "metrics": ["selection_rate"]}, ROUTES[route](table, path)
    )


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", UNREAD)
def test_a_type_that_is_not_read_is_refused_by_name(tmp_path: Path, kind: str, route: str) -> None:
    for role in SPECS:
        with (
            about(role),
            pytest.raises(FairauditError, match="the column 'x' has the type ") as raised,
        ):
            audit(role, route, UNREAD[kind], tmp_path)
        assert f"type {kind}" in str(raised.value)
        assert "cast it before the audit" in str(raised.value)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", UNREAD)
def test_a_type_that_is_not_read_harms_no_audit_of_others(
    tmp_path: Path, kind: str, route: str
) -> None:
    pq.write_table(make_table(UNREAD[kind]), tmp_path / "data.parquet")
    spec = {"columns": {"protected": ["g"], "decision": DECISION}, "metrics": ["selection_rate"]}
    data = ROUTES[route](make_table(UNREAD[kind]), tmp_path / "data.parquet")
    table = fairaudit.audit(spec, data).group_rates(by=["g"])
    # Rows 2, 3, 6, 7 … are selected; every third row from the first is of `a`.
    assert dict(zip(table["group.g"], table["numerator"], strict=True)) == {"a": 10, "b": 20}


def test_a_pandas_column_of_long_decimals_is_refused_by_name() -> None:
    spec = {**SPECS["protected"], "metrics": ["selection_rate"]}
    data = make_table(UNREAD["decimal256(70, 3)"]).to_pandas()
    with pytest.raises(FairauditError, match="the column 'x' holds values that fairaudit"):
        fairaudit.audit(spec, data)


@pytest.mark.parametrize("kind", ["list<item: int32>", "struct<a: int64>"])
@pytest.mark.parametrize("role", ["weight", "protected"])
def test_nested_values_are_refused(tmp_path: Path, kind: str, role: str) -> None:
    values = {
        "list<item: int32>": pa.array([[1], [2]] * 30, pa.list_(pa.int32())),
        "struct<a: int64>": pa.array([{"a": 1}, {"a": 2}] * 30),
    }[kind]
    with pytest.raises(FairauditError, match=r"the column 'x' holds (List|Struct)"):
        audit(role, "file", values, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", DATES)
def test_a_date_beyond_all_calendars_is_an_error(tmp_path: Path, kind: str, route: str) -> None:
    for role in (role for role in SPECS if role != "weight"):
        with (
            about(role),
            pytest.raises(FairauditError, match=r"days from 1970|too far from 1970") as raised,
        ):
            audit(role, route, DATES[kind], tmp_path)
        assert raised.value.exit_code == 2
        assert "internal error in fairaudit" not in str(raised.value)


@pytest.mark.parametrize("days", [89_999_999, -89_999_999])
@pytest.mark.parametrize("route", ROUTES)
def test_a_date_that_can_be_written_is_a_level(tmp_path: Path, route: str, days: int) -> None:
    values = pa.array([days, 0] * 30, pa.int32()).cast(pa.date32())
    levels = [*audit("protected", route, values, tmp_path).group_rates(by=["x"])["group.x"]]
    assert "1970-01-01" in levels
    assert len(levels) == 2


@pytest.mark.parametrize("name", ["date32", "us"])
def test_the_command_says_what_is_wrong_with_a_date(tmp_path: Path, name: str) -> None:
    pq.write_table(make_table(DATES[name]), tmp_path / "data.parquet")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "data: data.parquet\n"
        "columns: {protected: [x], decision: {column: d, positive: '1'}}\n"
        "metrics: [selection_rate]\n"
    )
    ran = run("run", str(spec))
    assert ran.returncode == 2
    assert "the column 'x' holds a date over 90,000,000 days from 1970" in ran.stderr
    assert "internal error in fairaudit" not in ran.stderr


def test_a_date_frame_of_polars_is_refused_as_well() -> None:
    frame = pl.DataFrame({"x": pl.Series(DAYS * 30, dtype=pl.Int32), "d": ["1", "0"] * 30})
    frame = frame.with_columns(pl.col("x").cast(pl.Date))
    with pytest.raises(FairauditError, match="days from 1970"):
        fairaudit.audit({**SPECS["protected"], "metrics": ["selection_rate"]}, frame)
