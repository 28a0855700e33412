"""Reading quantities of a table, each once: of every group, and of whom it is set beside."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.memoize import memoize
from fairaudit.metrics.classes import Macro
from fairaudit.metrics.counts import GroupCounts, count_groups, one_against_rest
from fairaudit.metrics.disparities import Comparison
from fairaudit.metrics.group_metrics import CLUSTER_ROBUST, GroupMetric, GroupValues, Mean, Rate
from fairaudit.metrics.minimum import Minimum, pooled_total
from fairaudit.metrics.records import NO_PARAMETERS, Parameters
from fairaudit.metrics.reference import ReferencePolicy


@memoize
def _readings(tally: GroupCounts) -> dict[tuple[str, Parameters], GroupValues]:  # noqa: ARG001  # what it remembers for
    return {}


@memoize
def _others(tally: GroupCounts) -> dict[tuple[ReferencePolicy, bytes], GroupCounts]:  # noqa: ARG001  # the same
    return {}


@memoize
def _fractions(
    tally: GroupCounts,  # noqa: ARG001  # the same
) -> dict[tuple[str, Parameters, int, int], Fraction | None]:
    return {}


@memoize
def _each_class(table: GroupTable) -> GroupCounts:
    """The tally of a table, with that of each class against the rest."""
    return replace(
        count_groups(table),
        by_class=tuple(count_groups(one) for one in one_against_rest(table).values()),
    )


def compute(
    quantity: GroupMetric, tally: GroupCounts, parameters: Parameters = NO_PARAMETERS
) -> GroupValues:
    """A quantity in every stratum and group, read once for each table."""
    known, key = _readings(tally), (quantity.id, parameters if quantity.takes else NO_PARAMETERS)
    if key not in known:
        found = quantity.compute(tally, parameters)
        clustered = tally.clusters is not None or tally.unknown_clusters
        if clustered and not isinstance(quantity, Rate | Mean):
            # Its interval would take rows for independent.
            found = replace(found, ends=None, method=CLUSTER_ROBUST)
        known[key] = found
    return known[key]


def counts_for(quantity: GroupMetric, table: GroupTable) -> GroupCounts:
    """The cells of a table as a quantity needs them: some need each class against the rest."""
    return _each_class(table) if isinstance(quantity, Macro) else count_groups(table)


def reference_counts(
    tally: GroupCounts, policy: ReferencePolicy, index: Ints | None
) -> GroupCounts:
    """The cells of the reference, beside each group."""
    known, key = _others(tally), (policy, b"" if index is None else index.tobytes())
    if key not in known:
        if index is not None:
            known[key] = tally.of_reference(np.maximum(index, 0))
        elif policy is ReferencePolicy.EVERYBODY:
            known[key] = tally.everywhere()
        else:
            known[key] = tally.rest() if policy is ReferencePolicy.REST else tally.overall()
    return known[key]


def counts_of_others(tally: GroupCounts, policy: ReferencePolicy) -> GroupCounts:
    """A crowd that each group is part of, without that group: in its stratum, or in all of them."""
    if policy is ReferencePolicy.EVERYBODY:
        return tally.everywhere_else()
    return reference_counts(tally, ReferencePolicy.REST, None)


def find_participants(table: GroupTable, reading: GroupValues, minimum: Minimum) -> Marks:
    """Who takes part, [Z, G]: eligible groups with people, enough of them in the rate."""
    takes_part = table.eligible & (table.n > 0)
    return np.asarray(takes_part & minimum.admits(reading.n, pooled_outcomes(table, reading)))


def find_participants_overall(
    table: GroupTable, n: Ints, reading: GroupValues, minimum: Minimum
) -> Marks:
    """The same without strata, [1, G]: whoever occurs takes part, in a known stratum or not.

    `n` [1, G] are the people of the strata that count; what is expected of them goes by everybody
    in the known strata.
    """
    outcomes = pooled_outcomes(table, reading)
    if outcomes is not None:
        outcomes = outcomes[table.known_strata].sum(axis=0, keepdims=True)
    takes_part = np.asarray((table.eligible & (table.n.sum(axis=0) > 0))[None])
    return np.asarray(takes_part & minimum.admits(n, outcomes))


def pooled_outcomes(table: GroupTable, reading: GroupValues) -> Ints | None:
    """How the outcomes of all known groups are spread, [Z, K, 1]; None where it is no share.

    A rate has two outcomes: to be among those it counts, or not.
    """
    quantity = reading.metric
    if reading.shares is not None:
        masses = count_groups(table).classes
    elif isinstance(quantity, Rate) and quantity.of_group and reading.over is not None:
        assert reading.under is not None
        masses = np.stack([reading.over, reading.under - reading.over], axis=1)
    else:
        return None
    return pooled_total(table, masses)


def comparable_strata(table: GroupTable) -> Marks:
    """The known strata where two groups or more occur that can be compared, [Z]."""
    return np.asarray(table.known_strata & ((table.eligible & (table.n > 0)).sum(axis=1) >= 2))


def weighted_n(reading: GroupValues) -> Floats:
    """What weighs in an average over strata: the denominator, of people or of survey weights."""
    return np.asarray(scaled_n(reading) / (1 if reading.weight_sum is None else reading.scale))


def scaled_n(reading: GroupValues) -> Ints:
    """The same as integers, times `scale` under weights."""
    return reading.n if reading.weight_sum is None else reading.weight_sum


def compare_values(
    quantity: GroupMetric, comparison: Comparison, first: Floats, second: Floats
) -> Floats:
    """A comparison of values; a ratio of numbers with a sign needs both to be positive."""
    value = np.asarray(comparison.apply(first, second))
    if (comparison.quotient or comparison.of_positives) and quantity.bounds[0] != 0:
        return np.where((first > 0) & (second > 0), value, np.nan)
    return value


def compare_exactly(comparison: Comparison, *values: Fraction | None) -> Fraction | None:
    """A comparison of fractions; None where it is not rational, or not defined."""
    one, two = values
    if one is None or two is None or not comparison.rational:
        return None
    try:
        return Fraction(comparison.apply(one, two))
    except ZeroDivisionError:
        return None


def exact_value(
    quantity: GroupMetric, tally: GroupCounts, parameters: Parameters, z: int, g: int
) -> Fraction | None:
    """A quantity of one group as a fraction, computed once; None where it is none."""
    known = _fractions(tally)
    key = (quantity.id, parameters if quantity.takes else NO_PARAMETERS, z, g)
    if key not in known:
        known[key] = quantity.exact(tally, z, g, parameters)
    return known[key]
