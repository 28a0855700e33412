"""Tests of whole tables, exact and approximate: published, enumerated, other packages, laws."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
import stats_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from stats_oracle import printed
from statsmodels.stats.contingency_tables import mcnemar

from fairaudit.stats import contingency

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@st.composite
def tables(draw: st.DrawFn, most: int = 40) -> tuple[int, int, int, int]:
    """Draw a of n against c of m."""
    n, m = draw(st.integers(1, most)), draw(st.integers(1, most))
    return draw(st.integers(0, n)), n, draw(st.integers(0, m)), m


def integers(*counts: Any) -> tuple[NDArray[np.int64], ...]:
    """Counts as the arrays of integers that the exact tests take."""
    return tuple(np.asarray(count, dtype=np.int64) for count in counts)


# Fisher ------------------------------------------------------------------------------------------


class Exact(NamedTuple):
    """A published exact test: p and mid-p, where printed."""

    table: tuple[int, int, int, int]
    p: str
    mid_p: str | None
    source: str


R_FISHER = "R, ?fisher.test: tests/Examples/stats-Ex.Rout.save"
OURS = "metrics.md, vectors"
EXACT = [
    Exact((3, 4, 1, 4), "0.4857", None, R_FISHER + ", TeaTasting, two-sided (Agresti 2002, p. 92)"),
    Exact((2, 17, 10, 13), "0.0005367", None, R_FISHER + ", Convictions (Fisher 1962)"),
    Exact((0, 16, 15, 72), "0.06287", "0.04466", "Ritland 2007 (R: contingencytables, ch. 4)"),
    Exact((12, 40, 48, 80), "0.00340922", "0.00214224", OURS),
    Exact((2, 30, 12, 40), "0.0177311", "0.0114433", OURS),
    Exact((1, 10, 3, 10), "0.582043", "0.334365", OURS),
]


@pytest.mark.parametrize("row", EXACT, ids=lambda row: str(row.table))
def test_fisher_is_as_published(row: Exact) -> None:
    assert printed(float(contingency.fisher(*integers(*row.table))), row.p), row.source
    if row.mid_p is not None:
        found = float(contingency.fisher_mid_p(*integers(*row.table)))
        assert printed(found, row.mid_p), row.source


@given(tables())
def test_fisher_adds_up_the_tables_that_are_no_likelier(table: tuple[int, int, int, int]) -> None:
    whole, middle = oracle.fisher(*table)
    assert float(contingency.fisher(*integers(*table))) == pytest.approx(whole, rel=1e-9, abs=0)
    assert float(contingency.fisher_mid_p(*integers(*table))) == pytest.approx(
        middle, rel=1e-9, abs=0
    )


def test_fisher_is_one_call_for_every_table_of_two_groups() -> None:
    a, c = np.meshgrid(np.arange(8), np.arange(12), indexing="ij")
    p = contingency.fisher(a, np.array(7), c, np.array(11))
    mid = contingency.fisher_mid_p(a, np.array(7), c, np.array(11))
    assert p.shape == mid.shape == (8, 12)
    for i in range(8):
        for j in range(12):
            whole, middle = oracle.fisher(i, 7, j, 11)
            assert p[i, j] == pytest.approx(whole, rel=1e-9, abs=0)
            assert mid[i, j] == pytest.approx(middle, rel=1e-9, abs=0)
            assert p[i, j] == pytest.approx(scipy.stats.fisher_exact([[i, 7 - i], [j, 11 - j]])[1])


@given(tables(), st.booleans())
def test_fisher_does_not_mind_which_side_or_outcome_comes_first(
    table: tuple[int, int, int, int], outcome: bool
) -> None:
    a, n, c, m = table
    other = (n - a, n, m - c, m) if outcome else (c, m, a, n)
    for test in (contingency.fisher, contingency.fisher_mid_p):
        p, swapped = float(test(*integers(*table))), float(test(*integers(*other)))
        assert p == pytest.approx(swapped, rel=1e-9, abs=0)
        assert 0 < p <= 1


MILLION = 1_000_000
LARGE = [
    (3, MILLION, 12, MILLION),  # its mirror image is exactly as likely: ties at a large scale
    (0, MILLION, 9, 999_999),
    (MILLION - 2, MILLION, MILLION - 11, MILLION),
    (3, 3, 500_000, MILLION),
    (0, 4, 1, MILLION),
    (2, 700_000, 0, 1_000),
    (7, 12, 250_000, MILLION),
]


@pytest.mark.parametrize("table", LARGE)
def test_fisher_is_exact_for_a_million_people(table: tuple[int, int, int, int]) -> None:
    """The slow sum takes the smallest margin as the sample: its binomials are short fractions."""
    a, n, c, m = table
    if n - a + m - c < a + c:
        a, c = n - a, m - c
    if min(n, m) < a + c:  # a group is the smallest margin: rows and columns change places
        (a, c), (n, m) = (
            ((a, n - a), (a + c, n - a + m - c))
            if n < m
            else (
                (c, m - c),
                (a + c, n - a + m - c),
            )
        )
    whole = Fraction(math.comb(n + m, a + c))
    weights = {
        k: Fraction(math.comb(n, k) * math.comb(m, a + c - k)) / whole
        for k in range(max(0, a + c - m), min(n, a + c) + 1)
    }
    p = float(sum(w for w in weights.values() if w <= weights[a]))
    middle = p - float(sum(w for w in weights.values() if w == weights[a])) / 2
    assert float(contingency.fisher(*integers(*table))) == pytest.approx(p, rel=1e-6, abs=0)
    assert float(contingency.fisher_mid_p(*integers(*table))) == pytest.approx(
        middle, rel=1e-6, abs=0
    )


FAR = [
    (20, 500, 900, 90_000),
    (0, 700, 900, 90_000),
    (35, 1000, 10_000, 1_000_000),
    (12, 40, 17, 800),
    (300, 20_000, 900, 90_000),
]


@pytest.mark.parametrize("table", FAR)
def test_far_out_in_the_tail_of_a_rare_rate_z_is_marked_as_off(
    table: tuple[int, int, int, int],
) -> None:
    """By SciPy's exact test: z is off by more than a tenth, Fisher's test by nothing."""
    a, n, c, m = table
    share, size, other, people = (np.array(float(x)) for x in (a / n, n, c / m, m))
    z = contingency.find_z(share, size, other, people)
    assert not np.isnan(contingency.find_far_roots(share, size, other, people, z))
    exact = scipy.stats.fisher_exact([[a, n - a], [c, m - c]]).pvalue
    assert float(contingency.fisher(*integers(*table))) == pytest.approx(exact, rel=1e-9, abs=0)
    middle = float(contingency.fisher_mid_p(*integers(*table)))
    assert not 1 / 1.1 < 2 * scipy.stats.norm.sf(abs(z)) / middle < 1.1


def test_where_z_is_not_marked_it_is_near_the_mid_p() -> None:
    """Tails of rates from 1 to 50 %: on average as large, and never off by half."""
    random = np.random.default_rng(4)
    n, m = (np.exp(random.uniform(4, 10, 4000)).astype(np.int64) for _ in range(2))
    share = np.exp(random.uniform(np.log(0.01), np.log(0.5), 4000))
    reach = random.uniform(-6, 6, 4000) * np.sqrt(share * (1 - share) / n)
    a = np.clip(np.rint((share + reach) * n), 0, n).astype(np.int64)
    c = random.binomial(m, share)
    sides = a / n, n.astype(float), c / m, m.astype(float)
    z = contingency.find_z(*sides)
    enough = contingency.smallest_expected(*sides) >= 5
    kept = enough & (abs(z) > 2.3) & (abs(z) < 7) & np.isnan(contingency.find_far_roots(*sides, z))
    middle = contingency.fisher_mid_p(a, n, c, m)
    off = np.log(2 * scipy.stats.norm.sf(abs(z[kept])) / middle[kept])
    assert kept.sum() > 200
    assert abs(off.mean()) < 0.03
    assert abs(off).max() < 0.5


def test_no_probability_is_above_one() -> None:
    for n in (19, 40):
        a, c = np.meshgrid(np.arange(n + 1), np.arange(6), indexing="ij")
        assert (contingency.fisher(a, np.array(n), c, np.array(5)) <= 1).all()


def test_a_certain_outcome_tells_nothing() -> None:
    for table in ((0, 5, 0, 9), (5, 5, 9, 9)):
        assert float(contingency.fisher(*integers(*table))) == pytest.approx(1)
        assert float(contingency.fisher_mid_p(*integers(*table))) == pytest.approx(1)


@given(tables())
def test_the_smallest_expected_count_is_that_of_the_table(
    table: tuple[int, int, int, int],
) -> None:
    a, n, c, m = table
    expected = min(size * margin / (n + m) for size in (n, m) for margin in (a + c, n - a + m - c))
    found = contingency.smallest_expected(
        np.array(a / n), np.array(float(n)), np.array(c / m), np.array(float(m))
    )
    assert float(found) == pytest.approx(expected, abs=1e-9)


# Pearson, the likelihood ratio ------------------------------------------------------------------


class Whole(NamedTuple):
    """A published test of a table of counts."""

    rows: Sequence[Sequence[float]]
    statistic: str
    df: int
    p: str
    source: str


SMOKERS = [[83, 90, 129, 70], [3, 3, 7, 12]]
PEARSON = [
    Whole(SMOKERS, "12.6004", 3, "0.005585", "R, ?prop.test, smokers (Fleiss 1981, p. 139)"),
    Whole(
        [[762, 327, 468], [484, 239, 477]],
        "30.0701",
        2,
        "2.954e-07",
        "R, ?chisq.test, gender and party (Agresti 2007, p. 39)",
    ),
    Whole([[40, 25], [54, 7], [63, 10]], "17.562", 2, "0.00015", "R: contingencytables, table 7.3"),
    Whole([[3, 1], [1, 3]], "2.000", 1, "0.15730", "R: contingencytables, tea"),
    Whole([[647, 622], [2, 27]], "22.04", 1, "0.000", "Doll & Hill 1950, on crosstabs.com"),
    Whole([[250, 270, 240, 260], [750, 730, 760, 740]], "2.631925", 3, "0.45192", OURS),
]


@pytest.mark.parametrize("row", PEARSON, ids=lambda row: row.source)
def test_pearson_is_as_published(row: Whole) -> None:
    for counts in (np.array(row.rows, dtype=float), np.array(row.rows, dtype=float).T):
        statistic, df, p = contingency.chi_square(counts)
        assert printed(float(statistic), row.statistic)
        assert int(df) == row.df
        assert printed(float(p), row.p)


def test_the_likelihood_ratio_is_as_published() -> None:
    statistic, df, p = contingency.g_test(np.array([[3.0, 1], [1, 3]]))
    assert printed(float(statistic), "2.093")  # R: contingencytables, LR_test_2x2(tea)
    assert int(df) == 1
    assert printed(float(p), "0.14798")


@given(st.integers(2, 4), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_scipy_prints_the_same_for_full_margins(k: int, g: int, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 30, (k, g)).astype(float)
    counts[0] += 1
    counts[:, 0] += 1
    for test, exponent in ((contingency.chi_square, 1), (contingency.g_test, 0)):
        statistic, df, p = test(counts)
        theirs = scipy.stats.chi2_contingency(counts, correction=False, lambda_=exponent)
        assert float(statistic) == pytest.approx(theirs.statistic, abs=1e-9)
        assert int(df) == theirs.dof
        assert float(p) == pytest.approx(theirs.pvalue, rel=1e-8, abs=1e-14)
    square, ratio = oracle.pearson(counts.tolist())
    assert float(contingency.chi_square(counts)[0]) == pytest.approx(square, abs=1e-9)
    assert float(contingency.g_test(counts)[0]) == pytest.approx(ratio, abs=1e-9)


@pytest.mark.parametrize("test", [contingency.chi_square, contingency.g_test])
def test_empty_rows_and_columns_do_not_count(test: Any) -> None:
    """Scipy refuses a table with an empty margin: here it is as if it were not there."""
    full = np.array([[12.0, 48, 7], [28, 32, 9]])
    holed = np.zeros((3, 5))
    holed[np.ix_([0, 2], [0, 2, 3])] = full
    expected = test(full)
    for found, value in zip(test(holed), expected, strict=True):
        assert float(found) == pytest.approx(float(value))


@pytest.mark.parametrize("test", [contingency.chi_square, contingency.g_test])
def test_tables_come_in_stacks_and_nothing_to_compare_is_no_evidence(test: Any) -> None:
    stack = np.array(
        [[[10.0, 20], [30, 5]], [[10, 0], [30, 0]], [[4, 6], [0, 0]], [[0, 0], [0, 0]]]
    )
    statistic, df, p = test(stack)
    assert statistic.shape == df.shape == p.shape == (4,)
    assert df.tolist() == [1, 0, 0, 0]
    np.testing.assert_allclose(statistic[1:], 0, atol=1e-12)
    np.testing.assert_allclose(p[1:], 1)
    alone = test(stack[0])
    assert (float(statistic[0]), float(p[0])) == pytest.approx((float(alone[0]), float(alone[2])))


@given(st.floats(0.1, 50))
def test_pearson_grows_with_the_weights(factor: float) -> None:
    """Effective sizes under survey weights are no whole numbers: both statistics scale."""
    counts = np.array([[12.0, 48, 7], [28, 32, 9]])
    for test in (contingency.chi_square, contingency.g_test):
        assert float(test(counts * factor)[0]) == pytest.approx(float(test(counts)[0]) * factor)


# McNemar -----------------------------------------------------------------------------------------


def test_mcnemar_is_as_published() -> None:
    """Agresti (1990), p. 350: z² = 17.36 for the approval ratings, without correction.

    R prints 16.8178 for them (?mcnemar.test), which is with the correction: (|86 - 150| - 1)²/236.
    Cavo (2012), 6 against 16 discordant pairs: exact .052479 (R: contingencytables, ch. 8).
    """
    b, c = integers([86, 6], [150, 16])
    statistic, p, exact = contingency.mcnemar(b, c)
    assert printed(float(statistic[0]), "17.36")
    assert exact.tolist() == [False, True]
    assert printed(float(p[1]), "0.052479")
    assert (abs(86 - 150) - 1) ** 2 / 236 == pytest.approx(16.8178, abs=5e-5)


def test_mcnemar_is_exact_below_twenty_five_discordant_pairs() -> None:
    b, c = np.meshgrid(np.arange(30), np.arange(30), indexing="ij")
    statistic, p, exact = contingency.mcnemar(b, c)
    assert (exact == (b + c < 25)).all()
    assert exact.dtype == np.bool_
    for i, j in ((0, 1), (0, 24), (3, 9), (10, 10), (12, 12), (11, 13), (20, 4)):
        assert p[i, j] == pytest.approx(oracle.sign_test(i, j), rel=1e-9, abs=0)
        assert p[i, j] == pytest.approx(scipy.stats.binomtest(i, i + j).pvalue, rel=1e-9, abs=0)
    for i, j in ((25, 0), (12, 13), (29, 29), (5, 20)):
        theirs = mcnemar([[0, i], [j, 0]], exact=False, correction=False)
        assert statistic[i, j] == pytest.approx(theirs.statistic)
        assert p[i, j] == pytest.approx(theirs.pvalue)
    np.testing.assert_allclose(p, p.T)
    assert p[0, 0] == 1


# Permutation -------------------------------------------------------------------------------------


def gap(tables: Floats) -> Floats:
    """The largest share of a group minus the smallest, of each table."""
    shares = tables[:, 0] / tables.sum(axis=1)
    spread: Floats = shares.max(axis=-1) - shares.min(axis=-1)
    return spread


def first(tables: Floats) -> Floats:
    """The share of the first group."""
    return np.asarray(tables[:, 0, 0] / tables[:, :, 0].sum(axis=1))


def of_two_classes(selected: Sequence[int], sizes: Sequence[int]) -> Ints:
    """A table of those selected and the others."""
    hits, people = integers(selected, sizes)
    return np.stack([hits, people - hits])


DEALT = [
    ([1, 4, 6], [6, 6, 6]),
    ([3, 3, 5], [6, 6, 6]),
    ([2, 2, 2], [6, 6, 6]),
    ([1, 4, 0], [2, 10, 5]),
    ([2, 3, 9, 1], [3, 5, 9, 7]),
    ([0, 0, 6], [4, 4, 12]),
]


@pytest.mark.parametrize(("selected", "sizes"), DEALT)
def test_permuted_approaches_the_exact_p_of_a_gap(selected: list[int], sizes: list[int]) -> None:
    def spread(dealt: Sequence[int]) -> float:
        shares = [k / size for k, size in zip(dealt, sizes, strict=True)]
        return max(shares) - min(shares)

    draws = 4999
    exact = oracle.permutation(selected, sizes, spread)
    p = contingency.permutation_test(of_two_classes(selected, sizes), gap, draws=draws, seed=1)
    assert abs(p - exact) < 4.5 * math.sqrt(exact * (1 - exact) / draws) + 1 / (draws + 1)


@pytest.mark.parametrize("table", [(1, 10, 9, 15), (7, 9, 10, 40), (2, 30, 12, 40)])
def test_permuted_two_groups_are_hypergeometric(table: tuple[int, int, int, int]) -> None:
    a, n, c, m = table
    exact = oracle.permutation([a, c], [n, m], lambda x: x[0])
    assert exact == pytest.approx(float(scipy.stats.hypergeom.sf(a - 1, n + m, a + c, n)))
    p = contingency.permutation_test(of_two_classes([a, c], [n, m]), first, draws=4999, seed=2)
    assert abs(p - exact) < 4.5 * math.sqrt(exact * (1 - exact) / 4999) + 1 / 5000


def test_permuted_counts_the_observed_table_as_a_draw() -> None:
    table = of_two_classes([200, 0], [200, 200])
    assert contingency.permutation_test(table, gap, draws=999) == pytest.approx(1 / 1000)
    table = of_two_classes([100, 100], [200, 200])
    assert contingency.permutation_test(table, gap, draws=999) == pytest.approx(1)


TABLES = [[[14, 30, 9], [26, 40, 24]], [[5, 1, 3, 12], [4, 1, 1, 8], [0, 3, 2, 1]]]


@pytest.mark.parametrize("table", TABLES)
def test_permuted_is_the_same_for_the_same_seed(table: list[list[int]]) -> None:
    (counts,) = integers(table)
    once = contingency.permutation_test(counts, gap, draws=999, seed=3)
    assert contingency.permutation_test(counts, gap, draws=999, seed=3) == once
    assert contingency.permutation_test(counts, gap) == contingency.permutation_test(
        counts, gap, draws=9999, seed=0
    )


@pytest.mark.parametrize("table", [*TABLES, [[50, 10**8], [0, 1_000_002]]])
def test_permuted_keeps_both_margins_in_every_draw(table: list[list[int]]) -> None:
    (counts,) = integers(table)
    seen = 0

    def margins(tables: Floats) -> Floats:
        nonlocal seen
        seen += len(tables)
        assert (tables >= 0).all()
        for axis in (1, 2):
            sums = tables.sum(axis=axis)
            np.testing.assert_array_equal(
                sums, np.broadcast_to(counts.sum(axis=axis - 1), sums.shape)
            )
        return first(tables)

    contingency.permutation_test(counts, margins, draws=500)
    assert seen == 500 + 1


@pytest.mark.long
def test_permuted_takes_thousands_of_groups() -> None:
    """The statistic is asked in blocks: here all draws together would take 192 MB."""
    sizes = np.full(4000, 7, dtype=np.int64)
    selected = np.random.default_rng(0).integers(0, 8, 4000)
    largest = 0

    def watched(tables: Floats) -> Floats:
        nonlocal largest
        largest = max(largest, tables.nbytes)
        return gap(tables)

    p = contingency.permutation_test(np.stack([selected, sizes - selected]), watched, draws=3000)
    assert 0 < p <= 1
    assert largest < 64 * 2**20


def chi_square_by_enumeration(selected: Sequence[int], sizes: Sequence[int]) -> float:
    """The chance of a sum of x² / n at least as large, by all tables, as fractions."""
    whole, ways, reached = sum(selected), 0, 0

    def size(x: Sequence[int]) -> Fraction:
        return sum((Fraction(k * k, n) for k, n in zip(x, sizes, strict=True)), Fraction(0))

    for x in itertools.product(*(range(n + 1) for n in sizes)):
        if sum(x) == whole:
            number = math.prod(math.comb(n, k) for n, k in zip(sizes, x, strict=True))
            ways += number
            reached += number if size(x) >= size(selected) else 0
    return reached / ways


@pytest.mark.parametrize(("selected", "sizes"), [
    ([7, 1, 1], [8, 7, 4]), ([1, 1, 7], [4, 7, 8]), ([0, 6, 1, 5, 1, 5], [6, 6, 4, 6, 2, 6]),
    ([0, 0, 1], [5, 5, 5]), ([8, 0, 8, 0], [8, 8, 8, 8]), *DEALT,
])  # fmt: skip
def test_few_permuted_tables_are_counted(selected: list[int], sizes: list[int]) -> None:
    exact = chi_square_by_enumeration(selected, sizes)
    table = of_two_classes(selected, sizes)
    assert contingency.permute_chi_square(table) == pytest.approx(exact, rel=1e-12)
    assert contingency.permute_chi_square(table[::-1]) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("groups", [2, 4, 6])
def test_the_bound_of_a_permuted_chi_square_is_above_its_chance(groups: int) -> None:
    selected, sizes = [0, 6] * (groups // 2), [6] * groups
    exact = chi_square_by_enumeration(selected, sizes)
    bound = contingency._bound_chi_square(of_two_classes(selected, sizes))
    assert exact <= bound < 6 * exact


@pytest.mark.long
@pytest.mark.parametrize("groups", [60, 300])
def test_more_groups_far_apart_are_more_evidence(groups: int) -> None:
    """Of 60 teams of 8 half have all selected, half nobody: one table of many has so large a χ²."""
    sizes = [8] * groups
    table = of_two_classes([0, 8] * (groups // 2), sizes)
    half = groups // 2
    exact = math.comb(groups, half) / math.comb(8 * groups, 8 * half)
    assert max(exact, 1e-307) <= contingency.permute_chi_square(table) <= max(100 * exact, 1e-307)


def test_unpooled_shares_without_variance_have_a_finite_z() -> None:
    """100 of 100 against nobody of 100: as pooled, z = 1 / √(.25 · .02)."""
    one, none, n = np.array(1.0), np.array(0.0), np.array(100.0)
    z = float(contingency.find_z(one, n, none, n, pooled=False))
    assert z == pytest.approx(1 / math.sqrt(0.25 * 0.02))


@pytest.mark.parametrize(("selected", "sizes"), [
    ([20, 0], [20, 20]), ([18, 3, 1], [20, 20, 3]), ([10, 0, 5], [10, 10, 10]),
])  # fmt: skip
def test_the_bound_of_a_far_widest_gap_is_at_least_its_chance(
    selected: list[int], sizes: list[int]
) -> None:
    """By all tables there are."""

    def width(x: Sequence[int]) -> float:
        shares = [k / n for k, n in zip(x, sizes, strict=True)]
        return max(shares) - min(shares)

    exact = oracle.permutation(selected, sizes, lambda x: round(width(x), 9))
    table = of_two_classes(selected, sizes)
    bound = contingency._bound_distance(table, width(selected) / 2)
    assert exact * (1 - 1e-9) <= bound


def test_a_wide_gap_of_many_people_has_a_tiny_p() -> None:
    """All of 20 against 0 of 20: two tables of C(40, 20), which the bound counts twice."""
    p = contingency.permute_widest_gap([of_two_classes([20, 0], [20, 20])], 1.0)
    assert p == pytest.approx(4 / math.comb(40, 20))
