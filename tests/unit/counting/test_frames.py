"""Frames of every library: the same report as from the CSV file of the same rows, or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest

import fairaudit
from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.processes import SILENT
from fairaudit.counting import polars_engine
from fairaudit.counting.sources import Frame
from fairaudit.pipeline.audit_task import AuditTask

ROWS = 600
COLUMNS: dict[str, list[Any]] = {
    "unused": [{"no": "column"}] * ROWS,
    "group": [("a", "b", None, 'ä,"b"')[i % 4] for i in range(ROWS)],
    "code": [(1, 2, None)[i % 3] for i in range(ROWS)],
    "y": [(i * i) % 7 > 2 for i in range(ROWS)],
    "score": [None if i % 50 == 0 else (i * 37 % 101) / 101 for i in range(ROWS)],
    "w": [0.5 + (i % 5) for i in range(ROWS)],
}
USED = {name: values for name, values in COLUMNS.items() if name != "unused"}
SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"group": {}, "code": {}},
        "label": {"column": "y", "positive": "true"},
        "prediction": {"column": "score", "positive": {"top": "25%"}},
        "weight": "w",
    },
    "filter": "w > 0.6",
    "missing": {"prediction": "aside"},
    "metrics": [
        {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}},
        "true_positive_rate",
    ],
}


def _objects(values: list[Any]) -> np.ndarray[Any, Any]:
    array = np.empty(len(values), dtype=object)
    array[:] = [float("nan") if value is None else value for value in values]
    return array


def _pandas(**kinds: str) -> pd.DataFrame:
    frame = pd.DataFrame({"unused": COLUMNS["unused"]})
    for name, values in USED.items():
        frame[name] = pd.Series(values, dtype=kinds.get(name))
    return frame


def _arrow(**more: list[Any]) -> pa.Table:
    return pa.table({**USED, **more})


class _Stream:
    """Whatever hands over a stream of Arrow, and can do so but once."""

    def __init__(self) -> None:
        self.reader = _arrow().to_reader(max_chunksize=64)

    def __arrow_c_stream__(self, schema: object = None) -> object:
        return self.reader.__arrow_c_stream__(schema)


def _duckdb() -> Any:
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
    rows = _arrow()
    return duckdb.connect().from_arrow(rows)


def _structured() -> np.ndarray[Any, Any]:
    kinds = [("group", "O"), ("code", "O"), ("y", "?"), ("score", "f8"), ("w", "f4")]
    rows = zip(*(_objects(USED[name]) for name, _ in kinds), strict=True)
    return np.array([*rows], dtype=kinds)


NULLABLE = {"group": "string", "code": "Int64", "y": "boolean", "score": "Float64"}
FRAMES: dict[str, Callable[[], Any]] = {
    "polars": lambda: pl.DataFrame(USED),
    "polars, lazy": lambda: pl.LazyFrame(USED),
    "polars, categorical": lambda: pl.DataFrame(USED).cast({"group": pl.Categorical}),
    "pandas, objects": lambda: _pandas(group="object", code="object", y="object"),
    "pandas, nullable": lambda: _pandas(**NULLABLE),
    "pandas, categorical": lambda: _pandas(group="category", code="Int64"),
    "pandas, Arrow": lambda: pd.DataFrame(USED).convert_dtypes(dtype_backend="pyarrow"),
    "Arrow table": _arrow,
    "Arrow reader": lambda: _arrow().to_reader(max_chunksize=64),
    "Arrow record batch": lambda: _arrow().to_batches()[0],
    "Arrow dataset": lambda: pyarrow.dataset.dataset(_arrow()),
    "a stream of Arrow": _Stream,
    "DuckDB": _duckdb,
    "lists": lambda: COLUMNS,
    "arrays": lambda: {name: _objects(values) for name, values in USED.items()},
    "structured array": _structured,
}


def _document(result: fairaudit.AuditResult) -> str:
    """The report but for where the rows come from, and when they were audited."""
    tree = result.to_dict()
    kept = {name: tree["provenance"][name] for name in ("rows", "cube_sha256", "filter", "weight")}
    return json.dumps({**tree, "provenance": kept})


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("csv") / "rows.csv"
    pl.DataFrame(USED).write_csv(path)
    return _document(fairaudit.audit(SPEC, path))


@pytest.mark.long
@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_gives_the_report_of_its_csv_file(name: str, expected: str) -> None:
    assert _document(fairaudit.audit(SPEC, FRAMES[name]())) == expected


def test_numbers_with_gaps_are_floats_in_numpy_and_levels_follow() -> None:
    """A column 1, 2, NaN has the levels `1.0` and `2.0`, as pandas would write it to a file."""
    frame = pd.DataFrame({**USED, "code": [float("nan") if c is None else c for c in USED["code"]]})
    levels = {level for row in fairaudit.audit(SPEC, frame).groups for _, level in row.group}
    assert {"1.0", "2.0"} < levels


def test_only_what_is_asked_is_read_of_a_lazy_frame() -> None:
    read: list[set[str]] = []
    rows = pl.DataFrame({**USED, "unused": ["text"] * ROWS})

    def source(columns: list[str] | None, *_: Any) -> Any:
        read.append({*(columns or rows.columns)})
        yield rows.select(columns or pl.all())

    fairaudit.audit(SPEC, pl.io.plugins.register_io_source(source, schema=rows.schema))
    assert {*USED} in read
    assert not any("unused" in columns for columns in read)


def test_a_reader_is_read_once_and_only_its_columns_are_kept() -> None:
    frame = Frame(_arrow(unused=[1] * ROWS).to_reader(max_chunksize=64))
    AuditTask.read(SPEC).find_plan(frame, SILENT, polars_engine)
    assert frame.frame.height == ROWS
    assert set(frame.frame.columns) == {"group", "code", "y", "score", "w"}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (5, "the data is a int, which is not a table"),
        ([{"group": "a"}], "the data is a list, which is not a table"),
        (np.zeros((2, 2)), "the data is a ndarray, which is not a table"),
        ({**USED, "group": "a"}, "the column 'group' is a str, not a list or an array"),
        ({**USED, "group": 5}, "the column 'group' is a int, not a list or an array"),
        ({**USED, "group": ["a"]}, "the columns differ in length: 'group' has 1, 'code' has 600"),
        ({**USED, "group": ["a", 1] * 300}, "the column 'group' mixes int and str"),
        (pd.DataFrame({**USED, "group": ["a", 1] * 300}), "the column 'group' mixes int and str"),
        (
            {**USED, "group": [["a"]] * ROWS},
            "'group' holds List.String., which cannot be used as levels",
        ),
        (pd.DataFrame([[1, 2]], columns=["group", "group"]), "columns are named 'group'"),
        (pa.table([["a"], ["b"]], names=["group", "group"]), "<data frame>, row 1: several"),
        (pd.DataFrame({"a": [1]}), "no column 'group'; available: 'a'"),
        (pl.scan_csv("nowhere.csv"), "LazyFrame that cannot be read .FileNotFoundError."),
        (pl.DataFrame(USED).clear(), "no rows are left to audit"),
    ],
)
def test_what_is_no_table_is_told(data: Any, words: str) -> None:
    with pytest.raises(FairauditError, match=words):
        fairaudit.audit(SPEC, data)


def test_an_error_of_a_library_tells_no_row() -> None:
    frame = pl.LazyFrame(USED).with_columns(pl.col("group").cast(pl.Int64))
    with pytest.raises(DataError) as raised:
        fairaudit.audit(SPEC, frame)
    assert "ä" not in str(raised.value)


@pytest.mark.parametrize("wrap", [pl.DataFrame, pa.table, dict, pd.DataFrame])
def test_a_column_may_be_missing_throughout(wrap: Callable[[Any], Any]) -> None:
    columns = {"protected": ["g"], "decision": {"column": "y", "positive": 1}}
    spec = {"columns": columns, "metrics": "selection_rate"}
    result = fairaudit.audit(spec, wrap({"g": [None, None], "y": [1, 0]}))
    assert [row.group for row in result.groups] == [(), (("g", "(unknown)"),)]
