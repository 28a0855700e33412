"""The progress bar of a long pass, on a terminal."""

from __future__ import annotations

from typing import IO, Self

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
from fairaudit.base.processes import Progress


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
        """Adds progress to the stage of a unit; stages of two units may run at once."""
        if unit not in self._tasks:
            return
        task = self._tasks[unit]
        self._bars.advance(task, done)
        speed = next(bar.speed for bar in self._bars.tasks if bar.id == task) or 0.0
        self._bars.update(task, rate=f"{speed / 1e6:.1f}M {unit}/s" if speed else "")
