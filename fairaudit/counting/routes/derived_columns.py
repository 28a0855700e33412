"""Computes columns from other columns while rows are read: ages, differences, periods, strata.

If a value cannot be computed, the result is a text that is not a number. So a later check of the
number fails, and the message can show the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

import polars as pl

from fairaudit.base.errors import DataError
from fairaudit.base.frozen import replace
from fairaudit.base.names import quoted
from fairaudit.counting.columns import (
    ABSENT,
    BETWEEN,
    COUNTED_LEVEL,
    COUNTED_PEOPLE,
    Age,
    Combination,
    CountColumns,
    Derivation,
    Difference,
    OddDates,
    Period,
)
from fairaudit.counting.plan import Plan, is_finite_number
from fairaudit.counting.routes.polars_numbers import UNREAD, Numbers, as_text, in_utc, is_text
from fairaudit.counting.sources.batches import OBSERVED, POSSIBLE, UNKNOWN_LEVEL, Batch, own
from fairaudit.counting.strata_models import SCORE_DECIMALS, PropensityModel

Key = TypeVar("Key", int, str)

_DECIMALS = 9
"""Decimals of a difference, so that 1.5 - 1.2 is 0.3 in spite of rounding errors."""

_PARTS = own("parts")
"""The column with the parts into which a row of the data is split."""

_FIRST_YEAR, _LAST_YEAR = 1901, 2099
"""Dates in these years are likely to be correct."""

_DATE = r"^\s*(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?\s*$"


def prepare(batch: Batch, plan: Plan) -> Numbers:
    """The columns of a batch, with the derived columns and the strata of a plan.

    Raises `PlanError` if the filter of the plan cannot be applied to the batch.
    """
    numbers = Numbers(batch, plan)
    columns = {
        derivation.name: _derive(derivation, numbers).alias(derivation.name)
        for derivation in plan.derived
    }
    counted = () if plan.counts is None else (COUNTED_LEVEL, COUNTED_PEOPLE)
    for name in (*columns, *counted):
        if name in batch.schema:
            what = (
                f"{batch.names[0]}: a column has the name {quoted(name)}, which is reserved "
                "for a derived column"
            )
            raise DataError(what, "rename the column")
    if columns:
        frame = batch.frame.with_columns(value.alias(name) for name, value in columns.items())
        schema = {**batch.schema, **dict.fromkeys(columns, pl.String())}
        batch = replace(batch, frame=frame, schema=schema)
    if plan.counts is not None or plan.masked:
        batch = _split(batch, plan)
    if plan.models:
        batch = _add_strata(batch, plan)
    numbers = Numbers(batch, plan)
    numbers.check_filter()
    return numbers


def _derive(derivation: Derivation, numbers: Numbers) -> pl.Expr:
    """The values of a derived column, as texts."""
    match derivation:
        case Age():
            born = _date(derivation.born, numbers)
            at = _date(derivation.at, numbers) if derivation.day is None else pl.lit(derivation.day)
            is_complete = _day_of_year(at) >= _day_of_year(born)
            years = at.dt.year() - born.dt.year() - pl.when(is_complete).then(0).otherwise(1)
            # A person who was born after that day has no age.
            sound = pl.when(born <= at).then(years.cast(pl.String))
            return _or_raw(sound, derivation.columns, numbers)
        case Difference(first, second):
            if all(_is_dated(column, numbers) for column in (first, second)):
                days = (_date(first, numbers) - _date(second, numbers)).dt.total_days()
                return _or_raw(days.cast(pl.String), derivation.columns, numbers)
            gap = numbers.value(first).cast(pl.Float64) - numbers.value(second).cast(pl.Float64)
            written = _written(gap.round(_DECIMALS), numbers)
            if all(is_text(numbers.batch.schema[column]) for column in (first, second)):
                days = (_date(first, numbers) - _date(second, numbers)).dt.total_days()
                written = pl.coalesce(written, days.cast(pl.String))
            is_missing = pl.any_horizontal(map(numbers.is_missing_number, (first, second)))
            return pl.when(~is_missing).then(_or_raw(written, derivation.columns, numbers))
        case Period():
            day = _date(derivation.column, numbers)
            year = day.dt.to_string("%Y")
            quarter = pl.concat_str(year, pl.lit("-Q"), day.dt.quarter().cast(pl.String))
            forms = {"month": day.dt.to_string("%Y-%m"), "quarter": quarter, "year": year}
            return _or_raw(forms[derivation.unit], derivation.columns, numbers)
        case Combination():
            levels = [_level(name, numbers).fill_null(ABSENT) for name in derivation.columns]
            return pl.concat_str(levels, separator=BETWEEN)
        case OddDates(column):
            if not (_is_dated(column, numbers) or is_text(numbers.batch.schema[column])):
                return pl.lit("")
            year = _date(column, numbers).dt.year()
            late = pl.when(year > _LAST_YEAR).then(pl.lit("late")).otherwise(pl.lit(""))
            return pl.when(year < _FIRST_YEAR).then(pl.lit("early")).otherwise(late)


def _level(column: str, numbers: Numbers) -> pl.Expr:
    """The texts of the levels of a column."""
    return as_text(pl.col(column), numbers.batch.schema[column])


def _day_of_year(day: pl.Expr) -> pl.Expr:
    """The month and the day as one number, such as 1231."""
    return day.dt.month().cast(pl.Int32) * 100 + day.dt.day()


def _is_dated(column: str, numbers: Numbers) -> bool:
    return isinstance(numbers.batch.schema[column], pl.Date | pl.Datetime)


def _date(column: str, numbers: Numbers) -> pl.Expr:
    """The date in a column; null for missing values and texts that are not dates."""
    value = numbers.present(column)
    if is_text(numbers.batch.schema[column]):
        return in_utc(value).str.extract(_DATE, 1).str.to_date("%Y-%m-%d", strict=False)
    if not _is_dated(column, numbers):
        dtype = numbers.batch.schema[column]
        raise DataError(
            f"{numbers.batch.names[0]}: the column {quoted(column)} holds {dtype}, not dates",
            "write dates as 2024-12-31",
        )
    return value.dt.date()


def _or_raw(sound: pl.Expr, columns: tuple[str, ...], numbers: Numbers) -> pl.Expr:
    """`sound`; if it is null, a text that is not a number. Null if a column has no value."""
    parts = [numbers.present(name) for name in columns]
    missing = pl.any_horizontal(part.is_null() for part in parts)
    raw = pl.concat_str([part.cast(pl.String) for part in parts], separator=" / ")
    return pl.when(missing).then(None).otherwise(pl.coalesce(sound, pl.lit(UNREAD) + raw))


class _Part(NamedTuple):
    """A part of the people in a row: their number (a text), level (null: unknown) and kind."""

    people: pl.Expr
    level: pl.Expr
    kind: int = OBSERVED


def _split(batch: Batch, plan: Plan) -> Batch:
    """The batch with each row split into rows: one for each level, and rows for hidden people."""
    numbers = Numbers(batch, plan)
    if plan.counts is None:
        # The smallest count that a mask allows, and the people who may exist in addition.
        low, high, text = _bound(str(plan.count), numbers)
        nothing = pl.lit(None, pl.String)
        hidden = _written(high - low, numbers).fill_null("0")
        parts = [_Part(text, nothing), _Part(hidden, nothing, POSSIBLE)]
    else:
        parts = list(_parts_of_counts(plan.counts, numbers))
    count, kept = str(plan.count), [name for name in batch.schema if name != plan.count]
    added = {COUNTED_LEVEL: pl.String()} if plan.counts is not None else {}
    # A row becomes a list with a record for each part, and the list becomes rows.
    records = []
    for people, level, kind in parts:
        fields = {count: people, own("kind"): pl.lit(kind, pl.Int8)}
        fields |= dict.fromkeys(added, level)
        records.append(pl.struct(value.alias(name) for name, value in fields.items()))
    frame = batch.frame.select(*kept, pl.concat_list(records).alias(_PARTS))
    frame = frame.explode(_PARTS).unnest(_PARTS)
    schema = {name: batch.schema[name] for name in kept} | {count: pl.String()} | added
    return replace(batch, frame=frame, schema=schema, is_split=bool(plan.masked))


def _parts_of_counts(counts: CountColumns, numbers: Numbers) -> Iterator[_Part]:
    """The people in columns of counts, by level; a text that is not a number is kept.

    If a row has a `total` but lacks a count, the people outside its other counts have an unknown
    level. If a count is masked in a row with a total, some people have a hidden level. If the total
    is masked, or a count is masked in a row without a total, some people may not exist.
    """
    plan = numbers.plan
    bounds = {level: _bound(name, numbers) for level, name in counts.levels.items()}
    if counts.total is None:
        for level, (low, high, text) in bounds.items():
            yield _Part(text, pl.lit(level))
            if plan.masked:
                hidden = _written(high - low, numbers).fill_null("0")
                yield _Part(hidden, pl.lit(level), POSSIBLE)
        return
    zero = pl.lit(0.0)
    lacks = {level: numbers.present(name).is_null() for level, name in counts.levels.items()}
    for level, (_, _, text) in bounds.items():
        yield _Part(pl.when(lacks[level]).then(pl.lit("0")).otherwise(text), pl.lit(level))
    is_open = pl.any_horizontal(lacks.values())
    least, most = (
        pl.sum_horizontal(
            *(pl.when(lacks[level]).then(zero).otherwise(bounds[level][end]) for level in bounds),
            ignore_nulls=False,
        )
        for end in (0, 1)
    )
    rest = pl.when(~is_open).then(pl.lit(counts.rest))
    total, largest, _ = _bound(counts.total, numbers)
    if not plan.masked:
        yield _Part(_written(total - least, numbers).fill_null("?"), rest)
        return
    total = pl.when(total < largest).then(pl.max_horizontal(total, least)).otherwise(total)
    is_exact = is_open | (least == most)
    certain = pl.when(is_exact).then(total - least).otherwise((total - most).clip(0))
    yield _Part(_written(certain, numbers).fill_null("?"), rest)
    unknown = pl.lit(None, pl.String)
    hidden = _written(total - least - certain, numbers).fill_null("0")
    yield _Part(hidden, unknown, UNKNOWN_LEVEL)
    further = _written(largest - total, numbers).fill_null("0")
    yield _Part(further, pl.when(is_exact).then(rest).otherwise(unknown), POSSIBLE)


def _bound(column: str, numbers: Numbers) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """The smallest and the largest number that a count may mean, and the smallest as a text."""
    text, number = _level(column, numbers), numbers.value(column).cast(pl.Float64)
    low, high, least = number, number, text
    for mask in numbers.plan.masked:
        is_masked = text.str.strip_chars() == mask.text
        if is_finite_number(mask.text):
            is_masked |= (number == float(mask.text)).fill_null(value=False)
        low = pl.when(is_masked).then(float(mask.least)).otherwise(low)
        high = pl.when(is_masked).then(float(mask.most)).otherwise(high)
        least = pl.when(is_masked).then(pl.lit(str(mask.least))).otherwise(least)
    return low, high, least


def _written(number: pl.Expr, numbers: Numbers) -> pl.Expr:
    """A number as a text in the notation of the files, in which it is read later."""
    return number.cast(pl.String).str.replace(".", numbers.plan.format.decimal, literal=True)


def _add_strata(batch: Batch, plan: Plan) -> Batch:
    """The batch with a column of strata for each model of the plan."""
    numbers = Numbers(batch, plan)
    models = {name: fit.model for name, fit in plan.models.items() if fit.model is not None}
    # Add columns in steps, because Polars computes a streaming expression again for each use.
    scores: dict[str, pl.Expr] = {}
    for name, model in models.items():
        for number, score in enumerate(model.scores):
            # The score is null if a feature is missing, or has a level that is not in the model.
            total = pl.lit(score.intercept)
            for scale, slope in zip(model.features.numbers, score.slopes, strict=True):
                value = numbers.value(scale.column).cast(pl.Float64)
                total = total + slope * ((value - scale.mean) / scale.deviation)
            for known, points in zip(model.features.categories, score.points, strict=True):
                total = total + _look_up(category(known.column, numbers), known.levels, points)
            scores[own(f"{name} {number}")] = total
    frame = batch.frame.with_columns(score.alias(name) for name, score in scores.items())
    # The number of each row's stratum; null without a stratum.
    places: dict[str, pl.Expr] = {name: pl.lit(None, pl.String) for name in plan.models}
    for name, model in models.items():
        if isinstance(model, PropensityModel):
            chance = (1 / (1 + (-pl.col(own(f"{name} 0"))).exp())).round(SCORE_DECIMALS)
            passed = pl.sum_horizontal(pl.lit(0), *(chance >= edge for edge in model.edges))
            places[name] = pl.when(chance.is_between(*model.support)).then(passed.cast(pl.Int64))
            continue
        distances = [pl.col(own(f"{name} {number}")) for number in range(len(model.scores))]
        places[name] = pl.concat_list(distances).list.arg_min().cast(pl.Int64)
    frame = frame.with_columns(place.alias(name) for name, place in places.items())
    frame = frame.with_columns(
        _look_up(pl.col(name), range(len(model.levels)), model.levels).alias(name)
        for name, model in models.items()
    )
    schema = {**batch.schema, **dict.fromkeys(plan.models, pl.String())}
    return replace(batch, frame=frame, schema=schema)


def category(column: str, numbers: Numbers) -> pl.Expr:
    """The level of a categorical feature as a text; null if the level is missing."""
    level = _level(column, numbers)
    return pl.when(~level.is_in(["", *numbers.plan.tokens])).then(level)


def _look_up(
    value: pl.Expr, keys: Sequence[Key], values: Sequence[float] | Sequence[str]
) -> pl.Expr:
    """The value for each key; null for all other values of the column.

    Chunks are converted one by one: `replace_strict` of an expression needs the column in memory.
    """
    dtype = pl.Float64() if isinstance(values[0], float) else pl.String()
    table = dict(zip(keys, values, strict=True))
    return value.map_batches(
        lambda chunk: chunk.replace_strict(table, default=None, return_dtype=dtype),
        dtype,
        is_elementwise=True,
    )
