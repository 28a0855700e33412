"""Laws that bind a number to its interval, its p-value and its verdict, over the whole catalogue.

Every table is audited once with all measures, or a third of them in the quick run; CI tries a few
tables, and `LAW_TABLES=400 pytest --all tests/laws/test_evidence_laws.py` so many. What cannot keep
a law stands in a table with its reason.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import fewer, long, sampled
from law_tables import (
    COMPARING,
    NUMERIC,
    checks_of,
    entry,
    large_people,
    numeric_checks,
    numeric_people,
    one_cell,
    random_people,
)

from fairaudit.evidence.methods import find_methods, name_interval, name_test
from fairaudit.metrics import Disparity, Requirement, TableMetric, find_metric

TABLES = int(os.environ.get("LAW_TABLES", fewer(6)))
RAW = {"correction": "none"}
WITHOUT_TEST = {
    "well_calibration", "explained_difference", "differential_fairness_credible",
    "majority_baseline", "score_parity", "score_parity_gap", "test_fairness",
    "between_group_generalized_entropy", "multicalibration",
}  # fmt: skip
"""What has neither a test nor an interval to make one of: `significant` is refused for it."""
UNWEIGHTED = {"regression_slope"}
"""What is refused under survey weights: it has no standard error."""
TESTED = sampled([one for one in COMPARING if one.id not in WITHOUT_TEST])

Check = dict[str, Any]


def ideal(record: Disparity | TableMetric) -> float:
    return float(record.ideal)


def is_quotient(record: Disparity | TableMetric) -> bool:
    return isinstance(record, Disparity) and record.comparison.is_ratio and record.ideal == 1


def limit_at(record: Disparity | TableMetric, apart: float) -> dict[str, Any]:
    """A limit so far from parity: as a difference, or as the logarithm of a ratio."""
    center, (low, high) = ideal(record), record.bounds
    ends = center - apart, center + apart
    if is_quotient(record):
        ends = math.exp(-apart), math.exp(apart)
    if center == low:
        return {"above": ends[1]}
    return {"below": ends[0]} if center == high else {"outside": list(ends)}


def asking(apart: float, **more: Any) -> list[dict[str, Any]]:
    """All measures that have a test, gated close to parity."""
    fails = ({**limit_at(one, apart), **more} for one in TESTED)
    return [
        entry(one, fail=fail, undefined="skip") for one, fail in zip(TESTED, fails, strict=True)
    ]


@cache
def tables() -> list[tuple[pl.DataFrame, list[Check]]]:
    """Random tables with the raw evidence of every measure; every other one of equal groups."""
    found = []
    for seed in range(TABLES):
        people = random_people(np.random.default_rng(seed), alike=seed % 2 == 0)
        found.append((people, checks_of(people, asking(1e-6), inference=RAW)))
    return found


@cache
def weighted_tables() -> list[list[Check]]:
    """The same of people with survey weights; scores are refused with them."""
    found = []
    metrics = [
        one
        for one, record in zip(asking(1e-6), TESTED, strict=True)
        if not record.requirements
        & {Requirement.SCORE, Requirement.DISTRIBUTION, Requirement.ORDER}
        and record.id not in UNWEIGHTED
    ]
    for seed in range(max(TABLES // 3, 2)):
        random = np.random.default_rng([5, seed])
        people = random_people(random, alike=seed % 2 == 0).drop("s")
        people = people.group_by("g", "z", "y", "p", "c", maintain_order=True).agg(pl.sum("n"))
        people = people.with_columns(w=pl.Series(random.choice([0.5, 1.0, 2.5], len(people))))
        found.append(checks_of(people, metrics, inference=RAW, weighted=True))
    return found


@cache
def numeric_tables() -> list[list[Check]]:
    """Random tables of numbers with the raw evidence of every measure of them."""
    metrics = [
        entry(one, fail=limit_at(one, 1e-6), undefined="skip") for one in NUMERIC
    ] + [
        {"metric": name, "compare": how, "reference": "g0", "fail": limit, "undefined": "skip"}
        for name in ("mae", "mean_prediction", "mean_label")
        for how, limit in (("difference", {"above": 1e-6}), ("ratio", {"above": 1 + 1e-6}))
    ]  # fmt: skip
    return [
        numeric_checks(
            numeric_people(np.random.default_rng([3, seed]), alike=seed % 2 == 0), metrics,
            inference=RAW,
        )
        for seed in range(2 * TABLES)
    ]  # fmt: skip


def all_checks() -> Iterator[Check]:
    """Every check of every table: of outcomes and scores, under weights, of numbers."""
    for _, checks in tables():
        yield from checks
    for checks in (*weighted_tables(), *numeric_tables()):
        yield from checks


def parity_of(check: Check) -> tuple[float, bool]:
    """The value at parity, and whether it is that of a quotient."""
    record = find_metric(check["metric"])
    if isinstance(record, Disparity | TableMetric):
        return ideal(record), is_quotient(record)
    ratio = check["asked"]["compare"] == "ratio"
    return float(ratio), ratio


def evidence() -> Iterator[tuple[Check, tuple[float, float, float], float]]:
    """Every check with an interval and a test: low, parity, high on its own scale, and p."""
    for check in all_checks():
        if None in {check["value"], check["low"], check["high"]} or not check["significance"]:
            continue
        center, quotient = parity_of(check)
        low, middle, high = check["low"], center, check["high"]
        if quotient:
            low, middle, high = (math.log(max(end, 1e-300)) for end in (low, middle, high))
        yield check, (low, middle, high), check["significance"]["p"]


@pytest.mark.long
def test_a_value_lies_in_its_interval() -> None:
    for check, *_ in evidence():
        assert check["low"] <= check["value"] + 1e-12, check["sentence"]
        assert check["value"] <= check["high"] + 1e-12, check["sentence"]


def test_no_interval_away_from_parity_stands_beside_a_large_p() -> None:
    number = 0
    for check, (low, center, high), p in evidence():
        room = 0.25 * (high - low)
        if low > center + room or high < center - room:
            number += 1
            assert p <= 0.2, check["sentence"]
    assert number > 3 * TABLES, "tables without a disparity would prove nothing"


def test_no_tiny_p_stands_beside_an_interval_that_holds_parity() -> None:
    number = 0
    for check, (low, center, high), p in evidence():
        if p >= 1e-4:
            continue
        number += 1
        room = 0.1 * (high - low)
        record = find_metric(check["metric"])
        one_sided = isinstance(record, Disparity | TableMetric) and ideal(record) in record.bounds
        inside = center in {low, high} if one_sided else low + room < center < high - room
        assert not inside, check["sentence"]
    assert number > TABLES


def equal_groups(random: np.random.Generator, groups: int) -> pl.DataFrame:
    """Groups that are the same people, by name only another."""
    one = large_people(random).filter(pl.col("g") == "g0")
    return pl.concat([one.with_columns(g=pl.lit(f"g{at}")) for at in range(groups)])


@pytest.mark.parametrize("groups", [2, long(5)])
def test_equal_groups_never_fail_and_have_no_small_p(groups: int) -> None:
    people = equal_groups(np.random.default_rng(groups), groups)
    for check in checks_of(people, asking(1e-6, significant=True)):
        assert check["status"] != "fail", check["sentence"]
        if check["significance"] and check["value"] == find_metric(check["metric"]).ideal:  # type: ignore[union-attr]
            assert check["significance"]["p"] > 0.2, check["sentence"]


MODIFIERS = {
    "Šidák",
    "cluster-robust",
    "effective counts",
    "over pairs",
    "permutations",
    "pairs",
    "simultaneous over pairs",
}
"""What a report adds to the name of a method, by how many values and groups there are."""


def test_explain_names_the_method_that_is_printed() -> None:
    number = 0
    for check in all_checks():
        record = find_metric(check["metric"])
        if not isinstance(record, Disparity | TableMetric):
            continue
        printed = {name_interval: check.get("method"), name_test: None}
        if check.get("significance"):
            printed[name_test] = check["significance"]["test"]
        for explain, name in printed.items():
            if not name:
                continue
            number += 1
            found, explained = (
                {method.name for method in find_methods(text)} - MODIFIERS
                for text in (name, explain(record))
            )
            assert found <= explained, (record.id, name, explain(record))
            interval = "from the interval"
            is_its_own = explain(record).startswith(interval) and name != interval
            assert not is_its_own, (record.id, name, explain(record))
    assert number > 10 * TABLES


# No hiding -----------------------------------------------------------------------------------

TINY = [one_cell("t", z=z, y=y, p=p) for z, y, p in ((0, 1, 1), (0, 0, 1), (1, 1, 0), (1, 0, 0))]
MANY = [
    one_cell(f"t{at}", z=k % 2, y=k & 1, p=k >> 1, s=(0.1, 0.6, 0.95)[k % 3])
    for at in range(30)
    for k in range(3)
]
ADDED: Mapping[str, list[pl.DataFrame]] = {
    "a group of four": TINY,
    "a group of one": TINY[:1],
    "thirty groups of three": MANY,
    "thirty groups of one": MANY[::3],
    "people of no known group": [one_cell(None, y=at % 2, p=at % 2, n=50) for at in range(2)],
    "people of no known label": [one_cell(f"g{at}", y=None, p=1 - at, n=50) for at in range(2)],
    "a stratum of three": [one_cell(f"g{at}", z=7, y=at % 2, p=at % 2) for at in range(3)],
    "a stratum of one group": [one_cell("g1", z=8, y=at, p=at, n=30) for at in range(2)],
    "a group without positives": [one_cell("t", z=at, y=0, p=at, n=30) for at in range(2)],
    "a group without negatives": [one_cell("t", z=at, y=1, p=at, n=30) for at in range(2)],
    "a group of which nobody is selected": [one_cell("t", y=at, p=0, n=30) for at in range(2)],
}


@cache
def gates() -> list[dict[str, Any]]:
    """Every measure gated halfway between parity and what it is among people who differ widely."""
    people = large_people(np.random.default_rng(3))
    metrics = []
    for check in checks_of(people, asking(1e-6, significant=True)):
        record = find_metric(check["metric"])
        assert isinstance(record, Disparity | TableMetric)
        assert check["status"] == "fail", f"no overwhelming evidence: {check['sentence']}"
        far = math.log(check["value"]) if is_quotient(record) else check["value"] - ideal(record)
        limit = limit_at(record, abs(far) / 2)
        metrics.append(entry(record, fail={**limit, "significant": True}))
    return metrics


@pytest.mark.long
@pytest.mark.parametrize("added", [*[*ADDED][:1], *map(long, [*ADDED][1:])])
def test_nobody_hides_a_gap(added: str) -> None:
    """What fails with overwhelming evidence never passes, nor only warns, whoever is added."""
    people = pl.concat([large_people(np.random.default_rng(3)), *ADDED[added]])
    for check in checks_of(people, gates()):
        assert check["status"] in {"fail", "inconclusive"}, (added, check["sentence"])


def of_weights(people: pl.DataFrame) -> pl.DataFrame:
    """The same people with survey weights, without their scores."""
    columns = ["g", "z", "y", "p", "c"]
    counted = people.group_by(columns, maintain_order=True).agg(pl.sum("n"))
    return counted.with_columns(w=pl.when(pl.col("c") == "u").then(1.5).otherwise(0.75))


@pytest.mark.long
@pytest.mark.parametrize(
    "added", ["a group of one", long("a group of four"), long("thirty groups of three")]
)
def test_nobody_hides_a_gap_under_weights(added: str) -> None:
    large = large_people(np.random.default_rng(3))
    unscored = {
        record.id
        for record in TESTED
        if not record.requirements
        & {Requirement.SCORE, Requirement.DISTRIBUTION, Requirement.ORDER}
    }
    metrics = [gate for gate in gates() if gate["metric"] in unscored - UNWEIGHTED]
    before = checks_of(of_weights(large), metrics, weighted=True)
    people = of_weights(pl.concat([large, *ADDED[added]]))
    after = checks_of(people, metrics, weighted=True)
    for one, other in zip(before, after, strict=True):
        if one["status"] == "fail":
            assert other["status"] in {"fail", "inconclusive"}, other["sentence"]
    assert sum(one["status"] == "fail" for one in before) > len(metrics) / 2


def numbers_of(*groups: tuple[str, float, float, int]) -> pl.DataFrame:
    """People of groups by the mean of a number and of its prediction, spread alike."""
    rows = [
        (g, f"z{at % 2}", y + 0.1 * (at % 7 - 3), p + 0.2 * (at % 5 - 2), 1)
        for g, y, p, n in groups
        for at in range(n)
    ]
    return pl.DataFrame(rows, ["g", "z", "y", "p", "n"], orient="row")


@pytest.mark.long
@pytest.mark.parametrize(
    "added",
    [
        [("t", 9.0, 3.0, 1)],
        [("t", 9.0, 3.0, 3)],
        [(f"t{at}", at, 30.0 - at, 2) for at in range(30)],
    ],
    ids=["one", "three", "thirty of two"],
)  # fmt: skip
def test_nobody_hides_a_gap_of_numbers(added: list[tuple[str, float, float, int]]) -> None:
    large = numbers_of(("g0", 10, 10.2, 400), ("g1", 12, 14.5, 400), ("g2", 11, 11.1, 300))
    asked = [entry(one, fail={**limit_at(one, 1e-6), "significant": True}) for one in NUMERIC]
    asked += [
        {"metric": name, "compare": how, "fail": {**limit, "significant": True}, **more}
        for name in ("mae", "mean_prediction")
        for how, limit, more in (
            ("gap", {"above": 1e-6}, {}), ("min_ratio", {"below": 1 - 1e-6}, {}),
            ("ratio", {"below": 1 - 1e-6}, {"reference": "highest"}),
        )
    ]  # fmt: skip
    for check in numeric_checks(large, asked):
        assert check["status"] == "fail", check["sentence"]
    for check in numeric_checks(pl.concat([large, numbers_of(*added)]), asked):
        assert check["status"] in {"fail", "inconclusive"}, check["sentence"]


# No crying wolf, more evidence, symmetry -----------------------------------------------------


@pytest.mark.long
def test_equal_chances_seldom_fail() -> None:
    """Of specs with every measure gated at parity no more than 1 in 20 may fail, corrected."""
    fails = [
        any(
            check["status"] == "fail" for check in checks_of(people, asking(1e-6, significant=True))
        )
        for people, _ in tables()[::2]
    ]
    limit = 0.05 * len(fails) + 3 * math.sqrt(0.05 * 0.95 * len(fails)) + 1
    assert sum(fails) <= limit, [2 * at for at, failed in enumerate(fails) if failed]


@pytest.mark.long
def test_ten_times_the_people_know_no_less() -> None:
    for people, checks in tables()[: max(TABLES // 2, 1)]:
        more = checks_of(people.with_columns(n=pl.col("n") * 10), asking(1e-6), inference=RAW)
        for before, after in zip(checks, more, strict=True):
            if not before["significance"]:
                continue
            if before["metric"] == "differential_fairness_pooled":
                continue  # More people may show that groups are less alike: its prior is estimated.
            assert after["significance"], after["sentence"]
            p, later = before["significance"]["p"], after["significance"]["p"]
            assert later <= p * 1.5 + 1e-3, (before["sentence"], after["sentence"])
            if None in {before["low"], before["high"], after["low"], after["high"]}:
                continue
            width, narrower = (one["high"] - one["low"] for one in (before, after))
            assert narrower <= width * 1.05 + 1e-9, (before["sentence"], after["sentence"])


def assert_alike(one: Check, other: Check) -> None:
    """The same value and the same interval, or none in both."""
    for name in ("value", "low", "high"):
        if one[name] is None or other[name] is None:
            assert one[name] is other[name], (one["sentence"], other["sentence"])
        else:
            assert other[name] == pytest.approx(one[name], rel=1e-6, abs=1e-9), one["sentence"]
    assert bool(one["significance"]) == bool(other["significance"]), one["sentence"]


@pytest.mark.long
def test_names_and_order_change_nothing() -> None:
    for people, checks in tables()[: max(TABLES // 2, 1)]:
        names = {f"g{at}": f"g{(7 - at) % 7}" for at in range(1, 7)}
        turned = people.with_columns(g=pl.col("g").replace(names)).reverse()
        for before, after in zip(
            checks, checks_of(turned, asking(1e-6), inference=RAW), strict=True
        ):
            if not before["spread"]:
                # Of groups that lie equally far the first one decides, whichever that is.
                assert after["value"] == pytest.approx(before["value"], nan_ok=True), before
                continue
            assert_alike(before, after)
            if before["significance"]:
                p = before["significance"]["p"]
                assert after["significance"]["p"] == pytest.approx(p, rel=0.2, abs=2e-3)


def test_a_benefit_and_the_opposite_burden_are_judged_alike() -> None:
    """Who is denied a benefit bears a burden: independence is the same, told either way."""
    both = "demographic_parity_difference", "differential_fairness", "cramers_v", "impact_ratio"
    records = [one for one in COMPARING if one.id in both]
    metrics = [entry(one, fail=limit_at(one, 1e-6), undefined="skip") for one in records]
    burden = {"column": "p", "positive": 0, "negative": 1, "favourable": False}
    for people, _ in tables():
        benefit = checks_of(people, metrics, inference=RAW)
        opposite = checks_of(people, metrics, inference=RAW, prediction=burden)
        for before, after in zip(benefit, opposite, strict=True):
            assert_alike(before, after)
            if before["significance"]:
                first, second = (one["significance"]["p"] for one in (before, after))
                assert first == pytest.approx(second, rel=1e-9)


@pytest.mark.long
def test_people_counted_and_people_listed_are_the_same() -> None:
    people = large_people(np.random.default_rng(5)).with_columns(n=pl.col("n") // 25)
    people = people.filter(pl.col("n") > 0)
    listed = people.select(pl.all().exclude("n").repeat_by("n").explode()).with_columns(n=1)
    for one, other in zip(
        checks_of(people, asking(1e-6)), checks_of(listed, asking(1e-6)), strict=True
    ):
        assert one == other
