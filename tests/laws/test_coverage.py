"""Intervals cover, gates seldom cry wolf, and disparities are found: benchmarks/coverage.py, light.

Each bar is one that a wrong construction is seen to fail.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import long
from scipy.stats import multinomial

import fairaudit
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.judge import Status
from fairaudit.metrics import build_disparity, evaluate, find_comparison, find_metric
from fairaudit.metrics.terms import Average, MetricOptions, Weights
from fairaudit.stats.sample_sizes import smallest_detectable

SEED = 7
RUNS = 400
FEW = 60
"""Repetitions; few where each takes long."""
EQUAL = ((2, 100), (3, 100), (10, 60))
"""Groups that are all alike, and the people in each."""


def bar(runs: int, least: float = 0.93) -> float:
    """The least that may be seen in so many repetitions of a coverage of 93 %, three errors off."""
    return least - 3 * math.sqrt(least * (1 - least) / runs)


def drawn(*place: int) -> np.random.Generator:
    return np.random.default_rng([SEED, *place])


def by_name(bench: Any) -> dict[str, Any]:
    return {one.title: one for one in bench("maxima").MAXIMA}


@pytest.mark.long
def test_one_rate_and_two_rates_are_covered_where_few_are_expected(bench: Any) -> None:
    """Score intervals alone dip to .84 (one rate), .88 (difference), .81 (ratio), .82 (odds)."""
    singles = bench("singles")
    points = singles.wilson().points
    assert np.mean([one.covered for one in points]) == pytest.approx(0.961, abs=0.004)
    for study in (singles.wilson(), singles.one_rate_at_worst(), *singles.enumerated()):
        lowest = min(study.points, key=lambda one: one.covered)
        assert lowest.covered > 0.93, (study.title, lowest)


PAIRS = ("difference of two rates", "ratio of two rates", "odds ratio", "Cohen's h")


@pytest.mark.long
def test_pairs_of_rates_are_covered_on_average(bench: Any) -> None:
    studies = {one.title: one for one in bench("singles").pairs(drawn(1), RUNS)}
    for title in (*PAIRS, "ratio to everybody (elift)"):
        covered = [one.covered for one in studies[title].points if one.few >= 5]
        assert np.mean(covered) == pytest.approx(0.952, abs=0.006), title
        assert min(covered) > bar(RUNS), title
    difference = studies["difference of two rates"]
    assert min(one.covered for one in difference.points) > bar(RUNS)


def test_walds_interval_is_below_that_bar(bench: Any) -> None:
    singles, random = bench("singles"), drawn(2)
    covered = []
    for (n, m), (p, q) in ((s, r) for s in singles.PAIR_SIZES for r in singles.PAIRS):
        a, b = random.binomial(n, p, RUNS) / n, random.binomial(m, q, RUNS) / m
        reach = 1.959964 * np.sqrt(a * (1 - a) / n + b * (1 - b) / m)
        covered.append(float((abs(a - b - (p - q)) <= reach).mean()))
    assert min(covered) < bar(RUNS)


@pytest.mark.long
@pytest.mark.parametrize(("groups", "size"), [EQUAL[0], *(long(*sizes) for sizes in EQUAL[1:])])
@pytest.mark.parametrize(
    "title",
    [
        "gap",
        "difference to the highest, all groups at once",
        "equalized odds difference",
        "least ratio",
        "ratio to the highest, all groups at once",
        "ε, 2 outcomes",
        "ε, 3 outcomes",
    ],
)
def test_maxima_contain_parity_where_all_are_alike(
    bench: Any, title: str, groups: int, size: int
) -> None:
    one = by_name(bench)[title]
    runs = FEW if one.slow else RUNS
    rates = np.full(groups, 0.3)
    table = one.draw(drawn(3, groups), rates, [size] * groups, runs)
    found = bench("samples").intervals(one.asked, table, one.reference)
    assert not found.without
    assert found.covered(one.truth(rates)) >= bar(runs)


@pytest.mark.long
@pytest.mark.parametrize("title", ["gap", "equalized odds difference", "least ratio"])
@pytest.mark.parametrize("sized", ["200 each", "20 to 10,000"])
def test_maxima_contain_what_is_true_where_three_are_the_highest(
    bench: Any, title: str, sized: str
) -> None:
    one, maxima = by_name(bench)[title], bench("maxima")
    runs = FEW if one.slow else RUNS
    rates, sizes = maxima.rates_of(maxima.PATTERNS[1], 6, 0.4), maxima.sizes_of(sized, 6)
    table = one.draw(drawn(4), rates, sizes, runs)
    found = bench("samples").intervals(one.asked, table, one.reference)
    assert found.covered(one.truth(rates)) >= bar(runs)


@pytest.mark.long
@pytest.mark.parametrize("groups", [3, 10])
def test_only_intervals_of_all_pairs_pass_the_bar(bench: Any, groups: int) -> None:
    drawing = (np.full(groups, 0.2), [200] * groups)
    one = bench("maxima").of_one(drawn(5, groups), "all alike", drawing, RUNS)
    assert one.ours >= bar(RUNS)
    assert one.bonferroni >= bar(RUNS)
    assert one.width <= one.bonferroni_width
    # The pair that chance picks has too short an interval, and the bootstrap never has 0 in it.
    assert one.pointwise < bar(RUNS)
    assert one.bootstrap == 0
    assert one.missing_0 == 1


def test_the_share_of_hits_covers_where_the_delta_method_does_not(bench: Any) -> None:
    studies = list(bench("singles").formulas(drawn(6), RUNS))
    for one in studies:
        covered = [point.covered for point in one.points]
        if one.method == "delta":
            assert min(covered) < 0.6, one.title
            assert np.mean(covered) < 0.93, one.title
        else:
            assert min(covered) > bar(RUNS), one.title
            # Of few hits the ends are exact, and the interval is a little wide.
            assert 0.944 < np.mean(covered) < 0.97, one.title


@pytest.mark.long
def test_sums_of_rates_are_covered_and_inequality_is_where_samples_are_not_small(
    bench: Any,
) -> None:
    for one in bench("singles").composites(drawn(7), RUNS):
        enough = [point.covered for point in one.points if point.few >= 5]
        if one.method == "MOVER":
            assert min(enough) > bar(RUNS), one.title
        if one.title != "atkinson":
            assert np.mean(enough) == pytest.approx(0.95, abs=0.012), one.title


@pytest.mark.long
def test_averages_over_strata_are_covered(bench: Any) -> None:
    runs = 40
    for one in bench("averages").in_strata(drawn(8), runs):
        assert min(point.covered for point in one.points) > bar(runs, 0.94), one.title


@pytest.mark.long
def test_means_are_covered_where_scores_are_normal(bench: Any) -> None:
    runs = RUNS // 4
    for one in bench("averages").numbers(drawn(9), runs):
        points = [point for point in one.points if "exponential" not in point.setting]
        if one.title == "Cohen's d":
            points = [point for point in points if "equal spread" in point.setting]
        if one.title != "correlation of a score with membership":
            assert min(point.covered for point in points) > bar(runs), one.title


def test_ranks_are_covered_where_both_orders_occur(bench: Any) -> None:
    (one,) = bench("averages").ranks(drawn(10), RUNS)
    enough = [point.covered for point in one.points if point.few >= 10]
    assert min(enough) > bar(RUNS)
    assert np.mean(enough) == pytest.approx(0.955, abs=0.01)


@pytest.mark.parametrize("title", ["equalized odds difference", "least ratio"])
def test_maxima_of_many_small_groups_with_a_tiny_rate(bench: Any, title: str) -> None:
    one, maxima = by_name(bench)[title], bench("maxima")
    rates = np.full(50, 0.01)
    table = one.draw(drawn(11), rates, maxima.sizes_of("20 to 10,000", 50), FEW)
    found = bench("samples").intervals(one.asked, table, one.reference)
    assert found.covered(one.truth(rates)) >= bar(FEW)


def test_epsilon_where_an_outcome_is_not_seen(bench: Any) -> None:
    rates = np.array([0.005, 0.01])
    one = by_name(bench)["ε, 2 outcomes"]
    table = one.draw(drawn(12), rates, [20, 20], FEW)
    found = bench("samples").intervals(one.asked, table, one.reference)
    assert found.covered(one.truth(rates)) >= bar(FEW)


def test_normalized_difference_at_its_kink(bench: Any) -> None:
    samples = bench("samples")
    table = samples.shares(drawn(13), (0.9, 0.1), (10_000, 10_000), RUNS)
    found = samples.intervals(find_metric("normalized_difference"), table, samples.TO_FIRST)
    assert found.covered(0.8) >= bar(RUNS)


def test_cohens_d_of_rates_far_apart(bench: Any) -> None:
    """By the kurtosis of normal values it covers .65 here."""
    samples = bench("samples")
    table = samples.shares(drawn(14), (0.9, 0.1), (1000, 1000), RUNS)
    found = samples.intervals(compared("standardized_difference"), table, samples.TO_FIRST)
    assert found.covered(-0.8 / math.sqrt(0.09 * 2000 / 1998)) >= bar(RUNS)


@pytest.mark.long
@pytest.mark.parametrize("compare", ["gap", "odds_ratio"])
def test_averages_of_matched_pairs(bench: Any, compare: str) -> None:
    """A share of one person is 0 or 1: by the interval of each stratum they cover .76."""
    samples, random, runs = bench("samples"), drawn(15), 2 * FEW
    reference = None if compare == "gap" else samples.TO_FIRST
    terms = MetricOptions(reference, average=Average(Weights.POOLED))
    covered = 0
    for _ in range(runs):
        hits = random.binomial(1, 0.5, (100, 2))
        table = samples.table_of(np.stack([1 - hits, hits], axis=1)[:, None])
        found = find_intervals(evaluate(compared(compare), table, terms))
        low, high = found.at(0, 0 if compare == "gap" else 1) or (1, 0)
        covered += low <= (0 if compare == "gap" else 1) <= high
    assert covered / runs >= bar(runs)


def test_averages_of_formulas_over_few_people_have_no_interval(bench: Any) -> None:
    """F1 of five people in a stratum: by the interval of each stratum it covers .85."""
    samples = bench("samples")
    table = samples.cells(drawn(16), np.full((4, 2), 0.25), (5, 5), 40)
    terms = MetricOptions(samples.TO_FIRST, average=Average(Weights.POOLED))
    found = find_intervals(evaluate(compared("difference", "f1"), table, terms))
    assert found.at(0, 1) is None
    assert found.explain(0, 1) == "none: most of the weight is in strata of fewer than 20 people"
    table = samples.cells(drawn(17), np.full((4, 2), 0.25), (50, 50), 40)
    assert find_intervals(evaluate(compared("difference", "f1"), table, terms)).at(0, 1)


def test_areas_of_few_people_near_1(bench: Any) -> None:
    """By the normal distribution they cover .73 here, and .28 of ten people at .994."""
    samples, values = bench("samples"), np.arange(20)
    weights = np.stack([np.exp(-((values - middle) ** 2) / 18) for middle in (5, 14)])
    chances = (weights / weights.sum(axis=1, keepdims=True)).T
    table = samples.binned(drawn(18), chances, (20, 20), RUNS)
    metric = find_metric("between_group_auc_score")
    found = samples.intervals(metric, table, samples.TO_FIRST)
    truth = float(chances[:, 0] @ (np.cumsum(chances[:, 1]) - chances[:, 1] / 2))
    assert found.covered(truth) >= bar(RUNS)


def compared(by: str, name: str = "selection_rate") -> Any:
    rate, how = find_metric(name), find_comparison(by)
    assert how is not None
    return build_disparity(rate, how)  # type: ignore[arg-type]


@pytest.mark.long
def test_gates_seldom_cry_wolf_and_bare_limits_do(bench: Any) -> None:
    """5 % of 20 specs and three errors are 4; without correction, or by bare limits, more fail."""
    alarms, random = bench("alarms"), drawn(16)
    failed = uncorrected = crossed = 0
    for _ in range(20):
        cube = alarms.cube_of(alarms.LEVELS, alarms.nothing_wrong(random))
        found, tests = alarms.findings(alarms.checks(), cube)
        assert tests > 15
        proven = [one.estimate.significance for one in found if one.estimate is not None]
        failed += any(one.status is Status.FAIL for one in found)
        crossed += any(one.crossed for one in found)
        uncorrected += any(one.p < 0.05 for one in proven if one is not None)
    assert failed <= 4
    assert uncorrected > 2
    assert crossed > 13


@pytest.mark.long
@pytest.mark.parametrize(("p", "q", "n", "m"), [(0.5, 0.6, 300, 300), (0.2, 0.3, 150, 300)])
def test_a_gate_finds_what_a_test_of_that_size_finds(
    bench: Any, p: float, q: float, n: int, m: int
) -> None:
    from statsmodels.stats.power import NormalIndPower  # noqa: PLC0415  # seconds to import
    from statsmodels.stats.proportion import proportion_effectsize  # noqa: PLC0415

    power, alarms = bench("power"), bench("alarms")
    effect = proportion_effectsize(p, q)
    expected = NormalIndPower().power(effect, n, 0.05, ratio=m / n)
    assert power.of_two_rates(p, q, n, m) == pytest.approx(expected, abs=1e-9)
    gate = alarms.gate("demographic_parity_difference", "above 0.0001")
    found = alarms.found_share(drawn(17), gate, (p, q), (n, m), 400)
    assert found == pytest.approx(expected, abs=0.09)


@pytest.mark.long
@pytest.mark.parametrize("side", [0, long(1)])
def test_the_smallest_detectable_gap_is_found_in_four_of_five(bench: Any, side: int) -> None:
    others, n, m = 4, 300, 200
    ends = smallest_detectable(np.array(0.3), np.array(m), np.array(n), 0.05 / others)
    alarms = bench("alarms")
    gate = alarms.gate("statistical_parity_difference", "outside 0.0001", "group0")
    rates = [0.3] * others + [0.3 + float(ends[side])]
    found = alarms.found_share(drawn(18, side), gate, rates, [n] + [m] * others, 400)
    assert found == pytest.approx(0.8, abs=0.08)


@pytest.mark.long
def test_a_search_over_20_000_subgroups_of_a_rare_rate_seldom_finds_one_by_chance(
    bench: Any,
) -> None:
    """By z of every subgroup with 5 expected 16 of 40 searches find one."""
    random, search = drawn(22), bench("alarms").rare_subgroups
    assert sum(search(random, 0.01) for _ in range(40)) <= 6


@pytest.mark.long
@pytest.mark.parametrize("at", [0, long(1), long(2), long(3)])
def test_a_smallest_gap_is_found_by_the_test_in_use_at_the_adjusted_level(
    bench: Any, at: int
) -> None:
    """By χ² of several groups, and by Fisher's test of rare rates at a small level."""
    setting = (*bench("power").SPREADS[:2], *bench("power").RARE[:2])[at]
    for found in bench("power").detected(drawn(21, at), setting, 400):
        assert found.found > 0.77 - 0.05
        if at < 2:
            assert found.found == pytest.approx(0.8, abs=0.08)


@pytest.mark.long
def test_a_gap_in_one_of_several_groups_is_found_as_chi_square_finds_it(bench: Any) -> None:
    power, alarms = bench("power"), bench("alarms")
    rates, sizes = [0.5] * 4 + [0.37], [200] * 5
    gate = alarms.gate("demographic_parity_difference", "above 0.0001")
    found = alarms.found_share(drawn(19), gate, rates, sizes, 400)
    assert found == pytest.approx(power.of_chi_square(rates, sizes), abs=0.09)
    assert alarms.found_share(drawn(20), gate, [0.5] * 5, sizes, 400) < 0.09


@pytest.mark.long
@pytest.mark.parametrize("sizes", [(50, 50), (1000, 100)])
def test_perfect_scores_are_refuted_as_seldom_as_alpha_says(
    bench: Any, sizes: tuple[int, int]
) -> None:
    calibrated, runs = bench("calibrated"), 60
    perfect, wrong = ((1.0, 0.0),) * 2, ((1.0, 0.0), (1.0, 1.5))
    for errors in (perfect, wrong):
        table, truth = calibrated.labelled(drawn(20), sizes, (1.0, 1.0), runs, errors)
        for name in calibrated.METRICS:
            found = calibrated.refuted_by(name, table, truth, "", "")
            if errors is perfect:
                assert found.refuted <= 0.06 + 3 * math.sqrt(0.06 * 0.94 / runs), name
            if not math.isnan(found.covered):
                assert found.covered >= bar(runs), name
            if errors is wrong and name == "calibration_error":
                assert found.refuted > 0.8


@pytest.mark.parametrize("name", ["theil", "generalized_entropy", "coefficient_of_variation"])
@pytest.mark.parametrize("rates", [(0.7, 0.95, 0.4), (0.2, 0.6, 0.1), (0.1, 0.95, 0.4)])
@pytest.mark.parametrize("n", [5, 20, 50])
def test_inequality_is_covered_where_hardly_anybody_is_wronged(
    bench: Any, name: str, rates: tuple[float, float, float], n: int
) -> None:
    """Over all counts. By the delta method Theil's interval covers .06 to .88."""
    base, tpr, fpr = rates
    chances = (base * (1 - tpr), base * tpr + (1 - base) * (1 - fpr), (1 - base) * fpr)
    counts = [(w, n - w - f, f) for w in range(n + 1) for f in range(n + 1 - w)]
    mass = multinomial.pmf(np.array(counts), n, chances)
    wronged, right, favoured = np.array(counts).T
    joint = np.stack([np.stack([right, favoured], 1), np.stack([wronged, 0 * right], 1)], 1)
    metric = find_metric(name)
    found = bench("samples").intervals(metric, bench("samples").table_of(joint[..., None]))
    there = ~np.isnan(found.value[:, 0])
    assert not np.isnan(found.low[there, 0]).any()
    mean = chances[1] + 2 * chances[2]
    parts = [(b / mean, chance) for b, chance in enumerate(chances)]
    half_square = sum(chance * (r * r - 1) for r, chance in parts) / 2
    truth = {
        "theil": sum(chance * r * math.log(r) for r, chance in parts if r),
        "generalized_entropy": half_square,
        "coefficient_of_variation": math.sqrt(2 * half_square),
    }[name]
    inside = (found.low[:, 0] <= truth) & (truth <= found.high[:, 0])
    assert mass[there & inside].sum() / mass[there].sum() >= 0.93


@pytest.mark.long
def test_inequality_of_people_of_unequal_weight_is_covered() -> None:
    """Every group is a sample; people with a benefit of 2 weigh five times as much as others.

    If both shares of which the entropy is made were independent, .92 would be covered.
    """
    shares, weights, people = np.array([0.25, 0.4, 0.35]), np.array([1, 1, 5]), 400
    chances = shares / weights / (shares / weights).sum()
    drawn_counts = drawn(21).multinomial(people, chances, 1500)
    rows = [
        (f"g{group}", label, decision, int(weight))
        for group, counts in enumerate(drawn_counts)
        for (label, decision), weight, count in zip(
            ((1, 0), (1, 1), (0, 1)), weights, counts, strict=True
        )
        for _ in range(count)
    ]
    yes_no = {"positive": 1, "negative": 0}
    columns = {
        "protected": ["g"],
        "label": {"column": "y", **yes_no},
        "prediction": {"column": "p", **yes_no},
        "weight": "w",
    }
    spec = {"columns": columns, "metrics": ["generalized_entropy"]}
    found = fairaudit.audit(spec, pl.DataFrame(rows, ["g", "y", "p", "w"], orient="row")).rates
    mean = shares[1] + 2 * shares[2]
    truth = ((shares[1] + 4 * shares[2]) / mean**2 - 1) / 2
    inside = [row.estimate.low <= truth <= row.estimate.high for row in found if row.group]
    assert np.mean(inside) > 0.928
