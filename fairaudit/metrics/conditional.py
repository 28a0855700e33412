"""Catalogue of disparities within strata: unexplained difference, Mantel–Haenszel odds, belift."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.cube import Floats, Ints
from fairaudit.metrics import citations
from fairaudit.metrics import rates as r
from fairaudit.metrics.average_arrays import settled_strata
from fairaudit.metrics.comparisons import COMMON_ODDS_RATIO, DIFFERENCE, ITSELF, RATIO, SHORTFALL
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.definitions import FACTOR, Better, Requirement
from fairaudit.metrics.disparities import REMAINDER, Disparity
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import count_effective_of_share, sum_cells
from fairaudit.metrics.terms import MIDDLE, OWN, POOLED, UNIFORM, Parameters, ReferencePolicy
from fairaudit.stats import proportions, sample_sizes

_PREDICTION = frozenset({Requirement.PREDICTION})
_BOTH = frozenset({Requirement.LABEL, Requirement.PREDICTION})


def _compute_disparity(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    mass, people = counts.weighted, counts.people
    value = mass.rejected / mass.all_rejected - mass.selected / mass.all_selected
    # A group that is alone in a stratum cannot differ from other groups.
    alone = (mass.rejected == mass.all_rejected) & (mass.selected == mass.all_selected)
    value = np.where(alone, np.nan, value if counts.favourable else -value)
    return value, np.asarray(people.all_selected + people.all_rejected)


def _compute_disparity_exactly(counts: GroupCounts, _: Parameters) -> Fraction | None:
    mass = counts.weighted
    if not mass.all_rejected or not mass.all_selected:
        return None
    if (mass.rejected, mass.selected) == (mass.all_rejected, mass.all_selected):
        return None
    value = Fraction(mass.rejected, mass.all_rejected) - Fraction(mass.selected, mass.all_selected)
    return value if counts.favourable else -value


def _bound_disparity(
    counts: GroupCounts, _: Parameters, alpha: Alpha, weights: Floats | None = None
) -> Ends:
    """The interval of the group's share of all rejected minus its share of all selected people.

    With `weights` [Z, G], it is the interval of the average over strata.
    """
    mass = counts.weighted
    shares = mass.rejected / mass.all_rejected, mass.selected / mass.all_selected
    sizes = [
        count_effective_of_share(counts, (name,), (f"all_{name}",))
        for name in ("rejected", "selected")
    ]
    if weights is None:
        low, high = proportions.gap_interval(shares[0], sizes[0], shares[1], sizes[1], alpha)
    else:
        # Over all strata, the difference plus 1 is a sum of shares: rejected and not selected.
        varying = np.where(settled_strata(counts), 0.0, weights)
        both = np.concatenate([shares[0], 1 - shares[1]]), np.concatenate(sizes)
        ends = proportions.average_interval(*both, np.concatenate([varying, varying]), alpha)
        low, high = (end - varying.sum(axis=0) for end in ends)
    return (low, high) if counts.favourable else (-high, -low)


DEMOGRAPHIC_DISPARITY = Formula(
    id="demographic_disparity",
    short="DD",
    family="independence",
    description="The group's share of all rejected people minus its share of all selected people.",
    caution="Of two groups with the same selection rate, the larger has the value that is farther "
    "from 0. So compare groups by the sign only.",
    source=citations.WACHTER,
    better=Better.LOWER,
    bounds=(-1, 1),
    formula="rejected / all rejected - selected / all selected; the opposite sign if the positive "
    "outcome is a burden",
    requirements=_PREDICTION,
    value_of=_compute_disparity,
    weighted_n_of=lambda mass: mass.all_selected + mass.all_rejected,
    undefined="no people in the group or in the comparison group",
    exact_of=_compute_disparity_exactly,
    ends_of=_bound_disparity,
    average_of=_bound_disparity,
    method=proportions.GAP_INTERVAL,
    uses_everybody=True,
)


def _define_stratum_share(
    name: str, who: str, cells: tuple[str, ...], needs: frozenset[Requirement]
) -> Formula:
    counted, of = f"({' + '.join(cells)})", who and f" among {who}"

    def value_of(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
        known = counts.known_strata[:, None]
        mass = np.where(known, sum_cells(counts.weighted, cells), 0)
        people = np.where(known, sum_cells(counts.people, cells), 0)
        share = np.where(known, mass / mass.sum(axis=0, keepdims=True), np.nan)
        return share, np.broadcast_to(people.sum(axis=0, keepdims=True), people.shape)

    def ends_of(counts: GroupCounts, parameters: Parameters, alpha: Alpha) -> Ends:
        share, people = value_of(counts, parameters)
        if counts.squares is None:
            return proportions.share_interval(share, people.astype(np.float64), alpha)
        known = counts.known_strata[:, None]
        mass, squares, n = (
            np.where(known, sum_cells(part, cells), 0)
            for part in (counts.weighted, counts.squares, counts.people)
        )
        here = mass / counts.scale, squares, n
        everywhere = tuple(part.sum(axis=0, keepdims=True) for part in here)
        size = sample_sizes.linearised_share(here, everywhere, counts.heaviest)
        return proportions.share_interval(share, size, alpha)

    return Formula(
        id=name,
        title=f"Share of the group{of} in the stratum",
        short=f"stratum{of}".replace("positives", "+").replace("negatives", "-"),
        family="conditional",
        description=f"The share of the group's {who or 'people'} who are in the stratum.",
        caution="The share describes where people are, not their outcomes. Two groups can be "
        "distributed very differently over the strata.",
        source=citations.BEUTEL,
        conditional=True,
        formula=f"{counted} in the stratum, divided by {counted} of the group in all known strata",
        undefined="the stratum is unknown, or no people",
        requirements=needs,
        value_of=value_of,
        ends_of=ends_of,
        method=proportions.SHARE_INTERVAL,
    )


GROUP_METRICS = (
    DEMOGRAPHIC_DISPARITY,
    _define_stratum_share("stratum_share", "", ("selected", "rejected"), _PREDICTION),
    _define_stratum_share("stratum_share_of_positives", "positives", ("tp", "fn"), _BOTH),
    _define_stratum_share("stratum_share_of_negatives", "negatives", ("fp", "tn"), _BOTH),
)

PROPENSITY_STRATIFIED_DIFFERENCE = Disparity(
    id="propensity_stratified_difference",
    title="Difference at equal propensity",
    short="d propensity",
    aliases=("propensity_measure",),
    description="The selection rate of the reference minus the selection rate of the group, among "
    "people with similar propensity. The propensity is the probability that a person with these "
    "features belongs to the group. People with similar propensity form a stratum, and both rates "
    "are averaged over the same strata.",
    caution=FACTOR + " A person without a comparable person in the other group is left out; the "
    "report says how many people this concerns. People with equal propensity need not have equal "
    "merit: check which features the propensity uses.",
    source=citations.CALDERS,
    other_tools="Žliobaitė (§3.3.2) builds strata with a logistic model, as Rosenbaum & Rubin "
    "(1983), https://doi.org/10.1093/biomet/70.1.41, do. In fairaudit, the weight of a stratum is "
    "its number of people; with `average: overlap`, it is n · m / (n + m), for the n people of the "
    "group and the m people of the reference in the stratum (Li, Morgan & Zaslavsky 2018). Like "
    "Žliobaitė, `unexplained_difference` with the same `given` averages over these strata.",
    parts=((r.SELECTION_RATE, SHORTFALL),),
    averages=(POOLED,),
    conditional=True,
)

DISPARITIES = (
    Disparity(
        id="conditional_equal_opportunity_gap",
        title="Conditional equality of opportunity, gap",
        short="cond. FPR diff.",
        aliases=("conditional_equality_gap",),
        description="The false positive rate of the group minus the false positive rate of the "
        "reference. Both rates are averaged over the same strata with the same weights (equal "
        "weights unless `average` is set).",
        caution=FACTOR + " With equal weights, a small stratum counts as much as a large one.",
        source=citations.BEUTEL,
        other_tools="With `average: group`, the weight of a stratum is the number of people of the "
        "group with a negative label in the stratum, P(a | s, y-). With `average: group_people`, "
        "it is the number of all people of the group in the stratum, P(a | s). `reference` and "
        "`reference_people` use the people of the reference instead. Beutel et al. also use the "
        "weight of all people of a group: their P(A = a | s = 0).",
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE),),
        averages=(UNIFORM,),
        conditional=True,
    ),
    Disparity(
        id="conditional_equal_opportunity_ratio",
        title="Conditional equality of opportunity, ratio",
        short="cond. FPR ratio",
        aliases=("conditional_equality_ratio",),
        description="The false positive rate of the group divided by the false positive rate of "
        "the reference. Both rates are averaged over the same strata with the same weights (equal "
        "weights unless `average` is set).",
        caution=FACTOR + " The value is a ratio of averages, not an average of ratios.",
        source=citations.BEUTEL,
        parts=((r.FALSE_POSITIVE_RATE, RATIO),),
        averages=(UNIFORM,),
        conditional=True,
    ),
    Disparity(
        id="unexplained_difference",
        short="d unexplained",
        description="The part of `mean_difference` that remains if both groups are distributed "
        "over the strata in the same way.",
        caution=FACTOR + " Only strata with people of both groups count: check how many people "
        "are in other strata.",
        source=citations.KAMIRAN,
        other_tools="Žliobaitė (§3.3) calls this difference d_u: the mean difference minus the "
        "explained difference.",
        parts=((r.SELECTION_RATE, SHORTFALL),),
        averages=(MIDDLE,),
        conditional=True,
    ),
    Disparity(
        id="explained_difference",
        short="d explained",
        description="The part of `mean_difference` that exists because the two groups are "
        "distributed differently over the strata.",
        caution=FACTOR + " An explained difference is not a justified difference: that depends on "
        "the factor.",
        source=citations.KAMIRAN,
        other_tools="Žliobaitė (§3.3) calls this difference d_e. As in her p*(+|z), the rate of a "
        "stratum is the plain mean of both groups' rates.",
        parts=((r.SELECTION_RATE, SHORTFALL), (r.SELECTION_RATE, SHORTFALL)),
        averages=(OWN, MIDDLE),
        fold=REMAINDER,
        conditional=True,
    ),
    PROPENSITY_STRATIFIED_DIFFERENCE,
    Disparity(
        id="mantel_haenszel_odds_ratio",
        title="Mantel–Haenszel odds ratio",
        short="MH odds ratio",
        aliases=("common_odds_ratio", "cochran_mantel_haenszel"),
        description="The odds of being selected in the group divided by the odds in the reference, "
        "among people in the same stratum; 1 at parity.",
        caution=FACTOR + " The value is one number for all strata: if the odds ratios of the "
        "strata differ, it describes no single stratum, and if they have opposite directions, it "
        "can be 1. The report also prints the two rates with the same mix of strata; the odds "
        "ratio of these rates is a different number.",
        source=citations.MANTEL,
        other_tools="The interval is made for the logarithm of the odds ratio, by the formula of "
        "Robins, Breslow & Greenland (1986), https://doi.org/10.2307/2531052. The test is that of "
        "Cochran (1954), without continuity correction. R's `mantelhaen.test` with "
        "`correct = FALSE` gives the same numbers.",
        parts=((r.SELECTION_RATE, COMMON_ODDS_RATIO),),
        averages=(POOLED,),
        conditional=True,
    ),
    Disparity(
        id="conditional_demographic_disparity",
        short="CDD",
        description="In each stratum: the group's share of all rejected people minus its share of "
        "all selected people. The value is the mean of these differences over the strata, weighted "
        "by people. Strata with only one group are left out.",
        caution=FACTOR + " Strata in which no one or everyone is selected contain no information.",
        source=citations.WACHTER,
        other_tools="SageMaker Clarify prints the same number if every stratum has both outcomes. "
        "If a stratum has only rejected or only selected people, one share is 0 of 0. Clarify "
        "counts it as 0; here it is undefined, and the report lists the stratum as left out.",
        version=2,
        parts=((DEMOGRAPHIC_DISPARITY, ITSELF),),
        averages=(POOLED,),
        reference=ReferencePolicy.OVERALL,
        conditional=True,
    ),
    Disparity(
        id="belift",
        title="Extended lift within a stratum",
        short="belift",
        aliases=("bayesian_elift",),
        description="The selection rate of the group in the stratum divided by the selection rate "
        "of all people in the stratum.",
        caution=FACTOR
        + " A large group pulls the overall rate towards its own. A variable that correlates with "
        "the group explains nothing here unless it defines the strata.",
        source=citations.MANCUHAN,
        other_tools="Mancuhan & Clifton compare people with equal inputs by a Bayesian network. "
        "Here the strata summarise the inputs, and the group is compared with all people in the "
        "same stratum.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.OVERALL,
        conditional=True,
    ),
    Disparity(
        id="belift_overall",
        title="Extended lift of a group and stratum over everybody",
        short="belift, all",
        description="The selection rate of the group in the stratum divided by the selection rate "
        "of all people in all strata.",
        caution="The value mixes the effects of stratum and group, because the rate of all "
        "people also differs from stratum to stratum.",
        source=citations.ZLIOBAITE,
        other_tools="The same as Žliobaitė's belift. Here, `belift` compares within the stratum.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.EVERYBODY,
        conditional=True,
    ),
)
