"""JSON documents of results, errors, dry runs and verified tables: writes and reads them.

The types of the records decide the form of the JSON. The document of a comparison of two results is
in `tools/compare/__init__.py`. A result is the same after it was written and read again, except for
fractions with very many digits.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from fairaudit.base import __version__, inputs, names
from fairaudit.base.errors import FairauditError, Fault, SpecError, UsageError
from fairaudit.base.frozen import RARE, Frozen, Unreadable, field
from fairaudit.base.masking import mask_all
from fairaudit.codec import records
from fairaudit.codec.records import Tree
from fairaudit.result import (
    SCHEMA_VERSION,
    Answer,
    AuditResult,
    DryRun,
    ResultOrError,
    Summary,
    Verification,
    exit_code,
)

AGAIN = "create it again: fairaudit run SPEC -o result.json"
"""The hint for a document that cannot be read."""

_LONGEST = 40

_KINDS: Sequence[type[FairauditError]] = (FairauditError, *FairauditError.__subclasses__())
_ERRORS = {cls.__name__: cls for cls in _KINDS}
"""The classes of errors by name, to create an error from a document."""


class Tool(Frozen):
    """The program that wrote a document."""

    name: str = "fairaudit"
    version: str = __version__


class Document(Frozen, kw_only=True):
    """A whole JSON document; `schema_version` is the major and minor version of the format."""

    schema_version: str = SCHEMA_VERSION
    tool: Tool = Tool()


class Asked(Frozen):
    """The question of an answer: the `spec`, and the file of `data` if each file has an answer."""

    spec: str
    data: str | None


class Result(Document, tag=True):
    """A whole result; `asked` is the question of the result, if a command wrote the document."""

    result: AuditResult = field(name="*result")
    asked: Annotated[Asked | None, RARE] = None


class ErrorReport(Frozen):
    """An error: its class (`kind`), its `message`, a `hint` on what to do, `faults` of a spec."""

    kind: str
    message: str
    hint: str | None
    faults: tuple[Fault, ...]

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if `kind` is not a class of errors."""
        if self.kind not in _ERRORS:
            yield Unreadable(f"is not an error of this version: {self.kind:.40}", "kind")


class Failure(Document, tag=True):
    """An error in place of a result; `asked` is the question that was not answered."""

    summary: Summary
    error: ErrorReport
    asked: Annotated[Asked | None, RARE] = None


class ListedAnswer(Frozen):
    """One of several answers: its question, its exit code, and its document (`result`)."""

    asked: Asked = field(name="*asked")
    exit_code: int
    result: Result | Failure


class Answers(Document, tag=True):
    """Several answers: a document for each."""

    summary: Summary
    answers: tuple[ListedAnswer, ...]

    def contradictions(self) -> Iterator[Unreadable]:
        """Yields a fault if the document has no answers."""
        if not self.answers:
            yield Unreadable("is empty", "answers")


class Preview(Document, tag=True):
    """A dry run: the plan of an audit."""

    dry_run: DryRun = field(name="*dry_run")


class VerifiedTables(Document, tag=True):
    """The numbers in published tables that cannot be true."""

    verification: Verification = field(name="*verification")


def write(document: Document) -> Tree:
    """A document as plain data; its type and its summary are the first members."""
    tree: Tree = records.write(type(document), document)
    first = ("type", "schema_version", "tool", "asked", "summary")
    return {**{name: tree[name] for name in first if name in tree}, **tree}


def write_answers(answers: Sequence[Answer]) -> Tree:
    """The document of one answer (a result or an error), or one document for several answers."""
    questions = [Asked(answer.spec, answer.data) for answer in answers]
    if len(answers) == 1:
        return write(_document_of(answers[0].result, questions[0]))
    counted = Counter(str(code) for code in sorted(answer.exit_code for answer in answers))
    listed = tuple(
        ListedAnswer(question, answer.exit_code, _document_of(answer.result))
        for question, answer in zip(questions, answers, strict=True)
    )
    return write(Answers(Summary(exit_code(answers), exit_codes=counted), listed))


def _document_of(outcome: ResultOrError, question: Asked | None = None) -> Result | Failure:
    if isinstance(outcome, AuditResult):
        return Result(outcome, question)
    faults = outcome.faults if isinstance(outcome, SpecError) else ()
    error = ErrorReport(type(outcome).__name__, outcome.message, outcome.hint, faults)
    return Failure(Summary(outcome.exit_code, "error"), error, question)


def parse(text: str | bytes) -> Tree:
    """The document in a JSON text; raises `UsageError` if the text is not a JSON object."""
    try:
        tree = json.loads(text, parse_constant=int)  # NaN raises `ValueError`
    except (ValueError, RecursionError) as error:
        raise UsageError("this is not JSON", AGAIN) from error
    if not isinstance(tree, dict):
        raise UsageError("this is not a fairaudit result", AGAIN)
    return tree


def load(source: str | Path | Mapping[str, Any], what: str = "the result") -> list[Answer]:
    """The answers in a JSON report; `source` is a path (`-` is stdin) or plain data.

    Raises `UsageError` as `read_answers` does, and for files that cannot be read.
    """
    name = what if isinstance(source, Mapping) else f"{what} {names.copied(str(source))}"
    try:
        if not isinstance(source, Mapping):
            source = parse(inputs.read_named(str(source), inputs.REPORT))
        return read_answers(source)
    except OSError as error:
        why = f"{name} cannot be read: {error.strerror or error}"
        raise UsageError(why, "name a JSON report: fairaudit run SPEC -o report.json") from error
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", error.hint) from error


def read_result(document: Mapping[str, Any]) -> AuditResult:
    """The result in a document; the reports of this result are identical to the reports of the run.

    Raises `UsageError` as `read_answers` does, and for an error or several answers.
    """
    return choose_result(read_answers(document))


def choose_result(answers: Sequence[Answer], what: str = "the document") -> AuditResult:
    """The only result; raises `UsageError` for an error or several answers."""
    if len(answers) > 1:
        raise UsageError(f"{what} holds several results", "use one of its `answers[].result`")
    if isinstance(answers[0].result, FairauditError):
        raise UsageError(f"{what} is an error report, not a result", AGAIN)
    return answers[0].result


def read_answers(document: Mapping[str, Any]) -> list[Answer]:
    """The answers in a document: one result, one error, or several of both.

    If a document does not name the question, the question is the spec of the result; for an error,
    it is empty. Results with metrics of another version keep their numbers and words. Raises
    `UsageError` (with the path of the member) for other documents, other major versions of the
    schema, and missing members.
    """
    _refuse_foreign(document)
    if "audits" in document:
        other = "use one of the reports that the index lists; the JSON files are in the same folder"
        raise UsageError("this is the index of a batch, not a result", other)
    listed = document.get("answers")
    for row in listed if isinstance(listed, list) else ():
        _refuse_foreign(row.get("result") if isinstance(row, dict) else row)
    try:
        found = records.read(Result | Failure | Answers, dict(document))
    except Unreadable as fault:
        raise UsageError(f"the result cannot be read: {fault}", AGAIN) from fault
    if not isinstance(found, Answers):
        outcome = _outcome(found)
        spec = outcome.provenance.spec_path if isinstance(outcome, AuditResult) else ""
        question = found.asked or Asked(spec, None)
        return [Answer(question.spec, question.data, outcome)]
    return [Answer(row.asked.spec, row.asked.data, _outcome(row.result)) for row in found.answers]


def _outcome(document: Result | Failure) -> ResultOrError:
    """The result, or the error as an instance of its class."""
    if isinstance(document, Result):
        return mask_all(document.result)
    error = document.error
    if error.kind == SpecError.__name__:
        return SpecError(error.faults)
    return _ERRORS[error.kind](error.message, error.hint)


def _refuse_foreign(tree: Any) -> None:
    """Raises `UsageError` for documents of other tools, or of other major versions."""
    tool = tree.get("tool") if isinstance(tree, Mapping) else None
    if not isinstance(tool, Mapping) or tool.get("name") != "fairaudit":
        raise UsageError("this is not a fairaudit result", AGAIN)
    stated, known = str(tree.get("schema_version")), SCHEMA_VERSION.partition(".")[0]
    if not re.fullmatch(known + r"\.\d{1,9}", stated):
        what = f"the result has the schema version {stated[:_LONGEST]}, but this version reads"
        writer = str(tool.get("version"))[:_LONGEST]
        hint = f"read it with the version that wrote it ({writer}), or {AGAIN}"
        raise UsageError(f"{what} {known}.x", hint)
