"""Simpson's reversals: a gap between two groups that turns when a third column is held fixed.

The kinds and their order are those of Foulds & Pan §3.1 ("for all, or most, of the third variable's
values") made exact: decided on complete cases and on the strata where both groups occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fairaudit.cube import Group, Grouping, GroupTable, Ints, Marks
from fairaudit.metrics import Rate, Reading
from fairaudit.metrics.counts import Tally

_NEAR = 1e-9
"""Closer than this to the floor, fractions decide instead of floats."""


class Kind(StrEnum):
    """What conditioning does to a gap, strongest first; the last two are notes."""

    EVERY_STRATUM = "every_stratum"
    ADJUSTED = "adjusted"
    MOST_STRATA = "most_strata"
    MASKED = "masked"
    EXPLAINED = "explained"

    @property
    def strength(self) -> int:
        """How strong: the larger the stronger."""
        return -list(Kind).index(self)

    @property
    def means(self) -> str:
        """What it means, in a sentence."""
        return _MEANS[self]

    @property
    def reverses(self) -> bool:
        """Whether it is a reversal, not a note."""
        return self not in {Kind.MASKED, Kind.EXPLAINED}


_MEANS = {
    Kind.EVERY_STRATUM: "The gap points one way overall and the other way in every stratum.",
    Kind.ADJUSTED: "The gap points the other way once both groups are given the same mix of "
    "strata, though not in every stratum.",
    Kind.MOST_STRATA: "More than half of the people stand in strata where the gap points the other "
    "way, though not after adjustment.",
    Kind.MASKED: "There is hardly a gap overall, but there is one at an equal mix of strata.",
    Kind.EXPLAINED: "There is a gap overall, but hardly one at an equal mix of strata.",
}


class Share(NamedTuple):
    """A rate of one group: numerator and denominator (over `scale` under weights), and people."""

    over: int
    under: int
    n: int
    scale: int = 1

    @property
    def value(self) -> float:
        """The rate; NaN where the denominator is empty."""
        return self.over / self.under if self.under else float("nan")


@dataclass(frozen=True, slots=True)
class Stratum:
    """One value of the conditioning column: both groups' rates there, and its weight."""

    stratum: Group
    first: Share
    second: Share
    weight: float

    @property
    def difference(self) -> float:
        """The first group's rate minus the second's."""
        return self.first.value - self.second.value


@dataclass(frozen=True, slots=True)
class Reversal:
    """Two groups of one attribute whose gap conditioning changes, with the numbers that prove it.

    All differences are first minus second of the pair, on complete cases and common support, so
    that `crude = composition + within`. `standardized` weighs strata by both groups together.
    """

    rate: str
    of: str
    attribute: str
    pair: tuple[str, str]
    given: Grouping
    kind: Kind
    crude: float
    crude_pair: tuple[Share, Share]
    crude_everybody: float
    standardized: float
    standardized_pair: tuple[float, float]
    composition: float
    within: float
    mantel_haenszel_odds_ratio: float
    opposite_weight: float
    reversed_strata: int
    estimable_strata: int
    strata: tuple[Stratum, ...]
    off_support: tuple[Group, ...]
    incomplete: int

    @property
    def adjusted(self) -> bool:
        """Whether the standardised gap has the opposite sign."""
        return self.crude * self.standardized < 0


@dataclass(frozen=True, slots=True)
class Scan:
    """What to look for: rates of one outcome, between the groups of attributes, given columns."""

    rates: tuple[Rate, ...]
    of: str
    attributes: tuple[str, ...]
    given: tuple[str, ...]
    floor: Fraction
    references: dict[str, str]
    min_size: int | None = None


def scan(table: Callable[[Grouping, Grouping, str], GroupTable], asked: Scan) -> list[Reversal]:
    """Every reversal and note of the scan, the strongest and widest first."""
    found = []
    for attribute in asked.attributes:
        alone = table((attribute,), (), asked.of)
        for given in asked.given:
            if given == attribute:
                continue
            within = table((attribute,), (given,), asked.of)
            for rate in asked.rates:
                found += list(_pairs(rate, asked, alone, within))
    return sorted(found, key=lambda one: (-one.kind.strength, -abs(one.crude), one.attribute))


class _Columns(NamedTuple):
    """Both groups of a pair over the strata they share, as integer arrays [Z]."""

    over: tuple[Ints, Ints]
    under: tuple[Ints, Ints]

    def exact_crude(self) -> Fraction:
        sides = [
            Fraction(int(over.sum()), int(under.sum()))
            for over, under in zip(self.over, self.under, strict=True)
        ]
        return sides[0] - sides[1]

    def exact_standardized(self) -> Fraction:
        weights = [int(a) + int(b) for a, b in zip(*self.under, strict=True)]
        terms = (
            w * (Fraction(int(a), int(b)) - Fraction(int(c), int(d)))
            for w, a, b, c, d in zip(
                weights, self.over[0], self.under[0], self.over[1], self.under[1], strict=True
            )
        )
        return sum(terms, Fraction(0)) / sum(weights)


def _pairs(rate: Rate, asked: Scan, alone: GroupTable, within: GroupTable) -> Iterator[Reversal]:
    """The reversals of one rate between the groups of one attribute, given one column."""
    everybody = rate.read(Tally.of(alone))
    reading = rate.read(Tally.of(within))
    _, under = _integers(reading)
    known = np.flatnonzero(within.known_strata)
    attribute, given = within.by[0], within.given[0]
    levels = [group[0][1] for group in within.groups]
    place = {group[0][1]: at for at, group in enumerate(alone.groups)}
    for g, h in _suspects(reading, known, np.flatnonzero(within.known), asked.floor):
        if levels[g] == asked.references.get(attribute):
            g, h = h, g  # noqa: PLW2901  # the declared reference stands second
        sides = (place[levels[g]], place[levels[h]])
        if min(everybody.n[0, side] for side in sides) < (asked.min_size or 0):
            continue
        support = known[(under[known][:, [g, h]] > 0).all(axis=1)]
        found = _compare(reading, within, support, (g, h), asked.floor)
        if found is None:
            continue
        kind, numbers = found
        yield Reversal(
            rate=rate.id,
            of=asked.of,
            attribute=attribute,
            pair=(levels[g], levels[h]),
            given=(given,),
            kind=kind,
            crude_everybody=float(everybody.value[0, sides[0]] - everybody.value[0, sides[1]]),
            off_support=_one_sided(reading, within, known, (g, h)),
            incomplete=int(sum(everybody.n[0, side] for side in sides))
            - int(reading.n[known][:, [g, h]].sum()),
            **numbers,
        )


def _suspects(
    reading: Reading, known: Ints, groups: Ints, floor: Fraction
) -> Iterator[tuple[int, int]]:
    """The pairs that conditioning may change, each group against all later ones at once.

    It only leaves out pairs whose gap is clearly the same, or clearly small, before and after, so
    that `_compare` need not look at the k² pairs one by one.
    """
    over, under = _integers(reading)
    over, under = over[known], under[known]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(under > 0, over / under, 0.0)
        for at, g in enumerate(groups[:-1].tolist()):
            later = groups[at + 1 :]
            both = (under[:, [g]] > 0) & (under[:, later] > 0)
            weight = (under[:, [g]] + under[:, later]) * both
            gap = rate[:, [g]] - rate[:, later]
            crude = (over[:, [g]] * both).sum(axis=0) / (under[:, [g]] * both).sum(axis=0)
            crude -= (over[:, later] * both).sum(axis=0) / (under[:, later] * both).sum(axis=0)
            adjusted = (weight * gap).sum(axis=0) / weight.sum(axis=0)
            turned = (weight * (gap * crude < 0)).sum(axis=0) / weight.sum(axis=0)
            sizes = np.abs([crude, adjusted])
            same = (sizes > float(floor) + _NEAR).all(axis=0) & (crude * adjusted > 0)
            same &= turned < 0.5 - _NEAR
            small = (sizes < float(floor) - _NEAR).all(axis=0)
            for h in later[both.any(axis=0) & ~same & ~small].tolist():
                yield g, h


def _integers(reading: Reading) -> tuple[Ints, Ints]:
    """Numerators and denominators of a rate, [Z, G]."""
    if reading.over is None or reading.under is None:
        raise ValueError(f"{reading.quantity.id} is no rate")
    return reading.over, reading.under


def _compare(
    reading: Reading, table: GroupTable, support: Ints, pair: tuple[int, int], floor: Fraction
) -> tuple[Kind, dict[str, Any]] | None:
    """The kind of one pair with its numbers; None where conditioning changes nothing."""
    over, under = _integers(reading)
    g, h = pair
    columns = _Columns((over[support, g], over[support, h]), (under[support, g], under[support, h]))
    (a, c), (n, m) = columns.over, columns.under
    p, q = a / n, c / m
    weight = (n + m) / (n + m).sum()
    crude = float(a.sum() / n.sum() - c.sum() / m.sum())
    standardized = float((weight * (p - q)).sum())
    opposite = np.sign(p - q) == -np.sign(crude)
    kind = _kind(
        wide=_reaches(crude, floor, columns.exact_crude),
        adjusted_wide=_reaches(standardized, floor, columns.exact_standardized),
        turned=crude * standardized < 0,
        all_opposite=bool(crude) and bool(opposite.all()),
        opposite_weight=_share(n + m, opposite),
    )
    if kind is None:
        return None
    composition = float(((p + q) / 2 * (n / n.sum() - m / m.sum())).sum())
    people = reading.n[support]
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.divide((a * ((m - c) / (n + m))).sum(), (c * ((n - a) / (n + m))).sum())
    return kind, {
        "crude": crude,
        "crude_pair": (
            Share(int(a.sum()), int(n.sum()), int(people[:, g].sum()), table.scale),
            Share(int(c.sum()), int(m.sum()), int(people[:, h].sum()), table.scale),
        ),
        "standardized": standardized,
        "standardized_pair": (float((weight * p).sum()), float((weight * q).sum())),
        "composition": composition,
        "within": crude - composition,
        "mantel_haenszel_odds_ratio": float(odds),
        "opposite_weight": float(_share(n + m, opposite)) if crude else 0.0,
        "reversed_strata": int(opposite.sum()) if crude else 0,
        "estimable_strata": len(support),
        "strata": tuple(
            Stratum(
                table.strata[z],
                Share(int(a[i]), int(n[i]), int(people[i, g]), table.scale),
                Share(int(c[i]), int(m[i]), int(people[i, h]), table.scale),
                float(weight[i]),
            )
            for i, z in enumerate(support)
        ),
    }


def _kind(
    *, wide: bool, adjusted_wide: bool, turned: bool, all_opposite: bool, opposite_weight: Fraction
) -> Kind | None:
    """The first kind that fits."""
    if wide and adjusted_wide and all_opposite:
        return Kind.EVERY_STRATUM
    if wide and adjusted_wide and turned:
        return Kind.ADJUSTED
    if wide and opposite_weight > Fraction(1, 2):
        return Kind.MOST_STRATA
    if adjusted_wide and not wide:
        return Kind.MASKED
    if wide and not adjusted_wide:
        return Kind.EXPLAINED
    return None


def _share(weights: Ints, marked: Marks) -> Fraction:
    return Fraction(int(weights[marked].sum()), int(weights.sum()))


def _reaches(value: float, floor: Fraction, exact: Callable[[], Fraction]) -> bool:
    """Whether the size of a value is at least the floor, decided exactly where it is near."""
    if abs(abs(value) - float(floor)) > _NEAR:
        return abs(value) > float(floor)
    return abs(exact()) >= floor


def _one_sided(
    reading: Reading, table: GroupTable, known: Ints, pair: tuple[int, int]
) -> tuple[Group, ...]:
    """The strata where only one of the two groups occurs."""
    _, under = _integers(reading)
    present = under[known][:, list(pair)] > 0
    return tuple(table.strata[z] for z in known[present.any(axis=1) & ~present.all(axis=1)])
