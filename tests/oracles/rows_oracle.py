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


def consistency(people: Sequence[One], k: int, group: str | None = None) -> float | None:
    """One minus the mean distance of an outcome from the mean of the neighbours'."""
    far, apart = distances(people), []
    for i, one in enumerate(people):
        if group is not None and one.group != group:
            continue
        others = nearest(far[i], [j for j in range(len(people)) if j != i], k)
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
