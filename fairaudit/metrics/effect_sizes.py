"""Catalogue: effect sizes: mean difference, odds ratio, AUC, KL, correlation, regression slope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairaudit.cube import Floats, Ints, Marks
from fairaudit.metrics import citations, means_and_errors
from fairaudit.metrics import rates as r
from fairaudit.metrics import scores as s
from fairaudit.metrics.comparisons import (
    COEFFICIENT,
    CORRELATION,
    DIFFERENCE,
    DIVERGENCE,
    NORMALIZED,
    ODDS_RATIO,
    RANKED,
    RATIO,
    SHORTFALL,
)
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.definitions import (
    BIASED_BY_CHANCE,
    IGNORES_THE_LABEL,
    TRUSTS_THE_LABEL,
    Requirement,
)
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import ValueKind
from fairaudit.metrics.terms import Parameters, ReferencePolicy
from fairaudit.stats import sample_sizes


def _shares(counts: GroupCounts, _: Parameters) -> Mapping[str, Any]:
    """The probability of each class, [Z, P, G], and what weighs in an average over groups."""
    mass = counts.classes.sum(axis=1)
    weight = None if counts.squares is None else mass
    return {"shares": counts.classes / mass[:, None], "weight_sum": weight, "scale": counts.scale}


def _effective_people(counts: GroupCounts, _: Parameters) -> Floats:
    """People, or under survey weights the effective number for the least certain class, [Z, G]."""
    if counts.class_squares is None:
        return counts.answered.astype(np.float64)
    mass = counts.classes / counts.scale
    squares, people = counts.class_squares, counts.class_people.astype(np.float64)
    return sample_sizes.linearised_classes(mass, squares, people, counts.heaviest)


def _classes(counts: GroupCounts, _: Parameters) -> Mapping[str, Ints | Marks]:
    """How many people have each class, [Z, P, G], from the lowest class to the highest."""
    return {"scores": counts.classes, "single": np.ones(counts.classes.shape[1], np.bool_)}


def _known_outcomes(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    """1 where anybody has a known outcome, else undefined."""
    mass = counts.classes.sum(axis=1)
    return np.where(mass > 0, 1.0, np.nan), counts.answered


_SHARES = Formula(
    id="outcome_distribution",
    family="independence",
    description="The share of each class of the outcome.",
    caution="Read it class by class.",
    source=citations.ZLIOBAITE,
    formula="n(y, g) / n(g)",
    requirements=frozenset({Requirement.CLASSES}),
    shown=False,
    kind=ValueKind.CLASSES,
    value_of=_known_outcomes,
    size_of=_effective_people,
    arrays_of=_shares,
)
_ORDERED_CLASSES = Formula(
    id="ordered_classes",
    title="Distribution over ordered classes",
    family="independence",
    description="The number of people in each class, in the order of the spec.",
    caution="Read it class by class.",
    source=citations.ZLIOBAITE,
    formula="n(y, g)",
    requirements=frozenset({Requirement.CLASSES, Requirement.ORDER}),
    shown=False,
    kind=ValueKind.RANKS,
    value_of=_known_outcomes,
    arrays_of=_classes,
)
DISTRIBUTIONS = (s.SCORE_DISTRIBUTION, _SHARES, _ORDERED_CLASSES)
"""What has no one number for a group: sides of a comparison are people alone."""

KL_DIVERGENCE = Disparity(
    id="kl_divergence",
    title="Kullback–Leibler divergence",
    short="KL",
    aliases=("kullback_leibler_divergence",),
    description="How far the group's distribution over outcomes is from the reference's, in nats.",
    caution="Not symmetric: swapping group and reference gives another number. Infinite if the "
    "group has an outcome that the reference does not have.",
    no_interval=BIASED_BY_CHANCE,
    source=citations.KULLBACK,
    other_tools="aif360.sklearn swaps group and reference.",
    parts=((_SHARES, DIVERGENCE),),
)

DISPARITIES = (
    Disparity(
        id="mean_difference",
        short="mean diff.",
        aliases=("discrimination_score", "slift_d"),
        caution=IGNORES_THE_LABEL + " Positive: the group is selected less.",
        source=citations.ZLIOBAITE,
        other_tools="`statistical_parity_difference` with the opposite sign.",
        parts=((r.SELECTION_RATE, SHORTFALL),),
        of_numbers="mean_difference_of_numbers",
    ),
    Disparity(
        id="mean_difference_of_numbers",
        title="Mean difference of a number",
        short="mean diff.",
        family="independence",
        description="The reference's mean minus the group's.",
        caution=IGNORES_THE_LABEL + " Positive: the group has less. In the unit of the number.",
        source=citations.ZLIOBAITE,
        other_tools="The `mean_difference` of a numeric outcome; `mean_prediction_difference` with "
        "the opposite sign.",
        parts=((means_and_errors.MEAN_PREDICTION, SHORTFALL),),
    ),
    Disparity(
        id="normalized_difference",
        short="norm. diff.",
        description="The mean difference, divided by the largest that this share of selected "
        "allows.",
        caution=IGNORES_THE_LABEL + " Undefined if no one or everyone is selected.",
        source=citations.ZLIOBAITE,
        other_tools="Žliobaitė prints the divisor of a positive difference alone, min(p(+) / "
        "p(ref), p(-) / p(group)). Where the group is selected more it is min(p(+) / p(group), "
        "p(-) / p(ref)) here, so that complete reverse separation is -1, as in her Table 4.",
        parts=((r.SELECTION_RATE, NORMALIZED),),
    ),
    Disparity(
        id="selection_odds_ratio",
        title="Odds ratio of selection",
        short="odds ratio",
        description="The group's odds of being selected divided by the reference's.",
        caution=IGNORES_THE_LABEL + " Farther from 1 than the ratio of rates.",
        source=citations.ZLIOBAITE,
        other_tools="Žliobaitė prints the inverse, but the limits in her Table 4 are for this one.",
        parts=((r.SELECTION_RATE, ODDS_RATIO),),
    ),
    Disparity(
        id="elift",
        title="Extended lift",
        short="elift",
        aliases=("elift_ratio",),
        description="The group's selection rate divided by the rate of all people.",
        caution=IGNORES_THE_LABEL + " A large group pulls the overall rate towards its own.",
        source=citations.PEDRESCHI,
        other_tools="Žliobaitė prints the general group on top, though the limits of her Table 4 "
        "need the protected one. The limit of reverse discrimination is 1 / p(group), not ∞.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.OVERALL,
    ),
    Disparity(
        id="between_group_auc",
        title="Area under the curve between groups",
        short="AUC between",
        aliases=("area_under_curve",),
        description="The probability that a person of the reference is selected and a person of "
        "the group is not, plus half of the ties.",
        caution=IGNORES_THE_LABEL + " For two outcomes it is ½ + ½ of the mean difference.",
        source=citations.CALDERS,
        other_tools="Žliobaitė's rank formula lacks the division by n₀n₁.",
        parts=((r.SELECTION_RATE, RANKED),),
    ),
    Disparity(
        id="between_group_auc_score",
        title="Area under the curve between groups, of the score",
        short="AUC of scores",
        description="The probability that a person of the reference scores higher than a person of "
        "the group, plus half of the ties.",
        caution=IGNORES_THE_LABEL + " Does not show how far apart the scores are.",
        source=citations.CALDERS,
        other_tools="The Mann–Whitney statistic divided by n₀n₁.",
        parts=((s.SCORE_DISTRIBUTION, s.RANKED_SCORES),),
    ),
    Disparity(
        id="between_group_auc_ordinal",
        title="Area under the curve between groups, of ordered classes",
        short="AUC of classes",
        family="independence",
        description="The probability that a person of the reference has a higher class than a "
        "person of the group, plus half of the ties.",
        caution=IGNORES_THE_LABEL + " Does not show how far apart the classes are.",
        source=citations.CALDERS,
        other_tools="For two classes it is `between_group_auc`. The Mann–Whitney statistic of the "
        "ranks of the classes, divided by n₀n₁.",
        parts=((_ORDERED_CLASSES, s.RANKED_SCORES),),
    ),
    Disparity(
        id="balanced_residuals",
        short="residuals",
        description="The group's mean of label minus prediction, minus the reference's: above 0 if "
        "the predictions for the group are too low compared with the reference.",
        caution=TRUSTS_THE_LABEL + " Balanced residuals do not show discrimination in the data.",
        source=citations.CALDERS,
        parts=((means_and_errors.MEAN_RESIDUAL, DIFFERENCE),),
    ),
    Disparity(
        id="correlation",
        title="Correlation with membership",
        short="correlation",
        aliases=("pearson_correlation",),
        family="independence",
        description="Pearson's correlation of the score (else of the outcome) with membership.",
        caution=IGNORES_THE_LABEL + " Always small for a small group. The "
        "interval is too short for skewed scores.",
        source=citations.ZLIOBAITE,
        parts=((means_and_errors.OUTCOME_MEAN, CORRELATION),),
        reference=ReferencePolicy.REST,
    ),
    Disparity(
        id="regression_slope",
        title="Regression slope with controls",
        short="slope, contr.",
        aliases=("least_squares_slope",),
        family="conditional",
        description="The difference of the group's score (or number, or selection rate) from the "
        "reference's at equal `controls`, in one least-squares fit of all groups.",
        caution="A control that results from the disparity hides it. The effects of the controls "
        "are additive. People without a control value are left out.",
        source=citations.ZLIOBAITE,
        other_tools="The coefficient of a group in R's `lm(y ~ group + factor(control))` and in "
        "statsmodels' OLS, with their t test; without controls the plain difference.",
        parts=((means_and_errors.OUTCOME_MEAN, COEFFICIENT),),
        fitted=True,
    ),
    Disparity(
        id="correlation_negatives",
        title="Correlation with membership among negatives",
        short="corr. (-)",
        aliases=("conditional_correlation",),
        family="separation",
        description="Pearson's correlation of the score (else of the prediction) with membership, "
        "among people whose label is negative.",
        caution="Relies on the label. Always small for a small group.",
        source=citations.BEUTEL,
        other_tools="The penalty Corr that Beutel et al. train with takes its absolute value.",
        parts=((means_and_errors.OUTCOME_MEAN_OF_NEGATIVES, CORRELATION),),
        reference=ReferencePolicy.REST,
    ),
)
