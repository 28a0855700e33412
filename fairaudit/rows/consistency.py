"""Consistency: how far people's outcomes are from those of their nearest neighbours.

Zemel, Wu, Swersky, Pitassi & Dwork (2013), Learning Fair Representations, ICML, as `yNN`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.rows.neighbours import Neighbours


class Mean(NamedTuple):
    """A mean over people: its value, its variance, and how many people it was taken of."""

    value: float
    variance: float
    n: int


NOTHING = Mean(np.nan, np.nan, 0)


def consistency(outcome: Floats, neighbours: Neighbours, asked: Ints) -> Mean:
    """One minus the mean distance of an outcome from the mean of its neighbours', and its variance.

    The variance is the infinitesimal jackknife over people, to which a bootstrap tends that holds
    who is whose neighbour: redrawn people would be neighbours of their own copies. Each person
    counts twice in it, by the own distance and by what the neighbours' distances owe to it.
    """
    if not len(asked) or not neighbours.is_enough:
        return NOTHING
    base, place = neighbours.base, np.searchsorted(neighbours.among, neighbours.space.profile)
    positives = np.bincount(place[base], outcome[base], minlength=len(neighbours.among))
    rows = neighbours.row[neighbours.space.profile[asked]]
    own, size = outcome[asked], neighbours.sizes[rows]
    among = (neighbours.sum_over(positives)[rows] - own * neighbours.without_self) / size
    distance = np.abs(own - among)
    mean = float(distance.mean())
    slope = (1 - 2 * among) / size
    up, down = neighbours.spread(rows, slope), neighbours.spread(rows, slope * among)
    pull = own * up[place[asked]] - down[place[asked]] - slope * (own - among)
    total = float(((distance - mean + pull) ** 2).sum())
    is_asked = np.zeros(len(neighbours.space.profile), dtype=np.bool_)
    is_asked[asked] = True
    others = base[~is_asked[base]]
    total += float(((outcome[others] * up[place[others]] - down[place[others]]) ** 2).sum())
    return Mean(1 - mean, total / len(asked) ** 2, len(asked))
