"""One pair of groups, before and after its strata are held apart: the kind, and the numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fairaudit.cube import GroupTable, Ints, Marks
from fairaudit.metrics import GroupValues
from fairaudit.simpson.kinds import ReversalKind
from fairaudit.simpson.records import GroupRate, Stratum

NEAR = 1e-9
"""Closer than this to the floor, fractions decide instead of floats."""


class _Columns(NamedTuple):
    """Both groups of a pair over the strata they share, as integer arrays [Z]."""

    over: tuple[Ints, Ints]
    under: tuple[Ints, Ints]

    def signs(self) -> Ints:
        """The sign of the difference in each stratum, by cross products where it is near 0."""
        (a, c), (n, m) = self.over, self.under
        gap = a / n - c / m
        signs = np.sign(gap).astype(np.int64)
        for at in np.flatnonzero(np.abs(gap) < NEAR).tolist():
            cross = int(a[at]) * int(m[at]) - int(c[at]) * int(n[at])
            signs[at] = (cross > 0) - (cross < 0)
        return signs

    def exact_crude(self) -> Fraction:
        """The difference with the strata thrown together."""
        sides = [
            Fraction(int(over.sum()), int(under.sum()))
            for over, under in zip(self.over, self.under, strict=True)
        ]
        return sides[0] - sides[1]

    def exact_standardized(self) -> Fraction:
        """The difference at the mix of strata of both together."""
        weights = [int(a) + int(b) for a, b in zip(*self.under, strict=True)]
        terms = (
            w * (Fraction(int(a), int(b)) - Fraction(int(c), int(d)))
            for w, a, b, c, d in zip(
                weights, self.over[0], self.under[0], self.over[1], self.under[1], strict=True
            )
        )
        return sum(terms, Fraction(0)) / sum(weights)


def integers(reading: GroupValues) -> tuple[Ints, Ints]:
    """Numerators and denominators of a rate, [Z, G]."""
    if reading.over is None or reading.under is None:
        raise ValueError(f"{reading.metric.id} is no rate")
    return reading.over, reading.under


def compare(
    reading: GroupValues, table: GroupTable, support: Ints, pair: tuple[int, int], floor: Fraction
) -> tuple[ReversalKind, dict[str, Any]] | None:
    """The kind of one pair with its numbers; None where conditioning changes nothing."""
    over, under = integers(reading)
    g, h = pair
    columns = _Columns((over[support, g], over[support, h]), (under[support, g], under[support, h]))
    (a, c), (n, m) = columns.over, columns.under
    p, q = a / n, c / m
    weight = (n + m) / (n + m).sum()
    crude = float(a.sum() / n.sum() - c.sum() / m.sum())
    standardized = float((weight * (p - q)).sum())
    side = _sign(crude, columns.exact_crude)
    adjusted_side = _sign(standardized, columns.exact_standardized)
    opposite = (columns.signs() == -side) & (side != 0)
    kind = _kind(
        wide=_reaches(crude, floor, columns.exact_crude),
        adjusted_wide=_reaches(standardized, floor, columns.exact_standardized),
        turned=side * adjusted_side < 0,
        all_opposite=bool(opposite.all()),
        opposite_weight=_share(n + m, opposite),
        goes=_is_half(standardized, crude, columns.exact_standardized, columns.exact_crude),
        hides=_is_half(crude, standardized, columns.exact_crude, columns.exact_standardized),
    )
    if kind is None:
        return None
    composition = float(((p + q) / 2 * (n / n.sum() - m / m.sum())).sum())
    people = reading.n[support]

    def share(over: Ints, under: Ints, count: Ints) -> GroupRate:
        return GroupRate(int(over.sum()), int(under.sum()), int(count.sum()), table.scale)

    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.divide((a * ((m - c) / (n + m))).sum(), (c * ((n - a) / (n + m))).sum())
    return kind, {
        "crude": crude,
        "crude_pair": (share(a, n, people[:, g]), share(c, m, people[:, h])),
        "standardized": standardized,
        "standardized_pair": (float((weight * p).sum()), float((weight * q).sum())),
        "composition": composition,
        "within": crude - composition,
        "mantel_haenszel_odds_ratio": float(odds),
        "opposite_weight": float(_share(n + m, opposite)),
        "reversed_strata": int(opposite.sum()),
        "adjusted": side * adjusted_side < 0,
        "estimable_strata": len(support),
        "strata": tuple(
            Stratum(
                table.strata[z],
                share(a[i], n[i], people[i, g]),
                share(c[i], m[i], people[i, h]),
                float(weight[i]),
            )
            for i, z in enumerate(support)
        ),
    }


def _kind(
    *,
    wide: bool,
    adjusted_wide: bool,
    turned: bool,
    all_opposite: bool,
    opposite_weight: Fraction,
    goes: bool,
    hides: bool,
) -> ReversalKind | None:
    """The first kind that fits: of gaps as wide as the floor, by the share that comes or goes."""
    if wide and adjusted_wide and all_opposite:
        return ReversalKind.EVERY_STRATUM
    if wide and adjusted_wide and turned:
        return ReversalKind.ADJUSTED
    if wide and opposite_weight > Fraction(1, 2):
        return ReversalKind.MOST_PEOPLE
    if adjusted_wide and not wide and (turned or hides):
        return ReversalKind.MASKED
    if wide and (turned or goes):
        return ReversalKind.EXPLAINED
    return None


def _share(weights: Ints, marked: Marks) -> Fraction:
    return Fraction(int(weights[marked].sum()), int(weights.sum()))


def _is_half(
    part: float, whole: float, exact: Callable[[], Fraction], exact_whole: Callable[[], Fraction]
) -> bool:
    """Whether a gap is at most half as wide as another, decided exactly where it is near."""
    if abs(2 * abs(part) - abs(whole)) > NEAR:
        return 2 * abs(part) < abs(whole)
    return 2 * abs(exact()) <= abs(exact_whole())


def _sign(value: float, exact: Callable[[], Fraction]) -> int:
    """The sign of a value, decided exactly where it is near 0."""
    if abs(value) > NEAR:
        return 1 if value > 0 else -1
    found = exact()
    return (found > 0) - (found < 0)


def _reaches(value: float, floor: Fraction, exact: Callable[[], Fraction]) -> bool:
    """Whether the size of a value is at least the floor, decided exactly where it is near."""
    if abs(abs(value) - float(floor)) > NEAR:
        return abs(value) > float(floor)
    return abs(exact()) >= floor
