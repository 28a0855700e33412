"""The reader of CSV files: copies what Polars cannot read, checks the text, scans it as texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.progress import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.csv_text import (
    QUOTED,
    bad_record,
    copy_as_utf8,
    is_utf8,
    lines_of,
    not_in_encoding,
    read_header,
    record,
    records,
)
from fairaudit.counting.sources.sources import CheckedFile, Copies, SourceFile

if TYPE_CHECKING:
    import polars as pl

_COUNTABLE = 200
"""Up to so many fields one expression counts them too, twice as fast; more would be too large."""


def read_columns(file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
    """The file with its header; one without, or in another encoding, is copied to UTF-8 first."""
    if not is_utf8(form) or form.header:
        file = copy_as_utf8(file, form, copies, drop_blank=False)
    return replace(file, header=read_header(file, form))


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress
) -> CheckedFile:
    """The file once each of its lines is proven to be a record, or blank."""
    form = plans[0].format
    lines = check_lines(file, form, progress)
    if lines.blank:
        # The reader would make rows of nulls of them.
        plain_form = replace(form, encoding="utf-8", header=())
        file = copy_as_utf8(file, plain_form, copies, drop_blank=True)
    return CheckedFile(
        file.with_lines(lines.lines + form.first_row - 2), lines.records, lines.blank
    )


class LineCounts(Frozen):
    """The control total of a CSV file: physical lines, records below the header, blank lines."""

    lines: int
    records: int
    blank: int


def check_lines(file: SourceFile, form: CsvFormat, progress: Progress) -> LineCounts:
    """The records and blank lines of a CSV file; raises `DataError` at the first bad line.

    A line is matched against the grammar of RFC 4180 as a whole, so short rows, long rows, stray
    quotes and records that run over several lines are all seen, and told with their line.
    """
    if form.multiline:
        return _check_records(file, form)
    import polars as pl

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


def read_schema(file: SourceFile) -> Mapping[str, pl.DataType]:
    """The columns of a file, all of text."""
    import polars as pl

    return dict.fromkeys(file.header, pl.String())


def scan_files(paths: Sequence[Path], separator: str, path_column: str | None) -> pl.LazyFrame:
    """Files of one header as a lazy frame of texts."""
    import polars as pl

    return pl.scan_csv(
        [*paths],
        separator=separator,
        infer_schema=False,
        glob=False,
        raise_if_empty=False,
        include_file_paths=path_column,
        with_column_names=_unquote,
    )


def _unquote(names: list[str]) -> list[str]:
    """The names of columns as they are meant: Polars leaves inner quotes doubled."""
    return [name.replace('""', '"') for name in names]


def find_line(file: SourceFile, form: CsvFormat, row: int) -> int | None:
    """The physical line where a row (from 1) begins, blank lines not counted as rows."""
    if form.multiline:
        starts = (number for number, _ in records(lines_of(file)))
    else:
        starts = (
            number for number, line in enumerate(lines_of(file), start=1) if line.strip("\r\n")
        )
    line = next(islice(starts, row, None), None)
    return None if line is None else form.line_in_file(line)
