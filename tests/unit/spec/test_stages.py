"""Stages of a process: each is an outcome, whose rate is the share of people who reached it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.report.headlines import headline

ORDER = ["applied", "interviewed", "offered", "hired"]


def spec_of(order: list[str], **columns: Any) -> dict[str, Any]:
    return {
        "columns": {"protected": ["g"], "stages": {"column": "stage", "order": order}} | columns,
        "metrics": [{"metric": "impact_ratio", "by": "g", "fail": "< 0.5"}],
        "simpson": False,
    }


def test_each_stage_has_rates_and_a_check() -> None:
    made = random.Random(4)
    rows = [(made.choice("ab"), made.choice(ORDER)) for _ in range(200)]
    frame = pl.DataFrame(rows, schema=["g", "stage"], orient="row")
    result = fairaudit.audit(spec_of(ORDER), frame)
    people = Counter(g for g, _ in rows)
    for number, stage in enumerate(ORDER[1:], start=1):
        reached = Counter(g for g, last in rows if last in ORDER[number:])
        found = {
            row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
            for row in result.rates
            if row.of == stage and row.group
        }
        assert found == {g: (reached[g], n) for g, n in people.items()}
        (finding,) = [one for one in result.findings if one.check.of == stage]
        low, high = sorted(reached[g] / people[g] for g in "ab")
        assert finding.value == pytest.approx(low / high)
    assert not [n for n in result.notices if "select different shares" in str(n)]
    # Of one step: the people of the stage before are those whom a filter keeps.
    step = fairaudit.audit(spec_of(ORDER[1:]) | {"filter": "stage <> 'applied'"}, frame)
    interviewed = Counter(g for g, last in rows if last != "applied")
    assert {
        row.group[0][1]: row.estimate.denominator
        for row in step.rates
        if row.of == "offered" and row.group
    } == interviewed


def test_people_whose_value_is_no_stage_are_left_out_on_request() -> None:
    stages = ["applied", "hired", "Withdrawn", "hired"]
    frame = pl.DataFrame({"g": [*"aabb"] * 10, "stage": stages * 10})
    spec = spec_of(["applied", "hired"])
    with pytest.raises(SpecError, match=r"'Withdrawn'; add them to .* to `order`"):
        fairaudit.audit(spec, frame)
    spec["columns"]["stages"]["others"] = "drop"
    result = fairaudit.audit(spec, frame)
    rates = {row.group[0][1]: row.estimate for row in result.rates if row.group}
    assert {g: (one.numerator, one.denominator) for g, one in rates.items()} == {
        "a": (10, 20),
        "b": (10, 10),
    }


@pytest.mark.parametrize(
    ("order", "columns", "words"),
    [
        (["applied"], {}, "list two or more different stages"),
        (["applied", "hired", "hired"], {}, "list two or more different stages"),
        (ORDER, {"decision": "d"}, "`stages` replaces `decision`"),
        (ORDER, {"models": {"x": {"score": "s"}}}, "`stages` replaces `models`"),
        (ORDER, {"strata": ["hired"]}, "'hired' is already the name of a stratum"),
    ],
)
def test_faults_of_stages(order: list[str], columns: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        fairaudit.audit(spec_of(order, **columns), pl.DataFrame())


def make_applicants(seed: int, n: int = 600) -> pl.DataFrame:
    """Applicants by group, job, weight and last stage; nobody of group c gets an interview."""
    made = random.Random(seed)
    chances = {"a": 0.7, "b": 0.5, "c": 0.0}
    rows = []
    for _ in range(n):
        g = made.choice("abc")
        number = 0
        while number < len(ORDER) - 1 and made.random() < chances[g]:
            number += 1
        stage = None if made.random() < 0.02 else ORDER[number]
        rows.append((g, made.choice(["x", "y"]), made.choice([1, 2.5]), stage))
    return pl.DataFrame(rows, schema=["g", "job", "w", "stage"], orient="row")


def test_a_step_counts_the_people_who_reached_the_stage_before() -> None:
    frame = make_applicants(1)
    spec = spec_of(ORDER) | {"missing": {"prediction": "aside"}}
    spec["metrics"] = [{"metric": "selection_rate", "by": "g"}]
    result = fairaudit.audit(spec, frame)
    assert [*dict.fromkeys(row.of for row in result.rates)] == [
        "interviewed", "offered", "offered among interviewed", "hired", "hired among offered",
    ]  # fmt: skip
    rows = frame.rows()
    for stage, before in (("offered", "interviewed"), ("hired", "offered")):
        for g in "abc":
            (row,) = [
                row
                for row in result.rates
                if row.of == f"{stage} among {before}" and row.group == (("g", g),)
            ]
            asked = [last for of, *_, last in rows if of == g and last in ORDER]
            asked = [last for last in asked if ORDER.index(last) >= ORDER.index(before)]
            having = [last for last in asked if ORDER.index(last) >= ORDER.index(stage)]
            if g == "c":
                assert str(row.estimate.state) == "undefined"
                continue
            estimate = row.estimate
            assert (estimate.numerator, estimate.denominator) == (len(having), len(asked))


@pytest.mark.parametrize("columns", [{}, {"weight": "w"}, {"strata": ["job"]}])
def test_a_step_is_the_outcome_of_those_whom_a_filter_keeps(columns: dict[str, Any]) -> None:
    """The same numbers, intervals and tests as an audit of the people who reached the stage."""
    frame = make_applicants(2).drop_nulls()
    given = {"given": "job"} if "strata" in columns else {}
    metrics = [
        {"metric": name, "by": "g", "of": "hired among offered", **given}
        for name in ("impact_ratio", "demographic_parity_difference", "selection_rate")
    ]
    spec = spec_of(ORDER, **columns) | {"metrics": metrics, "groups": {"min_size": 1}}
    step = fairaudit.audit(spec, frame)
    plain = spec | {"filter": "stage in ('offered', 'hired')"}
    decision = {"column": "stage", "positive": "hired", "negative": "offered"}
    plain["columns"] = {"protected": ["g"], "decision": decision, **columns}
    plain["metrics"] = [{**metric, "of": "decision"} for metric in metrics]
    alone = fairaudit.audit(plain, frame)
    for name in ("rates", "comparisons"):
        numbers = [
            [
                (row.metric, row.group, row.stratum, row.estimate)
                for row in getattr(result, name)
                if row.of in {"hired among offered", "decision"} and row.group != (("g", "c"),)
            ]
            for result in (step, alone)
        ]
        assert numbers[0] == numbers[1]


def test_a_check_of_a_step_is_open_if_nobody_of_a_group_reached_it() -> None:
    spec = spec_of(ORDER)
    spec["metrics"][0]["of"] = "hired among offered"
    (finding,) = fairaudit.audit(spec, make_applicants(3).drop_nulls()).findings
    assert str(finding.status) == "inconclusive"
    assert "no people to count in g=c" in finding.why
    (finding,) = fairaudit.audit(
        spec | {"groups": {"min_size": 1}}, make_applicants(3).drop_nulls()
    ).findings
    assert str(finding.status) != "inconclusive"


@pytest.mark.parametrize(("interviewed", "status"), [("ab", "pass"), ("a", "inconclusive")])
def test_groups_that_never_reach_a_step_are_left_out(interviewed: str, status: str) -> None:
    """`min_size` sets them aside; the check says so, and stays open if they are most groups."""
    rows = [(g, stage) for g in interviewed for stage in ("interviewed", "offered")] * 30
    rows += [("d", "interviewed"), ("d", "offered")] * 30 if status == "inconclusive" else []
    rows += [(g, "applied") for g in "abc" + "e" * (status == "inconclusive")] * 50
    spec = spec_of(ORDER) | {"groups": {"min_size": 5}}
    spec["metrics"][0]["of"] = "offered among interviewed"
    result = fairaudit.audit(spec, pl.DataFrame(rows, schema=["g", "stage"], orient="row"))
    (finding,) = result.findings
    assert str(finding.status) == status
    assert finding.left_out is not None
    (part,) = finding.left_out.reasons
    assert (str(part.reason), part.people) == ("not_reached", 0)
    never = {(("g", g),) for g in "abce" if g not in interviewed and (g != "e" or status != "pass")}
    assert {*part.groups} == never
    numbers = f"{len(never)} of {len(never) + 2} groups are left out: groups to which the outcome"
    assert numbers in headline(finding)


def test_nobody_reaches_a_late_stage() -> None:
    frame = pl.DataFrame({"g": [*"abab"], "stage": ["applied", "interviewed"] * 2})
    result = fairaudit.audit(spec_of(ORDER), frame)
    (row,) = [
        row
        for row in result.rates
        if row.of == "offered among interviewed" and row.group == (("g", "a"),)
    ]
    assert str(row.standing) == "empty"
    (check,) = [one for one in result.findings if one.check.of == "hired among offered"]
    assert str(check.status) == "inconclusive"
