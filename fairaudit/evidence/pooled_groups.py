"""Shares of pooled groups (everybody else), for where a disparity first appears."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fairaudit.base.arrays import Floats, Ints, Marks
from fairaudit.base.disclosure_marks import declare_subjects
from fairaudit.base.frozen import Frozen
from fairaudit.evidence.pair_tests import Sample, bound_share_gap, name_share_test
from fairaudit.metrics.confusion_counts import ConfusionCounts, GroupCounts
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.formulas import Rate
from fairaudit.metrics.inference import Inference
from fairaudit.stats import effective_size, proportions

_CLOSE = 1e-9
"""Differences as near to a limit are decided by whole numbers."""


class PooledGroups(Frozen, eq=False):
    """Pooled groups of people, each with a share that is counted in them: arrays of one shape.

    `over` of `under` are integers, of people or (divided by `scale`) of survey weights; `n` counts
    the people in the denominator, `weighted` [3, ...] holds the squared
    weights of the hits, those of all, and how many the hits are; None without weights.
    """

    over: Ints
    under: Ints
    n: Ints
    weighted: Floats | None = None
    scale: int = 1

    @classmethod
    def of(cls, rate: Rate, tally: GroupCounts) -> PooledGroups:
        """The groups of a table [G], in its one stratum, by a rate of their own people."""

        def total(counts: ConfusionCounts, cells: Sequence[str]) -> Ints:
            return np.asarray(sum(getattr(counts, cell)[0] for cell in cells))

        weighted = None
        if tally.squares is not None:
            squares = [total(tally.squares, cells) for cells in (rate.over, rate.under)]
            weighted = np.stack([*squares, total(tally.people, rate.over)]).astype(np.float64)
        return cls(
            total(tally.weighted, rate.over),
            total(tally.weighted, rate.under),
            total(tally.people, rate.under),
            weighted,
            tally.scale,
        )

    @property
    def value(self) -> Floats:
        """The share; NaN where nobody is in the denominator."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.over / self.under)

    @property
    def size(self) -> Floats:
        """People in the denominator; under survey weights the effective number of them."""
        if self.weighted is None:
            return self.n.astype(np.float64)
        hit_squares, squares, hits = self.weighted
        return effective_size.linearised_share(
            (self.over / self.scale, hit_squares, hits),
            (self.under / self.scale, squares, self.n.astype(np.float64)),
        )

    @property
    def sample(self) -> Sample:
        """The shares as samples; under survey weights no table can be counted."""
        if self.weighted is not None:
            return Sample(self.value, self.size, None, None)
        return Sample(self.value, self.size, self.over, self.under)

    def at(self, index: Ints | Marks) -> PooledGroups:
        """The groups that an index or marks choose."""
        weighted = None if self.weighted is None else self.weighted[:, index]
        return PooledGroups(
            self.over[index], self.under[index], self.n[index], weighted, self.scale
        )

    def without(self, part: PooledGroups) -> PooledGroups:
        """Each group without a group that is part of it."""
        weighted = None
        if self.weighted is not None and part.weighted is not None:
            weighted = self.weighted - part.weighted
        return PooledGroups(
            self.over - part.over, self.under - part.under, self.n - part.n, weighted, self.scale
        )

    def others(self) -> PooledGroups:
        """For each group all the others together."""
        weighted = None if self.weighted is None else self.weighted.sum(axis=1, keepdims=True)
        everybody = PooledGroups(
            self.over.sum(keepdims=True),
            self.under.sum(keepdims=True),
            self.n.sum(keepdims=True),
            weighted,
            self.scale,
        )
        return everybody.without(self)

    def estimate(self, index: int, alpha: float) -> Estimate:
        """The share of one group, with its counts and Wilson's interval."""
        low, high = proportions.share_interval(self.value[index], self.size[index], alpha)
        return Estimate(
            value=float(self.value[index]),
            n=int(self.n[index]),
            numerator=int(self.over[index]),
            denominator=int(self.under[index]),
            scale=self.scale,
            low=float(low),
            high=float(high),
            method=proportions.SHARE_INTERVAL,
        )


def exceeds(first: PooledGroups, second: PooledGroups, least: Fraction) -> Marks:
    """Whether two shares differ by more than `least`, either way; decided by whole numbers.

    False where one of the two is empty.
    """
    gap = np.abs(first.value - second.value)
    with np.errstate(invalid="ignore"):
        exceeding = np.array(gap > float(least))
        undecided = np.flatnonzero(np.abs(gap - float(least)) < _CLOSE)
    for index in undecided.tolist():
        a, n, c, m = (
            int(counts[index]) for counts in (first.over, first.under, second.over, second.under)
        )
        exceeding[index] = abs(Fraction(a, n) - Fraction(c, m)) > least
    return exceeding


@declare_subjects(row="other difference low high p test")
class ShareGap(Frozen):
    """How a group differs from one it shares nobody with: the first minus the other, one test.

    `low` and `high` are Newcombe's bounds of the difference, by itself.
    """

    other: Estimate
    difference: float
    low: float
    high: float
    p: float
    test: str

    @classmethod
    def of(
        cls,
        first: PooledGroups,
        second: PooledGroups,
        p: float,
        inference: Inference,
        *,
        exact: bool,
    ) -> ShareGap:
        """Two groups, each an array of one, with what `compare_shares` said of them."""
        low, high = bound_share_gap(first.sample, second.sample, inference.alpha)
        return cls(
            other=second.estimate(0, inference.alpha),
            difference=float(first.value[0] - second.value[0]),
            low=float(low[0]),
            high=float(high[0]),
            p=p,
            test=name_share_test(exact=exact, inference=inference),
        )
