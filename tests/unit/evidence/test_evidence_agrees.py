"""Evidence that contradicted itself, or that a handful of people could switch off: each case once.

Expected numbers are scipy's, the oracle's, or counted by hand.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import evidence_oracle as oracle
import polars as pl
import pytest
from conftest import sampled
from evidence_specs import YES, Rate, confused, document, of_cells, of_rates, people
from evidence_specs import spec as asking
from scipy import optimize, stats
from stats_oracle import fisher, gap_bounds, quotient, share_bounds

from fairaudit.base.frozen import replace
from fairaudit.evidence.methods import find_methods
from fairaudit.evidence.pair_tests import PAIR_METHODS, PairMethod
from fairaudit.metrics.terms import DEFAULT_INFERENCE, TTest

BIG: dict[str, Rate] = {"A": (300, 1000), "B": (700, 1000)}
TINY: dict[str, Rate] = {**BIG, "C": (2, 3)}


def gate(metric: str, **more: Any) -> dict[str, Any]:
    """A gate that asks for significance, above 0.1 unless it says otherwise."""
    limit = more.pop("fail", {"above": 0.1})
    return {"metric": metric, "fail": {**limit, "significant": True}, **more}


# A few people --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        gate("demographic_parity_difference"),
        gate("demographic_parity_ratio", fail={"below": 0.8}),
        gate("differential_fairness"),
        gate("cramers_v"),
        gate("total_variation"),
        gate("eta_neutrality"),
        gate("goodman_kruskal_lambda"),
    ],
    ids=lambda entry: entry["metric"],
)
def test_three_people_do_not_switch_a_gate_off(entry: dict[str, Any]) -> None:
    (check,) = of_rates(TINY, entry)
    assert check["status"] == "fail"
    expected = oracle.beside_pairs(
        oracle.chi_square([*BIG.values()]), oracle.clearest_pair([*TINY.values()])
    )
    assert check["significance"]["p"] == pytest.approx(expected, rel=1e-6)


def test_a_pair_beyond_the_limit_fails_though_the_widest_is_chance() -> None:
    (check,) = of_rates({**BIG, "C": (3, 3)}, gate("demographic_parity_difference"))
    assert (check["status"], check["value"]) == ("fail", pytest.approx(0.7))


def test_a_difference_elsewhere_is_no_evidence_for_the_pair_beyond_the_limit() -> None:
    """A and B differ by 5 points, significantly; only C, three people, is 20 points away."""
    rates = {"A": (3000, 10_000), "B": (3500, 10_000), "C": (2, 3)}
    (check,) = of_rates(rates, gate("demographic_parity_difference", fail={"above": 0.2}))
    assert check["significance"]["p"] < 1e-9
    assert (check["status"], check["not_enough_evidence"]) == ("warn", True)
    assert "but no pair over the limit differs significantly" in check["sentence"]


def test_one_person_is_no_yardstick() -> None:
    rates = {**BIG, "C": (1, 1)}
    (check,) = of_rates(rates, gate("impact_ratio", fail={"below": 0.8}))
    assert (check["status"], check["value"]) == ("fail", pytest.approx(0.3))
    pair = oracle.two_groups(rates["A"], rates["B"])[1]
    assert check["significance"]["p"] == pytest.approx(oracle.over_pairs(pair, 3), rel=1e-6)


SCORES = [("A", round(0.05 + 0.1 * at, 2), 50) for at in range(10)]


@pytest.mark.parametrize(
    ("metric", "limit"),
    [
        ({"metric": "mean_score", "compare": "difference"}, {"above": 0.1}),
        ({"metric": "between_group_auc_score"}, {"outside": [0.45, 0.55]}),
    ],
)
def test_two_people_alike_are_no_certainty(metric: dict[str, Any], limit: dict[str, Any]) -> None:
    rows = pl.DataFrame([*SCORES, ("B", 0.75, 2)], ["g", "s", "n"], orient="row")
    flags = {"significant": True, "conclusive": True}
    rows = rows.with_columns(p=(pl.col("s") > 0.5).cast(pl.Int64))
    asked = {
        "columns": {
            "protected": ["g"], "score": "s", "count": "n", "prediction": {"column": "p", **YES},
        },
        "metrics": [{**metric, "reference": "A", "fail": {**limit, **flags}}],
    }  # fmt: skip
    (check,) = document(asked, rows)["checks"]
    assert check["status"] == "warn"
    assert check["significance"]["p"] > 0.05
    parity = 0.5 if "outside" in limit else 0
    assert check["low"] < parity < check["high"]


def test_two_people_of_one_cell_have_no_sure_utility() -> None:
    utilities = {"tp": 2, "fp": 1, "fn": -1, "tn": 0}
    entry = gate("expected_utility", compare="difference", reference="A", utilities=utilities)
    cells = {"A": (300, 300, 300, 300), "B": (2, 0, 0, 0)}
    (check,) = of_cells(cells, {**entry, "fail": {"outside": [-0.1, 0.1], "significant": True}})
    assert check["status"] == "warn"
    assert check["low"] < 0 < check["high"]


def test_ways_on_request_make_no_certainty_of_one_person() -> None:
    one = {"A": (300, 1000), "B": (1, 1)}
    entry = {"metric": "disparate_impact_ratio", "reference": "A", "fail": {"above": 1.25}}
    (katz,) = of_rates(one, entry, inference={"ratio": "katz"})
    assert katz["low"] < 1 < katz["high"]
    rows = people({"A": (300, 1000), "B": (0, 1)}).with_columns(w=1.5 - 0.5 * pl.col("p"))
    entry = {"metric": "statistical_parity_difference", "reference": "A", "fail": {"below": -0.1}}
    asked = asking(entry, columns={"weight": "w"}, inference={"z": "unpooled"})
    (unpooled,) = document(asked, rows)["checks"]
    assert unpooled["significance"]["p"] > 0.5


def statistic_of(check: dict[str, Any]) -> tuple[Any, ...]:
    """What a test computes before its p-value: letter, value, degrees of freedom."""
    test = check["significance"]
    return test["letter"], test["statistic"], test["freedom"]


def test_students_test_has_students_interval() -> None:
    one, two = [0.1, 0.4, 0.35, 0.8, 0.5, 0.65], [0.3, 0.9, 0.75, 0.7]
    rows = [("A", s, 1) for s in one] + [("B", s, 1) for s in two]
    entry = {"metric": "mean_score", "compare": "difference", "reference": "A"}
    asked = {
        "columns": {"protected": ["g"], "score": "s", "count": "n"},
        "metrics": [{**entry, "fail": {"above": 0.9}}],
        "inference": {"t": "student"},
    }
    (check,) = document(asked, pl.DataFrame(rows, ["g", "s", "n"], orient="row"))["checks"]
    expected = stats.ttest_ind(two, one)
    ends = expected.confidence_interval(0.95)
    assert check["significance"]["p"] == pytest.approx(expected.pvalue)
    assert (check["low"], check["high"], check["method"]) == (*map(pytest.approx, ends), "Student")
    assert statistic_of(check) == ("t", pytest.approx(expected.statistic), [8])


# The number that is printed ------------------------------------------------------------------


def in_strata(strata: dict[str, dict[str, Rate]], *metrics: Any, labels: bool = False) -> Any:
    rows = pl.concat(
        people(rates).with_columns(s=pl.lit(s), y=pl.lit(0)) for s, rates in strata.items()
    )
    asked = asking(*metrics, labels=labels, columns={"strata": ["s"]})
    return document(asked, rows)["checks"]


TURNED = {
    "big": {"f": (1000, 10_000), "m": (1100, 10_000)},
    "small": {"f": (240, 300), "m": (110, 300)},
}


def test_an_averaged_gap_is_tested_by_itself() -> None:
    """Where the large stratum says -1 and the small one +43, their weights decide, not CMH's."""
    limit = {"outside": [-0.1, 0.1]}
    rate = gate("selection_rate", compare="difference", reference="m", given="s", fail=limit)
    gap = gate("conditional_equal_opportunity_gap", reference="m", given="s", fail=limit)
    (plain,) = in_strata(TURNED, {**rate, "average": "uniform"})
    (named,) = in_strata(TURNED, gap, labels=True)
    for check in (plain, named):
        assert check["value"] == pytest.approx((-0.01 + 130 / 300) / 2)
        assert check["status"] == "fail"
        assert check["significance"]["p"] < 1e-20
        beside = check["significance"]["beside"]
        assert (beside["test"], beside["hypothesis"]) == (
            "Cochran–Mantel–Haenszel", "equal in every stratum",
        )  # fmt: skip
        assert beside["p"] == pytest.approx(0.5051, abs=1e-4)
        said = ", a second test, that no stratum has a gap: p = .5051 (Cochran–Mantel–Haenszel)"
        assert said in check["sentence"]
        told = "sure: Is the gap more than chance? Yes: p < .0001 ("
        assert told in check["sentence"]


def test_a_stratum_of_few_people_leaves_an_average_open() -> None:
    """Its weight is that of any other: the average is not known, though strata differ surely."""
    strata = {"big": {"f": (3000, 10_000), "m": (7000, 10_000)}, "few": {"f": (2, 2), "m": (1, 1)}}
    metric = gate("selection_rate", compare="difference", reference="m", given="s",
                  fail={"below": -0.1})  # fmt: skip
    (check,) = in_strata(strata, {**metric, "average": "uniform"})
    assert check["status"] == "inconclusive"
    assert "too few people decide the printed number" in check["why"]
    (pooled,) = in_strata(strata, {**metric, "average": "pooled"})
    assert pooled["status"] == "fail"


def test_what_cancels_is_no_difference() -> None:
    """True positive rates fall by ten points, false positive rates rise by ten."""
    cells = {"A": (500, 300, 500, 700), "B": (400, 400, 600, 600)}
    average, larger, ratio = of_cells(
        cells,
        gate("average_odds_difference", reference="A", fail={"outside": [-0.01, 0.01]}),
        gate("fairmlhealth_equal_odds_difference", reference="A", fail={"outside": [-0.05, 0.05]}),
        {"metric": "fairmlhealth_equal_odds_ratio", "reference": "A",
         "fail": {"outside": [0.9, 1.1], "conclusive": True}},
    )  # fmt: skip
    assert (average["value"], average["significance"]["p"]) == (pytest.approx(0), 1)
    each = (
        oracle.two_groups((400, 1000), (500, 1000))[1],
        oracle.two_groups((400, 1000), (300, 1000))[1],
    )
    assert average["significance"]["beside"]["p"] == pytest.approx(oracle.sidak(*each))
    assert (larger["status"], ratio["status"]) == ("fail", "fail")
    assert 0 < larger["low"] < larger["value"] < larger["high"]


def test_conclusive_looks_at_both_rates() -> None:
    """The larger of both may be the other: that one reaches into the limits, so nothing is sure."""
    cells = {"A": (500, 150, 500, 350), "B": (300, 110, 700, 390)}
    entry = {"metric": "fairmlhealth_equal_odds_difference", "reference": "A",
             "fail": {"outside": [-0.05, 0.05], "conclusive": True}}  # fmt: skip
    (sure,) = of_cells(cells, entry)
    assert sure["status"] == "fail"
    cells = {"A": (22, 150, 28, 350), "B": (20, 160, 30, 340)}
    (unsure,) = of_cells(cells, {**entry, "fail": {"outside": [-0.15, 0.15], "conclusive": True}})
    assert unsure["status"] == "warn"


def test_what_has_no_test_has_no_p() -> None:
    strata = {"x": {"f": (100, 200), "m": (50, 100)}, "z": {"f": (10, 100), "m": (20, 200)}}
    entry = {"metric": "explained_difference", "reference": "m", "given": "s"}
    (check,) = in_strata(strata, {**entry, "fail": {"outside": [-0.01, 0.01]}})
    assert check["significance"] is None


def test_the_order_of_checks_changes_nothing() -> None:
    """As many are selected of both; of those who qualify 300 of 700 and all 700."""
    cells = {"A": (300, 400, 400, 100), "B": (700, 0, 0, 500)}
    one, two = gate("demographic_parity_difference"), gate("differential_equal_opportunity")
    there = {check["metric"]: check for check in of_cells(cells, one, two)}
    back = {check["metric"]: check for check in of_cells(cells, two, one)}
    for name in (one["metric"], two["metric"]):
        assert there[name]["significance"] == back[name]["significance"]
        assert there[name]["status"] == back[name]["status"]
    assert there[two["metric"]]["status"] == "fail"


def test_a_difference_a_ratio_and_an_odds_ratio_are_tested_each() -> None:
    cells = {"A": (60, 20, 45, 95), "B": (40, 40, 35, 50)}
    ways = [
        {"metric": "f1", "compare": how, "reference": "A", "fail": {"above": limit}}
        for how, limit in (("difference", 0.9), ("ratio", 9), ("odds_ratio", 9))
    ]
    found = of_cells(cells, *ways, inference={"correction": "none"})
    back = of_cells(cells, *reversed(ways), inference={"correction": "none"})
    assert [one["significance"] for one in found] == [one["significance"] for one in back[::-1]]


# Ends ----------------------------------------------------------------------------------------


def test_a_mean_absolute_error_has_no_end_below_zero() -> None:
    rows = pl.DataFrame(
        [("A", 0.0, 0.0), ("A", 0.0, 0.5), ("A", 0.0, 3.0), ("B", 0.0, 1.0), ("B", 0.0, 2.0)],
        ["g", "y", "s"], orient="row",
    )  # fmt: skip
    numbers = {name: {"column": column, "number": True} for name, column in
               (("label", "y"), ("prediction", "s"))}  # fmt: skip
    asked = {"columns": {"protected": ["g"], **numbers}, "metrics": ["mae"]}
    for row in document(asked, rows)["rates"]:
        assert row["low"] >= 0


def test_a_change_from_an_infinite_value_is_not_known() -> None:
    """Of C nobody qualifies, so ε of the label is infinite; whatever ε of the decision is."""
    cells = {"A": (500, 100, 100, 300), "B": (200, 50, 350, 400), "C": (0, 30, 0, 30)}
    limit = {"fail": {"above": 0.1}}
    (check,) = of_cells(cells, {"metric": "bias_amplification", **limit})
    assert (check["status"], check["value"]) == ("inconclusive", None)
    assert "is infinite: a difference to it does not exist" in check["why"]
    rows = confused(cells)
    models = {name: {"prediction": {"column": column, **YES}} for name, column in
              (("first", "p"), ("second", "y"))}  # fmt: skip
    entry = {"metric": "differential_fairness", "of": "first", "against": "second", **limit}
    asked = {"columns": {"protected": ["g"], "models": models, "count": "n"}, "metrics": [entry]}
    (check,) = document(asked, rows)["checks"]
    assert check["status"] == "inconclusive"


def test_few_people_do_not_hide_a_change_of_the_largest_gap() -> None:
    """ε of the decision exceeds that of the label by far; of three people both are wide."""
    cells = {"A": (500, 100, 100, 300), "B": (200, 50, 350, 400), "C": (1, 1, 0, 1)}
    entry = {"metric": "bias_amplification", "fail": {"outside": [-0.2, 0.2]}}
    (large,) = of_cells({g: cells[g] for g in "AB"}, entry)
    (hidden,) = of_cells(cells, entry)
    assert large["status"] == "fail"
    assert hidden["status"] in {"fail", "inconclusive"}


def test_a_smoothed_epsilon_has_the_interval_of_the_smoothed_number() -> None:
    rates = {"A": (30, 100), "B": (60, 100)}
    plain, smoothed = of_rates(
        rates,
        *({"metric": "differential_fairness", "fail": {"above": 9}, **more} for more in
          ({}, {"smoothing": 1000})),
    )  # fmt: skip
    # 1,000 people more each way: the shares are 1,030 and 1,060 of 2,100.
    assert smoothed["value"] == pytest.approx(math.log(1060 / 1030))
    assert smoothed["low"] <= smoothed["value"] <= smoothed["high"] < plain["low"]


@pytest.mark.parametrize(("one", "two"), [((12, 40), (48, 80)), ((30, 100), (55, 120))])
def test_yates_on_request(one: Rate, two: Rate) -> None:
    entry = {"metric": "statistical_parity_difference", "reference": "b", "fail": {"above": 0.9}}
    (check,) = of_rates({"a": one, "b": two}, entry, inference={"yates": True})
    table = [[x, n - x] for x, n in (one, two)]
    expected = stats.chi2_contingency(table, correction=True)
    test = check["significance"]
    assert (test["test"], test["p"]) == ("z, Yates", pytest.approx(expected.pvalue))
    assert statistic_of(check) == ("χ²", pytest.approx(expected.statistic), [1])


@pytest.mark.parametrize(
    "entry",
    [
        {"metric": "statistical_parity_difference", "reference": "b"},
        {"metric": "disparate_impact_ratio", "reference": "b"},
        {"metric": "demographic_parity_difference"},
    ],
    ids=lambda entry: entry["metric"],
)
@pytest.mark.parametrize("z", ["pooled", "unpooled"])
def test_the_statistic_is_that_of_its_p_value(entry: dict[str, Any], z: str) -> None:
    one, two = (30, 100), (50, 120)  # p is not so small that tables are counted
    limit = {"below": 0.1} if "ratio" in entry["metric"] else {"above": 0.9}
    asked = {**entry, "fail": limit}
    (check,) = of_rates({"a": one, "b": two}, asked, inference={"z": z})
    error = {"pooled": oracle.pooled_error, "unpooled": oracle.unpooled_error}[z](one, two)
    square = ((30 / 100 - 50 / 120) / error) ** 2
    name = "z" if z == "pooled" else "z, unpooled"
    assert check["significance"]["test"] == name
    assert statistic_of(check) == ("χ²", pytest.approx(square), [1])
    assert check["significance"]["p"] == pytest.approx(stats.chi2.sf(square, 1))


@pytest.mark.parametrize("t", ["welch", "student"])
def test_t_has_the_sign_of_the_value_next_to_it(t: str) -> None:
    low, high = [1.0, 2.0, 3.0, 4.0, 9.0, 3.0], [6.0, 7.0, 8.0, 5.0, 12.0]
    rows = [("a", number, 1) for number in low] + [("b", number, 1) for number in high]
    asked = {
        "columns": {"protected": ["g"], "label": {"column": "y", "number": True}, "count": "n"},
        "metrics": [
            {"metric": "mean_difference_of_numbers", "reference": reference, "fail": {"above": 0.1}}
            for reference in "ab"
        ],
        "inference": {"t": t},
    }
    checks = document(asked, pl.DataFrame(rows, ["g", "y", "n"], orient="row"))["checks"]
    size = abs(stats.ttest_ind(low, high, equal_var=t == "student").statistic)
    for check, sign in zip(checks, (-1, 1), strict=True):
        assert math.copysign(1, check["value"]) == sign
        assert statistic_of(check)[:2] == ("t", pytest.approx(sign * size))


def test_an_infinite_value_has_the_p_of_its_inverse() -> None:
    """Nobody of b is a false negative: 3 false positives to 0 is infinite, its inverse 0."""
    cells = {"a": (20, 3, 4, 20), "b": (20, 3, 0, 20)}
    p = []
    for reference in "ab":
        entry = {"metric": "treatment_equality", "reference": reference, "fail": {"above": 1.5}}
        (check,) = of_cells(cells, entry)
        p.append(check["significance"]["p"])
    assert p[0] == pytest.approx(p[1], rel=1e-6)
    # The level at which the upper bound of 0 of 3 by 4 of 7, in odds, is 1; the other end is open.

    def bound(level: float) -> float:
        (l1, u1), (l2, u2) = share_bounds(0, 3, level), share_bounds(4, 7, level)
        odds = (l1 / (1 - l1), u1 / (1 - u1)), (l2 / (1 - l2), u2 / (1 - u2))
        return quotient(0.0, odds[0], 4 / 3, odds[1])[1] - 1

    assert p[0] == pytest.approx(optimize.brentq(bound, 0.01, 0.99), rel=1e-6)


@pytest.mark.long
def test_an_interval_without_parity_has_a_p_below_alpha() -> None:
    """Over all tables of 9 and 14 people with a count below 5 expected.

    Newcombe's interval excluded parity in 6 tables with a p of .05 or more, 10 by the exact test.
    """
    apart: Counter[str] = Counter()
    entry = {"metric": "statistical_parity_difference", "reference": "b", "fail": {"above": 0.9}}
    for x, y in sampled([*product(range(10), range(15))]):
        if not 0 < x + y < 23 or oracle.least_expected([(x, 9), (y, 14)]) >= 5:
            continue
        low, high = gap_bounds(x, 9, y, 14, 0.05)
        (check,) = of_rates({"a": (x, 9), "b": (y, 14)}, entry)
        assert (check["low"], check["high"]) == pytest.approx((low, high))
        tests = {"exact": fisher(x, 9, y, 14)[0], "printed": check["significance"]["p"]}
        apart.update(name for name, p in tests.items() if p >= 0.05 and not low <= 0 <= high)
    assert not apart["printed"], apart


def test_every_test_of_counts_tells_its_statistic() -> None:
    four = {"a": (250, 1000), "b": (270, 1000), "c": (240, 1000), "d": (260, 1000)}
    (check,) = of_rates(four, {"metric": "demographic_parity_difference", "fail": {"above": 0.9}})
    assert statistic_of(check) == ("χ²", pytest.approx(2.631925, abs=1e-6), [3])
    assert "; test: χ²(3) = 2.63" in check["sentence"]


# Keys, ends and few people again --------------------------------------------------------------


def test_other_utilities_are_another_test() -> None:
    """Both groups are right as often, and a has true positives four times as often."""
    cells = {"a": (400, 0, 100, 500), "b": (100, 0, 400, 500)}
    limit = {"outside": [-0.05, 0.05], "significant": True}
    right, hits = (
        {"metric": "expected_utility", "compare": "difference", "reference": "a", "fail": limit,
         "utilities": dict(zip(("tp", "fp", "fn", "tn"), values, strict=True))}
        for values in ((0, 0, 0, 1), (1, 0, 0, 0))
    )  # fmt: skip
    first, second = of_cells(cells, right, hits)
    assert (first["significance"]["p"], second["status"]) == (1, "fail")
    assert second["significance"]["adjusted"] < 1e-50


def test_the_highest_group_named_beforehand_is_another_test() -> None:
    """Picked from the data it allows for all pairs; named it does not."""
    cells = {"a": (75, 12, 15, 58), "b": (60, 20, 20, 60), "c": (58, 22, 20, 60)}
    entry = {"metric": "f1", "compare": "difference", "fail": {"below": -0.01}}
    chosen, named = {**entry, "reference": "highest"}, {**entry, "reference": "a"}
    (alone,) = of_cells(cells, chosen)
    _, beside = of_cells(cells, named, chosen)
    assert beside["significance"]["p"] == alone["significance"]["p"]
    assert beside["significance"]["adjusted"] >= alone["significance"]["p"]


def means(rows: list[tuple[str, str, float]], *metrics: Any) -> Any:
    frame = pl.DataFrame(rows, ["g", "z", "s"], orient="row").with_columns(n=1)
    columns = {"protected": ["g"], "score": "s", "count": "n", "strata": ["z"]}
    return document({"columns": columns, "metrics": list(metrics)}, frame)["checks"]


@pytest.mark.parametrize("reference", ["a", "highest"])
def test_a_ratio_of_averaged_means_has_no_p_from_ends_below_zero(reference: str) -> None:
    numbers = (8.0, 10, 9, 11, 12, 8, 10, 9, 11, 12, 9, 10) * 2
    rows = [("ab"[at % 2], "xxyy"[at % 4], s) for at, s in enumerate(numbers)]
    entry = {"metric": "mean_score", "compare": "ratio", "reference": reference, "given": "z",
             "average": "pooled", "fail": {"below": 0.999}}  # fmt: skip
    (check,) = means(rows, entry)
    test = check["significance"]
    assert test is None or test["p"] > 0.2


def test_a_stratum_of_four_people_does_not_hide_a_gap_of_means() -> None:
    spread = (-0.2, -0.1, 0.0, 0.1, 0.2)
    rows = [(g, z, m + s) for g, m in (("a", 0.7), ("b", 0.4)) for z in "xy" for s in spread] * 4
    few = [(g, "w", s) for g in "ab" for s in (0.1, 0.9)]
    entry = gate("mean_score", compare="difference", reference="a", given="z", average="pooled",
                 fail={"outside": [-0.05, 0.05]})  # fmt: skip
    (sure,) = means(rows, entry)
    (open_,) = means(rows + few, entry)
    assert sure["status"] == "fail"
    assert open_["status"] in {"fail", "inconclusive"}


@pytest.mark.parametrize("compare", ["standardized_difference", "log_ratio", "cohens_h"])
def test_one_person_at_the_end_hides_no_gap_however_compared(compare: str) -> None:
    rates = {"a": (800, 1000), "b": (400, 1000), "t": (0, 1)}
    entry = gate("selection_rate", compare=compare, reference="lowest",
                 fail={"above": 0.1})  # fmt: skip
    (check,) = of_rates(rates, entry)
    assert check["status"] in {"fail", "inconclusive"}


def test_one_person_hides_no_change_of_means() -> None:
    """By the second score b lies 50 points behind a, by the first 20; t has none of either."""
    spread = (-0.1, 0.0, 0.1)
    rows = [
        (g, one + s, two + s, 100) for g, one, two in (("a", 0.7, 0.8), ("b", 0.5, 0.3))
        for s in spread
    ]  # fmt: skip
    entry = gate("mean_score", compare="gap", of="second", against="first",
                 fail={"outside": [-0.1, 0.1]})  # fmt: skip
    models = {
        name: {"prediction": {"column": column, "positive": {"at_least": 0.5}}, "score": column}
        for name, column in (("first", "s"), ("second", "t"))
    }
    columns = {"protected": ["g"], "models": models, "count": "n"}
    found = []
    for more in ([], [("t", 0.0, 0.0, 1)]):
        frame = pl.DataFrame([*rows, *more], ["g", "s", "t", "n"], orient="row")
        found += document({"columns": columns, "metrics": [entry]}, frame)["checks"]
    assert found[0]["status"] == "fail"
    assert found[1]["status"] in {"fail", "inconclusive"}


@pytest.mark.parametrize("method", PAIR_METHODS.values(), ids=PAIR_METHODS.keys())
@pytest.mark.parametrize("weighted", [False, True])
def test_a_test_that_runs_is_one_that_its_metric_announces(
    method: PairMethod, weighted: bool
) -> None:
    for t in TTest:
        for name in method.names(replace(DEFAULT_INFERENCE, t=t), weighted):
            assert name.split(",")[0] in method.in_general
            assert [*find_methods(name)]
