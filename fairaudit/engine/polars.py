"""The Polars route: a lazy, streaming group-by over files of one schema.

CSV columns are read as text, so `01` and `1` stay two levels; numbers are parsed here alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fairaudit.cube import Ints
from fairaudit.engine.filter import Filter
from fairaudit.errors import DataError, Seek, SpecError
from fairaudit.plan import MISSING, Key, Plan, RawKey
from fairaudit.spec import Text

WEIGHT_SCALES = (10**9, 10**18)
SQUARE_SCALES = (10**12, 10**30)
"""The fixed point of weights and their squares: as a rule, and where all weights are tiny."""

TINY = 1e-3
_LARGE = 1e6
_LARGEST_WEIGHT = 1e9
_LARGEST_COUNT = 2.0**53 - 1
_LEVELS = (pl.Boolean, pl.Date, pl.Datetime, pl.Time)
"""The types beside texts and numbers whose values can be levels."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Files of one schema as one lazy frame."""

    frame: pl.LazyFrame
    schema: Mapping[str, pl.DataType]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """The counts of one batch; weights as exact integers at both scales of this module."""

    keys: tuple[RawKey, ...]
    kept: Ints
    rows: Ints
    people: Ints
    weights: tuple[list[int], list[int]]
    squares: tuple[list[int], list[int]]
    largest_weight: float
    weight_errors: tuple[float, float]


def count(batch: Batch, plan: Plan, rule: Filter | None) -> Counted:
    """Every combination of the plan's keys in a batch, with its counts."""
    numbers = _Numbers(batch, plan)
    keys = [_own(f"key{at}") for at in range(len(plan.keys))]
    people = pl.lit(1, pl.Int64)
    if plan.count:
        people = numbers.sound_value(plan.count).cast(pl.Int64)
    columns = [
        *(_key(key, batch, numbers).alias(name) for key, name in zip(plan.keys, keys, strict=True)),
        *numbers.bad_rows(),
        pl.lit(1, pl.Int64).alias(_own("rows")),
        people.alias(_own("people")),
    ]
    measures = [
        pl.col(_own("rows")).sum(),
        pl.col(_own("people")).cast(pl.Int128).sum(),
        *(pl.col(name).sum() for name in numbers.counters()),
    ]
    if plan.weight:
        columns.append(numbers.sound_value(plan.weight).alias(_own("weight")))
        measures += _weights()
    frame = batch.frame.select(*columns, *_filtered(rule, numbers))
    kept = pl.lit(1, pl.Int8) if rule is None else rule.expression.cast(pl.Int8)
    query = (
        frame.with_columns(kept.alias(_own("kept"))).group_by(*keys, _own("kept")).agg(*measures)
    )
    found = _collect(query, batch)
    numbers.refuse(found.filter(pl.col(_own("kept")) == 1))
    return _counted(found, plan)


def check_filter(batch: Batch, plan: Plan, rule: Filter, text: Text) -> None:
    """Raises `SpecError` where the filter cannot be applied to the columns of a batch."""
    for pair in rule.ordered:
        if all(batch.schema[name] == pl.String and name not in rule.numeric for name in pair):
            message = (
                f"{pair[0]!r} and {pair[1]!r} would be compared as texts, so 9 comes after 10; "
                f"for numbers write {pair[0]} - {pair[1]} and compare with 0"
            )
            raise SpecError([text.fault(message)])
    empty = pl.LazyFrame(schema=dict(batch.schema))
    try:
        found = empty.select(*_filtered(rule, _Numbers(batch, plan))).select(rule.expression)
        dtype = found.collect().dtypes[0]
    except pl.exceptions.PolarsError as error:
        message = "the filter cannot be applied: texts stand in single quotes, numbers in none"
        raise SpecError([text.fault(message)]) from error
    if dtype != pl.Boolean:
        raise SpecError([text.fault(f"a filter is true or false; this one gives {dtype}")])


def first_row(batch: Batch, plan: Plan, rule: Filter | None, seek: Seek) -> int | None:
    """The number (from 1) of the first row that the filter keeps and that holds a sought value."""
    # Blank lines are rows of nulls to the reader; they hold no value to be found.
    blank = pl.all_horizontal(pl.all().is_null())
    held = (_holds(batch, plan, seek) & ~blank).alias(_own("held"))
    kept = pl.lit(value=True) if rule is None else rule.expression
    found = (
        batch.frame.select(held, *_filtered(rule, _Numbers(batch, plan)))
        .with_row_index(_own("row"), offset=1)
        .filter(pl.col(_own("held")) & kept)
        .select(_own("row"))
        .head(1)
        .collect(engine="streaming")
    )
    return int(found.item()) if found.height else None


def _holds(batch: Batch, plan: Plan, seek: Seek) -> pl.Expr:
    """Whether a row holds one of the sought values; a missing one under any of its tokens."""
    if seek.numeric:
        return ~_Numbers(batch, plan).sound(seek.column)
    value = pl.col(seek.column)
    if batch.schema[seek.column].is_float():
        value = value.fill_nan(None)
    text = value.cast(pl.String)
    held = text.is_in([one for one in seek.values if one is not None])
    return held | text.is_null() if None in seek.values else held


class _Numbers:
    """The numeric columns of a plan: parsed once, their bad rows counted in the same pass."""

    def __init__(self, batch: Batch, plan: Plan) -> None:
        self.batch = batch
        self.plan = plan
        self.columns = [key.column for key in plan.keys if key.edges is not None]
        self.columns += [name for name in (plan.count, plan.weight) if name is not None]

    def present(self, column: str) -> pl.Expr:
        """The column as it is stored, null where it is not a number or holds a missing token."""
        raw = pl.col(column)
        dtype = self.batch.schema[column]
        if _is_text(dtype):
            text = raw.cast(pl.String)
            return pl.when(~text.is_in(["", *self.plan.tokens])).then(text)
        return raw.fill_nan(None) if dtype.is_float() else raw

    def value(self, column: str) -> pl.Expr:
        """The column as a number; null where it is missing or none; Float32 stays Float32."""
        dtype = self.batch.schema[column]
        missing = ["", *self.plan.tokens, *self.plan.unknown.get(column, ())]
        if _is_text(dtype):
            text = pl.col(column).cast(pl.String).str.strip_chars()
            text = pl.when(~text.is_in(missing)).then(text)
            if self.plan.format.decimal == ",":
                text = text.str.replace(",", ".", literal=True)
            return text.cast(pl.Float64, strict=False).fill_nan(None)
        if not dtype.is_numeric() and dtype != pl.Boolean:
            raise DataError(
                f"{self.batch.names[0]}: the column {column!r} holds {dtype}, not numbers",
                "name another column, or cast it before the audit",
            )
        number = pl.col(column) if dtype == pl.Float32 else pl.col(column).cast(pl.Float64)
        number = number.fill_nan(None)
        words = [float(word) for word in missing if _is_number(word)]
        return pl.when(~number.is_in(words)).then(number) if words else number

    def sound_value(self, column: str) -> pl.Expr:
        """The number, 0 where it is none: bad rows are refused after the pass, not in it."""
        return pl.when(self.sound(column)).then(self.value(column)).otherwise(0.0)

    def sound(self, column: str) -> pl.Expr:
        """Whether a row's number is one, of the kind its role asks; a missing one is."""
        value = self.value(column)
        if column == self.plan.weight:
            return (value.is_finite() & (value >= 0) & (value <= _LARGEST_WEIGHT)).fill_null(
                value=False
            )
        if column == self.plan.count:
            whole = (value == value.floor()) & (value >= 0) & (value <= _LARGEST_COUNT)
            return whole.fill_null(value=False)
        if not _is_text(self.batch.schema[column]):
            return pl.lit(value=True)
        text = pl.col(column).cast(pl.String).str.strip_chars()
        missing = ["", *self.plan.tokens, *self.plan.unknown.get(column, ())]
        is_nan = text.str.to_lowercase().is_in(["nan", "-nan", "+nan"])
        return text.is_null() | text.is_in(missing) | is_nan | value.is_not_null()

    def counters(self) -> list[str]:
        """The names of the counters of bad rows."""
        return [_own(f"bad{at}") for at in range(len(self.columns))]

    def bad_rows(self) -> list[pl.Expr]:
        """One 0/1 column for each numeric column."""
        return [
            (~self.sound(column)).cast(pl.Int64).alias(name)
            for column, name in zip(self.columns, self.counters(), strict=True)
        ]

    def refuse(self, found: pl.DataFrame) -> None:
        """Raises `DataError` for the first numeric column with rows that are none."""
        for column, name in zip(self.columns, self.counters(), strict=True):
            bad = int(found[name].sum())
            if not bad:
                continue
            what = "no number"
            hint = "correct the data, or name the values that mean missing in `missing.tokens`"
            if column in {self.plan.weight, self.plan.count}:
                hint = "correct the data, or leave such rows out by a `filter`"
            if column == self.plan.weight:
                what = "no weight (a number from 0 to 1e9)"
            elif column == self.plan.count:
                what = "no count (a whole number from 0)"
            raise DataError(
                f"{bad:,} {'row holds' if bad == 1 else 'rows hold'} {what} in the column "
                f"{column!r}",
                hint,
                seek=Seek(column, numeric=True),
            )


def _key(key: Key, batch: Batch, numbers: _Numbers) -> pl.Expr:
    dtype = batch.schema[key.column]
    if not (dtype.is_numeric() or _is_text(dtype) or dtype in _LEVELS):
        raise DataError(
            f"{batch.names[0]}: the column {key.column!r} holds {dtype}, which has no levels",
            "name a column of texts, numbers or dates",
        )
    if key.edges is None:
        raw = pl.col(key.column)
        if dtype.is_float():
            return raw.fill_nan(None)
        return raw.cast(pl.String) if _is_text(dtype) else raw
    value = numbers.value(key.column)
    kind = pl.Float32 if dtype == pl.Float32 else pl.Float64
    code = pl.lit(0, pl.Int16)
    for edge in key.edges:
        # A Float32 column is cut at the nearest Float32: 0.7 as it is stored is not below 0.7.
        cut = pl.lit(float(edge.value)).cast(kind)
        code = code + (value > cut if edge.beyond else value >= cut).cast(pl.Int16)
    return pl.when(value.is_not_null()).then(code)


def _is_text(dtype: pl.DataType) -> bool:
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _own(name: str) -> str:
    """A column of ours, under a name that no file can hold."""
    return f"\0{name}"


def _weights() -> list[pl.Expr]:
    """Σ count·weight and Σ count·weight² in fixed point at both scales, and what they round away.

    The finer scale holds tiny weights only, and serves where all are tiny. From a million on a
    double has no nine decimals left, so weights are taken at six there.
    """
    weight, people = pl.col(_own("weight")), pl.col(_own("people")).cast(pl.Int128)
    tiny = pl.when(weight < TINY).then(weight).otherwise(0.0)
    coarse, fine = WEIGHT_SCALES
    large = (weight * 10**6).round().cast(pl.Int128) * (coarse // 10**6)
    fixed = (
        pl.when(weight < _LARGE).then((weight * coarse).round().cast(pl.Int128)).otherwise(large)
    )
    exact = [fixed, (tiny * fine).round().cast(pl.Int128)]
    squares = [
        (one * one * scale).round().cast(pl.Int128)
        for one, scale in zip((weight, tiny), SQUARE_SCALES, strict=True)
    ]
    errors = [
        (one - whole.cast(pl.Float64) / scale).abs().max()
        for one, whole, scale in zip((weight, tiny), exact, WEIGHT_SCALES, strict=True)
    ]
    return [
        *((people * one).sum().alias(_own(f"weight{at}")) for at, one in enumerate(exact)),
        *((people * one).sum().alias(_own(f"squares{at}")) for at, one in enumerate(squares)),
        *(one.alias(_own(f"error{at}")) for at, one in enumerate(errors)),
        weight.max().alias(_own("largest")),
    ]


def _filtered(rule: Filter | None, numbers: _Numbers) -> list[pl.Expr]:
    """The filter's own columns: as numbers where it compares them with one, missing as null."""
    if rule is None:
        return []
    return [
        (numbers.value(name) if name in rule.numeric else numbers.present(name)).alias(name)
        for name in sorted(rule.columns)
    ]


def _collect(query: pl.LazyFrame, batch: Batch) -> pl.DataFrame:
    try:
        return query.collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        name = batch.names[0] if len(batch.names) == 1 else f"{batch.names[0]} …"
        # Polars' own words may quote a row; only their kind is told.
        raise DataError.unreadable(
            name, f"damaged, or not what its name says ({type(error).__name__})"
        ) from error
    except OSError as error:
        raise DataError.unreadable(batch.names[0], "damaged, truncated or gone") from error


def _counted(found: pl.DataFrame, plan: Plan) -> Counted:
    def both(name: str) -> tuple[list[int], list[int]]:
        if not plan.weight:
            return [], []
        return found[_own(f"{name}0")].to_list(), found[_own(f"{name}1")].to_list()

    def largest(name: str) -> float:
        return max((float(one or 0.0) for one in found[_own(name)]), default=0.0)

    people = found[_own("people")].to_list()
    if sum(people) >= 2**62:
        raise DataError("the counts add up to more than 64 bits hold", "check the count column")
    return Counted(
        keys=tuple(_raw_key(key, found[_own(f"key{at}")]) for at, key in enumerate(plan.keys)),
        kept=found[_own("kept")].fill_null(-1).cast(pl.Int64).to_numpy(),
        rows=found[_own("rows")].to_numpy(),
        people=np.array(people, dtype=np.int64),
        weights=both("weight"),
        squares=both("squares"),
        largest_weight=largest("largest") if plan.weight else 0.0,
        weight_errors=(largest("error0"), largest("error1")) if plan.weight else (0.0, 0.0),
    )


def _raw_key(key: Key, column: pl.Series) -> RawKey:
    if key.edges is not None:
        codes = column.cast(pl.Int64).fill_null(MISSING).to_numpy()
        return RawKey(key, codes)
    text = column.cast(pl.String)
    levels: Sequence[str | None] = text.unique().sort(nulls_last=True).to_list()
    place = {level: at for at, level in enumerate(levels)}
    codes = np.array([place[level] for level in text.to_list()], dtype=np.int64)
    return RawKey(key, codes, tuple(levels))
