"""Waivers: what they take out of a verdict, what they never hide, and until which day."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from conftest import SAMPLES
from schemas import validate

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import SpecError
from fairaudit.judge import Finding, Status
from fairaudit.judge.waivers import WaiverState
from fairaudit.pipeline import audit_task
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult, Verdict

BAD = sorted((Path(__file__).parents[1] / "spec" / "bad_waivers").glob("*.yaml"))
NOW = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
"""The time of every test."""

COLUMNS = {
    "protected": ["race", "sex"],
    "decision": {"column": "y", "positive": 1, "negative": 0},
    "count": "n",
}
RATES = {"a": 30, "b": 40, "c": 50, "d": 80}
"""Of a hundred people each, so many are selected."""

FLOOR: dict[str, Any] = {"metric": "selection_rate", "by": "race", "fail": {"below": 0.45}}
FLOOR_ID = "selection_rate/race/decision"
RATIO: dict[str, Any] = {
    "metric": "demographic_parity_ratio",
    "by": "race",
    "fail": {"below": 0.55},
}
RATIO_ID = "demographic_parity_ratio/race/decision"


def waiver(check: str = FLOOR_ID, group: Any = "all", **other: str) -> dict[str, Any]:
    """A waiver that holds on the day of the tests."""
    said = {"reason": "a new form", "approved_by": "J. Doe", "expires": "2023-12-31"}
    return {"check": check, "group": group, **said, **other}


def rows(rates: dict[str, int], sex: str = "f") -> str:
    """People by race: of a hundred each, so many are selected."""
    lines = [
        f"{race},{sex},{y},{n}" for race, k in rates.items() for y, n in ((1, k), (0, 100 - k))
    ]
    return "\n".join(["race,sex,y,n", *(line for line in lines if not line.endswith(",0")), ""])


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_task, "_clock", lambda: NOW)


@pytest.fixture
def judged(tmp_path: Path) -> Callable[..., AuditResult]:
    """Audits people by race under waivers."""

    def audit(
        metric: Any,
        *waivers: dict[str, Any],
        text: str | None = None,
        more: dict[str, Any] | None = None,
        **options: Any,
    ) -> AuditResult:
        (tmp_path / "data.csv").write_text(rows(RATES) if text is None else text)
        (tmp_path / "waivers.yaml").write_text(json.dumps(list(waivers)))
        spec = {"columns": COLUMNS, "metrics": [metric], "waivers": str(tmp_path / "waivers.yaml")}
        return fairaudit.audit({**spec, **(more or {})}, tmp_path / "data.csv", **options)

    return audit


Judged = Callable[..., AuditResult]


def only(result: AuditResult) -> Finding:
    (found,) = result.findings
    return found


def states(result: AuditResult) -> list[WaiverState]:
    return [one.state for one in result.waivers]


def text_of(result: AuditResult) -> str:
    return " ".join(terminal.render(content.document(result)).split())


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_file_of_waivers_says_what_where_and_what_next(
    path: Path, golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    spec = {
        "columns": COLUMNS,
        "metrics": [FLOOR],
        "simpson": {"fail": "every_stratum"},
        "waivers": path.name,
    }
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(spec, "no data is read")
    assert caught.value.exit_code == 2
    assert all(fault.place is not None for fault in caught.value.faults)
    golden(path.with_suffix(".txt"), f"{caught.value}\n")


def test_without_a_waiver_the_check_fails(judged: Judged) -> None:
    result = judged(FLOOR)
    assert (only(result).status, result.exit_code) == (Status.FAIL, 1)
    assert [dict(one.group)["race"] for one in only(result).crossed] == ["a", "b"]


def test_every_crossing_waived_is_a_pass_with_waivers_and_the_value_stays(judged: Judged) -> None:
    result = judged(FLOOR, waiver(group={"race": "a"}), waiver(group={"race": "b"}))
    found = only(result)
    assert (found.status, result.verdict, result.exit_code) == (Status.WAIVED, Verdict.PASS, 0)
    assert states(result) == [WaiverState.APPLIED, WaiverState.APPLIED]
    assert found.estimate is not None
    assert (found.estimate.value, len(found.crossed)) == (0.3, 2)
    text = text_of(result)
    assert "PASS passed with waivers; 1 check: 1 waived" in text
    assert "1 waived" in text
    assert "WAIVED Selection rate" in text
    assert "race=a until 2023-12-31, approved by J. Doe: a new form" in text


def test_a_group_that_is_not_waived_still_fails_and_decides(judged: Judged) -> None:
    result = judged(FLOOR, waiver(group={"race": "a"}))
    found = only(result)
    assert (found.status, result.exit_code) == (Status.FAIL, 1)
    assert found.estimate is not None
    assert (found.estimate.value, dict(found.first)) == (0.4, {"race": "b"})
    assert [one.value for one in found.crossed] == [0.4]
    (waived,) = found.waived
    assert [one.value for one in waived.crossed] == [0.3]
    assert "race=a (0.3000) until 2023-12-31" in text_of(result)


def test_behind_a_waived_failure_a_warning_is_still_one(judged: Judged) -> None:
    metric = {**FLOOR, "warn": {"below": 0.45}, "fail": {"below": 0.35}}
    result = judged(metric, waiver(group={"race": "a"}))
    assert (only(result).status, dict(only(result).first)) == (Status.WARN, {"race": "b"})
    assert "PASS, 1 warning passed with waivers; 1 check: 1 warned" in text_of(result)
    both = judged(metric, waiver(group={"race": "a"}), waiver(group={"race": "b"}))
    assert only(both).status is Status.WAIVED


def test_a_warning_can_be_waived_too(judged: Judged) -> None:
    metric = {**FLOOR, "warn": {"below": 0.35}, "fail": {"below": 0.1}}
    assert only(judged(metric)).status is Status.WARN
    result = judged(metric, waiver(group={"race": "a"}), fail_on="warn")
    assert (only(result).status, result.exit_code) == (Status.WAIVED, 0)


def test_the_whole_check_is_waived_only_when_it_says_all(judged: Judged) -> None:
    result = judged(FLOOR, waiver(group="all"))
    assert (only(result).status, states(result)) == (Status.WAIVED, [WaiverState.APPLIED])
    both = judged(FLOOR, waiver(group="all"), waiver(group={"race": "a"}))
    assert states(both) == [WaiverState.APPLIED, WaiverState.APPLIED]
    assert [len(one.crossed) for one in only(both).waived] == [1, 1]
    idle = judged(FLOOR, waiver(), waiver(group={"race": "a"}), waiver(group={"race": "b"}))
    assert states(idle) == [WaiverState.UNUSED, WaiverState.APPLIED, WaiverState.APPLIED]


def test_a_spread_is_waived_for_one_of_its_pair_where_no_other_pair_is_beyond(
    judged: Judged,
) -> None:
    # a/d = 0.375; without a: b/d = 0.5; without a and b: c/d = 0.625.
    for group in ("a", "d"):
        limit = {**RATIO, "fail": {"below": 0.45}}
        result = judged(limit, waiver(RATIO_ID, {"race": group}))
        assert (only(result).status, states(result)) == (Status.WAIVED, [WaiverState.APPLIED])
        found = only(result)
        assert found.estimate is not None
        assert found.estimate.exact == Fraction(3, 8)
    other = judged(RATIO, waiver(RATIO_ID, {"race": "c"}))
    assert (only(other).status, states(other)) == (Status.FAIL, [WaiverState.UNUSED])


def test_a_waived_pair_hides_no_other(judged: Judged) -> None:
    result = judged(RATIO, waiver(RATIO_ID, {"race": "a"}))
    found = only(result)
    assert (found.status, states(result)) == (Status.FAIL, [WaiverState.APPLIED])
    assert found.estimate is not None
    assert (found.estimate.value, found.estimate.exact is not None) == (0.5, True)
    assert {dict(found.first)["race"], dict(found.second)["race"]} == {"b", "d"}
    both = judged(RATIO, waiver(RATIO_ID, {"race": "a"}), waiver(RATIO_ID, {"race": "b"}))
    assert (only(both).status, both.exit_code) == (Status.WAIVED, 0)
    assert states(both) == [WaiverState.APPLIED, WaiverState.APPLIED]


def test_a_spread_of_two_groups_leaves_nothing_to_compare(judged: Judged) -> None:
    result = judged(RATIO, waiver(RATIO_ID, {"race": "a"}), text=rows({"a": 10, "d": 80}))
    assert (only(result).status, result.exit_code) == (Status.INCONCLUSIVE, 3)
    assert "fewer than two groups are left to compare" in only(result).why
    everybody = judged(RATIO, waiver(RATIO_ID), text=rows({"a": 10, "d": 80}))
    assert (only(everybody).status, everybody.exit_code) == (Status.WAIVED, 0)


def test_what_is_left_of_a_spread_and_is_undefined_is_no_pass(judged: Judged) -> None:
    result = judged(RATIO, waiver(RATIO_ID, {"race": "a"}), text=rows({"a": 50, "b": 0, "c": 0}))
    assert (only(result).status, result.exit_code) == (Status.INCONCLUSIVE, 3)


def test_differential_fairness_is_looked_at_again(judged: Judged) -> None:
    name = "differential_fairness/race/decision"
    metric = {"metric": "differential_fairness", "by": "race", "fail": {"above": 1.2}}
    # ln(70/20) = 1.25 between a and d; ln(60/20) = 1.10 between b and d.
    assert only(judged(metric)).status is Status.FAIL
    assert only(judged(metric, waiver(name, {"race": "a"}))).status is Status.WAIVED
    strict = {**metric, "fail": {"above": 1.0}}
    left = only(judged(strict, waiver(name, {"race": "a"})))
    assert left.status is Status.FAIL
    assert left.estimate is not None
    assert left.estimate.value == pytest.approx(1.0986122886681098)


def test_the_reference_stays_the_reference(judged: Judged) -> None:
    metric = {"metric": "impact_ratio", "by": "race", "fail": {"below": 0.55}}
    name = only(judged(metric)).check.id
    result = judged(metric, waiver(name, {"race": "d"}))
    assert (only(result).status, states(result)) == (Status.FAIL, [WaiverState.UNUSED])
    left = only(judged(metric, waiver(name, {"race": "a"})))
    assert left.estimate is not None
    assert (left.status, left.estimate.value) == (Status.FAIL, 0.5)


def test_one_value_of_all_groups_is_waived_as_a_whole_only(judged: Judged) -> None:
    metric = {"metric": "mutual_information", "by": "race", "fail": {"above": 0.01}}
    name = "mutual_information/race/decision"
    assert only(judged(metric, waiver(name, {"race": "a"}))).status is Status.FAIL
    assert only(judged(metric, waiver(name))).status is Status.WAIVED


STRATA = (
    "race,sex,y,n\na,f,1,10\na,f,0,90\nb,f,1,80\nb,f,0,20\n"
    "a,m,1,50\na,m,0,50\nb,m,1,60\nb,m,0,40\nc,m,1,10\nc,m,0,90\n"
)  # fmt: skip


def test_within_strata_each_is_judged_on_what_is_left(judged: Judged) -> None:
    metric = {**RATIO, "given": "sex", "fail": {"below": 0.5}}
    name = "demographic_parity_ratio/race/sex/decision"
    # f: a/b = 0.125. m: c/b = 0.167; without c: a/b = 0.83.
    one = judged(metric, waiver(name, {"race": "a"}), text=STRATA)
    assert (only(one).status, dict(only(one).stratum)) == (Status.FAIL, {"sex": "m"})
    assert states(one) == [WaiverState.APPLIED]
    two = judged(metric, waiver(name, {"race": "c"}), waiver(name, {"race": "a"}), text=STRATA)
    assert (only(two).status, states(two)) == (Status.INCONCLUSIVE, [WaiverState.APPLIED] * 2)
    assert "fewer than two groups are left to compare" in only(two).why
    floor = {**FLOOR, "given": "sex"}
    name = "selection_rate/race/sex/decision"
    left = judged(floor, waiver(name, {"race": "a"}), text=STRATA)
    assert [dict(each.group)["race"] for each in only(left).crossed] == ["c"]


def test_one_model_against_another_loses_the_group_in_both(judged: Judged) -> None:
    models = {
        name: {"prediction": {"column": column, "positive": 1, "negative": 0}}
        for name, column in (("candidate", "p"), ("current", "q"))
    }
    columns = {"protected": ["race"], "count": "n", "models": models}
    text = "race,p,q,n\na,1,1,10\na,0,1,20\na,0,0,70\nb,1,1,35\nb,1,0,5\nb,0,0,60\n"
    text += "c,1,1,50\nc,1,0,10\nc,0,0,40\n"
    metric = {
        "metric": "demographic_parity_difference",
        "of": "candidate",
        "against": "current",
        "by": "race",
        "fail": {"above": 0.04},
    }
    # Gaps: 0.6 - 0.1 less 0.5 - 0.3; without a: 0.6 - 0.4 less 0.5 - 0.35.
    first = only(judged(metric, text=text, more={"columns": columns}))
    assert first.estimate is not None
    assert (first.status, first.estimate.exact) == (Status.FAIL, Fraction(3, 10))
    waived = waiver(first.check.id, {"race": "a"})
    left = only(judged(metric, waived, text=text, more={"columns": columns}))
    assert left.estimate is not None
    assert (left.status, left.estimate.exact) == (Status.FAIL, Fraction(1, 20))


def test_what_could_not_be_evaluated_is_never_waived(judged: Judged) -> None:
    unknown = {"metric": "positive_predictive_value", "by": "race", "fail": {"below": 0.9}}
    columns = {**COLUMNS, "label": {"column": "z", "positive": 1, "negative": 0}}
    text = "race,sex,y,z,n\na,f,1,1,10\na,f,1,0,40\nb,f,0,1,50\nc,f,1,1,5\nc,f,0,0,5\n"
    name = "positive_predictive_value/race/decision"

    def status(*waivers: dict[str, Any], **more: Any) -> Status:
        found = judged(unknown, *waivers, text=text, more={"columns": columns, **more})
        return only(found).status

    # a is below the limit, b selects nobody: its value is undefined.
    assert status() is Status.FAIL
    assert status(waiver(name, {"race": "a"})) is Status.INCONCLUSIVE
    assert status(waiver(name)) is Status.INCONCLUSIVE
    assert status(waiver(name), undefined="warn") is Status.WARN
    assert status(waiver(name), undefined="skip") is Status.WAIVED
    nothing = "race,sex,y,z,n\na,f,0,1,10\nb,f,0,1,50\nb,f,0,0,1\n"
    result = judged(unknown, waiver(name), text=nothing, more={"columns": columns})
    assert (only(result).status, result.exit_code) == (Status.INCONCLUSIVE, 3)
    assert states(result) == [WaiverState.UNUSED]
    assert "could not be evaluated, and that cannot be waived" in str(result.notices)
    more = {"columns": columns, "undefined": "warn"}
    warned = judged(unknown, waiver(name), text=nothing, more=more)
    assert (only(warned).status, states(warned)) == (Status.WARN, [WaiverState.UNUSED])
    # Beside an open value, a warning is not what decides.
    metric = {"metric": "positive_predictive_value", "by": "race", "warn": {"below": 0.9}}
    result = judged(metric, waiver(name), text=text, more={"columns": columns})
    assert (only(result).status, states(result)) == (Status.INCONCLUSIVE, [WaiverState.UNUSED])
    assert "could not be evaluated, and that cannot be waived" in str(result.notices)


@pytest.mark.parametrize(
    ("days", "status", "state"),
    [
        (0, Status.WAIVED, WaiverState.APPLIED),
        (-1, Status.FAIL, WaiverState.EXPIRED),
        (1, Status.WAIVED, WaiverState.APPLIED),
    ],
)
def test_a_waiver_holds_through_its_last_day(
    judged: Judged, days: int, status: Status, state: WaiverState
) -> None:
    day = (NOW + timedelta(days=days)).date().isoformat()
    result = judged(FLOOR, waiver(expires=day))
    assert (only(result).status, states(result)) == (status, [state])
    assert (f"it held until {day}" in str(result.notices)) is (state is WaiverState.EXPIRED)


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (0, "expires today, on "),
        (1, "expires in 1 day, on "),
        (14, "expires in 14 days, on "),
        (15, ""),
    ],
)
def test_a_waiver_that_expires_soon_is_told(judged: Judged, days: int, told: str) -> None:
    day = (NOW + timedelta(days=days)).date().isoformat()
    notices = [*judged(FLOOR, waiver(expires=day)).notices]
    assert [told + day in notice for notice in notices] == ([True] if told else [])
    unused = judged(FLOOR, waiver(expires=day), text=rows({"a": 60, "b": 50})).notices
    assert ": expires" not in str([*unused])


def test_how_soon_is_by_the_date_of_the_report(
    judged: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = (NOW + timedelta(days=3)).date().isoformat()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int((NOW + timedelta(days=1)).timestamp())))
    assert "expires in 2 days" in str([*judged(FLOOR, waiver(expires=day)).notices])
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert not judged(FLOOR, waiver(expires=day)).notices


@pytest.mark.parametrize(("second", "code"), [(-1, 0), (0, 1)])
def test_the_day_ends_in_utc(
    judged: Judged, second: int, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    midnight = datetime(2024, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(audit_task, "_clock", lambda: midnight + timedelta(seconds=second))
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert judged(FLOOR, waiver(expires="2023-12-31")).exit_code == code


def test_an_unused_waiver_is_told(judged: Judged) -> None:
    passing = {**FLOOR, "fail": {"below": 0.1}}
    result = judged(passing, waiver(), waiver("selection_rate/rce/decision"))
    assert (only(result).status, states(result)) == (
        Status.PASS,
        [WaiverState.UNUSED, WaiverState.UNUSED],
    )
    passes, unknown = result.notices
    assert "the check passes without it" in passes
    assert f"the spec has no such check; did you mean '{FLOOR_ID}'?" in unknown
    assert "Waivers unused" in text_of(result)


def test_a_level_that_is_misspelt_is_told_with_the_nearest(judged: Judged) -> None:
    text = rows({"Black": 30, "White": 80})
    result = judged(FLOOR, waiver(group={"race": "black"}), text=text)
    assert (only(result).status, states(result)) == (Status.FAIL, [WaiverState.UNUSED])
    assert "did you mean 'Black'?" in str(result.notices)


def test_only_what_was_judged_is_told_unused(judged: Judged) -> None:
    more = {"metrics": [FLOOR, {**RATIO, "fail": {"below": 0.1}}]}
    waivers = (waiver(), waiver(RATIO_ID))
    result = judged(FLOOR, *waivers, more=more, only=FLOOR_ID)
    assert states(result) == [WaiverState.APPLIED, WaiverState.NOT_JUDGED]
    assert [*map(str, result.notices)] == [
        f"1 of 2 checks are not run, because of --only: '{RATIO_ID}'"
    ]
    assert states(judged(FLOOR, *waivers, more=more)) == [WaiverState.APPLIED, WaiverState.UNUSED]


def test_reversals_are_waived_as_a_whole(tmp_path: Path) -> None:
    spec = {
        "columns": {
            "protected": ["gender", "race"],
            "decision": {"column": "outcome", "positive": "admitted"},
            "count": "n",
        },
        "metrics": ["selection_rate"],
        "simpson": {"fail": "every_stratum"},
        "waivers": str(tmp_path / "waivers.yaml"),
    }
    name = "simpson_reversal/selection_rate/decision"
    (tmp_path / "waivers.yaml").write_text(json.dumps([waiver(name)]))
    result = fairaudit.audit(spec, SAMPLES / "kidney_admissions.csv")
    assert (only(result).status, result.exit_code) == (Status.WAIVED, 0)
    assert only(result).reversals
    (tmp_path / "waivers.yaml").write_text("[]")
    assert fairaudit.audit(spec, SAMPLES / "kidney_admissions.csv").exit_code == 1


def test_json_holds_every_waiver_with_its_state(judged: Judged) -> None:
    waivers = (waiver(group={"race": "a"}), waiver("gone", expires="2023-01-01"))
    document = json.loads(report_json.render(judged(FLOOR, *waivers)))
    validate(document)
    one, two = document["waivers"]
    assert (one["check"], one["group"], one["state"]) == (FLOOR_ID, {"race": "a"}, "applied")
    assert (one["reason"], one["approved_by"]) == ("a new form", "J. Doe")
    assert (two["group"], two["state"], two["expires"]) == ({}, "expired", "2023-01-01")
    (check,) = document["checks"]
    assert check["status"] == "fail"
    assert [row["value"] for row in check["crossed"]] == [0.4]
    (waived,) = check["waived"]
    assert (waived["expires"], waived["crossed"][0]["value"]) == ("2023-12-31", 0.3)
    whole = json.loads(report_json.render(judged(FLOOR, waiver())))
    assert whole["summary"] == {
        "verdict": "pass",
        "exit_code": 0, "not_enough_evidence": 0,
        "checks": {
            "pass": 0, "skipped": 0, "waived": 1, "warn": 0, "inconclusive": 0, "fail": 0
        },
    }  # fmt: skip
    (check,) = whole["checks"]
    assert (check["status"], check["value"]) == ("waived", 0.3)
    assert check["limit"] == {"type": "Limit", "below": "0.45"}
    assert len(check["crossed"]) == 2


def test_the_command_finds_waivers_beside_the_spec(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "data.csv").write_text(rows(RATES))
    text = {"data": "data.csv", "columns": COLUMNS, "metrics": [FLOOR], "waivers": "w.yaml"}
    (tmp_path / "spec.yaml").write_text(json.dumps(text))
    lines = "  reason: a new form\n  approved_by: J. Doe\n  expires: 2023-12-31\n"
    (tmp_path / "w.yaml").write_text(f"- check: {FLOOR_ID}\n  group: all\n{lines}")
    assert cli.run_line(["run", str(tmp_path / "spec.yaml")]) == 0
    told = capsys.readouterr()
    assert told.err.splitlines()[-1].startswith(
        "PASS  1 check: 0 passed, 0 warned, 0 failed, 0 inconclusive, 1 waived"
    )
    assert "w.yaml:1" in told.out
    (tmp_path / "w.yaml").unlink()
    assert cli.run_line(["run", str(tmp_path / "spec.yaml")]) == 2
    assert "w.yaml cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("c", "bounds"),
    [
        (45, {"below": -0.1, "conclusive": True}),
        (20, {"outside": [-0.4, 0.4], "significant": True}),
    ],
)
def test_what_is_left_in_doubt_behind_a_waiver_still_warns(
    judged: Judged, c: int, bounds: dict[str, Any]
) -> None:
    """Within the limit, but not conclusively, or significantly: no waiver is about that."""
    metric = {
        "metric": "statistical_parity_difference", "by": "race", "reference": {"race": "a"},
        "fail": bounds,
    }  # fmt: skip
    text = rows({"a": 50, "c": c}) + "b,f,0,1000\n"
    result = judged(
        metric, waiver("statistical_parity_difference.a/race/decision", {"race": "b"}), text=text
    )
    found = only(result)
    assert (found.status, states(result)) == (Status.WARN, [WaiverState.APPLIED])
    assert dict(found.first)["race"] == "c"
