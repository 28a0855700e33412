"""The Parquet route by dictionary codes: equal counts to the Polars route, on every file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_sums import sums, tally
from conftest import count_data, examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
import fairaudit.base.errors
from fairaudit import spec as specs
from fairaudit.counting import kernel
from fairaudit.counting.counts import Counts
from fairaudit.counting.routes import dictionary_route
from fairaudit.pipeline.plan_builder import plan

SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["a", "b", "c"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
    },
    "missing": {"prediction": "aside"},
    "metrics": ["selection_rate"],
}
TEXTS = st.sampled_from(["x", "y", "zz", "", "ä", None])
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "a": TEXTS,
            "b": st.sampled_from([-3, 0, 5, 120, None]),
            "c": st.sampled_from([True, False, None]),
            "y": st.sampled_from([0, 1, None]),
        }
    ),
    min_size=1,
    max_size=60,
)
TYPES = {"a": [pa.string(), pa.large_string()], "b": [pa.int8(), pa.int64()], "y": [pa.int32()]}


@pytest.fixture(autouse=True, scope="module")
def no_kernel() -> Iterator[None]:
    """The route that serves where there is no kernel, or the kernel declines."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "load", lambda: None)
        yield


def by_both_routes(spec: dict[str, Any], path: Path) -> tuple[Counts, Counts]:
    """The cells of a file by each of the two routes."""
    asked = plan(specs.of_mapping(spec))
    by_codes = count_data(asked, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionary_route, "count", lambda *_: {})
        by_polars = count_data(asked, path)
    assert by_polars.route == "Polars streaming over parquet"
    return by_codes, by_polars


def as_text(value: object) -> str | None:
    """A value as a level is written."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


@given(
    rows=ROWS,
    group=st.integers(1, 25),
    coded=st.booleans(),
    page=st.sampled_from([1, 1024]),
    text=st.sampled_from(TYPES["a"]),
    number=st.sampled_from(TYPES["b"]),
)
@examples(80)
def test_counts_equal_those_of_the_rows_and_of_the_other_route(
    rows: list[dict[str, Any]],
    group: int,
    coded: bool,
    page: int,
    text: pa.DataType,
    number: pa.DataType,
    tmp_path: Path,
) -> None:
    schema = pa.schema([("a", text), ("b", number), ("c", pa.bool_()), ("y", pa.int32())])
    path = tmp_path / "rows.parquet"
    pq.write_table(
        pa.Table.from_pylist(rows, schema=schema),
        path,
        row_group_size=group,
        use_dictionary=coded,
        dictionary_pagesize_limit=page,
        data_page_size=page,
    )
    asked = plan(specs.of_mapping(SPEC))
    by_codes = count_data(asked, path)
    assert by_codes.route == "dictionary codes of Parquet"
    expected = Counter(tuple(as_text(row[key.column]) for key in asked.keys) for row in rows)
    assert tally(by_codes) == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dictionary_route, "count", lambda *_: {})
        by_polars = count_data(asked, path)
    assert by_polars.route == "Polars streaming over parquet"
    assert tally(by_polars) == expected
    for one, other in zip(by_codes.keys, by_polars.keys, strict=True):
        assert set(one.levels) == set(other.levels)


NUMBERS = st.one_of(
    st.sampled_from([0.7, 0.1, 25.0, float("nan"), None]), st.floats(-2, 2, width=32)
)
WEIGHTS = st.one_of(
    st.decimals(0, 4000, places=2).map(float), st.floats(0, 2000), st.just(0.0), st.just(1.5)
)


@given(
    rows=st.lists(st.tuples(TEXTS, NUMBERS, st.sampled_from([0, 1]), WEIGHTS), min_size=1),
    kind=st.sampled_from([pa.float64(), pa.float32(), pa.int16()]),
    group=st.integers(1, 25),
)
@examples(80)
def test_cuts_and_weights_equal_those_of_the_other_route(
    rows: list[tuple[str | None, float | None, int, float]],
    kind: pa.DataType,
    group: int,
    tmp_path: Path,
) -> None:
    """The first weight is no tiny one: the dictionary route leaves files of such to Polars."""
    is_whole = pa.types.is_integer(kind)
    numbers = [
        None if x is None or (is_whole and x != x) else int(x) if is_whole else x  # noqa: PLR0124
        for _, x, _, _ in rows
    ]
    table = pa.table(
        {
            "a": pa.array([row[0] for row in rows], type=pa.string()),
            "x": pa.array(numbers, type=kind),
            "y": [row[2] for row in rows],
            "w": [row[3] for row in rows],
        }
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path, row_group_size=group)
    for measure in ({}, {"weight": "w"}, {"count": "y"}):
        spec = {
            "columns": {
                "protected": {"a": {}, "x": {"bins": ["0.1", "0.7", 25]}},
                "label": {"column": "x", "positive": {"above": "0.7"}},
                "decision": {"column": "y", "positive": 1, "negative": 0},
                **measure,
            },
            "missing": {"label": "aside"},
            "metrics": ["selection_rate"],
        }
        by_codes, by_polars = by_both_routes(spec, path)
        assert sums(by_codes) == sums(by_polars)
        assert by_codes.weight_error == by_polars.weight_error
        written = [Fraction(repr(w)) for *_, w in rows]
        if "weight" in measure and all((w * 10**9).denominator == 1 for w in written):
            assert sum((cell[2] for cell in sums(by_codes).values()), Fraction(0)) == sum(written)


def test_weights_cuts_and_counts_are_served(tmp_path: Path) -> None:
    path = write(
        tmp_path / "1.parquet", a=["x", "y"], x=[0.5, None], y=[1, 0], w=[1.25, 0.5], n=[3, 2**40]
    )
    for measure in ("weight", "count"):
        spec = {
            "columns": {
                "protected": {"a": {}, "x": {"bins": [0]}},
                "decision": {"column": "y", "positive": 1, "negative": 0},
                measure: {"weight": "w", "count": "n"}[measure],
            },
            "metrics": ["selection_rate"],
        }
        result = fairaudit.audit(spec, path)
        assert result.provenance.route == "dictionary codes of Parquet"
    assert result.ledger.people == 2**40 + 3


def write(path: Path, **columns: list[Any]) -> Path:
    """A Parquet file of these columns."""
    pq.write_table(pa.table(columns), path)
    return path


def test_routes_may_differ_from_file_to_file(tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", a=["x", "y"], b=[1, 2], c=[True, False], y=[1, 0])
    write(tmp_path / "2.parquet", a=["x", "z"], b=[1.5, 2.5], c=[True, False], y=[1, 0])
    (tmp_path / "3.csv").write_text("a,b,c,y\nx,1,true,1\n")
    cells = count_data(plan(specs.of_mapping(SPEC)), tmp_path)
    assert cells.route == "dictionary codes of Parquet; Polars streaming over csv and parquet"
    assert (cells.read, int(cells.rows.sum())) == (5, 5)


def test_what_the_route_does_not_serve_goes_to_polars(tmp_path: Path) -> None:
    path = write(tmp_path / "1.parquet", a=["x", "y"], b=[1, 2**40], c=[True, False], y=[1, 0])
    asked = plan(specs.of_mapping(SPEC))
    assert count_data(asked, path).route == "Polars streaming over parquet"
    filtered = {**SPEC, "filter": "b < 100"}
    filtered["columns"] = {**SPEC["columns"], "protected": ["a", "c"]}
    result = fairaudit.audit(filtered, path)
    assert result.provenance.route == "Polars streaming over parquet"
    assert (result.ledger.read, result.ledger.counted) == (2, 1)


@pytest.mark.parametrize("rows", [600, 200_000])
def test_people_beyond_64_bits_are_refused(tmp_path: Path, rows: int) -> None:
    spec = {
        "columns": {
            "protected": ["a"],
            "decision": {"column": "y", "positive": 1, "negative": 0},
            "count": "n",
        },
        "metrics": ["selection_rate"],
    }
    table = pa.table({"a": ["x"] * rows, "y": [1] * rows, "n": [2**53 - 1] * rows})
    path = tmp_path / "1.parquet"
    pq.write_table(table, path, row_group_size=100)
    with pytest.raises(fairaudit.base.errors.DataError, match="more than 64 bits hold"):
        fairaudit.audit(spec, path)
    pq.write_table(table[:500], path, row_group_size=100)
    result = fairaudit.audit(spec, path)
    assert result.ledger.people == 500 * (2**53 - 1)
    assert result.provenance.route == "dictionary codes of Parquet"


def test_a_level_that_no_row_has_is_no_level(tmp_path: Path) -> None:
    """Dictionaries and ranges of integers may hold more than the data does."""
    path = write(tmp_path / "1.parquet", a=["x", "y"], b=[1, 3], c=[True, True], y=[1, 0])
    cells = count_data(plan(specs.of_mapping(SPEC)), path)
    assert [key.levels for key in cells.keys] == [("x", "y"), ("1", "3"), ("true",), ("0", "1")]


def test_no_table_beside_the_cells_has_a_level_that_no_row_has(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    codes = pa.DictionaryArray.from_arrays([0, 2] * 20, ["x", "nobody", "z"])
    pq.write_table(pa.table({"a": codes, "b": ["u", "v"] * 20, "y": [1, 0, 0, 1] * 10}), path)
    spec = {
        "columns": {
            "protected": ["b"],
            "features": ["a"],
            "decision": {"column": "y", "positive": 1, "negative": 0},
        },
        "metrics": ["selection_rate"],
        "subgroups": {"over": "all", "rates": ["selection_rate"]},
    }
    for counts in by_both_routes(spec, path):
        assert {key.column: levels for key, levels in counts.table_levels.items()} == {
            "a": ("x", "z"), "b": ("u", "v"), "y": ("0", "1")
        }  # fmt: skip
