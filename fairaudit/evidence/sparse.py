"""Intervals of averages over many strata of few people, such as matched sets.

There the interval of each stratum says next to nothing, and adding up what they leave open is far
too wide on one side. Variances that add up over all strata at once serve instead; they need many.
"""

from __future__ import annotations

import numpy as np

from fairaudit.arrays import Alpha, Floats
from fairaudit.metrics import NO_GROUP, Comparison, Evaluation, GroupValues, ReferencePolicy
from fairaudit.metrics.evaluation import compute, counts_for, reference_counts
from fairaudit.metrics.intervals import (
    Interval,
    of_difference,
    of_log_ratio,
    of_ratio,
    of_shortfall,
)
from fairaudit.metrics.terms import EXTREME_REFERENCES
from fairaudit.stats import strata

_FEW = 20
"""A side of fewer people makes its stratum a sparse one."""

_MANY = 10
"""So many strata of equal weight let their sum be normal."""


def in_sparse_strata(evaluation: Evaluation, how: Comparison, alpha: Alpha) -> Interval | None:
    """The interval of an average to a reference where strata are sparse and many; NaN elsewhere."""
    table, averaged, terms = evaluation.strata, evaluation.averaged, evaluation.terms
    if (
        table is None
        or averaged is None
        or table.squares is not None
        or terms.policy in EXTREME_REFERENCES
    ):
        return None
    if how.interval not in {of_difference, of_shortfall, of_ratio, of_log_ratio}:
        return None
    sides = _sides(evaluation)
    if sides is None or not all(side.binomial for side in sides):
        return None
    weights = averaged.first_weights
    if not np.array_equal(weights, averaged.second_weights, equal_nan=True):
        return None
    n, m = (np.where(averaged.support, side.effective_n, 0.0) for side in sides)
    sparse = _is_sparse(np.nan_to_num(weights), np.minimum(n, m))
    if not sparse.any():
        return None
    a, c = (np.nan_to_num(side.value) * size for side, size in zip(sides, (n, m), strict=True))
    if how.interval in {of_difference, of_shortfall}:
        low, high = strata.average_difference(weights, a, n, c, m, alpha)
        method = "Sato, for sparse strata"
    else:
        low, high = strata.average_ratio(weights, a, n, c, m, alpha)
        method = "Greenland–Robins, for sparse strata"
    low, high = (np.atleast_2d(np.where(sparse, end, np.nan)) for end in (low, high))
    interval = Interval(low, high, method)
    if how.interval is of_shortfall:
        return interval.turned()
    if how.interval is of_log_ratio:
        with np.errstate(divide="ignore", invalid="ignore"):
            return interval._replace(low=np.log(interval.low), high=np.log(interval.high))
    return interval


def _is_sparse(weights: Floats, people: Floats) -> Floats:
    """Whether most of the weight lies in sparse strata, and these are many, [G]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        many = weights.sum(axis=0) ** 2 / np.square(weights).sum(axis=0) >= _MANY
    few = np.where(people < _FEW, weights, 0.0).sum(axis=0)
    return np.asarray(many & (few > weights.sum(axis=0) / 2))


def _sides(evaluation: Evaluation) -> tuple[GroupValues, GroupValues] | None:
    """The readings of every group and of its reference in all strata, [Z, G]."""
    table, terms = evaluation.strata, evaluation.terms
    if table is None or evaluation.group_values is None or terms.reference is None:
        return None
    quantity = evaluation.group_values.metric
    tally = counts_for(quantity, table)
    index = None
    if (evaluation.second != NO_GROUP).any():
        index = np.broadcast_to(evaluation.second.max(), (len(table.strata), 1))
    policy = ReferencePolicy.LEVEL if index is not None else terms.reference.policy
    others = reference_counts(tally, policy, index)
    return compute(quantity, tally, terms.parameters), compute(quantity, others, terms.parameters)
