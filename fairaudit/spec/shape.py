"""`Shape`: the keys of a mapping in a spec, and how their values are read; tells every misfit.

The annotation of a key says how: a `Reader` reads the value, words (`Literal`, an enum) are looked
up, lists, mappings and further shapes are read part by part, and any other type is what its reader
makes. `fairaudit schema` describes shapes by the same annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from enum import Enum, StrEnum
from functools import cache, partial
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

from fairaudit.base.errors import MOST_FAULTS
from fairaudit.base.frozen import NODEFAULT, Frozen
from fairaudit.spec.text import Path


class Reader(Frozen, eq=False):
    """What reads a value before its parts are read, and its JSON Schema where the parts do not say.

    `read` raises `ValueError`, with what is expected, for a value that it refuses.
    """

    read: Callable[[Any], object]
    described: Mapping[str, Any] | None = None


class Key(Frozen):
    """The key of a field, where it cannot be its name."""

    key: str


class Kind(StrEnum):
    """What is wrong with a value or a key."""

    UNKNOWN_KEY = "unknown key"
    MISSING_KEY = "missing key"
    NO_MAPPING = "a mapping"
    NO_LIST = "a list"
    NO_CHOICE = "none of the words"
    REFUSED = "refused by its reader"


class Misfit(Frozen):
    """What does not fit its shape: a key, or a `value` that is none of `words`, or refused by them.

    `path` leads there from the root of the document.
    """

    path: Path
    kind: Kind
    value: object = None
    words: tuple[str, ...] = ()


class Field(Frozen):
    """A declared key: the attribute that holds it, how it is read, and its default."""

    name: str
    annotation: Any
    default: object

    @property
    def is_required(self) -> bool:
        """Whether the key must be written."""
        return self.default is NODEFAULT


class Shape:
    """A mapping of declared keys: its annotated attributes, whose values here are the defaults.

    `declared` are its fields by their keys, inherited ones first.
    """

    declared: ClassVar[dict[str, Field]] = {}

    def __init_subclass__(cls) -> None:
        cls.declared = {}
        for parent in reversed(cls.__mro__[:-2]):
            for name, annotation in parent.__annotations__.items():
                keys = [mark.key for mark in marks_of(annotation, Key)]
                default = getattr(cls, name, NODEFAULT)
                cls.declared["".join(keys) or name] = Field(name, annotation, default)

    def __init__(self, **values: Any) -> None:  # noqa: ANN401  # of any field
        vars(self).update(values)


AnyShape = TypeVar("AnyShape", bound=Shape)
AnyMark = TypeVar("AnyMark", Reader, Key)
Read: TypeAlias = Callable[[Any, Path, list[Misfit]], Any]


def written_fields(shape: Shape) -> Collection[str]:
    """The names of the fields that were written, and do not have their defaults."""
    return vars(shape).keys()


def change_fields(shape: AnyShape, changes: Mapping[str, object]) -> AnyShape:
    """A copy of a shape with other values of some fields."""
    return type(shape)(**{**vars(shape), **changes})


def marks_of(annotation: object, kind: type[AnyMark]) -> list[AnyMark]:
    """What an annotation holds of a kind beside its type."""
    marks = getattr(annotation, "__metadata__", ())
    return [mark for mark in marks if isinstance(mark, kind)]


def read_shape(
    shape: type[AnyShape], value: object, path: Path, misfits: list[Misfit]
) -> AnyShape | None:
    """A mapping as its shape, of no use where something did not fit: that is added to `misfits`."""
    if not isinstance(value, dict):
        misfits.append(Misfit(path, Kind.NO_MAPPING, value))
        return None
    fields, values = shape.declared, {}
    for key, field in fields.items():
        if key in value:
            values[field.name] = reader_of(field.annotation)(value[key], (*path, key), misfits)
        elif field.is_required:
            misfits.append(Misfit((*path, key), Kind.MISSING_KEY))
    unknown = [key for key in value if key not in fields]
    misfits += [Misfit((*path, key), Kind.UNKNOWN_KEY) for key in unknown]
    return shape(**values)


@cache
def reader_of(annotation: Any) -> Read:  # noqa: ANN401  # whatever annotates
    """What reads a value of an annotated key."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        read = reader_of(parts[0])
        readers = marks_of(annotation, Reader)
        return partial(_read_first, readers[0].read, read) if readers else read
    if origin in {Union, UnionType}:
        inner = [part for part in parts if part is not NoneType]
        read = reader_of(inner[0]) if len(inner) == 1 else _take
        return lambda value, path, misfits: None if value is None else read(value, path, misfits)
    if origin is Literal:
        return partial(_look_up, {word: word for word in parts}.__getitem__, parts)
    if origin in {list, dict}:
        return partial(_read_parts, origin, reader_of(parts[-1]))
    if issubclass(annotation, Shape):
        return partial(read_shape, annotation)
    if issubclass(annotation, Enum):
        return partial(_look_up, annotation, tuple(member.value for member in annotation))
    return _take


def _take(value: object, _path: Path, _misfits: list[Misfit]) -> object:
    return value


def _read_first(
    read: Callable[[object], object],
    read_parts: Read,
    value: object,
    path: Path,
    misfits: list[Misfit],
) -> object:
    try:
        value = read(value)
    except ValueError as error:
        misfits.append(Misfit(path, Kind.REFUSED, value, (str(error),)))
        return None
    return read_parts(value, path, misfits)


def _look_up(
    find: Callable[[str], object],
    known: tuple[str, ...],
    value: object,
    path: Path,
    misfits: list[Misfit],
) -> object:
    """What a word stands for; an enum may know former words, too."""
    if isinstance(value, str):
        with suppress(KeyError, ValueError):
            return find(value)
    misfits.append(Misfit(path, Kind.NO_CHOICE, value, known))
    return None


def _read_parts(kind: type, read: Read, value: object, path: Path, misfits: list[Misfit]) -> object:
    """Each item of a list, or each value of a mapping."""
    if not isinstance(value, list | dict) or not isinstance(value, kind):
        misfits.append(Misfit(path, Kind.NO_LIST if kind is list else Kind.NO_MAPPING, value))
        return None
    parts = {
        step: read(part, (*path, step), misfits)
        for step, part in (value.items() if isinstance(value, dict) else enumerate(value))
        if len(misfits) < MOST_FAULTS
    }
    return parts if kind is dict else [*parts.values()]
