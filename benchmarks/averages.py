"""How often the interval of a mean, an average over strata or a rank contains the truth."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from samples import TO_FIRST, binned, intervals, scored, table_of
from singles import Point, Study, how, measure

from fairaudit.base.frozen import replace
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.metrics import evaluate
from fairaudit.metrics.terms import Average, MetricOptions, Reference, ReferencePolicy, Weights

Floats = NDArray[np.float64]


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
                terms = MetricOptions(None if spread else TO_FIRST, average=Average(weights))
                ends = find_intervals(evaluate(asked, table, terms)).at(0, 0 if spread else 1)
                without += ends is None
                hit += ends is not None and ends[0] <= truth <= ends[1]
            points.append(
                Point(f"{n:,} people, {weights} weights", hit / (runs - without), without / runs,
                      n * float((mix * np.minimum(rates, 1 - rates)).min()))
            )  # fmt: skip
        kind = "gap" if spread else "difference"
        sized = "strata filled by chance" if by_chance else "strata of fixed size"
        yield Study(f"{kind} of rates averaged over strata, {sized}", "MOVER", tuple(points))


def in_sparse_strata(random: Generator, runs: int) -> Iterator[Study]:
    """Of two rates averaged over many strata of few people, whose rates differ from each other."""
    for compare, method in (("difference", "Sato, MOVER"), ("ratio", "Greenland–Robins, MOVER"),
                            ("gap", "MOVER"), ("odds_ratio", "MOVER of the odds"),
                            ("cohens_h", "MOVER")):  # fmt: skip
        points = []
        for strata, n, m, shift in (
            (30, 1, 1, 0.0), (100, 1, 1, 0.15), (500, 1, 1, -0.05), (100, 2, 2, 0.15),
            (40, 5, 5, 0.0), (40, 8, 12, 0.15), (12, 15, 15, -0.05), (10, 5, 40, 0.1),
            (30, 2, 10, 0.0), (20, 3, 100, 0.1), (5, 5, 5, 0.0), (4, 10, 40, 0.1),
        ):  # fmt: skip
            base = np.clip(random.beta(2, 5, strata), 0.06, 0.6)
            rates = np.stack([base, base + shift], axis=1)
            sizes = np.broadcast_to((n, m), (strata, 2))
            one, other = rates.mean(axis=0)
            truth = {
                "difference": other - one,
                "ratio": other / one,
                "gap": abs(other - one),
                "odds_ratio": other * (1 - one) / (one * (1 - other)),
                "cohens_h": 2 * np.arcsin(np.sqrt(other)) - 2 * np.arcsin(np.sqrt(one)),
            }[compare]
            place = 0 if compare == "gap" else 1
            hit = without = 0
            for _ in range(runs):
                hits = random.binomial(sizes, rates)
                table = table_of(np.stack([sizes - hits, hits], axis=1)[:, None])
                reference = None if compare == "gap" else TO_FIRST
                terms = MetricOptions(reference, average=Average(Weights.POOLED))
                evaluation = evaluate(how("selection_rate", compare), table, terms)
                ends = find_intervals(evaluation).at(0, place)
                without += ends is None
                hit += ends is not None and ends[0] <= truth <= ends[1]
            where = f"{strata} strata of {n} and {m}, {shift:+.2f}"
            few = strata * float(min(n * one, m * other, n * (1 - one), m * (1 - other)))
            points.append(Point(where, hit / (runs - without), without / runs, few))
        kind = compare.replace("_", " ")
        yield Study(f"{kind} of rates averaged over sparse strata", method, tuple(points))


def numbers(random: Generator, runs: int) -> Iterator[Study]:
    """Of means: Welch, MOVER, and the gap and ratio of several means."""
    kinds = {
        "normal, equal spread": (_normal, 0.1, 0.1),
        "normal, the larger group spread twice": (_normal, 0.1, 0.2),
        "normal, the smaller group spread twice": (_normal, 0.2, 0.1),
        "exponential": (_exponential, 0.1, 0.1),
    }
    asked = {
        "difference of two means": ("Welch", how("mean_score", "difference")),
        "ratio of two means": ("MOVER", how("mean_score", "ratio")),
    }
    points: dict[str, list[Point]] = {title: [] for title in asked}
    for (kind, (draw, one, two)), n, apart in product(
        kinds.items(), (10, 20, 50, 200, 1000), (0.0, 0.1, 0.2)
    ):
        m = 2 * n
        table = scored(
            [draw(random, 0.5, one, (runs, n)), draw(random, 0.5 + apart, two, (runs, m))]
        )
        truths = {
            "difference of two means": apart,
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
            [
                _normal(random, mean, 0.1, (runs, size))
                for mean, size in zip(means, sizes, strict=True)
            ]
        )
        where = f"{k} groups from {n:,} people, {apart:g} apart"
        gap = intervals(how("mean_score", "gap"), table)
        ratio = intervals(how("mean_score", "min_ratio"), table)
        to_highest = intervals(
            how("mean_score", "difference"), table, Reference(ReferencePolicy.HIGHEST)
        )
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
        weights = np.stack([np.exp(-((values - middle) ** 2) / 18) for middle in (7, 7 + shift)])
        chances = (weights / weights.sum(axis=1, keepdims=True)).T
        found = intervals(
            measure("between_group_auc_score"), binned(random, chances, (n, m), runs), TO_FIRST
        )
        below = np.cumsum(chances[:, 1]) - chances[:, 1] / 2
        truth = float(chances[:, 0] @ below)
        where = f"{n:,} and {m:,} people, AUC {truth:.3f}"
        points.append(
            Point(where, found.covered(truth), found.without, min(n, m) * min(truth, 1 - truth))
        )
    yield Study("area under the curve between groups", "Wilson, DeLong's variance", tuple(points))
