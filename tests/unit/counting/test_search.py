"""A search for reversals: every column of few levels that the spec does not name is a condition.

What is counted is held against the rows themselves, in plain Python.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import count_data, examples, tally_cube
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
import fairaudit.base.errors
from fairaudit import spec as specs
from fairaudit.counting.native import native_csv
from fairaudit.counting.routes import polars_route
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import recode
from fairaudit.report.json import document
from fairaudit.result import AuditResult

Row = Mapping[str, Any]
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
    raw = count_data(plan(spec), path)
    cubes = recode(raw, spec).searched
    found = {}
    for name, cube in cubes.items():
        order = [[key.name for key in cube.keys].index(key) for key in ("g", "h", "decision", name)]
        counts: dict[Key, Fraction] = {}
        for levels, (_, people, *weight) in tally_cube(cube).items():
            mass = Fraction(weight[0], weight[1]) if weight else Fraction(people)
            key = tuple(levels[at] for at in order)
            counts[key] = counts.get(key, Fraction(0)) + mass
        found[name] = counts
    return found


@pytest.fixture(scope="class", params=["native", "lazy"])
def route(request: pytest.FixtureRequest) -> Iterator[str]:
    """Both routes of Parquet."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", request.param)
        yield str(request.param)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that serves every example of a property."""
    return tmp_path_factory.mktemp("search")


@pytest.mark.usefixtures("route")
class TestBothRoutes:
    """What is counted beside the cube equals the rows, however they are read."""

    @given(rows=rows_of())
    @examples(25)
    def test_parquet_counts_what_the_rows_say(self, rows: list[Row], folder: Path) -> None:
        found = searched(as_parquet(rows, folder / "rows.parquet"))
        assert found == {name: tallied(rows, name) for name in few(rows)}

    @given(rows=rows_of(), chunk=st.sampled_from([1, 4, 40]))
    @examples(25)
    def test_chunks_add_up(self, rows: list[Row], folder: Path, chunk: int) -> None:
        path = as_parquet(rows, folder / "rows.parquet")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(polars_route, "_CHUNK", chunk)
            assert searched(path) == {name: tallied(rows, name) for name in few(rows)}

    @given(rows=rows_of(w=WEIGHTS))
    @examples(12)
    def test_weights_are_added_up_exactly(self, rows: list[Row], folder: Path) -> None:
        spec = weighted(weight="w")
        rows = [*rows, {**rows[0], "w": 1.0}]
        found = searched(as_parquet(rows, folder / "rows.parquet"), spec)
        assert found == {name: tallied(rows, name) for name in few(rows)}

    @given(rows=rows_of(n=st.integers(0, 5)))
    @examples(12)
    def test_a_row_may_be_several_people(self, rows: list[Row], folder: Path) -> None:
        rows = [*rows, {**rows[0], "n": 3}]
        spec = weighted(count="n")
        found = searched(as_parquet(rows, folder / "rows.parquet"), spec)
        assert found == {name: tallied(rows, name) for name in few(rows)}


def weighted(**columns: str) -> dict[str, Any]:
    """The spec with a weight or a count."""
    return {**SPEC, "columns": {**SPEC["columns"], **columns}}


@given(rows=rows_of(), ending=st.sampled_from(["\n", "\r\n"]), ends=st.booleans())
@examples(25)
def test_csv_counts_what_the_rows_say(
    rows: list[Row], ending: str, ends: bool, folder: Path
) -> None:
    path = as_csv(rows, folder / "rows.csv")
    text = path.read_text("utf-8").replace("\r\n", "\n").replace("\n", ending)
    path.write_bytes((text if ends else text.removesuffix(ending)).encode())
    spec = specs.of_mapping(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        # A small block ends within the rows.
        patch.setattr(native_csv, "_BLOCK", 512)
        assert count_data(plan(spec), path).route == "the native kernel over csv"
        found = searched(path)
    assert found == {name: tallied(rows, name) for name in few(rows)}


@given(rows=rows_of())
@examples(25)
def test_csv_that_the_reader_parses_counts_the_same(rows: list[Row], folder: Path) -> None:
    path = as_csv(rows, folder / "rows.csv")
    path.write_text(path.read_text("utf-8").replace("long", '"long"', 1), "utf-8")
    path.write_text(path.read_text("utf-8").replace(f"{LONG}!", f'"{LONG}!"'), "utf-8")
    assert searched(path) == {name: tallied(rows, name) for name in few(rows)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRAUDIT_ROUTE", "lazy")
        found = searched(path)
    assert found == {name: tallied(rows, name) for name in few(rows)}


def test_quotes_long_levels_and_numbers_are_searched_in_csv(tmp_path: Path) -> None:
    frame = planted(1, reverses=True).with_columns(age=pl.int_range(pl.len()) % 190)
    quoted = frame.with_columns(z=pl.lit("a,") + pl.col("z"))
    far = frame.with_columns(g=pl.lit("g" * 70) + pl.col("g"))
    binned = {**PEOPLE, "protected": {"g": {}, "age": {"bins": [40]}}}
    for at, (one, columns) in enumerate([(quoted, PEOPLE), (far, PEOPLE), (frame, binned)]):
        path = tmp_path / f"{at}.csv"
        one.write_csv(path)
        result = found_in(path, columns=columns)
        assert result.provenance.route == "the native kernel over csv"
        assert any(each.given == ("z",) for each in result.reversals)


@given(
    ages=st.lists(st.sampled_from(["17.9", "18", " 18.0", "NA", "", "64", "65", "1e2", "nan"]),
                  min_size=4, max_size=30),
)  # fmt: skip
@examples(25)
def test_numbers_are_cut_alike_by_their_texts_and_by_the_reader(
    ages: list[str], folder: Path
) -> None:
    lines = [f"{age},{at % 2},{'uv'[at // 2 % 2]}" for at, age in enumerate(ages)]
    path = folder / "ages.csv"
    path.write_text("\n".join(["age,y,few", *lines]) + "\n")
    columns = {"protected": {"age": {"bins": [18, 65]}}, "decision": {"column": "y", "positive": 1}}
    spec = specs.of_mapping({**SPEC, "columns": columns})
    bins = {"17.9": "under 18", "18": "18 to 65", " 18.0": "18 to 65", "64": "18 to 65",
            "65": "65 and over", "1e2": "65 and over"}  # fmt: skip
    wanted = Counter(
        (bins.get(age, "(unknown)"), str(at % 2), "uv"[at // 2 % 2]) for at, age in enumerate(ages)
    )
    raw = count_data(plan(spec), path)
    assert raw.route == "the native kernel over csv"
    cube = recode(raw, spec).searched["few"]
    assert {levels: rows for levels, (rows, _) in tally_cube(cube).items()} == {
        (age, y, few): rows for (age, y, few), rows in wanted.items()
    }


def test_what_is_no_number_is_told_with_its_line(tmp_path: Path) -> None:
    frame = planted(1, reverses=True).with_columns(age=pl.lit("20"))
    frame[1000, "age"] = "twenty"
    frame.write_csv(tmp_path / "rows.csv")
    binned = {**PEOPLE, "protected": {"g": {}, "age": {"bins": [40]}}}
    with pytest.raises(fairaudit.base.errors.DataError, match=r"rows\.csv:1002"):
        found_in(tmp_path / "rows.csv", columns=binned)


def test_a_level_longer_than_any_code_ends_a_candidate_alone(tmp_path: Path) -> None:
    z = pl.when(pl.int_range(pl.len()) == 1999).then(pl.lit("z" * 70)).otherwise("noise")
    frame = planted(1, reverses=True).with_columns(noise=z.cast(pl.String))
    frame.write_csv(tmp_path / "rows.csv")
    result = found_in(tmp_path / "rows.csv", columns=PEOPLE)
    assert result.searched is not None
    assert "z" in result.searched.columns


@given(rows=rows_of(w=WILD, n=st.integers(1, 3)))
@examples(12)
def test_any_weights_and_counts_are_added_up_exactly(rows: list[Row], folder: Path) -> None:
    rows = [*rows, {**rows[0], "w": 2.0}]
    found = searched(as_csv(rows, folder / "rows.csv"), weighted(weight="w", count="n"))
    assert found == {name: tallied(rows, name) for name in few(rows)}


@given(rows=rows_of(w=TINY))
@examples(12)
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
@examples(12)
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
@examples(12)
def test_who_is_filtered_or_dropped_is_in_no_table(rows: list[Row], folder: Path) -> None:
    missing = {**SPEC["missing"], "prediction": "drop"}
    spec = {**SPEC, "missing": missing, "filter": "h = 'x'"}
    counted = [row for row in rows if row["h"] == "x" and row["y"] is not None]
    for path in (as_csv(rows, folder / "rows.csv"), as_parquet(rows, folder / "rows.parquet")):
        found = searched(path, spec)
        assert set(found) == set(few(rows))
        for name, counts in found.items():
            assert counts == tallied(counted, name)


KIDNEY = Path("sample_data/kidney_admissions.csv")
BERKELEY = Path("sample_data/berkeley_admissions.csv")


def found_in(data: Path | str | pl.DataFrame, **spec: Any) -> AuditResult:
    """The result of a search in some data."""
    whole = {"metrics": ["selection_rate"], "simpson": {"search": True}, **spec}
    return fairaudit.audit(whole, data)


def test_kidney_stones_reverse_by_a_column_that_nobody_named() -> None:
    columns = {"protected": ["gender"], "decision": {"column": "outcome", "positive": "admitted"}}
    result = found_in(
        KIDNEY,
        columns={**columns, "count": "n"},
        simpson={"search": True, "fail": "every_stratum"},
    )
    assert result.searched is not None
    assert result.searched.columns == ("race",)
    (one,) = result.reversals
    assert (one.given, one.kind, one.pair) == (("race",), "every_stratum", ("A", "B"))
    # Charig et al. 1986, as metrics.md §9 has them.
    assert one.crude == pytest.approx(0.7800 - 289 / 350, abs=5e-7)
    assert one.standardized == pytest.approx(0.83255 - 0.77888, abs=1e-5)
    assert sorted(z.difference for z in one.strata) == pytest.approx([0.0425, 0.0644], abs=1e-4)
    assert one.mantel_haenszel_odds_ratio == pytest.approx(1.446847, abs=1e-6)
    assert result.verdict == "fail"


def test_berkeley_is_found_without_its_departments_being_named() -> None:
    columns = {
        "protected": {"gender": {"reference": "men"}},
        "decision": {"column": "decision", "positive": "admitted"},
        "count": "n",
    }
    (one,) = found_in(BERKELEY, columns=columns).reversals
    assert (one.given, one.kind, one.pair) == (("department",), "adjusted", ("women", "men"))
    rates = [(rate.over, rate.under) for rate in one.crude_pair]
    assert rates == [(557, 1835), (1198, 2691)]
    assert one.standardized_pair == pytest.approx((0.429955, 0.387319), abs=1e-6)
    assert (one.reversed_strata, one.estimable_strata) == (4, 6)


def test_a_column_says_the_same_searched_and_declared() -> None:
    columns = {"protected": ["gender"], "decision": {"column": "decision", "positive": "admitted"}}
    searched_for = found_in(BERKELEY, columns={**columns, "count": "n"})
    declared = {**columns, "count": "n", "strata": ["department"]}
    named = found_in(BERKELEY, columns=declared, simpson={})
    assert document(searched_for)["reversals"] == document(named)["reversals"] != []
    assert document(named)["searched"] is None


PEOPLE = {"protected": ["g"], "decision": {"column": "y", "positive": 1}}


def planted(rows: int, *, reverses: bool) -> pl.DataFrame:
    """People in whom `z` turns the gap, or changes nothing; each stratum alike."""
    # (z, g): of how many how many are selected.
    turned = {("1", "a"): (900, 360), ("1", "b"): (100, 30),
              ("2", "a"): (100, 80), ("2", "b"): (900, 630)}  # fmt: skip
    level_ = {("1", "a"): (500, 150), ("1", "b"): (500, 200),
              ("2", "a"): (500, 300), ("2", "b"): (500, 350)}  # fmt: skip
    table = [
        {"g": g, "z": z, "y": int(at < yes)}
        for (z, g), (n, yes) in (turned if reverses else level_).items()
        for at in range(n)
    ]
    frame = pl.DataFrame(table * rows)
    noise = pl.int_range(pl.len()) % 7
    return frame.with_columns(noise.alias("noise"), pl.lit("x").alias("same"))


def test_nothing_is_found_where_nothing_is_planted() -> None:
    gate = {"search": True, "fail": "most_people"}
    result = found_in(planted(2, reverses=False), columns=PEOPLE, simpson=gate)
    assert not [one for one in result.reversals if one.kind.reverses]
    assert result.verdict == "pass"


def test_only_the_column_that_turns_the_gap_is_found() -> None:
    gate = {"search": True, "fail": "every_stratum"}
    result = found_in(planted(1, reverses=True), columns=PEOPLE, simpson=gate)
    assert [one.given for one in result.reversals if one.kind.reverses] == [("z",)]
    assert result.verdict == "fail"


def notice(result: AuditResult) -> str:
    """The one notice on a search."""
    (found,) = [one for one in result.notices if "searched by" in one]
    return found


def test_one_notice_says_what_was_searched_and_what_was_not() -> None:
    frame = planted(1, reverses=True).with_columns(
        pl.int_range(pl.len()).alias("id"),
        (pl.int_range(pl.len()) / 3).alias("amount"),
        pl.lit(None, pl.String).alias("empty"),
        pl.lit([1]).alias("list"),
    )
    result = found_in(frame, columns=PEOPLE)
    assert result.searched is not None
    assert result.searched.columns == ("z", "noise")
    assert notice(result) == (
        "Simpson's reversals: searched by 2 columns that the spec does not name; left out: "
        "'id' (over 50 levels), 'amount' (over 50 levels), 'list' (List(Int64) has no levels), "
        "'same' (one level alone), 'empty' (no value at all)"
    )
    assert document(result)["searched"] == {
        "columns": ["z", "noise"],
        "left_out": dict(result.searched.left_out),
    }


def test_a_long_list_of_columns_is_shortened_in_words_alone() -> None:
    more = [pl.lit("x").alias(f"same{at}") for at in range(20)]
    result = found_in(planted(1, reverses=True).with_columns(more), columns=PEOPLE)
    assert notice(result).endswith("'same8' (one level alone), 11 more")
    assert result.searched is not None
    assert len(result.searched.left_out) == 21


def test_without_any_candidate_the_audit_says_so() -> None:
    frame = planted(1, reverses=True).select("g", "y")
    gate = {"search": True, "fail": "every_stratum"}
    result = found_in(frame, columns=PEOPLE, simpson=gate)
    assert notice(result).endswith("searched by 0 columns that the spec does not name")
    assert not result.reversals
    # Nothing could be compared: a gate does not pass by that.
    assert result.verdict == "inconclusive"


def test_what_the_spec_names_is_no_candidate() -> None:
    frame = planted(1, reverses=True).with_columns(
        pl.lit(0.5).alias("s"), pl.lit(1).alias("n"), pl.lit(2.0).alias("w")
    )
    columns = {**PEOPLE, "score": "s", "weight": "w", "count": "n", "strata": ["z"]}
    result = found_in(frame, columns=columns, filter="noise < 99 and same = 'x'")
    assert result.searched is not None
    assert (result.searched.columns, dict(result.searched.left_out)) == ((), {})


def test_a_column_may_not_take_the_name_of_another_thing() -> None:
    frame = planted(1, reverses=True).with_columns(
        pl.col("z").alias("label"), pl.col("z").alias("group"), pl.col("g").alias("column")
    )
    columns = {**PEOPLE, "protected": {"group": {"column": "column"}}}
    result = found_in(frame, columns=columns)
    assert result.searched is not None
    assert "group" not in result.searched.columns
    assert "label" not in result.searched.columns
    assert "a name" in result.searched.left_out["group"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_that_grows_later_is_left_out_and_told(kind: str, tmp_path: Path) -> None:
    frame = planted(26, reverses=True).with_columns(row=pl.int_range(pl.len()))
    late = pl.when(pl.col("row") >= 50_000).then(pl.col("row")).otherwise(pl.col("row") % 2)
    fifty = pl.when(pl.col("row") < 50_000).then(0).otherwise(pl.col("row") % 50)
    frame = frame.with_columns(late.cast(pl.String).alias("late"), fifty.alias("fifty")).drop("row")
    path = tmp_path / f"rows.{kind}"
    if kind == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path, row_group_size=10_000)
    result = found_in(path, columns=PEOPLE)
    assert result.searched is not None
    assert result.searched.columns == ("z", "noise", "fifty")
    why = "over 50 levels, though not in the first 50,000 rows"
    assert dict(result.searched.left_out) == {"same": "one level alone", "late": why}


def test_a_level_named_unknown_is_not_joined_with_the_missing() -> None:
    frame = planted(1, reverses=True).with_columns(
        z=pl.col("z").replace("1", "(unknown)"), other=pl.col("z")
    )
    result = found_in(frame, columns=PEOPLE)
    assert result.searched is not None
    assert result.searched.columns == ("noise", "other")
    assert "(unknown)" in result.searched.left_out["z"]


def test_who_lacks_a_candidate_is_left_out_of_the_comparison_and_counted() -> None:
    frame = planted(1, reverses=True)
    lacking = pl.DataFrame({"g": ["a"] * 30, "z": [None] * 30, "y": [0] * 30}).with_columns(
        noise=pl.int_range(pl.len()) % 7, same=pl.lit("x")
    )
    frame = pl.concat([frame, lacking], how="diagonal_relaxed")
    (one,) = [each for each in found_in(frame, columns=PEOPLE).reversals if each.given == ("z",)]
    assert one.incomplete == 30
    # 440 of 1000 against 660 of 1000, where `z` is known; 440 of 1030 with everybody.
    assert one.crude == pytest.approx(0.44 - 0.66)
    assert one.crude_everybody == pytest.approx(440 / 1030 - 0.66)


def test_given_and_search_are_one_scan() -> None:
    columns = {**PEOPLE, "strata": ["noise"]}
    given_too = found_in(planted(1, reverses=True), columns=columns)
    none_given = {"search": True, "given": []}
    alone = found_in(planted(1, reverses=True), columns=columns, simpson=none_given)
    assert [one.given for one in given_too.reversals] == [("z",)]
    assert [one.given for one in alone.reversals] == [("z",)]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_search_for_reversals_and_one_for_subgroups_share_the_pass(
    kind: str, tmp_path: Path
) -> None:
    data = planted(1, reverses=True)
    path = tmp_path / f"people.{kind}"
    data.write_csv(path) if kind == "csv" else data.write_parquet(path)
    features = {**PEOPLE, "features": ["noise"]}
    subgroups = {"over": "all", "min_size": 20}
    both = found_in(path, columns=features, subgroups=subgroups)
    one = found_in(path, columns=PEOPLE)
    other = fairaudit.audit(
        {"metrics": ["selection_rate"], "columns": features, "subgroups": subgroups}, path
    )
    assert both.subgroups == other.subgroups
    assert both.subgroups is not None
    assert both.subgroups.looked_at > 5
    assert [(each.kind, each.given, each.crude) for each in both.reversals] == [
        (each.kind, each.given, each.crude) for each in one.reversals
    ]
    # A feature is named, so it is none of the columns that nobody named.
    assert both.searched is not None
    assert one.searched is not None
    assert {*one.searched.columns} - {*both.searched.columns} == {"noise"}


@pytest.mark.parametrize("name", ["a.csv", "b.csv"])
def test_each_file_of_a_folder_is_searched_for_itself(name: str, tmp_path: Path) -> None:
    planted(1, reverses=True).write_csv(tmp_path / "a.csv")
    planted(1, reverses=False).drop("noise").write_csv(tmp_path / "b.csv")
    spec = {"columns": PEOPLE, "metrics": ["selection_rate"], "simpson": {"search": True}}
    found = {Path(path).name: one for path, one in fairaudit.audit_each(spec, tmp_path).items()}
    one = found[name]
    assert isinstance(one, AuditResult)
    assert one.searched is not None
    assert one.searched.columns == (("z", "noise") if name == "a.csv" else ("z",))
    turned = [each.given for each in one.reversals if each.kind.reverses]
    assert turned == ([("z",)] if name == "a.csv" else [])


def test_a_search_shares_no_pass_with_a_spec_without_one(tmp_path: Path) -> None:
    planted(1, reverses=True).write_csv(tmp_path / "rows.csv")
    spec = {"columns": PEOPLE, "metrics": ["selection_rate"]}
    both = [spec, {**spec, "simpson": {"search": True}}]
    first, second = fairaudit.audit_together(both, tmp_path / "rows.csv")
    assert isinstance(first, AuditResult)
    assert isinstance(second, AuditResult)
    assert first.searched is None
    assert second.reversals[0].given == ("z",)


def test_a_baseline_without_search_asks_something_else() -> None:
    gate = {"fail": "every_stratum", "given": []}
    frame = planted(1, reverses=True)
    columns = {**PEOPLE, "strata": ["noise"]}
    searching = found_in(frame, columns=columns, simpson={**gate, "search": True})
    with_given = {"fail": "every_stratum", "given": ["noise"]}
    plain = found_in(frame, columns=columns, simpson=with_given)
    definitions = [one.findings[0].definition for one in (searching, plain)]
    assert definitions[0] != definitions[1]
    with pytest.raises(fairaudit.base.errors.UsageError, match="other questions"):
        fairaudit.audit(
            {"columns": columns, "metrics": ["selection_rate"],
             "simpson": {**with_given, "search": True}},
            frame, baseline=document(plain),
        )  # fmt: skip


def test_suppression_refuses_a_search() -> None:
    with pytest.raises(
        fairaudit.base.errors.SpecError,
        match=(
            "`search` uses columns whose small counts `suppress_below` does not hide: remove one "
        ),
    ):
        found_in(planted(1, reverses=True), columns=PEOPLE, suppress_below=11)


def test_a_search_without_a_rate_is_refused() -> None:
    with pytest.raises(
        fairaudit.base.errors.SpecError, match="a search for reversals needs a rate"
    ):
        found_in(KIDNEY, columns=PEOPLE, simpson={"search": True, "rates": []})


def test_too_many_combinations_are_refused_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars_route, "MOST_CELLS", 20)
    with pytest.raises(fairaudit.base.errors.DataError, match="which is over the limit"):
        found_in(planted(1, reverses=True), columns=PEOPLE)


def test_levels_of_any_type_count_alike_from_frame_parquet_and_csv(tmp_path: Path) -> None:
    at = pl.int_range(pl.len())
    frame = planted(1, reverses=True).with_columns(
        half=pl.when(at % 3 > 0).then(at % 4 / 2),
        day=pl.date(2020, 1, 1) + pl.duration(days=at % 3),
        kind=pl.col("z").cast(pl.Categorical),
        wide=(at % 5) * 1_000_000_007,
        flag=at % 2 == 0,
    )
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_parquet(tmp_path / "rows.parquet")
    found = [
        found_in(data, columns=PEOPLE)
        for data in (frame, tmp_path / "rows.parquet", tmp_path / "rows.csv")
    ]
    columns = ("z", "noise", "half", "day", "kind", "wide", "flag")
    assert [one.searched.columns for one in found if one.searched] == [columns] * 3
    first, *others = (document(one) for one in found)
    assert first["reversals"]
    for one in others:
        assert one["reversals"] == first["reversals"]
        assert one["searched"] == first["searched"]


def test_a_row_that_the_filter_cannot_decide_is_in_no_table(tmp_path: Path) -> None:
    frame = planted(1, reverses=True).with_columns(
        n=pl.when(pl.int_range(pl.len()) % 5 > 0).then(1)
    )
    frame.write_csv(tmp_path / "rows.csv")
    result = found_in(tmp_path / "rows.csv", columns=PEOPLE, filter="n > 0")
    (one,) = [each for each in result.reversals if each.given == ("z",)]
    kept = frame.filter(pl.col("n") == 1)
    people = [kept.filter(pl.col("g") == group).height for group in one.pair]
    assert [side.n for side in one.crude_pair] == people
    assert result.ledger.undecided == 400
