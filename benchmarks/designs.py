"""Coverage under the design of the data: outcome-dependent weights, unequal clusters, two models.

The repetitions are the strata of one table, as in samples.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product

import numpy as np
from maxima import BAR
from numpy.random import Generator
from samples import TO_FIRST, Floats, Ints, intervals, table_of
from singles import Point, Study, how, quantity

from fairaudit.base.frozen import replace
from fairaudit.cube import GroupTable
from fairaudit.cube.group_table import ClusteredTable, Clusters, Pairs, SampleStrata
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.evidence.value_tests import run_tests
from fairaudit.metrics import Metric, find_metric
from fairaudit.metrics.evaluate import evaluate_against
from fairaudit.metrics.terms import MetricOptions, Reference

_SCALE = 1000
"""Weights are rounded to this many parts of one."""
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
"""Coefficients of variation of the other weights."""
_CLUSTERS: dict[str, Sequence[int]] = {
    "12 of 20": [20] * 12,
    "one of 60, 35 of 5": [60, *[5] * 35],
    "two of 80, 60 of 5": [80, 80, *[5] * 60],
    "30 from 3 to 79": [int(3 * 1.12**at) for at in range(30)],
    "one of 200, 11 of 10": [200, *[10] * 11],
}
_STRATA: dict[str, tuple[int, int, tuple[int, int]]] = {
    "20 strata of 2, 10 to 14 people": (20, 2, (10, 14)),
    "12 strata of 4, 2 to 30 people": (12, 4, (2, 30)),
    "40 strata of 2, 2 to 30 people": (40, 2, (2, 30)),
    "5 strata of 20, 1 person": (5, 20, (1, 1)),
    "3 strata of 100, 1 person": (3, 100, (1, 1)),
}
"""How many strata with how many clusters, and from how many to how many people of a group each."""
_ALIKE = (0.0, 0.05, 0.3, 0.8)
"""Correlations within clusters."""
_MODELS: dict[str, tuple[Sequence[int], Sequence[float], Sequence[float]]] = {
    "equal": ((300, 300), (0.4, 0.4), (0.4, 0.4)),
    "unequal sizes": ((1000, 60), (0.3, 0.3), (0.3, 0.3)),
    "both fall equally": ((500, 200), (0.5, 0.5), (0.4, 0.4)),
    "one falls": ((500, 500), (0.5, 0.4), (0.5, 0.5)),
    "one falls, unequal sizes": ((1000, 100), (0.5, 0.4), (0.5, 0.5)),
    "same gap": ((400, 200), (0.5, 0.3), (0.5, 0.3)),
    "turned round": ((1000, 1000), (0.53, 0.5), (0.5, 0.53)),
    "rare": ((1000, 300), (0.02, 0.02), (0.02, 0.02)),
    "rare, one rises": ((2000, 500), (0.02, 0.04), (0.02, 0.02)),
    "five groups": ((300, 200, 200, 100, 60), (0.4,) * 5, (0.4,) * 5),
    "five groups, one falls": ((300, 300, 300, 300, 300), (0.4, 0.4, 0.4, 0.4, 0.2), (0.4,) * 5),
}
"""Sizes of groups, and their rates by either model; each label has the same sizes."""
_CORRELATIONS = (0.0, 0.5, 0.9)
_AGAIN = 10
"""New tables that are drawn for a setting under the bar; only these count."""
_CLOSE = 1e-9
_ALPHA = 0.05
_BASE = 0.5
"""The share of each group whose label is positive; half as many of the others are selected."""


def weights(random: Generator, runs: int) -> Iterator[Study]:
    """A rate, and the difference and ratio of two equal rates, where weights go with outcomes."""
    points: dict[str, list[Point]] = {}
    for n, rate, (name, sampled), spread in product(_SIZES, _RATES, _SAMPLING.items(), _SPREADS):
        draw = partial(_weighted, random, rate, (n, 3 * n), sampled, spread, runs)
        chance = rate * sampled[0] / (rate * sampled[0] + (1 - rate) * sampled[1])
        few = n * min(chance, 1 - chance)
        setting = f"{n:,} at {rate}, {name}, weights vary by {spread}"
        _add(points, draw, setting, rate, few)
    yield from _studies(points, "outcome-dependent weights")


def clusters(random: Generator, runs: int) -> Iterator[Study]:
    """A rate, and the difference and ratio of two equal rates, in clusters of unequal size."""
    points: dict[str, list[Point]] = {}
    for (name, sizes), rate, alike in product(_CLUSTERS.items(), _RATES, _ALIKE):
        draw = partial(clustered, random, rate, sizes, alike, runs)
        few = sum(sizes) * min(rate, 1 - rate)
        _add(points, draw, f"{name} at {rate}, correlation {alike}", rate, few)
    yield from _studies(points, "clusters")


def strata(random: Generator, runs: int) -> Iterator[Study]:
    """The same in clusters that are drawn in strata, whose rates differ, as the sample declares."""
    points: dict[str, list[Point]] = {}
    for (name, (count, units, sizes)), rate, alike in product(_STRATA.items(), _RATES, _ALIKE):
        draw = partial(_stratified, random, rate, (count, units, sizes), alike, runs)
        few = count * units * sum(sizes) / 2 * min(rate, 1 - rate)
        _add(points, draw, f"{name} at {rate}, correlation {alike}", rate, few)
    yield from _studies(points, "clusters in declared strata")


def models(random: Generator, runs: int) -> Iterator[Study]:
    """Differences between two models that judge the same people: intervals and tests."""
    asked: dict[str, tuple[Metric, Reference | None]] = {
        "selection rate": (quantity("selection_rate"), None),
        "true positive rate": (quantity("true_positive_rate"), None),
        "PPV": (quantity("positive_predictive_value"), None),
        "difference": (how("selection_rate", "difference"), TO_FIRST),
        "ratio": (how("selection_rate", "ratio"), TO_FIRST),
        "odds ratio": (how("selection_rate", "odds_ratio"), TO_FIRST),
        "average odds difference": (_metric("average_odds_difference"), TO_FIRST),
        "gap": (_metric("demographic_parity_difference"), None),
        "ratio of lowest and highest": (_metric("demographic_parity_ratio"), None),
        "equalized odds difference": (_metric("equalized_odds_difference"), None),
        "ε": (_metric("differential_fairness"), None),
        "ε given label": (_metric("differential_equalized_odds"), None),
    }
    points: dict[str, list[Point]] = {}
    alarms: dict[str, list[Point]] = {}
    for (name, (sizes, first, second)), alike in product(_MODELS.items(), _CORRELATIONS):
        joint = judged_twice(random, sizes, first, second, alike, runs)
        sides = two_tables(joint)
        truth = two_tables(_expected(sizes, first, second, alike))
        setting = f"{name}, correlation {alike}"
        of_groups = zip(sizes, first, second, strict=True)
        few = min(n * min(*pair, 0.5) / 2 for n, *pair in of_groups)
        for title, (metric, reference) in asked.items():
            terms = MetricOptions(reference)
            evaluation = evaluate_against(metric, sides[0], terms, sides[1])
            true = evaluate_against(metric, truth[0], terms, truth[1]).value
            found, p = find_intervals(evaluation), run_tests(evaluation).p
            p = np.broadcast_to(p, evaluation.value.shape)
            for at in np.flatnonzero(evaluation.judged.any(axis=0)):
                low, high = found.low[:, at], found.high[:, at]
                there = ~np.isnan(low)
                if there.any():
                    value = true[0, at]
                    hits = (low <= value + _CLOSE) & (high >= value - _CLOSE)
                    width = float(np.mean((high - low)[there & np.isfinite(high - low)]))
                    without = float(1 - there.mean())
                    points.setdefault(title, []).append(
                        Point(setting, float(hits[there].mean()), without, few, width)
                    )
                    if abs(value) < _CLOSE and name != "turned round":
                        calm = float(1 - (p[there, at] < _ALPHA).mean())
                        alarms.setdefault(title, []).append(Point(setting, calm, without, few))
    yield from _studies(points, "two models", "pairs")
    yield from _studies(alarms, "two models: no alarm where nothing changes", "test at .05")


def _metric(name: str) -> Metric:
    found = find_metric(name)
    assert found is not None
    return found


def joint_chances(first: float, second: float, alike: float) -> Floats:
    """The chances of neither, the second alone, the first alone, both: as correlated as may be."""
    both = first * second + alike * np.sqrt(first * (1 - first) * second * (1 - second))
    both = min(both, first, second)
    return np.array([1 - first - second + both, second - both, first - both, both])


def judged_twice(random: Generator, sizes: Sequence[int], first: Sequence[float],
                  second: Sequence[float], alike: float, runs: int) -> Ints:  # fmt: skip
    """People by label and the decisions of both models, [runs, labels, first, second, groups]."""
    drawn = np.zeros((runs, 2, 4, len(sizes)), dtype=np.int64)
    for g, n in enumerate(sizes):
        positives = random.binomial(n, _BASE, runs)
        for label, people in enumerate((n - positives, positives)):
            rates = (one[g] * (1 if label else 0.5) for one in (first, second))
            drawn[:, label, :, g] = random.multinomial(people, joint_chances(*rates, alike))
    return drawn.reshape(runs, 2, 2, 2, len(sizes))


def _expected(sizes: Sequence[int], first: Sequence[float], second: Sequence[float],
              alike: float) -> Ints:  # fmt: skip
    """The same of a million people in each group, without chance."""
    whole = np.zeros((1, 2, 4, len(sizes)))
    for g, label in product(range(len(sizes)), (0, 1)):
        rates = (one[g] * (1 if label else 0.5) for one in (first, second))
        whole[0, label, :, g] = joint_chances(*rates, alike) * 1e12
    return np.rint(whole).astype(np.int64).reshape(1, 2, 2, 2, len(sizes))


def two_tables(joint: Ints) -> tuple[GroupTable, GroupTable]:
    """The table of each model, with the other's decisions of the same people."""
    tables = []
    for people in (joint, joint.swapaxes(2, 3)):
        padded = np.pad(people, ((0, 0), (0, 1), (0, 1), (0, 0), (0, 0)))
        pairs = Pairs(padded, np.array([False, True]))
        tables.append(replace(table_of(people.sum(axis=3)), pairs=pairs))
    return tables[0], tables[1]


def _add(
    points: dict[str, list[Point]],
    draw: Callable[[], GroupTable],
    setting: str,
    rate: float,
    few: float,
) -> None:
    """One table of a setting; where it is under the bar, only the next ones count."""
    found = _cover([draw()], setting, rate, few)
    if any(point.covered < BAR for some in found.values() for point in some):
        found = _cover([draw() for _ in range(_AGAIN)], setting, rate, few)
    for title, some in found.items():
        points.setdefault(title, []).extend(some)


def _cover(
    tables: Sequence[GroupTable], setting: str, rate: float, few: float
) -> dict[str, list[Point]]:
    asked = {
        "one rate": (quantity("selection_rate"), rate, None),
        "difference": (how("selection_rate", "difference"), 0.0, TO_FIRST),
        "ratio": (how("selection_rate", "ratio"), 1.0, TO_FIRST),
    }
    points: dict[str, list[Point]] = {}
    for title, (metric, truth, reference) in asked.items():
        found = [intervals(metric, table, reference) for table in tables]
        lows, highs = (
            np.concatenate(ends)
            for ends in zip(*((one.low, one.high) for one in found), strict=True)
        )
        # The rates of several groups are a case each.
        for low, high in zip(lows.T, highs.T, strict=True):
            there = ~np.isnan(low)
            hits = (low[there] <= truth + 1e-9) & (high[there] >= truth - 1e-9)
            if there.any():
                without = float(1 - there.mean())
                points.setdefault(title, []).append(Point(setting, hits.mean(), without, few))
    return points


def _studies(
    points: dict[str, list[Point]], design: str, method: str = "effective sizes"
) -> Iterator[Study]:
    for title, found in points.items():
        yield Study(f"{title}, {design}", method, tuple(found))


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


def clustered(
    random: Generator, rate: float, sizes: Sequence[int], alike: float, runs: int
) -> GroupTable:
    """Two groups with separate clusters of these sizes; `alike` is the correlation of members."""
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


def _stratified(
    random: Generator,
    rate: float,
    design: tuple[int, int, tuple[int, int]],
    alike: float,
    runs: int,
) -> GroupTable:
    """Two groups with people in every cluster; rates of strata go from half the rate upwards."""
    (count, units, (least, most)), groups = design, 2
    # The same clusters in every run: the rate of the strata, by their people, is known.
    of_sizes = np.tile(np.linspace(least, most, units).round().astype(np.int64), (count, 1))
    of_strata = rate * np.linspace(0.5, 1.5, count)
    shape = (runs, count, units)
    means = np.broadcast_to(of_strata[None, :, None], shape)
    chances = means
    if alike:
        ratio = (1 - alike) / alike
        chances = random.beta(means * ratio, (1 - means) * ratio)
    hits = random.binomial(of_sizes[None, :, :, None], np.repeat(chances[..., None], groups, 3))
    hits = hits.reshape(runs, count * units, groups)
    both = np.stack([of_sizes.reshape(1, -1, 1) - hits, hits], axis=1)
    table = table_of(both.sum(axis=2)[:, None])
    run, outcome, cluster, group = np.nonzero(both)
    cell = np.ravel_multi_index((run, np.zeros_like(run), outcome, group), table.people.shape)
    drawn = SampleStrata(np.repeat(np.arange(count), units), np.full(count, units))
    mass = both[run, outcome, cluster, group].astype(np.float64)
    found = Clusters.gather(cell, cluster, mass, drawn)
    place = np.arange(table.people.size)
    return replace(table, clusters=ClusteredTable(found, place, table.people.shape))
