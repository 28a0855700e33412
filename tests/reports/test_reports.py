"""The reports: expected texts, the published schema, digits that agree with the verdict."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from conftest import SPECS, long
from report_cases import EACH, GOLDEN, GOLDENS, sample, stable
from schemas import validate

import fairaudit
from fairaudit.base.errors import UsageError
from fairaudit.report import content, numbers, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult
from fairaudit.tools.compare import document_schema


@pytest.mark.long
@pytest.mark.parametrize(
    ("columns", "name"), [(width, one) for width in (80, 200) for one in GOLDEN[f"{width}.txt"]]
)
def test_terminal_reports(
    name: str,
    columns: int,
    golden: Callable[[Path, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = sample(name)
    stream = io.StringIO()
    terminal.print_document(content.document(result), stream)
    text = "\n".join(line.rstrip() for line in stream.getvalue().splitlines()) + "\n"
    golden(GOLDENS / f"{name}.{columns}.txt", stable(text, result))


@pytest.mark.long
@pytest.mark.parametrize("name", EACH)
def test_json_reports(name: str, golden: Callable[[Path, str], None]) -> None:
    result = sample(name)
    document = json.loads(report_json.render(result))
    validate(document)
    for file in document["provenance"]["files"]:
        file["modified"] = "MODIFIED"
    if name in GOLDEN["json"]:
        text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
        golden(GOLDENS / f"{name}.json", stable(text, result))


@pytest.mark.parametrize("name", ["fairlearn_page", *map(long, ("loans", "loans_score"))])
def test_reports_are_the_same_by_every_route(name: str) -> None:
    with contextlib.chdir(SPECS.parent):
        by_default = report_json.document(fairaudit.audit(f"audit_specs/{name}.yaml"))
    lazily = report_json.document(sample(name))
    for report in (by_default, lazily):
        del report["provenance"]["route"], report["provenance"]["created"]
    assert by_default == lazily


@pytest.mark.long
def test_the_schema_is_one_and_refuses_what_is_not_in_it() -> None:
    jsonschema.Draft202012Validator.check_schema(document_schema("result"))
    document = report_json.document(fairaudit.audit(SPECS / "titanic.yaml"))
    document["checks"][0]["extra"] = 1
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def test_infinite_and_undefined_are_null_with_a_state() -> None:
    document = report_json.document(fairaudit.audit(SPECS / "titanic.yaml"))
    (check,) = [one for one in document["checks"] if one["status"] == "fail"]
    assert (check["state"], check["value"]) == ("infinite", None)
    assert check["decided_by"] == "died"
    assert "NaN" not in json.dumps(document)


@pytest.mark.parametrize(
    ("value", "bound", "text"),
    [
        (0.7954, Decimal("0.8"), "0.7954"),
        (0.79996, Decimal("0.8"), "0.79996"),
        (0.8, Decimal("0.8"), "0.8000"),
        (0.79999999, Decimal("0.8"), "0.79999999"),
        (float("inf"), Decimal(5), "∞"),
    ],
)
def test_digits_agree_with_the_verdict(value: float, bound: Decimal, text: str) -> None:
    assert numbers.number_beside(value, [bound]) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.7434, "74.3 %"),
        (0, "0.0 %"),
        (1, "100.0 %"),
        (0.0002, "0.02 %"),
        (float("nan"), "undefined"),
    ],
)
def test_percent(value: float, text: str) -> None:
    assert numbers.percent(value) == text


def test_a_ratio_of_small_rates_shows_the_difference_beside() -> None:
    metric = {"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}
    rows: dict[str, Any] = {"group": ["a", "a", "b", "b"], "y": [1, 0, 1, 0], "n": [1, 99, 2, 98]}
    result = _frame_audit(rows, metric)
    assert "consider the difference: +1.0 points" in _text(result)
    rows["n"] = [20, 80, 40, 60]
    assert "consider the difference" not in _text(_frame_audit(rows, metric))


def test_long_tables_are_cut_with_a_word_and_verbose_shows_all() -> None:
    rows = {"group": [f"g{i:02}" for i in range(20)] * 2, "y": [1] * 20 + [0] * 20, "n": [5] * 40}
    result = _frame_audit(rows, {"metric": "selection_rate"})
    assert "and 8 more groups" in _text(result)
    assert "g19" in terminal.render(content.document(result, all_rows=True))


def test_tables_as_frames() -> None:
    result = fairaudit.audit(SPECS / "kidney_admissions.yaml")
    frame = result.table(["race", "gender"])
    assert frame.shape == (4, 5)
    assert frame["n"].sum() == 700
    with pytest.raises(UsageError, match="gender × race"):
        result.table(["age"])


def test_a_column_of_a_frame_is_never_two_things() -> None:
    """An attribute called `n`, a rate at several thresholds, the same rate of two models."""
    rows = {
        "n": ["a", "b"] * 30,
        "y": [1, 0] * 30,
        "low": [0.1, 0.9, 0.5] * 20,
        "high": [0.9, 0.95, 0.8] * 20,
    }
    columns = {"protected": ["n"], "label": {"column": "y", "positive": 1}}
    models = {name: {"score": name} for name in ("low", "high")}
    metrics = [{"metric": "selection_rate", "of": "low", "at": [0.3, 0.7]}]
    metrics += [{"metric": "selection_rate", "of": "high", "at": [0.3]}]
    spec = {"columns": {**columns, "models": models}, "metrics": metrics}
    frame = fairaudit.audit(spec, pl.DataFrame(rows)).table("n").sort("group.n")
    assert frame["group.n"].to_list() == ["a", "b"]
    assert frame["n"].to_list() == [30, 30]
    told = {name: frame[name].to_list() for name in frame.columns if name.startswith("selection")}
    assert told == {
        "selection_rate of low at=0.3": [2 / 3, 2 / 3],
        "selection_rate of low at=0.7": [1 / 3, 1 / 3],
        "selection_rate of high at=0.3": [1.0, 1.0],
    }


def _frame_audit(rows: dict[str, Any], metric: dict[str, Any]) -> AuditResult:
    spec = {
        "columns": {
            "protected": ["group"],
            "decision": {"column": "y", "positive": 1},
            "count": "n",
        },
        "metrics": [metric],
    }
    return fairaudit.audit(spec, pl.DataFrame(rows))


def _text(result: AuditResult) -> str:
    """The report with its lines joined, so that no expectation hangs on where they break."""
    return " ".join(terminal.render(content.document(result)).split())


@pytest.mark.parametrize(
    ("exact", "bound", "text"),
    [
        (Fraction(7999999999999, 10**13), Decimal("0.8"), "0.7999999999999"),
        (Fraction(40001, 10**9), Decimal("0.00004"), "0.000040001"),
        (Fraction(4, 5), Decimal("0.8"), "0.8000"),
    ],
)
def test_digits_agree_with_the_verdict_however_close(
    exact: Fraction, bound: Decimal, text: str
) -> None:
    assert numbers.number_beside(float(exact), [bound], exact) == text


def test_two_outcomes_have_two_columns_in_the_lattice_and_two_titles() -> None:
    metrics = [
        {"metric": "selection_rate", "of": of, "fail": {"below": 0.1}}
        for of in ("label", "prediction")
    ]
    spec = {
        "columns": {
            "protected": ["group"],
            "label": {"column": "label", "positive": 1},
            "prediction": {"column": "prediction", "positive": 1},
        },
        "metrics": [
            *metrics,
            *({"metric": "differential_fairness", "of": m["of"]} for m in metrics),
        ],
    }
    result = fairaudit.audit(spec, SPECS.parent / "sample_data" / "fairlearn_page.csv")
    titles = [entry.title for entry in result.lattice[0].entries]
    assert len(set(titles)) == 4
    text = _text(result)
    for of, rate in (("label", "Base rate"), ("prediction", "Selection rate")):
        assert f"ε of {of}" in text
        assert f"{rate} of the {of}, by group" in text, "nobody is selected by a label"
