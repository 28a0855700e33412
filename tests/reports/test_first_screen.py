"""The first screen: at most 54 lines, what decides it, and nothing that is suppressed."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile
import polars as pl
import pytest
from report_cases import EACH, GOLDEN, GOLDENS, sample, stable
from rich.cells import cell_len

import fairaudit
from fairaudit.judge import Status
from fairaudit.report import format_of, markdown, remarks, terminal
from fairaudit.report.blocks import Table
from fairaudit.report.check_page import listing
from fairaudit.report.pictures import Interval, Intervals, Rule
from fairaudit.report.text_layout import draw
from fairaudit.result import Answer, AuditResult


def drawn(result: AuditResult) -> str:
    return "\n".join(
        "".join(cell.text for cell in line.cells) for line in terminal.draw(result, 100)
    )


def rendered(result: AuditResult, name: str) -> str:
    form = format_of(name)
    assert form is not None
    return str(form.render([Answer("s", None, result)], all_rows=True))


def printed(result: AuditResult, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    terminal.print_answers([Answer("spec.yaml", None, result)], stream)
    return stream.getvalue()


@pytest.mark.parametrize("name", EACH)
def test_first_screens(
    name: str, golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = sample(name)
    text = printed(result, 80, monkeypatch)
    if name in GOLDEN["screen.txt"]:
        golden(GOLDENS / f"{name}.screen.txt", stable(text, result))
    for columns in (40, 80, 200):
        lines = printed(result, columns, monkeypatch).splitlines()
        assert max(map(cell_len, lines)) <= columns
        assert len(lines) <= terminal.MOST_LINES or columns == 40


def test_a_spec_without_limits_shows_the_ratios_that_it_asks_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Selected: 30 and 60 of 100 in each part; names of thirty letters take a line of their own."""
    long_names = ("Applicants of the first region", "Applicants of the other region")
    rows = [
        (name, sex, "no such attribute has a level", int(number < selected))
        for name, selected in zip(long_names, (30, 60), strict=True)
        for sex in ("women of any age and any region", "men of any age and of any region")
        for number in range(100)
    ]
    people = pl.DataFrame(rows, schema=["region", "sex", "third", "y"], orient="row")
    spec = {
        "columns": {"protected": ["region", "sex", "third"], "decision": "y"},
        "metrics": [{"metric": "impact_ratio", "by": ["region", "region * sex * third"]}],
    }
    result = fairaudit.audit(spec, people)
    for columns in (40, 80, 200):
        lines = printed(result, columns, monkeypatch).splitlines()
        assert max(map(cell_len, lines)) <= columns
        assert len(lines) <= terminal.MOST_LINES or columns == 40
    text = printed(result, 200, monkeypatch)
    start = text.index("Impact ratio of the decision by region, relative to the highest group")
    first = [line.split() for line in text[start:].splitlines()[1:4]]
    assert first[1][4:8] == ["region", "60/200", "30.0", "%"]
    assert first[1][8] == "0.500"
    assert first[2][5:9] == ["120/200", "60.0", "%", "1.000"]
    text = printed(result, 80, monkeypatch)
    apart = text[text.index("by region × sex × third, relative to") :].splitlines()
    assert apart[5].endswith("has a level")
    assert apart[6].split()[:4] == ["30/100", "30.0", "%", "0.500"]
    top = markdown.head(result)
    captions = [block.caption for block in top if isinstance(block, Table)]
    assert "the widest gap by each combination of columns; gaps with evidence first" in text
    assert "Impact ratio of the decision by region, relative to the highest group" in captions


def test_a_spec_that_asks_for_rates_alone_begins_with_a_table_of_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 200 women 60 are selected, of 100 men 60: 30 % are 0.5 of 60 %."""
    rows = [("women", int(at < 60)) for at in range(200)]
    rows += [("men", int(at < 60)) for at in range(100)]
    people = pl.DataFrame(rows, schema=["sex", "y"], orient="row")
    spec = {
        "columns": {"protected": {"sex": {"reference": "men"}}, "decision": "y"},
        "metrics": "selection_rate",
    }
    result = fairaudit.audit(spec, people)
    lines = printed(result, 80, monkeypatch).splitlines()
    assert lines[1].startswith("No limits are set; 300 of 300 rows")
    assert lines[3] == "Selection rate of the decision by sex"
    assert lines[5].split()[:4] == ["women", "60/200", "30.0", "%"]
    assert "0.500" in lines[5].split()
    assert lines[6].split()[-1] == "reference"
    assert "NO LIMITS" not in "\n".join(lines)
    table = next(block for block in markdown.head(result) if isinstance(block, Table))
    assert [cell.text for cell in table.rows[0]][:3] == ["women", "60/200", "30.0 %"]


def test_a_gap_has_the_reference_of_the_ratios_that_are_asked() -> None:
    """The largest group is b; ratios are to the highest group, c: 20/100 to 30/50 is a third."""
    sizes = {"a": (20, 100), "b": (90, 200), "c": (30, 50)}
    rows = [
        (group, int(at < selected))
        for group, (selected, total) in sizes.items()
        for at in range(total)
    ]
    people = pl.DataFrame(rows, schema=["name of group", "y"], orient="row")
    spec = {"columns": {"protected": ["name of group"], "decision": "y"}}
    (asked,) = remarks.widest(fairaudit.audit({**spec, "metrics": "impact_ratio"}, people))
    assert "is selected 33 % as often as" in asked.headline
    assert asked.headline.endswith("c")
    assert "20.0 % (20/100) against 60.0 % (30/50); clear gap: 95 % interval" in asked.sure
    (plain,) = remarks.widest(fairaudit.audit({**spec, "metrics": "selection_rate"}, people))
    assert plain.headline.endswith("b")


def test_a_comment_has_the_first_tables_and_says_how_many_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four attributes have 15 subsets."""
    names = [f"a{at}" for at in range(4)]
    people = pl.DataFrame({name: [str(row >> at & 1) for row in range(160)]
                           for at, name in enumerate(names)}
                          | {"y": [row % 3 // 2 for row in range(160)]})  # fmt: skip
    spec = {"columns": {"protected": names, "decision": "y"},
            "metrics": [{"metric": "impact_ratio", "by": "all"}]}  # fmt: skip
    result = fairaudit.audit(spec, people)
    blocks = markdown.head(result)
    ratios = [block for block in blocks if isinstance(block, Table) and "ratio" in block.caption]
    assert len(ratios) == 6
    assert any(getattr(block, "text", "") == "9 more tables below." for block in blocks)
    text = printed(result, 80, monkeypatch)
    shown = text.count("Impact ratio of")
    assert f"{15 - shown} more tables with --full" in text
    assert len(text.splitlines()) <= terminal.MOST_LINES


def test_a_table_of_many_groups_is_cut_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    people = pl.DataFrame({"g": [f"g{at % 40}" for at in range(4000)],
                           "y": [int(at // 40 < at % 40 + 30) for at in range(4000)]})  # fmt: skip
    spec = {"columns": {"protected": ["g"], "decision": "y"}, "metrics": "impact_ratio"}
    text = printed(fairaudit.audit(spec, people), 80, monkeypatch)
    assert len(text.splitlines()) <= terminal.MOST_LINES
    assert "more groups" in text


def test_a_burden_has_the_ratios_of_being_spared_that_are_asked_for() -> None:
    """Spared: 100 of 150 Black people, 66.7 %, and 400 of 500 White people, 80.0 %."""
    rows = {"race": [*"bbww"], "denied": [1, 0, 1, 0], "n": [50, 100, 100, 400]}
    decision = {"column": "denied", "positive": 1, "favourable": False}
    columns = {"protected": ["race"], "decision": decision, "count": "n"}
    spec = {"version": 1, "columns": columns, "metrics": ["impact_ratio"]}
    screen = drawn(fairaudit.audit(spec, rows))
    assert re.search(r"b +100/150 +66\.67 % +0\.833", screen)
    assert re.search(r"w +400/500 +80\.00 % +1\.000 +reference", screen)
    assert "people who are not selected; the positive is a burden" in screen


@pytest.mark.parametrize(
    ("favourable", "limits", "said"),
    [
        (False, {"fail": {"above": 1.25}}, "b has the outcome 1"),
        (True, {"fail": {"above": 1.25}}, "b is selected 1"),
        (False, {}, "b has the outcome 1"),
        (True, {}, "b is selected 1"),
    ],
)
def test_people_are_not_called_selected_for_a_burden(
    favourable: bool, limits: dict[str, Any], said: str
) -> None:
    """Denied: 50 of 150, and 100 of 500: 1.67 times as often."""
    rows = {"race": [*"bbww"], "denied": [1, 0, 1, 0], "n": [50, 100, 100, 400]}
    decision = {"column": "denied", "positive": 1, "favourable": favourable}
    columns = {"protected": {"race": {"reference": "w"}}, "decision": decision, "count": "n"}
    entry = {"metric": "selection_rate", "compare": "ratio", **limits}
    result = fairaudit.audit({"version": 1, "columns": columns, "metrics": [entry]}, rows)
    screen = drawn(result)
    assert said in screen
    if limits:
        assert ("fewer people with the outcome" in " ".join(screen.split())) is not favourable


def test_a_gap_with_evidence_comes_before_a_wider_one_without() -> None:
    """0.49 of 1,309 people leaves out parity; 0.25 of 21 people does not."""
    rows = {
        "race": [*"bbwwmmnn"],
        "hired": [1, 0] * 4,
        "n": [102, 163, 248, 1061, 2, 19, 1, 8],
    }
    columns = {
        "protected": ["race"], "decision": {"column": "hired", "positive": 1}, "count": "n",
    }  # fmt: skip
    spec = {"version": 1, "columns": columns, "metrics": ["impact_ratio"]}
    (gap,) = remarks.widest(fairaudit.audit(spec, rows))
    assert gap.headline.startswith("race=w is selected 49 % as often as race=b")
    assert gap.is_significant


@pytest.mark.long
def test_many_failing_checks_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first in full, the rest as headlines, and how many there are."""
    rows = pl.DataFrame({
        f"a{bit}": [str(number >> bit & 1) for number in range(32) for _ in range(4)]
        for bit in range(5)
    } | {"y": [int(number % 7 < 3 + at) for number in range(32) for at in range(4)]})  # fmt: skip
    spec = {
        "columns": {
            "protected": [f"a{bit}" for bit in range(5)],
            "decision": {"column": "y", "positive": 1},
        },
        "metrics": [{"metric": "demographic_parity_ratio", "by": "all", "fail": "< 0.999"}],
    }
    result = fairaudit.audit(spec, rows)
    failed = sum(finding.status == "fail" for finding in result.findings)
    assert failed > 20
    text = printed(result, 80, monkeypatch)
    assert len(text.splitlines()) <= terminal.MOST_LINES
    assert text.count("\nerror[") == terminal.MOST_HEADLINES
    assert f"and {failed - terminal.MOST_HEADLINES} more checks: --full" in text
    assert text.count("= who:") >= 1


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("by", ["sex", "all"])
def test_a_pass_hides_no_notice_behind_others(
    by: str, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That no limit judges a model is not behind notices on columns, even beside 7 checks."""
    bits = {name: [number >> bit & 1 for number in range(256)] for bit, name in enumerate("abcd")}
    rows = {"sex": ["f", "m"] * 128, **bits, "real": [0, 1] * 128}
    models = {"fair": {"prediction": "d"}, "real": {"prediction": "real"}}
    spec = {
        "columns": {"protected": ["sex", "b", "c"], "models": models},
        "metrics": [{"metric": "demographic_parity_ratio", "by": by, "fail": "< 0.8"}],
    }
    result = fairaudit.audit(spec, pl.DataFrame(rows))
    notices = [*map(str, result.notices)]
    assert any(notice.startswith("no limit judges the decisions of real") for notice in notices)
    text = printed(result, columns, monkeypatch)
    assert len(text.splitlines()) <= terminal.MOST_LINES
    assert text.startswith("PASS")
    assert text.count("\nnotice:") >= min(len(notices), 8) > 2


def test_names_from_data_break_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(hostile.audited(tmp_path), 80, monkeypatch)
    assert max(map(cell_len, text.splitlines())) <= 80
    assert all(sign.isprintable() or sign == "\n" for sign in text)


def test_long_names_stand_above_their_intervals() -> None:
    names = [f"Native Hawaiian or other Pacific Islander {number} × female" for number in (1, 2)]
    rows = [
        Interval(name, value, value - 0.1, value + 0.1, text=f"{value:.0%}", strong=True)
        for name, value in zip(names, (0.3, 0.6), strict=True)
    ]
    lines = draw(
        Intervals("selection rate", rows, [Rule(0.5, label="fail 50 %", limit="fail")]), 80
    )
    texts = ["".join(cell.text for cell in line.cells) for line in lines]
    assert "selection rate" in texts[0]
    assert "fail 50 %" in texts[0]
    assert [text.strip() for text in texts[1:-1:2]] == names
    assert all("●" in text for text in texts[2::2])
    assert texts[-1].strip() == "● compared, ─ interval, │ fails"
    assert max(map(len, texts)) <= 80


def test_a_picture_has_its_ends_and_its_limit_where_they_are() -> None:
    rows = [Interval("a", 0.0, 0.0, 0.25), Interval("b", 1.0, 0.75, 1.0)]
    lines = draw(Intervals("rate", rows, [Rule(0.5, label="x", limit="warn")]), 80)
    first, second = ("".join(cell.text for cell in line.cells)[8:] for line in lines[1:-1])
    assert first.startswith("○")
    assert second.rstrip().endswith("○")
    assert first.index("┊") == second.index("┊") == pytest.approx(len(second) / 2, abs=1)
    legend = "".join(cell.text for cell in lines[-1].cells)
    assert legend.strip() == "○ value, ─ interval, ┊ warns"


def test_gaps_whose_tests_are_hidden_are_not_called_insignificant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = pl.DataFrame({"a": ["x", "y"] * 200, "y": [1, 0, 0, 0] * 100})
    spec = {
        "columns": {"protected": ["a"], "decision": {"column": "y", "positive": 1}},
        "metrics": ["selection_rate"],
    }
    assert "gaps with evidence first" in printed(fairaudit.audit(spec, rows), 80, monkeypatch)
    text = printed(fairaudit.audit({**spec, "suppress_below": 5}, rows), 80, monkeypatch)
    assert "no gap with evidence" not in text


def test_counts_of_checks_agree() -> None:
    """Of 10 each 5 women and 8 men: one check fails, two pass, one of them with a doubt."""
    sizes = {"sex": [*"FFMM", None], "d": [1, 0, 1, 0, 0], "n": [5, 5, 8, 2, 2]}
    columns = {"protected": {"sex": {"reference": "M"}}, "count": "n",
               "decision": {"column": "d", "positive": 1}}  # fmt: skip
    gap = {"metric": "selection_rate", "compare": "difference"}
    result = fairaudit.audit(
        {"columns": columns, "metrics": [
            {"metric": "selection_rate", "fail": {"below": 0.9}},
            {**gap, "fail": {"below": -0.31}},
            {"metric": "impact_ratio", "fail": {"below": 0.2}},
        ]}, sizes,
    )  # fmt: skip
    assert (result.tally[Status.FAIL], result.tally[Status.PASS]) == (1, 2)
    screen = drawn(result)
    assert "2 checks passed, 1 without doubt" in screen
    assert "1 check passed" not in screen
    html = rendered(result, "html")
    assert "2 checks passed, 1 without doubt" in html
    assert "did not pass" not in html


def test_values_without_a_limit_are_known_everywhere() -> None:
    """ε of two attributes, alone and together: ln of the largest ratio of both outcomes."""
    sizes = {
        "sex": [*"FFMMFFMM"], "race": [*"bbbbwwww"], "d": [1, 0] * 4,
        "n": [20, 80, 30, 50, 40, 160, 50, 60],
    }  # fmt: skip
    columns = {"protected": ["sex", "race"], "decision": {"column": "d", "positive": 1},
               "count": "n"}  # fmt: skip
    spec = {"columns": columns, "groups": {"by": ["all"]}, "metrics": ["differential_fairness"]}
    result = fairaudit.audit(spec, sizes)
    expected = [
        f"{math.log(ratio):.4f}"
        for ratio in ((80 / 190) / (60 / 300), (90 / 310) / (50 / 180), (50 / 110) / (20 / 100))
    ]
    screen = drawn(result)
    assert "no groups were compared" not in screen
    lines = csv.DictReader(io.StringIO(rendered(result, "csv")))
    values = [line["value"] for line in lines if line["metric"] == "differential_fairness"]
    assert [f"{float(value):.4f}" for value in values] == expected
    (table,) = [block for block in listing(result) if isinstance(block, Table)]
    assert [row[-2].text for row in table.rows] == expected
    frame = result.checks()
    assert [f"{value:.4f}" for value in frame["value"].to_list()] == expected
    for value in expected:
        assert value in screen
