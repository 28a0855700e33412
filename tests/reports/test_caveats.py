"""What the measures presume is told where it applies, and nowhere else."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from conftest import ROOT

import fairaudit
from fairaudit.report import content
from fairaudit.report.blocks import Entries
from fairaudit.result import AuditResult

COLUMNS: dict[str, Any] = {
    "protected": ["g"],
    "count": "n",
    "label": {"column": "y", "positive": "1", "negative": "0"},
    "prediction": {"column": "p", "positive": "1", "negative": "0"},
}


def audit(positives: int, of: int = 1000, metrics: Any = "accuracy", **more: Any) -> AuditResult:
    """Two equal groups with so many positives, each predicted by chance."""
    counts = [(g, y, p, (positives if y else of - positives) // 2)
              for g in "ab" for y in (1, 0) for p in (1, 0)]  # fmt: skip
    people = pl.DataFrame(counts, ["g", "y", "p", "n"], orient="row")
    return fairaudit.audit({"columns": COLUMNS, "metrics": metrics, **more}, people)


def remarks(result: AuditResult) -> dict[str, str]:
    rows = [block.rows for block in content.presumed(result) if isinstance(block, Entries)]
    return {cell.text: text for cell, text in (rows[0] if rows else [])}


@pytest.mark.parametrize("word", content.REMARKS)
def test_each_remark_has_its_section_in_the_documents(word: str) -> None:
    text = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    assert f"\n## {word.capitalize()}\n" in text


@pytest.mark.parametrize(
    ("positives", "told"),
    [
        (48, "4.8 % of everybody is positive by the label"),
        (50, None),
        (500, None),
        (950, None),
        (960, "4.0 % of everybody is not positive by the label"),
        (0, None),
    ],
)
@pytest.mark.parametrize("metric", ["base_rate", "equalized_odds_difference"])
def test_imbalance_is_told_below_one_in_twenty(
    positives: int, told: str | None, metric: str
) -> None:
    """By the base rate, or by the denominators of the error rates."""
    text = remarks(audit(positives, metrics=metric)).get("class imbalance")
    assert (text is None) if told is None else (text is not None and text.startswith(told))


def test_imbalance_of_decisions_is_told_of_each_model() -> None:
    decision = {"column": "y", "positive": "1", "negative": "0"}
    columns = {"protected": ["g"], "count": "n", "decision": decision}
    people = pl.DataFrame({"g": ["a", "b"] * 2, "y": [1, 1, 0, 0], "n": [9, 12, 500, 400]})
    result = fairaudit.audit({"columns": columns, "metrics": "selection_rate"}, people)
    assert remarks(result)["class imbalance"].startswith("2.3 % of everybody is selected by")
    assert "decisions does not consider who" in remarks(result)["construct validity"]


def test_a_hidden_rate_tells_no_imbalance() -> None:
    open_one = audit(4, metrics="base_rate")
    hidden = audit(4, metrics="base_rate", suppress_below="11")
    assert "class imbalance" in remarks(open_one)
    assert "class imbalance" not in remarks(hidden)


def test_what_measures_presume_follows_from_the_measures() -> None:
    assert (
        "these decisions. No number here can show whether the label measures what it"
        in remarks(audit(500))["construct validity"]
    )
    assert "quality of service" in remarks(audit(500))["kinds of harm"]
    assert (
        "quality of service" not in remarks(audit(500, metrics="selection_rate"))["kinds of harm"]
    )
    assert "multiplicity" not in remarks(audit(500))
    many = ["fairmlhealth", "survey", "demographic_parity_ratio", "equalized_odds_ratio",
            "impact_ratio", "treatment_equality", "predictive_parity"]  # fmt: skip
    assert remarks(audit(500, metrics=many))["multiplicity"][:2].isdigit()
