"""The groups as CSV and Parquet: what other programs read in them is what the result says."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
from conftest import SPECS
from report_cases import EACH, sample

import fairaudit
from fairaudit import cli
from fairaudit.base.errors import UsageError
from fairaudit.report import export, format_of, format_of_suffix
from fairaudit.result import Answer, AuditResult
from fairaudit.result.rows import RateRow

Rows = list[dict[str, Any]]
WEIGHTED = """name,race,branch,y,p,w
x,a,n,1,1,1.5
x,a,n,0,1,0.25
x,b,s,1,0,2.0
x,b,n,0,0,0.75
x,b,s,1,1,1.25
x,,s,1,1,1
"""
COLUMNS: dict[str, Any] = {
    "protected": ["race"],
    "label": {"column": "y", "positive": 1},
    "prediction": {"column": "p", "positive": 1},
}


def answered(*results: AuditResult) -> list[Answer]:
    return [Answer(one.provenance.spec_path, None, one) for one in results]


def by_csv(answers: list[Answer]) -> Rows:
    """By the module of the standard library; an empty cell is nothing."""
    page = export.render_csv(answers)
    assert page.encode().startswith(b"\xef\xbb\xbf")
    assert page.endswith("\n")
    lines = io.StringIO(page.removeprefix("\ufeff"), newline="")
    return [
        {name: cell or None for name, cell in row.items()}
        for row in csv.DictReader(lines, strict=True)
    ]


def by_polars(answers: list[Answer]) -> Rows:
    """By Polars, which finds the types of a CSV file by itself."""
    page = export.render_csv(answers).encode()
    return pl.read_csv(page, infer_schema_length=None).to_dicts()


def by_arrow(answers: list[Answer]) -> Rows:
    rows: Rows = pq.read_table(io.BytesIO(export.render_parquet(answers))).to_pylist()
    return rows


def levels(row: dict[str, Any], kind: str) -> dict[str, str]:
    return {
        name.removeprefix(kind): str(value)
        for name, value in row.items()
        if name.startswith(kind) and value is not None
    }


def same(told: Any, number: float | None) -> bool:
    """Whether a cell holds that very number, and nothing where there is no finite one."""
    if number is None or not math.isfinite(number):
        return told is None
    return told is not None and float(told) == number


def assert_told(row: dict[str, Any], rate: RateRow) -> None:
    one = rate.estimate
    assert (row["metric"], row["of"]) == (rate.metric, rate.of)
    assert levels(row, "group.") == dict(rate.group)
    assert levels(row, "given.") == dict(rate.stratum)
    assert row["state"] == str(one.state)
    assert same(row["value"], None if one.suppressed else one.value)
    for name in ("n", "numerator", "denominator"):
        assert same(row[name], getattr(one, name)), name
    assert same(row["low"], one.low)
    assert same(row["high"], one.high)
    assert same(row["difference"], rate.difference)
    assert same(row["ratio"], rate.ratio)
    tested = one.significance
    assert same(row["p"], None if tested is None else tested.p)
    assert same(row["adjusted_p"], None if tested is None else tested.adjusted)
    assert row["standing"] == str(rate.standing)
    assert json.loads(row["parameters"] or "{}") == rate.parameters


@pytest.mark.parametrize("name", EACH)
def test_every_rate_is_read_back_to_the_last_digit(name: str) -> None:
    result = sample(name)
    with_rates = {(one.of, one.by, one.stratum, one.group) for one in result.rates}
    people = {(one.of, one.by, one.stratum, one.group): one for one in result.groups}
    left = [one for key, one in people.items() if key not in with_rates]
    for read in (by_csv, by_polars, by_arrow):
        rows = read(answered(result))
        compared = [row for row in rows if row["compare"] is not None]
        assert len(rows) == len(result.rates) + len(compared) + len(left)
        for row, rate in zip(rows, result.rates, strict=False):
            assert_told(row, rate)
            group = people[rate.of, rate.by, rate.stratum, rate.group]
            assert same(row["people"], group.n)
            assert same(row["share_of_known"], group.share)
        for row, one in zip(compared, result.comparisons, strict=True):
            assert (row["metric"], row["of"]) == (one.metric, one.of)
            assert same(row["value"], one.estimate.known_value)
            assert levels(row, "group.") == dict(one.group or ())
        for row, group in zip(rows[len(rows) - len(left) :], left, strict=True):
            assert (row["metric"], row["value"], row["state"]) == (None, None, None)
            assert levels(row, "group.") == dict(group.group)
            assert same(row["people"], group.n)


def test_infinite_and_undefined_are_never_0_nor_a_number(audit_csv: Callable[..., Any]) -> None:
    text = "race,y,p\na,1,1\na,0,0\nb,1,0\nb,1,0\n"
    result = audit_csv(
        text,
        {"columns": {**COLUMNS, "protected": {"race": {"reference": "b"}}},
         "metrics": ["false_positive_rate", "selection_rate"]},
    )  # fmt: skip
    for read in (by_csv, by_polars, by_arrow):
        rows = {(one["metric"], one["group.race"]): one for one in read(answered(result))}
        nobody = rows["false_positive_rate", "b"]
        assert (nobody["value"], nobody["state"]) == (None, "undefined")
        assert "no people to count" in nobody["reason"]
        half = rows["selection_rate", "a"]
        assert (half["ratio"], half["ratio_state"]) == (None, "infinite")
        assert float(half["difference"]) == 0.5
        everybody = rows["selection_rate", None]
        assert (everybody["difference_state"], everybody["reference"]) == (None, None)


def test_what_is_suppressed_says_so_and_tells_nothing() -> None:
    spec = {
        "data": str(SPECS.parent / "sample_data" / "titanic.csv"),
        "columns": {
            "protected": ["class", "age"],
            "decision": {"column": "fate", "positive": "survived"},
            "count": "n",
        },
        "metrics": "selection_rate",
    }
    open_ = fairaudit.audit(spec)
    hidden = fairaudit.audit({**spec, "suppress_below": 60})
    assert any(one.estimate.suppressed for one in hidden.rates)
    for read in (by_csv, by_polars, by_arrow):
        told = [one for one in read(answered(hidden)) if one["state"] == "suppressed"]
        assert len(told) == sum(one.estimate.suppressed for one in hidden.rates)
        for row in told:
            for name in ("value", "n", "numerator", "denominator", "low", "high", "difference"):
                assert row[name] is None, name
        assert all(one["state"] != "suppressed" for one in read(answered(open_)))


def test_weighted_sums_keep_their_scale(audit_csv: Callable[..., Any]) -> None:
    columns = {**COLUMNS, "weight": "w", "strata": ["branch"]}
    metrics = ["selection_rate", {"metric": "selection_rate", "given": "branch"}]
    result = audit_csv(WEIGHTED, {"columns": columns, "metrics": metrics})
    for read in (by_csv, by_polars, by_arrow):
        rows = [one for one in read(answered(result)) if one["group.race"] == "b"]
        whole = next(one for one in rows if one["given.branch"] is None)
        assert int(whole["numerator"]) / int(whole["scale"]) == 1.25
        assert int(whole["denominator"]) / int(whole["scale"]) == 4.0
        assert int(whole["n"]) == 3
        south = next(one for one in rows if one["given.branch"] == "s")
        assert float(south["value"]) == 1.25 / 3.25


def test_names_of_attributes_meet_no_column_of_ours(audit_csv: Callable[..., Any]) -> None:
    text = "n,metric,p\na,x,1\na,y,0\nb,x,1\nb,y,1\n"
    columns = {"protected": ["n"], "decision": COLUMNS["prediction"], "strata": ["metric"]}
    metrics = [{"metric": "selection_rate", "given": "metric"}]
    result = audit_csv(text, {"columns": columns, "metrics": metrics})
    for read in (by_csv, by_polars, by_arrow):
        (row,) = [
            one
            for one in read(answered(result))
            if (one["group.n"], one["given.metric"]) == ("a", "y") and one["metric"]
        ]
        assert (row["metric"], int(row["n"])) == ("selection_rate", 1)


HOSTILE = {
    "=1+1": "'=1+1",
    "+cmd|' /C calc'!A0": "'+cmd|' /C calc'!A0",
    "-2+3": "'-2+3",
    "@SUM(A1)": "'@SUM(A1)",
    "  =1": "'  =1",
    '"=1': "'\"=1",
    "'=1": "''=1",
    "＝1+1": "'＝1+1",
    "\u200b＠x": "\\u200b＠x",
    "a;=1": "a;'=1",
    "-5": "-5",
    "+0.5": "+0.5",
    "a, b": "a, b",
    'say "x"': 'say "x"',
    "O'Hara-Smith": "O'Hara-Smith",
    "bell\x07\x1b[31m": "bell\\x07\\x1b[31m",
    "zero\x00": "zero\\x00",
    "a\nb": "a\\nb",
    "a\\nb": "a\\\\nb",
    "a\rb": "a\\rb",
    "a\n=b": "a\\n=b",
    "\tx": "\\tx",
    "\rx": "\\rx",
    "C:\\data": "C:\\data",
    "ａ×б": "ａ×б",
    "<b>&": "<b>&",
}


def test_no_level_is_a_formula_and_parquet_keeps_it_as_it_is() -> None:
    frame = pl.DataFrame({"race": [*HOSTILE] * 2, "p": [1] * len(HOSTILE) + [0] * len(HOSTILE)})
    columns = {"protected": {"race": {"trim": False}}, "decision": COLUMNS["prediction"]}
    spec = {"title": "=HYPERLINK(0)", "columns": columns, "metrics": "selection_rate"}
    answers = answered(fairaudit.audit(spec, frame))
    kept = {one["group.race"] for one in by_arrow(answers)}
    assert kept - {None} == set(HOSTILE)
    told = by_csv(answers)
    assert {one["group.race"] for one in told} - {None} == set(HOSTILE.values())
    assert {one["title"] for one in told} == {"'=HYPERLINK(0)"}
    assert len({export.safe(one) for one in HOSTILE}) == len(HOSTILE)
    # A number of ours is no text, and a negative one stays what it is.
    numbers = {"difference", "low", "value", "share_of_known"}
    assert all(not str(one[name]).startswith("'") for one in told for name in numbers)
    read = pl.read_csv(export.render_csv(answers).encode(), infer_schema_length=None)
    assert set(read["group.race"].drop_nulls()) == set(HOSTILE.values())


def test_several_answers_are_one_table_and_an_error_has_no_row(
    audit_csv: Callable[..., Any], tmp_path: Path
) -> None:
    first = audit_csv(WEIGHTED, {"columns": COLUMNS, "metrics": "selection_rate"})
    second = sample("titanic")
    error = Answer("spec.yaml", "bad.csv", UsageError("no"))
    answers = [Answer("spec.yaml", "good.csv", first), error, *answered(second)]
    for read in (by_csv, by_polars, by_arrow):
        rows = read(answers)
        alone = [*read([answers[0]]), *read([answers[2]])]
        assert len(rows) == len(alone)
        for row, one in zip(rows, alone, strict=True):
            assert {name: value for name, value in row.items() if value not in {None, ""}} == {
                name: value for name, value in one.items() if value not in {None, ""}
            }
        assert {one["data"] for one in rows} >= {"good.csv"}
        assert read([error]) == []
    nothing = pq.read_table(io.BytesIO(export.render_parquet([error])))
    assert nothing.schema.field("value").type == "double"
    (tmp_path / "x.csv").write_bytes(export.render_csv([error]).encode())
    assert (tmp_path / "x.csv").read_text("utf-8-sig").startswith("group,metric,value,low,high,p,")


def test_a_column_of_nothing_keeps_its_type(audit_csv: Callable[..., Any]) -> None:
    result = audit_csv("race,y,p\na,1,1\nb,1,1\n", {"columns": COLUMNS, "metrics": "fpr"})
    found = pq.read_table(io.BytesIO(export.render_parquet(answered(result))))
    assert found["value"].null_count == len(found)
    types = {name: str(found.schema.field(name).type) for name in ("value", "ratio", "n", "reason")}
    assert types == {"value": "double", "ratio": "double", "n": "int64", "reason": "string"}


@pytest.mark.long
def test_equal_results_are_equal_bytes() -> None:
    twice = [answered(fairaudit.audit(SPECS / "loans_score.yaml")) for _ in range(2)]
    assert export.render_parquet(twice[0]) == export.render_parquet(twice[1])
    assert export.render_csv(twice[0]) == export.render_csv(twice[1])


def test_the_command_writes_both_and_prints_what_a_stream_can_spell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert format_of_suffix(".CSV") is format_of("csv")
    outputs = [part for name in ("x.csv", "x.parquet") for part in ("-o", str(tmp_path / name))]
    line = ["run", str(SPECS / "titanic.yaml"), "--format", "csv", *outputs]
    code = cli.run_line(line)
    page = (tmp_path / "x.csv").read_bytes().decode()
    assert capsys.readouterr().out == page
    assert code == fairaudit.audit(SPECS / "titanic.yaml").exit_code
    assert len(pl.read_parquet(tmp_path / "x.parquet")) == len(page.splitlines()) - 1
    plain = export.encode_csv_for(page, "ascii")
    assert plain.startswith("group,")
    assert "\\xd7" in plain
