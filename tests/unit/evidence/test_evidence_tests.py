"""Which test stands behind a value, and its p-value.

P-values are those of scipy and statsmodels, of tables counted one by one, or of the oracle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import evidence_oracle as oracle
import numpy as np
import polars as pl
import pytest
from conftest import examples
from evidence_specs import YES, Cells, Rate, document, named, of_cells, of_rates, people
from evidence_specs import spec as asking
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats
from scipy.stats import hypergeom
from stats_oracle import fisher, permutation, printed
from statsmodels.stats.contingency_tables import StratifiedTable
from statsmodels.stats.oneway import anova_oneway

import fairaudit
from fairaudit.evidence.joint_tests import compare_classes
from fairaudit.metrics.terms import Inference

SURE: dict[str, Any] = {"above": 0.001, "significant": True}
GAP: dict[str, Any] = {"metric": "demographic_parity_difference", "fail": SURE}
RATIO: dict[str, Any] = {"metric": "disparate_impact_ratio", "reference": "g001"}


def behind(check: dict[str, Any]) -> tuple[str, Any]:
    """The name and the raw p-value of the test behind a check."""
    return check["significance"]["test"], check["significance"]["p"]


def alone(rates: Sequence[Rate], metric: Any, **more: Any) -> tuple[str, Any]:
    (check,) = of_rates(named(rates), metric, **more)
    return behind(check)


# Two and more rates --------------------------------------------------------------------------

TO_SECOND: dict[str, Any] = {**RATIO, "fail": {"below": 0.8}}


@pytest.mark.parametrize(
    ("one", "two", "name", "p"),
    [
        ((12, 40), (48, 80), "z", ".00194577"),
        ((1, 10), (3, 10), "Fisher, mid-p", ".334365"),
        ((5, 10), (5, 10), "z", "1.0"),
        ((4, 10), (5, 10), "Fisher, mid-p", ".684925"),
    ],
)
def test_fisher_counts_where_fewer_than_five_are_expected(
    one: Rate, two: Rate, name: str, p: str
) -> None:
    found = alone([one, two], TO_SECOND)
    assert found[0] == name
    assert printed(found[1], p)


RARE: dict[str, Rate] = {"a": (20, 500), "b": (900, 90_000)}
"""z is 6.7, p by z 3e-11: ten thousand times too small."""


@pytest.mark.parametrize(
    "entry",
    [
        {"metric": "statistical_parity_difference", "reference": "b"},
        {"metric": "statistical_parity_difference", "reference": "rest"},
        {"metric": "impact_ratio", "fail": {"below": 0.9}},
        GAP,
    ],
    ids=lambda entry: f"{entry['metric']} {entry.get('reference', '')}",
)
def test_far_out_in_the_tail_of_a_rare_rate_tables_are_counted(entry: dict[str, Any]) -> None:
    (check,) = of_rates(RARE, {"fail": {"above": 0.001}, **entry})
    mid_p = fisher(*RARE["a"], *RARE["b"])[1]
    name, p = behind(check)
    assert name.removesuffix(" over pairs") == "Fisher, mid-p"
    assert p == pytest.approx(mid_p, rel=1e-9, abs=0)


def test_far_out_of_several_rare_rates_the_larger_of_chi_square_and_g_counts() -> None:
    """By every table of the same margins: tables as far out come up 8 times as often as χ² says."""
    rates = [(20, 600), (11, 1200), (29, 4200)]
    name, p = alone(rates, GAP)
    sizes = np.array([n for _, n in rates])
    hits = np.array([(x, y, 60 - x - y) for x in range(61) for y in range(61 - x)])
    log = stats.multivariate_hypergeom.logpmf(hits, sizes, 60)
    expected = sizes * 60 / sizes.sum()
    squares = ((hits - expected) ** 2 / expected).sum(axis=1) / (1 - 60 / sizes.sum())
    seen = ((np.array([20, 11, 29]) - expected) ** 2 / expected).sum() / (1 - 60 / sizes.sum())
    exact = float(np.exp(log[squares >= seen - 1e-9]).sum())
    assert oracle.chi_square(rates) < exact / 5
    assert name == "G"
    assert exact < p < 10 * exact


def test_four_equal_groups_by_chi_square() -> None:
    name, p = alone([(250, 1000), (270, 1000), (240, 1000), (260, 1000)], GAP)
    assert name == "χ²"
    assert printed(p, ".45192")


@given(one=st.integers(1, 60), two=st.integers(1, 60), data=st.data())
@examples(60)
def test_two_rates_are_tested_by_z_or_fisher(one: int, two: int, data: st.DataObject) -> None:
    rates = [(data.draw(st.integers(0, n)), n) for n in (one, two)]
    chosen = sum(x for x, _ in rates)
    if not 0 < chosen < one + two:
        return
    metric = {"metric": "statistical_parity_difference", "reference": "g001"}
    name, p = alone(rates, {**metric, "fail": {"above": 0.9}})
    expected = oracle.two_groups(*rates)
    assert name == expected[0]
    assert p == pytest.approx(expected[1], rel=1e-7)


@given(rates=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 40)), min_size=3, max_size=5))
@examples(25)
def test_several_rates_are_tested_by_chi_square_unless_few_are_expected(
    rates: list[tuple[int, int]],
) -> None:
    found = [(x, x + more) for x, more in rates]
    if sum(x for x, _ in found) == 0:
        return
    name, p = alone(found, GAP)
    large = [one for one in found if oracle.least_expected_of(one, found) >= 5]
    if len(large) == len(found):
        assert (name, p) == ("χ²", pytest.approx(oracle.chi_square(found), rel=1e-9))
    elif len(large) > 1:
        assert name == "χ² and every pair"
        expected = oracle.beside_pairs(oracle.chi_square(large), oracle.clearest_pair(found))
        assert p == pytest.approx(expected, rel=1e-7)
    else:
        assert name == "permutations and every pair"


@pytest.mark.parametrize(
    "rates",
    [
        [(0, 4), (3, 4), (2, 5)],
        [(0, 6), (5, 6), (1, 3)],
        [(1, 2), (1, 7), (6, 6), (2, 3)],
        [(3, 3), (0, 9)],
        [(1, 8), (1, 8), (1, 8)],
    ],
)
def test_permutations_agree_with_every_table_there_is(rates: list[Rate]) -> None:
    """The chance of so large a χ², which is that of Σ x² / n, whatever the groups are called.

    Of two groups the one pair is tested, by Fisher's test; nobody is dealt out.
    """
    selected, sizes = [x for x, _ in rates], [n for _, n in rates]

    def size(dealt: Sequence[int]) -> float:
        return round(sum(x * x / n for x, n in zip(dealt, sizes, strict=True)), 9)

    name, p = alone(rates, GAP)
    if len(rates) == 2:
        assert (name, p) == ("Fisher, mid-p", pytest.approx(oracle.two_groups(*rates)[1]))
        return
    assert name == "permutations and every pair"
    exact = permutation(selected, sizes, size)
    expected = oracle.beside_pairs(exact, oracle.clearest_pair(rates))
    assert p == pytest.approx(expected)
    assert alone(rates[::-1], GAP)[1] == p


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_names_of_groups_do_not_change_permutations(classes: int) -> None:
    """Too many tables to count: the people are dealt."""
    draw = np.random.default_rng(3)
    counts = draw.integers(0, 4, (classes, 30))
    found = {
        compare_classes(
            counts[:, draw.permutation(30)].astype(np.float64),
            np.ones(30, dtype=np.bool_), Inference(), weighted=weighted,
        ).p
        for weighted in (False, True) for _ in range(4)
    }  # fmt: skip
    assert len(found) == 1


def test_equal_weights_change_no_test() -> None:
    rates = {"a": (0, 6), "b": (6, 6), "c": (1, 4), "d": (5, 6), "e": (1, 2), "f": (5, 6)}
    rows = [(g, int(i < x), w) for g, (x, n) in rates.items() for i in range(n) for w in (3.5,)]
    frame = pl.DataFrame(rows, ["g", "p", "w"], orient="row")
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}}
    found = [
        document({"columns": {**columns, **weight}, "metrics": [GAP]}, frame)["checks"][0]
        for weight in ({}, {"weight": "w"})
    ]
    plain, weighted = (check["significance"] for check in found)
    assert plain["test"] == weighted["test"] == "permutations and every pair"
    assert weighted["p"] == pytest.approx(plain["p"])


def test_permutations_are_those_of_scipy() -> None:
    rates, rows = [(1, 12), (7, 11)], [0] * 12 + [1] * 11
    picked = [1] + [0] * 11 + [1] * 7 + [0] * 4
    belongs, is_picked = np.array(rows), np.array(picked)

    def gap(x: Any) -> float:
        return abs(float(x[belongs == 0].mean() - x[belongs == 1].mean()))

    found = stats.permutation_test(
        (is_picked,), gap, permutation_type="pairings", n_resamples=4000, alternative="greater",
        rng=np.random.default_rng(1), vectorized=False,
    )  # fmt: skip
    *_, p = alone(rates, GAP)
    assert p == pytest.approx(found.pvalue, abs=0.015)


SPARSE = [
    [[4, 1, 0], [1, 3, 2], [0, 2, 5]],
    [[8, 1, 3], [2, 6, 1], [3, 1, 4], [1, 2, 2]],
    [[2, 2, 2], [3, 1, 2], [1, 2, 3]],
    [[9, 0, 1], [4, 3, 2], [3, 3, 6]],
]


@pytest.mark.parametrize("table", SPARSE)
@pytest.mark.parametrize("metric", ["differential_fairness", "mutual_information"])
def test_sparse_tables_of_several_classes_agree_with_tables_drawn(
    table: list[list[int]], metric: str
) -> None:
    """Of χ², or of what the groups tell of the classes, against 20,000 tables of these margins."""
    rows = [
        {"g": f"g{g}", "p": f"c{y}", "n": n}
        for g, row in enumerate(table)
        for y, n in enumerate(row)
    ]
    columns = {"protected": ["g"], "prediction": {"column": "p"}, "count": "n"}
    asked = {"columns": columns, "metrics": [{"metric": metric, "fail": SURE}]}
    (check,) = document(asked, pl.DataFrame(rows))["checks"]
    name, p = behind(check)
    assert name == "permutations and every pair"
    counts = np.array(table)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    drawn = stats.random_table(counts.sum(axis=1), counts.sum(axis=0)).rvs(
        20_000, random_state=np.random.default_rng(3)
    )

    def statistic(tables: Any) -> Any:
        if metric == "mutual_information":
            return special.xlogy(tables, tables / expected).sum(axis=(-2, -1))
        return ((tables - expected) ** 2 / expected).sum(axis=(-2, -1))

    simulated = float((statistic(drawn) >= statistic(counts) - 1e-9).mean())
    by_class = [
        oracle.clearest_pair([(row[y], sum(row)) for row in table]) for y in range(len(table[0]))
    ]
    by_pairs = 1 - (1 - min(by_class)) ** len(by_class)
    assert p == pytest.approx(oracle.beside_pairs(simulated, by_pairs), abs=0.025)


@pytest.mark.parametrize(
    ("people", "test"),
    [
        (10**4, "permutations and every pair"),
        (10**12, "each against the rest, Bonferroni and every pair"),
    ],
)
def test_a_rare_class_of_a_large_group_proves_nothing_of_a_small_one(
    people: int, test: str
) -> None:
    """Nearly every table of these margins is the one that was seen, whatever χ² is."""
    asked = {
        "columns": {"protected": ["g"], "prediction": {"column": "p"}, "count": "n"},
        "metrics": [{"metric": "differential_fairness", "fail": SURE}],
    }
    alike = [("a", "x", 50), ("a", "y", 50), ("b", "x", people), ("b", "y", people)]
    for rare, expected in ([("b", "z", 2)], 1.0), ([("a", "z", 2)], 1e-4):
        rows = pl.DataFrame([*alike, *rare], ["g", "p", "n"], orient="row")
        (check,) = document(asked, rows)["checks"]
        name, p = behind(check)
        assert name == test
        assert p == pytest.approx(expected, abs=0.02)


@pytest.mark.long
@pytest.mark.parametrize("inference", [{"fisher": "exact"}, {}])
def test_beyond_a_thousand_million_people_each_group_is_tested_against_the_rest(
    inference: dict[str, Any],
) -> None:
    """Among so many, those of a small group are as good as drawn one by one: binomial."""
    many = 10**10
    rates = [(2, 40), (2, many), (1, 2 * many)]
    # Two or more of five people fall on forty of thirty thousand million; or beside either other
    # group alone, the clearer of two pairs. scipy sieves all primes up to that number: integers.
    half = 1.0 if inference else 0.5  # of the observed table, here and in that of a pair

    def chance_of_two(selected: int, people: int) -> float:
        ways = [math.comb(40, k) * math.comb(people, selected - k) for k in range(2, selected + 1)]
        return float((half * ways[0] + sum(ways[1:])) / math.comb(people + 40, selected))

    smallest, pair = chance_of_two(5, 3 * many), chance_of_two(3, 2 * many)
    name, p = alone(rates, GAP, inference=inference)
    expected = oracle.beside_pairs(3 * smallest, oracle.over_pairs(pair, 3))
    assert name == "each against the rest, Bonferroni and every pair"
    assert p == pytest.approx(expected, rel=1e-3)


def test_over_300_groups_moments_serve_down_to_what_permutations_tell() -> None:
    hits = np.random.default_rng(5).binomial(6, 0.4, 301)
    counts = np.stack([hits, 6 - hits])
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    drawn = stats.random_table(counts.sum(axis=1), counts.sum(axis=0)).rvs(
        2000, random_state=np.random.default_rng(3)
    )
    spread = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    simulated = float((spread >= ((counts - expected) ** 2 / expected).sum()).mean())
    name, p = alone([(int(x), 6) for x in hits], GAP)
    assert name == "χ² by exact moments and every pair"
    assert p == pytest.approx(min(simulated / 0.9, 1), abs=0.05)
    apart = [(6 * (at % 2), 6) for at in range(301)]
    name, p = alone(apart, GAP)
    assert (name, p) == ("χ² by exact moments and every pair", pytest.approx(1e-4 / 0.9))


def test_classes_and_information_by_chi_square_and_g() -> None:
    table = [[30, 20, 25], [18, 33, 22], [25, 15, 44]]
    rows = [
        {"g": f"g{g}", "p": f"c{y}", "n": n}
        for g, row in enumerate(table)
        for y, n in enumerate(row)
    ]
    columns = {"protected": ["g"], "prediction": {"column": "p"}, "count": "n"}
    metrics = [{"metric": name, "fail": SURE} for name in (
        "differential_fairness", "mutual_information")]  # fmt: skip
    metrics.append({"metric": "kl_divergence", "reference": "g2", "fail": SURE})
    asked = {"columns": columns, "metrics": metrics}
    chi, information, divergence = map(behind, document(asked, pl.DataFrame(rows))["checks"])
    square = stats.chi2_contingency(table, correction=False).pvalue
    assert chi == ("χ²", pytest.approx(square, rel=1e-9))
    by_likelihood = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")
    assert information == ("G", pytest.approx(by_likelihood.pvalue, rel=1e-9))
    pairs = [
        stats.chi2_contingency([table[g], table[2]], correction=False, lambda_="log-likelihood")
        for g in (0, 1)
    ]
    assert divergence[0] == "G"
    assert any(divergence[1] == pytest.approx(one.pvalue, rel=1e-9) for one in pairs)


# Means and ranks -----------------------------------------------------------------------------


def scored() -> tuple[dict[str, list[float]], pl.DataFrame]:
    draw = np.random.default_rng(2)
    found = {g: draw.normal(mean, spread, n).round(2).tolist() for g, mean, spread, n in (
        ("a", 0.5, 0.1, 14), ("b", 0.56, 0.2, 23), ("c", 0.45, 0.3, 9))}  # fmt: skip
    rows = [(g, s, at % 2) for g, scores in found.items() for at, s in enumerate(scores)]
    return found, pl.DataFrame(rows, ["g", "s", "p"], orient="row")


def of_scores(*metrics: Any, rows: pl.DataFrame | None = None, **more: Any) -> list[dict[str, Any]]:
    rows = scored()[1] if rows is None else rows
    columns = {"protected": ["g"], "prediction": {"column": "p", **YES}, "score": "s"}
    found = document({"columns": columns, "metrics": list(metrics), **more}, rows)
    checks: list[dict[str, Any]] = found["checks"]
    return checks


def test_several_means_are_tested_by_welchs_f() -> None:
    found, _ = scored()
    metric = {"metric": "mean_score", "compare": "gap", "fail": SURE}
    (check,) = of_scores(metric)
    large = [scores for scores in found.values() if len(scores) >= 10]
    joint = anova_oneway(large, use_var="unequal", welch_correction=True).pvalue
    pairs = min(
        stats.ttest_ind(one, two, equal_var=False).pvalue
        for one, two in itertools.combinations(found.values(), 2)
    )
    expected = oracle.beside_pairs(joint, oracle.over_pairs(pairs, 3))
    assert behind(check) == ("Welch's F and every pair", pytest.approx(expected, rel=1e-7))
    (check,) = of_scores(metric, rows=pl.concat([scored()[1]] * 2))
    every = [scores * 2 for scores in found.values()]
    expected = anova_oneway(every, use_var="unequal", welch_correction=True).pvalue
    assert behind(check) == ("Welch's F", pytest.approx(expected, rel=1e-7))


@pytest.mark.parametrize(("t", "name"), [("welch", "Welch"), ("student", "Student")])
def test_two_means_are_tested_by_t(t: str, name: str) -> None:
    found, _ = scored()
    metric = {"metric": "mean_score", "compare": "difference", "reference": "a"}
    (check,) = of_scores({**metric, "fail": {"outside": [-9, 9]}}, inference={"t": t})
    group = check["group"]["g"]
    expected = stats.ttest_ind(found[group], found["a"], equal_var=t == "student")
    assert behind(check) == (name, pytest.approx(expected.pvalue, rel=1e-7))
    if t == "welch":
        bounds = expected.confidence_interval(0.95**0.5)  # b and c hold together: Šidák
        assert (check["low"], check["high"]) == pytest.approx(tuple(bounds), rel=1e-7)


def test_ranks_are_tested_by_mann_and_whitney() -> None:
    found, _ = scored()
    metric = {"metric": "between_group_auc_score", "reference": "a"}
    (check,) = of_scores({**metric, "fail": {"outside": [0.1, 0.9]}})
    one, two = found[check["group"]["g"]], found["a"]
    placed = stats.rankdata([*one, *two])
    middle = len(one) * (len(placed) + 1) / 2
    expected = stats.permutation_test(
        (placed[: len(one)], placed[len(one) :]),
        lambda own, _, axis: np.abs(own.sum(axis=axis) - middle),
        vectorized=True,
        alternative="greater",
        n_resamples=99_999,
        rng=1,
    )
    assert behind(check) == ("Mann–Whitney", pytest.approx(expected.pvalue, rel=0.05))


# Strata --------------------------------------------------------------------------------------

STRATA = {
    "x": {"a": (30, 50), "b": (12, 30), "c": (9, 22)},
    "y": {"a": (8, 40), "b": (7, 55), "c": (3, 17)},
    "z": {"a": (20, 21), "b": (33, 41), "c": (12, 15)},
}


def stratified() -> pl.DataFrame:
    rows = [people(rates).with_columns(z=pl.lit(z)) for z, rates in STRATA.items()]
    return pl.concat(rows)


def in_strata(*metrics: Any, **more: Any) -> list[dict[str, Any]]:
    asked = asking(*metrics, columns={"strata": ["z"]}, **more)
    found: list[dict[str, Any]] = document(asked, stratified())["checks"]
    return found


@pytest.mark.long
@pytest.mark.parametrize("average", ["pooled", "uniform", "reference"])
def test_averaged_rates_are_tested_within_their_strata(average: str) -> None:
    metric = {"metric": "selection_rate", "compare": "difference", "reference": "a", "given": "z"}
    limit = {"outside": [-0.01, 0.01]}
    (check,) = in_strata({**metric, "average": average, "fail": limit})
    group = check["group"]["g"]
    tables = [[[x, n - x] for x, n in (rates[group], rates["a"])] for rates in STRATA.values()]
    expected = StratifiedTable([np.array(one) for one in tables]).test_null_odds(correction=False)
    beside = check["significance"]["beside"]
    assert beside["test"] == "Cochran–Mantel–Haenszel"
    assert beside["p"] == pytest.approx(expected.pvalue, rel=1e-9)
    assert check["significance"]["family"] == 2
    name, p = behind(check)
    assert name == "from the interval"
    # Both comparisons hold together at the check: Šidák. More hits are few in a farther tail, so
    # that the end may jump over 0.
    for step, has_parity in ((-1e-3, False), (1e-3, True)):
        confidence = f"{(1 - p) ** 2 * (1 + step * p):.15f}"
        (turned,) = in_strata(
            {**metric, "average": average, "fail": limit}, inference={"confidence": confidence}
        )
        assert (turned["low"] <= 0 <= turned["high"]) is has_parity


@pytest.mark.long
def test_averages_of_several_groups_are_tested_by_the_generalised_statistic() -> None:
    metric = {"metric": "selection_rate", "given": "z", "average": "pooled"}
    found = in_strata(
        {**metric, "compare": "gap", "fail": SURE},
        {**metric, "compare": "min_ratio", "fail": {"below": 0.99}},
    )
    strata = [list(rates.values()) for rates in STRATA.values()]
    expected = oracle.generalised_cochran_mantel_haenszel(strata)
    for check in found:
        assert behind(check)[0] == "from the interval"
        beside = check["significance"]["beside"]
        assert beside["test"] == "Cochran–Mantel–Haenszel"
        assert beside["p"] == pytest.approx(expected, rel=1e-9)
        assert check["significance"]["family"] == 2, "intervals of a difference and of a ratio"


def test_two_groups_by_the_generalised_statistic_are_those_of_the_plain_one() -> None:
    strata = [[rates["a"], rates["b"]] for rates in STRATA.values()]
    tables = [np.array([[x, n - x] for x, n in one]) for one in strata]
    expected = StratifiedTable(tables).test_null_odds(correction=False).pvalue
    assert oracle.generalised_cochran_mantel_haenszel(strata) == pytest.approx(expected, rel=1e-9)


# Composites, a picked reference, and intervals turned into tests -----------------------------

MANY: dict[str, Cells] = {
    "a": (60, 20, 25, 95), "b": (40, 45, 35, 60), "c": (35, 30, 20, 55), "d": (22, 16, 21, 40),
}  # fmt: skip


def rates_of(cells: Sequence[Cells]) -> tuple[list[Rate], list[Rate]]:
    true = [(tp, tp + fn) for tp, _, fn, _ in cells]
    false = [(fp, fp + tn) for _, fp, _, tn in cells]
    return true, false


def test_composites_are_tested_by_the_smallest_of_their_parts() -> None:
    true, false = rates_of(list(MANY.values()))
    spread = {"metric": "equalized_odds_difference", "fail": SURE}
    signed = {"metric": "average_odds_difference", "reference": "a"}
    odds, average = of_cells(MANY, spread, {**signed, "fail": {"outside": [-0.01, 0.01]}})
    expected = oracle.sidak(oracle.chi_square(true), oracle.chi_square(false))
    assert behind(odds) == ("χ², Šidák over 2 tests", pytest.approx(expected, rel=1e-7))
    at = list(MANY).index(average["group"]["g"])
    expected = oracle.sidak(*(oracle.two_groups(one[at], one[0])[1] for one in (true, false)))
    beside = average["significance"]["beside"]
    assert (beside["test"], beside["p"]) == (
        "z, Šidák over 2 tests",
        pytest.approx(expected, rel=1e-7),
    )
    assert behind(average)[0] == "from the interval", "one may cancel the other"


def test_a_reference_that_chance_picks_costs_as_many_tests_as_pairs() -> None:
    rates = [(120, 400), (150, 400), (90, 400), (155, 400)]
    (check,) = of_rates(named(rates), {"metric": "impact_ratio", "fail": {"below": 0.8}})
    assert check["group"] == {"g": "g002"}
    expected = oracle.over_pairs(oracle.two_groups(rates[2], rates[3])[1], 4)
    assert behind(check) == ("z over pairs", pytest.approx(expected, rel=1e-6))


def test_everybody_is_tested_as_the_rest() -> None:
    rates = [(120, 400), (150, 400), (90, 300)]
    for reference in ("overall", "rest"):
        metric = {"metric": "statistical_parity_difference", "reference": reference}
        (check,) = of_rates(named(rates), {**metric, "fail": {"outside": [-0.01, 0.01]}})
        at = int(check["group"]["g"][1:])
        others = [one for g, one in enumerate(rates) if g != at]
        rest = (sum(x for x, _ in others), sum(n for _, n in others))
        assert behind(check) == ("z", pytest.approx(oracle.two_groups(rates[at], rest)[1]))


@pytest.mark.long
@pytest.mark.parametrize("metric", ["f1", "balanced_accuracy", "error_type_ratio"])
@pytest.mark.parametrize("compare", ["difference", "ratio", "gap", "min_ratio"])
def test_p_is_the_level_at_which_parity_leaves_the_interval(metric: str, compare: str) -> None:
    cells = {"a": (60, 20, 45, 95), "b": (40, 40, 35, 50)}
    limit = {"below": 0.01} if "ratio" in compare else {"above": 0.9}
    entry: dict[str, Any] = {"metric": metric, "compare": compare, "fail": limit}
    if compare in {"difference", "ratio"}:
        entry["reference"] = "a"
    (check,) = of_cells(cells, entry)
    name, p = behind(check)
    assert name == "from the interval"
    assert p < 0.5
    (turned,) = of_cells(cells, entry, inference={"confidence": f"{1 - p:.12f}"})
    ideal = 0 if compare in {"difference", "gap"} else 1
    nearest = min((turned["low"], turned["high"]), key=lambda end: abs(end - ideal))
    assert nearest == pytest.approx(ideal, abs=1e-6)


def test_a_mean_of_rates_averaged_over_strata_is_tested_by_its_parts() -> None:
    cells = {"a": (60, 20, 45, 95), "b": (40, 40, 35, 50), "c": (30, 25, 30, 40)}
    strata = {"x": cells, "y": {g: cells[h] for g, h in zip("abc", "bca", strict=True)}}
    columns: dict[str, list[Any]] = {name: [] for name in ("s", "g", "y", "d", "n")}
    for (s, groups), (row, (y, d)) in itertools.product(
        strata.items(), enumerate([(1, 1), (1, 0), (0, 1), (0, 0)])
    ):
        for g, counts in groups.items():
            for name, value in zip(columns, (s, g, y, d, counts[row]), strict=True):
                columns[name].append(value)
    terms: dict[str, Any] = {"given": ["s"], "average": "pooled", "fail": {"above": 0.01}}
    entries = [
        {"metric": "equalized_odds_mean"},
        {"metric": "true_positive_rate", "compare": "gap"},
        {"metric": "false_positive_rate", "compare": "gap"},
    ]
    spec = {
        "columns": {
            "protected": ["g"],
            "prediction": "d",
            "label": "y",
            "strata": ["s"],
            "count": "n",
        },
        "metrics": [{**entry, **terms} for entry in entries],
    }
    mean, tpr, fpr = fairaudit.audit(spec, pl.DataFrame(columns)).to_dict()["checks"]
    assert behind(tpr)[1] < 0.5
    least = min(behind(tpr)[1], behind(fpr)[1])
    assert behind(mean) == (
        f"{behind(tpr)[0]}, Šidák over 2 tests",
        pytest.approx(1 - (1 - least) ** 2),
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_a_divergence_of_few_people_is_tested_exactly(classes: int) -> None:
    """6 of 6 hired against 3 of 6 by Fisher; of three classes all permutations of G."""
    one, two = [1] * 6, [1, 1, 1, *([0, 0, 0] if classes == 2 else [0, 0, 2])]
    data = pl.DataFrame({"g": ["a"] * 6 + ["b"] * 6, "d": [f"c{value}" for value in one + two]})
    decision: dict[str, Any] = {"column": "d"}
    decision |= {"positive": "c1"} if classes == 2 else {}
    metric = {"metric": "kl_divergence", "reference": "b", "fail": SURE}
    columns = {"protected": ["g"], "decision": decision}
    (check,) = document({"columns": columns, "metrics": [metric]}, data)["checks"]
    if classes == 2:
        # Both extreme tables are as likely: by mid-p each counts half.
        expected = stats.fisher_exact([[6, 3], [0, 3]], alternative="two-sided").pvalue / 2
        assert behind(check) == ("Fisher, mid-p", pytest.approx(expected, rel=1e-7))
        return

    def g(x: np.ndarray, y: np.ndarray) -> float:
        table = np.array([[np.sum(side == k) for k in range(3)] for side in (x, y)])
        table = table[:, table.sum(axis=0) > 0]
        return float(stats.chi2_contingency(table, lambda_="log-likelihood", correction=False)[0])

    found = stats.permutation_test((one, two), g, alternative="greater", n_resamples=np.inf)
    assert behind(check)[1] == pytest.approx(found.pvalue, rel=0.05)


def test_the_smallest_of_two_tests_gives_its_name() -> None:
    """Of ε given the label the rare positives decide: Fisher's test, not z of the negatives."""
    cells = {
        # label, decision: people of a and of b
        (0, 0): (300, 300), (0, 1): (200, 200),
        (1, 0): (12, 3), (1, 1): (1, 9),
    }  # fmt: skip
    rows = [(g, y, p, n) for (y, p), both in cells.items() for g, n in zip("ab", both, strict=True)]
    columns = {"protected": ["g"], "label": "y", "prediction": "p", "count": "n"}
    metric = {"metric": "differential_equalized_odds", "fail": {"above": 0.1, "significant": True}}
    (finding,) = fairaudit.audit(
        {"columns": columns, "metrics": [metric]},
        pl.DataFrame(rows, ["g", "y", "p", "n"], orient="row"),
    ).findings
    assert finding.estimate is not None
    found = finding.estimate.significance
    assert found is not None
    tables = hypergeom(25, 10, 13).pmf(np.arange(11))
    p = tables[tables < tables[1] * (1 - 1e-7)].sum() + tables[1] / 2
    assert found.p == pytest.approx(1 - (1 - p) ** 2, rel=1e-6)
    assert found.test == "Fisher, mid-p, Šidák over 2 tests"
