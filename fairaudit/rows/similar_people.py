"""Comparisons of similar people: consistency, situation testing, twins, steepest pairs.

Situation testing: Luong, Ruggieri & Turini (2011), k-NN as an implementation of situation testing,
KDD, doi:10.1145/2020408.2020488. Twins are people who are equal in every feature: Žliobaitė (2017),
Data Min Knowl Disc 31:1060, §3.4.1 and §2. Pairs with a large gap of scores for their distance
(Lipschitz condition): Dwork, Hardt, Pitassi, Reingold & Zemel (2012), Fairness through awareness,
ITCS, arXiv:1104.3913.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import PAIRS_SEED, Alpha, Floats, Ints, hash_rows
from fairaudit.cube.rows import Features
from fairaudit.rows.neighbours import (
    Neighbours,
    count_differing,
    find_neighbours,
    locate,
    square_gaps,
)
from fairaudit.stats.distributions import normal_critical, t_critical


class Mean(NamedTuple):
    """A mean over people: its value, its variance, and the number of people."""

    value: float
    variance: float
    n: int


NOTHING = Mean(np.nan, np.nan, 0)

LEAST = 8
"""Minimum number of people for a variance: with fewer, 95 % intervals of twins cover 90 to 93 %."""

NO_VARIANCE = 1e-18
"""Maximum variance that is only a rounding error; a value with such a variance has no interval."""


def estimate_variance(influence: Floats, people: int, n: Ints | None = None) -> float:
    """The variance of a mean from the influence of each person; NaN below `LEAST` people."""
    squares = influence**2 if n is None else n * influence**2
    return float(squares.sum()) * people / (people - 1) if people >= LEAST else np.nan


def add_sampling(variance: float, profile: Ints, influence: Floats, share: float) -> float:
    """The variance of a number if only a share of the profiles was read.

    `variance` is the variance among the people who were read; the function scales it to all people.
    The sampling of profiles adds the variance of a ratio under Poisson sampling (Särndal, Swensson
    & Wretman 1992, §5.6), from the influence of each person.
    """
    if share >= 1:
        return variance
    return share * variance + (1 - share) * float((np.bincount(profile, influence) ** 2).sum())


LEAST_PROFILES = 30
"""Minimum number of profiles in a sample of profiles for a number that represents all profiles."""


def has_few_profiles(profile: Ints, share: float) -> bool:
    """Whether only a share of the profiles was read, with too few profiles to represent all."""
    return share < 1 and len(np.unique(profile)) < LEAST_PROFILES


def widen(n: Floats | Ints, alpha: Alpha) -> Floats:
    """The t quantile divided by the normal quantile: a factor for the intervals of few people."""
    freedom = np.maximum(np.asarray(n, dtype=np.float64) - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = t_critical(freedom, alpha) / normal_critical(alpha)
    return np.where(np.isfinite(factor), factor, 1.0)


SAME = 1e-9
"""Tolerance of rounding errors if gaps or distances are compared, such as 3/5 - 1/5 and 2/5."""


def consistency(outcome: Floats, neighbours: Neighbours, people: Ints) -> Mean:
    """1 - the mean of |outcome of a person - mean outcome of the neighbours|, and its variance.

    This measure is `yNN` in Zemel, Wu, Swersky, Pitassi & Dwork (2013), Learning Fair
    Representations, ICML. The variance is the infinitesimal jackknife over people, with fixed
    neighbours; in a bootstrap, people would be neighbours of their copies. A person has an
    influence through their own outcome, and through the means of the people who have this person as
    a neighbour.
    """
    if not len(people) or not neighbours.has_enough_people:
        return NOTHING
    base, place = neighbours.base, np.searchsorted(neighbours.among, neighbours.space.profile)
    rows = neighbours.row[neighbours.space.profile[people]]
    size, among = neighbours.sizes[rows], neighbours.mean_of(outcome, people)
    distance = np.abs(outcome[people] - among)
    mean = float(distance.mean())
    # The change of a person's distance by one neighbour with the outcome 0 or 1.
    either = np.array([[0.0], [1.0]])
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(size > 1, (among * size - either) / (size - 1), 0.5)
    pulls = (1 - 2 * others) * (either - others) / size
    on_profiles = np.stack([neighbours.sum_by_neighbour(rows, pull) for pull in pulls])
    positive = (outcome > 0).astype(np.int64)
    influence = np.zeros(len(neighbours.space.profile))
    influence[base] = on_profiles[positive[base], place[base]]
    # People are not their own neighbours.
    influence[people] += distance - mean
    if neighbours.without_self:
        influence[people] -= pulls[positive[people], np.arange(len(people))]
    return Mean(1 - mean, estimate_variance(influence / len(people), len(people)), len(people))


def neighbour_gaps(
    features: Features, outcome: Floats, people: Ints, members: Ints, others: Ints, k: int
) -> Floats:
    """For each person: mean outcome of the k nearest `others` minus that of the nearest `members`.

    People are not their own neighbours. The result is empty if a side has too few people.
    """
    own = find_neighbours(features, members, k, without_self=True)
    other = find_neighbours(features, others, k, without_self=False)
    if not own.has_enough_people or not other.has_enough_people:
        return np.zeros(0)
    people = other.search(own.search(people))
    return other.mean_of(outcome, people) - own.mean_of(outcome, people)


class Twins(NamedTuple):
    """People of two sides with a twin (an equal person on the other side), and their profiles."""

    members: Ints
    others: Ints
    profiles: Ints


def find_twins(features: Features, members: Ints, others: Ints) -> Twins:
    """The members who have a twin among `others`, the twins, and the profiles of all twins."""
    profile = locate(features).profile
    shared = np.intersect1d(profile[members], profile[others])
    matched, matching = (side[np.isin(profile[side], shared)] for side in (members, others))
    return Twins(matched, matching, shared)


class TwinRates(NamedTuple):
    """The mean outcome of members with a twin, the mean outcome of the twins, and the difference.

    `gap.n` is the number of people of the smaller side.
    """

    own: Mean = NOTHING
    twins: Mean = NOTHING
    gap: Mean = NOTHING


def compare_twins(
    features: Features,
    outcome: Floats,
    members: Ints,
    others: Ints,
    n: Ints | None = None,
    share: float = 1.0,
) -> TwinRates:
    """The mean outcomes of members who have a twin among `others`, and of their twins.

    Both means are over the members. Each entry represents `n` people (1 by default); `share` is the
    share of the profiles that were read. The variance of the gap includes the people of both sides.
    """
    members, others, shared = find_twins(features, members, others)
    if not len(members) or has_few_profiles(shared, share):
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
        # A single twin has no variance; its expected outcome is the members' rate + the mean gap.
        expected = np.where(crowd > 1, twins, rate + value)
        spread = np.where(crowd > 1, crowd / np.maximum(crowd - 1, 1), 1.0)
        pulls = (outcome[others] - expected[other]) ** 2 * (size**2 * spread / crowd**2)[other]
        variance = estimate_variance(gaps - value, people, mass)
        variance += float((others_mass * pulls).sum())
        influence = mass * (gaps - value) / people
        variance = add_sampling(variance / people**2, own, influence, share)
    return TwinRates(own_mean, twins_mean, Mean(value, variance, fewest))


MOST_IN_PAIRS = 2_000
"""Maximum number of people whose pairs are all compared; of more people, a sample is compared."""

_CHUNK = 200


def differing_pairs(
    profile: Ints,
    outcome: Floats,
    n: Ints | None = None,
    share: float = 1.0,
    group: Ints | None = None,
) -> Mean:
    """The share of pairs of equal people with different outcomes, and its variance over people.

    Each entry represents `n` people (1 by default); `share` is the share of the profiles that were
    read. If `group` is not None, only pairs of people from different groups count.

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
    if not total or has_few_profiles(profile[others > 0], share):
        return NOTHING
    value = float((n * differing).sum()) / total
    # Each pair is counted for both people, so a person changes the sums twice.
    influence: Floats = 2 * (differing - value * others) / total
    people = int(n[others > 0].sum())
    variance = estimate_variance(influence, people, n)
    if not np.isnan(variance):
        variance += pair_variance(
            np.bincount(profile, n * others), np.bincount(profile, n * differing)
        )
    return Mean(value, add_sampling(variance, profile, n * influence / 2, share), people)


def pair_variance(pairs: Floats | Ints, differing: Floats | Ints) -> float:
    """The part of the variance of a share of pairs that the influence of people does not include.

    `pairs` and `differing` are counts for each profile, with each pair counted twice. If half of
    the people of a profile are positive, the influence of each person is 0, and this part is the
    whole variance (Hoeffding 1948, A class of statistics with asymptotically normal distribution,
    Ann Math Stat 19:293, §5).
    """
    share = np.divide(differing, pairs, out=np.zeros(len(pairs)), where=pairs > 0)
    return float(2 * (pairs * share * (1 - share)).sum()) / float(pairs.sum()) ** 2


class SteepestPair(NamedTuple):
    """The pair with the largest ratio (gap of scores / distance): both people, ratio and gap."""

    first: int
    second: int
    ratio: float
    gap: float


def choose_people(places: Ints, members: Ints) -> Ints:
    """The members whose pairs are compared: all members, or a sample by a hash of `places`."""
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
        allowed = slope * distance * (1 + SAME) + SAME
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
    """The pair with the largest ratio (gap of scores / distance); None if all gaps are 0.

    The ratio is infinite at distance 0. Among equal ratios, the pair with the largest gap is used.
    """
    best: SteepestPair | None = None
    for start, gap, distance in _pairs(features, score, people):
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gap > 0, gap / np.where(distance > SAME, distance, 0.0), 0.0)
        largest = float(ratio.max())
        widest = np.where(ratio == largest, gap, -1.0)
        first, other = np.unravel_index(int(np.argmax(widest)), widest.shape)
        difference = float(gap[first, other])
        if largest > 0 and (best is None or (largest, difference) > (best.ratio, best.gap)):
            best = SteepestPair(int(people[start + first]), int(people[other]), largest, difference)
    return best


def _pairs(features: Features, score: Floats, people: Ints) -> Iterator[tuple[int, Floats, Floats]]:
    """For each chunk of people: the index of its start, and gaps and distances to all people."""
    space = locate(features)
    points, values = space.points(space.profile[people]), score[people]
    for start in range(0, len(people), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        some, gap = points.take(chunk), np.abs(values[chunk, None] - values)
        squares = square_gaps(some.numbers, points.numbers) + count_differing(some, points)
        yield start, gap, np.sqrt(squares)
