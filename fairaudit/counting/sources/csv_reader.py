"""The reader of CSV files: copies what Polars cannot read, checks the text, scans it as texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.base.frozen import replace
from fairaudit.base.progress import Progress
from fairaudit.counting import kernel
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.csv_text import (
    copy_as_utf8,
    is_utf8,
    lines_of,
    read_header,
    records,
)
from fairaudit.counting.sources.sources import CheckedFile, Copies, SourceFile

if TYPE_CHECKING:
    import polars as pl


def read_columns(file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
    """The file with its header; one without, or in another encoding, is copied to UTF-8 first."""
    if not is_utf8(form) or form.header:
        file = copy_as_utf8(file, form, copies, drop_blank=False)
    return replace(file, header=read_header(file, form))


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress
) -> CheckedFile:
    """The file once each of its lines is proven to be a record, or blank."""
    from fairaudit.counting.sources.csv_byte_checks import plain_lines

    form = plans[0].format
    above = form.first_row - 1
    # What the kernel does not find plain needs a closer look.
    plain = plain_lines(file, form, progress) if kernel.load() is None else None
    if plain is not None:
        return CheckedFile(file.with_lines(plain + above), plain)
    from fairaudit.counting.sources.csv_line_checks import check_lines

    lines = check_lines(file, form, progress)
    if lines.blank:
        # The reader would make rows of nulls of them.
        plain_form = replace(form, encoding="utf-8", header=())
        file = copy_as_utf8(file, plain_form, copies, drop_blank=True)
    return CheckedFile(file.with_lines(lines.lines - 1 + above), lines.records, lines.blank)


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
