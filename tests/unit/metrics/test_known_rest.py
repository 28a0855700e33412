"""The rest, and everybody, as a reference: people of unknown group are part of neither."""

from __future__ import annotations

from typing import Any

import pytest

import fairaudit

NEGATIVES = [("1", 1, 30), ("1", 0, 70), ("0", 1, 10), ("0", 0, 90), ("", 1, 50), ("", 0, 50)]
"""Group, prediction and people; of the known 30 of 100 and 10 of 100 are selected, 50 unknown."""


def value_of(entry: dict[str, Any], *, missing: str = "show", **columns: Any) -> float:
    rows = {
        "s": [group for group, _, _ in NEGATIVES],
        "y": [0 for _ in NEGATIVES],
        "p": [prediction for _, prediction, _ in NEGATIVES],
        "n": [people for _, _, people in NEGATIVES],
    }
    spec = {
        "columns": {
            "protected": ["s"],
            "label": {"column": "y", "positive": "1", "negative": "0"},
            "prediction": {"column": "p", "positive": "1"},
            "count": "n",
            **columns,
        },
        "missing": {"protected": missing},
        "metrics": [entry],
    }
    result = fairaudit.audit(spec, rows)
    (row,) = (row for row in result.comparisons if row.group == (("s", "1"),))
    return row.estimate.value


@pytest.mark.parametrize("missing", ["show", "aside"])
@pytest.mark.parametrize(
    ("metric", "reference", "value"),
    [
        ("false_positive_rate_ratio", "rest", 0.3 / 0.1),
        ("false_positive_rate_ratio", "overall", 0.3 / 0.2),
        ("statistical_parity_difference", "rest", 0.3 - 0.1),
        ("statistical_parity_difference", "overall", 0.3 - 0.2),
        ("disparate_impact_ratio", "rest", 0.3 / 0.1),
        ("elift", None, 0.3 / 0.2),
        ("mean_difference", "rest", 0.1 - 0.3),  # the rest less the group
    ],
)
def test_people_of_unknown_group_are_in_no_rest(
    metric: str, reference: str | None, value: float, missing: str
) -> None:
    entry: dict[str, Any] = {"metric": metric}
    if reference is not None:
        entry["reference"] = reference
    assert value_of(entry, missing=missing) == pytest.approx(value, rel=1e-12)


def test_a_gate_against_the_rest_fails_on_the_gap_of_known_groups() -> None:
    """With people of unknown group in the rest both rates were 30 %, and the gate passed."""
    spec = {
        "columns": {
            "protected": ["s"],
            "prediction": {"column": "p", "positive": "1", "favourable": False},
            "count": "n",
        },
        "metrics": [
            {"metric": "disparate_impact_ratio", "reference": "rest", "fail": {"above": 1.25}}
        ],
    }
    rows = {
        "s": [group for group, _, _ in NEGATIVES],
        "p": [prediction for _, prediction, _ in NEGATIVES],
        "n": [people for _, _, people in NEGATIVES],
    }
    (finding,) = fairaudit.audit(spec, rows).findings
    assert finding.status == "fail"
    bounds = finding.missing
    assert bounds is not None
    assert bounds.low is not None
    assert bounds.high is not None
    assert bounds.low <= 3 <= bounds.high
