"""Published sums, scores and verdicts, attacked by whoever knows what stands behind each number.

The attacker reads the JSON of a published report and knows the values that a score takes, the
weight or the number of every kind of person, and where zeros are. Counts that are printed, and
those that a printed number is made of, are equations; for each small count the largest that is
consistent with all of them is found in whole numbers. It must reach the threshold.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ATTACKS, seeds
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from twins import audited, sound

from fairaudit.base.errors import SpecError
from fairaudit.spec import of_mapping

TABLES = round(20 * ATTACKS)
"""`ATTACKS=15 pytest --all` tries three hundred tables each."""
THRESHOLD = 11
FEW, PLENTY = (1, 2, 4, 7), (15, 20, 40, 60, 125)

Cell = tuple[Any, ...]
"""Levels of the attributes, the label, and a score or a decision."""

Marks = NDArray[np.bool_]


class Attacker:
    """Equations on the people of each cell, from what a report prints."""

    def __init__(self, names: tuple[str, ...], people: Mapping[Cell, int]) -> None:
        self.names = names
        self.cells = list(people)
        self.people = np.array([*people.values()])
        self.rows: list[tuple[NDArray[np.int64], int]] = []

    def of_group(self, group: Mapping[str, Any]) -> Marks:
        places = {self.names.index(name): level for name, level in group.items()}
        return np.array([all(cell[at] == level for at, level in places.items())
                         for cell in self.cells], dtype=np.bool_)  # fmt: skip

    def at(self, place: int, level: object) -> Marks:
        """The cells with a level at a place of their names."""
        return np.array([cell[place] == level for cell in self.cells], dtype=np.bool_)

    def like(self, cell: Cell) -> Marks:
        """The cells that begin as this one does."""
        return np.array([one[: len(cell)] == cell for one in self.cells], dtype=np.bool_)

    def knows(self, marks: Marks, factors: NDArray[np.int64] | None = None) -> None:
        """The people of some cells, or a sum of a number of theirs."""
        row = marks.astype(np.int64) * (1 if factors is None else factors)
        self.rows.append((row, int(row @ self.people)))

    def knows_each(self, marks: Marks) -> None:
        """The people of each of some cells."""
        for at in np.flatnonzero(marks).tolist():
            self.knows(np.arange(len(self.cells)) == at)

    def largest(self, marks: Marks, low: NDArray[np.int64]) -> int | None:
        """The largest that a count may be; None where no table is found in time."""
        matrix = np.array([row for row, _ in self.rows])
        sums = np.array([value for _, value in self.rows])
        found = milp(
            -marks.astype(np.float64),
            constraints=LinearConstraint(matrix, sums, sums) if self.rows else None,
            integrality=np.ones(len(self.cells)),
            bounds=Bounds(low, self.people.sum() + 50 * THRESHOLD),
            options={"node_limit": 5000},
        )
        return None if found.x is None else round(float(marks @ found.x))

    def pinned(self, counts: Mapping[str, Marks], low: NDArray[np.int64]) -> Iterator[str]:
        """The small counts that a reader knows to be small."""
        for name, marks in counts.items():
            count = int(self.people[marks].sum())
            if 0 < count < THRESHOLD:
                most = self.largest(marks, low)
                assert most is not None, "the people themselves are a table"
                if most < THRESHOLD:
                    yield f"{name}: {count}, at most {most}"


def rows_of(people: Mapping[Cell, int], names: tuple[str, ...]) -> pl.DataFrame:
    return pl.DataFrame([(*cell, n) for cell, n in people.items()], [*names, "n"], orient="row")


# Scores.

VALUES = (
    (0.2, 0.8),
    (0.2, 0.5, 0.8),
    (0.1, 0.35, 0.6, 0.95),
    tuple(at / 32 for at in range(1, 31)),
)
OF_SCORES = (
    "mean_score", "auc", "brier", "calibration_error", "average_precision", "calibration_slope",
    "hosmer_lemeshow", "well_calibration", "mean_residual", "outcome_mean",
)  # fmt: skip
BETWEEN = ("test_fairness", "multicalibration", "score_parity", "score_parity_gap")


def scored_people(random: Generator) -> tuple[tuple[str, ...], dict[Cell, int]]:
    """Groups by one or two attributes, with a label and a score of few values or of thirty."""
    sizes = [(3,), (5,), (2, 2), (3, 2)][random.integers(4)]
    names = (*(f"a{at}" for at in range(len(sizes))), "y", "s")
    levels = [[f"{at}{level}" for level in range(n)] for at, n in enumerate(sizes)]
    values = VALUES[random.integers(len(VALUES))]
    people: dict[Cell, int] = {}
    for group in itertools.product(*levels):
        sparse = random.random() < 0.3
        for y, value in itertools.product(("no", "yes"), values):
            is_few = random.random() < (0.6 if sparse else 0.07)
            people[*group, y, value] = int(random.choice(FEW if is_few else PLENTY))
    if random.random() < 0.25:  # some have no score
        for cell in [*people][:: int(random.integers(3, 9))]:
            people[*cell[:-1], None] = int(random.choice((*FEW, *PLENTY)))
    return names, people


def score_spec(random: Generator, names: tuple[str, ...]) -> dict[str, Any]:
    attributes = [*names[:-2]]
    columns: dict[str, Any] = {"protected": attributes, "score": "s", "count": "n"}
    if random.random() < 0.7:
        columns["label"] = {"column": "y", "positive": "yes", "negative": "no"}
    if random.random() < 0.7:
        columns["prediction"] = {"column": "s", "positive": {"at_least": 0.5}}
    asked = [OF_SCORES[0], *random.choice(OF_SCORES, 3), *random.choice(BETWEEN, 2)]
    metrics: list[dict[str, Any]] = [
        {"metric": str(name)} | ({"by": "all"} if random.random() < 0.3 else {})
        for name in dict.fromkeys(asked)
    ]
    for metric in metrics:
        if metric["metric"] in OF_SCORES and random.random() < 0.4:
            metric["compare"] = "gap"
    metrics += [{"metric": "selection_rate"}] if "prediction" in columns else []
    missing = dict.fromkeys({"score", "prediction"} & {*columns}, "aside")
    spec = {"columns": columns, "metrics": metrics, "missing": missing}
    return {**spec, "suppress_below": THRESHOLD}


class ScoreReader:
    """What the numbers of a report tell of people by group, label and value of a score.

    A number made of the scores of a group may tell the people of the group by label and value; of
    thirty values by tenth and side of 0.5.
    """

    def __init__(self, attacker: Attacker, columns: Mapping[str, Any]) -> None:
        self.attacker = attacker
        self.numbers = 0
        self.is_cut = "prediction" in columns
        self.has_label = "label" in columns
        self.is_fine = len({cell[-1] for cell in attacker.cells}) <= 21
        self.parts = [
            None if cell[-1] is None else (
                cell[-2] if self.has_label else "",
                cell[-1] if self.is_fine else int(cell[-1] * 10),
            )
            for cell in attacker.cells
        ]  # fmt: skip
        scores = np.array([np.nan if cell[-1] is None else cell[-1] for cell in attacker.cells])
        self.classes: dict[tuple[str, str], Marks] = {
            ("prediction", "positive"): scores >= 0.5,
            ("prediction", "negative"): scores < 0.5,
            ("label", "yes"): attacker.at(-2, "yes"),
            ("label", "no"): attacker.at(-2, "no"),
        }

    def read(self, tree: Mapping[str, Any]) -> None:
        """Everything that a report prints."""
        attacker = self.attacker
        for row in tree["groups"]:
            inside = attacker.of_group(row["group"])
            if row["n"] is not None:
                attacker.knows(inside)
            for name, count in row["counts"].items():
                if count is not None and (row["of"], name) in self.classes:
                    attacker.knows(inside & self.classes[row["of"], name])
        if tree["ledger"]["people"] is not None:
            attacker.knows(attacker.of_group({}))
        for row in (*tree["scores"], *tree["curves"]):
            if not row["suppressed"]:
                self.know_scores([row["group"]])
        for row in tree["rates"]:
            self._read_number(row, [row["group"]])
        compared = [*tree["comparisons"], *tree["checks"]]
        compared += [{**one, "by": row["by"]} for row in tree["lattice"] for one in row["entries"]]
        for row in compared:
            pair = [row.get("first"), row.get("second")]
            self._read_number(row, pair if row.get("group") and all(pair) else self.all_of(row))

    def _read_number(self, row: Mapping[str, Any], groups: list[Any]) -> None:
        if row["state"] == "suppressed":
            return
        if row["metric"] != "selection_rate":
            self.know_scores(groups)
        elif len(groups) == 1:
            inside = self.attacker.of_group(groups[0])
            self.attacker.knows(inside & self.classes["prediction", "positive"])
            self.attacker.knows(inside & self.classes["prediction", "negative"])

    def all_of(self, row: Mapping[str, Any]) -> list[dict[str, str]]:
        """Every group of a grouping."""
        places = [self.attacker.names.index(name) for name in row["by"]]
        levels = {tuple(cell[at] for at in places) for cell in self.attacker.cells}
        return [dict(zip(row["by"], group, strict=True)) for group in sorted(levels)]

    def know_scores(self, groups: list[Any]) -> None:
        """A number made of the scores of some groups."""
        self.numbers += 1
        for group in groups:
            inside = self.attacker.of_group(group)
            for part in {*self.parts} - {None}:
                has_part = [one == part for one in self.parts]
                self.attacker.knows(inside & np.array(has_part, dtype=np.bool_))

    def hidden(self, width: int) -> Iterator[tuple[str, Marks]]:
        """Counts that a report may hide: by label and decision, or by value where they are few."""
        for cell in self.attacker.cells:
            own = self.attacker.like(cell[:width])
            if self.has_label:
                own = own & self.attacker.at(-2, cell[-2])
            if self.is_cut and cell[-1] is not None:
                side = "positive" if cell[-1] >= 0.5 else "negative"
                yield f"{cell[:-1]} {side}", own & self.classes["prediction", side]
            if self.is_fine and cell[-1] is not None:
                yield f"{cell}", own & self.attacker.at(-1, cell[-1])


def attack_scores(random: Generator) -> tuple[list[str], int]:
    names, people = scored_people(random)
    spec = sound(score_spec(random, names))
    tree = audited(spec, rows_of(people, names))
    attacker = Attacker(names, people)
    reader = ScoreReader(attacker, spec["columns"])
    reader.read(tree)
    hidden = dict(reader.hidden(len(names) - 2))
    pinned = attacker.pinned(hidden, np.zeros(len(people), dtype=np.int64))
    return [*pinned], reader.numbers


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(TABLES, quick=4))
def test_scores_tell_no_small_count(seed: int) -> None:
    pinned, _ = attack_scores(np.random.default_rng([40, 1, seed]))
    assert not pinned


def test_the_mean_of_a_score_does_not_tell_a_hidden_class() -> None:
    """The prediction is a cut on the score: 129 people of mean 0.2186 are 125 × 0.2 and 4 × 0.8."""
    people = {("a", 0.2): 60, ("a", 0.8): 60, ("b", 0.2): 125, ("b", 0.8): 4}
    people |= {("c", 0.2): 60, ("c", 0.8): 20}
    cut = {"column": "sc", "positive": {"at_least": 0.5}}
    spec = {
        "columns": {"protected": ["g"], "prediction": cut, "score": "sc", "count": "n"},
        "metrics": ["selection_rate"],
        "suppress_below": THRESHOLD,
    }
    tree = audited(spec, rows_of(people, ("g", "sc")))
    assert {row["group"].get("g"): row["mean"] is not None for row in tree["scores"]} == {
        None: True, "a": True, "b": False, "c": False,
    }  # fmt: skip
    # Positives of b and c together follow from the others, 24 of 209, and no more.
    total, of_a = (row for row in tree["scores"] if row["n"])
    left = total["mean"] * total["n"] - of_a["mean"] * of_a["n"]
    positive = (left - 0.2 * (total["n"] - of_a["n"])) / 0.6
    assert positive == pytest.approx(24)


@pytest.mark.parametrize("few", [1, 10, 11])
def test_a_gap_in_a_bin_of_few_people_is_hidden(few: int) -> None:
    """2/3 - 1/4 of a bin of 12 and of `few` people would tell who is positive among them."""
    people = {("a", 0.3, 1): 40, ("a", 0.3, 0): 40, ("b", 0.3, 1): 40, ("b", 0.3, 0): 60}
    people |= {("a", 0.7, 1): 24, ("a", 0.7, 0): 12, ("b", 0.7, 1): few, ("b", 0.7, 0): 3 * few}
    columns = {"protected": ["g"], "score": "s", "count": "n",
               "label": {"column": "y", "positive": 1}}  # fmt: skip
    metrics = ["test_fairness", "multicalibration", "calibration_error", "auc"]
    spec = {"columns": columns, "metrics": metrics, "suppress_below": THRESHOLD}
    tree = audited(spec, rows_of(people, ("g", "s", "y")))
    rows = [*tree["rates"], *tree["comparisons"]]
    of_b = [row for row in rows if row["group"] in (None, {"g": "b"})]
    assert {row["metric"] for row in of_b} == {*metrics}
    assert {row["state"] for row in of_b} == {"defined" if few == 11 else "suppressed"}


def test_scores_by_crossing_attributes_are_proven_together() -> None:
    """No metric asks for the score: its rows by g and by h tell of who is in both.

    89 of b have 0.8, at most 50 of them in y, so 39 or more in x; of the 43 in x at most 4 are a.
    """
    people = {("a", "x", 0.2): 60, ("a", "x", 0.8): 4, ("b", "x", 0.2): 11, ("b", "x", 0.8): 39}
    people |= {("b", "y", 0.8): 50, ("c", "y", 0.2): 60, ("c", "y", 0.8): 20}
    frame = rows_of(people, ("g", "h", "s")).with_columns(p=pl.lit("1"))
    prediction = {"column": "p", "positive": "1"}
    columns = {"protected": ["g", "h"], "prediction": prediction, "score": "s", "count": "n"}
    spec = {"columns": columns, "metrics": ["selection_rate"], "suppress_below": THRESHOLD}
    tree = audited(spec, frame)
    attacker = Attacker(("g", "h", "s"), people)
    for row in tree["groups"]:
        attacker.knows(attacker.of_group(row["group"]))
    for row in tree["scores"]:
        if not row["suppressed"]:
            attacker.knows(attacker.of_group(row["group"]) & attacker.at(-1, 0.8))
    counts = {f"{cell}": attacker.like(cell) for cell in people}
    assert not [*attacker.pinned(counts, np.zeros(len(people), dtype=np.int64))]


@pytest.mark.parametrize("seed", [2, 4, 7, 22, *seeds(TABLES, quick=0)])
def test_curves_beside_means_tell_no_small_count(seed: int) -> None:
    """A mean tells the people of each tenth, and a curve those between its thresholds, too."""
    random = np.random.default_rng(seed)
    groups = "abcd"[: random.integers(3, 5)]
    values = [round(0.1 * t + 0.01 + 0.02 * i, 3)
              for t in range(random.integers(5, 9)) for i in range(4)]  # fmt: skip
    people: dict[Cell, int] = {}
    for cell in itertools.product(groups, values):
        chance = random.random()
        if chance >= 0.45:
            people[cell] = int(random.choice([*(FEW if chance < 0.5 else PLENTY)]))
    label = {"column": "y", "positive": "1"}
    columns = {"protected": ["g"], "label": label, "score": "s", "count": "n"}
    spec = {"columns": columns, "metrics": ["mean_score"], "suppress_below": THRESHOLD}
    tree = audited(spec, rows_of(people, ("g", "s")).with_columns(y=pl.lit("1")))
    attacker = Attacker(("g", "s"), people)
    steps = {point["at"] for row in tree["curves"] for point in row["thresholds"]}
    tenths = [int(cell[1] * 10) for cell in people]
    pieces = [(tenth, sum(cell[1] >= step for step in steps))
              for tenth, cell in zip(tenths, people, strict=True)]  # fmt: skip
    for row in tree["groups"]:
        attacker.knows(attacker.of_group(row["group"]))
    told: list[tuple[Any, list[Any]]] = [(row, tenths) for row in tree["scores"]]
    told += [(row, pieces) for row in tree["curves"]]
    for row, parts in told:
        if not row["suppressed"]:
            for part in {*parts}:
                has_part = np.array([one == part for one in parts])
                attacker.knows(attacker.of_group(row["group"]) & has_part)
    counts = {
        f"{group} {piece}": attacker.at(0, group) & np.array([one == piece for one in pieces])
        for group, piece in itertools.product(groups, {*pieces})
    }
    assert not [*attacker.pinned(counts, np.zeros(len(people), dtype=np.int64))]


# Weights and numbers.


def weighed_people(random: Generator) -> tuple[tuple[str, ...], dict[Cell, int]]:
    """Groups by one or two attributes, with a label and a decision."""
    sizes = [(3,), (5,), (2, 2), (3, 2)][random.integers(4)]
    names = (*(f"a{at}" for at in range(len(sizes))), "y", "p")
    levels = [[f"{at}{level}" for level in range(n)] for at, n in enumerate(sizes)]
    people: dict[Cell, int] = {}
    for group in itertools.product(*levels):
        is_sparse = random.random() < 0.35
        for y, p in itertools.product(("no", "yes"), ("no", "yes")):
            is_few = random.random() < (0.5 if is_sparse else 0.03)
            people[*group, y, p] = int(random.choice(FEW if is_few else PLENTY))
    return names, people


def attack_sums(random: Generator, *, weighted: bool) -> tuple[list[str], int]:
    """What sums tell of groups whose people have a known weight, or a known number, each."""
    names, people = weighed_people(random)
    width = len(names) - 2
    kinds = [cell if random.random() < 0.3 else cell[:width] for cell in people]
    known = {kind: int(random.integers(10, 400)) for kind in dict.fromkeys(kinds)}
    tenths = np.array([known[kind] for kind in kinds])
    frame = rows_of(people, names)
    frame = frame.with_columns(w=pl.Series(tenths / 10))
    columns: dict[str, Any] = {
        "protected": [*names[:-2]],
        "label": {"column": "y", "positive": "yes", "negative": "no"},
        "prediction": {"column": "p", "positive": "yes", "negative": "no"},
    }
    if weighted:
        frame = frame.select(pl.exclude("n").repeat_by("n").explode())
        columns["weight"] = "w"
        metrics: list[Any] = ["selection_rate", "base_rate", "true_positive_rate"]
    else:
        columns |= {"numbers": {"amount": "w"}, "count": "n"}
        metrics = ["selection_rate", {"metric": "mean_prediction", "of": "amount"}]
    by = ["each", "all"][random.integers(2)]
    spec = {"columns": columns, "metrics": metrics, "groups": {"by": by},
            "suppress_below": THRESHOLD}  # fmt: skip
    tree = audited(spec, frame)
    attacker = Attacker(names, people)
    positive, selected = attacker.at(-2, "yes"), attacker.at(-1, "yes")
    sides = {"label": positive, "prediction": selected}
    over_under = {
        "selection_rate": (selected, attacker.of_group({})),
        "base_rate": (positive, attacker.of_group({})),
        "true_positive_rate": (positive & selected, positive),
        "mean_prediction": (attacker.of_group({}), attacker.of_group({})),
    }
    for row in tree["groups"]:
        inside = attacker.of_group(row["group"])
        if row["n"] is not None:
            attacker.knows(inside)
        for name, count in row["counts"].items():
            if count is not None and row["of"] in sides:
                side = sides[row["of"]]
                attacker.knows(inside & (side if name == "yes" else ~side))
    told = 0
    for row in tree["rates"]:
        if row["state"] == "suppressed":
            continue
        inside = attacker.of_group(row["group"])
        over, under = (inside & marks for marks in over_under[row["metric"]])
        is_sum = weighted or row["metric"] == "mean_prediction"
        told += is_sum
        attacker.knows(over, tenths if is_sum else None)
        attacker.knows(under, tenths if weighted else None)
        if row["n"] is not None:
            attacker.knows(under)
    counts = {f"{cell}": attacker.like(cell) for cell in people}
    counts |= {
        f"{cell[:width]} {names[at]}={cell[at]}": attacker.like(cell[:width])
        & attacker.at(at, cell[at])
        for cell in people
        for at in (-2, -1)
    }
    return [*attacker.pinned(counts, np.ones(len(people), dtype=np.int64))], told


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(TABLES, quick=4))
@pytest.mark.parametrize("weighted", [True, False])
def test_sums_beside_counts_tell_no_small_count(seed: int, *, weighted: bool) -> None:
    pinned, _ = attack_sums(np.random.default_rng([40, 3, seed]), weighted=weighted)
    assert not pinned


# Stages.

ORDER = ("applied", "interviewed", "offered", "hired")


def attack_stages(random: Generator) -> tuple[list[str], int]:
    """What the rates of stages and of steps tell of the last stage of each group."""
    sizes = [(3,), (5,), (2, 2), (3, 2)][random.integers(4)]
    names = (*(f"a{at}" for at in range(len(sizes))), "stage")
    levels = [[f"{at}{level}" for level in range(n)] for at, n in enumerate(sizes)]
    people: dict[Cell, int] = {}
    for group in itertools.product(*levels):
        is_sparse = random.random() < 0.35
        for stage in ORDER:
            is_few = random.random() < (0.4 if is_sparse else 0.05)
            people[*group, stage] = int(random.choice(FEW if is_few else PLENTY))
    width, asked = len(names) - 1, ["selection_rate", "impact_ratio", "differential_fairness"]
    columns = {
        "protected": [*names[:-1]],
        "stages": {"column": "stage", "order": [*ORDER]},
        "count": "n",
    }
    spec = {"columns": columns, "metrics": asked[: int(random.integers(1, 4))],
            "groups": {"by": ["each", "all"][random.integers(2)]},
            "suppress_below": THRESHOLD}  # fmt: skip
    tree = audited(spec, rows_of(people, names))
    attacker = Attacker(names, people)
    at = np.array([ORDER.index(cell[-1]) for cell in people])
    over, under = dict[str, Marks](), dict[str, Marks]()
    for number, stage in enumerate(ORDER[1:], start=1):
        over[stage], under[stage] = at >= number, at >= 0
        step = f"{stage} among {ORDER[number - 1]}"
        over[step], under[step] = at >= number, at >= number - 1
    told = 0
    for row in tree["groups"]:
        inside = attacker.of_group(row["group"]) & under[row["of"]]
        if row["n"] is not None:
            attacker.knows(inside)
        for name, count in row["counts"].items():
            if count is not None:
                told += 1
                attacker.knows(inside & attacker.at(-1, name))
    shown = [row for row in tree["rates"] if row["state"] != "suppressed"]
    for row in tree["comparisons"]:
        if row["state"] != "suppressed":
            sides = [row.get("first"), row.get("second")]
            shown += [{"of": row["of"], "group": group} for group in sides if group]
    for row in shown:
        inside = attacker.of_group(row["group"])
        told += 1
        attacker.knows(inside & over[row["of"]])
        attacker.knows(inside & under[row["of"]])
    counts = {f"{cell}": attacker.like(cell) for cell in people}
    counts |= {
        f"{cell[:width]} {of}": attacker.like(cell[:width]) & marks
        for cell in people
        for of, marks in over.items()
    }
    return [*attacker.pinned(counts, np.ones(len(people), dtype=np.int64))], told


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(TABLES, quick=4))
def test_stages_and_steps_tell_no_small_count(seed: int) -> None:
    pinned, _ = attack_stages(np.random.default_rng([40, 5, seed]))
    assert not pinned


@pytest.mark.parametrize("few", [1, 4, 10])
def test_the_smallest_group_of_a_subset_is_not_of_the_few_who_reach_a_stage(few: int) -> None:
    """Two of three groups have 300 people, and few of one are asked for the last step."""
    last = {"a": (200, 60, 40), "b": (300 - few, few - few // 2, few // 2), "c": (250, 30, 20)}
    people = {
        (group, stage): n
        for group, numbers in last.items()
        for stage, n in zip(("applied", "offered", "hired"), numbers, strict=True)
    }
    columns = {
        "protected": ["g"],
        "stages": {"column": "stage", "order": ["applied", "offered", "hired"]},
        "count": "n",
    }
    spec = {"columns": columns, "metrics": ["selection_rate"]}
    for more in ({}, {"suppress_below": THRESHOLD}):
        (row,) = audited({**spec, **more}, rows_of(people, ("g", "stage")))["lattice"]
        assert (row["groups"], row["smallest"]) == (3, 300)


# Verdicts.

SELECTED_ALONE = {"tp": 1, "fp": 1, "fn": 0, "tn": 0}
"""Utilities whose mean is the selection rate, whatever the labels are."""

NAMES_OF_SELECTION: tuple[tuple[dict[str, Any], str], ...] = (
    ({"metric": "demographic_parity_difference"}, "above"),
    ({"metric": "demographic_parity_ratio"}, "below"),
    ({"metric": "impact_ratio"}, "below"),
    ({"metric": "disparate_impact_ratio", "reference": "largest"}, "below"),
    ({"metric": "differential_fairness"}, "above"),
    ({"metric": "total_variation"}, "above"),
    ({"metric": "selection_rate", "compare": "gap"}, "above"),
    ({"metric": "selection_rate", "compare": "min_ratio", "class": "no"}, "below"),
    ({"metric": "expected_utility", "compare": "gap", "utilities": SELECTED_ALONE}, "above"),
)
"""Measures of how many of each group are selected, each on which side of its limit it fails."""

TWO_NAMES = {
    "protected": {"g": {}, "same": {"column": "g"}},
    "strata": ["constant"],
    "label": {"column": "y", "positive": 1},
    "models": {
        name: {"prediction": {"column": "p", "positive": "yes", "negative": "no"}}
        for name in ("first", "second")
    },
}
"""One attribute and one prediction, under two names each; a stratum of one level."""


def ladder(random: Generator, entries: int) -> dict[str, Any]:
    """So many entries, each of another limit, on the same counts under different names."""
    kinds = [
        *itertools.product(NAMES_OF_SELECTION, ("g", "same"), ("first", "second"), (False, True))
    ]
    metrics = []
    for at in random.permutation(len(kinds))[:entries].tolist():
        (asked, side), by, of, within = kinds[at]
        limit = {side: round(float(random.uniform(0.01, 0.99)), 3)}
        given = {"given": "constant"} if within else {}
        metrics.append({**asked, **given, "by": [[by]], "of": of, "fail": limit})
    return {"columns": TWO_NAMES, "metrics": metrics, "suppress_below": THRESHOLD}


@pytest.mark.parametrize("seed", seeds(TABLES, quick=10))
def test_a_ladder_of_limits_under_many_names_is_refused(seed: int) -> None:
    random = np.random.default_rng([40, 4, seed])
    spec = ladder(random, int(random.integers(5, 30)))
    with pytest.raises(SpecError, match="judge the same counts of people by g × p") as told:
        of_mapping(spec)
    # A measure of two outcomes may make a fault of each.
    assert {fault.path for fault in told.value.faults} == {"suppress_below"}
    four = {**spec, "metrics": spec["metrics"][:4]}
    assert len(of_mapping(four).checks) == 4


SAME_GROUPS = {
    "a column of one level": ("one", [["g"], ["g", "h"]]),
    "a copy": ("copy", [["g"], ["h"]]),
    "a column that follows from it": ("wide", [["g"], ["g", "h"]]),
}


@pytest.mark.parametrize("name", SAME_GROUPS)
def test_a_ladder_of_limits_by_columns_of_the_same_groups_is_refused(name: str) -> None:
    """Eleven limits tell how many of 100 are selected, where four tell a range."""
    kind, groupings = SAME_GROUPS[name]
    people = {("a", "1"): 200, ("a", "0"): 200, ("b", "1"): 4, ("b", "0"): 96,
              ("c", "1"): 20, ("c", "0"): 80}  # fmt: skip
    made = {"one": pl.lit("one"), "copy": pl.col("g"), "wide": pl.col("g") == "a"}[kind]
    frame = rows_of(people, ("g", "p")).with_columns(h=made.cast(pl.String))
    metrics = [
        {"metric": "demographic_parity_difference", "by": [groupings[at % 2]], "id": f"c{at}",
         "fail": {"above": round(0.495 - at / 100, 3)}}
        for at in range(8)
    ]  # fmt: skip
    prediction = {"column": "p", "positive": "1"}
    columns = {"protected": ["g", "h"], "prediction": prediction, "count": "n"}
    spec = {"columns": columns, "metrics": metrics, "suppress_below": THRESHOLD}
    with pytest.raises(SpecError, match="8 limits judge the same counts of people"):
        audited(spec, frame)
    assert len(audited({**spec, "metrics": metrics[:4]}, frame)["checks"]) == 4


@pytest.mark.parametrize(
    "asked",
    [
        {"metric": "base_rate", "compare": "gap"},
        {"metric": "expected_utility", "compare": "gap",
         "utilities": {"tp": 1, "fn": 1, "fp": 0, "tn": 0}},
    ],
    ids=lambda asked: str(asked["metric"]),
)  # fmt: skip
def test_a_ladder_of_limits_on_labels_under_several_models_is_refused(
    asked: dict[str, Any],
) -> None:
    """The share of positive labels is that of the label, whichever model it is said to be of."""
    models = {f"m{at}": {"prediction": {"column": f"p{at}", "positive": "1"}} for at in range(2)}
    columns = {"protected": ["g"], "label": {"column": "y", "positive": 1}, "models": models}
    metrics = [
        {**asked, "of": f"m{at % 2}", "by": "g", "id": f"c{at}", "fail": {"above": at / 10}}
        for at in range(8)
    ]
    spec = {"columns": columns, "metrics": metrics, "suppress_below": THRESHOLD}
    with pytest.raises(SpecError, match="8 limits judge the same counts of people by g × y"):
        of_mapping(spec)
    assert len(of_mapping({**spec, "metrics": metrics[:4]}).checks) == 4
