"""One number over all groups, against plain Python over rows and Fairlearn's `to_overall`."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from typing import Any

import fairlearn.metrics
import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError

DRAW = random.Random(7)
GROUPS = ["a"] * 120 + ["b"] * 80 + ["c"] * 40 + ["d"] * 10
Y = [int(DRAW.random() < {"a": 0.6, "b": 0.4, "c": 0.7, "d": 0.5}[group]) for group in GROUPS]
FRAME = pl.DataFrame({"g": GROUPS, "y": Y})


def _value(compare: str, aggregate: str, data: pl.DataFrame = FRAME, **entry: Any) -> float:
    check = {"metric": "selection_rate", "compare": compare, "aggregate": aggregate}
    limit = "< 1e-9" if compare == "ratio" else "> 1e9"
    limit = "> 0.9999" if aggregate != "sum" and compare == "difference" else limit
    limit = "> 1e9" if compare == "ratio" and aggregate != "min" else limit
    metrics = [{"reference": "overall", "warn": limit, **check, **entry}]
    spec = {"columns": {"protected": ["g"], "decision": "y"}, "metrics": metrics}
    (finding,) = fairaudit.audit(spec, data).findings
    assert finding.estimate is not None
    assert finding.estimate.low is None
    return finding.estimate.value


def _rates() -> tuple[Mapping[str, float], Mapping[str, int], float]:
    people = {group: GROUPS.count(group) for group in "abcd"}
    hits = dict.fromkeys(people, 0)
    for group, y in zip(GROUPS, Y, strict=True):
        hits[group] += y
    return {g: hits[g] / people[g] for g in people}, people, sum(Y) / len(Y)


def test_differences_over_groups() -> None:
    rates, people, overall = _rates()
    apart = {group: abs(rate - overall) for group, rate in rates.items()}
    assert _value("difference", "sum") == pytest.approx(sum(apart.values()))
    assert _value("difference", "max") == pytest.approx(max(apart.values()))
    assert _value("difference", "min") == pytest.approx(min(apart.values()))
    weighed = sum(people[group] * apart[group] for group in apart) / len(GROUPS)
    assert _value("difference", "mean") == pytest.approx(weighed)


def test_ratios_over_groups() -> None:
    rates, people, overall = _rates()
    logs = {group: abs(math.log(rate / overall)) for group, rate in rates.items()}
    assert _value("ratio", "sum") == pytest.approx(math.exp(sum(logs.values())))
    assert _value("ratio", "max") == pytest.approx(math.exp(max(logs.values())))
    assert _value("ratio", "min") == pytest.approx(math.exp(-max(logs.values())))
    weighed = sum(people[group] * logs[group] for group in logs) / len(GROUPS)
    assert _value("ratio", "mean") == pytest.approx(math.exp(weighed))


def test_fairlearn_calls_the_farthest_from_everybody_to_overall() -> None:
    frame = fairlearn.metrics.MetricFrame(
        metrics=fairlearn.metrics.selection_rate, y_true=Y, y_pred=Y, sensitive_features=GROUPS
    )
    assert _value("difference", "max") == pytest.approx(frame.difference(method="to_overall"))
    assert _value("ratio", "min") == pytest.approx(frame.ratio(method="to_overall"))


@pytest.mark.parametrize("compare", ["difference", "ratio"])
@pytest.mark.parametrize("aggregate", ["sum", "max", "min", "mean"])
def test_equal_groups_are_at_parity(compare: str, aggregate: str) -> None:
    data = pl.DataFrame({"g": ["a"] * 4 + ["b"] * 8, "y": [1, 0] * 6})
    assert _value(compare, aggregate, data) == pytest.approx(float(compare == "ratio"), abs=1e-12)


@pytest.mark.parametrize("aggregate", ["sum", "max", "min", "mean"])
def test_a_group_of_whom_nobody_is_known_leaves_no_pass(aggregate: str) -> None:
    data = pl.DataFrame(
        {"g": ["a"] * 4 + ["b"] * 4, "y": [1, 0] * 2 + [0] * 4, "l": [1] * 4 + [0] * 4}
    )
    columns = {"protected": ["g"], "prediction": "y", "label": "l"}
    entry = {"metric": "true_positive_rate", "compare": "difference", "aggregate": aggregate}
    metrics = [{**entry, "reference": "rest", "fail": "> 0.5"}]
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, data)
    assert [str(finding.status) for finding in result.findings] == ["inconclusive"]


@pytest.mark.parametrize(
    ("compare", "aggregate", "is_told"),
    [("difference", "min", True), ("difference", "max", False), ("ratio", "min", False)],
)
def test_a_gate_on_the_nearest_group_is_told(
    compare: str, aggregate: str, *, is_told: bool
) -> None:
    limit = "< 0.5" if compare == "ratio" else "> 0.5"
    entry = {"metric": "selection_rate", "compare": compare, "aggregate": aggregate, "warn": limit}
    spec = {"columns": {"protected": ["g"], "decision": "y"}}
    metrics = [{**entry, "reference": "overall"}]
    notices = fairaudit.audit({**spec, "metrics": metrics}, FRAME).notices
    assert any("nearest to parity" in notice for notice in notices) is is_told


def test_an_exact_limit_is_decided_by_fractions() -> None:
    data = pl.DataFrame({"g": ["a"] * 10 + ["b"] * 10, "y": [1] * 3 + [0] * 7 + [1] * 6 + [0] * 4})
    spec = {"columns": {"protected": ["g"], "decision": "y"}}
    for limit, status in (("> 0.6", "pass"), ("> 0.5999999999999", "fail")):
        entry = {"metric": "selection_rate", "compare": "difference", "aggregate": "sum"}
        metrics = [{**entry, "reference": "rest", "fail": limit}]
        (finding,) = fairaudit.audit({**spec, "metrics": metrics}, data).findings
        assert str(finding.status) == status


@pytest.mark.parametrize("aggregate", ["median", "SUM", "1"])
def test_another_word_is_a_fault(aggregate: str) -> None:
    with pytest.raises(SpecError, match="is not one of mean, sum, max, min"):
        _value("difference", aggregate)


def test_one_number_over_groups_is_named_with_its_reference() -> None:
    """In the rows, their JSON and the tables: not as the comparison of one group."""
    entry = {"metric": "selection_rate", "compare": "difference", "reference": "overall"}
    spec = {
        "columns": {"protected": ["g"], "decision": "y"},
        "metrics": [{**entry, "aggregate": how} for how in ("mean", "max", "sum")],
    }
    result = fairaudit.audit(spec, FRAME)
    rows = json.loads(result.to_json())["comparisons"]
    assert [row["reference"] for row in rows] == ["overall"] * 3
    for row, how in zip(rows, ("mean", "max", "sum"), strict=True):
        assert f"{how} over groups" in row["title"]
        assert any(f"{how} over groups" in one.title for one in result.lattice[0].entries)


@pytest.mark.parametrize("aggregate", ["sum", "max", "min", "mean"])
def test_one_number_over_groups_has_no_test(aggregate: str) -> None:
    """That two large groups differ is no evidence for the four people who make the number."""
    rates = {"m": (6000, 10000), "f": (5700, 10000), "x": (1, 4)}
    data = pl.DataFrame(
        [(g, y, k) for g, (x, n) in rates.items() for y, k in ((1, x), (0, n - x))],
        ["g", "y", "n"], orient="row",
    )  # fmt: skip
    columns = {"protected": {"g": {"reference": "m"}}, "decision": "y", "count": "n"}
    entry = {"metric": "disparate_impact_ratio", "aggregate": aggregate}
    asked = {**entry, "fail": {"below": 0.8, "significant": True}}
    if aggregate in {"sum", "max", "mean"}:
        asked["fail"] = {"above": 1.25, "significant": True}
    with pytest.raises(SpecError, match="without `aggregate` each group has one"):
        fairaudit.audit({"columns": columns, "metrics": [asked]}, data)
    rows = json.loads(fairaudit.audit({"columns": columns, "metrics": [entry]}, data).to_json())
    assert rows["comparisons"][0]["significance"] is None


@pytest.mark.parametrize("amount", ["weight", "count"])
def test_a_mean_over_groups_weighs_them_by_their_weights(amount: str) -> None:
    """|45/100 - ½| of 100 people and |5/20 - ½| of 20 who weigh 100 each: (5 + 500) / 2100."""
    rows = [("m", 1, 1)] * 50 + [("m", 0, 1)] * 50 + [("f", 1, 1)] * 45 + [("f", 0, 1)] * 55
    rows += [("x", 1, 100)] * 5 + [("x", 0, 100)] * 15
    data = pl.DataFrame(rows, schema=["g", "y", "w"], orient="row")
    metric = {"metric": "mean_difference", "aggregate": "mean", "fail": "> 0.1"}
    columns = {"protected": {"g": {"reference": "m"}}, "decision": "y", amount: "w"}
    (finding,) = fairaudit.audit({"columns": columns, "metrics": [metric]}, data).findings
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx((100 * 0.05 + 2000 * 0.25) / 2100)
