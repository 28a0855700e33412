"""Cores, and processes of `--jobs`: how many pay off; results in order; `Progress` of a pass."""

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
"""Most processes without `--jobs`: each takes a few hundred MB."""

_WORTH = 16
"""Number of audits that take about as long as the start of a process."""

_AHEAD = 4
"""Most finished results of a process that wait, so that no batch is in memory as a whole."""

_QUOTA = Path("/sys/fs/cgroup/cpu.max")
"""The file in which Linux states the quota of a container: time on a core, and the period."""


def count_cores() -> int:
    """The cores that this process may use, as it is bound to some, or its container has a quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = (int(text) for text in _QUOTA.read_text("ascii").split())
    except (OSError, ValueError):  # no container, or "max"
        return cores or 1
    return max(min(cores or 1, quota // period), 1)


def choose_jobs(audits: int) -> int:
    """How many processes are worth their beginning: one for each core at most."""
    return max(1, min(audits // _WORTH, count_cores(), _MOST))


class Workers:
    """Processes that are begun when there is work; one job is this process alone.

    A function and its items are pickled to reach another process, and what they give to come back.
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
        """The value of each item, in their order.

        Raises what the function raises, and `FairauditError` where a process was killed.
        """
        if self.jobs == 1:
            yield from map(function, items)
            return
        if self._pool is None:
            from concurrent.futures import ProcessPoolExecutor
            from multiprocessing import get_context

            # A copy of this process would wait for threads of Polars that it does not have.
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
"""Carries all out where it is asked for."""


def _result(future: Future[Value]) -> Value:
    from concurrent.futures import BrokenExecutor

    try:
        return future.result()
    except BrokenExecutor as error:
        what = "a process was killed before it finished its audit"
        raise FairauditError(what, "if memory is the reason, run with --jobs 1") from error


def _live_with_parent(root: Path | None) -> None:
    """Ends this process with its parent, which alone receives an interrupt.

    Specs are as untrusted as in the parent: `root` is that of `trust`.
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
    """Receives the stages of a pass; this one ignores them.

    `advance` is called from any thread, some ten times a second at most for each of them.
    """

    silent = True

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """A stage begins: what it does, and how many `unit` there are, if that is known."""

    def advance(self, done: int, unit: str) -> None:
        """Adds to the count of a stage, named by its unit; stages of two units may run at once."""


SILENT = Progress()
