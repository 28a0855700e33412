"""Formats `github`, `junit` and `sarif`: checks, errors and waivers for build servers.

GitHub shows at most ten annotations of a kind per step of a workflow. If there are more than ten
in all, the last one counts the rest. Everything that makes the exit code 1, 2 or 3 is a failure
or an error in JUnit. JUnit is in ASCII: characters that XML forbids are spelled out, and all other
characters become references. SARIF 2.1.0 has a rule per metric, and one run, as GitHub requires.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from fairaudit.base import __version__
from fairaudit.base.errors import NOTHING_EVALUATED, FairauditError, Place, SpecError
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.inputs import is_file
from fairaudit.base.names import printable
from fairaudit.judge import Status
from fairaudit.judge.waivers import WaiverState
from fairaudit.report import checks, explain, json, markdown, numbers
from fairaudit.report.diagnostics import Diagnostic, Level, diagnose_by_id
from fairaudit.report.markup import JOINER, shortened
from fairaudit.report.provenance import link_to_metric, name_spec, path_in_repository
from fairaudit.result import Answer, AuditResult, Verdict

MOST = 10
"""The number of annotations of a kind that GitHub shows per step."""
LONGEST = 4_000
LONGEST_TITLE = 255
"""The number of characters that GitHub accepts for a title."""

_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = {**_DATA, **str.maketrans({":": "%3A", ",": "%2C"})}

_KIND: dict[Level | None, str] = {Level.WARN: "warning", Level.NOTE: "notice"}
_OLD = {
    WaiverState.EXPIRED: Level.WARN,
    WaiverState.UNUSED: Level.NOTE,
    WaiverState.NOT_JUDGED: Level.NOTE,
}


class _Annotation(Frozen):
    """A message with its level and its place; `file` is the place if the line is unknown.

    The level is None if there is no verdict, which is worse than any level. `end_column` is the
    column of the first character after the place, 0 if unknown.
    """

    level: Level | None
    title: str
    message: str
    place: Place | None = None
    file: str = ""
    end_column: int = 0

    def __str__(self) -> str:
        properties = {}
        if self.place is not None and is_file(self.place.file):
            line, column = str(self.place.line), str(self.place.column)
            properties = {"file": path_in_repository(self.place.file)}
            properties |= {"line": line, "endLine": line, "col": column}
            properties |= {"endColumn": str(self.end_column)} if self.end_column else {}
        elif self.file:
            properties = {"file": path_in_repository(self.file)}
        properties["title"] = printable(shortened(self.title, LONGEST_TITLE))
        values = ",".join(
            f"{name}={text.translate(_PROPERTY)}" for name, text in properties.items()
        )
        message = printable(shortened(self.message, LONGEST), but="\n").translate(_DATA)
        return f"::{_KIND.get(self.level, 'error')} {values}::{message}"


def render_github(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
    """A line for each annotation, at most ten; empty if all checks passed without doubt."""
    annotations = [annotation for answer in answers for annotation in _annotations(answer)]
    annotations.sort(key=lambda annotation: [None, *Level].index(annotation.level))
    if len(annotations) > MOST:
        left_out = annotations[MOST - 1 :]
        specs = " ".join(
            dict.fromkeys(
                # The spec as an argument of `run`, with the options of the command line.
                name_spec(answer.result.provenance, answer.spec)
                if isinstance(answer.result, AuditResult)
                else answer.spec
                for answer in answers
            )
        )
        where = f"see the summary of this step, or run: fairaudit run {specs}"
        more = _Annotation(left_out[0].level, "more", f"{len(left_out):,} more: {where}")
        annotations = [*annotations[: MOST - 1], more]
    return "".join(f"{annotation}\n" for annotation in annotations)


def _annotations(answer: Answer) -> Iterator[_Annotation]:
    result = answer.result
    if isinstance(result, FairauditError):
        for text, place in _list_faults(result):
            yield _Annotation(None, f"no verdict on {answer.title}", text, place)
        return
    annotations = [
        _Annotation(
            level,
            f"{row.finding.status.upper()} {row.finding.check.id}",
            "\n".join([row.headline, *row.labelled(", ")]),
            row.at,
            end_column=row.end or 0,
        )
        for row in diagnose_by_id(result).values()
        if (level := row.severity) is not None
    ]
    for outcome in result.waivers:
        # A waiver without effect, which readers of the file of waivers should know.
        waiver, word = outcome.waiver, str(outcome.state).replace("_", " ")
        if (level := _OLD.get(outcome.state)) is not None:
            text = f"{outcome.why or word}; until {waiver.expires}: {waiver.reason}"
            title = f"waiver {word}: {waiver.check}"
            annotations.append(_Annotation(level, title, text, waiver.place))
    if answer.data is not None:
        annotations = [
            replace(annotation, title=f"{annotation.title} in {answer.data}")
            for annotation in annotations
        ]
    yield from annotations
    if result.verdict is Verdict.NONE:
        why = "the spec sets no limits"
        yield _Annotation(Level.NOTE, "NO LIMITS", why, file=answer.spec)
    elif result.exit_code and all(annotation.level in _KIND for annotation in annotations):
        why = f"nothing could be evaluated: {checks.tally(result)}"
        yield _Annotation(Level.INCONCLUSIVE, "INCONCLUSIVE", why, file=answer.spec)


_ELEMENT = {
    Status.FAIL: "failure",
    Status.INCONCLUSIVE: "error",
    Status.SKIPPED: "skipped",
    Status.WAIVED: "skipped",
}
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render_junit(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
    """A test suite for each answer; several suites have a common root element."""
    suites = []
    seen = Counter[str]()
    for answer in answers:
        # Each answer has a distinct name, even if a spec is named twice.
        seen[answer.title] += 1
        number = f" ({seen[answer.title]})" if seen[answer.title] > 1 else ""
        suites.append(_suite(answer, f"{answer.title}{number}"))
    root = suites[0]
    if len(suites) > 1:
        # The schema does not allow `skipped` here.
        totals = ("tests", "failures", "errors")
        counts = {total: str(sum(int(suite.attrib[total]) for suite in suites)) for total in totals}
        root = ET.Element("testsuites", {"name": "fairaudit", **counts, "time": "0"})
        root.extend(suites)
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="us-ascii", xml_declaration=True)
    return text.decode("ascii") + "\n"


def _suite(answer: Answer, name: str) -> ET.Element:
    result = answer.result
    if isinstance(result, FairauditError):
        kind, details = type(result).__name__, "\n".join(str(result).splitlines())
        cases = [_case(name, "(no verdict)", "error", kind, result.message, details)]
    else:
        cases = _cases(result, name)
    counts = {
        attribute: str(sum(case.find(word) is not None for case in cases))
        for attribute, word in _COUNTED.items()
    }
    attributes = {"name": printable(name), "tests": str(len(cases)), **counts, "time": "0"}
    suite = ET.Element("testsuite", attributes)
    if isinstance(result, AuditResult):
        # The format requires a time in UTC without a time zone.
        suite.set("timestamp", result.provenance.created.removesuffix("+00:00"))
        properties, origin = ET.SubElement(suite, "properties"), result.provenance
        for what, value in (
            ("fairaudit", origin.version),
            ("title", origin.title),
            ("spec", origin.spec_path),
            ("spec_sha256", origin.spec_sha256),
            *(("set", setting) for setting in origin.settings),
            *(("data", file.path) for file in origin.files),
            ("rows", numbers.SUPPRESSED if origin.rows is None else str(origin.rows)),
            ("counts_sha256", origin.cube_sha256 or numbers.SUPPRESSED),
            ("verdict", str(result.verdict)),
            ("fail_on", str(result.fail_on)),
            ("not_enough_evidence", str(result.not_enough_evidence)),
            *origin.context.items(),
        ):
            names = {"name": printable(what), "value": printable(value)}
            ET.SubElement(properties, "property", names)
    suite.extend(cases)
    if isinstance(result, AuditResult) and result.notices:
        lines = [f"notice: {printable(notice)}" for notice in result.notices]
        ET.SubElement(suite, "system-out").text = "\n".join(lines)
    return suite


def _cases(result: AuditResult, suite: str) -> list[ET.Element]:
    cases = []
    for row in diagnose_by_id(result).values():
        finding = row.finding
        element = _ELEMENT.get(checks.gated(finding, result))
        details = [f"{checks.title(finding)}: {row.headline}", *row.labelled()]
        details += [] if row.at is None else [f"line of the spec: {row.at}"]
        name, kind = finding.check.id, str(finding.status)
        cases.append(_case(suite, name, element, kind, row.headline, "\n".join(details)))
    cases += [
        _case(suite, check, "skipped", "not run", "not run, because of --only")
        for check in result.provenance.not_run
    ]
    is_told = any(case.find(word) is not None for case in cases for word in ("failure", "error"))
    if result.verdict is Verdict.NONE:
        cases.append(_case(suite, "(no limit)", "skipped", "none", "nothing was judged"))
    elif result.exit_code and not is_told:
        why = f"nothing could be evaluated: {checks.tally(result)}"
        cases.append(_case(suite, "(verdict)", "error", "inconclusive", why))
    return cases


def _case(  # the parts of a test case in the format
    suite: str, name: str, element: str | None, kind: str, message: str, details: str = ""
) -> ET.Element:
    """A test case with an element for its status; a pass has its text in `system-out`."""
    case = ET.Element(
        "testcase", {"classname": printable(suite), "name": printable(name), "time": "0"}
    )
    text = printable(details, but="\n")
    if element is None:
        ET.SubElement(case, "system-out").text = f"{kind.upper()}  {text}"
        return case
    words = {"type": printable(kind), "message": printable(message, but="\n")}
    ET.SubElement(case, element, words).text = text or None
    return case


SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
MOST_RESULTS = 5_000
"""The number of results that GitHub shows per run."""
LONGEST_DESCRIPTION = 1_024

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


def render_sarif(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
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
    # A rule for each metric in a spec, and for each other subject of a check.
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
        # GitHub uses only the first one, so an alert stays the same if its line moves.
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
    """A place, up to the column `end` if it is known; empty for stdin and for options."""
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
    """How an audit ended: with an error, or with a result and its notices."""
    result = answer.result
    invocation: dict[str, Any] = {
        "executionSuccessful": isinstance(result, AuditResult),
        "exitCode": answer.exit_code,
        "toolExecutionNotifications": [],
        "properties": {"audit": printable(answer.title)},
    }
    if isinstance(result, FairauditError):
        invocation["toolExecutionNotifications"] += [
            _notification(text, "error", place) for text, place in _list_faults(result)
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


def _list_faults(error: FairauditError) -> Iterator[tuple[str, Place | None]]:
    """The faults to list if an audit has no verdict: each fault of a spec, or the error."""
    if not isinstance(error, SpecError):
        yield str(error), None
        return
    for fault in error.faults:
        yield ": ".join(filter(None, (fault.path, fault.message))), fault.place
