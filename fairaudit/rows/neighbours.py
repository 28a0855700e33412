"""The nearest neighbours of people, all who tie at the k-th distance among them.

The distance of two people is √(Σ (difference in standard deviations)² + categories that differ):
a category that differs counts as much as a number that is one standard deviation away. People who
are equal in every feature are one profile, so crowds of equals cost no more than one of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.features import Features
from fairaudit.memoize import memoize

_MATCH = 0.5**0.5
"""The length of an indicator: two people of different levels are at the distance 1."""

_SAME = 1e-9
"""Distances that differ by less, relatively, are equal: rounding must not break a tie."""

_CHUNK = 4096
_MOST_HELD = 3
"""Searches are remembered among so many times all people together."""

MOST_LINKS = 2 * 10**7
"""So many neighbours are held at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """Where people stand: the profile of each of [N] people, and the points [P, D] of profiles.

    `constant` features do not vary and so count for nothing.
    """

    profile: Ints
    points: Floats
    constant: tuple[str, ...]


@memoize
def locate(features: Features) -> Space:
    """Where people with complete features stand, standardised by all of them."""
    columns, widths, constant = list[Ints](), list[int](), list[str]()
    scaled = list[Floats | None]()
    for index, name in enumerate(features.names):
        is_number = index < len(features.number_names)
        column = (
            features.numbers[:, index]
            if is_number
            else features.codes[:, index - len(features.number_names)]
        )
        values, codes = np.unique(column, return_inverse=True)
        if len(values) < 2:
            constant.append(name)
            continue
        columns.append(codes)
        scaled.append((values - values[0]) / float(np.std(column)) if is_number else None)
        widths.append(1 if is_number else len(values))
    profile, first = find_profiles(columns, len(features))
    points, start = np.zeros((len(first), max(sum(widths), 1))), 0
    for codes, scale, width in zip(columns, scaled, widths, strict=True):
        if scale is not None:
            points[:, start] = scale[codes[first]]
        else:
            points[np.arange(len(first)), start + codes[first]] = _MATCH
        start += width
    return Space(profile, points, tuple(constant))


def find_profiles(columns: list[Ints], size: int) -> tuple[Ints, Ints]:
    """The profile of each of so many people by the codes of their columns, and one person of each.

    >>> find_profiles([np.array([0, 1, 0]), np.array([2, 2, 2])], 3)[0].tolist()
    [0, 1, 0]
    """
    profile, first = np.zeros(size, dtype=np.int64), np.arange(min(size, 1))
    for codes in columns:
        joined = profile * (int(codes.max(initial=0)) + 1) + codes
        _, first, profile = np.unique(joined, return_index=True, return_inverse=True)
    return profile, first


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
    among: Ints = field(init=False)
    people: Ints = field(init=False)
    row: Ints = field(init=False)
    starts: Ints = field(init=False)
    links: Ints = field(init=False)
    sizes: Ints = field(init=False)
    _tree: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.among, self.people = np.unique(self.space.profile[self.base], return_counts=True)
        self.row = np.full(len(self.space.points), -1, dtype=np.int64)
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
        from scipy.spatial import cKDTree  # SciPy waits until it is called

        if self._tree is None:
            every = len(self.among) == len(self.space.points)
            self._tree = cKDTree(self.space.points if every else self.space.points[self.among])
        points, most = self.space.points[profiles], min(len(self.among), self.k + 2)
        distance, link = self._tree.query(points, k=most, workers=-1)
        distance, link = distance.reshape(len(points), -1), link.reshape(len(points), -1)
        counts = self.people[link]
        if self.without_self:
            counts = counts - (self.among[link] == profiles[:, None])
        reached = np.argmax(np.cumsum(counts, axis=1) >= self.k, axis=1)
        limit = distance[np.arange(len(points)), reached] * (1 + _SAME) + _SAME**2
        within = distance <= limit[:, None]
        # Where the last one found ties too, there may be more of them.
        open_ = np.flatnonzero(within[:, -1] & (most < len(self.among)))
        lengths = within.sum(axis=1)
        if len(open_):
            lengths[open_] = self._tree.query_ball_point(
                points[open_], limit[open_], workers=-1, return_length=True
            )
        room = MOST_LINKS - len(self.links)
        size = max(int(np.searchsorted(np.cumsum(lengths), room, side="right")), 1)
        links = [row[marks] for row, marks in zip(link[:size], within[:size], strict=True)]
        for profile in open_[open_ < size].tolist():
            ball = self._tree.query_ball_point(points[profile], limit[profile])
            links[profile] = np.array(sorted(ball), dtype=np.int64)
        self._hold(profiles[:size], links)
        return size

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
    known, key = _known(features), (base.tobytes(), k, without_self)
    search = known.pop(key, None) or Neighbours(locate(features), base, k, without_self)
    known[key] = search
    held = sum(len(other.among) for other in known.values())
    for earlier in [*known]:
        if held <= _MOST_HELD * len(search.space.points) or len(known) <= 2:
            break
        held -= len(known.pop(earlier).among)
    return search
