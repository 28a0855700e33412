"""Exports as people have them, from the file to the numbers; each number counted in plain Python.

An applicant system (Windows-1252, semicolons, several rows of a person, several races in a cell, US
dates, stages), a slice of HMDA data, and a school table with titles, totals and masked counts.
"""

from __future__ import annotations

import csv
import io
import random
from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path

import pytest
import yaml
from commands import run

import fairaudit
from fairaudit.result.rows import RateRow

STAGES = ["Applied", "Phone screen", "Interview", "Offer", "Hired"]
RACES = ["White", "Black", "Asian", "White; Asian", "Black; White", ""]
Shares = dict[tuple[str, ...], tuple[int, int]]


def write_applications(folder: Path) -> list[dict[str, str]]:
    """1,200 applicants, a fifth of them with several applications."""
    made, rows = random.Random(7), []
    for number in range(1200):
        sex = made.choices(["F", "M", "Decline"], [48, 48, 4])[0]
        race = made.choices(RACES, [50, 20, 18, 5, 4, 3])[0]
        born = f"{made.randint(1, 12)}/{made.randint(1, 28)}/{made.randint(1958, 2001)}"
        days = made.sample(range(1, 29), made.choices([1, 2, 3], [80, 15, 5])[0])
        for day in days:
            reached = 0
            while reached < 4 and made.random() < (0.5 if sex == "F" else 0.6):
                reached += 1
            rows.append({
                "Applicant ID": f"A{number}", "First name": made.choice(["José", "Chloé", "Bob"]),
                "Gender": sex, "Race": race, "Date of birth": born,
                "Applied on": f"{made.randint(1, 12)}/{day}/2024", "Stage": STAGES[reached],
            })  # fmt: skip
    made.shuffle(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0]], delimiter=";", lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    (folder / "ats.csv").write_bytes(text.getvalue().encode("windows-1252"))
    return rows


SPEC = """
profile: nyc-ll144
data: ats.csv
format: {separator: ";", encoding: windows-1252}
dates: {"Applied on": "%m/%d/%Y", "Date of birth": "%m/%d/%Y"}
repeats: {latest: Applied on}
columns:
  id: Applicant ID
  protected:
    sex: {column: Gender, unknown: [Decline]}
    race: {column: Race, split: ";"}
  decision: {column: Stage, positive: [Offer, Hired], negative: [Applied, Phone screen, Interview]}
"""


def day_of(text: str) -> date:
    return datetime.strptime(text, "%m/%d/%Y").date()  # noqa: DTZ007  # a day has no zone


def shares_of(rows: Sequence[RateRow], metric: str) -> Shares:
    """The selected and all people of each known group, by its columns and levels."""
    return {
        (*row.by, *(level for _, level in row.group)): (
            row.estimate.numerator or 0,
            row.estimate.denominator or 0,
        )
        for row in rows
        if str(row.metric) == metric and row.group and not row.stratum
        and all(level != "(unknown)" for _, level in row.group)
    }  # fmt: skip


def test_tables_of_local_law_144_from_a_raw_export(tmp_path: Path) -> None:
    rows = write_applications(tmp_path)
    (tmp_path / "spec.yaml").write_text(SPEC)
    latest: dict[str, dict[str, str]] = {}
    for row in rows:  # the last of equal days counts
        known = latest.get(row["Applicant ID"])
        if known is None or day_of(row["Applied on"]) >= day_of(known["Applied on"]):
            latest[row["Applicant ID"]] = row
    assert len(latest) == 1200 < len(rows)
    people, selected = Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()
    for row in latest.values():
        race = "two or more" if ";" in row["Race"] else row["Race"]
        sex = row["Gender"].replace("Decline", "")
        groups: list[tuple[str, ...]] = [("sex", sex), ("race", race), ("sex", "race", sex, race)]
        for group in groups:
            if all(group):
                people[group] += 1
                selected[group] += row["Stage"] in {"Offer", "Hired"}
    result = fairaudit.audit(tmp_path / "spec.yaml")
    expected = {group: (selected[group], n) for group, n in people.items()}
    assert shares_of(result.rates, "selection_rate") == expected
    ratios: dict[tuple[str, ...], float] = {
        (*row.by, *(level for _, level in row.group or ())): row.estimate.value
        for row in result.comparisons
        if str(row.metric) == "impact_ratio" and not row.stratum
    }
    for group, (hits, n) in expected.items():
        alike = [
            other_hits / m
            for other, (other_hits, m) in expected.items()
            if other[: len(group) // 2] == group[: len(group) // 2] and len(other) == len(group)
        ]
        if hits / n < max(alike):
            assert ratios[group] == pytest.approx(hits / n / max(alike))
        else:
            assert group not in ratios  # the reference


def test_denials_of_a_slice_of_hmda(tmp_path: Path) -> None:
    made, lines = random.Random(11), ["derived_race,action_taken,applicant_age,income"]
    races = ["White", "Black or African American", "Asian", "Race Not Available", "Joint"]
    for _ in range(2000):
        race = made.choices(races, [60, 12, 8, 14, 3])[0]
        action = made.choices("1234568", [55, 3, 14 + 8 * (race == races[1]), 12, 4, 9, 1])[0]
        lines.append(
            f"{race},{action},{made.choice(['25-34', '8888'])},{made.choice(['NA', '80'])}"
        )
    (tmp_path / "hmda.csv").write_text("\n".join([*lines, ""]))
    done = run("init", "hmda.csv", "--protected", "derived_race,applicant_age", "--decision",
               "action_taken", "--positive", "3", "-o", "spec.yaml", folder=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "spec.yaml").read_text()
    assert "derived_race: {unknown: [Race Not Available]}" in text
    assert 'applicant_age: {unknown: ["8888"]}' in text
    # Of the codes of HMDA, 1 is originated, 2 approved and 3 denied; the others are no decision.
    spec = yaml.safe_load(text)
    spec["columns"]["protected"] = {"derived_race": {"unknown": [races[3]]}}
    decision = {"column": "action_taken", "positive": "3", "negative": ["1", "2"]}
    spec["columns"]["decision"] = decision
    spec["filter"] = "action_taken in ('1', '2', '3')"
    spec["data"] = str(tmp_path / "hmda.csv")
    rows = [line.split(",") for line in lines[1:]]
    decided = [row for row in rows if row[1] in "123"]
    people = Counter(row[0] for row in decided if row[0] != races[3])
    denied = Counter(row[0] for row in decided if row[1] == "3")
    shares = shares_of(fairaudit.audit(spec).rates, "selection_rate")
    assert shares == {("derived_race", race): (denied[race], n) for race, n in people.items()}


SCHOOLS = """District,School Name,Student Group,Enrollment,Students with OSS,% OSS
Alba,North High,All Students,"1,240",*,*
Alba,North High,Black or African American,310,51,16.5%
Alba,North High,Hispanic,280,22,7.9%
Alba,North High,White,602,19,3.2%
Alba,North High,Asian,48,*,*
Alba,West Middle,All Students,405,<10,*
Alba,West Middle,Black or African American,66,*,*
Alba,West Middle,Hispanic,101,*,*
Alba,West Middle,White,220,<10,*
Alba,West Middle,Asian,18,0,0.0%
"""


def test_a_table_of_schools_with_masked_counts(tmp_path: Path) -> None:
    notes = "\n* withheld: see the guide\nSource: collection of 2024\n"
    (tmp_path / "schools.csv").write_text('"Discipline report, 2023-24"\n' + SCHOOLS + notes)
    done = run("init", "schools.csv", "--protected", "Student Group", "--counts",
               "suspended=Students with OSS", "--counts", "total=Enrollment", "-o", "spec.yaml",
               folder=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "spec.yaml").read_text()
    assert "favourable: false}" in text
    form = yaml.safe_load(text)["format"]
    assert form == {"skip_rows": 1, "skip_footer": 3, "thousands": ",", "symbols": ["%"]}
    gate = "\n  - {metric: selection_rate, compare: ratio, reference: {Student Group: White}, "
    gate += "fail: {above: LIMIT}}"
    for limit, status in (("5.6", "inconclusive"), ("7", "pass")):
        (tmp_path / "gate.yaml").write_text(
            text.replace("\n  - selection_rate", gate.replace("LIMIT", limit))
        )
        (finding,) = fairaudit.audit(tmp_path / "gate.yaml").findings
        assert str(finding.status) == status
        assert finding.group == (("Student Group", "Black or African American"),)
        assert finding.missing is not None
        # 51 to 60 of 376 against 19 to 28 of 822.
        assert finding.missing.low == pytest.approx((51 / 376) / (28 / 822))
        assert finding.missing.high == pytest.approx((60 / 376) / (19 / 822))
