"""The `filter` applied to rows by Polars, and why it cannot be: texts by order, mixed types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from fairaudit.base.arrays import Ints
from fairaudit.base.errors import PlanError, PlanFault
from fairaudit.counting.filter import Filter
from fairaudit.counting.partial_counts import Level
from fairaudit.counting.plan import Plan
from fairaudit.counting.routes.polars_numbers import Numbers
from fairaudit.counting.sources.batches import Batch


def checked_rule(numbers: Numbers) -> Filter | None:
    """The filter of a plan; raises `PlanError` where it cannot be applied to a batch."""
    if numbers.rule is not None:
        _check_filter(numbers.rule, numbers)
    return numbers.rule


def _check_filter(rule: Filter, numbers: Numbers) -> None:
    schema = numbers.batch.schema
    for pair in rule.ordered:
        compared = {*rule.numeric, *rule.dated}
        if all(schema[name] == pl.String and name not in compared for name in pair):
            message = (
                f"{pair[0]!r} and {pair[1]!r} would be compared as texts, so 9 comes after 10; "
                f"for numbers write {pair[0]} - {pair[1]} and compare with 0"
            )
            raise PlanError([PlanFault(message)])
    for name in sorted(rule.logical):
        # Polars refuses `not` of a text only where it meets a row, as damage of the file.
        if schema[name] != pl.Boolean:
            message = f"the column {name!r} is not true or false: compare it, such as {name} = 1"
            raise PlanError([PlanFault(message)])
    empty = pl.LazyFrame(schema={name: schema[name] for name in rule.columns})
    try:
        filtered_rows = empty.select(*filtered(rule, numbers)).select(rule.expression)
        dtype = filtered_rows.collect().dtypes[0]
    except pl.exceptions.PolarsError as error:
        message = (
            "the filter cannot be applied: texts and dates stand in single quotes, such as "
            "'2024-12-31', numbers in none"
        )
        raise PlanError([PlanFault(message)]) from error
    if dtype != pl.Boolean:
        raise PlanError([PlanFault(f"a filter is true or false; this one gives {dtype}")])


def kept_by(
    rule: Filter, texts: Mapping[str, Sequence[Level]], codes: Mapping[str, Ints], plan: Plan
) -> Ints | None:
    """What a filter says of rows by the texts of its columns: 1, 0, or -1 where it cannot tell.

    None where it cannot be applied to them.
    """
    columns = {
        name: pl.Series(known, dtype=pl.String)[codes[name]] for name, known in texts.items()
    }
    frame = pl.DataFrame(columns)
    numbers = Numbers(Batch(frame.lazy(), frame.schema, ("",)), plan)
    try:
        _check_filter(rule, numbers)
        comparable = [numbers.comparable(name).alias(name) for name in numbers.compared]
        if comparable and not frame.select(pl.all_horizontal(comparable)).to_series().all():
            return None
        kept = frame.select(*filtered(rule, numbers)).select(rule.expression).to_series()
    except (pl.exceptions.PolarsError, PlanError):
        return None
    return kept.cast(pl.Int64).fill_null(-1).to_numpy()


def is_kept(rule: Filter | None) -> pl.Expr:
    """Whether a filter keeps a row, by its own columns; null where it cannot tell."""
    return pl.lit(value=True) if rule is None else rule.expression


def filtered(rule: Filter | None, numbers: Numbers) -> list[pl.Expr]:
    """The filter's own columns: numbers or dates where it compares with such, missing as null."""
    return [] if rule is None else [_filtered(name, rule, numbers) for name in sorted(rule.columns)]


def _filtered(name: str, rule: Filter, numbers: Numbers) -> pl.Expr:
    length = rule.dated.get(name)
    if name in rule.numeric:
        value = numbers.value(name)
    else:
        value = numbers.present(name) if length is None else numbers.moment(name, length)
    return value.alias(name)
