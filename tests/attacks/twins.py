"""Twins of published reports: other people whose report would read the same, and what differs.

A report hides a small count where another table of people, its twin, has the same printed counts
and many people in its place. The proof says which counts are printed; here every number that is
printed, by any measure, in any row, is held against the twin's own open report. One that differs
was made of something that is hidden, and a reader who knows the method could work back from it.

The twins are found anew, by whole numbers, with somebody wherever there is somebody.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.cube import NO_LEVEL, UNKNOWN
from fairaudit.pipeline import suppress
from fairaudit.pipeline.excluded_rows import PUBLISHED_DOUBTS
from fairaudit.pipeline.suppress import protection
from fairaudit.pipeline.tables.audit import Audit
from fairaudit.report.json import document
from fairaudit.result import AuditResult
from fairaudit.spec import of_mapping

WORDS = {
    "status", "sentence", "limit", "backing", "not_enough_evidence", "summary", "provenance",
    "fail_on", "notices", "waivers", "ledger", "baseline", "definition",
}  # fmt: skip
"""Facts that a report tells of what is hidden, as SECURITY.md says, and what is of no people."""

UNLOOKED = {doubt.reason for doubt in PUBLISHED_DOUBTS}
"""A published check says of dropped rows that nobody looked, however many; its twin did look."""

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
    bounds: list[tuple[NDArray[np.int64], int]]


@pytest.fixture
def captured(monkeypatch: pytest.MonkeyPatch) -> list[Captured]:
    found: list[Captured] = []
    protect, plain = protection.protect, suppress.suppress
    cubes: list[Any] = []

    def watching(people: Any, sets: Any, items: Any, *rest: Any, **more: Any) -> Any:
        made = protect(people, sets, items, *rest, **more)
        shown = {
            at
            for item, is_shown in zip(items, made.shown, strict=True)
            for at in item.counts
            if is_shown
        }
        found.append(
            Captured(people, list(sets), sorted(shown), cubes[-1], [*more.get("bounds", ())])
        )
        return made

    def publish(result: AuditResult, audit: Audit, threshold: int) -> AuditResult:
        cubes.append(audit.cubes.cube)
        return plain(result, audit, threshold)

    monkeypatch.setattr(suppress, "protect", watching)
    monkeypatch.setattr(suppress, "suppress", publish)
    return found


def sound(spec: dict[str, Any]) -> dict[str, Any]:
    """The spec without the metrics that it is refused for."""
    try:
        of_mapping(spec)
    except SpecError as error:
        named = {int(at) for one in error.faults for at in re.findall(r"^metrics\[(\d+)", one.path)}
        if any("judge the same counts" in one.message for one in error.faults):
            named.add(len(spec["metrics"]) - 1)
        if not named:
            raise
        left = [one for at, one in enumerate(spec["metrics"]) if at not in named]
        return sound({**spec, "metrics": left or ["selection_rate"]})
    return spec


def audited(spec: Mapping[str, Any], people: pl.DataFrame) -> dict[str, Any]:
    """The JSON document of an audit."""
    tree: dict[str, Any] = json.loads(json.dumps(document(fairaudit.audit(spec, people))))
    return tree


def twin_of(
    one: Captured, cell: int, threshold: int, random: Generator
) -> NDArray[np.int64] | None:
    """People with the same printed counts, of whom that cell has as many as the threshold."""
    matrix = np.zeros((len(one.printed), len(one.people)))
    for row, at in enumerate(one.printed):
        matrix[row, one.sets[at]] = 1
    sums = matrix @ one.people
    low = np.ones(len(one.people))
    low[cell] = threshold
    limits: list[Any] = [LinearConstraint(matrix, sums, sums)] if len(matrix) else []
    for cells, most in one.bounds:
        bounded = np.zeros((1, len(one.people)))
        bounded[0, cells] = 1
        limits.append(LinearConstraint(bounded, ub=most))
    found = milp(
        random.normal(size=len(one.people)),
        constraints=limits,
        integrality=np.ones(len(one.people)),
        bounds=Bounds(low, np.maximum(low, one.people.sum() + 50 * threshold)),
        options={"node_limit": 3000},
    )
    return None if found.x is None else np.rint(found.x).astype(np.int64)


def rows_of(one: Captured, people: NDArray[np.int64], spec: Mapping[str, Any]) -> pl.DataFrame:
    """The people of a table of cells, as rows that stand for many; who is not known has null."""
    cube, declared = one.cube, spec["columns"]
    columns = {"label": "y"}
    if "prediction" in declared:
        columns["prediction"] = declared["prediction"]["column"]
    columns |= {
        name: model["prediction"]["column"] for name, model in declared.get("models", {}).items()
    }
    codes = cube.codes[cube.people > 0]
    levels = {
        columns.get(key.name, key.name): [
            None if code == NO_LEVEL or key.levels[code] == UNKNOWN else key.levels[code]
            for code in codes[:, at]
        ]
        for at, key in enumerate(cube.keys)
    }
    return pl.DataFrame({**levels, "f": "in", "n": people})


def identity(row: Any) -> str:
    """Which row it is, by all that is no number; a comparison has its reference by name."""
    names = (*NAMES, "reference") if "title" in row else NAMES
    return json.dumps([row.get(name) for name in names], sort_keys=True, default=str)


def is_fact(why: str) -> bool:
    """Whether the reason of a status has no number of its own."""
    parts = [part for part in why.split("; ") if not part.startswith("suppressed: ")]
    return not any(map(str.isdigit, "".join(parts)))


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
    words = {published.get("state"), published.get("standing")}
    if "suppressed" in words or published.get("suppressed"):
        return
    for name, value in published.items():
        twin = other.get(name) if isinstance(other, dict) else None
        if name in WORDS or (name in {"reason", "why"} and published.get("group") == {}):
            continue
        if name == "why" and "status" in published and is_fact(value):
            continue
        if name == "detail" and not value:  # hidden: the text of a hidden detail is empty
            continue
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
        if row.get("reason") in UNLOOKED:
            continue
        if name in others:
            # Two parts of a measure, or two entries, may be of one name: it is one of them.
            each = [[*told_otherwise(row, one, f"{path}[{name}]")] for one in others[name]]
            yield from min(each, key=len)
        elif "suppressed" not in f"{row.get('reason')} {row.get('why')}" and ".appears" not in path:
            # That a gap first appears in a group is a fact: it is significant among all tests.
            yield f"{path}[{name}] is not there"


def ledger_told_otherwise(published: Any, other: Any) -> Iterator[str]:
    """Lines of the ledger on people who are counted; who is dropped is nobody of the twin."""
    mine, twins = published["ledger"], other["ledger"]
    if mine["people"] is not None and mine["people"] != twins["people"]:
        yield f"ledger.people: {mine['people']} and {twins['people']}"
    lines = {(one["column"], one["reason"]): one["people"] for one in twins["set_aside"]}
    for one in mine["set_aside"]:
        there = lines.get((one["column"], one["reason"]))
        if one["people"] is not None and one["people"] != there:
            yield f"ledger.set_aside {one} and {there}"


def notices_told_otherwise(published: Any, other: Any) -> Iterator[str]:
    """Notices with a number that the twin's report does not have."""
    for one in published["notices"]:
        is_fact = "suppress" in one or "in the data and not in the audit" in one
        if one not in other["notices"] and not is_fact and any(map(str.isdigit, one)):
            yield f"notice {one}"


def order_told_otherwise(published: Any, other: Any) -> Iterator[str]:
    """Lists whose rows stand in another order, those that are hidden included (rates come last)."""
    lists = "groups", "comparisons", "lattice", "checks", "scores", "curves", "rates"
    for name in lists:
        here, there = ([*map(identity, tree[name])] for tree in (published, other))
        if name == "rates":
            here = [
                *map(identity, (row for row in published[name] if row["state"] != "suppressed"))
            ]
        common = {*here} & {*there}
        if [one for one in here if one in common] != [one for one in there if one in common]:
            yield f"the order of {name}"


def differences(published: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[str]:
    """What a published report tells, and the open report of a twin tells otherwise."""
    yield from told_otherwise(published, other)
    yield from ledger_told_otherwise(published, other)
    yield from notices_told_otherwise(published, other)
    yield from order_told_otherwise(published, other)


def attack(
    random: Generator,
    captured: list[Captured],
    people: pl.DataFrame,
    spec: Mapping[str, Any],
    *,
    most: int = 3,
) -> list[str]:
    """What tells twins from the people of a published report: nothing, if all is well."""
    captured.clear()
    published = audited(spec, people)
    table, threshold = captured[-1], int(spec["suppress_below"])
    open_spec = {name: value for name, value in spec.items() if name != "suppress_below"}
    faults: list[str] = []
    for cell in random.permutation(np.flatnonzero(table.people < threshold))[:most].tolist():
        twin = twin_of(table, cell, threshold, random)
        if twin is not None:
            faults += differences(published, audited(open_spec, rows_of(table, twin, spec)))
        else:
            faults.append(f"cell {cell} of {table.people[cell]} has no twin")
    # An interval that is hidden says so where others say why there is none, and reversals that
    # are hidden are not named.
    facts = ("no_interval: 'suppressed", ".reversals: [")
    shown = [fault for fault in faults if not any(fact in fault for fact in facts)]
    return [f"{fault}: {json.dumps(spec)}" for fault in shown]
