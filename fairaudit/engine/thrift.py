"""Thrift's compact protocol, in which Parquet writes its footer and the headers of its pages.

Whatever is given is read as plain values by field number; no length in it is believed beyond the
bytes that are there. https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Value: TypeAlias = "bool | int | bytes | list[Value] | dict[int, Value] | None"
Struct: TypeAlias = Mapping[int, Value]

_DEEPEST = 32
_WIDEST = 63
"""The last group of seven bits in a number of 64 is shifted by so much."""

_TRUE, _FALSE, _BYTE, _I16, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = (
    1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12,
)  # fmt: skip
_LARGE = 15
"""A list of fewer elements has its size in its first byte."""


class Malformed(ValueError):
    """These bytes are no struct."""


class Ended(Malformed):
    """The bytes end before the struct does."""


def struct(data: bytes, at: int = 0) -> tuple[dict[int, Value], int]:
    """The struct that begins there, and where it ends; raises `Malformed` where none does."""
    try:
        return _struct(data, at, 0)
    except IndexError as error:
        raise Ended from error


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Value], int]:
    # There is one for each page of a file: numbers, which most fields are, are read right here.
    found: dict[int, Value] = {}
    field = 0
    while head := data[at]:
        at += 1
        kind = head & 15
        if head >> 4:
            field += head >> 4
        else:
            field, at = _signed(data, at)
        if _I16 <= kind <= _I64:
            number = data[at]
            at += 1
            if number > 127:
                number, at = _number(data, at - 1)
            found[field] = (number >> 1) ^ -(number & 1)
        elif _TRUE <= kind <= _FALSE:
            found[field] = kind == _TRUE
        else:
            found[field], at = _value(kind, data, at, depth + 1)
    return found, at + 1


def _value(kind: int, data: bytes, at: int, depth: int) -> tuple[Value, int]:
    """A value that is no field's number or truth."""
    if depth > _DEEPEST:
        raise Malformed
    if kind == _BINARY:
        size, at = _number(data, at)
        return _bytes(data, at, size)
    if kind == _STRUCT:
        return _struct(data, at, depth)
    if kind in {_LIST, _SET}:
        return _list(data, at, depth)
    if kind == _MAP:
        return _map(data, at, depth)
    if kind == _DOUBLE:
        return _bytes(data, at, 8)
    if _I16 <= kind <= _I64:
        return _signed(data, at)
    if kind in {_TRUE, _FALSE, _BYTE}:
        return data[at], at + 1
    raise Malformed


def _list(data: bytes, at: int, depth: int) -> tuple[Value, int]:
    size, kind = data[at] >> 4, data[at] & 15
    at += 1
    if size == _LARGE:
        size, at = _number(data, at)
    _has(data, at, size)
    found: list[Value] = []
    for _ in range(size):
        one, at = _value(kind, data, at, depth + 1)
        found.append(one)
    return found, at


def _map(data: bytes, at: int, depth: int) -> tuple[None, int]:
    """Passes over a map: Parquet has none."""
    size, at = _number(data, at)
    if size:
        kinds, at = data[at], at + 1
        _has(data, at, size)
        for _ in range(size):
            _, at = _value(kinds >> 4, data, at, depth + 1)
            _, at = _value(kinds & 15, data, at, depth + 1)
    return None, at


def _bytes(data: bytes, at: int, size: int) -> tuple[bytes, int]:
    _has(data, at, size)
    return data[at : at + size], at + size


def _has(data: bytes, at: int, size: int) -> None:
    """Refuses what is longer than the bytes that are left: an element takes one at least."""
    if size > len(data) - at:
        raise Ended


def _signed(data: bytes, at: int) -> tuple[int, int]:
    number, at = _number(data, at)
    return (number >> 1) ^ -(number & 1), at


def _number(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, _WIDEST + 1, 7):
        byte = data[at]
        at += 1
        found |= (byte & 127) << shift
        if byte < 128:
            return found, at
    raise Malformed
