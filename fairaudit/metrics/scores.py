"""Catalogue: scores: AUC, Brier, average precision, scoring rate, calibration error and bins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.base.arrays import Alpha, Ends, squeeze_repeats
from fairaudit.base.frozen import Frozen, memoize, replace
from fairaudit.cube import Floats, Ints
from fairaudit.cube.histogram import median_bin, rank_error, ranked
from fairaudit.metrics import citations
from fairaudit.metrics.comparisons import RANKED
from fairaudit.metrics.confusion_counts import GroupCounts, ScoreCounts
from fairaudit.metrics.definitions import HIGHER_POWERS, TRUSTS_THE_LABEL, Better, Requirement
from fairaudit.metrics.disparities import Sides
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import GroupMetric, GroupValues, OwnTest, ValueKind
from fairaudit.metrics.means_and_errors import (
    CALIBRATION_IN_THE_LARGE,
    MAE,
    MEAN_LABEL,
    MEAN_PREDICTION,
    MEAN_RESIDUAL,
    MEAN_SCORE,
    MEAN_SCORE_NEGATIVES,
    MEAN_SCORE_POSITIVES,
    R2,
    RMSE,
    sum_misses,
)
from fairaudit.metrics.pair_intervals import of_ranked_scores
from fairaudit.metrics.terms import NO_PARAMETERS, Parameters
from fairaudit.stats import proportions, score_statistics

DISTRIBUTION = frozenset({Requirement.SCORE, Requirement.DISTRIBUTION})
DISTRIBUTION_AND_LABEL = DISTRIBUTION | {Requirement.LABEL}

CALIBRATION_BINS = 10
"""The number of bins of equal width for the calibration of a score."""

_FEW_VALUES = 20


class Ranked(Formula, kw_only=True):
    """A number from the histogram of a score; `errors_of` returns a bound of its error from bins.

    For a share of people, `counts_of` returns hits and people. `tests_of` returns the test named
    `test`. The p-value of this test is computed for the number that is nearest to the best value
    within the bound of the error.
    """

    errors_of: Callable[[GroupCounts], Floats]
    counts_of: Callable[[GroupCounts], tuple[Ints, Ints]] | None = None
    tests_of: Callable[[GroupCounts], OwnTest] | None = None

    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The value in every stratum and group, with the bound of its error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.nan_to_num(self.errors_of(counts))
        values = Formula.compute(self, counts, parameters)
        tests_of = self.tests_of
        own_test = None if tests_of is None else lambda: tests_of(counts)
        values = replace(values, scale=1, error=error, own_test=own_test)
        if self.counts_of is None:
            return values
        over, under = self.counts_of(counts)
        value, size = values.value, values.effective_n
        return replace(
            values,
            over=over,
            under=under,
            deviation=size * value * (1 - value),
            ends=lambda alpha: proportions.share_interval(value, size, alpha),
            method=proportions.SHARE_INTERVAL,
        )


def require_scores(counts: GroupCounts) -> ScoreCounts:
    """The histogram of the score; raises `ValueError` without a histogram."""
    if counts.scores is None:
        raise ValueError("a metric of scores needs a histogram")
    return counts.scores


def _brier(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    misses = sum_misses(counts)
    is_probability = _is_within_one(require_scores(counts))
    return np.where(is_probability, misses.mean_square, np.nan), np.asarray(misses.n)


BRIER = Formula(
    id="brier",
    title="Brier score",
    short="Brier",
    aliases=("brier_score",),
    family="accuracy",
    description="The mean of the squared differences between the label (1 or 0) and the score.",
    caution=TRUSTS_THE_LABEL + " If the scores are equally good for two groups, the group with a "
    "base rate closer to ½ still has the larger value.",
    no_interval=HIGHER_POWERS,
    source=citations.BRIER,
    other_tools="The same as scikit-learn's `brier_score_loss`.",
    better=Better.LOWER,
    bounds=(0, 1),
    formula="Σ (label - score)² / people, with 1 and 0 as labels",
    undefined="a score outside [0, 1], or no people",
    requirements=DISTRIBUTION_AND_LABEL,
    value_of=_brier,
)


def _by_label(counts: GroupCounts) -> tuple[Ints, Ints]:
    """Histograms [Z, B, G] of the people with a positive and with a negative label."""
    people = require_scores(counts).people
    return people[:, 1], people[:, 0]


def _auc(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    positive, negative = _by_label(counts)
    return ranked(positive, negative), np.asarray((positive + negative).sum(axis=1))


AUC = Ranked(
    id="auc",
    title="Area under the ROC curve",
    short="AUC",
    aliases=("roc_auc", "roc_auc_score"),
    family="accuracy",
    description="Take a random person of the group with a positive label and another with a "
    "negative label. The value is the probability that the first person has the higher score. "
    "Equal scores count half.",
    caution="People are compared within the group only, not with people of other groups.",
    source=citations.HANLEY,
    other_tools="The same as scikit-learn's `roc_auc_score` for the group alone.",
    better=Better.HIGHER,
    formula="P(s₊ > s₋) + ½ P(s₊ = s₋) for the scores s₊ of a positive and s₋ of a negative",
    requirements=DISTRIBUTION_AND_LABEL,
    value_of=_auc,
    errors_of=lambda counts: rank_error(*_by_label(counts), require_scores(counts).single),
    ends_of=lambda counts, parameters, alpha: score_statistics.delong(
        _auc(counts, parameters)[0], *_by_label(counts), alpha, moderated=True
    ),
    method="DeLong, moderated",
)


def _average_precision(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    positive, negative = _by_label(counts)
    n = np.asarray((positive + negative).sum(axis=1))
    return score_statistics.average_precision(positive, negative), n


AVERAGE_PRECISION = Ranked(
    id="average_precision",
    short="PR AUC",
    aliases=("pr_auc", "average_precision_score"),
    family="accuracy",
    description="For each person with a positive label: the share of positive labels (precision) "
    "among the people of the group who score at least as high. The value is the mean of these "
    "shares. It is the area under the stepwise precision-recall curve.",
    caution="For a score that contains no information about the label, the value is the base rate. "
    "So groups with different base rates have different values even if the scores are equally good "
    "for them.",
    source=citations.BOYD,
    other_tools="The same as scikit-learn's `average_precision_score`, except that scikit-learn "
    "prints 0 for a group without positives. fairMLHealth's PR AUC connects the same points by "
    "straight lines, and this area is too large.",
    better=Better.HIGHER,
    formula="Σ over scores t of precision · increase of recall at t, selecting scores ≥ t",
    undefined="no people with a positive label",
    requirements=DISTRIBUTION_AND_LABEL,
    value_of=_average_precision,
    errors_of=lambda counts: score_statistics.average_precision_error(
        *_by_label(counts), ~require_scores(counts).single
    ),
    ends_of=lambda counts, parameters, alpha: score_statistics.average_precision_interval(
        _average_precision(counts, parameters)[0], *_by_label(counts), alpha
    ),
    method="Wilson, jackknife",
)


def rank_between(sides: Sides) -> Floats:
    """P(a score of the reference is higher than a score of the group) + ½ P(equal)."""
    group, reference = sides.group.scores, sides.reference.scores
    if group is None or reference is None:
        return np.full_like(sides.group.value, np.nan)
    return ranked(reference, group)


def rank_error_between(sides: Sides) -> Floats:
    """A bound of the error of `rank_between`, because ranks within bins are unknown."""
    group, reference, single = sides.group.scores, sides.reference.scores, sides.group.single
    if group is None or reference is None or single is None:
        return np.zeros_like(sides.group.value)
    return np.nan_to_num(rank_error(reference, group, single))


def _score_people(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    n = _sum_repeats(require_scores(counts).people, (1, 2))
    return np.where(n > 0, 1.0, np.nan), n


def _sum_repeats(people: Ints, axes: tuple[int, ...]) -> Ints:
    """The sum over some axes, computed once if all groups have the same histogram."""
    total = squeeze_repeats(people).sum(axis=axes)
    return np.broadcast_to(total, (*total.shape[:-1], people.shape[-1]))


SCORE_DISTRIBUTION = Formula(
    id="score_distribution",
    title="Distribution of the score",
    family="score",
    description="The number of people with each score.",
    caution="Read it as a picture.",
    source=citations.ZLIOBAITE,
    formula="n(s, g)",
    requirements=DISTRIBUTION,
    shown=False,
    kind=ValueKind.RANKS,
    value_of=_score_people,
    arrays_of=lambda counts, _: {
        "scores": _sum_repeats(require_scores(counts).people, (1,)),
        "single": require_scores(counts).single,
    },
)


def _around_the_median(counts: GroupCounts) -> tuple[Ints, Ints, Ints]:
    """The numbers of people [Z, G] above the bin with the median, in this bin, and in all bins."""
    scores = require_scores(counts)
    median, people = median_bin(scores.everybody), scores.people.sum(axis=1)
    return (
        people[:, median + 1 :].sum(axis=1),
        people[:, median : median + 1].sum(axis=1),
        people.sum(axis=1),
    )


def _scoring_rate(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    above, _inside, n = _around_the_median(counts)
    return np.asarray(above / n), np.asarray(n)


def _scoring_error(counts: GroupCounts) -> Floats:
    _above, inside, n = _around_the_median(counts)
    scores = require_scores(counts)
    exact = not len(scores.low) or bool(scores.single[median_bin(scores.everybody)])
    return np.asarray(np.where(exact, 0.0, inside / n))


SCORING_RATE = Ranked(
    id="scoring_rate",
    short="scoring rate",
    family="score",
    description="The share of the group whose score is above the median of all people.",
    caution="Only scores above the median count: if many people have exactly the median score, "
    "fewer than half are above it.",
    source=citations.LL144,
    better=Better.POLARITY,
    formula="people with a score > median / people",
    requirements=DISTRIBUTION,
    value_of=_scoring_rate,
    errors_of=_scoring_error,
    kind=ValueKind.SHARE,
    counts_of=lambda counts: _around_the_median(counts)[::2],
)


def calibration_bins(scores: ScoreCounts) -> Ints:
    """The index of the calibration bin of each bin of a histogram; -1 outside [0, 1].

    If there are at most twenty distinct values, each value is a bin; otherwise, [0, 1] is divided
    into ten equal bins, and the last bin includes 1.
    """
    if len(scores.low) <= _FEW_VALUES and scores.single.all():
        return np.arange(len(scores.low))
    inside = (scores.low >= 0) & (scores.high <= 1)
    return np.where(inside, find_tenth(scores.low), -1).astype(np.int64)


def find_tenth(score: Floats) -> Floats:
    """The index of the bin of equal width in [0, 1] that contains a score; the last bin for 1."""
    return np.minimum(np.floor(score * CALIBRATION_BINS), CALIBRATION_BINS - 1)


def _is_within_one(scores: ScoreCounts) -> bool:
    return not len(scores.low) or bool(scores.low[0] >= 0 and scores.high[-1] <= 1)


class CalibrationBins(Frozen, eq=False):
    """Sums over people in each calibration bin, [Z, K, G].

    `people` and `positives` are numbers of people. `expected` is the sum of the scores, and
    `hidden` is a bound of the error of `expected`.
    """

    people: Ints
    positives: Ints
    expected: Floats
    hidden: Floats

    @property
    def apart(self) -> Floats:
        """The absolute difference between the numbers of positives and of expected positives."""
        return np.abs(self.positives - self.expected)


@memoize
def fill_calibration_bins(scores: ScoreCounts) -> CalibrationBins:
    """The people with a known label by calibration bin; people outside [0, 1] are in no bin."""
    number = calibration_bins(scores)
    bins = range(int(number.max(initial=0)) + 1)
    middle, half = ((scores.high + sign * scores.low)[:, None] / 2 for sign in (1, -1))
    labelled, positives = scores.people[:, 0] + scores.people[:, 1], scores.people[:, 1]
    amounts = (labelled, positives, labelled * middle, labelled * half)
    binned = ([amount[:, number == at].sum(axis=1) for at in bins] for amount in amounts)
    return CalibrationBins(*(np.stack(sums, axis=1) for sums in binned))


def _calibration_error(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    scores = require_scores(counts)
    bins = fill_calibration_bins(scores)
    n = scores.people[:, :2].sum(axis=(1, 2))
    return np.where(_is_within_one(scores), bins.apart.sum(axis=1) / n, np.nan), n


def _calibration_doubt(counts: GroupCounts) -> Floats:
    scores = require_scores(counts)
    bins = fill_calibration_bins(scores)
    straddles = ~scores.single & (find_tenth(scores.high) != find_tenth(scores.low))
    labelled = scores.people[:, 0] + scores.people[:, 1]
    hidden = bins.hidden.sum(axis=1) + 2.0 * labelled[:, straddles].sum(axis=1)
    return np.asarray(hidden / labelled.sum(axis=1))


def _ends_of_calibration_error(counts: GroupCounts, parameters: Parameters, alpha: Alpha) -> Ends:
    bins, value = (
        fill_calibration_bins(require_scores(counts)),
        _calibration_error(counts, parameters)[0],
    )
    reach = score_statistics.calibration_error_reach(bins.people, bins.positives, alpha)
    reach = reach + _calibration_doubt(counts)
    return np.maximum(value - reach, 0.0), np.minimum(value + reach, 1.0)


def _test_calibration_error(counts: GroupCounts) -> OwnTest:
    bins, value = (
        fill_calibration_bins(require_scores(counts)),
        CALIBRATION_ERROR.compute(counts).value,
    )
    least = value - _calibration_doubt(counts)
    p = np.full_like(value, np.nan)
    for z, g in np.argwhere(~np.isnan(value)).tolist():
        p[z, g] = score_statistics.resample_calibration_error(
            bins.people[z, :, g], bins.expected[z, :, g], float(least[z, g])
        )
    return OwnTest(p)


CALIBRATION_ERROR = Ranked(
    id="calibration_error",
    title="Expected calibration error",
    short="ECE",
    aliases=("expected_calibration_error",),
    family="sufficiency",
    description="People are put into bins (ranges) of the score. In each bin, the distance between "
    "the share of positives and the mean score is calculated. The value is the mean of these "
    "distances, weighted by people.",
    caution="The error is too high in small groups: even a perfect model has an error of .137 with "
    "50 people, .032 with 1,000 and .010 with 10,000. A limit that requires no evidence fails even "
    "perfect scores by chance: add `significant` or `conclusive` to the limit.",
    hypothesis="perfect calibration",
    source=citations.GUO,
    better=Better.LOWER,
    formula="Σ over bins of (share of people in the bin) · |mean label - mean score|; with at most "
    "twenty values, each value is a bin; otherwise [0, 1] is cut into ten bins",
    undefined="a score outside [0, 1], or no people",
    requirements=DISTRIBUTION_AND_LABEL,
    value_of=_calibration_error,
    errors_of=_calibration_doubt,
    ends_of=_ends_of_calibration_error,
    method="concentration of all bins",
    bias=np.inf,
    test="consistency resampling",
    tests_of=_test_calibration_error,
)

SCORES: tuple[GroupMetric, ...] = (
    MEAN_SCORE,
    MEAN_SCORE_POSITIVES,
    MEAN_SCORE_NEGATIVES,
    SCORING_RATE,
    AUC,
    AVERAGE_PRECISION,
    BRIER,
    CALIBRATION_ERROR,
    CALIBRATION_IN_THE_LARGE,
    MEAN_PREDICTION,
    MEAN_LABEL,
    MEAN_RESIDUAL,
    MAE,
    RMSE,
    R2,
)
RANKED_SCORES = replace(
    RANKED,
    id="ranked_scores",
    contrast=rank_between,
    error_of=rank_error_between,
    rational=False,
    interval=of_ranked_scores,
    worked="",
)
"""The comparison `RANKED` of two histograms."""
