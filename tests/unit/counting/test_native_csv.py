"""The native kernel for CSV: equal counts to the lazy route and to the rows, or it declines."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cell_sums import sums
from conftest import count_data, examples
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import DataError, FairauditError, UsageError
from fairaudit.counting import polars_engine
from fairaudit.counting.counts import Counts
from fairaudit.counting.native import native_csv
from fairaudit.counting.plan import Plan
from fairaudit.counting.routes import polars_route
from fairaudit.counting.sources import csv_reader
from fairaudit.counting.sources.files import Files
from fairaudit.pipeline.plan_builder import plan
from fairaudit.report import json as report_json

_kernel = pytest.importorskip("fairaudit._kernel", reason="built without a C compiler")

NATIVE = "the native kernel over csv"
SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["a", "b"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
    },
    "missing": {"prediction": "aside"},
    "metrics": ["selection_rate"],
}
PLAN = plan(specs.of_mapping(SPEC))
PIECES = ["", "x", "y", " ", "ä", "€", "😀", "a longer text", 'q"q', ",", ";", "0", "n" * 70]
PADDING = bytes(64)


def counted(route: str, path: Path, separator: str = ",") -> Counts:
    """The counts of a file by one route."""
    asked = plan(specs.of_mapping({**SPEC, "format": {"separator": separator}}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", route)
        return count_data(asked, path)


def cells(counts: Counts) -> Counter[tuple[str | None, ...]]:
    """How many rows each combination of levels has."""
    found: Counter[tuple[str | None, ...]] = Counter()
    codes = zip(*(key.codes.tolist() for key in counts.keys), strict=True)
    for places, rows in zip(codes, counts.rows.tolist(), strict=True):
        levels = zip(counts.keys, places, strict=True)
        found[tuple(key.levels[place] for key, place in levels)] += rows
    return found


def written(fields: list[tuple[str, bool]], separator: str) -> str:
    """A record; fields are quoted where they must be, or where it is asked."""
    return separator.join(
        '"' + text.replace('"', '""') + '"' if quoted or any(s in text for s in ',;"') else text
        for text, quoted in fields
    )


FIELDS = st.lists(st.tuples(st.sampled_from(PIECES), st.booleans()), min_size=4, max_size=4)


@examples(60)
@given(
    rows=st.lists(FIELDS, min_size=1, max_size=40),
    separator=st.sampled_from(",;"),
    end=st.sampled_from(["\n", "\r\n"]),
    bom=st.booleans(),
    has_last_end=st.booleans(),
    block=st.integers(700, 2000),
)
def test_the_kernel_is_the_lazy_route_and_the_rows(  # each part of a dialect
    *,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[list[tuple[str, bool]]],
    separator: str,
    end: str,
    bom: bool,
    has_last_end: bool,
    block: int,
) -> None:
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    lines = [separator.join("abyz"), *(written(row, separator) for row in rows)]
    text = end.join(lines) + (end if has_last_end else "")
    content = text.encode("utf-8-sig" if bom else "utf-8")
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_csv, "_BLOCK", block)
        native = counted("native", path, separator)
    lazy = counted("lazy", path, separator)
    assert native.route == NATIVE
    assert lazy.route != NATIVE
    assert native.read == lazy.read == len(rows)
    assert native.sources == lazy.sources
    columns = {key.key.column: number for number, key in enumerate(native.keys)}
    expected = Counter(
        tuple(
            None if row["aby".index(column)] == ("", False) else row["aby".index(column)][0]
            for column in columns
        )
        for row in rows
    )
    assert cells(native) == cells(lazy) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"x,y,1,z\nx,y,1\n",
        b"x,y,1,z,z\n",
        b'x,"y,1,z\nx,y,1,z\n',
        b'x,y"y,1,z\n',
        b'x,"y"y,1,z\n',
        b"x,\xff,1,z\n",
        b"x,y,1,\xed\xa0\x80\n",
        b"x\ry,y,1,z\n",
        b'x,"y\ny",1,z\n',
    ],
)
def test_a_fault_has_the_words_of_the_guard(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(b"a,b,y,z\nx,y,1,z\n" + body)
    with pytest.raises(DataError) as lazy:
        counted("lazy", path)
    with pytest.raises(DataError) as native:
        counted("native", path)
    assert str(native.value) == str(lazy.value)


@pytest.mark.parametrize(
    "body",
    ["x,y,1,z\n\nx,y,0,z\n", "".join(f"{row},b,1,z\n" for row in range(9999))],
    ids=["a blank line", "too many levels"],
)
def test_what_is_not_served_is_left_to_the_lazy_route(tmp_path: Path, body: str) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,y,z\n" + body)
    with pytest.raises(UsageError, match="the compiled module cannot read"):
        counted("native", path)
    assert counted("lazy", path).read


def test_it_runs_unless_another_route_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,y,z\nx,y,1,z\n")
    monkeypatch.delenv("FAIRAUDIT_ROUTE", raising=False)
    assert count_data(PLAN, path).route == counted("native", path).route == NATIVE
    assert counted("lazy", path).route != NATIVE


def test_a_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,y,z\n" + "x,y,1,z\n" * 1000)
    read, blocks = 0, native_csv.LineBlocks.read

    def told(*arguments: Any) -> Iterator[int]:
        nonlocal read
        for end in blocks(*arguments):
            read += end
            yield end

    def refused(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr(native_csv.LineBlocks, "read", told)
    for reader in (csv_reader.check_lines, polars_route.count_files):
        monkeypatch.setattr(f"{reader.__module__}.{reader.__name__}", refused)
    assert count_data(PLAN, path).read == 1000
    assert read == len("x,y,1,z\n") * 1000


@pytest.mark.parametrize(
    "after", ["a,b,y,z\nx,y,1,z\nx,y,0,z\nx,y,1,z\n", "a,b,y,z\nx,y,0,z\nx,y,1,z\n"]
)
def test_a_file_that_changes_while_it_is_read_is_told(
    after: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,y,z\nx,y,1,z\nx,y,0,z\n")
    os.utime(path, ns=(0, 0))

    blocks = native_csv.LineBlocks.read

    def and_then_changes(*arguments: Any) -> Iterator[int]:
        yield from blocks(*arguments)
        path.write_text(after)

    monkeypatch.setattr(native_csv.LineBlocks, "read", and_then_changes)
    with pytest.raises(DataError, match=r"data\.csv: the file changed while it was read"):
        count_data(PLAN, path)


NUMBERS = [
    "24",
    "25",
    "25.0",
    " 30 ",
    "1e1",
    "-3",
    "",
    "NA",
    "40",
    "+5",
    ".5",
    "1e400",
    "inf",
    "nan",
]
NO_NUMBERS = ["x", "1_0", "0x1", "5 0", "٣", "--1"]
MEASURES = [
    *("0", "1", "7", "007", "2.5", "2.50", "0.30000000000000004", "1e2", "1E-2", "2.5e+1"),
    *("9007199254740991", "2146.999999999", "0.0004", "1e-30", "123456789.123456789"),
]
"""Weights that are no round numbers, some of which are people, too."""
OTHER_PLANS: dict[str, dict[str, Any]] = {
    "texts": {},
    "cut": {"columns": {"protected": {"a": {}, "n": {"bins": [25, 40]}}}},
    "text and cut": {
        "columns": {
            "protected": {"n": {"bins": [25, 40]}, "m": {"column": "n", "unknown": ["24"]}}
        },
    },
    "filter": {"filter": "b = 'x'"},
    "filter by numbers": {"filter": "n * 2 > 20 and n < 1e2 or b is null"},
    "filter at fault": {"filter": "b like 'x%' and n"},
    "filter and cut": {
        "filter": "a <> 'y'",
        "columns": {"protected": {"a": {}, "n": {"bins": [25, 40]}}},
    },
    "filter and weight": {
        "filter": "n >= 1 or a = 'x'",
        "columns": {"protected": ["a"], "weight": "n"},
    },
    "filter and people": {"filter": "b <> 'y'", "columns": {"protected": ["a"], "count": "n"}},
    "a number is missing": {
        "columns": {"protected": ["a"], "weight": "n"},
        "missing": {"prediction": "aside", "tokens": ["", "7"]},
    },
    "weight": {"columns": {"protected": ["a"], "weight": "n"}},
    "people": {"columns": {"protected": ["a"], "count": "n"}},
}


def other_plan(name: str, form: dict[str, Any]) -> Plan:
    """A plan for columns a, b, n and y, by its name."""
    more = OTHER_PLANS[name]
    columns = {"protected": ["a", "b"], "decision": SPEC["columns"]["decision"]}
    columns |= more.get("columns", {})
    missing = {"prediction": "aside", "tokens": ["", "NA"]}
    return plan(
        specs.of_mapping({**SPEC, "missing": missing, **more, "columns": columns, "format": form})
    )


def outcome(route: str, path: Path, asked: Plan) -> tuple[object, ...]:
    """What a route makes of a file: all that is counted, or its error in words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", route)
        try:
            counts = count_data(asked, path)
        except FairauditError as error:
            located = error
            if isinstance(error, DataError):
                located = polars_engine.locate_error(error, asked, Files((str(path),)))
            return type(error), str(located)
    kept = Counter(counts.kept.tolist())
    keys = [(key.key, {*key.levels}) for key in counts.keys]
    return sums(counts), set(kept), keys, counts.read, counts.sources, counts.notices


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, dict[str, Any]]:
    """A file of columns a, b, n and y in some dialect, sound or damaged, and its format."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "latin-1", "utf-16"]))
    texts = st.sampled_from(["x", "y", "", "NA", "a longer text", 'q"q', separator, "ä", "x" * 70])
    more = draw(st.sampled_from([[], [], NUMBERS, NUMBERS + NO_NUMBERS, MEASURES]))
    few = draw(st.sampled_from([MEASURES[:4], MEASURES[:6], MEASURES]))
    numbers = draw(st.sampled_from([NUMBERS[:-5] + more, few]))
    decimal = draw(st.sampled_from([".", ".", "." if separator == "," else ","]))
    if decimal == ",":
        numbers = [number.replace(".", ",") for number in numbers]
    if encoding == "latin-1":
        numbers = [number for number in numbers if number.isascii()]
    values = [texts, texts, st.sampled_from(numbers), st.sampled_from(["0", "1", ""])]
    fields = st.tuples(*(st.tuples(value, st.booleans()) for value in values))
    rows = draw(st.lists(fields, max_size=30))
    lines = ["a,b,n,y".replace(",", separator)]
    lines += [
        separator.join(
            '"' + text.replace('"', '""') + '"' if quoted or {*text} & {'"', separator} else text
            for text, quoted in row
        )
        for row in rows
    ]
    text = end.join(lines) + draw(st.sampled_from([end, ""]))
    content = bytearray(text.encode(encoding))
    for _ in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        place = draw(st.integers(0, len(content)))
        if draw(st.booleans()):
            del content[place : place + draw(st.integers(1, 3))]
        else:
            damage = [b'"', separator.encode(), b"\n", b"\r", b"\xff", b"\0", b"\n\n", b"\xc3"]
            content[place:place] = draw(st.sampled_from(damage))
    if encoding == "utf-8-sig":
        encoding = "utf-8"
    return bytes(content), {"separator": separator, "encoding": encoding, "decimal": decimal}


CODECS = {"gz": "gzip", "zst": "zstd"}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("last", ["", "\n"])
@pytest.mark.parametrize("packing", [*CODECS])
def test_packed_lines_are_counted_as_they_are_unpacked(
    packing: str, last: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{'xyz'[place % 3]},{'b' * (place % 40)},1,z" for place in range(500)]
    content = ("\n".join(["a,b,y,z", *rows]) + last).encode()
    path = tmp_path / f"data.csv.{packing}"
    # Two members, or frames, one after the other, are one text.
    codec = pa.Codec(CODECS[packing])
    path.write_bytes(b"".join(codec.compress(part) for part in (content[:999], content[999:])))
    monkeypatch.setattr(native_csv, "_BLOCK", 300)
    monkeypatch.setattr(native_csv, "thread_count", lambda: threads)
    native = counted("native", path)
    assert native.route == NATIVE
    levels = [tuple(row.split(",")[:3]) for row in rows]
    expected = Counter((y, a, b or None) for a, b, y in levels)
    found = Counter(cells(native))
    places = {key.key.column: number for number, key in enumerate(native.keys)}
    assert {tuple(cell[places[name]] for name in "yab"): n for cell, n in found.items()} == expected
    assert native.sources == counted("lazy", path).sources


@examples(400)
@given(
    file=files(),
    name=st.sampled_from([*OTHER_PLANS]),
    packing=st.sampled_from(["", "", "gz", "zst"]),
    is_cut=st.booleans(),
    block=st.sampled_from([150, 400, 2**18]),
    threads=st.integers(1, 4),
)
def test_the_default_is_the_lazy_route_to_its_last_word(
    *,
    tmp_path_factory: pytest.TempPathFactory,
    file: tuple[bytes, dict[str, Any]],
    name: str,
    packing: str,
    is_cut: bool,
    block: int,
    threads: int,
) -> None:
    content, form = file
    path = tmp_path_factory.mktemp("csv") / f"data.csv{packing and '.'}{packing}"
    if packing:
        content = pa.Codec(CODECS[packing]).compress(content, asbytes=True)
        content = content[: -5 if is_cut else None]
    path.write_bytes(content)
    asked = other_plan(name, form)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_csv, "_BLOCK", block)
        patch.setattr(native_csv, "thread_count", lambda: threads)
        native = outcome("", path, asked)
    assert native == outcome("lazy", path, asked)


def test_a_file_that_is_cut_short_while_it_is_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,b,y,z\n" + "x,y,1,z\n" * 9)

    blocks = native_csv.LineBlocks.read

    def after_it_is_cut(*arguments: Any) -> Iterator[int]:
        path.write_text("a,b,y,z\nx,y,1,z\n")
        yield from blocks(*arguments)

    monkeypatch.setattr(native_csv.LineBlocks, "read", after_it_is_cut)
    with pytest.raises(DataError, match=r"data\.csv: the file changed while it was read"):
        count_data(PLAN, path)


def said(route: str, asked: dict[str, Any], path: Path) -> Any:
    """What an audit says by a route, but for the route; of an error its words."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", route)
        try:
            tree = report_json.document(fairaudit.audit(asked, path))
        except FairauditError as error:
            return type(error), str(error)
    assert route != "native" or tree["provenance"]["route"] == NATIVE
    return {**tree, "provenance": {**tree["provenance"], "route": None, "created": None}}


LABELLED = {"protected": ["a", "b"], "label": {"column": "y", "positive": 1, "negative": 0}}
GROUPED: dict[str, dict[str, Any]] = {
    "scores": {
        "columns": {**LABELLED, "score": "s"},
        "metrics": ["mean_score", "auc", {"metric": "auc", "compare": "gap", "warn": "> 0.1"}],
    },
    "scores of people": {
        "columns": {**LABELLED, "score": "s", "count": "n"},
        "metrics": ["mean_score", "auc"],
        "filter": "s < 0.9 or a = 'x'",
    },
    "counts and weights": {
        "columns": {"protected": ["a"], "decision": LABELLED["label"], "count": "n", "weight": "s"},
        "metrics": ["selection_rate"],
    },
    "a combination": {
        "columns": {
            "protected": {"c": {"combine": ["a", "b"]}},
            "decision": LABELLED["label"],
        },
        "metrics": ["selection_rate"],
    },
    "counts side by side": {
        "columns": {
            "protected": ["a", "b"],
            "decision": {"counts": {"positive": "n", "negative": "m"}},
        },
        "metrics": ["selection_rate"],
    },
    "a number": {
        "columns": {
            "protected": ["a"],
            "label": {"column": "n", "number": True},
            "prediction": {"column": "s", "number": True},
        },
        "metrics": ["mean_prediction", "mean_label"],
    },
}


@examples(60)
@given(
    rows=st.lists(
        st.tuples(
            *map(
                st.sampled_from,
                [["x", "y", ""], ["x", "z"], ["0", "1", "1", "NA"], ["0.1", ".25", "1", "", "1e-1"],
                 ["1", "2", "3"], ["4", "0"]],
            )
        ),
        min_size=1, max_size=60,
    ),
    bad=st.sampled_from(["", "", "", "1.5", "x", "-1"]),
    name=st.sampled_from([*GROUPED]),
    threads=st.integers(1, 3),
)  # fmt: skip
def test_groups_of_equal_rows_are_what_the_rows_are(
    *,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, ...]],
    bad: str,
    name: str,
    threads: int,
) -> None:
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    lines = [*map(",".join, rows), *([f"x,x,1,0.5,{bad},1"] if bad else [])]
    path.write_text("\n".join(["a,b,y,s,n,m", *lines, ""]))
    asked = {"missing": {"label": "aside", "score": "aside", "prediction": "aside",
                         "tokens": ["", "NA"], "numbers": "aside"}, **GROUPED[name]}  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_csv, "_BLOCK", 70)
        patch.setattr(native_csv, "thread_count", lambda: threads)
        assert said("", asked, path) == said("lazy", asked, path)


@pytest.mark.long
@pytest.mark.parametrize("name", [*GROUPED])
def test_groups_are_counted_in_one_reading(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    lines = [
        f"{'xy'[at % 2]},{'xz'[at // 3 % 2]},{at // 5 % 2},{at % 9 / 8},{at % 4},{at % 3}"
        for at in range(300)
    ]
    path.write_text("\n".join(["a,b,y,s,n,m", *lines, ""]))
    native = said("native", GROUPED[name], path)
    assert isinstance(native, dict)
    assert native == said("lazy", GROUPED[name], path)


@pytest.mark.parametrize("name", ["texts", "cut", "text and cut"])
def test_numbers_are_cut_without_another_reading(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rows = [f"x,y,{number},{place % 2}" for place, number in enumerate([*NUMBERS, *NUMBERS[:3]])]
    path.write_text("\n".join(["a,b,n,y", *rows, ""]))
    asked = other_plan(name, {"separator": ","})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", "native")
        assert count_data(asked, path).route == NATIVE
    assert outcome("native", path, asked) == outcome("lazy", path, asked)


@examples(100)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("xyz"), st.decimals("0", "2146", places=12), st.integers(0, 2**53 - 1)
        ),
        min_size=1,
    ),
    has_filter=st.booleans(),
    threads=st.integers(1, 3),
)
def test_weights_and_people_are_the_sums_of_their_rows(
    *,
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[str, Decimal, int]],
    has_filter: bool,
    threads: int,
) -> None:
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    lines = [f"{a},{weight},{people},1" for a, weight, people in [*rows, ("x", Decimal(1), 1)]]
    path.write_text("\n".join(["a,w,n,y", *lines, ""]))
    weighted = [(a, Fraction(float(w))) for a, w, _ in rows] + [("x", Fraction(1))]
    counted = [(a, Fraction(n)) for a, _, n in rows] + [("x", Fraction(1))]
    for role, column, values in [("weight", "w", weighted), ("count", "n", counted)]:
        outcome = SPEC["columns"]["decision"]
        columns = {"protected": ["a"], "decision": outcome, role: column}
        asked = {**SPEC, "columns": columns, **({"filter": "a <> 'y'"} if has_filter else {})}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native_csv, "_BLOCK", 70)
            patch.setattr(native_csv, "thread_count", lambda: threads)
            patch.setenv("FAIRAUDIT_ROUTE", "native")
            counts = count_data(plan(specs.of_mapping(asked)), path)
        assert counts.route == NATIVE
        for level in counts.keys[0].levels:
            own = [value for a, value in values if a == level]
            is_level = counts.keys[0].codes == counts.keys[0].levels.index(level)
            assert {*counts.kept[is_level].tolist()} == {int(not has_filter or level != "y")}
            assert counts.rows[is_level].tolist() == [len(own)]
            if role == "count":
                assert counts.people[is_level].tolist() == [sum(own)]
                continue
            fixed = [round(value * 10**9) for value in own]
            roots = [round(value * 10**6) for value in own]
            assert counts.weights is not None
            weight, squares = counts.weights.total, counts.weights.squares
            of_weights = [int(value) for value in weight.values[is_level]]
            of_squares = [int(value) for value in squares.values[is_level]]
            assert [Fraction(x, weight.scale) for x in of_weights] == [Fraction(sum(fixed), 10**9)]
            assert [Fraction(x, squares.scale) for x in of_squares] == [
                Fraction(sum(root * root for root in roots), 10**12)
            ]


@pytest.mark.long
@pytest.mark.parametrize(
    "number",
    ["", "x", "-1", "+1", " 1", "1 ", "1.", ".5", "1,5", "0x1", "1e", "1e+", "e1", "1e1000", "nan",
     "inf", "1_0", "2147", "1.5.5", "1" * 49],
)  # fmt: skip
def test_what_c_does_not_read_as_a_weight_is_left_to_the_lazy_route(
    number: str, tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"
    path.write_text(f'a,b,n,y\nx,y,1,1\nx,y,"{number}",0\n')
    asked = other_plan("weight", {"separator": ","})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", "native")
        with pytest.raises((UsageError, DataError)) as told:
            count_data(asked, path)
    assert "the compiled module cannot read" in str(told.value)
    assert outcome("", path, asked) == outcome("lazy", path, asked)


ALPHABET = [b"a", b"1", b",", b",", b'"', b'"', b"\n", b"\n", b"\r\n", b"\r", b"\0", b"\xc3\xa4",
            b"\xc3", b"x" * 61, b"long text,"]  # fmt: skip


def is_record(line: str, fields: int) -> list[str | None] | None:
    """The fields of a line by its signs one after the other; None where it is none."""
    found: list[str | None] = []
    text, place = line, 0
    while True:
        if text[place : place + 1] == '"':
            value, place = "", place + 1
            while True:
                if place >= len(text):
                    return None
                if text[place] != '"':
                    value, place = value + text[place], place + 1
                elif text[place : place + 2] == '""':
                    value, place = value + '"', place + 2
                else:
                    place += 1
                    break
            found.append(value)
        else:
            stop = place
            while stop < len(text) and text[stop] != ",":
                stop += 1
            if '"' in text[place:stop]:
                return None
            found.append(text[place:stop] or None)
            place = stop
        if place == len(text):
            return found if len(found) == fields else None
        if text[place] != ",":
            return None
        place += 1


def by_oracle(block: bytes, fields: int) -> Counter[tuple[str | None, ...]] | None:
    """The records of a block, or None where it is not one of plain lines."""
    try:
        lines = block.decode().removesuffix("\n").split("\n")
    except UnicodeDecodeError:
        return None
    found: Counter[tuple[str | None, ...]] = Counter()
    for line in lines:
        bare = line.removesuffix("\r")
        record = is_record(bare, fields) if bare and "\r" not in bare else None
        if record is None:
            return None
        found[tuple(record)] += 1
    return found


def by_kernel(
    block: bytes, fields: int, *, is_scalar: bool
) -> Counter[tuple[str | None, ...]] | None:
    """The same by the kernel."""
    table = _kernel.csv_table(ord(","), fields, tuple(range(fields)), (), int(is_scalar))
    lines = _kernel.count_csv(table, block + PADDING, len(block))
    if lines is None:
        return None
    texts, codes, rows, *_ = _kernel.csv_counts(table)
    found: Counter[tuple[str | None, ...]] = Counter()
    numbers = memoryview(codes).cast("H").tolist()
    for cell, people in enumerate(memoryview(rows).cast("q").tolist()):
        places = numbers[cell * fields : (cell + 1) * fields]
        levels = (texts[key][place] for key, place in enumerate(places))
        found[tuple(None if level is None else level.decode() for level in levels)] = people
    assert sum(found.values()) == lines
    return found


@examples(300)
@given(pieces=st.lists(st.sampled_from(ALPHABET), max_size=40), fields=st.integers(1, 3))
def test_both_instruction_sets_agree_with_a_slow_oracle(pieces: list[bytes], fields: int) -> None:
    block = b"".join(pieces) + b"\n"
    expected = by_oracle(block, fields)
    assert by_kernel(block, fields, is_scalar=True) == expected
    assert by_kernel(block, fields, is_scalar=False) == expected


@examples(200)
@given(rows=st.lists(FIELDS, min_size=1, max_size=12), crlf=st.booleans())
def test_sound_blocks_are_read_as_written(
    rows: list[list[tuple[str, bool]]], *, crlf: bool
) -> None:
    end = "\r\n" if crlf else "\n"
    block = "".join(written(row, ",") + end for row in rows).encode()
    expected = Counter(tuple(None if x == ("", False) else x[0] for x in row) for row in rows)
    assert by_oracle(block, 4) == expected
    assert by_kernel(block, 4, is_scalar=True) == expected
    assert by_kernel(block, 4, is_scalar=False) == expected
    read = Counter(map(tuple, csv.reader(io.StringIO(block.decode()))))
    assert Counter(tuple(x or "" for x in row) for row in expected.elements()) == read


def test_buffers_without_room_to_spare_are_refused() -> None:
    table = _kernel.csv_table(ord(","), 1, (0,), (), 0)
    for end in (-1, 1, 5):
        with pytest.raises(ValueError, match="room"):
            _kernel.count_csv(table, b"x\nab", end)
    for separator, fields, columns in [(34, 1, (0,)), (44, 0, ()), (44, 2, (2,)), (44, 2, (-1,))]:
        with pytest.raises(ValueError, match=r"cannot be counted|no such column"):
            _kernel.csv_table(separator, fields, columns, (), 0)
