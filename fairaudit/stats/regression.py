"""Least squares from sums of products, without rows."""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Floats, Marks
from fairaudit.base.frozen import Frozen

_COLLINEAR = 1e-12
"""Share of its square below which the rest of a column makes it a combination of earlier ones."""

_OPEN = 1e-6
"""Share of the largest factor below which the rest of a factor is rounding."""


class Fit(Frozen, eq=False):
    """Coefficients, [P], and the residual variance.

    `products` is X'X and `inverse` a generalized inverse of it, 0 for missing coefficients.
    """

    coefficients: Floats
    df: float
    residual_variance: float
    products: Floats
    inverse: Floats

    def combined(self, rows: Floats) -> Floats:
        """Each of K sums of coefficients with the factors `rows` [K, P], [K].

        NaN if the data do not determine the sum (see `left_open`), so that it does not depend on
        the order of the columns.
        """
        unknown = self.left_open(rows).any(axis=1)
        return np.where(unknown, np.nan, rows @ np.nan_to_num(self.coefficients))

    def left_open(self, rows: Floats) -> Marks:
        """The columns [K, P] whose factors are not a combination of the rows of the data.

        A sum of coefficients without such columns is estimable: Searle (1971), Linear Models, ch.
        5.4.
        """
        largest = np.abs(rows).max(axis=1, initial=0.0, keepdims=True)
        gap = np.abs(rows @ self.inverse @ self.products - rows)
        return np.asarray(gap > _OPEN * largest)


def least_squares(xx: Floats, xy: Floats, yy: float, n: float) -> Fit:
    """The fit of y by P columns of X in `n` rows, from X'X [P, P], X'y [P] and y'y.

    The intercept is a column like others. A column that is a combination of earlier ones has no
    coefficient (NaN), as in R's `lm`, and takes no degree of freedom. Without freedom the residual
    variance is NaN. Centre what lies far from 0: sums of products hold the square of its digits.
    Draper & Smith (1998), Applied Regression Analysis, 3rd ed., ch. 5.

    >>> x = np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]])
    >>> y = np.array([1.0, 2, 2, 4])
    >>> fit = least_squares(x.T @ x, x.T @ y, float(y @ y), 4)
    >>> fit.coefficients.round(6).tolist(), round(fit.residual_variance, 6)
    ([0.9, 0.9], 0.35)
    """
    xx, xy = np.asarray(xx, dtype=np.float64), np.asarray(xy, dtype=np.float64)
    coefficients = np.full(xy.size, np.nan)
    if not (np.isfinite(xx).all() and np.isfinite(xy).all() and np.isfinite([yy, n]).all()):
        nothing = np.full_like(xx, np.nan)
        return Fit(coefficients, float("nan"), float("nan"), nothing, nothing)
    scale = np.sqrt(np.diagonal(xx))
    with np.errstate(all="ignore"):
        scaled = xx / np.outer(scale, scale)
    # The columns that earlier ones do not give, from products of columns of length 1.
    kept: list[int] = []
    remainder = np.nan_to_num(scaled)
    for j in range(len(remainder)):
        if remainder[j, j] > _COLLINEAR:
            kept.append(j)
            column = remainder[j:, j] / np.sqrt(remainder[j, j])
            remainder[j:, j:] -= np.outer(column, column)
    inverse = np.linalg.inv(scaled[np.ix_(kept, kept)])
    target = xy[kept] / scale[kept]
    solution = inverse @ target
    solution += inverse @ (target - scaled[np.ix_(kept, kept)] @ solution)
    df = float(n) - len(kept)
    variance = max(float(yy) - float(solution @ target), 0.0) / df if df > 0 else float("nan")
    coefficients[kept] = solution / scale[kept]
    whole = np.zeros_like(xx)
    whole[np.ix_(kept, kept)] = inverse / np.outer(scale[kept], scale[kept])
    return Fit(coefficients, df, variance, xx, whole)
