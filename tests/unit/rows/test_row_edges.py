"""Where a number of people one by one has no valid interval, or a model was not found."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from people import draw
from test_row_intervals import features_of, intervals

import fairaudit
from fairaudit.judge.checks import Status
from fairaudit.result import AuditResult
from fairaudit.rows import fitted_models
from fairaudit.rows.fitted_models import fit_propensity, predict_errors
from fairaudit.rows.similar_people import Mean, compare_twins, differing_pairs

DRAWS = 600
SIZES = [(1, 30), (1, 200), (1, 4000), (2, 200), (2, 4000), (6, 300), (30, 300)]
CASES = [
    (profiles, n, chance)
    for profiles, n in SIZES
    for chance in (0.5, 0.45, 0.4, 0.25, 0.1)
    if n * chance >= 5
]
"""Profiles, people, and the chance of a positive: of at least five people."""


@pytest.mark.long
@pytest.mark.parametrize(("profiles", "n", "chance"), CASES)
@pytest.mark.parametrize("kind", ["equals", "groups"])
def test_intervals_of_few_profiles_hold_the_truth(
    profiles: int, n: int, chance: float, kind: str
) -> None:
    """Where half of a profile is positive no single person moves the share; pairs vary."""
    generator, means = np.random.default_rng(7), list[Mean]()
    for _ in range(DRAWS):
        profile, group = generator.integers(0, profiles, n), generator.integers(0, 2, n)
        outcome = (generator.random(n) < chance).astype(float)
        if kind == "equals":
            means.append(differing_pairs(profile, outcome))
        else:
            means.append(differing_pairs(profile, outcome, group=group))
    truth = 2 * chance * (1 - chance)
    held = [low <= truth <= high for low, high in intervals(means, signed=False)]
    assert np.mean(held) >= 0.905


STEEP = {"lipschitz_violations": {"lipschitz": 10**6}}


def audit(
    metric: dict[str, Any], limit: dict[str, Any], outcome: list[int], age: list[float]
) -> AuditResult:
    """Two groups of people, by one number."""
    n = len(outcome)
    frame = pl.DataFrame({"g": ["a", "b"] * (n // 2), "p": outcome, "age": age})
    columns = {
        "protected": {"g": {"reference": "a"}},
        "prediction": {"column": "p", "positive": 1},
        "features": {"numeric": ["age"]},
    }
    check = {**metric, "fail": {**limit, "conclusive": True}}
    return fairaudit.audit({"columns": columns, "metrics": [check]}, frame)


AGES = [float(place // 2 % 50) for place in range(400)]


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("unawareness_violations", {"above": 0.6}),
        ("causal_discrimination", {"above": 0.6}),
        ("lipschitz_violations", {"above": 0.6}),
        ("consistency", {"below": 0.4}),
        ("twin_test", {"above": 0.1}),
    ],
)
def test_no_violation_seen_is_no_proof_that_there_is_none(
    metric: str, limit: dict[str, Any]
) -> None:
    """The outcome follows the age: the value is at the end of its range, and nothing passes."""
    outcome = [int(age >= 25) for age in AGES]
    ages = [age + 1000 * positive for age, positive in zip(AGES, outcome, strict=True)]
    result = audit({"metric": metric, **STEEP.get(metric, {})}, limit, outcome, ages)
    assert result.findings
    for finding in result.findings:
        assert finding.value in {0, 1}
        assert finding.status is not Status.PASS, finding
        assert "interval" in finding.why


@pytest.mark.parametrize("metric", ["unawareness_violations", "causal_discrimination"])
def test_half_of_a_crowd_has_an_interval_of_some_width(metric: str) -> None:
    """One profile, half of it positive: the share does not hang on any one person, but on pairs."""
    result = audit({"metric": metric}, {"above": 0.6}, [0, 0, 1, 1] * 25, [1.0] * 100)
    estimates = [finding.estimate for finding in result.findings if finding.estimate]
    assert estimates
    for estimate in estimates:
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.high - estimate.low > 0.005


def test_rates_of_few_twins_of_a_sample_are_undefined() -> None:
    features = features_of(np.repeat(np.arange(10.0), 8)[:, None])
    outcome, side = np.tile([0.0, 1.0], 40), np.arange(80) % 4 < 2
    members, others = np.flatnonzero(side), np.flatnonzero(~side)
    assert compare_twins(features, outcome, members, others).own.value == 0.5
    for mean in compare_twins(features, outcome, members, others, share=0.5):
        assert np.isnan(mean.value)


def test_a_model_that_does_not_converge_gives_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor does scikit-learn's warning reach anybody."""
    features, member = draw(1)
    assert fit_propensity(features, member, 5).model is not None
    monkeypatch.setattr(fitted_models, "MOST_STEPS", 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = fit_propensity(features, member, 5)
        assert predict_errors(features, member) is None
    assert not caught
    assert fit.model is None
    assert fit.reason == "the logistic model did not converge"


def test_a_model_that_does_not_converge_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitted_models, "MOST_STEPS", 1)
    generator = np.random.default_rng(2)
    age = generator.normal(size=200).round(1).tolist()
    result = audit(
        {"metric": "propensity_stratified_difference"}, {"above": 0.5}, [0, 1] * 100, age
    )
    assert any("the logistic model did not converge" in text for text in result.notices)
    assert all(finding.status is not Status.PASS for finding in result.findings)
    told_apart = audit({"metric": "balanced_error_rate"}, {"below": 0.1}, [0, 1] * 100, age)
    for finding in told_apart.findings:
        assert finding.status is not Status.PASS
        assert "did not converge" in finding.why


def test_a_missing_interval_is_not_blamed_on_a_missing_test() -> None:
    """Beyond the limit, conclusively asked: what lacks is the interval."""
    result = audit(
        {"metric": "unawareness_violations"},
        {"below": 0.1},
        [0, 0, 1, 1] * 100,
        [1.0, 1.0, 2.0, 2.0] * 100,
    )
    for finding in result.findings:
        assert "nobody" not in finding.why
        assert "a test needs two" not in finding.why
        assert finding.why.endswith("unavailable: too little variation to test")
