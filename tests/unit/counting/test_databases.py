"""Tables in databases: the report of the same rows in a file, and little leaves them."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
import servers
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import HANGS

import fairaudit
from fairaudit.base.errors import DataError, FairauditError, SpecError, UsageError
from fairaudit.base.processes import Progress
from fairaudit.counting.sources import databases
from fairaudit.report import json as report_json

SPEC: dict[str, Any] = {
    "columns": {
        "protected": {
            "sex": {},
            "age": {"bins": [30, 60.5], "unknown": ["-9"]},
            "born": {},
        },
        "label": {"column": "y", "positive": True},
        "prediction": {"column": "s", "positive": {"at_least": 0.5}},
        "weight": "w",
    },
    "missing": {"tokens": ["", "-1"], "label": "aside", "prediction": "aside"},
    "metrics": ["selection_rate", "impact_ratio", "true_positive_rate"],
}
SCORED: dict[str, Any] = {
    **SPEC,
    "columns": {
        **{name: value for name, value in SPEC["columns"].items() if name != "weight"},
        "score": "s",
    },
    "metrics": [
        "mean_score",
        "auc",
        "scoring_rate",
        {"metric": "auc", "compare": "gap", "warn": "> 0.1"},
    ],
}
PEOPLE: dict[str, Any] = {
    **SPEC,
    "columns": {
        "protected": {"amount": {}, "age": {"bins": ["30"]}},
        "decision": {"column": "y", "positive": True},
        "count": "n",
    },
    "filter": "age > 20 and sex <> 'x'",
    "metrics": ["selection_rate", {"metric": "demographic_parity_difference", "fail": "> 0.1"}],
}
CUT: dict[str, Any] = {
    **SPEC,
    "columns": {
        "protected": {"age": {"quantiles": 3}, "sex": {}},
        "decision": {"column": "s", "positive": {"above": "median"}},
    },
    "missing": {"protected": "group"},
    "metrics": ["selection_rate", {"metric": "impact_ratio", "fail": "< 0.8"}],
}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "sex": st.sampled_from(["f", "m", "", 'q"', "'", None]),
            "age": st.sampled_from([20.0, 29.9, 30.0, 60.5, 61.0, -9.0, -1.0, float("nan"), None]),
            "born": st.sampled_from([date(1990, 1, 2), date(2000, 2, 29), None]),
            "y": st.sampled_from([True, False, None]),
            "s": st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, None]),
            "w": st.sampled_from([0.5, 1.0, 2.25]),
            "n": st.sampled_from([0, 1, 7]),
            "amount": st.sampled_from([Decimal("1.50"), Decimal("2.00"), None]),
        }
    ),
    min_size=4,
    max_size=60,
)  # fmt: skip
TYPES: dict[str, Any] = {
    "sex": pl.String,
    "age": pl.Float64,
    "born": pl.Date,
    "y": pl.Boolean,
    "s": pl.Float64,
    "w": pl.Float64,
    "n": pl.Int32,
    "amount": pl.Decimal(6, 2),
}


def said(spec: Any, data: Any) -> Any:
    """What an audit says, but for where its rows lay; of an error its words."""
    try:
        tree = report_json.document(fairaudit.audit(spec, data))
    except FairauditError as error:
        return type(error), str(error).replace(str(data), "DATA")
    told = ("rows", "cube_sha256", "weight_error")
    return {**tree, "provenance": {name: tree["provenance"][name] for name in told}}


def stored(folder: Path, frame: pl.DataFrame) -> tuple[Path, str]:
    """The same rows in a file and in a database."""
    file, base = folder / "rows.parquet", folder / "lake.duckdb"
    frame.write_parquet(file)
    base.unlink(missing_ok=True)
    with duckdb.connect(str(base)) as link:
        link.execute("CREATE TABLE people AS SELECT * FROM frame")
    return file, f"duckdb:///{base}?table=people"


@pytest.mark.long
@settings(deadline=None)
@given(rows=ROWS, spec=st.sampled_from([SPEC, SCORED, PEOPLE, CUT]))
def test_a_table_has_the_report_of_the_same_rows_in_a_file(
    rows: list[dict[str, Any]], spec: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file, table = stored(Path(folder), pl.DataFrame(rows, schema=TYPES))
        of_file, of_table = said(spec, file), said(spec, table)
        if isinstance(of_file, tuple):
            assert isinstance(of_table, tuple)
            assert of_table[0] is of_file[0]
        else:
            assert of_table == of_file


MANY: list[dict[str, Any]] = [
    {
        "sex": ["f", "m", None, "'"][at % 4],
        "age": [20.0, 30.0, 60.5, -9.0, float("nan"), None][at % 6],
        "born": [date(1990, 1, 2), date(2000, 2, 29), None][at * 5 % 3],
        "y": [True, False, None, True, False][at % 5],
        "s": at % 7 / 8,
        "w": [0.5, 1.25][at % 2],
        "n": at % 3,
        "amount": [Decimal("1.50"), Decimal("2.00")][at * 3 % 2],
    }
    for at in range(500)
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "spec", [SPEC, SCORED, PEOPLE, CUT], ids=["weights", "scores", "counts", "quantiles"]
)
def test_a_table_of_many_rows_has_a_report(tmp_path: Path, spec: Any) -> None:
    file, table = stored(tmp_path, pl.DataFrame(MANY, schema=TYPES))
    tree = said(spec, table)
    assert isinstance(tree, dict)
    assert tree == said(spec, file)


@pytest.fixture
def people(tmp_path: Path) -> Callable[[int], tuple[Path, str]]:
    """So many rows of people of any age, in a file and in a database."""

    def make(rows: int) -> tuple[Path, str]:
        frame = pl.DataFrame(
            {
                "sex": ["f", "m"] * (rows // 2),
                "age": [18 + 60 * (at * 7919 % rows) / rows for at in range(rows)],
                "y": [at % 3 == 0 for at in range(rows)],
            }
        )
        return stored(tmp_path, frame)

    return make


AGES: dict[str, Any] = {
    "columns": {
        "protected": {"sex": {}, "age": {"bins": [30, 45, 60]}},
        "decision": {"column": "y", "positive": True},
    },
    "metrics": ["selection_rate", "impact_ratio"],
}


def test_what_leaves_a_database_does_not_grow_with_its_rows(
    people: Callable[[int], tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    read = databases._read
    left: list[int] = []

    def seen(table: Any) -> pl.DataFrame:
        left.append(table.num_rows)
        return read(table)

    monkeypatch.setattr(databases, "_read", seen)
    sizes = []
    for rows in (100, 10_000):
        left.clear()
        file, table = people(rows)
        assert said(AGES, table) == said(AGES, file)
        sizes.append(max(left))
    assert sizes == [2 * 4 * 2] * 2
    # A number that is more than cut has as many values as there are.
    left.clear()
    said({**AGES, "filter": "age >= 0"}, people(10_000)[1])
    assert max(left) > 1_000


def test_too_many_combinations_are_refused(
    people: Callable[[int], tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "MOST_GROUPS", 15)
    _, table = people(100)
    with pytest.raises(DataError, match=r"'sex', 'age', 'y' have more than 15 combinations"):
        fairaudit.audit(AGES, table)


@pytest.mark.long
@pytest.mark.parametrize(
    ("address", "kind", "said"),
    [
        ("duckdb:///{base}?table=peple", DataError, "no table 'peple'; did you mean 'people'"),
        ("duckdb:///{base}", UsageError, "names no table"),
        ("duckdb:///{base}?query=DROP TABLE people", UsageError, "names no table"),
        ("duckdb:///{base}?query=SELECT 1; DROP TABLE people", DataError, "cannot be read"),
        ("duckdb:///{base}?query=SELECT * FROM gone", DataError, "cannot be read (CatalogExc"),
        ("duckdb:///{base}2?table=people", DataError, "the file lake.duckdb2 does not exist"),
        ("duckdb:///{base}?table=people&password=hush", UsageError, "an address cannot contain"),
        ("postgresql://me:hush@127.0.0.1:9/db?table=t", UsageError, "an address cannot contain"),
        ("postgres+psycopg://me:hush@h/db?table=t", UsageError, "an address cannot contain"),
        ("mariadb://me:hush@127.0.0.1:9/db?table=t", UsageError, "an address cannot contain"),
        ("mysql+pymysql://h/db?table=t&password=hush", UsageError, "an address cannot contain"),
        ("CLICKHOUSE://h/db?table=t&Password=hush", UsageError, "an address cannot contain"),
        ("trino://me:hush@h/db?table=t", UsageError, "no such kind of address: trino://"),
        ("sqlite:///{base}2?table=people", DataError, "the file lake.duckdb2 does not exist"),
        ("sqlite:///{base}?table=people", DataError, "cannot be read (DatabaseError"),
        ("postgre://me:hush@h/db?table=t", UsageError, "of address: postgre://; did you mean"),
        ("my_sql://me:hush@h/db?table=t", UsageError, "no such kind of address: my_sql://"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_without_secrets(
    people: Callable[[int], tuple[Path, str]], address: str, kind: type[Exception], said: str
) -> None:
    _, table = people(20)
    base = table.removeprefix("duckdb:///").partition("?")[0]
    with pytest.raises(kind) as raised:
        fairaudit.audit(AGES, address.format(base=base))
    assert said in str(raised.value)
    assert "hush" not in str(raised.value)
    with duckdb.connect(base) as link:
        assert link.sql("SELECT count(*) FROM people").fetchall() == [(20,)]


def test_a_type_or_a_value_that_is_not_read_is_named(tmp_path: Path) -> None:
    base = tmp_path / "lake.duckdb"
    with duckdb.connect(base) as link:
        link.execute("CREATE TABLE people (sex BLOB, age BIGNUM, y BOOLEAN, span INTERVAL)")
        link.execute(f"INSERT INTO people VALUES ('a', {10**40}, true, '1 day')")
    address = f"duckdb:///{base}?table=people"
    with pytest.raises(DataError, match="the column 'sex' has the type BLOB, which fairaudit"):
        fairaudit.audit(AGES, address)
    by_age = {**AGES, "columns": {**AGES["columns"], "protected": ["age"]}}
    with pytest.raises(DataError, match=r"'age' \(BIGNUM\) holds a value that cannot be read"):
        fairaudit.audit(by_age, address)
    by_span = {**AGES, "columns": {**AGES["columns"], "protected": ["span"]}}
    groups = {row.group for row in fairaudit.audit(by_span, address).rates}
    assert (("span", "1 day"),) in groups


def test_an_error_of_a_database_quotes_no_row(people: Callable[[int], tuple[Path, str]]) -> None:
    _, table = people(20)
    base = table.partition("?")[0]
    query = "SELECT sex, CAST(sex AS INTEGER) AS age, y FROM people"
    with pytest.raises(DataError, match="ConversionException") as raised:
        fairaudit.audit(AGES, f"{base}?query={query}")
    assert "'f'" not in str(raised.value)


def test_a_fault_of_ours_is_not_told_as_one_of_the_database(
    people: Callable[[int], tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(databases.Table, "group", fail)
    with pytest.raises(ZeroDivisionError):
        fairaudit.audit(AGES, people(20)[1])


def test_a_query_is_a_table_of_its_rows(people: Callable[[int], tuple[Path, str]]) -> None:
    file, table = people(200)
    base = table.partition("?")[0]
    queried = base + "?query=SELECT * FROM people WHERE age < 50;"
    frame = pl.read_parquet(file).filter(pl.col("age") < 50)
    assert said(AGES, queried) == said(AGES, frame)


LETTERS = pl.DataFrame({"sex": ["f", "F", "m"] * 10, "age": [20.0] * 30, "y": [True, False] * 15})


def test_texts_are_told_apart_whatever_their_column_takes_for_equal(tmp_path: Path) -> None:
    base = tmp_path / "lake.duckdb"
    with duckdb.connect(base) as link:
        link.execute("CREATE TABLE people (sex VARCHAR COLLATE NOCASE, age DOUBLE, y BOOLEAN)")
        link.executemany("INSERT INTO people VALUES (?, ?, ?)", LETTERS.rows())
        assert len(link.sql("SELECT sex FROM people GROUP BY sex").fetchall()) == 2
    assert said(AGES, f"duckdb:///{base}?table=people") == said(AGES, LETTERS)


def test_what_needs_rows_is_refused(people: Callable[[int], tuple[Path, str]]) -> None:
    _, table = people(20)
    rows = {**AGES, "metrics": [{"metric": "consistency"}]}
    rows["columns"] = {**AGES["columns"], "features": {"numeric": ["age"]}}
    with pytest.raises(UsageError, match="of individuals"):
        fairaudit.audit(rows, table)
    wrong = {**AGES, "columns": {**AGES["columns"], "protected": ["sx"]}}
    with pytest.raises(SpecError, match="no column 'sx'"):
        fairaudit.audit(wrong, table)


def test_a_missing_package_is_told_with_its_install_line(
    people: Callable[[int], tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = people(20)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UsageError, match="needs the package duckdb") as raised:
        fairaudit.audit(AGES, table)
    assert raised.value.hint == "pip install 'fairaudit-cli[duckdb]'"


def test_a_database_is_audited_by_itself(people: Callable[[int], tuple[Path, str]]) -> None:
    file, table = people(20)
    with pytest.raises(UsageError, match="cannot be combined with other data"):
        fairaudit.audit({**AGES, "data": [table, str(file)]})


def write_between_passes(monkeypatch: pytest.MonkeyPatch, write: Callable[[], object]) -> None:
    """Writes once the quantiles are known, and before the rows are grouped."""
    find = databases.Table.values

    def find_and_write(*arguments: Any) -> Any:
        values = find(*arguments)
        write()
        return values

    monkeypatch.setattr(databases.Table, "values", find_and_write)


def test_quantiles_and_counts_of_duckdb_are_of_one_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame(MANY, schema=TYPES)
    _, address = stored(tmp_path, frame)
    with duckdb.connect(tmp_path / "lake.duckdb") as link:
        # A file that is open for reading alone has no writer: this one is open for both.
        monkeypatch.setattr(duckdb, "connect", lambda *_, **__: link.cursor())
        writer = link.cursor()
        write_between_passes(
            monkeypatch, lambda: writer.execute("UPDATE people SET age = age + 100, s = 1 - s")
        )
        assert said(CUT, address) == said(CUT, frame)
        # What was written is there, and is another report.
        monkeypatch.undo()
    assert said(CUT, address) != said(CUT, frame)


class Heard(Progress):
    """What is told of a pass."""

    silent = False

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None]] = []
        self.rows: list[int] = []

    def start(self, stage: str, total: int | None, unit: str) -> None:
        """Keeps a stage."""
        assert unit == "rows"
        self.stages.append((stage, total))

    def advance(self, done: int, unit: str) -> None:
        """Keeps how many rows more are done."""
        assert unit == "rows"
        self.rows.append(done)


@pytest.mark.long
def test_duckdb_tells_how_far_it_is(tmp_path: Path) -> None:
    rows, base = 2_000_000, tmp_path / "lake.duckdb"
    with duckdb.connect(base) as link:
        people = f"SELECT i % 2 AS sex, hash(i) % 90 AS age, true AS y FROM range({rows}) r(i)"
        link.execute(f"CREATE TABLE people AS {people}")
    slow = "SELECT * FROM people WHERE md5(md5(md5(md5(age::VARCHAR)))) <> ''"
    address = f"duckdb:///{base}?query={slow}"
    heard = Heard()
    fairaudit.audit(AGES, address, progress=heard)
    assert heard.stages[-1][1] == rows
    assert 0 < sum(heard.rows) <= rows
    assert len({done for done in heard.rows if done}) > 1


# No optimizer knows the answer: what `range % 7 = 8` keeps, DuckDB 2.0.1 can tell without a row.
ENDLESS = (
    "SELECT 'f' AS sex, 20.5 AS age, true AS y FROM range(1000000000000) "
    "WHERE md5(range::VARCHAR) = 'x'"
)


@pytest.mark.parametrize("seconds", [1e-9, 0.3])
def test_duckdb_is_interrupted_at_the_end_of_its_time(seconds: float) -> None:
    with pytest.raises(DataError, match=f"did not answer within {seconds:g} s"):
        fairaudit.audit(AGES, f"duckdb://?query={ENDLESS}", timeout=seconds)


def test_a_table_that_answers_in_time_has_its_report(
    people: Callable[[int], tuple[Path, str]],
) -> None:
    file, table = people(200)
    timed = fairaudit.audit(AGES, table, timeout=600)
    assert timed.provenance.cube_sha256 == fairaudit.audit(AGES, file).provenance.cube_sha256
    with pytest.raises(UsageError, match="--timeout applies only to databases"):
        fairaudit.audit(AGES, file, timeout=600)
    for seconds in (0, -1, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="the time limit must be a number of seconds up to"):
            fairaudit.audit(AGES, table, timeout=seconds)


@pytest.mark.long
def test_a_server_that_goes_away_while_it_counts_leaves_no_report(tmp_path: Path) -> None:
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"version": 1, **AGES}))
    # The count of the rows is done at once, and the groups are slow: it is amid the second.
    query = "SELECT 'f' AS sex, 20.5::float8 AS age, pg_sleep(600) IS NULL AS y"
    with servers.start_postgres() as (address, stop):
        line = [sys.executable, "-m", "fairaudit", "run", str(spec), "-o", "out.json"]
        with subprocess.Popen(
            [*line, "--data", f"{address}?query={query}"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        ) as audit:  # fmt: skip
            wait_until_it_sleeps(address)
            stop()
            printed, told = audit.communicate(timeout=HANGS)
    assert audit.returncode == 2
    assert not printed
    assert "cannot be read (" in told
    assert "ERROR  no verdict" in told
    report = tmp_path / "out.json"
    assert not report.exists() or json.loads(report.read_text())["summary"]["verdict"] == "error"


def wait_until_it_sleeps(address: str) -> None:
    """Returns once a query of the server is asleep."""
    dbapi = import_module("adbc_driver_postgresql.dbapi")
    asleep = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
    with dbapi.connect(address, autocommit=True) as link, link.cursor() as cursor:
        end = time.monotonic() + HANGS
        while time.monotonic() < end:
            cursor.execute(asleep)
            if cursor.fetchone()[0]:
                return
    pytest.fail("the query never began")


@pytest.mark.long
def test_postgresql_has_the_report_of_the_same_rows_in_a_file(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dbapi = import_module("adbc_driver_postgresql.dbapi")

    # A numeric of PostgreSQL comes as a text.
    frame = pl.DataFrame(MANY, schema=TYPES).drop("amount")
    with dbapi.connect(postgres) as link, link.cursor() as cursor:
        cursor.adbc_ingest("people", frame.to_arrow(), mode="create")
        link.commit()
    address = f"{postgres}?table=people"
    for spec in (SPEC, SCORED, CUT):
        tree = said(spec, address)
        assert isinstance(tree, dict)
        assert tree == said(spec, frame)
    assert "me@" not in str(fairaudit.audit(SPEC, address).to_json())
    monkeypatch.setenv("PGOPTIONS", "-c statement_timeout=1")
    slow = postgres + "?query=SELECT *, pg_sleep(1)::text AS z FROM people"
    with pytest.raises(DataError, match="cannot be"):
        fairaudit.audit(SPEC, slow)
    with pytest.raises(DataError, match=r"connected to \(OperationalError, connection refused"):
        fairaudit.audit(SPEC, "postgresql://me@127.0.0.1:9/none?table=people")
    with pytest.raises(DataError, match=r"connected to \(OperationalError, does not exist"):
        fairaudit.audit(SPEC, f"{postgres.rpartition('/')[0]}/none?table=people")


def test_postgresql_tells_texts_apart_whatever_their_column_takes_for_equal(postgres: str) -> None:
    dbapi = import_module("adbc_driver_postgresql.dbapi")
    alike = "provider = icu, locale = 'und-u-ks-level2', deterministic = false"
    with dbapi.connect(postgres) as link, link.cursor() as cursor:
        cursor.execute(f"CREATE COLLATION alike ({alike})")
        cursor.execute("CREATE TABLE letters (sex text COLLATE alike, age float8, y boolean)")
        cursor.executemany("INSERT INTO letters VALUES ($1, $2, $3)", LETTERS.rows())
        link.commit()
        cursor.execute("SELECT sex FROM letters GROUP BY sex")
        assert len(cursor.fetchall()) == 2
    assert said(AGES, f"{postgres}?table=letters") == said(AGES, LETTERS)


def test_postgresql_ends_a_statement_at_the_end_of_its_time(postgres: str) -> None:
    slow = "SELECT 'f' AS sex, 20.5::float8 AS age, true AS y FROM pg_sleep(600)"
    with pytest.raises(DataError, match=r"did not answer within 0\.5 s"):
        fairaudit.audit(AGES, f"{postgres}?query={slow}", timeout=0.5)


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    if find_spec("adbc_driver_postgresql") is None:
        pytest.skip("adbc_driver_postgresql is not installed")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"postgresql://me@127.0.0.1:{silent.getsockname()[1]}/db?table=people"
        with pytest.raises(DataError, match="did not answer within 1 s"):
            fairaudit.audit(AGES, address, timeout=1)


def test_quantiles_and_counts_of_postgresql_are_of_one_state(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dbapi = import_module("adbc_driver_postgresql.dbapi")
    frame = pl.DataFrame(MANY, schema=TYPES).drop("amount")

    def write() -> None:
        with dbapi.connect(postgres) as link, link.cursor() as cursor:
            cursor.execute("UPDATE moving SET age = age + 100, s = 1 - s")
            link.commit()

    with dbapi.connect(postgres) as link, link.cursor() as cursor:
        cursor.adbc_ingest("moving", frame.to_arrow(), mode="create")
        link.commit()
    write_between_passes(monkeypatch, write)
    address = f"{postgres}?table=moving"
    before = fairaudit.audit(CUT, address)
    assert re.search(r"PostgreSQL \(snapshot [0-9]+:[0-9]+:[0-9,]*\)", before.provenance.route)
    monkeypatch.undo()
    after = fairaudit.audit(CUT, address)
    of_frame = fairaudit.audit(CUT, frame)
    assert before.provenance.cube_sha256 == of_frame.provenance.cube_sha256
    assert after.provenance.cube_sha256 != of_frame.provenance.cube_sha256
    assert after.provenance.route != before.provenance.route
