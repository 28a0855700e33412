"""Evidence under survey weights: where weights go with the outcome, as after over-sampling."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import polars as pl
import pytest
import statsmodels.api as sm

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Finding
from fairaudit.metrics import CATALOGUE, Requirement
from fairaudit.metrics.rates import PeopleCount
from fairaudit.result import Verdict

SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"sex": {"reference": "m"}},
        "decision": {"column": "d", "positive": 1},
        "weight": "w",
        "count": "n",
    }
}
Row = tuple[str, int, float, int]
"""Group, decision, weight, and how many such people."""


def linearised_z(rows: list[Row]) -> float:
    """(p - q) / √(v + w), with v = [(1 - p)² Σ₊ w² + p² Σ₋ w²] / (Σ w)² of each group."""
    shares, variances = {}, {}
    for g in ("m", "w"):
        own = [(d, w, n) for group, d, w, n in rows if group == g]
        total = sum(n * w for _, w, n in own)
        p = sum(n * w * d for d, w, n in own) / total
        variances[g] = sum(n * w * w * (d - p) ** 2 for d, w, n in own) / total**2
        shares[g] = p
    return (shares["w"] - shares["m"]) / math.sqrt(sum(variances.values()))


def finding_of(rows: list[Row], entry: dict[str, Any]) -> tuple[Finding, Verdict]:
    data = pl.DataFrame(rows, schema=["sex", "d", "w", "n"], orient="row")
    result = fairaudit.audit({**SPEC, "metrics": [entry]}, data=data)
    return result.findings[0], result.verdict


def test_a_disparity_among_those_sampled_more_is_evidence() -> None:
    """Selected people were sampled ten times as often: z is -3.7, where Kish's size gives -1.7."""
    rows: list[Row] = [("m", 1, 1, 250), ("m", 0, 9, 250), ("w", 1, 1, 190), ("w", 0, 9, 310)]
    assert linearised_z(rows) == pytest.approx(-3.717, abs=0.001)
    limit = {"below": 0.8, "significant": True}
    finding, verdict = finding_of(rows, {"metric": "disparate_impact_ratio", "fail": limit})
    assert verdict is Verdict.FAIL
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p < 0.001


def test_a_few_people_of_large_weight_are_no_evidence() -> None:
    """Selected people weigh ten times as much: z is 1.87, where Kish's size gives 3.5."""
    rows: list[Row] = [("m", 1, 10, 6), ("m", 0, 1, 494), ("w", 1, 10, 14), ("w", 0, 1, 486)]
    assert linearised_z(rows) == pytest.approx(1.874, abs=0.001)
    limit = {"outside": [-0.05, 0.05], "significant": True}
    entry = {"metric": "statistical_parity_difference", "fail": limit}
    finding, verdict = finding_of(rows, entry)
    assert verdict is not Verdict.FAIL
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert 0.05 < finding.estimate.significance.p < 0.1


@pytest.mark.parametrize("tiny", [0, 8])
def test_people_of_tiny_weight_are_no_evidence_for_the_heavy_ones(tiny: int) -> None:
    """20 of 20 heavy women against 900 of 1,000 men; of 80 women of tiny weight 0 or 8 are not."""
    rows: list[Row] = [
        ("m", 1, 1, 900),
        ("m", 0, 1, 100),
        ("w", 1, 1, 20),
        ("w", 1, 1e-4, 80 - tiny),
    ]
    rows += [("w", 0, 1e-4, tiny)] * bool(tiny)
    entry = {"metric": "statistical_parity_difference", "fail": {"outside": [-0.02, 0.02]}}
    finding, _ = finding_of(rows, entry)
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p > 0.1  # Fisher's test of the heavy ones: .25


@pytest.mark.parametrize("weight", [1.0, 2.5])
def test_equal_weights_leave_every_interval_as_it_is(weight: float) -> None:
    rows: list[Row] = [("m", 1, weight, 3), ("m", 0, weight, 47), ("w", 1, weight, 9),
                       ("w", 0, weight, 31)]  # fmt: skip
    entry = {"metric": "selection_rate", "compare": "difference"}
    with_weight, _ = finding_of(rows, {**entry, "fail": {"above": 0.5}})
    columns = {key: value for key, value in SPEC["columns"].items() if key != "weight"}
    data = pl.DataFrame(rows, schema=["sex", "d", "w", "n"], orient="row")
    plain = fairaudit.audit(
        {"columns": columns, "metrics": [{**entry, "fail": {"above": 0.5}}]}, data=data
    ).findings[0]
    assert with_weight.estimate is not None
    assert plain.estimate is not None
    ends = (plain.estimate.low, plain.estimate.high)
    assert (with_weight.estimate.low, with_weight.estimate.high) == pytest.approx(ends)


def test_the_variance_of_a_mean_error_is_linearised() -> None:
    """Of many rows it is Σ w² (e - mean)² / (Σ w)², where weights go with the error."""
    cells = [(1, 1, 1.0, 400), (0, 0, 3.0, 300), (1, 0, 5.0, 200), (0, 1, 1.0, 100)]
    rows = [("m", y, p, w, n) for y, p, w, n in cells]
    data = pl.DataFrame(rows, schema=["sex", "y", "p", "w", "n"], orient="row")
    total = sum(w * n for *_, w, n in rows)
    mean = sum(w * n * (y - p) for _, y, p, w, n in rows) / total
    variance = sum(n * w * w * (y - p - mean) ** 2 for _, y, p, w, n in rows) / total**2
    columns = {"protected": ["sex"], "label": "y", "prediction": "p", "weight": "w", "count": "n"}
    metrics = [{"metric": "mean_residual", "fail": {"outside": [-0.9, 0.9]}}]
    (finding,) = fairaudit.audit({"columns": columns, "metrics": metrics}, data=data).findings
    estimate = finding.estimate
    assert estimate is not None
    assert estimate.value == pytest.approx(mean)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.high - mean == pytest.approx(1.96 * math.sqrt(variance), rel=0.02)


@pytest.mark.parametrize(("hits", "size"), [(0, 100), (1, 104), (3, 112)])
def test_few_people_of_an_outcome_may_be_as_heavy_as_others_of_it(hits: int, size: int) -> None:
    """Selected people weigh 5: where a group has few, its size is Σ w / 5, as of equal weights.

    Without it a group of 100 with a rate of 5 % had intervals that covered it in .63 of samples.
    """
    rows: list[Row] = [("m", 1, 5, 200), ("m", 0, 1, 400), ("w", 0, 1, 100 - hits)]
    rows += [("w", 1, 5, hits)] if hits else []
    data = pl.DataFrame(rows, schema=["sex", "d", "w", "n"], orient="row")
    result = fairaudit.audit({**SPEC, "metrics": ["selection_rate"]}, data=data)
    estimate = next(row.estimate for row in result.rates if row.group == (("sex", "w"),))
    value = 5 * hits / size
    # Few people have few degrees of freedom: the interval is no shorter than by z.
    wilson = sm.stats.proportion_confint(value * size / 5, size / 5, method="wilson")
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= wilson[0] + 1e-9
    assert estimate.high >= wilson[1] - 1e-9
    assert estimate.low <= 0.05 <= estimate.high


def measure_all(
    columns: dict[str, Any], people: pl.DataFrame, ids: list[str]
) -> dict[str, dict[str, Any]]:
    """The checks of these measures, or of as many of them as the columns and a weight serve."""
    metrics = [{"metric": name, "fail": {"above": 1e6}} for name in ids]
    try:
        result = fairaudit.audit({"columns": columns, "metrics": metrics}, data=people)
    except SpecError as error:
        refused = {ids[int(at)] for at in re.findall(r"metrics\[(\d+)\]", str(error))}
        if not refused:
            raise
        return measure_all(columns, people, [name for name in ids if name not in refused])
    return {check["metric"]: check for check in result.to_dict()["checks"]}


@pytest.mark.long
@pytest.mark.parametrize("ordered", [False, True])
def test_every_interval_and_test_knows_how_much_weights_vary(ordered: bool) -> None:
    """People whose weights are evened out within each cell have the same values, of more people."""
    draw = random.Random(3)
    names = ["u", "v", "w"] if ordered else ["0", "1"]
    rows = [
        (draw.choice("mf"), draw.choice(names), draw.choice(names), draw.choice((1, 1, 2, 3, 7)))
        for _ in range(400)
    ]
    people = pl.DataFrame(rows, schema=["sex", "y", "p", "weight"], orient="row")
    even = people.with_columns(pl.col("weight").mean().over("sex", "y", "p"))
    outcome: dict[str, Any] = {"order": names} if ordered else {"positive": "1"}
    columns = {
        "protected": {"sex": {"reference": "m"}},
        "label": {"column": "y", **outcome},
        "prediction": {"column": "p", **outcome},
        "weight": "weight",
    }
    ids = [
        metric.id
        for metric in CATALOGUE
        if not isinstance(metric, PeopleCount) and Requirement.DRAWS not in metric.requirements
    ]
    varied, evened = (measure_all(columns, data, ids) for data in (people, even))
    assert len(varied) > 5
    for name in varied:
        for key in ("low", "high", "p"):
            found: list[Any] = [
                (check["significance"] or {}).get("p") if key == "p" else check[key]
                for check in (varied[name], evened[name])
            ]
            if None not in found and all(0 < abs(number) < 0.999 for number in found):
                assert found[0] != pytest.approx(found[1], rel=1e-6), (name, key)


def test_a_divergence_is_tested_by_effective_people() -> None:
    """Of two classes G is nearly the square of the linearised z: 3.72, not that of 1,000 rows."""
    rows: list[Row] = [("m", 1, 1, 250), ("m", 0, 9, 250), ("w", 1, 1, 190), ("w", 0, 9, 310)]
    finding, _ = finding_of(rows, {"metric": "kl_divergence", "fail": {"above": 1}})
    assert finding.estimate is not None
    found = finding.estimate.significance
    assert found is not None
    assert found.statistic == pytest.approx(linearised_z(rows) ** 2, rel=0.1)
