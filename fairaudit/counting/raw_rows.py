"""Row metrics: people as counted, equal ones as one entry, sampled within a memory budget.

An entry has all people of a raw cell who are equal in every feature and score. If the memory is too
small for all entries, a share of the *profiles* (combinations of features) is kept, each with all
people: those whose hash is below a power of two. The sample depends on the features alone, not on
the order of rows or on the files.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.counting.raw_counts import places, recode
from fairaudit.cube.rows import Features

BUDGET = 2**30
"""Peak memory of a process that reads people one by one: 1 GiB."""

PROCESS = 400 * 2**20
"""The part of it that Python, the libraries, and the engine take while it reads."""

_PER_PERSON = 300
"""The bytes of an entry without the features: cell, row, hashes, and the memory of a search."""

_PER_FEATURE = 32
"""The bytes of a feature of an entry, as it is read, kept and searched."""

_BITS = 64

_SPARE = 4
"""Entries held for each wanted person: half of them go when profiles are halved."""

Hashes = NDArray[np.uint64]


def most_entries(people: int | None, features: int) -> int:
    """The number of entries to keep for the wanted people, at most as many as fit."""
    most = most_people(features)
    return most if people is None else min(most, _SPARE * people)


def most_people(features: int) -> int:
    """The number of people with these features that fit into the budget."""
    return max(BUDGET - PROCESS, 0) // (_PER_PERSON + _PER_FEATURE * features)


def is_below(profiles: Hashes, halvings: int) -> Marks:
    """The profiles in the share that is left after `halvings`."""
    if not halvings:
        return np.ones(len(profiles), dtype=np.bool_)
    return np.asarray(profiles >> np.uint64(_BITS - halvings) == 0)


def choose_halvings(profiles: Hashes, most: int, least: int = 0) -> int:
    """How often the share of profiles is halved until no more than `most` entries are left."""
    halvings = least
    while halvings < _BITS - 1 and int(is_below(profiles, halvings).sum()) > most:
        halvings += 1
    return halvings


class RawRows(Frozen, eq=False):
    """People by raw cell, features and scores: [N] entries of `n` people each.

    `cells` are the places of their raw cells, `numbers` the numbers of their first rows in the
    data, from 1; `scores` are by column. `profiles` are hashes of the features, `contents` of all
    values that distinguish entries. `complete` [C] counts the rows of a raw cell that have every
    feature, `missing` [C] by feature the rows that lack it. The share of profiles that is kept was
    halved `halvings` times; `most` is the number of people that the plan wants, if it has one.
    """

    cells: Ints
    numbers: Ints
    n: Ints
    profiles: Hashes
    contents: Hashes
    features: Features
    scores: Mapping[str, Floats]
    complete: Ints
    missing: Mapping[str, Ints]
    halvings: int = 0
    most: int | None = None

    @property
    def capacity(self) -> int:
        """The number of people that fit into memory, at most as many as the plan wants."""
        most = most_people(len(self.features.names))
        return min(most, self.most or most)

    def limited(self) -> RawRows:
        """The rows of no more profiles than the memory holds."""
        _, first = np.unique(self.contents, return_index=True)
        halvings = choose_halvings(
            self.profiles[first], most_entries(self.most, len(self.features.names)), self.halvings
        )
        kept = is_below(self.profiles, halvings)
        return replace(self.take(kept), halvings=halvings)

    def take(self, kept: Marks) -> RawRows:
        """Some of the entries."""
        if kept.all():
            return self
        return replace(
            self,
            cells=self.cells[kept],
            numbers=self.numbers[kept],
            n=self.n[kept],
            profiles=self.profiles[kept],
            contents=self.contents[kept],
            features=self.features.take(kept),
            scores={name: values[kept] for name, values in self.scores.items()},
        )

    def placed(self, before: int, after: int, rows: int) -> RawRows:
        """The rows after raw cells are added `before` and `after` them, and `rows` rows before."""
        pad = (before, after)
        missing = {name: np.pad(lacking, pad) for name, lacking in self.missing.items()}
        return replace(
            self,
            cells=self.cells + before,
            numbers=self.numbers + rows,
            complete=np.pad(self.complete, pad),
            missing=missing,
        )

    def __add__(self, other: RawRows) -> RawRows:
        """The people of both, whose raw cells have the same numbers."""
        nobody = np.zeros(len(self.complete), dtype=np.int64)
        first, second = self.features, other.features
        levels = tuple(
            tuple(sorted({*known, *others}))
            for known, others in zip(first.levels, second.levels, strict=True)
        )
        lookups = [[*map(places, own.levels, levels)] for own in (first, second)]
        codes = recode([first.codes, second.codes], lookups)
        numbers = np.concatenate([first.numbers, second.numbers])
        return replace(
            self,
            cells=np.concatenate([self.cells, other.cells]),
            numbers=np.concatenate([self.numbers, other.numbers]),
            n=np.concatenate([self.n, other.n]),
            profiles=np.concatenate([self.profiles, other.profiles]),
            contents=np.concatenate([self.contents, other.contents]),
            features=replace(first, numbers=numbers, codes=codes, levels=levels),
            scores={
                name: np.concatenate([values, other.scores[name]])
                for name, values in self.scores.items()
            },
            complete=self.complete + other.complete,
            missing={
                name: self.missing.get(name, nobody) + other.missing.get(name, nobody)
                for name in {**self.missing, **other.missing}
            },
            halvings=max(self.halvings, other.halvings),
        ).limited()
