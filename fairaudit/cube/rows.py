"""Row metrics: the audited people one by one, with their cells and their `Features`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks, choose_places
from fairaudit.base.frozen import Frozen, field, replace


class Features(Frozen, eq=False):
    """The features of [N] people: numbers [N, P], and codes [N, Q] of the levels of categories.

    A missing number is NaN, a missing category -1.
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
        """The columns, numbers first."""
        return (*self.number_names, *self.category_names)

    @property
    def complete(self) -> Marks:
        """Who has every feature."""
        known = np.isfinite(self.numbers).all(axis=1) & (self.codes >= 0).all(axis=1)
        return np.asarray(known)

    @property
    def constant(self) -> tuple[str, ...]:
        """The features with the same value for all people."""
        columns = (*self.numbers.T, *self.codes.T)
        alike = (not len(self) or bool((values == values[0]).all()) for values in columns)
        return tuple(name for name, same in zip(self.names, alike, strict=True) if same)

    def take(self, rows: Ints | Marks) -> Features:
        """The features of some rows."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    def canonical_order(self, *first: Ints | Floats) -> Ints:
        """An order of the rows that depends on their values alone, by `first` and the features.

        Rows that tie are equal, so a result that follows it does not depend on the file's order.
        """
        keys = [*first, *self.numbers.T, *self.codes.T]
        return np.lexsort(keys[::-1]).astype(np.int64)


NOWHERE = -1
"""The stratum or the group of a person who is in none of a table."""


class Expansion(NamedTuple):
    """The entry of each of the people one by one, and their features."""

    entries: Ints
    features: Features


class Rows(Frozen, eq=False, dict=True):
    """The people of a cube who have every feature, with equal people in one entry: [N] entries.

    Entries are in the order of their content, independent of the order of the rows. `cells` are the
    places of their cells in the cube, `n` their people, `numbers` their first rows in the data,
    from 1; `scores` are by column. This is the `share` of all profiles, and memory holds `capacity`
    people one by one. `audited` people are in the cube; `missing` counts the people who lack each
    feature, and `complete` the people who have all features.
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
        """The people one by one: all, or a sample of them that depends on their content alone."""
        total = int(self.n.sum())
        if total == len(self.n) and total <= self.capacity:
            return Expansion(np.arange(total), self.features)
        chosen = choose_places(total, self.capacity)
        entries = np.searchsorted(np.cumsum(self.n), chosen, side="right")
        return Expansion(entries, self.features.take(entries))

    @property
    def is_sample(self) -> bool:
        """Whether there were more people one by one than the memory allows."""
        return len(self.people.entries) < self.complete


class RowTable(Frozen, eq=False, dict=True):
    """The people of a table: arrays [N] of entries, each of `n` equal people.

    `stratum` and `group` are places in the table, `NOWHERE` for people outside it; `outcome` is
    1 if positive, 0 if not, NaN if unknown; `score` is the score of the outcome. `shape` counts the
    strata and groups. `rows` are the people one by one; None if each entry is one person.
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
        """The people one by one, as many as the memory holds."""
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
        order, starts = self._by_group
        cell = z * self.shape[1] + g
        return order[starts[cell] : starts[cell + 1]]

    @cached_property
    def _by_group(self) -> tuple[Ints, Ints]:
        """The people in the order of strata and groups, and where each group begins."""
        size = self.shape[0] * self.shape[1]
        there = self.usable & (self.group != NOWHERE)
        place = np.where(there, self.stratum * self.shape[1] + self.group, size)
        order = np.argsort(place, kind="stable")
        return order, np.searchsorted(place[order], np.arange(size + 1))

    def in_stratum(self, z: int) -> Ints:
        """Everybody in a stratum, whether or not the group is known."""
        return np.flatnonzero(self.usable & (self.stratum == z))

    @cached_property
    def places(self) -> Ints:
        """The places of the people in the order of their values, independent of the order of rows.

        Tied people are equal in all values, so a sample by these places is the same people.
        """
        known = (self.stratum, self.group, self.outcome)
        scores = () if self.score is None else (self.score,)
        order = self.features.canonical_order(*known, *scores)
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return places
