"""`Histogram` of a score: bins, AUC, quantiles, and the errors that the bins cause.

A bin is a range of scores, stored with the smallest and the largest score that occur in it. If
these two scores are equal, the bin has a single value. So results are exact for a column with few
distinct values. For other columns, the functions also return the largest possible error.
"""

from __future__ import annotations

import math
from fractions import Fraction
from operator import add

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
from fairaudit.base.frozen import Frozen, astuple

_INSIDE = 2**16
"""Number of bins from 0 to 1, the range of probabilities."""

_OCTAVE = 40
"""Number of low bits of a double that bins above 1 and below 0 ignore.

4,096 bins remain from each power of two to the next.
"""

TOO_SMALL = 1e-3
TOO_LARGE = 2**31 / 10**6
"""If all scores are below `TOO_SMALL`, or one is above `TOO_LARGE`, fixed-point sums are not exact.
"""


def bins_of(scores: Floats) -> Ints:
    """The number of the finest bin of each score, ascending with the scores; NaN is not allowed."""
    inside = np.floor(np.clip(scores, 0.0, 1.0) * _INSIDE).astype(np.int64)
    beyond = np.maximum(scores, 1.0).view(np.int64) - np.float64(1.0).view(np.int64)
    below = np.maximum(-scores, 0.0).view(np.int64)
    above = scores > 1.0
    bins = np.where(above, _INSIDE + 1 + (beyond >> _OCTAVE), inside)
    return np.where(scores < 0.0, -1 - (below >> _OCTAVE), bins)


class Bins(Frozen, eq=False):
    """The bins [B] that have scores, in ascending order, with their numbers (`codes`).

    `low` and `high` are the smallest and the largest score in each bin.
    """

    codes: Ints
    low: Floats
    high: Floats

    @property
    def single(self) -> Marks:
        """Marks the bins that hold a single value."""
        return np.asarray(self.low == self.high)

    @classmethod
    def gather(cls, codes: Ints, low: Floats, high: Floats) -> Bins:
        """Joins bins that have the same code into one bin."""
        distinct, index = np.unique(codes, return_inverse=True)
        lowest = np.full(len(distinct), np.inf)
        highest = np.full(len(distinct), -np.inf)
        np.minimum.at(lowest, index, low)
        np.maximum.at(highest, index, high)
        return cls(distinct, lowest, highest)


class Moments(Frozen):
    """The number of people with a score, and exact sums of their scores as integers.

    `total` is the sum of score · 10⁹, `roots` the sum of score · 10⁶, and `squares` the sum of
    (score · 10⁶)². Each product is rounded to an integer before it is squared or added.
    """

    n: int
    total: int
    roots: int
    squares: int

    def __add__(self, other: Moments) -> Moments:
        return Moments(*map(add, astuple(self), astuple(other)))

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
    """People by stratum, label, group and bin of a score.

    `people` is [Z strata, 3 labels, G groups, B bins]; the labels are negative, positive and not
    known. `everybody` [B] counts all people with a score, including people outside the groups and
    strata. `low` and `high` [Z, G] are the smallest and the largest score, infinite if no person
    has a score. `moments[z][g]` are the moments of a group; `moments` is None if the scores are too
    large or too small for fixed-point sums.
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


def ranked(upper: Ints, lower: Ints) -> Floats:
    """P(upper > lower) + ½ P(equal) [Z, G] for histograms [Z, B, G]; a bin counts as one score.

    For the scores of positives and negatives, this is the area under the ROC curve (AUC).

    >>> upper, lower = np.array([[[0], [1], [3]]]), np.array([[[2], [1], [0]]])
    >>> float(ranked(upper, lower)[0, 0])
    0.9583333333333334
    """

    def rank(upper: Ints, lower: Ints) -> Floats:
        higher, other = upper.astype(np.float64), lower.astype(np.float64)
        n = higher.sum(axis=1)
        reached = n[:, None] - np.cumsum(higher, axis=1)
        pairs = n * other.sum(axis=1)
        return np.asarray((other * (2 * reached + higher)).sum(axis=1) / (2 * pairs))

    return map_blocks(rank, upper, lower)


def rank_error(upper: Ints, lower: Ints, single: Marks) -> Floats:
    """The largest error [Z, G] of `ranked`, caused by pairs in one bin of several values."""

    def find_error(upper: Ints, lower: Ints) -> Floats:
        pairs = upper.sum(axis=1).astype(np.float64) * lower.sum(axis=1)
        higher, other = (side[:, ~single].astype(np.float64) for side in (upper, lower))
        return np.asarray((higher * other).sum(axis=1) / (2 * pairs))

    return map_blocks(find_error, upper, lower)


def median_bin(people: Ints) -> int:
    """The index of the first bin at which half of the people are reached; 0 without people."""
    return int(np.argmax(np.cumsum(people) * 2 >= people.sum())) if people.size else 0


def quantile(people: Ints, bins: Bins, share: Fraction) -> tuple[float, float] | None:
    """The smallest and the largest score in the bin of a quantile; None without people.

    This bin is the first such that at least `share` of the people are in it or in lower bins.
    """
    total = int(people.sum())
    if not total:
        return None
    reached = np.cumsum(people) * share.denominator >= share.numerator * total
    first = int(np.argmax(reached))
    return float(bins.low[first]), float(bins.high[first])
