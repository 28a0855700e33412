"""A filter compares numbers with numbers and dates with dates, on every route, or says why not."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import DataError, FairauditError, SpecError

Rows = list[tuple[str | None, ...]]

DECISION = {"protected": ["sex"], "decision": {"column": "hired", "positive": "1"}}
GATE = [{"metric": "impact_ratio", "fail": {"below": 0.8}}]
ROUTES = ("kernel", "lazy", "parquet", "frame", "duckdb")
DATES = {"decided": "%m/%d/%Y"}


def people(cells: Iterable[tuple[int, str, str, str | None]]) -> Rows:
    """So many equal rows: how many, sex, hired, and one more value."""
    return [(sex, hired, value) for n, sex, hired, value in cells for _ in range(n)]


INCOMES = people([
    (25, "m", "1", "900"), (25, "m", "0", "900"), (50, "m", "1", "1,500"),
    (25, "w", "1", "900"), (25, "w", "0", "900"), (5, "w", "1", "1,500"), (45, "w", "0", "1,500"),
])  # fmt: skip
"""All have an income of at least 500: m 75 of 100, w 30 of 100."""

DECIDED = people([
    (40, "m", "1", "12/31/2023"), (10, "m", "0", "12/31/2023"), (40, "w", "1", "11/30/2023"),
    (10, "w", "0", "11/30/2023"), (40, "m", "1", "1/2/2024"), (10, "m", "0", "01/02/2024"),
    (10, "w", "1", "02/03/2024"), (40, "w", "0", "02/03/2024"),
])  # fmt: skip
"""Of 2024: m 40 of 50, w 10 of 50."""


def audit(
    route: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: Rows,
    name: str,
    **spec: Any,
) -> fairaudit.AuditResult:
    """The audit of rows by a route; `name` is the column of their third value."""
    frame = pl.DataFrame(
        rows, schema=dict.fromkeys(("sex", "hired", name), pl.String), orient="row"
    )
    data: Any = frame
    if route in {"kernel", "lazy"}:
        monkeypatch.delenv("FAIRAUDIT_ROUTE", raising=False)
        if route == "lazy":
            monkeypatch.setenv("FAIRAUDIT_ROUTE", route)
        data = folder / "data.csv"
        frame.write_csv(data, separator=spec.get("format", {}).get("separator", ","))
    elif route == "parquet":
        data = folder / "data.parquet"
        frame.write_parquet(data)
    elif route == "duckdb":
        base = folder / "base.duckdb"
        base.unlink(missing_ok=True)
        with duckdb.connect(str(base)) as link:
            link.execute("CREATE TABLE people AS SELECT * FROM frame")
        data = f"duckdb:///{base}?table=people"
    return fairaudit.audit({"columns": DECISION, "metrics": GATE, **spec}, data)


@pytest.fixture(params=ROUTES)
def by_route(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Any:
    """The audit of rows by each route, and where its error finds row 51."""

    def of(*arguments: Any, **spec: Any) -> fairaudit.AuditResult:
        return audit(request.param, tmp_path, monkeypatch, *arguments, **spec)

    return of


@pytest.mark.long
def test_a_number_with_thousands_is_refused_or_read(by_route: Any) -> None:
    with pytest.raises(DataError) as told:
        by_route(INCOMES, "income", filter="income >= 500")
    words = "100 rows hold no number in the column 'income' of the filter; first: "
    assert words in str(told.value)
    assert "holds '1,500'" in str(told.value)
    assert 'format: {thousands: ","}' in str(told.value)
    result = by_route(INCOMES, "income", filter="income >= 500", format={"thousands": ","})
    (finding,) = result.findings
    assert (str(finding.status), finding.value) == ("fail", pytest.approx(0.4))
    assert result.ledger.counted == 200
    above = by_route(INCOMES, "income", filter="income > 1000", format={"thousands": ","})
    assert above.ledger.filtered == 100


def test_the_line_of_a_bad_number_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for route, spot in (
        ("kernel", "data.csv:52"), ("lazy", "data.csv:52"),
        ("parquet", "data.parquet, row 51"), ("frame", "row 51"),
    ):  # fmt: skip
        with pytest.raises(DataError, match=f"{spot} holds '1,500'"):
            audit(route, tmp_path, monkeypatch, INCOMES, "income", filter="income >= 500")


def test_a_text_counts_where_another_condition_would_remove_its_row(by_route: Any) -> None:
    with pytest.raises(DataError, match="100 rows hold no number"):
        by_route(INCOMES, "income", filter="income >= 500 and sex = 'd'")
    with pytest.raises(DataError, match="100 rows hold no number"):
        by_route(INCOMES, "income", filter="income >= 500 or income is null")


def test_a_bad_number_is_not_told_in_a_report_to_publish(tmp_path: Path) -> None:
    data = tmp_path / "data.csv"
    data.write_text("sex,hired,income\n" + "".join(f"m,1,{n}\nw,0,x9\n" for n in range(20)))
    spec = {"columns": DECISION, "metrics": ["selection_rate"], "filter": "income > 5"}
    with pytest.raises(FairauditError) as told:
        fairaudit.audit({**spec, "suppress_below": 11}, data)
    assert "x9" not in str(told.value)
    assert "20" not in str(told.value)


@pytest.mark.parametrize(
    "literal", ["02/01/2024", "1.2.2024", "2024/02/01", "1 Feb 2024", "2024-2-1"]
)
def test_a_date_is_not_compared_letter_by_letter(literal: str) -> None:
    frame = pl.DataFrame(DECIDED, schema=["sex", "hired", "decided"], orient="row")
    spec = {"columns": DECISION, "metrics": GATE, "filter": f"decided >= '{literal}'"}
    with pytest.raises(SpecError, match="as text, not as a date") as told:
        fairaudit.audit(spec, frame)
    assert 'dates: {decided: "%m/%d/%Y"}' in str(told.value)
    with pytest.raises(SpecError, match="write it as '2024-12-31'"):
        fairaudit.audit({**spec, "dates": DATES}, frame)


@pytest.mark.long
def test_dates_in_another_notation_are_refused_or_declared(by_route: Any) -> None:
    with pytest.raises(DataError) as told:
        by_route(DECIDED, "decided", filter="decided >= '2024-01-01'")
    assert "200 rows hold no date (YYYY-MM-DD) in the column 'decided'" in str(told.value)
    assert "holds '12/31/2023'" in str(told.value)
    assert 'dates: {decided: "%m/%d/%Y"}' in str(told.value)
    result = by_route(DECIDED, "decided", filter="decided >= '2024-01-01'", dates=DATES)
    (finding,) = result.findings
    assert (str(finding.status), finding.value) == ("fail", pytest.approx(0.25))
    assert result.ledger.counted == 100
    both = by_route(
        DECIDED, "decided", filter="decided in ('2023-12-31', '2024-01-02')", dates=DATES
    )
    assert both.ledger.counted == 100
    with pytest.raises(
        DataError, match=r"200 rows hold no date \(%d/%m/%Y\)|100 rows hold no date"
    ):
        by_route(
            DECIDED, "decided", filter="decided >= '2024-01-01'", dates={"decided": "%d/%m/%Y"}
        )


@pytest.mark.long
def test_a_day_stands_for_all_its_times(by_route: Any) -> None:
    rows = people([
        (2, "m", "1", "2024-01-31T10:00:00"), (2, "m", "0", "2024-01-31"),
        (2, "w", "1", "2024-02-01 00:00:00"), (2, "w", "0", "2024-01-30"),
    ])  # fmt: skip
    kept = {
        "decided <= '2024-01-31'": 6,
        "decided = '2024-01-31'": 4,
        "decided between '2024-01' and '2024-01'": 6,
        "decided < '2024-01-31 12:00'": 6,
        "decided > '2024-01-30 12:00'": 6,
    }
    for rule, counted in kept.items():
        assert by_route(rows, "decided", filter=rule).ledger.counted == counted


def test_dates_of_files_with_types_are_compared_with_dates_in_quotes(tmp_path: Path) -> None:
    frame = pl.DataFrame(DECIDED, schema=["sex", "hired", "decided"], orient="row")
    day = pl.col("decided").str.to_date("%m/%d/%Y")
    for kind in (pl.Date, pl.Datetime("us"), pl.Datetime("ns")):
        frame.with_columns(day.cast(kind)).write_parquet(tmp_path / "data.parquet")
        spec = {"columns": DECISION, "metrics": GATE, "filter": "decided >= '2024-01-01'"}
        result = fairaudit.audit(spec, tmp_path / "data.parquet")
        assert result.findings[0].value == pytest.approx(0.25)


@pytest.mark.long
def test_ages_of_dates_in_another_notation(by_route: Any) -> None:
    """By hand, at 2020-12-31: 40, 45, 30, 60, 21, 60; under 40 are 2 of 2 hired, others 1 of 4."""
    rows: Rows = [
        ("w", "1", "12/31/1980"), ("w", "0", "1/5/1975"), ("w", "1", "03/04/1990"),
        ("m", "0", "11/30/1960"), ("m", "1", "7/4/1999"), ("m", "0", "02/29/1960"),
    ]  # fmt: skip
    age = {"from": "dob", "at": "2020-12-31", "bins": [40]}
    spec = {"columns": {**DECISION, "protected": {"age": age}}, "metrics": ["selection_rate"]}
    with pytest.raises(DataError, match=r'dates: \{dob: "%m/%d/%Y"\}') as told:
        by_route(rows, "dob", **spec)
    assert "1980" not in str(told.value)
    result = by_route(rows, "dob", **spec, dates={"dob": "%m/%d/%Y"})
    shares = {row.group[0][1]: row.estimate.value for row in result.rates if row.group}
    assert shares == {"under 40": 1.0, "40 and over": 0.25}


@pytest.mark.long
def test_a_date_in_none_of_several_notations_is_an_error(by_route: Any) -> None:
    rows = people([(2, "m", "1", "31.01.2024"), (2, "w", "1", "1/31/2024")])
    spec: dict[str, Any] = {"filter": "decided = '2024-01-31'"}
    both = {"decided": ["%d.%m.%Y", "%m/%d/%Y"]}
    assert by_route(rows, "decided", **spec, dates=both).ledger.counted == 4
    rows += people([(1, "m", "1", "31/1/2024")])
    with pytest.raises(DataError, match=r"1 row holds no date \(%d\.%m\.%Y or %m/%d/%Y\)"):
        by_route(rows, "decided", **spec, dates=both)


@pytest.mark.parametrize(
    ("notations", "text"),
    [
        (["%d/%m/%Y", "%m/%d/%Y"], "05/04/2003"),
        (["%d.%m.%Y", "%Y-%m-%d", "%m.%d.%Y"], "05.04.2003"),
        (["%d/%m/%y", "%d/%m/%Y"], "05/04/03"),
        (["%m/%e/%y", "%y/%m/%d"], "04/05/03"),
        (["%d.%m.%Y", "%m/%d/%Y"], None),
        (["%d.%m.%Y", "%d %b %Y", "%Y-%m-%d %H:%M"], None),
        (["%d/%m/%Y", "%e/%m/%Y"], None),
    ],
)
def test_notations_that_read_a_text_as_two_dates_are_refused(
    notations: list[str], text: str | None
) -> None:
    frame = pl.DataFrame({"sex": ["a", "b"], "hired": ["1", "0"], "decided": ["", ""]})
    spec = {"columns": DECISION, "metrics": GATE, "dates": {"decided": notations}}
    if text is None:
        assert fairaudit.audit(spec, frame).ledger.read == 2
        return
    # The reader of dates takes it for two days, indeed.
    read = {pl.Series([text]).str.to_date(one, strict=False)[0] for one in notations}
    assert len(read - {None}) == 2
    with pytest.raises(SpecError, match=f"{text} means different dates in the formats"):
        fairaudit.audit(spec, frame)


@pytest.mark.parametrize("notation", ["%m/%Y", "%d.%m", "%Y-%Q-%m-%d", "yyyy", "%H:%M"])
def test_a_notation_names_day_month_and_year(notation: str) -> None:
    spec = {"columns": DECISION, "metrics": GATE, "dates": {"decided": notation}}
    with pytest.raises(SpecError, match="a date format needs %d, %m"):
        fairaudit.audit(spec, pl.DataFrame({"sex": ["a"], "hired": ["1"]}))


COUNTS = {
    "columns": {
        "protected": ["sex"],
        "decision": {"column": "hired", "positive": "1", "negative": "0"},
        "count": "n",
    },
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "form", "hint"),
    [
        ("62,500", {"separator": ";"}, "for decimals {decimal ,}, for thousands {thousands ,}"),
        ("62,500", {}, "for thousands {thousands ,}, for decimals {decimal ,}"),
        ("0,625", {"separator": ";"}, "for decimals {decimal ,}"),
        ("1,062,500", {"separator": ";"}, "for thousands {thousands ,}"),
        ("62,500.5", {"separator": ";"}, "for thousands {thousands ,}"),
        ("0.625", {"decimal": ",", "thousands": ".", "separator": ";"}, "for decimals {decimal .}"),
        (
            "62.500",
            {"decimal": ",", "separator": ";"},
            "for thousands {thousands .}, for decimals {decimal .}",
        ),
    ],
)
def test_a_number_of_two_readings_has_both_remedies(
    value: str, form: dict[str, str], hint: str, by_route: Any
) -> None:
    """62,500 is a half of 125 or half of 125,000: the hint names the sign for either."""
    rows: Rows = [(sex, hired, value) for sex in "wm" for hired in "10"]
    with pytest.raises(DataError) as told:
        by_route(rows, "income", filter="income >= 50", format=form)
    assert told.value.hint is not None
    for word in ("thousands", "decimal"):
        for sign in ",.":
            hint = hint.replace(f"{{{word} {sign}}}", f'declare `format: {{{word}: "{sign}"}}`')
    assert told.value.hint == hint


THOUSANDS: Rows = [("w", "1", "537"), ("w", "0", "2,288"), ("m", "1", "1,047"), ("m", "0", "2,194")]


@pytest.mark.long
def test_counts_with_thousands(by_route: Any) -> None:
    """537 of 2,825 women and 1,047 of 3,241 men: 0.190088 / 0.323048."""
    for decimal, sign in ((".", ","), (",", "."), (".", " ")):
        rows = [(sex, hired, (n or "").replace(",", sign)) for sex, hired, n in THOUSANDS]
        form = {"decimal": decimal, "separator": ";"}
        with pytest.raises(DataError) as told:
            by_route(rows, "n", **COUNTS, format=form)
        assert any(f"holds '{n}'" in str(told.value) for _, _, n in rows[1:])
        assert f'format: {{thousands: "{sign}"}}' in str(told.value)
        assert "filter" not in str(told.value)
        result = by_route(rows, "n", **COUNTS, format={**form, "thousands": sign})
        (finding,) = result.findings
        assert (str(finding.status), finding.value) == ("fail", pytest.approx(0.588421, abs=1e-6))


@pytest.mark.long
@pytest.mark.parametrize("masked", ["*", "<5", "< 5", "suppressed"])
def test_a_masked_count_is_not_0(by_route: Any, masked: str) -> None:
    rows = [*THOUSANDS[:1], ("w", "0", masked), ("m", "1", "30"), ("m", "0", "40")]
    for tokens in ([""], ["", masked]):
        with pytest.raises(DataError) as told:
            by_route(rows, "n", **COUNTS, missing={"tokens": tokens})
        assert f"holds '{masked}'" in str(told.value)
        assert "a masked count is not 0" in str(told.value)


def test_masked_counts_side_by_side(tmp_path: Path) -> None:
    text = "group,suspended,enrolled\nWhite,12,240\nBlack,15,130\nBlack,<5,40\n"
    (tmp_path / "data.csv").write_text(text)
    counts = {"suspended": "suspended", "total": "enrolled"}
    decision = {"counts": counts, "positive": "suspended", "favourable": False}
    spec = {"columns": {"protected": ["group"], "decision": decision}, "metrics": GATE}
    with pytest.raises(DataError, match=r"data.csv:4 holds '<5'(?s:.*)masked count is not 0"):
        fairaudit.audit(spec, tmp_path / "data.csv")


def test_a_bad_count_of_a_row_that_the_filter_cannot_decide_is_an_error(by_route: Any) -> None:
    rows = [*people([(2, "w", "1", "3"), (2, "m", "0", "3")]), (None, "0", "many")]
    with pytest.raises(DataError, match="1 row holds no count"):
        by_route(rows, "n", **COUNTS, filter="sex <> 'd'")


@pytest.mark.parametrize(
    ("signs", "words"),
    [
        ({"thousands": "_"}, "the thousands separator must be "),
        ({"thousands": "."}, "`thousands` and `decimal` must be different"),
        ({"thousands": ",", "decimal": ","}, "`thousands` and `decimal` must be different"),
    ],
)
def test_signs_that_cannot_stand_between_thousands_are_faults(
    signs: dict[str, str], words: str, tmp_path: Path
) -> None:
    (tmp_path / "d.csv").write_text("g;d\na;1\nb;0\n")
    spec = {
        "format": {"separator": ";", **signs},
        "columns": {"protected": ["g"], "decision": {"column": "d", "positive": 1}},
        "metrics": ["selection_rate"],
    }
    with pytest.raises(SpecError, match=words):
        fairaudit.audit(spec, tmp_path / "d.csv")


NUMBERS = pl.DataFrame({"g": ["a", "b"] * 2, "d": [1, 0, 1, 1], "y": [1, 2, 3, 4], "t": ["x"] * 4})


@pytest.mark.parametrize("text", ["y = 'a'", "y in ('a')", "lower(y) = 'a'", "y like '1%'"])
def test_a_column_of_numbers_is_not_compared_with_a_text(text: str) -> None:
    decision = {"column": "d", "positive": 1}
    spec = {"columns": {"protected": ["g"], "decision": decision}, "filter": text}
    with pytest.raises(SpecError, match="the filter cannot be applied: write texts and dates in"):
        fairaudit.audit({**spec, "metrics": "selection_rate"}, NUMBERS)


@pytest.mark.parametrize("text", ["{}", "not (not ({}))", "({}) = true"])
def test_a_filter_of_many_texts_is_read_however_deep_they_are(text: str) -> None:
    many = " or ".join(f"t = '{word}'" for word in ("x", *map(str, range(130))))
    decision = {"column": "d", "positive": 1}
    spec = {"columns": {"protected": ["g"], "decision": decision}, "metrics": "selection_rate"}
    ledger = fairaudit.audit({**spec, "filter": text.format(many)}, NUMBERS).ledger
    assert (ledger.counted, ledger.filtered) == (4, 0)
    denied = f"d = 1 and (y = 1 or not ({many})) or d = 0"
    ledger = fairaudit.audit({**spec, "filter": denied}, NUMBERS).ledger
    assert (ledger.counted, ledger.filtered) == (2, 2)
