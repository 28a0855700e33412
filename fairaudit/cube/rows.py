"""People one by one, for metrics of individuals: their `Features`, cells and places in tables."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks, choose_places
from fairaudit.base.frozen import Frozen, field, replace


class Features(Frozen, eq=False):
    """The features of N people: `numbers` [N, P], and `codes` [N, Q] for features with levels.

    All people have every feature. `levels` are the levels of each feature with levels, in the order
    of their codes.
    """

    number_names: tuple[str, ...]
    numbers: Floats
    category_names: tuple[str, ...]
    codes: Ints
    levels: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, numbers first."""
        return (*self.number_names, *self.category_names)

    @property
    def constant(self) -> tuple[str, ...]:
        """The features with the same value for all people."""
        columns = (*self.numbers.T, *self.codes.T)
        alike = (not len(self) or bool((values == values[0]).all()) for values in columns)
        return tuple(name for name, same in zip(self.names, alike, strict=True) if same)

    def take(self, rows: Ints | Marks | slice) -> Features:
        """The features of some people."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    def canonical_order(self, *first: Ints | Floats) -> Ints:
        """The indexes that sort the people by the arrays in `first`, and then by all features.

        The sorted values do not depend on the order of rows: people who tie have equal values.
        """
        keys = [*first, *self.numbers.T, *self.codes.T]
        return np.lexsort(keys[::-1]).astype(np.int64)


NOWHERE = -1
"""The code of the stratum or group of a person who is not in the table."""


class Expansion(NamedTuple):
    """People one by one: the index of each person's entry in `Rows`, and each person's features."""

    entries: Ints
    features: Features


class Rows(Frozen, eq=False, dict=True):
    """The people of a cube who have every feature; each of N entries represents `n` equal people.

    Entries are ordered by their values, independent of the order of the rows in the data. For each
    entry, `cells` is the index of its cell in the cube, `numbers` the number (from 1) of its first
    row in the data, and `scores` its score, by column. A profile is a combination of features;
    `share` is the share of the profiles that were kept. Memory has room for `capacity` people one
    by one. `audited` is the number of people in the cube. `complete` is the number of people who
    have every feature. `missing` is the number of people who lack a feature, by feature.
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

    @cached_property
    def people(self) -> Expansion:
        """All people one by one; above `capacity`, a sample that depends only on their values."""
        total = int(self.n.sum())
        if total == len(self.n) and total <= self.capacity:
            return Expansion(np.arange(total), self.features)
        chosen = choose_places(total, self.capacity)
        entries = np.searchsorted(np.cumsum(self.n), chosen, side="right")
        return Expansion(entries, self.features.take(entries))

    @property
    def is_sample(self) -> bool:
        """Whether `people` leaves out some of the people who have every feature."""
        return len(self.people.entries) < self.complete


class RowTable(Frozen, eq=False, dict=True):
    """The people of a `GroupTable`: each of N entries represents `n` equal people.

    `stratum` and `group` are indexes in the table, or `NOWHERE`. `outcome` is 1 for a positive
    outcome, 0 for a negative outcome, and NaN for an unknown outcome. `score` is the score of the
    outcome; None without a score. `shape` is the number of strata and the number of groups. `rows`
    are the `Rows` of which the entries were made; None if each entry is a single person.
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

    @cached_property
    def people(self) -> RowTable:
        """The people one by one: all, or a sample that fits into memory."""
        if self.rows is None:
            return self
        entries, features = self.rows.people
        return replace(
            self,
            features=features,
            numbers=self.numbers[entries],
            n=np.ones(len(entries), dtype=np.int64),
            stratum=self.stratum[entries],
            group=self.group[entries],
            outcome=self.outcome[entries],
            score=None if self.score is None else self.score[entries],
            rows=None,
        )

    @property
    def share(self) -> float:
        """The share of the profiles (combinations of features) that were kept."""
        return 1.0 if self.rows is None else self.rows.share

    @property
    def usable(self) -> Marks:
        """Marks the people who are in a stratum and have a known outcome."""
        return np.asarray((self.stratum != NOWHERE) & ~np.isnan(self.outcome))

    def count_usable(self) -> Ints:
        """The number of people with every feature and a known outcome, as an array [Z, G]."""
        counted = np.zeros(self.shape, dtype=np.int64)
        there = self.usable & (self.group != NOWHERE)
        np.add.at(counted, (self.stratum[there], self.group[there]), self.n[there])
        return counted

    def members(self, z: int, g: int) -> Ints:
        """The indexes of the usable people of group `g` in stratum `z`, in ascending order."""
        order, starts = self._by_group
        cell = z * self.shape[1] + g
        return order[starts[cell] : starts[cell + 1]]

    @cached_property
    def _by_group(self) -> tuple[Ints, Ints]:
        """The indexes of people by stratum and group, and the position where each group begins."""
        size = self.shape[0] * self.shape[1]
        there = self.usable & (self.group != NOWHERE)
        place = np.where(there, self.stratum * self.shape[1] + self.group, size)
        order = np.argsort(place, kind="stable")
        return order, np.searchsorted(place[order], np.arange(size + 1))

    def in_stratum(self, z: int) -> Ints:
        """The indexes of all usable people in stratum `z`, whether or not the group is known."""
        return np.flatnonzero(self.usable & (self.stratum == z))

    @cached_property
    def places(self) -> Ints:
        """The rank of each person by all values, independent of the order of the rows in the data.

        People who tie are equal in all values. So a sample by rank always has the same values.
        """
        known = (self.stratum, self.group, self.outcome)
        scores = () if self.score is None else (self.score,)
        order = self.features.canonical_order(*known, *scores)
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return places
