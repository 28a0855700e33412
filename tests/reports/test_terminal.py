"""The report on a page of some width: nothing is cut, numbers hold together, columns are even."""

from __future__ import annotations

import io
import re
from pathlib import Path

import hostile
import polars as pl
import pytest
from conftest import SPECS, long
from rich.cells import cell_len

import fairaudit
from fairaudit.report import content, terminal
from fairaudit.report.blocks import Cell, Document, Entries, Heading, Paragraph, Table
from fairaudit.result import AuditResult


@pytest.fixture(scope="module")
def loans() -> AuditResult:
    return fairaudit.audit(SPECS / "loans.yaml")


@pytest.fixture(scope="module")
def six() -> AuditResult:
    """Six attributes: 63 subsets."""
    cells = [[str(number >> bit & 1) for bit in range(6)] for number in range(64)]
    rows: dict[str, list[object]] = {
        f"a{bit}": [cell[bit] for cell in cells for _ in range(2)] for bit in range(6)
    }
    rows["y"] = [0, 1] * 64
    rows["n"] = [30 + (at * 37) % 41 for at in range(128)]
    spec = {
        "columns": {
            "protected": [f"a{bit}" for bit in range(6)],
            "decision": {"column": "y", "positive": 1},
            "count": "n",
        },
        "metrics": [{"metric": "demographic_parity_difference", "fail": {"above": 0.9}}],
    }
    return fairaudit.audit(spec, pl.DataFrame(rows))


def printed(document: Document, columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    terminal.print_document(document, stream)
    return stream.getvalue()


@pytest.mark.long
@pytest.mark.parametrize("columns", [40, *map(long, (60, 80, 200))])
def test_no_line_is_wider_than_the_page(
    columns: int, loans: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for result in (loans, hostile.audited(tmp_path)):
        text = printed(content.document(result), columns, monkeypatch)
        assert max(map(cell_len, text.splitlines())) <= columns


@pytest.mark.parametrize("columns", [long(40), 80, long(200)])
def test_what_is_taken_in_at_once_stays_on_one_line(
    columns: int, loans: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(content.document(loans), columns, monkeypatch)
    assert not re.search(r"\d *\n *%", text), "a number and its per cent"
    assert not re.search(r"%\n *\(\d", text), "a share and its counts"
    assert not re.search(r"\bp\n *[=<]|[=<>]\n *[.\d]", text), "a p-value, a limit"
    assert not re.search(r"\[-?[\d.]+,\n", text), "both ends of an interval"
    assert not re.search(r"\n *[×/] ", text), "a line starts with a name"


@pytest.mark.parametrize("columns", [30, *map(long, (40, 80, 200))])
def test_every_number_of_a_table_is_there_whole(
    columns: int, loans: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = content.document(loans)
    text = printed(document, columns, monkeypatch)
    told = set(text.split()) | {word.rstrip(";:") for word in text.split()}
    for block in document:
        if isinstance(block, Table):
            for row in block.rows:
                for cell, numeric in zip(row, block.numeric, strict=True):
                    missing = set(cell.text.split()) - told if numeric else set()
                    assert not missing


def test_wide_signs_keep_columns_straight(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["日本語の名前", "plain", "👩 emoji", "한국어", "e\u0301te\u0301"]
    rows = [[Cell(name), Cell(str(10**at))] for at, name in enumerate(names)]
    table = Table("", ("group", "count"), rows, (False, True))
    for columns in (60, 200):
        lines = printed((table,), columns, monkeypatch).splitlines()
        (rule,) = {cell_len(line) for line in lines[1:2]}
        assert {cell_len(line) for line in lines[2:]} == {rule}


def test_blocks_are_apart_by_one_line_at_most(
    loans: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = printed(content.document(loans, all_rows=True), 80, monkeypatch)
    assert "\n\n\n" not in text
    tables = (Table("one", ("a",), [[Cell("1")]], (True,)),) * 2
    blocks = (Heading("h"), *tables, Paragraph("text"), Entries([(Cell("word"), "text")]))
    lines = printed(blocks, 80, monkeypatch).splitlines()
    assert lines == ["", "h", "one", "a", "─", "1", "", "one", "a", "─", "1", "", "text",
                     "word  text"]  # fmt: skip


@pytest.mark.long
def test_a_long_lattice_is_folded_with_a_word_and_verbose_has_it_all(six: AuditResult) -> None:
    short, whole = (
        terminal.render(content.document(six, all_rows=all_rows)) for all_rows in (False, True)
    )
    subsets = [" × ".join(row.by) for row in six.lattice]
    assert len(subsets) == 63

    def listed(text: str) -> set[str]:
        section = text.partition("Every combination")[2].partition("Rates, worst")[0]
        found = re.findall(r"^(a\d(?: × a\d)*)  ", section, re.MULTILINE)
        return {one for one in found if one in subsets}

    assert listed(whole) == set(subsets)
    kept = listed(short)
    assert {f"a{at}" for at in range(6)} | {max(subsets, key=len)} <= kept
    assert len(kept) == 16
    assert "47 more: --verbose" in short
    assert short.count("\n") < 320
    departures = {" × ".join(row.by): row.entries[0].departure for row in six.lattice}
    forced = {f"a{at}" for at in range(6)} | {max(subsets, key=len)}
    least = min(departures[one] for one in kept - forced)
    assert all(departures[one] <= least for one in set(subsets) - kept)
    assert "and the tables of 51 more subsets" in short
    assert whole.count("Selection rate of the decision by") == 63
    assert "more subsets" not in whole


@pytest.mark.long
def test_what_no_limit_covers_is_folded(six: AuditResult) -> None:
    text = " ".join(terminal.render(content.document(six)).split())
    assert " and 45 more. The worst value is" in text
    text = " ".join(terminal.render(content.document(six, all_rows=True)).split())
    assert " and 45 more" not in text


def test_two_hundred_levels_are_folded_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {
        "group": [f"level {at:03}" for at in range(200)] * 2,
        "y": [1] * 200 + [0] * 200,
        "n": [5 + at % 7 for at in range(400)],
    }
    spec = {
        "columns": {
            "protected": ["group"],
            "decision": {"column": "y", "positive": 1},
            "count": "n",
        },
        "metrics": [{"metric": "impact_ratio", "fail": {"below": 0.8}}],
    }
    result = fairaudit.audit(spec, pl.DataFrame(rows))
    text = printed(content.document(result), 80, monkeypatch)
    assert text.count("\n") < 160
    assert "and 188 more groups" in text
    text = terminal.render(content.document(result, all_rows=True))
    assert all(f"\nlevel {at:03} " in text for at in range(200))


def test_a_finding_is_told_once(loans: AuditResult) -> None:
    text = " ".join(terminal.render(content.document(loans)).split())
    assert text.count("on 100 people with unknown group, the value can be 0.600 to 0.641;") == 1
    assert text.count("impact_ratio/gender+race/prediction") == 1
    assert text.count("Impact ratio of the prediction, to the highest group, by gender × race") == 1


def test_long_names_are_broken_between_their_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "Applicants of the first region × women of any age and any region"
    rows = [
        [Cell(f"{name} {number}"), Cell(f"{number}/100"), Cell("[25.7, 34.7]")]
        for number in (3, 30)
    ]
    table = Table(
        "People", ("region × sex", "count", "95 %"), rows, (False, True, True), "and more"
    )
    narrow = printed((table,), 40, monkeypatch)
    assert all(words in narrow for words in ("3/100  [25.7, 34.7]", "30/100  [25.7, 34.7]"))
    assert max(map(len, narrow.splitlines())) <= 40
    beside = printed((table,), 80, monkeypatch)  # two lines do, broken between the levels
    between = r"^Applicants of the first region × +3/100 .*\n^women of any age and any region 3 *$"
    assert re.search(between, beside, re.MULTILINE)
