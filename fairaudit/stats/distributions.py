"""Quantiles and tails of the normal, Student's t, χ² and binomial distributions.

Binomial tails are inverted without SciPy, because its import takes longer than most audits. A
series and a continued fraction in the smaller of two counts give full precision.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats

_FEW = 100
"""With more degrees of freedom than this, SciPy computes the tail."""
_VERY_MANY = 2_000_000
"""The number of tails above which SciPy is faster, including the time of its import."""
_FAR = 10_000.0
"""With a larger statistic than this, the tail for few degrees of freedom is 0."""
_erfc = np.frompyfunc(math.erfc, 1, 1)
"""SciPy has this function, but its import takes longer than most audits."""


def expit(log_odds: Floats) -> Floats:
    """The probability of each value in `log_odds`."""
    return np.asarray(np.exp(-np.logaddexp(0, -log_odds)))


def normal_critical(alpha: Alpha) -> float | Floats:
    """The z with P(|Z| > z) = `alpha` for each alpha; infinite if alpha is 0.

    z is computed from the lower tail, so that it is accurate for an alpha such as 1e-300.

    >>> round(float(normal_critical(0.05)), 6), round(float(normal_critical(1e-300)), 4)
    (1.959964, 37.0658)
    """
    if np.ndim(alpha) == 0:
        return _critical(float(alpha))
    # Most levels are equal, so each distinct level is computed once.
    levels = np.ravel(alpha).tolist()
    known = {level: _critical(level) for level in set(levels)}
    critical = np.array([known[level] for level in levels], dtype=np.float64)
    return critical.reshape(np.shape(alpha))


def _critical(alpha: float) -> float:
    if math.isnan(alpha):
        return math.nan
    return 0.0 - NormalDist().inv_cdf(alpha / 2) if alpha > 0 else math.inf


def normal_below(z: Floats) -> Floats:
    """P(Z <= z) for each z, accurate in the lower tail; NaN for NaN.

    >>> float(normal_below(np.array(1.644853626951472))).__round__(12)
    0.95
    """
    return np.asarray(_complement(z / -math.sqrt(2)) / 2, dtype=np.float64)


def normal_two_sided(z: Floats) -> Floats:
    """P(|Z| >= |z|) for each z, accurate in the far tail; NaN for NaN.

    >>> float(normal_two_sided(np.array(1.959963984540054))).__round__(12)
    0.05
    """
    return _complement(np.abs(z) / math.sqrt(2))


def _complement(x: Floats) -> Floats:
    if np.size(x) <= _VERY_MANY:
        return np.asarray(_erfc(x), dtype=np.float64)
    from scipy.special import erfc

    return np.asarray(erfc(x), dtype=np.float64)


def t_critical(df: Floats, alpha: Alpha) -> Floats:
    """The t with P(|T| > t) = `alpha`; NaN without degrees of freedom."""
    from scipy.special import stdtrit

    tail = np.divide(alpha, 2)
    t = np.abs(stdtrit(np.where(np.greater(df, 0), df, np.nan), tail))
    return np.asarray(t, dtype=np.float64)


def t_two_sided(t: Floats, df: Floats) -> Floats:
    """P(|T| >= |t|), accurate in the far tail; NaN without degrees of freedom."""
    from scipy.special import stdtr

    with np.errstate(all="ignore"):
        p = 2 * stdtr(np.where(np.greater(df, 0), df, np.nan), -np.abs(t))
    return np.asarray(p, dtype=np.float64)


def chi_square_tail(statistic: Floats | float, df: Floats | float) -> Floats:
    """P(χ² >= `statistic`) with `df` degrees of freedom.

    If the degrees of freedom are whole numbers up to 100, the tail is computed as a sum, because
    the import of SciPy takes longer than most audits. The tail is the regularized upper incomplete
    gamma function Q(df/2, h), where h is half the statistic. The recurrence is Q(a + 1, h) = Q(a,
    h) + h^a e^-h / Γ(a + 1); the sum starts with Q(1/2, h) = erfc √h or Q(1, h) = e^-h.

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


MOST_HITS = 100
"""The maximum number of hits for which the series is used. With more hits, the series is long."""

_SMALL_STEP = 1e-6
"""After a smaller step of Halley's method, the next step would change no digit."""
_STEPS = 60
_SHIFT = 20
"""From this number on, Stirling's series has all digits."""
_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def invert_tails(hits: Floats, misses: Floats, tail: Floats) -> Ends:
    """Two shares: the binomial P(X >= `hits`) is `tail` at the first, P(X <= `hits`) at the second.

    X is the number of hits among `hits + misses` people. Both counts are above 0, and the smaller
    count is at most `MOST_HITS`. The tail is at most ½ and may be tiny.

    >>> low, high = invert_tails(np.array([1.0]), np.array([9.0]), np.array([0.025]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.002529, 0.445016)
    """
    few, many = np.minimum(hits, misses), np.maximum(hits, misses)
    # The logarithm of the binomial coefficient `few + many` over `few`, where `few` may be
    # fractional: a factor for each whole hit, and Stirling's series for the fraction. The
    # difference of two large logarithms of Γ would lose digits.
    part = few - np.floor(few)
    z, shifts = many + (_SHIFT + 1), np.arange(1, _SHIFT + 1)[:, None]
    with np.errstate(all="ignore"):
        steps = np.arange(1, int(few.max()) + 1)[:, None]
        whole = np.where(steps <= few, np.log1p(many / (part + steps)), 0.0).sum(axis=0)
        ratio = (z - 0.5) * np.log1p(part / z) - part + part * np.log(z + part)
        ratio += _sum_stirling(z + part) - _sum_stirling(z)
        ratio -= np.log1p(part / (many + shifts)).sum(axis=0)
        ways = whole + ratio - np.asarray(_log_gamma(1 + part), dtype=np.float64)
        target = np.log(tail) - ways
        log_share = _invert_upper(few, many, target)
        log_rest = _invert_lower(few, many, target, least=-float(np.log(tail.max())))
    turned = misses < hits
    low = np.where(turned, np.exp(log_rest), np.exp(log_share))
    return low, np.where(turned, -np.expm1(log_share), -np.expm1(log_rest))


def _sum_stirling(z: Floats) -> Floats:
    return np.asarray(1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5) - 1 / (1680 * z**7))


def _invert_upper(h: Floats, m: Floats, target: Floats) -> Floats:
    """The logarithm of x, the share at which at least `h` hits have the target probability.

    This probability is the probability of exactly `h` hits, times a series of positive ratios (DLMF
    8.17.8). The derivative of its logarithm by log x is `h` divided by the series. `target` is the
    logarithm of the target probability without the binomial coefficient.
    """
    log_x = target / h
    for _ in range(_STEPS):
        x, rest = np.exp(log_x), -np.expm1(log_x)
        # x is at most ½, and the factors of the series approach x.
        length = 20 + 9 * math.sqrt(h.max()) - 36 / np.log(min(x.max(), 0.5))
        terms = np.arange(int(length))[:, None]
        ratios = (h + m + 1 + terms) / (h + 1 + terms)
        total = rest * (1 + np.cumprod(ratios * x, axis=0).sum(axis=0))
        error = h * log_x + m * np.log1p(-x) + np.log(total) - target
        slope = h / total
        step = _find_step(error / slope, h - m * x / rest - slope)
        log_x = log_x - step
        if not (np.abs(step) > _SMALL_STEP).any():
            break
    return log_x


def _invert_lower(h: Floats, m: Floats, target: Floats, least: float) -> Floats:
    """The logarithm of 1 - x; x is the share at which at most `h` hits have the target probability.

    This probability is the probability of exactly `h` hits, times F(-h, 1; m + 1; -r), where r is
    1/x - 1. F is the even part of Gauss's continued fraction (DLMF 15.7.5). The fraction ends after
    `h` terms if `h` is whole, and is short if -m log(1 - x) is large. `least` is a lower bound of
    -m log(1 - x): the negative logarithm of the largest tail.
    """
    terms = np.arange(1, int(10 + 60 / least + 3 * math.sqrt(h.max())))[:, None]
    even = terms * (h + m + terms) / ((m + 2 * terms - 1) * (m + 2 * terms))
    odd = (terms - h) * (m + terms) / ((m + 2 * terms) * (m + 2 * terms + 1))
    first = -h / (m + 1)
    over, under = -np.concatenate([first[None], odd[:-1]]) * even, even + odd
    rest = (h + 1) / m
    for _ in range(_STEPS):
        x = -np.expm1(-rest)
        r = np.exp(-rest) / x
        fraction = np.ones_like(r)
        for a, b in zip((over * (r * r))[::-1], (1 + under * r)[::-1], strict=True):
            fraction = a / (b + fraction)
        total = 1 / (1 + first * r + fraction)
        slope = -m / total
        error = h * np.log(x) - m * rest + np.log(total) - target
        step = _find_step(error / slope, h * r - m - slope)
        rest = rest - step
        if not (np.abs(step) > _SMALL_STEP * rest).any():
            break
    return -rest


def _find_step(step: Floats, curve: Floats) -> Floats:
    """The step of Halley's method, from Newton's `step` and the ratio f'' / f' (`curve`)."""
    return np.asarray(step / np.maximum(1 - step * curve / 2, 0.5))
