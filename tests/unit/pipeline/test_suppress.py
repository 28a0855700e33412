"""Suppression tried by an attacker who reads the published report and nothing else.

The attacker knows what the words of a report mean (here written down anew, not taken from the
program), turns every number into an equation over the finest cells, and solves: exactly, by
elimination modulo a prime, and for the bounds that whole numbers of people leave.
"""

from __future__ import annotations

import csv
import itertools
import json
import operator
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import scipy.optimize
from conftest import SAMPLES, SPECS, examples, long
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from schemas import validate
from scipy.optimize import Bounds, LinearConstraint, milp

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.base.frozen import replace
from fairaudit.pipeline.audit_task import RunOptions
from fairaudit.pipeline.suppress import Redaction, protection
from fairaudit.pipeline.suppress.disclosure_support import Support
from fairaudit.pipeline.suppress.protection import PrintedItem, protect
from fairaudit.report import content, terminal
from fairaudit.report.json import document, render
from fairaudit.result import AuditResult, DryRun
from fairaudit.spec import load, parse
from fairaudit.tools import dry_run

PRIME = 2**31 - 1
Marks = NDArray[np.bool_]
Levels = Mapping[str, NDArray[np.str_]]
"""The levels of every cell, by column."""
People = Callable[[Levels], Marks]
Row = NDArray[np.int64]

YES, NO = "yes", "no"


def _is(column: str, *classes: str) -> People:
    return lambda cells: reduce(operator.or_, (cells[column] == name for name in classes))


def _both(label: People, prediction: People) -> People:
    return lambda cells: label(cells) & prediction(cells)


def _outside(people: People) -> People:
    return lambda cells: ~people(cells)


_SAID = _is("prediction", YES, NO)
_LABELLED = _is("label", YES, NO)
_HIT = _both(_is("label", YES), _is("prediction", YES))


# What the published rates count, by the definitions in docs/metrics.md.
RATES: dict[str, Callable[[str], tuple[People, People]]] = {
    "selection_rate": lambda of: (_is(of, YES), _is(of, YES, NO)),
    "base_rate": lambda _: (_is("label", YES), _LABELLED),
    "true_positive_rate": lambda _: (_HIT, _both(_is("label", YES), _SAID)),
    "false_positive_rate": lambda _: (
        _both(_is("label", NO), _is("prediction", YES)),
        _both(_is("label", NO), _SAID),
    ),
    "positive_predictive_value": lambda _: (_HIT, _both(_LABELLED, _is("prediction", YES))),
}


@dataclass
class Attacker:
    """The equations that a published document gives over the finest cells.

    `classes` says which names of classes mean yes and no, `occupied` in which cells somebody is.
    """

    document: Mapping[str, Any]
    columns: Mapping[str, Sequence[str]]
    classes: Mapping[str, str] = field(default_factory=dict)
    occupied: Callable[[tuple[str, ...]], bool] = lambda _: True
    cells: list[tuple[str, ...]] = field(init=False)
    levels: Levels = field(init=False)
    rows: list[tuple[Row, int]] = field(init=False, default_factory=list)
    rates: dict[tuple[Any, ...], Fraction] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.cells = [*itertools.product(*self.columns.values())]
        levels = map(np.array, zip(*self.cells, strict=True))
        self.levels = dict(zip(self.columns, levels, strict=True))
        self._read()

    def marks(self, *tests: People) -> Row:
        """Which cells hold whom all tests want."""
        marks = np.ones(len(self.cells), dtype=np.int64)
        for test in tests:
            marks &= test(self.levels)
        return marks

    def _add(self, row: Row, value: int) -> None:
        self.rows.append((row, value))

    def _read(self) -> None:
        tree = self.document
        if tree["ledger"]["people"] is not None:
            self._add(self.marks(), tree["ledger"]["people"])
        for row in tree["groups"]:
            self._read_group(row)
        self._read_empty(tree["groups"])
        plain = [row for row in tree["rates"] if not row["parameters"]]  # others are averages
        for row in plain:
            place = self._place(row["given"], row["group"])
            self._read_share(row["metric"], row["of"], place, row)
        for row in plain:
            self._read_relative(row)
        for row in tree["comparisons"]:
            if not row["averaged_over"]:
                self._read_parts(row, row["given"])
        for row in tree["checks"]:
            self._read_parts(row, row["stratum"])
        for row in tree["reversals"]:
            self._read_reversal(row)
        for row in tree["lattice"]:
            for entry in row["entries"]:
                self._read_parts(entry, {})
            for one in row["appears"]:
                self._read_appearance(one)

    def _place(self, *groups: Mapping[str, str]) -> People:
        wanted = {name: level for group in groups for name, level in group.items()}
        everybody = np.ones(len(self.cells), dtype=np.bool_)
        return lambda cells: reduce(
            operator.and_, (cells[name] == level for name, level in wanted.items()), everybody
        )

    def _known(self, names: Sequence[str]) -> People:
        everybody = np.ones(len(self.cells), dtype=np.bool_)
        return lambda cells: reduce(
            operator.and_, (cells[name] != "(unknown)" for name in names), everybody
        )

    def _read_group(self, row: Mapping[str, Any]) -> None:
        place = self._place(row["given"], row["group"])
        if row["n"] is not None:
            self._add(self.marks(place), row["n"])
        if row["n"] is not None and row["share"] is not None:
            known = Fraction(row["n"]) / Fraction(row["share"]).limit_denominator(10**6)
            named = self.marks(self._place(row["given"]), self._known(row["by"]))
            self._add(named, round(known))
        for name, count in row["counts"].items():
            if count is not None:
                of_class = _is(row["of"], self.classes.get(name, name))
                self._add(self.marks(place, of_class), count)

    def _read_empty(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Groups that a table does not list are empty."""
        tables: dict[tuple[str, ...], set[tuple[tuple[str, str], ...]]] = {}
        for row in rows:
            whole = {**row["group"], **row["given"]}
            tables.setdefault(tuple(sorted(whole)), set()).add(tuple(sorted(whole.items())))
        for names, list_groups in tables.items():
            for levels in itertools.product(*(self.columns[name] for name in names)):
                group = tuple(zip(names, levels, strict=True))
                if names and group not in list_groups:
                    self._add(self.marks(self._place(dict(group))), 0)

    def _read_share(self, metric: str, of: str, place: People, row: Mapping[str, Any]) -> None:
        """A rate with its integers; where these are missing, the fraction that its value is."""
        if metric not in RATES:
            return
        over, under = RATES[metric](of)
        if row["state"] == "undefined":
            self._add(self.marks(place, under), 0)
        for name, who in (("numerator", over), ("denominator", under), ("n", under)):
            if row.get(name) is not None:
                self._add(self.marks(place, who), row[name])
        if row["value"] is not None:
            self._of_value(row["value"], place, over, under)

    def _of_value(self, value: float, place: People, over: People, under: People) -> None:
        found = Fraction(value).limit_denominator(3_000)
        if abs(found - Fraction(value)) < Fraction(1, 10**13):
            row = self.marks(place, over) * found.denominator
            self._add(row - self.marks(place, under) * found.numerator, 0)

    def _read_relative(self, row: Mapping[str, Any]) -> None:
        """A rate told by its distance from another one that is told."""
        if row["metric"] not in RATES:
            return
        same = [
            one for one in self.document["rates"]
            if not one["parameters"]
            and all(one[name] == row[name] for name in ("metric", "of", "given", "by"))
            and one["group"] == row["reference"] and one["value"] is not None
        ]  # fmt: skip
        over, under = RATES[row["metric"]](row["of"])
        for other in same:
            place = self._place(row["given"], row["group"])
            if row["difference"] is not None:
                value = other["value"] + row["difference"]
                self._of_value(value, place, over, under)
            if row["ratio"] is not None:
                self._of_value(other["value"] * row["ratio"], place, over, under)

    def _read_parts(self, row: Mapping[str, Any], given: Mapping[str, str]) -> None:
        if row["metric"] == "bias_amplification":
            return  # of two outcomes, and does not say which part is of which
        for part in row["parts"]:
            sides = [side for side in (part["first"], part["second"]) if side is not None]
            for side in sides:
                outcome = part["outcome"]
                if outcome is None and side["crowd"] is None:
                    place = self._place(given, side["group"])
                    self._read_share(part["metric"], row["of"], place, side)
                elif outcome is not None:
                    self._read_outcome(row["of"], outcome, self._place(given, side["group"]), side)

    def _read_appearance(self, one: Mapping[str, Any]) -> None:
        """A group and those it is part of, each beside all others, and the rest of each."""
        mine, rate = self._place(one["group"]), (one["metric"], one["of"])
        for row in (one, *one["parents"]):
            place = self._place(row["group"])
            self._read_share(*rate, place, row.get("estimate", row))
            if row["everybody_else"] is not None:
                self._read_share(*rate, _outside(place), row["everybody_else"]["other"])
            if "rest" in row:
                self._read_share(*rate, _both(place, _outside(mine)), row["rest"]["other"])

    def _read_outcome(self, of: str, outcome: str, place: People, side: Mapping[str, Any]) -> None:
        over, under = _is(of, self.classes.get(outcome, outcome)), _is(of, YES, NO)
        for name, who in (("numerator", over), ("denominator", under), ("n", under)):
            if side[name] is not None:
                self._add(self.marks(place, who), side[name])

    def _read_reversal(self, row: Mapping[str, Any]) -> None:
        over, under = RATES[row["rate"]](row["of"])
        tables: list[tuple[Mapping[str, str], Sequence[Mapping[str, Any]]]] = [
            (one["given"], (one["first"], one["second"])) for one in row["strata"]
        ]
        for where, shares in tables:
            for level, share in zip(row["pair"], shares, strict=True):
                place = self._place(where, {row["attribute"]: level})
                self._add(self.marks(place, over), share["numerator"])
                self._add(self.marks(place, under), share["denominator"])

    def solve(self, wanted: Row) -> bool:
        """Whether a count follows from the equations alone, by elimination modulo a prime."""
        if not hasattr(self, "_basis"):
            self._basis = _reduced([row for row, _ in self._known_rows()])
        return not _remainder(wanted * self._open(), self._basis).any()

    def _open(self) -> Row:
        """The cells that no published zero empties."""
        empty = np.zeros(len(self.cells), dtype=np.bool_)
        for row, value in self.rows:
            if value == 0 and (row >= 0).all():
                empty |= row > 0
        return (~empty).astype(np.int64)

    def _known_rows(self) -> Iterator[tuple[Row, int]]:
        alive = self._open()
        for row, value in self.rows:
            yield row * alive, value

    def most(self, wanted: Row) -> float:
        """The largest number of people that may be there, in whole numbers.

        There is somebody in every cell in which somebody is, and nobody else: zeros are printed.
        """
        if not self.rows:
            return float("inf")
        alive = np.array([self.occupied(cell) for cell in self.cells])
        rows = [row for row, _ in self.rows]
        values = np.array([value for _, value in self.rows], dtype=np.float64)
        found = milp(
            -wanted.astype(np.float64),
            constraints=LinearConstraint(np.array(rows), values, values),
            integrality=np.ones(len(self.cells)),
            bounds=Bounds(alive.astype(np.float64), 50_000.0 * alive),
        )
        assert found.status == 0, found.message  # what is published is true of the data
        return float(round(-found.fun))


def _reduced(rows: Sequence[Row]) -> list[tuple[int, Row]]:
    """A basis of the rows, each with the column it leads in."""
    basis: list[tuple[int, Row]] = []
    for row in rows:
        rest = _remainder(row, basis)
        lead = np.flatnonzero(rest)
        if len(lead):
            at = int(lead[0])
            basis.append((at, rest * pow(int(rest[at]), -1, PRIME) % PRIME))
    return basis


def _remainder(row: Row, basis: Sequence[tuple[int, Row]]) -> Row:
    rest = row % PRIME
    for at, one in basis:
        if rest[at]:
            rest = (rest - int(rest[at]) * one) % PRIME
    return rest


def _small_cells(
    people: Mapping[tuple[str, ...], int], columns: Mapping[str, Sequence[str]], threshold: int
) -> Iterator[tuple[str, dict[str, str]]]:
    """Every combination of levels of any columns that has 1 to `threshold` - 1 people."""
    names = list(columns)
    for size in range(1, len(names) + 1):
        for chosen in itertools.combinations(range(len(names)), size):
            totals: dict[tuple[str, ...], int] = {}
            for levels, count in people.items():
                key = tuple(levels[at] for at in chosen)
                totals[key] = totals.get(key, 0) + count
            for key, count in totals.items():
                if 0 < count < threshold:
                    yield (
                        str(count),
                        {names[at]: level for at, level in zip(chosen, key, strict=True)},
                    )


METRICS: tuple[Any, ...] = (
    "selection_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    {"metric": "selection_rate", "of": "label"},
    "demographic_parity_difference",
    {"metric": "equalized_odds_difference", "by": "each", "fail": {"above": 0.1}},
    {"metric": "selection_rate", "compare": "difference", "reference": "rest", "by": "each"},
    {"metric": "impact_ratio", "by": "each", "fail": {"below": 0.8}},
    {"metric": "disparate_impact_ratio", "reference": "largest", "warn": {"below": 0.8}},
    {"metric": "selection_rate", "compare": "gap", "given": "s", "fail": {"above": 0.2}},
    "differential_fairness",
    {"metric": "selection_rate", "compare": "ratio", "given": "s", "average": "pooled",
     "reference": "largest"},
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[str]], dict[tuple[str, ...], int]]:
    """People by two or three attributes, a stratum, a label and a prediction; many are few."""
    sizes = draw(st.sampled_from([(2, 2), (3, 2), (2, 2, 2)]))
    columns = {f"a{n}": [f"{n}{at}" for at in range(size)] for n, size in enumerate(sizes)}
    columns |= {"s": ["s0", "s1"], "label": [NO, YES], "prediction": [NO, YES]}
    some = st.sampled_from([0, 0, 1, 2, 4, 7, 9, 11, 12, 15, 20, 30, 45, 60, 80])
    few, plenty = st.sampled_from([0, 0, 1, 1, 2, 3]), st.sampled_from([15, 20, 25, 40, 60])
    each = {
        group: draw(st.sampled_from([few, few, some, plenty, plenty, plenty, plenty]))
        for group in itertools.product(*columns.values())
        if group[len(sizes) :] == ("s0", NO, NO)
    }
    people = {
        cell: draw(each[*cell[: len(sizes)], "s0", NO, NO])
        for cell in itertools.product(*columns.values())
    }
    for side, value in itertools.product((-1, -2), (NO, YES)):
        # Both classes occur, or there is nothing to audit.
        cell = next(c for c in people if c[side] == value)
        people[cell] = people[cell] or 15
    return columns, {cell: count for cell, count in people.items() if count}


def _audited(
    folder: Path,
    columns: Mapping[str, Sequence[str]],
    people: Mapping[tuple[str, ...], int],
    metrics: Sequence[Any],
    **more: Any,
) -> AuditResult:
    path = folder / "people.csv"
    lines = [",".join([*columns, "n"])]
    lines += [",".join([*levels, str(count)]) for levels, count in people.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    attributes = [name for name in columns if name.startswith("a")]
    outcome = {"positive": YES, "negative": NO}
    return fairaudit.audit(
        {
            "data": str(path),
            "columns": {
                "protected": attributes,
                "strata": ["s"],
                "label": {"column": "label", **outcome},
                "prediction": {"column": "prediction", **outcome},
                "count": "n",
            },
            "metrics": list(metrics),
            **more,
        }
    )


def _attack(
    result: AuditResult,
    columns: Mapping[str, Sequence[str]],
    people: Mapping[tuple[str, ...], int],
    threshold: int,
    classes: Mapping[str, str] | None = None,
    *,
    bounds: int = 4,
) -> list[str]:
    """What the attacker finds out about small cells; nothing, if all is well."""
    occupied = partial(operator.contains, {cell for cell, n in people.items() if n})
    attacker = Attacker(json.loads(render(result)), columns, classes or {}, occupied)
    truth = np.array([people.get(cell, 0) for cell in attacker.cells])
    for row, value in attacker.rows:
        assert row @ truth == value  # else the attacker is mistaken about the report
    found = []
    small = sorted(_small_cells(people, columns, threshold), key=str)
    for count, levels in small:
        wanted = attacker.marks(attacker._place(levels))
        if attacker.solve(wanted):
            found.append(f"{levels} = {count}")
    step = max(len(small) // bounds, 1)
    for count, levels in small[::step] if not found else ():
        wanted = attacker.marks(attacker._place(levels))
        most = attacker.most(wanted)
        if most < threshold:
            found.append(f"{levels} is at most {most:g} ({count})")
    return found


@pytest.mark.long
@settings(examples(10), phases=[Phase.explicit, Phase.generate])  # shrinking takes minutes
@given(
    tables(),
    st.lists(st.sampled_from(range(len(METRICS))), min_size=1, max_size=5, unique=True),
    st.sampled_from([None, 5, 20]),
    st.sampled_from([5, 11]),
    st.sampled_from(["all", "each"]),
)
def test_no_small_cell_of_any_columns_can_be_recovered(
    tmp_path_factory: pytest.TempPathFactory,
    table: tuple[dict[str, list[str]], dict[tuple[str, ...], int]],
    chosen: list[int],
    min_size: int | None,
    threshold: int,
    by: str,
) -> None:
    columns, people = table
    groups = {"by": by, **({} if min_size is None else {"min_size": min_size})}
    metrics = [METRICS[at] for at in chosen]
    folder = tmp_path_factory.mktemp("people")
    result = _audited(folder, columns, people, metrics, groups=groups, suppress_below=threshold)
    assert _attack(result, columns, people, threshold) == []
    validate(document(result))
    _agrees_with_the_document(result)


def _crossed(few: Sequence[int]) -> tuple[dict[str, list[str]], dict[tuple[str, ...], int]]:
    """A gap where both attributes meet, and neither shows it; the third attribute has `few`."""
    columns = {"a0": ["women", "men"], "a1": ["north", "south"], "a2": ["x", "y", "z"],
               "s": ["s0"], "label": [NO, YES], "prediction": [NO, YES]}  # fmt: skip
    people = {}
    for cell in itertools.product(*columns.values()):
        often = (cell[0] == "women") == (cell[1] == "north")
        many = 80 if often == (cell[-1] == YES) else 20
        people[cell] = few[sum(map(ord, "".join(cell))) % len(few)] if cell[2] == "z" else many
    return columns, {cell: count for cell, count in people.items() if count}


@pytest.mark.long
@pytest.mark.parametrize("few", [(1, 2, 3), long((0, 4, 7, 9)), long((2, 0, 0, 1, 30))])
@pytest.mark.parametrize("by", ["all", long("each")])
@pytest.mark.parametrize("threshold", [11, long(60)])
def test_where_a_gap_first_appears_tells_of_nobody_hidden(
    tmp_path: Path, few: tuple[int, ...], by: str, threshold: int
) -> None:
    columns, people = _crossed(few)
    rates = ["selection_rate", "equalized_odds_difference", "differential_fairness"]
    told = partial(_audited, tmp_path, columns, people, rates, groups={"by": by})
    published = told(suppress_below=threshold)
    assert _attack(published, columns, people, threshold) == []
    tree = document(published)
    validate(tree)
    _agrees_with_the_document(published)
    found = [one for row in tree["lattice"] for one in row["appears"]]
    all_cells = [one for row in document(told())["lattice"] for one in row["appears"]]
    assert len(all_cells) >= len(found)
    # A corrected p-value and the number of tests are made of the hidden groups, too.
    assert all(one["significance"] is None for one in found)
    assert all(row["tested"] is None for row in tree["lattice"])
    assert not re.search(r"adjusted p [=<]", terminal.render(content.document(published)))
    # Those of the first two attributes are of hundreds of people, and are told.
    pairs = {tuple(one["group"].values()) for one in found if one["metric"] == "selection_rate"}
    assert {("women", "north"), ("men", "south")} <= pairs


@pytest.mark.long
def test_a_gap_that_appears_among_few_people_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, people = _crossed([2])
    whole = _audited(tmp_path, columns, people, ["selection_rate"])
    assert any(row.appears for row in whole.lattice)
    published = _audited(tmp_path, columns, people, ["selection_rate"], suppress_below=900)
    assert not any(row.appears for row in published.lattice)
    text = terminal.render(content.document(published))
    assert "first appears  " not in text
    assert "Where a gap first appears is shown only" in text
    assert _attack(published, columns, people, 900) == []
    monkeypatch.setattr(Support, "appearance_values", lambda *_: [])
    monkeypatch.setattr(Redaction, "may_print_value", lambda *_: True)
    careless = _audited(tmp_path, columns, people, ["selection_rate"], suppress_below=900)
    found = _attack(careless, columns, people, 900)
    assert any("'a0': 'women', 'a1': 'north'" in one for one in found), found


def _agrees_with_the_document(result: AuditResult) -> None:
    """The text tells no fraction and no size of a group that the document does not."""
    tree = document(result)
    told = json.dumps([tree["groups"], tree["rates"], tree["comparisons"], tree["checks"],
                       tree["reversals"], tree["lattice"], tree["scores"]])  # fmt: skip
    numbers = {int(one) for one in re.findall(r"(?<![\d.])\d+(?![\d.])", told)}
    for all_rows in (False, True):
        text = terminal.render(content.document(result, all_rows=all_rows))
        for over, under in re.findall(r"(?<![\w/.])([\d,]+)/([\d,]+)(?![\w/.])", text):
            assert {int(over.replace(",", "")), int(under.replace(",", ""))} <= numbers
        for size in re.findall(r"n = ([\d,]+)", text):
            assert int(size.replace(",", "")) in numbers


def test_the_attacker_succeeds_where_only_small_counts_are_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, people = WOMEN_IN_THE_NORTH
    whole = partial(_audited, tmp_path, columns, people, ["selection_rate"], suppress_below=11)
    assert _attack(whole(), columns, people, 11) == []
    protector = "fairaudit.pipeline.suppress.protection._Protector"
    monkeypatch.setattr(f"{protector}.hide_more", lambda _: False)
    monkeypatch.setattr(f"{protector}.show_determined", lambda _: None)
    found = _attack(whole(), columns, people, 11)
    assert any("'a0': 'women', 'a1': 'north'" in one for one in found), found


COLUMNS = {
    "a0": ["men", "women"],
    "a1": ["north", "south"],
    "s": ["s0", "s1"],
    "label": [NO, YES],
    "prediction": [NO, YES],
}
WOMEN_IN_THE_NORTH = (
    COLUMNS,
    {
        cell: 1 if cell[:2] == ("women", "north") else 20 + at
        for at, cell in enumerate(itertools.product(*COLUMNS.values()))
    },
)
"""Eight women in the north, and at least 20 of everybody else."""

NOBODY_SMALL = (COLUMNS, {cell: 15 + at for at, cell in enumerate(WOMEN_IN_THE_NORTH[1])})


@dataclass(frozen=True)
class Sample:
    """A sample spec, with its columns, the class that is positive, and that of people per row."""

    spec: str
    groups: tuple[str, ...]
    outcomes: Mapping[str, tuple[str, str]]
    count: str | None = "n"


SAMPLES_TO_ATTACK = (
    Sample("kidney_admissions", ("gender", "race"), {"decision": ("outcome", "admitted")}),
    Sample("berkeley_admissions", ("gender", "department"), {"decision": ("decision", "admitted")}),
    Sample("florida_1976", ("defendant", "victim"), {"decision": ("sentence", "death penalty")}),
    Sample("florida_1987", ("defendant", "victim"), {"decision": ("sentence", "death penalty")}),
    Sample("titanic", ("class", "sex", "age"), {"decision": ("fate", "survived")}),
    Sample("adult_counts", ("race", "gender", "nationality"), {"label": ("income", ">50K")}),
    Sample(
        "fairlearn_page",
        ("group",),
        {"label": ("label", "1"), "prediction": ("prediction", "1")},
        count=None,
    ),
)


def _people_of(sample: Sample) -> tuple[dict[str, list[str]], dict[tuple[str, ...], int]]:
    people: dict[tuple[str, ...], int] = {}
    with (SAMPLES / f"{sample.spec}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            said = (
                YES if row[column] == positive else NO
                for column, positive in sample.outcomes.values()
            )  # fmt: skip
            cell = (*(row[name] for name in sample.groups), *said)
            people[cell] = people.get(cell, 0) + int(row[sample.count] if sample.count else 1)
    columns = {name: sorted({cell[at] for cell in people}) for at, name in enumerate(sample.groups)}
    return columns | {name: [NO, YES] for name in sample.outcomes}, people


def _classes_of(sample: Sample) -> dict[str, str]:
    found = {}
    with (SAMPLES / f"{sample.spec}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            for column, positive in sample.outcomes.values():
                found[row[column]] = YES if row[column] == positive else NO
    return found


@pytest.mark.long
@pytest.mark.parametrize("threshold", [11, long(3), long(100)])
@pytest.mark.parametrize("sample", SAMPLES_TO_ATTACK, ids=lambda sample: sample.spec)
def test_the_samples_withstand_the_attacker(sample: Sample, threshold: int) -> None:
    columns, people = _people_of(sample)
    read = load(SPECS / f"{sample.spec}.yaml")
    result = fairaudit.audit(replace(read, suppress_below=threshold))
    classes = _classes_of(sample)
    assert _attack(result, columns, people, threshold, classes, bounds=12) == []
    assert [one.status for one in result.findings] == [
        one.status for one in fairaudit.audit(read).findings
    ]
    validate(document(result))
    _agrees_with_the_document(result)


@cache
def _published(name: str, threshold: int = 11) -> dict[str, Any]:
    read = load(SPECS / f"{name}.yaml")
    checks = read.checks[:4]  # more verdicts on the same counts are refused
    return document(fairaudit.audit(replace(read, suppress_below=threshold, checks=checks)))


@pytest.mark.long
def test_a_suppressed_row_has_no_number_at_all() -> None:
    numbers = ("value", "n", "numerator", "denominator", "low", "high")
    for name in ("kidney_admissions", "titanic", "loans_score"):
        tree = _published(name)
        hidden = [row for row in tree["rates"] if row["state"] == "suppressed"]
        assert hidden
        for row in hidden:
            assert [row[key] for key in numbers] == [None] * 6
            assert row["difference"] is row["ratio"] is None
            assert row["reason"].startswith("suppressed: fewer than 11 people")
            assert row["standing"] == "suppressed"
        for row in (*tree["comparisons"], *tree["checks"]):
            if row["state"] == "suppressed":
                assert row["value"] is None
                assert not row["parts"]
                assert row["first"] == row["second"] == {}


@pytest.mark.long
def test_hidden_rates_stand_last_by_name() -> None:
    rows = fairaudit.audit(replace(load(SPECS / "titanic.yaml"), suppress_below=11)).rates
    for _, run in itertools.groupby(rows, key=lambda row: (row.metric, row.by, row.stratum)):
        each = list(run)
        hidden = [row.group for row in each if row.estimate.suppressed]
        assert [row.group for row in each[len(each) - len(hidden) :]] == hidden == sorted(hidden)


@pytest.mark.long
def test_nothing_small_leaves_the_report_as_it_is(tmp_path: Path) -> None:
    columns, people = NOBODY_SMALL
    metrics = [*METRICS, {"metric": "f1", "class": "macro"}]
    metrics.append({"metric": "demographic_parity_difference", "class": "macro"})
    plain, published = (
        document(_audited(tmp_path, columns, people, metrics, simpson={}, **more))
        for more in ({}, {"suppress_below": 11})
    )
    assert published["provenance"].pop("suppress_below") == 11
    assert plain["provenance"].pop("suppress_below") is None
    assert "readings" not in published
    assert plain.pop("readings")
    for tree in (plain, published):
        for member in ("spec_path", "spec_sha256"):
            del tree["provenance"][member]
        del tree["provenance"]["files"]  # written twice, perhaps not within the same second
    assert (
        published["provenance"].pop("cube_sha256")
        is None
        is not plain["provenance"].pop("cube_sha256")
    )
    # Said of every published report with limits, whoever is missing.
    told = {*published["notices"]} - {*plain["notices"]}
    assert all(one.startswith("suppression: whether people with missing values") for one in told)
    published["notices"] = [one for one in published["notices"] if one not in told]
    assert len(told) == 1
    assert published == plain


def test_the_hash_of_all_counts_is_not_told_with_small_ones(tmp_path: Path) -> None:
    # Nobody could invert it, but the few possible tables could be tried.
    columns, people = WOMEN_IN_THE_NORTH
    result = _audited(tmp_path, columns, people, ["selection_rate"], suppress_below=11)
    assert result.provenance.cube_sha256 is None
    assert "counts          suppressed" in terminal.render(content.document(result))


def test_fewer_people_than_the_threshold_leave_nothing(tmp_path: Path) -> None:
    columns = {**COLUMNS, "a1": ["north"], "s": ["s0"]}
    people = dict.fromkeys(itertools.product(*columns.values()), 1)
    result = _audited(tmp_path, columns, people, list(METRICS), simpson={}, suppress_below=11)
    tree = document(result)
    validate(tree)
    assert tree["ledger"]["people"] is tree["provenance"]["rows"] is None
    assert all(row["n"] is None for row in tree["groups"])
    assert all(row["state"] == "suppressed" for row in (*tree["rates"], *tree["comparisons"]))
    for row in tree["checks"]:
        sentence = row["sentence"].replace("fewer than 11 people", "")
        assert not re.findall(r"(?<![a-z])\d+", sentence), "but for names of columns: a0"


ROWS = ["g,s,label,prediction", *["A,x,1,1", "A,y,1,0", "B,x,0,1", "B,y,0,0"] * 25]
ROW_SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["g"],
        "label": {"column": "label", "positive": 1},
        "prediction": {"column": "prediction", "positive": 1},
        "strata": ["s"],
    },
    "missing": {"strata": "drop", "label": "drop"},
    "metrics": ["selection_rate"],
    "suppress_below": 11,
}


def test_small_lines_of_the_ledger_are_hidden_with_another(
    audit_csv: Callable[..., AuditResult],
) -> None:
    text = "\n".join([*ROWS, *["A,,1,1"] * 3, *["A,x,,1"] * 40]) + "\n"
    ledger = document(audit_csv(text, ROW_SPEC))["ledger"]
    assert ledger["read"] == 143
    assert ledger["counted"] == 100
    assert [(line["rows"], line["people"]) for line in ledger["dropped"]] == [(None, None)] * 2


def test_a_small_line_alone_hides_how_many_were_read(
    audit_csv: Callable[..., AuditResult],
) -> None:
    text = "\n".join([*ROWS, *["A,,1,1"] * 3]) + "\n"
    result = audit_csv(text, ROW_SPEC)
    tree = document(result)
    assert (
        tree["ledger"]["read"]
        is tree["provenance"]["rows"]
        is tree["provenance"]["files"][0]["lines"]
        is None
    )
    assert tree["ledger"]["counted"] == 100
    text = "".join(terminal.render(content.document(result, all_rows=True)).split())
    # The file lies in a temporary folder, whose name has digits of its own.
    assert "103" not in text.replace(str(tree["provenance"]["files"][0]["path"]), "")


def _below(min_size: int, few: dict[str, tuple[int, int]]) -> AuditResult:
    """Groups a and b with 100 and 80 people selected of 200 and 150, and a few of other groups."""
    counts = {"a": (100, 100), "b": (80, 70), **few}
    rows = [
        (group, decision)
        for group, sides in counts.items()
        for decision, people in zip("10", sides, strict=True)
        for _ in range(people)
    ]
    columns = {"protected": {"g": {"reference": "a"}}, "decision": {"column": "d", "positive": "1"}}
    ratio = {"metric": "demographic_parity_ratio", "by": "g", "fail": {"below": 0.8}}
    spec = {
        "version": 1,
        "columns": columns,
        "groups": {"min_size": min_size},
        "metrics": ["selection_rate", ratio],
        "suppress_below": 11,
    }
    return fairaudit.audit(spec, pl.DataFrame(rows, schema=["g", "d"], orient="row"))


@pytest.mark.parametrize(
    "few", [{"c": (10, 0), "d": (10, 0)}, {"c": (5, 5), "d": (5, 5), "e": (5, 5)}]
)
def test_a_comparison_without_small_groups_does_not_show_that_they_are_small(
    few: dict[str, tuple[int, int]],
) -> None:
    # With min_size 11 a printed ratio says that c and d have at most 10 people each, so 10 and 10.
    result = _below(11, few)
    assert all(
        finding.estimate is None or finding.estimate.suppressed for finding in result.findings
    )
    assert all(entry.estimate.suppressed for row in result.lattice for entry in row.entries)


def test_a_comparison_is_shown_if_its_minimum_leaves_open_how_small_a_group_is() -> None:
    # c and d have 20 people together, and each may have 11 of them.
    (finding,) = _below(22, {"c": (10, 0), "d": (10, 0)}).findings
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(0.5 / (80 / 150))


@pytest.mark.parametrize(("most", "is_shown"), [(20, True), (11, True), (10, False)])
def test_the_bound_of_a_minimum_is_part_of_the_proof(most: int, is_shown: bool) -> None:
    people = np.array([200, 10, 10])
    sets = [np.array([0]), np.array([0, 1, 2])]
    items = [PrintedItem(frozenset([0]), 1), PrintedItem(frozenset([1]), 0)]
    bounds = [(np.array([1]), most), (np.array([2]), most)]
    # 20 people of two groups: with at most 10 people each, both have 10.
    proof = protect(people, sets, items, 11, bounds=bounds)
    assert all(proof.shown) is is_shown


def test_the_hash_is_not_told_if_only_the_people_without_a_number_are_few() -> None:
    numbers = ["1"] * 100 + ["0"] * 100 + ["1"] * 80 + ["0"] * 66 + [""] * 4
    people = pl.DataFrame({"g": ["a"] * 200 + ["b"] * 150, "k": numbers})
    spec = {
        "version": 1,
        "columns": {"protected": {"g": {}}, "prediction": {"column": "k", "number": True}},
        "missing": {"prediction": "aside"},
        "metrics": ["mean_prediction"],
        "suppress_below": 11,
    }
    assert fairaudit.audit(spec, people).provenance.cube_sha256 is None


def test_a_corrected_p_value_is_not_told_next_to_a_hidden_one() -> None:
    # Of two tests the smaller p is doubled: 4 people with 0.8 would follow from it.
    scores = {"a1": (110, 10), "a0": (110, 10), "b1": (49, 0), "b0": (72, 4)}
    rows = [
        (key[0], key[1], score)
        for key, sides in scores.items()
        for score, people in zip((0.2, 0.8), sides, strict=True)
        for _ in range(people)
    ]
    limits = {"fail": {"outside": [-0.001, 0.001], "significant": True}}
    common = {"by": "each", "compare": "difference", "reference": {"g": "a"}, **limits}
    spec = {
        "version": 1,
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "prediction": {"column": "d", "positive": "1"},
            "score": "s",
        },
        "metrics": [{"metric": "selection_rate", **common}, {"metric": "mean_score", **common}],
    }
    people = pl.DataFrame(rows, schema=["g", "d", "s"], orient="row")
    plain, _ = document(fairaudit.audit(spec, people))["checks"]
    told, hidden = document(fairaudit.audit({**spec, "suppress_below": 11}, people))["checks"]
    assert plain["significance"]["adjusted"] > plain["significance"]["p"]
    assert (told["value"], told["significance"], hidden["value"]) == (plain["value"], None, None)


def test_who_reaches_a_small_min_size_is_not_told(tmp_path: Path) -> None:
    columns, people = WOMEN_IN_THE_NORTH
    metric = {"metric": "disparate_impact_ratio", "reference": "largest", "fail": {"below": 0.8},
              "by": [["a0", "a1"]]}  # fmt: skip
    told = []
    for min_size in (5, 10):  # eight women: they take part, or not
        result = _audited(
            tmp_path, columns, people, [metric], groups={"min_size": min_size}, suppress_below=11
        )
        tree = document(result)
        compared = [(row["group"], row["groups_compared"]) for row in tree["comparisons"]]
        left_out = [
            (who["group"], who["reason"]) for one in tree["checks"] for who in one["not_evaluated"]
        ]
        told.append([compared, left_out])
    assert told[0] == told[1]
    assert "women" not in str(told)


def test_a_report_too_large_to_prove_hides_its_widest_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, people = WOMEN_IN_THE_NORTH
    monkeypatch.setattr(protection, "MOST_ENTRIES", 220)
    result = _audited(tmp_path, columns, people, ["selection_rate"], suppress_below=11)
    assert _attack(result, columns, people, 11) == []
    assert any("cross more than 1 columns are hidden" in one for one in result.notices)
    assert all(row.estimate.suppressed for row in result.rates if len(row.by) == 2)
    assert not any(row.estimate.suppressed for row in result.rates if len(row.by) == 1)


def test_what_the_solver_prints_is_not_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    columns, people = WOMEN_IN_THE_NORTH
    solve = scipy.optimize.linprog

    def chatter(*arguments: Any, **options: Any) -> Any:
        os.write(1, b"HiGHS: a line of the solver")
        return solve(*arguments, **options)

    monkeypatch.setattr(scipy.optimize, "linprog", chatter)
    _audited(tmp_path, columns, people, ["selection_rate"], suppress_below=11)
    assert capfd.readouterr().out == ""


@pytest.mark.long
def test_scores_of_a_published_report() -> None:
    plain = document(fairaudit.audit(SPECS / "loans_score.yaml"))
    tree = _published("loans_score")
    validate(tree)
    assert [row["group"] for row in tree["scores"]] == [row["group"] for row in plain["scores"]]
    for row, full in zip(tree["scores"], plain["scores"], strict=True):
        # The lowest score is one person's.
        assert row["lowest"] is row["highest"] is None
        if row["suppressed"]:
            assert row["n"] is row["mean"] is row["median"] is row["auc"] is None
        else:
            assert row["n"] == full["n"] >= 11
            assert row["median"] is None, "a score of four digits, that fewer than 11 people have"
    for one in tree["curves"]:
        assert one["suppressed"] is (not one["calibration"])
        for point in one["calibration"]:
            hits = round(point["share"] * point["n"])
            assert all(count == 0 or count >= 11 for count in (point["n"], hits, point["n"] - hits))


@pytest.mark.parametrize(("sharing", "told"), [(11, [0.5, 0.5]), (10, None)])
def test_a_median_is_told_where_enough_people_share_it(sharing: int, told: Any) -> None:
    scores = [*(f"0.1{at:02}" for at in range(20)), *["0.5"] * sharing]
    scores += [f"0.5{at:02}" for at in range(1, 41 - sharing)]
    frame = pl.DataFrame({"g": ["a", "b"] * 30, "s": [float(one) for one in scores]})
    spec = {
        "columns": {"protected": ["g"], "score": "s"},
        "metrics": ["mean_score"],
        "suppress_below": 11,
    }
    everybody = document(fairaudit.audit(spec, frame))["scores"][0]
    assert everybody["n"] == 60
    assert everybody["median"] == told


def test_notices_with_small_numbers_are_left_out(audit_csv: Callable[..., AuditResult]) -> None:
    header, *rows = ROWS
    lines = [f"{header},score", *(f"{row},0.{at % 10}" for at, row in enumerate(rows))]
    lines[1] = lines[1].rsplit(",", 1)[0] + ",1.5"
    spec = {**ROW_SPEC, "columns": {**ROW_SPEC["columns"], "score": "score"}}
    text = "\n".join(lines) + "\n"
    plain = {name: value for name, value in spec.items() if name != "suppress_below"}
    assert any("1 score lies outside" in one for one in audit_csv(text, plain).notices)
    # A notice on the spec names its own place, and nobody.
    one_sided = {"metric": "disparate_impact_ratio", "reference": "largest", "fail": {"below": 0.8}}
    spec |= {"suppress_below": 30, "metrics": [one_sided]}
    notice, of_itself, of_doubts = audit_csv(text, spec).notices
    assert "a check that passes here may be in doubt" in of_doubts
    assert notice.startswith("metrics[0]: disparate_impact_ratio can differ")
    assert of_itself.startswith("suppression: 1 check looks at hidden numbers")


@pytest.mark.long
def test_an_expired_waiver_is_told_whatever_its_date(tmp_path: Path) -> None:
    """Its day and its line are small numbers, and no people's."""
    waiver = {"check": "impact_ratio/gender/prediction", "group": "all", "reason": "a refit"}
    waiver |= {"approved_by": "J. Doe", "expires": "2001-03-05"}
    (tmp_path / "waivers.yaml").write_text(json.dumps([waiver]), encoding="utf-8")
    text = (SPECS / "titanic.yaml").read_text("utf-8").replace("../", f"{SPECS.parent}/")
    path = tmp_path / "spec.yaml"
    path.write_text(f"{text}\nsuppress_below: 11\nwaivers: waivers.yaml\n", encoding="utf-8")
    result = fairaudit.audit(path)
    assert result.provenance.cube_sha256 is None
    (told,) = (one for one in result.notices if one.startswith("waiver of "))
    assert "held until 2001-03-05" in told


@pytest.mark.parametrize("wrong", ["0", "1", "2.5", "-3", "eleven", "true"])
def test_the_threshold_is_a_whole_number_from_2_up(wrong: str) -> None:
    text = (SPECS / "titanic.yaml").read_text("utf-8") + f"\nsuppress_below: {wrong}\n"
    with pytest.raises(SpecError) as caught:
        parse(text, "titanic.yaml")
    (fault,) = caught.value.faults
    assert fault.path == "suppress_below"
    assert fault.place is not None
    assert fault.place.line == text.count("\n")


@pytest.mark.long
def test_the_command_prints_and_writes_a_published_report(tmp_path: Path) -> None:
    columns = {**COLUMNS, "a1": ["north"], "s": ["s0"]}
    people = dict.fromkeys(itertools.product(*columns.values()), 1)
    _audited(tmp_path, columns, people, ["selection_rate"])
    spec, report = tmp_path / "spec.yaml", tmp_path / "report.json"
    spec.write_text(
        "data: people.csv\n"
        "columns: {protected: [a0], count: n, prediction: {column: prediction, positive: yes}}\n"
        "metrics: [selection_rate]\nsuppress_below: 11\n"
    )
    command = [sys.executable, "-m", "fairaudit", "run", str(spec), "-o", str(report)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rows=suppressed" in done.stderr
    assert json.loads(report.read_text())["provenance"]["suppress_below"] == 11


@pytest.mark.long
@pytest.mark.parametrize("threshold", [40, 11])
def test_the_loans_withstand_the_attacker(threshold: int) -> None:
    # Three attributes and a stratum, groups and labels that are not known, every kind of row.
    people: dict[tuple[str, ...], int] = {}
    with (SAMPLES / "loans.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            cell = (
                row["gender"],
                row["race"] or "(unknown)",
                "under 40" if float(row["age"]) < 40 else "40 and over",
                row["branch"],
                row["repaid"] or "?",
                YES if float(row["score"]) >= 0.5 else NO,
            )
            people[cell] = people.get(cell, 0) + 1
    names = ("gender", "race", "age", "branch", "label", "prediction")
    columns = {name: sorted({cell[at] for cell in people}) for at, name in enumerate(names)}
    read = load(SPECS / "loans.yaml")
    classes = {"positive": YES, "negative": NO}
    result = fairaudit.audit(replace(read, suppress_below=threshold))
    assert _attack(result, columns, people, threshold, classes, bounds=3) == []
    _agrees_with_the_document(result)


def test_a_dry_run_counts_no_hidden_unknown_people_as_a_group(tmp_path: Path) -> None:
    rows = [f"{group},{number % 2}" for group in "abc" for number in range(100)]
    (tmp_path / "d.csv").write_text("\n".join(["g,d", *rows, ",1", ",0", ""]))
    (tmp_path / "s.yaml").write_text(
        "version: 1\ndata: d.csv\nsuppress_below: 11\nmetrics: [selection_rate]\n"
        "columns: {protected: [g], decision: {column: d, positive: 1}}\n"
    )
    previewed = dry_run.preview(tmp_path / "s.yaml", None, RunOptions())
    assert isinstance(previewed, DryRun)
    (grouping,) = (one for one in previewed.groupings if one.by == ("g",))
    assert (grouping.groups, grouping.empty) == (3, 0)
