"""Catalogue: comparisons of two groups: difference, ratio (0/0), odds. Add a comparison here."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from operator import neg, sub, truediv
from typing import Any

import numpy as np

from fairaudit.cube import Floats
from fairaudit.metrics import citations
from fairaudit.metrics import pair_intervals as intervals
from fairaudit.metrics.definitions import BIASED_BY_CHANCE, HIGHER_POWERS
from fairaudit.metrics.disparities import Comparison, Pair, Rescaling, Sides
from fairaudit.metrics.pair_intervals import Scale
from fairaudit.stats.strata import mantel_haenszel


def standardized(sides: Sides) -> Floats:
    """The difference in units of the pooled sample standard deviation of both sides.

    The degrees of freedom count people, so the variance does not change with the scale of the
    weights, or with clusters.
    """
    first, second = sides.group, sides.reference
    n, m, people = first.weighted_n, second.weighted_n, first.n + second.n
    mean = (n * first.variance + m * second.variance) / (n + m)
    variance = mean * people / (people - 2)
    return np.asarray((first.value - second.value) / np.sqrt(variance))


def standardized_by_all(sides: Sides) -> Floats:
    """The difference in units of the sample standard deviation of all people."""
    n = sides.everybody.n
    variance = sides.everybody.variance * n / (n - 1)
    return np.asarray((sides.group.value - sides.reference.value) / np.sqrt(variance))


def correlation(sides: Sides) -> Floats:
    """R = (mean inside - mean outside) · √(a b) / √(total variance) for sides with shares a, b."""
    n, m = sides.group.weighted_n, sides.reference.weighted_n
    a, b = n / (n + m), m / (n + m)
    apart = sides.group.value - sides.reference.value
    within = a * sides.group.variance + b * sides.reference.variance
    return np.asarray(apart * np.sqrt(a * b) / np.sqrt(within + apart**2 * a * b))


def normalized(sides: Sides) -> Floats:
    """The difference divided by its largest possible value (Žliobaitė 2015, §3.2)."""
    group, reference = sides.group, sides.reference
    p, q = group.value, reference.value
    if group.under is None or reference.under is None:
        return np.full_like(p, np.nan)
    n, m = group.under, reference.under
    share = m / (n + m)
    plus = (p * n + q * m) / (n + m)
    difference = q - p
    most = np.where(
        difference > 0,
        np.minimum(plus / share, (1 - plus) / (1 - share)),
        np.minimum(plus / (1 - share), (1 - plus) / share),
    )
    ratio = np.where(difference == 0, 0.0, difference / most)
    return np.asarray(np.where((plus > 0) & (plus < 1), ratio, np.nan))


def exact_normalized(group: tuple[int, int], reference: tuple[int, int]) -> Fraction | None:
    """The normalized difference as a fraction, from (numerator, denominator) of both rates."""
    (a, n), (c, m) = group, reference
    if not n or not m:
        return None
    hits, misses = a + c, n + m - a - c
    if not hits or not misses:
        return None
    # Numerator and denominator of `normalized`, both multiplied by n · m.
    difference = c * n - a * m
    most = (hits * n, misses * m) if difference > 0 else (hits * m, misses * n)
    return Fraction(difference, min(most))


def divergence(sides: Sides) -> Floats:
    """Σ p ln(p / q) over classes with shares p (group) and q (reference), in nats; at least 0."""
    p, q = sides.group.shares, sides.reference.shares
    if p is None or q is None:
        return np.full_like(sides.group.value, np.nan)
    terms: Any = np.where(p == 0, 0.0, p * np.log(p / q))
    # Rounding may give a divergence slightly below 0.
    return np.asarray(np.maximum(terms.sum(axis=1), 0.0))


def common_odds_ratio(sides: Sides) -> Floats:
    """Σ a d / N divided by Σ b c / N, with both sums over strata of N people.

    a and b are the hits and misses of the group, c and d the hits and misses of the reference.
    """
    first, second = sides.group.strata, sides.reference.strata
    if first is None or second is None:
        return np.full_like(sides.group.value, np.nan)
    result = mantel_haenszel(*first.weighted_trials, *second.weighted_trials)
    return np.asarray(result.odds_ratio[None])


def exact_common_odds_ratio(strata: Sequence[Pair]) -> Fraction | None:
    """The common odds ratio as a fraction, from numerators and denominators in every stratum."""
    over = under = Fraction(0)
    for (a, n), (c, m) in strata:
        if n and m:
            over += Fraction(a * (m - c), n + m)
            under += Fraction((n - a) * c, n + m)
    return over / under if under else None


DIFFERENCE = Comparison(
    id="difference",
    title="Difference to the reference",
    sentence="The {0} of the group minus the {0} of the reference.",
    description="The value of the group minus the value of the reference; 0 at parity, positive if "
    "the group has more.",
    caution="A positive difference means a higher rate, and a higher rate is not always better for "
    "the group.",
    source=citations.ZLIOBAITE,
    other_tools="AIF360 subtracts in the same order; Žliobaitė's mean difference has the opposite "
    "sign.",
    formula="group - reference",
    apply=sub,
    scale=Scale.DIFFERENCE,
    worked="{a} - {b}",
)
RATIO = Comparison(
    id="ratio",
    title="Ratio to the reference",
    sentence="The {0} of the group divided by the {0} of the reference.",
    description="The value of the group divided by the value of the reference; 1 at parity.",
    caution="If rates are small, a small difference gives a ratio far from 1: 1 % and 2 % differ "
    "by only 1 percentage point, and the ratio is 0.5.",
    source=citations.MLHEALTH,
    other_tools="For x/0, Aequitas prints 10 and aif360.sklearn 0; here the ratio is infinite. For "
    "0/0, other tools print 0; here the ratio is undefined.",
    formula="group / reference",
    ideal=1,
    apply=truediv,
    scale=Scale.RATIO,
    worked="({a}) / ({b})",
)
GAP = Comparison(
    id="gap",
    title="Gap between the highest and the lowest group",
    sentence="The highest {0} of any group minus the lowest {0}.",
    description="The highest value of any group minus the lowest value; 0 at parity.",
    caution="By chance alone, the gap is larger if there are many groups or small ones: look at "
    "the number of groups and at their sizes.",
    source=citations.FAIRLEARN,
    other_tools="The same as Fairlearn's `difference(method='between_groups')`.",
    formula="highest - lowest",
    is_max_min=True,
    apply=sub,
    scale=Scale.DIFFERENCE,
    worked="{a} - {b}",
)
MIN_RATIO = Comparison(
    id="min_ratio",
    title="Ratio of the lowest to the highest group",
    sentence="The lowest {0} of any group divided by the highest {0}.",
    description="The lowest value of any group divided by the highest value; 1 at parity, never "
    "above 1.",
    caution="By chance alone, the ratio is lower if there are many groups or small ones: look at "
    "the number of groups and at their sizes. The ratio looks extreme if rates are small.",
    source=citations.FAIRLEARN,
    other_tools="Fairlearn's `ratio(method='between_groups')` is the same, but prints NaN or 0 for "
    "0/0.",
    formula="lowest / highest",
    is_max_min=True,
    ideal=1,
    apply=truediv,
    highest_first=False,
    scale=Scale.RATIO,
    worked="({a}) / ({b})",
)
LOG_RATIO = Comparison(
    id="log_ratio",
    title="Log-ratio to the reference",
    description="The natural logarithm of this ratio: the value of the group divided by the value "
    "of the reference; 0 at parity.",
    caution="The log-ratio is infinite if one of the two values is zero. Limits are compared with "
    "its rounded value (a floating-point number).",
    source=citations.FOULDS,
    other_tools="ε of differential fairness is the largest log-ratio of any two groups.",
    formula="ln(group / reference)",
    of_positives=True,
    apply=lambda group, reference: np.log(group / reference),
    rational=False,
    range=(None, None),
    scale=Scale.RATIO,
    rescaling=Rescaling(np.log, np.exp),
    worked="ln(({a}) / ({b}))",
)
ODDS_RATIO = Comparison(
    id="odds_ratio",
    title="Odds ratio to the reference",
    description="The odds of the group divided by the odds of the reference; 1 at parity.",
    caution="The odds ratio is farther from 1 than the ratio of the rates, and does not show how "
    "many people are affected.",
    source=citations.ZLIOBAITE,
    other_tools="Žliobaitė prints the inverse, but the limits in her Table 4 are those of this "
    "ratio.",
    formula="group · (1 - reference) / (reference · (1 - group))",
    ideal=1,
    apply=lambda group, reference: (group * (1 - reference)) / (reference * (1 - group)),
    scale=Scale.ODDS,
    worked="(({a}) · (1 - {b})) / (({b}) · (1 - {a}))",
)
COMMON_ODDS_RATIO = Comparison(
    id="common_odds_ratio",
    title="Odds ratio that the strata have in common",
    description="The common odds ratio of people in the same stratum; 1 at parity.",
    caution="If the odds ratios of the strata differ, the common odds ratio describes no single "
    "stratum.",
    no_interval="an odds ratio of 0, or an infinite one, has no variance on the log scale",
    source=citations.MANTEL,
    formula="(Σ over strata of a d / N) / (Σ over strata of b c / N); group: a = selected, b = not "
    "selected; reference: c = selected, d = not selected; N = a + b + c + d",
    ideal=1,
    apply=lambda group, reference: (group * (1 - reference)) / (reference * (1 - group)),
    contrast=common_odds_ratio,
    exact_in_strata=exact_common_odds_ratio,
    interval=intervals.of_common_odds_ratio,
)
STANDARDIZED_DIFFERENCE = Comparison(
    id="standardized_difference",
    title="Standardized difference to the reference",
    description="The difference between the group and the reference, in units of the standard "
    "deviation; 0 at parity.",
    caution="The unit is the standard deviation of the two compared groups. By convention, 0.2 is "
    "small.",
    no_interval=HIGHER_POWERS,
    source=citations.COHEN,
    other_tools="The same as Cohen's d with the pooled sample standard deviation.",
    formula="(group - reference) / pooled standard deviation",
    apply=sub,
    rational=False,
    contrast=standardized,
    range=(None, None),
    interval=intervals.of_standardized,
)
STANDARDIZED_DIFFERENCE_TOTAL = Comparison(
    id="standardized_difference_total",
    title="Standardized difference to the reference, by everybody's deviation",
    description="The difference between the group and the reference, in units of the standard "
    "deviation of all people; 0 at parity.",
    caution="The unit is the standard deviation of all known groups together, including "
    "differences between groups. It can be larger or smaller than the pooled standard deviation of "
    "the two compared groups.",
    source=citations.GILL,
    other_tools="In fair lending, this value is called the standardized mean difference (SMD).",
    formula="(group - reference) / the sample standard deviation of everybody",
    apply=sub,
    rational=False,
    contrast=standardized_by_all,
    range=(None, None),
)
_PI = Decimal("3.1416")
"""π, rounded up."""

COHENS_H = Comparison(
    id="cohens_h",
    title="Cohen's h",
    description="The difference of two rates on the arcsine scale. On this scale, equal "
    "differences are equally easy to detect.",
    caution="The value is not a number of people. By convention, 0.2 is small.",
    source=citations.COHEN,
    formula="2 asin √group - 2 asin √reference",
    apply=lambda group, reference: (
        2 * np.arcsin(np.sqrt(group)) - 2 * np.arcsin(np.sqrt(reference))
    ),
    rational=False,
    range=(-_PI, _PI),
    scale=Scale.ARCSINE,
    worked="2 asin √({a}) - 2 asin √({b})",
)
SHORTFALL = Comparison(
    id="shortfall",
    title="Difference to the reference, with the opposite sign",
    sentence="The {0} of the reference minus the {0} of the group.",
    description="The value of the reference minus the value of the group; 0 at parity, positive if "
    "the group has less.",
    caution="The sign is opposite to that of `difference`.",
    source=citations.ZLIOBAITE,
    formula="reference - group",
    apply=lambda group, reference: reference - group,
    scale=Scale.DIFFERENCE,
    rescaling=Rescaling(neg, neg),
    worked="{b} - {a}",
    rises_with_rate=False,
)
NORMALIZED = Comparison(
    id="normalized",
    title="Difference to the reference, normalized",
    description="The difference divided by the largest difference that is possible with the same "
    "number of positives.",
    caution="A value of 1 or -1 means that one of the two groups has as many of the positives as "
    "possible. The value is not a number of people.",
    source=citations.ZLIOBAITE,
    formula="(reference - group) / the largest such difference, in the two groups compared",
    apply=sub,
    contrast=normalized,
    exact_of=exact_normalized,
    range=(-1, 1),
    interval=intervals.of_normalized,
    rises_with_rate=False,
)
RANKED = Comparison(
    id="ranked",
    title="Chance that the reference is ranked higher",
    description="The probability that a person of the reference has the higher value, plus half of "
    "the ties.",
    caution="The value is ½ at parity. It does not show how far apart the values of the two people "
    "are.",
    source=citations.ZLIOBAITE,
    other_tools="Žliobaitė's rank formula lacks the division by n₀n₁; this is the area itself.",
    formula="½ + (reference - group) / 2",
    ideal=Fraction(1, 2),
    apply=lambda group, reference: (1 + reference - group) / 2,
    range=(0, 1),
    interval=intervals.of_ranked_shares,
    worked="(1 + {b} - {a}) / 2",
    rises_with_rate=False,
)
CORRELATION = Comparison(
    id="correlation",
    title="Correlation with membership",
    description="Pearson's correlation with belonging to the group, against the rest.",
    caution="The value is small if one side is small. It is undefined if the outcome does not "
    "vary.",
    no_interval=HIGHER_POWERS,
    source=citations.ZLIOBAITE,
    formula="Pearson's r of the outcome and membership in the group (1 or 0)",
    apply=sub,
    rational=False,
    contrast=correlation,
    range=(-1, 1),
    interval=intervals.of_correlation,
)
DIVERGENCE = Comparison(
    id="divergence",
    title="Kullback–Leibler divergence from the reference",
    description="The information lost if the reference's distribution of outcomes is used for the "
    "group.",
    caution="If group and reference are swapped, the value is different. It is infinite if the "
    "group has an outcome that the reference does not have.",
    no_interval=BIASED_BY_CHANCE,
    source=citations.KULLBACK,
    formula="Σ over classes y of P(y|group) ln(P(y|group) / P(y|reference)), in nats",
    apply=sub,
    rational=False,
    contrast=divergence,
    range=(0, None),
)
COEFFICIENT = Comparison(
    id="coefficient",
    title="Coefficient of membership",
    description="The change of the outcome with group membership in a least-squares fit; 0 at "
    "parity.",
    caution="If the effect differs between the levels of a control, the value is an average.",
    source=citations.ZLIOBAITE,
    formula="the group's coefficient in a least-squares fit on groups and controls",
    apply=sub,
    range=(None, None),
    interval=intervals.of_coefficient,
)
HIGHEST = Comparison(
    id="highest",
    title="The highest of all groups",
    sentence="The largest {} of any group.",
    description="The highest value of any group.",
    caution="Small groups reach high values by chance alone.",
    no_interval="the extreme group is chosen from the same data, and no interval here takes that "
    "into account",
    source=citations.FAIRLEARN,
    formula="highest",
    is_max_min=True,
    apply=lambda highest, lowest: highest,  # noqa: ARG005  # uses only one side
    one_sided=True,
    worked="{a}",
)
ITSELF = Comparison(
    id="itself",
    title="The group's own value",
    description="The value of the group, which is already a comparison.",
    caution="The value is 0 at parity.",
    source=citations.ZLIOBAITE,
    formula="group",
    apply=lambda group, reference: group,  # noqa: ARG005  # uses only one side
    range=(-1, 1),
    interval=intervals.of_itself,
    one_sided=True,
    worked="{a}",
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
"""The comparisons for `compare:` in a spec; criteria also use all other comparisons above."""
