"""Parquet's column types, named as Arrow names them, from the footer alone: Arrow is slow to load.

A file says how a column is stored and what that means; one that Arrow wrote holds its own schema,
too. Only types on which both agree are named: of any other Arrow itself is asked.
https://github.com/apache/parquet-format/blob/master/LogicalTypes.md,
https://github.com/apache/arrow/blob/main/format/Schema.fbs
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from fairaudit.counting.sources.thrift import Struct

Columns: TypeAlias = tuple[tuple[str, str], ...]
"""The name of each column, and its type."""

_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE, _BYTES = 0, 1, 2, 4, 5, 6
_PLAIN = {
    _BOOLEAN: "bool",
    _INT32: "int32",
    _INT64: "int64",
    _FLOAT: "float",
    _DOUBLE: "double",
    _BYTES: "binary",
}
"""The types of columns without annotation, by their physical type."""

_CONVERTED = {
    (_BYTES, 0): "string",
    (_INT32, 6): "date32[day]",
    (_INT32, 11): "uint8",
    (_INT32, 12): "uint16",
    (_INT32, 13): "uint32",
    (_INT64, 14): "uint64",
    (_INT32, 15): "int8",
    (_INT32, 16): "int16",
    (_INT32, 17): "int32",
    (_INT64, 18): "int64",
}
"""The types of columns by their physical and their converted type, the older annotation."""

_LOGICAL_ALONE = frozenset({5, 9, 10})
"""The converted types of decimals and times: only the logical type says all of them."""

_STRING, _DECIMAL, _DATE, _TIMESTAMP, _INTEGER = 1, 5, 6, 8, 10
"""Logical types, the newer annotation."""

_MOST_DIGITS = 38
_UNITS = ("s", "ms", "us", "ns")
_SCHEMA, _EXTENSION = b"ARROW:schema", "ARROW:extension:name"

_OF_INTEGERS, _OF_FLOATS, _OF_DECIMALS, _OF_DATES, _OF_TIMES = 2, 3, 7, 8, 10
_SIMPLE = {4: "binary", 5: "string", 6: "bool", 20: "large_string"}
"""Types in Arrow's schema: those with details, and the others."""


class _Unknown(Exception):
    """Something on which Arrow has to be asked."""


def name_types(schema: Sequence[Struct], metadata: Sequence[Struct]) -> Columns | None:
    """The columns of a footer, from the elements of its schema; None where Arrow has to be asked.

    `metadata` are its keys and values, among which may be the schema as Arrow wrote it.
    """
    written = [entry.get(2) for entry in metadata if entry.get(1) == _SCHEMA]
    try:
        stored = [_name_stored(element) for element in schema[1:]]
        if not written:
            return tuple(stored)
        if len(written) > 1 or not isinstance(written[0], bytes):
            return None
        fields = _read_fields(base64.b64decode(written[0], validate=True))
        pairs = zip(stored, fields, strict=True)
        return tuple((name, _agree(name, kind, field)) for (name, kind), field in pairs)
    except (_Unknown, struct.error, ValueError, TypeError, IndexError):
        return None  # or damaged, as Arrow will say


def _name_stored(element: Struct) -> tuple[str, str]:
    """The name of a column, and its type as Parquet tells it."""
    name, physical, converted, logical = (element.get(key) for key in (4, 1, 6, 10))
    is_list, is_struct = element.get(3) == 2, 5 in element
    if is_list or is_struct or not isinstance(name, bytes) or not isinstance(physical, int):
        raise _Unknown
    by_converted = None if converted is None else _CONVERTED.get((physical, converted))  # type: ignore[arg-type]  # another type is in no table
    if logical is None:
        kind = _PLAIN.get(physical) if converted is None else by_converted
    else:
        kind = _name_logical(physical, logical)
        if by_converted != kind and converted is not None and converted not in _LOGICAL_ALONE:
            raise _Unknown
    if kind is None:
        raise _Unknown
    return name.decode(), kind


def _name_logical(physical: int, logical: object) -> str | None:
    """The type of a column by its logical type."""
    if not isinstance(logical, dict) or len(logical) != 1:
        return None
    ((key, more),) = logical.items()
    if not isinstance(more, dict):
        return None
    if key == _INTEGER:
        bits, is_signed = more.get(1), more.get(2)
        kind = f"{'' if is_signed else 'u'}int{bits}"
        fits = (physical == _INT32 and bits in {8, 16, 32}) or (physical == _INT64 and bits == 64)
        return kind if fits else None
    if key == _DECIMAL:
        scale, digits = more.get(1), more.get(2)
        if isinstance(scale, int) and isinstance(digits, int) and 0 < digits <= _MOST_DIGITS:
            return f"decimal128({digits}, {scale})"
    if key == _TIMESTAMP and physical == _INT64:
        unit = more.get(2)
        if isinstance(unit, dict) and len(unit) == 1 and {*unit} <= {1, 2, 3}:
            return f"timestamp[{_UNITS[next(iter(unit))]}{', tz=UTC' if more.get(1) else ''}]"
    return {(_STRING, _BYTES): "string", (_DATE, _INT32): "date32[day]"}.get((key, physical))


class _Field(NamedTuple):
    """A column in Arrow's schema: its name, its type, and of a dictionary that of its indices."""

    name: str
    type: str
    indices: str


def _agree(name: str, stored: str, field: _Field) -> str:
    """The type of a column, of which Parquet says one and Arrow's schema another."""
    kind = field.type
    is_same = kind == stored or kind.partition(", tz=")[0] + ", tz=UTC]" == stored
    if field.name != name or not (is_same or (stored, kind) == ("string", "large_string")):
        raise _Unknown
    if not field.indices:
        return kind
    if stored != "string":
        raise _Unknown
    return f"dictionary<values={stored}, indices={field.indices}, ordered=0>"


class _Table(NamedTuple):
    """A table of a flat buffer, by where it stands; https://flatbuffers.dev/internals/."""

    data: bytes
    place: int

    def find(self, field: int) -> int | None:
        """Where a field stands; None where it has its default."""
        vtable = self.place - self._number("<i", self.place)
        if 4 + 2 * field >= self._number("<H", vtable):
            return None
        offset = self._number("<H", vtable + 4 + 2 * field)
        return self.place + offset if offset else None

    def number(self, field: int, form: str, default: int = 0) -> int:
        """A number."""
        place = self.find(field)
        return default if place is None else self._number(form, place)

    def table(self, field: int) -> _Table:
        """Another table."""
        place = self.find(field)
        if place is None:
            raise _Unknown
        return _Table(self.data, self._follow(place))

    def tables(self, field: int) -> list[_Table]:
        """A list of tables."""
        start = self._vector(field)
        if start is None:
            return []
        size = self._number("<I", start)
        if size > len(self.data):
            raise _Unknown
        places = range(start + 4, start + 4 + 4 * size, 4)
        return [_Table(self.data, self._follow(place)) for place in places]

    def text(self, field: int) -> str:
        """A text; nothing where there is none."""
        start = self._vector(field)
        if start is None:
            return ""
        end = start + 4 + self._number("<I", start)
        if end > len(self.data):
            raise _Unknown
        return self.data[start + 4 : end].decode()

    def _vector(self, field: int) -> int | None:
        place = self.find(field)
        return None if place is None else self._follow(place)

    def _follow(self, place: int) -> int:
        return place + self._number("<I", place)

    def _number(self, form: str, place: int) -> int:
        if place < 0:
            raise _Unknown
        (number,) = struct.unpack_from(form, self.data, place)
        return int(number)


def _read_fields(message: bytes) -> list[_Field]:
    """The columns of Arrow's schema, from a message as its streams have it."""
    marker, size = struct.unpack_from("<iI", message)
    if marker != -1 or 8 + size > len(message):
        raise _Unknown
    body = message[8 : 8 + size]
    (root,) = struct.unpack_from("<I", body)
    header = _Table(body, root)
    schema = header.table(2)
    if header.number(1, "<B") != 1 or schema.number(0, "<h"):
        raise _Unknown  # no schema, or numbers the other way round
    return [_read_field(field) for field in schema.tables(1)]


def _read_field(field: _Table) -> _Field:
    """A column whose type this module names."""
    if any(entry.text(0) == _EXTENSION for entry in field.tables(6)):
        raise _Unknown
    kind, details, indices = field.number(2, "<B"), field.table(3), ""
    if field.find(4) is not None:
        dictionary = field.table(4)
        if dictionary.number(2, "<B"):
            raise _Unknown  # its levels have an order
        indices = _name_integers(dictionary.table(1))
    name = _SIMPLE.get(kind, "")
    if kind == _OF_INTEGERS:
        name = _name_integers(details)
    elif kind == _OF_FLOATS:
        name = {1: "float", 2: "double"}.get(details.number(0, "<h"), "")
    elif kind == _OF_DECIMALS:
        bits = details.number(2, "<i", 128)
        name = f"decimal{bits}({details.number(0, '<i')}, {details.number(1, '<i')})"
    elif kind == _OF_DATES:
        name = "" if details.number(0, "<h", 1) else "date32[day]"
    elif kind == _OF_TIMES:
        zone = details.text(1)
        name = f"timestamp[{_UNITS[details.number(0, '<h')]}{zone and f', tz={zone}'}]"
    return _Field(field.text(0), name, indices)


def _name_integers(details: _Table) -> str:
    bits, is_signed = details.number(0, "<i"), details.number(1, "<B")
    return f"{'' if is_signed else 'u'}int{bits}"
