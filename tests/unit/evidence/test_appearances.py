"""Where a gap first appears: found where it is planted, and nowhere else."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import appearances_oracle as plain
import jsonschema
import numpy as np
import polars as pl
import pytest
from conftest import count_data, examples
from hypothesis import example, given
from hypothesis import strategies as st
from schemas import validate
from scipy import stats
from stats_oracle import fisher

import fairaudit
from fairaudit.evidence.appearances import Appearance
from fairaudit.pipeline.audit_task import AuditTask
from fairaudit.pipeline.tables.audit import Audit
from fairaudit.pipeline.tables.lattice import lattice
from fairaudit.report import content, terminal
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult

Cells = Mapping[tuple[str, ...], tuple[int, int]]
"""Hits and people for each combination of levels."""

XOR: Cells = {
    ("women", "north"): (40, 200),
    ("women", "south"): (170, 300),
    ("men", "north"): (170, 300),
    ("men", "south"): (45, 200),
}
"""Women 210 of 500 and men 215 of 500; north 210 and south 215 of 500."""
BALANCED: Cells = {
    ("women", "north"): (40, 200),
    ("women", "south"): (160, 200),
    ("men", "north"): (160, 200),
    ("men", "south"): (40, 200),
}
"""Half of the women, of the men, of the north and of the south."""


def _frame(cells: Cells, names: Sequence[str]) -> pl.DataFrame:
    rows = [
        (*levels, answer, count)
        for levels, (hits, people) in cells.items()
        for answer, count in (("yes", hits), ("no", people - hits))
        if count
    ]
    return pl.DataFrame(rows, schema=[*names, "y", "n"], orient="row")


def _names(cells: Cells) -> list[str]:
    return [f"a{at}" for at in range(len(next(iter(cells))))]


def _spec(names: Sequence[str], **more: Any) -> dict[str, Any]:
    return {
        "columns": {
            "protected": list(names),
            "prediction": {"column": "y", "positive": "yes", "negative": "no"},
            "count": "n",
        },
        "metrics": ["selection_rate"],
        **more,
    }


def _audited(cells: Cells, **more: Any) -> AuditResult:
    names = _names(cells)
    return fairaudit.audit(_spec(names, **more), data=_frame(cells, names))


def _found(result: AuditResult) -> list[Appearance]:
    return [one for row in result.lattice for one in row.appears]


def _levels(result: AuditResult) -> set[tuple[str, ...]]:
    return {tuple(level for _, level in one.group) for one in _found(result)}


def _text(result: AuditResult, *, all_rows: bool = False) -> str:
    return terminal.render(content.document(result, all_rows=all_rows))


def _fisher(a: int, n: int, c: int, m: int) -> float:
    """Fisher's test by mid-p, of all tables."""
    return fisher(a, n, c, m)[1]


def test_a_planted_gap_is_found_where_its_parents_are_silent() -> None:
    result = _audited(BALANCED)
    assert _levels(result) == set(BALANCED)
    assert [row.by for row in result.lattice if row.appears] == [("a0", "a1")]
    one = next(each for each in _found(result) if ("a0", "women") in each.group)
    beside = one.apart
    for parent in one.parents:
        assert parent.apart is not None
        assert (parent.estimate.value, parent.apart.difference, parent.apart.p) == (0.5, 0.0, 1.0)
    assert {parent.group for parent in one.parents} == {(each,) for each in one.group}
    assert (one.estimate.numerator, one.estimate.denominator) in {(40, 200), (160, 200)}
    assert beside.other.denominator == 600


def test_p_values_are_those_of_scipy_and_holm_counts_all_that_are_tested() -> None:
    (one,) = [
        each for each in _found(_audited(XOR)) if each.group == (("a0", "women"), ("a1", "north"))
    ]
    against_everybody = _fisher(40, 200, 385, 800)
    assert one.apart.p == pytest.approx(against_everybody, rel=1e-9, abs=0)
    rests = {parent.group[0][1]: parent.rest.p for parent in one.parents}
    expected = dict.fromkeys(["women", "north"], _fisher(40, 200, 170, 300))
    assert rests == pytest.approx(expected, rel=1e-9)
    found = one.significance
    assert found is not None
    largest = max(against_everybody, *expected.values())
    assert found.p == pytest.approx(largest, rel=1e-9, abs=0)
    assert found.family == 4
    # It is the third of four by its p-value, or an earlier one.
    assert largest <= found.adjusted <= 4 * largest * (1 + 1e-9)


def test_few_people_are_tested_by_fisher() -> None:
    cells = {cell: (hits // 10, people // 10) for cell, (hits, people) in BALANCED.items()}
    cells["women", "north"] = (0, 8)
    (one,) = [
        each
        for each in _found(_audited(cells))
        if dict(each.group) == {"a0": "women", "a1": "north"}
    ]
    assert one.apart.test == "Fisher, mid-p"
    assert one.apart.p == pytest.approx(fisher(0, 8, 16 + 16 + 4, 60)[1], rel=1e-9)


def test_intervals_are_newcombes() -> None:
    one = next(each for each in _found(_audited(BALANCED)) if each.estimate.value == 0.2)
    z = stats.norm.isf(0.025)

    def wilson(p: float, n: int) -> tuple[float, float]:
        middle = p + z * z / (2 * n)
        reach = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return (middle - reach) / (1 + z * z / n), (middle + reach) / (1 + z * z / n)

    (low, high), (other_low, other_high) = wilson(0.2, 200), wilson(0.6, 600)
    expected = (
        -0.4 - math.hypot(0.2 - low, other_high - 0.6),
        -0.4 + math.hypot(high - 0.2, 0.6 - other_low),
    )
    assert (one.apart.low, one.apart.high) == pytest.approx(expected, rel=1e-9)


def test_what_a_parent_shows_appears_at_no_group_within_it() -> None:
    # Women are selected at .2 in the north and .4 in the south, men at .5 in both.
    cells: Cells = {
        ("women", "north"): (200, 1000),
        ("women", "south"): (400, 1000),
        ("men", "north"): (500, 1000),
        ("men", "south"): (500, 1000),
    }
    result = _audited(cells)
    assert _found(result) == []
    assert "No gap of more than 1 point appears only in a combination" in _text(result)


def test_a_parent_that_differs_the_other_way_does_not_show_it() -> None:
    # Women are selected more often than men; in the north they are selected least of all.
    cells: Cells = {
        ("women", "north"): (150, 500),
        ("women", "south"): (1200, 2000),
        ("men", "north"): (1200, 2000),
        ("men", "south"): (50, 500),
    }
    levels = _levels(_audited(cells))
    assert ("women", "north") in levels
    assert ("women", "south") not in levels


def test_a_group_that_is_all_of_its_parent_is_that_parent() -> None:
    # The crew are all adults: crew and adult is the crew, and is not tested again.
    cells: Cells = {
        ("crew", "adult"): (10, 400),
        ("class", "adult"): (200, 400),
        ("class", "child"): (50, 100),
    }
    result = _audited(cells)
    (row,) = [row for row in result.lattice if len(row.by) == 2]
    assert row.tested == {"prediction": 1}  # adults of a class are neither all adults nor all of it
    assert row.appears == ()


def test_one_point_is_no_gap() -> None:
    # 30 and 31 %: with so many people significant, and still only a point.
    many = 2_000_000
    low, high = (many * 30 // 100, many), (many * 31 // 100, many)
    cells: dict[tuple[str, ...], tuple[int, int]] = {
        ("a", "c"): low,
        ("b", "d"): low,
        ("a", "d"): high,
        ("b", "c"): high,
    }
    even = _audited(cells)
    assert _found(even) == []
    # A hit less in a hundred thousand, and it is more than a point from the rest of its parents;
    # from everybody else it is two thirds of that.
    cells["a", "c"] = (many * 29 // 100, many)
    beside = [one for one in _found(_audited(cells)) if one.group == (("a0", "a"), ("a1", "c"))]
    assert len(beside) == 1


def test_who_is_set_aside_or_not_known_is_not_tested() -> None:
    cells = {**BALANCED, ("women", "east"): (0, 20), ("men", "east"): (10, 20)}
    cells |= {("women", ""): (75, 150), ("men", ""): (75, 150)}
    for min_size, number in ((None, 6), (21, 4)):
        groups = {} if min_size is None else {"min_size": min_size}
        result = _audited(cells, groups=groups)
        (row,) = [row for row in result.lattice if len(row.by) == 2]
        assert row.tested == {"prediction": number}
        assert all("(unknown)" not in levels for levels in _levels(result))
    # Those whose region is not known are among everybody else, and among the rest of the women.
    one = next(each for each in _found(result) if each.group == (("a0", "women"), ("a1", "south")))
    assert one.apart.other.denominator == 200 * 3 + 40 + 300
    rest = next(parent.rest for parent in one.parents if parent.group == (("a0", "women"),))
    assert rest.other.denominator == 200 + 20 + 150


def _random_cells(
    seed: np.random.Generator, rate: Callable[[tuple[str, ...]], float], people: int
) -> Cells:
    """Three attributes of two, three and two levels, with rates by their levels."""
    levels = list(itertools.product("ab", "cde", "fg"))
    counts = seed.multinomial(people, seed.dirichlet(np.full(len(levels), 5.0)))
    return {
        cell: (int(seed.binomial(n, rate(cell))), int(n))
        for cell, n in zip(levels, counts.tolist(), strict=True)
        if n
    }


def _share_found(rate: Callable[[tuple[str, ...]], float], times: int, people: int) -> float:
    """In which share of samples a gap appears, by the stages of an audit that look for it."""
    seed, found = np.random.default_rng(20), []
    task = AuditTask.read(_spec(["a0", "a1", "a2"]))
    for _ in range(times):
        frame = _frame(_random_cells(seed, rate, people), ["a0", "a1", "a2"])
        audit = Audit.of(task, count_data(task.plan, frame))
        rows = lattice(audit.tables, audit.spec.requests, [], whole=True)
        found.append(any(row.appears for row in rows))
    return float(np.mean(found))


TIMES = 40
MOST = 0.05 + 3 * math.sqrt(0.05 * 0.95 / TIMES)


@pytest.mark.long
@pytest.mark.parametrize("rate", [0.05, 0.4])
def test_nothing_appears_where_nothing_is_wrong(rate: float) -> None:
    assert _share_found(lambda _: rate, TIMES, 1500) <= MOST


@pytest.mark.long
@pytest.mark.parametrize("gap", [0.04, 0.08, 0.3])
def test_a_gap_that_is_inherited_appears_nowhere(gap: float) -> None:
    """One attribute alone matters; at .04 and .08 the test of its levels often misses it."""
    assert _share_found(lambda cell: 0.4 - gap * (cell[0] == "a"), TIMES, 800) <= MOST


@pytest.mark.long
def test_a_planted_gap_is_hardly_missed() -> None:
    def rate(cell: tuple[str, ...]) -> float:
        return 0.5 + (0.25 if (cell[0] == "a") == (cell[2] == "f") else -0.25)

    assert _share_found(rate, 20, 1500) >= 0.9


def _naively(cells: Cells) -> bool:
    """Whether a group differs by its own test while no group it is part of does by its own."""
    people = plain_people(cells)

    def shows(group: plain.Group) -> bool:
        mine = [one for one in people if plain.is_in(one, group)]
        others = [one for one in people if not plain.is_in(one, group)]
        return plain.p_value(mine, others, weighted=False) < 0.05

    names = _names(cells)
    groups = [g for pair in itertools.combinations(names, 2) for g in plain.groups_of(people, pair)]
    return any(shows(one) and not any(map(shows, plain.parents_of(one))) for one in groups)


@pytest.mark.long
def test_without_the_rest_of_each_parent_inherited_gaps_would_be_called_new() -> None:
    """The data that must stay silent are no easy ones: a plainer rule errs on them."""
    seed = np.random.default_rng(20)
    cells = [
        _random_cells(seed, lambda cell: 0.4 - 0.08 * (cell[0] == "a"), 800) for _ in range(40)
    ]
    assert np.mean([_naively(one) for one in cells]) > MOST


def plain_people(cells: Cells) -> list[dict[str, Any]]:
    """A person a row."""
    names = _names(cells)
    return [
        {**dict(zip(names, (level or None for level in levels), strict=True)), "y": y, "w": 1}
        for levels, (hits, people) in cells.items()
        for y in [1] * hits + [0] * (people - hits)
    ]


@st.composite
def small_tables(draw: st.DrawFn) -> Cells:
    """People by two or three attributes: rates far apart, so that gaps do appear."""
    sizes = draw(st.sampled_from([(2, 2), (2, 3), (3, 3), (2, 2, 2)]))
    levels = [[f"{at}{n}" for n in range(size)] for at, size in enumerate(sizes)]
    levels[-1] += draw(st.sampled_from([[], [""]]))
    people = st.sampled_from([0, 3, 12, 30, 31, 60])
    rate = st.sampled_from([0.0, 0.1, 0.5, 0.5, 0.5, 0.9, 1.0])
    cells = {}
    for cell in itertools.product(*levels):
        n = draw(people)
        if n:
            cells[cell] = (round(n * draw(rate)), n)
    hits = sum(each for each, _ in cells.values())
    everybody = sum(n for _, n in cells.values())
    if not 0 < hits < everybody:
        cells[tuple(names[0] for names in levels)] = (7, 19)
    return cells


@pytest.mark.long
@examples(60)
@given(small_tables())
@example(XOR)
@example(BALANCED)
@example({**BALANCED, ("women", ""): (5, 80), ("", "north"): (70, 90)})
def test_groups_and_p_values_are_those_of_the_oracle(cells: Cells) -> None:
    people, names = plain_people(cells), _names(cells)
    expected = plain.oracle(people, names)
    result = _audited(cells)
    appearing = {one.group: one for one in _found(result)}
    assert set(appearing) == {one.group for one in expected if one.appears}
    tested = sum((row.tested or {}).get("prediction", 0) for row in result.lattice)
    assert tested == len(expected)
    for one in expected:
        if one.appears:
            found = appearing[one.group].significance
            assert found is not None
            assert found.family == tested
            assert found.p == pytest.approx(one.p, rel=1e-7)
            assert found.adjusted == pytest.approx(one.adjusted, rel=1e-7)


def test_the_oracle_finds_some_gaps_and_overlooks_others() -> None:
    assert sum(one.appears for one in plain.oracle(plain_people(BALANCED), ["a0", "a1"])) == 4
    assert sum(one.appears for one in plain.oracle(plain_people(XOR), ["a0", "a1"])) > 0


@examples(25)
@given(st.integers(0, 2**32))
def test_survey_weights_count_by_effective_sizes(number: int) -> None:
    seed = np.random.default_rng(number)
    rows = [
        {"a0": a, "a1": b, "y": int(seed.random() < (0.2 if (a == "x") == (b == "u") else 0.6)),
         "w": int(seed.integers(1, 4))}
        for a, b in itertools.product("xy", "uv") for _ in range(60)
    ]  # fmt: skip
    data = pl.DataFrame([{**row, "y": "yes" if row["y"] else "no"} for row in rows])
    spec = {
        "columns": {
            "protected": ["a0", "a1"],
            "prediction": {"column": "y", "positive": "yes", "negative": "no"},
            "weight": "w",
        },
        "metrics": ["selection_rate"],
    }
    result = fairaudit.audit(spec, data=data)
    expected = plain.oracle(rows, ["a0", "a1"], weighted=True)
    appearing = {one.group: one for one in _found(result)}
    assert set(appearing) == {one.group for one in expected if one.appears}
    for one in expected:
        if one.appears:
            found = appearing[one.group].significance
            assert found is not None
            assert found.p == pytest.approx(one.p, rel=1e-7)


def test_rates_of_the_same_cells_are_tested_once() -> None:
    rates = ["selection_rate", "demographic_parity_difference", "differential_fairness"]
    (row,) = [row for row in _audited(BALANCED, metrics=rates).lattice if len(row.by) == 2]
    assert row.tested == {"prediction": 4}
    assert len(row.appears) == 4


@pytest.mark.parametrize(("correction", "times"), [("holm", 4), ("none", 1)])
def test_the_correction_is_the_specs(correction: str, times: int) -> None:
    result = _audited(BALANCED, inference={"correction": correction})
    # All four have the same p-value.
    for one in _found(result):
        assert one.significance is not None
        assert one.significance.adjusted == pytest.approx(times * one.significance.p)


@pytest.mark.parametrize("favourable", [True, False])
def test_those_who_are_worse_off_come_first(favourable: bool) -> None:
    outcome = {"column": "y", "positive": "yes", "negative": "no", "favourable": favourable}
    columns = {"protected": ["a0", "a1"], "count": "n", "prediction": outcome}
    found = _found(_audited(BALANCED, columns=columns))
    first, last = (0.2, 0.8) if favourable else (0.8, 0.2)
    assert [one.estimate.value for one in found] == [first, first, last, last]
    assert [one.worse_off for one in found] == [True, True, False, False]


@pytest.mark.long
def test_the_document_holds_every_number_and_fits_its_schema() -> None:
    document = report_json.document(_audited(BALANCED))
    validate(document)
    (row,) = [row for row in document["lattice"] if len(row["by"]) == 2]
    one = next(each for each in row["appears"] if each["group"] == {"a0": "women", "a1": "north"})
    rate = one["estimate"]
    assert (rate["numerator"], rate["denominator"], rate["value"]) == (40, 200, 0.2)
    other = one["everybody_else"]["other"]
    assert (other["numerator"], other["denominator"]) == (360, 600)
    assert one["everybody_else"]["difference"] == pytest.approx(-0.4)
    assert [each["group"] for each in one["parents"]] == [{"a0": "women"}, {"a1": "north"}]
    assert {each["rest"]["other"]["denominator"] for each in one["parents"]} == {200}
    entry = row["entries"][0]
    sides = [entry["parts"][0][side] for side in ("first", "second")]
    assert [side["n"] for side in sides] == [200, 200]
    del one["parents"]
    with pytest.raises(jsonschema.ValidationError):
        validate(document)


def test_a_gap_is_told_in_one_sentence_made_of_numbers() -> None:
    text = " ".join(_text(_audited(XOR)).split())
    assert (
        "a0=women, a1=north: selection rate of the prediction is 20.0 % (40/200), against 48.1 % "
        "of everybody else (-28.1 points" in text
    )
    assert "The larger groups do not show this gap: a0=women" in text
    assert re.search(r"-28.1 points \[-\S+, -\S+\], adjusted p < .0001\)\. The larger groups", text)
    # Of women 40/200 and 160/200, of the others the same: no gap of either, and how wide it may be.
    assert re.search(r"a0=women \(\S+ %, [+-]\S+ points \[-\S+, \+\S+\], p = ", text)
    assert "shows it" not in text
    assert "corrected by Holm for 4 tests of the prediction" in text


def test_of_many_parents_the_nearest_is_named() -> None:
    """Three attributes, none of which shows it alone, nor any two of them."""
    cells: dict[tuple[str, ...], tuple[int, int]] = {
        cell: (20 if sum(level in "ace" for level in cell) % 2 else 60, 80)
        for cell in itertools.product("ab", "cd", "ef")
    }
    cells["b", "d", "f"] = (58, 80)
    result = _audited(cells)
    assert _levels(result) == set(cells)
    text = " ".join(_text(result).split())
    assert (
        "a0=a, a1=c, a2=e: selection rate of the prediction is 25.0 % (20/80), against 53.2 % of "
        "everybody else (-28.2 points" in text
    )
    # Each attribute's first level has 160 of 320 against 158, two of them 80 of 160 against 238 of
    # 480: both are the other way, and less so where two meet.
    told = (
        "The 6 larger groups do not show this gap; the nearest is a0=a, a1=c (50.0 %, +0.4 points"
    )
    assert told in text


def test_a_rate_without_people_in_a_group_is_not_tested() -> None:
    """Nobody of women in the north has a positive label: no true positive rate there."""
    rows = [
        {"a0": a, "a1": b, "label": label, "y": y, "n": n}
        for (a, b), often in zip(itertools.product("xy", "uv"), (0.2, 0.8, 0.8, 0.2), strict=True)
        for label in ("yes", "no")
        for y, n in (("yes", round(100 * often)), ("no", round(100 * (1 - often))))
        if (a, b, label) != ("x", "u", "yes")
    ]
    outcome = {"positive": "yes", "negative": "no"}
    spec = {
        "columns": {
            "protected": ["a0", "a1"],
            "prediction": {"column": "y", **outcome},
            "label": {"column": "label", **outcome},
            "count": "n",
        },
        "metrics": ["equalized_odds_difference"],
    }
    result = fairaudit.audit(spec, data=pl.DataFrame(rows))
    (row,) = [row for row in result.lattice if len(row.by) == 2]
    # By the true positive rate x and v is all of x, y and u all of u: only y and v is tested.
    assert row.tested == {"prediction": 4 + 1}
    assert {one.metric for one in row.appears} <= {"false_positive_rate", "true_positive_rate"}
    false_positives = [one for one in row.appears if one.metric == "false_positive_rate"]
    assert len(false_positives) == 4


def test_the_few_that_concern_most_people_are_told_and_the_others_counted() -> None:
    result = _audited(BALANCED)
    short, whole = _text(result), _text(result, all_rows=True)
    assert short.count("first appears  ") == 3
    assert "and 1 more group: --verbose" in short
    assert whole.count("first appears  ") == 4


def test_five_attributes_are_one_table_of_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "_UNBOUND", 80)
    seed = np.random.default_rng(5)
    names = ["gender", "race", "age", "education", "country"]
    levels = [("female", "male"), ("Asian", "Black", "White"), ("under 40", "40 and over"),
              ("school", "university"), ("here", "abroad")]  # fmt: skip
    rows = [
        (*cell, answer, int(seed.integers(20, 40)))
        for cell in itertools.product(*levels)
        for answer in ("yes", "no")
    ]
    data = pl.DataFrame(rows, schema=[*names, "y", "n"], orient="row")
    spec = {
        "columns": {
            "protected": names,
            "prediction": {"column": "y", "positive": "yes", "negative": "no"},
            "count": "n",
        },
        "metrics": ["selection_rate", "differential_fairness"],
    }
    text = _text(fairaudit.audit(spec, data=data))
    section = text.split("Every combination of the protected columns")[1].split("ε by")[0]
    assert max(map(len, section.splitlines())) <= 80
    assert section.count("worst pair\n") == 1  # one table
    rows_shown = re.findall(r"^\w.* \d+ +[\d,]+  0\.\d{4} +0\.\d{4}  \S", section, re.MULTILINE)
    assert len(rows_shown) == 31
    assert section.count(" / ") + section.count(" /\n") + section.count("\n / ") >= 31
    for name in names:
        assert f"\n{name} " in section
