"""`Reader`: the functions of a module that reads an input format; `reader_of` imports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fairaudit.input_formats import InputFormat

if TYPE_CHECKING:
    import polars as pl

    from fairaudit.columns import CsvFormat
    from fairaudit.engine.sources import CheckedFile, Copies, SourceFile
    from fairaudit.plan import Plan
    from fairaudit.progress import Progress


class Reader(Protocol):
    """What the module of a format in this package has to offer."""

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


def reader_of(form: InputFormat) -> Reader:
    """The module that reads files of a format, imported when it is asked for the first time."""
    module: Any = import_module(f"fairaudit.engine.{form.reader}")
    reader: Reader = module
    return reader
