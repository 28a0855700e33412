"""The input formats: suffixes and readers. Add an input format here.

To add a format, add a module with the functions of `Reader`, and an entry to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from fairaudit.frozen import Frozen
from fairaudit.inputs import COMPRESSIONS

if TYPE_CHECKING:
    import polars as pl

    from fairaudit.engine.sources import CheckedFile, Copies, SourceFile
    from fairaudit.plan import Plan
    from fairaudit.progress import Progress
    from fairaudit.spec import CsvFormat


class Reader(Protocol):
    """What the module of a format has to offer."""

    def read_columns(self, file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
        """The file with its columns; raises `DataError` where it has none that can be read."""

    def check_file(
        self, file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress
    ) -> CheckedFile:
        """The file once all is proven that the passes of these plans rely on."""

    def read_schema(self, file: SourceFile) -> Mapping[str, pl.DataType]:
        """The columns of a file with their types."""

    def scan_files(
        self, paths: Sequence[Path], separator: str, path_column: str | None
    ) -> pl.LazyFrame:
        """Files of one schema as a lazy frame, with a column of their paths where it is named."""

    def find_line(self, file: SourceFile, form: CsvFormat, row: int) -> int | None:
        """The line on which a row (from 1) begins, None where the format has no lines."""


class InputFormat(Frozen):
    """A format of data files: its name, its suffixes, whether it is text, and who reads it.

    Text may be packed, and has lines.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    hint_if_empty: str
    reader: Callable[[], Reader]
    is_text: bool = False


def _csv() -> Reader:
    from fairaudit.engine import csv_text

    return csv_text


def _parquet() -> Reader:
    from fairaudit.engine import parquet_files

    return parquet_files


FORMATS = (
    InputFormat(
        "csv",
        "CSV",
        (".csv", ".tsv", ".txt", ".data"),
        "a CSV file has at least a header",
        _csv,
        is_text=True,
    ),
    InputFormat("parquet", "Parquet", (".parquet", ".pq"), "write it again", _parquet),
)


def format_of(path: Path) -> InputFormat | None:
    """The format of a file by its name, None where it is not known."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    is_packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS
    suffix = "".join((suffixes[:-1] if is_packed else suffixes)[-1:])
    known = (form for form in FORMATS if form.is_text or not is_packed)
    return next((form for form in known if suffix in form.suffixes), None)


def list_formats() -> str:
    """The formats that can be read, for a hint."""
    packed = f", also {' '.join(COMPRESSIONS)}"
    listed = (
        f"{form.title} ({' '.join(form.suffixes)}{packed if form.is_text else ''})"
        for form in FORMATS
    )
    return f"{' and '.join(listed)} can be read"
