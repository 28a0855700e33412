"""Columns as data holds them: CSV format, cuts, derived columns, counts side by side, similarity.

Columns are named by plain strings; where a spec names them is the business of `fairaudit.spec`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Container, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Literal, TypeAlias

from fairaudit.base.frozen import Frozen
from fairaudit.base.names import quoted

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)

_MASK = re.compile(
    r"(?:n ?)?[*<≤~=]+ *\d*|(?:fewer|less) than \d+|\d+ or (?:fewer|less)|\([a-z]+\)|[sx]"
    r"|[-–—.]+|[a-z .]*(?:suppress|mask|redact)[a-z .]*",
    re.IGNORECASE,
)

BETWEEN = "\x1f"
"""Separates the levels of combined columns."""

ABSENT = "\x1e"
"""Stands for a missing level of a combined column."""

COUNTED_LEVEL = "(outcome)"
"""The column of the outcome's level if counts are side by side."""

COUNTED_PEOPLE = "(people)"
"""The column of those counts."""

Quantile: TypeAlias = tuple[str, Fraction]
"""A column of numbers, and the share of the people at or below the quantile."""


class Cut(Frozen):
    """A quantile that was found, with the people above, at and below it."""

    value: float
    above: int
    at: int
    below: int

    @property
    def edge(self) -> Decimal:
        """The value, exactly as it is written."""
        return Decimal(repr(self.value).removesuffix(".0"))

    def may_move(self, share: Fraction, missing: int) -> bool:
        """Whether the quantile of this share could change if missing numbers were known."""
        wanted = math.ceil(share * (self.above + self.at + self.below + missing))
        return not self.below + missing < wanted <= self.below + self.at


class CsvFormat(Frozen):
    """The notation of a CSV file; `header` names the columns of a file without a header line.

    `sheet` is the sheet of an Excel workbook, None for its only sheet. `thousands` is the separator
    between the thousands of a number, `symbols` are characters before or after it, such as € or %;
    with `accounting` a number in parentheses, or with a minus after it, is negative. `dates` are
    columns with the notations of their dates. The first `skip_rows` and the last `skip_footer`
    lines of a file are left out.
    """

    separator: str
    decimal: str
    encoding: str
    multiline: bool
    header: tuple[str, ...] = ()
    thousands: str = ""
    symbols: tuple[str, ...] = ()
    accounting: bool = False
    dates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    sheet: str | None = None
    skip_rows: int = 0
    skip_footer: int = 0

    @property
    def words(self) -> str:
        """The notation in words: the separators, the decimal sign and the encoding."""
        keys = ("separator", "decimal", "thousands", "encoding", "skip_rows", "skip_footer")
        signs = {key: sign for key in keys if (sign := getattr(self, key))}
        return ", ".join(f"{key} {quoted(str(sign))}" for key, sign in signs.items())

    @property
    def first_row(self) -> int:
        """The line of the first row."""
        return self.skip_rows + (1 if self.header else 2)

    @property
    def other_lines(self) -> int:
        """The number of lines above the first row and below the last one."""
        return self.first_row - 1 + self.skip_footer

    def line_in_file(self, line: int) -> int:
        """The line in the file for a line of its copy, in which all rows follow a header line."""
        return line + self.first_row - 2


class Repeats(Frozen):
    """The column `id` that identifies a person, and which row of a person with several rows counts.

    If `latest` names columns of dates or numbers, it is the row with the largest value in the first
    of them. The next columns decide between equal values, and then the last row counts.
    """

    id: str
    keep: Literal["error", "first", "last"] = "error"
    latest: tuple[str, ...] = ()


class Age(Frozen, tag=True):
    """The completed years from a date to a day, or to the date in another column."""

    born: str
    at: str

    @property
    def day(self) -> date | None:
        """The day that `at` names; None if it is a column."""
        return date.fromisoformat(self.at) if _DAY.fullmatch(self.at) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is made of."""
        return (self.born, self.at) if self.day is None else (self.born,)

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"(years from {self.born} to {self.at})"


class Difference(Frozen, tag=True):
    """A number minus that of another column, or the days from the other date to this one."""

    column: str
    minus: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is made of."""
        return (self.column, self.minus)

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"({self.column} - {self.minus})"


class Period(Frozen, tag=True):
    """The month (2025-01), quarter (2025-Q1) or year of a date."""

    column: str
    unit: Literal["month", "quarter", "year"]

    @property
    def columns(self) -> tuple[str, ...]:
        """The column it is made of."""
        return (self.column,)

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"({self.unit} of {self.column})"

    def find_gaps(self, levels: Sequence[str]) -> list[str]:
        """The periods without a level between the first and the last level.

        >>> Period("day", "quarter").find_gaps(["2024-Q3", "2025-Q2"])
        ['2024-Q4', '2025-Q1']
        """
        known = [text for text in levels if re.fullmatch(r"\d{4}(-Q?\d{1,2})?", text)]
        parts = 12 if self.unit == "month" else 4 if self.unit == "quarter" else 1
        form = {12: "{:04}-{:02}", 4: "{:04}-Q{}", 1: "{:04}"}[parts]
        places = [
            int(text[:4]) * parts + (int(text[5:].lstrip("Q")) - 1 if parts > 1 else 0)
            for text in known
        ]
        between = range(min(places, default=0), max(places, default=0))
        gaps = [place for place in between if place not in places]
        return [form.format(place // parts, place % parts + 1) for place in gaps]


class Combination(Frozen, tag=True):
    """Several columns as one, with a level for each combination of their levels."""

    columns: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"({' and '.join(self.columns)})"


class OddDates(Frozen, tag=True):
    """Whether the date in a column is so early or late that it may stand for a missing one.

    Its levels are `early` (before 1901) and `late` (after 2099). All others have none.
    """

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it is made of."""
        return (self.column,)

    @property
    def name(self) -> str:
        """The name of the column it makes."""
        return f"(odd dates of {self.column})"


Derivation: TypeAlias = Age | Difference | Period | Combination | OddDates
"""The definition of a column by other columns."""


class MaskedCount(Frozen):
    """A text in place of a count, with the least and the most people it may stand for."""

    text: str
    least: int
    most: int

    @classmethod
    def propose(cls, text: str) -> MaskedCount | None:
        """The counts that a text such as `<5` hides, or 0 to 9 for `*`; None for other texts."""
        if not _MASK.fullmatch(text):
            return None
        end = re.search(r"(<(?!=)|than)? *(\d+)", text)
        return cls(text, 0, 9 if end is None else max(int(end[2]) - bool(end[1]), 0))


class CountColumns(Frozen):
    """Counts of people in several columns of a row, a column for each level of an outcome.

    With a `total`, people in it that no other column counts have the level `rest`.
    """

    levels: Mapping[str, str]
    total: str | None
    rest: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that hold counts."""
        return (*self.levels.values(), *([] if self.total is None else [self.total]))

    @property
    def names(self) -> tuple[str, ...]:
        """The levels of the outcome."""
        return (*self.levels, *([] if self.total is None else [self.rest]))


class SimilarityColumns(Frozen):
    """The columns that make people similar: numbers, and texts that match or differ."""

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.numeric, *self.categorical)

    def only(self, names: Container[str]) -> SimilarityColumns:
        """Those of these names."""
        return SimilarityColumns(
            tuple(name for name in self.numeric if name in names),
            tuple(name for name in self.categorical if name in names),
        )


NO_SIMILARITY = SimilarityColumns()
