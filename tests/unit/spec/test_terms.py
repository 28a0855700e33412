"""What an entry of `metrics` may say beside its measure: averages, classes, models, numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import ROOT

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Check, Finding, Status
from fairaudit.result import AuditResult

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
    assert "33.3 % of the weight" in left.reason
    assert not left.blocks


def test_a_stratum_may_have_the_name_of_a_rule() -> None:
    """Two strata, =pooled with 30 of 40, and one with 10 of 40: by 3 to 1 it is .625."""
    rows = [
        ("g", stratum, int(n < hits))
        for stratum, hits in (("=pooled", 30), ("one", 10))
        for n in range(40)
    ]
    people = pl.DataFrame(rows, ["g", "s", "d"], orient="row")
    entry = {"metric": "selection_rate", "given": "s", "average": {"=pooled": 3, "one": 1}}
    columns = {"protected": ["g"], "strata": ["s"], "decision": "d"}
    result = fairaudit.audit({"columns": columns, "metrics": [entry]}, people)
    (average,) = [row for row in result.rates if row.averaged and row.by]
    assert average.estimate.value == pytest.approx(0.625)
    metrics = [{**entry, "average": {"\x7fpooled": 1}}]
    with pytest.raises(SpecError, match="the name of a stratum cannot begin with a DEL character"):
        fairaudit.audit({"columns": columns, "metrics": metrics}, people)


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
    people = {row.group: row.n or 0 for row in each.groups if row.group}
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
        (
            {"metric": "selection_rate", "average": "pooled"},
            "an average needs strata: add `given:`",
        ),
        (
            {**AVERAGED, "compare": "gap", "average": "reference"},
            ("has no reference to define the weights: use pooled or uniform"),
        ),
        (
            {**AVERAGED, "compare": "gap", "average": "group_people"},
            ("has no reference to define the weights: use pooled or uniform"),
        ),
        (
            {**AVERAGED, "reference": "highest", "average": "group_people"},
            "the highest group depends on the averages",
        ),
        ({**AVERAGED, "compare": "standardized_difference", "average": "pooled"}, "averages"),
        ({**AVERAGED, "average": "evenly"}, "unknown weights 'evenly'"),
        ({**AVERAGED, "average": {"x": "-1"}}, "must not be negative"),
        (
            {"metric": "mutual_information", "given": "stratum", "average": "pooled"},
            "is not a rate",
        ),
        (
            {"metric": "explained_difference", "given": "stratum", "average": "pooled"},
            "already defines",
        ),
        ({"metric": "unexplained_difference"}, "compares within strata: add `given:`"),
        ({"metric": "auc"}, "needs a score"),
        ({"metric": "mae"}, "needs a label|needs a number"),
        ({"metric": "slope"}, "needs a protected column with `bins`"),
        ({"metric": "expected_utility"}, "four utilities"),
        ({"metric": "theil", "alpha": "1"}, "has no parameter `alpha`"),
        ({"metric": "atkinson", "alpha": "-1"}, "`alpha` must be 0 or more"),
        ({"metric": "selection_rate", "against": "prediction"}, "must differ from `of`"),
        ({"metric": "selection_rate", "against": "predicton"}, "did you mean 'prediction'"),
        ({"metric": "selection_rate", "compare": "diference"}, "did you mean 'difference'"),
        (
            {"metric": "selection_rate", "aggregate": "mean"},
            "is not a comparison: add `compare: difference` or `compare: ratio`",
        ),
        ({"metric": "mutual_information", "class": "macro"}, "has no mean over classes"),
        ({"metric": "between_group_auc", "class": "macro"}, "has no mean over classes"),
        (
            {"metric": "selection_rate", "compare": "ratio", "class": "macro", "warn": "> 1"},
            "is always from 0 to 1",
        ),
        (
            {"metric": "selection_rate", "compare": "ratio", "sd": "total"},
            "cannot be combined with `sd`",
        ),
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


def two(rows: list[tuple[Any, ...]], names: str) -> pl.DataFrame:
    """A frame of rows, with the names of its columns."""
    return pl.DataFrame(rows, schema=names.split(), orient="row")


DECISION = {"column": "p", "positive": 1, "negative": 0}


def judged(rows: pl.DataFrame, metric: dict[str, Any], **columns: Any) -> Finding:
    """The finding of one limit on a decision by group."""
    protected = {"protected": {"g": {"reference": "a"}}, "prediction": DECISION}
    asking = {"columns": {**protected, **columns}, "metrics": [metric], "simpson": {"rates": []}}
    (one,) = fairaudit.audit(asking, rows).findings
    return one


def test_strata_are_weighed_by_survey_weights() -> None:
    cells = [("x", "a", 1, 100, 1), ("x", "a", 0, 100, 1), ("x", "b", 1, 100, 1)]
    cells += [("x", "b", 0, 100, 1), ("y", "a", 1, 10, 100), ("y", "a", 0, 40, 100)]
    cells += [("y", "b", 1, 40, 100), ("y", "b", 0, 10, 100)]
    rows = two([(z, g, p, w) for z, g, p, n, w in cells for _ in range(n)], "z g p w")
    metric = {"metric": "conditional_demographic_disparity", "given": "z", "fail": {"above": 0.9}}
    one = judged(rows, metric, weight="w", strata=["z"])
    # Nothing in x, (40 - 10) / 50 in y, weighed by 400 and 10,000.
    assert one.estimate is not None
    assert one.estimate.value == pytest.approx(0.6 * 10_000 / 10_400)


def test_the_highest_of_averages_is_the_highest_average() -> None:
    cells = [("a", "x", 90, 100), ("a", "y", 1, 10), ("b", "x", 10, 10), ("b", "y", 30, 100)]
    rows = two([(g, z, p, n) for g, z, k, m in cells for p, n in ((1, k), (0, m - k))], "g z p n")
    metric = {"metric": "impact_ratio", "given": "z", "average": "uniform", "fail": {"below": 0.95}}
    one = judged(rows, metric, count="n", strata=["z"])
    assert one.status is Status.FAIL
    assert one.estimate is not None
    assert one.estimate.exact == Fraction(1, 2) / Fraction(65, 100)


def test_an_average_of_a_few_on_common_strata_is_no_answer() -> None:
    cells = [("a", "x", 1, 5000), ("b", "y", 0, 5000)]
    cells += [(g, "z", p, 1) for g in "ab" for p in (0, 1)]
    rows = two(cells, "g z p n")
    metric = {"metric": "selection_rate", "compare": "ratio", "given": "z", "average": "pooled"}
    one = judged(rows, {**metric, "fail": {"below": 0.8}}, count="n", strata=["z"])
    assert one.status is Status.INCONCLUSIVE
    assert "100.0 % of the people are in strata where one side is missing" in one.why


def test_strata_of_one_group_show_no_disparity() -> None:
    rows = two(
        [("a", "x", 1, 90), ("a", "x", 0, 10), ("b", "y", 1, 10), ("b", "y", 0, 90)], "g z p n"
    )
    metric = {"metric": "conditional_demographic_disparity", "given": "z", "fail": {"above": 0.1}}
    assert judged(rows, metric, count="n", strata=["z"]).status is Status.INCONCLUSIVE


def test_a_misspelled_stratum_is_refused_and_one_without_a_weight_is_told() -> None:
    rows = two([(g, z, p) for g in "ab" for z in ("north", "south") for p in (0, 1)], "g z p")
    metric = {"metric": "selection_rate", "compare": "ratio", "given": "z"}
    columns = {"protected": {"g": {"reference": "a"}}, "prediction": DECISION, "strata": ["z"]}
    for names, message in ((("north", "sout"), "no stratum 'sout' of z; did you mean 'south'"),):
        asking = {**metric, "average": dict.fromkeys(names, "1")}
        with pytest.raises(SpecError, match=message):
            fairaudit.audit({"columns": columns, "metrics": [asking]}, rows)
    asking = {**metric, "average": {"north": "1"}}
    found = fairaudit.audit({"columns": columns, "metrics": [asking]}, rows)
    assert "selection_rate: the stratum 'south' of z has no weight" in found.notices


def test_who_is_worse_off_does_not_hang_on_the_sign() -> None:
    rows = two([("a", 1, 10), ("a", 0, 90), ("b", 1, 60), ("b", 0, 40)], "g p n")
    for name in ("mean_difference", "normalized_difference", "statistical_parity_difference"):
        one = judged(rows, {"metric": name, "fail": {"outside": [-0.1, 0.1]}}, count="n")
        assert one.status is Status.FAIL
        assert one.worse_off == (("g", "a"),)
    turned = {**DECISION, "favourable": False}
    metric = {"metric": "mean_difference", "fail": {"outside": [-0.1, 0.1]}}
    assert judged(rows, metric, count="n", prediction=turned).worse_off == (("g", "b"),)


def test_a_score_in_a_weighted_sample_is_never_replaced_by_its_class() -> None:
    rows = two([("a", 1, 0.9, 1), ("b", 0, 0.1, 1)], "g p s w")
    for name in ("correlation", "balanced_residuals", "auc"):
        with pytest.raises(
            SpecError, match=r"weighted sample|survey weights|needs a label|compares"
        ):
            judged(rows, {"metric": name, "fail": {"above": 0.5}}, weight="w", score="s")


def test_models_are_compared_among_those_who_have_both() -> None:
    rows = two([("a", 1, 1), ("a", 1, None), ("a", 0, 0), ("b", 1, 1), ("b", 0, 0)], "g u v")
    both = {name: {"prediction": {**DECISION, "column": name}} for name in ("u", "v")}
    columns = {"protected": ["g"], "models": both}
    metric = {"metric": "selection_rate", "of": "u", "against": "v", "fail": {"above": 0.01}}
    asking = {"columns": columns, "metrics": [metric], "missing": {"prediction": "aside"}}
    (one,) = fairaudit.audit(asking, rows).findings
    assert one.status is Status.PASS
    assert one.estimate is not None
    assert one.estimate.value == 0
    numbers = {"protected": ["g"], "numbers": {"u": "u", "v": "v"}}
    metric = {"metric": "mean_prediction", "of": "u", "against": "v", "fail": {"above": 9}}
    (one,) = fairaudit.audit({"columns": numbers, "metrics": [metric]}, rows).findings
    assert one.status is Status.INCONCLUSIVE, "u has one person more, who cannot be told apart"


def test_ranks_that_bins_hide_are_not_judged() -> None:
    rows = two([(g, y, y, s) for g, s in (("a", 0.099995), ("b", 0.1)) for y in (0, 1)], "g y p s")
    metric = {"metric": "between_group_auc_score", "fail": {"outside": [0.4, 0.6]}}
    label = {"column": "y", "positive": 1, "negative": 0}
    one = judged(rows, metric, score="s", label=label)
    assert one.status is Status.INCONCLUSIVE
    assert "bins" in one.why
    crossed = two(
        [("a", 1, 1, 0.099995), ("a", 0, 0, 0.1), ("b", 0, 0, 0.099995), ("b", 1, 1, 0.1)]
        + [(g, y, y, 0.3 + k / 100) for k in range(20) for g in "ab" for y in (0, 1)],
        "g y p s",
    )
    metric = {"metric": "test_fairness", "fail": {"above": 0.5}}
    assert judged(crossed, metric, score="s", label=label).status is Status.INCONCLUSIVE


def test_limits_on_a_difference_of_models_are_those_of_a_difference() -> None:
    worse = {"metric": "demographic_parity_ratio", "of": "candidate", "against": "current"}
    (one,) = models({**worse, "fail": {"below": "-0.05"}}).findings
    assert one.status in {Status.PASS, Status.FAIL}
    with pytest.raises(SpecError, match="perfect equality \\(0\\) would cross"):
        models({**worse, "fail": {"below": "0.8"}})


def test_a_logarithm_of_negative_means_is_undefined() -> None:
    rows = two([("a", -1.0), ("b", -8.0)], "g u")
    metric = {"metric": "mean_prediction", "compare": "log_ratio", "reference": "a"}
    columns = {"protected": ["g"], "numbers": {"u": "u"}}
    asking = {"columns": columns, "metrics": [{**metric, "of": "u", "fail": {"below": -9}}]}
    (one,) = fairaudit.audit(asking, rows).findings
    assert one.status is Status.INCONCLUSIVE
    assert "not positive" in one.why


def test_models_that_do_not_select_equally_many_are_told() -> None:
    rows = two([("a", 1, 1, 1), ("a", 0, 1, 0), ("b", 1, 0, 1), ("b", 0, 1, 0)], "g u v w")

    def notices(*names: str) -> tuple[str, ...]:
        both = {name: {"prediction": {**DECISION, "column": name}} for name in names}
        columns = {"protected": ["g"], "models": both}
        return fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, rows).notices

    assert any("(u 50.0 %, v 75.0 %)" in text for text in notices("u", "v"))
    assert not any("equally many" in text for text in notices("u", "w"))


def test_the_median_of_scoring_rates_is_told() -> None:
    scores = [0.1, 0.2, 0.2, 0.2, 0.7]
    rows = two([("ab"[at % 2], 1 if at else 0, score) for at, score in enumerate(scores)], "g p s")
    columns = {"protected": ["g"], "prediction": DECISION, "score": "s"}
    found = fairaudit.audit({"columns": columns, "metrics": ["scoring_rate"]}, rows).notices
    assert "prediction: the median of the score is 0.2: 1 above, 3 at it, 1 below" in found


def test_what_the_docs_say_of_metrics_can_be_asked() -> None:
    page = (ROOT / "docs" / "spec_notes.md").read_text(encoding="utf-8")
    block = page.split("More examples of `metrics`")[1].split("```yaml\n")[1].split("```")[0]
    model = {"prediction": {"column": "p", **OUTCOME}, "score": "s"}
    columns = {
        "protected": {"group": {"reference": "a"}},
        "label": {"column": "label", **OUTCOME},
        "models": {"current": model, "candidate": model},
        "strata": {"branch": {"column": "stratum"}},
        "count": "n",
    }
    rows = frame().with_columns(s=pl.when(pl.col("p") == "yes").then(0.75).otherwise(0.25))
    entries = yaml.safe_load(block)
    assert len(entries) == 9
    found = fairaudit.audit({"columns": columns, "metrics": entries}, rows)
    judged = {one.check.metric.id for one in found.findings if isinstance(one.check, Check)}
    rates = {"true_positive_rate", "selection_rate"}
    judgeable = {*rates, "equalized_odds_difference", "differential_fairness", "regression_slope"}
    assert judged == judgeable
    assert not [one for one in found.findings if one.status is Status.INCONCLUSIVE]
