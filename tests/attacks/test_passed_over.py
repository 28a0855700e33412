"""People whom a gate could pass over: strata of weight 0, rows of totals, scores in per cent."""

from __future__ import annotations

from typing import Any

import pytest

import fairaudit
from fairaudit.judge import Status

_Row = dict[str, Any]


def _group(group: str, positives: int, people: int, **more: object) -> list[_Row]:
    one, other = ({"g": group, "y": decision, **more} for decision in (1, 0))
    return [one] * positives + [other] * (people - positives)


def _audit(spec: dict[str, Any], rows: list[_Row]) -> fairaudit.AuditResult:
    names = dict.fromkeys(name for row in rows for name in row)
    return fairaudit.audit(spec, {name: [row.get(name) for row in rows] for name in names})


_METRICS = [
    {"metric": "demographic_parity_difference", "fail": "> 0.1"},
    {"metric": "impact_ratio", "fail": "< 0.8"},
    {"metric": "selection_rate", "fail": "< 0.4"},
]


@pytest.mark.parametrize("entry", _METRICS)
@pytest.mark.parametrize("weight", [0, 0.00001, 1])
@pytest.mark.parametrize("lacks_one", [False, True])
def test_strata_of_weight_0_are_named(
    entry: dict[str, Any], weight: float, *, lacks_one: bool
) -> None:
    """In v, a twentieth of the people, all of a and nobody of b are selected."""
    columns = {"protected": ["g"], "decision": {"column": "y", "positive": 1}, "strata": ["s"]}
    average = {"u": 1, "v": weight} | ({"w": 1} if lacks_one else {})
    entry = {**entry, "given": "s", "average": average}
    rows = [*_group("a", 500, 1000, s="u"), *_group("b", 500, 1000, s="u")]
    rows += [*_group("a", 50, 50, s="v"), *_group("b", 0, 50, s="v")]
    rows += _group("a", 5, 10, s="w") if lacks_one else []
    result = _audit({"columns": columns, "metrics": [entry]}, rows)
    (finding,) = result.findings
    named = {item.stratum: item.reason for item in finding.not_evaluated}
    told = [str(one) for one in result.notices if "almost no weight" in str(one)]
    if weight == 1:
        assert finding.status is Status.FAIL
        assert (("s", "v"),) not in named
        assert not told
        return
    assert finding.status is Status.PASS
    assert named[("s", "v"),] == "(almost) no weight in the average: 100 people left out"
    (text,) = told
    assert "s=v" in text
    assert ("one side lacks" in text) is (lacks_one and entry["metric"] != "selection_rate")
