"""Catalogue: score parity, test fairness, multicalibration; calibration slope, Hosmer-Lemeshow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.base.frozen import Frozen, memoize, replace
from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import GroupCounts, ScoreCounts, count_groups
from fairaudit.metrics.definitions import IGNORES_THE_LABEL, IS_TEST
from fairaudit.metrics.eligibility import admit_groups, are_comparable
from fairaudit.metrics.group_metrics import CURVED, OwnTest, TableMetric, TableValue
from fairaudit.metrics.scores import (
    DISTRIBUTION,
    DISTRIBUTION_AND_LABEL,
    CalibrationBins,
    Ranked,
    calibration_bins,
    fill_calibration_bins,
    find_tenth,
    require_scores,
)
from fairaudit.metrics.terms import MetricOptions, Minimum, Parameters
from fairaudit.stats import contingency, distributions, multiplicity, proportions, score_statistics


def read_scores(table: GroupTable, minimum: Minimum) -> tuple[ScoreCounts, Ints, Marks]:
    """The scores of a table, the people with a score [Z, G], and marks of participants [Z, G]."""
    scores = require_scores(count_groups(table))
    n = np.asarray(scores.people.sum(axis=(1, 2)))
    return scores, n, admit_groups(table, n, minimum)


@memoize
def _above(scores: ScoreCounts) -> tuple[Floats, Floats]:
    """P(s ≥ lowest score of the bin): for each group [Z, B, G], and for all people [Z, B, 1]."""
    people = scores.people.sum(axis=1)
    at_least = people[:, ::-1].cumsum(axis=1)[:, ::-1]
    everybody = at_least.sum(axis=2, keepdims=True)
    n, all_people = people.sum(axis=1)[:, None], people.sum(axis=(1, 2))[:, None, None]
    return at_least / n, everybody / all_people


def _hidden(scores: ScoreCounts, takes_part: Marks) -> Floats:
    """The largest share of a group in one bin with several values: a bound of the error."""
    people = scores.people.sum(axis=1)[:, ~scores.single]
    if not people.shape[1]:
        return np.zeros(len(takes_part))
    shares = people / scores.people.sum(axis=(1, 2))[:, None]
    return np.asarray(np.where(takes_part[:, None], shares, 0.0).max(axis=(1, 2)))


def _parity(table: GroupTable, terms: MetricOptions) -> TableValue:
    """Max over g, t of |P(s ≥ t | g) - P(s ≥ t)|; a lower bound if bins contain several values."""
    scores, n, takes_part = read_scores(table, terms.minimum)
    group, everybody = _above(scores)
    ahead = np.where(takes_part[:, None], group - everybody, 0.0)
    hidden = _hidden(scores, takes_part)
    ends = (-ahead).max(axis=1, initial=0.0), ahead.max(axis=1, initial=0.0)
    of_group = np.maximum(*ends)
    worst = of_group.argmax(axis=1) if of_group.shape[1] else np.zeros(len(of_group), np.int64)
    value, defined = of_group.max(axis=1, initial=0.0), are_comparable(takes_part, n)
    return TableValue.of(
        value, takes_part, n, defined=defined, high=worst, error=hidden, apart=ends
    )


def _parity_gap(table: GroupTable, terms: MetricOptions) -> TableValue:
    scores, n, takes_part = read_scores(table, terms.minimum)
    group = _above(scores)[0]
    hidden = _hidden(scores, takes_part)
    top = np.where(takes_part[:, None], group, -np.inf)
    bottom = np.where(takes_part[:, None], group, np.inf)
    return _widest(top, bottom, takes_part, n, hidden)


class _BinGaps(Frozen, eq=False):
    """The shares of positives in calibration bins, [Z, K, G], which are compared between groups.

    `there` marks the groups that are compared in a bin. `n` [Z, G] is the number of people with a
    known label. `error` [Z] is a bound of the error from the bins of the histogram. `has_all` is
    true if every score is in a calibration bin.
    """

    bins: CalibrationBins
    takes_part: Marks
    n: Ints
    share: Floats
    there: Marks
    error: Floats
    has_all: bool

    def bound_shares(self, alpha: Alpha) -> Ends:
        """Exact intervals of all compared shares; the intervals in a stratum are simultaneous."""
        level = multiplicity.sidak_level(alpha, self.there.sum(axis=(1, 2)))[:, None, None]
        return proportions.clopper_pearson(self.share, self.bins.people.astype(np.float64), level)


@memoize
def _compare_bins(table: GroupTable, minimum: Minimum) -> _BinGaps:
    """The shares of positives by bin of the score, in groups with enough people in the bin."""
    scores, _n, takes_part = read_scores(table, minimum)
    bins, number = fill_calibration_bins(scores), calibration_bins(scores)
    there = takes_part[:, None] & (bins.people > 0) & minimum.admits(bins.people)
    share, n = bins.positives / bins.people, np.asarray(bins.people.sum(axis=1))
    # The part of a gap that depends on histogram bins that extend over two tenths, [Z].
    tenth, people = find_tenth(scores.high), scores.people[:, :2].sum(axis=1)
    across = ~scores.single & (number >= 0) & (tenth != number)
    doubt = np.zeros(len(takes_part))
    for bin_number in np.unique(np.concatenate([number[across], tenth[across].astype(np.int64)])):
        inside, beside = number == bin_number, across & (tenth == bin_number)
        whole = people[:, inside | beside].sum(axis=1)
        loose = people[:, (across & inside) | beside].sum(axis=1)
        part = np.where(takes_part & (whole > 0), loose / np.maximum(whole, 1), 0.0)
        doubt = np.maximum(doubt, part.max(axis=1, initial=0.0))
    error = np.minimum(2 * doubt, 1.0)
    return _BinGaps(bins, takes_part, n, share, there, error, not (number < 0).any())


def _test_fairness(table: GroupTable, terms: MetricOptions) -> TableValue:
    gaps = _compare_bins(table, terms.minimum)
    compared = gaps.there & (gaps.there.sum(axis=2, keepdims=True) >= 2)
    top, bottom = (np.where(compared, gaps.share, end) for end in (-np.inf, np.inf))
    if not gaps.has_all:  # the ten equal bins exist only in [0, 1]
        return TableValue.of(np.full(len(gaps.n), np.nan), gaps.takes_part, gaps.n)
    return _widest(top, bottom, gaps.takes_part, gaps.n, gaps.error)


def _bound_test_fairness(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
    """The interval of the largest gap in any bin, from the intervals of all shares."""
    gaps = _compare_bins(table, terms.minimum)
    low, high = gaps.bound_shares(alpha)
    several = gaps.there.sum(axis=2) >= 2
    least = _spread(np.where(gaps.there, low, -np.inf), np.where(gaps.there, high, np.inf))
    most = _spread(np.where(gaps.there, high, -np.inf), np.where(gaps.there, low, np.inf))
    return _widen(np.where(several, least, 0.0), np.where(several, most, 0.0), gaps.error)


def _spread(top: Floats, bottom: Floats) -> Floats:
    return np.asarray(top.max(axis=2, initial=-np.inf) - bottom.min(axis=2, initial=np.inf))


def _widen(least: Floats, most: Floats, error: Floats) -> Ends:
    """The interval of the largest of several gaps, [Z], widened by the error from bins."""
    low, high = least.max(axis=1, initial=0.0) - error, most.max(axis=1, initial=0.0) + error
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def _p_of_test_fairness(table: GroupTable, terms: MetricOptions) -> Floats:
    """The p-values [Z] by permutations of the labels in each bin."""
    gaps, value = _compare_bins(table, terms.minimum), _test_fairness(table, terms).value
    p = np.full_like(value, np.nan)
    for z in np.flatnonzero(~np.isnan(value)).tolist():
        positives, people, there = (
            part[z] for part in (gaps.bins.positives, gaps.bins.people, gaps.there)
        )
        tables = [
            np.stack([positives[k], people[k] - positives[k]])[:, there[k]]
            for k in np.flatnonzero(there.sum(axis=1) >= 2)
        ]
        p[z] = contingency.permute_widest_gap(tables, float(value[z] - gaps.error[z]))
    return p


def _multicalibration(table: GroupTable, terms: MetricOptions) -> TableValue:
    """The largest |mean y - mean s| of a group in a score bin, among bins with enough people."""
    gaps = _compare_bins(table, terms.minimum)
    takes_part, n = gaps.takes_part, gaps.n
    apart = np.where(gaps.there, gaps.bins.apart / gaps.bins.people, -np.inf).reshape(len(n), -1)
    if not apart.size or not gaps.has_all:
        return TableValue.of(np.full(len(n), np.nan), takes_part, n)
    inside = np.where(gaps.there, gaps.bins.hidden / gaps.bins.people, 0.0).max(axis=(1, 2))
    value = apart.max(axis=1)
    defined = are_comparable(takes_part, n) & np.isfinite(value)
    error = np.minimum(inside + gaps.error, 1.0)
    worst = apart.argmax(axis=1) % n.shape[1]
    # Bins with fewer positives than the scores predict are below; bins with more are above.
    is_below = gaps.share < gaps.bins.expected / gaps.bins.people
    of_bins = np.maximum(apart, 0.0).reshape(is_below.shape)
    below, above = (np.where(side, of_bins, 0.0).max(axis=1) for side in (is_below, ~is_below))
    return TableValue.of(
        value, takes_part, n, defined=defined, high=worst, error=error, apart=(below, above)
    )


def _bound_multicalibration(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
    """The interval of the largest departure, from the intervals of all shares."""
    gaps = _compare_bins(table, terms.minimum)
    low, high = gaps.bound_shares(alpha)
    score = gaps.bins.expected / gaps.bins.people
    least = np.where(gaps.there, np.maximum(low - score, score - high), 0.0)
    most = np.where(gaps.there, np.maximum(high - score, score - low), 0.0)
    error = _multicalibration(table, terms).error
    assert error is not None
    return _widen(least.reshape(len(least), -1), most.reshape(len(most), -1), error)


def _p_of_multicalibration(table: GroupTable, terms: MetricOptions) -> Floats:
    """The p-values [Z] of the largest departure of a bin, reduced by the bound of its error."""
    gaps, whole = _compare_bins(table, terms.minimum), _multicalibration(table, terms)
    assert whole.error is not None
    shape = (len(gaps.there), -1)
    people = np.where(gaps.there, gaps.bins.people, 0).reshape(shape)
    expected = gaps.bins.expected.reshape(shape)
    return score_statistics.find_p_of_largest(people, expected, whole.value - whole.error)


def _widest(top: Floats, bottom: Floats, takes_part: Marks, n: Ints, error: Floats) -> TableValue:
    """The largest gap over bins between the highest and the lowest group, and both groups.

    `top` and `bottom` are [Z, B, G].
    """
    defined = are_comparable(takes_part, n)
    if not top.shape[1] or not top.shape[2]:
        return TableValue.of(np.full(len(n), np.nan), takes_part, n)
    apart = top.max(axis=2) - bottom.min(axis=2)
    widest = np.where(np.isfinite(apart), apart, -1.0).argmax(axis=1)
    strata = np.arange(len(widest))
    value = apart[strata, widest]
    defined = defined & np.isfinite(value)
    high, others = top[strata, widest].argmax(axis=1), bottom[strata, widest]
    others[strata, high] = np.inf  # even without a gap, the two are different groups
    low = others.argmin(axis=1)
    gaps = top.max(axis=2, keepdims=True) - bottom, top - bottom.min(axis=2, keepdims=True)
    below, above = (np.where(np.isfinite(gap), gap, 0.0).max(axis=1) for gap in gaps)
    return TableValue.of(
        value, takes_part, n, defined=defined, high=high, low=low, error=error, apart=(below, above)
    )


SCORE_PARITY = TableMetric(
    id="score_parity",
    short="score parity",
    family="score",
    description="At a threshold, the distance between the share of the group and the share of all "
    "people who score at or above it. The value is the largest distance over all groups and "
    "thresholds.",
    caution=IGNORES_THE_LABEL + " With many thresholds, chance alone makes the value larger.",
    no_interval="the threshold with the largest value is chosen from the same data, and no "
    "interval here takes that into account",
    source=citations.AGARWAL,
    other_tools="Agarwal, Dudík & Wu use this measure as the demographic parity of a regression "
    "(SP in their paper and in Fairlearn's documentation). Beutel et al. draw the same curves.",
    formula="max over groups g, thresholds t of |P(score ≥ t | g) - P(score ≥ t)|",
    requirements=DISTRIBUTION,
    bounds=(0, 1),
    value_of=_parity,
)

SCORE_PARITY_GAP = replace(
    SCORE_PARITY,
    id="score_parity_gap",
    title="Score parity gap",
    short="score gap",
    aliases=("kolmogorov_smirnov",),
    description="For each threshold, the share of people who score at or above the threshold, "
    "and its gap between groups. The value is the largest gap over all thresholds.",
    source=citations.BEUTEL,
    other_tools="For two groups, the value is the Kolmogorov–Smirnov statistic (`ks_2samp` in "
    "SciPy).",
    formula="max over thresholds t of (highest - lowest share of a group with score ≥ t)",
    value_of=_parity_gap,
)

TEST_FAIRNESS = TableMetric(
    id="test_fairness",
    short="test fairness",
    aliases=("calibration_gap", "matching_conditional_frequencies"),
    family="sufficiency",
    description="Among people with the same score (or with scores in the same range, called a "
    "bin), the gap between groups in the share of positives. The value is the largest gap over all "
    "bins.",
    caution="Bins with few people have wide gaps by chance, so a limit that requires no evidence "
    "fails even equal groups: add `significant` or `conclusive` to the limit. `min_size` applies "
    "to each bin.",
    source=citations.CHOULDECHOVA,
    formula="max over bins of the gap between groups in the share of positives; with at most "
    "twenty values, each value is a bin; otherwise [0, 1] is cut into ten bins",
    requirements=DISTRIBUTION_AND_LABEL,
    bounds=(0, 1),
    undefined="no bin with people of two groups, or scores outside [0, 1] in ten bins",
    value_of=_test_fairness,
    interval=_bound_test_fairness,
    method="Clopper–Pearson, Šidák over all bins",
    test="permutations within bins",
    p_of=_p_of_test_fairness,
)

MULTICALIBRATION = TableMetric(
    id="multicalibration",
    short="worst bin",
    family="sufficiency",
    description="In one group and one bin of the score, the distance between the share of "
    "positives and the mean score. The value is the largest distance over all groups and bins.",
    caution="Bins with few people have large errors by chance, so a limit that requires no "
    "evidence fails even perfect scores: add `significant` or `conclusive` to the limit. "
    "`min_size` applies to each bin.",
    hypothesis="perfect calibration",
    source=citations.HEBERT_JOHNSON,
    other_tools="Hébert-Johnson et al. require small distances in every group of a large "
    "collection of groups, and allow a small exception in each group. Here, the groups can be "
    "those of all combinations of columns. `well_calibration` takes the mean over the bins of "
    "each group instead.",
    formula="max over groups and bins of |mean label - mean score|; with at most twenty values, "
    "each value is a bin; otherwise [0, 1] is cut into ten bins",
    requirements=DISTRIBUTION_AND_LABEL,
    bounds=(0, 1),
    undefined="no bin with people, or scores outside [0, 1]",
    value_of=_multicalibration,
    interval=_bound_multicalibration,
    method="Clopper–Pearson, Šidák over all bins",
    test="binomial over all bins",
    p_of=_p_of_multicalibration,
)

TABLE_METRICS = (SCORE_PARITY, SCORE_PARITY_GAP, TEST_FAIRNESS, MULTICALIBRATION)

_EXACT = (
    "The value is exact if each bin (range) of the score contains only one score; otherwise, the "
    "report says how large the error of the value can be."
)


_Fit: TypeAlias = Callable[[score_statistics.ScoreBins], score_statistics.Fitted]


@memoize
def _fit_groups(counts: GroupCounts, fit: _Fit) -> Floats:
    """The fit of every group, [3, Z, G]: value, spread, and a bound of the error from the bins."""
    scores = require_scores(counts)
    strata, _, _, groups = scores.people.shape
    fits = np.full((3, strata, groups), np.nan)
    for z, g in np.ndindex(strata, groups):
        negative, positive = scores.people[z, :2, :, g]
        fits[:, z, g] = fit(
            score_statistics.ScoreBins.of(positive, negative, scores.low, scores.high)
        )
    return fits


def _read(fit: _Fit) -> dict[str, Any]:

    def value_of(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
        n = require_scores(counts).people[:, :2].sum(axis=(1, 2))
        return _fit_groups(counts, fit)[0], np.asarray(n)

    return {"value_of": value_of, "errors_of": lambda counts: _fit_groups(counts, fit)[2]}


def _of_coefficient(fit: _Fit, best: int) -> dict[str, Any]:
    """Fields of the record of a coefficient: value, Wald's interval, test of the value `best`."""

    def ends_of(counts: GroupCounts, _: Parameters, alpha: Alpha) -> Ends:
        value, error, _ = _fit_groups(counts, fit)
        reach = distributions.normal_critical(alpha) * error
        return value - reach, value + reach

    def tests_of(counts: GroupCounts) -> OwnTest:
        value, error, doubt = _fit_groups(counts, fit)
        apart = value - best
        z = np.sign(apart) * np.maximum(np.abs(apart) - doubt, 0.0) / error
        return OwnTest(distributions.normal_two_sided(z), "z", z)

    fields = {"ends_of": ends_of, "method": "Wald", "test": "Wald", "tests_of": tests_of}
    return _read(fit) | fields | {"bias": CURVED}


def _test_fit(counts: GroupCounts) -> OwnTest:
    """The test of Hosmer and Lemeshow, with the smallest χ² that is possible given the bins."""
    value, df, doubt = _fit_groups(counts, score_statistics.hosmer_lemeshow)
    p = distributions.chi_square_tail(np.maximum(value - doubt, 0.0), df)
    return OwnTest(p, "χ²", value, (df,))


CALIBRATION_SLOPE = Ranked(
    id="calibration_slope",
    short="calib. slope",
    aliases=("cox_slope",),
    family="sufficiency",
    description="The slope of a logistic regression of the label on the logit (log odds) of the "
    "score: 1 for a calibrated score, below 1 if the scores are too extreme (too close to 0 and "
    "1).",
    caution="The measure relies on the label. The slope does not show what happens to people: "
    "they receive decisions, not scores. With a slope of 1, all scores can still be "
    "too low or too high: look also at `calibration_intercept`. The slope is undefined if a score "
    "is 0 or 1, if all labels are equal, or if a threshold separates all positive from all "
    "negative labels.",
    source=citations.COX,
    other_tools="The same as `val.prob` of R's rms, and as any logistic regression of the label on "
    f"the logit of the score. {_EXACT}",
    bounds=(None, None),
    best=1,
    formula="the number b in: logit(probability of a positive label) = a + b · logit(score)",
    undefined="labels that are all equal or that a cut on the score separates, a score of 0 or 1, "
    "or no people",
    requirements=DISTRIBUTION_AND_LABEL,
    hypothesis="a slope of 1",
    **_of_coefficient(score_statistics.recalibration_slope, 1),
)

CALIBRATION_INTERCEPT = Ranked(
    id="calibration_intercept",
    short="calib. intercept",
    aliases=("cox_intercept",),
    family="sufficiency",
    description="The amount by which the logit (log odds) of the score is too low on average. It "
    "is 0 for a calibrated score, and above 0 if there are more positives than the scores predict. "
    "It is the intercept of a logistic regression of the label on the logit of the score, with the "
    "slope fixed at 1.",
    caution="The measure relies on the label. Scores that are too high and scores that are too low "
    "cancel each other: look also at `calibration_slope`.",
    source=citations.COX,
    other_tools="The logit of the score is the offset of the regression. The value is also called "
    f"calibration in the large on the scale of odds. {_EXACT}",
    bounds=(None, None),
    formula="the number a in: logit(probability of a positive label) = a + logit(score)",
    undefined="labels that are all equal, a score of 0 or 1, or no people",
    requirements=DISTRIBUTION_AND_LABEL,
    hypothesis="an intercept of 0",
    **_of_coefficient(score_statistics.recalibration_intercept, 0),
)

HOSMER_LEMESHOW = Ranked(
    id="hosmer_lemeshow",
    title="Hosmer–Lemeshow test of calibration",
    short="Hosmer–L. χ²",
    aliases=("hosmer_lemeshow_test",),
    family="sufficiency",
    description="A test statistic. The group is divided into ten parts, from the lowest to the "
    "highest scores. The value shows how far the numbers of positives in the parts are from the "
    "numbers that the scores predict.",
    caution="The measure relies on the label. The value grows with the number of people: in a "
    "large group, small departures are significant; in a small group, even large departures are "
    "not. Write a limit as `fail: {above: 0, significant: true}`.",
    no_interval="the value is a test statistic, not an estimate",
    hypothesis="perfect calibration",
    source=citations.HOSMER,
    other_tools="R's `hoslem.test` subtracts two degrees of freedom, because it expects scores "
    "that were fitted to the same rows; fairaudit expects scores from another source. A tenth with "
    f"fewer than five expected positives or negatives is joined with its neighbour. {_EXACT}",
    bounds=(0, None),
    best=0,
    formula="Σ over tenths of (O - E)² / (E (1 - E/n)): n people, O positives, sum E of scores",
    undefined="fewer than two parts with five expected positives and negatives each, or a score "
    "outside [0, 1]",
    requirements=DISTRIBUTION_AND_LABEL,
    **_read(score_statistics.hosmer_lemeshow),
    test=IS_TEST,
    tests_of=_test_fit,
    instead="calibration_slope, calibration_intercept or calibration_error",
)

CALIBRATION = (CALIBRATION_SLOPE, CALIBRATION_INTERCEPT, HOSMER_LEMESHOW)
