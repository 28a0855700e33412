"""Errors, and several answers in one document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairaudit.errors import (
    AuditFailed,
    DataError,
    FairauditError,
    Fault,
    NothingToAudit,
    SpecError,
    UsageError,
)
from fairaudit.report.json.reading import Member, opened
from fairaudit.report.json.results import document, read_result
from fairaudit.report.json.values import read_place, write_place
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code
from fairaudit.version import version

_KINDS: Mapping[str, type[FairauditError]] = {
    one.__name__: one
    for one in (FairauditError, UsageError, DataError, NothingToAudit, AuditFailed)
}


def of_answers(answers: Sequence[Answer]) -> dict[str, Any]:
    """One answer as the document of its result, or error; several as one document of them all.

    Of one `asked` says which spec and file it is the answer for.
    """
    if len(answers) > 1:
        return answers_document(answers)
    one = answers[0]
    tree = _of_answer(one)
    head = {name: tree[name] for name in ("schema_version", "tool")}
    return {**head, "asked": {"spec": one.spec, "data": one.data}, **tree}


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
            "faults": [_fault(one) for one in faults],
        },
    }


def read_error(row: Member) -> FairauditError:
    """The error in a document, of its own kind; what it would look for in the data is not told."""
    kind = row["kind"].text()
    if kind == SpecError.__name__:
        return SpecError(row["faults"].each(_read_fault))
    if kind not in _KINDS:
        row["kind"].refuse("is no error of this version")
    return _KINDS[kind](row["message"].text(), row["hint"].or_none(Member.text))


def _fault(one: Fault) -> dict[str, Any]:
    """One fault of a spec, and the line it stands in."""
    return {
        "message": one.message,
        "path": one.path,
        "place": write_place(one.place),
        "source": one.source,
    }


def _read_fault(row: Member) -> Fault:
    return Fault(
        row["message"].text(),
        row["path"].text(),
        read_place(row["place"]),
        row["source"].or_none(Member.text),
    )


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


def read_answers(tree: Mapping[str, Any]) -> list[Answer]:
    """The answers in a document of any kind: one result, one error, or several of both.

    Where one does not say what was asked, it is the spec of the result; of an error that is empty.
    Raises `UsageError` as `read` does.
    """
    whole = opened(tree)
    if "audits" in whole:
        hint = "name one of the reports that it lists; each is a JSON document beside it"
        raise UsageError("this is the index of a batch, not a result", hint)
    if "answers" in whole:
        found = whole["answers"].each(_read_answer)
        return [*found] if found else whole["answers"].refuse("is empty")
    one = _read_found(whole)
    if "asked" in whole:
        asked = whole["asked"]
        return [Answer(asked["spec"].text(), asked["data"].or_none(Member.text), one)]
    return [Answer(one.provenance.spec_path if isinstance(one, AuditResult) else "", None, one)]


def _read_answer(row: Member) -> Answer:
    result = row["result"]
    opened(result)
    return Answer(row["spec"].text(), row["data"].or_none(Member.text), _read_found(result))


def _read_found(whole: Member) -> AuditResult | FairauditError:
    return read_error(whole["error"]) if "error" in whole else read_result(whole)
