"""The absolute measures of Žliobaitė's survey (§3.2), and the association of outcome and group."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.metrics import rates as r
from fairaudit.metrics import scores as s
from fairaudit.metrics import sources as works
from fairaudit.metrics.comparisons import (
    COEFFICIENT,
    CORRELATION,
    DIFFERENCE,
    NORMALIZED,
    ODDS_RATIO,
    RANKED,
    RATIO,
    SHORTFALL,
)
from fairaudit.metrics.counts import count_groups
from fairaudit.metrics.epsilon import class_counts
from fairaudit.metrics.disparities import Disparity, TableMetric, TableValue
from fairaudit.metrics.minimum import Minimum, pooled_total
from fairaudit.metrics.records import BIASED_BY_CHANCE, Parameters
from fairaudit.metrics.reference import ReferencePolicy

_IGNORES_THE_LABEL = "Takes no account of who qualifies."
_BIASED = (
    "Never below 0, so chance alone lifts it: by about (groups - 1)(classes - 1) / (2 n ln 2) bits."
)

DISPARITIES = (
    Disparity(
        id="mean_difference",
        title="Mean difference",
        short="mean diff.",
        aliases=("discrimination_score", "slift_d"),
        family="independence",
        means="The reference's selection rate minus the group's.",
        caution=_IGNORES_THE_LABEL + " Positive: the group is selected less.",
        source=works.ZLIOBAITE,
        elsewhere="`statistical_parity_difference` with the other sign.",
        parts=((r.SELECTION_RATE, SHORTFALL),),
    ),
    Disparity(
        id="normalized_difference",
        title="Normalized difference",
        short="norm. diff.",
        family="independence",
        means="The mean difference, divided by the largest that this share of selected allows.",
        caution=_IGNORES_THE_LABEL + " Undefined where nobody or everybody is selected.",
        source=works.ZLIOBAITE,
        elsewhere="Žliobaitė prints the divisor of a positive difference alone, min(p(+) / p(ref), "
        "p(-) / p(group)). Where the group is selected more it is min(p(+) / p(group), p(-) / "
        "p(ref)) here, so that complete reverse separation is -1, as in her Table 4.",
        parts=((r.SELECTION_RATE, NORMALIZED),),
    ),
    Disparity(
        id="selection_odds_ratio",
        title="Odds ratio of selection",
        short="odds ratio",
        family="independence",
        means="The group's odds of being selected divided by the reference's.",
        caution=_IGNORES_THE_LABEL + " Farther from 1 than the ratio of rates.",
        source=works.ZLIOBAITE,
        elsewhere="Žliobaitė prints the inverse, though the limits in her Table 4 are of this one.",
        parts=((r.SELECTION_RATE, ODDS_RATIO),),
    ),
    Disparity(
        id="elift",
        title="Extended lift",
        short="elift",
        aliases=("elift_ratio",),
        family="independence",
        means="The group's selection rate divided by everybody's.",
        caution=_IGNORES_THE_LABEL + " A large group pulls everybody's rate to its own.",
        source=works.PEDRESCHI,
        elsewhere="Žliobaitė prints the general group on top, though the limits of her Table 4 "
        "need the protected one. The limit of reverse discrimination is 1 / p(group), not ∞.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.OVERALL,
    ),
    Disparity(
        id="between_group_auc",
        title="Area under the curve between groups",
        short="AUC between",
        aliases=("area_under_curve",),
        family="independence",
        means="The chance that somebody of the reference is selected and somebody of the group is "
        "not, plus half of the ties.",
        caution=_IGNORES_THE_LABEL + " For two outcomes it is ½ + ½ of the mean difference.",
        source=works.CALDERS,
        elsewhere="Žliobaitė's rank formula lacks the division by n₀n₁.",
        parts=((r.SELECTION_RATE, RANKED),),
    ),
    Disparity(
        id="between_group_auc_score",
        title="Area under the curve between groups, of the score",
        short="AUC of scores",
        family="score",
        means="The chance that somebody of the reference scores higher than somebody of the group, "
        "plus half of the ties.",
        caution=_IGNORES_THE_LABEL + " Says nothing about how far scores are apart.",
        source=works.CALDERS,
        elsewhere="The Mann–Whitney statistic divided by n₀n₁.",
        parts=((s.SCORE_DISTRIBUTION, s.RANKED_SCORES),),
    ),
    Disparity(
        id="balanced_residuals",
        title="Balanced residuals",
        short="residuals",
        family="accuracy",
        means="The group's mean of label minus prediction, minus the reference's: above 0 the "
        "group is predicted too low, more than the reference.",
        caution="Trusts the label: if the label is biased, so is this.",
        source=works.CALDERS,
        parts=((s.MEAN_RESIDUAL, DIFFERENCE),),
    ),
    Disparity(
        id="correlation",
        title="Correlation with membership",
        short="correlation",
        aliases=("pearson_correlation",),
        family="independence",
        means="Pearson's correlation of the score (else of the outcome) with membership.",
        caution=_IGNORES_THE_LABEL + " Small where a group is small, however it fares. Of skewed "
        "scores the interval is too short.",
        source=works.ZLIOBAITE,
        parts=((s.OUTCOME_MEAN, CORRELATION),),
        reference=ReferencePolicy.REST,
    ),
    Disparity(
        id="regression_slope",
        title="Regression slope with controls",
        short="slope, controlled",
        aliases=("least_squares_slope",),
        family="conditional",
        means="By how much the score (else the number, else the selection rate) of the group lies "
        "above the reference's at equal `controls`, in one least-squares fit of all groups.",
        caution="A control that is itself shaped by the disparity hides it. The effects of the "
        "controls add up, and all groups share one spread. People without a control are left out.",
        source=works.ZLIOBAITE,
        elsewhere="The coefficient of a group in R's `lm(y ~ group + factor(control))` and in "
        "statsmodels' OLS, with their t test; without controls the plain difference.",
        parts=((s.OUTCOME_MEAN, COEFFICIENT),),
        fitted=True,
    ),
    Disparity(
        id="correlation_negatives",
        title="Correlation with membership among negatives",
        short="corr. (-)",
        aliases=("conditional_correlation",),
        family="separation",
        means="Pearson's correlation of the score (else of the prediction) with membership, among "
        "people whose label is negative.",
        caution="Trusts the label. Small where a group is small, however it fares.",
        source=works.BEUTEL,
        elsewhere="The penalty Corr that Beutel et al. train with takes its absolute value.",
        parts=((s.OUTCOME_MEAN_OF_NEGATIVES, CORRELATION),),
        reference=ReferencePolicy.REST,
    ),
)


def _whole(
    number: Callable[[Floats], Floats],
) -> Callable[[GroupTable, Minimum, Parameters], TableValue]:
    """A number of the classes-by-groups table [Z, P, G] of those who take part."""

    def read(table: GroupTable, minimum: Minimum, _: Parameters) -> TableValue:
        tally = count_groups(table)
        mass, n = tally.classes, tally.answered
        enough = minimum.admits(n, pooled_total(table, mass))
        takes_part = table.eligible & (table.n > 0) & enough
        counted = np.where(takes_part[:, None], mass, 0).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = number(counted)
        return TableValue.of(_answered(value, mass, takes_part), takes_part, n)

    return read


def _answered(value: Floats, mass: Ints, takes_part: Marks) -> Floats:
    """The value where two groups or more take part, none of them without a known outcome."""
    empty = (takes_part & (mass.sum(axis=1) == 0)).any(axis=1)
    return np.where((takes_part.sum(axis=1) >= 2) & ~empty, value, np.nan)


def _entropy(shares: Floats) -> Floats:
    return np.asarray(-np.where(shares > 0, shares * np.log2(shares), 0.0).sum(axis=-1))


def _information(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """I(outcome; group) and both entropies, in bits."""
    joint = counts / counts.sum(axis=(1, 2), keepdims=True)
    of_class, of_group = joint.sum(axis=2), joint.sum(axis=1)
    independent = of_class[:, :, None] * of_group[:, None, :]
    terms = np.where(joint > 0, joint * np.log2(joint / independent), 0.0)
    return np.maximum(terms.sum(axis=(1, 2)), 0.0), _entropy(of_class), _entropy(of_group)


def _normalized_information(counts: Floats) -> Floats:
    information, of_class, of_group = _information(counts)
    alive = (of_class > 0) & (of_group > 0)
    return np.where(alive, information / np.sqrt(of_class * of_group), np.nan)


def _eta(counts: Floats) -> Floats:
    joint = counts / counts.sum(axis=(1, 2), keepdims=True)
    independent = joint.sum(axis=2)[:, :, None] * joint.sum(axis=1)[:, None, :]
    return np.asarray(np.where(independent > 0, joint / independent, 0.0).max(axis=(1, 2)) - 1)


def _hits(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """People, those whom the group's commonest outcome fits, and those whom everybody's fits."""
    return (
        counts.sum(axis=(1, 2)),
        counts.max(axis=1, initial=0).sum(axis=1),
        counts.sum(axis=2).max(axis=1, initial=0),
    )


def _predictability(counts: Floats) -> Floats:
    n, by_group, _ = _hits(counts)
    return np.asarray(by_group / n)


def _lambda(counts: Floats) -> Floats:
    n, by_group, by_all = _hits(counts)
    return np.asarray((by_group - by_all) / (n - by_all))


def _baseline(counts: Floats) -> Floats:
    n, _, by_all = _hits(counts)
    return np.asarray(by_all / n)


def _cramers_v(counts: Floats) -> Floats:
    n = counts.sum(axis=(1, 2), keepdims=True)
    expected = counts.sum(axis=2, keepdims=True) * counts.sum(axis=1, keepdims=True) / n
    terms = np.where(expected > 0, (counts - expected) ** 2 / expected, 0.0)
    classes = (counts.sum(axis=2) > 0).sum(axis=1)
    groups = (counts.sum(axis=1) > 0).sum(axis=1)
    smaller = np.minimum(classes, groups) - 1
    return np.sqrt(np.where(smaller > 0, terms.sum(axis=(1, 2)) / n[:, 0, 0] / smaller, np.nan))


TABLE_METRICS = (
    TableMetric(
        id="mutual_information",
        title="Mutual information of outcome and group",
        short="MI",
        family="independence",
        means="How many bits the outcome tells about the group, and the group about the outcome.",
        caution=_IGNORES_THE_LABEL + " " + _BIASED,
        independence=class_counts,
        information=True,
        no_interval=BIASED_BY_CHANCE,
        source=works.ZLIOBAITE,
        formula="Σ p(y, g) log₂(p(y, g) / (p(y) p(g)))",
        read=_whole(lambda counts: _information(counts)[0]),
    ),
    TableMetric(
        id="normalized_mutual_information",
        title="Normalized mutual information",
        short="norm. MI",
        family="independence",
        means="Mutual information, divided by the geometric mean of both entropies.",
        caution=_IGNORES_THE_LABEL + " " + _BIASED + " Undefined where the outcome never varies.",
        independence=class_counts,
        information=True,
        no_interval=BIASED_BY_CHANCE,
        source=works.ZLIOBAITE,
        formula="I(y; g) / √(H(y) H(g))",
        bounds=(0, 1),
        read=_whole(_normalized_information),
    ),
    TableMetric(
        id="eta_neutrality",
        title="η-neutrality",
        short="η",
        family="independence",
        means="By how much the most over-represented combination of an outcome and a group exceeds "
        "what independence would give, as a share of that.",
        caution=_IGNORES_THE_LABEL + " Large where an outcome or a group is rare; says nothing of "
        "combinations that occur too seldom.",
        independence=class_counts,
        no_interval=BIASED_BY_CHANCE,
        source=works.FUKUCHI,
        formula="max over y, g of p(y, g) / (p(y) p(g)) - 1",
        read=_whole(_eta),
    ),
    TableMetric(
        id="predictability",
        title="Predictability of the outcome from the group",
        short="predictability",
        family="independence",
        means="How often the outcome is guessed right by somebody who knows only the group.",
        caution="High wherever one outcome is common, and never below `majority_baseline`: a limit "
        "on it may be crossed where groups are equal. `goodman_kruskal_lambda` is 0 there.",
        independence=class_counts,
        no_interval=BIASED_BY_CHANCE,
        source=works.ZLIOBAITE,
        formula="Σ over g of max over y of n(y, g), divided by n",
        parity="the share of the commonest outcome (`majority_baseline`), never below",
        bounds=(0, 1),
        read=_whole(_predictability),
    ),
    TableMetric(
        id="majority_baseline",
        title="Share of the commonest outcome",
        short="majority",
        family="independence",
        means="How often the outcome is guessed right by somebody who knows nothing.",
        caution="No measure of disparity: the baseline that `predictability` is read against.",
        no_interval=BIASED_BY_CHANCE,
        source=works.ZLIOBAITE,
        formula="max over y of n(y), divided by n",
        parity="any value: it does not look at groups",
        bounds=(0, 1),
        read=_whole(_baseline),
    ),
    TableMetric(
        id="goodman_kruskal_lambda",
        title="Goodman and Kruskal's λ",
        short="λ",
        family="independence",
        means="The share of wrong guesses of the outcome that knowing the group avoids.",
        caution="0 wherever all groups have the same commonest outcome, however they differ.",
        independence=class_counts,
        no_interval=BIASED_BY_CHANCE,
        source=works.GOODMAN,
        formula="(Σ_g max_y n(y, g) - max_y n(y)) / (n - max_y n(y))",
        bounds=(0, 1),
        read=_whole(_lambda),
    ),
    TableMetric(
        id="cramers_v",
        title="Cramér's V",
        short="V",
        family="independence",
        means="The association of outcome and group on a scale from 0 to 1.",
        caution=_IGNORES_THE_LABEL + " Chance alone lifts it where groups are small.",
        independence=class_counts,
        no_interval=BIASED_BY_CHANCE,
        source=works.CRAMER,
        elsewhere="Without a correction for bias; for two groups and two outcomes it is |φ|.",
        formula="√(χ² / (n · (min(groups, classes) - 1)))",
        bounds=(0, 1),
        read=_whole(_cramers_v),
    ),
)
