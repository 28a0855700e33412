"""A change from one model to another (`against`) passes only if no group moves beyond the limit."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import polars as pl
import pytest
from conftest import sampled

import fairaudit
from fairaudit import AuditResult
from fairaudit import spec as specs
from fairaudit.base.errors import FairauditError
from fairaudit.metrics import CATALOGUE, Disparity, GroupMetric, Metric, Requirement

_RATES = {"a": (0.5, 0.3), "b": (0.9, 0.4), "c": (0.7, 0.4)}
"""Rates of true and of false positives."""


def _models(*names: str, **more: Any) -> dict[str, Any]:
    return {
        name: {"prediction": {"column": name, "positive": 1, "order": [0, 1]}, **more}
        for name in names
    }


def _people(now: Mapping[str, int], then: Mapping[str, int], of: int = 100) -> pl.DataFrame:
    """So many of so many people of each group are selected by the model of now, and of then."""
    rows = [(g, int(n < now[g]), int(n < then[g])) for g in now for n in range(of)]
    return pl.DataFrame(rows, ["g", "now", "then"], orient="row")


def _change(people: pl.DataFrame, *entries: dict[str, Any]) -> AuditResult:
    asked = [{"of": "now", "against": "then", **entry} for entry in entries]
    columns = {"protected": ["g"], "models": _models("now", "then")}
    return fairaudit.audit({"version": 1, "columns": columns, "metrics": asked}, people)


_COMPARED = {"metric": "selection_rate", "compare": "difference", "reference": {"g": "a"}}
_RATIO = {**_COMPARED, "compare": "ratio"}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        *(({**_COMPARED, "aggregate": how}, "0.400") for how in ("mean", "max", "sum", "min")),
        # 2 / 1 and 1 / 2 are both a factor of 2 from parity, on either side.
        *(({**_RATIO, "aggregate": how}, "2.000") for how in ("mean", "max", "sum")),
        ({**_RATIO, "aggregate": "min", "fail": {"below": -0.1}}, "-1.000"),
    ],
)
def test_one_number_over_groups_does_not_hide_that_a_group_moves_to_the_other_side(
    entry: dict[str, Any], told: str
) -> None:
    """B was 20 points below a, and is 20 points above it (twice as often, and half as often)."""
    if entry["compare"] == "ratio":
        people = _people({"a": 30, "b": 60}, {"a": 60, "b": 30})
    else:
        people = _people({"a": 40, "b": 60}, {"a": 60, "b": 40})
    (finding,) = _change(people, {"fail": {"above": 0.1}, **entry}).findings
    assert finding.value == pytest.approx(0)
    assert str(finding.status) == "inconclusive"
    assert f"the gap of g=b changes by {told}, over the limit, which the difference of the two" in (
        finding.why
    )


def test_one_number_over_groups_is_told_to_be_smaller() -> None:
    """B was 30 points below a, and is 5 above it: 25 points nearer, and it moved by 35."""
    people = _people({"a": 50, "b": 55}, {"a": 60, "b": 30})
    for limit, status in ((0.4, "pass"), (0.3, "inconclusive")):
        entry = {**_COMPARED, "aggregate": "max", "fail": {"above": limit}}
        (finding,) = _change(people, entry).findings
        assert finding.value == pytest.approx(-0.25)
        assert str(finding.status) == status
    nearer = _people({"a": 60, "b": 55}, {"a": 60, "b": 30})
    entry = {**_COMPARED, "aggregate": "max", "fail": {"above": 0.01}}
    (finding,) = _change(nearer, entry).findings
    assert str(finding.status) == "pass"


def test_rates_that_trade_places_are_not_hidden_by_a_mean_of_their_sizes() -> None:
    """The true positive rate of b was 40 points below that of a, and is 40 points above it."""
    rows = [
        (g, y, int(n < now), int(n < then))
        for g, now, then in (("a", 30, 70), ("b", 70, 30))
        for y in (0, 1)
        for n in range(100)
    ]
    people = pl.DataFrame(rows, ["g", "y", "now", "then"], orient="row")
    columns = {
        "protected": ["g"], "label": {"column": "y", "positive": 1},
        "models": _models("now", "then"),
    }  # fmt: skip
    entry = {"metric": "average_odds_error", "reference": "a", "of": "now", "against": "then"}
    metrics = [{**entry, "fail": {"above": 0.1}, **more} for more in ({}, {"aggregate": "max"})]
    result = fairaudit.audit({"version": 1, "columns": columns, "metrics": metrics}, people)
    for finding in result.findings:
        assert finding.value == pytest.approx(0)
        assert str(finding.status) == "inconclusive"
        assert "the gap of g=b changes by 0.800" in finding.why


def test_a_group_that_was_the_highest_is_judged_where_another_is_now() -> None:
    """A was selected most often, and is selected 4/7 times as often as b; c is in the middle."""
    people = _people({"a": 40, "b": 70, "c": 55}, {"a": 70, "b": 40, "c": 55})
    (finding,) = _change(people, {"metric": "impact_ratio", "fail": {"below": -0.1}}).findings
    assert str(finding.status) == "fail"
    assert finding.value == pytest.approx(40 / 70 - 1)
    assert dict(finding.first) == {"g": "a"}
    # b was at 4/7 and is the highest: better, which a limit `below` allows.
    assert [dict(breach.group) for breach in finding.crossed] == [{"g": "a"}]
    estimate = finding.estimate
    assert estimate is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert -0.65 < estimate.low < 40 / 70 - 1 < estimate.high < -0.1
    near = _people({"a": 70, "b": 71, "c": 55}, {"a": 71, "b": 70, "c": 55})
    (finding,) = _change(near, {"metric": "impact_ratio", "fail": {"below": -0.1}}).findings
    assert str(finding.status) == "pass"
    assert finding.value == pytest.approx(70 / 71 - 1)


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ("demographic_parity_difference", {"above": 0.1}),
        ("demographic_parity_ratio", {"below": -0.1}),
        ("differential_fairness", {"above": 0.1}),
    ],
)
def test_a_group_that_falls_behind_beside_the_farthest_leaves_a_check_open(
    metric: str, limit: dict[str, float]
) -> None:
    """B is 30 points behind a both times; c was equal to a, and is 29 points behind."""
    then = {"a": 70, "b": 40, "c": 70}
    (finding,) = _change(
        _people({**then, "c": 41}, then), {"metric": metric, "fail": limit}
    ).findings
    assert finding.value == pytest.approx(0)
    assert str(finding.status) == "inconclusive"
    assert "the gap of g=c changes by" in finding.why
    (finding,) = _change(
        _people({**then, "c": 68}, then), {"metric": metric, "fail": limit}
    ).findings
    assert str(finding.status) == "pass"


@pytest.mark.parametrize("metric", ["score_parity", "multicalibration"])
def test_a_score_that_errs_to_the_other_side_leaves_a_check_open(metric: str) -> None:
    """60 % of a are positive: their score was 0.4 and is 0.8, and that of b is 0.5 both times."""
    rows = [("a", int(n < 60), 0.8, 0.4) for n in range(100)]
    rows += [("b", int(n < 50), 0.5, 0.5) for n in range(100)]
    people = pl.DataFrame(rows, ["g", "y", "now", "then"], orient="row")
    columns = {
        "protected": ["g"], "label": {"column": "y", "positive": 1},
        "models": {name: {"score": name} for name in ("now", "then")},
    }  # fmt: skip
    entry = {"metric": metric, "of": "now", "against": "then", "fail": {"above": 0.05}}
    spec = {"version": 1, "columns": columns, "metrics": [entry]}
    (finding,) = fairaudit.audit(spec, people).findings
    assert finding.value == pytest.approx(0)
    assert str(finding.status) == "inconclusive"
    assert "changes by 0." in finding.why


def _swapped() -> pl.DataFrame:
    """People with either label and a stratum; what a and b had, they have in exchange."""
    rows, places = [], {"a": "b", "b": "a", "c": "c"}
    for g, y, z, n in product("abc", (0, 1), "uv", range(50)):
        now, then = (int(n < 50 * _RATES[other][1 - y]) for other in (g, places[g]))
        scores = (0.1 + 0.5 * chosen + 0.05 * (n % 7) for chosen in (now, then))
        rows.append((g, y, z, now, then, *scores))
    return pl.DataFrame(rows, ["g", "y", "z", "now", "then", "s", "t"], orient="row")


def _entries_of(metric: Metric) -> list[dict[str, Any]]:
    """Comparisons of a measure, each group with a, with the rest, or the highest; aggregates."""
    asked: dict[str, Any] = {"metric": metric.id}
    if metric.id == "expected_utility":
        asked["utilities"] = {"tp": 2, "fp": 1, "fn": -1, "tn": "0.5"}
    if getattr(metric, "conditional", False):
        asked["given"] = "z"
    if isinstance(metric, GroupMetric):
        if metric.conditional or metric.instead:
            return []
        references: list[Any] = [{"g": "a"}, "rest", "highest"]
        asked["compare"] = "difference"
    elif isinstance(metric, Disparity) and metric.to_reference:
        references = [{"g": "a"}] if metric.reference is None else [None]
    else:
        return [asked]
    return [
        {
            **asked,
            **({} if reference is None else {"reference": reference}),
            **({} if how is None else {"aggregate": how}),
        }
        for reference in references
        for how in (None, "max", "mean")
    ]


_NOT_OF_THE_MODEL = {"base_rate", "group_size", "explained_difference", "atkinson"}
"""The last is 1 in every group where some people have no benefit at all."""


@pytest.mark.long
def test_no_measure_passes_if_two_groups_trade_places() -> None:
    """Or a notice says that the measure has no direction."""
    lacking = {
        Requirement.DRAWS, Requirement.FEATURES, Requirement.NUMBER, Requirement.NUMERIC_LABEL,
        Requirement.NUMERIC_ATTRIBUTE,
    }  # fmt: skip
    metrics = [
        {**entry, "of": "now", "against": "then", "fail": {"outside": [-0.005, 0.005]}}
        for metric in CATALOGUE
        if metric.id not in _NOT_OF_THE_MODEL and not metric.requirements & lacking
        for entry in _entries_of(metric)
        if metric.id != "propensity_stratified_difference"
    ]
    columns = {
        "protected": ["g"], "strata": ["z"], "label": {"column": "y", "positive": 1},
        "models": {
            name: {**model, "score": score}
            for (name, model), score in zip(_models("now", "then").items(), "st", strict=True)
        },
    }  # fmt: skip
    metrics = [entry for entry in sampled(metrics) if _is_accepted(columns, entry)]
    assert len(metrics) > 60
    result = fairaudit.audit({"version": 1, "columns": columns, "metrics": metrics}, _swapped())
    told = "\n".join(map(str, result.notices))
    passed = [
        finding.check.id
        for finding in result.findings
        if str(finding.status) == "pass"
        and f"{finding.check.id}: {finding.check.id.partition('/')[0]}" not in told
    ]
    assert not passed, passed


def _is_accepted(columns: dict[str, Any], entry: dict[str, Any]) -> bool:
    """Whether a spec may have the entry: some measures are not compared, or have no models."""
    try:
        specs.of_mapping({"version": 1, "columns": columns, "metrics": [entry]})
    except FairauditError:
        return False
    return True
