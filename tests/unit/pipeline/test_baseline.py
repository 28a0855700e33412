"""Baselines: what is as before, what is worse, and which reports are refused."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from conftest import SAMPLES, SPECS, long
from hypothesis import given
from hypothesis import strategies as st
from schemas import validate

import fairaudit
from fairaudit import cli, codec
from fairaudit import spec as specs
from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import NODEFAULT, Frozen, default_of, field, fields, replace
from fairaudit.judge import Check, Finding, Limit, ReversalCheck, Status, SubgroupCheck
from fairaudit.judge.simpson import Reversal, ReversalKind
from fairaudit.metrics.terms import Inference, MetricOptions, Minimum, Parameters
from fairaudit.pipeline import baseline as baselines
from fairaudit.pipeline.baseline import _plain
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import Answer, AuditResult
from fairaudit.spec import Missing

COLUMNS: dict[str, Any] = {
    "protected": ["race"],
    "decision": {"column": "y", "positive": 1, "negative": 0},
    "count": "n",
}
FLOOR: dict[str, Any] = {"metric": "selection_rate", "by": "race", "fail": {"below": 0.5}}
NEW_DAY = "1701000000"
"""12 days after the time of every other test: 2023-11-26."""

Audited = Callable[..., AuditResult]


def rows(rates: dict[str, int], of: int = 100) -> str:
    """People by race: of so many each, so many are selected."""
    found = ["race,y,n"]
    for race, k in rates.items():
        found += [f"{race},{y},{n}" for y, n in ((1, k), (0, of - k)) if n]
    return "\n".join([*found, ""])


@pytest.fixture
def audited(tmp_path: Path) -> Audited:
    """Audits people by race with one metric."""

    def audit(
        rates: dict[str, int] | str, metric: Any = FLOOR, *, of: int = 100, **options: Any
    ) -> AuditResult:
        text = rates if isinstance(rates, str) else rows(rates, of)
        (tmp_path / "data.csv").write_text(text)
        metrics = metric if isinstance(metric, list) else [metric]
        spec = {"columns": COLUMNS, "metrics": metrics, **options.pop("more", {})}
        return fairaudit.audit(spec, tmp_path / "data.csv", **options)

    return audit


def written(result: AuditResult) -> dict[str, Any]:
    """A result as it comes back from its JSON text."""
    found: dict[str, Any] = json.loads(report_json.render(result))
    validate(found)
    return found


def only(result: AuditResult) -> Finding:
    (found,) = result.findings
    return found


def text_of(result: AuditResult) -> str:
    return " ".join(terminal.render(content.document(result)).split())


def test_a_failure_as_before_is_a_warning(
    audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    then = audited({"a": 30, "b": 80})
    assert then.exit_code == 1
    before = written(then)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", NEW_DAY)
    result = audited({"a": 30, "b": 70}, baseline=before)
    assert (only(result).status, result.exit_code) == (Status.WARN, 0)
    text = text_of(result)
    assert (
        "not worse than before: 0.3000 now, 0.3000 on 2023-11-14 (12 days ago), tolerance 0" in text
    )
    assert "created 2023-11-14T22:13:20+00:00 (12 days ago), tolerance 0" in text
    document = written(result)
    assert document["baseline"] == {
        "path": None,
        "created": "2023-11-14T22:13:20+00:00",
        "age_days": 12,
        "tolerance": "0",
    }
    (check,) = document["checks"]
    assert check["baseline"]["value"] == 0.3
    assert (check["baseline"]["worse_by"], check["baseline"]["worse"]) == (0, [])
    limit = {"type": "Limit", "below": "0.5"}
    assert (check["status"], check["limit"], len(check["crossed"])) == ("warn", limit, 1)
    assert audited({"a": 30, "b": 70}, baseline=before, fail_on="warn").exit_code == 1


def test_better_than_before_and_still_beyond_is_a_warning(audited: Audited) -> None:
    result = audited({"a": 40, "b": 80}, baseline=written(audited({"a": 30, "b": 80})))
    assert only(result).status is Status.WARN
    passing = audited({"a": 60, "b": 80}, baseline=written(audited({"a": 30, "b": 80})))
    assert only(passing).status is Status.PASS
    assert "as before" not in text_of(passing)


@pytest.mark.parametrize(
    ("rate", "tolerance", "status"),
    [
        (30, "0", Status.WARN),
        (29, "0", Status.FAIL),
        (29, "0.01", Status.WARN),
        (29, 0.01, Status.WARN),
        (29, Decimal("0.00999999999999999999"), Status.FAIL),
        (28, "0.01", Status.FAIL),
        (28, 0.02, Status.WARN),
    ],
)
def test_worse_by_more_than_the_tolerance_fails(
    audited: Audited, rate: int, tolerance: Any, status: Status
) -> None:
    before = written(audited({"a": 30, "b": 80}))
    result = audited({"a": rate, "b": 80}, baseline=before, tolerance=tolerance)
    assert only(result).status is status


@given(k=st.integers(1, 400), then=st.integers(1, 400), of=st.integers(901, 1009))
def test_exactly_the_tolerance_is_allowed_whatever_floats_say(k: int, then: int, of: int) -> None:
    """k/of is worse than then/of by more than 1/20 exactly when 20 (then - k) > of."""
    spec = specs.of_mapping({"columns": COLUMNS, "metrics": [FLOOR]})
    before, now = (
        pl.DataFrame({"race": ["a", "a", "b"], "y": [1, 0, 1], "n": [count, of - count, of]})
        for count in (then, k)
    )
    document = report_json.document(fairaudit.audit(spec, before))
    result = fairaudit.audit(spec, now, baseline=document, tolerance="0.05")
    worse = 20 * (then - k) > of
    assert only(result).status is (Status.FAIL if worse else Status.WARN)


def test_a_value_above_a_limit_is_worse_when_it_rises(audited: Audited) -> None:
    metric = {"metric": "selection_rate", "by": "race", "fail": {"above": 0.5}}
    before = written(audited({"a": 70, "b": 10}, metric))
    assert only(audited({"a": 71, "b": 10}, metric, baseline=before)).status is Status.FAIL
    assert only(audited({"a": 69, "b": 10}, metric, baseline=before)).status is Status.WARN


def test_the_other_side_of_a_limit_is_another_failure(audited: Audited) -> None:
    metric = {
        "metric": "selection_rate",
        "compare": "difference",
        "by": "race",
        "reference": {"race": "b"},
        "fail": {"outside": [-0.2, 0.2]},
    }
    low = written(audited({"a": 20, "b": 60}, metric, more={}))
    assert only(audited({"a": 30, "b": 60}, metric, baseline=low)).status is Status.WARN
    result = audited({"a": 85, "b": 60}, metric, baseline=low)
    assert only(result).status is Status.FAIL


def test_what_passed_before_fails_whatever_the_tolerance(audited: Audited) -> None:
    before = written(audited({"a": 50, "b": 80}))
    result = audited({"a": 49, "b": 80}, baseline=before, tolerance="0.49")
    assert (only(result).status, result.exit_code) == (Status.FAIL, 1)
    assert "before: pass, on 2023-11-14 (today)" in text_of(result)


def test_what_only_warned_before_fails(audited: Audited) -> None:
    metric = {**FLOOR, "warn": {"below": 0.6}}
    before = written(audited({"a": 55, "b": 80}, metric))
    assert before["checks"][0]["status"] == "warn"
    result = audited({"a": 49, "b": 80}, metric, baseline=before, tolerance="0.49")
    assert only(result).status is Status.FAIL


def test_a_group_that_was_within_the_limit_fails_though_another_is_worse(audited: Audited) -> None:
    before = written(audited({"a": 30, "b": 80, "c": 60}))
    result = audited({"a": 30, "b": 80, "c": 45}, baseline=before, tolerance="0.29")
    assert only(result).status is Status.FAIL
    assert "worse than before: race=c 0.4500" in text_of(result)
    row = written(result)["checks"][0]["baseline"]["worse"]
    assert [one["group"] for one in row] == [{"race": "c"}]


@pytest.mark.parametrize(
    ("now", "words"),
    [
        (50, "not worse than before: 0.6250 now, 0.6250 on"),
        (20, "worse than before by 0.3750, within the tolerance: 0.2500 now, 0.6250 on"),
        (60, "better than before: 0.7500 now, 0.6250 on"),
    ],
)
def test_a_value_within_the_tolerance_is_not_called_as_before(
    audited: Audited, now: int, words: str
) -> None:
    """b/a is 50/80 = 0.625, then 20/80 = 0.25 and 60/80 = 0.75."""
    ratio = {"metric": "selection_rate", "compare": "min_ratio", "by": "race"}
    before = written(audited({"a": 80, "b": 50}, ratio | {"fail": {"below": 0.8}}))
    result = audited(
        {"a": 80, "b": now}, ratio | {"fail": {"below": 0.8}}, baseline=before, tolerance="0.5"
    )
    assert only(result).status is Status.WARN
    assert words in text_of(result)


IMPACT: dict[str, Any] = {"metric": "impact_ratio", "by": "race", "fail": {"below": 0.8}}


@pytest.mark.parametrize("c", [50, 60])
def test_the_headline_is_about_the_value_that_fails_and_not_about_a_worse_one_as_before(
    audited: Audited, c: int
) -> None:
    before = written(audited({"a": 80, "b": 50, "c": 70}, IMPACT))
    result = audited({"a": 80, "b": 50, "c": c}, IMPACT, baseline=before)
    finding, text = only(result), text_of(result)
    assert finding.status is Status.FAIL
    assert finding.value == pytest.approx(c / 80)
    assert (dict(finding.first), dict(finding.worse_off)) == ({"race": "c"}, {"race": "c"})
    assert f"race=c is selected {100 * c // 80} % as often as race=a" in text
    # 80 % of 80 of 100 people are 64.
    assert f"{64 - c} more people selected, race=c would be within the limit" in text
    assert f"worse than before: race=c {c / 80:.4f} (0.8750 before)" in text
    assert "over the limit: race=b 0.625" in text
    assert [dict(breach.group)["race"] for breach in finding.crossed] == ["b", "c"]
    assert fairaudit.load(written(result)).findings == result.findings


def test_the_headline_behind_a_waiver_and_a_baseline_is_about_the_value_that_fails(
    audited: Audited, tmp_path: Path
) -> None:
    waiver = {
        "check": "impact_ratio/race/decision", "group": {"race": "d"},
        "reason": "x", "approved_by": "y", "expires": "2999-11-14",
    }  # fmt: skip
    (tmp_path / "w.yaml").write_text(json.dumps([waiver]))
    more = {"waivers": str(tmp_path / "w.yaml")}
    before = written(audited({"a": 80, "b": 50, "c": 70, "d": 10}, IMPACT, more=more))
    now = {"a": 80, "b": 50, "c": 60, "d": 5}
    finding = only(audited(now, IMPACT, baseline=before, more=more))
    assert (finding.status, dict(finding.first)) == (Status.FAIL, {"race": "c"})
    assert [dict(row.group) for row in finding.waived] == [{"race": "d"}]
    assert [dict(breach.group)["race"] for breach in finding.crossed] == ["b", "c"]


def test_the_headline_of_a_spread_is_about_the_stratum_that_fails(audited: Audited) -> None:
    metric = {
        "metric": "demographic_parity_difference", "by": "race", "given": "town",
        "fail": {"above": 0.1},
    }  # fmt: skip
    more = {"columns": COLUMNS | {"strata": ["town"]}}

    def table(x: int, z: int) -> str:
        counts = {("x", "a"): 80, ("x", "b"): x, ("z", "a"): 80, ("z", "b"): z}
        lines = [
            f"{town},{race},{y},{n}"
            for (town, race), k in counts.items()
            for y, n in ((1, k), (0, 100 - k))
        ]
        return "\n".join(["town,race,y,n", *lines, ""])

    before = written(audited(table(30, 75), metric, more=more))
    finding = only(audited(table(30, 60), metric, more=more, baseline=before))
    assert (finding.status, dict(finding.stratum)) == (Status.FAIL, {"town": "z"})
    assert finding.value == pytest.approx(0.8 - 0.6)
    assert [dict(breach.stratum)["town"] for breach in finding.crossed] == ["x", "z"]


def test_the_headline_of_a_search_is_about_the_subgroup_that_fails(audited: Audited) -> None:
    more = {"subgroups": {"depth": 1, "min_size": 30, "fail": {"above": 0.1}}}
    rate = {"metric": "selection_rate"}
    # Everybody: 254 of 400 people then, 224 of 400 now.
    before = written(audited({"a": 70, "b": 30, "c": 80, "d": 74}, rate, more=more))
    result = audited({"a": 70, "b": 30, "c": 80, "d": 44}, rate, more=more, baseline=before)
    finding = only(result)
    assert before["checks"][0]["group"] == {"race": "b"}
    assert (finding.status, dict(finding.first)) == (Status.FAIL, {"race": "c"})
    assert finding.value == pytest.approx(0.8 - 224 / 400)
    assert finding.before is not None
    assert [dict(breach.group)["race"] for breach in finding.before.worse] == ["c", "a", "d"]


def test_a_baseline_made_with_a_baseline_is_one(audited: Audited) -> None:
    first = written(audited({"a": 30, "b": 80}))
    second = written(audited({"a": 30, "b": 80}, baseline=first))
    assert second["checks"][0]["status"] == "warn"
    assert only(audited({"a": 30, "b": 80}, baseline=second)).status is Status.WARN
    assert only(audited({"a": 29, "b": 80}, baseline=second)).status is Status.FAIL


def test_infinite_against_infinite_is_not_worse(audited: Audited) -> None:
    metric = {"metric": "differential_fairness", "by": "race", "fail": {"above": 1}}
    infinite, finite = {"a": 0, "b": 80}, {"a": 10, "b": 80}
    before = written(audited(infinite, metric))
    assert before["checks"][0]["state"] == "infinite"
    result = audited(infinite, metric, baseline=before)
    assert only(result).status is Status.WARN
    assert written(result)["checks"][0]["baseline"]["state"] == "infinite"
    assert only(audited(finite, metric, baseline=before)).status is Status.WARN
    worse = audited(infinite, metric, baseline=written(audited(finite, metric)), tolerance="100")
    assert only(worse).status is Status.FAIL


def test_values_without_fractions_are_compared_as_numbers(audited: Audited) -> None:
    metric = {"metric": "differential_fairness", "by": "race", "fail": {"above": 1}}
    before = written(audited({"a": 10, "b": 80}, metric))
    assert before["checks"][0]["exact"] is None
    assert only(audited({"a": 10, "b": 80}, metric, baseline=before)).status is Status.WARN
    assert only(audited({"a": 9, "b": 80}, metric, baseline=before)).status is Status.FAIL
    # ln(80/9) - ln(80/10) = ln(10/9) = 0.10536
    for tolerance, status in (("0.1053", Status.FAIL), ("0.1054", Status.WARN)):
        result = audited({"a": 9, "b": 80}, metric, baseline=before, tolerance=tolerance)
        assert only(result).status is status


def test_what_could_not_be_evaluated_stays_open(audited: Audited) -> None:
    metric = {"metric": "positive_predictive_value", "by": "race", "fail": {"below": 0.9}}
    more = {"columns": {**COLUMNS, "label": {"column": "z", "positive": 1, "negative": 0}}}
    text = "race,y,z,n\na,1,1,10\na,1,0,40\nb,0,1,50\n"
    then = audited(text, metric, more=more)
    assert only(then).status is Status.FAIL
    result = audited(text, metric, more=more, baseline=written(then))
    assert (only(result).status, result.exit_code) == (Status.INCONCLUSIVE, 3)
    nothing = "race,y,z,n\na,0,1,10\nb,0,1,50\nb,0,0,1\n"
    open_then = audited(nothing, metric, more=more)
    assert only(open_then).status is Status.INCONCLUSIVE
    again = audited(nothing, metric, more=more, baseline=written(open_then))
    assert only(again).status is Status.INCONCLUSIVE
    later = audited(
        "race,y,z,n\na,1,1,10\na,1,0,40\nb,1,1,50\n", metric, more=more, baseline=written(open_then)
    )
    assert only(later).status is Status.FAIL


def test_what_was_waived_in_the_baseline_was_not_accepted_for_good(
    audited: Audited, tmp_path: Path
) -> None:
    waiver = {
        "check": "selection_rate/race/decision", "group": {"race": "a"},
        "reason": "x", "approved_by": "y", "expires": "2999-11-14",
    }  # fmt: skip
    (tmp_path / "w.yaml").write_text(json.dumps([waiver]))
    more = {"waivers": str(tmp_path / "w.yaml")}
    before = written(audited({"a": 30, "b": 80}, more=more))
    assert before["checks"][0]["status"] == "waived"
    again = audited({"a": 30, "b": 80}, more=more, baseline=before)
    assert only(again).status is Status.WAIVED
    assert only(audited({"a": 30, "b": 80}, baseline=before)).status is Status.FAIL


def test_behind_a_waiver_what_is_left_is_compared(audited: Audited, tmp_path: Path) -> None:
    waiver = {
        "check": "selection_rate/race/decision", "group": {"race": "a"},
        "reason": "x", "approved_by": "y", "expires": "2999-11-14",
    }  # fmt: skip
    (tmp_path / "w.yaml").write_text(json.dumps([waiver]))
    more = {"waivers": str(tmp_path / "w.yaml")}
    before = written(audited({"a": 10, "b": 40, "c": 80}, more=more))
    assert before["checks"][0]["status"] == "fail"
    for b, status in ((40, Status.WARN), (39, Status.FAIL)):
        result = audited({"a": 5, "b": b, "c": 80}, more=more, baseline=before)
        assert only(result).status is status
        assert [one.reason for one in only(result).waived] == ["x"]


def test_behind_a_waiver_what_is_left_of_a_spread_is_compared(
    audited: Audited, tmp_path: Path
) -> None:
    metric = {"metric": "demographic_parity_difference", "by": "race", "fail": {"above": 0.1}}
    waiver = {
        "check": "demographic_parity_difference/race/decision", "group": {"race": "b"},
        "reason": "x", "approved_by": "y", "expires": "2999-11-14",
    }  # fmt: skip
    (tmp_path / "w.yaml").write_text(json.dumps([waiver]))
    more = {"waivers": str(tmp_path / "w.yaml")}
    before = written(audited({"a": 50, "b": 30, "c": 31}, metric, more=more))
    assert before["checks"][0]["status"] == "fail"
    for c, status in ((31, Status.WARN), (29, Status.FAIL)):
        result = audited({"a": 50, "b": 20, "c": c}, metric, more=more, baseline=before)
        assert only(result).status is status
        assert "race=b (0." in text_of(result)


def test_a_spread_as_wide_between_others_says_so(audited: Audited) -> None:
    metric = {"metric": "demographic_parity_difference", "by": "race", "fail": {"above": 0.1}}
    before = written(audited({"a": 50, "b": 30, "c": 50}, metric))
    now = audited({"a": 50, "b": 49, "c": 30}, metric, baseline=before)
    assert only(now).status is Status.FAIL
    assert "then race=a against race=b" in text_of(now)
    before = written(audited({"a": 50, "b": 30, "c": 38}, metric))
    now = audited({"a": 50, "b": 49, "c": 30}, metric, baseline=before)
    assert only(now).status is Status.FAIL  # c fell
    before = written(audited({"a": 50, "b": 30, "c": 30}, metric))
    now = audited({"a": 50, "b": 49, "c": 30}, metric, baseline=before)
    assert only(now).status is Status.WARN
    assert "previously between other groups: race=a against race=b" in text_of(now)
    (row,) = written(now)["checks"]
    assert row["baseline"]["between"] == [{"race": "a"}, {"race": "b"}]
    assert row["crossed"][0]["between"] == [{"race": "a"}, {"race": "c"}]
    same = audited({"a": 50, "b": 31, "c": 49}, metric, baseline=before)
    assert "previously" not in text_of(same)
    assert only(same).status is Status.WARN
    assert "between others" not in text_of(same)


@pytest.mark.long
@pytest.mark.parametrize(
    ("then", "now", "status"),
    [
        ({"a": 50, "b": 25, "c": 45}, {"a": 50, "b": 25, "c": 26}, Status.FAIL),
        ({"a": 50, "b": 25, "c": 45}, {"a": 50, "b": 25, "c": 41}, Status.WARN),
        ({"a": 50, "b": 25, "c": 30}, {"a": 50, "b": 25, "c": 26}, Status.FAIL),
        ({"a": 50, "b": 25, "c": 30}, {"a": 50, "b": 25, "c": 30}, Status.WARN),
        ({"a": 50, "b": 25, "c": 30}, {"a": 50, "b": 26, "c": 31}, Status.WARN),
        ({"a": 90, "b": 30, "c": 70}, {"a": 30, "b": 90, "c": 70}, Status.FAIL),
        ({"a": 90, "b": 30, "c": 70}, {"a": 90, "d": 30, "c": 70}, Status.FAIL),
        ({"a": 90, "b": 30, "c": 70}, {"a": 90, "b": 30, "c": 70, "d": 31}, Status.FAIL),
        ({"a": 90, "b": 30, "c": 70}, {"a": 90, "c": 80}, Status.INCONCLUSIVE),
        ({"a": 50, "b": 0, "c": 45}, {"a": 50, "b": 0, "c": 0}, Status.FAIL),
        ({"a": 50, "c": 0, "b": 45}, {"a": 50, "c": 0, "b": 0}, Status.FAIL),
        ({"a": 50, "b": 0, "c": 0}, {"a": 50, "b": 0, "c": 0}, Status.WARN),
        ({"a": 50, "b": 25, "c": 60}, {"a": 50, "b": 60, "c": 30}, Status.FAIL),
    ],
)
def test_a_group_that_falls_behind_the_known_pair_of_a_spread_fails(
    audited: Audited, then: dict[str, int], now: dict[str, int], status: Status
) -> None:
    metric = {"metric": "demographic_parity_ratio", "by": "race", "fail": {"below": 0.8}}
    result = audited(now, metric, baseline=written(audited(then, metric)))
    assert only(result).status is status
    if then == {"a": 50, "b": 25, "c": 45} and status is Status.FAIL:
        assert "race=c is selected 52 % as often as race=a" in text_of(result)
        assert "0.5200 (a group is farther over the limit than before)" in text_of(result)


@pytest.mark.parametrize(("selected", "status"), [(13, Status.WARN), (39, Status.FAIL)])
def test_another_rate_behind_the_known_pair_of_a_spread_fails(
    audited: Audited, selected: int, status: Status
) -> None:
    metric = {"metric": "equalized_odds_difference", "by": "race", "fail": {"above": 0.1}}
    columns = COLUMNS | {"label": {"column": "z", "positive": 1, "negative": 0}}

    def data(wrongly: int) -> str:
        cells = {"a": (80, 10), "b": (50, 10), "c": (79, wrongly)}
        lines = [
            f"{race},{z},{y},{k if y else 100 - k}"
            for race, both in cells.items()
            for z, k in zip((1, 0), both, strict=True)
            for y in (1, 0)
        ]
        return "\n".join(["race,z,y,n", *lines, ""])

    more = {"columns": columns}
    before = written(audited(data(10), metric, more=more))
    assert only(audited(data(selected), metric, more=more, baseline=before)).status is status


def test_a_group_that_leaves_a_stratum_of_another_entry_opens_no_check(audited: Audited) -> None:
    metrics = [
        {"metric": "demographic_parity_difference", "by": "race", "fail": {"above": 0.1}},
        {"metric": "selection_rate", "by": "race", "given": "town"},
    ]
    more = {"columns": COLUMNS | {"strata": ["town"]}}

    def data(*towns_of_b: str) -> str:
        cells = [("a", "x", 80), ("a", "y", 80), *(("b", town, 50) for town in towns_of_b)]
        lines = [
            f"{race},{town},{y},{k if y else 100 - k}" for race, town, k in cells for y in (1, 0)
        ]
        return "\n".join(["race,town,y,n", *lines, ""])

    before = written(audited(data("x", "y"), metrics, more=more))
    assert only(audited(data("x"), metrics, more=more, baseline=before)).status is Status.WARN


def labelled(cells: dict[str, tuple[int, int]]) -> str:
    """Of 100 people of either label in each group, so many are selected."""
    lines = [
        f"{race},{z},{y},{k if y else 100 - k}"
        for race, both in cells.items()
        for z, k in zip((1, 0), both, strict=True)
        for y in (1, 0)
    ]
    return "\n".join(["race,z,y,n", *lines, ""])


def in_towns(rates: dict[str, int]) -> str:
    """Of 100 people in either of two towns, so many are selected; 10 more in the second one."""
    lines = [
        f"{race},{town},{y},{k + more if y else 100 - k - more}"
        for race, k in rates.items()
        for town, more in (("x", 0), ("y", 10))
        for y in (1, 0)
    ]
    return "\n".join(["race,town,y,n", *lines, ""])


def of_classes(rates: dict[str, int]) -> str:
    """Three outcomes of 100 people: so many have `hired`, 20 `asked`, and the others `no`."""
    lines = [
        f"{race},{y},{n}"
        for race, k in rates.items()
        for y, n in (("hired", k), ("asked", 20), ("no", 80 - k))
    ]
    return "\n".join(["race,y,n", *lines, ""])


def of_scores(rates: dict[str, int]) -> str:
    """Of 100 people, so many have the score 0.8, and the others 0.2."""
    lines = [f"{race},{s},{n}" for race, k in rates.items() for s, n in ((0.8, k), (0.2, 100 - k))]
    return "\n".join(["race,s,n", *lines, ""])


SCORE = {"columns": {"protected": ["race"], "score": "s", "count": "n"}}
LABEL = {"columns": COLUMNS | {"label": {"column": "z", "positive": 1, "negative": 0}}}
TOWNS = {"columns": COLUMNS | {"strata": ["town"]}}
CLASSES = {"columns": COLUMNS | {"decision": "y"}}
ONE_NUMBER: list[tuple[dict[str, Any], Callable[[dict[str, int]], str], dict[str, Any]]] = [
    ({"metric": "differential_fairness", "fail": {"above": 0.3}}, rows, {}),
    ({"metric": "differential_fairness", "fail": {"above": 0.3}}, of_classes, CLASSES),
    (
        {"metric": "demographic_parity_difference", "given": "town", "average": "pooled"}
        | {"fail": {"above": 0.1}},
        *(in_towns, TOWNS),
    ),
    (
        {"metric": "demographic_parity_difference", "class": "macro", "fail": {"above": 0.05}},
        *(of_classes, CLASSES),
    ),
    (
        {"metric": "demographic_parity_difference", "class": "hired", "fail": {"above": 0.05}},
        *(of_classes, CLASSES),
    ),
    ({"metric": "total_variation", "fail": {"above": 0.05}}, of_classes, CLASSES),
    ({"metric": "differential_fairness_credible", "fail": {"above": 0.5}}, rows, {}),
    ({"metric": "score_parity_gap", "fail": {"above": 0.05}}, of_scores, SCORE),
    (
        {"metric": "selection_rate", "compare": "difference", "reference": "a"}
        | {"aggregate": "max", "fail": {"above": 0.1}},
        *(rows, {}),
    ),
    (
        {"metric": "selection_rate", "compare": "ratio", "reference": "a"}
        | {"aggregate": "min", "fail": {"below": 0.8}},
        *(rows, {}),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("metric", "data", "more"), ONE_NUMBER)
@pytest.mark.parametrize(
    ("now", "status"),
    [
        ({"a": 50, "b": 25, "c": 40}, Status.WARN),
        ({"a": 50, "b": 25, "c": 26}, Status.FAIL),
        long({"a": 50, "b": 25, "d": 40, "c": 26}, Status.FAIL),
        long({"a": 50, "b": 40, "c": 25}, Status.FAIL),
    ],
)
def test_a_number_of_all_groups_hides_no_group_that_falls(
    audited: Audited,
    metric: dict[str, Any],
    data: Callable[[dict[str, int]], str],
    more: dict[str, Any],
    now: dict[str, int],
    status: Status,
) -> None:
    entry = {"by": "race", **metric}
    before = written(audited(data({"a": 50, "b": 25, "c": 40}), entry, more=more))
    result = audited(data(now), entry, more=more, baseline=before)
    assert only(result).status is status
    # An older report does not have the groups behind the number.
    (check,) = before["checks"]
    assert check.pop("departures")
    result = audited(data(now), entry, more=more, baseline=before)
    assert only(result).status in {Status.INCONCLUSIVE, Status.FAIL}


def test_two_groups_hide_nobody(audited: Audited) -> None:
    metric = {"metric": "differential_fairness", "by": "race", "fail": {"above": 0.3}}
    before = written(audited({"a": 50, "b": 25}, metric))
    del before["checks"][0]["departures"]
    assert only(audited({"a": 50, "b": 25}, metric, baseline=before)).status is Status.WARN
    result = audited({"a": 50, "b": 25, "c": 26}, metric, baseline=before)
    assert only(result).status is Status.INCONCLUSIVE
    assert "which the baseline does not show: create a new one" in text_of(result)


@pytest.mark.parametrize(("wrongly", "status"), [(12, Status.WARN), (45, Status.FAIL)])
def test_another_rate_behind_a_maximum_for_each_group_fails(
    audited: Audited, wrongly: int, status: Status
) -> None:
    metric = {"metric": "fairmlhealth_equal_odds_difference", "by": "race", "reference": "a"}
    limited = {**metric, "fail": {"outside": [-0.2, 0.2]}}
    before = written(audited(labelled({"a": (80, 10), "b": (30, 10)}), limited, more=LABEL))
    now = labelled({"a": (80, 10), "b": (30, wrongly)})
    result = audited(now, limited, more=LABEL, baseline=before)
    assert only(result).status is status
    assert ("a group is farther over the limit than before" in text_of(result)) == (wrongly > 20)


def test_a_group_of_epsilon_that_is_gone_keeps_the_check_open(audited: Audited) -> None:
    metric = {"metric": "differential_fairness", "by": "race", "fail": {"above": 0.3}}
    before = written(audited({"a": 50, "b": 25, "c": 30}, metric))
    assert only(audited({"a": 50, "b": 25}, metric, baseline=before)).status is Status.INCONCLUSIVE


RATIO: dict[str, Any] = {"metric": "selection_rate", "compare": "ratio", "by": "race"}
OWN = [
    # Of 100 people each: a 40 and b 76 and c 37 then, a 40 and b 60 and c 87 now.
    (RATIO | {"reference": "a", "fail": {"above": 1.25}}, "c", 87 / 40, 37 / 40, "b", 76 / 40),
    (FLOOR | {"fail": {"above": 0.5}}, "c", 0.87, 0.37, "b", 0.76),
    (
        {**RATIO, "compare": "difference", "reference": "rest", "fail": {"above": 0.1}},
        *("c", 0.87 - (0.4 + 0.6) / 2, 0.37 - (0.4 + 0.76) / 2),
        *("b", 0.76 - (0.4 + 0.37) / 2),
    ),
]


@pytest.mark.parametrize(("metric", "group", "now", "own", "worst", "value"), OWN)
def test_a_group_is_held_against_its_own_earlier_value(
    audited: Audited,
    metric: dict[str, Any],
    group: str,
    now: float,
    own: float,
    worst: str,
    value: float,
) -> None:
    """Not against that of the group that was the worst then; both are named, also read back."""
    before = written(audited({"a": 40, "b": 76, "c": 37}, metric))
    result = audited({"a": 40, "b": 60, "c": 87}, metric, baseline=before)
    finding = only(result)
    assert finding.before is not None
    assert (finding.status, dict(finding.first)) == (Status.FAIL, {"race": group})
    assert finding.before.value == pytest.approx(value)
    assert finding.before.own == pytest.approx(own)
    (own_worse,) = finding.before.own_worse
    assert own_worse == pytest.approx(own)
    assert finding.before.decided_by[0] == (("race", worst),)
    assert finding.before.worse_by == pytest.approx(now - own)
    text = text_of(result)
    assert f"worse than before: race={group} {now:.4f} ({own:.4f} before)" in text
    assert f"the worst before: race={worst} " in text
    assert f"{now:.4f} against {value:.4f}" not in text
    assert fairaudit.load(written(result)).findings == result.findings


def test_a_group_that_the_baseline_does_not_tell_has_no_own_value(audited: Audited) -> None:
    before = written(audited({"a": 30, "b": 80}))
    result = audited({"a": 30, "b": 80, "c": 20}, baseline=before)
    found = only(result).before
    assert found is not None
    assert (found.own, found.own_worse, found.worse_by) == (None, (None,), None)
    assert "race=c 0.2000 (no value before); the worst before: race=a 0.3000" in text_of(result)


def test_a_suppressed_report_tells_no_earlier_value(audited: Audited) -> None:
    """Nobody knows how few people were behind them then."""
    before = written(audited({"a": 40, "b": 76, "c": 37}, RATIO | OWN[0][0]))
    rates = {"a": 40, "b": 60, "c": 87}
    result = audited(rates, OWN[0][0], baseline=before, more={"suppress_below": 5})
    found = only(result).before
    assert found is not None
    assert (found.value, found.own, found.own_worse, found.worse_by) == (None, None, (), None)
    assert (found.decided_by, found.stratum) == ((), ())


@pytest.mark.long
@pytest.mark.parametrize(
    ("metric", "then"),
    [
        (FLOOR, {"a": 50, "b": 20, "c": 50}),
        (FLOOR, {"a": 50, "b": 20, "c": 40}),
        ({"metric": "demographic_parity_difference", "fail": {"above": 0.1}}, {"a": 70, "b": 20}),
        ({"metric": "differential_fairness", "fail": {"above": 0.3}}, {"a": 70, "b": 20}),
    ],
)
@pytest.mark.parametrize("selected", [0, 3, *map(long, (1, 2, 4, 6))])
def test_a_status_of_hidden_numbers_does_not_depend_on_the_baseline(
    audited: Audited, metric: dict[str, Any], then: dict[str, int], selected: int
) -> None:
    """Of ten people in b, so many are selected: a reader could find out how many."""
    entry = {"by": "race", **metric}
    before = written(audited(rows(then), entry))
    data = rows({"a": 60, "c": 55}) + f"b,1,{selected}\nb,0,{10 - selected}\n"
    hidden = {"suppress_below": 11}
    whole = audited(data, entry, baseline=before)
    alone, published = (
        audited(data, entry, more=hidden, **options) for options in ({}, {"baseline": before})
    )
    found = only(published).estimate
    assert found is not None
    assert found.suppressed
    assert published.exit_code >= alone.exit_code
    assert published.exit_code == (alone.exit_code or 3)
    assert bool(published.exit_code) >= bool(whole.exit_code)
    assert "not compared with the baseline" in only(published).why


@pytest.mark.parametrize(("b", "c", "then"), [(20, 60, (30, 20)), (60, 70, (30, 60))])
def test_an_own_value_is_of_the_same_entry(
    audited: Audited, b: int, c: int, then: tuple[int, int]
) -> None:
    """Two entries of one measure with other references: each has its own values."""
    asked = [RATIO | {"reference": one, "fail": {"above": 1.1}} for one in ("a", "b")]
    before = written(audited({"a": 40, "b": b, "c": 30}, asked))
    result = audited({"a": 40, "b": b, "c": c}, asked, baseline=before)
    found = [one.before and one.before.own for one in result.findings]
    assert found == [pytest.approx(then[0] / 40), pytest.approx(then[0] / then[1])]


def test_a_spread_is_held_against_itself_and_says_between_whom_it_was(audited: Audited) -> None:
    metric = {"metric": "demographic_parity_difference", "by": "race", "fail": {"above": 0.1}}
    before = written(audited({"a": 40, "b": 60, "c": 45}, metric))
    result = audited({"a": 40, "b": 45, "c": 70}, metric, baseline=before)
    text = text_of(result)
    assert "worse than before: 0.3000 (0.2000 before); then race=b against race=a, on" in text


@pytest.mark.parametrize("evidence", ["significant", "conclusive"])
def test_what_only_chance_was_blamed_for_before_fails(audited: Audited, evidence: str) -> None:
    """A value beyond the limit without its evidence is no failure that is known."""
    metric = {
        "metric": "statistical_parity_difference", "by": "race", "reference": {"race": "a"},
        "fail": {"outside": [-0.1, 0.1], evidence: True},
    }  # fmt: skip
    before = written(audited({"a": 5, "b": 3}, metric, of=10))
    assert before["checks"][0]["status"] == "warn"
    result = audited({"a": 500, "b": 300}, metric, of=1000, baseline=before, tolerance="0.5")
    assert (only(result).status, result.exit_code) == (Status.FAIL, 1)
    assert "before: warn, on 2023-11-14 (today)" in text_of(result)
    known = written(audited({"a": 500, "b": 300}, metric, of=1000))
    result = audited({"a": 500, "b": 300, "c": 399}, metric, of=1000, baseline=known)
    assert only(result).status is (Status.FAIL if evidence == "significant" else Status.WARN)


REVERSED: dict[str, Any] = {
    "columns": {
        "protected": ["gender"],
        "decision": {"column": "outcome", "positive": "admitted"},
        "count": "n",
        "strata": ["race"],
    },
    "metrics": ["selection_rate"],
    "simpson": {"fail": "every_stratum"},
}


def test_a_reversal_fails_when_the_baseline_does_not_list_it() -> None:
    data = SAMPLES / "kidney_admissions.csv"
    then = fairaudit.audit(REVERSED, data)
    assert then.exit_code == 1
    before = written(then)
    result = fairaudit.audit(REVERSED, data, baseline=before)
    assert (only(result).status, result.exit_code) == (Status.WARN, 0)
    assert "not worse than before: on 2023-11-14 (today)" in text_of(result)
    (found,) = then.reversals

    def beside(*listed: Reversal, **changes: Any) -> AuditResult:
        """The audit beside a baseline that lists other reversals."""
        finding = replace(only(then), reversals=listed, **changes)
        was = written(replace(then, findings=(finding,), reversals=listed))
        return fairaudit.audit(REVERSED, data, baseline=was)

    assert only(beside(replace(found, kind=ReversalKind.ADJUSTED))).status is Status.FAIL
    turned = replace(found, pair=found.pair[::-1])
    # The same two, but the other one was ahead: somebody else is worse off now.
    assert only(beside(turned)).status is Status.FAIL
    assert only(beside(replace(turned, crude=-turned.crude))).status is Status.WARN
    new = beside()
    assert (only(new).status, new.exit_code) == (Status.FAIL, 1)
    assert "worse than before: gender: " in text_of(new)
    assert only(beside(found, status=Status.WAIVED)).status is Status.FAIL


def test_the_headline_of_a_gate_on_reversals_is_about_the_reversal_that_is_new() -> None:
    data = pl.read_csv(SAMPLES / "kidney_admissions.csv").with_columns(pl.col("gender").alias("b"))
    spec = REVERSED | {"columns": REVERSED["columns"] | {"protected": ["gender", "b"]}}
    then = fairaudit.audit(spec, data)
    first, second = only(then).reversals
    listed = replace(then, findings=(replace(only(then), reversals=(first,)),), reversals=(first,))
    finding = only(fairaudit.audit(spec, data, baseline=written(listed)))
    assert finding.status is Status.FAIL
    assert [one.attribute for one in finding.reversals] == [second.attribute, first.attribute]


FULL = """\
columns:
  protected: {race: {merge: {other: [b, c]}}, age: {bins: [25, 40]}}
  label: {column: z, positive: 1}
  decision: {column: y, positive: 1, negative: 0}
  count: n
  strata: [town]
filter: "n > 0"
groups: {min_size: 5}
metrics:
  - {metric: selection_rate, compare: ratio, reference: rest, by: race, given: town,
     fail: {below: 0.8}}
simpson: {fail: every_stratum}
"""


def fingerprints(text: str) -> list[str]:
    return list(baselines.compute_fingerprints(specs.parse(text)).values())


def test_a_key_that_is_new_in_a_version_changes_no_fingerprint_of_specs_without_it() -> None:
    spec = specs.load(SPECS / "adult_counts.yaml")
    assert list(baselines.compute_fingerprints(spec).values()) == ["d40dbc530342f5e5"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("below: 0.8", "below: 0.80"),
        ("columns:", "# a comment\ntitle: another\ncontext: {owner: me}\ndata: x.csv\ncolumns:"),
        ("{below: 0.8}}", "{below: 0.8}}\n  - true_positive_rate"),
        ("filter:", "\n\nfilter:"),
        (
            "metric: selection_rate, compare",
            "name: A, why: B, owner: C, metric: selection_rate, compare",
        ),
        ("fail: {below: 0.8}", 'fail: "< 0.8"'),
        ("protected: {race: {", "protected: {race: {column: race, trim: false, "),
    ],
)
def test_how_a_spec_is_written_changes_no_definition(old: str, new: str) -> None:
    assert FULL.count(old) == 1
    assert fingerprints(FULL.replace(old, new)) == fingerprints(FULL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("below: 0.8", "below: 0.79"),
        ("fail: {below: 0.8}", "warn: {below: 0.8}"),
        ("reference: rest", "reference: largest"),
        ("compare: ratio", "compare: odds_ratio"),
        ("metric: selection_rate", "metric: true_positive_rate"),
        ("given: town", "given: town, average: pooled"),
        ("given: town", "given: town, undefined: warn"),
        ("min_size: 5", "min_size: 6"),
        ("other: [b, c]", "other: [b]"),
        ("positive: 1, negative: 0", "positive: 0, negative: 1"),
        ("column: y", "column: x"),
        ("count: n", "weight: n"),
        ('"n > 0"', '"n > 1"'),
        ("filter:", "missing: {prediction: drop}\nfilter:"),
        ("strata: [town]", "strata: {town: {column: city}}"),
    ],
)
def test_what_a_check_asks_is_its_definition(old: str, new: str) -> None:
    assert FULL.count(old) == 1
    assert fingerprints(FULL.replace(old, new))[0] != fingerprints(FULL)[0]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("every_stratum", "adjusted"),
        ("simpson: {", "simpson: {min_gap: 0.02, "),
        ("simpson: {", "simpson: {by: race, "),
        ("bins: [25, 40]", "bins: [25, 41]"),
    ],
)
def test_what_a_gate_on_reversals_asks_is_its_definition(old: str, new: str) -> None:
    assert fingerprints(FULL.replace(old, new))[1] != fingerprints(FULL)[1]


class Older(Frozen):
    """A type of which a later version has a field more."""

    name: str = "x"
    least: Decimal = Decimal("0.50")


class Newer(Older):
    """That version."""

    more: tuple[str, ...] = ()
    inner: dict[str, str] = field(default_factory=dict)


def test_a_key_that_is_new_and_not_used_changes_no_definition() -> None:
    older, newer = Older("y", Decimal("0.6")), Newer("y", Decimal("0.60"))
    assert _plain(older) == _plain(newer) == {"name": "y", "least": "0.6"}
    assert _plain(Newer("y", more=("z",))) == {"name": "y", "more": ["z"]}


def test_no_two_checks_of_the_sample_specs_ask_the_same() -> None:
    for path in SPECS.glob("*.yaml"):
        found = fingerprints(path.read_text("utf-8"))
        assert len(set(found)) == len(found), path


def test_cuts_that_the_data_set_are_no_part_of_a_definition(audited: Audited) -> None:
    decision = {"column": "n", "positive": {"above": "median"}}
    more = {"columns": {"protected": ["race"], "decision": decision}}
    spec = {"fail": {"below": 0.9}, "metric": "selection_rate", "by": "race"}
    one = audited({"a": 30, "b": 80}, spec, more=more)
    two = audited({"a": 31, "b": 81, "c": 40}, spec, more=more, baseline=written(one))
    assert "the cut is" in str(one.notices)
    assert one.notices != two.notices
    assert [f.definition for f in one.findings] == [f.definition for f in two.findings]


def test_a_metric_of_another_version_is_refused(audited: Audited) -> None:
    before = written(audited({"a": 30, "b": 80}))
    (definition,) = before["definitions"]
    assert (definition["id"], definition["version"]) == ("selection_rate", 1)
    definition["version"] = 2
    before["checks"][0]["definition"] = "0" * 16
    with pytest.raises(UsageError, match="selection_rate was of version 2 and is of version 1"):
        audited({"a": 30, "b": 80}, baseline=before)


def test_another_spec_is_refused_with_what_differs(audited: Audited) -> None:
    ratio = {"metric": "demographic_parity_ratio", "by": "race", "fail": {"below": 0.2}}
    one, two = written(audited({"a": 30, "b": 80})), written(audited({"a": 30, "b": 80}, ratio))
    both = written(audited({"a": 30, "b": 80}, [FLOOR, ratio]))
    cases = [
        (FLOOR, two, "demographic_parity_ratio/race/decision: only in the baseline"),
        (FLOOR, two, "selection_rate/race/decision: not in the baseline"),
        (FLOOR, both, "demographic_parity_ratio/race/decision: only in the baseline"),
        ([FLOOR, ratio], one, "demographic_parity_ratio/race/decision: not in the baseline"),
        ({**FLOOR, "fail": {"below": 0.4}}, one, "it asks something else now"),
    ]
    for metric, before, why in cases:
        with pytest.raises(UsageError, match=why) as caught:
            audited({"a": 30, "b": 80}, metric, baseline=before)
        assert caught.value.exit_code == 2
        assert caught.value.hint is not None
        assert "-o baseline.json" in caught.value.hint
    name = "selection_rate/race/decision"
    alone = audited({"a": 30, "b": 80}, [FLOOR, ratio], only=name, baseline=both)
    assert only(alone).status is Status.WARN
    again = audited({"a": 30, "b": 80}, [FLOOR, ratio], only=name, baseline=written(alone))
    assert only(again).status is Status.WARN


def damaged(before: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(before), **changes}


def test_what_is_no_report_is_refused(audited: Audited) -> None:
    before = written(audited({"a": 30, "b": 80}))
    row = before["checks"][0]
    crossing = row["crossed"][0]
    answer = Answer("s", None, UsageError("x"))
    error, batch = codec.write_answers([answer]), codec.write_answers([answer, answer])
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "the baseline: this is not a fairaudit result"),
        (damaged(before, tool={"name": "other"}), "this is not a fairaudit result"),
        (error, "the baseline is an error report, not a result"),
        (batch, "the baseline holds several results"),
        (damaged(before, schema_version="0.9"), "has the schema version 0.9, but this version"),
        (
            damaged(before, provenance={**before["provenance"], "suppress_below": 11}),
            "is suppressed",
        ),
        (
            damaged(before, provenance={**before["provenance"], "created": "yesterday"}),
            "cannot be read: `created` is not a time",
        ),
        (damaged(before, checks=[{"id": "x"}]), r"checks\[0\].type is missing"),
        (
            damaged(before, checks=[{**row, "status": "good"}]),
            r"checks\[0\].status is wrong: invalid enum value 'good'",
        ),
        (
            damaged(before, checks=[{**row, "value": 10**400}]),
            r"checks\[0\].value is wrong: number out",
        ),
        (
            damaged(before, checks=[{**row, "state": "suppressed"}]),
            r"\[0\].state does not follow from the rest",
        ),
        (
            damaged(before, checks=[{**row, "crossed": [{**crossing, "exact": "1/x"}]}]),
            r"checks\[0\].crossed\[0\].exact is wrong",
        ),
        (
            damaged(before, checks=[{**row, "crossed": [{**crossing, "value": None}]}]),
            r"checks\[0\].crossed\[0\].value is wrong: expected `float`, got `null`",
        ),
        (damaged(before, checks=3), "checks is (no list|wrong)"),
        (damaged(before, reversals=[{}]), r"reversals\[0\].rate is missing"),
    ]
    for document, why in cases:
        with pytest.raises(UsageError, match=why):
            audited({"a": 30, "b": 80}, baseline=document)
    old = {name: value for name, value in row.items() if name != "definition"}
    with pytest.raises(UsageError, match=r"checks\[0\].definition is missing"):
        audited({"a": 30, "b": 80}, baseline=damaged(before, checks=[old]))
    assert audited({"a": 30, "b": 80}, baseline=damaged(before)).exit_code == 0


@pytest.mark.parametrize("tolerance", ["-0.1", "nan", "inf", "much", "", None, "1,5"])
def test_a_tolerance_is_a_number_of_0_or_more(audited: Audited, tolerance: Any) -> None:
    before = written(audited({"a": 30, "b": 80}))
    with pytest.raises(UsageError, match="the tolerance must be a number of 0 or more, not"):
        audited({"a": 30, "b": 80}, baseline=before, tolerance=tolerance)


def test_a_baseline_of_the_future_says_so(
    audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written(audited({"a": 30, "b": 80}))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1699900000")
    result = audited({"a": 30, "b": 80}, baseline=before)
    assert "on 2023-11-14 (1 day after this run)" in text_of(result)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec and its data, to run the command in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text(rows({"a": 30, "b": 80}))
    spec = {"data": "data.csv", "columns": COLUMNS, "metrics": [FLOOR]}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(spec))
    return tmp_path


def test_a_gap_is_not_the_rate_of_the_best_group(audited: Audited) -> None:
    """B was within 5 points of A, the best group, and is now the group that is 20 points worse.

    Here the positive is a burden, and the gap itself, 0.2, is below every rate.
    """
    gap = {"metric": "selection_rate", "compare": "gap", "by": "race", "fail": "> 0.1"}
    burden = {"columns": {**COLUMNS, "decision": {**COLUMNS["decision"], "favourable": False}}}
    before = audited({"A": 50, "B": 55, "C": 70}, gap, more=burden)
    same, other = (
        audited(rates, gap, more=burden, baseline=before)
        for rates in ({"A": 50, "B": 55, "C": 70}, {"A": 50, "B": 70, "C": 55})
    )
    assert [one.findings[0].status for one in (same, other)] == [Status.WARN, Status.FAIL]


def test_the_command_compares_with_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["run", "spec.yaml", "-o", "base.json"]) == 1
    line = ["run", "spec.yaml", "--baseline", "base.json"]
    assert cli.run_line(line) == 0
    told = capsys.readouterr()
    assert "baseline base.json, created 2023-11-14" in " ".join(told.out.split())
    assert told.err.splitlines()[-1].startswith("PASS  1 check: 0 passed, 1 warned, 0 failed")
    (folder / "data.csv").write_text(rows({"a": 29, "b": 80}))
    assert cli.run_line(line) == 1
    assert cli.run_line([*line, "--tolerance", "0.01"]) == 0
    assert cli.run_line([*line, "--tolerance", "0.005"]) == 1
    assert cli.run_line([*line, "--tolerance", "-1"]) == 2


def test_the_command_refuses_what_it_cannot_compare(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*arguments: str) -> str:
        assert cli.run_line(["run", *arguments]) == 2
        return capsys.readouterr().err

    cli.run_line(["run", "spec.yaml", "-q", "-o", "base.json"])
    (folder / "other.csv").write_text(rows({"a": 30, "b": 80}))
    (folder / "two.yaml").write_text((folder / "spec.yaml").read_text())
    (folder / "text.json").write_text("no JSON")
    (folder / "list.json").write_text("[]")
    baseline = ("--baseline", "base.json")
    assert "--baseline works with one result" in refused("spec.yaml", "two.yaml", *baseline)
    assert "--baseline works with one result" in refused("spec.yaml", "--data", "*.csv", *baseline)
    assert "--tolerance needs --baseline" in refused("spec.yaml", "--tolerance", "0.1")
    assert ("the tolerance must be a number of 0 or more, not") in refused(
        "spec.yaml", *baseline, "--tolerance", "x"
    )
    assert "cannot be read: No such file" in refused("spec.yaml", "--baseline", "gone.json")
    assert "cannot be read: not a regular file" in refused("spec.yaml", "--baseline", ".")
    assert "the baseline text.json: this is not JSON" in refused(
        "spec.yaml", "--baseline", "text.json"
    )
    assert "this is not a fairaudit result" in refused("spec.yaml", "--baseline", "list.json")
    assert cli.run_line(["run", "spec.yaml", *baseline, "--data", "other.csv"]) == 0


DEFAULTS = """
Inference confidence=Decimal('0.95') correction='holm' family='spec' ratio='koopman' z='pooled'
    t='welch' fisher='mid_p' yates=False
MetricOptions reference=None parameters=Parameters() average=None of_class=None at=None
Minimum size=None events=None
Parameters smoothing=None concentration=None towards=None alpha=None utilities=() controls=() k=None
    t=None lipschitz=None
Check given=() against=None undefined='fail' warn=None fail=None place=None
    about=About(name='', why='', owner='') source=LimitQuotes(warn=None, fail=None)
    accept_left_out=None burden=False
ReversalCheck place=None
    about=About(name='', why='', owner='') source=LimitQuotes(warn=None, fail=None)
    accept_left_out=None warn=None fail=None scope=None
SubgroupCheck place=None
    about=About(name='', why='', owner='') source=LimitQuotes(warn=None, fail=None)
    accept_left_out=None warn=None fail=None scope=None
Limit below=None above=None significant=False conclusive=False
Missing tokens=('',) protected='show' strata='show' label='aside' prediction='error' decision=None
    score='error' numbers='aside' masked={}
"""


@pytest.mark.parametrize(
    "record",
    [
        Inference,
        MetricOptions,
        Minimum,
        Parameters,
        Check,
        ReversalCheck,
        SubgroupCheck,
        Limit,
        Missing,
    ],
)
def test_no_default_that_fingerprints_leave_out_has_changed(record: Any) -> None:
    """A baseline that was stored names no defaults: with another one it would ask another thing.

    A new field is no fault: it says here what it is where nobody names it, for good.
    """
    written = dict(
        line.split(" ", 1) for line in re.sub(r"\n +", " ", DEFAULTS).split("\n") if line
    )
    known = {}
    for member in fields(record):
        value = default_of(member)
        if value is not NODEFAULT and type(value) not in {Inference, MetricOptions, Minimum}:
            text = repr(str(value)) if isinstance(value, Enum) else repr(value)
            known[member.name] = "Parameters()" if isinstance(value, Parameters) else text
    assert " ".join(f"{name}={text}" for name, text in known.items()) == written[record.__name__]
    nested = [default_of(member) for member in fields(record)]
    assert all(
        value == type(value)() for value in nested if isinstance(value, Inference | MetricOptions)
    )


def test_a_result_itself_is_the_baseline_of_a_rate_of_one_model_minus_that_of_another() -> None:
    """Its parts are plain numbers, as those that are read from its JSON report."""
    people = pl.DataFrame({"g": [*"aabb"] * 50, "m": [1, 0, 0, 0] * 50, "new": [1, 1, 1, 0] * 50})
    models = {name: {"prediction": {"column": name, "positive": 1}} for name in ("m", "new")}
    change = {"metric": "selection_rate", "of": "new", "against": "m", "fail": {"above": 0.2}}
    spec = {"columns": {"protected": ["g"], "models": models}, "metrics": change}
    before = fairaudit.audit(spec, people)
    now = fairaudit.audit(spec, people, baseline=before)
    assert [finding.status for finding in before.findings] == [Status.FAIL]
    assert [finding.status for finding in now.findings] == [Status.WARN]
    assert [part.value for part in now.findings[0].parts] == [1.0, 0.5]
