"""`DryRun` and `Verification`: the types of what `check` and `verify` find, and their exit codes.

A dry run holds no rate, no value and no verdict; of a report to publish, what that publishes.
"""

from __future__ import annotations

from typing import Annotated

from fairaudit.base.errors import NOTHING_EVALUATED, Place
from fairaudit.base.frozen import Frozen
from fairaudit.base.json_marks import FLAT, Member
from fairaudit.base.notice import Notice
from fairaudit.cube import Group, Grouping
from fairaudit.evidence.practice import DetectableGap
from fairaudit.judge import AnyCheck, NotEvaluated


class LevelPreview(Frozen):
    """A level of the audit: its rows and people, and the levels of the data that it includes.

    `sources` is empty for a part of a number; None in it is a missing value. `role` is positive or
    negative for a class; for rows outside all groups it says how they are treated. A suppressed `n`
    has no value (None). `is_rare` marks groups that are not compared, or should not be compared,
    because they are small.
    """

    level: str
    n: int | None
    sources: tuple[str | None, ...] = ()
    role: str = ""
    is_rare: bool = False


class ColumnPreview(Frozen):
    """A column of the spec: its role, where it is read and how, and its levels if it has such."""

    name: str
    role: str
    columns: tuple[str, ...]
    reading: str
    levels: tuple[LevelPreview, ...] = ()


class ColumnReading(Frozen):
    """The content of a column of the first file: its kind, range, blanks and frequent values.

    `kind` is text, numbers, dates, or several of them; `low` and `high` are numbers or dates.
    `blank` is the share of rows without a value.
    """

    column: str
    kind: str
    low: str
    high: str
    blank: float
    distinct: int
    examples: tuple[str, ...]


class GroupingPreview(Frozen):
    """The known groups of a grouping: their number, how many are compared, and the smallest group.

    `empty` are combinations of levels without people. The smallest group has `n` people with a
    known outcome `of`. If `n` and `compared` are suppressed, they have no value (None).
    """

    by: Grouping
    of: str
    groups: int
    empty: int
    compared: int | None
    smallest: Group
    n: int | None


class CheckPreview(Frozen):
    """A check before the run: whether it can be evaluated, and otherwise why not.

    `is_evaluable` has no value (None) without data. `not_judged` are the groups that the check
    leaves out. `detectable` is the gap that the test detects for the smallest group, if it is
    known, and `finds_limit` says whether a gap as wide as the limit would be detected for every
    group.
    """

    check: Annotated[AnyCheck, FLAT]
    limit: str
    is_evaluable: bool | None = None
    why: Annotated[str, Member("reason")] = ""
    not_judged: tuple[NotEvaluated, ...] = ()
    detectable: DetectableGap | None = None
    finds_limit: bool | None = None


class Cost(Frozen):
    """The cost of the audit: rows and bytes to read, cells to count, and passes over the data.

    `further_passes` are passes before or after the count, with their purpose. Suppressed numbers
    have no value (None).
    """

    rows: int | None
    bytes: int | None
    cells: int | None
    route: str
    further_passes: tuple[str, ...] = ()


class DryRun(Frozen):
    """The plan of a run, without its results; `cost` is missing if no data was read.

    `notation` says how the first file is written, `readings` what its columns hold; a report to
    publish and data that are not files have neither.
    """

    spec: str
    title: str
    data: tuple[str, ...]
    columns: tuple[ColumnPreview, ...]
    checks: tuple[CheckPreview, ...]
    groupings: tuple[GroupingPreview, ...] = ()
    notices: tuple[Notice, ...] = ()
    cost: Cost | None = None
    readings: tuple[ColumnReading, ...] = ()
    notation: str = ""

    @property
    def evaluable(self) -> Annotated[int, Member("summary.evaluable")]:
        """How many checks can be evaluated."""
        return sum(check.is_evaluable is True for check in self.checks)

    @property
    def exit_code(self) -> Annotated[int, Member("summary.exit_code")]:
        """0, or 3 where there are checks and none can be evaluated, as of a run."""
        is_open = self.cost is not None and self.checks and not self.evaluable
        return NOTHING_EVALUATED if is_open else 0


class TableFault(Frozen):
    """What cannot be true: by which rule, of which group, in which row, and why."""

    rule: str
    place: Place
    group: Group
    message: str


class UnreadCell(Frozen):
    """A cell that should hold a count, a rate or a ratio, but is not a number."""

    place: Place
    column: str
    text: str


class Verification(Frozen):
    """Published tables, their number of rows, and the faults in them.

    `unread` are the cells that were not checked, such as `N/A`.
    """

    tables: tuple[str, ...]
    rows: int
    faults: tuple[TableFault, ...]
    unread: tuple[UnreadCell, ...]

    @property
    def exit_code(self) -> Annotated[int, Member("summary.exit_code")]:
        """1 where something cannot be true."""
        return int(bool(self.faults))
