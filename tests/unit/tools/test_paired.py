"""Two models on the same rows: McNemar's test and the interval of paired shares, group by group."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2
from statsmodels.stats.contingency_tables import mcnemar

import fairaudit
from fairaudit.judge import Backing, Finding, Status
from fairaudit.stats import mover, proportions

COLUMNS = {
    "protected": {"group": {"reference": "b"}},
    "label": {"column": "label", "positive": "1", "negative": "0"},
    "models": {
        "new": {"prediction": {"column": "new", "positive": "1", "negative": "0"}},
        "old": {"prediction": {"column": "old", "positive": "1", "negative": "0"}},
    },
    "count": "n",
}
LIMIT = {"outside": [-0.05, 0.05], "significant": True}


def rows(cells: dict[tuple[str, int, int, int], int]) -> pl.DataFrame:
    """Cells by group, label, new and old model."""
    return pl.DataFrame(
        [
            {"group": g, "label": str(y), "new": str(a), "old": str(b), "n": n}
            for (g, y, a, b), n in cells.items()
            if n
        ]
    )


def found(cells: dict[tuple[str, int, int, int], int], **entry: Any) -> list[Finding]:
    asked = {"of": "new", "against": "old", "fail": LIMIT, **entry}
    spec = {"columns": COLUMNS, "metrics": [asked]}
    return [*fairaudit.audit(spec, rows(cells)).findings]


def counts(
    cells: dict[tuple[str, int, int, int], int], group: str, labels: tuple[int, ...] = (0, 1)
) -> tuple[int, int, int, int]:
    """Both, new alone, old alone, neither."""
    return tuple(  # type: ignore[return-value]
        sum(cells.get((group, y, a, b), 0) for y in labels)
        for a, b in ((1, 1), (1, 0), (0, 1), (0, 0))
    )


def interval(cells: Sequence[int], values: int = 1) -> tuple[Any, Any]:
    """The interval of so many values that hold together (Šidák)."""
    alpha = 1 - 0.95 ** (1 / values)
    a, b, c, d = (np.array(float(one)) for one in cells)
    return proportions.paired_difference(a, b, c, d, alpha)


SKEWED = {
    ("a", 1, 1, 1): 30, ("a", 1, 1, 0): 25, ("a", 1, 0, 1): 3, ("a", 1, 0, 0): 12,
    ("a", 0, 1, 1): 5, ("a", 0, 1, 0): 4, ("a", 0, 0, 1): 2, ("a", 0, 0, 0): 19,
    ("b", 1, 1, 1): 40, ("b", 1, 1, 0): 6, ("b", 1, 0, 1): 7, ("b", 1, 0, 0): 20,
    ("b", 0, 1, 1): 6, ("b", 0, 1, 0): 5, ("b", 0, 0, 1): 4, ("b", 0, 0, 0): 30,
}  # fmt: skip


def test_a_rate_of_two_models_is_tested_by_who_changes() -> None:
    (finding,) = found(SKEWED, metric="selection_rate")
    a, b, c, d = counts(SKEWED, "a")
    assert finding.first == (("group", "a"),)
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx((b - c) / (a + b + c + d))
    ends = interval((a, b, c, d), values=2)
    assert (finding.estimate.low, finding.estimate.high) == pytest.approx(tuple(map(float, ends)))
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.test == "McNemar"
    expected = chi2.sf((b - c) ** 2 / (b + c), 1)
    assert finding.estimate.significance.p == pytest.approx(expected, rel=1e-12)
    assert finding.estimate.significance.family == 2
    assert (finding.status, finding.backing) == (Status.FAIL, Backing.SUPPORTED)


def test_few_changes_are_counted_exactly() -> None:
    (finding,) = found(SKEWED, metric="false_positive_rate", fail={"outside": [-0.01, 0.01]})
    _, b, c, _ = counts(SKEWED, "a", (0,))
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.test == "McNemar, exact"
    assert finding.estimate.significance.p == pytest.approx(binomtest(b, b + c).pvalue)


def test_models_that_agree_are_never_significant() -> None:
    cells = {key: n for key, n in SKEWED.items() if key[2] == key[3]}
    (finding,) = found(cells, metric="selection_rate")
    assert finding.estimate is not None
    assert (finding.status, finding.estimate.value) == (Status.PASS, 0.0)
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p == 1.0


def test_a_difference_between_groups_recovers_the_variance_of_both_changes() -> None:
    (finding,) = found(SKEWED, metric="statistical_parity_difference")
    sides = [counts(SKEWED, group) for group in ("a", "b")]
    changes = [(b - c) / (a + b + c + d) for a, b, c, d in sides]
    ends = [interval(side) for side in sides]
    low, high = mover.difference(changes[0], ends[0], changes[1], ends[1])  # type: ignore[arg-type]
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(changes[0] - changes[1])
    assert (finding.estimate.low, finding.estimate.high) == pytest.approx((low, high))


def test_the_rest_changes_too() -> None:
    cells = {**SKEWED, **{("c", y, a, b): 9 for y, a, b in product((0, 1), repeat=3)}}
    (finding,) = found(cells, metric="selection_rate", compare="difference", reference="rest")
    assert finding.estimate is not None
    group = dict(finding.first)["group"]
    others = [counts(cells, name) for name in "abc" if name != group]
    rest = [sum(side) for side in zip(*others, strict=True)]
    mine = counts(cells, group)
    changes = [(side[1] - side[2]) / sum(side) for side in (mine, rest)]
    ends = [interval(side, values=3) for side in (mine, rest)]
    low, high = mover.difference(changes[0], ends[0], changes[1], ends[1])  # type: ignore[arg-type]
    assert (finding.estimate.low, finding.estimate.high) == pytest.approx((low, high))


cell = st.integers(0, 12)


@given(st.lists(cell, min_size=16, max_size=16).filter(lambda values: min(
    sum(values[:4]), sum(values[4:8]), sum(values[8:12]), sum(values[12:])) > 0))  # fmt: skip
def test_every_rate_of_the_same_people_agrees_with_statsmodels(values: list[int]) -> None:
    keys = list(product("ab", (0, 1), (0, 1), (0, 1)))
    cells = dict(zip(keys, values, strict=True))
    labels = {"true_positive_rate": (1,), "false_positive_rate": (0,), "selection_rate": (0, 1)}
    for metric, of in labels.items():
        (finding,) = found(cells, metric=metric)
        for group in "ab":
            a, b, c, d = counts(cells, group, of)
            if finding.first != (("group", group),) or finding.estimate is None:
                continue
            test = finding.estimate.significance
            assert test is not None
            if b + c:
                expected = mcnemar([[a, b], [c, d]], exact=b + c < 25, correction=False).pvalue
                assert test.p == pytest.approx(expected, abs=1e-12)
            assert finding.estimate.low is not None
            assert finding.estimate.low - 1e-12 <= finding.estimate.value


LOSERS = {
    ("a", 1, 1, 1): 500, ("a", 1, 0, 1): 60, ("a", 1, 0, 0): 440, ("a", 0, 0, 0): 10,
    ("b", 1, 1, 1): 560, ("b", 1, 0, 0): 440, ("b", 0, 0, 0): 10,
}  # fmt: skip
"""The first model selects 500 and 560 of 1,000; the second selects 60 women more."""


def test_a_gap_that_grows_among_the_same_people_is_seen() -> None:
    """60 women lose and nobody gains: z = .06 / √(60 / 1000²) = √60."""
    limit = {"above": 0.02, "significant": True}
    (finding,) = found(LOSERS, metric="equal_opportunity_difference", fail=limit)
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(0.06)
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p == pytest.approx(chi2.sf(60, 1))
    assert finding.estimate.significance.test == "McNemar over pairs"
    assert finding.status is Status.FAIL


def test_groups_that_change_alike_change_no_gap() -> None:
    """As many men lose as women: no group is hit more, however many they are."""
    alike = LOSERS | {("b", 1, 1, 1): 500, ("b", 1, 0, 1): 60}
    (finding,) = found(alike, metric="equal_opportunity_difference", fail={"above": 0.02})
    assert finding.estimate is not None
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p == 1.0
