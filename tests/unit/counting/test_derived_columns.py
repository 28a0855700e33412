"""Ages, differences, combined columns and counts side by side, against plain Python over rows."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import DataError, SpecError

Row = Mapping[str, Any]
DRAW = random.Random(20)
BIRTHS = [date(1984, 2, 29), date(1984, 12, 31), date(1985, 1, 1), date(2000, 2, 28)]


def _rows() -> list[Row]:
    rows: list[Row] = []
    for _ in range(400):
        start = date(2024, 1, 1) + timedelta(days=DRAW.randrange(400))
        rows.append(
            {
                "born": DRAW.choice(
                    [*BIRTHS, date(1960, 1, 1) + timedelta(DRAW.randrange(15_000))]
                ),
                "start": start,
                "end": start + timedelta(days=DRAW.randrange(60)),
                "asked": DRAW.randrange(100) / 10,
                "given": DRAW.randrange(100) / 10,
                "race": DRAW.choice(["White", "Black", "Asian", None]),
                "ethnicity": DRAW.choice(["Hispanic or Latino", "Not Hispanic", None]),
                "d": DRAW.randrange(2),
            }
        )
    return rows


ROWS = _rows()
FRAME = pl.DataFrame(ROWS)


def _age(born: date, at: date) -> int:
    had = (at.month, at.day) >= (born.month, born.day)
    return at.year - born.year - (not had)


def _rates(body: Mapping[str, Any], data: object) -> dict[str, tuple[int | None, int | None]]:
    spec = {"columns": {"protected": {"x": body}, "decision": "d"}, "metrics": "selection_rate"}
    result = fairaudit.audit(spec, data)
    return {
        row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.group
    }


def _count(level: Callable[[Row], str]) -> dict[str, tuple[int, int]]:
    decisions: dict[str, list[int]] = defaultdict(list)
    for row in ROWS:
        decisions[level(row)].append(row["d"])
    return {name: (sum(group), len(group)) for name, group in decisions.items()}


def _origin(row: Row) -> str:
    """Hispanic whatever the race; who may be, for all that is known, is not known."""
    if row["ethnicity"] is None:
        return "(unknown)"
    if row["ethnicity"] == "Hispanic or Latino":
        return "Hispanic"
    if row["race"] is None:
        return "(unknown)"
    return "White" if row["race"] == "White" else "other"


def _either(row: Row) -> str:
    """Either of two conditions: one that matches decides, whatever the other depends on."""
    are = [row["race"] == "Black", row["ethnicity"] == "Hispanic or Latino"]
    if any(are):
        return "either"
    return "(unknown)" if None in {row["race"], row["ethnicity"]} else "neither"


EITHER = {
    "combine": ["race", "ethnicity"],
    "rule": {"either": [{"race": "Black"}, {"ethnicity": "Hispanic or Latino"}]},
    "other": "neither",
}
ORIGIN = {
    "combine": ["race", "ethnicity"],
    "rule": {"Hispanic": {"ethnicity": "Hispanic or Latino"}, "White": {"race": ["White"]}},
}
DERIVED: Sequence[tuple[Mapping[str, Any], Callable[[Row], str]]] = [
    (
        {"from": "born", "at": "2024-12-31", "bins": [40]},
        lambda row: "under 40" if _age(row["born"], date(2024, 12, 31)) < 40 else "40 and over",
    ),
    (
        {"from": "born", "at": "2024-02-28", "over": [39]},
        lambda row: "over 39" if _age(row["born"], date(2024, 2, 28)) > 39 else "39 and under",
    ),
    (
        {"from": "born", "at": "start", "bins": [25, 40]},
        lambda row: (
            "under 25"
            if (age := _age(row["born"], row["start"])) < 25
            else "25 to 40"
            if age < 40
            else "40 and over"
        ),
    ),
    (
        {"column": "end", "minus": "start", "over": [30]},
        lambda row: "over 30" if (row["end"] - row["start"]).days > 30 else "30 and under",
    ),
    (
        {"column": "asked", "minus": "given", "over": [0.3]},
        lambda row: (
            "over 0.3"
            if round(10 * row["asked"]) - round(10 * row["given"]) > 3
            else "0.3 and under"
        ),
    ),
    (
        {"combine": ["race", "ethnicity"]},
        lambda row: (
            f"{row['race']}, {row['ethnicity']}"
            if row["race"] and row["ethnicity"]
            else "(unknown)"
        ),
    ),
    (ORIGIN, _origin),
    (EITHER, _either),
    (
        {**ORIGIN, "keep": ["White"], "other": "rest"},
        lambda row: {"Hispanic": "rest", "other": "rest"}.get(_origin(row), _origin(row)),
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "level"), DERIVED, ids=lambda part: "" if callable(part) else str(part)[:60]
)
@pytest.mark.parametrize("form", ["frame", "csv", "parquet"])
def test_a_derived_column_is_what_plain_python_makes_of_each_row(
    body: Mapping[str, Any], level: Callable[[Row], str], form: str, tmp_path: Path
) -> None:
    data: object = FRAME
    if form != "frame":
        data = tmp_path / f"rows.{form}"
        FRAME.write_csv(data) if form == "csv" else FRAME.write_parquet(data)
    assert _rates(body, data) == _count(level)


def test_quantiles_of_a_derived_number_are_cut_too() -> None:
    rates = _rates({"column": "asked", "minus": "given", "quantiles": 2}, FRAME)
    people = [people for _, people in rates.values()]
    assert len(people) == 2
    assert sum(map(int, filter(None, people))) == len(ROWS)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"from": "born", "bins": [40]},
            ("`at` is missing: name the day of the age, such as `at: 2024-12-31`"),
        ),
        ({"from": "born", "at": "2024-13-01", "bins": [40]}, "2024-13-01 is not a date"),
        (
            {"from": "born", "at": "2024-12-31"},
            "a column of numbers needs `bins`, `over` or `quantiles`",
        ),
        ({"from": "birth", "at": "2024-12-31", "bins": [40]}, "no column 'birth'"),
        ({"from": "born", "at": "then", "bins": [40]}, "no column 'then'"),
        ({"at": "2024-12-31"}, "`at` is the reference day of an age and needs `from`"),
        (
            {"from": "born", "at": "start", "column": "x", "bins": [1]},
            "already says which column is used",
        ),
        ({"combine": ["race"]}, "needs two or more different columns"),
        ({"combine": ["race", "ethnicity"], "minus": "d"}, "either `minus` or `combine`, not both"),
        (
            {"column": "race", "rule": {"x": {"race": "White"}}},
            ("`rule` needs `combine`, the list of its columns"),
        ),
        ({"combine": ["race", "d"], "rule": {"x": {"rice": "White"}}}, "did you mean 'race'?"),
        ({"combine": ["race", "d"], "rule": {"x": {"race": "Wite"}}}, "did you mean 'White'?"),
        ({"combine": ["race", "d"], "rule": {"x": [{"race": "White"}, {"rice": 1}]}}, "'race'?"),
        ({"combine": ["race", "d"], "rule": {"x": []}}, "a condition needs a column and a level"),
        ({"combine": ["race", "d"], "rule": {"x": [{}]}}, "a condition needs a column and a level"),
        (
            {"combine": ["race", "d"], "rule": {"x": [{"race": "White"}] * 101}},
            "`rule` has 101 conditions, and the maximum is 100; `merge` accepts more levels",
        ),
    ],
    ids=str,
)
def test_what_makes_no_column_is_a_fault(body: Mapping[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        _rates(body, FRAME)
    assert message in str(caught.value)


@pytest.mark.parametrize("born", ["31.12.1990", "1990-02-30", "2025-06-01", "x"])
def test_what_is_no_date_or_not_yet_born_is_an_error_and_in_no_group(
    born: str, tmp_path: Path
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"born,d\n1990-01-01,1\n1970-01-01T08:30:00,0\n{born},1\n")
    with pytest.raises(DataError, match=r"no date \(YYYY-MM-DD\) up to 2024-12-31 .*'born'.*csv:4"):
        _rates({"from": "born", "at": "2024-12-31", "bins": [40]}, path)


TABLE = "sex,place,selected,waiting,n,rate\nf,A,30,5,80,.375\nm,A,50,10,100,.5\nm,B,7,0,7,1\n"


@pytest.mark.parametrize(
    ("counts", "rates"),
    [
        ({"selected": "selected", "total": "n"}, {"f": (30, 80), "m": (57, 107)}),
        ({"positive": "selected", "negative": "waiting"}, {"f": (30, 35), "m": (57, 67)}),
        (
            {"positive": "selected", "waiting": "waiting", "total": "n"},
            {"f": (30, 80), "m": (57, 107)},
        ),
    ],
)
def test_counts_side_by_side_are_people(
    counts: Mapping[str, str], rates: Mapping[str, tuple[int, int]], tmp_path: Path
) -> None:
    decision: dict[str, Any] = {"counts": counts}
    if len(counts) > 2:
        decision["negative"] = ["waiting", "rest"]
    columns = {"protected": {"sex": {}}, "decision": decision, "strata": ["place"]}
    spec = {"columns": columns, "metrics": ["selection_rate"]}
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    for data in (path, pl.read_csv(path)):
        result = fairaudit.audit(spec, data)
        told = {
            row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
            for row in result.rates
            if row.group and not row.stratum
        }
        assert told == rates
        assert result.ledger.people == sum(people for _, people in rates.values())
        assert (result.ledger.read, result.ledger.counted) == (3, 3)


@pytest.mark.parametrize(
    ("row", "held"),
    [
        ("f,A,90,5,80,.4", "'90' and '80'"),  # not -10, the rest of the people
        ("f,A,x,5,80,.4", "'x'"),
        ("f,A,1.5,5,80,.4", "'1.5'"),
        ("f,A,-1,5,80,.4", "'-1'"),
    ],
)
def test_counts_that_cannot_be_are_an_error_that_quotes_their_cells(
    row: str, held: str, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(f"{TABLE}{row}\n")
    counts = {"selected": "selected", "total": "n"}
    spec = {"columns": {"protected": ["sex"], "decision": {"counts": counts}}}
    what = r"no count \(a whole number.*'selected' and 'n'; first: .*table.csv:\d+ holds "
    with pytest.raises(DataError, match=f"{what}{held}\n"):
        fairaudit.audit({**spec, "metrics": "selection_rate"}, path)


def test_a_missing_count_leaves_the_rest_of_a_total_of_unknown_outcome(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("sex,n,selected,waiting\nf,100,40,10\nm,200,NA,30\nm,50,20,\nf,60,<5,\n")
    decision: dict[str, Any] = {
        "counts": {"selected": "selected", "waiting": "waiting", "total": "n"}
    }
    decision |= {"positive": "selected", "negative": ["waiting", "rest"]}
    spec = {"columns": {"protected": ["sex"], "decision": decision}, "metrics": "selection_rate"}
    with pytest.raises(DataError, match="4 rows hold no count") as refused:
        fairaudit.audit(spec, path)
    assert "missing.tokens" in str(refused.value)
    with pytest.raises(DataError, match="3 rows have no value in the decision"):
        fairaudit.audit({**spec, "missing": {"tokens": ["NA", "<5"]}}, path)
    missing = {"tokens": ["NA", "<5"], "decision": "aside"}
    for data in (path, pl.read_csv(path)):
        result = fairaudit.audit({**spec, "missing": missing}, data)
        # f: 40 + 10 + 50 are known, and of 60 nothing; m: 30 of 200 wait, 20 of 50 are selected.
        rates = {row.group[0][1]: row.estimate for row in result.rates if row.group}
        assert (rates["f"].numerator, rates["f"].denominator) == (40, 100)
        assert (rates["m"].numerator, rates["m"].denominator) == (20, 50)
        assert result.ledger.people == 410


@pytest.mark.parametrize("at_least", [3, 4])
def test_rows_of_a_table_of_counts_are_counted_once(at_least: int, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    decision = {"counts": {"selected": "selected", "total": "n"}}
    spec = {
        "columns": {"protected": ["sex"], "decision": decision},
        "expect": {"rows": {"at_least": at_least}},
        "metrics": ["selection_rate"],
    }
    if at_least == 3:
        fairaudit.audit(spec, path)
        return
    with pytest.raises(DataError, match="3 rows are counted"):
        fairaudit.audit(spec, path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"decision": {"counts": {"a": "selected"}}},
            ("name a count column for each level, or for a single level and `total`"),
        ),
        (
            {"decision": {"counts": {"a": "n", "b": "n"}}},
            ("name a count column for each level, or for a single level and `total`"),
        ),
        (
            {"decision": {"counts": {"a": "n", "b": "waiting"}, "column": "x"}},
            ("`counts` already names the columns"),
        ),
        (
            {"decision": {"counts": {"a": "n", "b": "waiting"}}, "count": "n"},
            ("already has the number of people"),
        ),
        ({"decision": {"counts": {"a": "m", "b": "waiting"}}}, "no column 'm'"),
        ({"decision": {"positive": 1}}, "`column` is missing"),
        (
            {"decision": {"counts": {"a": "selected", "rest": "waiting", "total": "n"}}},
            "'rest' is reserved for people in `total` without another level",
        ),
        (
            {"decision": {"counts": {"a": "n", "b": "waiting"}, "number": True}},
            ("`counts` has levels: remove `number`"),
        ),
        (
            {"decision": {"counts": {"a": "selected", "total": "n"}, "positive": {"at_least": 1}}},
            "must be one of a, not a",
        ),
    ],
    ids=str,
)
def test_counts_that_are_badly_named_are_faults(columns: Mapping[str, Any], message: str) -> None:
    data = pl.read_csv(TABLE.encode())
    spec = {"columns": {"protected": ["sex"], **columns}, "metrics": "selection_rate"}
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(spec, data)
    assert message in str(caught.value)


def test_people_one_by_one_are_not_taken_from_counts_side_by_side() -> None:
    counts = {"selected": "selected", "total": "n"}
    columns = {
        "protected": {"sex": {"reference": "m"}},
        "decision": {"counts": counts},
        "features": {"numeric": ["rate"]},
    }
    given = {"propensity": {"features": ["rate"]}}
    for entry, message in (
        ({"metric": "consistency"}, "remove `counts`, or the metric"),
        ({"metric": "selection_rate", "given": given}, "a row that stands for several people"),
    ):
        with pytest.raises(SpecError, match=message):
            fairaudit.audit({"columns": columns, "metrics": [entry]}, pl.read_csv(TABLE.encode()))


def test_what_is_derived_is_read_where_numbers_have_a_comma(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("g;a;b;s;n\nx;1,5;1;3;10\nx;2,5;1;2;10\ny;1,2;1;4;20\n")
    columns = {
        "protected": {"u": {"column": "a", "minus": "b", "bins": [0.3, 1]}},
        "decision": {"counts": {"s": "s", "total": "n"}},
    }
    form = {"separator": ";", "decimal": ","}
    spec = {"columns": columns, "metrics": "selection_rate", "format": form}
    rows = fairaudit.audit(spec, path).rates
    assert {row.group[0][1]: row.estimate.value for row in rows if row.group} == {
        "under 0.3": 0.2,
        "0.3 to 1": 0.3,
        "1 and over": 0.2,
    }


def test_a_column_that_has_the_name_of_counts_is_told() -> None:
    data = pl.read_csv(TABLE.encode()).rename({"rate": "(outcome)"})
    counts = {"selected": "selected", "total": "n"}
    spec = {"columns": {"protected": ["sex"], "decision": {"counts": counts}}}
    with pytest.raises(DataError, match="'\\(outcome\\)', which is reserved for a derived column"):
        fairaudit.audit({**spec, "metrics": "selection_rate"}, data)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Pacific/Auckland"])
def test_a_time_is_a_date_where_it_was_taken(unit: Any, zone: str | None) -> None:
    evening = pl.Series(["1990-01-01 23:00", "1985-01-01 01:00"]).str.to_datetime()
    born = evening.dt.cast_time_unit(unit).dt.replace_time_zone(zone)
    data = pl.DataFrame({"born": born, "start": [date(2020, 1, 1)] * 2, "d": [0, 1]})
    expected = {"under 31": (0, 1), "31 and over": (1, 1)}
    assert _rates({"from": "born", "at": "2020-01-01", "bins": [31]}, data) == expected
    expected = {"under 10958": (0, 1), "10958 and over": (1, 1)}
    assert _rates({"column": "start", "minus": "born", "bins": [10958]}, data) == expected


def test_a_bad_count_beside_others_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    outcome = {"counts": {"sel": "sel", "total": "n"}}
    spec = {"data": str(path), "columns": {"protected": ["g"], "decision": outcome},
            "metrics": ["selection_rate"]}  # fmt: skip
    for row in ("b,x,5", "b,9,5", "b,-1,5", "b,1.5,5"):
        path.write_text(f"g,sel,n\na,3,9\n\n{row}\nc,2,7\n")
        with pytest.raises(DataError, match=r"in the columns 'sel' and 'n'; first: .*counts.csv:4"):
            fairaudit.audit(spec)


def test_the_race_of_couples_by_codes_of_which_some_do_not_occur() -> None:
    """HMDA: a blank second race is none, not one that is missing (cfpb/hmda-platform #2764)."""
    minority = [
        "1",
        "2",
        "21",
        "22",
        "23",
        "24",
        "25",
        "26",
        "27",
        "3",
        "4",
        "41",
        "42",
        "43",
        "44",
    ]
    white, none = "5", [""]
    names = ["a1", "a2", "c1", "c2"]
    first, second, other_first, other_second = names
    rules = {
        "Race Not Available": {first: ["6", "7"]},
        "Joint": [
            {first: minority, other_first: white},
            {second: minority, other_second: white},
            {first: white, second: none, other_first: minority},
            {first: white, second: none, other_second: minority},
        ],
        "Two or more": {first: minority, second: minority},
        "Black": [{first: "3"}, {second: "3"}],
        "Asian": {first: [code for code in minority if code.startswith("2")]},
        "AIAN": {first: "1"},
        "White": {first: white},
    }
    race = {"combine": names, "rule": rules, "unknown": "Race Not Available"}
    rows = [
        (("5", "", "8", ""), 60, 300),  # White
        (("5", "", "5", ""), 30, 200),  # White
        (("3", "", "8", ""), 40, 70),  # Black
        (("5", "3", "8", ""), 6, 10),  # Black
        (("1", "", "5", ""), 5, 5),  # Joint
        (("5", "", "22", ""), 4, 20),  # Joint
        (("21", "", "6", ""), 9, 45),  # Asian
        (("22", "44", "8", ""), 4, 4),  # two or more
        (("6", "", "8", ""), 25, 50),  # not available
    ]
    for blank in ("", None):
        people = pl.DataFrame(
            [
                (*(code or blank for code in codes), action, n)
                for codes, denied, granted in rows
                for action, n in ((3, denied), (1, granted))
            ],
            schema=[*names, "action", "n"],
            orient="row",
        )
        decision = {"column": "action", "positive": 3, "negative": 1, "favourable": False}
        columns = {"protected": {"race": race}, "decision": decision, "count": "n"}
        result = fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, people)
        assert {
            dict(row.group)["race"]: (row.estimate.numerator, row.estimate.denominator)
            for row in result.rates
            if row.group
        } == {
            "White": (90, 590),
            "Black": (46, 126),
            "Joint": (9, 34),
            "Asian": (9, 54),
            "Two or more": (4, 8),
            "(unknown)": (25, 75),
        }
        assert any("no level '2', '23', '24'" in str(one) for one in result.notices)
