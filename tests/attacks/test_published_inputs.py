"""Published reports of wider inputs, attacked by twins: missing values, models, classes, controls.

As in `test_suppression.py` every number that is told is held against the twin's own open report.
Here people lack a group, a stratum, a label or a decision, under every policy of `missing`; one or
two models decide on them, into two classes or three; rows are dropped or filtered out; two strata
are held fixed together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ATTACKS, long, seeds
from numpy.random import Generator
from test_suppression import metric_of
from twins import Captured, attack, audited, captured, sound

import fairaudit
from fairaudit.base.errors import FairauditError, SpecError
from fairaudit.metrics import CATALOGUE, GroupMetric, Rate, Requirement
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.share_models import is_pooled

__all__ = ["captured"]

TRIES = round(3 * ATTACKS)
FOUND = (15, 41, 42, 90, 97, 142, 170, 205)
"""Tries that once found lines of the ledger, totals, margins and intervals that told too much."""
YES, NO, MAYBE = "yes", "no", "maybe"


def people_of(random: Generator, *, classes: list[str], models: list[str]) -> pl.DataFrame:
    """People by two attributes, two strata, a label and decisions; many are few or lack one."""
    sizes = [(2, 2), (3, 2), (5,), (4, 3)][random.integers(4)]
    columns = {f"a{at}": [f"a{at}{level}" for level in range(n)] for at, n in enumerate(sizes)}
    columns |= {"s": ["s0", "s1"], "z": ["z0", "z1"][: random.integers(1, 3)]}
    columns |= {"y": classes} | dict.fromkeys(models, classes)
    lacking = {name: float(random.choice([0, 0, 0.1, 0.3])) for name in columns}
    few, plenty = [1, 1, 2, 3, 7, 12], [15, 20, 25, 40, 60, 200]
    rows = []
    for _ in range(int(random.choice([25, 60, 120]))):
        cell = [
            None if random.random() < lacking[name] else levels[random.integers(len(levels))]
            for name, levels in columns.items()
        ]
        few_here = random.random() < (0.7 if cell[0] == "a00" else 0.15)
        rows.append((*cell, "in", int(random.choice(few if few_here else plenty))))
    for at, _ in enumerate(classes):
        cell = [levels[at % len(levels)] for levels in columns.values()]
        rows.append((*cell, "in", 25))
    if random.random() < 0.4:
        rows += [(*row[:-2], "out", int(random.choice([1, 4, 9, 30]))) for row in rows[:3]]
    frame = pl.DataFrame(rows, [*columns, "f", "n"], orient="row")
    return frame.group_by([*columns, "f"], maintain_order=True).agg(pl.col("n").sum())


def spec_of(random: Generator, people: pl.DataFrame, models: list[str]) -> dict[str, Any]:
    """A random spec on such people."""
    attributes = [name for name in people.columns if name.startswith("a")]
    three = MAYBE in people["y"].to_list()
    outcome: dict[str, Any] = {"positive": YES, "negative": [NO, MAYBE] if three else NO}
    if three and random.random() < 0.3:
        outcome = {"positive": YES, "negative": NO, "others": "drop"}
    columns: dict[str, Any] = {
        "protected": attributes,
        "strata": ["s", "z"],
        "label": {"column": "y", **outcome},
        "count": "n",
    }
    if len(models) == 1:
        columns["prediction"] = {"column": models[0], **outcome}
    else:
        columns["models"] = {
            f"m{at}": {"prediction": {"column": name, **outcome}} for at, name in enumerate(models)
        }
    metrics = [metric_of(random, attributes) for _ in range(random.integers(1, 6))]
    for one in metrics:
        _widen(random, one, models, three=three)
    groups: dict[str, Any] = {"by": ["all", "each"][random.integers(2)]}
    if random.random() < 0.4:
        groups["min_size"] = int(random.choice([3, 5, 20, 60]))
    if random.random() < 0.15:
        groups["min_events"] = int(random.choice([2, 5, 20]))
    if random.random() < 0.2:
        of = ["known", "all"][random.integers(2)]
        groups["exclude_below"] = {"share": 0.05, "of": of, "reason": "too few to compare"}
    policies = {
        "protected": ["show", "group", "aside", "drop"],
        "strata": ["show", "group", "aside", "drop"],
        "label": ["aside", "drop"],
        "prediction": ["aside", "drop"],
    }
    missing = {name: some[random.integers(len(some))] for name, some in policies.items()}
    simpson: dict[str, Any] = {}
    if random.random() < 0.5:
        simpson = {"simpson": {"together": int(random.integers(1, 3))}}
        if random.random() < 0.4:
            simpson["simpson"]["fail"] = "every_stratum"
        if len(models) > 1:
            simpson["simpson"]["of"] = "m0"
    return {
        "columns": columns,
        "filter": "f = 'in'",
        "missing": missing,
        "metrics": metrics,
        "groups": groups,
        **simpson,
        "suppress_below": int(random.choice([5, 11, 30])),
    }


def _widen(random: Generator, metric: dict[str, Any], models: list[str], *, three: bool) -> None:
    """A metric of one model of two, of one class of three, over two strata, or with controls."""
    if len(models) > 1 and random.random() < 0.8:
        metric["of"] = f"m{random.integers(2)}"
        if random.random() < 0.3 and metric.get("fail"):
            metric["against"] = f"m{1 - int(metric['of'][1])}"
    if three and random.random() < 0.3:
        metric["class"] = [YES, MAYBE, "macro"][random.integers(3)]
    if "given" in metric:
        metric["given"] = ["s", [["s", "z"]], "all"][random.integers(3)]
        if "average" not in metric and random.random() < 0.4:
            averages = ["pooled", "uniform", "reference", "group", {"s0": 1, "s1": 3}]
            metric["average"] = averages[random.integers(5)]
    if random.random() < 0.1:
        metric.clear()
        limit = {"above": round(float(random.random()), 3)}
        metric.update(metric="regression_slope", controls=["s", "z"], reference="largest")
        metric["fail"] = limit


@pytest.mark.long
@pytest.mark.parametrize("seed", [*seeds(TRIES, quick=1), *map(long, {*FOUND} - {*range(TRIES)})])
def test_what_is_missing_or_of_several_models_tells_no_few(
    seed: int, captured: list[Captured]
) -> None:
    random = np.random.default_rng([18, seed])
    models = ["p", "q"][: int(random.integers(1, 3))]
    classes = [NO, YES, MAYBE][: int(random.choice([2, 2, 3]))]
    people = people_of(random, classes=classes, models=models)
    try:
        faults = attack(random, captured, people, sound(spec_of(random, people, models)))
    except SpecError:  # a check that stands twice, a class that does not occur
        return
    assert not faults, faults[:5]


def published(people: Mapping[tuple[Any, ...], int], names: list[str], **more: Any) -> Any:
    """The published report of rows that occur so many times each."""
    rows = [row for row, times in people.items() for _ in range(times)]
    spec = {"suppress_below": 11, "metrics": ["selection_rate"], **more}
    return audited(spec, pl.DataFrame(rows, names, orient="row"))


DECISION: dict[str, Any] = {
    "protected": ["g"],
    "prediction": {"column": "p", "positive": YES, "negative": NO},
}


def test_those_of_unknown_group_are_not_told_by_their_line_where_they_are_a_group() -> None:
    """343 in all, 120 and 180 told: with a line of 40 the hidden group would be 3."""
    people = {("a", YES): 60, ("a", NO): 60, ("b", YES): 3, (None, NO): 40, ("c", NO): 180}
    for policy in ("group", "show", "aside"):
        tree = published(people, ["g", "p"], columns=DECISION, missing={"protected": policy})
        told = {row["group"].get("g"): row["n"] for row in tree["groups"]}
        lines = [line["people"] for line in tree["ledger"]["set_aside"]]
        everybody = tree["ledger"]["people"]
        hidden = None in (everybody, told["a"], told["c"], *lines)
        assert hidden or everybody - told["a"] - told["c"] - sum(lines) > 11 + 1


def test_lines_that_are_hidden_together_might_each_be_large() -> None:
    """Of 3 and 8 rows that are 11 together, each is at most 10."""
    columns = {**DECISION, "strata": ["s"], "label": {"column": "y", "positive": YES}}
    people: dict[tuple[Any, ...], int] = {("a", YES, "x", YES): 90, ("a", NO, "x", NO): 90}
    people |= {("a", YES, None, YES): 3, ("a", YES, "x", None): 8}
    missing = {"strata": "drop", "label": "drop"}
    ledger = published(people, ["g", "p", "s", "y"], columns=columns, missing=missing)["ledger"]
    assert [line["rows"] for line in ledger["dropped"]] == [None, None]
    assert ledger["read"] is None
    people[("a", YES, "x", None)] = 9
    ledger = published(people, ["g", "p", "s", "y"], columns=columns, missing=missing)["ledger"]
    assert ledger["read"] == 192


SCORES = {("a", 0.2, YES): 90, ("a", 0.8, NO): 85, ("b", 0.2, NO): 70, ("b", 0.8, YES): 75}


@pytest.mark.parametrize("between", [3, 10, 11])
def test_two_cuts_on_a_score_tell_of_no_few_between_them(between: int) -> None:
    columns: dict[str, Any] = {
        "protected": ["g"],
        "score": "s",
        "label": {"column": "y", "positive": YES},
    }
    people = {**SCORES, ("a", 0.5, YES): between}
    metrics: list[Any] = [{"metric": "selection_rate", "at": [0.4, 0.6]}]
    tree = published(people, ["g", "s", "y"], columns=columns, metrics=metrics)
    assert len(tree["rates"]) == 6
    hidden = {row["state"] == "suppressed" for row in tree["rates"]}
    assert hidden == {between < 11}
    # A score is cut at its median, too, which is 0.5 here: above it are those from 0.8.
    metrics = ["scoring_rate", {"metric": "selection_rate", "at": 0.4}]
    rates = published(people, ["g", "s", "y"], columns=columns, metrics=metrics)["rates"]
    assert {row["state"] == "suppressed" for row in rates} == {between < 11}
    # One cut alone has many on either side.
    metrics = [{"metric": "selection_rate", "at": 0.4}]
    alone = published(people, ["g", "s", "y"], columns=columns, metrics=metrics)
    assert all(row["state"] == "defined" for row in alone["rates"])


def test_a_check_by_a_cut_that_is_hidden_says_nothing_of_who_is_missing() -> None:
    """No cell is small, and the cut tells of few: the report is written, without its bounds."""
    people: dict[tuple[Any, ...], int] = {**SCORES, ("a", 0.9, YES): 3, (None, 0.2, YES): 30}
    metrics = [{"metric": "demographic_parity_difference", "at": 0.85, "fail": {"above": 0.01}}]
    columns: dict[str, Any] = {
        "protected": ["g"],
        "score": "s",
        "label": {"column": "y", "positive": YES},
    }
    (check,) = published(people, ["g", "s", "y"], columns=columns, metrics=metrics)["checks"]
    assert check["state"] == "suppressed"
    assert check["missing"] is None


def test_a_group_that_left_is_not_said_to_be_small() -> None:
    """Of whom all rows are dropped, and that leaves no check open: below `min_size`, then."""
    columns = {**DECISION, "prediction": {**DECISION["prediction"], "others": "drop"}}
    people: dict[tuple[Any, ...], int] = {
        ("a", YES): 60,
        ("a", NO): 60,
        ("b", YES): 50,
        ("b", NO): 40,
        ("c", "?"): 3,
    }
    metrics = [{"metric": "demographic_parity_difference", "fail": {"above": 0.3}}]
    more: dict[str, Any] = {"columns": columns, "metrics": metrics}
    several: list[dict[tuple[Any, ...], int]] = [{}, {("d", YES): 3}]
    for few in several:
        told = published(people | few, ["g", "p"], groups={"min_size": 11}, **more)
        words = json.dumps([told["notices"], told["checks"]])
        assert '"c"' not in words
        assert "g=c" not in words
    # Where a group of 10 people leaves the check open, one of any number does, and both say so.
    for least in (3, 5, 10):
        told = published(people, ["g", "p"], groups={"min_size": least}, **more)
        assert told["checks"][0]["status"] == "inconclusive"
        assert "g=c" in json.dumps(told["notices"])


def test_an_error_beside_published_reports_counts_nobody(tmp_path: Path) -> None:
    """The index of a folder lists errors, too: how many rows lack a value, or were filtered out.

    A line number counts the rows above it: those of group a, where the file is sorted.
    """
    above = "a,yes,0.1,in\n" * 20
    files = {
        "gone": "g,p,s,f\n" + "a,yes,0.1,out\n" * 3,
        "missing": f"g,p,s,f\n{above}" + "a,,0.1,in\n" * 3,
        "no_number": f"g,p,s,f\n{above}" + "a,yes,x,in\n" * 3,
        "short": f"g,p,s,f\n{above}b,yes",
        "not_utf": f"g,p,s,f\n{above}\xe9,yes,0.1,in\n",
        "named_twice": "g,p,s,f,p\n" + "a,yes,0.1,in,yes\n" * 20 + "b,yes,0.1,in,no\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_bytes(text.encode("latin-1"))
    spec = {
        "columns": {**DECISION, "score": "s"},
        "filter": "f = 'in'",
        "missing": {"prediction": "error"},
        "metrics": ["selection_rate"],
    }
    for counted, more in ((True, {}), (False, {"suppress_below": 11})):
        found = fairaudit.audit_each({**spec, **more}, tmp_path)
        assert len(found) == len(files)
        for path, error in found.items():
            assert isinstance(error, FairauditError)
            words = str(error).replace(path, "")
            for harmless in ("from -1e9 to 1e9", "windows-1252", "UTF-8", "2 fields", "has 4"):
                words = words.replace(harmless, "")
            assert bool(re.search("[0-9]", words)) is counted, error
            assert ("run without `suppress_below`" in words) is not counted


def test_a_line_among_records_of_several_lines_is_not_told(tmp_path: Path) -> None:
    text = "g,p\n" + "a,yes\n" * 20 + "\nb,no\n"
    (tmp_path / "blank.csv").write_text(text, "utf-8")
    spec = {
        "columns": DECISION,
        "format": {"multiline": True},
        "metrics": ["selection_rate"],
        "data": str(tmp_path / "blank.csv"),
    }
    with pytest.raises(FairauditError, match=r"blank\.csv:22: a blank line"):
        fairaudit.audit(spec)
    with pytest.raises(FairauditError, match=r"blank\.csv: a blank line"):
        fairaudit.audit({**spec, "suppress_below": 11})


def test_rows_that_the_filter_cannot_decide_on_are_not_told_beside_a_hidden_line() -> None:
    """No cell is small, so notices on anybody are printed; these three rows are in no cell."""
    people: dict[tuple[Any, ...], int] = {
        ("a", YES, "in"): 90, ("a", NO, "in"): 80, ("b", YES, "in"): 70, ("b", NO, "out"): 60,
        ("b", NO, "in"): 50, ("b", NO, None): 3,
    }  # fmt: skip
    told = published(people, ["g", "p", "f"], columns=DECISION, filter="f = 'in'")
    assert told["ledger"]["undecided"] is None
    assert not [notice for notice in told["notices"] if "that the filter needs" in notice]


def test_the_rounding_of_a_weight_is_not_told() -> None:
    """One row alone has a weight of ten decimals: that of group c, or one that is dropped."""
    sizes = {("a", YES, 1.0): 90, ("a", NO, 1.0): 80, ("b", YES, 2.0): 70, ("b", NO, 2.0): 60}
    columns = {**DECISION, "weight": "w"}
    missing = {"prediction": "drop"}
    few: list[dict[tuple[Any, ...], int]] = [
        {}, {("c", YES, 0.3333333333): 2}, {("a", None, 0.3333333333): 1}
    ]  # fmt: skip
    told = [
        published({**sizes, **some}, ["g", "p", "w"], columns=columns, missing=missing)
        for some in few
    ]
    assert {tree["provenance"]["weight_error"] for tree in told} == {1e-6}
    assert published(sizes, ["g", "p", "w"], columns=DECISION)["provenance"]["weight_error"] == 0


QUANTITIES = [
    one
    for one in CATALOGUE
    if isinstance(one, GroupMetric)
    and not one.conditional
    and not is_pooled(one)
    and not one.requirements - {Requirement.LABEL, Requirement.PREDICTION}
]


@pytest.mark.long
@pytest.mark.parametrize("asked", QUANTITIES, ids=lambda one: one.id)
def test_a_number_of_a_group_is_made_of_its_own_people_or_says_otherwise(
    asked: GroupMetric,
) -> None:
    """What a group's value is, others cannot change; else they stand behind it, too."""
    columns = {**DECISION, "label": {"column": "y", "positive": YES}, "count": "n"}
    mine = [("a", YES, YES, 31), ("a", NO, YES, 17), ("a", YES, NO, 8), ("a", NO, NO, 59)]
    read = set()
    for others in ((40, 30, 20, 10), (5, 60, 70, 33)):
        rows = [*mine, *(("b", p, y, n) for (_, p, y, _), n in zip(mine, others, strict=True))]
        people = pl.DataFrame(rows, ["g", "p", "y", "n"], orient="row")
        metric: dict[str, Any] = {"metric": asked.id}
        if "utilities" in asked.parameters:
            metric["utilities"] = {"tp": 2, "fp": 1, "fn": -1, "tn": 0}
        rates = audited({"columns": columns, "metrics": [metric]}, people)["rates"]
        read |= {row["value"] for row in rates if row["group"] == {"g": "a"}}
    of_all = isinstance(asked, Rate) and any("all_" in one for one in (*asked.over, *asked.under))
    assert (len(read) > 1) == (of_all or (isinstance(asked, Formula) and asked.uses_everybody))


def test_the_rows_of_two_formats_are_not_told_beside_a_hidden_line(tmp_path: Path) -> None:
    """Of 2 × 60 rows read 118 are counted: two have no decision."""
    decisions = ["1", "0"] * 30
    first = pl.DataFrame({"g": ["a", "b"] * 30, "d": decisions})
    second = pl.DataFrame({"g": ["a", "a", "b"] * 20, "d": [*decisions[:58], None, None]})
    first.write_csv(tmp_path / "d.csv")
    second.write_parquet(tmp_path / "e.parquet")
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}}
    spec = {"columns": columns, "missing": {"decision": "drop"}, "metrics": ["selection_rate"]}
    spec |= {"suppress_below": 11, "data": ["d.csv", "e.parquet"]}
    (tmp_path / "spec.json").write_text(json.dumps(spec), "utf-8")
    result = fairaudit.audit(tmp_path / "spec.json")
    assert (result.ledger.read, result.ledger.counted) == (None, 118)
    (told,) = [one for one in result.notices if "in two formats" in one]
    assert "60" not in told


def test_the_largest_group_of_those_that_take_part_orders_no_hidden_counts() -> None:
    """Group a is larger than b; if b is the reference, a has fewer than `min_size` negatives."""
    label_and_prediction = [(YES, YES), (YES, NO), (NO, YES), (NO, NO)]
    counts = {
        "a": (120, 90, 2, 1),
        "b": (60, 50, 40, 50),
        "c": (60, 50, 30, 20),
        "d": (20, 20, 10, 30),
    }
    people = {
        (group, prediction, label): times
        for group, of_group in counts.items()
        for (label, prediction), times in zip(label_and_prediction, of_group, strict=True)
    }
    columns = {**DECISION, "label": {"column": "y", "positive": YES}}
    metrics = [
        "false_positive_rate",
        {"metric": "false_positive_rate", "compare": "difference", "reference": "largest"},
    ]
    more: dict[str, Any] = {"metrics": metrics, "groups": {"min_size": 5}}
    tree = published(people, ["g", "p", "y"], columns=columns, **more)
    printed = [row for row in tree["rates"] if row["group"] and row["state"] == "defined"]
    assert {row["group"]["g"] for row in printed} == {"b", "c"}
    assert not any(row["reference"] or row["difference"] is not None for row in printed)
    assert not tree["comparisons"]
    # A reference that the spec names says nothing of the others.
    columns["protected"] = {"g": {"reference": "b"}}
    tree = published(people, ["g", "p", "y"], columns=columns, **more)
    (c,) = (row for row in tree["rates"] if row["group"] == {"g": "c"})
    assert c["reference"] == {"g": "b"}
    assert c["difference"] is not None
