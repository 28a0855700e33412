"""Coverage under the design of the data: weights that go with the outcome, unequal clusters.

The repetitions are the strata of one table, as in samples.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.random import Generator
from samples import TO_FIRST, Floats, intervals, table_of
from singles import Point, Study, how, quantity

from fairaudit.base.frozen import replace
from fairaudit.cube import GroupTable
from fairaudit.cube.amounts import Clusters
from fairaudit.cube.group_table import ClusteredTable

_SCALE = 1000
"""Weights are kept to so many parts of one."""
_SIZES = (100, 300, 1000)
_RATES = (0.05, 0.1, 0.3, 0.5)
_SAMPLING = {
    "approvals over-sampled 5 times": (1.0, 0.2),
    "approvals under-sampled 5 times": (0.2, 1.0),
    "approvals over-sampled 20 times": (1.0, 0.05),
    "weights by chance": (1.0, 1.0),
}
"""The chance that a person who is selected, or is not, comes into the sample."""
_SPREADS = (0.0, 0.7)
"""Coefficients of variation of the weights beside that."""
_CLUSTERS: dict[str, Sequence[int]] = {
    "12 of 20": [20] * 12,
    "one of 60, 35 of 5": [60, *[5] * 35],
    "two of 80, 60 of 5": [80, 80, *[5] * 60],
    "30 from 3 to 79": [int(3 * 1.12**at) for at in range(30)],
    "one of 200, 11 of 10": [200, *[10] * 11],
}
_ALIKE = (0.0, 0.05, 0.3, 0.8)
"""Correlations within clusters."""


def weights(random: Generator, runs: int) -> Iterator[Study]:
    """A rate, and the difference and ratio of two equal rates, where weights go with outcomes."""
    points: dict[str, list[Point]] = {}
    for n, rate, (name, sampled), spread in product(_SIZES, _RATES, _SAMPLING.items(), _SPREADS):
        table = _weighted(random, rate, (n, 3 * n), sampled, spread, runs)
        chance = rate * sampled[0] / (rate * sampled[0] + (1 - rate) * sampled[1])
        few = n * min(chance, 1 - chance)
        setting = f"{n:,} at {rate}, {name}, weights vary by {spread}"
        _add(points, table, setting, rate, few)
    yield from _studies(points, "outcome-dependent weights")


def clusters(random: Generator, runs: int) -> Iterator[Study]:
    """A rate, and the difference and ratio of two equal rates, in clusters of unequal size."""
    points: dict[str, list[Point]] = {}
    for (name, sizes), rate, alike in product(_CLUSTERS.items(), _RATES, _ALIKE):
        table = _clustered(random, rate, sizes, alike, runs)
        few = sum(sizes) * min(rate, 1 - rate)
        _add(points, table, f"{name} at {rate}, correlation {alike}", rate, few)
    yield from _studies(points, "clusters")


def _add(
    points: dict[str, list[Point]], table: GroupTable, setting: str, rate: float, few: float
) -> None:
    asked = {
        "one rate": (quantity("selection_rate"), rate, None),
        "difference": (how("selection_rate", "difference"), 0.0, TO_FIRST),
        "ratio": (how("selection_rate", "ratio"), 1.0, TO_FIRST),
    }
    for title, (metric, truth, reference) in asked.items():
        found = intervals(metric, table, reference)
        # The rates of several groups are a case each.
        for at in range(found.low.shape[1]):
            low, high = found.low[:, at], found.high[:, at]
            there = ~np.isnan(low)
            hits = (low[there] <= truth + 1e-9) & (high[there] >= truth - 1e-9)
            if there.any():
                without = float(1 - there.mean())
                points.setdefault(title, []).append(Point(setting, hits.mean(), without, few))


def _studies(points: dict[str, list[Point]], design: str) -> Iterator[Study]:
    for title, found in points.items():
        yield Study(f"{title}, {design}", "effective sizes", tuple(found))


def _weighted(
    random: Generator,
    rate: float,
    sizes: Sequence[int],
    sampled: tuple[float, float],
    spread: float,
    runs: int,
) -> GroupTable:
    """Samples of people who come in with the chance of their outcome, and weigh its inverse."""
    chance = rate * sampled[0] / (rate * sampled[0] + (1 - rate) * sampled[1])
    shape = (runs, 1, 2, len(sizes))
    people = np.zeros(shape, dtype=np.int64)
    mass, squares = np.zeros(shape), np.zeros(shape)
    sigma = np.sqrt(np.log1p(spread**2))
    for g, n in enumerate(sizes):
        hits = random.random((runs, n)) < chance
        drawn = np.where(hits, 1 / sampled[0], 1 / sampled[1])
        drawn = drawn * random.lognormal(-(sigma**2) / 2, sigma, drawn.shape)
        drawn = np.rint(drawn * _SCALE) / _SCALE
        for at, chosen in enumerate((~hits, hits)):
            people[:, 0, at, g] = chosen.sum(axis=1)
            mass[:, 0, at, g] = (drawn * chosen).sum(axis=1)
            squares[:, 0, at, g] = (drawn**2 * chosen).sum(axis=1)
    table = table_of(people)
    around = ((0, 0), (0, 0), (0, 1), (0, 0))
    whole = np.rint(np.pad(mass, around) * _SCALE).astype(np.int64)
    return replace(table, mass=whole, scale=_SCALE, squares=np.pad(squares, around))


def _clustered(
    random: Generator, rate: float, sizes: Sequence[int], alike: float, runs: int
) -> GroupTable:
    """Two groups, each with clusters of its own of these sizes; members are so much alike."""
    of_sizes, groups = np.asarray(sizes), 2
    shape = (runs, len(sizes), groups)
    chances: Floats = np.full(shape, rate)
    if alike:
        chances = random.beta(rate * (1 - alike) / alike, (1 - rate) * (1 - alike) / alike, shape)
    hits = random.binomial(of_sizes[None, :, None], chances)
    both = np.stack([of_sizes[None, :, None] - hits, hits], axis=1)
    table = table_of(both.sum(axis=2)[:, None])
    run, outcome, cluster, group = np.nonzero(both)
    cell = np.ravel_multi_index((run, np.zeros_like(run), outcome, group), table.people.shape)
    code = (run * len(sizes) + cluster) * groups + group
    found = Clusters.gather(cell, code, both[run, outcome, cluster, group].astype(np.float64))
    place = np.arange(table.people.size)
    return replace(table, clusters=ClusteredTable(found, place, table.people.shape))
