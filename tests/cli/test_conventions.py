"""docs/conventions.md: each row of it is true, and what it names is there."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from commands import run
from conftest import ROOT
from test_cli import GOOD, spec_file

from fairaudit import cli
from fairaudit.base import __version__

PAGE = (ROOT / "docs" / "conventions.md").read_text("utf-8")
ROWS = [
    [cell.strip() for cell in line.replace("\\|", "/").split("|")[1:-1]]
    for line in PAGE.splitlines()
    if re.match(r"\| \d+ \|", line)
]
WITH_EXAMPLES = ("run", "check", "init", "compare")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with all that examples name."""
    spec = spec_file(tmp_path, *GOOD)
    (tmp_path / "exports").mkdir()
    for month in ("may.csv", "june.csv"):
        (tmp_path / "exports" / month).write_bytes((tmp_path / "data.csv").read_bytes())
    for report in ("main.json", "branch.json"):
        assert run("run", spec, "-o", tmp_path / report).returncode == 0
    return tmp_path


def test_the_page_has_45_rows_and_what_holds_them_is_there() -> None:
    assert [int(row[0]) for row in ROWS] == [*range(1, 46)]
    assert {row[3] for row in ROWS} == {"yes", "partly", "no"}
    for path in re.findall(r"\b(?:tests|docs|audit_specs|benchmarks)/[\w./-]+\w", PAGE):
        assert (ROOT / path).exists(), path
    for row in ROWS:
        is_held = bool(re.search(r"`tests/|docs/|`fairaudit |\.yaml", row[4]))
        assert is_held or row[3] != "yes" or len(row[4]) > 20, row


def test_without_a_word_there_is_the_help_and_no_complaint() -> None:
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: fairaudit ")
    assert done.stderr == run("--help").stdout
    assert "hint" not in done.stderr


@pytest.mark.parametrize("option", ["--version", "-V"])
def test_the_version_has_a_letter(option: str) -> None:
    assert run(option).stdout == f"fairaudit {__version__}\n"


@pytest.mark.parametrize("command", WITH_EXAMPLES)
def test_the_examples_of_the_help_run(command: str, folder: Path) -> None:
    told = run(command, "--help").stdout.partition("Examples:\n")[2]
    examples = [line.strip() for line in told.splitlines() if line.strip()]
    assert len(examples) > 1
    for example in examples:
        name, *words = shlex.split(example)
        assert (name, words[0]) == ("fairaudit", command)
        done = run(*words, folder=folder)
        assert done.returncode == 0, f"{example}\n{done.stderr}"


def test_flags_stand_anywhere_and_two_dashes_end_them(folder: Path) -> None:
    (folder / "-odd.yaml").write_bytes((folder / "spec.yaml").read_bytes())
    assert run("run", "--format", "json", "spec.yaml", "-q", folder=folder).returncode == 0
    assert run("run", "spec.yaml", "--format", "json", "-q", folder=folder).returncode == 0
    assert run("run", "-q", "--", "-odd.yaml", folder=folder).returncode == 0
    assert run("run", "-q", "-odd.yaml", folder=folder).returncode == 2


def test_a_dash_is_no_output_and_the_message_says_what_is(folder: Path) -> None:
    done = run("run", "spec.yaml", "-o", "-", folder=folder)
    assert done.returncode == 2
    assert "-o does not accept -" in done.stderr
    assert "hint: use --format to print to stdout" in done.stderr


@pytest.mark.long
def test_init_never_asks_at_a_terminal() -> None:
    leader, follower = pty.openpty()
    os.write(leader, b"gender\n-\n-\n-\n-\n")
    command = [sys.executable, "-m", "fairaudit", "init", "sample_data/loans.csv"]
    done = subprocess.run(
        command, cwd=ROOT, stdin=follower, stdout=subprocess.PIPE, stderr=follower, check=False
    )
    os.close(follower)
    text = os.read(leader, 65536).decode()
    os.close(leader)
    assert (done.returncode, done.stdout) == (2, b"")
    assert "name the protected columns, for example --protected sex,race" in text
    assert "protected columns, by name or number" not in text
    assert "No such option" in run("init", "sample_data/loans.csv", "--no-input").stderr


@pytest.mark.parametrize(("term", "has_colours"), [("dumb", False), ("xterm-256color", True)])
def test_a_dumb_terminal_gets_no_colours(
    term: str, has_colours: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    leader, follower = pty.openpty()
    with open(follower, "w", encoding="utf-8") as stream:  # noqa: PTH123  # a descriptor has no path
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.run_line(["run", str(folder / "spec.yaml")]) == 0
        stream.flush()
        text = os.read(leader, 65536).decode(errors="replace")
    os.close(leader)
    assert "PASS" in text
    assert ("\x1b[" in text) is has_colours
