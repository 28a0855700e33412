"""Lists of audits: `index.json`, `summary.csv`, `checks.csv`; columns of `result.checks()`, too.

Each audit has a separate report file: 200 reports in one document would be tens of megabytes to
read for a single verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairaudit.base import __version__, names
from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen
from fairaudit.judge import Check, Limit, Status
from fairaudit.metrics.estimate import State
from fairaudit.report import asked_comparisons, diagnostics, metric_titles, numbers, summary
from fairaudit.report.export import Export, Value, estimated
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code, list_notices

_SUMMARY = (
    *("spec", "data", "title", "verdict", "exit_code", "rows", "people"),
    *map(str, reversed(Status)),
    *("not_cleared", "headline", "error", "hint", "report"),
)
_CHECK = (
    *("check", "status", "not_cleared", "metric", "of", "by", "given"),
    *("value", "state", "low", "high", "n", "test", "p", "adjusted_p", "tests", "correction"),
    *("limit", "warn_below", "warn_above", "fail_below", "fail_above"),
    *("group", "other", "stratum", "worse_off", "headline", "sentence"),
)


class Listed(Frozen):
    """An answer, and the names of the files that hold its report, by their format."""

    answer: Answer
    files: Mapping[str, str]


def index(listed: Sequence[Listed]) -> dict[str, Any]:
    """The verdict on each audit and where its report lies, as plain data in the order asked."""
    answers = [audit.answer for audit in listed]
    words = [summary.verdict_of(answer) for answer in answers]
    audits = []
    for audit in listed:
        row = _summary_row(audit)
        checks = {str(status): row.pop(str(status), None) for status in Status}
        is_error = isinstance(audit.answer.result, FairauditError)
        counted = {"checks": None if is_error else checks, "reports": dict(audit.files)}
        audits.append({**row, **counted})
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": __version__},
        "summary": {
            "exit_code": exit_code(answers),
            "verdicts": {word: words.count(word) for word in sorted({*words})},
        },
        "notices": list_notices(answers),
        "audits": audits,
    }


def summary_csv(listed: Sequence[Listed]) -> str:
    """A row for each audit: its verdict, and how many of its checks came out how."""
    rows = [{**_summary_row(audit), "report": audit.files.get("json")} for audit in listed]
    return Export.of(_SUMMARY, rows).csv()


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
    return Export.of(("spec", "data", *_CHECK, "report"), rows).csv()


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


def checks(result: AuditResult) -> Export:
    """The checks of a result, and its values without a limit."""
    return Export.of(_CHECK, _check_rows(result))


def _check_rows(result: AuditResult) -> Iterator[dict[str, Value]]:
    """The row of each check, in the order of the spec; then the values that no limit judges."""
    explanations = diagnostics.diagnose_by_id(result)
    for finding in result.findings:
        check = finding.check
        # A check on reversals has kinds in place of a value.
        value = {"state": str(State.UNDEFINED)} if isinstance(check, Check) else {}
        limits = {"warn": finding.check.warn, "fail": finding.check.fail}
        yield {
            "check": check.id,
            "status": str(finding.status),
            "not_cleared": finding.not_cleared,
            "metric": check.metric_id,
            "of": check.of,
            "by": numbers.subset(check.by) or None,
            "given": numbers.subset(check.given) or None,
            **(value if finding.estimate is None else estimated(finding.estimate)),
            **{
                f"{name}_{side}": float(bound)
                for name, limit in limits.items()
                if isinstance(limit, Limit)
                for side, bound in (("below", limit.below), ("above", limit.above))
                if bound is not None
            },
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
            **estimated(row.estimate),
            "group": _name(row.group or row.first),
            "other": _name(row.second),
            "stratum": _name(row.stratum),
            "headline": f"{row.title}{metric_titles.options(row.parameters)}",
        }


def _name(group: tuple[tuple[str, str], ...]) -> str | None:
    return names.describe_group(group) if group else None
