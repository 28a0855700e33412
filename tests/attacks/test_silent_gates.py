"""A gate says what it did not judge: checks left out, changed specs, models, unknown groups."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run

import fairaudit

_BELOW = {"fail": {"below": 0.8}}
_RATIO: dict[str, Any] = {"metric": "demographic_parity_ratio", **_BELOW}


def _rows(header: str, *lines: str) -> pl.DataFrame:
    """Rows written as `60×m,1`: so many equal lines."""
    rows: list[list[str]] = []
    for line in lines:
        count, values = line.split("×")
        rows += [values.split(",")] * int(count)
    return pl.DataFrame(rows, header.split(","), orient="row")


@pytest.fixture
def two_checks(tmp_path: Path) -> Path:
    """A spec with a check that fails, by sex, and one that passes, by race."""
    lines = ["60×m,W,1", "40×m,W,0", "20×f,W,1", "80×f,W,0"]
    lines += ["40×m,B,1", "60×m,B,0", "30×f,B,1", "70×f,B,0"]
    _rows("sex,race,hired", *lines).write_csv(tmp_path / "a.csv")
    spec = tmp_path / "a.yaml"
    spec.write_text(
        "version: 1\ndata: a.csv\ncolumns: {protected: {sex: {}, race: {}}, "
        "decision: {column: hired, positive: 1}}\n"
        "metrics: [{metric: impact_ratio, by: [sex, race], fail: {below: 0.8}}]\n"
    )
    return spec


_RACE = ("--only", "impact_ratio/race")
_LEFT = "impact_ratio/sex/decision"


def test_only_says_in_every_format_which_checks_were_not_run(two_checks: Path) -> None:
    result = run("run", two_checks, *_RACE)
    assert result.returncode == 0
    assert "1 of 2 checks (--only): 1 passed" in result.stdout
    assert "1 of 2 checks (--only): 1 passed" in result.stderr
    assert "--only impact_ratio/race --full" in " ".join(result.stdout.split())
    assert "1 of 3 combinations" in result.stdout  # the limit on sex is in the spec
    assert "covers sex;" not in run("run", two_checks, *_RACE, "--full").stdout
    for name in ("terminal", "markdown", "html", "json", "sarif", "junit"):
        assert _LEFT in run("run", two_checks, *_RACE, "--format", name).stdout, name
    tree = json.loads(run("run", two_checks, *_RACE, "--format", "json").stdout)
    assert tree["options"]["not_run"] == [_LEFT]
    assert tree["options"]["only"] == ["impact_ratio/race"]
    assert fairaudit.load(tree).provenance.not_run == (_LEFT,)
    xml = run("run", two_checks, *_RACE, "--format", "junit").stdout
    assert 'tests="2" failures="0" errors="0" skipped="1"' in xml


@pytest.mark.parametrize("only", [(), ("--only", "impact_ratio/*")])
def test_a_run_of_all_checks_speaks_of_no_option(two_checks: Path, only: tuple[str, ...]) -> None:
    result = run("run", two_checks, *only)
    assert "2 checks: 1 failed, 1 passed" in result.stdout
    assert "(--only)" not in result.stdout + result.stderr
    tree = json.loads(run("run", two_checks, *only, "--format", "json").stdout)
    assert "not_run" not in tree["options"]
