"""A plan, and all of counting, is loaded without the packages above it."""

from __future__ import annotations

import subprocess
import sys

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
