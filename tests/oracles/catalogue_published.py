"""Known answers from papers and other libraries, and the data that they are about."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from catalogue_comparisons import CONDITIONAL, TO_REFERENCE, TO_REST
from catalogue_groups import GROUP, MACRO
from catalogue_people import HALF, MOST_DISTINCT, Number, Person, by_group
from catalogue_tables import TABLE

# --- Data of the known answers, as counts ------------------------------------------------------


def _berkeley() -> list[Person]:
    """Return facts.md 2: admissions of 1973 by sex and department."""
    table = {
        "A": (512, 313, 89, 19),
        "B": (353, 207, 17, 8),
        "C": (120, 205, 202, 391),
        "D": (138, 279, 131, 244),
        "E": (53, 138, 94, 299),
        "F": (22, 351, 24, 317),
    }
    cases = (("men", True), ("men", False), ("women", True), ("women", False))
    return [
        Person(group=group, prediction=admitted, stratum=department, people=people)
        for department, counts in table.items()
        for (group, admitted), people in zip(cases, counts, strict=True)
    ]


def _kidney(*, intersected: bool) -> list[Person]:
    """Return facts.md 1 by gender within race, or by both together."""
    table = {
        ("A", "1"): (81, 6),
        ("A", "2"): (192, 71),
        ("B", "1"): (234, 36),
        ("B", "2"): (55, 25),
    }
    return [
        Person(
            group=gender + race if intersected else gender,
            prediction=admitted,
            stratum=race,
            people=people,
        )
        for (gender, race), counts in table.items()
        for admitted, people in zip((True, False), counts, strict=True)
    ]


def _compas() -> list[Person]:
    """Return tp, fp, fn, tn of the COMPAS file by race, the smaller races together."""
    table = {
        "African-American": (1369, 805, 532, 990),
        "Caucasian": (505, 349, 461, 1139),
        "others": (161, 128, 223, 552),
    }
    cases = ((True, True), (False, True), (True, False), (False, False))
    return [
        Person(group=race, label=label, prediction=prediction, people=people)
        for race, counts in table.items()
        for (label, prediction), people in zip(cases, counts, strict=True)
    ]


def _adult() -> list[Person]:
    """Return facts.md 5: income by race, gender and nationality, at most and above 50K."""
    table = {
        "Asian-Pac-Islander Female US": (106, 9),
        "Asian-Pac-Islander Female other": (197, 34),
        "Asian-Pac-Islander Male US": (118, 59),
        "Asian-Pac-Islander Male other": (342, 174),
        "Black Female US": (1344, 85),
        "Black Female other": (121, 5),
        "Black Male US": (1137, 266),
        "Black Male other": (135, 31),
        "Other Female US": (156, 14),
        "Other Female other": (54, 4),
        "Other Male US": (221, 34),
        "Other Male other": (90, 9),
        "White Female US": (7004, 964),
        "White Female other": (610, 64),
        "White Male US": (11913, 5740),
        "White Male other": (1172, 349),
    }
    return [
        Person(group=group, prediction=above, people=people)
        for group, counts in table.items()
        for above, people in zip((False, True), counts, strict=True)
    ]


def _scored(distinct: int, step: Fraction) -> list[Person]:
    """Return 60 rows of 150 people in two groups with so many distinct scores from 0.01 or 0 up."""
    first = Fraction(1, 100) if distinct > MOST_DISTINCT else Fraction(0)
    return [
        Person(
            group="a" if place % 5 < 3 else "b",
            label=place * place % 7 + place * 17 % distinct * 6 // distinct > 4,
            prediction=first + place * 17 % distinct * step >= HALF,
            stratum="uvw"[place // 2 % 3],
            score=first + place * 17 % distinct * step,
            people=1 + place % 4,
        )
        for place in range(60)
    ]


def _measured() -> list[Person]:
    """Return numeric labels and predictions of two groups."""
    table = {
        "a": ((3, 4, 2), (7, 6, 1), (10, 8, 3), (12, 15, 1), (20, 17, 2)),
        "b": ((2, 2, 1), (5, 9, 2), (9, 8, 2), (14, 11, 1), (17, 21, 3)),
    }
    return [
        Person(group=group, y=Fraction(y), predicted=Fraction(predicted), people=people)
        for group, numbers in table.items()
        for y, predicted, people in numbers
    ]


def _smokers() -> list[Person]:
    """Return the smokers and others among the patients of R's `prop.trend.test`."""
    smokers, patients = (83, 90, 129, 70), (86, 93, 136, 82)
    return [
        Person(group="all", number=Fraction(place), prediction=smokes, people=people)
        for place, (some, everyone) in enumerate(zip(smokers, patients, strict=True), start=1)
        for smokes, people in ((True, some), (False, everyone - some))
    ]


def _classes() -> list[Person]:
    """Return labels (down) and predictions (across) of three classes in two groups."""
    tables = {
        "a": ((30, 6, 4), (5, 22, 3), (2, 8, 20)),
        "b": ((12, 9, 4), (7, 15, 8), (6, 1, 18)),
    }
    return [
        Person(group=group, label_class=label, predicted_class=predicted, people=people)
        for group, table in tables.items()
        for label, counts in zip("xyz", table, strict=True)
        for predicted, people in zip("xyz", counts, strict=True)
    ]


DATA: dict[str, list[Person]] = {
    "berkeley": _berkeley(),
    "kidney": _kidney(intersected=False),
    "kidney cells": _kidney(intersected=True),
    "compas": _compas(),
    "adult": _adult(),
    "fine scores": _scored(50, Fraction(1, 50)),
    "coarse scores": _scored(11, Fraction(1, 10)),
    "measured": _measured(),
    "smokers": _smokers(),
    "classes": _classes(),
}


# --- Known answers -----------------------------------------------------------------------------


class Published(NamedTuple):
    """A value from outside, as printed; no `group` means everybody or all groups."""

    name: str
    data: str
    value: str
    group: str
    reference: str
    source: str

    def agrees(self, value: Number) -> bool:
        """Return whether a value is the published one, up to the rounding of its last place."""
        places = len(self.value.partition(".")[2])
        return value is not None and abs(value - float(self.value)) <= 0.5001 * 10**-places


def _known(source: str, *checks: tuple[str, ...]) -> list[Published]:
    """Return known answers of one source: id, data, value, group if any, reference if any."""
    found = []
    for check in checks:
        name, data, value, group, reference = (*check, "", "")[:5]
        found.append(Published(name, data, value, group, reference, source))
    return found


def published_value(check: Published) -> Number:
    """Return what this oracle gives for the measure and the data of a known answer."""
    everybody = DATA[check.data]
    groups = by_group(everybody)
    own = groups[check.group] if check.group else everybody
    if check.reference:
        measures = TO_REFERENCE | CONDITIONAL
        return measures[check.name](own, groups[check.reference], everybody)
    if check.name in TO_REST:
        return TO_REST[check.name](own, [row for row in everybody if row.group != check.group])
    if check.name in CONDITIONAL:
        return CONDITIONAL[check.name](own, (), everybody)
    if check.name in TABLE:
        return TABLE[check.name](everybody)
    return (GROUP | MACRO)[check.name](own, everybody)


# Each comes from its source, not from this file: printed there, or computed by that library.
PUBLISHED: tuple[Published, ...] = (
    *_known(
        "metrics.md 6, Berkeley",
        ("mean_difference", "berkeley", "0.141645", "women", "men"),
        ("normalized_difference", "berkeley", "0.217190", "women", "men"),
        ("elift", "berkeley", "0.782810", "women"),
        ("correlation", "berkeley", "-0.142732", "women"),
        ("mutual_information", "berkeley", "0.0148938"),
        ("normalized_mutual_information", "berkeley", "0.0153755"),
        ("eta_neutrality", "berkeley", "0.148102"),
        ("cramers_v", "berkeley", "0.142732"),
    ),
    *_known(
        "metrics.md 8, Berkeley",
        ("explained_difference", "berkeley", "0.177674", "women", "men"),
        ("unexplained_difference", "berkeley", "-0.036028", "women", "men"),
        ("demographic_disparity", "berkeley", "0.143826", "women"),
        ("conditional_demographic_disparity", "berkeley", "-0.019283", "women"),
    ),
    *_known(
        "metrics.md 8, Kidney",
        ("explained_difference", "kidney", "0.099386", "A", "B"),
        ("unexplained_difference", "kidney", "-0.053671", "A", "B"),
    ),
    *_known(
        "metrics.md 9, Berkeley",
        ("standardized_selection_rate", "berkeley", "0.429955", "women", "men"),
        ("standardized_selection_rate", "berkeley", "0.387319", "men", "women"),
    ),
    *_known(
        "metrics.md 9, kidney",
        ("standardized_selection_rate", "kidney", "0.83255", "A", "B"),
        ("standardized_selection_rate", "kidney", "0.77888", "B", "A"),
    ),
    *_known(
        "R 4.5, mantelhaen.test(UCBAdmissions), and its reciprocal",
        ("mantel_haenszel_odds_ratio", "berkeley", "1.105343", "women", "men"),
        ("mantel_haenszel_odds_ratio", "berkeley", "0.9046968", "men", "women"),
    ),
    *_known(
        "metrics.md 9, kidney",
        ("mantel_haenszel_odds_ratio", "kidney", "1.446847", "A", "B"),
    ),
    *_known(
        "metrics.md 5, kidney, prior 1/2",
        ("differential_fairness_credible", "kidney cells", "3.01738"),
    ),
    *_known(
        "metrics.md 10, COMPAS; AIF360 0.6.1: ClassificationMetric",
        ("generalized_entropy", "compas", "0.169969"),
        ("theil", "compas", "0.235018"),
        ("coefficient_of_variation", "compas", "0.583043"),
    ),
    *_known(
        "AIF360 0.6.1: between_all_groups_generalized_entropy_index()",
        ("between_group_generalized_entropy", "compas", "0.0022564674"),
    ),
    *_known(
        "R's prop.trend.test(smokers, patients): X-squared = 8.2249, falling",
        ("trend", "smokers", "-2.8679"),
    ),
    *_known(
        "fairlearn 0.15.0: MetricFrame of both rates, log-ratios of them and of 1 - them",
        ("differential_equal_opportunity", "coarse scores", "0.4834266496"),
        ("differential_equalized_odds", "coarse scores", "0.4834266496"),
    ),
    *_known(
        "numpy 2.4.6: quantile(score, 0.5, method='inverted_cdf')",
        ("scoring_rate", "fine scores", "0.5111111111", "a"),
        ("scoring_rate", "fine scores", "0.4500000000", "b"),
        ("scoring_rate", "coarse scores", "0.4111111111", "a"),
        ("scoring_rate", "coarse scores", "0.5166666667", "b"),
    ),
    *_known(
        "numpy 2.4.6: sums of label - score by numpy.unique(score)",
        ("calibration_error", "coarse scores", "0.1844444444", "a"),
        ("calibration_error", "coarse scores", "0.1200000000", "b"),
    ),
    *_known(
        "numpy 2.4.6: table / outer(margins)",
        ("eta_neutrality", "adult", "0.4003152778"),
        ("eta_neutrality", "classes", "0.1842105263"),
    ),
    *_known(
        "numpy 2.4.6: table.max(axis=1).sum() / table.sum()",
        ("predictability", "adult", "0.7591904426"),
        ("predictability", "classes", "0.3722222222"),
    ),
    *_known(
        "numpy 2.4.6: table.sum(axis=0).max() / table.sum()",
        ("majority_baseline", "adult", "0.7591904426"),
        ("majority_baseline", "classes", "0.3444444444"),
    ),
    *_known(
        "numpy 2.4.6: the two above, over the errors of the second",
        ("goodman_kruskal_lambda", "adult", "0.0000000000"),
        ("goodman_kruskal_lambda", "classes", "0.0423728814"),
    ),
    *_known(
        "numpy 2.4.6: abs(a - b).sum() / 2",
        ("total_variation", "classes", "0.1050000000"),
        ("total_variation", "classes", "0.1050000000", "a", "b"),
    ),
    *_known(
        "numpy 2.4.6: means of y, predicted and y - predicted",
        ("mean_residual", "measured", "0.8888888889", "a"),
        ("mean_residual", "measured", "-1.6666666667", "b"),
        ("balanced_residuals", "measured", "2.5555555556", "a", "b"),
        ("mean_prediction", "measured", "9.6666666667", "a"),
        ("mean_label", "measured", "10.5555555556", "a"),
    ),
    *_known(
        "numpy 2.4.6: means of score and label",
        ("mean_score", "fine scores", "0.4900000000", "a"),
        ("mean_score_positives", "fine scores", "0.6821568627", "a"),
        ("mean_score_negatives", "fine scores", "0.2387179487", "a"),
        ("calibration_in_the_large", "fine scores", "0.0766666667", "a"),
        ("balance_positive_class", "fine scores", "0.0217220801"),
        ("balance_negative_class", "fine scores", "0.0912820513"),
        ("mean_score", "coarse scores", "0.4555555556", "a"),
        ("mean_score_positives", "coarse scores", "0.7108108108", "a"),
        ("mean_score_negatives", "coarse scores", "0.2773584906", "a"),
        ("calibration_in_the_large", "coarse scores", "-0.0444444444", "a"),
        ("balance_positive_class", "coarse scores", "0.0008108108"),
        ("balance_negative_class", "coarse scores", "0.0859748428"),
    ),
    *_known(
        "numpy 2.4.6: means of the label by bin and group",
        ("test_fairness", "fine scores", "1.0000000000"),
        ("test_fairness", "coarse scores", "0.5555555556"),
    ),
    *_known(
        "numpy 2.4.6: means by group and stratum, then over strata",
        ("conditional_equal_opportunity_gap", "fine scores", "-0.3519813520", "a", "b"),
        ("conditional_equal_opportunity_ratio", "fine scores", "0.0000000000", "a", "b"),
        ("conditional_equal_opportunity_gap", "coarse scores", "-0.1176767677", "a", "b"),
        ("conditional_equal_opportunity_ratio", "coarse scores", "0.7072864322", "a", "b"),
    ),
    *_known(
        "numpy 2.4.6: mean over classes of their shares, which is 1/3",
        ("macro_selection_rate", "classes", "0.3333333333", "a"),
        ("macro_selection_rate", "classes", "0.3333333333", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: roc_auc_score(label, score)",
        ("auc", "fine scores", "0.9421820010", "a"),
        ("auc", "fine scores", "0.8207990599", "b"),
        ("auc", "coarse scores", "0.8643549210", "a"),
        ("auc", "coarse scores", "0.8516666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: brier_score_loss(label, score)",
        ("brier", "fine scores", "0.1170777778", "a"),
        ("brier", "fine scores", "0.1749666667", "b"),
        ("brier", "coarse scores", "0.1491111111", "a"),
        ("brier", "coarse scores", "0.1556666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: calibration_curve(..., n_bins=10), weighted by numpy.histogram",
        ("calibration_error", "fine scores", "0.1886666667", "a"),
        ("calibration_error", "fine scores", "0.2096666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: mutual_info_score(group, outcome) / log(2)",
        ("mutual_information", "adult", "0.0443956748"),
        ("mutual_information", "classes", "0.0090687535"),
    ),
    *_known(
        "scikit-learn 1.9.1: normalized_mutual_info_score(..., average_method='geometric')",
        ("normalized_mutual_information", "adult", "0.0342282412"),
        ("normalized_mutual_information", "classes", "0.0072379189"),
    ),
    *_known(
        "scikit-learn 1.9.1: root_mean_squared_error(y, predicted)",
        ("rmse", "measured", "2.1602468995", "a"),
        ("rmse", "measured", "3.1797973381", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: mean_absolute_error(y, predicted)",
        ("mae", "measured", "2.0000000000", "a"),
        ("mae", "measured", "2.7777777778", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: r2_score(y, predicted)",
        ("r2", "measured", "0.8637346792", "a"),
        ("r2", "measured", "0.6705551086", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: recall_score(..., average='macro')",
        ("macro_true_positive_rate", "classes", "0.7166666667", "a"),
        ("macro_true_positive_rate", "classes", "0.5666666667", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: precision_score(..., average='macro')",
        ("macro_positive_predictive_value", "classes", "0.7208875542", "a"),
        ("macro_positive_predictive_value", "classes", "0.5600000000", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: f1_score(..., average='macro')",
        ("macro_f1", "classes", "0.7158806106", "a"),
        ("macro_f1", "classes", "0.5600000000", "b"),
    ),
    *_known(
        "scikit-learn 1.9.1: multilabel_confusion_matrix(label, predicted)",
        ("macro_false_positive_rate", "classes", "0.1388888889", "a"),
        ("macro_false_positive_rate", "classes", "0.2181818182", "b"),
    ),
    *_known(
        "scipy 1.17.1: mannwhitneyu(b, a) / (n m)",
        ("between_group_auc_score", "fine scores", "0.4690740741", "a", "b"),
        ("between_group_auc", "fine scores", "0.4861111111", "a", "b"),
        ("between_group_auc_score", "coarse scores", "0.5729629630", "a", "b"),
        ("between_group_auc", "coarse scores", "0.5777777778", "a", "b"),
    ),
    *_known(
        "scipy 1.17.1: ttest_ind(a, b) root(1/n + 1/m)",
        ("standardized_difference_score", "fine scores", "0.1130222882", "a", "b"),
        ("standardized_difference_selection", "fine scores", "0.0553275706", "a", "b"),
        ("standardized_difference_score", "coarse scores", "-0.2547669343", "a", "b"),
        ("standardized_difference_selection", "coarse scores", "-0.3137126176", "a", "b"),
    ),
    *_known(
        "scipy 1.17.1: ks_2samp(a, b)",
        ("score_parity_gap", "fine scores", "0.1111111111"),
        ("score_parity_gap", "coarse scores", "0.1722222222"),
    ),
    *_known(
        "scipy 1.17.1: the larger ks_2samp(group, everybody)",
        ("score_parity", "fine scores", "0.0666666667"),
        ("score_parity", "coarse scores", "0.1033333333"),
    ),
    *_known(
        "scipy 1.17.1: pearsonr(member, score), pearsonr(member, prediction)",
        ("correlation_score", "fine scores", "0.0556558494", "a"),
        ("correlation_negatives", "fine scores", "-0.4663724022", "a"),
        ("correlation_score", "coarse scores", "-0.1246699876", "a"),
        ("correlation_negatives", "coarse scores", "-0.1407119842", "a"),
        ("correlation_score_negatives", "coarse scores", "-0.1589564328", "a"),
    ),
    *_known(
        "scipy 1.17.1: contingency.odds_ratio(table, kind='sample')",
        ("selection_odds_ratio", "berkeley", "0.5431594389", "women", "men"),
        ("selection_odds_ratio", "kidney", "0.7483485373", "A", "B"),
    ),
    *_known(
        "scipy 1.17.1: log of contingency.relative_risk",
        ("selection_log_ratio", "berkeley", "-0.3829751485", "women", "men"),
        ("selection_log_ratio", "kidney", "-0.0569548929", "A", "B"),
    ),
    *_known(
        "scipy 1.17.1: entropy(group, reference)",
        ("kl_divergence", "berkeley", "0.0421095037", "women", "men"),
        ("kl_divergence", "kidney", "0.0068201262", "A", "B"),
        ("kl_divergence", "classes", "0.0247362028", "a", "b"),
    ),
    *_known(
        "scipy 1.17.1: contingency.association(table, method='cramer')",
        ("cramers_v", "adult", "0.2366246868"),
        ("cramers_v", "classes", "0.1122963085"),
    ),
    *_known(
        "scipy 1.17.1: beta.ppf of both tails in every group",
        ("differential_fairness_credible", "adult", "3.992809759"),
    ),
    *_known(
        "scipy 1.17.1: pearsonr(number, smokes)",
        ("pearson", "smokers", "-0.1439364039"),
    ),
    *_known(
        "scipy 1.17.1: 1 - gmean(b) / mean(b), where some b are 0",
        ("atkinson", "compas", "1.0"),
    ),
    *_known(
        "statsmodels 0.15.0: proportion_effectsize(group, reference)",
        ("cohens_h", "berkeley", "-0.2939545341", "women", "men"),
        ("cohens_h", "kidney", "-0.1150800136", "A", "B"),
    ),
    *_known(
        "statsmodels 0.15.0: OLS(smokes, number).params; scipy: linregress",
        ("slope", "smokers", "-0.0334156264"),
    ),
    *_known(
        "statsmodels 0.15.0: Table.test_ordinal_association().zscore root(n / (n - 1))",
        ("trend", "smokers", "-2.8679125310"),
    ),
    *_known(
        "the larger calibration error of those here",
        ("well_calibration", "fine scores", "0.2096666667"),
        ("well_calibration", "coarse scores", "0.1844444444"),
    ),
)
