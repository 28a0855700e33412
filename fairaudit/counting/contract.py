"""The interface of an `Engine`: what it reads, what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from fairaudit.base.errors import DataError, FairauditError
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import Cut, Quantile
from fairaudit.counting.counts import Counts
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import Frame
from fairaudit.counting.sources.dialects import Database
from fairaudit.counting.sources.files import Files

Data: TypeAlias = Files | Frame | Database
"""The data that an engine reads."""

CountsOrError: TypeAlias = Counts | FairauditError
"""The result of a pass: counts, or the error."""


class Engine(Protocol):
    """Reads data and counts it; equal data gives equal counts in every engine.

    Every method raises `FairauditError` if the data cannot be read.
    """

    def open(self, data: Database) -> AbstractContextManager[Database]:
        """The database as all passes over it see it: what is written meanwhile is in none."""
        ...

    def find_cuts(
        self, plan: Plan, quantiles: Sequence[Quantile], data: Data, progress: Progress
    ) -> Mapping[Quantile, Cut]:
        """The quantiles of columns, over the rows that the plan's filter keeps."""
        ...

    def count(
        self, plans: Sequence[Plan], data: Data, progress: Progress
    ) -> Sequence[CountsOrError]:
        """The counts for each plan, or its error; plans of one format share passes if they can.

        Each holds the plan that it was counted by, which may be finer: recoding rolls it up.
        """
        ...

    def locate_error(self, error: DataError, plan: Plan, data: Data) -> DataError:
        """The error with the place of the first row that it is about, where that can be found."""
        ...
