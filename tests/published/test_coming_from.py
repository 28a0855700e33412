"""docs/coming_from.md: each number is what the other tool prints, and what is printed here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from conftest import ROOT
from fairlearn import metrics as fairlearn

import fairaudit

PAGE = (ROOT / "docs" / "coming_from.md").read_text("utf-8")
TRANSCRIPT = json.loads((Path(__file__).parent / "transcripts" / "others.json").read_text("utf-8"))
(PRINTED,) = [case for case in TRANSCRIPT["cases"] if case["name"] == "two groups"]
FILES = dict(re.findall(r'^```\w+ title="([^"]+)"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL))
SPEC = yaml.safe_load(FILES["people.yaml"])
COUNTS = pd.read_csv(StringIO(FILES["people.csv"]))
LINES = re.findall(r"^\| `([^`]+)` \| (\S+) \| `([^`]+)` \| (\S+) \|$", PAGE, re.MULTILINE)
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## )", PAGE, re.MULTILINE | re.DOTALL))


def lines_of(tool: str) -> list[tuple[str, str]]:
    """What a tool calls its numbers, and prints, as the page says it."""
    return re.findall(r"^\| `([^`]+)` \| (\S+) \| `", SECTIONS[tool], re.MULTILINE)


def value_of(entry: str, theirs: str) -> float:
    """What an entry of `metrics` gives of women, or of everybody where the other tool does so."""
    spec = {key: value for key, value in SPEC.items() if key != "data"}
    result = fairaudit.audit({**spec, "metrics": [yaml.safe_load(entry)]}, COUNTS)
    rows = result.comparisons or result.rates
    of_women = [row.estimate.value for row in rows if row.group == (("group", "women"),)]
    of_all = [row.estimate.value for row in rows if not row.group]
    value, *_ = of_all if theirs in PRINTED["aif360"]["everybody"] else of_women or of_all
    assert value is not None
    return value


def test_the_page_has_the_counts_of_the_transcript() -> None:
    for group in PRINTED["groups"]:
        rows = COUNTS[COUNTS.group == group["levels"][0]]
        cells: Mapping[str, tuple[int, int]] = {
            "tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0),
        }  # fmt: skip
        for cell, (label, selected) in cells.items():
            (n,) = rows[(rows.label == label) & (rows.selected == selected)].n
            assert n == group[cell]


def test_every_line_of_a_table_is_tried() -> None:
    assert len(LINES) == PAGE.count("\n| `") == sum(len(lines_of(tool)) for tool in SECTIONS)
    assert len(LINES) > 25


@pytest.mark.parametrize(("theirs", "entry", "printed"), [(line[0], *line[2:]) for line in LINES])
def test_here_it_prints(theirs: str, entry: str, printed: str) -> None:
    assert f"{value_of(entry, theirs):.4f}" == printed


def test_fairlearn_prints() -> None:
    people = COUNTS.loc[COUNTS.index.repeat(COUNTS.n)]
    sides: dict[str, Any] = {
        "y_true": people.label,
        "y_pred": people.selected,
        "sensitive_features": people.group,
    }
    for name, printed in lines_of("Fairlearn"):
        assert f"{getattr(fairlearn, name)(**sides):.4f}" == printed


def test_aif360_prints() -> None:
    (compared, _), everybody = PRINTED["aif360"]["comparisons"], PRINTED["aif360"]["everybody"]
    smoothed = "smoothed_empirical_differential_fairness"
    epsilon = everybody[f"{smoothed}(prediction, concentration=1.0)"]
    known = {**compared, **everybody, smoothed: epsilon}
    for name, printed in lines_of("AIF360"):
        assert f"{known[name]:.4f}" == printed


def test_aequitas_prints() -> None:
    rates, disparities = (PRINTED["aequitas"][key][0] for key in ("rates", "disparities"))
    known = {**rates, **{f"{name}_disparity": value for name, value in disparities.items()}}
    for name, printed in lines_of("Aequitas"):
        assert f"{known[name]:.4f}" == printed


def test_where_they_differ_is_so() -> None:
    (case,) = [one for one in TRANSCRIPT["cases"] if one["name"] == "a group without positives"]
    rates, compared = (case["aif360"][key][0] for key in ("rates", "comparisons"))
    assert rates["true_positive_rate"] == "nan"
    assert compared["equalized_odds_difference"] > 0
    people = pd.DataFrame({"y": [0, 0, 1, 1], "p": [0, 1, 1, 0], "g": ["a", "a", "b", "b"]})
    sides = {"y_true": people.y, "y_pred": people.p, "sensitive_features": people.g}
    assert fairlearn.equal_opportunity_difference(**sides) == 0.5
    result = fairaudit.audit_arrays(**sides, metrics=["equal_opportunity_difference"])
    assert [row.estimate.state for row in result.comparisons] == ["undefined"]
