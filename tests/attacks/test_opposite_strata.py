"""One number for all strata does not pass if gaps within them have opposite directions."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit import Finding

_LIMIT = {"fail": {"outside": [-0.1, 0.1]}}
_AVERAGE = {"compare": "difference", "given": "z", "average": "pooled", "reference": "m"}
_FITTED = {"metric": "regression_slope", "controls": ["z"], "reference": "m"}
_DECISION: dict[str, Any] = {"decision": {"column": "p", "positive": 1}}
_NUMBER: dict[str, Any] = {"label": {"column": "pay", "number": True}}
_SCORED: dict[str, Any] = {
    "label": {"column": "y", "positive": 1},
    "prediction": {"column": "p", "positive": 1},
    "score": "s",
}


def _people(of_v: tuple[int, int]) -> pl.DataFrame:
    """Of 100 people with either label in u: men 80 right decisions and women 20; in v `of_v`."""
    rows = []
    for z, rates in (("u", (80, 20)), ("v", of_v)):
        for g, right in zip("mf", rates, strict=True):
            for y, number in ((y, n) for y in (0, 1) for n in range(100)):
                p = y if number < right else 1 - y
                rows.append((g, z, y, p, 0.2 + 0.6 * p + 0.01 * (number % 7), 2.0 * (y == p)))
    return pl.DataFrame(rows, ["sex", "z", "y", "p", "s", "pay"], orient="row")


def _find(people: pl.DataFrame, columns: dict[str, Any], entry: dict[str, Any]) -> Finding:
    columns = {"protected": ["sex"], "strata": ["z"], **columns}
    spec = {"version": 1, "columns": columns, "metrics": [{**_LIMIT, **entry}]}
    (finding,) = fairaudit.audit(spec, people).findings
    return finding


@pytest.mark.parametrize(
    ("columns", "entry", "which"),
    [
        (_DECISION, _FITTED, 1),
        (_DECISION, {**_FITTED, "aggregate": "max", "fail": {"above": 0.1}}, 1),
        (_NUMBER, _FITTED, None),
        (_NUMBER, {"metric": "mean_label", **_AVERAGE}, None),
        (_SCORED, {"metric": "mean_score_positives", **_AVERAGE}, None),
        (_SCORED, {"metric": "auc", **_AVERAGE}, None),
        (_SCORED, {"metric": "f1", **_AVERAGE}, None),
        (_SCORED, {"metric": "balanced_accuracy", **_AVERAGE}, None),
    ],
    ids=[
        "slope",
        "largest slope",
        "slope of a number",
        "mean",
        "mean score",
        "auc",
        "f1",
        "mean of rates",
    ],
)
def test_opposite_gaps_in_strata_leave_one_number_for_all_open(
    columns: dict[str, Any], entry: dict[str, Any], which: int | None
) -> None:
    people = _people((20, 80))
    if which is not None:  # decisions are right as often as not, unless the label is the same
        people = people.filter(pl.col("y") == which)
    finding = _find(people, columns, entry)
    assert finding.value == pytest.approx(0, abs=1e-9)
    assert str(finding.status) == "inconclusive"
    assert "sex=f and sex=m have opposite directions in z=" in finding.why
    equal = _people((80, 80)).filter(pl.col("z") == "v")
    equal = pl.concat([equal, equal.with_columns(z=pl.lit("u"))])
    if which is not None:
        equal = equal.filter(pl.col("y") == which)
    assert str(_find(equal, columns, entry).status) == "pass"


def test_a_few_people_do_not_leave_a_slope_open() -> None:
    rows = [
        (sex, z, (n < 3) == ((sex == "m") == (z == "u"))) for sex in "mf" for z in "uv"
        for n in range(5)
    ]  # fmt: skip
    people = pl.DataFrame(rows, ["sex", "z", "p"], orient="row").cast({"p": pl.Int64})
    finding = _find(people, _DECISION, _FITTED)
    assert finding.value == pytest.approx(0)
    assert str(finding.status) == "pass"


def test_a_measure_without_a_variance_says_that_its_strata_were_not_searched() -> None:
    finding = _find(_people((20, 80)), _SCORED, {"metric": "brier", **_AVERAGE})
    told = [item.reason for item in finding.not_evaluated]
    assert told == [
        (
            "not searched for opposite directions within z: the variance of brier in a stratum "
            "is not known"
        )
    ]
