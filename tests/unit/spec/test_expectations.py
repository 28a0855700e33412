"""What the data must hold to be audited, and what comes from the environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fairaudit
from fairaudit.base.errors import DataError, SpecError

TEXT = "sex,town,y\n" + "f,A,1\nm,B,0\n" * 4 + "f,A,0\nm,B,1\n"
SPEC = """\
title: Hiring, ${env.AUDIT_MONTH}
data: ${env.AUDIT_MONTH}.csv
columns: {protected: [sex], decision: {column: y, positive: 1}, strata: [town]}
metrics: selection_rate
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AUDIT_MONTH", "may")
    (tmp_path / "may.csv").write_text(TEXT)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path / "spec.yaml"


def _expect(spec: Path, expected: str) -> Any:
    spec.write_text(f"{SPEC}expect: {expected}\n")
    return fairaudit.audit(spec)


@pytest.mark.parametrize(
    "expected",
    [
        "{rows: {at_least: 10}}",
        "{rows: {at_least: 1, at_most: 10}}",
        "{levels: {sex: [m, f], town: B}}",
    ],
)
def test_data_as_expected_is_audited(spec: Path, expected: str) -> None:
    assert _expect(spec, expected).ledger.counted == 10


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("{rows: {at_least: 11}}", "10 rows are counted, and the spec expects at least 11"),
        ("{rows: {at_most: 9}}", "10 rows are counted, and the spec expects at most 9"),
    ],
)
def test_too_few_or_too_many_rows_are_an_error(spec: Path, expected: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _expect(spec, expected)


def test_where_small_counts_are_hidden_the_rows_are_not_counted(spec: Path) -> None:
    with pytest.raises(DataError, match=r"^the spec expects at least 11 rows\n"):
        _expect(spec, "{rows: {at_least: 11}}\nsuppress_below: 11")


def test_rows_that_the_filter_removes_are_not_there(spec: Path) -> None:
    spec.write_text(f"{SPEC}filter: sex = 'm'\nexpect: {{rows: {{at_least: 6}}}}\n")
    with pytest.raises(DataError, match="5 rows are counted"):
        fairaudit.audit(spec)
    spec.write_text(f"{SPEC}filter: sex = 'm'\nexpect: {{levels: {{sex: [f]}}}}\n")
    with pytest.raises(SpecError, match="no row has the sex 'f'; available: 'm'"):
        fairaudit.audit(spec)


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("{levels: {sex: [m, d]}}", "expect.levels.sex[1]: no row has the sex 'd'"),
        ("{levels: {sexx: m}}", "no protected column or stratum 'sexx'; did you mean 'sex'?"),
        ("{rows: {at_least: 3, at_most: 2}}", "`at_least` is above `at_most`"),
        ("{rows: 12}", "use `{at_least: 500}`"),
        ("{rows: {atleast: 12}}", "did you mean 'at_least'?"),
    ],
)
def test_a_level_nobody_has_and_what_no_data_can_hold_are_faults(
    spec: Path, expected: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        _expect(spec, expected)
    assert message in str(caught.value)
    assert all(fault.place and fault.place.line == 5 for fault in caught.value.faults)


def test_the_environment_fills_in_data_and_title(spec: Path) -> None:
    assert fairaudit.audit(spec).provenance.title == "Hiring, may"


@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_or_empty_is_a_fault_where_it_stands(
    spec: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("AUDIT_MONTH")
    if value is not None:
        monkeypatch.setenv("AUDIT_MONTH", value)
    with pytest.raises(SpecError) as caught:
        fairaudit.audit(spec)
    told = [(str(fault.place), fault.message) for fault in caught.value.faults]
    message = "the environment variable AUDIT_MONTH is not set, or is empty"
    assert told == [(f"{spec}:1:8", message), (f"{spec}:2:7", message)]


def test_a_variable_as_a_shell_writes_it_is_a_fault_that_says_how(spec: Path) -> None:
    spec.write_text(SPEC.replace("${env.AUDIT_MONTH}.csv", "${AUDIT_MONTH}.csv"))
    with pytest.raises(SpecError, match=r"AUDIT_MONTH as `\$\{env\.AUDIT_MONTH\}"):
        fairaudit.audit(spec)


def test_what_the_environment_fills_in_is_no_column_and_no_level(
    spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMN", "sex")
    spec.write_text(SPEC.replace("[sex]", '["${env.COLUMN}"]'))
    with pytest.raises(SpecError, match=r"no column .*env\.COLUMN"):
        fairaudit.audit(spec)


def test_a_row_of_totals_is_told() -> None:
    rows = {"sex": ["F", "M", "Total"], "n": [4, 5, 9], "of": [10, 10, 21]}
    columns = {"protected": ["sex"], "decision": {"counts": {"selected": "n", "total": "of"}}}
    spec = {"columns": columns, "metrics": ["selection_rate"]}
    words = "sex: 'Total' counts as a group like any other"
    assert any(words in str(notice) for notice in fairaudit.audit(spec, rows).notices)
    filtered = fairaudit.audit({**spec, "filter": "sex != 'Total'"}, rows)
    assert not any(words in str(notice) for notice in filtered.notices)
