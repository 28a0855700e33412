"""Strata from fitted models: k-means clusters, and bins of the propensity to be of a group.

k-means: Kamiran, Žliobaitė & Calders (2013), Quantifying explainable discrimination and removing
illegal discrimination in automated decision making, Knowl Inf Syst 35:613. Propensity: Rosenbaum &
Rubin (1983), The central role of the propensity score in observational studies for causal effects,
Biometrika 70:41; for discrimination Calders, Karim, Kamiran, Ali & Zhang (2013), Controlling
attribute effect in linear regression, ICDM 2013:71.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.frozen import Frozen
from fairaudit.counting.strata_models import (
    SCORE_DECIMALS,
    ClusterModel,
    FeatureBalance,
    PropensityModel,
)
from fairaudit.cube.features import Features
from fairaudit.rows.design import ALMOST_NONE, Design, design, fit_logistic, one_thread
from fairaudit.stats.distributions import expit

_MATCH = 0.5**0.5
"""The length of an indicator: two people of different levels are at the distance 1."""

_STARTS = 10
"""The number of starts of k-means; the best result is used."""


class ClusterFit(Frozen):
    """Fitted clusters, the largest first, with the people in each.

    `within` is the within-cluster sum of squares, `explained` the share of the features' variance
    between clusters. Without a `model` there is a `reason`.
    """

    model: ClusterModel | None
    people: tuple[int, ...] = ()
    within: float = 0.0
    explained: float = 0.0
    reason: str = ""


def fit_clusters(features: Features, k: int, seed: int) -> ClusterFit:
    """`k` clusters of people who have every feature; fewer where fewer people differ."""
    features = features.take(features.canonical_order())
    design_matrix = design(features, _MATCH)
    if design_matrix.is_empty:
        return ClusterFit(None, reason="no feature varies")
    with one_thread():
        from sklearn.cluster import KMeans

        k = min(k, len(np.unique(design_matrix.matrix, axis=0)))
        clustering = KMeans(k, n_init=_STARTS, random_state=seed, algorithm="lloyd")
        nearest = clustering.fit_predict(design_matrix.matrix).astype(np.int64)
        centres = np.asarray(clustering.cluster_centers_, dtype=np.float64)
    sizes = np.bincount(nearest, minlength=len(centres))
    ranking = np.lexsort([*centres.T[::-1], -sizes])
    total = float(((design_matrix.matrix - design_matrix.matrix.mean(axis=0)) ** 2).sum())
    within = float(((design_matrix.matrix - centres[nearest]) ** 2).sum())
    # |x - c|² = |x|² - 2 x·c + |c|², and |x|² is the same for all centres.
    is_number = np.arange(centres.shape[1]) < len(design_matrix.scale.numbers)
    twice = -2 * np.where(is_number, 1.0, _MATCH)
    distances = [design_matrix.score(float(c @ c), twice * c) for c in centres[ranking]]
    model = ClusterModel(design_matrix.scale, tuple(distances))
    people = tuple(int(sizes[number]) for number in ranking)
    return ClusterFit(model, people, within, 1 - within / total)


_FEWEST_BINS, _MOST_BINS = 5, 20
"""The smallest and the largest number of strata if a spec does not give it."""

_LEAST = 2
"""Fewest people of a side: the score of a single person has no range."""


class Side(Frozen):
    """The people of one side, how many have no counterpart, and the range of their scores."""

    people: int
    without_counterpart: int
    low: float
    high: float


class PropensityFit(Frozen):
    """A propensity model and the people it was fitted to: the members of a group, and all others.

    Without a `model` there is a `reason`.
    """

    model: PropensityModel | None
    members: Side | None = None
    others: Side | None = None
    reason: str = ""
    balance: tuple[FeatureBalance, ...] = ()


def count_bins(member: Marks) -> int:
    """How many strata the people allow: the cube root of twice the smaller side, from 5 to 20.

    Five strata leave about a tenth of the confounding for any number of people (Cochran 1968,
    Biometrics 24:295). The bias is smaller than the standard error only if the number of strata
    grows (Lunceford & Davidian 2004, Stat Med 23:2937), and more than ten to twenty strata gain
    little (Neuhäuser, Thielmann & Ruxton 2018, Arch Med Sci 14:695).

    >>> count_bins(np.arange(2000) < 500)
    10
    """
    smaller = int(min(member.sum(), (~member).sum()))
    return int(np.clip(round((2 * smaller) ** (1 / 3)), _FEWEST_BINS, _MOST_BINS))


def fit_propensity(features: Features, member: Marks, bins: int | None) -> PropensityFit:
    """The propensity model of `member`, with strata of as many people each.

    People whose score is outside the range common to both sides have no counterpart, and are not
    in any stratum.
    """
    order = features.canonical_order(member.astype(np.int64))
    features, member = features.take(order), member[order]
    if min(member.sum(), (~member).sum()) < _LEAST:
        return PropensityFit(None, reason=f"one side has fewer than {_LEAST} people")
    matrix = design(features)
    if matrix.is_empty:
        return PropensityFit(None, reason="no feature varies")
    with one_thread():
        fit = fit_logistic(matrix.matrix, member, None, ALMOST_NONE)
        if fit is None:
            return PropensityFit(None, reason="the logistic model did not converge")
        intercept, weights = fit
        probability = expit(intercept + matrix.matrix @ weights)
    scores = np.round(probability, SCORE_DECIMALS)
    ends = [(float(scores[side].min()), float(scores[side].max())) for side in (member, ~member)]
    low, high = max(low for low, _ in ends), min(high for _, high in ends)
    inside = (scores >= low) & (scores <= high)
    members, others = (
        Side(int(side.sum()), int((side & ~inside).sum()), *limits)
        for side, limits in zip((member, ~member), ends, strict=True)
    )
    if not inside.any():
        reason = "the features separate the two groups completely: no one has a counterpart"
        return PropensityFit(None, members, others, reason)
    score = matrix.score(intercept, weights)
    edges = find_edges(scores[inside], bins or count_bins(member[inside]))
    model = PropensityModel(matrix.scale, score, (low, high), edges)
    stratum = np.where(inside, np.searchsorted(edges, scores, side="right"), -1)
    balance = tuple(_measure_balance(matrix, member, stratum))
    return PropensityFit(model, members, others, balance=balance)


def _measure_balance(
    design_matrix: Design, member: Marks, stratum: Ints
) -> Iterator[FeatureBalance]:
    """How far apart both sides are in each feature, among all people and within strata.

    In standard deviations, of the mean variance of both sides among all people (Austin 2009,
    Balance diagnostics, Stat Med 28:3083); strata weigh by their people of both sides.
    """
    values = design_matrix.matrix
    spread = np.sqrt((values[member].var(axis=0, ddof=1) + values[~member].var(axis=0, ddof=1)) / 2)
    gaps, people = [], []
    for number in np.unique(stratum[stratum >= 0]):
        sides = [values[(stratum == number) & side] for side in (member, ~member)]
        if all(map(len, sides)):
            gaps.append(sides[0].mean(axis=0) - sides[1].mean(axis=0))
            people.append(sum(map(len, sides)))
    with np.errstate(divide="ignore", invalid="ignore"):
        before = np.abs(values[member].mean(axis=0) - values[~member].mean(axis=0)) / spread
        within = np.abs(np.average(gaps, axis=0, weights=people)) / spread if gaps else before
    scale = design_matrix.scale
    names = [number.column for number in scale.numbers]
    names += [category.column for category in scale.categories for _ in category.levels]
    for name in dict.fromkeys(names):
        places = [place for place, other in enumerate(names) if other == name]
        # For a category the largest of all levels, which may differ before and within strata.
        largest, largest_within = (float(np.fmax.reduce(gap[places])) for gap in (before, within))
        yield FeatureBalance("", name, largest, largest_within)


def find_edges(scores: Floats, bins: int) -> tuple[float, ...]:
    """The edges of bins with equal numbers of people: the quantiles of the scores.

    Equal edges are joined, and the least score is not an edge: no bin is empty.

    >>> find_edges(np.array([0.1, 0.2, 0.3, 0.4]), 2)
    (0.2,)
    """
    ascending = np.sort(scores)
    places = [-(-part * len(ascending) // bins) - 1 for part in range(1, bins)]
    edges = {float(ascending[max(place, 0)]) for place in places}
    return tuple(sorted(edges - {float(ascending[0])}))
