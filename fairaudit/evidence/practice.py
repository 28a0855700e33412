"""What a gap means: people affected (`shortfall`), the smallest gap that a test would find."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import numpy as np

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.json_marks import Member
from fairaudit.cube import Floats, Group, Ints, Marks
from fairaudit.evidence.sides import ComparisonPart
from fairaudit.metrics import Comparison, Disparity, Evaluation, GroupValues
from fairaudit.metrics.estimate import Estimate, Significance
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.stats import contingency, distributions, multiplicity
from fairaudit.stats.contingency import LEAST_EXPECTED
from fairaudit.stats.power import POWER, smallest_detectable


@declare_subjects(
    row="shortfall to_limit limit ratio below flips large deviations burden limit_of to_parity"
)
class PeopleAffected(Frozen):
    """Two rates in people: `lower` and `higher` say which side is which of the part.

    `shortfall` is how many more of the group with the lower rate would be selected at the rate of
    both together. `to_parity` is how many people it takes until the rate of the other group is
    reached, which stays as it is. `limit` is what the check itself allows, a ratio or a difference
    (`limit_of`), None where it sets neither; `to_limit` is how many it takes until that is reached,
    None where it is: never more than `to_parity`. `flips` tells whether one selection moved from
    the other group to this one turns the gap round. `large` where five or more are expected in each
    cell, `below` where the limit is not reached. `deviations` is by how many standard errors the
    rates lie apart. Where the rate is a `burden`, the people are those of whom there are too many.
    """

    shortfall: float
    to_limit: Annotated[int | None, Member("people_to_limit", least=None)]
    limit: Fraction | None
    ratio: float
    below: bool
    flips: Annotated[bool, Member("flip_flop")]
    large: bool
    deviations: Annotated[float, Member("standard_deviations")]
    burden: Annotated[bool, Member("of_those_spared")] = False
    limit_of: str | None = None
    to_parity: Annotated[int | None, Member("people_to_parity", least=None)] = None


class AllowedGap(Frozen):
    """How far apart a limit lets two rates lie: the least ratio of the lower, or the widest gap."""

    size: Fraction
    is_ratio: bool

    @property
    def of(self) -> str:
        """What the size is one of."""
        return "ratio" if self.is_ratio else "difference"

    def least(self, higher: Fraction) -> Fraction:
        """The least that the lower rate may be beside a higher one."""
        return self.size * higher if self.is_ratio else higher - self.size

    def most(self, lower: Fraction) -> Fraction | None:
        """The most that the higher rate may be beside a lower one; None where anything may be."""
        if not self.is_ratio:
            return lower + self.size
        return lower / self.size if self.size else None


def count_people_affected(
    part: ComparisonPart, allowed: AllowedGap | None = None, *, burden: bool = False
) -> PeopleAffected | None:
    """Two rates told in people; None where a side has no counts of people.

    `allowed` is what the check's own limit allows, None where the value is not beyond one. Where
    the rate is a `burden`, it is told of those who are spared.
    """
    sides = [side.estimate for side in (part.first, part.second) if side is not None]
    known = [_count_people(estimate) for estimate in sides]
    if len(known) < 2 or None in known:
        return None
    counts = [(n - a if burden else a, n) for a, n in (estimate for estimate in known if estimate)]
    (a, n), (c, m) = sorted(counts, key=lambda estimate: Fraction(*estimate))
    pooled = Fraction(a + c, n + m)
    to_limit = None if allowed is None else _count_to_limit((a, n), (c, m), allowed, burden=burden)
    shares = [np.asarray(estimate) for estimate in (a / n, float(n), c / m, float(m))]
    apart, _ = contingency.z_test(*shares)
    return PeopleAffected(
        shortfall=float(n * pooled - a),
        to_limit=to_limit,
        limit=None if allowed is None else allowed.size,
        ratio=a * m / (c * n) if c else math.nan,
        below=to_limit is not None,
        flips=Fraction(a, n) < Fraction(c, m) and Fraction(a + 1, n) > Fraction(c - 1, m),
        large=bool(contingency.smallest_expected(*shares) >= LEAST_EXPECTED),
        deviations=abs(float(apart)),
        burden=burden,
        limit_of=None if allowed is None else allowed.of,
        to_parity=math.ceil(n * Fraction(c, m)) - a,
    )


def adjust_for_clusters(
    people: PeopleAffected, significance: Significance | None
) -> PeopleAffected | None:
    """Rates of clustered rows in people: as many standard errors apart as their own test says.

    None where that test is of more than the two groups, or there is none.
    """
    if significance is None or not significance.test.startswith("z"):
        return None
    return replace(people, deviations=float(distributions.normal_critical(significance.p)))


def _count_to_limit(
    lower: tuple[int, int], higher: tuple[int, int], allowed: AllowedGap, *, burden: bool
) -> int | None:
    """How many people of the worse side the limit asks for; None where it is reached.

    Of a burden both sides count those who are spared, and the limit is on those who are not.
    """
    (a, n), (c, m) = lower, higher
    if not burden:
        missing = math.ceil(n * allowed.least(Fraction(c, m))) - a
    else:
        most = allowed.most(Fraction(m - c, m))
        missing = 0 if most is None else (n - a) - math.floor(n * most)
    return missing if missing > 0 else None


def _count_people(estimate: Estimate) -> tuple[int, int] | None:
    """Hits and people of a share; None under survey weights, or where it is none."""
    if estimate.numerator is None or not estimate.denominator or estimate.scale != 1:
        return None
    is_share = estimate.numerator <= estimate.denominator
    return (estimate.numerator, estimate.denominator) if is_share else None


_NEAR = 1e-12


@declare_subjects(row="group stratum down up n m power level")
class DetectableGap(Frozen):
    """The smallest gaps to a reference that a test finds in four of five such samples, as shares.

    Of the group whose gap may be widest and still go unseen; NaN where no gap of that side would be
    found. `n` are its people, `m` those it is compared with; `level` is that of one of the
    comparisons, alpha over their number.
    """

    group: Group
    stratum: Annotated[Group, Member("given")]
    down: float
    up: float
    n: int
    m: Annotated[int, Member("reference_n")]
    power: float = POWER
    level: float | None = None


def find_detectable_gap(
    evaluation: Evaluation, below: Decimal | None, above: Decimal | None
) -> DetectableGap | None:
    """What a pass may have missed; None where a gap as wide as the limit allows would be found.

    Of a comparison of two rates; a gap or least ratio is looked at from the highest group.
    """
    seen = _DetectableGaps.of(evaluation)
    if seen is None:
        return None
    comparison = seen.disparity.comparison
    if evaluation.spread:
        # Only how far the lowest group may lie below is a limit here.
        is_least = comparison.scale is Scale.RATIO and comparison.rescaling.increases
        below, above = below if is_least else above, None
    elif not comparison.rises_with_rate:
        below, above = above, below
    allowed = [_allow_gap(bound, seen.share, comparison) for bound in (below, above)]
    excesses = [_exceed(gap, wide) for gap, wide in zip((seen.down, seen.up), allowed, strict=True)]
    excess = np.where(seen.known, np.maximum(*excesses), -np.inf)
    return seen.at_smallest(excess > _NEAR)


def find_gap_of_smallest(evaluation: Evaluation) -> DetectableGap | None:
    """The smallest gaps that a test finds where the smallest group is compared, whatever the limit.

    The highest group of a stratum may be the smallest: its gap is to the smallest of the others.
    """
    seen = _DetectableGaps.of(evaluation)
    return None if seen is None else seen.at_smallest_side()


class _DetectableGaps(Frozen):
    """The smallest gaps that are found of each group [Z, G], with the samples behind them.

    `share` is the rate of the reference, `known` marks the groups that are judged.
    """

    evaluation: Evaluation
    disparity: Disparity
    share: Floats
    n: Floats
    m: Floats
    down: Floats
    up: Floats
    comparisons: Floats
    known: Marks

    @classmethod
    def of(cls, evaluation: Evaluation) -> _DetectableGaps | None:
        """None where no rates of groups are compared."""
        disparity, values = evaluation.metric, evaluation.group_values
        assert isinstance(disparity, Disparity)
        if values is None:
            return None
        reference, judged = evaluation.reference_values, evaluation.judged
        if evaluation.spread:
            highest = np.maximum(evaluation.first, 0)
            reference = _repeat_group(values, highest)
            judged = evaluation.takes_part & (np.arange(values.value.shape[1]) != highest)
        if reference is None:
            return None
        alpha, comparisons = evaluation.terms.inference.alpha, _count_comparisons(evaluation)
        n, m = values.effective_n, reference.effective_n
        seen = smallest_detectable(reference.value, n, m, alpha, comparisons)
        # Of too few clusters there is no size, and so nothing to say of what it would show.
        known = judged & ~np.isnan(reference.value) & ~np.isnan(n) & ~np.isnan(m)
        return cls(evaluation, disparity, reference.value, n, m, *seen, comparisons, known)

    def at_smallest(self, marks: Marks) -> DetectableGap | None:
        """The gaps of the smallest group that is marked; None where none is."""
        if not marks.any():
            return None
        smallest = int(np.argmax(np.where(marks, -self.n, -np.inf)))
        z, g = np.unravel_index(smallest, marks.shape)
        down, up = (
            float(np.broadcast_to(side, marks.shape)[z, g]) for side in (self.down, self.up)
        )
        n, m = (int(np.broadcast_to(size, marks.shape)[z, g]) for size in (self.n, self.m))
        table = self.evaluation.table
        level = float(self.evaluation.terms.inference.alpha / self.comparisons[z, 0])
        return DetectableGap(table.groups[g], table.strata[z], down, up, n, m, level=level)

    def at_smallest_side(self) -> DetectableGap | None:
        """The gaps of the comparison with the smallest group on either side; None without any."""
        if not self.known.any():
            return None
        n, m = (np.broadcast_to(size, self.known.shape) for size in (self.n, self.m))
        smaller, larger = (
            np.where(self.known, side(n, m), np.inf) for side in (np.minimum, np.maximum)
        )
        smallest = np.lexsort((larger.ravel(), smaller.ravel()))[0]
        marks = np.arange(self.known.size).reshape(self.known.shape) == smallest
        gap, (z, g) = self.at_smallest(marks), np.unravel_index(smallest, self.known.shape)
        if gap is None or not self.evaluation.spread or m[z, g] >= n[z, g]:
            return gap
        values, highest = self.evaluation.group_values, self.evaluation.first[z, 0]
        assert values is not None
        assert gap.level is not None
        down, up = smallest_detectable(values.value[z, g], m[z, g], n[z, g], gap.level)
        return replace(
            gap,
            group=self.evaluation.table.groups[highest],
            down=float(down),
            up=float(up),
            n=gap.m,
            m=gap.n,
        )


def _repeat_group(values: GroupValues, index: Ints) -> GroupValues:
    """The values of one group of each stratum, which every other is compared with."""
    value, effective_n = (
        np.take_along_axis(numbers, index, axis=1) for numbers in (values.value, values.effective_n)
    )
    return replace(values, value=value, effective_n=effective_n)


def _count_comparisons(evaluation: Evaluation) -> Floats:
    """How many comparisons there are in each stratum, [Z, 1]; at least one."""
    groups = evaluation.takes_part.sum(axis=1).tolist()
    counts = [multiplicity.count_pairs(k) if evaluation.spread else k - 1 for k in groups]
    return np.maximum(np.array(counts, dtype=np.float64), 1)[:, None]


def _exceed(gap: Floats, wide: Floats) -> Floats:
    """By how much a gap that is found exceeds what is allowed; -∞ where anything is.

    Where no gap of a side would be found at all, the evidence there is the thinnest.
    """
    unseen = np.where(np.isnan(gap), np.inf, abs(gap) - abs(wide))
    return np.where(np.isnan(wide), -np.inf, unseen)


def _allow_gap(bound: Decimal | None, share: Floats, comparison: Comparison) -> Floats:
    """By how much a share may differ from the other before it crosses a bound; NaN: never."""
    if bound is None:
        return np.full_like(share, np.nan)
    return comparison.gap_at(float(bound), share)
