"""Local rates along a numeric attribute: as statsmodels smooths the rows, and their band."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.nonparametric.bandwidths import bw_silverman
from statsmodels.nonparametric.kernel_regression import KernelReg

import fairaudit
from fairaudit.report import content, terminal
from fairaudit.report.blocks import Figure
from fairaudit.result import AuditResult
from fairaudit.stats import pooling

SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"age": {"bins": [30, 50]}},
        "decision": {"column": "y", "positive": "1", "negative": "0"},
    },
    "missing": {"prediction": "aside"},
    "metrics": "slope",
}


def people(n: int, seed: int = 3) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    age = random.integers(18, 80, n)
    chance = 0.2 + 0.5 * np.exp(-((age - 45) ** 2) / 200)
    return pl.DataFrame({"age": age, "y": (random.random(n) < chance).astype(int)})


def audit(data: Any, **more: Any) -> AuditResult:
    return fairaudit.audit({**SPEC, **more}, data)


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_the_curve_is_statsmodels(kind: str, tmp_path: Path) -> None:
    data = people(600)
    data.write_csv(tmp_path / "people.csv")
    (curve,) = audit(data if kind == "frame" else tmp_path / "people.csv").local_rates
    assert (curve.attribute, curve.of) == ("age", "decision")
    ages, chosen = data["age"].to_numpy().astype(float), data["y"].to_numpy().astype(float)
    assert curve.bandwidth == pytest.approx(bw_silverman(ages), rel=0.03)
    at = np.array([point.at for point in curve.points])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of a random start that is not used
        fitted = KernelReg(chosen, ages, "c", reg_type="lc", bw=[curve.bandwidth]).fit(at)[0]
    assert [point.rate for point in curve.points] == pytest.approx(fitted.tolist(), abs=1e-9)
    highest = max(curve.points, key=lambda point: point.rate)
    assert 40 < highest.at < 50, "a slope sees nothing of that"


def test_a_rate_that_never_varies_is_a_level_line() -> None:
    same = pl.DataFrame({"age": [*range(20, 60)] * 2, "y": [1, 0] * 40})
    (curve,) = audit(same).local_rates
    assert {round(point.rate, 1) for point in curve.points} == {0.5}
    assert all(point.low < 0.5 < point.high for point in curve.points)


def test_who_has_no_age_or_no_outcome_is_not_in_it() -> None:
    data = people(300).with_columns(pl.col("age").cast(pl.Float64), pl.col("y").cast(pl.String))
    lacking = pl.DataFrame({"age": [None, 40.0], "y": ["1", None]}, schema=data.schema)
    assert audit(pl.concat([data, lacking])).local_rates == audit(data).local_rates


def test_few_people_and_one_age_have_no_curve() -> None:
    assert audit(pl.DataFrame({"age": [40] * 50, "y": [0, 1] * 25})).local_rates == ()
    few = pl.DataFrame({"age": [20, 40, 60], "y": [0, 1, 1]})
    assert all(curve.points == () for curve in audit(few).local_rates)


def test_nothing_is_drawn_unless_a_slope_is_asked_or_where_small_counts_are_hidden() -> None:
    assert audit(people(100), metrics="selection_rate").local_rates == ()
    assert audit(people(100), suppress_below="11").local_rates == ()


def test_the_page_draws_it_and_text_tells_it() -> None:
    result = audit(people(600), metrics=["slope", "selection_rate"])
    text = " ".join(terminal.render(content.document(result)).split())
    assert "Selection rate of the decision along age: from" in text
    titles = [block.title for block in content.document(result) if isinstance(block, Figure)]
    assert "Selection rate of the decision along age" in titles


def test_the_band_holds_the_smoothed_chance() -> None:
    """At each place by itself, for what the smoother would give of all people."""
    random, runs = np.random.default_rng(5), 2000
    at = np.arange(18.0, 80)
    chance = 0.2 + 0.5 * np.exp(-((at - 45) ** 2) / 200)
    places = np.array([25.0, 45.0, 70.0])
    truth = pooling.smooth(places, at, chance * 1e6, np.full(len(at), 1e6), 3.0).share
    covered = np.zeros(3)
    for _ in range(runs):
        n = random.multinomial(400, np.full(len(at), 1 / len(at))).astype(float)
        found = pooling.smooth(
            places, at, random.binomial(n.astype(int), chance).astype(float), n, 3.0
        )
        covered += (found.low <= truth) & (truth <= found.high)
    assert (covered / runs).min() > 0.93
