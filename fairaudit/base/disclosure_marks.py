"""Marks that say from whose data each field and each notice of a result is computed.

A published report (`suppress_below`) hides values by their marks. Each class of a result declares
all of its fields with `declare_subjects`. A class with an undeclared field raises an error when it
is defined. A field is hidden unless its mark allows publication.
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
    """No people: the spec, the program, names of columns, levels and files. Always published."""

    ROW = "row"
    """The people of the row. Published if their counts are proven safe."""

    COMPARED = "compared"
    """The people of the row and the people they are compared with. Published if both are safe."""

    ANYBODY = "anybody"
    """People whom the row does not name. Published if no combination of columns has small cells."""

    NEVER = "never"
    """People outside all cells of the audit, or people of another report. Never published."""

    NESTED = "nested"
    """The value is a nested row, for which suppression decides separately."""


class Disclosure(Frozen):
    """The subjects of each field of a class, and the published values of hidden fields."""

    subjects: Mapping[str, Subjects]
    hidden: Mapping[str, object]


_DECLARED: dict[type, Disclosure] = {}


def declare_subjects(
    *, hidden: Mapping[str, object] | None = None, **fields_of: str
) -> Callable[[type[T]], type[T]]:
    """Declares the subjects of the fields of a class, for example `row="n share"`.

    The keywords are the values of `Subjects`. A hidden field becomes None, or its value in
    `hidden`. Raises `TypeError` if a field is not declared, is declared twice, or does not exist.
    Also raises `TypeError` if a hidden field would become None although its type does not allow
    None.
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
    """A copy of the row in which fields are hidden unless their subjects are in `published`.

    `nested` are the new values of nested fields; nested fields without a new value are hidden.
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
    """The value, in which each nested row is redacted."""
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_redact_within(part, published) for part in value)
    if isinstance(value, Frozen):
        return redact(value, published)
    return value


class NoticeRate(Frozen):
    """A rate that a notice mentions: its id, its outcome, and the columns of its groups."""

    rate: str
    of: str
    by: tuple[str, ...] = ()


class Notice(str):
    """A sentence of a report, with a mark that says from whose data its numbers are computed.

    With `Subjects.ROW`, a published report has the sentence only if all `rates` are proven safe.
    """

    __slots__ = ("rates", "subjects")

    subjects: Subjects
    rates: tuple[NoticeRate, ...]

    def __new__(cls, text: str, subjects: Subjects, rates: Iterable[NoticeRate] = ()) -> Self:
        """A notice; credentials in its text are masked."""
        self = super().__new__(cls, mask(text))
        self.subjects = subjects
        self.rates = tuple(rates)
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str, Subjects, tuple[NoticeRate, ...]]]:
        return type(self), (str(self), self.subjects, self.rates)
