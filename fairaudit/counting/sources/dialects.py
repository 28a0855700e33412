"""Databases: addresses (without passwords), connections, and the SQL dialect of each database.

To add a database, write a subclass of `Dialect`, and add it to `DIALECTS`.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from math import ceil, inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.base.masking import mask
from fairaudit.base.trust import refuse

if TYPE_CHECKING:
    import pyarrow as pa

_SECRETS = frozenset({"password", "passfile", "sslpassword", "token"})
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?")

_AGAIN = 0.05
_RETRIES = 3
_IDLE = 45.0

OnProgress = Callable[[float], None]
"""A function that is called with the share of a query that is done, from 0 to 1."""

ColumnTypes = list[tuple[str, str]]
"""The name of each column, and the server's name of its type."""


class Link(NamedTuple):
    """A connection to a database.

    `ask` runs a query. Its second argument is the number of seconds after which the query fails;
    None without a limit. `name_types` returns the columns and types of a table or subquery.
    """

    ask: Callable[[str, float | None, OnProgress | None], pa.Table]
    name_types: Callable[[str, Callable[[str], pa.Table]], ColumnTypes]


class Database(Frozen):
    """The address of a table or query in a database, such as `duckdb:///lake.db?table=loans`.

    A relative path starts from `base`. An address cannot contain a password; drivers read passwords
    from the usual variables or files. `opened` is the open table of an engine; None if the table is
    not open. `timeout` is the limit in seconds for all queries of an audit together; None without a
    limit.
    """

    entry: str
    base: Path = Path()
    opened: Any = None
    timeout: float | None = None

    @classmethod
    def find(cls, entries: Sequence[str], base: Path) -> Database | None:
        """The database that an entry of `data` names; None if no entry names a database.

        Raises `UsageError` if there are other entries, or if the address contains a password.
        """
        named = [entry for entry in entries if _is_address(entry)]
        if not named:
            return None
        found = cls(named[0], base)
        if len(entries) > 1:
            raise UsageError(
                "a database cannot be combined with other data",
                "name one database, or run one audit for each",
            )
        refuse(found.name, "databases and queries")
        if not found._can_be_read:
            what = f"{found.name}: this is not a database address"
            hint = (
                "for example postgresql://host:5432/db?table=NAME; after the ?, write %25 %23 "
                "%26 for % # &"
            )
            raise UsageError(what, hint)
        has_secret = not _SECRETS.isdisjoint(map(str.lower, found._parameters))
        if urlsplit(found.entry).password is not None or has_secret:
            what = f"{found.name}: an address cannot contain a password, because reports print it"
            hint = "set it in a variable, such as PGPASSWORD or MYSQL_PWD: see docs/engines.md"
            raise UsageError(what, hint)
        return found

    @property
    def scheme(self) -> str:
        """The kind of database; the driver in `postgresql+psycopg2` is ignored."""
        return urlsplit(self.entry).scheme.partition("+")[0]

    @property
    def table(self) -> str | None:
        """The table, with its schema if the address names it; None for a query."""
        return self._parameters.get("table")

    @property
    def query(self) -> str | None:
        """The query that returns the rows to audit; None for a table."""
        return self._parameters.get("query")

    @property
    def path(self) -> Path | None:
        """The file of a DuckDB or SQLite database; None for other databases."""
        path = unquote(urlsplit(self.entry).path).removeprefix("/")
        return self.base / path if path and self.scheme in {"duckdb", "sqlite"} else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The file of the database, if any."""
        return () if self.path is None else (self.path,)

    def address_with(self, defaults: Mapping[str, str]) -> str:
        """The address for a driver: without `table` and `query`, with any missing `defaults`."""
        own = _pairs(urlsplit(self.entry).query)
        others = {k: v for k, v in own.items() if k not in {"table", "query"}}
        query = urlencode({**defaults, **others}, quote_via=quote)  # for libpq a + is not a space
        return urlunsplit(urlsplit(self.entry)._replace(scheme=self.scheme, query=query))

    @property
    def name(self) -> str:
        """The address in reports, without the user and the parameters of the connection."""
        if not self._can_be_read:
            return f"{self.entry.partition('://')[0]}://…"
        parts = urlsplit(self.entry)
        own = {k: v for k, v in self._parameters.items() if k in {"table", "query"}}
        shown = "&".join(f"{name}={value}" for name, value in own.items())
        path = parts.path.partition(";")[0]
        return mask(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}?{shown}")

    @property
    def _parameters(self) -> dict[str, str]:
        """The parameters after `?`, and (for Spark Connect) after `;`."""
        parts = urlsplit(self.entry)
        _, *others = parts.path.split(";")
        return {**_pairs("&".join(others)), **_pairs(parts.query)}

    @property
    def _can_be_read(self) -> bool:
        """Whether the address is split correctly: a `/` or `#` in a password would split it."""
        try:
            parts = urlsplit(self.entry)
        except ValueError:
            return False
        hosts = parts.netloc.rpartition("@")[2].split(",")
        has_user_in_path = bool(parts.netloc) and "@" in parts.path.partition(";")[0]
        return not (parts.fragment or has_user_in_path) and all(map(_HOST.fullmatch, hosts))


class Dialect:
    """A kind of database: the `package` that connects to it, and its variants of SQL."""

    title: str
    package: str
    install: str
    """The argument of `pip install`."""
    is_nan: str | None = None
    """A test whether a number is NaN. None if unknown; the database then does not cut numbers."""
    quote: str = '"'
    double: str = "DOUBLE PRECISION"
    single: str = "REAL"
    tables: str | None = "SELECT table_schema, table_name FROM information_schema.tables"
    """A query for all tables: first the column of schemas, then the column of tables."""
    snapshot: str | None = None
    """An expression for the number of the state that a query sees, if states have numbers."""
    as_text: str = "CAST({} AS VARCHAR)"
    """Converts any value to a text."""
    exact_text: str = "{}"
    """Converts a text so that GROUP BY separates texts such as `f` and `F`."""
    letters: str | None = None
    """An additional expression to group texts by, if `exact_text` does not separate them."""
    takes_time_limit: bool = True
    """Whether a query can have a time limit."""

    def connect(self, data: Database) -> AbstractContextManager[Link]:
        """A connection in one transaction."""
        raise NotImplementedError

    def quoted(self, name: str) -> str:
        """The quoted name of a column, a table or a schema."""
        return self.quote + name.replace(self.quote, 2 * self.quote) + self.quote


class _DuckDB(Dialect):
    title, package, install = "DuckDB", "duckdb", "'fairaudit-cli[duckdb]'"
    is_nan = "isnan({})"
    exact_text = 'CAST({} AS VARCHAR) COLLATE "binary"'

    @contextmanager
    def connect(self, data: Database) -> Iterator[Link]:
        import duckdb

        path = _find_file(data)
        name, is_file = (":memory:", False) if path is None else (str(path), True)
        with closing(duckdb.connect(name, read_only=is_file)) as link:
            _distrust_statistics(link)
            # A query must not write files: extensions into the home folder, or next to the data.
            link.execute("SET autoinstall_known_extensions = false")
            link.execute("SET temp_directory = ?", [tempfile.gettempdir()])
            link.execute("SET TimeZone = 'UTC'")  # independent of the time zone of this machine

            def ask(text: str, seconds: float | None, on_progress: OnProgress | None) -> pa.Table:
                (statement,) = link.extract_statements(text)
                with ExitStack() as stack:
                    if seconds is not None:
                        stack.enter_context(_repeated(link.interrupt, seconds))
                    if on_progress is not None:
                        link.execute("SET enable_progress_bar = true")
                        link.execute("SET enable_progress_bar_print = false")
                        stack.enter_context(
                            _repeated(lambda: on_progress(link.query_progress() / 100))
                        )
                    return link.sql(statement.query).to_arrow_table()

            link.begin()
            yield Link(ask, partial(_describe, "DESCRIBE SELECT * FROM {}"))


def _find_file(data: Database) -> Path | None:
    """The file of a database; raises `DataError` if it does not exist."""
    path = data.path
    if path is not None and not path.is_file():
        masked = Path(mask(str(path)))  # mask the whole path: its parts do not look like an address
        what = f"{data.name}: the file {masked.name} does not exist"
        raise DataError(what, f"check the path; looked in {masked.parent}")
    return path


def _describe(statement: str, source: str, ask: Callable[[str], pa.Table]) -> ColumnTypes:
    """The types of the columns, from a statement whose first result columns are name and type."""
    names, types, *_ = ask(statement.format(source)).to_pydict().values()
    return [*zip(names, types, strict=True)]


def _distrust_statistics(link: Any) -> None:  # noqa: ANN401  # its package may be missing
    """Keeps DuckDB from using the statistics of Parquet files, which ignore NaN."""
    link.execute("SET disabled_optimizers = 'statistics_propagation'")
    known = link.sql("SELECT 1 FROM duckdb_settings() WHERE name = 'parquet_can_have_nan'")
    if known.fetchall():  # from DuckDB 2.0.1 on
        link.execute("SET parquet_can_have_nan = true")


@contextmanager
def _repeated(action: Callable[[], object], after: float = 0.0) -> Iterator[None]:
    """Repeats an action until the `with` block ends; the first call is after `after` seconds.

    A single call would not be enough: an interrupt has no effect before the query begins.
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


class _PostgreSQL(Dialect):
    title, package = "PostgreSQL", "adbc_driver_postgresql"
    install = "'fairaudit-cli[postgres]'"
    is_nan = "{} = 'NaN'::float8"
    snapshot = "CAST(pg_current_snapshot() AS TEXT)"
    exact_text = 'CAST({} AS TEXT) COLLATE "C"'
    tables = (
        "SELECT relnamespace::regnamespace::text, relname::text FROM pg_class "
        "WHERE relkind IN ('r', 'v', 'm', 'p', 'f')"
    )

    @contextmanager
    def connect(self, data: Database) -> Iterator[Link]:
        from adbc_driver_postgresql import dbapi

        # The shortest time limit of libpq is two seconds.
        wait = {} if data.timeout is None else {"connect_timeout": str(max(2, ceil(data.timeout)))}
        with dbapi.connect(data.address_with(wait)) as link, link.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            cursor.execute("SET LOCAL TIME ZONE 'UTC'")

            def ask(text: str, seconds: float | None, _on_progress: OnProgress | None) -> pa.Table:
                if seconds is not None:
                    cursor.execute(f"SET LOCAL statement_timeout = {ceil(seconds * 1000)}")
                try:
                    cursor.execute(text)
                    return cursor.fetch_arrow_table()
                except dbapi.Error:
                    link.rollback()  # otherwise the server would refuse the query for table names
                    raise

            def name_types(source: str, query: Callable[[str], pa.Table]) -> ColumnTypes:
                names = query(f"SELECT * FROM {source} LIMIT 0").column_names
                asked = ", ".join(f"pg_typeof(t.{self.quoted(name)})::text" for name in names)
                # `pg_typeof` needs a row, so the join makes one in which all values are null.
                none = f"(SELECT 1) AS one LEFT JOIN (SELECT * FROM {source} LIMIT 0) AS t ON true"
                types = query(f"SELECT {asked} FROM {none}")
                return [*zip(names, (column[0].as_py() for column in types.columns), strict=True)]

            yield Link(ask, name_types)


class _MySQL(Dialect):
    title, package, install = "MySQL", "pymysql", "'fairaudit-cli[mysql]'"
    is_nan, quote, double, single = "FALSE", "`", "DOUBLE", "FLOAT"
    as_text, letters = "{}", "HEX({})"
    takes_time_limit = False

    @contextmanager
    def connect(self, data: Database) -> Iterator[Link]:
        import pyarrow as pa
        import pymysql

        # Without decoders, each value is the text from the server, without loss.
        options = {"charset": "utf8mb4", **_list_options(data, "user", "MYSQL_PWD")}
        link = pymysql.connect(**options, conv=pymysql.converters.encoders)
        with closing(link), link.cursor() as cursor:
            cursor.execute("SET time_zone = '+00:00'")
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")

            def ask(text: str, _seconds: float | None, _on_progress: OnProgress | None) -> pa.Table:
                cursor.execute(text)
                return _to_table(cursor, pa.string())

            def name_types(source: str, query: Callable[[str], pa.Table]) -> ColumnTypes:
                query(f"SELECT * FROM {source} LIMIT 0")
                # The types are only in these private fields; the character set 63 means bytes.
                fields = cursor._result.fields  # noqa: SLF001
                texts = {True: "BLOB", False: "TEXT"}
                return [
                    (field.name, _MYSQL_TYPES.get(field.type_code, texts[field.charsetnr == 63]))
                    for field in fields
                ]

            yield Link(ask, name_types)


_MYSQL_TYPES = {
    0: "DECIMAL", 1: "TINYINT", 2: "SMALLINT", 3: "INT", 4: "FLOAT", 5: "DOUBLE", 7: "TIMESTAMP",
    8: "BIGINT", 9: "MEDIUMINT", 10: "DATE", 11: "TIME", 12: "DATETIME", 13: "YEAR", 16: "BIT",
    245: "JSON", 246: "DECIMAL", 255: "GEOMETRY",
}  # fmt: skip
"""The types by their numbers in the protocol; all other numbers mean texts or bytes."""


class _SQLite(Dialect):
    title, package, install = "SQLite", "sqlite3", "python"
    exact_text = "{} COLLATE BINARY"
    tables = "SELECT 'main', name FROM sqlite_master WHERE type IN ('table', 'view')"

    @contextmanager
    def connect(self, data: Database) -> Iterator[Link]:
        import sqlite3

        path = _find_file(data) or data.base
        link = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
        with closing(link):
            link.execute("BEGIN")

            def ask(text: str, seconds: float | None, _on_progress: OnProgress | None) -> pa.Table:
                with ExitStack() as stack:
                    if seconds is not None:
                        stack.enter_context(_repeated(link.interrupt, seconds))
                    return _to_table(link.execute(text))

            def name_types(source: str, query: Callable[[str], pa.Table]) -> ColumnTypes:
                # In SQLite, values may differ from the declared type: ask for the types of values.
                names = query(f"SELECT * FROM {source} LIMIT 0").column_names
                columns = ", ".join(_SQLITE_TYPES.format(self.quoted(name)) for name in names)
                types = []
                for found in query(f"SELECT {columns} FROM {source}").columns:
                    kinds = {*(found[0].as_py() or "null").split(",")}
                    if "real" not in kinds:
                        kinds = {kind.removeprefix("large ") for kind in kinds}
                    types.append(" and ".join(sorted(kinds - {"null"})) or "null")
                return [*zip(names, types, strict=True)]

            yield Link(ask, name_types)


_SQLITE_TYPES = (
    "group_concat(DISTINCT CASE WHEN typeof({0}) = 'integer' AND {0} NOT BETWEEN "
    "-9007199254740992 AND 9007199254740992 THEN 'large integer' ELSE typeof({0}) END)"
)
"""The types of the values in a column; large integers are not exact as real numbers."""


def _to_table(cursor: Any, kind: pa.DataType | None = None) -> pa.Table:  # noqa: ANN401  # of a driver
    """The rows of a cursor; all columns have the type `kind`, or the type of their values."""
    import pyarrow as pa

    columns = [*zip(*cursor.fetchall(), strict=True)] or [()] * len(cursor.description)
    names = [field[0] for field in cursor.description]
    return pa.table([pa.array(values, kind) for values in columns], names)


class _ClickHouse(Dialect):
    title, package = "ClickHouse", "clickhouse_connect"
    install = "'fairaudit-cli[clickhouse]'"
    tables, as_text = "SELECT database, name FROM system.tables", "toString({})"
    takes_time_limit = False

    @contextmanager
    def connect(self, data: Database) -> Iterator[Link]:
        import clickhouse_connect

        options = _list_options(data, "username", "CLICKHOUSE_PASSWORD")
        link = clickhouse_connect.get_client(**options)

        def ask(text: str, _seconds: float | None, _on_progress: OnProgress | None) -> pa.Table:
            return link.query_arrow(text, use_strings=True)

        with closing(link):
            yield Link(ask, partial(_describe, "DESCRIBE (SELECT * FROM {})"))


def _list_options(data: Database, user: str, secret: str) -> dict[str, Any]:
    """The arguments of a driver, from an address.

    `user` is the driver's name for the argument with the user name. `secret` is the variable that
    has the password.
    """
    address = urlsplit(data.address_with({}))
    given = {
        key: int(value) if value.isdecimal() else {"true": True, "false": False}.get(value, value)
        for key, value in _pairs(address.query).items()
    }
    named = {
        user: unquote(address.username or ""),
        "host": address.hostname,
        "port": address.port,
        "database": unquote(address.path.strip("/")),
        "password": os.environ.get(secret),
    }
    return {**given, **{key: value for key, value in named.items() if value}}


class _Spark(Dialect):
    title, package, install = "Spark", "pyspark", "'fairaudit-cli[spark]'"
    is_nan, quote, double = "isnan({})", "`", "DOUBLE"
    tables, as_text = "SHOW TABLES{within}", "CAST({} AS STRING)"

    @contextmanager
    def connect(self, data: Database) -> Iterator[Link]:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder
        if data.scheme == "sc":
            from pyspark.sql.connect.client.retries import DefaultPolicy

            session = builder.remote(data.address_with({})).create()
            # By default, Spark waits for several minutes if a server does not answer.
            session.client.set_retry_policies([DefaultPolicy(max_retries=_RETRIES)])
        else:
            session = builder.master(data.address_with({})).appName("fairaudit").getOrCreate()
        session.conf.set("spark.sql.session.timeZone", "UTC")

        def ask(text: str, seconds: float | None, on_progress: OnProgress | None) -> pa.Table:
            with _watch_tasks(data, session, seconds, on_progress):
                return session.sql(text).toArrow()

        def name_types(source: str, _: object) -> ColumnTypes:
            with _watch_tasks(data, session, data.timeout, None):  # Spark may read footers of files
                fields = session.sql(f"SELECT * FROM {source} LIMIT 0").schema
            return [(field.name, field.dataType.simpleString()) for field in fields]

        try:
            yield Link(ask, name_types)
        finally:
            session.stop()


@contextmanager
def _watch_tasks(
    data: Database,
    session: Any,  # noqa: ANN401  # its package may be missing
    seconds: float | None,
    on_progress: OnProgress | None,
) -> Iterator[None]:
    """Reports the progress of a Spark query, and ends the query after a number of seconds.

    Spark waits for workers without end. So without a time limit, the query ends with `DataError` if
    it has tasks but no task runs for `_IDLE` seconds.
    """
    idle_since, are_gone = inf, False

    def note(tasks: int, running: int) -> None:
        nonlocal idle_since, are_gone
        is_idle = data.timeout is None and tasks and not running
        idle_since = min(idle_since, time.monotonic()) if is_idle else inf
        if time.monotonic() - idle_since >= _IDLE:
            are_gone = True
            end()

    def hear(stages: Sequence[Any] | None, inflight_tasks: int, **_: object) -> None:
        tasks = sum(stage.num_tasks for stage in stages or ())
        done = sum(stage.num_completed_tasks for stage in stages or ())
        note(tasks - done, inflight_tasks)
        if on_progress is not None and tasks:
            on_progress(done / tasks)

    def look() -> None:
        tracker = session.sparkContext.statusTracker()
        stages = [*filter(None, map(tracker.getStageInfo, tracker.getActiveStageIds()))]
        note(len(stages), sum(stage.numActiveTasks for stage in stages))

    with ExitStack() as stack:
        if data.scheme == "sc":
            end = session.interruptAll
            session.registerProgressHandler(hear)
            stack.callback(session.removeProgressHandler, hear)
        else:
            end = session.sparkContext.cancelAllJobs
            stack.enter_context(_repeated(look))
        if seconds is not None:
            stack.enter_context(_repeated(end, seconds))
        try:
            yield
        except Exception as error:
            if not are_gone:
                raise
            what = f"{data.name}: no worker of the cluster has run a task for {_IDLE:g} s"
            hint = "start workers; --timeout 600 waits longer for a cluster that starts them itself"
            raise DataError(what, hint) from error


DIALECTS: dict[str, Dialect] = {
    "duckdb": _DuckDB(),
    "postgresql": _PostgreSQL(),
    "postgres": _PostgreSQL(),
    "sc": _Spark(),
    "spark": _Spark(),
    "mysql": _MySQL(),
    "mariadb": _MySQL(),
    "clickhouse": _ClickHouse(),
    "sqlite": _SQLite(),
}


def dialect_of(data: Database) -> Dialect:
    """The dialect of a database.

    Raises `UsageError` if its package is not installed, or if `data` has a time limit that the
    dialect does not support.
    """
    from importlib.util import find_spec

    dialect = DIALECTS[data.scheme]
    if data.timeout is not None and not dialect.takes_time_limit:
        what = f"{data.name}: --timeout cannot end a query of {dialect.title}"
        raise UsageError(what, "leave it out; `timeout 600 fairaudit run SPEC` ends any command")
    if find_spec(dialect.package) is None:
        what = f"{data.name}: reading {dialect.title} needs the package {dialect.package}"
        raise UsageError(what, f"pip install {dialect.install}")
    return dialect


def name_entry(entry: str) -> str:
    """The name of an entry of `data` in reports, without secrets."""
    return Database(entry).name if _is_address(entry) else mask(entry)


def _is_address(entry: str) -> bool:
    scheme, sign, _ = entry.partition("://")
    return bool(sign) and scheme.lower().partition("+")[0] in DIALECTS


def _pairs(text: str) -> dict[str, str]:
    """The parameters of an address; a `+` does not mean a space."""
    return dict(parse_qsl(text.replace("+", "%2B")))
