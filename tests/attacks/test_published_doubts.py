"""A published report is never better than the one without suppression, and tells no small count."""

from __future__ import annotations

import random
from typing import Any

import pytest

import fairaudit
from fairaudit.judge import Status

_HIDDEN = "whether people with missing values could change a verdict is hidden"
_METRICS = [
    {"metric": "impact_ratio", "fail": {"below": 0.8}},
    {"metric": "demographic_parity_difference", "fail": {"above": 0.1}},
    {"metric": "selection_rate", "fail": {"below": 0.35}},
    {
        "metric": "demographic_parity_difference",
        "given": "s",
        "average": "pooled",
        "fail": {"above": 0.1},
    },
]


def _audit(
    cells: dict[tuple[str | None, int | None, str | None], int], **more: Any
) -> fairaudit.AuditResult:
    rows = [(*cell, n) for cell, n in cells.items() if n]
    data = {name: [row[place] for row in rows] for place, name in enumerate("gysn")}
    columns = {
        "protected": ["g"],
        "decision": {"column": "y", "positive": 1},
        "strata": ["s"],
        "count": "n",
    }
    missing = {"decision": "aside", "strata": "aside"}
    spec = {"columns": columns, "metrics": _METRICS, "missing": missing}
    return fairaudit.audit(spec | more, data)


def _draw(rng: random.Random) -> dict[tuple[str | None, int | None, str | None], int]:
    """Two large groups, perhaps a small one, and up to 200 people who lack a value."""
    cells: dict[tuple[str | None, int | None, str | None], int] = {}
    for group, most in (("a", 300), ("b", 300), ("c", rng.choice([0, 8]))):
        for y in (0, 1):
            for s in "uv":
                cells[group, y, s] = rng.randint(most // 2, most)
    for cell in rng.sample([(None, 0, "u"), ("b", None, "v"), ("b", 0, None), ("c", None, "u")], 2):
        cells[cell] = rng.choice([0, 2, 40, 200])
    return cells


@pytest.mark.parametrize("seed", range(20))
def test_no_status_or_exit_code_is_better_with_suppression(seed: int) -> None:
    cells = _draw(random.Random(seed))
    whole, published = _audit(cells), _audit(cells, suppress_below=11)
    order = list(Status)
    for open_one, hidden in zip(whole.findings, published.findings, strict=True):
        assert order.index(hidden.status) >= order.index(open_one.status)
        in_doubt = open_one.is_in_doubt and hidden.status is Status.PASS
        told = hidden.is_in_doubt or any(_HIDDEN in str(one) for one in published.notices)
        assert told or not in_doubt
    severity = {0: 0, 3: 1, 1: 2}
    assert severity[published.exit_code] >= severity[whole.exit_code]


@pytest.mark.parametrize("group", [None, "b"])
def test_the_notice_of_a_published_report_does_not_tell_whether_people_are_missing(
    group: str | None,
) -> None:
    """Of c 4 people are hidden; 0, 3 or 8 people lack a group or a decision."""
    cells: dict[tuple[str | None, int | None, str | None], int] = {
        (g, y, "u"): 400 for g in "ab" for y in (0, 1)
    }
    cells["c", 0, "u"] = 4
    told = set()
    for people in (0, 3, 8):
        lacking = (group, None if group else 0, "u")
        result = _audit({**cells, lacking: people}, suppress_below=11, groups={"min_size": 30})
        assert result.findings[0].status is Status.PASS
        told.add(tuple(str(one) for one in result.notices if _HIDDEN in str(one)))
    (texts,) = told
    assert len(texts) == 1


def test_a_published_report_that_hides_nothing_shows_the_doubt() -> None:
    cells: dict[tuple[str | None, int | None, str | None], int] = {
        (g, y, "u"): 400 for g in "ab" for y in (0, 1)
    }
    plain = {"metrics": _METRICS[:1], "suppress_below": 11}
    result = _audit({**cells, (None, 0, "u"): 300}, **plain)
    assert result.findings[0].is_in_doubt
    assert not any(_HIDDEN in str(one) for one in result.notices)
