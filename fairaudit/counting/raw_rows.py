"""People one by one, as they were read, for metrics of individuals; sampled to fit into memory.

A raw cell is a combination of original levels of the data. An entry represents all people of a
raw cell who are equal in every feature and score. A profile is a combination of features. If memory
is too small for all entries, only the profiles whose hash is below a power of two are kept, with
all their people. So the sample depends only on the features, not on the order of rows or files.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube.rows import Features

BUDGET = 2**30
"""Peak memory in bytes (1 GiB) of a process that reads people one by one."""

PROCESS = 400 * 2**20
"""Bytes of `BUDGET` that Python, the libraries and the engine need."""

_PER_PERSON = 300
"""Bytes of an entry without its features: cell, row, hashes, and memory for a search."""

_PER_FEATURE = 32
"""Bytes of one feature of an entry, including memory for reading and searching."""

_BITS = 64

_SPARE = 4
"""Number of entries to keep for each person that the plan asks for.

If there are more entries, half of the profiles are dropped at a time, so about two to four entries
per person are left.
"""

Hashes = NDArray[np.uint64]


def most_entries(people: int | None, features: int) -> int:
    """The number of entries to keep if the plan asks for `people` (None: for all people)."""
    most = most_people(features)
    return most if people is None else min(most, _SPARE * people)


def most_people(features: int) -> int:
    """The number of people, each with this number of features, that fit into `BUDGET`."""
    return max(BUDGET - PROCESS, 0) // (_PER_PERSON + _PER_FEATURE * features)


def is_below(profiles: Hashes, halvings: int) -> Marks:
    """Marks the profiles that remain after half of all profiles was dropped `halvings` times."""
    if not halvings:
        return np.ones(len(profiles), dtype=np.bool_)
    return np.asarray(profiles >> np.uint64(_BITS - halvings) == 0)


def choose_halvings(profiles: Hashes, most: int, least: int = 0) -> int:
    """The number of halvings (at least `least`) that leave at most `most` profiles."""
    halvings = least
    while halvings < _BITS - 1 and int(is_below(profiles, halvings).sum()) > most:
        halvings += 1
    return halvings


class RawRows(Frozen, eq=False):
    """People by raw cell, features and scores: each of N entries represents `n` equal people.

    For each entry, `cells` is the index of its raw cell, `numbers` the number (from 1) of its first
    row in the data, and `scores` its score, by column. For each raw cell, `complete` [C] is the
    number of rows with every feature, and `missing` [C] the number of rows that lack a feature, by
    feature. Half of the profiles was dropped `halvings` times. `most` is the number of people that
    the plan asks for; None without a limit.
    """

    cells: Ints
    numbers: Ints
    n: Ints
    features: Features
    scores: Mapping[str, Floats]
    complete: Ints
    missing: Mapping[str, Ints]
    halvings: int = 0
    most: int | None = None

    @property
    def capacity(self) -> int:
        """The number of people that fit into memory, limited by `most`."""
        most = most_people(len(self.features.names))
        return min(most, self.most or most)

    def take(self, kept: Marks) -> RawRows:
        """Only the entries that `kept` marks."""
        if kept.all():
            return self
        return replace(
            self,
            **{name: getattr(self, name)[kept] for name in ("cells", "numbers", "n")},
            features=self.features.take(kept),
            scores={name: values[kept] for name, values in self.scores.items()},
        )
