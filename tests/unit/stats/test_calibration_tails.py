"""Tails of calibration errors that no draw reaches: a bound above the exact chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import scipy.stats

from fairaudit.stats import score_statistics


def exact_chance(people: Sequence[int], expected: Sequence[float], least: float) -> float:
    """The chance of so large a Σ |positives - expected| / people, by all outcomes of all bins."""
    error, chance = np.zeros(1), np.ones(1)
    for n, mean in zip(people, expected, strict=True):
        hits = np.arange(n + 1)
        error = (error[:, None] + np.abs(hits - mean)).ravel()
        chance = (chance[:, None] * scipy.stats.binom.pmf(hits, n, mean / n)).ravel()
    return float(chance[error >= least * sum(people) - 1e-9].sum())


@pytest.mark.parametrize(("people", "expected", "least"), [
    ([40], [36.0], 0.9), ([50, 50], [10.0, 30.0], 0.35), ([20, 20, 20], [4.0, 10.0, 15.0], 0.45),
    ([1000], [500.0], 0.1), ([30, 5], [15.0, 5.0], 0.4),
])  # fmt: skip
def test_the_p_of_a_far_error_is_a_bound_near_its_chance(
    people: list[int], expected: list[float], least: float
) -> None:
    exact = exact_chance(people, expected, least)
    p = score_statistics.resample_calibration_error(np.array(people), np.array(expected), least)
    assert exact * (1 - 1e-9) <= p <= 50 * exact < 1e-4


def test_no_p_of_a_calibration_error_is_0() -> None:
    """Scores of 0 and 1 that are wrong have no chance at all."""
    wrong = np.array([4, 3]), np.array([0.0, 3.0])
    assert 0 < score_statistics.resample_calibration_error(*wrong, 1.0) < 1e-100
    (p,) = score_statistics.find_p_of_largest(wrong[0][None], wrong[1][None], np.array([1.0]))
    assert 0 < p < 1e-100
