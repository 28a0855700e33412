"""Thresholds on a score, and its curves, against plain loops over rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Status
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json

Row = tuple[str, bool, float, int]
"""Group, label, score, people."""

THRESHOLDS = ["0.25", "0.5", "0.7"]


def spec(**more: Any) -> dict[str, Any]:
    return {
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "label": {"column": "y", "positive": "yes", "negative": "no"},
            "score": "s",
            "count": "n",
        },
        "metrics": ["mean_score"],
        **more,
    }


def frame(rows: Sequence[Row]) -> pl.DataFrame:
    columns = {
        "g": [row[0] for row in rows],
        "y": ["yes" if row[1] else "no" for row in rows],
        "s": [row[2] for row in rows],
        "n": [row[3] for row in rows],
    }
    return pl.DataFrame(columns, schema_overrides={"s": pl.Float64})


def people(values: st.SearchStrategy[float]) -> st.SearchStrategy[list[Row]]:
    one = st.tuples(st.sampled_from("ab"), st.booleans(), values, st.integers(1, 5))
    fixed = [("a", True, 0.6, 1), ("a", False, 0.3, 1), ("b", True, 0.2, 1), ("b", False, 0.9, 1)]
    return st.lists(one, max_size=30).map(lambda rows: [*fixed, *rows])


def share(rows: Sequence[Row], at: float, *labels: bool) -> Fraction | None:
    """Of the people with such labels, the share that scores at least so much."""
    mine = [row for row in rows if row[1] in labels]
    total = sum(row[3] for row in mine)
    return Fraction(sum(row[3] for row in mine if row[2] >= at), total) if total else None


@given(rows=people(st.integers(0, 20).map(lambda k: k / 20)))
@examples(50)
def test_rates_at_thresholds_are_those_of_the_rows(rows: list[Row]) -> None:
    names = {
        "selection_rate": (True, False),
        "true_positive_rate": (True,),
        "false_positive_rate": (False,),
    }
    asked = [{"metric": name, "at": THRESHOLDS} for name in names]
    result = fairaudit.audit(spec(metrics=asked), frame(rows))
    assert len(result.rates) == 3 * len(names) * len(THRESHOLDS)
    for row in result.rates:
        mine = [one for one in rows if not row.group or one[0] == row.group[0][1]]
        at = row.parameters["at"]
        assert isinstance(at, float)
        expected = share(mine, at, *names[row.metric])
        assert expected is not None
        assert row.estimate.value == pytest.approx(float(expected), abs=1e-12)
        assert row.estimate.error == 0


@given(rows=people(st.integers(0, 20).map(lambda k: k / 20)))
@examples(30)
def test_a_criterion_at_a_threshold_is_that_of_the_cut_column(rows: list[Row]) -> None:
    cut = {"column": "s", "positive": {"at_least": "0.5"}}
    columns = {**spec()["columns"], "prediction": cut}
    metrics = ["equalized_odds_difference", "differential_fairness", "predictive_parity"]
    by_column = fairaudit.audit(spec(columns=columns, metrics=metrics), frame(rows))
    asked = [{"metric": name, "at": "0.5"} for name in metrics]
    by_histogram = fairaudit.audit(spec(metrics=asked), frame(rows))
    for one, two in zip(by_column.comparisons, by_histogram.comparisons, strict=True):
        assert one.estimate.value == pytest.approx(two.estimate.value, nan_ok=True)


def test_a_threshold_within_a_bin_is_told_and_judged_only_where_it_cannot_matter() -> None:
    """Two scores of one bin on both sides of a threshold: 0.3 lies between both."""
    near = [("a", True, 0.3 - 1e-9, 4), ("a", True, 0.3 + 1e-9, 4), ("a", True, 0.9, 2)]
    far = [("b", True, 0.1, 5), ("b", True, 0.8, 5), ("b", False, 0.8, 5), ("a", False, 0.1, 1)]
    asked = {"metric": "true_positive_rate", "at": "0.3"}
    limits = {"within": {"below": "0.5"}, "beyond": {"below": "0.1"}}
    found = {
        name: fairaudit.audit(
            spec(metrics=[{**asked, "fail": limit}]), frame([*near, *far])
        ).findings[0]
        for name, limit in limits.items()
    }
    assert found["within"].status is Status.INCONCLUSIVE
    assert "bins" in found["within"].why
    assert found["beyond"].status is Status.PASS
    (row,) = (
        row
        for row in fairaudit.audit(spec(metrics=[asked]), frame([*near, *far])).rates
        if row.group == (("g", "a"),)
    )
    assert row.estimate.value == pytest.approx(1.0)
    assert row.estimate.error == pytest.approx(0.8), "from 2/10 to 10/10"


@pytest.mark.parametrize(
    ("comparison", "error"),
    [
        ("difference", 0.8),
        ("log_ratio", math.log(5)),
        ("cohens_h", 2 * math.asin(1) - 2 * math.asin(math.sqrt(0.2))),
    ],
)
def test_what_a_bin_hides_is_told_on_the_scale_of_the_comparison(
    comparison: str, error: float
) -> None:
    """The group's rate lies between 2/10 and 10/10, that of the reference is 5/10."""
    near = [("a", True, 0.3 - 1e-9, 4), ("a", True, 0.3 + 1e-9, 4), ("a", True, 0.9, 2)]
    far = [("b", True, 0.1, 5), ("b", True, 0.8, 5), ("b", False, 0.8, 5), ("a", False, 0.1, 1)]
    metric: dict[str, object] = {"metric": "true_positive_rate", "at": "0.3"}
    metric |= {"compare": comparison, "reference": {"g": "b"}}
    result = fairaudit.audit(spec(metrics=[metric]), frame([*near, *far]))
    (row,) = (row for row in result.comparisons if row.first == (("g", "a"),))
    assert row.estimate.error == pytest.approx(error)


def test_a_value_on_one_side_of_a_split_bin_alone_is_not_judged() -> None:
    """All who are selected are in the bin: with it below the threshold there is nobody."""
    near = [("a", True, 0.3 - 1e-9, 4), ("a", False, 0.3 + 1e-9, 4)]
    far = [("b", label, score, 5) for label in (True, False) for score in (0.1, 0.8)]
    asked = {"metric": "precision", "at": "0.3", "fail": {"below": "0.01"}}
    found = fairaudit.audit(spec(metrics=[asked]), frame([*near, *far]))
    (finding,) = found.findings
    assert finding.status is Status.INCONCLUSIVE
    assert finding.why == "the bins of the score leave open what the value is"
    rows = json.loads(report_json.render(found))["rates"]
    (row,) = (row for row in rows if row.get("error", 0) is None)
    assert (row["group"], row["value"]) == ({"g": "a"}, 0.5)
    assert "0.500 or undefined" in terminal.render(content.document(found))


def test_what_takes_no_threshold_is_refused() -> None:
    with pytest.raises(SpecError, match="cannot be computed at a threshold"):
        fairaudit.audit(spec(metrics=[{"metric": "auc", "at": "0.5"}]), frame([]))
    columns = {**spec()["columns"], "score": None}
    del columns["score"]
    with pytest.raises(SpecError, match="needs a score"):
        fairaudit.audit(
            spec(columns=columns, metrics=[{"metric": "base_rate", "at": "0.5"}]), frame([])
        )


@given(rows=people(st.integers(0, 1000).map(lambda k: k / 1000)))
@examples(40)
def test_curves_are_those_of_the_rows(rows: list[Row]) -> None:
    result = fairaudit.audit(spec(), frame(rows))
    few = len({row[2] for row in rows}) <= 20
    assert [curve.group for curve in result.curves] == [(), (("g", "a"),), (("g", "b"),)]
    for curve in result.curves:
        mine = [row for row in rows if not curve.group or row[0] == curve.group[0][1]]
        bins: dict[float, list[Row]] = {}
        for row in mine:
            bins.setdefault(row[2] if few else min(math.floor(row[2] * 10), 9), []).append(row)
        assert len(curve.calibration) == len(bins)
        for point, (_, inside) in zip(curve.calibration, sorted(bins.items()), strict=True):
            n = sum(row[3] for row in inside)
            assert point.n == n
            assert point.share == pytest.approx(sum(row[3] for row in inside if row[1]) / n)
            assert point.mean_score == pytest.approx(sum(row[2] * row[3] for row in inside) / n)
            assert point.low <= point.share <= point.high
        for threshold in curve.thresholds:
            for value, labels in (
                (threshold.selected, (True, False)),
                (threshold.true_positive_rate, (True,)),
                (threshold.false_positive_rate, (False,)),
            ):
                expected = share(mine, threshold.at, *labels)
                assert value == (None if expected is None else pytest.approx(float(expected)))
        selected = [threshold.selected for threshold in curve.thresholds]
        assert selected == sorted(selected, reverse=True)
        assert len(selected) <= 20
