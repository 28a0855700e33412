"""A whole result, an error, or several answers as one document, and back.

What is read back is all that was written: only fractions whose digits would fill pages are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from fairaudit.codec.rows import DEFINITIONS, Row, kind_of
from fairaudit.codec.schema import Members, object_of, references
from fairaudit.codec.values import TEXT, Schema, Unreadable, maybe, raw, read_member, refuse
from fairaudit.errors import (
    FairauditError,
    Fault,
    SpecError,
    UsageError,
)
from fairaudit.evidence.appearances import Appearance
from fairaudit.members import LISTED, Member
from fairaudit.metrics.terms import Inference
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code
from fairaudit.simpson import Reversal
from fairaudit.subgroups import Subgroup
from fairaudit.verdict import Earlier, Finding
from fairaudit.version import version

AGAIN = "make it again: fairaudit run SPEC -o result.json"
"""What to do with a document that cannot be read."""

_VERSION = re.compile(r"(\d{1,9})\.\d{1,9}")
_LONGEST = 40
_FIRST = (
    *("schema_version", "tool", "created", "spec", "data", "options", "ledger", "summary"),
    *("groups", "rates", "comparisons", "checks"),
)
"""The members that stand first."""

_KINDS: tuple[type[FairauditError], ...] = (FairauditError, *FairauditError.__subclasses__())
_ERRORS = {kind.__name__: kind for kind in _KINDS}
"""Each takes a message and a hint, but for `SpecError`, which takes its faults."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error in place of a result: its `kind`, its `message`, and a `hint` what to do next."""

    version: Annotated[str, Member("tool.version")]
    verdict: Annotated[str, Member("summary.verdict")]
    exit_code: Annotated[int, Member("summary.exit_code")]
    kind: Annotated[str, Member("error.kind")]
    message: Annotated[str, Member("error.message")]
    hint: Annotated[str | None, Member("error.hint")]
    faults: Annotated[tuple[Fault, ...], Member("error.faults")]


@dataclass(frozen=True, slots=True)
class _Answers:
    """Several answers: how many have which exit code, and each as a document of its own."""

    version: Annotated[str, Member("tool.version")]
    exit_code: Annotated[int, Member("summary.exit_code")]
    exit_codes: Annotated[Mapping[str, int], Member("summary.exit_codes")]


_RESULT, _FAILURE, _ANSWERS = Row(AuditResult), Row(_Failure), Row(_Answers)
SPOKEN = (Finding, Reversal, Appearance, Subgroup)
"""The rows to which a report adds a `sentence`."""


def write_result(result: AuditResult) -> dict[str, Any]:
    """The result as plain data."""
    tree = with_head(_RESULT.write(result))
    return {name: tree[name] for name in dict.fromkeys((*_FIRST, *tree))}


def write_error(error: FairauditError) -> dict[str, Any]:
    """An error as plain data of the same kind: no verdict, and why."""
    faults = error.faults if isinstance(error, SpecError) else ()
    kind = type(error).__name__
    row = _Failure(version(), "error", error.exit_code, kind, error.message, error.hint, faults)
    return with_head(_FAILURE.write(row))


def write_answers(answers: Sequence[Answer], trees: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several answers as plain data; `trees` are the documents of each of them."""
    codes = [answer.exit_code for answer in answers]
    counted = {str(code): codes.count(code) for code in sorted(set(codes))}
    rows = [
        {"spec": answer.spec, "data": answer.data, "exit_code": answer.exit_code, "result": tree}
        for answer, tree in zip(answers, trees, strict=True)
    ]
    tree = with_head(_ANSWERS.write(_Answers(version(), exit_code(answers), counted)))
    return {**tree, "answers": rows}


def with_head(tree: dict[str, Any]) -> dict[str, Any]:
    """The document after what it is: its schema version, and the tool that wrote it."""
    head = {"schema_version": SCHEMA_VERSION, "tool": {"name": "fairaudit", **tree["tool"]}}
    return {**head, **{name: value for name, value in tree.items() if name != "tool"}}


def parse(text: str | bytes) -> dict[str, Any]:
    """The document in a JSON text; raises `UsageError` for what is no JSON, or no object."""

    def refuse_constant(name: str) -> NoReturn:
        raise ValueError(name)

    try:
        tree = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise UsageError("this is not JSON", AGAIN) from error
    if not isinstance(tree, dict):
        raise UsageError("this is no result of fairaudit", AGAIN)
    return tree


def read_result(
    document: Mapping[str, Any], name: str = "the result", hint: str = AGAIN
) -> AuditResult:
    """The result in a document, so that every report of it is the one that its run wrote.

    A metric of another version is read: its numbers and its words are those of the document.
    Raises `UsageError` for what is no result, is of another major version of the schema, or lacks
    something; it names the member.
    """
    _refuse_foreign(document)
    if "answers" in document:
        raise UsageError("the document holds several results", "take one of its `answers[].result`")
    if "error" in document:
        raise UsageError("the document is the report of an error: it holds no result", AGAIN)
    try:
        return _read_result(dict(document))
    except Unreadable as fault:
        raise UsageError(f"{name} cannot be read: {fault}", hint) from fault


def read_answers(document: Mapping[str, Any]) -> list[Answer]:
    """The answers in a document of any kind: one result, one error, or several of both.

    Where one does not say what was asked, it is the spec of the result; of an error that is empty.
    Raises `UsageError` as `read_result` does.
    """
    _refuse_foreign(document)
    if "audits" in document:
        hint = "name one of the reports that it lists; each is a JSON document beside it"
        raise UsageError("this is the index of a batch, not a result", hint)
    tree = dict(document)
    try:
        if "answers" in tree:
            return read_member(tree, "answers", _read_list, {})  # type: ignore[no-any-return]  # answers
        outcome = _read_outcome(tree, {})
        if "asked" in tree:
            spec, data = read_member(tree, "asked", _read_asked, {})
            return [Answer(spec, data, outcome)]
    except Unreadable as fault:
        raise UsageError(f"the result cannot be read: {fault}", AGAIN) from fault
    spec = outcome.provenance.spec_path if isinstance(outcome, AuditResult) else ""
    return [Answer(spec, None, outcome)]


def _read_list(trees: Any, shared: Mapping[str, Any]) -> list[Answer]:
    if not isinstance(trees, list) or not trees:
        refuse(trees, "is no list" if trees else "is empty")
    answers: list[Answer] = []
    for tree in trees:
        try:
            _refuse_foreign(read_member(tree, "result", raw, shared))
            outcome = read_member(tree, "result", _read_outcome, shared)
            spec, data = _read_asked(tree, shared)
            answers.append(Answer(spec, data, outcome))
        except Unreadable as fault:
            raise fault.within(len(answers)) from None
    return answers


def _read_asked(tree: Any, shared: Mapping[str, Any]) -> tuple[str, str | None]:
    """The spec and the file that an answer is for."""
    data = read_member(tree, "data", maybe(TEXT).read, shared)
    return read_member(tree, "spec", TEXT.read, shared), data


def _read_outcome(tree: Any, shared: Mapping[str, Any]) -> AuditResult | FairauditError:
    """The result, or the error of its own kind; what that would look for in the data is lost."""
    if "error" not in tree:
        return _read_result(tree)
    failure = _FAILURE.read(tree, shared)
    if failure.kind == SpecError.__name__:
        return SpecError(failure.faults)
    if failure.kind not in _ERRORS:
        refuse(failure.kind, "is no error of this version", "error", "kind")
    return _ERRORS[failure.kind](failure.message, failure.hint)


def _read_result(tree: dict[str, Any]) -> AuditResult:
    """The result in an object that is one; raises `Unreadable`."""
    reversals = read_member(tree, "reversals", kind_of(tuple[Reversal, ...]).read, {})
    keys = [str([row[name] for name in LISTED.key.split()]) for row in tree["reversals"]]
    inference = read_member(tree, "options", _read_inference, {})
    shared = {
        "alpha": inference.alpha,
        "baseline": read_member(tree, "baseline", kind_of(Earlier | None).read, {}),
        "reversals": dict(zip(keys, reversals, strict=True)),
    }
    result: AuditResult = _RESULT.read(tree, shared)
    seen: set[str] = set()
    for index, finding in enumerate(result.findings):
        if finding.check.id in seen:
            refuse(finding.check.id, "stands twice", "checks", index, "id")
        seen.add(finding.check.id)
    known = {definition.id for definition in result.definitions}
    for index, rate in enumerate(result.rates):
        if rate.metric not in known:
            refuse(rate.metric, "is not among the definitions", "rates", index, "metric")
    return result


def _read_inference(options: Any, shared: Mapping[str, Any]) -> Inference:
    inference: Inference = read_member(options, "inference", kind_of(Inference).read, shared)
    return inference


def _refuse_foreign(tree: Any) -> None:
    """Raises `UsageError` where a document is none of this tool and version."""
    tool = tree.get("tool") if isinstance(tree, Mapping) else None
    if not isinstance(tool, Mapping) or tool.get("name") != "fairaudit":
        raise UsageError("this is no result of fairaudit", AGAIN)
    stated, known = tree.get("schema_version"), SCHEMA_VERSION.partition(".")[0]
    match = _VERSION.fullmatch(stated) if isinstance(stated, str) else None
    if match is None or match[1] != known:
        what = f"the result has the schema version {str(stated)[:_LONGEST]}, and this tool reads"
        writer = str(tool.get("version"))[:_LONGEST]
        hint = f"read it with the fairaudit that wrote it ({writer}), or {AGAIN}"
        raise UsageError(f"{what} {known}.x", hint)


_ABOUT = (
    "What `fairaudit run --format json` prints: a result, an error, or several answers in one "
    "document. Within one major `schema_version` members are only added: a reader ignores the "
    "members it does not know. No number is NaN or infinite: it is null, and a `state` or "
    "`x_state` says why. `x_text` beside a number `x` is the same number exactly."
)
_SENTENCE = {"type": "string", "description": "The row in words: these may change at any time."}


def result_schema() -> Schema:
    """The JSON Schema of a document: a result, an error, or several answers."""
    text, maybe_text = TEXT.schema, maybe(TEXT).schema
    asked = object_of({"spec": (text, True), "data": (maybe_text, True)}, "What it answers.")
    either = {"anyOf": [{"$ref": "#/$defs/result"}, {"$ref": "#/$defs/failure"}]}
    answer = {"spec": text, "data": maybe_text, "exit_code": {"type": "integer"}, "result": either}
    answers = object_of({name: (schema, True) for name, schema in answer.items()})
    several = {"answers": ({"type": "array", "items": answers}, True)}
    documents = {
        "result": head_schema({**_RESULT.members, "asked": (asked, False)}),
        "failure": head_schema({**_FAILURE.members, "asked": (asked, False)}),
        "answers": head_schema({**_ANSWERS.members, **several}),
    }
    schema = root("result", _ABOUT, documents)
    for cls in SPOKEN:
        schema["$defs"][Row(cls).name]["properties"]["sentence"] = _SENTENCE
    return {**schema, "anyOf": [{"$ref": f"#/$defs/{name}"} for name in documents]}


def head_schema(members: Members) -> Schema:
    """The schema of a document of these members, after what it is."""
    about = {"const": SCHEMA_VERSION, "description": "Major and minor version of this format."}
    schema = object_of({"schema_version": (about, True), "tool": ({}, True), **members})
    tool = {"name": ({"const": "fairaudit"}, True), "version": (TEXT.schema, True)}
    schema["properties"]["tool"] = object_of(tool, "The tool that wrote it.")
    return schema


def root(name: str, about: str, documents: Mapping[str, Schema]) -> Schema:
    """A whole schema with all that its documents refer to: its dialect, its id, what it is of."""
    definitions = dict(documents)
    while missing := {*filter(DEFINITIONS.get, references(definitions))} - definitions.keys():
        definitions |= {name: DEFINITIONS[name].definition for name in sorted(missing)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fairaudit:schema:{name}:{SCHEMA_VERSION}",
        "title": f"fairaudit {name}",
        "description": about,
        "$defs": definitions,
    }
