"""Tails of distributions that are computed without SciPy, held against it."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

from fairaudit.stats.distributions import chi_square_tail, normal_critical

STATISTICS = np.concatenate([[0.0], np.geomspace(1e-12, 1300, 2000)])


@pytest.mark.parametrize("df", [*range(1, 31), 49, 50, 99, 100, 101, 1000])
def test_a_chi_square_tail_is_that_of_scipy(df: int) -> None:
    expected = scipy.special.gammaincc(df / 2, STATISTICS / 2)
    printable = expected > 1e-280
    tails = chi_square_tail(STATISTICS, df)
    assert_allclose(tails[printable], expected[printable], rtol=1e-12)
    assert tails[~printable].max(initial=0) <= 1e-279


@pytest.mark.parametrize("df", [102, 1000, 9502, 31662])
@pytest.mark.parametrize("deviations", [-6.0, -1.0, 0.0, 0.5, 3.0, 20.0])
def test_a_tail_of_many_degrees_of_freedom_has_all_its_digits(df: int, deviations: float) -> None:
    """Of an even number it is a finite sum; SciPy loses digits far out."""
    statistic = df + deviations * math.sqrt(2 * df)
    with localcontext() as context:
        context.prec = 60
        half, term, total = Decimal(statistic) / 2, Decimal(1), Decimal(0)
        for k in range(df // 2):
            total += term
            term *= half / (k + 1)
        expected = float(total * (-half).exp())
    assert float(chi_square_tail(statistic, df)) == pytest.approx(expected, rel=1e-12)


def test_chi_square_tails_of_several_degrees_of_freedom_are_those_of_each() -> None:
    df = np.array([[1.0], [2.0], [7.0], [40.0]])
    tails = chi_square_tail(np.array([0.0, 3.84, 40.0]), df)
    assert_allclose(tails, scipy.stats.chi2.sf([0.0, 3.84, 40.0], df), rtol=1e-12)


def test_a_chi_square_tail_of_nothing_is_undefined_and_of_infinity_is_zero() -> None:
    with np.errstate(invalid="ignore"):
        tails = chi_square_tail(np.array([np.nan, np.inf, 0.0]), np.array([1.0, 4.0, 3.0]))
    assert_allclose(tails, [np.nan, 0.0, 1.0])
    assert float(chi_square_tail(2.0, 2.5)) == pytest.approx(scipy.stats.chi2.sf(2.0, 2.5))


def test_many_critical_values_are_those_of_scipy() -> None:
    alpha = np.concatenate([np.geomspace(1e-307, 1, 3000), np.linspace(1e-3, 1, 1000)])
    z = normal_critical(np.append(alpha, [0.0, np.nan]))
    assert_allclose(z, np.append(-scipy.special.ndtri(alpha / 2), [np.inf, np.nan]), rtol=1e-13)
