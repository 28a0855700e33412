"""Partial pooling of shares: the posterior by brute force, statsmodels, simulation, laws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM

from fairaudit.stats.pooling import CONSTANT_DEVIATION, LARGEST_TAU, PooledShares, pool_shares

CASES = [
    ([3, 30, 0, 5], [10, 50, 8, 5]),
    ([1, 0, 0], [3, 50, 10]),
    ([0, 3], [40, 40]),
    ([50, 3], [100, 4]),
]


def pool(hits: Any, trials: Any, *levels: Any) -> PooledShares:
    k, n = (np.asarray(array, dtype=np.float64) for array in (hits, trials))
    return pool_shares(k, n, np.array(levels or [np.arange(len(k))]))


def integrate(hits: list[int], trials: list[int]) -> Any:
    """The posterior mean of each share of one attribute: sums over constant, τ and every logit.

    Given the constant and τ the groups are independent, so that each has an integral of its own.
    """
    constant, logit = np.linspace(-14, 14, 281), np.linspace(-30, 30, 3001)
    taus = (np.arange(60) + 0.5) * LARGEST_TAU / 60
    rows = zip(hits, trials, strict=True)
    likelihood = np.array([k * logit - n * np.logaddexp(0, logit) for k, n in rows])
    likelihood = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    total, sums = 0.0, np.zeros(len(hits))
    for tau in taus:
        kernel = np.exp(-((logit[None] - constant[:, None]) ** 2) / (2 * tau**2)) / tau
        own, weighed = kernel @ likelihood.T, kernel @ (likelihood * expit(logit)).T
        prior = np.exp(-((constant / CONSTANT_DEVIATION) ** 2) / 2 - tau**2 / 2)
        joint = prior * own.prod(axis=1)
        total += joint.sum()
        sums += (joint[:, None] * weighed / own).sum(axis=0)
    return sums / total


@pytest.mark.long
@pytest.mark.parametrize(("hits", "trials"), CASES)
def test_means_are_those_of_the_posterior_by_brute_force(
    hits: list[int], trials: list[int]
) -> None:
    assert pool(hits, trials).mean == pytest.approx(integrate(hits, trials), rel=0.04, abs=0.003)


def test_shares_of_two_attributes_are_near_those_of_statsmodels() -> None:
    draw = np.random.default_rng(4)
    a, b = np.repeat(np.arange(3), 4), np.tile(np.arange(4), 3)
    n = draw.integers(5, 120, 12)
    k = draw.binomial(n, expit(-0.4 + 0.5 * a - 0.3 * b + draw.normal(0, 0.4, 12)))
    rows = [
        (int(x), int(y), f"{x}{y}", hit)
        for x, y, hits, trials in zip(a, b, k, n, strict=True)
        for hit in [1] * hits + [0] * (trials - hits)
    ]
    frame = pd.DataFrame(rows, columns=["a", "b", "g", "hit"])
    model = BinomialBayesMixedGLM.from_formula(
        "hit ~ C(a) + C(b)", {"g": "0 + C(g)"}, frame, vcp_p=0.7, fe_p=3
    )
    theirs = (
        pd.Series(model.fit_map(minim_opts={"gtol": 1e-3}).predict(), index=frame["g"])
        .groupby(level=0)
        .first()
    )
    raw = frame.groupby("g")["hit"].mean()
    ours = pool(k, n, a, b).mean
    # Fixed effects alone are predicted there: our shares lie between them and the observed ones.
    between = (ours - raw.to_numpy()) * (ours - theirs.to_numpy()) <= 2e-4
    assert between.sum() >= 11


@given(
    cells=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(0, 2), st.integers(0, 2)),
        min_size=3,
        max_size=9,
        unique_by=lambda cell: cell[2:],
    ),
    seed=st.integers(0, 99),
)
@examples(20)
def test_names_of_levels_and_of_outcomes_do_not_matter(
    cells: list[tuple[int, int, int, int]], seed: int
) -> None:
    hits, misses, a, b = (np.array(column) for column in zip(*cells, strict=True))
    draw = np.random.default_rng(seed)
    trials = hits + misses + 1
    shares = pool(hits, trials, a, b)
    order, names = draw.permutation(len(hits)), draw.permutation(3)
    again = pool(hits[order], trials[order], names[a][order], b[order])
    assert again.mean == pytest.approx(shares.mean[order], abs=1e-6)
    turned = pool(trials - hits, trials, a, b)
    assert turned.mean == pytest.approx(1 - shares.mean, abs=1e-6)
    low, high = shares.ends(0.05)
    assert ((low <= shares.mean) & (shares.mean <= high)).all()


@pytest.mark.parametrize("attributes", [1, 2])
def test_copies_of_every_row_make_it_converge_to_the_raw_shares(attributes: int) -> None:
    hits, trials = np.array([3, 30, 1, 5]), np.array([10, 50, 8, 9])
    levels = ([0, 0, 1, 1], [0, 1, 0, 1]) if attributes == 2 else ()
    apart = [
        np.abs(pool(hits * copies, trials * copies, *levels).mean - hits / trials).max()
        for copies in (1, 10, 100, 10_000)
    ]
    assert apart == sorted(apart, reverse=True)
    assert apart[-1] < 1e-4


def test_one_group_and_groups_that_are_never_or_always_hit_have_finite_shares() -> None:
    for shares in (
        pool([3], [10]),
        pool([0, 40], [40, 40]),
        pool([0, 300_000], [400_000, 400_000]),
    ):
        low, high = shares.ends(0.05)
        assert ((low > 0) & (low < shares.mean) & (shares.mean < high) & (high < 1)).all()


def test_a_small_group_is_drawn_to_its_main_effects_and_a_large_one_is_not() -> None:
    a, b = [0, 0, 1, 1], [0, 1, 0, 1]
    shares = pool([20, 500, 100, 0], [200, 1000, 200, 2], a, b)
    assert shares.mean[1] == pytest.approx(0.5, abs=0.01)
    assert shares.mean[3] > 0.25


@pytest.mark.long
def test_intervals_cover_and_sparse_groups_are_nearer_to_the_truth_than_raw() -> None:
    draw = np.random.default_rng(12)
    a, b, c = (codes.ravel() for codes in np.meshgrid(range(3), range(3), range(2)))
    covered, ours, raw = [], [], []
    for _ in range(60):
        effects = [draw.normal(0, 0.6, 3)[codes] for codes in (a, b, c)]
        share = expit(-0.8 + sum(effects) + draw.normal(0, 0.3, len(a)))
        n = draw.choice([2, 5, 12, 60, 300], len(a))
        k = draw.binomial(n, share)
        if not 0 < k.sum() < n.sum():
            continue
        shares = pool(k, n, a, b, c)
        low, high = shares.ends(0.05)
        covered.append((low <= share) & (share <= high))
        sparse = n < 20
        ours.append(((shares.mean - share)[sparse] ** 2).mean())
        raw.append(((k / n - share)[sparse] ** 2).mean())
    assert 0.93 < np.mean(covered) < 0.98
    assert np.mean(ours) < np.mean(raw) / 3
