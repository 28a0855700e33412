"""How a file is opened, and what is seen of it before it is counted."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from fairaudit.engine.files import PACKED, READABLE, kind_of
from fairaudit.engine.parquet import Layout, layout
from fairaudit.errors import DataError
from fairaudit.inputs import refuse_special
from fairaudit.result import DataFile


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: its name in the report, where its bytes are read from, and its columns.

    `layout` and `types` of the columns are what a Parquet file says of itself; in CSV all is text.
    """

    file: DataFile
    path: Path
    kind: str
    header: tuple[str, ...] = ()
    layout: Layout | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    @property
    def unpacked_size(self) -> int | None:
        """How many bytes its text is; None where that is not known before it is unpacked."""
        return None if self.path.suffix.lower() in PACKED else self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A source whose text is proven to be what the reader will see, with its control total.

    Each line of a `plain` one is a record.
    """

    source: SourceFile
    records: int
    blank: int = 0
    plain: bool = False


def source(path: Path, name: str) -> SourceFile:
    """The source that a file is; raises `DataError` where its kind is not known."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: the file's name is no text", "rename the file") from error
    kind = kind_of(path)
    if kind is None:
        raise DataError(f"{name}: not known what kind of file this is", READABLE)
    try:
        refuse_special(path)
        stat = path.stat()
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}", "check the path") from error
    if not stat.st_size:
        hint = "a CSV file has at least a header" if kind == "csv" else "write it again"
        raise DataError(f"{name}: the file is empty", hint)
    modified = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds")
    return SourceFile(DataFile(name, stat.st_size, modified), path, kind)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    packing = PACKED.get(path.suffix.lower())
    if packing is None:
        return path.open("rb")
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression=packing))


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a Parquet file says: columns, types, and where their values are."""

    names: tuple[str, ...]
    types: Mapping[str, str]
    layout: Layout


def parquet_footer(one: SourceFile) -> Footer:
    """The footer of a Parquet file; refuses a damaged one."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    found = layout(one.path, one.file.path)
    try:
        with pq.ParquetFile(one.path) as file:
            schema = file.schema_arrow
            types = {column.name: str(column.type) for column in schema}
            return Footer(tuple(schema.names), types, found)
    except pa.ArrowNotImplementedError as error:
        what = f"{one.file.path}: a column has a type that is not read, such as numbers of 128 bits"
        raise DataError(what, "write the file without that column, or in another type") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        why = "not a Parquet file, or damaged or truncated"
        raise DataError.unreadable(one.file.path, why) from error
