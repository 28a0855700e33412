"""Power: the smallest gap that a test of so many people shows; `POWER`, how often it is found.

Undefined is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Marks
from fairaudit.stats import contingency
from fairaudit.stats.distributions import chi_square_tail, normal_critical, normal_quantile

POWER = 0.8
"""The chance with which a gap is found that a report calls detectable: four samples of five."""

POWER_IN_WORDS = "four of five"
"""`POWER`, as a report says it of samples."""

_ROUNDS = 10
"""Each takes a digit and more off the error of a share that is just significant."""

_TERMS = 400
"""Of the Poisson distribution for two groups; of more groups some more."""


def smallest_detectable(
    share: Floats,
    n: Floats,
    m: Floats,
    level: Alpha = 0.05,
    freedom: float | Floats = 1,
    power: float = POWER,
) -> Ends:
    """The smallest gaps to a reference of this `share` that are found with the given power.

    Down (not positive) and up (not negative), between sides of `n` and `m` people, by a two-sided
    test at the level. With more than one degree of `freedom` it is that of χ² over more groups, all
    others of which lie between the two. NaN where not even a share of 0 (or of 1) would be found,
    and where a side is empty. Cohen (1988), Statistical Power Analysis for the Behavioral Sciences,
    2nd ed., ch. 6 and 7: differences of arcsines. Where Fisher's test takes the place of z, by a
    person of each side more, as Yates corrects z to be like it.

    >>> down, up = smallest_detectable(np.array(0.6), np.array(40.0), np.array(80.0))
    >>> round(float(down), 4), round(float(up), 4)
    (-0.2673, 0.2386)
    """
    share, n, m, level, freedom = np.broadcast_arrays(share, n, m, level, freedom)
    more = normal_quantile(power)
    just = np.asarray(_effects(level, freedom, power), dtype=np.float64) - more
    ends = []
    with np.errstate(all="ignore"):
        step = np.where((n > 0) & (m > 0), 1 / n + 1 / m, np.nan)
        angle, unit = np.arcsin(np.sqrt(share)), np.sqrt(step) / 2
        for way in (-1, 1):
            shift, is_off = _shift_to_level(share, n, m, just, freedom, way * unit)
            found = angle + way * unit * (shift + more)
            # Beyond the ends the sine would turn back and name a gap that nobody can have.
            found = np.where((found >= 0) & (found <= np.pi / 2), np.square(np.sin(found)), np.nan)
            few = contingency.smallest_expected(found, n, share, m) < contingency.LEAST_EXPECTED
            exact = (freedom == 1) & (few | is_off)
            found = found + np.where(exact, way * step / 2, 0.0)
            ends.append(np.where((found >= 0) & (found <= 1), found - share, np.nan))
    return ends[0], ends[1]


def _shift_to_level(
    share: Floats, n: Floats, m: Floats, just: Floats, freedom: Floats, unit: Floats
) -> tuple[Floats, Marks]:
    """How many units of the angle a share must be off to be `just` significant.

    It is as many as the standard errors, or more where arcsines overstate a difference far out, by
    the test that is in use there. The second array marks where Fisher's test takes the place of z.
    """
    shift, is_off, far = just, np.zeros(just.shape, dtype=np.bool_), just > contingency.FAR
    angle = np.arcsin(np.sqrt(share))
    for _ in range(_ROUNDS if far.any() else 0):
        other = np.square(np.sin(np.clip(angle + unit * shift, 0, np.pi / 2)))
        z = np.abs(contingency.find_z(other, n, share, m))
        roots = contingency.find_far_roots(other, n, share, m, z)
        is_off = far & ~np.isnan(roots)
        score = np.where(is_off, np.where(freedom == 1, roots, np.fmin(roots, z)), z)
        shift = np.where(far, shift * just / score, just)
    return np.maximum(shift, just), is_off


@cache
def _find_effect(level: float, freedom: float, power: float) -> float:
    """How many standard errors the two sides must be apart: the root of χ²'s noncentrality."""
    if freedom == 1:
        return float(normal_critical(level)) + normal_quantile(power)
    critical = _find_root(lambda x: level - float(chi_square_tail(x, freedom)), 1e5)
    # Noncentral χ² is χ² with twice a Poisson number of further degrees of freedom.
    more = np.arange(_TERMS + 10 * int(math.sqrt(freedom)))
    half, a = critical / 2, freedom / 2 + more
    logs = a * math.log(half) - half - np.array([math.lgamma(number + 1) for number in a])
    rejects = float(chi_square_tail(critical, freedom)) + np.cumsum([0.0, *np.exp(logs[:-1])])
    factorials = np.array([math.lgamma(number + 1) for number in more])

    def exceed(effect: float) -> float:
        mean = effect * effect / 2
        return float(np.exp(more * math.log(mean) - mean - factorials) @ rejects) - power

    return _find_root(exceed, math.sqrt(len(more)))


def _find_root(rising: Callable[[float], float], high: float) -> float:
    """Where a rising function is 0, by halving."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return high


_effects = np.frompyfunc(_find_effect, 3, 1)
