"""Hive partitions: what the folders above a Parquet file spell is a column like any other."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

import fairaudit
from fairaudit.base.errors import DataError, SpecError
from fairaudit.result import AuditResult

OUTCOME = {"column": "y", "positive": 1, "negative": 0}
YEARS = {"2025": ("a", [1, 0]), "2026": ("b", [1, 1, 0, 1])}


def audit(data: Path, *protected: str, **more: Any) -> AuditResult:
    columns = {"protected": [*protected], "decision": OUTCOME}
    spec = {"columns": columns, "metrics": ["selection_rate"], **more}
    return fairaudit.audit(spec, str(data))


def sizes(result: AuditResult) -> dict[tuple[str, ...], tuple[int | None, int | None]]:
    """Selected and people by group."""
    return {
        tuple(level for _, level in row.group): (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.by
    }


def write_lake(folder: Path, depth: str = "") -> Path:
    """A folder of partitions, written by another library, each a file."""
    for year, (race, chosen) in YEARS.items():
        below = folder / f"year={year}{depth}"
        below.mkdir(parents=True)
        rows = {"race": [race] * len(chosen), "note": ["x"] * len(chosen), "y": chosen}
        pl.DataFrame(rows).write_parquet(below / "part.parquet")
    return folder


def test_a_partition_is_a_protected_column(tmp_path: Path) -> None:
    result = audit(write_lake(tmp_path), "year", "race")
    assert sizes(result) == {
        ("2025",): (1, 2),
        ("2026",): (3, 4),
        ("a",): (1, 2),
        ("b",): (3, 4),
        ("2025", "a"): (1, 2),
        ("2026", "b"): (3, 4),
    }


def test_partitions_are_filtered_binned_and_nested(tmp_path: Path) -> None:
    lake = write_lake(tmp_path, depth="/month=05")
    assert sizes(audit(lake, "race", filter="year >= 2026 and month = '05'")) == {("b",): (3, 4)}
    columns = {"protected": {"year": {"bins": [2026]}}, "decision": OUTCOME}
    result = fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, str(lake))
    assert sizes(result) == {("under 2026",): (1, 2), ("2026 and over",): (3, 4)}


def test_a_partition_without_a_value_is_missing(tmp_path: Path) -> None:
    write_lake(tmp_path)
    (tmp_path / "year=2025").rename(tmp_path / "year=__HIVE_DEFAULT_PARTITION__")
    (tmp_path / "year=2026").rename(tmp_path / "year=a%2Fb")
    result = audit(tmp_path, "year")
    assert sizes(result)["a/b",] == (3, 4)
    assert [level for (level,) in sizes(result) if level != "a/b"] == ["(unknown)"]


def test_a_column_of_the_file_is_taken_before_its_folder(tmp_path: Path) -> None:
    below = tmp_path / "race=folder"
    below.mkdir()
    pl.DataFrame({"race": ["a", "b"], "y": [1, 0]}).write_parquet(below / "x.parquet")
    assert sizes(audit(tmp_path, "race")) == {("a",): (1, 1), ("b",): (0, 1)}


def test_what_no_folder_spells_is_no_column(tmp_path: Path) -> None:
    write_lake(tmp_path)
    with pytest.raises(SpecError, match=r"no column 'yeer'.*did you mean 'year'"):
        audit(tmp_path, "yeer")
    (tmp_path / "year=2025" / "part.parquet").rename(tmp_path / "part.parquet")
    with pytest.raises(SpecError, match=r"no column 'year' in .*part\.parquet"):
        audit(tmp_path, "year")


def test_an_empty_part_and_a_damaged_one(tmp_path: Path) -> None:
    write_lake(tmp_path)
    (tmp_path / "year=2027").mkdir()
    part = tmp_path / "year=2027" / "part.parquet"
    pl.DataFrame(schema={"race": pl.String, "y": pl.Int64}).write_parquet(part)
    assert sizes(audit(tmp_path, "year")) == {("2025",): (1, 2), ("2026",): (3, 4)}
    part.write_bytes((tmp_path / "year=2026" / "part.parquet").read_bytes()[:-20])
    with pytest.raises(DataError, match=r"part\.parquet"):
        audit(tmp_path, "year")


def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_lake(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "ParquetWriter", full)
    with pytest.raises(DataError, match="no disk space for a temporary copy") as raised:
        audit(folder, "year")
    assert "No space left on device" in str(raised.value.hint)
