"""Numbers as exports write them: symbols, parentheses and a minus behind a number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import DataError, SpecError
from fairaudit.counting.columns import CsvFormat
from fairaudit.counting.sources.batches import read_number

EURO = CsvFormat(
    ";", ",", "utf-8", multiline=False, thousands=".", symbols=("€", "%"), accounting=True
)


def read(form: CsvFormat, *texts: str) -> list[float | None]:
    frame = pl.DataFrame({"x": texts}, schema={"x": pl.String})
    return frame.select(read_number(pl.col("x"), form)).to_series().to_list()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("€ 1.200,50", 1200.5), ("1.200,50 €", 1200.5), ("15 %", 15.0), ("15%", 15.0),
        ("-15 %", -15.0), ("(€ 1.200)", -1200.0), ("(1.200 €)", -1200.0), ("12-", -12.0),
        ("12 €-", -12.0), ("-€12", -12.0), ("+3%", 3.0), ("7", 7.0),
        ("€", None), ("%", None), ("()", None), ("-", None), ("1 2", None), ("1€2", None),
        ("(-12)", None), ("-12-", None), ("((12))", None), ("$ 12", None), ("12 % %", None),
    ],
)  # fmt: skip
def test_each_notation_is_one_number_or_none(text: str, value: float | None) -> None:
    assert read(EURO, text) == [value]


@given(
    st.integers(-(10**12), 10**12),
    st.sampled_from(["", "€", "%"]),
    st.booleans(),
    st.sampled_from(["minus", "behind", "parentheses"]),
)
def test_what_is_written_is_read(cents: int, symbol: str, before: bool, negative: str) -> None:
    whole, rest = divmod(abs(cents), 100)
    text = f"{whole:,}".replace(",", ".") + f",{rest:02}"
    text = f"{symbol} {text}".strip() if before else f"{text} {symbol}".strip()
    if cents < 0:
        signs = {"minus": f"-{text}", "behind": f"{text}-", "parentheses": f"({text})"}
        text = signs[negative]
    assert read(EURO, text) == [cents / 100]


def test_without_a_declaration_nothing_is_ignored() -> None:
    plain = CsvFormat(",", ".", "utf-8", multiline=False)
    assert read(plain, "15 %", "$3", "(3)", "3-", "3") == [None, None, None, None, 3.0]


ROWS = "g,d,pay,w,n\n" + "".join(
    f"{'ab'[n % 2]},{n % 3 % 2},$ {n}.5,{n % 4} kg,{n % 5 + 1} p\n" for n in range(40)
)
SPEC: dict[str, Any] = {
    "format": {"symbols": ["$", "kg", "p"]},
    "columns": {"protected": ["g"], "decision": "d", "numbers": {"pay": "pay"}},
    "metrics": ["selection_rate", {"metric": "mean_value", "of": "pay"}],
}


@pytest.mark.parametrize("role", [{}, {"weight": "w"}, {"count": "n"}])
def test_a_marked_file_gives_the_numbers_of_the_bare_one(
    audit_csv: Callable[..., Any], role: dict[str, str]
) -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], **role}, "filter": "pay >= 4"}
    if "weight" in role:
        del spec["columns"]["numbers"]
        spec["metrics"] = ["selection_rate"]
    bare = ROWS.replace("$ ", "").replace(" kg", "").replace(" p", "")
    marked, plain = (audit_csv(text, spec) for text in (ROWS, bare))
    trees = [json.loads(result.to_json()) for result in (marked, plain)]
    assert trees[0]["rates"] == trees[1]["rates"]
    assert marked.ledger == plain.ledger
    assert marked.ledger.counted == 36


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("$12", 'to ignore symbols declare `format: {symbols: ["$"]}`'),
        ("12 %", 'to ignore symbols declare `format: {symbols: ["%"]}`; 15 % is then 15'),
        ("(12)", "for negative numbers in this notation declare `format: {accounting: true}`"),
        ("12-", "for negative numbers in this notation declare `format: {accounting: true}`"),
    ],
)
def test_the_error_names_the_remedy(audit_csv: Callable[..., Any], value: str, hint: str) -> None:
    spec = {**SPEC, "format": {}}
    with pytest.raises(DataError) as caught:
        audit_csv(f"g,d,pay\na,1,3\nb,0,{value}\n", spec)
    assert caught.value.hint == hint


def test_a_symbol_with_a_digit_is_refused(audit_csv: Callable[..., Any]) -> None:
    with pytest.raises(SpecError, match="a symbol cannot contain digits, blanks or"):
        audit_csv(ROWS, {**SPEC, "format": {"symbols": ["k2"]}})


def test_a_line_that_names_the_separator_is_not_a_header(audit_csv: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="the line names the separator") as caught:
        audit_csv("sep=;\n" + ROWS.replace(",", ";"), SPEC)
    assert caught.value.hint == "leave it out: `format: {separator: ';', skip_rows: 1}`"


def test_init_declares_the_notation(tmp_path: Path) -> None:
    rows = "g;d;Gehalt;Anteil\n" + "".join(
        f"{'mw'[n % 2]};{n % 3 % 2};{n + 1}.{n:03},5 €;({n}) %\n" for n in range(200)
    )
    (tmp_path / "a.csv").write_bytes(rows.encode("windows-1252"))
    spec = tmp_path / "a.yaml"
    args = ["init", str(tmp_path / "a.csv"), "--protected", "g", "--positive", "1"]
    assert cli.run_line([*args, "--decision", "d", "-o", str(spec)]) == 0
    assert yaml.safe_load(spec.read_text())["format"] == {
        "separator": ";",
        "decimal": ",",
        "thousands": ".",
        "encoding": "windows-1252",
        "symbols": ["€"],
    }
    assert fairaudit.audit(spec).ledger.counted == 200


def test_thousands_in_counts_side_by_side_have_their_remedy(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_text('g,n,yes\na,"1,403",74\nb,415,54\n')
    decision = {"counts": {"yes": "yes", "total": "n"}, "positive": "yes"}
    columns = {"protected": ["g"], "decision": decision}
    spec = {"version": 1, "columns": columns, "metrics": ["selection_rate"]}
    with pytest.raises(DataError, match="holds no count") as raised:
        fairaudit.audit(spec, path)
    assert raised.value.hint == 'for thousands declare `format: {thousands: ","}`'
    result = fairaudit.audit({**spec, "format": {"thousands": ","}}, path)
    assert result.ledger.people == 1818


def test_init_declares_each_notation_of_dates_and_counts_what_does_not_fit(tmp_path: Path) -> None:
    days = ["13.02.2025", "2/14/2025", "3.4.2025", "03/04/2025"] * 60
    rows = [f"{'mw'[n % 2]};{n % 3 % 2};{day}" for n, day in enumerate(days)]
    spec = tmp_path / "a.yaml"
    args = ["init", str(tmp_path / "a.csv"), "--protected", "g", "--decision", "d"]
    for odd, note in (([], ""), (["m;0;soon", "m;0;2025-01-01"], "2 values do not fit")):
        (tmp_path / "a.csv").write_text("\n".join(["g;d;on", *rows, *odd, ""]))
        assert cli.run_line([*args, "--positive", "1", "-o", str(spec), "--force"]) == 0
        text = spec.read_text()
        assert yaml.safe_load(text)["dates"] == {"on": ["%m/%d/%Y", "%d.%m.%Y"]}
        assert ("do not fit" in text) == bool(odd)
        assert note in text
    # Which number is the day cannot be known of dates of which some begin with it.
    (tmp_path / "a.csv").write_text("\n".join(["g;d;on", *rows, "m;1;14/2/2025", ""]))
    assert cli.run_line([*args, "--positive", "1", "-o", str(spec), "--force"]) == 0
    assert "dates" not in yaml.safe_load(spec.read_text())
