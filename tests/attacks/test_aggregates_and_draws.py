"""Aggregates over groups and strata, whose first screen must show what they hide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairaudit.report.diagnostics import diagnose
from fairaudit.result import AuditResult

Audit = Callable[..., AuditResult]
COLUMNS: dict[str, Any] = {
    "protected": {"g": {"reference": "a"}},
    "decision": {"column": "y", "positive": 1},
}
STRATA = {**COLUMNS, "strata": ["m"]}


def people(*cells: tuple[str, str, int, int]) -> str:
    """CSV text: of each group in each stratum the selected and the rejected."""
    lines = ["g,m,y"]
    for group, stratum, selected, rejected in cells:
        lines += [f"{group},{stratum},1"] * selected + [f"{group},{stratum},0"] * rejected
    return "\n".join(lines) + "\n"


def screen(result: AuditResult) -> str:
    """The lines of all checks on the first screen, with single spaces."""
    rows = [(row.headline, *(text for _, text in row.facts)) for row in diagnose(result)]
    return " ".join(" ".join(text for row in rows for text in row).split())


DILUTED = people(("a", "x", 2500, 2500), ("b", "x", 2400, 2600), ("c", "x", 0, 100))


@pytest.mark.parametrize("aggregate", ["mean", "max", "sum", "min"])
@pytest.mark.parametrize(
    ("metric", "value"),
    [("statistical_parity_difference", "-50.0 points"), ("disparate_impact_ratio", "0.000")],
)
def test_an_aggregate_names_the_farthest_group(
    audit_csv: Audit, aggregate: str, metric: str, value: str
) -> None:
    """The group c has 0/100 against 2,500/5,000; b is 2 points below a."""
    ratio = metric == "disparate_impact_ratio"
    limit = {"below": 0.01} if ratio and aggregate == "min" else {"above": 100 if ratio else 0.9}
    check = {"metric": metric, "aggregate": aggregate, "fail": limit}
    result = audit_csv(DILUTED, {"columns": COLUMNS, "metrics": [check]})
    text = screen(result)
    assert f"farthest: {value} for g=c against g=a" in text
    assert "0/100" in text
    assert "2,500/5,000" in text
    assert " may miss " not in text
    (part,) = result.findings[0].parts
    assert part.first is not None
    assert part.second is not None
    assert (part.first.group, part.second.group) == ((("g", "c"),), (("g", "a"),))


def test_a_group_that_is_too_small_is_not_the_farthest(audit_csv: Audit) -> None:
    check = {
        "metric": "statistical_parity_difference", "aggregate": "mean",
        "fail": {"above": 0.1},
    }  # fmt: skip
    spec = {"columns": COLUMNS, "groups": {"min_size": 200}, "metrics": [check]}
    text = screen(audit_csv(DILUTED, spec))
    assert "farthest: -2.0 points for g=b against g=a" in text


def test_the_farthest_group_of_two_rates_is_named(audit_csv: Audit) -> None:
    lines = ["g,t,y"]
    for group, shares in {"a": (50, 50), "b": (49, 50), "c": (5, 50)}.items():
        for label, selected in zip((1, 0), shares, strict=True):
            lines += [f"{group},{label},1"] * selected
            lines += [f"{group},{label},0"] * (100 - selected)
    columns = {
        "protected": {"g": {"reference": "a"}}, "label": {"column": "t", "positive": 1},
        "prediction": {"column": "y", "positive": 1},
    }  # fmt: skip
    check = {"metric": "average_odds_difference", "aggregate": "mean", "fail": {"above": 0.9}}
    text = screen(audit_csv("\n".join(lines) + "\n", {"columns": columns, "metrics": [check]}))
    assert "(farthest: g=c against g=a)" in text
    assert "5/100" in text


EVEN = [(group, stratum, 50, 50) for stratum in "xy" for group in "ab"]


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ({"compare": "difference", "average": "uniform"}, "given m (average: uniform)"),
        ({"compare": "difference", "average": {"x": 0.9, "y": 0.1}}, "(average: x 0.9, y 0.1)"),
        ({"metric": "unexplained_difference"}, "given m (average: middle)"),
        ({"compare": "difference"}, None),
        ({"metric": "mantel_haenszel_odds_ratio", "fail": {"above": 3}}, None),
    ],
)
def test_the_headline_names_the_weights(
    audit_csv: Audit, check: dict[str, Any], words: str | None
) -> None:
    entry = {"metric": "selection_rate", "given": "m", "fail": {"above": 0.5}, **check}
    result = audit_csv(people(*EVEN), {"columns": STRATA, "metrics": [entry]})
    headline = diagnose(result)[0].headline
    assert (words or "m") in headline
    assert ("average" in headline) == (words is not None)


def test_weights_by_default_are_named(audit_csv: Audit) -> None:
    rows = [f"{g},{m},{t},{y}" for g in "ab" for m in "xy" for t in "01" for y in "01"] * 20
    columns = {
        "protected": {"g": {"reference": "a"}}, "label": {"column": "t", "positive": 1},
        "prediction": {"column": "y", "positive": 1}, "strata": ["m"],
    }  # fmt: skip
    check = {
        "metric": "conditional_equal_opportunity_gap", "given": "m",
        "fail": {"outside": [-0.5, 0.5]},
    }  # fmt: skip
    text = "\n".join(["g,m,t,y", *rows]) + "\n"
    headline = diagnose(audit_csv(text, {"columns": columns, "metrics": [check]}))[0].headline
    assert "given m (average: uniform)" in headline


@pytest.mark.parametrize(
    ("cells", "is_told"),
    [
        ([("a", "y", 2, 1), ("b", "y", 40, 1400)], True),
        ([("a", "y", 50, 50), ("b", "y", 600, 600)], False),
        ([("a", "y", 2, 1), ("b", "y", 2, 60)], False),  # few people of b
    ],
)
def test_mantel_haenszel_names_a_stratum_that_contradicts_it(
    audit_csv: Audit, cells: list[tuple[str, str, int, int]], is_told: bool
) -> None:
    metric = {
        "metric": "mantel_haenszel_odds_ratio", "given": "m", "fail": {"outside": [0.5, 2]},
    }  # fmt: skip
    text = people(("a", "x", 500, 500), ("b", "x", 500, 500), *cells)
    result = audit_csv(text, {"columns": STRATA, "metrics": [metric]})
    found = [notice for notice in result.notices if "Breslow–Day" in notice]
    assert bool(found) == is_told
    if is_told:
        assert "59 % of g=b" in found[0]
        assert "m=y (odds ratio 0.0143)" in found[0]
    assert "averaged over m, pooled weights" in screen(result)
