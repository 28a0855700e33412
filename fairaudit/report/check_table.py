"""The checks of a result as one long table: a row for each, with its value, evidence and limit."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fairaudit.report import diagnostics, numbers
from fairaudit.report.group_export import Column, Kind, Value, of_rows, stated, tested
from fairaudit.result import AuditResult
from fairaudit.verdict import Check, Finding, Limit

COLUMNS = {
    "check": Kind.TEXT,
    "status": Kind.TEXT,
    "not_cleared": Kind.FLAG,
    "metric": Kind.TEXT,
    "of": Kind.TEXT,
    "by": Kind.TEXT,
    "given": Kind.TEXT,
    "value": Kind.NUMBER,
    "state": Kind.TEXT,
    "low": Kind.NUMBER,
    "high": Kind.NUMBER,
    "n": Kind.WHOLE,
    "test": Kind.TEXT,
    "p": Kind.NUMBER,
    "adjusted_p": Kind.NUMBER,
    "tests": Kind.WHOLE,
    "correction": Kind.TEXT,
    "limit": Kind.TEXT,
    "warn_below": Kind.NUMBER,
    "warn_above": Kind.NUMBER,
    "fail_below": Kind.NUMBER,
    "fail_above": Kind.NUMBER,
    "group": Kind.TEXT,
    "other": Kind.TEXT,
    "stratum": Kind.TEXT,
    "worse_off": Kind.TEXT,
    "headline": Kind.TEXT,
    "sentence": Kind.TEXT,
}


def columns(result: AuditResult) -> tuple[Column, ...]:
    """All columns of the checks of a result."""
    return of_rows(COLUMNS, [*rows(result)])


def rows(result: AuditResult) -> Iterator[dict[str, Value]]:
    """The row of each check, in the order of the spec."""
    tellings = diagnostics.tellings_of(result)
    for finding in result.findings:
        check = finding.check
        yield {
            "check": check.id,
            "status": str(finding.status),
            "not_cleared": finding.not_cleared,
            "metric": check.metric_id,
            "of": check.of,
            "by": numbers.subset(check.by) or None,
            "given": numbers.subset(check.given) or None,
            **_value(finding),
            **_bounds(finding),
            "limit": None if finding.limit is None else str(finding.limit),
            "group": _name(finding.first),
            "other": _name(finding.second),
            "stratum": _name(finding.stratum),
            "worse_off": _name(finding.worse_off),
            "headline": tellings[check.id].headline,
            "sentence": tellings[check.id].sentence,
        }


def _value(finding: Finding) -> dict[str, Value]:
    """The value that decides; one that could not be had is undefined, and never 0."""
    estimate = finding.estimate
    if estimate is None:
        # A check on reversals has kinds in place of a value.
        return {"state": stated(math.nan)[1] if isinstance(finding.check, Check) else None}
    value, state = stated(None if estimate.suppressed else estimate.value)
    ends = {"low": estimate.low, "high": estimate.high}
    finite = {name: None if end is None else stated(end)[0] for name, end in ends.items()}
    test = tested(estimate.significance)
    return {"value": value, "state": state, **finite, "n": estimate.n, **test}


def _bounds(finding: Finding) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name, limit in (("warn", finding.check.warn), ("fail", finding.check.fail)):
        if isinstance(limit, Limit):
            bounds = {"below": limit.below, "above": limit.above}
            values |= {
                f"{name}_{side}": float(bound)
                for side, bound in bounds.items()
                if bound is not None
            }
    return values


def _name(group: tuple[tuple[str, str], ...]) -> str | None:
    return numbers.named_group(group) if group else None
