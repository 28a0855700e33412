"""An outcome of 0 and 1, or false and true, needs no `positive`; any other does."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError

SPEC = {"columns": {"protected": ["group"], "decision": "y"}, "metrics": "selection_rate"}
GROUPS = ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("values", "rates", "positive"),
    [
        (["1", "0", "1", "1"], [0.5, 1.0], "1"),
        ([1, 0, 1, 1], [0.5, 1.0], "1"),
        ([1.0, 0.0, 1.0, 1.0], [0.5, 1.0], "1.0"),
        ([True, False, True, True], [0.5, 1.0], "true"),
        (["True", "False", "True", "True"], [0.5, 1.0], "True"),
        ([0, 0, 0, 0], [0.0, 0.0], "1"),
        ([1, 1, 1, 1], [1.0, 1.0], "1"),
    ],
    ids=str,
)
def test_one_or_true_is_the_positive_and_a_notice_says_so(
    values: list[object], rates: list[float], positive: str
) -> None:
    data = pl.DataFrame({"group": GROUPS, "y": values}, strict=False)
    result = fairaudit.audit(SPEC, data)
    assert [row.estimate.value for row in result.rates if row.group] == rates
    (notice,) = [str(notice) for notice in result.notices if "positive" in notice]
    assert f"{positive!r} of 'y'" in notice
    lacking = [value for value, rate in (("1", 0.0), ("0", 1.0)) if {*rates} == {rate}]
    told = [notice for notice in result.notices if "no row has" in notice]
    assert told == [f"decision: no row has a {value} in 'y'" for value in lacking]
    declared = {"column": "y", "positive": "1", "negative": "0"}
    columns = {"protected": ["group"], "decision": declared}
    again = fairaudit.audit({**SPEC, "columns": columns}, data)
    assert [row.estimate for row in again.rates] == [row.estimate for row in result.rates]
    assert not any("positive" in notice for notice in again.notices)


@pytest.mark.parametrize("values", [["yes", "no"] * 2, [0.1, 0.9] * 2, [1, 2] * 2, [0, 1, 2, 0]])
def test_other_values_are_a_fault_that_lists_them(values: list[object]) -> None:
    with pytest.raises(SpecError, match="name the positive ones in `positive`") as caught:
        fairaudit.audit(SPEC, pl.DataFrame({"group": GROUPS, "y": values}))
    assert all(f"'{value}'" in str(caught.value) for value in values)


def test_nothing_is_assumed_where_no_measure_needs_it() -> None:
    data = pl.DataFrame({"group": GROUPS, "y": ["low", "high", "middle", "low"]})
    result = fairaudit.audit({**SPEC, "metrics": "differential_fairness"}, data)
    assert result.lattice[0].entries[0].estimate.value > 0
    assert not any("positive" in notice for notice in result.notices)


def test_a_label_and_a_prediction_are_taken_alike() -> None:
    data = pl.DataFrame({"group": GROUPS, "y": [1, 0, 1, 1], "label": [True, False, False, True]})
    columns = {"protected": ["group"], "prediction": "y", "label": "label"}
    result = fairaudit.audit({"columns": columns, "metrics": "true_positive_rate"}, data)
    assert [row.estimate.value for row in result.rates if row.group] == [1.0, 1.0]
    assert sum("positive" in notice for notice in result.notices) == 2


@pytest.mark.parametrize("search", ["subgroups", "simpson"])
def test_a_search_takes_one_for_the_positive_as_a_metric_does(search: str) -> None:
    """Every label was unknown if no metric needed it, and nobody was left to search."""
    cells = [(g, s, label, y) for g in "ab" for s in "uv" for label in (0, 1) for y in (0, 1)]
    people = [(*cell, 10 * number) for number, cell in enumerate(cells, 1)]
    data = pl.DataFrame(people, ["g", "s", "label", "y", "n"], orient="row")
    columns = {"protected": ["g"], "strata": ["s"], "prediction": "y", "count": "n"}
    limit: Any = {"subgroups": "> 0.05", "simpson": True}[search]
    rates = {"rates": ["true_positive_rate"], "fail": limit}
    spec: dict[str, Any] = {"metrics": "selection_rate", search: rates}
    assumed, declared = (
        fairaudit.audit({**spec, "columns": {**columns, "label": label}}, data)
        for label in ("label", {"column": "label", "positive": 1})
    )
    (one,), (other,) = assumed.findings, declared.findings
    assert (one.status, one.headline) == (other.status, other.headline)
    assert one.left_out == other.left_out
