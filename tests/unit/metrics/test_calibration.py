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
from scipy.stats import binom, chi2, hypergeom, norm

import fairaudit
from fairaudit.base.errors import FairauditError, SpecError
from fairaudit.judge import Status
from fairaudit.result import AuditResult
from fairaudit.stats import score_statistics
from fairaudit.stats.score_statistics import ScoreBins

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
        score_statistics.recalibration_slope,
        score_statistics.recalibration_intercept,
    ):
        ours, theirs = find(coarse), find(exact)
        assert theirs.doubt < 1e-12
        if not math.isnan(ours.value) and not math.isnan(theirs.value):
            assert abs(ours.value - theirs.value) <= ours.doubt + 1e-9
    assert score_statistics.recalibration_intercept(
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
    runs = 300
    for _ in range(runs):
        s = draw.beta(2, 3, 500).round(3).clip(0.001, 0.999)
        y = draw.random(500) < s
        bins = ScoreBins.of(*histogram(s, y, (s * 1000).astype(int)))
        value, freedom, _ = score_statistics.hosmer_lemeshow(bins)
        refuted += chi2.sf(value, freedom) < 0.05
        slope = score_statistics.recalibration_slope(bins)
        covered += abs(slope.value - 1) <= 1.96 * slope.spread
    assert 0.02 < refuted / runs < 0.09
    assert covered / runs > 0.92


# Evidence that a score is calibrated ----------------------------------------------------------


def gated(metric: str, frame: pl.DataFrame, evidence: str = "significant") -> dict[str, Any]:
    """A check next to parity that asks for evidence."""
    bounds: dict[str, Any] = {
        "outside": [0.999, 1.001] if metric == "calibration_slope" else [-0.001, 0.001]
    }
    if not metric.startswith("calibration_") or metric == "calibration_error":
        bounds = {"above": 0.001}
    (check,) = document(spec({"metric": metric, "fail": {**bounds, evidence: True}}), frame)[
        "checks"
    ]
    return dict(check)


def test_a_slope_of_1_and_an_intercept_of_0_are_tested_in_one_group() -> None:
    frame = drawn(1, 1500).with_columns(g=pl.lit("a"))
    s, y = frame["s"].to_numpy(), frame["y"].to_numpy()
    logit = np.log(s / (1 - s))
    fit = sm.Logit(y, sm.add_constant(logit)).fit(disp=0)
    shift = sm.GLM(y, np.ones(len(y)), offset=logit, family=sm.families.Binomial()).fit()
    expected = {
        "calibration_slope": (fit.params[1] - 1) / fit.bse[1],
        "calibration_intercept": shift.params[0] / shift.bse[0],
    }
    for metric, z in expected.items():
        check = gated(metric, frame)
        test = check["significance"]
        assert (test["test"], test["letter"]) == ("Wald", "z")
        assert test["statistic"] == pytest.approx(z, abs=1e-5)
        assert test["p"] == pytest.approx(2 * norm.sf(abs(z)), rel=1e-4)
        assert check["status"] == "fail"


def test_scores_that_are_off_by_chance_fail_no_gate_that_asks_for_evidence() -> None:
    draw = np.random.default_rng(4)
    s = draw.uniform(0.05, 0.95, 600).round(2)
    label = (draw.random(600) < s).astype(int)
    frame = pl.DataFrame({"g": draw.choice(list("ab"), 600), "s": s, "y": label, "p": label})
    for metric in ("calibration_error", "multicalibration", "test_fairness"):
        for evidence in ("significant", "conclusive"):
            check = gated(metric, frame, evidence)
            assert check["value"] > 0.03
            assert check["status"] == "warn", metric


@pytest.mark.parametrize("metric", ["calibration_error", "multicalibration", "test_fairness"])
def test_scores_that_are_wrong_in_one_group_fail(metric: str) -> None:
    wrong = [("a", 0.2, 80, 120), ("a", 0.6, 160, 40)]
    frame = scored(*wrong, ("b", 0.2, 40, 160), ("b", 0.6, 120, 80))
    for evidence in ("significant", "conclusive"):
        check = gated(metric, frame, evidence)
        assert check["status"] == "fail"
        assert check["low"] < check["value"] < check["high"]


def test_an_average_of_calibration_errors_allows_for_the_bias_of_all_strata() -> None:
    """Perfect scores in forty small strata: every error is above 0 by chance, and they add up."""
    draw = np.random.default_rng(6)
    s = draw.uniform(0.05, 0.95, 1600).round(2)
    label = (draw.random(1600) < s).astype(int)
    stratum = [f"z{at % 40:02}" for at in range(1600)]
    frame = pl.DataFrame({"g": "a", "s": s, "y": label, "p": label, "z": stratum})
    limit = {"above": 0.02, "conclusive": True}
    metric = {"metric": "calibration_error", "given": "z", "average": "pooled", "fail": limit}
    (check,) = document(spec(metric, strata=["z"]), frame)["checks"]
    assert check["value"] > 0.1
    assert check["low"] == 0
    assert check["status"] != "fail"


def test_p_of_a_calibration_error_is_that_of_all_outcomes() -> None:
    """Two bins of 12 and 9 people: every pair of counts of positives, with its chance."""
    frame = scored(("a", 0.25, 6, 6), ("a", 0.5, 6, 3))
    error = (abs(6 - 3) + abs(6 - 4.5)) / 21
    exact = sum(
        binom.pmf(x, 12, 0.25) * binom.pmf(y, 9, 0.5)
        for x in range(13)
        for y in range(10)
        if (abs(x - 3) + abs(y - 4.5)) / 21 >= error - 1e-12
    )
    check = gated("calibration_error", frame)
    assert check["value"] == pytest.approx(error)
    assert check["significance"]["p"] == pytest.approx(exact, abs=4 * math.sqrt(exact / 9999))
    assert gated("calibration_error", frame)["significance"] == check["significance"]


def test_p_of_the_worst_bin_is_exact() -> None:
    frame = scored(("a", 0.25, 6, 6), ("a", 0.5, 6, 3), ("b", 0.25, 3, 5), ("b", 0.5, 4, 4))
    none_as_far = 1.0
    for n, s in ((12, 0.25), (9, 0.5), (8, 0.25), (8, 0.5)):
        none_as_far *= sum(
            binom.pmf(x, n, s) for x in range(n + 1) if abs(x / n - s) < 0.25 - 1e-12
        )
    check = gated("multicalibration", frame)
    assert check["value"] == pytest.approx(0.25)
    assert check["significance"]["p"] == pytest.approx(1 - none_as_far, rel=1e-9)


def test_p_of_the_widest_gap_within_bins_is_that_of_all_tables() -> None:
    """Two bins of two groups: hypergeometric in each, and the wider gap counts."""
    frame = scored(("a", 0.25, 6, 6), ("a", 0.5, 6, 3), ("b", 0.25, 2, 6), ("b", 0.5, 4, 4))
    gap = 6 / 12 - 2 / 8
    narrower = 1.0
    for positive, n, m in ((8, 12, 8), (10, 9, 8)):
        narrower *= sum(
            hypergeom.pmf(x, n + m, n, positive)
            for x in range(max(0, positive - m), min(n, positive) + 1)
            if abs(x / n - (positive - x) / m) < gap - 1e-12
        )
    check = gated("test_fairness", frame)
    assert check["value"] == pytest.approx(gap)
    found = check["significance"]["p"]
    assert found == pytest.approx(1 - narrower, abs=4 * math.sqrt(found / 9999))


@pytest.mark.parametrize("compare", ["difference", "ratio", "gap", "min_ratio"])
def test_a_statistic_that_grows_with_a_group_compares_no_groups(compare: str) -> None:
    metric = {"metric": "hosmer_lemeshow", "compare": compare}
    metric |= {"reference": "a"} if compare in {"difference", "ratio"} else {}
    message = "grows with .* so groups cannot be compared by it: compare calibration_slope"
    with pytest.raises(SpecError, match=message):
        document(spec(metric), drawn(1, 100))


def test_a_refusal_of_evidence_names_what_has_it() -> None:
    for metric, other in (
        ("well_calibration", "calibration_error or multicalibration"),
        ("hosmer_lemeshow", "calibration_slope"),
    ):
        limit = {"above": 0.1, "conclusive": True}
        with pytest.raises(
            SpecError, match=f"`conclusive` cannot be evaluated: .*; set a limit on {other}"
        ):
            document(spec({"metric": metric, "fail": limit}), drawn(1, 100))


def test_a_largest_value_is_of_one_group_and_compares_no_two() -> None:
    finding = fairaudit.audit(
        spec({"metric": "well_calibration", "fail": {"above": 0.01}}), drawn(1, 300)
    ).findings[0]
    assert finding.first in {(("g", "a"),), (("g", "b"),)}
    assert finding.second == ()
    assert " against " not in finding.headline


def test_the_interval_of_an_area_says_that_its_variance_is_moderated() -> None:
    result = fairaudit.audit(spec("auc"), drawn(1, 300))
    assert {found.method for found in values(result, "auc").values()} == {"DeLong, moderated"}
