"""Marks on the fields of result classes, and on a `Notice`: the people that each describes.

Each class whose values appear in a result declares all of its fields by `declare_subjects`. A class
with an undeclared field is refused when it is defined, and a field that is not declared safe is
hidden. A published report hides it by these marks.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from enum import StrEnum
from typing import Any, Self, TypeVar, cast

from fairaudit.base.frozen import Frozen, field_names, replace
from fairaudit.base.masking import mask

T = TypeVar("T")


class Subjects(StrEnum):
    """The people that a value is computed from."""

    NOBODY = "nobody"
    """The spec, the program, the names of columns, levels and files: always published."""

    ROW = "row"
    """The people whom its row is about: published where their counts are proven safe."""

    COMPARED = "compared"
    """Those and the people they are compared with: published where all their counts are safe."""

    ANYBODY = "anybody"
    """People whom its row does not name: published where no cell of any columns is small."""

    NEVER = "never"
    """People in no cell of the cube, or of another report: never published."""

    NESTED = "nested"
    """A nested row, for which suppression decides separately."""


class Disclosure(Frozen):
    """The subjects of each field of a class, and the replacement of a hidden value."""

    subjects: Mapping[str, Subjects]
    hidden: Mapping[str, object]


_DECLARED: dict[type, Disclosure] = {}


def declare_subjects(
    *, hidden: Mapping[str, object] | None = None, **fields_of: str
) -> Callable[[type[T]], type[T]]:
    """Declares the subjects of a class's fields: `row="n share"`, by the values of `Subjects`.

    A hidden field becomes None, or its value in `hidden`. Raises `TypeError` if a field is not
    declared, is declared twice, or does not exist, and if it is hidden in a published row but its
    type does not allow None: such a report could not be read back.
    """

    def declare(cls: type[T]) -> type[T]:
        declared = [
            (name, Subjects(subjects))
            for subjects, names in fields_of.items()
            for name in names.split()
        ]
        names = [name for name, _ in declared]
        existing = field_names(cast("Any", cls))
        if sorted(names) != sorted(existing):
            wrong = ", ".join(sorted({*names} ^ {*existing} or {*names}))
            raise TypeError(f"{cls.__name__} must declare the subjects of each field once: {wrong}")
        alone = {Subjects.COMPARED, Subjects.ANYBODY, Subjects.NEVER}
        if {*fields_of} - {"never"}:
            for name, subjects in declared:
                annotation = cls.__annotations__[name]
                if subjects in alone and name not in (hidden or {}) and "None" not in annotation:
                    raise TypeError(f"{cls.__name__} must say what stands for a hidden {name}")
        _DECLARED[cls] = Disclosure(dict(declared), hidden or {})
        return cls

    return declare


def disclosure_of(cls: type) -> Disclosure:
    """The declaration of a class; raises `TypeError` if it has none."""
    disclosure = _DECLARED.get(cls)
    if disclosure is None:
        raise TypeError(f"{cls.__name__} does not declare the subjects of its fields")
    return disclosure


def redact(row: T, published: Container[Subjects], **nested: object) -> T:
    """The row without the fields whose subjects are not `published`.

    `nested` are rows within it that are decided already; those not given are hidden.
    """
    disclosure = disclosure_of(type(row))
    changes = dict(nested)
    for name, subjects in disclosure.subjects.items():
        if name in nested or subjects is Subjects.NOBODY:
            continue
        if subjects in published and subjects is not Subjects.NEVER:
            changes[name] = _redact_within(getattr(row, name), published)
        else:
            changes[name] = disclosure.hidden.get(name)
    return cast("T", replace(cast("Any", row), **changes))


def _redact_within(value: object, published: Container[Subjects]) -> object:
    """A value in which every row is redacted."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_redact_within(part, published) for part in value)
    if isinstance(value, Frozen):
        return redact(value, published)
    return value


class NoticeRate(Frozen):
    """A rate whose numbers a notice states: its id, its outcome, and its groups."""

    rate: str
    of: str
    by: tuple[str, ...] = ()


class Notice(str):
    """A sentence next to the tables, and the people that its numbers are computed from.

    With `Subjects.ROW` these are the `rates`, which a published report has to prove.
    """

    __slots__ = ("rates", "subjects")

    subjects: Subjects
    rates: tuple[NoticeRate, ...]

    def __new__(cls, text: str, subjects: Subjects, rates: Iterable[NoticeRate] = ()) -> Self:
        """A sentence with its subjects."""
        self = super().__new__(cls, mask(text))
        self.subjects = subjects
        self.rates = tuple(rates)
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str, Subjects, tuple[NoticeRate, ...]]]:
        return type(self), (str(self), self.subjects, self.rates)
