"""How single values, lists and mappings are written as JSON, read back, and described."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, NoReturn, TypeAlias

from fairaudit.estimate import State, state_of

Shared: TypeAlias = Mapping[str, Any]
"""What every row of a document can refer to, by name."""

Schema: TypeAlias = dict[str, Any]

DECIMAL = re.compile(r"-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?")
FRACTION = re.compile(r"-?\d{1,4200}(/\d{1,4200})?")

NUMBERS: Mapping[State, float] = {
    State.UNDEFINED: math.nan,
    State.INFINITE: math.inf,
    State.NEGATIVE_INFINITE: -math.inf,
}
"""The states of numbers that JSON does not have."""

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
        self.why = why
        self._steps: list[str] = []

    def within(self, step: str | int) -> Unreadable:
        """The same, inside a member of that name or an entry of that index."""
        self._steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
        return self

    def __str__(self) -> str:
        path = "".join(reversed(self._steps)).lstrip(".")
        return f"{path or 'the document'} {self.why}"


def refuse(tree: object, why: str) -> NoReturn:
    """Raises `Unreadable`, quoting the value."""
    quoted = json.dumps(tree, ensure_ascii=False, default=str)
    short = quoted if len(quoted) <= _LONGEST else f"{quoted[:_LONGEST]}…"
    raise Unreadable(f"{why}: {short}")


class Kind(ABC):
    """A type of value: how it is written, read back, and described in the schema."""

    def write(self, value: Any) -> object:
        """The value as JSON has it."""
        return value

    @abstractmethod
    def read(self, tree: Any, shared: Shared) -> Any:
        """The value in a document; raises `Unreadable`."""

    @abstractmethod
    def schema(self, definitions: dict[str, Schema]) -> Schema:
        """The schema of the value; that of a class is added to the definitions."""


class Text(Kind):
    """A string; with `nullable` an empty one is null."""

    def __init__(self, *, nullable: bool = False) -> None:
        self.nullable = nullable

    def write(self, value: Any) -> object:
        return value or None if self.nullable else value

    def read(self, tree: Any, shared: Shared) -> Any:
        if self.nullable and tree is None:
            return ""
        return tree if isinstance(tree, str) else refuse(tree, "is no text")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": ["string", "null"] if self.nullable else "string"}


class Flag(Kind):
    """True or false."""

    def read(self, tree: Any, shared: Shared) -> Any:
        return tree if isinstance(tree, bool) else refuse(tree, "is neither true nor false")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "boolean"}


class Integer(Kind):
    """A whole number, of `least` or more where that is set."""

    def __init__(self, least: int | None) -> None:
        self.least = least

    def read(self, tree: Any, shared: Shared) -> Any:
        if not isinstance(tree, int) or isinstance(tree, bool) or abs(tree) > _LARGEST:
            refuse(tree, "is no whole number")
        if self.least is not None and tree < self.least:
            refuse(tree, f"is below {self.least}")
        return tree

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "integer"} | ({} if self.least is None else {"minimum": self.least})


class Number(Kind):
    """A finite number."""

    def write(self, value: Any) -> object:
        return value if math.isfinite(value) else None

    def read(self, tree: Any, shared: Shared) -> Any:
        if not isinstance(tree, int | float) or isinstance(tree, bool):
            refuse(tree, "is no number")
        if isinstance(tree, int) and abs(tree) > _LARGEST:
            refuse(tree, "is no whole number")
        return tree if math.isfinite(tree) else refuse(tree, "is no finite number")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "number"}


class Stated(Kind):
    """A number that may not exist, or be infinite: an object of its state and value.

    `none` is the state of None; without it there is always a number.
    """

    def __init__(self, none: State | None, name: str = "value") -> None:
        self.none, self.name = none, name

    def write(self, value: Any) -> dict[str, object]:
        state = self.none if value is None else state_of(value)
        return {"state": state, self.name: value if state is State.DEFINED else None}

    def read(self, tree: Any, shared: Shared) -> Any:
        state = read_member(tree, "state", STATE, shared)
        if state is State.DEFINED:
            return read_member(tree, self.name, NUMBER, shared)
        if raw(tree, self.name) is not None:
            refuse_member(tree, self.name, f"is not null, and {state}")
        if state is self.none:
            return None
        return NUMBERS[state] if state in NUMBERS else refuse_member(tree, "state", "is not told")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        members = {"state": STATE.schema(definitions), self.name: {"type": ["number", "null"]}}
        return closed(members, ["state", self.name])


class Choice(Kind):
    """A word of an enumeration."""

    def __init__(self, words: type[Enum]) -> None:
        self.words = words

    def write(self, value: Any) -> object:
        return value.value

    def read(self, tree: Any, shared: Shared) -> Any:
        if not isinstance(tree, str):
            refuse(tree, "is no text")
        try:
            # By its value, or by a former name that the enumeration knows.
            return self.words(tree)
        except ValueError:
            refuse(tree, f"is none of {', '.join(str(word.value) for word in self.words)}")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"enum": [word.value for word in self.words]}


class Exact(Kind):
    """A decimal as it was written, or a fraction p/q, as text; None where it is too long."""

    def __init__(self, number: type[Decimal | Fraction]) -> None:
        self.number = number

    def write(self, value: Any) -> object:
        is_long = isinstance(value, Fraction) and value.denominator.bit_length() > _MOST_BITS
        return None if is_long else str(value)

    def read(self, tree: Any, shared: Shared) -> Any:
        pattern = DECIMAL if self.number is Decimal else FRACTION
        word = "decimal" if self.number is Decimal else "fraction"
        if not isinstance(tree, str):
            refuse(tree, "is no text")
        try:
            if pattern.fullmatch(tree):
                return self.number(tree)
        except ZeroDivisionError:
            pass
        refuse(tree, f"is no {word}")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        pattern = DECIMAL if self.number is Decimal else FRACTION
        return {"type": "string", "pattern": f"^{pattern.pattern}$"}


class Day(Kind):
    """A date, as `2026-01-31`."""

    def write(self, value: Any) -> object:
        return value.isoformat()

    def read(self, tree: Any, shared: Shared) -> Any:
        try:
            return date.fromisoformat(tree)
        except (TypeError, ValueError):
            refuse(tree, "is no date")

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {"type": "string", "format": "date"}


class Maybe(Kind):
    """A value, or null."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind

    def write(self, value: Any) -> object:
        return None if value is None else self.kind.write(value)

    def read(self, tree: Any, shared: Shared) -> Any:
        return None if tree is None else self.kind.read(tree, shared)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        schema = self.kind.schema(definitions)
        if isinstance(schema.get("type"), str):
            return {**schema, "type": [schema["type"], "null"]}
        if "enum" in schema:
            return {**schema, "enum": [*schema["enum"], None]}
        return {"anyOf": [schema, {"type": "null"}]}


class Several(Kind):
    """A list: of any length, or one kind for each entry of a `pair`."""

    def __init__(self, kind: Kind, length: int | None = None) -> None:
        self.kind, self.length = kind, length

    def write(self, value: Any) -> object:
        write = self.kind.write
        return [write(item) for item in value]

    def read(self, tree: Any, shared: Shared) -> Any:
        if not isinstance(tree, list | tuple):
            refuse(tree, "is no list")
        if self.length is not None and len(tree) != self.length:
            refuse(tree, f"is no list of {self.length}")
        read, items, index = self.kind.read, [], 0
        try:
            for index, item in enumerate(tree):  # noqa: B007  # a fault names where it is
                items.append(read(item, shared))
        except Unreadable as fault:
            raise fault.within(index) from None
        return tuple(items)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        length = {} if self.length is None else {"minItems": self.length, "maxItems": self.length}
        return {"type": "array", "items": self.kind.schema(definitions), **length}


class Named(Kind):
    """An object whose members are named by the data: a mapping, or pairs such as a group's.

    An `empty` one may have a word.
    """

    def __init__(self, kind: Kind, *, pairs: bool, empty: str = "") -> None:
        self.kind, self.pairs, self.empty = kind, pairs, empty

    def write(self, value: Any) -> object:
        if self.empty and not value:
            return self.empty
        write = self.kind.write
        return {str(name): write(item) for name, item in (value if self.pairs else value.items())}

    def read(self, tree: Any, shared: Shared) -> Any:
        if self.empty and tree == self.empty:
            return ()
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        read, items, name = self.kind.read, {}, ""
        try:
            for name, item in tree.items():  # a fault names where it is
                items[str(name)] = read(item, shared)
        except Unreadable as fault:
            raise fault.within(name) from None
        return tuple(items.items()) if self.pairs else items

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        schema = {"type": "object", "additionalProperties": self.kind.schema(definitions)}
        return {"anyOf": [{"const": self.empty}, schema]} if self.empty else schema


class Anything(Kind):
    """What a spec says of itself: a text, a number, a list of texts, an object of numbers."""

    def write(self, value: Any) -> object:
        if isinstance(value, Mapping):
            return dict(value)
        return [*value] if isinstance(value, tuple | list) else value

    def read(self, tree: Any, shared: Shared) -> Any:
        if isinstance(tree, str):
            return tree
        if isinstance(tree, dict):
            return Named(NUMBER, pairs=False).read(tree, shared)
        if isinstance(tree, list):
            return [*Several(TEXT).read(tree, shared)]
        return NUMBER.read(tree, shared)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        return {
            "anyOf": [
                {"type": ["string", "number"]},
                {"type": "array", "items": {"type": "string"}},
                {"type": "object", "additionalProperties": {"type": "number"}},
            ]
        }


TEXT, FLAG, NUMBER, STATE = Text(), Flag(), Number(), Choice(State)
GROUP = Named(TEXT, pairs=True)


def closed(members: Mapping[str, Schema], required: Sequence[str]) -> Schema:
    """The schema of an object of these members and no others."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [*required],
        "properties": dict(members),
    }


def raw(tree: Any, name: str) -> Any:
    """A member that has to be there, as it is."""
    if not isinstance(tree, dict):
        refuse(tree, "is no object")
    if name not in tree:
        raise Unreadable("is missing").within(name)
    return tree[name]


def read_member(tree: Any, name: str, kind: Kind, shared: Shared) -> Any:
    """The value of a member that has to be there."""
    item = raw(tree, name)
    try:
        return kind.read(item, shared)
    except Unreadable as fault:
        raise fault.within(name) from None


def refuse_member(tree: Mapping[str, Any], name: str, why: str) -> NoReturn:
    """Raises `Unreadable` of a member, quoting its value."""
    try:
        refuse(tree.get(name), why)
    except Unreadable as fault:
        raise fault.within(name) from None


def finite(value: float | Decimal | Fraction) -> float | None:
    """The nearest number that JSON has; None where it has none."""
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
