"""Comparisons that need more than two values: deviations, numerators, whole distributions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.cube import Floats
from fairaudit.metrics.disparities import Pair, Sides
from fairaudit.stats.strata import mantel_haenszel


def _deviations(sides: Sides) -> tuple[Floats, Floats, Floats]:
    """The sums of squared deviations of both sides and of everybody; NaN where there are none."""
    nothing = np.full_like(sides.group.value, np.nan)
    found = (sides.group, sides.reference, sides.everybody)
    one, two, three = (nothing if r.deviation is None else r.deviation for r in found)
    return one, two, three


def standardized(sides: Sides) -> Floats:
    """The difference in units of the pooled sample standard deviation of both sides."""
    one, two, _ = _deviations(sides)
    variance = (one + two) / (sides.group.effective_n + sides.reference.effective_n - 2)
    return np.asarray((sides.group.value - sides.reference.value) / np.sqrt(variance))


def standardized_by_all(sides: Sides) -> Floats:
    """The difference in units of everybody's sample standard deviation."""
    _, _, everybody = _deviations(sides)
    variance = everybody / (sides.everybody.effective_n - 1)
    return np.asarray((sides.group.value - sides.reference.value) / np.sqrt(variance))


def correlation(sides: Sides) -> Floats:
    """R = (mean inside - mean outside) · √(n₁n₂ / n) / √(total squared deviation)."""
    one, two, _ = _deviations(sides)
    n, m = sides.group.effective_n, sides.reference.effective_n
    apart = sides.group.value - sides.reference.value
    between = n * m / (n + m)
    return np.asarray(apart * np.sqrt(between) / np.sqrt(one + two + apart**2 * between))


def normalized(sides: Sides) -> Floats:
    """Žliobaitė (2015) §3.2: every probability is taken within the two groups compared."""
    group, reference = sides.group, sides.reference
    p, q = group.value, reference.value
    if group.under is None or reference.under is None:
        return np.full_like(p, np.nan)
    n, m = group.under, reference.under
    share = m / (n + m)
    plus = (p * n + q * m) / (n + m)
    difference = q - p
    most = np.where(
        difference > 0,
        np.minimum(plus / share, (1 - plus) / (1 - share)),
        np.minimum(plus / (1 - share), (1 - plus) / share),
    )
    found = np.where(difference == 0, 0.0, difference / most)
    return np.asarray(np.where((plus > 0) & (plus < 1), found, np.nan))


def exact_normalized(group: tuple[int, int], reference: tuple[int, int]) -> Fraction | None:
    """The same of one pair, by numerators and denominators of both rates."""
    (a, n), (c, m) = group, reference
    if not n or not m:
        return None
    plus, share = Fraction(a + c, n + m), Fraction(m, n + m)
    difference = Fraction(c, m) - Fraction(a, n)
    if not 0 < plus < 1:
        return None
    sides = (plus / share, (1 - plus) / (1 - share))
    other_sides = (plus / (1 - share), (1 - plus) / share)
    return difference / min(sides if difference > 0 else other_sides)


def divergence(sides: Sides) -> Floats:
    """Σ over classes of p ln(p / q), in nats."""
    p, q = sides.group.shares, sides.reference.shares
    if p is None or q is None:
        return np.full_like(sides.group.value, np.nan)
    terms: Any = np.where(p == 0, 0.0, p * np.log(p / q))
    # Rounding may leave a zero divergence just below zero.
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def common_odds_ratio(sides: Sides) -> Floats:
    """Σ a d / N over Σ b c / N, a of n in the group and c of m in the reference of each stratum."""
    one, two = sides.group.strata, sides.reference.strata
    if one is None or two is None:
        return np.full_like(sides.group.value, np.nan)
    return np.asarray(mantel_haenszel(*one.weighted_trials, *two.weighted_trials).odds_ratio[None])


def exact_common_odds_ratio(strata: Sequence[Pair]) -> Fraction | None:
    """The same of one pair, by numerators and denominators in every stratum."""
    over = under = Fraction(0)
    for (a, n), (c, m) in strata:
        if n and m:
            over += Fraction(a * (m - c), n + m)
            under += Fraction((n - a) * c, n + m)
    return over / under if under else None
