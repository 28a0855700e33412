"""What an entry of `metrics` may say beside its measure: averages, classes, models, numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.errors import SpecError
from fairaudit.result import AuditResult
from fairaudit.verdict import Finding, Status

OUTCOME = {"positive": "yes", "negative": "no"}
CELLS: dict[tuple[str, str, str], tuple[int, int]] = {
    # stratum, group: selected and rejected of label yes, then the same of label no
    ("x", "a", "yes"): (30, 10),
    ("x", "a", "no"): (12, 28),
    ("x", "b", "yes"): (6, 4),
    ("x", "b", "no"): (4, 16),
    ("y", "a", "yes"): (8, 2),
    ("y", "a", "no"): (5, 15),
    ("y", "b", "yes"): (30, 30),
    ("y", "b", "no"): (18, 42),
    ("z", "a", "yes"): (7, 3),
    ("z", "a", "no"): (5, 5),
}


def frame() -> pl.DataFrame:
    """People of two groups in three strata; nobody of group b stands in the third."""
    rows = [
        {"stratum": stratum, "group": group, "label": label, "p": decided, "n": n}
        for (stratum, group, label), counts in CELLS.items()
        for decided, n in zip(("yes", "no"), counts, strict=True)
    ]
    return pl.DataFrame(rows)


def spec(*metrics: Any, **columns: Any) -> dict[str, Any]:
    return {
        "columns": {
            "protected": {"group": {"reference": "a"}},
            "label": {"column": "label", **OUTCOME},
            "prediction": {"column": "p", **OUTCOME},
            "strata": ["stratum"],
            "count": "n",
            **columns,
        },
        "metrics": list(metrics),
    }


def finding(metric: Mapping[str, Any]) -> Finding:
    (one,) = fairaudit.audit(spec(metric), frame()).findings
    return one


def rate(group: str, stratum: str) -> Fraction:
    """The selection rate in a stratum."""
    selected = sum(c[0] for (z, g, _), c in CELLS.items() if (z, g) == (stratum, group))
    people = sum(sum(c) for (z, g, _), c in CELLS.items() if (z, g) == (stratum, group))
    return Fraction(selected, people)


AVERAGED: dict[str, Any] = {"metric": "selection_rate", "compare": "difference", "given": "stratum"}


def test_an_average_is_judged_exactly_and_lists_what_it_leaves_out() -> None:
    differences = [rate("b", z) - rate("a", z) for z in ("x", "y")]
    exact = sum(differences, Fraction(0)) / 2
    one = finding({**AVERAGED, "fail": {"below": str(float(exact))}, "average": "uniform"})
    assert one.estimate is not None
    assert one.estimate.exact == exact
    (left,) = one.not_evaluated
    assert left.stratum == (("stratum", "z"),)
    assert "33.3% of the weight" in left.reason
    assert not left.blocks


def test_averages_fail_and_pass() -> None:
    for limit, status in (("-0.5", Status.PASS), ("0", Status.FAIL)):
        one = finding({**AVERAGED, "average": "pooled", "fail": {"below": limit}})
        assert one.status is status
        assert one.check.id == "selection_rate.difference/group/stratum=pooled/prediction"


def test_a_gap_of_averages_takes_strata_where_all_occur() -> None:
    one = finding({**AVERAGED, "compare": "gap", "average": "uniform", "fail": {"above": "0.9"}})
    averages = [(rate(g, "x") + rate(g, "y")) / 2 for g in "ab"]
    assert one.estimate is not None
    assert one.estimate.value == pytest.approx(float(abs(averages[0] - averages[1])))
    assert [left.stratum for left in one.not_evaluated] == [(("stratum", "z"),)]


def test_weights_may_be_given_by_stratum() -> None:
    average = {"x": "0.75", "y": "0.25"}
    one = finding({**AVERAGED, "average": average, "fail": {"below": "-0.9"}})
    expected = Fraction(3, 4) * (rate("b", "x") - rate("a", "x"))
    expected += Fraction(1, 4) * (rate("b", "y") - rate("a", "y"))
    assert one.estimate is not None
    assert one.estimate.exact == expected


def test_the_mean_departure_over_groups_is_one_value() -> None:
    rows = frame().with_columns(
        group=pl.when(pl.col("stratum") == "y").then(pl.lit("c")).otherwise(pl.col("group"))
    )
    asked = {"metric": "statistical_parity_difference", "aggregate": "mean"}
    ratio = {"metric": "disparate_impact_ratio", "aggregate": "mean", "fail": {"above": "9"}}
    each = fairaudit.audit(spec("statistical_parity_difference", "disparate_impact_ratio"), rows)
    result = fairaudit.audit(spec(asked, ratio), rows)
    people = {row.group: row.n for row in each.groups if row.group}
    values: dict[str, list[tuple[int, float]]] = {}
    for row in each.comparisons:
        assert row.group is not None
        values.setdefault(row.metric, []).append((people[row.group], row.estimate.value))
    difference, mean_ratio = (row.estimate.value for row in result.comparisons)
    found = values["statistical_parity_difference"]
    total = sum(n for n, _ in found)
    assert len(found) == 2
    assert difference == pytest.approx(sum(n * abs(v) for n, v in found) / total)
    logs = sum(n * abs(math.log(v)) for n, v in values["disparate_impact_ratio"]) / total
    assert mean_ratio == pytest.approx(math.exp(logs))
    assert result.findings[0].check.id == "disparate_impact_ratio.mean/group/prediction"


def models(*metrics: Any) -> AuditResult:
    rows = frame().with_columns(
        q=pl.when(pl.col("stratum") == "x").then(pl.lit("yes")).otherwise(pl.col("p"))
    )
    both = {
        "current": {"prediction": {"column": "p", **OUTCOME}},
        "candidate": {"prediction": {"column": "q", **OUTCOME}},
    }
    asking = spec(*metrics, models=both)
    del asking["columns"]["prediction"]
    return fairaudit.audit(asking, rows)


def test_one_model_against_another() -> None:
    entry = {"metric": "demographic_parity_difference", "of": "candidate"}
    against = {**entry, "against": "current", "fail": {"above": "0.01"}}
    result = models(entry, {**entry, "of": "current"}, against)
    candidate, current, apart = (row.estimate.value for row in result.comparisons)
    assert apart == pytest.approx(candidate - current)
    (one,) = result.findings
    assert one.check.id == "demographic_parity_difference/group/candidate-current"
    assert one.estimate is not None
    assert one.estimate.exact is not None
    assert float(one.estimate.exact) == pytest.approx(apart)
    assert (one.status is Status.FAIL) == (apart > 0.01)
    amplified = models({"metric": "differential_fairness", "of": "candidate", "against": "current"})
    epsilons = models(
        *({"metric": "differential_fairness", "of": name} for name in ("candidate", "current"))
    )
    first, second = (row.estimate.value for row in epsilons.comparisons)
    assert amplified.comparisons[0].estimate.value == pytest.approx(first - second)


def test_what_cannot_be_asked_is_refused_with_what_is_missing() -> None:
    asked: list[tuple[Any, str]] = [
        ({"metric": "selection_rate", "average": "pooled"}, "say `given:`"),
        ({**AVERAGED, "compare": "gap", "average": "reference"}, "no reference to weigh by"),
        ({**AVERAGED, "compare": "standardized_difference", "average": "pooled"}, "averages"),
        ({**AVERAGED, "average": "evenly"}, "unknown weights 'evenly'"),
        ({**AVERAGED, "average": {"x": "-1"}}, "not negative"),
        ({"metric": "mutual_information", "given": "stratum", "average": "pooled"}, "no rate"),
        ({"metric": "explained_difference", "given": "stratum", "average": "pooled"}, "itself"),
        ({"metric": "unexplained_difference"}, "say `given:`"),
        ({"metric": "auc"}, "needs a score"),
        ({"metric": "mae"}, "needs a label|needs a number"),
        ({"metric": "slope"}, "needs a numeric attribute"),
        ({"metric": "expected_utility"}, "four utilities"),
        ({"metric": "theil", "alpha": "1"}, "takes no alpha"),
        ({"metric": "selection_rate", "against": "prediction"}, "against itself"),
        ({"metric": "selection_rate", "against": "predicton"}, "did you mean 'prediction'"),
        ({"metric": "selection_rate", "compare": "diference"}, "did you mean 'difference'"),
        ({"metric": "selection_rate", "aggregate": "mean"}, "one value already"),
        ({"metric": "mutual_information", "class": "macro"}, "all classes already"),
        ({"metric": "selection_rate", "compare": "ratio", "sd": "total"}, "takes no deviation"),
        ("brier_score_los", "did you mean 'brier_score"),
        ("theil_indx", "did you mean 'theil_index'"),
    ]
    for entry, message in asked:
        with pytest.raises(SpecError, match=message):
            fairaudit.audit(spec(entry), frame())


def test_a_difference_may_be_standardized_by_everybody() -> None:
    asked = {"metric": "selection_rate", "compare": "standardized_difference"}
    result = fairaudit.audit(spec(asked, {**asked, "sd": "total"}), frame())
    pooled, total = (row.estimate.value for row in result.comparisons)
    counts = {
        g: [sum(c[i] for (_, h, _), c in CELLS.items() if h == g) for i in (0, 1)] for g in "ab"
    }
    n = sum(map(sum, counts.values()))
    p = sum(c[0] for c in counts.values()) / n
    apart = counts["b"][0] / sum(counts["b"]) - counts["a"][0] / sum(counts["a"])
    assert total == pytest.approx(apart / math.sqrt(p * (1 - p) * n / (n - 1)))
    assert abs(pooled) > abs(total)


def test_strata_that_hold_the_prediction_leave_an_average_open() -> None:
    rows = frame().with_columns(stratum=pl.col("p"))
    (one,) = fairaudit.audit(
        spec({**AVERAGED, "average": "pooled", "fail": {"below": "-0.5"}}), rows
    ).findings
    assert one.status is Status.INCONCLUSIVE
    assert "determine" in one.why


def test_a_class_that_the_data_do_not_hold_is_refused() -> None:
    rows = pl.DataFrame({"group": ["a", "b"] * 2, "label": list("xyzx"), "p": list("xyyx")})
    columns = {"label": {"column": "label"}, "prediction": {"column": "p"}}
    asked = spec({"metric": "true_positive_rate", "class": "zz"}, **columns, strata=[])
    del asked["columns"]["count"]
    with pytest.raises(SpecError, match="no class 'zz' in the prediction; did you mean"):
        fairaudit.audit(asked, rows)
    asked["metrics"] = [{"metric": "true_positive_rate", "class": "z"}]
    everybody = fairaudit.audit(asked, rows).rates[0]
    assert everybody.estimate.value == 0, "nobody is predicted to be z, and one is"
