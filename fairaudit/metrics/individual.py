"""Catalogue: row metrics: consistency, Lipschitz, unawareness, redlining; default `k`; samples.

These metrics use individual rows, not counts. Their parameters are `k`, `t` and `lipschitz`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairaudit.base.arrays import ASKED_SEED, Alpha, Ends, hash_rows
from fairaudit.base.frozen import memoize
from fairaudit.cube import NOWHERE, Floats, GroupTable, Ints, Marks, RowTable
from fairaudit.metrics import citations
from fairaudit.metrics.confusion_counts import GroupCounts, RowSides
from fairaudit.metrics.definitions import Better, Requirement
from fairaudit.metrics.eligibility import admit_groups
from fairaudit.metrics.formulas import Formula
from fairaudit.metrics.group_metrics import TableMetric, TableValue
from fairaudit.metrics.terms import MetricOptions, Minimum, Parameters
from fairaudit.rows.fitted_models import FOLDS, INFLATION, SEED, Errors, predict_errors
from fairaudit.rows.neighbours import find_neighbours, locate
from fairaudit.rows.similar_people import (
    LEAST,
    LEAST_PROFILES,
    MOST_IN_PAIRS,
    NO_VARIANCE,
    NOTHING,
    Mean,
    choose_people,
    consistency,
    differing_pairs,
    steep_pairs,
    widen,
)
from fairaudit.stats import proportions

NEIGHBOURS = 5
"""The default number of neighbours of a person."""

MOST_ASKED = 10_000
"""Maximum number of people whose neighbours are searched; if there are more, a sample is used."""

LEAST_ASKED = 1_000
"""The fewest people of a group in this sample; of a smaller group, all people are in it."""

FEATURES = frozenset({Requirement.FEATURES, Requirement.PREDICTION})
BY_PEOPLE = "jackknife of people"

TOO_FEW = f", or fewer than {LEAST_PROFILES} combinations of features of a sample have such people"
"""Another reason for undefined values, if not all combinations of features fit into memory."""

Measure = Callable[[RowSides, int, int, Parameters], Mean]
"""Returns the mean (value, variance, people) of one group in one stratum."""


@memoize
def _measure_groups(
    counts: GroupCounts, parameters: Parameters, measure: Measure
) -> tuple[Floats, Floats, Ints]:
    """The value, its variance and the number of people, three arrays [Z, G]; NaN without rows."""
    sides, shape = counts.rows, counts.answered.shape
    means = [
        NOTHING if sides is None else measure(sides, z, g, parameters) for z, g in np.ndindex(shape)
    ]
    table = np.array(means, dtype=np.float64).reshape(*shape, 3)
    return table[..., 0], table[..., 1], table[..., 2].astype(np.int64)


def value_by(measure: Measure) -> Callable[[GroupCounts, Parameters], tuple[Floats, Ints]]:
    """A function that returns the values and the numbers of people, both [Z, G], of a measure."""
    return lambda counts, parameters: _measure_groups(counts, parameters, measure)[::2]


def _ends_of(measure: Measure) -> Callable[[GroupCounts, Parameters, Alpha], Ends]:
    return lambda counts, parameters, alpha: _by_effective_size(
        *_measure_groups(counts, parameters, measure), alpha
    )


def _by_effective_size(value: Floats, variance: Floats, n: Floats | Ints, alpha: Alpha) -> Ends:
    """Wilson's interval with an effective size, which takes Student's quantile into account."""
    variance = variance * widen(n, alpha) ** 2
    size = np.where(variance > NO_VARIANCE, value * (1 - value) / variance, np.nan)
    return proportions.wilson(value, size, alpha)


@memoize
def _ranks(table: RowTable) -> Ints:
    """The indices of people in the order of sampling: by a hash of `table.places`."""
    return np.argsort(hash_rows(table.places, ASKED_SEED), kind="stable")


def choose_asked(table: RowTable, z: int, members: Ints) -> Ints:
    """The members whose neighbours are searched: all, or the first members in a fixed order."""
    people = len(table.in_stratum(z))
    if people <= MOST_ASKED:
        return members
    place = np.empty(len(table.numbers), dtype=np.int64)
    place[_ranks(table)] = np.arange(len(place))
    order = members[np.argsort(place[members])]
    share = round(len(members) * MOST_ASKED / people)
    return order[: max(share, min(len(order), LEAST_ASKED))]


def _consistency(sides: RowSides, z: int, g: int, parameters: Parameters) -> Mean:
    sides = sides.one_by_one
    table, k = sides.table, parameters.k or NEIGHBOURS
    neighbours = find_neighbours(table.features, table.in_stratum(z), k, without_self=True)
    if not neighbours.has_enough_people:
        return NOTHING
    people = neighbours.search(choose_asked(table, z, sides.members(z, g)))
    return consistency(table.outcome, neighbours, people)


def _unawareness(sides: RowSides, z: int, g: int, _: Parameters) -> Mean:
    table, members = sides.table, sides.members(z, g)
    profile = locate(table.features).profile[members]
    return differing_pairs(profile, table.outcome[members], table.n[members], table.share)


def _lipschitz(sides: RowSides, z: int, g: int, parameters: Parameters) -> Mean:
    sides = sides.one_by_one
    table, score = sides.table, score_of(sides.table)
    people = choose_people(table.places, sides.members(z, g))
    slope = 1.0 if parameters.lipschitz is None else float(parameters.lipschitz)
    return steep_pairs(table.features, score, people[~np.isnan(score[people])], slope)


def score_of(table: RowTable) -> Floats:
    """The score of each person; without a score, the outcome (1 or 0)."""
    return table.outcome if table.score is None else table.score


def _measure_causally(table: GroupTable, minimum: Minimum) -> tuple[Floats, Ints, Marks]:
    """The value, its variance and the number of people [3, Z], for pairs of people in two groups.

    The function also returns the size of each group, and marks of the groups that take part; both
    are [Z, G].
    """
    rows, shape = table.rows, (len(table.strata), len(table.groups))
    n, means = np.zeros(shape, dtype=np.int64), np.full((3, shape[0]), np.nan)
    if rows is not None:
        for z, g in np.ndindex(shape):
            n[z, g] = rows.n[rows.members(z, g)].sum()
    takes_part = admit_groups(table, n, minimum)
    if rows is None:
        return means, n, takes_part
    for z in range(shape[0]):
        # Only people of groups that are compared form pairs.
        members, group = rows.in_stratum(z), rows.group
        members = members[(group[members] != NOWHERE) & takes_part[z, group[members]]]
        profile, outcome = locate(rows.features).profile[members], rows.outcome[members]
        means[:, z] = differing_pairs(profile, outcome, rows.n[members], rows.share, group[members])
    return means, n, takes_part


def _causal_value(table: GroupTable, terms: MetricOptions) -> TableValue:
    means, n, takes_part = _measure_causally(table, terms.minimum)
    return TableValue.of(means[0], takes_part, n)


def _causal_ends(table: GroupTable, terms: MetricOptions, alpha: Alpha) -> Ends:
    value, variance, people = _measure_causally(table, terms.minimum)[0]
    return _by_effective_size(value, variance, people, alpha)


CONSISTENCY = Formula(
    id="consistency",
    short="consistency",
    aliases=("consistency_score", "ynn"),
    family="individual",
    description="How close the outcome of a person (1 or 0) is to the mean outcome of the `k` "
    f"people with the most similar features (`k` is {NEIGHBOURS} by default). The value is 1 minus "
    "the mean distance between these two numbers.",
    caution="The features define who is similar. The distance in each feature is divided by the "
    "standard deviation of the feature. Consistency is also high if all neighbours of a person "
    "belong to the same group, even if outcomes differ between groups. High consistency is "
    "necessary for fairness, but not sufficient. The value depends on `k`. Irrelevant features, a "
    "large number of features, and missing values distort it.",
    source=citations.ZEMEL,
    other_tools="AIF360 counts each person as their own neighbour, does not standardise numbers, "
    "and treats categories as numbers. fairMLHealth prints AIF360's value.",
    better=Better.HIGHER,
    formula="1 - mean |outcome - mean outcome of the k nearest others|, ties included",
    parameters=("k",),
    requirements=FEATURES,
    undefined="fewer than k other people with all features",
    value_of=value_by(_consistency),
    ends_of=_ends_of(_consistency),
    min_people=LEAST,
    method=BY_PEOPLE,
)
UNAWARENESS_VIOLATIONS = Formula(
    id="unawareness_violations",
    short="unaware. viol.",
    family="individual",
    description="How often two people of the group who are equal in every feature have different "
    "outcomes. A rule that uses only the features gives both people the same outcome.",
    caution="People of different groups are not compared: `causal_discrimination` does this. The "
    "value is 0 for every model that uses only the features. The value is undefined if "
    "no two people are equal in every feature. In that case, first group the values of the "
    "features into ranges (bins).",
    source=citations.GAJANE,
    better=Better.LOWER,
    formula="(pairs with equal features and different outcomes) / (pairs with equal features)",
    requirements=FEATURES,
    undefined=f"no two people are equal in every feature{TOO_FEW}",
    value_of=value_by(_unawareness),
    ends_of=_ends_of(_unawareness),
    min_people=LEAST,
    method=BY_PEOPLE,
)
LIPSCHITZ_VIOLATIONS = Formula(
    id="lipschitz_violations",
    short="Lipschitz viol.",
    aliases=("fairness_through_awareness", "lipschitz_fairness"),
    family="individual",
    description="How often the scores of two people of the group differ by more than `lipschitz` "
    "times their distance (`lipschitz` is 1 by default). The distance is measured in standard "
    "deviations of the features. Without a score, selected counts as 1 and not selected as 0.",
    caution="People of different groups are compared only in the value of all people. The features "
    "and `lipschitz` define which people are near. Two people whose features "
    f"are very different can hardly be a violation. With more than {MOST_IN_PAIRS:,} people, only "
    "a sample of the people is compared.",
    source=citations.DWORK,
    better=Better.LOWER,
    formula="(pairs with a difference of scores > lipschitz · distance) / pairs",
    parameters=("lipschitz",),
    requirements=FEATURES,
    undefined="fewer than two people with all features",
    value_of=value_by(_lipschitz),
    ends_of=_ends_of(_lipschitz),
    min_people=LEAST,
    method=BY_PEOPLE,
)
CAUSAL_DISCRIMINATION = TableMetric(
    id="causal_discrimination",
    short="causal discr.",
    family="individual",
    description="How often two people from different groups who are equal in every feature have "
    "different outcomes.",
    caution="Outcomes can differ just as often between people of the same group: compare with "
    "`unawareness_violations`. The value shows a causal effect only if the features contain all "
    "other causes of the outcome.",
    source=citations.GALHOTRA,
    other_tools="Galhotra et al. ask a model for the same input with another value of the "
    "protected column. Here both people are in the data.",
    formula="(pairs with equal features, different groups and different outcomes) / (pairs with "
    "equal features and different groups)",
    bounds=(0, 1),
    requirements=FEATURES,
    undefined=f"no two people of different groups are equal in every feature{TOO_FEW}",
    value_of=_causal_value,
    interval=_causal_ends,
    method=BY_PEOPLE,
    no_test="0 is the lowest possible value, and a single pair with different outcomes is enough "
    "to refute it",
)
GROUP_METRICS = (CONSISTENCY, UNAWARENESS_VIOLATIONS, LIPSCHITZ_VIOLATIONS)
"""The metrics of individual people with a number for each group."""

MOST_TOLD_APART = 25_000
"""Maximum number of people on one side of a prediction; a larger side is sampled."""

_NOTHING = Errors(np.nan, np.nan, 0, 0)


@memoize
def _find_errors(table: RowTable) -> Floats:
    """The errors [Z, G, 4] of predicting who in the stratum belongs to each group."""
    table = table.people
    strata, groups = table.shape
    errors = np.full((strata, groups, len(_NOTHING)), np.nan)
    for z in range(strata):
        people = table.in_stratum(z)
        people = people[table.group[people] != NOWHERE]
        ranks = hash_rows(table.places[people], SEED)
        for g in range(groups):
            member = table.group[people] == g
            chosen = [
                side[np.argsort(ranks[side], kind="stable")[:MOST_TOLD_APART]]
                for side in (np.flatnonzero(member), np.flatnonzero(~member))
            ]
            rows = np.sort(np.concatenate(chosen))
            features = table.features.take(people[rows])
            errors[z, g] = predict_errors(features, member[rows]) or _NOTHING
            if groups == 2 and g == 0:
                # With two groups, both groups have the same errors, but swapped.
                errors[z, 1] = errors[z, 0, [1, 0, 3, 2]]
                break
    return errors


def _errors(counts: GroupCounts) -> Floats:
    """The prediction errors [Z, G, 4] of each group, or of its reference; NaN for pooled groups."""
    sides, shape = counts.rows, counts.answered.shape
    if sides is None or sides.role is not None:
        return np.full((*shape, len(_NOTHING)), np.nan)
    errors = _find_errors(sides.table)
    if sides.group is not None:
        errors = np.take_along_axis(errors, sides.group[..., None], axis=1)
    return np.broadcast_to(errors, (*shape, len(_NOTHING)))


def _value_of(counts: GroupCounts, _: Parameters) -> tuple[Floats, Ints]:
    errors = _errors(counts)
    people = np.nan_to_num(errors[..., 2:].sum(axis=-1)).astype(np.int64)
    return errors[..., :2].mean(axis=-1), people


def _ends_of_error_rate(counts: GroupCounts, _parameters: Parameters, alpha: Alpha) -> Ends:
    """The interval of a mean of two shares of different people, by Wilson at a reduced size."""
    rates, sizes = np.moveaxis(_errors(counts), -1, 0).reshape(2, 2, *counts.answered.shape)
    ends = proportions.wilson(rates, sizes / INFLATION, alpha)
    return proportions.mover_total(rates, ends, np.array([0.5, 0.5]))[1:]


BALANCED_ERROR_RATE = Formula(
    id="balanced_error_rate",
    title="Balanced error rate of predicting the group",
    short="BER",
    aliases=("redlining_potential", "ber"),
    family="individual",
    has_outcome=False,
    description="How often a prediction of group membership from the features is wrong: the mean "
    "of the share of members who are predicted as others and the share of others who are predicted "
    "as members. The rate is 0.5 if the features say nothing about the group, and 0 if they "
    "determine it.",
    caution="The rate shows whether the features could replace the group in a decision "
    "(redlining), not whether a decision uses them so. Another predictor may be better, so the "
    "features contain at least this much information about the group.",
    source=citations.FELDMAN,
    other_tools="Žliobaitė (§3.2.8) reads the rate in the same way. The predictor is the mean of a "
    "logistic regression (additive effects) and gradient-boosted trees (thresholds and "
    f"interactions), with {FOLDS} folds and seed {SEED}. The interval takes into account that the "
    "folds share training data (Nadeau & Bengio 2003, https://doi.org/10.1023/A:1024068626366).",
    formula=f"(missed / the group + mistaken / all others) / 2, cross-validated in {FOLDS} folds",
    requirements=frozenset({Requirement.FEATURES}),
    undefined=f"fewer than {FOLDS} people of the group, or of all others, have every feature, "
    "no feature varies, or the logistic regression did not converge",
    value_of=_value_of,
    ends_of=_ends_of_error_rate,
    method="Wilson, MOVER",
    uses_everybody=True,
    compares=True,
)
