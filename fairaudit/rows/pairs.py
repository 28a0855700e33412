"""Pairs of people who are equal in every feature: how many there are, and how many differ."""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.rows.consistency import (
    NOTHING,
    Mean,
    add_sampling,
    estimate_variance,
    tells_too_little,
)


def differing_pairs(
    profile: Ints, outcome: Floats, n: Ints | None = None, share: float = 1.0
) -> Mean:
    """The share of pairs of equal people whose outcomes differ, and its variance over people.

    Each entry stands for `n` people (1); `share` of the profiles are here.

    >>> differing_pairs(np.array([0, 0, 0, 1]), np.array([1.0, 0.0, 0.0, 1.0])).value
    0.6666666666666666
    """
    return _share(profile, outcome, None, n, share)


def differing_pairs_between(
    profile: Ints, outcome: Floats, group: Ints, n: Ints | None = None, share: float = 1.0
) -> Mean:
    """The same of pairs of people of different groups."""
    return _share(profile, outcome, group, n, share)


def _share(
    profile: Ints, outcome: Floats, group: Ints | None, n: Ints | None, share: float
) -> Mean:
    """Of pairs of one profile and different groups; of any two people without groups."""
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
