"""Lists of audits: `index.json`, `summary.csv`, `checks.csv`; columns of `result.checks()`, too.

The reports themselves lie beside, a file for each audit: 200 of them in one document would be tens
of megabytes to read for a single verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairaudit.base import names
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen
from fairaudit.base.version import __version__
from fairaudit.judge import Check, Finding, Limit, Status
from fairaudit.metrics.estimate import Estimate
from fairaudit.report import asked_comparisons, diagnostics, metric_titles, numbers, summary
from fairaudit.report.csv_table import Column, Kind, Value, of_rows, written_csv
from fairaudit.report.group_export import stated, tested
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code, list_notices

_SUMMARY = {
    "spec": Kind.TEXT,
    "data": Kind.TEXT,
    "title": Kind.TEXT,
    "verdict": Kind.TEXT,
    "exit_code": Kind.WHOLE,
    "rows": Kind.WHOLE,
    "people": Kind.WHOLE,
    **{str(status): Kind.WHOLE for status in reversed(Status)},
    "not_cleared": Kind.WHOLE,
    "headline": Kind.TEXT,
    "error": Kind.TEXT,
    "hint": Kind.TEXT,
    "report": Kind.TEXT,
}
_CHECK = {
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
_CHECKS = {"spec": Kind.TEXT, "data": Kind.TEXT, **_CHECK, "report": Kind.TEXT}


class Listed(Frozen):
    """An answer, and the names of the files that hold its report, by their format."""

    answer: Answer
    files: Mapping[str, str]


def index(listed: Sequence[Listed]) -> dict[str, Any]:
    """The verdict on each audit and where its report lies, as plain data in the order asked."""
    answers = [audit.answer for audit in listed]
    words = [summary.verdict_of(answer) for answer in answers]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": __version__},
        "summary": {
            "exit_code": exit_code(answers),
            "verdicts": {word: words.count(word) for word in sorted({*words})},
        },
        "notices": list_notices(answers),
        "audits": [_audit(audit) for audit in listed],
    }


def summary_csv(listed: Sequence[Listed]) -> str:
    """A row for each audit: its verdict, and how many of its checks came out how."""
    rows = [{**_summary_row(audit), "report": audit.files.get("json")} for audit in listed]
    return written_csv(of_rows(_SUMMARY, rows))


def checks_csv(listed: Sequence[Listed]) -> str:
    """A row for each check of each audit, and for each value without a limit, in long form."""
    rows = [
        {
            "spec": audit.answer.spec,
            "data": audit.answer.data,
            **row,
            "report": audit.files.get("json"),
        }
        for audit in listed
        if isinstance(audit.answer.result, AuditResult)
        for row in _check_rows(audit.answer.result)
    ]
    return written_csv(of_rows(_CHECKS, rows))


def _audit(audit: Listed) -> dict[str, Any]:
    row = _summary_row(audit)
    checks = {str(status): row.pop(str(status), None) for status in Status}
    is_error = isinstance(audit.answer.result, FairauditError)
    return {**row, "checks": None if is_error else checks, "reports": dict(audit.files)}


def _summary_row(audit: Listed) -> dict[str, Value]:
    answer = audit.answer
    result = answer.result
    question: dict[str, Value] = {"spec": answer.spec, "data": answer.data}
    verdict: dict[str, Value] = {
        "verdict": summary.verdict_of(answer),
        "exit_code": answer.exit_code,
    }
    if isinstance(result, FairauditError):
        return {**question, **verdict, "error": result.message, "hint": result.hint}
    return {
        **question,
        "title": result.provenance.title,
        **verdict,
        "rows": result.provenance.rows,
        "people": result.ledger.people,
        **{str(status): count for status, count in result.tally.items()},
        "not_cleared": result.not_cleared,
        "headline": summary.headline(result),
    }


def check_columns(result: AuditResult) -> tuple[Column, ...]:
    """All columns of the checks of a result, and of its values without a limit."""
    return of_rows(_CHECK, [*_check_rows(result)])


def _check_rows(result: AuditResult) -> Iterator[dict[str, Value]]:
    """The row of each check, in the order of the spec; then the values that no limit judges."""
    explanations = diagnostics.diagnose_by_id(result)
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
            **_value(finding.estimate, is_value=isinstance(finding.check, Check)),
            **_bounds(finding),
            "limit": None if finding.limit is None else str(finding.limit),
            "group": _name(finding.first),
            "other": _name(finding.second),
            "stratum": _name(finding.stratum),
            "worse_off": _name(finding.worse_off),
            "headline": explanations[check.id].headline,
            "sentence": explanations[check.id].sentence,
        }

    for row in asked_comparisons.without_limit(result):
        given = tuple(name for name, _ in row.stratum) or row.averaged
        yield {
            "metric": row.metric,
            "of": row.of,
            "by": numbers.subset(row.by),
            "given": numbers.subset(given) or None,
            **_value(row.estimate),
            "group": _name(row.group or row.first),
            "other": _name(row.second),
            "stratum": _name(row.stratum),
            "headline": f"{row.title}{metric_titles.options(row.parameters)}",
        }


def _value(estimate: Estimate | None, *, is_value: bool = True) -> dict[str, Value]:
    """A value; one that could not be had is undefined, and never 0."""
    if estimate is None:
        # A check on reversals has kinds in place of a value.
        return {"state": stated(math.nan)[1] if is_value else None}
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
    return names.describe_group(group) if group else None
