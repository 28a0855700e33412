"""The recipes of docs/counts.md for schedulers, as they stand there, where the tool is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT

SPEC = """
version: 1
columns:
  protected: [gender, race]
  label: {column: repaid, positive: "yes"}
metrics: [base_rate]
"""


def read_recipe(begins: str) -> str:
    """The block of the page that begins so."""
    page = (ROOT / "docs" / "counts.md").read_text()
    (block,) = re.findall(rf"```\w+\n({re.escape(begins)}.*?)```", page, re.DOTALL)
    assert block.count("\n") <= 20
    return str(block)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the spec, four files of data, and the command on the path."""
    rows = pl.read_csv(ROOT / "sample_data" / "loans.csv", infer_schema=False)
    (tmp_path / "data").mkdir()
    for number in range(4):
        part = rows.slice(number * 5000, 5000)
        part.write_parquet(tmp_path / "data" / f"part{number}.parquet")
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "fairaudit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fairaudit "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run_in(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program in the folder, which finds the command."""
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    variables |= {"PATH": path, "PYTHONPATH": str(ROOT)}
    variables = {**os.environ, **variables}
    return subprocess.run(
        words, check=False, cwd=folder, env=variables, capture_output=True, text=True
    )


def check_report(folder: Path, data: str = "all.counts") -> None:
    """All rows are in the counts."""
    done = run_in(folder, "fairaudit", "run", "spec.yaml", "--data", data, "--full")
    assert done.returncode == 0
    assert "20,000 rows" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_counts_the_files_side_by_side_and_again_what_changed(folder: Path) -> None:
    (folder / "Makefile").write_text(read_recipe("# make -j"))
    done = run_in(folder, "make", "-j", "2")
    assert done.returncode == 0, done.stderr
    assert (folder / "report.html").stat().st_size > 10_000
    check_report(folder)
    before = {path.name: path.stat().st_mtime_ns for path in (folder / "counts").iterdir()}
    assert len(before) == 4
    os.utime(folder / "data" / "part2.parquet")
    assert run_in(folder, "make", "-j", "2").returncode == 0
    after = {path.name: path.stat().st_mtime_ns for path in (folder / "counts").iterdir()}
    assert [name for name in before if before[name] != after[name]] == ["part2.counts"]
    # What fails leaves no report behind that looks new.
    (folder / "data" / "part1.parquet").write_bytes(b"PAR1")
    assert run_in(folder, "make", "-j", "2").returncode == 2
    assert not (folder / "counts" / "part1.counts").exists()


@pytest.mark.skipif(shutil.which("parallel") is None, reason="there is no GNU parallel")
def test_parallel_counts_the_files_side_by_side(folder: Path) -> None:
    done = run_in(folder, "bash", "-ec", read_recipe("# GNU parallel"))
    assert done.returncode == 0, done.stderr
    check_report(folder)


@pytest.mark.long
def test_each_task_of_a_slurm_array_counts_its_file(folder: Path) -> None:
    for number in range(4):
        done = run_in(
            folder, "bash", "-ec", read_recipe("# Slurm"), SLURM_ARRAY_TASK_ID=str(number)
        )
        assert done.returncode == 0, done.stderr
    check_report(folder, "counts/*.counts")


def test_the_tasks_of_airflow_are_python_and_name_commands_that_are_there() -> None:
    recipe = read_recipe("# Airflow")
    compile(recipe, "recipe", "exec")
    done = re.findall(r"fairaudit (\w+)", recipe)
    assert done == ["count", "merge", "run"]
