"""SARIF: valid by the standard and by GitHub's rules, and what it says is what the result says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from commands import run as run_command
from conftest import SPECS
from report_cases import EACH, HOSTILE, KINDS, hostile, kind, many, sample
from sarif_schema import read
from test_cli import GOOD, spec_file

from fairaudit.base import __version__
from fairaudit.base.errors import DataError, FairauditError, Fault, Place, SpecError
from fairaudit.base.frozen import replace
from fairaudit.judge import Status
from fairaudit.judge.checks import About
from fairaudit.report import build_servers, checks
from fairaudit.report.diagnostics import diagnose_by_id
from fairaudit.result import Answer, AuditResult

LEVELS = {"fail": "error", "inconclusive": "error", "warn": "warning", "waived": "note"}


def run_of(*found: AuditResult | FairauditError, spec: str = "specs/a.yaml") -> dict[str, Any]:
    """The run in the report of some answers."""
    return read(build_servers.render_sarif([Answer(spec, None, result) for result in found]))


@pytest.mark.parametrize("name", EACH)
def test_each_check_that_is_not_passed_is_a_result_on_its_line(name: str) -> None:
    result = sample(name)
    run = run_of(result)
    places = {check: row.at for check, row in diagnose_by_id(result).items()}
    expected = [
        (
            finding.check.metric_id,
            LEVELS[finding.status],
            finding.check.id,
            places[finding.check.id],
        )
        for finding in checks.by_urgency(result.findings)
        if finding.status in LEVELS
    ]
    told = []
    for row in run["results"]:
        if row["properties"]["status"] != "pass":
            (location,) = row["locations"]
            region = location["physicalLocation"]["region"]
            path = location["physicalLocation"]["artifactLocation"]
            assert path["uriBaseId"] == "%SRCROOT%"
            place = Place(path["uri"], region["startLine"], region["startColumn"])
            told.append((row["ruleId"], row["level"], row["properties"]["check"], place))
    assert told == expected
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (True, result.exit_code)
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("fairaudit", __version__)
    defined = {definition.id: definition for definition in result.definitions}
    assert {*defined} <= {rule["id"] for rule in driver["rules"]}
    for rule in driver["rules"]:
        if rule["id"] in defined:
            assert defined[rule["id"]].means in rule["help"]["text"]
            assert rule["shortDescription"]["text"] == defined[rule["id"]].title


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_outcome_is_valid(name: str) -> None:
    result = kind(name)
    run = run_of(result)
    levels = [row["level"] for row in run["results"]]
    (finding,) = result.findings or [None]
    if name == "warned_fails":
        assert levels == ["error"]
    elif finding is not None and finding.status in LEVELS:
        assert levels == [LEVELS[finding.status]]
    else:
        assert levels == []


def test_a_waived_check_is_suppressed_with_its_reason() -> None:
    (row,) = run_of(kind("waived"))["results"]
    (suppression,) = row["suppressions"]
    assert (suppression["kind"], suppression["status"]) == ("external", "accepted")
    assert "a new form" in suppression["justification"]
    assert "J. Doe" in suppression["justification"]
    assert "2999-12-31" in suppression["justification"]
    for name in ("failed", "expired", "warned"):
        assert all("suppressions" not in row for row in run_of(kind(name))["results"])


def test_fingerprints_are_those_of_the_check_and_not_of_its_line_or_value() -> None:
    def fingerprint(result: AuditResult, data: str | None = None) -> str:
        text = build_servers.render_sarif([Answer("specs/a.yaml", data, result)])
        (row,) = read(text)["results"]
        return str(row["partialFingerprints"]["primaryLocationLineHash"])

    result = kind("failed")
    (finding,) = result.findings
    moved = replace(finding, check=replace(finding.check, place=Place("specs/a.yaml", 99, 1)))
    assert fingerprint(result) == fingerprint(replace(result, findings=(moved,)))
    assert fingerprint(result) == fingerprint(kind("as_before")) == fingerprint(kind("expired"))
    other = replace(finding, check=replace(finding.check, id="another"))
    assert fingerprint(result) != fingerprint(replace(result, findings=(other,)))
    assert fingerprint(result, "may.csv") != fingerprint(result, "june.csv")


def test_an_error_is_a_notification_where_it_is() -> None:
    fault = Fault("unknown key", "metrix", Place("specs/a.yaml", 4, 1), "metrix: 1")
    run = run_of(SpecError([fault]), DataError("unknown column: ", "look again"))
    assert run["results"] == []
    first, second = run["invocations"]
    assert [row["executionSuccessful"] for row in (first, second)] == [False, False]
    assert [row["exitCode"] for row in (first, second)] == [2, 2]
    (notification,) = first["toolExecutionNotifications"]
    assert (notification["level"], notification["message"]["text"]) == (
        "error", "metrix: unknown key"
    )  # fmt: skip
    (place,) = notification["locations"]
    assert place["physicalLocation"]["region"]["startLine"] == 4
    (notification,) = second["toolExecutionNotifications"]
    assert "look again" in notification["message"]["text"]


def test_no_more_than_github_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert build_servers.MOST_RESULTS == 5_000
    monkeypatch.setattr(build_servers, "MOST_RESULTS", 50)
    run = run_of(many(53), kind("passed"))
    assert len(run["results"]) == 50
    (told,) = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"].startswith("3 more checks did not pass")


def test_names_make_no_links_and_no_placeholders() -> None:
    result = hostile()
    text = build_servers.render_sarif([Answer("specs/[x](y){0}.yaml", "d{a}.csv", result)])
    run = read(text)
    assert "](" not in json.dumps([row["message"] for row in run["results"]])
    for row in run["results"]:
        plain = row["message"]["text"].replace("{{", "").replace("}}", "")
        assert "{" not in plain
        assert "}" not in plain
    # No sign that does not print, or that turns the direction, is in the file.
    assert not [sign for sign in HOSTILE if not sign.isprintable() and sign in text]
    assert "\x1b" not in text


def test_paths_are_those_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def place_of(file: str) -> dict[str, str]:
        result = many(1)
        (finding,) = result.findings
        moved = replace(finding, check=replace(finding.check, place=Place(file, 1, 1)))
        (row,) = run_of(replace(result, findings=(moved,)))["results"]
        found: dict[str, str] = {}
        for location in row["locations"]:
            found = location["physicalLocation"]["artifactLocation"]
        return found

    assert place_of("a b/ä:%.yaml") == {"uri": "a%20b/%C3%A4%3A%25.yaml", "uriBaseId": "%SRCROOT%"}
    assert place_of("../a.yaml") == {"uri": "../a.yaml"}
    assert place_of("/a/b.yaml") == {"uri": "file:///a/b.yaml"}
    assert place_of("-") == {}
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    inside = str(tmp_path / "specs" / "a.yaml")
    assert place_of(inside) == {"uri": "specs/a.yaml", "uriBaseId": "%SRCROOT%"}


def test_the_name_the_reason_and_the_owner_of_a_check_are_told() -> None:
    result = kind("failed")
    (finding,) = result.findings
    about = About("Nobody under 45 %", "agreed with the union", "people team")
    named = replace(finding, check=replace(finding.check, about=about))
    (row,) = run_of(replace(result, findings=(named,)))["results"]
    told = {name: row["properties"][name] for name in ("name", "why", "owner")}
    assert told == {"name": about.name, "why": about.why, "owner": about.owner}


def test_the_command_writes_it(tmp_path: Path) -> None:
    done = run_command("run", SPECS / "titanic.yaml", "-o", tmp_path / "r.sarif", "-q")
    assert done.returncode == 1
    assert read((tmp_path / "r.sarif").read_text("utf-8"))["results"]
    broken = spec_file(tmp_path, *GOOD, metrics="metrix")
    failed = run_command("run", broken, "--format", "sarif", "-o", tmp_path / "r.sarif")
    assert failed.returncode == 2
    for text in (failed.stdout, (tmp_path / "r.sarif").read_text("utf-8")):
        assert not read(text)["invocations"][0]["executionSuccessful"]


def test_the_schema_refuses_what_is_wrong() -> None:
    text = build_servers.render_sarif([Answer("a.yaml", None, many(1))])
    for right, wrong in (
        ('"level":"error"', '"level":"bad"'),
        ('"startLine":', '"line":'),
        ('"executionSuccessful":true,', ""),
        ('"version": "2.1.0"', '"version": "2.0.0"'),
    ):
        assert right in text
        with pytest.raises(jsonschema.ValidationError):
            read(text.replace(right, wrong))


def test_statuses_are_all_told() -> None:
    assert {*LEVELS} | {"pass", "skipped"} == {str(status) for status in Status}
