"""Decoder of Thrift's compact protocol, in which Parquet writes its metadata.

Bytes are read as plain values by field number; no length is trusted beyond the given bytes.
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = "bool | int | bytes | list[Value] | dict[int, Value] | None"
Struct: TypeAlias = Mapping[int, Value]

_DEEPEST = 32
_WIDEST = 63
"""The shift of the last group of seven bits in a number of 64 bits."""

_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_LARGE = 15
"""A list of fewer elements has its size in its first byte."""


class Malformed(ValueError):
    """These bytes are not a struct, or end too early."""


def struct(data: bytes, offset: int = 0) -> tuple[dict[int, Value], int]:
    """The struct that begins there, and where it ends; raises `Malformed` where none does."""
    try:
        return _struct(data, offset, 0)
    except IndexError as error:
        raise Malformed from error


def _struct(data: bytes, offset: int, depth: int) -> tuple[dict[int, Value], int]:
    # There is one for each page of a file: numbers, which most fields are, are read right here.
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
    """A value of a field that is neither an integer nor a truth value."""
    if depth > _DEEPEST:
        raise Malformed
    if kind == _BINARY:
        size, offset = _number(data, offset)
        return _bytes(data, offset, size)
    if kind == _STRUCT:
        return _struct(data, offset, depth)
    if kind in {_LIST, _SET}:
        size, kind = data[offset] >> 4, data[offset] & 15
        offset += 1
        if size == _LARGE:
            size, offset = _number(data, offset)
        _has(data, offset, size)
        values: list[Value] = []
        for _ in range(size):
            value, offset = _value(kind, data, offset, depth + 1)
            values.append(value)
        return values, offset
    if kind == _MAP:
        return _map(data, offset, depth)
    if kind == _DOUBLE:
        return _bytes(data, offset, 8)
    if _I16 <= kind <= _I64:
        return _signed(data, offset)
    if kind in {_TRUE, _FALSE, _BYTE}:
        return data[offset], offset + 1
    raise Malformed


def _map(data: bytes, offset: int, depth: int) -> tuple[None, int]:
    """Passes over a map: Parquet has none."""
    size, offset = _number(data, offset)
    if size:
        kinds, offset = data[offset], offset + 1
        _has(data, offset, size)
        for _ in range(size):
            _, offset = _value(kinds >> 4, data, offset, depth + 1)
            _, offset = _value(kinds & 15, data, offset, depth + 1)
    return None, offset


def _bytes(data: bytes, offset: int, size: int) -> tuple[bytes, int]:
    _has(data, offset, size)
    return data[offset : offset + size], offset + size


def _has(data: bytes, offset: int, size: int) -> None:
    """Refuses what is longer than the bytes that are left: an element takes one at least."""
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
