"""Logistic regression on a design matrix, by scikit-learn's Newton solver."""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Floats, Marks

ALMOST_NONE = 1e-4
"""A ridge that does nothing but keep weights finite where a feature tells the sides apart."""

USUAL = 1.0
"""scikit-learn's ridge, for predictions of people whom the model has not seen."""


def fit(matrix: Floats, member: Marks, mass: Floats | None, ridge: float) -> tuple[float, Floats]:
    """The intercept and weights with the greatest log likelihood less ridge/2 · Σ weight²."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-9, max_iter=500)
    model.fit(matrix, member, sample_weight=mass)
    return float(model.intercept_[0]), np.asarray(model.coef_[0], dtype=np.float64)


def probability(log_odds: Floats) -> Floats:
    """The probability of these log odds."""
    from scipy.special import expit

    return np.asarray(expit(log_odds), dtype=np.float64)
