"""How texts, dates, enumerations, lists and mappings are JSON: written, read back, described."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn, TypeAlias

from fairaudit.base.disclosure_marks import Subjects
from fairaudit.base.json_marks import Unreadable
from fairaudit.base.notice import Notice
from fairaudit.metrics.estimate import State

Tree: TypeAlias = dict[str, Any]
Schema: TypeAlias = dict[str, Any]

NUMBERS = {
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

UNCHANGED = "$"
"""What writes a value that JSON has."""


class Kind(NamedTuple):
    """How values of a type are written, read back (or `Unreadable` is raised), and described.

    `write` is Python code, of what is written where `$` stands for the value; or a statement that
    adds its members to the object `@`, from which they are read.
    """

    write: str
    read: Callable[[Any], Any]
    describe: Callable[[], Schema]


def refuse(tree: Any, why: str, path: Sequence[str | int] = ()) -> NoReturn:
    """Raises `Unreadable` of a value, or of what stands at a path in it, quoting that."""
    for step in path:
        tree = tree[step]
    quoted = json.dumps(tree, ensure_ascii=False, default=str)
    text = quoted if len(quoted) <= _LONGEST else quoted[:_LONGEST] + "…"
    raise Unreadable(f"{why}: {text}", *path)


def read_member(tree: Any, name: str, read: Callable[[Any], Any]) -> Any:
    """What is read of a member that has to be there."""
    if not isinstance(tree, dict):
        OBJECT.read(tree)
    if name not in tree:
        raise Unreadable("is missing", name)
    return read_item(tree, name, read)


def read_item(tree: Any, step: str | int, read: Callable[[Any], Any]) -> Any:
    """What is read of a member or of an entry of a list; a fault says which."""
    try:
        return read(tree[step])
    except Unreadable as fault:
        raise fault.within(step) from None


def _scalar(
    schema: Schema,
    why: str,
    types: tuple[type, ...] = (str,),
    convert: Callable[[Any], Any] | None = None,
    write: str = UNCHANGED,
    fits: Callable[[Any], object] | None = None,
) -> Kind:
    """A single value; `why` is said of another type, and of what does not fit."""

    def read(tree: Any) -> Any:
        if type(tree) not in types or (fits and not fits(tree)):
            refuse(tree, why)
        try:
            return convert(tree) if convert else tree
        except ValueError:
            refuse(tree, why)

    return Kind(write, read, lambda: schema)


def integer(least: int | None) -> Kind:
    """A whole number, of `least` or more where that is set."""
    schema = {"type": "integer"} | ({} if least is None else {"minimum": least})
    why = "is no whole number" + ("" if least is None else f" from {least} on")
    low = -_LARGEST if least is None else least
    return _scalar(schema, why, (int,), fits=lambda tree: low <= tree <= _LARGEST)


def choice(words: type[StrEnum]) -> Kind:
    """A word of an enumeration, or a former name that it knows."""
    why = f"is none of {', '.join(words)}"
    return _scalar({"enum": [*words]}, why, (str,), words, "$._value_")


def _exact(number: type[Decimal | Fraction], pattern: str) -> Kind:
    """A decimal as it was written, or a fraction p/q, as text; None where it is too long."""
    why, schema = f"is no {number.__name__.lower()}", {"type": "string", "pattern": pattern}
    return _scalar(schema, why, (str,), number, "text_of($)", re.compile(pattern).fullmatch)


def text_of(number: Decimal | Fraction) -> str | None:
    """A number as text; None where that is too long."""
    is_long = isinstance(number, Fraction) and number.denominator.bit_length() > _MOST_BITS
    return None if is_long else str(number)


def maybe(kind: Kind) -> Kind:
    """A value, or null."""

    def describe() -> Schema:
        schema = kind.describe()
        is_simple = isinstance(schema.get("type"), str) and "properties" not in schema
        if is_simple:
            return schema | {"type": [schema["type"], "null"]}
        return {"anyOf": [schema, {"type": "null"}]}

    write = f"None if $ is None else {kind.write}"
    return Kind(
        UNCHANGED if kind.write == UNCHANGED else write,
        lambda tree: None if tree is None else kind.read(tree),
        describe,
    )


def several(kind: Kind, length: int | None = None) -> Kind:
    """A list, of any length if none is said."""

    def read(tree: Any) -> Any:
        if length is not None and len(LIST.read(tree)) != length:
            refuse(tree, f"is no list of {length}")
        return tuple([read_item(tree, index, kind.read) for index in range(len(LIST.read(tree)))])

    write = f"[{kind.write.replace('$', 'item')} for item in $]"
    size = {} if length is None else {"minItems": length, "maxItems": length}
    return Kind(
        "[*$]" if kind.write == UNCHANGED else write,
        read,
        lambda: {"type": "array", "items": kind.describe(), **size},
    )


def named(kind: Kind, *, pairs: bool) -> Kind:
    """An object whose members are named by the data: a mapping, or pairs such as a group's."""

    def read(tree: Any) -> Any:
        items = {name: read_item(tree, name, kind.read) for name in OBJECT.read(tree)}
        return tuple(items.items()) if pairs else items

    item = kind.write.replace("$", "item")
    write = f"{{str(name): {item} for name, item in dict($).items()}} if $ else {{}}"
    return Kind(
        "dict($) if $ else {}" if pairs and kind.write == UNCHANGED else write,
        read,
        lambda: {"type": "object", "additionalProperties": kind.describe()},
    )


TEXT = _scalar({"type": "string"}, "is no text")
NUMBER = _scalar(
    {"type": "number"},
    "is no number",
    (int, float),
    fits=lambda tree: abs(tree) <= sys.float_info.max,
)
OBJECT = _scalar({"type": "object"}, "is no object", (dict,))
LIST = _scalar({"type": "array"}, "is no list", (list,))
STATE = choice(State)
_TEXTS, _BY_NAME = several(TEXT), named(NUMBER, pairs=False)


def _read_listed(tree: Any) -> Any:
    is_word = isinstance(tree, str)
    return NUMBERS.get(STATE.read(tree), math.nan) if is_word else NUMBER.read(tree)


def _read_setting(tree: Any) -> Any:
    if isinstance(tree, list):
        return [*_TEXTS.read(tree)]
    kind = TEXT if isinstance(tree, str) else _BY_NAME if isinstance(tree, dict) else NUMBER
    return kind.read(tree)


_DATE = {"type": "string", "format": "date"}
KINDS = {
    str: TEXT,
    bool: _scalar({"type": "boolean"}, "is neither true nor false", (bool,)),
    Decimal: _exact(Decimal, r"^-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?$"),
    Fraction: _exact(Fraction, r"^-?\d{1,4200}(/0*[1-9]\d{0,4200})?$"),
    date: _scalar(_DATE, "is no date", (str,), date.fromisoformat, "str($)"),
    # Read back it is of people whom a published report must not tell.
    Notice: Kind("str($)", lambda tree: Notice(TEXT.read(tree), Subjects.NEVER), TEXT.describe),
    # Beside others in a list a number that JSON does not have is the word of its state.
    float: Kind(
        "$ if -1e999 < $ < 1e999 else state_of($)._value_",
        _read_listed,
        lambda: {"anyOf": [NUMBER.describe(), STATE.describe()]},
    ),
    # What a spec says of itself: a text, a number, a list of texts, an object of numbers.
    object: Kind(
        "[*$] if isinstance($, tuple) else $",
        _read_setting,
        lambda: {"anyOf": [{"type": ["string", "number"]}, _TEXTS.describe(), _BY_NAME.describe()]},
    ),
}
"""The kinds of types that are neither rows nor made of others."""
