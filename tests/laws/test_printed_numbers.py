"""Laws of printed numbers: two rates give the value beside them, and what differs looks different.

Each comparison of a report prints the rates that it is made of, in every format: a table of an
asked comparison, a row of JSON or CSV, a sentence on the first screen.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import examples
from hypothesis import given
from hypothesis import strategies as st
from printed_entries import KINDS, audit_entries, random_entry, random_rows
from printed_laws import faults_of_check, faults_of_reports
from printed_reports import Told

import fairaudit
from fairaudit import AuditResult
from fairaudit.report import asked_comparisons, format_of, rates, terminal
from fairaudit.report import json as report_json
from fairaudit.report.blocks import Table
from fairaudit.result import Answer
from fairaudit.result.rows import ComparisonRow, RateRow

_PERCENT = re.compile(r"-?[\d.]+ %")
_OF_ALL = {None, "uniform", "pooled"}
_KINDS = {"difference": (lambda a, b: a - b), "ratio": (lambda a, b: a / b)}

COUNTS = st.lists(
    st.tuples(st.sampled_from([0, 1, 3, 40, 700]), st.sampled_from([0, 2, 60, 900, 100_000])),
    min_size=9,
    max_size=9,
).map(lambda pairs: [(1 + pairs[0][0], pairs[0][1]), *pairs[1:]])
"""Selected and others of three groups in three strata: rare events, and strata of one side."""

ENTRIES = st.fixed_dictionaries(
    {"metric": st.just("selection_rate"), "compare": st.sampled_from([*_KINDS])},
    optional={
        "reference": st.sampled_from(["rest", "highest", "declared"]),
        "average": st.sampled_from(["uniform", "pooled", "reference", "group"]),
    },
).filter(
    # The highest average cannot weigh the averages that it is found among.
    lambda entry: entry.get("reference") != "highest" or entry.get("average") in _OF_ALL
)


def audited(counts: list[tuple[int, int]], entries: list[dict[str, Any]]) -> AuditResult:
    places = [(group, stratum) for group in "abc" for stratum in "xyz"]
    rows = [
        (*place, label, n)
        for place, pair in zip(places, counts, strict=True)
        for label, n in zip((1, 0), pair, strict=True)
        if n
    ]
    frame = pl.DataFrame(rows, ["g", "z", "d", "n"], orient="row")
    asked = [{**one, **({"given": "z"} if "average" in one else {})} for one in entries]
    asked += [{"metric": "selection_rate", "given": "z", "average": "uniform"}]
    columns = {"protected": {"g": {"reference": "a"}}, "strata": ["z"], "count": "n",
               "decision": {"column": "d", "positive": 1, "negative": 0}}  # fmt: skip
    spec = {"columns": columns, "metrics": asked, "simpson": False}
    return fairaudit.audit(spec, frame)


def render(result: AuditResult, name: str) -> str:
    form = format_of(name)
    assert form is not None
    return str(form.render([Answer("s", None, result)], all_rows=True))


def is_value(kind: str, *numbers: float | None) -> bool:
    """Whether the third number is the comparison of the first two, as far as all three exist."""
    known = [number for number in numbers if number is not None and math.isfinite(number)]
    if len(known) < 3 or (kind == "ratio" and not known[1]):
        return True
    return math.isclose(_KINDS[kind](*known[:2]), known[2], rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.long
@given(COUNTS, st.lists(ENTRIES, min_size=1, max_size=3))
def test_two_rates_give_the_value_beside_them(
    counts: list[tuple[int, int]], entries: list[dict[str, Any]]
) -> None:
    result = audited(counts, entries)
    tree = json.loads(report_json.render(result))
    for row in tree["comparisons"]:
        for part in row["parts"]:
            sides = [part[side] and part[side]["value"] for side in ("first", "second")]
            assert is_value(row["compare"], *sides, row["value"]), row
    values = {place_of(row): row["value"] for row in tree["rates"]}
    for row in tree["rates"]:
        other = values.get(place_of({**row, "group": row["reference"]}))
        for kind in _KINDS:
            if row["reference"]:
                assert is_value(kind, row["value"], other, row[kind]), row
            else:
                assert row[kind] is None, row
    text = render(result, "csv").removeprefix("\ufeff")
    lines = [line for line in csv.DictReader(io.StringIO(text)) if not line["compare"]]
    place = ("parameters", "averaged_over", "given.z", "group.g")
    of_group = {tuple(line[name] for name in place): line for line in lines}
    for line in lines:
        if line["reference"]:
            other_key = (*(line[name] for name in place[:3]), line["reference"][2:])
            ends = [line["value"], of_group[other_key]["value"], line["difference"]]
            assert is_value("difference", *(float(end) if end else None for end in ends)), line
    compared = asked_comparisons.compared_groups(result)
    for row in result.rates:
        for table in asked_comparisons.tables([row], compared, result, None) if row.by else ():
            check_table(table)


def place_of(row: dict[str, Any]) -> str:
    names = ("metric", "of", "by", "given", "group", "parameters", "averaged_over")
    return json.dumps([row[name] for name in names], sort_keys=True)


def check_table(table: Table) -> None:
    """The printed rate less the printed reference is the printed value, within its last digits."""
    rows = [[cell.text for cell in row] for row in table.rows]
    references = [row[2] for row in rows if row[-1] == "reference"]
    kind = "ratio" if "ratio" in table.header else "difference"
    for row in rows:
        own, other = row[2], row[3] if table.header[3].startswith("rate of") else None
        if row[-1] == "reference" or not _PERCENT.fullmatch(own):
            continue
        other = other or references[0]
        value = row[table.header.index(kind)]
        if value in {"undefined", "∞"} or not _PERCENT.fullmatch(other):
            continue
        first, second = (float(text[:-2]) / 100 for text in (own, other))
        half = 0.5 * 10 ** -(len(own[:-2].partition(".")[2]) + 2)
        last = 0.5 * 10 ** -len(value.partition(".")[2])
        if kind == "difference":
            assert abs(first - second - float(value)) <= 2 * half + last + 1e-9, (row, other)
        elif second > half:
            ends = [(first - half) / (second + half), (first + half) / (second - half)]
            assert ends[0] - last - 1e-9 <= float(value) <= ends[1] + last + 1e-9, (row, other)


@pytest.mark.long
@given(COUNTS, ENTRIES)
def test_numbers_that_differ_are_printed_differently(
    counts: list[tuple[int, int]], entry: dict[str, Any]
) -> None:
    """By more than the last printed digit of their table; what is compared, whenever it differs."""
    result = audited(counts, [entry])
    tables: dict[str, list[RateRow]] = {}
    for row in result.rates:
        if row.by:
            tables.setdefault(repr((row.stratum, row.averaged, row.parameters)), []).append(row)
    compared = asked_comparisons.compared_groups(result)
    for rows in tables.values():
        table, *asked = rates.tables(rows, result, None)
        at = table.header.index("rate")
        printed = {cells[0].text: cells[at].text for cells in table.rows}
        known = [row for row in rows if math.isfinite(row.estimate.value)]
        digits = {len(printed[row.group[0][1]][:-2].partition(".")[2]) for row in known}
        assert len(digits) <= 1
        for first, second in combinations(known, 2):
            if abs(first.estimate.value - second.estimate.value) > 10 ** -(max(digits) + 2):
                assert printed[first.group[0][1]] != printed[second.group[0][1]]
        for one in asked_comparisons.comparisons_of(rows[0], compared) if asked else ():
            check_apart(one, asked[0])


def check_apart(row: ComparisonRow, table: Table) -> None:
    """Both rates, the value and the ends of its interval look different where they are."""
    cells = {line[0].text: [cell.text for cell in line] for line in table.rows}
    own = cells[row.group[0][1] if row.group else ""]
    references = [texts[2] for texts in cells.values() if texts[-1] == "reference"]
    (part,) = row.parts
    sides = [side.estimate.value for side in (part.first, part.second) if side is not None]
    if len(sides) == 2 and abs(sides[0] - sides[1]) > 1e-7:
        assert own[2] != (references[0] if references else own[3])
    value, interval = own[-3], own[-2].strip("[]").split(", ")
    ends = [row.estimate.low, row.estimate.high]
    for end, text in zip(ends, interval, strict=False):
        if end is not None and 1e-7 < abs(end - row.estimate.value) < math.inf:
            assert text != value


def test_rare_events_are_told_apart_in_every_report() -> None:
    """600 and 1,400 of a million: 0.06 % and 0.14 %, 0.08 points, and a limit of 0.05."""
    sizes = {"g": [*"aabb"], "sel": [1, 0, 1, 0], "n": [600, 999_400, 1400, 998_600]}
    rate = {"metric": "selection_rate"}
    spec = {
        "columns": {"protected": {"g": {"reference": "a"}}, "count": "n",
                    "decision": {"column": "sel", "favourable": False}},
        "metrics": [{**rate, "compare": "ratio", "fail": {"above": 1.25}},
                    {**rate, "compare": "difference", "fail": {"above": 0.0005}}],
    }  # fmt: skip
    result = fairaudit.audit(spec, sizes)
    for name in ("terminal", "markdown", "html", "junit", "sarif"):
        text = " ".join(render(result, name).split())
        assert not re.search(r"\[0\.1, 0\.1\]|0\.1 points|\+0\.[01] points", text)
        assert "0.140 %" in text
        assert "0.060 %" in text
        assert "0.08 points more often" in " ".join(text.split())
    screen = "\n".join(
        "".join(cell.text for cell in line.cells) for line in terminal.draw(result, 100)
    )
    assert "g=b  0.140 %" in screen
    assert "fail above 0.075 %" in screen
    assert "0.07 to 0.09 points" in screen


def test_an_averaged_difference_has_the_averages_of_its_strata() -> None:
    """Of s=0 C is left out: 18.18 % and 20 % average 19.1 %; of s=1 36.4 % and 50 %, 43.2 %."""
    cells = [("1", 1, "A", 40), ("1", 0, "A", 70), ("1", 1, "B", 20), ("1", 0, "B", 20),
             ("0", 1, "A", 20), ("0", 0, "A", 90), ("0", 1, "B", 60), ("0", 0, "B", 240),
             ("0", 1, "C", 5), ("0", 0, "C", 195)]  # fmt: skip
    frame = pl.DataFrame(cells, ["s", "p", "use", "n"], orient="row")
    average = {"metric": "selection_rate", "given": "use", "average": "uniform"}
    spec: dict[str, Any] = {
        "columns": {"protected": {"s": {"reference": "0"}}, "strata": ["use"], "count": "n",
                    "decision": {"column": "p", "positive": 1, "negative": 0}},
        "metrics": [average, {**average, "compare": "difference"},
                    {"metric": "unexplained_difference", "given": "use"}],
    }  # fmt: skip
    result = fairaudit.audit(spec, frame)
    own, other = (40 / 110 + 20 / 40) / 2, (20 / 110 + 60 / 300) / 2
    row = next(row for row in result.comparisons if row.compare == "difference")
    assert row.estimate.value == pytest.approx(own - other)
    screen = "\n".join(
        "".join(cell.text for cell in line.cells) for line in terminal.draw(result, 100)
    )
    assert "43.2 %" in screen
    assert "19.1 %" in screen
    assert "13.6 %" not in screen
    (notice,) = [text for text in result.notices if "lacks" in text]
    assert "of 760 people of s=1 and s=0, 200 are in use=C" in notice
    assert not any("add up" in text for text in result.notices)
    decomposed = fairaudit.audit({**spec, "metrics": spec["metrics"][2:]}, frame)
    assert any("do not add up" in text for text in decomposed.notices)


SPECS = given(st.integers(0, 10**6), st.sampled_from(KINDS), st.booleans())
"""A seed of people and entries, what their outcomes are, and whether limits judge them."""


def check_reports(seed: int, kind: str, *, judged: bool) -> None:
    random = np.random.default_rng(seed)
    entries = [random_entry(random, kind) for _ in range(4)]
    if not judged:
        entries = [{name: one[name] for name in one if name != "fail"} for one in entries]
    result = audit_entries(kind, entries, random_rows(random, kind))
    if result is not None:
        assert not list(faults_of_reports(result))


@SPECS
@examples(60)
def test_some_measures_give_what_is_printed_beside_their_rates(
    seed: int, kind: str, judged: bool
) -> None:
    """However they compare groups, in each format: what follows from the rates, or a sentence."""
    check_reports(seed, kind, judged=judged)


@pytest.mark.long
@SPECS
@examples(400)
def test_every_measure_gives_what_is_printed_beside_its_rates(
    seed: int, kind: str, judged: bool
) -> None:
    """The same of hundreds of specs."""
    check_reports(seed, kind, judged=judged)


def test_the_law_sees_rates_that_do_not_give_the_value() -> None:
    """Another value, two rates that look the same, and a value that is not explained."""
    frame = pl.DataFrame({"g": [*"aabb"], "d": [1, 0, 1, 0], "n": [30, 70, 60, 40]})
    columns = {"protected": {"g": {"reference": "a"}}, "count": "n",
               "decision": {"column": "d", "positive": 1, "negative": 0}}  # fmt: skip
    metrics = [{"metric": "selection_rate", "compare": kind, "fail": {"outside": [-0.1, 0.1]}}
               for kind in ("difference", "log_ratio")]  # fmt: skip
    difference, log_ratio = fairaudit.audit(
        {"columns": columns, "metrics": metrics}, frame
    ).findings
    who = "b  60.0 %  60/100\na  30.0 %  30/100"

    def faults(finding: Any, value: str, who: str = who) -> list[str]:
        return [*faults_of_check(Told("", {"value": value, "who": who}), finding)]

    assert not faults(difference, "0.300, above 0.1 (fails)")
    assert faults(difference, "0.300, above 0.1 (fails)", who.replace("60.0 %", "61.0 %"))
    assert faults(difference, "0.310, above 0.1 (fails)")
    assert faults(difference, "0.300, above 0.1 (fails)", who.replace("60.0 %", "30.0 %"))
    assert faults(log_ratio, "0.693, above 0.1 (fails)")
    assert not faults(log_ratio, "0.693, above 0.1 (fails)\ncomputed as ln(group / reference)")
