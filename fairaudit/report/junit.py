"""Format `junit`: XML with a test case for each check.

What makes the exit code 1, 2 or 3 is a failure or an error here, too. Everything is ASCII: signs
that XML does not have are spelled out, all others written as references.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from fairaudit.base.errors import FairauditError
from fairaudit.base.frozen import Frozen
from fairaudit.base.names import printable
from fairaudit.judge import Status
from fairaudit.report import checks, numbers
from fairaudit.report.diagnostics import Diagnostic, diagnose_by_id, limit_place
from fairaudit.result import Answer, AuditResult, Verdict

_ELEMENT = {
    Status.FAIL: "failure",
    Status.INCONCLUSIVE: "error",
    Status.SKIPPED: "skipped",
    Status.WAIVED: "skipped",
}
_COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


class _Case(Frozen):
    """A test case: its name, the element that says how it came out, and that element's words.

    A case that passes has no element; its words then stand in `system-out`.
    """

    name: str
    element: str | None
    kind: str
    message: str
    details: tuple[str, ...] = ()


def render(answers: Sequence[Answer], *, all_rows: bool = False) -> str:  # noqa: ARG001  # no tables
    """A suite for each answer, under one root where there are several."""
    suites = [_suite(answer, name) for answer, name in zip(answers, _names(answers), strict=True)]
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


def _names(answers: Sequence[Answer]) -> Iterator[str]:
    """What each answer is called: no two alike, also where a spec is named twice."""
    seen: dict[str, int] = {}
    for answer in answers:
        seen[answer.title] = seen.get(answer.title, 0) + 1
        yield answer.title if seen[answer.title] == 1 else f"{answer.title} ({seen[answer.title]})"


def _suite(answer: Answer, name: str) -> ET.Element:
    result = answer.result
    cases = _no_verdict(result) if isinstance(result, FairauditError) else _cases(result)
    counts = {
        attribute: str(sum(case.element == word for case in cases))
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
    suite.extend(_element(case, name) for case in cases)
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
    yield "not_cleared", str(result.not_cleared)
    yield from provenance.context.items()


def _cases(result: AuditResult) -> list[_Case]:
    cases = [*map(_case, diagnose_by_id(result).values())]
    if result.verdict is Verdict.NONE:
        cases.append(_Case("(no limit)", "skipped", "none", "nothing was judged"))
    elif result.exit_code and not any(case.element in {"failure", "error"} for case in cases):
        why = f"nothing could be evaluated: {checks.tally(result)}"
        cases.append(_Case("(verdict)", "error", "inconclusive", why))
    return cases


def _no_verdict(error: FairauditError) -> list[_Case]:
    kind = type(error).__name__
    return [_Case("(no verdict)", "error", kind, error.message, tuple(str(error).splitlines()))]


def _case(row: Diagnostic) -> _Case:
    finding = row.finding
    element = _ELEMENT.get(checks.gated(finding, row.result))
    details = [f"{checks.title(finding)}: {row.headline}", *row.labelled()]
    if (place := limit_place(finding)) is not None:
        details.append(f"line of the spec: {place}")
    return _Case(finding.check.id, element, str(finding.status), row.headline, tuple(details))


def _element(test_case: _Case, classname: str) -> ET.Element:
    names = {"classname": printable(classname), "name": printable(test_case.name)}
    case = ET.Element("testcase", {**names, "time": "0"})
    details = printable("\n".join(test_case.details), but="\n")
    if test_case.element is None:
        ET.SubElement(case, "system-out").text = f"{test_case.kind.upper()}  {details}"
        return case
    words = {"type": printable(test_case.kind), "message": printable(test_case.message, but="\n")}
    element = ET.SubElement(case, test_case.element, words)
    element.text = details or None
    return case
