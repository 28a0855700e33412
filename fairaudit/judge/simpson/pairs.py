"""Measures one pair of groups, overall and within strata: the rule of each kind of reversal."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property

import numpy as np

from fairaudit.base.frozen import Frozen
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.judge.simpson.records import (
    GroupRate,
    Reversal,
    ReversalKind,
    ReversalScan,
    Stratum,
)
from fairaudit.metrics import GroupValues

NEAR = 1e-9
"""Closer than this to the smallest gap that counts, fractions decide instead of floats."""


def find_excess(p: Floats, q: Floats, floor: Fraction, odds: Fraction) -> Floats:
    """By how much gaps of rates exceed what counts; the gap in odds as a gap of cross products."""
    high, low = np.maximum(p, q), np.minimum(p, q)
    crossed = high * (1 - low) - float(odds) * low * (1 - high)
    return np.asarray(np.minimum(high - low - float(floor), crossed))


class _Columns(Frozen, dict=True):
    """Both groups of a pair over the strata they share, as integer arrays [Z]."""

    over: tuple[Ints, Ints]
    under: tuple[Ints, Ints]

    @cached_property
    def shares(self) -> tuple[Floats, Floats]:
        """The rate of each group in each stratum."""
        return self.over[0] / self.under[0], self.over[1] / self.under[1]

    @cached_property
    def people(self) -> Ints:
        """The people of both groups in each stratum."""
        return np.asarray(self.under[0] + self.under[1])

    @cached_property
    def weight(self) -> Floats:
        """Their share in all strata."""
        return np.asarray(self.people / self.people.sum())

    @cached_property
    def crude(self) -> float:
        """The difference with the strata thrown together."""
        (a, c), (n, m) = self.over, self.under
        return float(a.sum() / n.sum() - c.sum() / m.sum())

    @cached_property
    def standardized(self) -> float:
        """The difference at the mix of strata of both together."""
        p, q = self.shares
        return float((self.weight * (p - q)).sum())

    def standardized_sides(self) -> tuple[float, float]:
        """The rate of each group at that mix."""
        p, q = self.shares
        return float((self.weight * p).sum()), float((self.weight * q).sum())

    @cached_property
    def is_turned(self) -> bool:
        """Whether the standardized difference has the opposite sign."""
        return self._side * _find_sign(self.standardized, self.exact_standardized) < 0

    @cached_property
    def opposite(self) -> Marks:
        """Which strata point the other way."""
        return np.asarray((self._signs() == -self._side) & (self._side != 0))

    @cached_property
    def _side(self) -> int:
        return _find_sign(self.crude, self.exact_crude)

    @cached_property
    def composition(self) -> float:
        """The part of the difference that goes with the mix of strata of each group."""
        (p, q), (n, m) = self.shares, self.under
        return float(((p + q) / 2 * (n / n.sum() - m / m.sum())).sum())

    def mantel_haenszel_odds_ratio(self) -> float:
        """The odds ratio that all strata share; infinite or undefined where it divides by 0."""
        (a, c), (n, m) = self.over, self.under
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.divide((a * ((m - c) / (n + m))).sum(), (c * ((n - a) / (n + m))).sum())
        return float(odds)

    def _signs(self) -> Ints:
        """The sign of the difference in each stratum, by cross products where it is near 0."""
        (a, c), (n, m) = self.over, self.under
        gap = a / n - c / m
        signs = np.sign(gap).astype(np.int64)
        for near in np.flatnonzero(np.abs(gap) < NEAR).tolist():
            cross = int(a[near]) * int(m[near]) - int(c[near]) * int(n[near])
            signs[near] = (cross > 0) - (cross < 0)
        return signs

    def crude_sides(self) -> tuple[float, float]:
        """The rate of each group with the strata thrown together."""
        (a, c), (n, m) = self.over, self.under
        return float(a.sum() / n.sum()), float(c.sum() / m.sum())

    def exact_crude_sides(self) -> tuple[Fraction, Fraction]:
        """These rates as fractions."""
        (a, c), (n, m) = self.over, self.under
        return Fraction(int(a.sum()), int(n.sum())), Fraction(int(c.sum()), int(m.sum()))

    def exact_standardized_sides(self) -> tuple[Fraction, Fraction]:
        """The rates at the mix of strata of both together as fractions."""
        weights = [int(people) for people in self.people]
        first, second = (
            sum(
                (
                    weight * Fraction(int(hits), int(people))
                    for weight, hits, people in zip(weights, over, under, strict=True)
                ),
                Fraction(0),
            )
            / sum(weights)
            for over, under in zip(self.over, self.under, strict=True)
        )
        return first, second

    def exact_crude(self) -> Fraction:
        """The crude difference as a fraction."""
        first, second = self.exact_crude_sides()
        return first - second

    def exact_standardized(self) -> Fraction:
        """The standardized difference as a fraction."""
        first, second = self.exact_standardized_sides()
        return first - second

    def has_wide_gaps_of_both_signs(self, floor: Fraction, odds: Fraction) -> bool:
        """Whether the mean gaps of the strata that point one way, and the other way, count."""
        p, q = self.shares
        for side in (self._signs() > 0, self._signs() < 0):
            if not side.any():
                return False
            weight = self.people[side] / self.people[side].sum()
            first, second = (np.asarray((weight * share[side]).sum()) for share in (p, q))
            if find_excess(first, second, floor, odds) < -NEAR * max(first, second):
                return False
        return True


def count_rate(values: GroupValues) -> tuple[Ints, Ints]:
    """Numerators and denominators of a rate, [Z, G]."""
    if values.over is None or values.under is None:
        raise ValueError(f"{values.metric.id} is no rate")
    return values.over, values.under


def measure_pair(
    values: GroupValues,
    table: GroupTable,
    support: Ints,
    pair: tuple[int, int],
    scan: ReversalScan,
    *,
    interacts: bool,
) -> Reversal | None:
    """One pair with its kind and numbers, untested; None where conditioning changes nothing.

    `interacts`: by Gail & Simon's test its gaps in strata are opposite.
    """
    g, h = pair
    columns = _Columns(*((part[support, g], part[support, h]) for part in count_rate(values)))
    kind = _choose_kind(columns, scan, interacts=interacts)
    if kind is None:
        return None
    first, second = (_list_rates(values, support, group, table.scale) for group in pair)
    return Reversal(
        rate=values.metric.id,
        of=table.of,
        attribute=table.by[0],
        pair=(table.groups[g][0][1], table.groups[h][0][1]),
        given=table.given,
        kind=kind,
        crude=columns.crude,
        crude_pair=(first[-1], second[-1]),
        standardized=columns.standardized,
        standardized_pair=columns.standardized_sides(),
        composition=columns.composition,
        within=columns.crude - columns.composition,
        mantel_haenszel_odds_ratio=columns.mantel_haenszel_odds_ratio(),
        opposite_weight=float(_weigh(columns.people, columns.opposite)),
        reversed_strata=int(columns.opposite.sum()),
        estimable_strata=len(support),
        adjusted=columns.is_turned,
        strata=tuple(
            Stratum(table.strata[z], first[i], second[i], float(columns.weight[i]))
            for i, z in enumerate(support)
        ),
        # Those of all groups and the tests are added by the scan.
        crude_everybody=math.nan,
        joined=None,
        crude_p=None,
        significance=None,
        off_support=(),
        incomplete=0,
    )


def _list_rates(values: GroupValues, support: Ints, group: int, scale: int) -> list[GroupRate]:
    """The rate of one group in each of some strata, and last in all of them together."""
    counts = np.stack([part[support, group] for part in (*count_rate(values), values.n)], axis=1)
    rows = [*counts.tolist(), counts.sum(axis=0).tolist()]
    return [GroupRate(over, under, n, scale) for over, under, n in rows]


def _choose_kind(columns: _Columns, scan: ReversalScan, *, interacts: bool) -> ReversalKind | None:
    """The first kind that fits: of gaps that count, by the share that comes or goes.

    Another kind must not be one that `_find_suspects` in `scanning.py` leaves out, or it is never
    found.
    """
    crude, standardized = columns.crude, columns.standardized
    exact = columns.exact_crude, columns.exact_standardized
    turned, opposite = columns.is_turned, columns.opposite
    wide = _counts(columns.crude_sides(), scan, columns.exact_crude_sides)
    adjusted_wide = _counts(columns.standardized_sides(), scan, columns.exact_standardized_sides)
    if wide and adjusted_wide and opposite.all():
        return ReversalKind.EVERY_STRATUM
    if wide and adjusted_wide and turned:
        return ReversalKind.ADJUSTED
    if wide and _weigh(columns.people, opposite) > Fraction(1, 2):
        return ReversalKind.MOST_PEOPLE
    if interacts and columns.has_wide_gaps_of_both_signs(scan.floor, scan.odds):
        return ReversalKind.OPPOSITE
    if adjusted_wide and not wide:
        hides = turned or _is_at_most_half(crude, standardized, *exact)
        return ReversalKind.MASKED if hides else None
    if wide and (turned or _is_at_most_half(standardized, crude, *reversed(exact))):
        return ReversalKind.EXPLAINED
    return None


def _weigh(weights: Ints, marked: Marks) -> Fraction:
    """The share of the weights that is marked."""
    return Fraction(int(weights[marked].sum()), int(weights.sum()))


def _is_at_most_half(
    part: float, whole: float, exact: Callable[[], Fraction], exact_whole: Callable[[], Fraction]
) -> bool:
    """Whether a gap is at most half as wide as another, decided exactly where it is near."""
    if abs(2 * abs(part) - abs(whole)) > NEAR:
        return 2 * abs(part) < abs(whole)
    return 2 * abs(exact()) <= abs(exact_whole())


def _find_sign(value: float, exact: Callable[[], Fraction]) -> int:
    """The sign of a value, decided exactly where it is near 0."""
    if abs(value) > NEAR:
        return 1 if value > 0 else -1
    fraction = exact()
    return (fraction > 0) - (fraction < 0)


def _counts(
    sides: tuple[float, float],
    scan: ReversalScan,
    exact: Callable[[], tuple[Fraction, Fraction]],
) -> bool:
    """Whether two rates are as far apart as counts, decided exactly where they nearly are."""
    p, q = map(np.asarray, sides)
    excess = float(find_excess(p, q, scan.floor, scan.odds))
    if abs(excess) > NEAR:
        return excess > 0
    high, low = max(exact()), min(exact())
    is_as_wide = high - low >= scan.floor and high * (1 - low) >= scan.odds * low * (1 - high)
    return is_as_wide and (high > low or scan.odds == 1)
