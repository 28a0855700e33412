"""Parquet files as an input format: columns, checks, and a lazy frame of their rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairaudit.engine.columns import columns_read
from fairaudit.engine.copies import Copies
from fairaudit.engine.parquet import check_pages, read_layout
from fairaudit.engine.partitions import copy_with, read_partitions
from fairaudit.engine.sources import CheckedFile, SourceFile
from fairaudit.errors import DataError
from fairaudit.inputs import find_origin
from fairaudit.plan import Plan
from fairaudit.progress import Progress
from fairaudit.spec import CsvFormat

if TYPE_CHECKING:
    import polars as pl


def read_columns(file: SourceFile, _form: CsvFormat, _copies: Copies) -> SourceFile:
    """The file with what its footer says; refuses a damaged one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    layout = read_layout(file.path, file.file.path)
    try:
        with pq.ParquetFile(file.path) as opened:
            schema = opened.schema_arrow
            types = {column.name: str(column.type) for column in schema}
            above = read_partitions(find_origin(file.path))
            # What a file holds itself is what counts.
            partitions = {name: text for name, text in above.items() if name not in types}
            return replace(
                file,
                header=(*schema.names, *partitions),
                layout=layout,
                types=types | dict.fromkeys(partitions, "string"),
                partitions=partitions,
            )
    except pa.ArrowNotImplementedError as error:
        what = (
            f"{file.file.path}: a column has a type that is not read, such as numbers of 128 bits"
        )
        raise DataError(what, "write the file without that column, or in another type") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        why = "not a Parquet file, or damaged or truncated"
        raise DataError.unreadable(file.file.path, why) from error


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, _progress: Progress
) -> CheckedFile:
    """The file once the pages of all columns that are read fit its footer.

    Where a plan reads what the folders spell, a copy of the columns that are read has that, too.
    """
    assert file.layout is not None
    wanted = columns_read(plans, file.header)
    own = {name for name in wanted if name not in file.partitions}
    check_pages(file.path, file.file.path, file.layout, own)
    records = file.layout.rows
    added = {name: text for name, text in file.partitions.items() if name in wanted}
    if added:
        file = copy_with(file, [*own], added, copies)
    return CheckedFile(file, records)


def read_schema(file: SourceFile) -> Mapping[str, pl.DataType]:
    """The columns of a file with their types."""
    import polars as pl

    try:
        return pl.read_parquet_schema(file.path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        why = "not a Parquet file, or truncated"
        raise DataError.unreadable(file.file.path, why) from error


def scan_files(paths: Sequence[Path], _separator: str, path_column: str | None) -> pl.LazyFrame:
    """Files of one schema as a lazy frame."""
    import polars as pl

    return pl.scan_parquet([*paths], glob=False, include_file_paths=path_column)


def find_line(_file: SourceFile, _form: CsvFormat, _row: int) -> int | None:
    """None: its rows are no lines."""
    return None
