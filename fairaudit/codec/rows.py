"""How classes are written as JSON objects: a member for each field, as its type and mark say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, reduce
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

from fairaudit.codec.rules import MetricName, faults, find_record, name_record
from fairaudit.codec.schema import Members, define, describe, join, object_of
from fairaudit.codec.values import (
    KINDS,
    NUMBER,
    NUMBERS,
    STATE,
    TEXT,
    Kind,
    Unreadable,
    choice,
    exact,
    integer,
    maybe,
    named,
    read_member,
    refuse,
    several,
)
from fairaudit.estimate import Estimate, State, state_of
from fairaudit.json_marks import Member, properties_of
from fairaudit.metrics import Metric

Tree: TypeAlias = dict[str, Any]
_NO_MARK = Member()


class Slot(NamedTuple):
    """Members of an object: written of a value, read of the object, described."""

    write: Callable[[Any], Tree]
    read: Callable[[Tree], Any]
    members: Members


def _defaults_of(cls: Any) -> dict[str, Any]:
    """The default of each field of a data class or named tuple; `MISSING` where it has none."""
    if is_dataclass(cls):
        return {field.name: field.default for field in fields(cls)}
    return {**dict.fromkeys(cls._fields, MISSING), **cls._field_defaults}


@cache
def row_of(cls: Any, without: str = "", only: str = "") -> Slot:
    """A class: the members of its fields and of its declared properties.

    `without` some fields, which have their defaults, or `only` with some of both.
    """
    hints = get_type_hints(cls, include_extras=True)
    defaults = _defaults_of(cls)
    names = [name for name in defaults if name in (only.split() or defaults)]
    slots = {
        name: _slot_of(cls, name, hints[name], default=defaults[name])
        for name in names
        if name not in without.split()
    }
    derived = {
        name: _slot_of(cls, name, get_type_hints(vars(cls)[name].fget)["return"], mark)
        for name, mark in properties_of(cls).items()
        if not only or name in only.split()
    }
    every = slots | derived
    members: Members = reduce(join, (slot.members for slot in every.values()), {})
    shared = {name for name, (schema, _) in members.items() if "properties" in schema}
    writers = [
        (name, slot.write, not shared.isdisjoint(slot.members)) for name, slot in every.items()
    ]

    def write(value: Any) -> Tree:
        tree: Tree = {}
        for name, write_slot, is_shared in writers:
            written = write_slot(getattr(value, name))
            if is_shared:
                _merge(tree, written)
            else:
                tree.update(written)
        return tree

    def read(tree: Tree) -> Any:
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        values = {name: slot.read(tree) for name, slot in slots.items()}
        try:
            row = cls(**values)
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up") from error
        for path, why in faults(row):
            _refuse_at(tree, path, why)
        for name, slot in derived.items():
            _refuse_other(tree, slot.write(getattr(row, name)))
        return row

    return Slot(write, read, members)


@cache
def one_of(*classes: Any) -> Slot:
    """A row of one of several classes, whose member `type` says which."""
    rows = {cls.__name__: row_of(cls) for cls in classes}

    def read_type(name: Any) -> Slot:
        return rows.get(TEXT.read(name)) or refuse(name, f"is none of {', '.join(rows)}")

    def write(value: Any) -> Tree:
        name = type(value).__name__
        return {"type": name, **rows[name].write(value)}

    def read(tree: Tree) -> Any:
        row: Slot = read_member(tree, "type", read_type)
        return row.read(tree)

    every = (row.members for row in rows.values())
    members = reduce(lambda first, other: join(first, other, either=True), every)
    words = "Which of the types of a result it is."
    return Slot(write, read, {"type": ({"enum": [*rows], "description": words}, True), **members})


def _record_row() -> Slot:
    """A record of the catalogue by its names."""
    row = row_of(MetricName)
    return Slot(
        lambda record: row.write(name_record(record)),
        lambda tree: find_record(row.read(tree)),
        row.members,
    )


def reference_to(cls: type, *, typed: bool = False) -> Kind:
    """A row as a value of its own; `typed` where it is one of several classes."""
    row = one_of(cls) if typed else row_of(cls)
    return Kind(row.write, row.read, define(cls, row.members, "typed" if typed else ""))


@cache
def kind_of(hint: Any, mark: Member = _NO_MARK) -> Kind:
    """How a value of a type is written and read."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind_of(*arguments[:2])
    if origin is tuple:
        return _kind_of_tuple(arguments, mark)
    if origin in {Union, UnionType}:
        classes = _without_none(hint)
        kind = _kind_of_union(classes) if len(classes) > 1 else kind_of(classes[0], mark)
        return maybe(kind) if NoneType in arguments else kind
    if origin is not None:
        return named(kind_of(arguments[1]), pairs=False)
    return _kind_of_class(hint, mark)


def _kind_of_class(cls: Any, mark: Member) -> Kind:
    if cls in KINDS:
        return KINDS[cls]
    if cls is int:
        return integer(mark.least)
    if cls in {Decimal, Fraction}:
        return exact(cls)
    if issubclass(cls, Enum):
        return choice(cls)
    if mark.only:
        row = row_of(cls, only=mark.only)
        return Kind(row.write, row.read, object_of(row.members))
    return reference_to(cls)


def _kind_of_union(classes: list[Any]) -> Kind:
    row = one_of(*classes)
    schemas = [reference_to(cls, typed=True).schema for cls in classes]
    return Kind(row.write, row.read, {"anyOf": schemas})


def _kind_of_tuple(arguments: tuple[Any, ...], mark: Member) -> Kind:
    """Pairs of names and values are an object, all others are a list."""
    item = arguments[0]
    if arguments[-1] is Ellipsis and get_origin(item) is tuple and get_args(item)[0] is str:
        return named(kind_of(get_args(item)[1]), pairs=True)
    return several(kind_of(item, mark), None if arguments[-1] is Ellipsis else len(arguments))


def _without_none(hint: Any) -> list[Any]:
    """The classes of a union but for None; of any other type itself."""
    is_union = get_origin(hint) in {Union, UnionType}
    return [cls for cls in (get_args(hint) if is_union else (hint,)) if cls is not NoneType]


def _slot_of(
    cls: Any, field: str, hint: Any, mark: Member = _NO_MARK, default: object = MISSING
) -> Slot:
    """The members of a field, described, in the objects that its mark names."""
    if get_origin(hint) is Annotated:
        hint, mark = get_args(hint)[:2]
    outer, _, name = mark.name.rpartition(".")
    if mark.flat:
        slot, outer = _flat(hint, mark), mark.name
    else:
        slot = _plain(name or field, hint, mark)
    if mark.rare:
        slot = _rare(slot, default)
    slot = slot._replace(members=describe(cls, field, slot.members))
    for step in reversed(outer.split(".") if outer else []):
        slot = _within(step, slot)
    return slot


def _plain(name: str, hint: Any, mark: Member) -> Slot:
    """One member; of a number JSON may not have, two."""
    bare = _without_none(hint)[0]
    if bare is float:
        return _number(name, mark, optional=bare is not hint)
    kind = kind_of(hint, mark)
    if bare in {Decimal, Fraction} and not mark.text:
        return _precise(name, kind)
    return Slot(
        lambda value: {name: kind.write(value)},
        lambda tree: read_member(tree, name, kind.read),
        {name: (kind.schema, True)},
    )


def _flat(hint: Any, mark: Member) -> Slot:
    """The members of a row beside those of the row that it is in; no estimate is undefined."""
    if hint == Metric:
        return _record_row()
    classes = _without_none(hint)
    row = one_of(*classes) if len(classes) > 1 else row_of(classes[0], mark.without)
    if NoneType not in get_args(hint):
        return row

    def read(tree: Tree) -> Any:
        state = read_member(tree, "state", STATE.read)
        return None if state is State.UNDEFINED else row.read(tree)

    def write(value: Any) -> Tree:
        return row.write(Estimate(math.nan) if value is None else value)

    return Slot(write, read, row.members)


def _rare(slot: Slot, default: object) -> Slot:
    """The same, left out where the field has its default."""

    def read(tree: Tree) -> Any:
        return default if slot.members.keys().isdisjoint(tree) else slot.read(tree)

    return Slot(
        lambda value: {} if value == default else slot.write(value),
        read,
        {name: (schema, False) for name, (schema, _) in slot.members.items()},
    )


def _number(name: str, mark: Member, *, optional: bool) -> Slot:
    """A number; where JSON does not have it, it is null and `x_state` says which it is.

    A `stated` one always has its `state`, that of None is undefined.
    """
    of_state = "state" if mark.stated else f"{name}_state"
    kind = maybe(NUMBER) if optional and not mark.stated else NUMBER

    def write(value: float | None) -> Tree:
        if value is not None and math.isfinite(value):
            return {name: value, of_state: "defined"} if mark.stated else {name: value}
        state = State.UNDEFINED if value is None else state_of(value)
        has_state = mark.stated or value is not None
        return {name: None} | ({of_state: state.value} if has_state else {})

    def read(tree: Tree) -> Any:
        is_told = mark.stated or of_state in tree
        state = read_member(tree, of_state, STATE.read) if is_told else State.DEFINED
        if state is State.DEFINED:
            return read_member(tree, name, kind.read)
        if tree.get(name) is not None:
            raise Unreadable(f"is not null, and {state}").within(name)
        is_none = optional and mark.stated and state is State.UNDEFINED
        return None if is_none else NUMBERS.get(state, math.nan)

    states = [*(State if mark.stated else NUMBERS)]
    schema: Members = {
        name: (maybe(NUMBER).schema, True),
        of_state: ({"enum": [state.value for state in states]}, mark.stated),
    }
    return Slot(write, read, schema)


def _precise(name: str, kind: Kind) -> Slot:
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""
    of_text = f"{name}_text"

    def write(value: Any) -> Tree:
        return {name: _nearest(value), of_text: kind.write(value)}

    def read(tree: Tree) -> Any:
        value = read_member(tree, of_text, kind.read)
        _refuse_other(tree, {name: _nearest(value)}, f"is not the number of `{of_text}`")
        return value

    text = {**kind.schema, "description": f"Exactly {name}, as text."}
    return Slot(write, read, {name: (maybe(NUMBER).schema, True), of_text: (text, True)})


def _nearest(value: Decimal | Fraction | None) -> float | None:
    """The nearest number that JSON has; None where it has none."""
    try:
        number = math.inf if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _within(outer: str, slot: Slot) -> Slot:
    """The same in an object within."""
    return Slot(
        lambda value: {outer: slot.write(value)},
        lambda tree: read_member(tree, outer, slot.read),
        {outer: (object_of(slot.members), True)},
    )


def _merge(tree: Tree, members: Tree) -> None:
    """Adds members to an object, and to the objects within."""
    for name, value in members.items():
        if name in tree and isinstance(value, dict) and isinstance(tree[name], dict):
            _merge(tree[name], value)
        else:
            tree[name] = value


def _refuse_at(tree: Any, path: tuple[str | int, ...], why: str) -> None:
    """Raises `Unreadable` of what stands at a path."""
    try:
        refuse(reduce(lambda part, step: part[step], path, tree), why)
    except Unreadable as fault:
        raise reduce(Unreadable.within, reversed(path), fault) from None


def _refuse_other(tree: Tree, follows: Tree, why: str = "does not follow from the rest") -> None:
    """Raises `Unreadable` where a member is not what follows from the others."""
    for name, value in follows.items():

        def read(member: Any, value: Any = value) -> None:
            if isinstance(value, dict) and isinstance(member, dict):
                _refuse_other(member, value, why)
            elif member != value:
                refuse(member, why)

        read_member(tree, name, read)
