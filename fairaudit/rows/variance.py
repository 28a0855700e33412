"""Variance of every row metric, its fewest people (`LEAST`) and profiles; wider for few people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Floats, Ints
from fairaudit.stats.distributions import normal_critical, t_critical


class Mean(NamedTuple):
    """A mean over people: its value, its variance, and the number of people."""

    value: float
    variance: float
    n: int


NOTHING = Mean(np.nan, np.nan, 0)

LEAST = 8
"""Fewest people for a variance: with fewer, 95 % intervals of twins cover only 0.90-0.93."""

NO_VARIANCE = 1e-18
"""Largest variance that is only rounding; such a value has no interval."""


def estimate_variance(influence: Floats, people: int, n: Ints | None = None) -> float:
    """The variance of a mean by the influence of each person, with the small-sample factor."""
    squares = influence**2 if n is None else n * influence**2
    return float(squares.sum()) * people / (people - 1) if people >= LEAST else np.nan


def add_sampling(variance: float, profile: Ints, influence: Floats, share: float) -> float:
    """The variance of a number of all people if only a share of the profiles is known.

    The variance over people is reduced to all people; the choice of profiles adds the variance of a
    ratio under Poisson sampling (Särndal, Swensson & Wretman 1992, §5.6), by the influence of each.
    """
    if share >= 1:
        return variance
    return share * variance + (1 - share) * float((np.bincount(profile, influence) ** 2).sum())


LEAST_PROFILES = 30
"""Fewest profiles of a sample for a number that represents the others."""


def tells_too_little(profile: Ints, share: float) -> bool:
    """Whether only a share of the profiles is known, and too few to represent the others."""
    return share < 1 and len(np.unique(profile)) < LEAST_PROFILES


def widen(n: Floats | Ints, alpha: Alpha) -> Floats:
    """Student's quantile over the normal one: a variance of few people is itself uncertain."""
    freedom = np.maximum(np.asarray(n, dtype=np.float64) - 1, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = t_critical(freedom, alpha) / normal_critical(alpha)
    return np.where(np.isfinite(factor), factor, 1.0)
