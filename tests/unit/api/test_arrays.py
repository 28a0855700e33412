"""`audit_arrays`: Fairlearn's numbers of the same arrays where both have one, and where not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import seeds
from fairlearn import metrics as fairlearn
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, precision_score

import fairaudit
from fairaudit import audit_arrays
from fairaudit.base.errors import FairauditError, UsageError

RATES = {
    "selection_rate": fairlearn.selection_rate,
    "true_positive_rate": fairlearn.true_positive_rate,
    "false_positive_rate": fairlearn.false_positive_rate,
    "true_negative_rate": fairlearn.true_negative_rate,
    "false_negative_rate": fairlearn.false_negative_rate,
    "accuracy": accuracy_score,
    "positive_predictive_value": precision_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1": f1_score,
}
CRITERIA = {
    "demographic_parity_difference": fairlearn.demographic_parity_difference,
    "demographic_parity_ratio": fairlearn.demographic_parity_ratio,
    "equal_opportunity_difference": fairlearn.equal_opportunity_difference,
    "equal_opportunity_ratio": fairlearn.equal_opportunity_ratio,
    "equalized_odds_difference": fairlearn.equalized_odds_difference,
    "equalized_odds_ratio": fairlearn.equalized_odds_ratio,
}
SEX = np.array(["f", "f", "m", "m", "f", "m"])
Y = [1, 0, 1, 0, 1, 1]
P = [1, 0, 0, 0, 1, 1]


def sample(seed: int) -> dict[str, Any]:
    """Arrays in which every cell of every intersection occurs."""
    random = np.random.default_rng(seed)
    corners = np.array(np.meshgrid([0, 1], [0, 1], [0, 1], [0, 1, 2], [0, 1])).reshape(5, -1)
    drawn = random.integers(0, [[2], [2], [2], [3], [2]], size=(5, 400))
    y_true, y_pred, sex, race, site = np.concatenate([corners, drawn], axis=1)
    features = pd.DataFrame({"sex": np.array(["f", "m"])[sex], "race": np.array([*"abc"])[race]})
    weight = random.choice([0.25, 1.0, 3.5], size=y_true.size)
    return {"y_true": y_true, "y_pred": y_pred, "features": features, "w": weight, "site": site}


def value_of(result: fairaudit.AuditResult, metric: str, by: set[str]) -> float:
    (row,) = (row for row in result.comparisons if row.metric == metric and {*row.by} == by)
    return row.estimate.value


@pytest.mark.long
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", seeds(6, quick=1))
def test_rates_equal_fairlearns_of_every_group(seed: int, *, weighted: bool) -> None:
    rows = sample(seed)
    weight = rows["w"] if weighted else None
    y = (rows["y_true"], rows["y_pred"])
    result = audit_arrays(
        *y,
        sensitive_features=rows["features"],
        sample_weight=weight,
        metrics=[*RATES],
    )
    params = {} if weight is None else {name: {"sample_weight": weight} for name in RATES}
    frame = fairlearn.MetricFrame(
        metrics=RATES,
        y_true=y[0],
        y_pred=y[1],
        sensitive_features=rows["features"],
        sample_params=params,
    )
    ours = result.table(["sex", "race"])
    assert ours.height == len(frame.by_group) == 6
    for row in ours.iter_rows(named=True):
        theirs = frame.by_group.loc[row["sex"], row["race"]]
        assert {name: row[name] for name in RATES} == pytest.approx(theirs.to_dict(), abs=1e-9)
    everybody = {rate.metric: rate.estimate.value for rate in result.rates if not rate.by}
    assert everybody == pytest.approx(frame.overall.to_dict(), abs=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", seeds(6, quick=1))
def test_criteria_equal_fairlearns(seed: int, *, weighted: bool) -> None:
    rows = sample(seed)
    weight = rows["w"] if weighted else None
    y = (rows["y_true"], rows["y_pred"])
    result = audit_arrays(
        *y, sensitive_features=rows["features"], sample_weight=weight, metrics=[*CRITERIA]
    )
    for by in (["sex"], ["race"], ["sex", "race"]):
        for name, theirs in CRITERIA.items():
            expected = theirs(*y, sensitive_features=rows["features"][by], sample_weight=weight)
            assert value_of(result, name, {*by}) == pytest.approx(expected, abs=1e-9), (name, by)


def test_differences_and_ratios_equal_those_of_a_metric_frame() -> None:
    """Between groups: the extreme ones; to overall: each group beside everybody."""
    rows = sample(1)
    y, sex = (rows["y_true"], rows["y_pred"]), rows["features"]["sex"]
    metrics = [{"metric": "accuracy", "compare": compare} for compare in ("gap", "min_ratio")]
    overall = {"metric": "accuracy", "compare": "difference", "reference": "overall"}
    result = audit_arrays(*y, sensitive_features=sex, metrics=[*metrics, overall])
    frame = fairlearn.MetricFrame(
        metrics=accuracy_score, y_true=y[0], y_pred=y[1], sensitive_features=sex
    )
    found = {row.compare: row.estimate.value for row in result.comparisons if row.spread}
    assert found["gap"] == pytest.approx(frame.difference())
    assert found["min_ratio"] == pytest.approx(frame.ratio())
    to_overall = [
        abs(row.estimate.value) for row in result.comparisons if row.compare == "difference"
    ]
    assert max(to_overall) == pytest.approx(frame.difference(method="to_overall"))


def test_control_features_are_strata() -> None:
    rows = sample(2)
    y, sex, site = (rows["y_true"], rows["y_pred"]), rows["features"]["sex"], rows["site"]
    result = audit_arrays(
        *y,
        sensitive_features=sex,
        control_features={"site": site},
        metrics=[{"metric": "selection_rate", "given": "site"}],
    )
    frame = fairlearn.MetricFrame(
        metrics=fairlearn.selection_rate,
        y_true=y[0],
        y_pred=y[1],
        sensitive_features=sex,
        control_features=pd.Series(site, name="site"),
    )
    rates = [rate for rate in result.rates if rate.stratum and rate.by]
    assert len(rates) == 4
    for rate in rates:
        key = (int(rate.stratum[0][1]), rate.group[0][1])
        assert rate.estimate.value == pytest.approx(frame.by_group.loc[key])


@pytest.mark.parametrize(
    ("features", "names"),
    [
        (SEX, ["sensitive_feature_0"]),
        (SEX.tolist(), ["sensitive_feature_0"]),
        (tuple(SEX), ["sensitive_feature_0"]),
        (pd.Series(SEX), ["sensitive_feature_0"]),
        (pd.Series(SEX, name="sex", index=range(6, 0, -1)), ["sex"]),
        (pl.Series("sex", SEX), ["sex"]),
        (np.column_stack([SEX, SEX[::-1]]), ["sensitive_feature_0", "sensitive_feature_1"]),
        ({"sex": SEX, "y_true": SEX[::-1].tolist()}, ["sex", "y_true"]),
        (pd.DataFrame({"sex": SEX, "age": [1, 2] * 3}), ["sex", "age"]),
        (pl.LazyFrame({"sex": SEX, "age": [1, 2] * 3}), ["sex", "age"]),
    ],
)
def test_features_come_in_every_shape(features: Any, names: list[str]) -> None:
    result = audit_arrays(Y, P, sensitive_features=features, metrics="selection_rate")
    (full,) = {row.by for row in result.rates if len(row.by) == len(names)}
    assert [*full] == names


@pytest.mark.parametrize(
    ("labels", "pos_label"),
    [
        (np.array(Y), 1),
        (np.array(Y), np.int64(1)),
        (np.array(Y, dtype=bool), True),
        (np.array(Y, dtype=float), 1),
        (np.where(np.array(Y) == 1, 1, -1), 1),
        (["yes" if y else "no" for y in Y], "yes"),
        (pd.Series(Y, dtype="Int64"), 1),
        (pd.Series(["yes" if y else "no" for y in Y], dtype="category"), "yes"),
        (pl.Series(Y), 1),
        (np.array(Y)[:, None], 1),
        ((y for y in Y), 1),
    ],
)
def test_labels_come_in_every_type(labels: Any, pos_label: object) -> None:
    result = audit_arrays(labels, sensitive_features={"sex": SEX}, pos_label=pos_label)
    assert result.table("sex").sort("sex")["base_rate"].to_list() == [2 / 3, 2 / 3]


@pytest.mark.parametrize(
    "codes", [(0, 1), (-1, 1), (False, True), (0.0, 1.0), (np.int64(0), np.int64(1))]
)
def test_usual_codes_need_no_positive_label(codes: tuple[object, object]) -> None:
    labels = [codes[y] for y in Y]
    result = audit_arrays(labels, sensitive_features={"sex": SEX})
    assert result.table("sex").sort("sex")["base_rate"].to_list() == [2 / 3, 2 / 3]


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([1, 2, 2, 1, 2, 1], None, "not clear which value is positive: y_true holds '1', '2'"),
        (None, [1, 2, 2, 1, 2, 1], "not clear which value is positive: y_pred holds '1', '2'"),
        (["no", "yes"] * 3, None, "not clear which value is positive"),
        ([0, 1, 2, 0, 1, 2], [0, 1, 2, 2, 1, 0], "not clear which value is positive"),
        ([0, 1] * 3, [3, 1] * 3, "y_true holds '0', '1' and y_pred holds '1', '3'"),
        ([0, 1] * 3, [-1, 1] * 3, "y_true holds '0', '1' and y_pred holds '-1', '1'"),
        ([0, 1] * 3, [0.1, 0.9] * 3, "not clear which value is positive"),
    ],
)
def test_other_codes_are_refused_without_a_positive_label(
    y_true: Any, y_pred: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        audit_arrays(y_true, y_pred, sensitive_features={"sex": SEX})


def test_two_codes_have_a_positive_label_where_it_is_named() -> None:
    result = audit_arrays([1, 2, 2, 1, 2, 2], sensitive_features={"sex": SEX}, pos_label=2)
    sizes = {sex: [code for s, code in zip(SEX, [1, 2, 2, 1, 2, 2], strict=True) if s == sex]
             for sex in SEX}  # fmt: skip
    wanted = {sex: codes.count(2) / len(codes) for sex, codes in sizes.items()}
    assert dict(result.table("sex").select("sex", "base_rate").iter_rows()) == wanted
    for y_pred in ([1, 3, 2, 1, 2, 2], [1, 2, 2, 1, 2, 0]):
        with pytest.raises(UsageError, match="labels and decisions must use the same two values"):
            audit_arrays([1, 2, 2, 1, 2, 2], y_pred, sensitive_features={"sex": SEX}, pos_label=2)


@pytest.mark.parametrize(("decision", "rate"), [(0, 0.0), (1, 1.0)])
def test_a_constant_decision_has_a_rate(decision: int, rate: float) -> None:
    for y_true in (Y, None):
        result = audit_arrays(y_true, [decision] * 6, sensitive_features={"sex": SEX})
        assert result.table("sex")["selection_rate"].to_list() == [rate, rate]


def test_fairlearn_makes_a_number_of_nobody_and_we_do_not() -> None:
    """Nobody of m is positive: its true positive rate is 0 there, and undefined here."""
    y_true, y_pred = [1, 1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0]
    sex = ["f", "f", "f", "m", "m", "m"]
    frame = fairlearn.MetricFrame(
        metrics=fairlearn.true_positive_rate,
        y_true=y_true,
        y_pred=y_pred,
        sensitive_features=sex,
    )
    assert frame.by_group["m"] == 0
    result = audit_arrays(y_true, y_pred, sensitive_features={"sex": sex})
    rates = dict(result.table("sex").select("sex", "true_positive_rate").iter_rows())
    assert rates == {"f": 2 / 3, "m": None}
    assert math.isnan(value_of(result, "equalized_odds_difference", {"sex"}))


def test_limits_make_checks_and_scores_have_metrics() -> None:
    result = audit_arrays(
        Y,
        P,
        sensitive_features={"sex": SEX},
        score=[0.9, 0.2, 0.4, 0.1, 0.8, 0.7],
        metrics=["selection_rate", "auc", "demographic_parity_ratio"],
        limits={"demographic_parity_ratio": {"below": 0.8}},
    )
    (finding,) = result.findings
    assert finding.value == pytest.approx(0.5)
    assert finding.status == "fail"
    rates = {rate.metric for rate in result.rates}
    assert {"selection_rate", "auc"} <= rates


def test_further_keys_are_those_of_a_spec() -> None:
    result = audit_arrays(
        Y, P, sensitive_features={"sex": SEX}, inference={"confidence": 0.9}, groups={"min_size": 4}
    )
    assert str(result.provenance.inference.confidence) == "0.9"
    assert {row.standing for row in result.groups if row.by} == {"small"}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ({}, "y_true and y_pred are both missing"),
        ({"y_true": Y, "y_pred": P[:5]}, "the columns differ in length: 'y_true' has 6, 'y_pred'"),
        ({"y_true": Y, "y_pred": 5}, "the column 'y_pred' is a int, not a list or an array"),
        ({"y_pred": P, "sensitive_features": 5}, "sensitive_features is a int"),
        ({"y_pred": P, "sensitive_features": {"sex": SEX[:2]}}, "'sensitive_features.sex' has 2"),
        ({"y_pred": P, "metric": "x"}, "metric: unknown key; did you mean 'metrics'"),
        (
            {"y_pred": P, "metrics": ["selection"]},
            "unknown metric .selection.; choose one: .selection_rate",
        ),
        ({"y_pred": ["a", "b", "c"] * 2}, "it is not clear which value is positive"),
        ({"y_pred": ["1", "b", "c"] * 2}, "y_pred"),
        ({"y_pred": P, "limits": 5}, "limits must be a dict of metrics, not a int"),
        (
            {"y_pred": P, "metrics": 5},
            "metrics must be a list of names, or of entries of a spec, not",
        ),
        ({"y_pred": [1, "b"] * 3}, "the column 'y_pred' mixes int and str"),
    ],
)
def test_what_is_no_array_is_told(call: dict[str, Any], words: str) -> None:
    with pytest.raises(fairaudit.FairauditError, match=words):
        audit_arrays(**{"sensitive_features": {"sex": SEX}, **call})


@pytest.mark.parametrize(
    "call",
    [
        {"y_pred": [[1], [1, 2]]},
        {"y_pred": np.zeros((2, 2))},
        {"y_pred": [object(), object()]},
        {"y_pred": {0, 1}},
        {"y_pred": [1, 0], "pos_label": np.array([0, 1])},
    ],
)
def test_arrays_that_are_no_labels_end_in_errors_of_the_package(call: dict[str, Any]) -> None:
    with pytest.raises(FairauditError, match=r"y_pred|pos_label"):
        audit_arrays(**call, sensitive_features=["f", "m"])


@pytest.mark.parametrize(
    "table",
    [
        {"a": [1, 2], "b": [2, 1]}, {1, 2}, "abc", None, [[1, 2], [3]], [[1, -2], [3, 2]],
        [[1, math.nan], [3, 2]], [1, 2], [], [[1j, 2], [3, 4]], [[10**400, 2], [3, 4]],
    ],
)  # fmt: skip
def test_epsilon_of_what_is_no_table_is_an_error_of_the_package(table: Any) -> None:
    with pytest.raises(
        UsageError,
        match=(
            "epsilon needs a table with a row for each group and a column for each outcome, "
            "without negative numbers, and a `smoothing` of 0 or more"
        ),
    ):
        fairaudit.epsilon(table)
    with pytest.raises(
        UsageError,
        match=(
            "epsilon needs a table with a row for each group and a column for each outcome, "
            "without negative numbers, and a `smoothing` of 0 or more"
        ),
    ):
        fairaudit.epsilon([[1, 2], [3, 4]], smoothing=-1)
