"""Design matrix of features, and logistic regression on it by scikit-learn; ridge, steps."""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import Frozen
from fairaudit.counting.strata_models import CategoryLevels, FeatureScale, LinearScore, NumberScale
from fairaudit.cube.features import Features
from fairaudit.stats.distributions import expit


class Design(Frozen, eq=False):
    """A matrix [N, D] of the features that vary, and their scales.

    First the standardised numbers, then the indicators of one category after the other.
    """

    matrix: Floats
    scale: FeatureScale

    @property
    def is_empty(self) -> bool:
        """Whether no feature varies."""
        return not self.matrix.size

    def score(self, intercept: float, weights: Floats) -> LinearScore:
        """The linear score with a weight for each column of the matrix."""
        values = [float(weight) for weight in weights]
        start = len(self.scale.numbers)
        slopes, points = tuple(values[:start]), list[tuple[float, ...]]()
        for category in self.scale.categories:
            points.append(tuple(values[start : start + len(category.levels)]))
            start += len(category.levels)
        return LinearScore(float(intercept), slopes, tuple(points))


def design(features: Features, indicator: float = 1.0) -> Design:
    """The design of people who have every feature; features that do not vary are left out.

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
        import sklearn  # noqa: F401  # what the context is for
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        what = "scikit-learn is not installed"
        raise UsageError(what, "pip install 'fairaudit-cli[rows]'") from error
    return threadpool_limits(1)  # type: ignore[no-any-return]


ALMOST_NONE = 1e-4
"""A ridge that only keeps weights finite if a feature separates the sides."""

USUAL = 1.0
"""scikit-learn's ridge, for predictions of people whom the model has not seen."""

MOST_STEPS = 500
"""Most steps of the solver."""

CONVERGED = 1e-6
"""At the maximum the gradient of the mean log likelihood is 0; up to this it counts as 0."""


def fit_logistic(
    matrix: Floats, member: Marks, mass: Floats | None, ridge: float
) -> tuple[float, Floats] | None:
    """The intercept and weights with the greatest log likelihood less ridge/2 · Σ weight².

    None if the solver did not converge. scikit-learn's warnings are ignored: they also report a
    solver that was replaced by another, which may have converged.
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
