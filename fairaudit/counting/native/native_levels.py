"""Native route for Parquet: reads dictionaries and pages of values for the kernel.

The dictionaries of the row groups have the levels of a column. So the levels are known before the
rows are counted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import cramjam
import numpy as np
from numpy.typing import NDArray

from fairaudit.base.arrays import Floats, Ints
from fairaudit.base.frozen import Frozen
from fairaudit.counting.native import NotServed
from fairaudit.counting.plan import MISSING, Key, Plan
from fairaudit.counting.raw_counts import Level, find_starts
from fairaudit.counting.sources import SourceFile, has_known_flags
from fairaudit.counting.sources.parquet import DICTIONARY, TEXT, Chunk, Header, RowGroup, read_at

Buffer: TypeAlias = Any
"""Bytes in an array, a view, or `bytes`."""

Pages: TypeAlias = tuple[bytes, bytes, Buffer]
"""The bytes of a chunk, the table of its pages (`_PLACE`), the decompressed bytes of its pages."""

_PLACE = Struct("10q")
"""The layout of an entry of the table of pages (`PagePlace` in `kernel/parquet.h`)."""

MOST_BYTES = 2**28
"""Maximum size of a decompressed chunk, so that a wrong header does not fill the memory."""

_UNCOMPRESSED, _SNAPPY, _GZIP, _BROTLI, _ZSTD, _LZ4 = 0, 1, 2, 4, 6, 7
_UNPACKERS = {
    _SNAPPY: cramjam.snappy.decompress_raw_into,
    _BROTLI: cramjam.brotli.decompress_into,
    _ZSTD: cramjam.zstd.decompress_into,
    _LZ4: cramjam.lz4.decompress_block_into,
}
"""The function that decompresses a page into an array, by codec. ISA-L decompresses gzip."""


class DamagedPage(Exception):
    """The bytes of a page contradict its header."""


@contextmanager
def opened(path: Path) -> Iterator[int]:
    """Opens a file and yields its descriptor."""
    # Without O_BINARY, Windows would convert line ends, and stop at a byte 26.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        yield file
    finally:
        os.close(file)


def read_bytes(file: int, start: int, stop: int) -> bytes:
    """The bytes from `start` to `stop`; a memory map would crash if the file became shorter."""
    parts = []
    while start < stop:
        part = read_at(file, stop - start, start)
        if not part:
            raise DamagedPage
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def value_pages(kernel: ModuleType, content: bytes, chunk: Chunk) -> Pages:
    """The pages of a chunk, decompressed."""
    is_packed = chunk.codec != _UNCOMPRESSED
    found = kernel.value_pages(content, chunk.leaf.is_optional, is_packed)
    if found is None:
        raise NotServed
    table, packed, size = found
    if size > MOST_BYTES:
        raise NotServed
    if chunk.codec == _ZSTD:
        # Zstandard can decompress all pages in one call.
        return content, table, _fill(_ZSTD, packed, size) if size else b""
    view, end, pages = memoryview(packed), 0, list[Buffer]()
    for place in _PLACE.iter_unpack(table):
        is_packed, _, size, _, packed_size = place[-5:]
        if is_packed:
            start, end = end, end + packed_size
            pages.append(_unpack_one(chunk.codec, view[start:end], size))
    return content, table, b"".join(pages)


def _unpack_one(codec: int, body: memoryview, size: int) -> Buffer:
    if codec == _UNCOMPRESSED:
        if len(body) != size:
            raise DamagedPage
        return body
    if not size:
        return b""
    if codec == _GZIP:
        from isal import isal_zlib

        if not has_known_flags(body):
            raise DamagedPage
        inflating = isal_zlib.decompressobj(wbits=isal_zlib.MAX_WBITS | 16)
        try:
            content: bytes = inflating.decompress(body, size + 1)
        except (isal_zlib.error, OverflowError) as error:
            raise DamagedPage from error
        if inflating.unused_data:
            raise NotServed  # several gzip members
        if len(content) != size or not inflating.eof:
            raise DamagedPage
        return content
    if codec not in _UNPACKERS:
        raise NotServed
    return _fill(codec, body, size)


def _fill(codec: int, body: Buffer, size: int) -> Buffer:
    """The decompressed bytes; raises `DamagedPage` if there are not exactly `size` bytes."""
    content: Buffer = np.empty(size, dtype=np.uint8)
    try:
        filled = _UNPACKERS[codec](body, content)
    except cramjam.DecompressionError as error:
        raise DamagedPage from error
    if filled != size:
        raise DamagedPage
    return content


_MOST_LEVELS = 2**16
MOST_TERMS = 2**17
"""Maximum number of entries in a dictionary for the kernel."""

_FIRST_BYTES = 2**12
"""Number of bytes that are read first: enough for most dictionaries with their headers."""

NO_NULLS = 2**32 - 1
"""The term of nulls in a column without nulls; the kernel then does not count pages with nulls."""

_BY_DICTIONARY = frozenset({2, 8})
"""The encodings that store a value as its index in the dictionary."""

NO_PLAIN, BITS, INT32, UINT32, INT64, FLOAT, DOUBLE = range(7)
"""`PlainKind` of the kernel: how a column stores plain values, which are not in a dictionary."""

_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE = 0, 1, 2, 4, 5
_TYPES = {
    "bool": (_BOOLEAN, BITS),
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), (_INT32, INT32)),
    "uint32": (_INT32, UINT32),
    "int64": (_INT64, INT64),
    "float": (_FLOAT, FLOAT),
    "double": (_DOUBLE, DOUBLE),
    "string": (TEXT, NO_PLAIN),
    "large_string": (TEXT, NO_PLAIN),
}
"""The Arrow types that the kernel can count, with their physical type and plain kind."""

_NUMBERS = {INT32: "<i4", UINT32: "<u4", INT64: "<i8", FLOAT: "<f4", DOUBLE: "<f8"}

Terms: TypeAlias = tuple[bytes, int, int, int, bytes, bytes | None]
"""Arguments of the kernel: terms of dictionary entries, term of nulls, plain kind, smallest plain
integer (0: only cut integers may be plain), terms of plain values, edges."""


class Reading(NamedTuple):
    """An open file; `file` is its descriptor."""

    kernel: ModuleType
    file: int
    source: SourceFile
    groups: Sequence[RowGroup]


class _Stored(NamedTuple):
    """How a column is stored: its index in a row group, its chunks, Arrow type and plain kind."""

    number: int
    chunks: Sequence[Chunk]
    type: str
    plain_kind: int


class KeyLevels(Frozen):
    """The levels of a key in one file, with their codes, and the way in which values are stored.

    `number` is the index of the column in a row group. `dictionaries` has, for each row group, the
    codes of the entries of its dictionary. `plain` are the codes of values that are not in a
    dictionary: false and true, or the intervals between `edges` followed by NaN. `null` is the code
    of a null; None if the column has no nulls.
    """

    number: int
    levels: Mapping[Level, int]
    dictionaries: Sequence[Ints]
    plain_kind: int
    plain: Ints
    null: int | None = 0
    edges: Floats | None = None

    def terms(self, group: int, stride: int) -> Terms:
        """The terms of the values in a row group; a row's terms add up to its cell's number."""
        by_dictionary, plain = (
            (codes * stride).astype(np.uint32).tobytes()
            for codes in (self.dictionaries[group], self.plain)
        )
        edges = None if self.edges is None else self.edges.tobytes()
        null = NO_NULLS if self.null is None else self.null * stride
        return by_dictionary, null, self.plain_kind, 0, plain, edges


class Numbers(Frozen):
    """A column of numbers in one file, with the numbers in the dictionary of each row group."""

    number: int
    dictionaries: Sequence[Floats]
    plain_kind: int

    def terms(self, group: int) -> Terms:
        """The arguments for the kernel; the term of each dictionary entry is its index."""
        places = np.arange(len(self.dictionaries[group]), dtype=np.uint32)
        return places.tobytes(), 0, self.plain_kind, 0, b"", None


def key_levels(reading: Reading, key: Key, plan: Plan) -> KeyLevels:
    """The levels of a key; raises `NotServed` if the dictionaries do not have all levels."""
    stored = _find_stored(reading, key.column)
    if key.edges is not None:
        return _cut_levels(reading, stored, key, plan)
    if stored.plain_kind in {FLOAT, DOUBLE}:
        raise NotServed
    number, chunks, _, plain_kind = stored
    # If the file states 0 nulls but has one, the kernel finds it, and another route counts.
    has_nulls = chunks[0].leaf.is_optional and any(chunk.nulls != 0 for chunk in chunks)
    levels: dict[Level, int] = {None: 0} if has_nulls else {}
    null = 0 if has_nulls else None
    nothing = np.zeros(0, np.int64)
    if plain_kind == BITS:
        truths = _codes(("false", "true"), levels)
        return KeyLevels(number, levels, [nothing] * len(chunks), BITS, truths, null)
    if any(not chunk.encodings & _BY_DICTIONARY for chunk in chunks):
        raise NotServed  # without a dictionary, the levels are not known before the count
    known: dict[bytes, Ints] = {}
    dictionaries = []
    for content, count in _dictionaries(reading, chunks, _MOST_LEVELS):
        if content not in known:
            if stored.plain_kind == NO_PLAIN:
                entries = _texts(content, count)
            else:
                entries = [*map(str, _numbers(content, count, stored).tolist())]
            known[content] = _codes(entries, levels)
        dictionaries.append(known[content])
    return KeyLevels(number, levels, dictionaries, plain_kind, nothing, null)


def _cut_levels(reading: Reading, stored: _Stored, key: Key, plan: Plan) -> KeyLevels:
    """The intervals of a column of numbers as levels; the last level means missing."""
    assert key.edges is not None
    number, chunks, _, plain_kind = stored
    if plain_kind not in _NUMBERS or plan.missing_numbers(key.column):
        raise NotServed
    starts = find_starts(key, single=plain_kind == FLOAT)
    missing = len(starts) + 1
    dictionaries = []
    for content, count in _dictionaries(reading, chunks, MOST_TERMS):
        entries = _numbers(content, count, stored).astype(np.float64)
        passed = np.searchsorted(starts, entries, side="right")
        dictionaries.append(np.where(np.isnan(entries), missing, passed))
    levels = {level: place for place, level in enumerate((*range(missing), MISSING))}
    places = np.arange(len(levels))
    return KeyLevels(number, levels, dictionaries, plain_kind, places, missing, edges=starts)


def numbers(reading: Reading, column: str) -> Numbers:
    """A column of numbers; raises `NotServed` if the kernel cannot read it as numbers."""
    stored = _find_stored(reading, column)
    if stored.plain_kind not in _NUMBERS:
        raise NotServed
    dictionaries = [
        _numbers(content, count, stored).astype(np.float64)
        for content, count in _dictionaries(reading, stored.chunks, MOST_TERMS)
    ]
    return Numbers(stored.number, dictionaries, stored.plain_kind)


def _find_stored(reading: Reading, column: str) -> _Stored:
    """How a column is stored; raises `NotServed` if the kernel cannot read it."""
    first = reading.groups[0].chunks
    (number, *others) = [
        number for number, chunk in enumerate(first) if chunk.leaf.path[0] == column
    ]
    leaf = first[number].leaf
    if others or leaf.repeats or len(leaf.path) > 1:  # a repeated name, or a nested column
        raise NotServed
    chunks = [group.chunks[number] for group in reading.groups]
    kind = reading.source.types[column].removeprefix("dictionary<values=").split(",")[0]
    physical, plain_kind = _TYPES.get(kind, (-1, NO_PLAIN))
    if physical != chunks[0].leaf.kind:
        raise NotServed
    return _Stored(number, chunks, kind, plain_kind)


def _codes(levels: Iterable[Level], known: dict[Level, int]) -> Ints:
    """The code of each level; a new level gets the next code, and is added to `known`."""
    codes = np.array([known.setdefault(level, len(known)) for level in levels], dtype=np.int64)
    if len(known) > _MOST_LEVELS:
        raise NotServed
    return codes


def _dictionaries(
    reading: Reading, chunks: Sequence[Chunk], most: int
) -> Iterator[tuple[bytes, int]]:
    """The bytes of the dictionary of each chunk, and its number of entries; 0 without a dictionary.

    Row groups often have equal dictionaries, which are decompressed only once.
    """
    unpacked: dict[tuple[int, bytes], tuple[bytes, int]] = {}
    for chunk in chunks:
        if not chunk.encodings & _BY_DICTIONARY:
            yield b"", 0
            continue
        first = min(chunk.stop, chunk.start + _FIRST_BYTES)
        content = read_bytes(reading.file, chunk.start, first)
        try:
            header = Header(*reading.kernel.first_header(content))
        except ValueError as error:
            raise NotServed from error
        if header.kind != DICTIONARY:
            yield b"", 0
            continue
        if header.values > most or header.unpacked > MOST_BYTES:
            raise NotServed
        end = header.start + header.size
        if header.values < 0 or chunk.start + end > chunk.stop:
            raise DamagedPage
        if end > len(content):
            content = read_bytes(reading.file, chunk.start, chunk.start + end)
        key = chunk.codec, content[:end]
        if key not in unpacked:
            body = memoryview(content)[header.start : header.start + header.size]
            entries = bytes(_unpack_one(chunk.codec, body, header.unpacked))
            unpacked[key] = entries, header.values
        yield unpacked[key]


def _numbers(content: bytes, count: int, stored: _Stored) -> NDArray[Any]:
    """The numbers in a dictionary; raises `NotServed` if a number is outside its declared type."""
    form = np.dtype(_NUMBERS[stored.plain_kind])
    if len(content) != count * form.itemsize:
        raise DamagedPage
    found = np.frombuffer(content, dtype=form)
    if form.kind != "f" and count:
        limits = np.iinfo(stored.type)
        if not limits.min <= found.min() <= found.max() <= limits.max:
            raise NotServed
    return found


def _texts(content: bytes, count: int) -> list[str]:
    """The texts in a dictionary; the length of a text is stored before it, in 4 bytes."""
    texts, end = [], 0
    for _ in range(count):
        start = end + 4
        end = start + int.from_bytes(content[start - 4 : start], "little")
        if start > len(content) or end > len(content):
            raise DamagedPage
        texts.append(content[start:end].decode())
    return texts
