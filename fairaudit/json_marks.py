"""Marks beside the types of fields: what they are called in JSON, nested, flat or left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeVar

Getter = TypeVar("Getter", bound=Callable[..., Any])

_PROPERTIES: dict[Callable[..., Any], Member] = {}


@dataclass(frozen=True, slots=True)
class Member:
    """How one field is written: `stratum: Annotated[Group, Member("given")]`.

    - `name`: what it is called; `spec.path` is the member `path` of an object `spec`.
    - `name` that ends with `*`: its own members stand there, but for the fields of `without`.
    - `rare`: it is left out where the field has its default.
    - `stated`: beside a number always stands its `state`.
    - `text`: a decimal or a fraction is text alone, without the number beside it.
    - `least`: the smallest whole number that can be read; None where any can.
    - `only`: of a row that is never read back, only these fields and properties are written.
    """

    name: str = ""
    without: str = ""
    rare: bool = False
    stated: bool = False
    text: bool = False
    least: int | None = 0
    only: str = ""


FLAT: Final = Member("*")
RARE: Final = Member(rare=True)
RARE_TEXT: Final = Member(rare=True, text=True)
STATED: Final = Member("value", stated=True)
SIGNED: Final = Member(least=None)
POSITIVE: Final = Member(least=1)


class Contradiction(Exception):  # it says what is wrong with a row
    """What cannot be true of a row: why, and the path of its member that says so.

    A row that is read is asked for its `contradictions()`, where its class has such.
    """

    def __init__(self, why: str, *path: str | int) -> None:
        super().__init__(why)
        self.why = why
        self.path = path


def member(name: str = "") -> Callable[[Getter], Getter]:
    """Declares that a property is written, too: it stands below `@property`."""

    def declare(getter: Getter) -> Getter:
        _PROPERTIES[getter] = Member(name)
        return getter

    return declare


def properties_of(cls: type) -> Mapping[str, Member]:
    """The properties of a class that are written, by their names."""
    written = {
        name: _PROPERTIES[value.fget]
        for name, value in vars(cls).items()
        if isinstance(value, property) and value.fget in _PROPERTIES
    }
    return MappingProxyType(written)
