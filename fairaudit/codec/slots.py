"""How one field of a class stands in the object of its row, and is taken from it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import MISSING
from types import NoneType
from typing import Any, NamedTuple, Protocol, get_args

from fairaudit.codec.schema import describe, object_of
from fairaudit.codec.values import (
    GROUP,
    NUMBERS,
    STATE,
    TEXT,
    Kind,
    Schema,
    Shared,
    Stated,
    Unreadable,
    closed,
    finite,
    raw,
    read_member,
    refuse,
    refuse_member,
)
from fairaudit.estimate import Estimate, State, state_of
from fairaudit.members import Member

Tree = dict[str, Any]
Definitions = dict[str, Schema]
Members = Iterator[tuple[str, Schema, bool]]
"""Of each member its name and schema, and whether it is always there."""


class Field(NamedTuple):
    """A field of a class: its name, its type, its mark, and its default if it has one."""

    owner: type
    name: str
    hint: Any
    mark: Member
    default: object = MISSING

    @property
    def member(self) -> str:
        """The name of its member."""
        return self.mark.name.rpartition(".")[2] or self.name

    @property
    def outer(self) -> list[str]:
        """The objects that its member stands in; those of a flat row, its members."""
        name = self.mark.name if self.mark.flat else self.mark.name.rpartition(".")[0]
        return name.split(".") if name and not self.mark.stated else []

    @property
    def optional(self) -> bool:
        """Whether it may be None."""
        return NoneType in get_args(self.hint)


class Slot(ABC):
    """How one field is put into the object of its row, and taken from it."""

    def __init__(self, field: Field) -> None:
        self.field, self.name = field, field.member

    @abstractmethod
    def put(self, row: object, tree: Tree) -> None:
        """Writes the members of the field."""

    @abstractmethod
    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        """Reads the value of the field into `values`; raises `Unreadable`."""

    @abstractmethod
    def members(self, definitions: Definitions) -> Members:
        """The members of the field."""

    def described(self, definitions: Definitions) -> Members:
        """The members of the field, with what its class says of them."""
        for name, schema, always in self.members(definitions):
            yield name, describe(self.field.owner, self.field.name, name, schema), always


class OneMember(Slot):
    """A field that is one member."""

    def __init__(self, field: Field, kind: Kind) -> None:
        super().__init__(field)
        self.kind, self.rare = kind, field.mark.rare

    def is_left_out(self, value: object) -> bool:
        """Whether the member is left out, as the field has its default."""
        return self.rare and value == self.field.default

    def put(self, row: object, tree: Tree) -> None:
        value = getattr(row, self.field.name)
        if not self.rare or value != self.field.default:
            tree[self.name] = self.kind.write(value)

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        if self.name in tree or not self.rare:
            values[self.field.name] = read_member(tree, self.name, self.kind, shared)

    def members(self, definitions: Definitions) -> Members:
        yield self.name, self.kind.schema(definitions), not self.rare


class Float(OneMember):
    """A number; where JSON does not have it, it is null and `x_state` says which it is."""

    def put(self, row: object, tree: Tree) -> None:
        value = getattr(row, self.field.name)
        if self.is_left_out(value):
            return
        if value is None or math.isfinite(value):
            tree[self.name] = value
        else:
            tree[self.name], tree[f"{self.name}_state"] = None, state_of(value).value

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        name = f"{self.name}_state"
        if name not in tree:
            super().take(tree, shared, values)
            return
        state = read_member(tree, name, STATE, shared)
        if state not in NUMBERS:
            refuse_member(tree, name, "is no state of a number")
        if tree.get(self.name) is not None:
            refuse_member(tree, self.name, f"is not null, and {state}")
        values[self.field.name] = NUMBERS[state]

    def members(self, definitions: Definitions) -> Members:
        yield self.name, {"type": ["number", "null"]}, not self.rare
        states = [state.value for state in NUMBERS]
        yield (
            f"{self.name}_state",
            {"enum": states, "description": f"Why {self.name} is null."},
            False,
        )


class Precise(OneMember):
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""

    def put(self, row: object, tree: Tree) -> None:
        value = getattr(row, self.field.name)
        if not self.is_left_out(value):
            tree[self.name] = None if value is None else finite(value)
            tree[f"{self.name}_text"] = self.kind.write(value)

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        name = f"{self.name}_text"
        if self.rare and name not in tree and self.name not in tree:
            return
        value = read_member(tree, name, self.kind, shared)
        nearest = None if value is None else finite(value)
        if raw(tree, self.name) != nearest:
            refuse_member(tree, self.name, f"is not the number of `{name}`")
        values[self.field.name] = value

    def members(self, definitions: Definitions) -> Members:
        yield self.name, {"type": ["number", "null"]}, not self.rare
        text = {**self.kind.schema(definitions), "description": f"Exactly {self.name}, as text."}
        yield f"{self.name}_text", text, not self.rare


class FlatState(Slot):
    """A number by its state and value, which stand in the row itself."""

    def __init__(self, field: Field, kind: Stated) -> None:
        super().__init__(field)
        self.kind = kind

    def put(self, row: object, tree: Tree) -> None:
        tree.update(self.kind.write(getattr(row, self.field.name)))

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        value = self.kind.read(tree, shared)
        # A value that is suppressed is NaN where its class says so by a field of its own.
        values[self.field.name] = math.nan if value is None and not self.field.optional else value

    def members(self, definitions: Definitions) -> Members:
        yield from ((*item, True) for item in self.kind.schema(definitions)["properties"].items())


class Suppresses(Slot):
    """A flag that is told by the state of its row, which is else that of its value, if any."""

    def put(self, row: object, tree: Tree) -> None:
        if getattr(row, self.field.name):
            tree[self.name] = State.SUPPRESSED.value

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        state = read_member(tree, self.name, STATE, shared) if self.name in tree else None
        values[self.field.name] = state is State.SUPPRESSED

    def members(self, definitions: Definitions) -> Members:
        yield self.name, STATE.schema(definitions), False


class FlatKind(Protocol):
    """A row, or one of several, whose members can stand in another row."""

    def put(self, value: object, tree: Tree, without: frozenset[str]) -> None:
        """Writes the members into an object, but for some."""

    def take(self, tree: Tree, shared: Shared, without: frozenset[str]) -> Any:
        """Reads the row from an object."""

    def members(self, definitions: Definitions) -> Members:
        """The members of the row."""


class Flat(Slot):
    """A row whose members stand in the row that it is a field of; no estimate is undefined."""

    def __init__(self, field: Field, kind: FlatKind) -> None:
        super().__init__(field)
        self.kind, self.without = kind, frozenset(field.mark.without.split())

    def put(self, row: object, tree: Tree) -> None:
        value = getattr(row, self.field.name)
        self.kind.put(Estimate(math.nan) if value is None else value, tree, self.without)

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        if self.field.optional and read_member(tree, "state", STATE, shared) is State.UNDEFINED:
            values[self.field.name] = None
        else:
            values[self.field.name] = self.kind.take(tree, shared, self.without)

    def members(self, definitions: Definitions) -> Members:
        for name, schema, always in self.kind.members(definitions):
            if name not in self.without:
                yield name, schema, always


class OfDocument(Slot):
    """A field that is the same in the whole document: it is not written."""

    def put(self, row: object, tree: Tree) -> None:
        """Writes nothing."""

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        value = shared[self.field.mark.shared]
        if value is None:
            raise Unreadable(f"is set, but the result has no {self.field.mark.shared}")
        values[self.field.name] = value

    def members(self, definitions: Definitions) -> Members:
        yield from ()


class Within(Slot):
    """A field that is a member of an object within."""

    def __init__(self, outer: str, slot: Slot) -> None:
        super().__init__(slot.field)
        self.outer, self.slot = outer, slot

    def put(self, row: object, tree: Tree) -> None:
        self.slot.put(row, tree.setdefault(self.outer, {}))

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        inner = raw(tree, self.outer)
        try:
            if not isinstance(inner, dict):
                refuse(inner, "is no object")
            self.slot.take(inner, shared, values)
        except Unreadable as fault:
            raise fault.within(self.outer) from None

    def members(self, definitions: Definitions) -> Members:
        yield self.outer, object_of(self.slot.described(definitions)), True

    def described(self, definitions: Definitions) -> Members:
        """The object; its members say what they are."""
        yield from self.members(definitions)


class Witness(Slot):
    """The pair of groups that attains a value, and by which outcome or rate; null where none does.

    A spread names the highest and the lowest group, any other comparison group and reference.
    """

    def put(self, row: Any, tree: Tree) -> None:
        if not row.first and not row.second:
            tree["witness"] = None
            return
        outcomes = {part.outcome for part in row.parts if part.outcome}
        by = "outcome" if row.decided_by in outcomes else "metric"
        names = ("high", "low") if row.spread else ("group", "reference")
        groups = dict(zip(names, map(GROUP.write, (row.first, row.second)), strict=True))
        tree["witness"] = {**({by: row.decided_by} if row.decided_by else {}), **groups}

    def take(self, tree: Tree, shared: Shared, values: Tree) -> None:
        values |= {"first": (), "second": (), "decided_by": None}
        witness = raw(tree, "witness")
        if witness is None:
            return
        try:
            is_spread = isinstance(witness, dict) and "high" in witness
            names = ("high", "low") if is_spread else ("group", "reference")
            for field, name in zip(("first", "second"), names, strict=True):
                values[field] = read_member(witness, name, GROUP, shared)
            for name in ("outcome", "metric"):
                if name in witness:
                    values["decided_by"] = read_member(witness, name, TEXT, shared)
        except Unreadable as fault:
            raise fault.within("witness") from None

    def members(self, definitions: Definitions) -> Members:
        group, text = GROUP.schema(definitions), TEXT.schema(definitions)
        names = dict.fromkeys(("high", "low", "group", "reference"), group)
        schema = closed({"outcome": text, "metric": text, **names}, ())
        yield "witness", {"anyOf": [schema, {"type": "null"}]}, True
