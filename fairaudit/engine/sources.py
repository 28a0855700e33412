"""How a file is opened, and what is seen of it before it is counted."""

from __future__ import annotations

import csv
import errno
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO

from fairaudit.engine import grammar
from fairaudit.engine.copies import Copies
from fairaudit.engine.files import PACKED, READABLE, kind_of
from fairaudit.engine.parquet import Layout, layout
from fairaudit.errors import DataError
from fairaudit.inputs import refuse_special
from fairaudit.plan import File
from fairaudit.spec import Format

_HEADER_BYTES = 4_000_000
_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read: its name in the report, where its bytes are read from, and its columns.

    `layout` and `types` of the columns are what a Parquet file says of itself; in CSV all is text.
    """

    file: File
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
class Guarded:
    """A source whose text is proven to be what the reader will see, with its control total.

    Each line of a `plain` one is a record.
    """

    source: Source
    records: int
    blank: int = 0
    plain: bool = False


def source(path: Path, name: str) -> Source:
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
    return Source(File(name, stat.st_size, stat.st_mtime), path, kind)


def open_bytes(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked."""
    packing = PACKED.get(path.suffix.lower())
    if packing is None:
        return path.open("rb")
    import pyarrow as pa

    return io.BufferedReader(pa.input_stream(str(path), compression=packing))


def read_header(one: Source, form: Format) -> tuple[str, ...]:
    """The column names of a CSV file, as written; refuses what no CSV reader reads right."""
    name = one.file.path
    try:
        with open_bytes(one.path) as stream:
            head = stream.readline(_HEADER_BYTES)
    except (OSError, ValueError) as error:
        raise DataError.unreadable(name, f"damaged or truncated ({_packing(one)})") from error
    if head.startswith((b"\xff\xfe\0\0", b"\0\0\xfe\xff")) and is_utf8(form):
        raise DataError.unreadable(name, "UTF-32, not UTF-8: say `format: {encoding: utf-32}`")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")) and is_utf8(form):
        raise DataError.unreadable(name, "UTF-16, not UTF-8: say `format: {encoding: utf-16}`")
    if b"\x00" in head and is_utf8(form):
        raise DataError.unreadable(name, "NUL bytes in the first line: not a text file")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        hint = "say `format: {encoding: latin-1}` or the like"
        raise DataError(f"{name}:1: the header is not UTF-8", hint) from error
    text = text.rstrip("\n").removesuffix("\r")
    if "\r" in text:
        raise DataError.unreadable(name, "line 1: lines end in CR alone; end them in LF")
    if not re.search(grammar.record(form.separator, "*"), text):
        raise DataError(f"{name}:1: the header is not well-formed CSV", "check its quotes")
    try:
        row = next(csv.reader([text], delimiter=form.separator), [])
    except csv.Error as error:
        hint = "is the first line the header, and its end a line end?"
        what = f"a column name of over {csv.field_size_limit():,} characters"
        raise DataError(f"{name}:1: {what}", hint) from error
    if not any(row):
        raise DataError(f"{name}:1: the header is empty", "the first line names the columns")
    others = [sign for sign in ";\t|," if sign in row[0]]
    if len(row) == 1 and others:
        hint = f"is it {others[0]!r}? say `format: {{separator: {others[0]!r}}}`"
        raise DataError(f"{name}:1: no {form.separator!r} separates the columns", hint)
    return tuple(row)


@dataclass(frozen=True, slots=True)
class Footer:
    """What the footer of a Parquet file says: columns, types, and where their values are."""

    names: tuple[str, ...]
    types: Mapping[str, str]
    layout: Layout


def parquet_footer(one: Source) -> Footer:
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


def is_utf8(form: Format) -> bool:
    """Whether the declared encoding is UTF-8."""
    return form.encoding.lower().replace("_", "-") in {"utf-8", "utf8", "utf-8-sig"}


def copied(one: Source, form: Format, copies: Copies, *, drop_blank: bool) -> Source:
    """A plain UTF-8 copy of a CSV file, without its blank lines if asked."""
    encoding = "utf-8-sig" if is_utf8(form) else form.encoding
    try:
        out, path = copies.new()
    except OSError as error:
        raise _no_copy(one, error) from error
    try:
        with io.TextIOWrapper(open_bytes(one.path), encoding=encoding, newline="") as text:
            for line in text:
                if not drop_blank or line.strip("\r\n"):
                    out.write(line.encode())
        out.flush()
    except UnicodeError as error:
        raise not_in_encoding(one, form.encoding) from error
    except OSError as error:
        if error.errno in _FULL:
            raise _no_copy(one, error) from error
        raise DataError.unreadable(one.file.path, "damaged, truncated or gone") from error
    return replace(one, path=path)


def _no_copy(one: Source, error: OSError) -> DataError:
    return DataError(
        f"{one.file.path}: no space for a copy in UTF-8 without blank lines",
        f"{error.strerror}: free some, or point TMPDIR to another disk",
    )


def lines_of(one: Source) -> Iterator[str]:
    """The physical lines of a CSV file in UTF-8, with their ends."""
    stream = open_bytes(one.path)
    # A carriage return alone ends no line: it is told as a fault.
    with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="\n") as text:
        yield from text


def line_of(one: Source, form: Format, row: int) -> int | None:
    """The physical line where a row (from 1) begins, blank lines not counted as rows."""
    if form.multiline:
        starts = (number for number, _ in grammar.records(lines_of(one)))
    else:
        starts = (
            number for number, line in enumerate(lines_of(one), start=1) if line.strip("\r\n")
        )
    return next(islice(starts, row, None), None)


def not_in_encoding(one: Source, encoding: str) -> DataError:
    """The error of a file that is not what it is declared to be, with its first bad line."""
    where = ""
    try:
        with open_bytes(one.path) as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    line.decode(encoding)
                except UnicodeError:
                    # An encoding of more bytes a sign has no lines that bytes could tell.
                    where = "" if b"\0" in line else f":{number}"
                    break
    except (OSError, ValueError):
        pass
    name = "UTF-8" if encoding.startswith("utf-8") else encoding
    hint = "say `format: {encoding: latin-1}` or the like"
    return DataError(f"{one.file.path}{where}: not {name}", hint)


def _packing(one: Source) -> str:
    return PACKED.get(one.path.suffix.lower(), "plain file")
