"""The smallest gap that a test would find (`DetectableGap`): what a pass may have missed."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

import numpy as np

from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen, replace
from fairaudit.base.json_marks import Member
from fairaudit.cube import Floats, Group, Ints, Marks
from fairaudit.metrics import Comparison, Disparity, Evaluation, GroupValues
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.stats import multiplicity
from fairaudit.stats.power import POWER, smallest_detectable

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
