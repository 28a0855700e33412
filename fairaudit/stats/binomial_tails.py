"""Inverse binomial tails without SciPy, for the exact interval of a share (Clopper–Pearson).

Counts need be no whole numbers: under survey weights they are effective ones. By a series and a
continued fraction that have one smaller count in common, to the last digits and without SciPy,
which takes longer to import than most audits take.
"""

from __future__ import annotations

import math

import numpy as np

from fairaudit.base.arrays import Ends, Floats

MOST_HITS = 100
"""Of more hits the series is long."""

_CLOSE = 1e-6
"""After so small a step of Halley's the next one is below the last digit."""
_STEPS = 60
_SHIFT = 20
"""From here on Stirling's series has all digits."""
_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def invert_tails(hits: Floats, misses: Floats, tail: Floats) -> Ends:
    """The shares at which so many hits, or more, and so many, or fewer, have that probability.

    Numbers above 0, one of both at most `MOST_HITS`; a tail of ½ or less. Far out, too.

    >>> low, high = invert_tails(np.array([1.0]), np.array([9.0]), np.array([0.025]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.002529, 0.445016)
    """
    few, many = np.minimum(hits, misses), np.maximum(hits, misses)
    with np.errstate(all="ignore"):
        target = np.log(tail) - _find_log_ways(few, many)
        log_share = _invert_upper(few, many, target)
        log_rest = _invert_lower(few, many, target, least=-float(np.log(tail.max())))
    turned = misses < hits
    low = np.where(turned, np.exp(log_rest), np.exp(log_share))
    return low, np.where(turned, -np.expm1(log_share), -np.expm1(log_rest))


def _find_log_ways(h: Floats, m: Floats) -> Floats:
    """The logarithm of the binomial coefficient `h + m` over `h`.

    By a factor for each whole hit; of the part that is left, by Stirling's series: the difference
    of two large logarithms of Γ would lose digits.
    """
    part = h - np.floor(h)
    steps = np.arange(1, int(h.max()) + 1)[:, None]
    whole = np.where(steps <= h, np.log1p(m / (part + steps)), 0.0).sum(axis=0)
    z, shifts = m + (_SHIFT + 1), np.arange(1, _SHIFT + 1)[:, None]
    ratio = (z - 0.5) * np.log1p(part / z) - part + part * np.log(z + part)
    ratio += _sum_stirling(z + part) - _sum_stirling(z) - np.log1p(part / (m + shifts)).sum(axis=0)
    return np.asarray(whole + ratio - np.asarray(_log_gamma(1 + part), dtype=np.float64))


def _sum_stirling(z: Floats) -> Floats:
    return np.asarray(1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5) - 1 / (1680 * z**7))


def _invert_upper(h: Floats, m: Floats, target: Floats) -> Floats:
    """The logarithm of x where `h` hits and more have the probability of the target.

    It is that of `h` times a series of positive ratios, DLMF 8.17.8; by the logarithm of x its
    derivative is `h` over that sum. The target has the binomial coefficient taken out.
    """
    log_x = target / h
    for _ in range(_STEPS):
        x, rest = np.exp(log_x), -np.expm1(log_x)
        # No x is above ½, which the ratios come near to in the end.
        length = 20 + 9 * math.sqrt(h.max()) - 36 / np.log(min(x.max(), 0.5))
        terms = np.arange(int(length))[:, None]
        ratios = (h + m + 1 + terms) / (h + 1 + terms)
        total = rest * (1 + np.cumprod(ratios * x, axis=0).sum(axis=0))
        error = h * log_x + m * np.log1p(-x) + np.log(total) - target
        slope = h / total
        step = _find_step(error / slope, h - m * x / rest - slope)
        log_x = log_x - step
        if not (np.abs(step) > _CLOSE).any():
            break
    return log_x


def _invert_lower(h: Floats, m: Floats, target: Floats, least: float) -> Floats:
    """The logarithm of 1 - x where `h` hits and fewer have the probability of the target.

    It is that of `h` times F(-h, 1; m + 1; -r), r = (1 - x)/x: the even part of Gauss's continued
    fraction, DLMF 15.7.5. It ends after `h` if that is whole, and is short where -m log(1 - x) is
    large; `least` is a bound of that, the logarithm of 1 by the largest tail.
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
        if not (np.abs(step) > _CLOSE * rest).any():
            break
    return -rest


def _find_step(step: Floats, curve: Floats) -> Floats:
    """Halley's step from Newton's, by the second derivative over the first."""
    return np.asarray(step / np.maximum(1 - step * curve / 2, 0.5))
