"""Which columns of the data a search for reversals conditions on: those of few levels."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from fairaudit.engine import filter as filters
from fairaudit.engine.numbers import Batch, as_text, has_levels
from fairaudit.engine.polars import collect
from fairaudit.engine.search import FIRST_ROWS, MOST_LEVELS, fitness, with_candidates
from fairaudit.plan import Plan


def chosen(batches: Sequence[Batch], plan: Plan, headers: Sequence[Sequence[str]]) -> Plan:
    """The plan with the candidates of its search, by the first rows of the batches.

    `headers` are those of the files, in which a column may stand twice.
    """
    if plan.search is None:
        return plan
    filtered_by = filters.parse(plan.filter).columns if plan.filter else ()
    fit = fitness(plan.search, headers, filtered_by)
    for name in [name for name, why in fit.items() if why is None]:
        kinds = [one.schema[name] for one in batches if not has_levels(one.schema[name])]
        fit[name] = f"{kinds[0]} has no levels" if kinds else None
    names = [name for name, why in fit.items() if why is None]
    few = _of_few_levels(names, batches, plan.tokens)
    return with_candidates(plan, plan.search, fit, few)


def _of_few_levels(
    names: Sequence[str], batches: Sequence[Batch], tokens: Sequence[str]
) -> list[str]:
    """The columns that have few levels in the first rows."""
    found: dict[str, set[str]] = {name: set() for name in names}
    for one in batches:
        left = [name for name in names if len(found[name]) <= MOST_LEVELS]
        if left:
            first = collect(one.frame.select(left).head(FIRST_ROWS), one)
            for name in left:
                found[name] |= _levels(first[name], tokens)
    return [name for name in names if len(found[name]) <= MOST_LEVELS]


def _levels(column: pl.Series, tokens: Sequence[str]) -> set[str]:
    """The levels of a column, missing ones left out; of very many, some."""
    different = column.unique().head(MOST_LEVELS + len(tokens) + 3)
    return {level for level in _as_texts(different).to_list() if level} - {*tokens}


def _as_texts(column: pl.Series) -> pl.Series:
    """The values of a column as levels are written; NaN is missing."""
    value = column.fill_nan(None) if column.dtype.is_float() else column
    return pl.select(as_text(pl.lit(value), value.dtype)).to_series()
