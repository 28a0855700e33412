"""The reader of Parquet files: columns, checks, lazy frame.

A folder named `year=2026` (a Hive partition) adds a column `year` to the files in it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.inputs import find_origin
from fairaudit.base.processes import Progress
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources import Copies, SourceFile, no_space
from fairaudit.counting.sources.column_checks import columns_read, describe_unread
from fairaudit.counting.sources.parquet import NO_FILE, check_pages, read_layout

if TYPE_CHECKING:
    import polars as pl
    from pyarrow._parquet import ParquetReader

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value in the name of a folder that means a missing value."""

_BATCH = 65_536
"""Rows in memory at once while a file is copied."""


def read_columns(file: SourceFile, _form: CsvFormat, _copies: Copies) -> SourceFile:
    """The file with its columns, Arrow types and layout; raises `DataError` if it is damaged."""
    import pyarrow as pa

    layout = read_layout(file.path, file.file.path)
    try:
        with closing(_open(file.path)) as reader:
            schema = reader.schema_arrow
    except pa.ArrowNotImplementedError as error:
        what = "a column has a type that fairaudit cannot read, such as numbers of 128 bits"
        hint = "write the file without that column, or in another type"
        raise DataError(f"{file.file.path}: {what}", hint) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError.unreadable(file.file.path, NO_FILE) from error
    types = {column.name: str(column.type) for column in schema}
    # The columns that folders add; a column of the file takes precedence over a folder's column.
    above: list[tuple[str, str | None]] = []
    path = PurePosixPath(find_origin(file.path) or str(file.path.absolute()))
    for folder in path.parent.parts[::-1]:
        name, sign, value = folder.partition("=")
        if not name or not sign:
            break
        above.append((unquote(name), None if value == _NULL else unquote(value)))
    partitions = {name: text for name, text in dict(above[::-1]).items() if name not in types}
    return replace(
        file,
        header=(*schema.names, *partitions),
        layout=layout,
        types=types | dict.fromkeys(partitions, "string"),
        partitions=partitions,
    )


def _open(path: Path) -> ParquetReader:
    try:
        # Importing `pyarrow.parquet` takes ten times as long as reading a footer.
        from pyarrow._parquet import ParquetReader

        reader = ParquetReader()
        reader.open(path, arrow_extensions_enabled=True)
    except (ImportError, TypeError):  # another version of Arrow
        import pyarrow.parquet as pq

        return pq.ParquetFile(path).reader
    return reader


def check_file(
    file: SourceFile, plans: Sequence[Plan], copies: Copies, _progress: Progress
) -> SourceFile:
    """Checks the pages of the columns that the plans read, except `unproven` columns.

    If plans read columns that folders add, the result is a temporary copy with these columns;
    otherwise, the result is the file.
    Raises `DataError` if the file is damaged, or if the disk has no space for the copy.
    """
    assert file.layout is not None
    wanted = columns_read(plans)
    own = {name for name in wanted if name not in file.partitions}
    check_pages(file.path, file.file.path, file.layout, own - file.unproven)
    file = replace(file, records=file.layout.rows)
    added = {name: text for name, text in file.partitions.items() if name in wanted}
    if not added:
        return file
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(name, pa.string()) for name in added]
    try:
        out, path = copies.new()
        with pq.ParquetFile(file.path) as opened:
            kept = [field for field in opened.schema_arrow if field.name in own]
            schema = pa.schema([*kept, *fields])
            with pq.ParquetWriter(out, schema) as writer:
                for batch in opened.iter_batches(_BATCH, columns=[field.name for field in kept]):
                    values = [
                        pa.repeat(pa.scalar(text, pa.string()), batch.num_rows)
                        for text in added.values()
                    ]
                    arrays = [*(batch.column(field.name) for field in kept), *values]
                    writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
        out.flush()
    except pa.ArrowException as error:
        raise DataError.unreadable(file.file.path, NO_FILE) from error
    except OSError as error:
        raise no_space(file, error) from error
    return replace(file, path=path, layout=read_layout(path, file.file.path))


def read_first(
    file: SourceFile, names: Sequence[str], _separator: str, most: int
) -> list[list[Hashable]] | None:
    """The values of columns in the first rows of a checked file, a list for each column.

    None if Arrow cannot read the columns, or if a column has lists or records.
    """
    import pyarrow as pa

    assert file.layout is not None
    columns: list[list[Hashable]] = [[] for _ in names]
    try:
        with closing(_open(file.path)) as reader:
            groups = [*range(len(file.layout.groups))]
            places = [reader.column_name_idx(name) for name in names]
            for batch in reader.iter_batches(most, groups, places):
                for name, values in zip(names, columns, strict=True):
                    values.extend(batch.column(name).to_pylist())
                if len(columns[0]) >= most:
                    break
    except (pa.ArrowException, KeyError, OSError, TypeError):
        return None
    return [values[:most] for values in columns]


def read_schema(file: SourceFile) -> Mapping[str, pl.DataType]:
    """The columns of a file with their types."""
    import polars as pl

    try:
        return pl.read_parquet_schema(file.path.absolute())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        unread = filter(None, (describe_unread(name, kind) for name, kind in file.types.items()))
        why = next(unread, "not a Parquet file, or truncated")
        raise DataError.unreadable(file.file.path, why) from error


def scan_files(paths: Sequence[Path], _separator: str) -> pl.LazyFrame:
    """Files with the same columns and types as one lazy frame."""
    import polars as pl

    return pl.scan_parquet([*paths], glob=False)


def find_line(_file: SourceFile, _form: CsvFormat, _row: int) -> int | None:
    """None, because rows of Parquet files are not lines."""
    return None
