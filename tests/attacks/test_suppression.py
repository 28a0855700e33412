"""Published reports attacked by twins: other people whose report would read the same.

A report hides a small count where another table of people, its twin, has the same printed counts
and many people in its place. The proof says which counts are printed; here every number that is
printed, by any measure, in any row, is held against the twin's own open report. One that differs
was made of something that is hidden, and a reader who knows the method could work back from it.

The twins are found anew, by whole numbers, with somebody wherever there is somebody. A factor
`ATTACKS=100` tries so many times as many specs.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from law_tables import COMPARING, entry
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

import fairaudit
from fairaudit import pipeline
from fairaudit.cube import NO_LEVEL
from fairaudit.errors import SpecError
from fairaudit.metrics import CATALOGUE, GroupMetric, Requirement
from fairaudit.report.json import document
from fairaudit.result import AuditResult
from fairaudit.spec import of_mapping
from fairaudit.suppress import protection, publication

TRIES = round(12 * float(os.environ.get("ATTACKS", "1")))
YES, NO = "yes", "no"
OUTCOME = {"positive": YES, "negative": NO}

WORDS = {
    "status", "sentence", "limit", "backing", "not_cleared", "summary", "created", "spec", "data",
    "options", "notices", "waivers", "ledger", "baseline", "definition",
}  # fmt: skip
"""Facts that a report tells of what is hidden, as SECURITY.md says, and what is of no people."""

NAMES = (
    "metric", "title", "id", "of", "by", "given", "stratum", "group", "column", "rate",
    "attribute", "pair", "parameters", "averaged_over", "compare", "outcome", "of_class",
)  # fmt: skip


@dataclass
class Captured:
    """What the program proved: its cells, the counts that it prints, and the cube they are of."""

    people: NDArray[np.int64]
    sets: list[NDArray[np.int64]]
    printed: list[int]
    cube: Any


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> list[Captured]:
    found: list[Captured] = []
    protect, suppress = protection.protect, publication.suppress
    cubes: list[Any] = []

    def watching(people: Any, sets: Any, items: Any, *rest: Any, **more: Any) -> Any:
        made = protect(people, sets, items, *rest, **more)
        shown = {
            at
            for item, is_shown in zip(items, made.shown, strict=True)
            for at in item.counts
            if is_shown
        }
        found.append(Captured(people, list(sets), sorted(shown), cubes[-1]))
        return made

    def publish(result: AuditResult, threshold: int, data: Any) -> AuditResult:
        cubes.append(data.cube)
        return suppress(result, threshold, data)

    monkeypatch.setattr(publication, "protect", watching)
    monkeypatch.setattr(pipeline, "suppress", publish)
    return found


def people_of(random: Generator) -> pl.DataFrame:
    """People by two or three attributes, a stratum, a label and a decision; many are few."""
    sizes = [(2, 2), (3, 2), (5,), (2, 2, 2), (7, 2)][random.integers(5)]
    columns = {f"a{at}": [f"{at}{level}" for level in range(n)] for at, n in enumerate(sizes)}
    few = [0, 0, 1, 1, 2, 3, 7, 12]
    plenty = [15, 20, 25, 40, 60, 200]
    rows = []
    for group in itertools.product(*columns.values()):
        some = few if random.random() < 0.35 else plenty
        for s, y, p in itertools.product(("s0", "s1"), (NO, YES), (NO, YES)):
            n = int(random.choice(some if random.random() < 0.85 else few))
            if n:
                rows.append((*group, s, y, p, n))
    for y, p in ((NO, YES), (YES, NO)):
        rows.append((*(levels[0] for levels in columns.values()), "s0", y, p, 15))
    return pl.DataFrame(rows, [*columns, "s", "y", "p", "n"], orient="row")


QUANTITIES = [
    one
    for one in CATALOGUE
    if isinstance(one, GroupMetric)
    and not one.requirements - {Requirement.LABEL, Requirement.PREDICTION}
]


COUNTED = [
    one for one in COMPARING if not one.requirements & {Requirement.SCORE, Requirement.DISTRIBUTION}
]
"""Measures made of counts alone: of a mean of scores no table of people is a twin."""


def metric_of(random: Generator, attributes: list[str]) -> dict[str, Any]:
    """Any measure of the catalogue, with limits, strata, references and classes."""
    if random.random() < 0.5:
        metric: dict[str, Any] = {"metric": QUANTITIES[random.integers(len(QUANTITIES))].id}
        compare = ["", "difference", "ratio", "gap", "min_ratio"][random.integers(5)]
        if compare:
            metric["compare"] = compare
        if compare in {"difference", "ratio"}:
            policies = ["largest", "highest", "lowest", "rest", "overall"]
            metric["reference"] = policies[random.integers(5)]
        if compare and random.random() < 0.3:
            metric |= {"given": "s"} | ({"average": "pooled"} if random.random() < 0.5 else {})
    else:
        metric = entry(COUNTED[random.integers(len(COUNTED))])
        if "reference" in metric:
            metric["reference"] = ["largest", "highest", "rest"][random.integers(3)]
        if "given" in metric:
            metric["given"] = "s"
        if random.random() < 0.5:
            metric["fail"] = {"above": float(random.choice([0.05, 0.2, 0.5]))}
    if random.random() < 0.4:
        metric["by"] = ["each", "all", [attributes[:2]]][random.integers(3)]
    return metric


def spec_of(random: Generator, people: pl.DataFrame) -> dict[str, Any]:
    """A random spec on such people."""
    attributes = [name for name in people.columns if name.startswith("a")]
    groups: dict[str, Any] = {"by": ["all", "each"][random.integers(2)]}
    if random.random() < 0.4:
        groups["min_size"] = int(random.choice([3, 5, 20, 60]))
    if random.random() < 0.2:
        share = float(random.choice([0.01, 0.05, 0.1]))
        groups["exclude_below"] = {"share": share, "reason": "too few to compare"}
    columns: dict[str, Any] = {
        "protected": attributes,
        "strata": ["s"],
        "label": {"column": "y", **OUTCOME},
        "prediction": {"column": "p", **OUTCOME},
        "count": "n",
    }
    return {
        "columns": columns,
        "metrics": [metric_of(random, attributes) for _ in range(random.integers(1, 6))],
        "groups": groups,
        **({"simpson": {}} if random.random() < 0.4 else {}),
        "suppress_below": int(random.choice([5, 11, 30])),
    }


def sound(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without the metrics that it is refused for."""
    try:
        of_mapping(spec)
    except SpecError as error:
        named = {int(at) for one in error.faults for at in re.findall(r"^metrics\[(\d+)", one.path)}
        if not named:
            raise
        left = [one for at, one in enumerate(spec["metrics"]) if at not in named]
        return sound({**spec, "metrics": left or ["selection_rate"]})
    return spec


def audited(spec: Mapping[str, Any], people: pl.DataFrame) -> dict[str, Any]:
    """The JSON document of an audit."""
    tree: dict[str, Any] = json.loads(json.dumps(document(fairaudit.audit(spec, people))))
    return tree


Table = tuple[tuple[str, ...], tuple[str, ...]]
"""The columns of the groups, and those of the strata."""


def beside(published: Mapping[str, Any]) -> set[Table]:
    """The tables of which it is told which group is the largest, the usual reference."""
    rows = [*published["rates"], *published["comparisons"]]
    named = [one for one in rows if one["reference"] and one["group"]]
    return {(tuple(one["by"]), tuple(one["given"])) for one in named}


def largest(one: Captured, tables: set[Table]) -> LinearConstraint:
    """No group of these tables outgrows the largest of its stratum."""
    codes = one.cube.codes[one.cube.people > 0]
    names = [key.name for key in one.cube.keys]
    rows, most = [np.zeros((1, len(codes)), dtype=np.int64)], [np.zeros(1, dtype=np.int64)]

    def numbered(columns: tuple[str, ...]) -> NDArray[np.int64]:
        at = [names.index(name) for name in columns]
        return np.unique(codes[:, at], axis=0, return_inverse=True)[1].reshape(-1)

    for by, given in sorted(tables):
        group, stratum = numbered(by), numbered(given) if given else np.zeros(len(codes))
        for z in np.unique(stratum):
            marks = np.equal.outer(np.unique(group), np.where(stratum == z, group, -1))
            people = marks @ one.people
            rows.append(marks.astype(np.int64))
            most.append(np.where(people < people.max(), people.max() - 1, people.max()))
    return LinearConstraint(np.concatenate(rows), 0, np.concatenate(most))


def twin_of(
    one: Captured, cell: int, threshold: int, known: LinearConstraint, random: Generator
) -> NDArray[np.int64] | None:
    """People with the same printed counts, of whom that cell has as many as the threshold."""
    matrix = np.zeros((len(one.printed), len(one.people)))
    for row, at in enumerate(one.printed):
        matrix[row, one.sets[at]] = 1
    sums = matrix @ one.people
    low = np.ones(len(one.people))
    low[cell] = threshold
    found = milp(
        random.normal(size=len(one.people)),
        constraints=[
            *([LinearConstraint(matrix, sums, sums)] if len(matrix) else []),
            known,
        ],
        integrality=np.ones(len(one.people)),
        bounds=Bounds(low, np.maximum(low, one.people.sum() + 50 * threshold)),
        options={"node_limit": 3000},
    )
    return None if found.x is None else np.rint(found.x).astype(np.int64)


def rows_of(one: Captured, people: NDArray[np.int64]) -> pl.DataFrame:
    """The people of a table of cells, as rows that stand for many."""
    cube = one.cube
    codes = cube.codes[cube.people > 0]
    assert (codes != NO_LEVEL).all()
    columns = {"prediction": "p", "label": "y"}
    levels = {
        columns.get(key.name, key.name): [key.levels[code] for code in codes[:, at]]
        for at, key in enumerate(cube.keys)
    }
    return pl.DataFrame({**levels, "n": people})


def identity(row: Any) -> str:
    """Which row it is, by all that is no number; a comparison has its reference by name."""
    names = (*NAMES, "reference") if "title" in row else NAMES
    return json.dumps([row.get(name) for name in names], sort_keys=True, default=str)


def told_otherwise(published: Any, other: Any, path: str = "") -> Iterator[str]:
    """Every number that is told, and is another one for the twin."""
    if isinstance(published, dict):
        yield from _members_told_otherwise(published, other, path)
    elif isinstance(published, list) and published and isinstance(published[0], dict):
        yield from _rows_told_otherwise(published, other or [], path)
    elif isinstance(published, float) and isinstance(other, float | int):
        if not math.isclose(published, other, rel_tol=1e-7, abs_tol=1e-9):
            yield f"{path}: {published} and {other}"
    elif published is not None and published != other and published not in ([], {}):
        yield f"{path}: {published!r} and {other!r}"


def _members_told_otherwise(published: Any, other: Any, path: str) -> Iterator[str]:
    if "suppressed" in {published.get("state"), published.get("standing")}:
        return
    for name, value in published.items():
        if name in WORDS or (name == "reason" and published.get("group") == {}):
            continue
        twin = other.get(name) if isinstance(other, dict) else None
        yield from told_otherwise(value, twin, f"{path}.{name}")


def _rows_told_otherwise(published: Any, other: Any, path: str) -> Iterator[str]:
    if not any(name in published[0] for name in NAMES):
        if len(published) != len(other):
            yield f"{path}: {len(published)} and {len(other)}"
            return
        for at, (one, two) in enumerate(zip(published, other, strict=True)):
            yield from told_otherwise(one, two, f"{path}[{at}]")
        return
    others: dict[str, list[Any]] = {}
    for row in other:
        others.setdefault(identity(row), []).append(row)
    for row in published:
        name = identity(row)
        if name in others:
            # Two parts of a measure, or two entries, may be of one name: it is one of them.
            each = [[*told_otherwise(row, one, f"{path}[{name}]")] for one in others[name]]
            yield from min(each, key=len)
        elif "suppressed" not in str(row.get("reason")) and ".appears" not in path:
            # That a gap first appears in a group is a fact: it is significant among all tests.
            yield f"{path}[{name}] is not there"


def attacked(
    random: Generator, captured: list[Captured], *, most: int = 3
) -> tuple[int, list[str]]:
    """How many twins were held against a report, and what tells them from it."""
    people = people_of(random)
    spec = sound(spec_of(random, people))
    captured.clear()
    published = audited(spec, people)
    one, threshold = captured[-1], int(spec["suppress_below"])
    small = np.flatnonzero(one.people < threshold)
    faults, tried = [], 0
    open_spec = {name: value for name, value in spec.items() if name != "suppress_below"}
    known = largest(one, beside(published))
    for cell in random.permutation(small)[:most].tolist():
        table = twin_of(one, cell, threshold, known, random)
        if table is None:
            faults.append(f"cell {cell} of {one.people[cell]} has no twin: {spec}")
            continue
        other = audited(open_spec, rows_of(one, table))
        tried += 1
        faults += [f"{what}: {json.dumps(spec)}" for what in told_otherwise(published, other)]
    return tried, faults


@pytest.mark.parametrize("seed", range(TRIES))
def test_a_report_tells_nothing_that_its_twin_would_not(
    seed: int, captured: list[Captured]
) -> None:
    _, faults = attacked(np.random.default_rng([16, seed]), captured)
    assert not faults, faults[:5]


def few_in_curves(tree: Mapping[str, Any], threshold: int) -> Iterator[str]:
    """Steps of the curves that are told, each of a few people of one label."""
    for curve in tree["curves"]:
        bins = curve["calibration"]
        people = sum(one["n"] for one in bins)
        positives = sum(round(one["share"] * one["n"]) for one in bins)
        of_bins = [n for one in bins for n in _sides(one["n"], one["share"])]
        points = sorted(curve["thresholds"], key=lambda one: one["at"])
        steps = []
        for name, total in (
            ("selected", people),
            ("true_positive_rate", positives),
            ("false_positive_rate", people - positives),
        ):
            reached = [round((one[name] or 0) * total) for one in points]
            steps += [abs(b - a) for a, b in itertools.pairwise([total, *reached, 0])]
        few = [n for n in (*of_bins, *steps) if 0 < n < threshold]
        if few:
            yield f"{curve['group']}: {few}"


def _sides(n: int, share: float) -> tuple[int, int]:
    return round(n * share), n - round(n * share)


@pytest.mark.parametrize("seed", range(TRIES))
def test_curves_and_scores_tell_of_no_few_people(seed: int) -> None:
    random = np.random.default_rng([17, seed])
    people = people_of(random)
    spec = sound(spec_of(random, people))
    few_scores = np.round(random.random(int(random.integers(2, 6))), 2)
    people = people.with_columns(score=pl.Series(random.choice(few_scores, len(people))))
    columns = {**spec["columns"], "score": "score"}
    tree = audited({**spec, "columns": columns}, people)
    threshold = int(spec["suppress_below"])
    assert not [*few_in_curves(tree, threshold)]
    for row in tree["scores"]:
        assert row["n"] is None or row["n"] >= threshold
    whole = {name: value for name, value in spec.items() if name != "suppress_below"}
    all_cells = audited({**whole, "columns": columns}, people)
    assert len(all_cells["scores"]) >= len(tree["scores"])
    words = json.dumps(tree["notices"])
    assert "median of the score" not in words
    assert "outside [0, 1]" not in words


def test_the_attacks_see_what_an_open_report_tells(captured: list[Captured]) -> None:
    """The failing direction: an open report differs from its twin's, and its curves have few."""
    random = np.random.default_rng([16, 0])
    people = people_of(random)
    spec = sound(spec_of(random, people))
    audited(spec, people)
    one = captured[-1]
    cell = int(np.flatnonzero(one.people < spec["suppress_below"])[0])
    twin = twin_of(one, cell, spec["suppress_below"], largest(one, set()), random)
    assert twin is not None
    spec.pop("suppress_below")
    mine, other = (audited(spec, rows_of(one, table)) for table in (one.people, twin))
    assert [*told_otherwise(mine, other)]
    assert not [*told_otherwise(mine, mine)]
    few = people.with_columns(score=pl.Series(np.linspace(0, 1, len(people))))
    assert [
        *few_in_curves(audited({**spec, "columns": {**spec["columns"], "score": "score"}}, few), 11)
    ]
