"""Stratified tables: published, the slow oracle, other packages, laws."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
import stats_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from stats_oracle import Table, printed
from statsmodels.stats.contingency_tables import StratifiedTable, mcnemar

from fairaudit.stats import strata
from fairaudit.stats.distributions import normal_critical

Floats = NDArray[np.float64]


def columns(tables: Sequence[Table]) -> tuple[Floats, Floats, Floats, Floats]:
    """The strata as four arrays."""
    a, n, c, m = np.array(tables, dtype=np.float64).T
    return a, n, c, m


# Strata ------------------------------------------------------------------------------------------

# women and men admitted, departments A to F (Bickel, Hammel & O'Connell 1975; R: UCBAdmissions)
BERKELEY: list[Table] = [
    (89, 108, 512, 825),
    (17, 25, 353, 560),
    (202, 593, 120, 325),
    (131, 375, 138, 417),
    (94, 393, 53, 191),
    (24, 341, 22, 373),
]
KIDNEY: list[Table] = [(81, 87, 234, 270), (192, 263, 55, 80)]
RABBITS: list[Table] = [(0, 6, 0, 5), (3, 6, 0, 6), (6, 6, 2, 6), (5, 6, 6, 6), (2, 2, 5, 5)]
TOLBUTAMIDE: list[Table] = [(8, 106, 5, 120), (22, 98, 16, 85)]
SMOKING: list[Table] = [(647, 1269, 2, 29), (41, 69, 19, 51)]
TEETH: list[Table] = [(30, 55, 12, 29), (4, 10, 68, 162)]
CERVICAL: list[Table] = [(12, 33, 25, 143), (96, 244, 92, 242)]
# tuberculosis in vaccinated and others, thirteen trials (Colditz 1994; R: metadat::dat.bcg)
BCG: list[Table] = [
    (4, 123, 11, 139),
    (6, 306, 29, 303),
    (3, 231, 11, 220),
    (62, 13598, 248, 12867),
    (33, 5069, 47, 5808),
    (180, 1541, 372, 1451),
    (8, 2545, 10, 629),
    (505, 88391, 499, 88391),
    (29, 7499, 45, 7277),
    (17, 1716, 65, 1665),
    (186, 50634, 141, 27338),
    (5, 2498, 3, 2341),
    (27, 16913, 29, 17854),
]


class Published(NamedTuple):
    """One published number of a stratified table."""

    tables: list[Table]
    alpha: float
    attribute: str
    value: str
    source: str


R_CMH = "R, ?mantelhaen.test: stats-Ex.Rout.save"
ROTHMAN = "Rothman, Greenland & Lash 2008, Table 15-1 (R: metafor, analyses:rothman2008)"
METAN = "R: metafor, test_misc_metan_vs_rma.mh_with_dat.bcg.r (Stata: metan)"
OURS = "metrics.md §9"
STRATA = [
    Published(RABBITS, 0.05, "odds_ratio", "7", R_CMH),
    Published(RABBITS, 0.05, "odds_low", "1.026713", R_CMH),
    Published(RABBITS, 0.05, "odds_high", "47.725133", R_CMH),
    Published(BERKELEY, 0.05, "odds_ratio", "1.105343", OURS),
    Published(BERKELEY, 0.05, "statistic", "1.524607", OURS),
    Published(BERKELEY, 0.05, "p", "0.2169", OURS),
    Published(KIDNEY, 0.05, "odds_ratio", "1.446847", OURS),
    Published(KIDNEY, 0.05, "p", "0.1187", OURS),
    Published(TOLBUTAMIDE, 0.1, "odds_ratio", "1.4031", ROTHMAN),
    Published(TOLBUTAMIDE, 0.1, "odds_low", "0.8411", ROTHMAN),
    Published(TOLBUTAMIDE, 0.1, "odds_high", "2.3409", ROTHMAN),
    Published(TOLBUTAMIDE, 0.1, "difference", "0.0349", ROTHMAN),
    Published(TOLBUTAMIDE, 0.1, "difference_low", "-0.0176", ROTHMAN),
    Published(TOLBUTAMIDE, 0.1, "difference_high", "0.0874", ROTHMAN + ", 0.088 in the chapter"),
    Published(TOLBUTAMIDE, 0.1, "statistic", "1.1914", ROTHMAN),
    Published(TOLBUTAMIDE, 0.1, "p", "0.2750", ROTHMAN),
    # contingencytables' interval for it, 2.3556 to 8.6880, has n12 + n22 for n12 + n21 in its code
    Published(SMOKING, 0.05, "odds_ratio", "4.5239", "Doll & Hill 1950 (R: contingencytables)"),
    Published(SMOKING, 0.05, "statistic", "24.920", "Doll & Hill 1950 (R: contingencytables)"),
    Published(BCG, 0.05, "odds_ratio", "0.6229", METAN),
    Published(BCG, 0.05, "odds_low", "0.5748", METAN),
    Published(BCG, 0.05, "odds_high", "0.6750", METAN),
    Published(BCG, 0.05, "difference", "-0.0033", METAN),
    Published(BCG, 0.05, "difference_low", "-0.0039", METAN),
    Published(BCG, 0.05, "difference_high", "-0.0027", METAN),
]


@pytest.mark.parametrize("row", STRATA, ids=lambda row: f"{row.source} {row.attribute}")
def test_mantel_haenszel_is_as_published(row: Published) -> None:
    found = strata.mantel_haenszel(*columns(row.tables), row.alpha)
    assert printed(float(getattr(found, row.attribute)), row.value), row.source


def test_men_against_women_is_the_inverse_that_r_prints() -> None:
    """?mantelhaen.test(UCBAdmissions): .9046968, .7719074 to 1.0603298; z of Sato's in metafor."""
    a, n, c, m = columns(BERKELEY)
    found = strata.mantel_haenszel(c, m, a, n)
    assert printed(float(found.odds_ratio), "0.9046968")
    assert printed(float(found.odds_low), "0.7719074")
    assert printed(float(found.odds_high), "1.0603298")
    bcg = strata.mantel_haenszel(*columns(BCG))
    error = float(bcg.difference_high - bcg.difference_low) / 2 / oracle.quantile(0.05)
    assert printed(float(bcg.difference) / error, "-11.4708")


HOMOGENEITY = [
    (BERKELEY, "18.8255", 5, "0.00207", OURS),
    (KIDNEY, "0.97", 1, "0.3251", OURS),
    (TEETH, "0.57493", 1, "0.4483", "R: DescTools::BreslowDayTest, msph-p8120, breslow_day"),
    (CERVICAL, "4.2069", 1, "0.04026", "R: DescTools::BreslowDayTest, msph-p8120, breslow_day"),
]


@pytest.mark.parametrize(("tables", "statistic", "df", "p", "source"), HOMOGENEITY)
def test_breslow_day_is_as_published(
    tables: list[Table], statistic: str, df: int, p: str, source: str
) -> None:
    found = strata.breslow_day(*columns(tables))
    assert printed(float(found[0]), statistic), source
    assert int(found[1]) == df
    assert printed(float(found[2]), p), source


def test_job_satisfaction_is_as_published() -> None:
    """Agresti (2002), Tables 7.8 and 7.12; ?mantelhaen.test: M² = 10.2001, df = 9, p = .3345."""
    women = [[1, 3, 11, 2], [2, 3, 17, 3], [0, 1, 8, 5], [0, 2, 4, 2]]
    men = [[1, 1, 2, 1], [0, 3, 5, 1], [0, 0, 7, 3], [0, 1, 9, 6]]
    counts = np.array([women, men], dtype=float)
    for arranged in (counts, counts.transpose(0, 2, 1), counts[::-1, ::-1]):
        statistic, df, p = strata.generalized_cmh(arranged)
        assert printed(float(statistic), "10.2001")
        assert int(df) == 9
        assert printed(float(p), "0.3345")


def nominal(counts: Floats) -> float:
    """Landis, Heyman & Koch (1978): general association, all cells and a pseudo-inverse."""
    surplus, covariance = np.zeros(counts[0].size), np.zeros((counts[0].size,) * 2)
    for table in counts:
        total, rows, across = table.sum(), table.sum(axis=1), table.sum(axis=0)
        if total > 1:
            surplus += (table - np.outer(rows, across) / total).ravel()
            of_rows = np.diag(rows) * total - np.outer(rows, rows)
            of_columns = np.diag(across) * total - np.outer(across, across)
            covariance += np.kron(of_rows, of_columns) / (total**2 * (total - 1))
    return float(surplus @ np.linalg.pinv(covariance, rcond=1e-10) @ surplus)


@given(st.integers(2, 4), st.integers(2, 4), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_generalized_is_the_quadratic_form(k: int, g: int, s: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 12, (s, k, g)).astype(float)
    counts[0] += 1
    statistic, df, p = strata.generalized_cmh(counts)
    assert float(statistic) == pytest.approx(nominal(counts), rel=1e-7, abs=1e-9)
    assert int(df) == (k - 1) * (g - 1)
    assert float(p) == pytest.approx(float(scipy.stats.chi2.sf(statistic, df)), rel=1e-7, abs=0)


def test_classes_and_strata_that_are_empty_do_not_count() -> None:
    counts = np.array([[[3.0, 9, 4], [8, 1, 5]], [[6, 2, 2], [4, 7, 1]]])
    holed = np.zeros((4, 3, 4))
    holed[np.ix_([0, 2], [0, 2], [0, 1, 3])] = counts
    holed[3, 0, 1] = 1  # one person alone compares with nobody
    for found, expected in zip(
        strata.generalized_cmh(holed), strata.generalized_cmh(counts), strict=True
    ):
        assert float(found) == pytest.approx(float(expected))


@st.composite
def stratified(draw: st.DrawFn) -> list[Table]:
    """Draw a few strata with both outcomes on both sides of the first."""

    def side() -> tuple[int, int]:
        n = draw(st.integers(1, 40))
        return draw(st.integers(0, n)), n

    rest: list[Table] = [(*side(), *side()) for _ in range(draw(st.integers(0, 4)))]
    n, m = draw(st.integers(2, 40)), draw(st.integers(2, 40))
    return [(draw(st.integers(1, n - 1)), n, draw(st.integers(1, m - 1)), m), *rest]


@given(stratified(), st.sampled_from([1e-9, 0.05, 0.5]))
def test_mantel_haenszel_is_that_of_the_definitions(tables: list[Table], alpha: float) -> None:
    found = strata.mantel_haenszel(*columns(tables), alpha)
    z = oracle.quantile(alpha)
    assert float(found.statistic) == pytest.approx(
        oracle.cochran_mantel_haenszel(tables), rel=1e-8, abs=1e-10
    )
    assert float(found.p) == pytest.approx(float(scipy.stats.chi2.sf(found.statistic, 1)))
    ratio, variance = oracle.common_odds_ratio(tables)
    spread = math.exp(z * math.sqrt(variance))
    assert float(found.odds_ratio) == pytest.approx(ratio)
    assert float(found.odds_low) == pytest.approx(ratio / spread, rel=1e-8)
    assert float(found.odds_high) == pytest.approx(ratio * spread, rel=1e-8)
    difference, variance = oracle.common_difference(tables)
    reach = z * math.sqrt(variance)
    assert float(found.difference) == pytest.approx(difference, abs=1e-12)
    low, high = float(found.difference_low), float(found.difference_high)
    assert low == pytest.approx(max(difference - reach, -1.0), abs=1e-9) or low == pytest.approx(
        difference - reach, abs=1e-9
    )
    assert high == pytest.approx(min(difference + reach, 1.0), abs=1e-9) or high == pytest.approx(
        difference + reach, abs=1e-9
    )


@given(stratified())
def test_statsmodels_prints_the_same_odds_ratio(tables: list[Table]) -> None:
    """Its test of homogeneity is 0/0 where a stratum has one outcome only or all odds are equal."""
    whole = [np.array([[a, n - a], [c, m - c]]) for a, n, c, m in tables]
    theirs = StratifiedTable([table.astype(float) for table in whole])
    found = strata.mantel_haenszel(*columns(tables))
    assert float(found.odds_ratio) == pytest.approx(theirs.oddsratio_pooled)
    low, high = theirs.oddsratio_pooled_confint()
    assert (float(found.odds_low), float(found.odds_high)) == pytest.approx((low, high))
    if all(n + m > 1 for _, n, _, m in tables):
        null = theirs.test_null_odds(correction=False)
        assert float(found.statistic) == pytest.approx(null.statistic, rel=1e-7, abs=1e-9)
    one = abs(float(theirs.oddsratio_pooled) - 1) < 1e-6
    if not one and all(0 < a + c < n + m for a, n, c, m in tables):
        equal = theirs.test_equal_odds()
        statistic, df, p = strata.breslow_day(*columns(tables))
        assert float(statistic) == pytest.approx(equal.statistic, rel=1e-5, abs=1e-7)
        if len(tables) > 1:
            assert int(df) == len(tables) - 1
            assert float(p) == pytest.approx(equal.pvalue, rel=1e-4, abs=1e-9)


@given(stratified())
def test_strata_are_those_of_two_by_two(tables: list[Table]) -> None:
    a, n, c, m = columns(tables)
    one = strata.mantel_haenszel(a, n, c, m)
    statistic, df, p = strata.generalized_cmh(
        np.stack([np.stack([a, c], -1), np.stack([n - a, m - c], -1)], 1)
    )
    assert float(statistic) == pytest.approx(float(one.statistic), abs=1e-8)
    assert int(df) == 1
    assert float(p) == pytest.approx(float(one.p), abs=1e-9)
    assert float(strata.breslow_day(a, n, c, m)[0]) == pytest.approx(
        oracle.breslow_day(tables), rel=1e-6, abs=1e-7
    )
    swapped = strata.mantel_haenszel(c, m, a, n)
    assert float(swapped.odds_ratio) == pytest.approx(1 / float(one.odds_ratio))
    assert float(swapped.odds_low) == pytest.approx(1 / float(one.odds_high))
    assert float(swapped.difference) == pytest.approx(-float(one.difference))
    assert float(swapped.difference_low) == pytest.approx(-float(one.difference_high))
    assert float(swapped.p) == pytest.approx(float(one.p))


def test_only_informative_strata_make_degrees_of_freedom() -> None:
    """A stratum where everybody, or only one side, is there fits every odds ratio."""
    plain = strata.breslow_day(*columns(CERVICAL))
    idle: list[Table] = [(0, 9, 0, 4), (7, 7, 5, 5), (3, 8, 0, 0)]
    found = strata.breslow_day(*columns([*CERVICAL, *idle]))
    for one, other in zip(found, plain, strict=True):
        assert float(one) == pytest.approx(float(other))
    with_idle = strata.mantel_haenszel(*columns([*CERVICAL, (3, 8, 0, 0), (0, 0, 4, 9)]))
    without = strata.mantel_haenszel(*columns(CERVICAL))
    for name in ("statistic", "odds_ratio", "odds_low", "difference", "difference_high"):
        assert float(getattr(with_idle, name)) == pytest.approx(float(getattr(without, name)))


def test_strata_come_with_further_axes() -> None:
    """[S, ...]: pairs of groups stand side by side."""
    stacks = [np.stack(sides, -1) for sides in zip(columns(KIDNEY), columns(CERVICAL), strict=True)]
    found = strata.mantel_haenszel(*stacks)
    assert found.odds_ratio.shape == found.p.shape == found.difference_high.shape == (2,)
    homogeneity = strata.breslow_day(*stacks)
    for column, tables in enumerate((KIDNEY, CERVICAL)):
        alone = strata.mantel_haenszel(*columns(tables))
        assert found.odds_ratio[column] == pytest.approx(float(alone.odds_ratio))
        assert found.difference_low[column] == pytest.approx(float(alone.difference_low))
        assert homogeneity[0][column] == pytest.approx(oracle.breslow_day(tables))


def test_nobody_in_any_stratum_is_undefined() -> None:
    found = strata.mantel_haenszel(*np.zeros((4, 3)))
    for name in ("odds_ratio", "odds_low", "odds_high", "difference", "difference_low"):
        assert math.isnan(float(getattr(found, name)))
    only_up = strata.mantel_haenszel(*columns([(5, 5, 3, 6), (4, 4, 2, 3)]))
    assert float(only_up.odds_ratio) == math.inf
    assert not float(only_up.difference) <= 0


# Gail & Simon ------------------------------------------------------------------------------------

CROSSOVER = {2: "2.71", 3: "4.23", 4: "5.43", 5: "6.50", 6: "7.48", 7: "8.41", 8: "9.29"}
CROSSOVER |= {9: "10.15", 10: "10.99"}


def test_qualitative_interaction_is_as_published() -> None:
    """Gail & Simon (1985) Biometrics 41:361, breast cancer (NSABP) by age and receptor.

    The differences and errors of the four subsets are in R: biostatUZH::gailSimon, too;
    Q+ = 4.28 of one subset against Q- = 10.94 of three, p = .088.
    """
    difference = np.array([0.163, -0.114, -0.047, -0.151])
    variance = np.array([0.0788, 0.0689, 0.0614, 0.0547]) ** 2
    for sign in (1, -1):
        statistic, p = strata.gail_simon(sign * difference, variance)
        assert printed(float(statistic), "4.28")
        assert printed(float(p), "0.088")


@pytest.mark.parametrize(("subsets", "critical"), CROSSOVER.items())
def test_critical_values_are_those_of_gail_and_simon(subsets: int, critical: str) -> None:
    """Their Table 1: what min(Q+, Q-) exceeds in 5 % of trials without interaction."""
    half = 0.005
    for value, above in ((float(critical) - half, True), (float(critical) + half, False)):
        difference = np.full(subsets, 50.0)
        difference[0] = -math.sqrt(value)
        _, p = strata.gail_simon(difference, np.ones(subsets))
        assert (float(p) > 0.05) is above


def test_one_direction_only_is_no_interaction() -> None:
    for difference in (np.array([0.1, 0.2, 0.3]), np.array([-0.1, 0, -0.3])):
        statistic, p = strata.gail_simon(difference, np.full(3, 0.01))
        assert float(statistic) == 0
        assert float(p) == pytest.approx(1, abs=0.2501)  # some write 1 - 2^-(I-1) for a zero
    stacked = np.stack([np.array([0.1, -0.2, 0.3]), np.array([0.1, 0.2, 0.3])], -1)
    statistic, p = strata.gail_simon(stacked, np.full((3, 2), 0.01))
    assert statistic.shape == p.shape == (2,)
    assert float(statistic[0]) == pytest.approx(4)


# Averages over sparse strata ------------------------------------------------------------------


def outcomes(n: int, p: float) -> list[tuple[int, float]]:
    """Every number of hits among n people, with its chance."""
    return [(x, math.comb(n, x) * p**x * (1 - p) ** (n - x)) for x in range(n + 1)]


def solved(find: Any, weights: list[float], tables: list[tuple[int, int, int, int]]) -> Any:
    """The bounds of an average over strata."""
    cells = [np.array([[table[at]] for table in tables], dtype=float) for at in range(4)]
    return find(np.array([[w] for w in weights]), *cells, 0.05)


@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (3, 2)])
@pytest.mark.parametrize(("p", "q"), [(0.3, 0.3), (0.7, 0.4), (0.15, 0.5)])
def test_the_variance_for_sparse_strata_is_unbiased(
    sizes: tuple[int, int], p: float, q: float
) -> None:
    """Over every table that there is, by hand: its mean is p(1 - p)/n + q(1 - q)/m."""
    n, m = sizes
    of_difference = of_ratio = 0.0
    for (a, one), (c, other) in product(outcomes(n, p), outcomes(m, q)):
        apart = (a * (m - c) + c * (n - a)) / (n * m)
        slope = ((1 - 2 * a / n) / n - (1 - 2 * c / m) / m) / 2
        of_difference += one * other * (apart * (1 / n + 1 / m) / 2 + (p - q) * slope)
        rho, both = p / q, a * c / (n * m)
        terms = (a / n - rho * both) / n + (rho * rho * c / m - rho * both) / m
        of_ratio += one * other * terms
    assert of_difference == pytest.approx(p * (1 - p) / n + q * (1 - q) / m)
    assert of_ratio == pytest.approx(p * (1 - p) / n + (p / q) ** 2 * q * (1 - q) / m)


def test_bounds_for_sparse_strata_are_where_the_squared_error_is_that_large() -> None:
    draw = np.random.default_rng(4)
    tables = [
        (int(draw.integers(0, n + 1)), int(n), int(draw.integers(0, m + 1)), int(m))
        for n, m in draw.integers(1, 5, (30, 2))
    ]
    weights = draw.dirichlet(np.ones(30)).tolist()
    square = normal_critical(0.05) ** 2
    total = [sum(w * a / n for w, (a, n, _, _) in zip(weights, tables, strict=True)),
             sum(w * c / m for w, (_, _, c, m) in zip(weights, tables, strict=True))]  # fmt: skip

    def variance(delta: float) -> Any:
        return sum(
            w * w * ((a * (m - c) + c * (n - a)) / (n * m) * (1 / n + 1 / m) / 2
                     + delta * ((1 - 2 * a / n) / n - (1 - 2 * c / m) / m) / 2)
            for w, (a, n, c, m) in zip(weights, tables, strict=True)
        )  # fmt: skip

    def of_ratio(rho: float) -> Any:
        return sum(
            w * w * ((a / n - rho * a * c / (n * m)) / n
                     + (rho * rho * c / m - rho * a * c / (n * m)) / m)
            for w, (a, n, c, m) in zip(weights, tables, strict=True)
        )  # fmt: skip

    for end in solved(strata.average_difference, weights, tables):
        gap = total[0] - total[1] - float(end[0])
        assert gap**2 == pytest.approx(square * variance(float(end[0])))
    for end in solved(strata.average_ratio, weights, tables):
        gap = total[0] - float(end[0]) * total[1]
        assert gap**2 == pytest.approx(square * of_ratio(float(end[0])))


def test_matched_pairs_are_told_by_the_pairs_that_differ() -> None:
    """Of pairs the null variance is McNemar's: discordant pairs over the square of their number."""
    tables = [(1, 1, 0, 1)] * 22 + [(0, 1, 1, 1)] * 9 + [(1, 1, 1, 1)] * 30 + [(0, 1, 0, 1)] * 39
    alpha = float(mcnemar([[30, 22], [9, 39]], exact=False, correction=False).pvalue)
    cells = [np.array([[table[at]] for table in tables], dtype=float) for at in range(4)]
    a, n, c, m = cells
    low, _ = strata.average_difference(np.full((100, 1), 0.01), a, n, c, m, alpha)
    assert float(low[0]) == pytest.approx(0, abs=1e-9)
