"""Power, and the smallest gap that so many people show: the catalogue, statsmodels, laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, ncx2
from stats_oracle import printed
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_effectsize

from fairaudit.stats.sample_sizes import smallest_detectable


def test_the_smallest_detectable_gap_is_as_in_the_catalogue() -> None:
    """metrics.md §12: 40 against 80 at .6."""
    down, up = smallest_detectable(np.array(0.6), np.array(40.0), np.array(80.0))
    assert printed(float(down), "-0.2673")
    assert printed(float(up), "0.2386")


@given(
    st.floats(0.3, 0.7),
    st.integers(150, 5000),
    st.integers(150, 5000),
    st.sampled_from([0.01, 0.05, 0.1]),
    st.integers(1, 20),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_the_smallest_detectable_gap_has_the_power_asked_for(
    share: float, n: int, m: int, alpha: float, comparisons: int, asked: float
) -> None:
    """Cohen (1988) ch. 6, in statsmodels: it adds the wrong tail, which is nothing at these."""
    sizes = np.array(float(n)), np.array(float(m))
    found = smallest_detectable(np.array(share), *sizes, alpha / comparisons, 1, asked)
    for gap in map(float, found):
        h = proportion_effectsize(share + gap, share)
        reached = NormalIndPower().power(abs(h), n, alpha / comparisons, ratio=m / n)
        assert reached > asked - 1e-3
        if alpha / comparisons > 0.03:  # far out Fisher's test asks for more
            assert reached == pytest.approx(asked, abs=1e-3)
    assert float(found[0]) < 0 < float(found[1])


@pytest.mark.parametrize("freedom", [2, 3, 9, 40])
@pytest.mark.parametrize("level", [0.05, 0.001, 1e-6])
def test_several_groups_have_the_power_of_noncentral_chi_square(freedom: int, level: float) -> None:
    n, m, share = 3_000_000, 5_000_000, 0.4
    found = smallest_detectable(np.array(share), np.array(n), np.array(m), level, freedom)
    for gap in map(float, found):
        h = proportion_effectsize(share + gap, share)
        reached = ncx2.sf(chi2.isf(level, freedom), freedom, h * h * n * m / (n + m))
        assert reached == pytest.approx(0.8, abs=1e-3)


def test_more_people_detect_less_and_more_comparisons_detect_more() -> None:
    share, n = np.array(0.5), np.array([50.0, 100, 200, 1000, 1e8])
    down, up = smallest_detectable(share, n, n)
    assert (np.diff(np.abs(down)) < 0).all()
    assert (np.diff(up) < 0).all()
    assert abs(up[-1]) < 1e-3
    strict_down, strict_up = smallest_detectable(share, n, n, 0.05 / 45)
    assert (strict_down < down).all()
    assert (strict_up > up).all()


@given(st.floats(0, 1), st.floats(1, 200), st.floats(1, 200))
def test_a_detectable_share_is_a_share(share: float, n: float, m: float) -> None:
    down, up = smallest_detectable(np.array(share), np.array(n), np.array(m))
    for gap in (float(down), float(up)):
        assert math.isnan(gap) or -1e-12 <= share + gap <= 1 + 1e-12
