"""No report of an earlier run stays where a command was to write one; no input is written over."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLES, SPECS

from fairaudit import cli
from fairaudit.pipeline import batch
from fairaudit.report import html

_SPEC = str(SPECS / "titanic.yaml")
_OLD = "the verdict of last week"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a result, and with what is none."""
    folder = tmp_path_factory.mktemp("results")
    assert cli.run_line(["run", _SPEC, "-q", "-o", str(folder / "good.json")]) in {0, 1}
    (folder / "cut.json").write_bytes((folder / "good.json").read_bytes()[:2000])
    return folder


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A report of an earlier run."""
    path = tmp_path / "old.html"
    path.write_text(_OLD, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "command",
    [
        ["render", "cut.json"],
        ["show", "cut.json"],
        ["show", "good.json", "no such check"],
        ["compare", "good.json", "cut.json"],
    ],
    ids=" ".join,
)
def test_a_result_that_cannot_be_read_leaves_no_old_page(
    command: list[str], results: Path, old: Path
) -> None:
    arguments = [str(results / one) if one.endswith(".json") else one for one in command]
    assert cli.run_line([*arguments, "-o", str(old)]) == 2
    text = old.read_text(encoding="utf-8")
    assert _OLD not in text
    assert "ERROR" in text.upper()


@pytest.mark.parametrize(
    "wrong",
    [
        ["--tolerance", "1"],
        ["--fail-on", "bogus"],
        ["--no-such-option"],
        [_SPEC, "--only", "x"],
        [_SPEC, "--baseline", "x.json"],
        [_SPEC, "-o", "x.no_format"],
        [_SPEC, "-o", "no such folder/x.json"],
    ],
    ids=str,
)
def test_a_command_that_asks_for_what_cannot_be_leaves_no_old_page(
    wrong: list[str], old: Path
) -> None:
    assert cli.run_line(["run", _SPEC, *wrong, "-q", "-o", str(old)]) == 2
    assert _OLD not in old.read_text(encoding="utf-8")


def test_a_line_that_cannot_be_read_clears_no_input(results: Path) -> None:
    good = results / "good.json"
    before = good.read_bytes()
    line = ["run", _SPEC, "--baseline", str(good), "-o", str(good), "--no-such-option"]
    assert cli.run_line(line) == 2
    assert good.read_bytes() == before


@pytest.mark.parametrize("panic", [ZeroDivisionError, BaseException])
def test_our_own_crash_leaves_no_old_page(
    panic: type[BaseException], old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashes(*_: object, **__: object) -> Any:
        raise panic

    monkeypatch.setattr(batch, "answer", crashes)
    assert cli.run_line(["run", _SPEC, "-q", "-o", str(old)]) == 2
    assert "internal error in fairaudit" in old.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_drawn_leaves_no_old_one_and_stops_no_other(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashes(answers: Any, **how: bool) -> str:
        if type(answers[0].result).__name__ == "AuditResult":
            raise ZeroDivisionError
        return rendered(answers, **how)

    rendered = html.render
    monkeypatch.setattr(html, "render", crashes)
    other = old.with_name("other.md")
    assert cli.run_line(["run", _SPEC, "-q", "-o", str(old), "-o", str(other)]) == 2
    assert "internal error in fairaudit" in old.read_text(encoding="utf-8")
    assert other.read_text(encoding="utf-8").startswith("## Who survived")


@pytest.mark.skipif(sys.platform != "linux", reason="there is no full device")
def test_a_file_that_cannot_be_written_stops_no_other(old: Path) -> None:
    full = old.with_name("full.html")
    full.symlink_to("/dev/full")
    assert cli.run_line(["run", _SPEC, "-q", "-o", str(full), "-o", str(old)]) == 2
    assert _OLD not in old.read_text(encoding="utf-8")


def test_a_file_mounted_into_its_folder_is_written_as_it_lies_there(
    old: Path, monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    def busy(self: Path, target: Path) -> Path:
        raise OSError(errno.EBUSY, "busy", str(self), None, str(target))

    def mounted(self: Path, **_: bool) -> None:
        if self == old:
            raise OSError(errno.EBUSY, "busy", str(self))
        os.unlink(self)  # noqa: PTH108  # the one of Path is replaced

    monkeypatch.setattr(Path, "replace", busy)
    monkeypatch.setattr(Path, "unlink", mounted)
    node = old.stat().st_ino
    assert cli.run_line(["render", str(results / "good.json"), "-o", str(old)]) == 0
    assert _OLD not in old.read_text(encoding="utf-8")
    assert old.stat().st_ino == node
    assert [one.name for one in old.parent.iterdir()] == [old.name]


def test_a_folder_half_written_has_no_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, results: Path
) -> None:
    folder = tmp_path / "reports"
    good = str(results / "good.json")
    assert cli.run_line(["render", good, "-o", f"{folder}/"]) == 0
    assert (folder / "index.html").exists()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert cli.run_line(["render", good, "-o", f"{folder}/"]) == 2
    assert not (folder / "index.html").exists()
    assert not (folder / "index.json").exists()


def test_one_name_is_no_file_and_folder(tmp_path: Path) -> None:
    both = [str(tmp_path / "x.html"), f"{tmp_path / 'x.html'}/"]
    for first, second in (both, both[::-1]):
        assert cli.run_line(["run", _SPEC, "-q", "-o", first, "-o", second]) == 2
        assert not (tmp_path / "x.html" / "index.html").exists()
        assert not (tmp_path / "x.html").is_file()


def test_a_link_that_leads_to_itself_is_replaced(tmp_path: Path, results: Path) -> None:
    loop = tmp_path / "loop.html"
    loop.symlink_to(loop)
    assert cli.run_line(["render", str(results / "good.json"), "-o", str(loop)]) == 0
    assert "<h1" in loop.read_text(encoding="utf-8")


def test_no_report_is_written_over_the_data(tmp_path: Path) -> None:
    data = tmp_path / "summary.csv"
    shutil.copy(SAMPLES / "titanic.csv", data)
    before = data.read_bytes()
    for output in (str(data), f"{tmp_path}/"):
        assert cli.run_line(["run", _SPEC, "--data", str(data), "-q", "-o", output]) == 2
        assert data.read_bytes() == before


@pytest.mark.parametrize("command", ["render", "show", "compare"])
def test_no_report_is_written_over_the_result_it_is_of(
    command: str, results: Path, tmp_path: Path
) -> None:
    result = tmp_path / "result.json"
    shutil.copy(results / "good.json", result)
    second = [str(results / "good.json")] if command == "compare" else []
    assert cli.run_line([command, str(result), *second, "-o", str(result)]) == 2
    assert json.loads(result.read_text(encoding="utf-8"))["checks"]
