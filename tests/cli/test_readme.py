"""README: short, and what it shows can be run; its pages lie where it says."""

from __future__ import annotations

import re

from commands import run
from conftest import ROOT

from fairaudit.cli import command_line

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


def test_it_shows_a_picture_of_the_page() -> None:
    (file,) = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    picture = (ROOT / file).read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 300_000


def test_its_commands_are_those_that_there_are() -> None:
    listed = {line.split()[1] for line in blocks("sh")[-1].splitlines()}
    assert listed == {*command_line().commands}
    for command in listed:
        assert run(command, "--help").returncode == 0


MODULE = re.compile(r"`([\w/]+\.(?:py|c|h))`")
FUNCTION = re.compile(r"`([\w.]+)` in `([\w/]+\.py)`")


def test_the_stops_of_an_audit_name_functions_that_exist() -> None:
    """Each function is defined in the file that CONTRIBUTING.md names."""
    heading = "## From the command line to the exit code"
    _, _, stops = (ROOT / "CONTRIBUTING.md").read_text().partition(heading)
    named = FUNCTION.findall(stops.partition("\n## ")[0])
    assert len(named) > 20
    for name, path in named:
        last = name.rpartition(".")[2]
        text = (ROOT / "fairaudit" / path).read_text()
        assert re.search(rf"^ *(def|class) {last}\b", text, re.MULTILINE), (name, path)


def test_a_module_that_a_page_names_exists() -> None:
    """By its path or the end of it."""
    tracked = [path.as_posix() for path in ROOT.rglob("*") if path.suffix in {".py", ".c", ".h"}]
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "tests/README.md", *(ROOT / "docs").rglob("*.md")]
    named = [(page, name) for page in pages for name in MODULE.findall(page.read_text())]
    assert len(named) > 100
    lost = [pair for pair in named if not any(path.endswith(f"/{pair[1]}") for path in tracked)]
    assert not lost
