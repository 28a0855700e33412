"""The levels of a key column in a Parquet file, by the dictionaries of its row groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TypeAlias

import numpy as np

from fairaudit.arrays import Ints
from fairaudit.engine.arrow_codes import NotServed
from fairaudit.engine.parquet import DICTIONARY, TEXT, Chunk, RowGroup
from fairaudit.engine.parquet_pages import (
    Buffer,
    DamagedPage,
    Header,
    dictionary_page,
    read_bytes,
)
from fairaudit.engine.partial_counts import Level
from fairaudit.engine.sources import SourceFile

_MOST_LEVELS = 2**16

_FIRST_BYTES = 2**12
"""The header of a dictionary is short, and so are most dictionaries."""

_BY_DICTIONARY = frozenset({2, 8})
"""The encodings of values by their place in a dictionary."""

NO_PLAIN, BITS, INT32, UINT32, INT64 = range(5)
"""How plain values are stored, in the kernel's words: not at all, as bits, as integers."""

_BOOLEAN, _INT32, _INT64 = 0, 1, 2
_TYPES = {
    "bool": (_BOOLEAN, BITS),
    **dict.fromkeys(("int8", "int16", "int32", "uint8", "uint16"), (_INT32, INT32)),
    "uint32": (_INT32, UINT32),
    "int64": (_INT64, INT64),
    "string": (TEXT, NO_PLAIN),
    "large_string": (TEXT, NO_PLAIN),
}
"""The types that are served, as they have to be stored, and how the kernel reads them plain."""

_NUMBERS = {INT32: "<i4", UINT32: "<u4", INT64: "<i8"}


Terms: TypeAlias = tuple[bytes, int, int, int, bytes]
"""What dictionary entries and nulls add; how plain values are read, and what they add."""


@dataclass(frozen=True, slots=True)
class KeyLevels:
    """The levels of a key in one file, each with its place, and where they are stored.

    `number` is that of the column in each row group. `dictionaries` are the places of the entries
    of the dictionary of each row group, `plain` those of the integers from `base` on.
    """

    number: int
    levels: Mapping[Level, int]
    dictionaries: Sequence[Ints]
    plain_kind: int
    plain: Ints
    base: int

    def terms(self, group: int, stride: int) -> Terms:
        """What the values of a row group add to the number of a cell, as the kernel takes it."""
        by_dictionary, plain = (
            (places * stride).astype(np.uint32).tobytes()
            for places in (self.dictionaries[group], self.plain)
        )
        null = self.levels.get(None, 0) * stride
        return by_dictionary, null, self.plain_kind, self.base, plain


def key_levels(
    kernel: ModuleType, file: int, source: SourceFile, column: str, groups: Sequence[RowGroup]
) -> KeyLevels:
    """The levels of a key, from the dictionaries alone; raises `NotServed` where they do not do."""
    number = _number(groups[0], column)
    chunks = [group.chunks[number] for group in groups]
    kind = source.types[column].removeprefix("dictionary<values=").split(",")[0]
    stored, plain_kind = _TYPES.get(kind, (-1, NO_PLAIN))
    if stored != chunks[0].leaf.kind:
        raise NotServed
    levels: dict[Level, int] = {None: 0} if chunks[0].leaf.is_optional else {}
    if plain_kind == BITS:
        truths = _places(("false", "true"), levels)
        nothing = np.zeros(0, np.int64)
        return KeyLevels(number, levels, [nothing] * len(chunks), BITS, truths, 0)
    known: dict[bytes, Ints] = {}
    dictionaries = []
    for chunk in chunks:
        entries, count = _dictionary(kernel, file, chunk)
        content = bytes(entries)
        if content not in known:
            known[content] = _places(_values(content, count, plain_kind, kind), levels)
        dictionaries.append(known[content])
    base, integers = _plain_integers(chunks, plain_kind)
    return KeyLevels(number, levels, dictionaries, plain_kind, _places(integers, levels), base)


def _number(group: RowGroup, column: str) -> int:
    """The number of a column in a row group, which no other has, and which holds plain values."""
    (number, *others) = [
        number for number, chunk in enumerate(group.chunks) if chunk.leaf.path[0] == column
    ]
    leaf = group.chunks[number].leaf
    if others or leaf.repeats or len(leaf.path) > 1:
        raise NotServed
    return number


def _places(levels: Iterable[Level], known: dict[Level, int]) -> Ints:
    """The place of each level among those that are known, to which it is added."""
    places = np.array([known.setdefault(level, len(known)) for level in levels], dtype=np.int64)
    if len(known) > _MOST_LEVELS:
        raise NotServed
    return places


def _dictionary(kernel: ModuleType, file: int, chunk: Chunk) -> tuple[Buffer, int]:
    """The entries of the dictionary of a chunk, and how many; none where its values are plain."""
    if not chunk.encodings & _BY_DICTIONARY:
        return b"", 0
    content = read_bytes(file, chunk.start, min(chunk.stop, chunk.start + _FIRST_BYTES))
    try:
        header = Header(*kernel.first_header(content))
    except ValueError as error:
        raise NotServed from error
    if header.kind != DICTIONARY:
        return b"", 0
    if header.values > _MOST_LEVELS:
        raise NotServed
    end = chunk.start + header.start + header.size
    if end > chunk.stop:
        raise DamagedPage
    if end - chunk.start > len(content):
        content = read_bytes(file, chunk.start, end)
    return dictionary_page(content, header, chunk)


def _values(content: bytes, count: int, plain_kind: int, kind: str) -> list[str]:
    """The entries of a dictionary as levels are written."""
    if plain_kind == NO_PLAIN:
        return _texts(content, count)
    if len(content) != count * np.dtype(_NUMBERS[plain_kind]).itemsize:
        raise DamagedPage
    numbers = np.frombuffer(content, dtype=_NUMBERS[plain_kind])
    limits = np.iinfo(kind)
    if count and not limits.min <= numbers.min() <= numbers.max() <= limits.max:
        raise NotServed
    return [str(number) for number in numbers.tolist()]


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
    """The smallest plain integer, and all up to the largest, as the statistics tell them.

    Whatever lies beyond them the kernel does not serve, so nobody need believe them. Where all row
    groups have dictionaries, none is expected.
    """
    plain = [chunk for chunk in chunks if not chunk.encodings & _BY_DICTIONARY]
    if not plain:
        return 0, []
    if plain_kind == NO_PLAIN:
        raise NotServed
    extremes = [_extremes(chunk, _NUMBERS[plain_kind]) for chunk in plain]
    low, high = min(low for low, _ in extremes), max(high for _, high in extremes)
    if not 0 <= high - low < _MOST_LEVELS:
        raise NotServed
    return low, [str(number) for number in range(low, high + 1)]


def _extremes(chunk: Chunk, form: str) -> tuple[int, int]:
    """The smallest and the largest integer of a chunk."""
    size = np.dtype(form).itemsize
    if chunk.extremes is None or any(len(value) != size for value in chunk.extremes):
        raise NotServed
    low, high = (int(np.frombuffer(value, dtype=form)[0]) for value in chunk.extremes)
    return low, high
