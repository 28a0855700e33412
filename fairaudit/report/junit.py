"""Format `junit`: XML with a test case for each check.

Everything that makes the exit code 1, 2 or 3 is a failure or an error here, too. The file is ASCII:
characters outside XML are spelled out, all others are references.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from fairaudit.base.errors import FairauditError
from fairaudit.base.names import printable
from fairaudit.judge import Status
from fairaudit.report import checks, numbers
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.result import Answer, AuditResult, Verdict

_ELEMENT = {
    Status.FAIL: "failure",
    Status.INCONCLUSIVE: "error",
    Status.SKIPPED: "skipped",
    Status.WAIVED: "skipped",
}
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def render(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
    """A suite for each answer, under one root where there are several."""
    suites = []
    seen = Counter[str]()
    for answer in answers:
        # Each answer has a distinct name, also if a spec is named twice.
        seen[answer.title] += 1
        number = f" ({seen[answer.title]})" if seen[answer.title] > 1 else ""
        suites.append(_suite(answer, f"{answer.title}{number}"))
    root = suites[0]
    if len(suites) > 1:
        # The schema knows no `skipped` here.
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
        # In UTC, as the format has it: without a zone.
        suite.set("timestamp", result.provenance.created.removesuffix("+00:00"))
        properties = ET.SubElement(suite, "properties")
        for what, value in _properties(result):
            names = {"name": printable(what), "value": printable(value)}
            ET.SubElement(properties, "property", names)
    suite.extend(cases)
    return suite


def _properties(result: AuditResult) -> Iterator[tuple[str, str]]:
    provenance = result.provenance
    yield "fairaudit", provenance.version
    yield "title", provenance.title
    yield "spec", provenance.spec_path
    yield "spec_sha256", provenance.spec_sha256
    for setting in provenance.settings:
        yield "set", setting
    for file in provenance.files:
        yield "data", file.path
    yield "rows", numbers.SUPPRESSED if provenance.rows is None else str(provenance.rows)
    yield "counts_sha256", provenance.cube_sha256 or numbers.SUPPRESSED
    yield "verdict", str(result.verdict)
    yield "fail_on", str(result.fail_on)
    yield "not_enough_evidence", str(result.not_enough_evidence)
    yield from provenance.context.items()


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


def _case(  # what the format has
    suite: str, name: str, element: str | None, kind: str, message: str, details: str = ""
) -> ET.Element:
    """A test case with an element for its status; the words of a pass are a separate element."""
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
