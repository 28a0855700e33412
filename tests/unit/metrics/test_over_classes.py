"""`class: macro` of comparisons: each class against the rest, then the mean of the measures."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Status

Row = tuple[str, str, str]
"""Group, label and predicted class of one person."""

PARITY = {"metric": "demographic_parity_difference", "class": "macro", "fail": {"above": 0.1}}
ODDS = {"metric": "equalized_odds_difference", "class": "macro", "fail": {"above": 0.1}}
APART = [("a", y, "x") for y in "xz" for _ in range(50)]
APART += [("b", y, "z") for y in "xz" for _ in range(50)]
"""Everybody of a is put into x, everybody of b into z."""


def _draw(seed: int) -> list[Row]:
    draw = random.Random(seed)
    rows = []
    for group, weights in (("a", (5, 3, 2)), ("b", (3, 3, 4)), ("c", (4, 1, 5))):
        for _ in range(draw.randint(60, 120)):
            label = draw.choices("xyz", weights)[0]
            known = draw.random() < 0.6
            rows.append((group, label, label if known else draw.choices("xyz", weights)[0]))
    return rows


def _judge(
    rows: Sequence[Row], *entries: dict[str, Any], **more: Any
) -> tuple[fairaudit.Finding, ...]:
    frame = pl.DataFrame(rows, schema=["g", "y", "p"], orient="row")
    columns = {"protected": ["g"], "label": "y", "prediction": "p"}
    spec = {"columns": columns, "metrics": [*entries], **more}
    return fairaudit.audit(spec, frame).findings


def _value(rows: Sequence[Row], metric: str, limit: str, **entry: Any) -> float:
    (finding,) = _judge(rows, {"metric": metric, "class": "macro", "warn": limit, **entry})
    assert finding.estimate is not None
    return finding.estimate.value


def _selected(rows: Sequence[Row], group: str, name: str) -> Fraction:
    of_group = [p for g, _, p in rows if g == group]
    return Fraction(of_group.count(name), len(of_group))


def _hit(rows: Sequence[Row], group: str, name: str) -> Fraction:
    of_group = [p for g, y, p in rows if g == group and y == name]
    return Fraction(of_group.count(name), len(of_group))


def _false_alarm(rows: Sequence[Row], group: str, name: str) -> Fraction:
    of_group = [p for g, y, p in rows if g == group and y != name]
    return Fraction(of_group.count(name), len(of_group))


def _mean(measure: Callable[[str], Fraction]) -> float:
    return float(sum(map(measure, "xyz"), Fraction(0)) / 3)


def test_opposite_gaps_of_classes_do_not_cancel() -> None:
    parity, odds = _judge(APART, PARITY, ODDS)
    for finding in (parity, odds):
        assert finding.estimate is not None
        assert finding.estimate.value == 1
        assert finding.status is Status.FAIL
    reference = {"metric": "selection_rate", "class": "macro", "reference": "a"}
    difference, ratio = _judge(
        APART,
        {**reference, "compare": "difference", "fail": {"above": 0.1}},
        {**reference, "compare": "ratio", "fail": {"below": 0.8}},
    )
    assert difference.estimate is not None
    assert difference.estimate.value == 1
    assert ratio.estimate is not None
    assert ratio.estimate.value == 0
    assert {difference.status, ratio.status} == {Status.FAIL}


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_each_class_is_compared_and_then_the_mean_is_taken(seed: int) -> None:
    rows = _draw(seed)

    def gap(rate: Callable[..., Fraction], name: str) -> Fraction:
        rates = [rate(rows, group, name) for group in "abc"]
        return max(rates) - min(rates)

    def quotient(first: str, second: str, name: str) -> Fraction:
        ratio = _selected(rows, first, name) / _selected(rows, second, name)
        return min(ratio, 1 / ratio)

    def apart(name: str) -> Fraction:
        rates = [rate(rows, "b", name) - rate(rows, "a", name) for rate in (_hit, _false_alarm)]
        return abs(sum(rates, Fraction(0))) / 2

    assert _value(rows, "demographic_parity_difference", "> 0.9") == pytest.approx(
        _mean(lambda name: gap(_selected, name))
    )
    assert _value(rows, "equalized_odds_difference", "> 0.9") == pytest.approx(
        _mean(lambda name: max(gap(_hit, name), gap(_false_alarm, name)))
    )
    highest = {name: max(_selected(rows, group, name) for group in "abc") for name in "xyz"}
    impact = _value(rows, "impact_ratio", "< 0.1")
    assert impact == pytest.approx(
        min(_mean(lambda name: _selected(rows, g, name) / highest[name]) for g in "abc")  # noqa: B023
    )
    two = [row for row in rows if row[0] != "c"]
    to_a = {"reference": "a"}
    assert _value(two, "selection_rate", "> 0.9", compare="difference", **to_a) == pytest.approx(
        _mean(lambda name: abs(_selected(two, "b", name) - _selected(two, "a", name)))
    )
    assert _value(two, "selection_rate", "< 0.1", compare="ratio", **to_a) == pytest.approx(
        _mean(lambda name: quotient("b", "a", name))
    )
    assert _value(two, "average_odds_difference", "> 0.9", **to_a) == pytest.approx(_mean(apart))
    # Of two groups the rest of one is the other.
    rest = _value(two, "true_positive_rate", "> 0.9", compare="difference", reference="rest")
    assert rest == pytest.approx(
        _mean(lambda name: abs(_hit(two, "a", name) - _hit(two, "b", name)))
    )


def test_the_class_farthest_from_parity_is_named_with_its_rates() -> None:
    rows = [("a", "x", p) for p in "x" * 50 + "y" * 30 + "z" * 20]
    rows += [("b", "x", p) for p in "x" * 20 + "y" * 35 + "z" * 45]
    frame = pl.DataFrame(rows, schema=["g", "y", "p"], orient="row")
    spec = {"columns": {"protected": ["g"], "prediction": "p"}, "metrics": [PARITY]}
    result = fairaudit.audit(spec, frame)
    (finding,) = result.findings
    assert finding.estimate is not None
    assert finding.estimate.exact == Fraction(1, 5)
    assert finding.decided_by == "x"
    assert [part.outcome for part in finding.parts] == ["x", "y", "z"]
    assert [part.value for part in finding.parts] == pytest.approx([0.3, 0.05, 0.25])
    assert "farthest in class 'x': g=a against g=b" in finding.headline
    assert {row.parameters["class"] for row in result.rates} == {"x", "y", "z"}


def test_the_interval_holds_for_all_classes_together() -> None:
    rows = [row for row in _draw(4) if row[0] != "c"]
    asked = {"metric": "selection_rate", "compare": "difference", "reference": "a"}
    limit = {"warn": {"above": 0.01, "significant": True}}
    (finding,) = _judge(rows, {**asked, **limit, "class": "macro"})
    each_confidence = 0.95 ** (1 / 3)
    each = _judge(
        rows,
        *({**asked, "class": name, "warn": "> 0.9"} for name in "xyz"),
        inference={"confidence": each_confidence, "correction": "none"},
    )
    lows, highs, p = [], [], []
    for one in each:
        assert one.estimate is not None
        assert one.estimate.low is not None
        assert one.estimate.high is not None
        assert one.estimate.significance is not None
        low, high = one.estimate.low, one.estimate.high
        lows.append(max(low, -high, 0))
        highs.append(max(abs(low), abs(high)))
        p.append(one.estimate.significance.p)
    assert finding.estimate is not None
    assert finding.estimate.low == pytest.approx(sum(lows) / 3)
    assert finding.estimate.high == pytest.approx(sum(highs) / 3)
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p == pytest.approx(1 - (1 - min(p)) ** 3)


@pytest.mark.parametrize(
    ("metric", "entry"),
    [
        ("selection_rate", {"compare": "ratio", "fail": {"below": 0.8, "significant": True}}),
        ("selection_rate", {"compare": "difference", "fail": {"above": 0.1, "conclusive": True}}),
        ("demographic_parity_ratio", {"fail": {"below": 0.8, "conclusive": True}}),
    ],
)
def test_evidence_counts_on_either_side_of_parity(metric: str, entry: dict[str, Any]) -> None:
    to = {"reference": "a"} if "compare" in entry else {}
    (finding,) = _judge(APART, {"metric": metric, "class": "macro", **entry, **to})
    assert finding.status is Status.FAIL


def test_a_class_without_a_value_leaves_the_mean_without_one() -> None:
    rows = [*APART, ("b", "x", "y")]
    (finding,) = _judge(rows, {**ODDS, "metric": "equal_opportunity_difference"})
    assert finding.status is Status.INCONCLUSIVE


def test_a_limit_that_the_mean_cannot_cross_is_refused() -> None:
    entry = {"metric": "selection_rate", "compare": "ratio", "class": "macro", "warn": "> 1.25"}
    with pytest.raises(SpecError, match="is always from 0 to 1"):
        _judge(APART, {**entry, "reference": "a"})
