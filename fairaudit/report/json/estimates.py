"""Values with their evidence: the interval, the test, the groups that attain them."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from fairaudit.estimate import Estimate, Significance, state_of
from fairaudit.evidence import Part, Side
from fairaudit.report.json.values import finite, write_group, write_value
from fairaudit.result import (
    ComparisonRow,
    LatticeEntry,
)
from fairaudit.verdict import (
    Finding,
)


def write_value_of(one: Estimate) -> dict[str, Any]:
    """State and value of an estimate."""
    return write_value(None if one.suppressed else one.value)


def write_estimate(one: Estimate) -> dict[str, Any]:
    """A value, its counts, interval and test."""
    return {
        **write_value_of(one),
        "reason": one.reason,
        "n": one.n,
        "numerator": one.numerator,
        "denominator": one.denominator,
        "scale": one.scale,
        **write_interval(one),
        "significance": write_significance(one.significance),
        **({"error": finite(one.error)} if one.error else {}),
    }


def write_interval(one: Estimate) -> dict[str, Any]:
    """The ends of an interval, null where there are none; an infinite one is null and says so."""
    ends: dict[str, Any] = {}
    for name, end in (("low", one.low), ("high", one.high)):
        ends[name] = None if end is None else finite(end)
        if end is not None and not math.isfinite(end):
            ends[f"{name}_state"] = str(state_of(end))
    if one.method:
        return {**ends, "method": one.method}
    return {**ends, "no_interval": one.no_interval} if one.no_interval else ends


def write_significance(one: Significance | None) -> dict[str, Any] | None:
    """A test."""
    return None if one is None else asdict(one)


def write_part(part: Part) -> dict[str, Any]:
    """One comparison behind a value."""
    return {
        "metric": part.metric,
        "outcome": part.outcome,
        **write_value(part.value),
        "first": write_side(part.first),
        "second": write_side(part.second),
    }


def write_side(side: Side | None) -> dict[str, Any] | None:
    """One side of a comparison."""
    if side is None:
        return None
    return {"group": write_group(side.group), "crowd": side.crowd, **write_estimate(side.estimate)}


def write_witness(
    parts: tuple[Part, ...],
    decided_by: str | None,
    row: ComparisonRow | Finding | LatticeEntry,
    *,
    spread: bool,
) -> dict[str, Any] | None:
    """The pair, and the outcome or the rate, that attain a value; null where none does.

    A spread names the highest and the lowest group, any other comparison group and reference.
    """
    if not row.first and not row.second:
        return None
    names = ("high", "low") if spread else ("group", "reference")
    outcomes = {part.outcome for part in parts if part.outcome}
    key = "outcome" if decided_by in outcomes else "metric"
    return {
        **({key: decided_by} if decided_by else {}),
        names[0]: write_group(row.first),
        names[1]: write_group(row.second),
    }
