"""Reading quantities of a table, each once: of every group, and of whom it is set beside."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairaudit.cube import Floats, GroupTable, Ints, Marks
from fairaudit.memoize import memoize
from fairaudit.metrics.classes import Macro
from fairaudit.metrics.counts import Tally, against_rest, tally_of
from fairaudit.metrics.measures import Comparison
from fairaudit.metrics.minimum import Minimum, of_everybody
from fairaudit.metrics.quantities import BY_CLUSTERS, Mean, Quantity, Rate, Reading
from fairaudit.metrics.records import NO_PARAMETERS, Parameters
from fairaudit.metrics.reference import Policy


@memoize
def _readings(tally: Tally) -> dict[tuple[str, Parameters], Reading]:  # noqa: ARG001  # what it remembers for
    return {}


@memoize
def _others(tally: Tally) -> dict[tuple[Policy, bytes], Tally]:  # noqa: ARG001  # the same
    return {}


@memoize
def _fractions(
    tally: Tally,  # noqa: ARG001  # the same
) -> dict[tuple[str, Parameters, int, int], Fraction | None]:
    return {}


@memoize
def _each_class(table: GroupTable) -> Tally:
    """The tally of a table, with that of each class against the rest."""
    return replace(
        tally_of(table), each=tuple(tally_of(one) for one in against_rest(table).values())
    )


def read(quantity: Quantity, tally: Tally, parameters: Parameters = NO_PARAMETERS) -> Reading:
    """A quantity in every stratum and group, read once for each table."""
    known, key = _readings(tally), (quantity.id, parameters if quantity.takes else NO_PARAMETERS)
    if key not in known:
        found = quantity.read(tally, parameters)
        clustered = tally.clusters is not None or tally.unknown_clusters
        if clustered and not isinstance(quantity, Rate | Mean):
            # Its interval would take rows for independent.
            found = replace(found, ends=None, method=BY_CLUSTERS)
        known[key] = found
    return known[key]


def tally_for(quantity: Quantity, table: GroupTable) -> Tally:
    """The cells of a table as a quantity needs them: some need each class against the rest."""
    return _each_class(table) if isinstance(quantity, Macro) else tally_of(table)


def beside(tally: Tally, policy: Policy, index: Ints | None) -> Tally:
    """The cells of the reference, beside each group."""
    known, key = _others(tally), (policy, b"" if index is None else index.tobytes())
    if key not in known:
        if index is not None:
            known[key] = tally.taken(np.maximum(index, 0))
        elif policy is Policy.EVERYBODY:
            known[key] = tally.everywhere()
        else:
            known[key] = tally.rest() if policy is Policy.REST else tally.overall()
    return known[key]


def all_others(tally: Tally, policy: Policy) -> Tally:
    """A crowd that each group is part of, without that group: in its stratum, or in all of them."""
    if policy is Policy.EVERYBODY:
        return tally.everywhere_else()
    return beside(tally, Policy.REST, None)


def participants(table: GroupTable, reading: Reading, minimum: Minimum) -> Marks:
    """Who takes part, [Z, G]: eligible groups with people, enough of them in the rate."""
    takes_part = table.eligible & (table.n > 0)
    return np.asarray(takes_part & minimum.admits(reading.n, everybodys_outcomes(table, reading)))


def participants_overall(table: GroupTable, n: Ints, reading: Reading, minimum: Minimum) -> Marks:
    """The same without strata, [1, G]: whoever occurs takes part, in a known stratum or not.

    `n` [1, G] are the people of the strata that count; what is expected of them goes by everybody
    in the known strata.
    """
    outcomes = everybodys_outcomes(table, reading)
    if outcomes is not None:
        outcomes = outcomes[table.known_strata].sum(axis=0, keepdims=True)
    takes_part = np.asarray((table.eligible & (table.n.sum(axis=0) > 0))[None])
    return np.asarray(takes_part & minimum.admits(n, outcomes))


def everybodys_outcomes(table: GroupTable, reading: Reading) -> Ints | None:
    """How the outcomes of all known groups are spread, [Z, K, 1]; None where it is no share.

    A rate has two outcomes: to be among those it counts, or not.
    """
    quantity = reading.quantity
    if reading.shares is not None:
        masses = tally_of(table).classes
    elif isinstance(quantity, Rate) and quantity.of_group and reading.over is not None:
        assert reading.under is not None
        masses = np.stack([reading.over, reading.under - reading.over], axis=1)
    else:
        return None
    return of_everybody(table, masses)


def comparable(table: GroupTable) -> Marks:
    """The known strata where two groups or more occur that can be compared, [Z]."""
    return np.asarray(table.known_strata & ((table.eligible & (table.n > 0)).sum(axis=1) >= 2))


def mass(reading: Reading) -> Floats:
    """What weighs in an average over strata: the denominator, of people or of survey weights."""
    return np.asarray(whole_mass(reading) / (1 if reading.weight is None else reading.scale))


def whole_mass(reading: Reading) -> Ints:
    """The same as integers, times `scale` under weights."""
    return reading.n if reading.weight is None else reading.weight


def values_compared(
    quantity: Quantity, comparison: Comparison, first: Floats, second: Floats
) -> Floats:
    """A comparison of values; a ratio of numbers with a sign needs both to be positive."""
    value = np.asarray(comparison.apply(first, second))
    if (comparison.quotient or comparison.of_positives) and quantity.bounds[0] != 0:
        return np.where((first > 0) & (second > 0), value, np.nan)
    return value


def applied(comparison: Comparison, *values: Fraction | None) -> Fraction | None:
    """A comparison of fractions; None where it is not rational, or not defined."""
    one, two = values
    if one is None or two is None or not comparison.rational:
        return None
    try:
        return Fraction(comparison.apply(one, two))
    except ZeroDivisionError:
        return None


def exact_of(
    quantity: Quantity, tally: Tally, parameters: Parameters, z: int, g: int
) -> Fraction | None:
    """A quantity of one group as a fraction, computed once; None where it is none."""
    known = _fractions(tally)
    key = (quantity.id, parameters if quantity.takes else NO_PARAMETERS, z, g)
    if key not in known:
        known[key] = quantity.exact(tally, z, g, parameters)
    return known[key]
