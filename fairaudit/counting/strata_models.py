"""Fitted models of strata (propensity, clusters) as values: names of levels, decimals of scores.

Both are made of linear scores of the features, so that any engine can compute them row by row.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TypeAlias

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen

SCORE_DECIMALS = 6
"""Decimals of propensity scores: equal people get equal scores by rounding."""


class NumberScale(Frozen):
    """A numeric feature, and the mean and deviation that standardise it."""

    column: str
    mean: float
    deviation: float


class CategoryLevels(Frozen):
    """A categorical feature and the levels that the model knows, in order."""

    column: str
    levels: tuple[str, ...]


class FeatureScale(Frozen):
    """How a model reads the features; a row that lacks one, or has another level, has no score."""

    numbers: tuple[NumberScale, ...]
    categories: tuple[CategoryLevels, ...]


class LinearScore(Frozen):
    """An intercept, a slope for each standardised number, and points for each level."""

    intercept: float
    slopes: tuple[float, ...]
    points: tuple[tuple[float, ...], ...]


class PropensityModel(Frozen, tag=True):
    """The probability of belonging to a group by the features, in bins that begin at `edges`.

    A person with a score outside `support`, the range that both sides have in common, has no
    counterpart, and so no stratum.
    """

    features: FeatureScale
    score: LinearScore
    support: tuple[float, float]
    edges: tuple[float, ...]

    @property
    def scores(self) -> tuple[LinearScore, ...]:
        """Its only score."""
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
    """Centres of clusters; a row belongs to the one whose score, its distance, is least."""

    features: FeatureScale
    scores: tuple[LinearScore, ...]

    @property
    def levels(self) -> tuple[str, ...]:
        """The names of the strata, the largest cluster first."""
        names = ("cluster",) * len(self.scores)
        return tuple(f"{name} {number}" for number, name in number_names(names))


StrataModel: TypeAlias = PropensityModel | ClusterModel


def number_names(names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Names with their numbers from 1, as texts that sort as the numbers do."""
    width = len(str(len(names)))
    return [(f"{number:0{width}}", name) for number, name in enumerate(names, start=1)]


@declare_subjects(never="stratum feature before after")
class FeatureBalance(Frozen):
    """How far apart both sides of a propensity are in a feature, in standard deviations.

    Among all people, and among people of the same strata. For a category, it is that of the level
    at which the sides are farthest apart, which may be another level within strata. `stratum` is
    the name of these strata.
    """

    stratum: str
    feature: str
    before: float
    after: float


class FittedStrata(Frozen):
    """A stratum's model as it was fitted, and the facts about it that a reader needs.

    Without a model no person has a stratum; the `report` says why.
    """

    model: StrataModel | None
    report: str
    balance: tuple[FeatureBalance, ...] = ()
