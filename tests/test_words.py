"""What reports say of numbers: no sentence claims more than the numbers beside it.

Numbers that sentences must hold are worked out by hand, or read from the papers.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from evidence_specs import YES, Rate

import fairaudit
from fairaudit.report import content, terminal
from fairaudit.result import AuditResult


def told(result: AuditResult, *, all_rows: bool = False) -> str:
    """The report in one line."""
    return " ".join(terminal.render(content.document(result, all_rows=all_rows)).split())


def audited(
    cells: dict[tuple[str, ...], Rate],
    protected: tuple[str, ...],
    *metrics: Any,
    **more: Any,
) -> AuditResult:
    """The audit of groups with so many selected of so many people; names beyond are strata."""
    given = [f"s{at}" for at in range(len(next(iter(cells))) - len(protected))]
    rows = [
        {**dict(zip((*protected, *given), levels, strict=True)), "d": selected, "n": count}
        for levels, (a, n) in cells.items()
        for selected, count in ((1, a), (0, n - a))
        if count
    ]
    columns: dict[str, Any] = {
        "protected": list(protected),
        "decision": {"column": "d", **YES},
        "count": "n",
    }
    if given:
        columns["strata"] = given
    columns |= more.pop("columns", {})
    spec = {"columns": columns, "metrics": list(metrics), **more}
    return fairaudit.audit(spec, pl.DataFrame(rows))


# Differential fairness -----------------------------------------------------------------------

CROSSED: dict[tuple[str, ...], Rate] = {
    ("f", "x"): (30, 100), ("f", "y"): (40, 100), ("m", "x"): (50, 100), ("m", "y"): (60, 100),
}  # fmt: skip
EPSILON = "differential_fairness"


def test_epsilon_has_its_interval_and_a_scale_and_is_no_promise() -> None:
    """ε = ln(.6 / .3) = 0.6931: four fifths are ln 1.25 = 0.22, a fair coin ln 3 = 1.10."""
    result = audited(CROSSED, ("sex", "team"), EPSILON)
    text = told(result)
    (entry,) = [row.entries[0] for row in result.lattice if len(row.by) == 2]
    low, high = entry.estimate.low, entry.estimate.high
    assert f"ε by sex × team is 0.6931 [{low:.4f}, {high:.4f}] (no smoothing)" in text
    assert "four fifths is 0.22, randomized response with a fair coin 1.10" in text
    assert "for every non-negative utility of the outcome alone (equation 5)" in text
    assert "no guarantee within strata" in text
    assert "high-privacy" not in text


def test_subsets_are_bounded_where_all_count_the_same_people() -> None:
    text = told(audited(CROSSED, ("sex", "team"), EPSILON))
    assert "Every subset is within 1.3863, twice as much (Theorem 3.2)" in text
    assert "none exceeds 0.6931 itself" in text


@pytest.mark.parametrize(
    ("cells", "metric", "more", "why"),
    [
        (CROSSED, {"metric": EPSILON, "smoothing": 1000}, {}, "the rates are smoothed"),
        ({**CROSSED, ("m", "tiny"): (0, 3)}, EPSILON, {"min_size": 10}, "not compared"),
        ({**CROSSED, ("m", "?"): (0, 90)}, EPSILON, {}, "some levels are not known"),
    ],
)
def test_theorem_3_2_is_told_only_where_it_holds(
    cells: dict[tuple[str, ...], Rate], metric: Any, more: dict[str, Any], why: str
) -> None:
    """Else a subset's rate is no average of the rates that ε is made of."""
    columns = {"protected": {"sex": {}, "team": {"unknown": ["?"]}}}
    result = audited(cells, ("sex", "team"), metric, columns=columns, **more)
    text = told(result)
    assert "Every subset is within" not in text
    assert "It bounds no subset's ε (Theorem 3.2 does not apply)" in text
    assert why in result.epsilons[0].unbounded
    assert not result.epsilons[0].bounds_subsets
