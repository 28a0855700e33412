"""Where counts become improbable, held against numbers of sixty digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from fairaudit.stats.distributions import MOST_HITS, invert_tails

TAILS = (0.4999, 0.025, 1e-4, 1e-12, 1e-60, 1e-280)


@given(
    st.integers(1, MOST_HITS),
    st.one_of(st.integers(0, 50), st.integers(0, 10**9)),
    st.sampled_from(TAILS),
    st.booleans(),
)
def test_both_ends_have_the_probability_of_their_tail(
    few: int, more: int, tail: float, turned: bool
) -> None:
    hits, misses = (few + more, few) if turned else (few, few + more)
    ends = invert_tails(np.array([float(hits)]), np.array([float(misses)]), np.array([tail]))
    low, high = (float(end[0]) for end in ends)
    assert 0 < low < hits / (hits + misses)
    if turned:
        # A share near 1 has as many digits as what is missing of it.
        assert _is_reached(misses, hits, tail, 1 - Decimal(low), upper=False, digits=1e-16)
    else:
        assert _is_reached(hits, misses, tail, Decimal(low), upper=True)
        assert _is_reached(hits, misses, tail, Decimal(high), upper=False, digits=1e-16)


def _is_reached(
    h: int, m: int, tail: float, share: Decimal, *, upper: bool, digits: float = 0.0
) -> bool:
    """Whether the share is the end but for a relative error of 4e-13, or an absolute one.

    Far out its logarithm is some hundreds, whose last digit is 1e-13 of the share.
    """
    with localcontext() as context:
        context.prec, context.Emin = 60, -(10**9)
        reach = max(share * Decimal("4e-13"), Decimal(digits))
        near = [max(share - reach, Decimal(0)), min(share + reach, Decimal(1))]
        chances = [_sum(h, m, at, upper=upper) for at in near]
        return min(chances) <= Decimal(tail) <= max(chances)


def _sum(h: int, m: int, share: Decimal, *, upper: bool) -> Decimal:
    """The probability of `h` of `h + m` hits and fewer; or and more."""
    n = h + m
    if not 0 < share < 1:
        return Decimal(int(upper == (share == 1)))
    term = math.comb(n, h) * share**h * (1 - share) ** m
    total, odds = Decimal(0), share / (1 - share)
    k = h
    while term and (not total or term > total * Decimal("1e-30")):
        total += term
        if k == (n if upper else 0):
            break
        term *= Decimal(n - k) / (k + 1) * odds if upper else Decimal(k) / (n - k + 1) / odds
        k += 1 if upper else -1
    return total


@pytest.mark.parametrize("hits", [1.0, 7.0])
def test_a_block_gives_what_each_gives_alone(hits: float) -> None:
    """The sums of all are as long as the longest."""
    misses, tails = np.array([1.0, 30.0, 1e6]), np.array([0.3, 1e-9, 0.025])
    together = invert_tails(np.array([hits, 100.0, hits]), misses, tails)
    for at in (0, 2):
        alone = invert_tails(np.array([hits]), misses[at : at + 1], tails[at : at + 1])
        assert [end[at] for end in together] == pytest.approx([end[0] for end in alone], rel=1e-14)


EFFECTIVE = (
    (0.01, 0.02, 0.025, 6.02586007858320268e-161, 7.76264135367801382e-81),
    (0.01, 1e9, 0.49, 5.92217270741288803e-41, 0.999999999276814999),
    (0.3, 0.3, 0.4, 0.033629900760928953, 0.033629900760928953),
    (0.3, 7.25, 0.025, 4.03006166175126055e-7, 0.559276548991565392),
    (0.37545671, 2.6052, 7.357e-6, 4.70547512862054078e-15, 0.00862090253410013964),
    (0.5, 1e6, 1e-300, 0.0, 0.999306072665618804),
    (0.9999, 1.5, 0.1, 0.0412577338891478833, 0.123104493102563817),
    (1.25, 1.25, 1e-12, 1.17356942972171508e-10, 1.17356942972171508e-10),
    (2.5, 40.125, 5.4660074613714685e-06, 0.000304307488063120299, 0.641783517055792374),
    (2.75, 1e9, 0.4999, 2.42442599056633746e-9, 0.99999999657708738),
    (5.9, 5.9, 1e-100, 3.61245894268864384e-18, 3.61245894268864384e-18),
    (7.0625, 300.5, 1e-300, 3.71965112057543808e-45, 0.0905234386595908778),
    (12.3, 529206.5, 3.68e-6, 4.39073556535110028e-6, 0.999931302862411739),
    (12.9, 13.1, 0.01, 0.265519083694316003, 0.272016274993829832),
    (29.7, 1e9, 1e-30, 1.2127704948462663e-9, 0.999999856911620934),
    (33.3, 33.4, 0.3, 0.459870183802695003, 0.461356421528185344),
    (64.5, 1e4, 0.025, 0.00494417927104239147, 0.991831234985014486),
    (99.5, 99.75, 1e-300, 0.000248177105891604713, 0.00025339577811147984),
    (99.5, 1e9, 0.45, 9.79210958247653922e-8, 0.999999898570566163),
    (99.99, 2500.5, 1e-9, 0.0198479352619843791, 0.934277983231143702),
)
"""Hits, misses and tails, and the lower ends of the hits and of the misses.

By mpmath 1.4.1 with mp.dps = 60: `findroot` of the logarithm of the tail, for the hits that of the
series x^h (1-x)^(m+1) Γ(h+m+1) / Γ(h+1) / Γ(m+1) Σ (h+m+1)_k / (h+1)_k x^k, for the misses, with
y = 1 - x, `quad` of y^m x^h Γ(h+m+1) / Γ(h+1) / Γ(m+1) ∫ e^-v (1 + (1 - e^(-v/m)) y/x)^h dv.
"""


@pytest.mark.parametrize(("hits", "misses", "tail", "low", "rest"), EFFECTIVE)
def test_effective_numbers_have_the_ends_of_sixty_digits(
    hits: float, misses: float, tail: float, low: float, rest: float
) -> None:
    sides = np.array([hits, misses]), np.array([misses, hits])
    ends = invert_tails(*sides, np.array([tail, tail]))
    assert ends[0].tolist() == pytest.approx([low, rest], rel=2e-13, abs=1e-300)
    assert ends[1].tolist() == pytest.approx([1 - rest, 1 - low], rel=1e-14, abs=2e-16)


def test_effective_numbers_have_the_ends_of_scipy() -> None:
    """Everywhere, and not only where a table looks: SciPy has it from Boost."""
    drawn = np.random.default_rng(7)
    few = 10 ** drawn.uniform(-1, 2, 4000)
    more = few * 10 ** drawn.uniform(0, 5, 4000)
    tails = 10 ** drawn.uniform(-20, -0.302, 4000)
    low, high = invert_tails(few, more, tails)
    known = low > 1e-290
    assert low[known] == pytest.approx(special.betaincinv(few, more + 1, tails)[known], rel=1e-11)
    assert high == pytest.approx(special.betainccinv(few + 1, more, tails), rel=1e-11)
