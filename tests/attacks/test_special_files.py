"""Pipes, devices, loops and names that are none: told at once, never waited for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from servers import HANGS

import fairaudit
from fairaudit.base.errors import FairauditError

if sys.platform == "win32":
    pytest.skip("there are no such files", allow_module_level=True)

SPEC: dict[str, Any] = {
    "columns": {"protected": ["race"], "decision": {"column": "y", "positive": 1}},
    "metrics": ["selection_rate"],
}
TEXT = (
    "columns: {protected: [race], decision: {column: y, positive: 1}}\n"
    "metrics: [{metric: demographic_parity_ratio, fail: {below: 0.1}}]\n"
)
ROWS = "race,y\n" + "a,1\nb,0\n" * 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data.csv").write_text(ROWS)
    (tmp_path / "spec.yaml").write_text(TEXT)
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe.parquet")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    return tmp_path


def told(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and stderr of a command that has a few seconds."""
    command = [sys.executable, "-m", "fairaudit", "run", *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", ["pipe.csv", "pipe.parquet", "zero.csv"])
def test_data_is_a_regular_file(folder: Path, name: str) -> None:
    with pytest.raises(FairauditError, match=f"{name}: not a regular file"):
        fairaudit.audit(SPEC, folder / name)


def test_a_pipe_in_a_folder_is_the_error_of_that_file(folder: Path) -> None:
    found = fairaudit.audit_each(SPEC, folder / "*.csv")
    kinds = {Path(name).name: isinstance(one, FairauditError) for name, one in found.items()}
    assert kinds == {"data.csv": False, "pipe.csv": True, "loop.csv": True, "zero.csv": True}


def test_a_link_to_itself_is_told(folder: Path) -> None:
    with pytest.raises(FairauditError, match=r"loop\.csv: Too many levels of symbolic links"):
        fairaudit.audit(SPEC, folder / "loop.csv")


@pytest.mark.long
@pytest.mark.parametrize("name", ["pipe.yaml", "/dev/zero", "/dev/stdin"])
def test_waivers_are_a_regular_file(folder: Path, name: str) -> None:
    (folder / "spec.yaml").write_text(f"{TEXT}data: data.csv\nwaivers: {name}\n")
    code, words = told(folder, "spec.yaml")
    assert code == 2
    assert "spec.yaml:4:10: waivers: the file " in words
    assert "cannot be read: not a regular file" in words


@pytest.mark.long
@pytest.mark.parametrize("name", ["pipe.yaml", "/dev/zero"])
def test_a_spec_and_a_baseline_are_regular_files(folder: Path, name: str) -> None:
    code, words = told(folder, name)
    assert (code, "not a regular file" in words) == (2, True)
    code, words = told(folder, "spec.yaml", "--data", "data.csv", "--baseline", name)
    assert (code, "not a regular file" in words) == (2, True)


@pytest.mark.long
@pytest.mark.parametrize("name", ["a\0b.csv", "\ud800.csv", "x/\0"])
def test_what_is_no_path_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(FairauditError, match=r"half of a (character|surrogate pair)"):
        fairaudit.audit({**SPEC, "data": name})
    with pytest.raises(
        FairauditError, match="not a path: it contains a NUL character, or half of a character"
    ):
        fairaudit.audit(SPEC, name)
    text = name.encode("unicode_escape").decode().replace("\\x00", "\\0")
    (tmp_path / "spec.yaml").write_text(f'{TEXT}data: ["x.csv", "{text}"]\n')
    code, words = told(tmp_path, "spec.yaml")
    assert code == 2
    assert "spec.yaml:3:17: data[1]: this" in words
    assert re.search("half of a (character|surrogate pair)", words)
