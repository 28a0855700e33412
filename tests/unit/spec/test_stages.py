"""Stages of a process: each is an outcome, whose rate is the share of people who reached it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import polars as pl
import pytest

import fairaudit
from fairaudit.base.errors import SpecError

ORDER = ["applied", "interviewed", "offered", "hired"]


def spec_of(order: list[str], **columns: Any) -> dict[str, Any]:
    return {
        "columns": {"protected": ["g"], "stages": {"column": "stage", "order": order}} | columns,
        "metrics": [{"metric": "impact_ratio", "by": "g", "fail": "< 0.5"}],
        "simpson": False,
    }


def test_each_stage_has_rates_and_a_check() -> None:
    made = random.Random(4)
    rows = [(made.choice("ab"), made.choice(ORDER)) for _ in range(200)]
    frame = pl.DataFrame(rows, schema=["g", "stage"], orient="row")
    result = fairaudit.audit(spec_of(ORDER), frame)
    people = Counter(g for g, _ in rows)
    for number, stage in enumerate(ORDER[1:], start=1):
        reached = Counter(g for g, last in rows if last in ORDER[number:])
        found = {
            row.group[0][1]: (row.estimate.numerator, row.estimate.denominator)
            for row in result.rates
            if row.of == stage and row.group
        }
        assert found == {g: (reached[g], n) for g, n in people.items()}
        (finding,) = [one for one in result.findings if one.check.of == stage]
        low, high = sorted(reached[g] / people[g] for g in "ab")
        assert finding.value == pytest.approx(low / high)
    assert not [n for n in result.notices if "select equally many" in str(n)]
    # Of one step: the people of the stage before are those whom a filter keeps.
    step = fairaudit.audit(spec_of(ORDER[1:]) | {"filter": "stage <> 'applied'"}, frame)
    interviewed = Counter(g for g, last in rows if last != "applied")
    assert {
        row.group[0][1]: row.estimate.denominator
        for row in step.rates
        if row.of == "offered" and row.group
    } == interviewed


def test_people_whose_value_is_no_stage_are_left_out_on_request() -> None:
    stages = ["applied", "hired", "Withdrawn", "hired"]
    frame = pl.DataFrame({"g": [*"aabb"] * 10, "stage": stages * 10})
    spec = spec_of(["applied", "hired"])
    with pytest.raises(SpecError, match=r"'Withdrawn'; add them to .* to `order`"):
        fairaudit.audit(spec, frame)
    spec["columns"]["stages"]["others"] = "drop"
    result = fairaudit.audit(spec, frame)
    rates = {row.group[0][1]: row.estimate for row in result.rates if row.group}
    assert {g: (one.numerator, one.denominator) for g, one in rates.items()} == {
        "a": (10, 20),
        "b": (10, 10),
    }


@pytest.mark.parametrize(
    ("order", "columns", "words"),
    [
        (["applied"], {}, "list two or more different stages"),
        (["applied", "hired", "hired"], {}, "list two or more different stages"),
        (ORDER, {"decision": "d"}, "`stages` replaces `decision`"),
        (ORDER, {"models": {"x": {"score": "s"}}}, "`stages` replaces `models`"),
        (ORDER, {"strata": ["hired"]}, "'hired' is the name of a stratum already"),
    ],
)
def test_faults_of_stages(order: list[str], columns: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        fairaudit.audit(spec_of(order, **columns), pl.DataFrame())
