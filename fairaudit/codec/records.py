"""Records as JSON objects by msgspec: a member for each field, at the place that its mark names.

msgspec reads, checks and describes the members that `Row.struct` declares. What it does not know is
here: members of a row in the row around it, numbers that JSON lacks (`x_state`), exact numbers
(`x_text`), and members that follow from others.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cache, cached_property
from inspect import cleandoc
from math import isfinite
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeAlias,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT, UNSET, Meta, UnsetType

from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.frozen import FLAT, Member, Unreadable, fields
from fairaudit.metrics import Metric, MetricName, find_record, name_record
from fairaudit.metrics.estimate import Estimate, State, state_of

_SENTENCE = re.compile(r"(?<=[.:;])\s+(?=[A-Z`])|\n\n+")

GLOSSARY: Mapping[str, str] = {
    "of": "The outcome that is audited.",
    "by": "The columns that are crossed.",
    "given": "The stratum: a level of each conditioning column; {} is everybody.",
    "group": "The group: a level of each of its columns; {} is everybody.",
    "metric": "The id of the metric.",
    "title": "A name for people.",
    "state": "Whether there is a number; else `value` is null.",
    "value": "The number, null if it is not finite.",
    "n": "The number of people.",
    "numerator": "The number of these people, or the sum that is divided.",
    "denominator": "The divisor.",
    "reason": "The reason, as a sentence; empty or null without a reason.",
    "low": "The lower end of the interval, null if missing.",
    "high": "The upper end of the interval, null if missing.",
    "first": "The first group of the pair; for a spread the highest.",
    "second": "The second group of the pair: the reference, or for a spread the lowest.",
    "decided_by": "The rate or outcome that determines the value.",
    "parameters": "The other keys that the spec sets for the metric.",
    "significance": "The test, null if missing.",
    "place": "The place in the spec.",
}
"""Members with the same meaning everywhere, unless their class has a description."""


@cache
def sentences(cls: type) -> tuple[str, ...]:
    """The sentences of a class's docstring."""
    text = cleandoc(cls.__doc__ or "")
    return tuple(" ".join(sentence.split()) for sentence in _SENTENCE.split(text) if sentence)


def describe_class(cls: type) -> str:
    """The description of a class, from its docstring."""
    return " ".join(sentences(cls))


def describe_member(cls: type, field: str, member: str) -> str:
    """The sentences of a docstring about a field, or the glossary entry of a member."""
    said = " ".join(sentence for sentence in sentences(cls) if f"`{field}`" in sentence)
    return said or GLOSSARY.get(member) or f"{member.replace('_', ' ').capitalize()}."


Tree: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]
Convert: TypeAlias = Callable[[Any], Any]

_NO_MARK = Member()
_UNDEFINED = Estimate(math.nan)
_NUMBERS: dict[Any, float] = {
    State.UNDEFINED: math.nan,
    State.INFINITE: math.inf,
    State.NEGATIVE_INFINITE: -math.inf,
}
"""The states of numbers that JSON does not have."""

_DICT: Any = dict
_LIST: Any = list
"""Of types that are found at run time."""

_LARGEST = 2**256
"""No count is larger, and floats hold it."""

_MOST_BITS = 10_000
"""The digits of a longer fraction would fill pages."""


class Kind(NamedTuple):
    """How values of a type are in JSON: their type for msgspec, how they are written and read."""

    hint: Callable[[], Any]
    dump: Convert | None = None
    load: Convert | None = None

    def write(self, value: Any) -> Any:
        """A value as plain data."""
        return self.dump(value) if self.dump else value


class Slot(NamedTuple):
    """A field in JSON: its members, and the functions that write and read them.

    `path` is the path of the first member. Without `add`, that member is the value itself.
    """

    path: Path
    hints: Callable[[], dict[Path, Any]]
    add: Callable[[Tree, Any], object] | None
    load: Convert


class Row:
    """A class as a JSON object: the members of its fields and of its marked properties.

    They are those of `only` some names, or all but those of `without`, and are in the object `at`.
    Where one field is a union of rows whose members are among these, `arm` is the one of the union.
    """

    def __init__(
        self, cls: Any, only: str = "", without: str = "", at: Path = (), arm: type | None = None
    ) -> None:
        self.cls, self.only, self.at, self.arm = cls, only.split(), at, arm
        self.is_checked = hasattr(cls, "contradictions")
        self.defaults = {field.name: field.default for field in fields(cls)}
        hints = {field.name: field.type for field in fields(cls)}
        for name, value in vars(cls).items():
            if isinstance(value, property) and "Annotated[" in value.fget.__annotations__["return"]:
                hints[name] = get_type_hints(value.fget, include_extras=True)["return"]
        names = self.only or [name for name in hints if name not in without.split()]
        self.hints = {name: hints[name] for name in names}
        marked = [
            get_args(hint)[:2] for hint in self.hints.values() if get_origin(hint) is Annotated
        ]
        flat = [_classes(hint) for hint, mark in marked if mark == FLAT]
        self.arms = next((classes for classes in flat if len(classes) > 1), [])

    @cached_property
    def slots(self) -> dict[str, Slot]:
        """How each field and property is in JSON."""
        return {name: self._slot_of(name, hint) for name, hint in self.hints.items()}

    @cached_property
    def _writers(self) -> tuple[Callable[[Any], tuple[Any, ...]], list[tuple[Any, ...]]]:
        slots = [(slot.path[:-1], slot.path[-1], slot.add) for slot in self.slots.values()]
        return attrgetter(*self.slots, "__class__"), slots

    def add(self, tree: Tree, row: Any) -> Tree:
        """Adds the members of a row to an object, which it returns."""
        get, slots = self._writers
        for (at, name, add), value in zip(slots, get(row), strict=False):
            within = tree
            for step in at:
                within = within.setdefault(step, {})
            if add is None:
                within[name] = value
            else:
                add(within, value)
        return tree

    @cached_property
    def _readers(self) -> tuple[list[tuple[str, Convert]], list[str]]:
        stored = [(name, slot.load) for name, slot in self.slots.items() if name in self.defaults]
        return stored, [name for name in self.slots if name not in self.defaults]

    def load(self, wire: Any) -> Any:
        """The row of what msgspec read; raises `Unreadable` where it contradicts itself."""
        stored, derived = self._readers
        values = {name: value for name, load in stored if (value := load(wire)) is not UNSET}
        try:
            row = self.cls(**values)
            for fault in row.contradictions() if self.is_checked else ():
                raise fault
        except AssertionError as error:  # a ledger
            raise Unreadable("does not add up", *self.at) from error
        except Unreadable as fault:
            raise Unreadable(fault.why, *self.at, *fault.path) from fault
        for name in derived:
            slot, value = self.slots[name], getattr(row, name)
            if repr(slot.load(wire)) != repr(value):  # NaN equals nothing
                raise Unreadable("does not follow from the rest", *slot.path)
        return row

    def members(self) -> dict[Path, Any]:
        """The types of all members, by their places."""
        return {path: hint for slot in self.slots.values() for path, hint in slot.hints().items()}

    @cache  # noqa: B019  # rows are kept
    def struct(self, tag: str | None = None) -> Any:
        """The objects as a class of msgspec, in a union with a `tag`; `row` is what one means."""

        def read(wire: Any) -> None:
            try:
                wire.row = self.load(wire)
            except Unreadable as fault:
                raise ValueError(f"{fault.why} - at `${fault.place}`") from fault

        tag = self.arm.__name__ if self.arm else tag
        named = ("typed." if tag and not self.arm else "") + self.cls.__name__
        name = ".".join([named, *([self.arm.__name__] if self.arm else []), *self.only])
        namespace = {"__doc__": describe_class(self.cls), "__post_init__": read}
        return _struct(name, self.members(), namespace, tag)

    def _slot_of(self, name: str, hint: Any) -> Slot:
        hint, mark = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, _NO_MARK)
        *outer, member = (mark.name or name).split(".")
        path = (*self.at, *outer, member or name)
        if member == "*":
            return self._flat(hint, mark, path[:-1])
        bare = _classes(hint)[0]
        if bare is float:
            slot = _number(path, is_stated=mark.stated, is_optional=bare is not hint)
        elif bare in {Decimal, Fraction} and not mark.text:
            slot = _precise(path, kind_of(hint, mark))
        else:
            slot = _plain(path, kind_of(hint, mark))
        slot = _rare(slot, self.defaults[name]) if mark.rare else slot

        def hints() -> dict[Path, Any]:
            return {
                path: Annotated[hint, Meta(description=describe_member(self.cls, name, path[-1]))]
                for path, hint in slot.hints().items()
            }

        return slot._replace(hints=hints)

    def _flat(self, hint: Any, mark: Member, at: Path) -> Slot:
        """The members of a row among those of the row around it; no estimate is undefined."""
        if hint == Metric:  # the names of a record of the catalogue
            row = Row(MetricName, at=at)
            return Slot(
                ("",),
                row.members,
                lambda tree, record: row.add(tree, name_record(record)),
                lambda wire: find_record(row.load(wire)),
            )
        classes = _classes(hint)
        rows = {cls: Row(cls, without=mark.without, at=at) for cls in classes}
        row = rows[self.arm if self.arm in rows else classes[0]]
        if len(classes) > 1:

            def add(tree: Tree, value: Any) -> None:
                tree["type"] = type(value).__name__
                rows[type(value)].add(tree, value)

            return Slot(("",), row.members, add, row.load)
        if hint is row.cls:
            return Slot(("",), row.members, row.add, row.load)
        get_state = attrgetter(".".join((*at, "state")))
        return Slot(
            ("",),
            row.members,
            lambda tree, value: row.add(tree, value or _UNDEFINED),
            lambda wire: None if get_state(wire) is State.UNDEFINED else row.load(wire),
        )


@cache
def row_of(cls: Any, only: str, arm: type | None) -> Row:
    """A class as JSON; the same each time."""
    return Row(cls, only, arm=arm)


def kind_of_rows(classes: Sequence[Any], only: str = "", *, tagged: bool) -> Kind:
    """A row of one of some classes; of several, the member `type` says of which."""
    rows = {cls.__name__: row_of(cls, only, None) for cls in classes}

    def hint() -> Any:
        structs = [
            row_of(row.cls, only, arm).struct(name if tagged else None)
            for name, row in rows.items()
            for arm in row.arms or [None]
        ]
        return Union[tuple(structs)]  # noqa: UP007  # of any number

    def dump(row: Any) -> Tree:
        name = type(row).__name__
        return rows[name].add({"type": name} if tagged else {}, row)

    return Kind(hint, dump, attrgetter("row"))


@cache
def kind_of(hint: Any, mark: Member = _NO_MARK) -> Kind:
    """How values of a type are in JSON."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _kind_of_tuple(arguments, mark)
    if origin in {Union, UnionType}:
        classes = _classes(hint)
        is_one = len(classes) == 1
        kind = kind_of(classes[0], mark) if is_one else kind_of_rows(classes, tagged=True)
        return _maybe(kind) if NoneType in arguments else kind
    if origin is not None:
        value = kind_of(arguments[1])
        if arguments[0] is not str:
            return _kind_of_words(arguments[0], value)
        return Kind(lambda: _DICT[str, value.hint()], _each(value.dump), _each(value.load))
    if hint is int:
        limits = Meta() if mark.least is None else Meta(ge=mark.least)
        return Kind(lambda: Annotated[int, limits], load=_check_size)
    if hint in _KINDS:
        return _KINDS[hint]
    if issubclass(hint, Enum):
        return Kind(lambda: hint, attrgetter("_value_"))
    return kind_of_rows([hint], mark.only, tagged=False)


def _kind_of_words(words: type[StrEnum], value: Kind) -> Kind:
    """A value of each word of an enumeration, which may have more in a later version."""

    def hint() -> Any:
        members = {word: Annotated[value.hint(), Meta(description=f"Of {word}.")] for word in words}
        return TypedDict(f"each.{words.__name__}", members)  # type: ignore[operator]

    def dump(mapping: Any) -> Tree:
        return {word.value: each for word, each in mapping.items()}

    return Kind(hint, dump, lambda tree: {words(word): each for word, each in tree.items()})


def _kind_of_tuple(arguments: tuple[Any, ...], mark: Member) -> Kind:
    """Pairs of names and values are an object, all others are a list."""
    first, is_open = arguments[0], arguments[-1] is Ellipsis
    inner = get_args(first) if get_origin(first) is tuple else ()
    if is_open and inner[:1] == (str,) and inner[1] is not Ellipsis:
        value = kind_of(inner[1])
        dump_each, load_each = _each(value.dump), _each(value.load)
        return Kind(
            lambda: _DICT[str, value.hint()],
            lambda pairs: dump_each(dict(pairs)),
            lambda tree: tuple(load_each(tree).items()),
        )
    item = kind_of(first, mark)
    dump, load = item.dump, item.load
    size = Meta() if is_open else Meta(min_length=len(arguments), max_length=len(arguments))
    return Kind(
        lambda: Annotated[_LIST[item.hint()], size],
        (lambda values: [dump(value) for value in values]) if dump else list,
        (lambda values: tuple([load(value) for value in values])) if load else tuple,
    )


def _maybe(kind: Kind) -> Kind:
    """A value, or null."""
    dump, load = kind.dump, kind.load
    return Kind(
        lambda: kind.hint() | None,
        dump and (lambda value: None if value is None else dump(value)),
        load and (lambda value: None if value is None else load(value)),
    )


def _each(convert: Convert | None) -> Convert:
    """Converts each value of a mapping."""
    if convert is None:
        return dict
    return lambda mapping: {name: convert(value) for name, value in mapping.items()}


def _classes(hint: Any) -> list[Any]:
    """The classes of a union except None; for another type, the type itself."""
    is_union = get_origin(hint) in {Union, UnionType}
    return [cls for cls in (get_args(hint) if is_union else (hint,)) if cls is not NoneType]


def _plain(path: Path, kind: Kind) -> Slot:
    """One member."""
    name, get = path[-1], attrgetter(".".join(path))

    def add(tree: Tree, value: Any) -> None:
        tree[name] = kind.write(value)

    def read(wire: Any) -> Any:
        try:
            return kind.load(get(wire)) if kind.load else get(wire)
        except ValueError as error:
            raise Unreadable(str(error), *path) from error

    return Slot(path, lambda: {path: kind.hint()}, kind.dump and add, read if kind.load else get)


def _number(path: Path, *, is_stated: bool, is_optional: bool) -> Slot:
    """A number; where JSON does not have it, it is null and `x_state` says which it is.

    A `stated` one always has its `state`, that of None is undefined.
    """
    *at, name = path
    is_nullable = is_optional and not is_stated
    of_state = "state" if is_stated else f"{name}_state"
    get, get_state = attrgetter(".".join(path)), attrgetter(".".join((*at, of_state)))

    def add(tree: Tree, value: float | None) -> None:
        is_number = not is_stated if value is None else isfinite(value)
        tree[name] = value if is_number else None
        if is_stated or not is_number:
            tree[of_state] = state_of(math.nan if value is None else value)._value_

    def read(wire: Any) -> Any:
        value, state = get(wire), get_state(wire)
        if state is UNSET or state is State.DEFINED:
            if is_nullable if value is None else isfinite(value):
                return value
            raise Unreadable("is not a number", *path)
        if value is not None:
            raise Unreadable(f"is not null, and {state}", *path)
        is_none = is_optional and is_stated and state is State.UNDEFINED
        return None if is_none else _NUMBERS.get(state, math.nan)

    hints = {path: float | None, (*at, of_state): State if is_stated else State | UnsetType}
    return Slot(path, lambda: hints, add, read)


def _precise(path: Path, kind: Kind) -> Slot:
    """A decimal or a fraction: `x` is the nearest number, `x_text` the exact one."""
    *at, name = path
    get, text = attrgetter(".".join(path)), _plain((*at, f"{name}_text"), kind)

    def add(tree: Tree, value: Any) -> None:
        tree[name] = _nearest(value)
        tree[f"{name}_text"] = kind.write(value)

    def read(wire: Any) -> Any:
        value = text.load(wire)
        if get(wire) != _nearest(value):
            raise Unreadable(f"is not the number of `{name}_text`", *path)
        return value

    return Slot(path, lambda: {path: float | None, **text.hints()}, add, read)


def _nearest(value: Decimal | Fraction | None) -> float | None:
    """The nearest number that JSON has; None where it has none."""
    try:
        number = math.inf if value is None else float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _rare(slot: Slot, default: Any) -> Slot:
    """The members of a field, left out where it has its default."""

    @cache
    def getters() -> list[tuple[Path, Convert, bool]]:
        return [
            (path, attrgetter(".".join(path)), UnsetType not in get_args(hint))
            for path, hint in slot.hints().items()
        ]

    def add(tree: Tree, value: Any) -> None:
        if value == default:
            pass
        elif slot.add:
            slot.add(tree, value)
        else:
            tree[slot.path[-1]] = value

    def read(wire: Any) -> Any:
        if all(get(wire) is UNSET for _, get, _ in getters()):
            return UNSET
        for path, get, is_required in getters():
            if is_required and get(wire) is UNSET:
                raise Unreadable("is missing", *path)
        return slot.load(wire)

    def hints() -> dict[Path, Any]:
        return {path: hint | UnsetType for path, hint in slot.hints().items()}

    return Slot(slot.path, hints, add, read)


def _struct(name: str, members: dict[Path, Any], namespace: Tree, tag: str | None) -> Any:
    """A class of msgspec for objects of these members, some of which are in objects within."""
    inner: dict[str, dict[Path, Any]] = {}
    for (first, *rest), hint in members.items():
        inner.setdefault(first, {})[(*rest,)] = hint
    declared: list[tuple[str, Any, Any]] = []
    for member, hints in inner.items():
        if () in hints:
            hint = hints[()]
            is_optional = UnsetType in get_args(get_args(hint)[0])
            default = UNSET if is_optional else NODEFAULT
        else:
            about = {"__doc__": f"The member {member}."}
            hint, default = _struct(f"{name}-{member}", hints, about, None), NODEFAULT
        declared.append((member, hint, default))
    tagged: Any = {"tag_field": "type", "tag": tag} if tag else {}
    return msgspec.defstruct(name, declared, namespace=namespace, kw_only=True, dict=True, **tagged)


def _check_size(number: int) -> int:
    if abs(number) > _LARGEST:
        raise ValueError("is too large")
    return number


def _check_number(number: Any) -> Any:
    """A number, or another setting, that is not infinite."""
    if isinstance(number, int | float) and abs(number) > sys.float_info.max:
        raise ValueError("is too large")
    return number


def _exact(number: type[Decimal | Fraction], pattern: str) -> Kind:
    """A decimal as it was written, or a fraction p/q, as text; null where it is too long."""

    def dump(value: Decimal | Fraction) -> str | None:
        is_long = isinstance(value, Fraction) and value.denominator.bit_length() > _MOST_BITS
        return None if is_long else str(value)

    return Kind(lambda: Annotated[str, Meta(pattern=pattern)], dump, number)


_KINDS = {
    str: Kind(lambda: str),
    bool: Kind(lambda: bool),
    date: Kind(lambda: date, str),
    Decimal: _exact(Decimal, r"^-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?$"),
    Fraction: _exact(Fraction, r"^-?\d{1,4200}(/0*[1-9]\d{0,4200})?$"),
    # A notice that is read back never goes into a published report.
    Notice: Kind(lambda: str, str, lambda text: Notice(text, Subjects.NEVER)),
    # In a list, a number that JSON does not have is the word of its state.
    float: Kind(
        lambda: float | State,
        lambda number: number if isfinite(number) else state_of(number).value,
        lambda value: (
            _NUMBERS.get(value, math.nan) if isinstance(value, str) else _check_number(value)
        ),
    ),
    # Options of a spec: a text, a number, a list of texts, an object of numbers.
    object: Kind(
        lambda: float | int | str | list[str] | dict[str, float],
        lambda value: [*value] if isinstance(value, tuple) else value,
        _check_number,
    ),
}
"""The kinds of types that msgspec does not know, or does not hold to what a result may have."""
