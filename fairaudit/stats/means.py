"""Intervals and tests of means, from means and sums of squares.

`deviation` is the sum of squares Σ(x - mean)² everywhere, not the variance. A mean of fewer than
two people has no variance: its results are NaN.
"""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.stats.mover import Bounds


def interval(mean: Floats, deviation: Floats, n: Floats, alpha: float | Floats = 0.05) -> Bounds:
    """The bounds of a mean by Student's t with n - 1 degrees of freedom.

    Student (1908), The probable error of a mean, Biometrika 6:1.

    >>> low, high = interval(np.array(3.0), np.array(10.0), np.array(5.0))
    >>> round(float(low), 6), round(float(high), 6)
    (1.036757, 4.963243)
    """
    with np.errstate(all="ignore"):
        reach = critical(np.subtract(n, 1.0), alpha) * np.sqrt(_square_error(deviation, n))
        return np.subtract(mean, reach), np.add(mean, reach)


def welch(
    mean: Floats,
    deviation: Floats,
    n: Floats,
    other_mean: Floats,
    other_deviation: Floats,
    m: Floats,
    alpha: float | Floats = 0.05,
) -> Bounds:
    """The bounds of `mean - other_mean`, where the variances may differ.

    Student's t with the degrees of freedom of Welch (1947), The generalization of "Student's"
    problem when several different population variances are involved, Biometrika 34:28, and
    Satterthwaite (1946), Biometrics Bull 2:110. Without any spread: NaN.

    >>> low, high = welch(*np.array([3.0, 10.0, 5.0, 5.0, 12.0, 4.0]))
    >>> round(float(low), 6), round(float(high), 6)
    (-5.037667, 1.037667)
    """
    with np.errstate(all="ignore"):
        gap = np.subtract(mean, other_mean)
        variance, df = _welch(deviation, n, other_deviation, m)
        reach = critical(df, alpha) * np.sqrt(variance)
        return gap - reach, gap + reach


def welch_test(
    mean: Floats,
    deviation: Floats,
    n: Floats,
    other_mean: Floats,
    other_deviation: Floats,
    m: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Welch's t of `mean - other_mean`, its degrees of freedom, and its two-sided p-value.

    Welch (1947), Biometrika 34:28. Without any spread its freedom is 0/0: NaN.

    >>> [round(float(one), 6) for one in welch_test(*np.array([3.0, 10.0, 5.0, 5.0, 12.0, 4.0]))]
    [-1.632993, 5.684211, 0.15633]
    """
    with np.errstate(all="ignore"):
        variance, df = _welch(deviation, n, other_deviation, m)
        t = np.subtract(mean, other_mean) / np.sqrt(variance)
    return t, df, two_sided(t, df)


def student_test(
    mean: Floats,
    deviation: Floats,
    n: Floats,
    other_mean: Floats,
    other_deviation: Floats,
    m: Floats,
) -> tuple[Floats, Floats, Floats]:
    """Student's t of `mean - other_mean` with the pooled variance, its freedom, and its p-value.

    Two-sided, n + m - 2 degrees of freedom; one side may be a single person. Student (1908),
    Biometrika 6:1; Fisher (1925), Statistical Methods for Research Workers, §24.1.

    >>> [round(float(one), 6) for one in student_test(*np.array([3.0, 10.0, 5.0, 5.0, 12.0, 4.0]))]
    [-1.68175, 7.0, 0.1365]
    """
    with np.errstate(all="ignore"):
        df = np.add(n, m) - 2.0
        both = np.greater(n, 0) & np.greater(m, 0) & (df > 0)
        pooled = np.add(deviation, other_deviation) / np.where(both, df, np.nan)
        t = np.subtract(mean, other_mean) / np.sqrt(pooled * (np.divide(1, n) + np.divide(1, m)))
    return t, df, two_sided(t, df)


def welch_anova(
    mean: Floats, deviation: Floats, n: Floats, axis: int = -1
) -> tuple[Floats, Floats, Floats, Floats]:
    """Welch's F that all means along an axis are equal, its two freedoms, and its p-value.

    The variances may differ. A group of fewer than two people, or without any spread, makes it NaN.
    Of two groups F is the square of `welch_test`'s t. Welch (1951), On the comparison of several
    mean values, Biometrika 38:330.

    >>> found = welch_anova(np.array([3.0, 5.0]), np.array([10.0, 12.0]), np.array([5.0, 4.0]))
    >>> [round(float(one), 6) for one in found]
    [2.666667, 1.0, 5.684211, 0.15633]
    """
    from scipy.special import fdtrc

    mean, deviation, n = np.broadcast_arrays(mean, deviation, n)
    # A NumPy number, so that of a single mean 0/0 is NaN.
    k = np.float64(mean.shape[axis])
    with np.errstate(all="ignore"):
        weight = 1 / np.where(deviation > 0, _square_error(deviation, n), np.nan)
        total = weight.sum(axis=axis, keepdims=True)
        middle = (weight * mean).sum(axis=axis, keepdims=True) / total
        between = (weight * np.square(mean - middle)).sum(axis=axis) / (k - 1)
        spread = (np.square(1 - weight / total) / (n - 1)).sum(axis=axis)
        df = (k * k - 1) / (3 * spread)
        statistic = between / (1 + 2 * (k - 2) / (k * k - 1) * spread)
        p = fdtrc(k - 1, df, statistic)
    first = np.where(np.isnan(statistic), np.nan, k - 1)
    return statistic, first, df, np.asarray(p, dtype=np.float64)


def _square_error(deviation: Floats, n: Floats) -> Floats:
    """The squared standard error of a mean; NaN for fewer than two people."""
    n = np.where(np.greater_equal(n, 2), n, np.nan)
    return np.asarray(np.divide(deviation, n * (n - 1)))


def _welch(
    deviation: Floats, n: Floats, other_deviation: Floats, m: Floats
) -> tuple[Floats, Floats]:
    """The variance of a difference of two means, and its degrees of freedom."""
    one, other = _square_error(deviation, n), _square_error(other_deviation, m)
    # Shares of the variance: the squares of small variances would underflow.
    share = one / (one + other)
    df = 1 / (np.square(share) / np.subtract(n, 1) + np.square(1 - share) / np.subtract(m, 1))
    return np.asarray(one + other), np.asarray(df)


def critical(df: Floats, alpha: float | Floats) -> Floats:
    """The t with P(|T| > t) = alpha; NaN where there is no freedom."""
    from scipy.special import stdtrit

    tail = np.divide(alpha, 2)
    t = np.abs(stdtrit(np.where(np.greater(df, 0), df, np.nan), tail))
    return np.asarray(t, dtype=np.float64)


def two_sided(t: Floats, df: Floats) -> Floats:
    """P(|T| >= |t|), accurate in the far tail."""
    from scipy.special import stdtr

    with np.errstate(all="ignore"):
        p = 2 * stdtr(np.where(np.greater(df, 0), df, np.nan), -np.abs(t))
    return np.asarray(p, dtype=np.float64)
