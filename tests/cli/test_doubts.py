"""A pass that missing values could turn says so in summaries, with `-q` and to build servers."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from commands import run

SPEC = """
columns: {protected: {g: {reference: m}}, decision: {column: ok, positive: "yes", negative: "no"}}
missing: {decision: aside}
simpson: false
metrics: [{metric: impact_ratio, fail: {below: 0.8}}]
"""
KNOWN = [("f", "yes", 45), ("f", "no", 55), ("m", "yes", 50), ("m", "no", 50)]
DOUBT = "missing values could change the verdict of 1 check: impact_ratio/g/decision"


def write(path: Path, lost: int, job: str = "") -> None:
    rows = [f"{g},{ok},{job}" for g, ok, n in [*KNOWN, ("f", "", lost)] for _ in range(n)]
    more = path.read_text().splitlines() if path.exists() else ["g,ok,job"]
    path.write_text("\n".join([*more, *rows, ""]))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "spec.yaml").write_text(SPEC)
    (tmp_path / "data").mkdir()
    write(tmp_path / "data/a.csv", 20)
    write(tmp_path / "data/b.csv", 0)
    write(tmp_path / "jobs.csv", 20, "a")
    write(tmp_path / "jobs.csv", 0, "b")
    for name in "ab":
        text = SPEC + f"data: data/{name}.csv\n"
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_twenty_refusals_are_below_the_limit() -> None:
    """By hand: 45 of 120 against 50 of 100."""
    assert Fraction(45, 120) / Fraction(50, 100) < Fraction(8, 10) < Fraction(45, 50)


@pytest.mark.parametrize(
    "args",
    [
        ("spec.yaml", "--data", "data"),
        ("a.yaml", "b.yaml"),
        ("spec.yaml", "--data", "jobs.csv", "--for-each", "job"),
    ],
)
def test_a_summary_says_which_passes_are_in_doubt(args: tuple[str, ...], folder: Path) -> None:
    done = run("run", *args, folder=folder)
    assert done.returncode == 0
    assert f"{DOUBT} (in 1 of 2 passed audits)" in " ".join(done.stdout.split())
    assert done.stderr.count(DOUBT) == 1
    quiet = run("run", *args, "-q", folder=folder)
    assert quiet.stdout.count(DOUBT) == 1
    silent = run("run", *args, "-qq", folder=folder)
    assert (silent.stdout, silent.stderr.count(DOUBT)) == ("", 1)
    build = run("run", *args, "--format", "github", folder=folder)
    assert build.stdout.count("::notice ") == 1
    assert "the value can be 0.750 to 1.000; the verdict could change" in build.stdout
    sarif = json.loads(run("run", *args, "--format", "sarif", folder=folder).stdout)
    assert [one["level"] for one in sarif["runs"][0]["results"]] == ["note"]
    page = run("run", *args, "--format", "html", folder=folder)
    assert f"{DOUBT} (in 1 of 2 passed audits)" in page.stdout


def test_a_pass_without_doubt_says_nothing(folder: Path) -> None:
    done = run("run", "b.yaml", "b.yaml", folder=folder)
    assert "missing values" not in done.stdout + done.stderr
    assert not run("run", "b.yaml", "-q", folder=folder).stdout
    assert not run("run", "b.yaml", "--format", "github", folder=folder).stdout


def test_people_left_out_without_bounds_are_in_the_summary(folder: Path) -> None:
    """30 of 130 people of f have no stratum, and no bounds tell what they could change."""
    spec = SPEC.replace("decision:", "strata: [job], decision:", 1).replace(
        "impact_ratio,", "mantel_haenszel_odds_ratio, by: g, given: job,"
    )
    (folder / "spec.yaml").write_text(spec)
    write(folder / "data/b.csv", 0, "x")
    (folder / "data/a.csv").unlink()
    write(folder / "data/a.csv", 0, "x")
    text = (folder / "data/a.csv").read_text() + "f,no,\n" * 30
    (folder / "data/a.csv").write_text(text)
    (folder / "data/b.csv").write_text((folder / "data/a.csv").read_text().replace("f,no,\n", ""))
    done = run("run", "spec.yaml", "--data", "data", folder=folder)
    told = " ".join(done.stdout.split())
    assert "1 check: mantel_haenszel_odds_ratio/g/job/decision (in 1 of 2 passed audits)" in told
    assert "30 of 230 people" in told


def test_the_files_of_a_folder_name_the_passes_in_doubt(folder: Path) -> None:
    """Both audits pass, and the unknown decisions of `a.csv` could turn the first."""
    assert run("run", "spec.yaml", "--data", "data", "-o", "out/", folder=folder).returncode == 0
    audits = json.loads((folder / "out/index.json").read_text())["audits"]
    audits.sort(key=lambda one: one["data"])
    assert [one["could_change"] for one in audits] == [1, 0]
    for name, words in (("summary.csv", ["1", "0"]), ("checks.csv", ["yes", "no"])):
        with (folder / "out" / name).open(encoding="utf-8-sig", newline="") as file:
            rows = sorted(csv.DictReader(file, strict=True), key=lambda row: row["data"])
        assert [row["could_change"] for row in rows] == words


def test_a_failure_that_missing_values_could_turn_is_no_pass_in_doubt(folder: Path) -> None:
    (folder / "spec.yaml").write_text(SPEC.replace("0.8", "0.95"))
    assert run("run", "spec.yaml", "--data", "data", "-o", "out/", folder=folder).returncode == 1
    audits = json.loads((folder / "out/index.json").read_text())["audits"]
    assert [one["could_change"] for one in audits] == [0, 0]
