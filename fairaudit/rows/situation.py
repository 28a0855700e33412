"""Situation testing and twins computed: people against neighbours in another group.

Luong, Ruggieri & Turini (2011), k-NN as an implementation of situation testing, KDD,
doi:10.1145/2020408.2020488; Žliobaitė (2017), Data Min Knowl Disc 31:1060, §3.4.1 and §2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.cube.features import Features
from fairaudit.rows.neighbours import Neighbours, find_neighbours
from fairaudit.rows.space import locate
from fairaudit.rows.variance import (
    LEAST,
    NOTHING,
    Mean,
    add_sampling,
    estimate_variance,
    tells_too_little,
)

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


class Twins(NamedTuple):
    """People of two sides who are equal in every feature to somebody of the other side."""

    members: Ints
    others: Ints
    profiles: Ints


def find_twins(features: Features, members: Ints, others: Ints) -> Twins:
    """The members who have a twin among `others`, those who are one, and their profiles."""
    profile = locate(features).profile
    shared = np.intersect1d(profile[members], profile[others])
    matched, matching = (side[np.isin(profile[side], shared)] for side in (members, others))
    return Twins(matched, matching, shared)


def rate_twins(  # two sides, their outcomes and how many they are
    features: Features,
    outcome: Floats,
    members: Ints,
    others: Ints,
    n: Ints | None = None,
    share: float = 1.0,
) -> tuple[Mean, Mean]:
    """Of members with a twin among `others` the own mean outcome, and the mean of their twins'.

    The second is over the members, too, and told with the number of people who are a twin. Each
    entry stands for `n` people (1); `share` of the profiles are here.
    """
    members, others, shared = find_twins(features, members, others)
    if not len(members) or tells_too_little(shared, share):
        return NOTHING, NOTHING
    n = np.ones(len(outcome), dtype=np.int64) if n is None else n
    profile, (mass, others_mass) = locate(features).profile, (n[members], n[others])
    place = np.searchsorted(shared, profile[others])
    twins = np.bincount(place, others_mass * outcome[others]) / np.bincount(place, others_mass)
    people = int(mass.sum())
    mean = float((mass * twins[np.searchsorted(shared, profile[members])]).sum()) / people
    own = float((mass * outcome[members]).sum()) / people
    return Mean(own, np.nan, people), Mean(mean, np.nan, int(others_mass.sum()))


def twin_difference(  # two sides, their outcomes and how many they are
    features: Features,
    outcome: Floats,
    members: Ints,
    others: Ints,
    n: Ints | None = None,
    share: float = 1.0,
) -> Mean:
    """Of members with a twin among `others`, the mean of the twins' rate less the own outcome.

    Twins are equal in every feature. Each entry stands for `n` people (1); `share` of the profiles
    are here. The variance is over people, who are told from the mean of their twins and from that
    of the own side; the people told are those of the smaller side.
    """
    members, others, shared = find_twins(features, members, others)
    if not len(members) or tells_too_little(shared, share):
        return NOTHING
    n = np.ones(len(outcome), dtype=np.int64) if n is None else n
    profile, (mass, others_mass) = locate(features).profile, (n[members], n[others])
    own, other = (np.searchsorted(shared, profile[side]) for side in (members, others))
    size, crowd = np.bincount(own, mass), np.bincount(other, others_mass)
    rate = np.bincount(own, mass * outcome[members]) / size
    twins = np.bincount(other, others_mass * outcome[others]) / crowd
    people = int(mass.sum())
    gaps = twins[own] - outcome[members]
    value = float((mass * gaps).sum()) / people
    # Of one twin alone nothing tells the spread: the own side and the mean gap say what to expect.
    expected = np.where(crowd > 1, twins, rate + value)
    spread = np.where(crowd > 1, crowd / np.maximum(crowd - 1, 1), 1.0)
    pulls = (outcome[others] - expected[other]) ** 2 * (size**2 * spread / crowd**2)[other]
    fewest = min(people, int(others_mass.sum()))
    if fewest < LEAST:
        return Mean(value, np.nan, fewest)
    variance = estimate_variance(gaps - value, people, mass) + float((others_mass * pulls).sum())
    influence = mass * (gaps - value) / people
    return Mean(value, add_sampling(variance / people**2, own, influence, share), fewest)
