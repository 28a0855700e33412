"""Native route of Parquet: the levels of key columns, and numeric columns; the pages of a column.

Levels are known from the dictionaries of the row groups, before anything is counted. Pages are
read, checked and decompressed here.
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
"""The pages of a chunk: its bytes, the place of each page, and the content of packed pages."""

_PLACE = Struct("10q")
"""The place of a page, as the kernel returns it."""

MOST_BYTES = 2**28
"""Largest unpacked column of a row group: lengths in headers may be wrong."""

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
    # Without O_BINARY Windows converts line ends, and stops at a byte 26.
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        yield file
    finally:
        os.close(file)


def read_bytes(file: int, start: int, stop: int) -> bytes:
    """Bytes of a file by its descriptor: a map of a file that is cut short would raise a signal."""
    parts = []
    while start < stop:
        part = read_at(file, stop - start, start)
        if not part:
            raise DamagedPage
        parts.append(part)
        start += len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


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
            raise NotServed  # several streams, one after the other
        if len(content) != size or not inflating.eof:
            raise DamagedPage
        return content
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


_MOST_LEVELS = 2**16
MOST_TERMS = 2**17
"""Most entries of a dictionary in the kernel."""

_FIRST_BYTES = 2**12
"""The header of a dictionary is short, and so are most dictionaries."""

NO_NULLS = 2**32 - 1
"""The term of a null in the kernel if a column has no nulls."""

_BY_DICTIONARY = frozenset({2, 8})
"""The encodings of values by their place in a dictionary."""

NO_PLAIN, BITS, INT32, UINT32, INT64, FLOAT, DOUBLE = range(7)
"""How plain values are stored, in the kernel's words: not at all, as bits, as numbers."""

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
"""The types that are served, as they have to be stored, and how the kernel reads them plain."""

_NUMBERS = {INT32: "<i4", UINT32: "<u4", INT64: "<i8", FLOAT: "<f4", DOUBLE: "<f8"}

Terms: TypeAlias = tuple[bytes, int, int, int, bytes, bytes | None]
"""What dictionary entries and nulls add; how plain values are read, and what they add."""


class Reading(NamedTuple):
    """A file while the levels of its columns are read, by a descriptor and the kernel."""

    kernel: ModuleType
    file: int
    source: SourceFile
    groups: Sequence[RowGroup]


class _Stored(NamedTuple):
    """A column as it is stored: its number in each row group, its chunks, type and plain kind."""

    number: int
    chunks: Sequence[Chunk]
    type: str
    plain_kind: int


class KeyLevels(Frozen):
    """The levels of a key in one file, each with its place, and their storage.

    `number` is the number of the column in each row group. `dictionaries` are the places of the
    entries of the dictionary of each row group, `plain` the places of the integers from `base` on,
    or of the intervals between `edges`, and of NaN. A null has the place `null`, which is missing
    if the file says that the column has no nulls.
    """

    number: int
    levels: Mapping[Level, int]
    dictionaries: Sequence[Ints]
    plain_kind: int
    plain: Ints
    null: int | None = 0
    base: int = 0
    edges: Floats | None = None

    def terms(self, group: int, stride: int) -> Terms:
        """The terms that the values of a row group add to the number of a cell, for the kernel."""
        by_dictionary, plain = (
            (places * stride).astype(np.uint32).tobytes()
            for places in (self.dictionaries[group], self.plain)
        )
        edges = None if self.edges is None else self.edges.tobytes()
        null = NO_NULLS if self.null is None else self.null * stride
        return by_dictionary, null, self.plain_kind, self.base, plain, edges


class Numbers(Frozen):
    """A column of numbers in one file, by the entries of the dictionary of each row group."""

    number: int
    dictionaries: Sequence[Floats]
    plain_kind: int

    def terms(self, group: int) -> Terms:
        """Each entry by its place."""
        places = np.arange(len(self.dictionaries[group]), dtype=np.uint32)
        return places.tobytes(), 0, self.plain_kind, 0, b"", None


def key_levels(reading: Reading, key: Key, plan: Plan) -> KeyLevels:
    """The levels of a key, from the dictionaries alone; raises `NotServed` if they do not do."""
    stored = _stored(reading, key.column)
    if key.edges is not None:
        return _intervals(reading, stored, key, plan)
    if stored.plain_kind in {FLOAT, DOUBLE}:
        raise NotServed
    number, chunks, _, plain_kind = stored
    # The kernel does not serve an unannounced null.
    has_nulls = chunks[0].leaf.is_optional and any(chunk.nulls != 0 for chunk in chunks)
    levels: dict[Level, int] = {None: 0} if has_nulls else {}
    null = 0 if has_nulls else None
    if plain_kind == BITS:
        truths = _places(("false", "true"), levels)
        nothing = np.zeros(0, np.int64)
        return KeyLevels(number, levels, [nothing] * len(chunks), BITS, truths, null)
    known: dict[bytes, Ints] = {}
    dictionaries = []
    for content, count in _dictionaries(reading, chunks, _MOST_LEVELS):
        if content not in known:
            if stored.plain_kind == NO_PLAIN:
                entries = _texts(content, count)
            else:
                entries = [*map(str, _numbers(content, count, stored).tolist())]
            known[content] = _places(entries, levels)
        dictionaries.append(known[content])
    base, integers = _plain_integers(chunks, plain_kind)
    plain = _places(integers, levels)
    return KeyLevels(number, levels, dictionaries, plain_kind, plain, null, base)


def _intervals(reading: Reading, stored: _Stored, key: Key, plan: Plan) -> KeyLevels:
    """The intervals of a number that is cut, as codes; the last one is of what is missing."""
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
    """A column of numbers; raises `NotServed` for another column."""
    stored = _stored(reading, column)
    if stored.plain_kind not in _NUMBERS:
        raise NotServed
    dictionaries = [
        _numbers(content, count, stored).astype(np.float64)
        for content, count in _dictionaries(reading, stored.chunks, MOST_TERMS)
    ]
    return Numbers(stored.number, dictionaries, stored.plain_kind)


def _stored(reading: Reading, column: str) -> _Stored:
    """How a column is stored; raises `NotServed` if the kernel does not read it so."""
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


def _places(levels: Iterable[Level], known: dict[Level, int]) -> Ints:
    """The place of each level among those that are known, to which it is added."""
    places = np.array([known.setdefault(level, len(known)) for level in levels], dtype=np.int64)
    if len(known) > _MOST_LEVELS:
        raise NotServed
    return places


def _dictionaries(
    reading: Reading, chunks: Sequence[Chunk], most: int
) -> Iterator[tuple[bytes, int]]:
    """The entries of the dictionary of each chunk, and how many; none where its values are plain.

    Row groups often have the same, which are unpacked once.
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
    """The numbers of a dictionary; raises `NotServed` if some are beyond their type."""
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
    """Texts, each after its length."""
    texts, place = [], 0
    for _ in range(count):
        start = place + 4
        place = start + int.from_bytes(content[start - 4 : start], "little")
        if start > len(content) or place > len(content):
            raise DamagedPage
        texts.append(content[start:place].decode())
    return texts


def _plain_integers(chunks: Sequence[Chunk], plain_kind: int) -> tuple[int, list[str]]:
    """The smallest plain integer, and all integers up to the largest, by the statistics.

    The kernel refuses an integer outside this range, so wrong statistics change no count. If all
    row groups have dictionaries, no plain integer is expected.
    """
    plain = [chunk for chunk in chunks if not chunk.encodings & _BY_DICTIONARY]
    if not plain:
        return 0, []
    if plain_kind == NO_PLAIN:
        raise NotServed  # texts are only known by their places
    form = np.dtype(_NUMBERS[plain_kind])
    extremes = [value for chunk in plain for value in chunk.extremes or (b"",)]
    if any(len(value) != form.itemsize for value in extremes):
        raise NotServed
    # The smallest and the largest integer of each chunk, in turn.
    ends = np.frombuffer(b"".join(extremes), dtype=form)
    low, high = int(ends[::2].min()), int(ends[1::2].max())
    if not 0 <= high - low < _MOST_LEVELS:
        raise NotServed
    return low, [str(number) for number in range(low, high + 1)]
