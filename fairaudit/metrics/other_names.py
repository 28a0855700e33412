"""Catalogue: names that are not metrics: presets, fair ranges; unsupported notions, and why.

Some notions need more than a table of counts: a distance between people, a causal model, a ranking.
Some names mean several measures, or a section of the spec.

A report names the presets that its spec uses. Fair ranges only mark values: they never fail a
check.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from decimal import Decimal

from fairaudit.base.frozen import Frozen
from fairaudit.metrics import citations
from fairaudit.metrics.citations import Citation
from fairaudit.metrics.disparities import Disparity


class UnsupportedMetric(Frozen):
    """A notion, the reason why it is not a metric here, and the ids of the nearest metrics.

    `spelt` contains the names of the notion, separated by spaces. `how` says how to use the nearest
    metric if its id is not enough.
    """

    spelt: str
    why: str
    nearest: tuple[str, ...]
    source: str
    how: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the notion, as a tuple."""
        return tuple(self.spelt.split())

    @property
    def advice(self) -> str:
        """The reason why the notion is not a metric, and the nearest metrics."""
        how = f" ({self.how})" if self.how else ""
        return f"{self.why}; nearest: {' or '.join(self.nearest)}{how}"


UNSUPPORTED_METRICS: tuple[UnsupportedMetric, ...] = (
    UnsupportedMetric(
        spelt="individual_fairness metric_fairness similarity_fairness individual_discrimination",
        why="it names a family of measures, not one number: similar people have similar outcomes",
        nearest=("consistency", "lipschitz_violations"),
        how="declare the features that define similarity in `columns: {features: …}`",
        source="Dwork, Hardt, Pitassi, Reingold & Zemel (2012), Fairness Through Awareness, ITCS",
    ),
    UnsupportedMetric(
        spelt="counterfactual_fairness counterfactual counterfactual_parity",
        why="it asks for the decision if the same person belonged to another group, which "
        "requires a causal model",
        nearest=("unexplained_difference", "conditional_statistical_parity"),
        how="both compare people with the same `given`, and neither is causal",
        source="Kusner, Loftus, Russell & Silva (2017), Counterfactual Fairness, NIPS",
    ),
    UnsupportedMetric(
        spelt="causal_fairness causal_effect total_effect direct_effect natural_direct_effect "
        "indirect_effect path_specific path_specific_effect path_specific_fairness "
        "interventional_fairness "
        "proxy_discrimination unresolved_discrimination",
        why="it is the effect of the protected column along paths of a causal model, which counts "
        "do not identify",
        nearest=("unexplained_difference", "conditional_statistical_parity"),
        how="both compare people with the same `given`, and neither is causal",
        source="Kilbertus et al. (2017), Avoiding Discrimination through Causal Reasoning, NIPS; "
        "Zhang & Bareinboim (2018), Fairness in Decision-Making, AAAI",
    ),
    UnsupportedMetric(
        spelt="fairness_through_unawareness fairness_through_blindness unawareness blindness "
        "anti_classification treatment_parity",
        why="it means that a model is built without the protected column, which decisions do not "
        "show",
        nearest=("unawareness_violations", "mutual_information"),
        how="the first shows decisions that no rule of the declared features explains, the second "
        "how much the decisions still reveal about the group: unawareness does not always reduce "
        "disparity",
        source="Corbett-Davies & Goel (2018), The Measure and Mismeasure of Fairness, as "
        "anti-classification",
    ),
    UnsupportedMetric(
        spelt="disparate_treatment direct_discrimination intentional_discrimination",
        why="it asks whether the protected column or an intent caused the decision, which counts "
        "do not show",
        nearest=("twin_test", "unexplained_difference"),
        how="name the columns that may influence the decision in `columns: {features: …}`, or in "
        "`given`",
        source="Barocas & Selbst (2016), Big Data's Disparate Impact, California Law Review 104",
    ),
    UnsupportedMetric(
        spelt="envy_freeness envy preferred_treatment preferred_impact",
        why="it asks whether people would prefer the decision rule of another group, and the data "
        "has one decision per person",
        nearest=("expected_utility", "selection_rate"),
        source="Zafar, Valera, Gomez Rodriguez, Gummadi & Weller (2017), From Parity to "
        "Preference-based Notions of Fairness, NIPS; Balcan, Dick, Noothigattu & Procaccia (2019), "
        "Envy-Free Classification, NeurIPS",
    ),
    UnsupportedMetric(
        spelt="meritocratic_fairness weak_meritocratic_fairness merit",
        why="it compares two people by their true quality, and counts of groups contain no "
        "single people",
        nearest=("between_group_auc", "equal_opportunity_difference"),
        source="Joseph, Kearns, Morgenstern & Roth (2016), Fairness in Learning: Classic and "
        "Contextual Bandits, NIPS",
    ),
    UnsupportedMetric(
        spelt="exposure fairness_of_exposure equity_of_attention ranking_fairness rank_fairness "
        "rank_parity ndkl",
        why="it weights the positions of a ranking, and counts of decisions have no ranking",
        nearest=("score_parity_gap", "scoring_impact_ratio"),
        how="or use the selection rate of the first places: `prediction: {positive: {top: 10%}}`",
        source="Singh & Joachims (2018), Fairness of Exposure in Rankings, KDD",
    ),
    UnsupportedMetric(
        spelt="recourse actionable_recourse equalized_recourse recourse_fairness",
        why="it is the effort that a person needs to change the decision of a model, and requires "
        "the model",
        nearest=("mean_score_negatives",),
        source="Ustun, Spangher & Liu (2019), Actionable Recourse in Linear Classification, FAT*",
    ),
    UnsupportedMetric(
        spelt="process_fairness procedural_fairness feature_fairness procedural_justice",
        why="it asks which inputs people consider fair, which outcomes do not show",
        nearest=("mutual_information",),
        source="Grgić-Hlača, Zafar, Gummadi & Weller (2018), Beyond Distributive Fairness, AAAI",
    ),
    UnsupportedMetric(
        spelt="threshold_test infra_marginality equal_thresholds",
        why="it infers each group's threshold by a model of hidden risks, which counts of "
        "decisions do not identify",
        nearest=("positive_predictive_value", "predictive_parity"),
        how="both are the outcome test, which is misleading if groups have different distributions "
        "of risk",
        source="Simoiu, Corbett-Davies & Goel (2017), The Problem of Infra-marginality in Outcome "
        "Tests for Discrimination, Annals of Applied Statistics 11:1193",
    ),
    UnsupportedMetric(
        spelt="bias_mitigation mitigation fairness_aware_learning discrimination_prevention "
        "reweighing adversarial_debiasing prejudice_remover exponentiated_gradient "
        "threshold_optimizer reject_option_classification",
        why="it changes data or a model, and an audit measures the result",
        nearest=("normalized_difference", "equalized_odds_difference"),
        how="declare both in `columns.models`: the report compares them",
        source="Agarwal, Beygelzimer, Dudík, Langford & Wallach (2018), A Reductions Approach to "
        "Fair Classification, ICML; Kamiran & Calders (2012), Data Preprocessing Techniques for "
        "Classification without Discrimination, KAIS 33",
    ),
    UnsupportedMetric(
        spelt="representational_harm stereotyping denigration erasure",
        why="it concerns how people are described and shown, which a table of decisions does not "
        "contain",
        nearest=("accuracy", "selected_share"),
        how="how well a system serves each group, and who is among the selected",
        source="Crawford (2017), The Trouble with Bias, NIPS keynote",
    ),
    UnsupportedMetric(
        spelt="outcome_test hit_rate",
        why="it has another name: the share of selected people who are positive",
        nearest=("positive_predictive_value", "predictive_parity"),
        source="Becker (1957), The Economics of Discrimination",
    ),
    UnsupportedMetric(
        spelt="independence group_fairness statistical_fairness",
        why="it names a family of measures, not one number: who is selected, regardless of the "
        "label",
        nearest=("demographic_parity_difference", "demographic_parity_ratio"),
        source="Barocas, Hardt & Narayanan (2023), Fairness and Machine Learning, chapter 3",
    ),
    UnsupportedMetric(
        spelt="likelihood_ratio",
        why="it is the inverse of the impact ratio: the rate of the reference divided by the rate "
        "of the group",
        nearest=("disparate_impact_ratio",),
        how="the test by a likelihood ratio is `G`",
        source="Feldman, Friedler, Moeller, Scheidegger & Venkatasubramanian (2015), Certifying "
        "and Removing Disparate Impact, KDD",
    ),
    UnsupportedMetric(
        spelt="conditional_independence conditional_independence_test cmh_test",
        why="it is a test, which the report prints next to each difference over strata",
        nearest=("unexplained_difference", "mantel_haenszel_odds_ratio"),
        how="with `given`, and `fail: {above: 0, significant: true}`",
        source="Mantel & Haenszel (1959), Statistical aspects of the analysis of data, JNCI 22",
    ),
    UnsupportedMetric(
        spelt="propensity_score_matching propensity_matching matching inverse_propensity_weighting "
        "propensity_score",
        why="which people are matched depends on the order of the rows; strata of equal "
        "propensity do not depend on it",
        nearest=("propensity_stratified_difference", "twin_test"),
        how="name the features in `columns: {features: …}`",
        source="Rosenbaum & Rubin (1983), The central role of the propensity score, Biometrika 70",
    ),
    UnsupportedMetric(
        spelt="knn k_nn k_nearest_neighbours k_nearest_neighbors nearest_neighbours "
        "nearest_neighbors",
        why="it is a way to find similar people, not a number",
        nearest=("consistency", "situation_testing"),
        how="with `k`, and `columns: {features: …}`",
        source="Luong, Ruggieri & Turini (2011), k-NN as an implementation of situation testing",
    ),
    UnsupportedMetric(
        spelt="oaxaca_blinder blinder_oaxaca oaxaca kitagawa decomposition",
        why="it splits a difference by fitted lines; here strata split it, without a model",
        nearest=("explained_difference", "unexplained_difference"),
        how="with `given`",
        source="Oaxaca (1973), Male-female wage differentials, International Economic Review 14",
    ),
    UnsupportedMetric(
        spelt="roc roc_curve abroca slice_analysis",
        why="it is a curve, which a report shows for each group if the spec names a score",
        nearest=("auc", "score_parity_gap"),
        how="name the score in `columns: {score: …}`",
        source="Gardner, Brooks & Baker (2019), Evaluating the fairness of predictive student "
        "models through slicing analysis, LAK",
    ),
    UnsupportedMetric(
        spelt="separation disparate_mistreatment",
        why="it names a family of measures, not one number: decisions among people with the same "
        "label",
        nearest=("equalized_odds_difference", "equal_opportunity_difference"),
        source="Barocas, Hardt & Narayanan (2023), Fairness and Machine Learning, chapter 3; "
        "Zafar et al. (2017), Fairness Beyond Disparate Treatment & Disparate Impact, WWW",
    ),
    UnsupportedMetric(
        spelt="sufficiency",
        why="it names a family of measures, not one number: labels among people with the same "
        "decision or score",
        nearest=("conditional_use_accuracy_equality", "test_fairness"),
        source="Barocas, Hardt & Narayanan (2023), Fairness and Machine Learning, chapter 3",
    ),
    UnsupportedMetric(
        spelt="minimax minimax_fairness max_min_fairness rawlsian_fairness worst_group_accuracy "
        "group_min group_max",
        why="it is the value of the worst group: set a limit on a rate without `compare`",
        nearest=("accuracy", "error_rate"),
        how="such as `{metric: accuracy, fail: {below: 0.7}}`; in Python `result.group_min(by)`",
        source="Diana, Gill, Kearns, Kenthapadi & Roth (2021), Minimax Group Fairness, AIES",
    ),
    UnsupportedMetric(
        spelt="subgroup_fairness rich_subgroup_fairness fairness_gerrymandering "
        "intersectional_fairness",
        why="it concerns all subgroups: use `subgroups:` in a spec",
        nearest=("differential_fairness",),
        how="over the combinations of the protected columns",
        source="Kearns, Neel, Roth & Wu (2018), Preventing Fairness Gerrymandering, ICML",
    ),
    UnsupportedMetric(
        spelt="simpsons_paradox simpson_paradox simpsons_reversal simpson",
        why="it is a search, not a measure: use `simpson:` in a spec",
        nearest=("unexplained_difference", "conditional_demographic_disparity"),
        source="Simpson (1951), The Interpretation of Interaction in Contingency Tables, JRSS B 13",
    ),
)

_BY_NAME = {name: notion for notion in UNSUPPORTED_METRICS for name in notion.names}
_NEAR = 0.85
"""The smallest similarity at which a misspelt name counts as the name of a notion."""


def normalize_name(text: str) -> str:
    """A name in the spelling of ids: `predictive_equality` for `Predictive Equality`."""
    return "_".join(text.strip().casefold().replace("-", " ").replace("'", "").split())


def find_notion(name: str, known: Iterable[str]) -> UnsupportedMetric | None:
    """The notion with this name, or with a similar name unless a metric is nearer; else None."""
    word = normalize_name(name)
    exact = _BY_NAME.get(word)
    if exact is not None:
        return exact
    near = difflib.get_close_matches(word, [*known, *_BY_NAME], n=1, cutoff=_NEAR)
    return _BY_NAME.get(near[0]) if near else None


class Preset(Frozen):
    """Metrics that a source uses together; a limit applies to the first metric."""

    name: str
    metrics: tuple[str, ...]
    why: str
    source: Citation


PRESETS = (
    Preset(
        name="survey",
        metrics=(
            "normalized_difference",
            "mean_difference",
            "between_group_auc_score",
            "unexplained_difference",
        ),
        why="differences are easier to read than ratios, and the normalized difference does not "
        "depend on the number of selected people. Use them within uniform segments: there, nothing "
        "else explains a difference",
        source=citations.ZLIOBAITE,
    ),
    Preset(
        name="fairmlhealth",
        metrics=(
            "disparate_impact_ratio",
            "statistical_parity_difference",
            "fairmlhealth_equal_odds_ratio",
            "fairmlhealth_equal_odds_difference",
            "average_odds_difference",
            "average_odds_error",
            "true_positive_rate_ratio",
            "true_positive_rate_difference",
            "false_positive_rate_ratio",
            "false_positive_rate_difference",
            "positive_predictive_value_ratio",
            "positive_predictive_value_difference",
            "balanced_accuracy_ratio",
            "balanced_accuracy_difference",
            "mean_prediction_ratio",
            "mean_prediction_difference",
            "mae_ratio",
            "mae_difference",
            "between_group_generalized_entropy",
            "generalized_entropy",
            "base_rate",
            "accuracy",
            "f1",
            "auc",
            "average_precision",
            "mean_label",
            "rmse",
            "r2",
        ),
        why="these are the metrics of its fairness table and of its performance table, for classes "
        "or for numbers",
        source=citations.MLHEALTH,
    ),
)


def find_preset(name: str) -> Preset | None:
    """The preset with this name; None for an unknown name."""
    return next((preset for preset in PRESETS if preset.name == name), None)


class FairRanges(Frozen):
    """Ranges that a source calls fair: for ratios, two bounds; for differences, an upper limit.

    The limit of a difference is the share `part` of the possible range. Fair ranges mark values in
    a report; they never fail a check.
    """

    name: str
    ratio: tuple[Decimal, Decimal]
    part: Decimal
    source: Citation

    def range_of(self, metric: Disparity) -> tuple[Decimal, Decimal] | None:
        """The bounds between which the source calls a metric fair; None if it gives no bounds.

        Differences of unbounded numbers have no bounds here: the source uses the range in the data.
        """
        rate, comparison = metric.parts[0]
        if comparison.id in {"ratio", "min_ratio"}:
            return self.ratio
        low, high = rate.bounds
        if comparison.id not in {"difference", "gap"} or low is None or high is None:
            return None
        return -self.part * (high - low), self.part * (high - low)


FAIR_RANGES = (
    FairRanges(
        name="fairmlhealth",
        ratio=(Decimal("0.8"), Decimal("1.2")),
        part=Decimal("0.1"),
        source=citations.MLHEALTH,
    ),
)


def find_ranges(name: str | None) -> FairRanges | None:
    """The ranges with this name; None for an unknown name."""
    return next((ranges for ranges in FAIR_RANGES if ranges.name == name), None)
