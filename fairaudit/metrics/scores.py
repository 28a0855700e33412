"""Scores and numbers of one group: means and errors by exact sums, ranks by histograms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from fairaudit.arrays import Alpha, Ends
from fairaudit.cube import Floats, Ints
from fairaudit.histogram import median_bin, rank_error, ranked
from fairaudit.memoize import memoize
from fairaudit.metrics import rates as r
from fairaudit.metrics import sources as works
from fairaudit.metrics.comparisons import RANKED
from fairaudit.metrics.counts import GroupCounts, ScoreCounts, Sums
from fairaudit.metrics.direction import Better
from fairaudit.metrics.disparities import Sides
from fairaudit.metrics.group_metrics import Formula, GroupMetric, GroupValues, count_effective
from fairaudit.metrics.intervals import of_ranked_scores
from fairaudit.metrics.records import NO_PARAMETERS, Parameters, Requirement
from fairaudit.stats import means, proportions, ranks

_SCORE = frozenset({Requirement.SCORE})
_SCORE_AND_LABEL = frozenset({Requirement.SCORE, Requirement.LABEL})
_DISTRIBUTION = frozenset({Requirement.SCORE, Requirement.DISTRIBUTION})
_DISTRIBUTION_AND_LABEL = frozenset(
    {Requirement.SCORE, Requirement.DISTRIBUTION, Requirement.LABEL}
)
_NUMBER = frozenset({Requirement.NUMBER})
_BOTH_NUMBERS = frozenset({Requirement.NUMBER, Requirement.NUMERIC_LABEL})
_POSITIVES, _NEGATIVES = "score of positives", "score of negatives"
_TRUSTS_THE_LABEL = "Trusts the label: if the label is biased, so is this."
_FOURTH = "that takes fourth powers, which are not added up"
_BINS, _FEW_VALUES = 10, 20


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberMean(GroupMetric):
    """The mean of a number over the people of a group who have it."""

    of: str
    formula: str
    requirements: frozenset[Requirement]

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:  # noqa: ARG002  # takes none
        """The mean in every stratum and group, with its sum of squared deviations."""
        sums = tally.sums[self.of]
        n = np.asarray(sums.n)
        size = n.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean, deviation = sums.mean, sums.deviation
        return GroupValues(
            self,
            mean,
            n,
            size,
            deviation=deviation,
            pools_variance=means.takes_pooled_variance(deviation, size),
            ends=lambda alpha: self.within(means.moderated_interval(mean, deviation, size, alpha)),
            method="Student",
        )

    def exact(
        self,
        tally: GroupCounts,
        z: int,
        g: int,
        parameters: Parameters = NO_PARAMETERS,  # noqa: ARG002  # takes none
    ) -> Fraction | None:
        """The mean of one group as a fraction, of numbers in fixed point."""
        return tally.of_group(z, g).sums[self.of].exact_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked(Formula):
    """A number that is read from the histogram of a score; what bins hide is its error.

    A share of people has its hits, as its value has them, and its people by `counts_of`.
    """

    errors_of: Callable[[GroupCounts], Floats]
    counts_of: Callable[[GroupCounts], tuple[Ints, Ints]] | None = None

    @property
    def is_proportion(self) -> bool:
        """Whether it is a share of people."""
        return self.counts_of is not None

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """Its value in every stratum and group, with the bound of its error."""
        with np.errstate(divide="ignore", invalid="ignore"):
            value, n = self.value_of(tally, parameters)
            error = np.nan_to_num(self.errors_of(tally))
        size = n.astype(np.float64)
        if self.counts_of is not None:
            over, under = self.counts_of(tally)
            return GroupValues(
                self,
                value,
                n,
                size,
                over,
                under,
                deviation=size * value * (1 - value),
                error=error,
                ends=lambda alpha: proportions.wilson(value, size, alpha),
                method="Wilson",
            )
        ends = self.ends(tally, parameters, value, size, None)
        return GroupValues(self, value, n, size, error=error, ends=ends, method=self.method)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(Formula):
    """The whole histogram of a score."""

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The people with a score, and their histogram."""
        value, n = self.value_of(tally, parameters)
        scores = _scores(tally)
        return GroupValues(
            self,
            value,
            n,
            n.astype(np.float64),
            scores=scores.people.sum(axis=1),
            single=scores.single,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOf(GroupMetric):
    """The first of several quantities that the data have."""

    options: tuple[GroupMetric, ...]
    formula: str
    requirements: frozenset[Requirement]

    def _chosen(self, tally: GroupCounts) -> GroupMetric:
        def there(one: GroupMetric) -> bool:
            return not isinstance(one, NumberMean | Formula) or _has(tally, one)

        return next(one for one in self.options if there(one))

    def compute(self, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:
        """The reading of the one that is there."""
        return self._chosen(tally).compute(tally, parameters)

    def exact(
        self, tally: GroupCounts, z: int, g: int, parameters: Parameters = NO_PARAMETERS
    ) -> Fraction | None:
        """Its value in one group as a fraction."""
        return self._chosen(tally).exact(tally, z, g, parameters)


def _has(tally: GroupCounts, one: NumberMean | Formula) -> bool:
    name = one.of if isinstance(one, NumberMean) else None
    if name is None:
        return Requirement.SCORE not in one.requirements or "score" in tally.sums
    return name in tally.sums


def _scores(tally: GroupCounts) -> ScoreCounts:
    if tally.scores is None:
        raise ValueError("a measure of ranks without a histogram")
    return tally.scores


def _mean(
    of: str,
    words: tuple[str, str, str],
    needs: frozenset[Requirement],
    **more: Any,  # noqa: ANN401  # fields of a record
) -> NumberMean:
    """The record of a mean: its id, title and meaning, and what differs from the others."""
    name, title, means = words
    usual = {
        "short": title.lower(),
        "family": "score",
        "caution": "A mean hides how a number is spread.",
        "source": works.KLEINBERG,
        "better": Better.NEITHER,
        "bounds": (None, None),
    }
    return NumberMean(
        id=name, title=title, means=means, of=of, requirements=needs, **{**usual, **more}
    )


MEAN_SCORE = _mean(
    "score",
    (
        "mean_score",
        "Mean score",
        "The mean of the score over the people of the group.",
    ),
    _SCORE,
    formula="Σ s / n",
)
MEAN_SCORE_POSITIVES = _mean(
    _POSITIVES,
    (
        "mean_score_positives",
        "Mean score of positives",
        "The mean of the score over the people of the group whose label is positive.",
    ),
    _SCORE_AND_LABEL,
    formula="Σ s over label + / n(+)",
    caution=_TRUSTS_THE_LABEL,
)
MEAN_SCORE_NEGATIVES = _mean(
    _NEGATIVES,
    (
        "mean_score_negatives",
        "Mean score of negatives",
        "The mean of the score over the people of the group whose label is negative.",
    ),
    _SCORE_AND_LABEL,
    formula="Σ s over label - / n(-)",
    caution=_TRUSTS_THE_LABEL,
)
MEAN_PREDICTION = _mean(
    "value",
    (
        "mean_prediction",
        "Mean prediction",
        "The mean of the predicted number over the people of the group.",
    ),
    _NUMBER,
    formula="Σ ŷ / n",
    source=works.MLHEALTH,
    aliases=("mean_value",),
)
MEAN_LABEL = _mean(
    "value",
    (
        "mean_label",
        "Mean label",
        "The mean of the numeric label over the people of the group.",
    ),
    frozenset({Requirement.NUMERIC_LABEL}),
    formula="Σ y / n",
    source=works.MLHEALTH,
    caution="Describes the label, not the prediction; a difference may be history.",
)
_RESIDUAL = _mean(
    "residual",
    (
        "mean_residual_of_numbers",
        "Mean residual",
        "The mean of label minus prediction.",
    ),
    _BOTH_NUMBERS,
    formula="Σ (y - ŷ) / n",
    source=works.MLHEALTH,
    family="accuracy",
)


def _squared(tally: GroupCounts) -> Sums:
    return tally.sums["residual"]


def _mae(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    sums = _squared(tally)
    return sums.mean_size, np.asarray(sums.n)


def _exact_mae(tally: GroupCounts, _: Parameters) -> Fraction | None:
    sums = _squared(tally)
    return Fraction(sums.magnitude, sums.magnitude_scale * sums.n) if sums.n else None


def _deviation_of_sizes(tally: GroupCounts, _: Parameters) -> Floats:
    """Σ(|r| - mean |r|)² = Σr² - (Σ|r|)² / n."""
    sums = _squared(tally)
    return replace(sums, total=sums.magnitude, scale=sums.magnitude_scale).deviation


def _rmse(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    sums = _squared(tally)
    return np.sqrt(sums.mean_square), np.asarray(sums.n)


def _r2(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    sums = _squared(tally)
    total = tally.sums["label"].deviation
    squares = np.asarray(sums.squares, dtype=np.float64) / float(sums.square_scale)
    explained = 1 - squares / total
    return np.asarray(np.where(total > 0, explained, np.nan)), np.asarray(sums.n)


MAE = Formula(
    id="mae",
    title="Mean absolute error",
    short="MAE",
    aliases=("mean_absolute_error",),
    family="accuracy",
    means="The mean size of label minus prediction.",
    caution=_TRUSTS_THE_LABEL + " In the unit of the label.",
    source=works.MLHEALTH,
    better=Better.LOWER,
    bounds=(0, None),
    formula="Σ |y - ŷ| / n",
    requirements=_BOTH_NUMBERS,
    value_of=_mae,
    exact_of=_exact_mae,
    deviation_of=_deviation_of_sizes,
)
RMSE = Formula(
    id="rmse",
    title="Root mean squared error",
    short="RMSE",
    aliases=("root_mean_squared_error",),
    family="accuracy",
    means="The root of the mean square of label minus prediction.",
    caution=_TRUSTS_THE_LABEL + " A few large errors decide it.",
    no_interval=_FOURTH,
    source=works.MLHEALTH,
    better=Better.LOWER,
    bounds=(0, None),
    formula="√(Σ (y - ŷ)² / n)",
    requirements=_BOTH_NUMBERS,
    value_of=_rmse,
)
R2 = Formula(
    id="r2",
    title="Coefficient of determination",
    short="R²",
    aliases=("r2_score",),
    family="accuracy",
    means="The share of the label's variance in the group that the prediction accounts for.",
    caution="Against the group's own mean: a group of little variance has a low one at equal "
    "errors.",
    no_interval=_FOURTH,
    source=works.MLHEALTH,
    elsewhere="scikit-learn's `r2_score` of the group alone, which prints 1 or 0 at no variance.",
    better=Better.HIGHER,
    bounds=(None, 1),
    formula="1 - Σ (y - ŷ)² / Σ (y - mean y)²",
    undefined="labels that do not vary, or nobody to count",
    requirements=_BOTH_NUMBERS,
    value_of=_r2,
)


def _misses(tally: GroupCounts) -> Sums:
    """The sums of y - s over people with a label: Σ(y - s)² = n₊ - 2Σ₊s + Σs²."""
    plus, minus = tally.sums[_POSITIVES], tally.sums[_NEGATIVES]
    scale, square_scale = plus.scale, plus.square_scale
    hits, of_plus, of_minus, squares, others = (
        np.asarray(one).astype(object)
        for one in (plus.n, plus.total, minus.total, plus.squares, minus.squares)
    )
    return replace(
        plus,
        n=np.asarray(plus.n + minus.n),
        total=hits * scale - (of_plus + of_minus),
        squares=(hits * scale - 2 * of_plus) * square_scale + (squares + others) * scale,
        square_scale=square_scale * scale,
    )


def _large(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    """E[y] - E[s] over people with a label and a score."""
    misses = _misses(tally)
    return misses.mean, np.asarray(misses.n)


def _exact_large(tally: GroupCounts, _: Parameters) -> Fraction | None:
    plus, minus = tally.sums[_POSITIVES], tally.sums[_NEGATIVES]
    n = plus.n + minus.n
    return (plus.n - Fraction(plus.total + minus.total, plus.scale)) / n if n else None


def _deviation_of_misses(tally: GroupCounts, _: Parameters) -> Floats:
    return _misses(tally).deviation


CALIBRATION_IN_THE_LARGE = Formula(
    id="calibration_in_the_large",
    title="Calibration in the large",
    short="calibration, large",
    family="sufficiency",
    means="The share of positives minus the mean score: above 0 the group is scored too low.",
    caution=_TRUSTS_THE_LABEL + " Errors of high and of low scores cancel.",
    source=works.STEYERBERG,
    better=Better.NEITHER,
    bounds=(None, None),
    formula="mean of y - mean of s",
    requirements=_SCORE_AND_LABEL,
    value_of=_large,
    exact_of=_exact_large,
    deviation_of=_deviation_of_misses,
)


def _brier(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    misses = _misses(tally)
    found = misses.mean_square
    return found if _within_one(_scores(tally)) else np.full_like(found, np.nan), np.asarray(
        misses.n
    )


BRIER = Formula(
    id="brier",
    title="Brier score",
    short="Brier",
    aliases=("brier_score",),
    family="accuracy",
    means="The mean square of label minus score.",
    caution=_TRUSTS_THE_LABEL + " Groups with base rates near ½ have larger ones at equal skill.",
    no_interval=_FOURTH,
    source=works.BRIER,
    elsewhere="scikit-learn's `brier_score_loss`.",
    better=Better.LOWER,
    bounds=(0, None),
    formula="Σ (y - s)² / n, y being 0 or 1",
    undefined="a score outside [0, 1], or nobody to count",
    requirements=_DISTRIBUTION_AND_LABEL,
    value_of=_brier,
)


def _mean_residual_of_counts(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    mass, people = tally.weighted, tally.people
    n = mass.tp + mass.fp + mass.fn + mass.tn
    return np.asarray((mass.fn - mass.fp) / n), np.asarray(
        people.tp + people.fp + people.fn + people.tn
    )


def _exact_residual_of_counts(tally: GroupCounts, _: Parameters) -> Fraction | None:
    mass = tally.weighted
    n = mass.tp + mass.fp + mass.fn + mass.tn
    return Fraction(mass.fn - mass.fp, n) if n else None


def _deviation_of_counts(tally: GroupCounts, _: Parameters) -> Floats:
    """Σ(y - ŷ)² - n·mean², where each error counts 1; under weights of the effective size."""
    mass = tally.weighted
    n = mass.tp + mass.fp + mass.fn + mass.tn
    size = count_effective(tally, ("fn", "fp", "tn", "tp"))
    return np.asarray(size * ((mass.fn + mass.fp) / n - ((mass.fn - mass.fp) / n) ** 2))


_RESIDUAL_OF_COUNTS = Formula(
    id="mean_residual_of_classes",
    title="Mean residual",
    family="accuracy",
    means="The mean of label minus prediction, both 0 or 1.",
    caution=_TRUSTS_THE_LABEL,
    source=works.ZLIOBAITE,
    better=Better.NEITHER,
    bounds=(-1, 1),
    formula="(fn - fp) / n",
    requirements=frozenset({Requirement.LABEL, Requirement.PREDICTION}),
    value_of=_mean_residual_of_counts,
    exact_of=_exact_residual_of_counts,
    weighted_n_of=lambda mass: mass.tp + mass.fp + mass.fn + mass.tn,
    deviation_of=_deviation_of_counts,
)
MEAN_RESIDUAL = FirstOf(
    id="mean_residual",
    title="Mean residual",
    short="residual",
    family="accuracy",
    means="The mean of label minus prediction: above 0 the group is predicted too low.",
    caution=_TRUSTS_THE_LABEL + " Errors of both signs cancel.",
    source=works.ZLIOBAITE,
    better=Better.NEITHER,
    bounds=(None, None),
    formula="mean of y - ŷ; for two classes mean of y - s, without a score (fn - fp) / n",
    requirements=frozenset(),
    options=(_RESIDUAL, CALIBRATION_IN_THE_LARGE, _RESIDUAL_OF_COUNTS),
)
OUTCOME_MEAN = FirstOf(
    id="outcome_mean",
    title="Mean outcome",
    short="outcome",
    family="score",
    means="The mean score, else the mean number, else the selection rate.",
    caution="Which of them it is depends on what the spec declares.",
    source=works.ZLIOBAITE,
    better=Better.NEITHER,
    bounds=(None, None),
    formula="mean of s, else of ŷ",
    requirements=frozenset(),
    listed=False,
    options=(MEAN_SCORE, MEAN_PREDICTION, r.SELECTION_RATE),
)
OUTCOME_MEAN_OF_NEGATIVES = FirstOf(
    id="outcome_mean_of_negatives",
    title="Mean outcome of negatives",
    short="outcome (-)",
    family="score",
    means="The mean score of negatives, else the false positive rate.",
    caution=_TRUSTS_THE_LABEL,
    source=works.ZLIOBAITE,
    better=Better.NEITHER,
    formula="mean of s over label -, else fp / (fp + tn)",
    requirements=frozenset(),
    listed=False,
    options=(MEAN_SCORE_NEGATIVES, r.FALSE_POSITIVE_RATE),
)


def _by_label(tally: GroupCounts) -> tuple[Ints, Ints]:
    """Histograms [Z, B, G] of positives and of negatives."""
    people = _scores(tally).people
    return people[:, 1], people[:, 0]


def _auc(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    positive, negative = _by_label(tally)
    return ranked(positive, negative), np.asarray((positive + negative).sum(axis=1))


def _auc_error(tally: GroupCounts) -> Floats:
    positive, negative = _by_label(tally)
    return rank_error(positive, negative, _scores(tally).single)


def _ends_of_auc(tally: GroupCounts, parameters: Parameters, alpha: Alpha) -> Ends:
    value, _ = _auc(tally, parameters)
    positive, negative = (side.astype(np.float64) for side in _by_label(tally))
    return ranks.delong(value, positive, negative, alpha, moderated=True)


AUC = Ranked(
    id="auc",
    title="Area under the ROC curve",
    short="AUC",
    aliases=("roc_auc", "roc_auc_score"),
    family="accuracy",
    means="The chance that a positive of the group scores higher than a negative of it, plus half "
    "of the ties.",
    caution="Within the group only: equal areas say nothing about ranks across groups.",
    source=works.HANLEY,
    elsewhere="scikit-learn's `roc_auc_score` of the group alone.",
    better=Better.HIGHER,
    formula="P(s₊ > s₋) + ½ P(s₊ = s₋)",
    requirements=_DISTRIBUTION_AND_LABEL,
    value_of=_auc,
    errors_of=_auc_error,
    ends_of=_ends_of_auc,
    method="DeLong",
)


def rank_between(sides: Sides) -> Floats:
    """P(a score of the reference is higher than one of the group) + ½ P(equal)."""
    ours, theirs = sides.group.scores, sides.reference.scores
    if ours is None or theirs is None:
        return np.full_like(sides.group.value, np.nan)
    return ranked(theirs, ours)


def rank_error_between(sides: Sides) -> Floats:
    """By how much ranks within bins may have moved that."""
    ours, theirs, single = sides.group.scores, sides.reference.scores, sides.group.single
    if ours is None or theirs is None or single is None:
        return np.zeros_like(sides.group.value)
    return np.nan_to_num(rank_error(theirs, ours, single))


def _score_people(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    n = _scores(tally).people.sum(axis=(1, 2))
    return np.where(n > 0, 1.0, np.nan), np.asarray(n)


SCORE_DISTRIBUTION = Distribution(
    id="score_distribution",
    title="Distribution of the score",
    family="score",
    means="How many people have which score.",
    caution="Read it as a picture.",
    source=works.ZLIOBAITE,
    better=Better.NEITHER,
    formula="n(s, g)",
    requirements=_DISTRIBUTION,
    listed=False,
    value_of=_score_people,
)


def _around_the_median(tally: GroupCounts) -> tuple[Ints, Ints, Ints]:
    """People [Z, G] above the median of everybody, in its bin, and with a score."""
    scores = _scores(tally)
    at, people = median_bin(scores.everybody), scores.people.sum(axis=1)
    return people[:, at + 1 :].sum(axis=1), people[:, at : at + 1].sum(axis=1), people.sum(axis=1)


def _scoring_rate(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    above, _inside, n = _around_the_median(tally)
    return np.asarray(above / n), np.asarray(n)


def _scoring_error(tally: GroupCounts) -> Floats:
    _above, inside, n = _around_the_median(tally)
    scores = _scores(tally)
    exact = not len(scores.low) or bool(scores.single[median_bin(scores.everybody)])
    return np.asarray(np.where(exact, 0.0, inside / n))


def _scoring_counts(tally: GroupCounts) -> tuple[Ints, Ints]:
    above, _inside, n = _around_the_median(tally)
    return np.asarray(above), np.asarray(n)


SCORING_RATE = Ranked(
    id="scoring_rate",
    title="Scoring rate",
    short="scoring rate",
    family="score",
    means="The share of the group whose score is above the median of everybody's.",
    caution="Strictly above: where many share the median, fewer than half are.",
    source=works.LL144,
    better=Better.POLARITY,
    formula="n(s > median) / n",
    requirements=_DISTRIBUTION,
    value_of=_scoring_rate,
    errors_of=_scoring_error,
    counts_of=_scoring_counts,
)


def calibration_bins(scores: ScoreCounts) -> Ints:
    """The number of the calibration bin of each bin of a histogram; -1 outside [0, 1].

    Ten equal bins of [0, 1], the last one closed; at most twenty distinct values are a bin each.
    """
    if len(scores.low) <= _FEW_VALUES and scores.single.all():
        return np.arange(len(scores.low))
    inside = (scores.low >= 0) & (scores.high <= 1)
    tenth = np.minimum(np.floor(scores.low * _BINS), _BINS - 1)
    return np.where(inside, tenth, -1).astype(np.int64)


def _within_one(scores: ScoreCounts) -> bool:
    """Whether every score is a probability."""
    return not len(scores.low) or bool(scores.low[0] >= 0 and scores.high[-1] <= 1)


@memoize
def _calibration(tally: GroupCounts) -> tuple[Floats, Floats, Ints]:
    """Σ |positives - Σ scores| over bins, what bins hide of it, and people; [Z, G]."""
    scores = _scores(tally)
    positive, negative = _by_label(tally)
    n = (positive + negative).sum(axis=1)
    number = calibration_bins(scores)
    middle = ((scores.low + scores.high) / 2)[None, :, None]
    apart, hidden = np.zeros(n.shape), np.zeros(n.shape)
    for one in np.unique(number).tolist():
        mine = number == one
        plus, minus = positive[:, mine], negative[:, mine]
        people = plus + minus
        apart += np.abs(plus.sum(axis=1) - (people * middle[:, mine]).sum(axis=1))
    half = ((scores.high - scores.low) / 2)[None, :, None]
    tenth = np.minimum(np.floor(scores.high * _BINS), _BINS - 1)
    straddles = ~scores.single & (tenth != np.minimum(np.floor(scores.low * _BINS), _BINS - 1))
    hidden += ((positive + negative) * (half + 2.0 * straddles[None, :, None])).sum(axis=1)
    return np.where(_within_one(scores), apart, np.nan), hidden, n


def _calibration_error(tally: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    apart, n = _calibration(tally)[::2]
    return np.asarray(apart / n), np.asarray(n)


def _calibration_doubt(tally: GroupCounts) -> Floats:
    _, hidden, n = _calibration(tally)
    return np.asarray(hidden / n)


CALIBRATION_ERROR = Ranked(
    id="calibration_error",
    title="Expected calibration error",
    short="ECE",
    aliases=("expected_calibration_error",),
    family="sufficiency",
    means="The mean distance of a bin's share of positives from its mean score.",
    caution="Biased upwards in small groups: a perfect model shows .137, .032 and .010 at 50, "
    "1,000 and 10,000 people.",
    no_interval="chance alone lifts it, most of all in small groups",
    source=works.GUO,
    better=Better.LOWER,
    formula="Σ over bins b of (n_b / n) |mean y - mean s|; ten bins of [0, 1], or each value of at "
    "most twenty",
    undefined="a score outside [0, 1], or nobody to count",
    requirements=_DISTRIBUTION_AND_LABEL,
    value_of=_calibration_error,
    errors_of=_calibration_doubt,
)

SCORES: tuple[GroupMetric, ...] = (
    MEAN_SCORE,
    MEAN_SCORE_POSITIVES,
    MEAN_SCORE_NEGATIVES,
    SCORING_RATE,
    AUC,
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
)
"""`RANKED` of two histograms."""
