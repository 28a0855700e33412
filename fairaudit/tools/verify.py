"""Verification of published tables: finds columns, reads numbers, checks rules (add rules here).

A printed number stands for every number that rounds to it, and a ratio may be computed from counts
or from printed rates. So each fault is a contradiction that rounding cannot explain.
"""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from itertools import product
from math import ceil, floor, log10, prod
from typing import TypeAlias

from fairaudit.base import inputs, names
from fairaudit.base.errors import DataError, NothingToAudit, Place, UsageError, did_you_mean
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Group, Grouping
from fairaudit.pipeline.recode.outcomes import is_like_missing, is_like_unknown
from fairaudit.result import TableFault, UnreadCell

MOST = 20_000_000
"""The maximum size of a published table, in bytes."""

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
"""A number, possibly with footnote marks."""
_DOUBLE = Context(prec=14)
_FEWEST_DIGITS = 16
"""Numbers with at least this many digits are printed doubles, whose last digits are noise."""
_PER_CENT = re.compile(r"%|percent", re.IGNORECASE)
_MOST_RATE, _MOST_RATIO = Fraction(3, 2), Fraction(10)
"""Rates and ratios above these numbers are in per cent."""
_ALL = frozenset({"", "all", "any", "everybody"})
_MOST_STEPS = 20_000_000
"""The maximum number of steps to find the parts of groups, which take about 20 seconds."""
_Ends: TypeAlias = tuple[Fraction, Fraction]


class Printed(Frozen):
    """A printed number, with the bounds of the numbers that round to it."""

    text: str
    low: Fraction
    high: Fraction

    @classmethod
    def read(cls, text: str, *, is_per_cent: bool = False) -> Printed | None:
        """The number of a text; None for an empty cell or a mark."""
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
        printed = text.strip() + (" (per cent)" if is_per_cent and not match[5] else "")
        return cls(printed, (value - half) / scale, (value + half) / scale)

    def holds(self, low: Fraction, high: Fraction) -> bool:
        """Whether a number between two bounds may round to this one; halves may go up or down."""
        return self.low <= high and low <= self.high


class TableRow(Frozen):
    """A row of a table: its group, people, selected people, and the printed rate and ratio.

    Columns that are empty or a total in this row are not part of the group. `mark` is the text in
    place of a missing ratio. `unknown` are the columns of the group whose level means unknown.
    `unread` are the cells of number columns that contain no number.
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

    @classmethod
    def read(
        cls, place: Place, record: dict[str, str], columns: ColumnNames, per_cent: Collection[str]
    ) -> TableRow:
        """A row of the table; a cell with only a mark has no number."""
        levels = {name: record[name].strip() for name in columns.by}
        group = tuple(
            (name, level)
            for name, level in levels.items()
            if level.casefold() not in _ALL and not names.is_like_total(level)
        )
        roles = {role: getattr(columns, role) for role in reversed(_PATTERNS)}
        cells = {role: "" if name is None else record[name].strip() for role, name in roles.items()}
        rate, ratio = (
            Printed.read(cells[role], is_per_cent=roles[role] in per_cent)
            for role in ("rate", "ratio")
        )
        unread = {
            name: cells[role]
            for role, name in roles.items()
            if name and not Printed.read(cells[role])
        }
        return cls(
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
            unread=tuple(UnreadCell(place, name, text) for name, text in unread.items()),
        )

    @property
    def by(self) -> Grouping:
        """The columns of its group."""
        return tuple(name for name, _ in self.group)

    @property
    def share(self) -> Fraction | None:
        """The selection rate by the counts; None if the row has no counts or no people."""
        return Fraction(self.selected, self.n) if self.n and self.selected is not None else None

    @property
    def selected_ends(self) -> tuple[int, int] | None:
        """The bounds of the number of selected people, by the printed count or the printed rate."""
        if self.selected is not None:
            return self.selected, self.selected
        if self.n is None or self.rate is None:
            return None
        return max(ceil(self.n * self.rate.low), 0), min(floor(self.n * self.rate.high), self.n)

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """The bounds of the numbers of people, selected people and other people, if known."""
        n, selected = self.n, self.selected_ends
        counts = {} if n is None else {"people": (n, n)}
        if selected is not None:
            counts["selected"] = selected
            if n is not None:
                counts["not selected"] = (n - selected[1], n - selected[0])
        return counts


class ColumnNames(Frozen):
    """The columns by role. A column that is None is found by its name.

    `by` are the columns of groups. If `by` is empty, these are all other columns.
    """

    n: str | None = None
    selected: str | None = None
    rate: str | None = None
    ratio: str | None = None
    by: tuple[str, ...] = ()

    def complete(self, path: str, fields: Sequence[dict[str, str]]) -> ColumnNames:
        """Finds columns that are None; raises `UsageError` for absent names or too few columns."""
        header = [*fields[0]]
        wanted = (self.n, self.selected, self.rate, self.ratio, *self.by)
        for name in filter(None, wanted):
            if name not in header:
                near = did_you_mean(name, header)
                what = f"{path}: no column {names.quoted(name)}{near}"
                raise UsageError(what, "check the names in the header of the table")
        taken = {role: getattr(self, role) for role in _PATTERNS}
        for role, pattern in _PATTERNS.items():
            free = [name for name in header if name not in {*taken.values(), *self.by}]
            taken[role] = taken[role] or next(
                filter(lambda name: pattern.search(name.lower()), free), None
            )
        if sum(name is not None for name in taken.values()) < 2:
            what = f"{path}: the columns of people and of selected people were not found"
            hint = "name them: --n COLUMN --selected COLUMN, or --rate COLUMN --ratio COLUMN"
            raise UsageError(what, hint)
        by = self.by or tuple(name for name in header if name not in taken.values())
        if not by:
            raise UsageError(f"{path}: no column contains groups", "name the columns: --by COLUMN")
        others = [pattern for role, pattern in _PATTERNS.items() if role != "n"]
        for name in by if not self.by else ():
            # A column of numbers may be a count, or a second rate or ratio, rather than a group.
            cells = [record[name] for record in fields if record[name].strip()]
            numbers = [*map(Printed.read, cells)]
            is_second = any(pattern.search(name.lower()) for pattern in others) and any(numbers)
            if is_second or (None in {taken["n"], taken["selected"]} and cells and all(numbers)):
                what = f"{path}: the role of the column {names.quoted(name)} is not clear"
                hint = (
                    "use --n, --selected, --rate or --ratio; name all columns of groups with --by"
                )
                raise UsageError(what, hint)
        return ColumnNames(**taken, by=by)


def read_table(path: str, columns: ColumnNames = ColumnNames()) -> list[TableRow]:  # noqa: B008  # it is frozen
    """The rows of a CSV file; raises `DataError` if it is not a table of groups."""
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
        raise DataError(f"{path}:{reader.line_num}: {error}", "save the table as CSV") from error
    if again := [name for name, times in Counter(filter(None, header)).items() if times > 1]:
        what = f"{path}: several columns have the name {names.quoted(again[0])}"
        raise DataError(what, "rename all but one")
    for line, record in records:
        if len(record) != len(header):
            what = f"{path}:{line}: {len(record)} fields where the header has {len(header)}"
            raise DataError(what, "check the line")
    if not records:
        raise NothingToAudit(f"{path}: the table has no rows", "name a table with rows")
    fields = [dict(zip(header, record, strict=True)) for _, record in records]
    found = columns.complete(path, fields)
    per_cent = set()
    for name, most in ((found.rate, _MOST_RATE), (found.ratio, _MOST_RATIO)):
        # Numbers without a % sign are per cent if the header says so, or if one exceeds `most`.
        printed = [] if name is None else [Printed.read(record[name]) for record in fields]
        if name and (_PER_CENT.search(name) or any(one and one.low > most for one in printed)):
            per_cent.add(name)
    return [
        TableRow.read(Place(path, line, 1), row, found, per_cent)
        for (line, _), row in zip(records, fields, strict=True)
    ]


def _read_count(place: Place, text: str) -> int | None:
    """A count of people; raises `DataError` for a number that is not a count."""
    printed = Printed.read(text)
    if printed is None:
        return None
    value = (printed.low + printed.high) / 2
    if value.denominator != 1 or value < 0:
        what = f"{place.file}:{place.line}: {names.quoted(text)} is not a count of people"
        raise DataError(what, "correct the line, or name the count columns: --n, --selected")
    return int(value)


def find_faults(
    rows: Sequence[TableRow], excluded_below: Fraction | None = None
) -> tuple[TableFault, ...]:
    """All contradictions in the rows of one or several tables, in order."""
    faults = [
        *_check_rows(rows),
        *_check_ratios(rows),
        *_check_repeated(rows),
        *_check_margins(rows),
        *_check_totals(rows),
    ]
    if excluded_below is not None:
        # A group without a ratio must be smaller than the excluded share.
        for group in _list_groupings(row for row in rows if row.group and not row.unknown):
            total = sum(row.n or 0 for row in group)
            for row in group:
                if row.ratio is None and row.n and Fraction(row.n, total) >= excluded_below:
                    share = f"{row.n:,} of {total:,} people, {100 * row.n / total:.2f} %"
                    what = f"no ratio is printed ({row.mark or 'empty'}), but the group has {share}"
                    what += f", which is not below {100 * float(excluded_below):g} %"
                    faults.append(_fault("excluded", row, what))
    places = {row.place: number for number, row in enumerate(rows)}
    return tuple(sorted(faults, key=lambda fault: places[fault.place]))


def can_be_verified(rows: Sequence[TableRow], excluded_below: Fraction | None) -> bool:
    """Whether the rows have numbers that could contradict each other."""
    counted = [row for row in rows if row.n is not None or row.selected is not None]
    return (
        len({row.by for row in counted}) > 1
        or any(row.rate and row.n is not None for row in rows)
        or (excluded_below is not None and any(row.n and row.ratio is None for row in rows))
        or any(why or ratios for _, why, ratios in _compare_ratios(rows))
    )


def _fault(rule: str, row: TableRow, message: str) -> TableFault:
    return TableFault(rule, row.place, row.group, message)


def _check_rows(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Faults of rows: more selected people than people, or a rate that differs from the counts."""
    for row in rows:
        ends = row.selected_ends
        if row.n is None or ends is None:
            continue
        if row.selected is not None and row.selected > row.n:
            yield _fault(
                "selected", row, f"{row.selected:,} of {row.n:,} people cannot be selected"
            )
        elif row.rate is None:
            continue
        elif not row.n:
            yield _fault("rate", row, f"a rate of {row.rate.text} of 0 people: 0/0 is undefined")
        elif ends[0] > ends[1]:
            what = f"but no number of people among {row.n:,} gives this rate"
            yield _fault("rate", row, f"the rate is printed as {row.rate.text}, {what}")
        elif row.share is not None and not row.rate.holds(row.share, row.share):
            counted = f"{row.selected:,}/{row.n:,} = {100 * float(row.share):.2f} %"
            yield _fault("rate", row, f"the rate is printed as {row.rate.text}, but {counted}")


def _check_ratios(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Faults of ratios to the highest rate: above 1, contrary to the rates, or no ratio of 1."""
    everybody = {row.place.file: row.n for row in rows if not row.group}
    for group in _list_groupings(row for row in rows if row.group):
        ratios_of = [row.ratio for row in group if row.ratio is not None]
        people = sum(row.n or 0 for row in group)
        # If the groups add up to the total, no group is missing, and one has the highest rate.
        if len(ratios_of) == len(group) and 0 < people == everybody.get(group[0].place.file):
            highest = max(group, key=lambda row: row.ratio.high if row.ratio else 0)
            if highest.ratio and highest.ratio.high < 1:
                what = f"the highest ratio is {highest.ratio.text}, but all groups are listed"
                yield _fault("ratio", highest, f"{what}, so one of them must have a ratio of 1")
    for row, why, ratios in _compare_ratios(rows):
        assert row.ratio is not None
        if row.ratio.low > 1:
            what = f"a ratio to the highest rate cannot be above 1, but it is {row.ratio.text}"
            yield _fault("ratio above 1", row, what)
        elif why:
            yield _fault("ratio", row, f"a ratio of {row.ratio.text} {why}: 0/0 is undefined")
        elif ratios and not any(row.ratio.holds(*ends) for ends in ratios):
            # One more digit than the printed ratio has shows the difference.
            digits = max(3, 1 + ceil(-log10(row.ratio.high - row.ratio.low)))
            texts = dict.fromkeys(
                " to ".join(dict.fromkeys(f"{float(end):.{digits}f}" for end in ends))
                for ends in ratios
            )
            found = " or ".join(texts)
            what = f"the ratio is printed as {row.ratio.text}, but the rate divided by the highest"
            yield _fault("ratio", row, f"{what} rate is {found}")


def _compare_ratios(rows: Sequence[TableRow]) -> Iterator[tuple[TableRow, str, list[_Ends]]]:
    """Yields each row with a printed ratio, the reason if it is undefined, and possible bounds.

    There are bounds by the counts and bounds by the printed rates, if these are known.
    """
    levels: dict[tuple[str, str], set[str]] = defaultdict(set)
    listed = [row for row in rows if not row.unknown]
    for row in listed:
        for name, level in row.group:
            levels[row.place.file, name].add(level)
    sizes = Counter((row.place.file, row.by) for row in listed)
    for group in _list_groupings(row for row in listed if row.ratio and row.group):
        file, by = group[0].place.file, group[0].by
        # The highest rate is listed if the table has a ratio of 1, or all groups.
        is_whole = any(row.ratio is not None and row.ratio.high >= 1 for row in group) or (
            1 < prod(len(levels[file, name]) for name in by) <= sizes[file, by]
        )
        ratios: list[list[_Ends]] = [[] for _ in group]
        by_counts = [None if row.share is None else (row.share, row.share) for row in group]
        printed = [
            None if row.rate is None else (max(row.rate.low, Fraction(0)), row.rate.high)
            for row in group
        ]
        for rates in (by_counts, printed):
            known = [ends for ends in rates if ends is not None]
            if not known or (len(known) == 1 and not is_whole):
                continue
            low, high = (max(ends[side] for ends in known) for side in (0, 1))
            if not is_whole:
                # If the highest rate is not listed, use the rate that most ratios agree with.
                implied = [
                    (own[0] / row.ratio.high, own[1] / row.ratio.low)
                    for row, own in zip(group, rates, strict=True)
                    if own is not None and own[0] <= own[1] and row.ratio and row.ratio.low > 0
                ]
                least, most = (sorted(pair[side] for pair in implied) for side in (0, 1))
                low = high = max(
                    [low, *(rate for rate, _ in implied if rate > low)],
                    key=lambda rate: bisect_right(least, rate) - bisect_left(most, rate),
                )
            for place, own in enumerate(rates) if low > 0 else ():
                if own is not None:
                    ratios[place].append((own[0] / high, own[1] / low))
        why = "to a highest rate of 0" if all(row.selected == 0 for row in group) else ""
        for row, found in zip(group, ratios, strict=True):
            yield row, "for a group without people" if row.n == 0 else why, found


def _list_groupings(rows: Iterable[TableRow]) -> list[list[TableRow]]:
    groupings: dict[tuple[str, Grouping], list[TableRow]] = defaultdict(list)
    for row in rows:
        groupings[row.place.file, row.by].append(row)
    return [*groupings.values()]


def _check_repeated(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Faults of groups that appear twice in a table, or have other counts in another table."""
    first: dict[Group, TableRow] = {}
    for row in rows:
        other = first.setdefault(tuple(sorted(row.group)), row)
        if other is row:
            continue
        if other.place.file == row.place.file:
            yield _fault("repeated", row, f"the group also appears in line {other.place.line}")
            continue
        # Only numbers that both rows have are compared.
        pairs = ((row.n, other.n), (row.selected, other.selected))
        differs = any(None not in pair and pair[0] != pair[1] for pair in pairs)
        if row.rate and other.rate and not row.rate.holds(other.rate.low, other.rate.high):
            differs = True
        if differs:
            what = f"{_counts(row)} here, but {_counts(other)} in {other.place.file}"
            yield _fault("repeated", row, f"the same group has {what}")


def _counts(row: TableRow) -> str:
    """The counts of a row as text: `5 of 10`, `50% of 10`, `10 people` or `50%`."""
    what = str(row.selected) if row.selected is not None else row.rate.text if row.rate else ""
    if row.n is None:
        return what
    return f"{what} of {row.n}" if what else f"{row.n} people"


def _check_margins(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Faults of groups with fewer people (all, selected or not selected) than their parts.

    Raises `DataError` if the comparison of all groupings would take too long.
    """
    groupings: dict[frozenset[str], list[int]] = defaultdict(list)
    for number, row in enumerate(rows):
        groupings[frozenset(row.by)].append(number)
    groups = [dict(row.group) for row in rows]
    counts = [row.counts for row in rows]
    faults: dict[int, TableFault] = {}
    steps = len(groupings) ** 2
    for columns, finer in product(groupings, repeat=2) if any(counts) else ():
        steps += (1 + len(columns)) * len(groupings[finer]) if columns < finer else 0
        if steps > _MOST_STEPS:
            what = f"the table has too many groups in {len(groupings):,} combinations of columns"
            raise DataError(what, "verify a table with fewer columns of groups")
        if not columns < finer:
            continue
        # A group that appears twice counts once.
        once = {frozenset(rows[part].group): part for part in groupings[finer]}.values()
        parts: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for part in once:
            parts[tuple(groups[part][name] for name in columns)].append(part)
        for margin in groupings[columns]:
            inside = parts.get(tuple(groups[margin][name] for name in columns), [])
            for kind, (least, most) in counts[margin].items() if inside else ():
                ends = [counts[part][kind] for part in inside if kind in counts[part]]
                total = sum(low for low, _ in ends)
                if total > most and margin not in faults:
                    by = " × ".join(map(names.name, rows[inside[0]].by))
                    own = f"{'' if least == most else 'at most '}{most:,} {kind}"
                    is_exact = all(low == high for low, high in ends)
                    what = f"its groups by {by} have {'' if is_exact else 'at least '}{total:,}"
                    faults[margin] = _fault("margin", rows[margin], f"{own}, but {what}")
    yield from (faults[margin] for margin in sorted(faults))


def _check_totals(rows: Sequence[TableRow]) -> Iterator[TableFault]:
    """Faults of totals that differ between groupings, if they list all their unknown levels."""
    totals: list[tuple[TableRow, int, str]] = []
    for group in _list_groupings(rows):
        by = group[0].by
        # A grouping has all people if it lists the unknown level of each of its columns.
        unknown = frozenset[str]().union(*(row.unknown for row in group if len(row.unknown) == 1))
        if all(row.n is not None for row in group) and unknown == {*by}:
            words = f"by {' × '.join(map(names.name, by))}" if by else "in all"
            totals.append((group[-1], sum(row.n or 0 for row in group), words))
    for row, total, words in totals[1:]:
        _, first, first_words = totals[0]
        if total != first:
            what = f"{total:,} people {words} (with unknown), but {first:,} {first_words}"
            yield _fault("total", row, what)
