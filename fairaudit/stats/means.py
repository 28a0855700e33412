"""Intervals and tests of means: Student, Welch, ANOVA; a minimum variance for small groups.

`deviation` is always the sum of squares Σ(x - mean)², not the variance. A sample of fewer than two
people has no variance, so its results are NaN.

A sample of a few people cannot show that a variance is small: two people with the same score have a
variance of 0. So variances can be `moderated`: the variance of the smaller side is then at least a
share of the pooled variance. This share is `_TRUSTED` / n, or less if both sides have similar
sizes. A larger variance is not changed, as in Welch's test. The idea is from Smyth (2004), Linear
models and empirical Bayes methods, Stat Appl Genet Mol Biol 3:3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks
from fairaudit.stats.distributions import t_critical, t_two_sided

_TRUSTED = 10
"""A side with this number of people or fewer has at least the pooled variance."""


class Summary(NamedTuple):
    """Mean, sum of squared deviations, and size of a sample."""

    mean: Floats
    deviation: Floats
    n: Floats


def moderated_interval(mean: Floats, deviation: Floats, n: Floats, alpha: Alpha = 0.05) -> Ends:
    """The bounds of several means [..., G], by Student's t with n - 1 degrees of freedom.

    The variance of a small group is at least a share of the variance that is pooled over all groups
    (each about its own mean). If the resulting variance is 0, the bounds are NaN, unless the group
    has more than 10 people and other groups vary. Student (1908), The probable error of a mean,
    Biometrika 6:1.

    >>> low, high = moderated_interval(*np.array([[3.0, 5.0], [0.0, 990.0], [2.0, 100.0]]))
    >>> [round(float(end), 3) for end in (low[0], high[0])]
    [-1.37, 7.37]
    """
    with np.errstate(all="ignore"):
        variance, df = _variance_among(deviation, n)
        varies = np.greater(variance, 0)
        is_sure = np.greater(n, _TRUSTED) & varies.any(axis=-1, keepdims=True)
        reach = t_critical(df, alpha) * np.sqrt(np.where(varies | is_sure, variance, np.nan) / n)
        return np.subtract(mean, reach), np.add(mean, reach)


def takes_pooled_variance(deviation: Floats, n: Floats) -> Marks:
    """Marks the groups [..., G] for which `moderated_interval` uses a share of the pooled variance.

    >>> takes_pooled_variance(np.array([0.0, 990.0]), np.array([2.0, 100.0])).tolist()
    [True, False]
    """
    with np.errstate(all="ignore"):
        own = np.divide(deviation, np.subtract(n, 1))
        return np.asarray(_variance_among(deviation, n)[0] > own)


def _variance_among(deviation: Floats, n: Floats) -> tuple[Floats, Floats]:
    """The moderated variance of each group against all others, and its degrees of freedom."""
    counted = np.greater_equal(n, 1) & ~np.isnan(deviation)
    squares, size = np.where(counted, deviation, 0.0), np.where(counted, n, 0.0)
    freedom = np.where(counted, np.maximum(np.subtract(n, 1), 0.0), 0.0)
    other_sums = [np.sum(part, axis=-1, keepdims=True) - part for part in (squares, size, freedom)]
    return moderated_variance(deviation, n, *other_sums)


def moderated_variance(
    deviation: Floats,
    n: Floats,
    other_deviation: Floats,
    m: Floats,
    other_freedom: Floats | None = None,
) -> tuple[Floats, Floats]:
    """The moderated variance of one side of a comparison, and its degrees of freedom."""
    n, m = np.asarray(n, dtype=np.float64), np.asarray(m, dtype=np.float64)
    own_freedom = np.subtract(n, 1)
    freedom = np.subtract(m, 1) if other_freedom is None else other_freedom
    total_freedom = np.maximum(own_freedom, 0) + np.maximum(freedom, 0)
    own = np.where(np.greater_equal(n, 2), np.divide(deviation, own_freedom), np.nan)
    pooled = (np.nan_to_num(deviation) + np.nan_to_num(other_deviation)) / total_freedom
    least = find_pooled_share(n, m) * pooled
    borrowed = own < least
    return np.where(borrowed, least, own), np.where(borrowed, total_freedom, own_freedom)


def find_pooled_share(n: Floats, m: Floats) -> Floats:
    """The minimum variance of a side of `n` people, as a share of the pooled variance."""
    return np.asarray(np.minimum(_TRUSTED / n, 1.0) * np.maximum(1 - np.divide(n, m), 0.0))


class Gap(NamedTuple):
    """The difference of two means, with its standard error and its degrees of freedom."""

    value: Floats
    error: Floats
    df: Floats

    def ends(self, alpha: Alpha = 0.05) -> Ends:
        """The bounds by Student's t; NaN if neither side varies."""
        with np.errstate(all="ignore"):
            reach = t_critical(self.df, alpha) * np.where(self.error > 0, self.error, np.nan)
            return self.value - reach, self.value + reach

    def test(self) -> tuple[Floats, Floats, Floats]:
        """The t statistic, its degrees of freedom, and its two-sided p-value."""
        with np.errstate(all="ignore"):
            t = self.value / self.error
        return t, self.df, t_two_sided(t, self.df)


def student(first: Summary, second: Summary) -> Gap:
    """The first mean minus the second, with the pooled variance and n + m - 2 degrees of freedom.

    One side may be a single person. Student (1908), Biometrika 6:1; Fisher (1925), Statistical
    Methods for Research Workers, §24.1.

    >>> gap = student(*(Summary(*side) for side in np.array([[3.0, 10, 5], [5, 12, 4]])))
    >>> [round(float(end), 4) for end in gap.ends()]
    [-4.8121, 0.8121]
    >>> [round(float(number), 6) for number in gap.test()]
    [-1.68175, 7.0, 0.1365]
    """
    with np.errstate(all="ignore"):
        df = np.add(first.n, second.n) - 2.0
        has_both = np.greater(first.n, 0) & np.greater(second.n, 0) & (df > 0)
        pooled = np.add(first.deviation, second.deviation) / np.where(has_both, df, np.nan)
        error = np.sqrt(pooled * (np.divide(1, first.n) + np.divide(1, second.n)))
        return Gap(np.subtract(first.mean, second.mean), np.asarray(error), df)


def welch(first: Summary, second: Summary, *, moderated: bool = False) -> Gap:
    """The first mean minus the second, where the variances of both sides may differ.

    The degrees of freedom of t follow Welch (1947), The generalization of "Student's" problem when
    several different population variances are involved, Biometrika 34:28, and Satterthwaite (1946),
    Biometrics Bull 2:110. They are NaN if neither side varies.

    >>> gap = welch(*(Summary(*side) for side in np.array([[3.0, 10, 5], [5, 12, 4]])))
    >>> [round(float(end), 6) for end in gap.ends()]
    [-5.037667, 1.037667]
    >>> [round(float(number), 6) for number in gap.test()]
    [-1.632993, 5.684211, 0.15633]
    """
    with np.errstate(all="ignore"):
        variance, df = _vary_beside(first, second, moderated=moderated)
        other_variance, other_df = _vary_beside(second, first, moderated=moderated)
        # Shares of the variance are used, because the squares of small variances would underflow.
        share = variance / (variance + other_variance)
        freedom = 1 / (np.square(share) / df + np.square(1 - share) / other_df)
        error = np.sqrt(variance + other_variance)
        return Gap(np.subtract(first.mean, second.mean), np.asarray(error), np.asarray(freedom))


def welch_anova(
    mean: Floats, deviation: Floats, n: Floats, axis: int = -1
) -> tuple[Floats, Floats, Floats, Floats]:
    """Welch's test that all means along an axis are equal: F, both degrees of freedom, and p.

    The variances may differ. All results are NaN if a group has fewer than two people or does not
    vary. For two groups, F is the square of the t of `welch`. Welch (1951), On the comparison of
    several mean values, Biometrika 38:330.

    >>> result = welch_anova(np.array([3.0, 5.0]), np.array([10.0, 12.0]), np.array([5.0, 4.0]))
    >>> [round(float(number), 6) for number in result]
    [2.666667, 1.0, 5.684211, 0.15633]
    """
    from scipy.special import fdtrc

    mean, deviation, n = np.broadcast_arrays(mean, deviation, n)
    # A NumPy number, so that 0/0 is NaN for a single mean.
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


def _vary_beside(side: Summary, other: Summary, *, moderated: bool) -> tuple[Floats, Floats]:
    """The squared standard error of the mean of `side`, and its degrees of freedom."""
    if not moderated:
        return _square_error(side.deviation, side.n), np.subtract(side.n, 1)
    variance, df = moderated_variance(side.deviation, side.n, other.deviation, other.n)
    return variance / side.n, df
