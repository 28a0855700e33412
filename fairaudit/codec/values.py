"""How single values, lists and mappings are written as JSON, read back, and described."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, TypeAlias

from fairaudit.disclosure import Notice, Subjects
from fairaudit.estimate import State, state_of

Schema: TypeAlias = dict[str, Any]

NUMBERS = {
    State.UNDEFINED: math.nan,
    State.INFINITE: math.inf,
    State.NEGATIVE_INFINITE: -math.inf,
}
"""The states of numbers that JSON does not have."""

_PATTERNS = {
    Decimal: re.compile(r"-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?"),
    Fraction: re.compile(r"-?\d{1,4200}(/0*[1-9]\d{0,4200})?"),
}
_LARGEST = 2**256
"""No count is larger, and floats hold it."""

_LONGEST = 40
"""Of a value that cannot be read, so many characters are quoted."""

_MOST_BITS = 10_000
"""The digits of a longer fraction would fill pages."""


class Unreadable(Exception):  # it says what a member is
    """A member that cannot be read: its path, and why."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.path = ""

    def within(self, step: str | int) -> Unreadable:
        """The same, inside a member of that name or an entry of that index."""
        self.path = (f"[{step}]" if isinstance(step, int) else f".{step}") + self.path
        return self

    def __str__(self) -> str:
        return f"{self.path.lstrip('.') or 'the document'} {self.args[0]}"


class Kind(NamedTuple):
    """How values of a type are written, read back (or `Unreadable` is raised), and described."""

    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    schema: Schema


def refuse(tree: object, why: str) -> NoReturn:
    """Raises `Unreadable` of a value, quoting it."""
    quoted = json.dumps(tree, ensure_ascii=False, default=str)
    raise Unreadable(f"{why}: {quoted if len(quoted) <= _LONGEST else quoted[:_LONGEST] + '…'}")


def read_member(tree: Any, name: str, read: Callable[[Any], Any]) -> Any:
    """What is read of a member that has to be there."""
    if not isinstance(tree, dict):
        refuse(tree, "is no object")
    if name not in tree:
        raise Unreadable("is missing").within(name)
    try:
        return read(tree[name])
    except Unreadable as fault:
        raise fault.within(name) from None


def _same(value: Any) -> Any:
    return value


def _plain(cls: type, name: str, why: str) -> Kind:
    """A value that JSON has itself."""

    def read(tree: Any) -> Any:
        return tree if isinstance(tree, cls) else refuse(tree, why)

    return Kind(_same, read, {"type": name})


def integer(least: int | None) -> Kind:
    """A whole number, of `least` or more where that is set."""

    def read(tree: Any) -> Any:
        if type(tree) is not int or abs(tree) > _LARGEST:
            refuse(tree, "is no whole number")
        is_small = least is not None and tree < least
        return refuse(tree, f"is below {least}") if is_small else tree

    return Kind(_same, read, {"type": "integer"} | ({} if least is None else {"minimum": least}))


def _read_number(tree: Any) -> Any:
    if type(tree) is int:
        return _INTEGER.read(tree)
    if type(tree) is not float:
        refuse(tree, "is no number")
    return tree if math.isfinite(tree) else refuse(tree, "is no finite number")


def choice(words: type[Enum]) -> Kind:
    """A word of an enumeration, or a former name that it knows."""
    values = [word.value for word in words]

    def read(tree: Any) -> Any:
        try:
            return words(TEXT.read(tree))
        except ValueError:
            refuse(tree, f"is none of {', '.join(map(str, values))}")

    return Kind(lambda value: value.value, read, {"enum": values})


def exact(number: type[Decimal | Fraction]) -> Kind:
    """A decimal as it was written, or a fraction p/q, as text; None where it is too long."""
    pattern = _PATTERNS[number]

    def write(value: Any) -> object:
        is_long = isinstance(value, Fraction) and value.denominator.bit_length() > _MOST_BITS
        return None if is_long else str(value)

    def read(tree: Any) -> Any:
        if not pattern.fullmatch(TEXT.read(tree)):
            refuse(tree, f"is no {number.__name__.lower()}")
        return number(tree)

    return Kind(write, read, {"type": "string", "pattern": f"^{pattern.pattern}$"})


def _read_day(tree: Any) -> Any:
    try:
        return date.fromisoformat(tree)
    except (TypeError, ValueError):
        refuse(tree, "is no date")


def _read_notice(tree: Any) -> Any:
    """A notice; read back it is of people whom a published report must not tell."""
    return Notice(TEXT.read(tree), Subjects.NEVER)


def _write_listed(value: float) -> float | str:
    return value if math.isfinite(value) else state_of(value).value


def _read_listed(tree: Any) -> Any:
    is_word = isinstance(tree, str)
    return NUMBERS.get(STATE.read(tree), math.nan) if is_word else NUMBER.read(tree)


def maybe(kind: Kind) -> Kind:
    """A value, or null."""
    is_simple = isinstance(kind.schema.get("type"), str) and "properties" not in kind.schema
    schema = {**kind.schema, "type": [kind.schema["type"], "null"]} if is_simple else None
    return Kind(
        lambda value: None if value is None else kind.write(value),
        lambda tree: None if tree is None else kind.read(tree),
        schema or {"anyOf": [kind.schema, {"type": "null"}]},
    )


def several(kind: Kind, length: int | None = None) -> Kind:
    """A list, of any length if none is said."""

    def read(tree: Any) -> Any:
        if not isinstance(tree, list) or (length is not None and len(tree) != length):
            refuse(tree, "is no list" if length is None else f"is no list of {length}")
        items: list[Any] = []
        try:
            for item in tree:
                items.append(kind.read(item))  # noqa: PERF401  # a fault says where
        except Unreadable as fault:
            raise fault.within(len(items)) from None
        return tuple(items)

    size = {} if length is None else {"minItems": length, "maxItems": length}
    schema = {"type": "array", "items": kind.schema, **size}
    return Kind(lambda value: [kind.write(item) for item in value], read, schema)


def named(kind: Kind, *, pairs: bool) -> Kind:
    """An object whose members are named by the data: a mapping, or pairs such as a group's."""

    def write(value: Any) -> object:
        return {str(name): kind.write(item) for name, item in (value if pairs else value.items())}

    def read(tree: Any) -> Any:
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        items = {name: read_member(tree, name, kind.read) for name in tree}
        return tuple(items.items()) if pairs else items

    return Kind(write, read, {"type": "object", "additionalProperties": kind.schema})


TEXT = _plain(str, "string", "is no text")
_INTEGER = integer(None)
NUMBER = Kind(_same, _read_number, {"type": "number"})
STATE = choice(State)
_TEXTS, _BY_NAME = several(TEXT), named(NUMBER, pairs=False)


def _read_anything(tree: Any) -> Any:
    if isinstance(tree, list):
        return [*_TEXTS.read(tree)]
    kind = TEXT if isinstance(tree, str) else _BY_NAME if isinstance(tree, dict) else NUMBER
    return kind.read(tree)


_ANYTHING = Kind(
    lambda value: [*value] if isinstance(value, tuple) else value,
    _read_anything,
    {"anyOf": [{"type": ["string", "number"]}, _TEXTS.schema, _BY_NAME.schema]},
)
"""What a spec says of itself: a text, a number, a list of texts, an object of numbers."""

KINDS = {
    str: TEXT,
    bool: _plain(bool, "boolean", "is neither true nor false"),
    # Beside others in a list a number that JSON does not have is the word of its state.
    float: Kind(_write_listed, _read_listed, {"anyOf": [NUMBER.schema, STATE.schema]}),
    date: Kind(date.isoformat, _read_day, {"type": "string", "format": "date"}),
    Notice: TEXT._replace(read=_read_notice),
    object: _ANYTHING,
}
"""The kinds of types that are neither rows nor made of others."""
