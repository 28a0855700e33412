"""The strata that fitted models make, as a column of each batch: computed while rows stream by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import polars as pl

from fairaudit.engine.numbers import Batch, Numbers, as_text, own
from fairaudit.plan import Plan
from fairaudit.strata_models import (
    SCORE_DECIMALS,
    FeatureScale,
    LinearScore,
    PropensityModel,
    StrataModel,
)

Key = TypeVar("Key", int, str)

_FEW = 32
"""So many values are looked up one after the other."""


def add_strata(batch: Batch, plan: Plan) -> Batch:
    """The batch with a column of levels for each of the plan's models, named as its stratum is."""
    if not plan.models:
        return batch
    numbers = Numbers(batch, plan)
    models = {name: fit.model for name, fit in plan.models.items()}
    # In steps, since a streaming expression is computed anew wherever it is used.
    frame = batch.frame.with_columns(
        score.alias(own(f"{name} {number}"))
        for name, model in models.items()
        for number, score in enumerate(_score(model, batch, numbers))
    )
    frame = frame.with_columns(_place(name, model).alias(name) for name, model in models.items())
    frame = frame.with_columns(
        _look_up(pl.col(name), range(len(model.levels)), model.levels).alias(name)
        for name, model in models.items()
        if model is not None
    )
    schema = {**batch.schema, **dict.fromkeys(plan.models, pl.String())}
    return replace(batch, frame=frame, schema=schema)


def category(column: str, batch: Batch, numbers: Numbers) -> pl.Expr:
    """The level of a categorical feature as a text, null where it is missing."""
    dtype, value = batch.schema[column], pl.col(column)
    level = as_text(value.fill_nan(None) if dtype.is_float() else value, dtype)
    return pl.when(~level.is_in(["", *numbers.plan.tokens])).then(level)


def _score(model: StrataModel | None, batch: Batch, numbers: Numbers) -> Iterator[pl.Expr]:
    """The linear scores of a model."""
    if isinstance(model, PropensityModel):
        yield _sum_up(model.score, model.features, batch, numbers)
    elif model is not None:
        for distance in model.distances:
            yield _sum_up(distance, model.features, batch, numbers)


def _place(name: str, model: StrataModel | None) -> pl.Expr:
    """The number of a row's stratum, by its scores; null where it has none."""
    if model is None:
        return pl.lit(None, pl.String)
    if isinstance(model, PropensityModel):
        score = (1 / (1 + (-pl.col(own(f"{name} 0"))).exp())).round(SCORE_DECIMALS)
        passed = pl.lit(0, pl.Int64)
        for edge in model.edges:
            passed = passed + (score >= edge).cast(pl.Int64)
        return pl.when(score.is_between(*model.support)).then(passed)
    scores = [pl.col(own(f"{name} {number}")) for number in range(len(model.distances))]
    least = pl.min_horizontal(scores)
    place: pl.Expr = pl.lit(None, pl.Int64)
    for number in reversed(range(len(scores))):
        place = pl.when(scores[number] == least).then(pl.lit(number, pl.Int64)).otherwise(place)
    return place


def _sum_up(score: LinearScore, features: FeatureScale, batch: Batch, numbers: Numbers) -> pl.Expr:
    """A linear score of the features; null where one is missing, or of a level it does not know."""
    total = pl.lit(score.intercept)
    for scale, slope in zip(features.numbers, score.slopes, strict=True):
        value = numbers.value(scale.column).cast(pl.Float64)
        total = total + slope * ((value - scale.mean) / scale.deviation)
    for known, points in zip(features.categories, score.points, strict=True):
        level = category(known.column, batch, numbers)
        total = total + _look_up(level, known.levels, points)
    return total


def _look_up(
    value: pl.Expr, keys: Sequence[Key], values: Sequence[float] | Sequence[str]
) -> pl.Expr:
    """What stands for each key; null for any other value.

    Polars' own look-up holds the whole column in memory, so it is given a chunk at a time.
    """
    is_number = isinstance(values[0], float)
    dtype = pl.Float64() if is_number else pl.String()
    if len(keys) > _FEW:
        table = dict(zip(keys, values, strict=True))
        return value.map_batches(
            lambda chunk: chunk.replace_strict(table, default=None, return_dtype=dtype),
            dtype,
            is_elementwise=True,
        )
    chosen: pl.Expr = pl.lit(None, dtype)
    for key, item in zip(keys, values, strict=True):
        chosen = pl.when(value == key).then(pl.lit(item, dtype)).otherwise(chosen)
    return chosen
