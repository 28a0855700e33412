"""Spark: the report of the same rows in a file, by Spark Connect; its server here is Sail."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import servers
from hypothesis import given, settings
from hypothesis import strategies as st
from test_databases import AGES, CUT, MANY, PEOPLE, ROWS, SCORED, SPEC, TYPES, said

import fairaudit
from fairaudit.base.errors import DataError, UsageError
from fairaudit.counting.sources import databases, dialects
from fairaudit.counting.sources.dialects import Database

pytestmark = pytest.mark.filterwarnings("ignore")  # of grpc and of Spark's client
ENDLESS = "SELECT id % 2 AS sex, id % 90 AS age, id % 3 = 0 AS y FROM range(1000000000000)"


def of_file(address: str, file: Path) -> str:
    """The rows of a file of Parquet, as Spark reads it."""
    return f"{address}?query=SELECT * FROM parquet.`{file}`"


@settings(deadline=None, max_examples=10)
@given(rows=ROWS, spec=st.sampled_from([SPEC, SCORED, PEOPLE, CUT]))
def test_a_table_has_the_report_of_the_same_rows_in_a_file(
    spark: str, rows: list[dict[str, Any]], spec: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        pl.DataFrame(rows, schema=TYPES).write_parquet(file)
        here, there = said(spec, file), said(spec, of_file(spark, file))
        if isinstance(here, tuple):
            assert there[0] is here[0]
        else:
            assert there == here


@pytest.mark.parametrize("spec", [SPEC, SCORED, PEOPLE, CUT])
def test_many_rows_have_a_report(spark: str, spec: Any, tmp_path: Path) -> None:
    pl.DataFrame(MANY, schema=TYPES).write_parquet(tmp_path / "rows.parquet")
    tree = said(spec, of_file(spark, tmp_path / "rows.parquet"))
    assert isinstance(tree, dict)
    assert tree == said(spec, tmp_path / "rows.parquet")


@pytest.fixture
def people(tmp_path: Path) -> Callable[[int], Path]:
    """So many rows of people, in a file."""

    def make(rows: int) -> Path:
        numbers = range(rows)
        frame = pl.DataFrame(
            {
                "sex": ["fm"[at % 2] for at in numbers],
                "age": [18 + 60 * (at * 7919 % rows) / rows for at in numbers],
                "y": [at % 3 == 0 for at in numbers],
            }
        )
        frame.write_parquet(tmp_path / "people.parquet")
        return tmp_path / "people.parquet"

    return make


def test_what_leaves_spark_does_not_grow_with_its_rows(
    spark: str, people: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    read, left = databases._read, list[int]()

    def seen(table: Any) -> pl.DataFrame:
        left.append(table.nbytes)
        return read(table)

    monkeypatch.setattr(databases, "_read", seen)
    sizes = []
    for rows in (1_000, 100_000):
        left.clear()
        file = people(rows)
        assert said(AGES, of_file(spark, file)) == said(AGES, file)
        sizes.append(max(left))
    assert sizes[1] <= sizes[0] < 2_000


def test_a_table_is_named_with_its_schema(
    spark: str, people: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each session of Sail has tables of its own: they are made in the session that reads them."""
    file = people(200)
    dialect = dialects.DIALECTS["sc"]
    connect = dialect.connect

    @contextmanager
    def with_table(data: Database) -> Iterator[dialects.Link]:
        with connect(data) as link:
            link.ask("CREATE DATABASE lake", None, None)
            link.ask(f"CREATE TABLE lake.people USING parquet LOCATION '{file}'", None, None)
            yield link

    monkeypatch.setattr(dialect, "connect", with_table)
    assert said(AGES, f"{spark}?table=lake.people") == said(AGES, file)
    with pytest.raises(DataError, match=r"no table 'lake\.peple'; did you mean 'lake\.people'"):
        fairaudit.audit(AGES, f"{spark}?table=lake.peple")


def test_a_server_that_is_not_there_is_asked_a_few_times_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if find_spec("pyspark") is None:
        pytest.skip("pyspark is not installed")
    from pyspark.sql.connect.client import retries  # noqa: PLC0415  # its package may be missing

    asked, attempt = list[object](), retries.RetryPolicyState.next_attempt

    def count(*one: Any, **more: Any) -> Any:
        asked.append(one)
        return attempt(*one, **more)

    monkeypatch.setattr(retries.RetryPolicyState, "next_attempt", count)
    with pytest.raises(DataError, match=r"cannot be (read|connected to) \(SparkConnectGrpcExc"):
        fairaudit.audit(AGES, "sc://127.0.0.1:9?table=people")
    # Each call of the client is tried three times more, where Spark's own policy waits for minutes.
    assert 0 < len(asked) <= 4 * (dialects._RETRIES + 1)


def test_a_server_that_goes_away_in_mid_count_is_told() -> None:
    process, address = servers.start_sail()
    threading.Timer(3, process.kill).start()
    with pytest.raises(DataError, match="cannot be read"):
        fairaudit.audit(AGES, f"{address}?query={ENDLESS}")
    assert process.wait() < 0
    process.communicate()


def test_a_query_ends_with_the_time_limit(spark: str) -> None:
    with pytest.raises(DataError, match="did not answer within 1 s"):
        fairaudit.audit(AGES, f"{spark}?query={ENDLESS}", timeout=1)


def watch(scheme: str, session: Any, timeout: float | None = None, **heard: Any) -> Any:
    """What watches a query in a session of which Spark says no more than a test does."""
    data = Database(f"{scheme}://host:1?table=people", timeout=timeout)
    return dialects._watch_tasks(data, session, None, heard.get("on_progress"))


class Connect:
    """A session of Spark Connect, with whether its query was ended."""

    def __init__(self) -> None:
        self.is_ended = False
        self.hear: Any = None

    def registerProgressHandler(self, hear: Any) -> None:  # noqa: N802  # Spark's name
        self.hear = hear

    def removeProgressHandler(self, hear: Any) -> None:  # noqa: N802
        assert hear == self.hear

    def interruptAll(self) -> None:  # noqa: N802
        self.is_ended = True


def stage(tasks: int, done: int) -> SimpleNamespace:
    return SimpleNamespace(num_tasks=tasks, num_completed_tasks=done)


def test_spark_connect_tells_how_far_it_is() -> None:
    """Sail sends no such signs: they are those of Spark."""
    heard, session = list[float](), Connect()
    with watch("sc", session, on_progress=heard.append):
        session.hear(stages=None, inflight_tasks=0, operation_id="", done=False)
        session.hear(stages=[], inflight_tasks=0, operation_id="", done=False)
        session.hear(stages=[stage(3, 1), stage(1, 0)], inflight_tasks=1, done=False)
    assert heard == [0.25]
    assert not session.is_ended


def test_a_query_ends_that_no_worker_of_spark_connect_takes_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dialects, "_IDLE", 0.0)
    session = Connect()
    with watch("sc", session, timeout=600):
        session.hear(stages=[stage(2, 1)], inflight_tasks=0)
    assert not session.is_ended

    def ask() -> None:
        with watch("sc", session):
            session.hear(stages=[stage(2, 1)], inflight_tasks=1)
            session.hear(stages=[stage(2, 2)], inflight_tasks=0)
            assert not session.is_ended
            session.hear(stages=[stage(2, 1)], inflight_tasks=0)
            assert session.is_ended
            raise RuntimeError("cancelled")

    with pytest.raises(DataError, match="no worker of the cluster has run a task") as raised:
        ask()
    assert "--timeout" in str(raised.value.hint)


@pytest.mark.parametrize("running", [0, 1])
def test_a_query_ends_that_no_worker_of_a_master_takes_up(
    monkeypatch: pytest.MonkeyPatch, running: int
) -> None:
    monkeypatch.setattr(dialects, "_IDLE", 0.0)
    ended, looked = threading.Event(), threading.Event()

    def find_stage(_: int) -> SimpleNamespace:
        looked.set()
        return SimpleNamespace(numActiveTasks=running)

    tracker = SimpleNamespace(getActiveStageIds=lambda: [1, 2], getStageInfo=find_stage)
    context = SimpleNamespace(statusTracker=lambda: tracker, cancelAllJobs=ended.set)

    def ask() -> None:
        with watch("spark", SimpleNamespace(sparkContext=context)):
            assert (looked if running else ended).wait(60)
            raise RuntimeError("cancelled")

    with pytest.raises(RuntimeError if running else DataError):
        ask()
    assert ended.is_set() is (not running)


def test_a_token_has_no_place_in_an_address_and_a_user_none_in_a_report() -> None:
    for address in (
        "sc://host:1/;use_ssl=true;token=hush?table=t",
        "sc://host:1/?table=t&token=hush",
    ):
        with pytest.raises(UsageError, match="an address cannot contain a password") as raised:
            Database.find([address], Path())
        assert "hush" not in str(raised.value)
    data = Database.find(["sc://host:1/;use_ssl=true;user_id=bob?table=a.t"], Path())
    assert data is not None
    assert (data.name, data.table) == ("sc://host:1/?table=a.t", "a.t")
    assert data.address_with({}) == "sc://host:1/;use_ssl=true;user_id=bob"
