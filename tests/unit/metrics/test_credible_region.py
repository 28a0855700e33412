"""The credible region of ε: its ends by hand, what it holds of its posterior, its confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import fairaudit
from fairaudit.metrics.differential_fairness import credible_ends

METRIC = "differential_fairness_credible"
TABLES = (
    ((81, 6), (192, 71), (234, 36), (55, 25)),
    ((12, 30, 7), (40, 21, 9)),
    ((3, 1, 0), (25, 60, 15), (200, 350, 450)),
    ((5, 9, 30, 2, 14), (60, 33, 21, 40, 8), (11, 1, 4, 90, 3)),
)
"""People by outcome, of each group; the first is the kidney stones of Foulds & Pan, Table 1."""
DRAWS = 100_000


def ends_of(table: Sequence[Sequence[int]], alpha: float) -> list[list[tuple[float, float]]]:
    """The Beta intervals of every group and outcome by scipy, the prior being ½ for each outcome.

    Posteriors of groups are independent, so each holds (1 - α)^(1/k). Of two outcomes one decides
    both; of more each may miss with its share of what the group may.
    """
    miss = 1 - (1 - alpha) ** (1 / len(table))
    outcomes = len(table[0])
    each = miss if outcomes == 2 else miss / outcomes
    found = []
    for group in table:
        ends = []
        for n in group:
            posterior = stats.beta(n + 0.5, sum(group) - n + (outcomes - 1) / 2)
            ends.append((float(posterior.ppf(each / 2)), float(posterior.ppf(1 - each / 2))))
        found.append(ends)
    return found


def largest_log_ratio(ends: Sequence[Sequence[tuple[float, float]]]) -> float:
    """The largest ln U - ln L of an outcome, over two different groups."""
    return max(
        math.log(one[y][1]) - math.log(other[y][0])
        for one, other in permutations(ends, 2)
        for y in range(len(one))
    )


def audited(table: Sequence[Sequence[int]], confidence: float) -> float:
    """The number of the whole tool."""
    rows = [(f"g{g}", f"y{y}", n) for g, group in enumerate(table) for y, n in enumerate(group)]
    spec = {
        "columns": {"protected": ["g"], "prediction": "p", "count": "n"},
        "inference": {"confidence": confidence},
        "metrics": [METRIC],
    }
    frame = pl.DataFrame(rows, ["g", "p", "n"], orient="row")
    return fairaudit.audit(spec, frame).comparisons[0].estimate.value


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("confidence", [0.95, 0.8, 0.99])
def test_the_number_is_that_of_the_ends_at_the_confidence_asked(
    table: tuple[tuple[int, ...], ...], confidence: float
) -> None:
    expected = largest_log_ratio(ends_of(table, 1 - confidence))
    assert audited(table, confidence) == pytest.approx(expected, rel=1e-9)


def test_the_kidney_stones_have_the_published_number() -> None:
    assert audited(TABLES[0], 0.95) == pytest.approx(3.01738, abs=5e-6)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_region_holds_its_share_of_the_posterior(
    table: tuple[tuple[int, ...], ...], alpha: float
) -> None:
    random = np.random.default_rng(0)
    counts = np.array(table, dtype=np.float64).T[None]
    low, high = credible_ends(counts, 0.5, np.array([len(table)]), alpha)
    inside = np.ones(DRAWS, dtype=np.bool_)
    for g, group in enumerate(table):
        drawn = random.dirichlet(np.array(group) + 0.5, DRAWS)
        inside &= ((drawn >= low[0, :, g]) & (drawn <= high[0, :, g])).all(axis=1)
    error = math.sqrt(alpha * (1 - alpha) / DRAWS)
    assert inside.mean() >= 1 - alpha - 3 * error
    # Of two outcomes it holds just that, and of more hardly more.
    assert inside.mean() <= 1 - alpha + (3 * error if len(table[0]) == 2 else 0.4 * alpha)
