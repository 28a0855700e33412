"""Adult and German credit: strata that models make, against statsmodels and scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from sklearn.cluster import KMeans

import fairaudit

DATA = Path(__file__).parents[3] / "shared" / "data"
NUMBERS = ["age", "education_num", "hours_per_week"]
CATEGORIES = ["workclass", "marital_status"]
SCIKIT_LEARN = 0.25584105016747116
"""The balanced error rate by which 1.9.1 tells the sexes apart: transcripts/adult_by_sex.py."""

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="needs ../shared/data")


def audit_adult(*metrics: Any) -> fairaudit.AuditResult:
    """The result of an audit of Adult by sex."""
    spec = {
        "columns": {
            "protected": {"sex": {"reference": "Male"}},
            "label": {"column": "income", "positive": ">50K"},
            "features": {"numeric": NUMBERS, "categorical": CATEGORIES},
        },
        "simpson": {"given": []},
        "metrics": list(metrics),
    }
    return fairaudit.audit(spec, DATA / "adult_train.csv")


def read_adult() -> tuple[pl.DataFrame, NDArray[np.float64], NDArray[np.bool_]]:
    """Adult, its features as numbers and dummies, and who is a woman."""
    data = pl.read_csv(DATA / "adult_train.csv", infer_schema_length=None)
    dummies = data.select(CATEGORIES).to_dummies(drop_first=True).to_numpy()
    matrix = np.hstack([data.select(NUMBERS).to_numpy(), dummies]).astype(np.float64)
    return data, matrix, (data["sex"] == "Female").to_numpy()


@pytest.mark.long
def test_propensity_strata_of_adult_are_those_of_statsmodels() -> None:
    data, matrix, member = read_adult()
    scale = np.abs(matrix).max(axis=0)
    fit = sm.Logit(member.astype(float), sm.add_constant(matrix / scale)).fit(disp=0)
    scores = fit.predict()
    low, high = (
        max(scores[member].min(), scores[~member].min()),
        min(scores[member].max(), scores[~member].max()),
    )
    inside = (scores >= low - 1e-6) & (scores <= high + 1e-6)
    edges = np.quantile(scores[inside], [0.2, 0.4, 0.6, 0.8], method="inverted_cdf")
    stratum = np.searchsorted(edges, scores + 1e-6, side="right")
    rich = (data["income"] == ">50K").to_numpy()
    result = audit_adult(
        {
            "metric": "propensity_stratified_difference",
            "by": "sex",
            "given": {"propensity": {"bins": 5}},
        }
    )
    expected = 0.0
    for z in range(5):
        women, men = (inside & (stratum == z) & side for side in (member, ~member))
        share = (women.sum() + men.sum()) / inside.sum()
        expected += share * (rich[men].mean() - rich[women].mean())
        told = {
            row.group[0][1]: row.estimate.denominator
            for row in result.rates
            if row.stratum and row.stratum[0][1].startswith(f"{z + 1}:") and row.group
        }
        assert told == {"Female": women.sum(), "Male": men.sum()}
    (row,) = [one for one in result.comparisons if one.metric == "propensity_stratified_difference"]
    assert row.estimate.value == pytest.approx(expected, abs=1e-9)
    # Of 19.6 points 3.1 are left among people of equal propensity.
    assert expected == pytest.approx(0.031, abs=0.001)


@pytest.mark.long
def test_the_features_of_adult_tell_sex_as_well_as_scikit_learn_finds() -> None:
    rows = [row for row in audit_adult("balanced_error_rate").rates if row.group]
    assert len(rows) == 2
    for row in rows:
        assert row.estimate.value == pytest.approx(SCIKIT_LEARN, abs=0.004)
        assert row.estimate.low is not None
        assert row.estimate.high is not None
        assert row.estimate.low < SCIKIT_LEARN < row.estimate.high


def test_clusters_of_german_credit_are_those_of_scikit_learn(tmp_path: Path) -> None:
    lines = [line.split() for line in (DATA / "german.data").read_text().splitlines() if line]
    names = ["months", "amount", "age", "account", "purpose", "status", "risk"]
    places = [1, 4, 12, 0, 3, 8, 20]
    data = pl.DataFrame(
        {name: [line[at] for line in lines] for name, at in zip(names, places, strict=True)}
    ).with_columns(pl.col("months", "amount", "age").cast(pl.Float64))
    data = data.with_columns(sex=pl.when(pl.col("status").is_in(["A92", "A95"])).then(
        pl.lit("female")).otherwise(pl.lit("male")))  # fmt: skip
    data.write_csv(tmp_path / "german.csv")
    spec = {
        "columns": {
            "protected": {"sex": {"reference": "male"}},
            "label": {"column": "risk", "positive": "1"},
            "features": {
                "numeric": ["months", "amount", "age"],
                "categorical": ["account", "purpose"],
            },
        },
        "metrics": [
            {
                "metric": "unexplained_difference",
                "by": "sex",
                "given": {"clusters": {"features": ["months", "amount", "account"], "k": 2}},
            }
        ],
    }
    result = fairaudit.audit(spec, tmp_path / "german.csv")
    numbers = data.select("months", "amount").to_numpy()
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    dummies = data.select("account").to_dummies().to_numpy() / 2**0.5
    found = KMeans(2, n_init=20, random_state=5).fit_predict(np.hstack([numbers, dummies]))
    good, female = (data["risk"] == "1").to_numpy(), (data["sex"] == "female").to_numpy()
    expected = {
        ((found == z) & side).sum(): (good & (found == z) & side).sum()
        for z in range(2)
        for side in (female, ~female)
    }
    told = {
        row.estimate.denominator: row.estimate.numerator
        for row in result.rates
        if row.group and row.stratum
    }
    assert told == expected
