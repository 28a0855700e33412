"""Propensity strata against statsmodels' Logit, and what must be true of any."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from people import adult, draw, number

from fairaudit.base.arrays import Marks
from fairaudit.counting.strata_models import PropensityModel
from fairaudit.cube.rows import Features
from fairaudit.rows.fitted_models import count_bins, fit_propensity


def _fitted(features: Features, member: Marks, bins: int = 5) -> PropensityModel:
    model = fit_propensity(features, member, bins).model
    assert model is not None
    return model


def _score(model: PropensityModel, person: dict[str, object]) -> float:
    """The score of one person, in plain Python."""
    odds = model.score.intercept
    for scale, slope in zip(model.features.numbers, model.score.slopes, strict=True):
        odds += slope * (float(str(person[scale.column])) - scale.mean) / scale.deviation
    for category, points in zip(model.features.categories, model.score.points, strict=True):
        odds += points[category.levels.index(str(person[category.column]))]
    return round(1 / (1 + math.exp(-odds)), 6)


def _persons(features: Features) -> list[dict[str, object]]:
    return [
        dict(zip(features.number_names, map(float, numbers), strict=True))
        | {name: features.levels[at][codes[at]] for at, name in enumerate(features.category_names)}
        for numbers, codes in zip(features.numbers, features.codes, strict=True)
    ]


@pytest.mark.long
def test_scores_are_those_of_statsmodels_on_adult() -> None:
    features, member = adult()
    blocks = [np.ones((len(features), 1)), features.numbers / features.numbers.max(axis=0)]
    blocks += [np.eye(column.max() + 1)[column][:, 1:] for column in features.codes.T]
    expected = sm.Logit(member.astype(float), np.hstack(blocks)).fit(disp=0, method="newton")
    model = _fitted(features, member)
    sample = np.random.default_rng(0).choice(len(features), 2000, replace=False)
    scores = [_score(model, person) for person in _persons(features.take(sample))]
    assert np.abs(np.array(scores) - expected.predict()[sample]).max() < 2e-5
    inside = expected.predict()
    inside = inside[(inside >= model.support[0]) & (inside <= model.support[1])]
    quantiles = np.quantile(inside, [0.2, 0.4, 0.6, 0.8], method="inverted_cdf")
    assert model.edges == pytest.approx(quantiles, abs=2e-5)


@examples(20)
@given(st.integers(0, 10**6))
def test_sides_swapped_mirror_the_scores(seed: int) -> None:
    features, member = draw(seed)
    model, mirrored = _fitted(features, member), _fitted(features, ~member)
    for person in _persons(features)[:20]:
        assert _score(model, person) == pytest.approx(1 - _score(mirrored, person), abs=2e-6)


@examples(20)
@given(st.integers(0, 10**6))
def test_the_order_of_people_changes_nothing(seed: int) -> None:
    features, member = draw(seed)
    order = np.random.default_rng(seed).permutation(len(features))
    assert fit_propensity(features, member, 5) == fit_propensity(
        features.take(order), member[order], 5
    )


@examples(20)
@given(st.integers(0, 10**6), st.integers(2, 9))
def test_strata_are_of_equal_size_where_scores_differ(seed: int, bins: int) -> None:
    generator = np.random.default_rng(seed)
    values = generator.permutation(400).astype(np.float64)
    member = generator.random(400) < 0.5
    model = _fitted(number(values), member, bins)
    scores = np.array([_score(model, {"x": value}) for value in values])
    inside = scores[(scores >= model.support[0]) & (scores <= model.support[1])]
    sizes = np.bincount(np.searchsorted(model.edges, inside, side="right"))
    assert len(sizes) == bins
    # Scores are rounded, so a few people tie at an edge.
    assert sizes.max() - sizes.min() <= 6


def test_whoever_has_no_counterpart_is_counted() -> None:
    # The scores rise with x: of the members 8 and 9, of the others 0 and 1 are alone.
    values = np.arange(10, dtype=np.float64)
    member = np.array([0, 0, 1, 0, 1, 0, 1, 0, 1, 1], dtype=np.bool_)
    fit = fit_propensity(number(values), member, 2)
    assert fit.members is not None
    assert fit.others is not None
    assert (fit.members.people, fit.members.without_counterpart) == (5, 2)
    assert (fit.others.people, fit.others.without_counterpart) == (5, 2)


def test_sides_that_are_told_apart_have_no_strata() -> None:
    fit = fit_propensity(number(np.arange(40.0)), np.arange(40) >= 20, 5)
    assert fit.model is None
    assert fit.reason == "the features separate the two groups completely: no one has a counterpart"
    assert fit.members is not None
    assert fit.members.without_counterpart == 20


def test_a_level_that_one_side_alone_has_leaves_its_people_without_a_counterpart() -> None:
    features, member = draw(3)
    codes = np.where(member & (np.arange(len(features)) % 7 == 0), 3, features.codes[:, 0])
    levels = (("a", "b", "c", "only members"),)
    fit = fit_propensity(
        Features(("x", "y"), features.numbers, ("z",), codes[:, None], levels), member, 5
    )
    assert fit.members is not None
    assert fit.members.without_counterpart >= (codes == 3).sum()


@pytest.mark.parametrize(
    ("values", "members", "reason"),
    [
        ([1.0] * 20, 8, "no feature varies"),
        (list(range(20)), 1, "one side has fewer than 2 people"),
        (list(range(20)), 0, "one side has fewer than 2 people"),
        ([], 0, "one side has fewer than 2 people"),
    ],
)
def test_what_cannot_be_fitted_says_why(values: list[float], members: int, reason: str) -> None:
    fit = fit_propensity(number(np.array(values)), np.arange(len(values)) < members, 5)
    assert (fit.model, fit.reason) == (None, reason)


def test_strata_are_named_by_their_scores() -> None:
    features, member = draw(1)
    model = _fitted(features, member, 3)
    low, high = (f"{edge:.6f}".rstrip("0") for edge in model.edges)
    assert model.levels == (f"1: under {low}", f"2: {low} to {high}", f"3: {high} and over")


def test_equal_scores_make_fewer_strata() -> None:
    values = np.array([0.0, 1.0] * 20)
    member = np.arange(40) % 5 > values
    assert len(_fitted(number(values), member).levels) == 2


@pytest.mark.parametrize(
    ("smaller", "larger", "bins"),
    [
        (10, 10_000, 5),
        (62, 62, 5),
        (500, 500, 10),
        (500, 9_000, 10),
        (4_000, 4_000, 20),
        (10**6, 10**6, 20),
    ],
)
def test_strata_grow_with_the_people_of_the_smaller_side(
    smaller: int, larger: int, bins: int
) -> None:
    assert count_bins(np.arange(smaller + larger) < smaller) == bins


def test_more_people_leave_less_of_the_confounding() -> None:
    """One normal feature decides who is a member: twenty strata leave a fifth of what five do."""
    generator = np.random.default_rng(2)
    values = generator.normal(size=40_000)
    member = generator.random(40_000) < 1 / (1 + np.exp(-values))
    left = {}
    for bins in (5, None):
        (row,) = fit_propensity(number(values), member, bins).balance
        left[bins] = row.after / row.before
    assert left[5] > 0.06
    assert left[None] < 0.02


def test_balance_is_that_of_plain_means_in_every_stratum() -> None:
    features, member = draw(4)
    fit = fit_propensity(features, member, 6)
    model = _fitted(features, member, 6)
    persons = _persons(features)
    strata = [
        sum(edge <= score for edge in model.edges)
        if model.support[0] <= (score := _score(model, person)) <= model.support[1]
        else None
        for person in persons
    ]

    def gap(values: list[float], within: int | None = None) -> tuple[float, int] | None:
        sides = [
            [
                value
                for value, belongs, stratum in zip(values, member, strata, strict=True)
                if belongs == side and (within is None or stratum == within)
            ]
            for side in (True, False)
        ]
        if not all(sides):
            return None
        return sum(sides[0]) / len(sides[0]) - sum(sides[1]) / len(sides[1]), sum(map(len, sides))

    def apart(values: list[float]) -> tuple[float, float]:
        spread = math.sqrt(
            sum(np.var(np.array(values)[member == side], ddof=1) for side in (0, 1)) / 2
        )
        inside = [one for z in range(len(model.levels)) if (one := gap(values, z))]
        whole = gap(values)
        assert whole is not None
        after = sum(value * n for value, n in inside) / sum(n for _, n in inside)
        return abs(whole[0]) / spread, abs(after) / spread

    for row in fit.balance:
        if row.feature in features.number_names:
            options = [apart([float(str(person[row.feature])) for person in persons])]
        else:
            levels = {person[row.feature] for person in persons}
            options = [
                apart([float(person[row.feature] == level) for person in persons])
                for level in levels
            ]
        expected = tuple(map(max, zip(*options, strict=True)))
        assert (row.before, row.after) == pytest.approx(expected, rel=1e-9)
    assert [row.feature for row in fit.balance] == [*features.names]
