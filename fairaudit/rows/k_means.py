"""k-means: clusters of people whose features are alike, as strata.

Kamiran, Žliobaitė & Calders (2013), Quantifying explainable discrimination and removing illegal
discrimination in automated decision making, Knowl Inf Syst 35:613, doi:10.1007/s10115-012-0584-8.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen
from fairaudit.counting.strata_models import ClusterModel, LinearScore
from fairaudit.cube.features import Features
from fairaudit.rows.design import Design, design, one_thread

_MATCH = 0.5**0.5
"""The length of an indicator: two people of different levels are at the distance 1."""

_STARTS = 10
"""So often k-means starts anew; the closest clusters of all starts are taken."""


class ClusterFit(Frozen):
    """Fitted clusters, the largest first, with the people in each.

    `within` is the within-cluster sum of squares, `explained` the share of the features' variance
    that lies between clusters. Without a `model` there is a `reason`.
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
        centres, nearest = _find_centres(design_matrix.matrix, k, seed)
    sizes = np.bincount(nearest, minlength=len(centres))
    ranking = np.lexsort([*centres.T[::-1], -sizes])
    total = float(((design_matrix.matrix - design_matrix.matrix.mean(axis=0)) ** 2).sum())
    within = float(((design_matrix.matrix - centres[nearest]) ** 2).sum())
    model = ClusterModel(
        design_matrix.scale,
        tuple(_measure_distance(design_matrix, centres[number]) for number in ranking),
    )
    people = tuple(int(sizes[number]) for number in ranking)
    return ClusterFit(model, people, within, 1 - within / total)


def _find_centres(matrix: Floats, k: int, seed: int) -> tuple[Floats, Ints]:
    """The centres, and the place of each row's nearest."""
    from sklearn.cluster import KMeans

    k = min(k, len(np.unique(matrix, axis=0)))
    model = KMeans(k, n_init=_STARTS, random_state=seed, algorithm="lloyd")
    nearest = model.fit_predict(matrix)
    return np.asarray(model.cluster_centers_, dtype=np.float64), nearest.astype(np.int64)


def _measure_distance(design_matrix: Design, centre: Floats) -> LinearScore:
    """The squared distance to a centre, less what is the same for all centres.

    |x - c|² = |x|² - 2 x·c + |c|², and |x|² is a row's own.
    """
    lengths = np.where(np.arange(len(centre)) < len(design_matrix.scale.numbers), 1.0, _MATCH)
    return design_matrix.score(float(centre @ centre), -2 * lengths * centre)
