"""What the pipeline asks of an engine: to find quantiles, to count, and to locate errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from fairaudit.counts import Counts
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


Data: TypeAlias = Files | Frame
"""What an engine reads."""

Outcome: TypeAlias = Counts | FairauditError
"""What comes of a pass: counts, or why there are none."""


class Engine(Protocol):
    """Reads data and counts it; equal data gives equal counts, whatever the engine.

    Every method raises `FairauditError` where the data cannot be read.
    """

    def find_cuts(
        self, plan: Plan, quantiles: Sequence[Quantile], data: Data, progress: Progress
    ) -> Mapping[Quantile, Cut]:
        """The quantiles of columns, over the rows that the plan's filter keeps."""
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
