"""Metrics of people one by one, by brute force over all pairs in plain Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

SAME = 1e-9
"""Distances that differ by less, relatively, are equal."""


@dataclass(frozen=True, slots=True)
class One:
    """A person: the group, the numbers, the categories, what became of the person, the score."""

    group: str
    numbers: tuple[float, ...]
    categories: tuple[str, ...]
    outcome: int
    score: float = 0.0
    stratum: str = ""

    @property
    def features(self) -> tuple[object, ...]:
        """All features."""
        return (*self.numbers, *self.categories)


def standardised(people: Sequence[One]) -> list[list[float]]:
    """The numbers of each, in standard deviations of all; one that does not vary is 0."""
    columns = []
    for at in range(len(people[0].numbers) if people else 0):
        values = [one.numbers[at] for one in people]
        mean = sum(values) / len(values)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
        varies = min(values) < max(values)
        columns.append([(value - mean) / deviation if varies else 0.0 for value in values])
    return [[column[i] for column in columns] for i in range(len(people))]


def distances(people: Sequence[One]) -> list[list[float]]:
    """How far any two lie apart: each category that differs counts as one deviation."""
    points = standardised(people)

    def apart(i: int, j: int) -> float:
        squares = sum((a - b) ** 2 for a, b in zip(points[i], points[j], strict=True))
        pairs = zip(people[i].categories, people[j].categories, strict=True)
        return math.sqrt(squares + sum(a != b for a, b in pairs))

    return [[apart(i, j) for j in range(len(people))] for i in range(len(people))]


def nearest(far: Sequence[float], among: Sequence[int], k: int) -> list[int] | None:
    """The k nearest of those, and all who tie with the last; None where there are fewer."""
    if len(among) < k:
        return None
    limit = sorted(far[j] for j in among)[k - 1]
    return [j for j in among if far[j] <= limit * (1 + SAME) + SAME**2]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None


def consistency(
    people: Sequence[One], k: int, group: str | None = None, stratum: str | None = None
) -> float | None:
    """One minus the mean distance of an outcome from the mean of the neighbours'.

    In a stratum neighbours are of it; the deviations that make the distances are everybody's.
    """
    far, apart = distances(people), []
    inside = [i for i, one in enumerate(people) if stratum in {None, one.stratum}]
    for i in inside:
        one = people[i]
        if group is not None and one.group != group:
            continue
        others = nearest(far[i], [j for j in inside if j != i], k)
        if others is None:
            return None
        apart.append(abs(one.outcome - sum(people[j].outcome for j in others) / len(others)))
    found = mean(apart)
    return None if found is None else 1 - found


def unawareness(people: Sequence[One], group: str | None = None) -> float | None:
    """Of the pairs that are equal in every feature, the share whose outcomes differ."""
    mine = [one for one in people if group is None or one.group == group]
    return mean(
        [
            float(one.outcome != two.outcome)
            for at, one in enumerate(mine)
            for two in mine[at + 1 :]
            if one.features == two.features
        ]
    )


def neighbour_rate(people: Sequence[One], far: Sequence[float], of: list[int], k: int) -> float:
    """The mean outcome of the k nearest of those."""
    near = nearest(far, of, k)
    assert near is not None
    return sum(people[j].outcome for j in near) / len(near)


def situation_gaps(people: Sequence[One], k: int, group: str, other: str) -> list[float] | None:
    """Of each of a group, the neighbours' rate in another group less that in the own."""
    far = distances(people)
    mine = [i for i, one in enumerate(people) if one.group == group]
    theirs = [i for i, one in enumerate(people) if one.group == other]
    if len(mine) <= k or len(theirs) < k:
        return None
    return [
        neighbour_rate(people, far[i], theirs, k)
        - neighbour_rate(people, far[i], [j for j in mine if j != i], k)
        for i in mine
    ]


def situation(people: Sequence[One], k: int, t: float, group: str, other: str) -> float | None:
    """The share of a group whose gap is at least t; below 0, at most t."""
    gaps = situation_gaps(people, k, group, other)
    if gaps is None:
        return None
    return mean([float(gap >= t - SAME if t > 0 else gap <= t + SAME) for gap in gaps])


def twins(people: Sequence[One], group: str, other: str) -> float | None:
    """Of a group's people with a twin in another, the twins' mean outcome less the own."""
    gaps = []
    for one in people:
        equal = [
            two.outcome for two in people if two.group == other and two.features == one.features
        ]
        if one.group == group and equal:
            gaps.append(sum(equal) / len(equal) - one.outcome)
    return mean(gaps)


def causal(people: Sequence[One]) -> float | None:
    """Of the pairs that are equal in every feature and of two groups, how many differ."""
    return mean(
        [
            float(one.outcome != two.outcome)
            for at, one in enumerate(people)
            for two in people[at + 1 :]
            if one.features == two.features and one.group != two.group
        ]
    )


def lipschitz(people: Sequence[One], slope: float, group: str | None = None) -> float | None:
    """The share of pairs whose scores differ by more than the slope allows for their distance."""
    far = distances(people)
    mine = [i for i, one in enumerate(people) if group is None or one.group == group]
    return mean(
        [
            float(abs(people[i].score - people[j].score) > slope * far[i][j] * (1 + SAME) + SAME)
            for at, i in enumerate(mine)
            for j in mine[at + 1 :]
        ]
    )
