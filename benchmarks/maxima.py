"""How often the interval of a maximum over pairs of groups contains the truth, and how wide it is.

Other methods for comparison: Bonferroni over the pairs, the interval of the observed pair alone,
and the percentile bootstrap of the gap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from samples import Intervals, cells, classes, from_rates, intervals, shares
from singles import Point, Study, how, measure

from fairaudit.cube import GroupTable
from fairaudit.metrics import Metric
from fairaudit.metrics.terms import Reference, ReferencePolicy
from fairaudit.stats.proportions import gap_interval

Floats = NDArray[np.float64]

GROUPS = (2, 3, 5, 10, 50)
RATES = (0.01, 0.05, 0.2, 0.5)
PATTERNS = ("all equal", "three or more equal at the top", "spread")
SIZED = (
    "20 each", "200 each", "2,000 each", "10,000 each", "20 to 10,000",
    "2,000 each, the last two of 1 and 3",
)  # fmt: skip
TO_HIGHEST = Reference(ReferencePolicy.HIGHEST)
BAR = 0.93
"""The lowest coverage of any setting."""
_AGAIN = 0.945
"""Settings below this are drawn again, more often, and only the second result counts."""


@dataclass(frozen=True, slots=True)
class Maximum:
    """A measure over all pairs: how it is drawn, and what is true, by the groups' rates.

    `part` is the share of a group's people times its rate that the rarest outcome takes.
    """

    title: str
    method: str
    asked: Metric
    draw: Callable[[Generator, Floats, Sequence[int], int], GroupTable]
    truth: Callable[[Floats], float | Floats]
    slow: bool = True
    reference: Reference | None = None
    part: float = 1.0


def _gap(rates: Floats) -> float:
    return float(rates.max() - rates.min())


def _least(rates: Floats) -> float:
    return float(rates.min() / rates.max())


def _epsilon(chances: Floats) -> float:
    """The largest log-ratio of [classes, groups]."""
    return float(np.log(chances.max(axis=1) / chances.min(axis=1)).max())


def _three(rates: Floats) -> Floats:
    """The chances of three classes by that of the last."""
    return np.stack([0.6 * (1 - rates), 0.4 * (1 - rates), rates])


def _of_three(random: Generator, rates: Floats, sizes: Sequence[int], runs: int) -> GroupTable:
    return classes(random, _three(rates), sizes, runs)


def _odds(rates: Floats) -> tuple[Floats, Floats]:
    """True and false positive rates that follow a rate."""
    return 1 - rates, rates / 2


def _of_odds(random: Generator, rates: Floats, sizes: Sequence[int], runs: int) -> GroupTable:
    tpr, fpr = _odds(rates)
    return cells(random, from_rates(np.full(len(rates), 0.5), tpr, fpr), sizes, runs)


MAXIMA = (
    Maximum("gap", "Newcombe", measure("demographic_parity_difference"), shares, _gap, slow=False),
    Maximum(
        "difference to the highest, all groups at once", "Newcombe",
        how("selection_rate", "difference"), shares, lambda rates: rates - rates.max(),
        slow=False, reference=TO_HIGHEST,
    ),
    Maximum(
        "equalized odds difference", "Newcombe", measure("equalized_odds_difference"), _of_odds,
        lambda rates: max(_gap(one) for one in _odds(rates)), slow=False,
        part=0.25,
    ),
    Maximum("least ratio", "Koopman", measure("demographic_parity_ratio"), shares, _least),
    Maximum(
        "ratio to the highest, all groups at once", "Koopman", measure("impact_ratio"), shares,
        lambda rates: rates / rates.max(), reference=TO_HIGHEST,
    ),
    Maximum(
        "ε, 2 outcomes", "Koopman", measure("differential_fairness"), shares,
        lambda rates: _epsilon(np.stack([1 - rates, rates])),
    ),
    Maximum(
        "ε, 3 outcomes", "Koopman", measure("differential_fairness"), _of_three,
        lambda rates: _epsilon(_three(rates)),
    ),
)  # fmt: skip


def rates_of(pattern: str, groups: int, rate: float) -> Floats:
    """The true rate of every group."""
    if pattern == "all equal":
        return np.full(groups, rate)
    low = rate / 2
    if pattern == "spread":
        return np.linspace(low, rate, groups)
    top = max(3, groups // 2)
    return np.where(np.arange(groups) < top, rate, low)


def sizes_of(sized: str, groups: int) -> list[int]:
    """The people in every group."""
    if sized.endswith(" each"):
        return [int(sized.removesuffix(" each").replace(",", ""))] * groups
    if sized.endswith("of 1 and 3"):
        return [2000] * (groups - 2) + [1, 3]
    return np.rint(np.geomspace(20, 10_000, groups)).astype(int).tolist()


def settings(*, slow: bool) -> Iterator[tuple[str, Floats, list[int]]]:
    """All settings; those of measures that take long leave some out."""
    for k, rate, pattern, sized in product(GROUPS, RATES, PATTERNS, SIZED):
        if (pattern == PATTERNS[1] or sized == SIZED[5]) and k < 4:
            continue
        if slow and (
            sized in SIZED[2:4] or k == 5 or (pattern == PATTERNS[2] and rate == RATES[2])
        ):
            continue
        where = f"{k} groups, {sized}, {rate}, {pattern}"
        yield where, rates_of(pattern, k, rate), sizes_of(sized, k)


def maxima(random: Generator, runs: int, one: Maximum) -> Study:
    """The coverage of one measure's interval over all settings."""
    points = []
    for where, rates, sizes in settings(slow=one.slow):
        truth = one.truth(rates)
        found = _found(one, random, (rates, sizes), runs)
        if found.without == 1:
            continue  # a group of one person has no rate of both kinds
        if found.covered(truth) < _AGAIN:
            found = _found(one, random, (rates, sizes), 5 * runs)
        few = one.part * float((rates * np.asarray(sizes)).min())
        points.append(Point(where, found.covered(truth), found.without, few, found.width))
    return Study(one.title, one.method, tuple(points))


def _found(
    one: Maximum, random: Generator, drawn: tuple[Floats, Sequence[int]], runs: int
) -> Intervals:
    return intervals(one.asked, one.draw(random, *drawn, runs), one.reference)


@dataclass(frozen=True, slots=True)
class Rivals:
    """Of one setting: how often each interval of the gap covers, and the mean widths.

    `missing_0` is how often the bootstrap's interval lies above 0.
    """

    setting: str
    ours: float
    bonferroni: float
    pointwise: float
    bootstrap: float
    missing_0: float
    width: float
    bonferroni_width: float
    bootstrap_width: float


def rivals(random: Generator, runs: int) -> Iterator[Rivals]:
    """The gap by our interval, and by three others."""
    for k, sized, pattern in product(
        (2, 3, 10, 50), ("200 each", "20 to 10,000"), (PATTERNS[0], PATTERNS[2])
    ):
        rates, sizes = rates_of(pattern, k, 0.2), sizes_of(sized, k)
        yield of_one(random, f"{k} groups, {sized}, 0.2, {pattern}", (rates, sizes), runs)


def of_one(
    random: Generator, setting: str, drawn: tuple[Floats, Sequence[int]], runs: int
) -> Rivals:
    """The four intervals of the gap in one setting."""
    rates, sizes = drawn
    table, truth = shares(random, rates, sizes, runs), float(rates.max() - rates.min())
    ours = intervals(measure("demographic_parity_difference"), table)
    n = np.asarray(sizes, dtype=np.float64)
    seen = table.people[:, 0, 1] / n
    adjusted, alone = bonferroni(seen, n), pointwise(seen, n)
    drawn_again = bootstrap(random, seen, n)
    return Rivals(
        setting, ours.covered(truth), adjusted.covered(truth), alone.covered(truth),
        drawn_again.covered(truth), float((drawn_again.low > 0).mean()),
        ours.width, adjusted.width, drawn_again.width,
    )  # fmt: skip


def bonferroni(seen: Floats, n: Floats, alpha: float = 0.05) -> Intervals:
    """The gap by the intervals of all unordered pairs, each at α / m: every pair is looked at."""
    i, j = np.triu_indices(len(n), 1)
    low, high = gap_interval(seen[:, i], n[i], seen[:, j], n[j], alpha / len(i))
    # The larger of both directions is the difference without its sign.
    low, high = np.maximum(low, -high).max(axis=1), np.maximum(high, -low).max(axis=1)
    value = seen.max(axis=1) - seen.min(axis=1)
    return Intervals(value[:, None], np.maximum(low, 0.0)[:, None], high[:, None])


def pointwise(seen: Floats, n: Floats) -> Intervals:
    """The usual interval of the pair that happens to be the farthest apart."""
    at, top, bottom = np.arange(len(seen)), seen.argmax(axis=1), seen.argmin(axis=1)
    low, high = gap_interval(seen[at, top], n[top], seen[at, bottom], n[bottom])
    # Where all are equal a pair is a group and itself.
    return Intervals((seen[at, top] - seen[at, bottom])[:, None], low[:, None], high[:, None])


def bootstrap(random: Generator, seen: Floats, n: Floats, draws: int = 400) -> Intervals:
    """The percentile interval of the gap over samples drawn again from each sample."""
    again = random.binomial(n.astype(np.int64), seen, size=(draws, *seen.shape)) / n
    gaps = again.max(axis=2) - again.min(axis=2)
    low, high = np.percentile(gaps, [2.5, 97.5], axis=0)
    value = seen.max(axis=1) - seen.min(axis=1)
    return Intervals(value[:, None], low[:, None], high[:, None])
