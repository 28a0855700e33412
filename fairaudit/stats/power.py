"""Power: the smallest gap that a test with a number of people shows, with the chance `POWER`.

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
"""The chance that a test finds a gap that a report calls detectable: four samples of five."""

POWER_IN_WORDS = "four of five"
"""`POWER` in words, as a number of samples."""

_ROUNDS = 10
"""Rounds of a search; each gains at least one digit."""

_TERMS = 400
"""Terms of the Poisson distribution for two groups; more groups need more."""


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
    test at the level. With more than one degree of `freedom` it is the χ² test of more groups, all
    others of which are between the two. NaN if not even a share of 0 (or of 1) would be found, and
    if a side is empty. Cohen (1988), Statistical Power Analysis for the Behavioral Sciences, 2nd
    ed., ch. 6 and 7: differences of arcsines. If Fisher's test replaces z, the gap is larger by a
    person of each side, as in Yates' correction of z.

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
            # Beyond the ends the sine would turn back to an impossible gap.
            found = np.where((found >= 0) & (found <= np.pi / 2), np.square(np.sin(found)), np.nan)
            few = contingency.smallest_expected(found, n, share, m) < contingency.LEAST_EXPECTED
            exact = (freedom == 1) & (few | is_off)
            found = found + np.where(exact, way * step / 2, 0.0)
            ends.append(np.where((found >= 0) & (found <= 1), found - share, np.nan))
    return ends[0], ends[1]


def _shift_to_level(
    share: Floats, n: Floats, m: Floats, just: Floats, freedom: Floats, unit: Floats
) -> tuple[Floats, Marks]:
    """The distance in units of the angle at which a share is `just` significant.

    It is the number of standard errors, or more if arcsines overstate a difference far out, by the
    test in use there. The second array marks where Fisher's test replaces z.
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
    """The distance of the two sides in standard errors: the root of χ²'s noncentrality."""
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
    """The root of a rising function, by halving."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return high


_effects = np.frompyfunc(_find_effect, 3, 1)
