"""Format `sarif` 2.1.0: a rule for each metric; a result with its level for each check.

One run holds all answers, since GitHub refuses a file with several of the same tool. It takes as
much of a file as GitHub shows of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from fairaudit.base import __version__
from fairaudit.base.errors import NOTHING_EVALUATED, FairauditError, Place
from fairaudit.base.inputs import is_file
from fairaudit.base.names import printable
from fairaudit.judge import Status
from fairaudit.report import checks, explain, json, markdown
from fairaudit.report.diagnostics import Diagnostic, Level, diagnose_by_id, list_faults
from fairaudit.report.markup import JOINER, shortened
from fairaudit.report.provenance import link_to_metric, path_in_repository
from fairaudit.result import Answer, AuditResult

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
"""The number of results that GitHub shows per run."""
LONGEST_DESCRIPTION = 1_024
LONGEST = 4_000

_LEVELS: dict[Level | None, str] = {Level.WARN: "warning", Level.NOTE: "note"}
_OTHER_RULES = {
    "simpson_reversal": (
        "Simpson's reversal",
        "A gap between two groups changes its sign when people are compared within strata.",
    ),
    "subgroup_divergence": (
        "Subgroup divergence",
        "The rate of a subgroup differs from the rate of all people.",
    ),
}
_LINK = re.compile(r"\](?=\()")
"""Where a link would begin."""


def render(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
    """One run of the tool, with an invocation for each answer."""
    results = [
        (answer, diagnostic)
        for answer in answers
        if isinstance(answer.result, AuditResult)
        for diagnostic in diagnose_by_id(answer.result).values()
        if diagnostic.severity is not None
    ]
    results.sort(key=lambda pair: checks.WORST_FIRST.index(pair[1].finding.status))
    audits = [answer.result for answer in answers if isinstance(answer.result, AuditResult)]
    # The rule of each metric that a spec names, and of everything else that a check is about.
    definitions = {record.id: record for audit in audits for record in audit.definitions}
    rules = {}
    for name, record in definitions.items():
        lines = [f"{label}: {words}" for label, words in explain.facts(record)]
        text = _text("\n".join([record.means, *lines]))
        help_texts = {"text": text, "markdown": markdown.page(explain.page(record))}
        address = link_to_metric(record.id)
        rules[name] = _rule(record.id, record.title, record.means, help_texts)
        rules[name] |= {"helpUri": address} if address else {}
    for finding in (finding for audit in audits for finding in audit.findings):
        name = finding.check.metric_id
        title, means = _OTHER_RULES.get(name, (name, checks.title(finding)))
        rules.setdefault(name, _rule(name, title, means, {"text": _text(means)}))
    index = {rule["id"]: number for number, rule in enumerate(rules.values())}
    invocations = [_invocation(answer) for answer in answers]
    if len(results) > MOST_RESULTS:
        more = f"{len(results) - MOST_RESULTS:,} more checks did not pass: see the JSON report"
        invocations[0]["toolExecutionNotifications"].append(_notification(more, "warning"))
    specs = dict.fromkeys(path_in_repository(answer.spec) for answer in answers)
    driver = {"name": "fairaudit", "version": __version__, "rules": [*rules.values()]}
    run = {
        "tool": {"driver": driver},
        # The part before the last slash distinguishes the uploads of different specs.
        "automationDetails": {"id": f"fairaudit/{' '.join(specs)}/"},
        "columnKind": "unicodeCodePoints",
        "invocations": invocations,
        "results": [_result(*pair, index) for pair in results[:MOST_RESULTS]],
    }
    return json.written({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str, title: str, means: str, help_texts: dict[str, str]) -> dict[str, Any]:
    return {
        "id": name,
        "shortDescription": {"text": _text(title, LONGEST_DESCRIPTION)},
        "fullDescription": {"text": _text(means, LONGEST_DESCRIPTION)},
        "help": help_texts,
        "properties": {"tags": ["fairness"]},
    }


def _result(answer: Answer, diagnostic: Diagnostic, index: dict[str, int]) -> dict[str, Any]:
    finding, check = diagnostic.finding, diagnostic.finding.check
    sentence = diagnostic.sentence
    text = sentence if answer.data is None else f"{sentence} ({answer.data})"
    properties = {"check": check.id, "status": str(finding.status), "data": answer.data}
    properties |= {"name": check.about.name, "why": check.about.why, "owner": check.about.owner}
    identity = "\n".join([path_in_repository(answer.spec), answer.data or "", check.id])
    fingerprint = hashlib.sha256(identity.encode(errors="backslashreplace")).hexdigest()
    result = {
        "ruleId": check.metric_id,
        "ruleIndex": index[check.metric_id],
        "level": _LEVELS.get(diagnostic.severity, "error"),
        "message": {"text": _text(text)},
        "locations": _location(diagnostic.at, diagnostic.end),
        # GitHub knows only the first: an alert stays the same where lines move.
        "partialFingerprints": {"primaryLocationLineHash": fingerprint, "check/v1": fingerprint},
        "properties": {name: printable(value) for name, value in properties.items() if value},
    }
    if finding.status is Status.WAIVED:
        result["suppressions"] = [
            {
                "kind": "external",
                "status": "accepted",
                "justification": _text(
                    f"{waived.reason} (approved by {waived.approved_by}, until {waived.expires})"
                ),
            }
            for waived in finding.waived
        ]
    return result


def _location(place: Place | None, end: int | None = None) -> list[dict[str, Any]]:
    """A place, up to a column if it is known; None for stdin and for options."""
    if place is None or not is_file(place.file):
        return []
    path = path_in_repository(place.file)
    artifact = {"uri": f"file://{quote(path)}" if path.startswith("/") else quote(path)}
    artifact |= {} if path.startswith(("/", "../")) else {"uriBaseId": "%SRCROOT%"}
    region = {
        "startLine": place.line,
        "startColumn": place.column,
        "endLine": place.line,
        "endColumn": end or place.column + 1,
    }
    return [{"physicalLocation": {"artifactLocation": artifact, "region": region}}]


def _invocation(answer: Answer) -> dict[str, Any]:
    """How an audit ended: with an error, or with a result and what there is to know of it."""
    result = answer.result
    invocation: dict[str, Any] = {
        "executionSuccessful": isinstance(result, AuditResult),
        "exitCode": answer.exit_code,
        "toolExecutionNotifications": [],
        "properties": {"audit": printable(answer.title)},
    }
    if isinstance(result, FairauditError):
        invocation["toolExecutionNotifications"] += [
            _notification(text, "error", place) for text, place in list_faults(result)
        ]
        return invocation
    invocation["toolExecutionNotifications"] += [
        _notification(notice, "note") for notice in result.notices
    ]
    if result.findings and result.exit_code == NOTHING_EVALUATED:
        # Skipped checks have no result, and an empty list of results closes earlier alerts.
        why = f"nothing could be evaluated: {checks.tally(result)}"
        invocation["toolExecutionNotifications"].append(_notification(why, "error"))
    invocation["endTimeUtc"] = result.provenance.created.replace("+00:00", "Z")
    invocation["properties"]["verdict"] = str(result.verdict)
    return invocation


def _notification(text: str, level: str, place: Place | None = None) -> dict[str, Any]:
    notification: dict[str, Any] = {"level": level, "message": {"text": _text(text)}}
    locations = _location(place)
    return notification | ({"locations": locations} if locations else {})


def _text(text: str, most: int = LONGEST) -> str:
    """A text without links and placeholders."""
    plain = _LINK.sub(f"]{JOINER}", printable(shortened(text, most), but="\n"))
    return plain.replace("{", "{{").replace("}", "}}")
