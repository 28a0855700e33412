"""Row metrics: the people one by one on the two sides of a comparison."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from fairaudit.cube import NOWHERE, Ints, RowTable
from fairaudit.frozen import Frozen, replace


class Role(StrEnum):
    """Who stands at the place of a group: itself, everybody else, or everybody."""

    OWN = "own"
    REST = "rest"
    OVERALL = "overall"


class RowSides(Frozen, eq=False):
    """The people of a table, those who stand at the place of each group, aligned [Z, G].

    `group` [Z, 1] is the one group that stands at the place of all; `favourable` says whether the
    positive outcome is a benefit.
    """

    table: RowTable
    role: Role = Role.OWN
    group: Ints | None = None
    favourable: bool = True

    def to(self, other: Role | Ints) -> RowSides:
        """The people whom each group is compared with: of one group, or of a role."""
        if isinstance(other, Role):
            return replace(self, role=other, group=None)
        return replace(self, role=Role.OWN, group=other)

    @property
    def one_by_one(self) -> RowSides:
        """The same of people one by one, as many as the memory holds."""
        people = self.table.people
        return self if people is self.table else replace(self, table=people)

    def members(self, z: int, g: int) -> Ints:
        """The people at a place, in the order of the table."""
        if self.group is not None:
            g = int(self.group[z, 0])
        if self.role is Role.OWN:
            return self.table.members(z, g)
        there = self.table.usable & (self.table.stratum == z) & (self.table.group != NOWHERE)
        if self.role is Role.REST:
            there &= self.table.group != g
        return np.flatnonzero(there)
