"""The contents of the columns that a result describes: kinds, ranges, blanks, values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit


def audit(data: Any, **more: Any) -> Any:
    columns: dict[str, Any] = {
        "protected": {"sex": {}, "age": {"bins": [30]}},
        "decision": {"column": "d", "positive": "yes", "negative": "no"},
        "score": "s",
        "cluster": "team",
    }
    spec = {"columns": columns, "metrics": ["selection_rate"], "simpson": False, **more}
    return fairaudit.audit(spec, data)


FRAME = pl.DataFrame({
    "sex": ["m", "f", "m", "m", None, "f", "NA", "m"],
    "age": [20, 40, None, 31, 25, 60, 33, 29],
    "d": ["yes", "no"] * 4,
    "s": [0.25, 0.5, 0.75, 1.0, 0.25, 0.5, 0.75, 0.125],
    "team": [str(at) for at in range(8)],
})  # fmt: skip
WORDS = {"missing": {"protected": "aside", "tokens": ["NA"]}}


def test_each_counted_column_is_described_over_all_rows() -> None:
    described = {
        row.column: row for row in audit(FRAME, filter="age is not null", **WORDS).readings
    }
    assert {*described} == {"sex", "age", "d", "s", "team"}
    sex, age, score, team = (described[name] for name in ("sex", "age", "s", "team"))
    # The row that the filter removes is described, too.
    assert (sex.kind, sex.blank, sex.distinct) == ("text", 2 / 8, 2)
    assert sex.examples == ("m", "f")
    assert (age.kind, age.blank, age.distinct, age.examples) == ("numbers", 1 / 8, None, ())
    assert (score.kind, score.low, score.high) == ("numbers", "0.125", "1")
    assert (team.kind, team.low, team.high, team.examples) == ("numbers", "0", "7", ())


def test_the_notation_of_csv_files_is_described(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    FRAME.write_csv(path, separator=";")
    result = audit(str(path), format={"separator": ";"}, **WORDS)
    assert result.provenance.notation == "separator ';', decimal '.', encoding 'utf-8'"
    assert not audit(FRAME, **WORDS).provenance.notation


@pytest.mark.parametrize("threshold", [2, 11])
def test_a_published_report_describes_no_column(threshold: int) -> None:
    columns = {"protected": ["sex"], "decision": {"column": "d", "positive": "yes"}}
    spec = {"columns": columns, "metrics": ["selection_rate"], "suppress_below": threshold, **WORDS}
    assert not fairaudit.audit(spec, FRAME).readings
