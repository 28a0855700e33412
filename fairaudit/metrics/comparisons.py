"""The comparisons: how a quantity of one group is set against another's."""

from __future__ import annotations

from operator import sub, truediv

from fairaudit.metrics.records import Comparison, Shape, Source

_SURVEY = Source("Žliobaitė", 2015, "https://arxiv.org/abs/1511.00148")
_MLHEALTH = Source("Allen et al., fairMLHealth: Evaluating Fairness", 2021)
_FAIRLEARN = Source("Weerts et al., Fairlearn", 2023, "https://arxiv.org/abs/2303.16626")

DIFFERENCE = Comparison(
    id="difference",
    title="Difference to the reference",
    family="comparison",
    means="The group's value minus the reference's; 0 at parity, positive: more of it.",
    caution="Positive means more of the rate, not favoured: that depends on what is counted.",
    source=_SURVEY,
    elsewhere="AIF360 subtracts in the same order; Žliobaitė's mean difference has the other sign.",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
)
RATIO = Comparison(
    id="ratio",
    title="Ratio to the reference",
    family="comparison",
    means="The group's value divided by the reference's; 1 at parity.",
    caution="Exaggerates at small rates: 2 % against 1 % is a ratio of 2 and one point.",
    source=_MLHEALTH,
    elsewhere="Aequitas prints 10 for x/0 and others 0 for 0/0; here they are infinite, undefined.",
    shape=Shape.TO_REFERENCE,
    ideal=1,
    apply=truediv,
    quotient=True,
)
GAP = Comparison(
    id="gap",
    title="Gap between the highest and the lowest group",
    family="comparison",
    means="The highest value of a group minus the lowest; 0 at parity.",
    caution="Grows with the number of groups by chance alone: look at the sizes of the pair.",
    source=_FAIRLEARN,
    elsewhere="Fairlearn's `difference(method='between_groups')`.",
    shape=Shape.SPREAD,
    ideal=0,
    apply=sub,
    quotient=False,
)
MIN_RATIO = Comparison(
    id="min_ratio",
    title="Ratio of the lowest to the highest group",
    family="comparison",
    means="The lowest value of a group divided by the highest; 1 at parity, never above.",
    caution="Shrinks with the number of groups by chance alone, and exaggerates at small rates.",
    source=_FAIRLEARN,
    elsewhere="Fairlearn's `ratio(method='between_groups')`, which prints NaN or 0 for 0/0.",
    shape=Shape.SPREAD,
    ideal=1,
    apply=truediv,
    quotient=True,
    highest_first=False,
)

COMPARISONS = (DIFFERENCE, RATIO, GAP, MIN_RATIO)
