"""What a run shows while it works: `--timings`, the progress bar of a long pass on a terminal.

Modules are loaded when they are first needed, in the middle of a phase; so imports are timed where
they happen, and taken out of the phase.
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator
from threading import get_ident
from typing import IO, Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from fairaudit.base.masking import mask
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


class Bar(Progress):
    """A bar for the stage of each unit that runs; they go when all is done."""

    silent = False

    def __init__(self, stream: IO[str], *, color: bool | None = None) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=stream, no_color=None if color is None else not color),
            transient=True,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins: what it does, and how many `unit` there are, if that is known."""
        if unit in self._tasks:
            self._bars.remove_task(self._tasks[unit])
        self._tasks[unit] = self._bars.add_task(mask(stage), total=total, rate="")

    def advance(self, done: int, unit: str) -> None:
        """So many more are done of the stage of that unit; stages of two units may run at once."""
        if unit not in self._tasks:
            return
        task = self._tasks[unit]
        self._bars.advance(task, done)
        speed = next(bar.speed for bar in self._bars.tasks if bar.id == task) or 0.0
        self._bars.update(task, rate=f"{speed / 1e6:.1f}M {unit}/s" if speed else "")
