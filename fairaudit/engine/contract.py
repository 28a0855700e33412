"""The interface of an `Engine`; its data: `Files` (of rows or of counts, never both), `Frame`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from fairaudit.columns import Cut, Quantile
from fairaudit.counts import CountedFile, Counts
from fairaudit.engine.database_addresses import Database
from fairaudit.errors import DataError, FairauditError, UsageError
from fairaudit.frozen import Frozen
from fairaudit.inputs import COUNTS_SUFFIX
from fairaudit.plan import Plan
from fairaudit.progress import Progress
from fairaudit.quantile_rounds import PartsOfSpan, Span


class Files(Frozen):
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


class Frame:
    """A data frame in memory, of any library that the engine reads.

    A stream that can be read but once is replaced by what it held.
    """

    def __init__(self, frame: Any) -> None:  # noqa: ANN401  # of any library
        self.frame = frame


Data: TypeAlias = Files | Frame | Database
"""What an engine reads."""

CountsOrError: TypeAlias = Counts | FairauditError
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

    def count(
        self, plans: Sequence[Plan], data: Data, progress: Progress
    ) -> Sequence[CountsOrError]:
        """The counts for each plan, or its error; plans of one format share passes if they can.

        Each holds the plan that it was counted by, which may be finer: recoding rolls it up.
        """
        ...

    def count_each(
        self, plan: Plan, files: Files, progress: Progress
    ) -> Mapping[str, CountsOrError]:
        """The counts of each file by its name (`name_files`); a file that fails has its error."""
        ...

    def locate_error(self, error: DataError, plan: Plan, data: Data) -> DataError:
        """The error with the place of the first row that it is about, where that can be found."""
        ...
