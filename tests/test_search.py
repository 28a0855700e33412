"""A search for reversals: every column of few levels that the spec does not name is a condition.

What is counted is held against the rows themselves, in plain Python.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairaudit import engine
from fairaudit import spec as specs
from fairaudit.engine import dictionary
from fairaudit.plan import plan
from fairaudit.recode import recode
from fairaudit.result import AuditResult

Row = Mapping[str, Any]
Audit = Callable[..., AuditResult]
Key = tuple[str | None, ...]

SPEC: dict[str, Any] = {
    "columns": {"protected": ["g", "h"], "decision": {"column": "y", "positive": 1, "negative": 0}},
    "missing": {"prediction": "aside", "tokens": ["NA"]},
    "metrics": ["selection_rate"],
    "simpson": {"search": True},
}
LONG = "a level of more than twelve bytes"
TEXTS: dict[str, list[Any]] = {
    "g": ["a", "b", None],
    "h": ["x", "y"],
    "y": [0, 1, 1, None],
    "few": ["u", "v", "ü", "", "NA", None],
    "long": [LONG, LONG + "!", "short", None],
    "number": [-1, 0, 7, 300, None],
    "truth": [True, False, None],
}
"""What each column may hold; `few`, `long`, `number` and `truth` are candidates."""

CANDIDATES = ("few", "long", "number", "truth")


def rows_of(**more: st.SearchStrategy[Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Random people, some of whom have either outcome; `more` are further columns."""
    columns = {name: st.sampled_from(values) for name, values in TEXTS.items()} | more
    known = {"g": st.just("a"), "h": st.just("x")}
    last = [st.fixed_dictionaries(columns | known | {"y": st.just(y)}) for y in (0, 1)]
    people = st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=40)
    return st.tuples(people, *last).map(lambda found: [*found[0], *found[1:]])


WEIGHTS = st.sampled_from([0.0, 0.5, 1.25, 2.0, 1234.5678])
WILD = st.sampled_from([1e-7, 0.5, 1 / 3, 99_999.5, 3e6, 1e9])
TINY = st.sampled_from([1e-7, 2.5e-10, 1 / 7e4])


def as_csv(rows: Sequence[Row], path: Path) -> Path:
    """The rows as a CSV file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    for row in rows:
        writer.writerow({name: written(value) for name, value in row.items()})
    path.write_text(out.getvalue(), "utf-8")
    return path


def as_parquet(rows: Sequence[Row], path: Path, group: int = 7) -> Path:
    """The rows as a Parquet file of small row groups."""
    kinds = {"number": pa.int64(), "y": pa.int8(), "truth": pa.bool_()}
    kinds |= {"w": pa.float64(), "n": pa.int64()}
    names = list(rows[0])
    columns = {name: pa.array([row[name] for row in rows], kinds.get(name, pa.string()))
               for name in names}  # fmt: skip
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def written(value: object) -> str:
    """A value as a level is written."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def level(value: object) -> str:
    """The level of a protected column or a candidate."""
    return "(unknown)" if written(value) in {"", "NA"} else written(value)


def tallied(rows: Sequence[Row], candidate: str) -> dict[Key, Fraction]:
    """Weighted people by both attributes, the outcome (None: not known) and a candidate."""
    found: dict[Key, Fraction] = {}
    for row in rows:
        outcome = None if row["y"] is None else str(row["y"])
        key = (level(row["g"]), level(row["h"]), outcome, level(row[candidate]))
        found[key] = found.get(key, Fraction(0)) + row.get("n", 1) * nano(row.get("w", 1.0))
    return found


def nano(weight: float) -> Fraction:
    """A weight as it is added up: at nine decimals, at six from a million on, else at eighteen."""
    digits = 6 if weight >= 1e6 else 9
    return Fraction(round(Fraction(weight) * 10**digits), 10**digits)


def few(rows: Sequence[Row]) -> list[str]:
    """The candidates that have two levels or more."""
    named = {name: {level(row[name]) for row in rows} - {"(unknown)"} for name in CANDIDATES}
    return [name for name, levels in named.items() if len(levels) > 1]


def searched(path: Path | str, given_spec: Mapping[str, Any] = SPEC) -> dict[str, dict[Key, Any]]:
    """The table of each candidate, counted: by levels, the mass in fractions."""
    spec = specs.of_mapping(given_spec)
    raw = engine.count_files(plan(spec), [str(path)], Path())
    cubes = recode(raw, plan(spec), spec).searched
    found = {}
    for name, cube in cubes.items():
        order = [[key.name for key in cube.keys].index(key) for key in ("g", "h", "decision", name)]
        counts: dict[Key, Fraction] = {}
        for levels, (_, people, *weight) in cube.tally().items():
            mass = Fraction(weight[0], weight[1]) if weight else Fraction(people)
            key = tuple(levels[at] for at in order)
            counts[key] = counts.get(key, Fraction(0)) + mass
        found[name] = counts
    return found


@pytest.fixture(scope="class", params=["codes", "polars"])
def route(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both routes of Parquet."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "polars":
            patch.setattr(dictionary, "count", lambda *_: {})
        yield str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that serves every example of a property."""
    return tmp_path_factory.mktemp("search")


@pytest.mark.usefixtures("route")
class TestBothRoutes:
    """What is counted beside the cube equals the rows, however they are read."""

    @given(rows=rows_of())
    @settings(max_examples=40, deadline=None)
    def test_parquet_counts_what_the_rows_say(self, rows: list[Row], folder: Path) -> None:
        found = searched(as_parquet(rows, folder / "rows.parquet"))
        assert found == {name: tallied(rows, name) for name in few(rows)}

    @given(rows=rows_of(w=WEIGHTS))
    @settings(max_examples=20, deadline=None)
    def test_weights_are_added_up_exactly(self, rows: list[Row], folder: Path) -> None:
        spec = weighted(weight="w")
        rows = [*rows, {**rows[0], "w": 1.0}]
        found = searched(as_parquet(rows, folder / "rows.parquet"), spec)
        assert found == {name: tallied(rows, name) for name in few(rows)}

    @given(rows=rows_of(n=st.integers(0, 5)))
    @settings(max_examples=20, deadline=None)
    def test_a_row_may_be_several_people(self, rows: list[Row], folder: Path) -> None:
        rows = [*rows, {**rows[0], "n": 3}]
        spec = weighted(count="n")
        found = searched(as_parquet(rows, folder / "rows.parquet"), spec)
        assert found == {name: tallied(rows, name) for name in few(rows)}


def weighted(**columns: str) -> dict[str, Any]:
    """The spec with a weight or a count."""
    return {**SPEC, "columns": {**SPEC["columns"], **columns}}


@given(rows=rows_of())
@settings(max_examples=40, deadline=None)
def test_csv_counts_what_the_rows_say(rows: list[Row], folder: Path) -> None:
    found = searched(as_csv(rows, folder / "rows.csv"))
    assert found == {name: tallied(rows, name) for name in few(rows)}


@given(rows=rows_of(w=WILD, n=st.integers(1, 3)))
@settings(max_examples=20, deadline=None)
def test_any_weights_and_counts_are_added_up_exactly(rows: list[Row], folder: Path) -> None:
    rows = [*rows, {**rows[0], "w": 2.0}]
    found = searched(as_csv(rows, folder / "rows.csv"), weighted(weight="w", count="n"))
    assert found == {name: tallied(rows, name) for name in few(rows)}


@given(rows=rows_of(w=TINY))
@settings(max_examples=20, deadline=None)
def test_tiny_weights_keep_their_digits(rows: list[Row], folder: Path) -> None:
    found = searched(as_csv(rows, folder / "rows.csv"), weighted(weight="w"))
    for name in few(rows):
        wanted: dict[Key, Fraction] = {}
        for row in rows:
            outcome = None if row["y"] is None else str(row["y"])
            key = (level(row["g"]), level(row["h"]), outcome, level(row[name]))
            fine = Fraction(round(Fraction(row["w"]) * 10**18), 10**18)
            wanted[key] = wanted.get(key, Fraction(0)) + fine
        assert found[name].keys() == wanted.keys()
        # Where the sums would pass 62 bits, last digits are rounded away.
        assert all(abs(found[name][key] - mass) < 1e-15 for key, mass in wanted.items())


@given(rows=rows_of(), at=st.integers(0, 40))
@settings(max_examples=20, deadline=None)
def test_several_files_are_one_population(
    rows: list[Row], at: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    rows = [*rows, *rows]
    cut = 1 + at % (len(rows) - 1)
    as_csv(rows[:cut], folder / "a.csv")
    as_parquet(rows[cut:], folder / "b.parquet")
    assert searched(folder) == {name: tallied(rows, name) for name in few(rows)}


@given(rows=rows_of())
@settings(max_examples=20, deadline=None)
def test_who_is_filtered_or_dropped_is_in_no_table(rows: list[Row], folder: Path) -> None:
    missing = {**SPEC["missing"], "prediction": "drop"}
    spec = {**SPEC, "missing": missing, "filter": "h = 'x'"}
    counted = [row for row in rows if row["h"] == "x" and row["y"] is not None]
    for path in (as_csv(rows, folder / "rows.csv"), as_parquet(rows, folder / "rows.parquet")):
        found = searched(path, spec)
        assert set(found) == set(few(rows))
        for name, counts in found.items():
            assert counts == tallied(counted, name)
