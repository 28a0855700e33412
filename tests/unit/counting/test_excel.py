"""A sheet of Excel is audited as the same rows in a CSV file are."""

from __future__ import annotations

import errno
import io
import json
import re
import sys
import zipfile
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import DataError, SpecError, UsageError
from fairaudit.counting.sources import Copies, excel

ROWS: list[list[Any]] = [
    ["sex", "hired", "score", "on", "id", "note"],
    *(
        [
            "FM"[number % 2],
            number % 3 == 0,
            number / 8,
            date(2024, 1, 1 + number % 28),
            number,
            "two\nlines" if number == 5 else None,
        ]
        for number in range(60)
    ),
]
SPEC: dict[str, Any] = {
    "filter": "on >= '2024-01-05' and id < 58",
    "columns": {
        "protected": ["sex"],
        "decision": {"column": "hired", "positive": "TRUE", "negative": "FALSE"},
        "score": "score",
    },
    "metrics": ["selection_rate", "mean_score", "demographic_parity_difference"],
}


def write(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def audit(path: Path, **more: Any) -> fairaudit.AuditResult:
    return fairaudit.audit({"data": str(path), **SPEC, **more})


def test_a_sheet_gives_the_report_of_the_same_csv_file(tmp_path: Path) -> None:
    book = write(tmp_path / "rows.xlsx", {"Rows": ROWS, "Empty": []})
    text = "\n".join(
        ",".join("" if cell is None else str(cell).replace("\n", " ") for cell in row)
        for row in ROWS
    )
    text = text.replace("True", "TRUE").replace("False", "FALSE")
    (tmp_path / "rows.csv").write_text(text)
    results = [audit(book), audit(tmp_path / "rows.csv")]
    trees = [json.loads(result.to_json()) for result in results]
    assert trees[0]["rates"] == trees[1]["rates"]
    assert trees[0]["comparisons"] == trees[1]["comparisons"]
    assert results[0].ledger == results[1].ledger
    # Rows 4 to 27 of each 28 days, but for the last two people: counted by hand.
    assert results[0].ledger.counted == sum(
        number % 28 >= 4 and number < 58 for number in range(60)
    )


def test_cells_become_the_text_that_excel_would_save() -> None:
    cells = [1, 2**53, 0.1, -1.5e-7, True, date(2024, 1, 31), datetime(2024, 1, 31, 8, 30), "007"]  # noqa: DTZ001
    (row,) = [[float(cell) if type(cell) is int else cell for cell in cells]]
    assert [*excel._write_cells(row, ",")] == [
        "1", "9007199254740992", "0,1", "-1,5e-07", "TRUE", "2024-01-31", "2024-01-31 08:30:00",
        "007",
    ]  # fmt: skip
    assert [*excel._write_cells(["a\r\nb", ""], ".")] == ["a b", ""]


def test_a_serial_number_among_dates_is_named_and_is_no_symbol(tmp_path: Path) -> None:
    """32874 is 1990-01-01: the days since 1899-12-30."""
    assert date(1899, 12, 30) + timedelta(days=32874) == date(1990, 1, 1)
    rows: list[list[Any]] = [["born", "hired"], [date(1990, 1, 1), 1], [32874, 0], ["1990", 0]]
    columns = {
        "protected": {"age": {"from": "born", "at": "2024-12-31", "bins": [40]}},
        "decision": "hired",
    }
    for last, hint in ((3, "is a serial number of Excel"), (4, "declare how dates are written")):
        kept = [rows[0], rows[1], rows[last - 1]]
        book = write(tmp_path / "rows.xlsx", {"Rows": kept})
        with pytest.raises(DataError, match="1 row holds no date") as refused:
            fairaudit.audit({"data": str(book), "columns": columns, "metrics": "selection_rate"})
        assert hint in (refused.value.hint or "")
        assert "symbols" not in (refused.value.hint or "")


def test_blank_rows_keep_the_numbers_of_the_rows(tmp_path: Path) -> None:
    rows: list[list[Any]] = [["sex", "hired", "n"], ["F", 1, 3], [], ["M", 0, "many"], ["M", 1, 2]]
    book = write(tmp_path / "rows.xlsx", {"Rows": rows})
    columns = {"protected": ["sex"], "decision": "hired", "count": "n"}
    with pytest.raises(DataError, match=r"rows.xlsx:4 holds 'many'"):
        fairaudit.audit({"data": str(book), "columns": columns, "metrics": "selection_rate"})


def test_of_several_sheets_one_must_be_named(tmp_path: Path) -> None:
    book = write(tmp_path / "rows.xlsx", {"Rows": ROWS, "Notes": [["x"], ["y"]]})
    with pytest.raises(DataError, match="2 sheets hold rows: 'Rows', 'Notes'"):
        audit(book)
    with pytest.raises(DataError, match="no sheet 'Row'"):
        audit(book, format={"sheet": "Row"})
    assert audit(book, format={"sheet": "Rows"}).ledger.read == 60
    with pytest.raises(SpecError, match="no column 'on'"):
        audit(book, format={"sheet": "Notes"})


@pytest.mark.parametrize(
    ("rows", "words"),
    [([], "the workbook holds no rows"), ([[], *ROWS], r"rows\.xlsx:1: the line is blank")],
)
def test_a_sheet_without_a_header_is_refused(
    tmp_path: Path, rows: list[list[Any]], words: str
) -> None:
    with pytest.raises(DataError, match=words):
        audit(write(tmp_path / "rows.xlsx", {"Rows": rows}))


@pytest.mark.parametrize("content", [b"sex,hired\n", b"PK\x03\x04", b"\xd0\xcf\x11\xe0 locked"])
def test_what_is_not_a_workbook_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rows.xlsx").write_bytes(content)
    with pytest.raises(DataError, match=r"not an Excel workbook \(.xlsx\), damaged, or protected"):
        audit(tmp_path / "rows.xlsx")


def test_every_cut_of_a_workbook_is_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.xlsx", {"Rows": ROWS}).read_bytes()
    for size in range(1, len(whole), 701):
        (tmp_path / "rows.xlsx").write_bytes(whole[:size])
        with pytest.raises(DataError, match="damaged"):
            audit(tmp_path / "rows.xlsx")


def test_a_workbook_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(excel, "MOST_BYTES", 100)
    with pytest.raises(DataError, match="bytes; the limit is 100"):
        audit(write(tmp_path / "rows.xlsx", {"Rows": ROWS}))


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_copies: Copies) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Copies, "new", refuse)
    with pytest.raises(DataError, match="no disk space for a temporary copy of this file"):
        audit(write(tmp_path / "rows.xlsx", {"Rows": ROWS}))


def test_without_the_package_the_message_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(UsageError, match="python-calamine, which reads Excel files") as caught:
        audit(write(tmp_path / "rows.xlsx", {"Rows": ROWS}))
    assert caught.value.hint == "pip install 'fairaudit-cli[excel]'"


def test_a_folder_of_workbooks_leaves_out_those_that_excel_has_open(tmp_path: Path) -> None:
    for month in ("01", "02"):
        rows = [ROWS[0], *(row for row in ROWS[1:] if row[0] == "F" or month == "01")]
        write(tmp_path / f"{month}.xlsx", {"Rows": rows})
    (tmp_path / "~$01.xlsx").write_bytes(b"who has it open")
    assert audit(tmp_path).ledger.read == 90


def test_init_writes_the_sheet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = write(tmp_path / "rows.xlsx", {"Rows": ROWS, "Notes": [["x"], ["y"]]})
    args = ["init", str(book), "--sheet", "Rows", "--protected", "sex"]
    assert cli.run_line([*args, "-o", str(tmp_path / "spec.yaml")]) == 0
    assert "  sheet: Rows\n" in (tmp_path / "spec.yaml").read_text()
    assert cli.run_line(["run", str(tmp_path / "spec.yaml"), "-q"]) == 0
    assert "rows=60" in capsys.readouterr().err


@pytest.mark.parametrize("far", ["XFD1048576", "ZZ100000", "B1048577"])
def test_a_cell_far_from_the_table_is_an_error_before_the_sheet_is_read(
    far: str, tmp_path: Path
) -> None:
    path = tmp_path / "far.xlsx"
    small = openpyxl.Workbook()
    for row in ROWS:
        small.active.append(row)
    small.save(path)
    members = {}
    with zipfile.ZipFile(path) as packed:
        members = {name: packed.read(name) for name in packed.namelist()}
    number = re.sub("[A-Z]", "", far)
    added = f'<row r="{number}"><c r="{far}"><v>1</v></c></row></sheetData>'.encode()
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            packed.writestr(name, content.replace(b"</sheetData>", added))
    with pytest.raises(DataError, match=r"a sheet extends over [\d,]+ rows and [\d,]+ columns"):
        fairaudit.audit({"version": 1, **SPEC}, path)


@pytest.mark.parametrize(
    ("rows", "extent"),
    [
        ('<row r="1"><c r="A1"/><c r="B1"/></row><row r="9"><c r="AA9"/></row>', (9, 27)),
        ("<row><c/><c/></row>" * 3, (3, 2)),
        ('<x:row r="20"><x:c r="XFD20"/></x:row>', (20, 16_384)),
        ('<row r="7"><c r="B7"/><c r="A7"/>' + "<c/>" * 40_000 + "</row>", (7, 40_002)),
    ],
)
def test_the_extent_of_a_sheet_is_found_as_the_reader_finds_it(
    rows: str, extent: tuple[int, int]
) -> None:
    text = f"<worksheet><sheetData>{rows}</sheetData></worksheet>".encode()
    assert excel._find_extent(io.BytesIO(text)) == extent
