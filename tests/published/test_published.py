"""Numbers that others published must come out, each with its source."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import SAMPLES, SPECS, comparison_of, rate_of
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    f1_score,
    precision_score,
    roc_auc_score,
)
from statsmodels.stats.contingency_tables import StratifiedTable

import fairaudit
from fairaudit.base.ledger import Ledger
from fairaudit.judge.simpson import Reversal, ReversalKind
from fairaudit.report import content
from fairaudit.report.blocks import Table
from fairaudit.result import AuditResult, Verdict


def epsilons(result: AuditResult) -> dict[frozenset[str], float]:
    """ε of every subset."""
    return {
        frozenset(row.by): row.estimate.value
        for row in result.comparisons
        if row.metric == "differential_fairness"
    }


def reversals(result: AuditResult) -> dict[tuple[str, tuple[str, str], str], Reversal]:
    """Reversals by attribute, pair and conditioning column; the notes are left out."""
    return {
        (one.attribute, one.pair, one.given[0]): one
        for one in result.reversals
        if one.kind.reverses
    }


def test_kidney_stones_as_admissions() -> None:
    """Foulds & Pan, Table 1; Charig et al. 1986, Julious & Mullee 1994."""
    result = fairaudit.audit(SPECS / "kidney_admissions.yaml")
    found = epsilons(result)
    assert round(found[frozenset({"gender", "race"})], 3) == 1.511
    assert round(found[frozenset({"gender"})], 4) == 0.2329
    assert round(found[frozenset({"race"})], 4) == 0.8667
    assert list(reversals(result)) == [("gender", ("A", "B"), "race")]
    (one,) = reversals(result).values()
    assert one.kind is ReversalKind.EVERY_STRATUM
    assert one.crude_pair[0].value == pytest.approx(0.78)
    assert one.crude_pair[1].value == pytest.approx(0.8257142857)
    assert [round(stratum.difference, 4) for stratum in one.strata] == [0.0644, 0.0425]
    assert one.standardized_pair == pytest.approx((0.83255, 0.77888), abs=6e-6)
    assert one.mantel_haenszel_odds_ratio == pytest.approx(1.446847, abs=5e-7)
    assert one.composition == pytest.approx(-0.099386, abs=5e-7)
    assert one.within == pytest.approx(0.053671, abs=5e-7)
    assert result.verdict is Verdict.FAIL
    assert result.exit_code == 1


def test_berkeley_admissions() -> None:
    """Bickel, Hammel & O'Connell 1975; R's UCBAdmissions."""
    result = fairaudit.audit(SPECS / "berkeley_admissions.yaml")
    men, women = (rate_of(result, "selection_rate", gender=who) for who in ("men", "women"))
    assert (men.estimate.numerator, men.estimate.denominator) == (1198, 2691)
    assert (women.estimate.numerator, women.estimate.denominator) == (557, 1835)
    assert (round(100 * men.estimate.value, 1), round(100 * women.estimate.value, 1)) == (
        44.5,
        30.4,
    )
    (one,) = reversals(result).values()
    assert (one.attribute, one.pair, one.given) == ("gender", ("women", "men"), ("department",))
    assert one.kind is ReversalKind.ADJUSTED
    assert (one.reversed_strata, one.estimable_strata) == (4, 6)
    assert one.crude == pytest.approx(-0.141645, abs=5e-7)
    assert one.standardized_pair == pytest.approx((0.429955, 0.387319), abs=5e-7)
    assert one.mantel_haenszel_odds_ratio == pytest.approx(1.105343, abs=5e-7)
    assert one.composition == pytest.approx(-0.177674, abs=5e-7)
    assert one.within == pytest.approx(0.036028, abs=5e-7)


def test_titanic() -> None:
    """Dawson 1995; R's Titanic."""
    result = fairaudit.audit(SPECS / "titanic.yaml")
    survived = {"1st": (203, 325), "2nd": (118, 285), "3rd": (178, 706), "Crew": (212, 885)}
    for level, (over, under) in survived.items():
        estimate = rate_of(result, "selection_rate", **{"class": level}).estimate
        assert (estimate.numerator, estimate.denominator) == (over, under)
    unsmoothed = [row for row in result.comparisons if row.metric == "differential_fairness"]
    by = {frozenset(row.by): row for row in unsmoothed[:7]}
    assert by[frozenset({"class", "sex"})].estimate.value == pytest.approx(3.4400, abs=5e-5)
    full = by[frozenset({"class", "sex", "age"})]
    assert math.isinf(full.estimate.value)
    assert full.decided_by == "died"
    assert dict(full.second)["age"] == "Child"
    groups = {row.group for row in result.groups if len(row.by) == 3}
    assert len(groups) == 14
    assert not any(dict(one) == {"class": "Crew", "sex": "Male", "age": "Child"} for one in groups)
    one = reversals(result)["class", ("3rd", "Crew"), "sex"]
    assert one.kind is ReversalKind.EVERY_STRATUM
    assert [round(stratum.first.value, 3) for stratum in one.strata] == [0.459, 0.173]
    assert [round(stratum.second.value, 3) for stratum in one.strata] == [0.870, 0.223]


@pytest.mark.parametrize(
    ("spec", "white", "black"),
    [("florida_1976", (19, 160), (17, 166)), ("florida_1987", (53, 483), (15, 191))],
)
def test_florida_death_penalty(spec: str, white: tuple[int, int], black: tuple[int, int]) -> None:
    """Radelet 1981; Radelet & Pierce 1991 (Agresti, Categorical Data Analysis, Table 2.6)."""
    result = fairaudit.audit(SPECS / f"{spec}.yaml")
    for level, counts in (("white", white), ("black", black)):
        estimate = rate_of(result, "selection_rate", defendant=level).estimate
        assert (estimate.numerator, estimate.denominator) == counts
    one = reversals(result)["defendant", ("black", "white"), "victim"]
    assert one.kind is ReversalKind.EVERY_STRATUM
    assert one.crude < 0 < one.standardized


def test_florida_epsilon_is_infinite_and_smoothed_is_not() -> None:
    """0 of 16 (facts.md 4); with 0.5 added per outcome 2.0769."""
    spec = {
        "data": str(SAMPLES / "florida_1987.csv"),
        "columns": {
            "protected": ["victim", "defendant"],
            "decision": {"column": "sentence", "positive": "death penalty"},
            "count": "n",
        },
    }
    plain = fairaudit.audit({**spec, "metrics": ["differential_fairness"]})
    assert math.isinf(
        comparison_of(plain, "differential_fairness", "victim", "defendant").estimate.value
    )
    metric = {"metric": "differential_fairness", "smoothing": 0.5}
    smoothed = fairaudit.audit({**spec, "metrics": [metric]})
    row = comparison_of(smoothed, "differential_fairness", "victim", "defendant")
    assert round(row.estimate.value, 4) == 2.0769


TABLE_2 = {
    ("nationality",): (0.219, 0.218507),
    ("race",): (0.930, 0.929983),
    ("gender",): (1.03, 1.027159),
    ("gender", "nationality"): (1.16, 1.158512),
    ("race", "nationality"): (1.21, 1.212769),
    ("race", "gender"): (1.76, 1.759430),
    ("race", "gender", "nationality"): (2.14, 2.139793),
}
"""Foulds & Pan, Table 2: as printed, and at six decimals."""


def check_table_2(result: AuditResult) -> None:
    """All seven subsets of the Adult training set."""
    found = epsilons(result)
    for by, (printed, exact) in TABLE_2.items():
        value = found[frozenset(by)]
        assert value == pytest.approx(exact, abs=5e-7), by
        decimals = 3 if printed < 1 else 2
        assert round(value, decimals) == pytest.approx(printed), by


def test_adult_table_2_from_shipped_counts() -> None:
    check_table_2(fairaudit.audit(SPECS / "adult_counts.yaml"))


def adult(path: Path, **metric: float) -> AuditResult:
    """The raw census file, recoded in the spec alone."""
    return fairaudit.audit(
        {
            "data": str(path),
            "columns": {
                "protected": {
                    "race": {"merge": {"Other": ["Amer-Indian-Eskimo"]}},
                    "gender": {"column": "sex"},
                    "nationality": {"column": "native_country", "keep": ["United-States"]},
                },
                "label": {"column": "income", "positive": ">50K"},
            },
            "metrics": [{"metric": "differential_fairness", **metric}],
        }
    )


def test_adult_table_2_from_the_raw_file(shared: Path) -> None:
    result = adult(shared / "adult_train.csv")
    check_table_2(result)
    assert result.ledger.counted == result.ledger.read == 32_561
    smallest = min(row.n or 0 for row in result.groups if len(row.by) == 3)
    assert smallest == 58


@pytest.mark.parametrize(
    ("metric", "epsilon"),
    [({"concentration": 1}, 2.063814), ({"smoothing": 1}, 1.904592), ({}, 2.263364)],
)
def test_adult_test_part_with_smoothing(
    shared: Path, metric: dict[str, float], epsilon: float
) -> None:
    """Foulds & Pan, Table 3 prints 2.06 for concentration 1."""
    row = comparison_of(
        adult(shared / "adult_test.csv", **metric),
        "differential_fairness",
        "race",
        "gender",
        "nationality",
    )
    assert row.estimate.value == pytest.approx(epsilon, abs=5e-7)


COMPAS = {
    "African-American": (990, 805, 532, 1369, 44.85, 27.99, 0.63, 0.65),
    "Caucasian": (1139, 349, 461, 505, 23.45, 47.72, 0.59, 0.71),
}
"""ProPublica 2016: true negatives, false positives, false negatives, true positives, rates."""
COMPAS_HIGH = {
    "African-American": (1511, 284, 1160, 741, 15.82, 61.02),
    "Caucasian": (1407, 81, 771, 195, 5.44, 79.81),
}


def compas(shared: Path, positive: list[str], **more: object) -> AuditResult:
    """ProPublica's file with its prediction as the spec says."""
    return fairaudit.audit(
        {
            "data": str(shared / "compas-scores-two-years.csv"),
            "columns": {
                "protected": ["race"],
                "label": {"column": "two_year_recid", "positive": 1, "favourable": False},
                "prediction": {
                    "column": "score_text",
                    "positive": positive,
                    **({"negative": ["Low", "Medium"]} if positive == ["High"] else {}),
                    "favourable": False,
                },
            },
            "metrics": [
                "false_positive_rate",
                "false_negative_rate",
                "positive_predictive_value",
                "negative_predictive_value",
                "base_rate",
            ],
            **more,
        }
    )


def cells_of(result: AuditResult, race: str) -> tuple[int, int, int, int]:
    """tn, fp, fn, tp from the numerators of two rates."""
    wrong = rate_of(result, "false_positive_rate", race=race).estimate
    missed = rate_of(result, "false_negative_rate", race=race).estimate
    assert wrong.numerator is not None
    assert wrong.denominator is not None
    assert missed.numerator is not None
    assert missed.denominator is not None
    return (
        wrong.denominator - wrong.numerator,
        wrong.numerator,
        missed.numerator,
        missed.denominator - missed.numerator,
    )


@pytest.mark.parametrize("race", list(COMPAS))
def test_compas_medium_or_high(shared: Path, race: str) -> None:
    result = compas(shared, ["Medium", "High"])
    *cells, fpr, fnr, ppv, npv = COMPAS[race]
    assert cells_of(result, race) == tuple(cells)
    values = {
        metric: rate_of(result, metric, race=race).estimate.value
        for metric in (
            "false_positive_rate",
            "false_negative_rate",
            "positive_predictive_value",
            "negative_predictive_value",
        )
    }
    assert round(100 * values["false_positive_rate"], 2) == fpr
    assert round(100 * values["false_negative_rate"], 2) == fnr
    assert round(values["positive_predictive_value"], 2) == ppv
    assert round(values["negative_predictive_value"], 2) == npv


DRESSEL_FARID = {"African-American": 63.8, "Caucasian": 67.0, "": 65.4}
"""Dressel & Farid 2018, Science Advances 4:eaao5580, Table 2 (D): accuracy in per cent."""
VIOLENT = {
    "African-American": ((1692, 1043, 170, 273), 38.14, 38.37),
    "Caucasian": ((1679, 380, 129, 77), 18.46, 62.62),
}
"""ProPublica's notebook, the violent score from Medium on: tn, fp, fn, tp, and their rates.

Of other people than the grid's: `cox-violent-parsed.csv`, arrested for violence within two years.
"""


@pytest.mark.parametrize("race", list(DRESSEL_FARID))
def test_compas_is_as_accurate_as_dressel_and_farid_print(race: str) -> None:
    """Of all 7,214, by the decile that ProPublica cuts at 5; of everybody in the last row."""
    result = fairaudit.audit(SPECS / "compas_scores.yaml")
    (row,) = (
        row
        for row in result.rates
        if (row.metric, row.of) == ("accuracy", "recidivism")
        and dict(row.group) == ({"race": race} if race else {})
    )
    assert round(100 * row.estimate.value, 1) == DRESSEL_FARID[race]


def test_compas_violent_score_has_the_rates_that_propublica_prints() -> None:
    """Twice as many false positives among African-Americans, 1.63 times as few missed."""
    rows = [
        (race, label, prediction, n)
        for race, (cells, *_) in VIOLENT.items()
        for (label, prediction), n in zip(((0, 0), (0, 1), (1, 0), (1, 1)), cells, strict=True)
    ]
    outcome = {"positive": 1, "favourable": False}
    columns = {
        "protected": {"race": {"reference": "Caucasian"}},
        "label": {"column": "violent", **outcome},
        "prediction": {"column": "flagged", **outcome},
        "count": "n",
    }
    metrics = [
        {"metric": f"false_{kind}_rate", "compare": "ratio"} for kind in ("positive", "negative")
    ]
    rates = [metric["metric"] for metric in metrics]
    frame = pl.DataFrame(rows, ["race", "violent", "flagged", "n"], orient="row")
    result = fairaudit.audit({"columns": columns, "metrics": [*rates, *metrics]}, frame)
    for race, (_, *printed) in VIOLENT.items():
        found = [rate_of(result, rate, race=race).estimate.value for rate in rates]
        assert [round(100 * value, 2) for value in found] == printed
    ratios = [
        row.estimate.value
        for row in result.comparisons
        if dict(row.group or ()) == {"race": "African-American"}
    ]
    assert ratios == [
        pytest.approx(38.14 / 18.46, abs=2e-3),
        pytest.approx(38.37 / 62.62, abs=1e-3),
    ]


@pytest.mark.parametrize("race", list(COMPAS))
def test_compas_beside_its_violent_score(shared: Path, race: str) -> None:
    """The counts that are shipped are ProPublica's file; its decile has the published rates."""
    rows = pd.read_csv(shared / "compas-scores-two-years.csv").query("race == @race")
    result = fairaudit.audit(SPECS / "compas_scores.yaml")
    found = {
        (row.metric, row.of): row.estimate.value
        for row in result.rates
        if dict(row.group) == {"race": race}
    }
    *_, fpr, _fnr, ppv, _npv = COMPAS[race]
    assert round(100 * found["false_positive_rate", "recidivism"], 2) == fpr
    assert round(found["positive_predictive_value", "recidivism"], 2) == ppv
    label = rows["two_year_recid"]
    for model, column in (("recidivism", "decile_score"), ("violence", "v_decile_score")):
        score, flagged = rows[column], rows[column] >= 5
        theirs = {
            "auc": roc_auc_score(label, score),
            "average_precision": average_precision_score(label, score),
            "accuracy": accuracy_score(label, flagged),
            "f1": f1_score(label, flagged),
            "positive_predictive_value": precision_score(label, flagged),
        }
        for metric, value in theirs.items():
            assert found[metric, model] == pytest.approx(value, abs=1e-12), (metric, model)


def test_compas_scores_stand_in_a_grid() -> None:
    """A row a measure and a column a model, each number the worst of the lattice."""
    result = fairaudit.audit(SPECS / "compas_scores.yaml")
    (grid,) = (
        block
        for block in content.document(result)
        if isinstance(block, Table) and [*block.header] == ["measure", "recidivism", "violence"]
    )
    cells = {row[0].text: [cell.text for cell in row[1:]] for row in grid.rows}
    assert cells["FPR ratio to reference"] == ["1.9121 ‹", "2.1280"]
    assert cells["FPR difference to reference"] == ["0.2139", "0.1751 ‹"]
    assert "AUC gap" in cells
    assert "base rate gap" not in cells, "of the label there is one"
    marked = {
        (row.metric, row.of)
        for row in result.comparisons
        if row.flag and dict(row.group or ()) == {"race": "African-American"}
    }
    assert {of for metric, of in marked if metric == "false_positive_rate_ratio"} == {
        "recidivism",
        "violence",
    }
    assert ("positive_predictive_value_ratio", "recidivism") not in marked


def test_compas_everybody(shared: Path) -> None:
    result = compas(shared, ["Medium", "High"])
    everybody = {row.metric: row.estimate for row in result.rates if not row.by}
    assert round(100 * everybody["false_positive_rate"].value, 2) == 32.35
    assert round(100 * everybody["false_negative_rate"].value, 2) == 37.40
    assert round(everybody["positive_predictive_value"].value, 2) == 0.61
    assert round(everybody["negative_predictive_value"].value, 2) == 0.69
    races = {dict(row.group)["race"] for row in result.groups if row.by}
    totals = [sum(cells) for cells in zip(*(cells_of(result, race) for race in races), strict=True)]
    assert totals == [2681, 1282, 1216, 2035]
    assert result.ledger.read == result.ledger.counted == 7214
    sizes = {dict(row.group)["race"]: row.n for row in result.groups if row.by}
    assert (sizes["Native American"], sizes["Asian"]) == (18, 32)


@pytest.mark.parametrize("race", list(COMPAS_HIGH))
def test_compas_high_only(shared: Path, race: str) -> None:
    result = compas(shared, ["High"])
    *cells, fpr, fnr = COMPAS_HIGH[race]
    assert cells_of(result, race) == tuple(cells)
    wrong = rate_of(result, "false_positive_rate", race=race).estimate
    missed = rate_of(result, "false_negative_rate", race=race).estimate
    assert (round(100 * wrong.value, 2), round(100 * missed.value, 2)) == (fpr, fnr)


def test_compas_filtered_as_propublica_does(shared: Path) -> None:
    rule = (
        "days_b_screening_arrest between -30 and 30 and is_recid <> -1 "
        "and c_charge_degree <> 'O' and score_text <> 'N/A'"
    )
    result = compas(shared, ["Medium", "High"], filter=rule)
    assert result.ledger.counted == 6172
    assert isinstance(result.ledger, Ledger)
    assert result.ledger.filtered + result.ledger.undecided == 7214 - 6172
    (share,) = [r.estimate.value for r in result.rates if r.metric == "base_rate" and not r.by]
    assert round(100 * share, 2) == 45.51


def test_compas_repeated_columns_are_a_notice(shared: Path) -> None:
    result = compas(shared, ["Medium", "High"])
    (notice,) = [text for text in result.notices if "repeats" in text]
    assert "'decile_score', 'priors_count'" in notice


def test_fairlearns_page() -> None:
    """Fairlearn's user guide, common fairness metrics: the doctest outputs."""
    result = fairaudit.audit(SPECS / "fairlearn_page.yaml")
    values = {row.metric: row.estimate.value for row in result.comparisons}
    assert values["demographic_parity_difference"] == pytest.approx(0.25)
    assert round(values["demographic_parity_ratio"], 4) == 0.6667
    assert values["equalized_odds_difference"] == 1.0
    assert values["equalized_odds_ratio"] == 0.0
    assert (result.verdict, result.exit_code) == (Verdict.NONE, 0)


def test_two_normal_distributions() -> None:
    """Foulds & Pan, Figure 2."""
    table = [[0.3085, 0.6915], [0.9332, 0.0668]]
    assert round(fairaudit.epsilon(table), 3) == 2.337


def test_worked_example_of_equalized_odds(tmp_path: Path) -> None:
    """TPR .8/.6 and FPR .1/.2 give .20, .15, +.05 and .50 (Hardt et al.; Fairlearn; AIF360)."""
    cells = {"a": (8, 2, 1, 9), "r": (6, 4, 2, 8)}
    lines = ["group,label,prediction,n"]
    for group, (tp, fn, fp, tn) in cells.items():
        lines += [
            f"{group},1,1,{tp}",
            f"{group},1,0,{fn}",
            f"{group},0,1,{fp}",
            f"{group},0,0,{tn}",
        ]
    path = tmp_path / "odds.csv"
    path.write_text("\n".join(lines) + "\n")
    names = ["equalized_odds_difference", "equalized_odds_mean", "equalized_odds_ratio"]
    result = fairaudit.audit(
        {
            "data": str(path),
            "columns": {
                "protected": {"group": {"reference": "r"}},
                "label": {"column": "label", "positive": 1},
                "prediction": {"column": "prediction", "positive": 1},
                "count": "n",
            },
            "metrics": [*names, "average_odds_difference", "average_odds_error"],
        }
    )
    values = {row.metric: row.estimate.value for row in result.comparisons}
    assert [values[name] for name in names] == pytest.approx([0.2, 0.15, 0.5])
    assert values["average_odds_difference"] == pytest.approx(0.05)
    assert values["average_odds_error"] == pytest.approx(0.15)


JOINED = {
    # metrics.md §9, recomputed with statsmodels' StratifiedTable.
    "kidney_admissions": (1.446847, 0.1187, 0.3251),
    "berkeley_admissions": (1.105343, 0.2169, 0.00207),
}


@pytest.mark.parametrize("name", JOINED)
def test_strata_of_a_reversal_are_joined(name: str) -> None:
    odds, p, homogeneity = JOINED[name]
    (one,) = [
        each
        for each in fairaudit.audit(SPECS / f"{name}.yaml").reversals
        if each.attribute == "gender" and each.rate == "selection_rate" and each.kind.reverses
    ]
    assert one.joined is not None
    found = one.mantel_haenszel_odds_ratio
    assert min(abs(found - odds), abs(1 / found - odds)) < 5e-7
    assert one.joined.p == pytest.approx(p, abs=5e-5)
    assert one.joined.homogeneity == pytest.approx(homogeneity, abs=5e-5)
    tables = [
        [[a.over, a.under - a.over], [b.over, b.under - b.over]]
        for a, b in ((stratum.first, stratum.second) for stratum in one.strata)
    ]
    table = StratifiedTable([np.array(each).T for each in tables])
    low, high = table.oddsratio_pooled_confint()
    assert (one.joined.odds_low, one.joined.odds_high) == pytest.approx((low, high), rel=1e-9)
    assert one.joined.p == pytest.approx(table.test_null_odds().pvalue, rel=1e-9)
