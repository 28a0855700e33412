"""How classes are written as JSON objects: a member for each field, as its type and mark say."""

from __future__ import annotations

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
from fairaudit.codec.slots import (
    RowLike,
    Slot,
    Tree,
    flat,
    flat_number,
    merge,
    number,
    of_document,
    precise,
    rare,
    suppresses,
    within,
)
from fairaudit.codec.values import (
    ANYTHING,
    DAY,
    FLAG,
    NUMBER,
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
from fairaudit.members import Member, properties_of

_NO_MARK = Member()
_SIMPLE: Mapping[Any, Kind] = {bool: FLAG, float: NUMBER, date: DAY, object: ANYTHING, str: TEXT}
DEFINITIONS: dict[str, Row] = {}
"""The rows by the names of their schemas."""


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
            slot = within(outer, slot)
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
                merge(tree, members)
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
        return of_document(mark.shared)
    if mark.suppresses:
        return suppresses()
    if mark.stated and mark.flat:
        return flat_number(stated(mark.none, name), optional=field.is_optional)
    if mark.flat:
        return flat(row_of(hint), frozenset(mark.without.split()), optional=field.is_optional)
    kind = kind_of(hint, mark)
    bare = _without_none(hint) if field.is_optional else hint
    slot = Slot(
        lambda value: {name: kind.write(value)},
        lambda tree, shared: read_member(tree, name, kind.read, shared),
        {name: (kind.schema, True)},
    )
    if bare is float and not mark.stated:
        slot = number(name, slot)
    elif bare in {Decimal, Fraction} and not mark.text:
        slot = precise(name, kind)
    return rare(slot, field.default) if mark.rare else slot


def _refuse_other(tree: Any, follows: Tree) -> None:
    """Raises `Unreadable` where a member is not what follows from the others."""
    for name, value in follows.items():
        if isinstance(value, dict):
            read_member(tree, name, lambda found, _, value=value: _refuse_other(found, value), {})  # type: ignore[misc]  # a lambda with a default has no type
        elif read_member(tree, name, raw, {}) != value:
            refuse(tree[name], "does not follow from the rest", name)
