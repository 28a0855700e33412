"""The files of a pass: how each is opened, and what is known of it before it is counted."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from fairaudit.engine.formats import PACKED, InputFormat, Reader, format_of, list_formats
from fairaudit.engine.parquet import Layout
from fairaudit.engine.partial_counts import PartialCounts
from fairaudit.errors import DataError
from fairaudit.inputs import is_spooled, refuse_special
from fairaudit.plan import Plan
from fairaudit.result import DataFile


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: its name in the report, where its bytes are read from, and its columns.

    A data frame has no format. `layout` and `types` of the columns are what a Parquet file says of
    itself; in CSV all is text. `partitions` are the columns that its folders spell, not its bytes.
    """

    file: DataFile
    path: Path
    form: InputFormat | None
    header: tuple[str, ...] = ()
    layout: Layout | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """The name of its format."""
        return self.form.name if self.form else "frame"

    @property
    def reader(self) -> Reader:
        """The module that reads it."""
        assert self.form is not None
        return self.form.reader()

    @property
    def unpacked_size(self) -> int | None:
        """How many bytes its text is; None where that is not known before it is unpacked."""
        return None if self.path.suffix.lower() in PACKED else self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A source whose text is proven to be what the reader will see, with its control total.

    Its `counts` by a plan are there where they were had by the same reading.
    """

    source: SourceFile
    records: int
    blank: int = 0
    counts: tuple[Plan, PartialCounts] | None = None


def inspect_file(path: Path, name: str) -> SourceFile:
    """A file by its name; raises `DataError` where its format is not known, or it is empty."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: the file's name is no text", "rename the file") from error
    form = format_of(path)
    if form is None:
        raise DataError(f"{name}: not known what kind of file this is", list_formats())
    try:
        refuse_special(path)
        stat = path.stat()
        with path.open("rb"):
            pass
    except OSError as error:
        raise DataError(f"{name}: {error.strerror or error}", "check the path") from error
    if not stat.st_size:
        raise DataError(f"{name}: the file is empty", form.hint_if_empty)
    modified = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds")
    # The same bytes of stdin give the same report.
    file = DataFile(name, stat.st_size, None if is_spooled(path) else modified)
    return SourceFile(file, path, form)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    packing = PACKED.get(path.suffix.lower())
    if packing is None:
        return path.open("rb")
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression=packing))
