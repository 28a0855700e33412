"""The strata that fitted models make, as a column of each batch: computed while rows stream by."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import polars as pl

from fairaudit.engine.numbers import Batch, Numbers, as_text
from fairaudit.plan import Plan
from fairaudit.strata_models import (
    SCORE_DECIMALS,
    FeatureScale,
    LinearScore,
    PropensityModel,
    StrataModel,
)


def add_strata(batch: Batch, plan: Plan) -> Batch:
    """The batch with a column of levels for each of the plan's models, named as its stratum is."""
    if not plan.models:
        return batch
    numbers = Numbers(batch, plan)
    columns = [_stratum(fit.model, batch, numbers).alias(name) for name, fit in plan.models.items()]
    schema = {**batch.schema, **dict.fromkeys(plan.models, pl.String())}
    return replace(batch, frame=batch.frame.with_columns(columns), schema=schema)


def category(column: str, batch: Batch, numbers: Numbers) -> pl.Expr:
    """The level of a categorical feature as a text, null where it is missing."""
    dtype, value = batch.schema[column], pl.col(column)
    level = as_text(value.fill_nan(None) if dtype.is_float() else value, dtype)
    return pl.when(~level.is_in(["", *numbers.plan.tokens])).then(level)


def _stratum(model: StrataModel | None, batch: Batch, numbers: Numbers) -> pl.Expr:
    """The level of a row; null where it has none."""
    if model is None:
        return pl.lit(None, pl.String)
    if isinstance(model, PropensityModel):
        place = _propensity_bin(model, batch, numbers)
    else:
        scores = [_sum_up(one, model.features, batch, numbers) for one in model.distances]
        place = pl.concat_list(scores).list.arg_min()
        place = pl.when(pl.all_horizontal(score.is_not_null() for score in scores)).then(place)
    places = list(range(len(model.levels)))
    return place.replace_strict(places, model.levels, default=None, return_dtype=pl.String)


def _propensity_bin(model: PropensityModel, batch: Batch, numbers: Numbers) -> pl.Expr:
    """The number of the bin of a score, null outside the range that both sides have in common."""
    odds = _sum_up(model.score, model.features, batch, numbers)
    score = (1 / (1 + (-odds).exp())).round(SCORE_DECIMALS)
    place = reduce(
        lambda code, edge: code + (score >= edge).cast(pl.Int16), model.edges, pl.lit(0, pl.Int16)
    )
    return pl.when(score.is_between(*model.support)).then(place)


def _sum_up(score: LinearScore, features: FeatureScale, batch: Batch, numbers: Numbers) -> pl.Expr:
    """A linear score of the features; null where one is missing, or of a level it does not know."""
    total = pl.lit(score.intercept)
    for scale, slope in zip(features.numbers, score.slopes, strict=True):
        value = numbers.value(scale.column).cast(pl.Float64)
        total = total + slope * ((value - scale.mean) / scale.deviation)
    for known, points in zip(features.categories, score.points, strict=True):
        level = category(known.column, batch, numbers)
        total = total + level.replace_strict(
            known.levels, points, default=None, return_dtype=pl.Float64
        )
    return total
