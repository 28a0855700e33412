"""Two results beside each other: numbers against scipy, statsmodels and plain rows; and laws."""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import polars as pl
import pytest
import stats_oracle
import yaml
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

import fairaudit
from fairaudit import codec
from fairaudit import spec as specs
from fairaudit.base.disclosure_marks import Notice, Subjects
from fairaudit.base.errors import NothingToAudit, UsageError
from fairaudit.base.frozen import replace
from fairaudit.cli import run_line
from fairaudit.judge import Status
from fairaudit.judge.findings import Waived
from fairaudit.judge.simpson import ReversalKind
from fairaudit.metrics import Eligibility
from fairaudit.report import FORMATS, terminal
from fairaudit.report import changes as pages
from fairaudit.report import json as report_json
from fairaudit.result import AuditResult
from fairaudit.tools.compare import Comparison, compare, compare_models, document_schema
from fairaudit.tools.compare.records import Change, Changes, Direction, RateChange, Sampling, Scale

Rows = Mapping[tuple[str, int, int], int]
"""People by group, label and prediction."""

COLUMNS: dict[str, Any] = {
    "protected": {"group": {"reference": "a"}},
    "label": {"column": "label", "positive": "1", "negative": "0"},
    "prediction": {"column": "prediction", "positive": "1", "negative": "0"},
    "count": "n",
}
METRICS: list[Any] = [
    "true_positive_rate",
    "f1",
    {"metric": "selection_rate", "fail": {"below": 0.25}},
    {"metric": "statistical_parity_difference", "fail": {"outside": [-0.2, 0.2]}},
    {"metric": "demographic_parity_ratio", "fail": {"below": 0.6}},
    {"metric": "demographic_parity_difference", "fail": {"above": 0.3}},
]
MAY: Rows = {
    ("a", 0, 0): 150, ("a", 0, 1): 50, ("a", 1, 0): 60, ("a", 1, 1): 140,
    ("b", 0, 0): 120, ("b", 0, 1): 35, ("b", 1, 0): 55, ("b", 1, 1): 90,
}  # fmt: skip
JUNE: Rows = {
    ("a", 0, 0): 160, ("a", 0, 1): 48, ("a", 1, 0): 62, ("a", 1, 1): 150,
    ("b", 0, 0): 150, ("b", 0, 1): 15, ("b", 1, 0): 101, ("b", 1, 1): 36,
}  # fmt: skip


def frame(rows: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"group": g, "label": str(y), "prediction": str(p), "n": n}
            for (g, y, p), n in rows.items()
            if n
        ]
    )


def audit(rows: Rows, metrics: Sequence[Any] = METRICS, **spec: Any) -> AuditResult:
    found = {"title": "t", "columns": COLUMNS, "metrics": [*metrics], **spec}
    return fairaudit.audit(found, frame(rows))


def rate(changes: Changes, metric: str, **group: str) -> RateChange:
    wanted = tuple(group.items())
    (one,) = (each for each in changes.rates if (each.metric, each.group) == (metric, wanted))
    return one


def every(changes: Changes) -> list[Change]:
    """The changes of all checks and rates."""
    return [one.change for one in changes.checks] + [one.change for one in changes.rates]


def people(rows: Rows, group: str) -> list[tuple[int, int]]:
    """Label and prediction of everybody in a group, one by one."""
    return [(y, p) for (g, y, p), n in rows.items() if g == group for _ in range(n)]


def selected(rows: Rows, group: str) -> tuple[int, int]:
    everybody = people(rows, group)
    return sum(p for _, p in everybody), len(everybody)


# The numbers ---------------------------------------------------------------------------------


def two_shares(a: int, n: int, c: int, m: int) -> tuple[str, float]:
    """The test of two shares, by SciPy or statsmodels; Fisher's p counts ties one half."""
    if stats_oracle.is_counted(a, n, c, m):
        whole = float(stats.fisher_exact([[a, n - a], [c, m - c]]).pvalue)
        here = stats.hypergeom(n + m, a + c, n).pmf
        ties = [k for k in range(min(n, a + c) + 1) if math.isclose(here(k), here(a))]
        return "Fisher, mid-p", whole - sum(map(here, ties)) / 2
    return "z", float(proportions_ztest([a, c], [n, m])[1])


def test_a_rates_change_is_newcombes_interval_and_the_test_of_two_shares() -> None:
    one = rate(compare(audit(MAY), audit(JUNE)), "selection_rate", group="b")
    (c, m), (a, n) = selected(MAY, "b"), selected(JUNE, "b")
    assert one.change.value == pytest.approx(a / n - c / m)
    low, high = confint_proportions_2indep(a, n, c, m, method="newcomb", compare="diff")
    assert (one.change.low, one.change.high) == pytest.approx((low, high), abs=1e-9)
    test = one.change.significance
    assert test is not None
    name, p = two_shares(a, n, c, m)
    assert test.p == pytest.approx(p, rel=1e-9)
    assert (test.test, one.change.way) == (name, Direction.WORSE)


def test_few_expected_are_tested_by_fisher() -> None:
    few = {("a", 1, 1): 3, ("a", 1, 0): 30, ("b", 1, 1): 2, ("b", 1, 0): 20}
    more = {("a", 1, 1): 9, ("a", 1, 0): 20, ("b", 1, 1): 3, ("b", 1, 0): 19}
    changes = compare(audit(few, ["selection_rate"]), audit(more, ["selection_rate"]))
    test = rate(changes, "selection_rate", group="b").change.significance
    assert test is not None
    assert test.test == "Fisher, mid-p"
    assert test.p == pytest.approx(stats_oracle.fisher(2, 22, 3, 22)[1], rel=1e-9)


def test_all_rates_are_one_family_and_all_checks_another() -> None:
    changes = compare(audit(MAY), audit(JUNE))
    families = (
        [one.change.significance for one in changes.rates],
        [change.significance for one in changes.checks for change in one.tested],
    )
    for tests in families:
        known = [one for one in tests if one is not None]
        assert len(known) > 3
        expected = multipletests([one.p for one in known], method="holm")[1]
        assert [one.adjusted for one in known] == pytest.approx(list(expected))
        assert {one.family for one in known} == {len(known)}


def test_the_correction_is_the_one_that_the_later_spec_asks_for() -> None:
    how: dict[str, Any] = {"inference": {"correction": "benjamini_hochberg"}}
    changes = compare(audit(MAY), audit(JUNE, **how))
    tests = [one.change.significance for one in changes.rates if one.change.significance]
    expected = multipletests([one.p for one in tests], method="fdr_bh")[1]
    assert [one.adjusted for one in tests] == pytest.approx(list(expected))
    assert "correction: Holm before, Benjamini–Hochberg after" in changes.conditions


def test_a_mean_is_tested_by_welch_over_the_rows() -> None:
    random = Random(3)
    months: list[list[dict[str, Any]]] = [
        [
            {"group": g, "value": round(random.gauss(shift if g == "b" else 0, 1 + month), 6)}
            for g in "aaab" * (20 + 7 * month)
        ]
        for month, shift in ((0, 0.0), (1, 0.9))
    ]
    spec = {
        "columns": {
            "protected": ["group"],
            "prediction": {"column": "value", "number": True},
        },
        "metrics": ["mean_prediction"],
    }
    changes = compare(*(fairaudit.audit(spec, pl.DataFrame(rows)) for rows in months))
    one = rate(changes, "mean_prediction", group="b").change
    sides = [[float(row["value"]) for row in rows if row["group"] == "b"] for rows in months]
    found = stats.ttest_ind(sides[1], sides[0], equal_var=False)
    assert one.significance is not None
    assert one.significance.p == pytest.approx(found.pvalue, rel=1e-6)
    interval = found.confidence_interval()
    assert (one.low, one.high) == pytest.approx((interval.low, interval.high), rel=1e-6)
    assert one.significance.test == one.method == "Welch"


def wald(sides: Sequence[tuple[float, float, float]], sign: int) -> tuple[float, float, float]:
    """Zou & Donner's interval of first ± second by hand, and the p that excludes no change."""
    (v, low, high), (w, other_low, other_high) = sides
    gap = v - w
    lower = gap - math.sqrt((v - low) ** 2 + (other_high - w) ** 2)
    upper = gap + math.sqrt((high - v) ** 2 + (w - other_low) ** 2)
    reach = gap - lower if gap > 0 else upper - gap
    z = abs(gap) / reach * stats.norm.isf(0.025)
    return sign * lower, sign * upper, 2 * stats.norm.sf(z)


def test_a_measures_change_recovers_its_variances_from_its_intervals() -> None:
    before, after = audit(MAY), audit(JUNE)
    changes = compare(before, after)
    checks = {one.check.id.split("/")[0]: one for one in changes.checks}
    gap = checks["statistical_parity_difference"].change
    sides = []
    for rows in (JUNE, MAY):
        (x, n), (y, m) = selected(rows, "b"), selected(rows, "a")
        ends = confint_proportions_2indep(x, n, y, m, method="newcomb", compare="diff")
        sides.append((x / n - y / m, *ends))
    low, high, p = wald(sides, 1)
    assert gap.value == pytest.approx(sides[0][0] - sides[1][0])
    assert (gap.low, gap.high) == pytest.approx((low, high), abs=1e-9)
    assert gap.significance is not None
    assert gap.significance.p == pytest.approx(p, rel=1e-6)
    ratio = checks["demographic_parity_ratio"].change
    logs = []
    for rows in (JUNE, MAY):
        (x, n), (y, m) = selected(rows, "b"), selected(rows, "a")
        low, high = stats_oracle.koopman(x, n, y, m, 0.05)
        logs.append((math.log(x / n * m / y), math.log(low), math.log(min(high, 1.0))))
    low, high, p = wald(logs, 1)
    assert ratio.scale is Scale.RATIO
    assert math.log(ratio.value) == pytest.approx(logs[0][0] - logs[1][0])
    assert (ratio.low, ratio.high) == pytest.approx((math.exp(low), math.exp(high)), rel=1e-6)
    assert ratio.significance is not None
    assert ratio.significance.p == pytest.approx(p, rel=1e-5)


def test_every_group_of_a_check_is_tested_beside_itself() -> None:
    """One family of all groups, each with the test of its own two months."""
    more = [
        {**rows, **{("c", y, p): 60 for y, p in product((0, 1), repeat=2)}} for rows in (MAY, JUNE)
    ]
    metric = [{"metric": "selection_rate", "fail": {"below": 0.25}}]
    (one,) = compare(*(audit(rows, metric) for rows in more)).checks
    found = {each.group[0][1]: each.change for each in one.groups}
    assert set(found) == {"a", "b", "c"}
    expected = {}
    for group, change in found.items():
        (c, m), (a, n) = (selected(rows, group) for rows in more)
        ends = confint_proportions_2indep(a, n, c, m, method="newcomb", compare="diff")
        assert (change.low, change.high) == pytest.approx(ends, abs=1e-9)
        expected[group] = two_shares(a, n, c, m) if group != "c" else ("z", 1.0)
    adjusted = multipletests([p for _, p in expected.values()], method="holm")[1]
    for (group, (name, p)), level in zip(expected.items(), adjusted, strict=True):
        test = found[group].significance
        assert test is not None
        assert (test.p, test.adjusted) == pytest.approx((p, level), rel=1e-6)
        assert (test.test, test.family) == (name, 3)
    assert one.change == found["b"], "the worst one both times"


def test_a_group_is_compared_with_itself_where_another_was_the_worst() -> None:
    """A fall of 12 points is told, though the worst value falls by 5: a was the worst before."""
    metric = [{"metric": "selection_rate", "fail": {"below": 0.35}}]
    then = {"b": (500, 1000), "a": (433, 1000)}
    now = {"b": (379, 1001), "a": (452, 1002)}
    changes = compare(audit(hits(then), metric), audit(hits(now), metric))
    (one,) = changes.checks
    assert one.change.value == pytest.approx(379 / 1001 - 0.433)
    assert one.change.significance is None, "nobody's change"
    assert one.change.why == "not tested: another group was the worst before"
    found = {dict(each.group)["group"]: each for each in one.groups}
    assert [found["a"].decided, found["a"].decides] == [True, False]
    assert [found["b"].decided, found["b"].decides] == [False, True]
    own = found["b"].change
    assert own.value == pytest.approx(379 / 1001 - 0.5)
    assert own.significance is not None
    p = proportions_ztest([379, 500], [1001, 1000])[1]
    assert own.significance.p == pytest.approx(p, rel=1e-9)
    assert (own.way, one.is_worse, one.is_better) == (Direction.WORSE, True, False)
    text = text_of(changes)
    assert "worst 0.4330 by a before, 0.3786 by b now" in text
    assert "group=b 0.5000 → 0.3786: -0.1214 [" in text
    rows = {row["group"]["group"]: row for row in valid(changes)["checks"][0]["groups"]}
    assert (rows["b"]["way"], rows["b"]["significant"]) == ("worse", True)
    assert (rows["a"]["decided"], rows["a"]["decides"]) == (True, False)


def test_worse_never_rests_on_different_worst_groups() -> None:
    """A far lower worst value is of a group that was not judged before: it has no change."""
    metric = [{"metric": "selection_rate", "fail": {"below": 0.01}}]
    spread = [{"metric": "demographic_parity_difference", "fail": {"above": 0.9}}]
    then = {"a": (500, 1000), "b": (480, 1000)}
    now = {"a": (500, 1001), "b": (480, 1000), "c": (20, 1000)}
    (one,) = compare(audit(hits(then), metric), audit(hits(now), metric)).checks
    assert (one.is_worse, one.change.significance) == (False, None)
    (one,) = compare(audit(hits(then), spread), audit(hits(now), spread)).checks
    assert (one.is_worse, one.change.significance) == (False, None)
    assert one.change.why == "not tested: group=c was not judged before"
    (back,) = compare(audit(hits(now), spread), audit(hits(then), spread)).checks
    assert not back.is_better


def test_a_group_that_is_less_ahead_is_no_worse() -> None:
    """A limit on the lower side does not look beyond parity."""
    metric = [{"metric": "disparate_impact_ratio", "fail": {"below": 0.5}}]
    then = {"a": (300, 1000), "b": (280, 1000), "c": (900, 1000)}
    now = {"a": (300, 1001), "b": (280, 1001), "c": (500, 1001)}
    (one,) = compare(audit(hits(then), metric), audit(hits(now), metric)).checks
    found = {dict(each.group)["group"]: each.change for each in one.groups}
    assert (found["c"].way, found["c"].significant) == (Direction.LOWER, True)
    assert (one.is_worse, one.is_better) == (False, False)


def test_a_group_is_compared_to_the_reference_of_its_own_check() -> None:
    """Two checks of one measure differ in nothing but the reference they name."""
    metric = {"metric": "selection_rate", "compare": "difference", "fail": {"above": 0.9}}
    asked = [{**metric, "reference": one} for one in "ab"]
    then = {"a": (400, 1000), "b": (600, 1000), "c": (300, 1000)}
    now = {**then, "c": (700, 1001)}
    changes = compare(audit(hits(then), asked), audit(hits(now), asked))
    for one in changes.checks:
        reference = one.check.id.split("/")[0].split(".")[-1]
        level = {"a": 0.4, "b": 0.6}[reference]
        found = {dict(each.group)["group"]: each.change for each in one.groups}
        assert set(found) == {"a", "b", "c"} - {reference}
        assert found["c"].before.value == pytest.approx(0.3 - level)
        assert found["c"].after.value == pytest.approx(700 / 1001 - level)


def test_a_stratum_is_compared_with_the_same_stratum() -> None:
    """Of a measure over all groups, too: the worst stratum of before is not the one of now."""
    limit = [{"metric": "demographic_parity_difference", "given": "size", "fail": {"above": 0.9}}]
    then = {("x", "s"): (300, 600), ("y", "s"): (240, 600), ("x", "t"): (300, 600),
            ("y", "t"): (300, 600)}  # fmt: skip
    now = {**then, ("y", "s"): (300, 600), ("y", "t"): (180, 600)}
    changes = compare(
        *(stones(rows, metrics=limit, simpson={"rates": []}) for rows in (then, now)),
        same_people=False,
    )
    (one,) = changes.checks
    found = {dict(each.stratum)["size"]: each.change for each in one.groups}
    assert found["s"].value == pytest.approx(-0.1)
    assert found["t"].value == pytest.approx(0.2)
    assert found["t"].way is Direction.WORSE
    assert one.is_worse
    assert one.change.significance is None


def test_how_people_are_spread_is_tested_by_chi_square() -> None:
    (one,) = compare(audit(MAY), audit(JUNE)).people
    sizes = [[selected(rows, group)[1] for group in "ab"] for rows in (MAY, JUNE)]
    expected = stats.chi2_contingency(sizes, correction=False).pvalue
    assert one.significance is not None
    assert one.significance.p == pytest.approx(expected, rel=1e-9)
    assert [(row.n_before, row.n_after) for row in one.groups] == [
        (selected(MAY, dict(row.group)["group"])[1], selected(JUNE, dict(row.group)["group"])[1])
        for row in one.groups
    ]


def test_few_people_are_dealt_out_anew_to_test_their_spread() -> None:
    one = {("a", 1, 1): 7, ("a", 1, 0): 1, ("b", 1, 1): 1, ("b", 1, 0): 1}
    two = {("a", 1, 1): 2, ("b", 1, 1): 5, ("b", 1, 0): 1}
    (found,) = compare(audit(one, ["selection_rate"]), audit(two, ["selection_rate"])).people
    assert found.significance is not None
    assert found.significance.test == "permutations"
    chance = stats.hypergeom(18, 10, 10)  # who of the first month is in group a: 8 are
    far = abs(8 - 10 * 10 / 18)
    exact = sum(chance.pmf(k) for k in range(2, 11) if abs(k - 10 * 10 / 18) >= far - 1e-9)
    assert found.significance.p == pytest.approx(exact, abs=0.01)


# Laws ----------------------------------------------------------------------------------------


def test_a_result_beside_itself_has_no_change() -> None:
    result = audit(MAY)
    for same in (None, False):
        changes = compare(result, result, same_people=same)
        assert {one.way for one in every(changes)} == {Direction.SAME}
        assert not any(one.significant for one in every(changes))
        assert not changes.worse + changes.better + changes.reversals + changes.conditions
        assert not changes.new_notices + changes.gone_notices
        assert {row.share_after for row in changes.people[0].groups} == {
            row.share_before for row in changes.people[0].groups
        }


TURNED = {
    Direction.WORSE: Direction.BETTER,
    Direction.BETTER: Direction.WORSE,
    Direction.HIGHER: Direction.LOWER,
    Direction.LOWER: Direction.HIGHER,
    Direction.SAME: Direction.SAME,
    Direction.UNKNOWN: Direction.UNKNOWN,
}


def test_swapping_both_flips_signs_and_words() -> None:
    there, back = compare(audit(MAY), audit(JUNE)), compare(audit(JUNE), audit(MAY))
    pairs = [
        (one.change, next(o.change for o in back.checks if o.check.id == one.check.id))
        for one in there.checks
    ]
    pairs += [
        (
            one.change,
            next(o.change for o in back.rates if (o.metric, o.group) == (one.metric, one.group)),
        )
        for one in there.rates
    ]
    assert len(pairs) > 10
    for one, other in pairs:
        assert other.way is TURNED[one.way]
        assert one.low is not None
        assert one.high is not None
        if one.scale is Scale.RATIO:
            expected = (1 / one.value, 1 / one.high, 1 / one.low)
        else:
            expected = (-one.value, -one.high, -one.low)
        assert (other.value, other.low, other.high) == pytest.approx(expected)
        assert one.significance is not None
        assert other.significance is not None
        assert one.significance.p == pytest.approx(other.significance.p)
    assert {one.check.id for one in there.worse} == {one.check.id for one in back.better}


def test_an_interval_excludes_no_change_where_p_is_below_its_level() -> None:
    changes = compare(audit(MAY), audit(JUNE))
    by_mover = [
        one
        for one in every(changes)
        if one.significance is not None and "MOVER" in one.significance.test
    ]
    assert {one.significance.p < 0.05 for one in by_mover if one.significance} == {True, False}
    for one in by_mover:
        nothing = 1.0 if one.scale is Scale.RATIO else 0.0
        assert one.low is not None
        assert one.high is not None
        assert one.significance is not None
        assert (one.significance.p < 0.05) is not (one.low <= nothing <= one.high)


def test_what_got_worse_for_sure_comes_first() -> None:
    changes = compare(audit(MAY), audit(JUNE))
    sure = [one.change.significant for one in changes.rates]
    assert sure == sorted(sure, reverse=True)
    assert (changes.rates[0].change.way, sure[0], sure[-1]) == (Direction.WORSE, True, False)
    words = [(not one.is_worse, not one.is_better) for one in changes.checks]
    assert words == sorted(words)
    assert {one.check.id.split("/")[0] for one in changes.worse} >= {
        "selection_rate",
        "demographic_parity_ratio",
    }


@pytest.mark.long
def test_where_nothing_changes_hardly_anything_is_found() -> None:
    """60 pairs of samples: above 12 % would come once in 100 if one in 20 were right."""
    random = Random(7)
    spec = [
        {"metric": "selection_rate", "fail": {"below": 0.1}},
        {"metric": "demographic_parity_difference", "fail": {"above": 0.5}},
        {"metric": "disparate_impact_ratio", "fail": {"outside": [0.5, 2]}},
    ]
    found: Counter[str] = Counter()
    pairs = 60
    for _ in range(pairs):
        months = [
            Counter((g, 0, int(random.random() < 0.4)) for g in random.choices("ab", (3, 2), k=250))
            for _ in range(2)
        ]
        changes = compare(*(audit(rows, spec) for rows in months), same_people=False)
        found["checks"] += any(one.is_significant for one in changes.checks)
        found["rates"] += any(one.change.significant for one in changes.rates)
    assert found["checks"] <= 0.12 * pairs
    assert found["rates"] <= 0.12 * pairs
    assert found["rates"] > 0


@pytest.mark.long
def test_the_benchmark_of_alarms_runs(bench: Callable[[str], Any]) -> None:
    tested, below, family = bench("changes").alarms("2 groups, different", 2)
    assert len(tested) == 14
    assert set(tested.values()) == {2, 4}
    assert all(below[name] <= count for name, count in tested.items())
    assert set(family) == {"checks", "rates", "people"}
    naive, paired = bench("changes").same_people(4, 0.9, 0.2)
    assert naive <= paired == 1


# Directions ----------------------------------------------------------------------------------


def test_a_burden_that_grows_is_worse() -> None:
    burden = {**COLUMNS, "prediction": {**COLUMNS["prediction"], "favourable": False}}
    changes = compare(*(audit(rows, columns=burden) for rows in (MAY, JUNE)))
    assert rate(changes, "selection_rate", group="b").change.way is Direction.BETTER
    # Fewer are rightly flagged: of a burden that harms nobody.
    assert rate(changes, "true_positive_rate", group="b").change.way is Direction.LOWER


def test_where_neither_way_is_better_it_is_higher_or_lower() -> None:
    changes = compare(*(audit(rows, ["base_rate"]) for rows in (MAY, JUNE)))
    ways = {one.change.way for one in changes.rates}
    assert ways <= {Direction.HIGHER, Direction.LOWER, Direction.SAME}
    assert rate(changes, "base_rate", group="b").change.way is Direction.LOWER


def shares(a: int, b: int) -> Rows:
    """So many of 1,000 are selected in each group."""
    return {
        ("a", 0, 1): a, ("a", 0, 0): 1000 - a, ("b", 0, 1): b, ("b", 0, 0): 1000 - b,
    }  # fmt: skip


SIGNED = [{"metric": "statistical_parity_difference", "fail": {"outside": [-0.1, 0.1]}}]


@pytest.mark.parametrize(
    ("before", "after", "way", "value"),
    [
        ((500, 450), (500, 300), Direction.WORSE, -0.15),
        ((500, 550), (500, 700), Direction.WORSE, 0.15),
        ((500, 300), (500, 450), Direction.BETTER, 0.15),
        ((500, 700), (500, 550), Direction.BETTER, -0.15),
        ((500, 499), (500, 700), Direction.WORSE, 0.199),
        ((500, 300), (500, 520), Direction.BETTER, -0.18),
    ],
)
def test_the_distance_from_parity_counts_on_either_side(
    before: tuple[int, int], after: tuple[int, int], way: Direction, value: float
) -> None:
    sides = (audit(shares(*each), SIGNED) for each in (before, after))
    (one,) = compare(*sides, same_people=False).checks
    assert one.change.way is way
    assert abs(one.change.value) == pytest.approx(abs(value))
    assert one.change.significant
    assert one.change.turned is ((before[1] < 500) is not (after[1] < 500))


def test_a_gap_that_only_turns_round_is_no_sure_change_of_its_size() -> None:
    sides = (audit(shares(*each), SIGNED) for each in ((500, 300), (500, 700)))
    (one,) = compare(*sides, same_people=False).checks
    assert one.change.turned
    assert one.change.way is Direction.SAME
    assert one.change.significance is not None
    assert one.change.significance.p == pytest.approx(1.0)


DIFFERENCE, RATIO = "statistical_parity_difference", "disparate_impact_ratio"


@pytest.mark.parametrize(
    ("metric", "bounds", "before", "after", "value", "told"),
    [
        (DIFFERENCE, [-0.1, 0.1], 300, 600, 0.3, "+0.3000 ["),
        (DIFFERENCE, [-0.1, 0.5], 300, 600, 0.3, "+0.3000 ["),
        (DIFFERENCE, [-0.1, 0.5], 250, 600, 0.25, "from parity, because its sign changed, worse"),
        (RATIO, [0.8, 3], 300, 600, 2, "by a factor of 2.0000 ["),
        (RATIO, [0, 1.25], 240, 150, 0.5 / 0.8, "by a factor of 0.6250 ["),
        (RATIO, [0.8, 3], 250, 600, 2 / 1.2, "from parity, because it crossed 1, worse"),
    ],
)
def test_away_from_parity_is_worse_wherever_the_bounds_lie(
    metric: str, bounds: list[float], before: int, after: int, value: float, told: str
) -> None:
    """Of 1,000 in either group; a has 300. The middle of -0.1 and 0.5 is no parity."""
    limit = [{"metric": metric, "fail": {"outside": bounds}}]
    sides = [audit(shares(300, each), limit) for each in (before, after)]
    there, back = (compare(*two, same_people=False) for two in (sides, sides[::-1]))
    (worse,), (better,) = there.checks, back.checks
    assert (worse.change.way, better.change.way) == (Direction.WORSE, Direction.BETTER)
    assert worse.change.value == pytest.approx(value)
    assert worse.is_worse
    assert told in text_of(there)
    assert "sign changed" not in text_of(there) or worse.change.turned


def test_a_rate_between_two_bounds_is_held_against_their_middle() -> None:
    limit = [{"metric": "selection_rate", "fail": {"outside": [0.2, 0.7]}}]
    sides = (audit(shares(450, each), limit) for each in (250, 500))
    changes = compare(*sides, same_people=False)
    (b,) = (row for row in changes.checks[0].groups if row.group == (("group", "b"),))
    # 0.20 below 0.45, then 0.05 above it
    assert b.change.way is Direction.BETTER
    assert b.change.value == pytest.approx(-0.15)
    told = "in its distance from the middle of its limit, because it crossed 0.45, better"
    assert told in text_of(changes)


def test_a_status_that_falls_is_worse_whatever_chance_says() -> None:
    metric = [{"metric": "selection_rate", "fail": {"below": 0.3}}]
    sides = [audit(shares(500, each), metric) for each in (301, 299)]
    (one,) = compare(*sides, same_people=False).checks
    assert (one.before.status, one.after.status) == (Status.PASS, Status.FAIL)
    assert not one.change.significant
    assert one.is_worse
    (back,) = compare(*reversed(sides), same_people=False).checks
    assert (back.is_worse, back.is_better) == (False, True)


def test_a_group_that_another_hides_is_newly_beyond_its_limit() -> None:
    """The worst value stays; who falls beyond the limit behind it makes the check worse."""
    metric = [{"metric": "selection_rate", "fail": {"below": 0.4}}]
    then = {"a": (500, 1000), "b": (480, 1000), "c": (3, 30)}
    sides = [
        audit(hits(one), metric)
        for one in (then, {**then, "b": (300, 1000)}, {**then, "c": (3, 31)})
    ]
    worse, as_before = (compare(sides[0], one, same_people=False) for one in sides[1:])
    (one,) = worse.worse
    assert (one.before.status, one.after.status) == (Status.FAIL, Status.FAIL)
    assert not one.change.significant
    assert [each.group for each in one.newly_beyond] == [(("group", "b"),)]
    text = " ".join(terminal.render(pages.document(worse)).split())
    assert "newly over its limit: group=b 0.3" in text
    assert valid(worse)["checks"][0]["newly_beyond"][0]["group"] == {"group": "b"}
    assert not as_before.worse
    (back,) = compare(*reversed(sides[:2]), same_people=False).checks
    assert not back.newly_beyond


def test_a_waiver_that_ends_makes_a_group_newly_beyond() -> None:
    metric = [{"metric": "selection_rate", "fail": {"below": 0.4}}]
    after = audit(hits({"a": (500, 1000), "b": (300, 1000), "c": (3, 31)}), metric)
    (found,) = after.findings
    (b,) = (one for one in found.crossed if one.group == (("group", "b"),))
    accepted = Waived(b.group, "known", "J. Doe", date(2026, 1, 1), (b,))
    before = replace(after, findings=(replace(found, waived=(accepted,)),))
    (one,) = compare(before, after, same_people=False).checks
    assert one.newly_beyond == (b,)


def test_what_is_not_evaluated_any_longer_is_worse_even_where_it_failed() -> None:
    limit = {"metric": "disparate_impact_ratio", "fail": {"outside": [0.8, 1.25]}}
    bad, none = hits({"a": (100, 300), "b": (20, 300)}), hits({"a": (0, 300), "b": (0, 301)})
    (one,) = compare(audit(bad, [limit]), audit(none, [limit])).checks
    assert (one.before.status, one.after.status) == (Status.FAIL, Status.INCONCLUSIVE)
    assert one.is_worse
    for undefined, status in (("skip", Status.SKIPPED), ("warn", Status.WARN)):
        asked = [{**limit, "undefined": undefined}]
        (one,) = compare(audit(bad, asked), audit(none, asked)).checks
        assert one.after.status is status
        assert (one.is_worse, one.is_better) == (False, False)


def test_what_somebody_accepts_is_not_better() -> None:
    metric = [{"metric": "selection_rate", "fail": {"below": 0.4}}]
    before = audit(hits({"a": (500, 1000), "b": (300, 1000)}), metric)
    (found,) = before.findings
    accepted = Waived((), "known", "J. Doe", date(2026, 1, 1), found.crossed)
    waived = replace(found, status=Status.WAIVED, waived=(accepted,))
    (one,) = compare(before, replace(before, findings=(waived,)), same_people=False).checks
    assert not one.is_better
    columns = {"title": "t", "columns": COLUMNS, "metrics": metric}
    baseline = report_json.document(before)
    rows = frame(hits({"a": (500, 1001), "b": (300, 1000)}))
    excused = fairaudit.audit(columns, rows, baseline=baseline)
    (one,) = compare(before, excused, same_people=False).checks
    assert (one.before.status, one.after.status) == (Status.FAIL, Status.WARN)
    assert not one.is_better


def test_a_gap_that_lost_its_group_is_not_better() -> None:
    """Without the group that decided it a value is nearer to parity, and nobody fares better."""
    metrics = [
        {"metric": "disparate_impact_ratio", "fail": {"below": 0.8}},
        {"metric": "demographic_parity_difference", "fail": {"above": 0.1}},
    ]
    then = {"a": (100, 300), "b": (20, 300), "c": (95, 300)}
    now = {"a": (100, 300), "c": (94, 301)}
    changes = compare(audit(hits(then), metrics), audit(hits(now), metrics))
    assert len(changes.checks) == 2
    for one in changes.checks:
        assert one.change.way is Direction.BETTER
        assert one.lost == ((("group", "b"),),)
        assert one.change.significance is None
        assert one.change.why == "not tested: group=b decided it and is not judged any longer"
        assert not one.is_better
    valid(changes)
    small = [audit(hits(each), metrics, groups={"min_size": 50}) for each in (then, now)]
    few = audit(hits({**now, "b": (2, 30)}), metrics, groups={"min_size": 50})
    assert all(one.lost for one in compare(small[0], few).checks)
    back = compare(audit(hits(now), metrics), audit(hits(then), metrics))
    assert len(back.worse) == 2
    assert not any(one.lost for one in back.checks)


def test_other_specs_are_told_where_no_check_says_that_columns_are_alike() -> None:
    """Of rates alone, another positive would be a change with p = 1e-100 and not a word."""
    turned = {"column": "prediction", "positive": "0", "negative": "1"}
    rates: list[Any] = ["selection_rate"]
    limit: list[Any] = [{"metric": "selection_rate", "fail": {"below": 0.25}}]
    other = audit(JUNE, rates, columns={**COLUMNS, "prediction": turned})
    told = (
        "spec: the text differs, and no check shows whether the rates use the same definitions of "
        "columns"
    )
    (text,) = compare(audit(MAY, rates), other).conditions
    assert text.startswith(told)
    assert not compare(audit(MAY, rates), audit(JUNE, rates)).conditions
    assert not compare(audit(MAY, limit), audit(JUNE, limit, title="another")).conditions
    burden = {**COLUMNS["prediction"], "favourable": False}
    changed = audit(JUNE, rates, columns={**COLUMNS, "prediction": burden})
    assert (
        "a burden: none before, prediction after" in compare(audit(MAY, rates), changed).conditions
    )


def hits(groups: Mapping[str, tuple[int, int]]) -> Rows:
    """The rows of groups, each with its selected and its people, all of one label."""
    return {
        (group, 1, outcome): count
        for group, (selected, size) in groups.items()
        for outcome, count in ((1, selected), (0, size - selected))
    }


# What cannot be compared ---------------------------------------------------------------------


def test_undefined_infinite_and_suppressed_values_are_told_and_not_tested() -> None:
    nobody = {("a", 1, 1): 30, ("a", 1, 0): 30, ("a", 0, 1): 9, ("b", 0, 1): 30, ("b", 0, 0): 30}
    changes = compare(audit(nobody), audit(JUNE))
    one = rate(changes, "true_positive_rate", group="b").change
    assert math.isnan(one.value)
    assert one.why.startswith("undefined before: ")
    assert one.significance is None
    limit = [{"metric": "disparate_impact_ratio", "fail": {"outside": [0.8, 1.25]}}]
    infinite = audit({**shares(0, 500), ("a", 0, 1): 0}, limit)
    (check,) = compare(infinite, audit(shares(400, 500), limit), same_people=False).checks
    assert check.change.before.value == math.inf
    assert check.change.significance is None
    assert check.change.why == "not tested: infinite"
    (check,) = compare(infinite, infinite).checks
    assert check.change.way is Direction.SAME


@pytest.mark.parametrize("metric", ["demographic_parity_difference", "differential_fairness"])
@pytest.mark.parametrize(
    ("c", "same", "of", "is_worse"),
    [
        (30, True, 100, True),
        (30, False, 100, False),  # by chance: 38 and 30 of 100
        (30, False, 2000, True),
        (42, True, 100, False),
        (42, False, 2000, False),
    ],
)
def test_a_known_group_of_a_spread_that_falls_farther_makes_it_worse(
    metric: str, c: int, same: bool, of: int, is_worse: bool
) -> None:
    def people(c: int) -> Rows:
        of_100 = {"a": 50, "b": 25, "c": c}
        return {
            (g, 1, p): (k if p else 100 - k) * of // 100 for g, k in of_100.items() for p in (0, 1)
        }

    metrics = ["selection_rate", {"metric": metric, "fail": {"above": 0.1}}]
    results = [audit(people(now), metrics) for now in (38, c)]
    changes = compare(*results, same_people=same)
    (check,) = changes.checks
    assert check.change.way is Direction.SAME
    if metric == "differential_fairness" and c == 42:
        return  # ε has no better direction: c is farther from b
    assert check.is_worse is is_worse
    assert bool(check.behind) is is_worse
    assert ("newly or farther over its limit: group=c" in text_of(changes)) is is_worse


@pytest.mark.parametrize("metric", ["differential_fairness", "total_variation"])
@pytest.mark.parametrize(("c", "is_worse"), [(30, True), (38, False)])
def test_a_group_that_falls_farther_is_seen_if_no_rate_is_listed(
    metric: str, c: int, is_worse: bool
) -> None:
    """A has 50 % and b 25 % both times, which decides the check; c had 38 %."""
    results = [
        audit(
            hits({"a": (1000, 2000), "b": (500, 2000), "c": (20 * share, 2000)}),
            [{"metric": metric, "fail": {"above": 0.1}}],
        )
        for share in (38, c)
    ]
    assert not results[0].rates
    changes = compare(*results, same_people=False)
    (check,) = changes.checks
    assert check.change.way is Direction.SAME
    assert check.is_worse is is_worse
    told = "newly or farther over its limit: group=c (tested only if both results list a rate"
    assert (told in text_of(changes)) is is_worse


def test_a_ratio_of_nothing_changes_on_the_scale_of_differences() -> None:
    limit = [{"metric": "demographic_parity_ratio", "fail": {"below": 0.8}}]
    sides = (audit(shares(500, each), limit) for each in (480, 0))
    (one,) = compare(*sides, same_people=False).checks
    assert one.change.scale is Scale.DIFFERENCE
    assert one.change.value == pytest.approx(-0.96)
    assert one.change.significant
    assert one.change.way is Direction.WORSE


def test_from_a_ratio_of_nothing_to_the_other_side_of_parity_is_told_both_ways() -> None:
    limit = [{"metric": "disparate_impact_ratio", "fail": {"outside": [0.8, 1.25]}}]
    nobody, many = (audit(hits({"a": (100, 300), "b": b}), limit) for b in ((0, 300), (150, 301)))
    (there,), (back,) = (compare(*two).checks for two in ((nobody, many), (many, nobody)))
    mirrored = (100 / 300) / (150 / 301)
    assert (there.change.value, back.change.value) == pytest.approx((mirrored, -mirrored))
    assert (there.change.way, back.change.way) == (Direction.BETTER, Direction.WORSE)
    for one in (there, back):
        assert one.change.turned
        assert one.change.significant
    assert there.change.after.value == pytest.approx(1 / mirrored)
    infinite = audit(hits({"a": (0, 300), "b": (50, 301)}), limit)
    for two in ((nobody, infinite), (infinite, nobody)):
        (one,) = compare(*two).checks
        assert not math.isnan(one.change.value)
        assert not one.change.significant


def test_a_measure_without_an_interval_is_told_and_not_tested() -> None:
    metric = [{"metric": "mutual_information", "fail": {"above": 0.5}}]
    (one,) = compare(*(audit(rows, metric) for rows in (MAY, JUNE))).checks
    assert one.change.value > 0
    assert one.change.why.startswith("not tested: ")
    assert one.change.significance is None


def test_a_suppressed_result_is_compared_by_what_it_tells() -> None:
    few = {**JUNE, ("c", 1, 1): 3, ("c", 1, 0): 40, ("c", 0, 0): 40, ("c", 0, 1): 2}
    hidden = audit(few, ["selection_rate", "true_positive_rate"], suppress_below=11)
    open_ = audit(
        {**MAY, ("c", 1, 1): 30, ("c", 1, 0): 40}, ["selection_rate", "true_positive_rate"]
    )
    changes = compare(open_, hidden)
    told = [one for one in changes.rates if one.change.after.suppressed]
    assert told
    for one in told:
        assert (one.change.why, one.change.significance) == ("suppressed after", None)
        assert math.isnan(one.change.value)
    assert "suppressed below: none before, 11 after" in changes.conditions


def test_groups_that_are_new_or_gone_are_named() -> None:
    other = {("c" if g == "b" else g, y, p): n for (g, y, p), n in JUNE.items()}
    changes = compare(audit(MAY), audit(other))
    (one,) = changes.people
    assert one.new == ((("group", "c"),),)
    assert one.gone == ((("group", "b"),),)
    sizes = {row.group: (row.n_before, row.n_after) for row in one.groups}
    assert sizes[("group", "c"),][0] == sizes[("group", "b"),][1] == 0
    assert {each.group for each in changes.rates} == {(), (("group", "a"),)}
    assert one.significance is not None
    assert one.significance.adjusted < 1e-6


def test_who_is_set_aside_is_told_and_not_tested() -> None:
    small = {("c", 1, 1): 4, ("c", 0, 0): 4}
    groups: dict[str, Any] = {"groups": {"min_size": 30}}
    grown = {**JUNE, ("c", 1, 1): 40, ("c", 0, 0): 40}
    changes = compare(audit({**MAY, **small}, **groups), audit(grown, **groups))
    one = rate(changes, "selection_rate", group="c")
    assert (one.standing_before, one.standing_after) == (Eligibility.SMALL, Eligibility.ELIGIBLE)
    assert (one.change.why, one.change.significance) == ("not compared: small", None)


def test_a_check_that_is_written_elsewhere_is_the_same() -> None:
    """Its line, its column, and blanks in it: the question stays, and that it fails now is told."""
    text = yaml.safe_dump({"title": "t", "columns": COLUMNS}, sort_keys=False)
    before, after = (
        fairaudit.audit(specs.parse(text + tail), frame(rows))
        for rows, tail in (
            (MAY, "metrics:\n- {metric: selection_rate, fail: {below: 0.25}}\n"),
            (JUNE, "# moved\nmetrics:\n  - {metric: selection_rate,  fail:  {below: 0.25}}\n"),
        )
    )
    changes = compare(before, after)
    assert not changes.otherwise
    assert [one.is_worse for one in changes.checks] == [True] * len(after.findings)


def test_checks_that_ask_otherwise_are_listed_and_not_compared() -> None:
    other = [
        {"metric": "selection_rate", "fail": {"below": 0.3}},
        {**METRICS[4], "warn": {"below": 0.9}},
    ]
    changes = compare(
        audit(MAY), audit(JUNE, [*other, {"metric": "impact_ratio", "fail": {"below": 0.8}}])
    )
    assert {one.after.check.id.split("/")[0]: one.why for one in changes.otherwise} == {
        "selection_rate": "its limit that fails",
        "demographic_parity_ratio": "its limit that warns",
    }
    assert {one.check.id.split("/")[0] for one in changes.only_after} == {"impact_ratio"}
    assert {one.check.id.split("/")[0] for one in changes.only_before} == {
        "statistical_parity_difference",
        "demographic_parity_difference",
    }
    assert not changes.checks


def test_a_check_that_asks_otherwise_does_not_hide_that_it_fails() -> None:
    limits = ({"metric": "selection_rate", "fail": {"below": one}} for one in (0.01, 0.99))
    changes = compare(*(audit(rows, [one]) for rows, one in zip((MAY, JUNE), limits, strict=True)))
    assert not changes.checks
    text = text_of(changes)
    assert "PASS → FAIL; its limit that fails changed" in text
    (row, *_) = valid(changes)["asked_otherwise"]
    assert (row["before"]["status"], row["after"]["status"]) == ("pass", "fail")


def test_a_level_in_a_comparison_is_told_as_a_name() -> None:
    """Of a reversal, too: one line, of an end, and not to be taken for one of our words."""
    called = {"open": "the whole check", "closed": "long " + "x" * 9_000}
    before = {(called[how], size): count for (how, size), count in TREATED.items()}
    mixed = {key: (round(hits / n * 350), 350) for key, (hits, n) in before.items()}
    titles = [{"title": "line\nbreak"}, {"title": "next \x1b[31mline"}]
    changes = compare(stones(before, **titles[0]), stones(mixed, **titles[1]))
    assert changes.reversals
    for one in FORMATS:
        if one.page is not None:
            assert "x" * 100 not in one.page(pages.document(changes, all_rows=True))
    text = text_of(changes)
    assert "'the whole check' against long xx" in text or "against 'the whole check'" in text
    assert text.startswith(r"Comparison: line break → next \x1b[31mline")


def test_another_definition_of_a_metric_is_asked_otherwise() -> None:
    before = audit(MAY)
    older = tuple(
        replace(one, version=0) if one.id == "selection_rate" else one for one in before.definitions
    )
    changes = compare(replace(before, definitions=older), audit(JUNE))
    assert not changes.checks
    assert {one.why for one in changes.otherwise} == {"the definition of selection_rate"}


def test_other_columns_behind_the_same_check_are_told() -> None:
    renamed = {**COLUMNS, "prediction": {"column": "p2", "positive": "1", "negative": "0"}}
    spec = {"title": "t", "columns": renamed, "metrics": METRICS}
    other = fairaudit.audit(spec, frame(JUNE).rename({"prediction": "p2"}))
    changes = compare(audit(MAY), other)
    assert changes.checks
    assert all(one.recast for one in changes.checks)
    assert not any(one.recast for one in compare(audit(MAY), audit(JUNE)).checks)


def test_nothing_in_common_is_no_comparison() -> None:
    with pytest.raises(NothingToAudit, match="the results have no check and no rate in common"):
        compare(audit(MAY, ["selection_rate"]), audit(JUNE, ["f1"]))


def test_intervals_of_unlike_confidence_are_not_mixed() -> None:
    changes = compare(audit(MAY, inference={"confidence": 0.9}), audit(JUNE))
    assert not any(one.significance for one in every(changes))
    assert {one.change.why for one in changes.rates} == {"not tested: confidence levels differ"}


TREATED = {
    ("open", "small"): (81, 87), ("open", "large"): (192, 263),
    ("closed", "small"): (234, 270), ("closed", "large"): (55, 80),
}  # fmt: skip
"""Kidney stones (Charig et al. 1986): who is cured by which treatment, of how many."""


def stones(cells: Mapping[tuple[str, str], tuple[int, int]], **spec: Any) -> AuditResult:
    rows = [
        {"how": how, "size": size, "cured": str(cured), "n": count}
        for (how, size), (hits, n) in cells.items()
        for cured, count in ((1, hits), (0, n - hits))
    ]
    asked = {
        "columns": {
            "protected": ["how"],
            "strata": ["size"],
            "decision": {"column": "cured", "positive": "1"},
            "count": "n",
        },
        "metrics": [{"metric": "selection_rate", "given": "size"}],
        "simpson": {"warn": True},
        **spec,
    }
    return fairaudit.audit(asked, pl.DataFrame(rows))


def test_reversals_that_come_and_go_are_told() -> None:
    mixed = {key: (round(hits / n * 350), 350) for key, (hits, n) in TREATED.items()}
    there, back = compare(stones(TREATED), stones(mixed)), compare(stones(mixed), stones(TREATED))
    (gone,), (new,) = there.reversals, back.reversals
    assert (gone.before, gone.after) == (ReversalKind.EVERY_STRATUM, None)
    assert (new.before, new.after) == (None, ReversalKind.EVERY_STRATUM)
    assert "gone selection rate of the decision by how" in text_of(there)
    (check,) = back.checks
    assert (check.before.status, check.after.status) == (Status.PASS, Status.WARN)
    assert math.isnan(check.change.value)
    assert valid(back)["reversals"][0]["after"] == "every_stratum"


def test_a_reversal_that_was_not_looked_for_is_neither_gone_nor_new() -> None:
    """Nobody can tell: no scan, another outcome, another group, another size, an older report."""
    looked, blind = stones(TREATED), stones(TREATED, simpson={"scan": False})
    others = {(how.replace("open", "laser"), size): n for (how, size), n in TREATED.items()}
    tree = json.loads(report_json.render(looked))
    del tree["reversal_scan"]
    mixed = {key: (round(hits / n * 350), 350) for key, (hits, n) in TREATED.items()}
    older = json.loads(report_json.render(stones(mixed)))
    del older["reversal_scan"]
    sizes = stones(mixed, simpson={"warn": True, "min_gap": 0.01})
    cases = {
        "no scan was made": blind,
        "no scan compared these groups": stones(others),
        "a scan may have looked for it: the report does not describe": codec.read_result(older),
        "it is unknown: the scans differ in minimum gap": sizes,
    }
    for reason, other in cases.items():
        there, back = compare(looked, other), compare(other, looked)
        one, turned = (
            next(row for row in changes.reversals if {*row.pair} == {"open", "closed"})
            for changes in (there, back)
        )
        assert one.unknown.startswith(reason)
        assert turned.unknown.startswith(reason)
        assert "only before selection rate of the decision by how" in text_of(there)
        assert f"; after, {reason}" in text_of(there)
        assert f"; before, {reason}" in text_of(back)
        reasons = [row.get("reason", "") for row in valid(there)["reversals"]]
        assert any(text.startswith(reason) for text in reasons)
    assert not compare(codec.read_result(tree), looked).reversals


def test_of_two_equal_models_no_reversal_is_gone() -> None:
    """The scan is of the first model alone; the second treats everybody the same."""
    rows = [
        {"g": g, "d": d, "first": y, "second": y, "n": n}
        for (g, d), (hits, whole) in TREATED.items()
        for y, n in ((1, hits), (0, whole - hits))
    ]
    models = {name: {"prediction": {"column": name, "positive": 1}} for name in ("first", "second")}
    spec = {
        "columns": {"protected": ["g"], "strata": ["d"], "count": "n", "models": models},
        "metrics": ["selection_rate", {"metric": "selection_rate", "of": "second"}],
    }
    result = fairaudit.audit(spec, pl.DataFrame(rows))
    assert [one.of for one in result.reversals] == ["first"]
    changes = compare_models(result, "first", "second")
    (one,) = changes.reversals
    assert one.unknown.startswith("no scan compared these groups")
    assert "gone" not in text_of(changes).split("Changed reversals")[1].split("How")[0]
    assert "after, no scan compared these groups" in text_of(changes)


def test_a_search_is_better_only_if_it_looked_for_the_same() -> None:
    """A gate that looks at less passes; so does one whose group is too small to be looked at."""
    wide = stones(TREATED, simpson={"fail": True})
    narrow = stones(TREATED, simpson={"fail": True, "min_odds_ratio": 3})
    assert [one.findings[0].status for one in (wide, narrow)] == [Status.FAIL, Status.PASS]
    changes = compare(wide, narrow)
    assert not changes.checks
    assert changes.otherwise[0].why == "its columns and sizes of the search"

    def searched(times: int, **search: Any) -> AuditResult:
        few = {("closed", "large"): (0, 40 * times)}
        limits = {"over": ["all"], "depth": 2, "min_size": 30, "fail": {"above": 0.5}}
        asked = {**limits, **search}
        return stones({**TREATED, **few}, simpson={"scan": False}, subgroups=asked)

    found, shallow = searched(1), searched(1, depth=1)
    assert [one.findings[0].status for one in (found, shallow)] == [Status.FAIL, Status.PASS]
    assert compare(found, shallow).otherwise[0].why == "its columns and sizes of the search"
    small = searched(1, min_size=30)
    rest = stones(
        {**TREATED, ("closed", "large"): (0, 20)},
        simpson={"scan": False},
        subgroups={"over": ["all"], "depth": 2, "min_size": 30, "fail": {"above": 0.5}},
    )
    assert rest.findings[0].status is Status.PASS
    (check,) = compare(small, rest).checks
    assert not check.is_better
    assert check.lost


def test_a_reversal_that_chance_may_explain_is_told_as_such() -> None:
    def change(times: int) -> Changes:
        many = {key: (hits * times, n * times) for key, (hits, n) in TREATED.items()}
        mixed = {
            key: (round(hits / n * 350) * times, 350 * times) for key, (hits, n) in many.items()
        }
        return compare(stones(mixed), stones(many), same_people=False)

    few, many = change(1), change(100)
    assert [one.significant for one in (*few.reversals, *many.reversals)] == [False, True]
    assert "reversed in every stratum, not significant" in text_of(few)
    assert "not significant" not in text_of(many).split("Changed reversals")[1].split("How")[0]
    assert valid(many)["reversals"][0]["significant"] is True


def test_a_rate_in_a_stratum_is_compared_with_that_of_the_same_stratum() -> None:
    other = {**TREATED, ("open", "large"): (120, 263)}
    changes = compare(stones(TREATED), stones(other), same_people=False)
    found = {(one.group, one.stratum): one for one in changes.rates if one.by}
    one = found[(("how", "open"),), (("size", "large"),)].change
    assert one.value == pytest.approx((120 - 192) / 263)
    assert one.significance is not None
    assert one.significance.p == pytest.approx(two_shares(120, 263, 192, 263)[1])
    assert found[(("how", "open"),), (("size", "small"),)].change.way is Direction.SAME


def test_notices_are_the_same_whatever_their_numbers() -> None:
    one, two = (
        replace(audit(rows), notices=tuple(Notice(text, Subjects.ANYBODY) for text in texts))
        for rows, texts in (
            (MAY, ("12 rows of 1,000 lack a group", "an old one")),
            (JUNE, ("9 rows of 1,204 lack a group", "a new one")),
        )
    )
    changes = compare(one, two)
    assert (changes.new_notices, changes.gone_notices) == (("a new one",), ("an old one",))


# The same people -----------------------------------------------------------------------------

MODELS: dict[str, Any] = {
    "protected": {"group": {"reference": "a"}},
    "label": {"column": "label", "positive": "1", "negative": "0"},
    "models": {
        name: {"prediction": {"column": name, "positive": "1", "negative": "0"}}
        for name in ("old", "new")
    },
}


def persons(seed: int = 5, size: int = 400) -> list[dict[str, str]]:
    """Each person with a group, a label and what both models say."""
    random = Random(seed)
    found = []
    for _ in range(size):
        group, label = random.choice("aab"), random.random() < 0.5
        old = random.random() < (0.7 if label else 0.3)
        new = old if random.random() < 0.85 else random.random() < (0.5 if group == "a" else 0.1)
        row = {"label": label, "old": old, "new": new}
        found.append({"group": group, **{name: str(int(one)) for name, one in row.items()}})
    return found


def both_models(metrics: Sequence[Any] = ("selection_rate",), **spec: Any) -> AuditResult:
    asked = {"title": "t", "columns": MODELS, "metrics": [*metrics], **spec}
    return fairaudit.audit(asked, pl.DataFrame(persons()))


OF_LABEL: Mapping[str, Callable[[str], bool]] = {
    "selection_rate": lambda _: True,
    "true_positive_rate": lambda label: label == "1",
    "false_positive_rate": lambda label: label == "0",
}


def test_two_models_are_counted_person_by_person() -> None:
    result = both_models([*OF_LABEL])
    changes = compare_models(result, "old", "new")
    assert changes.sampling is Sampling.PAIRED
    assert len(changes.rates) == 9
    for one in changes.rates:
        group = dict(one.group).get("group")
        rows = [
            (row["old"], row["new"])
            for row in persons()
            if group in {None, row["group"]} and OF_LABEL[one.metric](row["label"])
        ]
        cells = Counter(rows)
        found = one.change.cells
        assert found is not None
        assert (found.both, found.first_only, found.second_only, found.neither) == (
            cells["1", "1"], cells["1", "0"], cells["0", "1"], cells["0", "0"],
        )  # fmt: skip
        b, c = cells["1", "0"], cells["0", "1"]
        assert one.change.value == pytest.approx((c - b) / len(rows))
        table = [[cells["1", "1"], b], [c, cells["0", "0"]]]
        expected = mcnemar(table, exact=b + c < 25, correction=False).pvalue
        assert one.change.significance is not None
        assert one.change.significance.p == pytest.approx(expected, rel=1e-9)
        assert one.change.low is not None
        assert one.change.high is not None
        assert one.change.low < one.change.value < one.change.high
    assert any(one.change.significant for one in changes.rates)


def test_two_models_turned_round_change_the_other_way() -> None:
    result = both_models([*OF_LABEL])
    there, back = compare_models(result, "old", "new"), compare_models(result, "new", "old")
    others = {(one.metric, one.group): one.change for one in back.rates}
    for one in there.rates:
        other = others[one.metric, one.group]
        assert other.value == -one.change.value
        assert other.way is TURNED[one.change.way]
        assert one.change.low is not None
        assert other.high == -one.change.low
        assert other.cells is not None
        assert one.change.cells is not None
        assert other.cells.first_only == one.change.cells.second_only


def test_a_paired_test_sees_what_two_samples_hide() -> None:
    result = both_models(["selection_rate", {"metric": "selection_rate", "of": "new"}])
    paired = compare_models(result, "old", "new").rates
    naive = compare(result, result, outcomes=("old", "new"), same_people=False).rates
    tests = [
        next(one.change.significance for one in rows if dict(one.group) == {"group": "b"})
        for rows in (paired, naive)
    ]
    assert tests[0] is not None
    assert tests[1] is not None
    assert tests[0].p < tests[1].p / 20


def test_checks_of_two_models_are_told_without_a_test() -> None:
    limits = [
        {"metric": "demographic_parity_ratio", "of": of, "fail": {"below": 0.9}}
        for of in ("old", "new")
    ]
    (one,) = compare_models(both_models(limits), "old", "new").checks
    assert one.change.value != 1
    assert one.change.significance is None
    assert one.change.why == "not tested: both models are about the same people"
    assert not one.recast
    assert one.change.certain
    assert one.is_worse is (one.change.after.value < one.change.before.value)


def fall(a: tuple[int, int], b: tuple[int, int], limit: str = "< 0.1") -> AuditResult:
    """The selection rates of two groups, judged by their ratio."""
    spec = {"columns": {"protected": ["g"], "decision": "d", "count": "n"}}
    metrics = [{"metric": "impact_ratio", "fail": limit}]
    rows = [(g, d, n) for g, sizes in (("a", a), ("b", b)) for d, n in zip((1, 0), sizes)]  # noqa: B905
    return fairaudit.audit(
        {**spec, "metrics": metrics}, pl.DataFrame(rows, ["g", "d", "n"], orient="row")
    )


def test_of_the_same_people_a_worse_value_is_worse() -> None:
    """From 30/60 to 12/60: no test is needed, and the gate does not pass."""
    before, after = fall((60, 40), (30, 70)), fall((60, 40), (12, 88))
    worse = compare(before, after)
    assert worse.sampling is Sampling.SAME_PEOPLE
    (one,) = worse.worse
    assert (one.change.before.value, one.change.after.value) == (0.5, 0.2)
    assert one.verdict == "worse"
    assert "1 check in both: 1 worse, 0 better;" in text_of(worse)
    assert compare(after, before).better
    assert not compare(after, before).worse
    # One person in a hundred is a change of these people, and within chance of others.
    near = fall((60, 40), (29, 71))
    assert compare(before, near).worse
    assert not compare(before, near, same_people=False).worse
    assert not compare(before, before).worse
    assert not compare(before, before).better


def test_a_group_that_is_worse_by_itself_makes_the_same_people_worse() -> None:
    """The worst value is better; a group that was above it falls, and no limit is near."""
    columns = {"protected": ["g"], "decision": "d", "count": "n"}
    spec = {"columns": columns, "metrics": [{"metric": "selection_rate", "fail": "< 0.1"}]}

    def rates(a: int, b: int) -> AuditResult:
        rows = [("a", 1, a), ("a", 0, 100 - a), ("b", 1, b), ("b", 0, 100 - b)]
        return fairaudit.audit(spec, pl.DataFrame(rows, ["g", "d", "n"], orient="row"))

    (one,) = compare(rates(30, 60), rates(31, 50)).checks
    assert one.is_worse
    assert not one.is_better


def test_a_check_of_one_model_alone_keeps_its_name_and_the_other_is_not_judged() -> None:
    limit = {"metric": "demographic_parity_ratio", "of": "old", "fail": {"below": 0.9}}
    result = both_models(["selection_rate", limit])
    (check,) = (one.check for one in result.findings)
    changes = compare_models(result, "old", "new")
    assert [one.check.id for one in changes.only_before] == [check.id]
    assert "PASS → NO LIMITS" in text_of(changes)
    assert [one.check.id for one in compare_models(result, "new", "old").only_after] == [check.id]


def test_every_two_of_several_models_are_set_beside_each_other() -> None:
    rows = pl.DataFrame(persons()).with_columns(third=pl.col("label"))
    models = {**MODELS["models"], "third": {"prediction": {"column": "third", "positive": "1"}}}
    spec: dict[str, Any] = {"columns": {**MODELS, "models": models}, "metrics": ["selection_rate"]}
    result = fairaudit.audit(spec, rows)
    pairs = {(one.first, one.second) for one in result.model_changes}
    assert pairs == {("old", "new"), ("old", "third")}, "no rate is asked of the two others"
    spec["metrics"] = ["selection_rate", {"metric": "accuracy", "of": "third"}]
    found = fairaudit.audit(spec, rows).model_changes
    assert {(one.metric, one.first, one.second) for one in found} == {
        ("selection_rate", "old", "new"),
        ("selection_rate", "old", "third"),
        ("accuracy", "old", "third"),
        ("accuracy", "new", "third"),
    }
    with pytest.raises(UsageError, match="no outcome 'thrid'; did you mean 'third'"):
        compare_models(result, "old", "thrid")
    with pytest.raises(UsageError, match="old would be compared with itself"):
        compare_models(result, "old", "old")


def test_one_model_has_no_other_beside_it() -> None:
    assert audit(MAY).model_changes == ()


def test_whom_two_models_treat_unlike_is_left_out_of_a_report_to_publish() -> None:
    result = both_models(suppress_below=11)
    assert result.model_changes == ()
    assert any("two models treat differently" in text for text in result.notices)
    assert not any("two models treat differently" in text for text in both_models().notices)


def test_under_weights_nobody_is_counted_one_by_one() -> None:
    rows = pl.DataFrame(persons()).with_columns(w=pl.lit(1.5))
    spec = {"columns": {**MODELS, "weight": "w"}, "metrics": ["selection_rate"]}
    result = fairaudit.audit(spec, rows)
    plain = {one.group: one for one in both_models().model_changes}
    for one in result.model_changes:
        assert one.both is one.first_only is one.second_only is one.neither is None
        assert one.difference == pytest.approx(plain[one.group].difference)
        assert one.low == pytest.approx(plain[one.group].low)


def test_a_weighted_share_has_the_interval_of_its_effective_sample() -> None:
    columns = {**{k: v for k, v in COLUMNS.items() if k != "count"}, "weight": "w"}
    spec = {"columns": columns, "metrics": ["selection_rate"]}
    months = [
        fairaudit.audit(
            spec,
            pl.DataFrame(
                [
                    {"group": g, "label": str(y), "prediction": str(p), "w": 1.5}
                    for g in "ab"
                    for y, p in people(rows, g)
                ]
            ),
        )
        for rows in (MAY, JUNE)
    ]
    one = rate(compare(*months), "selection_rate", group="b").change
    (c, m), (a, n) = selected(MAY, "b"), selected(JUNE, "b")
    ends = confint_proportions_2indep(a, n, c, m, method="newcomb", compare="diff")
    assert (one.low, one.high) == pytest.approx(ends, abs=1e-9)
    assert one.significance is not None
    assert one.significance.test == "z by MOVER"
    wilson = [(x / k, *stats_oracle.wilson(x, k, 0.05)) for x, k in ((a, n), (c, m))]
    assert one.significance.p == pytest.approx(wald(wilson, 1)[2], rel=1e-6)


def test_the_same_file_is_the_same_people(tmp_path: Path) -> None:
    for name in ("one", "two"):
        pl.DataFrame(persons()).write_csv(tmp_path / f"{name}.csv")
    pl.DataFrame(persons(9, 401)).write_csv(tmp_path / "other.csv")
    spec = {"columns": MODELS, "metrics": ["selection_rate"]}
    one, two, other = (
        fairaudit.audit(spec, tmp_path / f"{name}.csv") for name in ("one", "two", "other")
    )
    assert compare(one, two).sampling is Sampling.SAME_PEOPLE
    assert compare(one, other).sampling is Sampling.INDEPENDENT
    assert compare(one, two, same_people=False).sampling is Sampling.INDEPENDENT
    barred = compare(one, other, same_people=True)
    assert not any(row.change.significance for row in barred.rates)
    assert {row.change.why for row in barred.rates} == {"not tested: the same people both times"}


def write_month(path: Path, groups: Mapping[str, tuple[int, int]]) -> Path:
    """Of each group so many selected, and so many not."""
    lines = [f"{name},{d}\n" * n for name, sizes in groups.items() for d, n in zip("10", sizes)]  # noqa: B905
    path.write_text("g,d\n" + "".join(lines), "utf-8")
    return path


MONTH = {"a": (300, 200), "b": (300, 200)}


@pytest.mark.parametrize(
    ("later", "sampling"),
    [
        # As many bytes and lines as MONTH, of 700 and 300 people, and of a group c in place of b.
        ({"a": (450, 250), "b": (93, 207)}, Sampling.INDEPENDENT),
        ({"a": (300, 200), "c": (300, 200)}, Sampling.INDEPENDENT),
        ({"a": (200, 300), "b": (200, 300)}, Sampling.SAME_PEOPLE),
    ],
)
def test_files_of_one_size_by_chance_are_of_other_people(
    later: Mapping[str, tuple[int, int]], sampling: Sampling, tmp_path: Path
) -> None:
    columns = {"protected": ["g"], "decision": {"column": "d", "positive": 1, "negative": 0}}
    metrics = [{"metric": "selection_rate", "fail": {"below": 0.3}}]
    asked = {"columns": columns, "metrics": metrics}
    may, june = write_month(tmp_path / "may.csv", MONTH), write_month(tmp_path / "june.csv", later)
    assert may.stat().st_size == june.stat().st_size == 4004
    changes = compare(fairaudit.audit(asked, may), fairaudit.audit(asked, june))
    assert changes.sampling is sampling
    # b fell from 300/500 to 93/300; 31 % is within the limit, and far worse than chance explains.
    # The same people fell from 300/500 to 200/500: of them no test is needed.
    assert bool(changes.worse) is (later != {"a": (300, 200), "c": (300, 200)})


def test_one_file_is_the_same_people_however_it_is_grouped(tmp_path: Path) -> None:
    path = write_month(tmp_path / "may.csv", {**MONTH, "c": (30, 20)})
    decision = {"column": "d", "positive": 1, "negative": 0}
    sides = [
        fairaudit.audit(
            {"columns": {"protected": g, "decision": decision}, "metrics": ["impact_ratio"]}, path
        )
        for g in (["g"], {"g": {"column": "g", "merge": {"b": ["c"]}}})
    ]
    assert compare(*sides).sampling is Sampling.SAME_PEOPLE


def test_groups_of_the_same_sizes_and_labels_are_the_same_people() -> None:
    swapped = {(g, y, 1 - p): n for (g, y, p), n in MAY.items()}
    assert compare(audit(MAY), audit(swapped)).sampling is Sampling.SAME_PEOPLE
    assert compare(audit(MAY), audit(JUNE)).sampling is Sampling.INDEPENDENT


def test_other_labels_in_groups_of_the_same_sizes_are_other_people() -> None:
    """Where labels are not listed, those whom a true positive rate counts tell them."""
    relabelled = {(g, 1 - y, p): n for (g, y, p), n in MAY.items()}
    metrics = ["true_positive_rate"]
    sides = audit(MAY, metrics), audit(relabelled, metrics)
    assert compare(*sides).sampling is Sampling.INDEPENDENT
    both = compare(*sides, outcomes=("prediction", "prediction"))
    assert both.sampling is Sampling.INDEPENDENT
    swapped = audit({(g, y, 1 - p): n for (g, y, p), n in MAY.items()}, metrics)
    assert compare(sides[0], swapped).sampling is Sampling.SAME_PEOPLE


# Reports and the command ---------------------------------------------------------------------


def valid(changes: Changes) -> dict[str, Any]:
    """The document of a comparison, held against its schema."""
    document: dict[str, Any] = json.loads(
        report_json.written(codec.write(Comparison.of(changes, 0)))
    )
    jsonschema.Draft202012Validator(document_schema("comparison")).validate(document)
    return document


@pytest.mark.long
def test_the_document_is_as_its_schema_says() -> None:
    jsonschema.Draft202012Validator.check_schema(document_schema("comparison"))
    infinite = audit({**shares(0, 500), ("a", 0, 1): 0}, SIGNED)
    for changes in (
        compare(audit(MAY), audit(JUNE)),
        compare(audit(MAY), audit(MAY)),
        compare_models(both_models([*OF_LABEL]), "old", "new"),
        compare(infinite, audit(shares(400, 500), SIGNED)),
    ):
        document = valid(changes)
        assert len(document["rates"]) == len(changes.rates)
    document["rates"][0]["extra"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(document_schema("comparison")).validate(document)


def test_a_result_that_was_written_is_compared_like_the_one_that_was_found() -> None:
    sides = audit(MAY), audit(JUNE)
    read = [codec.read_result(json.loads(report_json.render(one))) for one in sides]
    assert valid(compare(*read)) == valid(compare(*sides))
    result = both_models([*OF_LABEL])
    again = codec.read_result(json.loads(report_json.render(result)))
    assert again.model_changes == result.model_changes
    assert valid(compare_models(again, "old", "new")) == valid(compare_models(result, "old", "new"))


def text_of(changes: Changes, *, all_rows: bool = False) -> str:
    return " ".join(terminal.render(pages.document(changes, all_rows=all_rows)).split())


def test_the_report_says_what_chance_may_explain() -> None:
    text = text_of(compare(audit(MAY), audit(JUNE)))
    assert "WORSE Selection rate of the prediction, by group: PASS → FAIL, 0.4167 → 0.1689" in text
    assert "the largest change of a share is 0.0 points" not in text
    assert "not significant" in text
    assert "chance" not in text
    same = text_of(compare(audit(MAY), audit(MAY)))
    assert "the same in both results (assumed from equal numbers of rows and" in same
    assert "p <" not in same


def test_a_table_without_a_sure_change_is_for_those_who_ask_for_all() -> None:
    changes = compare(audit(MAY), audit(JUNE))
    short, long = text_of(changes), text_of(changes, all_rows=True)
    assert "Selection rate of the prediction by group" in short
    nothing = compare(audit(MAY), audit(MAY))
    assert "Selection rate of the prediction by group" not in text_of(nothing)
    assert "3 more tables without a significant or a large change" in text_of(nothing)
    assert "Selection rate of the prediction by group" in text_of(nothing, all_rows=True)
    assert len(long) >= len(short)


@pytest.mark.long
def test_what_is_not_tested_is_ranked_by_size_and_never_called_chance() -> None:
    """Of the same people nothing is tested: the largest changes are shown all the same."""
    rates = ["false_positive_rate", "true_positive_rate", "accuracy", "f1", "error_rate",
             "true_negative_rate", "positive_predictive_value", "selection_rate"]  # fmt: skip
    then = {**MAY, ("b", 0, 0): 157, ("b", 0, 1): 43}
    now = {**then, ("b", 0, 0): 98, ("b", 0, 1): 102}
    changes = compare(audit(then, rates), audit(now, rates), same_people=True)
    text = text_of(changes)
    assert "none tested" in text
    assert "chance" not in text
    first = text.index("False positive rate of the prediction by group")
    assert text.index("True negative rate of the prediction by group") > 0
    assert first < text.index("Accuracy of the prediction by group")
    assert "21.5 % 51.0 % +29.5" in text
    few = [f"{one}_{at}" for one in "pq" for at in range(5)]
    columns = {**COLUMNS, "protected": ["group", "half"], "strata": few}
    rows = [
        frame(each).with_columns(
            half=pl.lit("x"), **{name: pl.lit(name) for name in few}
        ) for each in (then, now)
    ]  # fmt: skip
    spec = {"columns": columns, "metrics": [{"metric": one, "given": few} for one in rates]}
    many = compare(*(fairaudit.audit(spec, each) for each in rows), same_people=True)
    told = text_of(many)
    assert "more tables without a significant or a large change" in told
    assert "no change is" not in told


def test_a_report_fits_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for changes in (
        compare(audit(MAY), audit(JUNE)),
        compare_models(both_models([*OF_LABEL]), "old", "new"),
    ):
        stream = io.StringIO()
        terminal.print_document(pages.document(changes, all_rows=True), stream)
        assert max(map(len, stream.getvalue().splitlines())) <= 80


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder with the JSON reports of two months and of two models."""
    for name, result in (("may", audit(MAY)), ("june", audit(JUNE)), ("models", both_models())):
        (tmp_path / f"{name}.json").write_text(report_json.render(result), encoding="utf-8")
    return tmp_path


def run(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the command, run in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_line(["compare", *map(str, arguments)])
    return code, out.getvalue(), err.getvalue()


def test_comparing_judges_nothing_unless_it_is_asked(reports: Path) -> None:
    may, june = reports / "may.json", reports / "june.json"
    code, out, err = run(may, june)
    assert (code, out.startswith("\nComparison: ")) == (0, True)
    assert err.startswith("WORSE  4 checks in both: ")
    assert run(may, june, "--fail-on", "worse", "-q")[:2] == (1, "")
    assert run(june, may, "--fail-on", "worse", "-q")[0] == 0
    assert run(may, may, "--fail-on", "worse", "-q")[0] == 0


def test_two_models_of_one_file_need_no_other(reports: Path) -> None:
    code, out, _ = run(reports / "models.json")
    assert code == 0
    assert "Comparison: old → new" in out
    code, out, _ = run(reports / "models.json", "--models", "new", "old")
    assert (code, "Comparison: new → old" in out) == (0, True)
    code, _, err = run(reports / "may.json")
    assert (code, "this report does not have two models" in err) == (2, True)


def test_every_format_for_prose_tells_a_comparison(reports: Path) -> None:
    may, june = reports / "may.json", reports / "june.json"
    for one in FORMATS:
        code, out, err = run(may, june, "--format", one.name)
        if one.page is None and one.name != "json":
            assert (code, f"{one.name} does not show a comparison" in err) == (2, True)
        else:
            assert (code, "demographic_parity_ratio/group/prediction" in out) == (0, True)


def test_two_outcomes_of_two_results_are_compared_by_name(reports: Path) -> None:
    metrics = ["selection_rate", {"metric": "selection_rate", "of": "label"}]
    for name, rows in (("one", MAY), ("two", JUNE)):
        text = report_json.render(audit(rows, metrics))
        (reports / f"{name}.json").write_text(text, encoding="utf-8")
    names = ("--models", "label", "prediction", "--format", "json")
    code, out, _ = run(reports / "one.json", reports / "two.json", *names)
    assert code == 0
    (one,) = (row for row in json.loads(out)["rates"] if row["group"] == {"group": "b"})
    everybody = people(MAY, "b")
    assert one["before"]["numerator"] == sum(y for y, _ in everybody)
    assert one["after"]["numerator"] == selected(JUNE, "b")[0]


def test_files_are_written_in_the_format_of_their_suffix(reports: Path) -> None:
    wanted = reports / "changes.json"
    code, out, _ = run(
        reports / "may.json", reports / "june.json", "-o", wanted, "-o", reports / "c.txt",
        "--format", "json", "--fail-on", "worse",
    )  # fmt: skip
    assert code == 1
    assert json.loads(out) == json.loads(wanted.read_text("utf-8"))
    assert json.loads(out)["summary"]["exit_code"] == 1
    assert "Comparison: " in (reports / "c.txt").read_text("utf-8")


def test_what_is_no_result_is_refused_and_leaves_no_old_report(reports: Path) -> None:
    bad, wanted = reports / "bad.json", reports / "out.json"
    wanted.write_text("an old report", encoding="utf-8")
    for text in ("{", "[]", "{}", '{"tool": {"name": "fairaudit"}}'):
        bad.write_text(text, encoding="utf-8")
        code, _, err = run(bad, reports / "may.json", "-o", wanted)
        assert code == 2
        assert str(bad) in err
    assert json.loads(wanted.read_text("utf-8"))["summary"]["verdict"] == "error"
    assert run(reports / "none.json", bad)[0] == 2
    for words in (("--format", "jsn"), ("--same-people",)):
        assert run(reports / "models.json", *words)[0] == 2


def test_a_gate_that_compares_no_check_is_no_pass(reports: Path) -> None:
    bare = reports / "bare.json"
    bare.write_text(report_json.render(audit(JUNE, ["selection_rate"])), encoding="utf-8")
    assert run(reports / "may.json", bare, "-q")[0] == 0
    code, _, err = run(reports / "may.json", bare, "-q", "--fail-on", "worse")
    assert (code, "no check in common" in err) == (3, True)


def test_a_check_is_not_the_same_if_a_new_group_determines_its_value() -> None:
    """.76 of .8 before; then x at .41 of .8, while a and b have not changed."""
    metric = [{"metric": "impact_ratio", "fail": {"below": 0.5}}]
    old: Rows = {("a", 1, 1): 800, ("a", 1, 0): 200, ("b", 1, 1): 760, ("b", 1, 0): 240}
    new: Rows = {**old, ("x", 1, 1): 4100, ("x", 1, 0): 5900}
    results = [audit(rows, metric) for rows in (old, new)]
    changes = compare(*results)
    text = " ".join(terminal.render(pages.document(changes)).split())
    assert "worst 0.9500" in text
    assert "0.5125 by x" in text
    assert "UNSURE Impact ratio" in text
    same = " ".join(terminal.render(pages.document(compare(results[0], results[0]))).split())
    assert "SAME Impact ratio" in same
