"""Practical size of a gap: people affected (`shortfall`), and the smallest detectable gap."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Annotated

import numpy as np

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import SIGNED, Frozen, field, replace
from fairaudit.cube import Floats, Group, Marks
from fairaudit.evidence.joint_tests import FOR_ALL, FOR_PAIRS
from fairaudit.evidence.records import ComparisonPart
from fairaudit.metrics import Comparison, Disparity, Evaluation
from fairaudit.metrics.estimate import Significance
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import EXTREME_REFERENCES, Correction
from fairaudit.stats import contingency, distributions
from fairaudit.stats.contingency import LEAST_EXPECTED
from fairaudit.stats.sample_sizes import POWER, smallest_detectable


@declare_subjects(
    row="shortfall to_limit limit ratio below flips large deviations burden limit_of to_parity"
)
class PeopleAffected(Frozen):
    """The gap between two rates as a number of people.

    `shortfall` is the number of additional selections in the group with the lower rate if both
    groups had their common rate. `to_parity` is the number of additional selections that give this
    group the rate of the other group. `limit` is the limit of the check, which is a ratio or a
    difference (`limit_of`); None if the check has no such limit. `to_limit` is the number of
    additional selections until the limit is met; None if the limit is met. `below` is set if the
    limit is not met. `flips` is set if moving one selection from the other group to this group
    would reverse the gap. `large` is set if at least five people are expected in each count of the
    two groups. `deviations` is the difference of the rates in standard errors. If the rate is a
    `burden`, the numbers are people who bear the burden in excess.
    """

    shortfall: float
    to_limit: Annotated[int | None, SIGNED] = field(name="people_to_limit")
    limit: Fraction | None
    ratio: float
    below: bool
    flips: bool = field(name="flip_flop")
    large: bool
    deviations: float = field(name="standard_deviations")
    burden: bool = field(default=False, name="of_those_spared")
    limit_of: str | None = None
    to_parity: Annotated[int | None, SIGNED] = field(default=None, name="people_to_parity")


class AllowedGap(Frozen):
    """The gap that a limit allows: a smallest ratio or a largest difference."""

    size: Fraction
    is_ratio: bool

    def least(self, higher: Fraction) -> Fraction:
        """The smallest allowed lower rate for a given higher rate."""
        return self.size * higher if self.is_ratio else higher - self.size

    def most(self, lower: Fraction) -> Fraction | None:
        """The largest allowed higher rate for a given lower rate; None without a bound."""
        if not self.is_ratio:
            return lower + self.size
        return lower / self.size if self.size else None


def count_people_affected(
    part: ComparisonPart, allowed: AllowedGap | None = None, *, burden: bool = False
) -> PeopleAffected | None:
    """The gap of a comparison as a number of people; None if a side has no counts of people.

    `allowed` is the gap that the limit of the check allows; None for a value within the limit. If
    the rate is a `burden`, the counts are the people without the burden.
    """
    counts = []
    for side in part.sides:
        share = side.estimate
        # Only shares without survey weights have counts of people.
        if share.numerator is None or not share.denominator or share.scale != 1:
            return None
        if share.numerator > share.denominator:
            return None
        hits = share.denominator - share.numerator if burden else share.numerator
        counts.append((hits, share.denominator))
    if len(counts) < 2:
        return None
    (a, n), (c, m) = sorted(counts, key=lambda estimate: Fraction(*estimate))
    pooled = Fraction(a + c, n + m)
    to_limit = None
    if allowed is not None:
        # For a burden, `counts` are people without the burden, but the limit is on the burden.
        if not burden:
            missing = math.ceil(n * allowed.least(Fraction(c, m))) - a
        else:
            most = allowed.most(Fraction(m - c, m))
            missing = 0 if most is None else (n - a) - math.floor(n * most)
        to_limit = missing if missing > 0 else None
    shares = [np.asarray(estimate) for estimate in (a / n, float(n), c / m, float(m))]
    apart = contingency.find_z(*shares)
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
        limit_of=None if allowed is None else "ratio" if allowed.is_ratio else "difference",
        to_parity=math.ceil(n * Fraction(c, m)) - a,
    )


def adjust_for_clusters(
    people: PeopleAffected, significance: Significance | None
) -> PeopleAffected | None:
    """The gap as a number of people, with `deviations` from a test that allows for clusters.

    Returns None if the test is missing or compares more than the two groups.
    """
    if significance is None or not significance.test.startswith("z"):
        return None
    return replace(people, deviations=float(distributions.normal_critical(significance.p)))


_NEAR = 1e-12
"""A detectable gap that exceeds the allowed gap by less than this counts as equal to it."""


@declare_subjects(row="group stratum down up n m power level")
class DetectableGap(Frozen):
    """The smallest gaps between a group and its reference that a test detects, as shares.

    The test detects them in four of five samples. `group` is the group with the widest undetected
    gap. `down` and `up` are the gaps below and above the reference; NaN if no gap in that direction
    would be detected. `n` is the number of people in the group, and `m` is the number of people in
    the reference. `level` is the level of the test of these two groups: the level of the smallest
    p-value of the family, times the share of one pair.
    """

    group: Group
    stratum: Group = field(name="given")
    down: float
    up: float
    n: int
    m: int = field(name="reference_n")
    power: float = POWER
    level: float | None = None


def find_detectable_gap(
    evaluation: Evaluation, below: Decimal | None, above: Decimal | None, family: int
) -> DetectableGap | None:
    """The gap that a pass may have missed; None if a gap as wide as the limit would be detected.

    The evaluation must compare two rates. `family` is the number of tests in its family. The limit
    applies to a difference or ratio to the reference, or in a spread to the highest group.
    """
    seen = _DetectableGaps.of(evaluation, family)
    if seen is None:
        return None
    comparison = seen.comparison
    if evaluation.spread:
        # The limit only says how far the lowest group may be below the highest group.
        is_least = comparison.scale is Scale.RATIO and comparison.rescaling.is_increasing
        below, above = below if is_least else above, None
    elif not comparison.rises_with_rate:
        below, above = above, below

    def exceed(gap: Floats, bound: Decimal | None) -> Floats:
        """How much wider the detectable gap is than the allowed gap; -∞ without a bound."""
        if bound is None:
            return np.full_like(gap, -np.inf)
        allowed = comparison.gap_at(float(bound), seen.share)
        # If no gap in a direction would be detected, the detectable gap is infinite.
        unseen = np.where(np.isnan(gap), np.inf, abs(gap) - abs(allowed))
        return np.where(np.isnan(allowed), -np.inf, unseen)

    excesses = exceed(seen.down, below), exceed(seen.up, above)
    excess = np.where(seen.known, np.maximum(*excesses), -np.inf).ravel()
    widest = int(np.lexsort((seen.n.ravel(), -excess))[0])
    return seen.at(widest) if excess[widest] > _NEAR else None


def find_gap_of_smallest(evaluation: Evaluation, family: int) -> DetectableGap | None:
    """The smallest detectable gaps of the compared group with the fewest people, for any limit.

    In a spread, if the highest group is the smallest, its gap to the smallest other group is used.
    """
    seen = _DetectableGaps.of(evaluation, family)
    if seen is None or not seen.known.any():
        return None
    smaller, larger = (
        np.where(seen.known, side(seen.n, seen.m), np.inf).ravel()
        for side in (np.minimum, np.maximum)
    )
    return seen.at(int(np.lexsort((larger, smaller))[0]), smallest=True)


class _DetectableGaps(Frozen):
    """The smallest detectable gaps of each group, with sizes and levels, as arrays [Z, G].

    `share` is the rate of the reference, and `known` marks the judged groups. The test of a group
    against the reference compares `n` and `m` people at a `level`, with degrees of `freedom`.
    """

    evaluation: Evaluation
    comparison: Comparison
    share: Floats
    n: Floats
    m: Floats
    level: Floats
    freedom: Floats
    down: Floats
    up: Floats
    known: Marks

    @classmethod
    def of(cls, evaluation: Evaluation, family: int) -> _DetectableGaps | None:
        """The detectable gaps; None if the evaluation does not compare rates of groups.

        The level is the level of the smallest p-value of the family, because any test may have the
        smallest p-value. Groups of a spread are tested jointly. If expected counts are small, or
        the reference is an extreme group, they are tested in pairs.
        """
        disparity, values = evaluation.metric, evaluation.group_values
        reference, judged = evaluation.reference_values, evaluation.judged
        among, inference = evaluation.takes_part, evaluation.terms.inference
        assert isinstance(disparity, Disparity)
        if values is None or (reference is None and not evaluation.spread):
            return None
        alone = inference.correction is Correction.NONE
        level = np.full(among.shape, inference.alpha / (1 if alone else max(family, 1)))
        groups, freedom = among.sum(axis=1, keepdims=True), np.ones(among.shape)
        by_pairs = level / np.maximum(groups * (groups - 1) / 2, 1)
        if evaluation.spread or reference is None:
            # Each group is compared with the highest group of its stratum.
            highest = np.maximum(evaluation.first, 0)
            share, m = (
                np.take_along_axis(numbers, highest, axis=1)
                for numbers in (values.value, values.effective_n)
            )
            judged = among & (np.arange(values.value.shape[1]) != highest)
            with np.errstate(invalid="ignore"):
                n = np.where(among, np.nan_to_num(values.effective_n), 0.0)
                hits = n * np.where(among, np.nan_to_num(values.value), 0.0)
                counts = np.stack([hits, n - hits], axis=1)
                expected = contingency.expected_counts(counts).min(axis=1)
            large = among & (expected >= LEAST_EXPECTED)
            count = large.sum(axis=1, keepdims=True)
            # The highest group is one side of each pair.
            core = large & np.take_along_axis(large, highest, axis=1)
            of_joint = np.where(count == groups, level, FOR_ALL * level)
            of_pairs = np.where(groups > 2, FOR_PAIRS * by_pairs, by_pairs)
            level = np.where(core, of_joint, of_pairs)
            freedom = np.where(core, np.maximum(count - 1, 1), freedom)
        else:
            share, m = reference.value, reference.effective_n
            level = by_pairs if evaluation.terms.policy in EXTREME_REFERENCES else level
        n = values.effective_n
        share, n, m, level, freedom = np.broadcast_arrays(share, n, m, level, freedom)
        down, up = smallest_detectable(share, n, m, level, freedom)
        # A group without people has no rate, and a group with few clusters has no effective size.
        known = judged & (n > 0) & (m > 0) & ~np.isnan(share)
        compared = evaluation, disparity.comparison
        return cls(*compared, share, n, m, level, freedom, down, up, known)

    def at(self, index: int, *, smallest: bool = False) -> DetectableGap:
        """The gaps of one group; with `smallest`, of the smaller group of the pair."""
        z, g = np.unravel_index(index, self.known.shape)
        table, values, group = self.evaluation.table, self.evaluation.group_values, g
        n, m, level = (numbers[z, g] for numbers in (self.n, self.m, self.level))
        down, up = self.down[z, g], self.up[z, g]
        if smallest and self.evaluation.spread and m < n:
            assert values is not None
            n, m, group = m, n, self.evaluation.first[z, 0]
            down, up = smallest_detectable(values.value[z, g], n, m, level, self.freedom[z, g])
        # Use one object for all NaN, so that equal results compare as equal.
        down, up = (math.nan if np.isnan(side) else float(side) for side in (down, up))
        place = table.groups[group], table.strata[z]
        n, m = (max(int(np.rint(size)), 1) for size in (n, m))  # effective, with weights
        return DetectableGap(*place, down, up, n, m, level=float(level))
