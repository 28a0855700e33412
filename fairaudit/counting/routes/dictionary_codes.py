"""Parquet route: columns as dictionary codes, and the level of each code.

Texts are read as the dictionary codes they are stored as, and never turned into texts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.counting.partial_counts import Codes, Level, NotServed
from fairaudit.counting.plan import MISSING, Key, Plan
from fairaudit.counting.raw_keys import find_starts

_MOST_LEVELS = 2**16


class KeyCoder(ABC):
    """A key of the plan while a file is read: `levels` may grow, and a code is a place in them."""

    def __init__(self) -> None:
        self.levels: tuple[Level, ...] = ()

    @abstractmethod
    def codes(self, array: pa.Array) -> Codes:
        """The codes of a batch, by `levels` as they are then."""

    def _name(self, levels: tuple[Level, ...]) -> None:
        if len(levels) > _MOST_LEVELS:
            raise NotServed
        self.levels = levels


def make_coder(key: Key, kind: pa.DataType, plan: Plan) -> KeyCoder:
    """The coder of a key whose column is of that type; raises `NotServed` where there is none."""
    if key.edges is not None:
        if _is_number(kind) and not plan.missing_numbers(key.column):
            return _Intervals(key)
    elif pa.types.is_boolean(kind):
        return _Truths()
    elif _is_whole(kind):
        return _Integers()
    elif _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
        return DictionaryTexts()
    raise NotServed


class DictionaryTexts(KeyCoder):
    """Texts by the dictionary of each row group: its own levels come first, those of others after.

    So its codes need no translation; whoever counts by them brings what was counted into line.
    """

    def __init__(self) -> None:
        super().__init__()
        self._dictionary: pa.Array | None = None
        self._size = 0

    def codes(self, array: pa.Array) -> Codes:
        """The codes of a batch, by `levels` as they are then."""
        if self._dictionary is None or not array.dictionary.equals(self._dictionary):
            self._read(array.dictionary)
        codes = _numbers(array.indices)
        valid = _valid(array) if array.null_count else None
        if valid is not None:
            if None not in self.levels:
                self._name((*self.levels, None))
            # What lies under nulls is arbitrary.
            codes = np.where(valid, codes, self.levels.index(None))
        # As numbers without a sign, those below 0 are the largest.
        unsigned = (codes if valid is None else codes[valid]).view(f"u{codes.dtype.itemsize}")
        if unsigned.size and int(unsigned.max()) >= self._size:
            raise pa.ArrowInvalid("a code without a level")
        return codes

    def _read(self, dictionary: pa.Array) -> None:
        texts = dictionary.to_pylist()
        known = set(texts)
        if None in known or len(known) < len(texts):
            raise NotServed
        self._dictionary, self._size = dictionary, len(texts)
        self._name((*texts, *(level for level in self.levels if level not in known)))


class _Truths(KeyCoder):
    """Booleans."""

    def codes(self, array: pa.Array) -> Codes:
        """The codes of a batch, by `levels` as they are then."""
        self._name(("false", "true", None))
        truths = _bits(array.buffers()[1], array)
        return np.where(_valid(array), truths, 2) if array.null_count else truths


class _Integers(KeyCoder):
    """Integers that lie near each other, by their distance from the smallest; nulls before it."""

    def __init__(self) -> None:
        super().__init__()
        self._range = range(0)

    def codes(self, array: pa.Array) -> Codes:
        """The codes of a batch, by `levels` as they are then."""
        numbers = _numbers(array).astype(np.int64, copy=False)
        valid = _valid(array) if array.null_count else None
        known = numbers if valid is None else numbers[valid]
        if len(known):
            low, high = int(known.min()), int(known.max()) + 1
            if self._range:
                low, high = min(low, self._range.start), max(high, self._range.stop)
            if high - low >= _MOST_LEVELS:
                raise NotServed
            self._range = range(low, high)
        if len(self.levels) != len(self._range) + 1:
            self._name((None, *map(str, self._range)))
        if valid is not None:
            numbers = np.where(valid, numbers, self._range.start - 1)
        return numbers - (self._range.start - 1)


class _Intervals(KeyCoder):
    """Numbers cut at edges, as the Polars route cuts them; NaN is missing like a null."""

    def __init__(self, key: Key) -> None:
        super().__init__()
        self._key = key
        self._name((*range(len(key.edges or ()) + 1), MISSING))

    def codes(self, array: pa.Array) -> Codes:
        """The codes of a batch, by `levels` as they are then."""
        numbers = _numbers(array)
        starts = find_starts(self._key, single=numbers.dtype == np.float32)
        numbers = numbers.astype(np.float64, copy=False)
        codes = np.searchsorted(starts, numbers, side="right")
        missing = np.isnan(numbers)
        if array.null_count:
            missing |= ~_valid(array)
        codes[missing] = len(starts) + 1
        return codes


def different(array: pa.Array, most: int) -> set[str]:
    """The levels of a batch without the missing ones; of more than `most`, some.

    Raises `NotServed` for numbers with decimals, where they are few, and what is no column of
    levels to this route.
    """
    known = _valid(array) if array.null_count else slice(None)
    kind = array.type
    if pa.types.is_boolean(kind):
        return {
            ("false", "true")[bit] for bit in np.unique(_bits(array.buffers()[1], array)[known])
        }
    if pa.types.is_dictionary(kind) and _is_text(kind.value_type):
        used = np.unique(_numbers(array.indices)[known])[: most + 1].tolist()
        return {array.dictionary[code].as_py() for code in used}
    if not _is_number(kind):
        raise NotServed
    numbers = np.unique(_numbers(array)[known])
    numbers = numbers[~np.isnan(numbers)][: most + 1].tolist()
    if not _is_whole(kind) and len(numbers) <= most:
        raise NotServed
    return {str(number) for number in numbers}


def floats(array: pa.Array) -> NDArray[np.float64]:
    """A column of numbers without nulls; anything else is not served."""
    if array.null_count or not _is_number(array.type):
        raise NotServed
    return _numbers(array).astype(np.float64, copy=False)


def scores(array: pa.Array) -> NDArray[np.float64]:
    """A column of numbers, NaN where there is none."""
    numbers = _numbers(array).astype(np.float64)
    if array.null_count:
        numbers[~_valid(array)] = np.nan
    return numbers


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float64(kind) or pa.types.is_float32(kind) or _is_whole(kind))


def _is_whole(kind: pa.DataType) -> bool:
    """Whether it is an integer that 64 bits with a sign hold."""
    return bool(pa.types.is_integer(kind) and not pa.types.is_uint64(kind))


def _numbers(array: pa.Array) -> NDArray[Any]:
    """The numbers of an array without copying; what lies under nulls is arbitrary."""
    kind = array.type
    letter = (
        "f" if pa.types.is_floating(kind) else "u" if pa.types.is_unsigned_integer(kind) else "i"
    )
    numbers = np.frombuffer(array.buffers()[1], dtype=f"{letter}{kind.bit_width // 8}")
    return numbers[array.offset : array.offset + len(array)]


def _valid(array: pa.Array) -> NDArray[np.bool_]:
    """Which entries are no nulls."""
    indexed = array.indices if pa.types.is_dictionary(array.type) else array
    return _bits(indexed.buffers()[0], indexed).astype(np.bool_)


def _bits(buffer: pa.Buffer, array: pa.Array) -> NDArray[np.uint8]:
    """The bits of a buffer that belong to the entries of an array."""
    bits = np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)]
