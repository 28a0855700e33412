"""What made readers fail as if it were their own fault is told as what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fairaudit
from fairaudit.base.errors import FairauditError

SPEC: dict[str, Any] = {
    "columns": {"protected": ["race"], "decision": {"column": "y", "positive": 1}},
    "metrics": ["selection_rate"],
}
WEIGHED = {**SPEC, "columns": {**SPEC["columns"], "weight": "w"}}


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-be", "utf-16"])
def test_an_encoding_is_called_by_its_name(tmp_path: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding.endswith("be") else ""
    path = tmp_path / "data.csv"
    path.write_bytes(f"{mark}race,y\na,1\nb,0\n".encode(encoding))
    with pytest.raises(FairauditError, match=f"{encoding[:6].upper()}, not UTF-8"):
        fairaudit.audit(SPEC, path)
    found = fairaudit.audit({**SPEC, "format": {"encoding": encoding}}, path)
    assert found.ledger.read == 2


@pytest.mark.parametrize("size", [131_072, 131_073, 500_000])
def test_a_long_column_name_is_no_crash(tmp_path: Path, size: int) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f"race,y,{'x' * size}\na,1,1\nb,0,1\n")
    if size > 131_072:
        with pytest.raises(FairauditError, match=r"data\.csv:1: a column name of over 131,072"):
            fairaudit.audit(SPEC, path)
    else:
        assert fairaudit.audit(SPEC, path).ledger.read == 2


def test_a_column_name_that_is_not_utf8_is_told(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    pq.write_table(pa.table({"race": ["a", "b"], "y": [1, 0], "nxme": [1, 1]}), path)
    path.write_bytes(path.read_bytes().replace(b"nxme", b"n\xffme"))
    with pytest.raises(FairauditError, match="the name of a column is not UTF-8"):
        fairaudit.audit(SPEC, path)


def test_a_type_that_arrow_lacks_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "data.parquet"
    wide = pl.Series([1, 2], dtype=pl.Int128)
    pl.DataFrame({"race": ["a", "b"], "y": [1, 0], "id": wide}).write_parquet(path)
    with pytest.raises(FairauditError, match="a column has a type that fairaudit cannot read"):
        fairaudit.audit(SPEC, path)


@pytest.mark.parametrize("threads", ["0", "-1", "many", "", "4096", "999999999"])
def test_a_number_of_threads_that_is_none_does_not_blame_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("race,y\na,1\nb,0\n")
    monkeypatch.setenv("POLARS_MAX_THREADS", threads)
    with pytest.raises(FairauditError, match=r"POLARS_MAX_THREADS is .*not a number of threads"):
        fairaudit.audit(SPEC, path)


@pytest.mark.parametrize("weight", [4e8, 5e8, 1e9])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_large_weights_weigh_as_small_ones_do(tmp_path: Path, weight: float, kind: str) -> None:
    rates = []
    for at, factor in enumerate((1.0, weight)):
        shares = [0.5, 1.0, 0.25] * 1_000
        frame = pl.DataFrame({
            "race": ["a", "b"] * 1_500,
            "y": [1, 1, 0, 1, 0] * 600,
            "w": [share * factor for share in shares],
        })  # fmt: skip
        path = tmp_path / f"{at}.{kind}"
        frame.write_csv(path) if kind == "csv" else frame.write_parquet(path)
        found = fairaudit.audit(WEIGHED, path)
        rates.append([(row.group, row.estimate.value, row.estimate.low) for row in found.rates])
    small, large = rates
    for (group, value, low), (other, expected, expected_low) in zip(small, large, strict=True):
        assert group == other
        assert value == pytest.approx(expected)
        assert low == pytest.approx(expected_low)
