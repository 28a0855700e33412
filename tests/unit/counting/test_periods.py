"""Months, quarters and years of dates as levels: counted in plain Python, equal on all routes."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import DataError, SpecError

Row = tuple[str, str, date | None]


def draw(size: int = 300) -> list[Row]:
    """Decisions of two years without those of March to August 2024; some have no date."""
    made, rows = random.Random(5), list[Row]()
    while len(rows) < size:
        day = date(2023, 11, 1) + timedelta(days=made.randrange(500))
        if not date(2024, 3, 1) <= day < date(2024, 9, 1):
            rows.append(
                (made.choice("ab"), made.choice("01"), None if made.random() < 0.05 else day)
            )
    return rows


def spec_of(unit: str, **more: Any) -> dict[str, Any]:
    return {
        "columns": {
            "protected": ["g"],
            "decision": {"column": "d", "positive": 1},
            "strata": {"when": {"column": "decided", "period": unit}},
        },
        "metrics": [{"metric": "selection_rate", "given": "when"}],
        "simpson": False,
        **more,
    }


def name(day: date | None, unit: str) -> str:
    if day is None:
        return "(unknown)"
    month, quarter = f"{day.year}-{day.month:02}", f"{day.year}-Q{(day.month + 2) // 3}"
    return {"month": month, "quarter": quarter, "year": str(day.year)}[unit]


def counted(data: Any, spec: Mapping[str, Any]) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        (row.stratum[0][1], row.group[0][1]): (
            row.estimate.numerator or 0,
            row.estimate.denominator or 0,
        )
        for row in fairaudit.audit(spec, data).rates
        if row.stratum and row.group
    }


def write(path: Path, rows: list[Row], form: str = "%Y-%m-%d") -> Path:
    lines = [f"{g},{d},{day.strftime(form) if day else ''}" for g, d, day in rows]
    path.write_text("\n".join(["g,d,decided", *lines, ""]))
    return path


@pytest.mark.long
@pytest.mark.parametrize("unit", ["month", "quarter", "year"])
def test_each_period_is_a_level_on_all_routes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str
) -> None:
    rows = draw()
    people = Counter((name(day, unit), g) for g, _, day in rows)
    selected = Counter((name(day, unit), g) for g, d, day in rows if d == "1")
    expected = {key: (selected[key], n) for key, n in people.items()}
    frame = pl.DataFrame(rows, schema=["g", "d", "decided"], orient="row")
    frame.write_parquet(tmp_path / "data.parquet")
    with sqlite3.connect(tmp_path / "data.db") as base:
        base.execute("create table t (g text, d text, decided text)")
        base.executemany(
            "insert into t values (?, ?, ?)", [(*r[:2], r[2] and f"{r[2]}") for r in rows]
        )
    file = write(tmp_path / "data.csv", rows)
    sources = [
        file,
        tmp_path / "data.parquet",
        frame,
        frame.to_pandas(),
        f"sqlite:///{tmp_path / 'data.db'}?table=t",
    ]
    assert [counted(source, spec_of(unit)) for source in sources] == [expected] * len(sources)
    us = write(tmp_path / "us.csv", rows, "%m/%d/%Y")
    assert counted(us, spec_of(unit, dates={"decided": "%m/%d/%Y"})) == expected
    monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy")
    assert counted(file, spec_of(unit)) == expected


def test_periods_without_a_row_have_a_notice(tmp_path: Path) -> None:
    file = write(tmp_path / "data.csv", draw())
    for unit, gaps in (
        ("month", [", ".join(f"'2024-0{month}'" for month in range(3, 9))]),
        ("quarter", ["'2024-Q2'"]),
        ("year", []),
    ):
        notices = [str(notice) for notice in fairaudit.audit(spec_of(unit), file).notices]
        assert [n for n in notices if "no row is of" in n] == [
            f"when: no row is of {g}" for g in gaps
        ]


def test_texts_that_are_no_dates_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("g,d,decided\na,1,2024-01-31\nb,0,1/31/2024\n")
    with pytest.raises(
        DataError, match=r"1 row holds no date \(YYYY-MM-DD\) in the column 'decided'"
    ):
        fairaudit.audit(spec_of("month"), file)


def test_a_period_is_not_cut() -> None:
    spec = spec_of("month")
    spec["columns"]["strata"]["when"]["bins"] = [3]
    with pytest.raises(SpecError, match="each period is a level already"):
        fairaudit.audit(spec, {"g": [], "d": [], "decided": []})
