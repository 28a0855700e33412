"""One number over all groups, of every measure and comparison, beside plain Python."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from conftest import long
from evidence_specs import document
from law_tables import (
    UTILITIES,
    entry,
    is_numeric,
    large_people,
    looks_at_people,
    random_people,
    spec_of,
)

from fairaudit.base.errors import SpecError
from fairaudit.metrics import CATALOGUE, Disparity, GroupMetric, Metric, Rate, Requirement

AGGREGATES = ("mean", "sum", "max", "min")
COMPARED = ("difference", "ratio", "log_ratio", "odds_ratio")
NO_SHARES = {
    "expected_utility", "group_size", "true_positives", "false_positives", "false_negatives",
    "true_negatives",
}  # fmt: skip
"""Measures without odds: counts of people, and utilities beyond 0 and 1."""


def entries_of(metric: Metric, reference: str) -> list[dict[str, Any]]:
    """The entries that compare each group with others by a measure, in every way there is."""
    if isinstance(metric, GroupMetric) and not metric.conditional:
        more = {"utilities": UTILITIES} if metric.id == "expected_utility" else {}
        is_odds = isinstance(metric, Rate) and metric.is_odds
        return [
            {"metric": metric.id, "compare": compare, "reference": reference, **more}
            for compare in COMPARED
            if metric.id != "hosmer_lemeshow"  # grows with the size of a group
            if compare != "odds_ratio" or not (metric.id in NO_SHARES or is_odds)
        ]
    takes_one = isinstance(metric, Disparity) and metric.to_reference
    return [entry(metric)] if isinstance(metric, Disparity) and takes_one else []


MEASURES = [
    metric
    for metric in CATALOGUE
    if not (is_numeric(metric) or looks_at_people(metric))
    and Requirement.DRAWS not in metric.requirements
]
RECORDS = {metric.id: metric for metric in MEASURES}


def aggregate(
    how: str,
    values: Mapping[str, float],
    people: Mapping[str, int],
    *,
    is_ratio: bool,
    ideal: float = 0,
) -> float:
    """The mean, sum, largest or least departure from parity; of ratios on the log scale."""
    apart = {
        group: abs(math.log(value)) if is_ratio and value > 0 else abs(value - ideal)
        for group, value in values.items()
    }
    if is_ratio:
        apart = {group: math.inf if values[group] == 0 else gap for group, gap in apart.items()}
    if how == "mean":
        total = sum(people[group] for group in apart)
        found = sum(people[group] * gap for group, gap in apart.items() if people[group]) / total
    elif how == "sum":
        found = sum(apart.values())
    else:
        found = max(apart.values()) if how == "max" or is_ratio else min(apart.values())
    return math.exp(-found if how == "min" else found) if is_ratio else found


STATES = {"undefined": math.nan, "infinite": math.inf, "negative_infinite": -math.inf}
Key = tuple[str, str | None, str]
Values = tuple[dict[str, float], dict[str, float]]


def values_of(seed: int, reference: str) -> tuple[dict[Key, Values], dict[Key, dict[str, int]]]:
    """Of each comparison the values of groups and the aggregates, and the people of each group.

    NaN stands for a value that is not defined.
    """
    random = np.random.default_rng(seed)
    people = large_people(random) if not seed else random_people(random, alike=False)
    entries = [asked for metric in MEASURES for asked in entries_of(metric, reference)]
    metrics = [
        {**asked, **more}
        for asked in entries
        for more in ({}, *({"aggregate": how} for how in AGGREGATES))
    ]
    found = document(spec_of(metrics), people)
    values = dict[Key, Values]()
    for row in found["comparisons"]:
        by_group, aggregates = values.setdefault(
            (row["metric"], row["compare"], str(row["given"])), ({}, {})
        )
        value = row["value"] if row["state"] == "defined" else STATES[row["state"]]
        how = row["parameters"].get("aggregate")
        if how is None:
            by_group[str(row["group"])] = value
        else:
            aggregates[how] = value
    sizes = dict[Key, dict[str, int]]()
    for row in found["rates"]:
        key = row["metric"], None, str(row["given"])
        sizes.setdefault(key, {})[str(row["group"])] = row["n"]
    return values, sizes


@pytest.mark.long
@pytest.mark.parametrize("reference", ["rest", long("overall")])
@pytest.mark.parametrize("seed", [0, long(1), long(2)])
def test_an_aggregate_is_made_of_the_values_of_the_groups(seed: int, reference: str) -> None:
    values, sizes = values_of(seed, reference)
    defined = 0
    for (name, compare, given), (by_group, aggregates) in values.items():
        record = RECORDS[name]
        if not aggregates:
            continue
        quotient = isinstance(record, Disparity) and record.comparison.is_ratio
        is_ratio = quotient or compare in {"ratio", "odds_ratio"}
        ideal = float(record.ideal) if isinstance(record, Disparity) else 0.0
        people = sizes.get((name, None, given), {}) if isinstance(record, GroupMetric) else {}
        for how in AGGREGATES:
            found = aggregates[how]
            if not by_group or any(map(math.isnan, by_group.values())):
                assert math.isnan(found), (name, compare, how, by_group, found)
                continue
            if math.isinf(found):
                # A ratio of 0 or to 0 is infinitely far from parity.
                assert {0.0, math.inf, -math.inf} & {*by_group.values()}, (name, compare, how)
                continue
            if how == "mean" and not set(by_group) <= set(people):
                # Not one rate is compared but several: between the nearest and the farthest.
                ends = [
                    aggregate(end, by_group, {}, is_ratio=is_ratio, ideal=ideal)
                    for end in ("min", "max")
                ]
                assert min(*ends, 1.0 if is_ratio else ends[0]) <= found * (1 + 1e-9)
                assert found <= max(ends) * (1 + 1e-9)
                continue
            expected = aggregate(how, by_group, people, is_ratio=is_ratio, ideal=ideal)
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-12), (name, compare, how)
            defined += 1
    assert defined > (500 if not seed else 0)


def test_every_measure_that_compares_groups_is_under_the_law() -> None:
    """Nothing of the catalogue is forgotten but numbers, people one by one, and draws."""
    asked = {metric.id for metric in MEASURES if entries_of(metric, "rest")}
    left_out = {metric.id for metric in CATALOGUE} - asked
    for name in left_out:
        record = next(metric for metric in CATALOGUE if metric.id == name)
        single = isinstance(record, Disparity) and not record.to_reference
        composition = isinstance(record, GroupMetric) and record.conditional
        assert (
            single
            or composition
            or name == "hosmer_lemeshow"  # grows with the size of a group
            or not isinstance(record, GroupMetric | Disparity)
            or is_numeric(record)
            or looks_at_people(record)
            or Requirement.DRAWS in record.requirements
        ), name


def test_odds_have_no_odds() -> None:
    """What the law found: the odds of 1.5 are negative, so aggregates of their ratios were none."""
    asked = {"metric": "error_type_ratio", "compare": "odds_ratio", "reference": "rest"}
    with pytest.raises(SpecError, match="error_type_ratio gives odds"):
        document(spec_of([asked]), large_people(np.random.default_rng(0)))
