"""Strata that a check does not look at, or hardly: averages with little weight, scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairaudit.result import AuditResult

Audit = Callable[..., AuditResult]
SPEC: dict[str, Any] = {
    "version": 1,
    "columns": {
        "protected": {"g": {"reference": "a"}},
        "decision": {"column": "y", "positive": 1},
        "strata": ["m"],
    },
}


def people(*cells: tuple[str, str, int, int]) -> str:
    """CSV text: of each group in each stratum the selected and the rejected."""
    lines = ["g,m,y"]
    for group, stratum, selected, rejected in cells:
        lines += [f"{group},{stratum},1"] * selected + [f"{group},{stratum},0"] * rejected
    return "\n".join(lines) + "\n"


TINY = [(group, f"x{at}", 1, 1) for at in range(20) for group in "ab"]
LARGE = [("a", "y", 400, 0), ("b", "y", 0, 400)]
SKEWED = [("a", "x", 500, 500), ("b", "x", 50, 50), ("a", "y", 4, 0), ("b", "y", 0, 400)]


def notices(result: AuditResult) -> list[str]:
    return [notice for notice in result.notices if "of the weight in averages" in notice]


@pytest.mark.parametrize(
    ("cells", "average", "shares"),
    [
        ([*TINY, *LARGE], "uniform", ("91 % of g=b", "only 4.8 % of the weight")),
        (SKEWED, "reference", ("80 % of g=b", "only 0.4 % of the weight")),
        (SKEWED, {"x": 0.95, "y": 0.05}, ("80 % of g=b", "only 5.0 % of the weight")),
        (SKEWED, "pooled", None),
        ([("a", "x", 50, 50), ("b", "x", 20, 80), ("a", "y", 5, 5), ("b", "y", 2, 8)], "uniform",
         None),
    ],
)  # fmt: skip
def test_a_stratum_of_most_people_with_little_weight_is_named(
    audit_csv: Audit, cells: list[Any], average: Any, shares: tuple[str, ...] | None
) -> None:
    metric = {
        "metric": "selection_rate", "compare": "difference", "given": "m", "average": average,
        "fail": {"outside": [-0.9, 0.9]},
    }  # fmt: skip
    found = notices(audit_csv(people(*cells), {**SPEC, "metrics": [metric]}))
    assert bool(found) == (shares is not None)
    for share in shares or ():
        assert share in found[-1]


@pytest.mark.parametrize("uses", [{}, {"given": "m"}])
def test_strata_in_which_no_score_is_compared_are_named(
    audit_csv: Audit, uses: dict[str, Any]
) -> None:
    """In x, b is .6 below a; in y, .6 above."""
    lines = ["g,m,s"]
    for at in range(100):
        low, high = 0.2 + at % 5 / 100, 0.8 + at % 5 / 100
        lines += [f"a,x,{high}", f"b,x,{low}", f"a,y,{low}", f"b,y,{high}"]
    columns = {"protected": {"g": {"reference": "a"}}, "score": "s", "strata": ["m"]}
    metric = {"metric": "mean_score", "compare": "difference", "fail": {"outside": [-0.1, 0.1]}}
    result = audit_csv(
        "\n".join(lines) + "\n", {"columns": columns, "metrics": [{**metric, **uses}]}
    )
    found = [notice for notice in result.notices if "within the strata of 'm'" in notice]
    assert bool(found) == (not uses)
    assert result.exit_code == (1 if uses else 0)
