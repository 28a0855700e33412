"""Numbers that are printed together agree: rates with their differences and ratios, everywhere."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from report_cases import EACH, sample

import fairaudit
from fairaudit.report import content, publication, reversals
from fairaudit.report.blocks import Table
from fairaudit.report.diagnostics import by_label, diagnose

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def number(text: str) -> Fraction | None:
    """The number at the beginning of a cell."""
    found = _NUMBER.match(text)
    return None if found is None else Fraction(found[0])


def agree(given: Fraction, text: str) -> bool:
    """Whether a computed number rounds to the printed one, on either side of a tie."""
    digits = len(text.partition(".")[2])
    return abs(abs(given) - abs(Fraction(text))) <= Fraction(101, 200 * 10**digits)


@pytest.mark.parametrize("name", EACH)
def test_rates_of_a_table_give_its_differences_and_ratios(name: str) -> None:
    for table in content.document(sample(name), all_rows=True):
        if not isinstance(table, Table) or not {"rate", "p"} <= {*table.header}:
            continue
        rows = [
            dict(zip(table.header, (cell.text for cell in row), strict=True)) for row in table.rows
        ]
        rates = [number(row["rate"]) for row in rows if row["p"] == "reference"]
        if len(rates) != 1 or rates[0] is None:
            continue
        for row in rows:
            rate = number(row["rate"])
            if rate is not None and number(row.get("diff.", "")) is not None:
                assert agree(rate - rates[0], row["diff."]), (table.caption, row)
            if rate is not None and rates[0] and number(row.get("ratio", "")) is not None:
                assert agree(rate / rates[0], row["ratio"]), (table.caption, row)


@pytest.mark.parametrize("name", EACH)
def test_rates_of_strata_give_their_gaps_and_the_gap_overall(name: str) -> None:
    result = sample(name)
    for reversal in result.reversals:
        first, second = (number(text) for text in reversals.shares(reversal.crude_pair))
        assert first is not None
        assert second is not None
        if reversal.crude and abs(reversal.crude) >= 0.01:
            size = reversals.gap(reversal.crude).partition(" ")[0]
            assert agree(first - second, size), (first, second, size)
        table, *_ = reversals.proof(reversal, result.provenance.inference)
        assert isinstance(table, Table)
        for _, one, other, gap, *_ in table.rows:
            rates = number(one.text), number(other.text)
            if rates[0] is not None and rates[1] is not None:
                assert agree(rates[0] - rates[1], gap.text)


@pytest.mark.parametrize("name", EACH)
def test_rates_of_a_check_give_the_gap_of_its_headline(name: str) -> None:
    for row in diagnose(sample(name)):
        gap = re.search(r"([\d.]+) points (?:less|more|above|below)", row.headline)
        who = "\n".join(text for label, text in by_label(row.lines) if label == "who")
        rates = re.findall(r"  ([\d.]+) %", who)
        if gap is not None and len(rates) == 2:
            assert agree(Fraction(rates[0]) - Fraction(rates[1]), gap[1]), (row.headline, who)


def test_published_rates_give_the_published_ratios() -> None:
    """Of 557/1,835 and 1,198/2,691 the rates have two decimals: 30.4 / 44.5 would be 0.683."""
    rows = {"g": [*"wwmm"], "d": [1, 0, 1, 0], "n": [557, 1278, 1198, 1493]}
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1}, "count": "n"}
    result = fairaudit.audit({"columns": columns, "metrics": ["impact_ratio"]}, rows)
    (table,) = [one for one in publication.document(result) if isinstance(one, Table)]
    assert sorted([cell.text for cell in row[-2:]] for row in table.rows) == [
        ["30.35 %", "0.682"],
        ["44.52 %", "1.000"],
    ]
