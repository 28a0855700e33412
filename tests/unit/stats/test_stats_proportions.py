"""Intervals and z tests of shares: published tables, the slow oracle, other packages, laws.

Published numbers are texts, as they were printed; `printed` allows half of their last digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import stats_oracle as oracle
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom
from stats_oracle import Bounds, printed
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    proportions_ztest,
)
from statsmodels.stats.proportion import test_proportions_2indep as difference_test

from fairaudit.stats import contingency, multiplicity, proportions
from fairaudit.stats.distributions import normal_two_sided

Floats = NDArray[np.float64]
Interval = Callable[..., tuple[Floats, Floats]]

ALPHAS = (1e-12, 1e-4, 0.01, 0.05, 0.2, 0.5, 0.9)
alphas = st.sampled_from(ALPHAS)


def newcombe(
    p: Floats, n: Floats, q: Floats, m: Floats, alpha: Any = 0.05
) -> tuple[Floats, Floats]:
    """MOVER of Wilson's: what a difference has where nothing is few."""
    return proportions.mover_difference(
        p, proportions.wilson(p, n, alpha), q, proportions.wilson(q, m, alpha)
    )


def odds_ratio(
    p: Floats, n: Floats, q: Floats, m: Floats, alpha: Any = 0.05
) -> tuple[Floats, Floats]:
    """MOVER of log odds."""
    ends = (proportions.share_interval(*side, alpha) for side in ((p, n), (q, m)))
    return proportions.mover_odds_ratio((p, n), next(ends), (q, m), next(ends))


DIFFERENCES: dict[str, Interval] = {"newcombe": newcombe, "gap": proportions.gap_interval}
RATIOS: dict[str, Interval] = {
    "koopman": proportions.koopman,
    "katz": proportions.katz,
    "ratio": proportions.ratio_interval,
    "odds": odds_ratio,
}
PAIRS = DIFFERENCES | RATIOS


@st.composite
def pairs(draw: st.DrawFn, most: int = 300) -> tuple[int, int, int, int]:
    """Draw x of n against y of m."""
    n, m = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(st.integers(0, n)), n, draw(st.integers(0, m)), m


def shares(x: Any, n: Any, y: Any, m: Any) -> tuple[Floats, Floats, Floats, Floats]:
    """The arguments of a comparison, from counts."""
    a, b, c, d = (np.asarray(count, dtype=np.float64) for count in (x, n, y, m))
    return a / b, b, c / d, d


def bounds(interval: Interval, x: Any, n: Any, y: Any, m: Any, alpha: float) -> Bounds:
    """An interval of one comparison, as two floats."""
    low, high = interval(*shares(x, n, y, m), alpha)
    return float(low), float(high)


def grid(n: int, m: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Every x of n against every y of m, [n + 1, m + 1]."""
    x, y = np.meshgrid(np.arange(n + 1.0), np.arange(m + 1.0), indexing="ij")
    return x / n, np.full_like(x, n), y / m, np.full_like(x, m)


def estimate(name: str, p: Floats, q: Floats) -> Floats:
    """What an interval is about: a difference, a ratio or an odds ratio."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if name in DIFFERENCES:
            return p - q
        return p / q if name != "odds" else p * (1 - q) / (q * (1 - p))


# Published ---------------------------------------------------------------------------------------


class One(NamedTuple):
    """A published interval of one share."""

    x: int
    n: int
    low: str
    high: str
    source: str


NEWCOMBE_SINGLE = "Newcombe 1998, Stat Med 17:857, Table I, method 3"
WILSON = [
    One(81, 263, "0.2553", "0.3662", NEWCOMBE_SINGLE),
    One(15, 148, "0.0624", "0.1605", NEWCOMBE_SINGLE),
    One(0, 20, "0.0000", "0.1611", NEWCOMBE_SINGLE),
    One(1, 29, "0.0061", "0.1718", NEWCOMBE_SINGLE),
    One(52, 100, "0.4231658", "0.6153545", "R, ?prop.test, correct = FALSE: stats-Ex.Rout.save"),
    One(12, 40, "0.180748", "0.454300", "metrics.md, vectors"),
]


@pytest.mark.parametrize("row", WILSON, ids=lambda row: f"{row.x}/{row.n}")
def test_wilson_is_as_published(row: One) -> None:
    low, high = proportions.wilson(np.array(row.x / row.n), np.array(float(row.n)))
    assert printed(float(low), row.low), row.source
    assert printed(float(high), row.high), row.source


class Two(NamedTuple):
    """A published interval of two shares."""

    interval: str
    counts: tuple[int, int, int, int]
    low: str
    high: str
    source: str


NEWCOMBE_PAIR = "Newcombe 1998, Stat Med 17:873, Table II, method 10"
FAGERLAND = "Fagerland, Lydersen & Laake 2015, Stat Methods Med Res 24:224 (R: contingencytables)"
GART_NAM = "Gart & Nam 1988, Biometrics 44:323, the score method without correction (R: ratesci)"
KOOPMAN = "Koopman 1984, Biometrics 40:513 (R: DescTools::BinomRatioCI)"
OURS = "metrics.md, vectors"
TWO = [
    Two("newcombe", (56, 70, 48, 80), "0.0524", "0.3339", NEWCOMBE_PAIR + " (a)"),
    Two("newcombe", (9, 10, 3, 10), "0.1705", "0.8090", NEWCOMBE_PAIR + " (b)"),
    Two("newcombe", (6, 7, 2, 7), "0.0582", "0.8062", NEWCOMBE_PAIR + " (c)"),
    Two("newcombe", (5, 56, 0, 29), "-0.0381", "0.1926", NEWCOMBE_PAIR + " (d)"),
    Two("newcombe", (0, 10, 0, 20), "-0.1611", "0.2775", NEWCOMBE_PAIR + " (e)"),
    Two("newcombe", (0, 10, 0, 10), "-0.2775", "0.2775", NEWCOMBE_PAIR + " (f)"),
    Two("newcombe", (10, 10, 0, 20), "0.6791", "1.0000", NEWCOMBE_PAIR + " (g)"),
    Two("newcombe", (10, 10, 0, 10), "0.6075", "1.0000", NEWCOMBE_PAIR + " (h)"),
    Two("newcombe", (7, 34, 1, 34), "0.0189", "0.3404", FAGERLAND),
    Two("newcombe", (12, 40, 48, 80), "-0.455876", "-0.110768", OURS),
    Two("koopman", (36, 40, 16, 80), "2.94", "7.15", KOOPMAN),
    Two("koopman", (8, 15, 4, 15), "0.815", "5.336", GART_NAM),
    Two("koopman", (6, 10, 6, 20), "0.844", "4.594", GART_NAM),
    Two("koopman", (7, 34, 1, 34), "1.2209", "42.5757", FAGERLAND),
    Two("koopman", (3, 4, 0, 2), "0.8257", "inf", FAGERLAND),
    Two("koopman", (0, 1, 0, 2), "0", "inf", FAGERLAND),
    Two("koopman", (12, 40, 48, 80), "0.293345", "0.793865", OURS),
    Two("katz", (36, 40, 16, 80), "2.87", "7.06", KOOPMAN),
    Two("katz", (7, 34, 1, 34), "0.9096", "53.8695", FAGERLAND),
    Two("katz", (12, 40, 48, 80), "0.3014", "0.8294", OURS),
]


@pytest.mark.parametrize("row", TWO, ids=lambda row: f"{row.interval} {row.counts}")
def test_two_shares_are_as_published(row: Two) -> None:
    low, high = bounds(PAIRS[row.interval], *row.counts, 0.05)
    assert printed(low, row.low), row.source
    assert printed(high, row.high), row.source


def test_z_is_as_published() -> None:
    z = contingency.find_z(*shares(12, 40, 48, 80))
    p = normal_two_sided(z)
    assert printed(float(z), "-3.098387")  # metrics.md, vectors
    assert printed(float(p), "0.00194577")
    z = contingency.find_z(*shares(0, 16, 15, 72), pooled=False)
    p = normal_two_sided(z)
    assert printed(float(z), "-4.353")  # Ritland (2007), Z-unpooled in Fagerland 2015
    assert printed(float(p), "0.00001")


def test_bounds_of_maxima_are_as_in_the_catalogue() -> None:
    """metrics.md §12: the kidney stones and four groups of a thousand, over ordered pairs."""
    x, n = np.array([81.0, 192, 234, 55]), np.array([87.0, 263, 270, 80])
    one, other = np.nonzero(~np.eye(4, dtype=bool))
    alpha = multiplicity.sidak_level(np.array(0.05), 6)
    p, q = x[one] / n[one], x[other] / n[other]
    low, high = newcombe(p, n[one], q, n[other], alpha)
    assert printed(float(low.max()), "0.084823")
    assert printed(float(high.max()), "0.396583")
    low, high = proportions.koopman(p, n[one], q, n[other], alpha)
    assert printed(float(low.min()), "0.576267")
    assert printed(float(high.min()), "0.895107")
    twelve = multiplicity.sidak_level(np.array(0.05), 12)
    yes = proportions.koopman(p, n[one], q, n[other], twelve)
    no = proportions.koopman(1 - p, n[one], 1 - q, n[other], twelve)
    assert printed(math.log(max(yes[0].max(), no[0].max())), "0.386592")
    assert printed(math.log(max(yes[1].max(), no[1].max())), "2.684610")


def test_equal_thousands_are_as_in_the_catalogue() -> None:
    x, n = np.array([250.0, 270, 240, 260]), np.full(4, 1000.0)
    one, other = np.nonzero(~np.eye(4, dtype=bool))
    alpha = multiplicity.sidak_level(np.array(0.05), 6)
    arguments = (x[one] / 1000, n[one], x[other] / 1000, n[other], alpha)
    low, high = newcombe(*arguments)
    assert low.max() < 0
    assert printed(float(high.max()), "0.081089")
    low, high = proportions.koopman(*arguments)
    assert printed(float(low.min()), "0.726578")
    assert high.min() > 1


def test_a_part_against_the_whole_is_as_in_the_catalogue() -> None:
    """metrics.md §12: 12 of 40 against all 60 of 120, mapped from group against rest."""
    w = 40 / 120
    low, high = bounds(newcombe, 12, 40, 48, 80, 0.05)
    assert printed((1 - w) * low, "-0.303918")
    assert printed((1 - w) * high, "-0.073845")
    low, high = bounds(proportions.koopman, 12, 40, 48, 80, 0.05)
    assert printed(low / (w * low + 1 - w), "0.383735")
    assert printed(high / (w * high + 1 - w), "0.852437")


# The oracle and other packages -------------------------------------------------------------------


@given(pairs(), alphas)
def test_wilson_inverts_the_score_test(counts: tuple[int, int, int, int], alpha: float) -> None:
    x, n, _, _ = counts
    low, high = proportions.wilson(np.array(x / n), np.array(float(n)), alpha)
    assert (float(low), float(high)) == pytest.approx(oracle.wilson(x, n, alpha), abs=1e-11)


@given(pairs(), alphas)
def test_newcombe_squares_and_adds(counts: tuple[int, int, int, int], alpha: float) -> None:
    found = bounds(newcombe, *counts, alpha)
    assert found == pytest.approx(oracle.newcombe(*counts, alpha), abs=1e-11)


@given(pairs(), alphas)
def test_koopman_inverts_the_chi_square(counts: tuple[int, int, int, int], alpha: float) -> None:
    found = bounds(proportions.koopman, *counts, alpha)
    assert found == pytest.approx(oracle.koopman(*counts, alpha), rel=1e-8, abs=1e-14)


@given(pairs(), alphas)
def test_katz_is_normal_on_the_log(counts: tuple[int, int, int, int], alpha: float) -> None:
    x, _, y, _ = counts
    if x and y:
        found = bounds(proportions.katz, *counts, alpha)
        assert found == pytest.approx(oracle.katz(*counts, alpha), rel=1e-11)


@given(pairs(40), alphas)
@example((4, 30, 12, 40), 0.05)
@example((5, 29, 5, 29), 0.05)
@example((0, 9, 3, 3), 0.05)
@example((6, 30, 12, 40), 1e-4)
def test_few_hits_or_misses_have_exact_ends(
    counts: tuple[int, int, int, int], alpha: float
) -> None:
    """Fewer than 13, more if z is larger; a side that has enough keeps its own ends."""
    x, n, *_ = counts
    share, size = np.array(x / n), np.array(float(n))
    for over_pairs in (False, True):
        low, high = proportions.share_interval(share, size, alpha, over_pairs=over_pairs)
        expected = oracle.share_bounds(x, n, alpha, over_pairs=over_pairs)
        assert (float(low), float(high)) == pytest.approx(expected, abs=1e-11)
    found = bounds(proportions.gap_interval, *counts, alpha)
    assert found == pytest.approx(oracle.gap_bounds(*counts, alpha), abs=1e-11)
    found = bounds(proportions.ratio_interval, *counts, alpha)
    assert found == pytest.approx(oracle.ratio_bounds(*counts, alpha), rel=1e-8, abs=1e-14)
    found = bounds(odds_ratio, *counts, alpha)
    assert found == pytest.approx(oracle.odds_ratio_bounds(*counts, alpha), rel=1e-8)


@pytest.mark.parametrize("n", [1, 5, 21, 36, 89, 150, 400])
def test_no_rate_is_covered_in_less_than_93_percent(n: int) -> None:
    """Just beyond the ends coverage is lowest; with exact ends up to 4 hits .919 of 36 people."""
    hits = np.arange(n + 1)
    low, high = proportions.share_interval(hits / n, np.full(n + 1, float(n)))
    rates = np.concatenate([end + step for end in (low, high) for step in (-1e-9, 1e-9)])
    for rate in rates[(rates > 0) & (rates < 1)]:
        inside = (low <= rate) & (rate <= high)
        assert binom.pmf(hits[inside], n, rate).sum() >= 0.93


@pytest.mark.parametrize(
    ("n", "m"), [(1, 1), (1, 12), (2, 3), (2, 30), (5, 5), (7, 40), (20, 20), (12, 150)]
)
def test_intervals_of_few_people_cover(n: int, m: int) -> None:
    """By every number of hits and its chance; without exact ends the lowest are .74 to .91."""
    p, size, q, other = grid(n, m)
    found = {name: PAIRS[name](p, size, q, other, 0.05) for name in ("gap", "ratio", "odds")}
    own = proportions.share_interval(p[:, 0], size[:, 0])
    for rate, base in product((0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.985, 1 - 0.31 / n), repeat=2):
        hits = binom.pmf(np.arange(n + 1), n, rate)
        chance = np.outer(hits, binom.pmf(np.arange(m + 1), m, base))
        assert hits[(own[0] <= rate) & (rate <= own[1])].sum() > 0.93
        for name, (low, high) in found.items():
            truth = float(estimate(name, np.array(rate), np.array(base)))
            is_printed = ~np.isnan(estimate(name, p, q))
            inside = is_printed & (low <= truth * (1 + 1e-9)) & (truth * (1 - 1e-9) <= high)
            if name == "gap":
                inside = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
            assert chance[inside].sum() / chance[is_printed].sum() > 0.93, (name, rate, base)


@pytest.mark.parametrize("seed", range(5))
def test_statsmodels_prints_the_same(seed: int) -> None:
    """Statsmodels' Newcombe, score (without its N/(N-1) correction) and log intervals are right.

    It adds a half to cells of the log ratio only on request, and refuses zeros: ours are limits.
    Its roots of the score are found to 1e-8 or so.
    """
    random = np.random.default_rng(seed)
    for _ in range(20):
        n, m = (int(size) for size in random.integers(5, 400, 2))
        x, y = int(random.integers(1, n)), int(random.integers(1, m))
        for interval, compare, method in (
            ("newcombe", "diff", "newcomb"),
            ("koopman", "ratio", "score"),
            ("katz", "ratio", "log"),
        ):
            theirs = confint_proportions_2indep(
                x, n, y, m, method=method, compare=compare, correction=False
            )
            ours = bounds(PAIRS[interval], x, n, y, m, 0.05)
            assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9), (interval, x, n, y, m)
        low, high = proportions.wilson(np.array(x / n), np.array(float(n)), 0.1)
        theirs = proportion_confint(x, n, 0.1, method="wilson")
        assert (float(low), float(high)) == pytest.approx(theirs, abs=1e-12)
        z = contingency.find_z(*shares(x, n, y, m))
        p = normal_two_sided(z)
        assert (float(z), float(p)) == pytest.approx(proportions_ztest([x, y], [n, m]), abs=1e-9)
        z = contingency.find_z(*shares(x, n, y, m), pooled=False)
        p = normal_two_sided(z)
        wald = difference_test(x, n, y, m, method="wald", compare="diff")
        assert (float(z), float(p)) == pytest.approx((wald.statistic, wald.pvalue), abs=1e-9)


# Laws --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("name", list(PAIRS))
def test_bounds_contain_the_estimate_within_its_space(name: str, alpha: float) -> None:
    for n, m in ((1, 1), (7, 11), (30, 2)):
        p, size, q, other = grid(n, m)
        low, high = PAIRS[name](p, size, q, other, alpha)
        assert low.shape == high.shape == p.shape
        value = estimate(name, p, q)
        known = ~np.isnan(value)
        assert (low[known] <= value[known] + 1e-12 * np.abs(value[known])).all()
        assert (value[known] <= high[known] + 1e-12 * np.abs(value[known])).all()
        assert not np.isnan(low).any()
        assert not np.isnan(high).any()
        least, most = (-1.0, 1.0) if name in DIFFERENCES else (0.0, math.inf)
        assert (low >= least).all()
        assert (high <= most).all()
        assert (low <= high).all()


@pytest.mark.parametrize("name", list(PAIRS))
def test_swapping_the_sides_swaps_the_bounds(name: str) -> None:
    p, n, q, m = grid(13, 8)
    low, high = PAIRS[name](p, n, q, m, 0.05)
    low_swapped, high_swapped = PAIRS[name](q, m, p, n, 0.05)
    with np.errstate(divide="ignore"):
        back = (
            (-high_swapped, -low_swapped)
            if name in DIFFERENCES
            else (
                1 / high_swapped,
                1 / low_swapped,
            )
        )
    np.testing.assert_allclose(low, back[0], rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(high, back[1], rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("name", ["newcombe", "odds"])
def test_turning_the_outcome_round_turns_the_bounds_round(name: str) -> None:
    p, n, q, m = grid(9, 14)
    low, high = PAIRS[name](p, n, q, m, 0.05)
    other_low, other_high = PAIRS[name](1 - p, n, 1 - q, m, 0.05)
    with np.errstate(divide="ignore"):
        back = (-other_high, -other_low) if name in DIFFERENCES else (1 / other_high, 1 / other_low)
    np.testing.assert_allclose(low, back[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(high, back[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", list(PAIRS))
def test_a_larger_alpha_gives_a_narrower_interval(name: str) -> None:
    p, n, q, m = grid(6, 9)
    levels = np.array(ALPHAS)[:, None, None]
    low, high = PAIRS[name](p, n, q, m, levels)
    assert low.shape == (len(ALPHAS), 7, 10)
    assert (low[:-1] <= low[1:] + 1e-9 * np.abs(low[1:])).all()
    assert (high[:-1] + 1e-9 * np.abs(high[:-1]) >= high[1:]).all()
    one_low, one_high = PAIRS[name](p, n, q, m, ALPHAS[2])
    np.testing.assert_allclose(low[2], one_low, rtol=1e-12)
    np.testing.assert_allclose(high[2], one_high, rtol=1e-12)


@pytest.mark.parametrize("name", list(PAIRS))
def test_four_times_the_people_give_a_narrower_interval(name: str) -> None:
    p, n, q, m = (side[1:-1, 1:-1] for side in grid(8, 9))
    low, high = PAIRS[name](p, n, q, m, 0.05)
    finer_low, finer_high = PAIRS[name](p, 4 * n, q, 4 * m, 0.05)
    assert (low < finer_low).all()
    assert (finer_high < high).all()


@pytest.mark.parametrize("name", ["newcombe", "koopman"])
def test_more_selected_move_the_bounds_up(name: str) -> None:
    low, high = PAIRS[name](*grid(10, 7), 0.05)
    for bound in (low, high):
        finite = np.where(np.isinf(bound), 1e300, bound)
        assert (np.diff(finite, axis=0) >= -1e-12).all()
        assert (np.diff(finite, axis=1) <= 1e-12).all()


@given(pairs(), st.floats(0.5, 8.0), alphas)
def test_sizes_need_not_be_whole(
    counts: tuple[int, int, int, int], factor: float, alpha: float
) -> None:
    """Under survey weights the sizes are effective ones: the definition does not change."""
    x, n, y, m = (count * factor for count in counts)
    found = bounds(newcombe, x, n, y, m, alpha)
    assert found == pytest.approx(oracle.newcombe(x, n, y, m, alpha), abs=1e-10)
    found = bounds(proportions.koopman, x, n, y, m, alpha)
    assert found == pytest.approx(oracle.koopman(x, n, y, m, alpha), rel=1e-7, abs=1e-12)


def test_zeros_have_limits() -> None:
    """metrics.md §0: a share of 0 below is infinite, not undefined."""
    for interval in (proportions.koopman, proportions.katz):
        assert bounds(interval, 0, 10, 3, 10, 0.05)[0] == 0
        assert bounds(interval, 3, 10, 0, 10, 0.05)[1] == math.inf
        assert bounds(interval, 0, 10, 0, 10, 0.05) == (0, math.inf)
    assert bounds(proportions.koopman, 0, 10, 3, 10, 0.05)[1] == pytest.approx(1.0822597947)
    assert bounds(proportions.koopman, 3, 10, 0, 10, 0.05)[0] == pytest.approx(0.9239925615)


@pytest.mark.parametrize("name", PAIRS)
def test_nobody_gives_nothing(name: str) -> None:
    function = PAIRS[name]
    nan = math.nan
    p, n = np.array([nan, 0.5, nan, 0.5]), np.array([0.0, 10, 10, 10])
    q, m = np.array([0.5, nan, 0.5, 0.5]), np.array([10.0, 0, 10, 10])
    low, high = function(p, n, q, m)
    assert np.isnan(low[:3]).all()
    assert np.isnan(high[:3]).all()
    assert not np.isnan([low[3], high[3]]).any()
    assert np.isnan(contingency.find_z(p, n, q, m)).tolist() == [True, True, True, False]
    low, high = proportions.wilson(p, n)
    assert np.isnan(low).tolist() == np.isnan(high).tolist() == [True, False, True, False]


@pytest.mark.parametrize("name", list(PAIRS))
def test_millions_of_people_agree_with_the_large_sample_limit(name: str) -> None:
    """With 1e8 people a side every interval of a ratio is Katz's, and of a difference Wald's."""
    p, n, q, m = np.array(0.3), np.array(1e8), np.array(0.6), np.array(2e8)
    z = oracle.quantile(0.05)
    low, high = PAIRS[name](p, n, q, m, 0.05)
    if name in DIFFERENCES:
        reach = z * math.sqrt(0.3 * 0.7 / 1e8 + 0.6 * 0.4 / 2e8)
        expected = -0.3 - reach, -0.3 + reach
    elif name == "odds":
        reach = z * math.sqrt(1 / 0.3e8 + 1 / 0.7e8 + 1 / 1.2e8 + 1 / 0.8e8)
        expected = 2 / 7 * math.exp(-reach), 2 / 7 * math.exp(reach)
    else:
        expected = oracle.katz(0.3e8, 1e8, 1.2e8, 2e8, 0.05)
    width = expected[1] - expected[0]
    assert (float(low), float(high)) == pytest.approx(expected, abs=2e-3 * width)


@pytest.mark.parametrize("alpha", [0.0, np.array(0.0)])
def test_certainty_leaves_everything_open(alpha: float) -> None:
    """`critical(0)` is infinite, so each interval is all that there can be."""
    share, size = np.array([0.0, 0.3, 1]), np.array([4.0, 10, 7])
    low, high = proportions.wilson(share, size, alpha)
    np.testing.assert_array_equal([low, high], [[0, 0, 0], [1, 1, 1]])


FAR_OUT = [
    (0, 24, 451, 451, 1e-50),
    (1, 12, 1295, 1295, 1e-155),
    (5, 6, 21583, 21583, 1e-162),
    (0, 3, 2, 900_000, 1e-300),
    (3, 7, 1, 10**7, 1e-9),
    (10**7, 10**7, 10**7 - 1, 10**7, 0.05),
]


@pytest.mark.parametrize(("x", "n", "y", "m", "alpha"), FAR_OUT)
def test_koopman_is_found_far_out(x: int, n: int, y: int, m: int, alpha: float) -> None:
    """Where all of many have the outcome the statistic has a corner that secants leap over."""
    for counts in ((x, n, y, m), (y, m, x, n)):
        found = bounds(proportions.koopman, *counts, alpha)
        assert found == pytest.approx(oracle.koopman(*counts, alpha), rel=1e-8, abs=0)


@given(st.integers(1, 10**6), st.sampled_from([1e-9, 0.001, 0.05, 0.3]), st.data())
def test_exact_bounds_are_those_of_statsmodels(n: int, alpha: float, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n))
    found = proportions.clopper_pearson(np.array(x / n), np.array(float(n)), alpha)
    assert [float(end) for end in found] == pytest.approx(
        proportion_confint(x, n, alpha, method="beta"), rel=1e-7, abs=1e-12
    )


@given(st.integers(1, 10**12), st.integers(1, 300))
def test_exact_bounds_far_out_keep_their_digits(n: int, digits: int) -> None:
    """Of nobody, everybody, and all but one: the only ones that need no root."""
    tail = math.log(0.5) - digits * math.log(10)
    shares = np.array([0.0, 1.0, 1 / n])
    low, high = proportions.clopper_pearson(shares, np.full(3, float(n)), 10.0**-digits)
    assert (low[0], high[1]) == (0, 1)
    assert high[0] == pytest.approx(-math.expm1(tail / n), rel=1e-9)
    assert low[1] == pytest.approx(math.exp(tail / n), rel=1e-9)
    one = -math.expm1(math.log1p(-(10.0**-digits) / 2) / n)
    # Where an end cannot be computed, it is the farthest there is.
    assert low[2] == pytest.approx(one, rel=1e-6) or (low[2] == 0 and one < 1e-100)


def test_a_hundred_thousand_pairs_are_one_call() -> None:
    random = np.random.default_rng(0)
    n, m = random.integers(1, 10**6, (2, 100_000)).astype(float)
    p, q = np.round(random.random(100_000) * n) / n, np.round(random.random(100_000) ** 4 * m) / m
    low, high = proportions.koopman(p, n, q, m, 1e-6)
    assert (low <= high).all()
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = p / q
    assert ((low <= ratio) | np.isnan(ratio)).all()
    assert ((ratio <= high) | np.isnan(ratio)).all()
    for entry in range(0, 100_000, 5_003):
        counts = (round(p[entry] * n[entry]), n[entry], round(q[entry] * m[entry]), m[entry])
        expected = oracle.koopman(*counts, 1e-6)
        assert (low[entry], high[entry]) == pytest.approx(expected, rel=1e-7)


def test_z_of_equal_or_certain_shares_is_zero() -> None:
    for x, n, y, m in ((0, 5, 0, 9), (5, 5, 9, 9), (4, 8, 3, 6)):
        z = contingency.find_z(*shares(x, n, y, m))
        p = normal_two_sided(z)
        assert (float(z), float(p)) == pytest.approx((0, 1))


@given(pairs())
def test_the_pooled_z_squared_is_pearsons_statistic(counts: tuple[int, int, int, int]) -> None:
    x, n, y, m = counts
    z = contingency.find_z(*shares(*counts))
    swapped = contingency.find_z(*shares(y, m, x, n))
    assert float(z) == pytest.approx(-float(swapped))
    if 0 < x + y < n + m:
        square, _ = oracle.pearson([[x, y], [n - x, m - y]])
        assert float(z) ** 2 == pytest.approx(square, abs=1e-9)
