"""How the fields of a result stand in its JSON, where that is not under their own names."""

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
    - `flat`: its own members stand beside the others of the row, but for those of `without`.
    - `rare`: it is left out where the field has its default.
    - `stated`: a number is an object of its `state` and `value`; None is of the state `none`.
    - `text`: a fraction is text alone, without the number beside it.
    - `nullable`: an empty text is null.
    - `least`: the smallest whole number that can be read; None where any can.
    - `empty`: the word for an empty group.
    - `shared`: it is not written, but is that of the whole document.
    - `key`: of rows that the document lists, only these members are written.
    - `only`: of a row that is never read back, only these members are written.
    """

    name: str = ""
    flat: bool = False
    without: str = ""
    rare: bool = False
    stated: bool = False
    none: str = ""
    suppresses: bool = False
    text: bool = False
    nullable: bool = False
    least: int | None = 0
    empty: str = ""
    shared: str = ""
    key: str = ""
    only: str = ""


FLAT: Final = Member(flat=True)
RARE: Final = Member(rare=True)
RARE_TEXT: Final = Member(rare=True, text=True)
STATED: Final = Member(stated=True)
STATED_OR_HIDDEN: Final = Member(stated=True, none="suppressed")
FLAT_STATE: Final = Member("value", stated=True, flat=True)
SUPPRESSES: Final = Member("state", suppresses=True)
SIGNED: Final = Member(least=None)
POSITIVE: Final = Member(least=1)
METRIC: Final = Member("metric")
GROUP_OR_ALL: Final = Member(empty="all")
WITNESS: Final = Member("witness")
"""The pair that attains a value, and what decides: `first`, `second` and `decided_by` together."""

UNCOUNTED: Final = Member(flat=True, without="n numerator denominator scale")
"""The value of a comparison, which has no counts of its own."""

LISTED: Final = Member(shared="reversals", key="rate of attribute pair given")
"""Reversals that the document lists."""


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
