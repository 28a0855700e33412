"""Catalogue: counts and rates of one group, formulas of rates (F1). Add a rate here."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairaudit.base.frozen import replace
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import Cell, GroupCounts
from fairaudit.metrics.definitions import (
    IGNORES_THE_LABEL,
    TRUSTS_THE_LABEL,
    Better,
    Bounds,
    Requirement,
)
from fairaudit.metrics.formulas import Mean, Rate
from fairaudit.metrics.group_metrics import CURVED, GroupMetric, GroupValues, ValueKind
from fairaudit.metrics.terms import NO_PARAMETERS, Parameters

BASE_RATES = (
    "If base rates differ, two groups can be equal in at most two of these three rates: {}, true "
    "positive rate and false positive rate. Decisions without false {}s are an exception."
)

BASE_RATE = Rate(
    id="base_rate",
    short="base rate",
    aliases=("prevalence",),
    family="data",
    description="The share of the group whose label is positive.",
    caution="The base rate describes the label, not the decision. History or the way of measuring "
    "can cause a difference.",
    source=citations.MLHEALTH,
    over=("positives",),
    under=("positives", "negatives"),
)
SELECTION_RATE = Rate(
    id="selection_rate",
    short="selection",
    participle="selected",
    aliases=("acceptance_rate", "positive_rate", "predicted_positive_rate"),
    family="independence",
    description="The share of the group that the decision selects.",
    caution=IGNORES_THE_LABEL + " Equal rates can hide careless selection in one group.",
    source=citations.ZLIOBAITE,
    other_tools="The same as Aequitas' `pprev`. Rows with an unknown label count here.",
    better=Better.POLARITY,
    over=("selected",),
    under=("selected", "rejected"),
)
TRUE_POSITIVE_RATE = Rate(
    id="true_positive_rate",
    short="TPR",
    aliases=("tpr", "recall", "sensitivity"),
    family="separation",
    description="Among people with a positive label, the share that the decision selects.",
    caution=TRUSTS_THE_LABEL,
    source=citations.HARDT,
    better=Better.HIGHER_OF_BENEFIT,
    over=("tp",),
    under=("tp", "fn"),
)
FALSE_NEGATIVE_RATE = Rate(
    id="false_negative_rate",
    short="FNR",
    aliases=("fnr", "miss_rate"),
    family="separation",
    description="Among people with a positive label, the share that the decision does not select: "
    "for a benefit, qualified people who do not get it; for a burden, people who are missed.",
    caution=TRUSTS_THE_LABEL,
    source=citations.CHOULDECHOVA,
    better=Better.LOWER_OF_BENEFIT,
    over=("fn",),
    under=("tp", "fn"),
)
FALSE_POSITIVE_RATE = Rate(
    id="false_positive_rate",
    short="FPR",
    aliases=("fpr", "fall_out"),
    family="separation",
    description="Among people with a negative label, the share that the decision selects: for a "
    "benefit, people who get the benefit without qualifying; for a burden, people who are falsely "
    "flagged.",
    caution=TRUSTS_THE_LABEL,
    source=citations.CHOULDECHOVA,
    better=Better.LOWER_OF_BURDEN,
    over=("fp",),
    under=("fp", "tn"),
)
TRUE_NEGATIVE_RATE = Rate(
    id="true_negative_rate",
    short="TNR",
    aliases=("tnr", "specificity"),
    family="separation",
    description="Among people with a negative label, the share that the decision does not select.",
    caution=TRUSTS_THE_LABEL,
    source=citations.MLHEALTH,
    better=Better.HIGHER_OF_BURDEN,
    over=("tn",),
    under=("fp", "tn"),
)
POSITIVE_PREDICTIVE_VALUE = Rate(
    id="positive_predictive_value",
    short="PPV",
    aliases=("ppv", "precision"),
    family="sufficiency",
    description="Among the selected people, the share with a positive label.",
    caution=BASE_RATES.format("positive predictive value", "positive"),
    source=citations.CHOULDECHOVA,
    over=("tp",),
    under=("tp", "fp"),
)
FALSE_DISCOVERY_RATE = Rate(
    id="false_discovery_rate",
    short="FDR",
    aliases=("fdr",),
    family="sufficiency",
    description="Among the selected people, the share with a negative label.",
    caution=BASE_RATES.format("false discovery rate", "positive"),
    source=citations.VERMA,
    over=("fp",),
    under=("tp", "fp"),
)
NEGATIVE_PREDICTIVE_VALUE = Rate(
    id="negative_predictive_value",
    short="NPV",
    aliases=("npv",),
    family="sufficiency",
    description="Among the people not selected, the share with a negative label.",
    caution=BASE_RATES.format("negative predictive value", "negative"),
    source=citations.VERMA,
    over=("tn",),
    under=("tn", "fn"),
)
FALSE_OMISSION_RATE = Rate(
    id="false_omission_rate",
    short="FOR",
    aliases=("for",),
    family="sufficiency",
    description="Among the people not selected, the share with a positive label.",
    caution=BASE_RATES.format("false omission rate", "negative"),
    source=citations.VERMA,
    over=("fn",),
    under=("tn", "fn"),
)
ACCURACY = Rate(
    id="accuracy",
    short="accuracy",
    aliases=("overall_accuracy",),
    family="accuracy",
    description="The share of the group whose prediction equals the label.",
    caution="Accuracy gives all errors the same weight. It can be high even if a rare outcome is "
    "never predicted.",
    source=citations.VERMA,
    better=Better.HIGHER,
    over=("tp", "tn"),
    under=("tp", "fp", "fn", "tn"),
)
ERROR_RATE = Rate(
    id="error_rate",
    short="errors",
    aliases=("zero_one_loss", "misclassification_rate"),
    family="accuracy",
    description="The share of the group whose prediction differs from the label.",
    caution="A missed selection has the same weight as a false selection.",
    source=citations.VERMA,
    better=Better.LOWER,
    over=("fp", "fn"),
    under=("tp", "fp", "fn", "tn"),
)
BALANCED_ACCURACY = Mean(
    id="balanced_accuracy",
    short="balanced acc.",
    family="accuracy",
    description="The mean of the true positive and the true negative rate.",
    caution="Balanced accuracy is a mean of two rates and not a share of people.",
    source=citations.BRODERSEN,
    better=Better.HIGHER,
    parts=(TRUE_POSITIVE_RATE, TRUE_NEGATIVE_RATE),
)
F1 = Rate(
    id="f1",
    title="F1 score",
    short="F1",
    aliases=("f1_score",),
    family="accuracy",
    description="Twice the true positives, divided by the sum of twice the true positives and all "
    "errors.",
    caution="F1 ignores true negatives and depends on the base rate. It is not a share of people.",
    source=citations.RIJSBERGEN,
    better=Better.HIGHER,
    over=("tp", "tp"),
    under=("tp", "tp", "fp", "fn"),
    kind=ValueKind.OF_SHARE,
    hits=("tp",),
    of_share=lambda share: 2 * share / (1 + share),
)
ERROR_TYPE_RATIO = Rate(
    id="error_type_ratio",
    title="Ratio of error types",
    short="fn/fp",
    aliases=("treatment_ratio",),
    family="separation",
    description="The number of false negatives for each false positive.",
    caution="A group without false positives has an infinite ratio of errors. With few errors, the "
    "ratio varies a lot by chance.",
    source=citations.VERMA,
    over=("fn",),
    under=("fp",),
    kind=ValueKind.OF_SHARE,
    hits=("fn",),
    of_share=lambda share: share / (1 - share),
    bias=CURVED,
    bounds=(0, None),
)
SELECTED_SHARE = Rate(
    id="selected_share",
    title="Share of the selected",
    short="of selected",
    family="independence",
    description="The number of selected people in the group divided by the number of all selected "
    "people.",
    caution="The share depends on the size of the group: compare it with the group's share of all "
    "people.",
    source=citations.AEQUITAS,
    other_tools='Aequitas calls it "predicted positive rate" (ppr).',
    over=("selected",),
    under=("all_selected",),
)

NOT_SELECTED_RATE = replace(
    SELECTION_RATE,
    id="rate_of_not_being_selected",
    over=("rejected",),
    title="Non-selection rate",
    short="not selected",
    description="The share of the group that is not selected, where the positive outcome is a "
    "burden.",
)
"""The rate that the four-fifths rule compares if the positive outcome is a burden."""

RATES: tuple[GroupMetric, ...] = (
    BASE_RATE,
    SELECTION_RATE,
    TRUE_POSITIVE_RATE,
    FALSE_NEGATIVE_RATE,
    FALSE_POSITIVE_RATE,
    TRUE_NEGATIVE_RATE,
    POSITIVE_PREDICTIVE_VALUE,
    FALSE_DISCOVERY_RATE,
    NEGATIVE_PREDICTIVE_VALUE,
    FALSE_OMISSION_RATE,
    ACCURACY,
    ERROR_RATE,
    BALANCED_ACCURACY,
    F1,
    ERROR_TYPE_RATIO,
    SELECTED_SHARE,
)


class PeopleCount(GroupMetric, kw_only=True):
    """The number of people in a group, or in one `cell` of the group, without weights."""

    cell: str = ""
    bounds: Bounds = (0, None)
    family: str = "data"
    no_interval: str = "the value is a count of these people, not an estimate"

    @property
    def requirements(self) -> frozenset[Requirement]:
        """Label and prediction for a cell; no columns for the size of a group."""
        return frozenset({Requirement.LABEL, Requirement.PREDICTION} if self.cell else ())

    @property
    def formula(self) -> str:
        """The cell that is counted."""
        return self.cell or "n"

    def compute(self, counts: GroupCounts, parameters: Parameters = NO_PARAMETERS) -> GroupValues:  # noqa: ARG002  # has no parameters
        """The value in every stratum and group; for a cell, `n` is the number in all four cells."""
        count = np.asarray(self._count(counts))
        n = np.asarray(counts.people.labelled) if self.cell else count
        return GroupValues(self, count.astype(np.float64), n, n.astype(np.float64))

    def exact(self, counts: GroupCounts, z: int, g: int, parameters: Parameters) -> Fraction | None:  # noqa: ARG002  # has no parameters
        """The value of one group."""
        return Fraction(int(self._count(counts)[z, g]))

    def _count(self, counts: GroupCounts) -> Cell:
        return getattr(counts.people, self.cell) if self.cell else counts.headcount


def _of_cell(cell: str, title: str, label: str, decision: str) -> PeopleCount:
    return PeopleCount(
        id=title.lower().replace(" ", "_"),
        title=title,
        short=cell.upper(),
        aliases=(cell,),
        description=f"The number of people with a {label} label who are {decision}.",
        caution="The number depends on the size of the group: compare rates instead. It counts "
        "people, not their weights.",
        source=citations.FAIRLEARN,
        other_tools=f"The same as Aequitas' `{cell}`.",
        cell=cell,
    )


GROUP_SIZE = PeopleCount(
    id="group_size",
    short="people",
    aliases=("n", "count"),
    description="The number of people in the group, with or without a known outcome.",
    caution="The size does not describe outcomes. Compare the size with the "
    "group's share of the people who could be in the data. People are counted, not their weights.",
    source=citations.FAIRLEARN,
    other_tools="The same as Fairlearn's `count`.",
    has_outcome=False,
)
PEOPLE_COUNTS = (
    GROUP_SIZE,
    _of_cell("tp", "True positives", "positive", "selected"),
    _of_cell("fp", "False positives", "negative", "selected"),
    _of_cell("fn", "False negatives", "positive", "not selected"),
    _of_cell("tn", "True negatives", "negative", "not selected"),
)
"""The size of a group, and the sizes of its four cells."""
