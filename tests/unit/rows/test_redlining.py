"""The errors of a predictor of the group: what it can see, and where there is nothing to see."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from people import adult, draw, number
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from fairaudit.cube.rows import Features
from fairaudit.rows.fitted_models import FOLDS, INFLATION, Errors, deal_folds, predict_errors
from fairaudit.stats import proportions


def _rate(errors: Errors | None) -> float:
    assert errors is not None
    return (errors.missed + errors.mistaken) / 2


def test_a_feature_that_is_the_group_leaves_no_error() -> None:
    member = np.arange(60) % 3 == 0
    assert predict_errors(number(member.astype(np.float64)), member) == (0, 0, 20, 40)


def test_an_interaction_that_no_linear_model_sees_is_seen() -> None:
    first, second = np.indices((20, 20)).reshape(2, -1)
    features = Features(
        ("x", "y"),
        np.stack([first, second], axis=1).astype(np.float64),
        (),
        np.zeros((400, 0), dtype=np.int64),
        (),
    )
    assert _rate(predict_errors(features, (first < 10) ^ (second < 10))) < 0.1


@examples(5)
@given(st.integers(0, 10**6))
def test_the_order_of_people_changes_nothing(seed: int) -> None:
    features, member = draw(seed, 120)
    order = np.random.default_rng(seed).permutation(len(features))
    assert predict_errors(features, member) == predict_errors(features.take(order), member[order])


@examples(20)
@given(st.lists(st.booleans(), min_size=10), st.integers(0, 9))
def test_folds_hold_both_sides_alike(sides: list[bool], seed: int) -> None:
    member = np.array(sides)
    folds = deal_folds(member, seed)
    for side in (member, ~member):
        sizes = np.bincount(folds[side], minlength=FOLDS)
        assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("members", [0, 1, 4, 36, 40])
def test_a_side_too_small_for_the_folds_has_no_errors(members: int) -> None:
    assert predict_errors(number(np.arange(40.0)), np.arange(40) < members) is None


def test_features_that_do_not_vary_have_no_errors() -> None:
    assert predict_errors(number(np.ones(40)), np.arange(40) < 20) is None


def test_a_category_of_many_levels_is_no_obstacle() -> None:
    codes = np.arange(900)[:, None] % 300
    levels = (tuple(map(str, range(300))),)
    features = Features((), np.zeros((900, 0)), ("zip",), codes, levels)
    assert _rate(predict_errors(features, codes[:, 0] < 100)) < 0.05


@pytest.mark.long
def test_adult_by_a_loop_over_the_folds() -> None:
    features, member = adult()
    order = features.canonical_order(member.astype(np.int64))[::8]
    features, member = features.take(order), member[order]
    errors = predict_errors(features, member)
    folds = deal_folds(member, 0)
    blocks = [(features.numbers - features.numbers.mean(axis=0)) / features.numbers.std(axis=0)]
    blocks += [(c[:, None] == np.unique(c)).astype(float) for c in features.codes.T]
    matrix = np.hstack(blocks)
    table = np.hstack([features.numbers, features.codes])
    wrong = np.zeros(len(member), dtype=bool)
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        linear = LogisticRegression(class_weight="balanced", max_iter=10_000, tol=1e-8)
        trees = HistGradientBoostingClassifier(
            categorical_features=[3, 4],
            class_weight="balanced",
            max_iter=50,
            early_stopping=False,
        )
        both = [
            linear.fit(matrix[train], member[train]).predict_proba(matrix[test])[:, 1],
            trees.fit(table[train], member[train]).predict_proba(table[test])[:, 1],
        ]
        wrong[test] = (sum(both) / 2 >= 0.5) != member[test]
    assert _rate(errors) == pytest.approx(
        (wrong[member].mean() + wrong[~member].mean()) / 2, abs=0.005
    )


@pytest.mark.long
def test_where_there_is_nothing_to_predict_the_interval_holds_a_half() -> None:
    held, values = 0, []
    for seed in range(15):
        features, _ = draw(seed, 100)
        member = np.random.default_rng(seed + 10**6).random(100) < 0.4
        errors = predict_errors(features, member)
        assert errors is not None
        rates = np.array([errors.missed, errors.mistaken])
        sizes = np.array([errors.members, errors.others]) / INFLATION
        ends = proportions.wilson(rates, sizes)
        value, low, high = proportions.mover_total(rates, ends, np.array([0.5, 0.5]))
        held += bool(low <= 0.5 <= high)
        values.append(float(value))
    assert np.mean(values) == pytest.approx(0.5, abs=0.04)
    assert held >= 12
