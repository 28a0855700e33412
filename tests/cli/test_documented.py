"""What README and docs/ show of the command is what it prints: every `console` block is run.

A line behind `$ ` is a command (`> ` goes on with it), the lines below it are its output; `…`
stands for anything, within a line or as lines. The blocks of a page run one after the other, in one
folder.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import run
from conftest import ROOT

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n?", re.MULTILINE)
SHOWN = [page for page in PAGES if _BLOCK.search(page.read_text("utf-8"))]


@dataclass(frozen=True)
class Step:
    """A command of a page, and what it is said to print."""

    command: str
    output: str


def steps_of(text: str) -> list[Step]:
    """The commands of a page in their order."""
    found = []
    for block in _BLOCK.findall(text):
        before, *parts = _COMMAND.split(block)
        assert not before.strip(), "a block begins with a command"
        found += [
            Step(command.replace("\n> ", "\n"), output)
            for command, output in zip(parts[::2], parts[1::2], strict=True)
        ]
    return found


def carry_out(command: str, folder: Path, last: int) -> tuple[str, int]:
    """What a command prints on both streams, and its exit code; `last` is what `$?` stands for."""
    if command == "echo $?":
        return f"{last}\n", 0
    if command.startswith("fairaudit "):
        done = run(*shlex.split(command)[1:], folder=folder, COLUMNS="80", NO_COLOR="1")
        return done.stdout + done.stderr, done.returncode
    shell = subprocess.run(
        ["/bin/bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert not shell.returncode, shell.stderr
    return shell.stdout + shell.stderr, 0


def matches(shown: str, printed: str) -> bool:
    """Whether a text is what is shown: `…` alone is any lines, within a line any text."""
    lines = [line.rstrip() for line in shown.rstrip("\n").split("\n")]
    pattern = "\n".join(
        "<LINES>" if line == "…" else ".*".join(map(re.escape, line.split(" …"))) for line in lines
    )
    pattern = pattern.replace("<LINES>\n", "(?:.*\n)*?").replace("\n<LINES>", "(?:\n.*)*")
    pattern = pattern.replace("<LINES>", "(?:.*\n?)*")
    text = "\n".join(line.rstrip() for line in printed.strip("\n").split("\n"))
    return re.fullmatch(pattern, text) is not None


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    for name in ("audit_specs", "sample_data"):
        (tmp_path / name).symlink_to(ROOT / name)
    code = 0
    for step in steps_of(page.read_text("utf-8")):
        printed, code = carry_out(step.command, tmp_path, code)
        assert matches(step.output, printed), f"$ {step.command}\n{printed}"


def test_what_is_shown_is_held_against_what_is_printed() -> None:
    assert matches("a\n…\nc 1 …\n", "a\nb\nb\nc 1 0.5s\n")
    assert matches("", "")
    assert matches("a\n…\n", "a\n")
    assert matches("…\n", "a\nb\n")
    assert not matches("a\n", "a\nb\n")
    assert not matches("a\n…\nc\n", "a\nb\n")
    assert not matches("", "a\n")
    assert not matches("c 2 …\n", "c 1 0.5s\n")
    assert steps_of("```console\n$ a \\\n> b\nout\n$ c\n```\n") == [
        Step("a \\\nb", "out\n"),
        Step("c", ""),
    ]


def test_pages_show_commands() -> None:
    assert len(steps_of((ROOT / "docs" / "tutorial.md").read_text("utf-8"))) > 15
