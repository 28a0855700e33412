"""What a number says of itself: its value at parity, its formula, its sentence, its source."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import sentence_of
from evidence_specs import YES, Cells, confused, document, spec

import fairaudit
from fairaudit.judge import Status
from fairaudit.metrics import CATALOGUE, Disparity, find_metric
from fairaudit.metrics.comparisons import COMPARISONS, STANDARDIZED_DIFFERENCE_TOTAL
from fairaudit.report import checks
from fairaudit.report.explain import markdown
from fairaudit.result.rows import definition

EQUAL: Mapping[str, Cells] = {"a": (30, 10, 20, 40), "b": (300, 100, 200, 400)}


# Parity ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["predictability", "majority_baseline"])
def test_a_guess_is_as_good_as_the_commonest_outcome_at_parity(metric: str) -> None:
    """40 of 100 and 400 of 1,000 are selected: whoever guesses "not" is right in 60 %."""
    asking = spec({"metric": metric, "fail": {"above": 0.5}}, labels=True)
    result = fairaudit.audit(asking, confused(EQUAL))
    assert result.comparisons[0].estimate.value == pytest.approx(0.6)
    record = find_metric(metric)
    assert record is not None
    assert "0 at parity" not in definition(record).direction
    assert any("so equal groups may cross the limit" in one for one in result.notices)


def test_a_limit_below_the_share_of_the_commonest_outcome_is_not_below_parity() -> None:
    asking = spec({"metric": "predictability", "fail": {"below": 0.3}})
    assert fairaudit.audit(asking, confused(EQUAL)).findings[0].status is Status.PASS


# One value over all groups ---------------------------------------------------------------------

THREE: Mapping[str, Cells] = {"a": (50, 30, 50, 70), "b": (80, 10, 20, 90), "c": (20, 10, 20, 90)}


@pytest.mark.parametrize(
    ("compare", "words"),
    [
        ("ratio", "exp of the mean |ln ratio| over groups, weighted by people"),
        ("difference", "mean absolute value over groups, weighted by people"),
    ],
)
def test_a_mean_over_groups_says_what_it_is(compare: str, words: str) -> None:
    limit = {"above": 1.05 if compare == "ratio" else 0.01}
    metric = {"metric": "selection_rate", "compare": compare, "aggregate": "mean",
              "reference": "rest", "fail": limit}  # fmt: skip
    asking = spec(metric, labels=True)
    result = fairaudit.audit(asking, confused(THREE))
    (finding,) = result.findings
    cells = {name: (tp + fp, tp + fp + fn + tn) for name, (tp, fp, fn, tn) in THREE.items()}
    selected, people = (sum(one[side] for one in cells.values()) for side in (0, 1))
    apart = 0.0
    for x, n in cells.values():
        rate, rest = Fraction(x, n), Fraction(selected - x, people - n)
        apart += n * (abs(math.log(rate / rest)) if compare == "ratio" else abs(rate - rest))
    expected = apart / people
    assert finding.estimate is not None
    value = math.exp(expected) if compare == "ratio" else expected
    assert finding.estimate.value == pytest.approx(value)
    assert f"), {words}; " in sentence_of(result, finding)
    assert "mean over groups" in checks.title(finding)
    (row,) = document(asking, confused(THREE))["comparisons"]
    assert row["parameters"] == {"aggregate": "mean"}
    assert "exp of the mean |ln ratio|" in markdown([])


# Calibration in every bin ----------------------------------------------------------------------


def scored(rows: list[tuple[str, float, int, int]], *metrics: Any) -> dict[str, float]:
    asking = {"columns": {"protected": ["g"], "label": {"column": "y", **YES}, "score": "s",
                          "count": "n"}, "metrics": list(metrics)}  # fmt: skip
    result = fairaudit.audit(asking, pl.DataFrame(rows, ["g", "s", "y", "n"], orient="row"))
    return {row.metric: row.estimate.value for row in result.comparisons}


def test_multicalibration_is_the_bin_that_is_farthest_off() -> None:
    """Of b's people at .5 a fifth are positive, of its many others all as scored."""
    rows = [("a", 0.2, 1, 20), ("a", 0.2, 0, 80), ("b", 0.2, 1, 180), ("b", 0.2, 0, 720),
            ("b", 0.5, 1, 2), ("b", 0.5, 0, 8)]  # fmt: skip
    found = scored(rows, "multicalibration", "well_calibration")
    assert found["multicalibration"] == pytest.approx(0.3)
    assert found["well_calibration"] == pytest.approx(0.3 * 10 / 910)


def test_multicalibration_of_many_scores_is_known_up_to_its_error() -> None:
    random = np.random.default_rng(3)
    groups, scores = random.integers(0, 2, 3000), random.integers(0, 1000, 3000)
    labels = random.random(3000) < 0.4
    people = [("ab"[g], s / 1000, int(y)) for g, s, y in zip(groups, scores, labels, strict=True)]
    expected = 0.0
    for group, tenth in product("ab", range(10)):
        inside = [(s, y) for g, s, y in people if g == group and min(int(s * 10), 9) == tenth]
        apart = [Fraction(y) - Fraction(str(s)) for s, y in inside]
        expected = max(expected, abs(float(sum(apart) / len(apart))))
    asking = {"columns": {"protected": ["g"], "label": {"column": "y", **YES}, "score": "s"},
              "metrics": ["multicalibration"]}  # fmt: skip
    frame = pl.DataFrame(people, ["g", "s", "y"], orient="row")
    (row,) = fairaudit.audit(asking, frame).comparisons
    assert abs(row.estimate.value - expected) <= row.estimate.error + 1e-12
    assert row.estimate.error < 0.05


# Formulas and sources --------------------------------------------------------------------------


def test_equal_predictive_values_go_with_different_base_rates() -> None:
    """The example of the catalogue: base rates .3 and .5, and PPV .6667 of both."""
    women, men = (20, 10, 10, 60), (40, 20, 10, 30)
    base = [Fraction(tp + fn, 100) for tp, _, fn, _ in (women, men)]
    ppv = [Fraction(tp, tp + fp) for tp, fp, _, _ in (women, men)]
    assert base[0] != base[1]
    assert ppv[0] == ppv[1]
    family = ("positive_predictive_value", "false_discovery_rate", "negative_predictive_value",
              "false_omission_rate", "predictive_parity", "predictive_parity_ratio",
              "conditional_use_accuracy_equality", "positive_predictive_value_difference",
              "positive_predictive_value_ratio", "negative_predictive_value_difference",
              "negative_predictive_value_ratio")  # fmt: skip
    for name in family:
        record = find_metric(name)
        assert record is not None
        error = "negative" if name.startswith(("negative", "false_omission")) else "positive"
        assert f"Decisions without false {error}s are an exception." in record.caution
    for every in (*CATALOGUE, *COMPARISONS):
        assert "by necessity" not in every.caution


def test_equal_error_rates_and_different_base_rates_make_predictive_values_differ() -> None:
    """Chouldechova's equation, in whole people: TPR .8 and FPR .2 at base rates .3 and .5."""
    result = fairaudit.audit(
        spec("positive_predictive_value", "negative_predictive_value", labels=True),
        confused({"a": (24, 14, 6, 56), "b": (40, 10, 10, 40)}),
    )
    values: dict[str, list[float]] = {}
    for row in result.rates:
        if row.group:
            values.setdefault(row.metric, []).append(row.estimate.value)
    assert sorted(values["positive_predictive_value"]) == pytest.approx([24 / 38, 40 / 50])
    assert sorted(values["negative_predictive_value"]) == pytest.approx([40 / 50, 56 / 62])


def test_only_the_error_that_a_predictive_value_counts_makes_an_exception() -> None:
    """TPR 1 and FPR .2 at base rates .3 and .5: no false negatives, and PPV differs, NPV not."""
    (tp, fp, fn, tn), other = (30, 14, 0, 56), (50, 10, 0, 40)
    assert Fraction(fp, fp + tn) == Fraction(other[1], other[1] + other[3])
    assert Fraction(tp, tp + fp) != Fraction(other[0], other[0] + other[1])
    assert Fraction(tn, tn + fn) == Fraction(other[3], other[3] + other[2]) == 1
    # TPR .5 and FPR 0: no false positives, and PPV is the same, NPV not.
    (tp, fp, fn, tn), other = (15, 0, 15, 70), (25, 0, 25, 50)
    assert Fraction(tp, tp + fp) == Fraction(other[0], other[0] + other[1]) == 1
    assert Fraction(tn, tn + fn) != Fraction(other[3], other[3] + other[2])
    for name, error in (
        ("positive_predictive_value", "positive"),
        ("false_omission_rate", "negative"),
    ):
        record = find_metric(name)
        assert record is not None
        assert f"without false {error}s are an exception" in record.caution


def test_everybodys_deviation_may_be_larger_or_smaller_than_the_pooled_one() -> None:
    """A third group of little variance makes everybody's deviation smaller: no order holds."""
    numbers = {"a": [0, 10, 0, 10], "b": [1, 11, 1, 11], "c": [5, 6] * 20}
    rows = [(g, float(v)) for g, values in numbers.items() for v in values]
    columns = {
        "protected": {"g": {"reference": "b"}},
        "prediction": {"column": "v", "number": True},
    }
    found = {}
    for sd in ("pooled", "total"):
        metric = {"metric": "mean_prediction", "compare": "standardized_difference", "sd": sd}
        result = fairaudit.audit(
            {"columns": columns, "metrics": [metric]}, pl.DataFrame(rows, ["g", "v"], orient="row")
        )
        found[sd] = next(
            row.estimate.value for row in result.comparisons if row.group == (("g", "a"),)
        )
    everybody = np.std([v for _, v in rows], ddof=1)
    assert found["total"] == pytest.approx(-1 / everybody)
    assert abs(found["total"]) > abs(found["pooled"])
    assert "larger or smaller" in STANDARDIZED_DIFFERENCE_TOTAL.caution


@pytest.mark.parametrize(
    ("name", "source", "words"),
    [
        ("elift", "(2008)", "1 / p(group)"),
        ("belift", "Mancuhan & Clifton", "Bayesian network"),
        ("eta_neutrality", "(2013)", "over-represented"),
        ("normalized_difference", "(2015)", "min(p(+) / p(group), p(-) / p(ref))"),
        ("stratum_share_of_negatives", "(2019)", "(fp + tn) in the stratum"),
        ("conditional_equal_opportunity_gap", "(2019)", "P(a | s, y-)"),
    ],
)
def test_a_page_has_the_source_and_the_formula_of_the_number(
    name: str, source: str, words: str
) -> None:
    record = find_metric(name)
    assert record is not None
    page = definition(record)
    assert source in page.source
    assert words in f"{page.means} {page.formula} {page.elsewhere}"


def test_the_reverse_side_of_the_normalized_difference_has_its_own_divisor() -> None:
    """A 9/10 against b 6/30: p(+) = 3/8, p(a) = 1/4, p(b) = 3/4, and d = 1/5 - 9/10."""
    asking = spec({"metric": "normalized_difference"})
    asking["columns"]["protected"] = {"g": {"reference": "b"}}
    rows = confused({"a": (9, 0, 1, 0), "b": (6, 0, 24, 0)})
    result = fairaudit.audit(asking, rows)
    most = min(Fraction(3, 8) / Fraction(1, 4), Fraction(5, 8) / Fraction(3, 4))
    assert result.comparisons[0].estimate.value == pytest.approx(float(Fraction(-7, 10) / most))


def test_a_group_is_weighed_by_its_own_negatives() -> None:
    """`average: group` of an FPR: 10 and 30 of a's negatives stand in x and y, of its people 50."""
    rows = [("a", "x", 0, 1, 4), ("a", "x", 0, 0, 6), ("a", "x", 1, 1, 40),
            ("a", "y", 0, 1, 3), ("a", "y", 0, 0, 27), ("a", "y", 1, 0, 20),
            ("b", "x", 0, 1, 5), ("b", "x", 0, 0, 5), ("b", "y", 0, 1, 1), ("b", "y", 0, 0, 9),
            ]  # fmt: skip
    asking = spec({"metric": "conditional_equal_opportunity_gap", "given": "z", "average": "group"},
                  labels=True, columns={"strata": ["z"]})  # fmt: skip
    asking["columns"]["protected"] = {"g": {"reference": "b"}}
    frame = pl.DataFrame(rows, ["g", "z", "y", "p", "n"], orient="row")
    (row,) = fairaudit.audit(asking, frame).comparisons
    expected = Fraction(1, 4) * (Fraction(4, 10) - Fraction(5, 10)) + Fraction(3, 4) * (
        Fraction(3, 30) - Fraction(1, 10)
    )
    assert row.estimate.value == pytest.approx(float(expected))


def test_every_measure_of_one_value_over_groups_says_how() -> None:
    for record in CATALOGUE:
        if isinstance(record, Disparity):
            assert not record.aggregate


@pytest.mark.parametrize("alpha", ["0", "0.5", "1", "2", "3"])
@pytest.mark.parametrize("wronged", [0, 20])
def test_the_aversion_of_the_atkinson_index(alpha: str, wronged: int) -> None:
    """Atkinson (1970): 1 less the equally distributed equivalent of the benefits over their mean.

    Benefits are 0 for false negatives, 2 for false positives, 1 for everybody else.
    """
    benefits = [0] * wronged + [1] * 70 + [2] * 10
    n, aversion, mean = len(benefits), float(alpha), sum(benefits) / len(benefits)
    if aversion >= 1 and wronged:
        expected = 1.0
    elif aversion == 1:
        expected = 1 - math.exp(sum(math.log(b / mean) for b in benefits) / n)
    else:
        power = 1 - aversion
        expected = 1 - (sum((b / mean) ** power for b in benefits) / n) ** (1 / power)
    entry = {"metric": "atkinson", "alpha": alpha}
    result = fairaudit.audit(spec(entry, labels=True), confused({"a": (30, 10, wronged, 40)}))
    (row,) = (row for row in result.rates if row.group)
    assert row.estimate.value == pytest.approx(expected, abs=1e-12)
    if aversion and expected < 1:
        assert row.estimate.low is not None
        assert row.estimate.high is not None
        assert row.estimate.low < expected < row.estimate.high
