"""A model's predictions on Adult and COMPAS: fairlearn, scikit-learn and scipy print the same.

A logistic regression is trained on a part of the rows, and what it says of the others is audited
for every subset of the protected attributes. Equal means to 1e-12 wherever the others are defined
and right; where they print a number for what does not exist, both answers are asserted. Scores are
rounded to four decimals, so that each has a bin of its own and ranks are exact; the bound on what
finer scores hide has its own test.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import SHARED
from fairlearn.metrics import (
    MetricFrame,
    demographic_parity_difference,
    demographic_parity_ratio,
    equal_opportunity_difference,
    equal_opportunity_ratio,
    equalized_odds_difference,
    equalized_odds_ratio,
    false_negative_rate,
    false_positive_rate,
    mean_prediction,
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from scipy.spatial.distance import cityblock
from scipy.stats import entropy, ks_2samp, linregress, mannwhitneyu, pearsonr
from scipy.stats.contingency import association, odds_ratio, relative_risk
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    mean_absolute_error,
    mean_squared_error,
    mutual_info_score,
    normalized_mutual_info_score,
    precision_score,
    r2_score,
    recall_score,
    roc_auc_score,
    zero_one_loss,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fairaudit
from fairaudit.result import AuditResult
from fairaudit.result.rows import RateRow

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not SHARED.is_dir(), reason=f"no real data sets at {SHARED}"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning"),
    pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true"),
    pytest.mark.filterwarnings("ignore:A single label was found"),
]

SEED = 20240607
NAMES = ("adult", "compas")
Metric = Callable[..., Any]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """Predictions for people a model has not seen, with the level each is compared with."""

    data: pd.DataFrame
    references: dict[str, str]

    @property
    def subsets(self) -> list[tuple[str, ...]]:
        names = list(self.references)
        return [by for size in range(1, len(names) + 1) for by in combinations(names, size)]


def predicted(
    features: pd.DataFrame, label: pd.Series, train: np.ndarray[Any, Any]
) -> pd.DataFrame:
    """The label of those not trained on, their probability at four decimals, and its cut at ½."""
    model = make_pipeline(StandardScaler(), LogisticRegression(random_state=SEED))
    model.fit(features[train], label[train])
    fine = model.predict_proba(features[~train])[:, 1]
    score = fine.round(4)
    return pd.DataFrame(
        {
            "y": label[~train].astype(int),
            "p": (score >= 0.5).astype(int),
            "s": score,
            "fine": fine.round(6),
        }
    )


def drawn(rows: int, most: int) -> np.ndarray[Any, Any]:
    """Which rows a model is trained on."""
    chosen = np.zeros(rows, dtype=bool)
    chosen[np.random.default_rng(SEED).choice(rows, most, replace=False)] = True
    return chosen


@cache
def adult_rows() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray[Any, Any]]:
    """4,000 rows of Adult's training part above as many of its test part; features; the former."""
    parts = []
    for part in ("train", "test"):
        people = pd.read_csv(SHARED / f"adult_{part}.csv")
        recoded = pd.read_csv(SHARED / f"adult_{part}_protected.csv")
        parts.append(people.assign(race=recoded["race4"], nationality=recoded["nationality"]))
    people = pd.concat([part[drawn(len(part), 4000)] for part in parts], ignore_index=True)
    features = pd.DataFrame(
        {
            "age": people["age"].astype(float),
            "education": people["education_num"].astype(float),
            "gain": np.log1p(people["capital_gain"]),
            "married": (people["marital_status"] == "Married-civ-spouse").astype(float),
        }
    )
    return people, features, np.arange(len(people)) < 4000


@cache
def case_of(name: str) -> Case:
    """The predictions for one data set."""
    if name == "adult":
        people, features, train = adult_rows()
        data = predicted(features, people["income"] == ">50K", train)
        references = {"race": "White", "sex": "Male", "nationality": "US"}
        data["age"] = people["age"]
        data["married"] = (
            people["marital_status"].eq("Married-civ-spouse").map({True: "yes", False: "no"})
        )
        data["w"] = people["fnlwgt"]
    else:
        people = pd.read_csv(SHARED / "compas-scores-two-years.csv")
        train = drawn(len(people), 3600)
        features = people[["age", "priors_count", "juv_fel_count", "juv_misd_count"]].astype(float)
        features["felony"] = (people["c_charge_degree"] == "F").astype(float)
        data = predicted(features, people["two_year_recid"] == 1, train)
        references = {"race": "Caucasian", "sex": "Male", "age_cat": "25 - 45"}
    for attribute in references:
        data[attribute] = people[attribute].astype(object)
    return Case(data.reset_index(drop=True), references)


def audit(case: Case, metrics: list[Any], data: pd.DataFrame | None = None) -> AuditResult:
    """Those metrics of the predictions."""
    spec = {
        "columns": {
            "protected": {name: {"reference": one} for name, one in case.references.items()},
            "label": {"column": "y", "positive": 1, "negative": 0},
            "prediction": {"column": "p", "positive": 1, "negative": 0},
            "score": "s",
        },
        "metrics": metrics,
    }
    rows = (case.data if data is None else data)[["y", "p", "s", *case.references]]
    return fairaudit.audit(spec, pl.DataFrame(rows.to_dict("list")))


@cache
def member(case: Case, group: tuple[tuple[str, str | None], ...]) -> pd.DataFrame:
    """The people of a group."""
    rows = np.ones(len(case.data), dtype=bool)
    for name, level in group:
        rows &= (case.data[name] == level).to_numpy()
    return case.data[rows]


def split(case: Case, by: tuple[str, ...]) -> dict[tuple[str, ...], pd.DataFrame]:
    """The people of every group of a grouping that anybody belongs to."""
    return {
        key if isinstance(key, tuple) else (key,): rows for key, rows in case.data.groupby(list(by))
    }


def codes(case: Case, by: tuple[str, ...]) -> pd.Series:
    """The group of each person, as a number."""
    return case.data.groupby(list(by)).ngroup()


def equal(ours: float, theirs: float) -> bool:
    """Equal to 1e-12, of the value where it is larger than 1; infinite alike; no number alike."""
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)


# --- Rates -------------------------------------------------------------------------------------


def negative_precision(y: Any, p: Any) -> float:
    return float(precision_score(y, p, pos_label=0))


RATES: dict[str, Metric] = {
    "selection_rate": selection_rate,
    "true_positive_rate": true_positive_rate,
    "false_negative_rate": false_negative_rate,
    "false_positive_rate": false_positive_rate,
    "true_negative_rate": true_negative_rate,
    "positive_predictive_value": precision_score,
    "negative_predictive_value": negative_precision,
    "accuracy": accuracy_score,
    "error_rate": zero_one_loss,
    "balanced_accuracy": balanced_accuracy_score,
    "f1": f1_score,
}
WEIGHTED: dict[str, Metric] = {
    name: metric for name, metric in RATES.items() if name != "negative_predictive_value"
}


def average_precision(labels: Any, scores: Any, **weights: Any) -> float:
    """scikit-learn's, which warns where nobody is positive, and prints 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return float(average_precision_score(labels, scores, **weights))


OF_SCORES: dict[str, Metric] = {
    "auc": roc_auc_score,
    "average_precision": average_precision,
    "brier": brier_score_loss,
    "mean_score": mean_prediction,
}
DEFINED: dict[str, Callable[[pd.DataFrame], bool]] = {
    "true_positive_rate": lambda rows: bool((rows["y"] == 1).any()),
    "false_negative_rate": lambda rows: bool((rows["y"] == 1).any()),
    "false_positive_rate": lambda rows: bool((rows["y"] == 0).any()),
    "true_negative_rate": lambda rows: bool((rows["y"] == 0).any()),
    "positive_predictive_value": lambda rows: bool((rows["p"] == 1).any()),
    "negative_predictive_value": lambda rows: bool((rows["p"] == 0).any()),
    "balanced_accuracy": lambda rows: rows["y"].nunique() == 2,
    "f1": lambda rows: bool((rows["y"] == 1).any() or (rows["p"] == 1).any()),
    "auc": lambda rows: rows["y"].nunique() == 2,
    "average_precision": lambda rows: bool((rows["y"] == 1).any()),
}
"""Who must be there for a rate; the others need anybody at all."""


def printed_for_nobody(metric: str, rows: pd.DataFrame) -> float:
    """What Fairlearn and scikit-learn print for a rate of nobody.

    0 for a quotient, even for two that add up to 1; for balanced accuracy the recall of the one
    class there is; for the area under the curve no number, as here.
    """
    if metric == "auc":
        return math.nan
    if metric == "balanced_accuracy":
        return float((rows["y"] == rows["p"]).mean())
    return 0.0


@cache
def frame(name: str, by: tuple[str, ...], *, scores: bool) -> MetricFrame:
    """Fairlearn's frame of a grouping."""
    data = case_of(name).data
    return MetricFrame(
        metrics=OF_SCORES if scores else RATES,
        y_true=data["y"],
        y_pred=data["s" if scores else "p"],
        sensitive_features=data[list(by)],
    )


@cache
def rates(name: str) -> tuple[RateRow, ...]:
    """Every rate of every group of every subset."""
    return audit(case_of(name), [*RATES, *OF_SCORES]).rates


@pytest.mark.parametrize("name", NAMES)
def test_rates_equal_metric_frame_for_every_subset(name: str) -> None:
    case = case_of(name)
    compared = undefined = 0
    for row in rates(name):
        rows = member(case, row.group)
        if row.by:
            levels = tuple(level for _, level in row.group)
            of = frame(name, row.by, scores=row.metric in OF_SCORES).by_group[row.metric]
            theirs = float(of[levels if len(levels) > 1 else levels[0]])
        else:
            metric = (RATES | OF_SCORES)[row.metric]
            theirs = float(metric(rows["y"], rows["s" if row.metric in OF_SCORES else "p"]))
        if DEFINED.get(row.metric, lambda _: True)(rows):
            assert equal(row.estimate.value, theirs), (row.metric, row.group)
            compared += 1
        else:
            assert math.isnan(row.estimate.value), (row.metric, row.group)
            assert equal(theirs, printed_for_nobody(row.metric, rows)), (row.metric, row.group)
            undefined += 1
    groups = 1 + sum(len(split(case, by)) for by in case.subsets)
    assert compared + undefined == groups * len(RATES | OF_SCORES)
    assert compared > 400
    assert undefined or name == "adult"


SPREADS: dict[str, Metric] = {
    "demographic_parity_difference": demographic_parity_difference,
    "demographic_parity_ratio": demographic_parity_ratio,
    "equal_opportunity_difference": equal_opportunity_difference,
    "equal_opportunity_ratio": equal_opportunity_ratio,
    "equalized_odds_difference": equalized_odds_difference,
    "equalized_odds_mean": lambda y, p, **given: equalized_odds_difference(
        y, p, agg="mean", **given
    ),
    "equalized_odds_ratio": equalized_odds_ratio,
}
GAPS = {
    "predictive_equality": ("false_positive_rate", "difference"),
    "predictive_parity": ("positive_predictive_value", "difference"),
    "predictive_parity_ratio": ("positive_predictive_value", "ratio"),
    "overall_accuracy_equality": ("accuracy", "difference"),
}
PARTS = {
    "demographic_parity": ("selection_rate",),
    "equal_opportunity": ("true_positive_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
    "predictive_equality": ("false_positive_rate",),
    "predictive_parity": ("positive_predictive_value",),
    "overall_accuracy_equality": ("accuracy",),
}


def parts_of(metric: str) -> tuple[str, ...]:
    """The rates that a criterion compares."""
    return next(parts for start, parts in PARTS.items() if metric.startswith(start))


@pytest.mark.parametrize("name", NAMES)
def test_criteria_equal_fairlearn_for_every_subset(name: str) -> None:
    """A rate of nobody is 0 for Fairlearn, so its gap is 1 or nearly; here it is undefined."""
    case = case_of(name)
    compared = undefined = 0
    for row in audit(case, [*SPREADS, *GAPS]).comparisons:
        if row.metric in SPREADS:
            theirs = SPREADS[row.metric](
                case.data["y"], case.data["p"], sensitive_features=case.data[list(row.by)]
            )
        else:
            rate, how = GAPS[row.metric]
            theirs = getattr(frame(name, row.by, scores=False), how)()[rate]
        groups = split(case, row.by).values()
        if all(DEFINED.get(rate, len)(rows) for rate in parts_of(row.metric) for rows in groups):
            assert equal(row.estimate.value, float(theirs)), (row.metric, row.by)
            compared += 1
        else:
            assert math.isnan(row.estimate.value), (row.metric, row.by)
            assert row.estimate.reason is not None
            assert "no people to count in" in row.estimate.reason
            assert math.isfinite(theirs), (row.metric, row.by)
            undefined += 1
    assert compared + undefined == len(case.subsets) * len(SPREADS | GAPS)
    assert compared >= 40
    assert undefined or name == "adult"


@pytest.mark.parametrize("name", NAMES)
def test_comparisons_with_everybody_equal_fairlearns_to_overall(name: str) -> None:
    case = case_of(name)
    metrics = [
        {"metric": rate, "compare": how, "reference": "overall"}
        for rate in RATES
        for how in ("difference", "ratio")
    ]
    found: dict[tuple[str, str, tuple[str, ...]], list[float]] = {}
    for row in audit(case, metrics).comparisons:
        assert row.compare is not None
        found.setdefault((row.metric, row.compare, row.by), []).append(row.estimate.value)
    compared = 0
    for (rate, how, by), values in found.items():
        rows = split(case, by).values()
        if not all(DEFINED.get(rate, len)(one) for one in rows):
            continue
        theirs = getattr(frame(name, by, scores=False), how)(method="to_overall")[rate]
        if how == "difference":
            assert equal(max(abs(value) for value in values), theirs)
        else:
            folded = min(value if value <= 1 else 1 / value for value in values)
            assert equal(folded, theirs)
        compared += 1
    assert compared >= 80


def test_rates_within_strata_equal_fairlearns_control_features() -> None:
    """Gaps among the married and among the others, on Adult."""
    case = case_of("adult")
    spec = {
        "columns": {
            "protected": list(case.references),
            "prediction": {"column": "p", "positive": 1},
            "strata": ["married"],
        },
        "metrics": [{"metric": "conditional_statistical_parity", "given": ["married"]}],
    }
    rows = case.data[[*case.references, "p", "married"]]
    found = fairaudit.audit(spec, pl.DataFrame(rows.to_dict("list"))).comparisons
    assert len(found) == 2 * len(case.subsets)
    for row in found:
        theirs = MetricFrame(
            metrics=selection_rate,
            y_true=case.data["y"],
            y_pred=case.data["p"],
            sensitive_features=case.data[list(row.by)],
            control_features=case.data["married"],
        ).difference()
        ((_, level),) = row.stratum
        assert equal(row.estimate.value, float(theirs[level])), (row.by, level)


def test_weighted_rates_equal_scikit_learns_sample_weight() -> None:
    """The census weights of Adult."""
    case = case_of("adult")
    spec = {
        "columns": {
            "protected": list(case.references),
            "label": {"column": "y", "positive": 1},
            "prediction": {"column": "p", "positive": 1},
            "weight": "w",
        },
        "metrics": list(WEIGHTED),
    }
    rows = case.data[[*case.references, "y", "p", "w"]]
    compared = 0
    for row in fairaudit.audit(spec, pl.DataFrame(rows.to_dict("list"))).rates:
        people = member(case, row.group)
        if not DEFINED.get(row.metric, len)(people):
            assert math.isnan(row.estimate.value)
            continue
        theirs = WEIGHTED[row.metric](people["y"], people["p"], sample_weight=people["w"])
        assert equal(row.estimate.value, float(theirs)), (row.metric, row.group)
        compared += 1
    assert compared > 200


def test_what_fairlearn_and_scikit_learn_print_for_nobody() -> None:
    """One group of positives that nobody selects, one of negatives that are all selected."""
    data = pd.DataFrame({"g": list("aaabbb"), "y": [1, 1, 1, 0, 0, 0], "p": [0, 0, 0, 1, 1, 1]})
    spec = {
        "columns": {
            "protected": ["g"],
            "label": {"column": "y", "positive": 1},
            "prediction": {"column": "p", "positive": 1},
        },
        "metrics": list(RATES),
    }
    result = fairaudit.audit(spec, pl.DataFrame(data.to_dict("list")))
    ours = {(row.metric, dict(row.group).get("g")): row.estimate.value for row in result.rates}
    theirs = MetricFrame(
        metrics=RATES, y_true=data["y"], y_pred=data["p"], sensitive_features=data["g"]
    ).by_group
    for metric, group in (
        ("true_positive_rate", "b"),
        ("false_negative_rate", "b"),
        ("false_positive_rate", "a"),
        ("true_negative_rate", "a"),
        ("positive_predictive_value", "a"),
        ("negative_predictive_value", "b"),
        ("balanced_accuracy", "a"),
        ("balanced_accuracy", "b"),
    ):
        assert math.isnan(ours[metric, group])
        assert theirs.loc[group, metric] == 0
    assert ours["f1", "a"] == theirs.loc["a", "f1"] == 0


def test_fairlearns_ratio_of_nothing_to_nothing_is_no_number_either() -> None:
    """But where two ratios are joined, the one that is no number decides in one place only."""
    data = pd.DataFrame({"g": list("aabb"), "y": [0, 1, 0, 1], "p": [0, 1, 0, 0]})
    spec = {
        "columns": {
            "protected": ["g"],
            "label": {"column": "y", "positive": 1},
            "prediction": {"column": "p", "positive": 1, "negative": 0},
        },
        "metrics": ["demographic_parity_ratio", "equalized_odds_ratio"],
    }
    for p in ([0, 1, 0, 0], [0, 0, 0, 0]):
        rows = data.assign(p=p)
        result = fairaudit.audit(spec, pl.DataFrame(rows.to_dict("list")))
        parity, odds = (row.estimate.value for row in result.comparisons)
        given = {"sensitive_features": rows["g"]}
        assert equal(parity, demographic_parity_ratio(rows["y"], rows["p"], **given))
        theirs = equalized_odds_ratio(rows["y"], rows["p"], **given)
        assert math.isnan(odds)
        # Nobody is selected wrongly: the ratio of false positive rates is 0/0. Fairlearn leaves it
        # out where the other ratio is a number.
        assert equal(theirs, 0.0 if any(p) else math.nan)


# --- Associations ------------------------------------------------------------------------------


def crosstab(case: Case, by: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Groups by outcomes."""
    return np.asarray(pd.crosstab(codes(case, by), case.data["p"]))


def largest_distance(table: np.ndarray[Any, Any]) -> float:
    shares = table / table.sum(axis=1, keepdims=True)
    return max(float(cityblock(one, two)) / 2 for one, two in combinations(shares, 2))


ASSOCIATIONS: dict[str, Callable[[Case, tuple[str, ...]], float]] = {
    "mutual_information": lambda case, by: (
        mutual_info_score(codes(case, by), case.data["p"]) / math.log(2)  # nats there, bits here
    ),
    "normalized_mutual_information": lambda case, by: normalized_mutual_info_score(
        codes(case, by), case.data["p"], average_method="geometric"
    ),
    "cramers_v": lambda case, by: association(crosstab(case, by), method="cramer"),
    "total_variation": lambda case, by: largest_distance(crosstab(case, by)),
}


@pytest.mark.parametrize("name", NAMES)
def test_associations_equal_scikit_learn_and_scipy(name: str) -> None:
    case = case_of(name)
    found = audit(case, list(ASSOCIATIONS)).comparisons
    assert len(found) == len(case.subsets) * len(ASSOCIATIONS)
    for row in found:
        theirs = float(ASSOCIATIONS[row.metric](case, row.by))
        assert equal(row.estimate.value, theirs), (row.metric, row.by)


def test_where_an_outcome_never_varies_scikit_learn_prints_0_or_1() -> None:
    """The normalized information is 0/0: 0 for scikit-learn, 1 if the group never varies either."""
    case = Case(pd.DataFrame({"g": ["a", "a", "b"], "y": 0, "p": 0, "s": 0.5}), {"g": "a"})
    metrics = ["normalized_mutual_information", "mutual_information", "cramers_v"]
    values = {row.metric: row.estimate.value for row in audit(case, metrics).comparisons}
    assert math.isnan(values["normalized_mutual_information"])
    kind = {"average_method": "geometric"}
    assert normalized_mutual_info_score([0, 0, 1], [0, 0, 0], **kind) == 0
    assert normalized_mutual_info_score([0, 0, 0], [0, 0, 0], **kind) == 1
    assert values["mutual_information"] == mutual_info_score([0, 0, 1], [0, 0, 0]) == 0


# --- Against a reference -----------------------------------------------------------------------


def shares_of(rows: pd.DataFrame) -> list[float]:
    return [float((rows["p"] == one).mean()) for one in (0, 1)]


def two_by_two(group: pd.DataFrame, other: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Selected and not, of the group above the reference."""
    return np.array([[int((one["p"] == way).sum()) for way in (1, 0)] for one in (group, other)])


def superiority(higher: pd.Series, lower: pd.Series) -> float:
    found = mannwhitneyu(higher, lower, method="asymptotic").statistic
    return float(found / (len(higher) * len(lower)))


def risk(group: pd.DataFrame, other: pd.DataFrame) -> float:
    (a, b), (c, d) = two_by_two(group, other).tolist()
    return float(relative_risk(a, a + b, c, c + d).relative_risk)


AGAINST: dict[str, Callable[[pd.DataFrame, pd.DataFrame], float]] = {
    "between_group_auc_score": lambda group, other: superiority(other["s"], group["s"]),
    "between_group_auc": lambda group, other: superiority(other["p"], group["p"]),
    "kl_divergence": lambda group, other: float(entropy(shares_of(group), shares_of(other))),
    "selection_odds_ratio": lambda group, other: float(
        odds_ratio(two_by_two(group, other), kind="sample").statistic
    ),
    "disparate_impact_ratio": risk,
}


@pytest.mark.parametrize("name", NAMES)
def test_comparisons_with_a_reference_equal_scipy(name: str) -> None:
    """What scipy prints for 0/0 is no number, and for x/0 infinite, as here."""
    case = case_of(name)
    found = audit(case, list(AGAINST)).comparisons
    assert len(found) == len(AGAINST) * sum(len(split(case, by)) - 1 for by in case.subsets)
    for row in found:
        assert row.group is not None
        reference = tuple((name, case.references[name]) for name in row.by)
        theirs = AGAINST[row.metric](member(case, row.group), member(case, reference))
        assert equal(row.estimate.value, theirs), (row.metric, row.group)


@pytest.mark.parametrize("name", NAMES)
def test_correlation_with_membership_equals_scipy(name: str) -> None:
    case = case_of(name)
    found = audit(case, ["correlation"]).comparisons
    assert len(found) == sum(len(split(case, by)) for by in case.subsets)
    for row in found:
        assert row.group is not None
        inside = case.data.index.isin(member(case, row.group).index).astype(float)
        assert equal(row.estimate.value, float(pearsonr(case.data["s"], inside).statistic))


# --- Scores ------------------------------------------------------------------------------------


def smirnov(one: pd.DataFrame, two: pd.DataFrame) -> float:
    with np.errstate(all="ignore"):  # of the p-value, which is not looked at
        return float(ks_2samp(one["s"], two["s"], method="asymp").statistic)


@pytest.mark.parametrize("name", NAMES)
def test_score_parity_equals_kolmogorov_and_smirnov(name: str) -> None:
    """For more than two groups the gap is the largest statistic of any pair."""
    case = case_of(name)
    for row in audit(case, ["score_parity_gap", "score_parity"]).comparisons:
        groups = list(split(case, row.by).values())
        if row.metric == "score_parity":
            theirs = max(smirnov(one, case.data) for one in groups)
        else:
            theirs = max(smirnov(one, two) for one, two in combinations(groups, 2))
        assert equal(row.estimate.value, theirs), (row.metric, row.by)


@pytest.mark.parametrize("name", NAMES)
def test_scores_finer_than_the_bins_err_within_the_bound_they_state(name: str) -> None:
    case = case_of(name)
    finer = case.data.assign(s=case.data["fine"])
    result = audit(case, ["auc", "average_precision", "score_parity_gap"], finer)
    doubted = 0
    for row in result.rates:
        rows = finer.loc[member(case, row.group).index]
        if not DEFINED[row.metric](rows):
            assert math.isnan(row.estimate.value)
            continue
        theirs = OF_SCORES[row.metric](rows["y"], rows["s"])
        assert abs(row.estimate.value - theirs) <= row.estimate.error + 1e-12, row.group
        doubted += row.estimate.error > 0
    for compared in result.comparisons:
        groups = [finer.loc[rows.index] for rows in split(case, compared.by).values()]
        hidden = max(smirnov(*pair) for pair in combinations(groups, 2)) - compared.estimate.value
        assert -1e-12 <= hidden <= compared.estimate.error + 1e-12, compared.by
    assert doubted or name == "compas"


@pytest.mark.parametrize("name", NAMES)
def test_calibration_error_equals_scikit_learns_curve(name: str) -> None:
    """Its bins are closed above and ours below, so scores on an edge are left out."""
    case = case_of(name)
    tenths = (case.data["s"] * 10).round(9)
    inner = Case(case.data[tenths != tenths.round()].reset_index(drop=True), case.references)
    found = audit(inner, ["calibration_error"]).rates
    for row in found:
        rows = member(inner, row.group)
        share, mean = calibration_curve(rows["y"], rows["s"], n_bins=10)
        people = np.bincount((rows["s"] * 10).astype(int), minlength=10)
        theirs = float(np.abs(share - mean) @ people[people > 0] / people.sum())
        assert equal(row.estimate.value, theirs), row.group
    assert len(found) > 20


def test_a_score_on_an_edge_is_in_the_lower_bin_for_scikit_learn() -> None:
    """.3 of a positive among .25 of negatives is calibrated there, and is not here."""
    scores = [*([0.25] * 9), 0.3, *(round(0.4 + at / 1000, 3) for at in range(1, 21))]
    labels = [*([0] * 9), 1, *([0] * 20)]
    data = pd.DataFrame({"g": "a", "y": labels, "p": 1, "s": scores})
    data.loc[0, "g"] = "b"
    (row, *_) = audit(Case(data, {"g": "a"}), ["calibration_error"]).rates
    share, mean = calibration_curve(labels, scores, n_bins=10)
    assert len(share) == 2
    theirs = float(np.abs(share - mean) @ [10, 20] / 30)
    ours = (9 * 0.25 + 0.7 + sum(scores[10:])) / 30
    assert row.estimate.value == pytest.approx(ours, abs=1e-12)
    assert theirs == pytest.approx((abs(1 - sum(scores[:10])) + sum(scores[10:])) / 30, abs=1e-12)
    assert ours > theirs + 0.04


# --- Numbers -----------------------------------------------------------------------------------


def root_mean_squared(y: Any, p: Any) -> float:
    return math.sqrt(mean_squared_error(y, p))


def mean_label(y: Any, _: Any) -> float:
    return float(np.mean(y))


REGRESSION: dict[str, Metric] = {
    "mae": mean_absolute_error,
    "rmse": root_mean_squared,
    "r2": r2_score,
    "mean_prediction": mean_prediction,
    "mean_label": mean_label,
}


def numeric(data: pd.DataFrame, protected: Any, metrics: list[Any]) -> AuditResult:
    spec = {
        "columns": {
            "protected": protected,
            "label": {"column": "y", "number": "true"},
            "prediction": {"column": "p", "number": "true"},
        },
        "metrics": metrics,
    }
    return fairaudit.audit(spec, pl.DataFrame(data.to_dict("list")))


def test_regression_equals_scikit_learn_for_every_subset() -> None:
    """Hours of work a week on Adult, predicted at three decimals."""
    people, features, train = adult_rows()
    hours = people["hours_per_week"].astype(float)
    model = LinearRegression().fit(features[train], hours[train])
    case = case_of("adult")
    data = case.data[list(case.references)].assign(
        y=hours[~train].to_numpy(), p=model.predict(features[~train]).round(3)
    )
    of = Case(data, case.references)
    found = numeric(data, list(case.references), list(REGRESSION)).rates
    assert len(found) == len(REGRESSION) * (1 + sum(len(split(of, by)) for by in of.subsets))
    for row in found:
        rows = member(of, row.group)
        theirs = float(REGRESSION[row.metric](rows["y"], rows["p"]))
        assert equal(row.estimate.value, theirs), (row.metric, row.group)


def test_scikit_learn_prints_1_or_0_where_labels_never_vary() -> None:
    """1 for a perfect prediction and 0 for any other; of one person no number, as here."""
    data = pd.DataFrame(
        {"g": list("aabbc"), "y": [2.0, 2.0, 2.0, 2.0, 5.0], "p": [2.0, 2.0, 2.0, 3.0, 5.0]}
    )
    ours = {row.group: row.estimate.value for row in numeric(data, ["g"], ["r2"]).rates if row.by}
    for level, printed in (("a", 1.0), ("b", 0.0), ("c", math.nan)):
        rows = data[data["g"] == level]
        assert equal(r2_score(rows["y"], rows["p"]), printed)
        assert math.isnan(ours[("g", level),])


def test_a_numeric_attribute_equals_scipy() -> None:
    """The line through predictions by age; the trend is r √n, for its variance is that of all."""
    case = case_of("adult")
    spec = {
        "columns": {
            "protected": {"age": {"bins": [30, 50]}},
            "prediction": {"column": "p", "positive": 1},
        },
        "metrics": ["slope", "numeric_correlation", "trend"],
    }
    result = fairaudit.audit(spec, pl.DataFrame(case.data[["age", "p"]].to_dict("list")))
    line = linregress(case.data["age"], case.data["p"])
    theirs = {
        "slope": line.slope,
        "numeric_correlation": line.rvalue,
        "trend": line.rvalue * math.sqrt(len(case.data)),
    }
    values = {row.metric: row.estimate.value for row in result.comparisons}
    assert values.keys() == theirs.keys()
    for metric, value in values.items():
        assert equal(value, float(theirs[metric])), metric


# --- Several classes ---------------------------------------------------------------------------

CLASSES = ("married", "never", "once")
OF_CLASSES: dict[str, Metric] = {
    "true_positive_rate": recall_score,
    "positive_predictive_value": precision_score,
    "f1": f1_score,
}


@cache
def status() -> pd.DataFrame:
    """Marital status on Adult, predicted from everything else, in three classes."""
    people, features, train = adult_rows()
    known = {"Married-civ-spouse": "married", "Never-married": "never"}
    label = people["marital_status"].map(known).fillna("once")
    used = features[["age", "education", "gain"]].assign(hours=people["hours_per_week"])
    model = make_pipeline(StandardScaler(), LogisticRegression(random_state=SEED))
    model.fit(used[train], label[train])
    case = case_of("adult")
    return case.data[list(case.references)].assign(
        y=label[~train].to_numpy(), p=model.predict(used[~train])
    )


def of_classes(data: pd.DataFrame, protected: list[str], metrics: list[Any]) -> AuditResult:
    spec = {
        "columns": {"protected": protected, "label": "y", "prediction": "p"},
        "metrics": metrics,
    }
    return fairaudit.audit(spec, pl.DataFrame(data.to_dict("list")))


def rate_rows(result: AuditResult) -> Iterator[tuple[str, RateRow]]:
    """Each rate by the name that it has for two classes."""
    for row in result.rates:
        yield row.metric.removeprefix("macro_"), row


@pytest.mark.parametrize("one", [*CLASSES, "macro"])
def test_several_classes_equal_scikit_learn_for_every_subset(one: str) -> None:
    """One class against the rest, or the plain mean over all; no number where a class is missing.

    scikit-learn counts a class without a number as 0.
    """
    of = Case(status(), case_of("adult").references)
    metrics = [{"metric": metric, "class": one} for metric in OF_CLASSES]
    compared = undefined = 0
    for metric, row in rate_rows(of_classes(of.data, list(of.references), metrics)):
        rows = member(of, row.group)
        each = OF_CLASSES[metric](
            rows["y"], rows["p"], labels=CLASSES, average=None, zero_division=np.nan
        )
        theirs = float(np.mean(each)) if one == "macro" else float(each[CLASSES.index(one)])
        assert equal(row.estimate.value, theirs), (row.metric, row.group)
        if math.isnan(theirs):
            assert not np.isnan(
                OF_CLASSES[metric](rows["y"], rows["p"], labels=CLASSES, average=None)
            ).any()
        compared += not math.isnan(theirs)
        undefined += math.isnan(theirs)
    assert compared + undefined == 3 * (1 + sum(len(split(of, by)) for by in of.subsets))
    assert compared > 60


def test_scikit_learns_macro_mean_leaves_out_the_classes_that_a_group_does_not_have() -> None:
    """A group without a class has a mean over fewer classes there, and none here."""
    data = pd.DataFrame({"g": list("aaabbb"), "y": list("xyzxyy"), "p": list("xyzxyx")})
    metric = {"metric": "true_positive_rate", "class": "macro"}
    rows = {row.group: row.estimate for row in of_classes(data, ["g"], [metric]).rates}
    b = data[data["g"] == "b"]
    assert recall_score(b["y"], b["p"], average="macro") == pytest.approx(3 / 4)
    assert recall_score(b["y"], b["p"], average="macro", labels=["x", "y", "z"]) == 0.5
    assert math.isnan(rows[("g", "b"),].value)
    assert rows[("g", "a"),].value == 1


def test_a_class_that_is_never_predicted_counts_in_the_macro_mean() -> None:
    data = pd.DataFrame({"g": list("aaabbb"), "y": list("xyzxyz"), "p": list("xyyxyx")})
    metric = {"metric": "true_positive_rate", "class": "macro"}
    for row in of_classes(data, ["g"], [metric]).rates:
        assert row.estimate.value == pytest.approx(2 / 3, abs=1e-12)
    assert recall_score(data["y"], data["p"], average="macro") == pytest.approx(2 / 3)


def test_a_class_that_is_never_predicted_has_a_recall_of_0() -> None:
    data = pd.DataFrame({"g": list("aaabbb"), "y": list("xyzxyz"), "p": list("xyyxyx")})
    metric = {"metric": "true_positive_rate", "class": "z"}
    for row in of_classes(data, ["g"], [metric]).rates:
        assert row.estimate.value == 0
    assert recall_score(data["y"], data["p"], labels=["z"], average=None) == 0


def test_rates_of_two_classes_stand_beside_each_other() -> None:
    data = pd.DataFrame({"g": list("aaabbb"), "y": list("xyzxyz"), "p": list("xyyxxz")})
    metrics = [{"metric": "true_positive_rate", "class": one} for one in "xy"]
    rows = [row for row in of_classes(data, ["g"], metrics).rates if not row.by]
    theirs = recall_score(data["y"], data["p"], labels=["x", "y"], average=None)
    assert [row.parameters["class"] for row in rows] == ["x", "y"]
    assert [row.estimate.value for row in rows] == pytest.approx(list(theirs), abs=1e-12)


def test_two_groups_of_classes_equal_scikit_learn() -> None:
    """The macro criterion averages gaps of classes; information and distance look at all."""
    of = Case(status(), case_of("adult").references)
    metrics = [
        {"metric": "equal_opportunity_difference", "class": "macro"},
        "mutual_information",
        "normalized_mutual_information",
        "cramers_v",
        "total_variation",
    ]
    found = of_classes(of.data, list(of.references), metrics).comparisons
    assert len(found) == 5 * len(of.subsets)
    for row in found:
        theirs = ASSOCIATIONS.get(row.metric, macro_gap)(of, row.by)
        assert equal(row.estimate.value, float(theirs)), (row.metric, row.by)


def macro_gap(of: Case, by: tuple[str, ...]) -> float:
    """The mean over classes of the widest gap between groups of scikit-learn's recall.

    No number if a group has none.
    """
    recalls = [
        recall_score(rows["y"], rows["p"], labels=CLASSES, average=None, zero_division=np.nan)
        for rows in split(of, by).values()
    ]
    return float(np.mean(np.max(recalls, axis=0) - np.min(recalls, axis=0)))
