"""Readers of data: files, cloud stores, table formats, databases and data frames.

This module has the parts that all readers share: `SourceFile` (a data file), `Reader` (the
functions in the module of a file format), temporary copies, threads, and the check of memory before
a pass.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Callable, Hashable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, TypeVar

from fairaudit.base import memory
from fairaudit.base.disclosure_marks import Notice
from fairaudit.base.errors import DataError, OutOfMemory, UsageError
from fairaudit.base.frozen import Frozen, field, replace
from fairaudit.base.inputs import (
    COUNTS_SUFFIX,
    InputFormat,
    find_compression,
    format_of,
    is_spooled,
    list_formats,
    refuse_special,
)
from fairaudit.base.ledger import DataFile
from fairaudit.base.names import quoted
from fairaudit.base.processes import Progress, count_cores
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.counts import PartialCounts
from fairaudit.counting.plan import Plan
from fairaudit.counting.sources.files import name_file

if TYPE_CHECKING:
    import polars as pl
    from _typeshed import WriteableBuffer

    from fairaudit.counting.sources.parquet import Layout

Value = TypeVar("Value")

_THREADS = "POLARS_MAX_THREADS"

_PACKED = 2**18
"""Bytes of a compressed file that are read at a time."""

_FLAGS = 3
"""The index of the byte with the flags in a member (compressed block) of a gzip file."""

FRAME_NAME = "<data frame>"
"""The name of a data frame in place of a path."""


class Frame:
    """A data frame of any supported library.

    A stream that can be read only once is replaced by its content when it is read.
    """

    def __init__(self, frame: Any) -> None:  # noqa: ANN401  # of any library
        self.frame = frame


class SourceFile(Frozen):
    """A data file: its name in reports (`file`), the `path` to read it from, and its columns.

    `form` is the file format; None for a data frame. `layout` and `types` are from the footer of a
    Parquet file; columns of CSV files are texts. `partitions` are columns from the names of
    folders, with their values. The pages of `unproven` columns are not checked yet: only the native
    route may read these pages, because it checks them. `repeated` are the numbers (from 0) of the
    rows that repeat a person, which are left out; None before these rows were searched. `notices`
    are the notices on these rows.

    After the check, `records` is the number of rows, without `blank` lines; all passes must count
    this number of rows. `counts` is a plan with its counts, if the check also counted the file.
    """

    file: DataFile
    path: Path
    form: InputFormat | None
    header: tuple[str, ...] = ()
    layout: Layout | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    partitions: Mapping[str, str | None] = field(default_factory=dict)
    unproven: frozenset[str] = frozenset()
    repeated: tuple[int, ...] | None = None
    notices: tuple[Notice, ...] = ()
    records: int = 0
    blank: int = 0
    counts: tuple[Plan, PartialCounts] | None = None

    @property
    def kind(self) -> str:
        """The name of the file format; `frame` for a data frame."""
        return self.form.name if self.form else "frame"

    def with_lines(self, lines: int) -> SourceFile:
        """The file with the number of its lines."""
        return replace(self, file=replace(self.file, lines=lines))

    @property
    def unpacked_size(self) -> int | None:
        """The size in bytes; None for a compressed file, whose decompressed size is unknown."""
        return None if find_compression(self.path) else self.path.stat().st_size


class Reader(Protocol):
    """The functions in the module of a file format in this package."""

    def read_columns(self, file: SourceFile, form: CsvFormat, copies: Copies) -> SourceFile:
        """The file with the names of its columns; raises `DataError` if they cannot be read."""

    def check_file(
        self, file: SourceFile, plans: Sequence[Plan], copies: Copies, progress: Progress
    ) -> SourceFile:
        """The file after a check of everything that the plans read."""

    def read_first(
        self, file: SourceFile, names: Sequence[str], separator: str, most: int
    ) -> Sequence[Sequence[Hashable]] | None:
        """The values of columns in the first `most` rows; None if only Polars can read the rows."""

    def read_schema(self, file: SourceFile) -> Mapping[str, pl.DataType]:
        """The columns of a file with their types."""

    def scan_files(self, paths: Sequence[Path], separator: str) -> pl.LazyFrame:
        """Files with the same columns and types as one lazy frame."""

    def find_line(self, file: SourceFile, form: CsvFormat, row: int) -> int | None:
        """The line on which a row (from 1) begins; None if the format has no lines."""


def reader_of(form: InputFormat | None) -> Reader:
    """The module that reads files of a format; it is imported at its first use."""
    assert form is not None
    module: Any = import_module(f"fairaudit.counting.sources.{form.reader}")
    reader: Reader = module
    return reader


def open_file(path: Path, form: CsvFormat, copies: Copies) -> SourceFile:
    """A file with the names of its columns.

    Raises `UsageError` if the variable `POLARS_MAX_THREADS` is not a number of threads.
    """
    threads = os.environ.get(_THREADS)
    if threads is not None and not re.fullmatch(r"0*[1-9][0-9]{0,2}", threads):
        what = f"{_THREADS} is {quoted(threads)}, which is not a number of threads"
        raise UsageError(what, f"unset {_THREADS}, or set it to a whole number from 1 to 999")
    file = inspect_file(path, name_file(path))
    return reader_of(file.form).read_columns(file, form, copies)


def inspect_file(path: Path, name: str) -> SourceFile:
    """A file with its format and size; raises `DataError` for unknown formats and empty files."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{name}: the file name is not valid text", "rename the file") from error
    form = format_of(path)
    if form is None and path.name.lower().endswith(COUNTS_SUFFIX):
        hint = (
            f"do not mix them with other files: name only counts files, such as `*{COUNTS_SUFFIX}`"
        )
        raise DataError(f"{name}: a counts file cannot be read as rows", hint)
    if form is None:
        raise DataError(f"{name}: unknown file format", list_formats())
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
    # A report on stdin does not show the time of the temporary file.
    file = DataFile(name, stat.st_size, None if is_spooled(path) else modified)
    return SourceFile(file, path, form)


def open_bytes(path: Path) -> io.BufferedReader:
    """The bytes of a file, decompressed."""
    packing = find_compression(path)
    if packing is None:
        return path.open("rb")
    if packing == "gzip":
        return io.BufferedReader(_Inflated(path))
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression=packing))


class _Inflated(io.RawIOBase):
    """The decompressed bytes of a gzip file; ISA-L takes two fifths of the time of zlib.

    Raises `OSError` for a damaged file, and for zeros after the end and unknown flags: Polars may
    read the file next, and refuses both.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._packed = b""
        self._member: Any = None

    def readable(self) -> bool:
        """True, as `io.BufferedReader` requires."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Reads into the buffer; returns the number of bytes, 0 at the end."""
        from isal import isal_zlib

        view = memoryview(buffer).cast("B")
        while True:
            self._packed = self._packed or self._file.read(_PACKED)
            if self._member is None:
                if not self._packed and self._file.tell():
                    return 0
                self._packed += self._file.read(max(_FLAGS + 1 - len(self._packed), 0))
                if not has_known_flags(self._packed):
                    raise OSError("not the beginning of a gzip member")
                self._member = isal_zlib.decompressobj(wbits=isal_zlib.MAX_WBITS | 16)
            if not self._packed:
                raise OSError("the file ends within a gzip member")
            try:
                content: bytes = self._member.decompress(self._packed, len(view))
            except (isal_zlib.error, OverflowError) as error:
                raise OSError(str(error)) from error
            is_whole = self._member.eof
            self._packed = self._member.unused_data if is_whole else self._member.unconsumed_tail
            self._member = None if is_whole else self._member
            if content:
                view[: len(content)] = content
                return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()


def no_space(file: SourceFile, error: OSError) -> DataError:
    """The error if the disk has no space for a temporary copy of a file."""
    what = f"{file.file.path}: no disk space for a temporary copy of this file"
    hint = f"{error.strerror or error}: free some space, or set TMPDIR to a folder on another disk"
    return DataError(what, hint)


def has_known_flags(packed: bytes | memoryview) -> bool:
    """Whether the flags of a gzip member are among those that RFC 1952 defines."""
    return len(packed) > _FLAGS and not packed[_FLAGS] & 0xE0


def begin_pass(paths: Sequence[Path]) -> Copies:
    """The (empty) temporary copies of a pass; raises `OutOfMemory` if there is too little memory.

    If Polars reached a memory limit during the pass, it would abort, or wait without end.
    """
    if memory.is_limited():
        # Some formats need as much address space as the size of the file.
        mapped = sum(p.stat().st_size for p in paths if (form := format_of(p)) and form.is_mapped)
        if not memory.has_room_for_engine(mapped):
            room = f"{(memory.ENGINE + mapped) / 1e9:.1f} GB of address space"
            written = f"{memory.WRITTEN / 1e9:.1f} GB of data"
            raise OutOfMemory(f"out of memory: an audit of these files needs {room}, {written}")
    return Copies()


def thread_count() -> int:
    """The number of threads that Polars uses: `POLARS_MAX_THREADS`, or one for each core."""
    return int(os.environ.get(_THREADS, "0")) or count_cores()


def run_in_threads(
    count: int, work: Callable[[], Value], stop: Callable[[], object]
) -> list[Value]:
    """The results of the same work in `count` threads; raises the first exception of a thread.

    `stop` is called at the end. After an exception, the other threads are not awaited.
    """
    if count <= 1:  # starting a thread takes longer than counting a small file
        return [work()]
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(count)
    try:
        return [done.result() for done in [pool.submit(work) for _ in range(count)]]
    finally:
        stop()
        pool.shutdown(wait=False, cancel_futures=True)


_MOST_OPEN = 100
"""Number of copies at which the limit of open files is raised."""


class Copies(contextlib.ExitStack):
    """Temporary copies of data, which are deleted when this object is closed.

    The copies are files without a name if the system supports them. Such files also disappear if a
    signal or an abort ends the process.
    """

    def __init__(self) -> None:
        super().__init__()
        self._count = 0

    def new(self) -> tuple[IO[bytes], Path]:
        """A new file to write to, and the path from which it can be read."""
        self._count += 1
        if self._count == _MOST_OPEN:
            # Each copy is an open file: raise the limit of open files to its maximum.
            with contextlib.suppress(ImportError, ValueError, OSError):
                import resource  # Windows has no such limit

                _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        nameless = tempfile.TemporaryFile()  # noqa: SIM115  # kept open until the pass is over
        self.callback(_close, nameless)
        # Any process of the same user can open this path, and then reads the file from its start.
        path = Path(f"/proc/{os.getpid()}/fd/{nameless.fileno()}")
        if path.exists():
            return nameless, path
        number, name = tempfile.mkstemp(prefix="fairaudit-")
        named = os.fdopen(number, "wb")
        self.callback(Path(name).unlink, missing_ok=True)
        self.callback(_close, named)
        return named, Path(name)


def _close(file: IO[bytes]) -> None:
    with contextlib.suppress(OSError):  # errors were already reported when the file was written
        file.close()
