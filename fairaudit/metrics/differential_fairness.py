"""Catalogue: differential fairness (ε), ε of one label, bias amplification; credible region Θ.

Foulds & Pan, An Intersectional Definition of Fairness, arXiv:1807.08362. ε is the largest
difference of ln P(y | group) between two groups, over all outcomes y.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.errors import InvalidArgument
from fairaudit.base.frozen import replace
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import citations, rates
from fairaudit.metrics.clustered_variance import class_effective_n
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.eligibility import (
    are_comparable,
    find_extreme,
    find_extremes,
    pool_known_groups,
)
from fairaudit.metrics.group_metrics import TableMetric, TableValue
from fairaudit.metrics.terms import NO_PARAMETERS, MetricOptions, Minimum, Parameters
from fairaudit.stats import multiplicity, proportions, sample_sizes

JEFFREYS = 0.5
_ROUNDING = 1e-13
"""A smaller ε is a rounding error of equal shares."""


def epsilon(table: ArrayLike, smoothing: float = 0.0) -> float:
    """ε of a plain table of probabilities or counts, with groups in rows and outcomes in columns.

    `smoothing` is added to each outcome (Eq. 7). Groups and outcomes without people are ignored.
    With fewer than two groups, ε is undefined (NaN). Raises `UsageError` (here also a `ValueError`)
    if the table is not two-dimensional, or if a number is negative or not finite.

    >>> round(epsilon([[0.3085, 0.6915], [0.9332, 0.0668]]), 3)
    2.337
    """
    what = (
        "epsilon needs a table with a row for each group and a column for each outcome, without "
        "negative numbers, and a `smoothing` of 0 or more"
    )
    try:
        counts, smoothing = np.asarray(table, dtype=np.float64), float(smoothing)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidArgument(what, "for example [[30, 70], [40, 60]]") from error
    sound = np.isfinite(counts).all() and (counts >= 0).all() and 0 <= smoothing < np.inf
    if counts.ndim != 2 or not sound:
        raise InvalidArgument(what, "for example [[30, 70], [40, 60]]")
    n = counts.sum(axis=1)
    values = compute_epsilon(
        counts.T[None], n[None], n[None] > 0, smoothing, [str(y) for y in range(counts.shape[1])]
    )
    return float(values.value[0])


@np.errstate(all="ignore")  # undefined is NaN
def compute_epsilon(
    counts: Floats,
    n: Ints | Floats,
    takes_part: Marks,
    smoothing: Floats | float,
    classes: Sequence[str],
) -> TableValue:
    """The largest difference of ln P(y | group) over outcomes and pairs of groups.

    `counts` are [Z, Y, G], `n` is [Z, G]. `smoothing` is added to the counts; it is one number or
    an array [Z, Y, 1].
    """
    weights = counts + smoothing
    logs = np.log(weights / weights.sum(axis=1, keepdims=True))
    strata, _, _ = counts.shape
    enough = are_comparable(takes_part, counts.sum(axis=1))
    best = np.full(strata, np.nan)
    outcome, high, low = (np.full(strata, -1, dtype=np.int64) for _ in range(3))
    strata_index, apart = np.arange(strata), {}
    for y, name in enumerate(classes):
        top, bottom = find_extremes(logs[:, y], takes_part, n)
        # An outcome that no group has (probability 0 in all groups) is ignored.
        occurs = enough & np.isfinite(logs[strata_index, y, top])
        highest, lowest = logs[strata_index, y, top], logs[strata_index, y, bottom]
        apart[name] = highest[:, None] - logs[:, y], logs[:, y] - lowest[:, None]
        spread = np.where(highest - lowest < _ROUNDING, 0.0, highest - lowest)
        better = occurs & (np.isnan(best) | (spread > best))
        best[better], outcome[better] = spread[better], y
        high[better], low[better] = top[better], bottom[better]
    return TableValue(
        best, outcome, high, low, takes_part, n.astype(np.int64), counts, tuple(classes),
        apart=apart,
    )  # fmt: skip


def find_overall_shares(counts: Floats | Ints, takes_part: Marks) -> Floats:
    """The share [Z, Y, 1] of each outcome in all groups that take part; `counts` are [Z, Y, G]."""
    overall = np.where(takes_part[:, None], counts, 0).sum(axis=2, keepdims=True, dtype=np.float64)
    return np.asarray(overall / np.maximum(overall.sum(axis=1, keepdims=True), 1e-300))


def credible_ends(counts: Floats, prior: float, groups: Ints, alpha: float) -> Ends:
    """The ends of Θ: intervals that contain all outcome probabilities with probability 1 - `alpha`.

    `counts` are [Z, Y, G]. The posteriors of the `groups` [Z] are independent, so the interval of
    each group has the probability (1 - alpha)^(1 / groups). Within a group, the marginals of a
    Dirichlet distribution depend on each other: with more than two outcomes, the tail is divided by
    the number of outcomes (Bonferroni), which is valid for any dependence.
    """
    from scipy.special import betaincinv  # noqa: PLC0415  # SciPy is only needed here

    classes = counts.shape[1]
    a = counts + prior
    b = a.sum(axis=1, keepdims=True) - a
    tail = 1 - (1 - alpha) ** (1 / np.maximum(groups, 1))[:, None, None]
    if classes != 2:
        tail = tail / classes
        return betaincinv(a, b, tail / 2), betaincinv(a, b, 1 - tail / 2)
    # The ends of the second outcome are 1 minus the ends of the first.
    lower, upper = (betaincinv(a[:, :1], b[:, :1], p) for p in (tail / 2, 1 - tail / 2))
    return np.append(lower, 1 - upper, axis=1), np.append(upper, 1 - lower, axis=1)


def candidate_pairs(upper: Floats, lower: Floats, among: Marks) -> list[tuple[Ints, Ints]]:
    """Two candidates for the widest pair of different groups in each stratum.

    If the same group has the highest upper end and the lowest lower end, one of the ends must be
    from another group.
    """
    n = np.zeros_like(upper)
    top = find_extreme(upper, among, n, highest=True)
    bottom = find_extreme(lower, among, n, highest=False)
    return [
        (top, find_extreme(lower, among, n, highest=False, apart_from=top)),
        (find_extreme(upper, among, n, highest=True, apart_from=bottom), bottom),
    ]


def widest_log_ratios(low: Floats, high: Floats, among: Marks) -> tuple[float, float]:
    """The interval of the largest log-ratio over outcomes and pairs.

    `low` and `high` [Y, G] are the ends of simultaneous intervals for the logarithms of all
    probabilities. The lower end of the result is the largest distance by which the lower end of one
    group is above the upper end of another group, and at least 0.
    """
    widest = least = 0.0
    for lower, upper in zip(low, high, strict=True):
        least = max(least, float(lower[among].max() - upper[among].min()))
        for top, bottom in candidate_pairs(upper[None], lower[None], among[None]):
            widest = max(widest, float(upper[top[0]] - lower[bottom[0]]))
    return least, widest


def interval_of_epsilon(
    epsilon_value: TableValue, alpha: Alpha, parts: int, parameters: Parameters
) -> Ends:
    """The interval [Z] of ε, from simultaneous intervals for the log-ratios of pairs and outcomes.

    `parts` is the number of values of ε that need simultaneous intervals. Pseudo-counts shrink
    every share, and the interval of a smoothed ε uses the shrunken ends of the shares.
    """
    sizes = epsilon_value.counts.sum(axis=1)
    assert epsilon_value.overall is not None
    smoothing = parameters.pseudo_counts(epsilon_value.overall)
    shares = epsilon_value.counts / sizes[:, None]
    result = np.full((2, len(sizes)), np.nan)
    classes = epsilon_value.counts.shape[1]
    for z, among in enumerate(epsilon_value.takes_part):
        count = max(parts * math.comb(int(among.sum()), 2) * classes, 1)
        level = float(np.broadcast_to(alpha, len(sizes))[z])
        pair_level = float(multiplicity.sidak_level(level, count))
        # The ratio is unknown for an outcome without people.
        stratum, total = (sizes[z], among, pair_level), sizes[z] + smoothing[z].sum()
        ends = [
            multiplicity.smallest_ratio(
                share, *stratum, (pseudo / total, sizes[z] / total) if smoothing.any() else None
            )
            for share, pseudo in zip(shares[z], smoothing[z], strict=True)
        ]
        if among.any() and ends:
            # ε is the log of the largest ratio, which is the inverse of the smallest.
            lows, highs = (-np.log(np.array(side)) for side in zip(*ends, strict=True))
            result[0, z], result[1, z] = max(0.0, highs.max()), lows.max()
    return result[0], result[1]


PSEUDO_COUNTS = ("smoothing", "concentration")
_SMOOTHING = (*PSEUDO_COUNTS, "towards")
_BOTH_OUTCOMES = frozenset({Requirement.CLASSES, Requirement.LABEL, Requirement.PREDICTION})


def _bias_amplification(table: GroupTable, terms: MetricOptions) -> TableValue:

    def both_known(among: Marks | None = None) -> list[TableValue]:
        return [
            _of_classes(table, terms, of_label=of_label, both_known=True, among=among)
            for of_label in (False, True)
        ]

    predicted, labelled = both_known()
    if (predicted.takes_part != labelled.takes_part).any():
        # Both values of ε must use the same groups: otherwise, the groups may cause the difference.
        predicted, labelled = both_known(predicted.takes_part & labelled.takes_part)
    # The difference from an infinite value is unknown.
    value = np.where(np.isinf(labelled.value), np.nan, predicted.value - labelled.value)
    parts = ((table.of, predicted), ("label", labelled))
    return replace(predicted, value=value, parts=parts, everybody=None)


def _of_each_label(table: GroupTable, terms: MetricOptions) -> list[TableValue]:
    slots = np.arange(table.people.shape[1])
    return [_within(table, slots == index, terms) for index in range(len(table.labels))]


def _within_labels(table: GroupTable, terms: MetricOptions) -> TableValue:
    """The largest ε of the prediction among people with the same label."""
    by_label = _of_each_label(table, terms)
    values = np.stack([label.value for label in by_label])
    # A label without people in the stratum is ignored; a label without people in a group makes ε
    # undefined.
    occurs = np.stack([label.n.sum(axis=1) > 0 for label in by_label])
    worst = np.argmax(np.where(occurs & ~np.isnan(values), values, -np.inf), axis=0)
    strata = np.arange(values.shape[1])
    undefined = (occurs & np.isnan(values)).any(axis=0) | ~occurs.any(axis=0)

    def of_worst(arrays: Sequence[Any]) -> Any:  # noqa: ANN401  # any array
        return np.stack(arrays)[worst, strata]

    return TableValue(
        np.where(undefined, np.nan, of_worst([label.value for label in by_label])),
        of_worst([label.outcome for label in by_label]),
        of_worst([label.highest_group for label in by_label]),
        of_worst([label.lowest_group for label in by_label]),
        np.logical_and.reduce(
            [
                label.takes_part | ~people[:, None]
                for label, people in zip(by_label, occurs, strict=True)
            ]
        ),
        np.min([label.n for label in by_label], axis=0),
        of_worst([label.counts for label in by_label]),
        by_label[0].outcomes,
        apart={
            f"{label}: {name}": pair
            for label, of_label in zip(table.labels, by_label, strict=True)
            for name, pair in of_label.apart.items()
        },
    )


def _within_positives(table: GroupTable, terms: MetricOptions) -> TableValue:
    positive = table.positive_label
    labels = np.zeros(table.people.shape[1], np.bool_) if positive is None else positive
    return _within(table, labels, terms)


def _within(table: GroupTable, labels: Marks, terms: MetricOptions) -> TableValue:
    """ε of the prediction among people with one of the marked labels."""

    def kept(joint: Any) -> Any:  # noqa: ANN401  # people, or their squared weights
        return np.where(labels[:, None, None], joint, 0)

    people = kept(table.people)
    within = replace(
        table,
        people=people,
        mass=people if table.mass is table.people else kept(table.mass),
        squares=None if table.squares is None else kept(table.squares),
        clusters=table.clusters and replace(table.clusters, kept=labels),
    )
    everybody = table.eligible & (table.n > 0)
    return _of_classes(within, terms, among=everybody)


def _of_classes(
    table: GroupTable,
    terms: MetricOptions,
    *,
    of_label: bool = False,
    both_known: bool = False,
    among: Marks | None = None,
) -> TableValue:
    """ε over the classes of the audited outcome or, with `of_label`, of the label.

    With `both_known`, only people with a known outcome and a known label are counted. `among` marks
    the groups that may take part; None means all eligible groups with people.
    """
    classes, parameters = table.labels if of_label else table.classes, terms.parameters

    def by_class(joint: Floats | Ints) -> Floats | Ints:
        """The counts [Z, classes, G], summed over labels or, with `of_label`, over outcomes.

        With `both_known`, people whose value in the summed column is unknown are left out.
        """
        turned = joint.swapaxes(1, 2) if of_label else joint
        turned = turned[:, :-1] if both_known else turned
        return np.asarray(turned.sum(axis=1)[:, : len(classes)])

    people = np.asarray(by_class(table.people).sum(axis=1), dtype=np.int64)
    mass = by_class(table.mass)
    everybody = pool_known_groups(table, np.asarray(mass, dtype=np.int64))
    counts = mass / table.scale
    if table.squares is not None:
        total = counts.sum(axis=1)
        # P(y|g) · n_eff, so that pseudo-counts are compared with the effective size. With
        # pseudo-counts, n_eff is Kish's size, because the value depends on it; otherwise, it is a
        # size for all classes.
        squares, n = (
            np.asarray(by_class(part), np.float64) for part in (table.squares, table.people)
        )
        if parameters.per_outcome(len(classes)) > 0:
            size = sample_sizes.kish(total, squares.sum(axis=1), n.sum(axis=1))
        else:
            heaviest = count_groups(table).heaviest
            size = sample_sizes.linearised_classes(counts, squares, n, heaviest)
        counts = np.where(total[:, None] > 0, counts / total[:, None] * size[:, None], 0.0)
    if among is None:
        among = table.eligible & ((people if both_known else table.n) > 0)
    takes_part = among & terms.minimum.admits(people, everybody)
    overall = find_overall_shares(mass, takes_part)
    pseudo = parameters.pseudo_counts(overall)
    result = compute_epsilon(counts, people, takes_part, pseudo, classes)
    return replace(result, everybody=everybody, overall=overall)


def count_classes(table: GroupTable, minimum: Minimum) -> TableValue:
    """ε without pseudo-counts; `counts` of the result is the number of people in each class.

    Under weights or with clusters, `counts` contains effective sizes. `takes_part` marks the groups
    that are compared.
    """
    plain = _of_classes(table, MetricOptions(minimum=minimum))
    clusters = count_groups(table).clusters
    if clusters is None:
        return plain
    total = plain.counts.sum(axis=1, keepdims=True)
    size = class_effective_n(clusters, plain.counts, plain.n, plain.takes_part)[:, None]
    counts = np.where(total > 0, plain.counts / total * size, 0.0)
    return replace(plain, counts=counts)


def _all_people(table: GroupTable, terms: MetricOptions) -> list[TableValue]:
    return [count_classes(table, terms.minimum)]


def _positives(table: GroupTable, terms: MetricOptions) -> list[TableValue]:
    return [_within_positives(table, terms)]


_Parts: TypeAlias = Callable[[GroupTable, MetricOptions], list[TableValue]]
"""Returns several values of ε; the value of the metric is the largest value."""


def _find_plain(parts: _Parts, table: GroupTable, terms: MetricOptions) -> list[TableValue]:
    return parts(table, replace(terms, parameters=NO_PARAMETERS))


def _counts_of(parts: _Parts) -> Callable[[GroupTable, MetricOptions], Sequence[Floats]]:
    return lambda table, terms: [value.counts for value in _find_plain(parts, table, terms)]


class_counts = _counts_of(_all_people)
"""People by class and group, [Z, classes, G]; under survey weights, effective sizes."""


def _interval_of(parts: _Parts) -> Callable[[GroupTable, MetricOptions, Alpha], Ends]:
    """A function that returns the interval [Z] of the largest of several values of ε."""

    def find(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
        values, pseudo = _find_plain(parts, table, terms), terms.parameters
        ends = [interval_of_epsilon(value, alpha, len(values), pseudo) for value in values]
        # A label without people in the stratum is ignored.
        lows, highs = (
            np.where(np.isnan(side), -np.inf, side).max(axis=0)
            for side in (np.stack(sides) for sides in zip(*ends, strict=True))
        )
        unknown = np.isneginf(highs)
        return np.where(unknown, np.nan, np.maximum(lows, 0.0)), np.where(unknown, np.nan, highs)

    return find


def _interval_of_amplification(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
    """The interval of ε of the prediction minus ε of the label, for any dependence between them."""
    plain = replace(terms, parameters=NO_PARAMETERS)
    predicted, labelled = (
        interval_of_epsilon(part, alpha, 2, terms.parameters)
        for _, part in _bias_amplification(table, plain).parts
    )
    return predicted[0] - labelled[1], predicted[1] - labelled[0]


_OF_POSITIVES = (rates.TRUE_POSITIVE_RATE, rates.FALSE_NEGATIVE_RATE)
_SIMULTANEOUS = (
    f"{proportions.RATIO_INTERVAL} (MOVER for smoothed shares), simultaneous over pairs "
    "and outcomes"
)

DIFFERENTIAL_FAIRNESS = TableMetric(
    id="differential_fairness",
    varies_by_cluster=True,
    title="Differential fairness ε",
    short="ε",
    aliases=("epsilon", "differential_fairness_epsilon", "edf"),
    family="independence",
    description="Divide the probability of an outcome in one group by its probability in another "
    "group. The natural logarithm of this ratio is the log-ratio. ε is the largest log-ratio over "
    "all outcomes and all pairs of groups.",
    caution="A small group in which an outcome does not occur makes ε infinite. Smoothing (a "
    "small number added to each count) hides this, and the report says so. A small ε is not a "
    "guarantee: read the interval and the strata. ε does not show why groups differ.",
    source=citations.FOULDS,
    other_tools="ε limits three things. If the benefit of a person depends only on the outcome "
    "and is never negative, the average benefits of two groups differ at most by the factor e^ε "
    "(Eq. 5). Somebody who learns the outcome of a person can guess the person's group only a "
    "little better: the odds of one group against another change at most by the factor e^ε "
    "(Eq. 4). These two limits hold for every distribution of the outcomes that is considered "
    "plausible; the set of these distributions is called Θ. If groups are formed by only some of "
    "the protected columns, their ε is at most twice the ε of all columns (Theorem 3.2). If Θ is a "
    "single distribution, such as the observed shares, the ε of fewer columns is at most the ε of "
    "all columns. Smoothing: `smoothing: 1` adds α = 1 to the count of each outcome (Eq. 7). "
    "AIF360's `smoothed_empirical_differential_fairness` adds 1 divided by the number of outcomes. "
    "With `towards: overall`, `smoothing: 1` adds the same total to a group, but divides it over "
    "the outcomes in the proportions of all groups together: a frequent outcome gets more than a "
    "rare one. Groups with equal rates then keep equal rates, even if their sizes differ.",
    value_of=_of_classes,
    formula="max over outcomes y, groups g, h of |ln P(y|g) - ln P(y|h)|",
    parameters=_SMOOTHING,
    judges_all_attributes=True,
    interval=_interval_of(_all_people),
    method=_SIMULTANEOUS,
    independence=class_counts,
    of_log_ratios=(
        rates.SELECTION_RATE,
        replace(rates.SELECTION_RATE, id="rejection_rate", aliases=(), over=("rejected",)),
    ),
)

BIAS_AMPLIFICATION = TableMetric(
    id="bias_amplification",
    subtracts_label=True,
    short="Δε",
    aliases=("differential_fairness_bias_amplification",),
    family="independence",
    description="ε of the prediction minus ε of the label. ε is the logarithm of the largest "
    "ratio of the probabilities of an outcome in two groups. The prediction and the label may "
    "disagree on which group is worse off.",
    caution="The value is 0 for a model that repeats the disparity of the label, and also for a "
    "model that reverses it.",
    source=citations.FOULDS,
    other_tools="The same as AIF360's `differential_fairness_bias_amplification`, except that "
    "AIF360 smooths. If the value is Δε, the largest possible disparity of expected utility is "
    "e^Δε times as large for the prediction as for the label (§4.1).",
    value_of=_bias_amplification,
    formula="(`differential_fairness` of the prediction) - (`differential_fairness` of the label), "
    "on rows that have both",
    bounds=(None, None),
    requirements=_BOTH_OUTCOMES,
    parameters=_SMOOTHING,
    judges_all_attributes=True,
    hypothesis="no amplification",
    interval=_interval_of_amplification,
    method=_SIMULTANEOUS,
)

DIFFERENTIAL_EQUALIZED_ODDS = TableMetric(
    id="differential_equalized_odds",
    short="ε given label",
    family="separation",
    description="ε of the prediction (the logarithm of the largest ratio of the probabilities of "
    "an outcome in two groups) among people with the same label.",
    caution="The measure relies on the label. A small group in which an outcome does not occur "
    "makes ε infinite.",
    source=citations.FOULDS,
    other_tools="This is the conditional variant of Foulds & Pan §7: equalized odds, but with "
    "log-ratios instead of differences.",
    value_of=_within_labels,
    formula="max over labels c, outcomes y, groups g, h of |ln P(y|g, c) - ln P(y|h, c)|",
    requirements=_BOTH_OUTCOMES,
    parameters=_SMOOTHING,
    judges_all_attributes=True,
    interval=_interval_of(_of_each_label),
    method=_SIMULTANEOUS,
    independence=_counts_of(_of_each_label),
    cells=frozenset(),
    of_log_ratios=(*_OF_POSITIVES, rates.FALSE_POSITIVE_RATE, rates.TRUE_NEGATIVE_RATE),
)

DIFFERENTIAL_EQUAL_OPPORTUNITY = replace(
    DIFFERENTIAL_EQUALIZED_ODDS,
    id="differential_equal_opportunity",
    title="Differential equal opportunity",
    short="ε given +",
    description="ε of the prediction (the logarithm of the largest ratio of the probabilities of "
    "an outcome in two groups) among people with a positive label.",
    other_tools="This is the conditional variant of Foulds & Pan §7: equal opportunity, but with "
    "log-ratios instead of differences.",
    value_of=_within_positives,
    formula="max over outcomes y, groups g, h of |ln P(y|g, positive) - ln P(y|h, positive)|",
    interval=_interval_of(_positives),
    independence=_counts_of(_positives),
    cells=frozenset({"tp", "fn"}),
    of_log_ratios=_OF_POSITIVES,
)
