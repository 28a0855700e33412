"""How classes are written as JSON objects: members for each field, as its type and mark say."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, reduce
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec.structs import FieldInfo

from fairaudit.codec import values
from fairaudit.codec.schema import DEFINITIONS, describe, join, object_of, sentences
from fairaudit.codec.values import NUMBER, STATE, Kind, Schema, Tree, maybe, read_member, refuse
from fairaudit.estimate import Estimate, State, state_of
from fairaudit.frozen import NODEFAULT, field_names, fields
from fairaudit.json_marks import Member, Unreadable
from fairaudit.metrics import Metric
from fairaudit.metrics.record_names import MetricName, find_record, name_record

_NO_MARK = Member()


class Members(NamedTuple):
    """The members of a field: read from an object, described, and added by a Python statement.

    In that `{0}` is the name of the field, behind which those of the objects that it `uses` end.
    """

    read: Callable[[Tree], Any]
    describe: Callable[[], Schema]
    uses: dict[str, Any]
    statement: str = "add_{0}({tree}, row.{0})"


class Row:
    """The members of a class: those of its fields, and of its declared properties.

    `without` some fields, which have their defaults, or `only` with some of both. They are looked
    up when the first row is written or read: most runs have no row of most classes.
    """

    def __init__(self, cls: Any, without: str = "", only: str = "") -> None:
        self.cls, self.without, self.only = cls, without.split(), only.split()

    @cached_property
    def members(self) -> dict[str, Members]:
        """The members of each field and property."""
        of_fields = {field.name: field for field in fields(self.cls)}
        types = {name: field.type for name, field in of_fields.items()}
        types |= _written_properties(self.cls)
        return {
            name: _members_of(self.cls, name, types[name], of_fields.get(name))
            for name in self.only or types
            if name not in self.without
        }

    @cached_property
    def add(self) -> Callable[[Tree, Any], None]:
        """Adds the members of a row to an object: a function of a statement for each, compiled."""
        lines, names = ["def add(tree, row):"], dict[str, Any]()
        for name, members in self.members.items():
            names |= {f"{use}_{name}": value for use, value in members.uses.items()}
            lines.append(members.statement.format(name, tree="tree"))
        exec("\n ".join(lines), names)  # noqa: S102  # of names of fields and members alone
        add: Callable[[Tree, Any], None] = names["add"]
        return add

    def write(self, row: Any) -> Tree:
        """A row as an object of its own."""
        tree: Tree = {}
        self.add(tree, row)
        return tree

    def read(self, tree: Tree) -> Any:
        """The row in an object; raises `Unreadable` where it contradicts itself."""
        values.check_object(tree)
        fields_of, derived = self._readers
        stored = {name: read(tree) for name, read in fields_of}
        try:
            row = self.cls(**stored)
            for fault in row.contradictions() if hasattr(self.cls, "contradictions") else ():
                raise fault
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up") from error
        except Unreadable as fault:
            refuse(tree, fault.why, fault.path)
        if derived is not None:
            _refuse_other(tree, derived.write(row))
        return row

    @cached_property
    def _readers(self) -> tuple[list[tuple[str, Callable[[Tree], Any]]], Row | None]:
        """What reads the fields, and the row of the properties, which follow from them."""
        names, members = field_names(self.cls), self.members
        derived = " ".join(name for name in members if name not in names)
        stored = [(name, members[name].read) for name in names if name in members]
        return stored, row_of(self.cls, only=derived) if derived else None

    def describe(self) -> Schema:
        """The schema of such an object."""
        return reduce(join, (members.describe() for members in self.members.values()))


row_of = cache(Row)


def _written_properties(cls: Any) -> dict[str, Any]:
    """What the properties of a class return that are marked as members."""
    getters = {name: value.fget for name, value in vars(cls).items() if isinstance(value, property)}
    return {
        name: get_type_hints(getter, include_extras=True)["return"]
        for name, getter in getters.items()
        if "Annotated[" in str(getter.__annotations__["return"])
    }


class OneOf(Row):
    """A row of one of several classes, whose member `type` says which."""

    def __init__(self, *classes: type) -> None:
        self.rows = {cls.__name__: row_of(cls) for cls in classes}

    def add(self, tree: Tree, row: Any) -> None:
        tree["type"] = name = type(row).__name__
        self.rows[name].add(tree, row)

    def read(self, tree: Tree) -> Any:
        return read_member(tree, "type", self._read_type).read(tree)

    def _read_type(self, name: Any) -> Row:
        known = ", ".join(self.rows)
        return self.rows.get(values.TEXT.read(name)) or refuse(name, f"is none of {known}")

    def describe(self) -> Schema:
        words = {"enum": [*self.rows], "description": "Which of the types of a result it is."}
        schemas = [row.describe() for row in self.rows.values()]
        either = reduce(lambda row, other: join(row, other, either=True), schemas)
        return join(object_of({"type": words}, "type"), either)


def reference_to(cls: type, *, typed: bool = False) -> Kind:
    """A row as a value of its own, defined once; `typed` where it is one of several classes."""
    row = OneOf(cls) if typed else row_of(cls)
    name = f"{'typed' if typed else cls.__module__.split('.')[1]}.{cls.__name__}"
    DEFINITIONS[name] = lambda: {"description": " ".join(sentences(cls)), **row.describe()}
    return Kind(row.write, row.read, {"$ref": f"#/$defs/{name}"})


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
        return values.named(kind_of(arguments[1]), pairs=False)
    if hint is int:
        return values.integer(mark.least)
    if mark.only:
        row = row_of(hint, only=mark.only)
        return Kind(row.write, row.read, row.describe())
    return values.KINDS.get(hint) or _kind_of_class(hint)


def _kind_of_class(cls: Any) -> Kind:
    if cls in {Decimal, Fraction}:
        return values.exact(cls)
    return values.choice(cls) if issubclass(cls, Enum) else reference_to(cls)


def _kind_of_union(classes: list[Any]) -> Kind:
    either = OneOf(*classes)
    schemas = [reference_to(cls, typed=True).schema for cls in classes]
    return Kind(either.write, either.read, {"anyOf": schemas})


def _kind_of_tuple(arguments: tuple[Any, ...], mark: Member) -> Kind:
    """Pairs of names and values are an object, all others are a list."""
    item = arguments[0]
    if arguments[-1] is Ellipsis and get_origin(item) is tuple and get_args(item)[0] is str:
        return values.named(kind_of(get_args(item)[1]), pairs=True)
    length = None if arguments[-1] is Ellipsis else len(arguments)
    return values.several(kind_of(item, mark), length)


def _without_none(hint: Any) -> list[Any]:
    """The classes of a union but for None; of any other type itself."""
    is_union = get_origin(hint) in {Union, UnionType}
    return [cls for cls in (get_args(hint) if is_union else (hint,)) if cls is not NoneType]


def _members_of(cls: Any, name: str, hint: Any, field: FieldInfo | None) -> Members:
    """The members of a field or property, in the objects that its mark names."""
    mark = _NO_MARK
    if get_origin(hint) is Annotated:
        hint, mark = get_args(hint)[:2]
    *outer, member = mark.name.split(".")
    members = _flat(hint, mark) if member == "*" else _plain(member or name, hint, mark)
    if mark.rare and field is not None:
        members = _rare(members, field)
    described = members._replace(describe=lambda: describe(cls, name, members.describe()))
    return reduce(_within, reversed(outer), described)


def _within(members: Members, name: str) -> Members:
    """The same in an object within."""
    return Members(
        lambda tree: read_member(tree, name, members.read),
        lambda: object_of({name: members.describe()}, {name}),
        members.uses,
        members.statement.replace("{tree}", f"{{tree}}.setdefault({name!r}, dict())"),
    )


def _plain(name: str, hint: Any, mark: Member) -> Members:
    """One member; of a number JSON may not have, two."""
    bare = _without_none(hint)[0]
    if bare is float:
        return _number(name, is_stated=mark.stated, is_optional=bare is not hint)
    is_exact = bare in {Decimal, Fraction} and not mark.text
    return (_precise if is_exact else _member)(name, kind_of(hint, mark))


def _member(name: str, kind: Kind) -> Members:
    """One member."""
    written = "row.{0}" if kind.write is values.unchanged else "write_{0}(row.{0})"
    return Members(
        lambda tree: read_member(tree, name, kind.read),
        lambda: object_of({name: kind.schema}, {name}),
        {"write": kind.write},
        f"{{tree}}[{name!r}] = {written}",
    )


def _flat(hint: Any, mark: Member) -> Members:
    """The members of a row beside those of the row that it is in; no estimate is undefined."""
    if hint == Metric:
        return _record()
    classes = _without_none(hint)
    row = OneOf(*classes) if len(classes) > 1 else row_of(classes[0], mark.without)
    if NoneType not in get_args(hint):
        return Members(row.read, row.describe, {"add": row.add})

    def read(tree: Tree) -> Any:
        state = read_member(tree, "state", STATE.read)
        return None if state is State.UNDEFINED else row.read(tree)

    def add(tree: Tree, value: Any) -> None:
        row.add(tree, Estimate(math.nan) if value is None else value)

    return Members(read, row.describe, {"add": add})


def _record() -> Members:
    """The names of a record of the catalogue."""
    row = row_of(MetricName)

    def add(tree: Tree, record: Metric) -> None:
        row.add(tree, name_record(record))

    return Members(lambda tree: find_record(row.read(tree)), row.describe, {"add": add})


def _rare(members: Members, field: FieldInfo) -> Members:
    """The same, left out where the field has its default."""
    names, default, make = members.describe()["properties"], field.default, field.default_factory

    def read(tree: Tree) -> Any:
        if not names.keys().isdisjoint(tree):
            return members.read(tree)
        return default if make is NODEFAULT else make()

    return Members(
        read,
        lambda: members.describe() | {"required": []},
        {**members.uses, "default": default},
        "if row.{0} != default_{0}: " + members.statement,
    )


def _number(name: str, *, is_stated: bool, is_optional: bool) -> Members:
    """A number; where JSON does not have it, it is null and `x_state` says which it is.

    A `stated` one always has its `state`, that of None is undefined.
    """
    of_state = "state" if is_stated else f"{name}_state"
    kind = maybe(NUMBER) if is_optional and not is_stated else NUMBER

    isfinite = math.isfinite

    def add(tree: Tree, value: float | None) -> None:
        if value is None or not isfinite(value):
            tree[name] = None
            if is_stated or value is not None:
                tree[of_state] = (State.UNDEFINED if value is None else state_of(value)).value
            return
        tree[name] = value
        if is_stated:
            tree[of_state] = "defined"

    def read(tree: Tree) -> Any:
        has_state = is_stated or of_state in tree
        state = read_member(tree, of_state, STATE.read) if has_state else State.DEFINED
        if state is State.DEFINED:
            return read_member(tree, name, kind.read)
        if tree.get(name) is not None:
            raise Unreadable(f"is not null, and {state}", name)
        is_none = is_optional and is_stated and state is State.UNDEFINED
        return None if is_none else values.NUMBERS.get(state, math.nan)

    states = [state.value for state in (State if is_stated else values.NUMBERS)]
    schemas = {name: maybe(NUMBER).schema, of_state: {"enum": states}}
    return Members(read, lambda: object_of(schemas, {name, "state"}), {"add": add})


def _precise(name: str, kind: Kind) -> Members:
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""
    of_text = f"{name}_text"

    def add(tree: Tree, value: Any) -> None:
        tree[name], tree[of_text] = _nearest(value), kind.write(value)

    def read(tree: Tree) -> Any:
        value = read_member(tree, of_text, kind.read)
        _refuse_other(tree, {name: _nearest(value)}, f"is not the number of `{of_text}`")
        return value

    text = {**kind.schema, "description": f"Exactly {name}, as text."}
    schemas = {name: maybe(NUMBER).schema, of_text: text}
    return Members(read, lambda: object_of(schemas, schemas), {"add": add})


def _nearest(value: Decimal | Fraction | None) -> float | None:
    """The nearest number that JSON has; None where it has none."""
    try:
        number = math.inf if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _refuse_other(tree: Tree, follows: Tree, why: str = "does not follow from the rest") -> None:
    """Raises `Unreadable` where a member is not what follows from the others."""
    for name, value in follows.items():

        def read(member: Any, value: Any = value) -> None:
            if isinstance(value, dict) and isinstance(member, dict):
                _refuse_other(member, value, why)
            elif member != value:
                refuse(member, why)

        read_member(tree, name, read)
