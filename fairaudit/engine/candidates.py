"""Which columns of the data a search for reversals conditions on: those of few levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import polars as pl

from fairaudit.engine import filter as filters
from fairaudit.engine.numbers import Batch, as_text, has_levels
from fairaudit.engine.polars import collect
from fairaudit.engine.search import FIRST_ROWS, MOST_LEVELS, TOO_MANY
from fairaudit.plan import Plan


def chosen(batches: Sequence[Batch], plan: Plan, repeated: Iterable[str] = ()) -> Plan:
    """The plan with the candidates of its search, by the first rows of the batches.

    `repeated` are columns that a file has twice.
    """
    if plan.search is None:
        return plan
    taken = plan.search.taken | _filtered_by(plan)
    every = dict.fromkeys(name for one in batches for name in one.schema)
    left = [name for name in every if name not in taken]
    why = {name: _unfit(name, batches, set(repeated)) for name in left}
    why |= dict.fromkeys(plan.search.names.intersection(left), "a name of something else here")
    fit = [name for name, reason in why.items() if reason is None]
    few = _of_few_levels(fit, batches, plan.tokens)
    left_out = {name: why[name] or TOO_MANY for name in why if name not in few}
    return replace(plan, search=replace(plan.search, candidates=tuple(few), left_out=left_out))


def _filtered_by(plan: Plan) -> frozenset[str]:
    return filters.parse(plan.filter).columns if plan.filter else frozenset()


def _unfit(name: str, batches: Sequence[Batch], repeated: set[str]) -> str | None:
    """Why a column can be no candidate, whatever its levels."""
    if not name.strip():
        return "no name"
    if name in repeated:
        return "several columns of that name"
    if any(name not in one.schema for one in batches):
        return "not in every file"
    kinds = [one.schema[name] for one in batches if not has_levels(one.schema[name])]
    return f"{kinds[0]} has no levels" if kinds else None


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
    return {level for level in as_texts(different).to_list() if level} - {*tokens}


def as_texts(column: pl.Series) -> pl.Series:
    """The values of a column as levels are written; NaN is missing."""
    value = column.fill_nan(None) if column.dtype.is_float() else column
    return pl.select(as_text(pl.lit(value), value.dtype)).to_series()


def repeated_names(headers: Iterable[Sequence[str]]) -> set[str]:
    """The names that a header holds more than once."""
    return {name for one in headers for name, times in Counter(one).items() if times > 1}
