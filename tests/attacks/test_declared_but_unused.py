"""What a spec declares and the data leaves unused: levels, rows, bins and limits have a notice."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from commands import run

import fairaudit
from fairaudit.judge import Status

_Row = tuple[object, ...]
_RATIO = {"metric": "impact_ratio", "fail": {"below": 0.6}}
_DECISION = {"column": "y", "positive": 1}


def _rows(*counted: tuple[int, _Row]) -> list[_Row]:
    return [row for times, row in counted for _ in range(times)]


def _split(hits: int, people: int, *levels: str) -> list[_Row]:
    """Rows of a group, of which `hits` are selected."""
    return _rows((hits, (*levels, 1)), (people - hits, (*levels, 0)))


def _audit(
    header: str, rows: list[_Row], protected: dict[str, Any], *metrics: dict[str, Any], **more: Any
) -> fairaudit.AuditResult:
    data = dict(zip(header.split(","), map(list, zip(*rows, strict=True)), strict=True))
    columns = {"protected": protected, "decision": _DECISION, **more.pop("columns", {})}
    if "score" in columns:
        del columns["decision"]
    return fairaudit.audit({"columns": columns, "metrics": list(metrics or [_RATIO]), **more}, data)


def _told(result: fairaudit.AuditResult, words: str) -> list[str]:
    return [str(notice) for notice in result.notices if words in str(notice)]


# A level of a rule that no row reaches.

_RACES = [*_split(50, 100, "W", "N"), *_split(10, 100, "B", "N"), *_split(48, 100, "W", "H")]
_WHITE, _BLACK, _HISPANIC = {"White": {"e": "N"}}, {"Black": {"r": "B"}}, {"Hispanic": {"e": "H"}}


def _race(*rules: dict[str, Any]) -> dict[str, Any]:
    rule = {level: needed for one in rules for level, needed in one.items()}
    return {"race": {"combine": ["r", "e"], "rule": rule}}


def test_a_level_that_an_earlier_rule_takes_is_named() -> None:
    result = _audit("r,e,y", _RACES, _race(_HISPANIC, _WHITE, _BLACK))
    assert result.findings[0].status is Status.PASS
    (text,) = _told(result, "no row has the level")
    assert text.startswith("race: no row has the level 'Black' of `rule`")
    assert "the 100 rows that meet its condition 'White'" in text


def test_a_level_that_two_earlier_rules_take_names_both() -> None:
    rows = [*_RACES, *_split(5, 10, "B", "H")]
    (text,) = _told(_audit("r,e,y", rows, _race(_HISPANIC, _WHITE, _BLACK)), "no row has the level")
    assert "110 rows" in text
    assert "'White'" in text
    assert "'Hispanic'" in text


def test_rows_that_the_filter_removes_are_not_counted() -> None:
    protected = _race(_HISPANIC, _WHITE, _BLACK)
    result = _audit("r,e,y", _RACES, protected, filter="r <> 'B'")
    assert not _told(result, "no row has the level")


@pytest.mark.parametrize(
    "rules", [(_BLACK, _HISPANIC, _WHITE), (_HISPANIC, _BLACK, _WHITE)], ids=["first", "second"]
)
def test_a_level_with_rows_has_no_notice(rules: tuple[dict[str, Any], ...]) -> None:
    """Some Black people are Hispanic by the second order: an order of rules is meant to do that."""
    rows = [*_RACES, *_split(5, 10, "B", "H")]
    assert not _told(_audit("r,e,y", rows, _race(*rules)), "no row has the level")


def test_the_first_screen_and_the_dry_run_name_the_level(tmp_path: Path) -> None:
    lines = [",".join(map(str, row)) for row in _RACES]
    (tmp_path / "d.csv").write_text("\n".join(["r,e,y", *lines]))
    (tmp_path / "s.yaml").write_text(
        "version: 1\ndata: d.csv\ncolumns: {protected: {race: {combine: [r, e], rule: "
        "{Hispanic: {e: H}, White: {e: N}, Black: {r: B}}}}, decision: {column: y, positive: 1}}\n"
        "metrics: [{metric: impact_ratio, fail: {below: 0.6}}]\n"
    )
    for command in ("run", "check"):
        screen = " ".join(run(command, tmp_path / "s.yaml").stdout.split())
        assert "no row has the level 'Black' of `rule`" in screen


# Levels that a group joins, with very different rates.

_FOUR = [*_split(50, 100, "a"), *_split(48, 100, "b"), *_split(0, 30, "c"), *_split(28, 28, "d")]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"keep": ["a", "b"]}, "'other' joins 'c' (positive decision: 0.0 % of 30 people)"),
        ({"merge": {"b": ["c"]}}, "'b' joins 'b' (positive decision: 48.0 % of 100 people)"),
        ({"labels": {"c": "b"}}, "(0.0 % of 30 people)"),
        ({"keep": ["a"]}, "'other' joins 'd' (positive decision: 100.0 % of 28 people)"),
    ],
    ids=["keep", "merge", "labels", "three"],
)
def test_joined_levels_with_different_rates_are_named(column: dict[str, Any], words: str) -> None:
    (text,) = _told(_audit("g,y", _FOUR, {"g": column}), "joins '")[-1:]
    if "labels" in column:
        (text,) = _told(_audit("g,y", _FOUR, {"g": column}), "(positive decision")
    assert words in text
    assert "with others (" in text


def test_people_who_match_no_rule_are_compared_too() -> None:
    rows = [*_split(50, 100, "W", "N"), *_split(10, 100, "B", "N"), *_split(90, 100, "A", "N")]
    (text,) = _told(_audit("r,e,y", rows, _race({"White": {"r": "W"}})), "the group 'other' joins")
    assert re.search(r"'[AB], N' \(positive decision: (10|90)\.0 % of 100 people\)", text)


@pytest.mark.parametrize(
    ("rows", "more"),
    [
        ([*_split(50, 100, "a"), *_split(40, 100, "b"), *_split(45, 100, "c")], {}),  # chance
        ([*_split(5000, 9999, "a"), *_split(5000, 9999, "b"), *_split(4600, 9999, "c")], {}),
        ([*_split(50, 100, "a"), *_split(48, 100, "b"), *_split(0, 9, "c")], {}),  # few
        (_FOUR, {"groups": {"min_size": 31}}),
    ],
    ids=["by chance", "small", "few people", "min_size"],
)
def test_usual_merges_have_no_notice(rows: list[_Row], more: dict[str, Any]) -> None:
    rows = [row for row in rows if row[0] != "d"]
    result = _audit("g,y", rows, {"g": {"merge": {"b": ["c"]}}}, **more)
    assert not _told(result, "joins '")


def test_groups_that_join_nothing_have_no_notice() -> None:
    assert not _told(_audit("g,y", _FOUR, {"g": {}}), "joins '")


# Rows that `repeats` leaves out.

_ID = {"columns": {"id": "id"}}


def _people(*groups: tuple[str, str, int, int]) -> list[_Row]:
    return [
        (f"{name}{number}", group, int(number < hits))
        for name, group, hits, people in groups
        for number in range(people)
    ]


def test_the_groups_of_left_out_rows_are_counted() -> None:
    rows = [*_people(("p", "a", 50, 100), ("q", "b", 10, 100))]
    rows += [(f"q{number}", "b", 1) for number in range(40, 80)]
    result = _audit("id,g,y", rows, {"g": {}}, repeats="last", **_ID)
    (text,) = _told(result, "are left out")
    assert text == "40 of 240 rows are left out, which repeat a person by the id 'id'; g: 'b' 40"
    assert not _told(result, "several groups")


@pytest.mark.parametrize("keep", ["first", "last", {"latest": "day"}])
def test_ids_in_several_groups_are_counted(keep: object) -> None:
    rows = [*_people(("p", "a", 50, 100), ("q", "b", 10, 100))]
    rows += [(f"q{number}", "a", 0) for number in range(10, 75)]
    dated = [(*row, f"2024-01-{1 + place % 28:02}") for place, row in enumerate(rows)]
    result = _audit("id,g,y,day", dated, {"g": {}}, repeats=keep, **_ID)
    (text,) = _told(result, "several groups")
    assert "g: 65 of the ids in 'id' have rows in several groups, such as 'a', 'b'" in text


def test_a_group_that_is_unknown_in_one_row_is_not_another_group() -> None:
    rows: list[_Row] = [("1", "a", 1), ("1", "", 1), ("2", "b", 0), ("2", " b ", 0), ("3", "a", 0)]
    more = {"missing": {"protected": "show"}}
    result = _audit("id,g,y", rows, {"g": {"trim": True}}, repeats="first", **_ID, **more)
    assert _told(result, "2 of 5 rows are left out")
    assert not _told(result, "several groups")


def test_no_repeats_have_no_notice() -> None:
    result = _audit("id,g,y", _people(("p", "a", 5, 9)), {"g": {}}, repeats="first", **_ID)
    assert not _told(result, "left out")


def test_each_of_several_files_counts(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("id,g,y\n1,a,1\n2,b,0\n3,b,1\n")
    (tmp_path / "2.csv").write_text("id,g,y\n1,b,1\n2,b,1\n4,a,0\n")
    (tmp_path / "s.yaml").write_text(
        "version: 1\ndata: ['1.csv', '2.csv']\nrepeats: first\n"
        "columns: {protected: [g], decision: {column: y, positive: 1}, id: id}\n"
        "metrics: [{metric: impact_ratio, fail: {below: 0.1}}]\n"
    )
    screen = " ".join(run("run", tmp_path / "s.yaml").stdout.split())
    assert "2 of 6 rows are left out, which repeat a person by the id 'id'; g: 'b' 2" in screen
    assert "g: 1 of the ids in 'id' have rows in several groups, such as 'a', 'b'" in screen


# Negative differences in the lowest bin.


def _stays(column: dict[str, Any], *, as_days: bool = False) -> fairaudit.AuditResult:
    rows: list[_Row] = _rows(
        (20, ("2024-01-10", "2023-01-01", 0)),
        (62, ("2024-01-01", "2024-01-05", 1)),
        (38, ("2024-01-01", "2024-01-05", 0)),
        (48, ("2024-01-01", "2024-03-05", 1)),
        (52, ("2024-01-01", "2024-03-05", 0)),
    )
    if as_days:
        days = {"2024-01-10": 374, "2023-01-01": 0, "2024-01-01": 0, "2024-01-05": 4}
        rows = [(*(days.get(str(day), 64) for day in row[:2]), row[2]) for row in rows]
    return _audit("s,e,y", rows, {"los": {"column": "e", "minus": "s", **column}})


@pytest.mark.parametrize("as_days", [False, True])
def test_negative_differences_are_counted(*, as_days: bool) -> None:
    (text,) = _told(_stays({"bins": [30]}, as_days=as_days), "negative difference")
    assert text.startswith("los: rows with a negative difference (20)")
    assert "'under 30'" in text


@pytest.mark.parametrize("bins", [[0, 30], [-7, 30]])
def test_bins_for_negative_differences_have_no_notice(bins: list[int]) -> None:
    result = _stays({"bins": bins})
    assert not _told(result, "negative difference")


def test_rates_do_not_change_by_the_edge_at_0() -> None:
    (finding,) = _stays({"bins": [30]}).findings
    assert finding.value == pytest.approx((48 / 100) / (62 / 120))


# Limits that no score between 0 and 1 can cross.


def _score(entry: dict[str, Any], top: float = 1.0) -> list[str]:
    rows: list[_Row] = [("a", 1, top), ("a", 0, 0), ("b", 1, 0.2), ("b", 0, 0.3)] * 30
    label = {"label": {"column": "t", "positive": 1}, "score": "s"}
    result = _audit("g,t,s", rows, {"g": {"reference": "a"}}, entry, columns=label)
    return _told(result, "can never be crossed")


@pytest.mark.parametrize(
    ("entry", "ends"),
    [
        (
            {"metric": "mean_score", "compare": "difference", "fail": {"outside": [-5, 5]}},
            "-1 to 1",
        ),
        ({"metric": "mean_score", "fail": {"above": 1.5}}, "0 to 1"),
        ({"metric": "mean_score_positives", "compare": "gap", "fail": {"above": 5}}, "-1 to 1"),
        ({"metric": "balance_positive_class", "warn": {"above": 5}}, "-1 to 1"),
        ({"metric": "calibration_in_the_large", "fail": {"outside": [-5, 5]}}, "-1 to 1"),
        (
            {
                "metric": "calibration_in_the_large",
                "compare": "difference",
                "fail": {"outside": [-2, 2]},
            },
            "-2 to 2",
        ),
    ],
)
def test_limits_that_scores_cannot_reach_are_named(entry: dict[str, Any], ends: str) -> None:
    (text,) = _score(entry)
    assert f"with scores from 0 to 1, all values are from {ends}" in text


@pytest.mark.parametrize(
    "entry",
    [
        {"metric": "mean_score", "compare": "difference", "fail": {"outside": [-0.9, 5]}},
        {"metric": "mean_score", "fail": {"outside": [0.1, 2]}},
        {"metric": "mean_score", "compare": "ratio", "fail": {"above": 5}},
        {"metric": "balance_positive_class", "fail": {"above": 0.99}},
        {
            "metric": "calibration_in_the_large",
            "compare": "difference",
            "fail": {"outside": [-1.5, 1.5]},
        },
        {"metric": "score_mutual_information", "fail": {"above": 0.9}},
    ],
)
def test_limits_within_reach_have_no_notice(entry: dict[str, Any]) -> None:
    assert not _score(entry)


def test_a_score_of_up_to_850_can_differ_by_500() -> None:
    entry = {"metric": "mean_score", "compare": "difference", "fail": {"outside": [-500, 500]}}
    assert not _score(entry, top=850)
    entry = {"metric": "mean_score", "compare": "difference", "fail": {"outside": [-900, 900]}}
    (text,) = _score(entry, top=850)
    assert "with scores from 0 to 850" in text


def test_mutual_information_is_at_most_the_entropy_of_the_groups() -> None:
    (text,) = _score({"metric": "score_mutual_information", "fail": {"above": 2}})
    assert "with these groups, all values are from 0 to 1" in text
    rows = [*_split(45, 90, "a"), *_split(5, 10, "b")]
    entry = {"metric": "mutual_information", "fail": {"above": 0.5}}
    # -0.9 log2 0.9 - 0.1 log2 0.1 = 0.1368 + 0.3322
    (text,) = _told(_audit("g,y", rows, {"g": {}}, entry), "can never be crossed")
    assert "from 0 to 0.469" in text
    # A normalized value has other bounds.
    for metric, limit in (("mutual_information", 0.4), ("normalized_mutual_information", 0.5)):
        entry = {"metric": metric, "fail": {"above": limit}}
        assert not _told(_audit("g,y", rows, {"g": {}}, entry), "can never be crossed")


# Limits that a chart cannot reach.


def _chart(base: int, limit: float, path: Path) -> str:
    rows = [*_split(base, 100, "a"), *_split(base - 5, 100, "b")]
    entry = {
        "metric": "selection_rate",
        "compare": "difference",
        "fail": {"outside": [-limit, limit]},
    }
    pl.DataFrame(rows, ["g", "y"], orient="row").write_csv(path / "d.csv")
    columns = {"protected": {"g": {"reference": "a"}}, "decision": _DECISION}
    spec = {"version": 1, "data": "d.csv", "columns": columns, "metrics": [entry]}
    (path / "s.yaml").write_text(json.dumps(spec))
    run("run", path / "s.yaml", "-o", path / "r.html")
    return (path / "r.html").read_text()


@pytest.mark.parametrize(("base", "limit"), [(92, 0.3), (80, 0.2)])
def test_charts_have_no_limit_above_1(base: int, limit: float, tmp_path: Path) -> None:
    text = _chart(base, limit, tmp_path)
    assert "fail above" not in text
    assert "fail below" in text


def test_charts_have_no_limit_below_0(tmp_path: Path) -> None:
    text = _chart(20, 0.3, tmp_path)
    assert "fail below" not in text
    assert "fail above" in text


def test_charts_have_both_limits_within_reach(tmp_path: Path) -> None:
    text = _chart(50, 0.3, tmp_path)
    assert "fail below" in text
    assert "fail above" in text
