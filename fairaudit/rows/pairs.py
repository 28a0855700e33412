"""Pairs of people who are equal in every feature: how many there are, and how many differ."""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.rows.consistency import NOTHING, Mean, estimate_variance


def differing_pairs(profile: Ints, outcome: Floats) -> Mean:
    """The share of pairs of equal people whose outcomes differ, and its variance over people.

    >>> differing_pairs(np.array([0, 0, 0, 1]), np.array([1.0, 0.0, 0.0, 1.0])).value
    0.6666666666666666
    """
    return _share(profile, outcome, np.arange(len(profile)))


def differing_pairs_between(profile: Ints, outcome: Floats, group: Ints) -> Mean:
    """The same of pairs of people of different groups."""
    return _share(profile, outcome, group)


def _share(profile: Ints, outcome: Floats, group: Ints) -> Mean:
    """Of pairs of one profile and different groups; people of the same group make none."""
    if not len(profile):
        return NOTHING
    _, profile = np.unique(profile, return_inverse=True)
    _, crowd = np.unique(profile * (int(group.max()) + 1) + group, return_inverse=True)
    others = np.bincount(profile)[profile] - np.bincount(crowd)[crowd]
    positives = np.bincount(profile, outcome)[profile] - np.bincount(crowd, outcome)[crowd]
    differing = np.where(outcome > 0, others - positives, positives)
    total = float(others.sum())
    if not total:
        return NOTHING
    share = float(differing.sum()) / total
    # Each pair is counted by both: by one person more or less the sums change twice.
    influence = 2 * (differing - share * others) / total
    people = int((others > 0).sum())
    return Mean(share, estimate_variance(influence, people), people)
