"""NaN in Parquet, whose statistics leave it out: no route, and no version of DuckDB, counts it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import fairaudit
from fairaudit.base.errors import DataError
from fairaudit.counting.sources import dialects

SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["g"],
        "decision": {"column": "s", "positive": {"at_least": 0.5}},
    },
    "missing": {"decision": "aside"},
    "metrics": ["selection_rate", {"metric": "demographic_parity_ratio", "fail": "< 0.8"}],
}
PAYLOADS = [math.nan, -math.nan, float(np.uint64(0x7FF8000000000123).view(np.float64))]
SEVERAL = [("a", nan) for nan in PAYLOADS * 20] + [
    *[("a", 0.9)] * 1,
    *[("a", 0.2)] * 40,
    *[("b", 0.9)] * 60,
    *[("b", 0.2)] * 40,
]
"""Selected: 1 of 41, and 60 of 100. With NaN among the numbers, 61 of 101: parity."""
ALIKE = [("a", nan) for nan in PAYLOADS] + [("a", 0.9), ("b", 0.9), ("b", 0.9)]
"""All that are no NaN are one number, which the statistics then tell as that of the column."""
ROUTES: dict[str, Callable[[Path], Any]] = {
    "file": lambda path: path,
    "scan": pl.scan_parquet,
    "frame": pl.read_parquet,
    "dataset": ds.dataset,
    "relation": lambda path: duckdb.sql(f"SELECT * FROM '{path}'"),
    "query": lambda path: f"duckdb://?query=SELECT * FROM '{path}'",
}
SCRIPT = """
import json, sys, duckdb, fairaudit
rates = fairaudit.audit(json.loads(sys.argv[1]), sys.argv[2]).group_rates(by=["g"]).to_dicts()
rates = [rate for rate in rates if rate["metric"] == sys.argv[3]]
counts = {rate["group.g"]: (rate["numerator"], rate["denominator"]) for rate in rates}
print(json.dumps([duckdb.__version__, counts]))
"""
"""For another process, which may have another DuckDB."""


def write(folder: Path, rows: Sequence[tuple[str, float]], kind: pa.DataType) -> Path:
    path = folder / "d.parquet"
    columns = {"g": [g for g, _ in rows], "s": pa.array([s for _, s in rows], kind)}
    pq.write_table(pa.table(columns), path)
    return path


def count(rows: Sequence[tuple[str, float]]) -> dict[str, tuple[int, int]]:
    """Those selected, and all whose decision is known, of each group: NaN is missing."""
    known = [(g, s >= 0.5) for g, s in rows if not math.isnan(s)]
    groups = sorted({g for g, _ in known})
    return {
        group: (sum(s for g, s in known if g == group), sum(g == group for g, _ in known))
        for group in groups
    }


def selected(result: fairaudit.AuditResult) -> dict[str, tuple[int, int]]:
    table = result.group_rates(by=["g"]).filter(pl.col("metric") == "selection_rate")
    return {row["group.g"]: (row["numerator"], row["denominator"]) for row in table.to_dicts()}


@pytest.mark.long
@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("rows", [SEVERAL, ALIKE], ids=["several", "alike"])
@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()], ids=str)
def test_nan_in_parquet_is_no_high_score(
    tmp_path: Path, route: str, rows: Sequence[tuple[str, float]], kind: pa.DataType
) -> None:
    result = fairaudit.audit(SPEC, ROUTES[route](write(tmp_path, rows, kind)))
    assert selected(result) == count(rows)
    # Three of the four people of `a` have no decision: that gate cannot pass.
    assert result.exit_code == (1 if rows is SEVERAL else 3)


def test_nan_that_a_database_takes_for_a_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dialects, "_distrust_statistics", lambda _: None)
    monkeypatch.setattr(dialects.DIALECTS["duckdb"], "is_nan", "{} = -1")
    path = write(tmp_path, SEVERAL, pa.float64())
    with pytest.raises(DataError, match="the database counts NaN as a number in 's'"):
        fairaudit.audit(SPEC, ROUTES["query"](path))


@pytest.mark.skipif(
    tuple(map(int, duckdb.__version__.split(".")[:3])) < (2, 0, 1), reason="older than the setting"
)
@pytest.mark.parametrize("condition", ["s >= 0.5", "isnan(s)", "s = 'NaN'"])
def test_a_query_finds_nan_behind_statistics(tmp_path: Path, condition: str) -> None:
    path = write(tmp_path, SEVERAL, pa.float64())
    nan_as_text = f"SELECT g, '1' AS s FROM '{path}' WHERE {condition}"
    spec = {**SPEC, "columns": {"protected": ["g"], "decision": {"column": "s", "positive": "1"}}}
    spec["metrics"] = ["selection_rate"]
    counts = selected(fairaudit.audit(spec, f"duckdb://?query={nan_as_text}"))
    # In DuckDB NaN is above all numbers; among SEVERAL there are 60.
    expected = {"a": 60} if condition != "s >= 0.5" else {"a": 61, "b": 60}
    assert {g: rows for g, (_, rows) in counts.items()} == expected


@pytest.mark.long
@pytest.mark.parametrize("version", ["1.4.0", "1.5.6", "2.0.0"])
def test_nan_is_missing_in_each_version_of_duckdb(tmp_path: Path, version: str) -> None:
    folder = tmp_path / "duckdb"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder)]
    if subprocess.run([*pip, f"duckdb=={version}"], check=False).returncode:
        pytest.skip(f"duckdb {version} cannot be installed here")
    for rows in (SEVERAL, ALIKE):
        path = write(tmp_path, rows, pa.float64())
        paths = os.pathsep.join([str(folder), *sys.path])
        ran = subprocess.run(
            [
                sys.executable,
                "-c",
                SCRIPT,
                json.dumps(SPEC),
                ROUTES["query"](path),
                "selection_rate",
            ],
            env={**os.environ, "PYTHONPATH": paths},
            capture_output=True,
            text=True,
            check=True,
        )
        used, counts = json.loads(ran.stdout)
        assert used == version
        assert counts == {g: list(counted) for g, counted in count(rows).items()}
