"""The exact quantile of any number of scores in constant memory: a pass more over one column.

A histogram says in which bin the quantile lies; only what is in that bin is looked at again, by
its values where they are few, else by finer bins.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairaudit.engine.numbers import Numbers, own
from fairaudit.engine.polars import filtered
from fairaudit.engine.scan import batches, rule_of
from fairaudit.engine.sources import Source
from fairaudit.plan import Plan

_FEW = 2**20
_BINS = 2**16


def median(
    sources: Sequence[Source], plan: Plan, column: str, between: tuple[float, float]
) -> float:
    """The smallest score with half of the people at or below it; it lies between these."""
    scores = pl.concat([_scores(one, plan, column) for one in sources])
    score, people = pl.col("score"), pl.col("people").sum()
    low, high = between
    counts = scores.select(people.alias("all"), pl.col("people").filter(score < low).sum())
    total, below = counts.collect(engine="streaming").row(0)
    wanted = (total + 1) // 2
    while low < high:
        inside = scores.filter(score.is_between(low, high))
        rows = int(inside.select(pl.len().cast(pl.Int64)).collect(engine="streaming").item())
        part = score
        if rows > _FEW:
            part = ((score - low) / (high - low) * _BINS).floor().clip(0, _BINS - 1)
        found = (
            inside.group_by(part.alias("part"))
            .agg(people, score.min().alias("low"), score.max().alias("high"))
            .collect(engine="streaming")
            .sort("part")
        )
        reached = below + found["people"].cum_sum()
        at = int((reached < wanted).sum())
        below = int(reached[at - 1]) if at else below
        low, high = float(found["low"][at]), float(found["high"][at])
    return low


def _scores(one: Source, plan: Plan, column: str) -> pl.LazyFrame:
    """Score and people of the rows that the filter keeps and that have a score."""
    (batch,) = batches([one], plan.format.separator)
    rule = rule_of(plan)
    numbers = Numbers(batch, plan)
    score = numbers.value(column).cast(pl.Float64).alias(own("score"))
    people = numbers.sound_value(plan.count).cast(pl.Int64) if plan.count else pl.lit(1, pl.Int64)
    kept = pl.lit(value=True) if rule is None else rule.expression
    return (
        batch.frame.select(score, people.alias(own("people")), *filtered(rule, numbers))
        .filter(kept & pl.col(own("score")).is_not_null())
        .select(score=own("score"), people=own("people"))
    )
