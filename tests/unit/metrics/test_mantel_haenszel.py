"""The odds ratio that strata have in common: values, interval and test by published answers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from conftest import SAMPLES, examples
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fairaudit
from fairaudit.base.errors import SpecError
from fairaudit.result import AuditResult, Verdict
from fairaudit.result.rows import ComparisonRow

METRIC = "mantel_haenszel_odds_ratio"


def audit(rows: dict[str, list[Any]], entry: dict[str, Any] | None = None) -> AuditResult:
    columns: dict[str, Any] = {
        "protected": ["g"],
        "decision": {"column": "d", "positive": "yes"},
        "strata": ["z"],
        "count": "n",
    }
    if "w" in rows:
        columns["weight"] = "w"
    metric = {"metric": METRIC, "given": "z", "reference": "b", **(entry or {})}
    spec = {"version": 1, "data": "x.csv", "columns": columns, "metrics": [metric]}
    return fairaudit.audit(spec, data=pl.DataFrame(rows))


def strata(tables: list[tuple[int, int, int, int]], times: int = 1) -> dict[str, list[Any]]:
    """Rows of strata: selected and rejected of a, selected and rejected of b."""
    rows: dict[str, list[Any]] = {"g": [], "z": [], "d": [], "n": []}
    for at, cells in enumerate(tables):
        for (g, d), n in zip(
            (("a", "yes"), ("a", "no"), ("b", "yes"), ("b", "no")), cells, strict=True
        ):
            if n:
                for key, value in (("g", g), ("z", f"s{at}"), ("d", d), ("n", n * times)):
                    rows[key].append(value)
    return rows


def row_of(result: AuditResult) -> ComparisonRow:
    (row,) = result.comparisons
    return row


def test_berkeley_is_as_r_prints_it() -> None:
    """R: mantelhaen.test(UCBAdmissions, correct = FALSE), of men against women."""
    spec = {
        "version": 1,
        "data": str(SAMPLES / "berkeley_admissions.csv"),
        "columns": {
            "protected": {"gender": {}},
            "decision": {"column": "decision", "positive": "admitted"},
            "count": "n",
            "strata": ["department"],
        },
        "metrics": [
            {
                "metric": METRIC,
                "given": "department",
                "reference": "women",
                "fail": {"below": 0.99, "significant": True},
            }
        ],
    }
    (finding,) = fairaudit.audit(spec).findings
    estimate = finding.estimate
    assert estimate is not None
    assert estimate.significance is not None
    assert estimate.value == pytest.approx(0.9046968, abs=5e-8)
    assert estimate.low == pytest.approx(0.7719074, abs=5e-8)
    assert estimate.high == pytest.approx(1.0603298, abs=5e-8)
    assert estimate.significance.p == pytest.approx(stats.chi2.sf(1.524607, 1), abs=1e-6)
    assert estimate.significance.test == "Cochran–Mantel–Haenszel"
    assert estimate.method == "Robins–Breslow–Greenland"


def test_of_matched_pairs_it_is_mcnemars() -> None:
    """Of pairs only the discordant tell: their ratio, 1/b + 1/c, and (b - c)² / (b + c)."""
    both, neither, first, second = 20, 30, 24, 10
    tables = [(1, 0, 1, 0)] * both + [(0, 1, 0, 1)] * neither
    tables += [(1, 0, 0, 1)] * first + [(0, 1, 1, 0)] * second
    result = audit(strata(tables), {"fail": {"above": 1.5, "significant": True}})
    (finding,) = result.findings
    estimate = finding.estimate
    assert estimate is not None
    assert estimate.significance is not None
    assert estimate.value == pytest.approx(first / second)
    reach = stats.norm.ppf(0.975) * math.sqrt(1 / first + 1 / second)
    assert estimate.low == pytest.approx(first / second * math.exp(-reach))
    assert estimate.high == pytest.approx(first / second * math.exp(reach))
    statistic = (first - second) ** 2 / (first + second)
    assert estimate.significance.p == pytest.approx(stats.chi2.sf(statistic, 1))
    assert result.verdict is Verdict.FAIL


def test_one_stratum_has_the_sample_odds_ratio() -> None:
    row = row_of(audit(strata([(30, 70, 45, 55)])))
    assert row.estimate.value == pytest.approx(30 * 55 / (70 * 45))
    reach = stats.norm.ppf(0.975) * math.sqrt(1 / 30 + 1 / 70 + 1 / 45 + 1 / 55)
    assert row.estimate.low == pytest.approx(row.estimate.value * math.exp(-reach))


def test_who_has_no_other_side_adds_nothing() -> None:
    """Strata of one group, or without an outcome that varies, say nothing about odds."""
    plain = row_of(audit(strata([(8, 4, 5, 9), (3, 6, 2, 8)])))
    more = row_of(audit(strata([(8, 4, 5, 9), (3, 6, 2, 8), (50, 50, 0, 0), (9, 0, 7, 0)])))
    assert more.estimate.value == pytest.approx(plain.estimate.value)
    assert (more.estimate.low, more.estimate.high) == pytest.approx(
        (plain.estimate.low, plain.estimate.high)
    )


def test_an_infinite_one_is_tested_and_has_no_interval() -> None:
    result = audit(
        strata([(40, 0, 20, 20), (30, 0, 10, 20)]), {"fail": {"above": 2, "significant": True}}
    )
    (finding,) = result.findings
    assert finding.estimate is not None
    assert math.isinf(finding.estimate.value)
    assert finding.estimate.low is None
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p < 1e-9
    assert result.verdict is Verdict.FAIL


def test_its_limit_is_judged_exactly() -> None:
    """(6·4 + 3·3) / 13 over (2·1 + 5·2) / 13, of strata of 13 people, is 2.75: not above 2.75."""
    tables = [(6, 2, 1, 4), (3, 5, 2, 3)]
    over, under = 6 * 4 + 3 * 3, 2 * 1 + 5 * 2
    limit = over / under
    assert limit == 2.75
    for bound, verdict in (("2.75", Verdict.PASS), ("2.7499999999999999", Verdict.FAIL)):
        assert audit(strata(tables), {"fail": {"above": bound}}).verdict is verdict


def test_under_equal_weights_it_is_that_of_people() -> None:
    tables = [(8, 4, 5, 9), (3, 6, 2, 8)]
    rows = strata(tables)
    plain = row_of(audit(rows))
    weighted = row_of(audit({**rows, "w": [2] * len(rows["n"])}))
    assert weighted.estimate.value == pytest.approx(plain.estimate.value)
    assert weighted.estimate.low == pytest.approx(plain.estimate.low)


def test_weights_move_the_value() -> None:
    """The sums over strata of weighted counts, by hand."""
    rows = strata([(8, 4, 5, 9), (3, 6, 2, 8)])
    weights = [2, 1, 1, 1, 1, 1, 1, 1]
    found = row_of(audit({**rows, "w": weights}))
    over = 16 * 9 / (16 + 4 + 5 + 9) + 3 * 8 / 19
    under = 4 * 5 / (16 + 4 + 5 + 9) + 6 * 2 / 19
    assert found.estimate.value == pytest.approx(over / under)


@pytest.mark.parametrize("reference", ["rest", "highest", "largest", "overall"])
def test_every_reference_gives_a_value(reference: str) -> None:
    rows = strata([(8, 4, 5, 9), (3, 6, 2, 8)])
    result = audit(rows, {"reference": reference})
    values = [row.estimate.value for row in result.comparisons]
    expected = (8 * 9 / 26 + 3 * 8 / 19) / (4 * 5 / 26 + 6 * 2 / 19)
    if reference != "overall":
        assert any(
            value == pytest.approx(expected) or value == pytest.approx(1 / expected)
            for value in values
        )
    assert not any(map(math.isnan, values))


def test_it_weighs_the_strata_itself() -> None:
    with pytest.raises(SpecError, match="already defines the weights of strata"):
        audit(strata([(8, 4, 5, 9)]), {"average": "uniform"})


CELLS = st.tuples(*[st.integers(1, 30)] * 4)


@given(tables=st.lists(CELLS, min_size=1, max_size=5))
@examples(25)
def test_turned_round_it_is_its_reciprocal(tables: list[tuple[int, int, int, int]]) -> None:
    """With the groups swapped, or the classes, value and ends are those of 1 / value."""
    estimate = row_of(audit(strata(tables))).estimate
    assert estimate.low is not None
    assert estimate.high is not None
    for turned in (
        [(c, d, a, b) for a, b, c, d in tables],
        [(b, a, d, c) for a, b, c, d in tables],
    ):
        other = row_of(audit(strata(turned))).estimate
        assert other.value * estimate.value == pytest.approx(1)
        assert other.low == pytest.approx(1 / estimate.high)


@given(tables=st.lists(CELLS, min_size=1, max_size=4), times=st.integers(2, 9))
@examples(15)
def test_more_of_the_same_people_leave_the_value_and_narrow_the_interval(
    tables: list[tuple[int, int, int, int]], times: int
) -> None:
    one, more = (row_of(audit(strata(tables, n))).estimate for n in (1, times))
    assert more.value == pytest.approx(one.value)
    assert one.low is not None
    assert more.low is not None
    assert more.low > one.low


@given(sides=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 40)), min_size=1, max_size=5))
@examples(15)
def test_equal_groups_have_1_and_no_evidence(sides: list[tuple[int, int]]) -> None:
    result = audit(strata([(a, b, a, b) for a, b in sides]), {"fail": {"outside": [0.99, 1.01]}})
    (finding,) = result.findings
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(1)
    assert finding.estimate.significance is not None
    assert finding.estimate.significance.p == pytest.approx(1)


@given(tables=st.lists(CELLS, min_size=1, max_size=5))
@examples(25)
def test_its_interval_and_its_test_agree(tables: list[tuple[int, int, int, int]]) -> None:
    (finding,) = audit(strata(tables), {"fail": {"outside": [0.01, 99]}}).findings
    estimate = finding.estimate
    assert estimate is not None
    assert estimate.significance is not None
    assert estimate.low is not None
    assert estimate.high is not None
    if not estimate.low <= 1 <= estimate.high:
        assert estimate.significance.p < 0.1
    if estimate.significance.p < 0.01:
        assert not estimate.low <= 1 <= estimate.high


def test_clusters_do_not_change_the_value() -> None:
    """A: 20 clusters of 25 of each side; B: 800 single people."""
    rows: dict[str, list[Any]] = {"g": [], "z": [], "d": [], "c": []}

    def add(g: str, z: str, hired: int, rejected: int, cluster: str, size: int) -> None:
        for at in range(hired + rejected):
            values = (g, z, "yes" if at < hired else "no", f"{cluster}{g}{at // size}")
            for name, value in zip(rows, values, strict=True):
                rows[name].append(value)

    for g, hired in (("b", 14 * 25), ("a", 8 * 25)):
        add(g, "A", hired, 500 - hired, "many", 25)
        add(g, "B", 200, 200, "one", 1)
    over = Fraction(200 * 150, 1000) + Fraction(200 * 200, 800)
    under = Fraction(300 * 350, 1000) + Fraction(200 * 200, 800)
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": "yes"}}
    columns |= {"strata": ["z"], "cluster": "c"}
    metric = {"metric": METRIC, "given": "z", "reference": "b", "fail": {"below": 0.8}}
    result = fairaudit.audit({"columns": columns, "metrics": [metric]}, data=pl.DataFrame(rows))
    (finding,) = result.findings
    assert finding.estimate is not None
    assert finding.estimate.value == pytest.approx(float(over / under))
    assert over / under == Fraction(16, 31)
    assert finding.estimate.low is None
    assert result.verdict is Verdict.FAIL


def test_under_unequal_weights_it_has_neither_interval_nor_test() -> None:
    """Cochran's test, and the interval, of effective people are those of another odds ratio."""
    heavy, light = (7, 13, 3, 17), (133, 247, 57, 323)
    rows = strata([heavy, (100, 100, 100, 100), light])
    rows["w"] = [50 if z == "s0" else 1 for z in rows["z"]]
    rows["z"] = ["s0" if z == "s2" else z for z in rows["z"]]
    result = audit(rows, {"fail": {"above": 1.25, "significant": True}})
    (finding,) = result.findings
    estimate = finding.estimate
    assert estimate is not None
    a, b, c, d = (50 * few + many for few, many in zip(heavy, light, strict=True))
    whole = a + b + c + d
    expected = (a * d / whole + 25) / (b * c / whole + 25)
    assert estimate.value == pytest.approx(expected)
    assert (estimate.low, estimate.significance) == (None, None)
    assert "its variance under unequal weights is not estimated" in estimate.no_interval
    assert result.verdict is not Verdict.PASS
