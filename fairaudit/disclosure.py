"""Whom every number of a result is made of, which decides what a published report may tell.

Each class whose values stand in a result declares all of its fields by `discloses`. A field that is
not declared is refused when the class is made, and what is not declared to be safe is hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any, Self, TypeVar, cast

T = TypeVar("T")


class Whose(StrEnum):
    """Whom a value is made of."""

    NOBODY = "nobody"
    """The spec, the program, the names of columns, levels and files: told."""

    ROW = "row"
    """The people whom its row is about: told where their counts are proven safe."""

    BESIDE = "beside"
    """Those, and the ones they are set beside: told where the counts of all of them are."""

    ANYBODY = "anybody"
    """People whom its row does not name: told where no cell of any columns is small."""

    NEVER = "never"
    """People who are no cells of the cube, or of another report: never told."""

    EACH = "each"
    """Rows of their own, each decided by itself."""


@dataclass(frozen=True, slots=True)
class Disclosure:
    """Whose each field of a class is, and what stands in the place of one that is not told."""

    whose: Mapping[str, Whose]
    hidden: Mapping[str, object]


_DECLARED: dict[type, Disclosure] = {}


def discloses(
    *, hidden: Mapping[str, object] | None = None, **listed: str
) -> Callable[[type[T]], type[T]]:
    """Declares whose the fields of a dataclass are: `row="n share"`, by the words of `Whose`.

    A field that is not told is None, or what `hidden` says. Raises `TypeError` where a field is not
    declared, is declared twice, or does not exist.
    """

    def declared(cls: type[T]) -> type[T]:
        named = [(name, Whose(word)) for word, names in listed.items() for name in names.split()]
        own = [field.name for field in fields(cast("Any", cls))]
        if sorted(name for name, _ in named) != sorted(own):
            odd = {name for name, _ in named} ^ {*own} or {name for name, _ in named}
            what = ", ".join(sorted(odd))
            raise TypeError(f"{cls.__name__} must say once of each field whose it is: {what}")
        _DECLARED[cls] = Disclosure(dict(named), hidden or {})
        return cls

    return declared


def disclosure_of(cls: type) -> Disclosure:
    """What a class declares; `TypeError` where it declares nothing."""
    found = _DECLARED.get(cls)
    if found is None:
        raise TypeError(f"{cls.__name__} does not say whose its fields are")
    return found


def told(row: T, whose: Container[Whose], **each: object) -> T:
    """A row with the fields that may be told, and the others hidden.

    `each` are rows of their own within it, decided already; those not given are hidden.
    """
    declared = disclosure_of(type(row))
    found = dict(each)
    for name, of in declared.whose.items():
        if name in each:
            continue
        value = getattr(row, name)
        if of is Whose.NOBODY:
            continue
        if of in whose and of is not Whose.NEVER:
            found[name] = _within(value, whose)
        else:
            found[name] = declared.hidden.get(name)
    return cast("T", replace(cast("Any", row), **found))


def _within(value: object, whose: Container[Whose]) -> object:
    """A value with the rows in it."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_within(one, whose) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        return told(value, whose)
    return value


@dataclass(frozen=True, slots=True)
class Counted:
    """A rate whose numbers a notice tells: its id, of which outcome, and of the groups of whom."""

    rate: str
    of: str
    by: tuple[str, ...] = ()


class Notice(str):
    """A sentence beside the tables, and whom its numbers are made of.

    With `Whose.ROW` these are the rates `counted`, which a published report has to prove.
    """

    __slots__ = ("counted", "whose")

    whose: Whose
    counted: tuple[Counted, ...]

    def __new__(cls, text: str, whose: Whose, counted: Iterable[Counted] = ()) -> Self:
        """A sentence of which it is said whom it tells of."""
        self = super().__new__(cls, text)
        self.whose = whose
        self.counted = tuple(counted)
        return self
