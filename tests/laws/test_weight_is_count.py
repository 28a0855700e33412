"""Laws of values: a whole weight counts like so many people, and clusters change no value."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import polars as pl
import pytest
from conftest import examples, long, sampled
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.metrics import CATALOGUE
from fairaudit.metrics.rates import PeopleCount

COLUMNS: dict[str, Any] = {
    "protected": {"sex": {"reference": "m"}},
    "label": {"column": "y", "positive": 1},
    "prediction": {"column": "p", "positive": 1},
    "strata": ["dept"],
}
COLUMN_OF = {"count": "n", "weight": "n", "cluster": "ad"}
TERMS: tuple[dict[str, Any], ...] = (
    {},
    {"reference": "rest"},
    {"compare": "gap"},
    {"compare": "min_ratio"},
    {"compare": "odds_ratio"},
    {"compare": "standardized_difference"},
    {"compare": "standardized_difference_total"},
    {"given": "dept"},
    *(
        {"given": "dept", "average": average}
        for average in ("pooled", "group", "reference", "overlap")
    ),
    *({"aggregate": how} for how in ("mean", "sum", "max")),
)
LIMITS = ({"outside": [-1e6, 1e6]}, {"above": 1e6}, {"below": 1e-6})
"""A metric takes one of them."""
MODELLED = re.compile("pooled|^differential_fairness|draws")
"""Models of the people, who are others under weights."""
BY_PEOPLE = {"standardized_difference", "standardized_difference_total"}
"""Divided by a sample deviation: its degrees of freedom are people, whatever they weigh."""


def draw_people(seed: int) -> pl.DataFrame:
    draw = random.Random(seed)
    rows = [
        (
            draw.choice("mmfx"),
            draw.choice("AB"),
            draw.randint(0, 1),
            draw.randint(0, 1),
            draw.choice((1, 1, 2, 3, 7)),
            draw.randint(1, 40),
        )
        for _ in range(240)
    ]
    return pl.DataFrame(rows, schema=["sex", "dept", "y", "p", "n", "ad"], orient="row")


def evaluate(
    checks: list[dict[str, Any]], columns: dict[str, Any], people: pl.DataFrame
) -> dict[str, Any]:
    spec = {"columns": {**COLUMNS, **columns}, "metrics": checks, "simpson": False}
    found = fairaudit.audit(spec, people).to_dict()["checks"]
    return {check["metric"]: check.get("value") for check in found}


def find_values(terms: dict[str, Any], name: str, people: pl.DataFrame) -> dict[str, Any]:
    """The values of every metric of the catalogue that serves the columns and takes the terms."""
    columns = {name: COLUMN_OF[name]} if name else {}
    ids = sampled(
        [
            metric.id
            for metric in CATALOGUE
            if not isinstance(metric, PeopleCount) and not MODELLED.search(metric.id)
        ]
    )
    limits = dict.fromkeys(ids, 0)
    while True:
        checks = [{"metric": id_, "fail": LIMITS[at], **terms} for id_, at in limits.items()]
        try:
            return evaluate(checks, columns, people)
        except SpecError as error:
            wrong = {int(at) for at in re.findall(r"metrics\[(\d+)\]", str(error))}
            if not wrong:
                raise
            for at in wrong:
                limits[checks[at]["metric"]] += 1
            limits = {id_: at for id_, at in limits.items() if at < len(LIMITS)}


@pytest.mark.long
@given(terms=st.sampled_from(TERMS), seed=st.integers(0, 10**6))
@examples(8)
@pytest.mark.parametrize(("name", "other"), [("count", "weight"), long("", "cluster")])
def test_values_are_those_of_the_people(
    name: str, other: str, terms: dict[str, Any], seed: int
) -> None:
    people = draw_people(seed)
    values, twins = (find_values(terms, column, people) for column in (name, other))
    rel_tol = 1e-9
    if other == "weight" and terms.get("compare") in BY_PEOPLE:
        # The number of people, in place of their counts, less two.
        rel_tol = 2 / min(people["sex"].value_counts()["count"])
    assert len(values.keys() & twins.keys()) > 3
    for metric in values.keys() & twins.keys():
        value, twin = values[metric], twins[metric]
        if value is None or twin is None:
            assert value is twin, metric
            continue
        assert math.isclose(twin, value, rel_tol=rel_tol, abs_tol=1e-12), metric
