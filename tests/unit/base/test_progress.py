"""Progress of long passes: told to whoever asks, drawn on a terminal alone."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.processes import Progress
from fairaudit.cli.auditing import Bar
from fairaudit.counting import load_kernel

SPEC: dict[str, Any] = {
    "columns": {"protected": ["race"], "decision": {"column": "y", "positive": 1}},
    "metrics": ["selection_rate"],
}


class Kept(Progress):
    """Remembers what it is told."""

    silent = False

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None, str]] = []
        self.done: dict[str, int] = {}

    def start(self, stage: str, total: int | None, unit: str) -> None:
        self.stages.append((stage.split(maxsplit=1)[0], total, unit))
        self.done[unit] = 0

    def advance(self, done: int, unit: str) -> None:
        self.done[unit] += done


def write(path: Path, *, quoted: bool = False, rows: int = 10_000) -> Path:
    """So many rows in a file of the kind that its name says."""
    frame = pl.DataFrame({"race": ["a", "b"] * (rows // 2), "y": [0, 1] * (rows // 2)})
    if path.suffix == ".parquet":
        frame.write_parquet(path, row_group_size=1_000)
    else:
        frame.write_csv(path, quote_style="always" if quoted else "necessary")
    return path


@pytest.mark.parametrize("is_native", [False, True])
@pytest.mark.parametrize("quoted", [False, True])
def test_checking_and_counting_are_told_to_their_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quoted: bool, is_native: bool
) -> None:
    """The kernel checks and counts in one reading of the bytes."""
    if is_native and load_kernel() is None:
        pytest.skip("the native kernel was not built here")
    if not is_native:
        monkeypatch.setenv("FAIRAUDIT_ROUTE", "lazy")
    path = write(tmp_path / "data.csv", quoted=quoted)
    kept = Kept()
    fairaudit.audit(SPEC, path, progress=kept)
    stage = "counting" if is_native else "checking"
    assert kept.stages[0] == (stage, path.stat().st_size, "bytes")
    assert kept.stages[-1] == ("counting", 10_000, "rows")
    header = len(path.read_bytes().splitlines(keepends=True)[0])
    assert kept.done == {"bytes": path.stat().st_size - header, "rows": 10_000}


@pytest.mark.parametrize("filtered", [{}, {"filter": "y >= 0"}])
def test_both_routes_tell_every_row_of_parquet(tmp_path: Path, filtered: dict[str, str]) -> None:
    kept = Kept()
    fairaudit.audit({**SPEC, **filtered}, write(tmp_path / "data.parquet"), progress=kept)
    assert kept.stages == [("counting", 10_000, "rows")]
    assert kept.done == {"rows": 10_000}


def test_a_bar_says_how_far_how_fast_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    stream = io.StringIO()
    with Bar(stream) as bar:
        bar.advance(1, "rows")
        bar.start("counting", 4_000_000, "rows")
        for _ in range(3):
            bar.advance(1_000_000, "rows")
    drawn = stream.getvalue()
    assert "counting" in drawn
    assert "75%" in drawn
    assert "rows/s" in drawn


@pytest.mark.long
def test_the_command_draws_on_a_terminal_alone(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "columns: {protected: [race], decision: {column: y, positive: 1}}\n"
        "metrics: [selection_rate]\n"
    )
    data = write(tmp_path / "data.csv")
    command = [sys.executable, "-m", "fairaudit", "run", str(spec), "--data", str(data)]
    plain = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "counting" not in plain.stderr
    assert "\x1b" not in plain.stderr
    ours, theirs = pty.openpty()
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
        check=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(theirs)
    drawn = os.read(ours, 1_000_000).decode()
    os.close(ours)
    assert "counting" in drawn or "checking" in drawn
    assert "NO LIMITS  no limits are set" in drawn.rstrip().splitlines()[-1]
    assert done.stdout == plain.stdout
