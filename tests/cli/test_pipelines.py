"""The action, the container file and the guide for CI do what they say."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, long
from test_cli import BAD, GOOD, spec_file

from fairaudit.cli import command_line, run_line

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
GUIDE = (ROOT / "docs" / "ci.md").read_text("utf-8")


INSTALL, RUN, COMMENT = (step["run"] for step in ACTION["runs"]["steps"][:3])


def run_step(folder: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a script as a runner does, with this folder first on the path."""
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "RUNNER_TEMP": str(folder)}
    return subprocess.run(
        ["/bin/bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
        cwd=folder, env={**os.environ, **path, **variables}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def act(folder: Path, *, fork: str = "", **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs the action's audit, with a `fairaudit` that starts this package."""
    step = ACTION["runs"]["steps"][1]
    values = {name: about["default"] for name, about in ACTION["inputs"].items()} | inputs
    names = {
        variable: re.sub(r"^\${{ inputs\.|\s*}}$", "", of) for variable, of in step["env"].items()
    }
    write_program(folder / "fairaudit", f'exec "{sys.executable}" -m fairaudit "$@"')
    for origin in ("pull_request.head.repo", "workflow_run.head_repository"):
        assert f"{origin}.full_name != github.repository" in names["FORK"]
    values[names["FORK"]] = fork
    environment = {variable: values[name] for variable, name in names.items()}
    return run_step(folder, RUN, **environment)


def test_the_action_fails_with_annotations_and_writes_what_is_asked(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *BAD)
    done = act(tmp_path, spec=f"{spec}\n\n", report="a b.html", sarif="r.sarif")
    assert done.returncode == 1, done.stderr
    assert "::error file=" in done.stdout
    assert (tmp_path / "a b.html").stat().st_size > 10_000
    assert (tmp_path / "r.sarif").stat().st_size > 1_000


@pytest.mark.long
def test_the_action_passes_and_runs_nothing_that_an_input_says(tmp_path: Path) -> None:
    good = spec_file(tmp_path, *GOOD)
    assert act(tmp_path, spec=str(good)).returncode == 0
    hostile = act(tmp_path, spec='$(touch owned); "; touch owned; #', data="`touch owned`")
    assert hostile.returncode == 2
    assert act(tmp_path, spec="--fail-on=never").returncode == 2
    assert not (tmp_path / "owned").exists()


@pytest.mark.long
@pytest.mark.parametrize(
    ("fork", "untrusted", "code"),
    [("true", "", 2), ("", "", 0),
     *(long(*case) for case in (
         ("true", "true", 2), ("", "true", 2), ("true", "yes", 2), ("", "True", 2),
         ("false", "", 0), ("true", "false", 0),
     ))],
)  # fmt: skip
def test_the_action_does_not_trust_a_fork(
    tmp_path: Path, fork: str, untrusted: str, code: int
) -> None:
    good = spec_file(tmp_path, *GOOD)
    good.write_text(good.read_text("utf-8") + "title: ${env.HOME}\n")
    done = act(tmp_path, fork=fork, untrusted=untrusted, spec=str(good))
    assert done.returncode == code, done.stderr
    assert ("--untrusted refuses" in done.stderr) == (code == 2)


def test_several_reports_and_a_comment_are_written(tmp_path: Path) -> None:
    good = spec_file(tmp_path, *GOOD)
    done = act(tmp_path, spec=str(good), report="a.html\n\nb c.json\n", comment="true")
    assert done.returncode == 0, done.stderr
    assert {"a.html", "b c.json", "fairaudit-comment.md"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.parametrize("extras", ["", "excel,duckdb"])
@pytest.mark.parametrize("tool", ["uv", "pipx"])
def test_the_command_is_there_in_later_steps(tmp_path: Path, tool: str, extras: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    where = "tool dir --bin" if tool == "uv" else "environment --value PIPX_BIN_DIR"
    call = f'echo "$@" >> {tmp_path}/calls; if [ "$*" = "{where}" ]; then echo /there; fi'
    write_program(programs / tool, call)
    done = run_step(
        tmp_path, INSTALL, PATH=f"{programs}:/usr/bin:/bin", EXTRAS=extras,
        GITHUB_ACTION_PATH="/here", GITHUB_PATH=str(tmp_path / "path"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    install, asked = (tmp_path / "calls").read_text().splitlines()
    assert install.split()[-1] == ("/here[excel,duckdb]" if extras else "/here")
    assert (asked, (tmp_path / "path").read_text()) == (where, "/there\n")


@pytest.mark.parametrize("last", ["", "17"])
def test_one_comment_is_written_and_then_updated(tmp_path: Path, last: str) -> None:
    (tmp_path / "fairaudit-comment.md").write_text("# FAIL\n")
    call = f'echo "$@" >> {tmp_path}/calls; case "$*" in *--jq*) echo {last};; esac'
    write_program(tmp_path / "gh", call)
    done = run_step(tmp_path, COMMENT, GITHUB_REPOSITORY="o/r", NUMBER="5")
    assert done.returncode == 0, done.stderr
    asked, written = (tmp_path / "calls").read_text().splitlines()
    assert asked.startswith("api repos/o/r/issues/5/comments --paginate --jq ")
    # Anybody may begin a comment with that line, and change it after the report is in it.
    assert '.user.login == "github-actions[bot]" and (.body | startswith(' in asked
    body = f"-F body=@{tmp_path}/fairaudit-comment.md.body"
    place = "-X PATCH repos/o/r/issues/comments/17" if last else "repos/o/r/issues/5/comments"
    assert written == f"api {place} {body}"
    text = (tmp_path / "fairaudit-comment.md.body").read_text()
    assert text == "<!-- fairaudit -->\n# FAIL\n"


def test_without_a_report_there_is_no_comment(tmp_path: Path) -> None:
    write_program(tmp_path / "gh", f"touch {tmp_path}/called")
    done = run_step(tmp_path, COMMENT, GITHUB_REPOSITORY="o/r", NUMBER="5")
    assert (done.returncode, (tmp_path / "called").exists()) == (0, False)


def test_every_input_is_used() -> None:
    text = (ROOT / "action.yml").read_text("utf-8")
    for name, about in ACTION["inputs"].items():
        assert f"inputs.{name} " in text
        assert about["description"]
    assert all("shell" in step or "uses" in step for step in ACTION["runs"]["steps"])


BLOCKS = re.findall(r"```yaml[^\n]*\n(.*?)```", GUIDE, re.DOTALL)
LINES = re.findall(r"\bfairaudit run [^\n`]*", "".join(BLOCKS))


def test_the_guide_has_something_to_try() -> None:
    assert len(BLOCKS) == GUIDE.count("```yaml") >= 4
    assert len(LINES) == 1


@pytest.mark.parametrize("block", BLOCKS)
def test_what_the_guide_shows_is_sound(block: str) -> None:
    assert yaml.safe_load(block)
    for name in re.findall(r"^ {10}([a-z-]+):", block, re.MULTILINE):
        assert name in ACTION["inputs"]


@pytest.mark.parametrize("line", LINES)
def test_the_commands_of_the_guide_are_understood(line: str) -> None:
    _, name, *arguments = shlex.split(line)
    command_line().commands[name].make_context(name, arguments, resilient_parsing=False)


def test_the_container_copies_what_the_build_needs() -> None:
    text = (ROOT / "Containerfile").read_text("utf-8")
    copied = {
        name
        for line in re.findall(r"^COPY (?!--)(.*)", text, re.MULTILINE)
        for name in line.split()[:-1]
    }
    assert all((ROOT / name).exists() for name in copied)
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE", "fairaudit"} <= copied
    assert text.index("USER auditor") < text.index("ENTRYPOINT")
    # The slim image has no compiler: the native kernel is built by the full one of the same Python.
    images = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert images == [images[0], f"{images[0]}-slim"]


def run_gate(folder: Path, losers: int, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The gate of the guide, where so many women who repay lose by the candidate."""
    recipe = GUIDE.partition("## Compare a new model with the current model")[2]
    for name, text in re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', recipe, re.DOTALL):
        rows = text.replace("yes,1,1,150", f"yes,1,1,{180 - losers}").replace(
            ",0,1,30", f",0,1,{losers}"
        )
        (folder / name).write_text(rows, encoding="utf-8")
    (command,) = re.findall(r"^\$ fairaudit (.*)$", recipe, re.MULTILINE)
    *words, spec = shlex.split(command)
    code = run_line([*words, str(folder / spec)])
    return code, " ".join(capsys.readouterr().out.split())


def test_one_command_gates_a_candidate_against_the_current_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = run_gate(tmp_path, 1, capsys)
    assert code == 0, told
    code, told = run_gate(tmp_path, 30, capsys)
    assert code == 1
    assert "error[equal_opportunity_difference]: candidate: " in told
    assert "150/200 true positive rate of candidate" in told
    assert "departure from equal changes in all groups more than chance? Yes: p < .0001" in told
