"""`Database`: schemes of addresses, how one is read, passwords refused, its name in reports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from fairaudit.errors import UsageError
from fairaudit.frozen import Frozen

_SCHEMES = (
    "duckdb", "postgresql", "postgres", "sc", "spark",
    "mysql", "snowflake", "bigquery", "clickhouse", "trino",
)  # fmt: skip
_SECRETS = frozenset({"password", "passfile", "sslpassword", "token"})
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:\d*)?")


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
        if not found._can_be_read:
            what = f"{found.name}: this is no address of a database"
            hint = "postgresql://host:5432/db?table=NAME is one; % # & behind ? are %25 %23 %26"
            raise UsageError(what, hint)
        if urlsplit(found.entry).password is not None or found._has_secret:
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
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{path}?{shown}"

    @property
    def _parameters(self) -> dict[str, str]:
        """What stands behind `?`; of Spark Connect also behind `;`."""
        parts = urlsplit(self.entry)
        _, *others = parts.path.split(";")
        return {**_pairs("&".join(others)), **_pairs(parts.query)}

    @property
    def _has_secret(self) -> bool:
        return not _SECRETS.isdisjoint(map(str.lower, self._parameters))

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


def name_entry(entry: str) -> str:
    """How reports name an entry of `data`: an address of a database as its `Database` does."""
    return Database(entry).name if _is_address(entry) else entry


def _is_address(entry: str) -> bool:
    return entry.partition("://")[0].lower() in _SCHEMES


def _pairs(text: str) -> dict[str, str]:
    """The parameters of an address; a plus is one, as in SQL."""
    return dict(parse_qsl(text.replace("+", "%2B")))
