"""`Numbers`: parses the numbers and dates of a batch, refuses other texts, applies the filter.

Columns of CSV files are read as texts, so `01` and `1` are different levels; only this module
parses numbers in them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

import polars as pl

from fairaudit.base.arrays import (
    ADDED_SCALE,
    LARGE,
    LARGEST_COUNT,
    LARGEST_NUMBER,
    LARGEST_WEIGHT,
    Ints,
)
from fairaudit.base.errors import DataError, PlanError, PlanFault, Seek
from fairaudit.base.names import lookalike, quoted
from fairaudit.counting.columns import Age, MaskedCount, Period
from fairaudit.counting.filter import name_apart
from fairaudit.counting.plan import Plan
from fairaudit.counting.raw_counts import Level
from fairaudit.counting.sources.batches import (
    DATE_HINT,
    Batch,
    hint_dates,
    own,
    read_date,
    read_number,
)
from fairaudit.counting.sources.column_checks import parse_filter


def kept_by(
    texts: Mapping[str, Sequence[Level]], codes: Mapping[str, Ints], plan: Plan
) -> Ints | None:
    """Whether the filter of a plan keeps each row: 1, 0, or -1 if it cannot decide.

    `codes` are the indexes in `texts` of the rows' values, by column. Returns None if the
    filter cannot be applied to the texts.
    """
    columns = {
        name: pl.Series(known, dtype=pl.String)[codes[name]] for name, known in texts.items()
    }
    frame = pl.DataFrame(columns)
    numbers = Numbers(Batch(frame.lazy(), frame.schema, ("",)), plan)
    try:
        numbers.check_filter()
        comparable = [numbers.comparable(name).alias(name) for name in numbers.compared]
        if comparable and not frame.select(pl.all_horizontal(comparable)).to_series().all():
            return None
        kept = frame.select(*numbers.filtered).select(numbers.kept).to_series()
    except (pl.exceptions.PolarsError, PlanError):
        return None
    return kept.cast(pl.Int64).fill_null(-1).to_numpy()


def _mark_alike(texts: Collection[str], letters: str, column: pl.Series) -> pl.Series:
    """Marks values that look like a text in `texts` but differ; `letters` changes their case."""
    looks = {*map(lookalike, texts)}
    change = {"Lowercase": str.lower, "Uppercase": str.upper}.get(letters, str)
    values = column.drop_nulls().unique().to_list()
    alike = [one for one in values if change(one) not in texts and lookalike(one) in looks]
    return column.is_in(pl.Series(alike, dtype=pl.String).implode())


def is_nan(text: pl.Expr) -> pl.Expr:
    """Whether a text means NaN."""
    return text.str.strip_chars().str.to_lowercase().is_in(["nan", "-nan", "+nan"])


_MOST_DAYS = 90_000_000
"""Maximum distance in days of a date from 1970-01-01; Polars panics for dates far beyond it."""

_TICKS = {None: 1, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
"""Number of units in a day, by the time unit of a Polars type; None stands for dates."""

UNREAD = "? "
"""Prefix of a text that is not a date in the notation of its column."""

_DAY, _TIME = r"^\d{4}-\d{2}-\d{2}", r"[T ]\d{2}:\d{2}"
_MONTH_LENGTH, _DAY_LENGTH = 7, 10

_GROUPED = re.compile(r"[+-]?\d{1,3}([,.'’\s])\d{3}(?:\1\d{3})*(?:[.,]\d+)?")
_SERIAL = re.compile(r"[1-7]\d{4}(?:\.\d+)?")
"""A day from 1927 to 2119 as a serial number of Excel (days since 1900)."""
_SYMBOLS = re.compile(r"[^\d\s.,'’+()-]+")
_MARKED = re.compile(r"[+-]?\(?\s*[^\w\s.,]{0,3}\s*\d[\d.,'’\s]*[^\w\s.,]{0,3}\s*\)?-?")
_NEGATIVE = re.compile(r"\(\D{0,3}\d[\d.,'’\s]*\D{0,3}\)|\d[\d.,'’\s]*-")
_DECIMAL_OR_GROUPED = re.compile(r"[+-]?\d{1,3}[.,]\d{3}")

_MOMENT = r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?"
_WITH_OFFSET = rf"^\s*{_MOMENT}\s*(?:(Z)|([+-]\d{{2}}):?(\d{{2}}))\s*$"


class Numbers:
    """The numbers, dates and texts in a batch, as a plan reads them. Also finds wrong texts."""

    def __init__(self, batch: Batch, plan: Plan) -> None:
        self.batch = batch
        self.plan = plan
        cut = (key.column for key in plan.every_key if key.edges is not None)
        self.rule = parse_filter(plan)
        self.columns = list(dict.fromkeys(cut))
        self.columns += [made.name for made in plan.derived if isinstance(made, Period)]
        self.columns += [name for name in (plan.count, plan.weight) if name is not None]

    def check_filter(self) -> None:
        """Raises `PlanError` if the filter of the plan cannot be applied to the batch."""
        rule, schema = self.rule, self.batch.schema
        if rule is None:
            return
        for pair in rule.ordered:
            compared = {*rule.numeric, *rule.dated}
            if all(schema[name] == pl.String and name not in compared for name in pair):
                message = (
                    f"{pair[0]!r} and {pair[1]!r} would be compared as text, and as text 9 is more "
                    f"than 10; to compare numbers, compare {pair[0]} - {pair[1]} with 0"
                )
                raise PlanError([PlanFault(message)])
        for name in sorted(rule.logical):
            # Polars would report `not` of a text only when it reads rows, as a damaged file.
            if schema[name] != pl.Boolean:
                what = f"{name!r} is not a column of true and false"
                raise PlanError([PlanFault(f"{what}: compare it, such as {name} = 1")])
        empty = pl.LazyFrame(schema={name: schema[name] for name in rule.columns})
        try:
            (dtype,) = empty.select(*self.filtered).select(self.kept).collect().dtypes
        except pl.exceptions.PolarsError as error:
            message = (
                "the filter cannot be applied: write texts and dates in single quotes, such as "
                "'2024-12-31', and numbers without quotes"
            )
            raise PlanError([PlanFault(message)]) from error
        if dtype != pl.Boolean:
            message = f"a filter must be true or false; this one returns {dtype}"
            raise PlanError([PlanFault(message)])

    @property
    def kept(self) -> pl.Expr:
        """Whether the filter keeps a row, from the `filtered` columns; null if it cannot decide."""
        return pl.lit(value=True) if self.rule is None else self.rule.expression

    @property
    def filtered(self) -> Iterator[pl.Expr]:
        """The columns of the filter, as the numbers or dates that it compares; null if missing."""
        rule = self.rule
        for name in sorted(rule.columns) if rule else ():
            assert rule is not None
            length, is_of_texts = rule.dated.get(name), is_text(self.batch.schema[name])
            value = self.present(name) if length is None else self.moment(name, length)
            if name in rule.numeric:
                value = self.value(name)
            elif is_of_texts and name in rule.tested:
                value = pl.when(~is_nan(value)).then(value)
            yield value.alias(name)
        for (name, letters), texts in rule.texts.items() if rule else ():
            value = self.present(name)
            if is_text(self.batch.schema[name]):
                # It is not known whether a similar text means the text in the filter.
                alike = partial(_mark_alike, texts, letters)
                value = pl.when(~value.map_batches(alike, pl.Boolean)).then(value)
            yield value.alias(name_apart(name, letters))

    def present(self, column: str) -> pl.Expr:
        """The column with null for NaN and missing tokens.

        If the spec declares notations of dates for the column, dates are written as 2024-12-31.
        """
        raw = pl.col(column)
        dtype = self.batch.schema[column]
        if isinstance(dtype, pl.Date | pl.Datetime):
            if getattr(dtype, "time_zone", None):
                raw = raw.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
            day = raw.dt.to_string("%Y-%m-%d")
            return pl.when(~day.is_in(list(self.plan.tokens))).then(raw)
        if not is_text(dtype):
            return raw.fill_nan(None) if dtype.is_float() else raw
        text = raw.cast(pl.String)
        text = pl.when(~text.is_in(["", *self.plan.tokens])).then(text)
        notations = dict(self.plan.format.dates).get(column)
        if notations is None:
            return text
        written = read_date(text, notations).dt.to_string("%Y-%m-%d %H:%M:%S")
        return pl.coalesce(written, pl.lit(UNREAD) + text)

    def moment(self, column: str, length: int) -> pl.Expr:
        """A date or time as a text of this length (2024-12-31 has 10), for comparisons."""
        value, dtype = self.present(column), self.batch.schema[column]
        if is_text(dtype):
            value = in_utc(value).str.strip_chars().str.replace("T", " ", literal=True)
        elif isinstance(dtype, pl.Date | pl.Datetime):
            value = value.dt.to_string("%Y-%m-%d" + " %H:%M:%S%.f" * isinstance(dtype, pl.Datetime))
        else:
            return value
        return value.str.slice(0, length)

    def value(self, column: str) -> pl.Expr:
        """The column as a number; null if it is missing or not a number. Float32 stays Float32."""
        number, words = self._number(column), self.plan.missing_numbers(column)
        return pl.when(~number.is_in(words)).then(number) if words else number

    def is_missing_number(self, column: str) -> pl.Expr:
        """Whether the column has a number that means missing, in any notation (-999 or -999.0)."""
        return self._number(column).is_in(self.plan.missing_numbers(column)).fill_null(value=False)

    def _number(self, column: str) -> pl.Expr:
        """The column as a number; if `-999` means missing, `-999.0` is still a number here."""
        dtype = self.batch.schema[column]
        if is_text(dtype):
            text = pl.col(column).cast(pl.String).str.strip_chars()
            text = pl.when(~text.is_in(self.plan.missing_words(column))).then(text)
            return read_number(text, self.plan.format).fill_nan(None)
        if not dtype.is_numeric() and dtype != pl.Boolean:
            raise DataError(
                f"{self.batch.names[0]}: the column {column!r} holds {dtype}, not numbers",
                "use another column, or convert it before the audit",
            )
        number = pl.col(column) if dtype == pl.Float32 else pl.col(column).cast(pl.Float64)
        return number.fill_nan(None)

    def sound_value(self, column: str) -> pl.Expr:
        """The number, or 0 in bad rows, which are reported after the pass."""
        return pl.when(self.sound(column)).then(self.value(column)).otherwise(0.0)

    @property
    def people(self) -> pl.Expr:
        """The people of each row: its count (or 1), times the rows that it represents."""
        count = self.plan.count
        counted = self.sound_value(count).cast(pl.Int64) if count else pl.lit(1, pl.Int64)
        return counted * self.batch.rows

    @property
    def are_rows(self) -> bool:
        """Whether each row is one person."""
        return self.plan.count is None and self.batch.times is None

    def fixed(self, column: str) -> pl.Expr:
        """The number · 10⁹, rounded to an integer; 0 if it is missing.

        Doubles of a million or more do not have nine exact decimals: they are rounded to six.
        """
        value = self.sound_value(column).cast(pl.Float64).fill_null(0.0)
        fine = (value * ADDED_SCALE).round().cast(pl.Int64)
        coarse = (value * 10**6).round().cast(pl.Int64) * (ADDED_SCALE // 10**6)
        return pl.when(value.abs() < LARGE).then(fine).otherwise(coarse)

    def sound(self, column: str) -> pl.Expr:
        """Whether the value of a row is valid as a weight, a count, a date or a number."""
        if any(made.name == column for made in self.plan.derived if isinstance(made, Period)):
            return ~pl.col(column).str.starts_with(UNREAD).fill_null(value=False)
        value = self.value(column)
        if column == self.plan.weight:
            sound = value.is_finite() & (value >= 0) & (value <= LARGEST_WEIGHT)
            sound = sound.fill_null(value=False)
        elif column == self.plan.count:
            sound = (value == value.floor()) & (value >= 0) & (value <= LARGEST_COUNT)
            sound = sound.fill_null(value=False)
        else:
            sound = self._is_number(column)
        if column not in self.plan.adding.columns:
            return sound
        return sound & (value.abs() <= LARGEST_NUMBER).fill_null(value=True)

    def _is_number(self, column: str) -> pl.Expr:
        """Whether the value of a row is a number or missing."""
        if not is_text(self.batch.schema[column]):
            return pl.lit(value=True)
        text = pl.col(column).cast(pl.String).str.strip_chars()
        missing = self.plan.missing_words(column)
        is_known = text.is_null() | text.is_in(missing) | is_nan(text)
        return is_known | self._number(column).is_not_null()

    def comparable(self, column: str) -> pl.Expr:
        """Whether the filter can compare the value of a row: it is a number, a date, or missing."""
        assert self.rule is not None
        length = self.rule.dated.get(column)
        if length is None or not is_text(self.batch.schema[column]):
            return self._is_number(column)
        date = _DAY
        if length != _DAY_LENGTH:
            date = r"^\d{4}-\d{2}\b" if length == _MONTH_LENGTH else f"{_DAY}(?:{_TIME}[0-9:.]*)?$"
        return in_utc(self.present(column)).str.contains(date).fill_null(value=True)

    @property
    def compared(self) -> list[str]:
        """The columns that the filter compares with numbers or dates."""
        return [] if self.rule is None else sorted({*self.rule.numeric, *self.rule.dated})

    @property
    def counters(self) -> dict[str, tuple[str, bool]]:
        """The names of the columns that count bad rows.

        The value for a name is the column that is checked, and whether the filter needs the check.
        """
        checks = [(name, True) for name in self.compared] + [(name, False) for name in self.columns]
        return {own(f"bad{number}"): check for number, check in enumerate(checks)}

    def refuse(self, counted: pl.DataFrame) -> None:
        """Raises `DataError` for the first column in `counters` that has bad rows.

        Rows that the filter drops are ignored, except for values that the filter cannot compare.
        """
        kept = counted.filter(pl.col(own("kept")).ne_missing(0))
        for name, (column, in_filter) in self.counters.items():
            bad = int((counted if in_filter else kept)[name].sum())
            if not bad:
                continue
            what, where = self._describe_bad(column, in_filter=in_filter)
            hint = "correct the data, or name the values that mean missing in `missing.tokens`"
            if column in {self.plan.weight, self.plan.count} and not in_filter:
                hint = "correct the data"
                if self.plan.counts is not None and self.plan.counts.total is not None:
                    hint += "; or name missing counts in `missing.tokens`, hidden ones in `masked`"
            dated = self._find_dated(column)
            if dated is not None and is_text(self.batch.schema[dated]):
                hint = hint_dates(self.plan.format, dated)
            raise DataError(
                f"{bad:,} {'row holds' if bad == 1 else 'rows hold'} {what} {where}",
                hint,
                seek=Seek(column, numeric=True, in_filter=in_filter),
                uncounted=f"rows hold {what} {where}",
            )

    def _find_dated(self, column: str) -> str | None:
        """The column of dates of an age or period; for dates in the filter, the column itself.

        None for all other columns.
        """
        born = {
            made.name: made.columns[0]
            for made in self.plan.derived
            if isinstance(made, Age | Period)
        }
        is_dated = self.rule is not None and column in self.rule.dated
        return column if is_dated else born.get(column)

    def _describe_bad(self, column: str, *, in_filter: bool) -> tuple[str, str]:
        """The fault of bad rows, and the column of the fault, in words."""
        what, where, dated = "no number", f"in the column {column!r}", self._find_dated(column)
        if dated is not None:
            notations = dict(self.plan.format.dates).get(dated, ("YYYY-MM-DD",))
            what = f"no date ({' or '.join(notations)})"
        if in_filter:
            return what, f"{where} of the filter"
        age = next((age for age in self.plan.derived if age.name == column), None)
        if isinstance(age, Period):
            return what, f"in the column {age.column!r}"
        if isinstance(age, Age):
            limit = str(age.day or f"that in {age.at!r}")
            return f"{what} up to {limit}", f"in the column {age.born!r}"
        if column == self.plan.weight:
            return "no weight (a number from 0 to 1e9)", where
        if column == self.plan.count and self.plan.counts is not None:
            names = list(map(repr, self.plan.counts.columns))
            where = f"in the columns {', '.join(names[:-1])} and {names[-1]}"
            if self.plan.counts.total is not None:
                return "no count (a whole number from 0, no more than the total)", where
        if column == self.plan.count:
            return "no count (a whole number from 0 to 9,007,199,254,740,991)", where
        if column in self.plan.adding.columns:
            what = "no number from -1e9 to 1e9"
        return what, where

    def find_remedy(self, value: str, column: str) -> str | None:
        """The remedy for a text that is not a number or date, if it has a known notation."""
        plan = self.plan
        if self._find_dated(column) is not None:
            hint = "a number such as 32874 in place of a date is a serial number of Excel: format "
            return f"{hint}the cells as dates" if _SERIAL.fullmatch(value) else None
        if column == plan.count and (mask := MaskedCount.propose(value)) is not None:
            return (
                "a masked count is not 0: declare which counts it can stand for, for example "
                f'`missing: {{masked: {{"{value}": [{mask.least}, {mask.most}]}}}}`'
            )
        form = plan.format
        symbols = [sign for sign in _SYMBOLS.findall(value) if sign not in form.symbols]
        if symbols and _MARKED.fullmatch(value):
            listed = ", ".join(f'"{sign}"' for sign in (*form.symbols, *dict.fromkeys(symbols)))
            meaning = "; 15 % is then 15" if "%" in symbols else ""
            return f"to ignore symbols declare `format: {{symbols: [{listed}]}}`{meaning}"
        if not form.accounting and _NEGATIVE.fullmatch(value):
            return "for negative numbers in this notation declare `format: {accounting: true}`"
        grouped = _GROUPED.fullmatch(value)
        if grouped is None:
            return None
        sign = " " if grouped[1].isspace() else grouped[1]
        other = f', decimal: "{"," if sign == "." else "."}"' if sign == form.decimal else ""
        hints = [f'for thousands declare `format: {{thousands: "{sign}"{other}}}`']
        is_part = column != plan.count or value.endswith("000")
        if is_part and sign != form.decimal and _DECIMAL_OR_GROUPED.fullmatch(value):
            decimals = f'for decimals declare `format: {{decimal: "{sign}"}}`'
            if value.lstrip("+-").startswith("0"):
                return decimals
            hints.insert(0 if (sign == ",") == (form.separator == ";") else 1, decimals)
        return ", ".join(hints) if sign != form.thousands else None


def in_utc(text: pl.Expr) -> pl.Expr:
    """The texts, in which dates and times with an offset from UTC are converted to UTC."""
    part = text.str.extract_groups(_WITH_OFFSET).struct.field
    offset = pl.coalesce(pl.concat_str(part("5"), part("6")), pl.lit("+0000"))
    moment = pl.concat_str(
        part("1"), pl.lit(" "), part("2"), part("3").fill_null(":00"), offset
    ).str.to_datetime("%Y-%m-%d %H:%M:%S%.f%z", strict=False)
    return pl.coalesce(moment.dt.to_string("%Y-%m-%d %H:%M:%S%.f"), text)


def is_text(dtype: pl.DataType) -> bool:
    """Whether a column holds texts."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def as_text(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """A value as the text of a level; NaN is null, times of day keep fractions of a second."""
    if dtype.is_float():
        value = value.fill_nan(None)
    return value.dt.to_string("%H:%M:%S%.f") if dtype == pl.Time else value.cast(pl.String)


def texts_of(column: pl.Series, name: str) -> pl.Series:
    """The values of a column as texts of levels; raises `DataError` for dates far from 1970."""
    if isinstance(column.dtype, pl.Date | pl.Datetime):
        ticks = _TICKS[getattr(column.dtype, "time_unit", None)]
        days = column.to_physical().cast(pl.Int64) // ticks
        if not days.is_between(-_MOST_DAYS, _MOST_DAYS).all():
            what = f"the column {quoted(name)} holds a date over {_MOST_DAYS:,} days from 1970"
            raise DataError(what, DATE_HINT)
    return pl.select(as_text(pl.lit(column), column.dtype)).to_series()
