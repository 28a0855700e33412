"""Whether a rival counted what fairaudit counted; otherwise no time is worth reporting.

    python agree.py report.json answer.csv

An answer is a table of groups: a column for each attribute, empty where the group leaves it open,
and either `label`, `prediction`, `n` (with `w` where weighted) or `n` and rates by their names.
Every group of every grouping that the report lists must be there, no other, and equal: people
exactly, weights and rates as far as doubles go.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

NOT_KNOWN = " Not Available"
UNKNOWN = "(unknown)"
RATES = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
)
_CELLS_OF = {
    "true_positive_rate": ("yes approve", "yes deny"),
    "false_positive_rate": ("no approve", "no deny"),
}
_CLOSE = 1e-9

Group = frozenset[tuple[str, str]]
Answers = dict[tuple[Group, str], float]


class Differs(Exception):
    """Two answers to one question."""


def main() -> None:
    """Compare two files and print how many numbers agree."""
    parser = argparse.ArgumentParser(description="Compare a report with a rival's answer.")
    parser.add_argument("report", type=Path)
    parser.add_argument("answer", type=Path)
    asked = parser.parse_args()
    report = json.loads(asked.report.read_text(encoding="utf-8"))
    with asked.answer.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        is_cube = "label" in (rows.fieldnames or ())
        theirs = _counted(rows, _groupings(report), is_cube=is_cube)
    ours = _people(report) | (_cells(report) if is_cube else _rates(report))
    compare(ours, theirs)
    print(f"{len(ours):,} numbers agree")


def compare(ours: Answers, theirs: Answers) -> None:
    """Raises `Differs` unless the groups are the same and all that we say of them is."""
    if not ours:
        raise Differs("the report lists nothing to compare")
    alone = _groups(ours) ^ _groups(theirs)
    if alone:
        raise Differs(f"{len(alone)} groups are on one side only: {_named(min(alone, key=len))}")
    for (group, name), value in ours.items():
        other = theirs.get((group, name), math.nan)
        is_whole = name.startswith("n")
        if value != other if is_whole else not math.isclose(value, other, rel_tol=_CLOSE):
            raise Differs(f"{name} of {_named(group)}: {value!r} here, {other!r} there")


def _people(report: Mapping[str, Any]) -> Answers:
    """The people of every group."""
    rows = [row for row in report["groups"] if row["of"] == "prediction" and row["by"]]
    return {(_group(row["group"]), "n"): row["n"] for row in rows}


def _cells(report: Mapping[str, Any]) -> Answers:
    """The four cells of every group, from the parts of two of its rates."""
    found: Answers = {}
    unit = "w" if report["provenance"]["weight"] else "n"
    for row in report["rates"]:
        if row["metric"] in _CELLS_OF and row["by"]:
            over, under = row["numerator"] or 0, row["denominator"] or 0
            parts = (over, under - over)
            for cell, value in zip(_CELLS_OF[row["metric"]], parts, strict=True):
                found[_group(row["group"]), f"{unit} {cell}"] = value / row["scale"]
    return found


def _rates(report: Mapping[str, Any]) -> Answers:
    """The rates of every group; where one is undefined, rivals write 0, NaN or nothing."""
    return {
        (_group(row["group"]), row["metric"]): row["value"]
        for row in report["rates"]
        if row["metric"] in RATES and row["by"] and row["value"] is not None
    }


def _counted(
    rows: Iterable[dict[str, str]], groupings: set[frozenset[str]], *, is_cube: bool
) -> Answers:
    """The numbers of the answer for the groups of these groupings."""
    found: Answers = {}
    for group, row in _grouped(rows, groupings):
        found[group, "n"] = found.get((group, "n"), 0) + float(row["n"])
        if not is_cube:
            found |= {(group, name): float(row[name] or "nan") for name in RATES}
            continue
        for unit in {"n", "w"} & row.keys():
            for cell in (cell for cells in _CELLS_OF.values() for cell in cells):
                found.setdefault((group, f"{unit} {cell}"), 0)
            found[group, f"{unit} {row['label']} {row['prediction']}"] = float(row[unit])
    return found


def _grouped(
    rows: Iterable[dict[str, str]], groupings: set[frozenset[str]]
) -> Iterator[tuple[Group, dict[str, str]]]:
    """The rows of an answer by their group."""
    attributes = sorted({name for grouping in groupings for name in grouping})
    for row in rows:
        levels = {name: row[name] for name in attributes if row[name]}
        if frozenset(levels) in groupings:
            yield _group(levels), row


def _groupings(report: Mapping[str, Any]) -> set[frozenset[str]]:
    return {frozenset(row["by"]) for row in report["groups"] if row["by"]}


def _groups(answers: Answers) -> set[Group]:
    return {group for group, name in answers if name == "n"}


def _group(levels: Mapping[str, str]) -> Group:
    """Who is meant, those who are not known under one word."""
    pairs = levels.items()
    return frozenset(
        (name, UNKNOWN if level.endswith(NOT_KNOWN) else level) for name, level in pairs
    )


def _named(group: Group) -> str:
    return ", ".join(f"{name}={level}" for name, level in sorted(group))


if __name__ == "__main__":
    main()
