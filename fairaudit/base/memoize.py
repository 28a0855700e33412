"""`memoize`: remembers the result of a function for as long as its argument lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Value = TypeVar("Value")
Further = ParamSpec("Further")
Result = TypeVar("Result")


def memoize(
    function: Callable[Concatenate[Value, Further], Result],
) -> Callable[Concatenate[Value, Further], Result]:
    """The function, computed once for each value; values compare by identity and are never amended.

    For values of arrays: `class Rows(Frozen, eq=False)`. A result must not hold the value it was
    computed from, or both would live for ever. Further arguments are hashable; there is a result
    for each combination of them, passed in the same way.
    """
    known: WeakKeyDictionary[Value, dict[Hashable, Result]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(value: Value, /, *args: Further.args, **kwargs: Further.kwargs) -> Result:
        results = known.get(value)
        if results is None:  # to set one costs more than to look
            results = known[value] = {}
        key = (args, *kwargs.items())
        if key not in results:
            results[key] = function(value, *args, **kwargs)
        return results[key]

    return remembered
