"""`fairaudit check`: what a run would look at, with its faults and exit codes, and no result."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import jsonschema
import pytest
import yaml
from commands import run
from conftest import ROOT, SPECS, long
from evidence_oracle import detectable

from fairaudit.tools.compare import document_schema

NAMED = sorted(path.name for path in SPECS.glob("*.yaml"))
ROWS = [
    *["Male ,34,hired"] * 40,
    *["Male,22,rejected"] * 50,
    *["F,61,hired"] * 60,
    *["F,30,rejected"] * 30,
    *["X,30,rejected"] * 4,
    *["Prefer not to say,30,hired"] * 9,
    *["?,50,hired"] * 7,
]


def write(folder: Path, rows: list[str] | None = None, **keys: Any) -> Path:
    """A spec beside a CSV file of these rows."""
    lines = ["sex,age,outcome", *(ROWS if rows is None else rows)]
    (folder / "people.csv").write_text("\n".join([*lines, ""]), "utf-8")
    spec = {
        "data": "people.csv",
        "columns": {
            "protected": {"sex": {"unknown": ["?"]}, "age": {"bins": [25, 40]}},
            "decision": {"column": "outcome", "positive": "hired"},
        },
        "metrics": [{"metric": "impact_ratio", "by": "sex", "fail": {"below": 0.8}}],
        "simpson": False,
        **keys,
    }
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(spec, sort_keys=False), "utf-8")
    return path


def document(*arguments: str | Path) -> dict[str, Any]:
    """The dry run as JSON."""
    done = run("check", *arguments, "--format", "json")
    tree: dict[str, Any] = json.loads(done.stdout)
    return tree


def levels_of(tree: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    (column,) = [column for column in tree["columns"] if column["name"] == name]
    return {row["level"] or row["role"]: row for row in column["levels"]}


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [name if name == "loans_score.yaml" else long(name) for name in NAMED]
)
def test_each_sample_is_accepted_and_tells_no_verdict(name: str) -> None:
    done = run("check", SPECS / name)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("OK  ")
    assert not re.search(r"\b(PASS|FAIL|passed|failed|error\[)", done.stdout + done.stderr)


@pytest.mark.long
def test_its_json_is_of_its_schema() -> None:
    jsonschema.validate(document(SPECS / "loans.yaml"), document_schema("check"))


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_it_is_a_page_too(form: str) -> None:
    done = run("check", SPECS / "titanic.yaml", "--format", form)
    assert done.returncode == 0
    assert "Survived" in done.stdout or "survived" in done.stdout


def test_levels_are_told_as_they_are_audited(tmp_path: Path) -> None:
    columns = {
        "protected": {
            "sex": {
                "unknown": ["?", "Prefer not to say"],
                "trim": True,
                "labels": {"F": "women"},
                "merge": {"others": ["X"]},
            },
            "age": {"bins": [25, 40]},
        },
        "decision": {"column": "outcome", "positive": "hired"},
    }
    tree = document(write(tmp_path, columns=columns))
    sex, age = levels_of(tree, "sex"), levels_of(tree, "age")
    assert {name: (row["n"], row["sources"]) for name, row in sex.items()} == {
        "Male": (90, ["Male", "Male "]),
        "women": (90, ["F"]),
        "others": (4, ["X"]),
        "(unknown)": (16, ["?", "Prefer not to say"]),
    }
    assert [name for name, row in sex.items() if row["is_rare"]] == ["others"]
    assert sex["(unknown)"]["role"] == "never compared"
    assert {name: row["n"] for name, row in age.items()} == {
        "under 25": 50,
        "25 to 40": 83,
        "40 and over": 67,
    }
    classes = levels_of(tree, "decision")
    assert {name: row["role"] for name, row in classes.items()} == {
        "hired": "positive",
        "rejected": "negative",
    }
    assert tree["cost"]["rows"] == len(ROWS)
    assert tree["cost"]["cells"] == len({*ROWS})


def test_odd_levels_are_told(tmp_path: Path) -> None:
    text = " ".join(run("check", write(tmp_path)).stdout.split())
    assert "the levels 'Male' and 'Male '" in text.replace("'Male', 'Male '", "'Male' and 'Male '")
    assert 'sex: {unknown: ["?", "Prefer not to say"]}' in text
    assert "fewer than 30 people in sex" in text
    few = {"share": 0.05, "reason": "too few to describe"}
    text = " ".join(run("check", write(tmp_path, groups={"exclude_below": few})).stdout.split())
    assert "fewer than 30 people" not in text  # of the groups that are compared


def test_what_leaves_the_audit_is_told(tmp_path: Path) -> None:
    rows = [*ROWS, *["F,33,withdrawn"] * 3, "F,33,"]
    outcome = {"column": "outcome", "positive": "hired", "negative": "rejected", "others": "drop"}
    spec = write(
        tmp_path,
        rows,
        columns={"protected": ["sex"], "decision": outcome},
        missing={"prediction": "aside"},
    )
    classes = levels_of(document(spec), "decision")
    assert classes["left out"]["sources"] == ["withdrawn"]
    assert classes["left out"]["n"] == 3
    assert classes["missing (decision: aside)"]["n"] == 1


def test_the_gap_is_that_of_the_smallest_group(tmp_path: Path) -> None:
    """By Cohen (1988), of one comparison at 5 %, in plain Python."""
    rows = [*["a,1,hired"] * 60, *["a,1,no"] * 40, *["b,1,hired"] * 30, *["b,1,no"] * 20]
    columns = {"protected": ["sex"], "decision": {"column": "outcome", "positive": "hired"}}
    (check,) = document(write(tmp_path, rows, columns=columns))["checks"]
    reach = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    angle = math.asin(math.sqrt(0.6)) - reach * math.sqrt(1 / 50 + 1 / 100) / 2
    assert check["detectable"]["group"] == {"sex": "b"}
    assert check["detectable"]["down"] == pytest.approx(math.sin(angle) ** 2 - 0.6)
    # A ratio of 0.8 to a rate of 0.6 is a gap of 12 points: fewer than are found.
    assert check["finds_limit"] is False


def write_strata(folder: Path, **check: Any) -> Path:
    """Women of b are the smallest group, and the one with the highest rate of its stratum."""
    people = {"F,a": (250, 341), "M,a": (200, 373), "F,b": (17, 25), "M,b": (353, 560)}
    rows = [
        f"{sex},1,{word},{place}"
        for levels, (hired, n) in people.items()
        for sex, place in [levels.split(",")]
        for word in ["hired"] * hired + ["no"] * (n - hired)
    ]
    columns = {
        "protected": ["sex"],
        "decision": {"column": "outcome", "positive": "hired"},
        "strata": ["place"],
    }
    metrics = [{"by": "sex", "given": "place", "fail": {"above": 0.1}, **check}]
    spec = write(folder, columns=columns, metrics=metrics)
    lines = ["sex,age,outcome,place", *rows, ""]
    (folder / "people.csv").write_text("\n".join(lines), "utf-8")
    return spec


def test_the_smallest_group_may_be_the_highest_of_its_stratum(tmp_path: Path) -> None:
    """By Cohen (1988): the gap of 25 women to 560 men, not that of 373 men to 341 women."""
    spec = write_strata(tmp_path, metric="demographic_parity_difference")
    (check,) = document(spec)["checks"]
    found = check["detectable"]
    assert (found["group"], found["given"]) == ({"sex": "F"}, {"place": "b"})
    assert (found["n"], found["reference_n"]) == (25, 560)
    # Two strata are two tests.
    assert (found["down"], found["up"]) == pytest.approx(detectable(25, 560, 353 / 560, 0.025))
    assert "sex=F in place=b, 25 against 560" in " ".join(run("check", spec).stdout.split())


def test_the_smallest_group_may_be_the_reference(tmp_path: Path) -> None:
    metric = {"metric": "statistical_parity_difference", "reference": "F"}
    spec = write_strata(tmp_path, **metric, fail={"outside": [-0.1, 0.1]})
    (check,) = document(spec)["checks"]
    found = check["detectable"]
    assert (found["group"], found["given"]) == ({"sex": "M"}, {"place": "b"})
    assert (found["n"], found["reference_n"]) == (560, 25)


def test_a_gap_that_many_people_show_is_no_remark(tmp_path: Path) -> None:
    rows = [f"{sex},1,{word}" for sex in "ab" for word in ("hired", "no") for _ in range(2000)]
    columns = {"protected": ["sex"], "decision": {"column": "outcome", "positive": "hired"}}
    (check,) = document(write(tmp_path, rows, columns=columns))["checks"]
    assert check["finds_limit"] is True


def test_a_check_that_cannot_be_evaluated_says_why(tmp_path: Path) -> None:
    rows = [*["a,1,hired"] * 9, *["b,1,no"] * 8]
    columns = {"protected": ["sex"], "decision": {"column": "outcome", "positive": "hired"}}
    spec = write(tmp_path, rows, columns=columns, groups={"min_size": 10})
    done = run("check", spec)
    assert done.returncode == run("run", spec).returncode == 3
    assert done.stderr.startswith("NOTHING  1 check: 0 can be evaluated, 1 cannot")
    assert "open" in done.stdout


FAULTS: dict[str, dict[str, Any]] = {
    "a key": {"metrics": [{"metrik": "selection_rate"}]},
    "a column": {"columns": {"protected": ["sexx"], "decision": "outcome"}},
    "a level": {
        "columns": {"protected": ["sex"], "decision": {"column": "outcome", "positive": "hird"}}
    },
    "no file": {"data": "nowhere.csv"},
    "no rows are left to audit": {"filter": "age > 99"},
    "expected": {"expect": {"rows": {"at_least": 10_000}}},
    "no data": {"data": []},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_those_of_a_run(tmp_path: Path, fault: str) -> None:
    spec = write(tmp_path, **FAULTS[fault])
    checked, done = run("check", spec), run("run", spec)
    assert checked.returncode == done.returncode != 0
    assert checked.stderr == done.stderr
    assert "Traceback" not in checked.stderr


@pytest.mark.parametrize("rows", [[], ["F,30"], ["F,30,hired,1"]])
def test_broken_files_are_told_as_in_a_run(tmp_path: Path, rows: list[str]) -> None:
    spec = write(tmp_path, rows)
    checked, done = run("check", spec), run("run", spec)
    assert (checked.returncode, checked.stderr) == (done.returncode, done.stderr)


def test_small_counts_are_hidden(tmp_path: Path) -> None:
    spec = write(tmp_path, suppress_below=11)
    tree = document(spec)
    assert levels_of(tree, "sex")["X"]["n"] is None
    assert levels_of(tree, "decision")["hired"]["n"] is None
    assert tree["cost"]["cells"] is None
    assert [check["detectable"] for check in tree["checks"]] == [None]
    published = json.loads(run("run", spec, "--format", "json").stdout)
    known = {
        row["group"]["sex"]: row["n"] for row in published["groups"] if [*row["group"]] == ["sex"]
    }
    told = {name: row["n"] for name, row in levels_of(tree, "sex").items() if row["n"] is not None}
    assert told == {name: n for name, n in known.items() if n is not None}
    text = " ".join(run("check", spec).stdout.split())
    assert " 4 " not in text
    assert "one pass, by" in text
    assert "how many cells it counts is suppressed" in text
    assert "The smallest gap is not shown: it would reveal sizes and rates" in text


def test_what_hides_nothing_says_nothing_of_hiding(tmp_path: Path) -> None:
    text = " ".join(run("check", write(tmp_path)).stdout.split())
    assert "one pass that counts" in text
    assert "suppress" not in text


def test_without_data_no_file_is_needed(tmp_path: Path) -> None:
    spec = write(tmp_path, data="nowhere.csv")
    done = run("check", "--no-data", spec)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("OK  1 check, no data read  spec=spec.yaml")
    assert "checks to judge" in run("check", "--no-data", "-v", spec).stdout.lower()
    assert document("--no-data", spec)["cost"] is None


def test_one_broken_spec_stops_no_other(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("metrics: [selection]\n", "utf-8")
    done = run("check", "--no-data", broken, SPECS / "loans.yaml")
    assert done.returncode == 2
    assert "broken.yaml:1:" in done.stderr
    assert "spec=loans.yaml" in done.stderr.splitlines()[-1]


def test_each_file_of_a_glob_is_checked(tmp_path: Path) -> None:
    spec = write(tmp_path)
    (tmp_path / "worse.csv").write_text("sex,age,outcome\nF,1\n", "utf-8")
    done = run("check", spec, "--data", str(tmp_path / "*.csv"))
    assert done.returncode == 2
    assert sum(line.startswith(("OK", "ERROR")) for line in done.stderr.splitlines()) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--no-data", "--data", "x.csv", "audit_specs/loans.yaml"),
        ("--format", "json", "audit_specs/loans.yaml", "audit_specs/titanic.yaml"),
        ("--format", "junit", "audit_specs/loans.yaml"),
    ],
)
def test_what_means_nothing_is_refused(arguments: tuple[str, ...]) -> None:
    assert run("check", *arguments).returncode == 2


def test_the_hook_calls_what_there_is() -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, *arguments = hook["entry"].split()
    assert program == "fairaudit"
    assert re.search(hook["files"], "audit_specs/loans.yaml")
    assert run(*arguments, "audit_specs/loans.yaml").returncode == 0


@pytest.mark.long
def test_a_plan_is_what_a_database_is_sent(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="pip install duckdb")
    base = tmp_path / "lake.duckdb"
    with duckdb.connect(str(base)) as link:
        link.execute("CREATE TABLE loans AS FROM 'sample_data/loans.parquet'")
    line = ("check", "audit_specs/loans.yaml", "--data", f"duckdb:///{base}?table=loans")
    done = run(*line, "--explain-plan")
    assert done.returncode == 0, done.stderr
    statements = [text for text in done.stderr.splitlines() if text.startswith("SELECT ")]
    assert 'SELECT COUNT(*) AS n FROM "loans"' in statements
    last = statements[-1]
    assert 'MIN("age")' in last
    assert " GROUP BY " in last
    with duckdb.connect(str(base), read_only=True) as link:
        groups = link.execute(last).fetchall()
    assert sum(group[-1] for group in groups) == 20_000
    assert "SELECT " not in run(*line).stderr
    assert "SELECT " not in run("check", "audit_specs/loans.yaml", "--explain-plan").stderr
    refused = run("check", "audit_specs/loans.yaml", "--no-data", "--explain-plan")
    assert refused.returncode == 2
    assert "--explain-plan needs the data, and --no-data does not read it" in refused.stderr


def test_it_shows_what_each_column_holds(tmp_path: Path) -> None:
    rows = ["Amélie;34,5;7/9/2024;ja", "Bob;1.022,5;12/31/2023;nein", "Bob;;1/2/2024;ja", ";7;;ja"]
    text = "\n".join(["who;pay;on;hired", *rows, ""])
    (tmp_path / "people.csv").write_bytes(text.encode("windows-1252"))
    spec = write(
        tmp_path,
        [],
        data="people.csv",
        format={"separator": ";", "decimal": ",", "thousands": ".", "encoding": "windows-1252"},
        dates={"on": "%m/%d/%Y"},
        columns={
            "protected": {"who": {}, "pay": {"bins": [50]}},
            "decision": {"column": "hired", "positive": "ja"},
        },
        filter="on >= '2023-01-01' or on is null",
        metrics=["selection_rate"],
    )
    (tmp_path / "people.csv").write_bytes(text.encode("windows-1252"))
    tree = document(spec)
    assert tree["notation"] == (
        "separator ';', decimal ',', thousands '.', encoding 'windows-1252'"
    )
    read = {row["column"]: row for row in tree["readings"]}
    assert read["pay"] | {"examples": []} == {
        "column": "pay", "kind": "numbers", "low": "7", "high": "1,022.5", "blank": 0.25,
        "distinct": 3, "examples": [],
    }  # fmt: skip
    assert (read["on"]["kind"], read["on"]["low"], read["on"]["high"]) == (
        "dates", "2023-12-31", "2024-07-09",
    )  # fmt: skip
    assert read["who"]["examples"] == ["Bob", "Amélie"]
    assert "1.022,5" in run("check", spec).stdout


def test_values_that_name_people_are_not_shown(tmp_path: Path) -> None:
    rows = [f"{row},P{number}" for number, row in enumerate(ROWS)]
    spec = write(tmp_path, rows)
    (tmp_path / "people.csv").write_text("\n".join(["sex,age,outcome,id", *rows, ""]))
    spec.write_text(spec.read_text().replace("columns:\n", "columns:\n  id: id\n"))
    (read,) = [row for row in document(spec)["readings"] if row["column"] == "id"]
    assert (read["distinct"], read["examples"]) == (len(ROWS), [])
