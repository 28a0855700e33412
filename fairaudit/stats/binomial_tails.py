"""Inverse binomial tails without SciPy, for the exact interval of a share (Clopper–Pearson).

Those that are at most as far out as `h` of `n` make a sum of positive numbers, of the probability
of `h` itself and a few ratios, so that its inverse is found to the last digits without SciPy, which
takes longer to import than most audits take.
"""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Ends, Floats, Marks

MOST_HITS = 100
"""Of more hits the sum is long."""

_CLOSE = 1e-9
"""After so small a step of Newton's the next one is below the last digit."""
_STEPS = 60


def are_counts(hits: Floats, misses: Floats) -> Marks:
    """Which are whole numbers but for rounding, a few of either."""
    whole = [np.abs(number - np.rint(number)) <= 1e-13 * number for number in (hits, misses)]
    return np.asarray(whole[0] & whole[1] & (np.minimum(hits, misses) <= MOST_HITS))


def invert_tails(hits: Floats, misses: Floats, tail: Floats) -> Ends:
    """The shares at which so many hits, or more, and so many, or fewer, have that probability.

    Whole numbers above 0, one of both at most `MOST_HITS`. Far out in a tail, too.

    >>> low, high = invert_tails(np.array([1.0]), np.array([9.0]), np.array([0.025]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.002529, 0.445016)
    """
    few, many = (np.rint(pick(hits, misses)) for pick in (np.minimum, np.maximum))
    with np.errstate(all="ignore"):
        # The logarithm of the binomial coefficient n over h, by a factor for each hit.
        steps = np.arange(1, int(few.max()) + 1)[:, None]
        log_ways = np.where(steps <= few, np.log1p(many / steps), 0.0).sum(axis=0)
        log_share = _invert_upper(few, many, np.log(tail) - log_ways)
        log_rest = _invert_lower(few, many, np.log(tail) - log_ways)
    turned = misses < hits
    low = np.where(turned, np.exp(log_rest), np.exp(log_share))
    return low, np.where(turned, -np.expm1(log_share), -np.expm1(log_rest))


def _invert_upper(h: Floats, m: Floats, target: Floats) -> Floats:
    """The logarithm of x where `h` hits and more have the probability of the target.

    It is that of `h` times a sum of ratios; by the logarithm its derivative is `h` over that sum.
    The target has the binomial coefficient taken out.
    """
    terms = np.arange(25 + 9 * int(np.sqrt(h.max())))[:, None]
    ratios = np.maximum(m - terms, 0.0) / (h + 1 + terms)
    log_x = target / h
    for _ in range(_STEPS):
        x = np.exp(log_x)
        total = 1 + np.cumprod(ratios * (x / -np.expm1(log_x)), axis=0).sum(axis=0)
        step = (target - h * log_x - m * np.log1p(-x) - np.log(total)) * total / h
        log_x = log_x + step
        if not (np.abs(step) > _CLOSE).any():
            break
    return log_x


def _invert_lower(h: Floats, m: Floats, target: Floats) -> Floats:
    """The logarithm of 1 - x where `h` hits and fewer have the probability of the target."""
    terms = np.arange(int(h.max()))[:, None]
    ratios = np.maximum(h - terms, 0.0) / (m + 1 + terms)
    rest = (h + 1) / m
    for _ in range(_STEPS):
        x = -np.expm1(-rest)
        total = 1 + np.cumprod(ratios * (np.exp(-rest) / x), axis=0).sum(axis=0)
        step = (h * np.log(x) - m * rest + np.log(total) - target) * total / m
        rest = rest + step
        if not (np.abs(step) > _CLOSE * rest).any():
            break
    return -rest
