"""The criteria: which rates are compared, how, and what the literature calls that."""

from __future__ import annotations

from fairaudit.metrics import rates as r
from fairaudit.metrics import scores as s
from fairaudit.metrics.comparisons import DIFFERENCE, GAP, HIGHEST, MIN_RATIO, RATIO
from fairaudit.metrics.measures import (
    FARTHEST_FROM_1,
    LARGEST_MAGNITUDE,
    MAX,
    MEAN,
    MEAN_MAGNITUDE,
    MIN,
    Comparison,
    Measure,
)
from fairaudit.metrics.quantities import Quantity
from fairaudit.metrics.records import Source
from fairaudit.metrics.reference import Policy

_DWORK = Source("Dwork et al.", 2012, "https://arxiv.org/abs/1104.3913")
_HARDT = Source("Hardt, Price & Srebro", 2016, "https://arxiv.org/abs/1610.02413")
_CHOULDECHOVA = Source("Chouldechova", 2017, "https://arxiv.org/abs/1703.00056")
_CORBETT = Source("Corbett-Davies et al.", 2017, "https://arxiv.org/abs/1701.08230")
_BERK = Source("Berk et al.", 2018, "https://arxiv.org/abs/1703.09207")
_FAIRLEARN = Source("Weerts et al., Fairlearn", 2023, "https://arxiv.org/abs/2303.16626")
_AIF360 = Source("Bellamy et al., AIF360", 2018, "https://arxiv.org/abs/1810.01943")
_MLHEALTH = Source("Allen et al., fairMLHealth: Evaluating Fairness", 2021)
_KLEINBERG = Source("Kleinberg, Mullainathan & Raghavan", 2016, "https://arxiv.org/abs/1609.05807")
_LL144 = Source("New York City, 6 RCNY § 5-300", 2023)
_UGESP = Source("EEOC et al., Uniform Guidelines on Employee Selection, 29 CFR 1607.4(D)", 1978)

_IGNORES_THE_LABEL = "Takes no account of who qualifies."
_NEEDS_A_TRUSTED_LABEL = "Trusts the label: if the label is biased, so is this."
_FEW_CASES = "Undefined where a group has nobody to judge it on; look at the denominators."
_BASE_RATES = "Groups with different base rates differ here by necessity."


def _signed(quantity: Quantity, comparison: Comparison, aliases: tuple[str, ...] = ()) -> Measure:
    """The quantity of each group against the reference, as fairMLHealth reports it."""
    verb = "divided by" if comparison.quotient else "minus"
    return Measure(
        id=f"{quantity.id}_{comparison.id}",
        title=f"{quantity.title} {comparison.id}",
        short=f"{quantity.short} {comparison.id}",
        aliases=aliases,
        family=quantity.family,
        means=f"The group's {quantity.title.lower()} {verb} the reference's.",
        caution=quantity.caution,
        source=_MLHEALTH,
        parts=((quantity, comparison),),
    )


CRITERIA = (
    Measure(
        id="demographic_parity_difference",
        title="Demographic parity difference",
        short="DP difference",
        aliases=("statistical_parity_gap",),
        family="independence",
        means="The highest selection rate of a group minus the lowest.",
        caution=_IGNORES_THE_LABEL,
        source=_DWORK,
        elsewhere="Fairlearn prints the same number.",
        parts=((r.SELECTION_RATE, GAP),),
    ),
    Measure(
        id="demographic_parity_ratio",
        title="Demographic parity ratio",
        short="DP ratio",
        family="independence",
        means="The lowest selection rate of a group divided by the highest.",
        caution=_IGNORES_THE_LABEL + " The four-fifths rule is US employment guidance, no law.",
        source=_FAIRLEARN,
        elsewhere="Fairlearn prints the same number where it is defined.",
        parts=((r.SELECTION_RATE, MIN_RATIO),),
    ),
    Measure(
        id="equal_opportunity_difference",
        title="Equal opportunity difference",
        short="EO difference",
        family="separation",
        means="The highest true positive rate of a group minus the lowest.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_HARDT,
        elsewhere="AIF360 uses this name for the signed difference to the reference, which is "
        "`true_positive_rate_difference` here.",
        parts=((r.TRUE_POSITIVE_RATE, GAP),),
    ),
    Measure(
        id="equal_opportunity_ratio",
        title="Equal opportunity ratio",
        short="EO ratio",
        family="separation",
        means="The lowest true positive rate of a group divided by the highest.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_FAIRLEARN,
        parts=((r.TRUE_POSITIVE_RATE, MIN_RATIO),),
    ),
    Measure(
        id="equalized_odds_difference",
        title="Equalized odds difference",
        short="equalized odds",
        family="separation",
        means="The larger of the gaps in true positive and false positive rate.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_HARDT,
        elsewhere="Fairlearn prints the same number where no denominator is empty. AIF360's is of "
        "the same name, and to the reference.",
        parts=((r.TRUE_POSITIVE_RATE, GAP), (r.FALSE_POSITIVE_RATE, GAP)),
        fold=MAX,
    ),
    Measure(
        id="equalized_odds_mean",
        title="Equalized odds difference, mean",
        short="equalized odds mean",
        aliases=("equalized_odds_difference_mean",),
        family="separation",
        means="The mean of the gaps in true positive and false positive rate.",
        caution=_NEEDS_A_TRUSTED_LABEL + " A mean can hide one wide gap.",
        source=_FAIRLEARN,
        elsewhere="Fairlearn's `equalized_odds_difference(agg='mean')`.",
        parts=((r.TRUE_POSITIVE_RATE, GAP), (r.FALSE_POSITIVE_RATE, GAP)),
        fold=MEAN,
    ),
    Measure(
        id="equalized_odds_ratio",
        title="Equalized odds ratio",
        short="equalized odds ratio",
        family="separation",
        means="The smaller of the min/max ratios of true positive and false positive rate.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_FAIRLEARN,
        elsewhere="Fairlearn prints the same number where no denominator is empty and no ratio is "
        "0/0, which it leaves out.",
        parts=((r.TRUE_POSITIVE_RATE, MIN_RATIO), (r.FALSE_POSITIVE_RATE, MIN_RATIO)),
        fold=MIN,
    ),
    Measure(
        id="predictive_equality",
        title="Predictive equality",
        short="FPR gap",
        family="separation",
        means="The highest false positive rate of a group minus the lowest.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_CORBETT,
        elsewhere="Pages that define it by true negative rates mean the same gap.",
        parts=((r.FALSE_POSITIVE_RATE, GAP),),
    ),
    Measure(
        id="predictive_parity",
        title="Predictive parity",
        short="PPV gap",
        family="sufficiency",
        means="The highest positive predictive value of a group minus the lowest.",
        caution=_BASE_RATES + " " + _FEW_CASES,
        source=_CHOULDECHOVA,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, GAP),),
    ),
    Measure(
        id="predictive_parity_ratio",
        title="Predictive parity ratio",
        short="PPV ratio",
        family="sufficiency",
        means="The lowest positive predictive value of a group divided by the highest.",
        caution=_BASE_RATES + " " + _FEW_CASES,
        source=_CHOULDECHOVA,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, MIN_RATIO),),
    ),
    Measure(
        id="conditional_use_accuracy_equality",
        title="Conditional use accuracy equality",
        short="PPV, NPV gap",
        family="sufficiency",
        means="The larger of the gaps in positive and negative predictive value.",
        caution=_BASE_RATES + " " + _FEW_CASES,
        source=_BERK,
        parts=((r.POSITIVE_PREDICTIVE_VALUE, GAP), (r.NEGATIVE_PREDICTIVE_VALUE, GAP)),
        fold=MAX,
    ),
    Measure(
        id="overall_accuracy_equality",
        title="Overall accuracy equality",
        short="accuracy gap",
        family="accuracy",
        means="The highest accuracy of a group minus the lowest.",
        caution="Weighs missed and false selections alike.",
        source=_BERK,
        parts=((r.ACCURACY, GAP),),
    ),
    Measure(
        id="conditional_statistical_parity",
        title="Conditional statistical parity",
        short="conditional SP",
        family="independence",
        means="The largest gap in selection rates within a stratum of a legitimate factor.",
        caution="A factor that is itself shaped by the disparity hides it; small strata gape by "
        "chance.",
        source=_CORBETT,
        parts=((r.SELECTION_RATE, GAP),),
        conditional=True,
    ),
    Measure(
        id="statistical_parity_difference",
        title="Statistical parity difference",
        short="SP difference",
        family="independence",
        means="The group's selection rate minus the reference's.",
        caution=_IGNORES_THE_LABEL,
        source=_AIF360,
        elsewhere="AIF360 and fairMLHealth print the same number; Žliobaitė's mean difference has "
        "the other sign.",
        parts=((r.SELECTION_RATE, DIFFERENCE),),
    ),
    Measure(
        id="disparate_impact_ratio",
        title="Disparate impact ratio",
        short="DI ratio",
        aliases=("disparate_impact",),
        family="independence",
        means="The group's selection rate divided by the reference's.",
        caution=_IGNORES_THE_LABEL + " Exaggerates at small rates.",
        source=_AIF360,
        elsewhere="Named impact ratio by Žliobaitė; `impact_ratio` here is to the highest group.",
        parts=((r.SELECTION_RATE, RATIO),),
    ),
    _signed(r.TRUE_POSITIVE_RATE, DIFFERENCE),
    _signed(r.TRUE_POSITIVE_RATE, RATIO),
    _signed(r.FALSE_POSITIVE_RATE, DIFFERENCE),
    _signed(r.FALSE_POSITIVE_RATE, RATIO),
    _signed(r.POSITIVE_PREDICTIVE_VALUE, DIFFERENCE, ("predictive_parity_difference",)),
    _signed(r.POSITIVE_PREDICTIVE_VALUE, RATIO),
    _signed(r.NEGATIVE_PREDICTIVE_VALUE, DIFFERENCE),
    _signed(r.NEGATIVE_PREDICTIVE_VALUE, RATIO),
    _signed(r.ACCURACY, DIFFERENCE),
    _signed(r.ACCURACY, RATIO),
    _signed(r.BALANCED_ACCURACY, DIFFERENCE),
    _signed(r.BALANCED_ACCURACY, RATIO),
    _signed(s.MEAN_PREDICTION, DIFFERENCE),
    _signed(s.MEAN_PREDICTION, RATIO),
    _signed(s.MAE, DIFFERENCE),
    _signed(s.MAE, RATIO),
    Measure(
        id="average_odds_difference",
        title="Average odds difference",
        short="avg odds diff.",
        family="separation",
        means="Half the sum of the differences in false and true positive rate to the reference.",
        caution=_NEEDS_A_TRUSTED_LABEL + " Opposite differences cancel.",
        source=_AIF360,
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE), (r.TRUE_POSITIVE_RATE, DIFFERENCE)),
        fold=MEAN,
    ),
    Measure(
        id="average_odds_error",
        title="Average odds error",
        short="avg odds error",
        aliases=("average_abs_odds_difference",),
        family="separation",
        means="Half the sum of the sizes of the differences in false and true positive rate.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_AIF360,
        elsewhere="AIF360's `average_abs_odds_difference`.",
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE), (r.TRUE_POSITIVE_RATE, DIFFERENCE)),
        fold=MEAN_MAGNITUDE,
    ),
    Measure(
        id="treatment_equality",
        title="Treatment equality",
        short="fn/fp ratio",
        family="separation",
        means="The group's false negatives per false positive, divided by the reference's.",
        caution="Infinite where nobody is falsely selected; unstable where errors are few.",
        source=_BERK,
        parts=((r.ERROR_TYPE_RATIO, RATIO),),
    ),
    Measure(
        id="fairmlhealth_equal_odds_difference",
        title="Equal odds difference as fairMLHealth computes it",
        short="odds diff. (fML)",
        family="separation",
        means="Of the differences in false and true positive rate, the larger, with its sign.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_MLHEALTH,
        elsewhere="Follows fairMLHealth's code; the maximum of signed values that its page prints "
        "is another number.",
        parts=((r.TRUE_POSITIVE_RATE, DIFFERENCE), (r.FALSE_POSITIVE_RATE, DIFFERENCE)),
        fold=LARGEST_MAGNITUDE,
    ),
    Measure(
        id="fairmlhealth_equal_odds_ratio",
        title="Equal odds ratio as fairMLHealth computes it",
        short="odds ratio (fML)",
        family="separation",
        means="Of the ratios of true and false positive rate, the one farther from 1.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_MLHEALTH,
        elsewhere="fairMLHealth's code compares the departures rounded to six decimals.",
        parts=((r.TRUE_POSITIVE_RATE, RATIO), (r.FALSE_POSITIVE_RATE, RATIO)),
        fold=FARTHEST_FROM_1,
    ),
    Measure(
        id="impact_ratio",
        title="Impact ratio",
        short="impact ratio",
        aliases=("four_fifths_ratio", "adverse_impact_ratio"),
        family="independence",
        means="The group's selection rate divided by that of the group with the highest.",
        caution="The four-fifths rule is guidance for US employment selection; it is no evidence "
        "by itself, and unstable in small groups.",
        source=_UGESP,
        elsewhere="The ratio that New York City's Local Law 144 asks for. Where the positive is a "
        "burden, it compares the rates of not being selected.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=Policy.HIGHEST,
        four_fifths=True,
    ),
    Measure(
        id="scoring_impact_ratio",
        title="Scoring impact ratio",
        short="scoring impact",
        family="score",
        means="The group's scoring rate divided by that of the group with the highest.",
        caution="The four-fifths rule is guidance for US employment selection; it is no evidence "
        "by itself, and unstable in small groups.",
        source=_LL144,
        elsewhere="The ratio that New York City's Local Law 144 asks for where a tool scores.",
        parts=((s.SCORING_RATE, RATIO),),
        reference=Policy.HIGHEST,
    ),
    Measure(
        id="balance_positive_class",
        title="Balance for the positive class",
        short="balance (+)",
        aliases=("balance_for_the_positive_class",),
        family="separation",
        means="The highest mean score of a group's positives minus the lowest.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_KLEINBERG,
        parts=((s.MEAN_SCORE_POSITIVES, GAP),),
    ),
    Measure(
        id="balance_negative_class",
        title="Balance for the negative class",
        short="balance (-)",
        aliases=("balance_for_the_negative_class",),
        family="separation",
        means="The highest mean score of a group's negatives minus the lowest.",
        caution=_NEEDS_A_TRUSTED_LABEL,
        source=_KLEINBERG,
        parts=((s.MEAN_SCORE_NEGATIVES, GAP),),
    ),
    Measure(
        id="well_calibration",
        title="Well-calibration",
        short="worst ECE",
        aliases=("multicalibration", "calibration_within_groups"),
        family="sufficiency",
        means="The largest expected calibration error of a group.",
        caution=s.CALIBRATION_ERROR.caution,
        source=_KLEINBERG,
        elsewhere="Over every subset of the attributes it is multicalibration of that lattice.",
        parts=((s.CALIBRATION_ERROR, HIGHEST),),
    ),
)
