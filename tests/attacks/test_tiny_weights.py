"""People of positive weights that are next to nothing: a gate does not pass because of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Status
from fairaudit.judge.left_out import LeftOutReason

_METRIC = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}


def _audit(rows: list[tuple[Any, ...]], form: str, path: Path) -> Any:
    (finding,) = _result(rows, form, path).findings
    return finding


def _result(rows: list[tuple[Any, ...]], form: str, path: Path) -> Any:
    data: Any = pl.DataFrame(rows, schema=["g", "d", "w"], orient="row")
    if form != "frame":
        target = path / f"d.{form}"
        data.write_csv(target) if form == "csv" else data.write_parquet(target)
        data = target
    decision = {"column": "d", "positive": 1, "negative": 0}
    columns = {"protected": ["g"], "weight": "w", "decision": decision}
    return fairaudit.audit({"columns": columns, "metrics": [_METRIC]}, data)


@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
@pytest.mark.parametrize(
    ("weight", "scale"),
    [
        *((w, s) for s in (1.0, 1000.0) for w in (0.0, 5e-324, 1e-300, 4e-10, 1e-7)),
        *((1e-5, s) for s in (1e-8, 1e-6, 0.01, 1.0, 20.0, 1000.0, 1e6, 1e8)),
    ],
)
def test_people_of_almost_no_weight_are_left_out(
    weight: float, scale: float, form: str, tmp_path: Path
) -> None:
    """Of 1,000 women 250 are selected, and 500 of 1,000 men; 500 women count next to nothing."""
    rows = [("M", 1, scale)] * 500 + [("M", 0, scale)] * 500
    rows += [("F", 1, scale)] * 250 + [("F", 0, scale)] * 250
    finding = _audit([*rows, *[("F", 0, weight * scale)] * 500], form, tmp_path)
    assert finding.value == pytest.approx(1 / (1 + weight), abs=1e-5)
    assert finding.status is Status.INCONCLUSIVE
    lost = {part.reason: part.people for part in finding.left_out.reasons}
    assert lost == {LeftOutReason.WEIGHTLESS: 500}
    assert "of almost no weight (g=F)" in finding.headline
    even = _audit([*rows, *[("F", 0, scale)] * 500], form, tmp_path)
    assert even.status is Status.FAIL
    assert even.value == pytest.approx(0.5)


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1.0, 1e5])
def test_weights_of_a_survey_leave_nobody_out(scale: float, tmp_path: Path) -> None:
    """The weights of a survey range over three powers of ten, and may add up to 1."""
    rows = [
        (g, d, scale * weight)
        for g in "MF"
        for d in (0, 1)
        for weight in (0.01, 0.1, 0.5, 1, 2, 10)
        for _ in range(20)
    ]
    finding = _audit(rows, "frame", tmp_path)
    assert finding.status is Status.PASS
    assert finding.value == pytest.approx(1)
    assert finding.left_out is None or not finding.left_out.reasons


@pytest.mark.parametrize("weight", [0.0, 0.01])
def test_the_account_of_rows_names_the_groups_of_few_people_of_almost_no_weight(
    weight: float, tmp_path: Path
) -> None:
    """40 of 540 women and 5 of 1,005 men are too few for the headline of the check."""
    rows = [("M", 1, 1000)] * 500 + [("M", 0, 1000)] * 500 + [("M", 0, weight)] * 5
    rows += [("F", 1, 1000)] * 250 + [("F", 0, 1000)] * 250 + [("F", 0, weight)] * 40
    result = _result(rows, "frame", tmp_path)
    (line,) = result.ledger.set_aside
    assert (line.people, line.column) == (45, "w")
    assert line.reason.endswith("; by g: F (40), M (5)")
    assert result.findings[0].status is Status.PASS
