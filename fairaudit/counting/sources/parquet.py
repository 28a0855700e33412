"""Checks Parquet files: footer, page headers and checksums; refuses damaged and encrypted files.

Arrow and Polars trust the sizes in a file. If a bit is wrong, they may allocate more memory than
the machine has, or end the process. So this module first checks the footer, and then the header
(and checksum, if any) of each page of the columns in use. Checking a page takes microseconds.
See https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift

A file consists of row groups. A row group has a chunk for each column, and a chunk has pages. The
metadata are Thrift structs in the compact protocol; they are read as mappings from field number to
value. See https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeAlias

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import quoted
from fairaudit.counting import load_kernel

MOST_ROWS = 2**28
"""Maximum number of rows in a row group; with more, a column would need gigabytes of memory."""

_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_TAIL = 8
"""Number of bytes after the footer: its length (4 bytes) and `_MAGIC` (4 bytes)."""

_FEW_BYTES, _MANY_BYTES = 256, 2**24
"""Number of bytes that are read for a page header; many only if few do not suffice."""

_MOST_AT_ONCE = 2**25
"""Maximum size of a chunk that is read and checked at once, which is faster than page by page."""

_INT = 2**31
_LARGEST = 2**62
NO_FILE = "not a Parquet file, or damaged or truncated"
_WIDTHS = {1: 4, 2: 8, 3: 12, 4: 4, 5: 8, 6: 4}
"""The number of bytes of a value, by physical type; a text has at least 4, for its length."""

_FIXED = 7
DATA, _INDEX, DICTIONARY, DATA_V2 = range(4)
"""The kinds of pages."""

TEXT = 6
"""The physical type of texts."""


class Leaf(Frozen):
    """A stored column: its path of names, physical type (`kind`) and bytes of a value (`width`).

    `repeats` says whether a row may have several values. `is_optional` says whether a value may be
    null; it has a meaning only for columns that are not nested.
    """

    path: tuple[str, ...]
    kind: int
    width: int
    repeats: bool
    is_optional: bool


class Chunk(Frozen):
    """A column in a row group: its bytes are from `start` to `stop` in the file.

    `unpacked` is its size after decompression by `codec`. `nulls` is the number of nulls as the
    file states it, without a check; None if the file does not state it.
    """

    leaf: Leaf
    values: int
    encodings: frozenset[int]
    start: int
    stop: int
    codec: int
    unpacked: int
    nulls: int | None

    @classmethod
    def read(cls, column: Struct, leaf: Leaf, rows: int, end: int) -> Chunk:
        """The chunk of a column in a row group; `_Damaged` if the chunk contradicts the schema."""
        meta = _struct(column.get(3))
        path = [entry.decode() for entry in _list(meta.get(3)) if isinstance(entry, bytes)]
        values = _int(meta.get(5), _LARGEST)
        sound = values >= rows if leaf.repeats else values == rows
        # An offset of 0 means that the page is missing, because a file begins with `_MAGIC`.
        offsets = [_int(meta.get(9), end + 1), _int(meta.get(11, 0), end + 1)]
        start = min((offset for offset in offsets if offset), default=0)
        stop = start + _int(meta.get(7), end + 1)
        if not sound or tuple(path) != leaf.path or _int(meta.get(1), 8) != leaf.kind or stop > end:
            raise _Damaged
        statistics = meta.get(12)
        nulls = statistics.get(3) if isinstance(statistics, dict) else None
        return cls(
            leaf=leaf,
            values=values,
            encodings=frozenset(_int(entry, 10) for entry in _list(meta.get(2))),
            start=start,
            stop=stop,
            codec=_int(meta.get(4), 8),
            unpacked=_int(meta.get(6), _LARGEST),
            nulls=nulls if isinstance(nulls, int) else None,
        )

    def check(self, file: int) -> None:
        """Raises `_Damaged` if pages do not fill the chunk, or if a number or checksum is wrong."""
        native, size = load_kernel(), self.stop - self.start
        if native is not None and size <= _MOST_AT_ONCE:
            content = read_at(file, size, self.start)
            if are_sound(native, content, self):
                return
        # Python reads page by page without a kernel, if a chunk is large, or to name a fault.
        values, offset = 0, self.start
        while offset < self.stop:
            try:
                header = header_in_python(
                    read_at(file, min(_FEW_BYTES, self.stop - offset), offset)
                )
            except Malformed:
                header = header_in_python(
                    read_at(file, min(_MANY_BYTES, self.stop - offset), offset)
                )
            body = offset + header.start
            offset = body + header.size
            if offset > self.stop:
                raise _Damaged
            width = self.leaf.width
            is_sound = header.kind != DICTIONARY or 0 <= header.values * width <= header.unpacked
            if header.kind in {DATA, DATA_V2}:
                is_sound = 0 <= header.values <= self.values
                values += header.values
            if header.kind == DATA_V2:
                # These headers also state the sizes of levels, and the numbers of nulls and rows.
                sizes = header.levels_size, header.repeats_size, header.nulls, header.rows
                is_sound = (
                    is_sound
                    and min(sizes) >= 0
                    and header.levels_size + header.repeats_size <= header.size
                    and max(header.nulls, header.rows) <= header.values
                    and (header.rows == header.values or self.leaf.repeats)
                )
            if not is_sound:
                raise _Damaged
            if header.checksum is not None:
                checksum = zlib.crc32(read_at(file, header.size, body))
                if checksum != header.checksum % 2**32:
                    raise _Damaged("the checksum of a page is wrong")
        if values != self.values:
            raise _Damaged


class RowGroup(Frozen):
    """The number of rows of a row group, and its columns."""

    rows: int
    chunks: tuple[Chunk, ...]

    def of(self, names: Collection[str]) -> Iterator[Chunk]:
        """The chunks of the columns with these names."""
        return (chunk for chunk in self.chunks if chunk.leaf.path[0] in names)


class Layout(Frozen):
    """The checked content of a footer: the number of rows, and the row groups."""

    rows: int
    groups: tuple[RowGroup, ...]

    @classmethod
    def read(cls, footer: Struct, end: int) -> Layout:
        """The layout in a footer that begins at byte `end` of the file."""
        leaves = _leaves([_struct(entry) for entry in _list(footer.get(2))])
        groups = []
        for group in map(_struct, _list(footer.get(4, []))):
            rows, columns = _int(group.get(3), _LARGEST), _list(group.get(1))
            if len(columns) != len(leaves):
                raise _Damaged
            pairs = zip(map(_struct, columns), leaves, strict=True)
            groups.append(RowGroup(rows, tuple(Chunk.read(*pair, rows, end) for pair in pairs)))
        layout = cls(_int(footer.get(3), _LARGEST), tuple(groups))
        if layout.rows != sum(group.rows for group in groups):
            raise _Damaged
        return layout


class Header(NamedTuple):
    """The header of a page; the page begins after `start` bytes. A missing field is -1."""

    kind: int
    start: int
    size: int
    unpacked: int
    checksum: int | None
    values: int
    encoding: int
    levels_encoding: int
    nulls: int
    rows: int
    levels_size: int
    repeats_size: int
    is_packed: bool


class _Damaged(Exception):
    """The file is damaged; the text says how, or is empty."""


def read_layout(path: Path, name: str) -> Layout:
    """The layout of a file; raises `DataError`, with `name`, if the file cannot be read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - _TAIL, 0))
            tail = file.read(_TAIL)
            if tail[4:] == _ENCRYPTED:
                raise _encrypted(name)
            length = int.from_bytes(tail[:4], "little")
            end = size - _TAIL - length
            if tail[4:] != _MAGIC or end < len(_MAGIC):
                raise DataError.unreadable(name, NO_FILE)
            file.seek(end)
            content = file.read(length)
        native = load_kernel()
        fields = None if native is None else native.thrift_struct(content)  # the kernel is faster
        footer: Struct = read_struct(content)[0] if fields is None else fields
        if 8 in footer:
            raise _encrypted(name)
        groups = [group for group in _list(footer.get(4)) if isinstance(group, dict)]
        chunks = [
            chunk for group in groups for chunk in _list(group.get(1)) if isinstance(chunk, dict)
        ]
        # The metadata of a column may be encrypted even if the footer is not.
        if any(8 in chunk or 9 in chunk for chunk in chunks):
            raise _encrypted(name)
        most = max((_int(group.get(3), _LARGEST) for group in groups), default=0)
        if most > MOST_ROWS:
            what = f"a row group has {most:,} rows, and at most {MOST_ROWS:,} can be read"
            raise DataError(f"{name}: {what}", "write the file again in smaller row groups")
        return Layout.read(footer, end)
    except UnicodeDecodeError as error:
        hint = "write the file again, with names in UTF-8"
        raise DataError(f"{name}: the name of a column is not UTF-8", hint) from error
    except (Malformed, _Damaged, OSError) as error:
        raise DataError.unreadable(name, "damaged: its footer does not fit its bytes") from error


def check_pages(path: Path, name: str, layout: Layout, columns: Collection[str]) -> None:
    """Raises `DataError` if the pages of these columns contradict the footer."""
    with path.open("rb", buffering=0) as file:
        for group in layout.groups:
            for chunk in group.of(columns):
                try:
                    chunk.check(file.fileno())
                except (Malformed, _Damaged, OSError) as error:
                    column = quoted(".".join(chunk.leaf.path))
                    why = str(error) if isinstance(error, _Damaged) else ""
                    what = f"the column {column} is damaged{why and ': '}{why}"
                    raise DataError.unreadable(name, what) from error


def read_at(file: int, size: int, offset: int) -> bytes:
    """Up to `size` bytes from `offset` on."""
    os.lseek(file, offset, os.SEEK_SET)  # Windows has no `os.pread`
    return os.read(file, size)


def _encrypted(name: str) -> DataError:
    return DataError(f"{name}: the file is encrypted", "write it again without encryption")


def _leaves(elements: list[Struct]) -> list[Leaf]:
    """The stored columns of a schema; `elements` are the nodes of a tree, parents first."""
    leaves: list[Leaf] = []
    open_: list[tuple[tuple[str, ...], int, bool]] = []
    for number, element in enumerate(elements):
        children = _int(element.get(5, 0), len(elements))
        if number == 0:
            open_.append(((), children, False))
            continue
        while open_ and not open_[-1][1]:
            open_.pop()
        if not open_:
            raise _Damaged
        path, children_left, repeats = open_.pop()
        open_.append((path, children_left - 1, repeats))
        name = element.get(4)
        if not isinstance(name, bytes):
            raise _Damaged
        path = (*path, name.decode())
        repetition = _int(element.get(3), 3)  # required, optional, repeated
        repeats = repeats or repetition == 2
        if children:
            open_.append((path, children, repeats))
        elif 1 in element:
            kind = _int(element[1], _FIXED + 1)
            width = _WIDTHS.get(kind, 0)
            if kind == _FIXED:
                width = _int(element.get(2), _INT)
            leaves.append(Leaf(path, kind, width, repeats, is_optional=repetition == 1))
        elif 5 not in element:
            raise _Damaged
    if any(children_left for _, children_left, _ in open_):
        raise _Damaged
    return leaves


def are_sound(native: ModuleType, content: bytes, chunk: Chunk) -> bool:
    """Whether the kernel finds that the pages of a chunk (with these bytes) are correct."""
    leaf = chunk.leaf
    checksums = native.check_pages(content, chunk.values, leaf.width, leaf.repeats)
    return checksums is not None and all(
        zlib.crc32(content[start : start + size]) == checksum % 2**32
        for start, size, checksum in checksums
    )


def header_in_python(content: bytes) -> Header:
    """The page header at the start of the bytes, as the kernel reads it."""
    fields, start = read_struct(content)
    kind = _int(fields.get(1), 4)
    page = _struct(fields.get({DATA: 5, _INDEX: -1, DICTIONARY: 7, DATA_V2: 8}[kind], {}))
    checksum = fields.get(4)

    def field(number: int, *, is_there: bool = True) -> int:
        return _int(page[number], _INT) if is_there and number in page else -1

    is_first, is_second = kind == DATA, kind == DATA_V2
    return Header(
        kind,
        start,
        _int(fields.get(3), _INT),
        _int(fields.get(2), _INT),
        checksum if isinstance(checksum, int) else None,
        field(1),
        field(4 if is_second else 2),
        field(3, is_there=is_first),
        field(2, is_there=is_second),
        field(3, is_there=is_second),
        field(5, is_there=is_second),
        field(6, is_there=is_second),
        not is_second or page.get(7) is not False,
    )


def _int(value: Value, below: int) -> int:
    """The value as a whole number; raises `_Damaged` unless 0 ≤ value < `below`."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < below:
        raise _Damaged
    return value


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise _Damaged
    return value


def _struct(value: Value) -> Struct:
    if not isinstance(value, dict):
        raise _Damaged
    return value


Value: TypeAlias = "bool | int | bytes | list[Value] | dict[int, Value] | None"
Struct: TypeAlias = Mapping[int, Value]

_DEEPEST = 32
_WIDEST = 63
"""The shift of the last group of seven bits in a number of 64 bits."""

_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_LARGE = 15
"""The size in the first byte of a long list, which means that the size follows this byte."""


class Malformed(ValueError):
    """The bytes are not a Thrift struct, or end too early."""


def read_struct(data: bytes, offset: int = 0) -> tuple[dict[int, Value], int]:
    """The struct at `offset`, and the offset of its end; raises `Malformed` without a struct."""
    try:
        return _read_fields(data, offset, 0)
    except IndexError as error:
        raise Malformed from error


def _read_fields(data: bytes, offset: int, depth: int) -> tuple[dict[int, Value], int]:
    # Called for each page of a file, so numbers (most fields) are read without another call.
    values: dict[int, Value] = {}
    field = 0
    while head := data[offset]:
        offset += 1
        kind = head & 15
        if head >> 4:
            field += head >> 4
        else:
            field, offset = _signed(data, offset)
        if _I16 <= kind <= _I64:
            number = data[offset]
            offset += 1
            if number > 127:
                number, offset = _number(data, offset - 1)
            values[field] = (number >> 1) ^ -(number & 1)
        elif _TRUE <= kind <= _FALSE:
            values[field] = kind == _TRUE
        else:
            values[field], offset = _value(kind, data, offset, depth + 1)
    return values, offset + 1


def _value(kind: int, data: bytes, offset: int, depth: int) -> tuple[Value, int]:
    """The value of a field, or of an element of a list, and the offset after the value."""
    if depth > _DEEPEST:
        raise Malformed
    if kind == _BINARY:
        size, offset = _number(data, offset)
        return _bytes(data, offset, size)
    if kind == _STRUCT:
        return _read_fields(data, offset, depth)
    if kind in {_LIST, _SET}:
        size, kind = data[offset] >> 4, data[offset] & 15
        offset += 1
        if size == _LARGE:
            size, offset = _number(data, offset)
        _require_bytes(data, offset, size)
        values: list[Value] = []
        for _ in range(size):
            value, offset = _value(kind, data, offset, depth + 1)
            values.append(value)
        return values, offset
    if kind == _MAP:
        return None, _skip_map(data, offset, depth)
    if kind == _DOUBLE:
        return _bytes(data, offset, 8)
    if _I16 <= kind <= _I64:
        return _signed(data, offset)
    if kind in {_TRUE, _FALSE, _BYTE}:
        return data[offset], offset + 1
    raise Malformed


def _skip_map(data: bytes, offset: int, depth: int) -> int:
    """The offset after a map, which is not read: no field of Parquet is a map."""
    size, offset = _number(data, offset)
    if size:
        kinds, offset = data[offset], offset + 1
        _require_bytes(data, offset, size)
        for _ in range(size):
            _, offset = _value(kinds >> 4, data, offset, depth + 1)
            _, offset = _value(kinds & 15, data, offset, depth + 1)
    return offset


def _bytes(data: bytes, offset: int, size: int) -> tuple[bytes, int]:
    _require_bytes(data, offset, size)
    return data[offset : offset + size], offset + size


def _require_bytes(data: bytes, offset: int, size: int) -> None:
    """Raises `Malformed` if fewer than `size` bytes are left (elements have at least one byte)."""
    if size > len(data) - offset:
        raise Malformed


def _signed(data: bytes, offset: int) -> tuple[int, int]:
    number, offset = _number(data, offset)
    return (number >> 1) ^ -(number & 1), offset


def _number(data: bytes, offset: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, _WIDEST + 1, 7):
        byte = data[offset]
        offset += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, offset
    raise Malformed
