"""Streams that break at any moment: the exit code is the verdict's, or says that there is none."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import pytest
from conftest import ATTACKS
from servers import HANGS

TRIES = int(10 * ATTACKS)
"""A try takes about half a second: ATTACKS=24 is two minutes."""
_SEED = 16_05
_MOST = 70_000
"""More than a pipe holds."""

SPEC = """\
data: {data}
columns:
  protected: [group]
  decision: {{column: y, positive: 1, negative: 0}}
  count: n
metrics:
  - {{metric: demographic_parity_ratio, fail: {{below: 0.8}}}}
"""
_COMMANDS = {
    ("run", "good.yaml"): 0,
    ("run", "bad.yaml"): 1,
    ("run", "good.yaml", "bad.yaml"): 1,
    ("run", "good.yaml", "--format", "json"): 0,
    ("run", "bad.yaml", "--format", "html"): 1,
    ("run", "good.yaml", "-q"): 0,
    ("run", "bad.yaml", "-q", "-o", "again.json"): 1,
    ("run", "gone.yaml"): 2,
    ("run", "gone.yaml", "--format", "json"): 2,
    ("run", "none.yaml", "--format", "csv"): 3,
    ("run", "good.yaml", "--debug", "--no-such-option"): 2,
    ("render", "good.json"): 0,
    ("render", "-"): 0,
    ("show", "good.json"): 0,
    ("compare", "good.json", "good.json"): 0,
    ("metrics",): 0,
    ("metrics", "--format", "markdown"): 0,
    ("explain", "nonsense"): 2,
    ("schema", "result"): 0,
    ("--version",): 0,
    ("--help",): 0,
}
"""Command lines, and the code of each where all goes well."""
_FEW: tuple[tuple[str, ...], ...] = (
    ("run", "good.yaml"),
    ("run", "bad.yaml"),
    ("run", "none.yaml", "--format", "csv"),
    ("run", "gone.yaml", "--format", "json"),
    ("compare", "good.json", "good.json"),
    ("metrics",),
)
_REDIRECTIONS = {"closed": ">&-", "full": ">/dev/full", "read-only": "</dev/null"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("streams")
    rows = {"good": (48, 52), "bad": (30, 70)}
    for name, (yes, no) in rows.items():
        text = f"group,y,n\na,1,{yes}\na,0,{no}\nb,1,50\nb,0,50\n"
        (found / f"{name}.csv").write_text(text)
        (found / f"{name}.yaml").write_text(SPEC.format(data=f"{name}.csv"))
    (found / "none.yaml").write_text(SPEC.format(data="'*.parquet'"))
    done = _run(found, ["run", "good.yaml", "-q", "-o", "good.json"])
    assert done.returncode == 0
    return found


def _run(folder: Path, arguments: list[str], shell: str = "") -> subprocess.CompletedProcess[bytes]:
    """Runs the command, its streams redirected as a shell writes it."""
    command = [sys.executable, "-m", "fairaudit", *arguments]
    if shell:
        command = ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(
        command, cwd=folder, env=_environment(), capture_output=True, check=False, timeout=HANGS
    )


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONFAULTHANDLER": ""}


@pytest.mark.long
@pytest.mark.parametrize("arguments", _FEW, ids=" ".join)
def test_a_pipe_that_nobody_reads_is_no_verdict(folder: Path, arguments: tuple[str, ...]) -> None:
    with _started(folder, [*arguments], "</dev/null") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read().decode()
    assert process.returncode == 2
    assert "Traceback" not in told or "--debug" in arguments
    assert told.splitlines()[-1].startswith("ERROR  no verdict")


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "shell"), [*zip(_FEW, ["2>&-", "2>/dev/full"] * 3, strict=True)]
)
def test_without_stderr_nothing_changes(
    folder: Path, arguments: tuple[str, ...], shell: str
) -> None:
    done = _run(folder, [*arguments], shell)
    assert done.returncode == _COMMANDS[arguments]


@pytest.mark.long
def test_closed_stdin_is_told(folder: Path) -> None:
    done = _run(folder, ["render", "-"], "<&-")
    assert done.returncode == 2
    assert b"the result - cannot be read: Bad file descriptor" in done.stderr


@pytest.mark.long
def test_what_is_written_to_a_closed_stderr_ends_up_in_no_report(folder: Path) -> None:
    """The first file that is opened would take the number of the closed stream."""
    done = _run(folder, ["run", "bad.yaml", "-qq", "-o", "quiet.json"], "<&- >&- 2>&-")
    assert done.returncode == 1
    again = _run(folder, ["run", "bad.yaml", "-qq", "-o", "loud.json"])
    assert again.returncode == 1
    assert (folder / "quiet.json").read_bytes() == (folder / "loud.json").read_bytes()


@pytest.mark.long
def test_a_stream_that_does_not_wait_gets_all(folder: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)  # this is how Node and others hand over theirs
    command = [sys.executable, "-m", "fairaudit", "metrics", "--format", "markdown"]
    process = subprocess.Popen(command, cwd=folder, env=_environment(), stdout=writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        text = stream.read()
    assert process.wait(60) == 0
    assert len(text) > _MOST
    assert text == _run(folder, ["metrics", "--format", "markdown"]).stdout


@pytest.mark.long
def test_pipes_that_break_anywhere(folder: Path) -> None:
    """Whatever is closed, full, or hung up on after so many bytes: the verdict's code, or 2."""
    chance = random.Random(_SEED)
    stored = (folder / "good.json").read_bytes()
    for number in range(TRIES):
        arguments = chance.choice([*_COMMANDS])
        shell = [_redirected(chance, 1), _redirected(chance, 2)]
        if chance.random() < 0.2:
            shell.append("<&-")
        with _started(folder, [*arguments], " ".join(shell)) as process:
            assert process.stdin is not None
            readers = [
                threading.Thread(target=_read, args=(stream, most, chance.random() < 0.7))
                for stream, most in (
                    (process.stdout, chance.choice([0, 1, 100, chance.randrange(_MOST), _MOST])),
                    (process.stderr, chance.choice([0, 1, 100])),
                )
            ]
            for reader in readers:
                reader.start()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(stored if chance.random() < 0.8 else stored[:99])
            process.stdin.close()
            for reader in readers:
                reader.join(60)
        code = process.returncode
        assert code in {_COMMANDS[arguments], 2}, (number, arguments, shell)


def _read(stream: IO[bytes], most: int, hangs_up: bool) -> None:
    """Reads so many bytes, and then all others or none; each stream is read beside the other."""
    while most > 0 and (some := stream.read(most)):
        most -= len(some)
    while not hangs_up and stream.read(_MOST):
        pass
    stream.close()


def _redirected(chance: random.Random, number: int) -> str:
    if chance.random() < 0.6:
        return ""
    kind = chance.choice([*_REDIRECTIONS])
    return f"{number}{_REDIRECTIONS[kind]}"


def _started(folder: Path, arguments: list[str], shell: str) -> subprocess.Popen[bytes]:
    """The command, begun with a pipe at each stream; it may have none of them."""
    command = [sys.executable, "-m", "fairaudit", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {shell}', "sh", *command],
        cwd=folder,
        env=_environment(),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        bufsize=0,
    )
