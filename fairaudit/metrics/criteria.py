"""Catalogue: demographic parity, equalized odds, impact ratio. Add a fairness criterion here."""

from __future__ import annotations

from fairaudit.metrics import citations, means_and_errors
from fairaudit.metrics import rates as r
from fairaudit.metrics import scores as s
from fairaudit.metrics.comparisons import DIFFERENCE, GAP, HIGHEST, MIN_RATIO, RATIO
from fairaudit.metrics.definitions import IGNORES_THE_LABEL, NARROW, TRUSTS_THE_LABEL
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
from fairaudit.metrics.group_metrics import GroupMetric
from fairaudit.metrics.terms import ReferencePolicy

_FEW_CASES = "Undefined if the denominator of a group is 0; check the denominators."
_BASE_RATES = (
    "Groups with different base rates cannot have equal predictive values and equal true and false "
    "positive rates at once, unless one kind of error never occurs (Chouldechova 2017; Kleinberg, "
    "Mullainathan & Raghavan 2016)."
)

_ALIASES = {"positive_predictive_value_difference": ("predictive_parity_difference",)}


def _to_reference(metric: GroupMetric, comparison: Comparison) -> Disparity:
    """The metric of each group against the reference, as fairMLHealth reports it."""
    name, brief = f"{metric.id}_{comparison.id}", f"{metric.short} {comparison.id}"
    for long, short in (("difference", "diff."), ("balanced", "bal."), ("prediction", "pred.")):
        brief = brief if len(brief) <= NARROW else brief.replace(long, short)
    return Disparity(
        id=name,
        title=f"{metric.title} {comparison.id}",
        short=brief,
        aliases=_ALIASES.get(name, ()),
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
        caution=IGNORES_THE_LABEL + " If base rates differ for good reasons, equal rates are not "
        "fair.",
        source=citations.DWORK,
        other_tools="Fairlearn prints the same number.",
        parts=((r.SELECTION_RATE, GAP),),
    ),
    Disparity(
        id="demographic_parity_ratio",
        short="DP ratio",
        caution=IGNORES_THE_LABEL + " The four-fifths rule is US employment guidance, not a law.",
        source=citations.FAIRLEARN,
        other_tools="Fairlearn prints the same number if it is defined.",
        parts=((r.SELECTION_RATE, MIN_RATIO),),
    ),
    Disparity(
        id="equal_opportunity_difference",
        short="EO difference",
        caution=TRUSTS_THE_LABEL + " Does not consider false positives and their cost.",
        source=citations.HARDT,
        other_tools="AIF360 uses this name for the signed difference to the reference, which is "
        "`true_positive_rate_difference` here.",
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
        description="The larger of the gaps in true positive and false positive rate.",
        source=citations.HARDT,
        other_tools="Fairlearn prints the same number if no denominator is empty. AIF360's measure "
        "with this name compares with the reference.",
        parts=((r.TRUE_POSITIVE_RATE, GAP), (r.FALSE_POSITIVE_RATE, GAP)),
        fold=MAX,
    ),
    Disparity(
        id="equalized_odds_mean",
        title="Equalized odds difference, mean",
        short="eq. odds mean",
        aliases=("equalized_odds_difference_mean",),
        description="The mean of the gaps in true positive and false positive rate.",
        caution=TRUSTS_THE_LABEL + " A mean can hide one wide gap.",
        source=citations.FAIRLEARN,
        other_tools="Fairlearn's `equalized_odds_difference(agg='mean')`.",
        parts=((r.TRUE_POSITIVE_RATE, GAP), (r.FALSE_POSITIVE_RATE, GAP)),
        fold=MEAN,
    ),
    Disparity(
        id="equalized_odds_ratio",
        short="eq. odds ratio",
        description="The smaller of the min/max ratios of true positive and false positive rate.",
        source=citations.FAIRLEARN,
        other_tools="Fairlearn prints the same number if no denominator is empty and no ratio is "
        "0/0; it leaves out 0/0.",
        parts=((r.TRUE_POSITIVE_RATE, MIN_RATIO), (r.FALSE_POSITIVE_RATE, MIN_RATIO)),
        fold=MIN,
    ),
    Disparity(
        id="predictive_equality",
        short="FPR gap",
        source=citations.CORBETT,
        other_tools="Pages that define it by true negative rates mean the same gap.",
        parts=((r.FALSE_POSITIVE_RATE, GAP),),
    ),
    Disparity(
        id="predictive_parity",
        short="PPV gap",
        caution=_BASE_RATES + " " + _FEW_CASES,
        source=citations.CHOULDECHOVA,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, GAP),),
    ),
    Disparity(
        id="predictive_parity_ratio",
        short="PPV ratio",
        caution=_BASE_RATES + " " + _FEW_CASES,
        source=citations.CHOULDECHOVA,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, MIN_RATIO),),
    ),
    Disparity(
        id="conditional_use_accuracy_equality",
        short="PPV, NPV gap",
        description="The larger of the gaps in positive and negative predictive value.",
        caution=_BASE_RATES + " " + _FEW_CASES,
        source=citations.BERK,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, GAP), (r.NEGATIVE_PREDICTIVE_VALUE, GAP)),
        fold=MAX,
    ),
    Disparity(
        id="overall_accuracy_equality",
        short="accuracy gap",
        caution="Gives missed and false selections the same weight, and true negatives the same "
        "weight as true positives.",
        source=citations.BERK,
        parts=((r.ACCURACY, GAP),),
    ),
    Disparity(
        id="conditional_statistical_parity",
        short="conditional SP",
        family="independence",
        description="The largest gap in selection rates within a stratum of a declared factor.",
        caution="A factor that results from the disparity hides it; small strata have wide gaps "
        "by chance.",
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
        other_tools="AIF360 and fairMLHealth print the same number; Žliobaitė's mean difference "
        "has the opposite sign.",
        parts=((r.SELECTION_RATE, DIFFERENCE),),
    ),
    Disparity(
        id="disparate_impact_ratio",
        short="DI ratio",
        aliases=("disparate_impact", "slift"),
        caution=IGNORES_THE_LABEL + " Exaggerates at small rates.",
        source=citations.AIF360,
        other_tools="Žliobaitė's impact ratio; `impact_ratio` here compares with the highest group."
        "",
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
        description="Half the sum of the differences in false and true positive rate to the "
        "reference.",
        caution=TRUSTS_THE_LABEL + " Opposite differences cancel.",
        source=citations.AIF360,
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE), (r.TRUE_POSITIVE_RATE, DIFFERENCE)),
        fold=MEAN,
    ),
    Disparity(
        id="average_odds_error",
        short="avg odds error",
        aliases=("average_abs_odds_difference",),
        description="Half the sum of the absolute differences in false and true positive rate.",
        source=citations.AIF360,
        other_tools="AIF360's `average_abs_odds_difference`.",
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE), (r.TRUE_POSITIVE_RATE, DIFFERENCE)),
        fold=MEAN_MAGNITUDE,
    ),
    Disparity(
        id="treatment_equality",
        short="fn/fp ratio",
        description="The group's false negatives per false positive, divided by the reference's.",
        source=citations.BERK,
        parts=((r.ERROR_TYPE_RATIO, RATIO),),
    ),
    Disparity(
        id="fairmlhealth_equal_odds_difference",
        title="Equal odds difference as fairMLHealth computes it",
        short="odds diff. (fML)",
        description="The larger of the differences in false and true positive rate, with its sign.",
        source=citations.MLHEALTH,
        other_tools="Follows fairMLHealth's code; the maximum of signed values that its page "
        "prints is another number.",
        parts=((r.TRUE_POSITIVE_RATE, DIFFERENCE), (r.FALSE_POSITIVE_RATE, DIFFERENCE)),
        fold=LARGEST_MAGNITUDE,
    ),
    Disparity(
        id="fairmlhealth_equal_odds_ratio",
        title="Equal odds ratio as fairMLHealth computes it",
        short="odds ratio (fML)",
        description="The ratio of true or false positive rates that is farther from 1.",
        source=citations.MLHEALTH,
        other_tools="fairMLHealth's code compares the departures rounded to six decimals.",
        parts=((r.TRUE_POSITIVE_RATE, RATIO), (r.FALSE_POSITIVE_RATE, RATIO)),
        fold=FARTHEST_FROM_1,
    ),
    Disparity(
        id="fairmlhealth_equal_odds_smaller_ratio",
        title="Equal odds ratio as fairMLHealth prints it",
        short="odds ratio (min)",
        aliases=("equalized_odds_ratio_min", "equalised_odds_ratio_min", "equal_odds_ratio_min"),
        family="separation",
        description="The smaller of the ratios of true and false positive rates.",
        caution=TRUSTS_THE_LABEL + " Hides a ratio above 1 if the other is below 1.",
        source=citations.MLHEALTH,
        other_tools="The min() in fairMLHealth's table of equations; its text and code use the "
        "ratio farther from 1, `fairmlhealth_equal_odds_ratio`. `equalized_odds_ratio` divides "
        "the lowest rate by the highest.",
        parts=((r.TRUE_POSITIVE_RATE, RATIO), (r.FALSE_POSITIVE_RATE, RATIO)),
        fold=MIN,
    ),
    Disparity(
        id="impact_ratio",
        short="impact ratio",
        aliases=("four_fifths_ratio", "adverse_impact_ratio"),
        description="The group's selection rate divided by the highest rate of any group.",
        caution="The four-fifths rule is guidance for US employment selection; crossing it is not "
        "evidence, and it is unstable for small groups.",
        source=citations.UGESP,
        other_tools="The ratio that New York City's Local Law 144 requires. If the positive "
        "outcome is a burden, it compares the rates of not being selected.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.HIGHEST,
        four_fifths=True,
    ),
    Disparity(
        id="scoring_impact_ratio",
        short="scoring impact",
        description="The group's scoring rate divided by the highest rate of any group.",
        caution="The four-fifths rule is guidance for US employment selection; crossing it is not "
        "evidence, and it is unstable for small groups.",
        source=citations.LL144,
        other_tools="The ratio that New York City's Local Law 144 requires for tools that score "
        "people.",
        parts=((s.SCORING_RATE, RATIO),),
        reference=ReferencePolicy.HIGHEST,
    ),
    Disparity(
        id="balance_positive_class",
        title="Balance for the positive class",
        short="balance (+)",
        aliases=("balance_for_the_positive_class",),
        family="separation",
        description="The highest mean score of a group's positives minus the lowest.",
        source=citations.KLEINBERG,
        parts=((means_and_errors.MEAN_SCORE_POSITIVES, GAP),),
    ),
    Disparity(
        id="balance_negative_class",
        title="Balance for the negative class",
        short="balance (-)",
        aliases=("balance_for_the_negative_class",),
        family="separation",
        description="The highest mean score of a group's negatives minus the lowest.",
        source=citations.KLEINBERG,
        parts=((means_and_errors.MEAN_SCORE_NEGATIVES, GAP),),
    ),
    Disparity(
        id="well_calibration",
        title="Well-calibration",
        short="worst ECE",
        aliases=("calibration_within_groups",),
        source=citations.KLEINBERG,
        other_tools="A mean over bins, which can hide one bin with a large error. "
        "`multicalibration` is the largest gap of any bin.",
        instead="calibration_error or multicalibration",
        parts=((s.CALIBRATION_ERROR, HIGHEST),),
    ),
)
