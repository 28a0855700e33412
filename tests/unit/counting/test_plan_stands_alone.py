"""A plan, and all of counting, is loaded without the packages above it; a gate without Polars."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

ABOVE = (
    *("rows", "metrics", "evidence", "judge", "result", "codec", "spec", "pipeline"),
    *("tools", "report", "api", "cli"),
)


def loaded_by(module: str) -> set[str]:
    """The modules that a new process has once it has imported one."""
    code = f"import {module}, sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {*done.stdout.split()}


@pytest.mark.parametrize("module", ["fairaudit.counting.plan", "fairaudit.counting.polars_engine"])
def test_counting_loads_nothing_that_stands_above_it(module: str) -> None:
    loaded = loaded_by(module)
    assert module in loaded
    assert not loaded & {"yaml", "rich", "typer", *(f"fairaudit.{package}" for package in ABOVE)}


def test_a_plan_loads_a_dozen_modules_at_most() -> None:
    own = {name for name in loaded_by("fairaudit.counting.plan") if name.startswith("fairaudit.")}
    assert len(own) <= 12, own


@pytest.mark.long
@pytest.mark.parametrize(("repeated", "needs_polars"), [(0, False), (1, True)])
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_without_repeated_ids_is_audited_without_polars(
    tmp_path: Path, suffix: str, repeated: int, needs_polars: bool
) -> None:
    rows = [("ab"[n % 2], n % 3 % 2, f"c{n}") for n in range(60)]
    rows += rows[:repeated]
    columns = zip(("g", "d", "candidate_id"), map(list, zip(*rows, strict=True)), strict=True)
    table, path = pa.table(dict(columns)), tmp_path / f"people.{suffix}"
    if suffix == "csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.parquet.write_table(table, path, row_group_size=7)
    (tmp_path / "spec.yaml").write_text(
        f"version: 1\ndata: people.{suffix}\ncolumns: {{protected: [g], decision: "
        "{column: d, positive: 1, negative: 0}}\nmetrics: [selection_rate]\n"
    )
    code = (
        "import sys; from fairaudit.cli import main; main(['run', 'spec.yaml']); "
        "print('polars' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[-1] == str(needs_polars)
    assert ("1 of 61 rows repeats" in "".join(done.stdout.split("\n"))) == bool(repeated)
