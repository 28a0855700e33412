"""Consistency, situation testing and twins: people compared with similar people.

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
"""Rounding error up to which a gap reaches the threshold: 3/5 - 1/5 is 2/5."""


def consistency(outcome: Floats, neighbours: Neighbours, people: Ints) -> Mean:
    """One minus the mean distance of an outcome from the mean of its neighbours', and its variance.

    Zemel, Wu, Swersky, Pitassi & Dwork (2013), Learning Fair Representations, ICML, as `yNN`. The
    variance is the infinitesimal jackknife over people, with fixed neighbours: in a bootstrap
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


def neighbour_gaps(
    features: Features, outcome: Floats, people: Ints, members: Ints, others: Ints, k: int
) -> Floats:
    """The neighbours' rate among `others` less that among `members`, for each of some `people`.

    People are not their own neighbours. The result is empty if a side has fewer than k people.
    """
    own = find_neighbours(features, members, k, without_self=True)
    other = find_neighbours(features, others, k, without_self=False)
    if not own.is_enough or not other.is_enough:
        return np.zeros(0)
    people = other.ask(own.ask(people))
    return other.mean_of(outcome, people) - own.mean_of(outcome, people)


class Twins(NamedTuple):
    """People of two sides who are equal in every feature to a person of the other side."""

    members: Ints
    others: Ints
    profiles: Ints


def find_twins(features: Features, members: Ints, others: Ints) -> Twins:
    """The members with a twin among `others`, these twins, and their profiles."""
    profile = locate(features).profile
    shared = np.intersect1d(profile[members], profile[others])
    matched, matching = (side[np.isin(profile[side], shared)] for side in (members, others))
    return Twins(matched, matching, shared)


class TwinRates(NamedTuple):
    """The mean outcomes of people with a twin, and of their twins, and the difference.

    `n` of `twins` is the number of people who are a twin, `n` of `gap` that of the smaller side.
    """

    own: Mean = NOTHING
    twins: Mean = NOTHING
    gap: Mean = NOTHING


def compare_twins(  # two sides, their outcomes and how many they are
    features: Features,
    outcome: Floats,
    members: Ints,
    others: Ints,
    n: Ints | None = None,
    share: float = 1.0,
) -> TwinRates:
    """The rates of members who have a twin among `others`, equal in every feature.

    All are means over the members. Each entry represents `n` people (1); `share` is the known share
    of the profiles. The variance of the gap is over the people of both sides.
    """
    members, others, shared = find_twins(features, members, others)
    if not len(members) or tells_too_little(shared, share):
        return TwinRates()
    n = np.ones(len(outcome), dtype=np.int64) if n is None else n
    profile, (mass, others_mass) = locate(features).profile, (n[members], n[others])
    own, other = (np.searchsorted(shared, profile[side]) for side in (members, others))
    size, crowd = np.bincount(own, mass), np.bincount(other, others_mass)
    rate = np.bincount(own, mass * outcome[members]) / size
    twins = np.bincount(other, others_mass * outcome[others]) / crowd
    people, other_people = int(mass.sum()), int(others_mass.sum())
    own_mean = Mean(float((mass * outcome[members]).sum()) / people, np.nan, people)
    twins_mean = Mean(float((mass * twins[own]).sum()) / people, np.nan, other_people)
    gaps = twins[own] - outcome[members]
    value, variance = float((mass * gaps).sum()) / people, np.nan
    fewest = min(people, other_people)
    if fewest >= LEAST:
        # A single twin has no spread: its expected outcome is the own rate plus the mean gap.
        expected = np.where(crowd > 1, twins, rate + value)
        spread = np.where(crowd > 1, crowd / np.maximum(crowd - 1, 1), 1.0)
        pulls = (outcome[others] - expected[other]) ** 2 * (size**2 * spread / crowd**2)[other]
        variance = estimate_variance(gaps - value, people, mass)
        variance += float((others_mass * pulls).sum())
        influence = mass * (gaps - value) / people
        variance = add_sampling(variance / people**2, own, influence, share)
    return TwinRates(own_mean, twins_mean, Mean(value, variance, fewest))
