"""Verification: reads a published table (largest size): columns guessed by name, digits."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, floor

from fairaudit.base import inputs, names
from fairaudit.base.errors import DataError, NothingToAudit, Place, UsageError, did_you_mean
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Group, Grouping
from fairaudit.pipeline.recode.suspicious_levels import (
    is_like_missing,
    is_like_total,
    is_like_unknown,
)
from fairaudit.result import UnreadCell

MOST = 20_000_000
"""So many bytes a published table may have."""

_PATTERNS = {
    "ratio": re.compile(r"ratio"),
    "rate": re.compile(r"rate\b|percent|%"),
    "selected": re.compile(r"select|numerator|hired|passed|above|admitted|approved|granted|offer"),
    "n": re.compile(r"^n$|applicants|total|count|people|candidates|number|^#"),
}
_NUMBER = re.compile(
    r"(-?)(\d{1,3}(?:,\d{3}){1,5}|\d{0,18})(?:\.(\d{0,25}))?(e[+-]\d{1,2})?\s*(%?)\s*[*†‡§]*",
    re.ASCII,
)
"""A number, with signs of a footnote or without."""
_DOUBLE = Context(prec=14)
_FEWEST_DIGITS = 16
"""A number of so many digits is a double as programs print it: its last digits are noise."""
_PER_CENT = re.compile(r"%|percent", re.IGNORECASE)
_MOST_RATE, _MOST_RATIO = Fraction(3, 2), Fraction(10)
"""What a rate, and a ratio, are not beyond unless they are per cent."""
_ALL = frozenset({"", "all", "any", "everybody"})


class Printed(Frozen):
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
        whole, decimals = match[2].replace(",", "") or "0", match[3] or ""
        number = Decimal(f"{match[1]}{whole}.{decimals}{match[4] or ''}")
        if len(number.as_tuple().digits) >= _FEWEST_DIGITS:
            number = _DOUBLE.create_decimal(number).normalize()
        exponent = min(int(number.as_tuple().exponent), 0)
        value, half = Fraction(number), Fraction(1, 2 * 10**-exponent)
        scale = 100 if match[5] or is_per_cent else 1
        return cls(text.strip(), (value - half) / scale, (value + half) / scale)

    def holds(self, low: Fraction, high: Fraction) -> bool:
        """Whether a number between two ends may be printed so; a half is rounded either way."""
        return self.low <= high and low <= self.high


class TableRow(Frozen):
    """A row of a table: its group, its people and selected ones, and what is printed beside.

    A column that the row leaves open, or calls a total, has no part in the group. Without a number
    in place of the ratio `mark` is what stands there. `unknown` are the columns of its group whose
    level is not known.
    """

    place: Place
    group: Group
    n: int | None
    selected: int | None
    rate: Printed | None
    ratio: Printed | None
    mark: str
    unknown: frozenset[str]
    unread: tuple[UnreadCell, ...]

    @property
    def by(self) -> Grouping:
        """The columns of its group."""
        return tuple(name for name, _ in self.group)

    @property
    def share(self) -> Fraction | None:
        """The share of selected by its counts; None without people."""
        return Fraction(self.selected, self.n) if self.n and self.selected is not None else None

    @property
    def is_unknown(self) -> bool:
        """Whether a level of its group is not known."""
        return bool(self.unknown)

    @property
    def selected_ends(self) -> tuple[int, int] | None:
        """The least and the most people selected: as counted, or else as the rate allows."""
        if self.selected is not None:
            return self.selected, self.selected
        if self.n is None or self.rate is None:
            return None
        return max(ceil(self.n * self.rate.low), 0), min(floor(self.n * self.rate.high), self.n)


class ColumnNames(Frozen):
    """Which column is what; what is None is found by its name, and `by` is all that is left."""

    n: str | None = None
    selected: str | None = None
    rate: str | None = None
    ratio: str | None = None
    by: tuple[str, ...] = ()


def read_table(path: str, columns: ColumnNames = ColumnNames()) -> list[TableRow]:  # noqa: B008  # it is frozen
    """The rows of a CSV file; raises `DataError` for what is no table of groups."""
    try:
        text = inputs.read_named(path, MOST).decode("utf-8-sig")
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}", "check the path") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8", "save it as UTF-8") from error
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        records = [(reader.line_num, record) for record in reader if any(map(str.strip, record))]
    except csv.Error as error:
        raise DataError(f"{path}:{reader.line_num}: {error}", "a table is CSV") from error
    for line, record in records:
        if len(record) != len(header):
            what = f"{path}:{line}: {len(record)} fields where the header has {len(header)}"
            raise DataError(what, "check the line")
    if not records:
        raise NothingToAudit(f"{path}: the table has no row")
    fields = [dict(zip(header, record, strict=True)) for _, record in records]
    found = _find_columns(path, fields, columns)
    per_cent = {
        name
        for name, most in ((found.rate, _MOST_RATE), (found.ratio, _MOST_RATIO))
        if name is not None and _is_per_cent(fields, name, most)
    }
    return [
        _read_row(Place(path, line, 1), row, found, per_cent)
        for (line, _), row in zip(records, fields, strict=True)
    ]


def _find_columns(path: str, fields: Sequence[dict[str, str]], columns: ColumnNames) -> ColumnNames:
    """The columns by what they are; `UsageError` where one is not there, or nothing to verify."""
    header = [*fields[0]]
    wanted = (columns.n, columns.selected, columns.rate, columns.ratio, *columns.by)
    for name in filter(None, wanted):
        if name not in header:
            near = did_you_mean(name, header)
            raise UsageError(f"{path}: no column {names.quoted(name)}{near}", "see its header")
    taken = {role: getattr(columns, role) for role in _PATTERNS}
    for role, pattern in _PATTERNS.items():
        free = [name for name in header if name not in {*taken.values(), *columns.by}]
        taken[role] = taken[role] or next(
            filter(lambda name: pattern.search(name.lower()), free), None
        )
    if sum(name is not None for name in taken.values()) < 2:
        what = f"{path}: which columns count people, and who is selected?"
        raise UsageError(what, "--n COLUMN --selected COLUMN, or --rate COLUMN --ratio COLUMN")
    by = columns.by or tuple(name for name in header if name not in taken.values())
    if not by:
        raise UsageError(f"{path}: no column names groups", "--by COLUMN")
    if not columns.by and None in {taken["n"], taken["selected"]}:
        _refuse_numbers(path, fields, by)
    return ColumnNames(**taken, by=by)


def _refuse_numbers(path: str, fields: Sequence[dict[str, str]], by: Sequence[str]) -> None:
    """Raises `UsageError` for a column of numbers among those of groups: it may be a count."""
    for name in by:
        cells = [record[name] for record in fields if record[name].strip()]
        if cells and all(map(Printed.read, cells)):
            what = f"{path}: the column {names.quoted(name)} holds numbers: what are they?"
            raise UsageError(what, "--n or --selected COLUMN, or each column of groups by --by")


def _is_per_cent(records: Sequence[dict[str, str]], name: str, most: Fraction) -> bool:
    """Whether numbers without a sign are per cent: as the header says, or one is beyond `most`."""
    printed = filter(None, (Printed.read(record[name]) for record in records))
    return bool(_PER_CENT.search(name)) or any(number.low > most for number in printed)


def _read_row(
    place: Place, record: dict[str, str], columns: ColumnNames, per_cent: Collection[str]
) -> TableRow:
    """A row; a mark in place of a number is None."""
    levels = {name: record[name].strip() for name in columns.by}
    group = tuple((name, level) for name, level in levels.items() if not _is_open(level))
    roles = {role: getattr(columns, role) for role in reversed(_PATTERNS)}
    cells = {role: "" if name is None else record[name].strip() for role, name in roles.items()}
    rate, ratio = (
        Printed.read(cells[role], is_per_cent=roles[role] in per_cent) for role in ("rate", "ratio")
    )
    unread = {name: cells[role] for role, name in roles.items() if not Printed.read(cells[role])}
    return TableRow(
        place=place,
        group=group,
        n=_read_count(place, cells["n"]),
        selected=_read_count(place, cells["selected"]),
        rate=rate,
        ratio=ratio,
        mark="" if ratio else cells["ratio"],
        unknown=frozenset(
            name for name, level in group if is_like_missing(level) or is_like_unknown(level)
        ),
        unread=tuple(UnreadCell(place, name, text) for name, text in unread.items() if text),
    )


def _is_open(level: str) -> bool:
    return level.casefold() in _ALL or is_like_total(level)


def _read_count(place: Place, text: str) -> int | None:
    """A count of people; raises `DataError` for a number that is none."""
    printed = Printed.read(text)
    if printed is None:
        return None
    value = (printed.low + printed.high) / 2
    if value.denominator != 1 or value < 0:
        what = f"{place.file}:{place.line}: {names.quoted(text)} is no count of people"
        raise DataError(what, "check the line, or say which columns count: --n, --selected")
    return int(value)
