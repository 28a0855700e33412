"""Logistic regression by scikit-learn: strength of the ridge, most steps, when it converged."""

from __future__ import annotations

import warnings

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.stats.distributions import expit

ALMOST_NONE = 1e-4
"""A ridge that only keeps weights finite if a feature separates the sides."""

USUAL = 1.0
"""scikit-learn's ridge, for predictions of people whom the model has not seen."""


MOST_STEPS = 500
"""Most steps of the solver."""

CONVERGED = 1e-6
"""At the maximum the gradient of the mean log likelihood is 0; up to this it counts as 0."""


def fit(
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
