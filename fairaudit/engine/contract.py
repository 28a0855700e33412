"""What the pipeline asks of an engine: to find quantiles, to count, and to locate errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from fairaudit.counts import CountedFile, Counts
from fairaudit.cut_rounds import PartsOfSpan, Span
from fairaudit.errors import DataError, FairauditError, UsageError
from fairaudit.inputs import COUNTS_SUFFIX
from fairaudit.plan import Plan
from fairaudit.progress import Progress
from fairaudit.spec import Cut, Quantile


@dataclass(frozen=True, slots=True)
class Files:
    """The files that paths, folders and globs name; relative ones start from `base`."""

    entries: tuple[str, ...]
    base: Path = Path()

    @property
    def are_counts(self) -> bool:
        """Whether they hold counts, by their names, and not rows; some of each is an error."""
        stored = [entry.lower().endswith(COUNTS_SUFFIX) for entry in self.entries]
        if any(stored) and not all(stored):
            what = "the data are files of rows and files of counts"
            raise UsageError(what, "count the rows, too: fairaudit count SPEC -o part.counts")
        return any(stored)


FRAME_NAME = "<data frame>"
"""What stands in place of a path."""


@dataclass(slots=True)
class Frame:
    """A data frame in memory, of any library that the engine reads.

    A stream that can be read but once is replaced by what it held.
    """

    frame: Any


_SCHEMES = ("duckdb", "postgresql", "postgres", "sc", "spark")
_SECRETS = frozenset({"password", "passfile", "sslpassword", "token"})


@dataclass(frozen=True, slots=True)
class Database:
    """A table of a database, or the rows of a query: `duckdb:///lake.db?table=loans`.

    A relative path starts from `base`. Who may read it is no matter of an address: passwords come
    from where its own programs take them. `opened` is what an engine that has opened it reads;
    `timeout` is the seconds that it has to answer all that an audit asks, None without a limit.
    """

    entry: str
    base: Path = Path()
    opened: Any = field(default=None, compare=False, repr=False)
    timeout: float | None = None

    @classmethod
    def find(cls, entries: Sequence[str], base: Path) -> Database | None:
        """The database that an entry of `data` names; None where files are named.

        Raises `UsageError` where it is not the only one, or where it has a password.
        """
        named = [entry for entry in entries if entry.partition("://")[0].lower() in _SCHEMES]
        if not named:
            return None
        found = cls(named[0], base)
        if len(entries) > 1:
            raise UsageError("a database is audited by itself", "name it alone, or audit each")
        if urlsplit(found.entry).password is not None or _SECRETS & {*found._parameters}:
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
        own = dict(parse_qsl(urlsplit(self.entry).query))
        others = {k: v for k, v in own.items() if k not in {"table", "query"}}
        others = {**defaults, **others}
        return urlunsplit(urlsplit(self.entry)._replace(query=urlencode(others)))

    @property
    def name(self) -> str:
        """How reports name it: without a user."""
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
        return {**dict(parse_qsl("&".join(others))), **dict(parse_qsl(parts.query))}


Data: TypeAlias = Files | Frame | Database
"""What an engine reads."""

Outcome: TypeAlias = Counts | FairauditError
"""What comes of a pass: counts, or why there are none."""


class Engine(Protocol):
    """Reads data and counts it; equal data gives equal counts, whatever the engine.

    Every method raises `FairauditError` where the data cannot be read.
    """

    def open(self, data: Database) -> AbstractContextManager[Database]:
        """The database as all passes over it see it: what is written meanwhile is in none."""
        ...

    def find_cuts(
        self, plan: Plan, quantiles: Sequence[Quantile], data: Data, progress: Progress
    ) -> Mapping[Quantile, Cut]:
        """The quantiles of columns, over the rows that the plan's filter keeps."""
        ...

    def find_parts(
        self, plan: Plan, spans: Sequence[Span], data: Data, progress: Progress
    ) -> tuple[int, Sequence[PartsOfSpan], tuple[CountedFile, ...]]:
        """The rows that the filter keeps, the people in the parts of each span, and the files.

        The part of a value must hang on the value and the span alone.
        """
        ...

    def count(self, plans: Sequence[Plan], data: Data, progress: Progress) -> Sequence[Outcome]:
        """The counts for each plan, or its error; plans of one format share passes if they can.

        Each holds the plan that it was counted by, which may be finer: recoding rolls it up.
        """
        ...

    def count_each(self, plan: Plan, files: Files, progress: Progress) -> Mapping[str, Outcome]:
        """The counts of each file by its name (`name_files`); a file that fails has its error."""
        ...

    def locate_error(self, error: DataError, plan: Plan, data: Data) -> DataError:
        """The error with the place of the first row that it is about, where that can be found."""
        ...
