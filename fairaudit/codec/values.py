"""How single values, lists and mappings are written as JSON, read back, and described."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple, NoReturn, TypeAlias

from fairaudit.disclosure_marks import Subjects
from fairaudit.estimate import State, state_of
from fairaudit.json_marks import Unreadable
from fairaudit.notice import Notice

Tree: TypeAlias = dict[str, Any]
Schema: TypeAlias = dict[str, Any]

NUMBERS = {
    State.UNDEFINED: math.nan,
    State.INFINITE: math.inf,
    State.NEGATIVE_INFINITE: -math.inf,
}
"""The states of numbers that JSON does not have."""

_PATTERNS = {
    Decimal: r"^-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?$",
    Fraction: r"^-?\d{1,4200}(/0*[1-9]\d{0,4200})?$",
}
_LARGEST = 2**256
"""No count is larger, and floats hold it."""

_LONGEST = 40
"""Of a value that cannot be read, so many characters are quoted."""

_MOST_BITS = 10_000
"""The digits of a longer fraction would fill pages."""


class Kind(NamedTuple):
    """How values of a type are written, read back (or `Unreadable` is raised), and described."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    schema: Schema


def refuse(tree: Any, why: str, path: Sequence[str | int] = ()) -> NoReturn:
    """Raises `Unreadable` of a value, or of what stands at a path in it, quoting that."""
    for step in path:
        tree = tree[step]
    quoted = json.dumps(tree, ensure_ascii=False, default=str)
    text = quoted if len(quoted) <= _LONGEST else quoted[:_LONGEST] + "…"
    raise Unreadable(f"{why}: {text}", *path)


def check_object(tree: Any) -> None:
    """Raises `Unreadable` of what is no object."""
    if not isinstance(tree, dict):
        refuse(tree, "is no object")


def read_member(tree: Any, name: str, read: Callable[[Any], Any]) -> Any:
    """What is read of a member that has to be there."""
    check_object(tree)
    if name not in tree:
        raise Unreadable("is missing", name)
    return read_item(tree, name, read)


def read_item(tree: Any, step: str | int, read: Callable[[Any], Any]) -> Any:
    """What is read of a member or of an entry of a list; a fault says which."""
    try:
        return read(tree[step])
    except Unreadable as fault:
        raise fault.within(step) from None


def unchanged(value: Any) -> Any:
    """A value that JSON has; what is written so can be copied with others at once."""
    return value


def _scalar(
    schema: Schema,
    why: str,
    types: tuple[type, ...] = (str,),
    convert: Callable[[Any], Any] = unchanged,
    write: Callable[[Any], Any] = unchanged,
) -> Kind:
    """A single value; `why` is said of what is of no such type, or cannot be converted."""

    def read(tree: Any) -> Any:
        try:
            return convert(tree) if type(tree) in types else refuse(tree, why)
        except ValueError:
            refuse(tree, why)

    return Kind(write, read, schema)


def integer(least: int | None) -> Kind:
    """A whole number, of `least` or more where that is set."""
    schema = {"type": "integer"} | ({} if least is None else {"minimum": least})
    why = "is no whole number" + ("" if least is None else f" from {least} on")
    return _scalar(schema, why, (int,), lambda tree: _checked(tree, least))


def _checked(tree: float, least: int | None = None) -> float:
    """The same number; raises `ValueError` where it is none, or out of bounds."""
    is_large = abs(tree) > _LARGEST if type(tree) is int else not math.isfinite(tree)
    if is_large or (least is not None and tree < least):
        raise ValueError(tree)
    return tree


def choice(words: type[Enum]) -> Kind:
    """A word of an enumeration, or a former name that it knows."""
    values = [word.value for word in words]
    why = f"is none of {', '.join(values)}"
    return _scalar({"enum": values}, why, convert=words, write=attrgetter("_value_"))


def exact(number: type[Decimal | Fraction]) -> Kind:
    """A decimal as it was written, or a fraction p/q, as text; None where it is too long."""
    match = re.compile(_PATTERNS[number]).fullmatch

    def convert(tree: str) -> Any:
        if match(tree) is None:
            raise ValueError(tree)
        return number(tree)

    def write(value: Any) -> object:
        is_long = isinstance(value, Fraction) and value.denominator.bit_length() > _MOST_BITS
        return None if is_long else str(value)

    schema = {"type": "string", "pattern": _PATTERNS[number]}
    return _scalar(schema, f"is no {number.__name__.lower()}", convert=convert, write=write)


def maybe(kind: Kind) -> Kind:
    """A value, or null."""
    schema, write = kind.schema, kind.write
    is_simple = isinstance(schema.get("type"), str) and "properties" not in schema
    return Kind(
        write if write is unchanged else lambda value: None if value is None else write(value),
        lambda tree: None if tree is None else kind.read(tree),
        {**schema, "type": [schema["type"], "null"]}
        if is_simple
        else {"anyOf": [schema, {"type": "null"}]},
    )


def several(kind: Kind, length: int | None = None) -> Kind:
    """A list, of any length if none is said."""
    write = kind.write

    def read(tree: Any) -> Any:
        if not isinstance(tree, list) or (length is not None and len(tree) != length):
            refuse(tree, "is no list" if length is None else f"is no list of {length}")
        return tuple([read_item(tree, index, kind.read) for index in range(len(tree))])

    size = {} if length is None else {"minItems": length, "maxItems": length}
    schema = {"type": "array", "items": kind.schema, **size}
    return Kind(
        list if write is unchanged else lambda value: [write(item) for item in value], read, schema
    )


def named(kind: Kind, *, pairs: bool) -> Kind:
    """An object whose members are named by the data: a mapping, or pairs such as a group's."""

    def write(value: Any) -> object:
        return {str(name): kind.write(item) for name, item in dict(value).items()}

    def read(tree: Any) -> Any:
        check_object(tree)
        items = {name: read_item(tree, name, kind.read) for name in tree}
        return tuple(items.items()) if pairs else items

    schema = {"type": "object", "additionalProperties": kind.schema}
    return Kind(dict if pairs and kind.write is unchanged else write, read, schema)


TEXT = _scalar({"type": "string"}, "is no text")
NUMBER = _scalar({"type": "number"}, "is no number", (int, float), _checked)
STATE = choice(State)
_TEXTS, _BY_NAME = several(TEXT), named(NUMBER, pairs=False)


def _write_listed(value: float) -> object:
    return value if math.isfinite(value) else state_of(value).value


def _read_listed(tree: Any) -> Any:
    is_word = isinstance(tree, str)
    return NUMBERS.get(STATE.read(tree), math.nan) if is_word else NUMBER.read(tree)


def _read_anything(tree: Any) -> Any:
    if isinstance(tree, list):
        return [*_TEXTS.read(tree)]
    kind = TEXT if isinstance(tree, str) else _BY_NAME if isinstance(tree, dict) else NUMBER
    return kind.read(tree)


_DATE = {"type": "string", "format": "date"}
KINDS = {
    str: TEXT,
    bool: _scalar({"type": "boolean"}, "is neither true nor false", (bool,)),
    date: _scalar(_DATE, "is no date", convert=date.fromisoformat, write=str),
    # Read back it is of people whom a published report must not tell.
    Notice: TEXT._replace(write=str, read=lambda tree: Notice(TEXT.read(tree), Subjects.NEVER)),
    # Beside others in a list a number that JSON does not have is the word of its state.
    float: Kind(_write_listed, _read_listed, {"anyOf": [NUMBER.schema, STATE.schema]}),
    # What a spec says of itself: a text, a number, a list of texts, an object of numbers.
    object: Kind(
        lambda value: [*value] if isinstance(value, tuple) else value,
        _read_anything,
        {"anyOf": [{"type": ["string", "number"]}, _TEXTS.schema, _BY_NAME.schema]},
    ),
}
"""The kinds of types that are neither rows nor made of others."""
