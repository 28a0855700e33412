"""Situation testing and twins: each person beside people like it, of the own group and of another.

Luong, Ruggieri & Turini (2011), k-NN as an implementation of situation testing, KDD,
doi:10.1145/2020408.2020488; Žliobaitė (2017), Data Min Knowl Disc 31:1060, §3.4.1 and §2.
"""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Floats, Ints
from fairaudit.features import Features
from fairaudit.rows.consistency import LEAST, NOTHING, Mean, estimate_variance
from fairaudit.rows.neighbours import Neighbours, find_neighbours, locate

SAME = 1e-9
"""A gap that misses the threshold by less is at it: 3/5 - 1/5 is 2/5."""


def neighbour_gaps(
    features: Features, outcome: Floats, people: Ints, members: Ints, others: Ints, k: int
) -> Floats:
    """Of each of the members asked, the neighbours' rate among `others` less that among members.

    The person itself is none of the own neighbours. Nobody has a gap where a side has fewer than k.
    """
    own = find_neighbours(features, members, k, without_self=True)
    other = find_neighbours(features, others, k, without_self=False)
    if not own.is_enough or not other.is_enough:
        return np.zeros(0)
    people = other.ask(own.ask(people))
    return _rate(other, outcome, people) - _rate(own, outcome, people)


def _rate(neighbours: Neighbours, outcome: Floats, people: Ints) -> Floats:
    """The mean outcome of the neighbours of each of those asked."""
    base, profile = neighbours.base, neighbours.space.profile
    place = np.searchsorted(neighbours.among, profile[base])
    positives = np.bincount(place, outcome[base], minlength=len(neighbours.among))
    rows = neighbours.row[profile[people]]
    own = outcome[people] * neighbours.without_self
    return np.asarray((neighbours.sum_over(positives)[rows] - own) / neighbours.sizes[rows])


def count_twins(features: Features, members: Ints, others: Ints) -> tuple[int, int]:
    """How many members have a twin among `others`, and how many of those are one."""
    profile = locate(features).profile
    shared = np.intersect1d(profile[members], profile[others])
    first, second = (int(np.isin(profile[side], shared).sum()) for side in (members, others))
    return first, second


def rate_twins(
    features: Features, outcome: Floats, members: Ints, others: Ints
) -> tuple[Mean, Mean]:
    """Of members with a twin among `others` the own mean outcome, and the mean of their twins'.

    The second is over the members, too, and told with the number of people who are a twin.
    """
    profile = locate(features).profile
    shared = np.intersect1d(profile[members], profile[others])
    members, others = (side[np.isin(profile[side], shared)] for side in (members, others))
    if not len(members):
        return NOTHING, NOTHING
    place = np.searchsorted(shared, profile[others])
    twins = np.bincount(place, outcome[others]) / np.bincount(place)
    mean = float(twins[np.searchsorted(shared, profile[members])].mean())
    own = float(outcome[members].mean())
    return Mean(own, np.nan, len(members)), Mean(mean, np.nan, len(others))


def twin_difference(features: Features, outcome: Floats, members: Ints, others: Ints) -> Mean:
    """Of members with a twin among `others`, the mean of the twins' rate less the own outcome.

    Twins are equal in every feature. The variance is over people, who are told from the mean of
    their twins and from that of the own side; the people told are those of the smaller side.
    """
    profile = locate(features).profile
    shared = np.intersect1d(profile[members], profile[others])
    members, others = (side[np.isin(profile[side], shared)] for side in (members, others))
    if not len(members):
        return NOTHING
    own, other = (np.searchsorted(shared, profile[side]) for side in (members, others))
    size, crowd = np.bincount(own), np.bincount(other)
    rate, twins = (
        np.bincount(own, outcome[members]) / size,
        np.bincount(other, outcome[others]) / crowd,
    )
    value = float((twins[own] - outcome[members]).mean())
    # Of one twin alone nothing tells the spread: the own side and the mean gap say what to expect.
    expected = np.where(crowd > 1, twins, rate + value)
    spread = np.where(crowd > 1, crowd / np.maximum(crowd - 1, 1), 1.0)
    pull = ((outcome[others] - expected[other]) ** 2 * (size**2 * spread / crowd**2)[other]).sum()
    own_gaps = twins[own] - outcome[members] - value
    fewest = min(len(members), len(others))
    variance = estimate_variance(own_gaps, len(members)) + pull
    return Mean(value, variance / len(members) ** 2 if fewest >= LEAST else np.nan, fewest)
