"""The native kernel for Parquet: equal counts to the lazy route and to the rows, on every file."""

from __future__ import annotations

import itertools
import json
import math
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cell_sums import sums, tally
from conftest import SAMPLES, SPECS, count_data, examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import DataError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.counting import polars_engine
from fairaudit.counting.counts import Counts
from fairaudit.counting.native import native_parquet
from fairaudit.counting.plan import Edge, Key, Plan
from fairaudit.counting.sources import parquet
from fairaudit.pipeline.plan_builder import plan

_kernel = pytest.importorskip("fairaudit._kernel", reason="built without a C compiler")

NATIVE = "the native kernel over parquet"
LAZY = "Polars streaming over parquet"
COLUMNS = ("a", "b", "c", "y")
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["a", "b", "c"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
    },
    "missing": {"prediction": "aside"},
    "metrics": ["selection_rate"],
}
PLAN = plan(specs.of_mapping(SPEC))
TYPES = {
    "b": [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32()],
    "a": [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())],
}
CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
ENCODINGS = [
    {"a": "PLAIN", "b": "PLAIN", "c": "PLAIN"},
    {"a": "DELTA_LENGTH_BYTE_ARRAY", "b": "DELTA_BINARY_PACKED", "c": "RLE"},
    {"a": "DELTA_BYTE_ARRAY", "b": "BYTE_STREAM_SPLIT", "c": "PLAIN"},
]
TEXTS = ["x", "y", "zz", "", "ä", "a longer text than the others"]


def counted(route: str, data: Path | list[Path], asked: Plan = PLAN) -> Counts:
    """The counts of files by one route."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", route)
        return count_data(asked, data)


def as_level(value: object) -> str | None:
    """A value as a level is written."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def expected(rows: list[dict[str, Any]]) -> Counter[tuple[str | None, ...]]:
    """Rows by raw levels, from the rows themselves."""
    return Counter(tuple(as_level(row[key.column]) for key in PLAN.keys) for row in rows)


def write(path: Path, rows: list[dict[str, Any]], types: dict[str, Any], **options: Any) -> None:
    fields = {"a": types["a"], "b": types["b"], "c": pa.bool_(), "y": pa.int32()}
    nullable = types.get("nullable", True)
    schema = pa.schema([pa.field(name, kind, nullable=nullable) for name, kind in fields.items()])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)


@st.composite
def generated_rows(draw: st.DrawFn, *, nulls: bool = True) -> list[dict[str, Any]]:
    """Rows in runs, as sorted data have them, and by chance; nulls rare, often, or always."""
    chance = random.Random(draw(st.integers(0, 2**32)))
    size = draw(st.integers(1, 600))
    texts = chance.sample(TEXTS, draw(st.integers(1, len(TEXTS))))
    texts += [f"level {number}" for number in range(draw(st.sampled_from([0, 0, 20, 300])))]
    numbers = range(draw(st.sampled_from([1, 2, 100])))
    null_share = draw(st.sampled_from([0, 0.01, 0.5, 1])) if nulls else 0
    longest = draw(st.sampled_from([1, 1, 9, 100]))

    def column(values: list[Any]) -> list[Any]:
        runs = (
            [None if chance.random() < null_share else chance.choice(values)]
            * chance.randint(1, longest)
            for _ in itertools.count()
        )
        return list(itertools.islice(itertools.chain.from_iterable(runs), size))

    columns = column(texts), column([*numbers]), column([True, False]), column([0, 1])
    return [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]


@given(
    rows=generated_rows(),
    text=st.sampled_from(TYPES["a"]),
    number=st.sampled_from(TYPES["b"]),
    coded=st.sampled_from([True, True, False, ["a", "y"], *ENCODINGS]),
    group=st.sampled_from([7, 64, 250, 1000]),
    page=st.sampled_from([1, 100, 2**20]),
    batch=st.sampled_from([1, 8, 77]),
    dictionary=st.sampled_from([1, 30, 2**20]),
    version=st.sampled_from(["1.0", "2.0"]),
    codec=st.sampled_from(CODECS),
)
@examples(80)
def test_counts_equal_those_of_the_rows_and_of_the_lazy_route(
    rows: list[dict[str, Any]],
    text: pa.DataType,
    number: pa.DataType,
    coded: bool | list[str] | dict[str, str],
    group: int,
    page: int,
    batch: int,
    dictionary: int,
    version: str,
    codec: str,
    tmp_path: Path,
) -> None:
    path, encodings = tmp_path / "rows.parquet", coded if isinstance(coded, dict) else None
    write(
        path,
        rows,
        {"a": text, "b": number},
        row_group_size=group,
        use_dictionary=False if encodings else coded,
        column_encoding=encodings,
        dictionary_pagesize_limit=dictionary,
        data_page_size=page,
        write_batch_size=batch,
        data_page_version=version,
        compression=codec,
    )
    by_any, by_polars = counted("", path), counted("lazy", path)
    assert by_polars.route == LAZY
    if dictionary == 2**20 and coded is True:
        assert by_any.route == NATIVE
    if by_any.route == NATIVE:
        assert tally(counted("native", path)) == expected(rows)
    assert tally(by_any) == tally(by_polars) == expected(rows)
    for key, other in zip(by_any.keys, by_polars.keys, strict=True):
        assert set(key.levels) == set(other.levels)


@given(rows=generated_rows(nulls=False), version=st.sampled_from(["1.0", "2.0"]))
@examples(20)
def test_columns_that_are_never_null(
    rows: list[dict[str, Any]], version: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    types = {"a": pa.string(), "b": pa.int64(), "nullable": False}
    write(path, rows, types, data_page_version=version, row_group_size=100)
    assert tally(counted("native", path)) == expected(rows)


@given(parts=st.lists(generated_rows(), min_size=2, max_size=4, unique_by=repr))
@examples(20)
def test_files_of_different_dictionaries(parts: list[list[dict[str, Any]]], tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.parquet" for number in range(len(parts))]
    for path, rows, kind in zip(paths, parts, itertools.cycle(TYPES["a"]), strict=False):
        write(path, rows, {"a": kind, "b": pa.int64()}, row_group_size=50)
    counts = counted("native", paths)
    assert counts.route == NATIVE
    assert tally(counts) == expected([row for rows in parts for row in rows])


@given(rows=generated_rows(), group=st.sampled_from([50, 1000]))
@examples(20)
def test_files_that_polars_wrote(rows: list[dict[str, Any]], group: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    kinds = {"a": pl.String, "b": pl.Int64, "c": pl.Boolean, "y": pl.Int32}
    pl.DataFrame(rows, schema=kinds).write_parquet(path, row_group_size=group)
    assert tally(counted("", path)) == tally(counted("lazy", path)) == expected(rows)


CUT = {
    "protected": {"a": {}, "x": {"bins": ["0.1", "0.7", 25]}},
    "label": {"column": "x", "positive": {"above": "0.7"}},
    "decision": {"column": "y", "positive": 1, "negative": 0},
}
NUMBERS = st.one_of(
    st.sampled_from([0.7, 0.1, 25.0, float("nan"), None]), st.floats(-2, 2, width=32)
)
WEIGHTS = st.one_of(
    st.decimals(0, 2000, places=2).map(float), st.floats(0, 2000), st.sampled_from([0.0, 1.5, 1e-9])
)


@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from(TEXTS), NUMBERS, st.sampled_from([0, 1]), WEIGHTS, st.integers(0, 2**53)
        ),
        min_size=1,
    ),
    repeated=st.sampled_from([1, 3, 30]),
    kind=st.sampled_from([pa.float64(), pa.float32(), pa.int16(), pa.int64()]),
    coded=st.sampled_from([True, ["a", "y"], ["a", "y", "x"]]),
    dictionary=st.sampled_from([30, 2**20]),
    group=st.sampled_from([3, 25, 1000]),
    version=st.sampled_from(["1.0", "2.0"]),
)
@examples(80)
def test_cuts_weights_and_counts_equal_those_of_the_lazy_route(
    rows: list[tuple[str | None, float | None, int, float, int]],
    repeated: int,
    kind: pa.DataType,
    coded: bool | list[str],
    dictionary: int,
    group: int,
    version: str,
    tmp_path: Path,
) -> None:
    is_whole = pa.types.is_integer(kind)
    rows = rows * repeated
    numbers = [
        None if x is None or (is_whole and math.isnan(x)) else int(x) if is_whole else x
        for _, x, *_ in rows
    ]
    table = pa.table(
        {
            "a": pa.array([row[0] for row in rows], type=pa.string()),
            "x": pa.array(numbers, type=kind),
            "y": [row[2] for row in rows],
            "w": [row[3] for row in rows],
            "n": [min(row[4], 2**53 - 1) for row in rows],
        }
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(
        table,
        path,
        row_group_size=group,
        use_dictionary=coded,
        data_page_version=version,
        dictionary_pagesize_limit=dictionary,
        write_batch_size=8,
    )
    for measure in ({}, {"weight": "w"}, {"count": "n"}):
        asked = plan(
            specs.of_mapping(
                {
                    "columns": {**CUT, **measure},
                    "missing": {"label": "aside"},
                    "metrics": ["selection_rate"],
                }
            )
        )
        by_any, by_polars = counted("", path, asked), counted("lazy", path, asked)
        is_tiny = "weight" in measure and max(row[3] for row in rows) < 1e-3
        if dictionary == 2**20 and not is_tiny:
            assert by_any.route == NATIVE
        assert sums(by_any) == sums(by_polars)
        errors = [one.weights and one.weights.error for one in (by_any, by_polars)]
        assert errors[0] == errors[1]


@pytest.mark.parametrize("values", [[1.0, None], [1.0, -1.0], [1.0, float("nan")], [1.0, 5000.0]])
@pytest.mark.parametrize("coded", [["a", "y"], ["a", "y", "w"]])
def test_other_weights_are_for_another_route(
    values: list[float | None], coded: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": ["x", "y"], "x": [1.0, 0.0], "y": [0, 1], "w": values})
    pq.write_table(table, path, use_dictionary=coded)
    columns = {**CUT, "weight": "w"}
    asked = plan(specs.of_mapping({"columns": columns, "metrics": ["selection_rate"]}))
    with pytest.raises(UsageError, match="cannot read"):
        counted("native", path, asked)


def table_sums(counts: Counts) -> list[Counter[tuple[object, ...]]]:
    """The people of each table beside the cells, by its levels and intervals."""
    return [
        sum(
            (
                Counter(
                    {
                        tuple(
                            code if key.key.is_cut else key.levels[code]
                            for key, code in zip(table.keys, codes, strict=True)
                        ): people
                    }
                )
                for *codes, people in zip(
                    *(key.codes.tolist() for key in table.keys), table.people.tolist(), strict=True
                )
            ),
            Counter(),
        )
        for table in counts.tables
    ]


@given(rows=generated_rows(), group=st.sampled_from([50, 1000]))
@examples(20)
def test_tables_beside_the_cells(rows: list[dict[str, Any]], group: int, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, rows, {"a": pa.string(), "b": pa.int64()}, row_group_size=group)
    keys = *map(Key, COLUMNS), Key("b", (Edge(Decimal(2)), Edge(Decimal(50), beyond=True)))
    tables = (keys[:1], keys[1:3], (keys[4], keys[0], keys[3]))
    asked = replace(PLAN, keys=keys[3:4], tables=tables)
    native, by_polars = counted("native", path, asked), counted("lazy", path, asked)
    assert table_sums(native) == table_sums(by_polars)
    assert sums(native) == sums(by_polars)
    for key, levels in by_polars.table_levels.items():
        assert set(native.table_levels[key]) == set(levels)


@pytest.mark.long
@pytest.mark.parametrize("protected", [["a", "b"], {"a": {}, "b": {"bins": [2, 50]}}])
def test_subgroups_are_the_same_by_both_routes(protected: Any, tmp_path: Path) -> None:
    chance = random.Random(8)
    columns = {
        "a": [chance.choice(["x", "y", "z", None]) for _ in range(3000)],
        "b": [chance.randrange(60) for _ in range(3000)],
        "c": [chance.choice([True, False, None]) for _ in range(3000)],
        "y": [chance.randrange(2) for _ in range(3000)],
    }
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=700)
    spec = {
        "columns": {
            "protected": protected,
            "features": ["c"],
            "decision": {"column": "y", "positive": 1, "negative": 0},
        },
        "metrics": ["selection_rate"],
        "subgroups": {"over": "all", "rates": ["selection_rate"]},
    }
    documents = {}
    for route in ("native", "lazy"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FAIRAUDIT_ROUTE", route)
            document = json.loads(fairaudit.audit(spec, path).to_json())
        assert document["provenance"].pop("route") == {"native": NATIVE, "lazy": LAZY}[route]
        del document["provenance"]["created"]
        documents[route] = document
    assert documents["native"] == documents["lazy"]


def test_one_file_is_for_another_route(tmp_path: Path) -> None:
    rows = [{"a": "x", "b": 1, "c": True, "y": number % 2} for number in range(40)]
    paths = [tmp_path / "dictionary.parquet", tmp_path / "plain.parquet"]
    for path, part, coded in zip(paths, (rows, rows[::-1]), (True, False), strict=True):
        write(path, part, {"a": pa.string(), "b": pa.int64()}, use_dictionary=coded)
    counts = counted("", paths)
    assert counts.route == f"{NATIVE}; {LAZY}"
    assert tally(counts) == expected(rows * 2)
    with pytest.raises(UsageError, match="cannot read"):
        counted("native", paths)


@pytest.mark.long
def test_an_audit_by_the_kernel_does_not_load_polars(tmp_path: Path) -> None:
    """Polars takes a fifth of a small audit to load; only ids that may repeat need it."""
    data = tmp_path / "loans.parquet"
    table = pq.read_table(SAMPLES / "loans.parquet").drop_columns(["application_id"])
    pq.write_table(table, data)
    arguments = ["run", str(SPECS / "loans.yaml"), "--data", str(data), "-q"]
    code = (
        f"import sys; from fairaudit.cli import run_line; run_line({arguments}); "
        "print({'polars'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_integers_without_a_dictionary_are_for_another_route(tmp_path: Path) -> None:
    numbers = [-3, 500, None, 0, 17] * 50
    rows = [{"a": "x", "b": number, "c": None, "y": 1} for number in numbers]
    for kind in TYPES["b"][1:4]:
        path = tmp_path / f"{kind}.parquet"
        write(path, rows, {"a": pa.string(), "b": kind}, use_dictionary=["a", "y"])
        counts = counted("", path)
        assert counts.route == LAZY
        assert tally(counts) == expected(rows)


def test_files_are_read_where_there_is_no_pread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [dict(zip(COLUMNS, ("x", n % 5, n % 3 == 0, n % 2), strict=True)) for n in range(90)]
    path = tmp_path / "rows.parquet"
    types = {"a": pa.string(), "b": pa.int64()}
    write(path, rows, types, row_group_size=20, data_page_size=50, write_page_checksum=True)
    monkeypatch.delattr(os, "pread")
    monkeypatch.delattr(os, "preadv", raising=False)
    assert tally(counted("native", path)) == expected(rows)


def test_no_other_route_is_known(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    write(path, [dict.fromkeys(COLUMNS)], {"a": pa.string(), "b": pa.int64()})
    with pytest.raises(UsageError, match="FAIRAUDIT_ROUTE is set to 'fast'"):
        counted("fast", path)


@pytest.mark.long
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_damaged_pages_are_refused_or_counted_to_the_last_row(
    version: str, codec: str, tmp_path: Path
) -> None:
    chance = random.Random(f"{version}{codec}")
    values: list[list[Any]] = [[*TEXTS, None], [1, 2, None], [True, False, None], [0, 1]]
    columns = ([chance.choice(some) for _ in range(500)] for some in values)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
    path = tmp_path / "rows.parquet"
    types = {"a": pa.string(), "b": pa.int64()}
    options = {"row_group_size": 200, "data_page_size": 50, "write_batch_size": 20}
    write(path, rows, types, data_page_version=version, compression=codec, **options)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    refused = 0
    for _ in range(60):
        damaged = bytearray(content)
        for place in chance.choices(range(4, footer), k=chance.choice([1, 1, 4])):
            damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            counts = counted("", path)
        except DataError:
            refused += 1
        else:
            assert counts.rows.sum() == len(rows)
    assert refused > 10


def python_header(content: bytes) -> tuple[object, ...] | None:
    """The fields of a header, by the reader in Python; None where it refuses them."""
    try:
        return tuple(parquet.header_in_python(content))
    except (parquet.Malformed, parquet._Damaged):
        return None


def native_header(content: bytes) -> tuple[object, ...] | None:
    """The same by the kernel."""
    try:
        return (*_kernel.first_header(content),)
    except ValueError:
        return None


@pytest.mark.parametrize("checksum", [True, False])
def test_all_readers_of_headers_read_the_same(checksum: bool, tmp_path: Path) -> None:
    chance = random.Random(21)
    path = tmp_path / "rows.parquet"
    headers = []
    for version in ("1.0", "2.0"):
        options = {"data_page_version": version, "write_page_checksum": checksum}
        write(path, [dict.fromkeys(COLUMNS)] * 9, {"a": pa.string(), "b": pa.int64()}, **options)
        content = path.read_bytes()
        chunks = parquet.read_layout(path, "rows").groups[0].chunks
        headers += [content[chunk.start : chunk.start + 60] for chunk in chunks]
    damaged = []
    for _ in range(20_000):
        header = bytearray(chance.choice(headers))
        for _ in range(chance.choice([0, 1, 1, 3])):
            header[chance.randrange(40)] = chance.randrange(256)
        damaged.append(bytes(header))
    assert min(compare_readers(native_header, python_header, damaged)) > 2000


def compare_readers(
    native: Callable[[bytes], object], python: Callable[[bytes], object], contents: list[bytes]
) -> tuple[int, int]:
    """How often both read the same, and how often both refuse; the kernel may refuse alone."""
    both = neither = 0
    for content in contents:
        by_kernel, by_python = native(content), python(content)
        if by_kernel is not None:
            assert by_kernel == by_python, content
        both += by_kernel is not None
        neither += by_kernel is by_python is None
    return both, neither


def python_struct(content: bytes) -> object:
    """A struct by the reader in Python; None where it refuses the bytes."""
    try:
        return parquet.read_struct(content)[0]
    except parquet.Malformed:
        return None


@pytest.mark.long
def test_both_readers_of_footers_read_the_same(tmp_path: Path) -> None:
    chance = random.Random(22)
    path = tmp_path / "rows.parquet"
    rows = [dict(zip(COLUMNS, ("x", n, n % 3 == 0, n % 2), strict=True)) for n in range(9)]
    write(path, rows, {"a": pa.string(), "b": pa.int64()}, row_group_size=2)
    content = path.read_bytes()[:-8]
    footer = content[-int.from_bytes(path.read_bytes()[-8:-4], "little") :]
    assert _kernel.thrift_struct(footer) == python_struct(footer) is not None
    damaged = []
    for _ in range(3000):
        other = bytearray(footer)
        for _ in range(chance.choice([1, 1, 3])):
            other[chance.randrange(len(other))] = chance.randrange(256)
        damaged.append(bytes(other))
    assert min(compare_readers(_kernel.thrift_struct, python_struct, damaged)) > 500


def test_nulls_that_no_statistic_told_are_for_another_route(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"a": ["x", None, "y"][n % 3], "b": 1, "c": True, "y": n % 2} for n in range(60)]
    path = tmp_path / "rows.parquet"
    read = parquet.Chunk.read
    write(path, rows, {"a": pa.string(), "b": pa.int64()})
    assert tally(counted("native", path)) == expected(rows)
    with monkeypatch.context() as patch:
        patch.setattr(parquet.Chunk, "read", lambda *given: replace(read(*given), nulls=0))
        assert counted("", path).route != NATIVE
        assert tally(counted("", path)) == expected(rows)


@pytest.mark.parametrize("measure", [{}, {"weight": "w"}, {"count": "n"}])
def test_a_thread_adds_up_its_rows_in_parts(
    measure: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    columns = {
        "a": ["x", "y", "z"] * 200,
        "x": [1.0, 0.0] * 300,
        "y": [0, 1, 1] * 200,
        "w": [2146.75, 0.1, 2.0, 2146.0] * 150,
        "n": [2**33 + 1, 0, 5] * 200,
    }
    pq.write_table(pa.table(columns), path, row_group_size=70)
    spec = {"columns": {**CUT, **measure}, "metrics": ["selection_rate"]}
    monkeypatch.setattr(native_parquet, "_MOST_ADDED", 100)
    native, by_polars = (
        counted(route, path, plan(specs.of_mapping(spec))) for route in ("native", "lazy")
    )
    assert sums(native) == sums(by_polars)


def outcome(path: Path, asked: Plan) -> object:
    """What comes of a file: its cells, or why it is refused."""
    try:
        return tally(counted("", path, asked))
    except DataError as error:
        # Which of its two errors Polars has for damage is up to its threads.
        return re.sub(r"damaged, (?:truncated or gone|or not what .*)", "damaged", str(error))


@pytest.mark.long
@pytest.mark.parametrize("checksum", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_checked_while_they_are_counted_are_refused_as_before(
    version: str, checksum: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{version}{checksum}")
    values: list[list[Any]] = [[*TEXTS, None], [1, 2, None], [True, False, None], [0, 1]]
    columns = ([chance.choice(some) for _ in range(300)] for some in values)
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*columns, strict=True)]
    path = tmp_path / "rows.parquet"
    options: dict[str, Any] = {"row_group_size": 150, "data_page_size": 50, "write_batch_size": 20}
    options |= {"data_page_version": version, "write_page_checksum": checksum}
    write(path, rows, {"a": pa.string(), "b": pa.int64()}, **options)
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    refused = Counter[bool]()
    for _ in range(60):
        damaged = bytearray(content)
        for place in chance.choices(range(4, footer), k=chance.choice([1, 1, 4])):
            damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        by_count = outcome(path, PLAN)
        with monkeypatch.context() as patch:
            patch.setattr(polars_engine, "leave_unproven", lambda file, _: file)
            assert outcome(path, PLAN) == by_count
        refused["the column" in str(by_count)] += 1
    assert refused[True] > 10


@pytest.mark.long
@pytest.mark.parametrize("rows", [600, 200_000])
def test_people_beyond_64_bits_are_refused(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"protected": ["a"], "decision": {"column": "y", "positive": 1, "negative": 0}}
    spec = {"columns": {**columns, "count": "n"}, "metrics": ["selection_rate"]}
    table = pa.table({"a": ["x"] * rows, "y": [1] * rows, "n": [2**53 - 1] * rows})
    path = tmp_path / "1.parquet"
    for route, told in (("native", NATIVE), ("lazy", LAZY)):
        monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
        pq.write_table(table, path, row_group_size=100)
        with pytest.raises(DataError, match="does not fit into 64 bits"):
            fairaudit.audit(spec, path)
        pq.write_table(table[:500], path, row_group_size=100)
        result = fairaudit.audit(spec, path)
        assert result.ledger.people == 500 * (2**53 - 1)
        assert result.provenance.route == told


@pytest.mark.parametrize("route", ["native", "lazy"])
def test_a_level_that_no_row_has_is_no_level(tmp_path: Path, route: str) -> None:
    """Dictionaries and ranges of integers may hold more than the data does."""
    path = tmp_path / "rows.parquet"
    codes = pa.DictionaryArray.from_arrays([0, 2] * 20, ["x", "nobody", "z"])
    pq.write_table(pa.table({"a": codes, "b": [1, 3] * 20, "y": [1, 0, 0, 1] * 10}), path)
    outcome = {"decision": {"column": "y", "positive": 1, "negative": 0}}
    spec: dict[str, Any] = {"columns": {"protected": ["a", "b"], **outcome}}
    spec["metrics"] = ["selection_rate"]
    counts = counted(route, path, plan(specs.of_mapping(spec)))
    assert [key.levels for key in counts.keys] == [("x", "z"), ("1", "3"), ("0", "1")]
    spec["columns"] = {"protected": ["b"], "features": ["a"], **outcome}
    spec["subgroups"] = {"over": "all", "rates": ["selection_rate"]}
    counts = counted(route, path, plan(specs.of_mapping(spec)))
    assert {key.column: levels for key, levels in counts.table_levels.items()} == {
        "a": ("x", "z"), "b": ("1", "3"), "y": ("0", "1")
    }  # fmt: skip
