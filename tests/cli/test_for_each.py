"""`run --for-each`: an audit of each level of a column, with the numbers of its rows alone."""

from __future__ import annotations

import json
import random
import sqlite3
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from commands import run

SPEC = """
columns: {protected: [g], decision: {column: d, positive: 1, negative: 0}, strata: [job]}
filter: year >= 2024
metrics: [selection_rate, {metric: impact_ratio, fail: "< 0.8"}]
simpson: false
groups: {min_size: 20}
"""
JOBS = {"Clerk": 90, "Cook's mate": 80, '"Lead" / B': 70, "Guard": 9, "Pilot": 7, "": 40}


def write(folder: Path, spec: str = SPEC) -> list[dict[str, str]]:
    made = random.Random(3)
    rows = [
        {"g": made.choice("ab"), "d": made.choice("01"), "job": job, "year": year}
        for job, size in JOBS.items()
        for year in ("2023", "2024")
        for _ in range(size)
    ]
    made.shuffle(rows)
    quoted = [[f'"{text.replace(chr(34), 2 * chr(34))}"' for text in row.values()] for row in rows]
    lines = [",".join(rows[0]), *map(",".join, quoted)]
    (folder / "data.csv").write_text("\n".join([*lines, ""]))
    (folder / "spec.yaml").write_text(spec)
    return rows


def counted(folder: Path) -> dict[str, dict[str, tuple[int, int]]]:
    """The selected and all people of each group in each report of a folder."""
    index = json.loads((folder / "index.json").read_text())
    found = {}
    for answer in index["audits"]:
        report = json.loads((folder / answer["reports"]["json"]).read_text())
        found[answer["data"]] = {
            row["group"]["g"]: (row["numerator"], row["denominator"])
            for row in report["rates"]
            if row["group"] and not row["given"] and row["metric"] == "selection_rate"
        }
    return found


def expected(rows: list[dict[str, str]]) -> dict[str, dict[str, tuple[int, int]]]:
    names = {job: f"job={job}" for job in JOBS} | {"": "job: unknown"}
    names |= dict.fromkeys(("Guard", "Pilot"), "job: 2 small levels")
    kept = [row for row in rows if row["year"] == "2024"]
    people = Counter((names[row["job"]], row["g"]) for row in kept)
    selected = Counter((names[row["job"]], row["g"]) for row in kept if row["d"] == "1")
    tables: dict[str, dict[str, tuple[int, int]]] = {}
    for (name, g), n in people.items():
        tables.setdefault(name, {})[g] = (selected[name, g], n)
    return tables


def test_each_level_has_a_report_of_its_rows(tmp_path: Path) -> None:
    rows = write(tmp_path)
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", "-o", "out/",
               folder=tmp_path)  # fmt: skip
    assert "5 audits" in done.stderr
    assert counted(tmp_path / "out") == expected(rows)
    assert "'Guard', 'Pilot' have fewer than 20 people each" in done.stdout


def test_spaces_around_a_level_do_not_make_another(tmp_path: Path) -> None:
    rows = write(tmp_path)
    text = (tmp_path / "data.csv").read_text()
    for spaced in ('"Clerk "', '"Clerk\N{NO-BREAK SPACE}"'):
        text = text.replace('"Clerk"', spaced, 30)
    (tmp_path / "data.csv").write_text(text)
    run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", "-o", "out/",
        folder=tmp_path)  # fmt: skip
    assert counted(tmp_path / "out") == expected(rows)


def test_columns_made_of_others_are_read_too(tmp_path: Path) -> None:
    """The level is found by a column that the derived one is not made of, and by one that is."""
    rule = "{combine: [d, g], rule: {a: {g: a}, b: {g: b}}}"
    rows = write(tmp_path, SPEC.replace("protected: [g]", f"protected: {{g: {rule}}}"))
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", "-o", "out/",
               folder=tmp_path)  # fmt: skip
    assert done.returncode in {0, 1, 3}, done.stderr
    assert counted(tmp_path / "out") == expected(rows)
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "g", "-o", "of_g/",
               folder=tmp_path)  # fmt: skip
    assert done.returncode in {0, 1, 3}, done.stderr
    assert [*counted(tmp_path / "of_g")] == ["g=a", "g=b"]


def test_a_database_gives_the_same(tmp_path: Path) -> None:
    rows = write(tmp_path)
    with sqlite3.connect(tmp_path / "data.db") as base:
        base.execute("create table t (g text, d integer, job text, year integer)")
        values = [(row["g"], row["d"], row["job"] or None, row["year"]) for row in rows]
        base.executemany("insert into t values (?, ?, ?, ?)", values)
    run("run", "spec.yaml", "--data", "sqlite:///data.db?table=t", "--for-each", "job",
        "-o", "out/", folder=tmp_path)  # fmt: skip
    assert counted(tmp_path / "out") == expected(rows)


def test_numbers_are_levels_too(tmp_path: Path) -> None:
    write(tmp_path)
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "year", "-o", "out/",
               folder=tmp_path)  # fmt: skip
    assert done.returncode in {0, 1}, done.stderr
    assert [*counted(tmp_path / "out")] == ["year=2024"]  # the filter leaves out 2023


@pytest.mark.parametrize(
    ("arguments", "more", "words"),
    [
        (["--for-each", "jobs"], "", "no column 'jobs'; did you mean 'job'?"),
        (["--for-each", "job", "--baseline", "x.json"], "", "--baseline works with one result"),
        (["--for-each", "job"], "suppress_below: 11\n", "small counts could be calculated"),
    ],
)
def test_what_is_refused(tmp_path: Path, arguments: list[str], more: str, words: str) -> None:
    write(tmp_path, SPEC + more)
    done = run("run", "spec.yaml", "--data", "data.csv", *arguments, folder=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr


def test_several_files_and_counts_are_refused(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other.csv").write_text((tmp_path / "data.csv").read_text() + "a,1,Clerk,2024\n")
    done = run("run", "spec.yaml", "--data", "*.csv", "--for-each", "job", folder=tmp_path)
    assert "--for-each works with one spec and one data set" in done.stderr
    run("count", "spec.yaml", "--data", "data.csv", "-o", "a.counts", folder=tmp_path)
    done = run("run", "spec.yaml", "--data", "a.counts", "--for-each", "job", folder=tmp_path)
    assert "--for-each filters rows, and a counts file has none" in done.stderr


def test_too_many_levels_are_refused(tmp_path: Path) -> None:
    lines = [f"a,1,{n % 250},2024\nb,0,{n % 250},2024" for n in range(2500)]
    (tmp_path / "data.csv").write_text("\n".join(["g,d,job,year", *lines, ""]))
    (tmp_path / "spec.yaml").write_text(SPEC)
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", folder=tmp_path)
    assert "'job' has 250 levels, and at most 200 are audited" in done.stderr


def test_rows_without_a_level_are_undecided_in_no_audit_of_a_level(tmp_path: Path) -> None:
    rows = [f"{g},{d},{job}" for job in ("x", "y", "") for g in "ab" for d in "01"] * 30
    (tmp_path / "data.csv").write_text("\n".join(["g,d,job", *rows, ""]))
    spec = SPEC.replace("filter: year >= 2024\n", "data: data.csv\n")
    (tmp_path / "spec.yaml").write_text(spec)
    done = run("run", tmp_path / "spec.yaml", "--for-each", "job")
    assert done.returncode == 0, done.stderr
    assert "cannot decide" not in done.stdout + done.stderr


def test_each_audit_accounts_for_the_rows_of_its_level(tmp_path: Path) -> None:
    rows = write(tmp_path)
    run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", "-o", "out/",
        folder=tmp_path)  # fmt: skip
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    small = {"Guard", "Pilot"}
    for answer in index["audits"]:
        report = json.loads((tmp_path / "out" / answer["reports"]["json"]).read_text())
        name = answer["data"].removeprefix("job=")
        levels = {"job: 2 small levels": small, "job: unknown": {""}}.get(name, {name})
        own = [row for row in rows if row["job"] in levels]
        of_2023 = sum(row["year"] == "2023" for row in own)
        ledger, read = report["ledger"], report["provenance"]["rows"]
        assert (ledger["read"], ledger["filtered"], read) == (len(own), of_2023, len(own))


@pytest.mark.parametrize(("metric", "turned", "code"), [
    ("impact_ratio", True, 3),
    ("demographic_parity_ratio", True, 3),
    ("impact_ratio", False, 0),
])  # fmt: skip
def test_opposite_gaps_of_small_levels_do_not_cancel(
    tmp_path: Path, metric: str, turned: bool, code: int
) -> None:
    jobs = {"Guard": (8, 1), "Pilot": (1, 8), "Guide": (8, 1), "Nurse": (1, 8)}
    hits = {(job, g): k for job, both in jobs.items() for g, k in zip("ab", both, strict=True)}
    hits = hits if turned else dict.fromkeys(hits, 5)
    cells = [(g, d, job) for (job, g), k in hits.items() for d in [1] * k + [0] * (9 - k)]
    cells += [(g, d, "Clerk") for g in "ab" for d in (0, 1) for _ in range(50)]
    lines = [f"{g},{d},{job},2024" for g, d, job in cells]
    (tmp_path / "data.csv").write_text("\n".join(["g,d,job,year", *lines, ""]))
    spec = SPEC.replace("impact_ratio", metric)
    (tmp_path / "spec.yaml").write_text(spec.replace(", strata: [job]", ""))
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", folder=tmp_path)
    assert done.returncode == code, done.stderr
    if turned:
        done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", "-o", "out/",
                   folder=tmp_path)  # fmt: skip
        index = json.loads((tmp_path / "out" / "index.json").read_text())
        (answer,) = (one for one in index["audits"] if one["data"] == "job: 4 small levels")
        report = json.loads((tmp_path / "out" / answer["reports"]["json"]).read_text())
        assert "have opposite directions in job=" in report["checks"][0]["why"]


UNDECIDED = """
columns: {protected: [g], decision: {column: d, positive: 1, negative: 0}}
filter: FILTER
metrics: [{metric: impact_ratio, fail: "< 0.8"}]
simpson: false
"""


@pytest.mark.parametrize(
    ("rule", "keeps", "hides", "level", "says"),
    [
        ("k = 1", "1", "", "z", "job=z"),
        ("k = 1", "1", "", "", "job: unknown"),
        ("k = 'Open'", "Open", "open", "z", "job=z"),
    ],
)
def test_a_level_whose_rows_the_filter_cannot_decide_has_an_audit(
    rule: str, keeps: str, hides: str, level: str, says: str, tmp_path: Path
) -> None:
    """With every row counted, the level is at 1/4 against 3/4: it fails."""
    parts = [("a", "a", 45, 100, keeps), ("a", "b", 50, 100, keeps)]
    parts += [(level, "a", 10, 40, hides), (level, "b", 30, 40, hides)]
    assert [Fraction(n, of) for _, _, n, of, _ in parts[2:]] == [Fraction(1, 4), Fraction(3, 4)]
    rows = [
        f"{job},{g},{int(at < n)},{k}" for job, g, n, of, k in parts for at in range(of)
    ]  # fmt: skip
    (tmp_path / "spec.yaml").write_text(UNDECIDED.replace("FILTER", rule))
    (tmp_path / "data.csv").write_text("\n".join(["job,g,d,k", *rows, ""]))
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", folder=tmp_path)
    assert done.returncode == 3
    assert f"{says}: no rows are left to audit: 280 read" in " ".join(done.stdout.split())
    assert "80 that the filter cannot decide" in " ".join(done.stdout.split())
    assert "1 nothing, 1 pass" in done.stderr


def test_undecided_levels_are_counted_among_the_small_ones(tmp_path: Path) -> None:
    """Of 20 people each, of whom the filter cannot decide the second: both are audited together."""
    parts = [("a", "a", 45, 100, "1"), ("a", "b", 50, 100, "1")]
    parts += [
        ("s", "a", 5, 10, "1"),
        ("s", "b", 5, 10, "1"),
        ("z", "a", 1, 10, ""),
        ("z", "b", 9, 10, ""),
    ]
    rows = [f"{job},{g},{int(at < n)},{k}" for job, g, n, of, k in parts for at in range(of)]
    (tmp_path / "spec.yaml").write_text(UNDECIDED.replace("FILTER", "k = 1"))
    (tmp_path / "data.csv").write_text("\n".join(["job,g,d,k", *rows, ""]))
    done = run("run", "spec.yaml", "--data", "data.csv", "--for-each", "job", folder=tmp_path)
    assert done.returncode == 3
    assert "1 inconclusive, 1 pass" in done.stderr
    assert "'s', 'z' have fewer than 30 people each" in " ".join(done.stdout.split())
