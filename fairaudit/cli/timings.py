"""`--timings`: a stopwatch for the phases of a run, and for the imports apart.

Modules are loaded when they are first needed, in the middle of a phase; so imports are timed where
they happen, and taken out of the phase.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator
from threading import get_ident
from typing import Any, Self

from fairaudit.base.progress import SILENT, Phase, Progress


class Stopwatch(Progress):
    """Adds up the seconds of each phase, from a time of `time.perf_counter` on."""

    def __init__(self, began: float) -> None:
        self._progress = SILENT
        self._phase = Phase.LOAD
        self._since = began
        self._thread = get_ident()
        self._import = builtins.__import__
        self._is_importing = False
        self.seconds = dict.fromkeys(Phase, 0.0)

    def __enter__(self) -> Self:
        builtins.__import__ = self._time_import
        return self

    def __exit__(self, *_: object) -> None:
        builtins.__import__ = self._import
        self.enter(self._phase)

    def pass_on(self, progress: Progress) -> Self:
        """This watch, which hands the stages of a pass to another progress, too."""
        self._progress = progress
        self.silent = progress.silent
        return self

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage of a pass begins."""
        self._progress.start(stage, total, unit)

    def advance(self, done: int, unit: str) -> None:
        """So many more are done of it."""
        self._progress.advance(done, unit)

    def enter(self, phase: Phase) -> None:
        """A phase begins, and the one before it ends."""
        now = time.perf_counter()
        self.seconds[self._phase] += now - self._since
        self._phase, self._since = phase, now

    def _time_import(self, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # as `__import__` has them
        """Imports as Python does; what this thread waits for is no part of its phase."""
        if self._is_importing or get_ident() != self._thread:
            return self._import(*arguments, **named)
        phase, self._is_importing = self._phase, True
        self.enter(Phase.LOAD)
        try:
            return self._import(*arguments, **named)
        finally:
            self.enter(phase)
            self._is_importing = False

    def lines(self) -> Iterator[str]:
        """The seconds of each phase with their share, and of all together."""
        total = sum(self.seconds.values())
        for phase, seconds in self.seconds.items():
            yield f"{seconds:8.3f} s  {seconds / total:4.0%}  {phase}"
        yield f"{total:8.3f} s        together"
