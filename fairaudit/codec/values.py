"""How single values, lists and mappings are written as JSON, read back, and described."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, TypeAlias

from fairaudit.estimate import State, state_of

Schema: TypeAlias = dict[str, Any]
Shared: TypeAlias = Mapping[str, Any]
"""What the rows of a document can refer to, by name."""

NUMBERS = {
    State.UNDEFINED: math.nan,
    State.INFINITE: math.inf,
    State.NEGATIVE_INFINITE: -math.inf,
}
"""The states of numbers that JSON does not have."""

_PATTERNS: Mapping[type, str] = {
    Decimal: r"-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?",
    Fraction: r"-?\d{1,4200}(/0*[1-9]\d{0,4200})?",
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
    read: Callable[[Any, Shared], Any]
    schema: Schema


def refuse(tree: object, why: str, *path: str | int) -> NoReturn:
    """Raises `Unreadable` of what stands at a path, quoting it."""
    quoted = json.dumps(tree, ensure_ascii=False, default=str)
    fault = Unreadable(f"{why}: {quoted if len(quoted) <= _LONGEST else quoted[:_LONGEST] + '…'}")
    for step in reversed(path):
        fault.within(step)
    raise fault


def read_member(tree: Any, name: str, read: Callable[[Any, Shared], Any], shared: Shared) -> Any:
    """What is read of a member that has to be there."""
    if not isinstance(tree, dict):
        refuse(tree, "is no object")
    if name not in tree:
        raise Unreadable("is missing").within(name)
    try:
        return read(tree[name], shared)
    except Unreadable as fault:
        raise fault.within(name) from None


def raw(tree: Any, _: Shared) -> Any:
    """A value as it is."""
    return tree


def closed(members: Mapping[str, Schema], required: Iterable[str] | None = None) -> Schema:
    """The schema of an object of these members and no others, all required if not said."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*(members if required is None else required)],
        "properties": dict(members),
    }


def _same(value: Any) -> Any:
    return value


def _read_text(tree: Any, _: Shared) -> Any:
    return tree if isinstance(tree, str) else refuse(tree, "is no text")


def _read_flag(tree: Any, _: Shared) -> Any:
    return tree if isinstance(tree, bool) else refuse(tree, "is neither true nor false")


def _read_number(tree: Any, _: Shared) -> Any:
    if not isinstance(tree, int | float) or isinstance(tree, bool):
        refuse(tree, "is no number")
    if isinstance(tree, int) and abs(tree) > _LARGEST:
        refuse(tree, "is no whole number")
    return tree if math.isfinite(tree) else refuse(tree, "is no finite number")


def integer(least: int | None) -> Kind:
    """A whole number, of `least` or more where that is set."""

    def read(tree: Any, _: Shared) -> Any:
        if not isinstance(tree, int) or isinstance(tree, bool) or abs(tree) > _LARGEST:
            refuse(tree, "is no whole number")
        is_small = least is not None and tree < least
        return refuse(tree, f"is below {least}") if is_small else tree

    return Kind(_same, read, {"type": "integer"} | ({} if least is None else {"minimum": least}))


def choice(words: type[Enum]) -> Kind:
    """A word of an enumeration, or a former name that it knows."""
    values = [word.value for word in words]

    def read(tree: Any, shared: Shared) -> Any:
        try:
            return words(_read_text(tree, shared))
        except ValueError:
            refuse(tree, f"is none of {', '.join(map(str, values))}")

    return Kind(lambda value: value.value, read, {"enum": values})


def exact(number: type[Decimal | Fraction]) -> Kind:
    """A decimal as it was written, or a fraction p/q, as text; None where it is too long."""
    pattern = re.compile(_PATTERNS[number])

    def write(value: Any) -> object:
        is_long = isinstance(value, Fraction) and value.denominator.bit_length() > _MOST_BITS
        return None if is_long else str(value)

    def read(tree: Any, shared: Shared) -> Any:
        if not pattern.fullmatch(_read_text(tree, shared)):
            refuse(tree, f"is no {number.__name__.lower()}")
        return number(tree)

    return Kind(write, read, {"type": "string", "pattern": f"^{pattern.pattern}$"})


def _read_day(tree: Any, _: Shared) -> Any:
    try:
        return date.fromisoformat(tree)
    except (TypeError, ValueError):
        refuse(tree, "is no date")


TEXT = Kind(_same, _read_text, {"type": "string"})
FLAG = Kind(_same, _read_flag, {"type": "boolean"})
NUMBER = Kind(_same, _read_number, {"type": "number"})
DAY = Kind(date.isoformat, _read_day, {"type": "string", "format": "date"})
STATE = choice(State)


def maybe(kind: Kind) -> Kind:
    """A value, or null."""
    is_simple = isinstance(kind.schema.get("type"), str) and "properties" not in kind.schema
    schema = {**kind.schema, "type": [kind.schema["type"], "null"]} if is_simple else None
    return Kind(
        lambda value: None if value is None else kind.write(value),
        lambda tree, shared: None if tree is None else kind.read(tree, shared),
        schema or {"anyOf": [kind.schema, {"type": "null"}]},
    )


def text_or_null() -> Kind:
    """A text, null where it is empty."""
    kind = maybe(TEXT)
    return kind._replace(
        write=lambda value: value or None, read=lambda tree, shared: kind.read(tree, shared) or ""
    )


def stated(none: str, name: str = "value") -> Kind:
    """A number that may not exist or be infinite: an object of its state and value.

    `none` is the state of None; without it there is always a number.
    """

    def write(value: float | None) -> object:
        state = State(none) if value is None else state_of(value)
        return {"state": state.value, name: value if state is State.DEFINED else None}

    def read(tree: Any, shared: Shared) -> Any:
        state = read_member(tree, "state", STATE.read, shared)
        if state is State.DEFINED:
            return read_member(tree, name, NUMBER.read, shared)
        if read_member(tree, name, raw, shared) is not None:
            refuse(tree[name], f"is not null, and {state}", name)
        if state != none and state not in NUMBERS:
            refuse(state, "is no state of this number", "state")
        return None if state == none else NUMBERS[state]

    return Kind(write, read, closed({"state": STATE.schema, name: maybe(NUMBER).schema}))


def several(kind: Kind, length: int | None = None) -> Kind:
    """A list, of any length if none is said."""

    def read(tree: Any, shared: Shared) -> Any:
        if not isinstance(tree, list) or (length is not None and len(tree) != length):
            refuse(tree, "is no list" if length is None else f"is no list of {length}")
        items: list[Any] = []
        try:
            for item in tree:
                items.append(kind.read(item, shared))  # noqa: PERF401  # a fault says where
        except Unreadable as fault:
            raise fault.within(len(items)) from None
        return tuple(items)

    size = {} if length is None else {"minItems": length, "maxItems": length}
    schema = {"type": "array", "items": kind.schema, **size}
    return Kind(lambda value: [kind.write(item) for item in value], read, schema)


def named(kind: Kind, *, pairs: bool, empty: str = "") -> Kind:
    """An object whose members are named by the data: a mapping, or pairs such as a group's.

    An `empty` one may have a word of its own.
    """

    def write(value: Any) -> object:
        if empty and not value:
            return empty
        return {str(name): kind.write(item) for name, item in (value if pairs else value.items())}

    def read(tree: Any, shared: Shared) -> Any:
        if empty and tree == empty:
            return ()
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        items = {name: read_member(tree, name, kind.read, shared) for name in tree}
        return tuple(items.items()) if pairs else items

    schema = {"type": "object", "additionalProperties": kind.schema}
    return Kind(write, read, {"anyOf": [{"const": empty}, schema]} if empty else schema)


def _write_anything(value: Any) -> Any:
    return [*value] if isinstance(value, tuple) else value


def _read_anything(tree: Any, shared: Shared) -> Any:
    """What a spec says of itself: a text, a number, a list of texts, an object of numbers."""
    if isinstance(tree, list):
        return [*_TEXTS.read(tree, shared)]
    kind = TEXT if isinstance(tree, str) else _BY_NAME if isinstance(tree, dict) else NUMBER
    return kind.read(tree, shared)


GROUP, _TEXTS, _BY_NAME = named(TEXT, pairs=True), several(TEXT), named(NUMBER, pairs=False)
_SCHEMAS = [{"type": ["string", "number"]}, _TEXTS.schema, _BY_NAME.schema]
ANYTHING = Kind(_write_anything, _read_anything, {"anyOf": _SCHEMAS})
