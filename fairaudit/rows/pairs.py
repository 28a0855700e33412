"""Pairs of people: equal people with different outcomes, Lipschitz violations; size of the sample.

Dwork, Hardt, Pitassi, Reingold & Zemel (2012), Fairness through awareness, ITCS, arXiv:1104.3913.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import PAIRS_SEED, Floats, Ints, hash_rows
from fairaudit.cube.features import Features
from fairaudit.rows.space import locate, square_distances
from fairaudit.rows.variance import NOTHING, Mean, add_sampling, estimate_variance, tells_too_little

MOST_IN_PAIRS = 2_000
"""Most people of whom all pairs are compared; more people are sampled."""

_SAME = 1e-9
_CHUNK = 200


def differing_pairs(
    profile: Ints,
    outcome: Floats,
    n: Ints | None = None,
    share: float = 1.0,
    group: Ints | None = None,
) -> Mean:
    """The share of pairs of equal people whose outcomes differ, and its variance over people.

    Each entry represents `n` people (1); `share` is the known share of the profiles. With `group`
    only pairs of people from different groups count.

    >>> differing_pairs(np.array([0, 0, 0, 1]), np.array([1.0, 0.0, 0.0, 1.0])).value
    0.6666666666666666
    """
    if not len(profile):
        return NOTHING
    n = np.ones(len(profile), dtype=np.int64) if n is None else n
    _, profile = np.unique(profile, return_inverse=True)
    own, own_positives = np.ones(len(profile), dtype=np.float64), outcome.astype(np.float64)
    if group is not None:
        _, own_side = np.unique(profile * (int(group.max()) + 1) + group, return_inverse=True)
        own = np.bincount(own_side, n)[own_side].astype(np.float64)
        own_positives = np.bincount(own_side, n * outcome)[own_side].astype(np.float64)
    others = np.bincount(profile, n)[profile] - own
    positives = np.bincount(profile, n * outcome)[profile] - own_positives
    differing = np.where(outcome > 0, others - positives, positives)
    total = float((n * others).sum())
    if not total or tells_too_little(profile[others > 0], share):
        return NOTHING
    value = float((n * differing).sum()) / total
    # Each pair is counted for both people, so one person changes the sums twice.
    influence: Floats = 2 * (differing - value * others) / total
    people = int(n[others > 0].sum())
    variance = estimate_variance(influence, people, n)
    if not np.isnan(variance):
        variance += pair_variance(
            np.bincount(profile, n * others), np.bincount(profile, n * differing)
        )
    return Mean(value, add_sampling(variance, profile, n * influence / 2, share), people)


def pair_variance(pairs: Floats | Ints, differing: Floats | Ints) -> float:
    """The variance from pairs in addition to the variance from people, summed over profiles.

    `pairs` and `differing` are counts for each profile, with each pair counted twice. If half of
    the people of a profile are positive, no single person changes the share, and this is the whole
    variance (Hoeffding 1948, A class of statistics with asymptotically normal distribution, Ann
    Math Stat 19:293, §5).
    """
    share = np.divide(differing, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    return float(2 * (pairs * share * (1 - share)).sum()) / float(pairs.sum()) ** 2


class SteepestPair(NamedTuple):
    """The pair with the largest ratio of score gap to distance: both places, ratio and gap."""

    first: int
    second: int
    ratio: float
    gap: float


def choose_people(places: Ints, members: Ints) -> Ints:
    """The members whose pairs are compared: all, or a sample by a hash of their places."""
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
    """The pair with the largest ratio of the scores' gap to the distance; infinite at distance 0.

    Ties: the largest gap.
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
    """The gaps of scores and the distances of features, of some people at a time and all people."""
    space = locate(features)
    points, values = space.points(space.profile[people]), score[people]
    for start in range(0, len(people), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        gap = np.abs(values[chunk, None] - values)
        yield start, gap, np.sqrt(square_distances(points.take(chunk), points))
