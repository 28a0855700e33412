"""Two outcomes of the same people: paired counts, correlations, intervals of differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics.confusion_counts import count_groups, mark_cells
from fairaudit.metrics.disparities import FARTHEST_FROM_1, LARGEST_MAGNITUDE, MAX, MIN
from fairaudit.metrics.evaluation_record import Evaluation, compute, counts_for
from fairaudit.metrics.formulas import Rate
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues, TableMetric, count_effective
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.metrics.terms import SINGLE_REFERENCES, ReferencePolicy
from fairaudit.stats import multiplicity, proportions

_CELLS = {
    frozenset({"selected", "rejected"}),
    frozenset({"tp", "fn"}),
    frozenset({"fp", "tn"}),
    frozenset({"tp", "fp", "fn", "tn"}),
}
"""Denominators that do not depend on the prediction: they contain the same people for both
outcomes.
"""

_SELECTED = frozenset({"selected", "tp", "fp"})
"""Cells of selected people."""

_EXTREMES = {MAX, MIN, LARGEST_MAGNITUDE, FARTHEST_FROM_1}
"""Combinations that select one of several rates."""

_MOST_PAIRS = 10**6
"""Maximum number of pairs, over all strata and rates, whose changes fit into memory."""
_FOR_CHANGE, _FOR_MODEL = 0.6, 0.2
"""The share of α for the changes of all pairs, and the share for the pairs of each outcome."""


class PairedCounts(Frozen, eq=False):
    """The people in the denominator of a rate, counted by two outcomes: arrays [Z, G].

    `both` are hits by both outcomes, `first` are hits only by the first outcome, `second` are hits
    only by the second outcome, and `neither` are misses by both outcomes. Under weights, the counts
    are effective sizes.
    """

    both: Floats
    first: Floats
    second: Floats
    neither: Floats
    weighted: bool

    @property
    def difference(self) -> Floats:
        """The rate by the first outcome minus the rate by the second outcome."""
        n = self.both + self.first + self.second + self.neither
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((self.first - self.second) / n)

    def ends(self, r: Floats, alpha: Alpha) -> Ends:
        """The interval of the difference of both shares, correlated by `r`."""
        n = self.both + self.first + self.second + self.neither
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = [(self.both + alone) / n for alone in (self.first, self.second)]
        first, second = (proportions.wilson(share, n, alpha) for share in shares)
        return proportions.mover_difference(shares[0], first, shares[1], second, r)


def count_pairs(metric: GroupMetric, table: GroupTable) -> PairedCounts | None:
    """The people of a rate by both outcomes of a table; None if the two denominators differ."""
    joint = _join(metric, table)
    if joint is None or not isinstance(metric, Rate) or frozenset(metric.under) not in _CELLS:
        return None
    people, hits, under = joint
    marks = [side[:, :, None] & under[:, :, None] for side in (hits, ~hits)]
    others = [side[:, None] for side in (hits, ~hits)]
    cells = [
        np.asarray((people * (own & other)[..., None]).sum(axis=(1, 2, 3)))
        for own in marks
        for other in others
    ]
    if table.squares is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            size = count_effective(count_groups(table), metric.under) / np.sum(cells, axis=0)
        cells = [cell * np.nan_to_num(size) for cell in cells]
    both, first, second, neither = cells
    return PairedCounts(both, first, second, neither, table.squares is not None)


def _join(rate: GroupMetric, table: GroupTable) -> tuple[Floats, Marks, Marks] | None:
    """The people by label and by both outcomes (positive or not), [Z, Y, 2, 2, G].

    The function also returns two arrays [Y, 2] of marks by label and outcome: the cells in the
    numerator, and the cells in the denominator. It returns None if the cells of the rate are not
    counted by both outcomes.
    """
    if table.pairs is None or table.positive is None or not isinstance(rate, Rate):
        return None
    if not rate.is_proportion or not rate.cells <= frozenset().union(*_CELLS):
        return None
    classes, labels_of = len(table.classes), mark_cells(table)
    # Weights are divided by their mean, so that half a person is half of the mean weight.
    people, mass = (one[:, :, :classes].sum() for one in (table.people, table.mass))
    mass = table.pairs.mass[:, :, :classes] * (people / max(mass, 1))
    first, second = (
        np.stack([~positive, positive]).astype(np.float64)
        for positive in (table.positive[:classes], table.pairs.positive)
    )
    marks = np.zeros((2, mass.shape[1], 2), np.bool_)
    for at, cells in enumerate((rate.over, rate.under)):
        for name in cells:
            marks[at, labels_of[name][0], int(name in _SELECTED)] = True
    return np.einsum("zypqg,ip,jq->zyijg", mass, first, second), marks[0], marks[1]


@np.errstate(all="ignore")  # undefined is NaN
def correlate_outcomes(
    rate: GroupMetric, table: GroupTable, index: Ints | None = None, *, others: bool = False
) -> Floats | None:
    """The correlation of a rate by two outcomes, [Z, G]; None if it is unknown.

    By default, the rate is the rate of each group. With `index` [Z, 1], it is the rate of this
    group; with `others`, the rate of all other groups together. The correlation is computed by the
    delta method from the joint counts, so the denominators may differ. A positive correlation is
    reduced a little, as in Newcombe (1998), Stat Med 17:2635, method 10.
    """
    joint = _join(rate, table)
    if joint is None:
        return None
    people, over, under = joint[0], *(marks[..., None] for marks in joint[1:])
    if others:
        people = people.sum(axis=-1, keepdims=True) - people
    elif index is not None:
        people = np.take_along_axis(people, index[:, None, None, None], axis=-1)
    deviations = []
    for other in (3, 2):
        own = people.sum(axis=other)
        share = (own * over).sum(axis=(1, 2)) / (own * under).sum(axis=(1, 2))
        deviations.append(over - share[:, None, None] * under)
    first, second = deviations[0][:, :, :, None], deviations[1][:, :, None]
    axes = (1, 2, 3)
    common = (people * first * second).sum(axis=axes)
    spread = np.sqrt((people * first**2).sum(axis=axes) * (people * second**2).sum(axis=axes))
    weaker = np.where(common > 0, np.maximum(common - 0.5, 0.0), common)
    return np.nan_to_num(np.where(spread > 0, weaker / spread, 0.0))


def correlate_values(first: Evaluation, second: Evaluation) -> Floats | None:
    """The correlation [Z, G] of a value by one outcome with this value by another outcome.

    The value is a rate, or a comparison of a rate with a reference (by the delta method). None if
    the joint counts do not determine the correlation.
    """
    metric, table, policy = first.metric, first.table, first.terms.policy
    if isinstance(metric, TableMetric) or first.parts or not _is_plain(first):
        return None
    if isinstance(metric, GroupMetric):
        return correlate_outcomes(metric, table)
    rate, scale = metric.parts[0][0], metric.comparison.scale
    is_rest = policy is ReferencePolicy.REST
    own = correlate_outcomes(rate, table)
    if own is None or scale is None or not (is_rest or policy in SINGLE_REFERENCES):
        return None
    index = None if is_rest else np.maximum(first.second.max(axis=1, keepdims=True), 0)
    of_reference = correlate_outcomes(rate, table, index, others=is_rest)
    errors = [
        [_error_on(scale, side) for side in (part.group_values, part.reference_values) if side]
        for part in (first, second)
    ]
    return None if of_reference is None else _combine(errors[0], errors[1], (own, of_reference))


def _is_plain(evaluation: Evaluation) -> bool:
    """Whether a value is computed without an average over strata, a threshold or a single class."""
    terms = evaluation.terms
    return evaluation.averaged is None and terms.at is None and terms.of_class is None


def list_paired_rates(
    evaluation: Evaluation,
) -> tuple[Sequence[GroupMetric], Callable[[Floats], Floats] | None]:
    """The rate of a value, or the rates whose largest gap is the spread; empty for other values.

    The second result is the function that converts a ratio to a gap; None if gaps are differences.
    """
    metric, of_ratio = evaluation.metric, None
    if not _is_plain(evaluation):
        return (), None
    if isinstance(metric, GroupMetric):
        return (metric,), None
    if isinstance(metric, TableMetric):
        is_binary = all(len(part.table.classes) == 2 for part in evaluation.parts)
        is_smoothed = evaluation.terms.parameters.per_outcome(2) > 0
        return metric.of_log_ratios if is_binary and not is_smoothed else (), np.log
    if metric.comparison.scale is Scale.RATIO:
        of_ratio = turn_ratio
    is_one = metric.over_groups is None and metric.per_class is None
    is_one &= metric.comparison.is_plain
    is_one &= len(metric.parts) == 1 or metric.fold in _EXTREMES
    return [rate for rate, _ in metric.parts] if is_one and evaluation.spread else (), of_ratio


def turn_ratio(ratio: Floats) -> Floats:
    """The negative inverse of a ratio, which rises with the ratio."""
    return np.asarray(-1 / ratio)


def _combine(first: Sequence[Floats], second: Sequence[Floats], r: Sequence[Floats]) -> Floats:
    """The correlation of two sums of two terms, from the errors and correlations of the terms."""
    common = first[0] * second[0] * r[0] + first[1] * second[1] * r[1]
    return np.asarray(np.nan_to_num(common / (np.hypot(*first) * np.hypot(*second))))


def _error_on(scale: Scale, values: GroupValues) -> Floats:
    """The standard error of a share on a scale; half a hit and half a miss keep it above 0."""
    n = values.effective_n
    share = (values.value * n + 0.5) / (n + 1)
    by_scale = {
        Scale.DIFFERENCE: share * (1 - share),
        Scale.RATIO: (1 - share) / share,
        Scale.ODDS: 1 / (share * (1 - share)),
        Scale.ARCSINE: np.ones_like(share),
    }
    return np.asarray(np.sqrt(by_scale[scale] / n))


def find_largest_change(
    rates: Sequence[GroupMetric],
    tables: Sequence[GroupTable],
    among: Marks,
    of_ratio: Callable[[Floats], Floats] | None,
    alpha: Alpha,
) -> Ends | None:
    """The interval [Z, 1] of the largest gap by one outcome minus the largest gap by another.

    Each largest gap is searched over all pairs of groups and all rates. A gap is a difference or,
    with `of_ratio`, a function that rises with a ratio. Take a pair that may have the largest gap
    by the second outcome. By the first outcome, the largest gap is at least the gap of the same
    pair. So the result is at least the smallest change of such pairs, and at most the largest
    change of the pairs that may have the largest gap by the first outcome.
    """
    if among.size * among.shape[1] * len(rates) > _MOST_PAIRS:
        return None
    scale, groups = Scale.DIFFERENCE if of_ratio is None else Scale.RATIO, among.sum(axis=1)
    count = np.maximum(groups * (groups - 1) / 2 * len(rates), 1.0)[:, None]
    whole = np.broadcast_to(np.reshape(alpha, (-1, 1)), count.shape)
    level, alone = (multiplicity.sidak_level(whole * x, count) for x in (_FOR_CHANGE, _FOR_MODEL))
    i, j = np.nonzero(~np.eye(among.shape[1], dtype=np.bool_))
    found = []
    for rate in rates:
        sides = [compute(rate, counts_for(rate, table)) for table in tables]
        own = correlate_outcomes(rate, tables[0])
        if own is None:
            return None
        first, second, r = (
            (one[:, i], one[:, j]) for one in (*(_error_on(scale, side) for side in sides), own)
        )
        gaps = [_compare_pairs(side, (i, j), of_ratio, level) for side in sides]
        together = gaps[0][0], gaps[0][1:], gaps[1][0], gaps[1][1:], _combine(first, second, r)
        models = [_compare_pairs(side, (i, j), of_ratio, alone)[1:] for side in sides]
        found.append(np.stack([*proportions.mover_difference(*together), *models[0], *models[1]]))
    changes_low, changes_high, low, high, other_low, other_high = np.concatenate(found, axis=2)
    usable = np.tile(among[:, i] & among[:, j], len(rates))
    nothing = 0.0 if of_ratio is None else float(of_ratio(np.ones(())))
    worst, other_worst = (
        np.max(end, axis=1, keepdims=True, initial=nothing, where=usable)
        for end in (low, other_low)
    )
    least = np.fmax(changes_low, worst - other_high)
    most = np.fmin(changes_high, high - other_worst)
    # A difference of infinite ends is not a bound.
    least, most = np.where(np.isnan(least), -np.inf, least), np.where(np.isnan(most), np.inf, most)
    may_be, other_may_be = usable & (high >= worst), usable & (other_high >= other_worst)
    return (
        np.min(least, axis=1, keepdims=True, initial=np.inf, where=other_may_be),
        np.max(most, axis=1, keepdims=True, initial=-np.inf, where=may_be),
    )


def _compare_pairs(
    values: GroupValues,
    pairs: tuple[Ints, Ints],
    of_ratio: Callable[[Floats], Floats] | None,
    alpha: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The gaps of the first groups to the second groups, [Z, P], with their intervals."""
    assert values.ends is not None
    low, high = values.ends(alpha)
    if values.binomial:
        low, high = proportions.share_interval(*values.sample, alpha, over_pairs=True)
    first, second = ((values.value[:, one], (low[:, one], high[:, one])) for one in pairs)
    if of_ratio is None:
        return first[0] - second[0], *proportions.mover_difference(*first, *second)
    gap, least, most = map(
        of_ratio, (first[0] / second[0], *proportions.mover_ratio(*first, *second))
    )
    return gap, least, most
