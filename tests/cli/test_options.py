"""Options of the command line: stdin, colours, defaults of the environment, names of checks."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import sys
from pathlib import Path
from subprocess import CompletedProcess

import polars as pl
import pytest
from commands import run, start
from test_cli import BAD, GOOD, WARNED, spec_file

from fairaudit import cli
from fairaudit.base import inputs
from fairaudit.base.errors import UsageError
from fairaudit.cli.streams import Color, is_colored
from fairaudit.judge.checks import match_ids

COMMANDS = ("run", "show", "render", "compare", "explain", "metrics", "schema")
IDS = ("impact_ratio/race/decision", "impact_ratio/gender/decision", "auc/race/decision", "odd[1]")


def piped(
    monkeypatch: pytest.MonkeyPatch, content: bytes, *line: str | Path
) -> CompletedProcess[str]:
    """What comes of a command line whose stdin brings these bytes."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    return run(*line)


def data_of(spec: Path) -> bytes:
    return (spec.parent / "data.csv").read_bytes()


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_h_is_help_everywhere(command: str) -> None:
    short, long = (run(*filter(None, (command, option))) for option in ("-h", "--help"))
    assert (short.returncode, short.stdout) == (0, long.stdout)
    assert "-h, --help" in short.stdout


def test_a_spec_of_this_folder_is_found(tmp_path: Path) -> None:
    missing = run("run", folder=tmp_path)
    assert missing.returncode == 2
    assert "no spec is named, and the current folder has no fairaudit.yaml" in missing.stderr
    for name, rows, code in (("fairaudit.yml", GOOD, 0), ("fairaudit.yaml", BAD, 1)):
        (tmp_path / "fairaudit.yml").unlink(missing_ok=True)
        spec_file(tmp_path, *rows).rename(tmp_path / name)
        done = run("run", folder=tmp_path)
        assert done.returncode == code
        assert f"spec={name}" in done.stderr
    broken = tmp_path / "fairaudit.yaml"
    broken.write_text("metrix: 1")
    assert run("run", folder=tmp_path).stderr.splitlines()[-1].endswith("spec=fairaudit.yaml")


def test_exit_zero_is_fail_on_never(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *BAD)
    texts = [run("run", spec, *option).stdout for option in (["--exit-zero"], ["--fail-on=never"])]
    assert texts[0] == texts[1]
    assert run("run", spec, "--exit-zero").returncode == 0
    assert run("run", spec_file(tmp_path, *GOOD, group="grup"), "--exit-zero").returncode == 2


def test_the_spec_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = spec_file(tmp_path, *BAD)
    content = spec.read_text().replace("data.csv", str(tmp_path / "data.csv")).encode()
    done = piped(monkeypatch, content, "run", "-", "--format", "json")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].split("  ")[2].startswith("spec=- ")
    assert json.loads(done.stdout)["checks"][0]["place"]["file"] == "-"
    fault = piped(monkeypatch, content.replace(b"metrics", b"metrix"), "run", "-")
    assert fault.returncode == 2
    assert "-:6:1: metrix: unknown key" in fault.stderr


@pytest.mark.parametrize("kind", ["csv", "gzip", "parquet"])
def test_the_data_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    spec = spec_file(tmp_path, *BAD)
    content = data_of(spec)
    if kind == "gzip":
        content = gzip.compress(content)
    elif kind == "parquet":
        buffer = io.BytesIO()
        pl.read_csv(content).write_parquet(buffer)
        content = buffer.getvalue()
    (tmp_path / "r.json").write_text("of an earlier run")
    done = piped(monkeypatch, content, "run", spec, "--data", "-", "-o", tmp_path / "r.json")
    assert done.returncode == 1, done.stderr
    result = json.loads((tmp_path / "r.json").read_text())
    (file,) = result["provenance"]["files"]
    assert (file["path"], file["modified"], file["bytes"]) == ("-", None, len(content))
    assert result["checks"][0]["value"] == pytest.approx(0.6)
    assert "fairaudit-" not in done.stdout + (tmp_path / "r.json").read_text()


def test_nothing_of_stdin_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spools = tmp_path / "spools"
    spools.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spools))
    seen: list[list[Path]] = []
    forget = inputs.forget_stdin

    def noted() -> None:
        seen.append([*spools.rglob("stdin*")])
        forget()

    monkeypatch.setattr(inputs, "forget_stdin", noted)
    for content in (data_of(spec_file(tmp_path, *GOOD)), b"", b"group\n\xff"):
        piped(monkeypatch, content, "run", tmp_path / "spec.yaml", "--data", "-")
    assert [len(files) for files in seen] == [1, 1, 1]
    assert not [*spools.iterdir()]


def test_stdin_is_one_thing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = spec_file(tmp_path, *GOOD).read_bytes()
    both = piped(monkeypatch, content, "run", "-", "--data", "-")
    assert both.returncode == 2
    assert "stdin cannot be both the spec and the data" in both.stderr
    endless = piped(monkeypatch, b"#" * (inputs.SPEC + 1), "run", "-")
    assert endless.returncode == 2
    assert (
        "the spec - cannot be read: it has more than the maximum of 2,000,000 bytes"
        in endless.stderr
    )


def test_the_format_of_the_environment(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *GOOD)
    assert json.loads(run("run", spec, FAIRAUDIT_FORMAT="json").stdout)["checks"]
    named = run("run", spec, "--format", "github", FAIRAUDIT_FORMAT="json")
    assert (named.returncode, named.stdout) == (0, "")
    wrong = run("run", spec, FAIRAUDIT_FORMAT="jsn")
    assert wrong.returncode == 2
    assert "FAIRAUDIT_FORMAT" in wrong.stderr
    assert "no format 'jsn'; did you mean 'json'?" in wrong.stderr
    assert run("run", spec, FAIRAUDIT_FORMAT="").returncode == 0
    error = run("run", spec, "--no-such-option", FAIRAUDIT_FORMAT="json")
    assert json.loads(error.stdout)["summary"]["exit_code"] == 2


def test_the_color_of_the_environment(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *WARNED)
    colored = run("run", spec, FAIRAUDIT_COLOR="always")
    assert "\x1b[" in colored.stdout
    assert "\x1b[" in run("run", spec, "--color", "always", NO_COLOR="1").stdout
    assert "\x1b[" in run("run", spec, CLICOLOR_FORCE="1").stdout
    assert "\x1b[" not in run("run", spec, "--color", "never", FORCE_COLOR="1").stdout
    # What is coloured is not cropped, either.
    assert max(map(len, colored.stdout.splitlines())) > 80
    wrong = run("run", spec, FAIRAUDIT_COLOR="pink")
    assert wrong.returncode == 2
    assert "FAIRAUDIT_COLOR" in wrong.stderr


@pytest.mark.parametrize(
    ("choice", "environment", "answer"),
    [
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {}, None),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", {"NO_COLOR": ""}, None),
        ("auto", {"FORCE_COLOR": "1"}, True),
        ("auto", {"CLICOLOR_FORCE": "1"}, True),
        ("auto", {"CLICOLOR_FORCE": "0"}, None),
        ("auto", {"CLICOLOR": "0"}, False),
        ("auto", {"CLICOLOR": "1"}, None),
    ],
)
def test_who_decides_on_colours(
    monkeypatch: pytest.MonkeyPatch, choice: Color, environment: dict[str, str], answer: bool | None
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert is_colored(choice) is answer


def test_a_terminal_gets_colours_unless_it_is_told_not_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_file(tmp_path, *BAD)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for choice, escapes in (("auto", True), ("never", False), ("always", True)):
        leader, follower = pty.openpty()
        with open(follower, "w", encoding="utf-8") as stream:  # noqa: PTH123  # a descriptor has no path
            monkeypatch.setattr(sys, "stdout", stream)
            assert cli.run_line(["run", str(spec), "--color", choice]) == 1
            stream.flush()
            text = os.read(leader, 65536).decode(errors="replace")
        os.close(leader)
        assert ("\x1b[" in text) is escapes


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("auc/race/decision", ["auc/race/decision"]),
        ("auc", ["auc/race/decision"]),
        ("gender", ["impact_ratio/gender/decision"]),
        ("impact_ratio*", ["impact_ratio/race/decision", "impact_ratio/gender/decision"]),
        ("*/race/*", ["impact_ratio/race/decision", "auc/race/decision"]),
        ("odd[1]", ["odd[1]"]),
        ("*", list(IDS)),
    ],
)
def test_what_a_text_names(text: str, matches: list[str]) -> None:
    assert match_ids(text, IDS) == matches


def test_a_text_that_names_none_or_too_many_is_told() -> None:
    with pytest.raises(UsageError, match="2 checks contain 'impact' in their id") as several:
        match_ids("impact", IDS)
    assert "impact_ratio/race/decision, impact_ratio/gender/decision" in str(several.value.hint)
    with pytest.raises(
        UsageError, match=r"the spec has no check 'auk/race/decision'; did you mean 'auc/race"
    ):
        match_ids("auk/race/decision", IDS)
    for text in ("", "*tpr*"):
        with pytest.raises(UsageError, match="no check"):
            match_ids(text, IDS)
    with pytest.raises(UsageError, match="no check 'auc'") as empty:
        match_ids("auc", ())
    assert empty.value.hint == "the spec sets no limit"


def test_only_and_show_take_the_same(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *BAD)
    spec.write_text(spec.read_text() + "  - {metric: selection_rate, fail: {below: 0.01}}\n")
    assert run("run", spec, "--only", "selection", "-o", tmp_path / "r.json").returncode == 0
    assert run("run", spec, "--only", "*parity*").returncode == 1
    assert "2 checks:" in run("run", spec, "--only", "*", "-o", tmp_path / "all.json").stderr
    ambiguous = run("run", spec, "--only", "decision")
    assert ambiguous.returncode == 2
    assert "2 checks contain 'decision' in their id" in ambiguous.stderr
    assert run("show", tmp_path / "all.json", "sel*").returncode == 0
    several = run("show", tmp_path / "all.json", "*")
    assert several.returncode == 2
    assert "'*' matches 2 checks" in several.stderr


def test_a_shell_may_ask_for_completions() -> None:
    words = start(_FAIRAUDIT_COMPLETE="complete_bash", COMP_WORDS="fairaudit ren", COMP_CWORD="1")
    assert (words.returncode, words.stdout.split()) == (0, ["render"])
    script = start("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert script.returncode == 0
    assert "_FAIRAUDIT_COMPLETE=complete_bash" in script.stdout


def test_a_variable_for_completion_is_no_way_around_a_gate(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *BAD)
    assert run("run", spec, _FAIRAUDIT_COMPLETE="complete_bash").returncode == 1


def test_q_prints_headlines_and_qq_nothing(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *BAD)
    quiet = run("run", spec, "-q")
    assert (quiet.returncode, quiet.stdout) == (
        1, "error[demographic_parity_ratio]: group=a is selected 60 % as often as group=b\n"
    )  # fmt: skip
    silent = run("run", spec, "-qq")
    assert (silent.returncode, silent.stdout) == (1, "")
    assert quiet.stderr.split(" rows=")[0] == silent.stderr.split(" rows=")[0]
    assert run("run", spec, "-q", "--format", "json").stdout.startswith("{")
    (tmp_path / "other.csv").write_text("group,y,n\na,1,48\na,0,52\nb,1,50\nb,0,50\n")
    several = run("run", spec, "-q", "--data", str(tmp_path / "*.csv"))
    (line,) = several.stdout.splitlines()
    assert line.endswith(
        "data.csv: error[demographic_parity_ratio]: group=a is selected 60 % as often as group=b"
    )
    assert run("run", spec_file(tmp_path, *GOOD), "-q").stdout == ""


def test_an_option_of_one_value_is_given_once(tmp_path: Path) -> None:
    """The last would count, and the others would be audited in nobody's eyes."""
    loans = "audit_specs/loans.yaml"
    twice = ["--data", "sample_data/loans.csv", "--data", "sample_data/loans.parquet"]
    for command in ("run", "check", "count"):
        more = ["-o", str(tmp_path / "a.counts")] if command == "count" else []
        done = run(command, loans, *twice, *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert "--data can be given only once" in done.stderr
        assert "a folder or a glob" in done.stderr
    assert not [*tmp_path.iterdir()]
    done = run("run", loans, "--tolerance=0.1", "--tolerance", "0.1")
    assert "--tolerance can be given only once" in done.stderr
    several = ["-q", "-q", "--only", "impact*", "--only", "differential*"]
    several += [
        "-o",
        str(tmp_path / "a.json"),
        "-o",
        str(tmp_path / "a.md"),
        "--exit-zero",
        "--exit-zero",
    ]
    assert run("run", loans, *several).returncode == 0


def test_a_pdf_is_printed_by_a_browser(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["run", "audit_specs/loans.yaml", "-o", "report.PDF"]) == 2
    err = capsys.readouterr().err
    assert "-o report.PDF: PDF is not a format" in err
    assert "print it from a browser (two pages" in err
