"""Statistics on counts, with their papers: intervals (tests come with the inference)."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


def normal_quantile(probability: float) -> float:
    """The standard normal quantile of a probability in (0, 1)."""
    return NormalDist().inv_cdf(probability)


def wilson(share: Floats, size: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """The score interval of a binomial proportion: `share` seen in samples of `size`.

    Wilson (1927), Probable inference, the law of succession, and statistical inference, JASA
    22:209, doi:10.1080/01621459.1927.10502953; without continuity correction. An undefined share
    (NaN) has no interval (NaN). The bounds lie in [0, 1] and contain the share.

    >>> low, high = wilson(np.array([12 / 40]), np.array([40.0]))
    >>> round(float(low[0]), 6), round(float(high[0]), 6)
    (0.180748, 0.4543)
    """
    z = normal_quantile(1 - (1 - confidence) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = share + z**2 / (2 * size)
        reach = z * np.sqrt(share * (1 - share) / size + z**2 / (4 * size**2))
        shrink = 1 + z**2 / size
        low = np.minimum(np.maximum((middle - reach) / shrink, 0.0), share)
        high = np.maximum(np.minimum((middle + reach) / shrink, 1.0), share)
    return low, high
