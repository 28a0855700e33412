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
    assert "Models beside each other" in told


def test_json_and_a_gate_are_of_two_models(three: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run_line(["compare", str(three), "--format", "json"]) == 2
    assert "name two models: --models FIRST SECOND" in capsys.readouterr().out
    assert run_line(["compare", str(three), "--fail-on", "worse"]) == 2
    pair = ["--models", "recidivism", "strict", "--format", "json"]
    capsys.readouterr()
    assert run_line(["compare", str(three), *pair]) == 0
    assert json.loads(capsys.readouterr().out)["checks"] is not None


def test_a_stream_without_signs_marks_the_nearest_too(three: Path) -> None:
    command = [sys.executable, "-m", "fairaudit", "compare", str(three)]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    told = subprocess.run(command, env=plain, capture_output=True, check=True).stdout.decode()
    assert "1.6902 <" in told
    assert "1.6902 ?" not in told
