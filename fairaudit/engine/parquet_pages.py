"""The pages of a Parquet column for the native kernel: read, checked and unpacked."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.parquet import DATA, DATA_V2, DICTIONARY, Chunk

Buffer: TypeAlias = Any
"""Bytes by whatever holds them: a buffer of Arrow, a view, `bytes`."""

Page = tuple[bool, int, int, Buffer, Buffer]
"""A page of values: whether of the second version, its encoding, values, levels and body."""

MOST_BYTES = 2**28
"""What a column of a row group may take unpacked: lengths in headers may lie."""

_UNCOMPRESSED, _SNAPPY, _GZIP, _ZSTD = 0, 1, 2, 6
_RUN_LENGTHS = 3
"""The encoding of definition levels; older ones are for other readers."""


class DamagedPage(Exception):
    """The bytes of a page are not what its header says."""


class Header(NamedTuple):
    """The header of a page, as the kernel reads it: sizes and counts that are absent are -1."""

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


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A file by its descriptor."""
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def read_bytes(file: int, start: int, stop: int) -> bytes:
    """Bytes of a file by its descriptor: no map, so that a file cut short is no signal."""
    parts = []
    while start < stop:
        part = os.pread(file, stop - start, start)
        if not part:
            raise DamagedPage
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def dictionary_page(content: bytes, header: Header, chunk: Chunk) -> tuple[Buffer, int]:
    """The entries of a dictionary, and how many; `content` begins where the chunk does."""
    body = memoryview(content)[header.start : header.start + header.size]
    if header.values < 0:
        raise DamagedPage
    return _unpacked(chunk.codec, body, header.unpacked), header.values


def value_pages(content: bytes, headers: list[Header], chunk: Chunk) -> Iterator[Page]:
    """The pages of values of a chunk, unpacked."""
    view, room = memoryview(content), MOST_BYTES
    for number, header in enumerate(headers):
        if number == 0 and header.kind == DICTIONARY:
            continue
        room -= header.unpacked
        if header.kind not in {DATA, DATA_V2} or room < 0:
            raise NotServed
        if header.values < 0:
            raise DamagedPage
        body = view[header.start : header.start + header.size]
        is_second = header.kind == DATA_V2
        levels, values = _second(header, body, chunk) if is_second else _first(header, body, chunk)
        yield is_second, header.encoding, header.values, levels, values


def _first(header: Header, body: memoryview, chunk: Chunk) -> tuple[Buffer, Buffer]:
    """A page of the first version: its levels are packed together with its values."""
    if chunk.leaf.is_optional and header.levels_encoding != _RUN_LENGTHS:
        raise NotServed
    return b"", _unpacked(chunk.codec, body, header.unpacked)


def _second(header: Header, body: memoryview, chunk: Chunk) -> tuple[Buffer, Buffer]:
    """A page of the second version: its levels stand before its values, as they are."""
    size = header.levels_size
    if header.repeats_size or header.rows != header.values:
        raise NotServed
    if not 0 <= size <= min(header.size, header.unpacked):
        raise DamagedPage
    levels, values = body[:size], body[size:]
    if not header.is_packed:
        return levels, values
    return levels, _unpacked(chunk.codec, values, header.unpacked - size)


def _unpacked(codec: int, body: memoryview, size: int) -> Buffer:
    """Bytes as they were before they were packed, as many as the header says."""
    if size > MOST_BYTES:
        raise NotServed
    if codec == _UNCOMPRESSED:
        if len(body) != size:
            raise DamagedPage
        return body
    if not size:
        return b""
    if codec == _GZIP:
        return _inflated(body, size)
    if codec == _SNAPPY and _snappy_size(body) != size:
        raise DamagedPage  # of fewer bytes Arrow would leave the rest as it found them
    if codec not in {_SNAPPY, _ZSTD}:
        raise NotServed
    try:
        return pa.decompress(body, size, codec="snappy" if codec == _SNAPPY else "zstd")
    except (pa.ArrowException, OSError) as error:
        raise DamagedPage from error


def _inflated(body: memoryview, size: int) -> bytes:
    inflating = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    try:
        content = inflating.decompress(body, size + 1)
    except zlib.error as error:
        raise DamagedPage from error
    if inflating.unused_data:
        raise NotServed  # several streams, one after the other
    if len(content) != size or not inflating.eof:
        raise DamagedPage
    return content


def _snappy_size(body: memoryview) -> int:
    """How many bytes a Snappy block says that it holds; -1 where it says nothing."""
    size = 0
    for place, byte in enumerate(body[:5]):
        size |= (byte & 127) << (7 * place)
        if byte < 128:
            return size
    return -1
