"""The groups that are compared: eligibility, the reference, the highest and the lowest value."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from fairaudit.cube import UNKNOWN, Floats, Group, GroupTable, Ints, Marks
from fairaudit.metrics.confusion_counts import count_groups
from fairaudit.metrics.formulas import Rate
from fairaudit.metrics.group_metrics import GroupValues
from fairaudit.metrics.terms import (
    EXTREME_REFERENCES,
    NO_GROUP,
    Minimum,
    Reference,
    ReferencePolicy,
)


class Eligibility(StrEnum):
    """Whether a group is compared, or the reason why it is not."""

    ELIGIBLE = "eligible"
    SMALL = "small"
    FEW_EVENTS = "few_events"
    EXCLUDED = "excluded"
    UNKNOWN = "unknown"
    EMPTY = "empty"
    SUPPRESSED = "suppressed"


def find_eligibility(
    table: GroupTable, g: int, n: int, minimum: Minimum, *, takes_part: bool = True
) -> Eligibility:
    """The eligibility of the group at index `g`, with `n` people in the denominator.

    A group that is large enough but does not take part has too few events.
    """
    if not table.known[g]:
        return Eligibility.UNKNOWN
    if not table.eligible[g]:
        return Eligibility.EXCLUDED
    if minimum.size is not None and n < minimum.size:
        return Eligibility.SMALL
    return Eligibility.ELIGIBLE if takes_part or minimum.events is None else Eligibility.FEW_EVENTS


def pool_known_groups(table: GroupTable, masses: Ints) -> Ints:
    """The sum [Z, K, 1] of `masses` [Z, K, G] over all known groups, including excluded groups."""
    return np.asarray(masses[..., table.known].sum(axis=-1, keepdims=True))


def admit_groups(
    table: GroupTable, n: Ints, minimum: Minimum, outcomes: Ints | None = None
) -> Marks:
    """Marks the groups that take part, [Z, G]: eligible groups with enough people in `n` [Z, G].

    `outcomes` [Z, K, 1] is the number of people with each outcome. The minimum number of expected
    events is checked only if `outcomes` is not None.
    """
    return np.asarray(table.eligible & (table.n > 0) & minimum.admits(n, outcomes))


def find_participants(table: GroupTable, values: GroupValues, minimum: Minimum) -> Marks:
    """Marks the groups that take part, [Z, G]: eligible groups with a large enough denominator."""
    outcomes = pool_outcomes(table, values) if minimum.events else None
    return admit_groups(table, values.n, minimum, outcomes)


def find_participants_overall(
    table: GroupTable, n: Ints, values: GroupValues, minimum: Minimum
) -> Marks:
    """Marks the groups, [1, G], that take part in a result over all strata.

    An eligible group takes part if it has people in any stratum, and enough people in `n` [1, G]:
    the people in the strata that are used. Expected events are computed from all people in the
    known strata.
    """
    outcomes = pool_outcomes(table, values)
    if outcomes is not None:
        outcomes = outcomes[table.known_strata].sum(axis=0, keepdims=True)
    takes_part = np.asarray((table.eligible & (table.n.sum(axis=0) > 0))[None])
    return np.asarray(takes_part & minimum.admits(n, outcomes))


def pool_outcomes(table: GroupTable, values: GroupValues) -> Ints | None:
    """The mass of each outcome over all known groups, [Z, K, 1]; None if the values are not shares.

    A rate has two outcomes: counted in the numerator, or not.
    """
    metric = values.metric
    if values.shares is not None:
        masses = count_groups(table).classes
    elif isinstance(metric, Rate) and metric.of_group and values.over is not None:
        assert values.under is not None
        masses = np.stack([values.over, values.under - values.over], axis=1)
    else:
        return None
    return pool_known_groups(table, masses)


def are_comparable(takes_part: Marks, n: Ints | Floats) -> Marks:
    """Marks strata, [Z], where two or more groups take part, all with denominators above 0."""
    return np.asarray((takes_part.sum(axis=1) >= 2) & ~(takes_part & (n == 0)).any(axis=1))


def mark_comparable_strata(table: GroupTable) -> Marks:
    """Marks known strata, [Z], in which two or more eligible groups have people."""
    return np.asarray(table.known_strata & ((table.eligible & (table.n > 0)).sum(axis=1) >= 2))


def find_reference(
    reference: Reference, table: GroupTable, value: Floats, n: Ints, takes_part: Marks
) -> tuple[Ints | None, Marks]:
    """The index [Z, 1] of the reference group, and marks [Z, 1] of strata where it can be used.

    The index is None if the reference consists of several groups together. `value`, `n` (people in
    the denominator) and `takes_part` are [Z, G].
    """
    strata = len(table.strata)
    if not table.groups:
        return np.full((strata, 1), NO_GROUP), np.zeros((strata, 1), dtype=np.bool_)
    match reference.policy:
        case ReferencePolicy.REST | ReferencePolicy.OVERALL | ReferencePolicy.EVERYBODY:
            return None, np.ones((strata, 1), dtype=np.bool_)
        case ReferencePolicy.LARGEST:
            # People with unknown group can be a group, but not the reference.
            named = np.logical_and.reduce(
                [[(name, UNKNOWN) not in group for group in table.groups] for name in table.by]
            )
            index = find_extreme(table.n.astype(np.float64), takes_part & named, n, highest=True)
        case ReferencePolicy.HIGHEST | ReferencePolicy.LOWEST:
            is_highest = reference.policy is ReferencePolicy.HIGHEST
            index = find_extreme(value, takes_part, n, highest=is_highest)
        case _:
            declared = find_group(table.groups, reference.group)
            index = np.full(strata, declared)
            if declared == NO_GROUP:
                return index[:, None], np.zeros((strata, 1), dtype=np.bool_)
    usable = takes_part[np.arange(strata), index]
    if reference.policy in EXTREME_REFERENCES:
        # If the rate of a group is undefined, the highest rate is unknown.
        usable = usable & ~(takes_part & np.isnan(value)).any(axis=1)
    return index[:, None], usable[:, None]


def find_group(groups: Sequence[Group], wanted: Group) -> int:
    """The index of a group, with its attributes in any order; `NO_GROUP` if it does not exist."""
    if wanted in groups:
        return groups.index(wanted)
    same = (index for index, group in enumerate(groups) if dict(group) == dict(wanted))
    return next(same, NO_GROUP)


def find_extreme(
    value: Floats, among: Marks, n: Ints | Floats, *, highest: bool, apart_from: Ints | None = None
) -> Ints:
    """The index [Z] of the group with the highest (or lowest) value among the marked groups.

    All arrays are [Z, G]. Among groups with equal values, the group with the largest `n` is chosen;
    if `n` is also equal, the first group is chosen. Undefined values (NaN) are ignored. The group
    `apart_from` [Z] is also ignored, because a pair needs two groups even if all values are equal.
    If no group remains, the index is 0 and has no meaning.
    """
    if not value.size:
        return np.zeros(len(value), dtype=np.int64)
    candidates = among & ~np.isnan(value)
    if apart_from is not None:
        candidates[np.arange(len(candidates)), apart_from] = False
    ranked = np.where(candidates, value if highest else -value, -np.inf)
    # A candidate may also have the value -inf, so the marks are needed.
    best = (ranked == ranked.max(axis=1, keepdims=True)) & candidates
    return np.asarray(np.argmax(np.where(best, n, -1), axis=1))


def find_extremes(value: Floats, among: Marks, n: Ints | Floats) -> tuple[Ints, Ints]:
    """The index [Z] of the group with the highest value, and of the lowest of the other groups."""
    high = find_extreme(value, among, n, highest=True)
    return high, find_extreme(value, among, n, highest=False, apart_from=high)
