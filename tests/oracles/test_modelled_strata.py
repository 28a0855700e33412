"""Strata that models make, and what is told of a group by features, against brute force."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import long

import fairaudit
from fairaudit.base.errors import NothingToAudit, SpecError, UsageError
from fairaudit.base.frozen import replace
from fairaudit.judge import Status
from fairaudit.pipeline import audit_task
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.stages import audit_counts, count
from fairaudit.report import json as report_json
from fairaudit.report.diagnostics import lines
from fairaudit.result import AuditResult

FEATURES = {"numeric": ["x", "w"], "categorical": ["c"]}
PROPENSITY = {"propensity": {"bins": 4}}
RATE = {"metric": "selection_rate", "by": "g", "given": PROPENSITY}


def draw(seed: int, n: int = 400) -> pl.DataFrame:
    """People of two groups whose features differ, and whose outcome depends on these alone."""
    generator = np.random.default_rng(seed)
    member = generator.random(n) < 0.4
    x = (generator.normal(size=n) + member).round(2)
    category = np.where(generator.random(n) < 0.3, "u", np.where(member, "v", "t"))
    return pl.DataFrame(
        {
            "g": np.where(member, "b", "a"),
            "x": x,
            "w": generator.integers(0, 5, n).astype(np.float64),
            "c": category,
            "p": (generator.random(n) < 1 / (1 + np.exp(-x))).astype(int),
        }
    )


def audit(data: Any, *metrics: Any, **columns: Any) -> AuditResult:
    """The result of an audit of such people."""
    spec = {
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "prediction": {"column": "p", "positive": 1, "negative": 0},
            "features": FEATURES,
            **columns,
        },
        "simpson": {"given": []},
        "metrics": list(metrics),
    }
    return fairaudit.audit(spec, data)


def score_people(data: pl.DataFrame, ridge: float = 1e-4) -> np.ndarray[Any, Any]:
    """The propensity of group b, by Newton steps on dummies and plain numbers."""
    numbers = data.select("x", "w").to_numpy()
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    dummies = [(data["c"] == level).to_numpy().astype(float) for level in sorted(set(data["c"]))]
    matrix = np.column_stack([np.ones(len(data)), numbers, *dummies])
    target = (data["g"] == "b").to_numpy().astype(float)
    weights = np.zeros(matrix.shape[1])
    penalty = ridge * np.diag([0.0] + [1.0] * (len(weights) - 1))
    for _ in range(100):
        chance = 1 / (1 + np.exp(-matrix @ weights))
        slope = matrix.T @ (target - chance) - penalty @ weights
        curve = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + penalty
        weights += np.linalg.solve(curve, slope)
    return (1 / (1 + np.exp(-matrix @ weights))).round(6)


def stratify(data: pl.DataFrame, bins: int) -> list[int | None]:
    """The stratum of each person; None without a counterpart."""
    scores = score_people(data)
    sides = [scores[(data["g"] == level).to_numpy()] for level in "ab"]
    low, high = max(side.min() for side in sides), min(side.max() for side in sides)
    inside = sorted(score for score in scores if low <= score <= high)
    edges = {inside[math.ceil(part * len(inside) / bins) - 1] for part in range(1, bins)}
    edges -= {inside[0]}
    return [
        sum(score >= edge for edge in edges) if low <= score <= high else None for score in scores
    ]


def count_strata(data: pl.DataFrame, strata: list[int | None]) -> dict[tuple[str, str], Any]:
    """Selected and all people of each group in each stratum, by the stratum's first sign."""
    counts: dict[tuple[str, str], Any] = {}
    for group, positive, stratum in zip(data["g"], data["p"], strata, strict=True):
        name = "(" if stratum is None else str(stratum + 1)
        selected, people = counts.get((group, name), (0, 0))
        counts[group, name] = selected + positive, people + 1
    return counts


def told(result: AuditResult, metric: str = "selection_rate") -> dict[tuple[str, str], Any]:
    """What a result counts of each group in each stratum."""
    return {
        (row.group[0][1], row.stratum[0][1][0]): (row.estimate.numerator, row.estimate.denominator)
        for row in result.rates
        if row.metric == metric and row.group and row.stratum
    }


@pytest.mark.parametrize("seed", range(8))
def test_propensity_strata_are_those_of_newton_steps(seed: int) -> None:
    data = draw(seed)
    assert told(audit(data, RATE)) == count_strata(data, stratify(data, 4))


@pytest.mark.parametrize("seed", range(4))
def test_the_difference_at_equal_propensity_is_the_pooled_one(seed: int) -> None:
    data = draw(seed)
    counts = count_strata(data, stratify(data, 5))
    names = sorted({name for _, name in counts} - {"("})
    people = {name: counts["a", name][1] + counts["b", name][1] for name in names}
    rates = {key: selected / n for key, (selected, n) in counts.items()}
    expected = sum((rates["a", name] - rates["b", name]) * people[name] for name in names)
    result = audit(data, {"metric": "propensity_stratified_difference", "by": "g"})
    (row,) = [row for row in result.comparisons if row.metric == "propensity_stratified_difference"]
    assert row.estimate.value == pytest.approx(expected / sum(people.values()), abs=1e-12)


def test_every_way_to_read_the_same_people_gives_the_same_strata(tmp_path: Path) -> None:
    data = draw(1)
    expected = told(audit(data, RATE))
    data.write_parquet(tmp_path / "people.parquet")
    data.write_csv(tmp_path / "people.csv")
    for number in range(3):
        data[number::3].write_csv(tmp_path / f"part{number}.csv")
    for name in ("people.parquet", "people.csv", "part*.csv"):
        assert told(audit(tmp_path / name, RATE)) == expected
    assert told(audit(data.to_arrow(), RATE)) == expected
    assert told(audit(data.sample(fraction=1, shuffle=True, seed=3), RATE)) == expected


def test_the_names_of_groups_change_nothing() -> None:
    data = draw(2)
    renamed = data.with_columns(pl.col("g").replace({"a": "z", "b": "y"}))
    result = audit(renamed, RATE, protected={"g": {"reference": "z"}})
    swapped = {("a" if group == "z" else "b", name): n for (group, name), n in told(result).items()}
    assert swapped == told(audit(data, RATE))


def test_whoever_lacks_a_feature_is_in_no_stratum() -> None:
    data = draw(3).with_columns(
        x=pl.when(pl.int_range(pl.len()) % 10 > 0).then("x"),
        c=pl.when(pl.int_range(pl.len()) % 7 > 0).then("c"),
    )
    complete = data.drop_nulls()
    result = audit(data, RATE)
    strata = count_strata(complete, stratify(complete, 4))
    found = told(result)
    inside = {key: counts for key, counts in strata.items() if key[1] != "("}
    assert {key: counts for key, counts in found.items() if key[1] != "("} == inside
    assert sum(n for _, n in found.values()) == len(data)
    lacking = len(data) - len(complete)
    assert any(f"({lacking} lack a feature and are in no stratum)" in n for n in result.notices)


def test_heaps_of_people_are_clusters() -> None:
    heaps = pl.DataFrame(
        {
            "g": ["a", "b"] * 30,
            "x": [float(10 * (row % 3) + row / 100) for row in range(60)],
            "w": [0.0] * 60,
            "c": ["u"] * 60,
            "p": [row % 5 % 2 for row in range(60)],
        }
    )
    given = {"clusters": {"features": ["x"], "k": 3}}
    result = audit(heaps, {"metric": "selection_rate", "by": "g", "given": given})
    rows = [row for row in result.rates if row.stratum and row.group]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.stratum[0][1]] = counts.get(row.stratum[0][1], 0) + (
            row.estimate.denominator or 0
        )
    assert counts == {"cluster 1": 20, "cluster 2": 20, "cluster 3": 20}


def test_a_declared_factor_may_be_a_model() -> None:
    data = draw(4)
    strata = {"likely": {"propensity": {"of": "g", "bins": 4}}}
    declared = audit(data, {**RATE, "given": "likely"}, strata=strata)
    assert told(declared) == told(audit(data, RATE))


def test_groups_that_the_features_tell_apart_have_no_strata_and_never_pass() -> None:
    data = draw(5).with_columns(x=pl.when(pl.col("g") == "b").then(9.0).otherwise(1.0))
    metric = "propensity_stratified_difference"
    limit = {"outside": [-0.9, 0.9]}
    result = audit(data, {"metric": metric, "by": "g", "fail": limit})
    assert Status.PASS not in {finding.status for finding in result.findings}
    assert any(
        ("the features separate the two groups completely: no one has a counterpart") in notice
        for notice in result.notices
    )


@pytest.mark.parametrize("features", [["w"], ["x", "c"]])
def test_people_who_do_not_differ_have_no_strata(features: list[str]) -> None:
    data = draw(6).with_columns(w=pl.lit(1.0), x=pl.lit(2.0), c=pl.lit("u"))
    for given in ({"propensity": {"features": features}}, {"clusters": {"features": features}}):
        result = audit(data, {**RATE, "given": given, "fail": {"below": 0.01}})
        assert Status.PASS not in {finding.status for finding in result.findings}
        assert any("no feature varies" in notice for notice in result.notices)


def test_a_finding_tells_the_residual_confounding() -> None:
    limit = {"outside": [-0.001, 0.001]}
    metric = {"metric": "propensity_stratified_difference", "by": "g", "fail": limit}
    result = audit(draw(2), metric)
    worst = max(result.balance, key=lambda row: row.after)
    assert {row.feature for row in result.balance} == {"x", "w", "c"}
    words = " ".join(str(note) for label, note in lines(result, result.findings[0]))
    assert f"residual confounding: within strata {worst.feature} differs by" in words
    assert any(
        f"before → within strata: x {row.before:.3f} → {row.after:.3f}" in notice
        for row in result.balance
        for notice in result.notices
    )
    written = report_json.document(result)["balance"]
    assert [row["after"] for row in written] == [row.after for row in result.balance]


def test_a_sample_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert audit_task.MOST_FITTED == 100_000
    monkeypatch.setattr(audit_task, "MOST_FITTED", 150)
    result = audit(draw(7), RATE)
    assert any("fitted to a sample of 150 of 400 people" in notice for notice in result.notices)
    assert sum(n for _, n in told(result).values()) == 400


def test_one_level_is_told_from_all_others() -> None:
    data = draw(8).with_columns(
        g=pl.when(pl.int_range(pl.len()) % 5 == 0).then(pl.lit("c")).otherwise("g")
    )
    with pytest.raises(SpecError, match="g has 3 levels, and a propensity compares one group with"):
        audit(data, RATE, protected=["g"])
    given = {"propensity": {"group": "b"}}
    result = audit(data, {**RATE, "given": given}, protected=["g"])
    assert any("logistic model of g = b by" in notice for notice in result.notices)
    with pytest.raises(SpecError, match=r"'bb' is not a level of g.*did you mean 'b'"):
        audit(data, {**RATE, "given": {"propensity": {"group": "bb"}}}, protected=["g"])
    # With a reference it is everybody else.
    result = audit(data, RATE)
    assert any("logistic model of g other than a by" in notice for notice in result.notices)


@pytest.mark.parametrize(
    ("given", "columns", "fault"),
    [
        ({"propensity": {}}, {"features": {}}, "a model needs features"),
        ({"propensity": {"features": ["xx"]}}, {}, "unknown feature: 'xx'; did you mean 'x'"),
        ({"propensity": {"features": []}}, {}, "name at least one feature"),
        ({"propensity": {"bins": 1}}, {}, "strata from 2 to 20"),
        ({"clusters": {"k": 21}}, {}, "strata from 2 to 20"),
        ({"propensity": {}, "clusters": {}}, {}, "name one model"),
        ({"propensities": {}}, {}, "unknown key; did you mean 'propensity'"),
        ({"propensity": {"of": "h"}}, {}, "no protected column 'h'"),
        (
            {"propensity": {}},
            {"features": {"categorical": ["g", "c"]}},
            "the model cannot predict g from its own column",
        ),
        ({"propensity": {}}, {"weight": "w"}, "do not support a weighted sample"),
        ({"propensity": {}}, {"count": "w"}, "a row that stands for several people"),
        ({"clusters": {}}, {"cluster": "c"}, "rows that belong together"),
    ],
)
def test_what_a_model_cannot_be_is_a_fault(
    given: dict[str, Any], columns: dict[str, Any], fault: str
) -> None:
    with pytest.raises(SpecError, match=fault):
        audit(draw(0), {**RATE, "given": given}, **columns)


def test_two_models_of_one_name_are_a_fault() -> None:
    other = {**RATE, "given": {"propensity": {"bins": 3}}}
    with pytest.raises(SpecError, match="a different model with the name 'propensity of g'"):
        audit(draw(0), RATE, other)
    audit(draw(0), RATE, {**RATE, "metric": "selected_share"})  # the same model is no other


def test_a_key_that_nobody_writes_is_unknown() -> None:
    with pytest.raises(SpecError, match="given_model: unknown key"):
        audit(draw(0), {"metric": "selection_rate", "given_model": PROPENSITY})


def test_equal_propensity_needs_strata_of_it() -> None:
    given = {"clusters": {"k": 2}}
    with pytest.raises(SpecError, match="compares within strata of equal propensity: set `given:"):
        audit(draw(0), {"metric": "propensity_stratified_difference", "given": given, "by": "g"})


def rate_errors(result: AuditResult) -> dict[str, float | None]:
    """The balanced error rate of each group."""
    return {
        row.group[0][1]: row.estimate.value
        for row in result.rates
        if row.metric == "balanced_error_rate" and row.group
    }


def test_a_feature_that_is_the_group_leaves_no_error() -> None:
    data = draw(0).with_columns(c=pl.col("g"))
    assert rate_errors(audit(data, "balanced_error_rate")) == {"a": 0, "b": 0}


def test_the_order_and_the_names_of_people_leave_the_error_alone() -> None:
    data = draw(1)
    expected = rate_errors(audit(data, "balanced_error_rate"))
    assert expected["a"] == expected["b"]
    shuffled = data.sample(fraction=1, shuffle=True, seed=5)
    assert rate_errors(audit(shuffled, "balanced_error_rate")) == expected
    renamed = data.with_columns(pl.col("g").replace({"a": "b", "b": "a"}))
    assert rate_errors(audit(renamed, "balanced_error_rate")) == expected


def test_features_that_tell_nothing_leave_the_interval_around_a_half() -> None:
    data = draw(2).with_columns(g=pl.col("g").sample(fraction=1, shuffle=True, seed=1))
    rows = [row for row in audit(data, "balanced_error_rate").rates if row.group]
    for row in rows:
        assert row.estimate.low is not None
        assert row.estimate.high is not None
        assert row.estimate.low < 0.5 < row.estimate.high


@pytest.mark.parametrize("people", [1, 4])
def test_a_group_too_small_to_be_told_apart_never_passes(people: int) -> None:
    data = draw(3).with_columns(
        g=pl.when(pl.int_range(pl.len()) < people).then(pl.lit("b")).otherwise(pl.lit("a"))
    )
    result = audit(data, {"metric": "balanced_error_rate", "by": "g", "fail": {"below": 0.01}})
    assert Status.PASS not in {finding.status for finding in result.findings}
    assert "fewer than 5 people" in report_json.render(result)


def test_specs_and_files_have_models_of_their_own(tmp_path: Path) -> None:
    for seed in (1, 2):
        draw(seed).write_csv(tmp_path / f"{seed}.csv")
    columns = {
        "protected": {"g": {"reference": "a"}},
        "prediction": {"column": "p", "positive": 1, "negative": 0},
        "features": FEATURES,
    }
    four, two = (
        {"columns": columns, "metrics": [{**RATE, "given": {"propensity": {"bins": bins}}}]}
        for bins in (4, 2)
    )
    apart = fairaudit.audit_each(four, str(tmp_path / "*.csv"))
    for seed in (1, 2):
        (result,) = [one for name, one in apart.items() if name.endswith(f"{seed}.csv")]
        assert isinstance(result, AuditResult)
        assert told(result) == count_strata(draw(seed), stratify(draw(seed), 4))
    together = fairaudit.audit_together([four, two], tmp_path / "1.csv")
    for result, bins in zip(together, (4, 2), strict=True):
        assert isinstance(result, AuditResult)
        assert told(result) == count_strata(draw(1), stratify(draw(1), bins))


def test_counts_outlive_their_data_with_their_models(tmp_path: Path) -> None:
    draw(1).write_csv(tmp_path / "people.csv")
    spec = {
        "columns": {
            "protected": {"g": {"reference": "a"}},
            "prediction": {"column": "p", "positive": 1, "negative": 0},
            "features": FEATURES,
        },
        "data": str(tmp_path / "people.csv"),
        "metrics": [RATE],
    }
    task = AuditTask.read(spec)
    counts = count(task)
    (tmp_path / "people.csv").unlink()
    assert told(audit_counts(task, counts)) == count_strata(draw(1), stratify(draw(1), 4))
    with pytest.raises(UsageError, match="the counts file does not contain what the spec needs"):
        audit_counts(task, replace(counts, plan=replace(counts.plan, models={})))


def test_without_scikit_learn_the_way_to_install_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    for metric in (RATE, "balanced_error_rate", {**RATE, "given": {"clusters": {}}}):
        with pytest.raises(UsageError, match="scikit-learn is not installed") as error:
            audit(draw(0), metric)
        assert error.value.hint == "pip install 'fairaudit-cli[rows]'"


def test_nobody_to_fit_a_model_to_is_no_row_to_audit(tmp_path: Path) -> None:
    draw(0).head(0).write_csv(tmp_path / "empty.csv")
    draw(0).head(0).write_parquet(tmp_path / "empty.parquet")
    clusters = {**RATE, "given": {"clusters": {}}}
    for data in (draw(0).head(0), tmp_path / "empty.csv", tmp_path / "empty.parquet"):
        for metric in (RATE, clusters, "balanced_error_rate", "consistency"):
            with pytest.raises(NothingToAudit):
                audit(data, metric)
    draw(1).write_csv(tmp_path / "people.csv")
    both = audit(tmp_path / "*.csv", RATE)
    assert told(both) == count_strata(draw(1), stratify(draw(1), 4))


def test_a_small_count_is_not_published() -> None:
    spec = {
        "columns": {
            "protected": ["g"],
            "prediction": {"column": "p", "positive": 1, "negative": 0},
            "features": FEATURES,
        },
        "suppress_below": 5,
    }
    for metric, what in (
        (RATE, "strata from a model reveal small counts: remove the model or "),
        ("balanced_error_rate", "is computed from individuals"),
    ):
        with pytest.raises(SpecError, match=what):
            fairaudit.audit({**spec, "metrics": [metric]}, draw(0))


def test_of_many_people_a_sample_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("metrics.individual", "pipeline.tables.notices"):
        monkeypatch.setattr(f"fairaudit.{module}.MOST_TOLD_APART", 100)
    result = audit(draw(1), "balanced_error_rate")
    assert [row.estimate.n for row in result.rates if row.group] == [200, 200]
    assert any("of at most 100 people of each side" in notice for notice in result.notices)


@pytest.mark.parametrize("levels", [20, long(60)])
def test_a_feature_may_have_many_levels(levels: int) -> None:
    data = draw(9, 3000).with_columns(
        c=((pl.int_range(pl.len()) * 7 + 3 * (pl.col("g") == "b")) % levels).cast(pl.String)
    )
    assert told(audit(data, RATE)) == count_strata(data, stratify(data, 4))


def test_of_three_groups_each_is_told_from_all_others_and_held_against_the_reference() -> None:
    data = draw(4).with_columns(
        g=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.lit("c")).otherwise("g")
    )
    rows = {row.group[0][1]: row for row in audit(data, "balanced_error_rate").rates if row.group}
    assert len(rows) == 3
    for name, row in rows.items():
        alone = data.with_columns(g=pl.when(pl.col("g") == name).then(pl.lit(name)).otherwise(
            pl.lit("all others")))  # fmt: skip
        result = audit(alone, "balanced_error_rate", protected=["g"])
        assert row.estimate.value == rate_errors(result)[name]
        reference = rows["a"].estimate.value
        assert row.difference == pytest.approx(row.estimate.value - reference)
        assert row.ratio == pytest.approx(row.estimate.value / reference)


def test_people_without_a_counterpart_are_not_unknown() -> None:
    """Their stratum is named by what is known of them; it is listed, and never compared."""
    ages = [20, 21, 22, 23, 24, 25, 26, 27]
    rows = [(group, age, n % 2) for n, age in enumerate(ages * 3) for group in "ab"]
    rows += [("a", 90, 1)] * 4
    frame = pl.DataFrame(rows, ["g", "age", "p"], orient="row")
    spec = {
        "columns": {
            "protected": {"g": {"reference": "b"}},
            "prediction": {"column": "p", "positive": 1},
            "features": {"numeric": ["age"]},
        },
        "metrics": [
            {
                "metric": "statistical_parity_difference",
                "given": {"propensity": {"features": ["age"], "bins": 2}},
                "fail": {"outside": [-0.99, 0.99]},
            },
        ],
    }
    result = fairaudit.audit(spec, frame)
    levels = {level for row in result.groups for _, level in row.stratum}
    assert "(no counterpart)" in levels
    assert "(unknown)" not in levels
    lone = [row for row in result.groups if row.stratum and "no counterpart" in row.stratum[0][1]]
    assert {(row.group, row.n) for row in lone if row.n and row.group} == {((("g", "a"),), 4)}
    judged = {level for finding in result.findings for _, level in finding.stratum}
    assert "(no counterpart)" not in judged
    reasons = {who.reason for finding in result.findings for who in finding.not_evaluated}
    assert "no counterpart (4 people)" in reasons
    assert not [reason for reason in reasons if "not known" in reason]
