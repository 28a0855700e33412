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
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from fairaudit.base import names
from fairaudit.base.errors import FairauditError
from fairaudit.cube import Group
from fairaudit.metrics.estimate import Estimate, State, state_of
from fairaudit.report import numbers
from fairaudit.report.csv_table import Column, Value, of_rows, written_csv
from fairaudit.result import Answer, ComparisonRow, GroupRow, RateRow

if TYPE_CHECKING:
    import pyarrow as pa

_Key: TypeAlias = tuple[str, tuple[str, ...], Group, Group]

_WHOSE = ("title", "spec", "data", "metric", "compare", "of", "by", "given", "group")
_FOUND = (
    *("people", "share_of_known", "standing", "n", "numerator", "denominator", "scale"),
    *("value", "state", "reason", "error", "low", "low_state", "high", "high_state"),
    *("confidence", "method", "no_interval"),
    *("reference", "difference", "difference_state", "ratio", "ratio_state"),
    *("test", "p", "adjusted_p", "tests", "correction", "parameters", "averaged_over"),
)
_WHOLE = frozenset({"people", "n", "numerator", "denominator", "scale", "tests"})
_NUMBERS = frozenset(
    {
        *("share_of_known", "value", "error", "low", "high", "confidence", "difference", "ratio"),
        *("p", "adjusted_p", "warn_below", "warn_above", "fail_below", "fail_above"),
    }
)
_FLAGS = frozenset({"not_cleared"})
"""The columns that hold no text, by the type that a program reads."""


def columns(answers: Sequence[Answer]) -> tuple[Column, ...]:
    """All columns of the groups of several answers; an error has no groups, and so no row."""
    rows = [row for answer in answers for row in _rows(answer)]
    levels = [
        dict.fromkeys(name for row in rows for name in row if name.startswith(whose))
        for whose in ("group.", "given.")
    ]
    return of_rows((*_WHOSE, *levels[0], *levels[1], *_FOUND), rows)


def _rows(answer: Answer) -> Iterator[dict[str, Value]]:
    """The rows of one answer: each rate in the order of the report, then who has no rate."""
    result = answer.result
    if isinstance(result, FairauditError):
        return
    made = result.provenance
    files = ", ".join(file.path for file in made.files)
    question = {"title": made.title, "spec": made.spec_path, "data": answer.data or files}
    people: dict[_Key, dict[str, Value]] = {
        _key(row): {"people": row.n, "share_of_known": row.share} for row in result.groups
    }
    for rate in result.rates:
        yield {
            **question,
            **_whose(rate),
            **people.get(_key(rate), {}),
            **_found(rate),
            "standing": str(rate.standing),
            "confidence": float(1 - Decimal(repr(rate.alpha))),
            "reference": names.describe_group(rate.reference) if rate.reference else None,
            **_beside(rate, "difference", rate.difference),
            **_beside(rate, "ratio", rate.ratio),
        }
    for row in result.comparisons:
        yield {
            **question,
            **_whose(row),
            **_found(row),
            "compare": row.compare or row.metric,
            "reference": names.describe_group(row.second) if row.second else row.reference,
        }
    with_rates = {_key(rate) for rate in result.rates}
    for group in result.groups:
        if (key := _key(group)) not in with_rates:
            yield {**question, **_whose(group), **people[key], "standing": str(group.standing)}


def _key(row: GroupRow | RateRow) -> _Key:
    return row.of, row.by, row.stratum, row.group


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


def _found(row: RateRow | ComparisonRow) -> dict[str, Value]:
    """What rates and comparisons have in common: a value of a metric, and how it is defined."""
    return {
        "metric": row.metric,
        **estimated(row.estimate),
        "parameters": json.dumps(dict(row.parameters), ensure_ascii=False, separators=(",", ":"))
        if row.parameters
        else None,
        "averaged_over": numbers.subset(row.averaged) or None,
    }


def _beside(row: RateRow, name: str, value: float | None) -> dict[str, Value]:
    """What a rate is beside its reference; where there is none, nothing is compared."""
    if not row.reference and value is not None and math.isnan(value):
        return {}
    return _number(name, value)


def estimated(estimate: Estimate) -> dict[str, Value]:
    """A value with its evidence; one that could not be had is undefined, and never 0."""
    row: dict[str, Value] = {
        "n": estimate.n,
        "numerator": estimate.numerator,
        "denominator": estimate.denominator,
        "scale": None if estimate.numerator is None else estimate.scale,
        "value": None if estimate.suppressed else _finite(estimate.value),
        "state": str(estimate.state),
        "reason": estimate.reason,
        "error": _finite(estimate.error) or None,
        "method": estimate.method or None,
        "no_interval": estimate.no_interval or None,
    }
    for name, end in (("low", estimate.low), ("high", estimate.high)):
        row |= {} if end is None else _number(name, end)
    if (test := estimate.significance) is not None:
        row |= {"test": test.test, "tests": test.family, "correction": test.correction}
        row |= {"p": _finite(test.p), "adjusted_p": _finite(test.adjusted)}
    return row


def _number(name: str, value: float | None) -> dict[str, Value]:
    """A number where it is finite, and its state; None is suppressed."""
    state = State.SUPPRESSED if value is None else state_of(value)
    return {name: _finite(value), f"{name}_state": str(state)}


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


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
    """Columns as a table of Arrow: whole numbers, numbers, yes or no, and all others texts."""
    import pyarrow as pa

    types = {
        **dict.fromkeys(_WHOLE, pa.int64()),
        **dict.fromkeys(_NUMBERS, pa.float64()),
        **dict.fromkeys(_FLAGS, pa.bool_()),
    }
    arrays = {
        _utf8(column.name): pa.array(
            [_utf8(value) if isinstance(value, str) else value for value in column.values],
            type=types.get(column.name, pa.string()),
        )
        for column in columns
    }
    return pa.table(arrays)


def _utf8(text: str) -> str:
    """The text; the name of a file may hold bytes that are no UTF-8, and they are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()
