"""Recovered variances and families of tests: published, other packages, laws."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
import stats_oracle as oracle
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from stats_oracle import Bounds, printed
from statsmodels.stats.multitest import multipletests

from fairaudit.stats import multiplicity, proportions

Floats = NDArray[np.float64]

# Recovered variances ---------------------------------------------------------------------------


def of_shares(x: int, n: int, y: int, m: int) -> tuple[Floats, Any, Floats, Any]:
    """Two shares with their Wilson intervals."""
    one, other = (tuple(map(np.array, oracle.wilson(*side, 0.05))) for side in ((x, n), (y, m)))
    return np.array(x / n), one, np.array(y / m), other


FAGERLAND = "Fagerland & Newcombe 2013, Stat Med 32:2823, MOVER-R with Wilson's (R: ratesci)"
RECOVERED = [
    ((24, 73, 53, 65), "0.282", "0.563", FAGERLAND),
    ((29, 55, 11, 11), "0.398", "0.761", FAGERLAND),
    ((7, 18, 1, 18), "1.277", "40.751", FAGERLAND),
    ((6, 22, 112, 842), "0.9735", "3.7295", "Zou & Donner 2008, unrounded limits (R: ratesci)"),
    ((7, 34, 1, 34), "1.1537", "41.9763", "R: contingencytables, MOVER_R_Wilson_CI_ratio_2x2"),
]


@pytest.mark.parametrize(("counts", "low", "high", "source"), RECOVERED)
def test_recovered_ratios_are_as_published(
    counts: tuple[int, int, int, int], low: str, high: str, source: str
) -> None:
    found = proportions.mover_ratio(*of_shares(*counts))
    assert printed(float(found[0]), low), source
    assert printed(float(found[1]), high), source


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_a_recovered_difference_of_shares_is_newcombes(n: int, m: int, data: st.DataObject) -> None:
    x, y = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    low, high = proportions.mover_difference(*of_shares(x, n, y, m))
    assert (float(low), float(high)) == pytest.approx(oracle.newcombe(x, n, y, m, 0.05), abs=1e-10)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_recovered_ratios_contain_the_ratio_and_invert(n: int, m: int, data: st.DataObject) -> None:
    x, y = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    p, one, q, other = of_shares(x, n, y, m)
    low, high = map(float, proportions.mover_ratio(p, one, q, other))
    assert 0 <= low <= high
    if x:
        assert low <= (float(p / q) if y else math.inf)
    if y:
        assert high >= float(p / q)
        back_low, back_high = map(float, proportions.mover_ratio(q, other, p, one))
        if x and min(low, back_low) > 0:
            assert 1 / low == pytest.approx(back_high, rel=1e-6)
            assert 1 / high == pytest.approx(back_low, rel=1e-6)
    if float(other[0]) == 0:
        assert high == math.inf


@given(*[st.floats(1e-12, 1)] * 2, *[st.integers(1, 40)] * 4)
def test_recovered_ratios_far_out_keep_their_digits(
    p: float, q: float, one: int, two: int, three: int, four: int
) -> None:
    """Bounds as near to 0 and 1 as they may be, by the paper's formulas with 200 digits."""
    low, high = p * 10.0**-one, p + (1 - p) * (1 - 10.0**-two)
    other_low, other_high = q * 10.0**-three, q + (1 - q) * (1 - 10.0**-four)
    sides = (np.array(p), (np.array(low), np.array(high)))
    others = (np.array(q), (np.array(other_low), np.array(other_high)))
    found = [float(end) for end in proportions.mover_ratio(*sides, *others)]
    with localcontext(prec=200):
        x, y, lo, hi, lo2, hi2 = map(Decimal, (p, q, low, high, other_low, other_high))
        bottom = hi2 * (2 * y - hi2)
        inner = (x * y) ** 2 - lo * (2 * x - lo) * bottom
        # The lower bound with its root taken out of the divisor, that is good for any sign of it.
        least = lo * (2 * x - lo) / (x * y + max(inner, Decimal(0)).sqrt())
        bottom = lo2 * (2 * y - lo2)
        inner = (x * y) ** 2 - hi * (2 * x - hi) * bottom
        most = (x * y + max(inner, Decimal(0)).sqrt()) / bottom
    assert found == pytest.approx([float(least), float(most)], rel=1e-6)


def test_recovered_bounds_of_certain_numbers_are_the_numbers() -> None:
    exact = (np.array(0.4), (np.array(0.4),) * 2, np.array(0.8), (np.array(0.8),) * 2)
    assert [float(bound) for bound in proportions.mover_difference(*exact)] == pytest.approx(
        [-0.4, -0.4]
    )
    assert [float(bound) for bound in proportions.mover_ratio(*exact)] == pytest.approx([0.5, 0.5])


def test_recovered_bounds_of_a_total_square_and_add() -> None:
    """Zou & Donner (2008) eq. 6: a negative weight turns the sides of its interval round."""
    values, low = np.array([[0.3], [0.5], [0.2]]), np.array([[0.2], [0.45], [0.1]])
    high = np.array([[0.5], [0.6], [0.25]])
    weights = np.array([[2.0], [-1], [0.5]])
    total, lower, upper = proportions.mover_total(values, (low, high), weights)
    assert total.shape == lower.shape == upper.shape == (1,)
    assert total[0] == pytest.approx(0.2)
    assert lower[0] == pytest.approx(0.2 - math.sqrt((2 * 0.1) ** 2 + 0.1**2 + (0.5 * 0.1) ** 2))
    assert upper[0] == pytest.approx(0.2 + math.sqrt((2 * 0.2) ** 2 + 0.05**2 + (0.5 * 0.05) ** 2))


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3).map(sorted), min_size=2, max_size=2))
def test_a_total_of_one_and_minus_one_is_the_difference(sides: list[list[float]]) -> None:
    low, value, high = np.array(sides).T
    total, lower, upper = proportions.mover_total(value, (low, high), np.array([1.0, -1]))
    found = proportions.mover_difference(value[0], (low[0], high[0]), value[1], (low[1], high[1]))
    bounds: Bounds = (float(found[0]), float(found[1]))
    assert float(total) == pytest.approx(value[0] - value[1])
    assert (float(lower), float(upper)) == pytest.approx(bounds)
    assert float(lower) <= float(total) + 1e-12
    assert float(total) <= float(upper) + 1e-12
    doubled = proportions.mover_total(value, (low, high), np.array([-2.0, 2]))
    assert (float(doubled[1]), float(doubled[2])) == pytest.approx((-2 * bounds[1], -2 * bounds[0]))


# Families ----------------------------------------------------------------------------------------

MYOCARDIAL = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
MYOCARDIAL += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]


def test_families_are_as_published() -> None:
    """Benjamini & Hochberg (1995) JRSS B 57:289, fifteen comparisons of two treatments at .05.

    They reject four, the control of every error (Hochberg's and Holm's steps alike) three.
    """
    p = np.array(MYOCARDIAL)
    assert (multiplicity.benjamini_hochberg(p) <= 0.05).sum() == 4
    assert (multiplicity.holm(p) <= 0.05).sum() == 3
    fives = np.array([0.01, 0.02, 0.03, 0.04, 0.05])
    # R: p.adjust((1:5) / 100, "holm") and "BH"
    np.testing.assert_allclose(multiplicity.holm(fives), [0.05, 0.08, 0.09, 0.09, 0.09])
    np.testing.assert_allclose(multiplicity.benjamini_hochberg(fives), np.full(5, 0.05))


probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@pytest.mark.usefixtures("no_garbage_collection")
@given(probabilities)
def test_statsmodels_prints_the_same_adjusted_p(p: list[float]) -> None:
    for ours, method in (
        (multiplicity.holm(np.array(p)), "holm"),
        (multiplicity.benjamini_hochberg(np.array(p)), "fdr_bh"),
    ):
        np.testing.assert_allclose(ours, multipletests(p, method=method)[1], 1e-12, 1e-300)
    with np.errstate(divide="ignore"):  # its logarithm of 1 - 1
        theirs = multipletests(p, method="sidak")[1]
    np.testing.assert_allclose(
        multiplicity.sidak(np.array(p), len(p)), theirs, rtol=1e-9, atol=1e-12
    )


@given(probabilities)
def test_adjusted_p_are_never_smaller_and_keep_their_order(p: list[float]) -> None:
    raw = np.array(p)
    order = np.argsort(raw, kind="stable")
    holm, hochberg = multiplicity.holm(raw), multiplicity.benjamini_hochberg(raw)
    for adjusted in (holm, hochberg):
        assert adjusted.shape == raw.shape
        assert (adjusted >= raw * (1 - 1e-15)).all()
        assert (adjusted <= 1).all()
        assert (np.diff(adjusted[order]) >= 0).all()
    assert (holm >= hochberg - 1e-15).all()
    assert holm.min() == pytest.approx(min(1, raw.min() * len(raw)))


def test_the_order_of_a_family_does_not_matter() -> None:
    raw = np.array([0.01, 0.04, 0.03, 0.005])
    for method in (multiplicity.holm, multiplicity.benjamini_hochberg):
        expected = method(raw)
        for order in permutations(range(4)):
            np.testing.assert_allclose(method(raw[list(order)]), expected[list(order)])


def test_what_is_undefined_does_not_count_in_a_family() -> None:
    raw = np.array([math.nan, 0.01, 0.04, math.nan, 0.03])
    for method in (multiplicity.holm, multiplicity.benjamini_hochberg):
        found = method(raw)
        assert np.isnan(found).tolist() == [True, False, False, True, False]
        np.testing.assert_allclose(found[[1, 2, 4]], method(raw[[1, 2, 4]]))
        assert method(np.array([])).shape == (0,)
        assert np.isnan(method(np.array([math.nan, math.nan]))).all()


@given(st.floats(-300, -0.01), st.integers(1, 10**9))
def test_sidak_and_its_inverse_are_accurate(exponent: float, m: int) -> None:
    """Fifty digits of `decimal` decide, where 1 - (1-p)^m in floats is 0 or noise."""
    p = 10.0**exponent
    with localcontext() as context:
        context.prec = 400
        keep = 1 - Decimal(p)
        raised = float(1 - (keep.ln() * m).exp())
        shared = float(1 - (keep.ln() / m).exp())
    assert float(multiplicity.sidak(np.array(p), m)) == pytest.approx(raised, rel=1e-9, abs=0)
    assert float(np.asarray(multiplicity.sidak_level(p, m))) == pytest.approx(
        shared, rel=1e-9, abs=0
    )


def test_sidak_of_a_few_is_the_polynomial() -> None:
    p = Fraction(1, 20)
    exact = [float(1 - (1 - p) ** m) for m in (1, 2, 3, 45)]
    np.testing.assert_allclose(multiplicity.sidak(np.full(4, 0.05), np.array([1, 2, 3, 45])), exact)
    back = multiplicity.sidak_level(np.array(exact), np.array([1, 2, 3, 45]))
    np.testing.assert_allclose(back, 0.05)
    assert multiplicity.sidak(np.array([0.0, 1]), 7).tolist() == [0, 1]


RANGES = (
    (0.3, 3, 0.55382425853307024),
    (0.0192, 3, 0.050263221941122103),
    (1e-06, 3, 2.9894944621258779e-6),
    (0.004, 7, 0.060998448138731571),
    (0.0001, 50, 0.071258265049606008),
    (2e-08, 50, 2.3647907932751965e-5),
    (1e-09, 3000, 0.0033321582428077567),
    (1e-12, 3000, 4.2947008811027012e-6),
    (1e-09, 31664, 0.16241219887760007),
    (1e-14, 31664, 4.6912670118227453e-6),
)
"""A p-value, groups, and the chance that the smallest over all their pairs is below it.

By mpmath 1.4.1 with mp.dps = 40: w = √2 z with erfc(z/√2) = p, and from -9 to 14 `quad` of
k φ(x) (Φ(x)^(k-1) - (Φ(x) - Φ(x-w))^(k-1)).
"""


@pytest.mark.parametrize(("p", "groups", "expected"), RANGES)
def test_the_clearest_of_all_pairs_has_the_chance_of_forty_digits(
    p: float, groups: int, expected: float
) -> None:
    assert float(multiplicity.tukey_kramer(p, groups)) == pytest.approx(expected, rel=2e-12)
