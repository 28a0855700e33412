"""Databases: dialects by scheme, connections; addresses, passwords refused in them, their names.

Add a database to `DIALECTS` here.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.masking import mask
from fairaudit.base.trust import refuse

if TYPE_CHECKING:
    import pyarrow as pa

_SECRETS = frozenset({"password", "passfile", "sslpassword", "token"})
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?")

_AGAIN = 0.05
_RETRIES = 3

OnProgress = Callable[[float], None]
"""Hears which share of a query is done, from 0 to 1."""

LimitedQuery = Callable[[str, float | None, OnProgress | None], "pa.Table"]
"""What comes of a query, ended with an error after so many seconds, unless that is None."""


class Database(Frozen):
    """A table of a database, or the rows of a query: `duckdb:///lake.db?table=loans`.

    A relative path starts from `base`. Who may read it is no matter of an address: passwords come
    from where its own programs take them. `opened` is what an engine that has opened it reads;
    `timeout` is the seconds that it has to answer all that an audit asks, None without a limit.
    """

    entry: str
    base: Path = Path()
    opened: Any = None
    timeout: float | None = None

    @classmethod
    def find(cls, entries: Sequence[str], base: Path) -> Database | None:
        """The database that an entry of `data` names; None where files are named.

        Raises `UsageError` where it is not the only one, or where it has a password.
        """
        named = [entry for entry in entries if _is_address(entry)]
        if not named:
            return None
        found = cls(named[0], base)
        if len(entries) > 1:
            raise UsageError("a database is audited by itself", "name it alone, or audit each")
        refuse(found.name, "databases and queries")
        if not found._can_be_read:
            what = f"{found.name}: this is no address of a database"
            hint = "postgresql://host:5432/db?table=NAME is one; % # & behind ? are %25 %23 %26"
            raise UsageError(what, hint)
        has_secret = not _SECRETS.isdisjoint(map(str.lower, found._parameters))
        if urlsplit(found.entry).password is not None or has_secret:
            what = f"{found.name}: a password has no place in an address, which reports print"
            hint = "PGPASSWORD or ~/.pgpass has it; of Spark, SPARK_CONNECT_AUTHENTICATE_TOKEN"
            raise UsageError(what, hint)
        return found

    @property
    def scheme(self) -> str:
        """The kind of database."""
        return urlsplit(self.entry).scheme

    @property
    def table(self) -> str | None:
        """The table, with its schema where that is named; None where a query is."""
        return self._parameters.get("table")

    @property
    def query(self) -> str | None:
        """The query whose rows are audited."""
        return self._parameters.get("query")

    @property
    def path(self) -> Path | None:
        """The file of the database; None where it has none."""
        path = unquote(urlsplit(self.entry).path).removeprefix("/")
        return self.base / path if path and self.scheme == "duckdb" else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read here: that of the database, where it has one."""
        return () if self.path is None else (self.path,)

    def address_with(self, defaults: Mapping[str, str]) -> str:
        """How a client connects, without what is ours; `defaults` give way to the address."""
        own = _pairs(urlsplit(self.entry).query)
        others = {k: v for k, v in own.items() if k not in {"table", "query"}}
        query = urlencode({**defaults, **others}, quote_via=quote)  # libpq reads + as itself
        return urlunsplit(urlsplit(self.entry)._replace(query=query))

    @property
    def name(self) -> str:
        """How reports name it: without a user, and what else only a server is told."""
        if not self._can_be_read:
            return f"{self.entry.partition('://')[0]}://…"
        parts = urlsplit(self.entry)
        own = {k: v for k, v in self._parameters.items() if k in {"table", "query"}}
        shown = "&".join(f"{name}={value}" for name, value in own.items())
        path = parts.path.partition(";")[0]
        return mask(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}?{shown}")

    @property
    def _parameters(self) -> dict[str, str]:
        """What stands behind `?`; of Spark Connect also behind `;`."""
        parts = urlsplit(self.entry)
        _, *others = parts.path.split(";")
        return {**_pairs("&".join(others)), **_pairs(parts.query)}

    @property
    def _can_be_read(self) -> bool:
        """Whether its host is one: a password that has a slash in it would stand there, too."""
        try:
            parts = urlsplit(self.entry)
        except ValueError:
            return False
        hosts = parts.netloc.rpartition("@")[2].split(",")
        has_user_beyond = bool(parts.netloc) and "@" in parts.path.partition(";")[0]
        return not (parts.fragment or has_user_beyond) and all(map(_HOST.fullmatch, hosts))


class Dialect(Frozen):
    """A database: the package that connects to it, how, and what its SQL says otherwise.

    The first columns of what `tables` gives are a schema and a table in it.
    """

    title: str
    package: str
    install: str
    """What pip is asked for."""
    connect: Callable[[Database], AbstractContextManager[LimitedQuery]]
    is_nan: str | None = None
    """A test of a number; None where none was tried: then numbers leave it uncut."""
    quote: str = '"'
    double: str = "DOUBLE PRECISION"
    tables: str | None = "SELECT table_schema, table_name FROM information_schema.tables"
    snapshot: str | None = None
    """What a query says of the state that it sees, where the database numbers its states."""
    exact_text: str = "{}"
    """A text that equals no other, whatever its column takes for equal, such as `f` and `F`."""
    letters: str | None = None
    """What differs for texts that are equal even so."""
    exact_float: str = "{}"
    """A single-precision number with all its digits."""
    takes_time_limit: bool = True
    """Whether a query of it can be given a time limit."""

    def quoted(self, name: str) -> str:
        """A name of a column, a table or a schema, whatever it holds."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


@contextmanager
def _duckdb(data: Database) -> Iterator[LimitedQuery]:
    import duckdb

    path = data.path
    if path is not None and not path.is_file():
        raise DataError(f"{data.name}: there is no file {path.name}", f"looked in {path.parent}")
    name, is_file = (":memory:", False) if path is None else (str(path), True)
    with closing(duckdb.connect(name, read_only=is_file)) as link:
        _distrust_statistics(link)
        # A query writes no file: neither an extension into the home folder, nor beside the data.
        link.execute("SET autoinstall_known_extensions = false")
        link.execute("SET temp_directory = ?", [tempfile.gettempdir()])
        link.execute("SET TimeZone = 'UTC'")  # times with a zone do not depend on the machine

        def ask(text: str, seconds: float | None, on_progress: OnProgress | None) -> pa.Table:
            (statement,) = link.extract_statements(text)
            with ExitStack() as stack:
                if seconds is not None:
                    stack.enter_context(_repeated(link.interrupt, seconds))
                if on_progress is not None:
                    link.execute("SET enable_progress_bar = true")
                    link.execute("SET enable_progress_bar_print = false")
                    stack.enter_context(_repeated(lambda: on_progress(link.query_progress() / 100)))
                return link.sql(statement.query).to_arrow_table()

        link.begin()
        yield ask


def _distrust_statistics(link: Any) -> None:  # noqa: ANN401  # its package may be missing
    """Keeps DuckDB from answering by the statistics of Parquet files, which leave NaN out."""
    link.execute("SET disabled_optimizers = 'statistics_propagation'")
    known = link.sql("SELECT 1 FROM duckdb_settings() WHERE name = 'parquet_can_have_nan'")
    if known.fetchall():  # of `WHERE`, from DuckDB 2.0.1 on
        link.execute("SET parquet_can_have_nan = true")


@contextmanager
def _repeated(action: Callable[[], object], after: float = 0.0) -> Iterator[None]:
    """Repeats an action from so many seconds on, until what is done within has ended.

    An interrupt before a query has begun would be of nothing, and so it is repeated.
    """
    ended = threading.Event()

    def watch() -> None:
        is_over = ended.wait(after)
        while not is_over:
            action()
            is_over = ended.wait(_AGAIN)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


@contextmanager
def _postgres(data: Database) -> Iterator[LimitedQuery]:
    from adbc_driver_postgresql import dbapi

    # libpq waits for two seconds at least.
    wait = {} if data.timeout is None else {"connect_timeout": str(max(2, ceil(data.timeout)))}
    with dbapi.connect(data.address_with(wait)) as link, link.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SET LOCAL TIME ZONE 'UTC'")

        def ask(text: str, seconds: float | None, _on_progress: OnProgress | None) -> pa.Table:
            if seconds is not None:
                cursor.execute(f"SET LOCAL statement_timeout = {ceil(seconds * 1000)}")
            cursor.execute(text)
            return cursor.fetch_arrow_table()

        yield ask


@contextmanager
def _spark(data: Database) -> Iterator[LimitedQuery]:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if data.scheme == "sc":
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session = builder.remote(data.address_with({})).create()
        # A server that does not answer is told within seconds: Spark's own patience is minutes.
        session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
    else:
        session = builder.master(data.address_with({})).appName("fairaudit").getOrCreate()
    session.conf.set("spark.sql.session.timeZone", "UTC")

    def ask(text: str, seconds: float | None, on_progress: OnProgress | None) -> pa.Table:
        with ExitStack() as stack:
            if seconds is not None:
                stack.enter_context(_repeated(session.interruptAll, seconds))
            if on_progress is not None and data.scheme == "sc":
                stack.enter_context(_connect_progress(session, on_progress))
            return session.sql(text).toArrow()

    try:
        yield ask
    finally:
        session.stop()


@contextmanager
def _connect_progress(session: Any, on_progress: OnProgress) -> Iterator[None]:  # noqa: ANN401  # as below
    """How many of its tasks are done, as a server of Spark Connect says it."""

    def hear(stages: Sequence[Any] | None, **_: object) -> None:
        tasks = sum(stage.num_tasks for stage in stages or ())
        if tasks:
            on_progress(sum(stage.num_completed_tasks for stage in stages or ()) / tasks)

    session.registerProgressHandler(hear)
    try:
        yield
    finally:
        session.removeProgressHandler(hear)


@contextmanager
def _ibis(
    data: Database, secrets: Mapping[str, str], options: Mapping[str, bool]
) -> Iterator[LimitedQuery]:
    """What Ibis connects to: it writes our SQL, which DuckDB would read, as its server reads it.

    `secrets` are options by the variable of the environment that has them; without it they are not
    given.
    """
    import ibis

    dialect = DIALECTS[data.scheme]
    found = {option: os.environ[name] for option, name in secrets.items() if name in os.environ}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of time zones that a server does not know
        try:
            link = ibis.connect(data.address_with({}), **options, **found)
        except ImportError as error:
            raise _lacks_package(data, dialect, "its driver") from error

    def ask(text: str, _seconds: float | None, _on_progress: OnProgress | None) -> pa.Table:
        return link.sql(text, dialect="duckdb").to_pyarrow()

    try:
        yield ask
    finally:
        link.disconnect()


def _of_ibis(
    scheme: str, title: str, secrets: Mapping[str, str], options: Mapping[str, bool] | None = None
) -> Dialect:
    connect = partial(_ibis, secrets=secrets, options=options or {})
    return Dialect(title, "ibis", f"'ibis-framework[{scheme}]'", connect, takes_time_limit=False)


_DUCKDB = Dialect(
    "DuckDB", "duckdb", "'fairaudit-cli[duckdb]'", _duckdb, "isnan({})",
    exact_text='CAST({} AS VARCHAR) COLLATE "binary"',
)  # fmt: skip
_POSTGRES = Dialect(
    "PostgreSQL", "adbc_driver_postgresql", "'fairaudit-cli[postgres]'", _postgres,
    "{} = 'NaN'::float8", snapshot="CAST(pg_current_snapshot() AS TEXT)",
    exact_text='CAST({} AS TEXT) COLLATE "C"',
)  # fmt: skip
_SPARK = Dialect(
    "Spark", "pyspark", "'fairaudit-cli[spark]'", _spark, "isnan({})", "`", "DOUBLE",
    "SHOW TABLES{within}",
)  # fmt: skip
_MYSQL = replace(
    _of_ibis("mysql", "MySQL", {"password": "MYSQL_PWD"}),
    is_nan="FALSE", letters="HEX({})", exact_float="CAST({} AS DOUBLE)",
)  # fmt: skip
_BIGQUERY = replace(_of_ibis("bigquery", "BigQuery", {}), tables=None)
_SNOWFLAKE = _of_ibis(
    "snowflake", "Snowflake", {"password": "SNOWFLAKE_PASSWORD"}, {"create_object_udfs": False}
)
DIALECTS = {
    "duckdb": _DUCKDB,
    "postgresql": _POSTGRES,
    "postgres": _POSTGRES,
    "sc": _SPARK,
    "spark": _SPARK,
    "mysql": _MYSQL,
    "snowflake": _SNOWFLAKE,
    "bigquery": _BIGQUERY,
    "clickhouse": _of_ibis("clickhouse", "ClickHouse", {"password": "CLICKHOUSE_PASSWORD"}),
    "trino": _of_ibis("trino", "Trino", {"auth": "TRINO_PASSWORD"}),
}


def dialect_of(data: Database) -> Dialect:
    """The dialect of an address.

    Raises `UsageError` where its package is not installed, or where it takes no time limit and
    the address has one.
    """
    from importlib.util import find_spec

    dialect = DIALECTS[data.scheme]
    if data.timeout is not None and not dialect.takes_time_limit:
        what = f"{data.name}: --timeout cannot end a query of {dialect.title}"
        raise UsageError(what, "leave it out; `timeout 600 fairaudit run SPEC` ends any command")
    if find_spec(dialect.package) is None:
        raise _lacks_package(data, dialect, f"the package {dialect.package}")
    return dialect


def _lacks_package(data: Database, dialect: Dialect, package: str) -> UsageError:
    what = f"{data.name}: reading {dialect.title} needs {package}"
    return UsageError(what, f"pip install {dialect.install}")


def name_entry(entry: str) -> str:
    """How reports name an entry of `data`: an address of a database as its `Database` does."""
    return Database(entry).name if _is_address(entry) else mask(entry)


def _is_address(entry: str) -> bool:
    return entry.partition("://")[0].lower() in DIALECTS


def _pairs(text: str) -> dict[str, str]:
    """The parameters of an address; a plus is one, as in SQL."""
    return dict(parse_qsl(text.replace("+", "%2B")))
