"""Descriptions of columns: CSV format, quantiles, derived columns, columns of counts, similarity.

Columns are named by plain strings. `fairaudit.spec` knows the place of each name in a spec.
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
"""The separator of the levels of combined columns."""

ABSENT = "\x1e"
"""The text in place of a missing level of a combined column."""

COUNTED_LEVEL = "(outcome)"
"""The name of the column of levels that is made from columns of counts (`CountColumns`)."""

COUNTED_PEOPLE = "(people)"
"""The name of the column of counts that is made from columns of counts (`CountColumns`)."""

Quantile: TypeAlias = tuple[str, Fraction]
"""A column of numbers, and the share of the people at or below the quantile."""


class Cut(Frozen):
    """The value of a quantile, with the numbers of people above, at and below this value."""

    value: float
    above: int
    at: int
    below: int

    @property
    def edge(self) -> Decimal:
        """The value as a decimal, with the shortest digits that give the same double."""
        return Decimal(repr(self.value).removesuffix(".0"))

    def may_move(self, share: Fraction, missing: int) -> bool:
        """Whether the quantile of this share could change if `missing` numbers were known."""
        wanted = math.ceil(share * (self.above + self.at + self.below + missing))
        return not self.below + missing < wanted <= self.below + self.at


class CsvFormat(Frozen):
    """The notation of a CSV file; `header` names the columns of a file without a header line.

    `sheet` names the sheet of an Excel workbook; None for its only sheet. `thousands` is the
    separator between the thousands of a number. `symbols`, such as € or %, are ignored before and
    after a number. With `accounting`, a number in parentheses or before a minus is negative.
    `dates` are pairs of a column and the notations of its dates. The first `skip_rows` and the last
    `skip_footer` lines of a file are ignored.
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
        """The number of the line with the first row."""
        return self.skip_rows + (1 if self.header else 2)

    @property
    def other_lines(self) -> int:
        """The number of lines above the first row and below the last one."""
        return self.first_row - 1 + self.skip_footer

    def line_in_file(self, line: int) -> int:
        """The line number in the file, for a line number in a copy with one header line."""
        return line + self.first_row - 2


class Repeats(Frozen):
    """The column `id` that identifies a person, and which of several rows of a person counts.

    If `latest` names columns of dates or numbers, the row with the largest value in the first
    column counts. If several rows have this value, the next column decides. If the values are equal
    in all columns, the last row counts.
    """

    id: str
    keep: Literal["error", "first", "last"] = "error"
    latest: tuple[str, ...] = ()


class Age(Frozen, tag=True):
    """The completed years from the date in the column `born` to `at` (a day, or a column)."""

    born: str
    at: str

    @property
    def day(self) -> date | None:
        """The day that `at` names; None if `at` names a column."""
        return date.fromisoformat(self.at) if _DAY.fullmatch(self.at) else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns from which the age is computed."""
        return (self.born, self.at) if self.day is None else (self.born,)

    @property
    def name(self) -> str:
        """The name of the derived column."""
        return f"(years from {self.born} to {self.at})"


class Difference(Frozen, tag=True):
    """The number in `column` minus the number in `minus`; for dates, the difference in days."""

    column: str
    minus: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns from which the difference is computed."""
        return (self.column, self.minus)

    @property
    def name(self) -> str:
        """The name of the derived column."""
        return f"({self.column} - {self.minus})"


class Period(Frozen, tag=True):
    """The month (2025-01), quarter (2025-Q1) or year of a date."""

    column: str
    unit: Literal["month", "quarter", "year"]

    @property
    def columns(self) -> tuple[str, ...]:
        """The column from which the period is computed."""
        return (self.column,)

    @property
    def name(self) -> str:
        """The name of the derived column."""
        return f"({self.unit} of {self.column})"

    def find_gaps(self, levels: Sequence[str]) -> list[str]:
        """The periods between the first and the last level that are not among the levels.

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
        """The name of the derived column."""
        return f"({' and '.join(self.columns)})"


class OddDates(Frozen, tag=True):
    """Whether a date is very early or very late, so that it may mean a missing date.

    The levels are `early` (before 1901) and `late` (after 2099); other dates have an empty text.
    """

    column: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The column of the dates."""
        return (self.column,)

    @property
    def name(self) -> str:
        """The name of the derived column."""
        return f"(odd dates of {self.column})"


Derivation: TypeAlias = Age | Difference | Period | Combination | OddDates
"""The definition of a column that is computed from other columns."""


class MaskedCount(Frozen):
    """A text that hides a count, with the smallest and the largest count that it may mean."""

    text: str
    least: int
    most: int

    @classmethod
    def propose(cls, text: str) -> MaskedCount | None:
        """The counts that a text such as `<5` may hide (0 to 9 for `*`); None for other texts."""
        if not _MASK.fullmatch(text):
            return None
        end = re.search(r"(<(?!=)|than)? *(\d+)", text)
        return cls(text, 0, 9 if end is None else max(int(end[2]) - bool(end[1]), 0))


class CountColumns(Frozen):
    """Columns of counts: each row counts people by an outcome, with a column for each level.

    `levels` maps each level to its column. `total` is a column of all people, if any; the people
    whom the other columns do not count then have the level `rest`.
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
    """The columns that define how similar people are: numbers, and texts compared for equality."""

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, numbers first."""
        return (*self.numeric, *self.categorical)

    def only(self, names: Container[str]) -> SimilarityColumns:
        """Only the columns with these names."""
        return SimilarityColumns(
            tuple(name for name in self.numeric if name in names),
            tuple(name for name in self.categorical if name in names),
        )


NO_SIMILARITY = SimilarityColumns()
