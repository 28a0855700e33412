"""Several audits as lists for programs: what came of each, and of each check, without its report.

The reports themselves lie beside, a file for each audit: 200 of them in one document would be tens
of megabytes to read for a single verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairaudit.errors import FairauditError
from fairaudit.report import check_table, summary
from fairaudit.report.group_export import Kind, Value, of_rows, written_csv
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code
from fairaudit.verdict import Status
from fairaudit.version import version

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
_CHECKS = {
    "spec": Kind.TEXT,
    "data": Kind.TEXT,
    **check_table.COLUMNS,
    "report": Kind.TEXT,
}


@dataclass(frozen=True, slots=True)
class Listed:
    """An answer, and the names of the files that hold its report, by their format."""

    answer: Answer
    files: Mapping[str, str]


def index(listed: Sequence[Listed]) -> dict[str, Any]:
    """The verdict on each audit and where its report lies, as plain data in the order asked."""
    answers = [audit.answer for audit in listed]
    words = [summary.verdict_of(answer) for answer in answers]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "summary": {
            "exit_code": exit_code(answers),
            "verdicts": {word: words.count(word) for word in sorted({*words})},
        },
        "audits": [_audit(audit) for audit in listed],
    }


def summary_csv(listed: Sequence[Listed]) -> str:
    """A row for each audit: its verdict, and how many of its checks came out how."""
    rows = [{**_told(audit), "report": audit.files.get("json")} for audit in listed]
    return written_csv(of_rows(_SUMMARY, rows))


def checks_csv(listed: Sequence[Listed]) -> str:
    """A row for each check of each audit, in long form."""
    rows = [
        {
            "spec": audit.answer.spec,
            "data": audit.answer.data,
            **row,
            "report": audit.files.get("json"),
        }
        for audit in listed
        if isinstance(audit.answer.found, AuditResult)
        for row in check_table.rows(audit.answer.found)
    ]
    return written_csv(of_rows(_CHECKS, rows))


def _audit(audit: Listed) -> dict[str, Any]:
    row = _told(audit)
    checks = {str(status): row.pop(str(status), None) for status in Status}
    is_error = isinstance(audit.answer.found, FairauditError)
    return {**row, "checks": None if is_error else checks, "reports": dict(audit.files)}


def _told(audit: Listed) -> dict[str, Value]:
    answer = audit.answer
    result = answer.found
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
