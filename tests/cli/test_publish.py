"""`fairaudit publish`: the tables of a summary, which `verify` finds nothing wrong with."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from commands import run

from fairaudit.report import FORMATS

# 6 RCNY 5-301: the scoring table of the rule's example, by sex; half of 168 people are above.
PEOPLE = {("Male", 1): 50, ("Male", 0): 42, ("Female", 1): 34, ("Female", 0): 42}
EXPECTED = {
    "Male": ["92", "50", "54.3 %", "1.00"],
    "Female": ["76", "34", "44.7 %", "0.82"],
}
People = dict[tuple[str, ...], tuple[int, int]]
SPEC: dict[str, Any] = {
    "version": 1,
    "title": "Screening of applicants",
    "profile": "nyc-ll144",
    "context": {"source": "all applications of 2025", "distribution date": "2026-03-01"},
    "columns": {"protected": ["sex"], "decision": {"column": "hired", "positive": 1}},
}  # fmt: skip


def write(folder: Path, people: People, spec: dict[str, Any]) -> Path:
    """A report of people by groups, each with how many there are and how many of them are hired."""
    columns = [*spec["columns"]["protected"]]
    lines = [",".join((*columns, "hired"))]
    for group, (n, hired) in people.items():
        lines += [",".join((*group, str(int(at < hired)))) for at in range(n)]
    (folder / "people.csv").write_text("\n".join(lines) + "\n")
    (folder / "spec.yaml").write_text(json.dumps({**spec, "data": "people.csv"}))
    done = run("run", folder / "spec.yaml", "-qq", "-o", folder / "r.json")
    assert done.returncode in {0, 1}, done.stderr
    return folder / "r.json"


def table(path: Path) -> list[list[str]]:
    return [*csv.reader(path.read_text("utf-8-sig").splitlines())]


def test_the_example_of_the_rule_has_its_summary(tmp_path: Path) -> None:
    lines = ["sex,score"]
    for (sex, above), n in PEOPLE.items():
        lines += [f"{sex},{above * 0.5 + 0.001 * at}" for at in range(n)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    columns = {"protected": ["sex"], "score": "score"}
    spec = {**SPEC, "columns": columns, "data": "people.csv"}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    assert run("run", tmp_path / "spec.yaml", "-qq", "-o", tmp_path / "r.json").returncode == 0
    files = [tmp_path / f"summary.{suffix}" for suffix in ("csv", "html", "md")]
    outputs = [argument for file in files for argument in ("-o", file)]
    assert run("publish", tmp_path / "r.json", *outputs).returncode == 0
    header, *rows = table(files[0])
    assert header == ["sex", "n", "numerator", "scoring rate", "scoring impact ratio"]
    assert {row[0]: [*row[1:4], f"{float(row[4]):.2f}"] for row in rows} == EXPECTED
    for file in files[1:]:
        text = file.read_text("utf-8")
        for words in ("2026-03-01", "all applications of 2025", "54.3", "0.823", "2023-07-05"):
            assert words in text
    done = run("verify", files[0])
    assert (done.returncode, done.stderr) == (0, "OK  0 faults in 2 rows\n")


ONE: People = {("f", "a"): (60, 20), ("m", "a"): (50, 30), ("f", "b"): (40, 30), ("m", "b"): (3, 2)}
BOTH = {**SPEC, "columns": {**SPEC["columns"], "protected": ["sex", "race"]}}


def test_tables_of_all_groupings_are_one_that_verify_reads(tmp_path: Path) -> None:
    result = write(tmp_path, {**ONE, ("f", ""): (5, 1), ("", "b"): (2, 2)}, BOTH)
    printed = run("publish", result, "--format", "csv").stdout
    (tmp_path / "summary.csv").write_text(printed, "utf-8")
    header, *rows = table(tmp_path / "summary.csv")
    assert header == ["sex", "race", "n", "selected", "selection rate", "impact ratio"]
    found = {(row[0], row[1]): row[2:] for row in rows}
    assert found["f", ""] == ["105", "51", "48.57 %", "0.804"]
    assert found["m", ""] == ["53", "32", "60.38 %", "1.000"]
    assert found["f", "b"] == ["40", "30", "75.0 %", "1.000"]
    assert found["f", "a"] == ["60", "20", "33.3 %", "0.444"]
    assert found["f", "(unknown)"] == ["5", "1", "20.0 %", "unknown"]
    assert found["(unknown)", "b"][3] == "unknown"
    assert run("verify", tmp_path / "summary.csv").returncode == 0
    (tmp_path / "summary.csv").write_text(printed.replace("33.3 %", "34.3 %"), "utf-8")
    done = run("verify", tmp_path / "summary.csv")
    assert done.returncode == 1
    assert "34.3 %" in done.stdout


def test_excluded_groups_are_listed_with_the_reason(tmp_path: Path) -> None:
    rule = {"exclude_below": {"share": "2%", "reason": "few of them, says the auditor"}}
    result = write(tmp_path, ONE, {**BOTH, "groups": rule})
    text = run("publish", result, "--format", "markdown").stdout
    assert "few of them, says the auditor" in text
    (row,) = [line for line in text.splitlines() if line.startswith("| m | b |")]
    assert [cell.strip() for cell in row.split("|")[3:7]] == ["3", "2", "66.7 %", "excluded"]
    assert run("publish", result, "-o", tmp_path / "summary.csv").returncode == 0
    verified = run("verify", tmp_path / "summary.csv", "--excluded-below", "2%")
    assert verified.returncode == 0, verified.stdout
    assert run("verify", tmp_path / "summary.csv", "--excluded-below", "1%").returncode == 1


def test_what_is_suppressed_is_not_published(tmp_path: Path) -> None:
    result = write(tmp_path, ONE, {**BOTH, "suppress_below": 10})
    rows = table_of(run("publish", result, "--format", "csv").stdout)
    assert rows["m", "b"] == ["suppressed"] * 4
    assert not any(cell == "3" for row in rows.values() for cell in row)


def test_a_grouping_whose_ratios_are_hidden_is_published_with_its_rates(tmp_path: Path) -> None:
    """One group has few people: whether its rate is the highest is hidden, and so is any ratio."""
    rows = [f"{'fm'[i % 2]},{part},{int(i < hired)}" for part, n, hired in PARTS for i in range(n)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,part,hired", *rows]))
    columns = {"protected": ["sex", "part"], "decision": {"column": "hired", "positive": 1}}
    both = {"metric": "impact_ratio", "by": ["sex", "part"]}
    spec = {"data": "people.csv", "columns": columns, "metrics": [both], "suppress_below": 10}
    result = tmp_path / "r.json"
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    run("run", tmp_path / "spec.yaml", "-qq", "-o", result)
    lines = run("publish", result, "--format", "csv").stdout.splitlines()
    published = {row[0] or row[1]: row[2:] for row in csv.reader(lines[1:])}
    assert published.keys() == {"f", "m", *(part for part, *_ in PARTS)}
    assert published["b"] == ["suppressed"] * 4
    assert published["d"] == ["60", "20", "33.3 %", "suppressed"]
    assert {published[part][3] for part, *_ in PARTS} == {"suppressed"}
    assert "1.000" in {published["f"][3], published["m"][3]}
    spec["metrics"] = [{**both, "by": "part"}]
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    run("run", tmp_path / "spec.yaml", "-qq", "-o", result)
    assert "all its ratios are suppressed" in run("publish", result).stderr


PARTS = (("a", 40, 10), ("b", 4, 3), ("c", 50, 25), ("d", 60, 20))
"""Part, people, hired."""


def test_of_a_burden_the_rate_and_the_ratio_are_of_who_is_spared(tmp_path: Path) -> None:
    rows = [f"{sex},{int(i < flagged)}" for sex, n, flagged in BURDEN for i in range(n)]
    (tmp_path / "people.csv").write_text("\n".join(["sex,flagged", *rows]))
    decision = {"column": "flagged", "positive": 1, "favourable": False}
    columns = {"protected": ["sex"], "decision": decision}
    spec = {"data": "people.csv", "columns": columns, "metrics": ["impact_ratio"]}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    run("run", tmp_path / "spec.yaml", "-qq", "-o", tmp_path / "r.json")
    lines = run("publish", tmp_path / "r.json", "--format", "csv").stdout.splitlines()
    header, *published = csv.reader(lines)
    assert header[1:] == ["n", "not selected", "non-selection rate", "impact ratio"]
    # 10 of 40 women and 30 of 60 men are spared: half as large a share.
    assert published == [["f", "40", "10", "25.0 %", "0.500"], ["m", "60", "30", "50.0 %", "1.000"]]


BURDEN = (("f", 40, 30), ("m", 60, 30))
"""Sex, people, flagged."""


def table_of(text: str) -> dict[tuple[str, str], list[str]]:
    _, *rows = csv.reader(text.removeprefix("\ufeff").splitlines())
    return {(row[0], row[1]): row[2:] for row in rows}


def test_weights_are_told_as_sums(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,hired,w\nf,1,1.5\nf,0,2.25\nm,1,3\nm,0,1\n")
    columns = {**SPEC["columns"], "weight": "w"}
    spec = {**SPEC, "columns": columns, "data": "people.csv", "groups": {"min_size": 1}}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    run("run", tmp_path / "spec.yaml", "-qq", "-o", tmp_path / "r.json")
    _, *rows = csv.reader(
        run("publish", tmp_path / "r.json", "--format", "csv").stdout.splitlines()
    )
    assert rows == [["f", "3.8", "1.5", "40.0 %", "0.533"], ["m", "4.0", "3.0", "75.0 %", "1.000"]]


@pytest.mark.parametrize(
    ("metrics", "arguments", "said"),
    [
        (["selection_rate"], [], "the result has no ratios to the highest rate"),
        (["impact_ratio"], ["--format", "json"], "json does not show tables for publication"),
        (["impact_ratio"], ["-o", "x.xml"], "junit does not show tables for publication"),
        (["impact_ratio"], ["--data", "other.csv"], "no result for 'other.csv'"),
        (
            [
                "impact_ratio",
                {"metric": "selection_rate", "of": "label", "compare": "ratio"}
                | {"reference": "highest"},
            ],
            ["--format", "csv"],
            "one CSV table cannot contain selection rate of decision and base rate of label",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_published_is_said(
    tmp_path: Path, metrics: list[Any], arguments: list[str], said: str
) -> None:
    (tmp_path / "people.csv").write_text("sex,hired,y\n" + "f,1,1\nf,0,0\nm,1,1\nm,0,0\n" * 20)
    columns = {**SPEC["columns"], "label": {"column": "y", "positive": 1}}
    spec = {"columns": columns, "data": "people.csv", "metrics": metrics}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    run("run", tmp_path / "spec.yaml", "-qq", "-o", tmp_path / "r.json")
    done = run("publish", tmp_path / "r.json", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "selected" not in done.stdout
    assert (arguments[-1:] == ["json"]) == bool(done.stdout)


@pytest.mark.parametrize("command", ["render", "show", "publish", "compare"])
def test_the_help_lists_the_suffixes_and_formats_that_the_command_accepts(
    command: str, tmp_path: Path
) -> None:
    """The formats of a page differ by command: a refusal comes before the report is read."""
    words = " ".join(run(command, "--help").stdout.split())
    listed = {
        *re.findall(r"\.[a-z]+\b", words.partition("picks the format: ")[2].partition("--")[0])
    }
    refused = re.compile("does not show|is not a known format")
    for form in FORMATS:
        for suffix in form.suffixes:
            said = run(command, "missing.json", "-o", tmp_path / f"x{suffix}").stderr
            assert (suffix in listed) == (refused.search(said) is None), (suffix, said)
    said = run(command, "missing.json", "-o", tmp_path / "x.docx").stderr
    assert listed == {
        *re.findall(r"\.[a-z]+\b", said.partition("available: ")[2].partition(";")[0])
    }
