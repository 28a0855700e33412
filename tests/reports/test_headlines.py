"""The sentence of a finding: who is how far from whom, and never on the wrong side of a limit."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
import yaml

from fairaudit import audit
from fairaudit.report import numbers
from fairaudit.report.diagnostics import Level, audit_headline, diagnose
from fairaudit.result import AuditResult

SPECS = "audit_specs"


def spec_of(limit: str, metric: str = "demographic_parity_ratio") -> dict[str, object]:
    return {
        "version": 1,
        "columns": {
            "protected": {"group": {}},
            "prediction": {"column": "chosen", "positive": "y"},
        },
        "metrics": [{"metric": metric, "fail": limit}],
    }


def rows_of(selected: int, of: int, others: int, of_others: int) -> pl.DataFrame:
    """Two groups, so many selected of each."""
    groups = ["low"] * of + ["high"] * of_others
    chosen = ["y"] * selected + ["n"] * (of - selected)
    chosen += ["y"] * others + ["n"] * (of_others - others)
    return pl.DataFrame({"group": groups, "chosen": chosen})


@pytest.fixture(scope="module")
def loans() -> AuditResult:
    return audit(f"{SPECS}/loans.yaml")


def test_headline_of_a_ratio_names_both_groups(loans: AuditResult) -> None:
    worst = diagnose(loans)[0]
    assert worst.level is Level.ERROR
    assert worst.headline == "female × Black is selected at 62 % of male × Black's rate"
    assert worst.value == "0.616"
    assert worst.source is not None
    assert worst.source.limit == "below: 0.8"
    assert worst.place == "audit_specs/loans.yaml:28:77"
    assert worst.picture is not None
    assert {row.label for row in worst.picture.rows if row.strong} == {
        "female × Black",
        "male × Black",
    }


def test_most_urgent_is_first(loans: AuditResult) -> None:
    levels = [[*Level].index(diagnostic.level) for diagnostic in diagnose(loans)]
    assert levels == sorted(levels)
    head = audit_headline(loans)
    assert (head.verdict.text, head.rows) == ("FAIL", "20,000 of 20,000 rows")
    assert head.counts == "10 checks: 1 failed, 3 warned, 6 passed"


@pytest.mark.parametrize(
    ("counts", "limit", "words"),
    [
        # 0.7999 rounds to 80 %, which is not below it.
        ((7999, 20000, 10000, 20000), "< 0.8", "79.99 %"),
        ((8000, 20000, 10000, 20000), "< 0.8", "80 %"),
        # Nearly equal is not equal.
        ((9990, 20000, 10000, 20000), "< 0.8", "99.9 %"),
    ],
)
def test_ratio_in_per_cent_lies_where_the_verdict_says(
    counts: tuple[int, int, int, int], limit: str, words: str
) -> None:
    result = audit(spec_of(limit), data=rows_of(*counts))
    headline = diagnose(result)[0].headline
    assert headline == f"low is selected at {words} of high's rate"


def test_difference_in_points_lies_where_the_verdict_says() -> None:
    spec = spec_of("> 0.1", "demographic_parity_difference")
    result = audit(spec, data=rows_of(7998, 20000, 10000, 20000))
    assert diagnose(result)[0].headline == "high is selected 10.01 points more often than low"


def test_names_of_groups_are_escaped() -> None:
    data = rows_of(1, 10, 9, 10).with_columns(pl.col("group").replace({"low": "a\nb", "high": "7"}))
    headline = diagnose(audit(spec_of("< 0.8"), data=data))[0].headline
    assert "\n" not in headline
    assert r"'a\nb'" in headline
    assert "group=7" in headline


def test_a_number_beside_a_bound_keeps_its_side() -> None:
    bounds = [Decimal("0.8"), Decimal(1)]
    assert numbers.number_beside(0.79996, bounds, digits=0, scale=100) == "79.996"
    assert numbers.number_beside(0.6158, bounds, digits=0, scale=100) == "62"


def test_a_reversal_whose_numbers_are_hidden_is_not_denied() -> None:
    spec = yaml.safe_load(Path(f"{SPECS}/loans.yaml").read_text("utf-8"))
    spec |= {"data": "sample_data/loans.csv", "suppress_below": 150}
    rows = diagnose(audit(spec))
    warned = [row for row in rows if row.code == "simpson_reversal"]
    assert [row.level for row in warned] == [Level.WARN, Level.WARN]
    for row in warned:
        assert "is reversed by strata: its numbers are suppressed" in row.headline
        assert "no gap" not in row.headline
