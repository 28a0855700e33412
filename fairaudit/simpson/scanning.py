"""The scan: every rate, pair of groups and conditioning, and which of them turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from fairaudit.cube import Group, Grouping, GroupTable, Ints, Marks
from fairaudit.metrics import (
    Eligibility,
    GroupValues,
    Ineligibility,
    Rate,
    Terms,
    evaluate,
    explain_ineligibility,
)
from fairaudit.metrics.counts import count_groups
from fairaudit.simpson.comparing import NEAR, compare, integers
from fairaudit.simpson.kinds import ReversalKind
from fairaudit.simpson.records import LeftOut, PairChoice, Reversal, ReversalScan, ScanResult
from fairaudit.simpson.testing import judged, tested

MOST_GROUPS = 500
"""Of so many groups all pairs are compared; more are told, not scanned."""

MOST_SUSPECTS = 5_000
"""So many pairs that may turn one scan tests: each takes a few milliseconds."""


def scan_reversals(
    table: Callable[[Grouping, Grouping, str], GroupTable], asked: ReversalScan
) -> ScanResult:
    """Every reversal and note of the scan, those first that matter most.

    Reversals before notes; of these the significant ones, the stronger kind, the larger swing.
    """
    found: list[Reversal] = []
    compared = dict.fromkeys((rate.id for rate in asked.rates), 0)
    left_out: dict[LeftOut, None] = {}
    too_many: dict[str, None] = {}
    left = MOST_SUSPECTS
    for attribute in asked.attributes:
        alone = table((attribute,), (), asked.of)
        for given in asked.given:
            if attribute in given:
                continue
            within = table((attribute,), given, asked.of)
            for rate in asked.rates:
                pairs = _Pairs(rate, asked, alone, within)
                why = pairs.too_many(left)
                if why is not None:
                    too_many[why] = None
                    continue
                left -= len(pairs.suspects)
                found += pairs.reversals()
                compared[rate.id] += pairs.compared()
                left_out.update(dict.fromkeys(pairs.left_out()))
    tested = judged(found, sum(compared.values()), asked.inference)
    listed = list(_not_repeated(tested, asked.inference.alpha))
    listed.sort(key=lambda one: _place(one, asked.inference.alpha))
    repeated = len(found) - len(listed)
    return ScanResult(tuple(listed), compared, tuple(left_out), tuple(too_many), repeated)


def _place(one: Reversal, alpha: float) -> tuple[object, ...]:
    """Where a reversal stands among the others."""
    rank = (not one.kind.reverses, not one.is_significant(alpha), -one.kind.strength, -one.swing)
    return *rank, one.attribute, one.pair, one.given, one.rate


def _not_repeated(found: Sequence[Reversal], alpha: float) -> Iterator[Reversal]:
    """All but those given several columns that fewer of them show as strongly and as surely."""
    shown = {
        (one.rate, one.attribute, one.pair, one.given): (
            one.kind.strength,
            one.is_significant(alpha),
        )
        for one in found
    }
    for one in found:
        fewer = (
            shown.get((one.rate, one.attribute, one.pair, given))
            for size in range(1, len(one.given))
            for given in combinations(one.given, size)
        )
        sure = one.is_significant(alpha)
        if not any(
            known is not None and known[0] >= one.kind.strength and known[1] >= sure
            for known in fewer
        ):
            yield one


class _Pairs:
    """The pairs of groups of one attribute, given some columns, by one rate."""

    def __init__(
        self, rate: Rate, asked: ReversalScan, alone: GroupTable, within: GroupTable
    ) -> None:
        self.asked = asked
        self.within = within
        self.whole = evaluate(rate, alone, Terms(minimum=asked.minimum))
        self.reading = rate.compute(count_groups(within))
        self.levels = [group[0][1] for group in within.groups]
        self.strata = np.flatnonzero(within.known_strata)
        self.place = {group[0][1]: at for at, group in enumerate(alone.groups)}
        self.known = np.flatnonzero(within.known)
        takes_part = np.asarray(self.whole.takes_part.any(axis=0))
        large = [g for g in self.known.tolist() if takes_part[self.place[self.levels[g]]]]
        self.large = np.array(large, dtype=np.int64)
        reference = asked.references.get(within.by[0])
        self.reference = self.levels.index(reference) if reference in self.levels else None

    def too_many(self, left: int) -> str | None:
        """That there are too many pairs to compare, of which so many are `left` to this scan."""
        if self.asked.pairs is PairChoice.REFERENCE or len(self.large) <= MOST_GROUPS:
            if len(self.suspects) <= left:
                return None
            why = f"{self.within.by[0]} given {' and '.join(self.within.given)} is not looked at: "
            why += f"a scan tests {MOST_SUSPECTS:,} pairs of groups that may turn; say "
            return why + "`pairs: reference`, or name fewer columns"
        why = f"{self.within.by[0]} has {len(self.large):,} groups: they are not compared "
        why += f"pair by pair, which is done up to {MOST_GROUPS}: say `pairs: reference`"
        return why

    @cached_property
    def asked_for(self) -> Marks:
        """Which pairs are to be compared, [large, large], each once."""
        count = len(self.large)
        if self.asked.pairs is PairChoice.ALL:
            return np.triu(np.ones((count, count), dtype=bool), k=1)
        is_reference = self.large == (-1 if self.reference is None else self.reference)
        return np.asarray(is_reference[:, None] & ~is_reference[None, :])

    @cached_property
    def together(self) -> Marks:
        """Which of them share two strata or more in which both have the rate, [large, large]."""
        _, under = integers(self.reading)
        present = under[self.strata][:, self.large] > 0
        shared = present.astype(np.int64).T @ present.astype(np.int64)
        # In one stratum alone nothing can turn: the gap there is the gap overall.
        return np.asarray(self.asked_for & (shared > 1))

    @cached_property
    def suspects(self) -> list[tuple[int, int]]:
        """Those that may turn."""
        floor = self.asked.floor
        return list(_suspects(self.reading, self.strata, self.large, self.together, floor))

    def compared(self) -> int:
        """How many pairs share two strata or more in which both have the rate."""
        return int(self.together.sum())

    def left_out(self) -> Iterator[LeftOut]:
        """Who could not be compared, and why."""
        for g in np.setdiff1d(self.known, self.large).tolist():
            yield (
                self.within.groups[g],
                explain_ineligibility(self.whole, 0, self.place[self.levels[g]]),
            )
        apart = int(self.asked_for.sum()) - self.compared()
        # A column of one value holds nothing fixed, and says nothing of any pair.
        if apart and len(self.strata) > 1:
            attribute, given = self.within.by[0], " and ".join(self.within.given)
            pairs = "pair of groups shares" if apart == 1 else "pairs of groups share"
            why = f"{apart} {pairs} fewer than two strata: {attribute} given {given}"
            yield (), Ineligibility(Eligibility.ELIGIBLE, why)

    def reversals(self) -> Iterator[Reversal]:
        """The reversals and notes among them."""
        _, under = integers(self.reading)
        asked = self.asked
        for g, h in self.suspects:
            # The declared reference stands second.
            pair = (h, g) if g == self.reference else (g, h)
            support = self.strata[(under[self.strata][:, list(pair)] > 0).all(axis=1)]
            found = compare(self.reading, self.within, support, pair, asked.floor)
            if found is not None:
                kind, numbers = found
                said = tested(self.reading, support, pair, asked.inference)
                numbers["strata"] = tuple(
                    replace(one, significance=of_stratum)
                    for one, of_stratum in zip(numbers["strata"], said.strata, strict=True)
                )
                numbers |= {"joined": said.joined, "crude_p": said.crude_p}
                numbers["explained"] = said.explained
                yield self.reversal(pair, kind, numbers)

    def reversal(
        self, pair: tuple[int, int], kind: ReversalKind, numbers: dict[str, Any]
    ) -> Reversal:
        """One of them, with what lies outside the strata that both share."""
        first, second = (self.place[self.levels[side]] for side in pair)
        everybody = self.whole.group_values
        assert everybody is not None
        people = int(everybody.n[0, [first, second]].sum())
        crude = everybody.value[0, first] - everybody.value[0, second]
        return Reversal(
            rate=self.reading.metric.id,
            of=self.asked.of,
            attribute=self.within.by[0],
            pair=(self.levels[pair[0]], self.levels[pair[1]]),
            given=self.within.given,
            kind=kind,
            crude_everybody=float(crude),
            off_support=_one_sided(self.reading, self.within, self.strata, pair),
            significance=None,
            incomplete=people - int(self.reading.n[self.strata][:, list(pair)].sum()),
            **numbers,
        )


def _suspects(
    reading: GroupValues, known: Ints, groups: Ints, together: Marks, floor: Fraction
) -> Iterator[tuple[int, int]]:
    """Those of the pairs that conditioning may change, each group against all others at once.

    It only leaves out pairs whose gap is clearly the same, or clearly small, before and after, so
    that `compare` need not look at the k² pairs one by one.
    """
    over, under = integers(reading)
    over, under = over[known], under[known]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(under > 0, over / under, 0.0)
        for g, partners in zip(groups.tolist(), together, strict=True):
            others = groups[partners]
            both = (under[:, [g]] > 0) & (under[:, others] > 0)
            weight = (under[:, [g]] + under[:, others]) * both
            gap = rate[:, [g]] - rate[:, others]
            crude = (over[:, [g]] * both).sum(axis=0) / (under[:, [g]] * both).sum(axis=0)
            crude -= (over[:, others] * both).sum(axis=0) / (under[:, others] * both).sum(axis=0)
            adjusted = (weight * gap).sum(axis=0) / weight.sum(axis=0)
            turned = (weight * (gap * crude < 0)).sum(axis=0) / weight.sum(axis=0)
            sizes = np.abs([crude, adjusted])
            same = (sizes > float(floor) + NEAR).all(axis=0) & (crude * adjusted > 0)
            same &= (turned < 0.5 - NEAR) & (2 * sizes[1] > sizes[0] + NEAR)
            small = (sizes < float(floor) - NEAR).all(axis=0)
            for h in others[~same & ~small].tolist():
                yield g, h


def _one_sided(
    reading: GroupValues, table: GroupTable, known: Ints, pair: tuple[int, int]
) -> tuple[Group, ...]:
    """The strata where only one of the two groups occurs."""
    _, under = integers(reading)
    present = under[known][:, list(pair)] > 0
    return tuple(table.strata[z] for z in known[present.any(axis=1) & ~present.all(axis=1)])
