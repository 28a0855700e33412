"""Gates that passed: groups that missing outcomes lift, and totals next to scores and filters."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Status
from fairaudit.judge.left_out import LeftOutReason

People = list[tuple[str, int | None, int]]


def frame(people: People) -> pl.DataFrame:
    rows = [(race, outcome) for race, outcome, n in people for _ in range(n)]
    return pl.DataFrame(rows, schema=["race", "d"], orient="row")


def audit(people: People, metric: dict[str, Any], **more: Any) -> fairaudit.AuditResult:
    decision = {"column": "d", "positive": 1}
    spec: dict[str, Any] = {
        "columns": {"protected": ["race"], "decision": decision},
        "missing": {"decision": "aside"},
        "groups": {"min_size": 30},
        "metrics": [metric],
        **more,
    }
    return fairaudit.audit(spec, frame(people))


KNOWN: People = [("W", 1, 50), ("W", 0, 50), ("A", 1, 48), ("A", 0, 52), ("H", 1, 25), ("H", 0, 2)]


def test_missing_outcomes_could_lift_a_group_into_epsilon() -> None:
    metric = {"metric": "differential_fairness", "fail": {"above": 0.3}}
    result = audit([*KNOWN, ("H", None, 4)], metric)
    (found,) = result.findings
    assert found.status is Status.PASS
    assert found.missing is not None
    assert found.missing.turns
    # All four get the benefit: 29 of 31, and no benefit for 2 of 31.
    worst = math.log(0.52 / (2 / 31))
    assert found.missing.high == pytest.approx(worst)
    (filled,) = audit([*KNOWN, ("H", 1, 4)], metric).findings
    assert filled.status is Status.FAIL
    # Two more people are too few.
    (small,) = audit([*KNOWN, ("H", None, 2)], metric).findings
    assert small.missing is None or not small.missing.turns


LIFTED: People = [
    ("W", 1, 100), ("W", 0, 100), ("A", 1, 90), ("A", 0, 110), ("B", 1, 20), ("B", 0, 80),
    ("H", 1, 2), ("H", 0, 24),
]  # fmt: skip
RATIO: dict[str, Any] = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}


@pytest.mark.parametrize(("missing", "turns"), [(6, True), (2, False)])
def test_a_waiver_does_not_hide_a_group_that_missing_outcomes_could_lift(
    missing: int, turns: bool, tmp_path: Path
) -> None:
    waiver = '[{"check": "demographic_parity_ratio/race/decision", "group": {"race": "B"}, '
    waiver += '"reason": "known", "approved_by": "X", "expires": "2999-01-01"}]'
    (tmp_path / "waivers.yaml").write_text(waiver)
    waivers = str(tmp_path / "waivers.yaml")
    (found,) = audit([*LIFTED, ("H", None, missing)], RATIO, waivers=waivers).findings
    assert found.status is Status.WAIVED
    assert bool(found.missing and found.missing.turns) == turns


@pytest.mark.parametrize(("missing", "turns"), [(6, True), (2, False)])
def test_a_baseline_does_not_hide_a_group_that_missing_outcomes_could_lift(
    missing: int, turns: bool
) -> None:
    people: People = [*LIFTED, ("H", None, missing)]
    decision = {"column": "d", "positive": 1}
    spec = {
        "columns": {"protected": ["race"], "decision": decision},
        "missing": {"decision": "aside"}, "groups": {"min_size": 30}, "metrics": [RATIO],
    }  # fmt: skip
    before = fairaudit.audit(spec, frame(people))
    (found,) = fairaudit.audit(spec, frame(people), baseline=before).findings
    assert found.status is not Status.FAIL
    assert bool(found.missing and found.missing.turns) == turns


def counted(rows: list[tuple[Any, ...]], names: list[str], **more: Any) -> fairaudit.AuditResult:
    rate = {"metric": "selection_rate", "compare": "ratio", "reference": "rest"}
    columns = {"protected": ["race"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    columns |= more.pop("columns", {})
    spec = {"columns": columns, "metrics": [{**rate, "fail": {"below": 0.7}}], **more}
    return fairaudit.audit(spec, pl.DataFrame(rows, schema=names, orient="row"))


TOTALS: list[tuple[Any, ...]] = [
    ("White", 1, 1000), ("White", 0, 1000), ("Black", 1, 340), ("Black", 0, 660),
    ("Alle", 1, 1340), ("Alle", 0, 1660),
]  # fmt: skip


def test_totals_next_to_a_score_have_a_notice() -> None:
    (plain,) = counted(TOTALS, ["race", "d", "n"]).findings
    assert plain.status is Status.FAIL
    scored = [(*row, 0.5) for row in TOTALS]
    result = counted(scored, ["race", "d", "n", "s"], columns={"score": "s"})
    assert any("'Alle' has as many people as all other levels" in one for one in result.notices)
    assert any("people are counted twice" in one for one in result.notices)


def test_totals_are_found_if_a_filter_removes_a_part_of_them() -> None:
    rows: list[tuple[Any, ...]] = [
        ("White", 1, 1000), ("White", 0, 1000), ("Black", 1, 300), ("Black", 0, 700),
        ("Unknown", 1, 200), ("Unknown", 0, 900), ("Alle", 1, 1500), ("Alle", 0, 2600),
    ]  # fmt: skip
    result = counted(rows, ["race", "d", "n"], filter="race <> 'Unknown'")
    (found,) = result.findings
    assert found.status is Status.FAIL
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(0.3 / 0.5)


def test_a_group_whose_numbers_do_not_add_up_is_no_total() -> None:
    """One tester of each minority for each White one: equal counts by design."""
    pairs = [("A", 100, 30), ("B", 80, 60), ("C", 140, 50), ("D", 55, 10)]
    rows = [
        row
        for city, white, black in pairs
        for row in (
            ("White", city, 410, white),
            ("Black", city, 380, black),
            ("Hispanic", city, 390, white - black),
        )
    ]
    metric = {"metric": "mean_difference_of_numbers", "reference": "highest", "fail": {"above": 25}}
    spec = {
        "columns": {"protected": ["race"], "strata": ["city"], "count": "n",
                    "numbers": {"salary": "salary"}},
        "metrics": [{**metric, "of": "salary"}],
    }  # fmt: skip
    data = pl.DataFrame(rows, schema=["race", "city", "salary", "n"], orient="row")
    result = fairaudit.audit(spec, data)
    (found,) = result.findings
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(410 - 380)
    assert not any("totals" in notice for notice in result.notices)


def test_people_of_unknown_outcome_and_weight_0_are_left_out_once() -> None:
    rows = [("W", 1, 1)] * 250 + [("W", 0, 1)] * 250 + [("B", 1, 1)] * 25 + [("B", 0, 1)] * 25
    rows += [("B", None, 0)] * 50  # type: ignore[list-item]
    spec = {
        "columns": {
            "protected": ["race"],
            "weight": "w",
            "decision": {"column": "d", "positive": 1},
        },
        "missing": {"decision": "aside"},
        "metrics": [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}],
    }
    result = fairaudit.audit(spec, pl.DataFrame(rows, schema=["race", "d", "w"], orient="row"))
    (found,) = result.findings
    people = found.left_out
    assert people is not None
    lost = {part.reason: part.people for part in people.reasons}
    assert lost == {LeftOutReason.UNKNOWN_OUTCOME: 50}
    assert found.status is Status.PASS


@pytest.mark.parametrize("mixed", [True, False])
def test_a_cut_in_per_cent_of_scores_partly_in_fractions_has_a_notice(mixed: bool) -> None:
    """M has 30 to 99.3 per cent and F 20 to 74.45; with `mixed`, 40 % of M's are fractions."""
    men = [30 + 0.7 * at for at in range(100)] * 5
    scores = [score / 100 if mixed and at % 5 < 2 else score for at, score in enumerate(men)]
    rows = [("M", score) for score in scores]
    rows += [("F", 20 + 0.55 * at) for at in range(100)] * 5
    prediction = {"column": "s", "positive": {"at_least": 50}}
    spec = {
        "columns": {"protected": ["g"], "prediction": prediction}, "metrics": "impact_ratio",
    }  # fmt: skip
    result = fairaudit.audit(spec, pl.DataFrame(rows, schema=["g", "s"], orient="row"))
    assert any("if some are in per cent" in notice for notice in result.notices) == mixed
