"""`--timings`: where the time of a run went, and no trace of it without."""

from __future__ import annotations

import builtins
import re
import time
from pathlib import Path

import pytest
from commands import run, start
from test_cli import BAD, GOOD, spec_file

import fairaudit
from fairaudit.base.progress import Phase, Progress
from fairaudit.cli import progress

LINE = re.compile(r" +(\d+\.\d{3}) s +(?:(\d+)%)?  ([a-z ]+)")


class Clock:
    """A clock that stands still until somebody lets time pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


class Phases(Progress):
    """Remembers the phases that were entered."""

    def __init__(self) -> None:
        self.entered: list[Phase] = []

    def enter(self, phase: Phase) -> None:
        self.entered.append(phase)


def told(stderr: str) -> dict[str, tuple[float, str]]:
    """The seconds and the share of each line, by its words."""
    matches = filter(None, map(LINE.fullmatch, stderr.splitlines()))
    return {match[3].strip(): (float(match[1]), match[2]) for match in matches}


@pytest.mark.parametrize(("rows", "code"), [(GOOD, 0), (BAD, 1)])
def test_the_phases_follow_the_verdict_and_add_up(
    tmp_path: Path, rows: tuple[str, ...], code: int
) -> None:
    spec = spec_file(tmp_path, *rows)
    began = time.monotonic()
    done = run("run", spec, "--timings", "-o", tmp_path / "r.html")
    spent = time.monotonic() - began
    assert done.returncode == code
    seconds = told(done.stderr)
    assert [*seconds] == [*map(str, Phase), "together"]
    lines = done.stderr.splitlines()
    assert lines[-len(seconds) - 1].startswith("FAIL" if code else "PASS")
    together, _ = seconds.pop("together")
    assert sum(value for value, _ in seconds.values()) == pytest.approx(together, abs=0.004)
    assert 98 <= sum(int(share) for _, share in seconds.values()) <= 102
    assert 0 < together <= spent + 0.001
    assert all(seconds[phase][0] > 0 for phase in (Phase.COUNT, Phase.JUDGE, Phase.REPORT))


def test_without_it_nothing_is_timed(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *GOOD)
    own = builtins.__import__
    plain = run("run", spec)
    assert told(plain.stderr) == {}
    run("run", spec, "--timings")
    run("run", tmp_path / "none.yaml", "--timings")  # an error takes the watch away, too
    assert builtins.__import__ is own


def test_a_process_of_its_own_counts_how_the_command_is_loaded(tmp_path: Path) -> None:
    done = start("run", spec_file(tmp_path, *GOOD), "--timings")
    loaded, _ = told(done.stderr)[Phase.LOAD]
    assert loaded > told(done.stderr)[Phase.SPEC][0]


def test_an_import_is_taken_out_of_its_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)

    def slow_import(name: str, *_: object, **__: object) -> str:
        clock.now += 5
        return name

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", slow_import)
        with progress.Stopwatch(clock.now - 1) as watch:
            watch.enter(Phase.COUNT)
            clock.now += 2
            builtins.__import__("polars")
            clock.now += 3
            watch.enter(Phase.JUDGE)
            clock.now += 7
    seconds = {phase: value for phase, value in watch.seconds.items() if value}
    assert seconds == {Phase.LOAD: 6, Phase.COUNT: 5, Phase.JUDGE: 7}
    assert [*watch.lines()][-1] == "  18.000 s        together"
    assert next(watch.lines()) == "   6.000 s   33%  load modules"


def test_the_pipeline_says_which_phase_it_is_in(tmp_path: Path) -> None:
    spec = spec_file(tmp_path, *GOOD)
    data = tmp_path / "data.csv"
    order = [Phase.SPEC, Phase.COUNT, Phase.JUDGE]
    for audit in (
        lambda phases: fairaudit.audit(spec, progress=phases),
        lambda phases: fairaudit.audit_together([spec, spec], progress=phases),
        lambda phases: fairaudit.audit_each(spec, str(data), progress=phases),
    ):
        phases = Phases()
        audit(phases)
        assert [*dict.fromkeys(phases.entered)] == order
