"""How classes are written as JSON objects: a member for each field, as its type and mark say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, reduce
from operator import or_
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from fairaudit.codec.rules import INVARIANTS, SPECIAL, Record, choose
from fairaudit.codec.schema import merged, name_of, object_of, sentences
from fairaudit.codec.slots import (
    Definitions,
    Field,
    Flat,
    FlatState,
    Float,
    Members,
    OfDocument,
    OneMember,
    Precise,
    Slot,
    Suppresses,
    Tree,
    Within,
    Witness,
)
from fairaudit.codec.values import (
    FLAG,
    NUMBER,
    Anything,
    Choice,
    Day,
    Exact,
    Integer,
    Kind,
    Maybe,
    Named,
    Schema,
    Several,
    Shared,
    Stated,
    Text,
    Unreadable,
    closed,
    raw,
    refuse,
    refuse_member,
)
from fairaudit.estimate import State
from fairaudit.members import Member, properties_of

_NO_MARK = Member()
_SIMPLE: Mapping[Any, Kind] = {bool: FLAG, float: NUMBER, date: Day(), object: Anything()}


class Reference(Kind):
    """A row that the document lists elsewhere, by the members that tell which it is."""

    def __init__(self, row: Row, mark: Member) -> None:
        self.row, self.names, self.listed = row, mark.key.split(), mark.shared

    def write(self, value: Any) -> object:
        tree = self.row.write(value)
        return {name: tree[name] for name in self.names}

    def read(self, tree: Any, shared: Shared) -> Any:
        key = str([raw(tree, name) for name in self.names])
        found = shared[self.listed].get(key)
        return refuse(tree, f"is not among the {self.listed}") if found is None else found

    def schema(self, definitions: Definitions) -> Schema:
        members = {name: schema for name, schema, _ in self.row.members(definitions)}
        return closed({name: members[name] for name in self.names}, self.names)


class Row(Kind):
    """A class: an object with the members of its fields and of its declared properties."""

    def __init__(self, cls: Any) -> None:
        self.cls = cls

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """How each field is written."""
        return tuple(_slots(self.cls))

    @cached_property
    def derived(self) -> tuple[Slot, ...]:
        """How each declared property is written, which follows from the fields."""
        getters = {name: vars(self.cls)[name].fget for name in properties_of(self.cls)}
        return tuple(
            _slot(Field(self.cls, name, get_type_hints(getters[name])["return"], mark))
            for name, mark in properties_of(self.cls).items()
        )

    @cached_property
    def constants(self) -> Mapping[str, str]:
        """The members that are the same in every row: `ClassVar[Annotated[Literal[…], …]]`."""
        found = {}
        for hint in get_type_hints(self.cls, include_extras=True).values():
            if get_origin(hint) is ClassVar:
                word, mark = get_args(get_args(hint)[0])
                found[mark.name] = get_args(word)[0]
        return found

    @cached_property
    def needed(self) -> frozenset[str]:
        """The members that are always there."""
        return frozenset(name for name, _, always in self.members({}) if always)

    def write(self, value: Any) -> Tree:
        tree: Tree = {}
        self.put(value, tree)
        return tree

    def put(self, value: object, tree: Tree, without: frozenset[str] = frozenset()) -> None:
        """Writes the members of a row into an object."""
        tree.update(self.constants)
        for slot in self.slots:
            if slot.name not in without:
                slot.put(value, tree)
        for slot in self.derived:
            slot.put(value, tree)

    def read(self, tree: Any, shared: Shared) -> Any:
        return self.take(tree, shared)

    def take(self, tree: Any, shared: Shared, without: frozenset[str] = frozenset()) -> Any:
        """The row in an object, whose other members are not looked at."""
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        values: Tree = {}
        for slot in self.slots:
            if slot.name not in without:
                slot.take(tree, shared, values)
        try:
            row = self.cls(**values)
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up") from error
        for name, holds, why in INVARIANTS.get(self.cls, ()):
            if not holds(row):
                refuse_member(tree, name, why)
        follows: Tree = {}
        for slot in self.derived:
            slot.put(row, follows)
        _refuse_other(tree, follows)
        return row

    def members(self, definitions: Definitions) -> Members:
        """The members of a row, as they stand in its object or in that of another."""
        for name, word in self.constants.items():
            yield name, {"const": word}, True
        for slot in (*self.slots, *self.derived):
            yield from slot.described(definitions)

    def schema(self, definitions: Definitions) -> Schema:
        name = name_of(self.cls)
        if name not in definitions:
            definitions[name] = {}
            about = " ".join(sentences(self.cls))
            definitions[name] = object_of(self.members(definitions), about)
        return {"$ref": f"#/$defs/{name}"}


class OneOf(Kind):
    """A row of one of several classes, each told by its members."""

    def __init__(self, classes: tuple[type, ...]) -> None:
        self.rows = {cls: Row(cls) for cls in classes}

    def write(self, value: Any) -> Tree:
        return self.rows[type(value)].write(value)

    def put(self, value: object, tree: Tree, without: frozenset[str] = frozenset()) -> None:
        """Writes the members of a row into an object."""
        self.rows[type(value)].put(value, tree, without)

    def read(self, tree: Any, shared: Shared) -> Any:
        return self.take(tree, shared)

    def take(self, tree: Any, shared: Shared, without: frozenset[str] = frozenset()) -> Any:
        """The row in an object."""
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        return self.rows[choose(self.rows, tree)].take(tree, shared, without)

    def members(self, definitions: Definitions) -> Members:
        """The members of all classes; always there is what every class has."""
        yield from merged([[*row.members(definitions)] for row in self.rows.values()])

    def schema(self, definitions: Definitions) -> Schema:
        return {"anyOf": [row.schema(definitions) for row in self.rows.values()]}


class Only(Kind):
    """Some members of a row, which is not read back."""

    def __init__(self, row: Kind, names: str) -> None:
        self.row, self.names = row, names.split()

    def write(self, value: Any) -> Tree:
        tree: Any = self.row.write(value)
        return {name: tree[name] for name in self.names}

    def read(self, tree: Any, shared: Shared) -> Any:
        raise NotImplementedError

    def schema(self, definitions: Definitions) -> Schema:
        assert isinstance(self.row, Row)
        members = {name: schema for name, schema, _ in self.row.members(definitions)}
        return closed({name: members[name] for name in self.names}, self.names)


@cache
def kind_of(hint: Any, mark: Member = _NO_MARK) -> Kind:
    """How a value of a type is written and read."""
    if hint in SPECIAL:
        return SPECIAL[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return kind_of(arguments[0], arguments[1])
    if origin is tuple:
        return _kind_of_tuple(arguments, mark)
    if mark.stated:
        return Stated(State(mark.none) if mark.none else None)
    if origin in {Union, UnionType}:
        classes = tuple(argument for argument in arguments if argument is not NoneType)
        kind = OneOf(classes) if len(classes) > 1 else kind_of(classes[0], mark)
        return kind if len(classes) == len(arguments) else Maybe(kind)
    if origin is not None:
        return Named(kind_of(arguments[1]), pairs=False)
    return _kind_of_class(hint, mark)


def _kind_of_tuple(arguments: tuple[Any, ...], mark: Member) -> Kind:
    """Pairs of names and values are an object, all others are a list."""
    item = arguments[0]
    if arguments[-1] is not Ellipsis:
        return Several(kind_of(item, mark), len(arguments))
    if get_origin(item) is tuple and get_args(item)[0] is str:
        return Named(kind_of(get_args(item)[1]), pairs=True, empty=mark.empty)
    return Several(kind_of(item, mark))


def _kind_of_class(cls: Any, mark: Member) -> Kind:
    if cls in _SIMPLE:
        return _SIMPLE[cls]
    if cls is str:
        return Text(nullable=mark.nullable)
    if cls is int:
        return Integer(mark.least)
    if cls in {Decimal, Fraction}:
        return Exact(cls)
    if issubclass(cls, Enum):
        return Choice(cls)
    row = Row(cls)
    if mark.key:
        return Reference(row, mark)
    return Only(row, mark.only) if mark.only else row


def _slots(cls: Any) -> Iterator[Slot]:
    """How each field of a dataclass or a named tuple is written."""
    hints = get_type_hints(cls, include_extras=True)
    if is_dataclass(cls):
        defaults = {field.name: field.default for field in fields(cls)}
    else:
        defaults = {name: cls._field_defaults.get(name, MISSING) for name in cls._fields}
    for name, default in defaults.items():
        hint, mark = hints[name], _NO_MARK
        if get_origin(hint) is Annotated:
            hint, mark = get_args(hint)[:2]
        if mark.name != "witness":
            yield _slot(Field(cls, name, hint, mark, default))
        elif name == "first":
            yield Witness(Field(cls, name, hint, mark))


def _slot(field: Field) -> Slot:
    """How a field is put into its object, or into one within it."""
    slot = _plain_slot(field)
    for name in reversed(field.outer):
        slot = Within(name, slot)
    return slot


def _plain_slot(field: Field) -> Slot:
    mark = field.mark
    if mark.shared and not mark.key:
        return OfDocument(field)
    if mark.suppresses:
        return Suppresses(field)
    if mark.stated and mark.flat:
        return FlatState(field, Stated(State(mark.none) if mark.none else None, field.member))
    hint = _without_none(field.hint) if field.optional else field.hint
    if mark.flat:
        kind = kind_of(hint)
        assert isinstance(kind, Row | OneOf | Record)
        return Flat(field, kind)
    kind = kind_of(field.hint, mark)
    if hint is float and not mark.stated:
        return Float(field, kind)
    is_precise = hint in {Decimal, Fraction} and not mark.text
    return Precise(field, kind) if is_precise else OneMember(field, kind)


def _without_none(hint: Any) -> Any:
    """A type without None."""
    return reduce(or_, (argument for argument in get_args(hint) if argument is not NoneType))


def _refuse_other(tree: Tree, follows: Tree) -> None:
    """Raises `Unreadable` where a member is not what follows from the others."""
    for name, value in follows.items():
        found = tree.get(name)
        if isinstance(value, dict) and isinstance(found, dict):
            try:
                _refuse_other(found, value)
            except Unreadable as fault:
                raise fault.within(name) from None
        elif name not in tree:
            raise Unreadable("is missing").within(name)
        elif found != value:
            refuse_member(tree, name, "does not follow from the rest")
