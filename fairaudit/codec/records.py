"""Converts records to JSON objects and back; msgspec reads and checks the types.

Each field is a member of a JSON object, with the name that msgspec gives it. This module adds:

- Groups and other tuples of pairs are objects.
- A number that is not finite is null, and another member (`x_state`) has the state of the number.
- A field whose name begins with `*` is flat: the members of its record are members of the outer
  object.
- Some properties are also members.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import chain
from math import isfinite
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.frozen import RARE, SIGNED, Frozen, Unreadable, fields
from fairaudit.metrics import MetricName, find_record, name_record
from fairaudit.metrics.estimate import Estimate, State, state_of
from fairaudit.metrics.evaluation_record import MetricRecord

Tree: TypeAlias = dict[str, Any]

_UNDEFINED = Estimate(math.nan)
_NUMBERS = {
    "undefined": math.nan,
    "suppressed": math.nan,
    "infinite": math.inf,
    "negative_infinite": -math.inf,
}
"""The numbers that JSON cannot represent, by the words of their states."""

_LARGEST = 2**256
"""The largest count that can be read; it still fits into a float."""

_MOST_BITS = 10_000
"""Maximum bits of the denominator of a fraction that is written."""

OPTION: Any = float | int | str | list[str] | dict[str, float]
"""The possible types of an option in a spec; its field has the type `object`."""

_DECIMAL = re.compile(r"-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?")
FRACTION = r"^-?\d{1,4200}(/0*[1-9]\d{0,4200})?$"
_PLACE = re.compile(r"(.*) - at (?:`key` in )?`\$([^`]*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_LONGEST_WHY = 200


class Shape(NamedTuple):
    """Two functions of a type: `write` converts values to plain data, `read` prepares plain data.

    msgspec converts the prepared data to values. A function that changes nothing is None.
    """

    write: Any = None
    read: Any = None

    @classmethod
    def of_record(cls, record: Any) -> Shape:
        """The functions for a record: the JSON object has its fields and some of its properties."""
        tag, members = record.__struct_config__.tag, list_members(record)
        get = attrgetter(*(one.field for one in members), "__class__")
        steps = [(*one, one.is_flat, one.state, *find_shape(one.hint)) for one in members]

        def write_record(row: Any) -> Tree:
            tree: Tree = {"type": tag} if tag else {}
            for (_, name, _, rare, is_flat, state, write, _), value in zip(
                steps, get(row), strict=False
            ):
                if rare is not NODEFAULT and value == rare:
                    continue
                if is_flat:  # a missing estimate is written as an undefined estimate
                    tree |= write(_UNDEFINED if value is None else value)
                elif state and value is not None and not isfinite(value):
                    tree |= {name: None, state: state_of(value)}
                else:
                    tree[name] = write(value) if write and not state else value
            return tree

        def read_record(tree: Any) -> Any:
            if not isinstance(tree, dict):
                return tree
            ready = dict(tree)
            for _, name, hint, _, is_flat, state, _, read in steps:
                if is_flat:
                    is_none = NoneType in get_args(hint) and tree.get("state") == State.UNDEFINED
                    ready[name] = None if is_none else read(tree)
                elif state and tree.get(name) is None and isinstance(tree.get(state), str):
                    ready[name] = _NUMBERS.get(tree[state])
                elif read and not state and name in tree:
                    ready[name] = read(tree[name])
            return ready

        return cls(write_record, read_record)


class Member(NamedTuple):
    """A member of a JSON object: its field or property, its name in JSON, and its type (`hint`).

    A member is not written if its value equals the attribute `rare`.
    """

    field: str
    name: str
    hint: Any
    rare: object = NODEFAULT

    @property
    def is_flat(self) -> bool:
        """Whether the members of the nested record are written into the outer object directly."""
        return self.name.startswith("*")

    @property
    def state(self) -> str:
        """The name of the member for the state of a number; empty if the value is not a number."""
        is_number = float in split_union(self.hint)
        return is_number * ("state" if self.name == "value" else f"{self.name}_state")


def split_union(hint: Any) -> list[Any]:
    """The types of a union without None; for any other type, only the type."""
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    types = get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)
    return [cls for cls in types if cls is not NoneType]


@cache
def list_members(cls: Any) -> list[Member]:
    """The members of a record: its fields, then its properties with an `Annotated` type."""
    members = []
    for one in fields(cls):
        is_made = one.default_factory is not NODEFAULT
        default = one.default_factory() if is_made else one.default
        is_rare = RARE in get_args(one.type)
        rare = default if is_rare else NODEFAULT
        members.append(Member(one.name, one.encode_name, one.type, rare))
    for name, value in chain.from_iterable(vars(base).items() for base in cls.__mro__):
        if isinstance(value, property) and "Annotated[" in value.fget.__annotations__["return"]:
            hint = get_type_hints(value.fget, include_extras=True)["return"]
            members.append(Member(name, get_args(hint)[1] or name, hint))
    return members


@cache
def find_shape(hint: Any) -> Shape:
    """The functions that write and read values of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return find_shape(arguments[0])
    if origin in {Union, UnionType}:
        shapes: Any = {cls.__name__: find_shape(cls) for cls in split_union(hint)}
        if len(shapes) == 1:
            ((write, read),) = shapes.values()
            return Shape(write and (lambda value: None if value is None else write(value)), read)
        # All types are records; the member `type` has the name of the type.
        return Shape(
            lambda row: None if row is None else shapes[type(row).__name__].write(row),
            lambda tree: (
                shapes[tree["type"]].read(tree)
                if isinstance(tree, dict) and tree.get("type") in [*shapes]
                else tree
            ),
        )
    if origin is tuple:
        inner = get_args(arguments[0])
        if get_origin(arguments[0]) is tuple and inner[0] is str and inner[1] is not Ellipsis:
            return Shape(
                _write_pairs(inner[1]),
                lambda tree: [*tree.items()] if isinstance(tree, dict) else tree,
            )
        write, read = find_shape(arguments[0])
        return Shape(
            (lambda values: [write(value) for value in values]) if write else list,
            read and (lambda tree: [read(i) for i in tree] if isinstance(tree, list) else tree),
        )
    if origin is not None:
        return Shape(_write_pairs(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, Frozen):
        return Shape.of_record(hint)
    return _SHAPES.get(hint) or Shape(_write_leaf)


def _write_pairs(hint: Any) -> Any:
    """The function that writes a mapping (or pairs) with values of the type `hint` as an object."""
    write = find_shape(hint).write
    if write is None:
        return dict
    return lambda pairs: {name: write(value) for name, value in dict(pairs).items()}


def _write_leaf(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_encode)


_SHAPES: dict[Any, Shape] = {
    str: Shape(),
    int: Shape(),
    bool: Shape(),
    Decimal: Shape(
        _write_leaf,
        lambda text: (
            text
            if text is None or (isinstance(text, str) and _DECIMAL.fullmatch(text))
            else "not a decimal"
        ),
    ),
    MetricRecord: Shape(lambda metric: write(MetricName, name_record(metric))),
    object: Shape(_write_leaf),
    # In a list, a number that is not finite is written as the word for its state.
    float: Shape(
        lambda number: number if isfinite(number) else state_of(number),
        lambda value: _NUMBERS.get(value, value) if isinstance(value, str) else value,
    ),
}
"""The functions for types that msgspec would write or read differently."""


def write(hint: Any, value: Any) -> Any:
    """Converts a value of the type `hint` to plain data, ready for JSON."""
    convert = find_shape(hint).write
    return convert(value) if convert else value


def _encode(value: Any) -> str | float | None:
    """Plain data for types that msgspec cannot write: NumPy numbers, notices and fractions.

    None for a fraction with too many digits.
    """
    if isinstance(value, float):
        return float(value)
    is_long = isinstance(value, Fraction) and value.denominator.bit_length() > _MOST_BITS
    return None if is_long else str(value)


def read(hint: Any, tree: Any) -> Any:
    """Reads a value of the type `hint`; raises `Unreadable` with the path of the wrong member.

    The value is written again and compared with the data. This finds missing members, and computed
    members (properties) that contradict the other members.
    """
    convert = find_shape(hint).read
    try:
        value = msgspec.convert(convert(tree) if convert else tree, hint, dec_hook=_decode)
    except msgspec.ValidationError as error:
        if isinstance(error.__cause__, TypeError):  # an error in this program, not in the data
            raise error.__cause__ from None
        why, place = str(error), ""
        while found := _PLACE.fullmatch(why):  # the outermost place is at the end of the message
            why, place = found[1], place + re.sub(r"\.\*\w+", "", found[2])
        if missing := _MISSING.fullmatch(why):
            raise Unreadable("is missing", f"{place}.{missing[1]}".lstrip(".")) from error
        why = f"is wrong: {why[0].lower()}{why[1:_LONGEST_WHY]}"
        raise Unreadable(why, place.lstrip(".")) from error
    _check(value)
    _compare(write(hint, value), tree, ())
    return value


def _decode(cls: Any, value: Any) -> Any:
    """Reads a value of a type that msgspec cannot read; msgspec adds the path to a `ValueError`."""
    try:
        if cls is object:
            return msgspec.convert(value, OPTION)
        if cls is MetricRecord:
            return find_record(msgspec.convert(value, MetricName))
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    except Unreadable as fault:
        raise ValueError(f"{value.get(fault.path[0])!r} {fault.why}") from fault
    if not isinstance(value, str) or (cls is Fraction and not re.fullmatch(FRACTION, value)):
        raise ValueError(f"{value!r:.40} is not a {'text' if cls is Notice else 'fraction'}")
    # A notice from a file is never published, because the file does not say whether it may be.
    return Notice(value, Subjects.NEVER) if cls is Notice else cls(value)


def _check(value: Any, *place: str | int) -> None:
    """Raises `Unreadable` if a record in the value contradicts itself, or has an impossible number.

    `place` is the last step of the path to the value.
    """
    try:
        if isinstance(value, tuple | Mapping):
            pairs: Any = value.items() if isinstance(value, Mapping) else enumerate(value)
            for index, each in pairs:
                _check(each, index)
        elif isinstance(value, int) and abs(value) > _LARGEST:
            raise Unreadable("is too large")  # noqa: TRY301  # the path is added below
        elif isinstance(value, Frozen):
            record: Any = type(value)
            for one in list_members(record):
                each = getattr(value, one.field)
                if isinstance(each, str | float | None) or one.hint is MetricRecord:
                    continue
                if type(each) is int and each < 0 and SIGNED not in get_args(one.hint):
                    raise Unreadable("is negative", one.name)  # noqa: TRY301  # as above
                _check(each, *([] if one.is_flat else [one.name]))
            for fault in getattr(value, "contradictions", tuple)():
                raise fault
    except Unreadable as fault:
        raise Unreadable(fault.why, *place, *fault.path) from fault


def _compare(written: Any, tree: Any, path: tuple[str | int, ...]) -> None:
    """Raises `Unreadable` for the first member of `written` that is different in `tree`."""
    if written == tree:
        return
    if isinstance(written, dict) and isinstance(tree, dict):
        for name, value in written.items():
            if name not in tree:
                raise Unreadable("is missing", *path, name)
            _compare(value, tree[name], (*path, name))
    elif isinstance(written, list) and isinstance(tree, list) and len(written) == len(tree):
        for index, (value, one) in enumerate(zip(written, tree, strict=True)):
            _compare(value, one, (*path, index))
    else:
        raise Unreadable(f"does not follow from the rest: {tree!r:.40}", *path)
