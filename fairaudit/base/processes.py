"""Processes of `--jobs`: their number, and their results in order; the `Progress` of a pass."""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from fairaudit.base import memory, trust
from fairaudit.base.errors import FairauditError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor


Item = TypeVar("Item")
Value = TypeVar("Value")

_MOST = 8
"""The maximum number of processes without `--jobs`. Each process takes a few hundred MB."""

_WORTH = 16
"""The number of audits that take about as long as the start of a process."""

_AHEAD = 4
"""The maximum number of waiting results for each process, to limit the memory of large batches."""

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The file in which Linux states the quota of a container: processor time, and its period."""


def count_cores() -> int:
    """The number of cores that this process may use; a container may have a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = (int(text) for text in _QUOTA.read_text("ascii").split())
    except (OSError, ValueError):  # no container, or "max"
        return cores or 1
    return max(min(cores or 1, quota // period), 1)


def choose_jobs(audits: int) -> int:
    """The number of processes for a number of audits, at most one for each core."""
    return max(1, min(audits // _WORTH, count_cores(), _MOST))


class Workers:
    """Processes that start when there is work. With one job, the current process does the work.

    Functions, items and results are pickled to be sent to another process.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
        """The result of the function for each item, in order.

        Raises the errors of the function, and `FairauditError` if a process was killed.
        """
        if self.jobs == 1:
            yield from map(function, items)
            return
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            # A fork of this process would wait for threads of Polars, which a fork does not have.
            self._pool = ProcessPoolExecutor(
                self.jobs, get_context("spawn"), _live_with_parent, (trust.current_root(),)
            )
        pool = self._pool
        waiting: deque[Future[Value]] = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > _AHEAD * self.jobs:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())


THIS_PROCESS = Workers(1)
"""Workers that do all work in the current process."""


def _result(future: Future[Value]) -> Value:
    from concurrent.futures import BrokenExecutor

    try:
        return future.result()
    except BrokenExecutor as error:
        what = "a process was killed before it finished its audit"
        raise FairauditError(what, "if memory is the reason, run with --jobs 1") from error


def _live_with_parent(root: Path | None) -> None:
    """Prepares a new process: it ignores Ctrl-C, and ends when its parent process ends.

    `root` is the root of `--untrusted` in the parent process.
    """
    import signal
    from multiprocessing import parent_process
    from threading import Thread

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(1_000_000, 50, 50)
    memory.keep_freed()
    trust.trust_in(root)
    parent = parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    Thread(target=follow, daemon=True).start()


class Progress:
    """Receives the progress of the stages of a pass; this base class ignores it.

    `advance` is called from any thread, about ten times a second at most for each thread.
    """

    silent = True

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins; `total` is the number of its units (such as rows), None if unknown."""

    def advance(self, done: int, unit: str) -> None:
        """Adds `done` units to the stage with this unit; running stages have different units."""


SILENT = Progress()
