"""The reader of Excel files: copies a sheet to CSV, which is then checked and counted as CSV.

So only one function of `Reader` is needed here: `read_columns`. The line numbers of the copy
are the row numbers of the sheet.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterator
from datetime import date, datetime
from functools import reduce
from typing import IO, TYPE_CHECKING, Any

from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import CSV
from fairaudit.base.names import quoted
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources import Copies, SourceFile, csv_reader, no_space

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

MOST_BYTES = 2**32
"""Maximum size of a decompressed workbook, because a sheet is read into memory."""

MOST_ROWS = 2**20
"""Maximum number of rows of a sheet, as in Excel."""

MOST_CELLS = 2**24
"""Maximum number of cells of a sheet, including empty cells before the last row and column."""

_LONGEST = 2**24
"""Maximum bytes of a row; the XML of longer rows is searched in pieces."""

_ROW = re.compile(rb"<(?:\w+:)?row\b")
_PLACE = re.compile(rb"""\br=["']([A-Z]{1,3})\d""")
_NUMBER = re.compile(rb"""[^>]*?\br=["'](\d+)""")


def read_columns(file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
    """The file as a CSV copy of its sheet, with the names of the columns."""
    copy = copy_sheet(file, form, copies)
    return csv_reader.read_columns(copy, replace(form, encoding="utf-8"), copies)


def copy_sheet(file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
    """The file as a CSV copy of its sheet."""
    sheet = _open_sheet(file, form.sheet)
    try:
        out, path = copies.new()
        text = io.TextIOWrapper(out, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=form.separator, lineterminator="\n")
        for row in sheet.iter_rows():
            values = [*_write_cells(row, form.decimal)]
            # An empty row becomes a blank line, not a row of missing values.
            if any(values):
                writer.writerow(values)
            else:
                text.write("\n")
        text.flush()
        text.detach()
    except OSError as error:
        raise no_space(file, error) from error
    return replace(file, path=path, form=CSV)


def _open_sheet(file: SourceFile, wanted: str | None) -> CalamineSheet:
    """The sheet named `wanted`; without a name, the only sheet with rows.

    Raises `UsageError` if python-calamine is not installed, and `DataError` if there is not exactly
    one sheet to read.
    """
    name = file.file.path
    try:
        import python_calamine
    except ImportError as error:
        what = f"{name}: python-calamine, which reads Excel files, is not installed"
        raise UsageError(what, "pip install 'fairaudit-cli[excel]'") from error
    try:
        with zipfile.ZipFile(file.path) as packed:
            size = sum(member.file_size for member in packed.infolist())
            if size > MOST_BYTES:
                what = (
                    f"{name}: the workbook unpacks to {size:,} bytes; the limit is {MOST_BYTES:,}"
                )
                raise DataError(what, "save the sheet as CSV")
            for member in packed.infolist():
                with packed.open(member) as sheet:
                    rows, columns = _find_extent(sheet)
                if rows > MOST_ROWS or rows * columns > MOST_CELLS:
                    what = f"{name}: a sheet extends over {rows:,} rows and {columns:,} columns"
                    hint = (
                        f"delete cells far from the table (at most {MOST_CELLS:,} are read), or "
                        "save the sheet as CSV"
                    )
                    raise DataError(what, hint)
        book = python_calamine.CalamineWorkbook.from_path(file.path)
        if wanted is not None and wanted not in book.sheet_names:
            what = f"{name}: no sheet {quoted(wanted)}"
            raise DataError(what, f"it has {', '.join(map(quoted, book.sheet_names))}")
        names = book.sheet_names if wanted is None else [wanted]
        sheets = [sheet for sheet in map(book.get_sheet_by_name, names) if sheet.start is not None]
    except (python_calamine.CalamineError, zipfile.BadZipFile) as error:
        why = "not an Excel workbook (.xlsx), damaged, or protected by a password"
        raise DataError.unreadable(name, why) from error
    if len(sheets) > 1:
        listed = ", ".join(quoted(sheet.name) for sheet in sheets)
        what = f"{name}: {len(sheets)} sheets hold rows: {listed}"
        raise DataError(what, "name one: `format: {sheet: …}`")
    if not sheets:
        what = f"{name}: the workbook holds no rows"
        raise DataError(what, "check the workbook, or name another sheet: `format: {sheet: …}`")
    return sheets[0]


def _find_extent(sheet: IO[bytes]) -> tuple[int, int]:
    """The numbers of the last row and the last column in the XML of a sheet; 0 for other files."""
    rows, most, letters, rest = -1, 0, set[bytes](), b""
    is_at_end = False
    while not is_at_end:
        chunk = sheet.read(2**20)
        is_at_end = not chunk
        letters.update(_PLACE.findall(rest[-40:] + chunk))
        *pieces, rest = _ROW.split(rest + chunk)
        if is_at_end or len(rest) > _LONGEST:
            pieces, rest = [*pieces, rest], b""
        for piece in pieces:
            found = _NUMBER.match(piece)
            rows = max(rows + 1, int(found[1]) if found else 0)
            # Cells without a reference (such as A1) have no gaps, so their number is the column.
            most = max(most, piece.count(b"<c") + piece.count(b":c"))
    # The number of a column is 1 for A, and 27 for AA.
    numbers = (reduce(lambda number, sign: 26 * number + sign - 64, name, 0) for name in letters)
    return rows, max([most, *numbers])


def _write_cells(row: list[Any], decimal: str) -> Iterator[str]:
    """The cells of a row as text: whole numbers without decimals, dates in ISO notation."""
    for cell in row:
        if isinstance(cell, bool):
            yield str(cell).upper()
        elif isinstance(cell, float):
            yield str(int(cell)) if cell.is_integer() else repr(cell).replace(".", decimal)
        elif isinstance(cell, datetime):
            yield cell.isoformat(sep=" ")
        elif isinstance(cell, date):
            yield cell.isoformat()
        else:
            # A row must be one line, so line breaks become spaces.
            yield " ".join(str(cell).splitlines())
