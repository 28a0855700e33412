"""Native route of Parquet: reads, checks and decompresses the pages of a column."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from types import ModuleType
from typing import Any, TypeAlias

import cramjam
import numpy as np

from fairaudit.counting.partial_counts import NotServed
from fairaudit.counting.sources.parquet import Chunk, Header, read_at
from fairaudit.counting.sources.sources import has_known_flags

Buffer: TypeAlias = Any
"""Bytes by whatever holds them: an array, a view, `bytes`."""

Pages: TypeAlias = tuple[bytes, bytes, Buffer]
"""The pages of a chunk: its bytes, where each page stands, and what the packed ones hold."""

_PLACE = Struct("10q")
"""Where a page stands, as the kernel says it."""

MOST_BYTES = 2**28
"""What a column of a row group may take unpacked: lengths in headers may lie."""

_UNCOMPRESSED, _SNAPPY, _GZIP, _BROTLI, _ZSTD, _LZ4 = 0, 1, 2, 4, 6, 7
_UNPACKERS = {
    _SNAPPY: cramjam.snappy.decompress_raw_into,
    _BROTLI: cramjam.brotli.decompress_into,
    _ZSTD: cramjam.zstd.decompress_into,
    _LZ4: cramjam.lz4.decompress_block_into,
}
"""What unpacks the pages of a codec into an array; gzip is left to ISA-L."""


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
    if header.unpacked > MOST_BYTES:
        raise NotServed
    return _unpack_one(chunk.codec, body, header.unpacked), header.values


def value_pages(kernel: ModuleType, content: bytes, chunk: Chunk) -> Pages:
    """The pages of values of a chunk, unpacked."""
    is_packed = chunk.codec != _UNCOMPRESSED
    found = kernel.value_pages(content, chunk.leaf.is_optional, is_packed)
    if found is None:
        raise NotServed
    table, packed, size = found
    if size > MOST_BYTES:
        raise NotServed
    if chunk.codec == _ZSTD:
        # Its frames may follow each other, and a call is dear.
        return content, table, _fill(_ZSTD, packed, size) if size else b""
    return content, table, b"".join(_unpack_each(chunk.codec, table, packed))


def _unpack_each(codec: int, table: bytes, packed: bytes) -> Iterator[Buffer]:
    """The packed pages of a table one by one, unpacked."""
    view, end = memoryview(packed), 0
    for place in _PLACE.iter_unpack(table):
        is_packed, _, size, _, packed_size = place[-5:]
        if is_packed:
            start, end = end, end + packed_size
            yield _unpack_one(codec, view[start:end], size)


def _unpack_one(codec: int, body: memoryview, size: int) -> Buffer:
    if codec == _UNCOMPRESSED:
        if len(body) != size:
            raise DamagedPage
        return body
    if not size:
        return b""
    if codec == _GZIP:
        return _inflated(body, size)
    if codec not in _UNPACKERS:
        raise NotServed
    return _fill(codec, body, size)


def _fill(codec: int, body: Buffer, size: int) -> Buffer:
    """Packed bytes, unpacked: as many as their header says."""
    content: Buffer = np.empty(size, dtype=np.uint8)
    try:
        filled = _UNPACKERS[codec](body, content)
    except cramjam.DecompressionError as error:
        raise DamagedPage from error
    if filled != size:
        raise DamagedPage
    return content


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
