"""Simpson's reversals: a gap between two groups that turns when a third column is held fixed.

The kinds and their order are those of Foulds & Pan §3.1 ("for all, or most, of the third variable's
values") made exact: decided on complete cases and on the strata where both groups occur.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fairaudit.cube import Group, Grouping, GroupTable, Ints, Marks
from fairaudit.metrics import (
    NO_MINIMUM,
    Aside,
    Minimum,
    Rate,
    Reading,
    Standing,
    Terms,
    evaluate,
    set_aside,
)
from fairaudit.metrics.counts import tally_of
from fairaudit.metrics.inference import USUAL, Inference
from fairaudit.stats import strata

MOST_GROUPS = 500
"""Of so many groups all pairs are compared; more are told, not scanned."""

LeftOut: TypeAlias = tuple[Group, Aside]
"""Who could not be compared, and why."""

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
class Joined:
    """What the strata say together of both groups; a number that does not exist is None.

    `p` is that of Cochran–Mantel–Haenszel, the ends those of the common odds ratio (Robins, Breslow
    & Greenland) and of the common `difference` (Sato). `homogeneity` is Breslow & Day's p that all
    odds ratios are one, `interaction` Gail & Simon's that no two gaps point different ways.
    """

    p: float | None
    odds_low: float | None
    odds_high: float | None
    difference: float | None
    difference_low: float | None
    difference_high: float | None
    homogeneity: float | None
    interaction: float | None


@dataclass(frozen=True, slots=True)
class Reversal:
    """Two groups of one attribute whose gap conditioning changes, with the numbers that prove it.

    All differences are first minus second of the pair, on complete cases and common support, so
    that `crude = composition + within`. `standardized` weighs strata by both groups together;
    `adjusted` says whether it has the opposite sign. A `suppressed` one tells its kind alone: its
    numbers are NaN or 0, and mean nothing.
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
    joined: Joined | None
    opposite_weight: float
    reversed_strata: int
    estimable_strata: int
    adjusted: bool
    strata: tuple[Stratum, ...]
    off_support: tuple[Group, ...]
    incomplete: int
    suppressed: bool = False


@dataclass(frozen=True, slots=True)
class Scan:
    """What to look for: rates of one outcome, between the groups of attributes, given columns.

    With `search` also given each column of the data that the spec does not name.
    """

    rates: tuple[Rate, ...]
    of: str
    attributes: tuple[str, ...]
    given: tuple[str, ...]
    floor: Fraction
    references: dict[str, str]
    minimum: Minimum = NO_MINIMUM
    inference: Inference = USUAL
    search: bool = False


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a scan found, and what it could look at: pairs compared, by rate, and who was not."""

    found: tuple[Reversal, ...] = ()
    compared: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()


def scan(table: Callable[[Grouping, Grouping, str], GroupTable], asked: Scan) -> Scanned:
    """Every reversal and note of the scan, the strongest and widest first."""
    found: list[Reversal] = []
    compared = dict.fromkeys((rate.id for rate in asked.rates), 0)
    left_out: dict[LeftOut, None] = {}
    for attribute in asked.attributes:
        alone = table((attribute,), (), asked.of)
        for given in asked.given:
            if given == attribute:
                continue
            within = table((attribute,), (given,), asked.of)
            for rate in asked.rates:
                pairs = _Pairs(rate, asked, alone, within)
                if len(pairs.large) > MOST_GROUPS:
                    many = f"{attribute} has {len(pairs.large):,} groups: they are not compared "
                    many += f"pair by pair, which is done up to {MOST_GROUPS}"
                    left_out[(), Aside(Standing.ELIGIBLE, many)] = None
                    continue
                found += pairs.reversals()
                compared[rate.id] += pairs.compared()
                left_out.update(dict.fromkeys(pairs.left_out()))
    found.sort(key=lambda one: (-one.kind.strength, -abs(one.crude), one.attribute))
    return Scanned(tuple(found), compared, tuple(left_out))


class _Columns(NamedTuple):
    """Both groups of a pair over the strata they share, as integer arrays [Z]."""

    over: tuple[Ints, Ints]
    under: tuple[Ints, Ints]

    def signs(self) -> Ints:
        """The sign of the difference in each stratum, by cross products where it is near 0."""
        (a, c), (n, m) = self.over, self.under
        gap = a / n - c / m
        signs = np.sign(gap).astype(np.int64)
        for at in np.flatnonzero(np.abs(gap) < _NEAR).tolist():
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


class _Pairs:
    """The pairs of groups of one attribute, given one column, by one rate."""

    def __init__(self, rate: Rate, asked: Scan, alone: GroupTable, within: GroupTable) -> None:
        self.asked = asked
        self.within = within
        self.whole = evaluate(rate, alone, Terms(minimum=asked.minimum))
        self.reading = rate.read(tally_of(within))
        self.levels = [group[0][1] for group in within.groups]
        self.strata = np.flatnonzero(within.known_strata)
        self.place = {group[0][1]: at for at, group in enumerate(alone.groups)}
        self.known = np.flatnonzero(within.known)
        takes_part = np.asarray(self.whole.takes_part.any(axis=0))
        large = [g for g in self.known.tolist() if takes_part[self.place[self.levels[g]]]]
        self.large = np.array(large, dtype=np.int64)

    def compared(self) -> int:
        """How many pairs share a stratum in which both have the rate."""
        _, under = _integers(self.reading)
        present = under[self.strata][:, self.large] > 0
        together = present.astype(np.int64).T @ present.astype(np.int64)
        return int(np.triu(together > 0, k=1).sum())

    def left_out(self) -> Iterator[LeftOut]:
        """Who could not be compared, and why."""
        for g in np.setdiff1d(self.known, self.large).tolist():
            yield self.within.groups[g], set_aside(self.whole, 0, self.place[self.levels[g]])
        apart = len(self.large) * (len(self.large) - 1) // 2 - self.compared()
        if apart:
            attribute, given = self.within.by[0], self.within.given[0]
            pairs = "pair of groups shares" if apart == 1 else "pairs of groups share"
            why = f"{apart} {pairs} no stratum: {attribute} given {given}"
            yield (), Aside(Standing.ELIGIBLE, why)

    def reversals(self) -> Iterator[Reversal]:
        """The reversals and notes among them."""
        _, under = _integers(self.reading)
        reference = self.asked.references.get(self.within.by[0])
        for g, h in _suspects(self.reading, self.strata, self.large, self.asked.floor):
            # The declared reference stands second.
            pair = (h, g) if self.levels[g] == reference else (g, h)
            support = self.strata[(under[self.strata][:, list(pair)] > 0).all(axis=1)]
            found = _compare(self.reading, self.within, support, pair, self.asked.floor)
            if found is not None:
                kind, numbers = found
                numbers["joined"] = _joined(self.reading, support, pair, self.asked.inference.alpha)
                yield self.reversal(pair, kind, numbers)

    def reversal(self, pair: tuple[int, int], kind: Kind, numbers: dict[str, Any]) -> Reversal:
        """One of them, with what lies outside the strata that both share."""
        first, second = (self.place[self.levels[side]] for side in pair)
        everybody = self.whole.reading
        assert everybody is not None
        people = int(everybody.n[0, [first, second]].sum())
        crude = everybody.value[0, first] - everybody.value[0, second]
        return Reversal(
            rate=self.reading.quantity.id,
            of=self.asked.of,
            attribute=self.within.by[0],
            pair=(self.levels[pair[0]], self.levels[pair[1]]),
            given=self.within.given,
            kind=kind,
            crude_everybody=float(crude),
            off_support=_one_sided(self.reading, self.within, self.strata, pair),
            incomplete=people - int(self.reading.n[self.strata][:, list(pair)].sum()),
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
    side = _sign(crude, columns.exact_crude)
    adjusted_side = _sign(standardized, columns.exact_standardized)
    opposite = (columns.signs() == -side) & (side != 0)
    kind = _kind(
        wide=_reaches(crude, floor, columns.exact_crude),
        adjusted_wide=_reaches(standardized, floor, columns.exact_standardized),
        turned=side * adjusted_side < 0,
        all_opposite=bool(opposite.all()),
        opposite_weight=_share(n + m, opposite),
    )
    if kind is None:
        return None
    composition = float(((p + q) / 2 * (n / n.sum() - m / m.sum())).sum())
    people = reading.n[support]

    def share(over: Ints, under: Ints, count: Ints) -> Share:
        return Share(int(over.sum()), int(under.sum()), int(count.sum()), table.scale)

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


def _joined(reading: Reading, support: Ints, pair: tuple[int, int], alpha: float) -> Joined:
    """The strata joined; under survey weights by the effective sizes."""
    (n, m), (p, q) = (
        [np.asarray(values[support, side]) for side in pair]
        for values in (reading.size, reading.value)
    )
    a, c = n * p, m * q
    found = strata.mantel_haenszel(a, n, c, m, alpha)
    *_, homogeneity = strata.breslow_day(a, n, c, m)
    _, interaction = strata.gail_simon(p - q, p * (1 - p) / n + q * (1 - q) / m)
    ends = (found.odds_low, found.odds_high)
    differences = (found.difference, found.difference_low, found.difference_high)
    numbers = (found.p, *ends, *differences, homogeneity, interaction)
    return Joined(*(None if np.isnan(one) else float(one) for one in numbers))


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


def _sign(value: float, exact: Callable[[], Fraction]) -> int:
    """The sign of a value, decided exactly where it is near 0."""
    if abs(value) > _NEAR:
        return 1 if value > 0 else -1
    found = exact()
    return (found > 0) - (found < 0)


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
