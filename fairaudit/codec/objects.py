"""How classes are JSON objects: a member for each field; numbers that JSON lacks (`x_state`)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, partial, reduce
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from fairaudit.base.frozen import NODEFAULT, field_names
from fairaudit.base.json_marks import Member, Unreadable
from fairaudit.codec import values
from fairaudit.codec.schema import define, describe, join, object_of
from fairaudit.codec.values import NUMBER, STATE, Kind, Schema, Tree, read_member
from fairaudit.metrics import Metric
from fairaudit.metrics.estimate import Estimate, State, state_of
from fairaudit.metrics.record_names import MetricName, find_record, name_record

_NO_MARK = Member()
_NUMBER_OR_NULL = values.maybe(NUMBER)


class Row:
    """The members of a class: those of its fields, and of its declared properties.

    `without` some fields, which have their defaults, or `only` with some of both. They are looked
    up when the first row is written or read: most runs have no row of most classes.
    """

    def __init__(self, cls: Any, without: str = "", only: str = "") -> None:
        self.cls, self.without, self.only = cls, without.split(), only.split()

    @cached_property
    def members(self) -> dict[str, Kind]:
        """The members of each field and property."""
        hints, defaults = _hints_of(self.cls), _defaults_of(self.cls)
        return {
            name: _members_of(self.cls, name, hints[name], defaults.get(name, NODEFAULT))
            for name in self.only or hints
            if name not in self.without
        }

    @cached_property
    def add(self) -> Callable[[Tree, Any], Tree]:
        """Adds the members of a row to an object, which it returns: compiled statements."""
        lines = [kind.write.replace("$", f"row.{name}") for name, kind in self.members.items()]
        code = "\n ".join(["def add(tree, row):", *lines, "return tree"]).replace("@", "tree")
        compiled: dict[str, Callable[[Tree, Any], Tree]] = {}
        exec(code, _NAMES, compiled)  # noqa: S102  # of names of fields and members alone
        return compiled["add"]

    def write(self, row: Any) -> Tree:
        """A row as an object of its own."""
        return self.add({}, row)

    @cached_property
    def flat(self) -> Kind:
        """A row as members of the object that it is in; what writes it is compiled when it runs."""
        return Kind(f"{_name_of(self)}.add(@, $)", self.read, self.describe)

    @property
    def whole(self) -> Kind:
        """A row as a value of its own."""
        return Kind(self.flat.write.replace("@", "{}"), self.read, self.refer)

    def read(self, tree: Tree) -> Any:
        """The row in an object; raises `Unreadable` where it contradicts itself."""
        values.OBJECT.read(tree)
        fields_of, derived = self._readers
        stored = {name: value for name, read in fields_of if (value := read(tree)) is not NODEFAULT}
        try:
            row = self.cls(**stored)
            for fault in row.contradictions() if hasattr(self.cls, "contradictions") else ():
                raise fault
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up") from error
        except Unreadable as fault:
            values.refuse(tree, fault.why, fault.path)
        if derived is not None:
            _refuse_other(tree, derived.write(row), "does not follow from the rest")
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

    def refer(self) -> Schema:
        """The schema of such an object as a value of its own, which is defined once."""
        return self.describe() if self.only else define(self.cls.__name__, self.cls, self.describe)


row_of = cache(Row)


def _name_of(thing: object) -> str:
    """The name by which code refers to a thing."""
    _NAMES[name := f"_{len(_NAMES)}"] = thing
    return name


def _hints_of(cls: Any) -> dict[str, Any]:
    """The types of the fields of a class, and what its properties return that are members."""
    getters = {name: value.fget for name, value in vars(cls).items() if isinstance(value, property)}
    returned = {name: getter.__annotations__["return"] for name, getter in getters.items()}
    texts = {name: cls.__annotations__[name] for name in field_names(cls)}
    texts |= {name: text for name, text in returned.items() if "Annotated[" in text}
    return {name: _evaluate(text, cls.__module__) for name, text in texts.items()}


@cache
def _evaluate(text: str, module: str) -> Any:
    """The type that an annotation of our own means; `get_type_hints` takes four times as long."""
    return eval(text, vars(sys.modules[module]))  # noqa: S307  # of our own source


def _defaults_of(cls: Any) -> dict[str, Any]:
    """The defaults of fields: the last ones have them."""
    return dict(zip(field_names(cls)[::-1], cls.__struct_defaults__[::-1], strict=False))


class OneOf(Row):
    """A row of one of several classes, whose member `type` says which."""

    def __init__(self, *classes: type) -> None:
        self.rows = {cls.__name__: row_of(cls) for cls in classes}

    def add(self, tree: Tree, row: Any) -> Tree:
        tree["type"] = name = type(row).__name__
        return self.rows[name].add(tree, row)

    def read(self, tree: Tree) -> Any:
        return read_member(tree, "type", self._read_type).read(tree)

    def _read_type(self, name: Any) -> Row:
        known = ", ".join(self.rows)
        return self.rows.get(values.TEXT.read(name)) or values.refuse(name, f"is none of {known}")

    def describe(self) -> Schema:
        words = {"enum": [*self.rows], "description": "Which of the types of a result it is."}
        schemas = [row.describe() for row in self.rows.values()]
        either = reduce(lambda row, other: join(row, other, either=True), schemas)
        return join(object_of({"type": words}, "type"), either)

    def refer(self) -> Schema:
        references = [
            define(f"typed.{row.cls.__name__}", row.cls, OneOf(row.cls).describe)
            for row in self.rows.values()
        ]
        return {"anyOf": references} if len(references) > 1 else references[0]


@cache
def kind_of(hint: Any, mark: Member = _NO_MARK) -> Kind:
    """How a value of a type is written and read."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _kind_of_tuple(arguments, mark)
    if origin in {Union, UnionType}:
        classes = _without_none(hint)
        kind = OneOf(*classes).whole if len(classes) > 1 else kind_of(classes[0], mark)
        return values.maybe(kind) if NoneType in arguments else kind
    if origin is not None:
        return values.named(kind_of(arguments[1]), pairs=False)
    if hint is int:
        return values.integer(mark.least)
    if issubclass(hint, Enum):
        return values.choice(hint)
    return values.KINDS.get(hint) or row_of(hint, only=mark.only).whole


def _kind_of_tuple(arguments: tuple[Any, ...], mark: Member) -> Kind:
    """Pairs of names and values are an object, all others are a list."""
    item = arguments[0]
    inner = get_args(item) if get_origin(item) is tuple else ()
    if arguments[-1] is Ellipsis and inner[:1] == (str,) and inner[1] is not Ellipsis:
        return values.named(kind_of(inner[1]), pairs=True)
    length = None if arguments[-1] is Ellipsis else len(arguments)
    return values.several(kind_of(item, mark), length)


def _without_none(hint: Any) -> list[Any]:
    """The classes of a union but for None; of any other type itself."""
    is_union = get_origin(hint) in {Union, UnionType}
    return [cls for cls in (get_args(hint) if is_union else (hint,)) if cls is not NoneType]


def _members_of(cls: Any, name: str, hint: Any, default: Any) -> Kind:
    """The members of a field or property, in the objects that its mark names."""
    mark = _NO_MARK
    if get_origin(hint) is Annotated:
        hint, mark = get_args(hint)[:2]
    *outer, member = mark.name.split(".")
    kind = _flat(hint, mark) if member == "*" else _plain(member or name, hint, mark)
    if mark.rare:
        kind = _rare(kind, default)
    described = kind._replace(describe=lambda: describe(cls, name, kind.describe()))
    return reduce(_within, reversed(outer), described)


def _within(kind: Kind, name: str) -> Kind:
    """A value as a member, or members in an object within."""
    inner = kind.write.replace("@", f"@.setdefault({name!r}, {{}})")
    return Kind(
        inner if "@" in kind.write else f"@[{name!r}] = {kind.write}",
        lambda tree: read_member(tree, name, kind.read),
        lambda: object_of({name: kind.describe()}, {name}),
    )


def _plain(name: str, hint: Any, mark: Member) -> Kind:
    """One member; of a number JSON may not have, two."""
    bare = _without_none(hint)[0]
    if bare is float:
        return _number(name, is_stated=mark.stated, is_optional=bare is not hint)
    kind = kind_of(hint, mark)
    is_exact = bare in {Decimal, Fraction} and not mark.text
    return _precise(name, kind) if is_exact else _within(kind, name)


def _flat(hint: Any, mark: Member) -> Kind:
    """The members of a row beside those of the row that it is in; no estimate is undefined.

    Those of a record of the catalogue are its names.
    """
    if hint == Metric:
        kind = row_of(MetricName).flat
        code, read_name = kind.write.replace("$", "name_record($)"), kind.read
        return Kind(code, lambda tree: find_record(read_name(tree)), kind.describe)
    classes = _without_none(hint)
    row = OneOf(*classes) if len(classes) > 1 else row_of(classes[0], mark.without)
    if NoneType not in get_args(hint):
        return row.flat

    def read(tree: Tree) -> Any:
        state = read_member(tree, "state", STATE.read)
        return None if state is State.UNDEFINED else row.read(tree)

    return Kind(row.flat.write.replace("$", "$ or UNDEFINED"), read, row.describe)


def _rare(kind: Kind, default: Any) -> Kind:
    """The members of a field, left out where it has its default."""
    members = cache(lambda: kind.describe()["properties"])
    return Kind(
        f"if $ != {_name_of(default)}: {kind.write}",
        lambda tree: NODEFAULT if members().keys().isdisjoint(tree) else kind.read(tree),
        lambda: kind.describe() | {"required": []},
    )


def _number(name: str, *, is_stated: bool, is_optional: bool) -> Kind:
    """A number; where JSON does not have it, it is null and `x_state` says which it is.

    A `stated` one always has its `state`, that of None is undefined.
    """
    of_state = "state" if is_stated else f"{name}_state"
    kind = _NUMBER_OR_NULL if is_optional and not is_stated else NUMBER

    def read(tree: Tree) -> Any:
        has_state = is_stated or of_state in tree
        state = read_member(tree, of_state, STATE.read) if has_state else State.DEFINED
        if state is State.DEFINED:
            return read_member(tree, name, kind.read)
        if tree.get(name) is not None:
            raise Unreadable(f"is not null, and {state}", name)
        is_none = is_optional and is_stated and state is State.UNDEFINED
        return None if is_none else values.NUMBERS.get(state, math.nan)

    def describe_both() -> Schema:
        states = [state.value for state in (State if is_stated else values.NUMBERS)]
        schemas = {name: _NUMBER_OR_NULL.describe(), of_state: {"enum": states}}
        return object_of(schemas, {name, "state"})

    if not is_stated:
        return Kind(f"add_number(@, {name!r}, $)", read, describe_both)
    # Every estimate has one: a call would take longer. 1e999 is infinite.
    value = "UNDEFINED.value if $ is None else $" if is_optional else "$"
    pair = "(value, 'defined') if -1e999 < value < 1e999 else (None, state_of(value)._value_)"
    return Kind(f"value = {value}; @[{name!r}], @['state'] = {pair}", read, describe_both)


def _precise(name: str, kind: Kind) -> Kind:
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""
    of_text = f"{name}_text"

    def read(tree: Tree) -> Any:
        value = read_member(tree, of_text, kind.read)
        _refuse_other(tree, {name: _nearest(value)}, f"is not the number of `{of_text}`")
        return value

    def describe_both() -> Schema:
        text = kind.describe() | {"description": f"Exactly {name}, as text."}
        schemas = {name: _NUMBER_OR_NULL.describe(), of_text: text}
        return object_of(schemas, schemas)

    write = f"@[{name!r}], @[{of_text!r}] = nearest($), {kind.write}"
    return Kind(write, read, describe_both)


def _nearest(value: Decimal | Fraction | None) -> float | None:
    """The nearest number that JSON has; None where it has none."""
    try:
        number = math.inf if value is None else float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _add_number(tree: Tree, name: str, value: float | None) -> None:
    if value is None or math.isfinite(value):
        tree[name] = value
    else:
        tree[name], tree[f"{name}_state"] = None, state_of(value).value


_NAMES: dict[str, Any] = {
    "add_number": _add_number,
    "name_record": name_record,
    "nearest": _nearest,
    "state_of": state_of,
    "text_of": values.text_of,
    "UNDEFINED": Estimate(math.nan),
}
"""What the code that writes rows refers to, by its name there."""


def _refuse_other(tree: Any, value: Any, why: str) -> None:
    """Raises `Unreadable` where a member is not the value that follows from the others."""
    if isinstance(value, dict):
        for name, member in value.items():
            read_member(tree, name, partial(_refuse_other, value=member, why=why))
    elif tree != value:
        values.refuse(tree, why)
