"""Formats `csv`, `parquet`: columns, a row for each group and rate, and each comparison; types.

A number that does not exist is None, and the state beside it says why: never 0. Names of attributes
stand behind `group.`, those of strata behind `given.`, so that an attribute called `n` or `metric`
meets no column of ours. `people` and `share_of_known` are those of the group, a share of the people
whose group is known; `n`, `numerator` and `denominator` those of the rate, where weighted sums are
`numerator / scale`.

The CSV is for spreadsheets (`csv_table.py`). The Parquet is for programs: typed by its schema,
texts as they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

from fairaudit.base import names
from fairaudit.base.errors import FairauditError
from fairaudit.cube import Group
from fairaudit.metrics.estimate import Estimate, Significance, State, state_of
from fairaudit.report import numbers
from fairaudit.report.csv_table import Column, Kind, Value, of_rows, written_csv
from fairaudit.result import Answer, AuditResult, ComparisonRow, GroupRow, RateRow

if TYPE_CHECKING:
    import pyarrow as pa

_Key: TypeAlias = tuple[str, tuple[str, ...], Group, Group]

_WHOSE = {
    "title": Kind.TEXT,
    "spec": Kind.TEXT,
    "data": Kind.TEXT,
    "metric": Kind.TEXT,
    "compare": Kind.TEXT,
    "of": Kind.TEXT,
    "by": Kind.TEXT,
    "given": Kind.TEXT,
    "group": Kind.TEXT,
}
_FOUND = {
    "people": Kind.WHOLE,
    "share_of_known": Kind.NUMBER,
    "standing": Kind.TEXT,
    "n": Kind.WHOLE,
    "numerator": Kind.WHOLE,
    "denominator": Kind.WHOLE,
    "scale": Kind.WHOLE,
    "value": Kind.NUMBER,
    "state": Kind.TEXT,
    "reason": Kind.TEXT,
    "error": Kind.NUMBER,
    "low": Kind.NUMBER,
    "low_state": Kind.TEXT,
    "high": Kind.NUMBER,
    "high_state": Kind.TEXT,
    "confidence": Kind.NUMBER,
    "method": Kind.TEXT,
    "no_interval": Kind.TEXT,
    "reference": Kind.TEXT,
    "difference": Kind.NUMBER,
    "difference_state": Kind.TEXT,
    "ratio": Kind.NUMBER,
    "ratio_state": Kind.TEXT,
    "test": Kind.TEXT,
    "p": Kind.NUMBER,
    "adjusted_p": Kind.NUMBER,
    "tests": Kind.WHOLE,
    "correction": Kind.TEXT,
    "parameters": Kind.TEXT,
    "averaged_over": Kind.TEXT,
}


def columns(answers: Sequence[Answer]) -> tuple[Column, ...]:
    """All columns of the groups of several answers; an error has no groups, and so no row."""
    rows = [row for answer in answers for row in _rows(answer)]
    attributes = dict.fromkeys(name for row in rows for name in row if name.startswith("group."))
    strata = dict.fromkeys(name for row in rows for name in row if name.startswith("given."))
    levels = dict.fromkeys((*attributes, *strata), Kind.TEXT)
    return of_rows({**_WHOSE, **levels, **_FOUND}, rows)


def _rows(answer: Answer) -> Iterator[dict[str, Value]]:
    """The rows of one answer: each rate in the order of the report, then who has no rate."""
    result = answer.result
    if isinstance(result, FairauditError):
        return
    question = _origin(answer, result)
    groups = {_key(row): row for row in result.groups}
    for rate in result.rates:
        yield {**question, **_whose(rate), **_people(groups.get(_key(rate))), **_rate(rate)}
    for row in result.comparisons:
        yield {**question, **_whose(row), **_comparison(row)}
    with_rates = {_key(rate) for rate in result.rates}
    for key, group in groups.items():
        if key not in with_rates:
            yield {**question, **_whose(group), **_people(group), "standing": str(group.standing)}


def _key(row: GroupRow | RateRow) -> _Key:
    return row.of, row.by, row.stratum, row.group


def _origin(answer: Answer, result: AuditResult) -> dict[str, Value]:
    provenance = result.provenance
    files = ", ".join(file.path for file in provenance.files)
    return {"title": provenance.title, "spec": provenance.spec_path, "data": answer.data or files}


def _whose(row: GroupRow | RateRow | ComparisonRow) -> dict[str, Value]:
    group = row.group or ()
    return {
        "of": row.of,
        "by": numbers.subset(row.by),
        "given": numbers.subset(tuple(name for name, _ in row.stratum)),
        "group": None if row.group is None else numbers.group(group),
        **{f"group.{name}": level for name, level in group},
        **{f"given.{name}": level for name, level in row.stratum},
    }


def _people(row: GroupRow | None) -> dict[str, Value]:
    return {} if row is None else {"people": row.n, "share_of_known": row.share}


def _rate(row: RateRow) -> dict[str, Value]:
    return {
        "metric": row.metric,
        "standing": str(row.standing),
        **_estimate(row.estimate),
        "confidence": float(1 - Decimal(repr(row.alpha))),
        "reference": names.describe_group(row.reference) if row.reference else None,
        **_beside(row, "difference", row.difference),
        **_beside(row, "ratio", row.ratio),
        "parameters": _parameters(row.parameters),
        "averaged_over": numbers.subset(row.averaged) if row.averaged else None,
    }


def _comparison(row: ComparisonRow) -> dict[str, Value]:
    """A comparison of a group, or of all: its reference is the group, or the crowd that is one."""
    return {
        "metric": row.metric,
        "compare": row.compare or row.metric,
        **_estimate(row.estimate),
        "reference": names.describe_group(row.second) if row.second else row.reference,
        "parameters": _parameters(row.parameters),
        "averaged_over": numbers.subset(row.averaged) if row.averaged else None,
    }


def _beside(row: RateRow, name: str, value: float | None) -> dict[str, Value]:
    """What a rate is beside its reference; where there is none, nothing is compared."""
    if not row.reference and value is not None and math.isnan(value):
        return {}
    return _number(name, value)


def _estimate(estimate: Estimate) -> dict[str, Value]:
    value, state = stated(None if estimate.suppressed else estimate.value)
    return {
        "n": estimate.n,
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
        "scale": None if estimate.numerator is None else estimate.scale,
        "value": value,
        "state": state,
        "reason": estimate.reason,
        "error": stated(estimate.error)[0] if estimate.error else None,
        **({} if estimate.low is None else _number("low", estimate.low)),
        **({} if estimate.high is None else _number("high", estimate.high)),
        "method": estimate.method or None,
        "no_interval": estimate.no_interval or None,
        **tested(estimate.significance),
    }


def tested(significance: Significance | None) -> dict[str, Value]:
    """A test in columns; empty where nothing is tested."""
    if significance is None:
        return {}
    return {
        "test": significance.test,
        "p": stated(significance.p)[0],
        "adjusted_p": stated(significance.adjusted)[0],
        "tests": significance.family,
        "correction": significance.correction,
    }


def _number(name: str, value: float | None) -> dict[str, Value]:
    """A number with its state."""
    finite, state = stated(value)
    return {name: finite, f"{name}_state": state}


def stated(value: float | None) -> tuple[float | None, str]:
    """A finite number or None, and its state; None is suppressed."""
    if value is None:
        return None, str(State.SUPPRESSED)
    return (value if math.isfinite(value) else None), str(state_of(value))


def _parameters(parameters: Mapping[str, Any]) -> str | None:
    if not parameters:
        return None
    return json.dumps(dict(parameters), ensure_ascii=False, separators=(",", ":"))


def render_csv(answers: Sequence[Answer], *, all_rows: bool = True) -> str:  # noqa: ARG001  # it always has all rows
    """The groups of all answers as CSV with a header; of errors alone, the header."""
    return written_csv(columns(answers))


def render_parquet(answers: Sequence[Answer], *, all_rows: bool = True) -> bytes:  # noqa: ARG001  # the same
    """The groups of all answers as a Parquet file; of errors alone, its schema and no row."""
    import pyarrow as pa
    from pyarrow import parquet

    sink = pa.BufferOutputStream()
    parquet.write_table(arrow_table(columns(answers)), sink, compression="zstd")
    written: bytes = sink.getvalue().to_pybytes()
    return written


def arrow_table(columns: Sequence[Column]) -> pa.Table:
    """Columns as a table of Arrow, each of the type of its kind."""
    import pyarrow as pa

    types = {
        Kind.TEXT: pa.string(),
        Kind.WHOLE: pa.int64(),
        Kind.NUMBER: pa.float64(),
        Kind.FLAG: pa.bool_(),
    }
    schema = pa.schema([(_utf8(column.name), types[column.kind]) for column in columns])
    arrays = [pa.array(_arrow_values(column), type=types[column.kind]) for column in columns]
    return pa.table(arrays, schema=schema)


def _arrow_values(column: Column) -> Sequence[object]:
    if column.kind is not Kind.TEXT:
        return column.values
    return [_utf8(value) if isinstance(value, str) else None for value in column.values]


def _utf8(text: str) -> str:
    """The text; the name of a file may hold bytes that are no UTF-8, and they are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()
