"""Catalogue: row metrics against similar people: situation testing (default `t`), twins."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.base.arrays import Alpha
from fairaudit.base.frozen import replace
from fairaudit.cube import NOWHERE, Floats
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import RowSides
from fairaudit.metrics.definitions import Better
from fairaudit.metrics.disparities import Comparison, Disparity, SideEstimates, Sides
from fairaudit.metrics.estimate import Estimate
from fairaudit.metrics.evaluation_record import Evaluation
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import GroupValues
from fairaudit.metrics.individual import (
    BY_PEOPLE,
    CAUSAL_DISCRIMINATION,
    FEATURES,
    NEIGHBOURS,
    TOO_FEW,
    UNAWARENESS_VIOLATIONS,
    choose_asked,
    value_by,
)
from fairaudit.metrics.pair_intervals import Interval
from fairaudit.metrics.terms import NO_GROUP, Parameters
from fairaudit.rows.neighbours import locate
from fairaudit.rows.similar_people import (
    LEAST,
    NO_VARIANCE,
    SAME,
    Mean,
    TwinRates,
    compare_twins,
    neighbour_gaps,
    widen,
)
from fairaudit.stats.distributions import normal_critical

THRESHOLD = 0.2
"""The default of `t`: the smallest gap between the rates of neighbours that counts."""


def _rate(sides: RowSides, z: int, g: int, _: Parameters) -> Mean:
    members = sides.members(z, g)
    n = sides.table.n[members]
    people = int(n.sum())
    positives = float((n * sides.table.outcome[members]).sum())
    return Mean(positives / people if people else np.nan, np.nan, people)


_RATE = Formula(
    id="selection_rate_of_rows",
    title="Selection rate of people with all features",
    family="individual",
    description="The share of people with a positive outcome, among people with all features.",
    caution="The rate is only used in comparisons.",
    source=citations.LUONG,
    better=Better.POLARITY,
    formula="mean ŷ",
    parameters=("k", "t"),
    requirements=FEATURES,
    shown=False,
    undefined="no people with all features",
    value_of=value_by(_rate),
    arrays_of=lambda counts, parameters: {
        "rows": counts.rows and replace(counts.rows, parameters=parameters)
    },
)
_TWINS_RATE = replace(
    _RATE,
    id="selection_rate_of_twins",
    title="Selection rate of twins",
    description="The share of positive outcomes among people with a twin in the reference, next to "
    "the share of their twins.",
    undefined="no one has a twin in the reference",
    parameters=(),
)

Measure = Callable[[RowSides, RowSides, int, int], Mean]


def _compare(
    group: GroupValues, reference: GroupValues, measure: Measure
) -> tuple[Floats, Floats, Floats]:
    """The value, its variance and the number of people, each [Z, G]; NaN for the reference."""
    value, variance, people = np.full((3, *group.value.shape), np.nan)
    rows, others = group.rows, reference.rows
    if rows is None or others is None:
        return value, variance, people
    for z, g in np.ndindex(value.shape):
        if others.group is None or int(others.group[z, 0]) != g:
            mean = measure(rows, others, z, g)
            value[z, g], variance[z, g], people[z, g] = mean
    return value, variance, people


def find_gaps(sides: RowSides, others: RowSides, z: int, g: int) -> Floats:
    """For each person: the rate of neighbours in the reference minus the rate in the own group."""
    sides, others = sides.one_by_one, others.one_by_one
    table, members = sides.table, sides.members(z, g)
    sample = choose_asked(table, z, members)
    k = sides.parameters.k or NEIGHBOURS
    people = (sample, members, others.members(z, g))
    gaps = neighbour_gaps(table.features, table.outcome, *people, k)
    # If the positive outcome is a burden, a higher rate is worse.
    return gaps if sides.favourable else -gaps


def _share_beyond(side: int) -> Measure:
    def share(sides: RowSides, others: RowSides, z: int, g: int) -> Mean:
        gaps, t = side * find_gaps(sides, others, z, g), sides.parameters.t
        bound = THRESHOLD if t is None else float(t)
        reached = float(np.mean(gaps >= bound - SAME)) if len(gaps) else np.nan
        return Mean(reached, np.nan, len(gaps))

    return share


def _compare_twins(sides: RowSides, others: RowSides, z: int, g: int) -> TwinRates:
    table, members = sides.table, (sides.members(z, g), others.members(z, g))
    return compare_twins(table.features, table.outcome, *members, table.n, table.share)


def _twins(sides: RowSides, others: RowSides, z: int, g: int) -> Mean:
    gap = _compare_twins(sides, others, z, g).gap
    return gap if sides.favourable else gap._replace(value=-gap.value)


_OF_ROWS = "none: it belongs to a number with its own interval or a reason why it has no interval"


def _count_beyond(measure: Measure) -> Callable[..., SideEstimates]:
    """A function that estimates the share of examined people whose gap is beyond the threshold."""

    def sides(group: GroupValues, reference: GroupValues, z: int, g: int) -> SideEstimates:
        assert group.rows is not None
        assert reference.rows is not None
        share, _, people = measure(group.rows, reference.rows, z, g)
        if not people:
            return Estimate(np.nan), None
        reached = round(share * people)
        estimate = Estimate(
            share, people, numerator=reached, denominator=people, no_interval=_OF_ROWS
        )
        return estimate, None

    return sides


def _rate_twins(group: GroupValues, reference: GroupValues, z: int, g: int) -> SideEstimates:
    """The rate of the group's people with a twin in the reference, and the rate of their twins."""
    assert group.rows is not None
    assert reference.rows is not None
    own, twins, _ = _compare_twins(group.rows, reference.rows, z, g)
    positives = own.value * own.n
    is_counted = own.n > 0 and abs(positives - round(positives)) < SAME
    first = Estimate(
        own.value,
        own.n,
        numerator=round(positives) if is_counted else None,
        denominator=own.n if is_counted else None,
        no_interval=_OF_ROWS,
    )
    return first, Estimate(twins.value, twins.n, no_interval=_OF_ROWS)


def _contrast(measure: Measure) -> Callable[[Sides], Floats]:
    return lambda sides: _compare(sides.group, sides.reference, measure)[0]


def _of_twins(first: GroupValues, second: GroupValues, alpha: Alpha) -> Interval:
    value, variance, people = _compare(first, second, _twins)
    error = np.sqrt(np.where(variance > NO_VARIANCE, variance, np.nan))
    half = normal_critical(alpha) * widen(people, alpha) * error
    return Interval(np.maximum(value - half, -1), np.minimum(value + half, 1), BY_PEOPLE)


_BY_CHANCE = (
    "chance alone makes the share larger than 0, because the rates of a few neighbours differ by "
    "chance, and no interval here takes that into account"
)
_WORSE = Comparison(
    id="worse_off",
    title="Share that is worse off than people like them in the reference",
    description="The share of people whose neighbours in the reference have better outcomes than "
    "their neighbours in their own group, by at least `t`.",
    caution="Chance alone produces such a share, and an equally large one in the opposite "
    "direction.",
    no_interval=_BY_CHANCE,
    source=citations.LUONG,
    formula="share with gap ≥ t",
    apply=lambda share, _: share,
    worked="{a}",
    sides_of=_count_beyond(_share_beyond(1)),
    rational=False,
    range=(0, 1),
    adverse=1,
    contrast=_contrast(_share_beyond(1)),
    undefined="a side has fewer than k people with all features",
)
_BETTER = replace(
    _WORSE,
    id="better_off",
    title="Share that is better off than people like them in the reference",
    description="The share of people whose neighbours in their own group have better outcomes than "
    "those in the reference, by at least `t`.",
    formula="share with gap ≤ -t",
    adverse=-1,
    contrast=_contrast(_share_beyond(-1)),
    sides_of=_count_beyond(_share_beyond(-1)),
)
_TWINS = Comparison(
    id="twins",
    title="Difference of twins",
    description="The rate of the twins in the reference minus the group's own rate, over people "
    "with a twin.",
    caution="The difference covers only people with a twin.",
    source=citations.ZLIOBAITE,
    formula="mean over people of (mean outcome of the twins - own outcome)",
    apply=lambda group, reference: reference - group,
    rational=False,
    rises_with_rate=False,
    adverse=1,
    range=(-1, 1),
    contrast=_contrast(_twins),
    worked="{b} - {a}",
    sides_of=_rate_twins,
    interval=_of_twins,
    min_people=LEAST,
    undefined=f"no one has a twin in the reference{TOO_FEW}",
)
_GAP = (
    "The gap of a person is a difference of two positive rates: the rate of the `k` most similar "
    "people in the reference minus the rate of the `k` most similar people in the person's own "
    f"group (`k` is {NEIGHBOURS} by default). For a burden, the gap has the opposite sign."
)
_TAKEN = (
    "By chance alone, some people have a gap this large, in either direction, and a small `k` "
    "makes such gaps more frequent. So compare `situation_testing` with "
    "`situation_testing_reversed`, and set `k` to 16 or more: the default is small."
)
TWIN_TEST = Disparity(
    id="twin_test",
    short="twins",
    description="A twin of a person is a person of the reference who is equal in every feature. "
    "For each person in the group who has a twin, the outcome of the person is subtracted from the "
    "mean outcome of the twins. The value is the mean of these differences (for a burden, with the "
    "opposite sign). It is 0 if the outcomes are equal on average, and above 0 if the twins have "
    "better outcomes.",
    caution="People without a twin are not covered, and they may be the majority: a notice states "
    "how many people have a twin. Twins can differ in everything that is not a feature.",
    source=citations.ZLIOBAITE,
    other_tools="Žliobaitė (§2) calls this difference direct discrimination. Statistics calls the "
    "method exact matching on the treated; here, the group takes the place of the treated.",
    parts=((_TWINS_RATE, _TWINS),),
)
DISPARITIES = (
    Disparity(
        id="situation_testing",
        title="Situation testing, worse off",
        short="situation",
        aliases=("situation_test",),
        description="For each person in the group, compare similar people in the reference with "
        "similar people in the group. The value is the share of people for whom those in the "
        "reference have better outcomes, by a gap of at least `t` in this direction "
        f"({THRESHOLD} by default). {_GAP}",
        caution=_TAKEN,
        source=citations.LUONG,
        other_tools="Žliobaitė (§3.4.1) prints the same share, but compares one protected group "
        "with all other people. Here the reference is one group, or all other groups (`reference: "
        "rest`).",
        parts=((_RATE, _WORSE),),
    ),
    Disparity(
        id="situation_testing_reversed",
        title="Situation testing, better off",
        short="situation, rev.",
        description="For each person in the group, compare similar people in the reference with "
        "similar people in the group. The value is the share of people for whom those in the "
        "reference have worse outcomes, by a gap of at least `t` in this direction "
        f"({THRESHOLD} by default). {_GAP}",
        caution=_TAKEN,
        source=citations.LUONG,
        other_tools="Žliobaitė (§3.4.1) also counts the people who are better off separately from "
        "those who are worse off.",
        parts=((_RATE, _BETTER),),
    ),
    TWIN_TEST,
)
"""The metrics that compare people with similar people in a reference."""

_OF_PAIRS = {UNAWARENESS_VIOLATIONS.id, CAUSAL_DISCRIMINATION.id}


def find_unmatched(evaluation: Evaluation) -> Floats | None:
    """The share of each group's people, [Z, G], without an equal person for a comparison.

    The equal person must be in the same group for `unawareness_violations`, in another group that
    takes part for `causal_discrimination`, and in the reference for the twin test. The result is
    None for all other metrics.
    """
    rows, metric = evaluation.table.rows, evaluation.metric
    parts = metric.parts if isinstance(metric, Disparity) else ()
    measured = {rate.id for rate, _ in parts} or {metric.id}
    compares_twins = any(comparison is _TWINS for _, comparison in parts)
    if rows is None or not (compares_twins or measured <= _OF_PAIRS):
        return None
    share = np.zeros((len(evaluation.table.strata), len(evaluation.table.groups)))
    for z in range(len(share)):
        members = rows.in_stratum(z)
        members = members[rows.group[members] != NOWHERE]
        _, profile = np.unique(locate(rows.features).profile[members], return_inverse=True)
        people = np.zeros((int(profile.max(initial=-1)) + 1, share.shape[1]))
        np.add.at(people, (profile, rows.group[members]), rows.n[members])
        for g in range(share.shape[1]):
            equals = people[:, g] - 1
            if compares_twins:
                reference = int(evaluation.second[z, g])
                others = np.arange(share.shape[1]) != g
                equals = people[:, others].sum(axis=1)
                if reference != NO_GROUP:
                    equals = people[:, reference]
            elif CAUSAL_DISCRIMINATION.id in measured:
                others = evaluation.takes_part[z] & (np.arange(share.shape[1]) != g)
                equals = people[:, others].sum(axis=1)
            share[z, g] = people[equals <= 0, g].sum() / max(people[:, g].sum(), 1)
    return share
