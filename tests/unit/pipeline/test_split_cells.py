"""Several values in a cell: the oracle splits each cell in plain Python."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import SpecError

RACES = ["Asian", "Black", "White", "Unknown", ""]


def draw(seed: int) -> list[tuple[str, int]]:
    made = random.Random(seed)
    return [
        ("|".join(made.choices(RACES, k=made.choice([1, 1, 1, 2, 3]))), made.randrange(2))
        for _ in range(300)
    ]


def level_of(cell: str, several: str) -> str | None:
    known = sorted({part.strip() for part in cell.split("|")} - {"", "Unknown"})
    if len(known) > 1:
        return " + ".join(known) if several == "combination" else several
    return known[0] if known else None


@pytest.mark.parametrize("several", ["two or more", "combination", "Multiracial"])
@pytest.mark.parametrize("seed", range(3))
def test_a_cell_of_several_values_is_one_level(
    audit_csv: Callable[..., Any], seed: int, several: str
) -> None:
    rows = draw(seed)
    keys: dict[str, Any] = {"split": "|", "unknown": ["Unknown"]}
    if several != "two or more":
        keys["several"] = several
    spec = {
        "columns": {"protected": {"race": keys}, "decision": "d"},
        "metrics": "selection_rate",
    }
    text = "race,d\n" + "".join(f"{cell},{decision}\n" for cell, decision in rows)
    result = audit_csv(text, spec)
    expected: dict[str, list[int]] = {}
    for cell, decision in rows:
        expected.setdefault(level_of(cell, several) or "(unknown)", []).append(decision)
    found = {
        dict(row.group)["race"]: (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.group
    }
    assert found == {level: (sum(who), len(who)) for level, who in expected.items()}
    (notice,) = [str(one) for one in result.notices if "several values" in str(one)]
    how = "by their combination" if several == "combination" else f"as {several!r}"
    assert notice.endswith(f"are counted {how}")
    cells = {cell for cell, _ in rows if level_of(cell, several) not in {None, *RACES}}
    assert sum(f"'{cell}'" in notice for cell in cells) == 5
    assert f"' and {len(cells) - 5} more, are counted" in notice


def test_merge_and_reference_are_of_the_levels_after_the_split(
    audit_csv: Callable[..., Any],
) -> None:
    keys = {
        "split": ";",
        "labels": {"1": "White", "2": "Black"},
        "merge": {"Other": ["two or more", "3"]},
        "reference": "White",
    }
    spec = {
        "columns": {"protected": {"race": keys}, "decision": "d"},
        "metrics": "selection_rate",
    }
    result = audit_csv("race,d\n1,1\n1;1,0\n2; 1,1\n3,0\n2,0\n", spec)
    found = {
        dict(row.group)["race"]: (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.group
    }
    assert found == {"White": (1, 2), "Other": (1, 2), "Black": (0, 1)}


@pytest.mark.parametrize(
    "keys", [{"split": " "}, {"split": ["|", ""]}, {"split": "|", "bins": [3]}]
)
def test_only_a_column_of_levels_is_split(
    audit_csv: Callable[..., Any], keys: dict[str, Any]
) -> None:
    spec = {"columns": {"protected": {"race": keys}, "decision": "d"}, "metrics": "selection_rate"}
    with pytest.raises(SpecError, match="`split` needs a character, such as"):
        audit_csv("race,d\n1,1\n2,0\n", spec)


LONG = ["American Indian or Alaska Native", "Hispanic or Latino", "White"]
OTHER = "Native Hawaiian or Other Pacific Islander"
COMBINATIONS = {"race": {"split": "|", "several": "combination"}}


def people_by_race(result: Any) -> dict[str, int]:
    return {row.group[0][1]: row.estimate.denominator for row in result.rates if row.group}


def test_check_shows_combinations_as_merge_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = ["|".join([*LONG, OTHER]), "|".join(LONG), "White", "Hispanic or Latino"]
    (tmp_path / "a.csv").write_text(
        "race,d\n" + "".join(f"{cell},{n % 2}\n" for n, cell in enumerate(cells * 9))
    )
    spec: dict[str, Any] = {
        "data": str(tmp_path / "a.csv"),
        "columns": {"protected": COMBINATIONS, "decision": "d"},
        "metrics": "selection_rate",
    }
    (tmp_path / "s.yaml").write_text(yaml.safe_dump(spec))
    assert cli.run_line(["check", str(tmp_path / "s.yaml"), "-v", "--format", "markdown"]) == 0
    shown = capsys.readouterr().out
    levels = [" + ".join(sorted([*LONG, OTHER])), " + ".join(LONG)]
    assert all(f"| {level} |" in shown for level in levels)
    spec["columns"] = {
        "protected": {"race": {**COMBINATIONS["race"], "merge": {"many": levels}}},
        "decision": "d",
    }
    groups = {
        dict(row.group).get("race"): row.estimate.denominator for row in fairaudit.audit(spec).rates
    }
    assert groups["many"] == 18


def test_a_combination_of_merge_may_lack_if_another_occurs(audit_csv: Callable[..., Any]) -> None:
    def audit(merge: dict[str, list[str]], several: str = "combination") -> Any:
        race = {"split": "|", "several": several, "merge": merge}
        columns = {"protected": {"race": race}, "decision": "d"}
        text = "race,d\n" + "A|B,1\nA,0\nC,1\nB,0\n" * 9
        return audit_csv(text, {"columns": columns, "metrics": "selection_rate"})

    result = audit({"AB": ["A + B", "A + C", "B + C"], "other": ["C", "B"]})
    assert people_by_race(result) == {"AB": 9, "A": 9, "other": 18}
    told = [str(one) for one in result.notices]
    assert [one for one in told if "merge" in one] == [
        "race: 'A + C', 'B + C' of `merge` do not occur"
    ]
    with pytest.raises(SpecError, match=r"no level 'B \+ C' in race"):
        audit({"AB": ["A + C", "B + C"]})
    with pytest.raises(SpecError, match="no level 'D' in race"):
        audit({"other": ["two or more", "D"]}, "two or more")


def test_init_proposes_each_separator_that_holds_values(tmp_path: Path) -> None:
    rows = ["Asian", "Black", "White", "Asian; Black", "Black, White", "n/a/x"] * 9
    (tmp_path / "a.csv").write_text(
        "race|hired\n" + "".join(f"{cell}|{number % 2}\n" for number, cell in enumerate(rows))
    )
    spec = tmp_path / "a.yaml"
    args = ["init", str(tmp_path / "a.csv"), "--protected", "race", "--positive", "1"]
    assert cli.run_line([*args, "-o", str(spec)]) == 0
    assert '# race: {split: [";", ","]}  # several values in a cell' in spec.read_text()


def test_init_proposes_to_split(tmp_path: Path) -> None:
    rows = "".join(f"{cell or 'Asian'},{decision}\n" for cell, decision in draw(1))
    (tmp_path / "a.csv").write_text("race,hired\n" + rows)
    spec = tmp_path / "a.yaml"
    args = ["init", str(tmp_path / "a.csv"), "--protected", "race", "--positive", "1"]
    assert cli.run_line([*args, "-o", str(spec)]) == 0
    assert '# race: {split: "|"}  # several values in a cell' in spec.read_text()
