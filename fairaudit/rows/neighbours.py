"""The nearest neighbours of people, all who tie at the k-th distance among them."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.features import Features
from fairaudit.memoize import memoize
from fairaudit.rows.nearest import NearestPoints
from fairaudit.rows.space import Space, locate

_SAME = 1e-9
"""Distances that differ by less, relatively, are equal: rounding must not break a tie."""

_CHUNK = 4096
_MOST_HELD = 2
"""Searches are remembered among so many times all people together."""

MOST_LINKS = 2 * 10**7
"""So many neighbours are held at a time."""


@dataclass(slots=True, eq=False)
class Neighbours:
    """The neighbours of people among `base`, found as they are asked for, by profile.

    `among` [U] are the profiles of the base, `people` how many it has of each; a row of `links`
    holds the places in `among` of the profiles within the k-th distance, in the row `row` of the
    asked profile. `sizes` counts the neighbours, the person itself left out where `without_self`.
    """

    space: Space
    base: Ints
    k: int
    without_self: bool
    nearest: NearestPoints | None = None
    among: Ints = field(init=False)
    people: Ints = field(init=False)
    row: Ints = field(init=False)
    starts: Ints = field(init=False)
    links: Ints = field(init=False)
    sizes: Ints = field(init=False)

    def __post_init__(self) -> None:
        self.among, self.people = np.unique(self.space.profile[self.base], return_counts=True)
        self.row = np.full(len(self.space.person), -1, dtype=np.int64)
        self.starts = np.zeros(1, dtype=np.int64)
        self.links = np.zeros(0, dtype=np.int64)
        self.sizes = np.zeros(0, dtype=np.int64)

    @property
    def is_enough(self) -> bool:
        """Whether anybody has k neighbours."""
        return len(self.base) >= self.k + self.without_self

    def ask(self, people: Ints) -> Ints:
        """Those of the people asked, from the first on, whose neighbours are known now.

        Not all of them where there would be too many neighbours to hold.
        """
        profiles = self.space.profile[people]
        new, first = np.unique(profiles[self.row[profiles] < 0], return_index=True)
        new = new[np.argsort(first)]
        start = 0
        while start < len(new) and len(self.links) < MOST_LINKS:
            start += self._search(new[start : start + _CHUNK])
        unknown = np.flatnonzero(self.row[profiles] < 0)
        return people[: unknown[0]] if len(unknown) else people

    def _search(self, profiles: Ints) -> int:
        """Finds the neighbours of some profiles, the first if not all can be held; of how many."""
        if self.nearest is None:
            self.nearest = NearestPoints(self.space.points(self.among))
        points, most = self.space.points(profiles), min(len(self.among), self.k + 2)
        squares, link = self.nearest.find(points, most)
        counts = self.people[link]
        if self.without_self:
            counts = counts - (self.among[link] == profiles[:, None])
        reached = np.argmax(np.cumsum(counts, axis=1) >= self.k, axis=1)
        limit = (squares[np.arange(len(points)), reached] ** 0.5 * (1 + _SAME) + _SAME**2) ** 2
        within = squares <= limit[:, None]
        # Where the last one found ties too, there may be more of them.
        open_ = within[:, -1] & (most < len(self.among))
        links, room = list[Ints](), MOST_LINKS - len(self.links)
        for place in range(len(points)):
            if open_[place]:
                point = points.take(slice(place, place + 1))
                found = self.nearest.list_within(point, float(limit[place]))
            else:
                found = link[place, within[place]]
            room -= len(found)
            if links and room < 0:
                break
            links.append(found)
        self._hold(profiles[: len(links)], links)
        return len(links)

    def _hold(self, profiles: Ints, links_of: list[Ints]) -> None:
        lengths = np.array([len(links) for links in links_of])
        links = np.concatenate(links_of)
        # Nobody is nearer to a person than the person: where it is of the base, it is among them.
        own = np.isin(profiles, self.among)
        sizes = np.add.reduceat(self.people[links], np.cumsum([0, *lengths[:-1]]))
        self.row[profiles] = np.arange(len(profiles)) + len(self.sizes)
        self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(lengths)])
        self.links = np.concatenate([self.links, links])
        self.sizes = np.concatenate([self.sizes, sizes - (own & self.without_self)])

    def sum_over(self, values: Floats | Ints) -> Floats:
        """Of each row the sum of `values` [U] over its neighbours' profiles."""
        return np.asarray(np.add.reduceat(values[self.links], self.starts[:-1]), dtype=np.float64)

    def spread(self, rows: Ints, values: Floats) -> Floats:
        """Of each profile [U] the sum of the `values` of the `rows` that have it as a neighbour."""
        per_row = np.bincount(rows, values, minlength=len(self.sizes))
        repeated = np.repeat(per_row, np.diff(self.starts))
        return np.asarray(np.bincount(self.links, repeated, minlength=len(self.among)), np.float64)


@memoize
def _known(features: Features) -> dict[tuple[bytes, int, bool], Neighbours]:  # noqa: ARG001  # what it remembers for
    return {}


def find_neighbours(features: Features, base: Ints, k: int, *, without_self: bool) -> Neighbours:
    """The neighbours of people among `base`; the latest searches are remembered."""
    known, digest = _known(features), blake2b(base.tobytes(), digest_size=16).digest()
    search = known.pop((digest, k, without_self), None)
    if search is None:
        alike = (other.nearest for key, other in known.items() if key[0] == digest)
        search = Neighbours(locate(features), base, k, without_self, next(alike, None))
    known[digest, k, without_self] = search
    held = sum(len(other.among) for other in known.values())
    for earlier in [*known]:
        if held <= _MOST_HELD * len(search.space.person) or len(known) <= 2:
            break
        held -= len(known.pop(earlier).among)
    return search
