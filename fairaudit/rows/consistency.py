"""Consistency: the distance of people's outcomes from those of their neighbours, and its variance.

Zemel, Wu, Swersky, Pitassi & Dwork (2013), Learning Fair Representations, ICML, as `yNN`.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.rows.neighbours import Neighbours
from fairaudit.rows.variance import NOTHING, Mean, estimate_variance


def consistency(outcome: Floats, neighbours: Neighbours, people: Ints) -> Mean:
    """One minus the mean distance of an outcome from the mean of its neighbours', and its variance.

    The variance is the infinitesimal jackknife over people, with fixed neighbours: in a bootstrap
    people would be neighbours of their copies. Each person has two influences: through the own
    distance, and through the distances of neighbours.
    """
    if not len(people) or not neighbours.is_enough:
        return NOTHING
    base, place = neighbours.base, np.searchsorted(neighbours.among, neighbours.space.profile)
    rows = neighbours.row[neighbours.space.profile[people]]
    size, among = neighbours.sizes[rows], neighbours.mean_of(outcome, people)
    distance = np.abs(outcome[people] - among)
    mean = float(distance.mean())
    # The effect of a neighbour's outcome (0 or 1) on the distances of others.
    pulls = [_pull(among, size, with_positive) for with_positive in (0.0, 1.0)]
    on_profiles = np.stack([neighbours.spread(rows, pull) for pull in pulls])
    positive = (outcome > 0).astype(np.int64)
    influence = np.zeros(len(neighbours.space.profile))
    influence[base] = on_profiles[positive[base], place[base]]
    # People are not their own neighbours.
    influence[people] += distance - mean
    if neighbours.without_self:
        influence[people] -= np.stack(pulls)[positive[people], np.arange(len(people))]
    return Mean(1 - mean, estimate_variance(influence / len(people), len(people)), len(people))


def _pull(among: Floats, size: Ints, outcome: float) -> Floats:
    """The change of a distance by a neighbour's outcome, compared with the other neighbours."""
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(size > 1, (among * size - outcome) / (size - 1), 0.5)
    return np.asarray((1 - 2 * others) * (outcome - others) / size)
