"""The regression slope with declared controls: statsmodels prints the same; laws; faults."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from time import process_time
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import SAMPLES, examples, sentence_of
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.regression.linear_model import OLS

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.judge import Finding, Status
from fairaudit.report import FORMATS
from fairaudit.result import Answer, AuditResult
from fairaudit.result.rows import ComparisonRow

OUTCOMES: dict[str, dict[str, Any]] = {
    "class": {"decision": {"column": "y", "positive": 1, "negative": 0}},
    "number": {"prediction": {"column": "y", "number": True}},
    "score": {"prediction": {"column": "p", "positive": 1, "negative": 0}, "score": "y"},
}
Row = tuple[str, str | None, str | None, int, int]
LEVELS = st.sampled_from(["u0", "u1", "u2", None])
CONTROLS = st.tuples(LEVELS, st.sampled_from(["v0", "v1", "v2", "v3"]))
OTHERS = st.lists(
    st.builds(
        lambda group, controls, p, x: (group, *controls, p, x),
        st.sampled_from("abcd"),
        CONTROLS,
        st.integers(0, 1),
        st.integers(-3, 9),
    ),
    min_size=3,
    max_size=60,
)
ROWS = st.builds(
    lambda one, two, others: [("a", *one, 0, 2), ("a", *two, 1, 5), *others],
    CONTROLS,
    CONTROLS,
    OTHERS,
)
"""The reference and both classes occur; whether where the controls are known is left to chance."""


def frame(rows: Sequence[Row], outcome: str = "class") -> pl.DataFrame:
    """Rows of group, two controls, a class and a number, as the spec of that outcome reads them."""
    schema = dict.fromkeys(("group", "u", "v"), pl.String) | dict.fromkeys("px", pl.Int64)
    found = pl.DataFrame(rows, schema=schema, orient="row")
    return found.with_columns(y=pl.col("p" if outcome == "class" else "x") / 1)


def audit(
    data: pl.DataFrame, *metrics: Mapping[str, Any], outcome: str = "class", **more: Any
) -> AuditResult:
    columns = {
        "protected": {"group": {"reference": "a"}},
        "strata": ["u", "v"],
        **OUTCOMES[outcome],
        **more.pop("columns", {}),
    }
    return fairaudit.audit({"columns": columns, "metrics": list(metrics), **more}, data)


def slopes(result: AuditResult, at: int = 0) -> dict[str, ComparisonRow]:
    """The rows of one entry by group: that with so many controls as the entry at that place."""
    said = list(dict.fromkeys(str(row.parameters) for row in result.comparisons))
    return {
        row.group[0][1]: row
        for row in result.comparisons
        if row.group and row.metric == "regression_slope" and str(row.parameters) == said[at]
    }


def dummies(columns: Sequence[Sequence[str]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A column for every level of every variable, the first one's first."""
    made = [
        [float(value == level) for value in column]
        for column in columns
        for level in sorted(set(column))
    ]
    return np.array(made).T


def independent(design: Any) -> list[int]:
    """The columns that earlier ones do not give, one by one."""
    kept: list[int] = []
    for at in range(design.shape[1]):
        if np.linalg.matrix_rank(design[:, [*kept, at]]) > len(kept):
            kept.append(at)
    return kept


def robust_error(
    fit: Any, contrast: Any, groups: Sequence[str], *, is_yes_no: bool = False
) -> tuple[float, float]:
    """The HC2 standard error of a contrast and its degrees of freedom, by a loop over people.

    Each group is a component of n - 1 degrees of freedom, of the n = (Σ w²)² / Σ w⁴ who decide;
    if they are few, it has at least a part of the pooled variance. NaN if a person who matters has
    leverage 1. Of a yes/no outcome, a group that is smaller than the others together has at least
    the variance of up to two more hits and two more misses.
    """
    x = fit.model.exog
    inverse = np.linalg.inv(x.T @ x)
    weights, leverage = x @ inverse @ contrast, ((x @ inverse) * x).sum(axis=1)
    total, doubt = 0.0, 0.0
    for g in sorted(set(groups)):
        own = [at for at, name in enumerate(groups) if name == g and abs(weights[at]) > 1e-9]
        n = sum(name == g for name in groups)
        if not own:
            continue
        if n < 2 or any(leverage[at] > 1 - 1e-9 for at in own):
            return math.nan, math.nan
        squares = sum(weights[at] ** 2 for at in own)
        part = sum(weights[at] ** 2 * fit.resid[at] ** 2 / (1 - leverage[at]) for at in own)
        decide = min(round(squares**2 / sum(weights[at] ** 4 for at in own), 9), n)
        if decide < 2:
            return math.nan, math.nan
        m, df, variance = len(groups) - n, decide - 1, part / squares
        freedom = decide - 1 + max(m - 1, 0)
        pooled = (fit.ssr + variance * (decide - n)) / freedom
        least = min(10 / decide, 1) * max(1 - decide / m, 0) * pooled if m else 0.0
        if variance < least:
            part, df = least * squares, freedom
        if is_yes_no:
            share = (1 - math.sqrt(max(1 - 4 * part / squares, 0))) / 2
            more = 2 * max(1 - decide / m, 0) if m else 0.0
            share = (share * decide + more) / (decide + 2 * more)
            part = max(part, share * (1 - share) * squares)
        total += part
        doubt += part**2 / df
    return math.sqrt(total), total**2 / doubt if doubt else math.nan


def test_of_large_groups_the_error_is_hc2_of_statsmodels() -> None:
    random = np.random.default_rng(11)
    rows: list[Row] = [
        (str(g), f"u{u}", f"v{v}", int(random.random() < 0.2 + 0.1 * u + 0.05 * v), 0)
        for g, u, v in zip(
            random.choice(["a", "b", "c"], 900, p=[0.5, 0.3, 0.2]),
            random.integers(3, size=900),
            random.integers(4, size=900),
            strict=True,
        )
    ]
    data = frame(rows)
    design = dummies([data[name].to_list() for name in ("group", "u", "v")])
    basis = independent(design)
    theirs = OLS(data["y"].to_numpy(), design[:, basis]).fit(cov_type="HC2")
    for group, row in slopes(audit(data, METRIC)).items():
        contrast = np.zeros(len(basis))
        contrast["abc".index(group)], contrast[0] = 1, -1
        test = theirs.t_test(contrast)
        assert row.estimate.value == pytest.approx(float(test.effect[0]), abs=1e-12)
        assert row.estimate.low is not None
        assert row.estimate.high is not None
        half = (row.estimate.high - row.estimate.low) / 2
        assert half == pytest.approx(1.96 * float(test.sd[0, 0]), rel=0.01)
        assert row.estimate.method == "HC2"


def test_unequal_groups_with_unequal_spread_raise_no_alarm() -> None:
    """The pooled variance gives p = .0008 here, HC1 of statsmodels .109."""
    cells = (("a", 1, 1, 109), ("a", 1, 0, 100), ("a", 2, 1, 30), ("a", 2, 0, 1761),
             ("b", 1, 1, 39), ("b", 1, 0, 53), ("b", 2, 0, 8))  # fmt: skip
    rows: list[Row] = [(g, f"u{z}", "v0", d, 0) for g, z, d, n in cells for _ in range(n)]
    limit = {"fail": {"outside": [-0.03, 0.03], "significant": True}}
    result = audit(frame(rows), {"metric": "regression_slope", "controls": "u", **limit})
    (one,) = result.findings
    assert one.status is not Status.FAIL
    assert one.estimate is not None
    assert one.estimate.significance is not None
    assert 0.09 < one.estimate.significance.p < 0.13


def test_a_few_people_of_a_stratum_are_no_evidence() -> None:
    """All three of b in u0 are selected as 90 of 100 of a, and so the other way round in u1."""
    cells = (("a", 0, 1, 90), ("a", 0, 0, 10), ("b", 0, 1, 3),
             ("a", 1, 0, 3), ("b", 1, 1, 10), ("b", 1, 0, 90))  # fmt: skip
    rows: list[Row] = [(g, f"u{z}", "v0", d, 0) for g, z, d, n in cells for _ in range(n)]
    row = slopes(audit(frame(rows), {"metric": "regression_slope", "controls": "u"}))["b"]
    assert row.estimate.value == pytest.approx(0.1)
    # Fisher's test in each stratum: 90 of 100 against 3 of 3, and 0 of 3 against 10 of 100.
    for table in ([[90, 10], [3, 0]], [[0, 3], [10, 90]]):
        assert stats.fisher_exact(table).pvalue == pytest.approx(1)
    assert row.estimate.significance is not None
    assert row.estimate.significance.p > 0.3
    assert row.estimate.low is not None
    assert row.estimate.high is not None
    assert row.estimate.low < 0 < row.estimate.high


@pytest.mark.long
@pytest.mark.parametrize("outcome", OUTCOMES)
@pytest.mark.parametrize("controls", [(), ("u",), ("u", "v")], ids=len)
@examples(40)
@given(rows=ROWS)
def test_statsmodels_prints_the_same_slopes(
    rows: list[Row], outcome: str, controls: tuple[str, ...]
) -> None:
    data = frame(rows, outcome)
    assume(outcome != "class" or data["p"].n_unique() == 2)
    metric = {"metric": "regression_slope", **({"controls": [*controls]} if controls else {})}
    found = slopes(audit(data, metric, outcome=outcome))
    whole = data.drop_nulls(list(controls))
    groups = sorted(set(whole["group"]))
    design = dummies([whole[name].to_list() for name in ("group", *controls)])
    assert set(found) == set(data["group"]) - {"a"}
    if len(groups) < 2 or "a" not in groups:
        assert all(math.isnan(row.estimate.value) for row in found.values())
        return
    y = whole["y"].to_numpy()
    basis = independent(design)
    theirs, rank = OLS(y, design[:, basis]).fit(), len(basis)
    for group, row in found.items():
        value = row.estimate.value
        if group not in groups:
            assert math.isnan(value)
            assert row.estimate.reason
            continue
        contrast = np.zeros(design.shape[1])
        contrast[groups.index(group)], contrast[groups.index("a")] = 1, -1
        if np.linalg.matrix_rank(np.vstack([design, contrast])) > rank:
            assert math.isnan(value), "no combination of rows tells this"
            assert "collinear" in (row.estimate.reason or "")
            continue
        assert value == pytest.approx(float(theirs.params @ contrast[basis]), abs=1e-9)
        spread = theirs.ssr > 1e-9 * max(float(((y - y.mean()) ** 2).sum()), 1e-9)
        if theirs.df_resid < 1 or not spread:
            assert row.estimate.low is None
            assert row.estimate.significance is None
            continue
        is_yes_no = outcome == "class"
        error, df = robust_error(
            theirs, contrast[basis], whole["group"].to_list(), is_yes_no=is_yes_no
        )
        if math.isnan(error) or error == 0:
            assert row.estimate.low is None
            continue
        reach = stats.t.ppf(0.975, df) * error
        assert row.estimate.low is not None
        assert row.estimate.high is not None
        assert row.estimate.significance is not None
        assert row.estimate.significance.test == "least squares t"
        p = 2 * stats.t.sf(abs(value) / error, df)
        assert row.estimate.low == pytest.approx(value - reach, abs=1e-6)
        assert row.estimate.high == pytest.approx(value + reach, abs=1e-6)
        assert row.estimate.significance.p == pytest.approx(p, rel=1e-5, abs=1e-9)


@given(rows=ROWS)
def test_without_controls_it_is_the_difference_of_rates(rows: list[Row]) -> None:
    data = frame(rows)
    assume(data["p"].n_unique() == 2)
    limit = {"fail": {"outside": [-0.1, 0.1]}}
    result = audit(
        data,
        {"metric": "regression_slope", **limit},
        {"metric": "selection_rate", "compare": "difference", **limit},
    )
    one, two = result.findings
    assert one.estimate is None or two.estimate is not None
    assert one.status == two.status
    if one.estimate and two.estimate:
        assert one.estimate.value == two.estimate.value
        assert one.estimate.exact == two.estimate.exact
        assert (one.estimate.exact is None) == math.isnan(one.estimate.value)


def test_a_limit_without_controls_is_held_exactly() -> None:
    """30/50 less 24/50 is not above 0.12, whatever floats say of it."""
    rows = [("a", "u0", "v0", at < 24, 0) for at in range(50)]
    rows += [("b", "u0", "v0", at < 30, 0) for at in range(50)]
    for limit, status in (("0.12", Status.PASS), ("0.119999999999", Status.FAIL)):
        metric = {"metric": "regression_slope", "fail": {"outside": ["-0.5", limit]}}
        (one,) = audit(frame(rows), metric).findings
        assert one.status is status
        assert one.estimate is not None
        assert one.estimate.exact == Fraction(12, 100)


METRIC = {"metric": "regression_slope", "controls": ["u", "v"]}


@given(rows=ROWS, names=st.permutations("wxyz"), data=st.data())
def test_names_and_order_change_nothing(
    rows: list[Row], names: list[str], data: st.DataObject
) -> None:
    assume(len({row[3] for row in rows}) == 2)
    shuffled = data.draw(st.permutations(rows))
    new = dict(zip("abcd", names, strict=True))
    level = {"u0": "9", "u1": "5", "u2": "7", None: None}
    renamed = [(new[g], level[u], f"{9 - int(str(v)[1])}", p, x) for g, u, v, p, x in shuffled]
    before = slopes(audit(frame(rows), METRIC))
    columns = {"protected": {"group": {"reference": new["a"]}}}
    after = slopes(audit(frame(renamed), {**METRIC, "controls": ["v", "u"]}, columns=columns))
    assert {new[group] for group in before} == set(after)
    for group, row in before.items():
        one, two = row.estimate, after[new[group]].estimate
        assert one.value == pytest.approx(two.value, abs=1e-9, nan_ok=True)
        for side in ("low", "high"):
            assert getattr(one, side) == pytest.approx(getattr(two, side), abs=1e-7)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 1)), min_size=2, max_size=5),
    st.integers(0, 2**32 - 1),
)
def test_a_control_that_is_alike_in_all_groups_changes_nothing(
    mix: list[tuple[int, int]], seed: int
) -> None:
    """Every group has the same people at each level, times its size: nothing is confounded."""
    random = np.random.default_rng(seed)
    rows: list[Row] = []
    for size, group in ((1, "a"), (3, "b"), (2, "c")):
        for at, (people, _) in enumerate(mix):
            rows += [
                (group, f"u{at}", "v0", int(random.integers(2)), 0) for _ in range(size * people)
            ]
    assume(len({row[3] for row in rows}) == 2)
    crude = slopes(audit(frame(rows), {"metric": "regression_slope"}))
    fitted = slopes(audit(frame(rows), {"metric": "regression_slope", "controls": "u"}))
    for group, row in crude.items():
        assert fitted[group].estimate.value == pytest.approx(row.estimate.value, abs=1e-12)


def berkeley(*metrics: Any) -> AuditResult:
    columns = {
        "protected": {"gender": {"reference": "men"}},
        "decision": {"column": "decision", "positive": "admitted"},
        "count": "n",
        "strata": ["department"],
    }
    data = str(SAMPLES / "berkeley_admissions.csv")
    return fairaudit.audit({"data": data, "columns": columns, "metrics": [*metrics]})


def test_berkeley_turns_round_at_equal_departments() -> None:
    """With two groups and one control the slope is the Mantel–Haenszel risk difference."""
    rows = pl.read_csv(SAMPLES / "berkeley_admissions.csv").group_by(["department", "gender"])
    counts = {
        key: (int(one.filter(pl.col("decision") == "admitted")["n"].sum()), int(one["n"].sum()))
        for key, one in rows
    }
    above, below = Fraction(0), Fraction(0)
    for department in "ABCDEF":
        (a, n), (c, m) = (counts[department, who] for who in ("women", "men"))
        above += Fraction(n * m, n + m) * (Fraction(a, n) - Fraction(c, m))
        below += Fraction(n * m, n + m)
    limit = {"fail": {"outside": [-0.05, 0.05], "significant": True}}
    crude, fitted = berkeley(
        {"metric": "regression_slope", **limit},
        {"metric": "regression_slope", "controls": "department", **limit},
    ).findings
    assert crude.estimate is not None
    assert fitted.estimate is not None
    assert crude.estimate.value == pytest.approx(-0.141645, abs=5e-7), "metrics.md §6"
    assert fitted.estimate.value == pytest.approx(float(above / below), abs=1e-12)
    assert fitted.estimate.value > 0
    assert (crude.status, fitted.status) == (Status.FAIL, Status.PASS)
    assert fitted.check.id == "regression_slope.controls=department/gender/decision"


def confounded(planted: float, n: int = 4000) -> pl.DataFrame:
    """Group b stands where fewer are selected; there it is selected less by what is planted."""
    random = np.random.default_rng(3)
    b = random.random(n) < 0.5
    poor = random.random(n) < np.where(b, 0.8, 0.2)
    chance = np.where(poor, 0.3, 0.7) - planted * b
    rows: list[Row] = [
        ("b" if one else "a", f"u{int(two)}", "v0", int(random.random() < three), 0)
        for one, two, three in zip(b, poor, chance.tolist(), strict=True)
    ]
    return frame(rows)


@pytest.mark.parametrize(("planted", "status"), [(0.0, Status.PASS), (0.15, Status.FAIL)])
def test_what_is_planted_is_found_and_what_is_confounded_is_not(
    planted: float, status: Status
) -> None:
    limit: dict[str, Any] = {"metric": "regression_slope"}
    limit |= {"fail": {"outside": [-0.05, 0.05], "significant": True}}
    metrics = [{**limit, "controls": "u"}, limit]
    fitted, crude = audit(confounded(planted), *metrics).findings
    assert fitted.status is status
    assert crude.status is Status.FAIL
    assert fitted.estimate is not None
    assert fitted.estimate.value == pytest.approx(-planted, abs=0.04)


def finding(rows: Sequence[Row], controls: Sequence[str], **more: Any) -> Finding:
    metric: dict[str, Any] = {"metric": "regression_slope", "controls": [*controls]}
    metric |= {"fail": {"outside": [-0.5, 0.5]}}
    (one,) = audit(frame(rows), metric, **more).findings
    return one


CROSSED: list[Row] = [
    (group, u, v, p, 0)
    for group in "ab"
    for u in ("u0", "u1")
    for v in ("v0", "v1")
    for p in (0, 1)
]


def test_a_group_that_coincides_with_a_level_has_no_value_and_names_it() -> None:
    rows = [*CROSSED, *((("c"), "u2", "v0", p, 0) for p in (0, 1, 1))]
    one = finding(rows, ["u", "v"])
    assert one.status is Status.INCONCLUSIVE, "never a pass"
    (told,) = [who for who in one.not_evaluated if who.blocks]
    assert told.group == (("group", "c"),)
    assert told.reason == "regression_slope: collinear, group=c coincides with u=u2"
    assert one.estimate is not None, "group b has its value all the same"
    assert finding(rows, ["v"]).status is Status.PASS


def test_a_reference_that_coincides_with_a_level_leaves_every_group_open() -> None:
    """In R's lm the first of two groups would have a number here: that against the second."""
    rows = [("a", "u2", "v0", p, 0) for p in (0, 1)]
    rows += [(group, u, "v0", p, 0) for group in "bc" for u in ("u0", "u1") for p in (0, 1)]
    one = finding(rows, ["u"])
    assert one.status is Status.INCONCLUSIVE
    assert one.estimate is None
    assert [who.reason for who in one.not_evaluated] == (
        ["regression_slope: collinear, group=a coincides with u=u2"] * 2
    )


def test_groups_that_share_no_level_are_told_apart_by_the_control() -> None:
    rows: list[Row] = [("a", u, "v0", p, 0) for u in ("u0", "u1") for p in (0, 1)]
    rows += [("b", u, "v0", p, 0) for u in ("u2", "u3") for p in (0, 1)]
    (told,) = finding(rows, ["v", "u"]).not_evaluated
    assert (
        told.reason == "regression_slope: collinear, the levels of u separate group=b from group=a"
    )


def test_people_without_a_control_are_left_out_and_counted() -> None:
    rows = [*CROSSED, *(("b", None, "v0", 1, 0) for _ in range(7))]
    one, whole = finding(rows, ["u", "v"]), finding(CROSSED, ["u", "v"])
    assert one.estimate is not None
    assert whole.estimate is not None
    assert one.estimate.value == pytest.approx(whole.estimate.value)
    (told,) = one.not_evaluated
    assert told.reason == "7 people are left out: u or v is not known"
    assert not told.blocks


def test_who_does_not_take_part_is_not_in_the_fit() -> None:
    rows = [*CROSSED, ("c", "u0", "v0", 1, 0), ("c", "u1", "v1", 0, 0)]
    one, whole = finding(rows, ["u"], groups={"min_size": 5}), finding(CROSSED, ["u"])
    assert one.estimate is not None
    assert whole.estimate is not None
    assert one.estimate.low == pytest.approx(whole.estimate.low)
    assert [who.group for who in one.not_evaluated] == [(("group", "c"),)]


def test_a_protected_attribute_may_be_a_control_of_the_others() -> None:
    columns = {
        "protected": {"group": {"reference": "a"}, "u": {"reference": "u0"}},
        "strata": ["v"],
    }
    metric = {
        "metric": "regression_slope",
        "controls": ["v", "u"],
        "fail": {"outside": [-0.5, 0.5]},
    }
    result = audit(confounded(0.1), metric, columns=columns)
    (one,) = result.findings
    assert one.check.id == "regression_slope.controls=u+v/group/decision"
    assert {row.by for row in result.comparisons} == {("group",)}
    assert one.estimate is not None
    stratum = {"metric": "regression_slope", "controls": ["v", "u"]}
    (row,) = slopes(audit(confounded(0.1), stratum)).values()
    assert one.estimate.value == pytest.approx(row.estimate.value, abs=1e-12)


def wide(levels: int, groups: int, n: int) -> pl.DataFrame:
    random = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "group": [f"{one:04}" for one in random.integers(0, groups, n).tolist()],
            "u": [f"{one:05}" for one in random.integers(0, levels, n).tolist()],
            "v": "v0",
            "y": random.integers(0, 2, n),
        }
    )


def test_controls_of_too_many_levels_are_refused_in_words() -> None:
    columns = {"protected": {"group": {"reference": "0000"}}, "strata": ["u", "v"]}
    data = wide(600, 2, 5000)
    metric = {"metric": "regression_slope", "controls": "u", "fail": {"outside": [-0.5, 0.5]}}
    (one,) = audit(data, metric, columns=columns).findings
    assert one.status is Status.INCONCLUSIVE
    assert one.why == "regression_slope: the controls have 599 columns, more than 500"


@pytest.mark.long
def test_many_levels_and_many_groups_take_little_time() -> None:
    columns = {"protected": {"group": {"reference": "0000"}}, "strata": ["u", "v"]}
    data = wide(200, 150, 15_000)
    metric = {"metric": "regression_slope", "controls": "u"}
    start = process_time()
    found = slopes(audit(data, metric, columns=columns))
    # A design of rows by columns would hold 15,000 · 350 numbers, 40 MB of them.
    assert process_time() - start < 60
    assert len(found) == 149
    assert not any(math.isnan(row.estimate.value) for row in found.values())


def test_one_class_and_one_model_against_another() -> None:
    data = confounded(0.15)
    classes = {"decision": {"column": "p"}}
    per_class = audit(
        data,
        {"metric": "regression_slope", "controls": "u", "class": "1"},
        {"metric": "regression_slope", "controls": "u", "class": "0"},
        columns=classes,
    )
    one, two = (row.estimate.value for row in per_class.comparisons)
    assert one == pytest.approx(-two)
    data = data.with_columns(q=pl.Series(np.random.default_rng(1).integers(0, 2, len(data))))
    sides = {name: {"column": name, "positive": 1, "negative": 0} for name in "pq"}
    models = {name: {"prediction": side} for name, side in sides.items()}
    columns = {"protected": {"group": {"reference": "a"}}, "strata": ["u"], "models": models}
    metric = {"metric": "regression_slope", "controls": "u"}
    asked = [{**metric, "of": "p"}, {**metric, "of": "q"}, {**metric, "of": "p", "against": "q"}]
    rows = fairaudit.audit({"columns": columns, "metrics": asked}, data).comparisons
    first, second, less = (row.estimate.value for row in rows)
    assert less == pytest.approx(first - second)


def test_another_control_is_another_definition() -> None:
    limit = {"fail": {"outside": [-0.5, 0.5]}}
    fingerprints = set()
    for controls, bins in (("u", None), ("v", None), ("u", {"merge": None})):
        strata = {"u": {"column": "v"} if bins else {}, "v": {}}
        metric = {"metric": "regression_slope", "controls": controls, **limit}
        (one,) = audit(frame(CROSSED), metric, columns={"strata": strata}).findings
        fingerprints.add(one.definition)
    assert len(fingerprints) == 3


@pytest.mark.parametrize(
    ("metric", "more", "message"),
    [
        ({"given": "u"}, {}, "uses `controls` instead of `given`"),
        ({"reference": "rest"}, {}, "with one group: name a level, or use `largest`"),
        ({"by": "group", "controls": "group"}, {}, "'group' is also in `by`"),
        ({"controls": "group"}, {}, "`controls` has all protected columns"),
        ({"controls": "uu"}, {}, "did you mean 'u'"),
        ({"controls": ["u", "u"]}, {}, "'u' is listed twice"),
        ({"controls": []}, {}, "name at least one column"),
        ({"controls": "x"}, {"numbers": {"x": "x"}}, "'x' is a number: add it to columns.strata"),
        ({"controls": "u"}, {"weight": "x"}, "no standard error with survey weights"),
        ({"class": "macro"}, {}, "needs a single class"),
        (
            {"aggregate": "mean", "fail": {"above": 0.1, "significant": True}},
            {},
            "`significant` cannot be evaluated",
        ),
        (
            {"metric": "selection_rate", "controls": "u"},
            {},
            "selection_rate has no parameter `controls`",
        ),
    ],
)
def test_what_a_fit_cannot_be_is_a_fault(
    metric: dict[str, Any], more: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        audit(frame(CROSSED), {"metric": "regression_slope", **metric}, columns=more)
    assert message in str(caught.value)


def test_the_mean_of_the_slopes_is_that_of_their_sizes() -> None:
    rows = [*CROSSED, *(("c", u, "v0", 1, 0) for u in ("u0", "u1", "u1"))]
    metric = {"metric": "regression_slope", "controls": "u"}
    each = slopes(audit(frame(rows), metric))
    (mean,) = audit(frame(rows), {**metric, "aggregate": "mean"}).comparisons
    people = {"b": 8, "c": 3}
    total = sum(n * abs(each[group].estimate.value) for group, n in people.items())
    assert mean.estimate.value == pytest.approx(total / sum(people.values()))


# Adjusted means ------------------------------------------------------------------------------


def test_an_adjusted_mean_below_0_is_not_printed_as_a_rate() -> None:
    """B lies 8.9 points below A's 7.0 % at equal controls: an adjusted mean of -0.0192."""
    counts = {
        ("a", "1"): (109, 209),
        ("a", "2"): (30, 1791),
        ("b", "1"): (39, 92),
        ("b", "2"): (0, 8),
    }
    rows = [
        (group, control, None, selected, 0)
        for (group, control), (hits, n) in counts.items()
        for selected, people in ((1, hits), (0, n - hits))
        for _ in range(people)
    ]
    data = frame(rows)
    design = np.array([[1, group == "b", control == "2"] for group, control, *_ in rows], float)
    fitted = OLS(data["y"].to_numpy(), design).fit().params
    adjusted = 139 / 2000 + fitted[1]
    assert adjusted < 0
    result = audit(
        data, {"metric": "regression_slope", "controls": ["u"], "fail": {"outside": [-0.03, 0.03]}}
    )
    (finding,) = result.findings
    (part,) = finding.parts
    assert part.metric == "adjusted_mean"
    assert part.first is not None
    assert part.first.estimate.value == pytest.approx(adjusted)
    for form in FORMATS:
        text = form.render([Answer("spec.yaml", None, result)], all_rows=True)
        told = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        assert not re.search(r"[-−–]1\.9 ?%", told), form.name
    assert f"group=b {adjusted:.4f} n = 100 adjusted mean" in sentence_of(result, finding)
