"""What the profiles print is what the rule's example and the other tools print."""

from __future__ import annotations

import csv
import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fairlearn import metrics as fairlearn

import fairaudit
from fairaudit.result import AuditResult

TRANSCRIPT = Path(__file__).parent / "transcripts" / "aequitas.csv"

SUMMARY = {
    "Male": (92, 50, "54.3", "1.00"),
    "Female": (76, 34, "44.7", "0.82"),
}
"""New York City, 6 RCNY § 5-301 (b)'s example of a tool that scores: people, above the median."""

RACES = {
    "Hispanic": (28, 18, "1.00"),
    "White": (40, 15, "0.58"),
    "Black": (32, 16, "0.78"),
    "Asian": (24, 10, "0.65"),
}


def of_groups(result: AuditResult, metric: str, compare: str | None = "") -> dict[str, float]:
    """The numbers of each group of one column, by its level: rates, or a comparison of them."""
    rows = result.rates if compare == "" else result.comparisons
    return {
        row.group[0][1]: row.estimate.value
        for row in rows
        if row.metric == metric
        and row.group
        and len(row.group) == 1
        and getattr(row, "compare", "") == compare
    }


def applicants(groups: dict[str, tuple[int, int]], column: str) -> pd.DataFrame:
    """People with scores of which so many of each group are strictly above everybody's median."""
    levels = [level for level, (n, _) in groups.items() for _ in range(n)]
    above = [place < k for n, k in groups.values() for place in range(n)]
    draw = np.random.default_rng(1)
    scores = np.where(above, draw.uniform(0.6, 1, len(above)), draw.uniform(0, 0.4, len(above)))
    return pd.DataFrame({column: levels, "score": scores})


def scored(column: str, frame: pd.DataFrame) -> AuditResult:
    spec = {"profile": "nyc-ll144", "columns": {"protected": [column], "score": "score"}}
    return fairaudit.audit(spec, frame)


def test_the_example_of_local_law_144_comes_out() -> None:
    result = scored("sex", applicants({name: row[:2] for name, row in SUMMARY.items()}, "sex"))
    rates = of_groups(result, "scoring_rate")
    ratios = of_groups(result, "scoring_impact_ratio", None)
    for name, (_, _, rate, ratio) in SUMMARY.items():
        assert f"{100 * rates[name]:.1f}" == rate
        assert f"{ratios.get(name, 1.0):.2f}" == ratio
    assert result.verdict == "none"  # the rule sets no limit


def test_its_example_by_race_comes_out_of_the_whole_sample() -> None:
    # 44 others bring both halves to 84 of 168, as the rule's table has them.
    groups = {name: (n, k) for name, (n, k, _) in RACES.items()} | {"others": (44, 25)}
    result = scored("race", applicants(groups, "race"))
    rates = of_groups(result, "scoring_rate")
    for name, (n, k, ratio) in RACES.items():
        assert rates[name] == pytest.approx(k / n)
        assert f"{rates[name] / rates['Hispanic']:.2f}" == ratio
    ratios = of_groups(result, "scoring_impact_ratio", None)
    for name, (_, _, ratio) in RACES.items():
        assert f"{ratios.get(name, 1.0):.2f}" == ratio


@pytest.fixture
def people(shared: Path) -> dict[str, pd.DataFrame]:
    """COMPAS with Low against the rest, Adult's test part with a degree for income."""
    return read_people(shared)


@cache
def read_people(shared: Path) -> dict[str, pd.DataFrame]:
    compas = pd.read_csv(shared / "compas-scores-two-years.csv")
    adult = pd.read_csv(shared / "adult_test.csv")
    return {
        "compas": pd.DataFrame(
            {
                "race": compas.race,
                "sex": compas.sex,
                "y": compas.two_year_recid,
                "p": (compas.score_text != "Low").astype(int),
            }
        ),
        "adult": pd.DataFrame(
            {
                "race": adult.race,
                "sex": adult.sex,
                "y": adult.income.str.startswith(">50K").astype(int),
                "p": (adult.education_num >= 13).astype(int),
            }
        ),
    }


def by_profile(name: str, frame: pd.DataFrame, column: str) -> AuditResult:
    columns: dict[str, Any] = {"protected": [column], "label": "y", "prediction": "p"}
    counted = frame.groupby(
        [column, "y", "p"], as_index=False
    ).size()  # counts are quicker than rows
    spec = {"profile": name, "columns": columns | {"count": "size"}}
    return fairaudit.audit(spec, counted)


AEQUITAS = {
    "pprev": "selection_rate",
    "ppr": "selected_share",
    "prev": "base_rate",
    "fdr": "false_discovery_rate",
    "for": "false_omission_rate",
    "fpr": "false_positive_rate",
    "fnr": "false_negative_rate",
    "tpr": "true_positive_rate",
    "tnr": "true_negative_rate",
    "npv": "negative_predictive_value",
    "precision": "positive_predictive_value",
}


@pytest.mark.parametrize("data", ["compas", "adult"])
@pytest.mark.parametrize("column", ["race", "sex"])
def test_the_profile_of_aequitas_prints_its_numbers(
    data: str, column: str, people: dict[str, pd.DataFrame]
) -> None:
    result = by_profile("aequitas", people[data], column)
    with TRANSCRIPT.open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["data"], row["attribute_name"]) == (data, column)
        ]
    assert len(rows) > 1
    largest = max(rows, key=lambda row: int(row["group_size"]))["attribute_value"]
    for theirs, ours in AEQUITAS.items():
        rates = of_groups(result, ours)
        assert len(rates) == len(rows)
        ratios = {} if theirs == "prev" else of_groups(result, ours, "ratio")
        for row in rows:
            level = row["attribute_value"]
            assert math.isclose(rates[level], float(row[theirs]), rel_tol=1e-9)
            if theirs != "prev" and level != largest:
                expected = float(row[f"{theirs}_disparity"])
                assert math.isclose(ratios[level], expected, rel_tol=1e-9)


FAIRLEARN = [
    "demographic_parity_difference",
    "demographic_parity_ratio",
    "equalized_odds_difference",
    "equalized_odds_ratio",
    "equal_opportunity_difference",
    "equal_opportunity_ratio",
]


@pytest.mark.parametrize("data", ["compas", pytest.param("adult", marks=pytest.mark.long)])
@pytest.mark.parametrize("column", ["race", pytest.param("sex", marks=pytest.mark.long)])
def test_the_profile_of_fairlearn_prints_its_numbers(
    data: str, column: str, people: dict[str, pd.DataFrame]
) -> None:
    frame = people[data]
    result = by_profile("fairlearn", frame, column)
    sides = {"y_true": frame.y, "y_pred": frame.p, "sensitive_features": frame[column]}
    found = {
        row.metric: row.estimate.value
        for row in result.comparisons
        if row.by == (column,) and row.group is None
    }
    for name in FAIRLEARN:
        assert math.isclose(found[name], getattr(fairlearn, name)(**sides), rel_tol=1e-9)
    mean = fairlearn.equalized_odds_difference(**sides, agg="mean")
    assert math.isclose(found["equalized_odds_mean"], mean, rel_tol=1e-9)
    rates = fairlearn.MetricFrame(metrics=fairlearn.selection_rate, **sides).by_group
    assert of_groups(result, "selection_rate") == pytest.approx(rates.to_dict())
