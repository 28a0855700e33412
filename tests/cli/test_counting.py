"""`fairaudit count`, `merge`, and `run` on what they wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from conftest import ROOT

LOANS = "audit_specs/loans.yaml"


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sample loans in two parts, counted."""
    folder = tmp_path_factory.mktemp("sites")
    header, *lines = (ROOT / "sample_data" / "loans.csv").read_text().splitlines()
    counted = []
    for name, part in (("a", lines[:7000]), ("b", lines[7000:])):
        (folder / f"{name}.csv").write_text("\n".join([header, *part]) + "\n")
        counted.append(folder / f"{name}.counts")
        done = run("count", LOANS, "--data", folder / f"{name}.csv", "-o", counted[-1])
        assert (done.returncode, done.stdout) == (0, "")
        assert f"COUNTED  {len(part):,} rows, {len(part):,} people of 1 file" in done.stderr
    return counted


@pytest.mark.long
def test_the_report_of_merged_counts_is_that_of_the_rows(sites: list[Path], tmp_path: Path) -> None:
    merged = tmp_path / "all.counts"
    assert run("merge", *sites, "-o", merged).returncode == 0
    reports = []
    for data in (None, merged, sites[0].parent / "*.counts"):
        named: list[str | Path] = [] if data is None else ["--data", data]
        done = run("run", LOANS, *named, "--format", "json", SOURCE_DATE_EPOCH="1700000000")
        assert done.returncode == 1
        tree = json.loads(done.stdout)
        for member in ("route", "files"):
            del tree["provenance"][member]
        reports.append({name: tree[name] for name in tree if name != "asked"})
    assert reports[0] == reports[1] == reports[2]


@pytest.mark.long
def test_what_is_wrong_is_said_and_nothing_is_left(sites: list[Path], tmp_path: Path) -> None:
    target = tmp_path / "all.counts"
    target.write_text("of an earlier run")
    again = run("merge", sites[0], tmp_path / "copy.counts", "-o", target)
    assert again.returncode == 2
    assert "does not exist" in again.stderr
    assert not target.exists()
    target.write_text("of an earlier run")
    (tmp_path / "copy.counts").write_bytes(sites[0].read_bytes())
    again = run("merge", sites[0], tmp_path / "copy.counts", "-o", target)
    assert again.returncode == 2
    assert "is already counted" in again.stderr
    assert not target.exists()
    assert run("merge", sites[0], sites[0], "-o", target).returncode == 0  # one file, named twice
    mistakes: list[tuple[list[str | Path], str]] = [
        (
            ["count", LOANS, "-o", tmp_path / "part.json"],
            "the name of a counts file must end with .counts",
        ),
        (["merge", sites[0], "-o", sites[0]], "the command reads"),
        (["count", LOANS, "--data", sites[0], "-o", target], "the data is already a counts file"),
        (
            ["merge", ROOT / "sample_data" / "loans.csv", "-o", target],
            "damaged or not a counts file",
        ),
        (
            ["count", "audit_specs/loans_propensity.yaml", "-o", target],
            "measures of individuals; these need rows",
        ),
    ]
    for arguments, words in mistakes:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
    assert sites[0].stat().st_size > 1000


def test_a_site_hides_its_small_cells(tmp_path: Path) -> None:
    data, target = tmp_path / "a.csv", tmp_path / "a.counts"
    rows = ["f,1"] * 60 + ["f,0"] * 70 + ["m,1"] * 40 + ["m,0"] * 3
    data.write_text("\n".join(["sex,d", *rows]) + "\n")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "version: 1\ncolumns: {protected: [sex], decision: {column: d, positive: 1}}\n"
        "metrics: [selection_rate]\n"
    )
    done = run("count", spec, "--data", data, "-o", target, "--suppress", "11")
    assert done.returncode == 0
    assert "COUNTED  173 rows, 130 people and 43 hidden of 1 file" in done.stderr
    for refused in (500, 1):
        done = run("count", spec, "--data", data, "-o", target, "--suppress", str(refused))
        assert done.returncode == 2
        assert not target.exists()
    scored = run("count", "audit_specs/compas_scores.yaml", "-o", target, "--suppress", "11")
    assert scored.returncode == 2
    assert "--suppress cannot hide small counts in these results" in scored.stderr
