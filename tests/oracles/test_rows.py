"""Metrics of people one by one against brute force, and the laws they keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import polars as pl
import pytest
import rows_oracle as oracle
from conftest import examples
from hypothesis import given
from rows_oracle import One

import fairaudit
from fairaudit.errors import SpecError
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
    """Whether somebody has each outcome, so that the spec can name both."""
    return {one.outcome for one in people} == {0, 1}


@given(people=crowds().filter(both_outcomes), k=st.integers(1, 6))
@examples(60)
def test_consistency_is_that_of_all_pairs(people: list[One], k: int) -> None:
    result = audit(people, {"metric": "consistency", "k": k})
    for group in (None, *{one.group for one in people}):
        found = value_of(result, "consistency", group)
        assert agrees(found, oracle.consistency(people, k, group)), (group, found)


@given(people=crowds().filter(both_outcomes))
@examples(60)
def test_unawareness_violations_are_those_of_all_pairs(people: list[One]) -> None:
    result = audit(people, "unawareness_violations")
    for group in (None, *{one.group for one in people}):
        found = value_of(result, "unawareness_violations", group)
        assert agrees(found, oracle.unawareness(people, group)), (group, found)


@pytest.mark.parametrize("metric", ["consistency", "unawareness_violations"])
def test_metrics_of_people_need_features(metric: str) -> None:
    with pytest.raises(SpecError, match="compares people by their features"):
        audit([One("a", (0.0, 0.0), ("u",), 1)], metric, features={})
