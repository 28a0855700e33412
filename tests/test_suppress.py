"""Suppression tried by an attacker who reads the published report and nothing else.

The attacker knows what the words of a report mean (here written down anew, not taken from the
program), turns every number into an equation over the finest cells, and solves: exactly, by
elimination modulo a prime, and for the bounds that whole numbers of people leave.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from conftest import SAMPLES, SPECS
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

import fairaudit
from fairaudit.errors import SpecError
from fairaudit.report import content, terminal
from fairaudit.report.json import document, render, schema
from fairaudit.result import AuditResult
from fairaudit.suppress import protect as protection
from fairaudit.suppress import report as publication

PRIME = 2**31 - 1
Cell = Mapping[str, str]
People = Callable[[Cell], bool]
Row = NDArray[np.int64]

YES, NO = "yes", "no"


def _selected(of: str) -> People:
    return lambda cell: cell[of] == YES


def _decided(of: str) -> People:
    return lambda cell: cell[of] in {YES, NO}


def _both(label: str, prediction: str) -> People:
    return lambda cell: cell["label"] == label and cell["prediction"] == prediction


def _label(value: str) -> People:
    return lambda cell: cell["label"] == value and cell["prediction"] in {YES, NO}


# What the published rates count, by the definitions in docs/metrics.md.
RATES: dict[str, Callable[[str], tuple[People, People]]] = {
    "selection_rate": lambda of: (_selected(of), _decided(of)),
    "base_rate": lambda _: (_selected("label"), _decided("label")),
    "true_positive_rate": lambda _: (_both(YES, YES), _label(YES)),
    "false_positive_rate": lambda _: (_both(NO, YES), _label(NO)),
    "positive_predictive_value": lambda _: (
        _both(YES, YES),
        lambda cell: cell["prediction"] == YES and cell["label"] in {YES, NO},
    ),
}


@dataclass
class Attacker:
    """The equations that a published document gives over the finest cells."""

    document: Mapping[str, Any]
    columns: Mapping[str, Sequence[str]]
    cells: list[dict[str, str]] = field(init=False)
    rows: list[tuple[Row, int]] = field(init=False, default_factory=list)
    rates: dict[tuple[Any, ...], Fraction] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        levels = itertools.product(*self.columns.values())
        self.cells = [dict(zip(self.columns, one, strict=True)) for one in levels]
        self._read()

    def marks(self, *tests: People) -> Row:
        """Which cells hold whom all tests want."""
        return np.array([all(test(cell) for test in tests) for cell in self.cells], dtype=np.int64)

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
        for row in (*tree["comparisons"], *tree["checks"]):
            given = row["given"] if isinstance(row["given"], dict) else row["stratum"]
            if not row.get("averaged_over"):
                self._read_parts(row, given)
        for row in tree["reversals"]:
            self._read_reversal(row)

    def _place(self, *groups: Mapping[str, str]) -> People:
        wanted = {name: level for group in groups for name, level in group.items()}
        return lambda cell: all(cell[name] == level for name, level in wanted.items())

    def _read_group(self, row: Mapping[str, Any]) -> None:
        place = self._place(row["given"], row["group"])
        if row["n"] is not None:
            self._add(self.marks(place), row["n"])
        if row["n"] is not None and row["share"] is not None:
            known = Fraction(row["n"]) / Fraction(row["share"]).limit_denominator(10**6)
            self._add(self.marks(self._place(row["given"])), round(known))
        for name, count in row["counts"].items():
            if count is not None:
                of = row["of"]
                self._add(self.marks(place, lambda cell, of=of, name=name: cell[of] == name), count)

    def _read_empty(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Groups that a table does not list are empty."""
        tables: dict[tuple[str, ...], set[tuple[tuple[str, str], ...]]] = {}
        for row in rows:
            whole = {**row["group"], **row["given"]}
            tables.setdefault(tuple(sorted(whole)), set()).add(tuple(sorted(whole.items())))
        for names, listed in tables.items():
            for levels in itertools.product(*(self.columns[name] for name in names)):
                group = tuple(zip(names, levels, strict=True))
                if names and group not in listed:
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
            if not one["parameters"] and all(one[name] == row[name] for name in ("metric", "of", "given", "by"))
            and one["group"] == row["reference"] and one["value"] is not None
        ]  # fmt: skip
        over, under = RATES[row["metric"]](row["of"])
        for other in same:
            place = self._place(row["given"], row["group"])
            if row["difference"]["value"] is not None:
                value = other["value"] + row["difference"]["value"]
                self._of_value(value, place, over, under)
            if row["ratio"]["value"] is not None:
                self._of_value(other["value"] * row["ratio"]["value"], place, over, under)

    def _read_parts(self, row: Mapping[str, Any], given: Mapping[str, str]) -> None:
        for part in row["parts"]:
            sides = [side for side in (part["first"], part["second"]) if side is not None]
            for side in sides:
                outcome = part["outcome"]
                if outcome is None and side["crowd"] is None:
                    place = self._place(given, side["group"])
                    self._read_share(part["metric"], row["of"], place, side)
                elif outcome is not None:
                    self._read_outcome(row["of"], outcome, self._place(given, side["group"]), side)

    def _read_outcome(
        self, of: str, outcome: str, place: People, side: Mapping[str, Any]
    ) -> None:
        over, under = (lambda cell: cell[of] == outcome), _decided(of)
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
        """The largest number of people that may be there, in whole numbers."""
        rows = [row for row, _ in self.rows]
        values = np.array([value for _, value in self.rows], dtype=np.float64)
        found = milp(
            -wanted.astype(np.float64),
            constraints=LinearConstraint(np.array(rows), values, values),
            integrality=np.ones(len(self.cells)),
            bounds=Bounds(0, 2_000),
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
                    yield str(count), {names[at]: level for at, level in zip(chosen, key, strict=True)}


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
    counts = st.sampled_from([0, 0, 1, 2, 4, 7, 9, 11, 12, 15, 20, 30, 45, 60, 80])
    few = draw(st.booleans())
    plenty = st.sampled_from([15, 20, 25, 40, 60])
    people = {
        cell: draw(counts if few or draw(st.integers(0, 9)) == 0 else plenty)
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
    *,
    bounds: int = 4,
) -> list[str]:
    """What the attacker finds out about small cells; nothing, if all is well."""
    attacker = Attacker(json.loads(render(result)), columns)
    truth = np.array([people.get(tuple(cell.values()), 0) for cell in attacker.cells])
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


@settings(max_examples=40, phases=[Phase.explicit, Phase.generate])  # shrinking takes minutes
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
    result = _audited(
        folder, columns, people, metrics, groups=groups, suppress_below=threshold
    )
    assert _attack(result, columns, people, threshold) == []
    jsonschema.validate(document(result), schema())
    _agrees_with_the_document(result)


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
