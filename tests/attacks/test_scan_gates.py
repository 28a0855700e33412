"""Gates on reversals and subgroups have the safeguards of other checks: nobody vanishes silently.

Each case is seen to pass wrongly without the safeguard, and its twin without the fault passes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding, Status
from fairaudit.judge.left_out import LeftOutReason
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.report.headlines import headline
from fairaudit.report.remarks import uncovered
from fairaudit.result import AuditResult

SUBGROUPS: dict[str, Any] = {"subgroups": {"over": "all", "fail": {"above": 0.1}}}
REVERSALS: dict[str, Any] = {"simpson": {"fail": "adjusted"}}
Cells = Iterable[tuple[int, str]]


def audited(head: str, cells: Cells, **keys: Any) -> AuditResult:
    """The audit of a table: so many lines of each text below a header."""
    names = head.split(",")
    rows = [[value or None for value in text.split(",")] for n, text in cells for _ in range(n)]
    data = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    places = {"sex": "protected", "race": "protected", "dept": "strata", "jid": "strata"}
    columns: dict[str, Any] = {"decision": {"column": "hired", "positive": "1"}}
    for name in names:
        if name in places:
            columns.setdefault(places[name], []).append(name)
    columns |= keys.pop("columns", {})
    return fairaudit.audit({"columns": columns, "metrics": ["selection_rate"], **keys}, data)


def only(result: AuditResult) -> Finding:
    (finding,) = result.findings
    return finding


def crossed(n: int) -> Cells:
    """Men and women, A and B: each alone at 45 %, two intersections at 29 % and two at 61 %."""
    low, high = round(0.293 * n), round(0.606 * n)
    for text, selected in (("m,A", low), ("m,B", high), ("f,A", high), ("f,B", low)):
        yield selected, f"{text},1"
        yield n - selected, f"{text},0"


@pytest.mark.parametrize(
    ("n", "more", "status"),
    [
        (99, {}, Status.INCONCLUSIVE),
        (100, {}, Status.FAIL),
        (100, {"min_size": 150}, Status.INCONCLUSIVE),
        (99, {"depth": 1}, Status.PASS),
    ],
)
def test_a_depth_at_which_no_subgroup_is_searched_leaves_a_gate_open(
    n: int, more: dict[str, Any], status: Status
) -> None:
    subgroups = {**SUBGROUPS["subgroups"], **more}
    found = only(audited("sex,race,hired", crossed(n), subgroups=subgroups))
    assert found.status is status
    is_told = "4 of 8 possible subgroups are too small to be searched" in headline(found)
    assert is_told == (status is Status.INCONCLUSIVE)


def test_most_people_in_no_searched_subgroup_leave_a_gate_open() -> None:
    few = [(40, f"s{number},{d}") for number in range(8) for d in "01"]
    many = [(60, f"m,{d}") for d in "01"]
    for cells, status in ((few + many, "inconclusive"), (few[:2] + many, "pass")):
        found = only(audited("sex,hired", cells, **SUBGROUPS))
        assert found.status == status
        assert "are in none that is" in headline(found)
    accepted = {**SUBGROUPS["subgroups"], "accept_left_out": 0.9}
    assert only(audited("sex,hired", few + many, subgroups=accepted)).status is Status.PASS


TURNED = [
    (80, "m,A,1"), (20, "m,A,0"), (32, "x,A,1"), (8, "x,A,0"), (40, "m,B,1"), (60, "m,B,0"),
    (16, "x,B,1"), (24, "x,B,0"),
]  # fmt: skip
"""Men and others, alike in each department."""
WOMEN = [(3, "f,A,1"), (10, "f,B,1"), (10, "f,B,0")]
"""Women, ahead in each department and behind overall."""


def test_groups_too_small_for_a_scan_are_left_out() -> None:
    cells = TURNED + WOMEN
    assert only(audited("sex,dept,hired", cells, **REVERSALS)).status is Status.FAIL
    found = only(audited("sex,dept,hired", cells, groups={"min_size": 30}, **REVERSALS))
    assert found.left_out is not None
    assert [(part.reason, part.people) for part in found.left_out.reasons] == [
        (LeftOutReason.TOO_SMALL, 23)
    ]
    assert "23 of 303 people (7.6 %) and 1 of 3 groups are left out" in headline(found)
    found = only(audited("sex,dept,hired", TURNED, groups={"min_size": 30}, **REVERSALS))
    assert (found.status, found.left_out) == (Status.PASS, None)


def test_a_column_for_which_no_pair_is_compared_opens_a_gate_and_is_not_in_its_scope() -> None:
    rows = [line for n, text in TURNED for line in [text] * n]
    unique = [(1, f"{text},j{number}") for number, text in enumerate(rows)]
    found = only(audited("sex,dept,hired,jid", unique, **REVERSALS))
    assert found.status is Status.INCONCLUSIVE
    assert "no two groups could be compared in two strata or more: sex given jid" in found.why
    assert "(sex given dept; gaps" in headline(found)
    coarse = [(1, f"{text},j{number % 2}") for number, text in enumerate(rows)]
    found = only(audited("sex,dept,hired,jid", coarse, **REVERSALS))
    assert (found.status, found.compared) == (Status.PASS, None)
    assert "(sex given dept, jid; gaps" in headline(found)


def test_of_two_attributes_one_that_a_column_determines_opens_a_gate() -> None:
    cells = [(50, f"{sex},{race},{d},{race}") for sex in "mf" for race in "wb" for d in "01"]
    found = only(audited("sex,race,hired,dept", cells, **REVERSALS))
    assert found.status is Status.INCONCLUSIVE
    assert "race given dept" in found.why
    assert only(audited("sex,race,hired", [(n, t[:-2]) for n, t in cells], **REVERSALS)).status is (
        Status.PASS
    )


def test_people_of_a_group_without_a_pair_are_left_out_and_one_stratum_turns_nothing() -> None:
    cells = [*TURNED, (5, "f,B,1"), (55, "f,B,0")]
    found = only(audited("sex,dept,hired", cells, **REVERSALS))
    assert found.left_out is not None
    (part,) = found.left_out.reasons
    assert (part.reason, part.people) == (LeftOutReason.STRATUM, 60)
    constant = [(n, f"{text},1") for n, text in TURNED]
    found = only(audited("sex,dept,hired,jid", constant, **REVERSALS))
    assert found.status is Status.PASS
    assert "(sex given dept; gaps" in headline(found)


EVEN = [(50, f"{sex},{race},{d}") for sex in "mf" for race in "AB" for d in "01"]
DROPPING = {"decision": {"column": "hired", "positive": "1", "negative": "0", "others": "drop"}}


@pytest.mark.long
@pytest.mark.parametrize("gate", [SUBGROUPS, REVERSALS], ids=["subgroups", "reversals"])
@pytest.mark.parametrize(
    ("row", "more"),
    [
        ("f,B,pending", {"columns": DROPPING}),
        ("f,C,pending", {"columns": DROPPING}),
        ("f,C,", {"missing": {"decision": "drop"}}),
        ("f,C,", {"missing": {"decision": "aside"}}),
    ],
)
def test_rows_that_a_scan_does_not_judge_leave_its_gate_open(
    gate: dict[str, Any], row: str, more: dict[str, Any]
) -> None:
    found = only(audited("sex,race,hired", [*EVEN, (150, row)], **gate, **more))
    assert (found.status, bool(found.why)) == (Status.INCONCLUSIVE, True)
    assert only(audited("sex,race,hired", EVEN, **gate, **more)).status is Status.PASS


def test_a_lost_group_that_is_too_small_to_be_searched_leaves_a_gate_on_subgroups_alone() -> None:
    cells = [*EVEN, (9, "f,C,")]
    found = only(audited("sex,race,hired", cells, missing={"decision": "drop"}, **SUBGROUPS))
    assert found.status is Status.PASS


def test_levels_that_look_alike_are_named_where_they_change_the_status_of_a_scan() -> None:
    rows = [(100, "m,A,1"), (100, "m,A,0"), (100, "m,B,1"), (100, "m,B,0"), (100, "f,A,1"),
            (100, "f,A,0"), (10, "f,B,1"), (80, "f,B,0"), (10, "f,b,1"), (80, "f,b,0")]  # fmt: skip
    found = only(audited("sex,race,hired", rows, simpson=False, **SUBGROUPS))
    assert found.status is Status.INCONCLUSIVE
    assert "joined, the status would be fail, not pass" in found.not_evaluated[-1].reason
    reversed_rows = [(n, text.replace("f,A", "f,a")) for n, text in TURNED + WOMEN]
    found = only(audited("sex,dept,hired", reversed_rows, **REVERSALS))
    assert found.status is Status.INCONCLUSIVE
    assert "'A', 'a' of 'dept'" in found.not_evaluated[-1].reason
    even = [(n, text.replace("x,A", "x,a")) for n, text in TURNED]
    found = only(audited("sex,dept,hired", even, **REVERSALS))
    assert not any("look alike" in item.reason for item in found.not_evaluated)


def test_the_worst_of_what_no_limit_covers_is_told_with_the_groups_set_aside() -> None:
    cells = [(60, "m,A,1"), (40, "m,A,0"), (60, "f,A,1"), (40, "f,A,0"), (60, "m,B,1"),
             (40, "m,B,0"), (20, "f,B,0")]  # fmt: skip
    entry = {"metric": "demographic_parity_ratio", "by": ["sex", "race"], "fail": {"below": 0.8}}
    for least, told in ((30, True), (None, False)):
        groups = {} if least is None else {"groups": {"min_size": least}}
        result = audited("sex,race,hired", cells, metrics=[entry], **groups)
        whole = " ".join(terminal.render(content.document(result)).split())
        for page, places in ((whole, 2), (next(uncovered(result)), 1)):
            assert page.count("(groups set aside: 1)") == (places if told else 0)


def test_people_in_strata_without_a_weight_are_left_out() -> None:
    cells = [(60, "A,m,1"), (40, "A,m,0"), (55, "B,m,1"), (45, "B,m,0"), (150, "A,f,1"),
             (50, "A,f,0"), (10, "B,f,1"), (190, "B,f,0")]  # fmt: skip
    for weights, status in (
        ({"m": 1}, Status.INCONCLUSIVE),
        ({"m": 1, "f": 0}, Status.INCONCLUSIVE),
        ({"m": 9, "f": 0.01}, Status.PASS),
    ):
        entry = {
            "metric": "selection_rate", "compare": "min_ratio", "given": "dept",
            "average": weights, "fail": {"below": 0.8},
        }  # fmt: skip
        found = only(audited("race,dept,hired", cells, metrics=[entry]))
        assert found.status is status
        if status is Status.PASS:
            assert found.left_out is None
            continue
        assert found.left_out is not None
        assert (found.left_out.people, found.left_out.of_people) == (400, 600)
        assert found.left_out.reasons[0].reason is LeftOutReason.STRATUM
        assert found.estimate is not None
        assert found.estimate.n == 200  # 100 of each group


@pytest.mark.parametrize(
    ("scale", "at", "word"),
    [(100, 0.5, "no row is negative"), (1, 50, "no row is positive"), (1, 0.5, "")],
)
def test_a_threshold_that_all_or_no_people_reach_is_told(
    scale: float, at: float, word: str
) -> None:
    people = [(g, y, s) for g in "mf" for y in "01" for s in (0.2, 0.9) for _ in range(20)]
    rows = {
        "g": [g for g, _, _ in people],
        "y": [y for _, y, _ in people],
        "s": [s * scale for *_, s in people],
    }
    columns = {"protected": ["g"], "label": {"column": "y", "positive": "1"}, "score": "s"}
    entry = {"metric": "equalized_odds_difference", "at": [at], "fail": {"above": 0.1}}
    result = fairaudit.audit({"columns": columns, "metrics": [entry]}, rows)
    told = [notice for notice in result.notices if "no row is" in notice]
    assert told == ([f"score: at a score of {at} {word}"] if word else [])


PARITY = {"metric": "demographic_parity_difference", "fail": {"above": 0.6}}


@pytest.mark.parametrize(
    ("metrics", "unjudged"),
    [
        ([{**PARITY, "of": "new", "against": "old"}], ["old", "new"]),
        ([{**PARITY, "of": "label"}], ["old", "new"]),
        ([{**PARITY, "of": "new"}], ["old"]),
        ([{**PARITY, "of": "new"}, {**PARITY, "of": "old"}], []),
        (["selection_rate"], []),
    ],
)
def test_models_whose_decision_no_limit_judges_are_named(
    metrics: list[Any], unjudged: list[str]
) -> None:
    cells = [(n, f"{g},{d}") for g, selected in (("m", 60), ("f", 5))
             for n, d in ((selected, 1), (100 - selected, 0))]  # fmt: skip
    rows = {"g": [t[0] for n, t in cells for _ in range(n)],
            "d": [t[-1] for n, t in cells for _ in range(n)]}  # fmt: skip
    model = {"prediction": {"column": "d", "positive": "1"}}
    columns = {
        "protected": ["g"],
        "label": {"column": "d", "positive": "1"},
        "models": {"old": model, "new": model},
    }
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, rows)
    told = [one for one in result.notices if one.startswith("no limit judges the decisions of")]
    assert [one.split()[6] for one in told] == unjudged


@pytest.mark.parametrize("undefined", ["fail", "warn", "skip"])
@pytest.mark.parametrize(
    ("limits", "women", "status"),
    [
        ({"fail": {"below": 0.8, "significant": True}}, 10, Status.INCONCLUSIVE),
        ({"warn": {"below": 0.8, "significant": True}}, 10, Status.INCONCLUSIVE),
        ({"fail": {"below": 0.05, "conclusive": True}}, 10, Status.INCONCLUSIVE),
        ({"fail": {"below": 0.8, "significant": True}}, 60, Status.PASS),
    ],
)
def test_a_value_whose_evidence_is_unavailable_never_passes(
    undefined: str, limits: dict[str, Any], women: int, status: Status
) -> None:
    """Two clusters are too few for a test or an interval."""
    rows = {
        "g": ["m"] * 100 + ["f"] * 100,
        "d": [int(k < 60) for k in range(100)] + [int(k < women) for k in range(100)],
        "c": ["a", "b"] * 100,
    }
    spec = {
        "columns": {
            "protected": ["g"],
            "decision": {"column": "d", "positive": 1},
            "cluster": "c",
        },
        "metrics": [{"metric": "demographic_parity_ratio", "undefined": undefined, **limits}],
    }
    assert only(fairaudit.audit(spec, rows)).status is status


def test_a_waived_reversal_waives_no_group_that_is_gone(tmp_path: Path) -> None:
    rows = [*TURNED, *WOMEN, (40, "y,A,"), (40, "y,B,")]
    lines = [line for n, text in rows for line in [text] * n]
    expires = (datetime.now(UTC).date() + timedelta(days=90)).isoformat()
    waiver = {
        "check": "simpson_reversal/selection_rate/decision", "group": "all", "reason": "known",
        "approved_by": "N. N.", "expires": expires,
    }  # fmt: skip
    (tmp_path / "w.yaml").write_text(json.dumps([waiver]), "utf-8")
    for count, status in ((len(lines), Status.INCONCLUSIVE), (len(lines) - 80, Status.WAIVED)):
        data = "\n".join(["sex,dept,hired", *lines[:count], ""])
        (tmp_path / "d.csv").write_text(data, "utf-8")
        spec = {
            "data": "d.csv",
            "columns": {
                "protected": ["sex"],
                "strata": ["dept"],
                "decision": {"column": "hired", "positive": 1},
            },
            "missing": {"decision": "drop"},
            "metrics": ["selection_rate"],
            "waivers": "w.yaml",
            **REVERSALS,
        }
        (tmp_path / "s.yaml").write_text(json.dumps(spec), "utf-8")
        assert only(fairaudit.audit(tmp_path / "s.yaml")).status is status


def test_the_scope_that_was_compared_is_in_the_json(tmp_path: Path) -> None:
    rows = [line for n, text in TURNED for line in [text] * n]
    unique = [(1, f"{text},j{number}") for number, text in enumerate(rows)]
    result = audited("sex,dept,hired,jid", unique, **REVERSALS)
    (tmp_path / "r.json").write_text(report_json.render(result), "utf-8")
    kept = only(fairaudit.load(tmp_path / "r.json")).compared
    assert kept is not None
    assert ("dept",) in kept.given
    assert ("jid",) not in kept.given
