"""Groups that are set aside: named with the rule, shown, and never able to decide a verdict."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from conftest import about, comparison_of, rate_of
from jsonschema import Draft202012Validator

from fairaudit import codec
from fairaudit.base.frozen import replace
from fairaudit.cube import ExcludeBelow, ExcludedGroups, GroupTable
from fairaudit.judge import Finding, NotEvaluated, Status
from fairaudit.metrics import CATALOGUE, Disparity, Eligibility, evaluate
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.example import _UTILITIES, _table
from fairaudit.metrics.terms import (
    POOLED_REFERENCES,
    MetricOptions,
    Minimum,
    Parameters,
    Reference,
    ReferencePolicy,
)
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult
from fairaudit.tools.compare import document_schema

Audit = Callable[..., AuditResult]
LAW = {"share": "0.02", "reason": "6 RCNY 5-301(d)"}
SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"group": {"reference": "a"}},
        "decision": {"column": "y", "positive": 1, "negative": 0},
        "count": "n",
    }
}
RATIO = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}


def table(**groups: tuple[int, int]) -> str:
    """CSV text: for each group how many of how many are selected."""
    lines = ["group,y,n"]
    for group, (over, under) in groups.items():
        lines += [f"{group},1,{over}", f"{group},0,{under - over}"]
    return "\n".join(lines) + "\n"


def spec_of(*metrics: object, **groups: object) -> dict[str, Any]:
    """A spec with these metrics and these rules on groups."""
    return {**SPEC, "metrics": list(metrics), "groups": groups}


def only(result: AuditResult) -> Finding:
    """The one finding."""
    (finding,) = result.findings
    return finding


def left_out(finding: Finding) -> dict[str, NotEvaluated]:
    """Whom a check names as set aside, by the level of its one attribute."""
    return {one.group[0][1]: one for one in finding.not_evaluated if one.group}


def printed(result: AuditResult) -> str:
    """The report in one line."""
    return " ".join(terminal.render(content.document(result)).split())


TINY = table(a=(50, 100), b=(50, 100), tiny=(0, 3))


@pytest.mark.parametrize(
    ("rule", "standing", "reason", "detail"),
    [
        (
            {"min_size": 10},
            Eligibility.SMALL,
            "selection_rate: fewer than 10 people in the denominator",
            "3 people",
        ),
        (
            {"min_events": 5},
            Eligibility.FEW_EVENTS,
            "selection_rate: fewer than 5 people with some outcome expected at the overall rate",
            "1.47 expected of 3 people",
        ),
        (
            {"exclude_below": LAW},
            Eligibility.EXCLUDED,
            "excluded, below 2 % of the people whose group is known: 6 RCNY 5-301(d)",
            "3 of 203 people",
        ),
    ],
)
def test_a_tiny_group_decides_unless_a_rule_sets_it_aside(
    audit_csv: Audit, rule: dict[str, Any], standing: Eligibility, reason: str, detail: str
) -> None:
    assert only(audit_csv(TINY, spec_of(RATIO))).status is Status.FAIL
    result = audit_csv(TINY, spec_of(RATIO, **rule))
    assert only(result).status is Status.PASS
    named = left_out(only(result))
    assert {*named} == {"tiny"}
    assert (named["tiny"].reason, named["tiny"].detail) == (reason, detail)
    assert not named["tiny"].blocks
    row = rate_of(result, "selection_rate", group="tiny")
    assert (row.standing, row.estimate.n, row.estimate.value) == (standing, 3, 0)
    assert f"{reason}: group=tiny ({detail})" in printed(result)


def test_rules_hold_together_and_each_names_its_own(audit_csv: Audit) -> None:
    text = table(a=(300, 3000), b=(300, 3000), excluded=(0, 100), few=(0, 150), small=(0, 200))
    rules = {"min_size": 201, "min_events": 20, "exclude_below": {"share": "2%", "reason": "x"}}
    asked = {**RATIO, "accept_left_out": 0.6}  # three of five groups
    result = audit_csv(text.replace("few,", "few_,"), spec_of(asked, **rules))
    assert only(result).status is Status.PASS
    standings = {
        group: rate_of(result, "selection_rate", group=group).standing
        for group in ("a", "excluded", "few_", "small")
    }
    # Who is excluded is nothing else; who is small is not asked for events.
    assert standings == {
        "a": Eligibility.ELIGIBLE,
        "excluded": Eligibility.EXCLUDED,
        "few_": Eligibility.SMALL,
        "small": Eligibility.SMALL,
    }
    again = audit_csv(text, spec_of(RATIO, **{**rules, "min_size": 120}))
    assert rate_of(again, "selection_rate", group="few").standing is Eligibility.FEW_EVENTS


def test_a_share_that_is_exactly_the_limit_is_not_below_it(audit_csv: Audit) -> None:
    """7 of 100 is not below 0.07, where floats say 0.07 · 100 = 7.000000000000001."""
    assert 100 * 0.07 > 7
    rule = {"share": "0.07", "reason": "exact"}
    for n, standing in ((7, Eligibility.ELIGIBLE), (6, Eligibility.EXCLUDED)):
        text = table(a=(40, 93), tiny=(0, n), b=(0, 7 - n))
        result = audit_csv(text, spec_of(RATIO, exclude_below=rule))
        assert rate_of(result, "selection_rate", group="tiny").standing is standing


@pytest.mark.parametrize(
    ("of", "n", "standing"),
    [
        # 2 % of 1,000 known people are 20; of all 1,250 people 25.
        (None, 20, Eligibility.ELIGIBLE),
        ("known", 20, Eligibility.ELIGIBLE),
        ("known", 19, Eligibility.EXCLUDED),
        ("all", 24, Eligibility.EXCLUDED),
        ("all", 25, Eligibility.ELIGIBLE),
    ],
)
def test_a_share_is_of_the_known_people_or_of_all_as_the_spec_says(
    audit_csv: Audit, of: str | None, n: int, standing: Eligibility
) -> None:
    """250 people have no group: whether they count decides who is excluded, and each says so."""
    rule = {**LAW, **({"of": of} if of else {})}
    text = table(a=(300, 600), b=(200, 400 - n), tiny=(0, n)) + ",1,250\n"
    result = audit_csv(text, spec_of(RATIO, exclude_below=rule))
    assert rate_of(result, "selection_rate", group="tiny").standing is standing
    whose = "all people, those whose group is not known included"
    whose = whose if of == "all" else "the people whose group is known"
    assert f"excluded below 2 % of {whose}: 6 RCNY 5-301(d)" in printed(result)
    if standing is Eligibility.EXCLUDED:
        total = "1,250" if of == "all" else "1,000"
        left = left_out(only(result))["tiny"]
        assert left.reason == f"excluded, below 2 % of {whose}: 6 RCNY 5-301(d)"
        assert left.detail == f"{n} of {total} people"
    document = json.loads(report_json.render(result))
    assert document["provenance"]["exclude_below"]["of"] == (of or "known")
    again = codec.read_result(document).provenance.exclude_below
    assert again == result.provenance.exclude_below


def test_every_table_says_what_its_shares_are_of(audit_csv: Audit) -> None:
    """A quarter of the known people is a fifth of all: the heading says which is told."""
    text = table(a=(30, 60), b=(10, 20)) + ",1,20\n"
    result = audit_csv(text, spec_of("selection_rate"))
    told = printed(result).partition("Columns as they were read")[0]
    assert "of known" in told
    assert "25.0 %" in told
    assert "20.0 %" not in told
    assert "of known: the group's share of the people with a known group;" in told


@pytest.mark.parametrize(("n", "status"), [(50, Status.FAIL), (49, Status.PASS)])
def test_expected_events_are_counted_exactly(audit_csv: Audit, n: int, status: Status) -> None:
    """50 people at everybody's 100/1000 are 5 events: enough; 49 are not."""
    text = table(a=(90, 900 - n), b=(10, 100), tiny=(0, n))
    result = audit_csv(text, spec_of(RATIO, min_events=5))
    assert only(result).status is status


def test_few_who_are_not_selected_are_expected_events_too(audit_csv: Audit) -> None:
    text = table(a=(99, 100), b=(99, 100), tiny=(0, 20))
    result = audit_csv(text, spec_of(RATIO, min_events=5))
    assert {*left_out(only(result))} == {"tiny"}
    assert left_out(only(result))["tiny"].detail == "2 expected of 20 people"


def test_a_large_group_that_is_never_selected_is_judged(audit_csv: Audit) -> None:
    """What is observed decides nothing: no event at all is the disparity itself."""
    result = audit_csv(table(a=(50, 100), never=(0, 100)), spec_of(RATIO, min_events=5))
    assert only(result).status is Status.FAIL
    assert not left_out(only(result))


def test_who_is_excluded_still_counts_among_everybody(audit_csv: Audit) -> None:
    metric = {"metric": "selection_rate", "compare": "difference"}
    metrics = [{**metric, "reference": "rest"}, {**metric, "reference": "overall"}]
    text = table(a=(50, 100), b=(50, 100), tiny=(3, 3))
    result = audit_csv(text, spec_of(*metrics, exclude_below=LAW))
    rest, overall = (
        {row.group: row.estimate.value for row in result.comparisons if row.reference == name}
        for name in ("rest", "overall")
    )
    assert {*rest} == {*overall} == {(("group", "a"),), (("group", "b"),)}
    assert rest[(("group", "a"),)] == pytest.approx(0.5 - 53 / 103)
    assert overall[(("group", "a"),)] == pytest.approx(0.5 - 103 / 203)


def test_everybodys_rate_is_that_of_the_excluded_too(audit_csv: Audit) -> None:
    """500 · 29/1019 = 14.2 are expected in a; without the excluded 500 · 10/1000 = 5."""
    text = table(a=(5, 500), b=(5, 500), tiny=(19, 19))
    result = audit_csv(text, spec_of(RATIO, min_events=10, exclude_below=LAW))
    assert only(result).status is Status.PASS
    assert {*left_out(only(result))} == {"tiny"}


def test_a_reference_that_is_excluded_is_never_replaced(audit_csv: Audit) -> None:
    text = table(a=(3, 3), b=(50, 100), c=(20, 100))
    metric = {"metric": "disparate_impact_ratio", "fail": {"outside": [0.8, 1.25]}}
    finding = only(audit_csv(text, spec_of(metric, exclude_below=LAW)))
    assert finding.status is Status.INCONCLUSIVE
    assert "the reference group=a does not take part: excluded, below 2 %" in finding.why
    for policy in ("largest", "highest"):
        one = {**metric, "reference": policy, "fail": {"below": 0.8}}
        finding = only(audit_csv(text, spec_of(one, exclude_below=LAW)))
        assert finding.status is Status.FAIL
        assert (finding.first, finding.second) == ((("group", "c"),), (("group", "b"),))


@pytest.mark.parametrize("rule", [{"min_events": 5}, {"exclude_below": LAW}, {"min_size": 10}])
def test_one_group_left_is_no_pass(audit_csv: Audit, rule: dict[str, Any]) -> None:
    result = audit_csv(table(a=(500, 1000), tiny=(0, 3)), spec_of(RATIO, **rule))
    assert (only(result).status, result.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "only one group takes part (group=a)" in only(result).why


STRATA = {"columns": {**SPEC["columns"], "strata": ["site"]}}
SITES = (
    "group,site,y,n\n"
    "a,x,1,500\na,x,0,500\nb,x,1,500\nb,x,0,500\ntiny,x,0,1\n"
    "a,y,1,20\na,y,0,20\nb,y,1,20\nb,y,0,20\ntiny,y,0,30\n"
)


def test_the_share_is_of_the_whole_grouping_not_of_a_stratum(audit_csv: Audit) -> None:
    """31 of 2,111 people are below 2 %, though 30 of 110 in one stratum."""
    spec = {**STRATA, "metrics": [{**RATIO, "given": "site"}]}
    assert only(audit_csv(SITES, spec)).status is Status.FAIL
    finding = only(audit_csv(SITES, {**spec, "groups": {"exclude_below": LAW}}))
    assert finding.status is Status.PASS
    (one,) = finding.not_evaluated
    assert (one.group, one.stratum) == ((("group", "tiny"),), ())
    assert one.detail == "31 of 2,111 people"


def test_events_are_expected_in_each_stratum(audit_csv: Audit) -> None:
    spec = {**STRATA, "metrics": [{**RATIO, "given": "site"}], "groups": {"min_events": 5}}
    finding = only(audit_csv(SITES, spec))
    # 30 · 40/110 = 10.9 are expected in y, and half a person in x.
    assert finding.status is Status.FAIL
    assert finding.stratum == (("site", "y"),)
    (one,) = finding.not_evaluated
    assert (one.stratum, one.detail) == ((("site", "x"),), "0.49 expected of 1 person")


@pytest.mark.long
@pytest.mark.parametrize("rule", [{"min_events": 16}, {"exclude_below": LAW}])
@pytest.mark.parametrize("metric", ["disparate_impact_ratio", "demographic_parity_ratio"])
def test_averages_set_the_same_groups_aside(
    audit_csv: Audit, rule: dict[str, Any], metric: str
) -> None:
    """31 people in both strata at 1,040/2,111: 15.3 events are expected."""
    entry = {"metric": metric, "given": "site", "average": "uniform", "fail": {"below": 0.8}}
    spec = {**STRATA, "metrics": [entry]}
    assert only(audit_csv(SITES, spec)).status is Status.FAIL
    finding = only(audit_csv(SITES, {**spec, "groups": rule}))
    assert finding.status is Status.PASS
    assert {*left_out(finding)} == {"tiny"}
    if "min_events" in rule:
        assert left_out(finding)["tiny"].detail == "15.27 expected of 31 people"
        kept = only(audit_csv(SITES, {**spec, "groups": {"min_events": 15}}))
        assert kept.status is Status.FAIL


def test_an_excluded_reference_leaves_every_stratum_open(audit_csv: Audit) -> None:
    spec = {
        "columns": {
            **STRATA["columns"],
            "protected": {"group": {"reference": "tiny"}},
        },
        "metrics": [
            {"metric": "disparate_impact_ratio", "given": "site", "fail": {"below": 0.8}},
        ],
        "groups": {"exclude_below": LAW},
    }
    finding = only(audit_csv(SITES, spec))
    assert finding.status is Status.INCONCLUSIVE
    assert "the reference group=tiny does not take part: excluded" in finding.why


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"min_size": 32}, "fewer than 32 people in the denominator"),
        ({"min_events": 16}, "fewer than 16 people with some outcome expected at the overall rate"),
        (
            {"exclude_below": LAW},
            "excluded, below 2 % of the people whose group is known: 6 RCNY 5-301(d)",
        ),
    ],
)
def test_the_scan_for_reversals_looks_at_whole_groups(
    audit_csv: Audit, rule: dict[str, Any], reason: str
) -> None:
    spec = {**STRATA, "metrics": ["selection_rate"], "simpson": {"fail": "every_stratum"}}
    assert not only(audit_csv(SITES, spec)).not_evaluated
    finding = only(audit_csv(SITES, {**spec, "groups": rule}))
    (one,) = finding.not_evaluated
    assert (one.group, one.reason) == ((("group", "tiny"),), reason)
    assert one.detail.endswith("people")


def test_survey_weights_do_not_make_a_group_large(audit_csv: Audit) -> None:
    """3 of 203 people, with three quarters of the weight; what is expected is weighted."""
    columns = {key: value for key, value in SPEC["columns"].items() if key != "count"}
    rows = ["a,1,1"] * 50 + ["a,0,1"] * 50 + ["b,1,1"] * 50 + ["b,0,1"] * 50 + ["tiny,0,200"] * 3
    text = "group,y,w\n" + "\n".join(rows) + "\n"
    spec = {"columns": {**columns, "weight": "w"}, "metrics": [RATIO]}
    assert only(audit_csv(text, spec)).status is Status.FAIL
    excluded = only(audit_csv(text, {**spec, "groups": {"exclude_below": LAW}}))
    assert left_out(excluded)["tiny"].detail == "3 of 203 people"
    # 100 of 800 are selected by weight: 12.5 of 100 people, 0.375 of 3.
    accepting = {**spec, "metrics": [{**RATIO, "accept_left_out": 0.8}]}
    few = only(audit_csv(text, {**accepting, "groups": {"min_events": 12}}))
    assert few.status is Status.PASS
    assert left_out(few)["tiny"].detail == "0.37 expected of 3 people"
    more = only(audit_csv(text, {**spec, "groups": {"min_events": 13}}))
    assert more.status is Status.INCONCLUSIVE


LABELLED = {**SPEC["columns"], "label": {"column": "label", "positive": 1}}


def labelled(**groups: tuple[int, int, int, int]) -> str:
    """CSV text of tp, fp, fn, tn of each group."""
    lines = ["group,label,y,n"]
    for group, cells in groups.items():
        kinds = ((1, 1), (0, 1), (1, 0), (0, 0))
        lines += [f"{group},{lab},{y},{n}" for (lab, y), n in zip(kinds, cells, strict=True)]
    return "\n".join(lines) + "\n"


def test_each_rate_has_its_own_expectation_and_formulas_have_none(audit_csv: Audit) -> None:
    text = labelled(a=(50, 50, 50, 50), b=(50, 50, 50, 50), c=(4, 400, 4, 400))
    limit = {"fail": {"above": 0.5}, "accept_left_out": 0.9}
    metrics = [
        {"metric": name, **({"compare": "gap"} if name in {"f1", "balanced_accuracy"} else {}),
         **limit}
        for name in ("equalized_odds_difference", "f1", "balanced_accuracy", "accuracy")
    ]  # fmt: skip
    metrics[-1]["compare"] = "gap"
    spec = {"columns": LABELLED, "metrics": metrics, "groups": {"min_events": 5}}
    found = audit_csv(text, spec).findings
    assert [one.reason.split(":")[0] for one in found[0].not_evaluated] == ["true_positive_rate"]
    assert [{*left_out(one)} for one in found] == [{"c"}, set(), set(), set()]


def test_a_mean_of_two_rates_over_groups_names_who_is_left_out(audit_csv: Audit) -> None:
    text = labelled(a=(50, 50, 50, 50), b=(50, 50, 50, 50), c=(4, 400, 0, 0))
    metric = {"metric": "average_odds_difference", "aggregate": "mean", "fail": {"above": 0.01}}
    spec = {"columns": LABELLED, "metrics": [{**metric, "accept_left_out": 0.9}]}
    assert only(audit_csv(text, spec)).status is Status.FAIL
    finding = only(audit_csv(text, {**spec, "groups": {"min_events": 5}}))
    assert finding.status is Status.PASS
    assert left_out(finding)["c"].reason.startswith("true_positive_rate: fewer than 5 people")


def test_differential_fairness_expects_every_class(audit_csv: Audit) -> None:
    rows = [("a", (40, 40, 20)), ("b", (40, 40, 20)), ("c", (12, 12, 0))]
    text = "group,y,n\n" + "".join(
        f"{group},{name},{n}\n"
        for group, counts in rows
        for name, n in zip("xyz", counts, strict=True)
    )
    columns = {**SPEC["columns"], "decision": {"column": "y"}}
    for metric, limit in (("differential_fairness", 1), ("total_variation", "0.1")):
        entry = {"metric": metric, "fail": {"above": limit}}
        spec = {"columns": columns, "metrics": [entry]}
        assert only(audit_csv(text, spec)).status is Status.FAIL
        # 24 · 40/224 of class z are expected in c: 4.28.
        finding = only(audit_csv(text, {**spec, "groups": {"min_events": 5}}))
        assert finding.status is Status.PASS
        assert {*left_out(finding)} == {"c"}
        kept = only(audit_csv(text, {**spec, "groups": {"min_events": 4}}))
        assert kept.status is Status.FAIL
        if metric == "differential_fairness":
            assert left_out(finding)["c"].detail == "4.28 expected of 24 people"


def test_a_gap_is_not_taken_less_one_of_other_groups(audit_csv: Audit) -> None:
    """By one model's rate the tiny group has enough events expected, by the other's it has not."""
    lines = ["group,one,two,n"]
    for group, n in (("a", 100), ("b", 100), ("tiny", 20)):
        lines += [f"{group},1,1,{n // 20}", f"{group},1,0,{n // 2}"]
        lines += [f"{group},0,0,{n - n // 2 - n // 20}"]
    models = {
        name: {"prediction": {"column": name, "positive": 1, "negative": 0}}
        for name in ("one", "two")
    }
    columns = {"protected": ["group"], "models": models, "count": "n"}
    metric = {
        "metric": "demographic_parity_difference", "of": "one", "against": "two",
        "fail": {"above": 0.1},
    }  # fmt: skip
    text = "\n".join(lines) + "\n"
    spec = {"columns": columns, "metrics": [metric]}
    assert only(audit_csv(text, spec)).status is Status.PASS
    finding = only(audit_csv(text, {**spec, "groups": {"min_events": 5}}))
    assert finding.status is Status.INCONCLUSIVE
    assert "different groups take part on the two sides" in finding.why


def test_json_and_provenance_tell_every_rule(audit_csv: Audit) -> None:
    rules = {"min_size": 10, "min_events": 5, "exclude_below": LAW}
    result = audit_csv(TINY, spec_of(RATIO, "differential_fairness", **rules))
    found = json.loads(report_json.render(result))
    Draft202012Validator(document_schema("result")).validate(found)
    told = found["provenance"]
    assert (told["min_size"], told["min_events"], told["suppress_below"]) == (10, 5, None)
    assert told["exclude_below"] == {"share": "1/50", "reason": "6 RCNY 5-301(d)", "of": "known"}
    assert found["fail_on"] == "fail"
    standings = {row["group"].get("group"): row["standing"] for row in found["groups"]}
    assert standings == {None: "eligible", "a": "eligible", "b": "eligible", "tiny": "excluded"}
    (check,) = found["checks"]
    (one,) = check["not_evaluated"]
    assert (one["detail"], one["blocks"]) == ("3 of 203 people", False)
    text = printed(result)
    assert "10 people in the denominator; 5 people with each outcome expected at" in text
    assert "excluded below 2 % of the people whose group is known: 6 RCNY 5-301(d)" in text
    assert not result.epsilons[0].bounds_subsets
    row = comparison_of(result, "differential_fairness", "group")
    assert (row.takes_part, row.estimate.value) == (2, 0)


def with_a_third(base: GroupTable, *, excluded: bool) -> GroupTable:
    """The worked example with a third group, that is excluded, or else not known."""
    third = (("group", "third"),)

    def wider(cells: Any) -> Any:
        return np.concatenate([cells, np.roll(cells[..., :1], 1, axis=-2)], axis=-1)

    rule = ExcludedGroups(ExcludeBelow(Fraction(1, 2), "for a test"), {third: 1}, 100)
    amounts = {
        name: one.transform(wider, lambda sums: replace(sums, values=wider(sums.values)))
        for name, one in base.amounts.items()
    }
    people = wider(base.people)
    histogram = base.histogram
    assert histogram is not None
    scores = np.concatenate([histogram.people, histogram.people[:, :, :1]], axis=2)
    return replace(
        base,
        groups=(*base.groups, third),
        people=people,
        mass=people,
        amounts=amounts,
        histogram=replace(histogram, people=scores),
        known=np.array([True, True, excluded]),
        excluded=rule if excluded else None,
    )


def test_no_measure_compares_who_is_excluded() -> None:
    for asked in CATALOGUE:
        with about(asked.id):
            check_excluded(asked)


def check_excluded(asked: Any) -> None:
    """An excluded group counts among everybody, also in a rest, and is compared with nobody.

    A group that is not known counts among everybody, but in no rest.
    """
    base = _table(
        numeric=bool(asked.requirements & {Requirement.NUMBER, Requirement.NUMERIC_LABEL})
    )
    is_compared = isinstance(asked, Disparity) and asked.to_reference
    policy = (
        ReferencePolicy.LARGEST
        if isinstance(asked, Disparity) and asked.fitted
        else ReferencePolicy.REST
    )
    reference = Reference(policy) if is_compared else None
    terms = MetricOptions(reference, parameters=Parameters(utilities=_UTILITIES))
    one, other, all_three = (
        evaluate(asked, made, terms)
        for made in (
            with_a_third(base, excluded=True),
            with_a_third(base, excluded=False),
            replace(with_a_third(base, excluded=True), excluded=None),
        )
    )
    np.testing.assert_array_equal(one.takes_part, other.takes_part)
    np.testing.assert_array_equal(one.judged, other.judged)
    own = asked.reference if isinstance(asked, Disparity) and asked.to_reference else None
    is_pooled = (own or (policy if is_compared else None)) in POOLED_REFERENCES
    same = all_three if is_pooled else other
    np.testing.assert_allclose(
        np.where(one.judged, one.value, 0), np.where(one.judged, same.value, 0)
    )
    assert not one.takes_part[:, 2].any()
    assert all_three.takes_part[:, 2].all()


def test_a_minimum_of_nothing_admits_everybody() -> None:
    n = np.array([[0, 1, 5]])
    assert Minimum().admits(n).all()
    assert Minimum(2).admits(n).tolist() == [[False, False, True]]
    halves = np.array([[[1], [1]]])
    assert Minimum(events=2).admits(n).all()
    assert Minimum(events=2).admits(n, halves).tolist() == [[False, False, True]]
    assert not Minimum(events=0).admits(n, np.zeros_like(halves)).any()
    huge = np.array([[[2**61], [2**61]]])
    assert Minimum(events=2).admits(n, huge).tolist() == [[False, False, True]]
