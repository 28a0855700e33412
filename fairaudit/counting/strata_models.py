"""Fitted models that give each row a stratum: propensity models and clusters.

Both kinds of models compute linear scores of the features, so any engine can apply a model row by
row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen

SCORE_DECIMALS = 6
"""Decimals of propensity scores. Rounding gives equal people equal scores in every engine."""


class NumberScale(Frozen):
    """A numeric feature, with the mean and the standard deviation that standardise its numbers."""

    column: str
    mean: float
    deviation: float


class CategoryLevels(Frozen):
    """A categorical feature and the levels that the model knows, in order."""

    column: str
    levels: tuple[str, ...]


class FeatureScale(Frozen):
    """The features of a model. A row that lacks a feature, or has another level, has no score."""

    numbers: tuple[NumberScale, ...]
    categories: tuple[CategoryLevels, ...]


class LinearScore(Frozen):
    """The score intercept + Σ slope · standardised number + Σ points of the row's levels."""

    intercept: float
    slopes: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]


class PropensityModel(Frozen, tag=True):
    """A logistic model of the probability (propensity score) that a person belongs to a group.

    The strata are bins of the propensity score; all bins except the first begin at an edge in
    `edges`. `support` is the range of scores that the group and all other people share. A person
    with a score outside this range has no counterpart, and no stratum.
    """

    features: FeatureScale
    score: LinearScore
    support: tuple[float, float]
    edges: tuple[float, ...]

    @property
    def scores(self) -> tuple[LinearScore, ...]:
        """The linear score in a tuple, because a `ClusterModel` has several scores."""
        return (self.score,)

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the strata: `1: under 0.2`, `2: 0.2 to 0.4`, …."""
        edges = [f"{edge:.{SCORE_DECIMALS}f}".rstrip("0") for edge in self.edges]
        if not edges:
            return ("1: all scores",)
        middle = [f"{low} to {high}" for low, high in pairwise(edges)]
        names = (f"under {edges[0]}", *middle, f"{edges[-1]} and over")
        return tuple(f"{number}: {name}" for number, name in number_names(names))


class ClusterModel(Frozen, tag=True):
    """A model of clusters. A row is in the cluster with the smallest score (the nearest centre)."""

    features: FeatureScale
    scores: tuple[LinearScore, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the strata, the largest cluster first."""
        names = ("cluster",) * len(self.scores)
        return tuple(f"{name} {number}" for number, name in number_names(names))


StrataModel: TypeAlias = PropensityModel | ClusterModel


def number_names(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Pairs of a number (from 1, as a text with zeros before it) and a name."""
    width = len(str(len(names)))
    return [(f"{number:0{width}}", name) for number, name in enumerate(names, start=1)]


@declare_subjects(never="stratum feature before after")
class FeatureBalance(Frozen):
    """The difference in a feature between the two sides of a propensity model.

    `before` is the difference among all people, `after` the difference within the strata of the
    model, both in standard deviations. For a categorical feature, both are the largest difference
    in the share of a level. `stratum` is the name that the spec gives the strata.
    """

    stratum: str
    feature: str
    before: float
    after: float


class FittedStrata(Frozen):
    """The fitted model of strata, with a `report` on the fit.

    If `model` is None, no person has a stratum, and the `report` says why.
    """

    model: StrataModel | None
    report: str
    balance: tuple[FeatureBalance, ...] = ()
