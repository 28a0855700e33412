"""How often the interval of one rate, one pair of groups or one formula contains the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from samples import TO_FIRST, Intervals, cells, from_rates, intervals, shares, table_of

from fairaudit.cube import GroupTable
from fairaudit.metrics import GroupMetric, Metric, build_disparity, find_comparison, find_metric
from fairaudit.metrics.terms import Reference
from fairaudit.stats.distributions import normal_critical
from fairaudit.stats.proportions import (
    GAP_INTERVAL,
    ODDS_RATIO_INTERVAL,
    RATIO_INTERVAL,
    SHARE_INTERVAL,
    share_interval,
)

Floats = NDArray[np.float64]

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
SIZES = (20, 50, 100, 300, 1000, 10_000)
"""People in a sample."""
PAIRS = ((0.01, 0.01), (0.01, 0.02), (0.05, 0.05), (0.05, 0.1), (0.1, 0.1), (0.1, 0.3),
         (0.3, 0.3), (0.3, 0.4), (0.5, 0.5), (0.5, 0.25), (0.02, 0.4), (0.1, 0.6), (0.5, 0.9),
         (0.9, 0.1))  # fmt: skip
PAIR_SIZES = ((20, 20), (20, 200), (50, 50), (100, 100), (100, 1000), (1000, 1000), (20, 10_000),
              (10_000, 10_000))  # fmt: skip
FEW_SIZES = (1, 2, 3, 5, 8, 12, 20, 50, 120)
FEW_RATES = (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.9, 0.98, 0.995)
"""People and rates of pairs with few hits or misses, each with each."""
CELLS = {
    "base .5, TPR .8, FPR .2": (0.5, 0.8, 0.2),
    "base .2, TPR .6, FPR .1": (0.2, 0.6, 0.1),
    "base .1, TPR .5, FPR .05": (0.1, 0.5, 0.05),
    "base .7, TPR .95, FPR .4": (0.7, 0.95, 0.4),
    "base .3, TPR .3, FPR .02": (0.3, 0.3, 0.02),
}
"""Groups by base rate and both error rates."""


@dataclass(frozen=True, slots=True)
class Point:
    """How often an interval covers the truth in one setting; `few` is its smallest expected count.

    `without` is the share of repetitions that have no interval.
    """

    setting: str
    covered: float
    without: float = 0.0
    few: float = np.inf
    width: float = np.nan


@dataclass(frozen=True, slots=True)
class Study:
    """One interval over its settings."""

    title: str
    method: str
    points: tuple[Point, ...]


def quantity(name: str) -> GroupMetric:
    """The number of one group by that name."""
    found = find_metric(name)
    assert isinstance(found, GroupMetric)
    return found


def how(name: str, by: str) -> Metric:
    """One quantity, compared."""
    chosen = find_comparison(by)
    assert chosen is not None
    return build_disparity(quantity(name), chosen)


def measure(name: str) -> Metric:
    """The measure of that name."""
    found = find_metric(name)
    assert found is not None
    return found


def wilson() -> Study:
    """Of one rate: exactly, by every number of hits there may be and its chance."""
    points = []
    for n, rate in product(SIZES, RATES):
        hits = np.arange(n + 1)
        found = intervals(
            quantity("selection_rate"),
            table_of(np.stack([n - hits, hits], axis=1)[:, None, :, None]),
        )
        chance = _binomial(n, rate)
        covered = float(chance[found.hits(rate)].sum())
        points.append(Point(f"{n:,} people at {rate}", covered, few=n * rate))
    return Study("one rate", SHARE_INTERVAL, tuple(points))


def one_rate_at_worst() -> Study:
    """Of one rate, exactly, just beyond each end of an interval, where coverage is lowest."""
    points = []
    for n in (*range(5, 100), 120, 150, 200, 300, 500):
        hits = np.arange(n + 1)
        low, high = share_interval(hits / n, np.full(n + 1, float(n)))
        rates = np.concatenate([end + step for end in (low, high) for step in (-1e-9, 1e-9)])
        for rate in rates[(rates > 0) & (rates < 1)].tolist():
            covered = float(_binomial(n, rate)[(low <= rate) & (rate <= high)].sum())
            points.append(Point(f"{n} people at {rate:.4f}", covered, few=n * rate))
    return Study("one rate, at its worst", SHARE_INTERVAL, tuple(points))


def enumerated() -> Iterator[Study]:
    """Of two rates of a few people: exactly, by every table that has a value and its chance."""
    asked = {
        "difference": (GAP_INTERVAL, lambda p, q: q - p),
        "ratio": (RATIO_INTERVAL, lambda p, q: q / p),
        "odds_ratio": (ODDS_RATIO_INTERVAL, lambda p, q: q * (1 - p) / (p * (1 - q))),
    }
    points: dict[str, list[Point]] = {by: [] for by in asked}
    for n, m in product(FEW_SIZES, repeat=2):
        hits = np.stack(np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij"), axis=-1)
        hits = hits.reshape(-1, 2)
        table = table_of(np.stack([np.array([n, m]) - hits, hits], axis=1)[:, None])
        found = {by: intervals(how("selection_rate", by), table, TO_FIRST) for by in asked}
        for p, q in product(FEW_RATES, repeat=2):
            chance = np.outer(_binomial(n, p), _binomial(m, q)).ravel()
            for by, (_, truth_of) in asked.items():
                there = ~np.isnan(found[by].low).all(axis=1)
                if not there.any():
                    continue
                known = chance[there].sum()
                covered = chance[there][found[by].hits(truth_of(p, q))].sum() / known
                few = min(n * p, m * q, n * (1 - p), m * (1 - q))
                where = f"{n} at {p}, {m} at {q}"
                points[by].append(Point(where, float(covered), float(1 - known), few))
    for by, (method, _) in asked.items():
        yield Study(f"{by.replace('_', ' ')}, every table", method, tuple(points[by]))


def _binomial(n: int, rate: float) -> Floats:
    """The chance of every number of hits."""
    steps = np.log(np.arange(n, 0, -1) / np.arange(1, n + 1)) + np.log(rate / (1 - rate))
    return np.exp(n * np.log1p(-rate) + np.concatenate([[0.0], np.cumsum(steps)]))


def pairs(random: Generator, runs: int) -> Iterator[Study]:
    """Of two rates: difference, ratio, odds ratio, normalized difference, correlation, h, d."""
    asked: dict[str, tuple[str, Metric, Reference | None]] = {
        "difference of two rates": (GAP_INTERVAL, how("selection_rate", "difference"), TO_FIRST),
        "ratio of two rates": (RATIO_INTERVAL, how("selection_rate", "ratio"), TO_FIRST),
        "odds ratio": (ODDS_RATIO_INTERVAL, how("selection_rate", "odds_ratio"), TO_FIRST),
        "normalized difference": (
            f"{RATIO_INTERVAL}, mapped", measure("normalized_difference"), TO_FIRST),
        "correlation of an outcome with membership": (
            "MOVER by each share", measure("correlation"), TO_FIRST),
        "Cohen's h": ("MOVER", how("selection_rate", "cohens_h"), TO_FIRST),
        "Cohen's d of two rates": (
            "MOVER by each share", how("selection_rate", "standardized_difference"), TO_FIRST),
        "ratio to everybody (elift)": (
            f"{RATIO_INTERVAL}, mapped", measure("elift"), None),
    }  # fmt: skip
    points: dict[str, list[Point]] = {title: [] for title in asked}
    for (n, m), (p, q) in product(PAIR_SIZES, PAIRS):
        table = shares(random, (p, q), (n, m), runs)
        truths = _of_pair(p, q, n, m)
        for title, (_, one, reference) in asked.items():
            found = intervals(one, table, reference)
            truth = np.broadcast_to(truths[title], found.low.shape)
            points[title].append(
                Point(
                    f"{n:,} at {p}, {m:,} at {q}",
                    found.covered(truth),
                    found.without,
                    min(n * p, m * q, n * (1 - p), m * (1 - q)),
                )
            )
    for title, (method, _, _) in asked.items():
        yield Study(title, method, tuple(points[title]))


def _of_pair(p: float, q: float, n: int, m: int) -> dict[str, float | Floats]:
    """The truth about the second group, q of m, against the first, p of n (or both in a row)."""
    plus, share = (n * p + m * q) / (n + m), n / (n + m)
    up = min(plus / share, (1 - plus) / (1 - share))
    down = min(plus / (1 - share), (1 - plus) / share)
    phi = (q - p) * np.sqrt(share * (1 - share)) / np.sqrt(plus * (1 - plus))
    return {
        "difference of two rates": q - p,
        "ratio of two rates": q / p,
        "odds ratio": q * (1 - p) / (p * (1 - q)),
        "normalized difference": (p - q) / (up if p > q else down),
        "correlation of an outcome with membership": np.array([-phi, phi]),
        "Cohen's h": 2 * np.arcsin(np.sqrt(q)) - 2 * np.arcsin(np.sqrt(p)),
        "Cohen's d of two rates": (q - p)
        / np.sqrt((n * p * (1 - p) + m * q * (1 - q)) / (n + m - 2)),
        "ratio to everybody (elift)": np.array([p / plus, q / plus]),
    }


def formulas(random: Generator, runs: int) -> Iterator[Study]:
    """Of one group's F1 and error-type ratio, by the share of hits and by the delta method."""
    names = {"F1": "f1", "ratio of error types": "error_type_ratio"}
    points: dict[tuple[str, str], list[Point]] = {
        (title, way): [] for title in names for way in ("share of hits, mapped", "delta")
    }
    for (label, rates), n in product(CELLS.items(), SIZES):
        chances = from_rates(*([rate] for rate in rates))
        table = cells(random, chances, (n,), runs)
        tp, fp, fn, _ = chances[:, 0]
        truths = {"F1": 2 * tp / (2 * tp + fp + fn), "ratio of error types": fn / fp}
        for title, name in names.items():
            few = n * min(tp, fp + fn) if title == "F1" else n * min(fn, fp)
            for way, found in (
                ("share of hits, mapped", intervals(quantity(name), table)),
                ("delta", _by_delta(title, table)),
            ):
                points[title, way].append(
                    Point(
                        f"{n:,} people, {label}",
                        found.covered(truths[title]),
                        found.without,
                        few,
                    )
                )
    for (title, way), some in points.items():
        yield Study(title, way, tuple(some))


def _by_delta(title: str, table: GroupTable) -> Intervals:
    """The interval by the delta method, from the counts."""
    people = table.people.astype(np.float64)
    tp, fp, fn = people[:, 1, 1], people[:, 0, 1], people[:, 1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        if title == "F1":
            share, size = tp / (tp + fp + fn), tp + fp + fn
            value = 2 * share / (1 + share)
            reach = (
                normal_critical(0.05) * 2 / (1 + share) ** 2 * np.sqrt(share * (1 - share) / size)
            )
        else:
            value = fn / fp
            reach = normal_critical(0.05) * value * np.sqrt(1 / fn + 1 / fp)
            reach = np.where(fn == 0, 0.0, reach)
        return Intervals(value, value - reach, value + reach)


def composites(random: Generator, runs: int) -> Iterator[Study]:
    """Of sums of rates and of inequality by MOVER."""
    odds = ("average odds difference", "MOVER", measure("average_odds_difference"), TO_FIRST)
    balanced = ("balanced accuracy", "MOVER", quantity("balanced_accuracy"), None)
    apart = ("difference of balanced accuracies", "MOVER",
             how("balanced_accuracy", "difference"), TO_FIRST)  # fmt: skip
    of_f1 = ("difference of F1", "MOVER", how("f1", "difference"), TO_FIRST)
    quotient = ("ratio of error-type ratios", "MOVER", measure("treatment_equality"), TO_FIRST)
    unequal = [
        (name, "MOVER by each share", quantity(name), None)
        for name in ("generalized_entropy", "theil", "coefficient_of_variation")
    ]
    points: dict[tuple[str, str], list[Point]] = {}
    for (label, rates), n in product(CELLS.items(), SIZES):
        # The other group has the same base rate, a tenth more hits missed, and half the size.
        base, tpr, fpr = rates
        chances = from_rates((base, base), (tpr, tpr * 0.9), (fpr, fpr))
        table = cells(random, chances, (n, n // 2), runs)
        few = n / 2 * min(base * tpr, base * (1 - tpr), (1 - base) * fpr)
        truths = _of_cells(chances)
        for title, method, asked, reference in (odds, balanced, apart, of_f1, quotient, *unequal):
            found = intervals(asked, table, reference)
            single = reference is None
            low, high = (found.low[:, :1], found.high[:, :1]) if single else (found.low, found.high)
            one = Intervals(found.value, low, high)
            points.setdefault((title, method), []).append(
                Point(f"{n:,} people, {label}", one.covered(truths[title]), one.without, few)
            )
    for (title, method), some in points.items():
        yield Study(title, method, tuple(some))
    yield _atkinson(random, runs)


def _of_cells(chances: Floats) -> dict[str, float]:
    """The truth about the second group against the first, or about the first alone."""
    tp, fp, fn, tn = chances
    tpr, fpr = tp / (tp + fn), fp / (fp + tn)
    f1 = 2 * tp / (2 * tp + fp + fn)
    balanced = (tpr + 1 - fpr) / 2
    benefit = np.array([0.0, 1.0, 2.0])
    shares_of = np.array([fn[0], tp[0] + tn[0], fp[0]])
    relative = benefit / (shares_of @ benefit)
    squares = float(shares_of @ (relative**2 - 1)) / 2
    theil = float(shares_of[1:] @ (relative[1:] * np.log(relative[1:])))
    return {
        "average odds difference": float((tpr[1] - tpr[0] + fpr[1] - fpr[0]) / 2),
        "balanced accuracy": float(balanced[0]),
        "difference of balanced accuracies": float(balanced[1] - balanced[0]),
        "difference of F1": float(f1[1] - f1[0]),
        "ratio of error-type ratios": float((fn[1] / fp[1]) / (fn[0] / fp[0])),
        "generalized_entropy": squares,
        "theil": theil,
        "coefficient_of_variation": float(np.sqrt(2 * squares)),
    }


def _atkinson(random: Generator, runs: int) -> Study:
    """Of Atkinson's index: it is 1 if anybody can be wronged, which is impossible here."""
    points = []
    for n, favoured in product(SIZES, (0.05, 0.2, 0.4)):
        chances = np.array([[0.5], [favoured], [0.0], [0.5 - favoured]])
        found = intervals(quantity("atkinson"), cells(random, chances, (n,), runs))
        truth = 1 - 2**favoured / (1 + favoured)
        where = f"{n:,} people, {favoured:.0%} favoured"
        points.append(Point(where, found.covered(truth), found.without, n * favoured))
    return Study("atkinson", "MOVER by each share, mapped", tuple(points))
