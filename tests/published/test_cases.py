"""Small inputs on which the program was wrong, each with an answer that was worked out by hand.

They lie in `shared/cases` next to the checkout, whose README has the answers.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run
from conftest import ROOT

import fairaudit

CASES = ROOT.parent / "shared" / "cases"


@pytest.fixture
def case(tmp_path: Path) -> Callable[[str], Path]:
    """Copies the folder of a case to where the test may write; skips if there are no cases."""

    def copy(name: str) -> Path:
        if not CASES.is_dir():
            pytest.skip("no shared cases next to the checkout")
        return Path(shutil.copytree(CASES / name, tmp_path / name))

    return copy


class Answer(NamedTuple):
    """What a command on a case says: its exit code, and words of the report or of the error."""

    case: str
    spec: str
    code: int
    words: tuple[str, ...]


ANSWERS = [
    Answer("filter-thousands", "spec.yaml", 2, ("100 rows hold no number", "thousands")),
    Answer("filter-thousands", "blank.yaml", 3, ("in rows that the filter cannot decide",)),
    Answer("filter-text-dates", "iso.yaml", 2, ("hold no date (YYYY-MM-DD)",)),
    Answer("filter-text-dates", "us.yaml", 2, ("as text, not as a date",)),
    Answer("rare-reversal", "fail.yaml", 1, ("reversed for all 3 values", "0.0412", "0.0339")),
    Answer("rest-of-two", "spec2.yaml", 1, ("p = .0372",)),
    Answer("rest-of-two", "named2.yaml", 1, ("p = .0372",)),
    Answer("mostly-small", "d.yaml", 3, ("232 of 292 people",)),
    Answer("mostly-small", "d_excl.yaml", 3, ("232 of 292 people",)),
    Answer("counts-thousands", "spec.yaml", 2, ("data.tsv:3 holds '2,288'",)),
    Answer("counts-thousands", "dot.yaml", 2, ("dot.csv:3 holds '2.288'",)),
    Answer("counts-masked", "spec.yaml", 2, ("data.csv:4 holds '*'", "a masked count is not 0")),
    Answer("counts-masked", "spec.yaml", 2, ('missing: {masked: {"*": [0, 9]}}',)),
    Answer("counts-masked", "aside.yaml", 1, ("21/450", "left out: with unknown outcome")),
    Answer("us-dates", "spec.yaml", 2, ("hold no date (YYYY-MM-DD)", 'dates: {dob: "%m/%d/%Y"}')),
    Answer("us-dates", "iso.yaml", 0, ("100.0 % (2/2)", "25.0 % (1/4)")),
    Answer("printed-alike", "spec.yaml", 1, ("0.060 %", "0.140 %", "2.333")),
    Answer("unknown-without-outcome", "long.yaml", 0,
           ("2,440/2,793", "4,425/5,187", "813 people with unknown group")),
    Answer("macro-classes", "spec.yaml", 1, ("100.0 points",)),
    Answer("averaged-rates", "spec.yaml", 0, ("43.2 %", "19.1 %")),
    Answer("rest-and-unknown", "spec.yaml", 1, ("30/100", "10/100")),
    Answer("opposite-gaps", "spec.yaml", 0, ("40.0 points lower for d=2",)),
    Answer("weights-false-pass", "spec.yaml", 1, ("0.638", "p = .0001")),
    Answer("weights-false-fail", "spec.yaml", 0, ("not enough evidence",)),
    Answer("smoothed-epsilon", "spec.yaml", 2, ("conclusive",)),
    Answer("slope-of-shares", "spec.yaml", 0, ("not enough evidence",)),
    Answer("paired-models", "spec.yaml", 1, ("p < .0001",)),
    Answer("profile-direction", "spec.yaml", 1, ("warn below 13.33 %",)),
    Answer("worst-of-twenty", "spec.yaml", 0, ("not enough evidence",)),
]  # fmt: skip


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: f"{answer.case}/{answer.spec}")
def test_a_case_has_its_right_answer(answer: Answer, case: Callable[[str], Path]) -> None:
    folder = case(answer.case)
    done = run("run", folder / answer.spec)
    text = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == answer.code, text
    for words in answer.words:
        assert words in text


def rates_of(spec: Path, attribute: str) -> dict[str, tuple[int | None, int | None]]:
    """Numerator and denominator of the selection rate of each level."""
    return {
        dict(row.group)[attribute]: (row.estimate.numerator, row.estimate.denominator)
        for row in fairaudit.audit(spec).rates
        if row.metric == "selection_rate" and row.group
    }


def test_couples_have_the_six_published_rates(case: Callable[[str], Path]) -> None:
    found = rates_of(case("couples") / "spec2.yaml", "race")
    expected = {
        "Asian": (11, 62), "Black": (46, 126), "Joint": (12, 49), "Two or more": (4, 8),
        "White": (90, 590),
    }  # fmt: skip
    assert {name: found[name] for name in expected} == expected
    assert found["(unknown)"] == (27, 85)


def test_repeated_people_count_once(case: Callable[[str], Path]) -> None:
    folder = case("repeated-people")
    spec = (folder / "spec.yaml").read_text().replace("columns: {", "columns: {id: candidate_id, ")
    (folder / "spec.yaml").write_text(spec)
    done = run("run", folder / "spec.yaml")
    assert (done.returncode, "2 rows repeat a person" in done.stderr) == (2, True)
    (folder / "spec.yaml").write_text(f"repeats: first\n{spec}")
    assert rates_of(folder / "spec.yaml", "sex") == {"F": (1, 2), "M": (1, 2)}


def test_init_does_not_guess_a_decimal_comma(case: Callable[[str], Path]) -> None:
    folder = case("init-thousands")
    args = ["--protected", "sex", "--score", "score", "-o", str(folder / "spec.yaml")]
    done = run("init", folder / "data.csv", *args)
    if done.returncode:
        assert "--thousands ," in done.stderr
        done = run("init", folder / "data.csv", "--thousands", ",", *args)
    assert done.returncode == 0, done.stderr
    means = {
        dict(row.group)["sex"]: row.estimate.value
        for row in fairaudit.audit(folder / "spec.yaml").rates
        if row.metric == "mean_score" and row.group
    }
    assert means == {"M": pytest.approx(1204.5), "F": pytest.approx(984.5)}


def test_months_are_in_order(case: Callable[[str], Path]) -> None:
    folder = case("month-axis")
    out = folder / "out"
    spec = folder / "spec.yaml"
    done = run("run", spec, "--data", folder / "*.csv", "-o", f"{out}{os.sep}")
    assert done.returncode in {0, 1}, done.stderr
    page = (out / "index.html").read_text()
    page = page[page.rindex("All audits") :]  # above is what changed in the last month
    places = [page.index(f"2025-{month:02}") for month in range(1, 5)]
    assert places == sorted(places)


@pytest.mark.parametrize(("table", "lines"), [("table.csv", [10]), ("wrong.csv", [3, 10])])
def test_ratios_are_verified_against_rates_alone(
    case: Callable[[str], Path], table: str, lines: list[int]
) -> None:
    done = run("verify", case("rates-without-counts") / table)
    # Line 10 is a fault of the published table itself: 0.67 of 0.69 is 0.97, and it prints 0.94.
    assert re.findall(r"csv:(\d+)", "".join(done.stdout.split())) == list(map(str, lines))
    assert done.returncode == 1


@pytest.mark.parametrize("table", ["float.csv", "min.csv"])
def test_true_tables_have_no_fault(case: Callable[[str], Path], table: str) -> None:
    assert run("verify", case("verify-rounding") / table).returncode == 0


def test_nothing_is_gone_that_was_not_looked_for(case: Callable[[str], Path]) -> None:
    folder = case("compare-gone")
    report = folder / "r.json"
    assert run("run", folder / "spec.yaml", "-o", report).returncode == 0
    done = run("compare", report, "--models", "first", "second")
    assert done.returncode == 0, done.stderr
    assert "after, no scan compared these groups" in " ".join(done.stdout.split())
    assert not re.search(r"^gone\b", done.stdout, re.MULTILINE)


@pytest.mark.parametrize("y_pred", [[1, 2, 1, 2, 2, 1], [3, 1, 3, 1, 1, 3]])
def test_codes_that_do_not_say_which_is_positive_are_refused(y_pred: list[int]) -> None:
    arguments: dict[str, Any] = {"sensitive_features": {"sex": ["f", "f", "f", "m", "m", "m"]}}
    y_true = [0, 1, 1, 0, 1, 0] if 3 in y_pred else [1, 2, 2, 1, 2, 1]
    with pytest.raises(fairaudit.UsageError, match="not clear which value is positive"):
        fairaudit.audit_arrays(y_true, y_pred, **arguments)


def test_dates_at_the_ends_of_time_end_with_words(case: Callable[[str], Path]) -> None:
    folder = case("extreme-dates")
    dates = pa.array([2**31 - 1, -(2**31)] * 30, pa.int32()).cast(pa.date32())
    decisions = [str(number // 2 % 2) for number in range(60)]
    pq.write_table(pa.table({"g": dates, "d": decisions}), folder / "data.parquet")
    done = run("run", folder / "spec.yaml")
    assert (done.returncode, "days from 1970" in done.stderr) == (2, True), done.stderr


def test_masked_counts_are_bounded(case: Callable[[str], Path]) -> None:
    folder = case("counts-masked")
    text = (folder / "spec.yaml").read_text()
    (folder / "spec.yaml").write_text(text + 'missing: {masked: {"*": [1, 10], "<5": [0, 4]}}\n')
    for limit, status in (("1.25", "fail"), ("2", "inconclusive"), ("2.5", "pass")):
        (folder / "new.yaml").write_text(
            (folder / "spec.yaml").read_text().replace("above: 1.25", f"above: {limit}")
        )
        (finding,) = fairaudit.audit(folder / "new.yaml").findings
        assert finding.missing is not None
        assert (finding.missing.low, finding.missing.high) == pytest.approx(
            (1.891, 2.395), abs=1e-3
        )
        assert str(finding.status) == status
