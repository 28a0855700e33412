"""Quantiles and tails of the normal, Student's t and χ² distributions."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fairaudit.base.arrays import Alpha, Floats

_FEW = 100
"""Most degrees of freedom for which tails are summed."""
_VERY_MANY = 2_000_000
"""Number of tails above which SciPy is faster, including its import."""
_FAR = 10_000.0
"""Statistic above which the tail of few degrees of freedom is 0."""
_erfc = np.frompyfunc(math.erfc, 1, 1)
"""SciPy has this function, but its import takes longer than most audits."""


def expit(log_odds: Floats) -> Floats:
    """The probabilities of log-odds."""
    return np.asarray(np.exp(-np.logaddexp(0, -log_odds)))


def normal_critical(alpha: Alpha) -> float | Floats:
    """The z with P(|Z| > z) = `alpha`, for each; infinite where alpha is 0.

    Taken from the lower tail, so that an alpha of 1e-300 has its z too.

    >>> round(float(normal_critical(0.05)), 6), round(float(normal_critical(1e-300)), 4)
    (1.959964, 37.0658)
    """
    if np.ndim(alpha) == 0:
        return _critical(float(alpha))
    # Levels repeat, one for each number of groups.
    levels = np.ravel(alpha).tolist()
    known = {level: _critical(level) for level in set(levels)}
    critical = np.array([known[level] for level in levels], dtype=np.float64)
    return critical.reshape(np.shape(alpha))


def _critical(alpha: float) -> float:
    """The two-sided critical value of one level."""
    if math.isnan(alpha):
        return math.nan
    return 0.0 - NormalDist().inv_cdf(alpha / 2) if alpha > 0 else math.inf


def normal_below(z: Floats) -> Floats:
    """P(Z <= z) for each z, accurate in the lower tail; NaN stays NaN.

    >>> float(normal_below(np.array(1.644853626951472))).__round__(12)
    0.95
    """
    return np.asarray(_complement(z / -math.sqrt(2)) / 2, dtype=np.float64)


def normal_two_sided(z: Floats) -> Floats:
    """P(|Z| >= |z|) for each z, accurate in the far tail; NaN stays NaN.

    >>> float(normal_two_sided(np.array(1.959963984540054))).__round__(12)
    0.05
    """
    return _complement(np.abs(z) / math.sqrt(2))


def _complement(x: Floats) -> Floats:
    """The complementary error function of each number."""
    if np.size(x) <= _VERY_MANY:
        return np.asarray(_erfc(x), dtype=np.float64)
    from scipy.special import erfc

    return np.asarray(erfc(x), dtype=np.float64)


def t_critical(df: Floats, alpha: Alpha) -> Floats:
    """The t with P(|T| > t) = alpha; NaN without freedom."""
    from scipy.special import stdtrit

    tail = np.divide(alpha, 2)
    t = np.abs(stdtrit(np.where(np.greater(df, 0), df, np.nan), tail))
    return np.asarray(t, dtype=np.float64)


def t_two_sided(t: Floats, df: Floats) -> Floats:
    """P(|T| >= |t|), accurate in the far tail."""
    from scipy.special import stdtr

    with np.errstate(all="ignore"):
        p = 2 * stdtr(np.where(np.greater(df, 0), df, np.nan), -np.abs(t))
    return np.asarray(p, dtype=np.float64)


def chi_square_tail(statistic: Floats | float, df: Floats | float) -> Floats:
    """P(χ² >= statistic) with that many degrees of freedom.

    For few and whole degrees of freedom it is a sum: the import of SciPy takes longer than most
    audits. The regularized upper incomplete gamma function Q(df/2, h), h half the statistic, is
    Q(a + 1, h) = Q(a, h) + h^a e^-h / Γ(a + 1), from Q(1/2, h) = erfc √h, or Q(1, h) = e^-h.

    >>> float(chi_square_tail(3.841458820694124, 1)).__round__(12)
    0.05
    """
    freedom, half = np.asarray(df, dtype=np.float64), np.divide(statistic, 2)
    if not freedom.size or not np.all((freedom >= 1) & (freedom <= _FEW) & (freedom % 1 == 0)):
        from scipy.special import gammaincc

        return np.asarray(gammaincc(freedom / 2, half), dtype=np.float64)
    half, freedom = np.broadcast_arrays(np.minimum(half, _FAR), freedom)
    with np.errstate(all="ignore"):
        odd, root, decay = freedom % 2 == 1, np.sqrt(half), np.exp(-half)
        tail = np.where(odd, np.asarray(_erfc(root), dtype=np.float64), decay)
        term = np.where(odd, 2 / math.sqrt(math.pi) * root, half) * decay
        order = np.where(odd, 1.5, 2.0)
        while (more := order <= freedom / 2).any():
            tail = np.where(more, tail + term, tail)
            term, order = term * half / order, order + 1
    return np.asarray(np.minimum(tail, 1.0))
