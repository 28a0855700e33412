"""Power: the smallest gap that so many people show; `POWER`, the chance that it is found.

Undefined is NaN.
"""

from __future__ import annotations

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, Floats
from fairaudit.stats.distributions import normal_critical, normal_quantile

POWER = 0.8
"""The chance with which a gap is found that a report calls detectable: four samples of five."""

POWER_IN_WORDS = "four of five"
"""`POWER`, as a report says it of samples."""


def smallest_detectable(
    share: Floats,
    n: Floats,
    m: Floats,
    alpha: Alpha = 0.05,
    comparisons: float | Floats = 1,
    power: float = POWER,
) -> Ends:
    """The smallest gaps to a reference of this `share` that are found with the given power.

    Down (not positive) and up (not negative), between sides of `n` and `m` people of whom so many
    `comparisons` are made at alpha together (Bonferroni). NaN where not even a share of 0 (or of 1)
    would be found, and where a side is empty. Cohen (1988), Statistical Power Analysis for the
    Behavioral Sciences, 2nd ed., ch. 6: differences of arcsines.

    >>> down, up = smallest_detectable(np.array(0.6), np.array(40.0), np.array(80.0))
    >>> round(float(down), 4), round(float(up), 4)
    (-0.2673, 0.2386)
    """
    with np.errstate(all="ignore"):
        z = normal_critical(np.divide(alpha, comparisons)) + normal_quantile(power)
        sizes = np.where(
            np.greater(n, 0) & np.greater(m, 0), np.divide(1, n) + np.divide(1, m), np.nan
        )
        reach = z * np.sqrt(sizes) / 2
        angle = np.arcsin(np.sqrt(share))
        # Beyond the ends the sine would turn back and name a gap that nobody can have.
        down = np.where(angle >= reach, angle - reach, np.nan)
        up = np.where(angle + reach <= np.pi / 2, angle + reach, np.nan)
        return np.square(np.sin(down)) - share, np.square(np.sin(up)) - share
