"""Models that are fitted to features by scikit-learn: clusters, propensity, prediction of a group.

Clusters (k-means): Kamiran, Žliobaitė & Calders (2013), Quantifying explainable discrimination and
removing illegal discrimination in automated decision making, Knowl Inf Syst 35:613. Propensity:
Rosenbaum & Rubin (1983), The central role of the propensity score in observational studies for
causal effects, Biometrika 70:41; for discrimination Calders, Karim, Kamiran, Ali & Zhang (2013),
Controlling attribute effect in linear regression, ICDM 2013:71. Prediction of a group: Feldman,
Friedler, Moeller, Scheidegger & Venkatasubramanian (2015), Certifying and removing disparate
impact, KDD 2015:259, doi:10.1145/2783258.2783311.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.counting.strata_models import (
    SCORE_DECIMALS,
    CategoryLevels,
    ClusterModel,
    FeatureBalance,
    FeatureScale,
    LinearScore,
    NumberScale,
    PropensityModel,
)
from fairaudit.cube.rows import Features
from fairaudit.stats.distributions import expit


class Design(Frozen, eq=False):
    """A matrix [N, D] of the features that vary, and their scales.

    The first columns are the standardised numbers. Then there is an indicator for each level of
    each category.
    """

    matrix: Floats
    scale: FeatureScale

    @property
    def is_empty(self) -> bool:
        """Whether no feature varies."""
        return not self.matrix.size

    def score(self, intercept: float, weights: Floats) -> LinearScore:
        """The linear score with this intercept, and with these weights of the columns."""
        values = [float(weight) for weight in weights]
        start = len(self.scale.numbers)
        slopes, points = tuple(values[:start]), list[tuple[float, ...]]()
        for category in self.scale.categories:
            points.append(tuple(values[start : start + len(category.levels)]))
            start += len(category.levels)
        return LinearScore(float(intercept), slopes, tuple(points))

    def measure_balance(self, member: Marks, stratum: Ints) -> Iterator[FeatureBalance]:
        """The difference between both sides in each feature, among all people and within strata.

        The unit is the standard deviation: the root of the mean of both sides' variances among all
        people (Austin 2009, Balance diagnostics, Stat Med 28:3083). The weight of a stratum is its
        number of people. The stratum -1 means people without a stratum.
        """
        values = self.matrix
        spread = np.sqrt(
            (values[member].var(axis=0, ddof=1) + values[~member].var(axis=0, ddof=1)) / 2
        )
        gaps, people = [], []
        for number in np.unique(stratum[stratum >= 0]):
            sides = [values[(stratum == number) & side] for side in (member, ~member)]
            if all(map(len, sides)):
                gaps.append(sides[0].mean(axis=0) - sides[1].mean(axis=0))
                people.append(sum(map(len, sides)))
        with np.errstate(divide="ignore", invalid="ignore"):
            before = np.abs(values[member].mean(axis=0) - values[~member].mean(axis=0)) / spread
            within = np.abs(np.average(gaps, axis=0, weights=people)) / spread if gaps else before
        scale = self.scale
        names = [number.column for number in scale.numbers]
        names += [category.column for category in scale.categories for _ in category.levels]
        for name in dict.fromkeys(names):
            places = [place for place, other in enumerate(names) if other == name]
            # For a category: the level with the largest difference (within strata, maybe another
            # level).
            largest, largest_within = (
                float(np.fmax.reduce(gap[places])) for gap in (before, within)
            )
            yield FeatureBalance("", name, largest, largest_within)


def design(features: Features, indicator: float = 1.0) -> Design:
    """The design of people who have every feature, without features that do not vary.

    `indicator` is the value of the indicator of a level for people with this level.

    >>> people = Features(("age",), np.array([[20.0], [40.0]]), ("city",), np.array([[0], [1]]),
    ...                   (("A", "B"),))
    >>> design(people).matrix.tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    blocks, numbers, categories = [np.zeros((len(features), 0))], [], []
    for name, values in zip(features.number_names, features.numbers.T, strict=True):
        deviation = float(values.std()) if len(values) and np.ptp(values) > 0 else 0.0
        if deviation > 0:
            numbers.append(NumberScale(name, float(values.mean()), deviation))
            blocks.append(((values - values.mean()) / deviation)[:, None])
    for name, codes, levels in zip(
        features.category_names, features.codes.T, features.levels, strict=True
    ):
        present: Ints = np.unique(codes)
        if len(present) > 1:
            categories.append(CategoryLevels(name, tuple(levels[code] for code in present)))
            blocks.append((codes[:, None] == present).astype(np.float64) * indicator)
    return Design(np.hstack(blocks), FeatureScale(tuple(numbers), tuple(categories)))


def one_thread() -> AbstractContextManager[object]:
    """A context in which scikit-learn uses one thread, so that sums have a fixed order.

    Raises `UsageError` if scikit-learn is missing.
    """
    try:
        import sklearn  # noqa: F401  # only to find out whether it is installed
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        what = "scikit-learn is not installed"
        raise UsageError(what, "pip install 'fairaudit-cli[rows]'") from error
    return threadpool_limits(1)  # type: ignore[no-any-return]


ALMOST_NONE = 1e-4
"""A very small ridge penalty, which keeps weights finite if a feature separates the sides."""

USUAL = 1.0
"""The default ridge penalty of scikit-learn, for predictions of people who are not in the fit."""

MOST_STEPS = 500
"""Maximum number of steps of the solver."""

CONVERGED = 1e-6
"""Maximum gradient of the mean log likelihood after convergence; at the maximum, it would be 0."""


def fit_logistic(
    matrix: Floats, member: Marks, mass: Floats | None, ridge: float
) -> tuple[float, Floats] | None:
    """The intercept and weights that maximise (log likelihood - ridge/2 · Σ weight²).

    None if the solver did not converge. The warnings of scikit-learn are ignored: they also report
    a first solver that failed, although a second solver may have converged.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-9, max_iter=MOST_STEPS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(matrix, member, sample_weight=mass)
    intercept, weights = float(model.intercept_[0]), np.asarray(model.coef_[0], dtype=np.float64)
    mass = np.ones(len(member)) if mass is None else mass
    error = mass * (expit(intercept + matrix @ weights) - member)
    gradient = np.append(matrix.T @ error + ridge * weights, error.sum()) / mass.sum()
    return (intercept, weights) if np.abs(gradient).max() <= CONVERGED else None


_MATCH = 0.5**0.5
"""The value of an indicator, so that the distance of two different levels is 1."""

_STARTS = 10
"""The number of starts of k-means; the best result is used."""


class ClusterFit(Frozen):
    """Fitted clusters, the largest first, with the number of people in each.

    `within` is the within-cluster sum of squares. `explained` is the share of the variance of the
    features that is between clusters. If `model` is None, `reason` says why.
    """

    model: ClusterModel | None
    people: tuple[int, ...] = ()
    within: float = 0.0
    explained: float = 0.0
    reason: str = ""


def fit_clusters(features: Features, k: int, seed: int) -> ClusterFit:
    """`k` clusters of people who have every feature, or fewer if there are fewer profiles."""
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
"""The smallest and the largest number of strata if a spec does not state the number."""

_LEAST = 2
"""Minimum number of people of a side, because the score of a single person has no range."""


class Side(Frozen):
    """A side: its number of people, its people without a counterpart, and its range of scores."""

    people: int
    without_counterpart: int
    low: float
    high: float


class PropensityFit(Frozen):
    """A propensity model, and its two sides: the members of a group, and all other people.

    If `model` is None, `reason` says why.
    """

    model: PropensityModel | None
    members: Side | None = None
    others: Side | None = None
    reason: str = ""
    balance: tuple[FeatureBalance, ...] = ()


def count_bins(member: Marks) -> int:
    """The number of strata, 5 to 20: the cube root of 2n, for n people on the smaller side.

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
    """The propensity model of `member`, with strata of equal numbers of people.

    People whose score is outside the range that both sides share have no counterpart, and no
    stratum.
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
    balance = tuple(matrix.measure_balance(member, stratum))
    return PropensityFit(model, members, others, balance=balance)


def find_edges(scores: Floats, bins: int) -> tuple[float, ...]:
    """The edges of bins with equal numbers of people: the quantiles of the scores.

    Equal edges are joined, and the smallest score is not an edge, so no bin is empty.

    >>> find_edges(np.array([0.1, 0.2, 0.3, 0.4]), 2)
    (0.2,)
    """
    ascending = np.sort(scores)
    places = [-(-part * len(ascending) // bins) - 1 for part in range(1, bins)]
    edges = {float(ascending[max(place, 0)]) for place in places}
    return tuple(sorted(edges - {float(ascending[0])}))


FOLDS = 5
"""Number of folds (parts of the people); a model of all other folds predicts each fold."""

SEED = 0
"""The seed of the random assignment of people to folds."""

INFLATION = 1 + FOLDS / (FOLDS - 1)
"""The factor of the variance of errors, because the models of the folds share data.

It is 1 + folds · (people predicted / people learned from) = 2.25, by Nadeau & Bengio (2003),
Inference for the generalization error, Mach Learn 52:239, doi:10.1023/A:1024068626366. If the
features have no information, the true factor is 2.
"""

_TREES = 50

_MOST_LEVELS = 255
"""Maximum number of levels for the trees; the rarest levels are joined."""


class Errors(NamedTuple):
    """The errors of a predictor, and the number of people of both sides.

    `missed` is the share of members whom the predictor assigns to the others, and `mistaken` is the
    share of others whom the predictor assigns to the members.
    """

    missed: float
    mistaken: float
    members: int
    others: int


def predict_errors(features: Features, member: Marks) -> Errors | None:
    """The errors of predicting who is a member; models of four folds predict the fifth.

    The predictor is the mean of a logistic regression, for additive effects, and of
    gradient-boosted trees, for thresholds and interactions. Both models give the two sides equal
    weights. None if a side is smaller than the number of folds, if no feature varies, or if the
    logistic regression did not converge.
    """
    if _describe(features, ~member) < _describe(features, member):
        # The errors must be the same if the two sides are exchanged.
        swapped = predict_errors(features, ~member)
        return swapped and Errors(swapped[1], swapped[0], swapped[3], swapped[2])
    order = features.canonical_order(member.astype(np.int64))
    features, member = features.take(order), member[order]
    sides = int(member.sum()), int((~member).sum())
    matrix = design(features).matrix
    if min(sides) < FOLDS or not matrix.size:
        return None
    # The numbers, and the rank of each level by its number of people.
    ranks = [np.zeros((len(features), 0))]
    for codes in features.codes.T:
        sizes = np.bincount(codes)
        place = np.argsort(np.argsort(-sizes, kind="stable"), kind="stable")
        ranks.append(np.minimum(place[codes], _MOST_LEVELS - 1)[:, None].astype(np.float64))
    table = np.hstack([features.numbers, *ranks])
    is_category = np.arange(table.shape[1]) >= features.numbers.shape[1]
    folds = deal_folds(member, SEED)
    taken = np.zeros(len(member), dtype=np.bool_)
    with one_thread():
        from sklearn.ensemble import HistGradientBoostingClassifier

        for fold in range(FOLDS):
            test = folds == fold
            learned = member[~test]
            mass = np.where(learned, 0.5 / learned.mean(), 0.5 / (~learned).mean())
            fit = fit_logistic(matrix[~test], learned, mass, USUAL)
            if fit is None:
                return None
            linear = expit(fit[0] + matrix[test] @ fit[1])
            trees = HistGradientBoostingClassifier(
                categorical_features=is_category,
                class_weight="balanced",
                max_iter=_TREES,
                early_stopping=False,
                random_state=SEED,
            )
            trees.fit(table[~test], learned)
            boosted = np.asarray(trees.predict_proba(table[test])[:, 1])
            taken[test] = (linear + boosted) / 2 >= 0.5  # noqa: PLR2004  # more likely than not
    return Errors(float((~taken[member]).mean()), float(taken[~member].mean()), *sides)


def _describe(features: Features, side: Marks) -> tuple[int, bytes, bytes]:
    """The number of people of a side and their features, as values that can be compared."""
    people = features.take(side)
    people = people.take(people.canonical_order())
    return len(people), people.numbers.tobytes(), people.codes.tobytes()


def deal_folds(member: Marks, seed: int) -> Ints:
    """A random fold for each person; the people of each side are equally distributed to folds."""
    generator = np.random.default_rng(seed)
    folds = np.zeros(len(member), dtype=np.int64)
    for side in (member, ~member):
        places = np.flatnonzero(side)
        folds[generator.permutation(places)] = np.arange(len(places)) % FOLDS
    return folds
