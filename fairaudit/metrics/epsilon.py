"""Differential fairness: the largest log-ratio of outcome probabilities between two groups.

Foulds & Pan, An Intersectional Definition of Fairness, arXiv:1807.08362. ε is taken over every
outcome and every pair of groups, so it is the largest spread of ln P(y | group) over outcomes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import sources as works
from fairaudit.metrics.clusters import class_effective_n
from fairaudit.metrics.counts import count_groups
from fairaudit.metrics.disparities import TableMetric, TableValue
from fairaudit.metrics.extreme_groups import find_extreme, find_extremes
from fairaudit.metrics.group_metrics import effective_n
from fairaudit.metrics.inference import DEFAULT_INFERENCE
from fairaudit.metrics.minimum import Minimum, pooled_total
from fairaudit.metrics.records import NO_PARAMETERS, Parameters, Requirement
from fairaudit.stats import multiplicity

_PSEUDO_COUNTS = ("smoothing", "concentration")
_JEFFREYS = 0.5


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
    table: GroupTable, minimum: Minimum, parameters: Parameters
) -> TableValue:
    """ε of the audited outcome's own classes, in every stratum."""
    return _of_classes(table, table.classes, (0, 1), minimum, parameters)


def _bias_amplification(table: GroupTable, minimum: Minimum, parameters: Parameters) -> TableValue:
    """ε of the prediction minus ε of the label, on the rows where both are known."""

    def both_known(among: Marks | None = None) -> tuple[TableValue, TableValue]:
        return (
            _of_classes(table, table.classes, (0, 1), minimum, parameters, both=True, among=among),
            _of_classes(table, table.labels, (1, 0), minimum, parameters, both=True, among=among),
        )

    predicted, labelled = both_known()
    if (predicted.takes_part != labelled.takes_part).any():
        # Both are of the same groups, or their difference would be one of groups.
        predicted, labelled = both_known(predicted.takes_part & labelled.takes_part)
    with np.errstate(invalid="ignore"):
        # Less than an infinite one is no improvement that could be told: it is not known.
        value = np.where(np.isinf(labelled.value), np.nan, predicted.value - labelled.value)
    return TableValue(
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


def _within_labels(table: GroupTable, minimum: Minimum, parameters: Parameters) -> TableValue:
    """ε of the prediction within each label; the label that has the largest decides."""
    slots = np.arange(table.people.shape[1])
    found = [_within(table, slots == at, minimum, parameters) for at in range(len(table.labels))]
    values = np.stack([one.value for one in found])
    # A label that nobody in the stratum has says nothing; one that a group lacks, leaves it open.
    there = np.stack([one.n.sum(axis=1) > 0 for one in found])
    worst = np.argmax(np.where(there & ~np.isnan(values), values, -np.inf), axis=0)
    strata = np.arange(values.shape[1])
    undefined = (there & np.isnan(values)).any(axis=0) | ~there.any(axis=0)

    def taken(arrays: Sequence[Any]) -> Any:  # noqa: ANN401  # any array
        return np.stack(arrays)[worst, strata]

    return TableValue(
        np.where(undefined, np.nan, taken([one.value for one in found])),
        taken([one.outcome for one in found]),
        taken([one.high for one in found]),
        taken([one.low for one in found]),
        np.logical_and.reduce(
            [one.takes_part | ~some[:, None] for one, some in zip(found, there, strict=True)]
        ),
        np.min([one.n for one in found], axis=0),
        taken([one.counts for one in found]),
        found[0].outcomes,
    )


def _within_positives(table: GroupTable, minimum: Minimum, parameters: Parameters) -> TableValue:
    """ε of the prediction among people whose label is positive."""
    positive = table.positive_label
    labels = np.zeros(table.people.shape[1], np.bool_) if positive is None else positive
    return _within(table, labels, minimum, parameters)


def _within(
    table: GroupTable, labels: Marks, minimum: Minimum, parameters: Parameters
) -> TableValue:
    """ε of the prediction among those who have one of the labels."""

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
    return _of_classes(within, table.classes, (0, 1), minimum, parameters, among=everybody)


def credible_ends(counts: Floats, prior: float, groups: Ints, alpha: float) -> Ends:
    """The ends of Θ, the box that holds all groups' outcome probabilities with 1 - `alpha`.

    `counts` are [Z, Y, G]; of `groups` [Z] the posteriors are independent, so each group holds
    (1 - alpha)^(1 / groups). Within a group the marginals of a Dirichlet depend on each other: with
    more than two outcomes the tails add up at most (Bonferroni), whatever that dependence is.
    """
    from scipy.special import betaincinv  # noqa: PLC0415  # only who asks for it pays

    classes = counts.shape[1]
    a = counts + prior
    b = a.sum(axis=1, keepdims=True) - a
    tail = 1 - (1 - alpha) ** (1 / np.maximum(groups, 1))[:, None, None]
    if classes != 2:
        tail = tail / classes
        return betaincinv(a, b, tail / 2), betaincinv(a, b, 1 - tail / 2)
    # The second outcome's ends are what the first one's leave.
    lower, upper = (betaincinv(a[:, :1], b[:, :1], p) for p in (tail / 2, 1 - tail / 2))
    return np.append(lower, 1 - upper, axis=1), np.append(upper, 1 - lower, axis=1)


def _credible(
    table: GroupTable,
    minimum: Minimum,
    parameters: Parameters,
    alpha: float = DEFAULT_INFERENCE.alpha,
) -> TableValue:
    """ε(Θ), Θ the product of the groups' equal-tailed marginal Beta intervals, in closed form."""
    plain = _of_classes(table, table.classes, (0, 1), minimum, NO_PARAMETERS)
    classes = len(table.classes)
    prior = parameters.per_outcome(classes) or _JEFFREYS
    lower, upper = credible_ends(plain.counts, prior, plain.takes_part.sum(axis=1), alpha)
    at = np.arange(len(lower))
    ends = [np.log(upper), np.log(lower)]
    best, outcome = np.full(len(at), np.nan), np.full(len(at), -1, dtype=np.int64)
    high, low = outcome.copy(), outcome.copy()
    # As for ε itself: groups without anybody in the denominator leave it undefined.
    enough = (plain.takes_part.sum(axis=1) >= 2) & ~(
        plain.takes_part & (plain.counts.sum(axis=1) == 0)
    ).any(axis=1)
    for y in range(classes):
        for top, bottom in _pairs_of_ends(ends[0][:, y], ends[1][:, y], plain.takes_part):
            spread = ends[0][at, y, top] - ends[1][at, y, bottom]
            better = enough & (top != bottom) & (np.isnan(best) | (spread > best))
            best[better], outcome[better] = spread[better], y
            high[better], low[better] = top[better], bottom[better]
    return replace(plain, value=best, outcome=outcome, high=high, low=low)


def _pairs_of_ends(upper: Floats, lower: Floats, among: Marks) -> list[tuple[Ints, Ints]]:
    """Two candidates for the widest pair of different groups: each end may have to give way."""
    n = np.zeros_like(upper)
    top, bottom = (
        find_extreme(upper, among, n, highest=True),
        find_extreme(lower, among, n, highest=False),
    )
    return [
        (top, find_extreme(lower, among, n, highest=False, apart_from=top)),
        (find_extreme(upper, among, n, highest=True, apart_from=bottom), bottom),
    ]


def _of_classes(  # one private function serves both outcomes of a table
    table: GroupTable,
    classes: Sequence[str],
    order: tuple[int, int],
    minimum: Minimum,
    parameters: Parameters,
    *,
    both: bool = False,
    among: Marks | None = None,
) -> TableValue:
    """ε over `classes`: with order (0, 1) those of the audited outcome, with (1, 0) the label's.

    With `both` of those for whom both are known; `among` says who takes part, if not all with n.
    """
    other, own = order

    def by_class(joint: Floats | Ints) -> Floats | Ints:
        """[Z, classes, G], the other outcome summed away (its unknown too, unless `both`)."""
        turned = joint if (other, own) == (0, 1) else joint.swapaxes(1, 2)
        turned = turned[:, :-1] if both else turned
        return np.asarray(turned.sum(axis=1)[:, : len(classes)])

    people = np.asarray(by_class(table.people).sum(axis=1), dtype=np.int64)
    mass = by_class(table.mass)
    everybody = pooled_total(table, np.asarray(mass, dtype=np.int64))
    counts = mass / table.scale
    if table.squares is not None:
        squares = by_class(table.squares).sum(axis=1)
        total = counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            # P(y|g) · n_eff, so that pseudo-counts weigh against the effective sample.
            size = effective_n(total, squares, people)
            counts = np.where(total[:, None] > 0, counts / total[:, None] * size[:, None], 0.0)
    takes_part = table.eligible & ((people if both else table.n) > 0) if among is None else among
    takes_part = takes_part & minimum.admits(people, everybody)
    smoothing = parameters.per_outcome(len(classes))
    found = _spread(counts, people, takes_part, smoothing, classes)
    return replace(found, everybody=everybody)


def _spread(
    counts: Floats, n: Ints | Floats, takes_part: Marks, smoothing: float, classes: Sequence[str]
) -> TableValue:
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
        top, bottom = find_extremes(logs[:, y], takes_part, n)
        # An outcome that no group has (a probability of 0 everywhere) is not in the range.
        occurs = enough & np.isfinite(logs[at, y, top])
        with np.errstate(invalid="ignore"):
            spread = logs[at, y, top] - logs[at, y, bottom]
        better = occurs & (np.isnan(best) | (spread > best))
        best[better], outcome[better] = spread[better], y
        high[better], low[better] = top[better], bottom[better]
    return TableValue(
        best, outcome, high, low, takes_part, n.astype(np.int64), counts, tuple(classes)
    )


def class_counts(table: GroupTable, minimum: Minimum, _: Parameters) -> Sequence[Floats]:
    """People by class and group, [Z, classes, G]; under survey weights as many as say as much."""
    return [_by_clusters(table, _differential_fairness(table, minimum, NO_PARAMETERS)).counts]


def _by_clusters(table: GroupTable, one: TableValue) -> TableValue:
    """The counts as many as say as much, where rows come in clusters."""
    crowd = count_groups(table).clusters
    if crowd is None:
        return one
    under = one.counts.sum(axis=1, keepdims=True)
    size = class_effective_n(crowd, one.counts, one.n, one.takes_part)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return replace(one, counts=np.where(under > 0, one.counts / under * size, 0.0))


def _counts_within_labels(table: GroupTable, minimum: Minimum, _: Parameters) -> Sequence[Floats]:
    slots = np.arange(table.people.shape[1])
    return [
        _within(table, slots == at, minimum, NO_PARAMETERS).counts
        for at in range(len(table.labels))
    ]


def _counts_within_positives(
    table: GroupTable, minimum: Minimum, _: Parameters
) -> Sequence[Floats]:
    return [_within_positives(table, minimum, NO_PARAMETERS).counts]


def _interval(
    one: TableValue, alpha: Alpha, parts: int = 1, parameters: Parameters = NO_PARAMETERS
) -> Ends:
    """The ends of an ε, [Z]: of the log-ratios of all pairs and outcomes together.

    With so many `parts` they hold together with those of the others. Pseudo-counts draw every share
    in, so that the ends of a smoothed ε are those of shares that are drawn in as much.
    """
    sizes = one.counts.sum(axis=1)
    smoothing = parameters.per_outcome(one.counts.shape[1])
    with np.errstate(invalid="ignore"):
        shares = one.counts / sizes[:, None]
    found = np.full((2, len(sizes)), np.nan)
    classes = one.counts.shape[1]
    for z, among in enumerate(one.takes_part):
        count = max(parts * multiplicity.count_pairs(int(among.sum())) * classes, 1)
        asked = float(np.broadcast_to(alpha, len(sizes))[z])
        each = float(multiplicity.sidak_level(asked, count))
        alone = bool(among.sum() == 2 and parts == 1 and classes <= 2)
        # Of an outcome that nobody was seen with the ratio may be anything.
        if smoothing:
            total = sizes[z] + classes * smoothing
            ends = [
                multiplicity.smallest_smoothed_ratio(
                    shares[z, y], sizes[z], among, each, (smoothing / total, sizes[z] / total)
                )
                for y in range(classes)
            ]
        else:
            ends = [
                multiplicity.smallest_ratio(shares[z, y], sizes[z], among, each, alone=alone)
                for y in range(classes)
            ]
        if among.any() and ends:
            # ε is the log of the largest ratio, which is the inverse of the smallest.
            with np.errstate(divide="ignore"):
                lows, highs = (-np.log(np.array(side)) for side in zip(*ends, strict=True))
            found[0, z], found[1, z] = max(0.0, highs.max()), lows.max()
    return found[0], found[1]


def _interval_of_classes(
    table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: Alpha
) -> Ends:
    plain = _by_clusters(table, _differential_fairness(table, minimum, NO_PARAMETERS))
    return _interval(plain, alpha, parameters=parameters)


def _interval_of_amplification(
    table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: Alpha
) -> Ends:
    """Of one ε less another of the same people: both intervals together, however they depend."""
    both = [one for _, one in _bias_amplification(table, minimum, NO_PARAMETERS).parts]
    predicted, labelled = (_interval(one, alpha, len(both), parameters) for one in both)
    with np.errstate(invalid="ignore"):
        return predicted[0] - labelled[1], predicted[1] - labelled[0]


def _interval_within_labels(
    table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: Alpha
) -> Ends:
    """Of the largest ε over labels: those of all labels together."""
    slots = np.arange(table.people.shape[1])
    found = [
        _interval(
            _within(table, slots == at, minimum, NO_PARAMETERS),
            alpha,
            len(table.labels),
            parameters,
        )
        for at in range(len(table.labels))
    ]
    # A label that nobody in the stratum has is no part of the maximum.
    lows, highs = (
        np.where(np.isnan(side), -np.inf, side).max(axis=0)
        for side in (np.stack(ends) for ends in zip(*found, strict=True))
    )
    return np.maximum(lows, 0.0), np.where(np.isneginf(highs), np.nan, highs)


def _interval_within_positives(
    table: GroupTable, minimum: Minimum, parameters: Parameters, alpha: Alpha
) -> Ends:
    plain = _within_positives(table, minimum, NO_PARAMETERS)
    return _interval(plain, alpha, parameters=parameters)


_SIMULTANEOUS = "Koopman (of smoothed shares MOVER), simultaneous over pairs and outcomes"

DIFFERENTIAL_FAIRNESS = TableMetric(
    id="differential_fairness",
    title="Differential fairness ε",
    short="ε",
    aliases=("epsilon", "differential_fairness_epsilon", "edf"),
    family="independence",
    means="The largest log-ratio of the probability of any outcome between any two groups.",
    caution="One small group without an outcome makes it infinite; smoothing hides that, and says "
    "so. No size of it is a guarantee: "
    "read its interval, and the strata.",
    source=works.FOULDS,
    elsewhere="AIF360's `smoothed_empirical_differential_fairness` adds concentration 1, that is "
    "1/|Y| to each outcome; `smoothing: 1` is Eq. 7's α = 1 for each outcome.",
    value_of=_differential_fairness,
    formula="max over outcomes y, groups g, h of |ln P(y|g) - ln P(y|h)|",
    takes=_PSEUDO_COUNTS,
    interval=_interval_of_classes,
    method=_SIMULTANEOUS,
    independence=class_counts,
    of_log_ratios=True,
)
BIAS_AMPLIFICATION = TableMetric(
    id="bias_amplification",
    title="Bias amplification",
    short="Δε",
    aliases=("differential_fairness_bias_amplification",),
    family="independence",
    means="ε of the prediction minus ε of the label: the change of the largest log-ratio. Who is "
    "worse off may have changed.",
    caution="A model that repeats all of the label's disparity scores 0, and so does one that "
    "turns it round.",
    source=works.FOULDS,
    elsewhere="AIF360's `differential_fairness_bias_amplification`, smoothed there.",
    value_of=_bias_amplification,
    formula="ε(prediction) - ε(label), on rows where both are known",
    bounds=(None, None),
    requirements=frozenset({Requirement.CLASSES, Requirement.LABEL, Requirement.PREDICTION}),
    takes=_PSEUDO_COUNTS,
    interval=_interval_of_amplification,
    method=_SIMULTANEOUS,
)
DIFFERENTIAL_EQUALIZED_ODDS = TableMetric(
    id="differential_equalized_odds",
    title="Differential equalized odds",
    short="ε given label",
    family="separation",
    means="ε of the prediction among people with the same label, the largest over labels.",
    caution="Trusts the label. One small group without an outcome makes it infinite.",
    source=works.FOULDS,
    elsewhere="The conditional variant of Foulds & Pan §7: equalized odds by log-ratios.",
    value_of=_within_labels,
    formula="max over labels c, outcomes y, groups g, h of |ln P(y|g, c) - ln P(y|h, c)|",
    requirements=frozenset({Requirement.CLASSES, Requirement.LABEL, Requirement.PREDICTION}),
    takes=_PSEUDO_COUNTS,
    interval=_interval_within_labels,
    method=_SIMULTANEOUS,
    independence=_counts_within_labels,
    cells=frozenset(),
    of_log_ratios=True,
)
DIFFERENTIAL_EQUAL_OPPORTUNITY = TableMetric(
    id="differential_equal_opportunity",
    title="Differential equal opportunity",
    short="ε given +",
    family="separation",
    means="ε of the prediction among people whose label is positive.",
    caution="Trusts the label. One small group without an outcome makes it infinite.",
    source=works.FOULDS,
    elsewhere="The conditional variant of Foulds & Pan §7: equal opportunity by log-ratios.",
    value_of=_within_positives,
    formula="max over outcomes y, groups g, h of |ln P(y|g, +) - ln P(y|h, +)|",
    requirements=frozenset({Requirement.CLASSES, Requirement.LABEL, Requirement.PREDICTION}),
    takes=_PSEUDO_COUNTS,
    interval=_interval_within_positives,
    method=_SIMULTANEOUS,
    independence=_counts_within_positives,
    cells=frozenset({"tp", "fn"}),
    of_log_ratios=True,
)
DIFFERENTIAL_FAIRNESS_CREDIBLE = TableMetric(
    id="differential_fairness_credible",
    title="Differential fairness ε over a credible region",
    short="ε of Θ",
    aliases=("epsilon_credible",),
    family="independence",
    means="The largest log-ratio that any distribution in a credible region of the audit's "
    "confidence allows: Θ of Definition 3.1.",
    caution="An upper bound that grows with the number of groups and as they shrink; no interval "
    "of ε, and no test.",
    source=works.FOULDS,
    elsewhere="A percentile interval of posterior draws of ε misses 0 always at equality, and is "
    "not offered.",
    value_of=_credible,
    value_at=_credible,
    formula="max over y, g ≠ h of ln U(y, g) - ln L(y, h), the ends of Beta intervals that miss "
    "with t = 1 - confidence^(1 / groups), with more than two classes with t / classes; "
    "pseudo-count ½ unless said otherwise",
    takes=_PSEUDO_COUNTS,
    version=2,
    no_interval="it is the end of a credible region itself",
)

TABLE_METRICS = (
    DIFFERENTIAL_FAIRNESS,
    DIFFERENTIAL_FAIRNESS_CREDIBLE,
    DIFFERENTIAL_EQUALIZED_ODDS,
    DIFFERENTIAL_EQUAL_OPPORTUNITY,
    BIAS_AMPLIFICATION,
)
