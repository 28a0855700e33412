"""Lines above the header and below the rows are left out, found by `init`, and still counted."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import openpyxl
import pytest
import yaml

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import DataError, SpecError

HEADER = "g;n;d;note"
ROWS = [f"{'ab'[n % 2]};{n};{n % 3 % 2};x" for n in range(40)]
COLUMNS: Mapping[str, Any] = {"protected": ["g"], "decision": {"column": "d", "positive": 1}}


def audit(path: Path, lines: list[str], encoding: str = "utf-8", **form: Any) -> Any:
    path.write_bytes("\r\n".join([*lines, ""]).encode(encoding))
    return fairaudit.audit(
        {
            "data": str(path),
            "format": {"separator": ";", "encoding": encoding, **form},
            "filter": "n < 1000",
            "columns": COLUMNS,
            "metrics": "selection_rate",
        }
    )


def shares(result: Any) -> dict[str, tuple[int, int]]:
    return {
        row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.group
    }


EXPECTED = {
    group: (
        sum(n % 3 % 2 for n in range(40) if "ab"[n % 2] == group),
        sum(1 for n in range(40) if "ab"[n % 2] == group),
    )
    for group in "ab"
}


@pytest.mark.long
@pytest.mark.parametrize("route", ["", "lazy"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "windows-1252", "utf-16"])
@pytest.mark.parametrize("multiline", [False, True])
def test_any_number_of_lines_is_left_out(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    route: str,
    encoding: str,
    multiline: bool,
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    made = random.Random(1)
    for _ in range(4):
        above = made.choices(["sep=;", "", 'Größe – "Bericht', "a;b", ";;;"], k=made.randrange(5))
        below = made.choices(["", "Summe: 40", ";;;", 'noch "eine'], k=made.randrange(4))
        form = {"skip_rows": len(above), "skip_footer": len(below), "multiline": multiline}
        lines = [*above, HEADER, *ROWS, *below]
        result = audit(tmp_path / "d.csv", lines, encoding, **form)
        assert shares(result) == EXPECTED
        assert result.provenance.files[0].lines == len(lines)
        names = ["g", "n", "d", "note"]
        form["skip_rows"] += 1
        result = audit(tmp_path / "d.csv", lines, encoding, header=names, **form)
        assert shares(result) == EXPECTED


@pytest.mark.parametrize("route", ["", "lazy"])
@pytest.mark.parametrize("form", [{}, {"multiline": True}, {"header": ["g", "n", "d", "note"]}])
def test_an_error_names_the_line_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str, form: Mapping[str, Any]
) -> None:
    monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
    above = ["sep=;", "Bericht", "", *([HEADER] if "header" in form else [])]
    head = [] if "header" in form else [HEADER]
    for bad, words in ((["a;1;0"], "3 fields where the header has 4"), (["a;x;0;x"], "'x'")):
        lines = [*above, *head, *ROWS, *bad, "Summe"]
        spot = rf"d\.csv:{lines.index(bad[0]) + 1}\b.*{words}"
        with pytest.raises(DataError, match=spot):
            audit(tmp_path / "d.csv", lines, skip_rows=len(above), skip_footer=1, **form)


def test_a_line_that_is_no_header_is_refused_with_the_number_to_skip(tmp_path: Path) -> None:
    cases = (
        (["sep=;", "Bericht, 2024"], 0, 2, "names the separator"),
        (["Bericht, 2024"], 0, 1, "looks like a title"),
        (["Bericht, 2024;;;", ";;;"], 0, 2, "looks like a title"),
        (['"zwei', 'Zeilen"', ""], 0, 3, "looks like a title"),
        (["", "Bericht"], 0, 2, "is blank"),
        (["a;b;c;d", "Jahr;2024"], 1, 2, "looks like a title"),
    )
    for above, skipped, needed, words in cases:
        with pytest.raises(DataError, match=rf"d\.csv:{skipped + 1}: the line {words}") as caught:
            audit(tmp_path / "d.csv", [*above, HEADER, *ROWS], skip_rows=skipped)
        assert f"skip_rows: {needed}}}" in (caught.value.hint or "")
    with pytest.raises(DataError, match=r"d\.csv:42: 1 field where") as caught:
        audit(tmp_path / "d.csv", [HEADER, *ROWS, "Summe: 40"])
    assert "skip_footer" in (caught.value.hint or "")
    with pytest.raises(DataError, match=r"d\.csv:100: the header is empty"):
        audit(tmp_path / "d.csv", [HEADER, *ROWS], skip_rows=99)
    with pytest.raises(SpecError, match=r"format\.skip_footer: expected a whole number"):
        audit(tmp_path / "d.csv", [HEADER, *ROWS], skip_footer=-1)


@pytest.mark.parametrize(
    "header", ["g;n;d", ";g;n;d", "g;;;d", "g", "g;d", ";d"], ids=lambda text: f"<{text}>"
)
def test_a_header_is_no_title(tmp_path: Path, header: str) -> None:
    """Also one with blank names, and of the numbers of rows that pandas writes."""
    width = header.count(";") + 1
    rows = [";".join(["1", *"ab01"[:width - 1]]) for _ in range(9)]  # fmt: skip
    path = tmp_path / "d.csv"
    path.write_text("\n".join([header, *rows, ""]))
    spec = {"data": str(path), "format": {"separator": ";"}, "columns": COLUMNS}
    try:
        fairaudit.audit({**spec, "metrics": "selection_rate"})
    except (DataError, SpecError) as error:
        assert "title" not in str(error)  # noqa: PT017  # other faults of these files are fine


def init(path: Path, *more: str) -> dict[str, Any]:
    spec = path.with_suffix(".yaml")
    args = ["init", str(path), "--protected", "g", "--decision", "d", "--positive", "1"]
    assert cli.run_line([*args, *more, "-o", str(spec), "--force"]) == 0
    assert fairaudit.audit(spec).ledger.counted == 40
    form: dict[str, Any] = yaml.safe_load(spec.read_text()).get("format", {})
    return {key: value for key, value in form.items() if key.startswith("s")}


def test_init_proposes_the_lines_to_skip(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("\n".join([HEADER, *ROWS]))
    assert init(path) == {"separator": ";"}
    for above in (["sep=;"], ["sep=;", "Titel, mit Komma"], ["Titel", "", ""], ["T;;;", ";;;"]):
        for below in ([], ["Summe: 40"], ["", "Note; more", ""], [";;;", "Note;;;"]):
            path.write_text("\n".join([*above, HEADER, *ROWS, *below, ""]))
            below_said = {"skip_footer": len(below)} if below else {}
            assert init(path) == {"separator": ";", "skip_rows": len(above), **below_said}


def test_init_takes_the_end_of_a_long_row_for_no_note(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text("\n".join(["Titel", HEADER, *ROWS[1:], 'a;0;0;"two', 'lines"', "Summe", ""]))
    spec = tmp_path / "d.yaml"
    args = ["init", str(path), "--protected", "g", "--decision", "d", "--positive", "1"]
    assert cli.run_line([*args, "-o", str(spec)]) == 0
    form = yaml.safe_load(spec.read_text())["format"]
    assert form == {"separator": ";", "skip_rows": 1, "skip_footer": 1}


def test_init_proposes_the_rows_of_a_sheet_to_skip(tmp_path: Path) -> None:
    for above, below in (([], []), ([[]], [["Total"]]), ([["Report"], []], [[], ["Note"]])):
        book = openpyxl.Workbook()
        assert book.active is not None
        for row in [*above, HEADER.split(";"), *(text.split(";") for text in ROWS), *below]:
            book.active.append(row)
        book.save(tmp_path / "d.xlsx")
        said = {"skip_rows": len(above), "skip_footer": len(below)}
        assert init(tmp_path / "d.xlsx") == {key: value for key, value in said.items() if value}
