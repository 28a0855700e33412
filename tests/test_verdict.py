"""Where numbers become words: exact limits, undefined, small groups, the exit code."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from fairaudit.result import AuditResult, Verdict
from fairaudit.verdict import Finding, Limit, Status

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
    assert limit.crossed(value, None) is crossed


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
    [("fail", Status.INCONCLUSIVE, 3), ("warn", Status.WARN, 0), ("skip", Status.SKIPPED, 3)],
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
    assert "true_positive_rate: nobody to count in group=c" in finding.why


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


def test_a_missing_reference_is_a_fault_or_undefined_never_replaced(audit_csv: Audit) -> None:
    metric = {
        "metric": "disparate_impact_ratio",
        "reference": {"group": "gone"},
        "fail": {"below": 0.8},
    }
    finding = only(audit_csv(table(a=(1, 2), b=(1, 2)), {**SPEC, "metrics": [metric]}))
    assert finding.status is Status.INCONCLUSIVE
    assert "the reference group=gone is not in the data" in finding.why


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
