"""Hive partitions: folders named `year=2026` above a Parquet file, as columns of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from urllib.parse import unquote

from fairaudit.engine.copies import Copies
from fairaudit.engine.parquet import read_layout
from fairaudit.engine.sources import SourceFile
from fairaudit.errors import DataError

_NULL = "__HIVE_DEFAULT_PARTITION__"
"""What Hive calls the folder of rows that have no value."""

_BATCH = 65_536
"""So many rows are in memory at once while a file is copied."""


def read_partitions(path: str) -> dict[str, str | None]:
    """The columns that the folders right above a file spell, the outermost first, as text.

    >>> read_partitions("s3://lake/loans/year=2026/month=05/x.parquet")
    {'year': '2026', 'month': '05'}
    """
    found: list[tuple[str, str | None]] = []
    for folder in PurePosixPath(path).parent.parts[::-1]:
        name, sign, value = folder.partition("=")
        if not name or not sign:
            break
        found.append((unquote(name), None if value == _NULL else unquote(value)))
    return dict(found[::-1])


def copy_with(
    file: SourceFile, columns: Sequence[str], added: Mapping[str, str | None], copies: Copies
) -> SourceFile:
    """A Parquet file as a copy that holds these columns of it, and others of one value each.

    Raises `DataError` where there is no space for it, or the file is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(name, pa.string()) for name in added]
    try:
        out, path = copies.new()
        with pq.ParquetFile(file.path) as opened:
            kept = [field for field in opened.schema_arrow if field.name in {*columns}]
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
        why = "not a Parquet file, or damaged or truncated"
        raise DataError.unreadable(file.file.path, why) from error
    except OSError as error:
        what = f"{file.file.path}: no space for a copy with the columns of its folders"
        hint = f"{error.strerror or error}: free some, or point TMPDIR to another disk"
        raise DataError(what, hint) from error
    return replace(file, path=path, layout=read_layout(path, file.file.path))
