"""Metrics of people one by one against brute force, and the laws they keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
import rows_oracle as oracle
from conftest import examples
from hypothesis import given
from rows_oracle import One

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.result import AuditResult

FEATURES = {"numeric": ["x", "w"], "categorical": ["c"]}


def frame(people: Sequence[One]) -> pl.DataFrame:
    """The people as a table."""
    return pl.DataFrame(
        {
            "g": [one.group for one in people],
            "x": [one.numbers[0] for one in people],
            "w": [one.numbers[1] for one in people],
            "c": [one.categories[0] for one in people],
            "p": [one.outcome for one in people],
            "s": [one.score for one in people],
            "z": [one.stratum for one in people],
        },
        schema_overrides={"x": pl.Float64, "w": pl.Float64, "s": pl.Float64},
    )


def audit(people: Sequence[One] | pl.DataFrame, *metrics: Any, **columns: Any) -> AuditResult:
    """The result of an audit of people with two numbers and a category."""
    spec = {
        "columns": {
            "protected": {"g": {"reference": "b"}},
            "strata": ["z"],
            "prediction": {"column": "p", "positive": 1, "negative": 0},
            "features": FEATURES,
            **columns,
        },
        "metrics": list(metrics),
    }
    return fairaudit.audit(spec, people if isinstance(people, pl.DataFrame) else frame(people))


def value_of(result: AuditResult, metric: str, group: str | None = None) -> float:
    """The value of everybody, or of a group."""
    wanted = () if group is None else (("g", group),)
    (row,) = [
        row
        for row in result.rates
        if row.metric == metric and row.group == wanted and not row.stratum
    ]
    return row.estimate.value


def agrees(found: float, expected: float | None) -> bool:
    """Whether a number is that of the oracle; NaN where that has none."""
    if expected is None:
        return math.isnan(found)
    return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)


def crowds(most: int = 25) -> st.SearchStrategy[list[One]]:
    """Some people of few features, so that many are equal, or tie."""
    person = st.builds(
        One,
        st.sampled_from("ab"),
        st.tuples(st.integers(0, 3).map(float), st.sampled_from([0.0, 0.1, 0.7])),
        st.tuples(st.sampled_from("uv")),
        st.integers(0, 1),
        st.sampled_from([0.0, 0.25, 0.5, 1.0]),
        st.just("z"),
    )
    return st.lists(person, min_size=1, max_size=most)


def both_outcomes(people: list[One]) -> bool:
    """Whether somebody has each outcome and is of each group, so that the spec can name all."""
    return {one.outcome for one in people} == {0, 1} and {one.group for one in people} == {"a", "b"}


@given(people=crowds().filter(both_outcomes), k=st.integers(1, 6))
@examples(25)
def test_consistency_is_that_of_all_pairs(people: list[One], k: int) -> None:
    result = audit(people, {"metric": "consistency", "k": k})
    for group in (None, *{one.group for one in people}):
        found = value_of(result, "consistency", group)
        assert agrees(found, oracle.consistency(people, k, group)), (group, found)


@given(people=crowds().filter(both_outcomes), cut=st.integers(0, 3), k=st.integers(1, 3))
@examples(20)
def test_a_stratum_has_neighbours_of_its_own(people: list[One], cut: int, k: int) -> None:
    people = [replace(one, stratum="xy"[one.numbers[0] > cut]) for one in people]
    result = audit(people, {"metric": "consistency", "k": k, "given": "z"})
    for row in result.rates:
        group, stratum = dict(row.group).get("g"), dict(row.stratum)["z"]
        expected = oracle.consistency(people, k, group, stratum)
        assert agrees(row.estimate.value, expected), (group, stratum)


@given(people=crowds().filter(both_outcomes))
@examples(15)
def test_the_label_may_be_consistent_too(people: list[One]) -> None:
    label = {"label": {"column": "p", "positive": 1, "negative": 0}}
    result = audit(people, {"metric": "consistency", "of": "label"}, **label)
    assert agrees(value_of(result, "consistency"), oracle.consistency(people, 5))


@given(people=crowds().filter(both_outcomes))
@examples(25)
def test_unawareness_violations_are_those_of_all_pairs(people: list[One]) -> None:
    result = audit(people, "unawareness_violations")
    for group in (None, *{one.group for one in people}):
        found = value_of(result, "unawareness_violations", group)
        assert agrees(found, oracle.unawareness(people, group)), (group, found)


def compared(result: AuditResult, metric: str, group: str = "a") -> float:
    """The value of a group against the reference, or of the whole table."""
    rows = [row for row in result.comparisons if row.metric == metric]
    wanted = [row for row in rows if row.group in {None, (("g", group),)}]
    return wanted[0].estimate.value if wanted else math.nan


@given(
    people=crowds().filter(both_outcomes), k=st.integers(1, 4), t=st.sampled_from([0.1, 0.25, 0.5])
)
@examples(25)
def test_situation_testing_is_that_of_all_pairs(people: list[One], k: int, t: float) -> None:
    metrics = ("situation_testing", "situation_testing_reversed")
    result = audit(people, *({"metric": name, "k": k, "t": t} for name in metrics))
    for name, side in zip(metrics, (t, -t), strict=True):
        expected = oracle.situation(people, k, side, "a", "b")
        assert agrees(compared(result, name), expected), name


@given(people=crowds().filter(both_outcomes))
@examples(25)
def test_twins_are_those_of_all_pairs(people: list[One]) -> None:
    result = audit(people, "twin_test", "causal_discrimination")
    assert agrees(compared(result, "twin_test"), oracle.twins(people, "a", "b"))
    assert agrees(compared(result, "causal_discrimination"), oracle.causal(people))


@given(people=crowds().filter(both_outcomes), slope=st.sampled_from([0.1, 0.5, 2.0]))
@examples(25)
def test_lipschitz_violations_are_those_of_all_pairs(people: list[One], slope: float) -> None:
    result = audit(people, {"metric": "lipschitz_violations", "lipschitz": slope}, score="s")
    for group in (None, *{one.group for one in people}):
        found = value_of(result, "lipschitz_violations", group)
        assert agrees(found, oracle.lipschitz(people, slope, group)), (group, found)


# Laws ----------------------------------------------------------------------------------------


def ruled(people: list[One]) -> list[One]:
    """The same people, whose outcome is a function of their features."""
    return [
        replace(one, outcome=int(one.numbers[0] >= 1.5 or one.categories == ("v",)))
        for one in people
    ]


@given(people=crowds().map(ruled).filter(both_outcomes))
@examples(15)
def test_a_function_of_the_features_violates_no_unawareness(people: list[One]) -> None:
    """Such a predictor ignores the protected attribute, too: no pair differs, nor any twin."""
    result = audit(people, "unawareness_violations", "causal_discrimination", "twin_test")
    found = [value_of(result, "unawareness_violations")]
    found += [compared(result, name) for name in ("causal_discrimination", "twin_test")]
    assert all(math.isnan(value) or value == 0 for value in found)


@given(people=crowds(12).filter(both_outcomes), k=st.integers(1, 3))
@examples(15)
def test_equal_twins_make_no_situation(people: list[One], k: int) -> None:
    """Each person has k + 1 equals in both groups, who all got what the person got."""
    people = list({one.features: one for one in people}.values())
    crowd = [replace(one, group=group) for one in people for group in "ab" for _ in range(k + 1)]
    if not both_outcomes(crowd):
        return
    metrics = ("situation_testing", "situation_testing_reversed")
    asked = [{"metric": name, "k": k, "t": 0.01} for name in metrics]
    result = audit(
        crowd, *asked, "twin_test", "causal_discrimination", {"metric": "consistency", "k": k}
    )
    for name in (*metrics, "twin_test", "causal_discrimination"):
        assert compared(result, name) == 0, name
    assert value_of(result, "consistency") == 1


@given(people=crowds(10).filter(both_outcomes), k=st.integers(1, 3), copies=st.integers(2, 4))
@examples(15)
def test_copies_of_every_row_change_consistency_by_themselves_alone(
    people: list[One], k: int, copies: int
) -> None:
    """Of m copies each, with neighbours m times as many, each person gains m - 1 who agree.

    They dilute the distance from the others by m s / (m s + m - 1), of s neighbours; were the
    person counted among the own neighbours, copies would leave consistency alone.
    """
    if len(people) <= k:
        return
    far, expected = oracle.distances(people), []
    for i, one in enumerate(people):
        near = oracle.nearest(far[i], [j for j in range(len(people)) if j != i], k)
        assert near is not None
        apart = abs(one.outcome - sum(people[j].outcome for j in near) / len(near))
        size = copies * len(near)
        expected.append(apart * size / (size + copies - 1))
    asked = {"metric": "consistency", "k": copies * k + copies - 1}
    found = value_of(audit(people * copies, asked), "consistency")
    assert agrees(found, 1 - sum(expected) / len(expected))


@given(people=crowds().filter(both_outcomes), shift=st.floats(-1e3, 1e3), scale=st.integers(1, 50))
@examples(15)
def test_units_of_the_features_do_not_count(people: list[One], shift: float, scale: int) -> None:
    """A number in other units, from another zero, leaves every neighbour where it is."""
    moved = [
        replace(one, numbers=(one.numbers[0] * scale, one.numbers[1] + 8 * round(shift)))
        for one in people
    ]
    one, two = (value_of(audit(some, "consistency"), "consistency") for some in (people, moved))
    assert agrees(one, None if math.isnan(two) else two)


def test_consistency_may_be_perfect_where_neighbourhoods_are_apart() -> None:
    """Žliobaitė §3.4.2: groups that live apart, of which one is refused, are consistent."""
    near = [One("a", (0.0, at / 10), ("u",), 0) for at in range(10)]
    far = [One("b", (9.0, at / 10), ("u",), 1) for at in range(10)]
    result = audit([*near, *far], "consistency", "demographic_parity_difference")
    assert value_of(result, "consistency") == 1
    (gap,) = [row for row in result.comparisons if row.metric == "demographic_parity_difference"]
    assert gap.estimate.value == 1


ALL = (
    "consistency",
    "unawareness_violations",
    "lipschitz_violations",
    "situation_testing",
    "situation_testing_reversed",
    "twin_test",
    "causal_discrimination",
)


@pytest.mark.parametrize("metric", ALL)
def test_metrics_of_people_need_features(metric: str) -> None:
    with pytest.raises(SpecError, match="compares people by features"):
        audit([One("a", (0.0, 0.0), ("u",), 1)], metric, features={})
