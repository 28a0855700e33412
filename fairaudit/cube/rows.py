"""Row metrics: the audited people one by one, with their features and cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.memoize import memoize
from fairaudit.base.sampling import choose_places
from fairaudit.cube.features import Features

NOWHERE = -1
"""The stratum or the group of a person who is in none of a table."""


class Expansion(NamedTuple):
    """The entry of each of the people one by one, and their features."""

    entries: Ints
    features: Features


class Rows(Frozen, eq=False):
    """The people of a cube who have every feature, by what they are alike in: [N] entries.

    Entries are in the order of their content, whatever the order of the rows was. `cells` are the
    places of their cells in the cube, `n` their people, `numbers` their first rows in the data,
    from 1; `scores` are by column. `share` of the profiles are here, and `capacity` people one by
    one fit into the memory. `audited` people are in the cube, `missing` says how many of them lack
    each feature, and `complete` how many have all.
    """

    cells: Ints
    numbers: Ints
    n: Ints
    features: Features
    scores: Mapping[str, Floats]
    audited: int
    complete: int
    capacity: int
    share: float = 1.0
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def people(self) -> Expansion:
        """The people one by one: all, or a sample of them that depends on their content alone."""
        return _expand(self)

    @property
    def is_sample(self) -> bool:
        """Whether there were more people one by one than the memory allows."""
        return len(self.people.entries) < self.complete


@memoize
def _expand(rows: Rows) -> Expansion:
    total = int(rows.n.sum())
    if total == len(rows.n) and total <= rows.capacity:
        return Expansion(np.arange(total), rows.features)
    chosen = choose_places(total, rows.capacity)
    entries = np.searchsorted(np.cumsum(rows.n), chosen, side="right")
    return Expansion(entries, rows.features.take(entries))


class RowTable(Frozen, eq=False):
    """The people of a table by what they are alike in: arrays [N] of entries of `n` people each.

    `stratum` and `group` are places in the table, `NOWHERE` for those in none of it; `outcome` is
    1 for a positive one, 0 for any other, NaN where it is not known; `score` is that of the
    outcome. `shape` counts the strata and groups. `rows` say who the people are one by one; None
    where each entry is one person.
    """

    features: Features
    numbers: Ints
    n: Ints
    stratum: Ints
    group: Ints
    outcome: Floats
    score: Floats | None
    shape: tuple[int, int]
    rows: Rows | None = None

    @property
    def people(self) -> RowTable:
        """The people one by one, as many as the memory holds."""
        return self if self.rows is None else _one_by_one(self)

    @property
    def share(self) -> float:
        """The share of the profiles that is here."""
        return 1.0 if self.rows is None else self.rows.share

    @property
    def usable(self) -> Marks:
        """Who is in a stratum and has a known outcome."""
        return np.asarray((self.stratum != NOWHERE) & ~np.isnan(self.outcome))

    def count_usable(self) -> Ints:
        """The people of each group with a known outcome and all features, [Z, G]."""
        counted = np.zeros(self.shape, dtype=np.int64)
        there = self.usable & (self.group != NOWHERE)
        np.add.at(counted, (self.stratum[there], self.group[there]), self.n[there])
        return counted

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
def _one_by_one(table: RowTable) -> RowTable:
    assert table.rows is not None
    entries, features = table.rows.people
    return replace(
        table,
        features=features,
        numbers=table.numbers[entries],
        n=np.ones(len(entries), dtype=np.int64),
        stratum=table.stratum[entries],
        group=table.group[entries],
        outcome=table.outcome[entries],
        score=None if table.score is None else table.score[entries],
        rows=None,
    )


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
