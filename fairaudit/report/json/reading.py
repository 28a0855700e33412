"""A document that is read back: every value knows the path that leads to it.

Whatever is not as the schema says is told by that path, never by a traceback. Members that this
version does not know are not looked at.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import NoReturn, TypeVar

from fairaudit.errors import UsageError
from fairaudit.result import SCHEMA_VERSION

AGAIN = "make it again: fairaudit run SPEC -o result.json"
"""What to do with a document that cannot be read."""

_DECIMAL = re.compile(r"-?\d{1,999}(\.\d{1,999})?(E[+-]?\d{1,3})?")
_FRACTION = re.compile(r"-?\d{1,4200}(/\d{1,4200})?")
_VERSION = re.compile(r"(\d{1,9})\.\d{1,9}")
_LARGEST = 2**256
"""No count is larger, and floats hold it."""

_LONGEST = 40
"""Of a value that is not as it should be, so many signs are told."""

Kind = TypeVar("Kind", bound=Enum)
Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Member:
    """A value in a document, and its path, such as `checks[3].status`; every fault names it."""

    value: object
    path: str = ""

    def __getitem__(self, name: str) -> Member:
        known, path = self._mapping(), f"{self.path}.{name}".lstrip(".")
        if name not in known:
            raise _refused(f"{path} is missing")
        return Member(known[name], path)

    def __contains__(self, name: str) -> bool:
        return name in self._mapping()

    def members(self) -> Iterator[tuple[str, Member]]:
        """Name and value of each member of an object."""
        for name in self._mapping():
            yield str(name), self[name]

    def each(self, read: Callable[[Member], Read]) -> tuple[Read, ...]:
        """All entries of a list, read one by one."""
        if not isinstance(self.value, list | tuple):
            self.refuse("is no list")
        return tuple(read(Member(one, f"{self.path}[{at}]")) for at, one in enumerate(self.value))

    def or_none(self, read: Callable[[Member], Read]) -> Read | None:
        """What is read of it; None where it is null."""
        return None if self.value is None else read(self)

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            self.refuse("is no text")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of strings."""
        return self.each(Member.text)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.refuse("is neither true nor false")
        return self.value

    def integer(self) -> int:
        """A whole number."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
            self.refuse("is no whole number")
        return value

    def count(self) -> int:
        """A whole number of 0 or more."""
        value = self.integer()
        return value if value >= 0 else self.refuse("is below 0")

    def positive(self) -> int:
        """A whole number of 1 or more."""
        value = self.integer()
        return value if value > 0 else self.refuse("is below 1")

    def number(self) -> float:
        """A finite number."""
        value = self.value
        if not isinstance(value, int | float) or isinstance(value, bool):
            self.refuse("is no number")
        if isinstance(value, int):
            return self.integer()
        return value if math.isfinite(value) else self.refuse("is no finite number")

    def one_of(self, kind: type[Kind]) -> Kind:
        """The member of an enumeration that it names."""
        try:
            # By its value, or by a former name that the enumeration knows.
            return kind(self.text())
        except ValueError:
            self.refuse(f"is none of {', '.join(str(one.value) for one in kind)}")

    def decimal(self) -> Decimal:
        """A decimal as it was written."""
        text = self.text()
        return Decimal(text) if _DECIMAL.fullmatch(text) else self.refuse("is no decimal")

    def fraction(self) -> Fraction:
        """A fraction, `3/4` or `2`."""
        text = self.text()
        try:
            return Fraction(text) if _FRACTION.fullmatch(text) else self.refuse("is no fraction")
        except ZeroDivisionError:
            self.refuse("is no fraction")

    def date(self) -> date:
        """A day, as `2026-01-31`."""
        try:
            return date.fromisoformat(self.text())
        except ValueError:
            self.refuse("is no date")

    def refuse(self, why: str) -> NoReturn:
        """Raises `UsageError`: what stands here cannot be read."""
        told = json.dumps(self.value, ensure_ascii=False, default=str)
        short = told if len(told) <= _LONGEST else f"{told[:_LONGEST]}…"
        raise _refused(f"{self.path or 'the document'} {why}: {short}")

    def _mapping(self) -> Mapping[str, object]:
        if not isinstance(self.value, Mapping):
            self.refuse("is no object")
        return self.value


def parse(text: str | bytes) -> Mapping[str, object]:
    """The document in a JSON text; raises `UsageError` for what is no JSON, or no object."""
    try:
        tree = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError("this is not JSON", AGAIN) from error
    if not isinstance(tree, dict):
        raise UsageError("this is no result of fairaudit", AGAIN)
    return tree


def opened(document: object) -> Member:
    """The document as a whole; raises `UsageError` where it is none of this tool and version."""
    whole = document if isinstance(document, Member) else Member(document)
    tree = whole.value
    tool = tree.get("tool") if isinstance(tree, Mapping) else None
    if not isinstance(tool, Mapping) or tool.get("name") != "fairaudit":
        raise UsageError("this is no result of fairaudit", AGAIN)
    version = whole["schema_version"].text()
    found, known = _VERSION.fullmatch(version), SCHEMA_VERSION.partition(".")[0]
    if found is None or found[1] != known:
        made = whole["tool"]["version"].text()
        what = f"the result has the schema version {version[:_LONGEST]}, and this tool reads"
        hint = f"read it with the fairaudit that wrote it ({made[:_LONGEST]}), or {AGAIN}"
        raise UsageError(f"{what} {known}.x", hint)
    return whole


def _refused(what: str) -> UsageError:
    return UsageError(f"the result cannot be read: {what}", AGAIN)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
