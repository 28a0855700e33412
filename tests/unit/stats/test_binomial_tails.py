"""Where counts become improbable, held against whole numbers of sixty digits."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairaudit.stats.binomial_tails import MOST_HITS, invert_tails

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
    """Whether the share is the end but for a relative error of 1e-13, or an absolute one."""
    with localcontext() as context:
        context.prec, context.Emin = 60, -(10**9)
        reach = max(share * Decimal("1e-13"), Decimal(digits))
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
