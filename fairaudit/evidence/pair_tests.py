"""Tests of every pair of groups: what stands behind a maximum over pairs, or an extreme reference.

A group of a few people has a share far from all others by chance alone. It must neither decide that
groups differ nor drown the evidence between the others, so every pair is tested by itself, and the
smallest p-value counts for as many as there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from fairaudit.arrays import Floats, Ints, Marks
from fairaudit.evidence.samples import Sample, compare_shares
from fairaudit.metrics import GroupValues
from fairaudit.metrics.terms import Inference, TTest
from fairaudit.stats import contingency, means, multiplicity, ranks

Chosen: TypeAlias = Callable[[Floats, Floats], Marks]
"""Which pairs, by the values of both groups, are to decide: those beyond a limit."""

PairTest: TypeAlias = Callable[[Ints, Ints], tuple[Floats, Marks]]
"""The p-values of no difference between groups, by two arrays of their places; which are exact."""

_ALL = 64
"""Of so many groups, and fewer, every pair is tested; of more, those that can be the farthest."""


def pair_test(reading: GroupValues, z: int, inference: Inference) -> PairTest | None:
    """The test of two groups in one stratum; None where only their intervals are known."""
    if reading.binomial:
        return shares_test(Sample.of(reading).at(z), inference)
    if reading.deviation is not None:
        return _of_means(reading, z, inference)
    if reading.scores is not None:
        scores = reading.scores[z : z + 1].astype(np.float64)
        return lambda i, j: _plain(ranks.mann_whitney(scores[:, :, i], scores[:, :, j])[2][0])
    if reading.shares is not None:
        counts = (reading.shares * reading.effective_n[:, None])[z]
        return lambda i, j: _plain(
            contingency.g_test(np.stack([counts[:, i], counts[:, j]], axis=-1).swapaxes(0, 1))[2]
        )
    return None


def shares_test(sample: Sample, inference: Inference) -> PairTest:
    """The test of two of the groups of a sample, [G]."""
    return lambda i, j: compare_shares(sample.at(i), sample.at(j), inference)


def _plain(p: Floats) -> tuple[Floats, Marks]:
    """P-values none of which is exact."""
    return p, np.zeros(p.shape, dtype=np.bool_)


def _of_means(reading: GroupValues, z: int, inference: Inference) -> PairTest:
    assert reading.deviation is not None
    sides = reading.value[z], reading.deviation[z], reading.effective_n[z]

    def test(i: Ints, j: Ints) -> tuple[Floats, Marks]:
        first, second = (tuple(part[at] for part in sides) for at in (i, j))
        if inference.t is TTest.WELCH:
            return _plain(means.welch_test(*first, *second, moderated=True)[-1])
        return _plain(means.student_test(*first, *second)[-1])

    return test


def smallest(
    test: PairTest, value: Floats, weight: Floats, among: Marks, chosen: Chosen | None = None
) -> float:
    """The smallest p-value over all pairs of groups, corrected for all of them.

    `chosen` marks, by the higher value and the lower, which pairs may decide; NaN where none may.
    `weight` [G] is larger for groups that are known better.
    """
    at = np.flatnonzero(among)
    i, j = _pairs(value[at], weight[at])
    high, low = at[i], at[j]
    if chosen is not None:
        marks = chosen(value[high], value[low])
        high, low = high[marks], low[marks]
    if not len(high):
        return float("nan")
    p = np.fmin.reduce(test(high, low)[0])
    return float(multiplicity.tukey_kramer(p, len(at)))


def to_extreme(  # the two sides, who takes part, which way
    test: PairTest,
    value: Floats,
    weight: Floats,
    among: Marks,
    chosen: Chosen | None = None,
    *,
    lowest: bool,
) -> tuple[Floats, Marks]:
    """For each group the smallest p-value beside any group that lies farther out, [G], corrected.

    And whether an exact test gave it.

    `chosen` marks, by the values of a group and of the other, which pairs may decide.
    """
    at, found = np.flatnonzero(among), np.full(len(value), np.nan)
    exactly = np.zeros(len(value), dtype=np.bool_)
    if len(at) < 2:
        return found, exactly
    way = -1 if lowest else 1
    rivals = at
    if len(at) > _ALL:
        rivals = at[multiplicity.undominated(way * value[at], weight[at])]
    own, other = (grid.ravel() for grid in np.meshgrid(at, rivals, indexing="ij"))
    farther = (way * (value[other] - value[own]) >= 0) & (own != other)
    if chosen is not None:
        farther &= chosen(value[own], value[other])
    own, other = own[farther], other[farther]
    p = np.full(len(value), np.inf)
    each, exact = test(own, other)
    np.minimum.at(p, own, np.nan_to_num(each, nan=np.inf))
    exactly[own[exact & (each == p[own])]] = True
    some = np.isfinite(p)
    found[some] = multiplicity.tukey_kramer(p[some], len(at))
    return found, exactly


def _pairs(value: Floats, weight: Floats) -> tuple[Ints, Ints]:
    """Pairs of places, the higher value first: all, or of many those that can be farthest."""
    if len(value) <= _ALL:
        i, j = np.triu_indices(len(value), 1)
        turned = value[i] < value[j]
        return np.where(turned, j, i), np.where(turned, i, j)
    ends = multiplicity.undominated(value, weight), multiplicity.undominated(-value, weight)
    i, j = (grid.ravel() for grid in np.meshgrid(*ends, indexing="ij"))
    apart = (i != j) & (value[i] >= value[j])
    return i[apart], j[apart]
