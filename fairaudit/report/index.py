"""Several audits as lists for programs: what came of each, and of each check, without its report.

The reports themselves lie beside, a file for each audit: 200 of them in one document would be tens
of megabytes to read for a single verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairaudit.errors import FairauditError
from fairaudit.report import checks, numbers, summary
from fairaudit.report.group_table import Kind, Value, of_rows, stated, written_csv
from fairaudit.result import SCHEMA_VERSION, Answer, exit_code
from fairaudit.verdict import Check, Finding, Limit, Status
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
    "error": Kind.TEXT,
    "hint": Kind.TEXT,
    "report": Kind.TEXT,
}
_CHECKS = {
    "spec": Kind.TEXT,
    "data": Kind.TEXT,
    "check": Kind.TEXT,
    "status": Kind.TEXT,
    "not_cleared": Kind.TEXT,
    "value": Kind.NUMBER,
    "state": Kind.TEXT,
    "low": Kind.NUMBER,
    "high": Kind.NUMBER,
    "n": Kind.WHOLE,
    "warn_below": Kind.NUMBER,
    "warn_above": Kind.NUMBER,
    "fail_below": Kind.NUMBER,
    "fail_above": Kind.NUMBER,
    "limit": Kind.TEXT,
    "group": Kind.TEXT,
    "other": Kind.TEXT,
    "stratum": Kind.TEXT,
    "worse_off": Kind.TEXT,
    "sentence": Kind.TEXT,
    "report": Kind.TEXT,
}


@dataclass(frozen=True, slots=True)
class Listed:
    """An answer, and the names of the files that hold its report, by their format."""

    answer: Answer
    files: Mapping[str, str]


def index(listed: Sequence[Listed]) -> dict[str, Any]:
    """The verdict on each audit and where its report lies, as plain data in the order asked."""
    answers = [one.answer for one in listed]
    words = [summary.verdict_of(one) for one in answers]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "summary": {
            "exit_code": exit_code(answers),
            "verdicts": {word: words.count(word) for word in sorted({*words})},
        },
        "audits": [_audit(one) for one in listed],
    }


def summary_csv(listed: Sequence[Listed]) -> str:
    """A row for each audit: its verdict, and how many of its checks came out how."""
    rows = [{**_told(one), "report": one.files.get("json")} for one in listed]
    return written_csv(of_rows(_SUMMARY, rows))


def checks_csv(listed: Sequence[Listed]) -> str:
    """A row for each check of each audit, in long form."""
    rows = [
        {"spec": one.answer.spec, "data": one.answer.data, **row, "report": one.files.get("json")}
        for one in listed
        for row in _checks(one.answer)
    ]
    return written_csv(of_rows(_CHECKS, rows))


def _audit(one: Listed) -> dict[str, Any]:
    told = _told(one)
    checks = {str(status): told.pop(str(status), None) for status in Status}
    is_error = isinstance(one.answer.found, FairauditError)
    return {**told, "checks": None if is_error else checks, "reports": dict(one.files)}


def _told(one: Listed) -> dict[str, Value]:
    answer = one.answer
    found = answer.found
    asked: dict[str, Value] = {"spec": answer.spec, "data": answer.data}
    verdict: dict[str, Value] = {
        "verdict": summary.verdict_of(answer),
        "exit_code": answer.exit_code,
    }
    if isinstance(found, FairauditError):
        return {**asked, **verdict, "error": found.message, "hint": found.hint}
    return {
        **asked,
        "title": found.provenance.title,
        **verdict,
        "rows": found.provenance.rows,
        "people": found.ledger.people,
        **{str(status): count for status, count in found.tally.items()},
        "not_cleared": found.not_cleared,
    }


def _checks(answer: Answer) -> Iterator[dict[str, Value]]:
    if isinstance(answer.found, FairauditError):
        return
    for one in answer.found.findings:
        yield {
            "check": one.check.id,
            "status": str(one.status),
            "not_cleared": "yes" if one.not_cleared else "no",
            **_value(one),
            **_bounds(one),
            "limit": None if one.limit is None else str(one.limit),
            "group": _named(one.first),
            "other": _named(one.second),
            "stratum": _named(one.stratum),
            "worse_off": _named(one.worse_off),
            "sentence": checks.sentence(one),
        }


def _value(one: Finding) -> dict[str, Value]:
    """The value that decides; one that could not be had is undefined, and never 0."""
    found = one.estimate
    if found is None:
        # A check on reversals has kinds in place of a value.
        return {"state": stated(math.nan)[1] if isinstance(one.check, Check) else None}
    value, state = stated(None if found.suppressed else found.value)
    ends = {"low": found.low, "high": found.high}
    finite = {name: None if end is None else stated(end)[0] for name, end in ends.items()}
    return {"value": value, "state": state, **finite, "n": found.n}


def _bounds(one: Finding) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for name, limit in (("warn", one.check.warn), ("fail", one.check.fail)):
        if isinstance(limit, Limit):
            bounds = {"below": limit.below, "above": limit.above}
            found |= {
                f"{name}_{side}": float(bound)
                for side, bound in bounds.items()
                if bound is not None
            }
    return found


def _named(group: tuple[tuple[str, str], ...]) -> str | None:
    return numbers.named_group(group) if group else None
