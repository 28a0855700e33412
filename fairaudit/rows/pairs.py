"""Pairs of people: equals who are treated unlike, Lipschitz violations; the size of the sample.

Dwork, Hardt, Pitassi, Reingold & Zemel (2012), Fairness through awareness, ITCS, arXiv:1104.3913.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.sampling import PAIRS_SEED, hash_rows
from fairaudit.cube.features import Features
from fairaudit.rows.space import locate, square_distances
from fairaudit.rows.variance import NOTHING, Mean, add_sampling, estimate_variance, tells_too_little

MOST_IN_PAIRS = 2_000
"""Of so many people all pairs are looked at; of more, those of a sample of so many."""

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

    Each entry stands for `n` people (1); `share` of the profiles are here. With a `group` for each,
    pairs of people of different groups.

    >>> differing_pairs(np.array([0, 0, 0, 1]), np.array([1.0, 0.0, 0.0, 1.0])).value
    0.6666666666666666
    """
    if not len(profile):
        return NOTHING
    n = np.ones(len(profile), dtype=np.int64) if n is None else n
    _, profile = np.unique(profile, return_inverse=True)
    own, own_positives = np.ones(len(profile), dtype=np.float64), outcome.astype(np.float64)
    if group is not None:
        _, crowd = np.unique(profile * (int(group.max()) + 1) + group, return_inverse=True)
        own = np.bincount(crowd, n)[crowd].astype(np.float64)
        own_positives = np.bincount(crowd, n * outcome)[crowd].astype(np.float64)
    others = np.bincount(profile, n)[profile] - own
    positives = np.bincount(profile, n * outcome)[profile] - own_positives
    differing = np.where(outcome > 0, others - positives, positives)
    total = float((n * others).sum())
    if not total or tells_too_little(profile[others > 0], share):
        return NOTHING
    value = float((n * differing).sum()) / total
    # Each pair is counted by both: by one person more or less the sums change twice.
    influence: Floats = 2 * (differing - value * others) / total
    people = int(n[others > 0].sum())
    variance = estimate_variance(influence, people, n)
    if not np.isnan(variance):
        variance += pair_variance(
            np.bincount(profile, n * others), np.bincount(profile, n * differing)
        )
    return Mean(value, add_sampling(variance, profile, n * influence / 2, share), people)


def pair_variance(pairs: Floats | Ints, differing: Floats | Ints) -> float:
    """What pairs add to the variance beyond what each of their people does, crowd by crowd.

    Of `pairs` in each crowd so many are `differing`, each pair counted twice. Where half of a crowd
    is positive no single person moves the share, and this is all of its variance (Hoeffding 1948, A
    class of statistics with asymptotically normal distribution, Ann Math Stat 19:293, §5).
    """
    share = np.divide(differing, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    return float(2 * (pairs * share * (1 - share)).sum()) / float(pairs.sum()) ** 2


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
