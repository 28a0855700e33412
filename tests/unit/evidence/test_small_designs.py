"""Intervals of groups of a few people, exactly: every table there can be, with its chance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial

from fairaudit.base.frozen import replace
from fairaudit.cube.group_table import ClusteredTable, Clusters
from fairaudit.cube.histogram import Bins, Histogram
from fairaudit.evidence.value_intervals import find_intervals
from fairaudit.evidence.value_tests import run_tests
from fairaudit.metrics import evaluate
from fairaudit.metrics.terms import (
    Average,
    MetricOptions,
    Parameters,
    Reference,
    ReferencePolicy,
    Weights,
)

REST, OVERALL, HIGHEST, LOWEST = (
    Reference(policy)
    for policy in (
        ReferencePolicy.REST,
        ReferencePolicy.OVERALL,
        ReferencePolicy.HIGHEST,
        ReferencePolicy.LOWEST,
    )
)


def coverage(low: Any, high: Any, truth: Any, chance: Any) -> float:
    """How often all intervals that there are have the truth, among samples with any."""
    there = ~np.isnan(low)
    missed = there & ((low > np.asarray(truth) + 1e-9) | (high < np.asarray(truth) - 1e-9))
    known = there.any(axis=1)
    return float(chance[known & ~missed.any(axis=1)].sum() / chance[known].sum())


def every_table(bench: Any, sizes: tuple[int, ...], rates: tuple[float, ...]) -> tuple[Any, Any]:
    """The tables of all numbers of selected people, and their chances."""
    axes = np.meshgrid(*(np.arange(n + 1) for n in sizes), indexing="ij")
    hits = np.stack(axes, axis=-1).reshape(-1, len(sizes))
    joint = np.stack([np.array(sizes) - hits, hits], axis=1)[:, None]
    return bench("samples").table_of(joint), binom.pmf(hits, sizes, rates).prod(axis=1)


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [
        ((1, 1), (0.3, 0.7)),
        ((3, 3), (0.9, 0.1)),
        ((4, 5), (0.93, 0.07)),
        pytest.param((20, 20), (0.9845, 0.0155), marks=pytest.mark.long),
    ],
)
def test_two_groups_of_which_almost_all_and_almost_nobody_is_selected(
    bench: Any, sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    """MOVER of both shares covers .91 to .927 of these."""
    table, chance = every_table(bench, sizes, rates)
    samples, how = bench("samples"), bench("singles").how
    (n, m), (p, q) = sizes, rates
    apart, highest, lowest = p - q, max(rates), min(rates)
    for by, reference, truth in (
        ("difference", REST, [apart, -apart]),
        ("difference", OVERALL, [apart * m / (n + m), -apart * n / (n + m)]),
        ("difference", HIGHEST, [p - highest, q - highest]),
        ("difference", LOWEST, [p - lowest, q - lowest]),
        ("gap", None, [abs(apart)]),
    ):
        found = samples.intervals(how("selection_rate", by), table, reference)
        assert coverage(found.low, found.high, truth, chance) >= 0.93, (by, reference)
    everybody = (n * p + m * q) / (n + m)
    phi = apart * np.sqrt(n * m / (everybody * (1 - everybody))) / (n + m)
    found = samples.intervals(bench("singles").measure("correlation"), table, REST)
    if n + m < 9:
        assert np.isnan(found.low).all()
    else:
        assert coverage(found.low, found.high, [phi, -phi], chance) >= 0.93


@pytest.mark.long
@pytest.mark.parametrize(
    ("sizes", "rates"),
    [((5, 5, 5), (0.94, 0.05, 0.05)), ((3, 3, 3, 3), (0.9, 0.08, 0.08, 0.08))],
)
def test_several_groups_against_the_highest(
    bench: Any, sizes: tuple[int, ...], rates: tuple[float, ...]
) -> None:
    """All intervals of a table hold together; MOVER of both shares covers .89 and less."""
    table, chance = every_table(bench, sizes, rates)
    asked = bench("singles").how("selection_rate", "difference")
    found = bench("samples").intervals(asked, table, HIGHEST)
    truth = np.array(rates) - max(rates)
    assert coverage(found.low, found.high, truth, chance) >= 0.93


@pytest.mark.parametrize("n", [3, 8, 30])
def test_balanced_accuracy_of_almost_perfect_predictions(bench: Any, n: int) -> None:
    """MOVER's sum of both shares covers .92 of them."""
    missed, false = (axis.ravel() for axis in np.mgrid[: n + 1, : n + 1])
    cells = np.stack([np.stack([n - false, false]), np.stack([missed, n - missed])])
    table = bench("samples").table_of(np.moveaxis(cells, -1, 0)[..., None])
    error = 0.31 / n
    chance = binom.pmf(missed, n, error) * binom.pmf(false, n, error)
    found = bench("samples").intervals(bench("singles").quantity("balanced_accuracy"), table)
    assert coverage(found.low, found.high, [1 - error], chance) >= 0.93


@pytest.mark.parametrize("wronged", [0.97, 0.999])
@pytest.mark.parametrize("n", [1, 6, 8])
def test_inequality_of_a_few_people_of_whom_hardly_one_has_a_benefit(
    bench: Any, n: int, wronged: float
) -> None:
    """Only a sample with a benefit has a value: intervals of all samples cover .90 and less."""
    counts = np.array([(w, r, n - w - r) for w in range(n + 1) for r in range(n - w + 1)])
    cells = np.zeros((len(counts), 2, 2, 1), dtype=np.int64)
    cells[:, 1, 0, 0], cells[:, 0, 0, 0], cells[:, 0, 1, 0] = counts.T
    table = bench("samples").table_of(cells)
    shares = np.array([wronged, (1 - wronged) * 0.7, (1 - wronged) * 0.3])
    chance = multinomial.pmf(counts, n, shares)
    mean = shares @ [0, 1, 2]
    half_square = (shares @ [0, 1, 4] / mean**2 - 1) / 2
    theil = shares[1] / mean * np.log(1 / mean) + 2 * shares[2] / mean * np.log(2 / mean)
    for name, truth in (
        ("generalized_entropy", half_square),
        ("coefficient_of_variation", np.sqrt(2 * half_square)),
        ("theil", theil),
    ):
        found = bench("samples").intervals(bench("singles").quantity(name), table)
        assert coverage(found.low, found.high, [truth], chance) >= 0.93, name
        # Of one person with a benefit nobody knows how rare it is.
        single = (counts[:, 1] + counts[:, 2] == 1)[:, None]
        assert np.isposinf(found.high[single]).all()


def odds_table(bench: Any, n: int, rates: tuple[float, ...]) -> tuple[Any, Any]:
    """The tables of two groups of n people of each label, and their chances.

    The rates are the false positive rates of both groups, then their true positive rates.
    """
    hits = np.array(list(product(range(n + 1), repeat=4)))
    selected = hits.reshape(-1, 2, 2)
    joint = np.stack([n - selected, selected], axis=2)
    return bench("samples").table_of(joint), binom.pmf(hits, n, rates).prod(axis=1)


@pytest.mark.parametrize(
    ("n", "rates"),
    [(3, (0.95, 0.05, 0.95, 0.05)), (3, (0.05, 0.95, 0.05, 0.95)), (4, (0.02, 0.94, 0.06, 0.94))],
)
def test_average_odds_of_rates_near_1_and_near_0(
    bench: Any, n: int, rates: tuple[float, ...]
) -> None:
    """MOVER of both differences covers .927 of the first two; swapped, all are negated."""
    table, chance = odds_table(bench, n, rates)
    asked, samples = bench("singles").measure("average_odds_difference"), bench("samples")
    truth = (rates[0] - rates[1] + rates[2] - rates[3]) / 2
    found = samples.intervals(asked, table, REST)
    assert coverage(found.low, found.high, [truth, -truth], chance) >= 0.93
    assert found.low[:, 0] == pytest.approx(-found.high[:, 1], nan_ok=True)


@pytest.mark.parametrize(
    ("n", "rates"),
    [
        (1, (0.9, 0.5, 0.8, 0.7)),
        pytest.param(3, (0.3, 0.3, 0.3, 0.3), marks=pytest.mark.long),
    ],
)
def test_average_odds_to_an_extreme_group_of_both_rates(
    bench: Any, n: int, rates: tuple[float, ...]
) -> None:
    """Intervals of both parts end at parity: MOVER of them excludes that of equal groups."""
    for reference, pick, of in ((HIGHEST, max, rates), (LOWEST, min, [1 - p for p in rates])):
        table, chance = odds_table(bench, n, tuple(of))
        extremes = np.repeat([pick(of[:2]), pick(of[2:])], 2)
        truth = (np.array(of) - extremes).reshape(2, 2).mean(axis=0)
        asked = bench("singles").measure("average_odds_difference")
        found = bench("samples").intervals(asked, table, reference)
        assert coverage(found.low, found.high, truth, chance) >= 0.93


@pytest.mark.parametrize("rates", [(0.05, 0.8, 0.3, 0.98), (0.02, 0.8, 0.1, 0.9)])
def test_average_odds_to_everybody(bench: Any, rates: tuple[float, ...]) -> None:
    """One person with each label in either group: MOVER alone covers .925 of the first."""
    table, chance = odds_table(bench, 1, rates)
    truth = (rates[0] - rates[1] + rates[2] - rates[3]) / 4
    asked, samples = bench("singles").measure("average_odds_difference"), bench("samples")
    found = samples.intervals(asked, table, OVERALL)
    assert coverage(found.low, found.high, [truth, -truth], chance) >= 0.93


@pytest.mark.parametrize("errors", [(0.05, 0.05, 0.05, 0.05), (0.06, 0.06, 0.06, 0.03)])
def test_difference_of_balanced_accuracies_near_1_and_0(
    bench: Any, errors: tuple[float, ...]
) -> None:
    """The first group is almost always right, and the second almost always wrong."""
    false, other_false, true, other_true = errors
    table, chance = odds_table(bench, 3, (false, 1 - other_false, 1 - true, other_true))
    asked, samples = bench("singles").how("balanced_accuracy", "difference"), bench("samples")
    truth = 1 - sum(errors) / 2
    found = samples.intervals(asked, table, REST)
    assert coverage(found.low, found.high, [truth, -truth], chance) >= 0.93


def level_of(count: int) -> float:
    """The level at which so many intervals hold together in .95."""
    return float(1 - 0.95 ** (1 / count))


@pytest.mark.parametrize(("count", "people", "rate"), [(10, 1000, 0.0061), (50, 300, 0.018)])
def test_rates_of_several_groups_at_a_check(
    bench: Any, count: int, people: int, rate: float
) -> None:
    """Score bounds of 13 hits are too close far in the tail: they cover .89 and .83 together."""
    hits = np.arange(60)
    joint = np.stack([people - hits, hits], axis=1)[:, None, :, None]
    asked = bench("singles").quantity("selection_rate")
    evaluation = evaluate(asked, bench("samples").table_of(joint), MetricOptions())
    found = find_intervals(evaluation, level_of(count))
    one = coverage(found.low, found.high, [rate], binom.pmf(hits, people, rate))
    assert one**count >= 0.93


def coverage_together(
    bench: Any, by: str, count: int, sizes: tuple[int, int], rates: tuple[float, float]
) -> float:
    """How often all intervals of so many groups of one rate to one reference hold, exactly.

    Given the people of the reference, groups are independent. Rows are hits of the reference.
    """
    (m, n), (q, p) = sizes, rates
    reference, own = np.mgrid[: m + 1, : n + 1].reshape(2, -1)
    hits = np.stack([reference, own], axis=1)
    joint = np.stack([np.array(sizes) - hits, hits], axis=1)[:, None]
    asked, table = bench("singles").how("selection_rate", by), bench("samples").table_of(joint)
    found = find_intervals(
        evaluate(asked, table, MetricOptions(bench("samples").TO_FIRST)), level_of(count)
    )
    truth = {"difference": p - q, "ratio": p / q, "odds_ratio": p * (1 - q) / ((1 - p) * q)}[by]
    low, high = (end[:, 1].reshape(m + 1, n + 1) for end in (found.low, found.high))
    missed = (low > truth + 1e-9) | (high < truth - 1e-9)
    chance, first = binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q)
    none = np.isnan(low) @ chance
    all_hold = (1 - missed @ chance) ** count - none**count
    return float(first @ all_hold / (first @ (1 - none**count)))


@pytest.mark.parametrize(
    ("by", "count", "sizes", "rates"),
    [
        ("difference", 50, (600, 20), (0.005, 0.001)),
        ("difference", 100, (60, 600), (0.2 / 60, 0.02)),
        ("difference", 500, (60, 5), (0.5 / 60, 0.99)),
        ("ratio", 10, (600, 20), (0.9667, 0.995)),
        ("ratio", 50, (200, 200), (0.9, 0.04)),
        ("ratio", 100, (600, 20), (0.99, 0.999)),
        ("odds_ratio", 100, (200, 200), (0.5, 0.04)),
    ],
)
def test_many_groups_and_one_reference(
    bench: Any, by: str, count: int, sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    """A hit on one side, and one of many groups far off: MOVER and Koopman cover .83 to .92."""
    assert coverage_together(bench, by, count, sizes, rates) >= 0.93


@pytest.mark.parametrize(
    ("count", "sizes", "errors"),
    [(10, (60, 600), (0.1, 3.0)), (10, (600, 60), (12.0, 0.2)), (50, (60, 600), (0.05, 5.0))],
)
def test_differences_of_several_groups_to_a_reference_at_the_opposite_end(
    bench: Any, count: int, sizes: tuple[int, int], errors: tuple[float, float]
) -> None:
    """Given the people of the reference, groups are independent: before, .88, .87 and .77."""
    (m, n), (missed, wrong) = sizes, errors
    reference, own = np.mgrid[:40, :40].reshape(2, -1)
    hits = np.stack([m - reference, own], axis=1)
    joint = np.stack([np.array(sizes) - hits, hits], axis=1)[:, None]
    asked, table = bench("singles").how("selection_rate", "difference"), bench("samples").table_of
    evaluation = evaluate(asked, table(joint), MetricOptions(bench("samples").TO_FIRST))
    found = find_intervals(evaluation, level_of(count))
    truth = wrong / n - (1 - missed / m)
    inside = (found.low[:, 1] <= truth + 1e-9) & (found.high[:, 1] >= truth - 1e-9)
    each = inside.reshape(40, 40) @ binom.pmf(range(40), n, wrong / n)
    assert binom.pmf(range(40), m, missed / m) @ each**count >= 0.93


def partitions(total: int, most: int) -> Iterator[tuple[int, ...]]:
    """The ways to write a number as a sum of numbers up to another, in falling order."""
    if total == 0:
        yield ()
    for first in range(min(total, most), 0, -1):
        yield from ((first, *rest) for rest in partitions(total - first, first))


@pytest.mark.parametrize(("strata", "rate"), [(10, 0.0017), (50, 0.0003), (30, 0.0028)])
def test_a_rare_rate_averaged_over_strata(bench: Any, strata: int, rate: float) -> None:
    """20 people in each of them: MOVER of all strata covers .91 of the last, of 50 at .005 .87."""
    ways = [hits for total in range(10) for hits in partitions(total, 20) if len(hits) <= strata]
    hits = np.array([(*some, *[0] * (strata - len(some))) for some in ways]).T
    orders = [math.factorial(strata) / math.prod(map(math.factorial, Counter(one).values()))
              for one in hits.T.tolist()]  # fmt: skip
    chance = np.array(orders) * binom.pmf(hits, 20, rate).prod(axis=0)
    table = bench("samples").table_of(np.stack([20 - hits, hits], axis=1)[:, None])
    asked = bench("singles").quantity("selection_rate")
    terms = MetricOptions(average=Average(Weights.UNIFORM))
    found = find_intervals(evaluate(asked, table, terms))
    low, high = found.low.T, found.high.T
    assert coverage(low, high, [rate], chance) >= 0.93
    none, one = hits.sum(axis=0) == 0, hits.sum(axis=0) == 1
    assert high[none] == pytest.approx(1 - 0.025 ** (1 / (20 * strata)))
    assert low[one] == pytest.approx(1 - 0.975 ** (1 / (20 * strata)))


def test_ratio_of_averages_of_which_heavy_strata_have_few_people(bench: Any) -> None:
    """Strata of weight 1 to 100, heavy ones of 8 people: Greenland and Robins cover .78 of them.

    Hits are worth less where few of them weigh most: no hit of a heavy stratum may be seen.
    """
    strata, draws, small, rate = 30, 150, 8, 0.02
    weights = np.geomspace(1, 100, strata)
    heavy = weights > np.median(weights)
    sizes = np.stack([np.where(heavy, small, 200), np.where(heavy, 200, small)], axis=1)
    random = np.random.default_rng(42)
    asked = bench("singles").how("selection_rate", "ratio")
    levels = {f"{at:03}": Decimal(str(weight)) for at, weight in enumerate(weights.tolist())}
    missed = 0
    for _ in range(draws):
        hits = random.binomial(sizes, rate)
        table = bench("samples").table_of(np.stack([sizes - hits, hits], axis=1)[:, None])
        terms = MetricOptions(bench("samples").TO_FIRST, average=Average(Weights.LEVELS, levels))
        ends = find_intervals(evaluate(asked, table, terms)).at(0, 1)
        missed += ends is not None and not ends[0] <= 1 <= ends[1]
    assert missed / draws < 0.1


@pytest.mark.parametrize(
    ("name", "sizes", "chances"),
    [
        ("f1", np.full(40, 50), (0.5, 0.01, 0.02, 0.47)),
        ("f1", np.geomspace(13, 670, 50), (0.2, 0.1, 0.14, 0.56)),
        ("balanced_accuracy", np.full(10, 50), (0.5, 0.01, 0.02, 0.47)),
        ("expected_utility", np.geomspace(8, 400, 50), (0.95, 0.002, 0.018, 0.03)),
        ("expected_utility", np.full(14, 12), (0.95, 0.002, 0.018, 0.03)),
        ("generalized_entropy", np.full(20, 100), (0.02, 0.01, 0.3, 0.67)),
        ("theil", np.full(10, 50), (0.5, 0.01, 0.02, 0.47)),
        ("coefficient_of_variation", np.full(50, 300), (0.1, 0.002, 0.002, 0.896)),
        ("error_type_ratio", np.full(20, 200), (0.4, 0.1, 0.1, 0.4)),
    ],
)
def test_averages_over_many_strata_of_measures_that_are_no_shares(
    bench: Any, name: str, sizes: Any, chances: tuple[float, ...]
) -> None:
    """Each group is a sample; the chances are those of tp, fp, fn and tn.

    MOVER of the strata covers .79 to .926: errors are rare, and F1 is too low in small strata.
    """
    samples, random = 1000, np.random.default_rng(42)
    cells = [random.multinomial(n, chances, samples) for n in np.rint(sizes).astype(int).tolist()]
    tp, fp, fn, tn = np.moveaxis(np.array(cells), -1, 0)
    joint = np.stack([np.stack([tn, fp], axis=1), np.stack([fn, tp], axis=1)], axis=1)
    worth = {"tp": "1", "fp": "-5", "fn": "-0.5", "tn": "0.1"}
    utilities = tuple((cell, Decimal(value)) for cell, value in worth.items())
    terms = MetricOptions(
        average=Average(Weights.UNIFORM), parameters=Parameters(utilities=utilities)
    )
    asked, table = bench("singles").quantity(name), bench("samples").table_of(joint)
    found = find_intervals(evaluate(asked, table, terms))
    low, high = found.low.T, found.high.T
    assert (~np.isnan(low)).mean() > 0.5
    truth = TRUE_VALUES[name](*chances)
    assert coverage(low, high, [truth], np.ones(samples)) >= 0.93


def mean_of(tp: float, fp: float, _fn: float, tn: float) -> float:
    """The mean benefit."""
    return tp + tn + 2 * fp


def half_square_of(tp: float, fp: float, fn: float, tn: float) -> float:
    """The generalized entropy of the benefits, with an order of 2."""
    return ((tp + tn + 4 * fp) / mean_of(tp, fp, fn, tn) ** 2 - 1) / 2


TRUE_VALUES: dict[str, Callable[..., float]] = {
    "f1": lambda tp, fp, fn, _: 2 * tp / (2 * tp + fp + fn),
    "balanced_accuracy": lambda tp, fp, fn, tn: (tp / (tp + fn) + tn / (tn + fp)) / 2,
    "expected_utility": lambda tp, fp, fn, tn: tp - 5 * fp - 0.5 * fn + 0.1 * tn,
    "error_type_ratio": lambda _tp, fp, fn, _tn: fn / fp,
    "generalized_entropy": half_square_of,
    "coefficient_of_variation": lambda *of: math.sqrt(2 * half_square_of(*of)),
    "theil": lambda *of: (
        ((of[0] + of[3]) * math.log(1 / mean_of(*of)) + 2 * of[1] * math.log(2 / mean_of(*of)))
        / mean_of(*of)
    ),
}
"""The values of measures from the chances of tp, fp, fn and tn: benefits of 1, 2, 0 and 1."""


@pytest.mark.parametrize("name", ["expected_utility", "mean_residual"])
def test_comparisons_of_averaged_means_of_cells_have_tests(bench: Any, name: str) -> None:
    """Means of cells have no test by Student in each stratum: the audit stopped with an error."""
    cells = np.random.default_rng(1).multinomial(60, [0.3, 0.1, 0.15, 0.45], (4, 2))
    tp, fp, fn, tn = np.moveaxis(cells, -1, 0)
    joint = np.stack([np.stack([tn, fp], axis=1), np.stack([fn, tp], axis=1)], axis=1)
    utilities = (("tp", Decimal(1)), ("fp", Decimal(-5)))
    terms = MetricOptions(
        average=Average(Weights.UNIFORM), parameters=Parameters(utilities=utilities)
    )
    evaluation = evaluate(
        bench("singles").how(name, "gap"), bench("samples").table_of(joint), terms
    )
    ends, p = find_intervals(evaluation).at(0, 0), run_tests(evaluation).p[0, 0]
    assert ends is not None
    assert (ends[0] > 0) == (p < 0.05)


def test_average_of_calibration_slopes_over_strata(bench: Any) -> None:
    """The slope of 40 people is too high, in every stratum: .72 of these averages were covered."""
    people, strata, samples = 40, 20, 20
    random, true = np.random.default_rng(42), ((1.0, 0.0),) * samples
    table, _ = bench("calibrated").labelled(random, (people,) * samples, (1, 1), strata, true)
    terms = MetricOptions(average=Average(Weights.UNIFORM))
    found = find_intervals(evaluate(bench("singles").quantity("calibration_slope"), table, terms))
    assert not np.isnan(found.low).any()
    assert coverage(found.low.T, found.high.T, [1], np.ones(samples)) >= 0.93


def test_average_of_demographic_disparity_of_few_selected_people(bench: Any) -> None:
    """Two of 110 people of a stratum are selected: MOVER of 30 strata covers .91 of samples."""
    random, sizes = np.random.default_rng(42), np.array([10, 100])
    asked, covered = bench("singles").quantity("demographic_disparity"), []
    for _ in range(40):
        hits = random.binomial(sizes, 0.02, (30, 2))
        table = bench("samples").table_of(np.stack([sizes - hits, hits], axis=1)[:, None])
        terms = MetricOptions(average=Average(Weights.UNIFORM))
        low, high = find_intervals(evaluate(asked, table, terms)).at(0, 0) or (math.nan, math.nan)
        covered.append(low <= 0 <= high)
    assert np.mean(covered) >= 0.93


def ranked_table(bench: Any, people: int, wrong: Any) -> Any:
    """Groups of so many positives and negatives; some positives score lowest, the others highest.

    `wrong` [tables, groups] is the number of positives that score below all negatives.
    """
    samples, (count, groups) = bench("samples"), wrong.shape
    bins = np.zeros((count, 3, groups, 3), dtype=np.int64)
    bins[:, 0, :, 1], bins[:, 1, :, 0], bins[:, 1, :, 2] = people, wrong, people - wrong
    scores, nothing = np.array([0.1, 0.5, 0.9]), np.zeros((count, groups))
    histogram = Histogram(
        by=("group",), given=("run",), groups=samples.names("group", groups),
        strata=samples.names("run", count), known=np.ones(groups, dtype=np.bool_), people=bins,
        everybody=bins.sum(axis=(0, 1, 2)), bins=Bins(np.arange(3), scores, scores), low=nothing,
        high=nothing, moments=None,
    )  # fmt: skip
    return samples.table_of(bins.sum(axis=3)[:, :2, None], None, histogram)


@pytest.mark.parametrize("people", [5, 10, 50])
@pytest.mark.parametrize("wrong", [0.004, 0.02, 0.05, 0.1])
def test_area_under_the_curve_of_scores_that_are_almost_always_right(
    bench: Any, people: int, wrong: float
) -> None:
    """An area of 1 had no interval, and those that had one all missed: it covered 0 to .90."""
    hits = np.arange(people + 1)
    table = ranked_table(bench, people, hits[:, None])
    found = bench("samples").intervals(bench("singles").quantity("auc"), table)
    assert coverage(found.low, found.high, [1 - wrong], binom.pmf(hits, people, wrong)) >= 0.93
    # As of one share of people: none wrong of so many.
    assert found.low[0, 0] == pytest.approx(0.025 ** (1 / people))


@pytest.mark.parametrize(("wrong", "other"), [(0.02, 0.5), (0.02, 0.02), (0.1, 0.3)])
def test_difference_of_two_areas_under_the_curve(bench: Any, wrong: float, other: float) -> None:
    """Of an area of 1 next to one of ½ there was neither an interval nor a test."""
    people = 10
    counts = np.mgrid[: people + 1, : people + 1].reshape(2, -1).T
    table = ranked_table(bench, people, counts)
    asked, to_first = bench("singles").how("auc", "difference"), bench("samples").TO_FIRST
    evaluation = evaluate(asked, table, MetricOptions(to_first))
    found, p = find_intervals(evaluation), run_tests(evaluation).p[:, 1]
    chance = binom.pmf(counts, people, (wrong, other)).prod(axis=1)
    low, high = found.low[:, 1:], found.high[:, 1:]
    assert coverage(low, high, [wrong - other], chance) >= 0.93
    assert not np.isnan(low).any()
    assert p[(counts == (0, 5)).all(axis=1)][0] < 0.05
    if wrong == other:
        assert chance[p < 0.05].sum() <= 0.06


def weighted_table(bench: Any, sizes: tuple[int, int], hits: Any, weight: int) -> Any:
    """Tables [tables, groups] of people who weigh 1, and of hits of this weight."""
    people = np.stack([np.array(sizes) - hits, hits], axis=1)[:, None]
    of_outcome = np.array([1, weight])[None, None, :, None]
    pad = ((0, 0), (0, 0), (0, 1), (0, 0))
    mass, squares = (np.pad(people * of_outcome**power, pad) for power in (1, 2))
    table = bench("samples").table_of(people)
    return replace(table, mass=mass, squares=squares.astype(np.float64))


@pytest.mark.parametrize(("weight", "rate"), [(5, 0.02), (20, 0.02), (20, 0.1)])
def test_rates_whose_rare_outcome_weighs_most(bench: Any, weight: int, rate: float) -> None:
    """Without a hit nobody knows what hits weigh: the intervals of both groups covered .34 to .80.

    Rounding made a hit of .02 effective hits, and p was below .05 in a quarter of samples.
    """
    sizes = (100, 300)
    hits = np.mgrid[:12, :20].reshape(2, -1).T
    sampled = rate / (rate + (1 - rate) * weight)
    chance = binom.pmf(hits, sizes, sampled).prod(axis=1)
    table = weighted_table(bench, sizes, hits, weight)
    found = find_intervals(
        evaluate(bench("singles").quantity("selection_rate"), table, MetricOptions())
    )
    for g in (0, 1):
        low, high = found.low[:, g : g + 1], found.high[:, g : g + 1]
        assert coverage(low, high, [rate], chance) >= 0.93
    assert np.isnan(found.low[0]).all()
    assert "the weight of the other outcome is unknown" in found.explain(0, 0)
    gap = evaluate(bench("singles").how("selection_rate", "gap"), table, MetricOptions())
    p = run_tests(gap).p[:, 0]
    assert chance[p < 0.05].sum() <= 0.06
    assert find_intervals(gap).at(0, 0) is None


@pytest.mark.parametrize(
    ("sizes", "rates"),
    [((300, 100), (0.02, 0.02)), ((500, 60), (0.05, 0.05)), ((100, 20), (0.02, 0.12))],
)
def test_regression_slope_of_a_rare_outcome(
    bench: Any, sizes: tuple[int, int], rates: tuple[float, float]
) -> None:
    """The smaller group has two or three hits, whose t is skewed: HC2 alone covers .90 to .93."""
    asked, to_first = bench("singles").measure("regression_slope"), bench("samples").TO_FIRST
    covered = known = alarms = 0.0
    most = (int(binom.isf(1e-4, n, p)) for n, p in zip(sizes, rates, strict=True))
    for hits in product(*(range(number + 1) for number in most)):
        counts = np.stack([np.array(sizes) - hits, hits])[None, None]
        evaluation = evaluate(asked, bench("samples").table_of(counts), MetricOptions(to_first))
        ends, chance = find_intervals(evaluation).at(0, 1), binom.pmf(hits, sizes, rates).prod()
        if ends is not None:
            known += chance
            covered += chance * (ends[0] <= rates[1] - rates[0] <= ends[1])
            alarms += chance * (run_tests(evaluation).p[0, 1] < 0.05)
    assert covered / known >= 0.93
    assert rates[0] != rates[1] or alarms <= 0.06


@pytest.mark.parametrize(
    ("people", "chances"),
    [(20, (0.02, 0.05, 0.02, 0.91)), (30, (0.5, 0.01, 0.02, 0.47)), (30, (0.02, 0.01, 0.3, 0.67))],
)
@pytest.mark.parametrize("name", ["expected_utility", "mean_residual"])
def test_a_mean_that_a_rare_cell_decides(
    bench: Any, name: str, people: int, chances: tuple[float, ...]
) -> None:
    """Of tp, fp, fn and tn. Without a false positive t misses: it covers .76 of the first."""
    axes = np.mgrid[(slice(people + 1),) * 3].reshape(3, -1)
    tp, fp, fn = axes[:, axes.sum(axis=0) <= people]
    tn = people - tp - fp - fn
    chance = multinomial.pmf(np.stack([tp, fp, fn, tn], axis=-1), people, chances)
    counts = np.stack([np.stack([tn, fp], axis=1), np.stack([fn, tp], axis=1)], axis=1)
    utilities = {"tp": 1, "fp": -5, "fn": -0.5, "tn": 0.1}
    if name == "mean_residual":
        utilities = {"tp": 0, "fp": -1, "fn": 1, "tn": 0}
    parameters = Parameters(utilities=tuple((c, Decimal(str(u))) for c, u in utilities.items()))
    asked = bench("singles").quantity(name)
    table = bench("samples").table_of(counts[..., None])
    found = find_intervals(evaluate(asked, table, MetricOptions(parameters=parameters)))
    truth = float(np.dot(chances, [*utilities.values()]))
    assert coverage(found.low, found.high, [truth], chance) >= 0.93
    assert not np.isnan(found.low).any()


@pytest.mark.long
def test_equal_means_of_which_a_rare_cell_weighs_most(bench: Any) -> None:
    """150 people, of whom 1.4 errors are expected and weigh 20 each: Welch finds .2 different."""
    random, draws, weight = np.random.default_rng(8), 400, (20, 20, 1, 1)
    drawn = np.array([1 / w for w in weight]) * (0.4, 0.1, 0.1, 0.4)  # tn, fn, fp and tp
    cells = np.stack([random.multinomial(n, drawn / drawn.sum(), draws) for n in (1000, 150)], -1)
    sums = [cells * np.array(weight)[:, None] ** power for power in range(3)]
    people, mass, squares = (
        np.stack([np.stack([one[:, 0], one[:, 2]], 1), np.stack([one[:, 1], one[:, 3]], 1)], 1)
        for one in sums
    )
    table, around = bench("samples").table_of(people), ((0, 0), (0, 1), (0, 1), (0, 0))
    table = replace(
        table, mass=np.pad(mass, around), squares=np.pad(squares, around).astype(np.float64)
    )
    asked = bench("singles").how("mean_residual", "gap")
    evaluation = evaluate(asked, table, MetricOptions())
    assert (run_tests(evaluation).p < 0.05).mean() <= 0.06 + 2 * math.sqrt(0.06 * 0.94 / draws)


@pytest.mark.parametrize(("people", "wrong"), [(60, 0.1)])
def test_f1_of_which_false_negatives_are_rare_and_heavy(
    bench: Any, people: int, wrong: float
) -> None:
    """A false negative weighs 20, a false positive 1: .71 were covered.

    Most samples have no false negative. The other group shows how much one weighs.
    """
    rates = np.array([0.8 - 2 * wrong, wrong, wrong])  # of tp, fp and fn
    drawn = rates * (1, 1, 1 / 20)
    fp, fn = np.mgrid[:50, :12].reshape(2, -1)
    tp = people - fp - fn
    chance = multinomial.pmf(np.stack([tp, fp, fn], axis=-1), people, drawn / drawn.sum())
    sides = (tp, fp, fn, np.full_like(tp, 9)), (800, 200, 10, 40)
    first, other = (np.broadcast_to(np.stack(side, -1), (len(tp), 4)) for side in sides)
    cells = np.stack([first, other], axis=-1)[:, [3, 1, 2, 0]].reshape(-1, 2, 2, 2)
    table, around = bench("samples").table_of(cells), ((0, 0), (0, 1), (0, 1), (0, 0))
    mass, squares = (
        np.pad(cells * np.array([[20, 1], [20, 1]])[..., None] ** power, around) for power in (1, 2)
    )
    table = replace(table, mass=mass, squares=squares.astype(np.float64))
    found = find_intervals(evaluate(bench("singles").quantity("f1"), table, MetricOptions()))
    truth = 2 * rates[0] / (2 * rates[0] + rates[1] + rates[2])
    assert coverage(found.low[:, :1], found.high[:, :1], [truth], chance) >= 0.93


def test_f1_without_errors_has_no_interval_if_errors_may_weigh_more(bench: Any) -> None:
    """In no group is anybody wrong, so nobody knows what they would weigh."""
    cells = np.array([[40, 0], [0, 60]])[None, :, :, None]
    table = bench("samples").table_of(cells)
    table = replace(table, squares=table.people.astype(np.float64))
    found = find_intervals(evaluate(bench("singles").quantity("f1"), table, MetricOptions()))
    assert found.at(0, 0) is None
    assert "the weight of the other outcome is unknown" in found.explain(0, 0)


def test_average_over_strata_of_which_most_have_nobody_of_the_heavy_outcome(bench: Any) -> None:
    """Hits weigh 5. A stratum of 3 without a hit took their weight for 1: .77 were covered."""
    strata, people, weight, rate = 5, 3, 5, 0.3
    sampled = rate / (rate + (1 - rate) * weight)
    levels = Average(Weights.LEVELS, {f"{at:03}": Decimal(1 + 9 * (at > 0)) for at in range(6)})
    asked, covered, total = bench("singles").quantity("selection_rate"), 0.0, 0.0
    for hits in combinations_with_replacement(range(people + 1), strata):
        orders = math.factorial(strata) / math.prod(map(math.factorial, Counter(hits).values()))
        chance = orders * float(binom.pmf(hits, people, sampled).prod())
        # The first stratum has enough people to show what a hit weighs.
        table = weighted_strata(bench, (300, *[people] * strata), (24, *hits), weight)
        ends = find_intervals(evaluate(asked, table, MetricOptions(average=levels))).at(0, 0)
        assert ends is not None
        truth = (24 * weight / (276 + 24 * weight) + 10 * strata * rate) / (1 + 10 * strata)
        covered, total = covered + chance * (ends[0] <= truth <= ends[1]), total + chance
    assert total == pytest.approx(1)
    assert covered >= 0.93


def weighted_strata(bench: Any, sizes: tuple[int, ...], hits: tuple[int, ...], weight: int) -> Any:
    """A table of one group in strata, in which a hit has this weight and others weigh 1."""
    table = bench("samples").table_of(
        np.stack([np.subtract(sizes, hits), hits], 1)[:, None, :, None]
    )
    of_outcome = np.array([1, weight, 0])[None, None, :, None]
    mass, squares = (table.people * of_outcome**power for power in (1, 2))
    return replace(table, mass=mass, squares=squares.astype(np.float64))


@pytest.mark.parametrize("rate", [0.2, 0.8])
def test_large_clusters_that_agree_by_chance(bench: Any, rate: float) -> None:
    """100 people alone, and 5 clusters of 20 equal people: a rate of .8 was covered in .78.

    If all 5 are selected, their deviations show nothing; pairs within them show that they agree.
    """
    large, single = np.mgrid[:6, :101].reshape(2, -1)
    hits = np.concatenate([
        np.arange(5) < large[:, None], np.arange(100) < single[:, None]
    ], axis=1) * np.array([20] * 5 + [1] * 100)  # fmt: skip
    both = np.stack([np.array([20] * 5 + [1] * 100) - hits, hits], axis=1)
    table = bench("samples").table_of(both.sum(axis=2)[:, None, :, None])
    run, outcome, cluster = np.nonzero(both)
    cell = np.ravel_multi_index((run, 0 * run, outcome, 0 * run), table.people.shape)
    gathered = Clusters.gather(cell, cluster, both[run, outcome, cluster].astype(np.float64))
    of_table = ClusteredTable(gathered, np.arange(table.people.size), table.people.shape)
    asked = bench("singles").quantity("selection_rate")
    found = bench("samples").intervals(asked, replace(table, clusters=of_table))
    chance = binom.pmf(large, 5, rate) * binom.pmf(single, 100, rate)
    assert coverage(found.low, found.high, [rate], chance) >= 0.93
