"""Remembers the result of a function for a value, for as long as the value lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")
Result = TypeVar("Result")


def memoize(function: Callable[[Value], Result]) -> Callable[[Value], Result]:
    """The function, computed once for each value; values compare by identity and are never amended.

    For dataclasses of arrays: `@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)`. A
    result must not hold the value it was computed from, or both would live for ever.
    """
    known: WeakKeyDictionary[Value, Result] = WeakKeyDictionary()

    @wraps(function)
    def remembered(value: Value) -> Result:
        try:
            return known[value]
        except KeyError:
            result = known[value] = function(value)
            return result

    return remembered
