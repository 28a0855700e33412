"""What missing values could do: every completion of tiny data lies within the bounds.

The oracle knows rows only: it fills in every missing value in every way and computes each measure
from lists. Where groups are known, the bounds of rates and of comparisons are themselves attained.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import examples
from hypothesis import assume, example, given
from hypothesis import strategies as st

import fairaudit
from fairaudit.base.ledger import Ledger
from fairaudit.cube import NO_LEVEL, UNKNOWN, Cube, GroupTable, KeyColumn, Role
from fairaudit.evidence import missing_bounds
from fairaudit.evidence.missing_bounds import find_missing_bounds, judge_missing
from fairaudit.judge import Finding, Limit, Status
from fairaudit.metrics import (
    Disparity,
    Evaluation,
    build_disparity,
    evaluate,
    find_comparison,
    find_metric,
)
from fairaudit.metrics.terms import MetricOptions, Parameters, Reference, ReferencePolicy
from fairaudit.result import AuditResult

Audit = Callable[..., AuditResult]
Row = tuple[str | None, str | None, int | None, int | None]
"""Group, second attribute, label, outcome; None is not known."""

ELSEWHERE = "elsewhere"
NOWHERE = "nowhere"
_MOST = 500


# The oracle: measures of complete rows, in plain Python.


def share(over: int, under: int) -> float:
    if under:
        return over / under
    return math.inf if over else math.nan


def tally(rows: Sequence[Row]) -> dict[str, int]:
    pairs = [(y, p) for _, _, y, p in rows]
    return {
        "tp": pairs.count((1, 1)),
        "fp": pairs.count((0, 1)),
        "fn": pairs.count((1, 0)),
        "tn": pairs.count((0, 0)),
    }


def rate(name: str, rows: Sequence[Row]) -> float:
    c = tally(rows)
    tp, fp, fn, tn = c["tp"], c["fp"], c["fn"], c["tn"]
    if name == "balanced_accuracy":
        return (share(tp, tp + fn) + share(tn, tn + fp)) / 2
    over, under = {
        "selection_rate": (tp + fp, len(rows)),
        "base_rate": (tp + fn, len(rows)),
        "true_positive_rate": (tp, tp + fn),
        "false_positive_rate": (fp, fp + tn),
        "positive_predictive_value": (tp, tp + fp),
        "false_omission_rate": (fn, fn + tn),
        "accuracy": (tp + tn, len(rows)),
        "f1": (2 * tp, 2 * tp + fp + fn),
        "error_type_ratio": (fn, fp),
    }[name]
    return share(over, under)


RATES = (
    "selection_rate",
    "base_rate",
    "true_positive_rate",
    "false_positive_rate",
    "positive_predictive_value",
    "false_omission_rate",
    "accuracy",
    "f1",
    "error_type_ratio",
    "balanced_accuracy",
)
FIXED = ("selection_rate", "base_rate", "accuracy")


def divided(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    return a / b if b else math.inf


def compare(how: str, a: float, b: float) -> float:
    match how:
        case "difference":
            return a - b if not (math.isinf(a) and math.isinf(b)) else math.nan
        case "ratio":
            return divided(a, b)
        case "odds_ratio":
            return divided(a * (1 - b), b * (1 - a))
    raise AssertionError(how)


def key(row: Row, names: int) -> tuple[str | None, ...]:
    return (row[0], row[1])[:names]


def completions(rows: Sequence[Row], names: int) -> Iterator[list[Row]]:
    """Every way to fill in what is missing; somebody may be in no group of the data, or nowhere."""
    known = sorted({key(row, names) for row in rows if None not in key(row, names)})
    options: list[list[Row]] = []
    for row in rows:
        mine = key(row, names)
        if None in mine:
            fits: list[tuple[str | None, ...]] = [
                group
                for group in known
                if all(m in {None, g} for m, g in zip(mine, group, strict=True))
            ]
            fits.append((ELSEWHERE,) * names)
            fits.append((NOWHERE,) * names)
        else:
            fits = [mine]
        labels = [0, 1] if row[2] is None else [row[2]]
        outcomes = [0, 1] if row[3] is None else [row[3]]
        options.append(
            [
                (group[0], group[1] if names > 1 else row[1], y, p)
                for group in fits
                for y in labels
                for p in outcomes
            ]
        )
    for found in product(*options):
        yield [row for row in found if row[0] != NOWHERE]


def how_many(rows: Sequence[Row], names: int) -> int:
    found = 1
    for row in rows:
        found *= 5 if None in key(row, names) else 1
        found *= 2 ** (row[2:].count(None))
    return found


def groups_of(rows: Sequence[Row], names: int) -> list[tuple[str | None, ...]]:
    return sorted({key(row, names) for row in rows if None not in key(row, names)})


def of(rows: Iterable[Row], group: tuple[str | None, ...]) -> list[Row]:
    return [row for row in rows if key(row, len(group)) == group]


def beside(
    name: str, how: str, policy: ReferencePolicy, rows: Sequence[Row], groups: list[Any], g: int
) -> float:
    """One group against its reference: the first group, or what the policy says."""
    mine = rate(name, of(rows, groups[g]))
    values = [rate(name, of(rows, one)) for one in groups]
    known = [row for row in rows if None not in key(row, len(groups[g]))]
    match policy:
        case ReferencePolicy.LEVEL:
            other = values[0]
        case ReferencePolicy.REST:
            other = rate(name, [row for row in known if key(row, len(groups[g])) != groups[g]])
        case ReferencePolicy.OVERALL:
            other = rate(name, known)
        case _:
            if any(map(math.isnan, values)):
                return math.nan
            other = max(values) if policy is ReferencePolicy.HIGHEST else min(values)
    return compare(how, mine, other)


def spread(name: str, how: str, rows: Sequence[Row], groups: list[Any]) -> float:
    values = [rate(name, of(rows, one)) for one in groups]
    if any(map(math.isnan, values)):
        return math.nan
    high, low = max(values), min(values)
    return high - low if how == "gap" else divided(low, high)


def epsilon(rows: Sequence[Row], groups: list[Any], smoothing: float) -> float:
    found = []
    for outcome in (0, 1):
        shares = []
        for group in groups:
            mine = of(rows, group)
            if not mine:
                return math.nan
            count = sum(row[3] == outcome for row in mine) + smoothing
            shares.append(count / (len(mine) + 2 * smoothing))
        if max(shares):
            found.append(math.inf if not min(shares) else math.log(max(shares) / min(shares)))
    return max(found)


# From rows to the code under test.


def table_of(rows: Sequence[Row], names: int, *, aside: bool) -> GroupTable:
    """The table of the rows; no known group is shown as unknown, or set aside."""

    def levels(at: int) -> tuple[str, ...]:
        found = sorted({str(row[at]) for row in rows if row[at] is not None})
        return tuple(found) if aside else (*found, UNKNOWN)

    keys = [
        KeyColumn(
            name,
            Role.PROTECTED,
            levels(at),
            frozenset() if aside else frozenset({len(levels(at)) - 1}),
        )
        for at, name in enumerate(("g", "h"))
    ]
    keys += [
        KeyColumn("label", Role.LABEL, ("0", "1"), positive=frozenset({1})),
        KeyColumn("decision", Role.PREDICTION, ("0", "1"), positive=frozenset({1})),
    ]

    def code(row: Row, at: int) -> int:
        value = row[at]
        if at < 2:
            missing = NO_LEVEL if aside else len(keys[at].levels) - 1
            return missing if value is None else keys[at].levels.index(str(value))
        return NO_LEVEL if value is None else int(value)

    codes = np.array([[code(row, at) for at in range(4)] for row in rows], dtype=np.int32)
    ones = np.ones(len(rows), dtype=np.int64)
    ledger = Ledger(len(rows), len(rows), len(rows), 0, 0, (), ())
    cube = Cube.gather(keys, codes, ones, ones, ledger)
    return cube.table(("g", "h")[:names], (), "decision")


def levels_of(group: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    return tuple(level for _, level in group)


def checked(
    evaluation: Evaluation,
    w: int,
    values: Iterable[float],
    *,
    exact: str = "",
) -> None:
    """The defined values lie within the bounds, and those ends named `exact` are attained."""
    now = float(evaluation.value[0, w])
    if math.isnan(now):
        return
    found = [value for value in values if not math.isnan(value)]
    one = find_missing_bounds(evaluation, 0, w)
    low, high = min(found), max(found)
    if one is None:
        assert low == pytest.approx(now)
        assert high == pytest.approx(now)
        return
    assert one.reason is None
    assert one.low is not None
    assert one.high is not None
    assert one.low <= low or one.low == pytest.approx(low, abs=1e-12)
    assert one.high >= high or one.high == pytest.approx(high, abs=1e-12)
    if "low" in exact:
        assert one.low == pytest.approx(low, abs=1e-12)
    if "high" in exact:
        assert one.high == pytest.approx(high, abs=1e-12)


VALUES = st.sampled_from([0, 0, 1, 1, None])
GROUPS = st.sampled_from(["a", "a", "b", "b", "c"])
ROWS = st.lists(st.tuples(GROUPS, st.just("x"), VALUES, VALUES), min_size=2, max_size=9)
HOLES = st.lists(
    st.tuples(
        st.sampled_from(["a", "a", "b", "b", None]),
        st.sampled_from(["x", "x", "y", None]),
        VALUES,
        VALUES,
    ),
    min_size=2,
    max_size=7,
)


def prepared(rows: list[Row], names: int, *, aside: bool) -> tuple[GroupTable, list[Any], Any]:
    """The table, its known groups, and all completions."""
    assume(how_many(rows, names) <= _MOST)
    groups = groups_of(rows, names)
    assume(len(groups) > 1)
    table = table_of(rows, names, aside=aside)
    known = [levels_of(g) for g, k in zip(table.groups, table.known, strict=True) if k]
    assert known == groups
    return table, groups, list(completions(rows, names))


@examples(40)
@given(ROWS)
@example([("a", "x", 1, None), ("a", "x", 1, 1), ("b", "x", None, 0), ("b", "x", 1, 1)])
def test_bounds_of_rates_are_attained_where_groups_are_known(rows: list[Row]) -> None:
    table, groups, filled = prepared(rows, 1, aside=False)
    for name in RATES:
        evaluation = evaluate(_record(name), table, MetricOptions())
        exact = "" if name == "balanced_accuracy" else "low high"
        for g, group in enumerate(groups):
            values = [rate(name, of(one, group)) for one in filled]
            checked(evaluation, g, values, exact=exact)


@examples(40)
@given(ROWS)
def test_bounds_of_comparisons_are_attained_where_groups_are_known(rows: list[Row]) -> None:
    table, groups, filled = prepared(rows, 1, aside=False)
    for name, how, policy in product(
        ("selection_rate", "true_positive_rate", "positive_predictive_value"),
        ("difference", "ratio", "odds_ratio"),
        (
            ReferencePolicy.LEVEL,
            ReferencePolicy.REST,
            ReferencePolicy.OVERALL,
            ReferencePolicy.HIGHEST,
            ReferencePolicy.LOWEST,
        ),
    ):
        evaluation = evaluate(_measure(name, how), table, _terms(policy, table))
        exact = "low high"
        if policy is ReferencePolicy.OVERALL and name not in FIXED:
            exact = ""
        for g in range(len(groups)):
            if policy is ReferencePolicy.LEVEL and g == 0:
                continue
            values = [beside(name, how, policy, one, groups, g) for one in filled]
            checked(evaluation, g, values, exact=exact)


@examples(40)
@given(ROWS)
def test_the_worst_spread_is_attained_where_groups_are_known(rows: list[Row]) -> None:
    table, groups, filled = prepared(rows, 1, aside=False)
    for name in ("selection_rate", "true_positive_rate", "accuracy", "false_omission_rate"):
        for how, exact in (("gap", "high"), ("min_ratio", "low")):
            evaluation = evaluate(_measure(name, how), table, MetricOptions())
            checked(evaluation, 0, [spread(name, how, one, groups) for one in filled], exact=exact)
    for smoothing in (0, 1):
        terms = MetricOptions(parameters=Parameters(smoothing=Decimal(smoothing)))
        evaluation = evaluate(_record("differential_fairness"), table, terms)
        values = [epsilon(one, groups, smoothing) for one in filled]
        checked(evaluation, 0, values, exact="high")


@examples(80)
@given(HOLES, st.sampled_from([1, 2]), st.booleans())
def test_no_completion_is_outside_where_groups_are_missing(
    rows: list[Row], names: int, aside: bool
) -> None:
    table, groups, filled = prepared(rows, names, aside=aside)
    at = [g for g in range(len(table.groups)) if table.known[g]]
    for name in RATES:
        evaluation = evaluate(_record(name), table, MetricOptions())
        for g, group in zip(at, groups, strict=True):
            checked(evaluation, g, [rate(name, of(one, group)) for one in filled])
    for name, how, policy in product(
        ("selection_rate", "true_positive_rate"),
        ("difference", "ratio"),
        (
            ReferencePolicy.LEVEL,
            ReferencePolicy.REST,
            ReferencePolicy.OVERALL,
            ReferencePolicy.HIGHEST,
            ReferencePolicy.LOWEST,
        ),
    ):
        evaluation = evaluate(_measure(name, how), table, _terms(policy, table))
        for index, g in enumerate(at):
            if policy is not ReferencePolicy.LEVEL or index:
                values = [beside(name, how, policy, one, groups, index) for one in filled]
                checked(evaluation, g, values)
    for name, how in product(("selection_rate", "accuracy"), ("gap", "min_ratio")):
        evaluation = evaluate(_measure(name, how), table, MetricOptions())
        checked(evaluation, 0, [spread(name, how, one, groups) for one in filled])
    evaluation = evaluate(_record("differential_fairness"), table, MetricOptions())
    checked(evaluation, 0, [epsilon(one, groups, 0) for one in filled])


@examples(40)
@given(ROWS)
def test_no_completion_of_a_criterion_is_outside(rows: list[Row]) -> None:
    table, groups, filled = prepared(rows, 1, aside=False)
    both = ("true_positive_rate", "false_positive_rate")
    gaps = [[spread(name, "gap", one, groups) for name in both] for one in filled]
    mean = [math.nan if any(map(math.isnan, one)) else sum(one) / 2 for one in gaps]
    worst = [math.nan if any(map(math.isnan, one)) else max(one) for one in gaps]
    checked(evaluate(_record("equalized_odds_difference"), table, MetricOptions()), 0, worst)
    checked(evaluate(_record("equalized_odds_mean"), table, MetricOptions()), 0, mean)
    terms = _terms(ReferencePolicy.REST, table)
    for g in range(len(groups)):
        pairs = [
            [beside(name, "difference", ReferencePolicy.REST, one, groups, g) for name in both]
            for one in filled
        ]
        folds: dict[str, Callable[[list[float]], float]] = {
            "average_odds_difference": lambda two: sum(two) / 2,
            "average_odds_error": lambda two: sum(map(abs, two)) / 2,
            "fairmlhealth_equal_odds_difference": lambda two: max(two, key=abs),
        }
        for name, fold in folds.items():
            values = [math.nan if any(map(math.isnan, two)) else fold(two) for two in pairs]
            checked(evaluate(_record(name), table, terms), g, values)


@examples(40)
@given(HOLES, st.booleans())
def test_the_three_ways_lie_within_each_other(rows: list[Row], aside: bool) -> None:
    table = table_of(rows, 1, aside=aside)
    assume(table.known.sum() > 1)
    evaluation = evaluate(_record("selection_rate"), table, MetricOptions())
    for g in np.flatnonzero(table.known).tolist():
        one, now = find_missing_bounds(evaluation, 0, g), evaluation.value[0, g]
        assume(one is not None)
        assert one is not None
        ends = (one.low, one.apart_low, now, one.apart_high, one.high)
        if not math.isnan(now):
            assert all(a <= b + 1e-12 for a, b in pairwise(ends))
            assert one.low <= one.proportional_low + 1e-12  # type: ignore[operator]
            assert one.proportional_high <= one.high + 1e-12  # type: ignore[operator]


def _record(name: str) -> Any:
    found = find_metric(name)
    assert found is not None
    return found


def _measure(name: str, how: str) -> Disparity:
    found = find_comparison(how)
    assert found is not None
    return build_disparity(_record(name), found)


def _terms(policy: ReferencePolicy, table: GroupTable) -> MetricOptions:
    group = next(g for g, known in zip(table.groups, table.known, strict=True) if known)
    return MetricOptions(
        reference=Reference(policy, group if policy is ReferencePolicy.LEVEL else ())
    )


def test_bounds_by_hand() -> None:
    """4 of 10 known ones and 10 not known against 6 of 10: 4/20 .. 14/20 (metrics.md §12)."""
    rows: list[Row] = [("a", "x", 1, 1)] * 4 + [("a", "x", 1, 0)] * 6 + [("a", "x", 1, None)] * 10
    rows += [("b", "x", 1, 1)] * 6 + [("b", "x", 1, 0)] * 4 + [(None, "x", 1, 1)] * 3
    table = table_of(rows, 1, aside=False)
    evaluation = evaluate(_record("selection_rate"), table, MetricOptions())
    one = find_missing_bounds(evaluation, 0, 0)
    assert one is not None
    assert (one.missing_outcome, one.missing_group) == (10, 3)
    assert (one.apart_low, one.apart_high) == (4 / 20, 14 / 20)
    # Of the three of no known group two thirds belong to the larger group.
    assert (one.proportional_low, one.proportional_high) == (6 / 22, 16 / 22)
    assert (one.low, one.high) == (4 / 20, 17 / 23)


@pytest.mark.parametrize(
    ("low", "high", "limit", "turns"),
    [
        (0.7, 0.9, Limit(below=Decimal("0.8")), True),
        (0.8, 0.9, Limit(below=Decimal("0.8")), False),
        (0.7, 0.79, Limit(below=Decimal("0.8")), False),
        (0.7, 0.8, Limit(below=Decimal("0.8")), True),
        (-0.3, 0.3, Limit(below=Decimal("-0.1"), above=Decimal("0.1")), True),
        (0.2, 0.3, Limit(below=Decimal("-0.1"), above=Decimal("0.1")), False),
        (0.5, math.inf, Limit(above=Decimal(2)), True),
    ],
)
def test_a_verdict_turns_where_both_sides_of_the_limit_are_open(
    low: float, high: float, limit: Limit, turns: bool
) -> None:
    ends = np.array([low]), np.array([high])
    may, must = (missing_bounds._is_beyond(*pair, limit) for pair in (ends, ends[::-1]))
    assert bool(may[0] and not must[0]) is turns


# From the spec to the sentence.

SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["race"],
        "decision": {"column": "y", "positive": 1, "negative": 0},
        "count": "n",
    },
    "missing": {"prediction": "aside"},
}


def text_of(**groups: tuple[int, int, int]) -> str:
    """CSV text: for each group who is selected, who is not, and whose outcome is not known."""
    lines = ["race,y,n"]
    for group, cells in groups.items():
        name = "" if group == "unknown" else group
        lines += [f"{name},{y},{n}" for y, n in zip(("1", "0", ""), cells, strict=True) if n]
    return "\n".join(lines) + "\n"


def only(result: AuditResult) -> Finding:
    (finding,) = result.findings
    return finding


def gate(metric: str, **more: Any) -> dict[str, Any]:
    return {**SPEC, "metrics": [{"metric": metric, **more}]}


def test_a_pass_that_missing_outcomes_could_turn_says_so(audit_csv: Audit) -> None:
    text = text_of(a=(50, 50, 0), b=(45, 45, 20))
    result = audit_csv(text, gate("demographic_parity_ratio", fail={"below": 0.9}))
    finding = only(result)
    assert finding.status is Status.PASS
    assert finding.missing is not None
    assert finding.missing.turns
    assert finding.missing.missing_outcome == 20
    # 45/110 against 50/100, or 50/100 against 65/110.
    assert finding.missing.low == pytest.approx((45 / 110) / 0.5)
    assert finding.missing.high == pytest.approx(1)


@pytest.mark.parametrize("protected", ["show", "aside"])
def test_people_of_no_known_group_count_whatever_becomes_of_them(
    audit_csv: Audit, protected: str
) -> None:
    text = text_of(a=(50, 50, 0), b=(47, 53, 0), unknown=(0, 30, 0))
    spec = gate("demographic_parity_ratio", fail={"below": 0.8})
    spec["missing"] = {"protected": protected}
    found = only(audit_csv(text, spec)).missing
    assert found is not None
    assert (found.missing_outcome, found.missing_group, found.turns) == (0, 30, True)
    assert found.low == pytest.approx((47 / 130) / 0.5)
    assert found.apart_low == found.apart_high == pytest.approx(0.94)


def test_the_group_that_might_become_the_worst_is_named(audit_csv: Audit) -> None:
    """The value that decides is safe; a group whose outcomes are not known might be beyond."""
    text = text_of(a=(50, 50, 0), b=(42, 58, 0), c=(33, 33, 60))
    finding = only(audit_csv(text, gate("impact_ratio", fail={"below": 0.8})))
    assert finding.status is Status.PASS
    assert finding.missing is not None
    assert {one.group for one in finding.missing.others} >= {(("race", "c"),)}
    assert finding.missing.turns


def test_the_highest_group_may_turn_out_not_to_be_it(audit_csv: Audit) -> None:
    text = text_of(a=(51, 29, 60), b=(60, 40, 0))
    finding = only(audit_csv(text, gate("impact_ratio", fail={"below": 0.8})))
    assert finding.first == (("race", "b"),)
    assert finding.missing is not None
    assert [one.group for one in finding.missing.others] == [(("race", "a"),)]


def test_a_failure_is_certain_where_no_completion_passes(audit_csv: Audit) -> None:
    text = text_of(a=(90, 10, 0), b=(10, 80, 10))
    finding = only(audit_csv(text, gate("demographic_parity_ratio", fail={"below": 0.8})))
    assert finding.status is Status.FAIL
    assert finding.missing is not None
    assert not finding.missing.turns


def test_nothing_is_said_where_nothing_is_missing(audit_csv: Audit) -> None:
    text = text_of(a=(50, 50, 0), b=(45, 55, 0))
    assert only(audit_csv(text, gate("impact_ratio", fail={"below": 0.8}))).missing is None


def test_what_has_no_bounds_says_why(audit_csv: Audit) -> None:
    text = text_of(a=(50, 50, 300), b=(45, 55, 0))
    found = only(audit_csv(text, gate("normalized_difference", reference="rest",
                                      fail={"outside": [-0.5, 0.5]}))).missing  # fmt: skip
    assert found is not None
    assert (found.low, found.missing_outcome) == (None, 300)
    assert found.reason


def test_the_limits_decide_what_could_turn() -> None:
    rows: list[Row] = [("a", "x", 1, 1), ("a", "x", 1, 0), ("b", "x", 1, 1), ("b", "x", 1, None)]
    evaluation = evaluate(
        _measure("selection_rate", "gap"), table_of(rows, 1, aside=False), MetricOptions()
    )
    found = judge_missing(evaluation, 0, 0, Limit(above=Decimal("0.2")), None)
    assert found is not None
    assert (found.low, found.high, found.turns) == (0, 0.5, True)
    sure = judge_missing(evaluation, 0, 0, Limit(above=Decimal("0.6")), None)
    assert sure is not None
    assert not sure.turns


def test_survey_weights_bound_by_what_people_weigh(audit_csv: Audit) -> None:
    text = "race,y,w\na,1,2.5\na,0,1.5\na,,1\nb,1,1\nb,0,1\n"
    spec = gate("statistical_parity_difference", reference="rest", fail={"outside": [-0.9, 0.9]})
    spec["columns"] = {**SPEC["columns"], "weight": "w"}
    del spec["columns"]["count"]
    found = only(audit_csv(text, spec)).missing
    assert found is not None
    assert found.missing_outcome == 1
    assert found.low == pytest.approx(2.5 / 5 - 0.5)
    assert found.high == pytest.approx(3.5 / 5 - 0.5)


STRATA = """\
race,site,y,n
a,x,1,5
a,x,0,5
a,x,,2
b,x,1,4
b,x,0,6
a,y,1,5
a,y,0,5
b,y,1,4
b,y,0,5
"""


def in_strata(**more: Any) -> dict[str, Any]:
    spec = gate("demographic_parity_difference", fail={"above": 0.2}, given="site", **more)
    spec["columns"] = {**SPEC["columns"], "strata": ["site"]}
    return spec


def test_each_stratum_has_bounds_of_its_own(audit_csv: Audit) -> None:
    found = only(audit_csv(STRATA, in_strata())).missing
    assert found is not None
    assert found.missing_outcome == 2
    assert found.low == pytest.approx(5 / 12 - 0.4)
    assert found.high == pytest.approx(7 / 12 - 0.4)
    assert not found.turns


def test_averages_over_strata_are_not_bounded_if_many_are_missing(audit_csv: Audit) -> None:
    """300 people with two possible outcomes are 301 completions."""
    many = STRATA.replace("a,x,,2", "a,x,,300")
    found = only(audit_csv(many, in_strata(average="pooled"))).missing
    assert found is not None
    assert (found.low, found.missing_outcome) == (None, 300)
    assert found.reason == "the rates are averaged over strata"


def test_thresholds_and_models_keep_their_bounds(audit_csv: Audit) -> None:
    """Labels that are not known, at a threshold of the score and between two models."""
    text = "race,label,p,q,s\n" + "".join(
        f"{race},{label},{p},{q},{s}\n"
        for race in "ab"
        for label, p, q, s in (
            ("1", 1, 0, 0.9),
            ("1", 0, 1, 0.2),
            ("0", 1, 1, 0.6),
            ("", 0, 0, 0.1),
        )
    )
    one, two = ({"column": name, "positive": 1, "negative": 0} for name in ("p", "q"))
    columns = {"protected": ["race"], "label": {"column": "label", "positive": 1, "negative": 0}}
    limit = {"above": 0.9}
    at = {
        "columns": {**columns, "prediction": one, "score": "s"},
        "metrics": [{"metric": "equal_opportunity_difference", "at": 0.5, "fail": limit}],
    }
    found = only(audit_csv(text, at)).missing
    assert found is not None
    # 1 of 2 in each group, 1 of 3 where the label of the one not selected is positive.
    assert found.low == 0
    assert found.high == pytest.approx(1 / 6)
    models = {"now": {"prediction": one}, "next": {"prediction": two}}
    against = {
        "columns": {**columns, "models": models},
        "metrics": [
            {
                "metric": "equal_opportunity_difference",
                "of": "next",
                "against": "now",
                "fail": limit,
            }
        ],
    }
    found = only(audit_csv(text, against)).missing
    assert found is not None
    assert found.low == pytest.approx(-1 / 6)
    assert found.high == pytest.approx(1 / 6)


def test_total_variation_of_two_outcomes_is_the_selection_gap() -> None:
    """One quantity has one value, one interval, and the same bounds of what is missing."""
    rows = [
        {"g": g, "p": p}
        for g, p, n in (
            ("a", 1, 30), ("a", 0, 20), ("a", None, 5), ("b", 1, 12), ("b", 0, 28), ("b", None, 3),
            ("c", 1, 9), ("c", 0, 11), (None, 1, 4),
        )
        for _ in range(n)
    ]  # fmt: skip
    metrics = [
        {"metric": name, "fail": {"above": 0.9}}
        for name in ("total_variation", "demographic_parity_difference")
    ]
    spec = {
        "columns": {"protected": ["g"], "prediction": {"column": "p", "positive": 1}},
        "missing": {"prediction": "aside"},
        "metrics": metrics,
    }
    first, second = fairaudit.audit(spec, pl.DataFrame(rows)).findings
    for finding in (first, second):
        assert finding.missing is not None
        assert finding.missing.low is not None
    assert (first.value, first.low, first.high) == pytest.approx(
        (second.value, second.low, second.high), rel=1e-12
    )
    ends = ("low", "high", "apart_low", "apart_high", "proportional_low", "proportional_high")
    for end in ends:
        assert getattr(first.missing, end) == pytest.approx(getattr(second.missing, end), rel=1e-12)


@given(st.integers(0, 10**6))
@examples(25)
def test_total_variation_of_three_outcomes_lies_within_its_bounds(seed: int) -> None:
    """Every completion of a few rows without an outcome, by plain counts."""
    draw = np.random.default_rng(seed)
    rows: list[tuple[str, int | None]] = [(g, int(p)) for g in "ab" for p in draw.integers(0, 3, 6)]
    rows += [(str(draw.choice(["a", "b"])), None) for _ in range(3)]
    spec = {
        "columns": {"protected": ["g"], "prediction": {"column": "p", "order": [0, 1, 2]}},
        "missing": {"prediction": "aside"},
        "metrics": [{"metric": "total_variation", "fail": {"above": 0.99}}],
    }
    (finding,) = fairaudit.audit(spec, pl.DataFrame(rows, ["g", "p"], orient="row")).findings
    assert finding.missing is not None
    found = []
    for filled in product(range(3), repeat=3):
        whole = [(g, p) for g, p in rows if p is not None]
        whole += [(rows[12 + at][0], p) for at, p in enumerate(filled)]
        shares = [
            [
                sum(row == (g, y) for row in whole) / sum(row[0] == g for row in whole)
                for y in range(3)
            ]
            for g in "ab"
        ]
        found.append(sum(abs(one - two) for one, two in zip(*shares, strict=True)) / 2)
    assert finding.missing.low <= min(found) + 1e-12
    assert finding.missing.high >= max(found) - 1e-12
