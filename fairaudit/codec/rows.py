"""How classes are written as JSON objects: a member for each field, as its type and mark say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, partial, reduce
from operator import or_
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from fairaudit.codec.rules import (
    INVARIANTS,
    SPECIAL,
    SPECIAL_ROWS,
    WITNESS,
    choose,
    read_witness,
    write_witness,
)
from fairaudit.codec.schema import Members, describe, join, name_of, object_of, sentences
from fairaudit.codec.values import (
    ANYTHING,
    DAY,
    FLAG,
    NUMBER,
    NUMBERS,
    STATE,
    TEXT,
    Kind,
    Schema,
    Shared,
    Unreadable,
    choice,
    closed,
    exact,
    integer,
    maybe,
    named,
    raw,
    read_member,
    refuse,
    several,
    stated,
    text_or_null,
)
from fairaudit.estimate import Estimate, State, state_of
from fairaudit.members import Member, properties_of

Tree: TypeAlias = dict[str, Any]
_NO_MARK = Member()
_SIMPLE: Mapping[Any, Kind] = {bool: FLAG, float: NUMBER, date: DAY, object: ANYTHING, str: TEXT}
DEFINITIONS: dict[str, Row] = {}
"""The rows by the names of their schemas."""


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


class Field(NamedTuple):
    """A field of a class: its name, the name of its member, its type, mark and default."""

    name: str
    member: str
    hint: Any
    mark: Member
    default: object

    @classmethod
    def of(cls, name: str, hint: Any, mark: Member = _NO_MARK, default: object = MISSING) -> Field:
        """The field of a type that may hold its mark."""
        if get_origin(hint) is Annotated:
            hint, mark = get_args(hint)[:2]
        return cls(name, mark.name.rpartition(".")[2] or name, hint, mark, default)

    @property
    def is_optional(self) -> bool:
        """Whether it may be None."""
        return NoneType in get_args(self.hint)

    @property
    def outer(self) -> list[str]:
        """The objects that its member stands in; of a flat row, those of its members."""
        is_row = self.mark.flat and not self.mark.stated
        name = self.mark.name if is_row else self.mark.name.rpartition(".")[0]
        return name.split(".") if name else []


class Row:
    """A class: an object with the members of its fields and of its declared properties."""

    def __init__(self, cls: Any) -> None:
        self.cls, self.name = cls, name_of(cls)
        DEFINITIONS[self.name] = self

    @cached_property
    def slots(self) -> Mapping[str, Slot]:
        """How each field is written, by its name."""
        hints = get_type_hints(self.cls, include_extras=True)
        if is_dataclass(self.cls):
            defaults = {field.name: field.default for field in fields(self.cls)}
        else:
            defaults = {**dict.fromkeys(self.cls._fields, MISSING), **self.cls._field_defaults}
        every = [Field.of(name, hints[name], default=default) for name, default in defaults.items()]
        return {field.name: self._slot(field) for field in every if field.member != "witness"}

    @cached_property
    def derived(self) -> Mapping[str, Slot]:
        """How each declared property is written, which follows from the fields."""
        marks = properties_of(self.cls)
        hints = {name: get_type_hints(vars(self.cls)[name].fget)["return"] for name in marks}
        return {name: self._slot(Field.of(name, hints[name], mark)) for name, mark in marks.items()}

    @cached_property
    def constants(self) -> Mapping[str, str]:
        """The members that are the same in every row: `ClassVar[Annotated[Literal[…], …]]`."""
        hints = get_type_hints(self.cls, include_extras=True).values()
        words = [get_args(get_args(hint)[0]) for hint in hints if get_origin(hint) is ClassVar]
        return {mark.name: get_args(word)[0] for word, mark in words}

    @cached_property
    def has_witness(self) -> bool:
        """Whether the pair that attains its value is one member, made of three fields."""
        return "decided_by" in get_type_hints(self.cls) and "decided_by" not in self.slots

    @cached_property
    def members(self) -> Members:
        """The members of a row, as they stand in its object or in that of another."""
        members: Members = {name: ({"const": word}, True) for name, word in self.constants.items()}
        for slot in (*self.slots.values(), *self.derived.values()):
            members = join(members, slot.members)
        return {**members, "witness": (WITNESS, True)} if self.has_witness else members

    @property
    def definition(self) -> Schema:
        """The schema of its objects."""
        return object_of(self.members, " ".join(sentences(self.cls)))

    def _slot(self, field: Field) -> Slot:
        slot = _slot_of(field)
        words = {
            name: (describe(self.cls, field.name, name, schema), always)
            for name, (schema, always) in slot.members.items()
        }
        slot = slot._replace(members=words)
        for outer in reversed(field.outer):
            slot = _within(outer, slot)
        return slot

    @cached_property
    def _writers(self) -> tuple[tuple[str, Callable[[Any], Tree], bool], ...]:
        """How each field and property is written, and whether in an object of several."""
        slots = {**self.slots, **self.derived}.items()
        return tuple(
            (name, slot.write, any("properties" in schema for schema, _ in slot.members.values()))
            for name, slot in slots
        )

    def write(self, value: Any) -> Tree:
        """The object of a row."""
        tree: Tree = dict(self.constants)
        for name, write, is_shared in self._writers:
            members = write(getattr(value, name))
            if is_shared:
                _merge(tree, members)
            else:
                tree.update(members)
        if self.has_witness:
            tree["witness"] = write_witness(value)
        return tree

    def read(self, tree: Any, shared: Shared, without: frozenset[str] = frozenset()) -> Any:
        """The row in an object, whose other members are not looked at."""
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        values = {
            name: slot.read(tree, shared)
            for name, slot in self.slots.items()
            if without.isdisjoint(slot.members)
        }
        try:
            row = self.cls(**values, **(read_witness(tree) if self.has_witness else {}))
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up") from error
        for name, holds, why in INVARIANTS.get(self.cls, ()):
            if not holds(row):
                refuse(tree.get(name), why, name)
        for name, slot in self.derived.items():
            _refuse_other(tree, slot.write(getattr(row, name)))
        return row


class OneOf:
    """A row of one of several classes, each told by its members."""

    def __init__(self, classes: Iterable[type]) -> None:
        self.rows = {cls: Row(cls) for cls in classes}

    @property
    def members(self) -> Members:
        """The members of all classes; always there is what every class has."""
        return reduce(partial(join, either=True), (row.members for row in self.rows.values()))

    def write(self, value: Any) -> Tree:
        """The object of a row."""
        return self.rows[type(value)].write(value)

    def read(self, tree: Any, shared: Shared, without: frozenset[str] = frozenset()) -> Any:
        """The row in an object."""
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        return self.rows[choose(self.rows, tree)].read(tree, shared, without)


@cache
def kind_of(hint: Any, mark: Member = _NO_MARK) -> Kind:
    """How a value of a type is written and read."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in SPECIAL:
        return SPECIAL[hint]
    if origin is Annotated:
        return kind_of(*arguments[:2])
    if origin is tuple:
        return _kind_of_tuple(arguments, mark)
    if mark.stated:
        return stated(mark.none)
    if origin in {Union, UnionType}:
        classes = [cls for cls in arguments if cls is not NoneType]
        if len(classes) > 1:
            row = OneOf(classes)
            kind = Kind(row.write, row.read, {"anyOf": [*map(_reference, row.rows.values())]})
        else:
            kind = kind_of(classes[0], mark)
        return maybe(kind) if NoneType in arguments else kind
    if origin is not None:
        return named(kind_of(arguments[1]), pairs=False)
    return _kind_of_class(hint, mark)


def _kind_of_tuple(arguments: tuple[Any, ...], mark: Member) -> Kind:
    """Pairs of names and values are an object, all others are a list."""
    item = arguments[0]
    if arguments[-1] is Ellipsis and get_origin(item) is tuple and get_args(item)[0] is str:
        return named(kind_of(get_args(item)[1]), pairs=True, empty=mark.empty)
    length = None if arguments[-1] is Ellipsis else len(arguments)
    return several(kind_of(item, mark), length)


def _kind_of_class(cls: Any, mark: Member) -> Kind:
    if mark.nullable:
        return text_or_null()
    if cls in _SIMPLE:
        return _SIMPLE[cls]
    if cls is int:
        return integer(mark.least)
    if cls in {Decimal, Fraction}:
        return exact(cls)
    if issubclass(cls, Enum):
        return choice(cls)
    row = Row(cls)
    if mark.key or mark.only:
        return _some_members(row, mark)
    return Kind(row.write, row.read, _reference(row))


def _reference(row: Row) -> Schema:
    return {"$ref": f"#/$defs/{row.name}"}


def _some_members(row: Row, mark: Member) -> Kind:
    """A row by some of its members; by its key it is found among those that are listed."""
    names = (mark.key or mark.only).split()

    def write(value: Any) -> Tree:
        tree = row.write(value)
        return {name: tree[name] for name in names}

    def read(tree: Any, shared: Shared) -> Any:
        key = str([read_member(tree, name, raw, shared) for name in names])
        row = shared[mark.shared].get(key)
        return refuse(tree, f"is not among the {mark.shared}") if row is None else row

    return Kind(write, read, closed({name: row.members[name][0] for name in names}))


def row_of(hint: Any) -> RowLike:
    """The row of a class, or of one of several."""
    if hint in SPECIAL_ROWS:
        special: RowLike = SPECIAL_ROWS[hint]
        return special
    classes = [cls for cls in get_args(hint) or (hint,) if cls is not NoneType]
    return OneOf(classes) if len(classes) > 1 else Row(classes[0])


def _without_none(hint: Any) -> Any:
    return reduce(or_, (cls for cls in get_args(hint) or (hint,) if cls is not NoneType))


def _slot_of(field: Field) -> Slot:
    """How the members of a field stand in its row, or in an object within."""
    mark, name, hint = field.mark, field.member, field.hint
    if mark.shared and not mark.key:
        return _of_document(mark.shared)
    if mark.suppresses:
        return _suppresses()
    if mark.stated and mark.flat:
        return _flat_number(field)
    if mark.flat:
        return _flat(row_of(hint), frozenset(mark.without.split()), optional=field.is_optional)
    kind = kind_of(hint, mark)
    bare = _without_none(hint) if field.is_optional else hint
    slot = Slot(
        lambda value: {name: kind.write(value)},
        lambda tree, shared: read_member(tree, name, kind.read, shared),
        {name: (kind.schema, True)},
    )
    if bare is float and not mark.stated:
        slot = _number(name, slot)
    elif bare in {Decimal, Fraction} and not mark.text:
        slot = _precise(name, kind)
    return _rare(slot, field.default) if mark.rare else slot


def _rare(slot: Slot, default: object) -> Slot:
    """The same, left out where the field has its default."""

    def read(tree: Tree, shared: Shared) -> Any:
        return default if slot.members.keys().isdisjoint(tree) else slot.read(tree, shared)

    return Slot(
        lambda value: {} if value == default else slot.write(value),
        read,
        {name: (schema, False) for name, (schema, _) in slot.members.items()},
    )


def _number(name: str, slot: Slot) -> Slot:
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


def _precise(name: str, kind: Kind) -> Slot:
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


def _flat_number(field: Field) -> Slot:
    """A number by its state and value; suppressed it is NaN where a field of its own says so."""
    kind = stated(field.mark.none, field.member)

    def read(tree: Tree, shared: Shared) -> Any:
        value = kind.read(tree, shared)
        return math.nan if value is None and not field.is_optional else value

    members = {name: (schema, True) for name, schema in kind.schema["properties"].items()}
    return Slot(kind.write, read, members)


def _suppresses() -> Slot:
    """A flag that is told by the state of its row, which is else that of its value, if any."""

    def write(value: bool) -> Tree:  # noqa: FBT001  # the value of the field
        return {"state": State.SUPPRESSED.value} if value else {}

    def read(tree: Tree, shared: Shared) -> Any:
        return "state" in tree and read_member(tree, "state", STATE.read, shared) == "suppressed"

    return Slot(write, read, {"state": (STATE.schema, False)})


def _of_document(name: str) -> Slot:
    """A field that is the same in the whole document: it is not written."""

    def read(_: Tree, shared: Shared) -> Any:
        if shared[name] is None:
            raise Unreadable(f"is set, but the result has no {name}")
        return shared[name]

    return Slot(lambda _: {}, read, {})


def _flat(row: RowLike, without: frozenset[str], *, optional: bool) -> Slot:
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


def _within(outer: str, slot: Slot) -> Slot:
    """The same in an object within."""
    members = {outer: (object_of(slot.members), True)} if slot.members else {}
    return Slot(
        lambda value: {outer: slot.write(value)},
        lambda tree, shared: read_member(tree, outer, slot.read, shared),
        members,
    )


def _merge(tree: Tree, members: Tree) -> None:
    """Adds members to an object, and to the objects within."""
    for name, value in members.items():
        if name in tree and isinstance(value, dict) and isinstance(tree[name], dict):
            _merge(tree[name], value)
        else:
            tree[name] = value


def _refuse_other(tree: Any, follows: Tree) -> None:
    """Raises `Unreadable` where a member is not what follows from the others."""
    for name, value in follows.items():
        if isinstance(value, dict):
            read_member(tree, name, lambda found, _, value=value: _refuse_other(found, value), {})  # type: ignore[misc]
        elif read_member(tree, name, raw, {}) != value:
            refuse(tree[name], "does not follow from the rest", name)
