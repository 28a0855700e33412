"""Conditional demographic disparity: strata of one group, published numbers, and its sentence."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from conftest import sentence_of
from evidence_specs import YES, document

import fairaudit
from fairaudit.judge import Finding, Status
from fairaudit.report import checks

Rows = list[tuple[str, str, int, int]]
METRIC = {"metric": "conditional_demographic_disparity", "given": "z", "fail": {"above": 0.01}}
ALONE: Rows = [
    ("a", "s1", 1, 10), ("a", "s1", 0, 30), ("b", "s1", 1, 30), ("b", "s1", 0, 10),
    ("a", "s2", 1, 20), ("a", "s2", 0, 20),
]  # fmt: skip
"""Group, stratum, selected or not, people: in s2 a is alone."""
HOUSING: Rows = [
    ("foreign", "rent", 1, 101), ("foreign", "rent", 0, 69),
    ("other", "rent", 1, 8), ("other", "rent", 0, 1),
    ("foreign", "own", 1, 502), ("foreign", "own", 0, 183),
    ("other", "own", 1, 25), ("other", "own", 0, 3),
    ("foreign", "free", 1, 64), ("foreign", "free", 0, 44),
]  # fmt: skip
"""Statlog (German Credit Data), Hofmann 1994: foreign worker, housing, good credit risk, people."""


def spec(**more: Any) -> dict[str, Any]:
    columns = {"protected": ["g"], "strata": ["z"], "count": "n",
               "prediction": {"column": "p", **YES, **more}}  # fmt: skip
    return {"columns": columns, "metrics": [METRIC]}


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(rows, ["g", "z", "p", "n"], orient="row")


def values(rows: Rows, **more: Any) -> dict[str, float]:
    result = fairaudit.audit(spec(**more), frame(rows))
    return {row.group[0][1]: row.estimate.value for row in result.comparisons if row.group}


def finding(rows: Rows) -> Finding:
    (found,) = fairaudit.audit(spec(), frame(rows)).findings
    return found


def test_a_stratum_of_one_group_has_no_disparity_and_weighs() -> None:
    """Of s1 30/40 - 10/40 = .5 among 80 people, of s2 20/20 - 20/20 = 0 among 40."""
    expected = Fraction(80, 120) * (Fraction(30, 40) - Fraction(10, 40))
    assert expected == Fraction(1, 3)
    found = values(ALONE)
    assert found["a"] == pytest.approx(float(expected))
    assert found["b"] == pytest.approx(-float(expected))
    burden = values(ALONE, favourable=False)
    assert burden["a"] == pytest.approx(-float(expected))


def test_the_published_number_of_foreign_workers_comes_out() -> None:
    """SageMaker Clarify's CDD of the German data: nobody but foreign workers lives for free."""
    found = values(HOUSING)
    assert found["foreign"] == pytest.approx(0.032904, abs=5e-7)
    assert found["other"] == pytest.approx(-0.032904, abs=5e-7)


def test_a_stratum_where_nobody_is_selected_is_left_out_and_listed() -> None:
    rows: Rows = [*ALONE, ("a", "s3", 0, 10), ("b", "s3", 0, 5)]
    assert values(rows)["a"] == pytest.approx(1 / 3)
    strata = {one.stratum for one in finding(rows).not_evaluated if not one.blocks}
    assert strata == {(("z", "s3"),)}


def test_strata_of_one_group_alone_compare_nobody() -> None:
    """All of a in x, all of b in y: 1 - 1 everywhere, but nobody was compared: never a pass."""
    apart: Rows = [("a", "x", 1, 90), ("a", "x", 0, 10), ("b", "y", 1, 10), ("b", "y", 0, 90)]
    assert finding(apart).status is Status.INCONCLUSIVE
    few: Rows = [*apart, ("a", "z", 1, 5), ("a", "z", 0, 5), ("b", "z", 1, 5), ("b", "z", 0, 5)]
    assert finding(few).status is Status.INCONCLUSIVE
    assert "of the people are in strata where one side is missing" in finding(few).why


def test_a_settled_stratum_adds_no_width() -> None:
    """Given that a is alone in s2, the average is two thirds of s1's, and so are its ends."""
    alone = {"columns": spec()["columns"], "metrics": [METRIC]}
    ends = []
    for rows in (ALONE, [row for row in ALONE if row[1] == "s1"]):
        result = fairaudit.audit(alone, frame(rows))
        one = next(row for row in result.comparisons if row.group == (("g", "a"),)).estimate
        assert one.low is not None
        assert one.high is not None
        ends.append((one.low, one.high))
    assert ends[0] == pytest.approx([end * 2 / 3 for end in ends[1]])


def test_the_sentence_sets_a_disparity_beside_nobody() -> None:
    result = fairaudit.audit(spec(), frame(ALONE))
    (found,) = result.findings
    sentence = sentence_of(result, found)
    assert " against g=" not in sentence
    assert "; value: 0.333" in sentence
    assert "; who: g=a 0.3333 n = 120; " in sentence
    assert "overall" not in checks.title(found)
    tree = document(spec(), frame(ALONE))
    assert {row["reference"] for row in tree["comparisons"]} == {None}
    assert [part["second"] for row in tree["comparisons"] for part in row["parts"]] == [None, None]
