"""Two models on the same rows: tests of who changes, and intervals by the correlation of both.

Expected intervals are those of tests/oracles/stats_oracle.py, which knows nothing of the package,
and whose paired interval is held against published ones; correlations are added up row by row.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from itertools import permutations, product
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest
import stats_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2
from stats_oracle import Bounds
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

import fairaudit
from fairaudit.cli import run_line
from fairaudit.judge import EvidenceStatus, Finding, Status

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


def sidak(alpha: float, values: int) -> float:
    """The level of each of so many intervals that hold together."""
    return float(1 - (1 - alpha) ** (1 / values))


def correlation(
    cells: dict[tuple[str, int, int, int], int],
    group: str,
    hit: Callable[[int, int], bool],
    counted: Callable[[int, int], bool],
) -> float:
    """The correlation of a rate by both models, row by row: hits among the counted, (label, model).

    A positive one is weakened by half a person, as Newcombe does.
    """
    people = [key[1:] for key, n in cells.items() if key[0] == group for _ in range(n)]

    def deviations(model: int) -> list[float]:
        both = [(row[0], row[model]) for row in people]
        rate = fmean(hit(*one) for one in both if counted(*one))
        return [(hit(*one) - rate) * counted(*one) for one in both]

    first, second = deviations(1), deviations(2)
    common = sum(x * y for x, y in zip(first, second, strict=True))
    spread = math.sqrt(sum(x * x for x in first) * sum(y * y for y in second))
    return (max(common - 0.5, 0.0) if common > 0 else common) / spread


def apart(first: float, ends: Bounds, second: float, others: Bounds, r: float = 0.0) -> Bounds:
    """Zou & Donner (2008): the interval of a difference from those of both, correlated by r."""

    def reach(one: float, other: float) -> float:
        return math.sqrt(max(one * one - 2 * r * one * other + other * other, 0.0))

    gap = first - second
    below = reach(first - ends[0], others[1] - second)
    return gap - below, gap + reach(ends[1] - first, second - others[0])


def together(first: Sequence[float], second: Sequence[float], r: Sequence[float]) -> float:
    """The correlation of two sums of two sides, from their errors and correlations."""
    common = sum(a * b * one for a, b, one in zip(first, second, r, strict=True))
    return common / (math.hypot(*first) * math.hypot(*second))


def error(x: float, n: float, scale: str) -> float:
    """The standard error of a share, or of its logarithm, with half a hit and half a miss more."""
    p = (x + 0.5) / (n + 1)
    return math.sqrt((p * (1 - p) if scale == "difference" else (1 - p) / p) / n)


def ends_of(finding: Finding) -> tuple[float | None, float | None]:
    assert finding.estimate is not None
    return finding.estimate.low, finding.estimate.high


def selects(_: int, decision: int) -> bool:
    return decision == 1


def anybody(*_: int) -> bool:
    return True


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
    assert ends_of(finding) == pytest.approx(oracle.paired(a, b, c, d, sidak(0.05, 2)))
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.test == "McNemar"
    expected = chi2.sf((b - c) ** 2 / (b + c), 1)
    assert finding.estimate.significance.p == pytest.approx(expected, rel=1e-12)
    assert finding.estimate.significance.family == 2
    assert (finding.status, finding.backing) == (Status.FAIL, EvidenceStatus.SUPPORTED)


NEWCOMBE_PAIRED = "Newcombe 1998, Stat Med 17:2635, Table III, method 10 (R: propint, its tests)"
PAIRED = [
    ((36, 12, 2, 0), "0.0569", "0.3404", NEWCOMBE_PAIRED),
    ((18, 12, 2, 18), "0.0562", "0.3290", NEWCOMBE_PAIRED),
    ((53, 0, 0, 1), "-0.0729", "0.0729", NEWCOMBE_PAIRED),
    ((0, 30, 0, 0), "0.8395", "1.0000", NEWCOMBE_PAIRED),
    ((59, 6, 16, 80), "-0.1186", "-0.0046", "Cavo 2012 in Fagerland 2014 (R: contingencytables)"),
    ((1, 0, 0, 1), "-0.5734", "0.5734", "R: contingencytables, Newcombe_square_and_add_CI"),
]


@pytest.mark.parametrize(("cells", "low", "high", "source"), PAIRED)
def test_paired_differences_are_as_published(
    cells: tuple[int, int, int, int], low: str, high: str, source: str
) -> None:
    """By the oracle of the other tests, and by the product; of few hits or misses it is wider."""
    keys = [("b", 1, *decisions) for decisions in ((1, 1), (1, 0), (0, 1), (0, 0))]
    table = dict(zip(keys, cells, strict=True))
    (finding,) = found(table, metric="selection_rate")
    ends = oracle.paired(*cells, 0.05)
    assert oracle.printed(ends[0], low), source
    assert oracle.printed(ends[1], high), source
    exact = oracle.paired(*cells, 0.05, oracle.share_bounds)
    assert ends_of(finding) == pytest.approx(exact, abs=1e-9)
    a, b, c, _ = cells
    if not any(oracle.is_few(x, sum(cells), 0.05) for x in (a + b, a + c)):
        assert exact == ends


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


def hits(
    cells: dict[tuple[str, int, int, int], int], groups: str, model: int, labels: tuple[int, ...]
) -> tuple[int, int]:
    """Whom a model selects among the people of groups with those labels, and how many they are."""
    people = {key: n for key, n in cells.items() if key[0] in groups and key[1] in labels}
    return sum(n for key, n in people.items() if key[1 + model]), sum(people.values())


@pytest.mark.parametrize("compare", ["difference", "ratio"])
@pytest.mark.parametrize("reference", ["b", "rest"])
def test_a_comparison_of_groups_allows_for_the_correlation_of_both_models(
    compare: str, reference: str
) -> None:
    cells = {**SKEWED, **{("c", y, a, b): 9 for y, a, b in product((0, 1), repeat=3)}}
    entry = {"metric": "selection_rate", "compare": compare, "reference": reference}
    (finding,) = found(cells, **entry)
    alpha = sidak(0.05, 2 if reference == "b" else 3)
    group = dict(finding.first)["group"]
    others = "b" if reference == "b" else "".join(sorted({*"abc"} - {group}))
    sides = [(group, model) for model in (1, 2)], [(others, model) for model in (1, 2)]
    own, rest = ([hits(cells, *side, (0, 1)) for side in one] for one in sides)
    values, ends = [], []
    for (x, n), (y, m) in zip(own, rest, strict=True):
        name, method = ("diff", "newcomb") if compare == "difference" else ("ratio", "score")
        ends.append(
            confint_proportions_2indep(
                x, n, y, m, compare=name, method=method, alpha=alpha, correction=False
            )
        )
        values.append(x / n - y / m if compare == "difference" else (x / n) / (y / m))
    pooled = {("rest" if key[0] in others else key[0], *key[1:]): 0 for key in cells}
    for key, n in cells.items():
        pooled["rest" if key[0] in others else key[0], *key[1:]] += n
    correlations = [correlation(pooled, name, selects, anybody) for name in (group, "rest")]
    errors = [[error(*own[model], compare), error(*rest[model], compare)] for model in range(2)]
    r = together(errors[0], errors[1], correlations)
    expected = apart(values[0], ends[0], values[1], ends[1], r)
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(values[0] - values[1])
    assert ends_of(finding) == pytest.approx(expected, abs=1e-6)
    name = "Newcombe" if compare == "difference" else "MOVER"
    assert finding.estimate.method.startswith(f"{name}, paired")


def test_a_rate_among_the_selected_is_of_people_who_overlap() -> None:
    """PPV: those whom both models select are in both denominators, the others in one."""
    (finding,) = found(SKEWED, metric="positive_predictive_value")
    group = dict(finding.first)["group"]

    def is_right(label: int, decision: int) -> bool:
        return label == decision == 1

    r = correlation(SKEWED, group, is_right, selects)
    shares = []
    for model in (1, 2):
        (good, _), (chosen, _) = (hits(SKEWED, group, model, labels) for labels in ((1,), (0, 1)))
        shares.append((good / chosen, oracle.share_bounds(good, chosen, sidak(0.05, 2))))
    assert ends_of(finding) == pytest.approx(apart(*shares[0], *shares[1], r), abs=1e-9)


THREE = {**SKEWED, **{("c", y, a, b): 9 + 3 * a - 2 * b for y, a, b in product((0, 1), repeat=3)}}


@pytest.mark.parametrize(
    ("metric", "scale", "labels"),
    [
        ("demographic_parity_difference", "difference", [((0, 1), 1)]),
        ("equalized_odds_difference", "difference", [((1,), 1), ((0,), 1)]),
        ("demographic_parity_ratio", "ratio", [((0, 1), 1)]),
        ("differential_fairness", "log", [((0, 1), 1), ((0, 1), 0)]),
        ("differential_equal_opportunity", "log", [((1,), 1), ((1,), 0)]),
    ],
)
def test_the_change_of_a_spread_is_bounded_by_the_pairs_that_may_be_widest(
    metric: str, scale: str, labels: list[tuple[tuple[int, ...], int]]
) -> None:
    """Every pair of groups and rate in turn: what changes, and what may be the widest."""
    (finding,) = found(THREE, metric=metric, fail={"above": 0.5})
    count = 3 * len(labels)
    levels = [sidak(0.05 * part, count) for part in (0.6, 0.2, 0.2)]
    nothing = -1.0 if scale == "ratio" else 0.0
    pairs = []
    for (of, decision), (first, second) in product(labels, permutations("abc", 2)):

        def share(group: str, model: int) -> tuple[int, int]:
            x, n = hits(THREE, group, model, of)  # noqa: B023  # called at once
            return x if decision else n - x, n  # noqa: B023

        def gap(model: int, alpha: float) -> tuple[float, Bounds]:
            sides = [share(group, model) for group in (first, second)]  # noqa: B023
            ends = [oracle.wilson(x, n, alpha) for x, n in sides]
            p, q = (x / n for x, n in sides)
            if scale == "difference":
                return p - q, apart(p, ends[0], q, ends[1])
            low, high = fraction(p, ends[0], q, ends[1])
            change = math.log if scale == "log" else lambda ratio: -1 / ratio
            return change(p / q), (change(low), change(high))

        errors = [
            [error(*share(group, model), scale) for group in (first, second)] for model in (1, 2)
        ]
        r = together(errors[0], errors[1], [
            correlation(
                THREE, group, lambda y, d: d == decision and y in of, lambda y, _: y in of  # noqa: B023
            )
            for group in (first, second)
        ])  # fmt: skip
        change = apart(*gap(1, levels[0]), *gap(2, levels[0]), r)
        pairs.append((change, gap(1, levels[1])[1], gap(2, levels[2])[1]))
    widest, other = (max(nothing, *(pair[at][0] for pair in pairs)) for at in (1, 2))
    low = min(max(change[0], widest - of[1]) for change, _, of in pairs if of[1] >= other)
    high = max(min(change[1], of[1] - other) for change, of, _ in pairs if of[1] >= widest)
    expected = (-high, -low) if scale == "ratio" else (low, high)
    assert ends_of(finding) == pytest.approx(expected, abs=1e-9)


def fraction(p: float, ends: Bounds, q: float, others: Bounds) -> Bounds:
    """Donner & Zou (2012): the interval of a ratio from those of both shares."""
    (l1, u1), (l2, u2) = ends, others
    low = (p * q - math.sqrt((p * q) ** 2 - l1 * u2 * (2 * p - l1) * (2 * q - u2))) / (
        u2 * (2 * q - u2)
    )
    high = (p * q + math.sqrt((p * q) ** 2 - u1 * l2 * (2 * p - u1) * (2 * q - l2))) / (
        l2 * (2 * q - l2)
    )
    return low, high


@pytest.mark.parametrize("metric", ["f1", "normalized_difference"])
def test_where_the_correlation_is_unknown_the_report_says_so(
    metric: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows(SKEWED).write_csv(tmp_path / "rows.csv")
    entry = {"metric": metric, "of": "new", "against": "old", "fail": {"above": 0.9}}
    spec = {"data": "rows.csv", "columns": COLUMNS, "metrics": [entry]}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec), encoding="utf-8")
    run_line(["run", str(tmp_path / "spec.yaml"), "--full"])
    told = " ".join(capsys.readouterr().out.split())
    together = "" if metric == "normalized_difference" else "for all 2 values; "
    assert f"95 % interval ({together}unpaired, conservative)" in told


cell = st.integers(0, 12)


@pytest.mark.long
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


def test_every_row_names_its_model_and_two_answers_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second model has no gap, so that the pair that has the largest one is open."""
    rows(LOSERS).write_csv(tmp_path / "rows.csv")
    limit = {"above": 0.02, "significant": True}
    entry = {"metric": "equal_opportunity_difference", "of": "new", "against": "old", "fail": limit}
    spec = {"data": "rows.csv", "columns": COLUMNS, "metrics": [entry]}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec), encoding="utf-8")
    assert run_line(["run", str(tmp_path / "spec.yaml")]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "500/1,000 true positive rate of new" in told
    assert "560/1,000 true positive rate of old" in told
    assert "the interval includes 0: which model has the larger disparity is uncertain" in told


def test_an_interval_agrees_with_the_test_where_the_widest_pair_is_clear() -> None:
    """From a gap of 20 points to one of 26: the pair is the same by both models."""
    cells = {
        ("a", 1, 1, 1): 300, ("a", 1, 0, 1): 60, ("a", 1, 0, 0): 640, ("a", 0, 0, 0): 10,
        ("b", 1, 1, 1): 560, ("b", 1, 0, 0): 440, ("b", 0, 0, 0): 10,
    }  # fmt: skip
    (finding,) = found(cells, metric="equal_opportunity_difference", fail={"above": 0.02})
    assert finding.estimate is not None
    assert finding.estimate.low is not None
    assert finding.estimate.low > 0.03
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p < 1e-9
