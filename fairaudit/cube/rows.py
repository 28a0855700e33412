"""The audited people one by one, with their features: what measures of individuals read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from fairaudit.arrays import Floats, Ints, Marks
from fairaudit.features import Features
from fairaudit.memoize import memoize

NOWHERE = -1
"""The stratum or the group of a person who is in none of a table."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The people of a cube who have every feature, or a sample of them: arrays [N].

    `cells` are the places of their cells in the cube, `numbers` those of their rows in the data,
    from 1; `scores` are by column. `audited` people are in the cube, `missing` says how many of
    them lack each feature, and `complete` how many have all.
    """

    cells: Ints
    numbers: Ints
    features: Features
    scores: Mapping[str, Floats]
    audited: int
    complete: int
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_sample(self) -> bool:
        """Whether there were more people than the memory allows."""
        return len(self.cells) < self.complete


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class RowTable:
    """The people of a table one by one: arrays [N].

    `stratum` and `group` are places in the table, `NOWHERE` for those in none of it; `outcome` is
    1 for a positive one, 0 for any other, NaN where it is not known; `score` is that of the
    outcome. `shape` counts the strata and groups.
    """

    features: Features
    numbers: Ints
    stratum: Ints
    group: Ints
    outcome: Floats
    score: Floats | None
    shape: tuple[int, int]

    @property
    def usable(self) -> Marks:
        """Who is in a stratum and has a known outcome."""
        return np.asarray((self.stratum != NOWHERE) & ~np.isnan(self.outcome))

    def members(self, z: int, g: int) -> Ints:
        """The people of a group in a stratum, in the order of the rows."""
        order, starts = _by_group(self)
        cell = z * self.shape[1] + g
        return order[starts[cell] : starts[cell + 1]]

    def in_stratum(self, z: int) -> Ints:
        """Everybody in a stratum, whether or not the group is known."""
        return np.flatnonzero(self.usable & (self.stratum == z))

    @property
    def places(self) -> Ints:
        """The places of the people by what is known of them, in whatever order the rows came.

        Those who tie are equal in all of it, so a sample by these places is the same people.
        """
        return _order_by_content(self)


@memoize
def _order_by_content(table: RowTable) -> Ints:
    known = (table.stratum, table.group, table.outcome)
    scores = () if table.score is None else (table.score,)
    order = table.features.canonical_order(*known, *scores)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return places


@memoize
def _by_group(table: RowTable) -> tuple[Ints, Ints]:
    """The people in the order of strata and groups, and where each group begins."""
    size = table.shape[0] * table.shape[1]
    there = table.usable & (table.group != NOWHERE)
    place = np.where(there, table.stratum * table.shape[1] + table.group, size)
    order = np.argsort(place, kind="stable")
    return order, np.searchsorted(place[order], np.arange(size + 1))
