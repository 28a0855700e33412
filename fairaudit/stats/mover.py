"""MOVER: intervals of differences, ratios and sums from the intervals of their parts.

The method of variance estimates recovery uses the distance of an estimate from its bound as its
error there, so the intervals of the parts may be skewed. Two parts may be correlated by `r`, like
shares of two groups in the same clusters; without `r` they are independent. Zou & Donner (2008),
Construction of confidence limits about effect measures, Stat Med 27:1693, doi:10.1002/sim.3095.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Ends, Floats

_ALIKE = 1e-6
"""Share of its terms below which a difference has lost six digits."""


def difference(
    first: Floats, first_ends: Ends, second: Floats, second_ends: Ends, r: Floats | None = None
) -> Ends:
    """The bounds of `first - second`, of any shapes that broadcast.

    Zou & Donner (2008), doi:10.1002/sim.3095. For Wilson intervals it is Newcombe's (1998), with a
    correlation his method 8 for pairs, Stat Med 17:2635.

    >>> ends = difference(np.array(3.0), (np.array(0.0), np.array(6.0)),
    ...                   np.array(2.0), (np.array(-2.0), np.array(5.0)))
    >>> [round(float(end), 6) for end in ends]
    [-3.242641, 6.0]
    """
    (low, high), (other_low, other_high) = first_ends, second_ends
    with np.errstate(all="ignore"):
        value = np.subtract(first, second)
        below = combine_errors(np.subtract(first, low), np.subtract(other_high, second), r)
        above = combine_errors(np.subtract(high, first), np.subtract(second, other_low), r)
        return value - below, value + above


def combine_errors(first: Floats, second: Floats, r: Floats | None) -> Floats:
    """The standard error of a difference from those of its two sides, correlated by `r`."""
    if r is None:
        return np.hypot(first, second)
    squares = first * first - 2 * r * first * second + second * second
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


def ratio(
    first: Floats, first_ends: Ends, second: Floats, second_ends: Ends, r: Floats | None = None
) -> Ends:
    """The bounds of `first / second`, both of them not negative, of any shapes that broadcast.

    Donner & Zou (2012), Closed-form confidence intervals for functions of the normal mean and
    standard deviation, Stat Methods Med Res 21:347, doi:10.1177/0962280210383082. Where `second`
    may be 0 the upper bound is infinite; where `first` may be 0 the lower bound is 0.

    >>> ends = ratio(np.array(4.0), (np.array(3.0), np.array(6.0)),
    ...              np.array(2.0), (np.array(1.0), np.array(3.0)))
    >>> [round(float(end), 6) for end in ends]
    [1.2137, 4.430501]
    """
    (low, high), (other_low, other_high) = first_ends, second_ends
    return (
        lower_ratio(first, low, second, other_high, r),
        upper_ratio(first, high, second, other_low, r),
    )


def lower_ratio(
    first: Floats, low: Floats, second: Floats, other_high: Floats, r: Floats | None = None
) -> Floats:
    """The lower bound of `first / second`."""
    with np.errstate(all="ignore"):
        middle, root = _middle_and_root(first, low, second, other_high, r)
        # The paper's lower bound times its conjugate: no case in which it divides by zero.
        squares = low * (2 * first - low)
        bottom = np.where(squares == 0, 0.0, squares / (middle + root))
    return np.where(np.isnan(middle), np.nan, bottom)


def upper_ratio(
    first: Floats, high: Floats, second: Floats, other_low: Floats, r: Floats | None = None
) -> Floats:
    """The upper bound of `first / second`."""
    with np.errstate(all="ignore"):
        middle, root = _middle_and_root(first, high, second, other_low, r)
        squares = other_low * (2 * second - other_low)
        top = np.where(squares == 0, np.inf, (middle + root) / squares)
    return np.where(np.isnan(middle) | np.isnan(high), np.nan, top)


def _middle_and_root(
    first: Floats, bound: Floats, second: Floats, end: Floats, r: Floats | None
) -> tuple[Floats, Floats]:
    """The middle and the root of a bound of a ratio: `first` ends at `bound`, `second` at `end`.

    The argument of the root is never negative, and never a difference of two similar numbers: if
    one form of it is such a difference, the other is a sum.
    """
    product = np.multiply(first, second)
    reach = np.abs(np.subtract(first, bound))
    squares = end * (np.multiply(2, second) - end)
    most = np.square(np.multiply(first, np.subtract(end, second)))
    least = most + np.square(reach) * squares
    own = bound * (np.multiply(2, first) - bound)
    alike = (squares < 0) & (own >= 0) & (least < _ALIKE * most)
    if np.any(alike):
        least = np.where(alike, np.square(product) - own * squares, least)
    if r is not None:
        shift = r * reach * np.abs(np.subtract(end, second))
        product, least = product - shift, least + shift * (shift - 2 * product)
    return product, np.asarray(np.sqrt(np.maximum(least, 0.0)))


def total(values: Floats, ends: Ends, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """The sum Σ w·v over axis 0 and its bounds, the weights fixed.

    `weights` has the leading axes of `values` or all of them. Values with weight 0 do not count,
    even if undefined; if all weights are 0 the sum is NaN. A negative weight swaps the bounds. Zou,
    Huang & Zhang (2009), doi:10.1016/j.csda.2008.09.033.

    >>> ends = np.array([0.0, -2.0]), np.array([6.0, 5.0])
    >>> result = total(np.array([3.0, 2.0]), ends, np.array([1.0, -1.0]))
    >>> [round(float(number), 6) for number in result]
    [1.0, -3.242641, 6.0]
    """
    missing = max(np.ndim(values) - np.ndim(weights), 0)
    weights = np.reshape(weights, np.shape(weights) + (1,) * missing)
    with np.errstate(all="ignore"):
        counts = weights != 0
        value = np.where(counts, weights * values, 0.0)
        first_end, second_end = (np.where(counts, weights * end, 0.0) for end in ends)
        low = np.where(weights < 0, second_end, first_end)
        high = np.where(weights < 0, first_end, second_end)
        sums = np.where(counts.any(axis=0), value.sum(axis=0), np.nan)
        return (
            sums,
            sums - np.sqrt(np.square(value - low).sum(axis=0)),
            sums + np.sqrt(np.square(high - value).sum(axis=0)),
        )
