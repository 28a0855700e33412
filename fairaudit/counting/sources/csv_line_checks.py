"""CSV check 3, where 1 and 2 find no clean file: Polars by lines finds which line is bad.

Every physical line must be one record of as many fields as the header has. A line is matched
against the grammar of RFC 4180 as a whole, so short rows, long rows, stray quotes and records that
run over several lines are all seen, and told with their line.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen
from fairaudit.base.progress import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources.csv_text import (
    QUOTED,
    bad_record,
    lines_of,
    not_in_encoding,
    record,
    records,
)
from fairaudit.counting.sources.sources import SourceFile

_COUNTABLE = 200
"""Up to so many fields one expression counts them too, twice as fast; more would be too large."""


class LineCounts(Frozen):
    """The control total of a CSV file: physical lines, records below the header, blank lines."""

    lines: int
    records: int
    blank: int


def check_lines(file: SourceFile, form: CsvFormat, progress: Progress) -> LineCounts:
    """The records and blank lines of a CSV file; raises `DataError` at the first bad line."""
    if form.multiline:
        return _check_records(file, form)
    line = pl.col("line")
    bad = (line != "") & ~_is_record(line, form.separator, len(file.header))
    lines = pl.scan_lines(file.path.absolute(), glob=False).slice(1)
    if not progress.silent:
        progress.start(f"checking {file.file.path}", file.unpacked_size, "bytes")
        lines = lines.map_batches(_report_bytes(progress), streamable=True)
    one_pass = lines.select(
        total=pl.len().cast(pl.Int64), blank=(line == "").cast(pl.Int64).sum(), bad=bad.any()
    )
    try:
        total, blank, any_bad = one_pass.collect(engine="streaming").row(0)
        if any_bad:
            numbered = lines.with_row_index("number").filter(bad).head(1)
            number, text = numbered.collect(engine="streaming").row(0)
            raise bad_record(file, form, number + 2, text)
    except pl.exceptions.ComputeError as error:
        raise not_in_encoding(file, "utf-8") from error
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return LineCounts(total + 1, total - blank, blank)


def _report_bytes(progress: Progress) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Passes lines on, and reports their bytes."""

    def pass_on(lines: pl.DataFrame) -> pl.DataFrame:
        progress.advance(int(lines["line"].str.len_bytes().sum()) + lines.height, "bytes")
        return lines

    return pass_on


def _is_record(line: pl.Expr, separator: str, fields: int) -> pl.Expr:
    """Whether a line is one record of so many fields."""
    if fields <= _COUNTABLE:
        return line.str.contains(record(separator, f"{{{fields - 1}}}"))
    plain = line.str.replace_all(QUOTED, "").str.count_matches(separator, literal=True)
    return line.str.contains(record(separator, "*")) & (plain == fields - 1)


def _check_records(file: SourceFile, form: CsvFormat) -> LineCounts:
    """The counts of lines whose records may run over several, checked one by one."""
    fields = len(file.header)
    whole = re.compile(record(form.separator, f"{{{fields - 1}}}", multiline=True))
    total = lines = 0
    try:
        for number, text in records(lines_of(file)):
            if number > 1 and not text:
                where = f"{file.file.path}:{form.line_in_file(number)}"
                raise DataError(
                    f"{where}: a blank line among multi-line records",
                    "remove it",
                    uncounted=f"{file.file.path}: a blank line among multi-line records",
                )
            if not whole.search(text):
                raise bad_record(file, form, number, text)
            total += 1
            lines = number + text.count("\n")
    except UnicodeDecodeError as error:
        raise not_in_encoding(file, "utf-8") from error
    except OSError as error:
        raise DataError.unreadable(file.file.path, "damaged, truncated or gone") from error
    return LineCounts(lines, total - 1, 0)
