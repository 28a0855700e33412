"""Tails of distributions that are computed without SciPy, held against it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special
import scipy.stats
from numpy.testing import assert_allclose

from fairaudit.stats.distributions import chi_square_tail

STATISTICS = np.concatenate([[0.0], np.geomspace(1e-12, 1300, 2000)])


@pytest.mark.parametrize("df", [*range(1, 31), 49, 50, 99, 100, 101, 1000])
def test_a_chi_square_tail_is_that_of_scipy(df: int) -> None:
    expected = scipy.special.gammaincc(df / 2, STATISTICS / 2)
    printable = expected > 1e-280
    tails = chi_square_tail(STATISTICS, df)
    assert_allclose(tails[printable], expected[printable], rtol=1e-12)
    assert tails[~printable].max(initial=0) <= 1e-279


def test_chi_square_tails_of_several_degrees_of_freedom_are_those_of_each() -> None:
    df = np.array([[1.0], [2.0], [7.0], [40.0]])
    tails = chi_square_tail(np.array([0.0, 3.84, 40.0]), df)
    assert_allclose(tails, scipy.stats.chi2.sf([0.0, 3.84, 40.0], df), rtol=1e-12)


def test_a_chi_square_tail_of_nothing_is_undefined_and_of_infinity_is_zero() -> None:
    with np.errstate(invalid="ignore"):
        tails = chi_square_tail(np.array([np.nan, np.inf, 0.0]), np.array([1.0, 4.0, 3.0]))
    assert_allclose(tails, [np.nan, 0.0, 1.0])
    assert float(chi_square_tail(2.0, 2.5)) == pytest.approx(scipy.stats.chi2.sf(2.0, 2.5))
