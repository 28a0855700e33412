"""Computes columns made of others while rows are read: ages, differences, strata.

An unsound value keeps its text, so that reading it as a number fails with this text.
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
"""Decimals of a difference: 1.5 - 1.2 is 0.3, although doubles differ."""

_PART = own("part")
"""The column with the part of the people of a row."""

_FIRST_YEAR, _LAST_YEAR = 1901, 2099
"""A date between these years is likely to be correct."""

_DATE = r"^\s*(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?\s*$"


def prepare(batch: Batch, plan: Plan) -> Numbers:
    """The numbers of a batch, with the columns that a plan derives, and those of models of strata.

    Raises `PlanError` if the filter of the plan cannot be applied to it.
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
    """The values of a column that is made of others, as texts."""
    match derivation:
        case Age():
            born = _date(derivation.born, numbers)
            at = _date(derivation.at, numbers) if derivation.day is None else pl.lit(derivation.day)
            had = _day_of_year(at) >= _day_of_year(born)
            years = at.dt.year() - born.dt.year() - pl.when(had).then(0).otherwise(1)
            # Who is born later than that day has no age.
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
    """A column as its levels are written."""
    return as_text(pl.col(column), numbers.batch.schema[column])


def _day_of_year(day: pl.Expr) -> pl.Expr:
    """The month and the day as one number, which ascends within a year."""
    return day.dt.month().cast(pl.Int32) * 100 + day.dt.day()


def _is_dated(column: str, numbers: Numbers) -> bool:
    return isinstance(numbers.batch.schema[column], pl.Date | pl.Datetime)


def _date(column: str, numbers: Numbers) -> pl.Expr:
    """The date in a column; null if it is missing or not a date."""
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
    """The sound value; null if a part is missing; otherwise a text that is not a number."""
    parts = [numbers.present(name) for name in columns]
    missing = pl.any_horizontal(part.is_null() for part in parts)
    raw = pl.concat_str([part.cast(pl.String) for part in parts], separator=" / ")
    return pl.when(missing).then(None).otherwise(pl.coalesce(sound, pl.lit(UNREAD) + raw))


class _Part(NamedTuple):
    """Some people of a row: their number as a text, and their level; null if it is unknown."""

    people: pl.Expr
    level: pl.Expr
    kind: int = OBSERVED


def _split(batch: Batch, plan: Plan) -> Batch:
    """Each row once for each part of its people: by level, and by what a mask hides of them."""
    numbers = Numbers(batch, plan)
    if plan.counts is None:
        # The least people that a mask allows, and those who may exist.
        low, high, text = _bound(str(plan.count), numbers)
        nothing = pl.lit(None, pl.String)
        hidden = _written(high - low, numbers).fill_null("0")
        parts = [_Part(text, nothing), _Part(hidden, nothing, POSSIBLE)]
    else:
        parts = list(_parts_of_counts(plan.counts, numbers))
    names = [own(f"part{number}") for number in range(len(parts))]
    levels = [own(f"level{number}") for number in range(len(parts))]
    frame = batch.frame.with_columns(
        *(part.people.alias(name) for part, name in zip(parts, names, strict=True)),
        *(part.level.alias(name) for part, name in zip(parts, levels, strict=True)),
    )
    count = str(plan.count)
    kept = [name for name in batch.schema if name != count]
    index = [*kept, *levels]
    frame = frame.select(*index, *names)
    frame = frame.unpivot(names, index=index, variable_name=_PART, value_name=count)
    is_part = [pl.col(_PART) == name for name in names]
    kind, level = pl.lit(OBSERVED, pl.Int8), pl.lit(None, pl.String)
    for part, name, own_level in zip(parts, is_part, levels, strict=True):
        kind = pl.when(name).then(pl.lit(part.kind, pl.Int8)).otherwise(kind)
        level = pl.when(name).then(pl.col(own_level)).otherwise(level)
    added = {COUNTED_LEVEL: level} if plan.counts is not None else {}
    added |= {own("kind"): kind} if plan.masked else {}
    frame = frame.with_columns(value.alias(name) for name, value in added.items())
    schema = {name: batch.schema[name] for name in kept} | {count: pl.String()}
    schema |= {COUNTED_LEVEL: pl.String()} if plan.counts is not None else {}
    return replace(batch, frame=frame.drop(levels), schema=schema, is_split=bool(plan.masked))


def _parts_of_counts(counts: CountColumns, numbers: Numbers) -> Iterator[_Part]:
    """The people of columns of counts by level; a text that is not a number is kept.

    If a row has a `total` and the count of a level is missing, all people whom no level counts have
    an unknown level. A mask on a level leaves some people of a total without a level; a mask on
    anything else, people who may exist.
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
    """The least and the most people that a count may be, and the least as a text."""
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
    """A number in the notation of the files: derived numbers are read like numbers of the files."""
    return number.cast(pl.String).str.replace(".", numbers.plan.format.decimal, literal=True)


def _add_strata(batch: Batch, plan: Plan) -> Batch:
    """The batch with a column of levels for each of the plan's models, named as its stratum is."""
    numbers = Numbers(batch, plan)
    models = {name: fit.model for name, fit in plan.models.items() if fit.model is not None}
    # In steps, since a streaming expression is computed again at each use.
    scores: dict[str, pl.Expr] = {}
    for name, model in models.items():
        for number, score in enumerate(model.scores):
            # It is null if a feature is missing, or of a level that the model does not know.
            total = pl.lit(score.intercept)
            for scale, slope in zip(model.features.numbers, score.slopes, strict=True):
                value = numbers.value(scale.column).cast(pl.Float64)
                total = total + slope * ((value - scale.mean) / scale.deviation)
            for known, points in zip(model.features.categories, score.points, strict=True):
                total = total + _look_up(category(known.column, numbers), known.levels, points)
            scores[own(f"{name} {number}")] = total
    frame = batch.frame.with_columns(score.alias(name) for name, score in scores.items())
    # The number of a row's stratum, by its scores; null if it has none.
    places: dict[str, pl.Expr] = {name: pl.lit(None, pl.String) for name in plan.models}
    for name, model in models.items():
        if isinstance(model, PropensityModel):
            chance = (1 / (1 + (-pl.col(own(f"{name} 0"))).exp())).round(SCORE_DECIMALS)
            passed = pl.lit(0, pl.Int64)
            for edge in model.edges:
                passed = passed + (chance >= edge).cast(pl.Int64)
            places[name] = pl.when(chance.is_between(*model.support)).then(passed)
            continue
        distances = [pl.col(own(f"{name} {number}")) for number in range(len(model.scores))]
        nearest: pl.Expr = pl.lit(None, pl.Int64)
        for number, distance in reversed([*enumerate(distances)]):
            is_nearest = distance == pl.min_horizontal(distances)
            nearest = pl.when(is_nearest).then(pl.lit(number, pl.Int64)).otherwise(nearest)
        places[name] = nearest
    frame = frame.with_columns(place.alias(name) for name, place in places.items())
    frame = frame.with_columns(
        _look_up(pl.col(name), range(len(model.levels)), model.levels).alias(name)
        for name, model in models.items()
    )
    schema = {**batch.schema, **dict.fromkeys(plan.models, pl.String())}
    return replace(batch, frame=frame, schema=schema)


def category(column: str, numbers: Numbers) -> pl.Expr:
    """The level of a categorical feature as a text, null if it is missing."""
    level = _level(column, numbers)
    return pl.when(~level.is_in(["", *numbers.plan.tokens])).then(level)


def _look_up(
    value: pl.Expr, keys: Sequence[Key], values: Sequence[float] | Sequence[str]
) -> pl.Expr:
    """The value for each key; null for other texts.

    The look-up of Polars holds the whole column in memory, so it gets a chunk at a time.
    """
    dtype = pl.Float64() if isinstance(values[0], float) else pl.String()
    table = dict(zip(keys, values, strict=True))
    return value.map_batches(
        lambda chunk: chunk.replace_strict(table, default=None, return_dtype=dtype),
        dtype,
        is_elementwise=True,
    )
