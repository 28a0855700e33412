"""`Reader`, what a module that reads an input format offers; opens a file by its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairaudit.base.inputs import InputFormat
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.files import name_file
from fairaudit.counting.sources.sources import (
    CheckedFile,
    Copies,
    SourceFile,
    check_thread_count,
    inspect_file,
)

if TYPE_CHECKING:
    import polars as pl


class Reader(Protocol):
    """The functions of the module of a format in this package."""

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


def reader_of(form: InputFormat | None) -> Reader:
    """The module that reads files of a format, imported when it is asked for the first time.

    A data frame has no format, and no reader.
    """
    assert form is not None
    module: Any = import_module(f"fairaudit.counting.sources.{form.reader}")
    reader: Reader = module
    return reader


def open_file(path: Path, form: CsvFormat, copies: Copies) -> SourceFile:
    """A file with its columns."""
    check_thread_count()
    file = inspect_file(path, name_file(path))
    return reader_of(file.form).read_columns(file, form, copies)
