"""A whole result, an error, or several answers as one document, and back.

What is read back is all that was written: only fractions whose digits would fill pages are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from fairaudit.codec.rows import Row, kind_of
from fairaudit.codec.schema import GLOSSARY, name_of, object_of
from fairaudit.codec.values import (
    TEXT,
    Maybe,
    Schema,
    Unreadable,
    closed,
    raw,
    read_member,
    refuse_member,
)
from fairaudit.errors import (
    FairauditError,
    Fault,
    SpecError,
    UsageError,
)
from fairaudit.evidence.appearances import Appearance
from fairaudit.members import LISTED
from fairaudit.metrics.terms import Inference
from fairaudit.result import SCHEMA_VERSION, Answer, AuditResult, exit_code
from fairaudit.simpson import Reversal
from fairaudit.subgroups import Subgroup
from fairaudit.verdict import Earlier, Finding
from fairaudit.version import version

AGAIN = "make it again: fairaudit run SPEC -o result.json"
"""What to do with a document that cannot be read."""

_NAME = "fairaudit"
_VERSION = re.compile(r"(\d{1,9})\.\d{1,9}")
_LONGEST = 40
_FIRST = (
    *("schema_version", "tool", "created", "spec", "data", "options", "ledger", "summary"),
    *("groups", "rates", "comparisons", "checks"),
)
"""The members that stand first."""

_RESULT = Row(AuditResult)
_FAULTS = kind_of(tuple[Fault, ...])
_KINDS: tuple[type[FairauditError], ...] = (FairauditError, *FairauditError.__subclasses__())
_ERRORS = {kind.__name__: kind for kind in _KINDS}
"""Each takes a message and a hint, but for `SpecError`, which takes its faults."""
IN_WORDS = (Finding, Reversal, Appearance, Subgroup)
"""The rows to which a report adds a `sentence`."""


def write_result(result: AuditResult) -> dict[str, Any]:
    """The result as plain data."""
    tree: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "tool": {"name": _NAME}}
    _RESULT.put(result, tree)
    return {name: tree[name] for name in dict.fromkeys((*_FIRST, *tree))}


def write_error(error: FairauditError) -> dict[str, Any]:
    """An error as plain data of the same kind: no verdict, and why."""
    faults = error.faults if isinstance(error, SpecError) else ()
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": _NAME, "version": version()},
        "summary": {"verdict": "error", "exit_code": error.exit_code},
        "error": {
            "kind": type(error).__name__,
            "message": error.message,
            "hint": error.hint,
            "faults": _FAULTS.write(faults),
        },
    }


def write_answers(answers: Sequence[Answer], trees: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several answers as plain data; `trees` are the documents of each of them."""
    codes = [answer.exit_code for answer in answers]
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": _NAME, "version": version()},
        "summary": {
            "exit_code": exit_code(answers),
            "exit_codes": {str(code): codes.count(code) for code in sorted(set(codes))},
        },
        "answers": [
            {
                "spec": answer.spec,
                "data": answer.data,
                "exit_code": answer.exit_code,
                "result": tree,
            }
            for answer, tree in zip(answers, trees, strict=True)
        ],
    }


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
        return _read_result(document)
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
    try:
        if "answers" not in document:
            return [_read_one(document)]
        answers = document["answers"]
        if not isinstance(answers, list) or not answers:
            refuse_member(document, "answers", "is empty" if answers == [] else "is no list")
        return [_read_answer(tree, index) for index, tree in enumerate(answers)]
    except Unreadable as fault:
        raise UsageError(f"the result cannot be read: {fault}", AGAIN) from fault


def _read_one(tree: Mapping[str, Any]) -> Answer:
    """The only answer of a document."""
    outcome = _read_outcome(tree)
    if "asked" in tree:
        asked = tree["asked"]
        try:
            return _answer(asked, outcome)
        except Unreadable as fault:
            raise fault.within("asked") from None
    spec = outcome.provenance.spec_path if isinstance(outcome, AuditResult) else ""
    return Answer(spec, None, outcome)


def _read_answer(tree: Any, index: int) -> Answer:
    """One of several answers."""
    try:
        result = raw(tree, "result")
        _refuse_foreign(result)
        try:
            outcome = _read_outcome(result)
        except Unreadable as fault:
            raise fault.within("result") from None
        return _answer(tree, outcome)
    except Unreadable as fault:
        raise fault.within(index).within("answers") from None


def _answer(asked: Any, outcome: AuditResult | FairauditError) -> Answer:
    spec, data = read_member(asked, "spec", TEXT, {}), read_member(asked, "data", Maybe(TEXT), {})
    return Answer(spec, data, outcome)


def _read_outcome(tree: Mapping[str, Any]) -> AuditResult | FairauditError:
    if "error" not in tree:
        return _read_result(tree)
    try:
        return _read_error(tree["error"])
    except Unreadable as fault:
        raise fault.within("error") from None


def _read_error(tree: Any) -> FairauditError:
    """The error in a document, of its own kind; what it would look for in the data is not told."""
    kind = read_member(tree, "kind", TEXT, {})
    if kind == SpecError.__name__:
        return SpecError(read_member(tree, "faults", _FAULTS, {}))
    if kind not in _ERRORS:
        refuse_member(tree, "kind", "is no error of this version")
    message, hint = (
        read_member(tree, "message", TEXT, {}),
        read_member(tree, "hint", Maybe(TEXT), {}),
    )
    return _ERRORS[kind](message, hint)


def _read_result(tree: Mapping[str, Any]) -> AuditResult:
    """The result in an object that is one; raises `Unreadable`."""
    tree = dict(tree)
    options, names = raw(tree, "options"), LISTED.key.split()
    reversals = read_member(tree, "reversals", kind_of(tuple[Reversal, ...]), {})
    keys = [str([row[name] for name in names]) for row in tree["reversals"]]
    try:
        inference = read_member(options, "inference", kind_of(Inference), {})
    except Unreadable as fault:
        raise fault.within("options") from None
    shared = {
        "alpha": inference.alpha,
        "baseline": read_member(tree, "baseline", kind_of(Earlier | None), {}),
        "reversals": dict(zip(keys, reversals, strict=True)),
    }
    result: AuditResult = _RESULT.read(tree, shared)
    _refuse_twins(result)
    _refuse_undefined(result)
    return result


def _refuse_twins(result: AuditResult) -> None:
    """Raises `Unreadable` for two checks of one id: whoever asks for one would get either."""
    seen: set[str] = set()
    for index, finding in enumerate(result.findings):
        if finding.check.id in seen:
            raise Unreadable("stands twice").within("id").within(index).within("checks")
        seen.add(finding.check.id)


def _refuse_undefined(result: AuditResult) -> None:
    """Raises `Unreadable` for a rate without the definition that names it."""
    known = {definition.id for definition in result.definitions}
    for index, rate in enumerate(result.rates):
        if rate.metric not in known:
            fault = Unreadable(f'is not among the definitions: "{rate.metric}"')
            raise fault.within("metric").within(index).within("rates")


def _refuse_foreign(tree: Any) -> None:
    """Raises `UsageError` where a document is none of this tool and version."""
    tool = tree.get("tool") if isinstance(tree, Mapping) else None
    if not isinstance(tool, Mapping) or tool.get("name") != _NAME:
        raise UsageError("this is no result of fairaudit", AGAIN)
    found, known = tree.get("schema_version"), SCHEMA_VERSION.partition(".")[0]
    match = _VERSION.fullmatch(found) if isinstance(found, str) else None
    if match is None or match[1] != known:
        what = f"the result has the schema version {str(found)[:_LONGEST]}, and this tool reads"
        writer = str(tool.get("version"))[:_LONGEST]
        hint = f"read it with the fairaudit that wrote it ({writer}), or {AGAIN}"
        raise UsageError(f"{what} {known}.x", hint)


def result_schema() -> Schema:
    """The JSON Schema of a document: a result, an error, or several answers."""
    text: Schema = {"type": "string"}
    maybe: Schema = {"type": ["string", "null"]}
    code: Schema = {"type": "integer", "description": "The exit code of the command."}
    head = {
        "schema_version": {"const": SCHEMA_VERSION, "description": "Major and minor version."},
        "tool": closed({"name": {"const": _NAME}, "version": text}, ("name", "version")),
    }
    asked = closed({"spec": text, "data": maybe}, ("spec", "data"))
    definitions: dict[str, Schema] = {}
    members = [(name, schema, True) for name, schema in head.items()]
    result = object_of([*members, ("asked", asked, False), *_RESULT.members(definitions)])
    for cls in IN_WORDS:
        sentence = {"type": "string", "description": GLOSSARY["sentence"]}
        definitions[name_of(cls)]["properties"]["sentence"] = sentence
    error = {"kind": text, "message": text, "hint": maybe, "faults": _FAULTS.schema(definitions)}
    summary = closed({"verdict": {"const": "error"}, "exit_code": code}, ("verdict", "exit_code"))
    failure = {**head, "asked": asked, "summary": summary, "error": closed(error, [*error])}
    codes = {"type": "object", "additionalProperties": {"type": "integer"}}
    of_all = closed({"exit_code": code, "exit_codes": codes}, ("exit_code", "exit_codes"))
    either = {"anyOf": [{"$ref": "#/$defs/result"}, {"$ref": "#/$defs/failure"}]}
    answer = {"spec": text, "data": maybe, "exit_code": code, "result": either}
    answers = {
        **head,
        "summary": of_all,
        "answers": {"type": "array", "items": closed(answer, [*answer])},
    }
    documents = {
        "result": result,
        "failure": closed(failure, [name for name in failure if name != "asked"]),
        "answers": closed(answers, [*answers]),
    }
    about = (
        "What `fairaudit run --format json` prints: a result, an error, or several answers in one "
        "document. Within one major `schema_version` members are only added: a reader ignores the "
        "members it does not know. No number is NaN or infinite: it is null, and a `state` or "
        "`x_state` says why. `x_text` beside a number `x` is the same number exactly."
    )
    tree = [{"$ref": f"#/$defs/{name}"} for name in documents]
    return root("result", about, {"anyOf": tree}, {**documents, **definitions})


def root(name: str, about: str, tree: Schema, definitions: dict[str, Schema]) -> Schema:
    """A whole schema: its dialect and id, and what it is of."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:fairaudit:schema:{name}:{SCHEMA_VERSION}",
        "title": f"fairaudit {name}",
        "description": about,
        **tree,
        "$defs": definitions,
    }
