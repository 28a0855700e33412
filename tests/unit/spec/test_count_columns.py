"""`count` must be a number of people: not an outcome, and rarely 0 in rows of single people."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError

PEOPLE = [("a", 1, 1)] * 50 + [("a", 0, 0)] * 50 + [("b", 1, 1)] * 10 + [("b", 0, 0)] * 90


def texts(rows: list[tuple[Any, ...]], **columns: Any) -> list[str]:
    data = pl.DataFrame(rows, ["g", "y", "n"], orient="row")
    columns = {"protected": ["g"], **columns}
    if not columns.keys() & {"decision", "prediction"}:
        columns["decision"] = {"column": "y", "positive": 1}
    metrics = [{"metric": "impact_ratio", "fail": {"below": 0.8}}]
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, data)
    return [text for text in map(str, result.notices) if "have the count 0" in text]


@pytest.mark.parametrize("role", ["decision", "label", "prediction"])
def test_a_count_is_not_the_column_of_an_outcome(role: str) -> None:
    with pytest.raises(SpecError, match=f"'n' is also the column of the {role}"):
        texts(PEOPLE, **{role: {"column": "n", "positive": 1}}, count="n")


def test_many_rows_of_single_people_that_count_nobody_are_named() -> None:
    (text,) = texts(PEOPLE, count="n")
    assert "at least 140 of 200 rows have the count 0" in text
    assert "90 of 100 of g=b, 50 of 100 of g=a" in text


def test_few_such_rows_and_empty_combinations_of_a_table_are_not_named() -> None:
    one_by_one = [("a", 1, 1)] * 50 + [("b", 0, 1)] * 45 + [("b", 1, 0)] * 5
    assert texts(one_by_one, count="n") == []
    totals = [("a", 1, 30), ("a", 0, 30), ("b", 1, 0), ("b", 0, 40)]
    assert texts(totals, count="n") == []
