"""Few missing people: the range of measures without a formula for bounds.

The oracle completes the rows in all possible ways, and audits each complete file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any, TypeAlias

import polars as pl
import pytest

import fairaudit
from fairaudit.judge import Finding, Status

_Person: TypeAlias = tuple[str | None, str, int | None, int | None]
"""Group, stratum, label, decision; None is unknown."""

_METRICS: dict[str, dict[str, Any]] = {
    "difference": {"metric": "selection_rate", "compare": "difference", "average": "pooled"},
    "ratio": {"metric": "selection_rate", "compare": "ratio", "average": "uniform"},
    "gap": {"metric": "selection_rate", "compare": "gap", "average": "pooled"},
    "rest": {
        "metric": "selection_rate", "compare": "difference", "average": "group", "reference": "rest"
    },
    "overall": {
        "metric": "selection_rate", "compare": "ratio", "average": "pooled", "reference": "overall"
    },
    "highest": {
        "metric": "selection_rate", "compare": "ratio", "average": "pooled", "reference": "highest"
    },
    "accuracy": {"metric": "accuracy", "compare": "difference", "average": "pooled"},
    "odds": {"metric": "mantel_haenszel_odds_ratio"},
    "unexplained": {"metric": "unexplained_difference"},
    "explained": {"metric": "explained_difference"},
    "disparity": {"metric": "conditional_demographic_disparity"},
    "errors": {"metric": "conditional_equal_opportunity_gap"},
    "slope": {"metric": "regression_slope", "controls": ["m"]},
    "mean": {"metric": "statistical_parity_difference", "aggregate": "mean"},
    "mean_tpr": {"metric": "true_positive_rate_difference", "aggregate": "mean"},
    "divergence": {"metric": "kl_divergence"},
    "correlation": {"metric": "correlation"},
    "normalized": {"metric": "normalized_difference"},
    "share": {"metric": "selected_share", "compare": "difference"},
    "cramer": {"metric": "cramers_v"},
    "information": {"metric": "mutual_information"},
    "entropy": {"metric": "generalized_entropy", "compare": "difference"},
    "amplification": {"metric": "differential_equalized_odds"},
}  # fmt: skip
_SLOW = {name for name, metric in _METRICS.items() if "average" in metric}
_SLOW |= {"unexplained", "errors", "slope"}
"""Measures with slow tests, of which only the range is compared, for few completions."""
_CONDITIONAL = {"odds", "unexplained", "explained", "disparity", "errors"}


def _cells(*cells: tuple[str, str, int, int, int]) -> list[_Person]:
    return [(g, m, y, d) for g, m, y, d, n in cells for _ in range(n)]


_KNOWN = _cells(
    ("a", "x", 1, 1, 5), ("a", "x", 0, 1, 3), ("a", "x", 1, 0, 3), ("a", "x", 0, 0, 4),
    ("b", "x", 1, 1, 4), ("b", "x", 0, 1, 4), ("b", "x", 1, 0, 5), ("b", "x", 0, 0, 3),
    ("a", "y", 1, 1, 6), ("a", "y", 0, 1, 3), ("a", "y", 1, 0, 2), ("a", "y", 0, 0, 2),
    ("b", "y", 1, 1, 4), ("b", "y", 0, 1, 2), ("b", "y", 1, 0, 4), ("b", "y", 0, 0, 3),
)  # fmt: skip

_MISSING: dict[str, list[_Person]] = {
    "outcome": [("b", "x", 1, None)],
    "group": [(None, "x", 0, 1)],
    "label": [("b", "y", None, 1)],
    "outcomes": [("b", "x", 1, None), ("b", "x", 1, None), ("a", "y", 0, None)],
    "both outcomes": [("b", "x", None, None)],
    "groups": [(None, "x", 1, 1), (None, "y", 0, 0)],
    "everything": [(None, "y", None, None)],
    "of each": [("b", "x", 1, None), (None, "y", 1, 0), ("a", "x", None, 0)],
}


def _audit(
    people: Sequence[_Person], checks: dict[str, dict[str, Any]], **columns: Any
) -> dict[str, Finding]:
    spec = {
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "strata": ["m"],
            "label": {"column": "t", "positive": 1},
            "prediction": {"column": "d", "positive": 1},
            **columns,
        },
        "groups": {"min_size": 3},
        "missing": {"prediction": "aside", "label": "aside", "protected": "aside"},
        "metrics": [{"id": key, **check} for key, check in checks.items()],
    }
    data = pl.DataFrame(people, schema=["g", "m", "t", "d"], orient="row", infer_schema_length=None)
    data = data.with_columns(w=1 + pl.int_range(len(people)) % 2)
    return {finding.check.id: finding for finding in fairaudit.audit(spec, data).findings}


def _limit(name: str, place: float) -> dict[str, Any]:
    """The check of a metric that fails beyond `place`, seen from parity."""
    metric = _METRICS[name]
    is_above = place > (metric.get("compare") == "ratio" or name == "odds")
    limit = {"above" if is_above else "below": round(place, 7)}
    given = {"given": "m"} if "average" in metric or name in _CONDITIONAL else {}
    return {**metric, **given, "accept_left_out": 0.99, "fail": limit}


def _complete(people: Sequence[_Person]) -> Iterator[list[_Person]]:
    """All complete rows; a person of unknown group may be in a group that is too small."""
    options = [
        [
            (group, m, label, decision)
            for group in (["a", "b", "c"] if g is None else [g])
            for label in ([0, 1] if y is None else [y])
            for decision in ([0, 1] if d is None else [d])
        ]
        for g, m, y, d in people
    ]
    yield from map(list, product(*options))


def _check(known: Sequence[_Person], missing: Sequence[_Person]) -> int:
    """Compares ranges and doubts with those of all complete rows; returns the number of ranges."""
    people, complete = [*known, *missing], [[*known, *rows] for rows in _complete(missing)]
    names = [name for name in _METRICS if len(complete) < 5 or name not in _SLOW]
    loose = {name: _limit(name, 0.97) for name in names}
    found = _audit(people, loose)
    values = [
        {name: finding.value for name, finding in _audit(rows, loose).items()} for rows in complete
    ]
    limits, ranges = dict[str, dict[str, Any]](), 0
    for name, finding in found.items():
        ends = [float(value) for row in values if (value := row[name]) is not None]
        if finding.missing is None:
            assert ends == pytest.approx([finding.value] * len(values)), name
        elif finding.missing.low is None or finding.missing.high is None:
            assert finding.missing.reason, name
        else:
            low, high = finding.missing.low, finding.missing.high
            assert (low, high) == pytest.approx((min(ends), max(ends)), abs=1e-9), name
            ranges += 1
            for number, place in enumerate((low - 1e-4, (low + high) / 2, high + 1e-4)):
                if name not in _SLOW and (place > 0 or low < 0):
                    limits[f"{name} {number}"] = _limit(name, place)
    doubtful = _audit(people, limits)
    assert doubtful.keys() == limits.keys()
    for key, finding in doubtful.items():
        ((side, place),) = limits[key]["fail"].items()
        every = [row[key.split()[0]] for row in values]
        fails = {value > place if side == "above" else value < place for value in every}
        fails |= {finding.status is Status.FAIL}
        assert finding.missing is not None
        assert finding.missing.may_turn == (len(fails) > 1), key
    return ranges


@pytest.mark.long
@pytest.mark.parametrize("missing", list(_MISSING))
def test_the_range_is_that_of_all_complete_rows(missing: str) -> None:
    assert _check(_KNOWN, _MISSING[missing]) >= 5


_Count: TypeAlias = Callable[[str, str, int], int]
"""The number of people of a group and stratum with a decision."""


def _find_difference(count: _Count) -> float:
    """The difference of selection rates, averaged over strata by people."""
    total = value = 0.0
    for m in "xy":
        (a1, a0), (b1, b0) = ((count(g, m, 1), count(g, m, 0)) for g in "ab")
        n = a1 + a0 + b1 + b0
        total, value = total + n, value + n * (b1 / (b1 + b0) - a1 / (a1 + a0))
    return value / total


def _find_odds_ratio(count: _Count) -> float:
    over = under = 0.0
    for m in "xy":
        (a1, a0), (b1, b0) = ((count(g, m, 1), count(g, m, 0)) for g in "ab")
        n = a1 + a0 + b1 + b0
        over, under = over + b1 * a0 / n, under + b0 * a1 / n
    return over / under


def _find_mean(count: _Count) -> float:
    """The only departure from parity, that of b, is also the mean of all."""
    selected = {g: count(g, "x", 1) + count(g, "y", 1) for g in "ab"}
    rejected = {g: count(g, "x", 0) + count(g, "y", 0) for g in "ab"}
    rates = {g: selected[g] / (selected[g] + rejected[g]) for g in "ab"}
    return abs(rates["b"] - rates["a"])


_FORMULAS = {"difference": _find_difference, "odds": _find_odds_ratio, "mean": _find_mean}


@pytest.mark.parametrize("missing", ["outcomes", "groups", "of each"])
@pytest.mark.parametrize(
    "name", ["odds", "mean", pytest.param("difference", marks=pytest.mark.long)]
)
def test_the_range_is_that_of_the_formula_of_complete_rows(name: str, missing: str) -> None:
    people = [*_KNOWN, *_MISSING[missing]]
    bounds, ends = _audit(people, {name: _limit(name, 0.97)})[name].missing, list[float]()
    for rows in _complete(_MISSING[missing]):
        counts = Counter((g, m, d) for g, m, _, d in [*_KNOWN, *rows])
        ends.append(_FORMULAS[name](lambda *cell, counts=counts: counts[cell]))
    assert bounds is not None
    assert (bounds.low, bounds.high) == pytest.approx((min(ends), max(ends)), abs=1e-9)


_LARGE = [
    (g, m, 1, d)
    for g, m, selected, rejected in (
        ("a", "x", 500, 500), ("b", "x", 490, 510), ("a", "y", 300, 200), ("b", "y", 290, 210),
    )
    for d, n in ((1, selected), (0, rejected))
    for _ in range(n)
]  # fmt: skip


@pytest.mark.parametrize("person", [("b", "x", 1, None), (None, "x", 1, 0)])
def test_one_person_of_3001_leaves_no_doubt(person: _Person) -> None:
    names = ["difference", "odds", "unexplained", "disparity", "slope", "mean", "divergence"]
    names += ["correlation", "normalized", "share"]
    checks = {name: _limit(name, 0.3) for name in names}
    for name, finding in _audit([*_LARGE, person], checks).items():
        assert finding.status is Status.PASS, name
        assert finding.missing is not None, name
        assert not finding.may_turn, name


def test_many_missing_people_leave_a_doubt() -> None:
    """300 people with two possible outcomes are 301 completions."""
    people = [*_LARGE, *[("b", "x", 1, None)] * 300]
    found = _audit(people, {"odds": _limit("odds", 0.1)})["odds"]
    assert found.missing is not None
    assert found.missing.low is None
    assert found.may_turn


def test_classes_that_do_not_occur_leave_a_doubt() -> None:
    """All known people are selected, so the other outcome is not a class of the data."""
    people = [(g, m, t, 1) for g, m, t, _ in _KNOWN]
    found = _audit([*people, ("b", "x", 1, None)], {"correlation": _limit("correlation", 0.9)})
    assert found["correlation"].missing is None or found["correlation"].missing.may_turn


def test_a_group_that_grows_to_the_smallest_size_leaves_a_doubt() -> None:
    people = [*_KNOWN, ("c", "x", 1, 1), ("c", "y", 1, 1), ("c", "x", 1, None)]
    (found,) = _audit(people, {"mean": _limit("mean", 0.9)}).values()
    assert found.may_turn


def test_weights_and_unknown_numbers_stay_in_doubt() -> None:
    people = [*_KNOWN, ("b", "x", 1, None)]
    (found,) = _audit(people, {"odds": _limit("odds", 0.1)}, weight="w").values()
    assert found.may_turn
