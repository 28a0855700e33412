"""AIF360 and Aequitas on the same counts: equal to 1e-12, or the disagreement and its reason.

Neither is installed where the tests run: transcripts/others.py printed their numbers once, with
their versions, into transcripts/others.json.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import long

import fairaudit
from fairaudit.result import AuditResult
from fairaudit.result.rows import ComparisonRow, RateRow

TRANSCRIPT = json.loads((Path(__file__).parent / "transcripts" / "others.json").read_text("utf-8"))
CASES: dict[str, Any] = {case["name"]: case for case in TRANSCRIPT["cases"]}
QUICK = {
    "two groups",
    "three groups",
    "a group without positives",
    "nobody selected in a group",
    "no error in the reference",
    "COMPAS by race",
}
TABLES = [name if name in QUICK else long(name) for name in CASES]
"""Small tables with each kind of edge first; then predictions, for every subset of attributes."""
TWO_GROUPS = [
    name if name in QUICK else long(name)
    for name, case in CASES.items()
    if len(case["groups"]) == 2
]
Key = tuple[str, ...]
Values = dict[Key, float]

RATES = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "false_negative_rate",
    "true_negative_rate",
    "positive_predictive_value",
    "negative_predictive_value",
    "false_discovery_rate",
    "false_omission_rate",
    "accuracy",
    "error_rate",
    "base_rate",
    "selected_share",
)
USED = {
    "positive_predictive_value": ("tp", "fp"),
    "false_discovery_rate": ("tp", "fp"),
    "negative_predictive_value": ("tn", "fn"),
    "false_omission_rate": ("tn", "fn"),
}
"""The denominators that AIF360 guards: it prints 0 where they are empty."""

AIF360: dict[str, str] = {
    "statistical_parity_difference": "statistical_parity_difference",
    "disparate_impact": "disparate_impact_ratio",
    "average_odds_difference": "average_odds_difference",
    "average_abs_odds_difference": "average_odds_error",
    "equal_opportunity_difference": "true_positive_rate_difference",
    "true_positive_rate_difference": "true_positive_rate_difference",
    "false_positive_rate_difference": "false_positive_rate_difference",
    "false_positive_rate_ratio": "false_positive_rate_ratio",
    **{
        f"{rate}_{how}": f"{rate} {how}"
        for rate in ("false_negative_rate", "false_discovery_rate", "false_omission_rate")
        for how in ("difference", "ratio")
    },
    "error_rate_difference": "error_rate difference",
    "error_rate_ratio": "error_rate ratio",
}
"""Their name of a comparison with the reference, and ours."""
AEQUITAS = {
    "tpr": "true_positive_rate",
    "tnr": "true_negative_rate",
    "for": "false_omission_rate",
    "fdr": "false_discovery_rate",
    "fpr": "false_positive_rate",
    "fnr": "false_negative_rate",
    "npv": "negative_predictive_value",
    "precision": "positive_predictive_value",
    "ppr": "selected_share",
    "pprev": "selection_rate",
    "prev": "base_rate",
    "accuracy": "accuracy",
}
FUNCTIONS = {
    "statistical_parity_difference": "statistical_parity_difference",
    "disparate_impact_ratio": "disparate_impact_ratio",
    "equal_opportunity_difference": "true_positive_rate_difference",
    "average_odds_difference": "average_odds_difference",
    "average_odds_error": "average_odds_error",
}
"""aif360.sklearn's comparisons, and ours."""


def rows_of(case: dict[str, Any]) -> pl.DataFrame:
    """The counts as they are: empty cells stay, so that both classes are known of."""
    return pl.DataFrame(
        [
            {**dict(zip(case["by"], group["levels"], strict=True)), "y": y, "p": p, "n": group[at]}
            for group in case["groups"]
            for at, y, p in (("tp", 1, 1), ("fp", 0, 1), ("fn", 1, 0), ("tn", 0, 0))
        ]
    )


def audit(case: dict[str, Any], metrics: list[Any], reference: list[str]) -> AuditResult:
    """Those metrics of the counts, compared with that group."""
    protected = {
        name: {"reference": level} for name, level in zip(case["by"], reference, strict=True)
    }
    spec = {
        "columns": {
            "protected": protected,
            "label": {"column": "y", "positive": 1},
            "prediction": {"column": "p", "positive": 1},
            "count": "n",
        },
        "groups": {"by": [case["by"]]},
        "metrics": metrics,
    }
    return fairaudit.audit(spec, rows_of(case))


@cache
def rates(name: str) -> dict[str, Values]:
    """Every rate of every group, and of everybody under ()."""
    case = CASES[name]
    found: dict[str, Values] = {}
    for row in audit(case, list(RATES), case["reference"]).rates:
        key = tuple(dict(row.group)[one] for one in case["by"]) if row.group else ()
        found.setdefault(row.metric, {})[key] = row.estimate.value
    return found


@cache
def comparisons(name: str) -> dict[str, Values]:
    """Every comparison of every group with the reference."""
    case = CASES[name]
    by_name = sorted({one for one in AIF360.values() if " " not in one})
    ratios = [{"metric": rate, "compare": "ratio"} for rate in RATES]
    differences = [{"metric": rate, "compare": "difference"} for rate in RATES]
    metrics = [*by_name, "fairmlhealth_equal_odds_difference", *ratios, *differences]
    found: dict[str, Values] = {}
    for row in audit(case, metrics, case["reference"]).comparisons:
        assert row.group is not None
        key = tuple(dict(row.group)[one] for one in case["by"])
        found.setdefault(row.metric, {})[key] = row.estimate.value
        found.setdefault(f"{row.metric} {row.compare}", {})[key] = row.estimate.value
    return found


WHOLE: list[Any] = [
    *({"metric": "generalized_entropy", "alpha": alpha} for alpha in (0, 1, 2, 3)),
    *({"metric": "between_group_generalized_entropy", "alpha": alpha} for alpha in (0, 1, 2)),
    *("generalized_entropy", "between_group_generalized_entropy"),
    *("theil", "coefficient_of_variation", "differential_fairness"),
    *({"metric": "differential_fairness", "smoothing": smoothing} for smoothing in ("0.5", 1)),
    *({"metric": "differential_fairness", "concentration": number} for number in (1, 0)),
    *({"metric": "differential_fairness", "of": "label", "concentration": n} for n in (1, 0)),
    {"metric": "differential_fairness", "of": "label"},
    *({"metric": "bias_amplification", "concentration": number} for number in (1, 0)),
]
"""What is one number of a whole table."""


@cache
def wholes(name: str) -> dict[tuple[str, str, frozenset[tuple[str, Any]]], float]:
    """Every number of the whole table, by its metric, its outcome and what else was asked."""
    result = audit(CASES[name], WHOLE, CASES[name]["reference"])
    rows: list[ComparisonRow | RateRow] = [
        *result.comparisons,
        *(row for row in result.rates if not row.by),
    ]
    return {
        (row.metric, row.of, frozenset(row.parameters.items())): row.estimate.value for row in rows
    }


def whole(name: str, metric: str, of: str = "prediction", **more: Any) -> float:
    """One number of the whole table."""
    parameters = {parameter: float(value) for parameter, value in more.items()}
    return wholes(name)[metric, of, frozenset(parameters.items())]


def groups_of(case: dict[str, Any], *, compared: bool) -> Iterator[tuple[int, Key]]:
    """Where each group stands in the transcript; the reference is not compared with itself."""
    for at, group in enumerate(case["groups"]):
        if not (compared and group["levels"] == case["reference"]):
            yield at, tuple(group["levels"])


def same(ours: float, theirs: float) -> bool:
    """Equal to 1e-12, infinite alike, or no number on either side."""
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return ours == theirs or math.isclose(ours, theirs, rel_tol=1e-12, abs_tol=1e-12)


def test_the_transcript_says_how_it_was_made() -> None:
    assert TRANSCRIPT["command"].startswith("python tests/published/transcripts/others.py")
    assert TRANSCRIPT["versions"]["aif360"] == "0.6.1"
    assert TRANSCRIPT["versions"]["aequitas"] == "1.1.0"
    assert len(CASES) == 13 + 14, "tables and COMPAS; predictions on Adult and COMPAS, every subset"


def test_the_counts_of_compas_are_those_of_the_file(shared: Path) -> None:
    columns = ["race", "sex", "score_text", "two_year_recid"]
    people = pl.read_csv(shared / "compas-scores-two-years.csv", columns=columns).select(
        "race",
        "sex",
        y=pl.col("two_year_recid").cast(pl.Int64),
        p=(pl.col("score_text") != "Low").cast(pl.Int64),
    )
    for name in ("COMPAS by race", "COMPAS by race and sex"):
        case = CASES[name]
        found = people.group_by(*case["by"], "y", "p").agg(n=pl.len().cast(pl.Int64))
        printed = rows_of(case).filter(pl.col("n") > 0)
        keys = [*case["by"], "y", "p"]
        assert found.sort(keys).rows() == printed.select(*keys, "n").sort(keys).rows()


@pytest.mark.parametrize("name", TABLES)
def test_rates_equal_aif360(name: str) -> None:
    """It prints 0 for a predictive value, discovery or omission rate of nobody; NaN for others."""
    case = CASES[name]
    for at, key in groups_of(case, compared=False):
        for rate, printed in case["aif360"]["rates"][at].items():
            ours, theirs = rates(name)[rate][key], float(printed)
            used = sum(
                case["groups"][at][cell] for cell in USED.get(rate, ("tp", "fp", "fn", "tn"))
            )
            if used:
                assert same(ours, theirs), (rate, key)
            else:
                assert math.isnan(ours), (rate, key)
                assert theirs == 0, (rate, key)


@pytest.mark.parametrize("name", TABLES)
def test_comparisons_with_the_reference_equal_aif360(name: str) -> None:
    """Where it prints 0 for a rate of nobody, it compares with that 0; here nothing is compared."""
    case = CASES[name]
    for at, key in groups_of(case, compared=True):
        printed = case["aif360"]["comparisons"][at]
        for theirs_name, ours_name in AIF360.items():
            ours, theirs = comparisons(name)[ours_name][key], float(printed[theirs_name])
            rate, _, how = ours_name.partition(" ")
            empty = rate in USED and not all(
                sum(group[cell] for cell in USED[rate])
                for group in case["groups"]
                if tuple(group["levels"]) in {key, tuple(case["reference"])}
            )
            if not empty:
                assert same(ours, theirs), (theirs_name, key)
                continue
            assert math.isnan(ours), (theirs_name, key)
            found = rates(name)[rate]
            first, second = (
                0.0 if math.isnan(value) else value
                for value in (found[key], found[tuple(case["reference"])])
            )
            if how == "difference":
                assert same(first - second, theirs)
            elif second:
                assert same(first / second, theirs)
            else:
                assert math.isinf(theirs) if first else math.isnan(theirs)


@pytest.mark.parametrize("name", TABLES)
def test_equalized_odds_of_aif360_are_unsigned_and_may_lose_a_nan(name: str) -> None:
    """Its maximum is Python's: a NaN that comes second, that of the true positives, is lost."""
    case = CASES[name]
    for at, key in groups_of(case, compared=True):
        theirs = float(case["aif360"]["comparisons"][at]["equalized_odds_difference"])
        ours = comparisons(name)["fairmlhealth_equal_odds_difference"][key]
        hits = comparisons(name)["true_positive_rate_difference"][key]
        alarms = comparisons(name)["false_positive_rate_difference"][key]
        if math.isnan(hits) and not math.isnan(alarms):
            assert math.isnan(ours)
            assert same(abs(alarms), theirs)
        else:
            assert same(abs(ours), theirs)
    assert math.isnan(
        comparisons("a group without positives")["fairmlhealth_equal_odds_difference"]["f",]
    )


@pytest.mark.parametrize("name", TABLES)
def test_inequality_equals_aif360(name: str) -> None:
    printed = {key: float(value) for key, value in CASES[name]["aif360"]["everybody"].items()}
    for alpha in (0, 1, 2, 3):
        ours = whole(name, "generalized_entropy", alpha=alpha)
        assert same(ours, printed[f"generalized_entropy_index(alpha={alpha})"])
    assert same(whole(name, "theil"), printed["theil_index"])
    assert same(whole(name, "coefficient_of_variation"), printed["coefficient_of_variation"])
    for alpha in (1, 2):
        ours = whole(name, "between_group_generalized_entropy", alpha=alpha)
        theirs = printed[f"between_all_groups_generalized_entropy_index(alpha={alpha})"]
        assert same(ours, theirs)


def test_the_coefficient_of_variation_of_aif360_is_ours_since_its_0_5() -> None:
    """Up to 0.4 it printed 2 √GE(2), as fairMLHealth's pages still do (AIF360 issue 288)."""
    name = "two groups"
    squared = whole(name, "generalized_entropy")
    theirs = CASES[name]["aif360"]["everybody"]["coefficient_of_variation"]
    assert same(math.sqrt(2 * squared), theirs)
    assert not same(2 * math.sqrt(squared), theirs)


@pytest.mark.parametrize("name", TABLES)
def test_aif360_divides_the_mean_log_deviation_by_the_mean_once_too_often(name: str) -> None:
    """Its documented GE(0) is the mean of -ln(b/μ); its code divides each logarithm by μ again."""
    case = CASES[name]
    printed = case["aif360"]["everybody"]["between_all_groups_generalized_entropy_index(alpha=0)"]
    people = sum(group[cell] for group in case["groups"] for cell in ("tp", "fp", "fn", "tn"))
    benefit = 1 + sum(group["fp"] - group["fn"] for group in case["groups"]) / people
    ours = whole(name, "between_group_generalized_entropy", alpha=0)
    assert same(ours / benefit, float(printed))
    # A group without any benefit makes both infinite.
    assert same(ours, float(printed)) == (benefit == 1 or math.isinf(ours))


@pytest.mark.parametrize("name", TABLES)
def test_differential_fairness_equals_aif360_at_the_same_concentration(name: str) -> None:
    """Without smoothing it subtracts ln 0 from ln 0 where nobody at all is selected: NaN, not 0."""
    printed = {key: float(value) for key, value in CASES[name]["aif360"]["everybody"].items()}
    for of in ("prediction", "label"):
        for concentration in (1, 0):
            ours = whole(name, "differential_fairness", of=of, concentration=concentration)
            key = f"({of}, concentration={concentration:.1f})"
            theirs = printed["smoothed_empirical_differential_fairness" + key]
            if name == "nobody selected at all" and of == "prediction" and not concentration:
                assert (ours, math.isnan(theirs)) == (0.0, True)
            else:
                assert same(ours, theirs)


@pytest.mark.parametrize("name", TABLES)
def test_bias_amplification_equals_aif360_at_the_same_concentration(name: str) -> None:
    printed = CASES[name]["aif360"]["everybody"]
    for concentration in (1, 0):
        ours = whole(name, "bias_amplification", concentration=concentration)
        key = f"differential_fairness_bias_amplification(concentration={concentration:.1f})"
        if name == "nobody selected at all" and not concentration:
            assert math.isnan(float(printed[key]))
            assert same(ours, -whole(name, "differential_fairness", of="label"))
        elif math.isinf(
            whole(name, "differential_fairness", of="label", concentration=concentration)
        ):
            # AIF360 subtracts infinity; that a change is unknown is not that it is infinitely good.
            assert not float(printed[key]) > -math.inf
            assert math.isnan(ours)
        else:
            assert same(ours, float(printed[key]))


def test_aif360_smooths_unless_it_is_told_not_to() -> None:
    name = "COMPAS by race and sex"
    printed = CASES[name]["aif360"]["everybody"]
    key = "smoothed_empirical_differential_fairness(prediction, concentration=1.0)"
    smoothed = float(printed[key])
    assert math.isinf(whole(name, "differential_fairness"))
    assert same(whole(name, "differential_fairness", concentration=1), smoothed)
    assert same(whole(name, "differential_fairness", smoothing="0.5"), smoothed)
    assert not same(whole(name, "differential_fairness", smoothing=1), smoothed)


@pytest.mark.parametrize("name", TABLES)
def test_functions_of_aif360_print_numbers_for_what_is_not_there(name: str) -> None:
    """scikit-learn's recall of nobody is 0, and its division x/0 is 0 as well."""
    case = CASES[name]
    reference = tuple(case["reference"])
    for at, key in groups_of(case, compared=True):
        for theirs_name, ours_name in FUNCTIONS.items():
            theirs = float(case["aif360.sklearn"]["comparisons"][at][theirs_name])
            ours = comparisons(name)[ours_name][key]
            if math.isfinite(ours):
                assert same(ours, theirs), (theirs_name, key)
                continue
            if theirs_name == "disparate_impact_ratio":
                assert theirs == 0
                continue
            hits, alarms = (
                [nobody if math.isnan(one) else one for one in (found[key], found[reference])]
                for found, nobody in (
                    (rates(name)["true_positive_rate"], 0.0),
                    (rates(name)["false_positive_rate"], 1.0),  # 1 - specificity, which is 0
                )
            )
            apart, more = hits[0] - hits[1], alarms[0] - alarms[1]
            expected = {
                "equal_opportunity_difference": apart,
                "average_odds_difference": (apart + more) / 2,
                "average_odds_error": (abs(apart) + abs(more)) / 2,
            }
            assert math.isnan(ours)
            assert same(expected[theirs_name], theirs)


@pytest.mark.parametrize("name", TWO_GROUPS)
def test_functions_of_aif360_on_two_groups(name: str) -> None:
    case = CASES[name]
    ((at, key),) = groups_of(case, compared=True)
    printed = case["aif360.sklearn"]["comparisons"][at]
    between = whole(name, "between_group_generalized_entropy")
    assert same(between, float(printed["between_group_generalized_entropy_error"]))
    (row,) = audit(case, ["kl_divergence"], list(key)).comparisons
    assert row.group == ((case["by"][0], case["reference"][0]),)
    assert same(row.estimate.value, float(printed["kl_divergence"])), "from the other side"
    ours = whole(name, "differential_fairness", concentration=1)
    theirs = float(printed["smoothed_edf"])
    one_outcome = [
        not (group["tp"] + group["fp"]) or not (group["fn"] + group["tn"])
        for group in case["groups"]
    ]
    # Its |Y| is the number of outcomes in the group: a group of one outcome gets all of the
    # concentration on it, while the paper's |Y|, and its own class, are those of the whole data.
    # Where both groups have but that one outcome, the surplus cancels.
    assert same(ours, theirs) == (one_outcome[0] == one_outcome[1])


@pytest.mark.parametrize("name", TABLES)
def test_rates_equal_aequitas(name: str) -> None:
    """Its ppr is the share of the selected; what it calls pprev is the selection rate."""
    case = CASES[name]
    for at, key in groups_of(case, compared=False):
        for theirs_name, printed in case["aequitas"]["rates"][at].items():
            assert same(rates(name)[AEQUITAS[theirs_name]][key], float(printed)), theirs_name


@pytest.mark.parametrize("name", TABLES)
def test_disparities_equal_aequitas_but_for_its_ten(name: str) -> None:
    """It prints 10 for x/0, which is infinite; 0/0 is no number in either."""
    case = CASES[name]
    for at, key in groups_of(case, compared=True):
        for theirs_name, printed in case["aequitas"]["disparities"][at].items():
            ours = comparisons(name)[f"{AEQUITAS[theirs_name]} ratio"][key]
            if math.isinf(ours):
                assert float(printed) == 10.0
            else:
                assert same(ours, float(printed)), theirs_name


def test_the_ten_of_aequitas_stands_below_ratios_that_are_not_infinite() -> None:
    name = "twenty times the reference"
    assert comparisons(name)["disparate_impact_ratio"]["f",] == 20.0
    (at, _), *_ = groups_of(CASES[name], compared=True)
    printed = CASES[name]["aequitas"]["disparities"][at]
    assert (printed["pprev"], printed["fpr"]) == (20.0, 10.0)
    assert math.isinf(comparisons(name)["false_positive_rate ratio"]["f",])
