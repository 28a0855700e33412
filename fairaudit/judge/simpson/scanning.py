"""Scans for Simpson's reversals: the pairs of groups to test, limits on their number, the order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.cube import MOST_COUNTS, Floats, Grouping, GroupTable, Ints, Marks
from fairaudit.judge.simpson import (
    Compared,
    NotCompared,
    PairChoice,
    Reversal,
    ReversalScan,
    ScannedPairs,
    ScanResult,
    Stratum,
)
from fairaudit.judge.simpson.pairs import (
    NEAR,
    PairCounts,
    PairTests,
    add_significances,
    choose_kind,
    count_rate,
    find_excess,
    list_rates,
    run_pair_tests,
    weigh,
)
from fairaudit.metrics import Eligibility, Evaluation, Rate, evaluate
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.reasons import Ineligibility, explain_ineligibility
from fairaudit.metrics.terms import MetricOptions
from fairaudit.stats import strata

MOST_GROUPS = 500
"""Maximum number of groups of an attribute; an attribute with more groups is not scanned."""

MOST_SUSPECTS = 5_000
"""Maximum number of pairs that a scan tests. Each takes about half a millisecond."""

MOST_STRATA = 4_000_000
"""Maximum number of strata of all pairs that a scan tests. Each takes about 400 bytes."""

_MOST_APART = 100
"""Maximum number of pairs that are listed because they share fewer than two strata."""

_BLOCK = 2**16
"""Maximum number of strata, over all pairs, that one block of tests has."""


def scan_reversals(
    table: Callable[[Grouping, Grouping, str], GroupTable], scan: ReversalScan
) -> ScanResult:
    """All reversals and notes of a scan, the most important first.

    Reversals come before notes, then significant ones first, then stronger kinds, then larger
    swings. `table` returns a table by groups, conditioning columns and outcome.
    """
    reversals: list[Reversal] = []
    compared: dict[tuple[str, str, Grouping], Compared] = {}
    left_out: dict[NotCompared, None] = {}
    too_many: dict[str, None] = {}
    looked_at: dict[ScannedPairs, list[Grouping]] = {}
    remaining, room, untested = MOST_SUSPECTS, MOST_STRATA, 0
    for attribute in scan.attributes:
        alone = table((attribute,), (), scan.of)
        for given in scan.given:
            if attribute in given:
                continue
            strata = len(table((), given, scan.of).strata)
            for rate in scan.rates:
                whole = evaluate(rate, alone, MetricOptions(minimum=scan.minimum))
                why = _refuse_size(whole, scan, given, strata)
                if why is not None:
                    too_many[why] = None
                    continue
                within = table((attribute,), given, scan.of)
                pairs = _PairScan(rate, scan, whole, within)
                suspects, opposed = pairs.suspected
                tested = [*suspects, *opposed][:remaining]
                sizes = np.cumsum(pairs.shared_strata(tested))
                tested = tested[: int(np.searchsorted(sizes, room, side="right"))]
                if len(tested) < len(suspects):
                    why = f"{attribute} given {' and '.join(given)} is not looked at: a scan tests "
                    why += f"{MOST_SUSPECTS:,} pairs of groups that may turn, in {MOST_STRATA:,} "
                    why += "strata together; write `pairs: reference`, or name fewer columns"
                    too_many[why] = None
                    continue
                remaining -= len(tested)
                room -= int(pairs.shared_strata(tested).sum())
                untested += len(suspects) + len(opposed) - len(tested)
                reversals += pairs.reversals(tested)
                compared[rate.id, attribute, given] = pairs.compared()
                looked_at.setdefault(pairs.looked_at(), []).append(given)
                left_out.update(dict.fromkeys(pairs.left_out()))
    comparisons = sum(one.pairs for one in compared.values())
    judged, alpha = add_significances(reversals, comparisons, scan.inference), scan.inference.alpha
    listed = list_apart(judged, alpha)
    repeated = len(reversals) - len(listed)
    return ScanResult(
        tuple(listed), compared, tuple(left_out), tuple(too_many), repeated, untested,
        tuple(replace(pairs, given=tuple(given)) for pairs, given in looked_at.items()),
    )  # fmt: skip


def list_apart(reversals: Sequence[Reversal], alpha: float) -> list[Reversal]:
    """The reversals in order, without those that are as strong and significant by fewer columns."""
    shown = {
        (reversal.rate, reversal.attribute, reversal.pair, reversal.given): (
            reversal.kind.strength,
            reversal.is_significant(alpha),
        )
        for reversal in reversals
    }
    apart = []
    for reversal in reversals:
        fewer = (
            shown.get((reversal.rate, reversal.attribute, reversal.pair, given))
            for size in range(1, len(reversal.given))
            for given in combinations(reversal.given, size)
        )
        strength, significant = reversal.kind.strength, reversal.is_significant(alpha)
        if not any(known and known[0] >= strength and known[1] >= significant for known in fewer):
            apart.append(reversal)
    return sorted(
        apart,
        key=lambda reversal: (
            not reversal.kind.reverses, not reversal.is_significant(alpha),
            -reversal.kind.strength, -reversal.swing,
            reversal.attribute, reversal.pair, reversal.given, reversal.rate,
        ),
    )  # fmt: skip


def _refuse_size(whole: Evaluation, scan: ReversalScan, given: Grouping, strata: int) -> str | None:
    """The reason to skip a table if it has too many cells or groups, otherwise None."""
    table = whole.table
    attribute, groups = table.by[0], len(table.groups)
    counts = table.people.size * strata
    if counts > MOST_COUNTS:
        why = f"{attribute} given {' and '.join(given)} is not looked at: {groups:,} groups in "
        why += f"{strata:,} strata by labels and classes have {counts:,} counts, more than "
        return f"{why}{MOST_COUNTS:,}; name fewer columns"
    large = int((whole.takes_part.any(axis=0) & table.known).sum())
    if scan.pairs is PairChoice.REFERENCE or large <= MOST_GROUPS:
        return None
    why = f"{attribute} has {large:,} groups: they are not compared "
    return f"{why}pair by pair, which is done up to {MOST_GROUPS}: write `pairs: reference`"


class _PairScan:
    """The pairs of groups of one attribute, given some columns, compared by one rate.

    A group is its index in the table `within`; `large` are the groups that are large enough.
    """

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

    def shared_strata(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """The number of strata [P] in which both groups of a pair have the rate."""
        first, second = np.searchsorted(self.large, np.reshape(pairs, (-1, 2)).T)
        return np.asarray(self.shared[first, second])

    @cached_property
    def chosen(self) -> Marks:
        """Marks the pairs to compare, each pair only once, [large, large]."""
        count = len(self.large)
        if self.scan.pairs is PairChoice.ALL:
            return np.triu(np.ones((count, count), dtype=bool), k=1)
        is_reference = self.large == (-1 if self.reference is None else self.reference)
        return np.asarray(is_reference[:, None] & ~is_reference[None, :])

    @cached_property
    def comparable(self) -> Marks:
        """Marks the chosen pairs with both rates in two strata or more, [large, large]."""
        # If a pair shares only one stratum, its gap there is the gap overall.
        return np.asarray(self.chosen & (self.shared > 1))

    @cached_property
    def shared(self) -> Floats:
        """The number of strata in which both groups of a pair have the rate, [large, large]."""
        present = self.present[:, self.large].astype(np.float64)
        return np.asarray(present.T @ present)

    @cached_property
    def suspected(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """The pairs whose gap may change, and other pairs whose gaps in strata may be opposite.

        So `_measure` need not compute all k² pairs. The selection compares each group with all
        others at once, and leaves out pairs whose gap clearly stays the same or is clearly small
        both overall and after adjustment. `choose_kind` in `pairs.py` decides on the kind; the
        selection must include all pairs that can have a kind.
        """
        scan, known = self.scan, self.strata
        over, under = (counts[known] for counts in count_rate(self.values))
        shares, sizes = self.values.value[known], self.values.effective_n[known]
        turning: list[tuple[int, int]] = []
        opposite: list[tuple[int, int]] = []
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.where(under > 0, over / under, 0.0)
            for g, partners in zip(self.large.tolist(), self.comparable, strict=True):
                others = self.large[partners]
                in_both = (under[:, [g]] > 0) & (under[:, others] > 0)
                weight = (under[:, [g]] + under[:, others]) * in_both
                gap = rate[:, [g]] - rate[:, others]
                mixed = [
                    (over[:, side] * in_both).sum(axis=0) / (under[:, side] * in_both).sum(axis=0)
                    for side in ([g], others)
                ]
                standard = [(weight * rate[:, side]).sum(axis=0) for side in ([g], others)]
                standard = [side / weight.sum(axis=0) for side in standard]
                crude, adjusted = mixed[0] - mixed[1], standard[0] - standard[1]
                turned = (weight * (gap * crude < 0)).sum(axis=0) / weight.sum(axis=0)
                excess = [
                    find_excess(first, second, scan.floor, scan.odds)
                    for first, second in (mixed, standard)
                ]
                same = (np.array(excess) > NEAR).all(axis=0) & (crude * adjusted > 0)
                same &= turned < 0.5 - NEAR
                same &= 2 * np.abs(adjusted) > np.abs(crude) + NEAR
                may_turn = ~same & ~(np.array(excess) < -NEAR).all(axis=0)
                variance = strata.pooled_variance(
                    shares[:, [g]], sizes[:, [g]], shares[:, others], sizes[:, others]
                )
                opposed = strata.may_interact(
                    np.where(in_both, gap, np.nan), variance, scan.inference.alpha
                )
                turning += [(g, h) for h in others[may_turn].tolist()]
                opposite += [(g, h) for h in others[opposed & ~may_turn].tolist()]
        return turning, opposite

    def looked_at(self) -> ScannedPairs:
        """The compared pairs, still without the conditioning columns, which the caller adds."""
        is_all = self.scan.pairs is PairChoice.ALL
        apart = np.argwhere(self.chosen & ~self.comparable).tolist()
        groups = [self.levels[g] for g in self.large.tolist()]
        return ScannedPairs(
            self.whole.metric.id,
            self.within.by[0],
            (),
            tuple(groups),
            None if is_all else self.scan.references.get(self.within.by[0], ""),
            tuple((groups[i], groups[j]) for i, j in apart) if len(apart) <= _MOST_APART else None,
        )

    def compared(self) -> Compared:
        """The number of compared pairs, and marks of the people who are not compared."""
        large, paired = np.zeros((2, len(self.levels)), dtype=np.bool_)
        large[self.large] = True
        paired[self.large] = self.comparable.any(axis=0) | self.comparable.any(axis=1)
        passed_over = ~self.within.known_strata[:, None]
        if len(self.strata) > 1:
            is_lone = (self.within.n[:, paired] > 0).sum(axis=1, keepdims=True) < 2
            passed_over = passed_over | (large & (is_lone | ~paired))
        return Compared(int(self.comparable.sum()), len(self.strata), large, passed_over)

    def left_out(self) -> Iterator[NotCompared]:
        """The groups that could not be compared, and the reasons."""
        for g in sorted({*self.known.tolist()} - {*self.large.tolist()}):
            yield (
                self.within.groups[g],
                explain_ineligibility(self.whole, 0, self.place[self.levels[g]]),
            )
        skipped = int(self.chosen.sum() - self.comparable.sum())
        # A single stratum cannot change a gap, so nothing is reported about it.
        if skipped and len(self.strata) > 1:
            attribute, given = self.within.by[0], " and ".join(self.within.given)
            pairs, are = ("pair", "is") if skipped == 1 else ("pairs", "are")
            why = (
                f"{skipped} {pairs} of groups by {attribute}, given {given}, {are} not compared, "
                f"because fewer than two values of {given} have people of both groups"
            )
            yield (), Ineligibility(Eligibility.ELIGIBLE, why)

    def reversals(self, tested: Sequence[tuple[int, int]]) -> Iterator[Reversal]:
        """The reversals and notes among these pairs."""
        # In each pair, the declared reference is the second group.
        pairs = [(h, g) if g == self.reference else (g, h) for g, h in tested]
        step = max(_BLOCK // max(len(self.within.strata), 1), 1)
        for start in range(0, len(pairs), step):
            block = pairs[start : start + step]
            first, second = np.transpose(block)
            # Marks of the known strata in which both groups of a pair have the rate, [Z, P].
            support = np.asarray(self.present[:, first] & self.present[:, second])
            tests = run_pair_tests(self.values, support, np.array(block), self.scan.inference)
            for at, (pair, of_pair) in enumerate(zip(block, tests, strict=True)):
                reversal = self._measure(pair, np.flatnonzero(support[:, at]), of_pair)
                if reversal is not None:
                    yield reversal

    @cached_property
    def present(self) -> Marks:
        """Marks the groups that have a rate in each known stratum, [Z, G]."""
        return (count_rate(self.values)[1] > 0) & self.within.known_strata[:, None]

    def _measure(self, pair: tuple[int, int], support: Ints, tests: PairTests) -> Reversal | None:
        """The reversal of one pair, with its numbers and tests; None if its gap does not change.

        `support` are the strata that both groups share.
        """
        values, table, (g, h) = self.values, self.within, pair
        over, under = count_rate(values)
        counts = PairCounts(
            (over[support, g], over[support, h]), (under[support, g], under[support, h])
        )
        p = tests.joined.interaction
        interacts = p is not None and p < self.scan.inference.alpha
        kind = choose_kind(counts, self.scan, interacts=interacts)
        if kind is None:
            return None
        everybody = self.whole.group_values
        assert everybody is not None
        first, second = (list_rates(values, support, group, table.scale) for group in pair)
        levels = [self.levels[side] for side in pair]
        own, other = (self.place[level] for level in levels)
        present = under[self.strata][:, [g, h]] > 0
        one_sided = self.strata[present.any(axis=1) & ~present.all(axis=1)]
        people = int(everybody.n[0, [own, other]].sum())
        return Reversal(
            rate=values.metric.id,
            of=table.of,
            attribute=table.by[0],
            pair=(levels[0], levels[1]),
            given=table.given,
            kind=kind,
            crude=counts.crude.value,
            crude_pair=(first[-1], second[-1]),
            crude_everybody=float(everybody.value[0, own] - everybody.value[0, other]),
            standardized=counts.standardized.value,
            standardized_pair=counts.standardized.sides,
            composition=counts.composition,
            within=counts.crude.value - counts.composition,
            mantel_haenszel_odds_ratio=counts.mantel_haenszel_odds_ratio(),
            joined=tests.joined,
            crude_p=tests.crude_p,
            significance=None,  # `add_significances` sets it for all pairs of the scan
            opposite_weight=float(weigh(counts.people, counts.opposite)),
            reversed_strata=int(counts.opposite.sum()),
            estimable_strata=len(support),
            adjusted=counts.is_reversed,
            strata=tuple(
                Stratum(table.strata[z], of_first, of_second, float(weight), significance)
                for z, of_first, of_second, weight, significance in zip(
                    support, first[:-1], second[:-1], counts.weight, tests.strata, strict=True
                )
            ),
            off_support=tuple(table.strata[z] for z in one_sided),
            incomplete=people - int(values.n[self.strata][:, [g, h]].sum()),
            explained=tests.explained,
        )
