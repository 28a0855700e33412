"""JUnit XML: every status and sentence comes back, and the counts agree with the exit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import junitparser
import pytest
from conftest import SPECS, partly
from junitparser import xunit2
from report_cases import (
    GOLDEN,
    GOLDENS,
    HOSTILE,
    KINDS,
    NAMES,
    hostile,
    kind,
    many,
    sample,
    stable,
)

from fairaudit import cli
from fairaudit.base.errors import DataError, FailOn, FairauditError, NothingToAudit
from fairaudit.base.frozen import replace
from fairaudit.judge import Status
from fairaudit.report import build_servers, checks
from fairaudit.report.diagnostics import diagnose
from fairaudit.result import Answer, AuditResult


@dataclass(frozen=True)
class Element:
    """What the xUnit plugin of Jenkins (junit-10.xsd) lets an element have; in any order."""

    needs: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    has_text: bool = False


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_OUTCOME = Element(may=_names("type message"), has_text=True)
ALLOWED = {
    "testsuites": Element(
        may=_names("name time tests failures errors"), children=_names("testsuite")
    ),
    "testsuite": Element(
        _names("name tests failures errors"),
        _names("group time skipped timestamp hostname id package file log url"),
        _names("testsuite properties testcase system-out system-err"),
    ),
    "properties": Element(children=_names("property")),
    "property": Element(_names("name value")),
    "testcase": Element(
        _names("name"),
        _names("time classname group"),
        _names("skipped error failure system-out system-err"),
    ),
    "failure": _OUTCOME,
    "error": _OUTCOME,
    "skipped": _OUTCOME,
    "system-out": Element(has_text=True),
}
"""The part of that schema which a report may use, in our words."""
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")


def faults(element: ET.Element) -> list[str]:
    """What the schema would say of an element and all within it."""
    allowed = ALLOWED.get(element.tag)
    if allowed is None:
        return [f"no element {element.tag}"]
    given = set(element.attrib)
    found = [f"{element.tag} lacks {name}" for name in allowed.needs - given]
    found += [f"{element.tag} has {name}" for name in given - allowed.needs - allowed.may]
    texts = [element.text, *(child.tail for child in element)]
    if not allowed.has_text and any(text and text.strip() for text in texts):
        found.append(f"{element.tag} has text")
    if "time" in given and not TIME.fullmatch(element.attrib["time"]):
        found.append(f"{element.tag} has a time of {element.attrib['time']}")
    for child in element:
        if child.tag not in allowed.children:
            found.append(f"{child.tag} in {element.tag}")
        found += faults(child)
    return found


def xml(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314  # our own


def text_of(*found: AuditResult | FairauditError, **named: str) -> str:
    spec = named.get("spec", "specs/a.yaml")
    return build_servers.render_junit([Answer(spec, None, one) for one in found])


def parsed(*found: AuditResult | FairauditError) -> list[junitparser.TestSuite]:
    root = xunit2.JUnitXml.fromstring(text_of(*found).encode())
    return list(root)


def status_of(case: ET.Element) -> tuple[str | None, str, str]:
    """The element that tells the outcome, the status that it names, and its sentence."""
    (told,) = case
    if told.tag != "system-out":
        return told.tag, told.attrib["type"], told.attrib["message"]
    word, sentence = (told.text or "").split("\n")[0].split("  ", 1)
    return None, word.lower(), sentence


@pytest.mark.parametrize("name", GOLDEN["xml"])
def test_junit_reports(name: str, golden: Callable[[Path, str], None]) -> None:
    result = sample(name)
    text = build_servers.render_junit([Answer(result.provenance.spec_path, None, result)])
    golden(GOLDENS / f"{name}.xml", stable(text, result))


EVERY: Mapping[str, Callable[[], AuditResult]] = {
    **{name: lambda name=name: sample(name) for name in NAMES},  # type: ignore[misc]
    **{name: lambda name=name: kind(name) for name in KINDS},  # type: ignore[misc]
    "hostile": hostile,
}


@pytest.mark.long
@pytest.mark.parametrize("name", partly(EVERY))
def test_every_check_comes_back_with_its_status_and_its_sentence(name: str) -> None:
    result = EVERY[name]()
    root = xml(text_of(result))
    cases = {case.attrib["name"]: status_of(case) for case in root.iter("testcase")}
    elements = {
        Status.PASS: None,
        Status.WARN: "failure" if result.fail_on is FailOn.WARN else None,
        Status.FAIL: "failure",
        Status.INCONCLUSIVE: "error",
        Status.SKIPPED: "skipped",
        Status.WAIVED: "skipped",
    }
    told = {row.finding.check.id: row for row in diagnose(result)}
    expected = {
        one.check.id: (
            elements[one.status],
            str(one.status),
            told[one.check.id].headline
            if elements[one.status]
            else f"{checks.title(one)}: {told[one.check.id].headline}",
        )
        for one in result.findings
    }
    assert len(expected) == len(result.findings)
    if name == "hostile":
        # Signs that do not print are spelled out.
        expected = {
            id_: (element, status, "".join(map(spelled, text)))
            for id_, (element, status, text) in expected.items()
        }
    extra = {
        "none": {"(no limit)": ("skipped", "none", "nothing was judged")},
        "skipped": {
            "(verdict)": (
                "error",
                "inconclusive",
                f"nothing could be evaluated: {checks.tally(kind('skipped'))}",
            )
        },
    }
    verdictless = {} if result.findings else extra["none"]
    assert cases == {**expected, **(extra.get(name) or verdictless)}


def spelled(sign: str) -> str:
    return sign if sign.isprintable() or sign == "\n" else repr(sign)[1:-1]


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_reports_are_of_the_schema_that_servers_read(name: str) -> None:
    result = EVERY[name]()
    assert faults(xml(text_of(result))) == []
    assert faults(xml(text_of(result, DataError("a", "b"), result))) == []


@pytest.mark.parametrize(
    "text",
    [
        '<testsuite name="a" tests="0" failures="0"/>',
        '<testsuite name="a" tests="0" failures="0" errors="0" time="1e-9"/>',
        '<testsuite name="a" tests="0" failures="0" errors="0" colour="red"/>',
        "<testsuites skipped='1'/>",
        "<testsuites>text</testsuites>",
        "<testcase name='a'><passed/></testcase>",
    ],
)
def test_the_schema_refuses_what_is_not_in_it(text: str) -> None:
    assert faults(xml(text)) != []


@pytest.mark.parametrize("name", EVERY)
def test_counts_are_those_of_the_cases_and_agree_with_the_exit_code(name: str) -> None:
    result = EVERY[name]()
    (suite,) = parsed(result)
    cases = list(suite)
    found = [type(one) for case in cases for one in case.result]
    assert suite.tests == len(cases) == max(len(result.findings), 1) + (name == "skipped")
    assert suite.failures == found.count(junitparser.Failure)
    assert suite.errors == found.count(junitparser.Error)
    assert suite.skipped == found.count(junitparser.Skipped)
    if result.exit_code:
        assert suite.failures + suite.errors > 0
    elif result.fail_on is not FailOn.NEVER:
        assert suite.failures + suite.errors == 0


def test_an_error_is_a_case_that_errs() -> None:
    for error in (DataError("no column 'x'", "look"), NothingToAudit("no file", "name one")):
        (suite,) = parsed(error)
        (case,) = suite
        assert (suite.tests, suite.errors, suite.timestamp) == (1, 1, None)
        assert case.name == "(no verdict)"
        (told,) = case.result
        assert (told.type, told.message) == (type(error).__name__, error.message)
        assert told.text == str(error)


def test_several_answers_are_suites_whose_counts_add_up() -> None:
    text = text_of(kind("failed"), kind("passed"), DataError("a", "b"), many(3, "waived"))
    root = xml(text)
    assert root.attrib == {
        "name": "fairaudit",
        "tests": "6",
        "failures": "1",
        "errors": "1",
        "time": "0",
    }
    names = [(one.attrib["classname"], one.attrib["name"]) for one in root.iter("testcase")]
    assert len(set(names)) == len(names) == 6
    assert [one.attrib["name"] for one in root][:2] == ["specs/a.yaml", "specs/a.yaml (2)"]


def test_a_suite_tells_what_was_run_on_what_and_when() -> None:
    result = sample("loans")
    (suite,) = parsed(result)
    made = result.provenance
    told = {one.name: one.value for one in suite.properties()}  # type: ignore[no-untyped-call]
    assert suite.timestamp == "2023-11-14T22:13:20"
    assert suite.time == 0
    assert told.items() >= {
        ("fairaudit", made.version),
        ("spec", "audit_specs/loans.yaml"),
        ("spec_sha256", made.spec_sha256),
        ("data", "sample_data/loans.csv"),
        ("rows", "20000"),
        ("verdict", "fail"),
        ("purpose", "an example; every row is generated"),
    }


def test_what_is_suppressed_is_not_told() -> None:
    (suite,) = parsed(kind("suppressed"))
    told = {one.name: one.value for one in suite.properties()}  # type: ignore[no-untyped-call]
    hidden = kind("suppressed").provenance
    assert told["counts_sha256"] == (hidden.cube_sha256 or "suppressed") == "suppressed"
    assert "30/100" not in text_of(kind("suppressed"))
    assert "30/100" in text_of(kind("failed"))


def test_a_name_is_never_markup_nor_lost() -> None:
    result = hostile()
    (one,) = result.findings
    signs = {**HOSTILE, "\ud800\ufffe\x7f": r"\ud800\ufffe\x7f"}
    named = [replace(one, check=replace(one.check, id=name), why=name) for name in signs]
    text = text_of(replace(result, findings=tuple(named)), spec="]]>\x00<&\"'")
    assert text.isascii()
    root = xml(text)
    assert faults(root) == []
    assert root.attrib["name"] == "]]>\\x00<&\"'"
    assert [case.attrib["name"] for case in root.iter("testcase")] == list(signs.values())
    for case, name in zip(root.iter("testcase"), signs, strict=True):
        (told,) = case
        message = "".join(map(spelled, f"\nnote: {name}")).replace(" ::", r" \x3a:")
        before, *_ = (told.text or "").replace("\r", "").split("\ninterval: ")
        assert before.replace("\n  ", "\n").endswith(message)


def test_equal_results_make_equal_bytes_and_a_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    assert cli.run_line(["run", str(SPECS / "titanic.yaml"), "-q", "-o", str(path)]) == 1
    first = path.read_bytes()
    assert cli.run_line(["run", str(SPECS / "titanic.yaml"), "-q", "-o", str(path)]) == 1
    assert path.read_bytes() == first
    assert junitparser.JUnitXml.fromfile(str(path)).failures == 1


def test_the_notices_of_a_report_are_the_output_of_its_suite() -> None:
    result = sample("florida_1987")
    assert result.notices
    output = xml(text_of(result)).findtext("system-out")
    assert output == "\n".join(f"notice: {notice}" for notice in result.notices)
    assert xml(text_of(sample("loans"))).find("system-out") is None
