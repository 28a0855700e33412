"""Errors, and several answers in one document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairaudit.answers import Answer, exit_code
from fairaudit.errors import FairauditError, SpecError
from fairaudit.report.json.results import document
from fairaudit.result import (
    SCHEMA_VERSION,
)
from fairaudit.version import version


def of_answers(answers: Sequence[Answer]) -> dict[str, Any]:
    """One answer as the document of its result, or error; several as one document of them all."""
    return answers_document(answers) if len(answers) > 1 else _of_answer(answers[0])


def _of_answer(one: Answer) -> dict[str, Any]:
    if isinstance(one.found, FairauditError):
        return error_document(one.found)
    return document(one.found)


def error_document(error: FairauditError) -> dict[str, Any]:
    """An error as plain data of the same kind: no verdict, and why."""
    faults = error.faults if isinstance(error, SpecError) else ()
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "summary": {"verdict": "error", "exit_code": error.exit_code},
        "error": {
            "kind": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "faults": [
                {
                    "message": fault.message,
                    "path": fault.path,
                    "place": fault.place
                    and {
                        "file": fault.place.file,
                        "line": fault.place.line,
                        "column": fault.place.column,
                    },
                }
                for fault in faults
            ],
        },
    }


def answers_document(answers: Sequence[Answer]) -> dict[str, Any]:
    """Several answers as plain data, each a document of its own."""
    codes = [one.exit_code for one in answers]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "fairaudit", "version": version()},
        "summary": {
            "exit_code": exit_code(answers),
            "exit_codes": {str(code): codes.count(code) for code in sorted(set(codes))},
        },
        "answers": [
            {
                "spec": one.spec,
                "data": one.data,
                "exit_code": one.exit_code,
                "result": _of_answer(one),
            }
            for one in answers
        ],
    }
