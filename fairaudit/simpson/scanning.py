"""The scan: every rate, pair of groups and conditioning, and which of them turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.cube import Group, Grouping, GroupTable, Ints
from fairaudit.metrics import Aside, Rate, Reading, Standing, Terms, evaluate, set_aside
from fairaudit.metrics.counts import tally_of
from fairaudit.simpson.comparing import NEAR, compare, integers, joined
from fairaudit.simpson.kinds import Kind
from fairaudit.simpson.records import LeftOut, Reversal, Scan, Scanned

MOST_GROUPS = 500
"""Of so many groups all pairs are compared; more are told, not scanned."""


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
        _, under = integers(self.reading)
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
        _, under = integers(self.reading)
        reference = self.asked.references.get(self.within.by[0])
        for g, h in _suspects(self.reading, self.strata, self.large, self.asked.floor):
            # The declared reference stands second.
            pair = (h, g) if self.levels[g] == reference else (g, h)
            support = self.strata[(under[self.strata][:, list(pair)] > 0).all(axis=1)]
            found = compare(self.reading, self.within, support, pair, self.asked.floor)
            if found is not None:
                kind, numbers = found
                numbers["joined"] = joined(self.reading, support, pair, self.asked.inference.alpha)
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
    over, under = integers(reading)
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
            same = (sizes > float(floor) + NEAR).all(axis=0) & (crude * adjusted > 0)
            same &= turned < 0.5 - NEAR
            small = (sizes < float(floor) - NEAR).all(axis=0)
            for h in later[both.any(axis=0) & ~same & ~small].tolist():
                yield g, h


def _one_sided(
    reading: Reading, table: GroupTable, known: Ints, pair: tuple[int, int]
) -> tuple[Group, ...]:
    """The strata where only one of the two groups occurs."""
    _, under = integers(reading)
    present = under[known][:, list(pair)] > 0
    return tuple(table.strata[z] for z in known[present.any(axis=1) & ~present.all(axis=1)])
