"""`Histogram` of a score: widths of bins, AUC, quantiles, error bounds; scores too large to add.

A bin is a range of values, with the smallest and the largest value that occur in it. If both are
equal, the bin holds one value, so a column of few distinct values is counted exactly, and every
result below states its largest error.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fairaudit.base.arrays import (
    SCORE_ROOT_SCALE,
    SCORE_SCALE,
    Floats,
    Group,
    Grouping,
    Ints,
    Marks,
    map_blocks,
)
from fairaudit.base.frozen import Frozen

_INSIDE = 2**16
"""Number of bins from 0 to 1, the range of probabilities."""

_OCTAVE = 40
"""Low bits of a double that bins above 1 or below 0 ignore: 4,096 bins for each doubling."""

TOO_SMALL = 1e-3
TOO_LARGE = 2**31 / 10**6
"""If all scores are smaller, or one is larger, the fixed point of their sums does not work."""


def bins_of(scores: Floats) -> Ints:
    """The finest bin of each score, an integer that grows with it; none may be NaN."""
    inside = np.floor(np.clip(scores, 0.0, 1.0) * _INSIDE).astype(np.int64)
    beyond = np.maximum(scores, 1.0).view(np.int64) - np.float64(1.0).view(np.int64)
    below = np.maximum(-scores, 0.0).view(np.int64)
    above = scores > 1.0
    bins = np.where(above, _INSIDE + 1 + (beyond >> _OCTAVE), inside)
    return np.where(scores < 0.0, -1 - (below >> _OCTAVE), bins)


class Bins(Frozen, eq=False):
    """The bins that occur, in ascending order, with the range of what was seen in each, [B]."""

    codes: Ints
    low: Floats
    high: Floats

    @property
    def single(self) -> Marks:
        """Which bins hold one value only."""
        return np.asarray(self.low == self.high)

    @classmethod
    def gather(cls, codes: Ints, low: Floats, high: Floats) -> Bins:
        """Bins joined by their codes."""
        distinct, index = np.unique(codes, return_inverse=True)
        lowest = np.full(len(distinct), np.inf)
        highest = np.full(len(distinct), -np.inf)
        np.minimum.at(lowest, index, low)
        np.maximum.at(highest, index, high)
        return cls(distinct, lowest, highest)


class Moments(Frozen):
    """How many people have a score, and exact sums in fixed point.

    `total` sums scores of nine decimals, `roots` scores of six, `squares` the squares of these.
    """

    n: int
    total: int
    roots: int
    squares: int

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.n + other.n,
            self.total + other.total,
            self.roots + other.roots,
            self.squares + other.squares,
        )

    @property
    def mean(self) -> Fraction | None:
        """The mean; None without people."""
        return Fraction(self.total, self.n * SCORE_SCALE) if self.n else None

    @property
    def deviation(self) -> float | None:
        """The sample standard deviation; None below two people."""
        if self.n < 2:
            return None
        squares = Fraction(self.n * self.squares - self.roots**2, self.n * (self.n - 1))
        return math.sqrt(squares) / SCORE_ROOT_SCALE


class Histogram(Frozen, eq=False):
    """People by stratum, group, label and bin of a score.

    `people` is [Z, 3, G, B] by label: negative, positive and not known; `everybody` [B] are the
    people of all groups with a score. `low` and `high` are the extreme scores of each stratum and
    group, [Z, G], infinite if no person has a score; `moments` are [Z][G], None if the score has no
    fixed point.
    """

    by: Grouping
    given: Grouping
    groups: tuple[Group, ...]
    strata: tuple[Group, ...]
    known: Marks
    people: Ints
    everybody: Ints
    bins: Bins
    low: Floats
    high: Floats
    moments: tuple[tuple[Moments, ...], ...] | None


def auc(positive: Ints, negative: Ints, single: Marks) -> tuple[float, float] | None:
    """P(a positive's score is higher than a negative's) + ½ P(equal), and by how much it may err.

    Counts are by ascending bins, [B]. Pairs within a bin of one value are ties. Pairs within any
    other bin also count as ties, and each of them may be wrong by ½: |error| ≤ Σ pos·neg / (2·P·N)
    over these bins. None without pairs.

    >>> auc(np.array([0, 1, 3]), np.array([2, 1, 0]), np.array([True, True, True]))
    (0.9583333333333334, 0.0)
    """
    p, n = int(positive.sum()), int(negative.sum())
    if not p or not n:
        return None
    if 2 * p * n >= 2**62:
        # Products of such counts may pass 64 bits: Python's integers never do.
        positive, negative = positive.astype(object), negative.astype(object)
    below = np.cumsum(negative) - negative
    wins = int((positive * (2 * below + negative)).sum())
    doubt = int((positive * negative)[~single].sum())
    return float(Fraction(wins, 2 * p * n)), float(Fraction(doubt, 2 * p * n))


def ranked(upper: Ints, lower: Ints) -> Floats:
    """P(upper > lower) + ½ P(equal) of histograms [Z, B, G]; those of one bin count as equal."""

    def rank(upper: Ints, lower: Ints) -> Floats:
        higher, other = upper.astype(np.float64), lower.astype(np.float64)
        n = higher.sum(axis=1)
        reached = n[:, None] - np.cumsum(higher, axis=1)
        pairs = n * other.sum(axis=1)
        return np.asarray((other * (2 * reached + higher)).sum(axis=1) / (2 * pairs))

    return map_blocks(rank, upper, lower)


def rank_error(upper: Ints, lower: Ints, single: Marks) -> Floats:
    """The largest error of `ranked`, from pairs within bins of several values, [Z, G]."""

    def find_error(upper: Ints, lower: Ints) -> Floats:
        pairs = upper.sum(axis=1).astype(np.float64) * lower.sum(axis=1)
        higher, other = (side[:, ~single].astype(np.float64) for side in (upper, lower))
        return np.asarray((higher * other).sum(axis=1) / (2 * pairs))

    return map_blocks(find_error, upper, lower)


def median_bin(people: Ints) -> int:
    """The first bin with half of the people at or below it; 0 without people."""
    return int(np.argmax(np.cumsum(people) * 2 >= people.sum())) if people.size else 0


def quantile(people: Ints, bins: Bins, share: Fraction) -> tuple[float, float] | None:
    """The range of the first bin with at least this share of people in it or in lower bins.

    Both ends are equal if the bin holds one value. None without people.
    """
    total = int(people.sum())
    if not total:
        return None
    reached = np.cumsum(people) * share.denominator >= share.numerator * total
    first = int(np.argmax(reached))
    return float(bins.low[first]), float(bins.high[first])
