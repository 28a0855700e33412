"""Other people's code on the same rows, where it is defined and right; and where it is not.

Fairlearn prints 0 for a rate whose denominator is empty, so a gap over such a group is a number
there and undefined here: that disagreement is asserted, too.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from conftest import seeds
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
    selection_rate,
    true_negative_rate,
    true_positive_rate,
)
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score, precision_score

import fairaudit
from fairaudit.metrics.differential_fairness import epsilon
from fairaudit.stats.proportions import wilson

SEEDS = seeds(8, quick=2)
SPREADS = {
    "demographic_parity_difference": demographic_parity_difference,
    "demographic_parity_ratio": demographic_parity_ratio,
    "equal_opportunity_difference": equal_opportunity_difference,
    "equal_opportunity_ratio": equal_opportunity_ratio,
    "equalized_odds_difference": equalized_odds_difference,
    "equalized_odds_ratio": equalized_odds_ratio,
}
RATES = {
    "selection_rate": selection_rate,
    "true_positive_rate": true_positive_rate,
    "false_positive_rate": false_positive_rate,
    "true_negative_rate": true_negative_rate,
    "false_negative_rate": false_negative_rate,
    "accuracy": accuracy_score,
    "positive_predictive_value": precision_score,
    "balanced_accuracy": balanced_accuracy_score,
    "f1": f1_score,
}


def rows(seed: int) -> pd.DataFrame:
    """Rows with every cell occupied in every group."""
    random = np.random.default_rng(seed)
    many = pd.DataFrame(
        {
            "sex": random.choice(["f", "m"], 600),
            "race": random.choice(["a", "b", "c"], 600, p=[0.6, 0.3, 0.1]),
            "y": random.integers(0, 2, 600),
            "p": random.integers(0, 2, 600),
        }
    )
    cells = [(s, r, y, p) for s in "fm" for r in "abc" for y in (0, 1) for p in (0, 1)]
    return pd.concat([many, pd.DataFrame(cells, columns=list(many))], ignore_index=True)


def spec(metrics: list[str]) -> dict[str, object]:
    """A spec of the rows."""
    return {
        "columns": {
            "protected": ["sex", "race"],
            "label": {"column": "y", "positive": 1},
            "prediction": {"column": "p", "positive": 1},
        },
        "metrics": metrics,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_criteria_equal_fairlearn_for_every_subset(seed: int) -> None:
    data = rows(seed)
    for row in fairaudit.audit(spec(list(SPREADS)), data).comparisons:
        theirs = SPREADS[row.metric](data["y"], data["p"], sensitive_features=data[list(row.by)])
        assert row.estimate.value == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_equal_metric_frame_for_every_subset(seed: int) -> None:
    data = rows(seed)
    subsets: list[tuple[str, ...]] = [("sex",), ("race",), ("sex", "race")]
    frames = {
        by: MetricFrame(
            metrics=RATES,
            y_true=data["y"],
            y_pred=data["p"],
            sensitive_features=data[list(by)],
        )
        for by in subsets
    }
    for row in fairaudit.audit(spec(list(RATES)), data).rates:
        if row.by:
            levels = tuple(level for _, level in row.group)
            of_group = frames[row.by].by_group.loc[levels if len(levels) > 1 else levels[0]]
            theirs = of_group[row.metric]
        else:
            theirs = RATES[row.metric](data["y"], data["p"])
        assert row.estimate.value == pytest.approx(theirs, abs=1e-12)


def test_fairlearn_makes_a_number_of_an_empty_denominator() -> None:
    data = pd.DataFrame(
        {"sex": list("ffmm"), "race": ["a"] * 4, "y": [1, 1, 0, 0], "p": [1, 0, 1, 0]}
    )
    theirs = equal_opportunity_difference(data["y"], data["p"], sensitive_features=data["sex"])
    assert theirs == 0.5
    (ours, *_) = fairaudit.audit(spec(["equal_opportunity_difference"]), data).comparisons
    assert math.isnan(ours.estimate.value)
    assert ours.estimate.reason == "true_positive_rate: no people to count in sex=m"


@pytest.mark.parametrize("n", [1, 2, 7, 40, 1000, 10**6])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_wilson_equals_scipy(n: int, confidence: float) -> None:
    successes = sorted({0, 1, n // 3, n // 2, n - 1, n})
    share = np.array(successes) / n
    low, high = wilson(share, np.full(len(successes), float(n)), 1 - confidence)
    for at, k in enumerate(successes):
        theirs = binomtest(k, n).proportion_ci(confidence, method="wilson")
        assert low[at] == pytest.approx(theirs.low, abs=1e-12)
        assert high[at] == pytest.approx(theirs.high, abs=1e-12)
        assert low[at] <= share[at] <= high[at]


WILSON = [
    # successes, n, low, high; R 4.3: prop.test(k, n, correct = FALSE)$conf.int
    (12, 40, 0.180748, 0.454300),
    (0, 10, 0.0, 0.277533),
    (10, 10, 0.722467, 1.0),
    (1, 1, 0.206549, 1.0),
]


@pytest.mark.parametrize(("k", "n", "low", "high"), WILSON)
def test_wilson_equals_r(k: int, n: int, low: float, high: float) -> None:
    found = wilson(np.array([k / n]), np.array([float(n)]))
    assert [float(bound[0]) for bound in found] == pytest.approx([low, high], abs=5e-7)


def test_nobody_has_no_interval() -> None:
    low, high = wilson(np.array([np.nan]), np.array([0.0]))
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_epsilon_with_concentration_one_is_aif360s() -> None:
    """AIF360 0.6's smoothed_empirical_differential_fairness: (N_yg + 1/|Y|) / (N_g + 1)."""
    table = np.array([[81, 6], [192, 71], [234, 36], [55, 25]])
    shares = (table + 1 / 2) / (table.sum(axis=1, keepdims=True) + 1)
    logs = np.log(shares)
    theirs = max(abs(a - b).max() for a in logs for b in logs)
    assert epsilon(table, smoothing=0.5) == pytest.approx(theirs, abs=1e-12)
