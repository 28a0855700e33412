"""Catalogue: score distributions compared: score parity, test fairness, multicalibration."""

from __future__ import annotations

import numpy as np

from fairaudit.base.memoize import memoize
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import works
from fairaudit.metrics.confusion_counts import ScoreCounts, count_groups
from fairaudit.metrics.eligibility import admit_groups, are_comparable
from fairaudit.metrics.scores import (
    DISTRIBUTION,
    DISTRIBUTION_AND_LABEL,
    calibration_bins,
    find_tenth,
)
from fairaudit.metrics.table_metrics import TableMetric, TableValue
from fairaudit.metrics.terms import Minimum, Parameters


def read_scores(table: GroupTable, minimum: Minimum) -> tuple[ScoreCounts, Ints, Marks]:
    """The scores of a table, the people with one, and who takes part; both [Z, G]."""
    scores = count_groups(table).scores
    if scores is None:
        raise ValueError("a metric of scores without a histogram")
    n = np.asarray(scores.people.sum(axis=(1, 2)))
    return scores, n, admit_groups(table, n, minimum)


@memoize
def _above(scores: ScoreCounts) -> tuple[Floats, Floats]:
    """P(s ≥ lowest of the bin | g) for each bin, [Z, B, G], and everybody's, [Z, B, 1]."""
    people = scores.people.sum(axis=1)
    at_least = people[:, ::-1].cumsum(axis=1)[:, ::-1]
    everybody = at_least.sum(axis=2, keepdims=True)
    n, all_people = people.sum(axis=1)[:, None], people.sum(axis=(1, 2))[:, None, None]
    return at_least / n, everybody / all_people


def _hidden(scores: ScoreCounts, takes_part: Marks) -> Floats:
    """The largest share of a group in one bin of several values: what thresholds in it may hide."""
    people = scores.people.sum(axis=1)[:, ~scores.single]
    if not people.shape[1]:
        return np.zeros(len(takes_part))
    shares = people / scores.people.sum(axis=(1, 2))[:, None]
    return np.asarray(np.where(takes_part[:, None], shares, 0.0).max(axis=(1, 2)))


def _parity(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """Max over g, t of |P(s ≥ t | g) - P(s ≥ t)|: a lower bound where bins hold several values."""
    scores, n, takes_part = read_scores(table, minimum)
    group, everybody = _above(scores)
    apart = np.where(takes_part[:, None], np.abs(group - everybody), 0.0)
    hidden = _hidden(scores, takes_part)
    of_group = apart.max(axis=1, initial=0.0)
    worst = of_group.argmax(axis=1) if of_group.shape[1] else np.zeros(len(of_group), np.int64)
    value, defined = of_group.max(axis=1, initial=0.0), are_comparable(takes_part, n)
    return TableValue.of(value, takes_part, n, defined=defined, high=worst, error=hidden)


def _parity_gap(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """Max over t of the highest minus the lowest P(s ≥ t | g)."""
    scores, n, takes_part = read_scores(table, minimum)
    group = _above(scores)[0]
    hidden = _hidden(scores, takes_part)
    top = np.where(takes_part[:, None], group, -np.inf)
    bottom = np.where(takes_part[:, None], group, np.inf)
    return _widest(top, bottom, takes_part, n, hidden)


def _in_bins(values: Ints | Floats, number: Ints) -> Ints | Floats:
    """The sums [Z, bins, G] of values [Z, B, G] over the calibration bins that `number` gives."""
    bins = np.unique(number)
    if not len(bins):
        return values
    return np.stack([values[:, number == bin_number].sum(axis=1) for bin_number in bins], axis=1)


def _test_fairness(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """The largest gap over score bins of P(y = + | bin, g), among groups with people in the bin."""
    scores, n, takes_part = read_scores(table, minimum)
    number = calibration_bins(scores)
    plus, minus = (_in_bins(scores.people[:, label], number) for label in (1, 0))
    people = plus + minus
    n = np.asarray(people.sum(axis=1))
    there = takes_part[:, None] & (people > 0) & minimum.admits(people)
    share = plus / people
    compared = there.sum(axis=2, keepdims=True) >= 2
    top = np.where(there & compared, share, -np.inf)
    bottom = np.where(there & compared, share, np.inf)
    result = _widest(top, bottom, takes_part, n, _across(scores, number, takes_part))
    if (number < 0).any():  # ten equal bins are of [0, 1] alone
        return TableValue.of(np.full(len(n), np.nan), takes_part, n)
    return result


def _multicalibration(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
    """The largest |mean y - mean s| of a group in a score bin, among bins with enough people."""
    scores, _n, takes_part = read_scores(table, minimum)
    number = calibration_bins(scores)
    middle, half = ((scores.high + sign * scores.low)[None, :, None] / 2 for sign in (1, -1))
    labelled = scores.people[:, 0] + scores.people[:, 1]
    plus, people, sums, doubts = (
        _in_bins(values, number)
        for values in (scores.people[:, 1], labelled, labelled * middle, labelled * half)
    )
    n = np.asarray(people.sum(axis=1), dtype=np.int64)
    there = takes_part[:, None] & (people > 0) & minimum.admits(people)
    if not there.size or (number < 0).any():
        return TableValue.of(np.full(len(n), np.nan), takes_part, n)
    apart = np.where(there, np.abs(plus - sums) / people, -np.inf)
    inside = np.where(there, doubts / people, 0.0)
    of_group = apart.max(axis=1)
    value = of_group.max(axis=1)
    defined = are_comparable(takes_part, n) & np.isfinite(value)
    error = np.minimum(inside.max(axis=(1, 2)) + _across(scores, number, takes_part), 1.0)
    worst = of_group.argmax(axis=1)
    return TableValue.of(value, takes_part, n, defined=defined, high=worst, error=error)


def _across(scores: ScoreCounts, number: Ints, takes_part: Marks) -> Floats:
    """How much of a gap may hang on bins of the histogram that lie across two tenths, [Z]."""
    tenth = find_tenth(scores.high)
    across = ~scores.single & (number >= 0) & (tenth != number)
    people = scores.people[:, :2].sum(axis=1)
    doubt = np.zeros(len(takes_part))
    for bin_number in np.unique(np.concatenate([number[across], tenth[across].astype(np.int64)])):
        people_in_bin = people[:, (number == bin_number) | (across & (tenth == bin_number))].sum(
            axis=1
        )
        loose = people[:, across & ((number == bin_number) | (tenth == bin_number))].sum(axis=1)
        share = np.where(
            takes_part & (people_in_bin > 0), loose / np.maximum(people_in_bin, 1), 0.0
        )
        doubt = np.maximum(doubt, share.max(axis=1, initial=0.0))
    return np.minimum(2 * doubt, 1.0)


def _widest(top: Floats, bottom: Floats, takes_part: Marks, n: Ints, error: Floats) -> TableValue:
    """The largest difference [Z, B] of the highest and the lowest, with both groups."""
    defined = are_comparable(takes_part, n)
    if not top.shape[1] or not top.shape[2]:
        return TableValue.of(np.full(len(n), np.nan), takes_part, n)
    apart = top.max(axis=2) - bottom.min(axis=2)
    widest = np.where(np.isfinite(apart), apart, -1.0).argmax(axis=1)
    strata = np.arange(len(widest))
    value = apart[strata, widest]
    defined = defined & np.isfinite(value)
    high, low = top[strata, widest].argmax(axis=1), bottom[strata, widest].argmin(axis=1)
    return TableValue.of(value, takes_part, n, defined=defined, high=high, low=low, error=error)


_PICKED = "the widest threshold or bin is chosen from the same data"

SCORE_PARITY = TableMetric(
    id="score_parity",
    short="score parity",
    family="score",
    means="The largest difference, over groups and thresholds, between the share of a group and "
    "the share of all people with a score at or above the threshold.",
    caution="Does not consider who is qualified. Biased upwards by chance with many thresholds.",
    no_interval=_PICKED,
    source=works.AGARWAL,
    elsewhere="Demographic parity of a regression, as Agarwal, Dudík & Wu define it (their SP, and "
    "Fairlearn's page); Beutel et al. draw the same curves.",
    formula="max over g, t of |P(s ≥ t | g) - P(s ≥ t)|",
    requirements=DISTRIBUTION,
    bounds=(0, 1),
    value_of=_parity,
)

SCORE_PARITY_GAP = TableMetric(
    id="score_parity_gap",
    short="score gap",
    aliases=("kolmogorov_smirnov",),
    family="score",
    means="The largest gap between groups, over thresholds, in the share with a score at or above "
    "the threshold.",
    caution="Does not consider who is qualified. Biased upwards by chance with many thresholds.",
    no_interval=_PICKED,
    source=works.BEUTEL,
    elsewhere="For two groups the Kolmogorov–Smirnov statistic, scipy's `ks_2samp`.",
    formula="max over t of (max over g of P(s ≥ t | g) - min over g of P(s ≥ t | g))",
    requirements=DISTRIBUTION,
    bounds=(0, 1),
    value_of=_parity_gap,
)

TEST_FAIRNESS = TableMetric(
    id="test_fairness",
    short="test fairness",
    aliases=("calibration_gap", "matching_conditional_frequencies"),
    family="sufficiency",
    means="The largest gap between groups in the share of positives among people with the same "
    "score.",
    caution="Bins with few people have wide gaps by chance: `min_size` applies to each bin.",
    no_interval=_PICKED,
    source=works.CHOULDECHOVA,
    formula="max over bins b of the gap of P(y = + | s in b, g); ten bins of [0, 1], or each value "
    "of at most twenty",
    requirements=DISTRIBUTION_AND_LABEL,
    bounds=(0, 1),
    undefined="no bin with people of two groups, or scores outside [0, 1] in ten bins",
    value_of=_test_fairness,
)

MULTICALIBRATION = TableMetric(
    id="multicalibration",
    short="worst bin",
    family="sufficiency",
    means="The largest distance, over groups and score bins, between the share of positives and "
    "the mean score.",
    caution="Bins with few people have large errors by chance: `min_size` applies to each bin.",
    no_interval=_PICKED,
    source=works.HEBERT_JOHNSON,
    elsewhere="Hébert-Johnson et al. require it for every group of a rich class and allow a small "
    "exception in each; here use the subsets of the attributes. `well_calibration` is the largest "
    "mean over bins.",
    formula="max over groups g and bins b of |mean y - mean s| in b and g; ten bins of [0, 1], or "
    "each value of at most twenty",
    requirements=DISTRIBUTION_AND_LABEL,
    bounds=(0, 1),
    undefined="no bin with people, or scores outside [0, 1]",
    value_of=_multicalibration,
)

TABLE_METRICS = (SCORE_PARITY, SCORE_PARITY_GAP, TEST_FAIRNESS, MULTICALIBRATION)
