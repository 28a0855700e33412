"""How often the interval of one rate, one pair of groups or one formula contains the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from samples import (
    TO_FIRST,
    Intervals,
    binned,
    cells,
    from_rates,
    intervals,
    scored,
    shares,
    table_of,
)

from fairaudit.cube import GroupTable
from fairaudit.evidence import band
from fairaudit.metrics import (
    Asked,
    Average,
    Policy,
    Quantity,
    Reference,
    Terms,
    Weights,
    compared,
    comparison,
    evaluate,
    find,
)
from fairaudit.stats.normal import critical

Floats = NDArray[np.float64]

RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
SIZES = (20, 50, 100, 300, 1000, 10_000)
"""People in a sample."""
PAIRS = ((0.01, 0.01), (0.01, 0.02), (0.05, 0.05), (0.05, 0.1), (0.1, 0.1), (0.1, 0.3),
         (0.3, 0.3), (0.3, 0.4), (0.5, 0.5), (0.5, 0.25), (0.02, 0.4), (0.1, 0.6), (0.5, 0.9),
         (0.9, 0.1))  # fmt: skip
PAIR_SIZES = ((20, 20), (20, 200), (50, 50), (100, 100), (100, 1000), (1000, 1000), (20, 10_000),
              (10_000, 10_000))  # fmt: skip
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


def quantity(name: str) -> Quantity:
    """The number of one group by that name."""
    found = find(name)
    assert isinstance(found, Quantity)
    return found


def how(name: str, by: str) -> Asked:
    """One quantity, compared."""
    chosen = comparison(by)
    assert chosen is not None
    return compared(quantity(name), chosen)


def measure(name: str) -> Asked:
    """The measure of that name."""
    found = find(name)
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
    return Study("one rate", "Wilson", tuple(points))


def _binomial(n: int, rate: float) -> Floats:
    """The chance of every number of hits."""
    steps = np.log(np.arange(n, 0, -1) / np.arange(1, n + 1)) + np.log(rate / (1 - rate))
    return np.exp(n * np.log1p(-rate) + np.concatenate([[0.0], np.cumsum(steps)]))


def pairs(random: Generator, runs: int) -> Iterator[Study]:
    """Of two rates: difference, ratio, odds ratio, normalized difference, correlation, h."""
    asked: dict[str, tuple[str, Asked, Reference | None]] = {
        "difference of two rates": ("Newcombe", how("selection_rate", "difference"), TO_FIRST),
        "ratio of two rates": ("Koopman", how("selection_rate", "ratio"), TO_FIRST),
        "odds ratio": ("Woolf, Gart's ½", how("selection_rate", "odds_ratio"), TO_FIRST),
        "normalized difference": ("Newcombe, mapped", measure("normalized_difference"), TO_FIRST),
        "correlation of an outcome with membership": (
            "Newcombe, mapped", measure("correlation"), TO_FIRST),
        "Cohen's h": ("MOVER", how("selection_rate", "cohens_h"), TO_FIRST),
        "ratio to everybody (elift)": ("Koopman, mapped", measure("elift"), None),
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
    """What the delta method would say, from the counts."""
    people = table.people.astype(np.float64)
    tp, fp, fn = people[:, 1, 1], people[:, 0, 1], people[:, 1, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        if title == "F1":
            share, size = tp / (tp + fp + fn), tp + fp + fn
            value = 2 * share / (1 + share)
            reach = critical(0.05) * 2 / (1 + share) ** 2 * np.sqrt(share * (1 - share) / size)
        else:
            value = fn / fp
            reach = critical(0.05) * value * np.sqrt(1 / fn + 1 / fp)
            reach = np.where(fn == 0, 0.0, reach)
    return Intervals(value, value - reach, value + reach)


def composites(random: Generator, runs: int) -> Iterator[Study]:
    """Of sums of rates by MOVER, and of inequality by the delta method."""
    odds = ("average odds difference", "MOVER", measure("average_odds_difference"), TO_FIRST)
    balanced = ("balanced accuracy", "MOVER", quantity("balanced_accuracy"), None)
    apart = ("difference of balanced accuracies", "MOVER",
             how("balanced_accuracy", "difference"), TO_FIRST)  # fmt: skip
    of_f1 = ("difference of F1", "MOVER", how("f1", "difference"), TO_FIRST)
    quotient = ("ratio of error-type ratios", "Woolf", measure("treatment_equality"), TO_FIRST)
    unequal = [
        (name, "delta", quantity(name), None)
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
            low, high = ((found.low[:, :1], found.high[:, :1]) if single else (found.low, found.high))
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
    """Of Atkinson's index: it is 1 where anybody can be wronged, so here nobody can."""
    points = []
    for n, favoured in product(SIZES, (0.05, 0.2, 0.4)):
        chances = np.array([[0.5], [favoured], [0.0], [0.5 - favoured]])
        found = intervals(quantity("atkinson"), cells(random, chances, (n,), runs))
        truth = 1 - 2**favoured / (1 + favoured)
        where = f"{n:,} people, {favoured:.0%} favoured"
        points.append(Point(where, found.covered(truth), found.without, n * favoured))
    return Study("atkinson", "delta", tuple(points))


def in_strata(random: Generator, runs: int) -> Iterator[Study]:
    """Of two rates averaged over strata: sizes of strata fixed, then left to chance."""
    rates = np.array([[0.1, 0.15], [0.3, 0.4], [0.6, 0.55], [0.8, 0.8]])
    for by_chance, spread in product((False, True), (False, True)):
        points = []
        for n, weights in product((100, 400, 4000), (Weights.POOLED, Weights.UNIFORM)):
            mix = np.array([[0.4, 0.1], [0.3, 0.2], [0.2, 0.3], [0.1, 0.4]])
            sizes = np.rint(mix * n).astype(np.int64)
            hit = without = 0
            drawn = sizes
            shared = mix.sum(axis=1) / 2 if weights is Weights.POOLED else np.full(4, 0.25)
            truth = float(shared @ (rates[:, 1] - rates[:, 0]))
            truth = abs(truth) if spread else truth
            for _ in range(runs):
                if by_chance:
                    drawn = np.stack([random.multinomial(n, mix[:, g]) for g in (0, 1)], axis=1)
                hits = random.binomial(drawn, rates)
                table = replace(table_of(np.stack([drawn - hits, hits], axis=1)[:, None]))
                asked = how("selection_rate", "gap" if spread else "difference")
                terms = Terms(None if spread else TO_FIRST, average=Average(weights))
                ends = band(evaluate(asked, table, terms)).at(0, 0 if spread else 1)
                without += ends is None
                hit += ends is not None and ends[0] <= truth <= ends[1]
            points.append(
                Point(f"{n:,} people, {weights} weights", hit / (runs - without), without / runs,
                      0.01 * n)
            )  # fmt: skip
        kind = "gap" if spread else "difference"
        sized = "strata filled by chance" if by_chance else "strata of fixed size"
        yield Study(f"{kind} of rates averaged over strata, {sized}", "MOVER", tuple(points))


def numbers(random: Generator, runs: int) -> Iterator[Study]:
    """Of means: Welch, Hedges–Olkin, the correlation, and the gap and ratio of several means."""
    kinds = {
        "normal, equal spread": (_normal, 0.1, 0.1),
        "normal, the larger group spread twice": (_normal, 0.1, 0.2),
        "normal, the smaller group spread twice": (_normal, 0.2, 0.1),
        "exponential": (_exponential, 0.1, 0.1),
    }
    asked = {
        "difference of two means": ("Welch", how("mean_score", "difference")),
        "Cohen's d": ("Hedges–Olkin", how("mean_score", "standardized_difference")),
        "correlation of a score with membership": ("Welch, mapped", measure("correlation")),
        "ratio of two means": ("MOVER", how("mean_score", "ratio")),
    }
    points: dict[str, list[Point]] = {title: [] for title in asked}
    for (kind, (draw, one, two)), n, apart in product(
        kinds.items(), (10, 20, 50, 200, 1000), (0.0, 0.1, 0.2)
    ):
        m = 2 * n
        table = scored([draw(random, 0.5, one, (runs, n)), draw(random, 0.5 + apart, two, (runs, m))])
        pooled = np.sqrt(((n - 1) * one**2 + (m - 1) * two**2) / (n + m - 2))
        # Around each mean, as the sample's squares are around its own.
        within = np.sqrt((n * one**2 + m * two**2) / (n + m))
        between = apart * np.sqrt(n * m) / (n + m)
        r = between / np.sqrt(between**2 + within**2)
        truths = {
            "difference of two means": apart,
            "Cohen's d": apart / pooled,
            "correlation of a score with membership": np.array([-r, r]),
            "ratio of two means": (0.5 + apart) / 0.5,
        }
        for title, (_, single) in asked.items():
            found = intervals(single, table, TO_FIRST)
            where = f"{n:,} and {m:,} people, {kind}, {apart:g} apart"
            points[title].append(Point(where, found.covered(truths[title]), found.without, n))
    for title, (method, _) in asked.items():
        yield Study(title, method, tuple(points[title]))
    yield from _several_means(random, runs)


def _several_means(random: Generator, runs: int) -> Iterator[Study]:
    gaps, ratios, highest = [], [], []
    for k, n, apart in product((2, 3, 10), (20, 100, 500), (0.0, 0.1)):
        means = [0.5, 0.5, 0.5 + apart, *([0.5] * 7)][:k] if k > 2 else [0.5, 0.5 + apart]
        sizes = [n * (1 + at % 3) for at in range(k)]
        table = scored(
            [_normal(random, mean, 0.1, (runs, size)) for mean, size in zip(means, sizes, strict=True)]
        )
        where = f"{k} groups from {n:,} people, {apart:g} apart"
        gap = intervals(how("mean_score", "gap"), table)
        ratio = intervals(how("mean_score", "min_ratio"), table)
        to_highest = intervals(how("mean_score", "difference"), table, Reference(Policy.HIGHEST))
        gaps.append(Point(where, gap.covered(max(means) - min(means)), gap.without, n))
        ratios.append(Point(where, ratio.covered(min(means) / max(means)), ratio.without, n))
        below = np.asarray(means) - max(means)
        highest.append(Point(where, to_highest.covered(below), to_highest.without, n))
    yield Study("gap of several means", "Student, simultaneous", tuple(gaps))
    yield Study("least ratio of several means", "Student, simultaneous", tuple(ratios))
    yield Study("difference of means to the highest", "Student, simultaneous", tuple(highest))


def _normal(random: Generator, mean: float, spread: float, shape: tuple[int, int]) -> Floats:
    return random.normal(mean, spread, shape)


def _exponential(random: Generator, mean: float, spread: float, shape: tuple[int, int]) -> Floats:
    return mean - spread + random.exponential(spread, shape)


def ranks(random: Generator, runs: int) -> Iterator[Study]:
    """Of the chance to be ranked higher, by DeLong's variance."""
    points = []
    values = np.arange(20)
    for (n, m), shift in product(((20, 20), (20, 200), (100, 100), (1000, 1000)), (0, 2, 5, 9)):
        weights = np.stack([np.exp(-((values - 7) ** 2) / 18), np.exp(-((values - 7 - shift) ** 2) / 18)])
        chances = (weights / weights.sum(axis=1, keepdims=True)).T
        found = intervals(
            measure("between_group_auc_score"), binned(random, chances, (n, m), runs), TO_FIRST
        )
        below = np.cumsum(chances[:, 1]) - chances[:, 1] / 2
        truth = float(chances[:, 0] @ below)
        where = f"{n:,} and {m:,} people, AUC {truth:.3f}"
        points.append(Point(where, found.covered(truth), found.without, min(n, m) * min(truth, 1 - truth)))
    yield Study("area under the curve between groups", "DeLong", tuple(points))

