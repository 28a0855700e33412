"""Quantiles and tails of the normal, Student's t and χ² distributions."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fairaudit.base.arrays import Alpha, Floats

_FEW = 100
"""Of more degrees of freedom no tail is summed up."""
_MANY = 100
"""So many different levels are quicker together."""
_VERY_MANY = 2_000_000
"""Of more tails SciPy is worth its import."""
_MOST = 10_000_000
"""Where values times their degrees of freedom are so many, SciPy is quicker."""
_FAR = 10_000.0
"""Beyond it no tail of few degrees of freedom is above 0."""
_MIDDLE = 0.075
_FAR_OUT = 5.0
_WICHURA = (
    ((2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
      13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
     (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
      5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0)),
    ((7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177,
      1.27045825245236838258, 3.64784832476320460504, 5.7694972214606914055,
      4.6303378461565452959, 1.42343711074968357734),
     (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966,
      0.14810397642748007459, 0.68976733498510000455, 1.6763848301838038494,
      2.05319162663775882187, 1.0)),
    ((2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386,
      0.026532189526576123093, 0.29656057182850489123, 1.7848265399172913358,
      5.4637849111641143699, 6.6579046435011037772),
     (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5,
      7.868691311456132591e-4, 0.0148753612908506148525, 0.13692988092273580531,
      0.59983220655587936769, 1.0)),
)  # fmt: skip
"""The ratios of polynomials for tails from 0.075 on, below, and far out.

Wichura (1988), Algorithm AS 241: The percentage points of the normal distribution, Appl Stat
37:477: what Python has of one number, and SciPy, which is slow to import, of many.
"""

_erfc = np.frompyfunc(math.erfc, 1, 1)
"""Without SciPy, which takes longer to import than most audits take."""


def expit(log_odds: Floats) -> Floats:
    """The probabilities of log-odds."""
    return np.asarray(np.exp(-np.logaddexp(0, -log_odds)))


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
    # Levels repeat, one for each number of groups.
    levels = _distinct(np.asarray(alpha))
    if levels.size > _MANY:
        return _find_critical(np.divide(alpha, 2))
    critical = np.array([_critical(level) for level in levels.tolist()])
    return critical[np.searchsorted(levels, alpha)]


def _distinct(values: Floats) -> Floats:
    """The distinct values in order, NaN once; `np.unique` would load `numpy.ma`.

    >>> _distinct(np.array([[0.1, np.nan], [np.nan, 0.05], [0.1, 0.05]])).tolist()
    [0.05, 0.1, nan]
    >>> _distinct(np.array([])).tolist()
    []
    """
    ordered = np.sort(values, axis=None)
    is_new = np.ones(ordered.shape, dtype=bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]) & ~np.isnan(ordered[:-1])
    return ordered[is_new]


def _critical(alpha: float) -> float:
    """The two-sided critical value of one level."""
    if math.isnan(alpha):
        return math.nan
    return 0.0 - NormalDist().inv_cdf(alpha / 2) if alpha > 0 else math.inf


def _find_critical(tail: Floats) -> Floats:
    """The z above which each tail lies."""
    with np.errstate(all="ignore"):
        offset, root = 0.5 - tail, np.sqrt(-np.log(tail))
        is_middle, is_far = tail >= _MIDDLE, (root > _FAR_OUT) & (tail > 0)
        arguments = (0.180625 - np.square(offset), root - 1.6, root - 5.0)
    places = (is_middle, ~is_middle & (root <= _FAR_OUT), is_far)
    critical = np.where(tail <= 0, np.inf, np.nan)
    for marks, argument, (over, under) in zip(places, arguments, _WICHURA, strict=True):
        critical[marks] = np.polyval(over, argument[marks]) / np.polyval(under, argument[marks])
    return np.where(is_middle, critical * offset, critical)


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
    """P(χ² >= statistic) with that many degrees of freedom.

    A sum where they are few and whole, or many: SciPy takes longer to import than most audits take.

    >>> float(chi_square_tail(3.841458820694124, 1)).__round__(12)
    0.05
    """
    freedom = np.asarray(df, dtype=np.float64)
    if freedom.size and np.all((freedom >= 1) & (freedom <= _FEW) & (freedom % 1 == 0)):
        return _sum_tail(np.divide(statistic, 2), freedom)
    if freedom.size and np.all(freedom > _FEW) and np.size(statistic) * np.max(freedom) < _MOST:
        return _sum_ratios(np.divide(statistic, 2), freedom / 2)
    from scipy.special import gammaincc

    return np.asarray(gammaincc(freedom / 2, np.divide(statistic, 2)), dtype=np.float64)


def _sum_tail(half: Floats, df: Floats) -> Floats:
    """The regularized upper incomplete gamma function Q(df/2, half), for whole `df` from 1 on.

    Q(a + 1, h) = Q(a, h) + h^a e^-h / Γ(a + 1), from Q(1/2, h) = erfc √h, or Q(1, h) = e^-h.
    """
    half, df = np.broadcast_arrays(np.minimum(half, _FAR), df)
    with np.errstate(all="ignore"):
        odd, root, decay = df % 2 == 1, np.sqrt(half), np.exp(-half)
        tail = np.where(odd, np.asarray(_erfc(root), dtype=np.float64), decay)
        term = np.where(odd, 2 / math.sqrt(math.pi) * root, half) * decay
        order = np.where(odd, 1.5, 2.0)
        while (more := order <= df / 2).any():
            tail = np.where(more, tail + term, tail)
            term, order = term * half / order, order + 1
    return np.asarray(np.minimum(tail, 1.0))


def _sum_ratios(half: Floats, a: Floats) -> Floats:
    """The same function Q(a, half) for `a` above 50, by Stirling's series and a sum of ratios.

    Above `a` it is f (1 + (a - 1)/h + (a - 1)(a - 2)/h² + ...), with f = h^(a-1) e^-h / Γ(a); below
    `a` the other tail is h f / a times 1 + h/(a + 1) + h²/((a + 1)(a + 2)) + ...
    """
    half, a = np.broadcast_arrays(np.minimum(half, _FAR * a), a)
    steps = np.arange(1, 25 + 9 * int(np.sqrt(a.max()))).reshape(-1, *[1] * a.ndim)
    with np.errstate(all="ignore"):
        beyond = (half - a) / a
        stirling = 1 / (12 * a) - 1 / (360 * a**3) + 1 / (1260 * a**5)
        chance = np.exp(a * (np.log1p(beyond) - beyond) - stirling) / np.sqrt(2 * math.pi * a)
        is_above = half >= a
        ratios = np.where(is_above, np.maximum(a - steps, 0.0) / half, half / (a + steps))
        total = chance * (1 + np.cumprod(ratios, axis=0).sum(axis=0))
        return np.asarray(np.where(is_above, total * a / half, 1 - total))
