"""How the members of a field stand in the object of its row."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeAlias

from fairaudit.codec.schema import Members, object_of
from fairaudit.codec.values import (
    NUMBER,
    NUMBERS,
    STATE,
    Kind,
    Shared,
    Unreadable,
    maybe,
    raw,
    read_member,
    refuse,
)
from fairaudit.estimate import Estimate, State, state_of

Tree: TypeAlias = dict[str, Any]


class Slot(NamedTuple):
    """A field as members of its row: written of its value, read of the row's object, described."""

    write: Callable[[Any], Tree]
    read: Callable[[Tree, Shared], Any]
    members: Members


class RowLike(Protocol):
    """What can stand in the row that it is a field of."""

    def write(self, value: Any) -> Tree:
        """The members of a value."""

    def read(self, tree: Any, shared: Shared, without: frozenset[str] = frozenset()) -> Any:
        """The value in an object."""

    @property
    def members(self) -> Members:
        """The members, each with its schema, and whether it is always there."""


def rare(slot: Slot, default: object) -> Slot:
    """The same, left out where the field has its default."""

    def read(tree: Tree, shared: Shared) -> Any:
        return default if slot.members.keys().isdisjoint(tree) else slot.read(tree, shared)

    return Slot(
        lambda value: {} if value == default else slot.write(value),
        read,
        {name: (schema, False) for name, (schema, _) in slot.members.items()},
    )


def number(name: str, slot: Slot) -> Slot:
    """A number; where JSON does not have it, it is null and `x_state` says which it is."""
    of_state = f"{name}_state"

    def write(value: float | None) -> Tree:
        if value is None or math.isfinite(value):
            return {name: value}
        return {name: None, of_state: state_of(value).value}

    def read(tree: Tree, shared: Shared) -> Any:
        if of_state not in tree:
            return slot.read(tree, shared)
        state = read_member(tree, of_state, STATE.read, shared)
        if state not in NUMBERS or tree.get(name) is not None:
            refuse(state, f"is no state of {name}", of_state)
        return NUMBERS[state]

    states = {"enum": [state.value for state in NUMBERS], "description": f"Why {name} is null."}
    return Slot(write, read, {name: (maybe(NUMBER).schema, True), of_state: (states, False)})


def precise(name: str, kind: Kind) -> Slot:
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""
    of_text = f"{name}_text"

    def write(value: Any) -> Tree:
        return {name: _nearest(value), of_text: kind.write(value)}

    def read(tree: Tree, shared: Shared) -> Any:
        value = read_member(tree, of_text, kind.read, shared)
        if read_member(tree, name, raw, shared) != _nearest(value):
            refuse(tree[name], f"is not the number of `{of_text}`", name)
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


def flat_number(kind: Kind, *, optional: bool) -> Slot:
    """A number by its state and value; suppressed it is NaN where a field of its own says so."""

    def read(tree: Tree, shared: Shared) -> Any:
        value = kind.read(tree, shared)
        return math.nan if value is None and not optional else value

    members = {name: (schema, True) for name, schema in kind.schema["properties"].items()}
    return Slot(kind.write, read, members)


def suppresses() -> Slot:
    """A flag that is told by the state of its row, which is else that of its value, if any."""

    def write(value: bool) -> Tree:  # noqa: FBT001  # the value of the field
        return {"state": State.SUPPRESSED.value} if value else {}

    def read(tree: Tree, shared: Shared) -> Any:
        return "state" in tree and read_member(tree, "state", STATE.read, shared) == "suppressed"

    return Slot(write, read, {"state": (STATE.schema, False)})


def of_document(name: str) -> Slot:
    """A field that is the same in the whole document: it is not written."""

    def read(_: Tree, shared: Shared) -> Any:
        if shared[name] is None:
            raise Unreadable(f"is set, but the result has no {name}")
        return shared[name]

    return Slot(lambda _: {}, read, {})


def flat(row: RowLike, without: frozenset[str], *, optional: bool) -> Slot:
    """A row whose members stand in the row that it is a field of; no estimate is undefined."""

    def write(value: Any) -> Tree:
        tree = row.write(Estimate(math.nan) if value is None else value)
        for name in without:
            tree.pop(name, None)
        return tree

    def read(tree: Tree, shared: Shared) -> Any:
        if optional and read_member(tree, "state", STATE.read, shared) is State.UNDEFINED:
            return None
        return row.read(tree, shared, without)

    members = {name: row.members[name] for name in row.members if name not in without}
    return Slot(write, read, members)


def within(outer: str, slot: Slot) -> Slot:
    """The same in an object within."""
    members = {outer: (object_of(slot.members), True)} if slot.members else {}
    return Slot(
        lambda value: {outer: slot.write(value)},
        lambda tree, shared: read_member(tree, outer, slot.read, shared),
        members,
    )


def merge(tree: Tree, members: Tree) -> None:
    """Adds members to an object, and to the objects within."""
    for name, value in members.items():
        if name in tree and isinstance(value, dict) and isinstance(tree[name], dict):
            merge(tree[name], value)
        else:
            tree[name] = value
