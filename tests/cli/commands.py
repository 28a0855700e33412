"""Ways to run the command: in this process, or in one of its own where the process is the point."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import IO

import pytest
from conftest import ROOT
from servers import HANGS

from fairaudit import cli
from fairaudit.cli import streams


def run(*arguments: str | Path, folder: Path = ROOT, **environment: str) -> CompletedProcess[str]:
    """The command in this process, off a terminal, and what it wrote to both streams."""
    line = [*map(str, arguments)]
    encoding = environment.get("PYTHONIOENCODING", "utf-8")
    with (
        pytest.MonkeyPatch.context() as patch,
        _caught(1) as out,
        _caught(2) as err,
        open(1, "w", encoding=encoding, closefd=False) as stdout,  # a descriptor has no path
        open(2, "w", encoding=encoding, closefd=False) as stderr,  # the same
    ):
        patch.chdir(folder)
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", streams.watched(stdout, is_report=True))
        patch.setattr(sys, "stderr", streams.watched(stderr, is_report=False))
        code = cli.run_line(line)
        sys.stdout.flush()
        sys.stderr.flush()
        return CompletedProcess(line, code, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8")


@contextlib.contextmanager
def _caught(number: int) -> Iterator[IO[bytes]]:
    """A file that takes what is written to a descriptor."""
    own = os.dup(number)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            yield file
        finally:
            os.dup2(own, number)
            os.close(own)


def start(*arguments: str | Path, folder: Path = ROOT, **environment: str) -> CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "fairaudit", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=HANGS,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
    )
