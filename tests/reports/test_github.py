"""Annotations: read by the rules of GitHub's runner they say what the result says, where it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, SPECS
from report_cases import (
    EACH,
    GOLDEN,
    GOLDENS,
    HOSTILE,
    KINDS,
    hostile,
    kind,
    many,
    sample,
    stable,
)

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import DataError, FairauditError, Fault, Place, SpecError
from fairaudit.base.frozen import replace
from fairaudit.judge import Status
from fairaudit.report import build_servers
from fairaudit.report.diagnostics import diagnose, diagnose_by_id
from fairaudit.result import Answer, AuditResult

BAD = ROOT / "tests" / "unit" / "spec" / "bad_specs"


@dataclass(frozen=True)
class Read:
    """A workflow command as the runner understands it."""

    command: str
    properties: dict[str, str]
    message: str


def unescaped(text: str, signs: str) -> str:
    """Replaces the codes of some signs, that of the per cent sign last, as the runner does."""
    for sign in (*signs, "%"):
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text


def read(line: str) -> Read:
    """Reads a line of a log: `::command name=value,…::message`."""
    assert line.startswith("::")
    info, message = line[2:].split("::", 1)
    command, _, told = info.partition(" ")
    pairs = [one.split("=", 1) for one in told.split(",") if one]
    properties = {name: unescaped(value, "\r\n:,") for name, value in pairs}
    return Read(command, properties, unescaped(message, "\r\n"))


def annotated(*found: AuditResult | FairauditError, spec: str = "specs/a.yaml") -> list[Read]:
    text = build_servers.render_github([Answer(spec, None, one) for one in found])
    assert text == "" or text.endswith("\n")
    # The runner ends a line at these two alone.
    return [read(line) for line in text.replace("\r", "\n").split("\n")[:-1]]


@pytest.mark.parametrize("name", GOLDEN["github.txt"])
def test_annotations_of_the_samples(name: str, golden: Callable[[Path, str], None]) -> None:
    result = sample(name)
    text = build_servers.render_github([Answer(result.provenance.spec_path, None, result)])
    golden(GOLDENS / f"{name}.github.txt", stable(text, result))


@pytest.mark.parametrize("name", EACH)
def test_each_check_that_did_not_pass_is_annotated_on_its_line(name: str) -> None:
    result = sample(name)
    words = {
        Status.FAIL: "error",
        Status.INCONCLUSIVE: "error",
        Status.WARN: "warning",
        Status.WAIVED: "notice",
        Status.PASS: "notice",  # if it is in doubt
    }
    told = {row.finding.check.id: row for row in diagnose(result)}
    expected = {
        (
            words[one.status],
            str(place.line),
            str(place.column),
            f"{one.status.upper()} {one.check.id}",
            "\n".join([told[one.check.id].headline, *told[one.check.id].labelled(", ")]),
        )
        for one in result.findings
        if one.status in words and (one.status is not Status.PASS or one.is_in_doubt)
        if (place := told[one.check.id].at) is not None
    }
    found = [one for one in annotated(result) if one.properties["title"] != "NO LIMITS"]
    assert {
        (
            one.command,
            one.properties["line"],
            one.properties["col"],
            one.properties["title"],
            one.message,
        )
        for one in found
    } == expected
    assert all(one.properties["endLine"] == one.properties["line"] for one in found)
    lines = (ROOT / result.provenance.spec_path).read_text("utf-8").splitlines()
    for one in found:
        first, end = (int(one.properties[name]) for name in ("col", "endColumn"))
        marked = lines[int(one.properties["line"]) - 1][first - 1 : end - 1]
        assert re.search(r"below|above|outside|true|stratum", marked), marked
    assert all(one.properties["file"] == result.provenance.spec_path for one in found)


@pytest.mark.parametrize("name", KINDS)
def test_what_the_exit_code_tells_is_an_error_here(name: str) -> None:
    commands = {
        "failed": ["error"],
        "passed": [],
        "waived": ["notice"],
        "expired": ["error", "warning"],
        "as_before": ["warning"],
        "suppressed": ["error"],
        "none": ["notice"],
        "inconclusive": ["error"],
        "skipped": ["error"],
        "warned": ["warning"],
        "warned_fails": ["error"],
        "never": ["error"],
    }
    result = kind(name)
    found = annotated(result)
    assert [one.command for one in found] == commands[name]
    if result.exit_code:
        assert found[0].command == "error"
    for finding in result.findings:
        if finding.status not in {Status.PASS, Status.SKIPPED}:
            for line in diagnose_by_id(result)[finding.check.id].labelled(", "):
                assert line in found[0].message


def test_an_expired_waiver_is_told_on_its_line() -> None:
    (_, waiver) = annotated(kind("expired"))
    assert waiver.properties["title"] == "waiver expired: selection_rate/race/decision"
    assert waiver.properties["line"] == "1"
    assert "a new form" in waiver.message


def test_where_nothing_was_judged_it_says_so() -> None:
    (one,) = annotated(kind("none"))
    assert one == Read(
        "notice",
        {"file": "specs/a.yaml", "title": "NO LIMITS"},
        "the spec sets no limits",
    )


@pytest.mark.parametrize("name", ["a_list", "bad_columns", "bad_columns_of_the_spec"])
def test_a_spec_is_annotated_on_its_faulty_lines(name: str) -> None:
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(BAD / f"{name}.yaml")
    found = annotated(caught.value)
    expected = (BAD / f"{name}.txt").read_text("utf-8").splitlines()
    told = [line for line in expected if line.startswith(f"{name}.yaml:")]
    assert [
        f"{name}.yaml:{one.properties['line']}:{one.properties['col']}: {one.message}"
        for one in found[:9]
    ] == told[:9]
    assert all(Path(one.properties["file"]).name == f"{name}.yaml" for one in found[:9])
    assert {one.command for one in found} == {"error"}


def test_another_error_has_no_place() -> None:
    (one,) = annotated(DataError("no such\ncolumn, 100 %: `x`", "look"))
    assert one == Read(
        "error",
        {"title": "no verdict on specs/a.yaml"},
        "no such\ncolumn, 100 %: `x`\n  hint: look",
    )


@pytest.mark.parametrize("count", [9, 10, 11, 300])
def test_there_are_never_more_than_ten_and_the_last_says_how_many_more(count: int) -> None:
    found = annotated(many(count))
    assert len(found) == min(count, 10)
    if count > 10:
        last = found[-1]
        assert last.command == "error"
        assert last.message.startswith(f"{count - 9} more: see the summary of this step, or run: ")
        assert last.message.endswith("fairaudit run specs/a.yaml")
        assert "line" not in last.properties


def test_the_worst_come_first_across_answers() -> None:
    found = annotated(many(4, "waived"), many(4, "warned"), many(4), DataError("nothing", "x"))
    assert [one.command for one in found] == ["error"] * 5 + ["warning"] * 4 + ["notice"]
    assert found[0].message.startswith("nothing")
    assert found[-1].message.startswith("4 more: ")


def test_of_several_files_each_annotation_names_its_own() -> None:
    answers = [Answer("s.yaml", data, many(1)) for data in ("may.csv", "june.csv")]
    found = [read(line) for line in build_servers.render_github(answers).splitlines()]
    assert [one.properties["title"].split(" in ")[1] for one in found] == ["may.csv", "june.csv"]


def test_no_name_begins_a_command_of_its_own() -> None:
    result = hostile()
    (one,) = result.findings
    for name in HOSTILE:
        bad = replace(one, check=replace(one.check, id=name, place=Place(f"s/{name}.yaml", 3, 1)))
        (found,) = annotated(replace(result, findings=(bad,)))
        assert found.command == "error"
        assert set(found.properties) == {"file", "line", "endLine", "col", "title"}
        assert found.properties["title"] == f"FAIL {HOSTILE[name]}"
        text = build_servers.render_github([Answer("a", None, replace(result, findings=(bad,)))])
        assert text.count("\n") == 1
        assert all(sign.isprintable() for sign in text[:-1])


def test_a_message_and_a_title_have_an_end() -> None:
    (found,) = annotated(DataError("x" * 100_000, "the end"), spec="s" * 1_000)
    assert len(found.message) <= 4_000
    assert found.message.endswith("the end")
    assert len(found.properties["title"]) <= 255


def test_files_are_told_from_the_top_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "audits").mkdir()
    monkeypatch.chdir(tmp_path / "audits")

    def file(named: str) -> str:
        fault = Fault("wrong", place=Place(named, 1, 1))
        return annotated(SpecError([fault]))[0].properties["file"]

    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    assert file("a.yaml") == "a.yaml"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert file("a.yaml") == "audits/a.yaml"
    assert file("./b/../a.yaml") == "audits/a.yaml"
    assert file("../c.yaml") == "c.yaml"
    assert file(str(tmp_path / "d" / "e.yaml")) == "d/e.yaml"
    assert file("/elsewhere/e.yaml") == "/elsewhere/e.yaml"
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "link"))
    assert file(str(tmp_path / "real" / "f.yaml")) == "f.yaml"


def test_the_command_prints_annotations_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run_line(["run", str(SPECS / "titanic.yaml"), "--format", "github"]) == 1
    (one,) = [read(line) for line in capsys.readouterr().out.splitlines()]
    assert one.command == "error"
    assert cli.run_line(["run", str(BAD / "a_list.yaml"), "--format", "github"]) == 2
    (one,) = [read(line) for line in capsys.readouterr().out.splitlines()]
    assert (one.command, one.properties["line"]) == ("error", "1")
