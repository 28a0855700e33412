"""What a limit makes of evidence: each way that value, interval and p-value can lie to it.

The rule is written down here once more, from the documents: a limit that is crossed with the
evidence it asks for decides; one that is in doubt warns where it would fail, and is told where it
would warn. Numbers are the oracle's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import evidence_oracle as oracle
import polars as pl
import pytest
from conftest import about, long, sampled
from evidence_specs import YES, Rate, document, of_cells, of_rates
from stats_oracle import gap_bounds, koopman, ratio_bounds
from test_evidence_intervals import PEOPLE, WITHOUT_DRAWS, ask_together, asked_of

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.metrics import Disparity, GroupMetric, Metric

ALPHA = 0.05
TABLES: dict[str, dict[str, Rate]] = {
    "wide and sure": {"a": (120, 400), "b": (480, 800)},
    "wide and thin": {"a": (6, 20), "b": (11, 20)},
    "small and sure": {"a": (4600, 10_000), "b": (5000, 10_000)},
    "small and thin": {"a": (46, 100), "b": (50, 100)},
    "turned and sure": {"a": (480, 800), "b": (120, 400)},
    "turned and thin": {"a": (11, 20), "b": (6, 20)},
    "wide, nearly sure": {"a": (15, 48), "b": (29, 55)},
    "equal": {"a": (500, 1000), "b": (500, 1000)},
}
SAME_TEST = ("statistical_parity_difference", "disparate_impact_ratio")


class Case(NamedTuple):
    """A check on two groups: its limit, and which evidence it asks for."""

    metric: str
    bounds: tuple[str | None, str | None]
    significant: bool
    conclusive: bool
    on: str


def cases() -> Iterator[Case]:
    limits: list[tuple[str, tuple[str | None, str | None]]] = [
        ("disparate_impact_ratio", ("0.8", None)),
        ("disparate_impact_ratio", ("0.55", "1.6")),
        ("disparate_impact_ratio", (None, "1.25")),
        ("statistical_parity_difference", ("-0.1", "0.1")),
        ("statistical_parity_difference", ("-0.2", None)),
        ("statistical_parity_difference", (None, "0.03")),
    ]
    for metric, bounds in limits:
        for significant in (False, True):
            for conclusive in (False, True):
                for on in ("fail", "warn"):
                    yield Case(metric, bounds, significant, conclusive, on)


def limit_of(case: Case) -> dict[str, Any]:
    low, high = case.bounds
    bound: dict[str, Any] = {"outside": [low, high]}
    if low is None or high is None:
        bound = {"above": high} if low is None else {"below": low}
    flags = {"significant": case.significant, "conclusive": case.conclusive}
    return {**bound, **{name: True for name, asked in flags.items() if asked}}


class Evidence(NamedTuple):
    """What the oracle says of a check."""

    value: Fraction
    low: float
    high: float
    p: float


def evidence(case: Case, rates: Mapping[str, Rate]) -> Evidence:
    (x, n), (y, m) = rates["a"], rates["b"]
    _, p = oracle.two_groups((x, n), (y, m))
    if case.metric == "disparate_impact_ratio":
        return Evidence(Fraction(x * m, n * y), *ratio_bounds(x, n, y, m, ALPHA), p)
    return Evidence(Fraction(x, n) - Fraction(y, m), *gap_bounds(x, n, y, m, ALPHA), p)


def expected(case: Case, found: Evidence, alpha: float = ALPHA) -> tuple[str, str, str]:
    """Status, backing, and in one word how the evidence lies."""
    low, high = (None if end is None else Fraction(end) for end in case.bounds)
    crossed = (low is not None and found.value < low) or (high is not None and found.value > high)
    beyond = (low is not None and found.high < low) or (high is not None and found.low > high)
    within = (low is None or found.low >= low) and (high is None or found.high <= high)
    lies = "beyond" if beyond else "within" if within else "across"
    sure, asks = found.p < alpha, case.significant or case.conclusive
    word = f"{'crossed' if crossed else 'kept'} {'sure' if sure else 'unsure'} {lies}"
    doubt = "warn" if case.on == "fail" else "pass"
    if crossed and case.significant and not sure:
        return doubt, "not_significant", word
    if crossed and case.conclusive and not beyond:
        return doubt, "not_conclusive", word
    if crossed:
        return case.on, "supported" if asks else "unasked", word
    if case.conclusive and not within:
        return doubt, "not_conclusive", word
    if case.significant and sure:
        return doubt, "significant_within", word
    return "pass", "supported" if asks else "unasked", word


def is_worse_unseen(case: Case, found: Evidence, alpha: float = ALPHA) -> bool:
    """Whether the group is worse off by as much as a limit that only looks at the other side."""
    low, high = case.bounds
    if low is not None or high is None:
        return False
    other = 1 / Fraction(high) if case.metric == "disparate_impact_ratio" else -Fraction(high)
    has_evidence = (found.p < alpha or not case.significant) and (
        found.high < other or not case.conclusive
    )
    return found.value < other and has_evidence


SAID = {
    "not_significant": "not enough evidence: these numbers are compatible",
    "not_conclusive": "the interval includes the limit",
    "significant_within": "within the limit, but significant",
}


@pytest.mark.long
@pytest.mark.parametrize("table", [*[*TABLES][:3], *map(long, [*TABLES][3:])])
def test_every_way_evidence_can_lie(table: str) -> None:
    rates = TABLES[table]
    for case in sampled([*cases()]):
        metric = {"metric": case.metric, "reference": "b", case.on: limit_of(case)}
        (one,) = of_rates(rates, metric)
        found = evidence(case, rates)
        status, backing, word = expected(case, found)
        if is_worse_unseen(case, found):
            status = "inconclusive"
        assert (one["status"], one["backing"]) == (status, backing), (case, word, one["sentence"])
        for kind, text in SAID.items():
            assert (text in one["sentence"]) == (kind == backing)
        crossed = word.startswith("crossed") and status not in {"pass", "inconclusive"}
        assert [each["backing"] for each in one["crossed"]] == [backing] * crossed
        no_evidence = backing in {"not_significant", "not_conclusive"}
        assert one["not_enough_evidence"] == (word.startswith("crossed") and no_evidence)
        assert ("but not enough evidence" in one["sentence"]) == one["not_enough_evidence"]


def test_no_way_is_left_out() -> None:
    seen = {
        (case.on, case.significant, case.conclusive, expected(case, evidence(case, rates))[2])
        for case in cases()
        for rates in TABLES.values()
    }
    ways = {way for *_, way in seen}
    assert ways == {
        "crossed sure beyond", "crossed sure across", "crossed unsure across",
        "kept sure within", "kept sure across", "kept unsure within", "kept unsure across",
    }  # fmt: skip
    assert len(seen) == 2 * 4 * len(ways)


def test_a_limit_that_fails_in_doubt_leaves_the_one_that_warns_to_decide() -> None:
    metric = {"metric": "disparate_impact_ratio", "reference": "b", "warn": {"below": 0.9}}
    asked = {**metric, "fail": {"below": 0.8, "significant": True}}
    (thin,) = of_rates(TABLES["wide and thin"], asked)
    assert (thin["status"], thin["backing"], thin["limit"]["below"]) == ("warn", "unasked", "0.9")
    (sure,) = of_rates(TABLES["wide and sure"], asked)
    assert (sure["status"], sure["backing"]) == ("fail", "supported")


def test_one_group_in_doubt_does_not_hide_another_that_is_sure() -> None:
    rates = {"r": (500, 1000), "sure": (330, 1000), "thin": (3, 10)}
    metric = {"metric": "disparate_impact_ratio", "reference": "r"}
    (one,) = of_rates(rates, {**metric, "fail": {"below": 0.8, "significant": True}})
    assert one["status"] == "fail"
    assert one["group"] == {"g": "sure"}, "the farthest of those that are proven"
    backings = {each["group"]["g"]: each["backing"] for each in one["crossed"]}
    assert backings == {"sure": "supported", "thin": "not_significant"}


# Evidence that is unavailable ----------------------------------------------------------------


def means(fail: dict[str, Any], on: str = "fail", **more: Any) -> dict[str, Any]:
    """A check on the mean scores of two groups, one of which is one person."""
    rows = pl.DataFrame({"g": list("aaaaac"), "s": [1.0, 2, 4, 2, 3, 5], "p": [0, 1] * 3})
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}, "score": "s"}
    metric = {"metric": "mean_score", "compare": "difference", "reference": "a", on: fail}
    (one,) = document({"columns": columns, "metrics": [{**metric, **more}]}, rows)["checks"]
    assert one["value"] == pytest.approx(2.6)
    assert one["low"] is None
    assert one["significance"] is None
    return dict(one)


@pytest.mark.parametrize("on", ["fail", "warn"])
@pytest.mark.parametrize("flag", ["significant", "conclusive"])
def test_what_lies_beyond_without_evidence_to_be_had_is_left_open(on: str, flag: str) -> None:
    one = means({"above": 1, flag: True}, on)
    assert (one["status"], one["backing"]) == ("inconclusive", "untested")
    assert "over the limit, but the required evidence is unavailable" in one["sentence"]


@pytest.mark.parametrize("on", ["fail", "warn"])
def test_what_lies_within_without_an_interval_is_no_pass(on: str) -> None:
    one = means({"above": 9, "conclusive": True}, on)
    assert (one["status"], one["backing"]) == ("inconclusive", "untested")
    assert "on both sides" not in one["sentence"]
    assert "within the limit, but the interval that a pass requires is unavailable" in one["why"]
    (open_,) = [who for who in one["not_evaluated"] if who["blocks"]]
    assert open_["group"] == {"g": "c"}


def test_what_needs_no_evidence_passes_without() -> None:
    assert means({"above": 9, "significant": True})["status"] == "pass"
    assert means({"above": 9})["status"] == "pass"
    assert means({"above": 1})["status"] == "fail"


def test_undefined_says_what_missing_evidence_does() -> None:
    assert means({"above": 1, "significant": True}, undefined="warn")["status"] == "inconclusive"
    assert means({"above": 9, "conclusive": True}, undefined="skip")["status"] == "inconclusive"


# Evidence that no data could give ------------------------------------------------------------

NO_TEST = {
    "situation_testing", "situation_testing_reversed",
    "well_calibration", "explained_difference", "differential_fairness_credible",
    "majority_baseline", "score_parity", "score_parity_gap",
    "between_group_generalized_entropy", "causal_discrimination",
}  # fmt: skip
"""Of what compares groups: what has neither a test nor an interval to make one of."""

NO_INTERVAL = {
    "group_size", "true_positives", "false_positives", "false_negatives", "true_negatives",
    "situation_testing", "situation_testing_reversed",
    "brier", "rmse", "r2", "well_calibration", "explained_difference",
    "kl_divergence", "differential_fairness_credible", "total_variation", "mutual_information",
    "normalized_mutual_information", "score_mutual_information",
    "normalized_score_mutual_information", "eta_neutrality", "predictability", "majority_baseline",
    "goodman_kruskal_lambda", "cramers_v", "score_parity", "score_parity_gap",
    "between_group_generalized_entropy", "trend", "hosmer_lemeshow", "slope",
    "numeric_correlation", "correlation", "correlation_negatives",
}  # fmt: skip


def limit_for(record: Metric) -> dict[str, Any]:
    """A limit that parity keeps and that can be crossed."""
    low, high = record.bounds
    ideal = None if isinstance(record, GroupMetric) else record.ideal
    if ideal == low or (ideal is None and low is not None):
        return {"above": 0.001 if high == 1 else 0.01}
    if ideal == high:
        return {"below": 0.999}
    return {"above": float(ideal or 0) + 0.001}


def has_none(record: Metric, flag: str) -> bool:
    """Whether no data give a measure the evidence that a limit asks for."""
    if flag == "conclusive":
        return record.id in NO_INTERVAL
    return record.id in NO_TEST or (isinstance(record, GroupMetric) and not record.test)


@pytest.mark.parametrize("flag", ["significant", "conclusive"])
def test_evidence_that_cannot_be_had_is_refused_with_the_reason(flag: str) -> None:
    records = {one.id: one for one in WITHOUT_DRAWS if has_none(one, flag)}
    for asked, names in ask_together({name: gated(one, flag) for name, one in records.items()}):
        with pytest.raises(SpecError) as refused:
            fairaudit.audit(asked, PEOPLE)
        for at, (name, fault) in enumerate(zip(names, refused.value.faults, strict=True)):
            with about(name):
                assert fault.path.startswith(f"metrics[{at}].fail")
                assert re.search(rf"`{flag}` cannot be evaluated: (?!none)", fault.message)


@pytest.mark.long
@pytest.mark.parametrize("flag", ["significant", "conclusive"])
def test_evidence_that_is_accepted_can_be_had(flag: str) -> None:
    """People with everything give evidence."""
    records = {one.id: one for one in sampled(WITHOUT_DRAWS) if not has_none(one, flag)}
    gates = {name: gated(one, flag) for name, one in records.items()}
    checks = [one for asked, _ in ask_together(gates) for one in document(asked, PEOPLE)["checks"]]
    assert {one["metric"] for one in checks} == {*records}
    for one in checks:
        with about(one["id"]):
            check_evidence(one, records[one["metric"]], flag)


def gated(record: Metric, flag: str) -> dict[str, Any]:
    """A spec whose limit asks for evidence."""
    asked = asked_of(record)
    (entry,) = asked["metrics"]
    entry["fail"] = {**limit_for(record), flag: True}
    return asked


def check_evidence(one: dict[str, Any], record: Metric, flag: str) -> None:
    assert one["backing"] != "unasked"
    if record.id == "atkinson":  # 1 as soon as somebody has no benefit, and without an interval
        assert one["status"] == "inconclusive"
        return
    assert one["backing"] != "untested", one["sentence"]
    assert (one["significance"] if flag == "significant" else one["method"]) is not None
    if isinstance(record, Disparity) and flag == "significant":
        assert 0 <= one["significance"]["p"] <= one["significance"]["adjusted"] <= 1


@pytest.mark.parametrize("policy", ["highest", "lowest"])
def test_a_reference_that_chance_picks_needs_a_test_that_allows_for_it(policy: str) -> None:
    metric = {"metric": "f1", "compare": "difference", "reference": policy}
    limits = {"warn": {"outside": [-0.1, 0.1], "significant": True}}
    cells = {"a": (30, 10, 10, 50), "b": (20, 25, 25, 30)}
    of_cells(cells, {**metric, **limits})  # a difference of F1 has an interval that allows for it
    metric = {**metric, "compare": "odds_ratio"}
    limits = {"warn": {"outside": [0.8, 1.2], "significant": True}}
    with pytest.raises(SpecError, match=rf"the {policy} group is chosen from the same data"):
        of_cells(cells, {**metric, **limits})
    (one,) = of_cells(
        cells,
        {**metric, "compare": "difference", "fail": {"outside": [-0.1, 0.1], "conclusive": True}},
    )
    assert one["backing"] != "untested"


@pytest.mark.parametrize(
    ("inference", "message"),
    [
        ({"confidence": 1}, "the confidence must be at least 0.5 and below 1"),
        ({"confidence": 95}, "the confidence must be at least 0.5 and below 1"),
        ({"confidence": 0.05}, "the confidence must be at least 0.5 and below 1"),
        ({"confidence": "much"}, "inference.confidence"),
        ({"correction": "bonferroni"}, "is not one of holm, benjamini_hochberg, none"),
        ({"ratio": "wald"}, "is not one of koopman, katz"),
        ({"z": "yates"}, "is not one of pooled, unpooled"),
        ({"t": "paired"}, "is not one of welch, student"),
        ({"confidnce": 0.9}, "did you mean 'confidence'"),
    ],
)
def test_faults_of_inference(inference: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        of_rates(TABLES["equal"], "selection_rate", inference=inference)


# What `inference` turns ----------------------------------------------------------------------

RATIO: dict[str, Any] = {"metric": "disparate_impact_ratio", "reference": "b"}


@pytest.mark.parametrize(("confidence", "status"), [("0.95", "warn"), ("0.8", "fail")])
def test_confidence_turns_both_gates(confidence: str, status: str) -> None:
    """The p-value is .055, and the upper end of the ratio is 1.02 or .90."""
    rates, inference = {"a": (18, 60), "b": (28, 60)}, {"confidence": confidence}
    _, p = oracle.two_groups(*rates.values())
    assert 0.05 < p < 0.2
    for flag in ("significant", "conclusive"):
        metric = {**RATIO, "fail": {"below": 0.95, flag: True}}
        (one,) = of_rates(rates, metric, inference=inference)
        assert one["status"] == status
        assert one["significance"]["p"] == pytest.approx(p, rel=1e-9)
        wide = koopman(18, 60, 28, 60, 1 - float(confidence))
        assert (one["low"], one["high"]) == pytest.approx(wide, rel=1e-7)


@pytest.mark.parametrize(
    ("correction", "status"), [("none", "fail"), ("benjamini_hochberg", "fail"), ("holm", "warn")]
)
def test_the_correction_turns_a_gate(correction: str, status: str) -> None:
    """Three groups at p .034, .036 and .046: none of them is enough for Holm."""
    rates = {"b": (500, 1000), "x": (36, 92), "y": (32, 84), "z": (28, 75)}
    p = [oracle.two_groups(rates[g], rates["b"])[1] for g in "xyz"]
    assert all(one < ALPHA for one in p)
    adjusted = {"none": p, "holm": oracle.holm(p)}.get(correction, oracle.benjamini_hochberg(p))
    metric = {**RATIO, "fail": {"below": 0.9, "significant": True}}
    (one,) = of_rates(rates, metric, inference={"correction": correction})
    assert one["status"] == status
    at = "xyz".index(one["group"]["g"])
    assert one["significance"]["adjusted"] == pytest.approx(adjusted[at], rel=1e-9)
    assert one["significance"]["family"] == 3


def test_the_ways_of_interval_and_test_are_those_of_the_spec() -> None:
    rates, metric = {"a": (18, 60), "b": (28, 60)}, {**RATIO, "fail": {"below": 0.8}}
    (usual,) = of_rates(rates, metric)
    (other,) = of_rates(rates, metric, inference={"ratio": "katz", "z": "unpooled"})
    assert (usual["method"], other["method"]) == ("Koopman, exact if counts are small", "Katz")
    z = (18 / 60 - 28 / 60) / oracle.unpooled_error((18, 60), (28, 60))
    assert other["significance"]["p"] == pytest.approx(oracle.two_sided(z), rel=1e-9)
    assert other["significance"]["p"] < usual["significance"]["p"]


def test_a_mean_of_absolute_differences_has_evidence_where_rates_are_lower() -> None:
    """True positives 80 % against 30 %, false positives 50 % against 15 %: all far in the tail."""
    rows = [
        {"g": g, "y": y, "p": p, "n": n}
        for g, hits in (("a", (160, 100)), ("b", (60, 30)))
        for y, hit in zip((1, 0), hits, strict=True)
        for p, n in ((1, hit), (0, 200 - hit))
    ]
    metric = {"metric": "average_abs_odds_difference", "reference": "a"}
    spec = {
        "columns": {"protected": ["g"], "label": "y", "prediction": "p", "count": "n"},
        "metrics": [{**metric, "fail": {"above": 0.1, "significant": True}}],
    }
    (one,) = document(spec, pl.DataFrame(rows))["checks"]
    assert (one["status"], one["value"]) == ("fail", pytest.approx((0.5 + 0.35) / 2))


def test_the_interval_at_a_check_holds_for_the_worst_of_its_groups() -> None:
    """Of twenty groups of 100 at about one half the worst is far off by chance."""
    hits = [50 + (at % 5) - 2 for at in range(19)] + [36]
    rates = {f"g{at:02}": (x, 100) for at, x in enumerate(hits)}
    metric = {"metric": "selection_rate", "compare": "difference", "reference": "rest"}
    limit = {"fail": {"outside": ["-0.02", "0.02"], "conclusive": True}}
    (check,) = of_rates(rates, {**metric, **limit})
    others = sum(hits) - 36
    alpha = 1 - 0.95 ** (1 / 20)
    assert check["group"] == {"g": "g19"}
    assert (check["low"], check["high"]) == pytest.approx(
        gap_bounds(36, 100, others, 1900, alpha), rel=1e-6
    )
    assert gap_bounds(36, 100, others, 1900, 0.05)[1] < -0.02, "by itself it is conclusive"
    assert check["status"] == "warn"
    assert check["method"] == "Newcombe, exact if counts are small, Šidák over 20"


@pytest.mark.parametrize("pseudo", ["smoothing", "concentration"])
def test_an_interval_of_a_smoothed_value_decides_no_gate(pseudo: str) -> None:
    """Two groups of 5 % have a smoothed ε of 1.7 and an interval from 1.5; the test says p = 1."""
    entry = {"metric": "differential_fairness", pseudo: 11}
    rates = {"a": (50, 1000), "b": (1, 20)}
    with pytest.raises(SpecError, match="`conclusive` cannot be evaluated: with pseudo-counts, "):
        of_rates(rates, {**entry, "fail": {"above": 0.5, "conclusive": True}})
    (check,) = of_rates(rates, {**entry, "fail": {"above": 0.5, "significant": True}})
    assert check["value"] > 0.5
    assert check["significance"]["p"] > 0.5
    assert check["status"] != "fail"


@pytest.mark.parametrize("compare", ["gap", "min_ratio", "difference"])
def test_equal_scores_of_a_few_people_are_no_conclusive_evidence(compare: str) -> None:
    """Two people of each group with the same score do not show that the groups have none else."""
    data = pl.DataFrame({"sex": ["m", "m", "f", "f"], "s": [0.5] * 4})
    limit = {"below": 0.8} if compare == "min_ratio" else {"above": 0.1}
    metric = {"metric": "mean_score", "compare": compare, "fail": {**limit, "conclusive": True}}
    columns = {"protected": {"sex": {"reference": "m"}}, "score": "s"}
    result = fairaudit.audit({"columns": columns, "metrics": [metric]}, data)
    assert result.verdict.value == "inconclusive"
    assert result.findings[0].estimate is not None
    assert result.findings[0].estimate.low is None
