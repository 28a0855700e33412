"""Rows of a result as Polars, pandas or Arrow frames; `report/export` defines their columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from fairaudit.base.errors import UsageError
from fairaudit.base.frozen import replace
from fairaudit.base.names import quoted
from fairaudit.cube import Group, Grouping
from fairaudit.metrics import Eligibility
from fairaudit.report import export, numbers
from fairaudit.report.export import Export
from fairaudit.result import Answer, AuditResult

if TYPE_CHECKING:
    import polars as pl

_LIBRARIES = ("polars", "pandas", "arrow")
_NOT_OF_RATES = {"title", "spec", "data", "compare"}
"""Columns that a frame of rates does not need: those of several answers and of comparisons."""


def group_rates(result: AuditResult, by: str | Sequence[str] | None, to: str) -> Any:  # noqa: ANN401  # pandas and Arrow ship no types
    """One row for each rate of each group, in one grouping or in all groupings."""
    result = replace(result, comparisons=())
    if by is not None:
        grouping = _find_grouping(result, by)
        result = replace(
            result,
            groups=tuple(row for row in result.groups if frozenset(row.by) == grouping),
            rates=tuple(row for row in result.rates if frozenset(row.by) == grouping),
        )
    return _convert(export.groups([Answer("", None, result)]), to, without=_NOT_OF_RATES)


_FRAMES = {
    "checks": export.checks,
    "comparisons": export.comparisons,
    "lattice": export.lattice,
    "reversals": export.reversals,
    "subgroups": export.subgroups,
}


def frame(result: AuditResult, of: str, to: str) -> Any:  # noqa: ANN401  # as above
    """The rows of one kind (`rates`, or a key of `_FRAMES`) as a frame."""
    if of == "rates":
        return group_rates(result, None, to)
    if of not in _FRAMES:
        known = ", ".join(("rates", *_FRAMES))
        raise UsageError(f"`of` must be one of {known}, not {quoted(str(of))}")
    searched = {"subgroups": result.subgroups, "reversals": result.compared}
    if searched.get(of, 0) is None:
        key = {"subgroups": "subgroups", "reversals": "simpson"}[of]
        warnings.warn(
            f"the audit did not search for {of}, so the frame is empty: the spec has no `{key}`",
            stacklevel=3,
        )
    return _convert(_FRAMES[of](result), to)


def table(result: AuditResult, by: str | Sequence[str]) -> pl.DataFrame:
    """One row for each group of a grouping, with a column for each of its rates."""
    import polars as pl

    grouping = _find_grouping(result, by)
    rates = [rate for rate in result.rates if frozenset(rate.by) == grouping and not rate.stratum]
    # The column of each rate: its metric, with the outcome and parameters if there are several.
    outcomes: dict[str, set[str]] = {}
    variants: dict[str, set[str]] = {}
    for rate in rates:
        outcomes.setdefault(rate.metric, set()).add(rate.of)
        variants.setdefault(rate.metric, set()).add(repr((rate.parameters, rate.averaged)))
    names = []
    for rate in rates:
        name = rate.metric
        if len(outcomes[name]) > 1:
            name += f" of {rate.of}"
        if len(variants[rate.metric]) > 1:
            name += "".join(f" {key}={value}" for key, value in rate.parameters.items())
            name += f" over {'+'.join(rate.averaged)}" if rate.averaged else ""
        names.append(name)
    taken = {"n", "standing", *names}
    rows: dict[Group, dict[str, object]] = {}
    for row in result.groups:
        if frozenset(row.by) == grouping and not row.stratum:
            people = {"n": row.n, "standing": str(row.standing)}
            rows.setdefault(row.group, {**_levels(row.group, taken), **people})
    for rate, name in zip(rates, names, strict=True):
        if rate.group not in rows:
            # The rate is averaged over strata, and the people are listed in each stratum.
            people = {"n": None, "standing": str(rate.standing)}
            rows[rate.group] = {**_levels(rate.group, taken), **people}
        rows[rate.group][name] = rate.estimate.known_value
    kinds = {"n": pl.Int64, **dict.fromkeys(names, pl.Float64)}
    return pl.DataFrame(list(rows.values()), infer_schema_length=None, schema_overrides=kinds)


def find_extremes(
    result: AuditResult, by: str | Sequence[str], pick: Callable[[Iterable[float]], float]
) -> dict[str, float | None]:
    """The lowest or the highest value of each rate, over the compared groups of a grouping."""
    frame = table(result, by)
    compared = frame.filter(frame["standing"] == str(Eligibility.ELIGIBLE))
    rates = [name for name, kind in compared.schema.items() if kind.is_float()]
    columns = {name: compared[name].to_list() for name in rates}
    return {
        name: None if not values or None in values else pick(values)
        for name, values in columns.items()
    }


def _find_grouping(result: AuditResult, by: str | Sequence[str]) -> frozenset[str]:
    """The columns of the grouping `by`; raises `UsageError` if the result has no table for it."""
    known: dict[frozenset[str], Grouping] = {frozenset(row.by): row.by for row in result.groups}
    try:
        grouping = frozenset([by] if isinstance(by, str) else by)
    except TypeError as error:
        kind = type(by).__name__
        raise UsageError(f"`by` must be a name or a list of names, not a {kind}") from error
    if grouping not in known:
        named = " × ".join(sorted(map(str, grouping)))
        listed = "; ".join(numbers.subset(columns) for columns in known.values() if columns)
        raise UsageError(f"the result has no table for {named}; it has: {listed or 'none'}")
    return grouping


def _levels(group: Group, taken: set[str]) -> dict[str, object]:
    return {f"group.{name}" if name in taken else name: level for name, level in group}


def _convert(exported: Export, to: str, without: Collection[str] = ()) -> Any:  # noqa: ANN401  # pandas and Arrow ship no types
    """Rows as a frame of a library; in pandas, whole numbers stay whole even if some are null."""
    if to not in _LIBRARIES:
        raise UsageError(f"`to` must be one of {', '.join(_LIBRARIES)}, not {quoted(str(to))}")
    rows = exported.arrow()
    rows = rows.drop_columns([name for name in exported.names if name in without])
    if to == "polars":
        import polars as pl

        return pl.from_arrow(rows)
    if to == "arrow":
        return rows
    try:
        import pandas as pd
    except ImportError as error:
        raise UsageError("pandas is not installed", "pip install pandas") from error
    import pyarrow as pa

    kept = {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype()}
    return rows.to_pandas(types_mapper=kept.get)
