"""Numeric outcomes: their sums in every cell, held against plain Python over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import count_data, examples, tally_cube
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit import spec as specs
from fairaudit.base.errors import DataError, FairauditError, SpecError
from fairaudit.base.frozen import field_names, replace
from fairaudit.counting import polars_engine
from fairaudit.counting.sources.files import Files
from fairaudit.cube import Amount, Cube, Sum
from fairaudit.metrics import Rate, Requirement
from fairaudit.metrics.rates import SELECTION_RATE
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import recode
from fairaudit.result import AuditResult
from fairaudit.spec import Spec

Row = tuple[str | None, int | None, float | None, float | None, float | None, int]
NAMES = ("race", "age", "y", "p", "spread", "n")

SPEC: dict[str, Any] = {
    "columns": {
        "protected": {"race": {}, "age": {"bins": [30]}},
        "label": {"column": "y", "number": "true"},
        "models": {
            "first": {"prediction": {"column": "p", "positive": {"above": 0}}, "score": "p"},
            "second": {"prediction": {"column": "p", "number": "true"}},
        },
        "numbers": {"rate_spread": "spread"},
        "count": "n",
    },
    "missing": {"prediction": "aside", "score": "aside"},
    "metrics": ["selection_rate"],
}
NUMBERS = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, 0.5, 1e-9, 2.5e-9, 1234567.89, 999_999.9999999, 1e9, -1e9]),
    st.integers(-1000, 1000).map(float),
    st.floats(-1, 1),
    st.floats(-1e9, 1e9),
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", None]),
        st.one_of(st.none(), st.integers(20, 40)),
        NUMBERS,
        NUMBERS,
        NUMBERS,
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=30,
)


class Hungry(Rate):
    """A rate that asks for all that can be added up."""

    @property
    def requirements(self) -> frozenset[Requirement]:
        return frozenset({Requirement.SCORE, Requirement.NUMERIC_ATTRIBUTE})


def hungry(mapping: Mapping[str, Any]) -> Spec:
    """The spec, with measures of every outcome that ask for all that can be added up."""
    read = specs.of_mapping(mapping)
    words = {name: getattr(SELECTION_RATE, name) for name in field_names(Rate)}
    (shown,) = read.requests
    asking = replace(shown, metric=Hungry(**words))
    everything = (replace(asking, of=one.name) for one in read.outcomes)
    return replace(read, requests=tuple(everything))


def cube_of(read: Spec, data: Path | pl.DataFrame) -> Cube:
    """The cube of a spec."""
    asked = plan(read)
    return recode(count_data(asked, data), read).cube


def frame_of(rows: Sequence[Row]) -> pl.DataFrame:
    kinds = (pl.String, pl.Int64, pl.Float64, pl.Float64, pl.Float64, pl.Int64)
    return pl.DataFrame(rows, schema=dict(zip(NAMES, kinds, strict=True)), orient="row")


def fixed(value: float) -> Fraction:
    """A number at nine decimals, or at six from a million on: rounded once, half to even."""
    places = 10**9 if abs(value) < 1e6 else 10**6
    return Fraction(round(value * places), places)


Moments = tuple[int, Fraction, Fraction, Fraction]


def plain(rows: Sequence[Row], of: str) -> dict[str, Moments]:
    """What is added up for an outcome, by a plain loop: n, Σx, Σx², Σ|x|."""
    numbers = {
        "label": [row[2] for row in rows],
        "second": [row[3] for row in rows],
        "rate_spread": [row[4] for row in rows],
    }
    values = numbers.get(of)
    found: dict[str, list[tuple[Fraction, int]]] = {}

    def add(name: str, x: Fraction, row: Row) -> None:
        found.setdefault(name, []).append((x, row[5]))

    for row, x in zip(rows, values or [None] * len(rows), strict=True):
        y = row[2]
        if of == "first" and row[3] is not None:
            add("score", fixed(row[3]), row)
        if x is not None:
            add("value", fixed(x), row)
        if x is not None and y is not None and of != "label":
            add("label", fixed(y), row)
            add("predicted", fixed(x), row)
            add("residual", fixed(y) - fixed(x), row)
        if row[1] is not None and (values is None or x is not None):
            add("attribute:age", Fraction(row[1]), row)
        if row[1] is not None and x is not None:
            add("attribute:age*value", row[1] * fixed(x), row)
    return {
        name: (
            sum(n for _, n in ones),
            sum((x * n for x, n in ones), Fraction(0)),
            sum((x * x * n for x, n in ones), Fraction(0)),
            sum((abs(x) * n for x, n in ones), Fraction(0)),
        )
        for name, ones in found.items()
    }


def moments(name: str, amount: Amount, at: tuple[Any, ...]) -> Moments:
    """The same of a table's amount, in one group."""

    def total(one: Sum | None) -> Fraction:
        assert one is not None
        return Fraction(int(one.values[at].sum()), one.scale)

    is_residual = name == "residual"
    assert (amount.magnitude is not None) is is_residual
    magnitude = total(amount.magnitude) if is_residual else Fraction(0)
    return int(amount.n[at].sum()), total(amount.total), total(amount.squares), magnitude


def check(cube: Cube, rows: Sequence[Row], of: str) -> None:
    """The tables of an outcome say of every group what the loop says."""
    for by in ((), ("race",), ("age",), ("race", "age")):
        table = cube.table(by, (), of)
        for g, group in enumerate(table.groups):
            mine = [row for row in rows if groups_of(row, by) == group]
            expected = plain(mine, of)
            for name, amount in table.amounts.items():
                n, one, two, three = moments(name, amount, (0, slice(None), slice(None), g))
                nothing = (0, Fraction(0), Fraction(0), Fraction(0))
                wanted = expected.get(name, nothing)
                assert (n, one) == wanted[:2], (of, by, group, name)
                if "*" not in name:
                    assert two == wanted[2], (of, by, group, name)
                if name == "residual":
                    assert three == wanted[3]
            assert set(expected) <= set(table.amounts)


def groups_of(row: Row, by: Sequence[str]) -> tuple[tuple[str, str], ...]:
    age = "(unknown)" if row[1] is None else "under 30" if row[1] < 30 else "30 and over"
    levels = {"race": row[0] or "(unknown)", "age": age}
    return tuple((name, levels[name]) for name in by)


def stored(frame: pl.DataFrame, folder: Path) -> Iterator[Path | pl.DataFrame]:
    """The rows in every form, shuffled and in parts."""
    frame.write_csv(folder / "rows.csv")
    yield folder / "rows.csv"
    frame.write_parquet(folder / "rows.parquet", row_group_size=3)
    yield folder / "rows.parquet"
    yield frame
    (folder / "parts").mkdir(exist_ok=True)
    for at in range(3):
        frame.reverse()[at::3].write_parquet(folder / "parts" / f"{at}.parquet")
    yield folder / "parts"


@given(rows=ROWS)
@examples(20)
def test_amounts_equal_those_of_the_rows_in_every_form(rows: list[Row], tmp_path: Path) -> None:
    rows = [*rows, ("a", 30, 1.0, 1.0, 1.0, 1)]
    read = hungry(SPEC)
    cubes = [cube_of(read, data) for data in stored(frame_of(rows), tmp_path)]
    for of in ("label", "first", "second", "rate_spread"):
        check(cubes[0], rows, of)
    first, *others = map(tally_cube, cubes)
    assert others == [first] * 3
    whole = [(one.total, one.squares) for one in cubes[0].amounts.values()]
    for name, one in cubes[3].amounts.items():
        assert one.total.values.tolist() == cubes[0].amounts[name].total.values.tolist()
    assert len(whole) == 1 + 1 + 4 + 4 + 4 + 3


def test_one_person_more_is_another_cube() -> None:
    rows: list[Row] = [("a", 30, 1.0, 1.0, 1.0, 1), ("a", 30, 2.0, 1.0, None, 1)]
    read = hungry(SPEC)
    one = cube_of(read, frame_of(rows))
    for changed in (("a", 30, 2.0, 1.0, 0.0, 1), ("a", 30, 2.000000001, 1.0, None, 1)):
        assert cube_of(read, frame_of([rows[0], changed])) != one
    with pytest.raises(AssertionError):
        check(one, [rows[0], ("a", 30, 2.0, 1.5, None, 1)], "second")


@given(first=ROWS, second=ROWS)
@examples(15)
def test_counts_with_amounts_add(first: list[Row], second: list[Row]) -> None:
    read = hungry(SPEC)
    more: Row = ("a", 30, 1.0, 1.0, 1.0, 1)
    one, two = ([*rows, more] for rows in (first, second))
    together = cube_of(read, frame_of([*one, *two]))
    counts = [count_data(plan(read), frame_of(rows)) for rows in (one, two)]
    assert tally_cube(recode(counts[0] + counts[1], read).cube) == tally_cube(together)


def test_an_outcome_without_classes_has_a_table_of_everybody() -> None:
    rows: list[Row] = [("a", 30, 1.0, 1.0, 1.0, 2), ("b", 20, 2.0, -1.0, None, 3)]
    table = cube_of(hungry(SPEC), frame_of(rows)).table(("race",), (), "rate_spread")
    assert (table.classes, table.labels, table.positive) == ((), (), None)
    assert table.people.shape == (1, 1, 1, 2)
    assert table.n.tolist() == [[2, 3]]
    assert table.amounts["value"].n.tolist() == [[[[2, 0]]]]


def test_sums_beyond_64_bits_stay_exact() -> None:
    rows: list[Row] = [("a", 30, 1e9, -1e9, 123456789.123456, 10**12)] * 3
    cube = cube_of(hungry(SPEC), frame_of(rows))
    check(cube, rows, "second")
    residual = cube.table((), (), "second").amounts["residual"]
    assert int(residual.squares.values.sum()) == 3 * 4 * 10**30 * residual.squares.scale


TEXT = "race,y,p\na,1,0.5\na,2,\nb,,3\nb,4,NaN\n"


def numeric(**missing: str) -> dict[str, Any]:
    """A spec of the text above with these policies."""
    return {
        "columns": {
            "protected": ["race"],
            "label": {"column": "y", "positive": {"above": 1}},
            "prediction": {"column": "p", "number": "true"},
            "numbers": {"again": "p"},
        },
        "missing": {"prediction": "aside", **missing},
        "metrics": ["base_rate"],
    }


Audit = Callable[..., AuditResult]


def test_missing_numbers_are_told_in_the_ledger(audit_csv: Audit) -> None:
    ledger = audit_csv(TEXT, numeric()).ledger
    assert [(line.rows, line.column) for line in ledger.set_aside] == [(2, "p"), (1, "y")]
    ledger = audit_csv(TEXT, numeric(numbers="drop")).ledger
    assert [(line.rows, line.column, line.reason) for line in ledger.dropped] == [
        (2, "p", "missing (numbers: drop)")
    ]
    with pytest.raises(DataError, match=r"2 rows have no value in the number 'p'; first: .*csv:3"):
        audit_csv(TEXT, numeric(numbers="error"))
    with pytest.raises(DataError, match=r"no value in the prediction 'p'; first: .*csv:3"):
        audit_csv(TEXT, numeric(prediction="error"))


@pytest.mark.parametrize("bad", ["inf", "-inf", "1e10", "-1000000001", "many"])
def test_bad_numbers_are_refused_with_their_row(audit_csv: Audit, bad: str, tmp_path: Path) -> None:
    text = TEXT.replace("b,,3", f"b,,{bad}")
    with pytest.raises(DataError, match=r"1 row holds no number from -1e9 to 1e9 .*csv:4"):
        audit_csv(text, numeric())
    assert audit_csv(text, {**numeric(), "filter": "race = 'a'"}).ledger.filtered == 2
    if bad != "many":
        path = tmp_path / "data.parquet"
        pl.DataFrame({"race": ["a", "b"], "y": [1, 2], "p": [1.0, float(bad)]}).write_parquet(path)
        with pytest.raises(DataError, match=r"no number from -1e9 to 1e9 .*parquet, row 2"):
            fairaudit.audit(numeric(), path)


def test_a_count_that_is_a_number_too_is_held_to_both(audit_csv: Audit) -> None:
    columns = {**numeric()["columns"], "count": "n", "numbers": {"size": "n"}}
    asked = {**numeric(), "columns": columns}
    text = "race,y,p,n\na,1,0.5,2\nb,2,1,{}\n"
    assert audit_csv(text.format(3), asked).ledger.people == 5
    for bad in ("10000000000", "1.5", "9007199254740000"):
        with pytest.raises(DataError, match=r"1 row holds no count \(.* to [\d,]+\) .*csv:3"):
            audit_csv(text.format(bad), asked)


def test_small_numbers_get_a_notice(audit_csv: Audit) -> None:
    text = "race,y,p\na,1,0.0001\nb,2,0.0002\n"
    assert any(
        "prediction: numbers are added up" in one for one in audit_csv(text, numeric()).notices
    )
    text = text.replace("0.0002", "2")
    assert not any("are added up" in one for one in audit_csv(text, numeric()).notices)


def test_a_rate_of_a_number_is_refused() -> None:
    with pytest.raises(SpecError, match="selection_rate needs classes, and prediction is a number"):
        specs.of_mapping({**numeric(), "metrics": ["selection_rate"]})
    asked = [{"metric": "differential_fairness", "of": "again"}]
    with pytest.raises(SpecError, match="differential_fairness needs classes, and again is a numb"):
        specs.of_mapping({**numeric(), "metrics": asked})
    asked = [{"metric": "differential_fairness", "of": "agian"}]
    with pytest.raises(SpecError, match="unknown outcome: 'agian'; did you mean 'again'"):
        specs.of_mapping({**numeric(), "metrics": asked})


def test_numbers_of_a_weighted_sample_are_refused() -> None:
    columns = {**numeric()["columns"], "weight": "w"}
    with pytest.raises(FairauditError, match="does not support weights"):
        specs.of_mapping({**numeric(), "columns": columns})


def test_each_file_has_its_own_amounts(tmp_path: Path) -> None:
    read = hungry(SPEC)
    rows: list[Row] = [("a", 30, float(at), 0.5 * at, -1.0, 1) for at in range(10)]
    halves = {"a": rows[:3], "b": rows[3:]}
    for name, half in halves.items():
        frame_of(half).write_csv(tmp_path / f"{name}.csv")
    (tmp_path / "c.csv").write_text(",".join(NAMES) + "\na,1,1,1,2e9,1\n")
    asked = replace(plan(read), scores={})
    files = [Files((str(tmp_path / f"{name}.csv"),)) for name in "abc"]
    found = [polars_engine.count([asked], file)[0] for file in files]
    cubes = [one for one in found if not isinstance(one, FairauditError)]
    for counted, half in zip(cubes, halves.values(), strict=True):
        check(recode(counted, read).cube, half, "rate_spread")
    (error,) = (one for one in found if isinstance(one, FairauditError))
    assert "1 row holds no number from -1e9 to 1e9" in str(error)


def test_specs_with_and_without_numbers_share_a_pass(tmp_path: Path) -> None:
    rows: list[Row] = [("a", 30, float(at), 0.5 * at, at / 3, 1 + at % 3) for at in range(20)]
    frame_of(rows).write_csv(tmp_path / "rows.csv")
    alone = {**SPEC, "columns": {**SPEC["columns"]}}
    del alone["columns"]["numbers"], alone["columns"]["label"]
    reads = [hungry(SPEC), hungry(alone)]
    plans = [plan(read) for read in reads]
    counted = polars_engine.count(
        [replace(one, scores={}) for one in plans],
        Files((str(tmp_path / "rows.csv"),)),
    )
    sound = [counts for counts in counted if not isinstance(counts, FairauditError)]
    assert len(sound) == 2
    assert sound[0].plan is sound[1].plan
    for read, counts in zip(reads, sound, strict=True):
        again = cube_of(read, tmp_path / "rows.csv")
        assert tally_cube(recode(counts, read).cube) == tally_cube(again)


def test_the_fingerprint_of_the_counts_covers_their_sums(audit_csv: Audit) -> None:
    def fingerprint(text: str) -> str | None:
        return audit_csv(text, numeric()).provenance.cube_sha256

    assert fingerprint(TEXT) == fingerprint(TEXT.replace("0.5", "5e-1"))
    assert fingerprint(TEXT) != fingerprint(TEXT.replace("0.5", "0.500000001"))


FULL = st.lists(
    st.tuples(
        st.sampled_from("ab"),
        st.integers(0, 1),
        st.floats(0, 1).map(lambda one: round(one, 9)),
        st.integers(1, 10**9),
    ),
    min_size=1,
    max_size=12,
)


@examples(15)
@given(FULL)
def test_sums_beyond_64_bits_are_summed_up_as_those_within(
    rows: list[tuple[str, int, float, int]],
) -> None:
    """Sums of squares of nine decimals pass 64 bits after a dozen people: NumPy holds objects."""
    data = pl.DataFrame(rows, ["g", "y", "s", "n"], orient="row")
    measures = ["mean_score", "mean_score_positives", "mean_residual", "brier", "rmse", "mae", "r2"]
    classes = {"column": "y", "positive": 1, "negative": 0}
    numbers = {"column": "y", "number": True}, {"column": "s", "number": True}
    for columns, ids in (
        ({"label": classes, "prediction": classes, "score": "s"}, measures[:4]),
        ({"label": numbers[0], "prediction": numbers[1]}, measures[4:]),
    ):
        wanted: list[Any] = [*ids, *({"metric": one, "compare": "gap"} for one in ids)]
        asked = {"columns": {"protected": ["g"], "count": "n", **columns}, "metrics": wanted}
        rates = fairaudit.audit(asked, data).rates
        found = {(one.metric, one.group[0][1]): one for one in rates if one.group}
        for g in {row[0] for row in rows}:
            mine = [(Fraction(y), Fraction(str(s)), n) for h, y, s, n in rows if h == g]
            for name in ids:
                expected, row = _plainly(name, mine), found[name, g]
                assert row.estimate is not None
                wanted_value = math.nan if expected is None else expected
                assert row.estimate.value == pytest.approx(wanted_value, rel=1e-9, nan_ok=True)


def _plainly(name: str, rows: list[tuple[Fraction, Fraction, int]]) -> float | None:
    """A summary of weighted labels and scores, by fractions."""
    kept = [one for one in rows if one[0] or name != "mean_score_positives"]
    n = sum(times for *_, times in kept)
    if not n:
        return None

    def mean(number: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
        return sum((number(y, s) * times for y, s, times in kept), Fraction()) / n

    square = mean(lambda y, s: (y - s) ** 2)
    spread = mean(lambda y, _: y * y) - mean(lambda y, _: y) ** 2
    answers: dict[str, Callable[[], float | None]] = {
        "mean_residual": lambda: float(mean(lambda y, s: y - s)),
        "mae": lambda: float(mean(lambda y, s: abs(y - s))),
        "brier": lambda: float(square),
        "rmse": lambda: float(square) ** 0.5,
        "r2": lambda: float(1 - square / spread) if spread else None,
    }
    return answers.get(name, lambda: float(mean(lambda _, s: s)))()


NUMBERED = {"protected": ["g"], "prediction": {"column": "s", "number": True}}
DECIDED = {"protected": ["g"], "prediction": {"column": "s", "positive": 1}}


@pytest.mark.parametrize(
    ("columns", "metric", "message"),
    [
        (DECIDED, {"metric": "mean_label", "class": "a"}, "mean_label needs a label"),
        (DECIDED | {"weight": "w"}, "mean_label", "mean_label needs a label"),
        (DECIDED, {"metric": "base_rate", "at": ["0.5"]}, "base_rate needs a label"),
        (
            NUMBERED,
            {"metric": "mean_prediction", "class": "macro"},
            "prediction is a number and has no classes",
        ),
        (
            NUMBERED,
            {"metric": "mean_prediction", "of": "other", "class": "a"},
            "unknown outcome: ",
        ),
    ],
)
def test_what_an_outcome_lacks_is_a_fault_of_the_spec(
    columns: dict[str, Any], metric: Any, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        specs.of_mapping({"columns": columns, "metrics": [metric]})
