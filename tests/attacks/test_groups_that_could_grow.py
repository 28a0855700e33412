"""Groups that are left out as too small, and that people of unknown group or outcome may enlarge.

The oracle is the definition: the same audit in plain Python, for every way to complete the data.
"""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import pytest

import fairaudit
from fairaudit.judge import Status

_MINIMUM = 6
_Cells: TypeAlias = dict[tuple[str | None, int | None], int]
_LIMITS = {
    "impact_ratio": Fraction(1, 2),
    "demographic_parity_ratio": Fraction(1, 2),
    "demographic_parity_difference": Fraction(2, 5),
    "selection_rate": Fraction(3, 10),
}


def _fails(metric: str, cells: Counter[tuple[str, int]]) -> bool:
    """Whether a complete table fails, among the groups that are large enough."""
    sizes = {group: cells[group, 0] + cells[group, 1] for group in "abc"}
    rates = [Fraction(cells[group, 1], n) for group, n in sizes.items() if n >= _MINIMUM]
    limit = _LIMITS[metric]
    if metric == "selection_rate":
        return any(rate < limit for rate in rates)
    if len(rates) < 2:
        return False
    if metric.endswith("difference"):
        return max(rates) - min(rates) > limit
    return max(rates) > 0 and min(rates) / max(rates) < limit


def _could_fail(metric: str, cells: Counter[tuple[str, int]], unknown: tuple[int, int]) -> bool:
    """Whether it could fail, wherever the `unknown` people, rejected and selected, belong."""
    ways = [list(product(range(n + 1), repeat=2)) for n in unknown]
    for rejected, selected in product(*ways):
        if sum(rejected) > unknown[0] or sum(selected) > unknown[1]:
            continue
        table = Counter(cells)
        for decision, placed in enumerate((rejected, selected)):
            for group, n in zip("abc", (*placed, unknown[decision] - sum(placed)), strict=True):
                table[group, decision] += n
        if _fails(metric, table):
            return True
    return False


def _audit(spec: dict[str, Any], cells: _Cells) -> Any:
    rows = [(group, decision, n) for (group, decision), n in cells.items() if n]
    data = {name: [row[place] for row in rows] for place, name in enumerate(("g", "d", "n"))}
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    (finding,) = fairaudit.audit({"columns": columns, **spec}, data).findings
    return finding


@pytest.mark.parametrize("metric", _LIMITS)
def test_a_plain_pass_holds_wherever_people_of_unknown_group_belong(metric: str) -> None:
    rng, plain, doubtful = random.Random(3), 0, 0
    side = "above" if metric.endswith("difference") else "below"
    limit = {side: float(_LIMITS[metric])}
    metrics = [{"metric": metric, "fail": limit, "accept_left_out": 0.99}]
    spec = {"metrics": metrics, "groups": {"min_size": _MINIMUM}}
    for _ in range(40):
        cells = Counter({(g, d): rng.randint(3, 9) for g in "ab" for d in (0, 1)})
        cells |= Counter({("c", d): rng.randint(0, 2) for d in (0, 1)})
        unknown = rng.randint(0, 3), rng.randint(0, 2)
        people: _Cells = {**cells} | {(None, 0): unknown[0], (None, 1): unknown[1]}
        finding = _audit(spec, people)
        if finding.status is not Status.PASS:
            continue
        could_fail = _could_fail(metric, cells, unknown)
        doubt = finding.missing is not None and finding.missing.turns
        assert doubt or not could_fail, (metric, people)
        plain += not doubt
        doubtful += could_fail
    assert plain >= 3
    assert doubtful >= 3


_LARGE: _Cells = {("a", 1): 500, ("a", 0): 500, ("b", 1): 490, ("b", 0): 510}
_IMPACT = [{"metric": "impact_ratio", "fail": {"below": 0.8}}]
_SMALL: _Cells = {("c", 1): 10, ("c", 0): 10}
_RULES: dict[str, dict[str, Any]] = {
    "min_size": {"min_size": 30},
    "min_events": {"min_events": 15},
    "exclude_below": {"exclude_below": {"share": 0.02, "reason": "few"}},
}


@pytest.mark.parametrize("rule", _RULES)
@pytest.mark.parametrize("missing", [(None, 0), ("c", None)])
def test_a_group_that_could_be_large_enough_is_named(
    rule: str, missing: tuple[str | None, int | None]
) -> None:
    spec = {"metrics": _IMPACT, "groups": _RULES[rule], "missing": {"decision": "aside"}}
    people = 18 if missing[0] else 30
    truth = _audit(spec, {**_LARGE, ("c", 1): 10, ("c", 0): 10 + people})
    finding = _audit(spec, {**_LARGE, **_SMALL, missing: people})
    assert finding.status is Status.PASS
    if rule == "exclude_below" and missing[0]:
        # People of known group count towards their share, so the group stays excluded.
        assert truth.status is Status.PASS
        assert finding.missing is None
        return
    assert truth.status is Status.FAIL
    assert finding.is_in_doubt
    assert finding.missing.turns
    assert [dict(other.group) for other in finding.missing.others] == [{"g": "c"}]
    assert finding.missing.others[0].low == pytest.approx(truth.value)


@pytest.mark.parametrize(("people", "selected"), [(20, 0), (29, 15)])
def test_a_group_that_stays_too_small_or_within_the_limit_causes_no_doubt(
    people: int, selected: int
) -> None:
    """With 1 more, 20 people are not 30; of 29 people, 15 or 14 of 30 would be within the limit."""
    spec = {"metrics": _IMPACT, "groups": {"min_size": 30}}
    known: _Cells = {("c", 1): selected, ("c", 0): people - selected}
    finding = _audit(spec, {**_LARGE, **known, (None, 0): 1})
    assert finding.status is Status.PASS
    assert not finding.missing.turns
    assert not finding.missing.others
