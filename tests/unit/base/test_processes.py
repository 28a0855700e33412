"""Work in other processes: in its order, never all at once in memory, and never half done."""

from __future__ import annotations

import math
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairaudit.base import processes
from fairaudit.base.errors import FairauditError, UsageError
from fairaudit.base.processes import THIS_PROCESS, Workers, choose_jobs, count_cores


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    """Two processes that the tests share: each takes seconds to start."""
    with Workers(2) as workers:
        yield workers


def test_values_come_in_the_order_of_the_items(workers: Workers) -> None:
    assert list(workers.map(abs, range(-40, 0))) == [*range(40, 0, -1)]
    assert list(workers.map(abs, [])) == []
    assert set(workers.map(_process, range(8))).isdisjoint({os.getpid()})
    assert {*THIS_PROCESS.map(_process, range(8))} == {os.getpid()}


def test_what_a_function_raises_is_raised_here(workers: Workers) -> None:
    with pytest.raises(ValueError, match=r"math domain|nonnegative"):
        list(workers.map(math.sqrt, [4.0, -1.0]))
    with pytest.raises(UsageError, match="no such") as caught:
        list(workers.map(_refuse, ["no such"]))
    assert caught.value.hint == "look"


def test_a_process_that_is_killed_is_an_error_and_no_value() -> None:
    with Workers(2) as workers, pytest.raises(FairauditError, match="killed") as caught:
        list(workers.map(os._exit, [0, 0, 0]))
    assert caught.value.exit_code == 2
    assert "--jobs 1" in str(caught.value.hint)


def test_items_are_taken_as_their_values_are_wanted() -> None:
    taken: list[int] = []

    def count() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    with Workers(2) as workers:
        assert next(workers.map(abs, count())) == 0
    assert len(taken) < 20


@pytest.mark.parametrize(
    ("quota", "cores"),
    [
        ("max 100000", 8),
        ("250000 100000", 2),
        ("1600000 100000", 8),
        ("50000 100000", 1),
        ("?", 8),
        (None, 8),
    ],
)
def test_a_container_has_the_cores_of_its_quota(
    quota: str | None, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(processes, "_QUOTA", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {*range(8)}, raising=False)
    assert count_cores() == cores


@pytest.mark.skipif(sys.platform != "linux", reason="other systems bind no process so")
def test_a_process_has_the_cores_that_it_is_bound_to() -> None:
    code = "import os; os.sched_setaffinity(0, {0}); from fairaudit.base import processes as p; "
    code += "print(p.count_cores())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_few_audits_are_not_worth_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "count_cores", lambda: 4)
    assert [choose_jobs(audits) for audits in (0, 1, 31, 32, 64, 10_000)] == [1, 1, 1, 2, 4, 4]
    monkeypatch.setattr(processes, "count_cores", lambda: 64)
    assert choose_jobs(10_000) == 8


def _process(_item: int) -> int:
    return os.getpid()


def _refuse(what: str) -> None:
    raise UsageError(what, "look")


@pytest.mark.long
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps or not")
def test_memory_that_is_freed_is_kept() -> None:
    """Pages that are given back to the system are touched anew: it counts each."""
    code = (
        "import resource, sys; import numpy as np; from fairaudit.base import memory\n"
        "if sys.argv[1] == 'kept': memory.keep_freed()\n"
        "def work(): [np.ones(2**20) for _ in range(6)]\n"
        "touched = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "work(); before = touched(); [work() for _ in range(9)]; print(touched() - before)"
    )
    kept, given_back = (
        int(
            subprocess.run(
                [sys.executable, "-c", code, way], capture_output=True, check=True
            ).stdout
        )
        for way in ("kept", "given back")
    )
    assert kept < given_back / 10
