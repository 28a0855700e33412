"""Quantiles and tails of the normal, Student's t and χ² distributions, accurate far out."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fairaudit.arrays import Alpha, Floats

_FEW = 100
_erfc = np.frompyfunc(math.erfc, 1, 1)
"""Without SciPy, which takes longer to import than most audits take."""


def normal_quantile(probability: float) -> float:
    """The standard normal quantile of a probability in (0, 1)."""
    return NormalDist().inv_cdf(probability)


def normal_critical(alpha: Alpha) -> float | Floats:
    """The z with P(|Z| > z) = `alpha`, for each; infinite where alpha is 0.

    Taken from the lower tail, so that an alpha of 1e-300 has its z too.

    >>> round(float(normal_critical(0.05)), 6), round(float(normal_critical(1e-300)), 4)
    (1.959964, 37.0658)
    """
    if np.ndim(alpha) == 0:
        return _critical(float(alpha))
    # Levels repeat, one for each number of groups; SciPy would take longer to import.
    levels, index = np.unique(alpha, return_inverse=True)
    if levels.size > _FEW:
        from scipy.special import ndtri

        with np.errstate(all="ignore"):
            return np.asarray(0.0 - ndtri(np.asarray(alpha) / 2), dtype=np.float64)
    return np.array([_critical(level) for level in levels.tolist()])[index].reshape(np.shape(alpha))


def _critical(alpha: float) -> float:
    """The same for one level."""
    if math.isnan(alpha):
        return math.nan
    return 0.0 - NormalDist().inv_cdf(alpha / 2) if alpha > 0 else math.inf


def normal_two_sided(z: Floats) -> Floats:
    """P(|Z| >= |z|) for each z, accurate in the far tail; NaN stays NaN.

    >>> float(normal_two_sided(np.array(1.959963984540054))).__round__(12)
    0.05
    """
    return np.asarray(_erfc(np.abs(z) / math.sqrt(2)), dtype=np.float64)


def t_critical(df: Floats, alpha: Alpha) -> Floats:
    """The t with P(|T| > t) = alpha; NaN where there is no freedom."""
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
    """P(χ² >= statistic) with that many degrees of freedom."""
    from scipy.special import gammaincc

    return np.asarray(gammaincc(np.divide(df, 2), np.divide(statistic, 2)), dtype=np.float64)
