"""What every row is made of: groups, and numbers that may be undefined, infinite or suppressed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fairaudit.cube import Group
from fairaudit.errors import Place
from fairaudit.estimate import State, state_of
from fairaudit.report.json.reading import Member

_MOST_BITS = 10_000
"""The digits of a longer fraction would fill pages."""

_NUMBERS = {
    State.UNDEFINED: math.nan,
    State.INFINITE: math.inf,
    State.NEGATIVE_INFINITE: -math.inf,
}


def write_group(group: Group) -> dict[str, str]:
    """A group as a mapping of columns to levels."""
    return dict(group)


def read_group(row: Member) -> Group:
    """The group, its columns in the order of the document."""
    return tuple((name, level.text()) for name, level in row.members())


def write_value(value: float | None) -> dict[str, Any]:
    """State and value; null where there is no finite number, or it is not told."""
    if value is None:
        return {"state": State.SUPPRESSED.value, "value": None}
    if math.isfinite(value):
        return {"state": State.DEFINED.value, "value": value}
    return {"state": state_of(value).value, "value": None}


def read_value(row: Member) -> float | None:
    """The number as arrays carry it, NaN where it is undefined; None where it is suppressed."""
    state = row["state"].one_of(State)
    if state is State.DEFINED:
        return row["value"].number()
    if row["value"].value is not None:
        row["value"].refuse(f"is not null, and {state}")
    return _NUMBERS.get(state)


def finite(value: float | None) -> float | None:
    """The number; None where there is none, or it is infinite."""
    return value if value is not None and math.isfinite(value) else None


def write_end(name: str, value: float | None) -> dict[str, Any]:
    """A number that is null where there is none; an infinite one is null, too, and says so."""
    if value is None or math.isfinite(value):
        return {name: value}
    return {name: None, f"{name}_state": state_of(value).value}


def read_end(row: Member, name: str) -> float | None:
    """The number of that name, infinite where its state says so; None where there is none."""
    state = f"{name}_state"
    if state not in row:
        return row[name].or_none(Member.number)
    known = row[state].one_of(State)
    if known not in _NUMBERS:
        row[state].refuse("is no state of an end")
    return _NUMBERS[known]


def write_exact(value: Fraction | None) -> str | None:
    """A fraction as text; None where its digits would fill pages."""
    return None if value is None or value.denominator.bit_length() > _MOST_BITS else str(value)


def write_place(place: Place | None) -> dict[str, Any] | None:
    """A spot in a file."""
    if place is None:
        return None
    return {"file": place.file, "line": place.line, "column": place.column}


def read_place(row: Member) -> Place | None:
    """The spot in a file; None where it is null."""
    if row.value is None:
        return None
    return Place(row["file"].text(), row["line"].integer(), row["column"].integer())
