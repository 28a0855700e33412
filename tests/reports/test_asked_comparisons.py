"""The table of the comparison that a spec asks for: each group's value, the failing one marked."""

from __future__ import annotations

import csv
from collections import Counter

import polars as pl
import pytest
from conftest import SPECS

import fairaudit
from fairaudit.report import asked_comparisons, content, rates
from fairaudit.report.blocks import Heading, Table
from fairaudit.result import AuditResult


@pytest.fixture(scope="module")
def loans() -> AuditResult:
    return fairaudit.audit(SPECS / "loans.yaml")


def asked_table(result: AuditResult, by: tuple[str, ...]) -> Table:
    rows = [row for row in result.rates if row.by == by and row.metric == "selection_rate"]
    compared = asked_comparisons.compared_groups(result)
    return next(asked_comparisons.tables(rows, compared, result, None))


def test_every_group_has_the_ratio_that_is_asked(loans: AuditResult) -> None:
    """Counted from the rows of the file: each rate over the highest one."""
    people, selected = Counter[str](), Counter[str]()
    with (SPECS.parent / "sample_data" / "loans.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["race"]:
                group = f"{row['gender']} × {row['race']}"
                people[group] += 1
                selected[group] += float(row["score"]) >= 0.5
    shares = {group: selected[group] / people[group] for group in people}
    highest = max(shares.values())
    table = asked_table(loans, ("gender", "race"))
    assert len(table.rows) == len(shares)
    for name, count, _, value, between, mark in ([cell.text for cell in row] for row in table.rows):
        assert count == f"{selected[name]:,}/{people[name]:,}"
        if shares[name] == highest:
            assert (value, between, mark) == ("1.000", "reference", "")
            continue
        ratio = shares[name] / highest
        assert abs(float(value) - ratio) < 0.0006
        assert mark == ("FAIL" if ratio < 0.8 else "")


def test_no_other_ratio_stands_beside_the_one_that_is_asked(loans: AuditResult) -> None:
    rows = [row for row in loans.rates if row.metric == "selection_rate"]
    for by, has_ratio in ((("gender", "race"), False), (("gender", "age"), True)):
        table = next(rates.tables([row for row in rows if row.by == by], loans, None))
        assert ("ratio" in table.header) is has_ratio
        assert all(len(row) == len(table.header) == len(table.numeric) for row in table.rows)


def test_sections_stand_in_the_order_of_questions(loans: AuditResult) -> None:
    heads = [block.text for block in content.document(loans) if isinstance(block, Heading)]
    order = [
        "Audit:",
        "Checks",
        "Every combination",
        "Rates",
        "Simpson",
        "Account of all rows",
        "Provenance",
    ]
    places = [next(at for at, head in enumerate(heads) if head.startswith(word)) for word in order]
    assert places == sorted(places)
    assert places[-1] == len(heads) - 1


def test_a_scan_can_be_turned_off() -> None:
    rows = pl.DataFrame({
        "a": ["x", "y"] * 40, "b": ["u", "u", "v", "v"] * 20, "y": [1, 0, 0, 1, 1] * 16
    })  # fmt: skip
    spec = {
        "columns": {"protected": ["a", "b"], "decision": {"column": "y", "positive": 1}},
        "metrics": ["selection_rate"],
    }
    scanned = fairaudit.audit(spec, rows)
    silent = fairaudit.audit({**spec, "simpson": False}, rows)
    assert scanned.compared
    assert silent.compared is None
    for result, has_section in ((scanned, True), (silent, False)):
        heads = {block.text for block in content.document(result) if isinstance(block, Heading)}
        assert ("Simpson's reversals" in heads) is has_section
    with pytest.raises(fairaudit.base.errors.SpecError, match="reversals needs `scan: true`"):
        fairaudit.audit({**spec, "simpson": {"scan": False, "fail": True}}, rows)


@pytest.mark.long
@pytest.mark.parametrize("groups", ["abc", "ab"])
def test_a_ratio_of_averages_has_the_rates_of_its_two_groups(groups: str) -> None:
    """By the 500 and 550 of both, a has (.4 · 500 + .2 · 550) / 1,050, b .25 and .06 of them."""
    counts = {"a": ((40, 100), (100, 500)), "b": ((100, 400), (3, 50)), "c": ((30, 800), (50, 200))}
    cells = [
        (group, stratum, decision, people)
        for group in groups
        for stratum, (selected, n) in enumerate(counts[group])
        for decision, people in ((1, selected), (0, n - selected))
    ]
    frame = pl.DataFrame(cells, ["g", "z", "d", "n"], orient="row")
    columns = {"protected": {"g": {"reference": "a"}}, "strata": ["z"], "count": "n",
               "decision": {"column": "d", "positive": 1}}  # fmt: skip
    average = {"metric": "selection_rate", "given": "z", "average": "pooled"}
    metrics = [average, {**average, "compare": "ratio", "fail": {"below": 0.1}}]
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, frame)
    shown, asked = rates.tables([row for row in result.rates if row.by], result, None)
    texts = {row[0].text: [cell.text for cell in row] for row in asked.rows}
    other = texts["b"][3] if groups == "abc" else texts["a"][2]
    b, a = (float(text.removesuffix(" %")) for text in (texts["b"][2], other))
    assert (b, a) == pytest.approx((15.0, 29.5), abs=0.06)
    assert abs(float(texts["b"][-2]) - 158 / 310) < 0.0006
    assert texts["b"][-2] == f"{b / a:.3f}"  # the printed rates give the printed ratio
    of_table = [cell.text for row in shown.rows for cell in row]
    assert ("reference" in of_table) is (groups == "ab")


def test_a_comparison_of_averages_stands_below_the_rates_averaged_alike() -> None:
    cells = [(g, z, d, 10) for g in "ab" for z in "xy" for d in (0, 1)]
    frame = pl.DataFrame(cells, ["g", "z", "d", "n"], orient="row")
    columns = {"protected": {"g": {"reference": "a"}}, "strata": ["z"], "count": "n",
               "decision": {"column": "d", "positive": 1}}  # fmt: skip
    entry = {"metric": "selection_rate", "compare": "difference", "given": "z"}
    metrics = [
        {**entry, "average": weights, "fail": {"above": limit}}
        for weights, limit in (("pooled", 0.8), ("uniform", 0.9))
    ]
    result = fairaudit.audit({"columns": columns, "metrics": metrics}, frame)
    tables = [*rates.tables([row for row in result.rates if row.by], result, None)]
    assert len(tables) == 4
    for table, weights in zip(tables, ["pooled"] * 2 + ["uniform"] * 2, strict=True):
        assert f"(averaged, {weights}" in table.caption
        assert ("fails above" in table.caption) is ("rate, difference" in table.caption)


@pytest.mark.parametrize(("by", "reference"), [(["sex"], "M"), (["sex", "race"], "M × w")])
def test_declared_levels_hold_where_attributes_meet(by: list[str], reference: str) -> None:
    """Women × w are the most, and yet men are the declared reference: 45.5 % of M × w."""
    sizes = {"Fb": (20, 80), "Fw": (40, 160), "Mb": (30, 50), "Mw": (50, 60)}
    rows = [
        (*who, hired, n)
        for who, pair in sizes.items()
        for hired, n in zip((1, 0), pair, strict=True)
    ]
    frame = pl.DataFrame(rows, ["sex", "race", "hired", "n"], orient="row")
    columns = {"protected": {"sex": {"reference": "M"}, "race": {}}, "count": "n",
               "decision": {"column": "hired", "positive": 1}}  # fmt: skip
    result = fairaudit.audit(
        {"columns": columns, "metrics": [{"metric": "selection_rate", "by": [by]}]}, frame
    )
    (table,) = rates.tables([row for row in result.rates if row.by], result, None)
    marked = [row[0].text for row in table.rows if row[-1].text == "reference"]
    assert marked == [reference]


def test_a_page_compares_a_rate_with_one_reference() -> None:
    """The entry names b, the largest group is a: both tables compare with b."""
    sizes = {"g": [*"aabbcc"], "d": [1, 0] * 3, "n": [50, 50, 20, 40, 10, 30]}
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    entry = {"metric": "selection_rate", "compare": "ratio", "reference": "b"}
    result = fairaudit.audit({"columns": columns, "metrics": ["selection_rate", entry]}, sizes)
    tables = rates.tables([row for row in result.rates if row.by], result, None)
    marked = [row[0].text for table in tables for row in table.rows if row[-1].text == "reference"]
    assert marked == ["b", "b"]
