"""Effective sample sizes; the smallest gap that a test detects with the probability `POWER`.

An undefined result is NaN.

If weights are unrelated to the estimate, the effective size is (Σw)² / Σw²: Kish (1965), Survey
Sampling. Otherwise, the size follows from the linearised variance of a weighted mean (Särndal,
Swensson & Wretman 1992, Model Assisted Survey Sampling, section 5.7). The degrees of freedom of
this variance follow Satterthwaite (1946, Biometrics Bulletin 2:110), with one component for each
distinct value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from statistics import NormalDist

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats, Ints
from fairaudit.stats import contingency
from fairaudit.stats.distributions import chi_square_tail, normal_critical, t_critical

POWER = 0.8
"""If a report calls a gap detectable, a test finds it with this probability: in four of five
samples.
"""

POWER_IN_WORDS = "four of five"
"""`POWER` in words, as a number of samples."""

_ROUNDS = 10
"""The number of rounds of a search; each round gains at least one digit."""

_TERMS = 400
"""The number of terms of the Poisson distribution for two groups. More groups need more terms."""


def smallest_detectable(
    share: Floats,
    n: Floats,
    m: Floats,
    level: Alpha = 0.05,
    freedom: float | Floats = 1,
    power: float = POWER,
) -> Ends:
    """The smallest gaps to a reference rate `share` that a test finds with probability `power`.

    The test is two-sided at the `level`, for sides of `n` and `m` people. The first gap is
    downwards (at most 0), the second upwards (at least 0). A gap is NaN if the test would not find
    even a share of 0 (or of 1), or if a side is empty. With more than one degree of `freedom`, the
    test is the χ² test of several groups, and the shares of all other groups are between the two
    shares of the gap. The gaps are differences of arcsines: Cohen (1988), Statistical Power
    Analysis for the Behavioral Sciences, 2nd ed., ch. 6 and 7. If Fisher's test replaces z, the gap
    is larger by half a person on each side, as in Yates' correction.

    >>> down, up = smallest_detectable(np.array(0.6), np.array(40.0), np.array(80.0))
    >>> round(float(down), 4), round(float(up), 4)
    (-0.2673, 0.2386)
    """
    share, n, m, level, freedom = np.broadcast_arrays(share, n, m, level, freedom)
    more = NormalDist().inv_cdf(power)
    just = np.asarray(_effects(level, freedom, power), dtype=np.float64) - more
    far, ends = just > contingency.FAR, []
    with np.errstate(all="ignore"):
        step = np.where((n > 0) & (m > 0), 1 / n + 1 / m, np.nan)
        angle, unit = np.arcsin(np.sqrt(share)), np.sqrt(step) / 2
        for way in (-1, 1):
            # A share is just significant at a distance of `just` standard errors. The distance is
            # larger if arcsines overstate a large difference, compared with the test that is used.
            shift, is_off = just, np.zeros(just.shape, dtype=np.bool_)
            for _ in range(_ROUNDS if far.any() else 0):
                other = np.square(np.sin(np.clip(angle + way * unit * shift, 0, np.pi / 2)))
                z = np.abs(contingency.find_z(other, n, share, m))
                roots = contingency.find_far_roots(other, n, share, m, z)
                is_off = far & ~np.isnan(roots)  # Fisher's test replaces z
                score = np.where(is_off, np.where(freedom == 1, roots, np.fmin(roots, z)), z)
                shift = np.where(far, shift * just / score, just)
            found = angle + way * unit * (np.maximum(shift, just) + more)
            # Outside this range, the sine would return shares for impossible gaps.
            found = np.where((found >= 0) & (found <= np.pi / 2), np.square(np.sin(found)), np.nan)
            few = contingency.smallest_expected(found, n, share, m) < contingency.LEAST_EXPECTED
            exact = (freedom == 1) & (few | is_off)
            found = found + np.where(exact, way * step / 2, 0.0)
            ends.append(np.where((found >= 0) & (found <= 1), found - share, np.nan))
    return ends[0], ends[1]


@cache
def _find_effect(level: float, freedom: float, power: float) -> float:
    """The distance between two sides, in standard errors, that a test finds with this power."""
    if freedom == 1:
        return float(normal_critical(level)) + NormalDist().inv_cdf(power)
    critical = _find_root(lambda x: level - float(chi_square_tail(x, freedom)), 1e5)
    # Noncentral χ² is χ² with additional degrees of freedom: twice a Poisson number.
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
    """The root of a rising function between 0 and `high`, by halving."""
    low = 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return high


_effects = np.frompyfunc(_find_effect, 3, 1)

_ALPHA = 0.05
_FEWEST = 5
"""With fewer degrees of freedom than this, the mean weight of the rarer rows counts as unknown."""
_MANY = 1e9
_UNEQUAL = 3.0
"""The weights of a value are unequal if its Kish size is at most two thirds of its people."""


def kish(mass: Floats, squares: Floats, n: Floats | Ints) -> Floats:
    """Kish's effective size (Σ w)² / Σ w²; at most `n` (Cauchy-Schwarz), even after rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.fmin(mass**2 / squares, n)


def linearised(
    mass: Floats, squares: Floats, values: Floats, n: Floats | Ints, heaviest: Floats | float = 0.0
) -> Floats:
    """The effective size of a weighted mean over people who have few different values.

    For each of the `values`, `mass` is Σ w, `squares` is Σ w², and `n` is the number of people, all
    [values, ...]. The size is below Kish's if people far from the mean have larger weights, and
    above Kish's if they have smaller weights. If all people have the same value, or only few people
    have another value, the weights of these few people are hardly known. Then the size is at most
    Kish's, and at most Σ w divided by `heaviest`, the mean weight of the outcome with the largest
    weights. The same limits apply if the weights of people with one value are very uneven.
    """
    total = mass.sum(axis=0)
    plain = kish(total, squares.sum(axis=0), n.sum(axis=0))
    with np.errstate(divide="ignore", invalid="ignore"):
        far = (values - (mass * values).sum(axis=0) / total) ** 2
        parts = squares * far
        variance = parts.sum(axis=0)
        size = (mass * far).sum(axis=0) * total / variance
        own_size = np.where(parts > 0, kish(mass, squares, n), np.inf)
        few = variance**2 / (parts**2 / own_size).sum(axis=0) < _FEWEST
        # If the weights of people with one value are very uneven, weights hardly depend on the
        # value: people with another value and large weights may be missing by chance.
        few |= (2 * own_size < n).any(axis=0)
        # If a value has no people, their weight is unknown.
        few |= np.equal(n, 0).any(axis=0)
        # The variance is at most the variance that results if all people have the largest weight.
        plain = np.fmin(plain, np.where(heaviest > 0, total / heaviest, np.inf))
        few &= plain < n.sum(axis=0)
        # If all rows with a value have the same weight, the degrees of freedom do not matter.
        unequal = np.minimum(1.0, _UNEQUAL * (1 - own_size / n))
        unequal = np.where(parts > 0, np.where(few, 1.0, unequal), 0.0)
        df = variance**2 / (parts**2 * unequal / own_size).sum(axis=0)
        size = size * small_sample_factor(df)
    return np.where(variance > 0, np.where(few, np.fmin(size, plain), size), plain)


def linearised_share(
    hits: tuple[Floats, Floats, Floats],
    people: tuple[Floats, Floats, Floats],
    heaviest: Floats | float = 0.0,
) -> Floats:
    """The effective size of a weighted share, from (Σ w, Σ w², number) of hits and of all people.

    The variance of the share is [(1 - p)² Σ₊ w² + p² Σ₋ w²] / (Σ w)², where Σ₊ is over the hits and
    Σ₋ over the misses.
    """
    mass, squares, n = (
        np.stack(np.broadcast_arrays(whole - part, part))
        for part, whole in zip(hits, people, strict=True)
    )
    values = np.arange(2.0).reshape(2, *[1] * (mass.ndim - 1))
    return linearised(mass, np.maximum(squares, 0.0), values, n, heaviest)


def linearised_classes(
    mass: Floats, squares: Floats, n: Floats, heaviest: Floats | float = 0.0
) -> Floats:
    """The smallest effective size of the weighted shares of all classes; inputs are [Z, K, G]."""
    people = mass.sum(axis=1), squares.sum(axis=1), n.sum(axis=1)
    sizes = [
        linearised_share((mass[:, k], squares[:, k], n[:, k]), people, heaviest)
        for k in range(mass.shape[1])
    ]
    return np.asarray(np.minimum.reduce(sizes))


def small_sample_factor(df: Floats) -> Floats:
    """The factor (z / t)² at 95 %, which reduces a size with `df` degrees of freedom."""
    t = t_critical(np.clip(df, 1.0, _MANY), _ALPHA)
    return np.asarray((normal_critical(_ALPHA) / t) ** 2)
