"""Published reports attacked by twins: other people whose report would read the same.

See `twins.py`. A factor `ATTACKS=100` tries so many times as many specs.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ATTACKS, seeds
from law_tables import COMPARING, entry
from numpy.random import Generator
from twins import (
    Captured,
    attack,
    audited,
    captured,
    rows_of,
    sound,
    told_otherwise,
    twin_of,
)

from fairaudit.metrics import CATALOGUE, GroupMetric, Requirement
from fairaudit.metrics.share_models import is_pooled

__all__ = ["captured"]

TRIES = round(12 * ATTACKS)
YES, NO = "yes", "no"
OUTCOME = {"positive": YES, "negative": NO}


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
    and not is_pooled(one)
    and not one.requirements - {Requirement.LABEL, Requirement.PREDICTION}
]


COUNTED = [
    one
    for one in COMPARING
    if not one.requirements & {Requirement.SCORE, Requirement.DISTRIBUTION} and not is_pooled(one)
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


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(TRIES, quick=2))
def test_a_report_tells_nothing_that_its_twin_would_not(
    seed: int, captured: list[Captured]
) -> None:
    random = np.random.default_rng([16, seed])
    people = people_of(random)
    faults = attack(random, captured, people, sound(spec_of(random, people)))
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


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(TRIES, quick=2))
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
    everything = audited({**whole, "columns": columns}, people)
    assert len(everything["scores"]) >= len(tree["scores"])
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
    twin = twin_of(one, cell, spec["suppress_below"], random)
    assert twin is not None
    spec.pop("suppress_below")
    mine, other = (audited(spec, rows_of(one, table, spec)) for table in (one.people, twin))
    assert [*told_otherwise(mine, other)]
    assert not [*told_otherwise(mine, mine)]
    few = people.with_columns(score=pl.Series(np.linspace(0, 1, len(people))))
    assert [
        *few_in_curves(audited({**spec, "columns": {**spec["columns"], "score": "score"}}, few), 11)
    ]
