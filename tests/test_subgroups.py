"""Subgroup discovery: exact against rows, silent where nothing is wrong, brief where it is."""

from __future__ import annotations

import csv
import json
import math
import random
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import SPECS
from hypothesis import given, settings
from hypothesis import strategies as st
from subgroups_oracle import Name, People, explained, holm, search

import fairaudit
from fairaudit import engine
from fairaudit import spec as specs
from fairaudit.errors import DataError, SpecError
from fairaudit.plan import MOST_TABLED, plan
from fairaudit.recode import recode
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.subgroups import Discovery, discover
from fairaudit.verdict import Backing, Status

ALPHA = 0.05
RATES = [
    "selection_rate",
    "base_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "accuracy",
]
ROW = st.tuples(
    st.sampled_from(["x", "y", ""]),
    st.sampled_from(["u", "v", "w", ""]),
    st.sampled_from(["-1", "2", "3.5", "7", ""]),
    st.sampled_from(["0", "1", ""]),
    st.sampled_from(["0", "1", ""]),
    st.integers(0, 30),
)
ALWAYS = [("x", "u", "2", "0", "1", 1), ("y", "v", "7", "1", "0", 1)]
"""Each class of label and decision occurs."""

COLUMNS = ("a", "b", "c", "y", "d", "n")
WHERE = ("protected", "strata", "features")


def spec_of(
    places: Mapping[str, str], missing: Mapping[str, str], subgroups: Mapping[str, Any], **other: Any
) -> dict[str, Any]:
    """A spec by which a, b and c (cut at 2 and 5) are what `places` says."""
    columns: dict[str, Any] = {"protected": {"z": {}}}
    for name, place in places.items():
        body = {"bins": ["2", "5"]} if name == "c" else {}
        columns.setdefault(place, {})[name] = body
    return {
        "columns": {
            **columns,
            "label": {"column": "y", "positive": "1", "negative": "0"},
            "decision": {"column": "d", "positive": "1", "negative": "0"},
            "count": "n",
        },
        "missing": missing,
        "metrics": ["selection_rate"],
        "subgroups": subgroups,
        **other,
    }


def found_in(spec: Mapping[str, Any], path: Path) -> Discovery:
    """The whole search over a file."""
    read = specs.of_mapping(spec)
    asked = plan(read)
    recoded = recode(engine.count_files(asked, [str(path)], Path()), asked, read)
    assert read.subgroups is not None
    return discover(recoded.tables or (recoded.cube,), read.subgroups)


def write(path: Path, rows: Sequence[Sequence[object]], columns: Sequence[str] = COLUMNS) -> Path:
    """Rows as CSV or Parquet, a column z of one level beside them."""
    if path.suffix == ".csv":
        with path.open("w", newline="") as stream:
            csv.writer(stream).writerows([["z", *columns], *(["all", *row] for row in rows)])
        return path
    frame = pl.DataFrame([dict(zip(columns, row, strict=True)) for row in rows])
    texts = [pl.when(pl.col(name) != "").then(pl.col(name)).alias(name) for name in columns
             if frame.schema[name] == pl.String]  # fmt: skip
    frame = frame.with_columns(pl.lit("all").alias("z"), *texts)
    if "c" in columns:
        frame = frame.with_columns(pl.col("c").cast(pl.Float64))
    frame.write_parquet(path, row_group_size=7)
    return path


def recoded_rows(
    rows: Sequence[tuple[Any, ...]], places: Mapping[str, str], missing: Mapping[str, str]
) -> People:
    """The rows that are counted, as the spec recodes them."""

    def known(value: str) -> bool | None:
        return None if value == "" else value == "1"

    def level(name: str, value: str) -> str | None:
        if value == "":
            policy = missing["protected" if places[name] == "protected" else "strata"]
            return "(unknown)" if policy == "group" else None
        if name != "c":
            return value
        return "under 2" if float(value) < 2 else "2 to 5" if float(value) < 5 else "5 and over"

    kept = [
        row for row in rows
        if not (missing["label"] == "drop" and row[3] == "")
        and not (missing["prediction"] == "drop" and row[4] == "")
    ]  # fmt: skip
    return People(
        [{name: level(name, row[at]) for at, name in enumerate("abc")} for row in kept],
        [known(row[3]) for row in kept],
        [known(row[4]) for row in kept],
        [row[5] for row in kept],
    )


@settings(max_examples=80)
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    places=st.fixed_dictionaries({name: st.sampled_from(WHERE) for name in "abc"}),
    policies=st.tuples(
        st.sampled_from(["show", "group", "aside"]),
        st.sampled_from(["show", "group", "aside"]),
        st.sampled_from(["aside", "drop"]),
        st.sampled_from(["aside", "drop"]),
    ),
    depth=st.integers(1, 3),
    min_size=st.sampled_from([1, 5, 40]),
    rates=st.lists(st.sampled_from(RATES), min_size=1, max_size=3, unique=True),
    suffix=st.sampled_from([".csv", ".parquet"]),
)
def test_every_subgroup_is_that_of_the_rows(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[Any, ...]],
    places: dict[str, str],
    policies: tuple[str, str, str, str],
    depth: int,
    min_size: int,
    rates: list[str],
    suffix: str,
) -> None:
    """Whatever the columns are, whatever is missing, by either route."""
    rows = [*ALWAYS, *rows]
    missing = dict(zip(("protected", "strata", "label", "prediction"), policies, strict=True))
    asked = {"over": list("abc"), "rates": rates, "depth": str(depth), "min_size": str(min_size)}
    path = write(tmp_path_factory.mktemp("rows") / f"data{suffix}", rows)
    people = recoded_rows(rows, places, missing)
    found = found_in(spec_of(places, missing, asked), path)
    expected = {rate: search(people, "abc", rate, depth, min_size) for rate in rates}
    family = [one.p for rate in rates for one in expected[rate].values()]
    assert found.told.looked_at == len(family)
    corrected = iter(holm(family))
    for rate in rates:
        adjusted = {name: next(corrected) for name in expected[rate]}
        agree(found, rate, expected[rate], adjusted)


def agree(
    found: Discovery, rate: str, expected: Mapping[Name, Any], adjusted: Mapping[Name, float]
) -> None:
    """Whether the search of a rate says what the rows say."""
    tested = found.of(rate)
    mine = {frozenset(tested.entries.group(at)): at for at in range(len(tested.p))}
    assert mine.keys() == expected.keys()
    for name, one in expected.items():
        at = mine[name]
        told = tested.subgroup(at)
        assert (told.over, told.under, told.exact) == (one.over, one.under, one.divergence)
        assert told.p == pytest.approx(one.p, rel=1e-9, abs=1e-15)
        assert told.adjusted == pytest.approx(adjusted[name], rel=1e-9, abs=1e-15)
        assert told.unfairness == pytest.approx(float(one.unfairness), rel=1e-12)
        assert told.low <= told.divergence <= told.high
    searched = next(one for one in found.told.rates if one.rate == rate)
    if expected:
        worst = max(one.unfairness for one in expected.values())
        assert searched.unfairest is not None
        assert expected[frozenset(searched.unfairest.group)].unfairness == worst
        assert searched.widest is not None
        widest = max(abs(one.divergence) for one in expected.values())
        assert abs(searched.widest.exact) == widest
    significant = {name for name, p in adjusted.items() if p < ALPHA}
    redundant = explained(expected, adjusted, ALPHA)
    assert (searched.significant, searched.explained) == (len(significant), len(redundant))
    listed = [frozenset(one.group) for one in searched.listed]
    assert set(listed) <= significant - redundant
    assert len(listed) == min(len(significant - redundant), 10)
    nearest = [one.ends[0] for one in searched.listed]
    assert nearest == sorted(nearest, reverse=True)
