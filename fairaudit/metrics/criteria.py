"""Catalogue: demographic parity, equalized odds, impact ratio; effect sizes. Add criteria here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairaudit.cube import Floats, Ints
from fairaudit.metrics import citations, means_and_errors
from fairaudit.metrics import rates as r
from fairaudit.metrics import scores as s
from fairaudit.metrics.comparisons import (
    COEFFICIENT,
    CORRELATION,
    DIFFERENCE,
    DIVERGENCE,
    GAP,
    HIGHEST,
    MIN_RATIO,
    NORMALIZED,
    ODDS_RATIO,
    RANKED,
    RATIO,
    SHORTFALL,
)
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.definitions import (
    BIASED_BY_CHANCE,
    FACTOR,
    IGNORES_THE_LABEL,
    NARROW,
    TRUSTS_THE_LABEL,
    Requirement,
)
from fairaudit.metrics.disparities import (
    FARTHEST_FROM_1,
    LARGEST_MAGNITUDE,
    MAX,
    MEAN,
    MEAN_MAGNITUDE,
    MIN,
    Comparison,
    Disparity,
)
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import GroupMetric, ValueKind
from fairaudit.metrics.terms import Parameters, ReferencePolicy
from fairaudit.stats import sample_sizes

_FEW_CASES = (
    "The value is undefined if the rate of a group is 0/0, for example because no one in the group "
    "is selected: look at the numbers of selected people."
)
_PREDICTIVE = r.BASE_RATES.format("positive predictive value", "positive") + " " + _FEW_CASES


def _to_reference(metric: GroupMetric, comparison: Comparison) -> Disparity:
    """The disparity that compares a metric of each group with the reference, as in fairMLHealth."""
    name, brief = f"{metric.id}_{comparison.id}", f"{metric.short} {comparison.id}"
    is_parity = name == "positive_predictive_value_difference"
    for long, short in (("difference", "diff."), ("balanced", "bal."), ("prediction", "pred.")):
        brief = brief if len(brief) <= NARROW else brief.replace(long, short)
    return Disparity(
        id=name,
        title=f"{metric.title} {comparison.id}",
        short=brief,
        aliases=("predictive_parity_difference",) if is_parity else (),
        source=citations.MLHEALTH,
        parts=((metric, comparison),),
    )


CRITERIA = (
    Disparity(
        id="demographic_parity_difference",
        short="DP difference",
        aliases=(
            "statistical_parity_gap",
            "statistical_parity",
            "equal_acceptance_rate",
            "benchmarking",
        ),
        caution=IGNORES_THE_LABEL + " If base rates differ for good reasons, equal selection rates "
        "are not fair.",
        source=citations.DWORK,
        other_tools="Fairlearn prints the same number.",
        parts=((r.SELECTION_RATE, GAP),),
    ),
    Disparity(
        id="demographic_parity_ratio",
        short="DP ratio",
        caution=IGNORES_THE_LABEL + " The four-fifths rule is US employment guidance, not a law.",
        source=citations.FAIRLEARN,
        other_tools="Fairlearn prints the same number if the ratio is defined.",
        parts=((r.SELECTION_RATE, MIN_RATIO),),
    ),
    Disparity(
        id="equal_opportunity_difference",
        short="EO difference",
        caution=TRUSTS_THE_LABEL + " It does not consider false positives and their cost.",
        source=citations.HARDT,
        other_tools="AIF360 uses this name for the signed difference to the reference. Here, that "
        "difference is `true_positive_rate_difference`.",
        parts=((r.TRUE_POSITIVE_RATE, GAP),),
    ),
    Disparity(
        id="equal_opportunity_ratio",
        short="EO ratio",
        source=citations.FAIRLEARN,
        parts=((r.TRUE_POSITIVE_RATE, MIN_RATIO),),
    ),
    Disparity(
        id="equalized_odds_difference",
        short="equalized odds",
        aliases=("conditional_procedure_accuracy_equality",),
        description="There are two gaps between groups: in true positive rate and in false "
        "positive rate. The value is the larger gap.",
        source=citations.HARDT,
        other_tools="Fairlearn prints the same number if no denominator is 0. AIF360's measure "
        "with this name compares a group with the reference.",
        parts=((r.TRUE_POSITIVE_RATE, GAP), (r.FALSE_POSITIVE_RATE, GAP)),
        fold=MAX,
    ),
    Disparity(
        id="equalized_odds_mean",
        title="Equalized odds difference, mean",
        short="eq. odds mean",
        aliases=("equalized_odds_difference_mean",),
        description="The mean of two gaps: in true positive rate and in false positive rate.",
        caution=TRUSTS_THE_LABEL + " A mean can hide one wide gap.",
        source=citations.FAIRLEARN,
        other_tools="The same as Fairlearn's `equalized_odds_difference(agg='mean')`.",
        parts=((r.TRUE_POSITIVE_RATE, GAP), (r.FALSE_POSITIVE_RATE, GAP)),
        fold=MEAN,
    ),
    Disparity(
        id="equalized_odds_ratio",
        short="eq. odds ratio",
        description="There are two ratios of the lowest group to the highest group: of true "
        "positive rates and of false positive rates. The value is the smaller ratio.",
        source=citations.FAIRLEARN,
        other_tools="Fairlearn prints the same number if no denominator is 0 and no ratio is 0/0. "
        "Fairlearn leaves out a ratio of 0/0.",
        parts=((r.TRUE_POSITIVE_RATE, MIN_RATIO), (r.FALSE_POSITIVE_RATE, MIN_RATIO)),
        fold=MIN,
    ),
    Disparity(
        id="predictive_equality",
        short="FPR gap",
        source=citations.CORBETT,
        other_tools="With true negative rates instead, the gap is the same.",
        parts=((r.FALSE_POSITIVE_RATE, GAP),),
    ),
    Disparity(
        id="predictive_parity",
        short="PPV gap",
        caution=_PREDICTIVE,
        source=citations.CHOULDECHOVA,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, GAP),),
    ),
    Disparity(
        id="predictive_parity_ratio",
        short="PPV ratio",
        caution=_PREDICTIVE,
        source=citations.CHOULDECHOVA,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, MIN_RATIO),),
    ),
    Disparity(
        id="conditional_use_accuracy_equality",
        short="PPV, NPV gap",
        description="There are two gaps between groups: in positive predictive value and in "
        "negative predictive value. The value is the larger gap.",
        caution=_PREDICTIVE,
        source=citations.BERK,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, GAP), (r.NEGATIVE_PREDICTIVE_VALUE, GAP)),
        fold=MAX,
    ),
    Disparity(
        id="overall_accuracy_equality",
        short="accuracy gap",
        caution="A missed selection has the same weight as a false selection, and a true negative "
        "has the same weight as a true positive.",
        source=citations.BERK,
        parts=((r.ACCURACY, GAP),),
    ),
    Disparity(
        id="conditional_statistical_parity",
        short="conditional SP",
        family="independence",
        description="Within each stratum, the highest selection rate of any group minus the "
        "lowest. A stratum holds the people with the same value of a factor that the spec "
        "declares.",
        caution=FACTOR + " Small strata have wide gaps by chance.",
        source=citations.CORBETT,
        parts=((r.SELECTION_RATE, GAP),),
        conditional=True,
    ),
    Disparity(
        id="statistical_parity_difference",
        short="SP difference",
        aliases=("positive_rate_difference",),
        caution=IGNORES_THE_LABEL,
        source=citations.AIF360,
        other_tools="AIF360 and fairMLHealth print the same number. Žliobaitė's mean difference "
        "has the opposite sign.",
        parts=((r.SELECTION_RATE, DIFFERENCE),),
    ),
    Disparity(
        id="disparate_impact_ratio",
        short="DI ratio",
        aliases=("disparate_impact", "slift"),
        caution=f"{IGNORES_THE_LABEL} {RATIO.caution}",
        source=citations.AIF360,
        other_tools="Žliobaitė calls this ratio the impact ratio. Here, `impact_ratio` compares "
        "with the group with the highest rate.",
        parts=((r.SELECTION_RATE, RATIO),),
    ),
    *(
        _to_reference(metric, comparison)
        for metric in (
            r.TRUE_POSITIVE_RATE,
            r.FALSE_POSITIVE_RATE,
            r.POSITIVE_PREDICTIVE_VALUE,
            r.NEGATIVE_PREDICTIVE_VALUE,
            r.ACCURACY,
            r.BALANCED_ACCURACY,
            means_and_errors.MEAN_PREDICTION,
            means_and_errors.MAE,
        )
        for comparison in (DIFFERENCE, RATIO)
    ),
    Disparity(
        id="average_odds_difference",
        short="avg odds diff.",
        description="There are two differences from the reference: in false positive rate and in "
        "true positive rate. The value is the mean of the two.",
        caution=TRUSTS_THE_LABEL + " Differences in opposite directions cancel each other.",
        source=citations.AIF360,
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE), (r.TRUE_POSITIVE_RATE, DIFFERENCE)),
        fold=MEAN,
    ),
    Disparity(
        id="average_odds_error",
        short="avg odds error",
        aliases=("average_abs_odds_difference",),
        description="There are two differences from the reference: in false positive rate and in "
        "true positive rate. The value is the mean of the two, both without their signs.",
        source=citations.AIF360,
        other_tools="The same as AIF360's `average_abs_odds_difference`.",
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE), (r.TRUE_POSITIVE_RATE, DIFFERENCE)),
        fold=MEAN_MAGNITUDE,
    ),
    Disparity(
        id="treatment_equality",
        short="fn/fp ratio",
        description="The number of false negatives for each false positive in the group, divided "
        "by the same number of the reference.",
        source=citations.BERK,
        parts=((r.ERROR_TYPE_RATIO, RATIO),),
    ),
    Disparity(
        id="fairmlhealth_equal_odds_difference",
        title="Equal odds difference as fairMLHealth computes it",
        short="odds diff. (fML)",
        description="There are two differences from the reference: in true positive rate and in "
        "false positive rate. The value is the difference that is farther from 0, with its sign.",
        source=citations.MLHEALTH,
        other_tools="The same as in fairMLHealth's code. fairMLHealth's documentation has the "
        "maximum of the signed differences instead, which can be another number.",
        parts=((r.TRUE_POSITIVE_RATE, DIFFERENCE), (r.FALSE_POSITIVE_RATE, DIFFERENCE)),
        fold=LARGEST_MAGNITUDE,
    ),
    Disparity(
        id="fairmlhealth_equal_odds_ratio",
        title="Equal odds ratio as fairMLHealth computes it",
        short="odds ratio (fML)",
        description="There are two ratios to the reference: of true positive rates and of false "
        "positive rates. The value is the ratio that is farther from 1.",
        source=citations.MLHEALTH,
        other_tools="fairMLHealth's code rounds the distances from 1 to six decimals before it "
        "compares them.",
        parts=((r.TRUE_POSITIVE_RATE, RATIO), (r.FALSE_POSITIVE_RATE, RATIO)),
        fold=FARTHEST_FROM_1,
    ),
    Disparity(
        id="fairmlhealth_equal_odds_smaller_ratio",
        title="Equal odds ratio as fairMLHealth prints it",
        short="odds ratio (min)",
        aliases=("equalized_odds_ratio_min", "equalised_odds_ratio_min", "equal_odds_ratio_min"),
        description="There are two ratios to the reference: of true positive rates and of false "
        "positive rates. The value is the smaller ratio.",
        caution=TRUSTS_THE_LABEL + " If one ratio is above 1 and the other below 1, the one above "
        "1 is hidden.",
        source=citations.MLHEALTH,
        other_tools="fairMLHealth's table of equations has this minimum. fairMLHealth's text and "
        "code use the ratio that is farther from 1, `fairmlhealth_equal_odds_ratio`. "
        "`equalized_odds_ratio` divides the lowest rate by the highest.",
        parts=((r.TRUE_POSITIVE_RATE, RATIO), (r.FALSE_POSITIVE_RATE, RATIO)),
        fold=MIN,
    ),
    Disparity(
        id="impact_ratio",
        short="impact ratio",
        aliases=("four_fifths_ratio", "adverse_impact_ratio"),
        description="The selection rate of the group divided by the selection rate of the group "
        "with the highest rate.",
        caution="The four-fifths rule is guidance for US employment selection. A ratio below 0.8 "
        "alone is not evidence, and the ratio of a small group varies a lot by chance.",
        source=citations.UGESP,
        other_tools="New York City's Local Law 144 requires this ratio. If the positive outcome is "
        "a burden, the non-selection rates are compared.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.HIGHEST,
        four_fifths=True,
    ),
    Disparity(
        id="scoring_impact_ratio",
        short="scoring impact",
        description="The scoring rate of the group divided by the scoring rate of the group with "
        "the highest rate.",
        caution="The four-fifths rule is guidance for US employment selection. A ratio below 0.8 "
        "alone is not evidence, and the ratio of a small group varies a lot by chance.",
        source=citations.LL144,
        other_tools="New York City's Local Law 144 requires this ratio for tools that score "
        "people.",
        parts=((s.SCORING_RATE, RATIO),),
        reference=ReferencePolicy.HIGHEST,
    ),
    *(
        Disparity(
            id=f"balance_{label}_class",
            title=f"Balance for the {label} class",
            short=f"balance ({sign})",
            aliases=(f"balance_for_the_{label}_class",),
            family="separation",
            description=f"In each group, the mean score of the people with a {label} label. The "
            "value is the highest of these means minus the lowest.",
            source=citations.KLEINBERG,
            parts=((mean_score, GAP),),
        )
        for label, sign, mean_score in (
            ("positive", "+", means_and_errors.MEAN_SCORE_POSITIVES),
            ("negative", "-", means_and_errors.MEAN_SCORE_NEGATIVES),
        )
    ),
    Disparity(
        id="well_calibration",
        title="Well-calibration",
        short="worst ECE",
        aliases=("calibration_within_groups",),
        source=citations.KLEINBERG,
        other_tools="A calibration error is a mean over ranges of the score (bins), so it can hide "
        "one bin with a large error. `multicalibration` is the largest error of any bin.",
        instead="calibration_error or multicalibration",
        parts=((s.CALIBRATION_ERROR, HIGHEST),),
    ),
)


def _shares(counts: GroupCounts, _: Parameters) -> Mapping[str, Any]:
    """Fields of `GroupValues`: the probability [Z, P, G] of each class, and the sum of weights."""
    mass = counts.classes.sum(axis=1)
    weight = None if counts.squares is None else mass
    return {"shares": counts.classes / mass[:, None], "weight_sum": weight, "scale": counts.scale}


def _effective_people(counts: GroupCounts, _: Parameters) -> Floats:
    """The number of people [Z, G]; under survey weights, an effective size for all classes."""
    if counts.class_squares is None:
        return counts.answered.astype(np.float64)
    mass = counts.classes / counts.scale
    squares, people = counts.class_squares, counts.class_people.astype(np.float64)
    return sample_sizes.linearised_classes(mass, squares, people, counts.heaviest)


def _known_outcomes(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    """1, or NaN if no outcome is known; and the number of people with a known outcome."""
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
    arrays_of=lambda counts, _: {
        "scores": counts.classes,  # from the lowest class to the highest
        "single": np.ones(counts.classes.shape[1], np.bool_),
    },
)
DISTRIBUTIONS = (s.SCORE_DISTRIBUTION, _SHARES, _ORDERED_CLASSES)
"""Metrics without a number for a group; in a comparison, a side shows only its number of people."""

KL_DIVERGENCE = Disparity(
    id="kl_divergence",
    title="Kullback–Leibler divergence",
    short="KL",
    aliases=("kullback_leibler_divergence",),
    description="How far the distribution of outcomes in the group is from the distribution in the "
    "reference, in nats (1 nat is 1.44 bits).",
    caution="If group and reference are swapped, the value is different. It is infinite if the "
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
        caution=IGNORES_THE_LABEL + " A value above 0 means that the group is selected less often.",
        source=citations.ZLIOBAITE,
        other_tools="The same as `statistical_parity_difference` with the opposite sign.",
        parts=((r.SELECTION_RATE, SHORTFALL),),
        of_numbers="mean_difference_of_numbers",
    ),
    Disparity(
        id="mean_difference_of_numbers",
        title="Mean difference of a number",
        short="mean diff.",
        family="independence",
        description="The mean of the reference minus the mean of the group.",
        caution=IGNORES_THE_LABEL + " A positive value means that the group has less. The value "
        "has the unit of the number.",
        source=citations.ZLIOBAITE,
        other_tools="The same as `mean_difference` for a numeric outcome, and as "
        "`mean_prediction_difference` with the opposite sign.",
        parts=((means_and_errors.MEAN_PREDICTION, SHORTFALL),),
    ),
    Disparity(
        id="normalized_difference",
        short="norm. diff.",
        description="The selection rate of the reference minus the selection rate of the group, "
        "divided by the largest difference that is possible if the same number of people is "
        "selected.",
        caution=IGNORES_THE_LABEL + " The value is undefined if no one or everyone is selected.",
        source=citations.ZLIOBAITE,
        other_tools="Žliobaitė gives the divisor only for a positive difference: min(p(+) / "
        "p(ref), p(-) / p(group)). All are shares of the people of both groups: p(+) selected, "
        "p(-) rejected, p(ref) in the reference, p(group) in the group. If the group is selected "
        "more often, the divisor here is min(p(+) / p(group), p(-) / p(ref)). So the value is -1 "
        "if all of the group and no one of the reference is selected, as in her Table 4.",
        parts=((r.SELECTION_RATE, NORMALIZED),),
    ),
    Disparity(
        id="selection_odds_ratio",
        title="Odds ratio of selection",
        short="odds ratio",
        description="The odds of being selected in the group divided by the odds in the reference.",
        caution=IGNORES_THE_LABEL + " It is farther from 1 than the ratio of the rates.",
        source=citations.ZLIOBAITE,
        other_tools="Žliobaitė prints the inverse, but the limits in her Table 4 are those of this "
        "ratio.",
        parts=((r.SELECTION_RATE, ODDS_RATIO),),
    ),
    Disparity(
        id="elift",
        title="Extended lift",
        short="elift",
        aliases=("elift_ratio",),
        description="The selection rate of the group divided by the selection rate of all people.",
        caution=IGNORES_THE_LABEL + " A large group pulls the overall rate towards its own.",
        source=citations.PEDRESCHI,
        other_tools="In the survey of Žliobaitė (2015), the numerator of the formula is the rate "
        "of all people, but the limits in Table 4 of the survey are right only if it is the rate "
        "of the group. The largest value that a group can have is 1 / p(group), where p(group) is "
        "the group's share of all people; Table 4 has ∞.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.OVERALL,
    ),
    Disparity(
        id="between_group_auc",
        title="Area under the curve between groups",
        short="AUC between",
        aliases=("area_under_curve",),
        description="Take a random person of the reference and a random person of the group. The "
        "value is the probability that only the person of the reference is selected. Pairs with "
        "the same outcome count half.",
        caution=IGNORES_THE_LABEL + " The value is ½ plus half of the mean difference, so it "
        "contains the same information as the mean difference.",
        source=citations.CALDERS,
        other_tools="Žliobaitė's rank formula lacks the division by the product of the two group "
        "sizes.",
        parts=((r.SELECTION_RATE, RANKED),),
    ),
    Disparity(
        id="between_group_auc_score",
        title="Area under the curve of the score, between groups",
        short="AUC of scores",
        description="The probability that a random person of the reference has a higher score than "
        "a random person of the group. Equal scores count half.",
        caution=IGNORES_THE_LABEL + " The value does not show how far apart the scores are.",
        source=citations.CALDERS,
        other_tools="The same as the Mann–Whitney statistic divided by the product of the two "
        "group sizes, n₀n₁.",
        parts=((s.SCORE_DISTRIBUTION, s.RANKED_SCORES),),
    ),
    Disparity(
        id="between_group_auc_ordinal",
        title="Area under the curve between groups, of ordered classes",
        short="AUC of classes",
        description="The probability that a random person of the reference has a higher class than "
        "a random person of the group. Equal classes count half.",
        caution=IGNORES_THE_LABEL + " The value does not show how far apart the classes are.",
        source=citations.CALDERS,
        other_tools="For two classes, the value is the same as `between_group_auc`. For more "
        "classes, it is the Mann–Whitney statistic of the ranks of the classes, divided by the "
        "product of the two group sizes, n₀n₁.",
        parts=((_ORDERED_CLASSES, s.RANKED_SCORES),),
    ),
    Disparity(
        id="balanced_residuals",
        short="residuals",
        description="The mean residual (label minus prediction) of the group minus the mean "
        "residual of the reference. It is above 0 if the predictions for the group are too low "
        "compared with the reference.",
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
        description="Pearson's correlation between membership in the group (1 or 0) and the score. "
        "Without a score, the number or the decision is used.",
        caution=IGNORES_THE_LABEL + " The correlation is small for every small group, even if the "
        "disparity is large.",
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
        description="The mean of the group minus the mean of the reference, among people with the "
        "same values in the columns of `controls`. Means of a score, a numeric column or the "
        "decision can be compared, by one least-squares regression of all groups.",
        caution="A control that the disparity changes hides the disparity. The regression assumes "
        "that the effects of the controls add up, so it misses an effect that only a combination "
        "of controls has. People with a missing value in a control are left out.",
        source=citations.ZLIOBAITE,
        other_tools="The value is the group's coefficient in R's `lm(y ~ group + factor(control))` "
        "and in statsmodels' OLS. Without controls, it is the plain difference.",
        parts=((means_and_errors.OUTCOME_MEAN, COEFFICIENT),),
        fitted=True,
    ),
    Disparity(
        id="correlation_negatives",
        title="Correlation with membership among negatives",
        short="corr. (-)",
        aliases=("conditional_correlation",),
        family="separation",
        description="Among people with a negative label, Pearson's correlation between membership "
        "in the group (1 or 0) and the score. Without a score, the prediction is used.",
        caution="The measure relies on the label. The correlation is small for every small group, "
        "even if the disparity is large.",
        source=citations.BEUTEL,
        other_tools="Beutel et al. use the absolute value of this correlation as a penalty in "
        "training (Corr).",
        parts=((means_and_errors.OUTCOME_MEAN_OF_NEGATIVES, CORRELATION),),
        reference=ReferencePolicy.REST,
    ),
)
