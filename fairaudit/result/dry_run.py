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
    """A level as it is audited: its rows and people, and the levels of the data that become it.

    `sources` is empty where it is a part of a number; None among them is a missing value. `role` is
    positive or negative for a class, else what becomes of its rows if they are no group. `n` is
    None where it is suppressed. `is_rare` where a group so small is not compared, or better not.
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


class GroupingPreview(Frozen):
    """The known groups of a grouping: how many, how many are compared, and the smallest one.

    `empty` are combinations of levels that nobody has. The smallest one has `n` people of a known
    outcome `of`; `n` and `compared` are None where they are suppressed.
    """

    by: Grouping
    of: str
    groups: int
    empty: int
    compared: int | None
    smallest: Group
    n: int | None


class CheckPreview(Frozen):
    """A check before it is judged: whether it can be, and if not, why.

    `is_evaluable` is None without data. `not_judged` are the groups that it leaves out.
    `detectable` is the gap that the test finds of the smallest group, None where none is told, and
    `finds_limit` whether a gap as wide as the limit allows would be found of every group.
    """

    check: Annotated[AnyCheck, FLAT]
    limit: str
    is_evaluable: bool | None = None
    why: Annotated[str, Member("reason")] = ""
    not_judged: tuple[NotEvaluated, ...] = ()
    detectable: DetectableGap | None = None
    finds_limit: bool | None = None


class Cost(Frozen):
    """What the audit takes: rows and bytes to read, cells to count, and passes over the data.

    `further_passes` are those before or after the one that counts, with what they are for. What is
    suppressed is None.
    """

    rows: int | None
    bytes: int | None
    cells: int | None
    route: str
    further_passes: tuple[str, ...] = ()


class DryRun(Frozen):
    """What a run would do, without its results; `cost` is None where no data was looked at."""

    spec: str
    title: str
    data: tuple[str, ...]
    columns: tuple[ColumnPreview, ...]
    checks: tuple[CheckPreview, ...]
    groupings: tuple[GroupingPreview, ...] = ()
    notices: tuple[Notice, ...] = ()
    cost: Cost | None = None

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
    """What stands in place of a count, a rate or a ratio, and is no number."""

    place: Place
    column: str
    text: str


class Verification(Frozen):
    """Published tables, how many rows they have, and what cannot be true of them.

    `unread` are the cells that are held against nothing, such as `N/A`.
    """

    tables: tuple[str, ...]
    rows: int
    faults: tuple[TableFault, ...]
    unread: tuple[UnreadCell, ...]

    @property
    def exit_code(self) -> Annotated[int, Member("summary.exit_code")]:
        """1 where something cannot be true."""
        return int(bool(self.faults))
