"""Counts of people as metrics: what they are, what they cannot be asked, what a report hides."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit import AuditResult
from fairaudit.base.errors import SpecError
from fairaudit.report.diagnostics import diagnose_by_id

CELLS = {  # tp, fp, fn, tn
    "a": (40, 30, 20, 10), "b": (25, 30, 15, 30), "c": (12, 3, 20, 15), "d": (1, 2, 1, 0),
}  # fmt: skip
NAMES = ("true_positives", "false_positives", "false_negatives", "true_negatives")


def audit(*metrics: Any, **more: Any) -> AuditResult:
    """The people above, and one of each group without a label."""
    rows = [
        (group, y, p, n)
        for group, cells in CELLS.items()
        for (y, p), n in zip(((1, 1), (0, 1), (1, 0), (0, 0)), cells, strict=True)
    ] + [(group, None, 1, 1) for group in CELLS]
    data = pl.DataFrame(rows, ["g", "y", "p", "n"], orient="row")
    columns = {"protected": ["g"], "label": "y", "decision": "p", "count": "n"}
    return fairaudit.audit({"columns": columns, "metrics": [*metrics], **more}, data)


def values(result: AuditResult) -> dict[tuple[str, str], float]:
    return {(row.metric, row.group[0][1]): row.estimate.value for row in result.rates if row.by}


def test_the_four_cells_and_the_size_are_counts() -> None:
    found = values(audit("n", "tp", "fp", "fn", "tn"))
    expected: dict[tuple[str, str], float] = {}
    for group, cells in CELLS.items():
        expected |= {(name, group): n for name, n in zip(NAMES, cells, strict=True)}
        expected["group_size", group] = sum(cells) + 1
    assert found == expected


def test_a_limit_on_size_looks_at_small_groups_and_a_comparison_does_not() -> None:
    size = {"metric": "group_size", "fail": {"below": 50}}
    least = {"metric": "group_size", "compare": "min_ratio", "fail": {"below": 0.5}}
    failed, compared = audit(size, least, groups={"min_size": 30}).findings
    assert (failed.status, failed.first) == ("fail", (("g", "d"),))
    assert compared.estimate is not None
    assert compared.estimate.value == pytest.approx(51 / 101)


def test_weights_are_not_people() -> None:
    rows = {"g": ["a", "a", "b"], "y": [1, 0, 1], "p": [1, 1, 1], "w": [2.5, 1.5, 0.5]}
    columns = {"protected": ["g"], "label": "y", "decision": "p", "weight": "w"}
    result = fairaudit.audit({"columns": columns, "metrics": ["n", "tp"]}, pl.DataFrame(rows))
    assert values(result) == {
        ("group_size", "a"): 2, ("group_size", "b"): 1,
        ("true_positives", "a"): 1, ("true_positives", "b"): 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "more", "message"),
    [
        ({"metric": "tp", "compare": "odds_ratio", "reference": "largest"}, {},
         "true_positives is a count, and odds_ratio compares shares or means"),
        ({"metric": "tp", "compare": "gap", "given": "g", "average": "pooled"}, {},
         "is a count: remove `given` to count all strata"),
        ({"metric": "tp", "class": "macro"}, {}, "has no mean over classes: name one class"),
        ({"metric": "n", "fail": {"below": 5}}, {"suppress_below": 11},
         "a limit below 11 people reveals counts that `suppress_below` hides"),
        ({"metric": "tp", "compare": "gap", "fail": {"above": 5}}, {"suppress_below": 11},
         "a comparison of true_positives reveals counts that `suppress_below` hides"),
        ({"metric": "n", "fail": {"above": 5, "significant": True}}, {}, "cannot be evaluated: "),
        ({"metric": "n", "fail": {"below": 5, "conclusive": True}}, {},
         "the value is a count of these people, not an estimate"),
    ],
)  # fmt: skip
def test_what_a_count_cannot_be_asked_is_a_fault(
    entry: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        audit(entry, **more)


def test_a_published_report_hides_small_counts_and_what_would_tell_them() -> None:
    """D has 5 people: neither its size nor a difference to all others stands anywhere."""
    size = {"metric": "group_size", "fail": {"below": 30}}
    ratio = {"metric": "tp", "compare": "ratio", "reference": "largest"}
    result = audit("n", "tp", "fp", "fn", "tn", ratio, size, suppress_below=11)
    found = {(row.metric, row.group): row.estimate for row in result.rates}
    shown = {key: estimate.value for key, estimate in found.items() if not estimate.suppressed}
    assert not {key for key in shown if key[1] == (("g", "d"),)}
    assert not {key for key in shown if key == ("false_positives", (("g", "c"),))}, "3 people"
    for name, cell in zip(NAMES, range(4), strict=True):
        hidden = [g for g in CELLS if (name, (("g", g),)) not in shown]
        assert len(hidden) != 1 or (name, ()) not in shown, "the complement tells the hidden one"
        assert all(shown[name, (("g", g),)] >= 11 for g in CELLS if g not in hidden), cell
    assert result.findings[-1].status == "fail"
    texts = json.dumps(json.loads(result.to_json())["checks"])
    assert '"value": 5' not in texts


CODEBOOK = {"g": {"levels": ["a", "b", "c", "d", "e", "f"], "labels": {"e": "E"}}}


def audit_codebook(*metrics: Any, **more: Any) -> AuditResult:
    columns = {"protected": CODEBOOK, "label": "y", "decision": "p"}
    data = pl.DataFrame({"g": ["a", "a", "b", "b", "c", "d"], "y": [1, 0, 1, 0, 1, 1],
                         "p": [1, 0, 1, 1, 1, 0]})  # fmt: skip
    return fairaudit.audit({"columns": columns, "metrics": [*metrics], **more}, data)


@pytest.mark.parametrize("more", [{}, {"suppress_below": 2}])
def test_declared_groups_of_nobody_are_listed_and_undefined(more: dict[str, Any]) -> None:
    ratio = {"metric": "impact_ratio", "warn": {"below": 0.1}}
    result = audit_codebook("selection_rate", ratio, **more)
    empty = {row.group[0][1]: row for row in result.groups if row.standing == "empty"}
    assert {name: row.n for name, row in empty.items()} == {"E": 0, "f": 0}
    rates = {row.group[0][1]: row for row in result.rates if row.standing == "empty"}
    assert {*rates} == {"E", "f"}
    assert all(str(row.estimate.state) == "undefined" for row in rates.values())
    assert rates["f"].estimate.reason == "selection_rate: no people in g=f"
    assert not [row for row in result.comparisons if row.group in ((("g", "E"),), (("g", "f"),))]
    plain = audit_codebook("selection_rate", ratio, **more, groups={"by": ["g"]})
    assert plain.findings[0].status == result.findings[0].status


def test_a_limit_on_size_counts_a_declared_group_of_nobody() -> None:
    result = audit_codebook("n", {"metric": "group_size", "fail": {"below": 1}})
    (finding,) = result.findings
    assert (finding.status, finding.first) == ("fail", (("g", "E"),))
    assert finding.estimate is not None
    assert finding.estimate.value == 0
    sizes = {row.group[0][1]: row.estimate.value for row in result.rates if row.by}
    assert sizes == {"a": 2, "b": 2, "c": 1, "d": 1, "E": 0, "f": 0}


@pytest.mark.parametrize("more", [{}, {"suppress_below": 2}])
def test_intersections_with_a_declared_level_of_nobody_are_listed(more: dict[str, Any]) -> None:
    """Nobody is `c`; that nobody is `b` and `y` is no matter of what is declared."""
    columns = {"protected": {"g": {"levels": ["a", "b", "c"]}, "h": {}}, "decision": "p"}
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("a", None)]
    data = pl.DataFrame([(*row, at % 2) for at in range(8) for row in rows], ["g", "h", "p"],
                        orient="row")  # fmt: skip
    size = {"metric": "group_size", "by": "g * h", "fail": {"below": 2}}
    spec = {"columns": columns, "metrics": ["selection_rate", size], **more}
    result = fairaudit.audit(spec, data)
    empty = {row.group: row.n for row in result.groups if row.standing == "empty"}
    crossed = [(("g", "c"), ("h", level)) for level in ("x", "y")]
    assert empty == dict.fromkeys([(("g", "c"),), *crossed], 0)
    rates = [row.group for row in result.rates if row.standing == "empty" and len(row.by) == 2]
    assert {*rates} == {*crossed}
    (finding,) = result.findings
    assert finding.status == "fail"
    assert finding.first in crossed
    others = [f"over the limit: g=c × h={level} 0" for level in ("x", "y")]
    told = [text for _, text in diagnose_by_id(result)[finding.check.id].facts]
    assert any(text in others for text in told)


def test_a_thousand_groups_of_nobody_are_listed_at_most() -> None:
    names = [f"a{at}" for at in range(4)]
    levels = [str(level) for level in range(30)]
    columns = {"protected": {name: {"levels": levels} for name in names}, "decision": "p"}
    data = pl.DataFrame({name: ["0", "1"] * 5 for name in names} | {"p": [0, 1] * 5})
    metrics = [{"metric": "group_size", "by": ["full"], "fail": {"below": 1}}]
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, data)
    whole = [row for row in result.groups if row.standing == "empty" and len(row.by) == 4]
    assert len(whole) == 1_000
    assert result.findings[0].status == "fail"


def test_a_reference_that_nobody_is_in_is_a_fault() -> None:
    columns = {"protected": {"g": {"levels": ["a", "b"], "reference": "b"}}, "decision": "p"}
    data = pl.DataFrame({"g": ["a", "a"], "p": [0, 1]})
    with pytest.raises(SpecError, match="the reference 'b' is not a level of g"):
        fairaudit.audit({"columns": columns, "metrics": ["selection_rate"]}, data)
