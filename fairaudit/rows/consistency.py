"""Consistency computed: how far people are from their neighbours, and its variance.

Zemel, Wu, Swersky, Pitassi & Dwork (2013), Learning Fair Representations, ICML, as `yNN`.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.rows.neighbours import Neighbours
from fairaudit.rows.variance import NOTHING, Mean, estimate_variance


def consistency(outcome: Floats, neighbours: Neighbours, people: Ints) -> Mean:
    """One minus the mean distance of an outcome from the mean of its neighbours', and its variance.

    The variance is the infinitesimal jackknife over people, to which a bootstrap tends that holds
    who is whose neighbour: redrawn people would be neighbours of their own copies. Each person
    counts twice in it, by the own distance and by what the neighbours' distances owe to it.
    """
    if not len(people) or not neighbours.is_enough:
        return NOTHING
    base, place = neighbours.base, np.searchsorted(neighbours.among, neighbours.space.profile)
    rows = neighbours.row[neighbours.space.profile[people]]
    size, among = neighbours.sizes[rows], neighbours.mean_of(outcome, people)
    distance = np.abs(outcome[people] - among)
    mean = float(distance.mean())
    # What a neighbour with and without the positive outcome does to the distances of others.
    pulls = [_pull(among, size, with_positive) for with_positive in (0.0, 1.0)]
    on_profiles = np.stack([neighbours.spread(rows, pull) for pull in pulls])
    positive = (outcome > 0).astype(np.int64)
    influence = np.zeros(len(neighbours.space.profile))
    influence[base] = on_profiles[positive[base], place[base]]
    # Nobody is an own neighbour.
    influence[people] += distance - mean
    if neighbours.without_self:
        influence[people] -= np.stack(pulls)[positive[people], np.arange(len(people))]
    return Mean(1 - mean, estimate_variance(influence / len(people), len(people)), len(people))


def _pull(among: Floats, size: Ints, outcome: float) -> Floats:
    """By how much a neighbour's outcome moves a distance from what the other neighbours expect."""
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(size > 1, (among * size - outcome) / (size - 1), 0.5)
    return np.asarray((1 - 2 * others) * (outcome - others) / size)
