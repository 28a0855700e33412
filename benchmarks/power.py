"""How often a gate finds a planted disparity, compared with the power of its test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from alarms import found_share, gate
from numpy.random import Generator
from scipy.special import chdtri, chndtr, ndtr

from fairaudit.stats.distributions import normal_critical
from fairaudit.stats.sample_sizes import smallest_detectable

TWO = ((0.5, 0.6, 200, 200), (0.5, 0.6, 400, 400), (0.2, 0.3, 150, 300), (0.2, 0.1, 200, 200),
       (0.05, 0.1, 300, 300), (0.6, 0.4, 80, 40), (0.3, 0.35, 2000, 1000))  # fmt: skip
"""Rate and size of the first group, and of the other: rate, rate, people, people."""
SEVERAL = ((0.5, 0.35, 200, 4), (0.5, 0.4, 200, 8), (0.2, 0.1, 300, 4), (0.3, 0.15, 150, 12))
"""Everybody's rate, that of one group, the people in each, and how many others there are."""
Noticed: TypeAlias = tuple[float, int, int, int, float, bool]
"""The reference's rate and people, those of each other group, and how many of these there are; the
level of the check, 5 % over the other tests of its family; and whether all groups are compared."""
NOTICED: tuple[Noticed, ...] = (
    (0.6, 80, 40, 1, 0.05, False), (0.3, 500, 200, 1, 0.05, False), (0.5, 300, 300, 4, 0.05, False),
    (0.2, 1000, 400, 9, 0.05, False), (0.5, 800, 800, 1, 0.05 / 20, False),
    (0.3, 2000, 1000, 3, 0.05 / 100, False),
)  # fmt: skip
SPREADS: tuple[Noticed, ...] = (
    (0.5, 300, 300, 4, 0.05, True), (0.3, 500, 500, 9, 0.05 / 20, True),
    (0.5, 800, 400, 1, 0.05 / 20, True), (0.2, 2000, 1000, 3, 0.05 / 1000, True),
)  # fmt: skip
RARE: tuple[Noticed, ...] = (
    (0.02, 5000, 1000, 1, 0.05 / 50, False), (0.01, 50_000, 2000, 1, 0.05 / 20_000, False),
    (0.01, 100_000, 700, 5, 0.05 / 20, False), (0.05, 400, 400, 3, 0.05 / 20, False),
)  # fmt: skip
_CLOSE_TO_NONE = "above 0.0001"


@dataclass(frozen=True, slots=True)
class Power:
    """How often a gate fails in one setting, and how often the reference test would."""

    gate: str
    setting: str
    found: float
    expected: float
    reference: str


def of_two_rates(p: float, q: float, n: int, m: int, alpha: float = 0.05) -> float:
    """The power of the two-sided z test of two rates by Cohen's h, both tails."""
    h = 2 * np.arcsin(np.sqrt(p)) - 2 * np.arcsin(np.sqrt(q))
    shift, z = abs(h) / np.sqrt(1 / n + 1 / m), normal_critical(alpha)
    return float(ndtr(shift - z) + ndtr(-shift - z))


def of_chi_square(rates: list[float], sizes: list[int], alpha: float = 0.05) -> float:
    """The power of χ² over several groups, by the noncentral distribution."""
    p, n = np.asarray(rates), np.asarray(sizes, dtype=np.float64)
    pooled = float((p * n).sum() / n.sum())
    excess = float((n * (p - pooled) ** 2).sum() / (pooled * (1 - pooled)))
    df = len(rates) - 1
    return float(1 - chndtr(chdtri(df, alpha), df, excess))


def powers(random: Generator, runs: int) -> Iterator[Power]:
    """Two groups, one of several, and the smallest gap that a pass is said to have missed."""
    gap = gate("demographic_parity_difference", _CLOSE_TO_NONE)
    for p, q, n, m in TWO:
        found = found_share(random, gap, (p, q), (n, m), runs)
        where = f"{p} of {n:,}, {q} of {m:,}"
        yield Power("gap of two", where, found, of_two_rates(p, q, n, m), "z test, Cohen's h")
    for p, q, n, others in SEVERAL:
        rates, sizes = [p] * others + [q], [n] * (others + 1)
        where = f"{q} of {n:,}, {others} others at {p}"
        found = found_share(random, gap, rates, sizes, runs)
        expected = of_chi_square(rates, sizes)
        yield Power("gap", where, found, expected, f"χ² with {others} degrees of freedom")
        each = gate("statistical_parity_difference", "outside 0.0001", "group0")
        found = found_share(random, each, rates, sizes, runs)
        expected = of_two_rates(p, q, n, n, 0.05 / others)
        yield Power("difference to the first", where, found, expected, f"z test at α / {others}")
        found = found_share(random, gate("impact_ratio", "below 0.9999"), rates, sizes, runs)
        pairs = others * (others + 1) // 2
        expected = of_two_rates(p, q, n, n, 0.05 / pairs)
        yield Power("ratio to the highest", where, found, expected, f"z test at α / {pairs}")
    for setting in (*NOTICED, *SPREADS, *RARE):
        yield from detected(random, setting, runs)


def detected(random: Generator, setting: Noticed, runs: int) -> Iterator[Power]:
    """How often a check finds the smallest gap that it says its test finds."""
    p, n, m, others, level, is_max_min = setting
    freedom, alone = (others, level) if is_max_min else (1, level / others)
    ends = smallest_detectable(np.array(p), np.array(m), np.array(n), alone, freedom)
    each = gate("statistical_parity_difference", "outside 0.0001", "group0", level)
    if is_max_min:
        # The lowest below the highest group, and all others between them.
        each, ends = gate("demographic_parity_difference", _CLOSE_TO_NONE, None, level), ends[:1]
    for apart in (float(end) for end in ends):
        if np.isnan(apart):
            continue
        middle = p + apart * m / (n + m) if is_max_min else p
        rates = [p, *[middle] * (others - 1), p + apart]
        found = found_share(random, each, rates, [n] + [m] * others, runs)
        where = f"{p} of {n:,}, one of {others} groups of {m:,} {apart:+.4f}, level {level:g}"
        by = f"χ² with {others} degrees of freedom" if is_max_min and others > 1 else "z or Fisher"
        yield Power("`detectable`", where, found, 0.8, by)
