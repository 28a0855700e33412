"""Local selection rates along a numeric attribute, from its histogram by outcome."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairaudit.recode import Cubes
from fairaudit.result import LocalRate, LocalRates
from fairaudit.stats import smoothing

_PLACES = 41
_TAIL = 0.01
"""The curve leaves out this share of the people at either end, where few are near."""


def local_rates(cubes: Cubes, alpha: float) -> Iterator[LocalRates]:
    """A curve for each numeric attribute whose slope is asked, and each outcome."""
    for counted in cubes.attributes:
        at, hits, people = counted.at, counted.hits, counted.people
        width = smoothing.bandwidth(at, people)
        if not np.isfinite(width):
            continue
        reached = np.cumsum(people) / people.sum()
        first, last = at[np.searchsorted(reached, [_TAIL, 1 - _TAIL])].tolist()
        places = np.linspace(first, last, _PLACES)
        found = smoothing.smooth(places, at, hits, people, width, alpha)
        points = zip(places.tolist(), *(part.tolist() for part in found), strict=True)
        yield LocalRates(
            attribute=counted.attribute,
            of=counted.of,
            bandwidth=width,
            points=tuple(LocalRate(*point) for point in points if np.isfinite(point[1])),
        )
