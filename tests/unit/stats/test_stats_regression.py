"""Regression from sums of products: certified, other packages, laws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from stats_oracle import printed
from statsmodels.datasets import longley
from statsmodels.regression.linear_model import OLS

from fairaudit.metrics import regression
from fairaudit.stats import distributions

CONTROL = [4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14]
TREATED = [4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69]

NORRIS_Y = [0.1, 338.8, 118.1, 888.0, 9.2, 228.1, 668.5, 998.5, 449.1, 778.9, 559.2, 0.3]
NORRIS_Y += [0.1, 778.1, 668.8, 339.3, 448.9, 10.8, 557.7, 228.3, 998.0, 888.8, 119.6, 0.3]
NORRIS_Y += [0.6, 557.6, 339.3, 888.0, 998.5, 778.9, 10.2, 117.6, 228.9, 668.4, 449.2, 0.2]
NORRIS_X = [0.2, 337.4, 118.2, 884.6, 10.1, 226.5, 666.3, 996.3, 448.6, 777.0, 558.2, 0.4]
NORRIS_X += [0.6, 775.5, 666.9, 338.0, 447.5, 11.6, 556.0, 228.1, 995.8, 887.6, 120.2, 0.3]
NORRIS_X += [0.3, 556.8, 339.1, 887.2, 999.0, 779.0, 11.1, 118.3, 229.2, 669.1, 448.9, 0.5]


def fit(x: Any, y: Any) -> regression.Fit:
    """The fit from sums of squares and products only."""
    design, outcome = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return regression.least_squares(
        design.T @ design, design.T @ outcome, float(outcome @ outcome), float(len(outcome))
    )


def errors_of(fit: regression.Fit) -> NDArray[np.float64]:
    """The standard error of each coefficient; NaN where there is none."""
    variance = np.diagonal(fit.inverse) * fit.residual_variance
    return np.where(np.isnan(fit.coefficients), np.nan, np.sqrt(variance))


def p_of(fit: regression.Fit) -> NDArray[np.float64]:
    """The two-sided p-value of each coefficient."""
    return distributions.t_two_sided(fit.coefficients / errors_of(fit), np.asarray(fit.df))


def test_norris_is_as_certified() -> None:
    """NIST Statistical Reference Datasets, linear regression, Norris: certified values."""
    found = fit(np.column_stack([np.ones(36), NORRIS_X]), NORRIS_Y)
    assert found.coefficients == pytest.approx([-0.262323073774029, 1.00211681802045], rel=1e-7)
    assert errors_of(found) == pytest.approx([0.232818234301152, 0.429796848199937e-03], rel=1e-6)
    assert math.sqrt(found.residual_variance) == pytest.approx(0.884796396144373, rel=1e-6)
    assert found.df == 34


def test_longley_is_as_certified() -> None:
    """NIST, Longley: its columns are almost, but not quite, combinations of each other.

    Products keep half of the sixteen digits that columns of such a condition (43,275) leave.
    """
    data = longley.load()
    found = fit(np.column_stack([np.ones(16), data.exog.to_numpy()]), data.endog.to_numpy())
    coefficients = [-3482258.63459582, 15.0618722713733, -0.0358191792925910]
    coefficients += [-2.02022980381683, -1.03322686717359, -0.0511041056535807, 1829.15146461355]
    errors = [890420.383607373, 84.9149257747669, 0.0334910077722432, 0.488399681651699]
    errors += [0.214274163161675, 0.226073200069370, 455.478499142212]
    assert found.coefficients == pytest.approx(coefficients, rel=1e-3)
    assert errors_of(found) == pytest.approx(errors, rel=1e-3)
    assert found.residual_variance == pytest.approx(304.854073561965**2, rel=1e-3)


def test_plant_weights_are_as_published() -> None:
    """R, ?lm and ?summary.lm: Dobson (1990), p. 9 (stats-Ex.Rout.save)."""
    group = np.repeat([0.0, 1], 10)
    found = fit(np.column_stack([1 - group, group]), CONTROL + TREATED)
    for value, text in zip(found.coefficients, ("5.032", "4.661"), strict=True):
        assert printed(float(value), text)
    for value, text in zip(errors_of(found), ("0.2202177", "0.2202177"), strict=True):
        assert printed(float(value), text)
    for value, text in zip(p_of(found), ("9.547128e-15", "3.615345e-14"), strict=True):
        assert float(value) == pytest.approx(float(text), rel=1e-6, abs=0)
    assert found.df == 18
    assert printed(math.sqrt(found.residual_variance), "0.6964")


@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_statsmodels_prints_the_same_regression(seed: int, controls: int) -> None:
    random = np.random.default_rng(seed)
    x = np.column_stack(
        [np.ones(30), random.integers(0, 2, 30), random.normal(size=(30, controls))]
    )
    x[0, 1], x[1, 1] = 0, 1
    y = x @ random.normal(size=controls + 2) + random.normal(size=30)
    theirs, found = OLS(y, x).fit(), fit(x, y)
    np.testing.assert_allclose(found.coefficients, theirs.params, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(errors_of(found), theirs.bse, rtol=1e-7)
    np.testing.assert_allclose(p_of(found), theirs.pvalues, rtol=1e-5, atol=1e-12)
    assert found.residual_variance == pytest.approx(theirs.scale)
    assert found.df == theirs.df_resid


def test_a_later_column_that_repeats_earlier_ones_is_told() -> None:
    """As R does: the later one is NA and the rest is the regression without it."""
    random = np.random.default_rng(8)
    one, two = random.normal(size=(2, 40))
    y = 2 * one - two + random.normal(size=40)
    x = np.column_stack([np.ones(40), one, 3 * one - 2, two])
    found, without = fit(x, y), OLS(y, x[:, [0, 1, 3]]).fit()
    assert np.isnan(found.coefficients).tolist() == [False, False, True, False]
    assert np.isnan(errors_of(found)).tolist() == [False, False, True, False]
    assert np.isnan(p_of(found)).tolist() == [False, False, True, False]
    np.testing.assert_allclose(found.coefficients[[0, 1, 3]], without.params, rtol=1e-7)
    np.testing.assert_allclose(errors_of(found)[[0, 1, 3]], without.bse, rtol=1e-7)
    assert found.df == 37


def test_dummies_of_every_level_and_an_intercept_are_one_too_many() -> None:
    x = np.column_stack([np.ones(20), np.repeat([0.0, 1], 10), np.repeat([1.0, 0], 10)])
    found = fit(x, CONTROL + TREATED)
    assert np.isnan(found.coefficients).tolist() == [False, False, True]
    assert found.coefficients[:2] == pytest.approx([5.032, -0.371])
    assert errors_of(found)[1] == pytest.approx(0.31143485)
    assert found.df == 18


def test_scales_do_not_make_columns_collinear() -> None:
    random = np.random.default_rng(9)
    x = np.column_stack([np.ones(50), random.normal(size=50) * 1e-6, random.normal(size=50) * 1e7])
    y = x @ np.array([1, 1e6, 1e-7]) + random.normal(size=50)
    # OLS of the columns as they are is 5e-4 off: its pseudo-inverse drops what is small
    scale = np.array([1, 1e-6, 1e7])
    theirs, found = OLS(y, x / scale).fit(), fit(x, y)
    np.testing.assert_allclose(found.coefficients, theirs.params / scale, rtol=1e-6)
    np.testing.assert_allclose(errors_of(found), theirs.bse / scale, rtol=1e-6)


def test_a_perfect_fit_and_too_few_rows_warn_nobody() -> None:
    line = fit([[1, 1], [1, 2], [1, 3], [1, 4]], [3, 5, 7, 9])
    assert line.coefficients == pytest.approx([1, 2])
    assert line.residual_variance == pytest.approx(0, abs=1e-10)
    two = fit([[1, 1], [1, 2]], [3, 5])
    assert two.df == 0
    assert np.isnan(p_of(two)).all()
