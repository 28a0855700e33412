"""The summary of a step: the report is appended, never more than is shown, whatever the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import SPECS
from report_cases import kind, many

from fairaudit import cli
from fairaudit.base.errors import DataError
from fairaudit.cli.output import append_summary
from fairaudit.report import markdown
from fairaudit.result import Answer

FAILED = str(SPECS / "titanic.yaml")
PASSED = str(SPECS / "fairlearn_page.yaml")


@pytest.fixture
def summary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    return path


def test_a_run_appends_its_report_behind_what_is_there(
    summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary.write_text("before, without an end")
    assert cli.run_line(["run", FAILED, "-qq"]) == 1
    assert cli.run_line(["run", PASSED, "-qq"]) == 0
    text = summary.read_text("utf-8")
    assert text.startswith("before, without an end\n\n## Who survived the Titanic\n")
    assert text.count("\n## ") == 2
    assert text.index("**✗ FAIL**") < text.index("fairlearn_page.yaml")
    assert capsys.readouterr().out == ""


def test_several_answers_are_told_the_worst_first(summary: Path) -> None:
    assert cli.run_line(["run", PASSED, FAILED, "-qq"]) == 1
    rows = [line for line in summary.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert "titanic.yaml | **FAIL**" in rows[2].replace("\\", "")
    assert "fairlearn_page.yaml" in rows[3].replace("\\", "")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.yaml"], "## Audit: nowhere.yaml\n\n- **✗ error** the spec nowhere.yaml"),
        (["nowhere.yaml", "--format", "yaml"], "- **✗ error** no format 'yaml'"),
        (["--no-such-option"], "## Audit: fairaudit run\n\n- **✗ error** "),
    ],
)
def test_an_error_is_told_once(summary: Path, arguments: list[str], told: str) -> None:
    assert cli.run_line(["run", *arguments]) == 2
    text = summary.read_text("utf-8")
    assert told in text
    assert text.count("## Audit") == text.count("**✗ error**") == 1


def test_other_commands_write_no_summary(summary: Path) -> None:
    assert cli.run_line(["explain", "nothing of that name"]) == 2
    assert not summary.exists()


def test_where_no_step_is_running_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "")
    append_summary([Answer("a.yaml", None, kind("failed"))])
    assert list(tmp_path.iterdir()) == []


def test_a_summary_that_cannot_be_written_is_told_and_changes_no_verdict(
    summary: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, why in ((summary / "no" / "folder", "No such file"), (summary.parent, "not a file")):
        monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
        assert cli.run_line(["run", PASSED, "-qq"]) == 0
        err = capsys.readouterr().err
        assert f"the summary of the step was not written: {path}: " in err
        assert why in err
        assert err.splitlines()[-1].startswith("NO LIMITS  ")


@pytest.mark.parametrize("option", ["--data", "--baseline", "--draws"])
def test_a_file_that_the_run_reads_is_no_place_for_a_summary(
    option: str, summary: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever comes of the run: what it reads stays as it is."""
    summary.write_text("sex,d\nf,1\n")
    cli.run_line(["run", PASSED, option, str(summary), "-qq"])
    assert summary.read_text() == "sex,d\nf,1\n"
    assert "the run reads or writes this file, too" in capsys.readouterr().err


@pytest.mark.long
def test_with_what_is_there_a_summary_stays_below_what_is_shown(summary: Path) -> None:
    answers = [Answer(f"{at}.yaml", None, many(900)) for at in range(3)]
    summary.write_text("x" * 600_000)
    append_summary(answers)
    size = summary.stat().st_size
    assert 850_000 < size <= 900_000
    assert "Left out, as this page has room for 299,998 bytes" in summary.read_text("utf-8")


def test_a_full_summary_is_left_as_it_is(summary: Path, capsys: pytest.CaptureFixture[str]) -> None:
    summary.write_text("x" * 899_000)
    append_summary([Answer("a.yaml", None, kind("failed"))])
    assert summary.stat().st_size == 899_000
    assert "it already has 899,000 bytes" in capsys.readouterr().err


def test_the_least_room_holds_any_error(summary: Path) -> None:
    summary.write_text("x" * (900_000 - 2 - markdown.LEAST))
    error = DataError("|" * 10_000, "&" * 10_000)
    append_summary([Answer("*" * 10_000, None, error), Answer("b", None, error)])
    assert 892_000 < summary.stat().st_size <= 900_000
    assert "ERROR" in summary.read_text("utf-8")
