"""Pairs whose scores differ by more than their distance allows.

Dwork, Hardt, Pitassi, Reingold & Zemel (2012), Fairness through awareness, ITCS, arXiv:1104.3913.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.features import Features
from fairaudit.rows.consistency import NOTHING, Mean, estimate_variance
from fairaudit.rows.pairs import pair_variance
from fairaudit.rows.space import locate, square_distances
from fairaudit.sampling import PAIRS_SEED, hash_rows

MOST_IN_PAIRS = 2_000
"""Of so many people all pairs are looked at; of more, those of a sample of so many."""

_SAME = 1e-9
_CHUNK = 200


class SteepestPair(NamedTuple):
    """The pair whose scores differ most for its distance, by the places of both, and the gap."""

    first: int
    second: int
    ratio: float
    gap: float


def choose_people(places: Ints, members: Ints) -> Ints:
    """The members whose pairs are looked at: all, or a sample by a hash of their places."""
    if len(members) <= MOST_IN_PAIRS:
        return members
    order = np.argsort(hash_rows(places[members], PAIRS_SEED), kind="stable")
    return np.sort(members[order[:MOST_IN_PAIRS]])


def steep_pairs(features: Features, score: Floats, people: Ints, slope: float) -> Mean:
    """The share of pairs whose scores differ by more than `slope` times their distance."""
    if len(people) < 2:
        return NOTHING
    steep = np.zeros(len(people))
    for start, gap, distance in _pairs(features, score, people):
        allowed = slope * distance * (1 + _SAME) + _SAME
        steep[start : start + len(gap)] = (gap > allowed).sum(axis=1)
    among = len(people) - 1
    share = float(steep.sum()) / (len(people) * among)
    influence = 2 * (steep / among - share) / len(people)
    variance = estimate_variance(influence, len(people))
    variance += pair_variance(
        np.array([len(people) * among], dtype=np.float64), steep.sum(keepdims=True)
    )
    return Mean(share, variance, len(people))


def find_steepest_pair(features: Features, score: Floats, people: Ints) -> SteepestPair | None:
    """The pair with the largest ratio of the scores' gap to the distance; equals are infinite.

    Of pairs of one ratio it is that of the largest gap.
    """
    best: SteepestPair | None = None
    for start, gap, distance in _pairs(features, score, people):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gap > 0, gap / np.where(distance > _SAME, distance, 0.0), 0.0)
        largest = float(ratio.max())
        widest = np.where(ratio == largest, gap, -1.0)
        first, other = np.unravel_index(int(np.argmax(widest)), widest.shape)
        difference = float(gap[first, other])
        if largest > 0 and (best is None or (largest, difference) > (best.ratio, best.gap)):
            best = SteepestPair(int(people[start + first]), int(people[other]), largest, difference)
    return best


def _pairs(features: Features, score: Floats, people: Ints) -> Iterator[tuple[int, Floats, Floats]]:
    """Some people at a time beside all of them: how far their scores and features are apart."""
    space = locate(features)
    points, values = space.points(space.profile[people]), score[people]
    for start in range(0, len(people), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        gap = np.abs(values[chunk, None] - values)
        yield start, gap, np.sqrt(square_distances(points.take(chunk), points))
