"""`Frozen`: immutable records by msgspec; marks for their JSON; `memoize`, `replace`, `fields`.

A class of `dataclasses` takes 500 µs to define, a `Frozen` class takes 12 µs, and a small audit
defines 400 classes. Instances of `dataclasses` take five times as long to create.
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
        """The base class of immutable records with declared fields."""

        __struct_fields__: ClassVar[tuple[str, ...]]

        def __init_subclass__(
            cls,
            *,
            eq: bool = True,  # False: equal only to itself, as `memoize` requires
            order: bool = False,
            kw_only: bool = False,
            dict: bool = False,  # noqa: A002  # msgspec's word: instances can cache properties
            tag: bool = False,  # JSON states the class, if a field allows several classes
        ) -> None: ...

    def replace(value: Value, /, **changes: Any) -> Value:  # noqa: ANN401  # any field's value
        """A copy of a record with other values in some fields."""

    def astuple(value: Frozen, /) -> tuple[Any, ...]:
        """The values of all fields, in their order."""

    def fields(cls: type[Frozen], /) -> tuple[FieldInfo, ...]:
        """The fields of a class of records, with their types and defaults (cached)."""

    def force_setattr(value: Frozen, name: str, new: object, /) -> None:
        """Sets a field of a frozen record, to a value that `__post_init__` computes."""

else:
    from functools import cache

    from msgspec import structs
    from msgspec.structs import astuple, force_setattr, replace

    fields = cache(structs.fields)

    class Frozen(Struct, frozen=True, weakref=True):
        """The base class of immutable records with declared fields."""


def field_names(value: Frozen | type[Frozen]) -> tuple[str, ...]:
    """The names of the fields of a record, or of a class of records."""
    return value.__struct_fields__


def default_of(member: FieldInfo) -> object:
    """The default of a field; `NODEFAULT` if it has no default."""
    if member.default_factory is not NODEFAULT:
        return member.default_factory()
    return member.default


Argument = TypeVar("Argument")
Further = ParamSpec("Further")
Result = TypeVar("Result")


def memoize(
    function: Callable[Concatenate[Argument, Further], Result],
) -> Callable[Concatenate[Argument, Further], Result]:
    """Makes a function cache its results by its first argument (a record) and its other arguments.

    The class of the record must compare by identity: `class Rows(Frozen, eq=False)`. A result must
    not refer to the record; otherwise the memory of both is never freed. Results for arguments
    without a hash, such as arrays, are not cached. An argument by position and the same argument by
    name have separate results.
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
"""Marks a field that JSON omits if its value is the default."""

WRITTEN: Final = ""
"""Marks a property that JSON includes. A mark that is not empty is the property's name in JSON."""

SIGNED: Final = Meta(extra={"signed": True})
"""Marks a whole number that may be negative in JSON."""

POSITIVE: Final = Meta(ge=1)
"""Marks a whole number that must be above 0."""


class Unreadable(Exception):
    """The reason why a JSON document cannot be read, and the path of the invalid member.

    A class of records can define a method `contradictions`, which finds contradictions in a
    document.
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
