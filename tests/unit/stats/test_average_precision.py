"""Average precision: as scikit-learn prints it, what bins hide of it, and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
import stats_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from fairaudit.stats import score_statistics

histograms = st.integers(2, 6).flatmap(
    lambda bins: st.tuples(
        st.lists(st.integers(0, 9), min_size=bins, max_size=bins).filter(any),
        st.lists(st.integers(0, 9), min_size=bins, max_size=bins),
    )
)


def histogram(counts: list[int]) -> NDArray[np.float64]:
    return np.array(counts, dtype=np.float64)[None, :, None]


@given(histograms)
def test_average_precision_is_scikit_learns(counts: tuple[list[int], list[int]]) -> None:
    one, two = counts
    positive, negative = oracle.people(one), oracle.people(two)
    labels = [1] * len(positive) + [0] * len(negative)
    found = score_statistics.average_precision(histogram(one), histogram(two)).item()
    assert found == pytest.approx(average_precision_score(labels, positive + negative), abs=1e-12)


@given(histograms, st.integers(2, 3))
def test_finer_bins_move_the_average_precision_no_farther_than_is_told(
    counts: tuple[list[int], list[int]], joined: int
) -> None:
    fine = [np.array(side, float)[: len(side) // joined * joined] for side in counts]
    coarse = [side.reshape(-1, joined).sum(axis=1) for side in fine]
    exact, binned = (
        score_statistics.average_precision(*(side[None, :, None] for side in sides)).item()
        for sides in (fine, coarse)
    )
    several = np.ones(len(coarse[0]), bool)
    positive, negative = (side[None, :, None] for side in coarse)
    error = score_statistics.average_precision_error(positive, negative, several)
    if fine[0].sum() > 0:
        assert abs(exact - binned) <= error.item() + 1e-12


def test_a_perfect_ranking_of_a_few_is_no_certainty() -> None:
    """Ten positives above all others: Wilson's interval of ten in ten; of nine there is none."""
    for positives, low in ((10, 0.7224672001371107), (9, math.nan)):
        sides = (np.array(side)[None, :, None] for side in ([0.0, positives], [90.0, 0.0]))
        ends = score_statistics.average_precision_interval(np.ones((1, 1)), *sides)
        assert ends[0].item() == pytest.approx(low, nan_ok=True)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
def test_average_precision_is_covered(share: float, shift: float) -> None:
    """Of 200 people with a normal score, cut into forty bins."""
    random, edges = np.random.default_rng(18), np.linspace(-4, 6, 41)
    chances = [
        weight * np.diff(scipy.stats.norm.cdf(edges, mean))
        for weight, mean in ((share, shift), (1 - share, 0.0))
    ]
    truth = score_statistics.average_precision(*(side[None, :, None] for side in chances)).item()
    drawn = random.multinomial(200, np.concatenate(chances) / sum(map(sum, chances)), 4000)
    sides = [side[:, :, None].astype(float) for side in np.split(drawn, 2, axis=1)]
    low, high = score_statistics.average_precision_interval(
        score_statistics.average_precision(*sides), *sides
    )
    told = np.isfinite(low)
    assert ((low <= truth) & (truth <= high))[told].mean() > 0.925
