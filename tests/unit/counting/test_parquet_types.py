"""Parquet's types by the footer alone: as Arrow names them, or Arrow is asked."""

from __future__ import annotations

import base64
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st

from fairaudit.counting.sources import thrift
from fairaudit.counting.sources.parquet_types import Columns, name_types
from fairaudit.counting.sources.thrift import Struct, Value

INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
INTEGERS += [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
NAMED = [
    *INTEGERS,
    *(pa.bool_(), pa.float32(), pa.float64(), pa.binary()),
    *(pa.string(), pa.large_string(), pa.date32(), pa.decimal128(9, 2), pa.decimal128(38, 0)),
    *(pa.timestamp(unit, zone) for unit in ("ms", "us", "ns") for zone in (None, "UTC")),
    *(pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.int32(), pa.uint16())),
]
"""The types that need no Arrow."""

OTHERS = [
    *(pa.float16(), pa.string_view(), pa.large_binary(), pa.binary(3), pa.null()),
    *(pa.date64(), pa.timestamp("s"), pa.duration("us"), pa.time32("ms"), pa.decimal256(50, 2)),
    *(pa.list_(pa.int64()), pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8())),
    *(pa.dictionary(pa.int8(), pa.string(), ordered=True), pa.dictionary(pa.int8(), pa.int64())),
]


def footer(path: Path) -> Any:
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    return thrift.struct(content[-8 - size : -8])[0]


def named(path: Path) -> Columns | None:
    fields = footer(path)
    return name_types(fields[2], fields.get(5, []))


def by_arrow(path: Path) -> Columns:
    return tuple((column.name, str(column.type)) for column in pq.read_schema(path))


def write(path: Path, kinds: list[pa.DataType], **options: Any) -> None:
    fields = [pa.field(f"é{number}", kind) for number, kind in enumerate(kinds)]
    pq.write_table(pa.schema(fields).empty_table(), path, **options)


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("kind", NAMED, ids=str)
def test_common_types_are_named_as_arrow_names_them(
    kind: pa.DataType, stored: bool, tmp_path: Path
) -> None:
    write(tmp_path / "a.parquet", [kind, pa.int64()], store_schema=stored)
    assert named(tmp_path / "a.parquet") == by_arrow(tmp_path / "a.parquet")


@pytest.mark.parametrize("kind", OTHERS, ids=str)
def test_of_other_types_arrow_is_asked(kind: pa.DataType, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [pa.int64(), kind])
    assert named(tmp_path / "a.parquet") is None


@given(
    kinds=st.lists(st.sampled_from(NAMED + OTHERS), min_size=1, max_size=4),
    stored=st.booleans(),
    version=st.sampled_from(["1.0", "2.4", "2.6"]),
)
@examples(80)
def test_no_file_has_other_types_than_arrow_says(
    kinds: list[pa.DataType], stored: bool, version: str, tmp_path: Path
) -> None:
    write(tmp_path / "a.parquet", kinds, store_schema=stored, version=version)
    assert named(tmp_path / "a.parquet") in {None, by_arrow(tmp_path / "a.parquet")}


def test_files_of_other_writers(tmp_path: Path) -> None:
    path, day = tmp_path / "a.parquet", date(2020, 1, 1)
    values = {
        "n": [1],
        "f": [0.5],
        "t": ["x"],
        "b": [True],
        "d": [day],
        "s": [datetime(2020, 1, 1)],  # noqa: DTZ001  # as most files have it
    }
    frame = pl.DataFrame(values).with_columns(c=pl.col("t").cast(pl.Categorical))
    frame.write_parquet(path)
    assert named(path) == by_arrow(path)
    columns = "1::TINYINT i, 2::BIGINT n, 0.5::DOUBLE f, 'x' t, true b, 1.25 x, DATE '2020-01-01' d"
    duckdb.sql(f"COPY (SELECT {columns}) TO '{path}'")
    assert named(path) == by_arrow(path)


def test_an_extension_of_arrow_is_no_text(tmp_path: Path) -> None:
    field = pa.field("a", pa.string(), metadata={"ARROW:extension:name": "arrow.json"})
    pq.write_table(pa.schema([field]).empty_table(), tmp_path / "a.parquet")
    assert named(tmp_path / "a.parquet") is None


@given(data=st.data())
@examples(300)
def test_a_damaged_schema_of_arrow_raises_nothing_and_changes_no_number(
    data: st.DataObject, tmp_path: Path
) -> None:
    """What it says is held against what Parquet says: at most a text has another name."""
    kinds = [pa.int64(), pa.string(), pa.dictionary(pa.int8(), pa.string()), pa.timestamp("us")]
    write(tmp_path / "a.parquet", kinds)
    fields = footer(tmp_path / "a.parquet")
    (written,) = (entry for entry in fields[5] if entry[1] == b"ARROW:schema")
    content = bytearray(base64.b64decode(written[2]))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = (
        content[: data.draw(st.integers(0, len(content)))] if data.draw(st.booleans()) else content
    )
    found = name_types(fields[2], [{1: b"ARROW:schema", 2: base64.b64encode(bytes(cut))}])
    if found is not None:
        (_, number), (_, text), (_, dictionary), (_, time) = found
        texts = ("string", "large_string", "dictionary<values=string")
        assert number == "int64"
        assert time.startswith("timestamp[us")
        assert all(kind.startswith(texts) for kind in (text, dictionary))


@pytest.mark.parametrize(
    "metadata",
    [
        [{1: b"ARROW:schema", 2: b"no base64!"}],
        [{1: b"ARROW:schema"}],
        [{1: b"ARROW:schema", 2: b""}],
        [{1: b"ARROW:schema", 2: base64.b64encode(b"\xff\xff\xff\xff\xff\xff\xff\x7f")}],
    ],
)
def test_a_schema_that_is_none_is_left_to_arrow(metadata: Any, tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [pa.int64()])
    assert name_types(footer(tmp_path / "a.parquet")[2], metadata) is None


def test_annotations_that_contradict_each_other_are_left_to_arrow() -> None:
    """An INT_8 that is stored in 64 bits, a text that is a number, and such."""
    root: Struct = {4: b"root", 5: 1}
    column: dict[int, Value] = {1: 2, 3: 1, 4: b"a"}
    integer: dict[int, Value] = {10: {10: {1: 64, 2: True}}}
    contradictions: list[dict[int, Value]] = [
        {6: 15},
        integer | {6: 14},
        {10: {10: {1: 8, 2: True}}},
        {10: {1: {}}},
        {10: {}},
        {10: {1: {}, 6: {}}},
        {6: 99},
        {6: []},
        {10: {10: {1: [], 2: True}}},
        {3: 2},
        {5: 0},
    ]
    assert name_types([root, column], []) == (("a", "int64"),)
    assert name_types([root, column | integer], []) == (("a", "int64"),)
    for more in contradictions:
        assert name_types([root, column | more], []) is None, more
