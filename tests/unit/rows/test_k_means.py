"""Explanatory clusters: where they are plain to see, and what must be true of any."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from people import draw, number

import fairaudit
from fairaudit.counting.strata_models import ClusterModel
from fairaudit.cube.rows import Features
from fairaudit.rows.fitted_models import fit_clusters


def _nearest(model: ClusterModel, number: float, level: str | None = None) -> int:
    """The cluster of a person of one number and one category, in plain Python."""
    scores = []
    for distance in model.scores:
        score = distance.intercept
        for scale, slope in zip(model.features.numbers, distance.slopes, strict=True):
            score += slope * (number - scale.mean) / scale.deviation
        for category, points in zip(model.features.categories, distance.points, strict=True):
            score += points[category.levels.index(level or "")]
        scores.append(score)
    return scores.index(min(scores))


def test_heaps_of_people_are_clusters_the_largest_first() -> None:
    generator = np.random.default_rng(0)
    heaps = np.concatenate(
        [generator.normal(0, 0.1, 20), generator.normal(5, 0.1, 50), generator.normal(9, 0.1, 30)]
    )
    fit = fit_clusters(number(heaps), 3, 0)
    assert fit.model is not None
    assert fit.people == (50, 30, 20)
    assert fit.model.levels == ("cluster 1", "cluster 2", "cluster 3")
    assert [_nearest(fit.model, value) for value in (5.0, 9.0, 0.0)] == [0, 1, 2]
    assert fit.explained == pytest.approx(1, abs=0.01)


def test_a_category_alone_makes_clusters() -> None:
    codes = np.repeat([0, 1, 2], [5, 9, 7])[:, None]
    features = Features((), np.zeros((21, 0)), ("z",), codes, (("a", "b", "c"),))
    fit = fit_clusters(features, 3, 0)
    assert fit.model is not None
    assert fit.people == (9, 7, 5)
    assert [_nearest(fit.model, 0.0, level) for level in "bca"] == [0, 1, 2]


@examples(15)
@given(st.integers(0, 10**6))
def test_the_order_of_people_changes_nothing(seed: int) -> None:
    features, _ = draw(seed)
    order = np.random.default_rng(seed).permutation(len(features))
    assert fit_clusters(features, 4, 0) == fit_clusters(features.take(order), 4, 0)


@examples(10)
@given(st.integers(0, 10**6))
def test_the_model_places_people_as_the_fit_counts_them(seed: int) -> None:
    features, _ = draw(seed)
    features = Features(("x",), features.numbers[:, :1], ("z",), features.codes, features.levels)
    fit = fit_clusters(features, 4, 0)
    assert fit.model is not None
    model = fit.model
    places = [
        _nearest(model, float(x), features.levels[0][code])
        for x, code in zip(features.numbers[:, 0], features.codes[:, 0], strict=True)
    ]
    assert tuple(np.bincount(places, minlength=4)) == fit.people


def test_few_different_people_make_few_clusters() -> None:
    fit = fit_clusters(number(np.array([1.0, 1.0, 2.0])), 5, 0)
    assert fit.people == (2, 1)


@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0]])
def test_people_who_do_not_differ_have_no_clusters(values: list[float]) -> None:
    fit = fit_clusters(number(np.array(values)), 3, 0)
    assert (fit.model, fit.reason) == (None, "no feature varies")


def test_a_notice_gives_the_within_cluster_sum_of_squares() -> None:
    """0, 1 | 10, 11 are 0.5 from their centres, and their variance is 25.25: 40 · 0.25 / 25.25."""
    values = [0, 1, 10, 11] * 10
    frame = pl.DataFrame({"g": ["a", "b", "b", "a"] * 10, "x": values, "y": [1, 0, 0, 1, 0] * 8})
    spec = {
        "columns": {
            "protected": ["g"],
            "decision": {"column": "y", "positive": 1},
            "features": {"numeric": ["x"]},
        },
        "metrics": [
            {
                "metric": "selection_rate",
                "given": {"clusters": {"k": 2, "features": ["x"]}},
            }
        ],
    }
    (notice,) = (text for text in fairaudit.audit(spec, frame).notices if "k-means" in text)
    assert "2 clusters of 20, 20 people" in notice
    assert "99 % of the features' variance lies between clusters" in notice
    assert "within-cluster sum of squares 0.396, features standardised" in notice
