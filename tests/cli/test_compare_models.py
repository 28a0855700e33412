"""`fairaudit compare` of one result: all of its models in a grid, or two of them tested."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SPECS

from fairaudit.cli import run_line

SPEC = (SPECS / "compas_scores.yaml").read_text(encoding="utf-8")


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """The stored result of three models."""
    model = (
        "    strict: {prediction: {column: decile, positive: {at_least: 8}, favourable: false}}\n"
    )
    text = SPEC.replace("  count: n", f"{model}  count: n").replace("../", f"{SPECS.parent}/")
    (tmp_path / "spec.yaml").write_text(text, encoding="utf-8")
    assert run_line(["run", str(tmp_path / "spec.yaml"), "-q", "-o", str(tmp_path / "r.json")]) == 1
    return tmp_path / "r.json"


def test_several_models_are_a_grid(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run_line(["compare", str(three), "-o", str(three.with_suffix(".md"))]) == 0
    told = capsys.readouterr().out
    (header,) = (line for line in told.splitlines() if line.startswith("measure"))
    assert header.split() == ["measure", "recidivism", "violence", "strict"]
    assert "DI ratio to reference" in told
    assert "| measure |" in three.with_suffix(".md").read_text(encoding="utf-8")


def test_two_of_them_are_tested_beside_the_grid(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run_line(["compare", str(three), "--models", "recidivism", "strict"]) == 0
    told = capsys.readouterr().out
    assert "McNemar" in told
    assert "Comparison of the models" in told


@pytest.mark.long
def test_json_and_a_gate_are_of_two_models(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run_line(["compare", str(three), "--format", "json"]) == 2
    assert "name two models: --models FIRST SECOND" in capsys.readouterr().out
    assert run_line(["compare", str(three), "--fail-on", "worse"]) == 2
    pair = ["--models", "recidivism", "strict", "--format", "json"]
    capsys.readouterr()
    assert run_line(["compare", str(three), *pair]) == 0
    assert json.loads(capsys.readouterr().out)["checks"] is not None


@pytest.mark.long
def test_a_stream_without_signs_marks_the_nearest_too(three: Path) -> None:
    command = [sys.executable, "-m", "fairaudit", "compare", str(three)]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    told = subprocess.run(command, env=plain, capture_output=True, check=True).stdout.decode()
    assert "1.6902 <" in told
    assert "1.6902 ?" not in told


def test_reports_of_one_file_have_intervals_that_hold_however_the_models_depend(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No report holds whom both models select: the ends of both intervals are subtracted."""
    spec = {
        "data": "rows.csv",
        "columns": {"protected": ["sex"], "prediction": {"positive": "1"}, "count": "n"},
        "metrics": [{"metric": "selection_rate", "by": "sex", "fail": {"below": 0.1}}],
    }
    lines = ["sex,old,new,n", "F,1,1,40", "F,1,0,20", "F,0,0,40", "M,1,1,60", "M,0,0,40"]
    (tmp_path / "rows.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
    for model in ("old", "new"):
        spec["columns"]["prediction"]["column"] = model  # type: ignore[index]
        (tmp_path / f"{model}.yaml").write_text(json.dumps(spec), encoding="utf-8")
        report = ["-q", "-o", str(tmp_path / f"{model}.json")]
        assert run_line(["run", str(tmp_path / f"{model}.yaml"), *report]) == 0
    capsys.readouterr()
    arguments = ["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]
    assert run_line([*arguments, "--fail-on", "worse"]) == 1
    told = " ".join(capsys.readouterr().out.split())
    # Wilson of 60 and of 40 in 100, each of two groups.
    low, high = 30.94 - 69.06, 49.80 - 50.20
    assert f"F 60.0 % 40.0 % -20.0 [{low:.1f}, {high:.1f}]" in told
    assert "unpaired, conservative, worse" in told
    assert "intervals of rows without a p are unpaired, conservative" in told
    assert "a report does not record whose outcome" in told
