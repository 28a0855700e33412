"""The columns of a Parquet file as small integer codes, and the level that each code stands for.

Texts are read as the dictionary codes they are stored as, and never turned into texts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from fairaudit.plan import MISSING, Key, Plan

Level = str | int | None
"""A text level (None: null), or the code of an interval of a cut number."""

_MOST_LEVELS = 2**16


class NotServed(Exception):
    """This file is for the other route."""


class Axis:
    """A key of the plan while one row group is read: a code for each row, a level for each code."""

    def __init__(self, key: Key, kind: pa.DataType, plan: Plan) -> None:
        self.levels: tuple[Level, ...] = ()
        self._has_null = key.edges is not None
        self._null = None if key.edges is None else MISSING
        self._known: list[Level] = []
        self._named = 0, False
        self._dictionary: pa.Array | None = None
        self._range = range(0)
        self._edges = key.edges or ()
        self._read: Callable[[pa.Array], NDArray[np.integer]]
        if key.edges is not None:
            if not _is_number(kind) or _means_missing_by_number(key, plan):
                raise NotServed
            self._read = self._intervals
            self._known = [*range(len(key.edges) + 1)]
        elif pa.types.is_boolean(kind):
            self._read = _truths
            self._known = ["false", "true"]
        elif _is_whole(kind):
            self._read = self._integers
        elif _is_text(kind.value_type if pa.types.is_dictionary(kind) else kind):
            self._read = self._texts
        else:
            raise NotServed

    def codes(self, array: pa.Array) -> NDArray[np.integer]:
        """The codes of a batch, by `levels` as they are then; a null has the last one."""
        self._has_null |= array.null_count > 0
        codes = self._read(array)
        if (id(self._known), self._has_null) != self._named:
            self._named = id(self._known), self._has_null
            self.levels = (*self._known, *([self._null] if self._has_null else []))
        if len(self.levels) > _MOST_LEVELS:
            raise NotServed
        return np.where(_valid(array), codes, len(self.levels) - 1) if array.null_count else codes

    def _texts(self, array: pa.Array) -> NDArray[np.integer]:
        if self._dictionary is None or not array.dictionary.equals(self._dictionary):
            self._dictionary = array.dictionary
            self._known = self._dictionary.to_pylist()
            if None in self._known or len(set(self._known)) < len(self._known):
                raise NotServed
        codes = _numbers(array.indices)
        valid = codes[_valid(array)] if array.null_count else codes
        # As numbers without a sign, those below 0 are the largest.
        unsigned = valid.view(f"u{valid.dtype.itemsize}")
        if unsigned.size and int(unsigned.max()) >= len(self._known):
            raise pa.ArrowInvalid("a code without a level")
        return codes

    def _integers(self, array: pa.Array) -> NDArray[np.integer]:
        numbers = _numbers(array).astype(np.int64)
        if array.null_count:
            numbers = np.where(_valid(array), numbers, numbers[_valid(array)].max(initial=0))
        if len(numbers):
            low, high = int(numbers.min()), int(numbers.max()) + 1
            if self._range:
                low, high = min(low, self._range.start), max(high, self._range.stop)
            if high - low > _MOST_LEVELS:
                raise NotServed
            if range(low, high) != self._range:
                self._range = range(low, high)
                self._known = list(map(str, self._range))
        return numbers - self._range.start

    def _intervals(self, array: pa.Array) -> NDArray[np.integer]:
        """Numbers cut at the edges as the Polars route cuts them; NaN is missing like a null."""
        numbers = _numbers(array)
        if numbers.dtype != np.float32:
            numbers = numbers.astype(np.float64, copy=False)
        codes = np.zeros(len(numbers), dtype=np.int16)
        for edge in self._edges:
            # A Float32 column is cut at the nearest Float32: 0.7 as it is stored is not below 0.7.
            cut = numbers.dtype.type(edge.value)
            codes += numbers > cut if edge.beyond else numbers >= cut
        codes[np.isnan(numbers)] = len(self._edges) + 1
        return codes


def floats(array: pa.Array) -> NDArray[np.float64]:
    """A column of numbers without nulls; anything else is not served."""
    if array.null_count or not _is_number(array.type):
        raise NotServed
    return _numbers(array).astype(np.float64, copy=False)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_float64(kind) or pa.types.is_float32(kind) or _is_whole(kind))


def _is_whole(kind: pa.DataType) -> bool:
    """Whether it is an integer that 64 bits with a sign hold."""
    return bool(pa.types.is_integer(kind) and not pa.types.is_uint64(kind))


def _means_missing_by_number(key: Key, plan: Plan) -> bool:
    """Whether a declared word for missing, such as -999, is a number itself."""
    words = [*plan.tokens, *plan.unknown.get(key.column, ())]
    return any(is_finite_number(word) for word in words)


def is_finite_number(word: str) -> bool:
    """Whether a text is a number."""
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _numbers(array: pa.Array) -> NDArray[Any]:
    """The numbers of an array without copying; what lies under nulls is arbitrary."""
    dtype = np.dtype(array.type.to_pandas_dtype())
    found = np.frombuffer(array.buffers()[1], dtype=dtype)
    return found[array.offset : array.offset + len(array)]


def _truths(array: pa.Array) -> NDArray[np.uint8]:
    return _bits(array.buffers()[1], array)


def _valid(array: pa.Array) -> NDArray[np.bool_]:
    """Which entries are no nulls."""
    indexed = array.indices if pa.types.is_dictionary(array.type) else array
    return _bits(indexed.buffers()[0], indexed).astype(np.bool_)


def _bits(buffer: pa.Buffer, array: pa.Array) -> NDArray[np.uint8]:
    """The bits of a buffer that belong to the entries of an array."""
    bits = np.unpackbits(np.frombuffer(buffer, dtype=np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)]
