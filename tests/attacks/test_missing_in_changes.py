"""People who lack a prediction of two models that a check compares (`against`).

The oracle is the definition: the same change in plain Python, for every way to complete the data.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any, TypeAlias

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding, Status

_Person: TypeAlias = tuple[str, int | None, int | None]


def _audit(people: list[_Person], metric: dict[str, Any], **more: Any) -> Finding:
    models = {
        name: {"prediction": {"column": name, "positive": 1, "order": [0, 1]}}
        for name in ("now", "then")
    }
    entry = {"of": "now", "against": "then", "accept_left_out": 0.99, **metric}
    spec = {
        "columns": {"protected": ["g"], "models": models},
        "missing": {"prediction": "aside"}, "metrics": [entry], **more,
    }  # fmt: skip
    data = pl.DataFrame(people, schema=["g", "now", "then"], orient="row")
    (finding,) = fairaudit.audit(spec, data).findings
    return finding


def _is_plain(finding: Finding) -> bool:
    return finding.status is Status.PASS and not (finding.missing and finding.missing.may_turn)


_KNOWN: list[_Person] = [
    *[("A", 1, 1)] * 50, *[("A", 0, 0)] * 50, *[("B", 1, 1)] * 50, *[("B", 0, 0)] * 50,
]  # fmt: skip
_SMALL: list[_Person] = [*[("C", 0, 1)] * 14, *[("C", 0, 0)] * 14]
_GAP = {"metric": "selection_rate", "compare": "gap", "fail": {"above": 0.1}}


@pytest.mark.parametrize(("missing", "is_plain"), [(0, True), (1, True), (2, False), (5, False)])
def test_a_small_group_that_missing_predictions_could_lift_is_in_doubt(
    missing: int, *, is_plain: bool
) -> None:
    """None of 33 now and 14 of 33 then: a gap of .5 that was .076. 28 and 1 are not 30 people."""
    groups = {"min_size": 30}
    finding = _audit([*_KNOWN, *_SMALL, *[("C", None, None)] * missing], _GAP, groups=groups)
    assert finding.status is Status.PASS
    assert finding.value == 0
    assert _is_plain(finding) is is_plain
    counted = _audit([*_KNOWN, *_SMALL, *[("C", 0, 0)] * 5], _GAP, groups=groups)
    assert counted.status is Status.FAIL
    assert counted.value == pytest.approx(0.5 - (0.5 - 14 / 33))


@pytest.mark.parametrize("lacking", [(None, None), (None, 1), (0, None)])
def test_missing_predictions_of_a_group_that_takes_part_are_in_doubt(
    lacking: tuple[int | None, int | None],
) -> None:
    """C has 44 of 100 now and 50 of 100 then, and 20 people who lack a prediction."""
    known: list[_Person] = [("C", 0, 0)] * 50
    known += [*[("C", 1, 1)] * 44, *[("C", 0, 1)] * 6]
    plain = _audit([*_KNOWN, *known], _GAP)
    assert plain.value == pytest.approx(0.06)
    assert _is_plain(plain)
    finding = _audit([*_KNOWN, *known, *[("C", *lacking)] * 20], _GAP)
    assert finding.status is Status.PASS
    assert finding.value == pytest.approx(0.06)
    assert finding.missing is not None
    assert finding.missing.turns
    assert finding.missing.missing_outcome == 20


def _rest(counts: dict[str, tuple[int, int]], group: str) -> Fraction:
    others = [pair for name, pair in counts.items() if name != group]
    return Fraction(sum(k for k, _ in others), sum(n for _, n in others))


def _ratio(first: Fraction, second: Fraction) -> float:
    if second:
        return float(first / second)
    return math.inf if first else math.nan


def _values(metric: str, counts: dict[str, tuple[int, int]], least: int) -> dict[str, float]:
    """The values by one model, of groups that are large enough."""
    rates = {g: Fraction(k, n) for g, (k, n) in counts.items() if n >= least}
    everybody = Fraction(sum(k for k, _ in counts.values()), sum(n for _, n in counts.values()))
    match metric:
        case "gap":
            return {"": float(max(rates.values()) - min(rates.values()))}
        case "lowest ratio":
            return {"": _ratio(min(rates.values()), max(rates.values()))}
        case "rate":
            return {g: float(rate) for g, rate in rates.items()}
        case "to a":
            return {g: float(rate - rates["a"]) for g, rate in rates.items() if g != "a"}
        case "to rest":
            return {g: float(rate - _rest(counts, g)) for g, rate in rates.items()}
        case "to overall":
            return {g: float(rate - everybody) for g, rate in rates.items()}
    sides = [rates, {g: 1 - rate for g, rate in rates.items()}]
    gaps = [_ratio(max(side.values()), min(side.values())) for side in sides]
    return {"": max(math.log(gap) for gap in gaps if not math.isnan(gap))}


_ENTRIES: dict[str, dict[str, Any]] = {
    "gap": {"metric": "selection_rate", "compare": "gap"},
    "lowest ratio": {"metric": "demographic_parity_ratio"},
    "rate": {"metric": "selection_rate"},
    "to a": {"metric": "selection_rate", "compare": "difference", "reference": {"g": "a"}},
    "to rest": {"metric": "selection_rate", "compare": "difference", "reference": "rest"},
    "to overall": {"metric": "selection_rate", "compare": "difference", "reference": "overall"},
    "epsilon": {"metric": "differential_fairness"},
}
_MINIMUM = 6
_LIMITS = dict.fromkeys(_ENTRIES, 0.4) | {"gap": 0.2}


def _could_fail(metric: str, people: Sequence[_Person]) -> bool:
    known = [(g, a, b) for g, a, b in people if a is not None and b is not None]
    ways = [
        [(g, x, y) for x in _options(a) for y in _options(b)]
        for g, a, b in people
        if a is None or b is None
    ]
    return any(_fails(metric, [*known, *way]) for way in product(*ways))


def _options(value: int | None) -> tuple[int, ...]:
    return (0, 1) if value is None else (value,)


def _fails(metric: str, people: Sequence[tuple[str, int, int]]) -> bool:
    sides = []
    for model in (1, 2):
        counts = {
            group: (
                sum(person[model] for person in people if person[0] == group),  # type: ignore[misc]
                sum(1 for person in people if person[0] == group),
            )
            for group in "abc"
        }
        sides.append(_values(metric, counts, _MINIMUM))
    changes = (value - sides[1].get(name, math.nan) for name, value in sides[0].items())
    return any(abs(change) > _LIMITS[metric] for change in changes)


@pytest.mark.long
@pytest.mark.parametrize("metric", _ENTRIES)
def test_a_plain_pass_holds_for_all_missing_predictions(metric: str) -> None:
    rng, plain, doubtful = random.Random(5), 0, 0
    entry = {**_ENTRIES[metric], "fail": {"outside": [-_LIMITS[metric], _LIMITS[metric]]}}
    for _ in range(90):
        people: list[_Person] = [("a", n % 2, n % 2) for n in range(12)]
        people += [("b", (n + 1) % 2, n % 2) for n in range(12)]
        chosen = rng.sample([0, 1] * 4, rng.randint(4, 7))
        people += [("c", one, one if rng.random() < 0.8 else 1 - one) for one in chosen]
        for _ in range(rng.randint(0, 3)):
            lacking = rng.choice([(None, None), (None, 0), (1, None)])
            people.append((rng.choice("bc"), *lacking))
        finding = _audit(people, entry, groups={"min_size": _MINIMUM})
        if finding.status is not Status.PASS:
            continue
        could_fail = _could_fail(metric, people)
        assert not (_is_plain(finding) and could_fail), people
        plain += _is_plain(finding)
        doubtful += could_fail
        if plain >= 4 and doubtful >= 3:
            break
    assert plain >= 3
    assert doubtful >= 3


@pytest.mark.parametrize("lacking", [(0.5, None), (None, 0.5)])
def test_missing_scores_by_either_model_are_in_doubt(lacking: tuple[float | None, ...]) -> None:
    """Every score is .5, and half of each group is positive, whoever has a score."""
    rows: list[tuple[Any, ...]] = [(g, n % 2, 0.5, 0.5) for g in "ABC" for n in range(100)]
    rows += [("C", n % 2, *lacking) for n in range(12)]
    columns = {
        "protected": ["g"], "label": {"column": "y", "positive": 1},
        "models": {"now": {"score": "s"}, "then": {"score": "t"}},
    }  # fmt: skip
    entry = {"metric": "score_parity", "of": "now", "against": "then", "fail": {"above": 0.1}}
    spec = {"columns": columns, "missing": {"score": "aside"}, "metrics": [entry]}
    data = pl.DataFrame(rows, schema=["g", "y", "s", "t"], orient="row")
    (finding,) = fairaudit.audit(spec, data).findings
    assert finding.value == 0
    assert finding.missing is not None
    assert finding.missing.missing_outcome == 12
    assert finding.missing.may_turn


@pytest.mark.parametrize("lacking", [(None, None), (0, None), (0, 1)])
@pytest.mark.parametrize(("undecided", "is_open"), [(1, False), (2, True), (5, True)])
def test_undecided_rows_could_lift_a_small_group_of_a_change(
    lacking: tuple[int | None, int | None], undecided: int, *, is_open: bool
) -> None:
    """28 people and 1 row that the filter cannot decide are fewer than 30, whatever it holds."""
    rows = [(*person, 5) for person in [*_KNOWN, *_SMALL]]
    rows += [("C", *lacking, None)] * undecided  # type: ignore[list-item]
    models = {
        name: {"prediction": {"column": name, "positive": 1, "order": [0, 1]}}
        for name in ("now", "then")
    }
    entry = {**_GAP, "of": "now", "against": "then", "accept_left_out": 0.99}
    spec = {
        "columns": {"protected": ["g"], "models": models}, "filter": "x > 1",
        "missing": {"prediction": "aside"}, "groups": {"min_size": 30}, "metrics": [entry],
    }  # fmt: skip
    data = pl.DataFrame(rows, schema=["g", "now", "then", "x"], orient="row")
    (finding,) = fairaudit.audit(spec, data).findings
    assert finding.value == 0
    assert finding.status is (Status.INCONCLUSIVE if is_open else Status.PASS)
    assert ("the filter needs" in finding.why) is is_open


def _audit_dropped(people: Sequence[tuple[Any, ...]], names: str, **more: Any) -> Finding:
    """The change of the selection rate from the second to the first of some models."""
    models = {
        name: {"prediction": {"column": name, "positive": 1, "negative": 0}} for name in names
    }
    entry = {"of": names[0], "against": names[1], "metric": "selection_rate"}
    spec = {
        "columns": {"protected": ["g"], "models": models}, "missing": {"prediction": "drop"},
        "metrics": [{**entry, "fail": {"below": -0.2}}], **more,
    }  # fmt: skip
    data = pl.DataFrame(people, schema=["g", *names], orient="row")
    (finding,) = fairaudit.audit(spec, data).findings
    return finding


_BOTH = [(g, one, one) for g in "AB" for one in (0, 1)] * 20
_ONE = [("B", None, 1), ("B", 0, None)] * 5


def test_dropped_rows_leave_a_change_between_models_open() -> None:
    """Of three models, some dropped rows lack the third only, and a change does not need that."""
    people: list[tuple[Any, ...]] = [(*person, 1) for person in (*_BOTH, *_ONE)]
    people += [("B", 0, 1, None)] * 30  # of B 20 of 70 are selected now, and 50 before
    finding = _audit_dropped(people, "stu", groups={"min_size": 1})
    assert finding.status is Status.INCONCLUSIVE
    assert "it would fail if `missing: {prediction: drop}` did not leave out" in finding.why
    published = [*((*person, 1) for person in (*_BOTH * 4, *_ONE)), ("A", 1, 1, None)]
    assert _audit_dropped(published, "stu", suppress_below=5).status is Status.INCONCLUSIVE
