"""Scans rates, pairs of groups and strata for reversals: their order, bounds, who is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import Group, Grouping, GroupTable, Ints, Marks
from fairaudit.judge.simpson.pairs import NEAR, count_rate, measure_pair
from fairaudit.judge.simpson.records import (
    NotCompared,
    PairChoice,
    Reversal,
    ReversalScan,
    ScanResult,
)
from fairaudit.judge.simpson.testing import PairTests, add_significances, run_pair_tests
from fairaudit.metrics import (
    Eligibility,
    Evaluation,
    GroupValues,
    Ineligibility,
    Rate,
    Terms,
    evaluate,
    explain_ineligibility,
)
from fairaudit.metrics.confusion_counts import count_groups

MOST_GROUPS = 500
"""Of so many groups all pairs are compared; more are named, not scanned."""

MOST_SUSPECTS = 5_000
"""So many pairs that may turn one scan tests: each takes about half a millisecond."""

MOST_CELLS = 5_000_000
"""So many groups times strata a scan looks at: each takes some 200 bytes."""

_BLOCK = 2**16
"""So many strata of pairs are tested at once."""


def scan_reversals(
    table: Callable[[Grouping, Grouping, str], GroupTable], scan: ReversalScan
) -> ScanResult:
    """Every reversal and note of the scan, those first that matter most.

    Reversals before notes; of these the significant ones, the stronger kind, the larger swing.
    """
    reversals: list[Reversal] = []
    compared = dict.fromkeys((rate.id for rate in scan.rates), 0)
    left_out: dict[NotCompared, None] = {}
    too_many: dict[str, None] = {}
    remaining = MOST_SUSPECTS
    for attribute in scan.attributes:
        alone = table((attribute,), (), scan.of)
        for given in scan.given:
            if attribute in given:
                continue
            strata = len(table((), given, scan.of).strata)
            for rate in scan.rates:
                whole = evaluate(rate, alone, Terms(minimum=scan.minimum))
                why = _refuse_size(whole, scan, given, strata)
                if why is not None:
                    too_many[why] = None
                    continue
                within = table((attribute,), given, scan.of)
                pairs = _PairScan(rate, scan, whole, within)
                why = pairs.too_many(remaining)
                if why is not None:
                    too_many[why] = None
                    continue
                remaining -= len(pairs.suspects)
                reversals += pairs.reversals()
                compared[rate.id] += pairs.compared()
                left_out.update(dict.fromkeys(pairs.left_out()))
    judged = add_significances(reversals, sum(compared.values()), scan.inference)
    listed = list(_drop_repeated(judged, scan.inference.alpha))
    listed.sort(key=lambda reversal: _rank(reversal, scan.inference.alpha))
    repeated = len(reversals) - len(listed)
    return ScanResult(tuple(listed), compared, tuple(left_out), tuple(too_many), repeated)


def _rank(reversal: Reversal, alpha: float) -> tuple[object, ...]:
    """Where a reversal stands among the others."""
    rank = (
        not reversal.kind.reverses,
        not reversal.is_significant(alpha),
        -reversal.kind.strength,
        -reversal.swing,
    )
    return *rank, reversal.attribute, reversal.pair, reversal.given, reversal.rate


def _drop_repeated(reversals: Sequence[Reversal], alpha: float) -> Iterator[Reversal]:
    """All but those given several columns that fewer of them show as strongly and as surely."""
    shown = {
        (reversal.rate, reversal.attribute, reversal.pair, reversal.given): (
            reversal.kind.strength,
            reversal.is_significant(alpha),
        )
        for reversal in reversals
    }
    for reversal in reversals:
        fewer = (
            shown.get((reversal.rate, reversal.attribute, reversal.pair, given))
            for size in range(1, len(reversal.given))
            for given in combinations(reversal.given, size)
        )
        significant = reversal.is_significant(alpha)
        if not any(
            known is not None and known[0] >= reversal.kind.strength and known[1] >= significant
            for known in fewer
        ):
            yield reversal


def _refuse_size(whole: Evaluation, scan: ReversalScan, given: Grouping, strata: int) -> str | None:
    """That there are too many groups to compare, or too many cells, before these are made."""
    table = whole.table
    attribute, groups = table.by[0], len(table.groups)
    if groups * strata > MOST_CELLS:
        why = f"{attribute} given {' and '.join(given)} is not looked at: {groups:,} groups in "
        return f"{why}{strata:,} strata are more than {MOST_CELLS:,} cells; name fewer columns"
    large = int((whole.takes_part.any(axis=0) & table.known).sum())
    if scan.pairs is PairChoice.REFERENCE or large <= MOST_GROUPS:
        return None
    why = f"{attribute} has {large:,} groups: they are not compared "
    return f"{why}pair by pair, which is done up to {MOST_GROUPS}: say `pairs: reference`"


class _PairScan:
    """The pairs of groups of one attribute, given some columns, by one rate."""

    def __init__(
        self, rate: Rate, scan: ReversalScan, whole: Evaluation, within: GroupTable
    ) -> None:
        self.scan = scan
        self.within = within
        self.whole = whole
        self.values = rate.compute(count_groups(within))
        self.levels = [group[0][1] for group in within.groups]
        self.strata = np.flatnonzero(within.known_strata)
        self.place = {group[0][1]: index for index, group in enumerate(whole.table.groups)}
        self.known = np.flatnonzero(within.known)
        takes_part = np.asarray(self.whole.takes_part.any(axis=0))
        large = [g for g in self.known.tolist() if takes_part[self.place[self.levels[g]]]]
        self.large = np.array(large, dtype=np.int64)
        reference = scan.references.get(within.by[0])
        self.reference = self.levels.index(reference) if reference in self.levels else None

    def too_many(self, remaining: int) -> str | None:
        """That there are too many pairs to test, of which so many `remain` to this scan."""
        if len(self.suspects) <= remaining:
            return None
        why = f"{self.within.by[0]} given {' and '.join(self.within.given)} is not looked at: "
        why += f"a scan tests {MOST_SUSPECTS:,} pairs of groups that may turn; say "
        return why + "`pairs: reference`, or name fewer columns"

    @cached_property
    def chosen(self) -> Marks:
        """Which pairs are to be compared, [large, large], each once."""
        count = len(self.large)
        if self.scan.pairs is PairChoice.ALL:
            return np.triu(np.ones((count, count), dtype=bool), k=1)
        is_reference = self.large == (-1 if self.reference is None else self.reference)
        return np.asarray(is_reference[:, None] & ~is_reference[None, :])

    @cached_property
    def comparable(self) -> Marks:
        """Which of them share two strata or more in which both have the rate, [large, large]."""
        present = self.present[:, self.large].astype(np.float64)
        shared = present.T @ present
        # In one stratum alone nothing can turn: the gap there is the gap overall.
        return np.asarray(self.chosen & (shared > 1))

    @cached_property
    def suspects(self) -> list[tuple[int, int]]:
        """Those that may turn."""
        floor = self.scan.floor
        return list(_find_suspects(self.values, self.strata, self.large, self.comparable, floor))

    def compared(self) -> int:
        """How many pairs share two strata or more in which both have the rate."""
        return int(self.comparable.sum())

    def left_out(self) -> Iterator[NotCompared]:
        """Who could not be compared, and why."""
        for g in sorted({*self.known.tolist()} - {*self.large.tolist()}):
            yield (
                self.within.groups[g],
                explain_ineligibility(self.whole, 0, self.place[self.levels[g]]),
            )
        skipped = int(self.chosen.sum()) - self.compared()
        # A column of one value holds nothing fixed, and says nothing of any pair.
        if skipped and len(self.strata) > 1:
            attribute, given = self.within.by[0], " and ".join(self.within.given)
            pairs = "pair of groups shares" if skipped == 1 else "pairs of groups share"
            why = f"{skipped} {pairs} fewer than two strata: {attribute} given {given}"
            yield (), Ineligibility(Eligibility.ELIGIBLE, why)

    def reversals(self) -> Iterator[Reversal]:
        """The reversals and notes among them."""
        measured = []
        for g, h in self.suspects:
            # The declared reference stands second.
            pair = (h, g) if g == self.reference else (g, h)
            support = np.flatnonzero(self.support([pair])[:, 0])
            reversal = measure_pair(self.values, self.within, support, pair, self.scan.floor)
            if reversal is not None:
                measured.append((reversal, pair))
        step = max(_BLOCK // max(len(self.within.strata), 1), 1)
        for start in range(0, len(measured), step):
            block = measured[start : start + step]
            pairs = [pair for _, pair in block]
            tests = run_pair_tests(
                self.values, self.support(pairs), np.array(pairs), self.scan.inference
            )
            for (reversal, pair), of_pair in zip(block, tests, strict=True):
                yield self._add_tests(reversal, pair, of_pair)

    def support(self, pairs: Sequence[tuple[int, int]]) -> Marks:
        """The known strata in which both groups of a pair have the rate, [Z, P]."""
        first, second = np.transpose(pairs)
        return np.asarray(self.present[:, first] & self.present[:, second])

    @cached_property
    def present(self) -> Marks:
        """Which groups have the rate in which known strata, [Z, G]."""
        return (count_rate(self.values)[1] > 0) & self.within.known_strata[:, None]

    def _add_tests(self, reversal: Reversal, pair: tuple[int, int], tests: PairTests) -> Reversal:
        """A reversal with its tests, and with what lies outside the strata that both share."""
        first, second = (self.place[self.levels[side]] for side in pair)
        everybody = self.whole.group_values
        assert everybody is not None
        people = int(everybody.n[0, [first, second]].sum())
        return replace(
            reversal,
            crude_everybody=float(everybody.value[0, first] - everybody.value[0, second]),
            joined=tests.joined,
            crude_p=tests.crude_p,
            explained=tests.explained,
            strata=tuple(
                replace(stratum, significance=significance)
                for stratum, significance in zip(reversal.strata, tests.strata, strict=True)
            ),
            off_support=_list_one_sided(self.values, self.within, self.strata, pair),
            incomplete=people - int(self.values.n[self.strata][:, list(pair)].sum()),
        )


def _find_suspects(
    values: GroupValues, known: Ints, groups: Ints, comparable: Marks, floor: Fraction
) -> Iterator[tuple[int, int]]:
    """Those of the pairs that conditioning may change, each group against all others at once.

    It only leaves out pairs whose gap is clearly the same, or clearly small, before and after, so
    that `measure_pair` need not look at the k² pairs one by one. What kind a pair is, if any, says
    `_choose_kind` in `pairs.py` alone: a pair of any kind must be among these.
    """
    over, under = count_rate(values)
    over, under = over[known], under[known]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(under > 0, over / under, 0.0)
        for g, partners in zip(groups.tolist(), comparable, strict=True):
            others = groups[partners]
            in_both = (under[:, [g]] > 0) & (under[:, others] > 0)
            weight = (under[:, [g]] + under[:, others]) * in_both
            gap = rate[:, [g]] - rate[:, others]
            crude = (over[:, [g]] * in_both).sum(axis=0) / (under[:, [g]] * in_both).sum(axis=0)
            crude -= (over[:, others] * in_both).sum(axis=0) / (under[:, others] * in_both).sum(
                axis=0
            )
            adjusted = (weight * gap).sum(axis=0) / weight.sum(axis=0)
            turned = (weight * (gap * crude < 0)).sum(axis=0) / weight.sum(axis=0)
            sizes = np.abs([crude, adjusted])
            same = (sizes > float(floor) + NEAR).all(axis=0) & (crude * adjusted > 0)
            same &= (turned < 0.5 - NEAR) & (2 * sizes[1] > sizes[0] + NEAR)
            small = (sizes < float(floor) - NEAR).all(axis=0)
            for h in others[~same & ~small].tolist():
                yield g, h


def _list_one_sided(
    values: GroupValues, table: GroupTable, known: Ints, pair: tuple[int, int]
) -> tuple[Group, ...]:
    """The strata where only one of the two groups occurs."""
    _, under = count_rate(values)
    present = under[known][:, list(pair)] > 0
    return tuple(table.strata[z] for z in known[present.any(axis=1) & ~present.all(axis=1)])
