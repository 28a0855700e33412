"""`Frozen`: immutable records on msgspec; marks of their JSON form; `memoize`, `replace`, `fields`.

It replaces `@dataclass(frozen=True)`, which takes 500 µs to define a class instead of 12, and five
times as long to make an instance. A small audit defines 400 classes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from msgspec import NODEFAULT, Meta, Struct, field

__all__ = [
    "NODEFAULT",
    "Frozen",
    "astuple",
    "default_of",
    "field",
    "field_names",
    "fields",
    "force_setattr",
    "memoize",
    "replace",
]

if TYPE_CHECKING:
    from typing import Any, ClassVar, dataclass_transform

    from msgspec.structs import FieldInfo

    Value = TypeVar("Value", bound="Frozen")

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    class Frozen:
        """A value: an instance of declared fields, which are set once."""

        __struct_fields__: ClassVar[tuple[str, ...]]

        def __init_subclass__(
            cls,
            *,
            eq: bool = True,  # False: equal only to itself, as `memoize` requires
            order: bool = False,
            kw_only: bool = False,
            dict: bool = False,  # noqa: A002  # msgspec's word: instances can cache properties
            tag: bool = False,  # JSON names the class, where several are possible
        ) -> None: ...

    def replace(value: Value, /, **changes: Any) -> Value:  # noqa: ANN401  # any field's value
        """A copy of a value with other values of some fields."""

    def astuple(value: Frozen, /) -> tuple[Any, ...]:
        """The values of all fields, in their order."""

    def fields(cls: type[Frozen], /) -> tuple[FieldInfo, ...]:
        """The fields of a class of values, with their types and defaults; found once."""

    def force_setattr(value: Frozen, name: str, new: object, /) -> None:
        """Sets a field that `__post_init__` derives."""

else:
    from functools import cache

    from msgspec import structs
    from msgspec.structs import astuple, force_setattr, replace

    fields = cache(structs.fields)

    class Frozen(Struct, frozen=True, weakref=True):
        """A value: an instance of declared fields, which are set once."""


def field_names(value: Frozen | type[Frozen]) -> tuple[str, ...]:
    """The names of the fields of a value, or of a class of values."""
    return value.__struct_fields__


def default_of(member: FieldInfo) -> object:
    """The default of a field; `NODEFAULT` without one."""
    if member.default_factory is not NODEFAULT:
        return member.default_factory()
    return member.default


Argument = TypeVar("Argument")
Further = ParamSpec("Further")
Result = TypeVar("Result")


def memoize(
    function: Callable[Concatenate[Argument, Further], Result],
) -> Callable[Concatenate[Argument, Further], Result]:
    """A function that keeps its results: one for each value and combination of other arguments.

    The class of the value must compare by identity: `class Rows(Frozen, eq=False)`. A result must
    not hold the value, or neither is ever freed. Results for arguments without a hash, such as
    arrays, are not kept; an argument by position and the same by name have separate results.
    """
    known: WeakKeyDictionary[Argument, dict[Hashable, Result]] = WeakKeyDictionary()
    missing: Any = object()

    @wraps(function)
    def remembered(value: Argument, /, *args: Further.args, **kwargs: Further.kwargs) -> Result:
        results = known.get(value)
        if results is None:  # cheaper than `setdefault` at each call
            results = known[value] = {}
        key = (args, *kwargs.items())
        try:
            result: Result = results.get(key, missing)
        except TypeError:
            return function(value, *args, **kwargs)
        if result is missing:
            result = results[key] = function(value, *args, **kwargs)
        return result

    return remembered


RARE: Final = Meta(extra={"rare": True})
"""Marks the type of a field whose member is left out of JSON if it has its default."""

WRITTEN: Final = ""
"""Marks the type of a property that JSON also has; any other text renames it in JSON."""

SIGNED: Final = Meta(extra={"signed": True})
"""Marks the type of a whole number that may be negative in a document."""

POSITIVE: Final = Meta(ge=1)
"""Marks the type of a whole number above 0."""


class Unreadable(Exception):
    """A document cannot be read, or contradicts itself: the reason, and the path of the member.

    A class of rows can look for contradictions in its method `contradictions`.
    """

    def __init__(self, why: str, *path: str | int) -> None:
        super().__init__(why)
        self.why = why
        self.path = path

    @property
    def place(self) -> str:
        """The path of the member in the document, such as `.checks[1].id`."""
        return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)

    def __str__(self) -> str:
        return f"{self.place.lstrip('.') or 'the document'} {self.why}"
