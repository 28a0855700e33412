"""Differential fairness: the largest log-ratio of outcome probabilities between two groups.

Foulds & Pan, An Intersectional Definition of Fairness, arXiv:1807.08362. ε is taken over every
outcome and every pair of groups, so it is the largest spread of ln P(y | group) over outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.picking import pick_pair
from fairaudit.metrics.records import Parameters, Source, Whole, WholeReading

_FOULDS = Source("Foulds & Pan", 2020, "https://arxiv.org/abs/1807.08362")


def epsilon(table: ArrayLike, smoothing: float = 0.0) -> float:
    """ε of a plain table, groups in rows and outcomes in columns: probabilities or counts.

    `smoothing` is added to each outcome (Eq. 7). Empty groups do not exist; an outcome that no
    group has says nothing. With fewer than two groups ε is undefined (NaN).

    >>> round(epsilon([[0.3085, 0.6915], [0.9332, 0.0668]]), 3)
    2.337
    """
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or not np.isfinite(counts).all() or (counts < 0).any() or smoothing < 0:
        raise ValueError("epsilon takes a table of groups by outcomes, no entry below 0")
    n = counts.sum(axis=1)
    reading = _spread(
        counts.T[None], n[None], n[None] > 0, smoothing, [str(y) for y in range(counts.shape[1])]
    )
    return float(reading.value[0])


def _differential_fairness(
    table: GroupTable, min_size: int | None, parameters: Parameters
) -> WholeReading:
    """ε of the audited outcome's own classes, in every stratum."""
    return _of_classes(table, table.classes, (0, 1), min_size, parameters)


def _bias_amplification(
    table: GroupTable, min_size: int | None, parameters: Parameters
) -> WholeReading:
    """ε of the prediction minus ε of the label, on the rows where both are known."""
    predicted = _of_classes(table, table.classes, (0, 1), min_size, parameters, both=True)
    labelled = _of_classes(table, table.labels, (1, 0), min_size, parameters, both=True)
    with np.errstate(invalid="ignore"):
        value = predicted.value - labelled.value
    return WholeReading(
        value,
        predicted.outcome,
        predicted.high,
        predicted.low,
        predicted.takes_part,
        predicted.n,
        predicted.counts,
        predicted.outcomes,
        parts=((table.of, predicted), ("label", labelled)),
    )


def _of_classes(  # one private function serves both outcomes of a table
    table: GroupTable,
    classes: Sequence[str],
    order: tuple[int, int],
    min_size: int | None,
    parameters: Parameters,
    *,
    both: bool = False,
) -> WholeReading:
    """ε over `classes`: with order (0, 1) those of the audited outcome, with (1, 0) the label's."""
    other, own = order

    def by_class(joint: Floats | Ints) -> Floats | Ints:
        """[Z, classes, G], the other outcome summed away (its unknown too, unless `both`)."""
        turned = joint if (other, own) == (0, 1) else joint.swapaxes(1, 2)
        turned = turned[:, :-1] if both else turned
        return np.asarray(turned.sum(axis=1)[:, : len(classes)])

    people = np.asarray(by_class(table.people).sum(axis=1), dtype=np.int64)
    counts = by_class(table.mass) / table.scale
    if table.squares is not None:
        squares = by_class(table.squares).sum(axis=1)
        total = counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # P(y|g) · n_eff, so that pseudo-counts weigh against the effective sample; n_eff never
            # exceeds n (Cauchy-Schwarz), whatever fixed point rounds away.
            size = np.fmin(total**2 / squares, people)
            counts = np.where(total[:, None] > 0, counts / total[:, None] * size[:, None], 0.0)
    takes_part = table.known & ((people if both else table.n) > 0)
    if min_size is not None:
        takes_part = takes_part & (people >= min_size)
    smoothing = parameters.per_outcome(len(classes))
    return _spread(counts, people, takes_part, smoothing, classes)


def _spread(
    counts: Floats, n: Ints | Floats, takes_part: Marks, smoothing: float, classes: Sequence[str]
) -> WholeReading:
    """The largest spread over outcomes of ln P(y | group); counts are [Z, Y, G], n is [Z, G]."""
    weights = counts + smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    strata, _, _ = counts.shape
    empty = counts.sum(axis=1) == 0
    enough = (takes_part.sum(axis=1) >= 2) & ~(takes_part & empty).any(axis=1)
    best = np.full(strata, np.nan)
    outcome, high, low = (np.full(strata, -1, dtype=np.int64) for _ in range(3))
    at = np.arange(strata)
    for y in range(len(classes)):
        top, bottom = pick_pair(logs[:, y], takes_part, n)
        # An outcome that no group has (a probability of 0 everywhere) is not in the range.
        occurs = enough & np.isfinite(logs[at, y, top])
        with np.errstate(invalid="ignore"):
            spread = logs[at, y, top] - logs[at, y, bottom]
        better = occurs & (np.isnan(best) | (spread > best))
        best[better], outcome[better] = spread[better], y
        high[better], low[better] = top[better], bottom[better]
    return WholeReading(
        best, outcome, high, low, takes_part, n.astype(np.int64), counts, tuple(classes)
    )


DIFFERENTIAL_FAIRNESS = Whole(
    id="differential_fairness",
    title="Differential fairness ε",
    short="ε",
    aliases=("epsilon", "differential_fairness_epsilon", "edf"),
    family="independence",
    means="The largest log-ratio of the probability of any outcome between any two groups.",
    caution="One small group without an outcome makes it infinite; smoothing hides that, and says "
    "so. Above 1 it promises little.",
    source=_FOULDS,
    elsewhere="AIF360's `smoothed_empirical_differential_fairness` adds concentration 1, that is "
    "1/|Y| to each outcome; `smoothing: 1` is Eq. 7's α = 1 for each outcome.",
    read=_differential_fairness,
    formula="max over outcomes y, groups g, h of |ln P(y|g) - ln P(y|h)|",
)
BIAS_AMPLIFICATION = Whole(
    id="bias_amplification",
    title="Bias amplification",
    short="Δε",
    aliases=("differential_fairness_bias_amplification",),
    family="independence",
    means="ε of the prediction minus ε of the label: the disparity that the model adds.",
    caution="A model that repeats all of the label's disparity scores 0.",
    source=_FOULDS,
    elsewhere="AIF360's `differential_fairness_bias_amplification`, smoothed there.",
    read=_bias_amplification,
    formula="ε(prediction) - ε(label), on rows where both are known",
    bounds=(None, None),
    needs_label=True,
    needs_prediction=True,
)

WHOLES = (DIFFERENTIAL_FAIRNESS, BIAS_AMPLIFICATION)
