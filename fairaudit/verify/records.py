"""The types of a published table: its rows, and its numbers as they are printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from fairaudit.cube import Group, Grouping
from fairaudit.errors import Place

_NUMBER = re.compile(r"(-?)(\d{1,3}(?:,\d{3}){1,5}|\d{0,18})(?:\.(\d{0,18}))?\s*(%?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it is printed: what was rounded to it lies between both ends."""

    text: str
    low: Fraction
    high: Fraction

    @classmethod
    def read(cls, text: str, *, is_per_cent: bool = False) -> Printed | None:
        """None where there is no number, but a mark or nothing."""
        match = _NUMBER.fullmatch(text.strip())
        if match is None or not (match[2] or match[3]):
            return None
        decimals = match[3] or ""
        value = Fraction(int(match[2].replace(",", "") + decimals or "0"), 10 ** len(decimals))
        value = -value if match[1] else value
        scale = 100 if match[4] or is_per_cent else 1
        half = Fraction(1, 2 * 10 ** len(decimals))
        return cls(text.strip(), (value - half) / scale, (value + half) / scale)

    def holds(self, low: Fraction, high: Fraction) -> bool:
        """Whether a number between two ends may be printed so; a half is rounded either way."""
        return self.low <= high and low <= self.high


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table: its group, its people and selected ones, and what is printed beside.

    A column that the row leaves open, or calls a total, has no part in the group. Without a number
    in place of the ratio `mark` is what stands there.
    """

    place: Place
    group: Group
    n: int | None
    selected: int | None
    rate: Printed | None
    ratio: Printed | None
    mark: str
    is_unknown: bool

    @property
    def by(self) -> Grouping:
        """The columns of its group."""
        return tuple(name for name, _ in self.group)

    @property
    def share(self) -> Fraction | None:
        """The share of selected by its counts; None without people."""
        return Fraction(self.selected, self.n) if self.n and self.selected is not None else None
