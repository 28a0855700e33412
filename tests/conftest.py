"""What the tests share: where data lies, and a short way to audit a few rows."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
import servers
from hypothesis import HealthCheck, settings

import fairaudit
from fairaudit.base.errors import FairauditError
from fairaudit.base.processes import SILENT
from fairaudit.counting import polars_engine
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import Frame
from fairaudit.counting.sources.files import Files
from fairaudit.cube import Cube
from fairaudit.judge import Finding
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.stages import Judge
from fairaudit.pipeline.tables.audit import Audit
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, RateRow

T = TypeVar("T")

ROOT = Path(__file__).parent.parent
SAMPLES = ROOT / "sample_data"
SPECS = ROOT / "audit_specs"
SHARED = ROOT.parent / "shared" / "data"

# Without bytecode each command that a test starts would compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Each processor has a worker. More threads, of scikit-learn, would cost ten times the work.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

# A process whose main module has no file, as a worker has, pyspark takes for its doctests.
vars(sys.modules["__main__"]).setdefault("__file__", os.devnull)

# Run by hand, with packages that are no test dependency; and a server, which is no module of tests.
collect_ignore = ["published/transcripts", "clickhouse_server.py"]

QUICK, ALL = 5, 10
"""How many of a law's examples are drawn, in per cent, if `--examples` does not say it."""


ATTACKS = 0.2
"""The share of the damage and malice of `tests/attacks` that a run tries."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all` runs the long tests too; `--rewrite-goldens` writes the expected texts anew."""
    parser.addoption("--all", action="store_true", help="the long tests too, and more examples")
    parser.addoption("--examples", type=int, metavar="PER_CENT", help="of each law's examples")
    parser.addoption("--rewrite-goldens", action="store_true", help="write the goldens anew")
    parser.addoption("--messages", action="store_true", help="fail where no test raises an error")


def pytest_configure(config: pytest.Config) -> None:
    """Leaves out what is marked `long` and draws few of the examples, unless `--all`."""
    global ATTACKS  # noqa: PLW0603  # the modules of tests, which read it, are imported later
    everything = config.getoption("--all")
    ATTACKS = float(os.environ.get("ATTACKS", "0.2"))
    settings.register_profile(
        "share",
        max_examples=config.getoption("--examples") or (ALL if everything else QUICK),
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    settings.load_profile("share")
    if not everything:
        config.option.markexpr = config.option.markexpr or "not long"
    if config.getoption("--messages"):
        from messages import Watch  # noqa: PLC0415  # reads the whole source, and imports this file

        config.pluginmanager.register(Watch(config))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Each worker gets tests that follow one another: they share fixtures and cached audits."""
    from xdist.scheduler import WorkStealingScheduling  # noqa: PLC0415  # not always installed

    return WorkStealingScheduling(config, log)


def pytest_collection_finish() -> None:
    """Thousands of tests are not garbage: the collector does not look at them again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def is_quick() -> bool:
    """Whether this run draws few examples."""
    return settings().max_examples < ALL


def fewer(number: int) -> int:
    """The share of a number of examples that this run draws: 3 at least, 2 in the quick run."""
    return max(number * settings().max_examples // 100, 2 if is_quick() else 3)


def both() -> tuple[bool, ...]:
    """False and True with `--all`, False alone in the quick run."""
    return (False,) if is_quick() else (False, True)


def sampled(values: Sequence[T], part: int = 3) -> Sequence[T]:
    """All values with `--all`; in the quick run every third one, or whichever `part` says."""
    return values[:: part if is_quick() else 1]


def sentence_of(result: AuditResult, finding: Finding) -> str:
    """All that is told of a finding, in one sentence."""
    return diagnose_by_id(result)[finding.check.id].sentence


def examples(number: int) -> settings:
    """So many examples of a law with `--examples 100`, a share of them in other runs."""
    return settings(max_examples=fewer(number))


@contextlib.contextmanager
def about(name: object) -> Iterator[None]:
    """One case of a loop, which is named below whatever fails in it."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"in the case {name}")
        raise


def long(*values: Any) -> Any:
    """A case of a parametrized test that runs with `--all` alone."""
    return pytest.param(*values, marks=pytest.mark.long)


def partly(values: Iterable[Any], part: int = 3) -> list[Any]:
    """Cases of a parametrized test, of which every third belongs to the quick run."""
    return [long(value) if at % part else value for at, value in enumerate(values)]


def seeds(number: int, quick: int) -> list[Any]:
    """The seeds below `number`, of which the first few belong to the quick run."""
    return [*range(min(quick, number)), *map(long, range(quick, number))]


def count_data(plan: Plan, data: Any) -> Counts:
    """The counts of a file, a folder, several files or a frame, by the default engine."""
    paths = [data] if isinstance(data, str | Path) else data
    source = Files(tuple(map(str, paths))) if isinstance(paths, list) else Frame(data)
    (counts,) = polars_engine.count([plan], source, SILENT)
    if isinstance(counts, FairauditError):
        raise counts
    return counts


def judge(spec: Mapping[str, Any], data: Any) -> tuple[Audit, tuple[Finding, ...]]:
    """What an audit searches and finds, without the rows that it lists beside: half of its time."""
    task = AuditTask.read(spec)
    audit = Audit.of(task, count_data(task.plan, data))
    return audit, Judge(audit).find_all()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with the one that is expected in a file."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--rewrite-goldens"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text("utf-8"), f"{path.name}: see --rewrite-goldens"

    return check


@pytest.fixture
def no_garbage_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps statsmodels from collecting all garbage in every correction of a family."""
    monkeypatch.setattr(gc, "collect", lambda *_: 0)


@pytest.fixture
def shared() -> Path:
    """The folder of the real data sets beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip(f"the real data sets are not beside the checkout ({SHARED})")
    return SHARED


@pytest.fixture(scope="session")
def bench() -> Iterator[Callable[[str], Any]]:
    """Imports a module of the benchmarks by name."""
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    yield importlib.import_module
    sys.path.remove(folder)


@pytest.fixture(autouse=True)
def _no_terminal_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE")
    github = ("STEP_SUMMARY", "WORKSPACE", "SERVER_URL", "REPOSITORY", "SHA")
    ours = ("FAIRAUDIT_FORMAT", "FAIRAUDIT_COLOR")
    for name in (*terminal, *ours, *(f"GITHUB_{name}" for name in github)):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture
def audit_csv(tmp_path: Path) -> Callable[..., AuditResult]:
    """Audits CSV text with a spec given as a mapping."""

    def audit(text: str, spec: Mapping[str, Any], **options: Any) -> AuditResult:
        path = tmp_path / "data.csv"
        path.write_text(text, encoding="utf-8")
        return fairaudit.audit({"data": str(path), **spec}, **options)

    return audit


def rate_of(result: AuditResult, metric: str, **group: str) -> RateRow:
    """The one row of a rate for a group, unconditional."""
    (row,) = [
        row
        for row in result.rates
        if row.metric == metric and dict(row.group) == group and not row.stratum
    ]
    return row


def comparison_of(result: AuditResult, metric: str, *by: str) -> ComparisonRow:
    """The one row of a spread for a grouping, unconditional."""
    (row,) = [
        row
        for row in result.comparisons
        if row.metric == metric and set(row.by) == set(by) and not row.stratum
    ]
    return row


def tally_cube(cube: Cube) -> dict[tuple[str | None, ...], tuple[int, ...]]:
    """Plain counts by level names: {levels: (rows, people, weight, scale, squares, …)}.

    What is added up comes last, by its name: people, and each sum with its scale. Cubes with the
    same counts under the same names have the same, whatever the order of their cells.
    """
    tally = {}
    weights = [total for total in (cube.weight, cube.squares) if total is not None]
    amounts = [cube.amounts[name] for name in sorted(cube.amounts)]
    for cell, codes in enumerate(cube.codes):
        levels = tuple(
            key.levels[code] if code >= 0 else None
            for key, code in zip(cube.keys, codes, strict=True)
        )
        counts = [int(cube.rows[cell]), int(cube.people[cell])]
        for total in weights:
            counts += [int(total.values[cell]), total.scale]
        for amount in amounts:
            counts.append(int(amount.n[cell]))
            for total in amount.sums():
                counts += [int(total.values[cell]), total.scale]
        tally[levels] = tuple(counts)
    return tally


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database of PostgreSQL."""
    with servers.start_postgres() as (address, _):
        yield address


@pytest.fixture(scope="session")
def mysql() -> Iterator[str]:
    """The address of a database of MariaDB."""
    with servers.start_mariadb() as address:
        yield address


@pytest.fixture(scope="session")
def clickhouse() -> Iterator[str]:
    """The address of a database of ClickHouse."""
    with servers.start_clickhouse() as (address, _):
        yield address


@pytest.fixture(scope="session")
def spark() -> Iterator[str]:
    """The address of a server of Spark Connect."""
    process, address = servers.start_sail()
    yield address
    process.kill()
    process.communicate()
