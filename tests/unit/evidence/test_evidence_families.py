"""How many tests share a family: those behind the gates of one outcome, each of them once.

The tests of a family are counted by hand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import evidence_oracle as oracle
import numpy as np
import polars as pl
import pytest
from conftest import sampled
from evidence_specs import YES, confused, document, of_cells, of_rates, people
from evidence_specs import spec as asking
from test_evidence_tests import GAP, MANY, behind, in_strata

from fairaudit import evidence


def sizes(checks: Sequence[dict[str, Any]]) -> list[int]:
    """How many tests stand in the family of each check; the sentence says the same."""
    for check in checks:
        size, sentence = check["significance"]["family"], check["sentence"]
        assert (f"corrected for {size} tests, method of Holm" in sentence) == (size > 1), sentence
    return [check["significance"]["family"] for check in checks]


def gate(name: str, on: str = "fail", **more: Any) -> dict[str, Any]:
    """A gate on a gap or a difference."""
    return {"metric": name, on: {"above": 0.9}, **more}


TO_A: dict[str, Any] = {"reference": "a"}
FAMILIES: list[tuple[list[dict[str, Any]], list[int]]] = [
    # One test of whether selection depends on the group, told four ways.
    ([gate("demographic_parity_difference"), gate("differential_fairness", fail={"above": 9}),
      gate("demographic_parity_ratio", fail={"below": 0.01}),
      gate("selection_rate", compare="gap")], [1, 1, 1, 1]),
    # Three groups to the fourth, as a difference and as a ratio.
    ([gate("statistical_parity_difference", **TO_A),
      gate("disparate_impact_ratio", fail={"below": 0.01}, **TO_A),
      gate("mean_difference", **TO_A)], [3, 3, 3]),
    # The rate of misses is that of hits, so TPR and FNR are one; FPR is another.
    ([gate("true_positive_rate", compare="gap"), gate("false_negative_rate", compare="gap"),
      gate("predictive_equality")], [2, 2, 2]),
    # Four groups to overall are the same four tests as to the rest.
    ([gate("statistical_parity_difference", reference="overall"),
      gate("statistical_parity_difference", reference="rest")], [4, 4]),
    # To the highest: three groups whose tests allow for each other are one; the gap is one more.
    ([gate("impact_ratio", fail={"below": 0.01}), gate("demographic_parity_difference")], [2, 2]),
    # A composite is one test, beside those of its parts.
    ([gate("equalized_odds_difference"), gate("equalized_odds_ratio", fail={"below": 0.01}),
      gate("equal_opportunity_difference")], [2, 2, 2]),
    # What only warns is a family of its own.
    ([gate("demographic_parity_difference"), gate("predictive_equality", on="warn"),
      gate("equal_opportunity_difference", on="warn")], [1, 2, 2]),
    # Tests of another outcome are in the same family.
    ([gate("demographic_parity_difference"), gate("base_rate", compare="gap"),
      gate("predictive_equality")], [3, 3, 3]),
    # A rate without a comparison is no test.
    ([gate("demographic_parity_difference"), gate("selection_rate", fail={"below": 0.01})], [1]),
    # Ends over pairs are not those of each pair: F1 has two tests as a gap and a least ratio.
    ([gate("f1", compare="gap"), gate("f1", compare="min_ratio", fail={"below": 0.01})], [2, 2]),
    # Nor is the interval of a ratio that of a difference.
    ([gate("f1", compare="difference", **TO_A),
      gate("f1", compare="ratio", fail={"below": 0.01}, **TO_A)], [6, 6]),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("metrics", "expected"), FAMILIES)
def test_tests_of_a_family_are_counted_once(
    metrics: list[dict[str, Any]], expected: list[int]
) -> None:
    found = [one for one in of_cells(MANY, *metrics) if one["significance"] is not None]
    assert sizes(found) == expected
    for check in found:
        test = check["significance"]
        assert test["p"] * (1 - 1e-9) <= test["adjusted"]
        assert test["adjusted"] <= min(1, test["p"] * test["family"]) * (1 + 1e-9)


def test_strata_groupings_and_outcomes_make_other_tests() -> None:
    by_z = {"metric": "demographic_parity_difference", "given": "z", "fail": {"above": 0.9}}
    assert sizes(in_strata(by_z)) == [3], "one a stratum"
    assert sizes(in_strata(by_z, GAP)) == [4, 4]
    rows = confused(MANY).with_columns(h=pl.col("g").replace({"a": "x", "b": "x"}))
    asked = asking(GAP, columns={"protected": ["g", "h"]})
    assert sizes(document(asked, rows)["checks"]) == [2, 2]
    full = asking({**GAP, "by": ["g", "h", ["g", "h"]]}, columns={"protected": ["g", "h"]})
    assert sizes(document(full, rows)["checks"]) == [3, 3, 3]
    two = {name: {"prediction": {"column": name, **YES}} for name in ("p", "y")}
    columns = {"protected": ["g"], "models": two, "count": "n"}
    metrics = [{**GAP, "of": name} for name in two]
    asked = {"columns": columns, "metrics": metrics}
    assert sizes(document(asked, rows)["checks"]) == [2, 2]
    for family in ("outcome", "check"):
        alone = {**asked, "inference": {"family": family}}
        assert sizes(document(alone, rows)["checks"]) == [1, 1]


def test_a_family_is_of_the_spec_of_an_outcome_or_of_a_check() -> None:
    gates = [
        gate("demographic_parity_difference"),
        gate("predictive_equality"),
        gate("base_rate", compare="gap"),
        gate("statistical_parity_difference", reference="a"),
    ]
    expected = {"spec": [6, 6, 6, 6], "outcome": [5, 5, 1, 5], "check": [1, 1, 1, 3]}
    for family, found in expected.items():
        assert sizes(of_cells(MANY, *gates, inference={"family": family})) == found


@pytest.mark.parametrize("reference", [{"reference": "rest"}, {"reference": "overall"}, TO_A, {}])
def test_two_groups_are_one_hypothesis(reference: dict[str, str]) -> None:
    """62 of 200 against 82 of 200: z = 2.0833, p = .0372, whatever each is compared with."""
    rates = {"b": (62, 200), "a": (82, 200)}
    limit = {"fail": {"below": 0.8, "significant": True}}
    name = "disparate_impact_ratio" if reference else "demographic_parity_ratio"
    found = of_rates(
        rates, {"metric": name, **limit, **reference}, gate("selection_rate", compare="gap")
    )
    assert [check["significance"]["family"] for check in found] == [1, 1]
    assert [check["significance"]["adjusted"] for check in found] == pytest.approx(
        [0.0372] * 2, abs=5e-5
    )
    # Everybody includes the group, which is within the limit at .86 of their rate.
    assert found[0]["status"] == ("warn" if reference == {"reference": "overall"} else "fail")


def test_averages_of_numbers_by_other_weights_are_other_tests() -> None:
    """They have no test within strata: each is tested by its own interval."""
    draw = np.random.default_rng(4)
    rows = pl.DataFrame({
        "g": ["a", "b"] * 60, "z": ["x", "y", "y"] * 40, "p": [0, 1, 1, 0] * 30,
        "s": draw.normal(0, 1, 120).round(2).tolist(),
    }).with_columns(s=pl.col("s") + 0.6 * (pl.col("g") == "b") * (pl.col("z") == "x"))  # fmt: skip
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}, "score": "s",
               "strata": ["z"]}  # fmt: skip
    entry = {"metric": "mean_score", "compare": "difference", "reference": "a", "given": "z",
             "fail": {"above": 9}}  # fmt: skip
    metrics = [{**entry, "average": how} for how in ("pooled", "uniform", {"x": "0.9", "y": "0.1"})]
    found = document({"columns": columns, "metrics": metrics}, rows)["checks"]
    p = [behind(check)[1] for check in found]
    assert len({round(one, 9) for one in p}) == 3
    assert sizes(found) == [3, 3, 3]
    adjusted = [check["significance"]["adjusted"] for check in found]
    assert adjusted == pytest.approx(oracle.holm(p))


@pytest.mark.parametrize("correction", ["holm", "benjamini_hochberg", "none"])
def test_the_correction_is_over_the_distinct_tests(correction: str) -> None:
    """The same p-values as many times as there are checks would be corrected too much."""
    rates = {"r": (200, 400), "x": (90, 200), "y": (60, 150), "z": (30, 100), "w": (70, 140)}
    p = {g: oracle.two_groups(rates[g], rates["r"])[1] for g in "xyzw"}
    values = list(p.values())
    adjust: dict[str, Any] = {
        "holm": oracle.holm,
        "benjamini_hochberg": oracle.benjamini_hochberg,
        "none": list,
    }
    expected = dict(zip(p, adjust[correction](values), strict=True))
    metrics = [{"metric": name, "reference": "r", "fail": limit} for name, limit in (
        ("disparate_impact_ratio", {"below": 0.8}),
        ("statistical_parity_difference", {"below": -0.05}))]  # fmt: skip
    inference = {"correction": correction}
    found = document(asking(*metrics, inference=inference), people(rates))
    for row in (*found["comparisons"], *found["checks"]):
        assert row["significance"]["p"] == pytest.approx(p[row["group"]["g"]], rel=1e-9)
        adjusted = row["significance"]["adjusted"]
        assert adjusted == pytest.approx(expected[row["group"]["g"]], rel=1e-9)
        assert row["significance"]["family"] == 4
    said = {
        "holm": "corrected for 4 tests, method of Holm",
        "none": "uncorrected, one of 4 tests)",
        "benjamini_hochberg": "corrected for 4 tests, method of Benjamini–Hochberg",
    }
    for check in found["checks"]:
        assert said[correction] in check["sentence"]


def scored(rows: Sequence[tuple[str, float, float, int]]) -> pl.DataFrame:
    """People by group and two scores."""
    return pl.DataFrame(rows, ["g", "s", "t", "n"], orient="row")


@pytest.mark.parametrize("thresholds", [[0.3, 0.7], [0.7, 0.3]])
def test_each_threshold_of_a_score_has_a_test_of_its_own(thresholds: list[float]) -> None:
    """At 0.3 all of a pass and three in four of b; at 0.7 half of both."""
    rows = [("a", 0.9, 0, 200), ("a", 0.5, 0, 200), ("b", 0.9, 0, 200), ("b", 0.5, 0, 100),
            ("b", 0.1, 0, 100)]  # fmt: skip
    limit = {"above": 0.1, "significant": True}
    asked = {
        "columns": {"protected": ["g"], "score": "s", "count": "n"},
        "metrics": [
            {"metric": "demographic_parity_difference", "at": thresholds, "fail": limit}
        ],
    }  # fmt: skip
    checks = document(asked, scored(rows))["checks"]
    found = {one["id"].split("/")[0][-3:]: one for one in checks}
    assert (found["0.3"]["status"], found["0.7"]["status"]) == ("fail", "pass")
    assert sizes(checks) == [2, 2]
    at_low, at_high = (found[at]["significance"] for at in ("0.3", "0.7"))
    assert at_low["p"] < 1e-20
    assert at_low["adjusted"] == pytest.approx(2 * at_low["p"])
    assert at_high["adjusted"] == at_high["p"] == 1


def test_two_scores_at_a_threshold_are_not_tested_by_the_decisions_beside_them() -> None:
    """Both decide alike, and at 0.5 the second score lets half as many of b pass."""
    rows = [("a", 0.9, 0.9, 100), ("a", 0.1, 0.1, 100), ("b", 0.9, 0.9, 40), ("b", 0.9, 0.2, 60),
            ("b", 0.1, 0.1, 100)]  # fmt: skip
    models = {
        name: {"prediction": {"column": "s", "positive": {"at_least": 0.5}}, "score": score}
        for name, score in (("first", "s"), ("second", "t"))
    }
    asked = {
        "columns": {"protected": ["g"], "models": models, "count": "n"},
        "metrics": [
            {"metric": "selection_rate", "of": "second", "against": "first", "at": [0.5],
             "fail": {"below": -0.1, "significant": True, "conclusive": True}},
        ],
    }  # fmt: skip
    (check,) = document(asked, scored(rows))["checks"]
    assert (check["status"], check["value"]) == ("fail", pytest.approx(-0.3))
    assert check["significance"]["p"] < 1e-4
    assert check["high"] < -0.1


def test_what_is_undefined_told_one_way_keeps_its_test_told_another() -> None:
    """Residuals of opposite sign: between them there is a difference, and no ratio of odds."""
    rows = [("a", 0.9, 1, 50), ("a", 0.1, 1, 50), ("b", 0.9, 0, 50), ("b", 0.8, 0, 50)]
    to_rest = {"metric": "mean_residual", "reference": "rest", "undefined": "skip"}
    asked = {
        "columns": {
            "protected": ["g"],
            "label": {"column": "t", "positive": 1, "negative": 0},
            "score": "s",
            "count": "n",
        },
        "metrics": [
            {**to_rest, "compare": how, "fail": {"above": 2, "significant": True}}
            for how in ("difference", "odds_ratio")
        ],
    }
    first, _ = document(asked, scored(rows))["checks"]
    assert first["status"] == "warn"
    assert first["significance"]["adjusted"] == first["significance"]["p"] < 0.05


def models_of(rows: dict[tuple[Any, ...], int], names: Sequence[str]) -> pl.DataFrame:
    """People by group and the decision of each model."""
    return pl.DataFrame([(*key, n) for key, n in rows.items()], ["g", *names, "n"], orient="row")


def compare_with(names: Sequence[str], *metrics: Any, **more: Any) -> dict[str, Any]:
    """A spec on the decisions of several models."""
    models = {name: {"prediction": {"column": name, **YES}} for name in names}
    columns = {"protected": ["g"], "models": models, "count": "n", **more}
    return {"columns": columns, "metrics": list(metrics), "simpson": False}


CHANGING = models_of(
    {("m", 1, 1, 1): 60, ("m", 0, 0, 0): 40, ("f", 1, 0, 0): 45, ("f", 0, 0, 0): 40,
     ("f", 1, 1, 1): 15}, ["cur", "cand", "old"],
)  # fmt: skip
"""The candidate selects 45 women fewer than the current model, and those of the old one."""


@pytest.mark.parametrize("order", [1, -1])
def test_changes_from_two_models_are_two_tests(order: int) -> None:
    limit = {"fail": {"above": 0.1, "significant": True}}
    metrics = [{**limit, "metric": "demographic_parity_difference", "of": "cand", "against": other,
                "id": other} for other in ("cur", "old")][::order]  # fmt: skip
    asked = compare_with(["cand", "cur", "old"], *metrics)
    checks = document(asked, CHANGING)["checks"]
    found = {check["id"].split("/")[0]: check for check in checks}
    assert sizes(checks) == [2, 2]
    assert {name: check["status"] for name, check in found.items()} == {
        "cur": "fail",
        "old": "pass",
    }
    # z of 45 in 100 fewer against no change: 0.45 over the root of 45 / 100².
    p = oracle.two_sided(45 / 45**0.5)
    assert found["cur"]["significance"]["p"] == pytest.approx(p, rel=1e-6)
    assert found["old"]["significance"]["p"] == 1


def scores_of_models() -> pl.DataFrame:
    """Two models with like scores: they rank men well, and women by chance."""
    draw = np.random.default_rng(2)
    label, man = np.arange(400) % 2, np.arange(400) < 200
    score = np.clip(0.5 + 0.3 * (label - 0.5) * man + draw.normal(0, 0.1, 400), 0.01, 0.99)
    return pl.DataFrame({
        "g": np.where(man, "m", "f"), "y": label, "cand": score.round(2),
        "cur": np.clip(score + draw.normal(0, 0.02, 400), 0.01, 0.99).round(2),
    })  # fmt: skip


BY_INTERVAL = [
    "auc", "f1", "balanced_accuracy", "average_precision", "calibration_slope", "selection_rate",
    "true_positive_rate", "accuracy",
]  # fmt: skip


@pytest.fixture
def keys_of_tests(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No two tests have one key: one with another p-value would be counted apart, unseen."""
    agree = evidence._agree
    found: list[bool] = []

    def watched(first: Any, second: Any) -> bool:
        found.append(agree(first, second))
        return found[-1]

    monkeypatch.setattr(evidence, "_agree", watched)
    yield
    assert found
    assert all(found)


@pytest.mark.long
@pytest.mark.usefixtures("keys_of_tests")
def test_the_p_of_a_check_does_not_depend_on_other_checks() -> None:
    """Each check alone, and all together: a level, its change, other comparisons, references."""
    models = {
        name: {"prediction": {"column": name, "positive": {"at_least": 0.5}}, "score": name}
        for name in ("cand", "cur")
    }
    columns = {"protected": {"g": {"reference": "m"}}, "label": {"column": "y", **YES},
               "models": models}  # fmt: skip
    ways: list[dict[str, Any]] = [
        {"compare": "gap"}, {"compare": "gap", "against": "cur"},
        {"compare": "min_ratio", "fail": {"below": 0.6}}, {"compare": "difference"},
        {"compare": "min_ratio", "against": "cur", "fail": {"below": -0.3}},
        {"compare": "difference", "reference": "overall"},
    ]  # fmt: skip
    metrics = [{"metric": name, "of": "cand", **way} for name in BY_INTERVAL[::2] for way in ways]
    metrics += [
        {"metric": "average_odds_difference", "of": "cand", "reference": reference}
        for reference in ("overall", {"g": "m"}, "rest")
    ]
    metrics = [
        {"fail": {"above": 0.4}, **entry, "id": f"k{number}"}
        for number, entry in enumerate(metrics)
    ]
    rows = scores_of_models()

    def test_of(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
        asked = {"columns": columns, "metrics": list(entries), "simpson": False}
        found = document(asked, rows)["checks"]
        return {check["id"]: check["significance"] for check in found if check["significance"]}

    alone = {
        name: test["p"] for entry in sampled(metrics, 8) for name, test in test_of([entry]).items()
    }
    for entries in (metrics, metrics[::-1]):
        together = test_of(entries)
        assert len(together) > 20
        assert {name: together[name]["p"] for name in alone} == pytest.approx(alone)
        for name, test in together.items():
            assert test["p"] * (1 - 1e-6) <= test["adjusted"], name
            assert test["adjusted"] <= min(1, test["p"] * test["family"]) * (1 + 1e-6), name


@pytest.mark.parametrize("left", [0, 1, 2])
@pytest.mark.parametrize("turned", [False, True])
def test_to_select_nobody_is_as_much_evidence_as_to_select_one(left: int, turned: bool) -> None:
    """50 of 100 women become none, one or two; 60 of 100 men stay. The z of logarithms, by hand."""
    rows = models_of(
        {("m", 1, 1): 60, ("m", 0, 0): 40, ("f", 1, 0): 50 - left, ("f", 1, 1): left,
         ("f", 0, 0): 50}, ["cand", "cur"] if turned else ["cur", "cand"],
    )  # fmt: skip
    entry = {"metric": "demographic_parity_ratio", "of": "cand", "against": "cur",
             "fail": {"below": -0.1, "significant": True}}  # fmt: skip
    (check,) = document(compare_with(["cand", "cur"], entry), rows)["checks"]
    kept = max(left, 1)
    z = math.log(50 / kept) / math.sqrt((50 - kept) / (50 * kept))
    assert check["significance"]["p"] == pytest.approx(oracle.two_sided(z), rel=1e-6)
    assert turned or check["status"] == "fail"


def test_nobody_selected_is_no_evidence_that_others_lose_more() -> None:
    """One of two women loses all, 49 of 50 men do: a smaller share is not known to be larger."""
    rows = models_of(
        {("m", 1, 1): 1, ("m", 1, 0): 49, ("m", 0, 0): 50, ("f", 1, 0): 2, ("f", 0, 0): 98},
        ["cur", "cand"],
    )
    entry = {"metric": "demographic_parity_ratio", "of": "cand", "against": "cur",
             "fail": {"below": -0.01, "significant": True}}  # fmt: skip
    (check,) = document(compare_with(["cand", "cur"], entry), rows)["checks"]
    assert check["significance"]["p"] == 1


@pytest.mark.parametrize(("cells", "name"), [
    # Of the labels only 6 on a side: Fisher's .93 of 100. Of the others z.
    ({"m": (1, 75, 5, 25), "f": (2, 55, 4, 45)}, "z"),
    ({"m": (75, 0, 25, 6), "f": (75, 6, 25, 0)}, "Fisher, mid-p"),
])  # fmt: skip
def test_the_test_of_two_rates_is_named_by_the_decisive_one(
    cells: dict[str, tuple[int, int, int, int]], name: str
) -> None:
    gates = [gate("equalized_odds_difference"), gate("equal_opportunity_difference"),
             gate("predictive_equality")]  # fmt: skip
    both, *each = (check["significance"] for check in of_cells(cells, *gates))
    decisive = min(each, key=lambda test: test["p"])
    assert decisive["test"] == name
    assert both["test"] == f"{name}, Šidák over 2 tests"
    assert both["p"] == pytest.approx(oracle.sidak(*(test["p"] for test in each)))


@pytest.mark.parametrize(("metric", "limit"), [
    ("demographic_parity_difference", {"above": 0.1}),
    ("demographic_parity_ratio", {"below": -0.15}),
])  # fmt: skip
def test_changes_of_other_groups_are_no_evidence_for_the_pair_beyond(
    metric: str, limit: dict[str, float]
) -> None:
    """The gap of m and f changes by .06; the four people of x make one of .2."""
    rows = {("m", 1, 1): 6000, ("m", 0, 0): 4000, ("f", 1, 1): 5400, ("f", 1, 0): 600,
            ("f", 0, 0): 4000, ("x", 1, 1): 1, ("x", 1, 0): 2, ("x", 0, 0): 1}  # fmt: skip
    entry = {"metric": metric, "of": "cand", "against": "cur"}
    limit = {**limit, "significant": True}
    asked = compare_with(["cand", "cur"], {**entry, "fail": limit})
    (check,) = document(asked, models_of(rows, ["cur", "cand"]))["checks"]
    assert (check["status"], check["backing"]) == ("warn", "not_significant")
    rows["f", 1, 1], rows["f", 1, 0] = 3000, 3000
    (check,) = document(asked, models_of(rows, ["cur", "cand"]))["checks"]
    assert check["status"] == "fail"
