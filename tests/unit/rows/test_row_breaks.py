"""What measures of people one by one say of burdens, of few people, and in any order of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from people import number

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.counting.raw_rows import PROCESS
from fairaudit.judge.checks import Status
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, RateRow
from fairaudit.rows.similar_people import find_steepest_pair

RATES = {"w": 0.3, "m": 0.6, "x": 0.6}


def people(n: int = 200) -> pl.DataFrame:
    """People of three groups, of whom women are selected the least."""
    draw = np.random.default_rng(0)
    group = draw.choice(list(RATES), n, p=[0.4, 0.4, 0.2])
    chance = np.array([RATES[name] for name in group])
    return pl.DataFrame(
        {
            "g": group,
            "age": draw.integers(20, 30, n),
            "job": draw.choice(list("abc"), n),
            "d": np.where(draw.random(n) < chance, "yes", "no"),
        }
    )


def audit(frame: pl.DataFrame, *metrics: Any, favourable: bool = True, **more: Any) -> AuditResult:
    """The audit of decisions about people with an age and a job."""
    features = more.pop("features", {"numeric": ["age"], "categorical": ["job"]})
    decision = {"column": "d", "positive": "yes", "favourable": favourable}
    columns = {
        "protected": {"g": {"reference": "m"}},
        "decision": decision,
        "features": features,
    }
    return fairaudit.audit({"columns": columns, "metrics": list(metrics), **more}, frame)


def compared(result: AuditResult, metric: str, group: str = "w") -> ComparisonRow:
    """What a metric says of a group beside men, or of the whole table."""
    (row,) = [
        row
        for row in result.comparisons
        if row.metric == metric and row.group in {None, (), (("g", group),)}
    ]
    return row


def rate(result: AuditResult, group: str) -> RateRow:
    """The number of a group by itself."""
    (row,) = [row for row in result.rates if row.group == (("g", group),) and not row.stratum]
    return row


def test_of_a_burden_the_other_side_is_worse_off() -> None:
    names = ("situation_testing", "situation_testing_reversed", "twin_test")
    benefit, burden = (audit(people(), *names, favourable=side) for side in (True, False))
    worse, better = (compared(benefit, name).estimate.value for name in names[:2])
    assert worse > 0.5 > better
    assert compared(burden, names[0]).estimate.value == better
    assert compared(burden, names[1]).estimate.value == worse
    twins, turned = (compared(result, "twin_test").estimate for result in (benefit, burden))
    assert turned.value == -twins.value
    assert (turned.low, turned.high) == (-(twins.high or 0), -(twins.low or 0))


@pytest.mark.parametrize("favourable", [True, False])
@pytest.mark.parametrize("metric", ["situation_testing", "situation_testing_reversed", "twin_test"])
def test_a_check_names_who_is_worse_off(metric: str, *, favourable: bool) -> None:
    bounds = {"above": 0.01, "below": -0.01} if metric == "twin_test" else {"above": 0.01}
    asked = {"metric": metric, "by": "g", "fail": bounds}
    (finding,) = audit(people(), asked, favourable=favourable).findings
    assert finding.estimate is not None
    above = finding.estimate.value > 0
    first_is_worse = above != (metric == "situation_testing_reversed")
    assert finding.worse_off == (finding.first if first_is_worse else finding.second)


@pytest.mark.parametrize("alone", [1, 2, 7])
def test_a_handful_has_no_interval_and_no_test(alone: int) -> None:
    group = pl.when(pl.int_range(pl.len()) < alone).then(pl.lit("x"))
    frame = people().with_columns(g=group.otherwise(pl.lit("m")))
    result = audit(frame, "consistency", "twin_test")
    few = rate(result, "x").estimate
    assert math.isfinite(few.value)
    assert few.low is None
    assert few.high is None
    assert rate(result, "m").estimate.low is not None
    twins = compared(result, "twin_test", "x").estimate
    assert twins.low is None
    assert twins.significance is None or twins.significance.p is None


@pytest.mark.parametrize("evidence", ["conclusive", "significant"])
def test_one_person_passes_no_limit_that_asks_evidence(evidence: str) -> None:
    group = pl.when(pl.int_range(pl.len()) < 1).then(pl.lit("x")).otherwise(pl.lit("m"))
    bounds = {"below": -0.01, "above": 0.01, evidence: True}
    asked = {"metric": "twin_test", "fail": bounds}
    (finding,) = audit(people().with_columns(g=group), asked).findings
    assert finding.status == "inconclusive"


def test_a_sample_is_of_the_same_people_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairaudit.metrics.individual.MOST_ASKED", 60)
    monkeypatch.setattr("fairaudit.metrics.individual.LEAST_ASKED", 10)
    monkeypatch.setattr("fairaudit.rows.similar_people.MOST_IN_PAIRS", 40)
    names = ("consistency", "lipschitz_violations", "situation_testing")
    frame = people()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=4)
    numbers = [
        [
            *(row.estimate.value for row in result.rates),
            *(compared(result, "situation_testing", group).estimate.value for group in "wx"),
        ]
        for result in (audit(frame, *names), audit(shuffled, *names))
    ]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-12)


def test_groups_that_are_too_small_make_no_pairs() -> None:
    frame = people()
    smallest = frame.filter(pl.col("g") == "x").height
    without = audit(frame.filter(pl.col("g") != "x"), "causal_discrimination")
    result = audit(frame, "causal_discrimination", groups={"min_size": smallest + 1})
    value = compared(result, "causal_discrimination").estimate.value
    assert value == compared(without, "causal_discrimination").estimate.value


def test_that_no_pair_differs_is_not_tested() -> None:
    estimate = compared(audit(people(), "causal_discrimination"), "causal_discrimination").estimate
    assert estimate.low is not None
    assert estimate.significance is None or estimate.significance.p is None
    asked = {"metric": "causal_discrimination", "fail": {"above": 0.1, "significant": True}}
    with pytest.raises(SpecError, match="is the lowest possible value"):
        audit(people(), asked)


def test_an_outcome_among_the_features_is_told() -> None:
    features = {"numeric": ["age"], "categorical": ["job", "d"]}
    texts = [str(notice) for notice in audit(people(), "consistency", features=features).notices]
    assert any("d is an outcome and among the features" in text for text in texts)


@pytest.mark.parametrize(
    ("metric", "limit", "value"),
    [
        ("consistency", {"below": 0.9}, 1.0),
        ("unawareness_violations", {"above": 0.05}, 0.0),
        ("causal_discrimination", {"above": 0.05}, 0.0),
        ("unawareness_violations", {"below": 0.05}, 0.0),
    ],
)
def test_a_number_at_the_end_of_its_range_proves_nothing(
    metric: str, limit: dict[str, float], value: float
) -> None:
    frame = people().with_columns(d=pl.lit("yes"))
    entry = {"metric": metric, "by": "g", "fail": {**limit, "conclusive": True}}
    (finding,) = audit(frame, entry).findings
    assert finding.status is Status.INCONCLUSIVE
    assert finding.estimate is not None
    assert finding.estimate.value == value
    assert finding.estimate.low is None
    assert "is unavailable" in finding.why


@pytest.mark.parametrize("seed", range(3))
def test_the_steepest_of_equal_people_are_those_farthest_apart(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(300)
    score = np.concatenate([[0.4, 0.5, 0.1, 0.9], np.full(296, 0.5)])
    features = number(np.concatenate([[1.0, 1.0, 2.0, 2.0], np.arange(3.0, 299.0)])[order])
    pair = find_steepest_pair(features, score[order], np.arange(300))
    assert pair is not None
    assert {int(order[pair.first]), int(order[pair.second])} == {2, 3}
    assert math.isinf(pair.ratio)
    assert pair.gap == pytest.approx(0.8)


@pytest.mark.long
@pytest.mark.parametrize("metric", ["unawareness_violations", "causal_discrimination", "twin_test"])
@pytest.mark.parametrize("profiles", [2, 8])
def test_a_few_profiles_of_a_sample_never_pass(
    metric: str, profiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few profiles spread over many cells: the memory holds one or none of them."""
    monkeypatch.setattr("fairaudit.counting.raw_rows.BUDGET", PROCESS + 2**15)
    monkeypatch.setattr("fairaudit.counting.routes.rows._LEAST_HELD", 50)
    draw, n = np.random.default_rng(profiles), 4000
    frame = pl.DataFrame(
        {
            "g": draw.choice(["m", "w"], n),
            "h": draw.integers(0, 400, n).astype(str),
            "d": draw.choice(["yes", "no"], n),
            "age": draw.integers(0, profiles, n).astype(float),
        }
    )
    spec = {
        "columns": {
            "protected": {"g": {"reference": "m"}, "h": {}},
            "decision": {"column": "d", "positive": "yes"},
            "features": {"numeric": ["age"]},
        },
        "metrics": [{"metric": metric, "by": "g", "fail": {"above": 0.9}}],
    }
    (finding,) = fairaudit.audit(spec, frame).findings
    assert finding.estimate is None
    assert finding.status is Status.INCONCLUSIVE
    assert "fewer than 30 combinations of features of a sample" in finding.why
