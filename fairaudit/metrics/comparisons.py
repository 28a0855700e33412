"""The comparisons: how a quantity of one group is set against another's."""

from __future__ import annotations

from fractions import Fraction
from operator import sub, truediv

import numpy as np

from fairaudit.metrics import intervals
from fairaudit.metrics import sources as works
from fairaudit.metrics.contrasts import (
    correlation,
    divergence,
    exact_normalized,
    normalized,
    standardized,
    standardized_by_all,
)
from fairaudit.metrics.measures import Comparison, Shape
from fairaudit.metrics.records import LIFTED_BY_CHANCE

DIFFERENCE = Comparison(
    id="difference",
    title="Difference to the reference",
    family="comparison",
    means="The group's value minus the reference's; 0 at parity, positive: more of it.",
    caution="Positive means more of the rate, not favoured: that depends on what is counted.",
    source=works.ZLIOBAITE,
    elsewhere="AIF360 subtracts in the same order; Žliobaitė's mean difference has the other sign.",
    formula="group - reference",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    interval=intervals.of_difference,
    maps=True,
)
RATIO = Comparison(
    id="ratio",
    title="Ratio to the reference",
    family="comparison",
    means="The group's value divided by the reference's; 1 at parity.",
    caution="Exaggerates at small rates: 2 % against 1 % is a ratio of 2 and one point.",
    source=works.MLHEALTH,
    elsewhere="For x/0 Aequitas prints 10 and aif360.sklearn 0, and others 0 for 0/0; here "
    "they are infinite and undefined.",
    formula="group / reference",
    shape=Shape.TO_REFERENCE,
    ideal=1,
    apply=truediv,
    quotient=True,
    interval=intervals.of_ratio,
    maps=True,
)
GAP = Comparison(
    id="gap",
    title="Gap between the highest and the lowest group",
    family="comparison",
    means="The highest value of a group minus the lowest; 0 at parity.",
    caution="Grows with the number of groups by chance alone: look at the sizes of the pair.",
    source=works.FAIRLEARN,
    elsewhere="Fairlearn's `difference(method='between_groups')`.",
    formula="highest - lowest",
    shape=Shape.SPREAD,
    ideal=0,
    apply=sub,
    quotient=False,
    interval=intervals.of_difference,
)
MIN_RATIO = Comparison(
    id="min_ratio",
    title="Ratio of the lowest to the highest group",
    family="comparison",
    means="The lowest value of a group divided by the highest; 1 at parity, never above.",
    caution="Shrinks with the number of groups by chance alone, and exaggerates at small rates.",
    source=works.FAIRLEARN,
    elsewhere="Fairlearn's `ratio(method='between_groups')`, which prints NaN or 0 for 0/0.",
    formula="lowest / highest",
    shape=Shape.SPREAD,
    ideal=1,
    apply=truediv,
    quotient=True,
    highest_first=False,
    interval=intervals.of_ratio,
)

LOG_RATIO = Comparison(
    id="log_ratio",
    title="Log-ratio to the reference",
    family="comparison",
    means="The natural logarithm of the group's value divided by the reference's; 0 at parity.",
    caution="Infinite where one of both is zero; a logarithm is compared with limits as a float.",
    source=works.FOULDS,
    elsewhere="ε of differential fairness is the largest of its absolute values.",
    formula="ln(group / reference)",
    of_positives=True,
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=lambda group, reference: np.log(group / reference),
    quotient=False,
    rational=False,
    range=(None, None),
    interval=intervals.of_log_ratio,
)
ODDS_RATIO = Comparison(
    id="odds_ratio",
    title="Odds ratio to the reference",
    family="comparison",
    means="The group's odds divided by the reference's; 1 at parity.",
    caution="Farther from 1 than the ratio of rates, and no statement about how many people.",
    source=works.ZLIOBAITE,
    elsewhere="Žliobaitė prints the other group on top, though the limits of her Table 4 need this "
    "orientation.",
    formula="group · (1 - reference) / (reference · (1 - group))",
    shape=Shape.TO_REFERENCE,
    ideal=1,
    apply=lambda group, reference: (group * (1 - reference)) / (reference * (1 - group)),
    quotient=True,
    interval=intervals.of_odds_ratio,
)
STANDARDIZED_DIFFERENCE = Comparison(
    id="standardized_difference",
    title="Standardized difference to the reference",
    family="comparison",
    means="The difference in units of the standard deviation; 0 at parity.",
    caution="The deviation is that of the two groups compared; 0.2 is called small by convention. "
    "Of skewed numbers the interval is too short.",
    source=works.COHEN,
    elsewhere="Cohen's d, with the pooled sample standard deviation.",
    formula="(group - reference) / pooled standard deviation",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    rational=False,
    contrast=standardized,
    range=(None, None),
    interval=intervals.of_standardized,
)
STANDARDIZED_DIFFERENCE_TOTAL = Comparison(
    id="standardized_difference_total",
    title="Standardized difference to the reference, by everybody's deviation",
    family="comparison",
    means="The difference in units of everybody's standard deviation; 0 at parity.",
    caution="The deviation is that of all known groups together, their differences included: it "
    "may be larger or smaller than the pooled one of the two groups compared.",
    source=works.GILL,
    elsewhere="Fair-lending practice calls it the standardized mean difference (SMD).",
    formula="(group - reference) / the sample standard deviation of everybody",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    rational=False,
    contrast=standardized_by_all,
    range=(None, None),
)
COHENS_H = Comparison(
    id="cohens_h",
    title="Cohen's h",
    family="comparison",
    means="The difference of two rates on the arcsine scale, where equal steps are equally seen.",
    caution="Not a number of people; 0.2 is called small by convention.",
    source=works.COHEN,
    formula="2 asin √group - 2 asin √reference",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=lambda group, reference: (
        2 * np.arcsin(np.sqrt(group)) - 2 * np.arcsin(np.sqrt(reference))
    ),
    quotient=False,
    rational=False,
    range=(-4, 4),
    interval=intervals.of_arcsines,
)
SHORTFALL = Comparison(
    id="shortfall",
    title="Difference to the reference, the survey's sign",
    family="comparison",
    means="The reference's value minus the group's; 0 at parity, positive: the group has less.",
    caution="The sign is the other way round than that of `difference`.",
    source=works.ZLIOBAITE,
    formula="reference - group",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=lambda group, reference: reference - group,
    quotient=False,
    interval=intervals.of_shortfall,
    maps=True,
)
NORMALIZED = Comparison(
    id="normalized",
    title="Difference to the reference, normalized",
    family="comparison",
    means="The difference divided by the largest that the same number of positives allows.",
    caution="1 is full separation at this share of positives, -1 the reverse; no number of people.",
    source=works.ZLIOBAITE,
    formula="(reference - group) / the largest such difference, in the two groups compared",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    contrast=normalized,
    exact_of=exact_normalized,
    range=(-1, 1),
    interval=intervals.of_normalized,
)
RANKED = Comparison(
    id="ranked",
    title="Chance that the reference is ranked higher",
    family="comparison",
    means="The probability that somebody of the reference has the higher value, plus half of ties.",
    caution="½ at parity; it says nothing about how far apart the values are.",
    source=works.ZLIOBAITE,
    elsewhere="Žliobaitė's rank formula lacks the division by n₀n₁; this is the area itself.",
    formula="½ + (reference - group) / 2",
    shape=Shape.TO_REFERENCE,
    ideal=Fraction(1, 2),
    apply=lambda group, reference: (1 + reference - group) / 2,
    quotient=False,
    range=(0, 1),
    interval=intervals.of_ranked_shares,
)
CORRELATION = Comparison(
    id="correlation",
    title="Correlation with membership",
    family="comparison",
    means="Pearson's correlation with belonging to the group, against the rest.",
    caution="Shrinks with the size of the smaller side; undefined where the outcome never varies.",
    source=works.ZLIOBAITE,
    formula="Pearson's r of the outcome and membership",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    rational=False,
    contrast=correlation,
    range=(-1, 1),
    interval=intervals.of_correlation,
)
DIVERGENCE = Comparison(
    id="divergence",
    title="Kullback–Leibler divergence from the reference",
    family="comparison",
    means="How much information is lost if the group's outcomes are taken for the reference's.",
    caution="Directed; infinite where the group has an outcome that the reference never has.",
    no_interval=LIFTED_BY_CHANCE,
    source=works.KULLBACK,
    formula="Σ over classes y of P(y|group) ln(P(y|group) / P(y|reference)), in nats",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    rational=False,
    contrast=divergence,
    range=(0, None),
)
COEFFICIENT = Comparison(
    id="coefficient",
    title="Coefficient of membership",
    family="comparison",
    means="By how much membership changes the outcome, in a least-squares fit; 0 at parity.",
    caution="An effect that differs between the levels of a control is averaged over them.",
    source=works.ZLIOBAITE,
    formula="coefficient of membership in least squares on dummies of groups and controls",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=sub,
    quotient=False,
    range=(None, None),
    interval=intervals.of_coefficient,
)
HIGHEST = Comparison(
    id="highest",
    title="The highest of all groups",
    family="comparison",
    means="The highest value of a group.",
    caution="Small groups reach high values by chance alone.",
    no_interval="chance has a part in who is the highest group",
    source=works.FAIRLEARN,
    formula="highest",
    shape=Shape.SPREAD,
    ideal=0,
    apply=lambda highest, lowest: highest,  # noqa: ARG005  # one side is the answer
    quotient=False,
)
ITSELF = Comparison(
    id="itself",
    title="The group's own value",
    family="comparison",
    means="The value of the group, which is a comparison already.",
    caution="0 at parity.",
    source=works.ZLIOBAITE,
    formula="group",
    shape=Shape.TO_REFERENCE,
    ideal=0,
    apply=lambda group, reference: group,  # noqa: ARG005  # one side is the answer
    quotient=False,
    range=(-1, 1),
    interval=intervals.of_itself,
)

COMPARISONS = (
    DIFFERENCE,
    RATIO,
    GAP,
    MIN_RATIO,
    LOG_RATIO,
    ODDS_RATIO,
    STANDARDIZED_DIFFERENCE,
    STANDARDIZED_DIFFERENCE_TOTAL,
    COHENS_H,
)
"""Those that a spec can ask for by `compare:`; the others stand in the criteria."""
