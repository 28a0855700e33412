"""Nearest-neighbour search among people, with ties (k-d trees).

The distance of two people is √(Σ (difference in standard deviations)² + number of categories that
differ). So a different category is as far as a difference of one standard deviation. People who are
equal in every feature are one profile, so equal people need no additional time.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen, memoize
from fairaudit.cube.rows import Features


class Space(Frozen, eq=False):
    """The number of the profile of each of N people, and the data for the points of profiles.

    `person` [P] is the index of one person of each profile. `numbers` and `codes` are the features
    of all people. `columns` contains the indexes of the numbers and of the categories that vary.
    `low` and `deviation` are the smallest value and the standard deviation of these numbers.
    """

    profile: Ints
    person: Ints
    numbers: Floats
    codes: Ints
    columns: tuple[Ints, Ints]
    low: Floats
    deviation: Floats

    def points(self, profiles: Ints) -> Features:
        """The features of some profiles that vary, with standardised numbers."""
        people, (varying, categories) = self.person[profiles], self.columns
        numbers = (self.numbers[np.ix_(people, varying)] - self.low) / self.deviation
        numbers = numbers if len(varying) else np.zeros((len(people), 1))
        return Features((), numbers, (), self.codes[np.ix_(people, categories)], ())


@memoize
def locate(features: Features) -> Space:
    """The space of people with complete features, standardised over all these people."""
    varying, categories, low, deviation = list[int](), list[int](), list[float](), list[float]()
    profile, person = np.zeros(len(features), dtype=np.int64), np.arange(min(len(features), 1))
    count = len(features.number_names)
    for place, column in enumerate((*features.numbers.T, *features.codes.T)):
        values, codes = np.unique(column, return_inverse=True)
        if len(values) < 2:
            continue
        profile, person = split_profiles(profile, codes)
        if place < count:
            varying.append(place)
            low.append(float(values[0]))
            deviation.append(float(np.std(column)))
        else:
            categories.append(place - count)
    columns = np.array(varying, dtype=np.int64), np.array(categories, dtype=np.int64)
    scale = np.array(low), np.array(deviation)
    return Space(profile, person, features.numbers, features.codes, columns, *scale)


def split_profiles(profile: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """The profiles after a split by the `codes` of one more feature, and one person per profile.

    >>> split_profiles(np.array([0, 0, 0]), np.array([0, 1, 0]))[0].tolist()
    [0, 1, 0]
    """
    joined = profile * (int(codes.max(initial=0)) + 1) + codes
    _, person, profile = np.unique(joined, return_index=True, return_inverse=True)
    return profile, person


def square_gaps(numbers: Floats, others: Floats) -> Floats:
    """The squared distances between points by numbers only, without categories."""
    from scipy.spatial.distance import cdist  # imported at the first use

    return np.asarray(cdist(numbers, others, "sqeuclidean"), dtype=np.float64)


def count_differing(points: Features, others: Features) -> Ints:
    """The number of categories that differ between each point and each of `others`."""
    differing = np.zeros((len(points), len(others)), dtype=np.int64)
    for column, other in zip(points.codes.T, others.codes.T, strict=True):
        differing += column[:, None] != other
    return differing


_FEW = 2**14
"""Maximum number of points for which all distances are computed, without trees."""

_LEAST_IN_TREE = 2048
"""Minimum number of points with the same categories for a tree of these points."""

_LEAST_AT_ONCE = 1024
"""Minimum number of points in one step of a search."""

_MOST_DISTANCES = 2**20
"""Maximum number of distances in memory at a time."""

_MANY = 256
"""A search for the neighbours of this number of points or more uses all cores."""


class _Step(NamedTuple):
    """Combinations that are searched together, and the number of differing categories of each."""

    combinations: Ints
    differing: Ints

    def split(self, marks: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[_Step, _Step]:
        return (
            _Step(self.combinations[marks], self.differing[marks]),
            _Step(self.combinations[~marks], self.differing[~marks]),
        )


class NearestPoints:
    """Points sorted by their combination of categories, to search for the nearest points.

    The distance of points that differ in h categories is at least √h. So the search begins with
    points of the same combination, continues with points that differ in one category, and so on,
    until all other points are farther than the points found. Large combinations have a k-d tree of
    their numbers. `order` contains the indexes of the sorted points, and `numbers` contains the
    numbers of the sorted points. In both arrays, each combination begins at its index in `starts`.
    """

    def __init__(self, points: Features) -> None:
        combination, first = _combine(points)
        self.combinations = points.take(first)
        self.order = np.argsort(combination, kind="stable")
        self.numbers = points.numbers[self.order]
        self.starts = np.searchsorted(combination[self.order], np.arange(len(first) + 1))
        self._trees = dict[int, Any]()

    def find(self, points: Features, most: int) -> tuple[Floats, Ints]:
        """Squared distances and indexes of the `most` nearest points per point, nearest first."""
        squares = np.full((len(points), most), np.inf)
        places = np.zeros((len(points), most), dtype=np.int64)
        if len(self.order) <= _FEW:  # compute all distances
            own = np.repeat(np.arange(len(self.combinations)), np.diff(self.starts))
            block = max(_MOST_DISTANCES // len(self.order), 1)
            for start in range(0, len(points), block):
                part = slice(start, start + block)
                some = points.take(part)
                every = square_gaps(some.numbers, self.numbers)
                every += count_differing(some, self.combinations)[:, own]
                found = every, np.broadcast_to(self.order, every.shape)
                squares[part], places[part] = _keep_nearest(squares[part], places[part], *found)
            return squares, places
        combination, first = _combine(points)
        alike = np.split(
            np.argsort(combination, kind="stable"), np.cumsum(np.bincount(combination))
        )
        for everybody, example in zip(alike[: len(first)], first.tolist(), strict=True):
            people = everybody
            for step in self._list_steps(points.take(slice(example, example + 1))):
                people = people[squares[people, -1] >= step.differing[0]]
                if not len(people):
                    break
                for found in self._search(points.numbers[people], step, squares[people]):
                    known = squares[people], places[people]
                    squares[people], places[people] = _keep_nearest(*known, *found)
        return squares, places

    def list_within(self, point: Features, square: float) -> Ints:
        """The indexes of all points within a squared distance of one point."""
        places = [np.zeros(0, dtype=np.int64)]
        for step in self._list_steps(point):
            near, _ = step.split(step.differing <= square)
            if not len(near.combinations):
                break
            large, small = near.split(self._is_large(near))
            for number, differing in zip(*large, strict=True):
                tree, rows = self._find_tree(int(number))
                ball = tree.query_ball_point(point.numbers[0], (square - differing) ** 0.5)
                places.append(rows[ball])
            places += [rows for _, rows in self._measure(point.numbers, small, np.array([square]))]
        return np.sort(np.concatenate(places))

    def _list_steps(self, point: Features) -> Iterator[_Step]:
        """The combinations in steps, by increasing number of categories that differ."""
        differing = count_differing(point, self.combinations)[0]
        order = np.argsort(differing, kind="stable")
        differing = differing[order]
        seen = np.cumsum(np.diff(self.starts)[order])
        start = 0
        while start < len(order):
            enough = (seen[start - 1] if start else 0) + _LEAST_AT_ONCE
            last = min(int(np.searchsorted(seen, enough)), len(order) - 1)
            # Combinations with the same number of differing categories are in the same step.
            end = int(np.searchsorted(differing, differing[last], side="right"))
            yield _Step(order[start:end], differing[start:end])
            start = end

    def _is_large(self, step: _Step) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        sizes = self.starts[step.combinations + 1] - self.starts[step.combinations]
        return np.asarray(sizes >= _LEAST_IN_TREE)

    def _search(self, numbers: Floats, step: _Step, known: Floats) -> Iterator[tuple[Floats, Ints]]:
        """The squared distances and indexes of points that may be nearer than the known points."""
        large, small = step.split(self._is_large(step))
        limit, most = known[:, -1], known.shape[1]
        for combination, differing in zip(*large, strict=True):
            tree, rows = self._find_tree(int(combination))
            bound = max(float(limit.max()) - differing, 0.0) ** 0.5 * (1 + 1e-9) + 1e-9
            distance, link = tree.query(
                numbers,
                k=np.arange(1, min(most, len(rows)) + 1),
                distance_upper_bound=bound,
                workers=-1 if len(numbers) >= _MANY else 1,
            )
            # For missing points within the bound, the tree returns infinite distances.
            yield distance**2 + differing, rows[np.minimum(link, len(rows) - 1)]
        for squares, rows in self._measure(numbers, small, limit):
            yield squares, np.broadcast_to(rows, squares.shape)

    def _find_tree(self, combination: int) -> tuple[Any, Ints]:
        """The k-d tree of a combination, and the indexes of its points."""
        from scipy.spatial import cKDTree  # imported at the first use

        part = slice(self.starts[combination], self.starts[combination + 1])
        if combination not in self._trees:
            self._trees[combination] = cKDTree(self.numbers[part])
        return self._trees[combination], self.order[part]

    def _measure(
        self, numbers: Floats, step: _Step, limit: Floats
    ) -> Iterator[tuple[Floats, Ints]]:
        """The squared distances and indexes of points in a step that are within `limit`."""
        starts, ends = self.starts[step.combinations], self.starts[step.combinations + 1]
        seen = np.cumsum(ends - starts)
        block = max(_MOST_DISTANCES // len(numbers), 1)
        cuts = np.flatnonzero(np.diff(seen // block)) + 1
        for part in np.split(np.arange(len(starts)), cuts):
            ranges = [*zip(starts[part].tolist(), ends[part].tolist(), strict=True)]
            if not ranges:
                continue
            points = np.concatenate([self.numbers[start:end] for start, end in ranges])
            squares = square_gaps(numbers, points)
            squares += np.repeat(step.differing[part], ends[part] - starts[part])
            near = np.flatnonzero((squares <= limit[:, None]).any(axis=0))
            before = np.cumsum(ends[part] - starts[part])
            at = np.searchsorted(before, near, side="right")
            yield squares[:, near], self.order[near - before[at] + ends[part][at]]


def _combine(points: Features) -> tuple[Ints, Ints]:
    """The number of the combination of categories of each point, and one point per combination."""
    combination, first = np.zeros(len(points), dtype=np.int64), np.arange(min(len(points), 1))
    for codes in points.codes.T:
        combination, first = split_profiles(combination, codes)
    return combination, first


def _keep_nearest(
    squares: Floats, places: Ints, other_squares: Floats, other_places: Ints
) -> tuple[Floats, Ints]:
    """The nearest points among the known and other points, in rows of unchanged length."""
    most = squares.shape[1]
    if other_squares.shape[1] > most:
        near = np.argpartition(other_squares, most - 1, axis=1)[:, :most]
        other_squares = np.take_along_axis(other_squares, near, axis=1)
        other_places = np.take_along_axis(other_places, near, axis=1)
    squares = np.hstack([squares, other_squares])
    order = np.argsort(squares, axis=1, kind="stable")[:, :most]
    places = np.take_along_axis(np.hstack([places, other_places]), order, axis=1)
    return np.take_along_axis(squares, order, axis=1), places


_SAME = 1e-9
"""Maximum relative difference of distances that count as equal, because of rounding."""

_CHUNK = 4096
_MOST_HELD = 2
"""Maximum number of base profiles in all remembered searches, as a multiple of all profiles."""

MOST_LINKS = 2 * 10**7
"""Maximum number of neighbours (links) in memory."""


class Neighbours:
    """The k nearest neighbours of people among the people in `base`, searched when needed.

    `among` [U] are the profiles in the base, and `people` [U] is the number of people in the base
    per profile. `row` is the index of the row of each profile, or -1 if its neighbours were not
    searched yet. Row r begins at `starts[r]` in `links`. It lists the profiles up to the distance
    of the k-th neighbour, as indexes in `among`. `sizes[r]` is the number of people of the listed
    profiles. With `without_self`, people are not their own neighbours.
    """

    def __init__(
        self, space: Space, base: Ints, k: int, nearest: NearestPoints | None, *, without_self: bool
    ) -> None:
        self.space, self.base, self.k, self.without_self = space, base, k, without_self
        self.nearest = nearest
        self.among, self.people = np.unique(self.space.profile[self.base], return_counts=True)
        self.row = np.full(len(self.space.person), -1, dtype=np.int64)
        self.starts = np.zeros(1, dtype=np.int64)
        self.links = np.zeros(0, dtype=np.int64)
        self.sizes = np.zeros(0, dtype=np.int64)

    @property
    def has_enough_people(self) -> bool:
        """Whether the base is large enough for k neighbours of each person."""
        return len(self.base) >= self.k + self.without_self

    def search(self, people: Ints) -> Ints:
        """Searches the neighbours of `people`; returns the people that the memory limit allows."""
        of_people = self.space.profile[people]
        new, first = np.unique(of_people[self.row[of_people] < 0], return_index=True)
        new, start = new[np.argsort(first)], 0
        if len(new) and self.nearest is None:
            self.nearest = NearestPoints(self.space.points(self.among))
        while start < len(new) and len(self.links) < MOST_LINKS:
            assert self.nearest is not None
            profiles = new[start : start + _CHUNK]
            points, most = self.space.points(profiles), min(len(self.among), self.k + 2)
            squares, link = self.nearest.find(points, most)
            counts = self.people[link]
            if self.without_self:
                counts = counts - (self.among[link] == profiles[:, None])
            reached = np.argmax(np.cumsum(counts, axis=1) >= self.k, axis=1)
            limit = (squares[np.arange(len(points)), reached] ** 0.5 * (1 + _SAME) + _SAME**2) ** 2
            within = squares <= limit[:, None]
            # If the last point found is within the limit, there may be more such points.
            may_miss = within[:, -1] & (most < len(self.among))
            links_of, room = list[Ints](), MOST_LINKS - len(self.links)
            for place in range(len(points)):
                if may_miss[place]:
                    point = points.take(slice(place, place + 1))
                    found = self.nearest.list_within(point, float(limit[place]))
                else:
                    found = link[place, within[place]]
                room -= len(found)
                if links_of and room < 0:
                    break
                links_of.append(found)
            profiles = profiles[: len(links_of)]
            lengths = np.array([len(links) for links in links_of])
            links = np.concatenate(links_of)
            own = np.isin(profiles, self.among)  # people found as their own neighbours
            sizes = np.add.reduceat(self.people[links], np.cumsum([0, *lengths[:-1]]))
            self.row[profiles] = np.arange(len(profiles)) + len(self.sizes)
            self.starts = np.concatenate([self.starts, self.starts[-1] + np.cumsum(lengths)])
            self.links = np.concatenate([self.links, links])
            self.sizes = np.concatenate([self.sizes, sizes - (own & self.without_self)])
            start += len(links_of)
        unknown = np.flatnonzero(self.row[of_people] < 0)
        return people[: unknown[0]] if len(unknown) else people

    def mean_of(self, outcome: Floats, people: Ints) -> Floats:
        """The mean outcome of the neighbours of each person."""
        profile = self.space.profile
        place = np.searchsorted(self.among, profile[self.base])
        positives = np.bincount(place, outcome[self.base], minlength=len(self.among))
        of_rows = np.add.reduceat(positives[self.links], self.starts[:-1])
        rows, own = self.row[profile[people]], outcome[people] * self.without_self
        return np.asarray((of_rows[rows] - own) / self.sizes[rows])

    def sum_by_neighbour(self, rows: Ints, values: Floats) -> Floats:
        """The sum of `values` for each profile [U], over the `rows` that link to the profile."""
        per_row = np.bincount(rows, values, minlength=len(self.sizes))
        repeated = np.repeat(per_row, np.diff(self.starts))
        return np.asarray(np.bincount(self.links, repeated, minlength=len(self.among)), np.float64)


@memoize
def _remember(features: Features) -> dict[tuple[bytes, int, bool], Neighbours]:  # noqa: ARG001  # the key of `memoize`
    return {}


def find_neighbours(features: Features, base: Ints, k: int, *, without_self: bool) -> Neighbours:
    """The neighbours of people among `base`; the latest searches are kept."""
    known, digest = _remember(features), blake2b(base.tobytes(), digest_size=16).digest()
    search = known.pop((digest, k, without_self), None)
    if search is None:
        alike = (other.nearest for key, other in known.items() if key[0] == digest)
        search = Neighbours(locate(features), base, k, next(alike, None), without_self=without_self)
    known[digest, k, without_self] = search
    held = sum(len(other.among) for other in known.values())
    for earlier in [*known]:
        if held <= _MOST_HELD * len(search.space.person) or len(known) <= 2:
            break
        held -= len(known.pop(earlier).among)
    return search
