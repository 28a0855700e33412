"""Pairs of groups: gaps overall and within strata, their tests, and the kinds of reversals.

A reversal makes two claims: there is a gap overall, and there is a gap in the opposite direction
within the strata. Its p-value is the larger of the two p-values (an intersection–union test: Berger
& Hsu 1996, Bioequivalence trials, intersection–union tests and equivalence confidence sets, Stat
Sci 11:283). Each comparison of a scan has one p-value, which is 1 without a reversal. All
comparisons of a scan are one family of tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np

from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Floats, Ints, Marks
from fairaudit.evidence.pair_tests import Sample, compare_shares, name_share_test
from fairaudit.judge.simpson import (
    CombinedStrata,
    ExplainedShare,
    GroupRate,
    Reversal,
    ReversalKind,
    ReversalScan,
)
from fairaudit.metrics import GroupValues
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.terms import Inference
from fairaudit.stats import distributions, strata

NEAR = 1e-9
"""Numbers that are at most this far from a limit are compared with it as fractions."""


def find_excess(p: Floats, q: Floats, floor: Fraction, odds: Fraction) -> Floats:
    """The distance by which gaps exceed both limits: of points, and of odds (as cross products)."""
    high, low = np.maximum(p, q), np.minimum(p, q)
    crossed = high * (1 - low) - float(odds) * low * (1 - high)
    return np.asarray(np.minimum(high - low - float(floor), crossed))


class Gap(Frozen):
    """The gap between two rates, and a function that returns the rates as fractions."""

    value: float
    sides: tuple[float, float]
    find_exact_sides: Callable[[], tuple[Fraction, Fraction]]

    def find_exactly(self) -> Fraction:
        """The gap as a fraction."""
        first, second = self.find_exact_sides()
        return first - second

    @property
    def sign(self) -> int:
        """The sign of the gap; a gap near 0 is computed as a fraction."""
        value = self.value if abs(self.value) > NEAR else self.find_exactly()
        return (value > 0) - (value < 0)

    def is_wide_enough(self, scan: ReversalScan) -> bool:
        """Whether the gap counts in the scan; near the limit, it is compared as a fraction."""
        p, q = map(np.asarray, self.sides)
        excess = float(find_excess(p, q, scan.floor, scan.odds))
        if abs(excess) > NEAR:
            return excess > 0
        low, high = sorted(self.find_exact_sides())
        is_as_wide = high - low >= scan.floor and high * (1 - low) >= scan.odds * low * (1 - high)
        return is_as_wide and (high > low or scan.odds == 1)

    def is_at_most_half_of(self, whole: Gap) -> bool:
        """Whether the gap is at most half as wide as `whole`; near half, fractions decide."""
        if abs(2 * abs(self.value) - abs(whole.value)) > NEAR:
            return 2 * abs(self.value) < abs(whole.value)
        return 2 * abs(self.find_exactly()) <= abs(whole.find_exactly())


class PairCounts(Frozen, dict=True):
    """Numerators and denominators of both groups of a pair, in the strata [Z] that they share."""

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
        """The share of each stratum in the people of both groups."""
        return np.asarray(self.people / self.people.sum())

    @cached_property
    def crude(self) -> Gap:
        """The gap in all strata together."""
        (a, c), (n, m) = ([int(part.sum()) for part in pair] for pair in (self.over, self.under))
        return Gap(a / n - c / m, (a / n, c / m), lambda: (Fraction(a, n), Fraction(c, m)))

    @cached_property
    def standardized(self) -> Gap:
        """The gap if both groups have the mix of strata of both groups together."""
        (p, q), weights = self.shares, self.people.tolist()

        def find_exact_sides() -> tuple[Fraction, Fraction]:
            counts = zip(self.over, self.under, strict=True)
            rates = ([*map(Fraction, over.tolist(), under.tolist())] for over, under in counts)
            first, second = (sum(map(mul, weights, of_group)) / sum(weights) for of_group in rates)
            return Fraction(first), Fraction(second)

        return Gap(
            float((self.weight * (p - q)).sum()),
            (float((self.weight * p).sum()), float((self.weight * q).sum())),
            find_exact_sides,
        )

    @cached_property
    def is_reversed(self) -> bool:
        """Whether the standardized gap has the opposite sign of the crude gap."""
        return self.crude.sign * self.standardized.sign < 0

    @cached_property
    def opposite(self) -> Marks:
        """Marks of the strata whose gap has the opposite sign of the crude gap."""
        return np.asarray((self._signs == -self.crude.sign) & (self.crude.sign != 0))

    @cached_property
    def composition(self) -> float:
        """The part of the gap that follows from the different mix of strata in both groups."""
        (p, q), (n, m) = self.shares, self.under
        return float(((p + q) / 2 * (n / n.sum() - m / m.sum())).sum())

    def mantel_haenszel_odds_ratio(self) -> float:
        """The odds ratio common to all strata; infinite or NaN if its denominator is 0."""
        (a, c), (n, m) = self.over, self.under
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.divide((a * ((m - c) / (n + m))).sum(), (c * ((n - a) / (n + m))).sum())
        return float(odds)

    @cached_property
    def _signs(self) -> Ints:
        """The sign of the gap in each stratum; gaps near 0 are compared in whole numbers."""
        (a, c), (n, m) = self.over, self.under
        gap = a / n - c / m
        signs = np.sign(gap).astype(np.int64)
        for near in np.flatnonzero(np.abs(gap) < NEAR).tolist():
            cross = int(a[near]) * int(m[near]) - int(c[near]) * int(n[near])
            signs[near] = (cross > 0) - (cross < 0)
        return signs

    def has_wide_gaps_of_both_signs(self, floor: Fraction, odds: Fraction) -> bool:
        """Whether the mean positive and the mean negative gap of strata both exceed the limits."""
        p, q = self.shares
        for side in (self._signs > 0, self._signs < 0):
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
        raise ValueError(f"{values.metric.id} is not a rate")
    return values.over, values.under


def list_rates(values: GroupValues, support: Ints, group: int, scale: int) -> list[GroupRate]:
    """The rate of one group in each stratum of `support`, and last in all of them together."""
    counts = np.stack([part[support, group] for part in (*count_rate(values), values.n)], axis=1)
    rows = [*counts.tolist(), counts.sum(axis=0).tolist()]
    return [GroupRate(over, under, n, scale) for over, under, n in rows]


def choose_kind(pair: PairCounts, scan: ReversalScan, *, interacts: bool) -> ReversalKind | None:
    """The strongest kind whose conditions the gaps meet; None without a kind.

    If you add a kind, `suspected` in `scanning.py` must choose its pairs.
    """
    crude, standardized = pair.crude, pair.standardized
    wide, adjusted_wide = crude.is_wide_enough(scan), standardized.is_wide_enough(scan)
    if wide and adjusted_wide and pair.opposite.all():
        return ReversalKind.EVERY_STRATUM
    if wide and adjusted_wide and pair.is_reversed:
        return ReversalKind.ADJUSTED
    if wide and weigh(pair.people, pair.opposite) > Fraction(1, 2):
        return ReversalKind.MOST_PEOPLE
    if interacts and pair.has_wide_gaps_of_both_signs(scan.floor, scan.odds):
        return ReversalKind.OPPOSITE
    if adjusted_wide and not wide:
        hides = pair.is_reversed or crude.is_at_most_half_of(standardized)
        return ReversalKind.MASKED if hides else None
    if wide and (pair.is_reversed or standardized.is_at_most_half_of(crude)):
        return ReversalKind.EXPLAINED
    return None


def weigh(weights: Ints, marked: Marks) -> Fraction:
    """The share of the weights that is marked."""
    return Fraction(int(weights[marked].sum()), int(weights.sum()))


_CRUDE = "the gap overall"
_JOINED = "Cochran–Mantel–Haenszel"
_NO_GAP = 1e-12
"""A smaller gap counts as 0 and has no explained share."""


class PairTests(Frozen):
    """The results of the tests of one pair, in the strata that both groups share."""

    crude_p: float | None
    strata: tuple[Significance | None, ...]
    joined: CombinedStrata
    explained: ExplainedShare | None


def run_pair_tests(
    values: GroupValues, support: Marks, pairs: Ints, inference: Inference
) -> Iterator[PairTests]:
    """Yields the tests of each of the pairs [P, 2], in each stratum and in all strata together.

    `support` marks the strata that both groups of a pair share, [Z, P].
    """
    sides = pairs.T
    (first, pooled), (second, other) = (_make_samples(values, support, side) for side in sides)
    crude, _ = compare_shares(pooled, other, inference)
    # The fields of `CombinedStrata`, [., P]. With survey weights, sizes are effective sizes.
    r, n, q, m = first.share, first.size, second.share, second.size
    a, c = n * r, m * q
    common = strata.mantel_haenszel(a, n, c, m, inference.alpha)
    *_, homogeneity = strata.breslow_day(a, n, c, m)
    variance = strata.pooled_variance(r, n, q, m)
    _, interaction = strata.gail_simon(r - q, variance)
    _, opposite = strata.any_negative(np.sign(pooled.share - other.share) * (r - q), variance)
    ends = (common.odds_low, common.odds_high)
    shared = n * m / np.where(n + m > 0, n + m, 1.0)
    enough = strata.are_enough(shared, a, n, c, m)
    bounds = np.where(enough, (common.difference_low, common.difference_high), np.nan)
    joined = np.stack([
        common.p, *ends, common.difference, *bounds, homogeneity, interaction, opposite
    ])  # fmt: skip
    p, exact = compare_shares(first, second, inference)
    weights = [count_rate(values)[1][:, groups].astype(np.float64) for groups in sides]
    is_weighted, correction = values.weight_sum is not None, inference.correction
    names = [
        name_share_test(exact=is_exact, inference=inference, weighted=is_weighted)
        for is_exact in (False, True)
    ]
    for index, (raw, numbers) in enumerate(zip(crude.tolist(), joined.T.tolist(), strict=True)):
        kept = np.flatnonzero(support[:, index]), index
        # The tests of the strata of a pair are one family.
        family = int((~np.isnan(p[kept])).sum())
        tests = zip(
            p[kept].tolist(), correction.adjust(p[kept]).tolist(), exact[kept].tolist(), strict=True
        )
        own = [Sample(side.share[kept], side.size[kept], None, None) for side in (first, second)]
        mixes = weights[0][kept], weights[1][kept]
        yield PairTests(
            _none_if_nan(raw),
            tuple(
                None
                if math.isnan(own_p)
                else Significance(names[is_exact], own_p, level, family, correction.words)
                for own_p, level, is_exact in tests
            ),
            CombinedStrata(*map(_none_if_nan, numbers)),
            find_explained_share(own[0], own[1], mixes, inference.alpha),
        )


def _none_if_nan(number: float) -> float | None:
    return None if math.isnan(number) else number


def _make_samples(values: GroupValues, support: Marks, groups: Ints) -> tuple[Sample, Sample]:
    """One group of each pair in each stratum, [Z, P], and in all strata together, [P].

    Numbers are 0 in strata that the pair does not share. With weights, all strata together have
    Kish's effective size.
    """
    share, size, over, under = (
        np.where(support, numbers[:, groups], 0)
        for numbers in (values.value, values.effective_n, *count_rate(values))
    )
    squares = (np.square(under.astype(np.float64)) / np.where(support, size, 1.0)).sum(axis=0)
    all_over, all_under = over.sum(axis=0), under.sum(axis=0)
    pooled = all_over / all_under, np.square(all_under.astype(np.float64)) / squares
    if values.weight_sum is not None:
        return Sample(share, size, None, None), Sample(*pooled, None, None)
    return Sample(share, size, over, under), Sample(*pooled, all_over, all_under)


def find_explained_share(
    first: Sample, second: Sample, weights: tuple[Floats, Floats], alpha: float
) -> ExplainedShare | None:
    """The share of the gap overall that the mix of strata explains; None without a gap.

    The interval is Fieller's interval for the ratio of two differences of the same rates, with
    fixed sizes of the strata (E. C. Fieller, Some problems in interval estimation, J. R. Stat. Soc.
    B 16:175, 1954). It is unbounded if the gap overall may be 0. For the variances, one person is
    added to the numerator and two to the denominator of each rate, because a stratum with few
    people could have a variance of 0.
    """
    own = [weight / weight.sum() for weight in weights]
    pooled = sum(weights) / sum(weight.sum() for weight in weights)
    shared_mix = [pooled, pooled]
    crude, adjusted = (
        float((mix[0] * first.share).sum() - (mix[1] * second.share).sum())
        for mix in (own, shared_mix)
    )
    if abs(crude) < _NO_GAP:
        return None
    drawn = [(side.share * side.size + 1) / (side.size + 2) for side in (first, second)]
    variances = [
        p * (1 - p) / (side.size + 2) for p, side in zip(drawn, (first, second), strict=True)
    ]
    of_crude, of_both, of_left = (
        sum(float((a * b * v).sum()) for a, b, v in zip(mix, other, variances, strict=True))
        for mix, other in ((own, own), (own, shared_mix), (shared_mix, shared_mix))
    )
    squared = float(distributions.normal_critical(alpha)) ** 2
    a = crude**2 - squared * of_crude
    b = adjusted * crude - squared * of_both
    c = adjusted**2 - squared * of_left
    value = 1 - adjusted / crude
    if a <= 0 or b * b < a * c:
        return ExplainedShare(value, None, None)
    half = float(np.sqrt(b * b - a * c))
    return ExplainedShare(value, 1 - (b + half) / a, 1 - (b - half) / a)


def add_significances(
    reversals: Sequence[Reversal], comparisons: int, inference: Inference
) -> list[Reversal]:
    """The reversals with p-values corrected for all `comparisons`; without a reversal, p is 1."""
    names, p = [], np.ones(max(comparisons, len(reversals)))
    for index, reversal in enumerate(reversals):
        kind, joined = reversal.kind, reversal.joined
        gap = None if joined is None else joined.difference
        crude, common, opposite, interaction = (
            1.0 if one is None else one
            for one in (
                reversal.crude_p,
                *((joined.p, joined.opposite, joined.interaction) if joined else (None,) * 3),
            )
        )
        name = f"the larger p of {_CRUDE} and {_JOINED}"
        p[index] = max(crude, common) if gap is not None and gap * reversal.crude < 0 else 1.0
        if kind is ReversalKind.EXPLAINED:
            name, p[index] = _CRUDE, crude
        elif kind is ReversalKind.OPPOSITE:
            name, p[index] = "Gail–Simon", interaction
        elif kind is ReversalKind.MASKED:
            # A gap is not significant if its sign depends on the weights of the strata.
            is_sure = gap is not None and gap * reversal.standardized > 0
            name, p[index] = _JOINED, common if is_sure else 1.0
        elif kind is ReversalKind.MOST_PEOPLE:
            name = f"the larger p of {_CRUDE} and one-sided Gail–Simon"
            p[index] = max(crude, opposite)
        names.append(name)
    correction = inference.correction
    tests = zip(reversals, names, p.tolist(), correction.adjust(p).tolist(), strict=False)
    return [
        replace(
            reversal, significance=Significance(name, own, level, comparisons, correction.words)
        )
        for reversal, name, own, level in tests
    ]
