"""`Verification`: the type of what `fairaudit verify` finds, and its exit code."""

from __future__ import annotations

from typing import Annotated

from fairaudit.base.errors import Place
from fairaudit.base.frozen import Frozen
from fairaudit.base.json_marks import Member
from fairaudit.cube import Group


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
