"""Reads values of a spec by the annotations of the record that declares their keys.

The type of a field says how its value is read: scalars as in `SCALARS`, words (`Literal`, an enum)
by look-up, and lists, mappings and further records part by part. A `Reader` replaces the reader of
the type, and `Short` adds short forms. `fairaudit schema` reads the same annotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

from fairaudit.base.arrays import LARGEST_WHOLE
from fairaudit.base.errors import MOST_FAULTS
from fairaudit.base.frozen import Frozen, fields
from fairaudit.spec.text import UNWRITTEN, Document, LocatedText, Path

JsonSchema: TypeAlias = Mapping[str, Any]

DIGITS = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?"
NUMBER = re.compile(DIGITS, re.ASCII)
_LONGEST = 400
"""The maximum length of a number: exact arithmetic with a million digits would take for ever."""


class Reader(Frozen, eq=False):
    """The function that reads a value, and the JSON Schema of the values that it accepts.

    `read` raises `ValueError`, which says what is expected, for a value that it refuses. Without
    `read` the type reads the value.
    """

    read: Callable[[Any], object] | None
    described: JsonSchema


class Short(Frozen, eq=False):
    """Short forms of a value: `expand` writes them out, and the type reads the result.

    `expand` raises `ValueError` like `Reader.read`. `forms` are the JSON Schemas of these forms;
    `ITEM` is the schema of an item of the list.
    """

    expand: Callable[[Any], object]
    forms: tuple[JsonSchema, ...] = ()


ITEM: JsonSchema = {}
_COLUMN = "a column of the data"
ColumnName: TypeAlias = Annotated[LocatedText, _COLUMN]
"""The name of a column, whose places are kept for messages about the column."""


class Kind(StrEnum):
    """The kind of an error in a value or a key."""

    UNKNOWN_KEY = "unknown key"
    MISSING_KEY = "missing key"
    NO_MAPPING = "a mapping"
    NO_LIST = "a list"
    NO_CHOICE = "none of the words"
    REFUSED = "refused by its reader"


class SchemaError(Frozen):
    """A key or a `value` that does not fit its record: it is not one of `words`, or they say why.

    `path` leads there from the root of the document.
    """

    path: Path
    kind: Kind
    value: object = None
    words: tuple[str, ...] = ()


Record = TypeVar("Record", bound=Frozen)
Mark = TypeVar("Mark", Reader, Short)
Errors: TypeAlias = list[SchemaError]
Read: TypeAlias = Callable[[Any, Path, Document, Errors], Any]


def marks_of(annotation: object, kind: type[Mark]) -> list[Mark]:
    """The marks of a kind next to the type of an annotation."""
    marks = getattr(annotation, "__metadata__", ())
    return [mark for mark in marks if isinstance(mark, kind)]


def read_record(
    record: type[Record], value: object, path: Path, document: Document, errors: Errors
) -> Record | None:
    """The record that a mapping describes; useless if something was added to `errors`."""
    if not isinstance(value, dict):
        errors.append(SchemaError(path, Kind.NO_MAPPING, value))
        return None
    keys, values = {field.encode_name: field for field in fields(record)}, {}
    for key, field in keys.items():
        if key in value:
            read = reader_of(field.type)
            step = key.removeprefix(UNWRITTEN)
            inner = (*path, step) if step else path
            values[field.name] = read(value[key], inner, document, errors)
        elif field.required:
            errors.append(SchemaError((*path, key), Kind.MISSING_KEY))
            values[field.name] = None
    unknown = [key for key in value if key not in keys]
    errors += [SchemaError((*path, key), Kind.UNKNOWN_KEY) for key in unknown]
    return record(**values)


@cache
def reader_of(annotation: Any) -> Read:  # noqa: ANN401  # any annotation
    """The function that reads a value of an annotated key."""
    origin, parts = get_origin(annotation), get_args(annotation)
    readers = marks_of(annotation, Reader)
    for reader in [SCALARS[annotation]] if annotation in SCALARS else readers:
        if reader.read is not None:
            return partial(_read_scalar, reader.read)
    if origin is Annotated:
        read = _read_column if _COLUMN in parts else reader_of(parts[0])
        for short in marks_of(annotation, Short):
            read = partial(_read_short, short.expand, read)
        return read
    if origin in {Union, UnionType}:
        (inner,) = [reader_of(part) for part in parts if part is not NoneType]
        return lambda value, *where: None if value is None else inner(value, *where)
    if origin is Literal:
        return partial(_look_up, {str(word): word for word in parts}.__getitem__, parts)
    if origin in {list, tuple, dict}:
        return partial(_read_parts, origin, reader_of(parts[1 if origin is dict else 0]))
    if issubclass(annotation, Enum):
        return partial(_look_up, annotation, (*annotation,))
    return _read_located if annotation is LocatedText else partial(read_record, annotation)


def _read_scalar(
    read: Callable[[object], object], value: object, path: Path, _document: Document, errors: Errors
) -> object:
    try:
        return read(value)
    except ValueError as error:
        errors.append(SchemaError(path, Kind.REFUSED, value, (str(error),)))
        return None


def _read_located(value: object, path: Path, document: Document, errors: Errors) -> LocatedText:
    text = _read_scalar(read_text, value, path, document, errors)
    return document.text(path, str(text))


def _read_column(value: object, path: Path, document: Document, errors: Errors) -> LocatedText:
    return document.column(_read_located(value, path, document, errors))


def _read_short(
    expand: Callable[[object], object],
    read: Read,
    value: object,
    path: Path,
    document: Document,
    errors: Errors,
) -> object:
    try:
        written_out = expand(value)
    except ValueError as error:
        errors.append(SchemaError(path, Kind.REFUSED, value, (str(error),)))
        return None
    return read(written_out, path, document, errors)


def _look_up(
    find: Callable[[str], object],
    known: tuple[object, ...],
    value: object,
    path: Path,
    _document: Document,
    errors: Errors,
) -> object:
    """The meaning of a word; an enum may also know former words."""
    try:
        return find(value if isinstance(value, str) else "")
    except (KeyError, ValueError):
        errors.append(SchemaError(path, Kind.NO_CHOICE, value, tuple(map(str, known))))
        return None


def _read_parts(
    kind: type, read: Read, value: object, path: Path, document: Document, errors: Errors
) -> object:
    """Each item of a list, or each value of a mapping."""
    if not isinstance(value, dict if kind is dict else list):
        errors.append(SchemaError(path, Kind.NO_MAPPING if kind is dict else Kind.NO_LIST, value))
        return None
    parts = {
        step: read(part, (*path, step), document, errors)
        for step, part in (value.items() if isinstance(value, dict) else enumerate(value))
        if len(errors) < MOST_FAULTS
    }
    return parts if kind is dict else kind(parts.values())


def read_text(value: object) -> str:
    """A text; raises `ValueError` for a list, a mapping and an empty value."""
    if value is None:
        raise ValueError("expected a text, found nothing; write '' for an empty text")
    if not isinstance(value, str):
        kind = "a list" if isinstance(value, list) else "a mapping"
        message = f"expected a text, found {kind}; use quotes to make it a text"
        raise ValueError(message)  # noqa: TRY004  # readers raise ValueError
    return value


def read_number(value: object) -> Decimal:
    """A number as it is written; raises `ValueError` for other texts and for too large numbers."""
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        is_percentage = isinstance(value, str) and value.endswith("%")
        hint = "; write 0.8 for 80 %" if is_percentage else ""
        raise ValueError(f"expected a number, such as 0.8{hint}")
    if len(value) > _LONGEST:
        raise ValueError(f"a number has at most {_LONGEST} digits")
    number = Decimal(value)
    if abs(float(number)) > LARGEST_WHOLE:
        raise ValueError(f"this number is too large: the maximum is {LARGEST_WHOLE:,}")
    return number


def _read_share(value: object) -> Fraction:
    text = value.strip() if isinstance(value, str) else ""
    digits = text.removesuffix("%").strip()
    if not NUMBER.fullmatch(digits):
        raise ValueError("expected a share of the people, such as 3% or 0.03")
    share = Fraction(read_number(digits)) / (100 if text.endswith("%") else 1)
    if not 0 < share < 1:
        raise ValueError("a share of the people must be between 0 and 1, or 0% and 100%")
    return share


def _read_whole(value: object) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,15}", value):
        raise ValueError("expected a whole number")
    return int(value)


def _read_flag(value: object) -> bool:
    if not isinstance(value, str) or value not in {"true", "false"}:
        raise ValueError("expected true or false")
    return value == "true"


def _read_day(value: object) -> date:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value):
        raise ValueError("expected a date, such as 2026-03-31")
    try:
        return date.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value} is not a date") from None


SCALARS = {
    str: Reader(read_text, {"type": ["string", "number", "boolean"]}),
    Decimal: Reader(read_number, {"type": "number"}),
    Fraction: Reader(_read_share, {"type": ["string", "number"]}),
    int: Reader(_read_whole, {"type": "integer"}),
    bool: Reader(_read_flag, {"type": "boolean"}),
    date: Reader(_read_day, {"type": "string"}),
}
"""The readers of scalar types. A `Fraction` is a share of the people, and may be a percentage."""
