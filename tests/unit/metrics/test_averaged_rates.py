"""Rates averaged over other columns are other rates: every format says over which."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from evidence_specs import YES

import fairaudit
from fairaudit import AuditResult, codec
from fairaudit.report import export, format_of
from fairaudit.report import json as report_json
from fairaudit.result import Answer
from fairaudit.tools.compare import compare

People = dict[tuple[str, str, str], tuple[int, int]]
PEOPLE: People = {
    ("a", "d1", "e1"): (30, 40), ("a", "d1", "e2"): (5, 60), ("a", "d2", "e1"): (12, 15),
    ("a", "d2", "e2"): (50, 70), ("b", "d1", "e1"): (10, 50), ("b", "d1", "e2"): (33, 36),
    ("b", "d2", "e1"): (20, 90), ("b", "d2", "e2"): (9, 30),
}  # fmt: skip
"""Selected, and all, by group, d and e."""


def audited(people: People = PEOPLE, **more: Any) -> AuditResult:
    rows = [(*key, p, n) for key, (x, m) in people.items() for p, n in ((1, x), (0, m - x))]
    frame = pl.DataFrame(rows, ["g", "d", "e", "p", "n"], orient="row")
    metrics = [{"metric": "selection_rate", "given": z, "average": "pooled"} for z in "de"]
    columns = {"protected": ["g"], "strata": ["d", "e"], "count": "n",
               "prediction": {"column": "p", **YES}}  # fmt: skip
    return fairaudit.audit({"columns": columns, "metrics": metrics, **more}, frame)


def averages(people: People, at: int) -> dict[str, float]:
    """Σ over strata of the share of all people there times the group's rate there."""
    total = sum(m for _, m in people.values())
    found = {}
    for group in "ab":
        value = Fraction(0)
        for stratum in sorted({key[at] for key in people}):
            own = [one for key, one in people.items() if key[at] == stratum and key[0] == group]
            there = sum(one[1] for key, one in people.items() if key[at] == stratum)
            value += Fraction(there, total) * Fraction(
                *(sum(side) for side in zip(*own, strict=True))
            )
        found[group] = float(value)
    return found


SHORT = False
"""Not all rows."""
EXPECTED = {"d": averages(PEOPLE, 1), "e": averages(PEOPLE, 2)}


def unlike(rows: Iterable[object]) -> bool:
    """Whether no two rows are of the same name."""
    named = [json.dumps(row, sort_keys=True) for row in rows]
    return len({*named}) == len(named)


def test_a_row_says_over_which_strata_it_was_averaged() -> None:
    assert EXPECTED["d"] != EXPECTED["e"]
    found: dict[str, dict[str, float]] = {"d": {}, "e": {}}
    for row in audited().rates:
        (over,) = row.averaged
        if row.group:
            found[over][row.group[0][1]] = row.estimate.value
    assert found == {name: pytest.approx(values) for name, values in EXPECTED.items()}


def test_json_tells_them_apart_and_reads_them_back() -> None:
    text = report_json.render(audited())
    tree = json.loads(text)
    names = ("metric", "of", "by", "given", "group", "parameters", "averaged_over")
    assert unlike([row[name] for name in names] for row in tree["rates"])
    assert {tuple(row["averaged_over"]) for row in tree["rates"]} == {("d",), ("e",)}
    assert report_json.render(codec.read_result(codec.parse(text))) == text


@pytest.mark.long
def test_tables_of_rows_tell_them_apart() -> None:
    answer = Answer("spec", None, audited())
    exported = export.groups([answer])
    named = [dict(zip(exported.names, row, strict=True)) for row in exported.rows]
    names = ("metric", "of", "by", "given", "group", "parameters", "averaged_over")
    rows = [tuple(row[name] for name in names) for row in named]
    rates = [row for row in rows if row[0] is not None]
    assert {row[-1] for row in rates} == {"d", "e"}
    assert unlike(rates)
    assert "averaged_over" in export.render_csv([answer]).splitlines()[0]
    frame = audited().table("g")
    for over in "de":
        column = next(name for name in frame.columns if name.endswith(f" over {over}"))
        values = dict(zip(frame["g"], frame[column], strict=True))
        assert values == pytest.approx(EXPECTED[over])


@pytest.mark.long
@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_a_report_has_a_table_for_each(form: str) -> None:
    answer = Answer("spec", None, audited())
    found = format_of(form)
    assert found is not None
    text = str(found.render([answer], all_rows=SHORT))
    for over in "de":
        assert re.search(rf"averaged,\s+pooled;\s+over\s+{over}\b", text)


def test_two_results_are_compared_average_by_average() -> None:
    other = {key: (max(x - 3, 0), m) for key, (x, m) in PEOPLE.items()}
    later = {"d": averages(other, 1), "e": averages(other, 2)}
    changes = [one for one in compare(audited(), audited(other)).rates if one.group]
    assert len(changes) == 4
    for one in changes:
        (over,), group = one.averaged, one.group[0][1]
        values = one.change.before.value, one.change.after.value
        assert values == pytest.approx((EXPECTED[over][group], later[over][group]))


def test_a_published_report_tells_them_apart_too() -> None:
    result = audited(suppress_below=5)
    assert {row.averaged for row in result.rates} == {("d",), ("e",)}


@pytest.mark.parametrize("amount", ["weight", "count"])
@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        # Of m in B tp 80, fn 20, fp 20, tn 80; all others 50 each; B weighs nine times as much.
        ("balanced_accuracy", 0.1 * 0.5 + 0.9 * 0.8),
        # The weights are the people in the formula: tp, fp and fn; 9 · 120 and 9 · 150 in B.
        ("f1", (300 * 0.5 + 9 * 270 * 0.8) / (300 + 9 * 270)),
    ],
)
def test_strata_weigh_by_their_weights(amount: str, metric: str, expected: float) -> None:
    tables = {
        ("m", "A"): (50,) * 4,
        ("m", "B"): (80, 20, 20, 80),
        ("f", "A"): (50,) * 4,
        ("f", "B"): (50,) * 4,
    }
    rows = [
        (sex, y, p, dept, 9 if dept == "B" else 1)
        for (sex, dept), cells in tables.items()
        for (y, p), n in zip(((1, 1), (1, 0), (0, 1), (0, 0)), cells, strict=True)
        for _ in range(n)
    ]
    data = pl.DataFrame(rows, schema=["sex", "y", "p", "dept", "w"], orient="row")
    columns = {
        "protected": {"sex": {"reference": "m"}},
        "label": "y",
        "prediction": "p",
        "strata": ["dept"],
        amount: "w",
    }
    entry = {"metric": metric, "compare": "difference", "given": "dept", "average": "pooled"}
    result = fairaudit.audit({"columns": columns, "metrics": [entry]}, data)
    (row,) = result.comparisons
    assert row.estimate.value == pytest.approx(0.5 - expected)
