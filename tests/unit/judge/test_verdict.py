"""Where numbers become words: exact limits, undefined, small groups, the exit code."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit import AuditResult
from fairaudit.base.errors import SpecError
from fairaudit.judge import Finding, Limit, Status
from fairaudit.result import Verdict

Audit = Callable[..., AuditResult]
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["group"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
        "count": "n",
    }
}


def table(**groups: tuple[int, int]) -> str:
    """CSV text: for each group how many of how many are selected."""
    lines = ["group,y,n"]
    for group, (over, under) in groups.items():
        lines += [f"{group},1,{over}", f"{group},0,{under - over}"]
    return "\n".join(lines) + "\n"


def only(result: AuditResult) -> Finding:
    """The one finding."""
    (finding,) = result.findings
    return finding


@pytest.mark.parametrize(("selected", "status"), [(48, Status.PASS), (47, Status.FAIL)])
def test_four_fifths_is_decided_exactly(audit_csv: Audit, selected: int, status: Status) -> None:
    """48/100 against 60/100 is 0.8 and not below it, whatever floats say."""
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    result = audit_csv(table(a=(selected, 100), b=(60, 100)), {**SPEC, "metrics": [metric]})
    assert only(result).status is status
    assert result.exit_code == (status is Status.FAIL)


def test_every_ratio_at_the_limit_is_decided_as_fractions_decide(audit_csv: Audit) -> None:
    """All pairs k/100 against m/60 whose ratio is exactly 0.8 or one selection from it."""
    metric = {"metric": "impact_ratio", "fail": {"below": 0.8}}
    for over in range(5, 61, 5):
        low = Fraction(4, 5) * Fraction(over, 60)
        if (low * 75).denominator != 1:
            continue
        for less in (0, 1):
            text = table(a=(int(low * 75) - less, 75), b=(over, 60))
            result = audit_csv(text, {**SPEC, "metrics": [metric]})
            assert (only(result).status is Status.FAIL) == bool(less), (over, less)


@pytest.mark.parametrize(
    ("limit", "value", "crossed"),
    [
        (Limit(below=Decimal(1)), 0.5, True),
        (Limit(above=Decimal(1)), 1.0, False),
        (Limit(above=Decimal(1)), float("inf"), True),
    ],
)
def test_limits_are_strict_and_know_infinity(limit: Limit, value: float, crossed: bool) -> None:
    assert limit.is_crossed(value, None) is crossed


def test_the_smallest_ratio_is_held_against_below(audit_csv: Audit) -> None:
    metric = {"metric": "disparate_impact_ratio", "reference": "r", "fail": {"below": 0.8}}
    text = table(a=(39, 100), b=(70, 100), r=(50, 100))
    finding = only(audit_csv(text, {**SPEC, "metrics": [metric]}))
    assert finding.status is Status.FAIL
    assert finding.first == (("group", "a"),)
    assert finding.second == (("group", "r"),)
    assert finding.worse_off == (("group", "a"),)
    assert [dict(one.group) for one in finding.crossed] == [{"group": "a"}]


def test_outside_looks_at_both_sides(audit_csv: Audit) -> None:
    metric = {
        "metric": "statistical_parity_difference",
        "reference": "r",
        "fail": {"outside": [-0.1, 0.1]},
    }
    text = table(a=(39, 100), b=(70, 100), r=(50, 100))
    finding = only(audit_csv(text, {**SPEC, "metrics": [metric]}))
    assert {group[0][1] for one in finding.crossed if (group := one.group)} == {"a", "b"}
    assert finding.first == (("group", "b"),), "the farthest decides"


def test_a_floor_for_every_group(audit_csv: Audit) -> None:
    metric = {"metric": "selection_rate", "warn": {"below": 0.5}, "fail": {"below": 0.3}}
    text = table(a=(40, 100), b=(70, 100))
    finding = only(audit_csv(text, {**SPEC, "metrics": [metric]}))
    assert finding.status is Status.WARN
    assert finding.estimate is not None
    assert (finding.estimate.numerator, finding.estimate.denominator) == (40, 100)


@pytest.mark.parametrize(
    ("policy", "status", "code"),
    [("fail", Status.INCONCLUSIVE, 3), ("warn", Status.WARN, 3), ("skip", Status.SKIPPED, 3)],
)
def test_undefined_is_an_answer(audit_csv: Audit, policy: str, status: Status, code: int) -> None:
    metric = {"metric": "demographic_parity_ratio", "undefined": policy, "fail": {"below": 0.8}}
    result = audit_csv(table(a=(0, 10), b=(0, 10)), {**SPEC, "metrics": [metric]})
    assert only(result).status is status
    assert result.exit_code == code
    assert only(result).not_evaluated[0].reason


def test_nothing_that_could_not_be_judged_is_a_pass(audit_csv: Audit) -> None:
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}
    result = audit_csv(table(a=(5, 10)), {**SPEC, "metrics": [metric]})
    assert (result.verdict, result.exit_code) == (Verdict.INCONCLUSIVE, 3)
    assert "only one group takes part" in only(result).why


def test_a_failure_outranks_what_cannot_be_judged(audit_csv: Audit) -> None:
    metrics = [
        {"metric": "selection_rate", "fail": {"below": 0.9}},
        {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}},
    ]
    result = audit_csv(table(a=(0, 10), b=(0, 10)), {**SPEC, "metrics": metrics})
    assert [one.status for one in result.findings] == [Status.FAIL, Status.INCONCLUSIVE]
    assert (result.verdict, result.exit_code) == (Verdict.FAIL, 1)


def test_small_groups_are_named_and_never_decide(audit_csv: Audit) -> None:
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    text = table(a=(50, 100), b=(50, 100), tiny=(0, 9))
    loose = audit_csv(text, {**SPEC, "metrics": [metric]})
    strict = audit_csv(text, {**SPEC, "metrics": [metric], "groups": {"min_size": 10}})
    assert (only(loose).status, only(strict).status) == (Status.FAIL, Status.PASS)
    (left_out,) = only(strict).not_evaluated
    assert dict(left_out.group) == {"group": "tiny"}
    assert "fewer than 10 people" in left_out.reason


def test_min_size_looks_at_the_rates_own_denominator(audit_csv: Audit) -> None:
    text = "group,label,y,n\n" + "".join(
        f"{group},{label},{y},{n}\n"
        for group, cells in {
            "a": (40, 40, 10, 10),
            "b": (20, 20, 30, 30),
            "c": (3, 3, 90, 4),
        }.items()
        for (label, y), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), cells, strict=True)
    )
    spec = {
        "columns": {**SPEC["columns"], "label": {"column": "label", "positive": 1}},
        "groups": {"min_size": 30},
        "metrics": [
            {"metric": "equal_opportunity_difference", "fail": {"above": 0.5}},
            {"metric": "predictive_equality", "fail": {"above": 0.3}},
        ],
    }
    tpr, fpr = audit_csv(text, spec).findings
    assert [dict(one.group)["group"] for one in tpr.not_evaluated] == ["c"]
    assert [dict(one.group)["group"] for one in fpr.not_evaluated] == ["a"]
    assert fpr.status is Status.FAIL


def test_a_group_without_anybody_to_judge_makes_the_check_inconclusive(audit_csv: Audit) -> None:
    text = "group,label,y,n\na,1,1,10\na,0,0,10\nb,1,0,10\nb,0,1,10\nc,0,1,10\n"
    spec = {
        "columns": {**SPEC["columns"], "label": {"column": "label", "positive": 1}},
        "metrics": [{"metric": "equal_opportunity_difference", "fail": {"above": 0.5}}],
    }
    finding = only(audit_csv(text, spec))
    assert finding.status is Status.INCONCLUSIVE
    assert "true_positive_rate: no people to count in group=c" in finding.why


def test_while_one_value_is_unknown_so_is_which_is_the_highest(audit_csv: Audit) -> None:
    text = "group,label,y,n\na,1,1,10\na,0,0,10\nb,1,0,10\nb,0,1,10\nc,0,1,10\n"
    metric = {"metric": "true_positive_rate", "compare": "ratio", "reference": "highest"}
    spec = {
        "columns": {**SPEC["columns"], "label": {"column": "label", "positive": 1}},
        "metrics": [{**metric, "fail": {"below": 0.8}}],
    }
    finding = only(audit_csv(text, spec))
    assert finding.status is Status.INCONCLUSIVE
    unknown = "the highest is unknown (no people to count in group=c)"
    assert finding.why.startswith(f"true_positive_rate: {unknown}; ")


def test_given_judges_every_stratum_and_names_it(audit_csv: Audit) -> None:
    rows = ["group,site,y,n"]
    rows += ["a,x,1,50", "a,x,0,50", "b,x,1,50", "b,x,0,50"]
    rows += ["a,y,1,10", "a,y,0,90", "b,y,1,50", "b,y,0,50", "a,z,1,5", "a,z,0,5"]
    spec = {
        "columns": {**SPEC["columns"], "strata": ["site"]},
        "metrics": [
            {"metric": "demographic_parity_ratio", "given": "site", "fail": {"below": 0.8}}
        ],
    }
    finding = only(audit_csv("\n".join(rows) + "\n", spec))
    assert finding.status is Status.FAIL
    assert finding.stratum == (("site", "y"),)
    (not_estimable,) = finding.not_evaluated
    assert dict(not_estimable.stratum) == {"site": "z"}
    assert not not_estimable.blocks


def test_an_infinite_value_crosses_and_says_so(audit_csv: Audit) -> None:
    metric = {"metric": "differential_fairness", "fail": {"above": 5}}
    finding = only(audit_csv(table(a=(0, 10), b=(5, 10)), {**SPEC, "metrics": [metric]}))
    assert finding.status is Status.FAIL
    assert "infinite" in finding.why


def test_a_missing_reference_is_a_fault_never_replaced(audit_csv: Audit) -> None:
    metric = {
        "metric": "disparate_impact_ratio",
        "reference": {"group": "gone"},
        "fail": {"below": 0.8},
    }
    with pytest.raises(SpecError, match="the reference 'gone' is not a level of group"):
        audit_csv(table(a=(1, 2), b=(1, 2)), {**SPEC, "metrics": [metric]})


def test_a_reference_of_another_attribute_is_a_fault() -> None:
    people = pl.DataFrame(
        {"sex": ["f", "m"] * 4, "race": ["x", "x", "y", "y"] * 2, "d": [0, 1] * 4}
    )
    spec: dict[str, Any] = {"columns": {"protected": ["sex", "race"], "decision": "d"}}
    entry = {"metric": "selection_rate", "compare": "ratio", "reference": "m"}
    for more, words in (
        ({"by": "race"}, "the reference 'm' is not a level of race; available: 'x', 'y'"),
        ({"reference": "highst"}, "did you mean 'highest'"),
    ):
        with pytest.raises(SpecError, match=words):
            fairaudit.audit({**spec, "metrics": [{**entry, **more}]}, people)
    for by in ("sex", "sex * race", "each"):
        fairaudit.audit({**spec, "metrics": [{**entry, "by": by}]}, people)


def test_where_all_values_are_named_positive_nothing_is_judged() -> None:
    people = pl.DataFrame({"sex": ["f", "m"] * 4, "d": [0, 0, 1, 1] * 2})
    decision: dict[str, Any] = {"column": "d", "positive": [1, 0]}
    spec = {"metrics": [{"metric": "impact_ratio", "fail": "< 0.8"}]}
    columns: dict[str, Any] = {"protected": ["sex"], "decision": decision}
    with pytest.raises(SpecError, match="all values of 'd' are positive: '0', '1'"):
        fairaudit.audit({"columns": columns, **spec}, people)
    columns["decision"] = {**decision, "negative": 2}
    assert fairaudit.audit({"columns": columns, **spec}, people).exit_code == 0


@pytest.mark.parametrize(("fail_on", "code"), [("fail", 0), ("warn", 1), ("never", 0)])
def test_fail_on(audit_csv: Audit, fail_on: str, code: int) -> None:
    metric = {"metric": "demographic_parity_ratio", "warn": {"below": 0.9}}
    text = table(a=(85, 100), b=(100, 100))
    result = audit_csv(text, {**SPEC, "metrics": [metric]}, fail_on=fail_on)
    assert only(result).status is Status.WARN
    assert result.exit_code == code


def test_no_limit_judges_nothing(audit_csv: Audit) -> None:
    result = audit_csv(table(a=(1, 2), b=(2, 2)), {**SPEC, "metrics": ["selection_rate"]})
    assert (result.verdict, result.exit_code) == (Verdict.NONE, 0)


def test_who_is_worse_off_turns_with_the_burden(audit_csv: Audit) -> None:
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}
    text = table(a=(10, 100), b=(50, 100))
    benefit = only(audit_csv(text, {**SPEC, "metrics": [metric]}))
    decision = {**SPEC["columns"]["decision"], "favourable": False}
    burden_spec = {"columns": {**SPEC["columns"], "decision": decision}, "metrics": [metric]}
    burden = only(audit_csv(text, burden_spec))
    assert benefit.worse_off == (("group", "a"),)
    assert burden.worse_off == (("group", "b"),)


def test_weights_decide_exactly_too(audit_csv: Audit) -> None:
    """0.48 against 0.6 in weights of a tenth: exactly 0.8, not below."""
    lines = [
        "group,y,w",
        *["a,1,0.1"] * 48,
        *["a,0,0.1"] * 52,
        *["b,1,0.1"] * 60,
        *["b,0,0.1"] * 40,
    ]
    columns = {
        "protected": ["group"],
        "decision": {"column": "y", "positive": 1},
        "weight": "w",
    }
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    for text, status in (
        ("\n".join(lines), Status.PASS),
        ("\n".join(lines).replace("a,1,0.1", "a,0,0.1", 1), Status.FAIL),
    ):
        result = audit_csv(text + "\n", {"columns": columns, "metrics": [metric]})
        assert only(result).status is status


def test_raise_for_failure(audit_csv: Audit) -> None:
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    good = audit_csv(table(a=(5, 10), b=(5, 10)), {**SPEC, "metrics": [metric]})
    good.raise_for_failure()
    bad = audit_csv(table(a=(1, 10), b=(5, 10)), {**SPEC, "metrics": [metric]})
    with pytest.raises(Exception, match="demographic_parity_ratio/group/decision"):
        bad.raise_for_failure()


def weighted(**groups: tuple[tuple[int, float], tuple[int, float]]) -> str:
    """CSV text of weighted rows: for each group (how many selected, weight), (not, weight)."""
    lines = ["group,y,w"]
    for group, ((yes, one), (no, other)) in groups.items():
        lines += [f"{group},1,{one}"] * yes + [f"{group},0,{other}"] * no
    return "\n".join(lines) + "\n"


WEIGHTED: dict[str, Any] = {
    "columns": {
        "protected": ["group"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
        "weight": "w",
    }
}


@pytest.mark.parametrize("smoothing", [None, 1])
def test_no_group_is_lost_to_small_weights(audit_csv: Audit, smoothing: int | None) -> None:
    more = {} if smoothing is None else {"smoothing": smoothing}
    metric = {"metric": "differential_fairness", "fail": {"above": 0.5}, **more}
    text = weighted(a=((50, 1), (50, 1)), b=((50, 1), (50, 1)), c=((1, 0.0005), (99, 0.0005)))
    finding = only(audit_csv(text, {**WEIGHTED, "metrics": [metric]}))
    assert finding.status is Status.FAIL
    assert finding.estimate is not None
    if smoothing is None:
        assert finding.estimate.value == pytest.approx(3.912023)


@pytest.mark.parametrize("weight", [1, 0.0005, 1e-7, 1e-11, 12345.678, 123456789.123])
def test_the_size_of_weights_changes_nothing(audit_csv: Audit, weight: float) -> None:
    metrics = ["selection_rate", {"metric": "differential_fairness", "smoothing": 1}]
    text = weighted(a=((30, weight), (70, weight)), b=((60, weight), (40, weight)))
    result = audit_csv(text, {**WEIGHTED, "metrics": metrics})
    for row in result.rates:
        if row.group == (("group", "a"),):
            assert row.estimate.value == pytest.approx(0.3)
            assert row.estimate.low == pytest.approx(0.218949, abs=1e-6)
    (epsilon,) = result.comparisons
    assert epsilon.estimate.value == pytest.approx(math.log(61 / 31), abs=1e-5)


def test_a_group_without_weight_leaves_epsilon_undefined(audit_csv: Audit) -> None:
    metric = {"metric": "differential_fairness", "fail": {"above": 0.5}}
    text = weighted(a=((5, 1), (5, 1)), b=((5, 1), (5, 1)), c=((5, 0), (5, 0)))
    finding = only(audit_csv(text, {**WEIGHTED, "metrics": [metric]}))
    assert finding.status is Status.INCONCLUSIVE
    assert "no people to count in group=c" in finding.why


def test_large_weights_with_decimals_tie_exactly(audit_csv: Audit) -> None:
    lines = ["group,y,w", "a,1,99423631.18", "a,1,41614687.969", "a,0,86235196.191"]
    lines += ["b,1,141038319.149", "b,0,86235196.191"]
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0}}
    finding = only(audit_csv("\n".join(lines) + "\n", {**WEIGHTED, "metrics": [metric]}))
    assert finding.status is Status.PASS
    assert finding.worse_off == ()


STRATA: dict[str, Any] = {"columns": {**SPEC["columns"], "strata": ["z"]}}


def strata(*rows: str) -> str:
    """CSV text of group, stratum, outcome and people."""
    return "\n".join(["group,z,y,n", *rows]) + "\n"


@pytest.mark.parametrize(
    ("rows", "groups"),
    [
        (("a,x,1,50", "a,x,0,50"), {}),
        (("a,,1,50", "a,,0,50", "b,,1,50", "b,,0,50"), {}),
        (("a,x,1,50", "a,x,0,50", "b,x,1,50", "b,x,0,50"), {"min_size": 1000}),
        (("a,x,1,50", "a,x,0,50", "b,y,1,50", "b,y,0,50"), {}),
    ],
)
def test_a_reversal_gate_that_compared_nobody_is_no_pass(
    audit_csv: Audit, rows: tuple[str, ...], groups: dict[str, int]
) -> None:
    spec = {**STRATA, "metrics": ["selection_rate"], "simpson": {"fail": "every_stratum"}}
    result = audit_csv(strata(*rows), {**spec, "groups": groups})
    assert only(result).status is Status.INCONCLUSIVE
    assert result.exit_code == 3


@pytest.mark.parametrize(
    "metric",
    [
        {"metric": "disparate_impact_ratio", "reference": "lowest", "fail": {"below": 0.8}},
        {"metric": "statistical_parity_difference", "reference": "lowest", "fail": {"below": -0.1}},
        {"metric": "disparate_impact_ratio", "reference": "highest", "fail": {"above": 1.25}},
        {"metric": "impact_ratio", "fail": {"above": 1.25}},
    ],
)
def test_a_limit_on_the_side_where_nobody_can_be_is_refused(
    audit_csv: Audit, metric: dict[str, Any]
) -> None:
    with pytest.raises(SpecError, match="can never be crossed"):
        audit_csv(table(a=(10, 100), b=(80, 100)), {**SPEC, "metrics": [metric]})


@pytest.mark.parametrize(
    ("metric", "possible"),
    [
        ({"metric": "expected_utility", "fail": {"below": -1}}, "-1 to 0.5"),
        (
            {"metric": "expected_utility", "compare": "gap", "fail": {"above": 1.5}},
            "gap of expected_utility is always from 0 to 1.5",
        ),
        (
            {"metric": "expected_utility", "compare": "difference", "fail": {"outside": [-2, 2]}},
            "-1.5 to 1.5",
        ),
        (
            {"metric": "selection_rate", "compare": "cohens_h", "fail": {"above": 3.2}},
            "-3.1416 to 3.1416",
        ),
    ],
    ids=str,
)
def test_a_limit_beyond_the_declared_utilities_or_beyond_pi_is_refused(
    audit_csv: Audit, metric: dict[str, Any], possible: str
) -> None:
    columns = {
        "protected": ["group"],
        "label": {"column": "y", "positive": 1},
        "prediction": {"column": "y", "positive": 1},
    }
    if metric["metric"] == "expected_utility":
        metric = {**metric, "utilities": {"tp": 0.5, "fp": -1, "fn": 0, "tn": 0}}
    with pytest.raises(SpecError, match=f"can never be crossed.*{possible}"):
        audit_csv(table(a=(10, 100), b=(80, 100)), {"columns": columns, "metrics": [metric]})


@pytest.mark.parametrize("compare", [None, "gap"])
def test_a_limit_above_the_worst_brier_score_is_refused(
    audit_csv: Audit, compare: str | None
) -> None:
    columns = {"protected": ["group"], "label": {"column": "y", "positive": 1}, "score": "y"}
    metric = {"metric": "brier", "fail": {"above": 1.5}}
    metric |= {"compare": compare} if compare else {}
    with pytest.raises(SpecError, match="brier is always from 0 to 1"):
        audit_csv(table(a=(10, 100), b=(80, 100)), {"columns": columns, "metrics": [metric]})


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"fail": "outside -0.2..0.5"}, "lower bound of `fail` can never be crossed"),
        ({"warn": "outside -0.2..0.5"}, "lower bound of `warn` can never be crossed"),
        ({"warn": "> 0.7", "fail": "> 0.6"}, "the check can never warn"),
        ({"warn": "> 0.6", "fail": "> 0.6"}, "the check can never warn"),
        (
            {"warn": {"above": 0.7, "significant": True}, "fail": "> 0.6"},
            "the check can never warn",
        ),
        ({"warn": "> 0.5", "fail": "> 0.6"}, ""),
        ({"warn": "> 0.6", "fail": {"above": 0.6, "significant": True}}, ""),
        ({"fail": "> 0.6"}, ""),
    ],
    ids=str,
)
def test_a_limit_that_nothing_can_cross_is_told(
    audit_csv: Audit, limits: dict[str, Any], words: str
) -> None:
    metric = {"metric": "demographic_parity_difference", **limits}
    result = audit_csv(table(a=(30, 100), b=(80, 100)), {**SPEC, "metrics": [metric]})
    idle = [text for text in result.notices if " can never " in text]
    assert len(idle) == bool(words)
    assert all(words in text for text in idle)


def test_there_are_no_odds_of_a_number_below_0(audit_csv: Audit) -> None:
    columns = {"protected": ["group"], "label": "label", "prediction": "prediction"}
    utilities = {"tp": 3, "fp": -3, "fn": 0, "tn": 0}
    metric = {"metric": "expected_utility", "utilities": utilities, "compare": "odds_ratio"}
    metric |= {"reference": "largest", "fail": "< 0.5"}
    cells = {"a": (30, 40, 5, 20), "b": (30, 10, 15, 20)}  # tp, fp, fn, tn: -30/95, and 60/75
    outcomes = ("1,1", "0,1", "1,0", "0,0")
    rows = [
        f"{group},{outcome}"
        for group, people in cells.items()
        for outcome, number in zip(outcomes, people, strict=True)
        for _ in range(number)
    ]
    text = "\n".join(["group,label,prediction", *rows]) + "\n"
    result = audit_csv(text, {**SPEC, "columns": columns, "metrics": [metric]})
    assert only(result).status is Status.INCONCLUSIVE
    assert (
        "odds need a share, and the value of a side is below 0 or above 1, for group=b"
        in only(result).why
    )


def test_strata_that_determine_the_decision_leave_nothing_to_judge(audit_csv: Audit) -> None:
    spec = {
        "columns": {
            "protected": ["group"],
            "prediction": {"column": "s", "positive": {"at_least": 0.5}},
            "strata": {"band": {"column": "s", "bins": [0.5]}},
            "count": "n",
        },
        "metrics": [
            {"metric": "demographic_parity_difference", "given": "band", "fail": {"above": 0.1}}
        ],
    }
    text = "group,s,n\na,0.9,90\na,0.1,10\nb,0.9,10\nb,0.1,90\n"
    finding = only(audit_csv(text, spec))
    assert finding.status is Status.INCONCLUSIVE
    assert "the strata determine the prediction" in finding.why


def test_a_stratum_without_the_reference_leaves_the_check_open(audit_csv: Audit) -> None:
    columns = {**STRATA["columns"], "protected": {"group": {"reference": "a"}}}
    metric = {
        "metric": "statistical_parity_difference",
        "given": "z",
        "fail": {"outside": [-0.1, 0.1]},
    }
    rows = ("a,u,1,50", "a,u,0,50", "b,u,1,50", "b,u,0,50", "b,v,1,100", "c,v,0,1000")
    finding = only(audit_csv(strata(*rows), {"columns": columns, "metrics": [metric]}))
    assert finding.status is Status.INCONCLUSIVE
    assert "group=a does not occur in the stratum (1,100 people) in z=v" in finding.why


@pytest.mark.parametrize("key", ["fail", "warn", "by"])
def test_an_empty_key_is_no_missing_one(audit_csv: Audit, key: str) -> None:
    metric = {"metric": "impact_ratio", "fail": {"below": 0.8}, key: None}
    with pytest.raises(SpecError, match=rf"metrics\[0\]\.{key}: this key has no value"):
        audit_csv(table(a=(1, 2), b=(1, 2)), {**SPEC, "metrics": [metric]})


def test_simpson_signs_are_exact(audit_csv: Audit) -> None:
    """A gap of exactly 0 is turned by nothing, whatever floats make of it."""
    equal = ("a,x,1,10", "a,x,0,10", "b,x,1,20", "b,x,0,20", "a,y,1,10", "a,y,0,10", "b,y,1,20")
    spec = {**STRATA, "metrics": ["selection_rate"]}
    result = audit_csv(
        strata(*equal, "b,y,0,20"), {**spec, "simpson": {"min_gap": 0, "fail": "most_people"}}
    )
    assert only(result).status is Status.PASS
    rows = ("a,x,1,72", "a,x,0,168", "b,x,1,22", "b,x,0,8", "a,y,1,25", "a,y,0,5", "b,y,1,96")
    result = audit_csv(
        strata(*rows, "b,y,0,144"), {**spec, "simpson": {"min_gap": 0, "fail": "adjusted"}}
    )
    assert only(result).status is Status.PASS


def test_selected_share_counts_the_selected_once(audit_csv: Audit) -> None:
    result = audit_csv(table(a=(500, 550), b=(1, 2)), {**SPEC, "metrics": ["selected_share"]})
    sizes = {row.group: row.estimate.n for row in result.rates}
    assert sizes[("group", "b"),] == 501


def test_what_is_too_small_says_in_which_rate(audit_csv: Audit) -> None:
    text = "group,label,y,n\n" + "".join(
        f"{group},{label},{y},{n}\n"
        for group, cells in (("a", (50, 50, 50, 50)), ("c", (5, 0, 1000, 0)), ("b", (5, 5, 50, 50)))
        for (label, y), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), cells, strict=True)
    )
    spec = {
        "columns": {**SPEC["columns"], "label": {"column": "label", "positive": 1}},
        "groups": {"min_size": 10},
        "metrics": [{"metric": "equalized_odds_difference", "fail": {"above": 0.1}}],
    }
    left_out, doubt = only(audit_csv(text, spec)).not_evaluated
    assert doubt.blocks  # 1,005 of 1,215 people are in that group
    assert left_out.reason == "true_positive_rate: fewer than 10 people in the denominator"
