"""README: short, and what it shows can be run; its pages lie where it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
import yaml
from commands import run
from conftest import ROOT

import fairaudit
from fairaudit.cli.app import app

README = (ROOT / "README.md").read_text("utf-8")
PAGES = ("README.md", "CONTRIBUTING.md", "docs/spec.md", "docs/spec_notes.md", "docs/command.md")


def blocks(language: str) -> list[str]:
    """The blocks of code in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_two_commands_run_the_main_job_and_the_tests() -> None:
    venv = "python3 -m venv .venv && .venv/bin/pip install -q"
    main, tests, _ = blocks("sh")
    assert main == f"{venv} . && .venv/bin/fairaudit run audit_specs/loans.yaml\n"
    assert tests == f"{venv} -e '.[test]' && .venv/bin/python -m pytest -n auto\n"


def test_it_shows_the_first_screen(golden: Callable[[Path, str], None]) -> None:
    screen = (ROOT / "tests" / "reports" / "goldens" / "loans.screen.txt").read_text("utf-8")
    first, more, _ = re.split(r"^( +\d+ more groups)$", screen, maxsplit=1, flags=re.MULTILINE)
    (shown,) = blocks("text")
    golden(ROOT / "README.md", README.replace(shown, f"{first}{more}\n…\n"))


def test_it_shows_a_picture_of_the_page() -> None:
    (file,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    picture = (ROOT / file).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000


def test_its_commands_are_those_that_there_are() -> None:
    listed = {line.split()[1] for line in blocks("sh")[-1].splitlines()}
    assert listed == {*typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    for command in listed:
        assert run(command, "--help").returncode == 0


def test_its_spec_can_be_run() -> None:
    spec = yaml.safe_load(blocks("yaml")[0])
    spec["data"] = str(ROOT / "audit_specs" / spec["data"])
    result = fairaudit.audit(spec)
    assert result.verdict == "fail"


def test_its_python_names_what_there_is() -> None:
    (block,) = blocks("python")
    names = {*re.findall(r"fairaudit\.(\w+)\(", block)}
    assert names
    assert not [name for name in names if not callable(getattr(fairaudit, name, None))]


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    path = ROOT / page
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text("utf-8"))
    files = [link for link in links if "://" not in link]
    assert [link for link in files if not (path.parent / link).exists()] == []
