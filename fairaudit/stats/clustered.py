"""Two shares that vary together, as those of the same clusters do: their correlation is `r`.

Each share has the size of a sample of independent rows that would tell as much. With r = 0 the two
are independent, and the formulas those of `mover` and `proportions`.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from fairaudit.arrays import Floats
from fairaudit.stats.normal import critical, two_sided

Bounds: TypeAlias = tuple[Floats, Floats]
"""The lower and the upper ends of intervals."""


def difference(
    first: Floats, first_bounds: Bounds, second: Floats, second_bounds: Bounds, r: Floats
) -> Bounds:
    """The bounds of `first - second`.

    Zou & Donner (2008), doi:10.1002/sim.3095; of Wilson intervals Newcombe's (1998) for pairs,
    Stat Med 17:2635, method 8.

    >>> ends = difference(np.array(3.0), (np.array(0.0), np.array(6.0)),
    ...                   np.array(2.0), (np.array(-2.0), np.array(5.0)), np.array(0.5))
    >>> [round(float(end), 6) for end in ends]
    [-2.0, 4.605551]
    """
    (low, high), (other_low, other_high) = first_bounds, second_bounds
    with np.errstate(all="ignore"):
        value = np.subtract(first, second)
        below = _together(first - low, other_high - second, r)
        above = _together(high - first, second - other_low, r)
        return value - below, value + above


def _together(first: Floats, second: Floats, r: Floats) -> Floats:
    """The standard error of a difference from those of its two sides."""
    return np.asarray(
        np.sqrt(np.maximum(first * first + second * second - 2 * r * first * second, 0.0))
    )


def ratio(
    first: Floats, first_bounds: Bounds, second: Floats, second_bounds: Bounds, r: Floats
) -> Bounds:
    """The bounds of `first / second`, both of them not negative.

    Fieller's with the distances of the bounds in place of standard errors: Donner & Zou (2012),
    Stat Methods Med Res 21:347, doi:10.1177/0962280210383082. Where `second` may be 0 the upper
    bound is infinite.

    >>> ends = ratio(np.array(4.0), (np.array(3.0), np.array(6.0)),
    ...              np.array(2.0), (np.array(1.0), np.array(3.0)), np.array(0.0))
    >>> [round(float(end), 4) for end in ends]
    [1.2137, 4.4305]
    """
    (low, high), (other_low, other_high) = first_bounds, second_bounds
    with np.errstate(all="ignore"):
        middle = first * second - r * (first - low) * (other_high - second)
        squares = other_high * (2 * second - other_high)
        reach = low * (2 * first - low)
        root = np.sqrt(np.maximum(middle * middle - reach * squares, 0.0))
        # The root times its conjugate: `squares` may be 0 or negative.
        bottom = np.where(reach == 0, 0.0, reach / (middle + root))
        middle = first * second - r * (high - first) * (second - other_low)
        squares = other_low * (2 * second - other_low)
        root = np.sqrt(np.maximum(middle * middle - high * (2 * first - high) * squares, 0.0))
        top = np.where(squares <= 0, np.inf, (middle + root) / squares)
    unknown = np.isnan(first * second * r)
    return np.where(unknown, np.nan, bottom), np.where(unknown, np.nan, top)


def woolf(
    p: Floats, n: Floats, q: Floats, m: Floats, r: Floats, alpha: float | Floats = 0.05
) -> Bounds:
    """The bounds of the odds ratio of `p` to `q` by the logit, with ½ added to each cell.

    >>> low, high = woolf(*(np.array(one) for one in (0.3, 40.0, 0.6, 80.0, 0.0)))
    >>> round(float(low), 6), round(float(high), 6)
    (0.132101, 0.653896)
    """
    with np.errstate(all="ignore"):
        a, c = p * n + 0.5, q * m + 0.5
        b, d = n - p * n + 0.5, m - q * m + 0.5
        reach = critical(alpha) * _together(np.sqrt(1 / a + 1 / b), np.sqrt(1 / c + 1 / d), r)
        middle, plain = np.log(a * d / (b * c)), p * (1 - q) / ((1 - p) * q)
        low, high = np.fmin(np.exp(middle - reach), plain), np.fmax(np.exp(middle + reach), plain)
    unknown = np.isnan(p * q * n * m)
    return np.where(unknown, np.nan, low), np.where(unknown, np.nan, high)


def z_test(p: Floats, n: Floats, q: Floats, m: Floats, r: Floats) -> Floats:
    """The two-sided p-value of `p = q` by the pooled share; of equal shares 1.

    Of matched pairs that is McNemar's test, but for the terms of order 1 / n.

    >>> round(float(z_test(*(np.array(one) for one in (0.3, 40.0, 0.6, 80.0, 0.0)))), 8)
    0.00194577
    """
    with np.errstate(all="ignore"):
        share = (p * n + q * m) / (n + m)
        first, second = np.sqrt(share * (1 - share) / n), np.sqrt(share * (1 - share) / m)
        gap = np.subtract(p, q)
        z = np.where(gap == 0, 0.0, gap / _together(first, second, r))
    return np.asarray(two_sided(np.where(np.isnan(p * q * n * m), np.nan, z)))
