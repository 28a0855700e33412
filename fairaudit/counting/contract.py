"""The interface of an `Engine`, which reads data and counts it for a plan."""

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
CountsOrError: TypeAlias = Counts | FairauditError


class Engine(Protocol):
    """Reads data and counts it; the same data has the same counts in every engine.

    A pass is one reading of the data from the first to the last row. All methods except `count`
    raise `FairauditError` if the data cannot be read.
    """

    def open(self, data: Database) -> AbstractContextManager[Database]:
        """The database in one transaction: no pass sees rows that are written in the meantime."""
        ...

    def find_cuts(
        self, plan: Plan, quantiles: Sequence[Quantile], data: Data, progress: Progress
    ) -> Mapping[Quantile, Cut]:
        """The value of each quantile of a column, over the rows that the plan's filter keeps."""
        ...

    def count(
        self, plans: Sequence[Plan], data: Data, progress: Progress
    ) -> Sequence[CountsOrError]:
        """The counts for each plan, or the error that prevented the counts.

        Plans with the same file format may share a pass. Then `Counts.plan` is the joint plan,
        which may have finer levels; recoding adds these levels up.
        """
        ...

    def locate_error(self, error: DataError, plan: Plan, data: Data) -> DataError:
        """The error with the place of the first faulty row, if that row can be found."""
        ...
