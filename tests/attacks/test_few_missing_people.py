"""Few missing people: measures without a formula for bounds, on every way to complete the rows.

The oracle completes rows in plain Python and runs the audit again on the complete rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding, Status

_Person: TypeAlias = tuple[str | None, str, int | None, int | None]
"""Group, stratum, label, decision; None is unknown."""

_METRICS: list[dict[str, Any]] = [
    {"metric": "selection_rate", "compare": "difference", "given": "m", "average": "pooled"},
    {"metric": "selection_rate", "compare": "ratio", "given": "m", "average": "uniform"},
    {"metric": "selection_rate", "compare": "gap", "given": "m", "average": "pooled"},
    {"metric": "mantel_haenszel_odds_ratio", "given": "m"},
    {"metric": "unexplained_difference", "given": "m"},
    {"metric": "regression_slope", "controls": ["m"]},
    {"metric": "conditional_demographic_disparity", "given": "m"},
    {"metric": "conditional_equal_opportunity_gap", "given": "m"},
    {"metric": "statistical_parity_difference", "aggregate": "mean"},
    {"metric": "true_positive_rate_difference", "aggregate": "mean"},
    {"metric": "kl_divergence"},
    {"metric": "correlation"},
    {"metric": "normalized_difference"},
    {"metric": "selected_share", "compare": "difference"},
]


def _cells(*cells: tuple[str, str, int, int, int]) -> list[_Person]:
    return [(g, m, y, d) for g, m, y, d, n in cells for _ in range(n)]


_KNOWN = _cells(
    ("a", "x", 1, 1, 5), ("a", "x", 0, 1, 3), ("a", "x", 1, 0, 3), ("a", "x", 0, 0, 4),
    ("b", "x", 1, 1, 4), ("b", "x", 0, 1, 4), ("b", "x", 1, 0, 5), ("b", "x", 0, 0, 3),
    ("a", "y", 1, 1, 6), ("a", "y", 0, 1, 3), ("a", "y", 1, 0, 2), ("a", "y", 0, 0, 2),
    ("b", "y", 1, 1, 4), ("b", "y", 0, 1, 2), ("b", "y", 1, 0, 4), ("b", "y", 0, 0, 3),
)  # fmt: skip


def _audit(people: Sequence[_Person], metric: dict[str, Any], limit: dict[str, float]) -> Finding:
    columns = {
        "protected": {"g": {"reference": "a"}}, "strata": ["m"],
        "label": {"column": "t", "positive": 1}, "prediction": {"column": "d", "positive": 1},
    }  # fmt: skip
    spec = {
        "columns": columns,
        "missing": {"prediction": "aside", "label": "aside", "protected": "aside"},
        "metrics": [{"accept_left_out": 0.99, **metric, "fail": limit}],
    }
    data = pl.DataFrame(people, schema=["g", "m", "t", "d"], orient="row")
    (finding,) = fairaudit.audit(spec, data).findings
    return finding


def _complete(people: Sequence[_Person]) -> Iterator[list[_Person]]:
    """All complete rows; a person of unknown group may also be outside the data."""
    options = [
        [
            (group, m, label, decision)
            for group in (["a", "b", None] if g is None else [g])
            for label in ([0, 1] if y is None else [y])
            for decision in ([0, 1] if d is None else [d])
        ]
        for g, m, y, d in people
    ]
    for chosen in product(*options):
        yield [person for person in chosen if person[0] is not None]


_MISSING: dict[str, list[_Person]] = {
    "outcome": [("b", "x", 1, None)],
    "outcomes": [("b", "x", 1, None), ("a", "y", 0, None)],
    "label": [("b", "y", None, 1)],
    "group": [(None, "x", 1, 1)],
    "both": [("b", "x", 1, None), (None, "y", 1, 0)],
}


@pytest.mark.parametrize("missing", list(_MISSING))
@pytest.mark.parametrize("number", range(len(_METRICS)))
def test_the_bounds_are_those_of_all_complete_rows(number: int, missing: str) -> None:
    """They are attained if all groups are known, and a limit between them leaves a doubt."""
    metric, people = _METRICS[number], [*_KNOWN, *_MISSING[missing]]
    is_ratio = metric.get("compare") == "ratio" or "odds" in metric["metric"]
    limit = {"above": 3.9 if is_ratio else 0.9}
    finding = _audit(people, metric, limit)
    assert finding.status is Status.PASS
    values = [_audit(rows, metric, limit).value for rows in _complete(people)]
    known = [value for value in values if value is not None]
    assert len(known) == len(values)
    bounds = finding.missing
    if bounds is None:
        assert finding.value is not None
        assert max(known) == pytest.approx(min(known))  # the label is not needed
        return
    assert bounds.low is not None
    assert bounds.high is not None
    assert not bounds.may_turn
    assert bounds.low <= min(known) + 1e-9
    assert bounds.high >= max(known) - 1e-9
    if missing in {"outcome", "outcomes", "label"}:
        assert (bounds.low, bounds.high) == pytest.approx((min(known), max(known)))
    assert finding.value is not None
    inside = sorted((finding.value, 1.0 if is_ratio else 0.0))
    if bounds.high - inside[1] > 1e-6:
        crossed = {"above": round((bounds.high + inside[1]) / 2, 8)}
    elif inside[0] - bounds.low > 1e-6:
        crossed = {"below": round((bounds.low + inside[0]) / 2, 8)}
    else:
        return
    doubtful = _audit(people, metric, crossed).missing
    assert doubtful is not None
    assert doubtful.may_turn
