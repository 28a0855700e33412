"""Propensity strata: the fit, who has no counterpart, where bins begin, why there is no model.

Rosenbaum & Rubin (1983), The central role of the propensity score in observational studies for
causal effects, Biometrika 70:41, doi:10.1093/biomet/70.1.41; for discrimination Calders, Karim,
Kamiran, Ali & Zhang (2013), Controlling attribute effect in linear regression, ICDM 2013:71.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.frozen import Frozen
from fairaudit.counting.strata_models import SCORE_DECIMALS, PropensityModel
from fairaudit.cube.features import Features
from fairaudit.rows import logistic
from fairaudit.rows.design import design, one_thread

_LEAST = 2
"""So many people a side needs: the score of one alone spans no range."""


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


def fit_propensity(features: Features, member: Marks, bins: int) -> PropensityFit:
    """The propensity model of `member`, with strata of as many people each.

    Whoever's score is not in the range that both sides' scores have in common has no counterpart,
    and is in no stratum.
    """
    order = features.canonical_order(member.astype(np.int64))
    features, member = features.take(order), member[order]
    if min(member.sum(), (~member).sum()) < _LEAST:
        return PropensityFit(None, reason=f"one side has fewer than {_LEAST} people")
    matrix = design(features)
    if matrix.is_empty:
        return PropensityFit(None, reason="no feature varies")
    with one_thread():
        fit = logistic.fit(matrix.matrix, member, None, logistic.ALMOST_NONE)
        if fit is None:
            return PropensityFit(None, reason="the logistic model did not converge")
        intercept, weights = fit
        scores = round_scores(logistic.probability(intercept + matrix.matrix @ weights))
    ends = [(float(scores[side].min()), float(scores[side].max())) for side in (member, ~member)]
    low, high = max(low for low, _ in ends), min(high for _, high in ends)
    inside = (scores >= low) & (scores <= high)
    members, others = (
        Side(int(side.sum()), int((side & ~inside).sum()), *limits)
        for side, limits in zip((member, ~member), ends, strict=True)
    )
    if not inside.any():
        reason = "the features tell the two sides apart: nobody has a counterpart"
        return PropensityFit(None, members, others, reason)
    score = matrix.score(intercept, weights)
    edges = find_edges(scores[inside], bins)
    model = PropensityModel(matrix.scale, score, (low, high), edges)
    return PropensityFit(model, members, others)


def round_scores(probability: Floats) -> Floats:
    """Propensity scores as they are compared and cut."""
    return np.asarray(np.round(probability, SCORE_DECIMALS))


def find_edges(scores: Floats, bins: int) -> tuple[float, ...]:
    """Where bins of as many people each begin: the smallest scores with so many at or below.

    Edges that are equal are joined, and none is the least score: no bin is empty.

    >>> find_edges(np.array([0.1, 0.2, 0.3, 0.4]), 2)
    (0.2,)
    """
    ascending = np.sort(scores)
    places = [-(-part * len(ascending) // bins) - 1 for part in range(1, bins)]
    edges = {float(ascending[max(place, 0)]) for place in places}
    return tuple(sorted(edges - {float(ascending[0])}))
