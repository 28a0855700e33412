"""Measures and tests one pair of groups, overall and within strata: the rule of each kind.

A reversal claims two things, a gap one way overall and one the other way when the strata are held
apart, and is no surer than the less sure of the two: its p-value is the larger of theirs (an
intersection–union test: Berger & Hsu 1996, Bioequivalence trials, intersection–union tests and
equivalence confidence sets, Stat Sci 11:283). Each comparison of a scan has one such p-value, 1
where nothing turns, and all of them are one family.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property

import numpy as np

from fairaudit.base.frozen import Frozen, replace
from fairaudit.cube import Floats, Ints, Marks
from fairaudit.evidence import Sample, compare_shares, name_share_test
from fairaudit.judge.simpson.records import (
    CombinedStrata,
    ExplainedShare,
    GroupRate,
    Reversal,
    ReversalKind,
    ReversalScan,
)
from fairaudit.metrics import GroupValues
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.inference import Inference
from fairaudit.stats import distributions, strata

NEAR = 1e-9
"""Closer than this to the smallest gap that counts, fractions decide instead of floats."""


def find_excess(p: Floats, q: Floats, floor: Fraction, odds: Fraction) -> Floats:
    """By how much gaps of rates exceed what counts; the gap in odds as a gap of cross products."""
    high, low = np.maximum(p, q), np.minimum(p, q)
    crossed = high * (1 - low) - float(odds) * low * (1 - high)
    return np.asarray(np.minimum(high - low - float(floor), crossed))


class Columns(Frozen, dict=True):
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
        raise ValueError(f"{values.metric.id} is not a rate")
    return values.over, values.under


def list_rates(values: GroupValues, support: Ints, group: int, scale: int) -> list[GroupRate]:
    """The rate of one group in each of some strata, and last in all of them together."""
    counts = np.stack([part[support, group] for part in (*count_rate(values), values.n)], axis=1)
    rows = [*counts.tolist(), counts.sum(axis=0).tolist()]
    return [GroupRate(over, under, n, scale) for over, under, n in rows]


def choose_kind(columns: Columns, scan: ReversalScan, *, interacts: bool) -> ReversalKind | None:
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
    if wide and weigh(columns.people, opposite) > Fraction(1, 2):
        return ReversalKind.MOST_PEOPLE
    if interacts and columns.has_wide_gaps_of_both_signs(scan.floor, scan.odds):
        return ReversalKind.OPPOSITE
    if adjusted_wide and not wide:
        hides = turned or _is_at_most_half(crude, standardized, *exact)
        return ReversalKind.MASKED if hides else None
    if wide and (turned or _is_at_most_half(standardized, crude, *reversed(exact))):
        return ReversalKind.EXPLAINED
    return None


def weigh(weights: Ints, marked: Marks) -> Fraction:
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


_CRUDE = "the gap overall"
_JOINED = "Cochran–Mantel–Haenszel"
_NO_GAP = 1e-12
"""A gap that is no larger has no shares."""


class PairTests(Frozen):
    """What tests say of a pair over the strata that both share."""

    crude_p: float | None
    strata: tuple[Significance | None, ...]
    joined: CombinedStrata
    explained: ExplainedShare | None


def run_pair_tests(
    values: GroupValues, support: Marks, pairs: Ints, inference: Inference
) -> Iterator[PairTests]:
    """The tests of each of the pairs [P, 2], in its strata and in all of them.

    `support` marks the strata that both groups of a pair share, [Z, P].
    """
    sides = pairs.T
    first, second = (_sample_strata(values, support, groups) for groups in sides)
    pooled, other = (_pool_strata(values, support, groups) for groups in sides)
    crude, _ = compare_shares(pooled, other, inference)
    # What all strata say together, the fields of `CombinedStrata`, [., P]; under survey weights by
    # the effective sizes.
    r, n, q, m = first.share, first.size, second.share, second.size
    a, c = n * r, m * q
    common = strata.mantel_haenszel(a, n, c, m, inference.alpha)
    *_, homogeneity = strata.breslow_day(a, n, c, m)
    variance = strata.pooled_variance(r, n, q, m)
    _, interaction = strata.gail_simon(r - q, variance)
    _, opposite = strata.any_negative(np.sign(pooled.share - other.share) * (r - q), variance)
    ends = (common.odds_low, common.odds_high)
    differences = (common.difference, common.difference_low, common.difference_high)
    joined = np.stack([common.p, *ends, *differences, homogeneity, interaction, opposite])
    p, exact = compare_shares(first, second, inference)
    weights = [count_rate(values)[1][:, groups].astype(np.float64) for groups in sides]
    is_weighted = values.weight_sum is not None
    for index, (raw, numbers) in enumerate(zip(crude.tolist(), joined.T.tolist(), strict=True)):
        kept = np.flatnonzero(support[:, index]), index
        own = [Sample(side.share[kept], side.size[kept], None, None) for side in (first, second)]
        mixes = weights[0][kept], weights[1][kept]
        yield PairTests(
            _known(raw),
            tuple(_list_tests(p[kept], exact[kept], inference, weighted=is_weighted)),
            CombinedStrata(*map(_known, numbers)),
            find_explained_share(own[0], own[1], mixes, inference.alpha),
        )


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number


def _sample_strata(values: GroupValues, support: Marks, groups: Ints) -> Sample:
    """One group of each pair in each stratum, [Z, P]; nobody where it shares none."""
    share, size = (
        np.where(support, numbers[:, groups], 0.0) for numbers in (values.value, values.effective_n)
    )
    if values.weight_sum is not None:
        return Sample(share, size, None, None)
    over, under = (np.where(support, counts[:, groups], 0) for counts in count_rate(values))
    return Sample(share, size, over, under)


def _pool_strata(values: GroupValues, support: Marks, groups: Ints) -> Sample:
    """One group of each pair with its strata as one, [P]; of weights by Kish's effective size."""
    over, under = (np.where(support, counts[:, groups], 0) for counts in count_rate(values))
    size = np.where(support, values.effective_n[:, groups], 1.0)
    squares = (np.square(under.astype(np.float64)) / size).sum(axis=0)
    over, under = over.sum(axis=0), under.sum(axis=0)
    share, size = over / under, np.square(under.astype(np.float64)) / squares
    if values.weight_sum is None:
        return Sample(share, size, over, under)
    return Sample(share, size, None, None)


def _list_tests(
    p: Floats, exact: Marks, inference: Inference, *, weighted: bool
) -> Iterator[Significance | None]:
    """The test of each stratum of a pair, in the family of all of them."""
    adjusted = inference.correction.adjust(p)
    family, words = int((~np.isnan(p)).sum()), inference.correction.words
    names = [
        name_share_test(exact=is_exact, inference=inference, weighted=weighted)
        for is_exact in (False, True)
    ]
    for raw, level, is_exact in zip(p.tolist(), adjusted.tolist(), exact.tolist(), strict=True):
        yield None if math.isnan(raw) else Significance(names[is_exact], raw, level, family, words)


def find_explained_share(
    first: Sample, second: Sample, weights: tuple[Floats, Floats], alpha: float
) -> ExplainedShare | None:
    """The share of the gap overall that goes with the mix of strata; None where there is no gap.

    Two differences of the same rates, so Fieller's interval of their ratio, with the sizes of the
    strata as they are (E. C. Fieller, Some problems in interval estimation, J. R. Stat. Soc. B
    16:175, 1954). It has no end where the gap overall may be none. Rates are drawn towards one half
    by one hit and one miss for their variance, as a stratum of a few people has none by itself.
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
    """The reversals with their significance among all comparisons of their scan."""
    claims, correction = [_find_claim(reversal) for reversal in reversals], inference.correction
    p = np.ones(max(comparisons, len(claims)))
    p[: len(claims)] = [p for _, p in claims]
    adjusted = correction.adjust(p)[: len(claims)].tolist()
    return [
        replace(reversal, significance=Significance(name, p, level, comparisons, correction.words))
        for reversal, (name, p), level in zip(reversals, claims, adjusted, strict=True)
    ]


def _find_claim(reversal: Reversal) -> tuple[str, float]:
    """What is tested of a reversal, and the p-value: 1 where there is no test of it."""
    kind, joined = reversal.kind, reversal.joined
    crude, common, opposite = (
        1.0 if p is None else p
        for p in (
            reversal.crude_p,
            None if joined is None else joined.p,
            None if joined is None else joined.opposite,
        )
    )
    gap = None if joined is None else joined.difference
    if kind is ReversalKind.EXPLAINED:
        return _CRUDE, crude
    if kind is ReversalKind.OPPOSITE:
        interaction = None if joined is None else joined.interaction
        return "Gail–Simon", 1.0 if interaction is None else interaction
    if kind is ReversalKind.MASKED:
        # A gap whose sign hangs on the weights is none.
        return _JOINED, 1.0 if gap is None or gap * reversal.standardized <= 0 else common
    if kind is ReversalKind.MOST_PEOPLE:
        return f"{_CRUDE}, and one-sided Gail–Simon", max(crude, opposite)
    turned = gap is not None and gap * reversal.crude < 0
    return f"{_CRUDE}, and {_JOINED}", max(crude, common) if turned else 1.0
