"""The groups as one long table: a row for each group and each of its rates, whatever the format.

A number that does not exist is None, and the state beside it says why: never 0. Names of attributes
stand behind `group.`, those of strata behind `given.`, so that an attribute called `n` or `metric`
meets no column of ours. `people` and `share_of_known` are those of the group, a share of the people
whose group is known; `n`, `numerator` and `denominator` those of the rate, where weighted sums are
`numerator / scale`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeAlias

from pydantic_core import to_json

from fairaudit.cube import Group
from fairaudit.errors import FairauditError
from fairaudit.estimate import Estimate, State, state_of
from fairaudit.report import numbers
from fairaudit.result import Answer, AuditResult, GroupRow, RateRow

Value: TypeAlias = str | int | float | None
_Key: TypeAlias = tuple[str, tuple[str, ...], Group, Group]


class Kind(StrEnum):
    """What a column holds; None stands in each of them for what is not there."""

    TEXT = "text"
    WHOLE = "whole"
    NUMBER = "number"


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its name, its kind, and a value for each row."""

    name: str
    kind: Kind
    values: Sequence[Value]


_WHOSE = {
    "title": Kind.TEXT,
    "spec": Kind.TEXT,
    "data": Kind.TEXT,
    "metric": Kind.TEXT,
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
    rows = [row for one in answers for row in _rows(one)]
    attributes = dict.fromkeys(name for row in rows for name in row if name.startswith("group."))
    strata = dict.fromkeys(name for row in rows for name in row if name.startswith("given."))
    levels = dict.fromkeys((*attributes, *strata), Kind.TEXT)
    return of_rows({**_WHOSE, **levels, **_FOUND}, rows)


def of_rows(kinds: Mapping[str, Kind], rows: Sequence[Mapping[str, Value]]) -> tuple[Column, ...]:
    """Columns of rows; what a row does not say is None."""
    return tuple(
        Column(name, kind, [row.get(name) for row in rows]) for name, kind in kinds.items()
    )


def _rows(answer: Answer) -> Iterator[dict[str, Value]]:
    """The rows of one answer: each rate in the order of the report, then who has no rate."""
    result = answer.found
    if isinstance(result, FairauditError):
        return
    asked = _asked(answer, result)
    groups = {_key(row): row for row in result.groups}
    for rate in result.rates:
        yield {**asked, **_whose(rate), **_people(groups.get(_key(rate))), **_rate(rate)}
    told = {_key(rate) for rate in result.rates}
    for key, group in groups.items():
        if key not in told:
            yield {**asked, **_whose(group), **_people(group), "standing": str(group.standing)}


def _key(row: GroupRow | RateRow) -> _Key:
    return row.of, row.by, row.stratum, row.group


def _asked(answer: Answer, result: AuditResult) -> dict[str, Value]:
    made = result.provenance
    files = ", ".join(one.path for one in made.files)
    return {"title": made.title, "spec": made.spec_path, "data": answer.data or files}


def _whose(row: GroupRow | RateRow) -> dict[str, Value]:
    return {
        "of": row.of,
        "by": numbers.subset(row.by),
        "given": numbers.subset(tuple(name for name, _ in row.stratum)),
        "group": numbers.group(row.group),
        **{f"group.{name}": level for name, level in row.group},
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
        "reference": numbers.named_group(row.reference) if row.reference else None,
        **_beside(row, "difference", row.difference),
        **_beside(row, "ratio", row.ratio),
        "parameters": _said(row.parameters),
        "averaged_over": numbers.subset(row.averaged) if row.averaged else None,
    }


def _beside(row: RateRow, name: str, value: float | None) -> dict[str, Value]:
    """What a rate is beside its reference; where there is none, nothing is compared."""
    if not row.reference and value is not None and math.isnan(value):
        return {}
    return _number(name, value)


def _estimate(one: Estimate) -> dict[str, Value]:
    value, state = stated(None if one.suppressed else one.value)
    tested = one.significance
    test: dict[str, Value] = {}
    if tested is not None:
        test = {
            "test": tested.test,
            "p": stated(tested.p)[0],
            "adjusted_p": stated(tested.adjusted)[0],
            "tests": tested.family,
            "correction": tested.correction,
        }
    return {
        "n": one.n,
        "numerator": one.numerator,
        "denominator": one.denominator,
        "scale": None if one.numerator is None else one.scale,
        "value": value,
        "state": state,
        "reason": one.reason,
        "error": stated(one.error)[0] if one.error else None,
        **({} if one.low is None else _number("low", one.low)),
        **({} if one.high is None else _number("high", one.high)),
        "method": one.method or None,
        "no_interval": one.no_interval or None,
        **test,
    }


def _number(name: str, value: float | None) -> dict[str, Value]:
    """A number with its state."""
    told, state = stated(value)
    return {name: told, f"{name}_state": state}


def stated(value: float | None) -> tuple[float | None, str]:
    """A finite number or None, and its state; None is suppressed."""
    if value is None:
        return None, str(State.SUPPRESSED)
    return (value if math.isfinite(value) else None), str(state_of(value))


def _said(parameters: Mapping[str, Any]) -> str | None:
    return to_json(dict(parameters)).decode() if parameters else None
