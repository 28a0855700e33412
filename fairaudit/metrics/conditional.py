"""Catalogue: disparities within strata: unexplained, conditional, Mantel–Haenszel odds, belift."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fairaudit.base.arrays import Alpha, Ends
from fairaudit.cube import Floats, Ints
from fairaudit.metrics import rates as r
from fairaudit.metrics import works
from fairaudit.metrics.comparisons import COMMON_ODDS_RATIO, DIFFERENCE, ITSELF, RATIO, SHORTFALL
from fairaudit.metrics.confusion_counts import GroupCounts
from fairaudit.metrics.definitions import Requirement
from fairaudit.metrics.disparities import Disparity
from fairaudit.metrics.folds import REMAINDER
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import count_effective_of_share, sum_cells
from fairaudit.metrics.preferences import Better
from fairaudit.metrics.terms import MIDDLE, OWN, POOLED, UNIFORM, Parameters, ReferencePolicy
from fairaudit.stats import effective_size, proportions

_FACTOR = "A factor that is itself shaped by the disparity hides it."
_PREDICTION = frozenset({Requirement.PREDICTION})
_BOTH = frozenset({Requirement.LABEL, Requirement.PREDICTION})


def _disparity(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    mass, people = counts.weighted, counts.people
    value = mass.rejected / mass.all_rejected - mass.selected / mass.all_selected
    # Whoever is alone has nobody to differ from.
    alone = (mass.rejected == mass.all_rejected) & (mass.selected == mass.all_selected)
    value = np.where(alone, np.nan, value if counts.favourable else -value)
    return value, np.asarray(people.all_selected + people.all_rejected)


def _exact_disparity(counts: GroupCounts, _: Parameters) -> Fraction | None:
    mass = counts.weighted
    if not mass.all_rejected or not mass.all_selected:
        return None
    if (mass.rejected, mass.selected) == (mass.all_rejected, mass.all_selected):
        return None
    value = Fraction(mass.rejected, mass.all_rejected) - Fraction(mass.selected, mass.all_selected)
    return value if counts.favourable else -value


def _ends_of_disparity(counts: GroupCounts, _: Parameters, alpha: Alpha) -> Ends:
    """The ends of two shares of other people: the rejected and the selected."""
    mass = counts.weighted
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = mass.rejected / mass.all_rejected, mass.selected / mass.all_selected
    sizes = (
        count_effective_of_share(counts, (name,), (f"all_{name}",))
        for name in ("rejected", "selected")
    )
    low, high = proportions.newcombe(shares[0], next(sizes), shares[1], next(sizes), alpha)
    return (low, high) if counts.favourable else (-high, -low)


DEMOGRAPHIC_DISPARITY = Formula(
    id="demographic_disparity",
    short="DD",
    family="independence",
    means="The group's share of the rejected minus its share of the selected.",
    caution="A large group's is larger at equal rates; only its sign compares groups.",
    source=works.WACHTER,
    better=Better.LOWER,
    bounds=(-1, 1),
    formula="rejected / all rejected - selected / all selected; the other way round where the "
    "positive is a burden",
    requirements=_PREDICTION,
    value_of=_disparity,
    weighted_n_of=lambda mass: mass.all_selected + mass.all_rejected,
    undefined="nobody to count, or nobody to compare with",
    exact_of=_exact_disparity,
    ends_of=_ends_of_disparity,
    method="Newcombe",
    uses_everybody=True,
)


def _share_of(cells: tuple[str, ...], counts: GroupCounts) -> tuple[Floats, Ints]:
    known = counts.known_strata[:, None]
    mass = np.where(known, sum(getattr(counts.weighted, cell) for cell in cells), 0)
    people = np.where(known, sum(getattr(counts.people, cell) for cell in cells), 0)
    share = np.where(known, mass / mass.sum(axis=0, keepdims=True), np.nan)
    return share, np.broadcast_to(people.sum(axis=0, keepdims=True), people.shape)


def _ends_of_share(cells: tuple[str, ...], counts: GroupCounts, alpha: Alpha) -> Ends:
    share, people = _share_of(cells, counts)
    if counts.squares is None:
        return proportions.share_interval(share, people.astype(np.float64), alpha)
    known = counts.known_strata[:, None]
    mass, squares, n = (
        np.where(known, sum_cells(part, cells), 0)
        for part in (counts.weighted, counts.squares, counts.people)
    )
    here = mass / counts.scale, squares, n
    everywhere = tuple(part.sum(axis=0, keepdims=True) for part in here)
    size = effective_size.linearised_share(here, everywhere)
    return proportions.share_interval(share, size, alpha)


def _stratum_share(
    name: str, of: str, cells: tuple[str, ...], needs: frozenset[Requirement]
) -> Formula:
    counted = f"({' + '.join(cells)})"
    return Formula(
        id=name,
        title=f"Share of the group{of} in the stratum",
        short=f"stratum{of}".replace("positives", "+").replace("negatives", "-"),
        family="conditional",
        means=f"The share of the group{of} that stands in the stratum.",
        caution="Describes who is where; the strata of two groups may be filled very differently.",
        source=works.BEUTEL,
        conditional=True,
        formula=f"{counted} in the stratum, divided by {counted} of the group in all known strata",
        undefined="the stratum is not known, or nobody to count",
        requirements=needs,
        value_of=lambda counts, _: _share_of(cells, counts),
        ends_of=lambda counts, _, alpha: _ends_of_share(cells, counts, alpha),
        method=proportions.SHARE_INTERVAL,
    )


STRATUM_SHARE = _stratum_share("stratum_share", "", ("selected", "rejected"), _PREDICTION)
STRATUM_SHARE_OF_POSITIVES = _stratum_share(
    "stratum_share_of_positives", " among positives", ("tp", "fn"), _BOTH
)
STRATUM_SHARE_OF_NEGATIVES = _stratum_share(
    "stratum_share_of_negatives", " among negatives", ("fp", "tn"), _BOTH
)

GROUP_METRICS = (
    DEMOGRAPHIC_DISPARITY,
    STRATUM_SHARE,
    STRATUM_SHARE_OF_POSITIVES,
    STRATUM_SHARE_OF_NEGATIVES,
)

PROPENSITY_STRATIFIED_DIFFERENCE = Disparity(
    id="propensity_stratified_difference",
    title="Difference at equal propensity",
    short="d propensity",
    aliases=("propensity_measure",),
    family="conditional",
    means="The reference's selection rate minus the group's, both averaged over the same "
    "strata of people who are about as likely to belong to a group by their features.",
    caution=_FACTOR + " Whoever has no counterpart on the other side is left out, and counted. "
    "Equal propensity is no equal merit: see which features it is made of.",
    source=works.CALDERS,
    elsewhere="Žliobaitė §3.3.2: strata by a logistic model, after Rosenbaum & Rubin (1983), "
    "https://doi.org/10.1093/biomet/70.1.41; here averaged by the people of each stratum; "
    "`average: overlap` weighs by n m / (n + m) of both sides (Li, Morgan & Zaslavsky 2018). "
    "`unexplained_difference` with the same `given` is the aggregate that the survey names.",
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
        means="The group's false positive rate minus the reference's, both averaged over the same "
        "strata with the same weights (all alike, unless `average` says otherwise).",
        caution=_FACTOR + " Uniform weights let a small stratum count as much as a large one.",
        source=works.BEUTEL,
        elsewhere="Beutel et al. also weigh by P(A = a | s = 0), all of the focused subgroup. "
        "`average: group` weighs by those of the group that the rate is taken over, its negatives: "
        "P(a | s, y-); `average: group_people` by all its people, P(a | s). "
        "`reference` and `reference_people` are those of whom it is compared with.",
        parts=((r.FALSE_POSITIVE_RATE, DIFFERENCE),),
        averages=(UNIFORM,),
        conditional=True,
    ),
    Disparity(
        id="conditional_equal_opportunity_ratio",
        title="Conditional equality of opportunity, ratio",
        short="cond. FPR ratio",
        aliases=("conditional_equality_ratio",),
        means="The group's averaged false positive rate divided by the reference's.",
        caution=_FACTOR + " A ratio of averages, not an average of ratios.",
        source=works.BEUTEL,
        parts=((r.FALSE_POSITIVE_RATE, RATIO),),
        averages=(UNIFORM,),
        conditional=True,
    ),
    Disparity(
        id="unexplained_difference",
        short="d unexplained",
        means="The part of the mean difference that is left at an equal mix of strata.",
        caution=_FACTOR + " On strata where both groups occur: see how many people do not.",
        source=works.KAMIRAN,
        elsewhere="Žliobaitė §3.3: d_u = d - d_e.",
        parts=((r.SELECTION_RATE, SHORTFALL),),
        averages=(MIDDLE,),
        conditional=True,
    ),
    Disparity(
        id="explained_difference",
        short="d explained",
        means="The part of the mean difference that corresponds to the groups' mix of strata, in "
        "this decomposition.",
        caution=_FACTOR + " Explained is not justified: that depends on the factor.",
        source=works.KAMIRAN,
        elsewhere="Žliobaitė §3.3: d_e, with p*(+|z) the plain mean of both groups' rates.",
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
        means="The odds of being selected against the reference's, among people of the same "
        "stratum; 1 at parity.",
        caution=_FACTOR + " One number for all strata: where their odds ratios differ it stands "
        "for none of them, and where they go in both directions it may be 1. The rates beside it "
        "are those of both groups at the same mix of strata, whose odds ratio is another number.",
        source=works.MANTEL,
        elsewhere="The interval is that of Robins, Breslow & Greenland (1986) for its logarithm, "
        "https://doi.org/10.2307/2531052; the test is Cochran's (1954) and theirs, without "
        "continuity correction. R's `mantelhaen.test` has the same numbers with `correct = FALSE`.",
        parts=((r.SELECTION_RATE, COMMON_ODDS_RATIO),),
        averages=(POOLED,),
        conditional=True,
    ),
    Disparity(
        id="conditional_demographic_disparity",
        short="CDD",
        means="The demographic disparity within strata, averaged by their people; a stratum that "
        "holds one group alone has none.",
        caution=_FACTOR + " Strata where nobody, or everybody, is selected tell nothing.",
        source=works.WACHTER,
        elsewhere="SageMaker Clarify prints the same number where every stratum has both outcomes. "
        "In one where all are rejected, or all are selected, it takes the share of nobody as 0; "
        "here that is undefined, and the stratum is left out, and listed.",
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
        means="The group's selection rate in the stratum divided by everybody's there.",
        caution=_FACTOR
        + " A large group pulls everybody's rate to its own. Variables that go with "
        "the group explain nothing here, unless they are strata.",
        source=works.MANCUHAN,
        elsewhere="Mancuhan & Clifton condition on all inputs by a Bayesian network; here the "
        "strata are their summary, and the group stands over everybody in the same one.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.OVERALL,
        conditional=True,
    ),
    Disparity(
        id="belift_overall",
        title="Extended lift of a group and stratum over everybody",
        short="belift, all",
        means="The group's selection rate in the stratum divided by everybody's in all strata.",
        caution="Mixes the stratum with the group: strata differ for everybody.",
        source=works.ZLIOBAITE,
        elsewhere="As Žliobaitė prints belift; `belift` compares within the stratum.",
        parts=((r.SELECTION_RATE, RATIO),),
        reference=ReferencePolicy.EVERYBODY,
        conditional=True,
    ),
)
