"""Row metrics: the people one by one on the two sides of a comparison."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import NOWHERE, Ints, RowTable
from fairaudit.metrics.terms import ReferencePolicy


class RowSides(Frozen, eq=False):
    """The people of a table, for each group the people at its place, aligned [Z, G].

    The place of a group holds the group itself, or the people that `role` names: everybody else
    (`REST`) or everybody (`OVERALL`) of `known` [G] groups. `group` [Z, 1] is a single group for
    all places; `favourable` says whether the positive outcome is a benefit.
    """

    table: RowTable
    known: Marks
    role: ReferencePolicy | None = None
    group: Ints | None = None
    favourable: bool = True

    def to(self, other: ReferencePolicy | Ints) -> RowSides:
        """The people whom each group is compared with: of one group, or of a role."""
        if isinstance(other, ReferencePolicy):
            return replace(self, role=other, group=None)
        return replace(self, role=None, group=other)

    @property
    def one_by_one(self) -> RowSides:
        """The sides of people one by one, as many as the memory holds."""
        people = self.table.people
        return self if people is self.table else replace(self, table=people)

    def members(self, z: int, g: int) -> Ints:
        """The people at a place, in the order of the table."""
        if self.group is not None:
            g = int(self.group[z, 0])
        if self.role is None:
            return self.table.members(z, g)
        there = self.table.usable & (self.table.stratum == z) & (self.table.group != NOWHERE)
        there &= self.known[self.table.group]
        if self.role is ReferencePolicy.REST:
            there &= self.table.group != g
        return np.flatnonzero(there)
