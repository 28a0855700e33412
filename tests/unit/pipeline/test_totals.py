"""Rows of totals in a table of counts do not count everybody twice."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable
from typing import Any

import pytest


def table(seed: int, word: str) -> tuple[str, str, int]:
    """A table of counts by two attributes without and with totals, and its people."""
    made = random.Random(seed)
    cells = {pair: made.sample(range(1, 60), 2) for pair in itertools.product("ab", "xyz")}
    whole: dict[tuple[str, str], list[int]] = {}
    for (first, second), counts in cells.items():
        for pair in itertools.product({first, word}, {second, word}):
            before = whole.get(pair, [0, 0])
            whole[pair] = [one + other for one, other in zip(before, counts, strict=True)]
    texts = [
        "g,h,yes,no\n" + "".join(f"{','.join(pair)},{n},{m}\n" for pair, (n, m) in made_of.items())
        for made_of in (cells, whole)
    ]
    return texts[0], texts[1], sum(map(sum, cells.values()))


SPEC: dict[str, Any] = {
    "columns": {
        "protected": ["g", "h"],
        "decision": {"counts": {"yes": "yes", "no": "no"}, "positive": "yes"},
    },
    "metrics": ["selection_rate", "demographic_parity_difference"],
}


WORDS = ["Total", "TOTAL", "Overall", "Grand Total", "All students", "Both sexes", "Insgesamt"]
OTHERS = ["Insgesamt 2024", "Población", "99", ""]
"""These are no names of totals, but their counts are; a database writes blanks (ROLLUP)."""


@pytest.mark.long
@pytest.mark.parametrize("word", [*WORDS, *OTHERS])
@pytest.mark.parametrize("seed", range(3))
def test_a_table_with_totals_gives_the_rates_of_the_table_without(
    audit_csv: Callable[..., Any], seed: int, word: str
) -> None:
    bare, whole, people = table(seed, word)
    expected, found = audit_csv(bare, SPEC), audit_csv(whole, SPEC)
    for result in (expected, found):
        assert result.ledger.people == people
    assert [(row.group, row.estimate.value, row.estimate.n) for row in found.rates] == [
        (row.group, row.estimate.value, row.estimate.n) for row in expected.rates
    ]
    assert found.ledger.filtered == 3 * 4 - 2 * 3
    told = [str(one) for one in found.notices if "totals" in str(one)]
    assert told == [
        f"{name}: '{word}' has as many people as all other levels together: its rows are totals, "
        "and are left out as filtered rows"
        for name in ("g", "h")
    ]


@pytest.mark.parametrize("word", ["Insgesamt 2024", ""])
def test_one_row_of_totals_is_left_out_by_its_counts(
    audit_csv: Callable[..., Any], word: str
) -> None:
    """Of 1,000 and more people in each outcome: once in a million tables it would be chance."""
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g"]}}
    spec["metrics"] = [{"metric": "demographic_parity_ratio", "fail": {"below": 0.85}}]
    bare = "g,yes,no\na,1000,1200\nb,1100,900\n"
    expected, found = audit_csv(bare, spec), audit_csv(f"{bare}{word},2100,2100\n", spec)
    assert found.ledger.people == expected.ledger.people
    assert str(found.findings[0].status) == "fail"


@pytest.mark.parametrize("word", ["Total", "n"])
def test_totals_of_an_outcome_are_no_outcome(audit_csv: Callable[..., Any], word: str) -> None:
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": "yes"}, "count": "n"}
    entry = {"metric": "demographic_parity_difference", "fail": {"above": 0.1}}
    bare = "g,d,n\na,yes,1000\na,no,1200\nb,yes,1300\nb,no,900\n"
    for table in (bare, f"{bare}a,{word},2200\nb,{word},2200\n"):
        result = audit_csv(table, {"columns": columns, "metrics": [entry]})
        assert result.findings[0].value == pytest.approx(0.3 / 2.2)
        assert str(result.findings[0].status) == "fail"


@pytest.mark.parametrize(
    ("table", "is_told"),
    [
        ("a,10,12\nb,11,9\nx,21,21\n", True),  # may be chance
        ("a,250,250\nb,250,250\nx,500,500\n", True),  # of any people with equal rates
        ("a,1000,1200\nx,1000,1200\n", False),  # two equal groups
        ("a,1000,1200\nb,1100,900\nx,2101,2099\n", True),  # off by one: rounded counts
        ("a,1000,1200\nb,1100,900\nx,2103,2097\n", False),  # not the same rate
        ("a,50,60\nb,55,45\nx,106,104\n", False),  # of smaller numbers, it may be chance
        ("a,65,78\nb,72,58\nx,138,135\n", True),  # not even a group of half would be so near
        ("a,1000,1200\nb,1100,900\nc,500,700\nx,2601,2802\n", True),  # four are off by two
        ("a,5000,6000\nb,5500,4500\nx,10510,10500\n", True),  # rounded to tens
        ("a,5000,6000\nb,5500,4500\nx,10530,10500\n", False),
        ("a,2,1\nb,1,0\nx,3,1\n", False),  # as small numbers often do
    ],
)
def test_a_level_that_may_be_a_group_stays_one(
    audit_csv: Callable[..., Any], table: str, *, is_told: bool
) -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g"]}}
    result = audit_csv(f"g,yes,no\n{table}", spec)
    assert result.ledger.filtered == 0
    assert any("if its rows are totals" in str(one) for one in result.notices) is is_told


def test_tables_of_groups_of_any_size_have_no_totals(audit_csv: Callable[..., Any]) -> None:
    for seed in range(25):
        bare, _, people = table(seed, "x")
        result = audit_csv(bare, SPEC)
        assert result.ledger.people == people
        assert not any("totals" in str(one) for one in result.notices)


@pytest.mark.parametrize("word", ["Insgesamt 2024", "99", ""])
def test_totals_of_two_margins_without_a_corner_are_told(
    audit_csv: Callable[..., Any], word: str
) -> None:
    """Each person is in three rows: of a cell, of its row of totals and of its column of totals."""
    text = "".join(
        line
        for line in table(1, word)[1].splitlines(keepends=True)
        if not line.startswith(f"{word},{word},")
    )
    notices = [str(one) for one in audit_csv(text, SPEC).notices]
    for name in "gh":
        told = f"{name}: '{word}' has as many people as all other levels together"
        assert any(one.startswith(told) and "counted twice" in one for one in notices)


@pytest.mark.parametrize("more", [[], ["g"], ["h", "g"]])
@pytest.mark.parametrize("word", ["Total", "Insgesamt 2024", ""])
def test_totals_of_a_combined_column_are_left_out(
    audit_csv: Callable[..., Any], word: str, more: list[str]
) -> None:
    bare, whole, people = table(2, word)
    protected = {"both": {"combine": ["g", "h"]}, **{name: {} for name in more}}
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": protected}}
    expected, found = audit_csv(bare, spec), audit_csv(whole, spec)
    assert expected.ledger.people == found.ledger.people == people
    assert [(row.group, row.estimate.value) for row in found.rates] == [
        (row.group, row.estimate.value) for row in expected.rates
    ]


def test_a_total_in_a_combination_that_does_not_add_up_is_told(
    audit_csv: Callable[..., Any],
) -> None:
    protected = {"both": {"combine": ["g", "h"]}}
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": protected}}
    result = audit_csv("g,h,yes,no\na,x,3,4\na,y,5,6\na,Total,8,13\nb,x,2,2\n", spec)
    (notice,) = [str(one) for one in result.notices if "counted twice" in str(one)]
    assert notice.startswith("both: 'a, Total' counts as a group like any other")


@pytest.mark.long
def test_groups_of_about_half_of_all_people_are_no_totals(audit_csv: Callable[..., Any]) -> None:
    """Men are every second person; some people have no known sex."""
    made, told = random.Random(4), 0
    for _ in range(60):
        levels, cells = made.randint(3, 6), made.randint(1, 12)
        size = made.choice([4, 10, 40, 100, 400])
        lines = ["g,h,yes,no"]
        for cell in range(cells):
            counts = [[0, 0] for _ in range(levels)]
            for outcome in (0, 1):
                for _ in range(size):
                    few = made.randrange(2, levels) if made.random() < 0.1 else 1
                    counts[0 if made.random() < 0.5 else few][outcome] += 1
            lines += [f"g{at},h{cell},{yes},{no}" for at, (yes, no) in enumerate(counts)]
        result = audit_csv("\n".join([*lines, ""]), SPEC)
        told += any("totals" in str(one) for one in result.notices)
    assert told == 0


def test_a_level_that_is_only_called_total_is_a_group(audit_csv: Callable[..., Any]) -> None:
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g"]}}
    result = audit_csv("g,yes,no\na,3,4\nb,5,6\nTotal,8,9\n", spec)
    assert {dict(row.group).get("g") for row in result.rates} == {None, "a", "b", "Total"}
    (notice,) = [str(one) for one in result.notices if "Total" in str(one)]
    assert "counts as a group like any other" in notice


def test_rows_of_people_have_no_totals(audit_csv: Callable[..., Any]) -> None:
    spec = {"columns": {"protected": ["g"], "decision": "d"}, "metrics": "selection_rate"}
    result = audit_csv("g,d\na,1\nb,0\nTotal,1\nTotal,0\n", spec)
    assert result.ledger.counted == 4


def test_a_total_of_masked_counts_is_left_out(audit_csv: Callable[..., Any]) -> None:
    table = "g,d,n\nAll races,yes,{}\nAll races,no,70\na,yes,20\na,no,40\nb,yes,<5\nb,no,30\n"
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": "yes"}, "count": "n"}
    spec = {"columns": columns, "missing": {"masked": {"<5": [0, 4]}}, "metrics": "selection_rate"}
    for total, people in (("23", 90), ("29", 90 + 99)):  # 29 is more than 20 and 4
        result = audit_csv(table.format(total), spec)
        assert result.ledger.people == people


@pytest.mark.parametrize(
    ("level", "where", "is_told"),
    [("All", "", True), ("total", "", True), ("All", "k <> 'All'", False), ("other", "", False)],
)
def test_totals_of_a_column_that_the_spec_does_not_use_are_told(
    audit_csv: Callable[..., Any], level: str, where: str, is_told: bool
) -> None:
    rows = [("a", 10, 90), ("b", 20, 80)]
    table = "g,k,yes,no\n" + "".join(
        f"{g},x,{yes},{no}\n{g},y,{yes},{no}\n{g},{level},{2 * yes},{2 * no}\n"
        for g, yes, no in rows
    )
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g"]}}
    result = audit_csv(table, {**spec, "filter": where} if where else spec)
    told = f"'k', which the spec does not use, has the level '{level}'"
    assert any(told in str(notice) for notice in result.notices) is is_told


def test_the_remedy_for_totals_names_a_column_with_blanks_as_a_filter_does(
    audit_csv: Callable[..., Any],
) -> None:
    table = "g,kind of row,yes,no\na,x,10,90\na,All,10,90\nb,x,20,80\nb,All,20,80\n"
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g"]}}
    result = audit_csv(table, spec)
    (remedy,) = re.findall("`filter: (.*)`", str(result.notices[0]))
    assert remedy == "\"kind of row\" <> 'All'"
    assert audit_csv(table, {**spec, "filter": remedy}).ledger.people == 200


def one_way(seed: int, word: str, names: str, corner: str) -> tuple[str, int]:
    """A table with a row of totals for each level of each column alone, and its people."""
    made = random.Random(seed)
    cells = {
        levels: made.sample(range(1, 60), 2)
        for levels in itertools.product(*(f"{name}1 {name}2 {name}3".split() for name in names))
    }
    whole = {levels: [*counts] for levels, counts in cells.items()}
    for levels, counts in cells.items():
        places = [
            tuple(level if at == column else word for at, level in enumerate(levels))
            for column in range(len(names))
        ]
        for place in (*places, *([(word,) * len(names)] if corner else [])):
            before = whole.get(place, [0, 0])
            whole[place] = [one + other for one, other in zip(before, counts, strict=True)]
    head = f"{','.join(names)},yes,no\n"
    text = head + "".join(f"{','.join(at)},{n},{m}\n" for at, (n, m) in whole.items())
    return text, sum(map(sum, cells.values()))


@pytest.mark.parametrize("names", ["ghk", "ghkr"])
@pytest.mark.parametrize("corner", ["", "corner"])
@pytest.mark.parametrize("word", ["Insgesamt 2024", "99", ""])
def test_totals_of_one_column_each_are_told(
    audit_csv: Callable[..., Any], word: str, corner: str, names: str
) -> None:
    """Each person of a cell is in a row of totals of each column, too."""
    text, people = one_way(3, word, names, corner)
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": [*names]}}
    result = audit_csv(text, spec)
    assert result.ledger.people == people * (1 + len(names) + bool(corner))
    told = [str(one) for one in result.notices if "people are counted twice" in str(one)]
    assert [one.split(":")[0] for one in told] == [*names]
    assert all(f"'{word}'" in one for one in told)


@pytest.mark.parametrize("word", ["Insgesamt 2024", ""])
def test_totals_of_one_column_each_beside_a_column_without_totals_are_told(
    audit_csv: Callable[..., Any], word: str
) -> None:
    """Most people are of region s, and each region has a table with its totals."""
    head, *lines = one_way(3, word, "ghk", "")[0].splitlines()
    text = f"{head},r\n" + "".join(f"{line},s\n" for line in lines)
    text += "".join(f"{line},t\n" for line in one_way(4, word, "ghk", "")[0].splitlines()[1:])
    spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g", "h", "k", "r"]}}
    told = [str(one) for one in audit_csv(text, spec).notices if "totals" in str(one)]
    assert {one.split(":")[0] for one in told} == {*"ghk"}


@pytest.mark.long
def test_groups_of_most_people_in_three_columns_are_no_totals(
    audit_csv: Callable[..., Any],
) -> None:
    """Of real groups two of three people have the first level; a design has equal cells."""
    for seed in range(20):
        made, equal = random.Random(seed), seed % 2
        cells = itertools.product("ab", "xy", "uv")
        lines = ["g,h,k,yes,no"]
        for levels in cells:
            size = 20 if equal else 10 * 2 ** sum(one in "axu" for one in levels)
            counts = [size if equal else max(round(made.gauss(size, size**0.5)), 1) for _ in "yn"]
            lines.append(f"{','.join(levels)},{counts[0]},{counts[1]}")
        spec = {**SPEC, "columns": {**SPEC["columns"], "protected": ["g", "h", "k"]}}
        notices = audit_csv("\n".join([*lines, ""]), spec).notices
        assert not any("totals" in str(one) for one in notices)


@pytest.mark.long
@pytest.mark.parametrize("unit", [1, 5, 10])
def test_rounded_totals_of_few_people_are_told_and_groups_of_half_are_not(
    audit_csv: Callable[..., Any], unit: int
) -> None:
    """Totals of counts that are rounded, of 20 to 120 people; and groups of just as many."""
    made, told = random.Random(unit), {"totals": 0, "groups": 0}
    cells_of = {1: 4, 5: 16, 10: 16}  # fewer cells rounded to tens show nothing
    for _ in range(40):
        tables: dict[str, list[list[int]]] = {"totals": [], "groups": []}
        for _ in range(cells_of[unit]):
            parts = [made.randint(10, 60), made.randint(10, 60)]
            off = made.randint(-1, 1) if unit == 1 else 0
            tables["totals"].append([*parts, sum(parts) + off])
            draws = [made.choices([0, 1, 2], [9, 1, 10])[0] for _ in range(2 * sum(parts))]
            tables["groups"].append([draws.count(level) for level in range(3)])
        for name, cells in tables.items():
            lines = ["g,h,yes,no"]
            for at, (yes, no) in enumerate(zip(cells[::2], cells[1::2], strict=True)):
                counts = [[round(n / unit) * unit for n in side] for side in (yes, no)]
                lines += [f"g{g},h{at},{counts[0][g]},{counts[1][g]}" for g in range(3)]
            notices = audit_csv("\n".join([*lines, ""]), SPEC).notices
            told[name] += any("totals" in str(one) for one in notices)
    assert told["totals"] == 40
    assert told["groups"] <= 1
