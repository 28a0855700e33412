"""Whole processes, timed side by side: wall time and peak memory of each, as the system saw them.

The parent stays small on purpose: the system never reports a peak of a child below that of the
process that started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

_PEAK_UNIT = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB everywhere else

# An installer compiles what it installs, so no side is to compile its modules again in every run.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if "BYTECODE" not in name}


class Failed(Exception):
    """A program ended with an unexpected exit code."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the exit codes that are answers."""

    words: tuple[str, ...]
    exits: tuple[int, ...] = (0,)


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one program; `busy` are its processor seconds, of all threads together."""

    seconds: float
    peak_mib: float
    busy: float


@dataclass(frozen=True, slots=True)
class Pairs:
    """Runs of two programs in turn: ours, theirs, ours, theirs, and so on."""

    ours: tuple[Run, ...]
    theirs: tuple[Run, ...]

    @property
    def ratios(self) -> list[float]:
        """Our time divided by theirs, pair by pair."""
        both = zip(self.ours, self.theirs, strict=True)
        return [our.seconds / their.seconds for our, their in both]


def in_turn(ours: Command, theirs: Command, pairs: int, folder: Path) -> Pairs:
    """Both programs in turn, once each for every pair."""
    runs = [(run(ours, folder), run(theirs, folder)) for _ in range(pairs)]
    return Pairs(tuple(our for our, _ in runs), tuple(their for _, their in runs))


def run(command: Command, folder: Path) -> Run:
    """One run of a program in a folder; raises `Failed` with its last words."""
    with tempfile.TemporaryFile() as words:
        started = time.perf_counter()
        child = subprocess.Popen(
            command.words, cwd=folder, env=_ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=words
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode not in command.exits:
            words.seek(0)
            last = words.read().decode(errors="replace").strip().splitlines()[-5:]
            raise Failed("\n".join([f"{' '.join(command.words)}: exit {child.returncode}", *last]))
    busy = usage.ru_utime + usage.ru_stime
    return Run(seconds, usage.ru_maxrss * _PEAK_UNIT / 2**20, busy)


def middle_seconds(runs: Sequence[Run]) -> float:
    """The median wall time."""
    return median(one.seconds for one in runs)


def peak_mib(runs: Sequence[Run]) -> float:
    """The highest peak."""
    return max(one.peak_mib for one in runs)
