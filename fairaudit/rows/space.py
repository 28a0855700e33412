"""Feature space: the places of people, and distances between them.

The distance of two people is √(Σ (difference in standard deviations)² + categories that differ):
a category that differs counts as much as a difference of one standard deviation. People who are
equal in every feature are one profile, so that many equal people cost no more than one.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen, memoize
from fairaudit.cube.features import Features


class Points(Frozen, eq=False):
    """Points of a space: standardised numbers [P, D] and codes of categories [P, Q]."""

    numbers: Floats
    codes: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, places: Ints | slice) -> Points:
        """Some of the points."""
        return Points(self.numbers[places], self.codes[places])


class Space(Frozen, eq=False):
    """The profile of each of [N] people, and the points of profiles.

    `person` [P] is one person of each profile, whose `numbers` and `codes` are the features that
    vary; `scales` are the least value and the standard deviation of each number. `constant`
    features do not vary and are ignored.
    """

    profile: Ints
    person: Ints
    numbers: tuple[Floats, ...]
    scales: tuple[tuple[float, float], ...]
    codes: tuple[Ints, ...]
    constant: tuple[str, ...]

    def points(self, profiles: Ints) -> Points:
        """The points of some profiles."""
        people = self.person[profiles]
        numbers = np.zeros((len(people), max(len(self.numbers), 1)))
        for place, (column, scale) in enumerate(zip(self.numbers, self.scales, strict=True)):
            numbers[:, place] = (column[people] - scale[0]) / scale[1]
        codes = np.zeros((len(people), len(self.codes)), dtype=np.int64)
        for place, levels in enumerate(self.codes):
            codes[:, place] = levels[people]
        return Points(numbers, codes)


@memoize
def locate(features: Features) -> Space:
    """The space of people with complete features, standardised by all of them."""
    numbers, scales, categories = list[Floats](), list[tuple[float, float]](), list[Ints]()
    constant = list[str]()
    profile, person = np.zeros(len(features), dtype=np.int64), np.arange(min(len(features), 1))
    columns = (*features.numbers.T, *features.codes.T)
    for place, (name, column) in enumerate(zip(features.names, columns, strict=True)):
        values, codes = np.unique(column, return_inverse=True)
        if len(values) < 2:
            constant.append(name)
            continue
        profile, person = split_profiles(profile, codes)
        if place < len(features.number_names):
            numbers.append(column)
            scales.append((float(values[0]), float(np.std(column))))
        else:
            categories.append(column)
    return Space(profile, person, tuple(numbers), tuple(scales), tuple(categories), tuple(constant))


def split_profiles(profile: Ints, codes: Ints) -> tuple[Ints, Ints]:
    """The profiles of people divided by one more feature, and one person of each.

    >>> split_profiles(np.array([0, 0, 0]), np.array([0, 1, 0]))[0].tolist()
    [0, 1, 0]
    """
    joined = profile * (int(codes.max(initial=0)) + 1) + codes
    _, person, profile = np.unique(joined, return_index=True, return_inverse=True)
    return profile, person


def square_distances(points: Points, others: Points) -> Floats:
    """The squared distance of each of the points from each of the others."""
    return square_gaps(points.numbers, others.numbers) + count_differing(points, others)


def square_gaps(numbers: Floats, others: Floats) -> Floats:
    """The part of the squared distances of points that is from their numbers."""
    from scipy.spatial.distance import cdist  # SciPy waits until it is called

    return np.asarray(cdist(numbers, others, "sqeuclidean"), dtype=np.float64)


def count_differing(points: Points, others: Points) -> Ints:
    """The number of categories in which each of the points differs from each of the others."""
    differing = np.zeros((len(points), len(others)), dtype=np.int64)
    for column, other in zip(points.codes.T, others.codes.T, strict=True):
        differing += column[:, None] != other
    return differing
