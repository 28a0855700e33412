"""The types of columns made of others: ages, differences, combinations, counts side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from fairaudit.spec.text import Text

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

BETWEEN = "\x1f"
"""What stands between the levels of columns that are combined."""

ABSENT = "\x1e"
"""What stands for a missing level of one of them."""


@dataclass(frozen=True, slots=True)
class Age:
    """The completed years from a date to a day, or to the date in another column."""

    born: Text
    at: Text

    @property
    def day(self) -> date | None:
        """The day that `at` names; None where it is a column."""
        return date.fromisoformat(self.at.value) if _DAY.fullmatch(self.at.value) else None

    @property
    def texts(self) -> tuple[Text, ...]:
        """The columns it is made of."""
        return (self.born, self.at) if self.day is None else (self.born,)

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"(years from {self.born.value} to {self.at.value})"


@dataclass(frozen=True, slots=True)
class Difference:
    """A number less that of another column, or the days from the other date to this one."""

    column: Text
    minus: Text

    @property
    def texts(self) -> tuple[Text, ...]:
        """The columns it is made of."""
        return (self.column, self.minus)

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"({self.column.value} - {self.minus.value})"


@dataclass(frozen=True, slots=True)
class Combination:
    """Several columns as one, whose levels are those of all of them together."""

    texts: tuple[Text, ...]

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"({' and '.join(text.value for text in self.texts)})"


@dataclass(frozen=True, slots=True)
class CountColumns:
    """Counts of people that stand side by side in a row, each of one level of an outcome.

    With a `total` the people of it that no other column counts are of the level `rest`.
    """

    levels: Mapping[str, Text]
    total: Text | None
    rest: str

    @property
    def texts(self) -> tuple[Text, ...]:
        """The columns that hold counts."""
        return (*self.levels.values(), *([] if self.total is None else [self.total]))

    @property
    def names(self) -> tuple[str, ...]:
        """The levels of the outcome."""
        return (*self.levels, *([] if self.total is None else [self.rest]))


COUNTED_LEVEL = "(outcome)"
"""The column of the level that counts side by side are of."""

COUNTED_PEOPLE = "(people)"
"""The column of those counts."""

Derivation: TypeAlias = Age | Difference | Combination
"""What makes a column of each row."""
