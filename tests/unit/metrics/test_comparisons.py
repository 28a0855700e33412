"""A comparison is one record: its interval, words, line, clusters and people follow from it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import fairaudit
from fairaudit import metrics
from fairaudit.base.frozen import replace
from fairaudit.evidence.methods import name_interval
from fairaudit.judge import Finding
from fairaudit.metrics import build_disparity
from fairaudit.metrics.comparisons import COMPARISONS, DIFFERENCE, GAP, RATIO
from fairaudit.metrics.disparities import Rescaling
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.report import check_page, rate_figures
from fairaudit.report.pictures import Intervals
from fairaudit.result import AuditResult
from fairaudit.spec import reading

RELATIVE = replace(
    RATIO,
    id="relative_difference",
    title="Relative difference to the reference",
    description="The group's value minus the reference's, divided by the reference's; 0 at parity.",
    formula="(group - reference) / reference",
    ideal=0,
    apply=lambda group, reference: (group - reference) / reference,
    of_positives=True,
    range=(-1, None),
    rescaling=Rescaling(lambda ratio: ratio - 1, lambda value: value + 1),
    worked="({a} - {b}) / ({b})",
)
INVERSE = replace(
    RATIO,
    id="inverse_ratio",
    title="Ratio of the reference",
    description="The reference's value divided by the group's; 1 at parity.",
    formula="reference / group",
    apply=lambda group, reference: reference / group,
    rises_with_rate=False,
    rescaling=Rescaling(lambda ratio: 1 / ratio, lambda value: 1 / value),
    worked="({b}) / ({a})",
)
MAX_RATIO = replace(
    RATIO,
    id="max_ratio",
    title="Ratio of the highest to the lowest group",
    description="The highest value of a group divided by the lowest; 1 at parity, never below.",
    formula="highest / lowest",
    is_max_min=True,
    range=(1, None),
    rescaling=Rescaling(lambda ratio: 1 / ratio, lambda value: 1 / value),
)
MADE_UP = (RELATIVE, INVERSE, MAX_RATIO)


@pytest.fixture(autouse=True)
def made_up_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparisons with some more: nothing else is told of them."""
    comparisons = (*COMPARISONS, *MADE_UP)
    by_id = {comparison.id: comparison for comparison in comparisons}
    monkeypatch.setattr(metrics, "_COMPARISONS", by_id)
    monkeypatch.setattr(reading, "_COMPARISONS", [*by_id])


def audit(compare: str, fail: dict[str, Any], *, clustered: bool = False) -> AuditResult:
    """30 of 100 of a are selected, and 60 of 100 of b, the reference where one is asked."""
    rows = [
        {"g": group, "d": decision, "c": f"{group}{person % 25}"}
        for group, selected in (("a", 30), ("b", 60))
        for person in range(100)
        for decision in [int(person < selected)]
    ]
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1, "negative": 0}}
    check = {"metric": "selection_rate", "compare": compare, "fail": fail}
    if compare not in {"min_ratio", "gap", "max_ratio"}:
        check["reference"] = "b"
    spec = {"columns": {**columns, **({"cluster": "c"} if clustered else {})}, "metrics": [check]}
    return fairaudit.audit(spec, pl.DataFrame(rows))


def finding(compare: str, fail: dict[str, Any], *, clustered: bool = False) -> Finding:
    return audit(compare, fail, clustered=clustered).findings[0]


def ends(found: Finding) -> tuple[float, float]:
    assert found.estimate is not None
    assert found.estimate.low is not None
    assert found.estimate.high is not None
    return found.estimate.low, found.estimate.high


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize(
    ("compare", "plain", "limit", "value"),
    [
        ("relative_difference", "ratio", {"below": -0.2}, lambda ratio: ratio - 1),
        ("inverse_ratio", "ratio", {"above": 1.25}, lambda ratio: 1 / ratio),
        ("max_ratio", "min_ratio", {"above": 1.25}, lambda ratio: 1 / ratio),
    ],
)
def test_the_interval_is_that_of_its_scale(
    compare: str, plain: str, limit: dict[str, Any], value: Any, *, clustered: bool
) -> None:
    of_scale = finding(plain, {"below": 0.8}, clustered=clustered)
    made_up = finding(compare, limit, clustered=clustered)
    assert of_scale.estimate is not None
    assert made_up.estimate is not None
    assert made_up.estimate.value == pytest.approx(value(of_scale.estimate.value))
    assert ends(made_up) == pytest.approx(sorted(map(value, ends(of_scale))))
    assert made_up.estimate.method == of_scale.estimate.method


@pytest.mark.parametrize(
    ("compare", "fail"),
    [
        ("relative_difference", {"below": -0.2}),
        ("inverse_ratio", {"above": 1.25}),
        ("max_ratio", {"above": 1.25}),
        ("ratio", {"below": 0.8}),
    ],
)
def test_worse_off_people_and_picture_follow(compare: str, fail: dict[str, Any]) -> None:
    """By hand: four fifths of 60 % are 48 %, so 18 more of 100."""
    result = audit(compare, fail)
    (found,) = result.findings
    assert found.worse_off == (("g", "a"),)
    assert found.practice is not None
    assert found.practice.to_limit == 18
    assert found.practice.limit == Fraction(4, 5)
    (figure,) = rate_figures.rates(result)
    assert isinstance(figure.picture, Intervals)
    lines = [rule.value for rule in figure.picture.rules if rule.limit]
    assert lines == pytest.approx([0.48])
    assert found.estimate is not None
    working = check_page.working(found)
    assert float(working[-1].filled.value) == pytest.approx(found.estimate.value)


def test_a_shortfall_to_the_highest_group_keeps_its_upper_end() -> None:
    """It falls as the rate rises: to the highest group it is never below 0, and may be above."""
    rows = [
        {"g": group, "d": int(person < selected), "c": f"{group}{person % 25}"}
        for group, selected in (("a", 30), ("b", 60))
        for person in range(100)
    ]
    decision = {"column": "d", "positive": 1, "negative": 0}
    check = {"metric": "mean_difference", "reference": "highest", "fail": {"above": 0.1}}
    columns = {"protected": ["g"], "decision": decision, "cluster": "c"}
    spec = {"columns": columns, "metrics": [check]}
    found = fairaudit.audit(spec, pl.DataFrame(rows)).findings[0]
    low, high = ends(found)
    assert 0 <= low < 0.3 < high


def test_the_interval_has_its_name() -> None:
    for comparison in MADE_UP:
        assert name_interval(build_disparity(SELECTION_RATE, comparison)).startswith("Koopman")


EVERY_COMPARISON = {
    comparison.id: comparison
    for comparison in (
        *COMPARISONS,
        *MADE_UP,
        *(part[1] for one in metrics.DISPARITIES for part in one.parts),
    )
}


def set_apart(comparison: metrics.Comparison, first: float, second: float) -> float:
    """Two rates on the scale of a comparison; of a spread the highest and the lowest."""
    match comparison.scale:
        case Scale.RATIO:
            return second / first if comparison.is_max_min else first / second
        case Scale.ODDS:
            return first * (1 - second) / (second * (1 - first))
        case Scale.ARCSINE:
            return 2 * math.asin(math.sqrt(first)) - 2 * math.asin(math.sqrt(second))
        case _:
            return first - second


def is_on_scale(comparison: metrics.Comparison) -> bool:
    """Whether the value is what its scale and rescaling make of two rates."""
    for pair in [(0.5, 0.25)] if comparison.is_max_min else [(0.5, 0.25), (0.25, 0.5)]:
        value = float(comparison.apply(*(pair if comparison.highest_first else pair[::-1])))
        apart = set_apart(comparison, *pair)
        if not math.isclose(value, comparison.rescaling.apply(apart)):
            return False
        if not math.isclose(apart, comparison.unscale(value)):
            return False
    return True


def list_faults(comparison: metrics.Comparison) -> list[str]:
    """What fields of a record contradict each other."""
    has_interval = comparison.has_interval
    rises = comparison.apply(0.5, 0.25) > comparison.apply(0.25, 0.25)
    is_turned = not comparison.is_max_min and bool(rises) != comparison.rises_with_rate
    faults = {
        "an interval and a scale, which has one": comparison.interval and comparison.scale,
        "neither an interval nor a reason": not (has_interval or comparison.no_interval),
        "a scale and no formula to fill in": comparison.scale and not comparison.worked,
        "a spread on no scale of pairs": comparison.is_max_min and comparison.interval,
        "not on its scale": comparison.scale and not is_on_scale(comparison),
        "the wrong direction": not comparison.contrast and is_turned,
    }
    return [fault for fault, is_so in faults.items() if is_so]


@pytest.mark.parametrize("name", EVERY_COMPARISON)
def test_no_record_contradicts_itself(name: str) -> None:
    assert list_faults(EVERY_COMPARISON[name]) == []


@pytest.mark.parametrize(
    ("comparison", "changes", "fault"),
    [
        (DIFFERENCE, {"scale": Scale.RATIO}, "not on its scale"),
        (DIFFERENCE, {"rises_with_rate": False}, "the wrong direction"),
        (DIFFERENCE, {"worked": ""}, "a scale and no formula to fill in"),
        (DIFFERENCE, {"interval": lambda *_: None}, "an interval and a scale, which has one"),
        (GAP, {"scale": None, "interval": lambda *_: None}, "a spread on no scale of pairs"),
        (DIFFERENCE, {"scale": None, "no_interval": ""}, "neither an interval nor a reason"),
        (RELATIVE, {"rescaling": Rescaling(lambda v: v - 1, lambda v: v)}, "not on its scale"),
    ],
)
def test_a_record_that_contradicts_itself_is_found(
    comparison: metrics.Comparison, changes: dict[str, Any], fault: str
) -> None:
    assert fault in list_faults(replace(comparison, **changes))


@pytest.mark.parametrize("extra", [{}, {"cluster": "ad"}, {"weight": "w"}])
def test_a_standardized_difference_is_that_of_the_people(extra: dict[str, str]) -> None:
    """Cohen's d of all rows by NumPy, whatever clusters they come in; weights weigh both sides."""
    people = {("m", 1, 1): 500, ("m", 0, 1): 500, ("f", 1, 3): 20, ("f", 0, 1): 980}
    rows = [who for who, n in people.items() for _ in range(n)]
    data = pl.DataFrame(rows, schema=["g", "y", "w"], orient="row")
    # Women come fifty to a cluster, men one by one.
    data = data.with_columns(
        ad=pl.int_range(2000) // pl.when(pl.col("g") == "f").then(50).otherwise(1)
    )
    weights = data["w"].to_numpy() if "weight" in extra else np.ones(2000)
    y, is_m = data["y"].to_numpy(), (data["g"] == "m").to_numpy()
    means = [np.average(y[side], weights=weights[side]) for side in (~is_m, is_m)]
    squares = weights * np.where(is_m, y - means[1], y - means[0]) ** 2
    deviation = math.sqrt(squares.sum() / weights.sum() * 2000 / 1998)
    columns = {"protected": {"g": {"reference": "m"}}, "decision": "y", **extra}
    metric = {"metric": "selection_rate", "compare": "standardized_difference"}
    (row,) = fairaudit.audit({"columns": columns, "metrics": [metric]}, data).comparisons
    assert row.estimate.value == pytest.approx((means[0] - means[1]) / deviation)
