"""Limits of the machine, and signals: no verdict is no verdict, and nothing is left behind."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import ATTACKS
from servers import HANGS

from fairaudit.base.errors import DataError, FairauditError, OutOfMemory

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems do not keep to the limits that are set"
)

TRIES = int(8 * ATTACKS)
"""A try takes about half a second."""
_SEED = 16_10
_LEAST = 40
"""Megabytes; with less Python itself does not begin."""
_PYTHON_STARTS = ("Fatal Python error", "<frozen site>", "Could not import runpy module")
"""What Python itself says, interrupted before our first line: on a busy machine that takes long."""

SPEC = """\
data: data.csv
format: {encoding: latin-1}
columns:
  protected: [group]
  decision: {column: y, positive: 1, negative: 0}
  count: n
metrics:
  - {metric: demographic_parity_ratio, fail: {below: 0.8}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("limits")
    (found / "data.csv").write_text("group,y,n\na,1,48\na,0,52\nb,1,50\nb,0,50\n")
    (found / "spec.yaml").write_text(SPEC)
    (found / "tmp").mkdir()
    return found


def _started(folder: Path, arguments: list[str], limit: str = "") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "fairaudit", *arguments]
    return subprocess.Popen(
        ["/bin/sh", "-c", f'{limit} exec "$@"', "sh", *command],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "TMPDIR": str(folder / "tmp"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _told(process: subprocess.Popen[str]) -> str:
    """What a process said on stderr until its end; one that hangs is killed, and fails the test."""
    try:
        return process.communicate(timeout=HANGS)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        raise


def _list_left(folder: Path) -> list[Path]:
    """What is left of copies of the data.

    Python tries out a folder for them by a file of its own (`tempfile.gettempdir`), which stays
    where a signal comes right then: empty, or with a word of Python's.
    """
    return [
        path
        for path in (folder / "tmp").iterdir()
        if not re.fullmatch(r"[a-z0-9_]{8}", path.name) or path.read_bytes() not in {b"", b"blat"}
    ]


@pytest.mark.long
@pytest.mark.parametrize("arguments", [["--format", "json"], ["-q", "-o", "report.html"]])
@pytest.mark.parametrize("megabytes", [40, 100, 700, 900])
def test_too_little_memory_is_called_so(folder: Path, arguments: list[str], megabytes: int) -> None:
    limit = f"ulimit -v {megabytes * 1024} &&"
    with _started(folder, ["run", "spec.yaml", *arguments], limit) as process:
        told = _told(process)
    assert process.returncode == 2
    assert "out of memory" in told
    assert "Traceback" not in told


@pytest.mark.long
def test_any_limit_gives_the_verdict_or_none(folder: Path) -> None:
    """It neither hangs, nor aborts, nor blames the data, nor says 1."""
    chance = random.Random(_SEED)
    commands = {
        ("run", "spec.yaml"): 0,
        ("run", "spec.yaml", "--format", "csv"): 0,
        ("run", "spec.yaml", "-q", "-o", "again.html", "-o", "again.md"): 0,
        ("run", "gone.yaml"): 2,
        ("metrics",): 0,
    }
    for number in range(TRIES):
        arguments = chance.choice([*commands])
        kind = chance.choice("vvvd")
        size = int(_LEAST * 75 ** chance.random())
        with _started(folder, [*arguments], f"ulimit -{kind} {size * 1024} &&") as process:
            told = _told(process)
        assert process.returncode in {commands[arguments], 2}, (number, kind, size, told)
        assert "damaged" not in told
        assert "internal error in fairaudit" not in told


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_at_any_moment(folder: Path, number: signal.Signals) -> None:
    """It never says 0 or 1; only while Python itself is starting we have no say in it."""
    chance = random.Random(_SEED + number)
    for _ in range(TRIES):
        with _started(folder, ["run", "spec.yaml", "-q"]) as process:
            time.sleep(chance.uniform(0.03, 0.4))
            process.send_signal(number)
            told = _told(process)
        if any(words in told for words in _PYTHON_STARTS):
            continue
        finished = process.returncode == 0 and told.startswith("PASS")
        expected = {-number, 130} if number is signal.SIGINT else {-number}
        assert finished or process.returncode in expected
        assert process.returncode != 130 or told.splitlines()[-1] == "INTERRUPTED  no verdict"
        assert "__main__.py" not in told
        assert not _list_left(folder)


def test_an_interrupt_ends_all_processes(folder: Path) -> None:
    """Those that judge files end with the command, whoever heard the interrupt."""
    for number in range(40):
        (folder / f"{number}.csv").write_bytes((folder / "data.csv").read_bytes())
    command = ["run", "spec.yaml", "--data", "[0-9]*.csv", "-o", "out/", "-q", "--jobs", "2"]
    with _started(folder, command) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not (begun := children.read_text().split()):
            assert process.poll() is None, "it ended by itself"
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        told = _told(process)
    assert process.returncode == 130
    assert told.splitlines()[-1] == "INTERRUPTED  no verdict"
    end = time.monotonic() + HANGS
    while any(Path(f"/proc/{child}").exists() for child in begun):
        assert time.monotonic() < end, "a process is left"
        time.sleep(0.01)


def test_a_pass_that_is_killed_leaves_no_copy_of_the_data(folder: Path) -> None:
    code = (
        "import os, pathlib, signal\n"
        "from fairaudit.counting.sources import Copies\n"
        "with Copies() as made:\n"
        "    out, path = made.new()\n"
        "    out.write(b'somebody'); out.flush()\n"
        "    assert path.read_bytes() == b'somebody'\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", code]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "TMPDIR": str(folder / "tmp"),
    }
    done = subprocess.run(command, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert not _list_left(folder)


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (ImportError("x.so: failed to map segment from shared object"), True),
        (RuntimeError("can't start new thread"), True),
        (OSError(12, "Cannot allocate memory"), True),
        (RuntimeError("the rows differ"), False),
        (ValueError("out of memory, says a level"), False),
    ],
)
def test_memory_that_runs_out_blames_no_file(error: Exception, *, is_memory: bool) -> None:
    def failing() -> None:
        raise error

    try:
        failing()
    except type(error):
        found = DataError.unreadable("x.csv", "damaged")
    assert isinstance(found, OutOfMemory) is is_memory
    assert isinstance(FairauditError.crashed(error), OutOfMemory) is is_memory
