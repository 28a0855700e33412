"""The commands that read a stored result: what they write is what the run wrote."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest
from conftest import SAMPLES, SPECS, long

from fairaudit import cli, codec, report
from fairaudit.pipeline import batch
from fairaudit.report import check_page
from fairaudit.report import json as report_json
from fairaudit.result import Answer, AuditResult

_SPEC = str(SPECS / "loans.yaml")


INDEX = """{"tool": {"name": "fairaudit", "version": "1"}, "schema_version": "3.0", "audits": []}"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Answer], Path]:
    """The answer of a run, and the file it is stored in."""
    found = batch.answer([Path(_SPEC)], None)
    path = tmp_path_factory.mktemp("stored") / "loans.json"
    path.write_text(report_json.written(report_json.of_answers(found)), encoding="utf-8")
    return found, path


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Answer], Path]:
    """The answers of a folder, one of them an error, and the file they are stored in."""
    folder = tmp_path_factory.mktemp("several")
    (folder / "exports").mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(SAMPLES / "titanic.csv", folder / "exports" / name)
    (folder / "exports" / "broken.csv").write_text("class,sex\n1,2,3\n", encoding="utf-8")
    found = batch.answer([SPECS / "titanic.yaml"], str(folder / "exports"))
    path = folder / "answers.json"
    path.write_text(report_json.written(report_json.of_answers(found)), encoding="utf-8")
    return found, path


def command(*arguments: str) -> int:
    return cli.run_line([*arguments])


@pytest.mark.long
@pytest.mark.parametrize("one", report.FORMATS, ids=[one.name for one in report.FORMATS])
@pytest.mark.parametrize("which", [long("stored"), "several"])
def test_every_format_is_rendered_as_its_run_wrote_it(
    one: report.Format, which: str, tmp_path: Path, request: pytest.FixtureRequest,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:  # fmt: skip
    found, path = request.getfixturevalue(which)
    expected = one.render(found, all_rows=bool(found))
    wanted = expected.encode() if isinstance(expected, str) else expected
    if one.suffixes:
        target = tmp_path / f"report{one.suffixes[0]}"
        assert command("render", str(path), "-o", str(target)) == 0
        assert target.read_bytes() == wanted
        assert capfdbinary.readouterr().out == b"", "what is written is not printed, too"
    if isinstance(expected, str):
        assert command("render", str(path), "--format", one.name, "-v") == 0


def test_a_failed_audit_is_rendered_with_exit_code_0(
    stored: tuple[list[Answer], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found, path = stored
    assert found[0].exit_code == 1
    assert command("render", str(path)) == 0
    assert "FAIL  Loan approvals" in capsys.readouterr().out


def test_no_step_summary_is_written(
    stored: tuple[list[Answer], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    assert command("render", str(stored[1]), "-o", str(tmp_path / "a.md")) == 0
    assert command("render", str(tmp_path / "none.json")) == 2
    assert not summary.exists()


def test_a_result_comes_from_stdin(
    stored: tuple[list[Answer], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (("render", "-"), ("show", "-", "impact")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stored[1].read_bytes())))
        assert command(*arguments) == 0
        assert "impact_ratio" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("[1]", "this is not a fairaudit result"),
        ('{"a": 1}', "this is not a fairaudit result"),
        ('{"tool": {"name": "fairaudit", "version": "9"}, "schema_version": "9.0"}', "9.0"),
        (INDEX, "this is the index of a batch"),
    ],
)
@pytest.mark.parametrize("name", ["render", "show"])
def test_what_is_no_result_is_refused(
    name: str, text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    assert command(name, str(path)) == 2
    found = capsys.readouterr()
    assert told in found.err
    assert not found.out
    assert command(name, str(tmp_path / "none.json")) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_without_a_check_all_are_listed(
    stored: tuple[list[Answer], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("show", str(stored[1])) == 0
    out = capsys.readouterr().out
    assert out.index("1 FAIL") < out.index("2 WARN") < out.index("10 PASS")


@pytest.mark.long
def test_a_check_is_shown_in_every_format_of_prose_and_in_json(
    stored: tuple[list[Answer], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    working = "(497/1,337) / (1,115/1,847) = 0.615768"
    for one in report.FORMATS:
        if one.page is None and one.name != "json":
            assert command("show", str(stored[1]), "1", "--format", one.name) == 2
            assert "does not show a single check" in capsys.readouterr().err
            continue
        assert command("show", str(stored[1]), "1", "--format", one.name) == 0
        assert working in capsys.readouterr().out
        target = tmp_path / f"check{one.suffixes[0]}"
        assert command("show", str(stored[1]), "1", "-o", str(target)) == 0
        assert working in target.read_text("utf-8")
    row = json.loads((tmp_path / "check.json").read_text("utf-8"))
    (same,) = [one for one in report_json.document(stored[0][0].result)["checks"]  # type: ignore[arg-type]  # a result
               if one["id"] == row["id"]]  # fmt: skip
    assert {name: row[name] for name in same} == json.loads(json.dumps(same))
    assert row["working"][-1].endswith(working)


def test_what_is_shown_is_the_same_after_storing(stored: tuple[list[Answer], Path]) -> None:
    """Whatever a page tells stands in the JSON report."""
    result = stored[0][0].result
    (read,) = codec.read_answers(codec.parse(stored[1].read_bytes()))
    assert isinstance(result, AuditResult)
    assert isinstance(read.result, AuditResult)
    assert check_page.listing(read.result) == check_page.listing(result)
    for one in result.findings:
        again = check_page.find(read.result, one.check.id)
        assert check_page.document(read.result, again) == check_page.document(result, one)


def test_of_several_results_one_is_named(
    several: tuple[list[Answer], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    _, path = several
    assert command("show", str(path)) == 2
    told = capsys.readouterr().err
    assert "holds 3 results: select one with --data" in told
    assert "a.csv" in told
    assert command("show", str(path), "1", "--data", "b") == 0
    capsys.readouterr()
    assert command("show", str(path), "1", "--data", "b.csv") == 0
    assert "|ln((154/168) / (0/13))| = ∞" in capsys.readouterr().out
    assert command("show", str(path), "--data", "c.csv") == 2
    assert "no result for 'c.csv'" in capsys.readouterr().err
    assert command("show", str(path), "--data", "titanic.yaml") == 2
    assert "3 results match 'titanic.yaml'" in capsys.readouterr().err
    assert command("show", str(path), "--data", "broken.csv") == 2
    assert "no column 'age'" in capsys.readouterr().err
