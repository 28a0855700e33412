"""Native route of Parquet: reads, checks and decompresses the pages of a column."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from fairaudit.engine.parquet import DATA, DATA_V2, DICTIONARY, Chunk, Header, read_at
from fairaudit.engine.partial_counts import NotServed
from fairaudit.engine.sources import has_known_flags

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


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """A file by its descriptor."""
    # Windows reads texts unless it is told not to: line ends of one byte, and none behind a 26.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        yield file
    finally:
        os.close(file)


def read_bytes(file: int, start: int, stop: int) -> bytes:
    """Bytes of a file by its descriptor: no map, so that a file cut short is no signal."""
    parts = []
    while start < stop:
        part = read_at(file, stop - start, start)
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
    (entries,) = _unpack(chunk.codec, [(body, header.unpacked)])
    return entries, header.values


def value_pages(content: bytes, headers: list[Header], chunk: Chunk) -> list[Page]:
    """The pages of values of a chunk, unpacked."""
    if headers and headers[0].kind == DICTIONARY:
        headers = headers[1:]
    view = memoryview(content)
    packed: dict[int, tuple[memoryview, int]] = {}
    plain: dict[int, tuple[memoryview, int]] = {}
    levels: list[Buffer] = []
    for number, header in enumerate(headers):
        size = _levels_size(header, chunk)
        body = view[header.start : header.start + header.size]
        levels.append(body[:size])
        kept = packed if header.is_packed else plain
        kept[number] = body[size:], header.unpacked - size
    bodies = {number: body for number, (body, _) in plain.items()}
    bodies |= zip(packed, _unpack(chunk.codec, [*packed.values()]), strict=True)
    return [
        (header.kind == DATA_V2, header.encoding, header.values, levels[number], bodies[number])
        for number, header in enumerate(headers)
    ]


def _levels_size(header: Header, chunk: Chunk) -> int:
    """How many bytes stand before the values as they are: the levels of the second version."""
    if header.kind not in {DATA, DATA_V2}:
        raise NotServed
    if header.values < 0:
        raise DamagedPage
    if header.kind == DATA:
        if chunk.leaf.is_optional and header.levels_encoding != _RUN_LENGTHS:
            raise NotServed
        return 0
    if header.repeats_size or header.rows != header.values:
        raise NotServed
    if not 0 <= header.levels_size <= min(header.size, header.unpacked):
        raise DamagedPage
    return header.levels_size


def _unpack(codec: int, bodies: list[tuple[memoryview, int]]) -> list[Buffer]:
    """The bytes of pages as they were before they were packed, as many as their headers say."""
    if sum(size for _, size in bodies) > MOST_BYTES:
        raise NotServed
    if codec == _ZSTD:
        return _unpack_together(bodies)
    return [_unpack_one(codec, body, size) for body, size in bodies]


def _unpack_together(bodies: list[tuple[memoryview, int]]) -> list[Buffer]:
    """The pages of Zstandard by one call: its frames may follow each other, and a call is dear."""
    total = sum(size for _, size in bodies)
    content = b""
    if total:
        content = _by_arrow("zstd", b"".join(body for body, size in bodies if size), total)
    view, end = memoryview(content), 0
    parts = []
    for _, size in bodies:
        parts.append(view[end : end + size])
        end += size
    return parts


def _unpack_one(codec: int, body: memoryview, size: int) -> Buffer:
    if codec == _UNCOMPRESSED:
        if len(body) != size:
            raise DamagedPage
        return body
    if not size:
        return b""
    if codec == _GZIP:
        return _inflated(body, size)
    if codec != _SNAPPY:
        raise NotServed
    if _snappy_size(body) != size:
        raise DamagedPage  # of fewer bytes Arrow would leave the rest as it found them
    return _by_arrow("snappy", body, size)


def _by_arrow(codec: str, body: Buffer, size: int) -> Buffer:
    try:
        return pa.decompress(body, size, codec=codec)
    except (pa.ArrowException, OSError) as error:
        raise DamagedPage from error


def _inflated(body: memoryview, size: int) -> bytes:
    from isal import isal_zlib

    if not has_known_flags(body):
        raise DamagedPage
    inflating = isal_zlib.decompressobj(wbits=isal_zlib.MAX_WBITS | 16)
    try:
        content: bytes = inflating.decompress(body, size + 1)
    except (isal_zlib.error, OverflowError) as error:
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
