"""Who is left out of a check: how many people and groups, why, and what that does to its status."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import sampled, seeds

import fairaudit
from fairaudit import cli
from fairaudit.api.results import AuditResult
from fairaudit.base.errors import SpecError
from fairaudit.judge import Finding, Status
from fairaudit.judge.left_out import LeftOutReason
from fairaudit.report import json as report_json
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.report.headlines import headline

HEAD = "g,y,n"
COLUMNS = {"protected": ["g"], "decision": {"column": "y", "positive": 1}, "count": "n"}
RATIO = {"metric": "impact_ratio", "fail": {"below": 0.8}}
PARITY = ["a,1,30", "a,0,30", "b,1,30", "b,0,30"]
TEN = [*(f"{g},{d},15" for g in "AB" for d in (1, 0)), *(f"{g},0,29" for g in "CDEFGHIJ")]
"""60 people at parity, and 232 in eight groups in which nobody is selected."""


def audit(
    rows: Iterable[str], spec: Mapping[str, Any], tmp_path: Path, head: str = HEAD
) -> AuditResult:
    path = tmp_path / "d.csv"
    path.write_text("\n".join([head, *rows, ""]), "utf-8")
    return fairaudit.audit({"columns": COLUMNS, "metrics": [RATIO], "simpson": False, **spec}, path)


def only(result: AuditResult) -> Finding:
    (finding,) = result.findings
    return finding


def counted(finding: Finding) -> dict[str, int]:
    """The people left out by reason."""
    people = finding.left_out
    return {} if people is None else {str(part.reason): part.people for part in people.reasons}


@pytest.mark.parametrize(
    ("groups", "reason"),
    [
        ({"min_size": 30}, "too_small"),
        ({"min_events": 3}, "too_small"),
        ({"exclude_below": {"share": "10%", "reason": "a rule"}}, "excluded"),
    ],
)
def test_a_check_of_a_fifth_of_the_people_is_no_pass(
    groups: Mapping[str, Any], reason: str, tmp_path: Path
) -> None:
    result = audit(TEN, {"groups": groups}, tmp_path)
    finding = only(result)
    assert (finding.status, finding.value, result.exit_code) == (Status.INCONCLUSIVE, 1.0, 3)
    assert counted(finding) == {reason: 232}
    people = finding.left_out
    assert people is not None
    assert (people.people, people.of_people, people.groups, people.of_groups) == (232, 292, 8, 10)
    headline = diagnose_by_id(result)[finding.check.id].headline
    assert "; 232 of 292 people (79.5 %) and 8 of 10 groups are left out: " in headline
    assert "(g=C, g=D, g=E and 5 more)" in headline


@pytest.mark.parametrize("where", ["entry", "defaults"])
def test_a_spec_may_accept_that_people_are_left_out(where: str, tmp_path: Path) -> None:
    def judged(share: float) -> AuditResult:
        accepted = {"accept_left_out": share}
        spec: dict[str, Any] = {"groups": {"min_size": 30}}
        if where == "entry":
            return audit(TEN, {**spec, "metrics": [{**RATIO, **accepted}]}, tmp_path)
        return audit(TEN, {**spec, "defaults": accepted}, tmp_path)

    result = judged(0.8)
    assert only(result).status is Status.PASS
    headline = diagnose_by_id(result)[only(result).check.id].headline
    assert headline.endswith("and 5 more), accepted up to 80.0 %")
    # 232 of 292 people are fewer than 79.5 %, and 8 of 10 groups are more.
    refused = judged(0.795)
    assert only(refused).status is Status.INCONCLUSIVE
    assert "than `accept_left_out` accepts" in only(refused).why


def test_what_is_accepted_is_a_share(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=("a share of the people must be between 0 and 1, or 0% and 100%")
    ):
        audit(TEN, {"metrics": [{**RATIO, "accept_left_out": 2}]}, tmp_path)


@pytest.mark.parametrize("policy", ["show", "aside", "drop"])
def test_people_of_unknown_group_are_left_out(policy: str, tmp_path: Path) -> None:
    rows = [*PARITY, ",1,2500", ",0,2500"]
    finding = only(audit(rows, {"missing": {"protected": policy}}, tmp_path))
    assert finding.status is Status.INCONCLUSIVE
    assert counted(finding) == {"unknown_group": 5000}
    assert finding.left_out is not None
    assert (finding.left_out.of_people, finding.left_out.of_groups) == (5120, 2)
    grouped = only(audit(rows, {"missing": {"protected": "group"}}, tmp_path))
    assert (grouped.status, grouped.left_out) == (Status.PASS, None)


@pytest.mark.parametrize(("policy", "reason"), [("aside", "unknown_outcome"), ("drop", "dropped")])
def test_people_without_a_decision_are_left_out(policy: str, reason: str, tmp_path: Path) -> None:
    rows = [*PARITY, "a,,5000", "b,,5000"]
    finding = only(audit(rows, {"missing": {"decision": policy}}, tmp_path))
    assert finding.status is Status.INCONCLUSIVE
    assert counted(finding) == {reason: 10000}
    assert finding.left_out is not None
    assert (finding.left_out.people, finding.left_out.of_people) == (10000, 10120)


@pytest.mark.parametrize(("policy", "reason"), [("aside", "unknown_outcome"), ("drop", "dropped")])
def test_people_without_a_label_are_left_out_of_rates_among_it(
    policy: str, reason: str, tmp_path: Path
) -> None:
    """Of the true positive rate 40 people with a negative label are not in question."""
    rows = [f"{g},{y},{d},10" for g in "ab" for y in (1, 0) for d in (1, 0)]
    rows += ["a,,1,200", "b,,0,200"]
    columns = {**COLUMNS, "label": {"column": "l", "positive": 1}}
    metrics = [{"metric": "equal_opportunity_difference", "fail": {"above": 0.1}}]
    spec = {"columns": columns, "metrics": metrics, "missing": {"label": policy}}
    finding = only(audit(rows, spec, tmp_path, "g,l,y,n"))
    assert finding.status is Status.INCONCLUSIVE
    assert counted(finding) == {reason: 400}
    assert finding.left_out is not None
    assert finding.left_out.of_people == 440


def test_rows_that_a_filter_cannot_decide_are_left_out(tmp_path: Path) -> None:
    rows = [*(f"{row},20" for row in PARITY), "a,1,100,", "b,0,300,"]
    finding = only(audit(rows, {"filter": "age > 10"}, tmp_path, f"{HEAD},age"))
    assert finding.status is Status.INCONCLUSIVE
    assert counted(finding) == {"undecided": 400}
    away = [*(f"{row},20" for row in PARITY), "a,1,100,5", "b,0,300,5"]
    finding = only(audit(away, {"filter": "age > 10"}, tmp_path, f"{HEAD},age"))
    assert (finding.status, finding.left_out) == (Status.PASS, None)


@pytest.mark.parametrize("policy", ["show", "aside"])
def test_people_in_strata_that_nothing_is_judged_in_are_left_out(
    policy: str, tmp_path: Path
) -> None:
    """Of 120 people the stratum is x, of 300 it is not known, and in z there is one group."""
    rows = [*(f"{row},x" for row in PARITY), "a,1,100,", "b,0,200,", "a,0,7,z"]
    spec = {
        "columns": {**COLUMNS, "strata": ["s"]},
        "metrics": [{**RATIO, "given": "s"}],
        "missing": {"strata": policy},
    }
    finding = only(audit(rows, spec, tmp_path, f"{HEAD},s"))
    assert finding.status is Status.INCONCLUSIVE
    assert counted(finding) == {"unknown_stratum": 300, "stratum": 7}
    assert finding.left_out is not None
    assert finding.left_out.of_people == 427


def test_few_are_counted_and_not_told_in_the_headline(tmp_path: Path) -> None:
    """813 of 8,793 people have neither sex nor outcome: a pass that the report puts in doubt."""
    rows = ["F,1,2440", "F,0,353", "M,1,4425", "M,0,762", "Unknown,,813"]
    columns = {**COLUMNS, "protected": {"g": {"unknown": "Unknown"}}}
    result = audit(rows, {"columns": columns, "missing": {"decision": "aside"}}, tmp_path)
    finding = only(result)
    assert finding.status is Status.PASS
    assert counted(finding) == {"unknown_group": 813}
    explanation = diagnose_by_id(result)[finding.check.id]
    assert "left out" not in explanation.headline
    assert "the verdict could change" in explanation.sentence


def test_outcomes_that_cannot_turn_the_verdict_leave_nothing_open(tmp_path: Path) -> None:
    """All of 60 % without an outcome may be selected or not: the gap stays below 0.9."""
    rows = ["a,1,60", "a,0,60", "a,,180", "b,1,60", "b,0,60", "b,,180"]
    metric = {"metric": "demographic_parity_difference", "fail": {"above": 0.9}}
    spec = {"metrics": [metric], "missing": {"decision": "aside"}}
    finding = only(audit(rows, spec, tmp_path))
    assert finding.missing is not None
    assert not finding.missing.turns
    assert finding.status is Status.PASS
    assert counted(finding) == {"unknown_outcome": 360}
    near = {**spec, "metrics": [{**metric, "fail": {"above": 0.5}}]}
    assert only(audit(rows, near, tmp_path)).status is Status.INCONCLUSIVE


def test_the_same_verdict_is_that_of_the_groups_there_are(tmp_path: Path) -> None:
    """Ten people of unknown group, none of them selected, may be a group of their own."""
    rows = ["a,1,500", "a,0,500", "b,1,500", "b,0,500", ",0,10"]
    result = audit(rows, {}, tmp_path)
    assert only(result).status is Status.PASS
    sentence = diagnose_by_id(result)[only(result).check.id].sentence
    assert "; the verdict is the same if all of them are in the compared groups" in sentence
    failed = audit([*rows, "c,0,500"], {}, tmp_path)
    sentence = diagnose_by_id(failed)[only(failed).check.id].sentence
    assert "; the verdict is the same" in sentence
    assert "in the compared groups" not in sentence


def test_a_failure_stays_one_and_says_whom_it_leaves_out(tmp_path: Path) -> None:
    rows = ["a,1,30", "a,0,30", "b,1,10", "b,0,50", ",1,2500"]
    result = audit(rows, {}, tmp_path)
    assert only(result).status is Status.FAIL
    headline = diagnose_by_id(result)[only(result).check.id].headline
    assert headline.endswith("; 2,500 of 2,620 people (95.4 %) are left out: with unknown group")


@pytest.mark.parametrize(
    "limits",
    [
        {"simpson": {"fail": "every_stratum"}},
        {"simpson": False, "subgroups": {"fail": "> 0.5", "min_size": 10}},
    ],
)
def test_a_search_that_most_people_are_left_out_of_is_no_pass(
    limits: Mapping[str, Any], tmp_path: Path
) -> None:
    rows = [f"{row},{s}" for row in PARITY for s in "xy"]
    spec = {"columns": {**COLUMNS, "strata": ["s"]}, "metrics": ["selection_rate"], **limits}
    head = f"{HEAD},s"
    assert only(audit(rows, spec, tmp_path, head)).status is Status.PASS
    spec = {**spec, "missing": {"decision": "drop"}}
    lost = [*rows, "a,,1000,x"]
    finding = only(audit(lost, spec, tmp_path, head))
    assert (finding.status, counted(finding)) == (Status.INCONCLUSIVE, {"dropped": 1000})
    accepted = {**spec, "defaults": {"accept_left_out": 0.95}}  # of a in x 1,000 of 1,060
    assert only(audit(lost, accepted, tmp_path, head)).status is Status.PASS


def test_whom_a_waiver_excludes_is_not_left_out(tmp_path: Path) -> None:
    (tmp_path / "waivers.yaml").write_text(
        yaml.safe_dump(
            [
                {
                    "check": "demographic_parity_ratio/g/decision",
                    "group": {"g": "c"},
                    "reason": "known",
                    "approved_by": "me",
                    "expires": "2999-01-01",
                }
            ]
        )
    )
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    spec = {
        "columns": COLUMNS,
        "metrics": [metric],
        "simpson": False,
        "waivers": "waivers.yaml",
        "data": "d.csv",
    }
    (tmp_path / "d.csv").write_text("\n".join([HEAD, *PARITY, "c,0,900", ""]), "utf-8")
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(spec), "utf-8")
    finding = only(fairaudit.audit(tmp_path / "s.yaml"))
    assert (finding.status, finding.left_out) == (Status.WAIVED, None)


def test_the_last_line_and_the_json_say_who_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = {"columns": COLUMNS, "metrics": [RATIO], "data": "d.csv", "groups": {"min_size": 30}}
    (tmp_path / "d.csv").write_text("\n".join([HEAD, *TEN, ""]), "utf-8")
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(spec), "utf-8")
    report = tmp_path / "r.json"
    assert cli.run_line(["run", str(tmp_path / "s.yaml"), "-q", "-o", str(report)]) == 3
    last = capsys.readouterr().err.splitlines()[-1]
    assert "; 232 of 292 people (79.5 %) and 8 of 10 groups are left out: " in last
    (check,) = json.loads(report.read_text("utf-8"))["checks"]
    left_out = check["left_out"]
    assert [left_out[key] for key in ("people", "of_people", "groups", "of_groups")] == [
        232, 292, 8, 10,
    ]  # fmt: skip
    (reason,) = left_out["reasons"]
    assert (reason["reason"], reason["people"], len(reason["groups"])) == ("too_small", 232, 8)
    result = fairaudit.load(report)
    assert result.findings[0].left_out == only(fairaudit.audit(tmp_path / "s.yaml")).left_out


def test_a_published_report_keeps_the_status_and_tells_no_count(tmp_path: Path) -> None:
    rows = [*PARITY, "a,,5000", "b,,5003"]
    spec = {"missing": {"decision": "drop"}, "suppress_below": 11}
    result = audit(rows, spec, tmp_path)
    assert only(result).status is Status.INCONCLUSIVE
    assert result.exit_code == 3
    people = only(result).left_out
    assert people is not None
    assert people.people is people.of_people is people.groups is people.of_groups is None
    assert people.reasons == ()
    assert "groups, or a quarter of a group, may be left out (numbers are" in headline(only(result))
    path = tmp_path / "r.json"
    path.write_text(report_json.render(result), "utf-8")
    assert fairaudit.load(path).findings[0].left_out == people
    few = audit([*PARITY, "a,,5"], spec, tmp_path)
    assert only(few).left_out is None


RATE = {"metric": "selection_rate", "fail": {"below": 0.1}}
HUNDRED = [f"{g},{y},50,u,5" for g in "ab" for y in (1, 0)]
FEW: dict[str, tuple[str, float, dict[str, Any], dict[str, Any]]] = {
    "dropped": ("a,,{},u,5", 4.5 / 204.5, {}, {"missing": {"decision": "drop"}}),
    "dropped by two rules": (
        "a,,{},u,5\na,1,10,u,", 14.5 / 214.5, {},
        {"missing": {"decision": "drop"}, "filter": "x > 1"},
    ),
    "undecided": ("a,1,{},u,", 4.5 / 204.5, {}, {"filter": "x > 1"}),
    "a group that is dropped": (
        "c,,{},u,5", 0.9, {}, {"missing": {"decision": "drop"}, "groups": {"min_size": 5}},
    ),
    "a small group": ("c,1,{},u,5", 0.32, {}, {"groups": {"min_size": 5}}),
    "an excluded group": (
        "c,1,{},u,5", 0.32, {}, {"groups": {"exclude_below": {"share": "2%", "reason": "rule"}}},
    ),
    "without a stratum": ("a,1,{},,5", 4.5 / 204.5, {"given": "s"}, {}),
    # 50 of 104 selected people are 48.1 %, and 50 of 105 are 47.6 %.
    "without a decision": (
        "a,,{},u,5", 0.01, {"fail": {"below": 0.48}}, {"missing": {"decision": "aside"}},
    ),
    "neither positive nor negative": (
        "a,?,{},u,5", 0.5, {"fail": {"below": 0.48}}, {"others": "drop"},
    ),
}  # fmt: skip
"""Rows of 1 to 10 people, what the check accepts, what else it asks, and the rest of the spec."""


@pytest.mark.long
@pytest.mark.parametrize("way", FEW)
def test_no_published_status_shows_how_few_are_left_out(way: str, tmp_path: Path) -> None:
    """Without suppression it turns between 1 and 10 people: it would show a hidden count."""
    row, accepted, asked, more = FEW[way]
    decision = {**COLUMNS["decision"], "negative": 0}  # type: ignore[dict-item]
    if others := more.get("others"):
        decision, more = {**decision, "others": others}, {}
    columns = {**COLUMNS, "decision": decision, "strata": ["s"]}
    entry = {**RATE, "by": "g", **asked, "accept_left_out": accepted}
    spec: dict[str, Any] = {"columns": columns, "metrics": [entry], **more}
    told = [
        {
            only(audit([*HUNDRED, row.format(few)], asked, tmp_path, f"{HEAD},s,x")).status
            for few in sampled(range(1, 11))
        }
        for asked in (spec, {**spec, "suppress_below": 11})
    ]
    assert told == [{Status.PASS, Status.INCONCLUSIVE}, {Status.INCONCLUSIVE}]


def test_where_nobody_is_missing_nobody_is_left_out(tmp_path: Path) -> None:
    """Of measures of every kind, within strata, averaged, by class and at a threshold."""
    draw = Random(3)
    rows = [
        f"{draw.choice('ab')},{draw.choice('xy')},{draw.choice('01')},{draw.choice('01')},"
        f"{draw.random():.2f}"
        for _ in range(300)
    ]
    columns = {
        "protected": ["g"],
        "strata": ["s"],
        "label": {"column": "l", "positive": 1},
        "prediction": {"column": "y", "positive": 1},
        "score": "c",
    }
    metrics = [
        {**metric, "fail": {"above": limit}}
        for metric, limit in (
            ({"metric": "demographic_parity_difference"}, 0.99),
            ({"metric": "demographic_parity_difference", "given": "s"}, 0.99),
            ({"metric": "demographic_parity_difference", "given": "s", "average": "pooled"}, 0.99),
            ({"metric": "equalized_odds_difference", "class": 1}, 0.99),
            ({"metric": "equalized_odds_difference", "at": [0.5]}, 0.99),
            ({"metric": "bias_amplification", "at": [0.5]}, 9),
            ({"metric": "differential_fairness"}, 9),
            ({"metric": "auc"}, 0.99),
            ({"metric": "f1", "class": "macro"}, 0.99),
            ({"metric": "group_size"}, 999),
        )
    ]
    spec = {"columns": columns, "metrics": metrics}
    result = audit(rows, spec, tmp_path, "g,s,l,y,c")
    assert len(result.findings) == len(metrics)
    assert {finding.left_out for finding in result.findings} == {None}


def oracle(
    rows: Sequence[Mapping[str, Any]], least: int, *, among_positive: bool, by: str | None = None
) -> dict[str, float]:
    """Who is left out of a comparison of selection or true positive rates, or sums of a column."""
    asked = [row for row in rows if not among_positive or row["l"] != 0]
    is_open = [row["d"] is None or (among_positive and row["l"] is None) for row in asked]
    n = Counter(row["g"] for row, lacks in zip(asked, is_open, strict=True) if not lacks)
    out: dict[str, float] = dict.fromkeys(
        ("unknown_group", "too_small", "unknown_outcome", "of"), 0
    )
    for row, lacks in zip(asked, is_open, strict=True):
        size = 1 if by is None else row[by]
        out["of"] += size
        if row["g"] is None:
            out["unknown_group"] += size
        elif n[row["g"]] < least:
            out["too_small"] += size
        elif lacks:
            out["unknown_outcome"] += size
    return {key: number for key, number in out.items() if number}


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(30, quick=4))
@pytest.mark.parametrize("among_positive", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_count_is_that_of_a_slow_one(
    seed: int, *, among_positive: bool, weighted: bool
) -> None:
    draw = Random(seed)
    rows: list[dict[str, Any]] = [
        {
            "g": draw.choices(["a", "b", "c", "d", None], [30, 30, 5, 3, 10])[0],
            "l": draw.choice([0, 1, 1, None]),
            "d": draw.choice([0, 0, 1, 1, None]),
            "w": draw.choice([0.25, 1.0, 8.0]),
        }
        for _ in range(draw.randrange(60, 160))
    ]
    rows += [{"g": g, "l": 1, "d": d, "w": 1.0} for g in "ab" for d in (0, 1) for _ in range(8)]
    least = draw.choice([1, 5, 10])
    metric = "true_positive_rate" if among_positive else "selection_rate"
    spec = {
        "columns": {
            "protected": ["g"],
            "label": {"column": "l", "positive": 1},
            "prediction": {"column": "d", "positive": 1},
            **({"weight": "w"} if weighted else {}),
        },
        "metrics": [{"metric": metric, "compare": "gap", "fail": {"above": 0.99}}],
        "groups": {"min_size": least},
        "missing": {"prediction": "aside"},
        "simpson": False,
    }
    finding = only(fairaudit.audit(spec, pl.DataFrame(rows)))
    expected = oracle(rows, least, among_positive=among_positive)
    of = expected.pop("of")
    assert counted(finding) == expected
    if finding.left_out is not None:
        assert finding.left_out.of_people == of
        assert finding.left_out.people == sum(expected.values())
        groups, of_groups = finding.left_out.groups, finding.left_out.of_groups
        assert groups is not None
        assert of_groups is not None
        people = Fraction(int(sum(expected.values())), int(of))
        share = max(people, Fraction(groups, of_groups))
        weights = {str(part.reason): part.weight for part in finding.left_out.reasons}
        if weighted:
            sums = oracle(rows, least, among_positive=among_positive, by="w")
            assert weights == pytest.approx({key: sums[key] / sums["of"] for key in weights})
            lacking = sum((Fraction(sums[key]) for key in weights), Fraction(0))
            share = max(share, lacking / Fraction(sums["of"]))
        else:
            assert {*weights.values()} == {None}
        assert finding.left_out.find_share() == pytest.approx(share)
        assert finding.left_out.is_notable is (share > Fraction(1, 10))
        no_outcome = finding.left_out.find_share(LeftOutReason.UNKNOWN_OUTCOME)
        assert no_outcome <= share + 1e-9


def test_a_check_of_a_fifth_of_the_weight_is_no_pass(tmp_path: Path) -> None:
    """160 people of weight 1 are judged, and 40 of weight 16 have no decision: 640 of 800."""
    rows = [f"{g},{d},40,1" for g in "ab" for d in (0, 1)] + ["a,,20,16", "b,,20,16"]
    spec = {"columns": {**COLUMNS, "weight": "w"}, "missing": {"decision": "aside"}}
    found = only(audit(rows, spec, tmp_path, "g,y,n,w"))
    assert found.status is Status.INCONCLUSIVE
    assert found.left_out is not None
    assert (found.left_out.people, found.left_out.of_people) == (40, 200)
    assert found.left_out.weight == pytest.approx(0.8)
    accepted = {**spec, "metrics": [{**RATIO, "accept_left_out": 0.8}]}
    assert only(audit(rows, accepted, tmp_path, "g,y,n,w")).status is not Status.INCONCLUSIVE


@pytest.mark.parametrize(
    ("metric", "lacks"),
    [
        ({"metric": "consistency", "fail": {"below": 0.1}}, "x"),
        ({"metric": "lipschitz_violations", "fail": {"above": 0.9}}, "x"),
        ({"metric": "situation_testing", "reference": "a", "fail": {"above": 0.9}}, "x"),
        ({"metric": "balanced_error_rate", "fail": {"above": 0.9}}, "x"),
        ({"metric": "consistency", "fail": {"below": 0.1}}, "d"),
        ({"metric": "regression_slope", "reference": "a", "fail": {"outside": [-9, 9]}}, "c"),
        ({"metric": "mean_score", "fail": {"outside": [-9, 9]}}, "c"),
    ],
)
def test_people_without_a_feature_or_a_score_are_left_out(
    metric: dict[str, Any], lacks: str
) -> None:
    """Of 120 people 80 lack what the measure is computed from."""
    people = [{"g": "ab"[i % 2], "d": i // 2 % 2, "x": i / 10, "c": i / 200} for i in range(120)]
    rows = [{**row, lacks: row[lacks] if i < 40 else None} for i, row in enumerate(people)]
    spec: dict[str, Any] = {
        "columns": {
            "protected": ["g"],
            "prediction": {"column": "d", "positive": 1},
            **({"score": "c"} if lacks == "c" else {"features": {"numeric": ["x"]}}),
        },
        "missing": {"prediction": "aside", **({"score": "aside"} if lacks == "c" else {})},
        "metrics": [metric],
        "simpson": False,
    }
    found = only(fairaudit.audit(spec, pl.DataFrame(rows)))
    assert counted(found) == {"unknown_outcome": 80}
    assert found.left_out is not None
    assert found.left_out.of_people == 120
    assert found.status is Status.INCONCLUSIVE


LACKING = ("label", "score")
"""What 260 of 360 women lack, in the tests below."""


@pytest.mark.parametrize(
    "metric",
    [
        {"metric": "auc", "compare": "difference", "fail": {"outside": [-0.9, 0.9]}},
        {"metric": "mean_score_positives", "compare": "gap", "fail": {"above": 0.9}},
        {"metric": "calibration_in_the_large", "compare": "gap", "fail": {"above": 0.9}},
    ],
)
@pytest.mark.parametrize("lacking", LACKING)
def test_people_without_a_label_are_left_out_of_measures_of_scores(
    metric: dict[str, Any], lacking: str
) -> None:
    rows: dict[str, list[Any]] = {name: [] for name in ("sex", "label", "pred", "score")}
    for sex, n, known in (("M", 100, True), ("F", 100, True), ("F", 260, False)):
        for number in range(n):
            label = str(number % 2)
            rows["sex"].append(sex)
            rows["label"].append(label if known or lacking != "label" else None)
            rows["pred"].append(label)
            has_score = known or lacking != "score"
            rows["score"].append((number % 10) / 10 if has_score else None)
    spec = {
        "columns": {
            "protected": {"sex": {"reference": "M"}},
            "label": {"column": "label", "positive": "1", "negative": "0"},
            "prediction": {"column": "pred", "positive": "1", "negative": "0"},
            "score": "score",
        },
        "missing": {"label": "aside", "score": "aside"},
        "metrics": [metric],
        "simpson": False,
    }
    (finding,) = fairaudit.audit(spec, rows).findings
    assert finding.left_out is not None
    assert finding.left_out.people is not None
    assert finding.left_out.people >= 130  # at the least the women whose label is positive
    assert finding.status == "inconclusive"


@pytest.mark.parametrize(("blank", "exit_code"), [(False, 1), (True, 3)])
def test_people_without_a_stratum_are_left_out_of_a_scan_for_reversals(
    blank: bool, exit_code: int
) -> None:
    """A gap that every stratum turns; the 80 of 1,000 people whose stratum is known show none."""
    cells = [("M", "x", 270, 30), ("M", "y", 20, 180), ("F", "x", 94, 10), ("F", "y", 60, 340)]
    rows: dict[str, list[Any]] = {name: [] for name in ("sex", "br", "pred")}
    for sex, br, selected, others in cells:
        for pred, n in (("1", selected), ("0", others)):
            for number in range(n):
                rows["sex"].append(sex)
                rows["br"].append(None if blank and number >= 10 else br)
                rows["pred"].append(pred)
    spec = {
        "columns": {
            "protected": {"sex": {"reference": "M"}},
            "prediction": {"column": "pred", "positive": "1"},
            "strata": ["br"],
        },
        "missing": {"strata": "aside"},
        "metrics": ["selection_rate"],
        "simpson": {"fail": True},
    }
    assert fairaudit.audit(spec, rows).exit_code == exit_code


SMALL = {"exclude_below": {"share": 0.02, "reason": "rule"}}
MEN = [f"m,{y},1,100,x,5" for y in (1, 0)]
WOMEN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "decision: drop": ("w,,1,{},x,5", {"missing": {"decision": "drop"}}, {}),
    "decision: aside": ("w,,1,{},x,5", {"missing": {"decision": "aside"}}, {}),
    "others: drop": ("w,?,1,{},x,5", {}, {"fail": {"below": 0.4}}),
    "filter": ("w,1,1,{},x,", {"filter": "age > 1"}, {}),
    "label: drop": ("w,1,,{},x,5", {"missing": {"label": "drop"}}, {}),
    "label: aside": (
        "w,1,,{},x,5", {"missing": {"label": "aside"}},
        {"metric": "equal_opportunity_difference", "fail": {"above": 0.2}},
    ),
    "strata: drop": ("w,1,1,{},,5", {"missing": {"strata": "drop"}}, {"given": "s"}),
    "strata: aside": ("w,1,1,{},,5", {"missing": {"strata": "aside"}}, {"given": "s"}),
    "strata of one group": ("w,1,1,{},z,5", {}, {"given": "s"}),
    "min_size": (
        "w,1,1,{},z,5\nm,1,1,500,z,5\nv,1,1,500,z,5", {"groups": {"min_size": 26}}, {"given": "s"},
    ),
    "exclude_below": (
        "w,1,1,{},,5\nv,1,1,3,x,5",
        {"missing": {"strata": "aside"}, "groups": SMALL},
        {"given": "s"},
    ),
}  # fmt: skip
"""Rows of some women who are left out, and the spec that leaves them out."""


LIMIT: dict[str, Any] = {"metric": "impact_ratio", "fail": {"below": 0.6}}


def audit_women(way: str, out: int, tmp_path: Path, **more: Any) -> AuditResult:
    """200 men, and 26 women who are judged, half of each selected; `out` women are left out."""
    row, spec, metric = WOMEN[way]
    decision = {"column": "y", "positive": 1, "negative": 0, "others": "drop"}
    entry = {**LIMIT, **metric, **more}
    columns = {"protected": ["g"], "label": {"column": "l", "positive": 1}, "decision": decision,
               "strata": ["s"], "count": "n"}  # fmt: skip
    rows = [*MEN, "w,1,1,13,x,5", "w,0,1,13,x,5", row.format(out)]
    spec = {**spec, "columns": columns, "metrics": [entry]}
    return audit(rows, spec, tmp_path, "g,y,l,n,s,age")


@pytest.mark.long
@pytest.mark.parametrize("way", [way for way in WOMEN if way != "min_size"])
def test_half_of_one_group_left_out_is_no_pass(way: str, tmp_path: Path) -> None:
    """26 of 52 women are left out, and fewer than half of all people."""
    result = audit_women(way, 26, tmp_path)
    finding = only(result)
    assert (finding.status, result.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "half or more of the people of g=w are left out" in finding.why
    told = diagnose_by_id(result)[finding.check.id].headline
    assert "and 26 of 52 people of g=w (50.0 %) are left out: " in told
    assert finding.left_out is not None
    (group, *_) = finding.left_out.by_group
    assert (group.group, group.people, group.of_people) == ((("g", "w"),), 26, 52)
    accepted = audit_women(way, 26, tmp_path, accept_left_out=0.6)
    assert (only(accepted).status, accepted.exit_code) == (Status.PASS, 0)


@pytest.mark.parametrize("way", WOMEN)
def test_less_than_half_of_a_group_left_out_is_no_obstacle(way: str, tmp_path: Path) -> None:
    """Of 51 women 25 are left out: in strata where they are fewer than `min_size`, too."""
    if way == "min_size":
        assert counted(only(audit_women(way, 25, tmp_path))) == {"too_small": 25}
    assert only(audit_women(way, 25, tmp_path)).status is Status.PASS


@pytest.mark.parametrize(("out", "is_told"), [(25, True), (9, True), (8, False)])
def test_a_quarter_of_a_group_left_out_is_in_the_headline_of_a_pass(
    out: int, is_told: bool, tmp_path: Path
) -> None:
    """Of 1,000 men nobody is left out; 9 of 35 women are a quarter of them, 8 of 34 are less."""
    rows = ["m,1,500", "m,0,500", "w,1,13", "w,0,13", f"w,,{out}"]
    spec = {"metrics": [LIMIT], "missing": {"decision": "drop"}}
    result = audit(rows, spec, tmp_path)
    assert only(result).status is Status.PASS
    told = diagnose_by_id(result)[only(result).check.id].headline
    assert (f"and {out} of {26 + out} people of g=w (" in told) is is_told


def test_half_of_the_weight_of_a_group_is_half_of_it(tmp_path: Path) -> None:
    """Of 60 women the 10 without a decision weigh 5 each, as much as the others together."""
    rows = [*(f"m,{y},200,1" for y in (1, 0)), "w,1,25,1", "w,0,25,1", "w,,10,{}"]
    spec = {"columns": {**COLUMNS, "weight": "w"}, "missing": {"decision": "drop"}}
    for weight, status in ((5, Status.INCONCLUSIVE), (4, Status.PASS)):
        found = audit([row.format(weight) for row in rows], spec, tmp_path, "g,y,n,w")
        assert only(found).status is status


def test_a_waived_group_that_loses_half_leaves_nothing_open(tmp_path: Path) -> None:
    waiver = {"check": "demographic_parity_ratio/g/decision", "group": {"g": "c"}}
    waiver |= {"reason": "known", "approved_by": "me", "expires": "2999-01-01"}
    (tmp_path / "waivers.yaml").write_text(yaml.safe_dump([waiver]), "utf-8")
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    spec = {"columns": COLUMNS, "metrics": [metric], "simpson": False, "data": "d.csv",
            "missing": {"decision": "drop"}, "waivers": "waivers.yaml"}  # fmt: skip
    (tmp_path / "d.csv").write_text("\n".join([HEAD, *PARITY, "c,0,20", "c,,40", ""]), "utf-8")
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(spec), "utf-8")
    assert only(fairaudit.audit(tmp_path / "s.yaml")).status is Status.WAIVED


@pytest.mark.parametrize("judged", [1, 3, 7, 10])
def test_no_published_status_shows_how_few_of_a_group_are_judged(
    judged: int, tmp_path: Path
) -> None:
    """10 of them are dropped: half and more of each such group, at any share accepted."""
    rows = [*(f"{g},{y},300" for g in "ab" for y in (1, 0)), f"c,1,{judged}", "c,,4"]
    spec = {"missing": {"decision": "drop"}, "suppress_below": 11}
    for accepted, status in ((0.5, Status.INCONCLUSIVE), (0.9, Status.INCONCLUSIVE),
                             (0.95, Status.PASS)):  # fmt: skip
        metrics = [{**RATIO, "fail": {"below": 0.01}, "accept_left_out": accepted}]
        assert only(audit(rows, {**spec, "metrics": metrics}, tmp_path)).status is status


def test_groups_of_several_columns_are_told_apart() -> None:
    """Of 240 people 20 are in two groups of 10, below `min_size`."""
    cells = {("a", "x"): 110, ("b", "x"): 110, ("a", "y"): 10, ("b", "y"): 10}
    rows = [(g, h, n % 2) for (g, h), people in cells.items() for n in range(people)]
    columns = dict(zip("ghd", map(list, zip(*rows, strict=True)), strict=True))
    spec = {
        "columns": {
            "protected": ["g", "h"],
            "decision": {"column": "d", "positive": 1, "negative": 0},
        },
        "groups": {"min_size": 30},
        "metrics": [{"metric": "demographic_parity_ratio", "by": [["g", "h"]], "fail": "< 0.8"}],
    }
    (finding,) = fairaudit.audit(spec, columns).findings
    assert finding.headline.endswith("in groups that are too small (g=a, h=y; g=b, h=y)")
