"""Generated people, counted and measured by a slow oracle over rows, must agree with the tool."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import oracle
import polars as pl
import pytest
from conftest import comparison_of, count_data, examples, tally_cube
from hypothesis import given
from hypothesis import strategies as st
from oracle import Row, Task

import fairaudit
from fairaudit import spec as specs
from fairaudit.cube import UNKNOWN, Cube, every_subset
from fairaudit.metrics import CATALOGUE, Disparity
from fairaudit.pipeline.plan_builder import plan
from fairaudit.pipeline.recode import recode
from fairaudit.result import AuditResult

NAMES = ("team", "sex")
LEVELS = {"team": ("a", "b", "c", None), "sex": ("f", "m", None), "site": ("x", "y", "z", None)}
WEIGHTS = tuple(Fraction(text) for text in ("0.1", "0.5", "1", "1.25", "3"))


def rows_of(*, weights: bool = False) -> st.SearchStrategy[list[Row]]:
    """Rows of people: two attributes, a stratum column, label and prediction; some unknown."""
    one = st.builds(
        Row,
        groups=st.fixed_dictionaries({k: st.sampled_from(v) for k, v in LEVELS.items()}),
        label=st.sampled_from(["1", "0", "1", "0", None]),
        prediction=st.sampled_from(["yes", "no", "yes", "no", None]),
        people=st.integers(0, 6),
        weight=st.sampled_from(WEIGHTS) if weights else st.just(Fraction(1)),
    )
    rows = st.lists(one, min_size=1, max_size=40)
    return rows.filter(
        lambda found: (
            {"1", "0"} <= {r.label for r in found if r.people}
            and {"yes", "no"} <= {r.prediction for r in found if r.people}
        )
    )


def as_csv(rows: Sequence[Row]) -> str:
    """The rows as a CSV text; nobody's unknown is written in two ways."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["team", "sex", "site", "label", "prediction", "n", "w"])
    for row in rows:
        groups = [row.groups[name] or "" for name in LEVELS]
        outcome = [row.label or "", row.prediction or ""]
        writer.writerow([*groups, *outcome, row.people, float(row.weight)])
    return out.getvalue()


def as_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """The rows as a typed frame: nulls for the unknown, integers and floats for numbers."""
    columns: dict[str, list[object]] = {name: [row.groups[name] for row in rows] for name in LEVELS}
    columns["label"] = [None if row.label is None else int(row.label) for row in rows]
    columns["prediction"] = [row.prediction for row in rows]
    columns["n"] = [row.people for row in rows]
    columns["w"] = [float(row.weight) for row in rows]
    text = dict.fromkeys([*LEVELS, "prediction"], pl.String)
    return pl.DataFrame(columns, schema_overrides={**text, "label": pl.Int64})


def spec_of(*, weights: bool = False, **more: Any) -> dict[str, Any]:
    """A spec of the generated columns."""
    return {
        "columns": {
            "protected": list(NAMES),
            "label": {"column": "label", "positive": 1, "negative": 0},
            "prediction": {"column": "prediction", "positive": "yes", "negative": "no"},
            "strata": ["site"],
            "count": "n",
            **({"weight": "w"} if weights else {}),
        },
        "missing": {"prediction": "aside"},
        "metrics": ["selection_rate"],
        **more,
    }


def cube_of(path: Path | str, **options: Any) -> Cube:
    """The cube of files, by the tool."""
    read = specs.of_mapping(spec_of(**options))
    asked = plan(read)
    return recode(count_data(asked, path), read).cube


def tally(rows: Sequence[Row]) -> dict[tuple[str | None, ...], tuple[int, int]]:
    """Rows and people by levels, counted one by one."""
    lines: Counter[tuple[str | None, ...]] = Counter()
    people: Counter[tuple[str | None, ...]] = Counter()
    for row in rows:
        key = (*(row.groups[name] or UNKNOWN for name in LEVELS), row.label, row.prediction)
        lines[key] += 1
        people[key] += row.people
    return {key: (lines[key], people[key]) for key in lines}


@given(rows=rows_of())
@examples(60)
def test_cubes_of_csv_and_parquet_equal_the_oracle(rows: list[Row], tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(as_csv(rows))
    as_frame(rows).write_parquet(tmp_path / "rows.parquet")
    from_csv, from_parquet = cube_of(tmp_path / "rows.csv"), cube_of(tmp_path / "rows.parquet")
    assert tally_cube(from_csv) == tally_cube(from_parquet) == tally(rows)


@given(rows=rows_of(weights=True))
@examples(40)
def test_weights_are_summed_exactly(rows: list[Row], tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(as_csv(rows))
    as_frame(rows).write_parquet(tmp_path / "rows.parquet")
    cube = cube_of(tmp_path / "rows.csv", weights=True)
    from_parquet = cube_of(tmp_path / "rows.parquet", weights=True)
    assert tally_cube(cube) == tally_cube(from_parquet)
    assert cube.weight is not None
    assert cube.squares is not None
    total = Fraction(int(cube.weight.values.sum()), cube.weight.scale)
    assert total == sum(row.people * row.weight for row in rows)
    squares = Fraction(int(cube.squares.values.sum()), cube.squares.scale)
    assert squares == sum(row.people * row.weight**2 for row in rows)


@given(rows=rows_of(weights=True), data=st.data())
@examples(40)
def test_cubes_add_whatever_the_split_and_the_order(
    rows: list[Row], data: st.DataObject, tmp_path: Path
) -> None:
    shuffled = data.draw(st.permutations(rows))
    cut = data.draw(st.integers(0, len(rows)))
    whole = tmp_path / "whole.csv"
    whole.write_text(as_csv(rows))
    parts = tmp_path / "parts"
    parts.mkdir(exist_ok=True)
    (parts / "one.csv").write_text(as_csv(shuffled[:cut]))
    (parts / "two.csv").write_text(as_csv(shuffled[cut:]))
    cube = cube_of(whole, weights=True)
    assert tally_cube(cube_of(parts, weights=True)) == tally_cube(cube)


@given(one=rows_of(weights=True), two=rows_of(weights=True))
@examples(40)
def test_the_cube_of_both_is_that_of_the_sum_of_their_counts(
    one: list[Row], two: list[Row], tmp_path: Path
) -> None:
    read = specs.of_mapping(spec_of(weights=True))
    counted = []
    for name, rows in (("one", one), ("two", two), ("both", [*one, *two])):
        (tmp_path / f"{name}.csv").write_text(as_csv(rows))
        counted.append(count_data(plan(read), tmp_path / f"{name}.csv"))
    first, second, both = counted
    cubes = [recode(counts, read).cube for counts in (first + second, second + first, both)]
    tallies = [tally_cube(cube) for cube in cubes]
    assert tallies[0] == tallies[1] == tallies[2] != tally_cube(recode(first, read).cube)
    assert cubes[0].ledger == cubes[1].ledger == cubes[2].ledger


REFERENCES = ("rest", "overall", "largest", "highest", "lowest")
MIXED: list[dict[str, Any]] = [
    {"metric": record.id, **({"reference": policy} if policy else {})}
    for record in CATALOGUE
    if record.id in oracle.CRITERIA and isinstance(record, Disparity)
    for policy in (REFERENCES if record.to_reference and not record.reference else (None,))
]
COMPARED: list[dict[str, Any]] = [
    {"metric": name, "compare": compare, **({"reference": policy} if policy else {})}
    for name in oracle.RATES
    for compare, policies in (("gap", [None]), ("min_ratio", [None]), ("ratio", ["rest"]))
    for policy in policies
]
RATES = oracle.RATES


def same(value: float, expected: Fraction | float | None) -> bool:
    """Equal, infinite alike, or undefined alike."""
    if expected is None:
        return math.isnan(value)
    if math.isinf(float(expected)):
        return value == float(expected)
    return math.isclose(value, float(expected), rel_tol=1e-11, abs_tol=1e-12)


def key_of(group: Sequence[tuple[str, str]]) -> tuple[str | None, ...]:
    """A group as the oracle names it."""
    return tuple(None if level == UNKNOWN else level for _, level in group)


def check_rates(result: AuditResult, rows: Sequence[Row], task: Task) -> None:
    """Every rate of every group of every subset, unknown ones included."""
    seen = Counter(row.metric for row in result.rates)
    assert set(RATES) <= set(seen)
    for row in result.rates:
        groups = oracle.groups_of(rows, row.by)
        members = groups[key_of(row.group)]
        everybody = [one for group in groups.values() for one in group]
        expected = oracle.rate(row.metric, members, task, everybody)
        assert same(row.estimate.value, expected), (row, expected)
        if row.estimate.low is not None and row.estimate.high is not None:
            assert row.estimate.low <= row.estimate.value <= row.estimate.high


def check_measures(
    result: AuditResult, rows: Sequence[Row], task: Task, asked: Sequence[Mapping[str, Any]]
) -> None:
    """Every criterion and comparison of every subset, group by group."""
    at = 0
    found = result.comparisons
    for entry in asked:
        for by in every_subset(NAMES):
            expected = measured(entry, rows, by, task)
            if isinstance(expected, dict):
                while expected:
                    row = found[at]
                    at += 1
                    assert (row.metric, row.by) == (entry["metric"], by)
                    assert row.group is not None
                    value = expected.pop(key_of(row.group))
                    assert same(row.estimate.value, value), (entry, row, value)
            else:
                row = found[at]
                at += 1
                assert (row.metric, row.by) == (entry["metric"], by)
                assert same(row.estimate.value, expected), (entry, row, expected)
    assert at == len(found)


def measured(entry: Mapping[str, Any], rows: Sequence[Row], by: Sequence[str], task: Task) -> Any:
    """What the oracle makes of an entry of `metrics`."""
    if "compare" in entry:
        value: Any = oracle.comparison(
            entry["metric"], entry["compare"], rows, by, task, entry.get("reference")
        )
        return value["value"] if entry["compare"] in {"gap", "min_ratio"} else value
    return oracle.criterion(entry["metric"], rows, by, task, entry.get("reference"))


RULES = st.fixed_dictionaries(
    {},
    optional={
        "min_size": st.just(3),
        "min_events": st.sampled_from([1, 2]),
        "exclude_below": st.fixed_dictionaries(
            {"share": st.sampled_from(["0.1", "0.25"]), "reason": st.just("a rule")},
            optional={"of": st.sampled_from(["known", "all"])},
        ),
    },
)


def task_of(rules: Mapping[str, Any], rows: Sequence[Row], **more: Any) -> Task:
    """What the oracle is to do where the spec's `groups` hold these rules."""
    below = rules.get("exclude_below")
    return Task(
        {"1"},
        {"yes"},
        min_size=rules.get("min_size"),
        min_events=rules.get("min_events"),
        exclude_below=Fraction(below["share"]) if below else None,
        share_of_all=below is not None and below.get("of") == "all",
        everybody=tuple(rows),
        **more,
    )


@given(rows=rows_of(weights=True), weighted=st.booleans(), rules=RULES, favourable=st.booleans())
@examples(15)
def test_every_rate_and_criterion_equals_the_oracle(
    rows: list[Row],
    weighted: bool,
    rules: dict[str, Any],
    favourable: bool,
) -> None:
    task = task_of(rules, rows, weighted=weighted, favourable=favourable)
    spec = spec_of(weights=weighted, metrics=[*RATES, *MIXED, *COMPARED], groups=rules)
    spec["columns"]["prediction"]["favourable"] = favourable
    result = fairaudit.audit(spec, as_frame(rows))
    check_rates(result, rows, task)
    check_measures(result, rows, task, [*MIXED, *COMPARED])


@given(
    rows=rows_of(weights=True),
    weighted=st.booleans(),
    smoothing=st.sampled_from([None, 1, 0.5]),
    rules=RULES,
)
@examples(60)
def test_epsilon_and_bias_amplification_equal_the_oracle(
    rows: list[Row],
    weighted: bool,
    smoothing: float | None,
    rules: dict[str, Any],
) -> None:
    task = task_of(rules, rows, weighted=weighted)
    more = {} if smoothing is None else {"smoothing": smoothing}
    spec = spec_of(
        weights=weighted,
        metrics=[
            {"metric": "differential_fairness", **more},
            {"metric": "differential_fairness", "of": "label", **more},
            "bias_amplification",
        ],
        groups=rules,
    )
    result = fairaudit.audit(spec, as_frame(rows))
    classes = {"prediction": ("no", "yes"), "label": ("0", "1")}
    rows_asked = iter(result.comparisons)
    for of in ("prediction", "label"):
        for by in every_subset(NAMES):
            row = next(rows_asked)
            expected = oracle.epsilon(rows, by, of, task, classes[of], Fraction(smoothing or 0))
            assert (row.of, row.by) == (of, by)
            assert same(row.estimate.value, expected["value"]), (row, expected)
            if expected["value"] and math.isfinite(expected["value"]) and not smoothing:
                pair = {key_of(row.first), key_of(row.second)}
                high, low = expected["high"], expected["low"]
                assert pair == {high, low}
                assert row.decided_by == expected["outcome"]
    for by in every_subset(NAMES):
        value = oracle.bias_amplification(rows, by, task, classes["label"], classes["prediction"])
        assert same(next(rows_asked).estimate.value, value)


@given(rows=rows_of())
@examples(60)
def test_epsilon_of_a_subset_never_exceeds_the_full_one(rows: list[Row]) -> None:
    """Foulds & Pan's Theorem 3.1, sharpened: on the same rows, without smoothing."""
    known = [row for row in rows if row.groups["team"] and row.groups["sex"] and row.prediction]
    if len({(row.groups["team"], row.groups["sex"]) for row in known if row.people}) < 2:
        return
    if {row.prediction for row in known if row.people} != {"yes", "no"}:
        return
    spec = spec_of(metrics=["differential_fairness"])
    result = fairaudit.audit(spec, as_frame(known))
    full = comparison_of(result, "differential_fairness", *NAMES).estimate.value
    for name in NAMES:
        part = comparison_of(result, "differential_fairness", name).estimate.value
        assert math.isnan(part) or part <= full + 1e-12
    assert result.epsilons[0].bounds_subsets


@given(
    rows=rows_of(weights=True),
    weighted=st.booleans(),
    rules=RULES,
    rate=st.sampled_from(list(oracle.SHARES)),
    sizes=st.sampled_from([{}, {"min_odds_ratio": 1.5}, {"min_gap": 0.01}, {"min_gap": 0.1}]),
    times=st.sampled_from([1, 100]),
)
@examples(100)
def test_reversals_equal_the_oracle(
    rows: list[Row],
    weighted: bool,
    rules: dict[str, Any],
    rate: str,
    sizes: dict[str, float],
    times: int,
) -> None:
    rows = [replace(row, people=times * row.people) for row in rows]
    task = task_of(rules, rows, weighted=weighted)
    spec = spec_of(weights=weighted, simpson={"rates": [rate], **sizes}, groups=rules)
    floor = Fraction(str(sizes.get("min_gap", 0)))
    odds = Fraction(str(sizes.get("min_odds_ratio", 1 if floor else 1.05)))
    result = fairaudit.audit(spec, as_frame(rows))
    found = {(one.attribute, one.pair, one.given[0]): one for one in result.reversals}
    expected = {
        (attribute, pair, given): one
        for attribute in NAMES
        for given in (*NAMES, "site")
        if given != attribute
        for pair, one in oracle.reversals(rows, attribute, given, rate, task, floor, odds).items()
        if one["kind"] is not None
    }
    assert set(found) == set(expected)
    for key, theirs in expected.items():
        mine = found[key]
        assert mine.kind == theirs["kind"]
        assert mine.reversed_strata == theirs["reversed_strata"]
        assert mine.estimable_strata == theirs["estimable_strata"]
        for name in ("crude", "standardized", "composition", "within", "crude_everybody"):
            assert same(getattr(mine, name), theirs[name]), name
        assert mine.crude == pytest.approx(mine.composition + mine.within)
        assert same(mine.mantel_haenszel_odds_ratio, theirs["mantel_haenszel_odds_ratio"])


@given(rows=rows_of(), seed=st.integers(0, 1000))
@examples(20)
def test_renaming_levels_changes_no_value(rows: list[Row], seed: int) -> None:
    names = {"a": f"{seed % 7}-z", "b": f"{seed % 5}-y", "c": f"{seed % 3}-x", None: None}
    renamed = [
        Row(
            {**row.groups, "team": names[row.groups["team"]]}, row.label, row.prediction, row.people
        )
        for row in rows
    ]
    spec = spec_of(metrics=["demographic_parity_ratio", "differential_fairness", *RATES])
    before, after = (fairaudit.audit(spec, as_frame(one)) for one in (rows, renamed))
    for one, other in zip(before.comparisons, after.comparisons, strict=True):
        assert same(one.estimate.value, None if math.isnan(other.estimate.value) else (
            other.estimate.value
        ))  # fmt: skip


@given(rows=rows_of(weights=True), weighted=st.booleans(), rules=RULES)
@examples(60)
def test_measures_given_strata_equal_the_oracle_in_each(
    rows: list[Row], weighted: bool, rules: dict[str, Any]
) -> None:
    task = task_of(rules, rows, weighted=weighted)
    metrics = [
        {"metric": "conditional_statistical_parity", "given": "site"},
        {"metric": "equalized_odds_difference", "given": "site"},
        {"metric": "disparate_impact_ratio", "reference": "rest", "given": "site"},
    ]
    spec = spec_of(weights=weighted, metrics=metrics, groups=rules)
    result = fairaudit.audit(spec, as_frame(rows))
    unconditional = {"conditional_statistical_parity": "demographic_parity_difference"}
    sites = {row.groups["site"] for row in rows if row.people} - {None}
    seen = set()
    for row in result.comparisons:
        ((_, site),) = row.stratum
        within = [one for one in rows if one.groups["site"] == site]
        name = unconditional.get(row.metric, row.metric)
        expected = oracle.criterion(name, within, row.by, task, row.reference)
        value = (
            expected[key_of(row.group)] if isinstance(expected, dict) and row.group else expected
        )
        assert same(row.estimate.value, value), row  # type: ignore[arg-type]
        seen.add(site)
    assert seen <= sites
    assert seen or not sites
