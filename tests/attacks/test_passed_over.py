"""People whom a gate could pass over: strata of weight 0, rows of totals, scores in per cent."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
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


_PEOPLE = 2_000
_CUT = {"columns": {"decision": {"column": "s", "positive": {"at_least": 0.5}}}}
_SCORED = {"columns": {"decision": "y", "score": "s"}}
_FILTERED = {"filter": "s >= 0.2", "columns": {"decision": "y"}}
_SHARES: dict[str, Callable[[random.Random], float]] = {
    "even": lambda rng: rng.random(),
    "low": lambda rng: rng.betavariate(1, 4),
    "high": lambda rng: rng.betavariate(5, 1),
    "rounded": lambda rng: round(rng.random(), 1),
}


def _told(spec: dict[str, Any], scores: list[float], path: Path) -> list[str]:
    """The notices on scores in per cent, of a frame and of two files with a half each."""
    turns = [n % 7 % 2 for n in range(len(scores))]
    scores = [*map(float, scores)]
    frame = pl.DataFrame({"g": ["ab"[turn] for turn in turns], "y": turns, "s": scores})
    frame[: len(frame) // 2].write_csv(path / "first.csv")
    frame[len(frame) // 2 :].write_csv(path / "second.csv")
    columns = {"protected": ["g"], **spec["columns"]}
    spec = {**spec, "columns": columns, "metrics": ["selection_rate"]}
    told = [
        [str(one) for one in fairaudit.audit(spec, data).notices if "in per cent" in str(one)]
        for data in (frame, path / "*.csv")
    ]
    assert told[0] == told[1]
    return told[0]


@pytest.mark.parametrize("spec", [_CUT, _SCORED, _FILTERED])
@pytest.mark.parametrize("kind", _SHARES)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.8])
def test_scores_partly_in_per_cent_are_told(
    share: float, kind: str, spec: dict[str, Any], tmp_path: Path
) -> None:
    rng = random.Random(4)
    scores = [_SHARES[kind](rng) for _ in range(_PEOPLE)]
    for n in range(int(share * _PEOPLE)):
        scores[n] *= 100
    between = [sum(low < x <= high for x in scores) for low, high in ((0, 1), (2, 100))]
    between[0] -= scores.count(1)
    (text,) = _told(spec, scores, tmp_path)
    assert text.startswith(
        f"s: {between[0]:,} values lie between 0 and 1, and {between[1]:,} between 2 and 100"
    )


_WHOLE: dict[str, Callable[[random.Random], float]] = {
    "shares": lambda rng: rng.random(),
    "per cent": lambda rng: 100 * rng.random(),
    "low per cent": lambda rng: 100 * rng.betavariate(1, 60),
    "rare": lambda rng: 100 * rng.betavariate(0.5, 200),
    "whole per cent": lambda rng: rng.randint(0, 100),
    "deciles": lambda rng: rng.randint(1, 10),
    "halves": lambda rng: rng.randint(0, 20) / 2,
    "log-normal": lambda rng: rng.lognormvariate(-1, 2),
    "wide": lambda rng: rng.lognormvariate(-1, 3),
    "odds": lambda rng: (share := rng.random()) / (1 - share),
    "grades": lambda rng: rng.choice([0.5, 1, 2, 5, 10, 20, 50, 100]),
    "normal": lambda rng: rng.gauss(0, 1),
    "a code": lambda rng: rng.random() if rng.random() < 0.99 else 99,
}


@pytest.mark.parametrize("spec", [_CUT, _SCORED, _FILTERED])
@pytest.mark.parametrize("kind", _WHOLE)
def test_scores_in_one_unit_are_not_said_to_be_in_per_cent(
    kind: str, spec: dict[str, Any], tmp_path: Path
) -> None:
    rng = random.Random(5)
    assert not _told(spec, [_WHOLE[kind](rng) for _ in range(_PEOPLE)], tmp_path)
