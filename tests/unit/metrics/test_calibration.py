"""Calibration at all p: Cox's fit against statsmodels on rows, Hosmer & Lemeshow's χ², bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from conftest import examples
from evidence_specs import YES, document
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import FairauditError
from fairaudit.judge import Status
from fairaudit.result import AuditResult
from fairaudit.stats import calibration
from fairaudit.stats.calibration import ScoreBins

COLUMNS = {"protected": ["g"], "label": {"column": "y", **YES}, "score": "s"}
NAMES = ["calibration_slope", "calibration_intercept", "hosmer_lemeshow"]


def spec(*metrics: Any, **more: Any) -> dict[str, Any]:
    prediction = {"column": "p", **YES}
    return {"columns": {**COLUMNS, "prediction": prediction, **more}, "metrics": [*metrics]}


def scored(*groups: tuple[str, float, int, int]) -> pl.DataFrame:
    """So many positives and negatives of a group with one score."""
    rows = [
        (g, score, y, y)
        for g, score, positive, negative in groups
        for y, n in ((1, positive), (0, negative))
        for _ in range(n)
    ]
    return pl.DataFrame(rows, ["g", "s", "y", "p"], orient="row")


def drawn(seed: int, people: int, slope: float = 0.7, decimals: int | None = 3) -> pl.DataFrame:
    """People whose labels follow a logit line in that of their scores, two groups of them."""
    draw = np.random.default_rng(seed)
    x = draw.normal(-0.5, 1.5, people)
    score = 1 / (1 + np.exp(-x))
    score = score if decimals is None else score.round(decimals).clip(0.001, 0.999)
    label = draw.random(people) < 1 / (1 + np.exp(-(0.3 + slope * np.log(score / (1 - score)))))
    group = draw.choice(list("ab"), people)
    return pl.DataFrame({"g": group, "s": score, "y": label.astype(int), "p": label.astype(int)})


def values(result: AuditResult, metric: str) -> dict[str, Any]:
    return {
        row.group[0][1]: row.estimate for row in result.rates if row.metric == metric and row.group
    }


@pytest.mark.parametrize("seed", range(3))
def test_slope_and_intercept_are_statsmodels(seed: int) -> None:
    frame = drawn(seed, 1500)
    result = fairaudit.audit(spec(*NAMES), frame)
    for group, rows in frame.group_by("g"):
        s, y = rows["s"].to_numpy(), rows["y"].to_numpy()
        logit = np.log(s / (1 - s))
        fit = sm.Logit(y, sm.add_constant(logit)).fit(disp=0)
        shift = sm.GLM(y, np.ones(len(y)), offset=logit, family=sm.families.Binomial()).fit()
        for metric, value, ends in (
            ("calibration_slope", fit.params[1], fit.conf_int()[1]),
            ("calibration_intercept", shift.params[0], shift.conf_int()[0]),
        ):
            found = values(result, metric)[str(group[0])]
            assert found.value == pytest.approx(value, abs=1e-7)
            assert (found.low, found.high) == pytest.approx(tuple(ends), abs=1e-6)
            assert found.error == 0


def test_scores_of_any_value_are_within_the_bound_that_is_told() -> None:
    frame = drawn(5, 4000, decimals=None)
    result = fairaudit.audit(spec(*NAMES), frame)
    for group, rows in frame.group_by("g"):
        s, y = rows["s"].to_numpy(), rows["y"].to_numpy()
        fit = sm.Logit(y, sm.add_constant(np.log(s / (1 - s)))).fit(disp=0)
        found = values(result, "calibration_slope")[str(group[0])]
        assert 0 < found.error < 1e-3
        assert abs(found.value - fit.params[1]) <= found.error


@given(seed=st.integers(0, 10_000), width=st.sampled_from([2, 5, 20, 100, 1000]))
@examples(40)
def test_no_score_within_a_bin_moves_a_fit_by_more_than_its_bound(seed: int, width: int) -> None:
    draw = np.random.default_rng(seed)
    s = draw.uniform(0.02, 0.98, int(draw.integers(30, 400)))
    y = draw.random(len(s)) < s**2
    exact = ScoreBins.of(*histogram(np.sort(s), y[np.argsort(s)], np.arange(len(s))))
    coarse = ScoreBins.of(*histogram(s, y, np.floor(s * width).astype(int)))
    for find in (
        calibration.recalibration_slope,
        calibration.recalibration_intercept,
    ):
        ours, theirs = find(coarse), find(exact)
        assert theirs.doubt < 1e-12
        if not math.isnan(ours.value) and not math.isnan(theirs.value):
            assert abs(ours.value - theirs.value) <= ours.doubt + 1e-9
    assert calibration.recalibration_intercept(
        ScoreBins.of(*histogram(s, y, np.floor(s * 1000).astype(int)))
    ).doubt < 0.1  # fmt: skip


def histogram(s: Any, y: Any, codes: Any) -> tuple[Any, Any, Any, Any]:
    """Positives, negatives, and the extreme scores of each bin that occurs."""
    occurring = np.unique(codes)
    inside = [codes == code for code in occurring]
    return (
        np.array([int(y[bin_].sum()) for bin_ in inside]),
        np.array([int((~y[bin_]).sum()) for bin_ in inside]),
        np.array([s[bin_].min() for bin_ in inside]),
        np.array([s[bin_].max() for bin_ in inside]),
    )


def test_hosmer_and_lemeshow_by_hand() -> None:
    # (30 - 20)² / (20 · 0.8) + (50 - 60)² / (60 · 0.4) = 6.25 + 25/6, of two parts.
    calibrated = [("b", 0.2, 20, 80), ("b", 0.6, 60, 40)]
    limit = {"above": 0, "significant": True}
    asked = spec({"metric": "hosmer_lemeshow", "fail": limit})
    frame = scored(("a", 0.2, 30, 70), ("a", 0.6, 50, 50), *calibrated)
    (check,) = document(asked, frame)["checks"]
    test = check["significance"]
    assert check["value"] == pytest.approx(6.25 + 25 / 6)
    assert test["p"] == pytest.approx(math.exp(-(6.25 + 25 / 6) / 2))
    assert test["freedom"] == [2]
    assert check["status"] == "fail"
    (check,) = document(asked, scored(("a", 0.2, 20, 80), ("a", 0.6, 60, 40), *calibrated))[
        "checks"
    ]
    assert (check["status"], check["value"]) == ("pass", 0)


def test_a_part_that_expects_few_is_joined_with_its_neighbour() -> None:
    frame = scored(("a", 0.01, 0, 100), ("a", 0.5, 50, 50), ("a", 0.6, 60, 40), ("b", 0.5, 5, 5))
    found = values(fairaudit.audit(spec(*NAMES), frame), "hosmer_lemeshow")
    joined = (50 - 51) ** 2 / (51 * (1 - 51 / 200))
    assert found["a"].value == pytest.approx(joined)
    assert math.isnan(found["b"].value)


@pytest.mark.parametrize("metric", NAMES)
@pytest.mark.parametrize("lacking", [("one", 0.5, 1, 0), ("class", 0.4, 0, 12)])
def test_a_group_of_one_person_or_of_one_class_never_passes(
    metric: str, lacking: tuple[str, float, int, int]
) -> None:
    known = [("a", 0.2, 20, 80), ("a", 0.6, 60, 40), ("b", 0.2, 20, 80), ("b", 0.6, 60, 40)]
    limit = {"above": 1000} if metric == "hosmer_lemeshow" else {"outside": [-1000, 1000]}
    asked = spec({"metric": metric, "fail": limit})
    (check,) = document(asked, scored(*known))["checks"]
    assert check["status"] == "pass"
    (check,) = document(asked, scored(*known, lacking))["checks"]
    assert check["status"] == "inconclusive"


def test_a_file_without_rows_is_no_pass() -> None:
    frame = scored(("a", 0.5, 1, 0)).clear()
    with pytest.raises(FairauditError):
        fairaudit.audit(spec(*NAMES), frame)


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_score_of_0_or_1_has_no_logit(score: float) -> None:
    frame = scored(("a", 0.2, 20, 80), ("a", 0.6, 60, 40), ("b", 0.2, 2, 8), ("b", score, 3, 3))
    result = fairaudit.audit(spec("calibration_slope", "calibration_intercept"), frame)
    for metric in NAMES[:2]:
        found = values(result, metric)
        assert math.isfinite(found["a"].value)
        assert math.isnan(found["b"].value)
        assert "a score of 0 or 1" in found["b"].reason


def test_a_cut_that_separates_the_labels_leaves_no_slope() -> None:
    frame = scored(("a", 0.2, 0, 80), ("a", 0.6, 60, 0), ("b", 0.2, 0, 5), ("b", 0.7, 3, 3))
    found = values(fairaudit.audit(spec(*NAMES), frame), "calibration_slope")
    assert math.isnan(found["a"].value)
    assert math.isnan(found["b"].value)


@given(seed=st.integers(0, 1000), copies=st.integers(2, 5))
@examples(10)
def test_copies_of_every_row_leave_the_fit_alone(seed: int, copies: int) -> None:
    frame = drawn(seed, 300)
    once = fairaudit.audit(spec(*NAMES), frame)
    often = fairaudit.audit(spec(*NAMES), pl.concat([frame] * copies))
    for metric in NAMES[:2]:
        for group, found in values(once, metric).items():
            again = values(often, metric)[group]
            assert again.value == pytest.approx(found.value, abs=1e-8)
            narrower = (found.high - found.low) / math.sqrt(copies)
            assert again.high - again.low == pytest.approx(narrower, rel=1e-6)


def test_differences_of_slopes_between_groups_are_judged() -> None:
    metric = {"metric": "calibration_slope", "compare": "difference", "reference": "a"}
    both = pl.concat([
        drawn(1, 3000, slope=1.0).with_columns(g=pl.lit("a")),
        drawn(2, 3000, slope=0.5).with_columns(g=pl.lit("b")),
    ])  # fmt: skip
    limited = {**metric, "fail": {"outside": [-0.1, 0.1], "significant": True}}
    (finding,) = fairaudit.audit(spec(limited), both).findings
    assert finding.status is Status.FAIL
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p < 1e-6


@pytest.mark.long
def test_calibrated_scores_are_seldom_refuted_and_their_slope_is_covered() -> None:
    draw = np.random.default_rng(3)
    refuted = covered = 0
    for _ in range(1000):
        s = draw.beta(2, 3, 500).round(3).clip(0.001, 0.999)
        y = draw.random(500) < s
        bins = ScoreBins.of(*histogram(s, y, (s * 1000).astype(int)))
        value, freedom, _ = calibration.hosmer_lemeshow(bins)
        from scipy.stats import chi2  # noqa: PLC0415  # seconds to import

        refuted += chi2.sf(value, freedom) < 0.05
        slope = calibration.recalibration_slope(bins)
        covered += abs(slope.value - 1) <= 1.96 * slope.error
    assert 0.035 < refuted / 1000 < 0.07
    assert covered / 1000 > 0.93
