"""How classes are written as JSON objects: a member for each field, as its type and mark say.

The members of a field are a `Kind` as any other: written they are an object, and read from the
object that has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, reduce
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from fairaudit.codec import values
from fairaudit.codec.schema import DEFINITIONS, describe, join, object_of, sentences
from fairaudit.codec.values import NUMBER, STATE, Kind, maybe, read_member, refuse
from fairaudit.estimate import Estimate, State, state_of
from fairaudit.frozen import NODEFAULT, Frozen, fields
from fairaudit.json_marks import Member, Unreadable
from fairaudit.metrics import Metric
from fairaudit.metrics.record_names import MetricName, find_record, name_record

Tree: TypeAlias = dict[str, Any]
_NO_MARK = Member()


@cache
def row_of(cls: Any, without: str = "", only: str = "") -> Kind:
    """A class: the members of its fields and of its declared properties.

    `without` some fields, which have their defaults, or `only` with some of both.
    """
    hints, defaults = get_type_hints(cls, include_extras=True), _defaults_of(cls)
    types = {name: hints[name] for name in defaults} | _written_properties(cls)
    members = {
        name: _members_of(cls, name, types[name], defaults.get(name, NODEFAULT))
        for name in only.split() or types
        if name not in without.split()
    }
    schema = reduce(join, (kind.schema for kind in members.values()))
    writers = [(name, kind.write) for name, kind in members.items()]
    readers = [(name, kind.read) for name, kind in members.items() if name in defaults]
    derived = [(name, kind.write) for name, kind in members.items() if name not in defaults]
    contradictions_of = getattr(cls, "contradictions", lambda _: ())
    is_nested = any("properties" in member for member in schema["properties"].values())
    add: Callable[[Tree, Tree], None] = _merge if is_nested else dict.update

    def write(value: Any) -> Tree:
        tree: Tree = {}
        for name, write_members in writers:
            add(tree, write_members(getattr(value, name)))
        return tree

    def read(tree: Tree) -> Any:
        if not isinstance(tree, dict):
            refuse(tree, "is no object")
        stored = {name: read_members(tree) for name, read_members in readers}
        try:
            row = cls(**stored)
            for fault in contradictions_of(row):
                raise fault
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up") from error
        except Unreadable as fault:
            refuse(tree, fault.why, fault.path)
        for name, write_members in derived:
            _refuse_other(tree, write_members(getattr(row, name)))
        return row

    return Kind(write, read, schema)


def _defaults_of(cls: Any) -> dict[str, Any]:
    """The default of each field of a data class or named tuple; `NODEFAULT` where it has none."""
    if issubclass(cls, Frozen):
        return {field.name: field.default for field in fields(cls)}
    return {**dict.fromkeys(cls._fields, NODEFAULT), **cls._field_defaults}


def _written_properties(cls: Any) -> dict[str, Any]:
    """What the properties of a class return that are marked as members."""
    getters = {name: value.fget for name, value in vars(cls).items() if isinstance(value, property)}
    return {
        name: get_type_hints(getter, include_extras=True)["return"]
        for name, getter in getters.items()
        if "Annotated[" in str(getter.__annotations__["return"])
    }


@cache
def one_of(*classes: Any) -> Kind:
    """A row of one of several classes, whose member `type` says which."""
    rows = {cls.__name__: row_of(cls) for cls in classes}
    words = {"enum": [*rows], "description": "Which of the types of a result it is."}
    either = reduce(
        lambda row, other: join(row, other, either=True), [row.schema for row in rows.values()]
    )

    def read_type(name: Any) -> Kind:
        return rows.get(values.TEXT.read(name)) or refuse(name, f"is none of {', '.join(rows)}")

    def write(value: Any) -> Tree:
        name = type(value).__name__
        return {"type": name, **rows[name].write(value)}

    return Kind(
        write,
        lambda tree: read_member(tree, "type", read_type).read(tree),
        join(object_of({"type": words}, "type"), either),
    )


def reference_to(cls: type, *, typed: bool = False) -> Kind:
    """A row as a value of its own, defined once; `typed` where it is one of several classes."""
    row = one_of(cls) if typed else row_of(cls)
    name = f"{'typed' if typed else cls.__module__.split('.')[1]}.{cls.__name__}"
    DEFINITIONS[name] = {"description": " ".join(sentences(cls)), **row.schema}
    return row._replace(schema={"$ref": f"#/$defs/{name}"})


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
    return _kind_of_class(hint, mark)


def _kind_of_class(cls: Any, mark: Member) -> Kind:
    if cls in values.KINDS:
        return values.KINDS[cls]
    if cls is int:
        return values.integer(mark.least)
    if cls in {Decimal, Fraction}:
        return values.exact(cls)
    if issubclass(cls, Enum):
        return values.choice(cls)
    return row_of(cls, only=mark.only) if mark.only else reference_to(cls)


def _kind_of_union(classes: list[Any]) -> Kind:
    schemas = [reference_to(cls, typed=True).schema for cls in classes]
    return one_of(*classes)._replace(schema={"anyOf": schemas})


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


def _members_of(cls: Any, field: str, hint: Any, default: object) -> Kind:
    """The members of a field, described, in the objects that its mark names."""
    mark = _NO_MARK
    if get_origin(hint) is Annotated:
        hint, mark = get_args(hint)[:2]
    *outer, name = mark.name.split(".")
    kind = _flat(hint, mark) if name == "*" else _plain(name or field, hint, mark)
    if mark.rare:
        kind = _rare(kind, default)
    kind = kind._replace(schema=describe(cls, field, kind.schema))
    return reduce(lambda inner, step: _member(step, inner), reversed(outer), kind)


def _member(name: str, kind: Kind) -> Kind:
    """One member of an object."""
    return Kind(
        lambda value: {name: kind.write(value)},
        lambda tree: read_member(tree, name, kind.read),
        object_of({name: kind.schema}, {name}),
    )


def _plain(name: str, hint: Any, mark: Member) -> Kind:
    """One member; of a number JSON may not have, two."""
    bare = _without_none(hint)[0]
    if bare is float:
        return _number(name, is_stated=mark.stated, is_optional=bare is not hint)
    is_exact = bare in {Decimal, Fraction} and not mark.text
    return (_precise if is_exact else _member)(name, kind_of(hint, mark))


def _flat(hint: Any, mark: Member) -> Kind:
    """The members of a row beside those of the row that it is in; no estimate is undefined."""
    if hint == Metric:
        return _record()
    classes = _without_none(hint)
    row = one_of(*classes) if len(classes) > 1 else row_of(classes[0], mark.without)
    if NoneType not in get_args(hint):
        return row

    def read(tree: Tree) -> Any:
        state = read_member(tree, "state", STATE.read)
        return None if state is State.UNDEFINED else row.read(tree)

    def write(value: Any) -> Any:
        return row.write(Estimate(math.nan) if value is None else value)

    return Kind(write, read, row.schema)


def _record() -> Kind:
    """The names of a record of the catalogue."""
    row = row_of(MetricName)

    def read(tree: Tree) -> Any:
        names = row.read(tree)
        try:
            return find_record(names)
        except Unreadable as fault:
            refuse(tree, fault.why, fault.path)

    return Kind(lambda record: row.write(name_record(record)), read, row.schema)


def _rare(kind: Kind, default: object) -> Kind:
    """The same, left out where the field has its default."""
    names = kind.schema["properties"].keys()
    return Kind(
        lambda value: {} if value == default else kind.write(value),
        lambda tree: default if names.isdisjoint(tree) else kind.read(tree),
        kind.schema | {"required": []},
    )


def _number(name: str, *, is_stated: bool, is_optional: bool) -> Kind:
    """A number; where JSON does not have it, it is null and `x_state` says which it is.

    A `stated` one always has its `state`, that of None is undefined.
    """
    of_state = "state" if is_stated else f"{name}_state"
    kind = maybe(NUMBER) if is_optional and not is_stated else NUMBER

    def write(value: float | None) -> Tree:
        if value is not None and math.isfinite(value):
            number = {name: NUMBER.write(value)}
            return number | {of_state: "defined"} if is_stated else number
        state = State.UNDEFINED if value is None else state_of(value)
        has_state = is_stated or value is not None
        return {name: None} | ({of_state: state.value} if has_state else {})

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
    return Kind(write, read, object_of(schemas, {name, "state"}))


def _precise(name: str, kind: Kind) -> Kind:
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""
    of_text = f"{name}_text"

    def write(value: Any) -> Tree:
        return {name: _nearest(value), of_text: kind.write(value)}

    def read(tree: Tree) -> Any:
        value = read_member(tree, of_text, kind.read)
        number = {name: _nearest(value)}
        _refuse_other(tree, number, f"is not the number of `{of_text}`")
        return value

    text = {**kind.schema, "description": f"Exactly {name}, as text."}
    schemas = {name: maybe(NUMBER).schema, of_text: text}
    return Kind(write, read, object_of(schemas, schemas))


def _nearest(value: Decimal | Fraction | None) -> Any:
    """The nearest number that JSON has; None where it has none."""
    try:
        number = math.inf if value is None else float(value)
    except OverflowError:
        return None
    return NUMBER.write(number) if math.isfinite(number) else None


def _merge(tree: Tree, members: Tree) -> None:
    """Adds members to an object, and to the objects within."""
    for name, value in members.items():
        if name in tree and isinstance(value, dict) and isinstance(tree[name], dict):
            _merge(tree[name], value)
        else:
            tree[name] = value


def _refuse_other(tree: Tree, follows: Tree, why: str = "does not follow from the rest") -> None:
    """Raises `Unreadable` where a member is not what follows from the others."""
    for name, value in follows.items():

        def read(member: Any, value: Any = value) -> None:
            if isinstance(value, dict) and isinstance(member, dict):
                _refuse_other(member, value, why)
            elif member != value:
                refuse(member, why)

        read_member(tree, name, read)
