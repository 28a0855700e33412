"""Kernel smoothing: local shares along a number: bandwidth, fewest people, pointwise bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairaudit.base.arrays import Alpha, Floats
from fairaudit.stats import proportions

_FEWEST = 10
"""Fewest effective people nearby for a local share."""


class LocalShares(NamedTuple):
    """Shares at some places, their bounds, and how many people each is worth; NaN with few."""

    share: Floats
    low: Floats
    high: Floats
    people: Floats


def bandwidth(at: Floats, people: Floats) -> float:
    """Silverman's rule for values `at` with numbers of `people`; NaN if all values are equal.

    Silverman (1986), Density Estimation for Statistics and Data Analysis, equation 3.31.

    >>> round(bandwidth(np.arange(1.0, 101), np.ones(100)), 4)
    10.3947
    """
    n = people.sum()
    order = np.argsort(at)
    values, reached = at[order], np.cumsum(people[order])
    if n < 2:
        return float("nan")
    mean = (at * people).sum() / n
    deviation = np.sqrt((people * (at - mean) ** 2).sum() / (n - 1))
    low, high = (values[np.searchsorted(reached, share * n)] for share in (0.25, 0.75))
    spread = min(deviation, (high - low) / 1.34) or deviation
    return float(0.9 * spread * n**-0.2) if spread > 0 else float("nan")


def smooth(
    places: Floats, at: Floats, hits: Floats, people: Floats, width: float, alpha: Alpha = 0.05
) -> LocalShares:
    """The share of hits near each place, by Gaussian weights of that width.

    Nadaraya (1964) and Watson (1964). Bounds are Wilson's for as many people as the weights are
    worth, (Σw)² / Σw²; they hold for the smoothed share at one place, not for the whole curve.
    """
    weights = np.exp(-0.5 * ((places[:, None] - at) / width) ** 2)
    total = (weights * people).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (weights * hits).sum(axis=1) / total
        worth = total**2 / (weights**2 * people).sum(axis=1)
    share, worth = (np.where(worth >= _FEWEST, array, np.nan) for array in (share, worth))
    low, high = proportions.share_interval(share, worth, alpha)
    return LocalShares(share, np.asarray(low), np.asarray(high), worth)
