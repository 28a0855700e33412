"""How far a long pass is, on a terminal: done, of how many, how fast, and how long it will take."""

from __future__ import annotations

from types import TracebackType
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
from rich.progress import (
    Progress as Bars,
)

from fairaudit.progress import Progress


class Bar(Progress):
    """A bar for the stage that runs; it goes when all is done."""

    silent = False

    def __init__(self, stream: IO[str]) -> None:
        self._bars = Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TaskProgressColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=Console(file=stream),
            transient=True,
        )
        self._task: TaskID | None = None
        self._unit = ""

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins: what it does, and how many `unit` there are, if that is known."""
        if self._task is not None:
            self._bars.remove_task(self._task)
        self._unit = unit
        self._task = self._bars.add_task(stage, total=total, rate="")

    def advance(self, done: int) -> None:
        """So many more are done."""
        if self._task is None:
            return
        self._bars.advance(self._task, done)
        (task,) = (one for one in self._bars.tasks if one.id == self._task)
        speed = task.speed or 0.0
        self._bars.update(self._task, rate=f"{speed / 1e6:.1f}M {self._unit}/s" if speed else "")
