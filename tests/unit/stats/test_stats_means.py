"""Normal quantiles, means and ranks: published, other packages, laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
import stats_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from stats_oracle import printed
from statsmodels.stats.oneway import anova_oneway

from fairaudit.stats import distributions, means, score_statistics

Floats = NDArray[np.float64]
Sample = Sequence[float]


def summary(values: Sample) -> means.Summary:
    """The mean, the sum of squared deviations and the size of a sample, as arrays."""
    sample = np.asarray(values, dtype=np.float64)
    mean, deviation = sample.mean(), ((sample - sample.mean()) ** 2).sum()
    return means.Summary(np.array(mean), np.array(deviation), np.array(float(len(sample))))


def bounds(mean: Any, deviation: Any, n: Any, alpha: float = 0.05) -> tuple[float, float]:
    """The interval of a single mean, beside which there is no other group."""
    mean, deviation, n = (np.array([float(part)]) for part in (mean, deviation, n))
    (low,), (high,) = means.moderated_interval(mean, deviation, n, alpha)
    return float(low), float(high)


# Normal ------------------------------------------------------------------------------------------

QUANTILES = [
    (0.05, "1.959964", "R: qnorm(0.975)"),
    (0.01, "2.575829", "R: qnorm(0.995)"),
    (0.1, "1.644854", "R: qnorm(0.95)"),
    (0.3173105, "1.000000", "the 68-95-99.7 rule"),
    (5.733031e-7, "5.00000", "five sigma"),
]


@pytest.mark.parametrize(("alpha", "z", "source"), QUANTILES)
def test_critical_values_are_as_published(alpha: float, z: str, source: str) -> None:
    assert printed(float(distributions.normal_critical(alpha)), z), source
    assert float(
        distributions.normal_two_sided(np.array(distributions.normal_critical(alpha)))
    ) == pytest.approx(alpha)


@given(st.floats(-299, math.log10(0.999)))
def test_critical_is_the_inverse_of_the_tail(exponent: float) -> None:
    """`math.erfc` is exact far out: an alpha of 1e-299 comes back."""
    alpha = 10.0**exponent
    z = float(distributions.normal_critical(alpha))
    assert math.erfc(z / math.sqrt(2)) == pytest.approx(alpha, rel=1e-9, abs=0)


def test_critical_takes_arrays() -> None:
    alphas = np.array([[0.05, 0.01], [1e-12, 1e-300]])
    found = np.asarray(distributions.normal_critical(alphas))
    assert found.shape == (2, 2)
    expected = [[float(distributions.normal_critical(a)) for a in row] for row in alphas.tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@given(st.floats(-37, 37))
def test_two_sided_is_accurate_in_the_tail(z: float) -> None:
    found = float(distributions.normal_two_sided(np.array(z)))
    assert found == pytest.approx(math.erfc(abs(z) / math.sqrt(2)), rel=1e-12, abs=0)


# Means -------------------------------------------------------------------------------------------

DRUG_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
DRUG_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
CONTROL = [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14]
TREATED = [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69]
TREATED_2 = [6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26]
ONE_TO_TEN, SEVEN_TO_TWENTY = list(range(1, 11)), list(range(7, 21))
STATS_EX = "R: tests/Examples/stats-Ex.Rout.save, "


class Means(NamedTuple):
    """A published comparison of two means by Welch."""

    one: Sample
    other: Sample
    t: str
    df: str
    p: str
    low: str
    high: str
    source: str


WELCH = [
    Means(
        DRUG_1,
        DRUG_2,
        "-1.8608",
        "17.776",
        "0.07939",
        "-3.3654832",
        "0.2054832",
        STATS_EX + "?t.test, sleep",
    ),
    Means(
        ONE_TO_TEN,
        SEVEN_TO_TWENTY,
        "-5.4349",
        "21.982",
        "1.855e-05",
        "-11.052802",
        "-4.947198",
        STATS_EX + "?t.test",
    ),
    Means(
        ONE_TO_TEN,
        [*SEVEN_TO_TWENTY, 200],
        "-1.6329",
        "14.165",
        "0.1245",
        "-47.242900",
        "6.376233",
        STATS_EX + "?t.test",
    ),
]


@pytest.mark.parametrize("row", WELCH, ids=lambda row: row.t)
def test_welch_is_as_published(row: Means) -> None:
    both = summary(row.one), summary(row.other)
    t, df, p = means.welch(*both).test()
    low, high = means.welch(*both).ends()
    found = map(float, (t, df, p, low, high))
    for value, text in zip(found, row[2:7], strict=True):
        assert printed(value, text), row.source


def test_student_is_as_published() -> None:
    """?oneway.test on sleep with var.equal = TRUE prints t² = 3.4626 on 1 and 18, p .07919."""
    t, df, p = means.student(summary(DRUG_1), summary(DRUG_2)).test()
    assert float(t) < 0
    assert printed(float(t) ** 2, "3.4626")
    assert float(df) == 18
    assert printed(float(p), "0.07919")


def test_the_interval_of_a_mean_is_as_published() -> None:
    """R, ?t.test, sleep, paired = TRUE: the mean of the differences is -1.58."""
    differences = [one - other for one, other in zip(DRUG_1, DRUG_2, strict=True)]
    low, high = bounds(*summary(differences))
    assert printed(float(low), "-2.4598858")
    assert printed(float(high), "-0.7001142")


def test_welch_anova_is_as_published() -> None:
    """?oneway.test on sleep (stats-Ex.Rout.save) and on PlantGrowth (STHDA, One-Way ANOVA in R)."""
    for samples, published in (
        ([DRUG_1, DRUG_2], ("3.4626", "1.000", "17.776", "0.07939")),
        ([CONTROL, TREATED, TREATED_2], ("5.181", "2.000", "17.128", "0.01739")),
    ):
        mean, deviation, n = (np.array(part) for part in zip(*map(summary, samples), strict=True))
        for value, text in zip(means.welch_anova(mean, deviation, n), published, strict=True):
            assert printed(float(value), text)


@given(st.floats(-300, -0.1), st.floats(1, 1e6), st.floats(-1e3, 1e3))
def test_student_with_little_freedom_is_exact_far_out(
    exponent: float, deviation: float, mean: float
) -> None:
    """With 1 and 2 degrees of freedom t has closed forms, which hold for any alpha."""
    alpha = 10.0**exponent
    for n, t in (
        (2.0, 1 / math.tan(math.pi * alpha / 2)),
        (3.0, (1 - alpha) * math.sqrt(2 / (alpha * (2 - alpha)))),
    ):
        low, high = bounds(mean, deviation, n, alpha)
        reach = t * math.sqrt(deviation / (n * (n - 1)))
        if math.isfinite(reach):
            assert float(high) - mean == pytest.approx(reach, rel=1e-6, abs=1e-9)
            assert mean - float(low) == pytest.approx(reach, rel=1e-6, abs=1e-9)


@given(st.floats(0.5, 1e8))
def test_the_tail_of_student_is_exact_far_out(t: float) -> None:
    """Two against two with pooled variance leave 2 degrees of freedom: p = 1 - t/sqrt(2 + t²)."""
    sides = (means.Summary(*map(np.array, (mean, 1.0, 2.0))) for mean in (t, 0.0))
    found, df, p = map(float, means.student(*sides).test())
    assert (found, df) == pytest.approx((t, 2))
    root = math.sqrt(2 + t * t)
    assert p == pytest.approx(2 / (root * (root + t)), rel=1e-9, abs=0)


def test_certainty_leaves_every_mean_open() -> None:
    low, high = bounds(1.0, 2.0, 4.0, 0.0)
    assert (float(low), float(high)) == (-math.inf, math.inf)


samples = st.lists(st.integers(-40, 40).map(float), min_size=3, max_size=20).filter(
    lambda values: len(set(values)) > 1
)


@given(samples, samples, st.sampled_from([1e-9, 0.05, 0.5]))
def test_scipy_prints_the_same_t(one: Sample, other: Sample, alpha: float) -> None:
    both = summary(one), summary(other)
    for test, equal in ((means.student, True), (means.welch, False)):
        theirs = scipy.stats.ttest_ind(one, other, equal_var=equal)
        t, df, p = map(float, test(*both).test())
        assert (t, df) == pytest.approx((theirs.statistic, theirs.df), rel=1e-8, abs=1e-10)
        assert p == pytest.approx(theirs.pvalue, rel=1e-7, abs=0)
        if not equal:
            expected = tuple(theirs.confidence_interval(1 - alpha))
            low, high = means.welch(*both).ends(alpha)
            assert (float(low), float(high)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
    size = len(one)
    spread = scipy.stats.tstd(one) / math.sqrt(size)
    expected = scipy.stats.t.interval(1 - alpha, size - 1, float(np.mean(one)), spread)
    assert bounds(*summary(one), alpha) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(st.lists(samples, min_size=2, max_size=5))
def test_statsmodels_prints_the_same_welch_anova(groups: list[Sample]) -> None:
    mean, deviation, n = (np.array(part) for part in zip(*map(summary, groups), strict=True))
    f, df1, df2, p = map(float, means.welch_anova(mean, deviation, n))
    theirs = anova_oneway([np.array(group) for group in groups], use_var="unequal")
    assert f == pytest.approx(theirs.statistic, rel=1e-7, abs=1e-9)
    assert (df1, df2) == pytest.approx(theirs.df)
    assert p == pytest.approx(theirs.pvalue, rel=1e-6, abs=0)
    if len(groups) == 2:
        t, df, same = map(float, means.welch(*map(summary, groups)).test())
        assert (f, df2, p) == pytest.approx((t * t, df, same), rel=1e-7, abs=1e-9)


def test_means_come_in_arrays() -> None:
    mean, deviation, n = np.array([[1.0], [2]]), np.array([4.0, 8, 9]), np.array([5.0, 9, 4])
    low, high = means.moderated_interval(mean, deviation, n, np.array(0.05))
    assert low.shape == high.shape == (2, 3)
    np.testing.assert_allclose((low + high) / 2, np.broadcast_to(mean, (2, 3)))
    other = means.Summary(*map(np.array, (0.0, 3.0, 7.0)))
    t, df, p = means.welch(means.Summary(mean, deviation, n), other).test()
    assert t.shape == p.shape == np.broadcast_shapes(df.shape, (2, 3)) == (2, 3)
    stacked = np.stack([deviation, deviation])
    f, df1, df2, p = means.welch_anova(stacked, stacked, np.stack([n, n]))
    assert f.shape == df2.shape == p.shape == (2,)
    turned = means.welch_anova(stacked.T, stacked.T, np.stack([n, n]).T, axis=0)
    np.testing.assert_allclose(turned[0], f)
    np.testing.assert_allclose(turned[2], df2)
    assert np.broadcast_to(df1, (2,)).tolist() == [2, 2]


def test_too_few_people_have_no_spread() -> None:
    one, zero = np.array([1.0, 0, math.nan]), np.array([0.0, 0, math.nan])
    low, high = means.moderated_interval(np.array([3.0, math.nan, 1]), zero, one)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    sides = means.Summary(*np.array([[3.0], [0.0], [1.0]])), summary(DRUG_1)
    for values in (*means.welch(*sides).ends(), *means.welch(*sides).test()):
        assert np.isnan(values).all()
    for broken in ((0.0, 10.0), (3.0, 1.0)):
        deviation = np.array([4.0, broken[0], 5])
        f, _, _, p = means.welch_anova(
            np.array([1.0, 2, 3]), deviation, np.array([9.0, broken[1], 8])
        )
        assert math.isnan(float(f))
        assert math.isnan(float(p))


@given(samples, samples)
def test_swapped_means_swap_the_bounds(one: Sample, other: Sample) -> None:
    low, high = means.welch(summary(one), summary(other)).ends()
    swapped = means.welch(summary(other), summary(one)).ends()
    assert (float(low), float(high)) == pytest.approx((-float(swapped[1]), -float(swapped[0])))
    assert float(low) <= np.mean(one) - np.mean(other) <= float(high)


# Ranks -------------------------------------------------------------------------------------------

# aSAH of the R package pROC: 72 good and 41 poor outcomes, by grade (1 to 5) and by protein.
WFNS = ([37, 20, 3, 8, 4], [2, 12, 1, 8, 18])
S100B = (
    [int(count) for count in "05326667403443212001000101110101011210200000000000"],
    [int(count) for count in "10003122112101000110111011101010200011011112111111"],
)
ASAH = [
    (WFNS, 0.823678861788618, 0.00146991470882363, "pROC: test-auc.R and test-var.R, r.wfns"),
    (S100B, 0.731368563685637, 0.00266868245717244, "pROC: test-var.R, r.s100b"),
]


def histogram(counts: Sequence[int]) -> Floats:
    """One stratum and one group: [1, B, 1]."""
    return np.array(counts, dtype=np.float64)[None, :, None]


@pytest.mark.parametrize(("counts", "auc", "variance", "source"), ASAH)
def test_delong_is_as_published(
    counts: tuple[list[int], list[int]], auc: float, variance: float, source: str
) -> None:
    lower, upper = map(histogram, counts)
    found = score_statistics.delong_variance(upper, lower)
    assert found.shape == (1, 1)
    assert found.item() == pytest.approx(variance, rel=1e-12), source
    assert score_statistics.mann_whitney(upper, lower)[0].item() == pytest.approx(auc, rel=1e-12), (
        source
    )


def test_the_interval_of_asah_is_as_published() -> None:
    """BMC Bioinformatics 12:77 and ?ci.auc of pROC: .6301 to .8326 around .7314."""
    lower, upper = map(histogram, S100B)
    reach = oracle.quantile(0.05) * math.sqrt(score_statistics.delong_variance(upper, lower).item())
    assert printed(0.731368563685637 - reach, "0.6301")
    assert printed(0.731368563685637 + reach, "0.8326")


def test_the_interval_of_an_area_is_that_of_a_share_with_its_variance() -> None:
    lower, upper = map(histogram, S100B)
    area, variance = 0.731368563685637, 0.00266868245717244
    ends = score_statistics.delong(np.array([[area]]), upper, lower)
    size = area * (1 - area) / variance
    expected = oracle.wilson(area * size, size, 0.05)
    assert [end.item() for end in ends] == pytest.approx(expected, rel=1e-9)
    # Few people are on the wrong side: not more than 3 · 5 · 5 / 10 people.
    few = [histogram(side) for side in ([4, 1, 0], [0, 1, 4])]
    ends = score_statistics.delong(np.array([[0.98]]), few[1], few[0])
    expected = oracle.share_bounds(0.98 * 7.5, 7.5, 0.05)
    assert [end.item() for end in ends] == pytest.approx(expected, rel=1e-9)
    # All pairs have the same order: as of the smaller side, none of whom is wrong.
    apart = [histogram(side) for side in ([9, 0], [0, 5])]
    for area, (upper, lower) in ((1.0, (apart[1], apart[0])), (0.0, apart)):
        ends = score_statistics.delong(np.array([[area]]), upper, lower)
        expected = oracle.share_bounds(5 * area, 5, 0.05)
        assert [end.item() for end in ends] == pytest.approx(expected, rel=1e-9)


def test_mann_whitney_is_as_published() -> None:
    """Hollander & Wolfe (1973) p. 69, ?wilcox.test: W = 35 of 50, one-sided p .1272."""
    x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
    y = [1.15, 0.88, 0.90, 0.74, 1.21]
    values = sorted(x + y)
    one, two = (histogram([side.count(value) for value in values]) for side in (x, y))
    share, z, p = score_statistics.mann_whitney(one, two)
    assert share.item() == pytest.approx(35 / 50)
    assert z.item() > 0
    assert printed(p.item() / 2, "0.1272")


histograms = st.integers(2, 6).flatmap(
    lambda bins: st.tuples(
        *[
            st.lists(st.integers(0, 9), min_size=bins, max_size=bins).filter(lambda h: sum(h) > 1)
            for _ in range(2)
        ]
    )
)


@given(histograms)
def test_ranks_are_those_of_every_pair(counts: tuple[list[int], list[int]]) -> None:
    one, two = counts
    found = score_statistics.delong_variance(histogram(one), histogram(two)).item()
    assert found == pytest.approx(oracle.delong(one, two), abs=1e-12)
    swapped = score_statistics.delong_variance(histogram(two), histogram(one)).item()
    assert swapped == pytest.approx(found, abs=1e-12)
    share, z, p = (
        part.item() for part in score_statistics.mann_whitney(histogram(one), histogram(two))
    )
    high, low = oracle.people(one), oracle.people(two)
    auc = roc_auc_score([1] * len(high) + [0] * len(low), high + low)
    assert share == pytest.approx(auc, abs=1e-12)
    if len(set(high + low)) > 1:
        expected, statistic = oracle.mann_whitney(one, two)
        assert (share, z) == pytest.approx((expected, statistic), abs=1e-9)
        theirs = scipy.stats.mannwhitneyu(high, low, method="asymptotic", use_continuity=False)
        of_z = 2 * scipy.stats.norm.sf(abs(z))
        assert of_z == pytest.approx(theirs.pvalue, rel=1e-9, abs=0)
    other, back, same = (
        part.item() for part in score_statistics.mann_whitney(histogram(two), histogram(one))
    )
    assert other == pytest.approx(1 - share)
    if not math.isnan(z):
        assert (back, same) == pytest.approx((-z, p), abs=1e-9)


def test_ranks_come_by_stratum_and_group() -> None:
    random = np.random.default_rng(4)
    upper, lower = random.integers(0, 9, (2, 3, 7, 5)).astype(float)
    upper[:, :, 4] = 0
    lower[2, :, 0] = 0
    variance = score_statistics.delong_variance(upper, lower)
    share, z, p = score_statistics.mann_whitney(upper, lower)
    assert variance.shape == share.shape == z.shape == p.shape == (3, 5)
    empty = np.zeros((3, 5), dtype=bool)
    empty[:, 4] = empty[2, 0] = True
    for array in (variance, share, z, p):
        assert (np.isnan(array) == empty).all()
    for stratum, group in ((0, 0), (1, 3), (2, 2)):
        counts = [side[stratum, :, group].astype(int).tolist() for side in (upper, lower)]
        assert variance[stratum, group] == pytest.approx(oracle.delong(*counts))
        assert z[stratum, group] == pytest.approx(oracle.mann_whitney(*counts)[1])


def test_ranks_of_millions_do_not_overflow() -> None:
    """Ten million people are the same picture with a smaller variance."""
    lower, upper = map(histogram, WFNS)
    factor = 1e5
    found = score_statistics.delong_variance(upper * factor, lower * factor).item()
    small = score_statistics.delong_variance(upper, lower).item()
    assert found == pytest.approx(small / factor, rel=0.03)
    share, z, _ = score_statistics.mann_whitney(upper * factor, lower * factor)
    assert share.item() == pytest.approx(0.823678861788618)
    assert z.item() == pytest.approx(
        score_statistics.mann_whitney(upper, lower)[1].item() * 1e5**0.5, rel=0.01
    )


def test_of_a_single_mean_nothing_is_tested() -> None:
    *_, p = means.welch_anova(np.array([0.5]), np.array([1.0]), np.array([10.0]))
    assert np.isnan(p)


@pytest.mark.long
@pytest.mark.parametrize(
    ("one", "two"),
    [
        ([9] * 3, [1] * 2),
        ([9] * 10, [1] * 2),
        ([9] * 9 + [3], [1, 9]),
        ([1, 2, 2, 5], [2, 3, 3, 9, 9]),
        ([1, 2, 4, 7], [3, 5, 6, 8, 9]),
        ([1] * 5 + [2] * 3, [1, 2, 2, 2]),
    ],
)
def test_of_few_people_mann_whitney_is_exact(one: list[int], two: list[int]) -> None:
    """SciPy: every permutation, by the distance of U from its mean."""

    def distance(x: np.ndarray, y: np.ndarray) -> float:
        u = float(scipy.stats.mannwhitneyu(x, y).statistic)
        return abs(2 * u - len(x) * len(y))

    found = scipy.stats.permutation_test(
        (one, two), distance, alternative="greater", n_resamples=np.inf
    )
    sides = [
        np.array([side.count(value) for value in range(10)])[None, :, None] for side in (one, two)
    ]
    for first, second in (sides, sides[::-1]):
        assert score_statistics.mann_whitney(first, second)[2].item() == pytest.approx(found.pvalue)


def test_mann_whitney_of_one_person_is_no_test() -> None:
    """Their rank is one of few: 1/101 at best, where z says 1.5e-23."""
    many, one = np.array([[[0], [100]]]), np.array([[[1], [0]]])
    assert np.isnan(score_statistics.mann_whitney(many, one)[2]).all()


def test_mann_whitney_of_a_heap_of_ties_is_exact() -> None:
    """One of 10 below, and 1,000 with the rest: the chance to draw that one, 10 of 1,010."""
    few, many = np.array([[[1], [9]]]), np.array([[[0], [1000]]])
    assert score_statistics.mann_whitney(few, many)[2].item() == pytest.approx(10 / 1010)
