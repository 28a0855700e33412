"""Each key for exports as people have them, on each route: the counts of plain Python, or words."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pytest

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import FairauditError

Row = dict[str, str]
Counts = dict[str, tuple[int, int]]
ORDER = ["applied", "offered", "hired"]
DAY = "%m/%d/%Y"


def draw(size: int = 240) -> list[Row]:
    """Applications as texts; some people apply twice, on different days."""
    made, rows = random.Random(46), list[Row]()
    days = made.sample(range(700), size)
    for number in range(size):
        born = date(1960, 1, 1) + timedelta(made.randrange(15_000))
        rows.append(
            {
                "g": made.choice("ab"),
                "race": made.choice(["White", "Asian", "White|Asian", ""]),
                "ticked": made.choice(
                    ["White", "Asian|White|", "Asian, White", "White, White", ""]
                ),
                "second": made.choice(["White", "Asian", ""]),
                "born": f"{born}",
                "round": made.choice(["2024-09-30", "2025-03-31"]),
                "received": (date(2024, 1, 1) + timedelta(made.randrange(700))).strftime(
                    made.choice(["%d.%m.%Y", DAY])
                ),
                "number": f"{made.randrange(5000):,}",
                "decided": (date(2024, 1, 1) + timedelta(days[number])).strftime(DAY),
                "who": f"p{made.randrange(size // 2)}",
                "stage": made.choice([*ORDER, "withdrawn"]),
                "pay": f"${made.randrange(1000, 3000):,}.50",
                "d": made.choice("01"),
            }
        )
    return rows


ROWS = draw()


def day_of(row: Row) -> date:
    month, day, year = map(int, row["decided"].split("/"))
    return date(year, month, day)


def received_on(row: Row) -> date:
    text = row["received"]
    if "." in text:
        day, month, year = map(int, text.split("."))
    else:
        month, day, year = map(int, text.split("/"))
    return date(year, month, day)


def round_and_number(row: Row) -> tuple[str, int]:
    return row["round"], int(row["number"].replace(",", ""))


def of_last(rows: Iterable[Row]) -> list[Row]:
    return [*{row["who"]: row for row in sorted(rows, key=day_of)}.values()]


def count(
    rows: Iterable[Row],
    level: Callable[[Row], str] = lambda row: row["g"],
    positive: Callable[[Row], bool] = lambda row: row["d"] == "1",
) -> Counts:
    rows = [*rows]
    people = Counter(map(level, rows))
    selected = Counter(level(row) for row in rows if positive(row))
    return {name: (selected[name], n) for name, n in people.items()}


def race_of(row: Row) -> str:
    return "two or more" if "|" in row["race"] else row["race"] or "(unknown)"


def ticked_of(row: Row) -> str:
    ticked = {part.strip() for part in row["ticked"].replace("|", ",").split(",")} - {""}
    return "two or more" if len(ticked) > 1 else "".join(ticked) or "(unknown)"


def couple_of(row: Row) -> str:
    """The first rule that matches, in the order of `COUPLE`; a blank is a value."""
    if row["second"] == "":
        return "alone" if row["race"] else "nobody"
    return "joint White" if "White" in row["race"] and row["second"] == "White" else "other"


def age_of(row: Row) -> str:
    born = date.fromisoformat(row["born"])
    age = 2024 - born.year  # on the last day of the year
    return "under 40" if age < 40 else "40 and over"


PLAIN = {"protected": ["g"], "decision": {"column": "d", "positive": 1}}
STAGES = {"protected": ["g"], "stages": {"column": "stage", "order": ORDER, "others": "drop"}}
COUPLE = {
    "combine": ["race", "second"],
    "rule": {
        "nobody": {"race": [""], "second": [""]},
        "alone": {"second": [""]},
        "joint White": {"race": ["White", "White|Asian"], "second": "White"},
        "other": {"second": ["White", "Asian"]},
    },
}
CASES: Mapping[str, tuple[Mapping[str, Any], Counts]] = {
    "stages": (
        {"columns": STAGES},
        count(
            (row for row in ROWS if row["stage"] in ORDER),
            positive=lambda row: row["stage"] == "hired",
        ),
    ),
    "split": (
        {"columns": PLAIN | {"protected": {"race": {"split": "|"}}}},
        count(ROWS, race_of),
    ),
    "split at two signs": (
        {"columns": PLAIN | {"protected": {"ticked": {"split": ["|", ","]}}}},
        count(ROWS, ticked_of),
    ),
    "couple": (
        {"columns": PLAIN | {"protected": {"x": COUPLE}}},
        count(ROWS, couple_of),
    ),
    "age": (
        {
            "columns": PLAIN
            | {"protected": {"x": {"from": "born", "at": "2024-12-31", "bins": [40]}}}
        },
        count(ROWS, age_of),
    ),
    "period": (
        {
            "columns": PLAIN | {"protected": {"when": {"column": "decided", "period": "year"}}},
            "dates": {"decided": DAY},
        },
        count(ROWS, lambda row: str(day_of(row).year)),
    ),
    "dates": (
        {"columns": PLAIN, "dates": {"decided": DAY}, "filter": "decided >= '2025-01-01'"},
        count(row for row in ROWS if day_of(row) >= date(2025, 1, 1)),
    ),
    "two notations": (
        {
            "columns": PLAIN,
            "dates": {"received": ["%d.%m.%Y", DAY]},
            "filter": "received >= '2024-09-12'",
        },
        count(row for row in ROWS if received_on(row) >= date(2024, 9, 12)),
    ),
    "repeats": (
        {
            "columns": PLAIN | {"id": "who"},
            "dates": {"decided": DAY},
            "repeats": {"latest": "decided"},
        },
        count(of_last(ROWS)),
    ),
    "lines": (
        {"columns": PLAIN, "format": {"skip_rows": 3, "skip_footer": 2}},
        count(ROWS),
    ),
    "lines and names": (
        {
            "columns": PLAIN | {"protected": ["sex"]},
            "format": {"skip_rows": 4, "skip_footer": 2, "header": ["sex", *[*ROWS[0]][1:]]},
        },
        count(ROWS),
    ),
    "ties": (
        {
            "columns": PLAIN | {"id": "who"},
            "repeats": {"latest": ["round", "number"]},
            "format": {"thousands": ","},
        },
        count({row["who"]: row for row in sorted(ROWS, key=round_and_number)}.values()),
    ),
    "format": (
        {
            "columns": PLAIN,
            "format": {"thousands": ",", "symbols": ["$"]},
            "filter": "pay >= 2000",
        },
        count(row for row in ROWS if row["pay"] >= "$2"),
    ),
}


def save_base(rows: Sequence[Row], path: Path) -> str:
    with sqlite3.connect(path) as base:
        base.execute(f"create table t ({', '.join(f'{name} text' for name in rows[0])})")
        marks = ", ".join("?" * len(rows[0]))
        values = [[value or None for value in row.values()] for row in rows]
        base.executemany(f"insert into t values ({marks})", values)
    return f"sqlite:///{path}?table=t"


def save_lake(rows: Sequence[Row], path: Path) -> str:
    duckdb = pytest.importorskip("duckdb")
    frame = frame_of(rows)
    with duckdb.connect(path) as lake:
        lake.register("frame", frame.to_arrow())
        lake.execute("create table t as select * from frame")
    return f"duckdb:///{path}?table=t"


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    return pl.DataFrame(rows).with_columns(pl.all().replace("", None))


def save_csv(rows: Sequence[Row], path: Path) -> Path:
    pl.DataFrame(rows).write_csv(path)
    return path


def save_parquet(rows: Sequence[Row], path: Path) -> Path:
    frame_of(rows).write_parquet(path)
    return path


def save_excel(rows: Sequence[Row], path: Path) -> Path:
    book = openpyxl.Workbook()
    for line in [[*rows[0]], *([value or None for value in row.values()] for row in rows)]:
        book.active.append(line)
    book.save(path)
    return path


def surround(path: Path) -> None:
    """Adds three lines above the header, one of them blank, and two below the rows."""
    if path.suffix == ".csv":
        path.write_text("sep=,\n\nApplications, 2024\n" + path.read_text() + "\nTotal: 240\n")
    elif path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path)
        book.active.insert_rows(1, 3)
        book.active["A3"] = "Applications, 2024"
        book.active.cell(len(ROWS) + 6, 1, "Total: 240")
        book.save(path)


ROUTES: Mapping[str, Callable[[Path], Any]] = {
    "csv": lambda folder: save_csv(ROWS, folder / "d.csv"),
    "csv lazy": lambda folder: save_csv(ROWS, folder / "d.csv"),
    "parquet": lambda folder: save_parquet(ROWS, folder / "d.parquet"),
    "parquet lazy": lambda folder: save_parquet(ROWS, folder / "d.parquet"),
    "excel": lambda folder: save_excel(ROWS, folder / "d.xlsx"),
    "polars": lambda _: frame_of(ROWS),
    "pandas": lambda _: frame_of(ROWS).to_pandas(),
    "sqlite": lambda folder: save_base(ROWS, folder / "d.db"),
    "duckdb": lambda folder: save_lake(ROWS, folder / "d.duckdb"),
    "counts": lambda folder: save_csv(ROWS, folder / "d.csv"),
}
REFUSED = {
    **{
        (key, route): f"only CSV and Excel files have lines to skip, and .* is neither: {words}"
        for key in ("lines", "lines and names")
        for route in ("parquet", "parquet lazy", "polars", "pandas", "sqlite", "duckdb")
        for words in ["remove `skip_rows` and `skip_footer`"]
    },
    **{
        (key, route): "fairaudit cannot leave out repeated rows of a person"
        for key in ("repeats", "ties")
        for route in ("sqlite", "duckdb")
    },
}
"""What a route does not do, and the words of its refusal."""


def counted(spec: Mapping[str, Any], data: Any) -> Counts:
    result = fairaudit.audit(spec, data)
    of = result.stages[-1] if result.stages else "decision"
    return {
        row.group[0][1]: (row.estimate.numerator or 0, row.estimate.denominator or 0)
        for row in result.rates
        if row.group and row.of == of
    }


@pytest.mark.long
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("key", CASES)
def test_a_key_gives_the_counts_of_plain_python_or_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, route: str
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy" if route.endswith("lazy") else "")
    more, expected = CASES[key]
    spec = {**more, "metrics": "selection_rate", "simpson": False}
    data = ROUTES[route](tmp_path)
    if key.startswith("lines") and isinstance(data, Path):
        surround(data)
    if route == "counts":
        (tmp_path / "s.yaml").write_text(json.dumps(spec))
        counts = tmp_path / "d.counts"
        line = ["count", str(tmp_path / "s.yaml"), "--data", str(data), "-o", str(counts)]
        assert cli.run_line(line) == 0
        data = counts
    if (key, route) in REFUSED:
        with pytest.raises(FairauditError, match=REFUSED[key, route]):
            counted(spec, data)
        return
    assert counted(spec, data) == expected
